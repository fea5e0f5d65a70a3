"""Hunks that are not syntax: lines of a text file, and whole files that come or go. Pure."""

from __future__ import annotations

from codecs import BOM_UTF8
from itertools import accumulate, groupby
from operator import eq
from typing import TYPE_CHECKING, Iterable, Iterator, Sequence

from patcher.message import Message
from patcher.model import (
    ADDED,
    DELETED,
    HunkAnswer,
    HunkText,
    Rewrite,
    Splice,
    State,
    apply_splices,
)
from patcher.record import Record

_RUN = "..."
_MOST = 10  # places that are looked for
STANDS_THERE = Message("a file of that name stands there, which this patchset did not add")

if TYPE_CHECKING:
    _HunkLine = tuple[str, str, int]
    """A tag, the text behind it, and the line in the .spatch."""

    _Piece = tuple[bool, list[str]]
    """Whether these lines of a side are runs, and the lines."""

    _Alignment = tuple[int, ...]
    """The line (0-based) of the file on which each line of a side lies.

    For a run that is the line on which it begins.
    """


class _Text:
    """The lines of a file: with and without their ends, where each begins, how far it is indented.

    `encoding` is latin-1 if the file is not UTF-8: that maps each byte to a character, whatever it
    means. `end` is the line end of the file, `is_open` whether its last line has none.
    """

    def __init__(self, data: bytes) -> None:
        begin = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
        self.lines = data[begin:].splitlines(keepends=True)
        self.starts = list(accumulate(map(len, self.lines), initial=begin))
        self.bare = [line.rstrip() for line in self.lines]
        self.indents = [_indent(line.decode("latin-1")) for line in self.bare]
        ended = [line for line in self.lines if line.endswith((b"\n", b"\r"))]
        self.end = _line_end(ended[0]) if ended else b"\n"
        self.is_open = len(ended) < len(self.lines)
        try:
            data.decode("utf-8")
            self.encoding = "utf-8"
        except UnicodeDecodeError:
            self.encoding = "latin-1"

    def encoded(self, line: str) -> bytes | None:
        """A line of a hunk as bytes of the file; None if its encoding lacks a character."""
        try:
            return line.encode(self.encoding)
        except UnicodeEncodeError:
            return None

    def bare_lines(self, lines: Iterable[str]) -> list[bytes | None]:
        """Lines of a hunk as they are in `bare`."""
        return [self.encoded(line.rstrip()) for line in lines]

    def unwritable(self, hunk: HunkText) -> str | None:
        """The first line that a hunk inserts and the file cannot hold; None if there is none.

        A file that is not UTF-8 holds only ASCII, unless a line that the hunk matches has other
        characters.
        """
        is_known = self.encoding == "utf-8"
        inserted: list[str] = []
        for tag, line, _ in hunk.lines:
            if line.isascii():
                continue
            if tag == "+":
                inserted.append(line)
            else:
                is_known = True

        for line in inserted:
            is_writable = is_known and self.encoded(line) is not None
            if not is_writable:
                return line

        return None


def _line_end(line: bytes) -> bytes:
    """The line break of a line."""
    content = line.rstrip(b"\r\n")
    return line[len(content) :]


def _indent(line: str) -> int | None:
    """The number of columns by which a line is indented; None for a blank line.

    A tab counts to the next multiple of eight.
    """
    code = line.lstrip(" \t")
    if not code:
        return None

    blanks = line[: len(line) - len(code)]
    return len(blanks.expandtabs())


# answers ------------------------------------------------------------------------------------------
def rewrite_text(data: bytes, hunks: Sequence[HunkText]) -> Rewrite:
    """Apply all hunks for a file that are not syntax, or none of them; see `engine.rewrite`."""
    file = _Text(data)
    answers = []
    for hunk in hunks:
        if hunk.scope == ADDED:
            answers.append(_added(data, hunk))
        elif hunk.scope == DELETED:
            answers.append(_deleted(data, file, hunk))
        else:
            answers.append(_answer(file, hunk))

    splices = _combined(data, answers)
    if any(answer.state.failed for answer in answers):
        return unchanged(data, answers)

    gone = any(hunk.scope == DELETED for hunk in hunks)
    return Rewrite(
        apply_splices(data, splices),
        splices,
        answers=tuple(answers),
        gone=gone,
    )


def unchanged(data: bytes, answers: Sequence[HunkAnswer]) -> Rewrite:
    """A text that stays as it is, and the answers without splices."""
    stripped = tuple(answer._replace(splices=()) for answer in answers)
    return Rewrite(data, splices=(), answers=stripped)


