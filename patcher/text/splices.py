"""Splices one after another. Pure."""

from __future__ import annotations

from typing import Iterator, Sequence

from patcher.model import Splice
from patcher.record import Record


class _Piece(Record):
    """A part of a text that splices make.

    The bytes `[start, end)` of the text before, or (`start` is `end`) new ones.
    """

    start: int
    end: int
    new: bytes = b""


def compose(
    size: int, first_splices: Sequence[Splice], second_splices: Sequence[Splice]
) -> tuple[Splice, ...]:
    """The splices that lead from a text through two groups of splices, one after the other.

    Args:
        size: of the text, in bytes.
        first_splices: those of the text.
        second_splices: those of the text that the first ones make.
    """
    between = list(_pieces(size, first_splices))
    length = sum(piece.end - piece.start + len(piece.new) for piece in between)
    pieces: list[_Piece] = []
    for piece in _pieces(length, second_splices):
        if piece.new:
            # its offset is one in the text between; what is around it tells where it belongs
            pieces.append(piece)
        else:
            pieces += _cut(between, piece.start, piece.end)

    splices: list[Splice] = []
    position = 0
    inserted = b""
    for piece in [*pieces, _Piece(size, size + 1)]:
        if piece.new:
            inserted += piece.new
            continue
        if inserted or piece.start > position:
            splices.append(Splice(position, piece.start, inserted))
        position = piece.end
        inserted = b""
    return tuple(splices)


def _pieces(size: int, splices: Sequence[Splice]) -> Iterator[_Piece]:
    """The pieces that splices make of a text of `size` bytes."""
    position = 0
    for start, end, new in splices:
        if start > position:
            yield _Piece(position, start)
        if new:
            yield _Piece(start, start, new)
        position = end
    if size > position:
        yield _Piece(position, size)


def _cut(pieces: Sequence[_Piece], start: int, end: int) -> Iterator[_Piece]:
    """The pieces of the bytes `[start, end)` of the text that pieces make."""
    at = 0
    for piece in pieces:
        length = piece.end - piece.start + len(piece.new)
        low = max(start - at, 0)
        high = min(end - at, length)
        if low < high:
            if piece.new:
                yield piece._replace(new=piece.new[low:high])
            else:
                yield _Piece(piece.start + low, piece.start + high)
        at += length
