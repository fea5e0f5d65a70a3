"""Text of others, drawn: what a terminal or a browser would carry out, or show nothing for, becomes something to see.

Patchsets, receipts, logs and sources may hold escape sequences, which hide lines from their reader, and characters that
change the order in which a line is shown. Colours are put on text that is drawn already.
"""

from __future__ import annotations


class Painted(str):
    """Text that is fit for a terminal as it is: drawn, and perhaps with colours of ours."""


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


def join(*parts: str) -> Painted:
    """The parts one after the other, each drawn."""
    return Painted("".join(map(drawn, parts)))


def lines(text: str) -> Painted:
    """Text of several lines, each drawn."""
    return text if isinstance(text, Painted) else Painted("\n".join(map(drawn, text.split("\n"))))
