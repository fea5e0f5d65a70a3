"""The after side of a hunk as text for one place: placeholders filled in, kept code copied byte for byte, lines indented."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.semantic.lex import Lines, breaks_line, lines_in_strings
from patcher.semantic.match import Way, same
from patcher.semantic.node import NOT_EXPRESSIONS, STATEMENTS, Node
from patcher.semantic.pattern import Hunk
from patcher.semantic.source import Source

_OPERATORS = {
    "|": 8, "^": 9, "&": 10, "<<": 11, ">>": 11, "+": 12, "-": 12, "*": 13, "@": 13, "/": 13, "//": 13, "%": 13, "**": 15,
}  # fmt: skip
_OWN = {"GeneratorExp": -1, "Yield": 0, "Tuple": 0, "NamedExpr": 1, "Lambda": 2, "IfExp": 3, "Or": 4, "And": 5}
_OWN = {**_OWN, "Comparison": 7, "Await": 16}
_TIGHTEST = 17
# (kind of the parent, field) -> how tightly an expression there must bind; everything else takes what `_LIST` or 0 says
_NEEDED = {
    ("Attribute", "value"): 17, ("Call", "func"): 17, ("Subscript", "value"): 17, ("Await", "expression"): 17,
    ("Comparison", "left"): 8, ("ComparisonTarget", "comparator"): 8, ("And", "values"): 6, ("Or", "values"): 5,
    ("IfExp", "body"): 4, ("IfExp", "test"): 4, ("IfExp", "orelse"): 2, ("Lambda", "body"): 2, ("Star", "value"): 8,
    ("DoubleStar", "value"): 8, ("Keyword", "value"): 2, ("Call", "args"): 2, ("ClassDef", "args"): 2,
    ("Tuple", "elements"): 2, ("List", "elements"): 2, ("Set", "elements"): 2, ("DictElement", "key"): 2,
    ("DictElement", "value"): 2, ("Slice", "lower"): 2, ("Slice", "upper"): 2, ("Slice", "step"): 2,
    ("Subscript", "slice"): 2, ("CompFor", "iter"): 4, ("CompIf", "test"): 4, ("NamedExpr", "value"): 2,
    ("FExpr", "expression"): 3, ("If", "test"): 2, ("Elif", "test"): 2, ("While", "test"): 2, ("Assert", "test"): 2,
    ("Assert", "msg"): 2, ("Raise", "exc"): 2, ("Raise", "cause"): 2, ("From", "item"): 2, ("WithItem", "item"): 2,
    ("Decorator", "value"): 2, ("Param", "default"): 2, ("Param", "annotation"): 2, ("FunctionDef", "returns"): 2,
    ("Assign", "annotation"): 2, ("Except", "type"): 2, ("ListComp", "elt"): 2, ("SetComp", "elt"): 2,
    ("GeneratorExp", "elt"): 2, ("DictComp", "key"): 2, ("DictComp", "value"): 2,
}  # fmt: skip


class Edit(NamedTuple):
    """Replace the characters `[start, end)` of a text."""

    start: int
    end: int
    text: str


def binding(node: Node) -> int:
    """How tightly an expression binds, from the precedence table of the Python language reference; atoms are 17."""
    if node.kind == "BinaryOperation":
        return _OPERATORS[str(node.node("operator").fields["value"])]
    if node.kind == "UnaryOperation":
        return 6 if node.node("operator").fields["value"] == "not" else 14
    return _OWN.get(node.kind, _TIGHTEST)


def needed(node: Node) -> int:
    """How tightly an expression in the place of `node` must bind."""
    parent = node.parent
    if parent is None:
        return 0
    field = next(
        key
        for key, value in parent.fields.items()
        if value is node or (isinstance(value, list) and any(v is node for v in value))
    )
    if parent.kind == "BinaryOperation" and field in ("left", "right"):
        operator = str(parent.node("operator").fields["value"])
        tight = _OPERATORS[operator]
        return (16 if field == "left" else 14) if operator == "**" else tight + (field == "right")
    if parent.kind == "UnaryOperation" and field == "expression":
        return 6 if parent.node("operator").fields["value"] == "not" else 14
    return _NEEDED.get((parent.kind, field), 0)


def alone_on_lines(text: str, lines: Lines, start: int, end: int) -> bool:
    """Whether nothing but blanks and a comment shares the lines of `[start, end)`."""
    before = text[lines.start(start) : start]
    after = text[end : lines.end(max(start, end - 1))].strip()
    return not before.strip() and (not after or after.startswith("#"))


class Renderer:
    """Writes parts of the after side for one way of matching. `kept` collects the ids of before nodes that live on."""

    def __init__(self, source: Source, hunk: Hunk, way: Way) -> None:
        self.source, self.hunk, self.way = source, hunk, way
        self.kept: Set[int] = set()
        self.base = ""  # the indentation that the lines being written have in the hunk
        self._before = [node for top in hunk.before.nodes for node in top.walk() if not node.role]

    # expressions ------------------------------------------------------------------------------------------------------
    def expression(self, node: Node, indent: str = "") -> str:
        """The text of an expression (or another part of a line) of the after side, without parentheses around it.

        Lines after the first are moved to the indentation of the place.
        """
        if node.role or self._twin(node) is not None:
            return self._filled(node, bare=True)
        return self._part(node, node.start, node.end, indent)

    def part(self, node: Node, indent: str = "") -> str:
        """The text of an element of a list or a header, filled in, its parentheses with it."""
        return self._part(node, node.outer_start, max(node.end, node.outer_end), indent)

    def _part(self, node: Node, start: int, end: int, indent: str) -> str:
        row = self.hunk.after.text[self.hunk.after.lines.start(start) :]
        self.base = row[: len(row) - len(row.lstrip(" \t"))]
        return self._fill(start, end, [node], indent, first=False)

    def binds(self, node: Node) -> int:
        """How tightly the text of `expression(node)` binds."""
        if node.role == "meta":
            code = self.way.names[node.name]
            return _TIGHTEST if code.outer_start < code.start or not code.end - code.start else binding(code)
        if node.role == "option":
            return 14 if self._literal(node).startswith("-") else _TIGHTEST
        return binding(node)

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
            found = self.way.names[node.name] if node.role == "meta" else self.way.nodes[id(twin)]
            assert isinstance(found, Node)
            if twin is not None:
                self.kept.update(id(part) for part in twin.walk())
            text, tight = self._code(found), _TIGHTEST if found.outer_start < found.start else binding(found)
            wraps = node.parent is not None and node.parent.kind == "Attribute" and found.kind in ("Integer", "Float")
            if wraps or (found.kind not in NOT_EXPRESSIONS and breaks_line(text)):
                return f"({text})"
        return f"({text})" if not bare and tight < needed(node) else text

    def _twin(self, node: Node) -> Optional[Node]:
        """The node of the before side whose code stands for this node of the after side (rule 11)."""
        if node.role == "run":
            runs = (run for top in self.hunk.before.nodes for run in top.walk() if run.role == "run")
            return next((run for run in runs if run.name == node.name), None)
        if node.role or (not any(True for _ in node.children()) and node.kind != "String"):
            return None
        if node.kind in ("Block", "Parameters", "ComparisonTarget"):
            return None
        free = [twin for twin in self._before if same(twin, node) and isinstance(self.way.nodes.get(id(twin)), Node)]
        return next((twin for twin in free if id(twin) not in self.kept), free[0] if free else None)

    # lines ------------------------------------------------------------------------------------------------------------
    def lines(self, rows: Sequence[int], nodes: Sequence[Node], indent: str) -> str:
        """The given rows (0-based lines of the after side) as lines of the file, each with its line break.

        `nodes` are the statements on them; `indent` is the indentation of the place.
        """
        side = self.hunk.after
        parts: List[str] = []
        row = side.text[side.lines.starts[rows[0]] :] if not nodes else side.text[side.lines.start(nodes[0].begin) :]
        self.base = row[: len(row) - len(row.lstrip(" \t"))]
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
        for node in nodes:
            self._substitute(node, edits, indent)
        for offset in side.lines.starts:
            within = (start <= offset if first else start < offset) and offset < end and offset not in side.strings
            if within and not any(edit.start <= offset < edit.end for edit in edits):
                blank = len(side.text[offset:]) - len(side.text[offset:].lstrip(" \t"))
                if side.text[offset + blank : offset + blank + 1] not in ("\n", ""):
                    edits.append(Edit(offset, offset + blank, self._indent(side.text[offset : offset + blank], indent)))
        text, done = "", start
        for edit in sorted(edits):
            text += self._template(side.text[done : edit.start]) + edit.text
            done = edit.end
        return text + self._template(side.text[done:end])

    def _template(self, text: str) -> str:
        return text.replace("\n", self.source.newline)

    def _indent(self, written: str, indent: str) -> str:
        """The indentation of a line of the hunk, moved to the place and written in the file's own unit."""
        inner = written[len(self.base) :]
        unit = self.hunk_unit
        depth = len(inner) // len(unit) if unit and inner.startswith(unit) else 0
        return indent + self.source.indent * depth + inner[len(unit) * depth :]

    @property
    def hunk_unit(self) -> str:
        """The smallest indentation on the hunk's own lines."""
        side = self.hunk.after
        base = len(side.indent)
        units = [line[base : len(line) - len(line.lstrip())] for line in side.text.split("\n") if line.strip()]
        return min((unit for unit in units if unit), key=len, default="    ")

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
            for child in node.children():
                self._substitute(child, edits, indent)

    def _elements(self, node: Node, twin: Optional[Node], edits: List[Edit]) -> None:
        """A run of arguments, elements, parameters: its code, or nothing and no comma."""
        found = self.way.nodes[id(twin)]
        assert isinstance(found, list) and twin is not None
        self.kept.add(id(twin))
        if found:
            edits.append(Edit(node.start, node.end, ", ".join(self._code(code) for code in found)))
            return
        siblings = next(v for v in (node.parent.fields.values() if node.parent else ()) if isinstance(v, list) and node in v)
        index = siblings.index(node)
        if index:
            edits.append(Edit(siblings[index - 1].outer_end, node.end, ""))
        elif len(siblings) > 1:
            edits.append(Edit(node.start, siblings[1].outer_start, ""))
        else:
            edits.append(Edit(node.start, node.end, ""))

    def _statement(self, node: Node, twin: Optional[Node], edits: List[Edit], indent: str) -> None:
        """A kept statement takes its own lines and trailing comment along (rule 19), moved to the new indentation."""
        found = self.way.names[node.name] if node.role == "meta" else self.way.nodes[id(twin)]
        codes = found if isinstance(found, list) else [found]
        if twin is not None:
            self.kept.update(id(part) for part in twin.walk())
        side = self.hunk.after
        row = side.lines.start(node.start)
        written = side.text[row : node.start]
        if written.strip():  # a body that was not written: the header's own line ends before it
            depth = written[: len(written) - len(written.lstrip())]
            body = self.moved(codes, self._indent(depth, indent) + self.source.indent) if codes else ""
            text = self.source.newline + body if body else " pass"
            edits.append(Edit(node.start - 1, node.end, text))
        elif codes:
            edits.append(Edit(row, node.end, self.moved(codes, self._indent(written, indent))))
        else:
            block = node.parent
            only = block is not None and block.items("body") == [node]
            end = node.end if only else side.lines.end(node.end)
            edits.append(Edit(row, end, self._indent(written, indent) + "pass" if only else ""))

    def moved(self, codes: Sequence[Node], indent: str) -> str:
        """Whole lines of consecutive statements at another indentation, without the last line break."""
        text, lines = self.source.text, self.source.lines
        first = codes[0].begin
        if not alone_on_lines(text, lines, first, codes[-1].end):
            return indent + (self.source.newline + indent).join(text[code.start : code.end] for code in codes)
        start = lines.start(first)
        end = lines.end(codes[-1].end - 1 if codes[-1].end > first else first)
        region = text[start:end].rstrip("\r\n")
        old = text[start:first]
        inside = set(lines_in_strings(region))
        out, offset = "", 0
        for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", region):
            moves = offset not in inside and line.startswith(old) and line.strip()
            out += indent + line[len(old) :] if moves else line
            offset += len(line)
        return out


def _stretches(rows: Sequence[int]) -> List[Tuple[int, int]]:
    found: List[Tuple[int, int]] = []
    for row in rows:
        if found and found[-1][1] == row - 1:
            found[-1] = (found[-1][0], row)
        else:
            found.append((row, row))
    return found
