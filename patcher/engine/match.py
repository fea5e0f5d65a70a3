"""The matcher: where a side of a hunk matches code, in which ways, and what each placeholder is bound to.

A backtracking search: generators over one set of bindings, which each undoes when it is resumed, so that every match can be
listed; the number of steps is bounded. What is compared and what is not are rules 6 to 10 of the format.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import (
    Callable,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Sequence,
    Tuple,
    Union,
)

from patcher.engine.node import CASE_PATTERNS, STATEMENTS, Node, keyword, same

MAX_STEPS = 200_000
MAX_MATCHES = 51  # at one place; more are not counted
_STEPS_A_START = (
    50  # the limit grows with the length of the scope, by each place where a match may begin
)
_SUBSEQUENCE = frozenset(["decorators", "clauses"])
# rule 10: only where written
_OPTIONAL = _SUBSEQUENCE | {
    "returns",
    "annotation",
    "type_parameters",
    "doc",
    "groups",
}
REMOVED = "gone"  # the name of a run of decorators that is removed: it covers at least one
METHODS = "methods"  # the name of a class body that definitions are added to, in whatever place
_NAMED = frozenset(["Keyword", "DoubleStar"])
# what `$NAME` can be bound to, by the kind of its place; anywhere else any expression
_STANDS_FOR = {"Expr": STATEMENTS, "MatchAs": CASE_PATTERNS, "Param": {"Param"}, "Alias": {"Alias"}}
_NAME_ALONE = frozenset(["Alias", "Param", "MatchAs"])


Bound = Union[Node, List[Node]]


class Match(NamedTuple):
    """One match: its character range, the bindings of the metavariables, and the code of each pattern node (by id)."""

    start: int
    end: int
    names: dict[str, Node]
    nodes: dict[int, Bound]


class MatchRange(NamedTuple):
    """A character range that a pattern matches, in one or several ways; `siblings` is the list of nodes it is part of."""

    start: int
    end: int
    siblings: list[Node]
    matches: tuple[Match, ...]


class TooManySteps(Exception):
    """The matcher has taken more steps than it is allowed: the pattern is too ambiguous for this code."""


class Matcher:
    """Matches patterns against the code of one scope. `steps` counts the steps taken.

    A subclass that is not `exact` goes on where two nodes differ: it overrides `node`, `sequence` and `_mismatch`, and adds
    no rule of its own.

    Args:
        strict: the parts that a pattern requires to be absent (`Node.absent`) must be absent (rule 22).
        most: the largest number of matches to look for at one place.
        anywhere: definitions that a hunk adds to the end of a class may be elsewhere in it.
    """

    exact = True

    def __init__(
        self, *, strict: bool = True, most: int = MAX_STEPS, anywhere: bool = False
    ) -> None:
        self.strict = strict
        self.anywhere = anywhere
        self.most = most
        self.names: dict[str, Node] = {}
        self.nodes: dict[int, Bound] = {}
        self.steps = 0
        self._limit = MAX_STEPS
        self._with_run: dict[int, list[Node]] = {}  # lists of a pattern with implicit runs, by id
        self._failures = FailureMemo(self.names)

    # searching --------------------------------------------------------------------------------------------------------
    def expressions(self, pattern: Node, block: Node, *, module: bool) -> list[MatchRange]:
        """Every expression of a scope that `pattern` matches."""
        places: list[MatchRange] = []
        for node in block.reachable(module):
            if node.is_expression:
                self._limit += _STEPS_A_START
                matches = self._matches(self._match([node]) for _ in self.node(pattern, node))
                if matches and not any(
                    up.kind in ("Alias", "ImportFrom") for up in node.ancestors()
                ):
                    places.append(MatchRange(node.start, node.end, [node], matches))
        return places

    def runs(
        self, patterns: list[Node], block: Node, *, module: bool, clauses: bool
    ) -> list[MatchRange]:
        """Every run of consecutive statements (or clauses) of one block that the list of patterns matches."""
        places: list[MatchRange] = []
        for siblings in blocks(patterns, block, module=module, clauses=clauses):
            for start in range(1 if patterns[0].role == "run" else len(siblings)):
                self._limit += _STEPS_A_START
                ends = self.sequence(patterns, siblings, start, to_end=False)
                matches = self._matches(
                    self._match(siblings[start:end] or siblings[:1]) for end in ends
                )
                if matches:
                    places.append(
                        MatchRange(
                            min(w.start for w in matches),
                            max(w.end for w in matches),
                            siblings,
                            matches,
                        )
                    )
        return places

    def _matches(self, matches: Iterable[Match]) -> tuple[Match, ...]:
        kept = tuple(islice(matches, self.most))
        self.names.clear()  # the bindings of the last match, where the search was stopped there
        self.nodes.clear()
        return kept

    def _match(self, span: list[Node]) -> Match:
        start, end = (span[0].begin, span[-1].end) if span else (0, 0)
        return Match(start, end, dict(self.names), dict(self.nodes))

    # one node ---------------------------------------------------------------------------------------------------------
    def node(self, pattern: Node, node: Node) -> Iterator[None]:
        """Yield once for each way in which `pattern` matches `node`; bindings hold during the yield."""
        self._step()
        if pattern.role == "meta":
            yield from self._meta(pattern, node)
        elif pattern.role == "option":
            if node.is_literal:
                yield from self._at(pattern, node, iter([None]))
        elif pattern.kind == node.kind and pattern.role != "run":
            yield from self._at(pattern, node, self._fields(pattern, node, list(pattern.fields)))

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self._limit:
            raise TooManySteps

    def _at(self, pattern: Node, node: Bound, matches: Iterator[None]) -> Iterator[None]:
        self.nodes[id(pattern)] = node
        for _ in matches:
            self.nodes[id(pattern)] = node
            yield
        self.nodes.pop(id(pattern), None)

    def _meta(self, pattern: Node, node: Node) -> Iterator[None]:
        kinds, bound, code = (
            _STANDS_FOR.get(pattern.kind),
            self.names.get(pattern.name),
            _name_alone(node),
        )
        if (node.kind not in kinds if kinds else not node.is_expression) or (
            bound is not None and not same(bound, code)
        ):
            return
        if bound is None and pattern.name != "_":
            self.names[pattern.name] = code
        yield from self._at(pattern, node, iter([None]))
        if bound is None:
            self.names.pop(pattern.name, None)

    def _fields(self, pattern: Node, node: Node, keys: list[str]) -> Iterator[None]:
        if not keys:
            yield
            return
        for _ in self._field(pattern, node, keys[0]):
            yield from self._fields(pattern, node, keys[1:])

    def _field(self, pattern: Node, node: Node, key: str) -> Iterator[object]:
        expected, actual = pattern.fields[key], node.fields.get(key)
        is_exact = self.strict and key in pattern.absent
        if isinstance(expected, Node) and isinstance(actual, Node):
            yield from self.node(expected, actual)
        elif (
            not expected
            and not is_exact
            and (key in _OPTIONAL or (key == "args" and pattern.kind == "ClassDef"))
        ):
            yield None
        elif isinstance(expected, list) and isinstance(actual, list):
            if key == "args":
                yield from self._arguments(expected, actual)
            elif key == "params":
                yield from self._parameters(expected, actual)
            else:
                written = (
                    self._with_runs(expected) if key in _SUBSEQUENCE and not is_exact else expected
                )
                if key == "body" and _begins_with_docstring(expected, node):
                    actual = node.statements()
                yield from self.sequence(
                    written, actual, to_end=not self.anywhere or pattern.name != METHODS
                )
        elif (expected or None) == (actual or None):
            yield None
        else:
            yield from self._mismatch(pattern, node, key)

    def _mismatch(self, pattern: Node, node: Node, key: str) -> Iterator[None]:
        """Called where two nodes differ in a field; yields for each way to match all the same, here none."""
        return iter(())

    # lists ------------------------------------------------------------------------------------------------------------
    def sequence(
        self, patterns: Sequence[Node], nodes: Sequence[Node], start: int = 0, to_end: bool = True
    ) -> Iterator[int]:
        """Match `patterns` against `nodes[start:]`, shortest runs first; yields the index past the last node used.

        Unless it is the `to_end`, nodes may be left over at the end; a run that is the last pattern takes them.
        """
        return self._failures.ends(
            patterns, nodes, start, partial(self._next, patterns, nodes), to_end
        )

    def _next(
        self, patterns: Sequence[Node], nodes: Sequence[Node], i: int, j: int
    ) -> Iterator[tuple[int, int]]:
        """Match `patterns[i]` to `nodes[j:]`; yields the indexes of the next pattern and the next node."""
        pattern = patterns[i]
        if pattern.role == "run":
            needed = sum(1 for later in patterns[i + 1 :] if later.role != "run")
            least = j + (pattern.name == REMOVED)
            for end in range(
                max(least, len(nodes)) if i + 1 == len(patterns) else least, len(nodes) - needed + 1
            ):
                self._step()
                self.nodes[id(pattern)] = list(nodes[j:end])
                yield i + 1, end
            self.nodes.pop(id(pattern), None)
        elif j < len(nodes):
            for _ in self.node(pattern, nodes[j]):
                yield i + 1, j + 1

    def _with_runs(self, patterns: list[Node]) -> list[Node]:
        """The patterns with an implicit run wherever the code may have more."""
        if id(patterns) not in self._with_run:
            with_runs: list[Node] = []
            for pattern in patterns:
                if "run" not in (pattern.role, with_runs[-1].role if with_runs else ""):
                    with_runs.append(implicit_run())
                with_runs.append(pattern)
            self._with_run[id(patterns)] = (
                with_runs if patterns[-1].role == "run" else [*with_runs, implicit_run()]
            )
        return self._with_run[id(patterns)]

    def _arguments(self, patterns: list[Node], nodes: list[Node]) -> Iterator[None]:
        """Arguments: the positional ones in order, keywords by name in any order; a `...` also covers unnamed keywords."""
        plain = [node for node in patterns if node.kind not in _NAMED or node.role == "run"]
        named = [node for node in patterns if node.kind in _NAMED and node.role != "run"]
        run = next((node for node in patterns if node.role == "run"), None)
        have_plain = [node for node in nodes if node.kind not in _NAMED]
        have_named = [node for node in nodes if node.kind in _NAMED]
        by_name = {keyword(node): node for node in have_named if keyword(node)}
        paired = [node for node in named if keyword(node) in by_name]
        partners = [by_name[keyword(node)] for node in paired]
        taken = {*paired, *partners}
        open_patterns, open_nodes = (
            [node for node in side if node not in taken] for side in (named, have_named)
        )
        left = len(open_nodes) - len(open_patterns)
        if self.exact and (left < 0 or (left and run is None) or any(map(keyword, open_patterns))):
            return
        for _ in self.sequence(plain, have_plain):
            for _ in self.sequence(paired, partners):
                for covered in self._keywords(
                    [*open_patterns, *([run] if run is not None else [])], open_nodes
                ):
                    yield from self._also(run, covered)

    def _parameters(self, patterns: list[Node], nodes: list[Node]) -> Iterator[object]:
        """Parameters in order; `**kw`, which can only be last, may lie in any `...` of the pattern (rule 16)."""
        run = next((node for node in patterns if node.role == "run"), None)
        hides = (
            run is not None
            and patterns[-1].role != "run"
            and patterns[-1].fields.get("star") != "**"
        )
        if run is None or not hides or not nodes or nodes[-1].fields.get("star") != "**":
            yield from self.sequence(patterns, nodes)
            return
        for _ in self.sequence(patterns, nodes[:-1]):
            yield from self._also(run, nodes[-1:])

    def _also(self, run: Node | None, extra: list[Node]) -> Iterator[None]:
        """Let a `...`, if there is one, cover more nodes than those in its place."""
        covered = self.nodes.get(id(run))
        if isinstance(covered, list):
            self.nodes[id(run)] = [*covered, *extra]
            yield
            self.nodes[id(run)] = covered
        else:
            yield

    def _keywords(self, patterns: list[Node], nodes: list[Node]) -> Iterator[list[Node]]:
        """Match patterns that may match any keyword, a run last; yields the nodes that are left over."""
        if not patterns or patterns[0].role == "run":
            yield nodes
            return
        for index, node in enumerate(nodes):
            for _ in self.node(patterns[0], node):
                yield from self._keywords(patterns[1:], [*nodes[:index], *nodes[index + 1 :]])


def _name_alone(node: Node) -> Node:
    """The name alone of an import, a parameter or a pattern of `case` that has no more: it is the same name elsewhere."""
    written = [value for value in node.fields.values() if value] if node.kind in _NAME_ALONE else []
    return written[0] if len(written) == 1 and isinstance(written[0], Node) else node


def _begins_with_docstring(patterns: Sequence[Node], block: Node) -> bool:
    """Whether `$S` at the beginning of a body that is written completely stands for the docstring: nothing else is left."""
    runs = any(pattern.role == "run" for pattern in patterns)
    return (
        bool(patterns)
        and patterns[0].role == "meta"
        and not runs
        and len(patterns) == len(block.items("body")) + 1
    )


def implicit_run() -> Node:
    """A `...` that the user did not write."""
    node = Node("Expr", (0, 0, 0, 0))
    node.role = "run"
    return node


def blocks(
    patterns: Sequence[Node], block: Node, *, module: bool, clauses: bool
) -> Iterator[list[Node]]:
    """The lists of statements, or of clauses, in which a run of patterns may match."""
    docstrings = any(pattern.is_text() for pattern in patterns)
    for node in block.reachable(module):
        if node.kind == "Block" and not clauses:
            doc = node.fields.get("doc")
            yield (
                [doc, *node.items("body")]
                if docstrings and isinstance(doc, Node)
                else node.items("body")
            )
        elif clauses and node.items("clauses"):
            yield node.items("clauses")


# states that failed -----------------------------------------------------------------------------------------------------
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
        self._found: dict[tuple[object, ...], int] = {}  # how many nodes were left
        self._reads: dict[tuple[Node, int], frozenset[str]] = {}

    def ends(
        self,
        patterns: Sequence[Node],
        nodes: Sequence[Node],
        start: int,
        steps: Steps,
        to_end: bool,
    ) -> Iterator[int]:
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
        stack: list[tuple[Iterator[tuple[int, int]], int, tuple[object, ...], int]] = [
            (iter([(0, start)]), 0, (), 0)
        ]
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

    def _state(
        self, patterns: Sequence[Node], i: int, nodes: Sequence[Node], j: int
    ) -> tuple[object, ...]:
        """What the further search depends on: the rest of the pattern, that of the code, the bindings that are read again."""
        remainder = patterns[i], len(patterns) - i
        if remainder not in self._reads:
            read: frozenset[str] = frozenset()
            for length, pattern in enumerate(reversed(patterns), 1):
                read |= {node.name for node in pattern.walk() if node.role == "meta"}
                self._reads[pattern, length] = read
        bound = (item for item in self._names.items() if item[0] in self._reads[remainder])
        # A run that fails here fails from any later node too: only the end of the list counts for it.
        place = (nodes[-1],) if patterns[i].role == "run" else (nodes[j], len(nodes) - j)
        return (*remainder, *place, *bound)
