"""Applying splices: the one operation that diff, restore, composition and the store share. Needs no syntax tree."""

from __future__ import annotations

from typing import List, Sequence

from patcher.model import Splice


def apply_splices(data: bytes, splices: Sequence[Splice]) -> bytes:
    """`data` with every splice applied. They have to be sorted by position; at one position their order counts.

    Raises:
        ValueError: two splices overlap.
    """
    parts: List[bytes] = []
    done = 0
    for splice in splices:
        if splice.start < done:
            raise ValueError("overlapping splices")
        parts += [data[done : splice.start], splice.new]
        done = splice.end
    return b"".join([*parts, data[done:]])
