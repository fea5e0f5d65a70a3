"""Elements that change places in a list written one a line: each takes its comments along (format rule 19)."""

from __future__ import annotations

from typing import Dict, Sequence

from patcher.engine.edit import Conflict
from patcher.engine.node import Node, same
from patcher.engine.rewrite.align import Gap, NodePair
from patcher.engine.rewrite.edits import Edits
from patcher.engine.rewrite.row import ElementRow
from patcher.message import Message


def reorder(
    edits: Edits,
    after: Sequence[Node],
    pairs: Sequence[NodePair],
    gaps: Sequence[Gap],
    row: ElementRow,
    *,
    alone: bool = False,
) -> bool:
    """Write the list anew, line by line, where an element with comments of its own moves, or is left `alone` in a tuple.

    Returns:
        False where none does, and nothing was edited.

    Raises:
        Conflict: its comments cannot be told from those of others.
    """
    gone = {id(node): node for gap in gaps for node in gap.deleted if node.role != "run"}
    staying = [old for old, _ in pairs if alone and old.role != "run"]
    if not any(_has_comment(row, edits.code(node)) for node in (*gone.values(), *staying)):
        return False
    partners = {id(new): old for old, new in pairs}
    moved: Dict[int, Node] = {}
    for node in (node for gap in gaps for node in gap.inserted):
        old = next((old for old in gone.values() if same(old, node) and old not in moved.values()), None)
        if old is not None:
            moved[id(node)] = old
    commented = [code for code in map(edits.code, [*moved.values(), *staying]) if _has_comment(row, code)]
    if not commented:
        return False
    changed = any(old.role != "run" and not same(old, new) for old, new in pairs)
    if changed or row.leads or not all(map(row.has_own_lines, row.elements)):
        line = edits.lines.number(commented[0].start)
        raise Conflict(
            Message(
                "the element in line {line} moves, and its comment cannot be moved along: write another hunk for the rest",
                line=line,
            )
        )
    partners.update(moved)
    codes = [edits.codes(partners[id(node)]) if id(node) in partners else [node] for node in after]
    items = [item for group in codes for item in group]
    trailing = alone or bool(row.following(row.elements[-1].outer_end))
    written = "".join(_written(edits, row, item, separated=trailing or item is not items[-1]) for item in items)
    edits.add(row.begin(row.elements[0]), edits.lines.end(row.elements[-1].outer_end - 1), written)
    edits.deleted += [node for node in gone.values() if node not in moved.values()]
    return True


def _has_comment(row: ElementRow, code: Node) -> bool:
    above = row.begin(code) < row.lines.start(code.outer_start)
    return above or "#" in row.text[row.following(code.outer_end) or code.outer_end : row.lines.end(code.outer_end - 1)]


def _written(edits: Edits, row: ElementRow, item: Node, *, separated: bool) -> str:
    """The lines of an element of the file, or of one that is inserted, with or without a separator."""
    comma = row.separator if separated else ""
    if not any(item is element for element in row.elements):
        indent = row.indent or ""
        return indent + edits.render.part(item, indent) + comma + edits.lines.newline
    past = row.following(item.outer_end) or item.outer_end
    return row.text[row.begin(item) : item.outer_end] + comma + row.text[past : edits.lines.end(item.outer_end - 1)]
