"""A patchset that is captured again after further edits: what holds stays as written, and the version is raised."""

import re
import subprocess

import pytest

from patcher.author.revise import SpatchChange, raised, revised_spatch
from tests.author.world import EDIT, FILES, OTHER, M, World, editor
from tests.command import done

pytestmark = pytest.mark.once
BOTH = EDIT.replace('"empty"', 'f"empty: {model!r}"')
HAND = "Why.\n\n--- demo/m.py\n@@ load @@   when-present\n model = $M\n+print(\"loaded\", $M)  # where is it?\n"


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    world.backup()
    return world


def spatch(world):
    return (world.cwd / "patchsets/mine/mine.spatch").read_text()


def manifest(world):
    return (world.cwd / "patchsets/mine/patchset.toml").read_text()


def captured(world, text, *words):
    world.edit(text)
    return done(world("capture", "--name", "mine", *words))


def test_an_adopted_patchset_gets_what_was_edited_since_and_keeps_its_hunk_as_it_is_written(world):
    captured(world, EDIT, "--adopt")
    first = spatch(world).replace("@@ load @@", "@@ load @@  when-present")  # by hand
    (world.cwd / "patchsets/mine/mine.spatch").write_text(first)
    ended = captured(world, BOTH, "--adopt")
    assert spatch(world).startswith(first) and "@@ check @@" in spatch(world)[len(first) :] and "@@ load @@" not in ended.out
    assert 'version = "1.1"' in manifest(world) and "captured  1 hunk in patchsets/mine, for demo ==1.0" in ended.out
    assert "mine 1.1  demo 1.0  1 file" in done(world("status", "--check")).out and world.text() == BOTH
    done(world("restore"))
    assert world.text() == M


def test_an_edit_of_inserted_code_replaces_only_its_hunk(world):
    captured(world, BOTH, "--adopt")
    (old,) = (part for part in spatch(world).split("@@ ") if part.startswith("check"))
    ended = captured(world, BOTH.replace('"loaded"', '"read"'), "--adopt")
    assert "1 hunk in patchsets/mine, 1 replaced" in ended.out
    assert '"read"' in spatch(world) and '"loaded"' not in spatch(world) and old.strip() in spatch(world)
    done(world("status", "--check"))


def test_undoing_an_edit_removes_its_hunk(world):
    captured(world, BOTH, "--adopt")
    captured(world, EDIT, "--adopt")
    assert "@@ check @@" not in spatch(world) and world.text() == EDIT
    done(world("restore"))
    assert world.text() == M


def test_before_adoption_the_edit_is_the_result_of_the_patchset(world):
    captured(world, EDIT)
    first = spatch(world)
    captured(world, BOTH)
    assert spatch(world).startswith(first) and 'version = "1.1"' in manifest(world)
    before = manifest(world), spatch(world)
    ended = captured(world, BOTH)
    assert "patchsets/mine, as it stands" in ended.out and before == (manifest(world), spatch(world))
    done(world("capture", "--name", "mine", "--adopt"))
    assert world.text() == BOTH


def test_the_previous_text_is_kept_beside_it_unless_git_has_it(world):
    captured(world, EDIT)
    first = spatch(world), manifest(world)
    captured(world, BOTH)
    folder = world.cwd / "patchsets/mine"
    assert ((folder / "mine.spatch~").read_text(), (folder / "patchset.toml~").read_text()) == first
    second = spatch(world)
    captured(world, OTHER)
    assert (folder / "mine.spatch~").read_text() == second
    for name in ("mine.spatch~", "patchset.toml~"):
        (folder / name).unlink()
    for words in (["init", "-q"], ["add", "patchsets"], ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=world.cwd, check=True)
    captured(world, BOTH)
    assert sorted(path.name for path in folder.iterdir()) == ["mine.spatch", "patchset.toml"]


def test_files_no_longer_edited_or_not_named_stay_and_a_new_one_is_added(world):
    captured(world, EDIT, "--adopt")
    world.edit("VALUE = 2\n", "demo/n.py")
    done(world("capture", "demo/n.py", "--name", "mine", "--adopt", "--pristine", world.wheel))
    assert "--- demo/m.py\n@@ load @@" in spatch(world) and "--- demo/n.py\n@@ <module> @@" in spatch(world)
    assert 'imports = ["demo.m", "demo.n"]' in manifest(world)
    done(world("restore"))
    assert (world.text(), world.text("demo/n.py")) == (M, FILES["demo/n.py"])
    captured(world, BOTH)  # of a file alone, while the other is as it was installed
    assert "--- demo/n.py\n@@ <module> @@" in spatch(world)


