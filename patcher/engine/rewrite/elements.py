"""Elements with a separator between them: arguments, entries, operands of a chain (rule 16)."""

from __future__ import annotations

import re
from itertools import islice
from typing import Sequence

from patcher.engine.layout import is_continuation
from patcher.engine.lex import LAYOUT, find_outside, scan, tokens
from patcher.engine.node import Node, same
from patcher.engine.rewrite.align import Gap, NodePair, align, align_arguments
from patcher.engine.rewrite.edits import Edits, ReplaceWhole
from patcher.engine.rewrite.precedence import has_star, is_bare
from patcher.engine.source import Conflict
from patcher.message import Message
from patcher.record import Record


class ElementRow:
    """The elements of one list in the file and its layout.

    `indent` is the indentation of elements that are written one a line, else None.
    `has_leading_separators` is whether the separator begins their lines (`+ b`) instead of ending
    them (`a +`). `spaced` is the separator as it is written behind an element.
    """

    def __init__(self, edits: Edits, elements: list[Node], separator: str) -> None:
        self.edits = edits
        self.text = edits.text
        self.lines = edits.lines
        self.elements = elements
        self.separator = separator
        self.spaced = separator if separator == "," else f" {separator}"
        self.has_leading_separators = any(self._is_led(index) for index in range(1, len(elements)))
        self.indent = self._indent()

    def past_separator(self, end: int) -> int:
        """The offset past the separator behind an element that ends at `end`, 0 if it has none."""
        for token in scan(self.text, end):
            if token.kind in LAYOUT:
                continue
            if self.text.startswith(self.separator, token.start):
                return token.start + len(self.separator)
            return 0
        return 0

    def start_with_separator(self, index: int) -> int:
        """Where an element begins, or its separator if that leads."""
        if index and self.has_leading_separators:
            past = self.past_separator(self.elements[index - 1].outer_end)
            if past:
                return past - len(self.separator)
        return self.elements[index].outer_start

    def line_end(self, element: Node) -> int:
        """The offset past the line on which an element ends."""
        return self.lines.end(element.outer_end - 1)

    def begins_line(self, offset: int) -> bool:
        """Whether nothing but blanks is on the line before an offset."""
        return not self.text[self.lines.start(offset) : offset].strip()

    def _is_led(self, index: int) -> bool:
        """Whether the separator before an element leads: it is on its line, not on that above."""
        above = self.elements[index - 1].outer_end
        past = self.past_separator(above)
        if not past:
            return False
        row = self.lines.number(past)
        is_below = self.lines.number(above) < row
        return is_below and row == self.lines.number(self.elements[index].outer_start)

    def _indent(self) -> str | None:
        """The indentation of the elements if they are written one a line.

        The first may be beside its bracket.
        """
        indexes = range(1, len(self.elements)) or range(len(self.elements))
        for index in indexes:
            start = self.start_with_separator(index)
            if not self.begins_line(start):
                return None
            if is_continuation(self.text, self.lines.start(start)):
                return None
        return self.lines.indent(self.start_with_separator(indexes[0])) if self.elements else None

    def has_own_lines(self, element: Node) -> bool:
        """Whether the lines of an element have nothing else but its separator and a comment."""
        end = self.line_end(element)
        past = self.past_separator(element.outer_end)
        is_separated = bool(past) and past <= end
        if not is_separated and element is not self.elements[-1]:
            return False
        if not self.begins_line(element.outer_start):
            return False
        tail = self.text[past if is_separated else element.outer_end : end].strip()
        if tail[:1] not in ("", "#"):
            return False
        return not is_continuation(self.text, self.lines.start(element.outer_start))

    def lines_start(self, element: Node) -> int:
        """Where the lines of an element begin, with the comments directly above it."""
        return self.above_comments(self.lines.start(element.outer_start))

    def above_comments(self, start: int) -> int:
        """Where the comments directly above a line begin; its own start without any."""
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
    pairs, gaps = align_arguments(edits.hunk, before, after=after)
    remaining = len(elements)
    for gap in gaps:
        remaining += len(gap.inserted) - len(edits.codes_of(gap.deleted))
    if code.kind in ("Import", "ImportFrom") and remaining == 0:
        message = Message("the last name of an import cannot be removed: remove the statement")
        raise Conflict(message)

    row = ElementRow(edits, elements, separator=",")
    is_left_alone = code.kind == "Tuple" and remaining == 1 < len(elements)
    if is_left_alone and code.parenthesised:
        reordering = _reordering(edits, pairs, gaps=gaps, row=row, is_left_alone=True)
        if reordering:
            _reorder(edits, after, reordering=reordering, row=row)
            return
    if _needs_another_node(code, elements, after=after, remaining=remaining):
        raise ReplaceWhole
    reordering = _reordering(edits, pairs, gaps=gaps, row=row, is_left_alone=False)
    if reordering:
        _reorder(edits, after, reordering=reordering, row=row)
        return
    is_joined = len(elements) == 1 < remaining and is_bare(elements[0])
    _change(pairs, gaps, row=row, code=code, bare=elements[0] if is_joined else None)


