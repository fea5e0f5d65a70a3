"""The words of two texts that differ, to mark them in a diff; no change is placed by them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Iterable, Tuple

from diff_match_patch import diff_match_patch

WordEdit = Tuple[int, int, int, int]
_DELETED, _EQUAL, _INSERTED = -1, 0, 1  # as diff-match-patch has them
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_MOST = 3000  # characters of both texts; the time grows with the square of what differs
_ALIKE = 0.2  # of the characters that are not blank have to be the same, else nothing is marked


def word_edits(old: str, new: str) -> list[WordEdit]:
    """The changed words, as (i1, i2, j1, j2) in order.

    The characters `[i1, i2)` of `old` become `[j1, j2)` of `new`. There are none where the texts
    have little in common, or are too long to be compared so. What is between two changes and
    shorter than they are counts as changed (diff-match-patch calls it semantic cleanup).
    """
    if len(old) + len(new) > _MOST:
        return []
    shared_words = Counter(_WORD.findall(old)) & Counter(_WORD.findall(new))
    if not _alike(old, new, shared_words.elements()):
        return []

    compare = diff_match_patch()
    compare.Diff_Timeout = 0  # seconds; none: the same texts have the same marks on a slow machine
    edits = compare.diff_main(old, new, False)
    compare.diff_cleanupSemantic(edits)
    if not _alike(old, new, (part for kind, part in edits if kind == _EQUAL)):
        return []
    return _of_words(old, new, edits)


def _alike(old: str, new: str, same: Iterable[str]) -> bool:
    """Whether two texts have enough in common, not counting blanks; `same` are the common parts."""
    common = sum(map(_length, same))
    longer = max(_length(old), _length(new))
    return common > _ALIKE * longer


def _length(text: str) -> int:
    """How many characters are not blank."""
    return len("".join(text.split()))


def _of_words(old: str, new: str, edits: Iterable[tuple[int, str]]) -> list[WordEdit]:
    """Edits of characters as edits of the words that they touch, in either text."""
    same = _same_characters(edits)
    spans = (
        [word.span() for word in _WORD.finditer(old)],
        [word.span() for word in _WORD.finditer(new)],
    )
    count = -1
    # a word that is touched in one text touches what corresponds to it in the other
    while count != len(same):
        count = len(same)
        for side in (0, 1):
            whole = _whole_words(spans[side], {pair[side] for pair in same})
            same = [pair for pair in same if pair[side] in whole]

    edits_of_words: list[WordEdit] = []
    i = j = 0
    for at, to in [*same, (len(old), len(new))]:
        if (at, to) != (i, j):
            edits_of_words.append((i, at, j, to))
        i, j = at + 1, to + 1
    return edits_of_words


def _same_characters(edits: Iterable[tuple[int, str]]) -> list[tuple[int, int]]:
    """The characters that correspond, as offsets into both texts."""
    same: list[tuple[int, int]] = []
    i = j = 0
    for kind, part in edits:
        if kind == _EQUAL:
            same += [(i + at, j + at) for at in range(len(part))]
        if kind != _INSERTED:
            i += len(part)
        if kind != _DELETED:
            j += len(part)
    return same


def _whole_words(spans: Iterable[tuple[int, int]], matched: set[int]) -> set[int]:
    """The characters of the words of which each character is matched."""
    characters: set[int] = set()
    for start, end in spans:
        if matched.issuperset(range(start, end)):
            characters.update(range(start, end))
    return characters
