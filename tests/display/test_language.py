"""What people read, in Chinese: complete, no wider than the terminal, at no cost to English, and invisible to programs."""

import inspect
import json
import re
from itertools import chain, zip_longest
from pathlib import Path

import click
import pytest

from patcher.display.language import Catalog, _glued
from patcher.display.prose import entry, prose_parts
from patcher.errors import Location, UsageError
from patcher.message import Message, joined
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, builtin_dir
from patcher.patchset.symptoms import general_symptoms
from patcher.text.listed import count
from patcher.text.terminal import width, wrapped
from patcher.verbs.commands import SECTIONS
from patcher.verbs.main import _language, commands
from tests.command import DDP, RUNNER, Site, done, sitepatch
from tests.display.catalog import entries
from tests.messages import BECOME, NOTHING_SAID, given, messages, plain, said, words

pytestmark = pytest.mark.once
ZH = Catalog("zh")
VARIABLES = ("SITEPATCH_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


def all_commands(group=commands):
    yield group
    for name in group.list_commands(click.Context(group)) if isinstance(group, click.Group) else ():
        yield from all_commands(group.get_command(click.Context(group), name))


def english():
    """Every paragraph and line of help that is ours, what errors mean, and what built-in patchsets are for."""
    built_in = [load_patchset(path.parent, BUILT_IN) for path in Path(builtin_dir()).glob("*/patchset.toml")]
    for symptom in chain(general_symptoms(builtin_dir()), *(one.about.symptoms for one in built_in)):
        yield from (symptom.meaning, symptom.advice)
    for one in built_in:
        yield from (one.about.summary, *(option.help for option in one.options))
        yield from (value for key, value in one.about.provenance.items() if key != "bug" and not value.startswith("https://"))
        yield from map(entry, prose_parts(one.about.prose))
    for command in all_commands():
        for text in [command.help, *(getattr(parameter, "help", None) for parameter in command.params)]:
            for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text or "")):
                yield " ".join(paragraph.split())
        yield from (line for line in (command.epilog or "").splitlines() if line[:1] not in ("", " ", "\b"))
    yield from SECTIONS


def test_each_sentence_is_a_template_with_fields_and_none_is_concatenated():
    others = (*BECOME, "record.py:")  # what a record refuses is for who writes the code
    assert [(place, text) for place, text in plain() if not place.startswith(others)] == []


def test_each_field_of_a_template_is_filled():
    """mypy does not check fields, and a rare message would fail just when something else is already wrong."""
    found = list(given())
    assert len(found) > 700
    assert [f"{place}: {template!r}" for place, template, fields, names in found if names is not None and not fields <= names] == []


def test_the_catalog_has_every_text_that_people_read_and_nothing_else():
    ours = {msgid for msgid, (comment, _) in entries().items() if comment not in ("click", "os")}
    needed = {*english(), *messages(), *words()} - {""}
    assert sorted(needed - ours) == []
    unused = ours - needed - said() - {text for _, text in plain(all_of_them=True) if " " not in text}
    assert sorted(unused) == []
    assert sorted(NOTHING_SAID - said() - {text for _, text in plain(all_of_them=True)}) == []


def test_each_message_is_found_by_its_own_entry_whatever_its_fields():
    known = entries()
    for msgid in sorted(messages()):
        fields = {f"x{number}": f"<{number}>" for number in range(msgid.count("{}"))}
        pieces = re.split(r"\{(\d?)\}", known[msgid][1])
        holes = [part or str(at) for at, part in enumerate(pieces[1::2])]
        assert sorted(holes) == [str(number) for number in range(len(fields))], msgid
        template = "".join(chain(*zip_longest(re.split(r"(?<=\{)(?=\})", msgid), fields, fillvalue="")))
        pieces[1::2] = (f"<{hole}>" for hole in holes)
        assert ZH.text(Message(template.replace("{...}", "{{...}}"), **fields)) == "".join(pieces)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            Message("{path}: {problem}", path="a: b", problem=Message("the file was changed after it was patched")),
            "a: b：打补丁之后文件又被改过",
        ),
        (Message("{path}: {state}", path="a b", state="c, d"), "a b: c, d"),
        (joined("; ", (count(1, "file"), count(2, "hunk"))), "1 个文件；2 个补丁块"),
        (Message("{insertions}(+)", insertions=count(1, "insertion")), "1 处增加（+）"),
        (Message("`{name}` stands in {places}", name="not found", places="b"), "`not found` stands in b"),
        (
            Message("cannot be read: {error}", error=PermissionError(13, "Permission denied", "/x y")),
            "无法读取：[Errno 13] 没有权限: '/x y'",
        ),
        (Message("the file has no line `{line}`", line="edited by hand"), "文件里没有这一行：`edited by hand`"),
        ("nothing is applied in /a: nothing to restore", "nothing is applied in /a: nothing to restore"),
        ("not found", "not found"),
    ],
)
def test_a_message_and_its_fields_are_translated_and_names_and_code_and_finished_text_are_not(said, told):
    assert ZH.text(said) == told


