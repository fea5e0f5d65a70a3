"""Hunks that are no syntax: lines of a text file, and whole files that are added. Pure: bytes in, `Rewrite` out."""

from __future__ import annotations

from codecs import BOM_UTF8
from itertools import accumulate, groupby
from operator import eq
from typing import Iterator, Sequence, Tuple

from patcher.message import Message
from patcher.model import ADDED, HunkAnswer, HunkText, Rewrite, Splice, State, apply_splices

_RUN = "..."
STANDS_THERE = Message("a file of that name stands there, which this patchset did not add")
_Laying = Tuple[int, ...]
"""The line (0-based) of the file on which each line of a side lies; for a run that on which it begins."""


class _Text:
    """The lines of a file, with their ends, and where each begins."""

    def __init__(self, data: bytes) -> None:
        begin = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
        self.lines = data[begin:].splitlines(keepends=True)
        self.starts = list(accumulate(map(len, self.lines), initial=begin))
        self.bare = [line.rstrip() for line in self.lines]
        ended = [line for line in self.lines if line.endswith((b"\n", b"\r"))]
        self.end = ended[0][len(ended[0].rstrip(b"\r\n")) :] if ended else b"\n"
        self.open = len(ended) < len(self.lines)  # the last line has no end
        try:
            data.decode("utf-8")
            self.encoding = "utf-8"
        except UnicodeDecodeError:
            self.encoding = "latin-1"

    def encoded(self, line: str) -> bytes:
        """A line of a hunk as the file would have it."""
        return line.encode(self.encoding, "replace")


def rewrite_text(data: bytes, hunks: Sequence[HunkText]) -> Rewrite:
    """Apply all hunks for a file that are no syntax, or none of them; arguments and result are those of `engine.rewrite`."""
    file = _Text(data)
    answers = [_added(data, hunk) if hunk.scope == ADDED else _answer(file, hunk) for hunk in hunks]
    owned = sorted(
        (splice, index) for index, answer in enumerate(answers) for splice in answer.splices
    )
    for (left, left_hunk), (right, right_hunk) in zip(owned, owned[1:]):
        if right.start < left.end or right[:2] == left[:2]:
            template = "two changes of this patchset meet at line {line}: write one hunk for both"
            problem = Message(template, line=data.count(b"\n", 0, right.start) + 1)
            for index in (left_hunk, right_hunk):
                answers[index] = answers[index]._replace(state=State.CONFLICT, problem=problem)
    if any(answer.state.failed for answer in answers):
        return Rewrite(data, (), tuple(answer._replace(splices=()) for answer in answers))
    splices = tuple(splice for splice, _ in owned)
    return Rewrite(apply_splices(data, splices), splices, tuple(answers))


def _added(data: bytes, hunk: HunkText) -> HunkAnswer:
    """The answer for a file that is added: `data` is what stands there, b"" for no file."""
    written = "".join(f"{line}\n" for _, line, _ in hunk.lines).encode("utf-8")
    if not data:
        return HunkAnswer(hunk, State.APPLICABLE, (1,), (Splice(0, 0, written),))
    if data.replace(b"\r\n", b"\n") == written:
        return HunkAnswer(hunk, State.UPSTREAM, (1,))
    return HunkAnswer(
        hunk,
        State.CONFLICT,
        problem=STANDS_THERE,
        hint=Message("give the file of the patchset another name"),
    )


def _answer(file: _Text, hunk: HunkText) -> HunkAnswer:
    """The answer for a hunk of lines by itself; its splices are those of the one place."""
    places = [(form, *_places(file, form)) for form in hunk.forms]
    form, todo, done = next((place for place in places if place[1] or place[2]), places[0])
    numbers = tuple(laying[0] + 1 for laying in (*todo, *done))
    if len(numbers) > 1:
        total = (
            Message("more than {limit}", limit=_MOST - 1) if len(numbers) >= _MOST else len(numbers)
        )
        template = "these lines stand in {total} places (lines {lines}), expected one"
        problem = Message(template, total=total, lines=", ".join(map(str, numbers)))
        hint = Message("write more of the lines around the place")
        return HunkAnswer(hunk, State.AMBIGUOUS, numbers, problem=problem, hint=hint)
    if todo:
        return HunkAnswer(hunk, State.APPLICABLE, numbers, tuple(_splices(file, form, todo[0])))
    if done:
        return HunkAnswer(hunk, State.UPSTREAM, numbers)
    if hunk.when_present:
        return HunkAnswer(hunk, State.NOT_NEEDED)
    gone = all(
        _tags(form) == {"-"} and len(_layings(file, _side(form, "+"))) == 1 for form in hunk.forms
    )
    return HunkAnswer(hunk, State.NOT_FOUND, problem=_nearest(file, hunk), gone=gone)


