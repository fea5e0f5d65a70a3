"""Two names of a filesystem change places in one step, so that whoever looks finds the one or the other and never neither."""

from __future__ import annotations

import errno
import os
import sys

_AT_CWD, _EXCHANGE, _SWAP = (
    -100,
    2,
    2,
)  # AT_FDCWD, RENAME_EXCHANGE of renameat2(2); RENAME_SWAP of renamex_np(2)
_UNKNOWN = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


def exchange(one: str, other: str) -> bool:
    """Exchange two files or directories of one filesystem.

    Args:
        one: a path; a link is exchanged itself.
        other: another path.

    Returns:
        False where the system or the filesystem (NFS, say) has no such call; nothing was changed then.

    Raises:
        OSError: it cannot be done here.
    """
    import ctypes  # few commands exchange anything

    libc = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "darwin":
            failed = libc.renamex_np(first, second, _SWAP)
        else:
            failed = libc.renameat2(_AT_CWD, first, _AT_CWD, second, _EXCHANGE)
    except AttributeError:  # an older C library
        return False
    number = ctypes.get_errno()
    if failed and number not in _UNKNOWN:
        raise OSError(number, os.strerror(number), other)
    return not failed
