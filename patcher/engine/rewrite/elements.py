"""Elements with a separator between them: arguments, entries, operands of a chain (rule 16)."""

from __future__ import annotations

import re
from itertools import islice, product
from typing import Sequence

from patcher.engine.layout import is_continuation, stretches
from patcher.engine.lex import LAYOUT, find_outside, scan, tokens
from patcher.engine.node import Node, same
from patcher.engine.rewrite.align import Gap, NodePair, align, align_arguments, related
from patcher.engine.rewrite.comments import comments_start
from patcher.engine.rewrite.edits import Edits, ReplaceWhole
from patcher.engine.rewrite.precedence import has_star, is_bare
from patcher.engine.source import Conflict
from patcher.message import Message
from patcher.record import Record


class ElementRow:
    """The elements of one list in the file, and the layout of the list.

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
        indexes_below_first = range(1, len(elements))
        self.has_leading_separators = any(map(self._is_led, indexes_below_first))
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
        """Whether the separator before an element begins its line, not ends the one above."""
        above = self.elements[index - 1].outer_end
        past = self.past_separator(above)
        if not past:
            return False

        start = self.elements[index].outer_start
        line_above = self.lines.number(above)
        separator_line = self.lines.number(past)
        line = self.lines.number(start)
        return line_above < separator_line == line

    def _indent(self) -> str | None:
        """The indentation of the elements if they are written one a line.

        The first may be beside its bracket.
        """
        count = len(self.elements)
        indexes = range(1, count) or range(count)
        if not indexes:
            return None

        for index in indexes:
            start = self.start_with_separator(index)
            if not self.begins_line(start):
                return None
            if is_continuation(self.text, self.lines.start(start)):
                return None

        first_start = self.start_with_separator(indexes[0])
        return self.lines.indent(first_start)

    def has_own_lines(self, element: Node) -> bool:
        """Whether the lines of an element have nothing else but its separator and a comment."""
        separator_end = self.separator_end_on_line(element)
        if not separator_end and element is not self.elements[-1]:
            return False
        if not self.begins_line(element.outer_start):
            return False

        tail_start = separator_end or element.outer_end
        tail = self.text[tail_start : self.line_end(element)].strip()
        if tail[:1] not in ("", "#"):
            return False

        line_start = self.lines.start(element.outer_start)
        return not is_continuation(self.text, line_start)

    def tail(self, element: Node) -> str:
        """What stands behind an element on its line, without the blanks around it."""
        return self.text[element.outer_end : self.line_end(element)].strip()

    def separator_end_on_line(self, element: Node) -> int:
        """The offset past the separator behind an element on its line, 0 if none is there."""
        separator_end = self.past_separator(element.outer_end)
        if separator_end > self.line_end(element):
            return 0
        return separator_end

    def lines_start(self, element: Node) -> int:
        """Where the lines of an element begin, with the comments directly above it."""
        line_start = self.lines.start(element.outer_start)
        return comments_start(self.lines, line_start)


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
    remaining = _number_remaining(edits, elements, gaps=gaps)
    if remaining == 0 and code.kind in ("Import", "ImportFrom"):
        message = Message("the last name of an import cannot be removed: remove the statement")
        raise Conflict(message)

    row = ElementRow(edits, elements, separator=",")
    # of a tuple with one element left that has a comment: both are kept
    leaves_one = code.kind == "Tuple" and remaining == 1 < len(elements) and code.parenthesised
    is_replaced = _needs_another_node(code, elements, after=after, remaining=remaining)
    if is_replaced and not leaves_one:
        raise ReplaceWhole

    reordering = _reordering(edits, pairs, gaps=gaps, row=row, leaves_one=leaves_one)
    if reordering:
        _reorder(edits, after, reordering=reordering, row=row)
        return
    if is_replaced:
        raise ReplaceWhole

    bare: Node | None = None
    if len(elements) == 1 < remaining and is_bare(elements[0]):
        bare = elements[0]
    _change(pairs, gaps, row=row, code=code, bare=bare)


def _number_remaining(edits: Edits, elements: Sequence[Node], gaps: Sequence[Gap]) -> int:
    """How many elements a list has after the change."""
    remaining = len(elements)
    for gap in gaps:
        remaining += len(gap.inserted)
        remaining -= len(edits.codes_of(gap.deleted))
    return remaining


def _needs_another_node(
    code: Node, elements: list[Node], after: list[Node], remaining: int
) -> bool:
    """Whether a list must be written anew: as another node, or with other brackets."""
    if code.kind == "ClassDef":
        return not elements or not remaining
    if code.kind != "Tuple":
        return False
    if remaining < min(2, len(elements)):
        return True
    if code.parenthesised:
        return any(node.kind == "Slice" for node in after)  # a slice cannot stand in parentheses
    return has_star(after) and not has_star(elements)  # the star may need parentheses


# chains ------------------------------------------------------------------------------------------
def operands(node: Node) -> tuple[str, list[Node]]:
    """The operator and the operands of a chain (`a and b and c`, `a + b + c`).

    The operator is "" if there are several.
    """
    if node.kind in ("And", "Or"):
        return node.kind.lower(), node.items("values")
    if node.kind == "Comparison":
        return _comparison_operands(node)

    operator = _operator(node)
    if operator == "**":
        return "", [node]

    reversed_operands: list[Node] = []
    while node.kind == "BinaryOperation" and _operator(node) == operator:
        reversed_operands.append(node.node("right"))
        node = node.node("left")

    operands = [node, *reversed(reversed_operands)]
    return operator, operands


def _comparison_operands(node: Node) -> tuple[str, list[Node]]:
    """The operator and the operands of a comparison (`a < b < c`); "" for several operators."""
    operators: set[str] = set()
    operands = [node.node("left")]
    for link in node.items("comparisons"):
        operators.add(_operator(link))
        operands.append(link.node("comparator"))

    if len(operators) != 1:
        return "", operands

    operator = operators.pop()
    if " " in operator:  # `not in` and `is not` are not looked for as one separator
        return "", operands
    return operator, operands


def _operator(node: Node) -> str:
    """The operator of an operation, or of one link of a comparison."""
    operator = node.node("operator")
    return str(operator.fields["value"])


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
    has_same_groups = before.fields.get("groups") == after.fields.get("groups")
    if not pairs or not has_same_groups:
        raise ReplaceWhole
    if _have_moved(gaps):
        pairs, gaps = _place_by_place(olds, news, pairs=pairs)

    elements = [edits.code(node) for node in olds]
    row = ElementRow(edits, elements, separator=operator)
    for above, below in zip(elements, elements[1:]):
        between = edits.text[above.outer_end : below.outer_start]
        for token in tokens(between):
            if token.text in ("(", ")"):
                raise ReplaceWhole  # a part of the chain is in parentheses of its own

    code = edits.code(before)
    _change(pairs, gaps, row=row, code=code)
    return True


def _have_moved(gaps: Sequence[Gap]) -> bool:
    """Whether an operand goes in one place and comes in another one."""
    deleted: list[Node] = []
    inserted: list[Node] = []
    for gap in gaps:
        deleted += gap.deleted
        inserted += gap.inserted

    return any(same(old, new) for old, new in product(deleted, inserted))


def _place_by_place(
    olds: Sequence[Node], news: Sequence[Node], pairs: Sequence[NodePair]
) -> tuple[list[NodePair], list[Gap]]:
    """An alignment in which operands that change places are written over each other.

    Then what stands between them stays: line breaks, operators and comments.
    """
    partners = {id(old): new for old, new in pairs}

    def stays(old: Node, new: Node) -> bool:
        return partners.get(id(old)) is new

    shorter = min(len(olds), len(news))
    head = 0
    while head < shorter and stays(olds[head], news[head]):
        head += 1

    tail = 0
    while tail < shorter - head and stays(olds[-1 - tail], news[-1 - tail]):
        tail += 1

    old_end = len(olds) - tail
    new_end = len(news) - tail
    in_place = [*zip(olds[:head], news[:head]), *zip(olds[old_end:], news[new_end:])]
    moving = olds[head:old_end]
    written = news[head:new_end]
    if len(moving) != len(written):
        return in_place, [Gap(None, list(moving), inserted=list(written), below=None)]

    gaps: list[Gap] = []
    for old, new in zip(moving, written):
        has_moved = any(same(other, new) for other in moving)
        is_changed = related(old, new) and not has_moved
        if stays(old, new) or is_changed:
            in_place.append((old, new))
        else:
            gaps.append(Gap(None, [old], inserted=[new], below=None))

    return in_place, gaps


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
        bare: a generator that gets parentheses, None for none.
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
        codes = edits.codes_of(gap.deleted)
        removed += codes[len(gap.inserted) :]

    gone = {id(element) for element in removed}
    staying = [element for element in row.elements if id(element) not in gone]
    for gap in gaps:
        replaced = edits.codes_of(gap.deleted)
        inserted = gap.inserted[len(replaced) :]
        if not inserted:
            continue

        above: Node | None = None
        if replaced:
            above = replaced[-1]
        elif gap.above is not None:
            above = _last_above(edits, gap.above, gone=gone)

        _insert(inserted, above, staying=staying, row=row, code=code)

    if removed:
        removed.sort(key=lambda element: element.outer_start)
        _remove(edits, removed, row=row)

    if bare is not None:
        edits.insert(bare.start, "(")


def _replace_in_place(edits: Edits, gap: Gap) -> None:
    """Write inserted elements over deleted ones, one for one; the longer list has some left."""
    replaced = edits.codes_of(gap.deleted)
    for element, node in zip(replaced, gap.inserted):
        indent = edits.lines.indent(element.start)
        written = edits.render.part(node, indent)
        edits.add(element.outer_start, element.outer_end, written)


def _last_above(edits: Edits, pair: NodePair, gone: set[int]) -> Node | None:
    """The last element above an insertion.

    Runs that are empty here, and elements in `gone` (by id), do not count.
    """
    old, _ = pair
    siblings = old.siblings()
    past = siblings.index(old) + 1
    for node in reversed(siblings[:past]):
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
    staying = [node for node in elements if id(node) not in gone]
    if row.has_leading_separators and staying:
        _remove_leading(edits, deleted, staying=staying, row=row)
        return

    # the elements below the last one that stays often go in one piece
    tail = elements
    tail_start = elements[0].outer_start
    if staying:
        last = elements.index(staying[-1])
        tail = elements[last + 1 :]
        tail_start = staying[-1].outer_end

    if tail and _is_removed_at_once(tail[-1], tail_start, row=row):
        tail_end = tail[-1].outer_end
        if not staying:
            tail_end = row.past_separator(tail_end) or tail_end
        edits.add(tail_start, tail_end, "")

        others = deleted[: len(deleted) - len(tail)]
        _remove_one_by_one(edits, others, gone=gone, row=row)
        return

    _remove_one_by_one(edits, deleted, gone=gone, row=row)
    if not tail or not staying:
        return

    # the list did not end with a separator: it does not with its new last element
    if not row.past_separator(tail[-1].outer_end):
        separator_end = row.past_separator(staying[-1].outer_end)
        separator_start = separator_end - len(row.spaced)
        edits.add(separator_start, separator_end, "")


def _is_removed_at_once(last: Node, start: int, row: ElementRow) -> bool:
    """Whether the elements from the offset `start` to the last one can go in one piece.

    They cannot if a comment may be between them, or if the last one has lines of its own.
    """
    if row.has_own_lines(last):
        return False
    return "#" not in row.text[start : last.outer_start]


def _remove_one_by_one(
    edits: Edits, deleted: Sequence[Node], gone: set[int], row: ElementRow
) -> None:
    """Delete elements; `gone` are the ids of all that go from the list."""
    elements = row.elements
    index_of = {id(node): index for index, node in enumerate(elements)}
    next_index = 0  # the elements above it are deleted already
    for element in deleted:
        index = index_of[id(element)]
        if index < next_index:
            continue

        below = _next_staying(elements, index, gone=gone)
        if row.has_own_lines(element):
            line_start = row.lines.start(element.outer_start)
            edits.add(line_start, row.line_end(element), "")
        elif _is_last_on_line(row, index, gone=gone):
            above = elements[index - 1]
            edits.add(above.outer_end, element.outer_end, "")
        elif below is not None and not _has_comment_between(row, element, below):
            edits.add(element.outer_start, below.outer_start, "")
            next_index = index_of[id(below)]
        else:
            _remove_in_line(edits, element, row=row)


def _has_comment_between(row: ElementRow, above: Node, below: Node) -> bool:
    """Whether a comment may be between two elements."""
    return "#" in row.text[above.outer_end : below.outer_start]


def _next_staying(elements: Sequence[Node], index: int, gone: set[int]) -> Node | None:
    """The next element below one that stays."""
    for node in islice(elements, index + 1, None):
        if id(node) not in gone:
            return node

    return None


def _is_last_on_line(row: ElementRow, index: int, gone: set[int]) -> bool:
    """Whether an element ends the line of one above it that stays.

    The line break stays then.
    """
    if index == 0 or index + 1 >= len(row.elements):
        return False

    above, element, below = row.elements[index - 1 : index + 2]
    if id(above) in gone or _has_break_between(row, above, element):
        return False
    return _has_break_between(row, element, below)


def _has_break_between(row: ElementRow, above: Node, below: Node) -> bool:
    """Whether a line ends between two elements."""
    between = row.text[above.outer_end : below.outer_start]
    return re.search("[\r\n]", between) is not None


def _remove_in_line(edits: Edits, element: Node, row: ElementRow) -> None:
    """Delete an element, its separator, and the blanks towards the code beside it on the line."""
    text = row.text
    start = element.outer_start
    end = row.past_separator(element.outer_end) or element.outer_end
    code_behind = text[end : row.lines.end(end)].strip()
    if code_behind:
        rest = text[end:]
        blanks = len(rest) - len(rest.lstrip(" \t"))
        edits.add(start, end + blanks, "")
    else:
        code_end = len(text[:start].rstrip(" \t"))
        edits.add(code_end, end, "")


def _remove_leading(
    edits: Edits, deleted: Sequence[Node], staying: Sequence[Node], row: ElementRow
) -> None:
    """Delete elements, each with the separator before it; the first that stays loses its own."""
    elements = row.elements
    indexes = [elements.index(element) for element in deleted]
    for first, last in stretches(indexes):
        above = elements[first - 1].outer_end if first else None
        start = row.start_with_separator(first)
        end = elements[last].outer_end
        tail = row.tail(elements[last])
        are_lines = row.begins_line(start) and tail[:1] in ("", "#")
        if are_lines and "#" not in row.text[start:end]:
            edits.add(row.lines.start(start), row.line_end(elements[last]), "")
        elif above is not None and tail[:1] != "#" and "#" not in row.text[above:end]:
            edits.add(above, end, "")
        else:
            _remove_one_leading(edits, first, above=above, row=row)
            for index in range(first + 1, last + 1):
                _remove_one_leading(edits, index, above=None, row=row)

    first_staying = elements.index(staying[0])
    if first_staying:
        separator_start = row.start_with_separator(first_staying)
        edits.add(separator_start, staying[0].outer_start, "")


def _remove_one_leading(edits: Edits, index: int, above: int | None, row: ElementRow) -> None:
    """Delete an element with the separator before it, from the end of the one above if given."""
    element = row.elements[index]
    start = row.start_with_separator(index)
    if row.begins_line(start) and row.tail(element)[:1] in ("", "#"):
        edits.add(row.lines.start(start), row.line_end(element), "")
    elif above is not None and "#" not in row.text[above:start]:
        edits.add(above, element.outer_end, "")
    else:
        edits.add(start, element.outer_end, "")


# insertions --------------------------------------------------------------------------------------
class _Insertion(Record):
    """Elements that are inserted, as text, and how they are separated from their neighbours.

    `indent` is the indentation if each gets a line of its own, else None. `separator` is what
    stands between two of them, and `leads` is whether it begins the line of the second.
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
        at = _after_bracket(edits, code)
        edits.insert(at, ", ".join(texts))
        return

    if above is not None and above.kind == "Param" and above.fields["star"] == "**":
        index = staying.index(above)  # a new parameter goes before `**kw`
        above = staying[index - 1] if index else None

    insertion = _insertion(inserted, texts, row=row)
    if above is None:
        _insert_above(insertion, staying[0], row=row)
    else:
        _insert_below(insertion, above, row=row)


