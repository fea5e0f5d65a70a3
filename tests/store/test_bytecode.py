"""The source that is seen is the source that runs: every interpreter, optimization level and form of bytecode there is."""

import os
import subprocess
import sys
import time

import pytest

from tests.command import done, environ
from tests.installed.sites import install
from tests.interpreters import interpreters
from tests.places import command, patchset

pytestmark = pytest.mark.once

LEVELS = ("", "-O", "-OO")
OLD = 1_600_000_000  # an mtime in whole seconds, as those in wheels are
SHOW = "import sys, demo.m as m; sys.stdout.write(str(m.VALUE))"
COMPILE = (
    "import py_compile as p, sys\n"
    "for level in (0, 1, 2):\n"
    "    p.compile('demo/m.py', optimize=level, doraise=True, invalidation_mode=p.PycInvalidationMode[sys.argv[1]])\n"
)


class Shared:
    """A directory of packages that all interpreters share, and what each of them runs of it."""

    def __init__(self, folder, mtime=OLD):
        self.folder, self.site = folder, folder / "site"
        install(self.site, {"demo/__init__.py": "", "demo/m.py": "VALUE = 1\n"})
        self.file = self.site / "demo" / "m.py"
        os.utime(str(self.file), (mtime, mtime))
        patchset(folder)

    def __call__(self, *words, **more):
        done(command(self.folder, *words, "--target", self.site, **more))

    def python(self, version, *words, **more):
        variables = environ(PYTHONPATH=str(self.site), PYTHONDONTWRITEBYTECODE="", **more)
        every = [interpreters()[version], *filter(None, words)]
        return subprocess.run(every, cwd=str(self.site), env=variables, stdout=subprocess.PIPE, check=True).stdout

    def values(self, **more):
        """The values that the module has under each interpreter at each level, which writes their bytecode."""
        values = set()
        for version in interpreters():
            values.update(self.python(version, level, "-c", SHOW, **more) for level in LEVELS)
        return values

    def compile(self, mode):
        """Bytecode of a form at every level, by each interpreter that knows it (PEP 552: from 3.7 on)."""
        for version in interpreters():
            if version >= (3, 7):
                self.python(version, "-c", COMPILE, mode)

    def bytecode(self):
        """Every bytecode file of the module, wherever it lies."""
        return sorted(path.name for path in self.folder.rglob("m.*pyc"))


def test_every_interpreter_and_level_that_shares_the_directory_runs_what_is_seen(tmp_path):
    """The bytecode of all of them lies in one directory; old and new text have one size, written within one second."""
    shared = Shared(tmp_path, mtime=int(time.time()))
    assert interpreters()
    assert shared.values() == {b"1"}
    assert len(shared.bytecode()) == len(interpreters()) * len(LEVELS)
    (shared.site / "demo" / "m.pyc").write_bytes(b"of Python 2")
    shared("apply", "two")
    assert shared.bytecode() == [], "all of it is gone before anything runs"
    assert shared.values() == {b"2"}
    patchset(tmp_path, new=3, version="2")
    shared("apply", "two")
    assert shared.bytecode() == []
    assert shared.values() == {b"3"}
    shared("restore")
    assert shared.bytecode() == []
    assert shared.values() == {b"1"}


@pytest.mark.parametrize("mode", ["UNCHECKED_HASH", "CHECKED_HASH", "TIMESTAMP"])
def test_no_form_of_bytecode_outlives_the_source_it_was_made_of(tmp_path, mode):
    """An unchecked one would be run whatever the source says; a restored mtime makes one of a timestamp fit again."""
    shared = Shared(tmp_path)
    for words, runs in ((["apply", "two"], {b"2"}), (["restore"], {b"1"}), (["apply", "two"], {b"2"})):
        shared.compile(mode)
        assert shared.bytecode() != []
        shared(*words)
        assert shared.bytecode() == []
        assert shared.values() == runs


def test_bytecode_of_another_time_that_fits_the_new_second_is_not_trusted(tmp_path):
    """A clock that ran ahead when it was written: the new mtime is past the one that the bytecode recorded."""
    ahead = int(time.time()) + 3600
    shared = Shared(tmp_path, mtime=ahead)
    shared.compile("TIMESTAMP")
    os.utime(str(shared.file), (OLD, OLD))
    shared("apply", "two")
    assert shared.file.stat().st_mtime >= ahead + 2
    assert shared.values() == {b"2"}
    shared("restore")
    assert shared.values() == {b"1"}


