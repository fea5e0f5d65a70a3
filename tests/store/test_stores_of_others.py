"""Whose store is believed, who may restore from one, and whom it belongs to: with real users, each in a process of its own."""

import contextlib
import io
import os
import shutil
import signal
import struct
import sys

import pytest

from patcher.facts import sha256
from patcher.installed.interpreter import discover
from patcher.patchset.selection import choose
from patcher.store.folder import Folder
from patcher.store.lock import locked
from patcher.store.status import recover_all
from patcher.store.transaction import transaction
from tests.command import done, tree
from tests.installed.sites import install
from tests.places import command, patchset
from tests.plans import plan_apply
from tests.stores import commit_plan, leave_journal, temporary
from tests.users import ROOT_ONLY, as_user, give, theirs

pytestmark = [pytest.mark.once, ROOT_ONLY]
A, B, OTHER, GROUP = 1001, 1002, 1003, 1500
ORIGINAL = b"VALUE = 1\n"


class Shared:
    """A site directory and the patchset `two`, reachable for every user."""

    def __init__(self, folder):
        self.folder, self.site = theirs(folder, 0), folder / "site"
        install(self.site, {"demo/__init__.py": "", "demo/m.py": ORIGINAL.decode(), "demo/n.py": "VALUE = 1\n"})
        self.file, self.home = self.site / "demo" / "m.py", self.site / ".sitepatch"
        patchset(folder)

    def own(self, uid, gid=None, mode=0o755):
        give(self.site, uid, gid)
        for each in [self.site, *(path for path in self.site.rglob("*") if path.is_dir())]:
            each.chmod(mode)
        return self

    def run(self, uid, *words, groups=()):
        """What the real functions of `apply`, `restore` or `status` answer a user: exit code and text."""
        return as_user(uid, run, str(self.folder), words, groups=groups)

    def apply(self, uid, *groups):
        """What a user's `apply` does, planned by root, for the interpreter may be closed to that user."""
        requested, _ = choose(["two"], (), [str(self.folder / "mine")])
        plan = plan_apply(discover(None, str(self.site)), requested)
        assert as_user(uid, commit_plan, plan, [one.patchset for one in requested], groups=groups) is None

    def root(self, *words):
        return command(self.folder, *words, "--target", self.site)


def run(folder, words):
    """The command in this process: another user may not be able to read where sitepatch lies."""
    from patcher.verbs.main import main

    os.chdir(folder)
    options = [] if words[0] in ("restore", "status") else ["--patch-dir", f"{folder}/mine", "--verify", "none"]
    sys.argv = ["sitepatch", *words, *options, "--target", f"{folder}/site"]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = main()
        except SystemExit as error:
            code = error.code
    return [code or 0, out.getvalue()]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Everything that the commands import: the standard library may be closed to other users."""
    other, here, words = Shared(tmp_path_factory.mktemp("loaded")), os.getcwd(), sys.argv
    ctrl_c = signal.getsignal(signal.SIGINT)  # `main` ignores it at its end, with which a process usually ends
    for each in (["apply", "two"], ["status"], ["restore"]):
        assert run(str(other.folder), each)[0] == 0
    signal.signal(signal.SIGINT, ctrl_c)
    os.chdir(here)
    sys.argv = words


@pytest.fixture
def shared(tmp_path, loaded):
    return Shared(tmp_path)


def forge(shared, uid, mode=0o755):
    """A `.sitepatch` of this user, with the journal of a commit that has only to be finished: `n` becomes `m`'s file."""
    done(shared.root("apply", "two"))
    data = shared.file.read_bytes()
    shutil.copy(str(shared.file), str(shared.site / "demo" / temporary("demo/n.py", sha256(ORIGINAL), sha256(data))[0]))
    leave_journal(shared.site, "committing", path="demo/n.py", old=sha256(ORIGINAL), new=sha256(data))
    give(shared.home, uid)
    shared.home.chmod(mode)


