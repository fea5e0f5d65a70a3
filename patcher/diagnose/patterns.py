"""Patterns over lines: literal text in which `*` stands for any text. Found by searching for their longest literal parts."""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, Sequence, Tuple

from patcher.diagnose.marks import MarkedLine

LIMIT = 4096  # bytes of a line from the longest part of a pattern on that are looked at


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
