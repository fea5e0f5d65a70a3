"""The command line: its help, its answers to typing errors, and what all commands have in common."""

import json

import click
import pytest

from tests.command import DDP, Site, sitepatch
from tests.verbs.helpers import every_command

SECTIONS = {
    "Start here:": {"demo", "list", "show"},
    "Every day:": {"diff", "apply", "status", "restore", "run"},
    "Projects:": {"sync", "hook"},
    "When something is wrong:": {"diagnose", "doctor", "check"},
}


@pytest.mark.parametrize("columns", ["60", "80", "100"])
def test_the_help_is_grouped_and_no_line_of_it_is_cut(tmp_path, columns):
    out = sitepatch("--help", cwd=tmp_path, COLUMNS=columns).out
    sections = {}
    title = ""
    for line in out.splitlines():
        if line in SECTIONS:
            title = line
        elif not line.startswith("  "):
            title = ""
        if title and line[:2] == "  " and line[2] != " ":
            sections.setdefault(title, set()).add(line.split()[0])
    assert sections == SECTIONS and list(sections) == list(SECTIONS)
    assert "..." not in out.replace("[ARGS]...", "")
    text = " ".join(out.split())
    for name, one in every_command():
        if " " not in name:
            assert " ".join((one.help or "").split("\n\n")[0].split()) in text, name
    assert max(map(len, out.splitlines())) < int(columns)


def test_the_help_of_a_group_is_not_cut_either(tmp_path):
    text = " ".join(sitepatch("hook", "--help", cwd=tmp_path, COLUMNS="80").out.split())
    for name, one in every_command():
        if name.startswith("hook "):
            assert " ".join((one.help or "").split("\n\n")[0].split()) in text, name


@pytest.mark.parametrize(("word", "near"), [("aply", "apply"), ("stauts", "status"), ("diagnsoe", "diagnose"), ("hook inti", "init"), ("zzzz", "")])
def test_a_mistyped_command_is_answered_with_the_nearest_one(tmp_path, word, near):
    ended = sitepatch(*word.split(), DDP, cwd=tmp_path)
    word = word.split()[-1]
    assert ended.code == 2
    assert f'there is no command "{word}"' + (f'; did you mean "{near}"?' if near else "\n") in ended.err


@pytest.mark.parametrize(("words", "near"), [("status --jsn", "--json"), ("restore --al", ""), ("apply --yes", "")])
def test_a_mistyped_option_is_answered_with_the_nearest_one(tmp_path, words, near):
    ended = sitepatch(*words.split(), cwd=tmp_path)
    option = words.split()[-1]
    assert ended.code == 2
    assert f"there is no option {option}" + (f'; did you mean "{near}"?' if near else "\n") in ended.err


def test_every_command_takes_the_shared_options_and_has_an_example():
    for name, one in every_command():
        if not isinstance(one, click.Group) or one.invoke_without_command:
            options = [word for parameter in one.params for word in parameter.opts]
            assert {"--quiet", "--verbose", "--json"} <= set(options), name
            assert "sitepatch " in (one.epilog or ""), name


WRONG = {  # a run of each command that fails after its words were read
    "apply": ["no-such"], "check": ["no-such"], "diagnose": ["no-such"], "diff": ["no-such"],
    "show": ["no-such"], "restore": ["no-such"], "sync": [], "hook init": ["h"],
    "hook status": ["--python", "no-such"], "status": ["--python", "no-such"],
    "doctor": ["--python", "no-such"], "list": ["--patch-dir", "no-such"], "run": ["no-such"],
    "capture": ["no-such", "--name", "mine"], "edit": ["no-such", "--name", "mine"],
    "import": ["no-such", "--name", "mine"], "export": ["no-such"],
    "update": ["no-such"],
}  # fmt: skip


@pytest.mark.parametrize(("command", "words"), [*WRONG.items(), ("restore", ["no-such", "--from-backup"]), ("diagnose", ["--ranks", "2"])])
def test_with_json_an_error_is_json_too(tmp_path, command, words):
    site = Site(tmp_path)
    site.path.mkdir()
    takes_target = command not in ("show", "list", "hook init") and "--python" not in words
    target = ["--target", site.path] if takes_target else []
    behind = ["--", "true"] if command == "run" else []
    ended = sitepatch(*command.split(), *words, "--json", *target, *behind, cwd=tmp_path)
    answer = json.loads(ended.err if command == "run" else ended.out)  # stdout of `run` is that of the command it becomes
    assert ended.code in (1, 2) and not answer["ok"], ended
    assert (answer["schema"], answer["command"]) == (1, command.replace(" ", "-"))
    assert answer["error"]["message"] and answer["error"]["exit_code"] == ended.code
    if command == "run":
        assert ended.out == "" and ended.err.count("\n") == 1
    else:
        assert "error: " in ended.err


def test_every_command_is_tried_with_json():
    names = {name for name, one in every_command() if not isinstance(one, click.Group)}
    assert {*WRONG, "demo"} == names  # which do not fail
