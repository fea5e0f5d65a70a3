"""Elements with a separator between them: arguments, parameters, entries of a list, operands of a chain (format rule 16)."""

from __future__ import annotations

import re
from itertools import islice
from typing import Sequence

from patcher.engine.layout import is_continuation
from patcher.engine.lex import find_outside, scan, tokens
from patcher.engine.node import Node, same
from patcher.engine.rewrite.align import Gap, NodePair, align, align_arguments
from patcher.engine.rewrite.edits import Edits, ReplaceWhole
from patcher.engine.rewrite.precedence import has_star, is_bare
from patcher.engine.source import Conflict
from patcher.message import Message


class ElementRow:
    """The elements of one list in the file and its layout.

    `indent` is the indentation of elements that are written one a line, else None; `leads` is whether the separator begins
    their lines (`+ b`), and not ends them (`a +`).
    """

    def __init__(self, edits: Edits, elements: list[Node], separator: str) -> None:
        self.edits, self.text, self.lines = edits, edits.text, edits.lines
        self.elements, self.separator = elements, separator
        self.spaced = separator if separator == "," else " " + separator
        self.leads = any(self._leading(index) for index in range(1, len(elements)))
        self.indent = self._one_a_line()

    def following(self, end: int) -> int:
        """The offset past the separator that follows at `end`, 0 where none does."""
        token = next(
            (
                token
                for token in scan(self.text, end)
                if token.kind not in ("space", "newline", "comment")
            ),
            None,
        )
        return (
            token.start + len(self.separator)
            if token and self.text.startswith(self.separator, token.start)
            else 0
        )

    def start(self, index: int) -> int:
        """Where an element begins; where separators lead, with the separator before it."""
        past = self.following(self.elements[index - 1].outer_end) if index and self.leads else 0
        return past - len(self.separator) if past else self.elements[index].outer_start

    def _leading(self, index: int) -> bool:
        """Whether the separator before an element is on its line, and not on that of the element above."""
        above, start = self.elements[index - 1].outer_end, self.elements[index].outer_start
        separator = self.following(above)
        return bool(separator) and self.lines.number(above) < self.lines.number(
            separator
        ) == self.lines.number(start)

    def _one_a_line(self) -> str | None:
        """The indentation of the elements if they are written one a line (the first may be beside its bracket)."""
        indexes = range(1, len(self.elements)) or range(len(self.elements))
        for index in indexes:
            start = self.lines.start(self.start(index))
            if self.text[start : self.start(index)].strip() or is_continuation(self.text, start):
                return None
        return self.lines.indent(self.start(indexes[0])) if self.elements else None

    def has_own_lines(self, element: Node) -> bool:
        """Whether the lines of an element have nothing else but its separator and a comment."""
        code, lines = self.text, self.lines
        start, end = lines.start(element.outer_start), lines.end(element.outer_end - 1)
        comma = self.following(element.outer_end)
        tail = code[comma if comma and comma <= end else element.outer_end : end].strip()
        is_last = element is self.elements[-1]
        alone = (
            not code[start : element.outer_start].strip()
            and tail[:1] in ("", "#")
            and not is_continuation(code, start)
        )
        return alone and (is_last or bool(comma and comma <= end))

    def begin(self, element: Node) -> int:
        """Where the lines of an element begin, the comments over it among them."""
        start = self.lines.start(element.outer_start)
        while start and self.text[self.lines.start(start - 1) : start].lstrip().startswith("#"):
            start = self.lines.start(start - 1)
        return start


def change_elements(
    edits: Edits, before: list[Node], after: list[Node], code: Node, key: str
) -> None:
    """Edit the list in field `key` of `code` as the after side has it.

    A generator that is no longer the only argument gets parentheses.

    Raises:
        ReplaceWhole: the node that has the list must be replaced as a whole.
        Conflict: the change cannot be made safely.
    """
    elements = code.items(key)
    pairs, gaps = align_arguments(edits.hunk, before, after)
    deleted = sum(len(edits.codes(node)) for gap in gaps for node in gap.deleted)
    remaining = len(elements) - deleted + sum(len(gap.inserted) for gap in gaps)
    if code.kind in ("Import", "ImportFrom") and remaining == 0:
        raise Conflict(
            Message("the last name of an import cannot be removed: remove the statement")
        )
    row = ElementRow(edits, elements, ",")
    alone = code.kind == "Tuple" and remaining == 1 < len(elements)
    if alone and code.parenthesised and _reorder(edits, after, pairs, gaps, row, alone=True):
        return
    if (code.kind == "Tuple" and remaining < min(2, len(elements))) or (
        code.kind == "ClassDef" and not (elements and remaining)
    ):
        raise ReplaceWhole
    if code.kind == "Tuple" and code.parenthesised and any(node.kind == "Slice" for node in after):
        raise ReplaceWhole  # a slice cannot stand in parentheses
    if (
        code.kind == "Tuple"
        and not code.parenthesised
        and has_star(after)
        and not has_star(elements)
    ):
        raise ReplaceWhole  # which may need parentheses now
    bare = elements[0] if len(elements) == 1 < remaining and is_bare(elements[0]) else None
    if not _reorder(edits, after, pairs, gaps, row):
        _change(pairs, gaps, row, code, bare)


