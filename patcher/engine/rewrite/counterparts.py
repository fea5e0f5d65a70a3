"""Finds the node of the before side that a node of the after side repeats, and whose code is kept there (format rule 11)."""

from __future__ import annotations

from typing import Container, Dict, List, Optional, Set

from patcher.engine.node import WITH_LINES, Node, same
from patcher.engine.spatch.side import Side


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
        alike = [each for each in self._alike.get(self._hash(node), ()) if id(each) in self._matched]
        if node.kind in WITH_LINES:
            lines = self._after.context_lines(node)
            alike = [each for each in alike if each not in self._taken and each not in self._changed]
            alike = [each for each in alike if self._before.context_lines(each) == lines]
        free = (each for each in alike if id(each) not in self._kept and same(each, node))
        found = next(free, None) or next((each for each in alike if same(each, node)), None)
        if found is not None and node.kind in WITH_LINES:
            self._moved[node] = found
            self._taken.update(found.walk())
        return found

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
