"""One writer at a time: the lock of a site directory, `.sitepatch/lock`, and uv's own, both held with flock(2).

On NFS a flock(2) excludes other clients; the server makes a lock of fcntl(2) of it, so that its own processes are excluded too
where they take such a lock beside the other.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from patcher.errors import BusyError
from patcher.store.folder import Folder, naming
from patcher.store.meta import date, source_date
from patcher.store.receipt import HOME
from patcher.system.reading import look_again

_NAME = "lock"
_OPEN = ".nfs"  # so begins what NFS makes of the name of a removed file as long as this machine has it open
_F_OFD_SETLK, _FLOCK = 37, "hhqqi"  # fcntl(2) of Linux; Python knows the number since 3.9
_PAUSE = 0.02  # seconds between two tries
_SILENCE = 1.0  # seconds after which it is said what is waited for


class Patience(NamedTuple):
    """How long to wait for a lock, in seconds, and who is told what is waited for."""

    seconds: float = 60.0
    say: Callable[[str], None] = lambda text: None


_held: Dict[Tuple[int, int], Folder] = {}
"""`.sitepatch` of each site directory (by device and inode) that this process has locked for several commits."""
_patience = [Patience()]  # the last one is in force; a ContextVar would cost `status` more than all the rest of this module


@contextmanager
def patience(seconds: float, say: Callable[[str], None]) -> Iterator[None]:
    """Wait so long for every lock that is taken inside, and say after a second what is waited for."""
    _patience.append(Patience(seconds, say))
    try:
        yield
    finally:
        _patience.pop()


@contextmanager
def locked(site: Folder, timeout: Optional[float] = None, *, shared: bool = False) -> Iterator[Folder]:
    """Yield `.sitepatch` of `site`, made if needed, while no other process is writing: no sitepatch and no uv.

    What another machine has done before is seen inside, on a network filesystem too.
    The kernel lets go of the lock when its holder dies. If at the end nothing but the lock file is left, the file and
    its folder are removed while still locked; whoever was waiting for that file sees that it has lost its name.

    Args:
        site: the site directory.
        timeout: seconds to wait; None for those of `patience`.
        shared: with what this process does inside, which then takes no lock of its own.

    Raises:
        BusyError: another process held a lock for longer; names the process.
    """
    info = os.fstat(site.fd)
    key = info.st_dev, info.st_ino
    if key in _held:
        yield _held[key]
        return
    wait = _Wait(site.path, timeout)
    try:
        home, fd = _acquire(site, wait)
    except BaseException:
        with suppress(OSError):
            site.remove_folder(HOME)  # made just now, if it is empty: the lock file could not be
        raise
    try:
        with home:
            try:
                with _uv_kept_out(site.path, wait):
                    if shared:
                        _held[key] = home
                    yield home
            finally:
                _held.pop(key, None)
                with suppress(OSError):  # the next one removes what cannot be removed now, and the work is done
                    if [name for name in home.names() if not name.startswith(_OPEN)] == [_NAME]:
                        home.remove(_NAME)
                        site.remove_folder(HOME)
                        date(site.fd)
                    elif source_date() is not None:
                        os.ftruncate(fd, 0)  # the number of a process is another one each time
                        date(fd)
    finally:
        os.close(fd)
        with suppress(OSError):
            site.remove_folder(HOME)  # NFS: it was not empty until the lock file was closed


class _Wait:
    """The wait of one commit for all of its locks: one deadline, and one word about each that takes long."""

    def __init__(self, site: str, timeout: Optional[float]) -> None:
        seconds, self._say = _patience[-1]
        self._site = site
        self._seconds = seconds if timeout is None else timeout
        self._begun = time.monotonic()
        self._told = ""

    def pause(self, who: str) -> None:
        """Wait a moment for `who`; StoreError when the time is over."""
        waited = time.monotonic() - self._begun
        if waited > self._seconds:
            raise BusyError(
                f"{self._site}: {who} is changing this directory, and has not ended in {self._seconds:g} seconds",
                "run this again when it has ended, or wait longer: --lock-timeout SECONDS",
            )
        if waited > _SILENCE and who != self._told:
            self._told = who
            self._say(f"{self._site}: {who} is changing this directory")
        time.sleep(_PAUSE)


def _acquire(site: Folder, wait: _Wait) -> Tuple[Folder, int]:
    while True:
        with _gone():  # removed by the one that finished, between two of our steps
            home = site.make(HOME)
            try:
                with naming(f"{home.path}/{_NAME}"):  # private: whoever can open a lock file can hold it
                    fd = os.open(_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=home.fd)
                try:
                    home.settle(fd)
                    if home.shared:
                        with suppress(PermissionError):  # whoever made it has done so
                            os.fchmod(fd, 0o660)
                    if _try(site, home, fd):
                        _settle(site, home)
                        return home, fd
                    who = _holder(os.fstat(fd)) or _noted(fd)
                except BaseException:
                    os.close(fd)  # an open file is a lock that is held, and this process may want it again
                    raise
                os.close(fd)
            except BaseException:
                home.close()
                raise
            home.close()
            wait.pause(f"another sitepatch ({who})")


@contextmanager
def _gone() -> Iterator[None]:
    """Pass over that a file or directory is not there any more: NFS says so with ESTALE of what was open already."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ESTALE):
            raise


