"""Renames that lose nothing: two names change places, or a name is taken only while it is free."""

from __future__ import annotations

import errno
import os
import sys

# renameat2(2) of Linux, renameatx_np(2) of macOS
_ON_MAC = sys.platform == "darwin"
_AT_FDCWD = -2 if _ON_MAC else -100
_EXCHANGE = 2
_NO_REPLACE = 4 if _ON_MAC else 1
_UNKNOWN = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""What these calls answer where the system or the filesystem does not know them."""


def exchange(one: str, other: str, *, dir_fd: int = _AT_FDCWD) -> bool:
    """Let two files or directories of one filesystem change places in one step.

    Whoever looks finds one or the other under each name.

    Args:
        one: a path; a link itself is exchanged, not what it leads to.
        other: another path.
        dir_fd: the open directory that both are relative to; else the working directory.

    Returns:
        False where the system or the filesystem (NFS, say) cannot do that; nothing was changed
        then.

    Raises:
        FileNotFoundError: one of them is not there.
        OSError: it cannot be done here.
    """
    return _rename(one, other, flag=_EXCHANGE, dir_fd=dir_fd)


def rename_to_free(name: str, new: str, *, dir_fd: int = _AT_FDCWD) -> bool:
    """Rename a file to a name that nothing has.

    Args:
        name: a path; a link itself is renamed, not what it leads to.
        new: another path.
        dir_fd: the open directory that both are relative to; else the working directory.

    Returns:
        False where the system or the filesystem cannot do that; nothing was changed then.

    Raises:
        FileExistsError: something has that name.
        OSError: it cannot be done here.
    """
    return _rename(name, new, flag=_NO_REPLACE, dir_fd=dir_fd)


def _rename(name: str, new: str, flag: int, dir_fd: int) -> bool:
    import ctypes  # half a start: only where a file takes the place of another

    libc = ctypes.CDLL(None, use_errno=True)
    try:
        call = libc.renameatx_np if _ON_MAC else libc.renameat2
    except AttributeError:  # an older C library
        return False
    failed = call(dir_fd, os.fsencode(name), dir_fd, os.fsencode(new), flag)
    number = ctypes.get_errno()
    if failed and number not in _UNKNOWN:
        raise OSError(number, os.strerror(number), new)
    return not failed
