"""The after side of a hunk as text for one place.

Placeholders are filled in, kept code is copied byte for byte, lines are indented.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import NoReturn, Sequence

from patcher.engine.layout import (
    alone_on_lines,
    breaks_f_string,
    neighbours,
    reindented,
    stretches,
    without_comments,
)
from patcher.engine.lex import Lines, breaks_line, logical_lines, meets
from patcher.engine.match import Match
from patcher.engine.node import Node, SyntaxProblem
from patcher.engine.rewrite.align import Counterparts
from patcher.engine.rewrite.comments import LineComments
from patcher.engine.rewrite.precedence import (
    TIGHTEST,
    binding,
    is_bare,
    literal_binding,
    with_parentheses,
)
from patcher.engine.source import Conflict, Edit
from patcher.engine.spatch.side import Hunk
from patcher.message import Message


class Renderer:
    """Writes parts of the after side for one match.

    Args:
        file: the lines of the file with the match.
        unit: how much the file indents a block.
        hunk: the hunk.
        match: the match.
    """

    def __init__(self, file: Lines, unit: str, hunk: Hunk, match: Match) -> None:
        self.hunk = hunk
        self.match = match
        # ids of the before nodes whose code is kept, in order
        self.kept: dict[int, None] = {}
        # before nodes with lines of their own that are changed in place
        self.changed: set[Node] = set()
        # before nodes with lines of their own in whose place nothing comes
        self.leaving: set[Node] = set()
        # neighbours in the file that are written with what is between them
        self.together: set[tuple[Node, Node]] = set()
        # character ranges of the statements that go away
        self.deleted_ranges: list[tuple[int, int]] = []
        # the code that the expression being written replaces, if its parentheses stay around it
        self.enclosed: Node | None = None
        self._file = file
        self._unit = unit
        self._hunk_unit = _indentation_unit(hunk)
        # lines of the hunk that are written with their indentation
        self._rows: set[int] = set()
        # the indentation that the lines being written have in the hunk
        self._base = ""

    @cached_property
    def _counterparts(self) -> Counterparts:
        return Counterparts(
            self.hunk, self.match.nodes.keys(), kept=self.kept.keys(), changed=self.changed
        )

    @cached_property
    def comments(self) -> LineComments:
        """The comments in the file behind context lines."""
        return LineComments(self._file, self.hunk, match=self.match)

    def counterpart(self, node: Node) -> Node | None:
        """The before node whose code is used for this node of the after side (rule 11)."""
        if node.role == "run":
            return self._counterparts.run(node.name)
        if node.role == "meta" and node.has_lines:
            return self._counterparts.of(node)
        if node.role or node.kind in ("Block", "Parameters", "ComparisonTarget"):
            return None

        is_kept_line = node.has_lines and self.hunk.after.kept_line(node)
        is_name = node.kind != "String" and not node.children()
        if is_name and not is_kept_line:  # it is written as the hunk has it
            return None
        return self._counterparts.of(node)

    def _keep(self, counterpart: Node | None) -> None:
        """Record that the code of a before node, with all its descendants, is kept."""
        if counterpart is not None:
            for part in counterpart.walk():
                self.kept[id(part)] = None

    def _codes(self, node: Node, counterpart: Node | None) -> list[Node]:
        """The code of the file for a metavariable, or for a node of both sides."""
        if node.role == "meta":
            return [self.match.names[node.name]]

        matched = self.match.nodes[id(counterpart)]
        if isinstance(matched, list):
            return matched
        return [matched]

    # expressions ---------------------------------------------------------------------------------
    def expression(self, node: Node, indent: str = "") -> str:
        """The text of an expression of the after side, without parentheses around it.

        Parentheses that hold several lines together stay. `indent` is the indentation of the place,
        which the lines after the first get.
        """
        if node.role or self.counterpart(node) is not None:
            return self._text_of(node, bare=True)
        if self._needs_own_parentheses(node):
            return self.part(node, indent)
        return self._part(node, node.start, end=node.end, indent=indent)

    def part(self, node: Node, indent: str = "") -> str:
        """The text of an element of a list or of a header, with its parentheses.

        `indent` is as in `expression`.
        """
        end = max(node.end, node.outer_end)
        return self._part(node, node.outer_start, end=end, indent=indent)

    def _part(self, node: Node, start: int, end: int, indent: str) -> str:
        """The characters `[start, end)` of the after side, which hold a node, at its place."""
        self._base = self.hunk.after.lines.indent(start)
        return self._fill(start, end, nodes=[node], indent=indent, begins_line=False)

    def _needs_own_parentheses(self, node: Node) -> bool:
        """Whether the parentheses around an expression are needed to hold its lines together."""
        if self.enclosed is not None or not node.parenthesised:
            return False

        written = self.hunk.after.text[node.start : node.end]
        return breaks_line(written)

    def binds(self, node: Node) -> int:
        """How tightly the text of `expression(node)` binds, as `precedence.binding` has it."""
        if node.role == "meta":
            code = self.match.names[node.name]
            is_empty = code.start == code.end
            if code.parenthesised or is_empty:
                return TIGHTEST
            return binding(code)

        if node.role == "option":
            return literal_binding(self._literal(node))
        if self._needs_own_parentheses(node):
            return TIGHTEST
        return binding(node)

    def _literal(self, node: Node) -> str:
        """The value of an option as Python writes it."""
        value = self.hunk.options[node.name]
        return repr(value)

    def _code(self, code: Node) -> str:
        """The text of a node of the file, with its parentheses."""
        return self._file.text[code.outer_start : code.outer_end]

    def _text_of(self, node: Node, *, bare: bool = False) -> str:
        """The text of a placeholder or kept code; `bare` is without parentheses."""
        if node.role == "option":
            return self._option_text(node, bare=bare)

        counterpart = self.counterpart(node)
        code = self._codes(node, counterpart)[0]
        self._keep(counterpart)

        # the parentheses of `enclosed` stay in the file: they are not written again
        is_inner = self.enclosed is not None and (bare or code is self.enclosed)
        start, end = code.outer_start, code.outer_end
        if is_inner:
            start, end = code.start, code.end

        written = self._file.text[start:end]
        if not self._takes_comments(node):
            written = without_comments(written)
        if is_inner and bare:
            return written

        if self._adds_parentheses(node, code, counterpart=counterpart, bare=bare):
            return f"({written})"
        if code.is_expression and breaks_line(written):
            return f"({written})"

        self._check_quotes(node, written)
        if bare:
            return written

        has_own_parentheses = code.parenthesised and not is_inner
        tightness = TIGHTEST if has_own_parentheses else binding(code)
        return with_parentheses(written, tightness, place=node)

    def _option_text(self, node: Node, *, bare: bool) -> str:
        """The text of an option; `bare` is without parentheses."""
        written = self._literal(node)
        self._check_quotes(node, written)
        if bare:
            return written
        return with_parentheses(written, self.binds(node), place=node)

    def _adds_parentheses(
        self, node: Node, code: Node, counterpart: Node | None, bare: bool
    ) -> bool:
        """Whether code gets parentheses that it does not have in the file.

        They are those of the hunk, or those that a number needs, as in `(3).x`.
        """
        if not bare and counterpart is not None:
            hunk_adds_them = node.parenthesised and not counterpart.parenthesised
            file_lacks_them = code is self.enclosed or not code.parenthesised
            if hunk_adds_them and file_lacks_them:
                return True

        has_attribute = node.parent is not None and node.parent.kind == "Attribute"
        return has_attribute and code.kind in ("Integer", "Float")

    def _takes_comments(self, node: Node) -> bool:
        """Whether the comments in the code of a metavariable go here.

        If the after side has it several times, only one of them has the comments: the first on a
        context line, else the first.
        """
        if node.role != "meta":
            return True

        side = self.hunk.after
        places: list[Node] = []
        for place in side.placeholders("meta"):
            if place.name == node.name:
                places.append(place)

        for place in places:
            if side.number(place) in side.context:
                return node is place

        return not places or node is places[0]

    def _check_quotes(self, node: Node, code: str) -> None:
        """Refuse text that not every Python can read in the braces of an f-string of the hunk."""
        for string in node.ancestors():
            if string.kind != "FString":
                continue

            written = self.hunk.after.written[string.start : string.end]
            if breaks_f_string(written, code):
                message = Message(
                    "`{text}` cannot stand in an f-string with these quotes: write the hunk with "
                    "other quotes",
                    text=code,
                )
                raise SyntaxProblem(message)

            return

    # lines ---------------------------------------------------------------------------------------
    def lines(self, rows: Sequence[int], nodes: Sequence[Node], indent: str) -> str:
        """The given rows (0-based) of the after side as lines of the file, with line breaks.

        `nodes` are the statements on them; `indent` is the indentation of the place.
        """
        side = self.hunk.after
        first_start = nodes[0].begin if nodes else side.lines.starts[rows[0]]
        self._base = side.lines.indent(first_start)
        parts: list[str] = []
        for first_row, last_row in stretches(rows):
            start, end = self._span(first_row, last_row)
            inside = [node for node in nodes if start <= node.start < end]
            if inside and self._follows_code(inside[0]):
                start = inside[0].begin
                parts.append(indent)
                self._check_new(inside)

            if inside and self._precedes_code(inside[-1], end):
                end = inside[-1].end

            written = self._fill(start, end, nodes=inside, indent=indent)
            parts.append(written)
            if written and not written.endswith(("\n", "\r")):
                parts.append(self._file.newline)

        return "".join(parts)

    def _check_new(self, nodes: Sequence[Node]) -> None:
        """Refuse statements behind other code if one of them is kept.

        Raises:
            Conflict: one of them is kept.
        """
        for node in nodes:
            if node.role == "meta" or self.counterpart(node):
                self._refuse_behind(nodes[0])

    def _span(self, first_row: int, last_row: int) -> tuple[int, int]:
        """The offsets of the after side at which rows begin and end."""
        starts = self.hunk.after.lines.starts
        end = len(self.hunk.after.text)
        if last_row + 1 < len(starts):
            end = starts[last_row + 1]
        return starts[first_row], end

    def _follows_code(self, node: Node) -> bool:
        """Whether a statement is behind the header of a one-line suite, or behind a `;`."""
        side = self.hunk.after
        line_start = side.lines.start(node.begin)
        before = side.text[line_start : node.begin]
        return bool(before.strip())

    def _precedes_code(self, node: Node, end: int) -> bool:
        """Whether a `;` is behind a statement, before the offset `end`."""
        tail = self.hunk.after.text[node.end : end]
        return tail.lstrip(" \t").startswith(";")

    def _fill(
        self, start: int, end: int, nodes: Sequence[Node], indent: str, *, begins_line: bool = True
    ) -> str:
        """The characters `[start, end)` of the after side, nodes written and lines indented."""
        edits: list[Edit] = []
        self._write_all(nodes, edits, indent=indent)
        first_line = start
        if not begins_line:
            first_line = start + 1  # the line of `start` is not indented
            edits = [edit for edit in edits if edit.start < end]  # code behind `end` stays

        edits += self._indentations(first_line, end, edits=edits, indent=indent)

        text = self.hunk.after.text
        parts: list[str] = []
        position = start
        for edit in sorted(edits):
            parts.append(self._with_newlines(text[position : edit.start]))
            parts.append(edit.text)
            position = edit.end

        parts.append(self._with_newlines(text[position:end]))
        return "".join(parts)

    def _with_newlines(self, text: str) -> str:
        """A text of the hunk with the line breaks of the file."""
        return text.replace("\n", self._file.newline)

    def _indentations(self, start: int, end: int, edits: list[Edit], indent: str) -> list[Edit]:
        """The edits that indent the lines beginning in `[start, end)`, but for those in `edits`."""
        side = self.hunk.after
        filled: list[tuple[int, int]] = []
        for edit in sorted(edits):
            if edit.start < edit.end:
                filled.append((edit.start, edit.end - 1))

        indentations: list[Edit] = []
        starts = side.lines.starts
        first = bisect_left(starts, start)
        past = bisect_left(starts, end)
        for offset in starts[first:past]:
            if offset in side.layout.strings:
                continue

            # a row that was written with its indentation may begin with it
            high = offset if offset in self._rows else offset - 1
            if meets(filled, offset, high=high):
                continue

            written = side.lines.indent(offset)
            code_start = offset + len(written)
            next_character = side.text[code_start : code_start + 1]
            is_blank = next_character in ("\n", "")
            if not is_blank:
                text = self._indent(written, indent)
                indentations.append(Edit(offset, code_start, text=text))

        return indentations

    def _indent(self, written: str, indent: str) -> str:
        """The indentation of a line of the hunk at its place, in the file's own unit."""
        inner = written[len(self._base) :]
        unit = self._hunk_unit
        if not inner.startswith(unit):
            return indent + inner

        depth = len(inner) // len(unit)
        rest = inner[len(unit) * depth :]
        return indent + self._unit * depth + rest

    # nodes ---------------------------------------------------------------------------------------
    def _write_all(self, nodes: Sequence[Node], edits: list[Edit], indent: str) -> None:
        """Add the edits that write nodes.

        Nodes that are neighbours in the file, too, are written as one, with what is between them.
        """
        index = 0
        while index < len(nodes):
            group, codes = self._kept_group(nodes, index)
            if len(group) > 1:
                self._write_statements(group, codes, edits=edits, indent=indent)
            else:
                self._write(group[0], edits, indent=indent)

            index += len(group)

    def _kept_group(self, nodes: Sequence[Node], index: int) -> tuple[list[Node], list[Node]]:
        """A node with those below it that follow it in the file, too; and their code there."""
        group = [nodes[index]]
        codes = self._kept_codes(nodes[index])
        if not codes:
            return group, codes

        for node in nodes[index + 1 :]:
            following = self._kept_codes(node)
            if not following or not neighbours(codes[-1], following[0]):
                break

            group_end = self._end_with_comment(group[-1])
            between = self.hunk.after.text[group_end : node.begin]
            if between.strip():
                break

            group.append(node)
            codes = [*codes, *following]

        return group, codes

    def _kept_codes(self, node: Node) -> list[Node]:
        """The statements of the file that one of the after side keeps unchanged; [] for none."""
        if not node.has_lines or node.kind == "Opaque":
            return []
        if not alone_on_lines(self.hunk.after.lines, node.begin, end=node.end):
            return []

        counterpart = self.counterpart(node)
        if counterpart is None:
            return []
        return self._codes(node, counterpart)

    def _write(self, node: Node, edits: list[Edit], indent: str) -> None:
        """Write one node: a placeholder, kept code, or what the after side says."""
        counterpart = self.counterpart(node)
        is_new_statement = node.has_lines and not node.role and counterpart is None
        if node.kind == "Decorator":
            self._write_decorator_comments(node, counterpart, edits=edits, indent=indent)
        elif is_new_statement:
            edits += self.comments.edits(node)

        if node.has_lines and (node.role == "meta" or counterpart is not None):
            codes = self._codes(node, counterpart)
            self._write_statements([node], codes, edits=edits, indent=indent)
        elif node.role == "run":
            self._write_run(node, counterpart, edits=edits)
        elif node.role in ("meta", "option") or counterpart is not None:
            written = self._text_of(node)
            edits.append(Edit(node.outer_start, node.outer_end, text=written))
        elif node.kind == "Ellipsis":  # its parentheses only say that it is no run
            edits.append(Edit(node.outer_start, node.outer_end, text="..."))
        else:
            for value in node.fields.values():
                if isinstance(value, Node):
                    self._write_all([value], edits, indent=indent)
                elif isinstance(value, list):
                    self._write_all(value, edits, indent=indent)

    def _write_decorator_comments(
        self, node: Node, counterpart: Node | None, edits: list[Edit], indent: str
    ) -> None:
        """Write the comments behind a decorator, and above one that moves."""
        moved = None if counterpart in self.changed else counterpart
        edits += self.comments.edits(node, moved=moved)
        if moved is None or not self._has_comments_above(moved):
            return

        before = self.hunk.after.lines.indent(node.begin)
        line_break = self._file.newline + self._indent(before, indent)
        lines = self.comments.above(moved)
        text = "".join(line + line_break for line in lines)
        edits.append(Edit(node.begin, node.begin, text=text))

    def _has_comments_above(self, moved: Node) -> bool:
        """Whether the comments above a decorator are its own, and go where it goes.

        Those above the first one are about the definition.
        """
        if moved not in self.leaving:
            return False

        code = self.match.nodes[id(moved)]
        assert isinstance(code, Node)
        return code is not code.siblings()[0]

    def takes_comments_above(self, node: Node) -> bool:
        """Whether a before node is a decorator that was written elsewhere, comments included."""
        if node.kind != "Decorator" or id(node) not in self.kept:
            return False
        return self._has_comments_above(node)

    def _write_run(self, node: Node, counterpart: Node | None, edits: list[Edit]) -> None:
        """Write a run of arguments, elements or parameters; an empty one goes with one comma."""
        codes = self.match.nodes[id(counterpart)]
        assert isinstance(codes, list) and counterpart is not None
        self.kept[id(counterpart)] = None
        siblings = node.siblings()
        has_siblings = len(siblings) > 1
        if codes:
            written = self._joined(codes)
            if has_siblings and is_bare(codes[0]):
                written = f"({written})"
            edits.append(Edit(node.start, node.end, text=written))
            return

        start = node.start
        end = node.end
        index = siblings.index(node)
        if index:
            start = siblings[index - 1].outer_end
        elif has_siblings:
            end = siblings[1].outer_start

        edits.append(Edit(start, end, text=""))

    def _joined(self, codes: Sequence[Node]) -> str:
        """The text of elements; of consecutive ones with all that is between them."""
        first, last = codes[0], codes[-1]
        siblings = first.siblings()
        index = siblings.index(first)
        past = index + len(codes)
        are_neighbours = siblings[index:past] == list(codes)
        if are_neighbours:
            return self._file.text[first.outer_start : last.outer_end]
        return ", ".join(self._code(code) for code in codes)

    def _write_statements(
        self, nodes: Sequence[Node], codes: list[Node], edits: list[Edit], indent: str
    ) -> None:
        """Write neighbours that are kept as `codes`, at the new indentation (rule 18).

        Their lines and comments come with them.
        """
        for node in nodes:
            self._keep(self.counterpart(node))

        self.together.update(zip(codes, codes[1:]))

        side = self.hunk.after
        first = nodes[0]
        row_start = side.lines.start(first.begin)
        self._rows.add(row_start)

        before = side.text[row_start : first.begin]
        if before.strip():  # a body on its header's line, written or not
            edit = self._body_below_header(first, codes, written=before, indent=indent)

            edits.append(edit)
            return

        own_indent = self._indent(before, indent)
        is_whole_body = first.parent is not None and first.parent.items("body") == [first]
        if codes:
            end = self._end_with_comment(nodes[-1])
            text = self._moved_code(nodes, codes, indent=own_indent)
        elif is_whole_body:
            end = first.end
            text = f"{own_indent}pass"
        else:
            end = side.lines.end(first.end)
            text = ""

        edits.append(Edit(row_start, end, text=text))

    def _moved_code(self, nodes: Sequence[Node], codes: list[Node], indent: str) -> str:
        """The lines of the statements `codes` of the file, at their new indentation."""
        comments: list[str | None] = []
        for node in nodes:
            comments += self._comments(node)

        deleted: Sequence[tuple[int, int]] = ()
        if self.counterpart(nodes[0]) is not None:
            deleted = self.deleted_ranges

        return reindented(self._file, deleted, codes=codes, indent=indent, comments=comments)

    def _body_below_header(self, node: Node, codes: list[Node], written: str, indent: str) -> Edit:
        """The edit that gives lines of its own to a kept body on the line of its header.

        `written` is that line up to the body.
        """
        if node.parent is None or len(node.parent.statements()) > 1:
            self._refuse_behind(node)

        body = ""
        if codes:
            header_width = len(written) - len(written.lstrip())
            header_indent = written[:header_width]
            deeper = self._indent(header_indent, indent) + self._unit
            body = reindented(self._file, self.deleted_ranges, codes=codes, indent=deeper)

        text = self._file.newline + body if body else " pass"
        return Edit(node.start - 1, node.end, text=text)

    def _refuse_behind(self, node: Node) -> NoReturn:
        """Refuse a kept statement behind other code on its line."""
        message = Message(
            "line {line} of the patch keeps code behind other code: write it on a line of its own",
            line=self.hunk.after.number(node),
        )
        raise Conflict(message)

    def _end_with_comment(self, node: Node) -> int:
        """The offset past a kept statement of the hunk and the comment behind it."""
        if node.role == "run":
            return node.end

        side = self.hunk.after
        line_end = side.lines.end(node.end - 1)
        tail = side.text[node.end : line_end].rstrip("\n")
        if tail.lstrip().startswith("#"):
            return node.end + len(tail)
        return node.end

    def _comments(self, node: Node) -> list[str | None]:
        """The trailing comment of each statement of the file that a kept one covers.

        None for no comment, "" for the one that it has in the file (see `reindented`).
        """
        side = self.hunk.after
        counterpart = self.counterpart(node)
        codes = self._codes(node, counterpart)

        last_comment: str | None = ""
        last_row = side.lines.number(node.end - 1) - 1
        is_context = side.numbers[last_row] in side.context
        if not is_context:
            last_comment = side.text[node.end : self._end_with_comment(node)].strip()

        is_copied = counterpart is None and not codes[-1].is_compound
        if is_copied and not last_comment:
            last_comment = None

        comments: list[str | None] = [""] * len(codes)
        comments[-1] = last_comment
        return comments


def _indentation_unit(hunk: Hunk) -> str:
    """How much a hunk indents a block."""
    base = len(hunk.after.layout.indent)
    deeper: list[str] = []
    for line in logical_lines(hunk.after.text):
        inner = line.indent[base:]
        if inner:
            deeper.append(inner)

    return min(deeper, key=len, default="    ")