def _settle(site: Folder, home: Folder) -> None:
    """As root, give a store that an earlier run as root left in somebody's site directory to that person."""
    owner = os.fstat(site.fd)
    if os.geteuid() or os.fstat(home.fd).st_uid or not owner.st_uid or owner.st_mode & stat.S_IWOTH:
        return
    for name in home.names():
        if stat.S_ISDIR(os.stat(name, dir_fd=home.fd, follow_symlinks=False).st_mode):
            with home.sub(name) as folder:
                for each in folder.names() if name != "pristine" else ():  # those belong to whom their files belong to
                    os.chown(each, owner.st_uid, owner.st_gid, dir_fd=folder.fd, follow_symlinks=False)
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=home.fd, follow_symlinks=False)
    os.fchown(home.fd, owner.st_uid, owner.st_gid)  # last: it says that all is done


def _try(site: Folder, home: Folder, fd: int) -> bool:
    """Tell whether the lock file could be locked and still has its name; then every look from now on sees what there is."""
    if not _flock(fd):
        return False
    look_again(site.path)
    look_again(home.path)
    if not os.path.samestat(os.fstat(fd), os.stat(_NAME, dir_fd=home.fd, follow_symlinks=False)):
        return False
    with suppress(OSError):  # only for messages, and must not stop a restore on a full disk
        note = os.open(_NAME, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, dir_fd=home.fd)
        try:
            os.write(note, os.fsencode(f"{os.getpid()} on {os.uname().nodename}\n"))
        finally:
            os.close(note)  # then another client of an NFS can read it
    return True


def _flock(fd: int) -> bool:
    """Lock an open file in both ways, until it is closed; False where somebody else has a lock on it."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    if sys.platform == "linux":
        try:
            fcntl.fcntl(fd, _F_OFD_SETLK, _whole_file())  # of the open file as the other, so that on NFS both are one
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                fcntl.flock(fd, fcntl.LOCK_UN)
                return False
    return True


def _whole_file() -> bytes:
    """A `struct flock` of Linux that asks for a write lock on all of a file."""
    import fcntl
    import struct

    return struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


# uv -------------------------------------------------------------------------------------------------------------------
@contextmanager
def _uv_kept_out(site: str, wait: _Wait) -> Iterator[None]:
    """Hold the locks that uv takes before it changes the packages of this directory."""
    with ExitStack() as held:
        for path in uv_locks(site):
            try:
                fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
            except PermissionError:  # flock(2) asks for no right to write, but where it is NFS
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            held.callback(os.close, fd)
            while not _flock(fd):
                wait.pause(f"uv ({_holder(os.fstat(fd)) or 'process unknown'})")
        yield


def uv_locks(site: str) -> List[str]:
    """The lock files of uv (0.13) for a site directory that are there: `.lock` of its venv, and of a `--target`.

    uv makes that file when it first changes an environment and never removes it. It is not made here: where uv has
    installed nothing yet, nothing new is left behind. For `--system` uv locks a file whose name only uv can work out.
    """
    directory = os.path.realpath(site)
    prefixes = [directory]
    for _ in range(4):  # PREFIX/lib/python3.11/site-packages
        directory = os.path.dirname(directory)
        if os.path.isfile(os.path.join(directory, "pyvenv.cfg")):
            prefixes.append(directory)
            break
    paths = [os.path.join(prefix, ".lock") for prefix in prefixes]
    return [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]  # uv makes no link


# who holds it ---------------------------------------------------------------------------------------------------------
def holders(site: str) -> List[str]:
    """Who holds a lock of this site directory right now, one text each; takes none itself.

    Raises:
        OSError: the kernel does not tell (there is no /proc/locks).
    """
    ours = os.path.join(site, HOME, _NAME)
    found = []
    for path in [ours] * os.path.isfile(ours) + uv_locks(site):
        who = _holder(os.stat(path), strict=True) or _elsewhere(path)
        found += [f"{path} is held by {who}"] if who else []
    return found


def _holder(info: os.stat_result, *, strict: bool = False) -> str:
    """Which process holds a flock(2) on a file, by /proc/locks; "" if none does or the kernel does not tell."""
    try:
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        if strict:
            raise
        return ""
    # `1: FLOCK  ADVISORY  WRITE 1234 fe:00:2695819 0 EOF`; one that waits has `->` in the second column. The device of
    # a file on btrfs or an overlay is another one than stat(2) tells, so its inode has to do where nothing fits better.
    rows = [row for row in rows if len(row) > 5 and row[1] == "FLOCK" and row[5].endswith(f":{info.st_ino}")]
    device = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}:{info.st_ino}"
    for row in sorted(rows, key=lambda row: row[5] != device)[:1]:
        return _process(row[4]) if int(row[4]) > 0 else "a process of another container"
    return ""


def _elsewhere(path: str) -> str:
    """Which process that /proc/locks does not tell of holds a lock on a file: one of another machine; "" where none does."""
    import fcntl
    import struct

    if sys.platform != "linux":
        return ""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            kind = struct.unpack(_FLOCK, fcntl.fcntl(fd, fcntl.F_GETLK, _whole_file()))[0]
            return f"another machine ({_noted(fd)})" if kind != fcntl.F_UNLCK else ""
        finally:
            os.close(fd)
    return ""


def _process(pid: str) -> str:
    with suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
        return f"process {pid}, {file.read().strip()}"
    return f"process {pid}"


def _noted(fd: int) -> str:
    """The process that wrote its number into our lock file; where the kernel does not tell better."""
    return f"process {os.read(fd, 100).decode('ascii', 'replace').strip() or 'unknown'}"