@pytest.mark.parametrize("path", ["/gone/data in use", "/gone/in use; not found", "applied (in use): edited by hand"])
def test_a_field_of_a_message_is_not_rewritten_whether_or_not_its_path_exists(path):
    edited = Message("{place}: {problem}", place=path, problem=Message("the file was changed after it was patched"))
    assert ZH.text(edited) == f"{path}：打补丁之后文件又被改过"
    assert (
        ZH.text(Message("nothing is applied in {site}: nothing to restore", site=path)) == f"{path} 里什么都没有应用：无需恢复"
    )
    error = UsageError.at(
        Location(path, 3), Message("found no {name} beside it, expected the text after the patch", name="in use")
    )
    assert ZH.text(error.message) == f"{path}:3：旁边没有 in use，而它应当写明改成什么"
    assert str(edited) == f"{path}: the file was changed after it was patched"


@pytest.mark.parametrize("name", ["data in use", "not found in use"])
def test_commands_keep_the_paths_of_the_user(tmp_path, name):
    home = tmp_path / name
    home.mkdir()
    site = Site(home, "mmengine-0.10.7")
    for line in (
        ["restore"],
        ["status", "-v"],
        ["doctor"],
        ["check", DDP, "--explain"],
        ["apply", "nonesuch"],
        ["diff", "--edited"],
    ):
        shown = [site(*line, SITEPATCH_LANG=language, COLUMNS="500") for language in ("en", "zh")]
        english, chinese = (ended.out + ended.err for ended in shown)
        assert re.search("[\u4e00-\u9fff]", chinese), line
        assert chinese.count(str(home)) == english.count(str(home)), (english, chinese)


@pytest.mark.parametrize("words", [[], ["apply"], ["capture"], ["diagnose"], ["hook", "init"]])
def test_help_is_chinese_and_no_wider_than_the_terminal(tmp_path, words):
    shown = done(sitepatch(*words, "--help", cwd=tmp_path, SITEPATCH_LANG="zh", COLUMNS="60")).out
    told = [line for line in shown.splitlines() if not re.match(r"  +sitepatch |  +torchrun ", line)]
    assert "显示本说明并退出。" in shown and "Show this" not in shown and "Usage" not in shown
    assert max(map(width, told)) <= 60


def test_what_an_error_means_is_reported_in_chinese_and_to_programs_in_english(tmp_path):
    (tmp_path / "train.log").write_text("RuntimeError: Address already in use\n")
    told = sitepatch("diagnose", "train.log", "--target", tmp_path, cwd=tmp_path, SITEPATCH_LANG="zh")
    assert told.code == 1 and "含义：各 rank 会合用的端口被占用" in told.out and "提示：换一个 --master_port" in told.out
    asked = sitepatch("diagnose", "train.log", "--target", tmp_path, "--json", cwd=tmp_path, SITEPATCH_LANG="zh")
    assert json.loads(asked.out)["findings"][0]["meaning"].startswith("the port where the ranks are to meet is taken")


def english_left(text):
    """Three English words in a row, but for code in backticks or quotes, commands, and lines of code."""
    text = re.sub(r"`[^`]*`|\"[^\"]*\"|sitepatch [\w-]+ [^\n；]*|(?m:^.* \| .*$)", "", text)
    return re.findall(r"[A-Za-z']+ [a-z']+ [a-z']+[^\n]*", text)


