"""Pairs of hunks that are for the same code of a file."""

from __future__ import annotations

from typing import Mapping, Sequence

from patcher.engine.match import Matcher
from patcher.engine.node import Node, only_runs, same, walk_each
from patcher.engine.spatch.pattern import compile_hunks
from patcher.engine.spatch.side import Hunk
from patcher.model import HunkText, OptionValue


def overlaps(
    hunks: Sequence[HunkText], options: Mapping[str, OptionValue]
) -> tuple[tuple[int, int], ...]:
    """The hunks for one file that change what another one changes: the 1-based lines of both `@@`.

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    meeting = []
    compiled = compile_hunks(hunks, options)
    for hunk in compiled:
        for other in compiled:
            if hunk is other or hunk.text.scope != other.text.scope:
                continue
            if _has_same_before_side(hunk, other) or _is_in_removed_code(hunk, other):
                meeting.append((hunk.text.line, other.text.line))
    return tuple(meeting)


def _has_same_before_side(hunk: Hunk, other: Hunk) -> bool:
    """Whether two hunks look for the same code; `...` alone says nothing."""
    if hunk.form != other.form or only_runs(hunk.before.nodes):
        return False
    return repr(hunk.before.nodes) == repr(other.before.nodes)


def _is_in_removed_code(hunk: Hunk, other: Hunk) -> bool:
    """Whether a hunk is for an expression inside the code that another hunk removes."""
    if hunk.form != "expression" or hunk.text.flags.when_present or other.text.flags.when_present:
        return False
    pattern = hunk.before.nodes[0]
    for part in walk_each(other.before.nodes):
        is_code = part.is_expression and not part.role
        if is_code and _removes(other, part) and _matches(pattern, part):
            return True
    return False


def _matches(pattern: Node, node: Node) -> bool:
    """Whether a pattern matches all of a node."""
    return any(True for _ in Matcher().node(pattern, node))


def _removes(hunk: Hunk, part: Node) -> bool:
    """Whether a hunk removes a part of its before side.

    It does not keep what is on a context line, or is in its after side as well.
    """
    if hunk.before.number(part) in hunk.before.context:
        return False
    return not any(same(part, node) for node in walk_each(hunk.after.nodes))