def _combined(data: bytes, answers: list[HunkAnswer]) -> tuple[Splice, ...]:
    """The splices of all answers in order; the answers of hunks that meet become a conflict."""
    owned: list[tuple[Splice, int]] = []
    for index, answer in enumerate(answers):
        for splice in answer.splices:
            owned.append((splice, index))

    owned.sort()
    for (left, left_index), (right, right_index) in zip(owned, owned[1:]):
        overlap = right.start < left.end
        is_one_place = (right.start, right.end) == (left.start, left.end)
        if not overlap and not is_one_place:
            continue

        lines_above = data.count(b"\n", 0, right.start)
        problem = Message(
            "two changes of this patchset meet at line {line}: write one hunk for both",
            line=lines_above + 1,
        )

        for index in (left_index, right_index):
            answer = answers[index]
            answers[index] = answer._replace(state=State.CONFLICT, problem=problem)

    return tuple(splice for splice, _ in owned)


def _added(data: bytes, hunk: HunkText) -> HunkAnswer:
    """The answer for a file that is added; `data` is what is there, b"" if there is no file."""
    lines = [f"{line}\n" for _, line, _ in hunk.lines]
    written = "".join(lines).encode("utf-8")
    if not data:
        splice = Splice(0, 0, new=written)
        return HunkAnswer(hunk, State.APPLICABLE, places=(1,), splices=(splice,))
    if data.replace(b"\r\n", b"\n") == written:
        return HunkAnswer(hunk, State.UPSTREAM, places=(1,))
    if hunk.flags.when_present:
        return HunkAnswer(hunk, State.NOT_NEEDED)
    return HunkAnswer(
        hunk,
        State.CONFLICT,
        problem=STANDS_THERE,
        hint=Message("give the file of the patchset another name"),
    )


def _deleted(data: bytes, file: _Text, hunk: HunkText) -> HunkAnswer:
    """The answer for a file that is deleted: it is there, and has the lines of the hunk alone."""
    problem = _other_lines(file, _texts(hunk.lines, "-"))
    if problem:
        hint = Message("write `-...` for lines that may be others")
        return HunkAnswer(hunk, State.NOT_FOUND, problem=problem, hint=hint)

    splice = Splice(0, len(data), new=b"")
    return HunkAnswer(hunk, State.APPLICABLE, places=(1,), splices=(splice,))


def _other_lines(file: _Text, side: Sequence[str]) -> str:
    """How a whole file differs from the lines of a hunk, "" where it does not.

    Blank lines at the end of either do not count.
    """
    lines = _without_end(file.bare)
    pieces: list[list[bytes | None]] = [[]]  # between runs
    for row in side:
        if _is_run(row):
            pieces.append([])
        else:
            pieces[-1].append(file.encoded(row.rstrip()))

    *upper, last = pieces
    last = _without_end(last)

    at = 0
    for number, piece in enumerate(upper):
        starts = range(at, len(lines)) if number else range(1)
        for start in starts:
            if _stands_at(lines, piece, start):
                at = start + len(piece)
                break
        else:
            return _first_other(lines, pieces)

    start = len(lines) - len(last) if upper else 0
    if start >= at and lines[start:] == last:
        return ""
    return _first_other(lines, pieces)


def _stands_at(
    lines: Sequence[bytes | None],
    piece: Sequence[bytes | None],
    start: int,
) -> bool:
    """Whether the lines from `start` on are those of a piece."""
    return lines[start : start + len(piece)] == piece


def _without_end(lines: Sequence[bytes | None]) -> list[bytes | None]:
    """Lines without the blank ones at the end."""
    last = len(lines)
    while last and not lines[last - 1]:
        last -= 1

    return list(lines[:last])


def _first_other(lines: Sequence[bytes | None], pieces: Sequence[Sequence[bytes | None]]) -> str:
    """The first line by which a file differs from the lines that are to be deleted."""
    deleted: set[bytes | None] = set()
    for piece in pieces:
        deleted.update(piece)

    for line in lines:
        if line and line not in deleted:
            shown = line.strip().decode("utf-8", "replace")
            return Message("the file has the line `{line}`, which is not to be deleted", line=shown)

    there = set(lines)
    for line in deleted:
        if line and line not in there:
            shown = line.strip().decode("utf-8", "replace")
            return Message("no line of the file is `{line}`", line=shown)

    return Message("the file has these lines, but not one below the other")


