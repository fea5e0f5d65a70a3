"""What a commit checks before it writes anything, in which words it refuses, and what it sets aside."""

import os
from types import SimpleNamespace

import pytest

from patcher.errors import OutdatedError, StoreError
from patcher.model import Change, NewBytes, PatchedRelease, PristineFile, Receipt, Step
from patcher.store import prepare
from patcher.store.folder import Folder
from patcher.store.journal import JournalEntry
from patcher.store.prepare import NewContent, Work
from patcher.store.receipt import encode_receipt, file_name
from patcher.store.store import Store
from patcher.system.reading import patchset_digest
from tests.command import tree
from tests.failures import before, fail_once
from tests.store.helpers import sha
from tests.stores import commit
from tests.users import ROOT_ONLY, as_user, give, public

__all__ = ["public"]

FILE, TWIN, LINKED = "pkg/sub/a.py", "pkg/sub/b.py", "pkg/sub/c.py"
USER = 1001
OLD, NEW, TEXT = b"old", b"new", "1" * 64
STEP = Step("p", "1", TEXT, "fix", {}, ())


def receipt(path=FILE, pristine=OLD, mode=0o644, link="", **changed):
    file = PristineFile(sha(pristine), mode, 0, link)
    return Receipt(path, PatchedRelease("pkg", "pkg", "1"), file, sha(NEW), (STEP,))._replace(**changed)


@pytest.fixture
def site(tmp_path):
    """Three files, one of them a link, and the pristine copy and the text of a patchset."""
    for name in ("pkg/sub", ".sitepatch/pristine", ".sitepatch/patchsets"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "target.py").write_bytes(OLD)
    (tmp_path / LINKED).symlink_to("../../target.py")
    for path in (FILE, TWIN):
        (tmp_path / path).write_bytes(OLD)
    (tmp_path / ".sitepatch/pristine" / sha(OLD)).write_bytes(OLD)
    return tmp_path


def check(site, standing, *changes, patchsets=()):
    with Folder.open(str(site)) as folder, folder.sub(".sitepatch") as home:
        return prepare.plan_work(folder, home, {one.path: one for one in standing}, changes, patchsets or {TEXT: {}})


def change(path=FILE, old=OLD, data=NEW, new=None, merged=False, **more):
    written = None if data is None else NewBytes(data, merged)
    return Change(path, sha(old) if old else "", written, new, **more)


AGAIN = receipt(steps=(STEP._replace(digest="2" * 64),))
LATER = receipt(pristine=b"before")
REFUSED = {
    "two": ([change(), change(FILE)], f"{FILE}: 2 changes for one file"),
    "three": ([change()] * 3, f"{FILE}: 3 changes for one file"),
    "path": ([change("../a.py")], "../a.py: the path is not a plain path below the site directory"),
    "not there": ([change("pkg/none.py", b"")], "pkg/none.py: is not there, so it can only be restored or forgotten"),
    "no receipt": ([change(data=None)], f"{FILE}: there is no receipt to restore it by"),
    "link": ([change(LINKED, new=receipt(LINKED))], f"{LINKED}: is a link to ../../target.py, but its receipt says a regular file"),
    "link to": ([change(LINKED, new=receipt(LINKED, link="x"))], f"{LINKED}: is a link to ../../target.py, but its receipt says x"),
    "other bytes": ([change(data=b"other", new=receipt())], f"{FILE}: its receipt is for other bytes"),
    "other pristine bytes": ([change(new=LATER, pristine=b"y")], f"{FILE}: its receipt is for other pristine bytes"),
    "no text": ([change(new=AGAIN)], f"{FILE}: the text of patchset 'p' ({'2' * 64}) is missing"),
    "not to be read back": ([change(new=receipt(mode=0o100644))], f"{file_name(FILE)}: mode: found 33188, expected permission bits, at most 0o7777"),
}


