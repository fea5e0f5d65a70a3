"""Keeps a pattern with several `...` from taking exponential time: no state that failed before is tried again."""

from __future__ import annotations

from typing import Callable, Dict, FrozenSet, Iterator, List, Mapping, Sequence, Tuple

from patcher.engine.node import Node

Steps = Callable[[int, int], Iterator[Tuple[int, int]]]


class FailureMemo:
    """The states (rest of the pattern, rest of the code, bindings) from which the end of a list cannot be reached.

    With it several `...` cost the length of the pattern times that of the code, not a power of the code's length. Only a
    metavariable that is read again after a `...` multiplies that, by the number of its possible bindings.

    Args:
        names: what each metavariable is bound to, kept up to date by the matcher.
    """

    def __init__(self, names: Mapping[str, Node]) -> None:
        self._names = names
        self._found: Dict[Tuple[object, ...], int] = {}  # how many nodes were left
        self._reads: Dict[Tuple[Node, int], FrozenSet[str]] = {}

    def ends(self, patterns: Sequence[Node], nodes: Sequence[Node], start: int, steps: Steps, to_end: bool) -> Iterator[int]:
        """Match a list of patterns to `nodes[start:]`; yields the index past the last node used, once for each match.

        The stack is explicit: a literal of some hundred entries would exceed Python's recursion limit.

        Args:
            patterns: a list of patterns.
            nodes: a list of nodes.
            start: the index of the first one to use.
            steps: matches one pattern, given the indexes of it and of a node; yields those of what is to be matched next.
            to_end: whether no node may be left over at the end.
        """
        ends = 0
        stack: List[Tuple[Iterator[Tuple[int, int]], int, Tuple[object, ...], int]] = [(iter([(0, start)]), 0, (), 0)]
        while stack:
            following, left, state, before = stack[-1]
            i, j = next(following, (-1, -1))
            if i < 0:
                stack.pop()
                if left and ends == before:
                    self._found[state] = left
            elif i < len(patterns):
                left = len(nodes) - j
                state = self._state(patterns, i, nodes, j) if left else ()
                if not left or left > self._found.get(state, 0):
                    stack.append((steps(i, j), left, state, ends))
            elif j == len(nodes) or not to_end:
                ends += 1
                yield j

    def _state(self, patterns: Sequence[Node], i: int, nodes: Sequence[Node], j: int) -> Tuple[object, ...]:
        """What the further search depends on: the rest of the pattern, that of the code, the bindings that are read again."""
        remainder = patterns[i], len(patterns) - i
        if remainder not in self._reads:
            read: FrozenSet[str] = frozenset()
            for length, pattern in enumerate(reversed(patterns), 1):
                read |= {node.name for node in pattern.walk() if node.role == "meta"}
                self._reads[pattern, length] = read
        bound = (item for item in self._names.items() if item[0] in self._reads[remainder])
        # A run that fails here fails from any later node too: only the end of the list counts for it.
        place = (nodes[-1],) if patterns[i].role == "run" else (nodes[j], len(nodes) - j)
        return (*remainder, *place, *bound)
