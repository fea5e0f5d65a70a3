"""`sitepatch edit`: a copy is edited, the environment is not touched, and what was edited becomes a patchset."""

import json
import sys
from pathlib import Path

import pytest

from tests.author.world import EDIT, M, World, editor
from tests.command import done
from tests.places import wheel

pytestmark = pytest.mark.once


def copies(world):
    return sorted(world.cwd.glob("sitepatch-edit-*"))


def test_what_is_saved_in_the_editor_becomes_a_patchset(world):
    before = world.tree()
    variables = editor(world, f"assert path.read_text() == {M!r}\npath.write_text({EDIT!r})")
    ended = done(world("edit", "demo", "m.py", "--name", "mine", **variables))
    assert "apply it with: sitepatch apply mine" in ended.out
    assert world.tree() == before
    assert copies(world) == []
    done(world("apply", "mine"))
    assert world.text() == EDIT


def test_two_edits_of_one_function_apply_in_either_order(world):
    last = M.replace("    return model\n", "    return model, path\n")
    for name, text in (("first", EDIT), ("last", last)):
        done(world("edit", "demo", "m.py", "--name", name, **editor(world, f"path.write_text({text!r})")))
    both = EDIT.replace("    return model\n", "    return model, path\n")
    for names in (["first", "last"], ["last", "first"]):
        for name in names:
            done(world("apply", name))
        assert world.text() == both
        for name in names:
            done(world("restore", name))
        assert world.text() == M


def test_a_file_may_be_named_by_its_path_as_the_shell_completes_it(world):
    path = world.path / "demo/m.py"
    done(world("edit", "demo", path, "--name", "mine", **editor(world, f"path.write_text({EDIT!r})")))
    done(world("edit", "demo", path.relative_to(world.cwd), "--name", "two", **editor(world, f"path.write_text({EDIT!r})")))
    done(world("edit", "demo/m.py", "--name", "whole", **editor(world, f"path.write_text({EDIT!r})")))
    done(world("edit", path, "--name", "absolute", **editor(world, f"path.write_text({EDIT!r})")))
    done(world("edit", "demo.m", "--name", "module", **editor(world, f"path.write_text({EDIT!r})")))
    (world.cwd / "m.py").write_text("")  # which is not the one that is meant
    done(world("edit", "demo", "m.py", "--name", "three", **editor(world, f"path.write_text({EDIT!r})")))
    (world.cwd / "other.py").write_text("")
    ended = done(world("edit", "demo", "other.py", "--name", "four", **editor(world, "")), 2)
    assert "other.py: is in no site directory of this environment" in ended.err
    ended = done(world("edit", "demo", "mm.py", "--name", "four", **editor(world, "")), 2)
    assert "hint: expected one of demo/m.py, " in ended.err
    (world.path / "beside.py").write_text("")
    ended = done(world("edit", "demo", world.path / "beside.py", "--name", "four", **editor(world, "")), 2)
    assert "beside.py: is a file of beside, not of demo" in ended.err


def test_the_same_command_again_revises_the_patchset(world):
    command = ("edit", "demo", "m.py", "--name", "mine")
    done(world(*command, **editor(world, f"path.write_text({EDIT!r})")))
    again = "text = path.read_text()\nassert 'where is it?' in text\npath.write_text(text.replace('where', 'what'))"
    done(world(*command, **editor(world, again)))
    spatch = (world.cwd / "patchsets/mine/mine.spatch").read_text()
    assert "what is it?" in spatch and "where is it?" not in spatch
    ended = done(world("edit", "demo", "n.py", "--name", "mine", **editor(world, "")), 2)
    assert "n.py: the patchset mine is there already, and changes demo/m.py" in ended.err
    assert copies(world) == []


def test_a_line_that_an_applied_patchset_wrote_is_reported_with_its_patchset(world):
    replaced = "path.write_text(path.read_text().replace('os.path.{}', 'os.path.{}'))"
    done(world("edit", "demo", "m.py", "--name", "wrote", **editor(world, replaced.format("basename", "dirname"))))
    done(world("apply", "wrote"))
    ended = done(world("edit", "demo", "m.py", "--name", "above", **editor(world, replaced.format("dirname", "abspath"))), 1)
    assert "the edit changes a line that wrote wrote: revise that patchset, sitepatch edit wrote" in ended.err
    assert "sitepatch restore wrote" in ended.err


