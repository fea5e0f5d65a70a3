"""Help and symptoms in Chinese: complete, as wide as the terminal, and nothing that English pays for."""

import inspect
import json
import re
from itertools import chain
from pathlib import Path

import click
import pytest

from patcher.cli.main import _SECTIONS, _language, commands
from patcher.patchset.manifest import load
from patcher.patchset.sources import BUILT_IN, builtin_dir
from patcher.patchset.symptoms import general
from patcher.text.width import width, wrapped
from tests.command import ROOT, done, sitepatch

pytestmark = pytest.mark.once
CATALOG = ROOT / "patcher/locale/zh.po"
VARIABLES = ("SITEPATCH_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def all_commands(group=commands):
    yield group
    for name in group.list_commands(click.Context(group)) if isinstance(group, click.Group) else ():
        yield from all_commands(group.get_command(click.Context(group), name))


def english():
    """Every paragraph and line of help that is ours, what errors mean, and what is marked in the code."""
    built_in = Path(builtin_dir())
    known = [load(path.parent, BUILT_IN).symptoms for path in built_in.glob("*/patchset.toml")]
    for symptom in chain(general(builtin_dir()), *known):
        yield from (symptom.meaning, symptom.advice)
    for path in (ROOT / "patcher/cli").rglob("*.py"):
        yield from re.findall(r'\b_\("([^"]+)"\)', path.read_text(encoding="utf-8"))
    for command in all_commands():
        for text in [command.help, *(getattr(parameter, "help", None) for parameter in command.params)]:
            for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text or "")):
                yield " ".join(paragraph.split())
        yield from (line for line in (command.epilog or "").splitlines() if line[:1] not in ("", " ", "\b"))
    yield from _SECTIONS


def entries():
    """What the catalog's source says: {msgid: (comment, msgstr)}."""
    text = CATALOG.read_text(encoding="utf-8")
    found = re.findall(r'^#\. (.*)\nmsgid (".*")\nmsgstr (".*")$', text, re.MULTILINE)
    return {json.loads(msgid): (comment, json.loads(msgstr)) for comment, msgid, msgstr in found}


def test_each_text_of_help_and_each_symptom_is_in_the_catalog_and_nothing_else():
    ours = {msgid for msgid, (comment, _) in entries().items() if comment != "click"}
    assert ours ^ (set(english()) - {""}) == set()


@pytest.mark.parametrize("words", [[], ["apply"], ["capture"], ["diagnose"], ["hook", "init"]])
def test_help_is_chinese_and_no_wider_than_the_terminal(tmp_path, words):
    shown = done(sitepatch(*words, "--help", cwd=tmp_path, SITEPATCH_LANG="zh", COLUMNS="60")).out
    told = [line for line in shown.splitlines() if not re.match(r"  +sitepatch |  +torchrun ", line)]
    assert "显示本说明并退出。" in shown and "Show this" not in shown and "Usage" not in shown
    assert max(map(width, told)) <= 60


def test_what_an_error_means_is_told_in_chinese_and_to_programs_in_english(tmp_path):
    (tmp_path / "train.log").write_text("RuntimeError: Address already in use\n")
    told = sitepatch("diagnose", "train.log", "--target", tmp_path, cwd=tmp_path, SITEPATCH_LANG="zh")
    assert told.code == 1 and "含义：各 rank 会合用的端口被占用" in told.out and "提示：换一个 --master_port" in told.out
    asked = sitepatch("diagnose", "train.log", "--target", tmp_path, "--json", cwd=tmp_path, SITEPATCH_LANG="zh")
    assert json.loads(asked.out)["findings"][0]["meaning"].startswith("the port where the ranks are to meet is taken")


@pytest.mark.parametrize(
    ("values", "language"),
    [
        ({}, ""),
        ({"LANG": "en_US.UTF-8"}, ""),
        ({"LANG": "C.UTF-8"}, ""),
        ({"LANG": "zh_CN.UTF-8"}, "zh_CN.UTF-8"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, ""),
        ({"LANG": "zh_CN.UTF-8", "SITEPATCH_LANG": "en"}, ""),
        ({"LANG": "en_US.UTF-8", "SITEPATCH_LANG": "zh"}, "zh"),
    ],
)
def test_the_language_is_that_of_the_variable_or_of_the_locale(monkeypatch, values, language):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert _language() == language


def test_a_language_that_has_no_catalog_is_english(tmp_path):
    plain = done(sitepatch("apply", "--help", cwd=tmp_path))
    assert done(sitepatch("apply", "--help", cwd=tmp_path, SITEPATCH_LANG="de_DE.UTF-8")).out == plain.out


def test_lines_end_between_chinese_characters_and_never_before_a_comma():
    assert wrapped("补丁，应用 sitepatch（按语法）。", 10) == ["补丁，应用", "sitepatch", "（按语", "法）。"]
