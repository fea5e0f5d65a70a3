"""Two names of a filesystem change places in one step: whoever looks finds one or the other."""

from __future__ import annotations

import ctypes
import errno
import os
import sys

# renameat2(2) of Linux
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2  # renamex_np(2) of macOS
_UNKNOWN = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""What these calls answer where the system or the filesystem does not know them."""


def exchange(one: str, other: str) -> bool:
    """Exchange two files or directories of one filesystem.

    Args:
        one: a path; a link itself is exchanged, not what it leads to.
        other: another path.

    Returns:
        False where the system or the filesystem (NFS, say) cannot do that; nothing was changed
        then.

    Raises:
        OSError: it cannot be done here.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "darwin":
            failed = libc.renamex_np(first, second, _RENAME_SWAP)
        else:
            failed = libc.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE)
    except AttributeError:  # an older C library
        return False
    number = ctypes.get_errno()
    if failed and number not in _UNKNOWN:
        raise OSError(number, os.strerror(number), other)
    return not failed