@pytest.mark.parametrize(
    ("site", "site_mode", "owner", "mode", "reader", "reason"),
    [
        (0, 0o1777, A, 0o755, 0, "belongs to user 1001, not to user 0"),
        (0, 0o1777, A, 0o755, B, "belongs to user 1001, not to user 1002"),
        (A, 0o1777, A, 0o755, 0, "belongs to user 1001, not to user 0"),  # its owner is one of many who can write there
        (0, 0o755, A, 0o755, 0, "belongs to user 1001, not to user 0"),
        (A, 0o2775, B, 0o755, A, "belongs to user 1002, not to user 1001"),  # and not to the group that shares the directory
        (0, 0o755, 0, 0o777, 0, "others may write to it (everybody)"),
        (A, 0o755, A, 0o777, A, "others may write to it (everybody)"),
        (A, 0o755, A, 0o775, B, "others may write to it (group 1001)"),
        (0, 0o1777, 0, 0o755, B, ""),
        (A, 0o1777, A, 0o755, A, ""),
        (A, 0o755, A, 0o755, B, ""),
        (A, 0o755, A, 0o755, 0, ""),
        (A, 0o755, 0, 0o755, A, ""),
        (A, 0o755, B, 0o755, A, "belongs to user 1002, not to user 1001"),
    ],
)
def test_whose_store_is_trusted(shared, site, site_mode, owner, mode, reader, reason):
    forge(shared, owner, mode)
    os.chown(shared.site, site, site)
    shared.site.chmod(site_mode)
    before = without_lock(shared.site)
    code, text = shared.run(reader, "status")
    if reason:
        assert code == 1 and f"{shared.home}: {reason}" in text and "nothing in it is trusted" in text, text
    if reason or reader != owner:
        assert without_lock(shared.site) == before, text
    if not reason and reader != owner:
        assert f"it is user {owner}'s" in text, text


@pytest.mark.parametrize("inside", ["receipts", "journal.json", "receipts/*.json", "patchsets"])
@pytest.mark.parametrize(("owner", "mode"), [(OTHER, 0o755), (A, 0o777)])
def test_what_is_in_a_store_is_trusted_as_the_store_is(shared, inside, owner, mode):
    forge(shared, A)
    os.chown(shared.site, A, A)
    (path,) = shared.home.glob(inside)
    os.chown(path, owner, A)
    path.chmod(mode)
    code, text = shared.run(A, "status")
    assert code == 1 or "damaged" in text, text
    assert f"{path}: {'belongs to user 1003' if owner == OTHER else 'others may write to it'}" in text, text


def test_root_finishes_the_run_of_the_owner_where_it_is_asked_to_write(shared):
    forge(shared, A)
    give(shared.site, A)
    text = shared.root("status").out
    assert "it is user 1001's: that user's `sitepatch status` does it" in text
    assert (shared.home / "journal.json").exists()
    done(shared.root("restore"))
    assert not (shared.home / "journal.json").exists()


def test_the_user_of_sudo_sees_their_run_finished_by_status(shared, monkeypatch):
    forge(shared, A)
    give(shared.site, A)
    monkeypatch.setenv("SUDO_UID", str(A))
    sentences, left = recover_all(discover(None, str(shared.site)))
    assert len(sentences) == 1 and left == []


def without_lock(site):
    """Everything in a site directory but the lock, which names the process that had it."""
    return {name: entry for name, entry in tree(site).items() if not name.startswith(".sitepatch/lock")}


def owners_of_store(shared):
    """The user of the store and of everything in it, by its path below the store."""
    paths = [shared.home, *shared.home.rglob("*")]
    return {path.relative_to(shared.home).as_posix(): path.lstat().st_uid for path in paths}


def test_a_store_that_root_makes_in_a_directory_of_a_user_is_theirs(shared):
    shared.own(A)
    done(shared.root("apply", "two"))
    owners = owners_of_store(shared)
    assert len(owners) > 6 and set(owners.values()) == {A}, owners
    code, text = shared.run(A, "restore")
    assert code == 0 and shared.file.read_bytes() == ORIGINAL, text
    assert not shared.home.exists() and shared.file.stat().st_uid == A


def test_a_store_that_an_earlier_run_of_root_left_becomes_theirs(shared):
    shared.own(A)
    done(shared.root("apply", "two"))
    give(shared.home, 0)
    assert shared.run(A, "restore")[0] == 1
    done(shared.root("restore"))
    assert shared.file.read_bytes() == ORIGINAL
    done(shared.root("apply", "two"))
    give(shared.home, 0)
    os.chown(next((shared.home / "pristine").iterdir()), B, B)  # of a file that belongs to somebody else
    with transaction([str(shared.site)]):
        pass
    owners = owners_of_store(shared)
    assert {uid for name, uid in owners.items() if not name.startswith("pristine/")} == {A}, owners
    assert {uid for name, uid in owners.items() if name.startswith("pristine/")} == {B}


