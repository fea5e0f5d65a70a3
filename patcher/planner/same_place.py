"""Whether two patchsets for one file change the same place of the text below both. Pure."""

from __future__ import annotations

from string import ascii_letters, digits
from typing import Sequence

from patcher.model import Splice
from patcher.text.lines import common_ends

_WORD = (ascii_letters + digits + "_").encode() + bytes(range(0x80, 0x100))
"""The bytes of names, numbers and letters that are not ASCII."""


def are_of_same_place(before: bytes, splices: Sequence[Splice], others: Sequence[Splice]) -> bool:
    """Whether splices take away code that others take away as well, and put something else there.

    Args:
        before: the text of both.
        splices: what one patchset does to it.
        others: what another one does.
    """
    theirs = [_within_lines(before, other) for other in others]
    for splice in splices:
        ours = _within_lines(before, splice)
        if any(_take_same_code(before, ours, other) for other in theirs):
            return True
    return False


def _take_same_code(before: bytes, one: Splice, other: Splice) -> bool:
    """Whether two splices that differ have more than white space in common that they take away."""
    both = before[max(one.start, other.start) : min(one.end, other.end)]
    return one != other and bool(both.strip())


def _within_lines(before: bytes, splice: Splice) -> Splice:
    """A splice of whole lines, as a merge makes it, without its ends that stay; no word is cut."""
    start, end, new = splice
    is_from_start = start == 0 or before[start - 1 : start] == b"\n"
    if not is_from_start or not before[start:end].endswith(b"\n") or not new.endswith(b"\n"):
        return splice

    old = before[start:end]
    head, tail = common_ends(old, new)
    head = len(old[:head].rstrip(_WORD))
    tail = len(old[len(old) - tail :].lstrip(_WORD))
    return Splice(start + head, end - tail, new=new[head : len(new) - tail])
