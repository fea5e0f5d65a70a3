"""Untrusted text made safe to print: control characters and invisible ones become visible.

Patchsets, receipts, logs and sources may have escape sequences, which can hide lines from a reader, and characters that
change the order in which a line is shown. Colours are added to text that is safe already.
"""

from __future__ import annotations


class Painted(str):
    """Text that is safe for a terminal as it is: it was `drawn`, and may have colours of ours."""


def drawn(text: str) -> str:
    r"""One line of text with all that is not printable (`str.isprintable`) made visible, but for tabs.

    Control characters become their Unicode pictures, as `␛`; a byte that is not UTF-8 (a lone surrogate of
    `surrogateescape`) becomes `\xNN`, all others `<U+NNNN>`.
    """
    if isinstance(text, Painted) or text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else _picture(ord(char)) for char in text)


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"<U+{code:04X}>"


def join_drawn(*parts: str) -> Painted:
    """The concatenated parts, each `drawn`."""
    return Painted("".join(map(drawn, parts)))


def drawn_lines(text: str) -> Painted:
    """Text of several lines, each `drawn`."""
    return text if isinstance(text, Painted) else Painted("\n".join(map(drawn, text.split("\n"))))
