"""Inserted code that would never run, as the file leaves the block above it (format rule 20)."""

from __future__ import annotations

import ast
import re
from typing import Sequence

from patcher.engine.changes import FinishedText, MatchedHunk
from patcher.message import Message

LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)
"""The statements by which code leaves its block."""
_LEAVING = re.compile(r"\s*(?:return|raise|break|continue)\b")


def never_run(finished: FinishedText, matched: Sequence[MatchedHunk]) -> str:
    """The problem if inserted code stands directly below a statement that leaves its block.

    Empty if there is none, and where a hunk itself has such a statement: its author knows it. A
    `yield` is not meant to run there: it makes a function a generator.
    """
    for above, below in finished.seams():
        if not isinstance(above, LEAVES) or not finished.inserts(below):
            continue
        is_yield = isinstance(below, ast.Expr) and isinstance(below.value, ast.Yield)
        if not is_yield and not any(map(_writes_it, matched)):
            return Message(
                "the inserted code would never run: line {line} of the result leaves its block",
                line=above.lineno,
            )
    return ""


def _writes_it(matched: MatchedHunk) -> bool:
    """Whether a hunk has a statement that leaves its block, in front of what it inserts there."""
    lines = matched.form.text.lines
    for (tag, line, _), (_, below, _) in zip(lines, lines[1:]):
        if tag == "-" or not _LEAVING.match(line):
            continue
        if tag == " " or _indent(line) == _indent(below):
            return True
    return False


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