def chain(node: Node) -> tuple[str, list[Node]]:
    """The operator and the operands of a chain (`a and b and c`, `a + b + c`); the operator is "" if there are several."""
    if node.kind in ("And", "Or"):
        return node.kind.lower(), node.items("values")
    if node.kind == "Comparison":
        links = node.items("comparisons")
        operators = {str(link.node("operator").fields["value"]) for link in links}
        operator = operators.pop() if len(operators) == 1 else " "
        return "" if " " in operator else operator, [
            node.node("left"),
            *(link.node("comparator") for link in links),
        ]
    operands: list[Node] = []
    operator = str(node.node("operator").fields["value"])
    while (
        node.kind == "BinaryOperation"
        and node.node("operator").fields["value"] == operator
        and operator != "**"
    ):
        operands.append(node.node("right"))
        node = node.node("left")
    return "" if operator == "**" else operator, [node, *operands[::-1]]


def change_chain(edits: Edits, before: Node, after: Node) -> bool:
    """Edit the operands of a chain as the elements of a list.

    Returns:
        False where the two sides are not chains of one operator, and nothing was edited.

    Raises:
        ReplaceWhole: the chain must be replaced as a whole.
    """
    (operator, old), (new_operator, new) = chain(before), chain(after)
    if not operator or operator != new_operator:
        return False
    pairs, gaps = align(edits.hunk, old, new)
    if not pairs or before.fields.get("groups") != after.fields.get("groups"):
        raise ReplaceWhole
    row = ElementRow(edits, [edits.code(node) for node in old], operator)
    for above, below in zip(row.elements, row.elements[1:]):
        if any(
            token.text in ("(", ")")
            for token in tokens(edits.text[above.outer_end : below.outer_start])
        ):
            raise ReplaceWhole  # a part of the chain is in parentheses of its own
    _change(pairs, gaps, row, edits.code(before))
    return True


def _change(
    pairs: list[NodePair], gaps: list[Gap], row: ElementRow, code: Node, bare: Node | None = None
) -> None:
    edits = row.edits
    for old, new in pairs:
        if old.role != "run":
            edits.change(old, new)
    if bare is not None:
        edits.add(bare.end, bare.end, ")")
    deleted_codes = [
        [element for node in gap.deleted for element in edits.codes(node)] for gap in gaps
    ]
    removed: list[Node] = []
    for gap, deleted in zip(gaps, deleted_codes):
        edits.deleted += gap.deleted
        for element, node in zip(deleted, gap.inserted):
            edits.add(
                element.outer_start,
                element.outer_end,
                edits.render.part(node, edits.lines.indent(element.start)),
            )
        removed += deleted[len(gap.inserted) :]
    lost = set(map(id, removed))
    staying = [element for element in row.elements if id(element) not in lost]
    for gap, deleted in zip(gaps, deleted_codes):
        if gap.inserted[len(deleted) :]:
            above = deleted[-1] if deleted else _last_above(edits, gap.above, lost)
            _insert(edits, gap.inserted[len(deleted) :], above, staying, row, code)
    if removed:
        _remove(edits, sorted(removed, key=lambda element: element.outer_start), row)
    if bare is not None:
        edits.add(bare.start, bare.start, "(")


