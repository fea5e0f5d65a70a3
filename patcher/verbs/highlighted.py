"""Differences on a terminal: lines with marked words in Python's colours."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Dict, Iterator

from patcher.text.diffs import FileDiff
from patcher.text.terminal import Styled, join_styled
from patcher.text.view import DiffLine, Piece, View
from patcher.verbs.styles import style

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


def highlighted_diff(diff: FileDiff) -> Iterator[Styled]:
    """The lines of a diff for a reader."""
    before = f"a/{diff.path}" if diff.before else "/dev/null"
    yield from (style(f"--- {before}", bold=True), style(f"+++ b/{diff.path}", bold=True))
    for hunk in View(diff).hunks:
        yield style(f"{hunk.range} {hunk.scope}".rstrip(), fg="cyan")
        yield from map(_line, hunk.lines)


def _line(line: DiffLine) -> Styled:
    return join_styled(style(line.tag, fg=_TAGS.get(line.tag)), *_pieces(line))


def _pieces(line: DiffLine) -> Iterator[Styled]:
    for look, run in groupby(line.pieces, lambda piece: _look(line, piece)):
        yield style("".join(piece.text for piece in run), **look)


def _look(line: DiffLine, piece: Piece) -> Dict[str, Any]:
    """The colour of a deleted or inserted line; in unchanged lines that of the kind of each piece."""
    color = _TAGS.get(line.tag)
    if color is None:
        return _KINDS.get(piece.kind, {})
    return {**_CHANGED.get(piece.kind, {}), "fg": color, **({"reverse": True} if piece.changed else {})}
