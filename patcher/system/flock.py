"""Locks of flock(2) on open files and directories, and which process has one.

The kernel drops such a lock when the last descriptor of the open file is closed, also when its processes are killed.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress

from patcher.message import Message

_F_OFD_SETLK = 37  # fcntl(2) of Linux; Python knows the number since 3.9


def take_flock(fd: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file or directory.

    Args:
        fd: its descriptor.
        shared: excludes only those who do not share the lock.
        wait: until the lock is free.

    Returns:
        False where it is not free; True with `wait`.

    Raises:
        OSError: a filesystem without locks.
    """
    import fcntl  # a shared library that `status` does without

    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(fd, kind if wait else kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_with_server(fd: int) -> bool:
    """Lock an open file, for the processes of an NFS server too; False where the lock is not free.

    There a flock(2) excludes other clients only, and the server makes a lock of fcntl(2) of it. So both are taken.

    Raises:
        OSError: a filesystem without locks.
    """
    import fcntl

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
    """A `struct flock` of Linux that requests a write lock on all of a file: type, whence, start, length, process."""
    import fcntl
    import struct

    return struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


def has_fcntl_lock(fd: int) -> bool:
    """Whether an open file has a lock of fcntl(2), as one of another machine shows on NFS; False where that is not known."""
    import fcntl

    if sys.platform != "linux":
        return False
    with suppress(OSError):
        lock = fcntl.fcntl(fd, fcntl.F_GETLK, _whole_file())
        return int.from_bytes(lock[:2], sys.byteorder) != fcntl.F_UNLCK
    return False


def holder(info: os.stat_result, *, strict: bool = False) -> str:
    """The process that has a flock(2) on a file, as a message names it; "" if none does or the kernel does not tell.

    Raises:
        OSError: with `strict`, where the kernel does not tell (there is no /proc/locks).
    """
    try:
        with open("/proc/locks", encoding="utf-8") as file:
            rows = [line.split() for line in file]
    except OSError:
        if strict:
            raise
        return ""
    # `1: FLOCK  ADVISORY  WRITE 1234 fe:00:2695819 0 EOF`; one that waits has `->` in the second column. The device of
    # a file on btrfs or an overlay is another one than stat(2) returns, so its inode has to do where nothing fits better.
    rows = [
        row
        for row in rows
        if len(row) > 5 and row[1] == "FLOCK" and row[5].endswith(f":{info.st_ino}")
    ]
    device = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}:{info.st_ino}"
    for row in sorted(rows, key=lambda row: row[5] != device)[:1]:
        return _process(row[4]) if int(row[4]) > 0 else Message("a process of another container")
    return ""


def _process(pid: str) -> str:
    with suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
        return Message("process {pid}, {read_read}", pid=pid, read_read=file.read().strip())
    return Message("process {pid}", pid=pid)
