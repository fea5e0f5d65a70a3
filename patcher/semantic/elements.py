"""Elements separated by commas: arguments, parameters, names of an import, entries of a list (format rule 16)."""

from __future__ import annotations

from typing import Callable, List, Optional, Sequence

from patcher.semantic.align import Gap, Pair, align_arguments
from patcher.semantic.edits import Conflict, Edits, Whole
from patcher.semantic.lex import find_outside
from patcher.semantic.node import Node, index_of


def change_elements(
    edits: Edits, change: Callable[[Node, Node], None], before: List[Node], after: List[Node], code: Node, key: str
) -> None:
    """Edit the list in field `key` of `code` so that it becomes what the after side says.

    Raises:
        Whole: only replacing the node that holds the list can make the difference.
        Conflict: the change cannot be made safely.
    """
    elements = code.items(key)
    pairs, gaps = align_arguments(edits.hunk, before, after)
    gone = sum(len(edits.codes(node)) for gap in gaps for node in gap.gone)
    remaining = len(elements) - gone + sum(len(gap.come) for gap in gaps)
    if code.kind in ("Import", "ImportFrom") and remaining == 0:
        raise Conflict("the last name of an import cannot be removed: remove the statement")
    if (code.kind == "Tuple" and remaining < 2) or (code.kind == "ClassDef" and not (elements and remaining)):
        raise Whole
    for old, new in pairs:
        if old.role != "run":
            change(old, new)
    for gap in gaps:
        going = [element for node in gap.gone for element in edits.codes(node)]
        edits.gone += gap.gone
        for element, node in zip(going, gap.come):
            edits.add(element.outer_start, element.outer_end, edits.render.part(node, edits.lines.indent(element.start)))
        _remove(edits, going[len(gap.come) :], elements)
        if gap.come[len(going) :]:
            _insert(edits, gap.come[len(going) :], gap, elements, going, code)


def _remove(edits: Edits, gone: Sequence[Node], elements: List[Node]) -> None:
    """An element that has its lines to itself goes with them, others with one comma."""
    text, lines = edits.text, edits.lines
    for element in gone:
        index = index_of(elements, element)
        kept = [node for node in elements[:index] if not any(node is other for other in gone)]
        start, end = lines.start(element.outer_start), lines.end(element.outer_end - 1)
        tail = text[element.outer_end : end].strip()
        if not text[start : element.outer_start].strip() and tail[:1] == "," and tail[1:].lstrip()[:1] in ("", "#"):
            edits.add(start, end, "")
        elif index + 1 < len(elements):
            edits.add(element.outer_start, elements[index + 1].outer_start, "")
        elif kept:
            edits.add(kept[-1].outer_end, element.outer_end, "")
        else:
            comma = text[element.outer_end :].lstrip()[:1] == ","
            last = find_outside(text, element.outer_end, ",") + 1 if comma else element.outer_end
            edits.add(element.outer_start, last, "")


def _insert(edits: Edits, come: List[Node], gap: Gap, elements: List[Node], gone: List[Node], code: Node) -> None:
    """New elements follow the layout of their list, one a line or inline."""
    texts = [edits.render.part(node, edits.lines.indent(code.start)) for node in come]
    if not elements:
        at = _opened(edits, code)
        edits.add(at, at, ", ".join(texts))
        return
    above = gone[-1] if gone else _last_above(edits, gap.above)
    if above is not None and above.kind == "Param" and above.fields["star"] == "**":
        index = index_of(elements, above)  # a new parameter goes before `**kw`
        above = elements[index - 1] if index else None
        anchor = above or elements[0]
    else:
        anchor = above if above is not None else _first_below(edits, gap.below, elements)
    start = edits.lines.start(anchor.outer_start)
    indent = edits.text[start : anchor.outer_start]
    own_line = not indent.strip() and (anchor is not elements[0] or len(elements) == 1)
    separator = "," + edits.source.newline + indent if own_line else ", "
    end = edits.lines.end(anchor.outer_end - 1)
    tail = edits.text[anchor.outer_end : end].strip()
    rest = tail[1:].lstrip() if tail[:1] == "," else tail
    if above is not None and own_line and rest[:1] == "#":  # the comment belongs to the element it stands beside
        comma, newline = tail[:1] == ",", edits.source.newline
        if not comma:
            edits.add(anchor.outer_end, anchor.outer_end, ",")
        lines = [indent + text + ("," if comma or text is not texts[-1] else "") + newline for text in texts]
        edits.add(end, end, "".join(lines))
    elif above is not None:
        edits.add(anchor.outer_end, anchor.outer_end, "".join(separator + text for text in texts))
    else:
        edits.add(anchor.outer_start, anchor.outer_start, "".join(text + separator for text in texts))


def _opened(edits: Edits, code: Node) -> int:
    """The offset past the bracket of an empty list."""
    if code.kind == "Call":
        return find_outside(edits.text, code.node("func").outer_end, "(") + 1
    if code.kind == "Parameters":
        if code.parent is None or code.parent.kind != "FunctionDef":
            raise Whole
        return find_outside(edits.text, code.parent.node("name").end, "(") + 1
    return code.start + 1


def _last_above(edits: Edits, pair: Optional[Pair]) -> Optional[Node]:
    """The last element that stands above an insertion, looking past runs that are empty here."""
    if pair is None:
        return None
    codes = edits.codes(pair[0])
    if codes:
        return max(codes, key=lambda node: node.outer_end)
    siblings = pair[0].siblings()
    index = index_of(siblings, pair[0])
    return _last_above(edits, (siblings[index - 1], siblings[index - 1])) if index else None


def _first_below(edits: Edits, pair: Optional[Pair], elements: List[Node]) -> Node:
    codes = edits.codes(pair[0]) if pair is not None else []
    return codes[0] if codes else elements[0]
