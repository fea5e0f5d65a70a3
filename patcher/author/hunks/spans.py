"""A text of a file with its tree, and which part of the text belongs to a statement, a header or a clause."""

from __future__ import annotations

from bisect import bisect_left
from typing import Sequence, Tuple

from patcher.engine import lex
from patcher.engine.node import Node
from patcher.engine.source import Source


class Text:
    """A text of a file, decoded, with its tree; all offsets are in characters.

    `in_strings` has the offsets of the lines that begin inside a string.

    Raises:
        SyntaxProblem: it is not Python.
    """

    def __init__(self, data: bytes) -> None:
        self.source = Source(data)
        self.text = self.source.text
        self.tree = self.source.whole()
        code = [token for token in lex.tokens(self.text) if token.kind not in lex.LAYOUT]
        self.in_strings = frozenset(lex.lines_in_strings(self.text))
        self._starts, self._ends = [token.start for token in code], [token.end for token in code]

    def code_before(self, offset: int) -> int:
        """The end of the last token of code that ends at or before an offset, 0 where there is none."""
        index = bisect_left(self._ends, offset + 1)
        return self._ends[index - 1] if index else 0

    def code_from(self, offset: int) -> int:
        """The start of the first token of code at or after an offset, the end of the text where there is none."""
        index = bisect_left(self._starts, offset)
        return self._starts[index] if index < len(self._starts) else len(self.text)


def gap(text: Text, nodes: Sequence[Node], at: Tuple[int, int]) -> Tuple[int, int]:
    """The range from the code above some statements of a block to the statement below them, or to the end of their line.

    Args:
        text: the text of the file.
        nodes: all statements of the block.
        at: which of them, as a half-open range; an empty one is a place between two.
    """
    first, last = at
    if not nodes:
        return 0, len(text.text)
    start = nodes[first - 1].outer_end if first else text.code_before(nodes[0].begin)
    return start, nodes[last].begin if last < len(nodes) else _line_end(text, nodes[-1].outer_end)


def clause_gap(text: Text, node: Node, at: Tuple[int, int]) -> Tuple[int, int]:
    """`gap` for the clauses of a statement."""
    clauses = node.items("clauses")
    start = clauses[at[0] - 1].outer_end if at[0] else node.node("body").statements()[-1].outer_end
    last = clauses[-1].outer_end if clauses else start
    return start, clauses[at[1]].start if at[1] < len(clauses) else _line_end(text, last)


def _line_end(text: Text, offset: int) -> int:
    """The end of an offset's line, without its line break: what follows belongs to no statement."""
    end = text.source.lines.end(offset)
    return offset + len(text.text[offset:end].rstrip("\r\n"))
