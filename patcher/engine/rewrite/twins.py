"""Which node of the before side is said again by a node of the after side, so that its code stands there (format rule 11)."""

from __future__ import annotations

from typing import Container, Dict, List, Optional, Sequence

from patcher.engine.node import Node, same


class Twins:
    """The nodes of the before side, found by what they say: a literal of hundreds of entries is not searched for each."""

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
        """A node that says the same as `node`, the first that is not `kept` (by id) already.

        Only those that stand on one node of the file, `matched` (by id), are looked at.
        """
        first: Optional[Node] = None
        for twin in self._alike.get(self._hash(node), ()):
            if first is not None and id(twin) in kept:
                continue
            if id(twin) in matched and same(twin, node):
                first = first or twin
                if id(twin) not in kept:
                    return twin
        return first

    def _hash(self, node: Node) -> int:
        """A number that is the same for nodes that are the same by `same`."""
        if node not in self._hashes:
            said: List[object] = []
            for value in node.fields.values():
                if isinstance(value, list):  # keyword arguments in any order; an empty list is as good as none
                    said.append(sum(map(self._hash, value)) if value else None)
                else:
                    said.append(self._hash(value) if isinstance(value, Node) else value or None)
            self._hashes[node] = hash((node.kind, node.role, node.name if node.role else "", *([] if node.role else said)))
        return self._hashes[node]
