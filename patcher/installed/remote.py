"""A large wheel that lies on a server, of which only the parts that are read are fetched: torch has 80 MB and more."""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from typing import IO, Any, Callable, Iterator, cast

from patcher.errors import SitepatchError

LARGE = 4 << 20
"""Bytes from which a few requests are less work than one for the whole wheel; the parts that matter have fewer, too."""
_PIECE = 1 << 17  # bytes of the directory that are fetched of either end
_MOST = 1 << 26  # bytes of parts of one wheel: whoever makes us read more has to give the whole one
_SLACK = 1 << 10  # bytes that the header of a member may have more than its entry says
_ENTRY, _END = b"PK\1\2", b"PK\5\6"


def open_parts(fetch: Callable[[int, int], bytes], size: int) -> IO[bytes]:
    """A wheel for `zipfile`, whose directory has the first and the last of its entries alone until `widen` is called.

    torch's directory has 1.2 MB, and the C++ headers in its middle are nine tenths of it. What lies before the directory are
    the bytes of the wheel; the directory is put together here.

    Args:
        fetch: gives the bytes from one offset to another.
        size: of the wheel, in bytes.

    Raises:
        SitepatchError: it is no archive, or has more before or after the directory than archives have; what `fetch` raises.
    """
    return cast("IO[bytes]", _Parts(fetch, size))


def widen(file: IO[bytes]) -> bool:
    """Fetch the rest of the directory of `open_parts`; False where there is none. The archive has to be opened anew."""
    return isinstance(file, _Parts) and file.widen()


class _Parts(io.RawIOBase):
    def __init__(self, fetch: Callable[[int, int], bytes], size: int) -> None:
        self._fetch, self._left, self._at = fetch, _MOST, 0
        self._held: list[tuple[int, bytes]] = []
        offset = max(size - _PIECE, 0)
        tail = self._part(offset, size)
        end = tail.rfind(_END)
        length, start = (
            struct.unpack("<LL", tail[end + 12 : end + 20])
            if 0 <= end <= len(tail) - 22
            else (0, 0)
        )
        if not length or start + length != offset + end:
            raise SitepatchError("found no directory at its end")
        self._start, self._end, back = start, tail[end:], tail[max(start - offset, 0) : end]
        front = self._part(start, min(start + _PIECE, offset)) if start < offset else b""
        if start + len(front) < offset:
            front = front[: max(stop for _, stop in ((0, 0), *_entries(front)))]
            back = back[max(back.find(_ENTRY), 0) :]
            if not any(stop == len(back) for _, stop in _entries(back)):
                back = b""
        self._first, self._last = front, back
        self._gap = start + len(front), offset + end - len(back)
        self._arrange(front + back)

    def widen(self) -> bool:
        start, stop = self._gap
        if start == stop:
            return False
        self._gap = stop, stop
        self._arrange(self._first + self._part(start, stop) + self._last)
        return True

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        size = self._start + len(self._tail)
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._ahead()[: len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _ahead(self) -> memoryview:
        """Bytes from here on: of the directory, or of a part that is held; else the rest of the member here is fetched."""
        if self._at >= self._start:
            return memoryview(self._tail)[self._at - self._start :]
        for start, data in self._held:
            if start <= self._at < start + len(data):
                return memoryview(data)[self._at - start :]
        before = bisect_right(self._bounds, (self._at, self._start))
        stop = self._bounds[before - 1][1] if before else 0
        part = self._part(self._at, min(max(stop, self._at + _SLACK), self._start))
        self._held.append((self._at, part))
        return memoryview(part)

    def _arrange(self, directory: bytes) -> None:
        """Have this directory, and the end that tells where it lies."""
        self._tail = (
            directory
            + self._end[:12]
            + struct.pack("<LL", len(directory), self._start)
            + self._end[20:]
        )
        self._bounds = sorted(_members(directory))

    def _part(self, start: int, stop: int) -> bytes:
        self._left -= stop - start
        if self._left < 0:
            raise SitepatchError(
                "the parts of it that are needed have more than {most:,} bytes", most=_MOST
            )
        return self._fetch(start, stop)


def _entries(directory: bytes) -> Iterator[tuple[int, int]]:
    """The bounds of each entry that a directory begins with."""
    stop = 0
    while directory.startswith(_ENTRY, stop) and stop + 46 <= len(directory):
        start, stop = stop, stop + 46 + sum(struct.unpack("<3H", directory[stop + 28 : stop + 34]))
        if stop <= len(directory):
            yield start, stop


def _members(directory: bytes) -> Iterator[tuple[int, int]]:
    """The bounds of each member that a directory lists: header, name and data."""
    for at, _ in _entries(directory):
        size, _, name, extra = struct.unpack("<LLHH", directory[at + 20 : at + 32])
        start: int = struct.unpack("<L", directory[at + 42 : at + 46])[0]
        yield start, start + 30 + name + extra + size + _SLACK
