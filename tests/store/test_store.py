"""The promises of the store (design, section 6), each with the fault that would break it."""

import errno
import fcntl
import json
import os
import py_compile
import shutil
import stat
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from patcher.errors import BusyError, OutdatedError, StoreError
from patcher.model import (
    Change,
    NewBytes,
)
from patcher.store.folder import Folder
from patcher.store.receipt import file_name
from patcher.store.store import Store
from patcher.store.transaction import FINISHED, transaction
from tests.command import ROOT
from tests.failures import after, before, fail, fail_once
from tests.store.helpers import (
    ADDED,
    DIGESTS,
    KILLED,
    MODES,
    MTIME,
    PRISTINE,
    SCENARIOS,
    TEXTS,
    A,
    B,
    C,
    D,
    add_bytecode,
    added,
    apply,
    bring_back,
    bytecode,
    change_deleted,
    copy_of,
    delete,
    links,
    make_site,
    new,
    prepared,
    receipt,
    restore,
    run_faulty,
    sha,
    take_away,
    tree,
    update,
)
from tests.stores import commit, leave_journal, locked, recover, save_edited, temporary
from tests.users import NOBODY, as_user, public

__all__ = ["public"]

@pytest.fixture
def site(tmp_path):
    return make_site(tmp_path / "site")


# --- what a commit does when nothing goes wrong ---------------------------------------------------------------------


def test_apply_then_restore_gives_back_everything_and_leaves_nothing(site):
    before = tree(site)
    assert apply(site) == ""
    store = Store(str(site))
    for path in PRISTINE:
        file = site / path
        assert file.read_bytes() == new(path)
        assert not file.is_symlink()
        assert stat.S_IMODE(file.stat().st_mode) == MODES[path]
        assert file.stat().st_mtime_ns % 10**9 == 0
        assert file.stat().st_mtime_ns >= MTIME + 2 * 10**9
        assert store.receipts()[path] == receipt(path, 1, links(path))
        kept = site / ".sitepatch/pristine" / sha(PRISTINE[path])
        assert (kept.stat().st_mtime_ns, stat.S_IMODE(kept.stat().st_mode)) == (MTIME, MODES[path])
        assert store.pristine(sha(PRISTINE[path])) == PRISTINE[path]
    assert store.patchset_files(DIGESTS[1]) == TEXTS[1]
    assert stat.S_IMODE((site / ".sitepatch").stat().st_mode) == 0o755
    assert sorted(path.name for path in (site / ".sitepatch").iterdir()) == [
        "lock", "patchsets", "pristine", "receipts", "spare",
    ]  # fmt: skip
    assert bytecode(site) == []
    add_bytecode(site)
    restore(site)
    assert tree(site) == before
    assert bytecode(site) == []
    assert not (site / ".sitepatch").exists()


def test_an_added_file_brings_its_directories_but_no_package(site):
    before = tree(site)
    added(site)
    assert {path: record.folder for path, record in Store(str(site)).receipts().items()} == {A: "", D: "pkg/new"}
    take_away(site)
    assert tree(site) == before
    of_added = receipt("gone/new/d.py", pristine=b"", data=ADDED, origin="added")
    with pytest.raises(OutdatedError, match="gone: is not there any more"):
        commit(site, [Change("gone/new/d.py", "", NewBytes(ADDED), of_added)], {DIGESTS[1]: TEXTS[1]})
    assert tree(site) == before


def test_a_file_that_a_patchset_deletes_comes_back_with_its_mode_owner_and_kind(site):
    before = tree(site)
    delete(site)
    assert not os.path.lexists(site / B) and not os.path.lexists(site / C) and (site.parent / "cache/c.py").exists()
    assert Store(str(site)).receipts()[B].current == ""
    bring_back(site)
    assert tree(site) == before
    delete(site)
    change_deleted(site)
    assert (site / B).read_bytes() == new(B, 2) and stat.S_IMODE((site / B).stat().st_mode) == MODES[B]
    commit(site, [Change(A, "", None, None), *(Change(path, sha(new(path, 2)), None, None) for path in (B, C))], {})
    assert tree(site) == before


def test_update_keeps_the_first_pristine_copy_and_drops_old_texts(site):
    apply(site)
    mtime = (site / A).stat().st_mtime_ns
    update(site)
    assert (site / A).read_bytes() == new(A, 2)
    assert (site / A).stat().st_mtime_ns >= mtime + 2 * 10**9
    assert {p.name for p in (site / ".sitepatch/patchsets").iterdir()} == {f"{DIGESTS[2]}.json"}
    assert {p.name for p in (site / ".sitepatch/pristine").iterdir()} == {sha(data) for data in PRISTINE.values()}


