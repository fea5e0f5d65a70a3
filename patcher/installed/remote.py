"""A large wheel on a server, of which only the parts that are read are fetched.

torch has 80 MB and more.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from typing import IO, Any, Callable, Iterator, cast

from patcher.errors import SitepatchError

LARGE = 4 << 20
"""Bytes from which a few requests are less work than one; the parts that matter have fewer."""
_PIECE = 1 << 17  # bytes of the directory that are fetched of either end
_MOST = 1 << 26  # bytes of parts of one wheel: a server that makes us read more gives it whole
_SLACK = 1 << 10  # bytes that the header of a member may have more than its entry says
# the format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3.7, 4.3.12, 4.3.16
_ENTRY, _END = b"PK\1\2", b"PK\5\6"
_HEADER_SIZE, _ENTRY_SIZE, _END_SIZE = 30, 46, 22


def open_parts(fetch: Callable[[int, int], bytes], size: int) -> IO[bytes]:
    """A wheel for `zipfile`, whose directory has its first and last entries alone until `widen`.

    torch's directory has 1.2 MB, and the C++ headers in its middle are nine tenths of it. What
    lies before the directory are the bytes of the wheel; the directory is put together here.

    Args:
        fetch: gives the bytes from one offset to another.
        size: of the wheel, in bytes.

    Raises:
        SitepatchError: it is no archive, or has more before or after the directory than archives
            have; what `fetch` raises.
    """
    return cast("IO[bytes]", _Parts(fetch, size))


def widen(file: IO[bytes]) -> bool:
    """Fetch the rest of the directory of `open_parts`; False where there is none.

    The archive has to be opened anew.
    """
    return isinstance(file, _Parts) and file.widen()


class _Parts(io.RawIOBase):
    """The file of `open_parts`: the bytes of the wheel up to `_start`, then `_tail`.

    `_directory` are the fetched entries of the directory at its front and at its back, `_gap` the
    offsets between which it is missing, `_end` the record behind it. `_bounds` are the offsets of
    the members that the entries list, `_held` the parts that were fetched, with their offsets.
    """

    def __init__(self, fetch: Callable[[int, int], bytes], size: int) -> None:
        self._fetch = fetch
        self._left = _MOST
        self._at = 0
        self._held: list[tuple[int, bytes]] = []

        offset = max(size - _PIECE, 0)
        tail = self._part(offset, size)
        end = tail.rfind(_END)
        length, start = _place_of_directory(tail, end)
        if not length or start + length != offset + end:
            raise SitepatchError("found no directory at its end")
        self._start = start
        self._end = tail[end:]

        back = tail[max(start - offset, 0) : end]
        front = b""
        if start < offset:
            front = self._part(start, min(start + _PIECE, offset))
        if start + len(front) < offset:
            front, back = _whole_entries(front, back)
        self._directory = front, back
        self._gap = start + len(front), offset + end - len(back)
        self._arrange(front + back)

    def widen(self) -> bool:
        start, stop = self._gap
        if start == stop:
            return False
        self._gap = stop, stop
        front, back = self._directory
        self._arrange(front + self._part(start, stop) + back)
        return True

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        size = self._start + len(self._tail)
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: size}
        self._at = origin[whence] + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._ahead()[: len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _ahead(self) -> memoryview:
        """Bytes from here on: of the directory, or of a part that is held.

        Otherwise the rest of the member here is fetched.
        """
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
        """Take this directory, and make the record that tells where it lies."""
        place = struct.pack("<LL", len(directory), self._start)
        self._tail = directory + self._end[:12] + place + self._end[20:]
        self._bounds = sorted(_members(directory))

    def _part(self, start: int, stop: int) -> bytes:
        self._left -= stop - start
        if self._left < 0:
            raise SitepatchError(
                "the parts of it that are needed have more than {most:,} bytes", most=_MOST
            )
        return self._fetch(start, stop)


def _place_of_directory(tail: bytes, end: int) -> tuple[int, int]:
    """The length and the offset of the directory, by the record at `end`; 0, 0 if there is none."""
    if not 0 <= end <= len(tail) - _END_SIZE:
        return 0, 0
    length, start = struct.unpack("<LL", tail[end + 12 : end + 20])
    return length, start


def _whole_entries(front: bytes, back: bytes) -> tuple[bytes, bytes]:
    """Both ends of a directory without the entries of which they have a piece.

    The back is empty where its first entry is not one: the signature can stand in a name.
    """
    *_, (_, stop) = (0, 0), *_entries(front)
    back = back[max(back.find(_ENTRY), 0) :]
    if not any(last == len(back) for _, last in _entries(back)):
        back = b""
    return front[:stop], back


def _entries(directory: bytes) -> Iterator[tuple[int, int]]:
    """The bounds of each entry that a directory begins with."""
    stop = 0
    while directory.startswith(_ENTRY, stop) and stop + _ENTRY_SIZE <= len(directory):
        start = stop
        # of the name, the extra field and the comment
        lengths = struct.unpack("<3H", directory[start + 28 : start + 34])
        stop = start + _ENTRY_SIZE + sum(lengths)
        if stop <= len(directory):
            yield start, stop


def _members(directory: bytes) -> Iterator[tuple[int, int]]:
    """The bounds of each member that a directory lists: header, name and data."""
    for at, _ in _entries(directory):
        size, _, name, extra = struct.unpack("<LLHH", directory[at + 20 : at + 32])
        start: int = struct.unpack("<L", directory[at + 42 : at + 46])[0]
        yield start, start + _HEADER_SIZE + name + extra + size + _SLACK
