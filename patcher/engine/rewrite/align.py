"""Pairs the nodes of the before side with those of the after side: the alignment decides what a change keeps (rule 11).

Nodes on the same context line are paired first; then statements that have a context line in common; then nodes of the same
syntax; then of the same kind with a part in common.
"""

from __future__ import annotations

from collections import Counter
from typing import Container, Iterator, NamedTuple, Sequence, Tuple

from patcher.engine.node import CLAUSES, COMPOUND, Node, Value, keyword, same
from patcher.engine.spatch.side import Hunk, Side
from patcher.text.lines import best_pairs

NodePair = Tuple[Node, Node]
_HEADED = (COMPOUND | CLAUSES) - {"Match"}  # what has a header and a body
_TABLE = 2_500  # pairs of nodes that are compared at once: a longer list is split first


class Gap(NamedTuple):
    """The nodes that an alignment deletes and inserts between two kept neighbours, the pairs `above` and `below`."""

    above: NodePair | None
    deleted: list[Node]
    inserted: list[Node]
    below: NodePair | None


def align(
    hunk: Hunk, before: Sequence[Node], after: Sequence[Node]
) -> tuple[list[NodePair], list[Gap]]:
    """Pair two lists in order; returns the pairs and the gaps between them."""
    pairs = _best(hunk, before, after)
    gaps: list[Gap] = []
    i = j = 0
    above: NodePair | None = None
    for below in [*pairs, None]:
        end_i = before.index(below[0], i) if below else len(before)
        end_j = after.index(below[1], j) if below else len(after)
        if end_i > i or end_j > j:
            gaps.append(Gap(above, list(before[i:end_i]), list(after[j:end_j]), below))
        i, j, above = end_i + 1, end_j + 1, below
    return pairs, gaps


def align_arguments(
    hunk: Hunk, before: Sequence[Node], after: Sequence[Node]
) -> tuple[list[NodePair], list[Gap]]:
    """Like `align`; keyword arguments pair by name wherever they stand, since their order does not matter.

    One that is inserted goes below all that the after side has above it.
    """
    names = {keyword(node): node for node in before if keyword(node)}
    moved = [(names[keyword(node)], node) for node in after if keyword(node) in names]
    in_order = _best(hunk, before, after)
    if {(id(old), id(new)) for old, new in moved} <= {(id(old), id(new)) for old, new in in_order}:
        return align(hunk, before, after)
    olds, news = {id(old) for old, _ in moved}, {id(new) for _, new in moved}
    unmoved = align(
        hunk,
        [node for node in before if id(node) not in olds],
        [node for node in after if id(node) not in news],
    )
    pairs = [*unmoved[0], *moved]

    def below_all_above(gap: Gap) -> Gap:
        if not (gap.inserted and keyword(gap.inserted[0])):
            return gap
        at = after.index(gap.inserted[0])
        above = (pair for pair in pairs if after.index(pair[1]) < at)
        return gap._replace(above=max(above, key=lambda pair: before.index(pair[0]), default=None))

    return pairs, list(map(below_all_above, unmoved[1]))


class Alignment(NamedTuple):
    """How two lists of statements, clauses or decorators pair; `path` says of which list of the hunk's before side."""

    path: str
    before: Sequence[Node]
    pairs: list[NodePair]
    gaps: list[Gap]


def alignments(
    hunk: Hunk, before: Sequence[Node], after: Sequence[Node], path: str = ""
) -> Iterator[Alignment]:
    """The alignments of two lists of nodes that have lines of their own, and of those inside their pairs."""
    pairs, gaps = align(hunk, before, after)
    yield Alignment(path, before, pairs, gaps)
    for old, new in pairs:
        if old.has_body and not old.role:
            lists = [
                (node.items("decorators"), _body(node), node.items("clauses"))
                for node in (old, new)
            ]
            for key, (olds, news) in enumerate(zip(*lists)):
                yield from alignments(hunk, olds, news, f"{path}/{before.index(old)}.{key}")


def insertion_anchors(hunk: Hunk) -> Iterator[str]:
    """Where a hunk inserts whole lines, relative to its before side: two hunks with one before side and one anchor collide."""
    for path, before, _, gaps in alignments(hunk, hunk.before.nodes, hunk.after.nodes):
        for gap in gaps:
            if gap.inserted and not gap.deleted:
                parted = gap.above is not None and hunk.after.blank_between(
                    gap.above[1], gap.inserted[0]
                )
                yield f"{path}/{before.index(gap.above[0]) if gap.above else -1}{' ' * parted}"