def _remove(edits: Edits, deleted: Sequence[Node], row: ElementRow) -> None:
    """Delete elements, each with one separator, and with its lines and their comment if nothing else is on them."""
    code, lines, elements = edits.text, edits.lines, row.elements
    index_by_id, removed_ids = (
        {id(node): index for index, node in enumerate(elements)},
        set(map(id, deleted)),
    )
    kept = [node for node in elements if id(node) not in removed_ids]
    if row.leads and kept:
        _remove_leading(edits, deleted, kept, row)
        return
    tail = elements[elements.index(kept[-1]) + 1 :] if kept else elements
    begin = kept[-1].outer_end if kept else elements[0].outer_start
    if tail and not row.has_own_lines(tail[-1]) and "#" not in code[begin : tail[-1].outer_start]:
        end = tail[-1].outer_end
        edits.add(begin, end if kept else row.following(end) or end, "")
        deleted, tail = deleted[: len(deleted) - len(tail)], []
    past = 0
    for element in deleted:
        start, end, comma = (
            element.outer_start,
            lines.end(element.outer_end - 1),
            row.following(element.outer_end),
        )
        index = index_by_id[id(element)]
        if index < past:
            continue
        below = next(
            (node for node in islice(elements, index + 1, None) if id(node) not in removed_ids),
            None,
        )
        above, following = elements[max(index - 1, 0)], elements[index + 1 : index + 2]
        # for the first element `above` is itself, which is deleted
        stays = id(above) not in removed_ids
        if row.has_own_lines(element):
            edits.add(lines.start(start), end, "")
        elif following and stays and _ends_line(code, above, element, following[0]):
            edits.add(above.outer_end, element.outer_end, "")
        elif below is not None and "#" not in code[element.outer_end : below.outer_start]:
            edits.add(start, below.outer_start, "")
            past = index_by_id[id(below)]
        else:
            stop = comma or element.outer_end
            blank = not code[stop : lines.end(stop)].strip()
            left = len(code[:start].rstrip(" \t")) if blank else start
            edits.add(
                left,
                stop if blank else stop + len(code[stop:]) - len(code[stop:].lstrip(" \t")),
                "",
            )
    if tail and kept and not row.following(tail[-1].outer_end):
        separator = row.following(kept[-1].outer_end)
        edits.add(separator - len(row.spaced), separator, "")


def _remove_leading(
    edits: Edits, deleted: Sequence[Node], kept: Sequence[Node], row: ElementRow
) -> None:
    """Delete elements, each with the separator before it; the first that stays loses its own."""
    code, lines, elements = edits.text, edits.lines, row.elements
    for element in deleted:
        index = elements.index(element)
        start, end = row.start(index), element.outer_end
        above = elements[index - 1].outer_end if index else 0
        if not code[lines.start(start) : start].strip() and code[end : lines.end(end - 1)].strip()[
            :1
        ] in ("", "#"):
            edits.add(lines.start(start), lines.end(end - 1), "")
        elif index and "#" not in code[above:start]:
            edits.add(above, end, "")
        else:
            edits.add(start, end, "")
    kept_index = elements.index(kept[0])
    if kept_index:
        edits.add(row.start(kept_index), kept[0].outer_start, "")


def _ends_line(code: str, above: Node, element: Node, below: Node) -> bool:
    """Whether an element is on the line of the one above it, and the one below is not: that line break stays."""
    parted = re.search("[\r\n]", code[above.outer_end : element.outer_start])
    return not parted and bool(re.search("[\r\n]", code[element.outer_end : below.outer_start]))


def _insert(
    edits: Edits,
    inserted: list[Node],
    above: Node | None,
    staying: list[Node],
    row: ElementRow,
    code: Node,
) -> None:
    """Insert elements, in the layout of their list, below `above`, which is one of those that stay, or first of all."""
    content, indent = edits.text, None if _is_beside(edits, inserted) else row.indent
    texts = [edits.render.part(node, edits.lines.indent(code.start)) for node in inserted]
    if not staying:
        at = _opened(edits, code)
        edits.add(at, at, ", ".join(texts))
        return
    if above is not None and above.kind == "Param" and above.fields["star"] == "**":
        index = staying.index(above)  # a new parameter goes before `**kw`
        above = staying[index - 1] if index else None
    anchor = above or staying[0]
    newline = edits.lines.newline
    leads = row.leads and indent is not None
    parted = " " if indent is None else newline + indent
    separator = f"{parted}{row.separator} " if leads else row.spaced + parted
    end = edits.lines.end(anchor.outer_end - 1)
    comma = row.following(anchor.outer_end)
    comma = comma if comma <= end else 0
    commented = content[comma or anchor.outer_end : end].lstrip()[:1] == "#"
    if above is not None and leads and commented:
        edits.add(
            end, end, "".join((separator + element)[len(newline) :] + newline for element in texts)
        )
    elif above is not None and indent is not None and commented:
        if not comma:  # the comment belongs to the element beside it
            edits.add(anchor.outer_end, anchor.outer_end, row.spaced)
        lines = [
            indent + element + (row.spaced if comma or element is not texts[-1] else "") + newline
            for element in texts
        ]
        edits.add(end, end, "".join(lines))
    elif above is not None:
        edits.add(
            anchor.outer_end, anchor.outer_end, "".join(separator + element for element in texts)
        )
    else:
        start = edits.lines.start(anchor.outer_start)
        alone = not content[start : anchor.outer_start].strip()
        while alone and content[edits.lines.start(start - 1) : start].lstrip().startswith("#"):
            start = edits.lines.start(start - 1)  # the comments over an element are its own
        at = (
            start + len(edits.lines.indent(start))
            if alone and indent is not None
            else anchor.outer_start
        )
        if leads and at < anchor.outer_start:
            edits.add(at, at, separator.join(texts) + newline + edits.lines.indent(at))
            edits.add(anchor.outer_start, anchor.outer_start, row.separator + " ")
        else:
            edits.add(at, at, "".join(element + separator for element in texts))


