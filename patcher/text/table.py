"""Rows of a table, as every answer of a command has them."""

from __future__ import annotations

from typing import NamedTuple, Tuple


class Row(NamedTuple):
    """A line of a table: a word that is coloured by its meaning, further cells, and lines below it."""

    word: str
    cells: Tuple[str, ...]
    details: Tuple[str, ...] = ()


def count(number: int, what: str) -> str:
    """A number and its noun, which gets an `s` unless the number is 1."""
    return f"{number} {what}" + ("" if number == 1 else "s")
