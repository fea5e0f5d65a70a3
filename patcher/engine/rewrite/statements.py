"""Statements, clauses and decorators: nodes that have lines of their own (format rules 15 and 18 to 20)."""

from __future__ import annotations

from typing import Sequence

from patcher.engine.layout import body_end, code_end, cut_comment, lines_end
from patcher.engine.lex import tokens
from patcher.engine.node import CLAUSES, COMPOUND, Node
from patcher.engine.rewrite.align import Gap, align
from patcher.engine.rewrite.edits import Edits
from patcher.engine.source import Conflict, Removed
from patcher.engine.spatch.side import Side
from patcher.message import Message

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
    pairs, gaps = align(edits.hunk, before, after)
    inserts = any(gap.inserted for gap in gaps)
    above = {id(gap.below[1]): gap for gap in gaps if gap.below is not None and not gap.deleted}
    for old, new in pairs:
        # in the order of the text: before a decorator that is inserted at the same place
        if id(new) in above:
            _insert(edits, above[id(new)], siblings, parent)
        if old.role != "run":
            _comments(edits, old, new)
            edits.change(old, new)
    for gap in gaps:
        if gap.deleted and gap.inserted:
            _swap(edits, gap)
        elif gap.inserted and gap.below is None:
            _insert(edits, gap, siblings, parent)
    for gap in gaps:  # what moves is known now
        if gap.deleted and not gap.inserted:
            _delete(edits, gap, None if inserts else parent)


def _rows(edits: Edits, gap: Gap) -> list[int]:
    """The rows of the after side that a gap inserts: those of its nodes, and the `+` comments and blank lines around them."""
    side = edits.hunk.after
    top, bottom = (
        side.lines.number(gap.inserted[0].begin) - 1,
        side.lines.number(gap.inserted[-1].end - 1) - 1,
    )
    inside = [
        row
        for row in range(top, bottom + 1)
        if side.numbers[row] not in side.context
        or any(
            side.lines.number(n.begin) - 1 <= row < side.lines.number(n.end - 1)
            for n in gap.inserted
        )
        or any(side.lines.number(n.end - 1) - 1 == row for n in gap.inserted)
    ]
    begins, ends = (
        _is_first(side, gap.inserted, gap.inserted[0]),
        _is_first(side, gap.inserted, gap.inserted[-1]),
    )
    return [
        *(_loose(edits, top, -1) if begins else []),
        *inside,
        *(_loose(edits, bottom, 1) if ends else []),
    ]


def _is_first(side: Side, nodes: Sequence[Node], node: Node) -> bool:
    """Whether the line on which a statement begins begins with one of `nodes`: comments around it are theirs."""
    row = side.lines.start(node.begin)
    return any(
        side.lines.start(sibling.begin) == row and not side.text[row : sibling.begin].strip()
        for sibling in nodes
    )


def _loose(edits: Edits, row: int, step: int) -> list[int]:
    """The rows of `+` comments and blank lines directly above (`step` -1) or below a row.

    Those above inserted or changed code are its own, so that none is below anything else.
    """
    side = edits.hunk.after
    rows: list[int] = []
    row += step
    while 0 <= row < len(side.numbers) and side.numbers[row] not in side.context:
        if side.lines.row(row).strip() and not side.lines.row(row).lstrip().startswith("#"):
            return rows[::-1] if step < 0 else []
        rows.append(row)
        row += step
    return rows if step > 0 else rows[::-1]