def _needs_another_node(
    code: Node, elements: list[Node], after: list[Node], remaining: int
) -> bool:
    """Whether the node of a list cannot keep its brackets as that of the after side."""
    if code.kind == "ClassDef":
        return not elements or not remaining
    if code.kind != "Tuple":
        return False
    if remaining < min(2, len(elements)):
        return True
    if code.parenthesised:
        return any(node.kind == "Slice" for node in after)  # it cannot stand in parentheses
    return has_star(after) and not has_star(elements)  # it may need parentheses now


# chains ------------------------------------------------------------------------------------------
def operands(node: Node) -> tuple[str, list[Node]]:
    """The operator and the operands of a chain (`a and b and c`, `a + b + c`).

    The operator is "" if there are several.
    """
    if node.kind in ("And", "Or"):
        return node.kind.lower(), node.items("values")
    if node.kind == "Comparison":
        links = node.items("comparisons")
        operators = {_operator(link) for link in links}
        operands = [node.node("left"), *(link.node("comparator") for link in links)]
        # `not in` and `is not` are two words, which are not looked for as one separator
        is_chain = len(operators) == 1 and not any(" " in operator for operator in operators)
        return operators.pop() if is_chain else "", operands
    operator = _operator(node)
    if operator == "**":
        return "", [node]
    reversed_operands: list[Node] = []
    while node.kind == "BinaryOperation" and _operator(node) == operator:
        reversed_operands.append(node.node("right"))
        node = node.node("left")
    return operator, [node, *reversed_operands[::-1]]


def _operator(node: Node) -> str:
    return str(node.node("operator").fields["value"])


def change_chain(edits: Edits, before: Node, after: Node) -> bool:
    """Edit the operands of a chain as the elements of a list.

    Returns:
        False where the two sides are not chains of one operator, and nothing was edited.

    Raises:
        ReplaceWhole: the chain must be replaced as a whole.
    """
    operator, olds = operands(before)
    new_operator, news = operands(after)
    if not operator or operator != new_operator:
        return False
    pairs, gaps = align(edits.hunk, olds, after=news)
    if not pairs or before.fields.get("groups") != after.fields.get("groups"):
        raise ReplaceWhole
    row = ElementRow(edits, [edits.code(node) for node in olds], separator=operator)
    for above, below in zip(row.elements, row.elements[1:]):
        between = tokens(edits.text[above.outer_end : below.outer_start])
        if any(token.text in ("(", ")") for token in between):
            raise ReplaceWhole  # a part of the chain is in parentheses of its own
    _change(pairs, gaps, row=row, code=edits.code(before))
    return True


