"""One writer at a time: the lock of a site directory, `.sitepatch/lock`, and uv's own.

How they are taken, `patcher.system.flock` says.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Iterator

from patcher.errors import BusyError
from patcher.message import Message
from patcher.store import patience_now
from patcher.store.folder import HOME, Folder, date, group_bits, naming, set_owner, source_date
from patcher.system.flock import Holder, has_fcntl_lock, holder, lock_with_server
from patcher.system.reading import look_again

_NAME = "lock"
_OPEN = ".nfs"  # how NFS names a removed file as long as this machine has it open
_PAUSE = 0.02  # seconds between two attempts
_SILENCE = 1.0  # seconds after which it is reported what is waited for


@contextmanager
def locked(site: Folder) -> Iterator[Folder]:
    """Yield `.sitepatch` of an open site directory, made if needed, while nobody else is writing.

    No sitepatch and no uv. What another machine has written before is seen inside, on a network
    filesystem too. If at the end nothing but the lock file is left, the file and its folder are
    removed while still locked; a process that waits for that file sees that it has lost its name.

    Raises:
        BusyError: another process had a lock for longer than `patience` allows; names the process.
    """
    wait = _Wait(site.path)
    with ExitStack() as stack:
        stack.callback(_remove_home, site)  # NFS: it is not empty until the lock file is closed
        home, fd = _acquire(site, wait, stack)
        try:
            with _uv_kept_out(site.path, wait):
                yield home
        finally:
            # the next one removes what cannot be removed now, and the work is done
            with suppress(OSError):
                _leave(site, home, fd)


def _leave(site: Folder, home: Folder, fd: int) -> None:
    """Remove the lock file, and `.sitepatch`, if nothing else is left there."""
    names = [name for name in home.names() if not name.startswith(_OPEN)]
    if names == [_NAME]:
        home.remove(_NAME)
        site.remove_folder(HOME)
        date(site.fd)
    elif source_date() is not None:
        os.ftruncate(fd, 0)  # the number of a process is another one each time
        date(fd)


def _remove_home(site: Folder) -> None:
    """Remove `.sitepatch` if it is empty: its lock file could not be made, say."""
    with suppress(OSError):
        site.remove_folder(HOME)


class _Wait:
    """The wait of one commit for all of its locks.

    There is one deadline, and one message about each process that is waited for.
    """

    def __init__(self, site: str) -> None:
        self._seconds, self._report = patience_now()
        self._site = site
        self._start = time.monotonic()
        self._reported: set[str] = set()

    def pause(self, who: str, pid: int) -> None:
        """Wait a moment for a process.

        Args:
            who: the process as a message names it.
            pid: its number; 0 where it is not known.

        Raises:
            BusyError: the time is over, or that process waits for this one.
        """
        seconds = time.monotonic() - self._start
        if pid in _ancestors():
            raise BusyError(
                "{site}: {who}, which has started this process, is changing this directory",
                "run this again when it has ended",
                site=self._site,
                who=who,
            )
        if seconds > self._seconds:
            raise BusyError(
                "{site}: {who} is changing this directory, "
                "and has not ended in {seconds:g} seconds",
                "run this again when it has ended, or wait longer: SITEPATCH_LOCK_TIMEOUT=SECONDS",
                site=self._site,
                who=who,
                seconds=self._seconds,
            )
        if seconds > _SILENCE and who not in self._reported:
            self._reported.add(who)
            template = "{site}: {who} is changing this directory"
            self._report(Message(template, site=self._site, who=who))
        time.sleep(_PAUSE)


def _ancestors() -> Iterator[int]:
    """The numbers of the processes that started this one (proc(5), `stat`), if the kernel tells."""
    pid = os.getppid()
    with suppress(OSError):
        while pid > 1:
            yield pid
            fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2]
            pid = int(fields.split()[1])


def _acquire(site: Folder, wait: _Wait, stack: ExitStack) -> tuple[Folder, int]:
    """Wait for the lock.

    Returns:
        `.sitepatch` and the descriptor of the lock file, both open until `stack` closes them.
    """
    while True:
        # the process that finished may remove them between two of our steps
        with _gone(), ExitStack() as opened:
            home = opened.enter_context(site.make(HOME))
            fd = _open_lock(home)
            opened.callback(os.close, fd)
            if _is_taken(site, home, fd):
                _give_to_owner(site, home)
                stack.push(opened.pop_all())
                return home, fd
            found = holder(os.fstat(fd)) or Holder(0, _noted(fd))
            opened.close()  # an open file stays locked, and this process may need the lock again
            wait.pause(Message("another sitepatch ({who})", who=found.name), pid=found.pid)


def _open_lock(home: Folder) -> int:
    """Open the lock file, made if needed: private, since whoever can open it can lock it."""
    with naming(f"{home.path}/{_NAME}"):
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        fd = os.open(_NAME, flags, mode=0o600, dir_fd=home.fd)
    try:
        set_owner(fd, home.fd)
        if group_bits(home.fd):
            with suppress(PermissionError):  # its owner has done so
                os.fchmod(fd, 0o660)
    except BaseException:
        os.close(fd)
        raise
    return fd


@contextmanager
def _gone() -> Iterator[None]:
    """Ignore that a file or directory is gone (ESTALE on NFS, if it was open)."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ESTALE):
            raise


