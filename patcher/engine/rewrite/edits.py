"""The state of a rewrite of one place: the file, the hunk, its match, the edits so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Sequence

from patcher.engine.layout import alone_on_lines
from patcher.engine.match import Match
from patcher.engine.node import Node
from patcher.engine.rewrite.render import Renderer
from patcher.engine.source import Conflict, Edit, Removed, Source
from patcher.engine.spatch.side import Hunk
from patcher.message import Message


class ReplaceWhole(Exception):
    """The difference cannot be made by edits inside the node: the whole node has to be replaced."""


class Edits(ABC):
    """The edits of one place, in `made`.

    `deleted` are the before nodes whose code is removed, to be checked at the end (rule 12).
    """

    def __init__(self, source: Source, hunk: Hunk, match: Match) -> None:
        self.source = source
        self.hunk = hunk
        self.match = match
        self.text = source.text
        self.lines = source.lines.broken_as(match.start)
        self.render = Renderer(self.lines, source.indent, hunk=hunk, match=match)
        self.made: list[Edit] = []
        self.deleted: list[Node] = []

    @abstractmethod
    def change(self, before: Node, after: Node) -> None:
        """Edit the code of a before node so that it becomes the after node.

        Raises:
            Conflict: the change cannot be made safely.
        """

    def add(
        self,
        start: int,
        end: int,
        code: str,
        removed: Removed | None = None,
    ) -> None:
        """Replace the characters `[start, end)` of the file."""
        self.made.append(Edit(start, end, text=code, removed=removed))

    def insert(self, at: int, code: str) -> None:
        """Insert text at an offset of the file."""
        self.add(at, at, code)

    def code(self, pattern: Node) -> Node:
        """The code that a node of the before side matched."""
        node = self.match.nodes[id(pattern)]
        assert isinstance(node, Node)
        return node

    def codes(self, pattern: Node) -> list[Node]:
        """The code that a node of the before side matched, as a list: of a run all of it."""
        nodes = self.match.nodes[id(pattern)]
        return nodes if isinstance(nodes, list) else [nodes]

    def codes_of(self, patterns: Sequence[Node]) -> list[Node]:
        """The code that several nodes of the before side matched."""
        codes: list[Node] = []
        for pattern in patterns:
            codes += self.codes(pattern)

        return codes

    def indent(self, code: Node) -> str:
        """The indentation of the line on which a statement of the file begins."""
        return self.lines.indent(code.begin)

    def shares_line(self, code: Node, block: Node | None) -> bool:
        """Whether a statement is in a one-line suite or on a line with `;`."""
        is_inline = block is not None and block.name == "inline"
        return is_inline or not alone_on_lines(self.lines, code.begin, end=code.end)

    def check_own_lines(self, code: Node, parent: Node | None) -> None:
        """Refuse to insert or delete a statement beside other code on its line (rule 15).

        Raises:
            Conflict: see above.
        """
        is_in_block = parent is not None and parent.kind == "Block"
        if self.shares_line(code, parent if is_in_block else code.parent):
            message = Message(
                "the statement in line {line} shares its line with other code (a one-line suite or "
                "`;`), where none is inserted or removed: insert above or below that line, or "
                "change what is inside",
                line=self.lines.number(code.start),
            )
            raise Conflict(message)