# changes in place --------------------------------------------------------------------------------
def _change(
    pairs: list[NodePair], gaps: list[Gap], row: ElementRow, code: Node, bare: Node | None = None
) -> None:
    """Change the elements of a list that stay, replace, delete and insert the others.

    Args:
        pairs: the elements that stay, before and after.
        gaps: the others.
        row: the list.
        code: the node that has it.
        bare: a generator that needs parentheses now.
    """
    edits = row.edits
    for old, new in pairs:
        if old.role != "run":
            edits.change(old, new)
    if bare is not None:
        edits.insert(bare.end, ")")

    for gap in gaps:
        edits.deleted += gap.deleted
        _replace_in_place(edits, gap)

    removed: list[Node] = []
    for gap in gaps:
        removed += edits.codes_of(gap.deleted)[len(gap.inserted) :]
    gone = {id(element) for element in removed}
    staying = [element for element in row.elements if id(element) not in gone]
    for gap in gaps:
        replaced = edits.codes_of(gap.deleted)
        inserted = gap.inserted[len(replaced) :]
        if not inserted:
            continue
        above = replaced[-1] if replaced else _last_above(edits, gap.above, gone=gone)
        _insert(inserted, above, staying=staying, row=row, code=code)
    if removed:
        _remove(edits, sorted(removed, key=lambda element: element.outer_start), row=row)
    if bare is not None:
        edits.insert(bare.start, "(")


def _replace_in_place(edits: Edits, gap: Gap) -> None:
    """Write inserted elements over deleted ones, one for one; the longer list has some left."""
    for element, node in zip(edits.codes_of(gap.deleted), gap.inserted):
        written = edits.render.part(node, edits.lines.indent(element.start))
        edits.add(element.outer_start, element.outer_end, written)


def _last_above(edits: Edits, pair: NodePair | None, gone: set[int]) -> Node | None:
    """The last element above an insertion.

    Runs that are empty here, and elements in `gone` (by id), do not count.
    """
    if pair is None:
        return None
    siblings = pair[0].siblings()
    for node in reversed(siblings[: siblings.index(pair[0]) + 1]):
        codes = [code for code in edits.codes(node) if id(code) not in gone]
        if codes:
            return max(codes, key=lambda code: code.outer_end)
    return None


# deletions ---------------------------------------------------------------------------------------
def _remove(edits: Edits, deleted: Sequence[Node], row: ElementRow) -> None:
    """Delete elements, each with one separator.

    Where nothing else is on its lines, they go too, with the comment.
    """
    elements = row.elements
    gone = {id(node) for node in deleted}
    kept = [node for node in elements if id(node) not in gone]
    if row.has_leading_separators and kept:
        _remove_leading(edits, deleted, kept=kept, row=row)
        return

    # those below the last one that stays often go in one piece
    tail = elements[elements.index(kept[-1]) + 1 :] if kept else elements
    tail_start = kept[-1].outer_end if kept else elements[0].outer_start
    if tail and _is_removed_at_once(tail[-1], tail_start, row=row):
        tail_end = tail[-1].outer_end
        if not kept:
            tail_end = row.past_separator(tail_end) or tail_end
        edits.add(tail_start, tail_end, "")
        _remove_one_by_one(edits, deleted[: len(deleted) - len(tail)], gone=gone, row=row)
        return

    _remove_one_by_one(edits, deleted, gone=gone, row=row)
    is_last_separated = bool(tail) and bool(row.past_separator(tail[-1].outer_end))
    if tail and kept and not is_last_separated:  # the new last one has none either
        separator_end = row.past_separator(kept[-1].outer_end)
        edits.add(separator_end - len(row.spaced), separator_end, "")


def _is_removed_at_once(last: Node, start: int, row: ElementRow) -> bool:
    """Whether the elements from the offset `start` to the last one go in one piece.

    Not if a comment may be between them, or the last one has lines of its own.
    """
    return not row.has_own_lines(last) and "#" not in row.text[start : last.outer_start]


