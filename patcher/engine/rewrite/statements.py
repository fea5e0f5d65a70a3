"""Statements, clauses, decorators: nodes that have lines of their own (rules 15, 17 to 19)."""

from __future__ import annotations

from typing import Sequence

from patcher.engine.layout import body_end, code_end, cut_comment, lines_end
from patcher.engine.lex import tokens
from patcher.engine.node import CLAUSES, COMPOUND, Node
from patcher.engine.rewrite.align import Gap, NodePair, align
from patcher.engine.rewrite.edits import Edits
from patcher.engine.source import Conflict, Removed
from patcher.engine.spatch.side import Side
from patcher.message import Message
from patcher.record import Record

_LAST_CLAUSES = {"Else": 1, "Finally": 2}


def change_lines(
    edits: Edits,
    before: list[Node],
    after: list[Node],
    siblings: list[Node],
    parent: Node | None,
) -> None:
    """Align two lists of nodes that have lines of their own, and edit those lines.

    Args:
        edits: gets the edits.
        before: the nodes of the before side.
        after: those of the after side.
        siblings: the list of the file in which the before nodes matched.
        parent: the block or statement that has that list, None if it was not read.

    Raises:
        Conflict: the change cannot be made safely.
    """
    pairs, gaps = align(edits.hunk, before, after=after)
    inserted_above: dict[int, Gap] = {}
    for gap in gaps:
        if gap.below is not None and not gap.deleted:
            inserted_above[id(gap.below[1])] = gap

    for old, new in pairs:
        # in the order of the text: before a decorator that is inserted at the same place
        if id(new) in inserted_above:
            _insert(edits, inserted_above[id(new)], siblings=siblings, parent=parent)
        if old.role != "run":
            _change_comments(edits, old, new=new)
            edits.change(old, new)
    for gap in gaps:
        if gap.deleted and gap.inserted:
            _swap(edits, gap)
        elif gap.inserted and gap.below is None:
            _insert(edits, gap, siblings=siblings, parent=parent)

    inserts = any(gap.inserted for gap in gaps)
    for gap in gaps:  # what moves is known now
        if gap.deleted and not gap.inserted:
            _delete(edits, gap, parent=None if inserts else parent)


# rows of the after side --------------------------------------------------------------------------
def _first_row(side: Side, node: Node) -> int:
    """The row (0-based) on which a node begins."""
    return side.lines.number(node.begin) - 1


def _last_row(side: Side, node: Node) -> int:
    """The row (0-based) on which a node ends."""
    return side.last_line(node) - 1


def _inserted_rows(edits: Edits, gap: Gap) -> list[int]:
    """The rows that a gap inserts: those of its nodes, and `+` comments around them."""
    side = edits.hunk.after
    first, last = gap.inserted[0], gap.inserted[-1]
    of_nodes: set[int] = set()
    for node in gap.inserted:
        of_nodes.update(range(_first_row(side, node), _last_row(side, node) + 1))

    top, bottom = _first_row(side, first), _last_row(side, last)
    rows: list[int] = []
    if _begins_line(side, first, nodes=gap.inserted):
        rows += _loose_rows(side, top, step=-1)
    for row in range(top, bottom + 1):
        if row in of_nodes or side.numbers[row] not in side.context:
            rows.append(row)
    if _begins_line(side, last, nodes=gap.inserted):
        rows += _loose_rows(side, bottom, step=1)
    return rows


def _begins_line(side: Side, node: Node, nodes: Sequence[Node]) -> bool:
    """Whether the line of a statement begins with one of `nodes`: comments around it are theirs."""
    start = side.lines.start(node.begin)
    for sibling in nodes:
        is_on_line = side.lines.start(sibling.begin) == start
        if is_on_line and not side.text[start : sibling.begin].strip():
            return True
    return False