def _comments(edits: Edits, old: Node, new: Node) -> None:
    """Insert the comments of a changed line: those on their own lines above it, a trailing one at its end (rule 20)."""
    side = edits.hunk.after
    code, leads = edits.code(old), _is_first(side, [new], new)
    _trailing_comment(edits, old, new, code)
    row = side.lines.number(new.begin) - 1
    if side.numbers[row] in side.context:
        return
    above = _loose(edits, row, -1) if leads else []
    if any(side.lines.row(index).strip() for index in above):
        edits.check_own_lines(code, None)
        start = edits.lines.start(code.begin)
        edits.add(start, start, edits.render.lines(above, [], edits.lines.indent(code.begin)))
    bottom = side.lines.number(max(new.begin, new.end - 1)) - 1
    below = _loose(edits, bottom, 1) if leads and side.numbers[bottom] not in side.context else []
    if any(side.lines.row(index).strip() for index in below):
        edits.check_own_lines(code, None)
        after = edits.lines.end(code.end - 1)
        edits.add(after, after, edits.render.lines(below, [], edits.lines.indent(code.begin)))
    compound = new.has_body
    if not compound and any(
        token.kind == "comment" for token in tokens(side.text[new.start : new.end])
    ):
        raise Conflict(
            Message(
                "line {number} is changed, and a comment inside the new code has no place there",
                number=edits.lines.number(code.start),
            )
        )


def _trailing_comment(edits: Edits, old: Node, new: Node, code: Node) -> None:
    side = edits.hunk.after
    stop, at = code_end(new, side.text), code_end(code, edits.text)
    written = side.text[stop + 4 * (stop + 1 in side.bodies) : side.lines.end(stop)].strip()
    changed = side.numbers[side.lines.number(stop) - 1] not in side.context
    comment = (
        written if changed and written.startswith("#") else edits.render.comments.instead(old, new)
    )
    if comment is not None:
        end = at + len(edits.text[at : edits.lines.end(at)].rstrip())
        if edits.text[at:end].lstrip()[:1] in ("", "#"):
            edits.add(at, end, comment and "  " + comment)
        elif comment:
            raise Conflict(
                Message(
                    "line {number} has more than one statement: no place for the comment",
                    number=edits.lines.number(at),
                )
            )


def _swap(edits: Edits, gap: Gap) -> None:
    """Replace the deleted statements of a gap in place by the inserted ones."""
    deleted = [code for node in gap.deleted for code in edits.codes(node)]
    if not deleted:
        raise Conflict(Message("the run that is replaced is empty here"))
    old, new = gap.deleted[0], gap.inserted[0]
    kinds = {deleted[0].kind, new.kind}
    simple = (
        len(deleted) == len(gap.inserted) == 1
        and not kinds & (COMPOUND | CLAUSES)
        and old.role != "run"
    )
    in_place = simple and not new.role and edits.render.counterpart(new) is None
    if in_place and edits.shares_line(deleted[0], deleted[0].parent):
        _comments(edits, old, new)
        edits.change(old, new)
        return
    for code in deleted:
        edits.check_own_lines(code, None)
    edits.deleted += gap.deleted
    written = edits.render.lines(
        _rows(edits, gap), gap.inserted, edits.lines.indent(deleted[0].begin)
    )
    regions: list[tuple[Node, Node, bool]] = []  # (first, last, kept inside what is inserted)
    for node in gap.deleted:
        codes = edits.codes(node)
        kept = id(node) in edits.render.kept and bool(codes)
        if kept and regions and regions[-1][2]:
            regions[-1] = (regions[-1][0], codes[-1], True)
        else:
            regions += (
                [(codes[0], codes[-1], True)] if kept else [(code, code, False) for code in codes]
            )
    start = edits.lines.start(deleted[0].begin)
    end = deleted[0].end if simple else lines_end(edits.lines, regions[0][1])
    if simple or (end == len(edits.text) and not edits.text.endswith(("\n", "\r"))):
        written = written.rstrip("\r\n")
    if simple and edits.text[end : edits.lines.end(end)].strip():
        written, comment = cut_comment(written)
        at = end + len(edits.text[end : edits.lines.end(end)].rstrip())
        moved = id(old) in edits.render.kept or edits.render.comments.instead(old, new) is not None
        if comment or moved:  # a statement or line that moves has taken its comment along
            edits.add(end, at, comment)
        else:
            edits.render.changed.add(gap.deleted[0])
    edits.add(start, end, written)
    for head, tail, _ in regions[1:]:
        edits.add(
            edits.lines.start(head.begin),
            lines_end(edits.lines, tail),
            "",
            Removed(head.begin, tail.end, None),
        )


