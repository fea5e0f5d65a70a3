"""The lock of a site directory and uv's: who holds it, what is said of that, what is left behind, and whom it belongs to."""

import contextlib
import errno
import fcntl
import os
import stat
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from patcher.errors import BusyError
from patcher.hook import boot
from patcher.store import lock, patience, patience_now, retry, status
from patcher.store.folder import Folder
from patcher.system import flock
from tests.command import ROOT
from tests.failures import Clock, before, fail, fail_once, kernel_that_tells
from tests.stores import locked
from tests.users import ROOT_ONLY, give, open_descriptors

OWNER, GROUP = 1001, 1500
F_OFD_SETLK = 37  # fcntl(2) of Linux; Python knows the number since 3.9
NOTED = f"{os.getpid()} on {os.uname().nodename}\n"


@pytest.fixture
def site(tmp_path):
    """A site directory that is open; no descriptor and no lock may be left."""
    before, patient = open_descriptors(), patience_now()
    with Folder.open(str(tmp_path)) as folder:
        yield folder
    assert open_descriptors() <= before
    assert patience_now() is patient


@contextlib.contextmanager
def somebody_holds(path):
    """Hold a lock on a file as another process would: by a descriptor of its own."""
    fd = os.open(str(path), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def free(path):
    """Whether nobody holds a lock on a file."""
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


# what is left behind --------------------------------------------------------------------------------------------------
def test_while_it_is_locked_the_file_is_private_and_names_the_process_and_nothing_is_left(tmp_path, site):
    file = tmp_path / ".sitepatch/lock"
    with lock.locked(site) as home:
        assert (home.path, home.names()) == (f"{tmp_path}/.sitepatch", ["lock"])
        assert (file.read_text(), stat.S_IMODE(file.stat().st_mode), free(file)) == (NOTED, 0o600, False)
        (tmp_path / ".sitepatch/more").write_text("")
    assert sorted(os.listdir(str(tmp_path / ".sitepatch"))) == ["lock", "more"] and free(file)
    file.write_text("a longer text of somebody else\n")
    with lock.locked(site):
        assert file.read_text() == NOTED
        (tmp_path / ".sitepatch/more").unlink()
    assert not (tmp_path / ".sitepatch").exists()


def test_it_is_not_re_entrant_and_is_given_back_where_something_fails_inside(tmp_path, site):
    with lock.locked(site), pytest.raises(BusyError), locked(site, 0):
        pass
    with pytest.raises(ValueError, match="x"), lock.locked(site):
        raise ValueError("x")
    with locked(site, 0):
        pass
    assert not (tmp_path / ".sitepatch").exists()


@pytest.mark.parametrize("what", ["open", "ftruncate", "write", "flock", "rmdir"])
def test_where_a_call_fails_no_folder_is_left_and_no_message_is_needed(tmp_path, site, monkeypatch, what):
    module = fcntl if what == "flock" else os
    real = getattr(module, what)

    def fails(first, *rest, **more):
        if what != "open" or first == "lock":
            raise OSError(errno.EIO, "injected")
        return real(first, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(module, what, fails)
        fails_then = pytest.raises(OSError, match="injected") if what in ("open", "flock") else contextlib.nullcontext()
        with fails_then, lock.locked(site):
            pass
    assert (tmp_path / ".sitepatch/lock").exists() is (what == "flock")
    assert (tmp_path / ".sitepatch").exists() is (what in ("flock", "rmdir"))
    with locked(site, 0):
        pass
    assert not (tmp_path / ".sitepatch").exists()


@pytest.mark.parametrize("error", [errno.ENOENT, errno.ESTALE])
def test_a_folder_that_is_gone_in_the_middle_is_made_again(tmp_path, site, monkeypatch, error):
    fail_once(monkeypatch, os, "stat", OSError(error, "gone"), when=lambda name, **_: name == "lock")
    with lock.locked(site):
        assert (tmp_path / ".sitepatch/lock").exists()


def test_a_lock_that_is_a_link_is_not_followed(tmp_path, site):
    (tmp_path / ".sitepatch").mkdir()
    (tmp_path / ".sitepatch/lock").symlink_to("../elsewhere")
    with pytest.raises(OSError, match=r"\.sitepatch/lock"), lock.locked(site):
        pass
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(("mode", "expected"), [(0o755, 0o600), (0o2775, 0o660), (0o757, 0o600)])
def test_in_a_directory_that_a_group_shares_the_group_can_lock(tmp_path, site, monkeypatch, mode, expected):
    tmp_path.chmod(mode)
    (tmp_path / ".sitepatch").mkdir()
    (tmp_path / ".sitepatch").chmod(mode & ~stat.S_IWOTH)
    (tmp_path / ".sitepatch/more").write_text("")
    with lock.locked(site):
        assert stat.S_IMODE((tmp_path / ".sitepatch/lock").stat().st_mode) == expected
    if mode == 0o2775:  # somebody else of the group has made it; root could change its mode all the same
        fail(monkeypatch, os, "fchmod", PermissionError())
        with lock.locked(site):
            pass


@ROOT_ONLY
@pytest.mark.parametrize(
    ("owner", "store", "mode", "is_given"),
    [(OWNER, 0, 0o755, True), (OWNER, OWNER, 0o755, False), (0, 0, 0o755, False), (OWNER, 0, 0o777, False), (OWNER, 0, 0o1777, False)],
)
def test_what_root_left_in_the_directory_of_somebody_becomes_that_users(tmp_path, site, owner, store, mode, is_given):
    home = tmp_path / ".sitepatch"
    for name in ("receipts/r", "pristine/p", "spare"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x").write_text("")
    (home / "receipts/link").symlink_to("../../outside/x")
    (home / "link").symlink_to("../outside")
    tmp_path.chmod(mode)
    give(tmp_path, 0)
    os.chown(str(tmp_path), owner, GROUP)
    os.chown(str(home), store, 0)
    with lock.locked(site):
        pass
    theirs = [path for path in tmp_path.rglob("*") if os.lstat(str(path)).st_uid == OWNER]
    names = {path.relative_to(tmp_path).as_posix() for path in theirs}
    expected = {".sitepatch", ".sitepatch/lock"} if store else set()
    if is_given:
        inside = ("lock", "spare", "receipts", "receipts/r", "receipts/link", "pristine", "link")
        expected = {".sitepatch", *(f".sitepatch/{name}" for name in inside)}
    assert names == expected
    if is_given:
        assert {os.lstat(str(tmp_path / name)).st_gid for name in names} == {GROUP}


# waiting --------------------------------------------------------------------------------------------------------------
def test_who_waits_says_for_whom_once_after_a_second_and_gives_up_in_time(tmp_path, site, monkeypatch):
    clock, reports = Clock(monkeypatch), []
    (tmp_path / ".sitepatch").mkdir()
    lock_file, is_open = tmp_path / ".sitepatch/lock", []

    def report(text):
        reports.append((clock.now, text))
        for fd in Path("/proc/self/fd").iterdir():
            if fd.exists() and lock_file.samefile(fd):
                is_open.append(fd)

    with somebody_holds(lock_file), patience(3.0, report):
        with pytest.raises(BusyError) as caught, lock.locked(site):
            pass
        assert clock.now - 1000 == pytest.approx(3, abs=0.05), "seconds: it looks often"
        with pytest.raises(BusyError, match=r" 0\.5 seconds"), locked(site, 0.5):
            pass
        with pytest.raises(BusyError, match=r" 0 seconds"), locked(site, 0):
            pass
    who, _, how_long = caught.value.message.partition(", and ")
    assert who.startswith(f"{tmp_path}: another sitepatch (process ") and how_long == "has not ended in 3 seconds"
    assert [text for _, text in reports] == [who]
    assert reports[0][0] - 1000 == pytest.approx(1, abs=0.1)
    assert len(is_open) == 1, "by who holds it alone: this process may need the lock again"


def test_each_that_is_waited_for_is_named_once(tmp_path, site, monkeypatch):
    clock, reports = Clock(monkeypatch), []
    (tmp_path / ".sitepatch").mkdir()
    with contextlib.ExitStack() as sitepatch, somebody_holds(tmp_path / ".lock"):
        sitepatch.enter_context(somebody_holds(tmp_path / ".sitepatch/lock"))

        def report(text):
            reports.append(text.partition(" (process ")[0])
            sitepatch.close()  # its turn is over: uv's is left

        with patience(60.0, report), pytest.raises(BusyError), lock.locked(site):
            pass
    assert reports == [f"{tmp_path}: another sitepatch", f"{tmp_path}: uv"]
    assert clock.now - 1000 == pytest.approx(60, abs=0.05), "seconds, for both together"


def test_one_whom_the_kernel_does_not_list_for_a_moment_is_not_named_again(tmp_path, site, monkeypatch):
    """Its lock is free, say, and another process takes it before ours looks again."""
    Clock(monkeypatch)
    reports, looked = [], []

    def seldom(*words, **more):
        looked.append(words)
        return found(*words, **more) if len(looked) % 100 else None

    found = lock.holder
    monkeypatch.setattr(lock, "holder", seldom)  # the moment between two looks of ours
    with somebody_holds(tmp_path / ".lock"), patience(20.0, reports.append), pytest.raises(BusyError), lock.locked(site):
        pass
    assert len(looked) > 500
    assert sorted(report.rpartition(" (process ")[2].partition(" ")[0] for report in reports) == [f"{os.getpid()},", "unknown)"], reports


# uv -------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("depth", "files", "expected"),
    [
        ("lib/python3.11/site-packages", ["pyvenv.cfg", ".lock"], [".lock"]),
        ("lib/python3.11/site-packages", [".lock"], []),
        ("lib/python3.11/site-packages", ["pyvenv.cfg"], []),
        ("a/b/c/d", ["pyvenv.cfg", ".lock"], [".lock"]),
        ("a/b/c/d/e", ["pyvenv.cfg", ".lock"], []),
        ("a/b", ["pyvenv.cfg", ".lock", "a/pyvenv.cfg", "a/.lock"], ["a/.lock"]),
        ("a/b", ["a/b/.lock"], ["a/b/.lock"]),
        ("a/b", ["a/b/.lock", "pyvenv.cfg", ".lock"], ["a/b/.lock", ".lock"]),
    ],
)
def test_where_uv_has_its_locks(tmp_path, depth, files, expected):
    (tmp_path / depth).mkdir(parents=True)
    for name in files:
        (tmp_path / name).write_text("")
    (tmp_path / "link").symlink_to(depth)
    for site in (depth, "link"):
        assert lock.uv_locks(str(tmp_path / site)) == [str(tmp_path / name) for name in expected]


def test_uv_is_kept_out_and_waited_for_and_its_lock_need_not_be_writable(tmp_path, site, monkeypatch):
    file = tmp_path / ".lock"
    file.write_text("")
    with lock.locked(site):
        assert not free(file)
    assert free(file)
    with somebody_holds(file), pytest.raises(BusyError, match=r": uv \(.*\) is changing"), locked(site, 0):
        pass
    assert not (tmp_path / ".sitepatch").exists()
    # root may write to any file
    fail_once(monkeypatch, os, "open", PermissionError(errno.EACCES, "injected"), when=lambda name, flags, *_, **__: name == str(file) and flags & os.O_RDWR)
    with lock.locked(site):
        assert not free(file)


def test_a_lock_of_uv_that_is_a_pipe_stops_nobody(tmp_path, site):
    os.mkfifo(str(tmp_path / ".lock"))
    with locked(site, 0):
        pass


# other machines -------------------------------------------------------------------------------------------------------
@pytest.mark.skipif(sys.platform != "linux", reason="how Linux serves NFS")
def test_a_lock_of_fcntl_which_is_what_the_server_makes_of_a_client_is_waited_for_and_reported(tmp_path, site):
    ours = tmp_path / ".sitepatch/lock"
    ours.parent.mkdir()
    with ours.open("w") as file:
        file.write("7 on client1\n")
        file.flush()
        fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        with pytest.raises(BusyError, match=r"another sitepatch \(process 7 on client1\)"), locked(site, 0):
            pass
        assert free(ours), "the other lock is given back"
        assert lock.holders(str(tmp_path)) == [f"{ours} is held by another machine (process 7 on client1)"]
    with locked(site, 0):
        assert lock.holders(str(tmp_path)) == [f"{ours} is held by process {os.getpid()}, {Path('/proc/self/comm').read_text().strip()}"]


def test_where_a_filesystem_has_no_such_lock_the_other_one_does(site, monkeypatch):
    fail(monkeypatch, fcntl, "fcntl", OSError(errno.ENOLCK, "injected"))
    with lock.locked(site), pytest.raises(BusyError), locked(site, 0):
        pass


# how a client of NFS removes a file that it has open; `python -m tools.nfs` does it on a real one
def test_on_nfs_the_lock_file_keeps_a_name_until_it_is_closed_and_nothing_is_left_then(tmp_path, site, monkeypatch):
    unlink, close, left = os.unlink, os.close, tmp_path / ".sitepatch/.nfs01"

    def renamed(name, **more):
        os.rename(name, left.name, src_dir_fd=more["dir_fd"], dst_dir_fd=more["dir_fd"])

    def closed(fd):
        last = left.exists() and os.path.samestat(os.fstat(fd), left.stat())
        close(fd)
        if last:
            unlink(str(left))

    monkeypatch.setattr(os, "unlink", renamed)
    monkeypatch.setattr(os, "close", closed)
    with lock.locked(site):
        pass
    assert list(tmp_path.iterdir()) == []
    with lock.locked(site):
        (tmp_path / ".sitepatch/.nfs02").write_text("")  # another process of this machine has an older lock file open
    assert os.listdir(str(tmp_path / ".sitepatch")) == [".nfs02"]


def note_opened(monkeypatch):
    """What is opened from now on, by the path that is given: opening a directory is what has NFS ask the server again."""
    opened = []
    before(monkeypatch, os, "open", lambda path, *_, **__: opened.append(path))
    return opened


@pytest.mark.parametrize(
    ("look", "folder"),
    [
        (lambda site: status.read_installed(site, "demo/m.py"), "demo"),
        (status.has_store, ""),
        (lambda site: retry.settled(SimpleNamespace(stores=[site]), lambda: None), ".sitepatch"),
        (lambda site: boot.signature(f"{site}/demo/m.py"), "demo"),
    ],
)
def test_who_looks_without_a_lock_opens_the_directory_first(tmp_path, monkeypatch, look, folder):
    (tmp_path / folder).mkdir(exist_ok=True)
    opened = note_opened(monkeypatch)
    look(str(tmp_path))
    assert os.path.join(str(tmp_path), folder).rstrip("/") in opened


def test_a_start_opens_a_directory_once_however_many_files_it_has(tmp_path, monkeypatch):
    opened = note_opened(monkeypatch)
    lines = [f"= absent {path}" for path in ("demo/a.py", "demo/b.py", "demo/sub/c.py")]
    (tmp_path / "demo/sub").mkdir(parents=True)
    assert boot.state_problems("\n".join(["sitepatch-hook 1 ID", *lines, "end", ""]), str(tmp_path), "ID", False) == []
    assert opened == [f"{tmp_path}/demo", f"{tmp_path}/demo/sub"]


def test_what_another_machine_has_done_is_looked_for_once_it_is_locked(tmp_path, site, monkeypatch):
    steps = note_opened(monkeypatch)
    before(monkeypatch, fcntl, "flock", lambda *_: steps.append("locked"))
    with lock.locked(site):
        assert steps[steps.index("locked") + 1 :][:2] == [str(tmp_path), f"{tmp_path}/.sitepatch"]


# who holds it ---------------------------------------------------------------------------------------------------------
class Info:
    st_ino, st_dev = 77, os.makedev(0xFE, 1)


@pytest.fixture
def kernel_tells(tmp_path, monkeypatch):
    """Write what /proc/locks tells; until then the kernel tells nothing."""
    proc = kernel_that_tells(monkeypatch, tmp_path / "proc")
    for pid in ("5", "1"):
        (proc / pid).mkdir(parents=True)
        (proc / pid / "comm").write_text("uv\n")

    def write(*rows):
        numbered = [f"{number}: {row}\n" for number, row in enumerate(rows, 1)]
        (proc / "locks").write_text("".join(numbered))

    return write


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], ""),
        (["FLOCK  ADVISORY  WRITE 5 fe:01:77 0 EOF"], "process 5, uv"),
        (["FLOCK  ADVISORY  WRITE 5 fe:01:77"], "process 5, uv"),
        (["FLOCK  ADVISORY  WRITE 1 fe:01:77 0 EOF"], "process 1, uv"),
        (["FLOCK  ADVISORY  WRITE 999999999 fe:01:77 0 EOF"], "process 999999999"),
        (["FLOCK  ADVISORY  WRITE 0 fe:01:77 0 EOF"], "a process of another container"),
        (["FLOCK  ADVISORY  WRITE -1 fe:01:77 0 EOF"], "a process of another container"),
        (["POSIX  ADVISORY  WRITE 5 fe:01:77 0 EOF"], ""),
        (["-> FLOCK  ADVISORY  WRITE 5 fe:01:77 0 EOF"], ""),
        (["FLOCK  ADVISORY  WRITE 5 fe:01:177 0 EOF"], ""),
        (["FLOCK  ADVISORY  WRITE 5"], ""),
        (["FLOCK  ADVISORY  WRITE 6 00:2a:77 0 EOF", "FLOCK  ADVISORY  WRITE 5 fe:01:77 0 EOF"], "process 5, uv"),
        (["FLOCK  ADVISORY  WRITE 5 00:2a:77 0 EOF"], "process 5, uv"),  # btrfs
    ],
)
def test_the_process_that_holds_a_lock_by_what_the_kernel_tells(kernel_tells, rows, expected):
    kernel_tells(*rows)
    found = flock.holder(Info)
    assert (found.name if found else "") == expected
    assert found is None or found.pid == max(0, int(rows[-1].split()[3]))