def _loose_rows(side: Side, row: int, step: int) -> list[int]:
    """The rows of `+` comments and blank lines directly above (`step` -1) or below a row.

    Those above inserted or changed code are its own, so that none is below anything else.
    """
    rows: list[int] = []
    row += step
    while 0 <= row < len(side.numbers) and side.numbers[row] not in side.context:
        line = side.lines.row(row).strip()
        if line and not line.startswith("#"):
            if step > 0:
                return []
            break
        rows.append(row)
        row += step
    return rows if step > 0 else rows[::-1]


def _have_text(side: Side, rows: Sequence[int]) -> bool:
    return any(side.lines.row(row).strip() for row in rows)


# comments of a changed line ----------------------------------------------------------------------
def _change_comments(edits: Edits, old: Node, new: Node) -> None:
    """Insert the comments of a changed line: those above it, and the one at its end (rule 19)."""
    side = edits.hunk.after
    code = edits.code(old)
    _change_trailing_comment(edits, old, new=new, code=code)
    top, bottom = _first_row(side, new), _last_row(side, new)
    if side.numbers[top] in side.context:
        return

    begins_line = _begins_line(side, new, nodes=[new])
    above = _loose_rows(side, top, step=-1) if begins_line else []
    if _have_text(side, above):
        edits.check_own_lines(code, None)
        lines = edits.render.lines(above, [], indent=edits.indent(code))
        edits.insert(edits.lines.start(code.begin), lines)

    ends_changed = begins_line and side.numbers[bottom] not in side.context
    below = _loose_rows(side, bottom, step=1) if ends_changed else []
    if _have_text(side, below):
        edits.check_own_lines(code, None)
        lines = edits.render.lines(below, [], indent=edits.indent(code))
        edits.insert(edits.lines.end(code.end - 1), lines)

    if new.has_body:
        return
    written = side.text[new.start : new.end]
    if any(token.kind == "comment" for token in tokens(written)):
        message = Message(
            "line {number} is changed, and a comment inside the new code has no place there",
            number=edits.lines.number(code.start),
        )
        raise Conflict(message)


def _change_trailing_comment(edits: Edits, old: Node, new: Node, code: Node) -> None:
    """Write the comment at the end of a changed line, where that changes."""
    side = edits.hunk.after
    stop = code_end(new, side.text)
    # past the `...` that was added to a header
    past = stop + len(" ...") if stop + 1 in side.layout.bodies else stop
    written = side.text[past : side.lines.end(stop)].strip()
    is_context = side.numbers[side.lines.number(stop) - 1] in side.context
    comment: str | None = written
    if is_context or not written.startswith("#"):
        comment = edits.render.comments.instead(old, new)
    if comment is None:
        return

    at = code_end(code, edits.text)
    tail = edits.text[at : edits.lines.end(at)].rstrip()
    if tail.lstrip()[:1] in ("", "#"):
        edits.add(at, at + len(tail), f"  {comment}" if comment else "")
    elif comment:
        message = Message(
            "line {number} has more than one statement: no place for the comment",
            number=edits.lines.number(at),
        )
        raise Conflict(message)


# replace -----------------------------------------------------------------------------------------
class _Region(Record):
    """Statements of the file that are deleted together.

    `is_kept` is whether they are kept inside what is inserted.
    """

    first: Node
    last: Node
    is_kept: bool


def _swap(edits: Edits, gap: Gap) -> None:
    """Replace the deleted statements of a gap in place by the inserted ones."""
    codes = edits.codes_of(gap.deleted)
    if not codes:
        raise Conflict(Message("the run that is replaced is empty here"))
    old, new = gap.deleted[0], gap.inserted[0]
    is_simple = _is_simple_swap(gap, codes)
    stays_in_place = is_simple and not new.role and edits.render.counterpart(new) is None
    if stays_in_place and edits.shares_line(codes[0], codes[0].parent):
        _change_comments(edits, old, new=new)
        edits.change(old, new)
        return

    for code in codes:
        edits.check_own_lines(code, None)
    edits.deleted += gap.deleted

    rows = _inserted_rows(edits, gap)
    written = edits.render.lines(rows, gap.inserted, indent=edits.indent(codes[0]))
    regions = _regions(edits, gap)
    if is_simple:
        _swap_line(edits, old, new=new, code=codes[0], written=written.rstrip("\r\n"))
    else:
        start = edits.lines.start(codes[0].begin)
        end = lines_end(edits.lines, regions[0].last)
        if end == len(edits.text) and not edits.text.endswith(("\n", "\r")):
            written = written.rstrip("\r\n")
        edits.add(start, end, written)

    for first, last, _ in regions[1:]:
        start = edits.lines.start(first.begin)
        end = lines_end(edits.lines, last)
        edits.add(start, end, "", Removed(first.begin, last.end, block=None))


