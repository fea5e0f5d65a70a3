"""The matcher: where a side of a hunk matches code, in which ways, and what its placeholders are.

A backtracking search: generators share one set of bindings, and each undoes its own when it is
resumed, so that every match can be listed. The number of steps is bounded. Rules 6 to 10 of the
format say what is compared.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import (
    TYPE_CHECKING,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)

from patcher.engine.node import CASE_PATTERNS, KNOWN, STATEMENTS, Node, keyword, same
from patcher.record import Record

MAX_STEPS = 200_000
MAX_MATCHES = 51  # at one place; more are not counted
_STEPS_A_START = 50  # by which each place where a match may begin raises the limit
_SUBSEQUENCE = frozenset(["decorators", "clauses"])
# rule 10: only where written
_OPTIONAL = _SUBSEQUENCE | {"returns", "annotation", "type_parameters", "doc", "groups"}
REMOVED = "gone"  # the name of a run of decorators that is removed: it covers at least one
METHODS = "methods"  # the name of a class body that definitions are added to, in whatever place
LITERALS = {"string": frozenset(["String"]), "number": frozenset(["Integer", "Float"])}
"""What `$string` and `$number` stand for on a `-` line, unless an option has that name."""
_NAMED = frozenset(["Keyword", "DoubleStar"])
# what `$NAME` can be bound to, by the kind of its place; anywhere else any expression
_STANDS_FOR = {
    "Expr": STATEMENTS,
    "MatchAs": CASE_PATTERNS,
    "Param": {"Param"},
    "Alias": {"Alias"},
}
_NAME_ALONE = frozenset(["Alias", "Param", "MatchAs"])

if TYPE_CHECKING:
    Bound = Node | list[Node]
    Steps = Callable[[int, int], Iterator[tuple[int, int]]]


class Match(Record):
    """One match: its character range, and what it binds.

    `names` are the bindings of the metavariables, `nodes` the code of each pattern node (by id).
    """

    start: int
    end: int
    names: dict[str, Node]
    nodes: dict[int, Bound]


class MatchRange(Record):
    """A character range that a pattern matches, in one or several ways.

    `siblings` is the list of nodes that it is part of.
    """

    start: int
    end: int
    siblings: list[Node]
    matches: tuple[Match, ...]


class TooManySteps(Exception):
    """The matcher has used up its steps: the pattern is too ambiguous for this code."""


class Matcher:
    """Matches patterns against the code of one scope. `steps` counts the steps taken.

    Args:
        strict: the parts that a pattern requires to be absent (`Node.absent`) must be (rule 23).
        most: the largest number of matches to look for at one place.
        anywhere: definitions that a hunk adds to the end of a class may be elsewhere in it.
    """

    def __init__(
        self,
        *,
        strict: bool = True,
        most: int = MAX_STEPS,
        anywhere: bool = False,
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

    # searching ------------------------------------------------------------------------------------
    def expressions(
        self,
        pattern: Node,
        block: Node,
        *,
        module: bool,
    ) -> list[MatchRange]:
        """Every expression of a scope that `pattern` matches."""
        places: list[MatchRange] = []
        for node in block.reachable(module):
            if not node.is_expression:
                continue

            self._limit += _STEPS_A_START
            if not _may_match(pattern, node):
                continue

            matches = self._matches(self._match([node]) for _ in self.node(pattern, node))
            if matches and not _is_in_import(node):
                place = MatchRange(
                    node.start,
                    node.end,
                    siblings=[node],
                    matches=matches,
                )
                places.append(place)

        return places

    def runs(
        self,
        patterns: list[Node],
        block: Node,
        *,
        module: bool,
        clauses: bool,
    ) -> list[MatchRange]:
        """Every run of consecutive statements (or clauses) of one block that a list matches."""
        begins_anywhere = patterns[0].role == "run"
        places: list[MatchRange] = []
        for siblings in blocks(patterns, block, module=module, clauses=clauses):
            start_count = 1 if begins_anywhere else len(siblings)
            for start in range(start_count):
                self._limit += _STEPS_A_START
                if not begins_anywhere and not _may_match(patterns[0], siblings[start]):
                    continue

                matches = self._matches(self._runs_from(patterns, siblings, start))
                if matches:
                    first = min(match.start for match in matches)
                    last = max(match.end for match in matches)
                    place = MatchRange(first, last, siblings=siblings, matches=matches)
                    places.append(place)

        return places

    def _runs_from(
        self,
        patterns: list[Node],
        siblings: list[Node],
        start: int,
    ) -> Iterator[Match]:
        """The matches of a list of patterns that begin with the sibling at an index."""
        for end in self.sequence(patterns, siblings, start, to_end=False):
            span = siblings[start:end] or siblings[:1]
            yield self._match(span)

    def _matches(self, matches: Iterable[Match]) -> tuple[Match, ...]:
        """The first of some matches, as many as are looked for."""
        kept = tuple(islice(matches, self.most))
        self.names.clear()  # the bindings of the last match, where the search was stopped there
        self.nodes.clear()
        return kept

    def _match(self, span: list[Node]) -> Match:
        """The match of these nodes with what is bound now."""
        start = end = 0
        if span:
            start = span[0].begin
            end = span[-1].end

        return Match(start, end, names=dict(self.names), nodes=dict(self.nodes))

    # one node -------------------------------------------------------------------------------------
    def node(self, pattern: Node, node: Node) -> Iterator[None]:
        """Yield once for each way in which `pattern` matches `node`; bindings hold meanwhile."""
        self._step()
        if pattern.role == "meta":
            yield from self._meta(pattern, node)
        elif pattern.role == "option":
            if node.is_literal:
                yield from self._at(pattern, node, iter([None]))
        elif pattern.role == "literal":
            if node.literal_kind in LITERALS[pattern.name]:
                yield from self._at(pattern, node, iter([None]))
        elif pattern.kind == node.kind and pattern.role != "run":
            fields = self._fields(pattern, node, list(pattern.fields))
            yield from self._at(pattern, node, fields)

    def _step(self) -> None:
        """Count a step.

        Raises:
            TooManySteps: there were too many.
        """
        self.steps += 1
        if self.steps > self._limit:
            raise TooManySteps

    def _at(
        self,
        pattern: Node,
        node: Bound,
        matches: Iterator[None],
    ) -> Iterator[None]:
        """Yield once for each of `matches`, with the code of a pattern node noted meanwhile."""
        self.nodes[id(pattern)] = node
        for _ in matches:
            self.nodes[id(pattern)] = node
            yield

        self.nodes.pop(id(pattern), None)

    def _meta(self, pattern: Node, node: Node) -> Iterator[None]:
        """Match a metavariable, which binds it where it is not bound yet."""
        kinds = _STANDS_FOR.get(pattern.kind)
        fits = node.kind in kinds if kinds else node.is_expression
        bound = self.names.get(pattern.name)
        code = _name_alone(node)
        if not fits or (bound is not None and not same(bound, code)):
            return

        if bound is None and pattern.name != "_":
            self.names[pattern.name] = code
        yield from self._at(pattern, node, iter([None]))
        if bound is None:
            self.names.pop(pattern.name, None)

    def _fields(self, pattern: Node, node: Node, keys: list[str]) -> Iterator[None]:
        """Match several fields of two nodes of one kind."""
        if not keys:
            yield
            return
        for _ in self._field(pattern, node, keys[0]):
            yield from self._fields(pattern, node, keys[1:])

    def _field(self, pattern: Node, node: Node, key: str) -> Iterator[object]:
        """Match one field of two nodes of one kind."""
        expected = pattern.fields[key]
        actual = node.fields.get(key)
        if isinstance(expected, Node) and isinstance(actual, Node):
            yield from self.node(expected, actual)
        elif not expected and self._may_have_more(pattern, key):
            yield None
        elif isinstance(expected, list) and isinstance(actual, list):
            if key == "args":
                yield from self._arguments(expected, actual)
            elif key == "params":
                yield from self._parameters(expected, actual)
            else:
                yield from self._items(pattern, node, key)
        elif key == "escape":
            if expected == (actual or KNOWN):
                yield None
        elif (expected or None) == (actual or None):
            yield None

    def _may_have_more(self, pattern: Node, key: str) -> bool:
        """Whether the code may have more in a field than the pattern writes (rule 10)."""
        if self._is_exact(pattern, key):
            return False
        return key in _OPTIONAL or (key == "args" and pattern.kind == "ClassDef")

    def _is_exact(self, pattern: Node, key: str) -> bool:
        """Whether the code must lack a field that the pattern does not write (rule 23)."""
        return self.strict and key in pattern.absent

    # lists ----------------------------------------------------------------------------------------
    def sequence(
        self,
        patterns: Sequence[Node],
        nodes: Sequence[Node],
        start: int = 0,
        to_end: bool = True,
    ) -> Iterator[int]:
        """Match `patterns` against `nodes[start:]`, shortest runs first.

        Unless `to_end`, nodes may be left over at the end; a run that is the last pattern takes
        them.

        Yields:
            the index past the last node used.
        """
        following = partial(self._next, patterns, nodes)
        return self._failures.ends(
            patterns,
            nodes,
            start,
            steps=following,
            to_end=to_end,
        )

    def _next(
        self,
        patterns: Sequence[Node],
        nodes: Sequence[Node],
        i: int,
        j: int,
    ) -> Iterator[tuple[int, int]]:
        """Match `patterns[i]` to `nodes[j:]`; yields the indexes of the next pattern and node."""
        pattern = patterns[i]
        if pattern.role == "run":
            first = j + (pattern.name == REMOVED)
            if i + 1 == len(patterns):
                first = max(first, len(nodes))
            needed = sum(1 for later in patterns[i + 1 :] if later.role != "run")
            last = len(nodes) - needed
            for end in range(first, last + 1):
                self._step()
                self.nodes[id(pattern)] = list(nodes[j:end])
                yield i + 1, end

            self.nodes.pop(id(pattern), None)
        elif j < len(nodes):
            for _ in self.node(pattern, nodes[j]):
                yield i + 1, j + 1

    def _items(self, pattern: Node, node: Node, key: str) -> Iterator[int]:
        """Match a list in a field: as a whole, or only what the pattern writes of it, in order."""
        patterns = pattern.items(key)
        nodes = node.items(key)
        if key == "body" and _begins_with_docstring(patterns, node):
            nodes = node.statements()
        if key in _SUBSEQUENCE and not self._is_exact(pattern, key):
            patterns = self._with_runs(patterns)
        may_end_early = self.anywhere and pattern.name == METHODS
        return self.sequence(patterns, nodes, to_end=not may_end_early)

    def _with_runs(self, patterns: list[Node]) -> list[Node]:
        """The patterns with an implicit run wherever the code may have more."""
        if id(patterns) in self._with_run:
            return self._with_run[id(patterns)]

        with_runs: list[Node] = []
        after_run = False
        for pattern in patterns:
            if pattern.role != "run" and not after_run:
                with_runs.append(implicit_run())
            with_runs.append(pattern)
            after_run = pattern.role == "run"

        if not after_run:
            with_runs.append(implicit_run())
        self._with_run[id(patterns)] = with_runs
        return with_runs

    def _arguments(self, patterns: list[Node], nodes: list[Node]) -> Iterator[None]:
        """Arguments: the positional ones in order, keywords by name in any order.

        A `...` also covers keywords that are not named.
        """
        run = _first_run(patterns)
        positional, named = _positional_and_named(patterns)
        code_positional, code_named = _positional_and_named(nodes)

        by_name = {keyword(node): node for node in code_named if keyword(node)}
        paired: list[Node] = []
        partners: list[Node] = []
        others: list[Node] = []
        for pattern in named:
            if keyword(pattern) in by_name:
                paired.append(pattern)
                partners.append(by_name[keyword(pattern)])
            else:
                others.append(pattern)

        code_others = [node for node in code_named if node not in partners]

        surplus = len(code_others) - len(others)
        has_no_cover = surplus > 0 and run is None
        if surplus < 0 or has_no_cover or any(map(keyword, others)):
            return

        if run is not None:
            others.append(run)
        for _ in self.sequence(positional, code_positional):
            for _ in self.sequence(paired, partners):
                for covered in self._keywords(others, code_others):
                    yield from self._also(run, covered)

    def _parameters(self, patterns: list[Node], nodes: list[Node]) -> Iterator[object]:
        """Parameters in order; `**kw`, which can only be last, may lie in any `...` (rule 16)."""
        run = _first_run(patterns)
        has_no_place = run is None or patterns[-1].role == "run" or _is_double_star(patterns[-1])
        if has_no_place or not nodes or not _is_double_star(nodes[-1]):
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

    def _keywords(
        self,
        patterns: list[Node],
        nodes: list[Node],
    ) -> Iterator[list[Node]]:
        """Match patterns that may match any keyword, a run last; yields the nodes left over."""
        if not patterns or patterns[0].role == "run":
            yield nodes
            return

        for index, node in enumerate(nodes):
            others = [*nodes[:index], *nodes[index + 1 :]]
            for _ in self.node(patterns[0], node):
                yield from self._keywords(patterns[1:], others)


def _positional_and_named(arguments: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """Positional arguments, with any `...`, and those by name, with any `**`."""
    positional: list[Node] = []
    named: list[Node] = []
    for node in arguments:
        if node.kind in _NAMED and node.role != "run":
            named.append(node)
        else:
            positional.append(node)

    return positional, named


def _is_in_import(node: Node) -> bool:
    """Whether a name is one that an import statement writes."""
    return any(up.kind in ("Alias", "ImportFrom") for up in node.ancestors())


def _is_double_star(parameter: Node) -> bool:
    """Whether a parameter takes all other keyword arguments (`**kw`)."""
    return parameter.fields.get("star") == "**"


def _first_run(patterns: Sequence[Node]) -> Node | None:
    """The first `...` of a list, None if it has none."""
    return next((node for node in patterns if node.role == "run"), None)


def _name_alone(node: Node) -> Node:
    """The name alone, if an import, a parameter or a pattern of `case` has nothing else.

    It is the same name elsewhere.
    """
    if node.kind not in _NAME_ALONE:
        return node

    written = [value for value in node.fields.values() if value]
    if len(written) == 1 and isinstance(written[0], Node):
        return written[0]
    return node


def _begins_with_docstring(patterns: Sequence[Node], block: Node) -> bool:
    """Whether the `$S` at the beginning of a complete body stands for the docstring.

    It does if nothing else is left for it.
    """
    if not patterns or patterns[0].role != "meta":
        return False
    if _first_run(patterns) is not None:
        return False
    return len(patterns) == len(block.items("body")) + 1


def _may_match(pattern: Node, node: Node) -> bool:
    """Whether a pattern may match a node, as far as their kinds tell (see `Matcher.node`)."""
    return bool(pattern.role) or pattern.kind == node.kind


def implicit_run() -> Node:
    """A `...` that the user did not write."""
    node = Node("Expr", (0, 0, 0, 0))
    node.role = "run"
    return node


def blocks(
    patterns: Sequence[Node],
    block: Node,
    *,
    module: bool,
    clauses: bool,
) -> Iterator[list[Node]]:
    """The lists of statements, or of clauses, in which a run of patterns may match."""
    has_docstrings = any(pattern.is_text for pattern in patterns)
    for node in block.reachable(module):
        if node.kind == "Block" and not clauses:
            yield node.statements() if has_docstrings else node.items("body")
        elif clauses and node.items("clauses"):
            yield node.items("clauses")


# states that failed -------------------------------------------------------------------------------
class _Frame(Record):
    """One pattern that is being matched in a list.

    `following` yields the indexes of what is to be matched next, `left` is the number of nodes that
    are left, `state` what the further search depends on, `ends` how many ends were reached before.
    """

    following: Iterator[tuple[int, int]]
    left: int
    state: tuple[object, ...]
    ends: int


class FailureMemo:
    """The states from which the end of a list cannot be reached.

    A state is the rest of the pattern, the rest of the code, and the bindings that are read again.
    With it several `...` cost the length of the pattern times that of the code, not a power of the
    code's length. Only a metavariable that is read again after a `...` multiplies that, by the
    number of its possible bindings.

    Args:
        names: what each metavariable is bound to, kept up to date by the matcher.
    """

    def __init__(self, names: Mapping[str, Node]) -> None:
        self._names = names
        self._failed: dict[tuple[object, ...], int] = {}  # how many nodes were left
        self._reads: dict[tuple[Node, int], frozenset[str]] = {}

    def ends(
        self,
        patterns: Sequence[Node],
        nodes: Sequence[Node],
        start: int,
        steps: Steps,
        to_end: bool,
    ) -> Iterator[int]:
        """Match a list of patterns to `nodes[start:]`.

        The stack is explicit: a literal of some hundred entries would exceed the recursion limit.

        Args:
            patterns: a list of patterns.
            nodes: a list of nodes.
            start: the index of the first one to use.
            steps: matches one pattern, given the indexes of it and of a node; yields those of what
                is to be matched next.
            to_end: whether no node may be left over at the end.

        Yields:
            the index past the last node used, once for each match.
        """
        ends = 0
        stack = [_Frame(iter([(0, start)]), left=0, state=(), ends=0)]
        while stack:
            frame = stack[-1]
            i, j = next(frame.following, (-1, -1))
            if i < 0:
                stack.pop()
                if frame.left and ends == frame.ends:
                    self._failed[frame.state] = frame.left
            elif i < len(patterns):
                left = len(nodes) - j
                state = self._state(patterns, i, nodes, j) if left else ()
                if not left or left > self._failed.get(state, 0):
                    following = steps(i, j)
                    stack.append(_Frame(following, left, state=state, ends=ends))
            elif j == len(nodes) or not to_end:
                ends += 1
                yield j

    def _state(
        self,
        patterns: Sequence[Node],
        i: int,
        nodes: Sequence[Node],
        j: int,
    ) -> tuple[object, ...]:
        """What the further search depends on."""
        remainder = patterns[i], len(patterns) - i
        if remainder not in self._reads:
            self._add_reads(patterns)
        names = self._reads[remainder]
        bound = [item for item in self._names.items() if item[0] in names]
        # a run that fails here fails from any later node too: for it only the list's end counts
        if patterns[i].role == "run":
            return (*remainder, nodes[-1], *bound)
        return (*remainder, nodes[j], len(nodes) - j, *bound)

    def _add_reads(self, patterns: Sequence[Node]) -> None:
        """Note which metavariables each rest of the patterns reads."""
        names: frozenset[str] = frozenset()
        for length, pattern in enumerate(reversed(patterns), 1):
            names |= {node.name for node in pattern.walk() if node.role == "meta"}
            self._reads[pattern, length] = names
