"""Statements, clauses, decorators: nodes that have lines of their own (rules 15, 17 to 19)."""

from __future__ import annotations

import re
from typing import Sequence

from patcher.engine.layout import body_end, code_end, cut_comment, lines_end
from patcher.engine.lex import tokens
from patcher.engine.node import CLAUSES, COMPOUND, Node
from patcher.engine.rewrite.align import Gap, NodePair, align
from patcher.engine.rewrite.comments import comments_start
from patcher.engine.rewrite.edits import Edits
from patcher.engine.source import Conflict, Removed
from patcher.engine.spatch.side import Side
from patcher.message import Message
from patcher.record import Record

_LAST_CLAUSES = {"Else": 1, "Finally": 2}
"""The rank of the clauses that come last; all others have rank 0."""
_HOW_IT_IS_READ = re.compile(r"#!|#.*coding[:=]")
"""A comment in the first two lines that says what runs the file, or its encoding (PEP 263)."""


def change_lines(
    edits: Edits, before: list[Node], after: list[Node], siblings: list[Node], parent: Node | None
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
    insertions: dict[int, Gap] = {}  # by the id of the node below
    for gap in gaps:
        if gap.below is not None and not gap.deleted:
            _, new_below = gap.below
            insertions[id(new_below)] = gap

    for old, new in pairs:
        # in the order of the text: before a decorator that is inserted at the same place
        insertion = insertions.get(id(new))
        if insertion is not None:
            _insert(edits, insertion, siblings=siblings, parent=parent)

        if old.role != "run":
            _change_comments(edits, old, new=new)
            edits.change(old, new)

    for gap in gaps:
        if gap.deleted and gap.inserted:
            _swap(edits, gap)
        elif gap.inserted and gap.below is None:
            _insert(edits, gap, siblings=siblings, parent=parent)

    # deletions come last: only now is it known which of the deleted code has moved
    has_insertions = any(gap.inserted for gap in gaps)
    emptied_parent = None if has_insertions else parent
    for gap in gaps:
        if gap.deleted and not gap.inserted:
            _delete(edits, gap, parent=emptied_parent)


# rows of the after side --------------------------------------------------------------------------
def _first_row(side: Side, node: Node) -> int:
    """The row (0-based) on which a node begins."""
    return side.lines.number(node.begin) - 1


def _last_row(side: Side, node: Node) -> int:
    """The row (0-based) on which a node ends."""
    return side.last_line(node) - 1


def _rows(side: Side, first: Node, last: Node) -> range:
    """The rows (0-based) from the one on which a node begins to that on which another ends."""
    top = _first_row(side, first)
    bottom = _last_row(side, last)
    return range(top, bottom + 1)


def _inserted_rows(edits: Edits, gap: Gap) -> list[int]:
    """The rows that a gap inserts: those of its nodes, and `+` comments around them."""
    side = edits.hunk.after
    node_rows: set[int] = set()
    for node in gap.inserted:
        node_rows.update(_rows(side, node, node))

    first = gap.inserted[0]
    last = gap.inserted[-1]
    rows: list[int] = []
    if _begins_line(side, first, nodes=gap.inserted):
        top = _first_row(side, first)
        rows += _loose_rows(side, top, step=-1)

    for row in _rows(side, first, last):
        if row in node_rows or not _is_context(side, row):
            rows.append(row)

    if _begins_line(side, last, nodes=gap.inserted):
        bottom = _last_row(side, last)
        rows += _loose_rows(side, bottom, step=1)

    return rows


def _is_context(side: Side, row: int) -> bool:
    """Whether a row is a context line of the hunk."""
    return side.numbers[row] in side.context


def _begins_line(side: Side, node: Node, nodes: Sequence[Node]) -> bool:
    """Whether the line of a statement begins with one of `nodes`: comments around it are theirs."""
    line_start = side.lines.start(node.begin)
    for sibling in nodes:
        if side.lines.start(sibling.begin) != line_start:
            continue

        code_before = side.text[line_start : sibling.begin].strip()
        if not code_before:
            return True

    return False


def _loose_rows(side: Side, row: int, step: int) -> list[int]:
    """The rows of `+` comments and blank lines directly above (`step` -1) or below (1) a row.

    Comments belong to the inserted or changed code below them: above such code, no row is below
    another one.
    """
    rows: list[int] = []
    count = len(side.numbers)
    row += step
    while 0 <= row < count and not _is_context(side, row):
        line = side.lines.row(row).strip()
        is_code = line[:1] not in ("", "#")
        if is_code and step > 0:  # the comments belong to that code
            return []
        if is_code:
            break

        rows.append(row)
        row += step

    return sorted(rows)


def _have_text(side: Side, rows: Sequence[int]) -> bool:
    """Whether any of the rows is not blank."""
    return any(side.lines.row(row).strip() for row in rows)


# comments of a changed line ----------------------------------------------------------------------
def _change_comments(edits: Edits, old: Node, new: Node) -> None:
    """Insert the comments of a changed line: those above it, and the one at its end (rule 19)."""
    side = edits.hunk.after
    code = edits.code(old)
    _change_trailing_comment(edits, old, new=new, code=code)
    top = _first_row(side, new)
    if _is_context(side, top):
        return

    bottom = _last_row(side, new)
    if _begins_line(side, new, nodes=[new]):
        above = _loose_rows(side, top, step=-1)
        line_start = edits.lines.start(code.begin)
        _insert_comments(edits, above, code=code, at=line_start)

        if not _is_context(side, bottom):
            below = _loose_rows(side, bottom, step=1)
            line_end = edits.lines.end(code.end - 1)
            _insert_comments(edits, below, code=code, at=line_end)

    _check_no_comment_inside(edits, new, code=code)


def _insert_comments(edits: Edits, rows: Sequence[int], code: Node, at: int) -> None:
    """Insert rows of comments beside a statement of the file, unless all of them are blank."""
    if not _have_text(edits.hunk.after, rows):
        return

    edits.check_own_lines(code, None)
    indent = edits.indent(code)
    written = edits.render.lines(rows, [], indent=indent)
    edits.insert(at, written)


def _check_no_comment_inside(edits: Edits, new: Node, code: Node) -> None:
    """Refuse comments inside a simple statement, which is changed part by part."""
    if new.has_body:
        return

    written = edits.hunk.after.text[new.start : new.end]
    has_comment = any(token.kind == "comment" for token in tokens(written))
    if has_comment:
        message = Message(
            "line {number} is changed, and a comment inside the new code has no place there",
            number=edits.lines.number(code.start),
        )
        raise Conflict(message)


def _change_trailing_comment(edits: Edits, old: Node, new: Node, code: Node) -> None:
    """Write the comment at the end of a changed line, where that changes."""
    comment = _new_trailing_comment(edits, old, new=new)
    if comment is None:
        return

    at = code_end(code, edits.text)
    line_end = edits.lines.end(at)
    tail = edits.text[at:line_end].rstrip()
    has_other_code = tail.lstrip()[:1] not in ("", "#")
    if not has_other_code:
        written = f"  {comment}" if comment else ""
        edits.add(at, at + len(tail), written)
    elif comment:
        message = Message(
            "line {number} has more than one statement: no place for the comment",
            number=edits.lines.number(at),
        )
        raise Conflict(message)


def _new_trailing_comment(edits: Edits, old: Node, new: Node) -> str | None:
    """The new comment at the end of a changed line, "" for none; None if the old one stays."""
    side = edits.hunk.after
    at = code_end(new, side.text)
    start = at
    if at + 1 in side.layout.bodies:
        start += len(" ...")  # which was added to a header

    line_end = side.lines.end(at)
    written = side.text[start:line_end].strip()
    row = side.lines.number(at) - 1
    if written.startswith("#") and not _is_context(side, row):
        return written
    return edits.render.comments.instead(old, new)


# replace -----------------------------------------------------------------------------------------
class _Region(Record):
    """Neighbouring statements of the file that are deleted together.

    `is_kept` is whether they are kept as a part of what is inserted.
    """

    first: Node
    last: Node
    is_kept: bool


def _swap(edits: Edits, gap: Gap) -> None:
    """Replace the deleted statements of a gap in place by the inserted ones."""
    codes = edits.codes_of(gap.deleted)
    if not codes:
        raise Conflict(Message("the run that is replaced is empty here"))

    old = gap.deleted[0]
    new = gap.inserted[0]
    first_code = codes[0]
    is_simple = _is_simple_swap(gap, codes)
    stays_in_place = is_simple and not new.role and edits.render.counterpart(new) is None
    if stays_in_place and edits.shares_line(first_code, first_code.parent):
        _change_comments(edits, old, new=new)
        edits.change(old, new)
        return

    for code in codes:
        edits.check_own_lines(code, None)

    edits.deleted += gap.deleted

    rows = _inserted_rows(edits, gap)
    indent = edits.indent(first_code)
    written = edits.render.lines(rows, gap.inserted, indent=indent)
    regions = _regions(edits, gap)
    if is_simple:
        written = written.rstrip("\r\n")
        _swap_line(edits, old, new=new, code=first_code, written=written)
    else:
        _swap_lines(edits, first_code, last=regions[0].last, written=written)

    _remove_repeated(edits, rows, regions=regions)
    _remove_regions(edits, regions[1:])


def _swap_lines(edits: Edits, first: Node, last: Node, written: str) -> None:
    """Write lines in the place of those of two statements and what is between them."""
    start = edits.lines.start(first.begin)
    end = lines_end(edits.lines, last)
    if end == len(edits.text) and not _ends_with_line_break(edits):
        written = written.rstrip("\r\n")
    edits.add(start, end, written)


def _remove_regions(edits: Edits, regions: Sequence[_Region]) -> None:
    """Remove the lines of deleted statements in the place of which nothing is written."""
    for first, last, _ in regions:
        start = edits.lines.start(first.begin)
        end = lines_end(edits.lines, last)
        removed = Removed(first.begin, last.end, block=None)
        edits.add(start, end, "", removed)


def _remove_repeated(edits: Edits, rows: Sequence[int], regions: Sequence[_Region]) -> None:
    """Remove comments between deleted statements that inserted rows have as well."""
    written = {edits.hunk.after.lines.row(row).strip() for row in rows}
    for above, below in zip(regions, regions[1:]):
        start = lines_end(edits.lines, above.last)
        past = edits.lines.start(below.first.begin)
        while start < past:
            end = edits.lines.end(start)
            line = edits.text[start:end].strip()
            if line.startswith("#") and line in written:
                edits.add(start, end, "")
            start = end


def _ends_with_line_break(edits: Edits) -> bool:
    """Whether the last line of the file has a line break."""
    return edits.text.endswith(("\n", "\r"))


def _is_simple_swap(gap: Gap, codes: Sequence[Node]) -> bool:
    """Whether one statement without a body takes the place of another one."""
    if len(codes) != 1 or len(gap.inserted) != 1:
        return False
    if gap.deleted[0].role == "run":
        return False

    kinds = {codes[0].kind, gap.inserted[0].kind}
    return kinds.isdisjoint(COMPOUND | CLAUSES)


def _regions(edits: Edits, gap: Gap) -> list[_Region]:
    """The deleted statements of a gap; those that follow each other and are kept are one region."""
    regions: list[_Region] = []
    for node in gap.deleted:
        codes = edits.codes(node)
        is_kept = id(node) in edits.render.kept and bool(codes)
        if not is_kept:
            regions += [_Region(code, code, is_kept=False) for code in codes]
            continue

        first = codes[0]
        if regions and regions[-1].is_kept:
            first = regions.pop().first
        regions.append(_Region(first, codes[-1], is_kept=True))

    return regions


def _swap_line(edits: Edits, old: Node, new: Node, code: Node, written: str) -> None:
    """Write one statement in the place of another one on its line, with its comment."""
    line_end = edits.lines.end(code.end)
    tail = edits.text[code.end : line_end].rstrip()
    if tail:
        written, comment = cut_comment(written)
        # a statement or line that moves takes its comment along
        has_moved = id(old) in edits.render.kept
        is_replaced = has_moved or edits.render.comments.instead(old, new) is not None
        if comment or is_replaced:
            edits.add(code.end, code.end + len(tail), comment)
        else:
            edits.render.changed.add(old)

    line_start = edits.lines.start(code.begin)
    edits.add(line_start, code.end, written)


# delete ------------------------------------------------------------------------------------------
def _delete(edits: Edits, gap: Gap, parent: Node | None) -> None:
    """Delete the lines of the statements of a gap.

    `parent` is what has their list, None where other statements are inserted into it.
    """
    edits.deleted += gap.deleted
    moved_decorators: list[Node] = []
    for node in gap.deleted:
        if edits.render.takes_comments_above(node):
            moved_decorators.append(edits.code(node))

    codes = edits.codes_of(gap.deleted)
    for code in codes:
        edits.check_own_lines(code, None)
        block = None
        if parent is not None and code.parent is not None:
            block = _block_extent(edits, code.parent)

        start = edits.lines.start(code.begin)
        if code in moved_decorators:
            start = comments_start(edits.lines, start)

        end = lines_end(edits.lines, code)
        removed_end = code.end
        if code.is_compound:
            removed_end = len(edits.text[:end].rstrip("\r\n"))
        removed = Removed(code.begin, removed_end, block=block)

        blank_lines = ""
        if code is codes[-1]:
            blank_lines = edits.lines.newline * _blank_rows(edits, gap)
        edits.add(start, end, blank_lines, removed)


def _blank_rows(edits: Edits, gap: Gap) -> int:
    """How many blank `+` lines are where statements go (rule 18)."""
    side = edits.hunk.after
    if gap.above is not None:
        _, above = gap.above
        rows = _loose_rows(side, _last_row(side, above), step=1)
    elif gap.below is not None:
        _, below = gap.below
        rows = _loose_rows(side, _first_row(side, below), step=-1)
    else:
        rows = _loose_rows(side, len(side.numbers), step=-1)

    # the one line of a side without lines has the number of the hunk's header
    inserted = {number for tag, _, number in edits.hunk.text.lines if tag == "+"}
    return sum(side.numbers[row] in inserted for row in rows)


def _block_extent(edits: Edits, block: Node) -> tuple[int, int] | None:
    """The start offset and the number of statements of a block (rule 15).

    None for a list that may become empty, such as the clauses of a statement.
    """
    if block.kind != "Block":
        return None

    # a definition that is the scope: the block that holds it was not parsed
    if block.parent is None:
        line_start = edits.lines.start(block.start)
        return edits.source.block(line_start)

    body = block.statements()
    body_start = edits.lines.start(body[0].begin)
    return body_start, len(body)


# insert ------------------------------------------------------------------------------------------
def _insert(edits: Edits, gap: Gap, siblings: list[Node], parent: Node | None) -> None:
    """Insert the nodes of a gap beside the line of the hunk that they touch (rule 17)."""
    above = gap.above
    below = gap.below
    first = gap.inserted[0]
    following = _following_clause(gap, siblings)
    if above is not None and _goes_below(edits, gap, above=above):
        old_above, _ = above
        lowest = edits.codes(old_above)[-1]
        _insert_after(edits, gap, code=lowest, parent=parent)
    elif below is not None and _goes_above(first, below):
        old_below, _ = below
        highest = edits.codes(old_below)[0]
        _insert_before(edits, gap, code=highest, parent=parent)
    elif following is not None:
        _insert_before(edits, gap, code=following, parent=None)
    elif first.kind == "Decorator" and not siblings and parent is not None:
        _insert_before(edits, gap, code=parent, parent=None)
    elif below is not None and above is None:
        _insert_first(edits, gap, siblings=siblings, parent=parent)
    elif below is None and siblings:
        _insert_last(edits, gap, lowest=siblings[-1], block=parent)
    elif parent is not None and parent.is_compound:
        _insert_below_body(edits, gap, statement=parent)
    else:
        _insert_first(edits, gap, siblings=siblings, parent=parent)


def _insert_last(edits: Edits, gap: Gap, lowest: Node, block: Node | None) -> None:
    """Insert at the end of a block, below its last statement."""
    edits.check_own_lines(lowest, block)
    at = _block_end(edits, lowest, block=block)
    indent = edits.indent(lowest)
    _add_lines(edits, gap, at=at, indent=indent)


def _insert_below_body(edits: Edits, gap: Gap, statement: Node) -> None:
    """Insert the first clause of a compound statement, below its body."""
    body = statement.node("body")
    lowest = body.statements()[-1]
    edits.check_own_lines(lowest, None)
    at = _block_end(edits, lowest, block=body)
    indent = edits.indent(statement)
    _add_lines(edits, gap, at=at, indent=indent)


def _goes_below(edits: Edits, gap: Gap, above: NodePair) -> bool:
    """Whether an insertion touches the node above it, rather than the one below it."""
    _, new_above = above
    if new_above.role == "run":
        return False
    if gap.below is None:
        return True

    _, new_below = gap.below
    if new_below.role == "run":
        return True
    return not edits.hunk.after.blank_between(new_above, gap.inserted[0])


def _goes_above(first: Node, below: NodePair) -> bool:
    """Whether an insertion touches the node below it.

    A docstring goes above nothing but a docstring.
    """
    old_below, new_below = below
    if new_below.role == "run":
        return False
    return first.field() != "doc" or old_below.field() == "doc"


def _following_clause(gap: Gap, siblings: Sequence[Node]) -> Node | None:
    """The clause of the file that an inserted one goes above, where the hunk has no other."""
    first = gap.inserted[0]
    has_neighbours = gap.above is not None or gap.below is not None
    if has_neighbours or not first.is_clause:
        return None

    rank = _LAST_CLAUSES.get(first.kind, 0)
    for clause in siblings:
        if _LAST_CLAUSES.get(clause.kind, 0) >= rank:
            return clause

    return None


def _block_end(edits: Edits, statement: Node, block: Node | None) -> int:
    """The offset past the last statement of a block, and the comments that belong to it."""
    end = lines_end(edits.lines, statement)
    is_body = block is not None and block.kind == "Block"
    owner = block.parent if block is not None and is_body else None
    if owner is not None:
        indent = edits.indent(owner)
        return body_end(edits.lines, end, indent=indent)

    if edits.hunk.text.scope == "<module>":
        code_stop = len(edits.text.rstrip())
        return edits.lines.end(code_stop - 1)
    return end


def _insert_after(edits: Edits, gap: Gap, code: Node, parent: Node | None) -> None:
    """Insert below a statement of the file, and below the comments there that the hunk names."""
    edits.check_own_lines(code, parent)
    end = lines_end(edits.lines, code)
    at = _below_comments(edits, gap, at=end)
    indent = edits.indent(code)
    _add_lines(edits, gap, at=at, indent=indent)


def _insert_before(edits: Edits, gap: Gap, code: Node, parent: Node | None) -> None:
    """Insert above a statement of the file, and above its comments that the hunk does not name."""
    edits.check_own_lines(code, parent)
    at = edits.lines.start(code.begin)
    if gap.inserted[0].kind != "Decorator":
        at = _above_comments(edits, gap, code=code)
    _add_lines(edits, gap, at=at, indent=edits.indent(code))


def _add_lines(edits: Edits, gap: Gap, at: int, indent: str) -> None:
    """Insert the lines of a gap at `at`, the beginning of a line or the end of the file."""
    rows = _inserted_rows(edits, gap)
    written = edits.render.lines(rows, gap.inserted, indent=indent)
    is_at_end = at == len(edits.text) > 0
    if is_at_end and not _ends_with_line_break(edits):
        written = edits.lines.newline + written.rstrip("\r\n")
    edits.insert(at, written)


def _named_comments(edits: Edits, gap: Gap) -> set[str]:
    """The comments on context lines directly above an insertion.

    Where the file has one there, the insertion goes below it (rule 17).
    """
    side = edits.hunk.after
    comments: set[str] = set()
    first_row = _inserted_rows(edits, gap)[0]
    row = first_row - 1
    while row >= 0 and _is_context(side, row):
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
    line_start = at
    while named and line_start < len(edits.text):
        line_end = edits.lines.end(line_start)
        line = edits.text[line_start:line_end].strip()
        if line[:1] not in ("", "#"):
            break

        if line in named:
            at = line_end
        line_start = line_end

    return at


def _above_comments(edits: Edits, gap: Gap, code: Node) -> int:
    """The offset above a statement and its comments, up to one that the hunk names.

    Comments at the beginning of the file stay there: what it is run by, its encoding, its licence.
    Those above a definition may be about that, without the first two.
    """
    named = _named_comments(edits, gap)
    at = top = edits.lines.start(code.begin)
    indent = edits.indent(code)
    while at:
        start = edits.lines.start(at - 1)
        line = edits.text[start:at]
        says_how = edits.lines.number(start) <= 2 and _HOW_IT_IS_READ.match(line)
        if not line.startswith(indent + "#") or says_how or line.strip() in named:
            return at

        at = start

    return at if code.is_definition else top


def _insert_first(edits: Edits, gap: Gap, siblings: list[Node], parent: Node | None) -> None:
    """Insert after the docstring, in a module after the `from __future__` imports as well.

    A docstring is inserted only if there is none.
    """
    doc = parent.fields.get("doc") if parent is not None else None
    is_module = parent is None or parent.parent is None
    top: list[Node] = []
    if gap.inserted[0].is_text:
        old_doc = doc if isinstance(doc, Node) else None
        _check_no_docstring(edits, old_doc, siblings=siblings)
    else:
        top = _top_statements(siblings)

    if isinstance(doc, Node):
        _insert_after(edits, gap, code=doc, parent=parent)
    elif top and is_module:
        _insert_after(edits, gap, code=top[-1], parent=parent)
    elif siblings and not is_module:
        _insert_before(edits, gap, code=siblings[0], parent=parent)
    elif siblings:  # a module's first comments (a licence, a coding cookie) stay first
        first = siblings[0]
        edits.check_own_lines(first, parent)
        at = edits.lines.start(first.begin)
        indent = edits.indent(first)
        _add_lines(edits, gap, at=at, indent=indent)
    else:
        _add_lines(edits, gap, at=len(edits.text), indent="")


def _check_no_docstring(edits: Edits, doc: Node | None, siblings: Sequence[Node]) -> None:
    """Refuse to insert a docstring where there is one."""
    for node in _top_statements(siblings):
        if doc is None and node.is_text:
            doc = node

    if doc is not None:
        message = Message(
            "there is a docstring already, in line {line}: write it on a `-` line",
            line=edits.lines.number(doc.start),
        )
        raise Conflict(message)


def _top_statements(siblings: Sequence[Node]) -> list[Node]:
    """The statements that stay above all others: a docstring, and `from __future__` imports."""
    top: list[Node] = []
    for index, node in enumerate(siblings):
        is_docstring = index == 0 and node.is_text
        if is_docstring or _is_future_import(node):
            top.append(node)

    return top


def _is_future_import(node: Node) -> bool:
    """Whether a statement imports from `__future__`, or is the `...` that stands for those."""
    if node.name == "future":
        return True

    module = node.fields.get("module")
    return isinstance(module, Node) and module.fields.get("value") == "__future__"
