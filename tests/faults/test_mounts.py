"""Bind mounts, in a mount namespace of their own: what can be renamed there, what is refused, and the way back where it fails.

`docker run -v ./c.py:/usr/lib/.../c.py` makes such a mount: the file can be read, but nothing can be renamed over it (EBUSY),
and nothing can be renamed or linked into a mounted directory (EXDEV), though all of it is on one device.
"""

import ctypes
import errno
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from patcher.errors import StoreError
from patcher.store.folder import is_temporary
from patcher.store.journal import JournalEntry
from patcher.store.store import Store
from tests.command import environ
from tests.faults.calls import in_child, watch
from tests.faults.cases import ALL, SCENARIOS, Case
from tests.faults.tiny import NAME, Tiny, tree
from tests.hooks import Place
from tests.store import helpers as unit
from tests.stores import recover

pytestmark = pytest.mark.once

EACH = 1 if ALL else 2  # of how many calls one is tried
NEW_NAMESPACE = 0x20000  # CLONE_NEWNS, <linux/sched.h>
BUSY = "tiny/sub/b.py"


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def unshared(*binds):
    """What a child calls first: from then on it sees each (source, place) mounted, and nobody else does."""

    def begin():
        if ctypes.CDLL(None, use_errno=True).unshare(NEW_NAMESPACE):
            raise OSError(ctypes.get_errno(), "unshare")
        mount("--make-rprivate", "/")
        for source, place in binds:
            mount("--bind", source, place)

    return begin


@pytest.fixture
def namespaces():
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("mount namespaces need unshare(1) of Linux")
    completed = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if completed.returncode:
        pytest.skip(f"no mount namespace can be made here (unshare -m): {completed.stderr.decode().strip()}")


@pytest.fixture
def tiny(tmp_path, namespaces):
    return Tiny(tmp_path)


DIRECTORIES = {
    "a directory of a package": "tiny/sub",
    "a package": "tiny",
    "the site directory": "",
    "the store": ".sitepatch",
    "the pristine copies": ".sitepatch/pristine",
    "the receipts": ".sitepatch/receipts",
}


@pytest.mark.parametrize("name", DIRECTORIES)
def test_a_mounted_directory_is_patched_and_restored(tiny, name):
    place, source = tiny.site / DIRECTORIES[name], tiny.folder / "source"
    place.mkdir(parents=True, exist_ok=True)
    shutil.copytree(place, source, symlinks=True)
    begin = unshared((source, place))
    compared = tiny.site if ".sitepatch" in DIRECTORIES[name] else source
    before = tree(compared)
    ended = tiny.run("apply", NAME, first=begin)
    assert ended.code == 0, ended.text
    assert tree(source) != before
    ended = tiny.run("restore", first=begin)
    assert (ended.code, "hint:" in ended.text) == (0, False), ended.text
    after = tree(compared)
    assert {path: entry for path, entry in after.items() if path in before or ".sitepatch" not in path} == before
    files = [path for path in source.rglob("*") if path.is_file()]
    assert [path for path in files if ".sitepatch" in str(path)] == []


def mounted_file(tiny):
    (tiny.folder / "mounted.py").write_bytes((tiny.site / BUSY).read_bytes())
    return unshared((tiny.folder / "mounted.py", tiny.site / BUSY))


@pytest.mark.parametrize("words", [("apply", NAME), ("restore",)])
def test_a_file_that_is_a_mount_is_refused_before_anything_is_changed(tiny, words):
    if words == ("restore",):
        assert tiny.run("apply", NAME).code == 0
    before = tiny.tree()
    ended = tiny.run(*words, first=mounted_file(tiny))
    assert ended.code == 1
    assert f"{tiny.site}/{BUSY}: another file is mounted over it" in ended.text, ended.text
    assert "change that file where it is mounted from, or run without that mount" in ended.text
    assert "nothing was changed" in ended.text
    assert tiny.tree() == before
    assert tiny.run(*words).code == 0


def test_a_patched_file_that_a_mount_hides_is_not_forgotten(tiny):
    """The mounted file has the text that upstream shipped, as if a reinstall had replaced the file."""
    before = tiny.tree()
    begin = mounted_file(tiny)
    assert tiny.run("apply", NAME).code == 0
    applied = tiny.tree()
    ended = tiny.run("restore", first=begin)
    assert (ended.code, "another file is mounted over it" in ended.text) == (1, True), ended.text
    assert tiny.tree() == applied
    assert tiny.run("restore").code == 0
    assert tiny.tree() == before


@pytest.mark.parametrize(("mode", "code"), [("repair", 0), ("strict", 1)])
def test_a_hook_says_that_a_mounted_file_is_not_patched_and_patches_it_without_the_mount(namespaces, tmp_path, mode, code):
    place = Place(tmp_path)
    place.install("--mode", mode)
    file, mounted = place.site / "demo/m.py", tmp_path / "mounted.py"
    shutil.copy(str(file), str(mounted))
    command = f"mount --bind '{mounted}' '{file}' && exec '{place.python}' -c 'import demo.m; print(demo.m.VALUE)'"
    completed = subprocess.run(["unshare", "-m", "sh", "-c", command], env=environ(PYTHONPATH=""), capture_output=True, check=False)
    errors = completed.stderr.decode()
    assert f"two: not applied in {place.site}: {file}: another file is mounted over it; change that file" in errors, errors
    assert (completed.returncode, completed.stdout) == (code, b"" if code else b"1\n"), errors
    assert mounted.read_bytes() == file.read_bytes()
    assert not (place.site / ".sitepatch").exists()
    assert place.start().out == "22\n"


