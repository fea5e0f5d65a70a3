"""What keeps a pattern with several `...` from exploding: where a list could not be matched to its end is not tried twice."""

from __future__ import annotations

from typing import Dict, FrozenSet, Iterator, Mapping, Sequence, Tuple, TypeVar

from patcher.semantic.node import Node

T = TypeVar("T")


class DeadEnds:
    """The states (rest of the pattern, rest of the code, what is bound) from which no way leads to the end of a list.

    With them several `...` cost a table of pattern and code, not a power of the code's length. Only a metavariable that is
    read again after a `...` multiplies it, by what it can stand for.
    """

    def __init__(self) -> None:
        self._found: Dict[Tuple[object, ...], int] = {}  # how many nodes were left
        self._reads: Dict[Tuple[Node, int], FrozenSet[str]] = {}

    def without(
        self, patterns: Sequence[Node], i: int, nodes: Sequence[Node], j: int, names: Mapping[str, Node], ways: Iterator[T]
    ) -> Iterator[T]:
        """`ways` to match `patterns[i:]` (not empty) against `nodes[j:]`; none, and not tried, where there were none before.

        Args:
            patterns: a list of patterns.
            i: where its rest begins.
            nodes: a list of nodes.
            j: where its rest begins.
            names: what each metavariable is bound to now.
            ways: the ways, looked for as they are asked for.
        """
        left = len(nodes) - j
        if not left:
            yield from ways
            return
        rest = patterns[i], len(patterns) - i
        # A run that leads nowhere leads nowhere from any later node either: only the end of the list counts for it.
        place = (nodes[-1],) if patterns[i].role == "run" else (nodes[j], left)
        key = (*rest, *place, *self._bound(patterns, i, names))
        if left <= self._found.get(key, 0):
            return
        alive = False
        for way in ways:
            alive = True
            yield way
        if not alive:
            self._found[key] = left

    def _bound(self, patterns: Sequence[Node], i: int, names: Mapping[str, Node]) -> Tuple[Tuple[str, Node], ...]:
        """The bindings that the rest of a pattern reads."""
        rest = patterns[i], len(patterns) - i
        if rest not in self._reads:
            reads = (node.name for pattern in patterns[i:] for node in pattern.walk() if node.role == "meta")
            self._reads[rest] = frozenset(reads)
        return tuple(item for item in names.items() if item[0] in self._reads[rest])