def _remove_one_by_one(
    edits: Edits, deleted: Sequence[Node], gone: set[int], row: ElementRow
) -> None:
    """Delete elements; `gone` are the ids of all that go from the list."""
    text, elements = row.text, row.elements
    index_of = {id(node): index for index, node in enumerate(elements)}
    next_index = 0  # those above it are gone already
    for element in deleted:
        index = index_of[id(element)]
        if index < next_index:
            continue
        below = _next_staying(elements, index, gone=gone)
        if row.has_own_lines(element):
            edits.add(row.lines.start(element.outer_start), row.line_end(element), "")
        elif _is_last_on_line(row, index, gone=gone):
            edits.add(elements[index - 1].outer_end, element.outer_end, "")
        elif below is not None and "#" not in text[element.outer_end : below.outer_start]:
            edits.add(element.outer_start, below.outer_start, "")
            next_index = index_of[id(below)]
        else:
            _remove_in_line(edits, element, row=row)


def _next_staying(elements: Sequence[Node], index: int, gone: set[int]) -> Node | None:
    """The next element below one that stays."""
    for node in islice(elements, index + 1, None):
        if id(node) not in gone:
            return node
    return None


def _is_last_on_line(row: ElementRow, index: int, gone: set[int]) -> bool:
    """Whether an element is the last one on the line of one above it that stays.

    That line break stays.
    """
    if index == 0 or index + 1 >= len(row.elements):
        return False
    above, element, below = row.elements[index - 1 : index + 2]
    if id(above) in gone or re.search("[\r\n]", row.text[above.outer_end : element.outer_start]):
        return False
    return bool(re.search("[\r\n]", row.text[element.outer_end : below.outer_start]))


def _remove_in_line(edits: Edits, element: Node, row: ElementRow) -> None:
    """Delete an element with its separator, and the blanks on the side where code is."""
    text, start = row.text, element.outer_start
    stop = row.past_separator(element.outer_end) or element.outer_end
    if text[stop : row.lines.end(stop)].strip():
        blanks = len(text[stop:]) - len(text[stop:].lstrip(" \t"))
        edits.add(start, stop + blanks, "")
    else:
        edits.add(len(text[:start].rstrip(" \t")), stop, "")


def _remove_leading(
    edits: Edits, deleted: Sequence[Node], kept: Sequence[Node], row: ElementRow
) -> None:
    """Delete elements, each with the separator before it; the first that stays loses its own."""
    text, elements = row.text, row.elements
    for element in deleted:
        index = elements.index(element)
        start, end = row.start_with_separator(index), element.outer_end
        above = elements[index - 1].outer_end if index else 0
        line_end = row.line_end(element)
        if row.begins_line(start) and text[end:line_end].strip()[:1] in ("", "#"):
            edits.add(row.lines.start(start), line_end, "")
        elif index and "#" not in text[above:start]:
            edits.add(above, end, "")
        else:
            edits.add(start, end, "")
    first = elements.index(kept[0])
    if first:
        edits.add(row.start_with_separator(first), kept[0].outer_start, "")


# insertions --------------------------------------------------------------------------------------
class _Insertion(Record):
    """Elements that are inserted, as text, and how they are parted from their neighbours.

    `indent` is the indentation if each gets a line of its own, else None. `separator` is what
    stands between two of them, and `leads` is whether that begins the line of the second.
    """

    texts: list[str]
    indent: str | None
    separator: str
    leads: bool


def _insert(
    inserted: list[Node], above: Node | None, staying: list[Node], row: ElementRow, code: Node
) -> None:
    """Insert elements, in the layout of their list.

    Args:
        inserted: the nodes of the after side.
        above: the element that they come below, one of those that stay; None to insert them first
            of all.
        staying: the elements that stay.
        row: the list.
        code: the node that has it.
    """
    edits = row.edits
    indent = edits.lines.indent(code.start)
    texts = [edits.render.part(node, indent) for node in inserted]
    if not staying:
        edits.insert(_after_bracket(edits, code), ", ".join(texts))
        return

    if above is not None and above.kind == "Param" and above.fields["star"] == "**":
        index = staying.index(above)  # a new parameter goes before `**kw`
        above = staying[index - 1] if index else None
    own_indent = None if _is_beside(edits, inserted) else row.indent
    between = " " if own_indent is None else edits.lines.newline + own_indent
    leads = row.has_leading_separators and own_indent is not None
    separator = f"{between}{row.separator} " if leads else row.spaced + between
    insertion = _Insertion(texts, own_indent, separator=separator, leads=leads)
    if above is None:
        _insert_above(insertion, staying[0], row=row)
    else:
        _insert_below(insertion, above, row=row)


