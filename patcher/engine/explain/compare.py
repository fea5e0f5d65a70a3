"""How much of a pattern a piece of code has, and where the two differ first: the matcher's rules (6 to 10), taken loosely.

Only for telling a person why a hunk was not found: what matches is decided by `patcher.engine.match.match` alone.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

from patcher.engine.match.match import Matcher, TooManySteps
from patcher.engine.node import NOT_EXPRESSIONS, Node

MAX_STEPS = 60_000  # pairs of nodes held against each other, over all candidates of one hunk: some tenths of a second
SIMILAR = 0.6  # of two names, as difflib counts it; below it they are two different words
FREE = frozenset(["returns", "annotation", "type_parameters", "doc"])  # rule 10: not looked at unless written
LEAVES = frozenset(["Name", "String", "Integer", "Float", "Imaginary", "Operator", "FText"])
_SUBSEQUENCE = frozenset(["decorators", "clauses"])
_LEAF, _OWN, _PLACEHOLDER, _EXTRA, _SHARED, _WRAPPED, _WORDS = 2.0, 0.5, 0.25, 0.5, 0.85, 0.85, 0.5
_SLIGHT = 0.01
ALIKE = 0.4  # of its weight, so that two statements are taken for one that was changed

Pair = Tuple[Optional[Node], Optional[Node]]


class TooMuch(Exception):
    """More pairs than `MAX_STEPS`: what was found so far has to do."""


class Aligned(NamedTuple):
    """Two lists laid over each other: their score, and pairs in order; a side that has nothing there is None."""

    score: float
    pairs: List[Pair]


def weight(pattern: Node) -> float:
    """What a complete match of a pattern scores. Names and literals count most, placeholders hardly."""
    if pattern.role == "run":
        return 0.0
    if pattern.role:
        return _PLACEHOLDER
    return _LEAF if pattern.kind in LEAVES else _OWN + sum(weight(child) for child in pattern.children())


def is_expression(node: Node) -> bool:
    """Whether a placeholder can stand for a node of code."""
    return node.kind not in NOT_EXPRESSIONS


def fits(pattern: Node, code: Node) -> bool:
    """Whether the matcher takes this code for this pattern, looked at alone; not where it takes too many steps to tell."""
    try:
        return any(True for _ in Matcher().node(pattern, code))
    except TooManySteps:
        return False


def similarity(a: str, b: str) -> float:
    """How alike two words are, from 0 to 1."""
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


class Comparer:
    """Measures code against patterns; every pair of nodes once."""

    def __init__(self) -> None:
        self.steps = 0
        self._known: Dict[Tuple[int, int], float] = {}
        self._words: Dict[int, FrozenSet[str]] = {}

    def measure(self, pattern: Node, code: Node) -> float:
        """How much of `pattern` stands in `code`: `weight(pattern)` where the matcher takes it, else less.

        Raises:
            TooMuch: the work is no longer worth it.
        """
        key = (id(pattern), id(code))
        if key not in self._known:
            self.steps += 1
            if self.steps > MAX_STEPS:
                raise TooMuch
            score, complete = self._measured(pattern, code), weight(pattern)
            if score >= complete and not pattern.role:
                score = complete if fits(pattern, code) else complete - _SLIGHT
            self._known[key] = score
        return self._known[key]

    def _measured(self, pattern: Node, code: Node) -> float:
        if pattern.role:
            return _PLACEHOLDER if pattern.role != "run" and fits(pattern, code) else 0.0
        if pattern.kind != code.kind:
            return max(self._shared(pattern, code), self.wrapped(pattern, code)[0], self._same_words(pattern, code))
        if pattern.kind in LEAVES:
            ours, theirs = str(pattern.fields["value"]), str(code.fields["value"])
            alike = 1.0 if ours == theirs else 0.8 * similarity(ours, theirs)
            return _LEAF * alike if alike >= 0.8 * SIMILAR else 0.0
        return max(self._fields(pattern, code), self.wrapped(pattern, code)[0])

    def is_wrapped(self, pattern: Node, code: Node) -> bool:
        """Whether a part of the code is more like the pattern than the code itself is: `g(f(a))` for `f(a)`."""
        same_kind = pattern.kind == code.kind and pattern.kind not in LEAVES and not pattern.role
        return same_kind and self.wrapped(pattern, code)[0] > self._fields(pattern, code)

    def _fields(self, pattern: Node, code: Node) -> float:
        return _OWN + sum(self._field(pattern, code, key) for key in pattern.fields)

    def _shared(self, pattern: Node, code: Node) -> float:
        """What two nodes of different kinds have in the same fields: `x = f(a)` and `return f(a)`."""
        unlike = pattern.kind in LEAVES or code.kind in LEAVES or is_expression(pattern) != is_expression(code)
        if unlike or pattern.kind in ("FunctionDef", "ClassDef"):
            return 0.0
        return _SHARED * sum(max(0.0, self._field(pattern, code, key)) for key in pattern.fields if key in code.fields)

    def _same_words(self, pattern: Node, code: Node) -> float:
        """What two expressions of different kinds have of the same names and literals: `a.get("x")` and `a["x"]`."""
        if not is_expression(pattern) or not is_expression(code) or pattern.kind in LEAVES or code.kind in LEAVES:
            return 0.0
        ours, theirs = self._words_of(pattern), self._words_of(code)
        return _WORDS * weight(pattern) * len(ours & theirs) / max(1, len(ours | theirs))

    def _words_of(self, node: Node) -> FrozenSet[str]:
        if id(node) not in self._words:
            inner = (self._words_of(child) for child in node.children())
            own = {str(node.fields["value"])} if node.kind in LEAVES and not node.role else set()
            self._words[id(node)] = frozenset(own.union(*inner))
        return self._words[id(node)]

    def wrapped(self, pattern: Node, code: Node) -> Tuple[float, Optional[Node]]:
        """What the best part of an expression scores: `await f(a)` for the pattern `f(a)`; and that part."""
        if not is_expression(pattern) or not is_expression(code) or code.kind in LEAVES:
            return 0.0, None
        inner = [child for child in code.children() if child.kind == pattern.kind]
        inner += [part.node("value") for part in code.children() if part.kind == "Keyword"]
        best = max(inner, key=lambda part: self.measure(pattern, part), default=None)
        return (_WRAPPED * self.measure(pattern, best), best) if best is not None else (0.0, None)

    def _field(self, pattern: Node, code: Node, key: str) -> float:
        wanted, found = pattern.fields[key], code.fields.get(key)
        if isinstance(wanted, Node):
            return self.measure(wanted, found) if isinstance(found, Node) else 0.0
        if isinstance(wanted, list):
            return self.lists(pattern, code, key).score
        differs = (wanted or None) != (found or None) and not (wanted is None and key in FREE)
        return -_EXTRA if differs else 0.0

    # lists ------------------------------------------------------------------------------------------------------------
    def lists(self, pattern: Node, code: Node, key: str) -> Aligned:
        """Lay a list of a pattern over that of the code."""
        wanted, found = pattern.items(key), code.items(key)
        if key == "args":
            if pattern.kind == "ClassDef" and not wanted:
                return Aligned(0.0, [])
            return self._arguments(wanted, found)
        least = ALIKE if key == "body" else 0.0
        covers = key == "params" and any(node.role == "run" for node in wanted) and _ends_with_keywords(found)
        return self.sequence(wanted, found[:-1] if covers else found, free=key in _SUBSEQUENCE, least=least)

    def sequence(
        self, patterns: Sequence[Node], codes: Sequence[Node], *, free: bool = False, ends: bool = False, least: float = 0.0
    ) -> Aligned:
        """The best way to lay patterns over codes in order (dynamic programming, as for an edit distance).

        Args:
            patterns: a `...` among them covers any codes.
            codes: what is there.
            free: codes that no pattern stands on cost nothing.
            ends: the same for those before the first and after the last pattern.
            least: the part of a pattern's weight that a code must have to be taken for it.
        """
        m, n = len(patterns), len(codes)
        cost = 0.0 if free else _EXTRA
        best = [[0.0] * (n + 1) for _ in range(m + 1)]
        for j in range(n - 1, -1, -1):
            best[m][j] = 0.0 if ends else best[m][j + 1] - cost
        for i in range(m - 1, -1, -1):
            best[i][n] = best[i + 1][n]
            for j in range(n - 1, -1, -1):
                best[i][j] = max(value for value, _, _ in self._moves(patterns, codes, best, i, j, cost, least))
        start = max(range(n + 1), key=lambda j: (best[0][j], -j)) if ends else 0
        pairs: List[Pair] = []
        i, j = 0, start
        while i < m or (j < n and not ends):
            if j == n or i == m:
                pairs += [(pattern, None) for pattern in patterns[i:] if pattern.role != "run"]
                pairs += [] if free or ends else [(None, code) for code in codes[j:]]
                break
            _, i_next, j_next = max(self._moves(patterns, codes, best, i, j, cost, least))
            if patterns[i].role == "run":
                pass
            elif i_next > i:
                pairs.append((patterns[i], codes[j] if j_next > j else None))
            elif not free:
                pairs.append((None, codes[j]))
            i, j = i_next, j_next
        return Aligned(best[0][start], pairs)

    def _moves(
        self, patterns: Sequence[Node], codes: Sequence[Node], best: List[List[float]], i: int, j: int, cost: float,
        least: float,
    ) -> List[Tuple[float, int, int]]:  # fmt: skip
        """The ways on from a place of the table: (score, next pattern, next code)."""
        if patterns[i].role == "run":
            return [(best[i + 1][j], i + 1, j), (best[i][j + 1], i, j + 1)]
        moves = [(best[i + 1][j], i + 1, j), (best[i][j + 1] - cost, i, j + 1)]
        alike = self.measure(patterns[i], codes[j])
        if alike >= least * weight(patterns[i]):
            moves.append((alike + _SLIGHT + best[i + 1][j + 1], i + 1, j + 1))  # changed, rather than gone and come
        return moves

    def _arguments(self, wanted: List[Node], found: List[Node]) -> Aligned:
        """Positional arguments in order, keywords by name; a `...` covers what is left over."""
        run = any(node.role == "run" for node in wanted)
        plain = self.sequence(*([node for node in side if not _named(node)] for side in (wanted, found)))
        pairs, score = list(plain.pairs), plain.score
        left = [node for node in found if _named(node)]
        named = [node for node in wanted if _named(node)]
        for similar in (False, True):
            for pattern in list(named):
                code = next((node for node in left if self._same_keyword(pattern, node, similar=similar)), None)
                if code is not None:
                    score += self.measure(pattern, code)
                    pairs.append((pattern, code))
                    left.remove(code)
                    named.remove(pattern)
        pairs += [(pattern, None) for pattern in named]
        if not run:
            pairs += [(None, code) for code in left]
            score -= _EXTRA * len(left)
        return Aligned(score, sorted(pairs, key=lambda pair: pair[0].start if pair[0] is not None else 1 << 30))

    def _same_keyword(self, pattern: Node, code: Node, *, similar: bool) -> bool:
        if pattern.kind != code.kind or pattern.kind != "Keyword":
            return pattern.kind == code.kind
        ours, theirs = pattern.node("arg"), code.node("arg")
        if not similar:
            return fits(ours, theirs)
        value = pattern.node("value")
        same_value = weight(value) >= _LEAF and self.measure(value, code.node("value")) == weight(value)
        return same_value or similarity(str(ours.fields["value"]), str(theirs.fields["value"])) >= SIMILAR


def _named(node: Node) -> bool:
    return node.kind in ("Keyword", "DoubleStar") and node.role != "run"


def _ends_with_keywords(params: List[Node]) -> bool:
    return bool(params) and params[-1].fields.get("star") == "**"
