"""One writer at a time: the lock of a site directory, `.sitepatch/lock`, and uv's own (see `patcher.system.flock`)."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import Iterator

from patcher.errors import BusyError
from patcher.message import Message
from patcher.store import patience_now
from patcher.store.folder import HOME, Folder, date, group_bits, naming, set_owner, source_date
from patcher.system.flock import has_fcntl_lock, holder, lock_with_server
from patcher.system.reading import look_again

_NAME = "lock"
_OPEN = ".nfs"  # so begins what NFS makes of the name of a removed file as long as this machine has it open
_PAUSE = 0.02  # seconds between two tries
_SILENCE = 1.0  # seconds after which it is reported what is waited for


@contextmanager
def locked(site: Folder) -> Iterator[Folder]:
    """Yield `.sitepatch` of an open site directory, made if needed, while no other process is writing: no sitepatch and no uv.

    What another machine has written before is seen inside, on a network filesystem too. If at the end nothing but the lock
    file is left, the file and its folder are removed while still locked; a process that waits for that file sees that it has
    lost its name.

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
                if [name for name in home.names() if not name.startswith(_OPEN)] == [_NAME]:
                    home.remove(_NAME)
                    site.remove_folder(HOME)
                    date(site.fd)
                elif source_date() is not None:
                    os.ftruncate(fd, 0)  # the number of a process is another one each time
                    date(fd)


def _remove_home(site: Folder) -> None:
    """Remove `.sitepatch` where it is empty: made just now by who could not make the lock file, say."""
    with suppress(OSError):
        site.remove_folder(HOME)


class _Wait:
    """The wait of one commit for all of its locks: one deadline, and one message about each process that is waited for."""

    def __init__(self, site: str) -> None:
        self._seconds, self._report = patience_now()
        self._site = site
        self._begun = time.monotonic()
        self._reported = ""

    def pause(self, who: str) -> None:
        """Wait a moment for `who`; BusyError when the time is over."""
        waited = time.monotonic() - self._begun
        if any(who.startswith(f"another sitepatch (process {pid},") for pid in _ancestors()):
            raise BusyError(
                "{site}: {who}, which has started this process, is changing this directory",
                Message("run this again when it has ended"),
                site=self._site,
                who=who,
            )
        if waited > self._seconds:
            raise BusyError(
                "{site}: {who} is changing this directory, and has not ended in {seconds:g} seconds",
                Message(
                    "run this again when it has ended, or wait longer: SITEPATCH_LOCK_TIMEOUT=SECONDS"
                ),
                site=self._site,
                who=who,
                seconds=self._seconds,
            )
        if waited > _SILENCE and who != self._reported:
            self._reported = who
            self._report(
                Message("{site}: {who} is changing this directory", site=self._site, who=who)
            )
        time.sleep(_PAUSE)


def _ancestors() -> Iterator[str]:
    """The numbers of the processes that led to this one (proc(5), `stat`); none where the kernel does not tell."""
    pid = str(os.getppid())
    with suppress(OSError):
        while pid not in ("0", "1"):
            yield pid
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                pid = file.read().rpartition(")")[2].split()[1]


def _acquire(site: Folder, wait: _Wait, stack: ExitStack) -> tuple[Folder, int]:
    """Wait for the lock; returns `.sitepatch` and the descriptor of the lock file, both open until `stack` closes them."""
    while True:
        with _gone(), ExitStack() as opened:  # removed by the process that finished, between two of our steps
            home = opened.enter_context(site.make(HOME))
            # private: whoever can open a lock file can lock it
            with naming(f"{home.path}/{_NAME}"):
                fd = os.open(_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=home.fd)
            opened.callback(os.close, fd)
            set_owner(fd, home.fd)
            if group_bits(home.fd):
                with suppress(PermissionError):  # its owner has done so
                    os.fchmod(fd, 0o660)
            if _try(site, home, fd):
                _give_to_owner(site, home)
                stack.push(opened.pop_all())
                return home, fd
            who = holder(os.fstat(fd)) or _noted(fd)
            opened.close()  # an open file stays locked, and this process may need the lock again
            wait.pause(Message("another sitepatch ({who})", who=who))


