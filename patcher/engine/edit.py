"""The edits of one hunk, in characters, before those of all hunks are merged into splices of bytes."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple


class Removed(NamedTuple):
    """Deleted code: its character range, and its block (start offset, number of statements), None where that may be empty."""

    start: int
    end: int
    block: Optional[Tuple[int, int]]


class Edit(NamedTuple):
    """Replace the characters `[start, end)` of a text by `text`; `removed` is the code whose lines this deletes, if any."""

    start: int
    end: int
    text: str
    removed: Optional[Removed] = None


class Conflict(Exception):
    """The change cannot be made safely at this place; the message says why."""
