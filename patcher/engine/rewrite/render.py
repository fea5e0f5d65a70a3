"""The after side of a hunk as text for one place: placeholders filled in, kept code copied byte for byte, lines indented."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import Iterator, Sequence

from patcher.engine.layout import (
    alone_on_lines,
    breaks_f_string,
    code_end,
    neighbours,
    reindented,
    stretches,
    without_comments,
)
from patcher.engine.lex import Lines, breaks_line, logical_lines, meets
from patcher.engine.match import Match
from patcher.engine.node import Node, SyntaxProblem
from patcher.engine.rewrite.align import Counterparts
from patcher.engine.rewrite.precedence import TIGHTEST, binding, is_bare, with_parentheses
from patcher.engine.source import Conflict, Edit
from patcher.engine.spatch.side import Hunk, Side
from patcher.message import Message


class Renderer:
    """Writes parts of the after side for one match.

    `file` are the lines of the file with the match, and `unit` is how much it indents a block.
    `kept` has the ids of the before nodes whose code is kept, in order, `changed` the statements that are changed in place.
    """

    def __init__(self, file: Lines, unit: str, hunk: Hunk, match: Match) -> None:
        self._file, self._unit, self.hunk, self.match = file, unit, hunk, match
        self.kept: dict[int, None] = {}
        self.changed: set[Node] = set()
        # neighbours in the file that are written with what is between them
        self.together: set[tuple[Node, Node]] = set()
        self.rows: set[int] = set()  # lines of the hunk that are written with their indentation
        self.deleted_ranges: list[
            tuple[int, int]
        ] = []  # character ranges of the statements that go away
        self.enclosed: Node | None = (
            None  # the code that an expression replaces, if its parentheses stay around it
        )
        self.base = ""  # the indentation that the lines being written have in the hunk
        units = [line.indent[len(hunk.after.indent) :] for line in logical_lines(hunk.after.text)]
        # the hunk's own indentation
        self._hunk_unit = min((unit for unit in units if unit), key=len, default="    ")

    @cached_property
    def _counterparts(self) -> Counterparts:
        return Counterparts(
            self.hunk.before, self.hunk.after, self.match.nodes, self.kept, self.changed
        )

    @cached_property
    def comments(self) -> LineComments:
        """The comments in the file behind context lines."""
        return LineComments(self._file, self.hunk, self.match)

    # expressions ------------------------------------------------------------------------------------------------------
    def expression(self, node: Node, indent: str = "") -> str:
        """The text of an expression (or another part of a line) of the after side, without parentheses around it.

        Parentheses that hold several lines together stay. Lines after the first are moved to the indentation of the place.
        """
        if node.role or self.counterpart(node) is not None:
            return self._filled(node, bare=True)
        return (
            self.part(node, indent)
            if self._held(node)
            else self._part(node, node.start, node.end, indent)
        )

    def _held(self, node: Node) -> bool:
        """Whether the parentheses around an expression are needed to hold its lines together."""
        written = self.hunk.after.text[node.start : node.end]
        return self.enclosed is None and node.parenthesised and breaks_line(written)

    def part(self, node: Node, indent: str = "") -> str:
        """The text of an element of a list or of a header, placeholders filled in, with its parentheses."""
        return self._part(node, node.outer_start, max(node.end, node.outer_end), indent)

    def _part(self, node: Node, start: int, end: int, indent: str) -> str:
        self.base = self.hunk.after.lines.indent(start)
        return self._fill(start, end, [node], indent, begins_line=False)

    def binds(self, node: Node) -> int:
        """How tightly the text of `expression(node)` binds."""
        if node.role == "meta":
            code = self.match.names[node.name]
            return TIGHTEST if code.parenthesised or not code.end - code.start else binding(code)
        if node.role == "option":
            literal = self._literal(node)
            return 14 if literal.startswith("-") else 16 if literal.isdigit() else TIGHTEST
        return TIGHTEST if self._held(node) else binding(node)

    def _literal(self, node: Node) -> str:
        return repr(self.hunk.options[node.name])

    def _code(self, code: Node) -> str:
        return self._file.text[code.outer_start : code.outer_end]

    def _filled(self, node: Node, *, bare: bool = False) -> str:
        """The text for a placeholder, or for a node that the before side has as well."""
        if node.role == "option":
            written, tight = self._literal(node), self.binds(node)
        else:
            counterpart = self.counterpart(node)
            code = self._codes(node, counterpart)[0]
            self._keep(counterpart)
            written, tight = self._code(code), TIGHTEST if code.parenthesised else binding(code)
            inner = self.enclosed is not None and (bare or code is self.enclosed)
            if inner:
                written, tight = self._file.text[code.start : code.end], binding(code)
            written = written if self._has_comments(node) else without_comments(written)
            if inner and bare:
                return written
            adds = counterpart is not None and node.parenthesised and not counterpart.parenthesised
            if not bare and adds and (code is self.enclosed or not code.parenthesised):
                return f"({written})"
            wraps = (
                node.parent is not None
                and node.parent.kind == "Attribute"
                and code.kind in ("Integer", "Float")
            )
            if wraps or (code.is_expression and breaks_line(written)):
                return f"({written})"
        self._check_quotes(node, written)
        return written if bare else with_parentheses(written, tight, node)

    def _has_comments(self, node: Node) -> bool:
        """Whether the comments in the code of a metavariable go here: what stands twice afterwards has them once."""
        alike = (
            [place for place in self.hunk.after.placeholders("meta") if place.name == node.name]
            if node.role == "meta"
            else []
        )
        stays = (
            place for place in alike if self.hunk.after.number(place) in self.hunk.after.context
        )
        return not alike or node is next(stays, alike[0])

    def _check_quotes(self, node: Node, code: str) -> None:
        """Refuse text for the braces of an f-string of the hunk that not every Python can read there."""
        string = next((up for up in node.ancestors() if up.kind == "FString"), None)
        if string is not None and breaks_f_string(
            self.hunk.after.written[string.start : string.end], code
        ):
            raise SyntaxProblem(
                Message(
                    "`{text}` cannot stand in an f-string with these quotes: write the hunk with other quotes",
                    text=code,
                )
            )

    def _keep(self, counterpart: Node | None) -> None:
        """Record that the code of a before node, with all its descendants, is kept."""
        self.kept.update(
            (id(part), None) for part in (counterpart.walk() if counterpart is not None else ())
        )

    def counterpart(self, node: Node) -> Node | None:
        """The node of the before side whose code is used for this node of the after side (rule 11)."""
        if node.role == "run":
            return self._counterparts.run(node.name)
        if node.role == "meta" and node.has_lines:
            return self._counterparts.of(node)
        stays = node.has_lines and self.hunk.after.kept_line(node)
        if node.role or (
            not stays and not any(True for _ in node.children()) and node.kind != "String"
        ):
            return None
        if node.kind in ("Block", "Parameters", "ComparisonTarget"):
            return None
        return self._counterparts.of(node)

    # lines ------------------------------------------------------------------------------------------------------------
    def lines(self, rows: Sequence[int], nodes: Sequence[Node], indent: str) -> str:
        """The given rows (0-based lines of the after side) as lines of the file, each with its line break.

        `nodes` are the statements on them; `indent` is the indentation of the place.
        """
        side = self.hunk.after
        parts: list[str] = []
        self.base = side.lines.indent(nodes[0].begin if nodes else side.lines.starts[rows[0]])
        for first_row, last_row in stretches(rows):
            start = side.lines.starts[first_row]
            end = (
                side.lines.starts[last_row + 1]
                if last_row + 1 < len(side.lines.starts)
                else len(side.text)
            )
            inside = [node for node in nodes if start <= node.start < end]
            if inside and side.text[side.lines.start(inside[0].begin) : inside[0].begin].strip():
                start = inside[0].begin  # behind the header of a one-line suite, or a `;`
                parts.append(indent)
                if any(
                    node.role == "meta" or self.counterpart(node) is not None for node in inside
                ):
                    raise self._behind(inside[0])
            if inside and side.text[inside[-1].end : end].lstrip(" \t")[:1] == ";":
                end = inside[-1].end
            code = self._fill(start, end, inside, indent)
            parts.append(
                code if code.endswith(("\n", "\r")) or not code else code + self._file.newline
            )
        return "".join(parts)

    def _fill(
        self, start: int, end: int, nodes: Sequence[Node], indent: str, *, begins_line: bool = True
    ) -> str:
        side = self.hunk.after
        edits: list[Edit] = []
        self._substitute_all(nodes, edits, indent)
        # what is behind a part of a line stays there
        edits = [edit for edit in edits if begins_line or edit.start < end]
        filled = [(edit.start, edit.end - 1) for edit in sorted(edits) if edit.start < edit.end]
        starts = side.lines.starts
        for offset in starts[
            bisect_left(starts, start + (not begins_line)) : bisect_left(starts, end)
        ]:
            is_row = offset in self.rows
            if offset not in side.strings and not meets(filled, offset, offset - (not is_row)):
                written = side.lines.indent(offset)
                blank = offset + len(written)
                if side.text[blank : blank + 1] not in ("\n", ""):
                    edits.append(Edit(offset, blank, self._indent(written, indent)))
        parts, past = [], start
        for edit in sorted(edits):
            parts += [side.text[past : edit.start].replace("\n", self._file.newline), edit.text]
            past = edit.end
        return "".join([*parts, side.text[past:end].replace("\n", self._file.newline)])

    def _indent(self, written: str, indent: str) -> str:
        """The indentation of a line of the hunk, moved to the place and written in the file's own unit."""
        inner = written[len(self.base) :]
        unit = self._hunk_unit
        depth = len(inner) // len(unit) if inner.startswith(unit) else 0
        return indent + self._unit * depth + inner[len(unit) * depth :]

    def _substitute(self, node: Node, edits: list[Edit], indent: str) -> None:
        counterpart = self.counterpart(node)
        if node.kind == "Decorator" or (node.has_lines and not node.role and counterpart is None):
            edits += self.comments.edits(node)
        if node.has_lines and (node.role == "meta" or counterpart is not None):
            self._statements([node], self._codes(node, counterpart), edits, indent)
        elif node.role == "run":
            self._elements(node, counterpart, edits)
        elif node.role in ("meta", "option") or counterpart is not None:
            edits.append(Edit(node.outer_start, node.outer_end, self._filled(node)))
        else:
            for value in node.fields.values():
                self._substitute_all(
                    [value]
                    if isinstance(value, Node)
                    else value
                    if isinstance(value, list)
                    else [],
                    edits,
                    indent,
                )

    def _substitute_all(self, nodes: Sequence[Node], edits: list[Edit], indent: str) -> None:
        """Write nodes; neighbours that are neighbours in the file too as one, with the comments and blank lines between."""
        index = 0
        while index < len(nodes):
            group = [nodes[index]]
            codes = self._kept_codes(nodes[index])
            while codes and index + len(group) < len(nodes):
                following = nodes[index + len(group)]
                following_codes = self._kept_codes(following)
                between = self.hunk.after.text[self._past(group[-1]) : following.begin]
                if (
                    not following_codes
                    or between.strip()
                    or not neighbours(codes[-1], following_codes[0])
                ):
                    break
                group.append(following)
                codes = [*codes, *following_codes]
            if len(group) > 1:
                self._statements(group, codes, edits, indent)
            else:
                self._substitute(group[0], edits, indent)
            index += len(group)

    def _kept_codes(self, node: Node) -> list[Node]:
        """The statements of the file that a statement of the after side keeps unchanged; [] for none."""
        if (
            not node.has_lines
            or node.kind == "Opaque"
            or not alone_on_lines(self.hunk.after.lines, node.begin, node.end)
        ):
            return []
        counterpart = self.counterpart(node)
        return self._codes(node, counterpart) if counterpart is not None else []

    def _codes(self, node: Node, counterpart: Node | None) -> list[Node]:
        matched = (
            self.match.names[node.name]
            if node.role == "meta"
            else self.match.nodes[id(counterpart)]
        )
        return matched if isinstance(matched, list) else [matched]

    def _elements(self, node: Node, counterpart: Node | None, edits: list[Edit]) -> None:
        """A run of arguments, elements, parameters: its code, or nothing and no comma."""
        codes = self.match.nodes[id(counterpart)]
        assert isinstance(codes, list) and counterpart is not None
        self.kept[id(counterpart)] = None
        if codes:
            bare = len(node.siblings()) > 1 and is_bare(codes[0])
            edits.append(
                Edit(
                    node.start,
                    node.end,
                    f"({self._joined(codes)})" if bare else self._joined(codes),
                )
            )
            return
        siblings = node.siblings()
        index = siblings.index(node)
        start = siblings[index - 1].outer_end if index else node.start
        end = siblings[1].outer_start if not index and siblings[1:] else node.end
        edits.append(Edit(start, end, ""))

    def _joined(self, codes: Sequence[Node]) -> str:
        """The text of consecutive elements with all that is between them, of others separated by commas."""
        siblings = codes[0].siblings()
        index = siblings.index(codes[0])
        if siblings[index : index + len(codes)] == list(codes):
            return self._file.text[codes[0].outer_start : codes[-1].outer_end]
        return ", ".join(self._code(code) for code in codes)

    def _statements(
        self, nodes: Sequence[Node], codes: list[Node], edits: list[Edit], indent: str
    ) -> None:
        """Write neighbours that are kept as `codes`: with their lines and comments, at the new indentation (rule 19)."""
        node, side = nodes[0], self.hunk.after
        for statement in nodes:
            self._keep(self.counterpart(statement))
        self.together.update(zip(codes, codes[1:]))
        row = side.lines.start(node.begin)
        written = side.text[row : node.begin]
        self.rows.add(row)
        if written.strip():  # a body on its header's line, written or not: it gets lines of its own
            if node.parent is None or len(node.parent.statements()) > 1:
                raise self._behind(node)
            depth = written[: len(written) - len(written.lstrip())]
            deeper = self._indent(depth, indent) + self._unit
            body = reindented(self._file, self.deleted_ranges, codes, deeper) if codes else ""
            code = self._file.newline + body if body else " pass"
            edits.append(Edit(node.start - 1, node.end, code))
        elif codes:
            comments = [comment for statement in nodes for comment in self._comments(statement)]
            around = self.deleted_ranges if self.counterpart(node) is not None else ()
            code = reindented(self._file, around, codes, self._indent(written, indent), comments)
            edits.append(Edit(row, self._past(nodes[-1]), code))
        else:
            only = node.parent is not None and node.parent.items("body") == [node]
            end = node.end if only else side.lines.end(node.end)
            edits.append(Edit(row, end, self._indent(written, indent) + "pass" if only else ""))

    def _behind(self, node: Node) -> Conflict:
        line = self.hunk.after.number(node)
        return Conflict(
            Message(
                "line {line} of the patch keeps code behind other code: write it on a line of its own",
                line=line,
            )
        )

    def _past(self, node: Node) -> int:
        """The offset past a kept statement of the hunk and the comment behind it."""
        tail = self.hunk.after.text[node.end : self.hunk.after.lines.end(node.end - 1)].rstrip("\n")
        return node.end + (len(tail) if node.role != "run" and tail.lstrip().startswith("#") else 0)

    def _comments(self, node: Node) -> list[str | None]:
        """The trailing comment of each statement of the file that a kept one of the hunk covers: see `reindented`."""
        side, counterpart = self.hunk.after, self.counterpart(node)
        codes = self._codes(node, counterpart)
        context = side.numbers[side.lines.number(node.end - 1) - 1] in side.context
        comment = "" if context else side.text[node.end : self._past(node)].strip()
        copied = counterpart is None and not codes[-1].is_compound
        return [*[""] * (len(codes) - 1), None if copied and not comment else comment]