def test_forget_drops_the_receipt_of_a_file_that_is_gone(site):
    apply(site)
    shutil.rmtree(site / "other")
    commit(site, [Change(C, "", None, None, forget=True)], {})
    assert set(Store(str(site)).receipts()) == {A, B}
    assert not (site / ".sitepatch/pristine" / sha(PRISTINE[C])).exists()
    (site / B).unlink()
    commit(site, [Change(B, "", None, None, forget=True)], {})
    assert set(Store(str(site)).receipts()) == {A}


def test_a_file_that_was_deleted_is_put_back_with_its_mode_mtime_and_kind(site):
    before = tree(site)
    apply(site)
    for path in PRISTINE:
        (site / path).unlink()
    commit(site, [Change(path, "", None, None) for path in PRISTINE], {})
    assert tree(site) == before


def test_merged_bytes_without_a_receipt_drop_the_receipt(site):
    apply(site)
    commit(site, [Change(A, sha(new(A)), NewBytes(b"merged"), None)], {})
    assert (site / A).read_bytes() == b"merged"
    assert set(Store(str(site)).receipts()) == {B, C}


def test_a_link_whose_target_is_gone_is_restored_as_the_file(site):
    apply(site)
    (site.parent / "cache/c.py").unlink()
    restore(site)
    assert not (site / C).is_symlink()
    assert ((site / C).read_bytes(), (site / C).stat().st_mtime_ns) == (PRISTINE[C], MTIME)


def test_links_into_a_cache_keep_their_content(site, tmp_path):
    other = tmp_path / "uv-cache.py"
    os.link(site / A, other)
    apply(site)
    assert other.read_bytes() == PRISTINE[A]
    assert (tmp_path / "cache/c.py").read_bytes() == PRISTINE[C]
    restore(site)
    assert other.read_bytes() == PRISTINE[A]
    assert os.readlink(site / C) == links(C)


@pytest.mark.parametrize("deleted", [False, True])
def test_twins_share_a_pristine_copy_and_each_gets_its_own_mode_and_mtime_back(site, deleted):
    twin = "pkg/twin.py"
    (site / twin).write_bytes(PRISTINE[A])
    (site / twin).chmod(0o600)
    os.utime(site / twin, ns=(MTIME + 5, MTIME + 5))
    of_twin = receipt(A, mode=0o600, mtime_ns=MTIME + 5)._replace(path=twin)
    before = tree(site)
    old = sha(PRISTINE[A])
    changes = [Change(A, old, NewBytes(new(A)), receipt(A)), Change(twin, old, NewBytes(new(A)), of_twin)]
    commit(site, changes, {DIGESTS[1]: TEXTS[1]})
    for path in (twin, A):
        if deleted:
            (site / path).unlink()
        commit(site, [Change(path, "" if deleted else sha(new(A)), None, None)], {})
    assert tree(site) == before


def test_owner_and_extended_attributes_stay(site):
    try:
        os.setxattr(site / A, "user.note", b"mine")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    if os.getuid() == 0:
        os.chown(site / A, 1234, 1235)
    for step in (apply, restore):
        step(site)
        assert os.getxattr(site / A, "user.note") == b"mine"
        if os.getuid() == 0:
            assert ((site / A).stat().st_uid, (site / A).stat().st_gid) == (1234, 1235)


def test_a_store_that_never_wrote_reads_as_empty(site, tmp_path):
    for directory in (site, tmp_path / "missing"):
        store = Store(str(directory))
        assert (store.receipts(), store.interrupted(), recover(site)) == ({}, "", "")
    assert not (site / ".sitepatch").exists()


# --- killed at every call -------------------------------------------------------------------------------------------

def assert_one_or_the_other(site, old, expected, message):
    now = tree(site)
    assert now in (old, expected), message
    for path, of_file in Store(str(site)).receipts().items():
        if not of_file.current:
            assert not os.path.lexists(site / path), message
            continue
        if path == C or (path == B and not (site / B).exists()):
            continue
        assert sha((site / path).read_bytes()) == of_file.current, message
    if now == expected:
        assert not [name for name in bytecode(site) if name.startswith("a.")], message
    return now == expected