@pytest.mark.parametrize("name", ["above", "zero"])
def test_a_number_that_an_applied_patchset_wrote_is_reported_with_its_patchset(world, name):
    replaced = "path.write_text(path.read_text().replace('VALUE = {}', 'VALUE = {}'))"
    done(world("edit", "demo", "n.py", "--name", "wrote", **editor(world, replaced.format(1, 2))))
    done(world("apply", "wrote"))
    ended = done(world("edit", "demo", "n.py", "--name", name, **editor(world, replaced.format(2, 3))), 1)
    assert "the edit changes a line that wrote wrote: revise that patchset, sitepatch edit wrote" in ended.err
    assert not (world.cwd / "patchsets" / name).exists()


def test_ctrl_c_in_the_editor_keeps_the_copies_and_says_where_they_are(world):
    code = "import os, signal, time\npath.write_text('X = 1\\n')\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(1)"
    ended = world("edit", "demo", "m.py", "--name", "mine", **editor(world, code))
    (kept,) = copies(world)
    assert ended.code == 130 and f"capture --from {kept} --name mine" in ended.err
    assert (kept / "demo/m.py").read_text() == "X = 1\n"


def test_a_folder_that_cannot_be_written_keeps_the_copies_and_says_where_they_are(world):
    code = f"path.write_text({EDIT!r})\nPath({str(world.cwd / 'patchsets')!r}).write_text('')"
    ended = world("edit", "demo", "m.py", "--name", "mine", **editor(world, code))
    (kept,) = copies(world)
    assert ended.code and f"capture --from {kept} --name mine" in ended.err


def test_a_whole_package_is_opened_with_what_is_applied_in_it(world):
    done(world("edit", "demo", "demo/m.py", "--name", "first", **editor(world, f"path.write_text({EDIT!r})")))
    done(world("apply", "first"))
    done(world("edit", "demo", "--name", "second", **editor(world, "(path / 'demo/n.py').write_text('VALUE = 2\\n')")))
    assert "first" not in (world.cwd / "patchsets/second/second.spatch").read_text()
    ended = done(world("edit", "demo", "m.py", "--name", "third", **editor(world, "path.write_text(path.read_text().replace('empty', 'none'))")))
    assert (ended.out.count("@@ check"), ended.out.count("@@ load")) == (1, 0)
    done(world("apply", "third"))
    assert world.text() == EDIT.replace("empty", "none")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("path.write_text(path.read_text() + 'X = 1\\n'); sys.exit(3)", "ended with exit code 3, nothing was captured"),
        ("", "nothing was edited"),
        ("path.unlink()", "demo/m.py: was deleted here: `--- PATH` and `-...` in the .spatch delete a file"),
        ("path.with_name('new.py').write_text('')", "demo/new.py: is not installed: `+++ PATH` in the .spatch adds a file"),
        ("Path({site!r}, 'demo/m.py').write_text('VALUE = 3\\n'); path.write_text('VALUE = 4\\n')", "was changed in"),
        ("path.write_text('def (')", "stopped: no patchset was written\n"),
    ],
)  # fmt: skip
def test_a_failure_is_reported_and_the_copies_are_kept(world, code, said):
    ended = world("edit", "demo", "m.py", "--name", "mine", **editor(world, code.format(site=str(world.path))))
    assert ended.code in (1, 2)
    assert said in ended.err
    (kept,) = copies(world)
    assert f"capture --from {kept} --name mine" in ended.err
    assert not (world.cwd / "patchsets").exists()


def test_in_a_namespace_package_a_file_has_to_be_named(tmp_path):
    world = World(tmp_path, {"demo/one/m.py": M})
    world.install(wheel(tmp_path / "wheels", "other", files={"demo/two/m.py": "VALUE = 1\n"}))
    refused = world("edit", "demo", "--name", "mine", "--no-editor")
    assert refused.code == 1 and "name a file of the one that is meant" in refused.err
    done(world("edit", "demo", "two/m.py", "--name", "mine", "--no-editor", TMPDIR=str(world.cwd)))
    assert [path.name for path in copies(world)[0].rglob("*.py")] == ["m.py"]


def test_a_missing_editor_is_reported(world):
    nothing = {"EDITOR": "", "VISUAL": " ", "TMPDIR": str(world.cwd)}
    assert "neither VISUAL nor EDITOR is set" in done(world("edit", "demo", "--name", "mine", **nothing), 1).err
    nothing["EDITOR"] = "/no/such/editor"
    ended = done(world("edit", "demo", "--name", "mine", **nothing), 1)
    assert "EDITOR=/no/such/editor: there is no such program" in ended.err and "export EDITOR=" in ended.err


