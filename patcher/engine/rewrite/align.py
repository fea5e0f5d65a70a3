"""Pairs the nodes of the before side with those of the after side: the alignment decides what a change keeps.

Nodes on the same context line are paired first; else nodes of the same syntax; else of the same kind with a part in common.
"""

from __future__ import annotations

from collections import Counter
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.engine.node import CLAUSES, COMPOUND, Node, Value, index_of, keyword, same
from patcher.engine.spatch.side import Hunk, Side

NodePair = Tuple[Node, Node]
_TABLE = 2_500  # pairs of nodes that are compared at once: a longer list is split first


class Gap(NamedTuple):
    """The nodes that an alignment deletes and inserts between two kept neighbours, the pairs `above` and `below`."""

    above: Optional[NodePair]
    deleted: List[Node]
    inserted: List[Node]
    below: Optional[NodePair]


def align(hunk: Hunk, before: Sequence[Node], after: Sequence[Node]) -> Tuple[List[NodePair], List[Gap]]:
    """Pair two lists in order; returns the pairs and the gaps between them."""
    pairs = _best(hunk, before, after)
    gaps: List[Gap] = []
    i = j = 0
    above: Optional[NodePair] = None
    for below in [*pairs, None]:
        end_i = index_of(before, below[0], i) if below else len(before)
        end_j = index_of(after, below[1], j) if below else len(after)
        if end_i > i or end_j > j:
            gaps.append(Gap(above, list(before[i:end_i]), list(after[j:end_j]), below))
        i, j, above = end_i + 1, end_j + 1, below
    return pairs, gaps


def align_arguments(hunk: Hunk, before: Sequence[Node], after: Sequence[Node]) -> Tuple[List[NodePair], List[Gap]]:
    """Like `align`; keyword arguments pair by name wherever they stand, since their order does not matter."""
    names = {keyword(node): node for node in before if keyword(node)}
    moved = [(names[keyword(node)], node) for node in after if keyword(node) in names]
    in_order = _best(hunk, before, after)
    if {(id(old), id(new)) for old, new in moved} <= {(id(old), id(new)) for old, new in in_order}:
        return align(hunk, before, after)
    olds, news = {id(old) for old, _ in moved}, {id(new) for _, new in moved}
    rest = align(hunk, [node for node in before if id(node) not in olds], [node for node in after if id(node) not in news])
    return [*rest[0], *moved], rest[1]


def insertion_anchors(hunk: Hunk, before: Sequence[Node], after: Sequence[Node], path: str = "") -> Iterator[str]:
    """Where a hunk inserts whole lines, relative to its before side: two hunks with one before side and one anchor collide."""
    pairs, gaps = align(hunk, before, after)
    for gap in gaps:
        if gap.inserted and not gap.deleted:
            parted = gap.above is not None and hunk.after.blank_between(gap.above[1], gap.inserted[0])
            yield f"{path}/{index_of(before, gap.above[0]) if gap.above else -1}{' ' * parted}"
    for old, new in pairs:
        if "body" in old.fields and "body" in new.fields and old.kind != "Lambda" and not old.role:
            where = f"{path}/{index_of(before, old)}"
            yield from insertion_anchors(hunk, old.node("body").items("body"), new.node("body").items("body"), where)


def shares(before: Node, after: Node) -> bool:
    """Whether two nodes of one kind have a part in common."""
    return any(same(old, after.fields[key]) and old for key, old in before.fields.items())


def related(old: Value, new: Value) -> bool:
    """Whether one piece of syntax is the other one changed, so that what they have in common keeps its bytes."""
    if isinstance(old, list) and isinstance(new, list):
        return any(same(one, other) for one in old for other in new)
    if not (isinstance(old, Node) and isinstance(new, Node)) or old.kind != new.kind or old.role or new.role:
        return False
    fields = [(value, new.fields[key]) for key, value in old.fields.items()]
    return old.kind in ("Tuple", "List", "Dict", "Set") or shares(old, new) or any(related(*pair) for pair in fields)


def _likeness(hunk: Hunk, old: Node, new: Node) -> int:
    """How well two nodes pair; 0 if they must not."""
    if old.role == "run" or new.role == "run":
        return 1000 if old.role == new.role and old.name == new.name else 0
    if _one_line(hunk, old, new):
        return 1000
    if same(old, new):
        return 100
    if old.role or new.role:
        return 0
    if old.field() == new.field() == "doc":
        return 10
    if old.kind != new.kind:
        return 5 if _headed(old, new) and same(old.fields.get("body"), new.fields.get("body")) else 0
    if old.kind in ("FunctionDef", "ClassDef"):  # one node, even with another name (rule 11)
        return 20 if same(old.fields["name"], new.fields["name"]) else 0 if _holds(old, new) else 2
    if old.kind in ("Keyword", "Param"):
        return 20 if same(*(node.fields["arg" if old.kind == "Keyword" else "name"] for node in (old, new))) else 0
    if old.kind in CLAUSES or shares(old, new) or (old.kind in COMPOUND and _share_line(hunk, old, new)):
        return 10
    if old.kind in COMPOUND or not related(old, new):
        return 0
    return 7 if related(old.fields.get("elements"), new.fields.get("elements")) else 5


def _best(hunk: Hunk, before: Sequence[Node], after: Sequence[Node]) -> List[NodePair]:
    """The pairing in order with the highest total likeness (dynamic programming, as for a longest common subsequence)."""
    head = tail = 0  # common ends: a literal of hundreds of entries is compared only where it changes
    while head < min(len(before), len(after)) and _certain(hunk, before[head], after[head]):
        head += 1
    while tail < min(len(before), len(after)) - head and _certain(hunk, before[-1 - tail], after[-1 - tail]):
        tail += 1
    ends = list(zip(before, after[:head])), list(zip(before[len(before) - tail :], after[len(after) - tail :]))
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    if len(before) * len(after) > _TABLE:
        i, j = _cut(hunk, before, after)
        return [*ends[0], *_best(hunk, before[:i], after[:j]), *_best(hunk, before[i:], after[j:]), *ends[1]]
    like = [[_likeness(hunk, old, new) for new in after] for old in before]
    best: Dict[Tuple[int, int], int] = {}
    for i in range(len(before) - 1, -1, -1):
        for j in range(len(after) - 1, -1, -1):
            skip = max(best.get((i + 1, j), 0), best.get((i, j + 1), 0))
            best[i, j] = max(skip, like[i][j] + best.get((i + 1, j + 1), 0) if like[i][j] else 0)
    pairs: List[NodePair] = []
    i = j = 0
    while i < len(before) and j < len(after):
        if like[i][j] and best[i, j] == like[i][j] + best.get((i + 1, j + 1), 0):
            pairs.append((before[i], after[j]))
            i, j = i + 1, j + 1
        elif best[i, j] == best.get((i + 1, j), 0):
            i += 1
        else:
            j += 1
    return [*ends[0], *pairs, *ends[1]]


def _cut(hunk: Hunk, before: Sequence[Node], after: Sequence[Node]) -> Tuple[int, int]:
    """Where to split two long lists: nearest to the middle of the first, at a node that occurs once in each of them."""
    old = [(hunk.before.kept_line(node), repr(node)) for node in before]
    new = [(hunk.after.kept_line(node), repr(node)) for node in after]
    times, middle, found = Counter(old + new), len(old) // 2, {key: index for index, key in enumerate(new)}
    once = [(abs(i - middle), i, found[key]) for i, key in enumerate(old) if times[key] == 2 and found.get(key, 0) and i]
    return min(once, default=(0, middle, len(new) // 2))[1:]


def _certain(hunk: Hunk, old: Node, new: Node) -> bool:
    """Whether two nodes pair whatever is beside them: on one context line, or the same and on none."""
    if "run" in (old.role, new.role):  # the implicit body of a header is on the header's line
        return _likeness(hunk, old, new) > 0
    on_none = not hunk.before.kept_line(old) and not hunk.after.kept_line(new)
    return _one_line(hunk, old, new) or (on_none and same(old, new))


def _one_line(hunk: Hunk, old: Node, new: Node) -> bool:
    """Whether two nodes are what one context line says; of `def g(): return a` that is the `def`, and not its `return`."""
    line = hunk.before.kept_line(old)
    return bool(line) and line == hunk.after.kept_line(new) and (old.kind == new.kind or _headed(old, new))


def _share_line(hunk: Hunk, old: Node, new: Node) -> bool:
    """Whether two compound statements of one kind share a context line, of their headers or directly in them."""
    headers = hunk.before.context_header(old) & hunk.after.context_header(new)
    return bool(headers) or bool(_inner_lines(hunk.before, old) & _inner_lines(hunk.after, new))


def _inner_lines(side: Side, node: Node) -> Set[Tuple[int, str]]:
    body = node.node("body").statements() if node.kind != "Match" else []
    return {(side.kept_line(inner), inner.kind) for inner in (*body, *node.items("clauses")) if side.kept_line(inner)}


def _holds(node: Node, inner: Node) -> bool:
    """Whether a statement is inside another one: it is unwrapped, and not renamed."""
    return any(part.kind == inner.kind and same(part, inner) for part in node.walk())


def _headed(old: Node, new: Node) -> bool:
    return old.kind in COMPOUND | CLAUSES and new.kind in COMPOUND | CLAUSES
