"""Which words of two texts differ, to mark them in a diff. Used for display only: no change is placed by it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Iterable, Tuple

from diff_match_patch import diff_match_patch

WordEdit = Tuple[int, int, int, int]
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_MOST = 3000  # characters of both texts; the time grows with the square of what differs
_ALIKE = 0.2  # of the characters that are not blank have to be the same, else nothing is marked


def word_edits(old: str, new: str) -> list[WordEdit]:
    """The changed words: the characters `[i1, i2)` of `old` become `[j1, j2)` of `new`, as (i1, i2, j1, j2) in order.

    There are none where the texts have little in common, or are too long to be compared so. What is between two changes and
    shorter than they are counts as changed (diff-match-patch calls it semantic cleanup).
    """
    words = _WORD.findall(old), _WORD.findall(new)
    if len(old) + len(new) > _MOST or not _alike(
        old, new, (Counter(words[0]) & Counter(words[1])).elements()
    ):
        return []
    compare = diff_match_patch()
    compare.Diff_Timeout = (
        0  # seconds; 0 is none: the same texts have the same marks on a slow machine
    )
    edits = compare.diff_main(old, new, False)
    compare.diff_cleanupSemantic(edits)
    if not _alike(old, new, (part for kind, part in edits if not kind)):
        return []
    return _of_words(old, new, edits)


def _alike(old: str, new: str, same: Iterable[str]) -> bool:
    """Whether two texts have enough in common, not counting blanks; `same` are the common parts."""
    common, longer = (
        sum(len("".join(part.split())) for part in same),
        max(len("".join(side.split())) for side in (old, new)),
    )
    return common > _ALIKE * longer


def _of_words(old: str, new: str, edits: Iterable[tuple[int, str]]) -> list[WordEdit]:
    """Edits of characters as edits of the words that they touch, in either text."""
    same: list[tuple[int, int]] = []  # characters that correspond
    i = j = 0
    for kind, part in edits:
        same += [(i + at, j + at) for at in range(len(part))] if not kind else []
        i, j = i + len(part) * (kind <= 0), j + len(part) * (kind >= 0)
    ranges = (
        [word.span() for word in _WORD.finditer(old)],
        [word.span() for word in _WORD.finditer(new)],
    )
    count = -1
    # a word that is touched in one text touches what corresponds to it in the other
    while count != len(same):
        count = len(same)
        for side in (0, 1):
            matched = {pair[side] for pair in same}
            touched = {
                at
                for start, end in ranges[side]
                if matched.issuperset(range(start, end))
                for at in range(start, end)
            }
            same = [pair for pair in same if pair[side] in touched]
    edits_of_words: list[WordEdit] = []
    i = j = 0
    for at, to in [*same, (len(old), len(new))]:
        edits_of_words += [(i, at, j, to)] if (at, to) != (i, j) else []
        i, j = at + 1, to + 1
    return edits_of_words