def _insert_below(insertion: _Insertion, above: Node, row: ElementRow) -> None:
    """Insert elements below one that stays; the comment behind that one stays with it."""
    edits = row.edits
    line_end = row.line_end(above)
    separator_end = row.past_separator(above.outer_end)
    is_separated = bool(separator_end) and separator_end <= line_end
    tail = row.text[separator_end if is_separated else above.outer_end : line_end]
    has_comment = tail.lstrip().startswith("#")
    if not has_comment or insertion.indent is None:
        written = "".join(insertion.separator + text for text in insertion.texts)
        edits.insert(above.outer_end, written)
        return

    if insertion.leads:
        edits.insert(line_end, _lines_led_by_separators(insertion, row))
        return
    if not is_separated:
        edits.insert(above.outer_end, row.spaced)
    lines: list[str] = []
    for text in insertion.texts:
        lines.append(insertion.indent + text + row.spaced + row.lines.newline)
    if not is_separated:  # the one above had none as the last; the new last one has none
        lines[-1] = insertion.indent + insertion.texts[-1] + row.lines.newline
    edits.insert(line_end, "".join(lines))


def _lines_led_by_separators(insertion: _Insertion, row: ElementRow) -> str:
    """Inserted elements, each on a line that its separator begins."""
    begin = insertion.separator[len(row.lines.newline) :]  # the line break is there already
    return "".join(begin + text + row.lines.newline for text in insertion.texts)


def _insert_above(insertion: _Insertion, below: Node, row: ElementRow) -> None:
    """Insert elements above the first one that stays, and above the comments over that one."""
    edits, start = row.edits, row.lines.start(below.outer_start)
    begins_line = row.begins_line(below.outer_start)
    at = below.outer_start
    if begins_line and insertion.indent is not None:
        start = row.above_comments(start)
        at = start + len(row.lines.indent(start))
    if insertion.leads and at < below.outer_start:
        indent = row.lines.indent(at)
        written = insertion.separator.join(insertion.texts) + row.lines.newline + indent
        edits.insert(at, written)
        edits.insert(below.outer_start, f"{row.separator} ")
    else:
        edits.insert(at, "".join(text + insertion.separator for text in insertion.texts))


def _is_beside(edits: Edits, inserted: list[Node]) -> bool:
    """Whether a hunk has all inserted elements beside the one above, and the others one a line."""
    siblings = inserted[0].siblings()
    lines = edits.hunk.after.lines
    rows = [lines.number(node.outer_start) for node in siblings]
    first = siblings.index(inserted[0])
    past = first + len(inserted)
    others = rows[:first] + rows[past:]
    if first == 0 or len(others) < 2 or len(others) != len(set(others)):
        return False
    return set(rows[first:past]) == {rows[first - 1]}


def _after_bracket(edits: Edits, code: Node) -> int:
    """The offset past the opening bracket of a list of which no element stays."""
    if code.kind == "Tuple":  # which may have no bracket of its own
        raise ReplaceWhole
    if code.kind == "Call":
        return find_outside(edits.text, code.node("func").outer_end, operator="(") + 1
    if code.kind == "Parameters":
        if code.parent is None or code.parent.kind != "FunctionDef":
            raise ReplaceWhole
        return find_outside(edits.text, code.parent.node("name").end, operator="(") + 1
    return code.start + 1


