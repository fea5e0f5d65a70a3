"""Who may write to a file: its owner, and others by its mode or its access control list.

A list (acl(5)) names users and groups beside the owner and the group of the file. Where there is
one, the group bits of the mode are its mask: the most that any of these may do, and nothing that
the group has by itself.
"""

from __future__ import annotations

import os
import stat
import struct
import sys

from patcher.record import Record

ACCESS = "system.posix_acl_access"
"""The extended attribute that holds the list of a file."""
_DEFAULT = "system.posix_acl_default"
"""That of a directory, with the list that whatever is made in it gets."""

# <linux/posix_acl.h>, <linux/posix_acl_xattr.h>: a version, then a tag, permissions and an id for
# each entry
_HEAD = struct.Struct("<I")
_ENTRY = struct.Struct("<HHI")
_USER, _OWN_GROUP, _GROUP, _MASK = 0x02, 0x04, 0x08, 0x10
_WRITE = 0x02


class Access(Record):
    """Who may write to a file.

    The user `uid` may; `group` says whether the group `gid` may, `everybody` whether all may.
    `users` and `groups` are those that a list names besides.
    """

    uid: int
    gid: int
    group: bool
    everybody: bool
    users: frozenset[int] = frozenset()
    groups: frozenset[int] = frozenset()


def access_of(file: int | str, info: os.stat_result | None = None) -> Access:
    """Who may write to an open file, or to what has a path; a link is not followed.

    Raises:
        OSError: there is no such file.
    """
    if info is None:
        info = os.fstat(file) if isinstance(file, int) else os.lstat(file)
    return access(info.st_uid, info.st_gid, info.st_mode, _attribute(file, ACCESS))


def access(uid: int, gid: int, mode: int, acl: bytes) -> Access:
    """Who may write to a file.

    Args:
        uid: its owner.
        gid: its group.
        mode: its mode.
        acl: the bytes of its list; b"" if it has none.
    """
    everybody = bool(mode & stat.S_IWOTH)
    if not acl:
        return Access(uid, gid, group=bool(mode & stat.S_IWGRP), everybody=everybody)

    entries = list(_ENTRY.iter_unpack(acl[_HEAD.size :]))
    mask = _WRITE
    for tag, permissions, _ in entries:
        if tag == _MASK:
            mask = permissions
    writers: dict[int, set[int]] = {_USER: set(), _OWN_GROUP: set(), _GROUP: set()}
    for tag, permissions, number in entries:
        if tag in writers and permissions & mask & _WRITE:
            writers[tag].add(number)
    return Access(
        uid,
        gid,
        group=bool(writers[_OWN_GROUP]),
        everybody=everybody,
        users=frozenset(writers[_USER]),
        groups=frozenset(writers[_GROUP]),
    )


def is_inherited(folder: int) -> bool:
    """Whether what is made in an open directory gets a list."""
    return bool(_attribute(folder, _DEFAULT))


def _attribute(file: int | str, name: str) -> bytes:
    """An extended attribute; b"" if there is none, or the filesystem has no such thing."""
    if sys.platform != "linux":
        return b""
    try:
        return os.getxattr(file, name, follow_symlinks=isinstance(file, int))
    except OSError:
        return b""
