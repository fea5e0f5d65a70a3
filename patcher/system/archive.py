"""Zip archives from elsewhere.

What is wrong with one is a SitepatchError, and no file that is read from it is larger than a limit.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import Iterator

from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.system.reading import FILE

_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    RuntimeError,
    struct.error,
)
"""What `zipfile` raises for a damaged archive, or for a file that is no archive."""


@contextmanager
def archive_errors(name: str, hint: str = "") -> Iterator[None]:
    """Turn what `zipfile` raises for a damaged archive into a SitepatchError; OSError passes."""
    try:
        yield
    except _DAMAGED as error:
        problem = Message("{name}: it is no wheel: {error}", name=name, error=error)
        raise SitepatchError(problem, hint) from None


def member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The bytes of a file in an archive.

    Args:
        archive: an open one, inside of `archive_errors`.
        name: as the archive has it.

    Raises:
        BadZipFile: it has more than FILE bytes (`zipfile` reads no more than the archive says), or
            is compressed by a method that wheels do not use.
    """
    info = archive.getinfo(name)
    if info.file_size > FILE:
        template = "{name} has {size:,} bytes, expected at most {limit:,}"
        raise zipfile.BadZipFile(Message(template, name=name, size=info.file_size, limit=FILE))
    # other methods raise errors of their own
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        template = "{name} is compressed by method {method}, expected deflate or none"
        raise zipfile.BadZipFile(Message(template, name=name, method=info.compress_type))
    return archive.read(info)