def _answer(file: _Text, hunk: HunkText) -> HunkAnswer:
    """The answer for a hunk of lines by itself; its splices are those of the one place."""
    form, places = _find_form(file, hunk)
    alignments = [*places.todo, *places.done]
    numbers = tuple(alignment[0] + 1 for alignment in alignments)
    if len(numbers) > 1:
        return _too_many(hunk, numbers)
    if places.todo:
        line = file.unwritable(form)
        if line is not None:
            problem = Message(
                "the file is not UTF-8: `{line}` cannot be written in its encoding",
                line=line.strip(),
            )

            hint = Message("write it in ASCII")
            return HunkAnswer(
                hunk,
                State.CONFLICT,
                places=numbers,
                problem=problem,
                hint=hint,
            )

        splices = tuple(_splices(file, form, places.todo[0]))
        return HunkAnswer(hunk, State.APPLICABLE, places=numbers, splices=splices)

    if places.done:
        return HunkAnswer(hunk, State.UPSTREAM, places=numbers)
    if hunk.flags.when_present:
        return HunkAnswer(hunk, State.NOT_NEEDED)

    return HunkAnswer(
        hunk,
        State.NOT_FOUND,
        problem=_nearest(file, hunk),
        gone=all(_already_deleted(file, form) for form in hunk.forms),
    )


def _too_many(hunk: HunkText, numbers: tuple[int, ...]) -> HunkAnswer:
    """The answer for a hunk whose lines begin at several lines of the file."""
    total: object = len(numbers)
    if len(numbers) >= _MOST:
        total = Message("more than {limit}", limit=_MOST - 1)
    problem = Message(
        "these lines stand in {total} places (lines {lines}), expected one",
        total=total,
        lines=", ".join(map(str, numbers)),
    )

    hint = Message("write more of the lines around the place")
    return HunkAnswer(
        hunk,
        State.AMBIGUOUS,
        places=numbers,
        problem=problem,
        hint=hint,
    )


def _nearest(file: _Text, hunk: HunkText) -> str:
    """What keeps a hunk from being found at the place where most of its lines are."""
    side = [line for line in _texts(hunk.lines, " -") if not _is_run(line)]
    lines = file.bare_lines(side)
    for text, line in zip(side, lines):
        if text.strip() and line not in file.bare:
            return Message("no line of the file is `{line}`", line=text.strip())

    def lines_alike(start: int) -> int:
        """How many lines from `start` on are as the hunk has them."""
        end = start + len(lines)
        return sum(map(eq, file.bare[start:end], lines))

    nearest = max(range(len(file.bare) or 1), key=lines_alike)
    return Message(
        "its lines stand in the file, but not one below the other: "
        "the nearest place is line {line}",
        line=nearest + 1,
    )


# matching -----------------------------------------------------------------------------------------
class _Places(Record):
    """Where a form of a hunk is to be applied, and where it has been applied already."""

    todo: list[_Alignment]
    done: list[_Alignment]


def _find_form(file: _Text, hunk: HunkText) -> tuple[HunkText, _Places]:
    """The first form of a hunk of which a side is found, and where; else the first one."""
    for form in hunk.forms:
        places = _places(file, form)
        if places.todo or places.done:
            return form, places

    return hunk.forms[0], _Places([], [])


def _places(file: _Text, form: HunkText) -> _Places:
    """Where the before side of a form is, and where its after side is without it."""
    before = _alignments(file, _texts(form.lines, " -"))
    after = _alignments(file, _texts(form.lines, " +"))
    tags = _change_tags(form)
    if tags == {"+"}:  # the after side has the before side in it: that place is done
        todo = []
        for alignment in before:
            if not any(_holds(outer, alignment) for outer in after):
                todo.append(alignment)

        return _Places(todo, done=after)

    # a hunk that only deletes: its after side is in every file that has the before side
    if before or tags == {"-"}:
        return _Places(before, done=[])
    return _Places(before, done=after)


def _holds(outer: _Alignment, inner: _Alignment) -> bool:
    """Whether the lines of one alignment are all among those of another."""
    return outer[0] <= inner[0] and inner[-1] <= outer[-1]


def _already_deleted(file: _Text, form: HunkText) -> bool:
    """Whether a form only deletes, what it keeps is there, and what it deletes is not (rule 26)."""
    if _change_tags(form) != {"-"}:
        return False

    kept = _texts(form.lines, " +")
    if len(_alignments(file, kept)) != 1:
        return False

    deleted = file.bare_lines(_texts(form.lines, "-"))
    return not any(line and line in deleted for line in file.bare)


def _change_tags(hunk: HunkText) -> set[str]:
    """The tags of the lines that a hunk inserts or deletes."""
    return {tag for tag, _, _ in hunk.lines} - {" "}


