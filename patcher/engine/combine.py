"""The edits of all hunks of a patchset -> splices of the file.

Hunks that overlap, or that insert at the same place, are in conflict (rule 14). A block that the
hunks empty together gets a `pass` (rule 15), and of the blank lines around deleted lines the
longest run is kept (rule 18).
"""

from __future__ import annotations

import re
from typing import Sequence

from patcher.engine.changes import MatchedHunk
from patcher.engine.lex import Lines
from patcher.engine.node import SyntaxProblem
from patcher.engine.source import Edit, Removed, Source
from patcher.message import Message
from patcher.model import HunkAnswer, Splice, State
from patcher.record import Record
from patcher.text.lines import common_ends


class _OwnEdit(Record):
    """An edit, and the index of the hunk that makes it."""

    edit: Edit
    hunk: int

    @property
    def range(self) -> tuple[int, int]:
        """The characters that the edit replaces."""
        return self.edit.start, self.edit.end


def combine(
    source: Source,
    matched: Sequence[MatchedHunk],
) -> tuple[list[HunkAnswer], list[Splice]]:
    """Turn the edits of all hunks into splices.

    A hunk whose edits have no effect (an option that has upstream's own value) is upstream.

    Returns:
        the answers with their splices, and all splices in order; none if two hunks are in conflict,
            or if the file's encoding lacks a character.
    """
    answers = [each.answer for each in matched]
    edits = _ordered_edits(source, matched)
    for first, second in zip(edits, edits[1:]):
        if not _is_conflict(first, second):
            continue

        problem = Message(
            "two changes of this patchset meet at line {line}: write one hunk for both",
            line=source.lines.number(second.edit.start),
        )

        for index in {first.hunk, second.hunk}:
            answers[index] = _conflict(answers[index], problem)

        return answers, []

    try:
        owned = _splices(source, edits)
    except SyntaxProblem as error:
        return [_conflict(answer, error.message) for answer in answers], []

    for index, answer in enumerate(answers):
        own = tuple(splice for splice, hunk in owned if hunk == index)
        answers[index] = answer._replace(splices=own)
        if answer.state is State.APPLICABLE and not own:
            answers[index] = answer._replace(state=State.UPSTREAM)

    return answers, [splice for splice, _ in owned]


def _splices(source: Source, edits: Sequence[_OwnEdit]) -> list[tuple[Splice, int]]:
    """The splices of the edits that have an effect, each with the index of its hunk.

    Raises:
        SyntaxProblem: the file's encoding lacks a character.
    """
    splices = []
    for edit, hunk in edits:
        start, end, new = _trimmed(source.text, edit)
        if start < end or new:
            splice = source.splice(start, end, new)
            splices.append((splice, hunk))

    return splices


def _conflict(answer: HunkAnswer, problem: str) -> HunkAnswer:
    """An answer that has become a conflict."""
    return answer._replace(state=State.CONFLICT, problem=problem)


def _ordered_edits(source: Source, matched: Sequence[MatchedHunk]) -> list[_OwnEdit]:
    """All edits in the order of the text.

    Lines for an inner block and lines for the block around it, inserted at the same place, have one
    order only: those of the inner block come first.
    """
    edits = []
    for index, each in enumerate(matched):
        for change in each.changes:
            edits += [_OwnEdit(edit, index) for edit in change.edits]

    edits = _without_empty_blocks(edits)
    edits.sort(key=lambda own: _depth(own.edit), reverse=True)
    edits.sort(key=lambda own: own.range)
    return _without_blank_lines(source, edits)


def _is_conflict(first: _OwnEdit, second: _OwnEdit) -> bool:
    """Whether two neighbouring edits overlap, or insert for two hunks at the same place."""
    left = first.edit
    right = second.edit
    if right.start < left.end:
        return True
    if first.hunk == second.hunk:
        return False

    are_insertions = left.start == left.end == right.start == right.end
    return are_insertions and _depth(left) == _depth(right)


