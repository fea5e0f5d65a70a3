"""Differences on a terminal: lines with marked words in Python's colours, in one column or two, or word by word."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from patcher.cli.styles import style
from patcher.text.diffs import FileDiff
from patcher.text.printable import Styled, join_styled, printable
from patcher.text.view import DiffHunk, DiffLine, Piece, View
from patcher.text.width import beginning, width
from patcher.text.words import word_edits

_NUMBER = 5
_KINDS: Dict[str, Dict[str, Any]] = {
    "keyword": {"fg": "magenta"},
    "string": {"fg": "cyan"},
    "number": {"fg": "cyan"},
    "comment": {"dim": True},
    "decorator": {"fg": "yellow"},
    "defined": {"bold": True},
}
_CHANGED: Dict[str, Dict[str, Any]] = {"keyword": {"bold": True}, "defined": {"bold": True}, "comment": {"dim": True}}
_TAGS = {"-": "red", "+": "green", "\\": "yellow"}


def highlighted_diff(diff: FileDiff, *, columns: int = 0, words: bool = False) -> Iterator[Styled]:
    """The lines of a diff for a reader: side by side in `columns` together, one below the other for 0, or word by word."""
    before = f"a/{diff.path}" if diff.before else "/dev/null"
    yield from (style(f"--- {before}", bold=True), style(f"+++ b/{diff.path}", bold=True))
    for hunk in View(diff).hunks:
        yield style(f"{hunk.range} {hunk.scope}".rstrip(), fg="cyan")
        if words:
            yield from _words(hunk)
        elif columns:
            yield from _sides(hunk, (columns - 3) // 2)
        else:
            yield from map(_line, hunk.lines)


def _line(line: DiffLine) -> Styled:
    return join_styled(style(line.tag, fg=_TAGS.get(line.tag)), *_pieces(line))


def _pieces(line: DiffLine) -> Iterator[Styled]:
    for look, some in groupby(line.pieces, lambda piece: _look(line, piece)):
        yield style("".join(piece.text for piece in some), **look)


def _look(line: DiffLine, piece: Piece) -> Dict[str, Any]:
    """The colour of a deleted or inserted line; in unchanged lines that of the kind of each piece."""
    color = _TAGS.get(line.tag)
    if color is None:
        return _KINDS.get(piece.kind, {})
    return {**_CHANGED.get(piece.kind, {}), "fg": color, **({"reverse": True} if piece.changed else {})}


# two sides ------------------------------------------------------------------------------------------------------------
def _sides(hunk: DiffHunk, room: int) -> Iterator[Styled]:
    for deleted, inserted in hunk.runs:
        for at in range(max(len(deleted), len(inserted))):
            left = _cell(deleted[at], deleted[at].old, room) if at < len(deleted) else []
            right = _cell(inserted[at], inserted[at].new, room) if at < len(inserted) else []
            for row in range(max(len(left), len(right))):
                parts = [each[row] if row < len(each) else Styled(" " * room) for each in (left, right)]
                yield join_styled(parts[0], " | ", parts[1])


def _cell(line: DiffLine, number: int, room: int) -> List[Styled]:
    """A line in rows of `room` columns: its number, its tag and its text, continued below where it is too long."""
    rows = [join_styled(style(f"{number:>{_NUMBER}} ", dim=True), style(line.tag, fg=_TAGS.get(line.tag)))]
    left = most = room - _NUMBER - 2
    for piece in line.pieces:
        text = printable(piece.text.expandtabs(4))
        while text:
            part = beginning(text, left)
            rows[-1] = join_styled(rows[-1], style(part, **_look(line, piece)))
            left -= width(part)
            text = text[len(part) :]
            if text:
                rows[-1] = join_styled(rows[-1], " " * left)
                rows.append(Styled(" " * (_NUMBER + 2)))
                left = most
    return [*rows[:-1], join_styled(rows[-1], " " * left)]


# word by word ---------------------------------------------------------------------------------------------------------
def _words(hunk: DiffHunk) -> Iterator[Styled]:
    """The lines with `[-deleted-]{+inserted+}` words in them, as git writes it."""
    for deleted, inserted in hunk.runs:
        if deleted is inserted:
            yield from (join_styled(*_pieces(line)) for line in deleted)
            continue
        pairs = list(zip(deleted, inserted)) if len(deleted) == len(inserted) else []
        for old, new in [([a], [b]) for a, b in pairs] or [(deleted, inserted)]:
            before, after = ("\n".join(line.text for line in some) for some in (old, new))
            yield from _merged(before, after, word_edits(before, after) or [(0, len(before), 0, len(after))])


def _merged(before: str, after: str, edits: Sequence[Tuple[int, int, int, int]]) -> Iterator[Styled]:
    lines = [Styled("")]

    def add(text: str, **how: Any) -> None:
        first, *others = [style(part, **how) if part else Styled("") for part in text.split("\n")]
        lines[-1] = join_styled(lines[-1], first)
        lines.extend(others)

    at = 0
    for i1, i2, j1, j2 in edits:
        add(after[at:j1])
        if i1 < i2:
            add(f"[-{before[i1:i2]}-]", fg="red")
        if j1 < j2:
            add(f"{{+{after[j1:j2]}+}}", fg="green")
        at = j2
    add(after[at:])
    yield from lines
