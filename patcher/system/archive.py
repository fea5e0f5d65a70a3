"""Zip archives from elsewhere: what is wrong with one is a SitepatchError, and no file in it is larger than a limit."""

from __future__ import annotations

import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import Iterator

from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.system.reading import FILE


@contextmanager
def archive_errors(name: str, hint: str = "") -> Iterator[None]:
    """Turn what `zipfile` raises for an archive that is none, or a damaged one, into a SitepatchError; OSError passes."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        ValueError,
        RuntimeError,
        struct.error,
    ) as error:
        raise SitepatchError(
            Message("{name}: it is no wheel: {error}", name=name, error=error), hint
        ) from None


def member(archive: zipfile.ZipFile, name: str) -> bytes:
    """The bytes of a file in an archive.

    Args:
        archive: an open one, inside of `archive_errors`.
        name: as the archive has it.

    Raises:
        BadZipFile: it has more than FILE bytes (`zipfile` reads no more than the archive says), or is compressed by a method
            that wheels do not use.
    """
    info = archive.getinfo(name)
    if info.file_size > FILE:
        template = "{name} has {file_size:,} bytes, expected at most {file:,}"
        raise zipfile.BadZipFile(Message(template, name=name, file_size=info.file_size, file=FILE))
    # others raise errors of their own
    if info.compress_type not in (
        zipfile.ZIP_STORED,
        zipfile.ZIP_DEFLATED,
    ):
        problem = "{name} is compressed by method {compress_type}, expected deflate or none"
        raise zipfile.BadZipFile(Message(problem, name=name, compress_type=info.compress_type))
    return archive.read(info)
