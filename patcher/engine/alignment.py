"""Aligns a pattern with code that it does not match: by the matcher's rules, at a cost where the two differ.

Used only to explain why a hunk was not found: what matches is decided by `patcher.engine.match` alone.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import product
from math import inf
from typing import Iterator, NamedTuple, Optional, Sequence, Tuple

from patcher.engine.match import Matcher, TooManySteps
from patcher.engine.node import STATEMENTS, Node

MAX_COMPARED = 60_000  # pairs of nodes that are compared, over all candidates of one hunk: some tenths of a second
SIMILAR = 0.6  # of two names, as difflib counts it; below it they are two different words
LEAVES = frozenset(["Name", "String", "Integer", "Float", "Imaginary", "Operator", "FText"])
_LEAF, _OWN, _PLACEHOLDER, _EXTRA, _SHARED, _INSIDE, _WORDS = 2.0, 0.5, 0.25, 0.5, 0.85, 0.85, 0.5
_SLIGHT = 0.01
_SHOWN = 0.6  # of the weight, so that a part of the code is named as what the pattern has
_ALIKE = 0.4  # of its weight, so that a statement or keyword is taken for one that was changed
_LEAST = {"DoubleStar": 0.1, **dict.fromkeys(["Keyword", *STATEMENTS], _ALIKE)}

AlignedPair = Tuple[Optional[Node], Optional[Node]]
_NEITHER: AlignedPair = (None, None)


class AlignedPart(NamedTuple):
    """A placeholder with the code in its place, or a difference; a side that has nothing there is None.

    `field` is the field that only one of the two nodes has, `inside` the part of the code that is similar to the pattern; for
    an element that only one list has, `holders` are the nodes with the lists, `above` and `below` the pairs next to it.
    """

    pattern: Node | None
    code: Node | None
    field: str = ""
    inside: Node | None = None
    holders: AlignedPair = _NEITHER
    above: AlignedPair = _NEITHER
    below: AlignedPair = _NEITHER


class Aligned:
    """The cost of aligning a pattern with code, 0 where it matches, and the parts that differ."""

    def __init__(self, pattern: Node, code: Node, cost: float = 0.0, *parts: AlignedPart) -> None:
        self.holders: AlignedPair = (pattern, code)
        self.cost = cost
        self.parts = [*parts]


def fits(pattern: Node, code: Node) -> bool:
    """Whether a pattern by itself matches this code; False where the matcher takes too many steps."""
    try:
        return any(True for _ in Matcher().node(pattern, code))
    except TooManySteps:
        return False


def similarity(a: str, b: str) -> float:
    """How similar two words are, from 0 to 1."""
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


class Aligner(Matcher):
    """A matcher that goes on where pattern and code differ, at the least cost; every pair of nodes is aligned once."""

    exact = False

    def __init__(self) -> None:
        super().__init__()
        self._limit = MAX_COMPARED
        self._known: dict[tuple[int, int], Aligned] = {}
        self._weights: dict[int, float] = {}
        self._words: dict[int, frozenset[str]] = {}
        self._stack: list[
            Aligned
        ] = []  # the nodes whose fields are being looked at, the innermost last

    def aligned(self, pattern: Node, code: Node) -> Aligned:
        """Align `pattern` with `code`.

        Raises:
            TooManySteps: more than `MAX_COMPARED` pairs of nodes were compared.
        """
        key = (id(pattern), id(code))
        if key not in self._known:
            self._step()
            alignment = self._aligned(pattern, code)
            alignment.cost = min(alignment.cost, self.weight(pattern))
            if not alignment.cost and not pattern.role and not fits(pattern, code):
                alignment.cost = _SLIGHT
            self._known[key] = alignment
        return self._known[key]

    def weight(self, pattern: Node) -> float:
        """The cost of a pattern where none of it is there. Names and literals count most, placeholders least."""
        if id(pattern) not in self._weights:
            inner = 0.0 if pattern.role else sum(map(self.weight, pattern.children()))
            top = (
                0.0
                if pattern.role == "run"
                else _PLACEHOLDER
                if pattern.role
                else _LEAF
                if pattern.kind in LEAVES
                else _OWN
            )
            self._weights[id(pattern)] = top + inner
        return self._weights[id(pattern)]

    def _aligned(self, pattern: Node, code: Node) -> Aligned:
        weight, part = self.weight(pattern), AlignedPart(pattern, code)
        if pattern.role:
            return Aligned(pattern, code, 0.0 if fits(pattern, code) else weight, part)
        if pattern.kind == code.kind:
            alignment = self._fields_of(pattern, code, [*pattern.fields])
        else:
            alignment = Aligned(pattern, code, weight - self._in_common(pattern, code), part)
        inside = self._inside(pattern, code)
        if inside is not None:
            score = _INSIDE * (weight - self.aligned(pattern, inside).cost)
            if pattern.kind != code.kind or weight - score < alignment.cost:
                part = part._replace(inside=inside if score >= _SHOWN * weight else None)
                return Aligned(pattern, code, min(alignment.cost, weight - score), part)
        return alignment

    def _fields_of(self, pattern: Node, code: Node, fields: list[str]) -> Aligned:
        self._stack.append(Aligned(pattern, code))
        for _ in self._fields(pattern, code, fields):
            pass
        return self._stack.pop()

    def _in_common(self, pattern: Node, code: Node) -> float:
        """How much two kinds of syntax share: fields (`x = f(a)`, `return f(a)`), or words (`a.b`, `a["b"]`)."""
        apart = {pattern.kind, code.kind} & LEAVES or pattern.is_expression != code.is_expression
        if apart or pattern.is_definition:
            return 0.0
        fields = [key for key in pattern.fields if key in code.fields]
        parts = sum(self.weight(child) for child in pattern.children() if child.field() in fields)
        shared = _SHARED * (parts - self._fields_of(pattern, code, fields).cost)
        if not pattern.is_expression:
            return shared
        ours, theirs = self._words_of(pattern), self._words_of(code)
        return max(
            shared, _WORDS * self.weight(pattern) * len(ours & theirs) / max(1, len(ours | theirs))
        )

    def _words_of(self, node: Node) -> frozenset[str]:
        if id(node) not in self._words:
            inner = (self._words_of(child) for child in node.children())
            words = {str(node.fields["value"])} if node.kind in LEAVES and not node.role else set()
            self._words[id(node)] = frozenset(words.union(*inner))
        return self._words[id(node)]

    def _inside(self, pattern: Node, code: Node) -> Node | None:
        """The part of an expression that is most similar to the pattern: `f(a)` in `await f(a)`."""
        inner = [child for child in code.children() if child.kind == pattern.kind]
        inner += [part.node("value") for part in code.children() if part.kind == "Keyword"]
        return min(inner, key=lambda part: self.aligned(pattern, part).cost, default=None)

    # where the matcher would stop -------------------------------------------------------------------------------------
    def node(self, pattern: Node, node: Node) -> Iterator[None]:
        """Add what two nodes cost; yields once."""
        alignment = self.aligned(pattern, node)
        self._add(alignment.cost, alignment.parts)
        yield

    def sequence(
        self, patterns: Sequence[Node], nodes: Sequence[Node], start: int = 0, to_end: bool = True
    ) -> Iterator[int]:
        """Add what two lists cost; yields once."""
        cost, pairs = self.pairs(patterns, nodes)
        self._add(cost, self.parts(pairs, self._stack[-1].holders))
        yield len(nodes)

    def _arguments(self, patterns: list[Node], nodes: list[Node]) -> Iterator[None]:
        parts = self._stack[-1].parts
        start = len(parts)
        for _ in super()._arguments(patterns, nodes):
            parts[start:] = sorted(
                parts[start:],
                key=lambda part: part.pattern.start if part.pattern is not None else inf,
            )
            yield

    def _keywords(self, patterns: list[Node], nodes: list[Node]) -> Iterator[list[Node]]:
        return ([] for _ in self.sequence(patterns, nodes))

    def _mismatch(self, pattern: Node, node: Node, key: str) -> Iterator[None]:
        expected = pattern.fields[key]
        if pattern.kind in LEAVES:
            alike = similarity(str(expected), str(node.fields[key]))
            self._add(
                _LEAF * (1 - 0.8 * alike) if alike >= SIMILAR else _LEAF,
                [AlignedPart(pattern, node)],
            )
        else:
            self._add(
                self.weight(expected) if isinstance(expected, Node) else _EXTRA,
                [AlignedPart(pattern, node, key)],
            )
        yield

    def _add(self, cost: float, parts: Sequence[AlignedPart]) -> None:
        self._stack[-1].cost += cost
        self._stack[-1].parts += parts

    # lists ------------------------------------------------------------------------------------------------------------
    def pairs(
        self, patterns: Sequence[Node], codes: Sequence[Node]
    ) -> tuple[float, list[AlignedPair]]:
        """The pairs, in order, that cost least, and their cost (dynamic programming, as for an edit distance)."""
        m, n = len(patterns), len(codes)
        weights = [*map(self.weight, patterns)]
        runs = [*(pattern.role == "run" for pattern in patterns), False]
        best: dict[
            tuple[int, int], tuple[float, int, int]
        ] = {}  # minus the cost from a place on, and the next place
        for i, j in product(range(m, -1, -1), range(n, -1, -1)):
            moves: list[tuple[float, int, int]] = []
            if j < n:
                moves.append((best[i, j + 1][0] - (0.0 if runs[i] else _EXTRA), i, j + 1))
            if i < m:
                moves.append((best[i + 1, j][0] - weights[i], i + 1, j))
            if i < m and j < n and not runs[i]:
                cost = self.aligned(patterns[i], codes[j]).cost
                if cost <= weights[i] * (1 - _LEAST.get(patterns[i].kind, 0.0)):
                    moves.append((best[i + 1, j + 1][0] - cost, i + 1, j + 1))
            # of equal costs: changed, rather than deleted and inserted
            best[i, j] = max(moves, default=(0.0, m, n))
        pairs: list[AlignedPair] = []
        i = j = 0
        while (i, j) != (m, n):
            _, i_next, j_next = best[i, j]
            if not runs[i]:
                pairs.append(
                    (patterns[i] if i_next > i else None, codes[j] if j_next > j else None)
                )
            i, j = i_next, j_next
        return -best[0, 0][0], pairs

    def parts(self, pairs: Sequence[AlignedPair], holders: AlignedPair) -> list[AlignedPart]:
        """The parts of two aligned lists, which belong to the nodes `holders`."""
        parts: list[AlignedPart] = []
        above = _NEITHER
        for index, (ours, theirs) in enumerate(pairs):
            if ours is not None and theirs is not None:
                parts += self.aligned(ours, theirs).parts
                above = (ours, theirs)
            else:
                sides = [*zip(*pairs[index:])]
                below = [next((node for node in side if node is not None), None) for side in sides]
                parts.append(
                    AlignedPart(
                        ours, theirs, holders=holders, above=above, below=(below[0], below[1])
                    )
                )
        return parts
