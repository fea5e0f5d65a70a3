"""A stream of bytes in pieces -> its lines, without those of blocks in which nothing can be found; and lines put together.

What people paste is wrapped by a terminal, quoted, or in a table: `Paragraph` holds the lines that may be one.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Callable, Iterator, List, NamedTuple, Optional, Tuple

from patcher.diagnose.failures import Traceback

BLOCK, LONGEST = 1 << 15, 1 << 18  # bytes of a block that is looked at as a whole, and of a line
BEFORE = 2048  # bytes before a block in which something is found that are read, too
_COLOR = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[()][0-9A-Z])")  # CSI of ECMA-48, and what `tput sgr0` writes besides
_LONGEST_COLOR = 32

# What stands between the words of a text, however it was wrapped, quoted or put into a table or a string of JSON: blanks, some
# of ASCII and, in UTF-8, what frames and quotes are drawn with.
BETWEEN = b" \t\r\n\v\f>|*`'\"\\" + bytes(sorted(set("│┃╭╰╮╯─━┌└“”‘’•".encode())))
_LOWER = bytes(range(256)).lower()
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


def squeezed(text: bytes) -> bytes:
    """A text without what stands between its words, in small letters: what two ways of wrapping it have in common."""
    return text.translate(_LOWER, BETWEEN)


class Plain:
    """Takes the colours out of a stream that comes in pieces."""

    def __init__(self) -> None:
        self._color = b""

    def feed(self, piece: bytes, *, last: bool = False) -> bytes:
        """The piece without colours; one that may go on in the next piece is kept until then."""
        piece = self._color + piece
        cut = piece.rfind(b"\x1b", -_LONGEST_COLOR)
        if last or cut < 0 or _COLOR.match(piece, cut):
            cut = len(piece)
        self._color = piece[cut:]
        return _COLOR.sub(b"", piece[:cut]) if b"\x1b" in piece else piece[:cut]


class BlockUse(Enum):
    """What is to be done with a block: nothing is in it, what is in it was counted, or its lines are to be read."""

    NOTHING, COUNTED, LINES = range(3)


class LineStream:
    """The lines of a stream; what ends with a carriage return is a line, too, which is written over, as progress bars are.

    `number` is that of the line that is read next.

    Args:
        is_wanted: what is to be done with a block, which is given with what was before it.
    """

    def __init__(self, is_wanted: Callable[[bytes], BlockUse]) -> None:
        self.number = 1
        self._is_wanted = is_wanted
        self._held, self._before = b"", b""
        self._is_begun = False  # whether the last line has not ended

    @property
    def total(self) -> int:
        """How many lines there were, once the last piece is read."""
        return self.number - 1 + (self._is_begun or bool(self._held))

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[Tuple[int, bytes, bool]]:
        """The lines that have ended with this piece: its number, itself, and whether no other one is written over it."""
        text = self._held + piece
        ended = len(text) if last else text.rfind(b"\n") + 1
        at = 0
        while at < ended or len(text) - at > LONGEST:
            stop = text.find(b"\n", at + BLOCK, ended) + 1 or (ended if at < ended else 0)
            stop = min(stop or at + LONGEST, at + LONGEST + BLOCK)
            yield from self._block(text[at:stop])
            at = stop
        self._held = text[at:]

    def _block(self, block: bytes) -> Iterator[Tuple[int, bytes, bool]]:
        begin = self.number
        self.number += block.count(b"\n")
        self._is_begun = not block.endswith(b"\n")
        wanted = self._is_wanted(self._before + block)
        if wanted != BlockUse.LINES:
            cut = block.find(b"\n", -BEFORE) + 1
            self._before = block[cut:] if cut and wanted == BlockUse.NOTHING else b""
            return
        begin -= self._before.count(b"\n")
        lines = (self._before + block).split(b"\n")
        self._before = b""
        for number, line in enumerate(lines[:-1] if not lines[-1] else lines, begin):
            *written_over, rest = line.rstrip(b"\r").split(b"\r")
            for part in written_over:
                yield number, part, False
            yield number, rest, True


class Line(NamedTuple):
    """A line of a log: its number, itself without colours, and what of a traceback is in it.

    `ended` is the traceback that it ends, `in_traceback` whether one goes on after it.
    """

    number: int
    text: bytes
    ended: Optional[Traceback]
    in_traceback: bool

    @property
    def of_traceback(self) -> bool:
        """Whether a traceback goes on in it, or ends."""
        return bool(self.in_traceback or self.ended)


class Paragraph:
    """The lines up to here that may be one which was wrapped."""

    def __init__(self) -> None:
        self.lines: List[Line] = []
        self._narrowest = self._widest = self._size = 0  # columns of its lines, and bytes of all

    def add(self, line: Line) -> None:
        """Take the next line."""
        width = len(line.text.rstrip())
        self._narrowest = min(width, self._narrowest) if self.lines else width
        self._widest = max(width, self._widest) if self.lines else width
        self._size = self._size + width if self.lines else width
        self.lines.append(line)

    def goes_on(self, line: Line) -> bool:
        """Whether a line can be the rest of those before: all but the last line of a wrapped text are about as wide."""
        if not self.lines or self._size > _MOST or line.number > self.lines[-1].number + 1:
            return False
        even = self._narrowest >= max(_LEAST, self._widest - _RAGGED)
        return even and 0 < len(_unquoted(line.text).rstrip()) <= self._widest + _RAGGED


def begins(line: bytes) -> bool:
    """Whether a line looks as if no other one runs on into it, whatever its digits are."""
    return not line or bool(_BEGINS.match(_unquoted(line)))


def _unquoted(line: bytes) -> bytes:
    return _QUOTING.sub(b"", line) if line[:1] in _QUOTES else line
