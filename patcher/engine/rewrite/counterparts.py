"""Finds what a part of the after side repeats of the before side, and whose code or comment is kept there (format rule 11)."""

from __future__ import annotations

from typing import Container, Dict, Iterator, List, Optional, Set

from patcher.engine.layout import code_end
from patcher.engine.lex import Lines
from patcher.engine.match import Match
from patcher.engine.node import Node, same
from patcher.engine.source import Edit
from patcher.engine.spatch.side import Hunk, Side


class Counterparts:
    """The nodes of the before side, indexed by their syntax: a literal of hundreds of entries is not searched for each.

    Args:
        before: the side with these nodes.
        after: the other side.
        matched: ids of the before nodes that matched code of the file; only these count.
        kept: ids of the before nodes whose code is kept so far.
        changed: the before nodes with lines of their own that are changed in place.
    """

    def __init__(
        self, before: Side, after: Side, matched: Container[int], kept: Container[int], changed: Container[Node]
    ) -> None:
        self._before, self._after = before, after
        self._matched, self._kept, self._changed = matched, kept, changed
        self._hashes: Dict[Node, int] = {}
        self._alike: Dict[int, List[Node]] = {}
        self._runs: Dict[str, Node] = {}
        self._moved: Dict[Node, Node] = {}  # the statement that each statement of the after side repeats
        self._taken: Set[Node] = set()  # these, with all that is in them
        for top in before.nodes:
            for node in top.walk():
                if node.role == "run":
                    self._runs.setdefault(node.name, node)
                else:
                    self._alike.setdefault(self._hash(node), []).append(node)

    def run(self, name: str) -> Optional[Node]:
        """The `...` with this name."""
        return self._runs.get(name)

    def of(self, node: Node) -> Optional[Node]:
        """A before node of the same syntax: the first that is not kept yet, else the first; None for none.

        A statement or clause is moved, with its comments, and not copied: its counterpart has the same context lines, and is
        neither a part of another's nor changed in place.
        """
        if node in self._moved:
            return self._moved[node]
        alike = [candidate for candidate in self._alike.get(self._hash(node), ()) if id(candidate) in self._matched]
        if node.has_lines:
            lines = self._after.context_lines(node)
            alike = [candidate for candidate in alike if candidate not in self._taken and candidate not in self._changed]
            alike = [candidate for candidate in alike if self._before.context_lines(candidate) == lines]
        free = (candidate for candidate in alike if id(candidate) not in self._kept and same(candidate, node))
        counterpart = next(free, None) or next((candidate for candidate in alike if same(candidate, node)), None)
        if counterpart is not None and node.has_lines:
            self._moved[node] = counterpart
            self._taken.update(counterpart.walk())
        return counterpart

    def _hash(self, node: Node) -> int:
        """A number that is the same for nodes that are the same by `same`."""
        if node not in self._hashes:
            parts: List[object] = []
            for value in node.fields.values():
                if isinstance(value, list):  # keyword arguments in any order; an empty list is the same as none
                    parts.append(sum(map(self._hash, value)) if value else None)
                else:
                    parts.append(self._hash(value) if isinstance(value, Node) else value or None)
            self._hashes[node] = hash((node.kind, node.role, node.name if node.role else "", *([] if node.role else parts)))
        return self._hashes[node]


class LineComments:
    """The comments in the file behind the context lines of a hunk: each goes with the statement or header that ends there."""

    def __init__(self, file: Lines, hunk: Hunk, match: Match) -> None:
        self._file, self._hunk, self._match = file, hunk, match
        self._before, self._after = ({_line(side, node): node for node in _lined(side)} for side in (hunk.before, hunk.after))

    def of(self, node: Node) -> Optional[str]:
        """The comment of a node of the after side, "" for none; None where it ends on no context line."""
        source = self._before.get(_line(self._hunk.after, node))
        code = self._match.nodes.get(id(source))
        if not isinstance(code, Node):
            return None
        at = code_end(code, self._file.text)
        tail = self._file.text[at : self._file.end(at - 1)].strip()
        return tail if tail.startswith("#") else ""

    def edits(self, node: Node) -> List[Edit]:
        """What writes that comment behind a node of the after side."""
        comment, side = self.of(node), self._hunk.after
        at = code_end(node, side.text)
        tail = side.text[at : side.lines.end(at - 1)].rstrip("\n")
        if comment is None or (tail.lstrip()[:1] not in ("", "#") and not (comment and at + 1 in side.bodies)):
            return []
        return [Edit(at, at if at + 1 in side.bodies else at + len(tail), comment and "  " + comment)]

    def instead(self, old: Node, new: Node) -> Optional[str]:
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