def shares(before: Node, after: Node) -> bool:
    """Whether two nodes of one kind have a part in common."""
    return any(same(old, after.fields[key]) and old for key, old in before.fields.items())


def has_part(node: Node, inner: Node) -> bool:
    """Whether the expression `inner` is a part of `node`."""
    parts = (part for child in node.children() for part in child.walk())
    return not inner.has_body and any(same(part, inner) for part in parts)


def related(old: Value, new: Value) -> bool:
    """Whether one piece of syntax is the other one changed, so that what they have in common keeps its bytes."""
    if isinstance(old, list) and isinstance(new, list):
        return any(same(before, after) for before in old for after in new)
    if (
        not (isinstance(old, Node) and isinstance(new, Node))
        or old.kind != new.kind
        or old.role
        or new.role
    ):
        return False
    fields = [(value, new.fields[key]) for key, value in old.fields.items()]
    return (
        old.kind in ("Tuple", "List", "Dict", "Set")
        or shares(old, new)
        or any(related(*pair) for pair in fields)
    )


def _likeness(hunk: Hunk, old: Node, new: Node, kept: set[int], kept_new: set[int]) -> int:
    """How well two nodes pair; 0 if they must not. `kept` and `kept_new` are the context lines that they have."""
    if old.role == "run" or new.role == "run":
        return 999 if old.role == new.role and old.name == new.name else 0
    if _one_line(hunk, old, new):
        return 1000
    if (kept or kept_new) and not kept & kept_new:
        return 0
    if same(old, new):
        return 100
    if kept and (old.kind == new.kind or _headed(old, new)):
        wrapped = _holds(hunk.before, old, new, kept_new) or _holds(hunk.after, new, old, kept)
        return 0 if wrapped else 500
    if old.role or new.role:
        return 0
    if old.field() == new.field() == "doc":
        return 10
    if old.kind != new.kind:
        return 5 if _headed(old, new) and same(old.node("body"), new.node("body")) else 0
    if old.is_definition:  # one node, even with another name (rule 11)
        return (
            20
            if same(old.fields["name"], new.fields["name"])
            else 0
            if _holds(hunk.before, old, new, kept_new)
            else 2
        )
    if old.kind in ("Keyword", "Param"):
        return (
            20
            if same(
                *(node.fields["arg" if old.kind == "Keyword" else "name"] for node in (old, new))
            )
            else 0
        )
    # they are what is there
    unwritten = old.kind == "Match" and not (old.items("clauses") or new.items("clauses"))
    if old.is_clause or unwritten or shares(old, new):
        return 10
    if old.is_compound or not related(old, new):
        return 0
    return 7 if related(old.fields.get("elements"), new.fields.get("elements")) else 5


def _best(hunk: Hunk, before: Sequence[Node], after: Sequence[Node]) -> list[NodePair]:
    """The pairing in order with the highest total likeness."""
    head = tail = (
        0  # common ends: a literal of hundreds of entries is compared only where it changes
    )
    while head < min(len(before), len(after)) and _certain(hunk, before[head], after[head]):
        head += 1
    while tail < min(len(before), len(after)) - head and _certain(
        hunk, before[-1 - tail], after[-1 - tail]
    ):
        tail += 1
    ends = (
        list(zip(before, after[:head])),
        list(zip(before[len(before) - tail :], after[len(after) - tail :])),
    )
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    if len(before) * len(after) > _TABLE:
        i, j = _cut(hunk, before, after)
        return [
            *ends[0],
            *_best(hunk, before[:i], after[:j]),
            *_best(hunk, before[i:], after[j:]),
            *ends[1],
        ]
    olds = [(node, hunk.before.context_lines(node)) for node in before]
    news = [(node, hunk.after.context_lines(node)) for node in after]
    like = [
        [_likeness(hunk, old, new, kept, kept_new) for new, kept_new in news] for old, kept in olds
    ]
    return [*ends[0], *((before[i], after[j]) for i, j in best_pairs(like)), *ends[1]]