def _delete(edits: Edits, gap: Gap, parent: Node | None) -> None:
    edits.deleted += gap.deleted
    codes = [code for node in gap.deleted for code in edits.codes(node)]
    for code in codes:
        edits.check_own_lines(code, None)
        block = (
            _size(edits, code.parent) if parent is not None and code.parent is not None else None
        )
        end = lines_end(edits.lines, code)
        stop = len(edits.text[:end].rstrip("\r\n")) if code.is_compound else code.end
        blank = edits.lines.newline * _blank_rows(edits, gap) if code is codes[-1] else ""
        edits.add(edits.lines.start(code.begin), end, blank, Removed(code.begin, stop, block))


def _blank_rows(edits: Edits, gap: Gap) -> int:
    """How many blank `+` lines are where statements go (rule 19)."""
    side = edits.hunk.after
    if gap.above is not None:
        rows = _loose(
            edits, side.lines.number(max(gap.above[1].begin, gap.above[1].end - 1)) - 1, 1
        )
    else:
        rows = _loose(
            edits,
            len(side.numbers) if gap.below is None else side.lines.number(gap.below[1].begin) - 1,
            -1,
        )
    # a side without a line has that of its hunk
    written = {number for tag, _, number in edits.hunk.text.lines if tag == "+"}
    return sum(side.numbers[row] in written for row in rows)


def _size(edits: Edits, block: Node) -> tuple[int, int] | None:
    """The start offset and the number of statements of a block; None for a list that may be empty (rule 15)."""
    if block.kind != "Block":
        return None
    # a definition that is the scope: the block that holds it was not parsed
    if block.parent is None:
        return edits.source.block(edits.lines.start(block.start))
    body = block.statements()
    return edits.lines.start(body[0].begin), len(body)


def _insert(edits: Edits, gap: Gap, siblings: list[Node], parent: Node | None) -> None:
    """Insert the nodes of a gap beside the line of the hunk that they touch (rule 18)."""
    side = edits.hunk.after
    above, below = gap.above, gap.below
    unwritten = siblings if gap.inserted[0].is_clause and above is None and below is None else []
    rank = _LAST_CLAUSES.get(gap.inserted[0].kind, 0)
    following = next(
        (clause for clause in unwritten if _LAST_CLAUSES.get(clause.kind, 0) >= rank), None
    )
    parted = above is not None and side.blank_between(above[1], gap.inserted[0])
    is_doc = gap.inserted[0].field() == "doc"
    if (
        above is not None
        and above[1].role != "run"
        and not (parted and below is not None and below[1].role != "run")
    ):
        _insert_after(edits, gap, edits.codes(above[0])[-1], parent)
    elif below is not None and below[1].role != "run" and (not is_doc or below[0].field() == "doc"):
        _insert_before(edits, gap, edits.codes(below[0])[0], parent)
    elif following is not None:
        _insert_before(edits, gap, following, None)
    elif gap.inserted[0].kind == "Decorator" and not siblings and parent is not None:
        _insert_before(edits, gap, parent, None)
    elif below is not None and above is None:
        _insert_first(edits, gap, siblings, parent)
    elif below is None and siblings:
        _insert_after(edits, gap, siblings[-1], parent, at=_block_end(edits, siblings[-1], parent))
    elif parent is not None and parent.is_compound:
        body = parent.node("body")
        lowest, indent = body.statements()[-1], edits.lines.indent(parent.begin)
        _insert_after(edits, gap, lowest, None, at=_block_end(edits, lowest, body), indent=indent)
    else:
        _insert_first(edits, gap, siblings, parent)


def _block_end(edits: Edits, statement: Node, block: Node | None) -> int:
    """The offset past the last statement of a block and the comments below it that belong to the block."""
    end = lines_end(edits.lines, statement)
    owner = block.parent if block is not None and block.kind == "Block" else None
    if owner is not None:
        return body_end(edits.lines, end, edits.lines.indent(owner.begin))
    return (
        edits.lines.end(len(edits.text.rstrip()) - 1)
        if edits.hunk.text.scope == "<module>"
        else end
    )