class LineComments:
    """The comments in the file behind the context lines of a hunk: each goes with the statement or header that ends there."""

    def __init__(self, file: Lines, hunk: Hunk, match: Match) -> None:
        self._file, self._hunk, self._match = file, hunk, match
        self._before, self._after = (
            {_line(side, node): node for node in _lined(side)} for side in (hunk.before, hunk.after)
        )

    def of(self, node: Node) -> str | None:
        """The comment of a node of the after side, "" for none; None where it ends on no context line."""
        source = self._before.get(_line(self._hunk.after, node))
        code = self._match.nodes.get(id(source))
        if not isinstance(code, Node):
            return None
        at = code_end(code, self._file.text)
        tail = self._file.text[at : self._file.end(at - 1)].strip()
        return tail if tail.startswith("#") else ""

    def edits(self, node: Node) -> list[Edit]:
        """What writes that comment behind a node of the after side."""
        comment, side = self.of(node), self._hunk.after
        at = code_end(node, side.text)
        tail = side.text[at : side.lines.end(at - 1)].rstrip("\n")
        if comment is None or (
            tail.lstrip()[:1] not in ("", "#") and not (comment and at + 1 in side.bodies)
        ):
            return []
        return [
            Edit(at, at if at + 1 in side.bodies else at + len(tail), comment and "  " + comment)
        ]

    def instead(self, old: Node, new: Node) -> str | None:
        """What comes in the place of the comment of a before node when it becomes `new`; None where that stays."""
        line = _line(self._hunk.before, old)
        if line == _line(self._hunk.after, new):
            return None
        return self.of(new) or ("" if line in self._after else None)


def _lined(side: Side) -> Iterator[Node]:
    for top in side.nodes:
        for node in top.walk():
            if (node.has_lines or node.kind == "Decorator") and not node.role and _line(side, node):
                yield node


def _line(side: Side, node: Node) -> int:
    """The .spatch line on which a statement or a header ends, if it is a context line, else 0."""
    number = side.numbers[side.lines.number(code_end(node, side.text) - 1) - 1]
    return number if number in side.context else 0