def _insertion(inserted: list[Node], texts: list[str], row: ElementRow) -> _Insertion:
    """How the texts of inserted elements are laid out in their list."""
    indent = row.indent
    if _is_beside(row.edits, inserted):
        indent = None
    if indent is None:
        return _Insertion(texts, None, separator=f"{row.spaced} ", leads=False)

    line_break = row.lines.newline + indent
    if row.has_leading_separators:
        separator = f"{line_break}{row.separator} "
        return _Insertion(texts, indent, separator=separator, leads=True)

    separator = row.spaced + line_break
    return _Insertion(texts, indent, separator=separator, leads=False)


def _insert_below(insertion: _Insertion, above: Node, row: ElementRow) -> None:
    """Insert elements below one that stays; the comment behind that one stays with it."""
    edits = row.edits
    line_end = row.line_end(above)
    separator_end = row.separator_end_on_line(above)
    tail_start = separator_end or above.outer_end
    tail = row.text[tail_start:line_end]
    has_comment = tail.lstrip().startswith("#")
    if not has_comment or insertion.indent is None:
        written = "".join(insertion.separator + text for text in insertion.texts)
        edits.insert(above.outer_end, written)
        return

    if insertion.leads:
        edits.insert(line_end, _lines_led_by_separators(insertion, row))
        return

    if not separator_end:
        edits.insert(above.outer_end, row.spaced)

    newline = row.lines.newline
    lines: list[str] = []
    for text in insertion.texts:
        lines.append(insertion.indent + text + row.spaced + newline)

    if not separator_end:  # the list did not end with a separator: it does not now
        last_text = insertion.texts[-1]
        lines[-1] = insertion.indent + last_text + newline

    edits.insert(line_end, "".join(lines))


