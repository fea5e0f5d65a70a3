"""What a rewrite of one place works with: the file, the hunk, the way it matched, and the edits collected so far."""

from __future__ import annotations

from typing import List, Optional

from patcher.engine.edit import Edit, Removed
from patcher.engine.match.match import Way
from patcher.engine.node import Node
from patcher.engine.rewrite.render import Renderer
from patcher.engine.source import Source
from patcher.engine.spatch.pattern import Hunk


class Whole(Exception):
    """A difference that only replacing the whole node can make."""


class Edits:
    """The edits of one place. `gone` are the before nodes that go away, to be checked at the end (rule 12)."""

    def __init__(self, source: Source, hunk: Hunk, way: Way) -> None:
        self.source, self.hunk, self.way = source, hunk, way
        self.text, self.lines = source.text, source.lines
        self.render = Renderer(source, hunk, way)
        self.made: List[Edit] = []
        self.gone: List[Node] = []

    def add(self, start: int, end: int, text: str, removed: Optional[Removed] = None) -> None:
        """Replace the characters `[start, end)` of the file."""
        self.made.append(Edit(start, end, text, removed))

    def code(self, pattern: Node) -> Node:
        """The code that a node of the before side stands on."""
        found = self.way.nodes[id(pattern)]
        assert isinstance(found, Node)
        return found

    def codes(self, pattern: Node) -> List[Node]:
        """The same as a list: of a run all that it covers."""
        found = self.way.nodes[id(pattern)]
        return found if isinstance(found, list) else [found]