@pytest.mark.parametrize("spelled", ["absolute", "relative"])
def test_bytecode_under_a_prefix_that_is_set_while_applying_is_removed(tmp_path, spelled):
    """Below the prefix lies the path of the directory as the interpreter was told it: here through a link, and not."""
    shared = Shared(tmp_path)
    real, link = shared.site, tmp_path / "link"
    link.symlink_to(real)
    prefix = {"PYTHONPYCACHEPREFIX": str(tmp_path / "caches")}
    spelled_prefix = {"PYTHONPYCACHEPREFIX": "caches"} if spelled == "relative" else prefix  # the command runs in tmp_path
    of_it = [version for version in interpreters() if version >= (3, 8)]
    for words, runs in ((["apply", "two"], {b"2"}), (["restore"], {b"1"})):
        for shared.site in (real, link):
            for version in of_it:
                shared.python(
                    version, "-c", COMPILE.replace("demo/m.py", f"{shared.site}/demo/m.py"), "UNCHECKED_HASH", **prefix
                )
        assert len(shared.bytecode()) == len(LEVELS) * len(of_it) * 2
        shared(*words, **spelled_prefix)
        assert shared.bytecode() == []
        for shared.site in (real, link):
            assert {shared.python(version, "-c", SHOW, **prefix) for version in of_it} == runs


def test_bytecode_with_timestamps_under_a_prefix_that_apply_does_not_know_is_not_trusted(tmp_path):
    """It cannot be removed, for nobody knows where it lies; but its mtime does not fit: the interpreter compiles anew."""
    shared = Shared(tmp_path, mtime=int(time.time()))
    prefix = {"PYTHONPYCACHEPREFIX": str(tmp_path / "elsewhere")}
    assert shared.values(**prefix) == {b"1"}
    shared("apply", "two")
    assert shared.bytecode() != [], "it is there still"
    assert shared.values(**prefix) == {b"2"}
    patchset(tmp_path, new=3, version="2")
    shared("apply", "two")
    assert shared.values(**prefix) == {b"3"}
    shared("restore")
    assert shared.values(**prefix) == {b"1"}


KILLED = """\
import os, py_compile, sys
from patcher.store import journal
def die(*args):  # the call that follows the renames
    os.chdir(sys.argv[-1])
    with open("old", "w") as old:
        old.write(OLD_TEXT)
    for level in (0, 1, 2):
        name = "demo/__pycache__/m.%s%s.pyc" % (sys.implementation.cache_tag, ".opt-%d" % level if level else "")
        py_compile.compile("old", name, doraise=True, optimize=level,
                           invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    os._exit(9)
journal.undo = die
from patcher.__main__ import main
main()
"""


@pytest.mark.parametrize(("words", "before", "runs"), [(["apply", "two"], 1, b"2"), (["restore"], 2, b"1")])
def test_bytecode_that_appears_between_a_kill_and_the_recovery_is_removed_by_it(tmp_path, words, before, runs):
    """The worst moment: the file is renamed, and an interpreter that had read the old text writes its bytecode."""
    shared = Shared(tmp_path)
    if before == 2:
        shared("apply", "two")
    script = tmp_path / "killed.py"
    script.write_text(KILLED.replace("OLD_TEXT", repr(f"VALUE = {before}\n")))
    (shared.site / "demo" / "__pycache__").mkdir(exist_ok=True)
    killed = [sys.executable, script, *words, "--patch-dir", tmp_path / "mine", "--target", shared.site]
    assert subprocess.run([*map(str, killed)], env=environ(), cwd=str(tmp_path)).returncode == 9
    assert shared.file.read_bytes() == b"VALUE = %s\n" % runs
    here = sys.version_info[:2]
    assert shared.python(here, "-c", SHOW) == str(before).encode(), "before the recovery the old code runs"
    shared(*words)
    assert {shared.python(here, level, "-c", SHOW) for level in LEVELS} == {runs}


@pytest.mark.parametrize("where", ["first", "last"])
def test_a_link_in_a_mirror_of_bytecode_is_not_followed(tmp_path, where):

    shared = Shared(tmp_path)
    outside, prefix = tmp_path / "outside", tmp_path / "caches"
    mirror = prefix / str(shared.site / "demo").lstrip("/")
    link = prefix / mirror.relative_to(prefix).parts[0] if where == "first" else mirror
    victim = outside / mirror.relative_to(link) / "m.cpython-311.pyc"
    victim.parent.mkdir(parents=True)
    victim.write_bytes(b"")
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    ended = done(command(tmp_path, "apply", "two", "--target", shared.site, PYTHONPYCACHEPREFIX=str(prefix)), 1)
    assert f"{link}: is a link or not a directory" in ended.err
    assert victim.exists() and shared.file.read_text() == "VALUE = 1\n"