def _insert_after(
    edits: Edits,
    gap: Gap,
    code: Node,
    parent: Node | None,
    *,
    at: int | None = None,
    indent: str | None = None,
) -> None:
    edits.check_own_lines(code, parent)
    at = _below_comments(edits, gap, lines_end(edits.lines, code)) if at is None else at
    _add_lines(edits, gap, at, edits.lines.indent(code.begin) if indent is None else indent)


def _add_lines(edits: Edits, gap: Gap, at: int, indent: str) -> None:
    """Insert the lines of a gap at `at`, the beginning of a line or the end of the file."""
    written = edits.render.lines(_rows(edits, gap), gap.inserted, indent)
    if at and at == len(edits.text) and not edits.text.endswith(("\n", "\r")):
        written = edits.lines.newline + written.rstrip("\r\n")
    edits.add(at, at, written)


def _named_comments(edits: Edits, gap: Gap) -> list[str]:
    """The comments on context lines directly above an insertion: where the file has one there, it goes below (rule 18)."""
    side, row = edits.hunk.after, _rows(edits, gap)[0] - 1
    found: list[str] = []
    while (
        row >= 0
        and side.numbers[row] in side.context
        and side.lines.row(row).lstrip()[:1] in ("", "#")
    ):
        found.append(side.lines.row(row).strip())
        row -= 1
    return list(filter(None, found))


def _below_comments(edits: Edits, gap: Gap, at: int) -> int:
    """`at`, or the offset below the last comment there that the hunk names above what it inserts."""
    named, end = _named_comments(edits, gap), at
    while named and end < len(edits.text):
        line, end = edits.text[end : edits.lines.end(end)].strip(), edits.lines.end(end)
        if line[:1] not in ("", "#"):
            break
        at = end if line in named else at
    return at


def _insert_before(edits: Edits, gap: Gap, code: Node, parent: Node | None) -> None:
    edits.check_own_lines(code, parent)
    at = edits.lines.start(code.begin)
    indent, named = edits.lines.indent(code.begin), _named_comments(edits, gap)
    while at and gap.inserted[0].kind != "Decorator":  # above the comments directly over it
        above = edits.lines.start(at - 1)
        line = edits.text[above:at]
        if (
            not (line.startswith(indent + "#"))
            or line.startswith("#!")
            or (above == 0 and "coding" in line)
        ):
            break
        if line.strip() in named:
            break
        at = above
    _add_lines(edits, gap, at, indent)


def _insert_first(edits: Edits, gap: Gap, siblings: list[Node], parent: Node | None) -> None:
    """Insert after the docstring, in a module also after the `from __future__` imports; a docstring only if there is none."""
    doc = parent.fields.get("doc") if parent is not None else None
    top = [
        node
        for index, node in enumerate(siblings)
        if _is_future(node) or (index == 0 and node.is_text())
    ]
    if gap.inserted[0].is_text():
        docstring = (
            doc if isinstance(doc, Node) else next((node for node in top if node.is_text()), None)
        )
        if docstring is not None:
            line = edits.lines.number(docstring.start)
            raise Conflict(
                Message(
                    "there is a docstring already, in line {line}: write it on a `-` line",
                    line=line,
                )
            )
        top = []
    if isinstance(doc, Node):
        _insert_after(edits, gap, doc, parent)
    elif top and (parent is None or parent.parent is None):
        _insert_after(edits, gap, top[-1], parent)
    elif siblings and parent is not None and parent.parent is not None:
        _insert_before(edits, gap, siblings[0], parent)
    elif siblings:  # a module's first comments (a licence, a coding cookie) stay first
        at = edits.lines.start(siblings[0].begin)
        edits.check_own_lines(siblings[0], parent)
        _add_lines(edits, gap, at, edits.lines.indent(siblings[0].begin))
    else:
        _add_lines(edits, gap, len(edits.text), "")


def _is_future(node: Node) -> bool:
    module = node.fields.get("module")
    return node.name == "future" or (
        isinstance(module, Node) and module.fields.get("value") == "__future__"
    )