@pytest.fixture
def work_site(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # nothing loses power here, and waiting is slow
    (tmp_path / "base").mkdir()
    return make_site(tmp_path / "base/site")


ALL = bool(os.environ.get("SITEPATCH_ALL_FAULTS"))
SOME = 1 if ALL else 3  # of how many calls one is tried


@pytest.mark.once
@pytest.mark.parametrize("how", ["before", "after", "torn"])
@pytest.mark.parametrize(("name", "first", "action"), SCENARIOS, ids=[name for name, _, _ in SCENARIOS])
def test_killed_anywhere_recovery_gives_all_old_or_all_new(work_site, tmp_path, name, first, action, how):
    old, expected = prepared(work_site, first, action)
    outcomes, points, sentences = set(), 0, set()
    step = SOME if how == "after" else 1  # what is found after a call is what is found before the next one
    while True:
        site = copy_of(work_site, tmp_path / "try/site")
        status, _ = run_faulty(lambda site=site: action(site), points + step, how)
        if status == 0:
            break
        assert status == KILLED
        points += step
        store = Store(str(site))
        announced = store.interrupted()
        sentence = recover(site)
        assert bool(announced) == bool(sentence)
        assert announced.replace("will be", "was") == sentence
        outcomes.add(assert_one_or_the_other(site, old, expected, f"{name}, killed {how} call {points}: {sentence}"))
        sentences.add(sentence)
        assert recover(site) == ""
    print(f"{name}: {points} points, killed {how}")
    assert points > (2 if how == "torn" else 40)
    if how != "torn":  # all writes lie before the commit point
        assert outcomes == {False, True}
        assert len(sentences) == 3  # undone, finished, nothing to do


@pytest.mark.once
@pytest.mark.parametrize("how", ["EIO", "full", "SIGINT"])
@pytest.mark.parametrize(("name", "first", "action"), SCENARIOS, ids=[name for name, _, _ in SCENARIOS])
def test_a_call_that_fails_leaves_all_old_or_all_new_at_once(work_site, tmp_path, name, first, action, how):
    old, expected = prepared(work_site, first, action)
    points, failed = 0, 0
    while True:
        site = copy_of(work_site, tmp_path / "try/site")
        status, count = run_faulty(lambda site=site: action(site), points + SOME, how)
        assert status in (0, 4)
        if count < points + SOME:
            break
        points += SOME
        failed += status == 4
        store = Store(str(site))
        assert store.interrupted() == ""
        recover(site)  # an empty .sitepatch may be left when the very last removals fail
        now = tree(site)
        assert now in (old, expected), f"{name}, {how} at call {points}"
        assert now == expected or status == 4
    print(f"{name}: {points} points, {how}, of which {failed} failed")
    assert points > 40
    assert failed * SOME > 20


EACH = 1 if ALL else 22  # of how many calls of a recovery one is tried


@pytest.mark.once
@pytest.mark.parametrize(("name", "first", "action"), SCENARIOS, ids=[name for name, _, _ in SCENARIOS])
def test_recovery_itself_may_be_killed_anywhere(work_site, tmp_path, name, first, action):
    old, expected = prepared(work_site, first, action)
    seen, points, state = [], 0, 0
    while True:
        state += 1
        killed = copy_of(work_site, tmp_path / "killed/site")
        if run_faulty(lambda site=killed: action(site), state, "before")[0] == 0:
            break
        if tree(killed) in seen:
            continue
        seen.append(tree(killed))
        finished = recover(copy_of(killed, tmp_path / "try/site"))
        verdict = tree(tmp_path / "try/site")
        point = 1 - EACH + state % EACH  # of each state other calls
        while True:
            point += EACH
            site = copy_of(killed, tmp_path / "try/site")
            status, _ = run_faulty(lambda site=site: recover(site), point, "before")
            if status == 0:
                break
            assert status == KILLED
            points += 1
            recover(site)
            message = f"{name}, killed at {state}, recovery killed at {point}: {finished}"
            assert tree(site) == verdict, message  # once decided, it stays decided
            assert_one_or_the_other(site, old, expected, message)
    print(f"{name}: {len(seen)} states, {points} points in recovery")
    assert points * EACH > 400


def test_restore_works_on_a_full_disk(site, monkeypatch):
    before, real = tree(site), os.write
    apply(site)

    def write(fd, data):
        if (site / ".sitepatch/spare").exists():
            raise OSError(errno.ENOSPC, "no space left until the spare is given up")
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    restore(site)
    assert tree(site) == before


@pytest.mark.once
def test_recovery_leaves_a_package_alone_that_was_reinstalled_meanwhile(work_site, tmp_path):
    _, expected = prepared(work_site, None, apply)
    for point in range(1, 1000):
        site = copy_of(work_site, tmp_path / "try/site")
        status, _ = run_faulty(lambda site=site: apply(site), point, "before")
        if Store(str(site)).interrupted().startswith("an interrupted run will be finished"):
            break
    assert status == KILLED
    (site / A).write_bytes(b"the next release")
    assert A in recover(site)
    assert (site / A).read_bytes() == b"the next release"
    assert (site / B).read_bytes() == new(B)
    assert not list(site.rglob("*sitepatch-tmp"))
    assert set(tree(site)) == set(expected)


def test_the_next_commit_recovers_first_and_says_so(work_site):
    status, count = run_faulty(lambda: apply(work_site), 0, "before")
    assert (status, count > 40) == (0, True)
    restore(work_site)
    assert run_faulty(lambda: apply(work_site), 20, "before")[0] == KILLED
    assert "undone" in apply(work_site)
    assert (work_site / A).read_bytes() == new(A)


# --- several at once ------------------------------------------------------------------------------------------------


def together(count, action):
    """Run `action(number)` in `count` processes that start at the same moment; return their exit statuses."""
    gate, opener = os.pipe()
    children = []
    for number in range(count):
        child = os.fork()
        if not child:
            status = 9
            try:
                os.close(opener)
                os.read(gate, 1)
                status = action(number)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        children.append(child)
    os.close(gate)
    os.close(opener)
    return [os.WEXITSTATUS(os.waitpid(child, 0)[1]) for child in children]


def test_eight_that_start_at_once_do_the_work_once(site):
    old = {path: sha(data) for path, data in PRISTINE.items()}

    def once(_):
        changes = [Change(path, old[path], NewBytes(new(path)), receipt(path, 1, links(path))) for path in PRISTINE]
        try:
            commit(site, changes, {DIGESTS[1]: TEXTS[1]})
        except StoreError as error:
            return 1 if "changed since the plan" in error.message else 2
        return 0

    assert sorted(together(8, once)) == [0] + [1] * 7
    assert {path: (site / path).read_bytes() for path in PRISTINE} == {path: new(path) for path in PRISTINE}


def test_the_lock_holds_although_its_file_is_removed_each_time(tmp_path):
    counter, rounds = tmp_path / "counter", 60
    counter.write_text("0")

    def count(_):
        for _ in range(rounds):
            with Folder.open(str(tmp_path)) as site, locked(site, 60.0):
                value = int(counter.read_text())
                counter.write_text(str(value + 1))
        return 0

    assert together(8, count) == [0] * 8
    assert counter.read_text() == str(8 * rounds)
    assert [path.name for path in tmp_path.iterdir()] == ["counter"]


@pytest.mark.parametrize("nfs", [False, True])
def test_a_lock_file_that_lost_its_name_before_it_was_locked_is_no_lock(tmp_path, monkeypatch, nfs):
    calls, home = [], tmp_path / ".sitepatch"

    def another_process(fd, operation):
        calls.append(operation)
        if len(calls) == 1:  # the one that finished removes it between our open and our flock
            if nfs:  # as long as this machine has it open
                (home / "lock").rename(home / ".nfs01")
            else:
                shutil.rmtree(home)

    before(monkeypatch, fcntl, "flock", another_process)
    with Folder.open(str(tmp_path)) as site, locked(site, 1.0):
        assert len(calls) == 2
        assert (tmp_path / ".sitepatch/lock").read_text().split()[0] == str(os.getpid())


def test_a_lock_that_is_not_given_up_names_its_holder(site):
    with Folder.open(str(site)) as folder, locked(folder, 0.1), pytest.raises(StoreError, match=str(os.getpid())):
        commit(site, [Change(A, sha(PRISTINE[A]), NewBytes(b""), None)], {})
    assert (site / A).read_bytes() == PRISTINE[A]


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["../out.py", "/etc/out.py", "pkg/../../out.py", "pkg//a.py", "./a.py", "", ".sitepatch/lock", "a\0.py"]
)
def test_a_path_out_of_the_site_directory_is_refused(site, path):
    before = tree(site.parent)
    with pytest.raises(StoreError):
        commit(site, [Change(path, "", NewBytes(b""), None)], {})
    with pytest.raises(StoreError):
        commit(site, [Change(path, "", None, None, forget=True)], {})
    assert tree(site.parent) == before
    assert Store(str(site)).check_writable([path]) != []


