"""Hunks that are no syntax: lines of a text file, and whole files that are added. Pure: bytes in, `Rewrite` out."""

from __future__ import annotations

from codecs import BOM_UTF8
from itertools import groupby
from operator import eq
from typing import Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.message import Message
from patcher.model import ADDED, HunkAnswer, HunkText, Rewrite, Splice, State, apply_splices

_RUN = "..."
STANDS_THERE = Message("a file of that name stands there, which this patchset did not add")
_Laying = Tuple[int, ...]
"""The line (0-based) of the file on which each line of a side lies; for a run that on which it begins."""


class _Match(NamedTuple):
    """The places of a form of a hunk: layings of the before side and, where it is done already, of the after side."""

    form: HunkText
    todo: List[_Laying]
    done: List[_Laying]


class _Text:
    """The lines of a file, with their ends, and where each begins."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.lines = data.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        ended = [line for line in self.lines if line.endswith((b"\n", b"\r"))]
        self.end = ended[0][len(ended[0].rstrip(b"\r\n")) :] if ended else b"\n"
        self.open = len(ended) < len(self.lines)  # the last line has no end
        try:
            data.decode("utf-8")
            self.encoding = "utf-8"
        except UnicodeDecodeError:
            self.encoding = "latin-1"
        self.bare = [line.rstrip() for line in self.lines]
        if data.startswith(BOM_UTF8):
            self.starts[0] = len(BOM_UTF8)
            self.bare[0] = self.bare[0][len(BOM_UTF8) :]

    def encoded(self, line: str) -> bytes:
        """A line of a hunk as the file would have it."""
        return line.encode(self.encoding, "replace")


def rewrite_text(data: bytes, hunks: Sequence[HunkText]) -> Rewrite:
    """Apply all hunks for a file that are no syntax, or none of them; arguments and result are those of `engine.rewrite`."""
    file = _Text(data)
    answers = [_added(data, hunk) if hunk.scope == ADDED else answer_text(file, hunk) for hunk in hunks]
    owned = sorted((splice, index) for index, answer in enumerate(answers) for splice in answer.splices)
    for (left, left_hunk), (right, right_hunk) in zip(owned, owned[1:]):
        if right.start < left.end or right[:2] == left[:2]:
            problem = Message(
                "two changes of this patchset meet at line {line}: write one hunk for both", line=_line(file, right)
            )
            for index in (left_hunk, right_hunk):
                answers[index] = answers[index]._replace(state=State.CONFLICT, problem=problem)
    if any(answer.state.failed for answer in answers):
        return Rewrite(data, (), tuple(answer._replace(splices=()) for answer in answers))
    splices = tuple(splice for splice, _ in owned)
    return Rewrite(apply_splices(data, splices), splices, tuple(answers))


def _line(file: _Text, splice: Splice) -> int:
    return file.data.count(b"\n", 0, splice.start) + 1


def _added(data: bytes, hunk: HunkText) -> HunkAnswer:
    """The answer for a file that is added: `data` is what stands there, b"" for no file."""
    written = "".join(f"{line}\n" for _, line, _ in hunk.lines).encode("utf-8")
    if not data:
        return HunkAnswer(hunk, State.APPLICABLE, (1,), (Splice(0, 0, written),))
    if data.replace(b"\r\n", b"\n") == written:
        return HunkAnswer(hunk, State.UPSTREAM, (1,))
    return HunkAnswer(hunk, State.CONFLICT, problem=STANDS_THERE, hint=Message("give the file of the patchset another name"))


def answer_text(file: _Text, hunk: HunkText) -> HunkAnswer:
    """The answer for a hunk of lines by itself; its splices are those of the one place."""
    matches = [_match(file, form) for form in hunk.forms]
    match = next((match for match in matches if match.todo or match.done), matches[0])
    places = [*match.todo, *match.done]
    if len(places) > 1:
        problem = Message(
            "these lines stand in {total} places (lines {lines}), expected one", total=_total(places), lines=_shown(places)
        )
        return HunkAnswer(
            hunk, State.AMBIGUOUS, _numbers(places), problem=problem, hint=Message("write more of the lines around the place")
        )
    if match.todo:
        return HunkAnswer(hunk, State.APPLICABLE, _numbers(match.todo), tuple(_splices(file, match.form, match.todo[0])))
    if match.done:
        return HunkAnswer(hunk, State.UPSTREAM, _numbers(match.done))
    if hunk.when_present:
        return HunkAnswer(hunk, State.NOT_NEEDED)
    gone = all(_tags(form) == {"-"} and len(_layings(file, _side(form, "+"))) == 1 for form in hunk.forms)
    return HunkAnswer(hunk, State.NOT_FOUND, problem=_nearest(file, hunk), gone=gone)


def _tags(hunk: HunkText) -> Set[str]:
    """What the lines of a hunk do, but for those that stay."""
    return {tag for tag, _, _ in hunk.lines} - {" "}


def _total(places: Sequence[_Laying]) -> object:
    return Message("more than {limit}", limit=_MOST - 1) if len(places) >= _MOST else len(places)


def _shown(places: Sequence[_Laying]) -> str:
    return ", ".join(map(str, _numbers(places)))


def _numbers(places: Sequence[_Laying]) -> Tuple[int, ...]:
    return tuple(laying[0] + 1 for laying in places)


# matching -------------------------------------------------------------------------------------------------------------
_MOST = 10  # places that are looked for


def _side(hunk: HunkText, tag: str) -> List[str]:
    return [line for kind, line, _ in hunk.lines if kind in (" ", tag)]


def _match(file: _Text, form: HunkText) -> _Match:
    todo, applied = _layings(file, _side(form, "-")), _layings(file, _side(form, "+"))
    if _tags(form) == {"+"}:  # what is inserted may stand beside the place already
        todo = [laying for laying in todo if not any(_within(laying, outer) for outer in applied)]
    elif todo or _tags(form) == {"-"}:  # what stays stands there before, too
        applied = []
    return _Match(form, todo, applied)


def _within(part: _Laying, outer: _Laying) -> bool:
    return outer[0] <= part[0] and part[-1] <= outer[-1]


def _layings(file: _Text, side: Sequence[str]) -> List[_Laying]:
    """Where a side lies, at most `_MOST` ways."""
    lines = [None if line.strip() == _RUN else file.encoded(line).rstrip() for line in side]
    layings: List[_Laying] = []
    if any(lines):
        for laying in _laid(file.bare, lines, 0, anywhere=True):
            layings.append(laying)
            if len(layings) == _MOST:
                break
    return layings


def _laid(bare: Sequence[bytes], lines: Sequence[Optional[bytes]], start: int, *, anywhere: bool) -> Iterator[_Laying]:
    """The ways in which lines lie from line `start` on, or anywhere from there on."""
    if not lines:
        yield ()
    elif lines[0] is None:
        for following in _laid(bare, lines[1:], start, anywhere=True):
            yield (start, *following)
    else:
        piece = lines[: next((index for index, line in enumerate(lines) if line is None), len(lines))]
        for at in range(start, len(bare) - len(piece) + 1) if anywhere else (start,):
            if list(bare[at : at + len(piece)]) == piece:
                after = at + len(piece)
                if not _there(bare, lines[len(piece) :], after):
                    return  # nor further down
                for following in _laid(bare, lines[len(piece) :], after, anywhere=False):
                    yield (*range(at, after), *following)


def _there(bare: Sequence[bytes], lines: Sequence[Optional[bytes]], start: int) -> bool:
    """Whether every piece between runs stands somewhere, one after the other: else no search through all ways would end."""
    for is_run, group in groupby(lines, key=lambda line: line is None):
        piece = list(group)
        if not is_run:
            places = (at for at in range(start, len(bare)) if list(bare[at : at + len(piece)]) == piece)
            start = next(places, -1) + len(piece)
            if start < len(piece):
                return False
    return True


def _nearest(file: _Text, hunk: HunkText) -> str:
    """What the first line is that keeps a hunk from being found, at the place where most of its lines stand."""
    lines = [file.encoded(line).rstrip() for line in _side(hunk, "-") if line.strip() != _RUN]
    shown = next((line for line in lines if line and line not in file.bare), b"")
    if shown:
        return Message("no line of the file is `{line}`", line=shown.decode(file.encoding).strip())
    at = max(range(len(file.bare) or 1), key=lambda at: sum(map(eq, file.bare[at : at + len(lines)], lines)))
    return Message("its lines stand in the file, but not one below the other: the nearest place is line {line}", line=at + 1)


# rewriting ------------------------------------------------------------------------------------------------------------
def _splices(file: _Text, form: HunkText, laying: _Laying) -> Iterator[Splice]:
    """The change of each row of lines that are deleted and inserted."""
    index, at = 0, laying[0]
    new: List[str] = []
    start: Optional[int] = None
    for tag, line in [*((tag, line) for tag, line, _ in form.lines), (" ", None)]:
        if tag == " " and start is not None:
            yield _splice(file, start, at, new)
            start, new = None, []
        if line is None:
            return
        if tag == "+":
            start = at if start is None else start
            new.append(line)
        else:
            start = laying[index] if tag == "-" and start is None else start
            at = laying[index + 1] if line.strip() == _RUN else laying[index] + 1
            index += 1


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
