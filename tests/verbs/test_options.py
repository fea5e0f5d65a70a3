"""Three tables: the options of each command, its help, and the exit code of each kind of mistake."""

import re

import click
import pytest
from click.testing import CliRunner

from patcher.verbs.main import commands
from tests.command import DDP, Site, done, sitepatch

COMMON = ["--json", "-q", "-v"]
SITE = ["--python", "--target", "--system"]
PROJECT = ["-r", "--project"]
OPTIONS = {  # command -> its arguments and options, without those that every command has
    "demo": [],
    "list": ["text", *SITE, "--patch-dir"],
    "show": ["name", "--patch-dir"],
    "diff": ["names", "--stat", "--html", "--edited", "--fetch", "--exit-code", *SITE, "--patch-dir"],
    "apply": ["names", "--set", "--dry-run", "--restore", "--force", "--verify", *SITE, "--patch-dir"],
    "status": ["names", "--check", "--verify", *SITE, "--patch-dir"],
    "restore": ["names", "--force", "--from-backup", "--dry-run", *SITE, "--patch-dir"],
    "run": ["names", "--set", *PROJECT, "--overlay", "--verify", *SITE, "--patch-dir"],
    "sync": [*PROJECT, "--dry-run", "--force", "--verify", *SITE, "--patch-dir"],
    "hook init": ["directory", "names", "--set", "--mode", "--name", "--patch-dir"],
    "hook status": [*SITE],
    "edit": ["package", "file", "--name", "--output", "--no-editor", *SITE, "--patch-dir"],
    "capture": ["words", "--name", "--output", "--also", "--partial", "--pristine", "--from", "--adopt", "--verify", *SITE, "--patch-dir"],
    "import": ["patches", "--name", "--output", "--also", "--leave-out", "--names", "--fuzz", *SITE],
    "update": ["name", "--to", "--edit", "--from", *SITE, "--patch-dir"],
    "export": ["names", "--format", "--output", "--against", "--wheel", "--set", *SITE, "--patch-dir"],
    "diagnose": ["logs", "--run", "--ranks", "--backend", "--timeout", *SITE, "--patch-dir"],
    "doctor": [*SITE, "--patch-dir"],
    "check": ["names", "--set", "--explain", "--against", "--html", *SITE, "--patch-dir"],
}
MISTAKES = {  # the words of a command -> its exit code
    ("--no-such-option",): 2,
    ("no-such-command",): 2,
    ("apply",): 2,
    ("apply", "no-such-patchset"): 2,
    ("apply", DDP, "--verify", "sometimes"): 2,
    ("apply", DDP, "--restore", "--force", "--no-such-option"): 2,
    ("show", "no-such-patchset"): 2,
    ("run", "--", "no-such-program"): 127,
    ("restore", DDP): 0,
    ("apply", DDP, "--restore"): 0,
    ("status", "--check"): 0,
}


def command_of(name: str) -> click.Command:
    group = commands
    for word in name.split():
        group = group.get_command(None, word)
    return group


def test_these_are_all_the_commands():
    assert list(dict.fromkeys(name.split()[0] for name in OPTIONS)) == commands.list_commands(None)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_command_has_these_options(name):
    assert [parameter.opts[0] for parameter in command_of(name).params] == [*OPTIONS[name], *COMMON]


@pytest.mark.parametrize("name", OPTIONS)
def test_the_help_of_a_command_says_what_it_does_with_an_example_and_each_option(name):
    page = CliRunner().invoke(commands, [*name.split(), "--help"])
    text = " ".join(page.output.split())
    what_it_does = command_of(name).help.split("\n\n")[0]
    assert page.exit_code == 0
    assert " ".join(what_it_does.split()) in text
    assert f"sitepatch {name}" in text.partition("Example")[2]
    for option in OPTIONS[name]:
        assert not option.startswith("-") or re.search(rf"(^|[ ,]){option}[ ,]", text)


def test_the_default_of_an_option_is_in_the_help():
    text = CliRunner().invoke(commands, ["sync", "--help"]).output
    assert "[default: .]" in text
    assert "[default: import]" in text


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_each_kind_of_mistake_has_its_exit_code(tmp_path, words):
    site = Site(tmp_path, "mmengine-0.10.7")
    place = ["--target", site.path] if "--target" in OPTIONS.get(words[0], []) else []
    done(sitepatch(words[0], *place, *words[1:], cwd=tmp_path), MISTAKES[words])