# --- what fails for good after the commit point ---------------------------------------------------------------------


def busy(path):
    """From now on nothing can be renamed over that file, as if it had been mounted over."""

    def hook(name, real, args, kwargs):
        if name in ("replace", "exchange", "rename_to_free") and args[1] == os.path.basename(path) and is_temporary(args[0]):
            raise OSError(errno.EBUSY, "Device or resource busy (injected)")
        return real(*args, **kwargs)

    watch(hook)


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_cannot_be_finished_is_undone_at_once_and_that_is_reported(tmp_path, name):
    case = Case(tmp_path, name)
    case.tiny.reset()
    ended = case.tiny.run(*case.words, version=case.version, first=lambda: busy(BUSY))
    assert ended.code == 1, ended.text
    assert "busy (injected)" in ended.text
    assert "hint: nothing was changed" in ended.text, ended.text
    assert case.outcome(ended.text) == "old"
    assert Store(str(case.tiny.site)).interrupted() == ""
    assert case.run().code == 0
    assert case.outcome("") == "new"


class Stuck:
    """One commit of test_store.py in which the second file cannot be replaced, and the trees before and after it."""

    def __init__(self, start, folder, first, action):
        self.start, self.folder, self.action = start, folder, action
        self.old, self.new = unit.prepared(start, first, action)

    def copy(self, of):
        self.site = unit.copy_of(of, self.folder / "try/site")

    def run(self, action, point=0, how="none", stuck=True):
        def carry_out():
            if stuck:
                busy(unit.B)
            try:
                action(self.site)
            except StoreError as error:
                print(error.message, error.hint)
                return 1
            return 0

        return in_child(carry_out, point, how)

    def outcome(self, message):
        now = unit.tree(self.site)
        assert now in (self.old, self.new), message
        return "new" if now == self.new else "old"

    def killed(self):
        """(point, site directory) for each state that a kill leaves at the calls of the commit that are tried."""
        seen = []
        for point in itertools.count(EACH, EACH):
            self.copy(self.start)
            if self.run(self.action, point, "before").code != -signal.SIGKILL:
                break
            state = unit.tree(self.site, times=False)
            if state not in seen:
                seen.append(state)
                yield point, unit.copy_of(self.site, self.folder / "killed/site")



REPLACING = [scenario for scenario in unit.SCENARIOS if scenario[0] in ("update", "restore", "mixed")]  # they rename over the second file


@pytest.fixture(params=REPLACING, ids=[name for name, *_ in REPLACING])
def stuck(request, tmp_path):
    (tmp_path / "base").mkdir()
    return Stuck(unit.make_site(tmp_path / "base/site"), tmp_path, *request.param[1:])


def test_killed_anywhere_the_next_command_undoes_it_or_finishes_it_where_it_now_can(stuck, counted):
    points = 0
    outcomes = {True: set(), False: set()}  # by whether the file still cannot be replaced
    for point, state in stuck.killed():
        for still in (True, False):
            stuck.copy(state)
            ended = stuck.run(recover, stuck=still)
            assert (ended.code, Store(str(stuck.site)).interrupted()) == (0, ""), (point, ended.text)
            outcomes[still].add(stuck.outcome((point, still)))
        points += 1
    counted("kills where a file cannot be replaced", points)
    assert points * EACH > 20
    assert outcomes == {True: {"old"}, False: {"old", "new"}}


def test_recovery_that_undoes_may_be_killed_anywhere(stuck, counted):
    points = 0
    for point, state in stuck.killed():
        if "finished" not in Store(str(state)).interrupted():
            continue
        each = 1 if ALL else 5
        for step in itertools.count(each, each):
            stuck.copy(state)
            if stuck.run(recover, step, "before").code == 0:
                break
            assert stuck.run(recover).code == 0
            assert stuck.outcome((point, step)) == "old"
            points += 1
    counted("kills while a commit is undone", points)
    assert points > 4


def test_a_lost_prepared_file_means_undoing_too(stuck):
    """Somebody tidied up between a kill and the next command."""
    recoveries = 0
    for point, state in stuck.killed():
        if "finished" not in Store(str(state)).interrupted():
            continue  # killed before the commit point: there is no journal
        entries = json.loads((state / ".sitepatch/journal.json").read_text())["files"]
        (fields,) = (entry for entry in entries if entry["path"] == unit.B)
        entry = JournalEntry(**fields)
        lost = state / os.path.dirname(unit.B) / entry.temporary
        if os.path.lexists(lost):
            stuck.copy(state)
            (stuck.site / lost.relative_to(state)).unlink()
            assert "could not be finished and was undone" in recover(stuck.site)
            assert stuck.outcome(point) == "old"
            recoveries += 1
    assert recoveries
