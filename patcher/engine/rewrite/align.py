"""Pairs the nodes of the before side with those of the after side: what a change keeps (rule 11).

Nodes on the same context line are paired first; then statements that have a context line in common;
then nodes of the same syntax; then of the same kind with a part in common.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice, product
from typing import Collection, Iterator, Sequence, Tuple

from patcher.engine.node import CLAUSES, COMPOUND, Node, Value, keyword, same
from patcher.engine.spatch.side import Hunk, Side
from patcher.record import Record
from patcher.text.lines import best_pairs

NodePair = Tuple[Node, Node]
_HEADED = (COMPOUND | CLAUSES) - {"Match"}  # what has a header and a body
_NAMING_FIELDS = {"Keyword": "arg", "Param": "name"}
_TABLE = 2_500  # pairs of nodes that are compared at once: a longer list is split first

# how well two nodes pair; only which is greater counts
_SAME_LINE = 1000
_SAME_RUN = 999
_SHARED_LINE = 500
_SAME_SYNTAX = 100
_SAME_NAME = 20
_SHARED_PART = 10
_RELATED_ELEMENTS = 7
_RELATED = 5
_SAME_KIND = 2


class Gap(Record):
    """What an alignment deletes and inserts between the kept neighbours `above` and `below`."""

    above: NodePair | None
    deleted: list[Node]
    inserted: list[Node]
    below: NodePair | None


def align(
    hunk: Hunk,
    before: Sequence[Node],
    after: Sequence[Node],
) -> tuple[list[NodePair], list[Gap]]:
    """Pair two lists in order; returns the pairs and the gaps between them."""
    pairs = _best_pairs(hunk, before, after)
    gaps: list[Gap] = []
    above: NodePair | None = None
    old_start = new_start = 0
    for below in [*pairs, None]:
        old_end = len(before)
        new_end = len(after)
        if below is not None:
            old, new = below
            old_end = before.index(old, old_start)
            new_end = after.index(new, new_start)

        deleted = list(before[old_start:old_end])
        inserted = list(after[new_start:new_end])
        if deleted or inserted:
            gap = Gap(above, deleted, inserted=inserted, below=below)
            gaps.append(gap)

        above = below
        old_start = old_end + 1
        new_start = new_end + 1

    return pairs, gaps


def align_arguments(
    hunk: Hunk,
    before: Sequence[Node],
    after: Sequence[Node],
) -> tuple[list[NodePair], list[Gap]]:
    """Like `align`; keyword arguments pair by name, since their order does not matter.

    One that is inserted goes below all that the after side has above it.
    """
    named = {keyword(node): node for node in before if keyword(node)}
    by_name: list[NodePair] = []
    for node in after:
        partner = named.get(keyword(node))
        if partner is not None:
            by_name.append((partner, node))

    best = _best_pairs(hunk, before, after)
    in_order = set(map(_ids, best))
    if in_order.issuperset(map(_ids, by_name)):
        return align(hunk, before, after)

    old_ids = {id(old) for old, _ in by_name}
    new_ids = {id(new) for _, new in by_name}
    olds = [node for node in before if id(node) not in old_ids]
    news = [node for node in after if id(node) not in new_ids]
    pairs, gaps = align(hunk, olds, after=news)
    pairs += by_name

    for index, gap in enumerate(gaps):
        first = gap.inserted[0] if gap.inserted else None
        if first is not None and keyword(first):
            place = after.index(first)
            above = [(old, new) for old, new in pairs if after.index(new) < place]
            gaps[index] = gap._replace(above=_lowest(before, above))

    return pairs, gaps


def _lowest(before: Sequence[Node], pairs: Sequence[NodePair]) -> NodePair | None:
    """The pair that is last on the before side, None without pairs."""

    def place(pair: NodePair) -> int:
        old, _ = pair
        return before.index(old)

    return max(pairs, key=place, default=None)


def _ids(pair: NodePair) -> tuple[int, int]:
    """The ids of the two nodes of a pair."""
    old, new = pair
    return id(old), id(new)


# whole hunks -------------------------------------------------------------------------------------
class Alignment(Record):
    """How two lists of statements, clauses or decorators pair.

    `path` says of which list of the hunk's before side.
    """

    path: str
    before: Sequence[Node]
    pairs: list[NodePair]
    gaps: list[Gap]


def alignments(
    hunk: Hunk,
    before: Sequence[Node],
    after: Sequence[Node],
    path: str = "",
) -> Iterator[Alignment]:
    """The alignments of two lists of nodes that have lines, and of those inside their pairs."""
    pairs, gaps = align(hunk, before, after)
    yield Alignment(path, before, pairs=pairs, gaps=gaps)
    for old, new in pairs:
        if not old.has_body or old.role:
            continue

        statement_path = f"{path}/{before.index(old)}"
        lists = zip(_lists(old), _lists(new))
        for key, (olds, news) in enumerate(lists):
            list_path = f"{statement_path}.{key}"
            yield from alignments(hunk, olds, after=news, path=list_path)


def _lists(node: Node) -> tuple[list[Node], ...]:
    """The lists of a compound statement or clause: its decorators, its body and its clauses."""
    body = node.fields.get("body")
    statements = body.statements() if isinstance(body, Node) else []
    return node.items("decorators"), statements, node.items("clauses")


def insertion_anchors(hunk: Hunk) -> Iterator[str]:
    """Where a hunk inserts whole lines, relative to its before side.

    Two hunks with one before side and one anchor collide.
    """
    for alignment in alignments(hunk, hunk.before.nodes, after=hunk.after.nodes):
        for gap in alignment.gaps:
            if gap.inserted and not gap.deleted:
                yield _anchor(hunk, alignment, gap=gap)


def _anchor(hunk: Hunk, alignment: Alignment, gap: Gap) -> str:
    """Where a gap inserts whole lines: below which node of which list, with a blank line or not."""
    path = alignment.path
    if gap.above is None:
        return f"{path}/-1"

    old, new = gap.above
    anchor = f"{path}/{alignment.before.index(old)}"
    if hunk.after.blank_between(new, gap.inserted[0]):
        anchor += " "
    return anchor


# what two nodes have in common -------------------------------------------------------------------
def shares(before: Node, after: Node) -> bool:
    """Whether two nodes of one kind have a part in common."""
    return any(old and same(old, after.fields[key]) for key, old in before.fields.items())


def has_part(node: Node, inner: Node) -> bool:
    """Whether the expression `inner` is a part of `node`."""
    if inner.has_body:
        return False

    parts = islice(node.walk(), 1, None)  # without the node itself
    return any(same(part, inner) for part in parts)


def related(old: Value, new: Value) -> bool:
    """Whether one piece of syntax is the other one changed.

    What they have in common keeps its bytes then.
    """
    if isinstance(old, list) and isinstance(new, list):
        return any(same(before, after) for before, after in product(old, new))
    if not isinstance(old, Node) or not isinstance(new, Node):
        return False
    if old.kind != new.kind or old.role or new.role:
        return False
    if old.kind in ("Tuple", "List", "Dict", "Set") or shares(old, new):
        return True
    return any(related(value, new.fields[key]) for key, value in old.fields.items())


class _LinedNode(Record):
    """A node and the context lines that it has."""

    node: Node
    lines: set[int]


def _likeness(hunk: Hunk, before: _LinedNode, after: _LinedNode) -> int:
    """How well two nodes pair; 0 if they must not."""
    old = before.node
    new = after.node
    if old.role == "run" or new.role == "run":
        is_same_run = old.role == new.role and old.name == new.name
        return _SAME_RUN if is_same_run else 0

    if _is_one_line(hunk, old, new):
        return _SAME_LINE
    if (before.lines or after.lines) and before.lines.isdisjoint(after.lines):
        return 0
    if same(old, new):
        return _SAME_SYNTAX

    if before.lines and (old.kind == new.kind or _have_headers(old, new)):
        is_wrapped = _holds(hunk.before, old, inner=new, lines=after.lines)
        is_unwrapped = _holds(hunk.after, new, inner=old, lines=before.lines)
        return 0 if is_wrapped or is_unwrapped else _SHARED_LINE

    if old.role or new.role:
        return 0
    if old.field() == new.field() == "doc":
        return _SHARED_PART

    if old.kind != new.kind:
        has_same_body = _have_headers(old, new) and same(old.node("body"), new.node("body"))
        return _RELATED if has_same_body else 0

    if old.is_definition:  # one node, even with another name (rule 11)
        if same(old.fields["name"], new.fields["name"]):
            return _SAME_NAME

        is_wrapped = _holds(hunk.before, old, inner=new, lines=after.lines)
        return 0 if is_wrapped else _SAME_KIND

    if old.is_compound and (_repeats(new, old) or _repeats(old, new)):
        return 0  # it is wrapped or unwrapped

    naming_field = _NAMING_FIELDS.get(old.kind)
    if naming_field is None:
        return _likeness_by_parts(old, new)

    has_same_name = same(old.fields[naming_field], new.fields[naming_field])
    return _SAME_NAME if has_same_name else 0


def _likeness_by_parts(old: Node, new: Node) -> int:
    """How well two nodes of one kind pair by what they have in common."""
    if old.is_clause or shares(old, new):
        return _SHARED_PART

    if old.kind == "Match":
        writes_clauses = old.items("clauses") or new.items("clauses")
        if not writes_clauses:
            return _SHARED_PART  # what they do not write is what is there

    if old.is_compound or not related(old, new):
        return 0

    old_elements = old.fields.get("elements")
    new_elements = new.fields.get("elements")
    has_related_elements = related(old_elements, new_elements)
    return _RELATED_ELEMENTS if has_related_elements else _RELATED


def _best_pairs(
    hunk: Hunk,
    before: Sequence[Node],
    after: Sequence[Node],
) -> list[NodePair]:
    """The pairing in order with the highest total likeness."""
    # common ends: a literal of hundreds of entries is compared only where it changes
    shorter = min(len(before), len(after))
    head = 0
    while head < shorter and _is_certain(hunk, before[head], after[head]):
        head += 1

    old_end = len(before)
    new_end = len(after)
    while min(old_end, new_end) > head:
        if not _is_certain(hunk, before[old_end - 1], after[new_end - 1]):
            break

        old_end -= 1
        new_end -= 1

    at_head = zip(before[:head], after[:head])
    at_tail = zip(before[old_end:], after[new_end:])
    between = _pairs_between(hunk, before[head:old_end], after[head:new_end])
    return [*at_head, *between, *at_tail]


def _pairs_between(
    hunk: Hunk,
    before: Sequence[Node],
    after: Sequence[Node],
) -> list[NodePair]:
    """The best pairs of two lists with different ends."""
    if len(before) * len(after) > _TABLE:
        old_split, new_split = _split(hunk, before, after)
        above = _best_pairs(hunk, before[:old_split], after[:new_split])
        below = _best_pairs(hunk, before[old_split:], after[new_split:])
        return [*above, *below]

    olds = _with_lines(hunk.before, before)
    news = _with_lines(hunk.after, after)
    table: list[list[int]] = []
    for old in olds:
        row = [_likeness(hunk, old, new) for new in news]
        table.append(row)

    pairs: list[NodePair] = []
    for old_index, new_index in best_pairs(table):
        pairs.append((before[old_index], after[new_index]))

    return pairs


def _split(
    hunk: Hunk,
    before: Sequence[Node],
    after: Sequence[Node],
) -> tuple[int, int]:
    """Where to split two long lists: at a node that occurs once in each of them.

    It is the one nearest to the middle of the first list.
    """
    olds = _with_kept_lines(hunk.before, before)
    news = _with_kept_lines(hunk.after, after)
    times = Counter(olds + news)
    new_indices = {key: index for index, key in enumerate(news)}

    middle = len(olds) // 2
    candidates: list[tuple[int, int, int]] = []
    for index, key in enumerate(olds):
        new_index = new_indices.get(key, 0)
        is_inside = index > 0 and new_index > 0
        if is_inside and times[key] == 2:
            distance = abs(index - middle)
            candidates.append((distance, index, new_index))

    if not candidates:
        return middle, len(news) // 2

    _, old_split, new_split = min(candidates)
    return old_split, new_split


def _with_kept_lines(side: Side, nodes: Sequence[Node]) -> list[tuple[int, str]]:
    """The syntax of nodes of a side, each with the number of its context line."""
    return [(side.kept_line(node), repr(node)) for node in nodes]


def _is_certain(hunk: Hunk, old: Node, new: Node) -> bool:
    """Whether two nodes pair whatever is beside them.

    They are on one context line, or they are the same and on none.
    """
    if "run" in (old.role, new.role):  # the implicit body of a header is on the header's line
        return old.role == new.role and old.name == new.name
    if _is_one_line(hunk, old, new):
        return True
    if not same(old, new):
        return False
    return not _has_context(hunk.before, old) and not _has_context(hunk.after, new)


def _with_lines(side: Side, nodes: Sequence[Node]) -> list[_LinedNode]:
    """Nodes of a side with their context lines."""
    return [_LinedNode(node, side.context_lines(node)) for node in nodes]


def _has_context(side: Side, node: Node) -> bool:
    """Whether a node is on a context line, or has one."""
    return bool(side.kept_line(node) or side.context_lines(node))


def _is_one_line(hunk: Hunk, old: Node, new: Node) -> bool:
    """Whether two nodes are what one context line says.

    Of `def g(): return a` that is the `def`, and not its `return`.
    """
    line = hunk.before.kept_line(old)
    if not line or line != hunk.after.kept_line(new):
        return False
    return old.kind == new.kind or _have_headers(old, new)


def _holds(
    side: Side,
    node: Node,
    inner: Node,
    lines: set[int],
) -> bool:
    """Whether a statement with these context lines is inside another one.

    Then it is wrapped or unwrapped, and not changed.
    """
    for part in node.walk():
        is_alike = part.kind == inner.kind and same(part, inner)
        if is_alike and side.context_lines(part) == lines:
            return True

    return False


def _repeats(node: Node, inner: Node) -> bool:
    """Whether a statement of the same syntax as `inner` is inside another one."""
    parts = islice(node.walk(), 1, None)  # without the node itself
    return any(part.kind == inner.kind and same(part, inner) for part in parts)


def _have_headers(old: Node, new: Node) -> bool:
    """Whether both nodes have a header and a body."""
    return old.kind in _HEADED and new.kind in _HEADED


# what stands elsewhere ---------------------------------------------------------------------------
class Counterparts:
    """The nodes of the before side, by their syntax.

    A literal of hundreds of entries is not searched for each of them.

    Args:
        hunk: the hunk.
        matched: ids of the before nodes that matched code of the file; only these count.
        kept: ids of the before nodes whose code is kept so far.
        changed: the before nodes with lines of their own that are changed in place.
    """

    def __init__(
        self,
        hunk: Hunk,
        matched: Collection[int],
        kept: Collection[int],
        changed: Collection[Node],
    ) -> None:
        self._before = hunk.before
        self._after = hunk.after
        self._matched = matched
        self._kept = kept
        self._changed = changed
        self._hashes: dict[Node, int] = {}
        self._alike: dict[int, list[Node]] = {}
        self._runs: dict[str, Node] = {}
        # the statement that each statement of the after side repeats
        self._moved: dict[Node, Node] = {}
        self._taken: set[Node] = set()  # these, with all that is in them
        for node in self._before.walk():
            if node.role == "run":
                self._runs.setdefault(node.name, node)
            else:
                alike = self._alike.setdefault(self._hash(node), [])
                alike.append(node)

    def run(self, name: str) -> Node | None:
        """The `...` with this name."""
        return self._runs.get(name)

    def of(self, node: Node) -> Node | None:
        """A before node of the same syntax: the first that is not kept yet, else the first.

        A statement or clause is moved, with its comments, and not copied: its counterpart has the
        same context lines, and is neither a part of another's nor changed in place.
        """
        if node in self._moved:
            return self._moved[node]

        first: Node | None = None
        first_free: Node | None = None
        lines: set[int] = set()
        if node.has_lines:
            lines = self._after.context_lines(node)

        for candidate in self._alike.get(self._hash(node), ()):
            if id(candidate) not in self._matched:
                continue
            if node.has_lines and not self._may_move(candidate, lines):
                continue
            if not same(candidate, node):
                continue

            first = first or candidate
            if id(candidate) not in self._kept:
                first_free = candidate
                break

        counterpart = first_free or first
        if counterpart is not None and node.has_lines:
            self._moved[node] = counterpart
            self._taken.update(counterpart.walk())

        return counterpart

    def _may_move(self, candidate: Node, lines: set[int]) -> bool:
        """Whether a statement of the before side can be one with these lines of the after side."""
        if candidate in self._taken or candidate in self._changed:
            return False
        return self._before.context_lines(candidate) == lines

    def _hash(self, node: Node) -> int:
        """A number that is the same for nodes that are the same by `same`."""
        if node in self._hashes:
            return self._hashes[node]

        parts: list[object] = []
        if node.role:
            parts.append(node.name)
        else:
            for value in node.fields.values():
                parts.append(self._hash_of(value))

        self._hashes[node] = hash((node.kind, node.role, *parts))
        return self._hashes[node]

    def _hash_of(self, value: Value) -> object:
        """What a field counts as in the hash of its node."""
        if isinstance(value, Node):
            return self._hash(value)
        if not value:  # an empty list is the same as none
            return None
        if isinstance(value, list):
            return sum(map(self._hash, value))  # keyword arguments may be in any order
        return value