def _depth(edit: Edit) -> tuple[int, bool]:
    """The indentation of the lines that an edit inserts, and whether they are a clause.

    The indentation is -1 if it inserts no whole lines.
    """
    # lines after the end of a file begin with the line break
    is_lines = edit.text.endswith(("\n", "\r")) or edit.text.startswith(("\n", "\r"))
    lines = edit.text.splitlines() if is_lines else []
    line = next((line for line in lines if line.strip()), "")
    code = line.lstrip()
    is_clause = re.match(r"(elif|else|except|finally)\b", code) is not None
    depth = len(line) - len(code) if line else -1
    return depth, is_clause


def _without_empty_blocks(edits: list[_OwnEdit]) -> list[_OwnEdit]:
    """Make the last statement of a block `pass` if the hunks delete all of its statements."""
    deleted: dict[tuple[int, int], list[Removed]] = {}
    for edit, _ in edits:
        if edit.removed is not None and edit.removed.block is not None:
            statements = deleted.setdefault(edit.removed.block, [])
            statements.append(edit.removed)

    last_statements = set()
    for (_, count), statements in deleted.items():
        if len(statements) == count:
            last_statements.add(max(statements))

    filled = []
    for edit, index in edits:
        if edit.removed is not None and edit.removed in last_statements:
            edit = Edit(edit.removed.start, edit.removed.end, text="pass")
        filled.append(_OwnEdit(edit, index))

    return filled


def _without_blank_lines(source: Source, edits: list[_OwnEdit]) -> list[_OwnEdit]:
    """Delete the blank lines above, between and below deleted lines, except for the longest run.

    The edits are in order. Neighbouring deletions count as one, whichever hunks they belong to
    (rule 18).
    """
    code = source.text
    lines = source.lines
    end_of_file = Edit(len(code), len(code), text="")
    following = [own.edit for own in edits[1:]]
    blank: list[_OwnEdit] = []
    runs: list[tuple[int, int]] = []
    for (edit, index), below in zip(edits, [*following, end_of_file]):
        if edit.removed is None:
            continue

        start = _above_blank_lines(lines, edit.start)
        end = _below_blank_lines(lines, edit.end, limit=below.start)

        if not runs:
            runs.append((start, edit.start))
        runs.append((edit.end, end))
        if end < below.start or below.removed is None:
            longest = _longest(code, runs)
            for run in runs:
                if run != longest:
                    deletion = Edit(*run, text="")
                    blank.append(_OwnEdit(deletion, index))

            runs = []

    return sorted([*edits, *blank], key=lambda own: own.range)


def _above_blank_lines(lines: Lines, offset: int) -> int:
    """The beginning of the blank lines above the line that begins at an offset."""
    while offset:
        start = lines.start(offset - 1)
        if not _is_blank(lines.text[start:offset]):
            break
        offset = start

    return offset


def _below_blank_lines(lines: Lines, offset: int, limit: int) -> int:
    """The end of the blank lines from an offset on; none that begins at `limit` or below it."""
    while offset < limit:
        end = lines.end(offset)
        if not _is_blank(lines.text[offset:end]):
            break
        offset = end

    return offset


def _is_blank(line: str) -> bool:
    """Whether a line has nothing but blanks."""
    return not line.strip(" \t\r\n")


def _longest(code: str, runs: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The longest run of blank lines, the last one of several; one at the end of the file wins."""

    def length(run: tuple[int, int]) -> tuple[bool, int]:
        start, end = run
        return end == len(code), len(code[start:end].splitlines())

    return max(reversed(runs), key=length)


def _trimmed(code: str, edit: Edit) -> tuple[int, int, str]:
    """An edit without the common prefix and suffix of the old and the new text."""
    old = code[edit.start : edit.end]
    new = edit.text
    head, tail = common_ends(old, new)
    middle = new[head : len(new) - tail]
    return edit.start + head, edit.end - tail, middle