def test_where_the_kernel_tells_nothing(tmp_path, kernel_tells, site):
    assert flock.holder(Info) is None
    with lock.locked(site), pytest.raises(FileNotFoundError):
        lock.holders(str(tmp_path))
    assert lock.holders(str(tmp_path)) == []
    with lock.locked(site), pytest.raises(BusyError, match=rf"another sitepatch \(process {NOTED.strip()}\)"), locked(site, 0):
        pass
    (tmp_path / ".sitepatch").mkdir()
    with somebody_holds(tmp_path / ".sitepatch/lock"), pytest.raises(BusyError, match=r"\(process unknown\)"), locked(site, 0):
        pass


def test_the_holders_of_both_locks_are_reported(tmp_path, kernel_tells, site):
    assert lock.holders(str(tmp_path)) == []
    (tmp_path / ".lock").write_text("")
    (tmp_path / ".sitepatch").mkdir()
    ours = tmp_path / ".sitepatch/lock"
    (tmp_path / "real").write_text("")
    ours.symlink_to("../real")
    kernel_tells(f"FLOCK  ADVISORY  WRITE 5 00:00:{ours.stat().st_ino} 0 EOF")
    assert lock.holders(str(tmp_path)) == [f"{ours} is held by process 5, uv"]
    kernel_tells(f"FLOCK  ADVISORY  WRITE 5 00:00:{(tmp_path / '.lock').stat().st_ino} 0 EOF")
    assert lock.holders(str(tmp_path)) == [f"{tmp_path}/.lock is held by process 5, uv"]


@pytest.mark.parametrize(("name", "who"), [(".sitepatch/lock", "another sitepatch"), (".lock", "uv")])
def test_a_process_that_the_holder_has_started_is_told_so_at_once(tmp_path, name, who):
    (tmp_path / ".sitepatch").mkdir()
    code = f"""
import sys
from patcher.errors import BusyError
from patcher.store.folder import Folder
from patcher.store import patience
from patcher.store.lock import locked
try:
    with Folder.open({str(tmp_path)!r}) as site, patience(600), locked(site):
        pass
except BusyError as error:
    print(error.message)
"""
    with somebody_holds(tmp_path / name):
        starter = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}])"
        completed = subprocess.run([sys.executable, "-c", starter], cwd=str(ROOT), stdout=subprocess.PIPE, timeout=60)
    message = completed.stdout.decode()
    assert message.startswith(f"{tmp_path}: {who} (process {os.getpid()}, "), message
    assert "which has started this process, is changing this directory" in message
