"""Inserted code that would never run, as the file leaves the block above it (format rule 20)."""

from __future__ import annotations

import ast
import re
from typing import Iterator, Sequence

from patcher.engine.changes import FinishedText, MatchedHunk
from patcher.engine.scoping import blocks_of, is_near
from patcher.message import Message

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_LEAVING = re.compile(r"\s*(?:return|raise|break|continue)\b")


def never_run(finished: FinishedText, matched: Sequence[MatchedHunk]) -> str:
    """The problem if inserted code stands directly below a statement that leaves its block.

    Empty if there is none, and where a hunk itself has such a statement: its author knows it. A
    `yield` is not meant to run there: it makes a function a generator.
    """
    tree = finished.result.tree
    if tree is None or any(map(_writes_it, matched)):
        return ""
    for above, below in _neighbours(tree.body, finished):
        is_yield = isinstance(below, ast.Expr) and isinstance(below.value, ast.Yield)
        if isinstance(above, _LEAVES) and not is_yield and _comes_between(finished, above, below):
            return Message(
                "the inserted code would never run: line {line} of the result leaves its block",
                line=above.lineno,
            )
    return ""


def _neighbours(
    body: Sequence[ast.stmt], finished: FinishedText
) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """The statements directly above one another, in each block near what is inserted."""
    for above, below in zip(body, body[1:]):
        if is_near(below, finished.inserted_lines):
            yield above, below
    for node in body:
        if is_near(node, finished.inserted_lines):
            for block in blocks_of(node):
                yield from _neighbours(block, finished)


def _comes_between(finished: FinishedText, above: ast.stmt, below: ast.stmt) -> bool:
    """Whether a statement is inserted below one that was there."""
    return finished.inserts(below) and not finished.inserts(above)


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
