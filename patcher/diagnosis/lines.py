"""A stream of bytes in pieces -> blocks of its lines; and lines put together.

What people paste is wrapped by a terminal, quoted, or in a table: a `Paragraph` holds the lines that may be one.
"""

from __future__ import annotations

import re
from typing import Iterator, List, NamedTuple, Optional, Tuple

from patcher.diagnosis.failures import Traceback

BLOCK, LONGEST = 1 << 15, 1 << 18  # bytes of a block that is looked at as a whole, and of a line
_COLOR = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[()][0-9A-Z])")  # CSI of ECMA-48, and what `tput sgr0` writes besides
_QUOTING = re.compile(rb"^(?:[>|*\s]|\xe2\x94[\x82\x83])+")
_QUOTES = b">|* \t\n\r\f\v\xe2"  # what that begins with
_BEGINS = re.compile(  # a line that another one does not run on into
    rb"\[(?:[A-Za-z]|\d{4})|\(\w+ |\{\"log\"|\d{4}[-/]\d\d|\d\d(?::\d\d|/\d\d )|#|={3}|-{3}|```|[+] |- "
    rb"|File |Traceback |frame #"
    rb"|ERROR|INFO|WARN|DEBUG|FATAL|[EWIF]\d{4} |(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Failed)\b"
)
_RAGGED = 28  # columns by which the lines of a wrapped text differ: a long word
_LEAST = 6  # columns that a line has before it is wrapped
_MOST = 3000  # bytes of a paragraph


class Blocks:
    """The lines of a stream without colours, some at a time; a line that is too long is cut.

    `number` is that of the line that comes next.
    """

    def __init__(self) -> None:
        self.number = 1
        self._held = b""
        self._is_begun = False  # whether the last line has not ended

    @property
    def total(self) -> int:
        """How many lines there were, once the last piece is read."""
        return self.number - 1 + (self._is_begun or bool(self._held))

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[Tuple[int, bytes]]:
        """The blocks that have ended with this piece, each with the number of its first line."""
        text = self._held + piece
        ended = len(text) if last else text.rfind(b"\n") + 1
        at = 0
        while at < ended or len(text) - at > LONGEST:
            stop = text.find(b"\n", at + BLOCK, ended) + 1 or (ended if at < ended else 0)
            stop = min(stop or at + LONGEST, at + LONGEST + BLOCK)
            block, at = text[at:stop], stop
            self._is_begun = not block.endswith(b"\n")
            number, self.number = self.number, self.number + block.count(b"\n")
            block = _COLOR.sub(b"", block) if b"\x1b" in block else block
            yield number, block.replace(b"\r\n", b"\n")
        self._held = text[at:]


class Line(NamedTuple):
    """A line of a log: its number, itself without colours, and what of a traceback is in it.

    `ended` is the traceback that it ends, `in_traceback` whether one goes on after it.
    """

    number: int
    text: bytes
    ended: Optional[Traceback]
    in_traceback: bool


class Paragraph:
    """The lines up to here that may be one which was wrapped."""

    def __init__(self) -> None:
        self.lines: List[Line] = []
        self._narrowest = self._widest = self._size = 0  # columns of its lines, and bytes of all

    def add(self, line: Line) -> None:
        """Take the next line."""
        width = len(line.text.rstrip())
        self._narrowest = min(width, self._narrowest) if self.lines else width
        self._widest = max(width, self._widest)
        self._size += width
        self.lines.append(line)

    def goes_on(self, line: Line) -> bool:
        """Whether a line can be the rest of those before: all but the last line of a wrapped text are about as wide."""
        if not self.lines or self._size > _MOST or line.number > self.lines[-1].number + 1 or begins(line.text):
            return False
        even = self._narrowest >= max(_LEAST, self._widest - _RAGGED)
        return even and 0 < len(_unquoted(line.text).rstrip()) <= self._widest + _RAGGED


def begins(line: bytes) -> bool:
    """Whether a line looks as if no other one runs on into it, whatever its digits are."""
    return not line or bool(_BEGINS.match(_unquoted(line)))


def _unquoted(line: bytes) -> bytes:
    return _QUOTING.sub(b"", line) if line[:1] in _QUOTES else line
