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
    """The lines of a file, with their ends, where each begins, and how far it is indented (None for a blank one)."""

    def __init__(self, data: bytes) -> None:
        begin = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
        self.lines = data[begin:].splitlines(keepends=True)
        self.starts = list(accumulate(map(len, self.lines), initial=begin))
        self.bare = [line.rstrip() for line in self.lines]
        self.indents = [_indent(line.decode("latin-1")) for line in self.bare]
        ended = [line for line in self.lines if line.endswith((b"\n", b"\r"))]
        self.end = ended[0][len(ended[0].rstrip(b"\r\n")) :] if ended else b"\n"
        self.open = len(ended) < len(self.lines)  # the last line has no end
        try:
            data.decode("utf-8")
            self.encoding = "utf-8"
        except UnicodeDecodeError:
            self.encoding = "latin-1"  # a character a byte: which one it is nobody knows

    def encoded(self, line: str) -> bytes | None:
        """A line of a hunk as the file would have it; None where it cannot have it."""
        try:
            return line.encode(self.encoding)
        except UnicodeEncodeError:
            return None

    def refused(self, hunk: HunkText) -> HunkAnswer | None:
        """A conflict where a hunk inserts what the file cannot hold.

        In a file that is not UTF-8 that is all that is not ASCII, unless a line that the hunk finds there has such characters.
        """
        lines = [(tag, line) for tag, line, _ in hunk.lines if not line.isascii()]
        known = self.encoding == "utf-8" or any(tag != "+" for tag, _ in lines)
        for tag, line in lines:
            if tag == "+" and not (known and self.encoded(line) is not None):
                problem = Message(
                    "the file is not UTF-8: `{line}` cannot be written in its encoding",
                    line=line.strip(),
                )
                hint = Message("write it in ASCII")
                return HunkAnswer(hunk, State.CONFLICT, problem=problem, hint=hint)
        return None


def _indent(line: str) -> int | None:
    """How many columns a line is indented, a tab counting to the next multiple of eight; None for a blank line."""
    code = line.lstrip(" \t")
    return len(line[: len(line) - len(code)].expandtabs()) if code else None


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
        refused = file.refused(form)
        if refused is not None:
            return refused._replace(hunk=hunk, places=numbers)
        return HunkAnswer(hunk, State.APPLICABLE, numbers, tuple(_splices(file, form, todo[0])))
    if done:
        return HunkAnswer(hunk, State.UPSTREAM, numbers)
    if hunk.flags.when_present:
        return HunkAnswer(hunk, State.NOT_NEEDED)
    gone = all(_already_deleted(file, form) for form in hunk.forms)
    return HunkAnswer(hunk, State.NOT_FOUND, problem=_nearest(file, hunk), gone=gone)


def _already_deleted(file: _Text, form: HunkText) -> bool:
    """Whether a form only deletes, what it keeps is there, and no line that it deletes is (format rule 25)."""
    if _tags(form) != {"-"} or len(_layings(file, _side(form, "+"))) != 1:
        return False
    deleted = {file.encoded(line.rstrip()) for tag, line, _ in form.lines if tag == "-"}
    return not deleted & {line for line in file.bare if line}


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
    pieces = [(is_run, list(rows)) for is_run, rows in groupby(side, key=_is_run)]
    layings: list[_Laying] = [()] if any(map(str.strip, side)) else []
    for (is_run, rows), starts in zip(pieces, _starts(file, pieces)):
        longer: list[_Laying] = []
        for laying in layings:
            end = _end(side, laying)
            if is_run:
                longer.append((*laying, *[end] * len(rows)))
                continue
            for at in starts:
                if not laying or (at >= end and _holds_run(file, side, laying, at)):
                    longer.append((*laying, *range(at, at + len(rows))))
        layings = longer[:_MOST]
    return layings


def _is_run(line: str) -> bool:
    return line.strip() == _RUN


def _starts(file: _Text, pieces: Sequence[tuple[bool, list[str]]]) -> list[list[int]]:
    """The lines at which each piece stands and leaves room for those below it, so that no way ends in nothing."""
    found: list[list[int]] = []
    last = len(file.bare)
    for is_run, rows in reversed(pieces):
        starts: list[int] = []
        if not is_run:
            lines = [file.encoded(row.rstrip()) for row in rows]
            for at in range(last - len(lines) + 1):
                if file.bare[at : at + len(lines)] == lines:
                    starts.append(at)
            last = max(starts, default=-1)
        found.insert(0, starts)
    return found


def _end(side: Sequence[str], laying: _Laying) -> int:
    """The line below what is laid of a side."""
    if not laying:
        return 0
    return laying[-1] + (not _is_run(side[len(laying) - 1]))


def _holds_run(file: _Text, side: Sequence[str], laying: _Laying, below: int) -> bool:
    """Whether the run above the line `below` stays inside the block in which it began.

    That of the line above it where the one below is indented deeper, else that of the one below: no line between is
    indented less.
    """
    if not _is_run(side[len(laying) - 1]):
        return True
    start = laying[-1]  # where the run begins
    above, under = file.indents[start - 1] or 0, file.indents[below] or 0
    least = above + 1 if under > above else under
    return all(indent is None or indent >= least for indent in file.indents[start:below])


def _nearest(file: _Text, hunk: HunkText) -> str:
    """What the first line is that keeps a hunk from being found, at the place where most of its lines stand."""
    side = [line.rstrip() for line in _side(hunk, "-") if not _is_run(line)]
    lines = [file.encoded(line) for line in side]
    for text, line in zip(side, lines):
        if text and line not in file.bare:
            return Message("no line of the file is `{line}`", line=text.strip())
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
    data = b"".join(line.encode(file.encoding) + file.end for line in new)
    low, high = file.starts[start], file.starts[end]
    if file.open and end == len(file.lines):
        data = data[: len(data) - len(file.end)] if data else data
        if start == end:  # below a line without an end
            data = file.end + data
        elif not data and start:  # the line above becomes the last one
            above = file.lines[start - 1]
            low -= len(above) - len(above.rstrip(b"\r\n"))
    return Splice(low, high, data)
