"""Two hunks of one file that are for the same code."""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from patcher.engine.match import Matcher
from patcher.engine.node import same
from patcher.engine.spatch.pattern import compile_hunks
from patcher.engine.spatch.side import Hunk
from patcher.model import HunkText, OptionValue


def meeting(
    hunks: Sequence[HunkText], options: Mapping[str, OptionValue]
) -> Iterator[tuple[int, int]]:
    """`patcher.engine.engine.overlaps`."""
    compiled = compile_hunks(hunks, options)
    for hunk in compiled:
        for other in compiled:
            if hunk is other or hunk.text.scope != other.text.scope:
                continue
            if _meet(hunk, other):
                yield hunk.text.line, other.text.line


def _meet(hunk: Hunk, other: Hunk) -> bool:
    """Whether a hunk is for the same code as another one of its scope, or for an expression in what that removes."""
    if [repr(node) for node in hunk.before.nodes] == [repr(node) for node in other.before.nodes]:
        return hunk.form == other.form and not all(node.role == "run" for node in hunk.before.nodes)
    if hunk.form != "expression" or hunk.text.flags.when_present or other.text.flags.when_present:
        return False
    pattern = hunk.before.nodes[0]
    stays = [part for top in other.after.nodes for part in top.walk()]
    return any(
        any(True for _ in Matcher().node(pattern, part))
        and not any(same(part, node) for node in stays)
        for top in other.before.nodes
        for part in top.walk()
        if part.is_expression
        and not part.role
        and other.before.number(part) not in other.before.context
    )