def _is_simple_swap(gap: Gap, codes: Sequence[Node]) -> bool:
    """Whether one statement without a body takes the place of another one."""
    if len(codes) != 1 or len(gap.inserted) != 1 or gap.deleted[0].role == "run":
        return False
    kinds = {codes[0].kind, gap.inserted[0].kind}
    return not kinds & (COMPOUND | CLAUSES)


def _regions(edits: Edits, gap: Gap) -> list[_Region]:
    """The deleted statements of a gap; those that follow each other and are kept are one region."""
    regions: list[_Region] = []
    for node in gap.deleted:
        codes = edits.codes(node)
        is_kept = id(node) in edits.render.kept and bool(codes)
        if is_kept and regions and regions[-1].is_kept:
            regions[-1] = _Region(regions[-1].first, codes[-1], is_kept=True)
        elif is_kept:
            regions.append(_Region(codes[0], codes[-1], is_kept=True))
        else:
            regions += [_Region(code, code, is_kept=False) for code in codes]
    return regions


def _swap_line(edits: Edits, old: Node, new: Node, code: Node, written: str) -> None:
    """Write one statement in the place of another one on its line, with its comment."""
    tail = edits.text[code.end : edits.lines.end(code.end)].rstrip()
    if tail:
        written, comment = cut_comment(written)
        has_moved = (
            id(old) in edits.render.kept or edits.render.comments.instead(old, new) is not None
        )
        if comment or has_moved:  # a statement or line that moves has taken its comment along
            edits.add(code.end, code.end + len(tail), comment)
        else:
            edits.render.changed.add(old)
    edits.add(edits.lines.start(code.begin), code.end, written)


# delete ------------------------------------------------------------------------------------------
def _delete(edits: Edits, gap: Gap, parent: Node | None) -> None:
    """Delete the lines of the statements of a gap.

    `parent` is None where others come into their list.
    """
    edits.deleted += gap.deleted
    codes = edits.codes_of(gap.deleted)
    for code in codes:
        edits.check_own_lines(code, None)
        block = None
        if parent is not None and code.parent is not None:
            block = _size(edits, code.parent)

        end = lines_end(edits.lines, code)
        stop = len(edits.text[:end].rstrip("\r\n")) if code.is_compound else code.end
        blank = ""
        if code is codes[-1]:
            blank = edits.lines.newline * _blank_rows(edits, gap)
        removed = Removed(code.begin, stop, block=block)
        edits.add(edits.lines.start(code.begin), end, blank, removed)


def _blank_rows(edits: Edits, gap: Gap) -> int:
    """How many blank `+` lines are where statements go (rule 18)."""
    side = edits.hunk.after
    if gap.above is not None:
        rows = _loose_rows(side, _last_row(side, gap.above[1]), step=1)
    elif gap.below is not None:
        rows = _loose_rows(side, _first_row(side, gap.below[1]), step=-1)
    else:
        rows = _loose_rows(side, len(side.numbers), step=-1)
    # a side without a line has that of its hunk
    inserted = {number for tag, _, number in edits.hunk.text.lines if tag == "+"}
    return sum(side.numbers[row] in inserted for row in rows)


def _size(edits: Edits, block: Node) -> tuple[int, int] | None:
    """The start offset and the number of statements of a block (rule 15).

    It is None for a list that may be empty.
    """
    if block.kind != "Block":
        return None
    # a definition that is the scope: the block that holds it was not parsed
    if block.parent is None:
        return edits.source.block(edits.lines.start(block.start))
    body = block.statements()
    return edits.lines.start(body[0].begin), len(body)


