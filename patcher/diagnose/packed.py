"""Logs that gzip has compressed, as streams; what is packed otherwise is named, and not read."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO, cast

_GZIP = b"\x1f\x8b"
_PACKED = {_GZIP: "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}
_TAR_AT, _TAR = 257, b"ustar"
_BEGIN = _TAR_AT + len(_TAR)
DAMAGE = (OSError, EOFError, zlib.error)
"""What reading a log raises that is damaged, or on a disk that fails."""


def packing(begin: bytes) -> str:
    """What has compressed or packed a file that begins like this: `gzip`, `zip`, ...; "" where it is plain."""
    names = (name for magic, name in _PACKED.items() if begin.startswith(magic))
    return next(names, "tar" if begin[_TAR_AT:_BEGIN] == _TAR else "")


def packed_by(path: str) -> str:
    """What has compressed or packed a file; "" where it is plain, is no file, or cannot be read."""
    if not Path(path).is_file():  # a pipe would lose what is read
        return ""
    try:
        with Path(path).open("rb") as file:
            return packing(file.read(_BEGIN))
    except OSError:
        return ""


def unpacked(stream: BinaryIO) -> BinaryIO:
    """A stream, through gzip if that has compressed it and it can be peeked into."""
    peek = getattr(stream, "peek", None)
    begin = bytes(peek(len(_GZIP))) if peek else b""
    return cast(BinaryIO, gzip.GzipFile(mode="rb", fileobj=stream)) if begin.startswith(_GZIP) else stream
