"""What hunks change in a text: the edits of each place, and the finished text."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Iterator, Sequence

from patcher.engine.match import Match
from patcher.engine.scoping import blocks_of, is_near
from patcher.engine.source import Edit, Source
from patcher.engine.spatch.side import Hunk
from patcher.message import Message
from patcher.model import HunkAnswer, Splice
from patcher.record import Record

NESTED = Message("where one place is inside another, write a hunk that has both")
"""The hint where all places are meant and one of them is inside another."""


class PlaceChange(Record):
    """The change of one place: its match and its edits.

    `nested` is whether the edits also change places inside this one.
    """

    match: Match
    edits: Sequence[Edit]
    nested: bool = False


class MatchedHunk(Record):
    """A hunk, the form of it that counts, its answer, and the changes still to be made."""

    hunk: Hunk
    form: Hunk
    answer: HunkAnswer
    changes: Sequence[PlaceChange] = ()


class FinishedText:
    """A text before and after its splices.

    `inserted` are the character ranges of `result` that the splices have written, in order;
    `inserted_lines` the first and last line of each.
    """

    def __init__(self, source: Source, result: Source, splices: Sequence[Splice]) -> None:
        self.source, self.result = source, result
        self._starts = [splice.start for splice in splices]
        self._ends = [splice.end for splice in splices]
        growth = [len(splice.new) - (splice.end - splice.start) for splice in splices]
        self._growth = [0, *accumulate(growth)]

        self.inserted: list[tuple[int, int]] = []
        for splice in splices:
            start = self.offset(splice.start)
            length = len(splice.new.decode(source.encoding))
            self.inserted.append((start, start + length))
        self.inserted_lines = result.lines.numbers(self.inserted)

    def inserts(self, node: ast.stmt | ast.expr) -> bool:
        """Whether the change has inserted the beginning of a node of the result."""
        offset = self.result.offset(node.lineno, node.col_offset)
        return any(start <= offset < end for start, end in self.inserted)

    def seams(self) -> Iterator[tuple[ast.stmt, ast.stmt]]:
        """The statements directly above one another in a block of which one alone is inserted."""
        tree = self.result.tree
        waiting = [tree.body] if tree is not None else []
        while waiting:
            body = waiting.pop()
            for above, below in zip(body, body[1:]):
                if self.inserts(above) != self.inserts(below):
                    yield above, below
            for node in body:
                if is_near(node, self.inserted_lines):
                    waiting += blocks_of(node)

    def offset(self, byte: int, *, end: bool = False) -> int:
        """Map a byte offset of `source` to a character offset of `result`.

        An offset at an insertion maps to the start of what is inserted, or with `end` to its end.
        """
        passed = bisect_right(self._ends, byte) if end else bisect_left(self._starts, byte)
        return self.result.character(byte + self._growth[passed])
