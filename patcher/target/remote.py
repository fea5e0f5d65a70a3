"""A large wheel of an index, read by HTTP range requests: a torch has 80 MB and more, one of its sources some kilobytes."""

from __future__ import annotations

import io
import re
import urllib.request
from typing import Any, Optional

_LARGE = 4 << 20  # bytes from which a few requests are less work than the whole wheel
_BLOCK = 1 << 18  # bytes of a request: the list of the files lies at the end of a wheel, each file in one piece
_TIMEOUT = 30.0  # seconds


class _Ranges(io.RawIOBase):
    """The bytes at a URL as a file of `size` bytes that can be read anywhere."""

    def __init__(self, url: str, size: int) -> None:
        self._url, self._size, self._at = url, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        end = min(self._at + len(buffer), self._size)
        if end <= self._at:
            return 0
        data = _range(self._url, f"{self._at}-{end - 1}")
        if len(data) != end - self._at:
            raise OSError(f"{self._url}: found {len(data)} bytes of the {end - self._at} that were asked for")
        buffer[: len(data)] = data
        self._at = end
        return len(data)


def opened(url: str) -> Optional[io.BufferedReader]:
    """A large file at a URL; None for one that is small, or where no part of it is to be had.

    What pip alone knows (credentials, certificates of its own) is not used: where that is needed, it is None.
    """
    if not url.startswith(("http://", "https://")):
        return None
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Range": "bytes=0-0"}), timeout=_TIMEOUT) as answer:
            whole = re.fullmatch(r"bytes 0-0/(\d+)", answer.headers.get("Content-Range") or "")
    except (OSError, ValueError):
        return None
    size = int(whole.group(1)) if whole else 0
    return io.BufferedReader(_Ranges(url, size), _BLOCK) if size >= _LARGE else None


def _range(url: str, which: str) -> bytes:
    request = urllib.request.Request(url, headers={"Range": f"bytes={which}"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
        if answer.status != 206:
            raise OSError(f"{url}: a part was asked for, and the server sent the whole")
        data: bytes = answer.read()
        return data
