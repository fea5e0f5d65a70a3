"""Untrusted text made safe for a terminal: control characters and invisible ones become visible.

Patchsets, receipts, logs and sources may have escape sequences, which can hide lines from a reader, and characters that
change the order in which a line is shown. Styles are added to text that is safe already.
"""

from __future__ import annotations


class Styled(str):
    """Text that is safe for a terminal as it is: it is `printable`, and may have our own escape sequences for colours."""


def printable(text: str) -> str:
    r"""One line of text with all that is not printable (`str.isprintable`) made visible, but for tabs.

    Control characters become their Unicode pictures, as `␛`; a byte that is not UTF-8 (a lone surrogate of
    `surrogateescape`) becomes `\xNN`, all others `<U+NNNN>`.
    """
    if isinstance(text, Styled) or text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else _picture(ord(char)) for char in text)


def printable_bytes(line: bytes) -> str:
    """One line of bytes of any encoding, read as UTF-8, made `printable`, tabs too."""
    return printable(line.decode("utf-8", "surrogateescape")).replace("\t", "␉")


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"<U+{code:04X}>"


def join_styled(*parts: str) -> Styled:
    """The concatenated parts, each made `printable` unless it is styled already."""
    return Styled("".join(map(printable, parts)))


def printable_lines(text: str) -> Styled:
    """Text of several lines, each made `printable`."""
    return text if isinstance(text, Styled) else Styled("\n".join(map(printable, text.split("\n"))))
