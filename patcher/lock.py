"""One writer at a time: the lock of a site directory, `.sitepatch/lock`, held with flock(2)."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from typing import Iterator, Tuple

from patcher.errors import StoreError
from patcher.folder import Folder
from patcher.receipt import HOME

_NAME = "lock"
_PAUSE = 0.02  # seconds between two tries


@contextmanager
def locked(site: Folder, timeout: float) -> Iterator[Folder]:
    """Yield `.sitepatch` of `site`, made if needed, while no other process is writing.

    The kernel lets go of the lock when its holder dies. If at the end nothing but the lock file is left, the file and
    its folder are removed while still locked; whoever was waiting for that file sees that it has lost its name.

    Raises:
        StoreError: another process held the lock for `timeout` seconds; names the process.
    """
    home, fd = _acquire(site, time.monotonic() + timeout)
    try:
        with home:
            try:
                yield home
            finally:
                if home.names() == [_NAME]:
                    home.remove(_NAME)
                    site.remove_folder(HOME)
    finally:
        os.close(fd)


def _acquire(site: Folder, deadline: float) -> Tuple[Folder, int]:
    while True:
        with suppress(FileNotFoundError):  # removed by the one that finished, between two of our steps
            home = site.make(HOME)
            try:
                fd = os.open(_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644, dir_fd=home.fd)
                if _try(fd):
                    return home, fd
                holder = os.read(fd, 20).decode("ascii", "replace").strip() or "unknown"
                os.close(fd)
            except BaseException:
                home.close()
                raise
            home.close()
            if time.monotonic() > deadline:
                raise StoreError(
                    f"{site.path}: another sitepatch (process {holder}) is changing this directory",
                    "wait until it has ended, then run this again",
                )
            time.sleep(_PAUSE)


def _try(fd: int) -> bool:
    """Tell whether the lock file could be locked and still has its name."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    if not os.fstat(fd).st_nlink:
        return False
    with suppress(OSError):  # only for the message above, and must not stop a restore on a full disk
        os.ftruncate(fd, 0)
        os.write(fd, b"%d\n" % os.getpid())
    return True
