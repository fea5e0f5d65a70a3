"""Writes to the path that a user names.

A regular file appears complete or not at all; anything else, as a device or a FIFO, stays what it
is.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Iterator

_STREAMS = ("/dev/fd/", "/dev/std", "/proc/")
"""Names that begin so stand for what is open already, as /dev/stdout; the file keeps its inode.

A directory such as /dev/shm is one like any other.
"""


@contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write; its directory is made if it is missing.

    A link is followed. A device or a FIFO is opened and written. A regular file is written beside
    its place and renamed to it at the end, with the mode (and, for root, the owner) of the one that
    it replaces; after an exception it is as before.

    Args:
        path: where the user wants it.

    Raises:
        OSError: it cannot be written there.
    """
    name = Path(os.path.normpath(Path.cwd() / path))  # links stay, they may stand for a stream
    try:
        before = name.stat()
    except FileNotFoundError:
        before = None
    if str(name).startswith(_STREAMS) or (before and not stat.S_ISREG(before.st_mode)):
        with name.open("wb") as file:
            yield file
        return

    place = name.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{place.name[:100]}.{os.urandom(8).hex()}.part")
    fd = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            yield file
            file.flush()
            os.fsync(fd)
            _give(fd, before)
        part.replace(place)
    except BaseException:
        with suppress(FileNotFoundError):
            part.unlink()
        raise


def _give(fd: int, before: os.stat_result | None) -> None:
    """Give a new file the mode, and for root the owner, of the one that it replaces."""
    if before is None:
        os.fchmod(fd, 0o666 & ~_umask())
        return
    os.fchmod(fd, stat.S_IMODE(before.st_mode))
    if os.geteuid() == 0:
        os.fchown(fd, before.st_uid, before.st_gid)


def write_output(path: str | os.PathLike[str], data: bytes) -> None:
    """Write these bytes as the file that a user names (see `open_output`)."""
    try:
        with open_output(path) as file:
            file.write(data)
    except OSError as error:
        error.filename = error.filename or os.fspath(path)  # a full disk names no file
        raise


def _umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask
