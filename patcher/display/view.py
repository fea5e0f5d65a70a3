"""A diff prepared for display: lines in coloured pieces, marked words, scopes of hunks."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import groupby
from typing import Iterable, Iterator, Sequence, Tuple

from patcher.display.highlight import TokenSpan, highlight
from patcher.display.words import word_edits
from patcher.message import Message
from patcher.record import Record
from patcher.text.diffs import FileDiff

_MOST = 20_000
"""Of a file with more changed lines no words are marked."""


class Piece(Record):
    """A part of a line.

    Attributes:
        text: its text.
        kind: its kind (see `highlight.TokenSpan`), "" for none.
        changed: whether its words changed.
    """

    text: str
    kind: str
    changed: bool


class DiffLine(Record):
    """A line of a diff, without its end.

    Attributes:
        tag: as in a unified diff.
        old: its number before, from 1; 0 for none.
        new: its number after, from 1; 0 for none.
        pieces: its parts.
    """

    tag: str
    old: int
    new: int
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The text of all pieces."""
        return "".join(piece.text for piece in self.pieces)


class DiffHunk(Record):
    """A hunk of a unified diff.

    Attributes:
        range: its range line.
        scope: the function or class that it is in.
        lines: its lines.
    """

    range: str
    scope: str
    lines: tuple[DiffLine, ...]

    @property
    def runs(self) -> list[tuple[list[DiffLine], list[DiffLine]]]:
        """The lines in order, as (deleted lines, inserted lines).

        For unchanged ones both are the same list.
        """
        runs: list[tuple[list[DiffLine], list[DiffLine]]] = []
        lines_of_code = [line for line in self.lines if line.tag != "\\"]
        for is_context, group in groupby(lines_of_code, lambda line: line.tag == " "):
            if is_context:
                lines = list(group)
                runs.append((lines, lines))
                continue
            deleted: list[DiffLine] = []
            inserted: list[DiffLine] = []
            for line in group:
                if line.tag == "-":
                    deleted.append(line)
                else:
                    inserted.append(line)
            runs.append((deleted, inserted))
        return runs


class View:
    """The diff of one file: its `hunks`, and the unchanged lines around them on request."""

    def __init__(self, diff: FileDiff) -> None:
        self.diff = diff
        self._old = _Side(diff.old or b"")
        self._new = _Side(diff.new or b"")

        plain_hunks = list(_plain(diff.text))
        if diff.added + diff.removed <= _MOST:
            every_line: list[_Plain] = []
            for _, lines in plain_hunks:
                every_line += lines
            self._mark(every_line)

        self.hunks: list[DiffHunk] = []
        for head, lines in plain_hunks:
            hunk = DiffHunk(
                range=head,
                scope=self._scope(lines),
                lines=tuple(map(self._line, lines)),
            )
            self.hunks.append(hunk)

    def context(self, old: int, new: int, count: int) -> list[DiffLine]:
        """`count` unchanged lines, from these two line numbers on."""
        lines = []
        for at in range(count):
            lines.append(self._line((" ", old + at, new + at)))
        return lines

    def gap(self, number: int) -> tuple[int, int, int]:
        """The unchanged lines above a hunk; for `len(hunks)` those below the last one.

        Returns:
            the numbers of the first before and after, and how many they are.
        """
        old = 1
        new = 1
        if number > 0:
            for line in self.hunks[number - 1].lines:
                old = max(old, line.old + 1)
                new = max(new, line.new + 1)
        if number == len(self.hunks):
            rest = self._new.count - new + 1
            return old, new, max(0, rest)

        first_line = self.hunks[number].lines[0]
        if first_line.new:
            return old, new, first_line.new - new
        return old, new, first_line.old - old

    def _mark(self, lines: Sequence[_Plain]) -> None:
        """Mark the words that differ in each run of changed lines."""
        for is_context, group in groupby(lines, lambda line: line[0] == " "):
            if is_context:
                continue
            deleted: list[int] = []
            inserted: list[int] = []
            for tag, old, new in group:
                if tag == "-":
                    deleted.append(old)
                elif tag == "+":
                    inserted.append(new)

            if len(deleted) == len(inserted):
                for old, new in zip(deleted, inserted):
                    self._mark_words((old, old), (new, new))
            elif deleted and inserted:
                self._mark_words((deleted[0], deleted[-1]), (inserted[0], inserted[-1]))

    def _mark_words(self, deleted: tuple[int, int], inserted: tuple[int, int]) -> None:
        """Mark the words that differ between two ranges, each given by its first and last line."""
        old_start, old_end = self._old.span(*deleted)
        new_start, new_end = self._new.span(*inserted)
        old_text = self._old.text[old_start:old_end]
        new_text = self._new.text[new_start:new_end]
        for i1, i2, j1, j2 in word_edits(old_text, new_text):
            self._old.mark(old_start + i1, old_start + i2)
            self._new.mark(new_start + j1, new_start + j2)

    def _scope(self, lines: Sequence[_Plain]) -> str:
        """The scope of the first changed line that is not blank, else of the first one."""
        scopes: list[str] = []
        for tag, old, new in lines:
            if tag == "-":
                side, number = self._old, old
            elif tag == "+":
                side, number = self._new, new
            else:
                continue
            scope = side.scopes[number - 1]
            if side.has_text(number):
                return scope
            scopes.append(scope)
        return scopes[0]

    def _line(self, line: _Plain) -> DiffLine:
        tag, old, new = line
        if tag == "\\":
            text = Message(" No newline at end of file")
            pieces: tuple[Piece, ...] = (Piece(text, kind="", changed=False),)
        elif tag == "-":
            pieces = self._old.pieces(old)
        else:
            pieces = self._new.pieces(new)
        return DiffLine(tag, old=old, new=new, pieces=pieces)


_Plain = Tuple[str, int, int]
"""The tag of a line, and its numbers before and after, 0 where it is not there."""
_RANGE = rb"@@ -(\d+)\S* \+(\d+)"


def _plain(diff: bytes) -> Iterator[tuple[str, list[_Plain]]]:
    """The hunks of a unified diff of one file: their ranges, and what there is of each line."""
    old = 0
    new = 0
    lines: list[_Plain] = []
    head = ""
    for line in diff.split(b"\n")[2:-1]:
        tag = line[:1].decode("ascii")
        start = re.match(_RANGE, line)
        if start:
            if lines:
                yield head, lines
            head = line.decode("ascii")
            lines = []
            old = int(start[1])
            new = int(start[2])
        elif tag == "-":
            lines.append((tag, old, 0))
            old += 1
        elif tag == "+":
            lines.append((tag, 0, new))
            new += 1
        elif tag == " ":
            lines.append((tag, old, new))
            old += 1
            new += 1
        else:  # \ No newline at end of file
            lines.append((tag, 0, 0))
    if lines:
        yield head, lines


class _Side:
    """One text of a difference."""

    def __init__(self, data: bytes) -> None:
        self.text = data.decode("utf-8", "surrogateescape")
        self._starts = [0]
        for line in self.text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.count = len(self._starts) - 1
        if not self.text or self.text.endswith("\n"):
            self.count -= 1
        self._spans, self.scopes = highlight(self.text)
        self._marks: list[TokenSpan] = []

    def mark(self, begin: int, stop: int) -> None:
        """Mark the characters `[begin, stop)` as changed; called in the order of the text."""
        if begin < stop:
            self._marks.append((begin, stop, "changed"))

    def span(self, top: int, bottom: int) -> tuple[int, int]:
        """The characters of lines, without the end of the last one."""
        return self._starts[top - 1], self._starts[bottom] - 1

    def has_text(self, number: int) -> bool:
        """Whether a line is not blank."""
        start, end = self.span(number, number)
        return bool(self.text[start:end].strip())

    def pieces(self, number: int) -> tuple[Piece, ...]:
        """A line in pieces of one colour each."""
        start, end = self.span(number, number)
        kinds = _within(self._spans, start=start, end=end)
        marks = _within(self._marks, start=start, end=end)
        edges = {start, end}
        for begin, stop, _ in (*kinds, *marks):
            edges.add(min(max(begin, start), end))
            edges.add(min(max(stop, start), end))

        pieces = []
        cuts = sorted(edges)
        for low, high in zip(cuts, cuts[1:]):
            piece = Piece(
                text=self.text[low:high],
                kind=_kind_at(low, kinds),
                changed=_kind_at(low, marks) != "",
            )
            pieces.append(piece)
        return tuple(pieces)


def _kind_at(offset: int, spans: Iterable[TokenSpan]) -> str:
    """The kind of the span that a character lies in, "" for none."""
    for begin, stop, kind in spans:
        if begin <= offset < stop:
            return kind
    return ""


def _within(spans: Sequence[TokenSpan], *, start: int, end: int) -> Sequence[TokenSpan]:
    """The spans that touch `[start, end)`, and perhaps the one before them.

    Args:
        spans: sorted; none lies in another.
        start: of the range.
        end: of the range.
    """
    first = bisect_right(spans, (start, start, "")) - 1
    last = bisect_left(spans, (end, end, ""))
    return spans[max(0, first) : last]
