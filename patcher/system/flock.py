"""Locks of flock(2) on open files and directories, and which process has one.

The kernel drops such a lock when the last descriptor of the open file is closed, also when its
processes are killed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from contextlib import suppress
from pathlib import Path

from patcher.message import Message
from patcher.record import Record

_F_OFD_SETLK = 37  # fcntl(2) of Linux; Python knows the number since 3.9
_PROC = Path("/proc")


def take_flock(fd: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file or directory.

    Args:
        fd: its descriptor.
        shared: exclude only those who do not share the lock.
        wait: wait until the lock is free.

    Returns:
        False if it is not free; True with `wait`.

    Raises:
        OSError: the filesystem has no locks.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    if not wait:
        kind |= fcntl.LOCK_NB
    try:
        fcntl.flock(fd, kind)
    except BlockingIOError:
        return False
    return True


def lock_with_server(fd: int) -> bool:
    """Lock an open file against the processes of an NFS server, too; False if it is not free.

    There a flock(2) excludes other clients only, and the server makes a lock of fcntl(2) of it. So
    both are taken.

    Raises:
        OSError: the filesystem has no locks.
    """
    if not take_flock(fd):
        return False
    if sys.platform == "linux":
        try:
            # of the open file as the other, so that on NFS both are one
            fcntl.fcntl(fd, _F_OFD_SETLK, _whole_file())
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                fcntl.flock(fd, fcntl.LOCK_UN)
                return False
    return True


def _whole_file() -> bytes:
    """A `struct flock` of Linux that requests a write lock on all of a file.

    Its fields are type, whence, start, length and process.
    """
    return struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


def has_fcntl_lock(fd: int) -> bool:
    """Whether an open file has a lock of fcntl(2); False where that is not known.

    On NFS a lock of another machine shows as one.
    """
    if sys.platform != "linux":
        return False
    with suppress(OSError):
        lock = fcntl.fcntl(fd, fcntl.F_GETLK, _whole_file())
        return int.from_bytes(lock[:2], sys.byteorder) != fcntl.F_UNLCK
    return False


class Holder(Record):
    """A process that has a lock: its number in this container (0 in another one), and its name."""

    pid: int
    name: str
    """As a message names it."""


def holder(info: os.stat_result, *, strict: bool = False) -> Holder | None:
    """The process that has a flock(2) on a file.

    Args:
        info: of the file.
        strict: raise an error if the kernel does not tell.

    Returns:
        None if no process has one, or the kernel does not tell.

    Raises:
        OSError: with `strict`, there is no /proc/locks.
    """
    try:
        table = (_PROC / "locks").read_text("utf-8")
    except OSError:
        if strict:
            raise
        return None

    pids: dict[str, str] = {}
    for line in table.splitlines():
        # `1: FLOCK  ADVISORY  WRITE 1234 fe:00:2695819 0 EOF`; one that waits has `->` in the
        # second column
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK":
            pids.setdefault(fields[5], fields[4])
    device = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}"
    pid = pids.get(f"{device}:{info.st_ino}", "")
    if not pid:
        # the device of a file on btrfs or an overlay is another one than stat(2) returns: the inode
        # alone has to do
        same = [of for file, of in pids.items() if file.endswith(f":{info.st_ino}")]
        pid = same[0] if same else ""
    return _process(int(pid)) if pid else None


def _process(pid: int) -> Holder:
    """The process that the kernel lists with this number."""
    if pid <= 0:
        return Holder(0, Message("a process of another container"))
    with suppress(OSError):
        name = (_PROC / str(pid) / "comm").read_text("utf-8", "replace").strip()
        return Holder(pid, Message("process {pid}, {name}", pid=pid, name=name))
    return Holder(pid, Message("process {pid}", pid=pid))
