"""Hunks that are looser than the edit: only for other releases in which no other hunk holds."""

from __future__ import annotations

import ast
from itertools import chain, combinations
from textwrap import dedent
from typing import Iterator, Mapping, Optional, Sequence, Tuple

from patcher.author.hunks.context import Candidate
from patcher.author.hunks.excerpts import Line
from patcher.author.hunks.trial import holds, readable
from patcher.model import HunkText

_MOST = 8  # candidates that are loosened


def loose(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    """The candidates with the old value left open, in the same function of any class, and with both; each once."""
    seen = {candidate.text for candidate in candidates}
    some = candidates[:_MOST]
    opened = [each for each in map(_opened, some) if each is not None]
    wide = [each for candidate in (*some, *opened) for each in _anywhere(candidate)]
    for candidate in (*opened, *wide):
        if candidate.text not in seen:
            seen.add(candidate.text)
            yield candidate


def _opened(candidate: Candidate) -> Optional[Candidate]:
    """An assignment of another value with the old one left open: `-X = $OLD`; None for another hunk."""
    deleted, inserted = ([line for tag, line in candidate.lines if tag == sign] for sign in "-+")
    try:
        (old,), (new,) = (ast.parse(dedent("\n".join(side))).body for side in (deleted, inserted))
    except (SyntaxError, ValueError):  # no statement, or several
        return None
    if not (isinstance(old, (ast.Assign, ast.AnnAssign)) and isinstance(new, type(old)) and old.value is not None):
        return None
    if [ast.dump(each) for each in _targets(old)] != [ast.dump(each) for each in _targets(new)]:
        return None
    lines = dedent("\n".join(deleted)).encode().split(b"\n")
    head = b"\n".join([*lines[: old.value.lineno - 1], lines[old.value.lineno - 1][: old.value.col_offset]])
    margin = deleted[0][: len(deleted[0]) - len(deleted[0].lstrip())]
    shown = [margin + line for line in (head.decode().rstrip("( \t\n\\") + " $OLD").split("\n")]
    first = next(at for at, (tag, _) in enumerate(candidate.lines) if tag == "-")
    kept: Tuple[Line, ...] = tuple(line for line in candidate.lines[first:] if line[0] != "-")
    made = (*candidate.lines[:first], *(("-", line) for line in shown), *kept)
    return candidate._replace(lines=made, form=f"{candidate.form}, the old value left open")


def _targets(node: ast.stmt) -> Sequence[ast.AST]:
    if isinstance(node, ast.AnnAssign):
        return [node.target, node.annotation]
    return node.targets if isinstance(node, ast.Assign) else []


def _anywhere(candidate: Candidate) -> Iterator[Candidate]:
    """The same definition in other classes and functions: a `*` for one name around it, then for all."""
    *around, name = candidate.scope.split(".")
    places = range(len(around))
    for hidden in chain.from_iterable(combinations(places, number + 1) for number in places):
        scope = ".".join([*("*" if at in hidden else each for at, each in enumerate(around)), name])
        yield candidate._replace(scope=scope, form=f"{candidate.form}, in any class that defines `{name}`")


def moved_paths(path: str, hunks: Sequence[HunkText], others: Sequence[Mapping[str, bytes]]) -> Tuple[str, ...]:
    """Where releases that do not have a file have its code: in the one other file in which all hunks hold.

    Args:
        path: the file.
        hunks: all hunks for it.
        others: of each other release the Python files of the package by path.
    """
    found = []
    for texts in others:
        homes = [other for other, text in texts.items() if _hold(text, hunks)] if path not in texts and hunks else []
        found += homes if len(homes) == 1 else []
    return tuple(dict.fromkeys(found))


def _hold(text: bytes, hunks: Sequence[HunkText]) -> bool:
    names = {hunk.scope.rpartition(".")[2] for hunk in hunks} - {"<module>"}
    if not all("*" in name or name.encode() in text for name in names):
        return False
    source = readable(text)
    return source is not None and all(holds(source, hunk) for hunk in hunks)