# insert ------------------------------------------------------------------------------------------
def _insert(edits: Edits, gap: Gap, siblings: list[Node], parent: Node | None) -> None:
    """Insert the nodes of a gap beside the line of the hunk that they touch (rule 17)."""
    above, below = gap.above, gap.below
    first = gap.inserted[0]
    following = _following_clause(gap, siblings)
    if above is not None and _goes_below(edits, gap, above=above):
        _insert_after(edits, gap, code=edits.codes(above[0])[-1], parent=parent)
    elif below is not None and _goes_above(first, below):
        _insert_before(edits, gap, code=edits.codes(below[0])[0], parent=parent)
    elif following is not None:
        _insert_before(edits, gap, code=following, parent=None)
    elif first.kind == "Decorator" and not siblings and parent is not None:
        _insert_before(edits, gap, code=parent, parent=None)
    elif below is not None and above is None:
        _insert_first(edits, gap, siblings=siblings, parent=parent)
    elif below is None and siblings:
        lowest = siblings[-1]
        edits.check_own_lines(lowest, parent)
        at = _block_end(edits, lowest, block=parent)
        _add_lines(edits, gap, at=at, indent=edits.indent(lowest))
    elif parent is not None and parent.is_compound:
        body = parent.node("body")
        lowest = body.statements()[-1]
        edits.check_own_lines(lowest, None)
        at = _block_end(edits, lowest, block=body)
        _add_lines(edits, gap, at=at, indent=edits.indent(parent))
    else:
        _insert_first(edits, gap, siblings=siblings, parent=parent)


def _goes_below(edits: Edits, gap: Gap, above: NodePair) -> bool:
    """Whether an insertion touches the node above it, and not rather the one below it."""
    if above[1].role == "run":
        return False
    if gap.below is None or gap.below[1].role == "run":
        return True
    return not edits.hunk.after.blank_between(above[1], gap.inserted[0])


def _goes_above(first: Node, below: NodePair) -> bool:
    """Whether an insertion touches the node below it.

    A docstring goes above nothing but a docstring.
    """
    if below[1].role == "run":
        return False
    return first.field() != "doc" or below[0].field() == "doc"


def _following_clause(gap: Gap, siblings: Sequence[Node]) -> Node | None:
    """The clause of the file that an inserted one goes above, where the hunk has no other."""
    first = gap.inserted[0]
    if not first.is_clause or gap.above is not None or gap.below is not None:
        return None
    rank = _LAST_CLAUSES.get(first.kind, 0)
    for clause in siblings:
        if _LAST_CLAUSES.get(clause.kind, 0) >= rank:
            return clause
    return None


def _block_end(edits: Edits, statement: Node, block: Node | None) -> int:
    """The offset past the last statement of a block, and the comments that belong to it."""
    end = lines_end(edits.lines, statement)
    owner = block.parent if block is not None and block.kind == "Block" else None
    if owner is not None:
        return body_end(edits.lines, end, indent=edits.indent(owner))
    if edits.hunk.text.scope == "<module>":
        return edits.lines.end(len(edits.text.rstrip()) - 1)
    return end


def _insert_after(edits: Edits, gap: Gap, code: Node, parent: Node | None) -> None:
    edits.check_own_lines(code, parent)
    at = _below_comments(edits, gap, at=lines_end(edits.lines, code))
    _add_lines(edits, gap, at=at, indent=edits.indent(code))


def _insert_before(edits: Edits, gap: Gap, code: Node, parent: Node | None) -> None:
    edits.check_own_lines(code, parent)
    at = edits.lines.start(code.begin)
    if gap.inserted[0].kind != "Decorator":
        at = _above_comments(edits, gap, at=at, indent=edits.indent(code))
    _add_lines(edits, gap, at=at, indent=edits.indent(code))


