"""A hunk that was read: its two sides as trees, with the .spatch line number of each line."""

from __future__ import annotations

from enum import Enum
from typing import Iterator, Mapping

from patcher.engine.lex import Lines
from patcher.engine.node import Node
from patcher.model import HunkText, OptionValue
from patcher.record import Record


class HunkForm(str, Enum):
    """What a hunk changes."""

    EXPRESSION = "expression"
    STATEMENTS = "statements"
    CLAUSES = "clauses"


class SideLayout(Record):
    """What the text of a side has that its tree has not.

    `indent` is the indentation of its statements, `strings` the offsets of line starts inside
    strings, `bodies` the offset of each `...` that was added as the body of a header.
    """

    indent: str = ""
    strings: frozenset[int] = frozenset()
    bodies: frozenset[int] = frozenset()


class Side(Record):
    """One side of a hunk.

    `written` is its code as written in the hunk, without the common indentation, `text` the same as
    Python of the same length; `nodes` are its statements, clauses, or the one expression; `numbers`
    the .spatch line of each line of `text`; `context` the .spatch lines that both sides have.
    """

    text: str
    written: str
    nodes: list[Node]
    numbers: tuple[int, ...]
    context: frozenset[int]
    lines: Lines
    layout: SideLayout

    def walk(self) -> Iterator[Node]:
        """Every node of the side."""
        for node in self.nodes:
            yield from node.walk()

    def placeholders(self, role: str) -> list[Node]:
        """The placeholders of one role: `meta`, `option` or `run`."""
        return [node for node in self.walk() if node.role == role]

    def number(self, node: Node) -> int:
        """The .spatch line on which a node begins."""
        return self.numbers[self.lines.number(node.start) - 1]

    def last_line(self, node: Node) -> int:
        """The line of the side's text (1-based) on which a node ends."""
        return self.lines.number(max(node.begin, node.end - 1))

    def kept_line(self, node: Node) -> int:
        """The .spatch line of a node that is on context lines only, else 0.

        Of a statement or clause, the line counts on which it begins.
        """
        first = last = self.lines.number(node.start)
        if not node.has_lines:
            last = self.lines.number(max(node.start, node.end - 1))
        lines = self.numbers[first - 1 : last]
        return lines[0] if self.context.issuperset(lines) else 0

    def context_lines(self, node: Node) -> set[int]:
        """The context lines (of the .spatch) of a statement or clause, and of those inside it."""
        lines: set[int] = set()
        if node.role or not node.has_lines:
            return lines
        for part in node.walk():
            if not part.has_lines:
                continue
            header_end = max((child.outer_end for child in part.header()), default=part.start + 1)
            first = self.lines.number(part.start)
            last = self.lines.number(header_end - 1)
            lines.update(self.numbers[first - 1 : last])
        return lines & self.context

    def identifiers(self) -> list[frozenset[str]]:
        """For each node of the side, but runs, the identifiers that any match must have."""
        groups: list[frozenset[str]] = []
        for node in self.nodes:
            if node.role == "run":
                continue
            names: set[str] = set()
            for part in node.walk():
                in_placeholder = part.role or (part.parent is not None and part.parent.role)
                if part.kind == "Name" and not in_placeholder:
                    names.add(str(part.fields["value"]))
            groups.append(frozenset(names))
        return groups

    def writes_body(self) -> bool:
        """Whether the side writes the body of a definition.

        Then it has to be searched with the scope `<module>` too.
        """
        for node in self.walk():
            if not node.is_definition:
                continue
            body = node.node("body")
            if body.fields.get("doc") or any(item.role != "run" for item in body.items("body")):
                return True
        return False

    def own_statements(self) -> list[list[Node]] | None:
        """The statements that this side alone has, those that stand together in one list.

        None where the side alone has parts of a statement.
        """
        covered: set[int] = set()  # the rows of such statements, and those without code
        for row, line in enumerate(self.text.split("\n"), 1):
            if line.strip()[:1] in ("", "#"):
                covered.add(row)

        runs: list[list[Node]] = []
        for siblings in self._statement_lists():
            follows_own = False
            for node in siblings:
                rows = range(self.lines.number(node.begin), self.last_line(node) + 1)
                if covered.issuperset(rows):
                    continue  # inside another one
                is_own = self.context.isdisjoint(self.numbers[rows[0] - 1 : rows[-1]])
                if is_own and follows_own:
                    runs[-1].append(node)
                elif is_own:
                    runs.append([node])
                if is_own:
                    covered.update(rows)
                follows_own = is_own

        for row, number in enumerate(self.numbers, 1):
            if number not in self.context and row not in covered:
                return None
        return runs

    def _statement_lists(self) -> list[list[Node]]:
        """The lists of statements of the side, the outermost first."""
        bodies = [node.items("body") for node in self.walk() if node.kind == "Block"]
        return [self.nodes, *bodies]

    def blank_between(self, above: Node, below: Node) -> bool:
        """Whether a blank context line is between two neighbouring nodes."""
        top = self.lines.number(max(above.start, above.end - 1))
        bottom = self.lines.number(below.start) - 1
        blank = (row for row in range(top, bottom) if not self.lines.row(row).strip())
        return any(self.numbers[row] in self.context for row in blank)


class Upstream(Record):
    """How the change is looked for in upstream's code.

    `scope` is that of the after side, which differs where the hunk renames its own definition;
    `is_proof` is whether a match of the after side shows that upstream made the change (rule 22).
    """

    scope: str
    is_proof: bool


class Hunk(Record):
    """A hunk ready to be matched. `further_forms` are tried where it is not found."""

    text: HunkText
    form: HunkForm
    before: Side
    after: Side
    upstream: Upstream
    options: Mapping[str, OptionValue]
    further_forms: tuple[Hunk, ...] = ()

    @property
    def forms(self) -> tuple[Hunk, ...]:
        """The forms of the hunk, in the order in which they are tried."""
        return (self, *self.further_forms)