def _texts(lines: Iterable[_HunkLine], tags: str) -> list[str]:
    """The lines of a hunk that have one of these tags, without the tag."""
    return [line for tag, line, _ in lines if tag in tags]


def _alignments(file: _Text, side: Sequence[str]) -> list[_Alignment]:
    """The places of a side, at most `_MOST`: its pieces between runs, one below the other."""
    if not any(line.strip() for line in side):
        return []

    pieces: list[_Piece] = []
    for is_run, group in groupby(side, key=_is_run):
        pieces.append((is_run, list(group)))

    alignments: list[_Alignment] = [()]
    for (is_run, rows), starts in zip(pieces, _starts(file, pieces)):
        longer: list[_Alignment] = []
        for alignment in alignments:
            if is_run:
                end = _end(side, alignment)
                run_lines = [end] * len(rows)
                longer.append((*alignment, *run_lines))
                continue

            for start in starts:
                if _continues(file, side, alignment, start=start):
                    piece_lines = range(start, start + len(rows))
                    longer.append((*alignment, *piece_lines))

        alignments = longer[:_MOST]

    return alignments


def _continues(
    file: _Text,
    side: Sequence[str],
    alignment: _Alignment,
    start: int,
) -> bool:
    """Whether a piece at line `start` may follow what is aligned so far."""
    if not alignment:
        return True
    if start < _end(side, alignment):
        return False
    return _keeps_block(file, side, alignment, below=start)


def _is_run(line: str) -> bool:
    """Whether a line of a hunk stands for any lines."""
    return line.strip() == _RUN


def _starts(file: _Text, pieces: Sequence[_Piece]) -> list[list[int]]:
    """The lines at which each piece fits and leaves room for those below it.

    So every alignment that is begun can be completed, unless a run leaves its block. A run may
    begin anywhere: it has no lines of its own.
    """
    starts_of_pieces: list[list[int]] = []
    last = len(file.bare)  # the highest line at which the piece above may end
    for is_run, rows in reversed(pieces):
        starts: list[int] = []
        if not is_run:
            lines = file.bare_lines(rows)
            highest = last - len(lines)
            for start in range(highest + 1):
                if _stands_at(file.bare, lines, start):
                    starts.append(start)

            last = max(starts, default=-1)

        starts_of_pieces.insert(0, starts)

    return starts_of_pieces


def _end(side: Sequence[str], alignment: _Alignment) -> int:
    """The line below the part of a side that is aligned."""
    if not alignment:
        return 0
    if _is_run(side[len(alignment) - 1]):
        return alignment[-1]
    return alignment[-1] + 1


def _keeps_block(
    file: _Text,
    side: Sequence[str],
    alignment: _Alignment,
    below: int,
) -> bool:
    """Whether a run that ends above the line `below` stays inside the block in which it began.

    That block is the one of the line above the run if the line below it is indented deeper, else
    the one of the line below; no line in between may be indented less.
    """
    if not _is_run(side[len(alignment) - 1]):
        return True

    run_start = alignment[-1]
    indent_above = file.indents[run_start - 1] or 0
    indent_below = file.indents[below] or 0
    least = indent_below
    if indent_below > indent_above:  # the run is in the block of the line above it
        least = indent_above + 1
    for indent in file.indents[run_start:below]:
        if indent is not None and indent < least:
            return False

    return True


# rewriting ----------------------------------------------------------------------------------------
def _splices(file: _Text, form: HunkText, alignment: _Alignment) -> Iterator[Splice]:
    """The splices for each group of lines that are deleted and inserted."""
    # each line, and each run, ends where the next one begins
    bounds = (*alignment, alignment[-1] + 1)
    first = 0
    for is_change, group in groupby(form.lines, key=lambda line: line[0] != " "):
        rows = list(group)
        old = _texts(rows, " -")
        last = first + len(old)
        if is_change:
            new = _texts(rows, "+")
            yield _splice(file, bounds[first], end=bounds[last], new=new)

        first = last


def _splice(file: _Text, start: int, end: int, new: Sequence[str]) -> Splice:
    """Replace the lines `[start, end)`.

    The last line of a file keeps its end, or the lack of one.
    """
    lines = [line.encode(file.encoding) for line in new]
    low = file.starts[start]
    high = file.starts[end]
    is_open_end = file.is_open and end == len(file.lines)
    if not is_open_end:
        data = b"".join(line + file.end for line in lines)
        return Splice(low, high, new=data)

    data = file.end.join(lines)
    if start == end:  # below a line without an end
        data = file.end + data
    elif not data and start:  # the line above becomes the last one
        above = file.lines[start - 1]
        low -= len(_line_end(above))

    return Splice(low, high, new=data)
