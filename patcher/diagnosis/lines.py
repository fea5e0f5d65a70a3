"""A stream of bytes in pieces -> blocks of its lines; lines -> paragraphs.

What people paste is wrapped by a terminal, quoted, or in a table: the lines of a paragraph may be
one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Iterator, Sequence

from patcher.record import Record
from patcher.text.patterns import shape

BLOCK = 1 << 15  # bytes of a block that is looked at as a whole
LONGEST = 1 << 18  # bytes of a line
LONGEST_PARAGRAPH = 3000  # bytes
# CSI of ECMA-48, and what `tput sgr0` writes besides
_COLOR = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[()][0-9A-Z])")
_QUOTING = re.compile(rb"^(?:[>|*\s]|\xe2\x94[\x82\x83])+")
_BEGINS = re.compile(
    rb"\[(?:[A-Za-z]|\d{4})"
    rb"|\(\w+ "
    rb"|\{\"log\""
    rb"|\d{4}[-/]\d\d"
    rb"|\d\d(?::\d\d|/\d\d )"
    rb"|[EWIF]\d{4} "
    rb"|File |Traceback |frame #|ERROR|INFO|WARN|DEBUG"
    rb"|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b"
)
"""The beginning of a line that another one does not run on into."""
_RAGGED = 28  # columns by which the lines of a wrapped text differ: a long word
_LEAST = 6  # columns that a line has before it is wrapped
_BEGIN = 120  # bytes of a line that say whether it begins


class Blocks:
    """The lines of a stream without colours, some at a time; a line that is too long is cut.

    `number` is that of the line that comes next.
    """

    def __init__(self) -> None:
        self.number = 1
        self._held = b""
        self._is_open = False  # whether the last line has not ended

    @property
    def total(self) -> int:
        """How many lines there were, once the last piece is read."""
        return self.number - 1 + (self._is_open or bool(self._held))

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[tuple[int, bytes]]:
        """The blocks that have ended with this piece, each with the number of its first line."""
        text = self._held + piece
        ended = len(text) if last else text.rfind(b"\n") + 1
        start = 0
        while start < ended or len(text) - start > LONGEST:
            stop = _end_of_block(text, start, ended)
            block = text[start:stop]
            start = stop
            number = self.number
            self.number += block.count(b"\n")
            self._is_open = not block.endswith(b"\n")
            if b"\x1b" in block:
                block = _COLOR.sub(b"", block)
            yield number, block.replace(b"\r\n", b"\n")
        self._held = text[start:]


def _end_of_block(text: bytes, start: int, ended: int) -> int:
    """Where the block ends that begins at `start`: with a line, unless that is too long.

    Lines end before `ended`.
    """
    stop = text.find(b"\n", start + BLOCK, ended) + 1
    if not stop and start < ended:
        stop = ended
    if not stop:
        return start + LONGEST
    return min(stop, start + LONGEST + BLOCK)


class Line(Record):
    """A line of a log, without colours; one that `is_written_over` ends with a carriage return."""

    number: int
    text: bytes
    is_written_over: bool


def paragraphs(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """The lines of each paragraph: all but the last line of a wrapped text are about as wide."""
    first = 0
    narrowest, widest, size = LONGEST, 0, 0
    for row, line in enumerate(lines):
        width = len(line.text.rstrip())
        is_even = narrowest >= max(_LEAST, widest - _RAGGED) and width <= widest + _RAGGED
        if row and (not is_even or size > LONGEST_PARAGRAPH or begins(line.text)):
            yield lines[first:row]
            first = row
            narrowest, widest, size = LONGEST, 0, 0
        narrowest = min(width, narrowest)
        widest = max(width, widest)
        size += width
    yield lines[first:]


def begins(line: bytes) -> bool:
    """Whether a line looks as if no other one runs on into it, whatever its digits are."""
    return _begins(shape(line[:_BEGIN]))


@lru_cache(maxsize=4096)
def _begins(line: bytes) -> bool:
    text = _QUOTING.sub(b"", line)
    return not text.strip() or bool(_BEGINS.match(text))
