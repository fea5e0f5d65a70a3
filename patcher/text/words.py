"""Which words of two texts differ, to mark them in a diff. Used for display only: no change is placed by it."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import List

from patcher.text.lines import LineEdit, line_edits

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_MOST = 3000  # characters of both texts; the time grows with the square of what differs
_ALIKE = 0.2  # of the characters that are not blank have to be the same, else nothing is marked


def word_edits(old: str, new: str) -> List[LineEdit]:
    """The changed words: the characters `[i1, i2)` of `old` become `[j1, j2)` of `new`, as (i1, i2, j1, j2) in order.

    There are none where the texts have little in common, or are too long to be compared so. What is between two changes and
    shorter than they are counts as changed.
    """
    if len(old) + len(new) > _MOST:
        return []
    sides = [_WORD.findall(text) for text in (old, new)]
    starts = [[0, *accumulate(map(len, words))] for words in sides]
    edits: List[LineEdit] = []
    for i1, i2, j1, j2 in line_edits(*sides):
        words, start, end = (sides[1], j1, j2) if i1 == i2 else (sides[0], i1, i2)
        if (i1 == i2 or j1 == j2) and start and words[start - 1] == words[end - 1] == " ":  # `, b` and not `b, `
            i1, i2, j1, j2 = i1 - 1, i2 - 1, j1 - 1, j2 - 1
        edit = starts[0][i1], starts[0][i2], starts[1][j1], starts[1][j2]
        if edits and edit[0] - edits[-1][1] < min(_size(edits[-1]), _size(edit)):
            edit = edits[-1][0], edit[1], edits[-1][2], edit[3]
            edits.pop()
        edits.append(edit)
    longer = max(len("".join(text.split())) for text in (old, new))
    changed = "".join(old[i1:i2] for i1, i2, _, _ in edits)
    same = len("".join(old.split())) - len("".join(changed.split()))
    return edits if same > _ALIKE * longer else []


def _size(edit: LineEdit) -> int:
    return max(edit[1] - edit[0], edit[3] - edit[2])
