"""Comments planted in real source, to see what becomes of them."""

from __future__ import annotations

import io
import tokenize
from collections import Counter
from random import Random

_SKIPPED = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def planted(data: bytes, rows: tuple[int, int], random: Random) -> bytes:
    """A text with comments behind some of the lines in a range, and above some statements.

    `rows` are the first and the last line, from 1.
    """
    lines = data.splitlines(True)
    ends, starts = _places(data)
    number = 0
    for row in range(rows[1], rows[0] - 1, -1):
        line = lines[row - 1]
        if row in ends and random.random() < 0.3:
            number += 1
            lines[row - 1] = line.rstrip(b"\n") + b"  # behind %d\n" % number
        if row in starts and random.random() < 0.15:
            number += 1
            margin = line[: len(line) - len(line.lstrip())]
            lines.insert(row - 1, margin + b"# above %d\n" % number)
    return b"".join(lines)


def comments(data: bytes) -> Counter[str]:
    """How often a text has each comment."""
    found: Counter[str] = Counter()
    for token in tokenize.tokenize(io.BytesIO(data).readline):
        if token.type == tokenize.COMMENT:
            found[token.string] += 1
    return found


def _places(data: bytes) -> tuple[set[int], set[int]]:
    """The lines behind which there may be a comment, and those on which a statement begins."""
    ends: set[int] = set()
    starts: set[int] = set()
    is_new = True
    last = tokenize.ENCODING
    for token in tokenize.tokenize(io.BytesIO(data).readline):
        row = token.start[0]
        is_end = token.type in (tokenize.NEWLINE, tokenize.NL) and token.string == "\n"
        if is_end and token.line.strip() and last != tokenize.COMMENT:
            ends.add(row)
        if token.type == tokenize.NEWLINE:
            is_new = True
        elif token.type not in _SKIPPED and is_new:
            starts.add(row)
            is_new = False
        last = token.type
    return ends, starts
