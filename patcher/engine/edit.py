"""What a hunk does to a text, before it is merged with what others do and becomes splices of bytes."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple


class Removed(NamedTuple):
    """A statement that goes: its place, and its block (where that begins, how many statements it has)."""

    start: int
    end: int
    block: Tuple[int, int]


class Edit(NamedTuple):
    """Replace the characters `[start, end)` of a text."""

    start: int
    end: int
    text: str
    removed: Optional[Removed] = None


class Conflict(Exception):
    """The change could not be made safely at this place."""
