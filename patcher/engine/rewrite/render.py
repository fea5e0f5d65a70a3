"""The after side of a hunk as text for one place: placeholders filled in, kept code copied byte for byte, lines indented."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import Dict, List, Optional, Sequence, Set, Tuple

from patcher.engine.edit import Edit
from patcher.engine.lex import breaks_line, logical_lines, meets
from patcher.engine.match.match import Way
from patcher.engine.node import STATEMENTS, Node, SyntaxProblem, is_expression
from patcher.engine.rewrite.layout import alone_on_lines, breaks_f_string, moved
from patcher.engine.rewrite.precedence import TIGHTEST, binding, enclosed, is_bare
from patcher.engine.rewrite.twins import Twins
from patcher.engine.source import Source
from patcher.engine.spatch.pattern import Hunk


class Renderer:
    """Writes parts of the after side for one way of matching. `kept` has the ids of before nodes that live on, in order."""

    def __init__(self, source: Source, hunk: Hunk, way: Way) -> None:
        self.source, self.hunk, self.way = source, hunk, way
        self.kept: Dict[int, None] = {}
        self.rows: Set[int] = set()  # lines of the hunk that are written with their indentation
        self.gone: List[Tuple[int, int]] = []  # where the code lies that goes while these lines are written
        self.enclosed: Optional[Node] = None  # the code that an expression replaces, if its parentheses stay around it
        self.base = ""  # the indentation that the lines being written have in the hunk
        units = [line.indent[len(hunk.after.indent) :] for line in logical_lines(hunk.after.text)]
        self._unit = min((unit for unit in units if unit), key=len, default="    ")  # the hunk's own indentation

    @cached_property
    def _twins(self) -> Twins:
        return Twins(self.hunk.before.nodes)

    # expressions ------------------------------------------------------------------------------------------------------
    def expression(self, node: Node, indent: str = "") -> str:
        """The text of an expression (or another part of a line) of the after side, without parentheses around it.

        Parentheses that hold several lines together stay. Lines after the first are moved to the indentation of the place.
        """
        if node.role or self._twin(node) is not None:
            return self._filled(node, bare=True)
        return self.part(node, indent) if self._held(node) else self._part(node, node.start, node.end, indent)

    def _held(self, node: Node) -> bool:
        """Whether the parentheses around an expression are needed to hold its lines together."""
        written = self.hunk.after.text[node.start : node.end]
        return self.enclosed is None and node.outer_start < node.start and breaks_line(written)

    def part(self, node: Node, indent: str = "") -> str:
        """The text of an element of a list or a header, filled in, its parentheses with it."""
        return self._part(node, node.outer_start, max(node.end, node.outer_end), indent)

    def _part(self, node: Node, start: int, end: int, indent: str) -> str:
        self.base = self.hunk.after.lines.indent(start)
        return self._fill(start, end, [node], indent, first=False)

    def binds(self, node: Node) -> int:
        """How tightly the text of `expression(node)` binds."""
        if node.role == "meta":
            code = self.way.names[node.name]
            return TIGHTEST if code.outer_start < code.start or not code.end - code.start else binding(code)
        if node.role == "option":
            literal = self._literal(node)
            return 14 if literal.startswith("-") else 16 if literal.isdigit() else TIGHTEST
        return TIGHTEST if self._held(node) else binding(node)

    def _literal(self, node: Node) -> str:
        return repr(self.hunk.options[node.name])

    def _code(self, code: Node) -> str:
        return self.source.text[code.outer_start : code.outer_end]

    def _filled(self, node: Node, *, bare: bool = False) -> str:
        """The text for a placeholder, or for a node that the before side has as well."""
        if node.role == "option":
            text, tight = self._literal(node), self.binds(node)
        else:
            twin = self._twin(node)
            found = self._codes(node, twin)[0]
            self._keep(twin)
            text, tight = self._code(found), TIGHTEST if found.outer_start < found.start else binding(found)
            if self.enclosed is not None and (bare or found is self.enclosed):
                text, tight = self.source.text[found.start : found.end], binding(found)
                if bare:
                    return text
            written = twin is not None and _parenthesised(node) and not _parenthesised(twin)  # by the hunk around what stays
            if not bare and written and (found is self.enclosed or not _parenthesised(found)):
                return f"({text})"
            wraps = node.parent is not None and node.parent.kind == "Attribute" and found.kind in ("Integer", "Float")
            if wraps or (is_expression(found) and breaks_line(text)):
                return f"({text})"
        self._check_quotes(node, text)
        return text if bare else enclosed(text, tight, node)

    def _check_quotes(self, node: Node, text: str) -> None:
        """What is put between the braces of an f-string of the hunk must be readable there by every Python."""
        string = next((up for up in node.ancestors() if up.kind == "FString"), None)
        if string is not None and breaks_f_string(self.hunk.after.written[string.start : string.end], text):
            raise SyntaxProblem(f"`{text}` cannot stand in an f-string with these quotes: write the hunk with other quotes")

    def _keep(self, twin: Optional[Node]) -> None:
        """Note that a before node lives on, with all below it."""
        self.kept.update((id(part), None) for part in (twin.walk() if twin is not None else ()))

    def _twin(self, node: Node) -> Optional[Node]:
        """The node of the before side whose code stands for this node of the after side (rule 11)."""
        if node.role == "run":
            return self._twins.run(node.name)
        if node.role or (not any(True for _ in node.children()) and node.kind != "String"):
            return None
        if node.kind in ("Block", "Parameters", "ComparisonTarget"):
            return None
        return self._twins.of(node, self.way.nodes, self.kept)

    # lines ------------------------------------------------------------------------------------------------------------
    def lines(self, rows: Sequence[int], nodes: Sequence[Node], indent: str) -> str:
        """The given rows (0-based lines of the after side) as lines of the file, each with its line break.

        `nodes` are the statements on them; `indent` is the indentation of the place.
        """
        side = self.hunk.after
        parts: List[str] = []
        self.base = side.lines.indent(nodes[0].begin if nodes else side.lines.starts[rows[0]])
        for first, last in _stretches(rows):
            start = side.lines.starts[first]
            end = side.lines.starts[last + 1] if last + 1 < len(side.lines.starts) else len(side.text)
            inside = [node for node in nodes if start <= node.start < end]
            text = self._fill(start, end, inside, indent)
            parts.append(text if text.endswith(("\n", "\r")) or not text else text + self.source.newline)
        return "".join(parts)

    def _fill(self, start: int, end: int, nodes: Sequence[Node], indent: str, *, first: bool = True) -> str:
        side = self.hunk.after
        edits: List[Edit] = []
        self._substitute_all(nodes, edits, indent)
        filled = [(edit.start, edit.end - 1) for edit in sorted(edits) if edit.start < edit.end]
        starts = side.lines.starts
        for offset in starts[bisect_left(starts, start + (not first)) : bisect_left(starts, end)]:
            whole = offset in self.rows
            if offset not in side.strings and not meets(filled, offset, offset - (not whole)):
                written = side.lines.indent(offset)
                blank = offset + len(written)
                if side.text[blank : blank + 1] not in ("\n", ""):
                    edits.append(Edit(offset, blank, self._indent(written, indent)))
        parts, done = [], start
        for edit in sorted(edits):
            parts += [side.text[done : edit.start].replace("\n", self.source.newline), edit.text]
            done = edit.end
        return "".join([*parts, side.text[done:end].replace("\n", self.source.newline)])

    def _indent(self, written: str, indent: str) -> str:
        """The indentation of a line of the hunk, moved to the place and written in the file's own unit."""
        inner = written[len(self.base) :]
        unit = self._unit
        depth = len(inner) // len(unit) if inner.startswith(unit) else 0
        return indent + self.source.indent * depth + inner[len(unit) * depth :]

    def _substitute(self, node: Node, edits: List[Edit], indent: str) -> None:
        statement = node.kind in STATEMENTS
        twin = self._twin(node)
        if statement and (node.role == "meta" or twin is not None):
            self._statement(node, twin, edits, indent)
        elif node.role == "run":
            self._elements(node, twin, edits)
        elif node.role in ("meta", "option") or twin is not None:
            edits.append(Edit(node.outer_start, node.outer_end, self._filled(node)))
        else:
            for value in node.fields.values():
                self._substitute_all(
                    [value] if isinstance(value, Node) else value if isinstance(value, list) else [], edits, indent
                )

    def _substitute_all(self, nodes: Sequence[Node], edits: List[Edit], indent: str) -> None:
        """Neighbours that are neighbours in the file too move as one, with the comments and blank lines between them."""
        index = 0
        while index < len(nodes):
            group = [nodes[index]]
            codes = self._kept_codes(nodes[index])
            while codes and index + len(group) < len(nodes):
                following = nodes[index + len(group)]
                more = self._kept_codes(following)
                between = self.hunk.after.text[self._past(group[-1]) : following.begin]
                if not more or between.strip() or not _neighbours(codes[-1], more[0]):
                    break
                group.append(following)
                codes = [*codes, *more]
            if len(group) > 1:
                for node in group:
                    self._keep(self._twin(node))
                row = self.hunk.after.lines.start(group[0].begin)
                written = self.hunk.after.text[row : group[0].begin]
                self.rows.add(row)
                comments = [text for node in group for text in self._comments(node)]
                text = moved(self.source, self.gone, codes, self._indent(written, indent), comments)
                edits.append(Edit(row, self._past(group[-1]), text))
            else:
                self._substitute(group[0], edits, indent)
            index += len(group)

    def _kept_codes(self, node: Node) -> List[Node]:
        """The statements of the file that a statement of the after side stands for, if it is kept as it is."""
        if (
            node.kind not in STATEMENTS
            or node.kind == "Opaque"
            or not alone_on_lines(self.hunk.after.text, self.hunk.after.lines, node.begin, node.end)
        ):
            return []
        twin = self._twin(node)
        return self._codes(node, twin) if node.role == "meta" or twin is not None else []

    def _codes(self, node: Node, twin: Optional[Node]) -> List[Node]:
        found = self.way.names[node.name] if node.role == "meta" else self.way.nodes[id(twin)]
        return found if isinstance(found, list) else [found]

    def _elements(self, node: Node, twin: Optional[Node], edits: List[Edit]) -> None:
        """A run of arguments, elements, parameters: its code, or nothing and no comma."""
        found = self.way.nodes[id(twin)]
        assert isinstance(found, list) and twin is not None
        self.kept[id(twin)] = None
        if found:
            bare = len(node.siblings()) > 1 and is_bare(found[0])
            edits.append(Edit(node.start, node.end, f"({self._joined(found)})" if bare else self._joined(found)))
            return
        siblings = node.siblings()
        index = siblings.index(node)
        if index:
            edits.append(Edit(siblings[index - 1].outer_end, node.end, ""))
        elif len(siblings) > 1:
            edits.append(Edit(node.start, siblings[1].outer_start, ""))
        else:
            edits.append(Edit(node.start, node.end, ""))

    def _joined(self, codes: Sequence[Node]) -> str:
        """Consecutive elements with all that stands between them, others with commas."""
        siblings = codes[0].siblings()
        first = siblings.index(codes[0])
        if siblings[first : first + len(codes)] == list(codes):
            return self.source.text[codes[0].outer_start : codes[-1].outer_end]
        return ", ".join(self._code(code) for code in codes)

    def _statement(self, node: Node, twin: Optional[Node], edits: List[Edit], indent: str) -> None:
        """A kept statement takes its own lines and trailing comment along (rule 19), moved to the new indentation."""
        codes = self._codes(node, twin)
        self._keep(twin)
        side = self.hunk.after
        row = side.lines.start(node.start)
        written = side.text[row : node.start]
        self.rows.add(row)
        if written.strip():  # a body that was not written: the header's own line ends before it
            depth = written[: len(written) - len(written.lstrip())]
            body = moved(self.source, self.gone, codes, self._indent(depth, indent) + self.source.indent) if codes else ""
            text = self.source.newline + body if body else " pass"
            edits.append(Edit(node.start - 1, node.end, text))
        elif codes:
            text = moved(self.source, self.gone, codes, self._indent(written, indent), self._comments(node))
            edits.append(Edit(row, self._past(node), text))
        else:
            block = node.parent
            only = block is not None and block.items("body") == [node]
            end = node.end if only else side.lines.end(node.end)
            edits.append(Edit(row, end, self._indent(written, indent) + "pass" if only else ""))

    def _past(self, node: Node) -> int:
        """The offset past a kept statement of the hunk and the comment behind it."""
        rest = self.hunk.after.text[node.end : self.hunk.after.lines.end(node.end - 1)].rstrip("\n")
        return node.end + (len(rest) if node.role != "run" and rest.lstrip().startswith("#") else 0)

    def _comments(self, node: Node) -> List[str]:
        """For each statement that a kept one of the hunk stands for the comment that the hunk writes behind it, or ""."""
        side = self.hunk.after
        context = side.numbers[side.lines.number(node.end - 1) - 1] in side.context
        comment = "" if context else side.text[node.end : self._past(node)].strip()
        return [*[""] * (len(self._codes(node, self._twin(node))) - 1), comment]


def _neighbours(above: Node, below: Node) -> bool:
    """Whether two statements follow each other in one block of the file."""
    siblings = above.siblings()
    return siblings[siblings.index(above) + 1 :][:1] == [below]


def _parenthesised(node: Node) -> bool:
    return node.outer_start < node.start


def _stretches(rows: Sequence[int]) -> List[Tuple[int, int]]:
    found: List[Tuple[int, int]] = []
    for row in rows:
        if found and found[-1][1] == row - 1:
            found[-1] = (found[-1][0], row)
        else:
            found.append((row, row))
    return found
