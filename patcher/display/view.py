"""A diff prepared for display: its lines in coloured pieces, with changed words marked, and the scope of each hunk."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import groupby
from typing import Iterator, NamedTuple, Sequence, Tuple

from patcher.display.highlight import TokenSpan, highlight
from patcher.display.words import word_edits
from patcher.message import Message
from patcher.text.diffs import FileDiff

_MOST = 20_000  # changed lines of a file, above which no words are marked


class Piece(NamedTuple):
    """A part of a line: its text, its kind (see `highlight.TokenSpan`, "" for none), and whether its words changed."""

    text: str
    kind: str
    changed: bool


class DiffLine(NamedTuple):
    """A line without its end: `tag` as in a unified diff, 1-based line numbers before and after, 0 for none."""

    tag: str
    old: int
    new: int
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The text of all pieces."""
        return "".join(piece.text for piece in self.pieces)


class DiffHunk(NamedTuple):
    """A hunk of a unified diff: its range line, the function or class that it is in, and its lines."""

    range: str
    scope: str
    lines: tuple[DiffLine, ...]

    @property
    def runs(self) -> list[tuple[list[DiffLine], list[DiffLine]]]:
        """The lines in order, as (deleted lines, inserted lines); for unchanged ones both are the same list."""
        runs: list[tuple[list[DiffLine], list[DiffLine]]] = []
        for same, group in groupby(
            (line for line in self.lines if line.tag != "\\"), lambda line: line.tag == " "
        ):
            lines = list(group)
            deleted, inserted = ([line for line in lines if line.tag == tag] for tag in "-+")
            runs.append((lines, lines) if same else (deleted, inserted))
        return runs


class View:
    """The diff of one file: its `hunks`, and the unchanged lines around them on request."""

    def __init__(self, diff: FileDiff) -> None:
        self.diff = diff
        self._old, self._new = _Side(diff.old), _Side(diff.new)
        plain = list(_plain(diff.text))
        if diff.added + diff.removed <= _MOST:
            self._mark([line for _, lines in plain for line in lines])
        self.hunks = [
            DiffHunk(head, self._scope(lines), tuple(map(self._line, lines)))
            for head, lines in plain
        ]

    def context(self, old: int, new: int, count: int) -> list[DiffLine]:
        """`count` unchanged lines, from these two line numbers on."""
        return [self._line((" ", old + at, new + at)) for at in range(count)]

    def gap(self, number: int) -> tuple[int, int, int]:
        """The unchanged lines above a hunk (for `len(hunks)`: below the last one): the numbers of the first, and how many."""
        before = self.hunks[number - 1].lines if number else ()
        old, new = (
            max((line.old for line in before), default=0) + 1,
            max((line.new for line in before), default=0) + 1,
        )
        if number == len(self.hunks):
            return old, new, max(0, self._new.count - new + 1)
        first_line = self.hunks[number].lines[0]
        return old, new, (first_line.new - new if first_line.new else first_line.old - old)

    def _mark(self, lines: Sequence[_Plain]) -> None:
        """Mark the words that differ in each run of changed lines."""
        for _, group in groupby(lines, lambda line: line[0] == " "):
            run = list(group)
            deleted, inserted = (
                [old for tag, old, _ in run if tag == "-"],
                [new for tag, _, new in run if tag == "+"],
            )
            single = len(deleted) == len(inserted)  # compared line by line, else the run as a whole
            for old, new in (
                zip(deleted, inserted)
                if single
                else [(deleted[0], inserted[0])]
                if deleted and inserted
                else ()
            ):
                before = self._old.span(old, old if single else deleted[-1])
                after = self._new.span(new, new if single else inserted[-1])
                words = word_edits(self._old.text[slice(*before)], self._new.text[slice(*after)])
                self._old.mark(before[0], [(i1, i2) for i1, i2, _, _ in words])
                self._new.mark(after[0], [(j1, j2) for _, _, j1, j2 in words])

    def _scope(self, lines: Sequence[_Plain]) -> str:
        """The scope of the first changed line that is not blank."""
        changed = [
            (self._new, new) if tag == "+" else (self._old, old)
            for tag, old, new in lines
            if tag in "-+"
        ]
        side, number = next(
            ((side, line) for side, line in changed if side.has_text(line)), changed[0]
        )
        return side.scopes[number - 1]

    def _line(self, line: _Plain) -> DiffLine:
        tag, old, new = line
        if tag == "\\":
            return DiffLine(tag, 0, 0, (Piece(Message(" No newline at end of file"), "", False),))
        return DiffLine(
            tag, old, new, self._old.pieces(old) if tag == "-" else self._new.pieces(new)
        )


_Plain = Tuple[str, int, int]
"""The tag of a line, and its numbers before and after, 0 where it is not there."""


def _plain(diff: bytes) -> Iterator[tuple[str, list[_Plain]]]:
    """The hunks of a unified diff of one file: their ranges, and what there is of each line."""
    old = new = 0
    lines: list[_Plain] = []
    head = ""
    for line in diff.split(b"\n")[2:-1]:
        tag = line[:1].decode("ascii")
        if tag == "@":
            if lines:
                yield head, lines
            head, lines = line.decode("ascii"), []
            old, new = (int(part[1:].split(b",")[0]) for part in line.split(b" ")[1:3])
        else:
            lines.append((tag, old if tag in " -" else 0, new if tag in " +" else 0))
            old, new = old + (tag in " -"), new + (tag in " +")
    if lines:
        yield head, lines


class _Side:
    """One text of a difference."""

    def __init__(self, data: bytes) -> None:
        self.text = data.decode("utf-8", "surrogateescape")
        self._starts = [0]
        for line in self.text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.count = len(self._starts) - 1 - (not self.text or self.text.endswith("\n"))
        self._spans, self.scopes = highlight(self.text)
        self._marks: list[TokenSpan] = []

    def mark(self, start: int, words: Sequence[tuple[int, int]]) -> None:
        """Mark words as changed, by their offsets from `start` on; to be called in the order of the text."""
        self._marks += [
            (start + begin, start + stop, "changed") for begin, stop in words if begin < stop
        ]

    def span(self, top: int, bottom: int) -> tuple[int, int]:
        """The characters of lines, without the end of the last one."""
        return self._starts[top - 1], self._starts[bottom] - 1

    def has_text(self, number: int) -> bool:
        """Whether a line is not blank."""
        return bool(self.text[slice(*self.span(number, number))].strip())

    def pieces(self, number: int) -> tuple[Piece, ...]:
        """A line in pieces of one colour each."""
        start, end = self.span(number, number)
        kinds, marks = _within(self._spans, start, end), _within(self._marks, start, end)
        edges = sorted(
            {
                start,
                end,
                *(min(max(edge, start), end) for span in (*kinds, *marks) for edge in span[:2]),
            }
        )
        pieces = []
        for low, high in zip(edges, edges[1:]):
            kind = next((kind for begin, stop, kind in kinds if begin <= low < stop), "")
            pieces.append(
                Piece(
                    self.text[low:high], kind, any(begin <= low < stop for begin, stop, _ in marks)
                )
            )
        return tuple(pieces)


def _within(spans: Sequence[TokenSpan], start: int, end: int) -> Sequence[TokenSpan]:
    """Those of sorted spans, of which none lies in another, that touch `[start, end)`; and perhaps the one before them."""
    return spans[
        max(0, bisect_right(spans, (start, start, "")) - 1) : bisect_left(spans, (end, end, ""))
    ]