def test_a_file_of_the_patchset_that_is_not_named_is_adopted_too(world):
    captured(world, EDIT)
    world.edit("VALUE = 2\n", "demo/n.py")
    done(world("capture", "demo/n.py", "--name", "mine", "--adopt", "--pristine", world.wheel))
    assert "--- demo/m.py\n@@ load @@" in spatch(world) and "--- demo/n.py\n@@ <module> @@" in spatch(world)
    done(world("status", "--check"))
    done(world("restore"))
    assert (world.text(), world.text("demo/n.py")) == (M, FILES["demo/n.py"])


def test_a_file_that_another_patchset_changes_too_is_derived_anew(world):
    world.edit(OTHER)
    done(world("capture", "--name", "first", "--adopt"))
    captured(world, BOTH, "--adopt")
    third = BOTH.replace("return os.path.basename(path)", "return os.path.normpath(path)")
    captured(world, third, "--adopt")
    assert world.text() == third and "empty" not in spatch(world) and "normpath" in spatch(world)
    done(world("restore", "first"))
    assert world.text() == third.replace('f"empty: {model!r}"', '"empty"')
    done(world("restore"))
    assert world.text() == M


def test_cases_are_kept_and_run_and_an_untried_range_is_reported(world):
    captured(world, EDIT)
    folder = world.cwd / "patchsets/mine"
    (folder / "patchset.toml").write_text(manifest(world).replace("==1.0", ">=0.9,<=1.1"))
    (folder / "cases").mkdir()
    (folder / "cases/a.before.py").write_text(f"# case: demo/m.py 1.0\n{M}")
    (folder / "cases/a.after.py").write_text(EDIT)
    err = captured(world, BOTH).err
    assert "cases/a.before.py: it becomes another text than expected; mend the case" in err
    assert "demo >=0.9,<=1.1 stays its range, and only 1.0 was tried; all of it with: sitepatch check mine --against all" in err
    assert 'versions = ">=0.9,<=1.1"' in manifest(world)


def test_an_edit_of_another_package_is_refused(tmp_path):
    world = World(tmp_path, {**FILES, "other/__init__.py": "X = 1\n"})
    world.backup()
    captured(world, EDIT)
    before = spatch(world), manifest(world)
    world.edit("X = 2\n", "other/__init__.py")
    ended = done(world("capture", "--name", "mine", "--pristine", world.wheel, "demo", "other"), 1)
    assert "other/__init__.py: was edited too, and mine has no hunk for demo 1.0" in ended.err
    assert before == (spatch(world), manifest(world))


def with_second_patch(world):
    """`mine` of EDIT with a second patch for the same file; what it makes of it."""
    captured(world, EDIT)
    world.edit(M)
    two = manifest(world).replace('patches = ["mine.spatch"]', 'patches = ["mine.spatch", "more.spatch"]')
    (world.cwd / "patchsets/mine/patchset.toml").write_text(two)
    (world.cwd / "patchsets/mine/more.spatch").write_text('--- demo/m.py\n@@ check @@\n-"empty"\n+"none"\n')
    return EDIT.replace("empty", "none")


def test_an_edit_of_a_file_that_several_patches_change_goes_into_the_last_of_them(world):
    made = with_second_patch(world)
    first, folder = spatch(world), world.cwd / "patchsets/mine"
    edited = made.replace('"loaded"', '"made"').replace("os.path.basename", "os.path.dirname")
    done(world("edit", "mine", **editor(world, f"assert path.read_text() == {made!r}\npath.write_text({edited!r})")))
    more = (folder / "more.spatch").read_text()
    assert spatch(world) == first and more.startswith('--- demo/m.py\n@@ check @@\n-"empty"\n+"none"\n') and "dirname" in more
    done(world("apply", "mine"))
    assert world.text() == edited
    world.edit(edited.replace('"none"', '"empty"'))
    done(world("capture", "demo", "--name", "mine", "--adopt"))
    assert spatch(world) == first and '"none"' not in (folder / "more.spatch").read_text()
    assert world.text() == edited.replace('"none"', '"empty"')
    done(world("restore"))
    assert world.text() == M


