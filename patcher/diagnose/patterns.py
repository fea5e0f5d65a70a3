"""Patterns over lines: literal text in which `*` stands for any text. Found by searching for their longest literal parts."""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

from patcher.diagnose.marks import MarkedLine

LIMIT = 4096  # bytes of a line from the longest part of a pattern on that are looked at


class _Pattern(NamedTuple):
    number: int
    parts: Tuple[bytes, ...]


class Patterns:
    """Some patterns; `marks` are the texts without which none of them is in a line."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.marks: Dict[bytes, int] = {}
        self._by_mark: Dict[bytes, List[_Pattern]] = {}
        for index, pattern in enumerate(patterns):
            parts = _parts(pattern)
            mark = max(parts, key=len)
            self.marks[mark] = LIMIT
            self._by_mark.setdefault(mark, []).append(_Pattern(index, parts))

    def matching(self, place: MarkedLine) -> Iterator[int]:
        """The patterns (their numbers) that the line of a place matches."""
        line = place.before + place.text
        if b'\\"' in line:  # the log keeps its lines as JSON strings
            line = line.replace(b'\\"', b'"')
        for pattern in self._by_mark.get(place.mark, ()):
            if _matches(pattern.parts, line):
                yield pattern.number


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
