"""The words of two texts that differ, to mark them in a diff; no change is placed by them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Iterable, Tuple

WordEdit = Tuple[int, int, int, int]
"""The characters `[i1, i2)` of a text become `[j1, j2)` of the other."""
_Pair = Tuple[int, int]
"""The offset of a character in the old text, and of the same one in the new text."""

# as diff-match-patch has them
_DELETED = -1
_EQUAL = 0
_INSERTED = 1

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_MOST = 3000
"""Characters of both texts: the time grows with the square of what differs."""
_ALIKE = 0.2
"""Of the characters that are not blank have to be the same, else nothing is marked."""


def word_edits(old: str, new: str) -> list[WordEdit]:
    """The changed words, as (i1, i2, j1, j2) in order.

    The characters `[i1, i2)` of `old` become `[j1, j2)` of `new`. There are none where the texts
    have little in common, or are too long to be compared so. What is between two changes and
    shorter than they are counts as changed (diff-match-patch calls it semantic cleanup).
    """
    from diff_match_patch import diff_match_patch  # a diff for a program marks no words

    if len(old) + len(new) > _MOST:
        return []
    shared_words = Counter(_WORD.findall(old)) & Counter(_WORD.findall(new))
    if not _alike(old, new, same=shared_words.elements()):
        return []

    compare = diff_match_patch()
    compare.Diff_Timeout = 0  # seconds; none: the same texts have the same marks on a slow machine
    edits = compare.diff_main(old, new, False)
    compare.diff_cleanupSemantic(edits)
    equal_parts = [part for kind, part in edits if kind == _EQUAL]
    if not _alike(old, new, same=equal_parts):
        return []
    return _of_words(old, new, edits=edits)


def _alike(old: str, new: str, *, same: Iterable[str]) -> bool:
    """Whether two texts have enough in common, not counting blanks; `same` are the common parts."""
    common = sum(map(_length, same))
    longer = max(_length(old), _length(new))
    return common > _ALIKE * longer


def _length(text: str) -> int:
    """How many characters are not blank."""
    return len("".join(text.split()))


def _of_words(old: str, new: str, *, edits: Iterable[tuple[int, str]]) -> list[WordEdit]:
    """Edits of characters as edits of the words that they touch, in either text."""
    same = _same_characters(edits)
    number = -1
    # a word that is touched in one text touches what corresponds to it in the other
    while number != len(same):
        number = len(same)
        whole = _whole_words(old, matched={i for i, _ in same})
        same = [pair for pair in same if pair[0] in whole]
        whole = _whole_words(new, matched={j for _, j in same})
        same = [pair for pair in same if pair[1] in whole]

    edits_of_words: list[WordEdit] = []
    i = 0
    j = 0
    end = (len(old), len(new))
    for old_offset, new_offset in [*same, end]:
        if old_offset > i or new_offset > j:
            edits_of_words.append((i, old_offset, j, new_offset))
        i = old_offset + 1
        j = new_offset + 1
    return edits_of_words


def _same_characters(edits: Iterable[tuple[int, str]]) -> list[_Pair]:
    """The characters that correspond."""
    same: list[_Pair] = []
    i = 0
    j = 0
    for kind, part in edits:
        size = len(part)
        if kind == _EQUAL:
            same += zip(range(i, i + size), range(j, j + size))
        if kind != _INSERTED:
            i += size
        if kind != _DELETED:
            j += size
    return same


def _whole_words(text: str, *, matched: set[int]) -> set[int]:
    """The characters of the words of which each character is matched."""
    characters: set[int] = set()
    for word in _WORD.finditer(text):
        offsets = range(word.start(), word.end())
        if matched.issuperset(offsets):
            characters.update(offsets)
    return characters
