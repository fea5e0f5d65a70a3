"""HTML pages that need nothing else.

They are read offline, on light and dark paper, on a phone and printed, with scripts or without.
Text becomes HTML in `tag` alone, which escapes it: what a page shows cannot act in it, and its
content security policy lets nothing run or be fetched but the style and the script below.
"""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Iterable, Sequence, Union

from patcher import __version__
from patcher.display.styles import term, translated
from patcher.text.terminal import printable


class Html(str):
    """Text that is HTML already."""


Child = Union[str, Html]
_OURS = ("p", "h2", "h3", "dt", "dd", "li", "summary", "th", "td", "label", "small", "caption")
"""The elements whose text is ours; in all others it is code, and names."""


def tag(name: str, *children: Child, **attributes: str | bool) -> Html:
    """An element: text is made printable, escaped, and translated where it is ours.

    HTML stays as it is. The name of an attribute is written with `_` for `-`, and `class_` for
    `class`; True is one without a value, and one whose value is "" or False is left out.
    """
    shown = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _OURS:
        children = tuple(map(localized, children))
    return Html(f"<{name}{shown}>{join(*children)}</{name}>")


def _attribute(key: str, value: str | bool) -> str:
    """An attribute of an element, with a blank before it; "" where it is left out."""
    if not value:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = str(value)
    if key in ("title", "aria_label"):
        text = translated(text)
    return f' {name}="{escape(printable(text))}"'


def localized(child: Child) -> Html:
    """A sentence or a word of ours in the language of the user."""
    if isinstance(child, Html):
        return child
    return coded(translated(child) if " " in child.strip() else term(child))


def coded(content: str) -> Html:
    """Text in which what stands in backticks is code."""
    pieces: list[Child] = list(re.split(r"`([^`\n]+)`", content))
    for number in range(1, len(pieces), 2):
        pieces[number] = tag("code", pieces[number])
    return join(*pieces)


def join(*children: Child, between: str = "") -> Html:
    """Several, one after the other."""
    parts = []
    for child in children:
        parts.append(child if isinstance(child, Html) else escape(printable(child)))
    return Html(between.join(parts))


def lines(content: str) -> Html:
    """Text of several lines."""
    return join(*content.split("\n"), between="\n")


def html_document(
    title: str, body: Iterable[Child], styles: Sequence[str] = (), *, script: bool = False
) -> bytes:
    """A whole page in UTF-8.

    Args:
        title: its heading.
        body: what is below that.
        styles: the names of the style sheets that this page needs beside that of all.
        script: whether the keys of a page of differences are to work.
    """
    style = "".join(_asset(f"{name}.css") for name in ("style", *styles))
    code = _asset("keys.js") if script else ""
    allowed = f"style-src '{_hash(style)}'; img-src data:"
    if script:
        allowed += f"; script-src '{_hash(code)}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<link rel="icon" href="data:,">',  # a browser would ask for one
        tag("title", title),
        f"<style>{style}</style>",
    ]
    page = [
        '<!DOCTYPE html>\n<html lang="' + term("en") + '">\n<head>',
        *head,
        "</head>\n<body>",
        tag("main", tag("h1", title), *body),
        tag("footer", f"sitepatch {__version__}", class_="soft"),
    ]
    if script:
        page.append(f"<script>{code}</script>")
    page.append("</body>\n</html>\n")
    return "\n".join(page).encode("utf-8", "backslashreplace")


@lru_cache(maxsize=None)
def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"