def _cut(hunk: Hunk, before: Sequence[Node], after: Sequence[Node]) -> tuple[int, int]:
    """Where to split two long lists: nearest to the middle of the first, at a node that occurs once in each of them."""
    old = [(hunk.before.kept_line(node), repr(node)) for node in before]
    new = [(hunk.after.kept_line(node), repr(node)) for node in after]
    times, middle, indices = (
        Counter(old + new),
        len(old) // 2,
        {key: index for index, key in enumerate(new)},
    )
    once = [
        (abs(i - middle), i, indices[key])
        for i, key in enumerate(old)
        if times[key] == 2 and indices.get(key, 0) and i
    ]
    return min(once, default=(0, middle, len(new) // 2))[1:]


def _certain(hunk: Hunk, old: Node, new: Node) -> bool:
    """Whether two nodes pair whatever is beside them: on one context line, or the same and on none."""
    if "run" in (old.role, new.role):  # the implicit body of a header is on the header's line
        return old.role == new.role and old.name == new.name
    if _one_line(hunk, old, new):
        return True
    sides = ((hunk.before, old), (hunk.after, new))
    return same(old, new) and not any(
        side.kept_line(node) or side.context_lines(node) for side, node in sides
    )


def _one_line(hunk: Hunk, old: Node, new: Node) -> bool:
    """Whether two nodes are what one context line says; of `def g(): return a` that is the `def`, and not its `return`."""
    line = hunk.before.kept_line(old)
    return (
        bool(line)
        and line == hunk.after.kept_line(new)
        and (old.kind == new.kind or _headed(old, new))
    )


def _body(node: Node) -> list[Node]:
    body = node.fields.get("body")
    return body.statements() if isinstance(body, Node) else []


def _holds(side: Side, node: Node, inner: Node, lines: set[int]) -> bool:
    """Whether a statement with these context lines is inside another one: it is wrapped or unwrapped, and not changed."""
    alike = (part for part in node.walk() if part.kind == inner.kind and same(part, inner))
    return any(side.context_lines(part) == lines for part in alike)


def _headed(old: Node, new: Node) -> bool:
    return old.kind in _HEADED and new.kind in _HEADED


# what stands elsewhere --------------------------------------------------------------------------------------------------
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
        self,
        before: Side,
        after: Side,
        matched: Container[int],
        kept: Container[int],
        changed: Container[Node],
    ) -> None:
        self._before, self._after = before, after
        self._matched, self._kept, self._changed = matched, kept, changed
        self._hashes: dict[Node, int] = {}
        self._alike: dict[int, list[Node]] = {}
        self._runs: dict[str, Node] = {}
        self._moved: dict[
            Node, Node
        ] = {}  # the statement that each statement of the after side repeats
        self._taken: set[Node] = set()  # these, with all that is in them
        for top in before.nodes:
            for node in top.walk():
                if node.role == "run":
                    self._runs.setdefault(node.name, node)
                else:
                    self._alike.setdefault(self._hash(node), []).append(node)

    def run(self, name: str) -> Node | None:
        """The `...` with this name."""
        return self._runs.get(name)

    def of(self, node: Node) -> Node | None:
        """A before node of the same syntax: the first that is not kept yet, else the first; None for none.

        A statement or clause is moved, with its comments, and not copied: its counterpart has the same context lines, and is
        neither a part of another's nor changed in place.
        """
        if node in self._moved:
            return self._moved[node]
        alike = [
            candidate
            for candidate in self._alike.get(self._hash(node), ())
            if id(candidate) in self._matched
        ]
        if node.has_lines:
            lines = self._after.context_lines(node)
            alike = [
                candidate
                for candidate in alike
                if candidate not in self._taken and candidate not in self._changed
            ]
            alike = [
                candidate for candidate in alike if self._before.context_lines(candidate) == lines
            ]
        free = (
            candidate
            for candidate in alike
            if id(candidate) not in self._kept and same(candidate, node)
        )
        counterpart = next(free, None) or next(
            (candidate for candidate in alike if same(candidate, node)), None
        )
        if counterpart is not None and node.has_lines:
            self._moved[node] = counterpart
            self._taken.update(counterpart.walk())
        return counterpart

    def _hash(self, node: Node) -> int:
        """A number that is the same for nodes that are the same by `same`."""
        if node not in self._hashes:
            parts: list[object] = []
            for value in node.fields.values():
                # keyword arguments in any order; an empty list is the same as none
                if isinstance(value, list):
                    parts.append(sum(map(self._hash, value)) if value else None)
                else:
                    parts.append(self._hash(value) if isinstance(value, Node) else value or None)
            self._hashes[node] = hash(
                (
                    node.kind,
                    node.role,
                    node.name if node.role else "",
                    *([] if node.role else parts),
                )
            )
        return self._hashes[node]