def test_without_a_variable_an_installed_editor_is_opened_on_a_terminal(world):
    programs = world.cwd / "programs"
    programs.mkdir()
    (programs / "nano").write_text("#!/bin/sh\n/bin/sed -i 's/empty/none/' \"$1\"\n")
    (programs / "nano").chmod(0o755)
    code, text = world.asked("edit", "demo", "m.py", "--name", "mine", answer="", EDITOR="", VISUAL="", PATH=str(programs))
    assert code == 0 and "neither VISUAL nor EDITOR is set: opening nano" in text, text
    assert '"none"' in (world.cwd / "patchsets/mine/mine.spatch").read_text()


def test_an_editor_that_returns_at_once_is_waited_for_on_a_terminal(world):
    def saved():
        (copy,) = copies(world)
        (copy / "demo/m.py").write_text(EDIT)
        return ""

    code, text = world.asked("edit", "demo", "m.py", "--name", "mine", answer=saved, **editor(world, ""))
    assert code == 0 and text.count("press Enter once the file is saved and closed") == 1, text
    assert "where is it?" in (world.cwd / "patchsets/mine/mine.spatch").read_text()


def test_without_a_name_one_is_proposed_from_the_package_and_the_scope(world):
    edited = editor(world, f"path.write_text({EDIT!r})")
    assert "apply it with: sitepatch apply demo-load" in done(world("edit", "demo", "m.py", **edited)).out
    assert "apply it with: sitepatch apply demo-load-2" in done(world("edit", "demo.m", **edited)).out, "the first name is taken"
    twice = editor(world, "path.write_text(path.read_text().replace('empty', 'none').replace('basename', 'dirname'))")
    assert "apply it with: sitepatch apply demo-m" in done(world("edit", "demo", "m", **twice)).out
    done(world("check", "demo-load", "demo-load-2", "demo-m"))


def test_a_name_of_neither_a_patchset_nor_a_package_gets_a_suggestion(world):
    ended = done(world("edit", "demos", **editor(world, "")), 2)
    assert 'there is no patchset "demos"' in ended.err and "demos is not installed in" in ended.err and "did you mean demo?" in ended.err


def test_copies_of_an_earlier_edit_are_offered_by_the_next_edit_of_that_name(world):
    command = ("edit", "demo", "m.py", "--name", "mine")
    done(world(*command, **editor(world, f"path.write_text({EDIT!r}); sys.exit(3)")), 1)
    (kept,) = copies(world)
    capture = f"sitepatch capture --from {kept} --name mine --target {world.path}"
    text = world("edit", "demo", "m.py", "--name", "other", **editor(world, f"path.write_text({EDIT!r})"))
    assert str(kept) not in done(text).err
    text = world(*command, **editor(world, "sys.exit(3)"))
    assert f"copies of an earlier edit are kept; to capture them: {capture}" in done(text, 1).err
    again = f"assert path.read_text() == {EDIT!r}\npath.write_text({EDIT!r}.replace('where', 'what'))"
    code, shown = world.asked(*command, answer="y", **editor(world, again))
    assert code == 0 and f"go on with the copies of an earlier edit, in {kept}?" in shown, shown
    assert "what is it?" in (world.cwd / "patchsets/mine/mine.spatch").read_text() and not kept.exists()


