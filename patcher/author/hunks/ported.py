"""A change carried over to the code of another release, by a three-way merge of tokens."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import islice
from typing import Sequence

from patcher.author.hunks.candidates import Candidates
from patcher.author.hunks.checker import Checker
from patcher.author.hunks.context import THEIRS, Candidate
from patcher.author.hunks.differences import Difference, apply_differences, differences
from patcher.author.hunks.token_merge import merge_tokens
from patcher.author.same_code import readable
from patcher.engine.tree import Tree
from patcher.message import Message
from patcher.text.lines import LineEdit, line_edits

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")  # a form feed begins none
_MOST_TRIED = 8  # candidates for one change


def ported(
    path: str, group: Sequence[Difference], home: Tree, after: Tree, other: Tree
) -> Candidate | None:
    """The hunk that makes a change in another release, of the code that it has in its place.

    Args:
        path: the file.
        group: the differences that are the change.
        home: the file before the edit.
        after: the file after it.
        other: the file of the other release.

    Returns:
        None where the release has other code than what the change replaces, or where no one hunk
        makes it there.
    """
    text = _merged(group, home, after, other)
    merged = readable(other.encoded(text)) if text else None
    if merged is None:
        return None
    merged = merged.whole()
    found = differences(other, merged)
    if len(found) != 1 or found[0].before.scope != group[0].before.scope:
        return None
    if len(found[0].deleted) > sum(len(difference.deleted) for difference in group):
        return None  # with statements that only the other release has
    checker = Checker(path, other, [])
    for candidate in islice(Candidates(other, merged).of(found[0]), _MOST_TRIED):
        if not checker.check(candidate, found).problem:
            form = Message("{form}, as another release has it", form=candidate.form)
            return candidate._replace(form=form, otherwise=THEIRS)
    return None


def _merged(group: Sequence[Difference], home: Tree, after: Tree, other: Tree) -> str:
    """The text of the other release with the change; "" where that is not clear.

    The lines are merged that both change or that stand between what they change.
    """
    lines, there = _LINE.findall(home.text), _LINE.findall(other.text)
    first = home.lines.number(min(each.span[0] for each in group)) - 1
    last = home.lines.number(max(each.span[1] for each in group))
    touching: list[LineEdit] = []
    for edit in _edits_between(home, other):
        if edit[0] <= last and edit[1] >= first:
            touching.append(edit)
    if not touching:
        return ""
    start, end = min(first, touching[0][0]), max(last, touching[-1][1])
    there_start = start + touching[0][2] - touching[0][0]
    there_end = end + touching[-1][3] - touching[-1][1]

    above, below = "".join(lines[:start]), "".join(lines[end:])
    edited = apply_differences(home.text, group)
    merged = merge_tokens(
        "".join(lines[start:end]),
        ours=edited[len(above) : len(edited) - len(below)],
        theirs="".join(there[there_start:there_end]),
        loses=not _is_moved(group, home, after),
    )
    if merged is None:
        return ""
    return "".join(there[:there_start]) + merged + "".join(there[there_end:])


@lru_cache(maxsize=8)  # each change of a file asks for them
def _edits_between(home: Tree, other: Tree) -> tuple[LineEdit, ...]:
    """What lines of the file another release has otherwise."""
    return tuple(line_edits(_LINE.findall(home.text), _LINE.findall(other.text)))


def _is_moved(group: Sequence[Difference], home: Tree, after: Tree) -> bool:
    """Whether most lines that a change takes away stand elsewhere after the edit.

    What another release has otherwise in them would have to go there, too.
    """
    gone: list[str] = []
    for difference in group:
        start, end = difference.span
        gone += _stripped(home.text[start:end])
    before, now = Counter(_stripped(home.text)), Counter(_stripped(after.text))
    kept = [line for line in gone if now[line] >= before[line]]
    return len(kept) * 2 > len(gone)


def _stripped(text: str) -> list[str]:
    """The lines of a text that are not blank, without their indentation."""
    return [line.strip() for line in text.splitlines() if line.strip()]
