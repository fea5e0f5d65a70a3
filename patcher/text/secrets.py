"""Credentials in a URL that somebody names: they are never written to a file."""

from __future__ import annotations

import re

_USER = re.compile(r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*://)[^/?#\s@]*(?:@[^/?#\s@]*)*@")
_PARAMETER = re.compile(
    r"(?P<name>[?&;#][^=&;#\s]*"
    r"(?:token|secret|password|passwd|signature|credential|api_?key)[^=&;#\s]*=)[^&;#\s]*",
    re.IGNORECASE,
)


def without_credentials(text: str) -> str:
    """A text in which the URLs have no user and no password.

    Nor do they have the value of a parameter that is called a token or the like.
    """
    text = _USER.sub(lambda match: match["scheme"], text)
    return _PARAMETER.sub(lambda match: f"{match['name']}...", text)
