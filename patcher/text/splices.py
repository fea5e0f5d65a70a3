"""Splices one after another. Pure."""

from __future__ import annotations

from typing import Iterator, Sequence, Tuple

from patcher.model import Splice

_Piece = Tuple[int, int, bytes]
"""A part of a text that splices make: the bytes `[start, end)` of the text before, or (`start` is `end`) new ones."""


def compose(
    size: int, first_splices: Sequence[Splice], second_splices: Sequence[Splice]
) -> tuple[Splice, ...]:
    """The splices that lead from a text of `size` bytes through `first_splices` and then `second_splices`."""
    between = list(_pieces(size, first_splices))
    pieces: list[_Piece] = []
    length = sum(end - start + len(new) for start, end, new in between)
    for start, end, new in _pieces(length, second_splices):
        pieces += [(start, start, new)] if new else _cut(between, start, end)
    splices: list[Splice] = []
    position, inserted = 0, b""
    for start, end, new in [*pieces, (size, size + 1, b"")]:
        if new:
            inserted += new
        else:
            splices += [Splice(position, start, inserted)] if inserted or start > position else []
            position, inserted = end, b""
    return tuple(splices)


def _pieces(size: int, splices: Sequence[Splice]) -> Iterator[_Piece]:
    position = 0
    for start, end, new in [*splices, (size, size, b"")]:
        yield from [(position, start, b"")] if start > position else []
        yield from [(start, start, new)] if new else []
        position = end


def _cut(pieces: Sequence[_Piece], start: int, end: int) -> Iterator[_Piece]:
    """The pieces of the bytes `[start, end)` of the text that pieces make."""
    at = 0
    for begin, stop, new in pieces:
        length = stop - begin + len(new)
        low, high = max(start - at, 0), min(end - at, length)
        if low < high:
            yield (begin, begin, new[low:high]) if new else (begin + low, begin + high, b"")
        at += length