def test_an_edit_above_a_patch_that_does_not_fit_is_refused_with_its_hunk(world):
    with_second_patch(world)
    path = world.cwd / "patchsets/mine/mine.spatch"
    path.write_text(path.read_text().replace("@@ load @@", "@@ store @@"))
    world.edit(M.replace('"empty"', '"gone"'))
    ended = done(world("capture", "demo", "--name", "mine"), 1)
    assert "mine.spatch:4: does not fit, and is below what was edited: " in ended.err and "there is no `store` in this file\n" in ended.err


def test_edit_opens_the_files_as_the_patchset_makes_them(world):
    captured(world, EDIT)
    world.edit(M)
    before, first = world.tree(), spatch(world)
    ended = done(world("edit", "mine", **editor(world, f"assert path.read_text() == {EDIT!r}\npath.write_text({BOTH!r})")))
    assert spatch(world).startswith(first) and "check" in spatch(world) and 'version = "1.1"' in manifest(world)
    assert world.tree() == before and "apply it with: sitepatch apply mine" in ended.out
    done(world("apply", "mine"))
    assert world.text() == BOTH
    done(world("edit", "mine", **editor(world, f"assert path.read_text() == {BOTH!r}\npath.write_text({EDIT!r})")))
    done(world("apply", "mine"))
    assert world.text() == EDIT and spatch(world) == first
    ended = done(world("edit", "mine", **editor(world, "")), 1)
    assert "nothing was edited" in ended.err and 'version = "1.2"' in manifest(world)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [("    return model)\n", "m.py:8  the file cannot be read as Python"), ("    return modell\n", "nothing binds there: `modell`")],
)
def test_a_mistake_in_the_edit_leaves_the_patchset_as_it_is(world, wrong, said):
    edited = M.replace("    return model\n", "    return list(model)\n")
    captured(world, edited)
    world.edit(M)
    before = spatch(world), manifest(world)
    ended = done(world("edit", "mine", **editor(world, f"path.write_text({M.replace('    return model' + chr(10), wrong)!r})")), 1)
    assert said in ended.out and "nothing is left" not in ended.err and before == (spatch(world), manifest(world))
    world.edit(M.replace("    return model\n", wrong))
    ended = done(world("capture", "--name", "mine", "--partial"), 1)
    assert said in ended.out and "no patchset was written" in ended.err and before == (spatch(world), manifest(world))


@pytest.mark.parametrize("words", [(), ("demo",)])
def test_an_added_file_that_is_edited_where_it_is_applied_is_revised(world, words):
    captured(world, EDIT)
    world.edit(M)
    (world.cwd / "patchsets/mine/mine.spatch").write_text(spatch(world) + "\n+++ demo/_help.py\n+X = 1\n")
    done(world("apply", "mine"))
    world.edit("X = 2\n", "demo/_help.py")
    done(world("capture", *words, "--name", "mine", "--adopt"))
    assert "+++ demo/_help.py\n+X = 2\n" in spatch(world) and "mine 1.1  demo 1.0  2 files" in done(world("status", "--check")).out
    world.edit(BOTH)
    done(world("capture", *words, "--name", "mine", "--adopt"))
    assert "@@ check @@" in spatch(world)
    done(world("restore"))
    assert world.text() == M and not (world.path / "demo/_help.py").exists()


def test_a_note_that_nothing_needs_stays_one_when_it_is_revised(world):
    captured(world, EDIT)
    world.edit(M)
    (world.cwd / "patchsets/mine/mine.spatch").write_text(spatch(world) + "\n+++ demo/note.txt when-present\n+Loaded.\n")
    done(world("apply", "mine"))
    world.edit("Loaded twice.\n", "demo/note.txt")
    done(world("capture", "--name", "mine", "--adopt"))
    assert "+++ demo/note.txt when-present\n+Loaded twice.\n" in spatch(world)


def test_what_is_undone_in_the_copies_is_removed(world):
    world.edit("VALUE = 2\n", "demo/n.py")
    world.edit(EDIT)
    done(world("capture", "demo", "--name", "mine", "--pristine", world.wheel))
    (world.path / "demo/n.py").write_text(FILES["demo/n.py"])
    world.edit(M)
    ended = done(world("edit", "mine", **editor(world, f"(path / 'demo/m.py').write_text({OTHER!r})")))
    assert ", 1 replaced" in ended.out and "@@ check @@" in spatch(world) and "demo/n.py" in spatch(world)
    done(world("edit", "mine", **editor(world, "(path / 'demo/n.py').write_text('VALUE = 1\\n')")))
    assert "demo/n.py" not in spatch(world) and "@@ check @@" in spatch(world)
    ended = done(world("edit", "mine", **editor(world, f"path.write_text({M!r})")), 1)
    assert "mine: nothing is left of it" in ended.err and "@@ check @@" in spatch(world)