def _lines_led_by_separators(insertion: _Insertion, row: ElementRow) -> str:
    """Inserted elements, each on a line that its separator begins."""
    newline = row.lines.newline
    line_begin = insertion.separator[len(newline) :]  # the line break is there already
    lines = [line_begin + text + newline for text in insertion.texts]
    return "".join(lines)


def _insert_above(insertion: _Insertion, below: Node, row: ElementRow) -> None:
    """Insert elements above the first one that stays, and above the comments over that one."""
    edits = row.edits
    at = below.outer_start
    if row.begins_line(at) and insertion.indent is not None:
        start = row.lines_start(below)
        at = start + len(row.lines.indent(start))

    separator = insertion.separator
    if insertion.leads and at < below.outer_start:
        indent = row.lines.indent(at)
        written = separator.join(insertion.texts)
        edits.insert(at, written + row.lines.newline + indent)
        edits.insert(below.outer_start, f"{row.separator} ")
    else:
        written = "".join(text + separator for text in insertion.texts)
        edits.insert(at, written)


def _is_beside(edits: Edits, inserted: list[Node]) -> bool:
    """Whether a hunk writes inserted elements beside the one above, and the others one a line."""
    siblings = inserted[0].siblings()
    lines = edits.hunk.after.lines
    line_numbers = [lines.number(node.outer_start) for node in siblings]

    first = siblings.index(inserted[0])
    past = first + len(inserted)
    others = line_numbers[:first] + line_numbers[past:]
    if first == 0 or len(others) < 2:
        return False

    are_one_a_line = len(others) == len(set(others))
    line_above = line_numbers[first - 1]
    return are_one_a_line and set(line_numbers[first:past]) == {line_above}


