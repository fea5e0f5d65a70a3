"""Whether the change of a hunk is in place at a match of its before side (format rule 22): a claim that needs proof.

A match of the after side that covers one of the before side proves it only by what was compared: not by what a `...` or a
metavariable stands for, nor by parts that the hunk does not write. Code that the hunk would change there is to be changed.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple, Sequence

from patcher.engine.match import Bound, Match, MatchRange
from patcher.engine.node import Node, Value, same
from patcher.engine.rewrite.align import Gap, NodePair, align, align_arguments, has_part
from patcher.engine.spatch.side import Hunk, Side

_OPTIONAL = ("decorators", "clauses", "doc", "returns", "annotation", "type_parameters")


class ChangedParts(NamedTuple):
    """What a hunk changes, by the nodes of its two sides.

    `replaced` are the nodes of the before side that do not stay as they are, `anchors` those that stay beside an insertion,
    each with its node of the after side, `deleted` the statements and clauses in the place of which nothing comes.
    """

    replaced: list[Node]
    anchors: list[NodePair]
    deleted: list[list[Node]]


def change_of(hunk: Hunk) -> ChangedParts:
    """What a hunk changes."""
    change = ChangedParts([], [], [])
    _compare_lists(hunk, hunk.before.nodes, hunk.after.nodes, change)
    moved = {(node.role, node.name) for top in hunk.after.nodes for node in top.walk() if node.role}
    replaced = [node for node in change.replaced if (node.role, node.name) not in moved]
    return change._replace(replaced=replaced)


def _compare(hunk: Hunk, old: Node, new: Node, change: ChangedParts) -> None:
    if same(old, new):
        return
    if old.kind != new.kind or old.role or new.role or has_part(old, new) or has_part(new, old):
        change.replaced.append(old)
        return
    for key, value in old.fields.items():
        _compare_field(hunk, old, (value, new.fields[key]), change, arguments=key == "args")


def _compare_field(
    hunk: Hunk, old: Node, values: tuple[Value, Value], change: ChangedParts, *, arguments: bool
) -> None:
    before, after = values
    if same(before, after):
        return
    if isinstance(before, list) and isinstance(after, list):
        _compare_lists(hunk, before, after, change, arguments=arguments)
    elif not (isinstance(before, Node) and isinstance(after, Node)):
        change.replaced.append(old)
    elif before.kind == after.kind == "Block":
        _compare_lists(hunk, before.statements(), after.statements(), change)
    else:
        _compare(hunk, before, after, change)


def _compare_lists(
    hunk: Hunk,
    before: Sequence[Node],
    after: Sequence[Node],
    change: ChangedParts,
    *,
    arguments: bool = False,
) -> None:
    pairs, gaps = (align_arguments if arguments else align)(hunk, before, after)
    for gap in gaps:
        _add_gap(gap, change)
    for old, new in pairs:
        _compare(hunk, old, new, change)


def _add_gap(gap: Gap, change: ChangedParts) -> None:
    change.replaced.extend(gap.deleted)
    whole = [node for node in gap.deleted if not node.role]
    if whole and not gap.inserted and all(node.has_lines for node in whole):
        change.deleted.append(gap.deleted)
    if gap.inserted and not gap.deleted:
        neighbours = [pair for pair in (gap.above, gap.below) if pair is not None]
        change.anchors.extend(pair for pair in neighbours if pair[0].role != "run")


def is_in_place(
    hunk: Hunk, change: ChangedParts, place: MatchRange, after_places: Sequence[MatchRange]
) -> bool:
    """Whether each way in which the before side matches a place is accounted for by a match of the after side."""
    proofs = [
        match
        for after in after_places
        if after.start <= place.start and place.end <= after.end
        for match in after.matches
    ]
    holes = [list(_not_compared(hunk.after, match)) for match in proofs]
    return bool(proofs) and all(
        any(_proves(change, match, *proof) for proof in zip(proofs, holes))
        for match in place.matches
    )


def _proves(
    change: ChangedParts, before: Match, after: Match, holes: Sequence[tuple[int, int]]
) -> bool:
    """Whether one match of the after side proves that the change is made at one match of the before side."""

    def is_compared(start: int, end: int) -> bool:
        return not any(low <= start and end <= high for low, high in holes)

    if not is_compared(before.start, before.end):
        return False
    for node in change.replaced:
        for code in _codes(before.nodes.get(id(node))):
            if not is_compared(code.begin, code.end):
                return False
    for old, new in change.anchors:
        anchor = before.nodes.get(id(old))
        if anchor is after.nodes.get(id(new)):
            continue
        if not all(is_compared(code.begin, code.end) for code in _codes(anchor)):
            return False
    return True


def _not_compared(side: Side, match: Match) -> Iterator[tuple[int, int]]:
    """The ranges of code inside a match of a side that were not compared with what the side says."""
    for bound in match.nodes.values():
        if isinstance(bound, list):  # a run, be it written or not
            yield from ((code.begin, code.end) for code in bound)
    for pattern in (node for top in side.nodes for node in top.walk()):
        code = match.nodes.get(id(pattern))
        if not isinstance(code, Node):
            continue
        if pattern.role == "meta":
            yield code.begin, code.end
            continue
        for key in _OPTIONAL:
            if not pattern.fields.get(key):
                yield from ((part.begin, part.end) for part in _codes(code.fields.get(key)))


def written(hunk: Hunk, match: Match) -> Iterator[Node]:
    """The code that the after side of a hunk writes, of one of its matches."""
    for pattern in (node for top in hunk.after.nodes for node in top.walk()):
        code = match.nodes.get(id(pattern))
        if isinstance(code, Node) and not pattern.role:
            yield code


def _codes(bound: Bound | Value) -> list[Node]:
    if isinstance(bound, list):
        return bound
    return [bound] if isinstance(bound, Node) else []
