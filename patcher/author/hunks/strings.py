"""A string that changed in a part: the lines of an `in-string` hunk for that part (format rule 28)."""

from __future__ import annotations

import re
from itertools import accumulate

from patcher.engine.tree import Node, Tree
from patcher.text.lines import common_ends, line_edits

_LITERAL = re.compile(r"([A-Za-z]{0,3})('''|\"\"\"|'|\")(.*)\2\Z", re.DOTALL)
_MOST_ABOVE = 4  # lines above a change in a string
_FEWEST = 2  # words of a line that name a place


def changed_part(
    before: Tree, after: Tree, old: Node, new: Node
) -> tuple[list[str], list[str]] | None:
    """The lines of a string that are replaced, and the lines that replace them.

    None where all of the string changed, several parts of it did, or it is no string.

    Args:
        before: the text before the edit.
        after: the text after it.
        old: an expression, or a piece of text of an f-string.
        new: what replaces it.
    """
    if old.kind not in ("String", "FText"):
        return None
    one, other = _inside(before, old), _inside(after, new)
    if one is None or other is None or one[0] != other[0]:
        return None
    deleted, inserted = one[1].split("\n"), other[1].split("\n")
    if "\r" in one[1] + other[1]:
        return None
    edits = line_edits(deleted, inserted)
    if len(edits) != 1:
        return None  # several parts: a hunk for all of the string is as good
    i1, i2, j1, j2 = edits[0]
    if i1 > 0 and i2 < len(deleted):
        above = int(i1 == i2 or j1 == j2 or not "".join(deleted[i1:i2]).strip())
        return deleted[i1 - above : i2], inserted[j1 - above : j2]
    # a line that begins or ends at the quotes
    return _words(deleted[i1], inserted[j1]) if i2 - i1 == j2 - j1 == 1 else None


def changed_lines(
    before: Tree, after: Tree, old: Node, new: Node
) -> list[tuple[tuple[int, int], str, int]]:
    """The parts of a string that changed, each as lines that stand in it once: the span, what replaces it, and its start.

    None where it is one part, or they cannot be told apart.
    """
    one, other = (
        _inside(*side) if side[1].kind == "String" else None
        for side in ((before, old), (after, new))
    )
    if one is None or other is None or one[0] != other[0] or "\r" in one[1] + other[1]:
        return []
    deleted, inserted = one[1].split("\n"), other[1].split("\n")
    offsets = [
        list(accumulate([node.start + len(one[0]), *(len(line) + 1 for line in lines)]))
        for node, lines in ((old, deleted), (new, inserted))
    ]
    parts: list[tuple[tuple[int, int], str, int]] = []
    last = 1
    for i1, i2, j1, j2 in line_edits(deleted, inserted):
        above = next(
            (more for more in range(_MOST_ABOVE) if _is_once(deleted, i1 - more, i2)), _MOST_ABOVE
        )
        if i1 - above < last or i2 == len(deleted) or above == _MOST_ABOVE:
            return []
        rows = inserted[j1 - above : j2]
        span = offsets[0][i1 - above], offsets[0][i2] - 1
        parts.append((span, "\n".join(rows), offsets[1][j1 - above]))
        last = i2
    return parts if len(parts) > 1 else []


def _is_once(lines: list[str], start: int, end: int) -> bool:
    """Whether these lines name a place in a string: they are in it once, and more than a blank."""
    part = lines[max(0, start) : end]
    return bool("".join(part).strip()) and "\n".join(lines).count("\n".join(part)) == 1


def _words(old: str, new: str) -> tuple[list[str], list[str]] | None:
    """The words of one line that changed, with as many beside them as name a place."""
    left, right = re.findall(r"\S+\s*|\s+", old), re.findall(r"\S+\s*|\s+", new)
    head, tail = common_ends(left, right)
    while head + tail > 0 and len(left) - head - tail < _FEWEST:
        head, tail = (head - 1, tail) if head else (head, tail - 1)
    if head + tail == 0:
        return None
    return ["".join(left[head : len(left) - tail]).rstrip()], [
        "".join(right[head : len(right) - tail]).rstrip()
    ]


def _inside(text: Tree, node: Node) -> tuple[str, str] | None:
    """The prefix and quotes of a literal, and its text as it is written; "" for a piece of an f-string."""
    source = text.text[node.start : node.end]
    if node.kind == "FText":
        return "", source
    found = _LITERAL.match(source)
    if found is None or found.group(2) in found.group(3).replace("\\" + found.group(2), ""):
        return None  # several literals in a row
    return found.group(1) + found.group(2), found.group(3)