@pytest.mark.parametrize(("changes", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_contradicts_itself_is_refused(site, changes, problem):
    before = {**tree(site), ".sitepatch/lock": ""}  # it tells who had it last
    with pytest.raises(StoreError) as caught:
        commit(site, changes, {TEXT: {}})
    assert caught.value.message.split("\n")[0] == f"{site}: {problem}"
    assert {**tree(site), ".sitepatch/lock": ""} == before
    assert not isinstance(caught.value, OutdatedError)
    assert caught.value.hint == "nothing was changed; see what `sitepatch status` says, then run the command again"


def test_what_has_changed_since_is_reported_of_every_file_and_is_outdated(site):
    changes = [change(old=b"other"), change("pkg/none.py"), change("none/a.py"), change(data=None, path=TWIN)]
    with pytest.raises(OutdatedError) as caught:
        check(site, [], *changes, patchsets={"x": {}})
    assert caught.value.message.split("\n") == [
        f"{site}: 'x': expected the sha256 of a patchset",
        f"{FILE}: has changed since the plan was made",
        "pkg/none.py: is not there any more",
        "none/a.py: is not there any more",
        f"{TWIN}: there is no receipt to restore it by",
    ]
    (site / ".sitepatch/pristine" / sha(OLD)).write_bytes(b"damaged")
    where = f"{site}/.sitepatch/pristine"
    with pytest.raises(StoreError, match=f"{where}/{sha(OLD)}: the pristine copy is damaged, its sha256 differs"):
        check(site, [receipt(TWIN)], change(TWIN, data=None))
    for changed in (change(new=LATER), change(data=None)):
        with pytest.raises(StoreError, match=f"{where}/{LATER.pristine.sha256}: is missing"):
            check(site, [LATER], changed)


def test_what_is_to_be_done_for_each_kind_of_change(site):
    """Whether a pristine copy is moved into place or copied depends on who else needs it."""

    def write(path, old=OLD, data=NEW, new=None, copy=OLD):
        text = b"" if new is None else encode_receipt(new)
        entry = JournalEntry(path, sha(old), sha(data), receipt=sha(text) if text else "")
        return Work(entry, NewContent(data, copy if text else None), text)

    forget = change("none/a.py", b"", None, forget=True)
    assert check(site, [], forget) == [Work(JournalEntry("none/a.py", "", ""))]
    forget = change(data=None, forget=True)
    assert check(site, [], forget) == [Work(JournalEntry(FILE, sha(OLD), sha(OLD)))]
    assert check(site, [], change(), change(TWIN, new=receipt(TWIN))) == [write(FILE), write(TWIN, new=receipt(TWIN))]
    merged = receipt(current=sha(b"ours"))
    assert check(site, [], change(new=merged, merged=True)) == [write(FILE, new=merged)]
    linked = receipt(LINKED, link="../../target.py")
    assert check(site, [], change(LINKED, new=linked)) == [write(LINKED, new=linked)]
    (site / ".sitepatch/patchsets" / f"{'2' * 64}.json").write_text("")
    (site / FILE).write_bytes(NEW)
    assert check(site, [receipt()], change(old=NEW, new=AGAIN)) == [write(FILE, NEW, new=AGAIN, copy=None)]
    edited = receipt(pristine=b"given")
    assert check(site, [], change(old=NEW, new=edited, pristine=b"given")) == [write(FILE, NEW, new=edited, copy=b"given")]

    (back,) = check(site, [receipt()], change(old=NEW, data=None))
    assert back == Work(JournalEntry(FILE, sha(NEW), sha(OLD)), NewContent(OLD), back=receipt())
    assert check(site, [receipt(), receipt(TWIN)], change(old=NEW, data=None)) == [back._replace(is_shared=True)]
    shared = check(site, [receipt()], change(old=NEW, data=None), change(TWIN, new=receipt(TWIN)))
    assert shared == [back._replace(is_shared=True), write(TWIN, new=receipt(TWIN))._replace(is_shared=True)]

    (site / LINKED).unlink()
    (site / LINKED).write_bytes(NEW)
    (back,) = check(site, [linked], change(LINKED, NEW, None))
    assert back == Work(JournalEntry(LINKED, sha(NEW), sha(OLD), "../../target.py"), back=linked)
    (site / "target.py").write_bytes(b"of the next release")
    (back,) = check(site, [linked], change(LINKED, NEW, None))
    assert back == Work(JournalEntry(LINKED, sha(NEW), sha(OLD)), NewContent(OLD), back=linked)


def test_room_is_asked_for_by_apply_alone(site, monkeypatch):
    works = check(site, [], change(data=b"12345", new=receipt(current=sha(b"12345"))), change(TWIN), change(LINKED, forget=True))
    full = SimpleNamespace(f_blocks=1, f_frsize=1, f_bfree=0, f_bavail=0)  # a disk of blocks of one byte, all of them in use
    monkeypatch.setattr(os, "fstatvfs", lambda fd: full)
    spare = (1 << 19) + (1 << 11) * 6
    text = len(encode_receipt(receipt(current=sha(b"12345"))))
    needed = spare + text + len(OLD) + len(b"12345") + len(NEW) + (1 << 11) * 3
    with Folder.open(str(site)) as folder:
        with pytest.raises(StoreError, match=f"^{site}: {needed:,} bytes are needed and 0 are free; ") as caught:
            prepare.check_possible(folder, works)
        assert caught.value.hint == "nothing was changed"
        (site / FILE).write_bytes(NEW)
        prepare.check_possible(folder, check(site, [receipt()], change(old=NEW, data=None)))


@ROOT_ONLY
def test_what_is_put_back_by_its_own_copy_need_not_be_given_away(site, public):
    """Where two files share the copy, one of them is written anew, which cannot get the owner that the file has."""
    for path in (FILE, TWIN):
        (site / path).write_bytes(NEW)
    give(site, USER)
    os.chown(site / FILE, 0, 0)
    (site / FILE).chmod(0o666)

    def restoring(*standing):
        try:
            with Folder.open(str(site)) as folder:
                prepare.check_possible(folder, check(site, standing, change(old=NEW, data=None)))
        except StoreError as error:
            return error.message
        return ""

    assert as_user(USER, restoring, receipt()) == ""
    assert as_user(USER, restoring, receipt(), receipt(TWIN)).startswith(f"{site}/{FILE}: belongs to user 0, and user {USER} may not give it back")


def test_space_is_set_aside_by_apply_and_given_up_by_restore(tmp_path, monkeypatch):
    site, spare = tmp_path / "site", tmp_path / "site/.sitepatch/spare"
    (site / "pkg/sub").mkdir(parents=True)
    (site / FILE).write_bytes(OLD)
    texts, sizes, seen = {patchset_digest({}): {}}, [], []
    step = STEP._replace(digest=patchset_digest({}))

    def note(name, *_, **__):
        if name == "a.py":  # it gets its second name, the way back, which each commit gives it while it prepares
            seen.append(spare.exists())

    before(monkeypatch, os, "link", note)
    for old, data in ((OLD, b"1"), (b"1", b"2"), (b"2", b"3")):  # the receipt of before takes its place meanwhile
        commit(site, [change(old=old, data=data, new=receipt(current=sha(data), steps=(step,)))], texts)
        sizes.append((spare.stat().st_size - (1 << 19), spare.stat().st_ino))
    assert [size for size, _ in sizes] == [1 << 11, 2 << 11, 2 << 11]
    assert sizes[1] == sizes[2]  # it was enough
    commit(site, [change(old=b"3", data=None)], {})
    assert seen == [False, True, True, False] and not (site / ".sitepatch").exists()


def test_a_run_that_applies_and_restores_keeps_the_space_and_a_file_that_changes_meanwhile_is_refused(site):
    spare = site / ".sitepatch/spare"
    spare.write_bytes(b"")
    (site / TWIN).write_bytes(NEW)
    works = check(site, [receipt(TWIN)], change(new=receipt()), change(TWIN, NEW, None))
    with Folder.open(str(site)) as folder, folder.sub(".sitepatch") as home:
        prepare.use_spare(home, works)
        assert spare.exists()
        prepare.prepare(folder, home, works, {})
        assert (spare.stat().st_size > 1 << 19, spare.stat().st_mode & 0o777) == (True, 0o644)
        assert (site / "pkg/sub" / works[0].entry.backup).samefile(site / FILE)  # the way back after the commit point
        prepare.use_spare(home, works[1:])
        assert not spare.exists()
        (site / FILE).write_bytes(b"other")
        with pytest.raises(StoreError, match=f"{FILE} was changed by somebody else while sitepatch was at work"):
            prepare.prepare(folder, home, works, {})


def test_a_file_whose_bytes_stay_is_left_alone_and_has_its_receipt_and_its_pristine_copy(site):
    """An edit by hand that becomes a patchset, and then another version of it that makes the same of the file."""
    (site / FILE).write_bytes(NEW)
    before = (site / FILE).stat()
    for version, pristine in (("1", b"given"), ("2", None)):
        of = receipt(pristine=b"given", release=PatchedRelease("pkg", "pkg", version))
        commit(site, [change(old=NEW, new=of, pristine=pristine)], {TEXT: {}})
        assert Store(str(site)).receipts() == {FILE: of}
        now = (site / FILE).stat()
        assert (now.st_ino, now.st_mtime_ns, now.st_ctime_ns) == (before.st_ino, before.st_mtime_ns, before.st_ctime_ns)
    assert Store(str(site)).pristine(sha(b"given")) == b"given"
    commit(site, [change(old=NEW, data=None)], {})
    assert (site / FILE).read_bytes() == b"given" and Store(str(site)).receipts() == {}


def test_a_pristine_copy_that_was_given_goes_where_the_run_is_undone(site, monkeypatch):
    (site / FILE).write_bytes(NEW)
    copy = site / ".sitepatch/pristine" / sha(b"given")
    fail_once(monkeypatch, os, "fsync", OSError("injected"), when=lambda fd: copy.exists())
    with pytest.raises(StoreError, match="injected"):
        commit(site, [change(old=NEW, new=receipt(pristine=b"given"), pristine=b"given")], {TEXT: {}})
    assert not copy.exists()
    assert (site / FILE).read_bytes() == NEW
