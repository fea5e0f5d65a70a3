"""Elements separated by commas: arguments, parameters, names of an import, entries of a list (format rule 16)."""

from __future__ import annotations

import re
from typing import Callable, List, Optional, Sequence

from patcher.semantic.align import Gap, Pair, align_arguments
from patcher.semantic.edits import Conflict, Edits, Whole
from patcher.semantic.lex import find_outside, scan
from patcher.semantic.node import Node, index_of
from patcher.semantic.precedence import is_bare


def change_elements(
    edits: Edits, change: Callable[[Node, Node], None], before: List[Node], after: List[Node], code: Node, key: str
) -> None:
    """Edit the list in field `key` of `code` so that it becomes what the after side says.

    A generator that is no longer the only argument gets parentheses.

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
    if (code.kind == "Tuple" and remaining < min(2, len(elements))) or (
        code.kind == "ClassDef" and not (elements and remaining)
    ):
        raise Whole
    bare = elements[0] if len(elements) == 1 < remaining and is_bare(elements[0]) else None
    for old, new in pairs:
        if old.role != "run":
            change(old, new)
    if bare is not None:
        edits.add(bare.end, bare.end, ")")
    removed: List[Node] = []
    for gap in gaps:
        going = [element for node in gap.gone for element in edits.codes(node)]
        edits.gone += gap.gone
        for element, node in zip(going, gap.come):
            edits.add(element.outer_start, element.outer_end, edits.render.part(node, edits.lines.indent(element.start)))
        removed += going[len(gap.come) :]
        if gap.come[len(going) :]:
            _insert(edits, gap.come[len(going) :], gap, elements, going, code)
    if removed:
        _remove(edits, sorted(removed, key=lambda element: element.outer_start), elements)
    if bare is not None:
        edits.add(bare.start, bare.start, "(")


def _remove(edits: Edits, gone: Sequence[Node], elements: List[Node]) -> None:
    """An element goes with one comma, and with its lines and their comment where it has them to itself."""
    text, lines = edits.text, edits.lines
    kept = [node for node in elements if not any(node is other for other in gone)]
    tail = elements[index_of(elements, kept[-1]) + 1 :] if kept else elements
    begin = kept[-1].outer_end if kept else elements[0].outer_start
    if tail and not _own_lines(edits, tail[-1]) and "#" not in text[begin : tail[-1].outer_start]:
        end = tail[-1].outer_end
        edits.add(begin, end if kept else _comma(text, end) or end, "")
        gone, tail = gone[: len(gone) - len(tail)], []
    for element in gone:
        start, end, comma = element.outer_start, lines.end(element.outer_end - 1), _comma(text, element.outer_end)
        index = index_of(elements, element)
        above, following = elements[max(index - 1, 0)], elements[index + 1 :]  # the first one goes itself: not in `kept`
        if _own_lines(edits, element):
            edits.add(lines.start(start), end, "")
        elif following and above in kept and _ends_line(text, above, element, following[0]):
            edits.add(above.outer_end, element.outer_end, "")
        elif following and "#" not in text[element.outer_end : following[0].outer_start]:
            edits.add(start, following[0].outer_start, "")
        else:
            stop = comma or element.outer_end
            blank = not text[stop : lines.end(stop)].strip()
            left = len(text[:start].rstrip(" \t")) if blank else start
            edits.add(left, stop if blank else stop + len(text[stop:]) - len(text[stop:].lstrip(" \t")), "")
    if tail and kept and not _comma(text, tail[-1].outer_end):
        last = _comma(text, kept[-1].outer_end)
        edits.add(last - 1, last, "")


def _ends_line(text: str, above: Node, element: Node, below: Node) -> bool:
    """Whether an element stands on the line of the one above it, and the one below does not: that line break stays."""
    parted = re.search("[\r\n]", text[above.outer_end : element.outer_start])
    return not parted and bool(re.search("[\r\n]", text[element.outer_end : below.outer_start]))


def _own_lines(edits: Edits, element: Node) -> bool:
    """Whether nothing but an element, its comma and a comment stands on its lines."""
    text, lines = edits.text, edits.lines
    start, end = lines.start(element.outer_start), lines.end(element.outer_end - 1)
    joined = text[:start].rstrip("\r\n").endswith("\\")
    comma = _comma(text, element.outer_end)
    rest = text[comma if comma and comma <= end else element.outer_end : end].strip()
    last = element is element.siblings()[-1]
    alone = not text[start : element.outer_start].strip() and rest[:1] in ("", "#") and not joined
    return alone and (last or bool(comma and comma <= end))


def _comma(text: str, end: int) -> int:
    """The offset past the comma that follows an element, 0 where none does."""
    following = next((token for token in scan(text, end) if token.kind not in ("space", "newline", "comment")), None)
    return following.end if following is not None and following.text == "," else 0


def _insert(edits: Edits, come: List[Node], gap: Gap, elements: List[Node], gone: List[Node], code: Node) -> None:
    """New elements follow the layout of their list, one a line or inline."""
    text = edits.text
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
    indent = _one_a_line(edits, elements)
    separator = ", " if indent is None else "," + edits.source.newline + indent
    end = edits.lines.end(anchor.outer_end - 1)
    comma = _comma(text[:end], anchor.outer_end)
    if above is not None and indent is not None and text[comma or anchor.outer_end : end].lstrip()[:1] == "#":
        if not comma:  # the comment belongs to the element it stands beside
            edits.add(anchor.outer_end, anchor.outer_end, ",")
        lines = [indent + text + ("," if comma or text is not texts[-1] else "") + edits.source.newline for text in texts]
        edits.add(end, end, "".join(lines))
    elif above is not None:
        edits.add(anchor.outer_end, anchor.outer_end, "".join(separator + text for text in texts))
    else:
        start = edits.lines.start(anchor.outer_start)
        alone = not text[start : anchor.outer_start].strip()
        while alone and text[edits.lines.start(start - 1) : start].lstrip().startswith("#"):
            start = edits.lines.start(start - 1)  # the comments over an element are its own
        at = start + len(edits.lines.indent(start)) if alone and indent is not None else anchor.outer_start
        edits.add(at, at, "".join(text + separator for text in texts))


def _one_a_line(edits: Edits, elements: List[Node]) -> Optional[str]:
    """The indentation of the elements of a list that has one a line (the first may stand beside its bracket)."""
    text, lines = edits.text, edits.lines
    rest = elements[1:] or elements
    starts = [lines.start(element.outer_start) for element in rest]
    inline = any(text[start : element.outer_start].strip() for start, element in zip(starts, rest))
    joined = any(text[:start].rstrip("\r\n").endswith("\\") for start in starts)
    return None if inline or joined else text[starts[0] : rest[0].outer_start]


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
