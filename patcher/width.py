"""How many columns a text takes in a terminal, and a marker under a part of it."""

from __future__ import annotations

import unicodedata

_LONGEST = 400  # characters of a line that is shown


def width(text: str) -> int:
    """The columns of a text: wide characters (Chinese, Japanese, Korean, emoji) take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def underline(text: str, start: int, end: int) -> str:
    """`^~~~` under the characters `start` to `end` (0-based) of a line; a tab before them stays a tab."""
    blank = "".join("\t" if char == "\t" else " " * width(char) for char in text[:start])
    return blank + "^" + "~" * (width(text[start:end]) - 1)


def marked(text: str, start: int, end: int, indent: str = "") -> str:
    """A line and below it the marker under the characters `start` to `end`; of a very long line what is around them."""
    if len(text) > _LONGEST:
        first = max(0, start - _LONGEST // 2)
        text, start, end = text[first : first + _LONGEST], start - first, min(end - first, _LONGEST)
    return f"{indent}{text}\n{indent}{underline(text, start, end)}"
