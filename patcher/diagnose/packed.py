"""Compressed logs, and archives of logs, as streams: in bounded memory, and nothing is written to the disk."""

from __future__ import annotations

import gzip
import importlib
import io
import struct
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path
from tarfile import TarFile, TruncatedHeaderError  # type: ignore[attr-defined]  # not in typeshed
from typing import Any, BinaryIO, Iterator, List, Optional, Tuple, cast

from patcher.text.printable import printable

_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}  # how such files begin
ZIP = b"PK\x03\x04"
_TAR_AT, _TAR = 257, b"ustar"
_BEGIN = _TAR_AT + len(_TAR)
_MEMORY = 1 << 28  # bytes that xz may use: four times what its highest level needs
_HEADERS = 1 << 20  # bytes of a tar between the files in it
_MOST = 10_000  # files in an archive
DAMAGE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError)
"""What reading a log raises that is damaged, or on a disk that fails."""


def packed_by(path: str) -> str:
    """What has compressed or packed a file: `gzip`, `zip`, ...; "" where it is plain, is no file, or cannot be read."""
    if not Path(path).is_file():  # a pipe would lose what is read
        return ""
    try:
        with Path(path).open("rb") as file:
            begin = file.read(_BEGIN)
    except OSError:
        return ""
    return compression(begin) or ("zip" if begin.startswith(ZIP) else "tar" if begin[_TAR_AT:] == _TAR else "")


def unpacked(stream: BinaryIO) -> BinaryIO:
    """A stream, through its compression if it has one and can be peeked into."""
    how = compression(_begin(stream))
    if how == "gzip":
        stream = cast(BinaryIO, gzip.GzipFile(mode="rb", fileobj=stream))
    elif how == "bzip2":
        stream = cast(BinaryIO, _module("bz2").BZ2File(stream))
    elif how == "xz":
        stream = io.BufferedReader(_Xz(stream))
    return stream


def logs_in(name: str, stream: BinaryIO) -> Iterator[Tuple[str, BinaryIO]]:
    """The logs in a file, each with its name: itself, or the files in an archive of tar or zip, to be read one by one.

    Raises:
        DAMAGE: the archive is damaged, encrypted, too large, or a zip that cannot be sought in.
    """
    if _begin(stream).startswith(ZIP):
        yield from _in_zip(name, stream)
        return
    plain = unpacked(stream)
    if _begin(plain)[_TAR_AT:] == _TAR:
        yield from _in_tar(name, plain)
    else:
        yield name, plain


def _module(name: str) -> Any:
    """A module that a Python may have been built without."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise OSError(f"this Python cannot read it: {error}") from error


def compression(begin: bytes) -> str:
    """What has compressed a file that begins like this, "" for nothing."""
    return next((how for magic, how in _COMPRESSED.items() if begin.startswith(magic)), "")


def _begin(stream: BinaryIO) -> bytes:
    peek = getattr(stream, "peek", None)
    return bytes(peek(_BEGIN)[:_BEGIN]) if peek else b""


def _in_zip(name: str, stream: BinaryIO) -> Iterator[Tuple[str, BinaryIO]]:
    if not stream.seekable():
        raise OSError("an archive of zip is read from a file, not from a pipe")
    try:
        with zipfile.ZipFile(stream) as archive:
            for number, info in enumerate(archive.infolist()):
                _check_number(number)
                if not info.is_dir():
                    with archive.open(info) as file:
                        yield f"{name}/{printable(info.filename)}", cast(BinaryIO, file)
    except (RuntimeError, ValueError, struct.error) as error:  # encrypted, or of a method that is not known
        raise OSError(str(error)) from error


def _in_tar(name: str, stream: BinaryIO) -> Iterator[Tuple[str, BinaryIO]]:
    bounded = _Bounded(stream)
    try:
        with tarfile.open(fileobj=cast(BinaryIO, bounded), mode="r|", tarinfo=_Header) as archive:
            number = 0
            while member := archive.next():
                _check_number(number)
                number += 1
                if member.isreg():  # a link could lead anywhere
                    bounded.left = sys.maxsize
                    file = _Member(bounded, archive, member)
                    yield f"{name}/{printable(member.name)}", cast(BinaryIO, io.BufferedReader(file))
                    if file.is_cut:  # its reader was told
                        return
                bounded.left = _HEADERS
            if bounded.damage:
                raise bounded.damage
    except EOFError as error:
        raise bounded.damage or error from None
    except ValueError as error:
        raise OSError(str(error)) from error


class _Header(tarfile.TarInfo):
    """The header of a file in a tar; one that is cut off would else be taken for the end."""

    @classmethod
    def fromtarfile(cls, tarfile: TarFile) -> _Header:
        """The next header."""
        try:
            return super().fromtarfile(tarfile)
        except TruncatedHeaderError:
            raise EOFError("unexpected end of data") from None


def _check_number(number: int) -> None:
    if number >= _MOST:
        raise OSError(f"it has more than {_MOST:,} files")


class _Bounded:
    """A stream of which `left` bytes may be read: tarfile keeps a header in memory, however long it is.

    Where it is damaged it ends, and `damage` says so: an exception would lose what tarfile has read so far.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self.left = stream, _HEADERS
        self._read = getattr(stream, "read1", stream.read)  # what comes before the damage, too
        self.damage: Optional[BaseException] = None

    def read(self, size: int) -> bytes:
        """At most so many bytes."""
        try:
            data: bytes = self._read(size)
        except DAMAGE as error:
            self.damage, data = error, b""
        self.left -= len(data)
        if self.left < 0:
            raise OSError("its headers are too long")
        return data


class _Member(io.RawIOBase):
    """A file in a tar that is read as a stream, as far as it goes; `is_cut` once the tar has ended before it.

    What `extractfile` gives drops what it has read of a piece that is cut off. Holes of a sparse file are left out.
    """

    def __init__(self, tar: _Bounded, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        assert archive.fileobj
        self._tar, self._stream = tar, archive.fileobj
        parts = cast(Optional[List[Tuple[int, int]]], member.sparse)  # typeshed has another type for it
        self._left = sum(size for _, size in parts) if parts else member.size
        self.is_cut = False

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer as far as there is something; 0 at the end."""
        data = self._stream.read(min(len(buffer), self._left))
        if self._left and not data:
            self.is_cut = True
            raise self._tar.damage or EOFError("unexpected end of data")
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


class _Xz(io.RawIOBase):
    """A stream that xz has compressed, unpacked in bounded memory, which lzma.LZMAFile does not offer."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._lzma = stream, _module("lzma")
        self._xz = self._lzma.LZMADecompressor(memlimit=_MEMORY)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer; 0 at the end."""
        while True:
            data = b""
            if self._xz.eof:  # several may follow each other
                data = self._xz.unused_data.lstrip(b"\0") or self._stream.read(len(buffer)).lstrip(b"\0")
                if not data:
                    return 0
                self._xz = self._lzma.LZMADecompressor(memlimit=_MEMORY)
            elif self._xz.needs_input:
                data = self._stream.read(len(buffer))
                if not data:
                    raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            try:
                made: bytes = self._xz.decompress(data, len(buffer))
            except self._lzma.LZMAError as error:
                raise OSError(str(error)) from error
            if made:
                buffer[: len(made)] = made
                return len(made)