def _is_beside(edits: Edits, inserted: list[Node]) -> bool:
    """Whether a hunk has all inserted elements on the line of the one above them, and the others one a line."""
    siblings = inserted[0].siblings()
    rows = [edits.hunk.after.lines.number(node.outer_start) for node in siblings]
    at = siblings.index(inserted[0])
    own, others = rows[at : at + len(inserted)], rows[:at] + rows[at + len(inserted) :]
    return 1 < len(others) == len({*others}) and {*own} == {*rows[:at][-1:]}


def _opened(edits: Edits, code: Node) -> int:
    """The offset past the opening bracket of a list of which no element stays."""
    if code.kind == "Tuple":  # which may have no bracket of its own
        raise ReplaceWhole
    if code.kind == "Call":
        return find_outside(edits.text, code.node("func").outer_end, "(") + 1
    if code.kind == "Parameters":
        if code.parent is None or code.parent.kind != "FunctionDef":
            raise ReplaceWhole
        return find_outside(edits.text, code.parent.node("name").end, "(") + 1
    return code.start + 1


def _last_above(edits: Edits, pair: NodePair | None, removed: set[int]) -> Node | None:
    """The last element above an insertion, without runs that are empty here and elements that are `removed` (by id)."""
    if pair is None:
        return None
    siblings = pair[0].siblings()
    for node in reversed(siblings[: siblings.index(pair[0]) + 1]):
        codes = [code for code in edits.codes(node) if id(code) not in removed]
        if codes:
            return max(codes, key=lambda code: code.outer_end)
    return None


# elements that change places -----------------------------------------------------------------------------------------------
def _reorder(
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
    moved: dict[int, Node] = {}
    for node in (node for gap in gaps for node in gap.inserted):
        old = next(
            (old for old in gone.values() if same(old, node) and old not in moved.values()), None
        )
        if old is not None:
            moved[id(node)] = old
    commented = [
        code for code in map(edits.code, [*moved.values(), *staying]) if _has_comment(row, code)
    ]
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
    written = "".join(
        _line_of(edits, row, item, separated=trailing or item is not items[-1]) for item in items
    )
    edits.add(row.begin(row.elements[0]), edits.lines.end(row.elements[-1].outer_end - 1), written)
    edits.deleted += [node for node in gone.values() if node not in moved.values()]
    return True


def _has_comment(row: ElementRow, code: Node) -> bool:
    above = row.begin(code) < row.lines.start(code.outer_start)
    return (
        above
        or "#"
        in row.text[
            row.following(code.outer_end) or code.outer_end : row.lines.end(code.outer_end - 1)
        ]
    )


def _line_of(edits: Edits, row: ElementRow, item: Node, *, separated: bool) -> str:
    """The lines of an element of the file, or of one that is inserted, with or without a separator."""
    comma = row.separator if separated else ""
    if not any(item is element for element in row.elements):
        indent = row.indent or ""
        return indent + edits.render.part(item, indent) + comma + edits.lines.newline
    past = row.following(item.outer_end) or item.outer_end
    return (
        row.text[row.begin(item) : item.outer_end]
        + comma
        + row.text[past : edits.lines.end(item.outer_end - 1)]
    )
