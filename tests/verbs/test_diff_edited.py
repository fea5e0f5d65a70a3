"""`diff` names files edited by hand and, where their original is available, shows the edits apart from what patchsets changed."""

import re
import shutil
import subprocess

import pytest

from tests.author.world import EDIT, M, World
from tests.command import done, environ, on_a_terminal
from tests.pages import whole
from tests.places import wheel

pytestmark = pytest.mark.once
MANIFEST = """\
schema = 1
name = "{0}"
version = "1.0"
kind = "fix"
summary = "For a test"
[[variant]]
package = "{1}"
versions = ""
patches = ["p.spatch"]
"""
ADDED = '+    print("loaded", model)  # where is it?\n'


@pytest.fixture
def world(tmp_path):
    """demo, for which ./patchsets has a patchset, and other, for which it has none."""
    world = World(tmp_path)
    world.install(wheel(tmp_path / "wheels", "other", files={"other/__init__.py": "X = 1\n"}))
    folder = tmp_path / "patchsets" / "mine"
    folder.mkdir(parents=True)
    (folder / "patchset.toml").write_text(MANIFEST.format("mine", "demo"))
    (folder / "p.spatch").write_text('--- demo/m.py\n@@ check @@\n-"empty"\n+"nothing"\n')
    return world


def test_an_edited_file_is_named_even_where_its_original_is_nowhere(world):
    assert done(world("diff", "--exit-code")).out == ""
    world.edit()
    world.edit("VALUE = 2\n", "demo/n.py")
    before = world.tree()
    cache = {"SITEPATCH_CACHE": str(world.cwd / "cache")}
    ended = done(world("diff", "--exit-code", **cache), 1)
    for path in ("demo/m.py", "demo/n.py"):
        assert f"{path}: edited by hand (demo 1.0), and the original text is not on this machine" in ended.err
    assert "sitepatch diff --edited --fetch demo/m.py" in ended.err and ended.out == ""
    assert world.tree() == before
    assert "fetching" not in ended.err, "the index is asked where that is asked for"
    err = done(world("diff", "--edited", "--fetch", "demo/m.py", **cache)).err
    assert "fetching demo 1.0" in err and "demo/m.py: demo 1.0 in the index: " in err and "and the original text was not found" in err


def test_without_a_name_the_packages_of_patchsets_are_looked_at(world):
    world.edit("X = 2\n", "other/__init__.py")
    assert "other" not in done(world("diff")).err
    for words in (["--edited", "other"], ["--edited", "other/__init__.py"]):
        assert "other/__init__.py: edited by hand (other 1.0)" in done(world("diff", *words)).err
    shutil.rmtree(str(world.cwd / "patchsets"))
    assert "nothing is edited by hand here in the packages of patchsets; of another one: diff --edited PACKAGE" in done(world("diff", "--edited")).err
    (world.cwd / "pyproject.toml").write_text('[tool.sitepatch]\npatchsets = ["mine"]\npatch-dir = "ours"\n')
    folder = world.cwd / "ours" / "mine"
    folder.mkdir(parents=True)
    (folder / "patchset.toml").write_text(MANIFEST.format("mine", "other"))
    (folder / "p.spatch").write_text("--- other/__init__.py\n@@ <module> @@\n-X = 1\n+X = 3\n")
    assert "other/__init__.py: edited by hand" in done(world("diff")).err
    assert world("diff", "--edited", "nowhere").code == 1


def test_what_was_edited_is_shown_apart_from_what_a_patchset_changed(world):
    done(world("apply", "mine", "--verify", "none"))
    plain = done(world("diff")).out
    world.edit(world.text().replace("    if strict:\n", ADDED[1:] + "    if strict:\n"))
    ended = done(world("diff"))
    assert ended.out == plain and ADDED not in plain
    assert "demo/m.py: edited by hand (demo 1.0), 1 line more and 0 less; to see it: sitepatch diff --edited demo/m.py" in ended.err
    edited = done(world("diff", "--edited")).out
    assert [line for line in edited.splitlines(True) if line[0] in "+-"] == ["--- a/demo/m.py\n", "+++ b/demo/m.py\n", ADDED]
    both = re.sub("\x1b\\[[0-9;]*m", "", on_a_terminal(world.cwd, "diff", "--target", world.path)[1])
    parts = both.partition("demo/m.py (demo 1.0): edited by hand, compared with what mine made of it\n")
    assert '"nothing"' in parts[0] and ADDED not in parts[0] and ADDED in parts[2]
    assert done(world("diff", "--stat")).out.splitlines()[2:4] == ["edited by hand", " demo/m.py | 1 +"]
    done(world("diff", "--html", "page.html"))
    page = whole((world.cwd / "page.html").read_bytes())
    assert page.text("h2") == "Changed by patchsetsEdited by handmine 1.0 fix, appliedRemarks"


@pytest.mark.parametrize("where", ["a backup", "the wheel"])
def test_the_original_is_found_on_this_machine_and_the_diff_undoes_the_edit(world, where):
    if where == "a backup":
        world.backup()
    else:
        (info,) = world.path.glob("demo-*.dist-info")
        (info / "direct_url.json").write_text(f'{{"url": "file://{world.wheel}"}}')
    world.edit()
    diff = done(world("diff", "--edited"))
    assert ADDED in diff.out and EDIT != M
    back = subprocess.run(["patch", "-p1", "-R", "--quiet"], input=diff.data, cwd=str(world.path), env=environ())
    assert back.returncode == 0 and world.text() == M