# elements that change places ---------------------------------------------------------------------
class _Reordering(Record):
    """How a list is rewritten, line by line.

    `partners` are the before nodes of the after nodes that stay or move, by their id; `gone` are
    the before nodes that do neither. `is_left_alone` is whether one element is left in a tuple.
    """

    partners: dict[int, Node]
    gone: list[Node]
    is_left_alone: bool


def _reordering(
    edits: Edits,
    pairs: Sequence[NodePair],
    gaps: Sequence[Gap],
    row: ElementRow,
    is_left_alone: bool,
) -> _Reordering | None:
    """How to write a list line by line, if an element with comments of its own moves in it.

    An element that is left alone in a tuple counts as well. None where there is no such element,
    and edits in place do.

    Raises:
        Conflict: its comments cannot be told from those of others.
    """
    gone: list[Node] = []
    inserted: list[Node] = []
    for gap in gaps:
        gone += [node for node in gap.deleted if node.role != "run"]
        inserted += gap.inserted
    staying: list[Node] = []
    if is_left_alone:
        staying = [old for old, _ in pairs if old.role != "run"]
    # most lists have no comment: nothing is compared then
    if not _commented(edits, [*gone, *staying], row=row):
        return None

    moved: dict[int, Node] = {}
    for node in inserted:
        for old in gone:
            if same(old, node):
                moved[id(node)] = old
                gone.remove(old)
                break
    commented = _commented(edits, [*moved.values(), *staying], row=row)
    if not commented:
        return None

    is_changed = any(old.role != "run" and not same(old, new) for old, new in pairs)
    has_own_lines = all(row.has_own_lines(element) for element in row.elements)
    if is_changed or row.has_leading_separators or not has_own_lines:
        message = Message(
            "the element in line {line} moves, and its comment cannot be moved along: write "
            "another hunk for the rest",
            line=edits.lines.number(commented[0].start),
        )
        raise Conflict(message)
    partners = {id(new): old for old, new in pairs}
    partners.update(moved)
    return _Reordering(partners, gone, is_left_alone=is_left_alone)


def _commented(edits: Edits, nodes: Sequence[Node], row: ElementRow) -> list[Node]:
    """The code of those before nodes that have comments of their own in the file."""
    commented: list[Node] = []
    for node in nodes:
        code = edits.code(node)
        if _has_comment(row, code):
            commented.append(code)
    return commented


def _reorder(edits: Edits, after: Sequence[Node], reordering: _Reordering, row: ElementRow) -> None:
    """Write a list anew, line by line."""
    items: list[Node] = []
    for node in after:
        partner = reordering.partners.get(id(node))
        items += [node] if partner is None else edits.codes(partner)

    last = row.elements[-1]
    is_trailing = reordering.is_left_alone or bool(row.past_separator(last.outer_end))
    lines: list[str] = []
    for item in items:
        is_separated = is_trailing or item is not items[-1]
        lines.append(_line_of(edits, row, item=item, is_separated=is_separated))
    edits.add(row.lines_start(row.elements[0]), row.line_end(last), "".join(lines))
    edits.deleted += reordering.gone


def _has_comment(row: ElementRow, code: Node) -> bool:
    """Whether a comment is above an element of the file, or behind it."""
    if row.lines_start(code) < row.lines.start(code.outer_start):
        return True
    past = row.past_separator(code.outer_end) or code.outer_end
    return "#" in row.text[past : row.line_end(code)]


def _line_of(edits: Edits, row: ElementRow, item: Node, *, is_separated: bool) -> str:
    """The lines of an element, of the file or an inserted one, with or without a separator."""
    separator = row.separator if is_separated else ""
    if not any(item is element for element in row.elements):
        indent = row.indent or ""
        return indent + edits.render.part(item, indent) + separator + edits.lines.newline
    past = row.past_separator(item.outer_end) or item.outer_end
    before = row.text[row.lines_start(item) : item.outer_end]
    return before + separator + row.text[past : row.line_end(item)]