def test_copies_without_a_name_are_captured_without_one(world):
    ended = done(world("edit", "demo", "m.py", **editor(world, f"path.write_text({EDIT!r}); sys.exit(3)")), 1)
    (kept,) = copies(world)
    assert f"go on with: sitepatch capture --from {kept} --target" in ended.err
    assert "sitepatch apply demo-load" in done(world("capture", "--from", kept)).out


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("fast.so", "demo/fast.so: is compiled, or other binary data: only source and other texts are patched"),
        ("data.bin", "demo/data.bin: is compiled, or other binary data"),
        ("{site}/beside/b.py", "beside/b.py: is a file of beside, not of demo\nhint: write: sitepatch edit beside/b.py"),
        ("{site}/demo-1.0.dist-info/METADATA", "is what the installer has written about a distribution"),
        ("{bin}/demo-tool", "is a program of the environment, which its installer wrote"),
        ("{cwd}/notes.txt", "is in no site directory of this environment"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_patched_is_named_with_the_reason(world, file, why):
    (world.path / "demo/fast.so").write_bytes(b"\x7fELF\0")
    (world.path / "demo/data.bin").write_bytes(b"\0\1")
    (world.path / "beside").mkdir()
    (world.path / "beside/b.py").write_text("")
    (world.cwd / "notes.txt").write_text("")
    programs = world.cwd / "venv/bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    (programs / "demo-tool").write_text("#!/usr/bin/python\n")
    named = file.format(site=world.path, bin=programs, cwd=world.cwd)
    ended = done(world("edit", "demo", named, "--name", "mine", "--python", programs / "python", **editor(world, "")), 2)
    assert why in ended.err and copies(world) == [], ended
    if named.startswith("/") and "not of demo" not in why:  # without the package
        ended = done(world("edit", named, "--python", programs / "python", **editor(world, "")), 2)
        assert why in ended.err and copies(world) == [], ended
    if "not of demo" not in why:  # capture takes files of several packages
        word = named if "/" in named else f"demo/{named}"
        ended = done(world("capture", word, "--name", "mine", "--python", programs / "python"), 2)
        assert why in ended.err, ended


@pytest.mark.parametrize("word", ["", ".", "..", "/", "../demo", "/no/such/file.py", "tools/demo-tool"])
def test_what_is_no_package_is_not_told_to_be_one_that_is_left_over(world, word):
    """Its folder would be the site directory, or one above."""
    (world.cwd / "tools").mkdir()
    (world.cwd / "tools/demo-tool").write_text("#!/usr/bin/python\n")
    for verb in ("edit", "capture"):
        ended = world(verb, word, "--name", "mine", **editor(world, ""))
        assert ended.code in (1, 2) and "remove" not in ended.err and "namespace" not in ended.err, ended
        assert copies(world) == []


def test_a_data_file_named_by_its_whole_path_is_copied_and_not_opened_in_place(world):
    data = world.path / "demo/words.txt"
    data.write_text("one\n")
    done(world("edit", "demo", data, "--name", "mine", "--no-editor", TMPDIR=str(world.cwd)))
    (folder,) = copies(world)
    assert (folder / "demo/words.txt").read_text() == "one\n"


def test_without_an_editor_capture_goes_on_from_the_copies(world):
    answer = json.loads(done(world("edit", "demo", "m.py", "--name", "mine", "--no-editor", "--json", TMPDIR=str(world.cwd))).out)
    assert answer["paths"] == ["demo/m.py"]
    out = done(world("edit", "demo", "m.py", "--name", "two", "--output", "made", "--no-editor", TMPDIR=str(world.cwd))).out
    assert out.rstrip().endswith(f"--name two --output made --target {world.path}")
    copy = Path(answer["folder"]) / "demo/m.py"
    assert copy.read_text() == M
    copy.write_text(EDIT)
    done(world("capture", "--from", answer["folder"], "--name", "mine"))
    assert (world.text(), copy.read_text()) == (M, EDIT)
    assert done(world("check", "mine")).code == 0
    ended = done(world("capture", "--from", world.cwd / "gone", "--name", "other"), 2)
    assert f"{world.cwd}/gone: found no such directory" in ended.err


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("{", "is not the JSON that sitepatch writes"),
        ('["demo/m.py"]', "the file: found a list, expected a table"),
        ('{"demo/m.py": 3}', "demo/m.py: found 3, expected a sha256 in lower-case hex"),
    ],
)
def test_a_damaged_record_of_the_copies_is_one_error_with_what_to_do(world, state, said):
    done(world("edit", "demo", "m.py", "--name", "mine", "--no-editor", TMPDIR=str(world.cwd)))
    (folder,) = copies(world)
    (folder / "demo/m.py").write_text(EDIT)
    (folder / ".sitepatch-edit.json").write_text(state)
    ended = world("capture", "--from", folder, "--name", "mine")
    assert ended.code == 1 and f".sitepatch-edit.json: {said}" in ended.err and "remove it to go on" in ended.err, ended
    (folder / ".sitepatch-edit.json").unlink()
    done(world("capture", "--from", folder, "--name", "mine"))


def test_a_file_edited_in_place_has_to_be_captured_first(world):
    world.edit()
    ended = done(world("edit", "demo", "--name", "mine", "--no-editor"), 1)
    assert "demo/m.py: was edited by hand where it is installed" in ended.err
    assert "sitepatch capture demo/m.py" in ended.err


def test_a_name_that_is_taken_and_a_file_that_is_not_there_are_reported_before_the_editor_is_opened(world):
    (world.cwd / "patchsets/mine").mkdir(parents=True)
    (world.cwd / "patchsets/mine/x").touch()
    assert "not empty" in done(world("edit", "demo", "--name", "mine"), 2).err
    ended = done(world("edit", "demo", "sub/m.py", "--name", "other"), 2)
    assert "expected one of demo/m.py" in ended.err
