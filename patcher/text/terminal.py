"""Text for a terminal: invisible characters become visible; its width in columns.

Patchsets, receipts, logs and sources may have escape sequences, which can hide lines from a
reader, and characters that change the order in which a line is shown. Styles are added to text
that is safe already.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from contextlib import suppress


class Styled(str):
    """Text that is safe for a terminal: `printable`, perhaps with our own escape sequences."""


def printable(text: str) -> str:
    r"""One line of text with all that is not printable (`str.isprintable`) made visible, but tabs.

    Control characters become their Unicode pictures, as `␛`; a byte that is not UTF-8 (a lone
    surrogate of `surrogateescape`) becomes `\xNN`, all others `<U+NNNN>`.
    """
    if isinstance(text, Styled) or text.isprintable():
        return text
    visible = ""
    for char in text:
        visible += char if char.isprintable() or char == "\t" else _picture(ord(char))
    return visible


def printable_bytes(line: bytes) -> str:
    """One line of bytes of any encoding, read as UTF-8, made `printable`, tabs too."""
    return printable(line.decode("utf-8", "surrogateescape")).replace("\t", "␉")


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"<U+{code:04X}>"


def join_styled(*parts: str) -> Styled:
    """The concatenated parts, each made `printable` unless it is styled already."""
    return Styled("".join(map(printable, parts)))


def printable_lines(text: str) -> Styled:
    """Text of several lines, each made `printable`."""
    if isinstance(text, Styled):
        return text
    return Styled("\n".join(map(printable, text.split("\n"))))


# width ----------------------------------------------------------------------------------------
LONGEST = 400  # columns of a line, or of a name, that is shown
_WIDE = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uff60"
_CLOSING = "，。；：、！？）》」』”"
_WORD = rf"\s*[（《「『“]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_CLOSING}]*"
"""What a line may end after: a word, or a Chinese or Japanese character, with its punctuation.

It is compiled where lines are wrapped: that takes 3 ms.
"""


def terminal_width() -> int:
    """The columns of the terminal, 80 where there is none."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    with suppress(ValueError, OSError):  # it is closed, or no terminal
        if sys.__stdout__ is not None:
            return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80
    return 80


def width(text: str) -> int:
    """The columns of a text.

    Wide characters (Chinese, Japanese, Korean, emoji) take two, combining ones none.
    """
    return len(text) if text.isascii() else sum(map(columns_of, text))


def columns_of(char: str) -> int:
    """The columns of one character."""
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def padded(text: str, columns: int) -> str:
    """The text with blanks behind it, `columns` wide."""
    return text + " " * (columns - width(text))


def clip(text: str, columns: int) -> str:
    """The text; of one that is wider than `columns`, its beginning and its end with `…` between."""
    if width(text) <= columns:
        return text
    half = (columns - 1) // 2
    return f"{beginning(text, half)}…{beginning(text[::-1], half)[::-1]}"


def beginning(text: str, columns: int) -> str:
    """As much of a text as is no wider than `columns`."""
    for at, char in enumerate(text):
        columns -= columns_of(char)
        if columns < 0:
            return text[:at]
    return text


def wrapped(text: str, columns: int) -> list[str]:
    """A text in lines of at most `columns`, or of one longer word each."""
    if width(text) <= columns:
        return [text.strip()]
    lines = [""]
    for word in re.findall(_WORD, text):
        if lines[-1] and width(lines[-1] + word) > columns:
            lines.append("")
        lines[-1] += word if lines[-1] else word.lstrip()
    return lines


def underline(line: str, start: int, end: int) -> str:
    """`^~~~` under the characters `start` to `end` (0-based) of a line.

    A tab before them stays a tab.
    """
    indent = ""
    for char in line[:start]:
        indent += char if char == "\t" else " " * width(char)
    return indent + "^" + "~" * (width(line[start:end]) - 1)


def marked(line: str, start: int, end: int, indent: str = "") -> str:
    """A line, and below it the marker under the characters `start` to `end`.

    A very long line is cut around them.
    """
    if len(line) > LONGEST:
        cut = max(0, start - LONGEST // 2)
        line = line[cut : cut + LONGEST]
        start, end = start - cut, min(end - cut, LONGEST)
    return f"{indent}{line}\n{indent}{underline(line, start, end)}"