# matching -------------------------------------------------------------------------------------------------------------
_MOST = 10  # places that are looked for


def _tags(hunk: HunkText) -> set[str]:
    """What the lines of a hunk do, but for those that stay."""
    return {tag for tag, _, _ in hunk.lines} - {" "}


def _side(hunk: HunkText, tag: str) -> list[str]:
    return [line for kind, line, _ in hunk.lines if kind in (" ", tag)]


def _places(file: _Text, form: HunkText) -> tuple[list[_Laying], list[_Laying]]:
    """Where a form of a hunk is to be applied: layings of its before side; and where that is done: of its after side."""
    todo, done = _layings(file, _side(form, "-")), _layings(file, _side(form, "+"))
    if _tags(form) == {"+"}:  # what is inserted may stand beside the place already
        todo = [
            at
            for at in todo
            if not any(outer[0] <= at[0] and at[-1] <= outer[-1] for outer in done)
        ]
    elif todo or _tags(form) == {"-"}:  # what stays stands there before, too
        done = []
    return todo, done


def _layings(file: _Text, side: Sequence[str]) -> list[_Laying]:
    """Where a side lies, at most `_MOST` ways: the pieces between its runs, one below the other."""
    lines = [None if line.strip() == _RUN else file.encoded(line).rstrip() for line in side]
    pieces = [list(piece) for _, piece in groupby(lines, key=lambda line: line is None)]
    places: list[
        list[int]
    ] = []  # of each piece those that leave room for the ones below it: so no way ends in nothing
    last = len(file.bare)
    for piece in reversed(pieces):
        if piece[0] is not None:
            places.insert(
                0,
                [
                    at
                    for at in range(last - len(piece) + 1)
                    if file.bare[at : at + len(piece)] == piece
                ],
            )
            last = max(places[0], default=-1)
        else:
            places.insert(0, [])
    layings: list[_Laying] = [()] if any(lines) else []
    for piece, starts in zip(pieces, places):
        ends = [
            laying[-1] + (lines[len(laying) - 1] is not None) if laying else 0 for laying in layings
        ]
        if piece[0] is None:
            layings = [(*laying, *[end] * len(piece)) for laying, end in zip(layings, ends)]
        else:
            layings = [
                (*laying, *range(at, at + len(piece)))
                for laying, end in zip(layings, ends)
                for at in starts
                if at >= end
            ][:_MOST]
    return layings


def _nearest(file: _Text, hunk: HunkText) -> str:
    """What the first line is that keeps a hunk from being found, at the place where most of its lines stand."""
    lines = [file.encoded(line).rstrip() for line in _side(hunk, "-") if line.strip() != _RUN]
    shown = next((line for line in lines if line and line not in file.bare), b"")
    if shown:
        return Message("no line of the file is `{line}`", line=shown.decode(file.encoding).strip())
    at = max(
        range(len(file.bare) or 1),
        key=lambda at: sum(map(eq, file.bare[at : at + len(lines)], lines)),
    )
    return Message(
        "its lines stand in the file, but not one below the other: the nearest place is line {line}",
        line=at + 1,
    )


# rewriting ------------------------------------------------------------------------------------------------------------
def _splices(file: _Text, form: HunkText, laying: _Laying) -> Iterator[Splice]:
    """The change of each row of lines that are deleted and inserted."""
    # each line, and each run, ends where the next one begins
    bounds, index = (
        (*laying, laying[-1] + 1),
        0,
    )
    for is_change, group in groupby(form.lines, key=lambda line: line[0] != " "):
        rows = list(group)
        first, index = index, index + sum(tag != "+" for tag, _, _ in rows)
        if is_change:
            yield _splice(
                file, bounds[first], bounds[index], [line for tag, line, _ in rows if tag == "+"]
            )


def _splice(file: _Text, start: int, end: int, new: Sequence[str]) -> Splice:
    """Replace the lines `[start, end)`; the last line of a file keeps an end, or none, as it was."""
    data = b"".join(file.encoded(line) + file.end for line in new)
    low, high = file.starts[start], file.starts[end]
    if file.open and end == len(file.lines):
        data = data[: len(data) - len(file.end)] if data else data
        if start == end:  # below a line without an end
            data = file.end + data
        elif not data and start:  # the line above becomes the last one
            above = file.lines[start - 1]
            low -= len(above) - len(above.rstrip(b"\r\n"))
    return Splice(low, high, data)
