"""A wheel of an index; a large one is read by HTTP range requests: torch has 80 MB and more, a source some kilobytes."""

from __future__ import annotations

import http.client
import io
import os
import re
import urllib.error
import urllib.request
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Optional, cast
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from patcher.errors import SitepatchError
from patcher.system.reading import open_file, read_file

LARGE = 4 << 20
"""Bytes from which a few requests are less work than one for the whole wheel; the parts that matter have fewer, too."""
_BLOCK = 1 << 18  # bytes of a request: the list of the files lies at the end of a wheel, each file in one piece
_PAGES = "application/vnd.pypi.simple.v1+json, text/html;q=0.2"  # as PEP 691 has it
_TIMEOUT = 30.0  # seconds
_MOST = 1 << 26  # bytes of parts of one wheel: whoever makes us read more is left to pip, which has a disk for it


class _Ranges(io.RawIOBase):
    """The bytes at a URL as a file of `size` bytes that can be read anywhere."""

    def __init__(self, url: str, size: int) -> None:
        self._url, self._size, self._at, self._left = url, size, 0, _MOST

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
        count = min(len(buffer), self._size - self._at)
        if count <= 0:
            return 0
        self._left -= count
        if self._left < 0:
            raise OSError(f"{self._url}: the parts that are needed have more than {_MOST:,} bytes")
        buffer[:count] = _range(self._url, self._at, count, self._size)
        self._at += count
        return count


def open_url(url: str) -> Optional[IO[bytes]]:
    """The file at a URL, of a large one the parts that are read; None where it cannot be had, or no part of a large one.

    What pip alone knows (credentials, certificates of its own) is not used: where that is needed, it is None.
    """
    try:
        if url.startswith("file:"):
            return os.fdopen(open_file(url2pathname(urlsplit(url).path)), "rb")
        if not url.startswith(("http://", "https://")):
            return None
        with _asked(url, "0-0") as answer:
            if answer.status == 200:  # no parts are given
                size = int(answer.headers.get("Content-Length") or LARGE)
                data = answer.read(size) if size < LARGE else b""
                return io.BytesIO(data) if len(data) == size else None
            whole = re.fullmatch(r"bytes 0-0/(\d+)", answer.headers.get("Content-Range") or "")
        size = int(whole.group(1)) if whole else 0
        if size >= LARGE:
            return cast("IO[bytes]", io.BufferedReader(_Ranges(url, size), _BLOCK))
        return io.BytesIO(_range(url, 0, size, size)) if size else None
    except (SitepatchError, OSError, ValueError, http.client.HTTPException):
        return None


def sha256_on_page(page: str, name: str) -> str:
    """The sha256 (hex) of a file by the page of an index, JSON (PEP 691) or HTML (PEP 503); "" where the page has none.

    It is "" also where the page cannot be had: what pip alone knows (credentials, certificates) is not used.
    """
    try:
        text = _page(page)
    except (SitepatchError, OSError, ValueError, http.client.HTTPException):
        return ""
    if text.startswith("{"):
        import json  # `check --help` does without

        files = json.loads(text).get("files", [])
        hashes = (file.get("hashes", {}) for file in files if unquote(str(file.get("url"))).endswith("/" + unquote(name)))
        return next((str(found["sha256"]) for found in hashes if "sha256" in found), "")
    links = re.findall(r"""href=["']?([^"'#>\s]+)#sha256=([0-9a-f]{64})""", text)
    return next((digest for link, digest in links if unquote(link.rpartition("/")[2]) == unquote(name)), "")


@lru_cache(maxsize=64)
def _page(page: str) -> str:
    if page.startswith("file:"):
        path = Path(url2pathname(urlsplit(page).path))
        return read_file(path / "index.html" if path.is_dir() else path, _MOST).decode("utf-8", "replace")
    if not page.startswith(("http://", "https://")):
        return ""
    with urllib.request.urlopen(urllib.request.Request(page, headers={"Accept": _PAGES}), timeout=_TIMEOUT) as answer:
        return cast(bytes, answer.read(_MOST)).decode("utf-8", "replace")


def _range(url: str, start: int, count: int, size: int) -> bytes:
    """`count` bytes from `start` on of the `size` at a URL.

    Raises:
        OSError: the server sends anything else.
    """
    which = f"{start}-{start + count - 1}"
    try:
        with _asked(url, which) as answer:
            sent = answer.headers.get("Content-Range")
            data: bytes = answer.read(count) if answer.status == 206 and sent == f"bytes {which}/{size}" else b""
    except http.client.HTTPException as error:  # the connection broke, or what answers is no web server
        raise OSError(f"{url}: {error}") from None
    if len(data) != count:
        raise OSError(f"{url}: found {len(data)} bytes of the part {which} that was asked for ({answer.status}, {sent})")
    return data


def _asked(url: str, which: str) -> Any:
    request = urllib.request.Request(url, headers={"Range": f"bytes={which}"})
    try:
        return urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise
