"""Whether the change of a hunk is already in place where its before side matches (format rule 23).

That claim needs proof. A match of the after side that covers a match of the before side proves it
only by what was compared: not by what a `...` or a metavariable stands for, nor by parts that the
hunk does not write. Code that the hunk would change there still has to be changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, Sequence

from patcher.engine.match import Match, MatchRange
from patcher.engine.node import Node, Value, same, walk_each
from patcher.engine.rewrite.align import Gap, NodePair, align, align_arguments, has_part
from patcher.engine.spatch.side import Hunk, Side
from patcher.record import Record

if TYPE_CHECKING:
    from patcher.engine.match import Bound

_OPTIONAL = ("decorators", "clauses", "doc", "returns", "annotation", "type_parameters")


# what a hunk changes ------------------------------------------------------------------------------
class ChangedParts(Record):
    """What a hunk changes, by the nodes of its two sides.

    `replaced` are the nodes of the before side that do not stay as they are, `anchors` those that
    stay beside an insertion, each with its node of the after side, `deleted` the statements and
    clauses in the place of which nothing comes.
    """

    replaced: list[Node]
    anchors: list[NodePair]
    deleted: list[list[Node]]


def change_of(hunk: Hunk) -> ChangedParts:
    """What a hunk changes."""
    comparison = _Comparison(hunk)
    comparison.compare_lists(hunk.before.nodes, hunk.after.nodes)

    placeholders: set[tuple[str, str]] = set()
    for node in walk_each(hunk.after.nodes):
        if node.role:
            placeholders.add((node.role, node.name))

    replaced = []
    for node in comparison.replaced:
        if (node.role, node.name) not in placeholders:  # else it is moved
            replaced.append(node)

    return ChangedParts(replaced, comparison.anchors, deleted=comparison.deleted)


class _Comparison:
    """Compares the two sides of a hunk, and collects what `ChangedParts` has."""

    def __init__(self, hunk: Hunk) -> None:
        self._hunk = hunk
        self.replaced: list[Node] = []
        self.anchors: list[NodePair] = []
        self.deleted: list[list[Node]] = []

    def compare_lists(
        self,
        before: Sequence[Node],
        after: Sequence[Node],
        *,
        arguments: bool = False,
    ) -> None:
        aligned = align_arguments if arguments else align
        pairs, gaps = aligned(self._hunk, before, after)
        for gap in gaps:
            self._add_gap(gap)

        for old, new in pairs:
            self._compare(old, new)

    def _compare(self, old: Node, new: Node) -> None:
        """Compare two nodes that pair."""
        if same(old, new):
            return

        is_other = old.kind != new.kind or old.role or new.role
        if is_other or has_part(old, new) or has_part(new, old):
            self.replaced.append(old)
            return

        for key, value in old.fields.items():
            new_value = new.fields[key]
            self._compare_values(old, value, new_value, arguments=key == "args")

    def _compare_values(
        self,
        old: Node,
        before: Value,
        after: Value,
        *,
        arguments: bool,
    ) -> None:
        """Compare a field of `old` with that of its node of the after side."""
        if same(before, after):
            return
        if isinstance(before, list) and isinstance(after, list):
            self.compare_lists(before, after, arguments=arguments)
        elif not (isinstance(before, Node) and isinstance(after, Node)):
            self.replaced.append(old)
        elif before.kind == after.kind == "Block":
            self.compare_lists(before.statements(), after.statements())
        else:
            self._compare(before, after)

    def _add_gap(self, gap: Gap) -> None:
        """Collect what a gap replaces, deletes or inserts."""
        self.replaced += gap.deleted
        code = [node for node in gap.deleted if not node.role]
        have_lines = all(node.has_lines for node in code)
        if code and have_lines and not gap.inserted:
            self.deleted.append(gap.deleted)

        if gap.deleted or not gap.inserted:
            return

        for pair in (gap.above, gap.below):
            if pair is None:
                continue

            old, _ = pair
            if old.role != "run":
                self.anchors.append(pair)


# what proves it -----------------------------------------------------------------------------------
class _Proof(Record):
    """A match of the after side, and the ranges of code in it that were not compared."""

    match: Match
    holes: list[tuple[int, int]]

    def covers(self, bound: Bound | None) -> bool:
        """Whether the code of a pattern node was compared."""
        return all(self.covers_range(code.begin, code.end) for code in _codes(bound))

    def covers_range(self, start: int, end: int) -> bool:
        """Whether no hole has all of the code between two offsets."""
        return not any(low <= start and end <= high for low, high in self.holes)


def is_in_place(
    hunk: Hunk,
    change: ChangedParts,
    place: MatchRange,
    after_places: Sequence[MatchRange],
) -> bool:
    """Whether each way in which the before side matches a place has a proof.

    A proof is a match of the after side at one of `after_places` that covers the place.
    """
    proofs = []
    for after in after_places:
        is_covered = after.start <= place.start and place.end <= after.end
        if not is_covered:
            continue
        for match in after.matches:
            holes = list(_not_compared(hunk.after, match))
            proofs.append(_Proof(match, holes))

    if not proofs:
        return False
    return all(_has_proof(change, match, proofs) for match in place.matches)


def _has_proof(
    change: ChangedParts,
    before: Match,
    proofs: Sequence[_Proof],
) -> bool:
    """Whether a proof shows that the change is made at one match of the before side."""
    return any(_proves(change, before, proof) for proof in proofs)


def _proves(change: ChangedParts, before: Match, proof: _Proof) -> bool:
    """Whether this proof shows that the change is made at one match of the before side."""
    if not proof.covers_range(before.start, before.end):
        return False

    for node in change.replaced:
        if not proof.covers(before.nodes.get(id(node))):
            return False

    for old, new in change.anchors:
        anchor = before.nodes.get(id(old))
        is_same = anchor is proof.match.nodes.get(id(new))
        if not is_same and not proof.covers(anchor):
            return False

    return True


def _not_compared(side: Side, match: Match) -> Iterator[tuple[int, int]]:
    """The ranges of code in a match of a side that were not compared with the side."""
    for bound in match.nodes.values():
        if isinstance(bound, list):  # a run, be it written or not
            for code in bound:
                yield code.begin, code.end

    for pattern in walk_each(side.nodes):
        node = match.nodes.get(id(pattern))
        if not isinstance(node, Node):
            continue
        if pattern.role == "meta":
            yield node.begin, node.end
            continue
        for key in _OPTIONAL:
            if not pattern.fields.get(key):
                for part in _codes(node.fields.get(key)):
                    yield part.begin, part.end


def written(hunk: Hunk, match: Match) -> Iterator[Node]:
    """The code that a match of the after side of a hunk is compared with: what the hunk writes."""
    for pattern in walk_each(hunk.after.nodes):
        code = match.nodes.get(id(pattern))
        if isinstance(code, Node) and not pattern.role:
            yield code


def _codes(bound: Bound | Value) -> list[Node]:
    """The nodes that are in what is bound, or in a field."""
    if isinstance(bound, list):
        return bound
    if isinstance(bound, Node):
        return [bound]
    return []
