"""Before side, after side and one match -> the smallest list of edits (format rules 11 to 13).

A node on both sides keeps its own bytes: the two sides are aligned first, and only what differs is
written. A change that cannot be made safely at a place is a `Conflict`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from patcher.engine.layout import breaks_f_string, header_end, lines_end
from patcher.engine.lex import breaks_line, depth_of, find_outside, scan
from patcher.engine.match import Match, MatchRange
from patcher.engine.node import Node, Value, same
from patcher.engine.rewrite.align import alignments, has_part, related
from patcher.engine.rewrite.edits import Edits, ReplaceWhole
from patcher.engine.rewrite.elements import change_chain, change_elements
from patcher.engine.rewrite.precedence import binding, needed, with_parentheses
from patcher.engine.rewrite.statements import change_lines
from patcher.engine.source import Conflict, Edit, Removed, Source
from patcher.engine.spatch.side import Hunk, HunkForm
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
_LINED = frozenset(["decorators", "clauses"])
_SEPARATED = frozenset(["args", "elements", "params", "names", "items"])
# what is replaced as a whole if no part of it stays
_LOOSE = frozenset(["Attribute", "Call", "Subscript", "BinaryOperation"])


def rewritten(
    source: Source,
    hunk: Hunk,
    place: MatchRange,
    match: Match,
) -> list[Edit]:
    """The edits for one match of one place, sorted; those at one position in the order of the hunk.

    Raises:
        Conflict: the change cannot be made safely here.
    """
    rewriter = _Rewriter(source, hunk, match)
    if hunk.form is HunkForm.EXPRESSION:
        before = hunk.before.nodes[0]
        after = hunk.after.nodes[0]
        rewriter.change(before, after)
    else:
        _note_changes(rewriter)
        parent = place.siblings[0].parent if place.siblings else None
        change_lines(
            rewriter,
            hunk.before.nodes,
            after=hunk.after.nodes,
            siblings=place.siblings,
            parent=parent,
        )

    for node in rewriter.deleted:
        rewriter.check_written(node)

    _remove_between(rewriter)
    _check_f_strings(rewriter, place.siblings)
    return sorted(rewriter.made, key=lambda edit: (edit.start, edit.end))


def _note_changes(edits: Edits) -> None:
    """Tell the renderer which statements of a hunk are changed in place, and which go away."""
    hunk = edits.hunk
    render = edits.render
    deleted: list[Node] = []
    for alignment in alignments(hunk, hunk.before.nodes, after=hunk.after.nodes):
        for old, new in alignment.pairs:
            if not old.is_definition or same(old, new):
                render.changed.add(old)

        for gap in alignment.gaps:
            deleted += edits.codes_of(gap.deleted)
            if not gap.inserted:
                render.leaving.update(gap.deleted)

    for code in deleted:
        end = lines_end(edits.source.lines, code)
        render.deleted_ranges.append((code.begin, end))


def _remove_between(edits: Edits) -> None:
    """Remove the comments between neighbours that move together: they go along."""
    for above, below in edits.render.together:
        start = lines_end(edits.lines, above)
        end = edits.lines.start(below.begin)
        if start >= end:
            continue
        if not _is_edited(edits, above) or not _is_edited(edits, below):
            continue

        is_replaced = any(edit.start <= start and end <= edit.end for edit in edits.made)
        if not is_replaced:
            removed = Removed(start, end, block=None)
            edits.add(start, end, "", removed)


def _is_edited(edits: Edits, code: Node) -> bool:
    """Whether an edit replaces the beginning of a statement of the file."""
    return any(edit.start <= code.begin < edit.end for edit in edits.made)


def _is_in_brackets(text: str, code: Node, offset: int) -> bool:
    """Whether an offset of an expression is inside brackets, or inside an f-string."""
    statement = code
    for outer in code.ancestors():
        if statement.has_lines:
            break
        statement = outer

    depth = 0
    for token in scan(text, statement.begin):
        if token.start >= offset:
            break
        if token.end > offset:
            return True  # in a field of an f-string
        depth += depth_of(token)
    return depth > 0


def _check_f_strings(edits: Edits, siblings: list[Node]) -> None:
    """Refuse edits inside an f-string that would end it, or need a newer Python than the file.

    Raises:
        Conflict: see above.
    """
    nodes: list[Node] = []
    for top in siblings[:1]:
        nodes += top.ancestors()

    for top in siblings:
        nodes += top.walk()

    changes = sorted(edits.made)
    starts = [edit.start for edit in changes]
    for string in nodes:
        if string.kind != "FString":
            continue

        written = edits.text[string.start : string.end]
        first = bisect_right(starts, string.start)
        past = bisect_left(starts, string.end)
        for edit in changes[first:past]:
            is_inside = edit.end < string.end
            if is_inside and breaks_f_string(written, edit.text):
                line = edits.lines.number(edit.start)
                message = Message(
                    "{where}: the new code has quotes, a backslash or a line break that an "
                    "f-string cannot hold",
                    where=Message("line {number}", number=line),
                )
                raise Conflict(message)


class _Rewriter(Edits):
    """Changes one node at a time; lists of nodes are changed by `statements` and `elements`."""

    def change(self, before: Node, after: Node) -> None:
        """Edit the code of a before node as the after node has it.

        Raises:
            ReplaceWhole: the node that has it must be replaced.
            Conflict: the change cannot be made safely.
        """
        if same(before, after):
            return

        edit_count = len(self.made)
        deleted_count = len(self.deleted)
        kept_count = len(self.render.kept)
        try:
            self._change_in_place(before, after)
            self._check_line_breaks(before, edit_count)
        except ReplaceWhole:
            if before.kind == "Parameters":  # of a lambda: an empty list has no place of its own
                raise

            del self.made[edit_count:]
            del self.deleted[deleted_count:]
            while len(self.render.kept) > kept_count:
                self.render.kept.popitem()

            self._replace(before, after)

    def _check_line_breaks(self, before: Node, edit_count: int) -> None:
        """Refuse what breaks a line where the file has no brackets, of the edits past a number.

        In the hunk it stands in the parentheses of a larger expression: they come with that.

        Raises:
            ReplaceWhole: see above.
        """
        if not before.is_expression:
            return
        code = self.code(before)
        for edit in self.made[edit_count:]:
            if breaks_line(edit.text) and not _is_in_brackets(self.text, code, edit.start):
                raise ReplaceWhole

    def _change_in_place(self, before: Node, after: Node) -> None:
        """Edit what differs between two nodes of one kind.

        Raises:
            ReplaceWhole: one has to be replaced by the other.
            Conflict: the change cannot be made safely.
        """
        has_role = before.role or after.role
        if has_role or before.kind != after.kind:
            raise ReplaceWhole
        if before.kind in _CHAINS and change_chain(self, before, after=after):
            return
        if has_part(after, before) or has_part(before, after):
            raise ReplaceWhole  # the one that is part of the other keeps its bytes there
        if before.kind in _OPERATIONS and self._regroups(before, after):
            raise ReplaceWhole

        for key, old in before.fields.items():
            new = after.fields[key]
            if not same(old, new):
                code = self.code(before)
                self._change_field(code, key, old=old, new=new)

        if before.kind in _LOOSE and not related(before, after):
            raise ReplaceWhole

    def _regroups(self, before: Node, after: Node) -> bool:
        """Whether an operation, or an operand of it, needs parentheses with the new operator."""
        if binding(before) == binding(after):
            return False

        code = self.code(before)
        if not code.parenthesised and binding(after) < needed(code):
            return True

        for key in ("left", "right", "expression"):
            if key not in after.fields:
                continue
            if not same(before.node(key), after.node(key)):
                return True  # in its place it would get those that the old operator needs

            operand = code.node(key)
            if not operand.parenthesised and binding(operand) < needed(after.node(key)):
                return True

        return False

    def _change_field(
        self,
        code: Node,
        key: str,
        old: Value,
        new: Value,
    ) -> None:
        """Edit one field of the code of a node as the after side has it.

        The errors are those of `_change_in_place`.
        """
        if isinstance(old, list) and isinstance(new, list):
            self._change_list(code, key, old=old, new=new)
            return

        new_node = new if isinstance(new, Node) else None
        if isinstance(old, Node) and new_node is not None:
            if old.kind == "Block":
                self._change_block(old, new_node, code=code.node(key))
            else:
                self.change(old, new_node)

            return

        is_changed = self._change_optional(code, key, new=new_node)
        if not is_changed:
            raise ReplaceWhole

    def _change_list(
        self,
        code: Node,
        key: str,
        old: list[Node],
        new: list[Node],
    ) -> None:
        """Edit the list in a field of the code of a node as the after side has it.

        The errors are those of `_change_in_place`.
        """
        if key in _LINED:
            change_lines(
                self,
                old,
                after=new,
                siblings=code.items(key),
                parent=code,
            )
            return

        if key in _SEPARATED:
            change_elements(
                self,
                old,
                after=new,
                code=code,
                key=key,
            )
            return

        if len(old) != len(new):
            raise ReplaceWhole

        for before, after in zip(old, new):
            is_text = before.kind == "FText"
            if is_text and not same(before, after):
                raise ReplaceWhole  # written in the hunk's quotes, not in those of the file

        for before, after in zip(old, new):
            self.change(before, after)

    def _change_block(self, before: Node, after: Node, code: Node) -> None:
        """Edit the statements of the body `code` as the after side has them."""
        change_lines(
            self,
            before.statements(),
            after=after.statements(),
            siblings=code.statements(),
            parent=code,
        )

    def _change_optional(self, code: Node, key: str, new: Node | None) -> bool:
        """Add or remove a default or an annotation, leaving the rest of the node alone."""
        if key == "default" and code.kind == "Param":
            start = code.node("name").outer_end
            prefix = "="
            annotation = code.fields["annotation"]
            if isinstance(annotation, Node):
                start = annotation.outer_end
                prefix = " = "
        elif key == "annotation" and code.kind in ("Param", "Assign"):
            targets = code.items("targets")
            annotated = targets[0] if targets else code.node("name")
            start = annotated.outer_end
            prefix = ": "
        elif key == "returns":
            parameters_end = self._parameters_end(code)
            start = find_outside(self.text, parameters_end, operator=")") + 1
            prefix = " -> "
        else:
            return False

        old = code.fields.get(key)
        end = old.outer_end if isinstance(old, Node) else start
        written = ""
        if new is not None:
            indent = self.lines.indent(code.start)
            written = prefix + self.render.expression(new, indent)

        self.add(start, end, written)
        return True

    def _parameters_end(self, code: Node) -> int:
        """An offset from which the next bracket closes the parameters of a `def`."""
        params = code.node("params").items("params")
        if params:
            return params[-1].outer_end

        name_end = code.node("name").end
        return find_outside(self.text, name_end, operator="(")

    def _replace(self, before: Node, after: Node) -> None:
        """Write the after node in the place of the code of the before node."""
        code = self.code(before)
        if before.has_body:
            self._replace_header(before, after, code=code)
            return

        self.deleted.append(before)
        indent = self.lines.indent(code.start)
        slices = [after, *after.items("elements")]
        has_slice = any(node.kind == "Slice" for node in slices)
        if has_slice:  # it cannot stand in parentheses
            written = self.render.expression(after, indent)
            self.add(code.outer_start, code.outer_end, written)
            return

        self.render.enclosed = code if code.parenthesised else None
        written = self.render.expression(after, indent)
        self.render.enclosed = None
        if after.is_expression and not code.parenthesised:
            tight = self.render.binds(after)
            written = with_parentheses(written, tight, place=code)

        self.add(code.start, code.end, written)

    def _replace_header(self, before: Node, after: Node, code: Node) -> None:
        """Replace the header of a compound statement.

        Its decorators, its body and its clauses are changed in place.
        """
        for node in before.header():
            self.check_written(node)

        self._check_mentioned(before, code, header_only=before.kind == after.kind)

        start = after.start
        end = header_end(after, self.hunk.after.text)
        span = (start, start, end, end)
        header = Node("Header", span, parts=list(after.header()))
        indent = self.lines.indent(code.start)
        written = self.render.part(header, indent)
        self.add(code.start, header_end(code, self.text), written)

        for key in ("decorators", "clauses"):
            old = before.items(key)
            new = after.items(key)
            if not same(old, new):
                self._change_list(code, key, old=old, new=new)

        old_body = before.node("body")
        new_body = after.node("body")
        self._change_block(old_body, new_body, code=code.node("body"))

    # what would go away unseen -------------------------------------------------------------------
    def check_written(self, before: Node) -> None:
        """Refuse to delete a node with a part that the pattern does not write (rule 12).

        Raises:
            Conflict: it has one.
        """
        if before.role or id(before) in self.render.kept:
            return

        code = self.match.nodes.get(id(before))
        if isinstance(code, Node):
            self._check_mentioned(before, code, header_only=False)
        for child in before.children():
            self.check_written(child)

    def _check_mentioned(self, before: Node, code: Node, *, header_only: bool) -> None:
        """Refuse to delete code with an optional part that a before node does not mention."""
        for key in code.fields:
            if header_only and key in _LINED:
                continue
            if self._is_unmentioned(before, code, key=key):
                message = Message(
                    "line {line} would go away with a part that the hunk does not mention "
                    "({parts})",
                    line=self.lines.number(code.start),
                    parts=_PARTS[key],
                )
                raise Conflict(message)

    def _is_unmentioned(self, before: Node, code: Node, key: str) -> bool:
        """Whether code has something in an optional field that a before node does not write."""
        value = code.fields[key]
        if key in _LINED:
            mentioned = len(self.codes_of(before.items(key)))
            return isinstance(value, list) and len(value) > mentioned
        if not value or before.fields.get(key):
            return False

        if key == "doc":
            body = before.items("body")
            return not body or body[0].role != "run"
        if key == "args":
            return code.kind == "ClassDef"
        return key in ("returns", "annotation", "type_parameters")
