"""Replaces our changes in a file that was edited by hand since: a three-way merge by lines, exact or not at all. Pure.

Our splices are known, so only the edits by hand have to be found. An edit and a splice in the same line, or two insertions
at the same point, are an overlap, and nothing is merged.
"""

from __future__ import annotations

import warnings
from bisect import bisect_right
from typing import NamedTuple, Sequence

from patcher.message import Message
from patcher.model import Splice, Step, apply_splices
from patcher.text.lines import common_ends, line_edits
from patcher.text.splices import compose

_ENDS = (b"\n", b"\r")


class Overlap(Exception):
    """An edit by hand and a change of ours are in the same place.

    Args:
        line: 1-based, in the text that was edited by hand.
        text: that line, or the one that the edit deleted.
    """

    def __init__(self, line: int, text: str) -> None:
        super().__init__(Message("line {line}: {text}", line=line, text=text))
        self.line = line
        self.text = text


class _Edit(NamedTuple):
    """The lines `[start, end)` of a text are replaced by `new`."""

    start: int
    end: int
    new: bytes


def replace_steps(
    pristine: bytes, old: Sequence[Step], new: Sequence[Step], edited: bytes
) -> bytes:
    """Replace the steps `old` by the steps `new` in a text that was edited by hand after the old ones.

    Args:
        pristine: the text before the first step of both.
        old: the steps that led to the text that was then edited.
        new: the steps that replace them; none to revert all.
        edited: the text with the edits, which are kept.

    Raises:
        Overlap: an edit lies where a step has to change something.
    """
    texts = [pristine]
    for step in old:
        texts.append(apply_splices(texts[-1], step.splices))
    try:
        return _step_by_step(texts, old, new, edited)
    except Overlap:
        stays = any(step in old for step in new)
        whole = _whole(texts, old, new, edited) if stays else None
        if whole is None:
            raise
        return whole


def _step_by_step(
    texts: Sequence[bytes], old: Sequence[Step], new: Sequence[Step], edited: bytes
) -> bytes:
    """Undo the old steps, the last one first, and do the new ones; `texts` are those before and after each old step."""
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    for before, after, step in reversed(list(zip(texts[same:], texts[same + 1 :], old[same:]))):
        edited = merge_splices(after, inverse(before, step.splices), edited)
    data = texts[same]
    for step in new[same:]:
        edited = merge_splices(data, step.splices, edited)
        data = apply_splices(data, step.splices)
    return edited


def _whole(
    texts: Sequence[bytes], old: Sequence[Step], new: Sequence[Step], edited: bytes
) -> bytes | None:
    """All steps at once, in which one that is undone and done again is no change; None where an edit is in the way.

    An edit of a line that a step changed which stays is in nobody's way.
    """
    current = texts[-1]
    splices: tuple[Splice, ...] = ()
    for before, step in reversed(list(zip(texts, old))):
        splices = compose(len(current), splices, inverse(before, step.splices))
    for step in new:
        splices = compose(len(current), splices, step.splices)
    try:
        return merge_splices(current, _differing(current, splices), edited)
    except Overlap:
        return None


def _differing(base: bytes, splices: Sequence[Splice]) -> list[Splice]:
    """Splices without what they leave as it is: a step that is undone and done again is no change."""
    differing: list[Splice] = []
    for start, end, new in splices:
        replaced = base[start:end]
        head, tail = common_ends(replaced, new)
        if head + tail < max(len(replaced), len(new)):
            differing.append(Splice(start + head, end - tail, new[head : len(new) - tail]))
    return differing


def inverse(before: bytes, splices: Sequence[Splice]) -> tuple[Splice, ...]:
    """The splices that lead back to `before` from what `splices` made of it."""
    back: list[Splice] = []
    shift = 0
    for start, end, new in splices:
        back.append(Splice(start + shift, start + shift + len(new), before[start:end]))
        shift += len(new) - (end - start)
    return tuple(back)


def merge_splices(base: bytes, splices: Sequence[Splice], edited: bytes) -> bytes:
    """Apply splices that were made for `base` to an edited copy of it.

    Raises:
        Overlap: an edit is where a splice changes something.
    """
    lines, theirs = base.splitlines(keepends=True), edited.splitlines(keepends=True)
    ours = _by_lines(base, lines, splices)
    edits = line_edits(lines, theirs)
    kept: list[_Edit] = []
    for start, end, their_start, their_end in edits:
        edit = _Edit(start, end, b"".join(theirs[their_start:their_end]))
        if edit in ours:
            ours.remove(edit)  # the same change was made by hand
        for our in ours:
            if (our.start < edit.end and edit.start < our.end) or our[:2] == edit[:2] == (
                our.start,
                our.start,
            ):
                shown = theirs[their_start] if their_start < their_end else lines[start]
                raise Overlap(their_start + 1, shown.decode("utf-8", "replace").strip())
        kept.append(edit)
    out: list[bytes] = []
    position = 0
    for start, end, new in sorted([*ours, *kept], key=lambda our_edit: our_edit[:2]):
        out += [*lines[position:start], new]
        position = end
    out = list(filter(None, [*out, *lines[position:]]))
    # lines were added below one that the other side leaves open
    if not all(piece.endswith(_ENDS) for piece in out[:-1]):
        raise Overlap(edits[-1][2] + 1, theirs[edits[-1][2]].decode("utf-8", "replace").strip())
    return b"".join(out)


def parses(data: bytes) -> bool:
    """Whether the running interpreter reads a text as Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, "<merged>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _by_lines(base: bytes, lines: Sequence[bytes], splices: Sequence[Splice]) -> list[_Edit]:
    """Splices, widened to whole lines; those in the same line are merged."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    groups: list[tuple[int, int, list[Splice]]] = []
    for splice in splices:
        start, end = _lines_of(starts, not base or base.endswith(_ENDS), splice)
        if groups and start < groups[-1][1]:
            group_start, group_end, members = groups.pop()
            groups.append((group_start, max(group_end, end), [*members, splice]))
        else:
            groups.append((start, end, [splice]))
    edits = []
    for start, end, members in groups:
        low = starts[start]
        moved = [Splice(member.start - low, member.end - low, member.new) for member in members]
        edits.append(_Edit(start, end, apply_splices(base[low : starts[end]], moved)))
    return edits


def _lines_of(starts: Sequence[int], ended: bool, splice: Splice) -> tuple[int, int]:
    """The lines `[start, end)` that a splice touches; none where it inserts whole lines between two.

    Args:
        starts: where each line starts, and the end of the text.
        ended: whether the last line has its newline: else what is added at the end of the text is in that line.
        splice: the splice.
    """
    end_line = len(starts) - 1
    start = bisect_right(starts, splice.start) - 1
    end = bisect_right(starts, splice.end) - 1
    begins = splice.start == starts[start] and (start < end_line or ended)
    if (
        begins
        and splice.end == starts[end]
        and (end == end_line or not splice.new or splice.new.endswith(_ENDS))
    ):
        return start, end
    # what follows is in the same line then
    joins = splice.end > starts[end] or not splice.new.endswith(_ENDS)
    return min(start, end_line - 1), min(end + joins, end_line)