def test_commands_speak_chinese_and_answer_programs_in_english(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    bad = tmp_path / "patchsets" / "bad"
    bad.mkdir(parents=True)
    (bad / "patchset.toml").write_text('schema = 1\nname = "bax"\nversion = "x y"\nkind = 3\nfoo = 1\n')
    first = [
        "apply nonesuch",
        "apply mmengine-ddp-debg",
        "show bad",
        "check bad",
        "list",
        f"apply {DDP}",
        f"apply {DDP}",
        "status",
    ]
    then = ["status --verify import", "diff --edited --stat", "doctor", "restore", "restore", "check"]
    last = [f"apply {DDP} --patch-dir patchsets", "apply", "-h"]
    for line in [*first, *then, *last]:
        if line == then[1]:
            site.file().write_text(f"{site.file().read_text()}# mine\n")
        if line == last[0]:
            site.file().write_text(site.file().read_text().replace("# mine\n", ""))
            site.source(DDP, spatch=[("= MMDistributedDataParallel(", "= Other(")])
        shown = site(*line.split(), SITEPATCH_LANG="zh", COLUMNS="100")
        assert english_left(shown.out + shown.err) == [], line
        assert re.search("[\u4e00-\u9fff]", shown.out + shown.err), line
    done(site("diff", DDP, "--html", "page.html", SITEPATCH_LANG="zh"), 1)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<html lang="zh-CN">' in page and "在 MMEngine 用 DDP 包装模型之前，显示每个参数在哪里" in page
    for asked_for in (["check", DDP, "--explain"], ["apply", "nonesuch"], ["apply", "--nonsense"], ["status"]):
        asked = [site(*asked_for, "--json", SITEPATCH_LANG=language) for language in ("zh", "en")]
        assert asked[0].data == asked[1].data and json.loads(asked[0].out)["schema"] == 1
    told = site("check", DDP, "--explain", "-q", SITEPATCH_LANG="zh").out
    assert RUNNER in told and "找不到" in told and "`Runner.wrap_model` 存在，但没有要改的代码" in told
    assert english_left("\n".join(line for line in told.splitlines() if line[:13] != " " * 10)) == []


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


@pytest.mark.parametrize(("parts", "line"), [(["好 ", "的"], "好的"), (["好", " 的"], "好的"), (["a ", "的"], "a 的"), (["好", " a"], "好 a"), (["。", " （"], "。（")])
def test_no_blank_is_left_between_two_chinese_characters(parts, line):
    assert _glued(parts) == line


def test_lines_end_between_chinese_characters_and_never_before_a_comma():
    assert wrapped("补丁，应用 sitepatch（按语法）。", 10) == ["补丁，应用", "sitepatch", "（按语", "法）。"]


def test_the_source_of_a_patchset_is_chinese_in_an_error_and_in_its_hints(tmp_path):
    for line in ("update mmengine-device --to 9.9", "apply nothing-like-it"):
        told = sitepatch(*line.split(), "--target", tmp_path, cwd=tmp_path, SITEPATCH_LANG="zh").err
        assert "内置" in told and "built in" not in told, told


def test_show_prints_kinds_headings_and_states_in_chinese(tmp_path):
    shown = sitepatch("show", DDP, cwd=tmp_path, SITEPATCH_LANG="zh").out
    for text in ("  调试，内置\n", "\n出处\n  作者：", "可以去掉的时机：", "ddp-refuses-several-devices：模型的参数", "（int）\n", "个版本）：可应用\n"):
        assert text in shown, text
    about = shown.partition("ddp_debug.spatch")[0]
    assert english_left(re.sub(r"(?m)^解决.*?^选项$", "", about, flags=re.DOTALL)) == []
    listed = sitepatch("list", "-v", "--target", tmp_path, cwd=tmp_path, SITEPATCH_LANG="zh").out
    assert "  调试  mmengine" in listed and "  debug  " not in listed


def test_the_prose_of_a_patchset_is_chinese_and_its_lists_and_tables_keep_their_form(tmp_path):
    shown = sitepatch("show", DDP, cwd=tmp_path, SITEPATCH_LANG="zh").out
    assert "\n    world_size   torch.distributed 的，否则为变量 WORLD_SIZE 的文本" in shown and "DDP 会拒绝什么" in shown
    about = shown.partition("出处")[0]
    assert max(map(width, about.splitlines())) <= 100
    listed = sitepatch("show", "torch-dynamo-suppress", cwd=tmp_path, SITEPATCH_LANG="zh").out
    assert "\n- 它会掩盖缺陷：" in listed and "\n  陷" not in listed
    site = Site(tmp_path, "mmengine-0.10.7")
    done(site("diff", "mmengine-device", "--html", "page.html", SITEPATCH_LANG="zh"), 1)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<ol><li>get_device() 说 <code>cpu</code>。Runner" in page and "<small>修复，尚未应用</small>" in page
    assert " 存在，但没有要改的代码\n" in page, "a detail of several lines keeps them"
    assert "MMEngine 收下 fixtures/upstream/mmengine-upstream 的补丁" in page and "<dt>选项</dt>" in page and "（默认 auto）" in page


def test_prose_of_somebody_else_keeps_its_lines_in_chinese(tmp_path):
    site = Site(tmp_path, "mmengine-0.10.7")
    text = "What it is for,\nin two lines:\n\n- a point\n  of two lines\n"
    folder = site.source(DDP)
    spatch = folder / "ddp_debug.spatch"
    spatch.write_text(text + "\n--- " + spatch.read_text().partition("\n--- ")[2])
    shown = sitepatch("show", DDP, "--patch-dir", "patchsets", cwd=site.cwd, SITEPATCH_LANG="zh")
    assert f"\n{text}" in shown.out