def _add_lines(edits: Edits, gap: Gap, at: int, indent: str) -> None:
    """Insert the lines of a gap at `at`, the beginning of a line or the end of the file."""
    written = edits.render.lines(_inserted_rows(edits, gap), gap.inserted, indent=indent)
    if at and at == len(edits.text) and not edits.text.endswith(("\n", "\r")):
        written = edits.lines.newline + written.rstrip("\r\n")
    edits.insert(at, written)


def _named_comments(edits: Edits, gap: Gap) -> set[str]:
    """The comments on context lines directly above an insertion.

    Where the file has one there, the insertion goes below it (rule 17).
    """
    side = edits.hunk.after
    comments: set[str] = set()
    row = _inserted_rows(edits, gap)[0] - 1
    while row >= 0 and side.numbers[row] in side.context:
        line = side.lines.row(row).strip()
        if line[:1] not in ("", "#"):
            break
        if line:
            comments.add(line)
        row -= 1
    return comments


def _below_comments(edits: Edits, gap: Gap, at: int) -> int:
    """`at`, or the offset below the last comment there that the hunk names."""
    named = _named_comments(edits, gap)
    end = at
    while named and end < len(edits.text):
        line_end = edits.lines.end(end)
        line = edits.text[end:line_end].strip()
        if line[:1] not in ("", "#"):
            break
        end = line_end
        if line in named:
            at = end
    return at


def _above_comments(edits: Edits, gap: Gap, at: int, indent: str) -> int:
    """`at`, or the offset above the comments over it, but for those that the hunk names."""
    named = _named_comments(edits, gap)
    while at:
        start = edits.lines.start(at - 1)
        line = edits.text[start:at]
        is_header = line.startswith("#!") or (start == 0 and "coding" in line)
        if not line.startswith(indent + "#") or is_header or line.strip() in named:
            break
        at = start
    return at


def _insert_first(edits: Edits, gap: Gap, siblings: list[Node], parent: Node | None) -> None:
    """Insert after the docstring, in a module after the `from __future__` imports as well.

    A docstring is inserted only if there is none.
    """
    doc = parent.fields.get("doc") if parent is not None else None
    is_module = parent is None or parent.parent is None
    top: list[Node] = []
    if gap.inserted[0].is_text():
        docstring = doc if isinstance(doc, Node) else None
        _check_no_docstring(edits, docstring, siblings=siblings)
    else:
        top = _top_statements(siblings)

    if isinstance(doc, Node):
        _insert_after(edits, gap, code=doc, parent=parent)
    elif top and is_module:
        _insert_after(edits, gap, code=top[-1], parent=parent)
    elif siblings and not is_module:
        _insert_before(edits, gap, code=siblings[0], parent=parent)
    elif siblings:  # a module's first comments (a licence, a coding cookie) stay first
        at = edits.lines.start(siblings[0].begin)
        edits.check_own_lines(siblings[0], parent)
        _add_lines(edits, gap, at=at, indent=edits.indent(siblings[0]))
    else:
        _add_lines(edits, gap, at=len(edits.text), indent="")


def _check_no_docstring(edits: Edits, doc: Node | None, siblings: Sequence[Node]) -> None:
    """Refuse to insert a docstring where there is one."""
    texts = [node for node in _top_statements(siblings) if node.is_text()]
    docstring = doc or (texts[0] if texts else None)
    if docstring is not None:
        message = Message(
            "there is a docstring already, in line {line}: write it on a `-` line",
            line=edits.lines.number(docstring.start),
        )
        raise Conflict(message)


def _top_statements(siblings: Sequence[Node]) -> list[Node]:
    """The statements that stay above all others: a docstring, and `from __future__` imports."""
    top: list[Node] = []
    for index, node in enumerate(siblings):
        if _is_future_import(node) or (index == 0 and node.is_text()):
            top.append(node)
    return top


def _is_future_import(node: Node) -> bool:
    if node.name == "future":
        return True
    module = node.fields.get("module")
    return isinstance(module, Node) and module.fields.get("value") == "__future__"
