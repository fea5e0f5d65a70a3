"""Before side, after side and one match -> the smallest list of edits (format rules 11 to 13).

A node on both sides keeps its own bytes: the two sides are aligned first, and only what differs is written. A change that
cannot be made safely at a place is a `Conflict`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from patcher.engine.layout import breaks_f_string, header_end, lines_end
from patcher.engine.lex import find_outside
from patcher.engine.match import Match, MatchRange
from patcher.engine.node import Node, same
from patcher.engine.rewrite.align import alignments, has_part, related
from patcher.engine.rewrite.edits import Edits, ReplaceWhole
from patcher.engine.rewrite.elements import change_chain, change_elements
from patcher.engine.rewrite.precedence import binding, needed, with_parentheses
from patcher.engine.rewrite.statements import change_lines
from patcher.engine.source import Conflict, Edit, Removed, Source
from patcher.engine.spatch.side import Hunk
from patcher.message import Message

_PARTS = {
    "decorators": "decorator",
    "clauses": "clause",
    "doc": "docstring",
    "args": Message("base class"),
    "annotation": "annotation",
    "returns": Message("return annotation"),
    "type_parameters": Message("type parameter"),
}
_OPERATIONS = frozenset(["BinaryOperation", "UnaryOperation"])
_CHAINS = frozenset(["And", "Or", "Comparison", "BinaryOperation"])
_SEPARATED = frozenset(["args", "elements", "params", "names", "items"])


def rewritten(source: Source, hunk: Hunk, place: MatchRange, match: Match) -> list[Edit]:
    """The edits for one match of one place, sorted; those at one position in the order of the hunk.

    Raises:
        Conflict: the change cannot be made safely here.
    """
    rewriter = _Rewriter(source, hunk, match)
    if hunk.form == "expression":
        rewriter.change(hunk.before.nodes[0], hunk.after.nodes[0])
    else:
        for alignment in alignments(hunk, hunk.before.nodes, hunk.after.nodes):
            for old, new in alignment.pairs:
                if not old.is_definition or same(old, new):
                    rewriter.render.changed.add(old)
            for code in (
                code
                for gap in alignment.gaps
                for node in gap.deleted
                for code in rewriter.codes(node)
            ):
                rewriter.render.deleted_ranges.append((code.begin, lines_end(source.lines, code)))
        parent = place.siblings[0].parent if place.siblings else None
        change_lines(rewriter, hunk.before.nodes, hunk.after.nodes, place.siblings, parent)
    for node in rewriter.deleted:
        rewriter.check_written(node)
    _remove_between(rewriter)
    _check_f_strings(rewriter, place.siblings)
    return sorted(rewriter.made, key=lambda edit: (edit.start, edit.end))


def _remove_between(edits: Edits) -> None:
    """Remove the comments between neighbours that move together: they go along."""
    for above, below in edits.render.together:
        start, end = lines_end(edits.lines, above), edits.lines.start(below.begin)
        moved = all(
            any(edit.start <= code.begin < edit.end for edit in edits.made)
            for code in (above, below)
        )
        if (
            start < end
            and moved
            and not any(edit.start <= start and end <= edit.end for edit in edits.made)
        ):
            edits.add(start, end, "", Removed(start, end, None))


def _check_f_strings(edits: Edits, siblings: list[Node]) -> None:
    """Refuse edits inside an f-string of the file that would end it, or need a newer Python than the file.

    Raises:
        Conflict: see above.
    """
    around = [node for top in siblings[:1] for node in top.ancestors()]
    changes = sorted(edits.made)
    starts = [edit.start for edit in changes]
    for string in [
        node
        for node in (*around, *(part for top in siblings for part in top.walk()))
        if node.kind == "FString"
    ]:
        for edit in changes[bisect_right(starts, string.start) : bisect_left(starts, string.end)]:
            if edit.end < string.end and breaks_f_string(
                edits.text[string.start : string.end], edit.text
            ):
                where = Message("line {number}", number=edits.lines.number(edit.start))
                raise Conflict(
                    Message(
                        "{where}: the new code has quotes, a backslash or a line break that an f-string cannot hold",
                        where=where,
                    )
                )


class _Rewriter(Edits):
    """Changes one node at a time; lists of nodes are changed by `statements` and `elements`."""

    def change(self, before: Node, after: Node) -> None:
        if same(before, after):
            return
        kept = self.render.kept
        edit_count, deleted, keeps = len(self.made), len(self.deleted), len(kept)
        try:
            if before.role or after.role or before.kind != after.kind:
                raise ReplaceWhole
            if before.kind in _CHAINS and change_chain(self, before, after):
                return
            if has_part(after, before) or has_part(before, after):
                raise ReplaceWhole  # the one that is part of the other keeps its bytes there
            if (
                before.kind in _OPERATIONS
                and binding(before) != binding(after)
                and self._regroups(before, after)
            ):
                raise ReplaceWhole
            self._fields(before, after)
        except ReplaceWhole:
            if before.kind == "Parameters":  # of a lambda: an empty list has no place of its own
                raise
            del self.made[edit_count:], self.deleted[deleted:]
            while len(kept) > keeps:
                kept.popitem()
            self._replace(before, after)

    def _regroups(self, before: Node, after: Node) -> bool:
        """Whether an operation, or an operand of it that stays, needs parentheses with the new operator."""
        code = self.code(before)
        keys = [key for key in ("left", "right", "expression") if key in after.fields]
        if any(not same(before.node(key), after.node(key)) for key in keys):
            return True  # in its place it would get those that the old operator needs
        tight = [(code, binding(after), needed(code))]
        tight += [
            (code.node(key), binding(code.node(key)), needed(after.node(key))) for key in keys
        ]
        return any(binds < needs and not node.parenthesised for node, binds, needs in tight)

    def _fields(self, before: Node, after: Node) -> None:
        code = self.code(before)
        for key, old in before.fields.items():
            new = after.fields[key]
            if same(old, new):
                continue
            if key in ("decorators", "clauses") and isinstance(old, list) and isinstance(new, list):
                change_lines(self, old, new, code.items(key), code)
            elif isinstance(old, Node) and isinstance(new, Node):
                if old.kind == "Block":
                    self._block(old, new, code.node(key))
                else:
                    self.change(old, new)
            elif isinstance(old, list) and isinstance(new, list) and key in _SEPARATED:
                change_elements(self, old, new, code, key)
            elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
                if any(
                    old_part.kind == "FText" and not same(old_part, new_part)
                    for old_part, new_part in zip(old, new)
                ):
                    raise ReplaceWhole  # written in the hunk's quotes, not in those of the file
                for old_part, new_part in zip(old, new):
                    self.change(old_part, new_part)
            elif not self._optional_part(code, key, new if isinstance(new, Node) else None):
                raise ReplaceWhole
        if before.kind in ("Attribute", "Call", "Subscript", "BinaryOperation") and not related(
            before, after
        ):
            raise ReplaceWhole

    def _block(self, before: Node, after: Node, code: Node) -> None:
        change_lines(self, before.statements(), after.statements(), code.statements(), code)

    def _optional_part(self, code: Node, key: str, new: Node | None) -> bool:
        """Add or remove a default, an annotation or a return annotation, leaving the rest of the node alone."""
        old = code.fields.get(key)
        if key == "default" and code.kind == "Param":
            start = max(
                part.outer_end
                for part in (code.fields["name"], code.fields["annotation"])
                if isinstance(part, Node)
            )
            prefix = " = " if code.fields["annotation"] else "="
        elif key == "annotation" and code.kind in ("Param", "Assign"):
            targets = code.items("targets")
            start = targets[0].outer_end if targets else code.node("name").outer_end
            prefix = ": "
        elif key == "returns":
            params = code.node("params").items("params")
            begin = (
                params[-1].outer_end
                if params
                else find_outside(self.text, code.node("name").end, "(")
            )
            start, prefix = find_outside(self.text, begin, ")") + 1, " -> "
        else:
            return False
        end = old.outer_end if isinstance(old, Node) else start
        written = (
            self.render.expression(new, self.lines.indent(code.start)) if new is not None else ""
        )
        self.add(start, end, prefix + written if new is not None else "")
        return True

    def _replace(self, before: Node, after: Node) -> None:
        code = self.code(before)
        if before.has_body:
            self._replace_header(before, after, code)
            return
        self.deleted.append(before)
        # cannot stand in parentheses
        if any(node.kind == "Slice" for node in (after, *after.items("elements"))):
            written = self.render.expression(after, self.lines.indent(code.start))
            self.add(code.outer_start, code.outer_end, written)
            return
        self.render.enclosed = code if code.parenthesised else None
        written = self.render.expression(after, self.lines.indent(code.start))
        self.render.enclosed = None
        if after.is_expression and not code.parenthesised:
            written = with_parentheses(written, self.render.binds(after), code)
        self.add(code.start, code.end, written)

    def _replace_header(self, before: Node, after: Node, code: Node) -> None:
        """Replace the header of a compound statement, and change its decorators, body and clauses in place."""
        for node in before.header():
            self.check_written(node)
        self._check_optional(before, code, header_only=before.kind == after.kind)
        start, stop = after.start, header_end(after, self.hunk.after.text)
        end = header_end(code, self.text)
        header = Node("Header", (start, start, stop, stop), parts=list(after.header()))
        self.add(code.start, end, self.render.part(header, self.lines.indent(code.start)))
        for key in ("decorators", "clauses"):
            if not same(before.items(key), after.items(key)):
                change_lines(self, before.items(key), after.items(key), code.items(key), code)
        self._block(before.node("body"), after.node("body"), code.node("body"))

    def check_written(self, before: Node) -> None:
        """Refuse to delete a node with a part that the pattern does not write (rule 12).

        Raises:
            Conflict: it has one.
        """
        if before.role or id(before) in self.render.kept:
            return
        code = self.match.nodes.get(id(before))
        if isinstance(code, Node):
            self._check_optional(before, code)
        for child in before.children():
            self.check_written(child)

    def _check_optional(self, before: Node, code: Node, *, header_only: bool = False) -> None:
        for key, value in code.fields.items():
            written = before.fields.get(key)
            hidden = False
            if key in ("returns", "annotation", "type_parameters"):
                hidden = bool(value) and not written
            elif key == "doc" and value and not written:
                body = before.items("body")
                hidden = not (body and body[0].role == "run")
            elif key in ("decorators", "clauses") and not header_only and isinstance(value, list):
                hidden = len(value) > sum(len(self.codes(node)) for node in before.items(key))
            elif key == "args" and code.kind == "ClassDef":
                hidden = bool(value) and not written
            if hidden:
                line = self.lines.number(code.start)
                raise Conflict(
                    Message(
                        "line {line} would go away with a part that the hunk does not mention ({parts})",
                        line=line,
                        parts=_PARTS[key],
                    )
                )
