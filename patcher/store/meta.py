"""What a file carries besides its bytes, and how a new file is given exactly that."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from typing import Dict, List, NamedTuple, Optional, Tuple


class Meta(NamedTuple):
    """What a file carries besides its bytes: permission bits, owner, mtime in nanoseconds, extended attributes."""

    mode: int = 0o644
    uid: int = -1
    gid: int = -1
    mtime_ns: Optional[int] = None
    xattrs: Tuple[Tuple[str, bytes], ...] = ()

    @classmethod
    def of(cls, info: os.stat_result) -> Meta:
        """The metadata that stat(2) returns."""
        return cls(stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid, info.st_mtime_ns)


def read_xattrs(fd: int) -> Tuple[Tuple[str, bytes], ...]:
    """Return the extended attributes of an open file, those that this user may read; an ACL is one of them."""
    found: List[Tuple[str, bytes]] = []
    if sys.platform == "linux":
        names: List[str] = []
        with suppress(OSError):  # a filesystem without them
            names = os.listxattr(fd)
        for name in names:
            with suppress(OSError):
                found.append((name, os.getxattr(fd, name)))
    return tuple(found)


def set_xattrs(fd: int, xattrs: Tuple[Tuple[str, bytes], ...]) -> None:
    """Give a new file exactly these attributes: what it has from the default ACL of its directory goes."""
    if sys.platform == "linux":
        requested: Dict[str, Optional[bytes]] = {name: None for name, _ in read_xattrs(fd)}
        requested.update(xattrs)
        for name, value in requested.items():
            try:
                if value is None:
                    os.removexattr(fd, name)
                else:
                    os.setxattr(fd, name, value)
            except OSError as error:  # the same ones shutil.copystat passes over: not ours to set, or not supported
                if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENODATA, errno.EINVAL, errno.EACCES):
                    raise


def group_bits(folder: int) -> int:
    """The mode bits of an open directory that let a group write there; 0 where nobody else may, or everybody."""
    mode = os.fstat(folder).st_mode
    return mode & (stat.S_IWGRP | stat.S_ISGID) if mode & 0o022 == stat.S_IWGRP else 0


def set_owner(fd: int, folder: int) -> None:
    """Give what was made in a folder of a store to the owner of that folder (as root can), or to the group that shares it."""
    here, info = os.fstat(folder), os.fstat(fd)
    if here.st_mode & stat.S_IWOTH:
        return
    uid = info.st_uid if os.geteuid() else here.st_uid
    gid = here.st_gid if group_bits(folder) or uid != info.st_uid else info.st_gid
    with suppress(PermissionError):  # who is no member of that group works alone
        if (uid, gid) != (info.st_uid, info.st_gid):
            os.fchown(fd, uid, gid)


def source_date() -> Optional[int]:
    """SOURCE_DATE_EPOCH (Unix, seconds): the mtime of what is written; None where it is not set, or no such number.

    See https://reproducible-builds.org/specs/source-date-epoch/.
    """
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 11 else None


def date(fd: int) -> None:
    """Give an open file or directory the mtime of SOURCE_DATE_EPOCH where that is set."""
    when = source_date()
    if when is not None:
        with suppress(PermissionError):  # a directory of somebody else
            os.utime(fd, (when, when))


def stamp(fd: int, meta: Meta) -> None:
    """Set the permission bits and the mtime of an open file, and wait until it is on the disk."""
    os.fchmod(fd, meta.mode)
    if meta.mtime_ns is not None:
        os.utime(fd, ns=(meta.mtime_ns, meta.mtime_ns))
    else:
        date(fd)
    os.fsync(fd)


def mount(fd: int) -> bytes:
    """The mount that an open file was reached through, b"" where the kernel does not tell (proc(5), `mnt_id`)."""
    with suppress(OSError), open(f"/proc/self/fdinfo/{fd}", "rb") as file:  # noqa: PTH123  (pathlib is slow to import)
        return next((line for line in file if line.startswith(b"mnt_id:")), b"")
    return b""
