"""Which part of the text of a file belongs to a statement, a header or a clause."""

from __future__ import annotations

from typing import Sequence, Tuple

from patcher.engine.tree import Node, Tree


def gap(text: Tree, nodes: Sequence[Node], at: Tuple[int, int]) -> Tuple[int, int]:
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


def clause_gap(text: Tree, node: Node, at: Tuple[int, int]) -> Tuple[int, int]:
    """`gap` for the clauses of a statement."""
    clauses = node.items("clauses")
    start = clauses[at[0] - 1].outer_end if at[0] else node.node("body").statements()[-1].outer_end
    last = clauses[-1].outer_end if clauses else start
    return start, clauses[at[1]].start if at[1] < len(clauses) else _line_end(text, last)


def _line_end(text: Tree, offset: int) -> int:
    """The end of an offset's line, without its line break: what follows belongs to no statement."""
    end = text.lines.end(offset)
    return offset + len(text.text[offset:end].rstrip("\r\n"))