def test_what_is_undone_of_one_of_two_patchsets_is_removed(world):
    world.edit(EDIT)
    done(world("capture", "--name", "first", "--adopt"))
    captured(world, BOTH, "--adopt")
    world.edit(EDIT)
    ended = done(world("capture", "--name", "mine", "--adopt"), 1)
    assert "mine: nothing is left of it" in ended.err and world.text() == EDIT


def test_an_emptied_spatch_is_named(world):
    captured(world, EDIT)
    world.edit(M)
    folder = world.cwd / "patchsets/mine"
    (folder / "two.spatch").write_text("--- demo/n.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = 2\n")
    (folder / "patchset.toml").write_text(manifest(world).replace('["mine.spatch"]', '["mine.spatch", "two.spatch"]'))
    ended = done(world("edit", "mine", **editor(world, f"(path / 'demo/m.py').write_text({M!r})")), 1)
    assert "mine/mine.spatch: nothing is left of it" in ended.err and "what names it in patchset.toml" in ended.err
    ended = done(world("edit", "mine", **editor(world, f"(path / 'demo/m.py').write_text({M!r}); (path / 'demo/n.py').write_text('VALUE = 1\\n')")), 1)
    assert "error: mine: nothing is left of it" in ended.err and f"remove {folder}" in ended.err


def test_a_further_release_is_tried_even_if_the_edit_is_already_captured(world):
    captured(world, EDIT)
    other = world.cwd / "other/demo"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("")
    (other / "m.py").write_text(M)
    ended = done(world("capture", "--name", "mine", "--also", "other"))
    assert "patchsets/mine, as it stands" in ended.out and "applicable" in ended.out


def test_an_added_file_can_be_edited_and_a_patchset_of_others_cannot(world):
    captured(world, EDIT)
    world.edit(M)
    text = "+++ demo/_help.py\n+X = 1\n\n--- demo/n.py\n@@ <module> @@\n-VALUE = 1\n+VALUE = 2\n"
    (world.cwd / "patchsets/mine/mine.spatch").write_text(text)
    done(world("edit", "mine", **editor(world, "assert path.is_dir()\n(path / 'demo/_help.py').write_text('X = 3\\n')")))
    assert "+++ demo/_help.py\n+X = 3\n" in spatch(world) and "+VALUE = 2\n" in spatch(world)
    ended = done(world("edit", "mine", **editor(world, "(path / 'demo/n.py').write_text('VALUE = 5\\n')")))
    assert re.search(r"1 hunk in \S+, 1 replaced,", ended.out), "the file that is added stays as it is"
    assert "+++ demo/_help.py\n+X = 3\n" in spatch(world) and "+VALUE = 5\n" in spatch(world)
    done(world("apply", "mine"))
    assert (world.text("demo/_help.py"), world.text("demo/n.py")) == ("X = 3\n", "VALUE = 5\n")
    assert "belongs to what is installed" in done(world("edit", "torch-musa-guard"), 1).err
    assert "there is no patchset" in done(world("edit", "nothing"), 2).err


@pytest.mark.parametrize(
    ("text", "gone", "added", "expected"),
    [
        (HAND, {4}, {}, ""),
        (HAND, set(), {"demo/m.py": "@@ f @@\n-a\n+b\n"}, HAND + "\n@@ f @@\n-a\n+b\n"),
        (HAND, {4}, {"demo/m.py": "@@ f @@\n-a\n+b\n"}, "Why.\n\n--- demo/m.py\n@@ f @@\n-a\n+b\n"),
        (HAND, {4}, {"demo/n.py": "@@ f @@\n-a\n+b\n"}, "Why.\n\n--- demo/n.py\n@@ f @@\n-a\n+b\n"),
        (HAND, set(), {"demo/x.py": "+++ demo/x.py\n+a\n"}, HAND + "\n+++ demo/x.py\n+a\n"),
        ("+++ demo/x.py\n+a\n", {1}, {"demo/x.py": "+++ demo/x.py\n+b\n"}, "+++ demo/x.py\n+b\n"),
    ],
)
def test_the_text_around_the_hunks_stays(text, gone, added, expected):
    assert revised_spatch(text, "p.spatch", SpatchChange(gone, added)) == expected


def test_the_last_number_of_a_version_is_incremented():
    assert list(map(raised, ("1.0", "1.9", "2", "1.0rc1"))) == ["1.1", "1.10", "3", "1.0rc2"]