def _give_to_owner(site: Folder, home: Folder) -> None:
    """As root, give a store that root left in the site directory of another user to that user."""
    owner = os.fstat(site.fd)
    if os.geteuid() or os.fstat(home.fd).st_uid or not owner.st_uid or owner.st_mode & stat.S_IWOTH:
        return
    for name in home.names():
        is_folder = stat.S_ISDIR(os.stat(name, dir_fd=home.fd, follow_symlinks=False).st_mode)
        # a pristine copy has the owner of its file
        if is_folder and name != "pristine":
            with home.sub(name) as folder:
                for file_name in folder.names():
                    _give(folder, file_name, owner)
        _give(home, name, owner)
    os.fchown(home.fd, owner.st_uid, owner.st_gid)  # last: this marks it as done


def _give(folder: Folder, name: str, owner: os.stat_result) -> None:
    os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder.fd, follow_symlinks=False)


def _is_taken(site: Folder, home: Folder, fd: int) -> bool:
    """Whether the lock file could be locked and still has its name.

    What is read from then on is what is on the disk.
    """
    if not lock_with_server(fd):
        return False
    look_again(site.path)
    look_again(home.path)
    if not os.path.samestat(os.fstat(fd), os.stat(_NAME, dir_fd=home.fd, follow_symlinks=False)):
        return False
    with suppress(OSError):  # only for messages, and must not stop a restore on a full disk
        note = os.open(_NAME, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, dir_fd=home.fd)
        try:
            os.write(note, b"%d on %s\n" % (os.getpid(), os.fsencode(os.uname().nodename)))
        finally:
            os.close(note)  # then another client of an NFS can read it
    return True


# uv --------------------------------------------------------------------------------------------
@contextmanager
def _uv_kept_out(site: str, wait: _Wait) -> Iterator[None]:
    """Take the locks that uv takes before it changes the packages of this directory."""
    with ExitStack() as stack:
        for path in uv_locks(site):
            try:
                fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
            except PermissionError:  # flock(2) needs no right to write, except on NFS
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            stack.callback(os.close, fd)
            while not lock_with_server(fd):
                found = holder(os.fstat(fd)) or Holder(0, Message("process unknown"))
                wait.pause(Message("uv ({who})", who=found.name), pid=found.pid)
        yield


def uv_locks(site: str) -> list[str]:
    """The lock files of uv (0.13) for a site directory: `.lock` of its venv, and of a `--target`.

    uv makes that file when it first changes an environment and never removes it. We make none:
    where uv has installed nothing yet, nothing new is left behind. For `--system` uv locks a file
    whose name only uv can work out.
    """
    directory = Path(site).resolve()
    prefixes = [directory]
    for prefix in list(directory.parents)[:4]:  # PREFIX/lib/python3.11/site-packages
        if (prefix / "pyvenv.cfg").is_file():
            prefixes.append(prefix)
            break
    locks: list[str] = []
    for prefix in prefixes:
        path = prefix / ".lock"
        if path.is_file() and not path.is_symlink():  # uv makes no link
            locks.append(str(path))
    return locks


# who has it ------------------------------------------------------------------------------------
def holders(site: str) -> list[str]:
    """The processes that have a lock of this site directory right now, a sentence each.

    It takes no lock itself.

    Raises:
        OSError: the kernel does not tell (there is no /proc/locks).
    """
    locks = uv_locks(site)
    ours = Path(site, HOME, _NAME)
    if ours.is_file():
        locks.insert(0, str(ours))
    sentences: list[str] = []
    for path in locks:
        found = holder(Path(path).stat(), strict=True)
        who = found.name if found else _other_machine(path)
        if who:
            sentences.append(Message("{path} is held by {who}", path=path, who=who))
    return sentences


def _other_machine(path: str) -> str:
    """The process of another machine that has our lock file locked; empty if there is none.

    /proc/locks does not list it.
    """
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            if has_fcntl_lock(fd):
                return Message("another machine ({note})", note=_noted(fd))
        finally:
            os.close(fd)
    return ""


def _noted(fd: int) -> str:
    """The process that wrote its number into our lock file, if the kernel does not list it."""
    note = os.read(fd, 100).decode("ascii", "replace").strip()
    return Message("process {number}", number=note or Message("unknown"))