def test_nobody_is_given_a_store_in_a_directory_in_which_everybody_may_write(shared):
    shared.own(A)
    shared.site.chmod(0o1777)
    done(shared.root("apply", "two"))
    assert shared.home.stat().st_uid == 0


def test_who_waits_for_another_user_learns_for_which_process(shared, monkeypatch):
    shared.own(A)
    monkeypatch.setenv("SITEPATCH_LOCK_TIMEOUT", "0.001")
    with locked(Folder.open(str(shared.site))):  # as root
        code, text = shared.run(A, "apply", "two")
    assert code == 1 and f"another sitepatch (process {os.getpid()}, " in text and "hint: run this again when it has ended" in text
    assert shared.file.read_bytes() == ORIGINAL
    shared.apply(A)


@pytest.mark.parametrize("mode", [0o2775, 0o775])
def test_the_second_user_of_a_group_can_restore(shared, mode):
    shared.own(A, GROUP, mode).file.chmod(0o664)
    shared.apply(A, GROUP)
    assert shared.file.read_bytes() != ORIGINAL
    assert shared.home.stat().st_mode & 0o7777 == mode
    assert (shared.home / "lock").stat().st_mode & 0o777 == 0o660  # not for others: who can open it can hold it
    assert {path.stat().st_gid for path in [shared.home, *shared.home.rglob("*")]} == {GROUP}
    code, text = shared.run(OTHER, "restore")
    assert code == 1 and "may not write here" in text
    code, text = shared.run(B, "restore", groups=[GROUP])
    assert code == 0, text
    info = shared.file.stat()
    assert shared.file.read_bytes() == ORIGINAL and (info.st_uid, info.st_gid) == (A, GROUP)
    assert not shared.home.exists()


def test_a_file_that_the_group_may_not_write_to_is_restored_by_its_owner_alone(shared):
    shared.own(A, GROUP, 0o2775)
    shared.apply(A, GROUP)
    code, text = shared.run(B, "restore", groups=[GROUP])
    assert code == 1 and f"{shared.file}: belongs to user 1001, and user 1002 may not give it back" in text, text
    assert shared.run(A, "restore", groups=[GROUP])[0] == 0


def test_in_a_shared_directory_that_is_sticky_only_the_owner_can_restore(shared):
    shared.own(A, GROUP, 0o3775)
    shared.apply(A, GROUP)
    before = tree(shared.site)
    code, text = shared.run(B, "restore", groups=[GROUP])
    assert code == 1 and f"{shared.file}: belongs to user 1001" in text and "sticky" in text, text
    assert tree(shared.site).keys() == before.keys() and shared.file.read_bytes() != ORIGINAL


# extended attributes --------------------------------------------------------------------------------------------------
def acl(*users):
    """An access control list for these users (<linux/posix_acl_xattr.h>): version; tag, rights and id of each entry."""
    entries = [(1, 7, -1), *((2, 7, user) for user in users), (4, 5, -1), (16, 7, -1), (32, 5, -1)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


def attributes(path):
    return {name: os.getxattr(str(path), name) for name in os.listxattr(str(path))}


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes in this Python")
@pytest.mark.parametrize("own", [False, True])
def test_what_a_default_acl_gives_to_new_files_is_not_on_restored_ones(shared, own):
    try:
        for folder in (shared.site, shared.site / "demo"):
            os.setxattr(str(folder), "system.posix_acl_default", acl(B))
        if own:
            os.setxattr(str(shared.file), "system.posix_acl_access", acl(OTHER))
    except OSError:
        pytest.skip("no access control lists on this filesystem")
    before, mode = attributes(shared.file), shared.file.stat().st_mode
    assert len(before) == own
    for words in (["apply", "two"], ["apply", "two"], ["restore"]):
        done(shared.root(*words))
        assert (attributes(shared.file), shared.file.stat().st_mode) == (before, mode), words