@contextmanager
def _gone() -> Iterator[None]:
    """Ignore that a file or directory is not there any more; on NFS the error is ESTALE where it was open already."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ESTALE):
            raise


def _give_to_owner(site: Folder, home: Folder) -> None:
    """As root, give a store that an earlier run as root left in the site directory of another user to that user."""
    owner = os.fstat(site.fd)
    if os.geteuid() or os.fstat(home.fd).st_uid or not owner.st_uid or owner.st_mode & stat.S_IWOTH:
        return
    for name in home.names():
        if stat.S_ISDIR(os.stat(name, dir_fd=home.fd, follow_symlinks=False).st_mode):
            with home.sub(name) as folder:
                # a pristine copy has the owner of its file
                for file_name in folder.names() if name != "pristine" else ():
                    os.chown(
                        file_name,
                        owner.st_uid,
                        owner.st_gid,
                        dir_fd=folder.fd,
                        follow_symlinks=False,
                    )
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=home.fd, follow_symlinks=False)
    os.fchown(home.fd, owner.st_uid, owner.st_gid)  # last: this marks it as done


def _try(site: Folder, home: Folder, fd: int) -> bool:
    """Whether the lock file could be locked and still has its name; what is read from then on is what is on the disk."""
    if not lock_with_server(fd):
        return False
    look_again(site.path)
    look_again(home.path)
    if not os.path.samestat(os.fstat(fd), os.stat(_NAME, dir_fd=home.fd, follow_symlinks=False)):
        return False
    with suppress(OSError):  # only for messages, and must not stop a restore on a full disk
        note = os.open(_NAME, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, dir_fd=home.fd)
        try:
            os.write(
                note,
                os.fsencode(
                    Message("{pid} on {host}\n", pid=os.getpid(), host=os.uname().nodename)
                ),
            )
        finally:
            os.close(note)  # then another client of an NFS can read it
    return True


# uv -------------------------------------------------------------------------------------------------------------------
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
                wait.pause(
                    Message(
                        "uv ({holder})", holder=holder(os.fstat(fd)) or Message("process unknown")
                    )
                )
        yield


def uv_locks(site: str) -> list[str]:
    """The lock files of uv (0.13) for a site directory that are there: `.lock` of its venv, and of a `--target`.

    uv makes that file when it first changes an environment and never removes it. We make none: where uv has installed
    nothing yet, nothing new is left behind. For `--system` uv locks a file whose name only uv can work out.
    """
    directory = os.path.realpath(site)
    prefixes = [directory]
    for _ in range(4):  # PREFIX/lib/python3.11/site-packages
        directory = os.path.dirname(directory)
        if os.path.isfile(os.path.join(directory, "pyvenv.cfg")):
            prefixes.append(directory)
            break
    paths = [os.path.join(prefix, ".lock") for prefix in prefixes]
    # uv makes no link
    return [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]


# who has it ------------------------------------------------------------------------------------------------------------
def holders(site: str) -> list[str]:
    """The processes that have a lock of this site directory right now, a sentence each; takes no lock itself.

    Raises:
        OSError: the kernel does not tell (there is no /proc/locks).
    """
    ours = os.path.join(site, HOME, _NAME)
    sentences: list[str] = []
    for path in [ours] * os.path.isfile(ours) + uv_locks(site):
        who = holder(os.stat(path), strict=True) or _other_machine(path)
        sentences += [Message("{path} is held by {who}", path=path, who=who)] if who else []
    return sentences


def _other_machine(path: str) -> str:
    """The process of another machine that has our lock file locked, which /proc/locks does not list; "" for none."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return (
                Message("another machine ({note})", note=_noted(fd)) if has_fcntl_lock(fd) else ""
            )
        finally:
            os.close(fd)
    return ""


def _noted(fd: int) -> str:
    """The process that wrote its number into our lock file, for where the kernel does not list it."""
    return Message(
        "process {number}",
        number=os.read(fd, 100).decode("ascii", "replace").strip() or Message("unknown"),
    )
