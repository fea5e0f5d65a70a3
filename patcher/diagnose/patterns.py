"""A stream of bytes -> the lines in it that match patterns: literal text in which `*` stands for any text.

A pattern is found by its longest literal part, its mark; marks are searched for in linear time and bounded memory.

The pieces that a stream is read in may end anywhere. A line ends with a line feed or, as the bars that show progress end it,
with a carriage return; of a longer one than `_BEFORE` and a mark's limit the rest is not looked at.
"""

from __future__ import annotations

import re
from heapq import heapify, heappop, heapreplace
from typing import Dict, Iterable, Iterator, Mapping, NamedTuple, Sequence, Tuple

LIMIT = 4096  # bytes of a line from the mark of a pattern on that are looked at

_COLOR = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[()][0-9A-Z])")  # CSI of ECMA-48, and what `tput sgr0` writes besides
_LONGEST_COLOR = 32
_END = re.compile(rb"[\r\n]")
_BEFORE = 1024  # bytes before a mark that are kept


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


class MarkedLine(NamedTuple):
    """Where a mark is found: the number of its line, the mark, what of the line is before it, and the rest of the line."""

    line: int
    mark: bytes
    before: bytes
    text: bytes


class Marks:
    """Finds marks in a stream that comes in pieces.

    A mark is reported once a line, unless it is one of `repeated`: more of them may stand in a line, each with its own text.
    `lines` is how many lines there were, once the last piece is read.

    Args:
        limits: for each mark, how many bytes of its line from it on are reported at most.
        repeated: see above.
    """

    def __init__(self, limits: Mapping[bytes, int], repeated: Tuple[bytes, ...] = ()) -> None:
        self.line, self.lines = 1, 0
        self._limits, self._repeated = limits, repeated
        self._held = b""
        self._counted = 0  # where in `_held` the line `line` was counted to
        self._from: Dict[bytes, int] = dict.fromkeys(limits, 0)  # where each mark is to be looked for from
        self._overlap = max(map(len, limits))

    def feed(self, piece: bytes, *, last: bool = False) -> Iterator[MarkedLine]:
        """The places that are known now that `piece` is read, too; all of the iterator has to be taken."""
        self._held += piece
        held = self._held
        known = [(held.find(mark, begin), mark) for mark, begin in self._from.items()]
        known = [each for each in known if each[0] >= 0]
        heapify(known)
        while known:
            at, mark = known[0]
            end = self._end(mark, at)
            if end < 0 and not last:
                break  # the rest of the line is still to come
            text = held[at:end] if end >= 0 else held[at:]
            begin = max(0, at - _BEFORE)
            begin = max(begin, held.rfind(b"\n", begin, at) + 1, held.rfind(b"\r", begin, at) + 1)
            self._count(at)
            yield MarkedLine(self.line, mark, held[begin:at], text)
            self._from[mark] = at + (1 if mark in self._repeated else len(text))
            following = held.find(mark, self._from[mark])
            heapreplace(known, (following, mark)) if following >= 0 else heappop(known)
        left = 0 if last else self._overlap  # a mark may be divided between two pieces
        rest = known[0][0] if known else max(0, len(held) - left)
        self._count(rest)
        kept = max(0, rest - _BEFORE)
        self._held, self._counted = held[kept:], self._counted - kept
        self.lines = self.line - (held[-1:] in (b"", b"\n"))
        self._from = {mark: max(begin, rest) - kept for mark, begin in self._from.items()}

    def _count(self, to: int) -> None:
        if to > self._counted:
            self.line += self._held.count(b"\n", self._counted, to)
            self._counted = to

    def _end(self, mark: bytes, at: int) -> int:
        """Where the text from a mark on ends: with its line, or before the next mark that is repeated; -1 if not known yet."""
        limit = at + self._limits[mark]
        known = len(self._held) >= limit
        for each in self._repeated:
            found = self._held.find(each, at + 1, limit)
            limit, known = (found, True) if found >= 0 else (limit, known)
        ended = _END.search(self._held, at + 1, limit)  # only now: else many marks in a line cost their square
        return ended.start() if ended else limit if known else -1


class Patterns:
    """Some patterns; `marks` are the texts without which none of them is in a line."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._by_mark: Dict[bytes, Dict[str, Tuple[bytes, ...]]] = {}  # the parts of each pattern
        for pattern in patterns:
            parts = _parts(pattern)
            self._by_mark.setdefault(max(parts, key=len), {})[pattern] = parts
        self.marks = dict.fromkeys(self._by_mark, LIMIT)

    def matching(self, place: MarkedLine) -> Iterator[str]:
        """The patterns that the line of a place matches."""
        line = place.before + place.text
        if b'\\"' in line:  # the log keeps its lines as JSON strings
            line = line.replace(b'\\"', b'"')
        for pattern, parts in self._by_mark.get(place.mark, {}).items():
            if _matches(parts, line):
                yield pattern


def matches_pattern(pattern: str, text: str) -> bool:
    """Whether a line of a text matches a pattern."""
    parts = _parts(pattern)
    return any(_matches(parts, line) for line in text.encode("utf-8", "replace").splitlines())


def _parts(pattern: str) -> Tuple[bytes, ...]:
    """The literal parts of a pattern."""
    return tuple(part.encode() for part in pattern.split("*") if part)


def _matches(parts: Sequence[bytes], line: bytes) -> bool:
    at = 0
    for part in parts:  # the first place for each: a later one leaves less for those that follow
        at = line.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
