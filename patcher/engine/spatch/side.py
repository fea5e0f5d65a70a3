"""A hunk that was read: its two sides as trees, with the .spatch line number of each line."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from patcher.engine.lex import Lines
from patcher.engine.node import Node
from patcher.model import HunkText, OptionValue


class Side(NamedTuple):
    """One side of a hunk.

    `written` is its code as written in the hunk, without the common indentation, `text` the same as Python of the same length;
    `nodes` are its statements, clauses, or the one expression; `numbers` the .spatch line of each line of `text`; `context`
    the .spatch lines that both sides have; `strings` the offsets of line starts inside strings; `indent` the indentation of
    its statements; `bodies` the offset of each `...` that was added as the body of a header.
    """

    text: str
    written: str
    nodes: list[Node]
    numbers: tuple[int, ...]
    context: frozenset[int]
    lines: Lines
    strings: frozenset[int]
    indent: str
    bodies: frozenset[int]

    def placeholders(self, role: str) -> list[Node]:
        """The placeholders of one role: `meta`, `option` or `run`."""
        return [node for top in self.nodes for node in top.walk() if node.role == role]

    def number(self, node: Node) -> int:
        """The .spatch line on which a node begins."""
        return self.numbers[self.lines.number(node.start) - 1]

    def kept_line(self, node: Node) -> int:
        """The .spatch line of a node that is on context lines only (a statement or clause: that begins on one), else 0."""
        top, bottom = (
            self.lines.number(node.start),
            self.lines.number(max(node.start, node.end - 1)),
        )
        bottom = top if node.has_lines else bottom
        lines = self.numbers[top - 1 : bottom]
        return lines[0] if self.context.issuperset(lines) else 0

    def context_lines(self, node: Node) -> set[int]:
        """The .spatch lines of a statement or clause, and of those inside it, that are context lines."""
        lines: set[int] = set()
        for part in node.walk() if node.has_lines and not node.role else ():
            if part.has_lines:
                end = max((child.outer_end for child in part.header()), default=part.start + 1)
                lines.update(
                    self.numbers[self.lines.number(part.start) - 1 : self.lines.number(end - 1)]
                )
        return lines & self.context

    def identifiers(self) -> list[frozenset[str]]:
        """For each node of the side, but runs, the identifiers that any code it matches must have."""
        groups: list[frozenset[str]] = []
        for node in self.nodes:
            if node.role != "run":
                names = (part for part in node.walk() if part.kind == "Name")
                written = (
                    name
                    for name in names
                    if not (name.role or (name.parent is not None and name.parent.role))
                )
                groups.append(frozenset(str(name.fields["value"]) for name in written))
        return groups

    def writes_body(self) -> bool:
        """Whether the side writes the body of a definition, so that it has to be searched with the scope `<module>` too."""
        for top in self.nodes:
            for node in top.walk():
                if node.is_definition:
                    block = node.node("body")
                    if block.fields.get("doc") or any(
                        item.role != "run" for item in block.items("body")
                    ):
                        return True
        return False

    def own_statements(self) -> list[list[Node]] | None:
        """The statements that this side alone has, those that stand together in one list; None where it has parts of some."""
        runs: list[list[Node]] = []
        side_rows: set[int] = set()  # their rows, and those without code
        side_rows.update(
            row
            for row, line in enumerate(self.text.split("\n"), 1)
            if line.strip()[:1] in ("", "#")
        )
        bodies = [
            node.items("body") for top in self.nodes for node in top.walk() if node.kind == "Block"
        ]
        for siblings in (self.nodes, *bodies):
            together = False
            for node in siblings:
                rows = range(
                    self.lines.number(node.begin),
                    self.lines.number(max(node.begin, node.end - 1)) + 1,
                )
                if side_rows.issuperset(rows):
                    continue  # inside another one
                alone = self.context.isdisjoint(self.numbers[rows[0] - 1 : rows[-1]])
                if alone:
                    runs[-1:] = [[*runs[-1], node]] if together else [*runs[-1:], [node]]
                    side_rows.update(rows)
                together = alone
        parts = (
            row
            for row, number in enumerate(self.numbers, 1)
            if number not in self.context and row not in side_rows
        )
        return None if any(parts) else runs

    def blank_between(self, above: Node, below: Node) -> bool:
        """Whether a blank context line is between two neighbouring nodes."""
        top = self.lines.number(max(above.start, above.end - 1))
        bottom = self.lines.number(below.start) - 1
        return any(
            not self.lines.row(row).strip() and self.numbers[row] in self.context
            for row in range(top, bottom)
        )


class Hunk(NamedTuple):
    """A hunk ready to be matched. `form` is `expression`, `statements` or `clauses`.

    `proves_upstream` is whether a match of the after side shows that upstream made the change (rule 21); `after_scope` is the
    scope of the result, which differs where the hunk renames its own definition. `others` are its further forms.
    """

    text: HunkText
    form: str
    before: Side
    after: Side
    proves_upstream: bool
    after_scope: str
    options: Mapping[str, OptionValue]
    others: tuple[Hunk, ...] = ()

    @property
    def forms(self) -> tuple[Hunk, ...]:
        """The forms of the hunk, in the order in which they are tried."""
        return (self, *self.others)
