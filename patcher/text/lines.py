"""What differs between two sequences, such as the lines of two texts, and their common ends."""

from __future__ import annotations

from typing import Hashable, Sequence, Tuple, TypeVar

_T = TypeVar("_T", bound=Hashable)
LineEdit = Tuple[int, int, int, int]
_JUNK_LIMIT = 5000
"""Lines, above which difflib may pass over frequent ones: a big file would take minutes."""


def line_edits(old: Sequence[_T], new: Sequence[_T]) -> list[LineEdit]:
    """The ranges of lines, or other items, that changed, in order.

    `(i1, i2, j1, j2)`: `[i1, i2)` of `old` becomes `[j1, j2)` of `new`. For very long texts the
    ranges may be larger than necessary, never wrong.
    """
    from difflib import SequenceMatcher  # only a text that differs needs it

    head, tail = common_ends(old, new)
    middle = old[head : len(old) - tail]
    changed = new[head : len(new) - tail]
    matcher = SequenceMatcher(None, middle, changed, autojunk=len(middle) > _JUNK_LIMIT)

    edits: list[LineEdit] = []
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind != "equal":
            edits.append((i1 + head, i2 + head, j1 + head, j2 + head))
    return edits


def lacks(before: bytes, after: bytes, edited: bytes) -> bool:
    """Whether an edited text has nothing of a change, and can only come from the text before.

    Where it can come from either, it has the change.

    Args:
        before: the text before the change.
        after: the text after it.
        edited: a text that somebody made of one of them.
    """
    old, new, theirs = (text.splitlines(keepends=True) for text in (before, after, edited))
    change, back = line_edits(old, new), line_edits(new, old)
    without, within = line_edits(old, theirs), line_edits(new, theirs)
    return not _touch(without, change) and _touch(within, back)


def _touch(edits: Sequence[LineEdit], others: Sequence[LineEdit]) -> bool:
    """Whether edits of one text meet: they change the same line, or insert at the same point."""
    for start, end, *_ in edits:
        for other_start, other_end, *_ in others:
            if max(start, other_start) < min(end, other_end):
                return True
            if (start, end) == (other_start, other_end):
                return True
            if start == end and other_start < start < other_end:
                return True
            if other_start == other_end and start < other_start < end:
                return True
    return False


def grouped(edits: Sequence[LineEdit], near: int) -> list[list[LineEdit]]:
    """Edits in groups: between those of one there are at most so many lines."""
    groups: list[list[LineEdit]] = []
    for edit in edits:
        if groups and edit[0] - groups[-1][-1][1] <= near:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return groups


def common_ends(old: Sequence[_T], new: Sequence[_T]) -> tuple[int, int]:
    """How many items two sequences have in common at their beginning, and then at their end."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1

    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def best_pairs(like: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The pairing in order of two lists with the highest total likeness.

    The algorithm is that of the longest common subsequence.

    Args:
        like: for each element of the first list how well each of the second pairs with it; 0 if
            they must not.

    Returns:
        the indexes of each pair.
    """
    if not like:
        return []
    # best[i][j]: the highest total for the elements from i and j on
    best = [[0.0] * (len(like[0]) + 1) for _ in range(len(like) + 1)]
    for i in reversed(range(len(like))):
        for j in reversed(range(len(like[i]))):
            paired = like[i][j] + best[i + 1][j + 1]
            best[i][j] = max(best[i + 1][j], best[i][j + 1], paired)

    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(like) and j < len(like[i]):
        if like[i][j] and best[i][j] == like[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i += 1
            j += 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
