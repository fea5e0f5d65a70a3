"""Two patchsets for one file, of which one changes the context of the other: both apply. Pure.

The second is matched in the text without the first, and the changes of both are merged by lines:
exactly, or not at all.
"""

from __future__ import annotations

from typing import Sequence

from patcher.engine.engine import splices_problem
from patcher.model import SOURCE, HunkAnswer, Rewrite, Splice
from patcher.planner.merge import Overlap, line_starts, merge_splices
from patcher.text.lines import LineEdit, line_edits


def merge_lines(
    before: bytes, alone: Rewrite, data: bytes, path: str, names: Sequence[str]
) -> Rewrite | None:
    """Apply a patchset to a text in which others have changed its context.

    Args:
        before: the text without the others.
        alone: what the patchset makes of `before`.
        data: the text with the others.
        path: the path of the file.
        names: names that exist at run time without being bound in the file.

    Returns:
        the result for `data`; None where both change the same line, or the result would be broken.
    """
    if not alone.splices:
        return None
    try:
        result = merge_splices(before, alone.splices, edited=data)
    except Overlap:
        return None
    splices = _line_splices(data, result)
    if path.endswith(SOURCE) and splices_problem(data, splices, names):
        return None

    edits = line_edits(before.splitlines(keepends=True), data.splitlines(keepends=True))
    answers = tuple(_moved(answer, edits) for answer in alone.answers)
    return Rewrite(result, splices, answers=answers)


def _line_splices(before: bytes, after: bytes) -> tuple[Splice, ...]:
    """The splices of whole lines that lead from one text to another."""
    old_lines = before.splitlines(keepends=True)
    new_lines = after.splitlines(keepends=True)
    starts = line_starts(old_lines)
    splices: list[Splice] = []
    for start, end, new_start, new_end in line_edits(old_lines, new_lines):
        new = b"".join(new_lines[new_start:new_end])
        splices.append(Splice(starts[start], starts[end], new=new))
    return tuple(splices)


def _moved(answer: HunkAnswer, edits: Sequence[LineEdit]) -> HunkAnswer:
    """An answer with its places in the text that edits of whole lines lead to, without splices."""
    places: list[int] = []
    for place in answer.places:
        shift = 0
        for start, end, new_start, new_end in edits:
            if end < place:
                shift += (new_end - new_start) - (end - start)
        places.append(place + shift)
    return answer._replace(places=tuple(places), splices=())
