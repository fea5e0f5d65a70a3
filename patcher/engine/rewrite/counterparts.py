"""Finds the node of the before side that a node of the after side repeats, and whose code is kept there (format rule 11)."""

from __future__ import annotations

from typing import Container, Dict, List, Optional, Sequence

from patcher.engine.node import Node, same


class Counterparts:
    """The nodes of the before side, indexed by their syntax: a literal of hundreds of entries is not searched for each."""

    def __init__(self, before: Sequence[Node]) -> None:
        self._hashes: Dict[Node, int] = {}
        self._alike: Dict[int, List[Node]] = {}
        self._runs: Dict[str, Node] = {}
        for top in before:
            for node in top.walk():
                if node.role == "run":
                    self._runs.setdefault(node.name, node)
                else:
                    self._alike.setdefault(self._hash(node), []).append(node)

    def run(self, name: str) -> Optional[Node]:
        """The `...` with this name."""
        return self._runs.get(name)

    def of(self, node: Node, matched: Container[int], kept: Container[int]) -> Optional[Node]:
        """A before node of the same syntax as `node`: the first that is not `kept` (by id) yet, else the first; None for none.

        Only nodes that matched code of the file, `matched` (by id), count.
        """
        first: Optional[Node] = None
        for counterpart in self._alike.get(self._hash(node), ()):
            if first is not None and id(counterpart) in kept:
                continue
            if id(counterpart) in matched and same(counterpart, node):
                first = first or counterpart
                if id(counterpart) not in kept:
                    return counterpart
        return first

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