def _after_bracket(edits: Edits, code: Node) -> int:
    """The offset past the opening bracket of a list of which no element stays.

    Raises:
        ReplaceWhole: the list may have no bracket of its own.
    """
    if code.kind == "Tuple":
        raise ReplaceWhole

    if code.kind == "Call":
        function = code.node("func")
        return find_outside(edits.text, function.outer_end, operator="(") + 1

    if code.kind == "Parameters":
        if code.parent is None or code.parent.kind != "FunctionDef":
            raise ReplaceWhole

        name = code.parent.node("name")
        return find_outside(edits.text, name.end, operator="(") + 1

    return code.start + 1


# elements that change places ---------------------------------------------------------------------
class _Reordering(Record):
    """How a list is rewritten, line by line.

    `partners` are the before nodes of the after nodes that stay or move, by their id; `gone` are
    the before nodes that do neither. `leaves_one` is whether one element is left in a tuple.
    """

    partners: dict[int, Node]
    gone: list[Node]
    leaves_one: bool


def _reordering(
    edits: Edits, pairs: Sequence[NodePair], gaps: Sequence[Gap], row: ElementRow, leaves_one: bool
) -> _Reordering | None:
    """How to write a list line by line, if that is needed to keep comments with their elements.

    It is where an element with comments of its own moves, or is the only one left of a tuple. None
    for any other list, which is edited in place.

    Raises:
        Conflict: its comments cannot be told from those of others.
    """
    gone: list[Node] = []
    inserted: list[Node] = []
    for gap in gaps:
        gone += [node for node in gap.deleted if node.role != "run"]
        inserted += gap.inserted

    staying: list[Node] = []
    if leaves_one:
        staying = [old for old, _ in pairs if old.role != "run"]
    # comparing takes time, and most lists have no comment
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
    have_own_lines = all(map(row.has_own_lines, row.elements))
    if is_changed or row.has_leading_separators or not have_own_lines:
        message = Message(
            "the element in line {line} moves, and its comment cannot be moved along: write "
            "another hunk for the rest",
            line=edits.lines.number(commented[0].start),
        )
        raise Conflict(message)

    partners = {id(new): old for old, new in pairs}
    partners.update(moved)
    return _Reordering(partners, gone, leaves_one=leaves_one)


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

    first = row.elements[0]
    last = row.elements[-1]
    has_separator = row.past_separator(last.outer_end) > 0
    is_trailing = reordering.leaves_one or has_separator
    lines: list[str] = []
    for item in items:
        is_separated = is_trailing or item is not items[-1]
        lines.append(_line_of(edits, row, item=item, is_separated=is_separated))

    edits.add(row.lines_start(first), row.line_end(last), "".join(lines))
    edits.deleted += reordering.gone


def _has_comment(row: ElementRow, code: Node) -> bool:
    """Whether a comment is above an element of the file, or behind it."""
    if row.lines_start(code) < row.lines.start(code.outer_start):
        return True

    past = row.past_separator(code.outer_end) or code.outer_end
    return "#" in row.text[past : row.line_end(code)]


def _line_of(edits: Edits, row: ElementRow, item: Node, *, is_separated: bool) -> str:
    """The lines of an element of the file or an inserted one, with or without a separator."""
    separator = row.separator if is_separated else ""
    is_inserted = not any(item is element for element in row.elements)
    if is_inserted:
        indent = row.indent or ""
        written = edits.render.part(item, indent)
        return indent + written + separator + edits.lines.newline

    tail_start = row.past_separator(item.outer_end) or item.outer_end
    tail = row.text[tail_start : row.line_end(item)]
    code = row.text[row.lines_start(item) : item.outer_end]
    return code + separator + tail