def test_a_directory_that_is_a_link_is_refused(site, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.py").write_bytes(PRISTINE[A])
    (site / "linked").symlink_to(tmp_path / "elsewhere")
    change = Change("linked/a.py", sha(PRISTINE[A]), NewBytes(new(A)), receipt(A)._replace(path="linked/a.py"))
    with pytest.raises(StoreError, match="link"):
        commit(site, [change], {DIGESTS[1]: TEXTS[1]})
    assert (tmp_path / "elsewhere/a.py").read_bytes() == PRISTINE[A]
    (site / ".sitepatch").symlink_to(tmp_path / "elsewhere")
    for refused in (lambda: apply(site), Store(str(site)).receipts):
        with pytest.raises(StoreError, match="link"):
            refused()
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["a.py"]


def test_the_site_directory_itself_may_be_reached_through_a_link(site, tmp_path):
    (tmp_path / "lib64").symlink_to(site)
    apply(tmp_path / "lib64")
    assert (site / A).read_bytes() == new(A)


def interrupt(site, phase="preparing", **changed):
    leave_journal(site, phase, **{"path": A, **changed})


def test_a_forged_receipt_is_refused_and_named(site):
    """test_receipt.py has every field."""
    apply(site)
    file = site / ".sitepatch/receipts" / file_name(A)
    file.write_text(json.dumps({**json.loads(file.read_text()), "path": "pkg/../../x.py"}))
    before = tree(site)
    with pytest.raises(StoreError) as caught:
        Store(str(site)).receipts()
    assert str(file) in caught.value.message
    assert caught.value.hint
    with pytest.raises(StoreError):
        restore(site)
    assert tree(site) == before


@pytest.mark.parametrize(
    "changed",
    [{"path": "../x.py"}, {"path": "/x.py"}, {"action": "write"}, {"new": "../../x"}, {"extra": 1}],
    ids=str,
)
@pytest.mark.parametrize("phase", ["preparing", "committing", "done"])
def test_a_forged_journal_is_refused_and_nothing_is_done(site, changed, phase):
    apply(site)
    interrupt(site, phase, **changed)
    before = tree(site)
    store = Store(str(site))
    for refused in (store.interrupted, lambda: recover(site), lambda: restore(site)):
        with pytest.raises(StoreError, match=r"journal\.json"):
            refused()
    assert tree(site) == before


def test_a_prepared_file_that_is_not_the_promised_one_is_not_put_in_place(site):
    apply(site)
    for waiting in (None, b"evil"):
        for standing in (new(A), b"good"):
            (site / A).write_bytes(standing)
            interrupt(site, "committing", old=sha(new(A)), new=sha(b"good"))
            if waiting is not None:
                (site / "pkg" / temporary(A, sha(new(A)), sha(b"good"))[0]).write_bytes(waiting)
            if standing == new(A):
                assert "could not be finished and was undone" in recover(site)
            elif waiting is not None:  # it has been put in place: that is what it displaced
                assert f"{A} was saved by somebody while it was replaced" in recover(site)
            assert (site / A).read_bytes() == standing


def test_a_damaged_or_missing_pristine_copy_is_refused(site):
    apply(site)
    before = {path: (site / path).read_bytes() for path in PRISTINE}
    kept = site / ".sitepatch/pristine" / sha(PRISTINE[A])
    kept.write_bytes(b"something else")
    for _ in range(2):
        with pytest.raises(StoreError, match="pristine"):
            Store(str(site)).pristine(sha(PRISTINE[A]))
        with pytest.raises(StoreError, match="pristine"):
            restore(site)
        assert {path: (site / path).read_bytes() for path in PRISTINE} == before
        kept.unlink(missing_ok=True)
    for read in (Store(str(site)).pristine, Store(str(site)).patchset_files):
        for digest, why in (("0" * 64, "is missing"), ("../lock", "expected a sha256 in hex")):
            with pytest.raises(StoreError, match=why):
                read(digest)


# --- permissions ----------------------------------------------------------------------------------------------------


def test_a_directory_that_may_not_be_written_is_named_before_anything_happens(site, public):
    (site / B).chmod(0o644)
    folders = [site, *(path for path in site.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    before = tree(site)

    def action():
        problems = Store(str(site)).check_writable([A, B])
        for folder in (site, site / "pkg", site / "pkg/sub", site / "pkg/__pycache__"):
            assert [p.startswith(f"{folder}: ") and "owner" in p for p in problems].count(True) == 1
        with pytest.raises(StoreError) as caught:
            apply(site)
        assert str(site) in caught.value.message
        assert "owner" in caught.value.hint

    try:
        as_user(NOBODY, action)
        assert tree(site) == before
    finally:
        for folder in folders:
            folder.chmod(0o755)


@pytest.mark.parametrize("what", ["pkg", "pkg/__pycache__", A])
def test_what_is_immutable_is_named_before_anything_happens(site, what):
    assert Store(str(site)).check_writable([A]) == []
    if shutil.which("chattr") is None or subprocess.run(["chattr", "+i", site / what], check=False).returncode:
        pytest.skip("chattr +i does not work here")
    try:
        problems = Store(str(site)).check_writable([A, B])
        assert any(p.startswith(f"{site}/{what}:") and "immutable" in p for p in problems)
        before = tree(site)
        with pytest.raises(StoreError, match="immutable"):
            apply(site)
        assert tree(site) == before
    finally:
        subprocess.run(["chattr", "-i", site / what], check=True)


# --- the new source is the one that runs ----------------------------------------------------------------------------


def of_stale(folder):
    return [name for name in bytecode(folder) if name.startswith("stale.")]  # a prefix gets the interpreter's own too


def run_module(site, **env):
    variables = {**os.environ, "PYTHONPATH": str(site)}
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"):
        variables.pop(name, None)
    variables.update(env)
    command = [sys.executable, "-c", "import stale; print(stale.V)"]
    completed = subprocess.run(command, env=variables, stdout=subprocess.PIPE, check=True, cwd=site)
    return completed.stdout.strip()


@pytest.mark.parametrize("kind", ["timestamp", "unchecked", "prefix", "future", "legacy-free -O"])
def test_no_stale_bytecode_runs(tmp_path, monkeypatch, kind):
    site, source = tmp_path / "site", b"V = 1\n"
    site.mkdir()
    file = site / "stale.py"
    file.write_bytes(source)
    env = {"PYTHONOPTIMIZE": "1"} if kind.endswith("-O") else {}
    if kind == "prefix":
        env["PYTHONPYCACHEPREFIX"] = str(tmp_path / "caches")
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", env["PYTHONPYCACHEPREFIX"])
    if kind == "future":
        os.utime(file, (4_000_000_000, 4_000_000_000))
    mtime = file.stat().st_mtime_ns
    if kind == "unchecked":
        py_compile.compile(str(file), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert run_module(site, **env) == b"1"
    assert of_stale(tmp_path) != []

    changed = b"V = 2\n"
    of_it = receipt("stale.py", 1, "", source, changed, mtime_ns=mtime)
    commit(site, [Change("stale.py", sha(source), NewBytes(changed), of_it)], {DIGESTS[1]: TEXTS[1]})
    assert file.stat().st_mtime_ns >= mtime + 2 * 10**9
    assert of_stale(tmp_path) == []
    assert run_module(site, **env) == b"2"
    assert of_stale(tmp_path) != []
    if kind == "unchecked":
        py_compile.compile(str(file), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    commit(site, [Change("stale.py", sha(changed), None, None)], {})
    assert of_stale(tmp_path) == []
    assert run_module(site, **env) == b"1"
    assert file.stat().st_mtime_ns == mtime


def test_reading_the_store_imports_nothing_heavy():
    code = (
        "import sys; from patcher.store.store import Store; Store('.').receipts();"
        "bad = {'filelock', 'libcst', 'click', 'packaging'} & set(sys.modules);"
        "sys.exit(str(bad) if bad else 0)"
    )
    subprocess.run([sys.executable, "-S", "-c", code], check=True, cwd=ROOT)


# --- small rules, each of which a change of the code could drop -------------------------------------------------------


def test_half_of_a_copy_is_no_saved_text_and_the_next_run_removes_it(site):
    store = Store(str(site))
    kept = save_edited(site, A, b"edited by hand")
    half, journal_half = Path(f"{kept}.tmp"), site / ".sitepatch/journal.json.tmp"
    half.write_bytes(b"edited")
    interrupt(site)
    assert store.edited_copies() == [kept]
    assert recover(site) == "an interrupted run was undone: 1 file as before it"
    assert not half.exists() and store.edited_copies() == [kept]
    journal_half.write_bytes(b"edited")
    assert recover(site) == "" and not journal_half.exists()
    Path(kept).unlink()
    assert recover(site) == "" and not (site / ".sitepatch").exists()


def test_a_file_that_somebody_changes_during_the_commit_is_left_alone_and_named(site, monkeypatch):
    waiting = site / ".sitepatch/journal.json"

    def another_process(name, new_name, **_):
        if new_name == waiting.name and json.loads(waiting.read_text())["phase"] == "committing":
            (site / A).write_bytes(b"the next release")

    after(monkeypatch, os, "replace", another_process)  # right after the commit point
    with pytest.raises(StoreError) as caught:
        apply(site)
    assert caught.value.message == f"{A} in {site}: changed by somebody else while sitepatch was at work"
    assert ((site / A).read_bytes(), (site / B).read_bytes()) == (b"the next release", new(B))
    assert Store(str(site)).interrupted() == ""
    assert not list(site.rglob("*sitepatch-*"))


def test_receipts_are_those_that_can_be_trusted_and_no_other_files(site):
    apply(site)
    folder = site / ".sitepatch/receipts"
    (folder / f"{file_name(A)}.new").write_text("{")
    (folder / file_name(B)).write_text("{")
    bad = []
    assert set(Store(str(site)).receipts(bad)) == {A, C}
    assert [error.message.split(": ")[0] for error in bad] == [str(folder / file_name(B))]


def test_a_receipt_that_is_dropped_while_they_are_read_is_none(site, monkeypatch):
    apply(site)
    fail_once(monkeypatch, os, "open", FileNotFoundError(), when=lambda name, *_, **__: name == file_name(B))
    assert set(Store(str(site)).receipts()) == {A, C}


def test_pristine_copies_that_no_receipt_names_are_reported_where_nothing_else_explains_them(site):
    store = Store(str(site))
    assert store.unclaimed() == []
    apply(site)
    assert store.unclaimed() == []
    (site / ".sitepatch/pristine/more").write_text("")
    (site / ".sitepatch/receipts" / file_name(A)).unlink()
    assert store.unclaimed() == [sha(PRISTINE[A])]
    assert store.unclaimed([sha(PRISTINE[A])]) == []
    (site / ".sitepatch/journal.json").write_text("")
    assert store.unclaimed() == []
    (site / ".sitepatch/journal.json").unlink()
    (site / ".sitepatch/receipts" / file_name(B)).write_text("{")
    assert store.unclaimed() == []


def test_a_saved_text_has_the_mode_of_its_file_and_is_written_once(site, monkeypatch):
    kept = Path(save_edited(site, B, b"edited"))
    assert kept == site / f".sitepatch/edited/b.py.{sha(b'edited')[:16]}"
    assert (kept.read_bytes(), stat.S_IMODE(kept.stat().st_mode)) == (b"edited", MODES[B])
    first = kept.stat()
    assert save_edited(site, B, b"edited") == str(kept)
    assert kept.stat() == first
    kept.write_bytes(b"half")
    save_edited(site, B, b"edited")
    assert kept.read_bytes() == b"edited"
    synced = []
    before(monkeypatch, os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))  # what it is for: tests/faults/test_power_cuts.py
    assert stat.S_IMODE(Path(save_edited(site, "pkg/none.py", b"x")).stat().st_mode) == 0o600
    assert kept.parent.stat().st_ino in synced


def test_copies_of_edited_texts_are_listed_from_a_time_on_a_link_with_its_own(site):
    store = Store(str(site))
    assert store.edited_copies() == []
    kept = Path(save_edited(site, A, b"edited"))
    (kept.parent / "z").symlink_to("nowhere")
    info = kept.stat()
    assert store.edited_copies() == store.edited_copies(info.st_ctime) == [str(kept), str(kept.parent / "z")]
    assert str(kept) not in store.edited_copies(info.st_ctime + 0.001)


def test_where_nothing_waits_no_lock_is_taken_and_nothing_is_written(site, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", lambda *_, **__: pytest.fail("nothing to do"))  # which is how a journal is written
        assert commit(site, [], {}) == ""
    apply(site)
    monkeypatch.setattr(fcntl, "flock", lambda *_: pytest.fail("nothing to do"))
    assert recover(site) == recover(site.parent) == recover(site.parent / "none") == ""


def test_what_was_recovered_first_is_reported_whatever_becomes_of_the_run(site, monkeypatch):
    store, undone = Store(str(site)), "an interrupted run was undone: 1 file as before it"
    interrupt(site)
    assert store.interrupted() == "an interrupted run will be undone: 1 file as before it"
    assert commit(site, [], {}) == undone
    interrupt(site)
    with pytest.raises(OutdatedError) as caught:
        commit(site, [Change(A, sha(b"other"), NewBytes(b"x"), None)], {})
    assert caught.value.message.endswith("has changed since the plan was made")
    interrupt(site)
    fail(monkeypatch, os, "fstatvfs", KeyboardInterrupt())  # Ctrl-C while it is looked whether there is room
    with pytest.raises(KeyboardInterrupt) as stopped:
        apply(site)
    assert str(stopped.value) == f"{site}: {undone}; then nothing was changed"
    with pytest.raises(KeyboardInterrupt, match=f"^{site}: nothing was changed$"):
        apply(site)


@pytest.mark.parametrize("spoil", [lambda top: top["files"].update(more=""), lambda top: top.update(more=1)])
def test_the_text_of_a_patchset_that_is_not_as_it_was_written_is_refused(site, spoil):
    apply(site)
    path = site / f".sitepatch/patchsets/{DIGESTS[1]}.json"
    top = json.loads(path.read_text())
    spoil(top)
    path.write_text(json.dumps(top))
    with pytest.raises(StoreError, match=f"^{path}: "):
        Store(str(site)).patchset_files(DIGESTS[1])


def fail_while_preparing(monkeypatch, error):
    """Let the first call fail that a commit makes after its journal."""
    fail_once(monkeypatch, os, "mkdir", error, when=lambda name, *_, **__: name == "pristine")


@pytest.mark.parametrize("error", [OSError(errno.EIO, "why"), KeyboardInterrupt()])
def test_a_failure_before_the_commit_point_is_undone_at_once_and_reported(site, monkeypatch, error):
    before = tree(site)
    fail_while_preparing(monkeypatch, error)
    with pytest.raises((StoreError, KeyboardInterrupt)) as caught:
        apply(site)
    assert tree(site) == before
    if isinstance(error, KeyboardInterrupt):
        assert str(caught.value) == f"{site}: an interrupted run was undone: 3 files as before it"
    else:
        assert "why" in caught.value.message


def test_what_is_found_before_the_commit_point_is_undone_and_reported_too(site, monkeypatch):
    def another_process(name, *_, **__):
        if name == "pristine":
            (site / A).write_bytes(b"of another process")

    before(monkeypatch, os, "mkdir", another_process)

    def others():
        return {path: entry for path, entry in tree(site).items() if path != A}

    before_it = others()
    with pytest.raises(StoreError, match=f"{A} was changed by somebody else while sitepatch was at work"):
        apply(site)
    assert others() == before_it
    assert (site / A).read_bytes() == b"of another process"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "why")])
def test_a_failure_after_all_is_done_says_so(site, monkeypatch, error):
    receipts = site / ".sitepatch/receipts"

    def is_last(fd):  # the journal is gone: the last directory is written to the disk
        return receipts.exists() and not (site / ".sitepatch/journal.json").exists() and stat.S_ISDIR(os.fstat(fd).st_mode)

    fail_once(monkeypatch, os, "fsync", error, when=is_last)
    with pytest.raises((StoreError, KeyboardInterrupt)) as caught:
        apply(site)
    assert FINISHED in f"{caught.value} {getattr(caught.value, 'hint', '')}"
    assert (site / A).read_bytes() == new(A)


@pytest.mark.parametrize(
    ("again", "outcome"),
    [
        (KeyboardInterrupt(), "an interrupted run was undone: 3 files as before it"),
        (OSError(errno.EIO, "why"),
         "an interrupted run will be undone: 3 files as before it, by the next command that can write here"),
    ],
)  # fmt: skip
def test_where_even_the_recovery_fails_it_is_reported_what_waits(site, monkeypatch, again, outcome):
    failed = []

    def while_preparing(name, *_, **__):
        failed.append(name == "pristine")
        return failed[-1]

    fail_once(monkeypatch, os, "mkdir", OSError(errno.EIO, "why"), when=while_preparing)
    fail_once(monkeypatch, os, "unlink", again, when=lambda *_, **__: any(failed))
    with pytest.raises((StoreError, KeyboardInterrupt)) as caught:
        apply(site)
    assert outcome in f"{caught.value} {getattr(caught.value, 'hint', '')}"


def test_where_nothing_was_written_a_recovery_that_fails_changes_nothing(site, monkeypatch):
    before, failed, real = tree(site), [], os.rmdir

    def no_room_left(fd):
        failed.append(fd)
        raise OSError(errno.EIO, "why")

    def rmdir(name, **more):
        if failed:
            raise OSError(errno.EIO, "why")
        real(name, **more)

    with monkeypatch.context() as patched, pytest.raises(StoreError) as caught:
        patched.setattr(os, "fstatvfs", no_room_left)
        patched.setattr(os, "rmdir", rmdir)
        apply(site)
    assert caught.value.hint == "nothing was changed"
    shutil.rmtree(site / ".sitepatch", ignore_errors=True)
    assert tree(site) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_pristine_copy_is_trusted_by_its_hash_whoever_owns_it(site):
    apply(site)
    copy = site / ".sitepatch/pristine" / sha(PRISTINE[A])
    os.chown(str(copy), 1234, 1235)
    copy.chmod(0o666)
    assert Store(str(site)).pristine(sha(PRISTINE[A])) == PRISTINE[A]


def test_while_it_is_locked_others_wait(site, monkeypatch):
    with transaction([str(site)]) as run:
        assert run.holds([str(site)]) and not run.holds([str(site), str(site.parent)])
    with transaction([str(site)]), Folder.open(str(site)) as folder, pytest.raises(BusyError), locked(folder, 0):
        pass
    fail(monkeypatch, fcntl, "flock", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt, match=f"^{site}: nothing was changed$"), transaction([str(site)]):
        pass
