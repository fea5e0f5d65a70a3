"""A small file at a URL that the user has named: over http and https alone, of bounded size, with the hash it must have."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from hashlib import sha256
from typing import IO, Any
from urllib.parse import urljoin, urlsplit

from patcher.errors import SitepatchError
from patcher.message import Message

_SCHEMES = ("http", "https")
_MOST = 16 << 20  # bytes of a diff
_TIMEOUT = 30.0  # seconds


class _Redirects(urllib.request.HTTPRedirectHandler):
    def http_error_302(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage
    ) -> Any:
        target = urljoin(req.full_url, headers.get("Location") or "")
        if not is_url(target):
            raise ValueError(Message("it redirects to {target}, expected a URL of http or https", target=target))
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def is_url(address: str) -> bool:
    """Whether a text is a URL of http or https."""
    return urlsplit(address).scheme.lower() in _SCHEMES and "://" in address


def download(url: str, digest: str = "") -> bytes:
    """The file at a URL.

    Args:
        url: one of http or https.
        digest: the sha256 (hex) that it must have, "" for any.

    Raises:
        SitepatchError: it cannot be had, is too large, or has another hash.
    """
    try:
        with urllib.request.build_opener(_Redirects).open(url, timeout=_TIMEOUT) as answer:
            data: bytes = answer.read(_MOST + 1)
            expected = answer.headers.get("Content-Length")
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it holds the connection
        raise SitepatchError("{url}: cannot be fetched: {error}", url=url, error=error) from None
    if len(data) > _MOST:
        raise SitepatchError("{url}: found more than {limit:,} bytes, expected a diff", url=url, limit=_MOST)
    if expected and expected.isdigit() and len(data) != int(expected):
        raise SitepatchError(
            "{url}: found {number:,} bytes, expected {int:,}", "run it again", url=url, number=len(data), int=int(expected)
        )
    fetched = sha256(data).hexdigest()
    if digest and fetched != digest.lower():
        template = "{url}: found sha256:{there}, expected sha256:{digest}"
        raise SitepatchError(template, "what is there has changed: look at it", url=url, there=fetched, digest=digest)
    return data
