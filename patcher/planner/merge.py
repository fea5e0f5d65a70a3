"""Replaces our changes in a file that was edited by hand since: a three-way merge by lines. Pure.

The merge is exact, or there is none.

Our splices are known, so only the edits by hand have to be found. An edit and a splice in the same
line, or two insertions at the same point, are an overlap, and nothing is merged.
"""

from __future__ import annotations

import warnings
from bisect import bisect_right
from typing import Sequence

from patcher.message import Message
from patcher.model import Splice, Step, apply_splices
from patcher.record import Record
from patcher.text.lines import common_ends, line_edits
from patcher.text.splices import compose

_LINE_ENDS = (b"\n", b"\r")


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


class _Edit(Record):
    """The lines `[start, end)` of a text are replaced by `new`."""

    start: int
    end: int
    new: bytes


def replace_steps(
    pristine: bytes, old: Sequence[Step], new: Sequence[Step], edited: bytes
) -> bytes:
    """Replace the steps `old` by `new` in a text that was edited by hand after the old ones.

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
        return _step_by_step(texts, old, new=new, edited=edited)
    except Overlap:
        # by identity: what goes above it has moved its splices
        before = [step.identity for step in old]
        if not any(step.identity in before for step in new):
            raise
        result = _all_at_once(texts, old, new=new, edited=edited)
        if result is None:
            raise
        return result


def _step_by_step(
    texts: Sequence[bytes], old: Sequence[Step], new: Sequence[Step], edited: bytes
) -> bytes:
    """Undo the old steps, the last one first, and do the new ones.

    `texts` are those before and after each old step.
    """
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    for index in reversed(range(same, len(old))):
        before, after = texts[index], texts[index + 1]
        edited = merge_splices(after, inverse(before, old[index].splices), edited=edited)

    data = texts[same]
    for step in new[same:]:
        edited = merge_splices(data, step.splices, edited=edited)
        data = apply_splices(data, step.splices)
    return edited


def _all_at_once(
    texts: Sequence[bytes], old: Sequence[Step], new: Sequence[Step], edited: bytes
) -> bytes | None:
    """Undo the old steps and do the new ones in one go; None where an edit is in the way.

    A step that is undone and done again changes nothing then.

    An edit of a line that a step changed which stays is in nobody's way.
    """
    current = texts[-1]
    splices: tuple[Splice, ...] = ()
    for index in reversed(range(len(old))):
        back = inverse(texts[index], old[index].splices)
        splices = compose(len(current), splices, back)
    for step in new:
        splices = compose(len(current), splices, step.splices)
    try:
        return merge_splices(current, _without_repetitions(current, splices), edited=edited)
    except Overlap:
        return None


def _without_repetitions(base: bytes, splices: Sequence[Splice]) -> list[Splice]:
    """Splices without what they leave as it is, as a step that is undone and done again does."""
    changing: list[Splice] = []
    for start, end, new in splices:
        replaced = base[start:end]
        head, tail = common_ends(replaced, new)
        if head + tail < max(len(replaced), len(new)):
            middle = new[head : len(new) - tail]
            changing.append(Splice(start + head, end - tail, new=middle))
    return changing


def inverse(before: bytes, splices: Sequence[Splice]) -> tuple[Splice, ...]:
    """The splices that lead back to `before` from what `splices` made of it."""
    back: list[Splice] = []
    shift = 0
    for start, end, new in splices:
        moved = start + shift
        back.append(Splice(moved, moved + len(new), new=before[start:end]))
        shift += len(new) - (end - start)
    return tuple(back)


def merge_splices(base: bytes, splices: Sequence[Splice], edited: bytes) -> bytes:
    """Apply splices that were made for `base` to an edited copy of it.

    Raises:
        Overlap: an edit is where a splice changes something.
    """
    lines = base.splitlines(keepends=True)
    edited_lines = edited.splitlines(keepends=True)
    ours = _line_edits_of(base, lines, splices)
    by_hand: list[_Edit] = []
    last_edit = 0
    for start, end, new_start, new_end in line_edits(lines, edited_lines):
        last_edit = new_start
        edit = _Edit(start, end, new=b"".join(edited_lines[new_start:new_end]))
        if edit in ours:
            ours.remove(edit)  # the same change was made by hand
        if any(_overlap(our, edit) for our in ours):
            shown = edited_lines[new_start] if new_start < new_end else lines[start]
            raise _overlap_at(new_start, shown)
        by_hand.append(edit)

    pieces: list[bytes] = []
    position = 0
    for start, end, new in sorted([*ours, *by_hand], key=lambda edit: edit[:2]):
        pieces += [*lines[position:start], new]
        position = end
    pieces += lines[position:]
    pieces = [piece for piece in pieces if piece]
    # lines were added below one that the other side leaves open
    if not all(piece.endswith(_LINE_ENDS) for piece in pieces[:-1]):
        raise _overlap_at(last_edit, edited_lines[last_edit])
    return b"".join(pieces)


def _overlap(our: _Edit, edit: _Edit) -> bool:
    """Whether two edits change the same line, or insert at the same point."""
    if our.start < edit.end and edit.start < our.end:
        return True
    return our.start == our.end == edit.start == edit.end


def _overlap_at(index: int, line: bytes) -> Overlap:
    return Overlap(index + 1, line.decode("utf-8", "replace").strip())


def parses(data: bytes) -> bool:
    """Whether the running interpreter reads a text as Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, "<merged>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# splices as edits of lines -----------------------------------------------------------------------
def line_starts(lines: Sequence[bytes]) -> list[int]:
    """Where each line starts, and where the last one ends."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return starts


def _line_edits_of(base: bytes, lines: Sequence[bytes], splices: Sequence[Splice]) -> list[_Edit]:
    """Splices, widened to whole lines; those in the same line are merged."""
    starts = line_starts(lines)
    is_ended = not base or base.endswith(_LINE_ENDS)
    groups: list[tuple[int, int, list[Splice]]] = []
    for splice in splices:
        start, end = _lines_of(starts, is_ended, splice)
        if groups and start < groups[-1][1]:
            group_start, group_end, members = groups.pop()
            groups.append((group_start, max(group_end, end), [*members, splice]))
        else:
            groups.append((start, end, [splice]))

    edits: list[_Edit] = []
    for start, end, members in groups:
        low = starts[start]
        inside = [Splice(splice.start - low, splice.end - low, splice.new) for splice in members]
        new = apply_splices(base[low : starts[end]], inside)
        edits.append(_Edit(start, end, new=new))
    return edits


def _lines_of(starts: Sequence[int], is_ended: bool, splice: Splice) -> tuple[int, int]:
    """The lines `[start, end)` that a splice touches; none where it inserts whole lines.

    Args:
        starts: where each line starts, and the end of the text.
        is_ended: whether the last line has its newline: else what is added at the end of the text
            is in that line.
        splice: the splice.
    """
    last = len(starts) - 1
    start = bisect_right(starts, splice.start) - 1
    end = bisect_right(starts, splice.end) - 1
    begins_line = splice.start == starts[start] and (start < last or is_ended)
    adds_whole_lines = not splice.new or splice.new.endswith(_LINE_ENDS)
    ends_line = splice.end == starts[end] and (end == last or adds_whole_lines)
    if begins_line and ends_line:
        return start, end
    # what follows is in the same line then
    joins_next = splice.end > starts[end] or not splice.new.endswith(_LINE_ENDS)
    return min(start, last - 1), min(end + joins_next, last)
