"""Hunks of a diff applied to the bytes of a file.

That is at the lines that they name, or where there is no doubt. Pure.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Sequence

from patcher.author.diffs.unified import UnifiedHunk
from patcher.message import Message
from patcher.record import Record
from patcher.text.listed import count

FUZZ = 2
"""Lines of context at either end of a hunk that may differ unless another number is asked for.

GNU patch has the same.
"""
_MOST_FUZZ = 10  # lines of context that are left out to find how much --fuzz would be needed
_MOST_NAMED = 5  # places that are named where there are several
_DONE = Message("the file has this change already: the diff is applied, or reversed")


class DiffResult(Record):
    """What hunks make of a file.

    Attributes:
        after: the bytes; with `problems`, the file as it was.
        notes: what is not as the diff has it.
        problems: why hunks cannot be applied.
        done: whether every hunk is applied already.
    """

    after: bytes
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    done: bool = False


class _Text(Record):
    """A file.

    Attributes:
        lines: its lines.
        keys: each line as it is compared.
        places: the indices of each key.
        any_end: whether line ends may differ.
    """

    lines: list[bytes]
    keys: list[bytes]
    places: dict[bytes, list[int]]
    any_end: bool

    def find(self, old: Sequence[bytes], low: int) -> list[int]:
        """The indices from `low` on at which the file has these lines."""
        keys = [_key(line, any_end=self.any_end) for line in old]
        if not keys:
            return []
        rare = min(range(len(keys)), key=lambda at: len(self.places.get(keys[at], ())))
        found: list[int] = []
        for index in self.places.get(keys[rare], ()):
            start = index - rare
            if start >= low and self.keys[start : start + len(keys)] == keys:
                found.append(start)
        return found

    @property
    def has_crlf(self) -> bool:
        """Whether most of its lines end in CR LF."""
        crlf = lf = 0
        for line in self.lines:
            if line.endswith(b"\r\n"):
                crlf += 1
            elif line.endswith(b"\n"):
                lf += 1
        return crlf > lf


class _Place(Record):
    """Where a hunk belongs.

    Attributes:
        at: the index in the file of its line `head`.
        head: lines at its beginning that are not compared.
        tail: lines at its end that are not compared.
        fuzz: how many lines of context may differ.
    """

    at: int
    head: int = 0
    tail: int = 0
    fuzz: int = 0

    @property
    def start(self) -> int:
        """The index of the hunk's first line."""
        return self.at - self.head


class _Reached(Record):
    """How far a file is read: the index of the next line, and how far the last hunk was moved."""

    low: int = 0
    moved: int = 0


def apply_hunks(data: bytes, hunks: Sequence[UnifiedHunk], fuzz: int = 0) -> DiffResult:
    """Apply the hunks for one file.

    A hunk belongs at the line that the diff names, moved as the hunk before it was; else at the
    only other place that has its old lines (of several, the one below the line that its heading
    names). All line ends may differ from those of the diff.

    Args:
        data: the file.
        hunks: in the order of the file.
        fuzz: how many lines of context at either end of a hunk may differ.
    """
    text = _read(data, False)
    exact = _apply(text, hunks, fuzz=fuzz)
    if not exact.problems:
        return exact
    loose_text = _read(data, True)
    loose = _apply(loose_text, hunks, fuzz=fuzz)
    if not loose.problems:
        note = Message("the diff has other line ends than the file, which keeps its own")
        return loose._replace(notes=(*loose.notes, note))

    reverse = [hunk.reverse for hunk in hunks]
    is_done = (
        not _apply(text, reverse, fuzz=0).problems
        or not _apply(loose_text, reverse, fuzz=0).problems
    )
    best = loose if len(loose.problems) < len(exact.problems) else exact
    return best._replace(after=data, done=is_done)


@lru_cache(maxsize=16)  # the hunks of a patch are tried on the same few files
def _read(data: bytes, any_end: bool) -> _Text:
    *ended, last = data.split(b"\n")
    lines = [line + b"\n" for line in ended]
    if last:
        lines.append(last)
    keys = [_key(line, any_end=any_end) for line in lines]
    places: dict[bytes, list[int]] = {}
    for index, key in enumerate(keys):
        places.setdefault(key, []).append(index)
    return _Text(lines, keys, places=places, any_end=any_end)


def _key(line: bytes, *, any_end: bool) -> bytes:
    return line[:-2] + b"\n" if any_end and line.endswith(b"\r\n") else line


def _apply(text: _Text, hunks: Sequence[UnifiedHunk], fuzz: int) -> DiffResult:
    out: list[bytes] = []
    notes: list[str] = []
    problems: list[str] = []
    reached = _Reached()
    for hunk in hunks:
        place = _find(text, hunk, reached=reached, fuzz=fuzz)
        if isinstance(place, str):
            problem = "hunk {number} (line {line} of the diff): {problem}"
            problems.append(Message(problem, number=hunk.number, line=hunk.line, problem=place))
            continue
        moved = place.start - hunk.start
        if moved or place.fuzz:
            notes.append(_note(hunk, place))
        if hunk.recounted:
            form = "hunk {number}: it has more lines than its header says: all of them count"
            notes.append(Message(form, number=hunk.number))
        out += text.lines[reached.low : place.at]
        new, low = _changed(text, hunk, place=place)
        out += new
        reached = _Reached(low, moved)
    after = b"".join([*out, *text.lines[reached.low :]])
    return DiffResult(after, notes=tuple(notes), problems=tuple(problems))


def _note(hunk: UnifiedHunk, place: _Place) -> str:
    """Where a hunk was found."""
    where: str = ""
    moved = place.start - hunk.start
    if moved > 0:
        where = Message(", {lines} below where the diff says", lines=count(moved, "line"))
    elif moved < 0:
        where = Message(", {lines} above where the diff says", lines=count(-moved, "line"))
    fuzzy = Message(", with fuzz {fuzz}", fuzz=place.fuzz) if place.fuzz else ""
    form = "hunk {number}: found at line {line}{where}{fuzzy}"
    line = place.start + 1
    return Message(form, number=hunk.number, line=line, where=where, fuzzy=fuzzy)


def _changed(text: _Text, hunk: UnifiedHunk, place: _Place) -> tuple[list[bytes], int]:
    """The new lines of a hunk, and the index after its old ones.

    Context keeps the bytes of the file.
    """
    to_crlf = text.any_end and text.has_crlf
    out: list[bytes] = []
    at = place.at
    for tag, line in hunk.lines[place.head : len(hunk.lines) - place.tail]:
        if tag == "+":
            new = _key(line, any_end=text.any_end)
            if to_crlf and line.endswith(b"\n"):
                new = new[:-1] + b"\r\n"
            out.append(new)
            continue
        if tag == " ":
            out.append(text.lines[at])
        at += 1
    return out, at


def _find(text: _Text, hunk: UnifiedHunk, reached: _Reached, *, fuzz: int) -> _Place | str:
    """Where a hunk belongs, else why nowhere."""
    low, moved = reached
    if not hunk.side("-"):  # a diff without context
        at = hunk.start + moved
        if low <= at <= len(text.lines):
            return _Place(at)
        return Message("the file has no line {at}", at=at)

    for less in range(fuzz + 1):
        found = _places(text, hunk, reached=reached, fuzz=less)
        named = {hunk.start, hunk.start + moved}
        is_away = bool(found) and found[0].start not in named
        if is_away and {*named, hunk.new_start} & {*text.find(hunk.side("+"), low)}:
            return _DONE  # what was found is other code that looks as this one did
        if len(found) == 1:
            return found[0]
        if found:
            lines = ", ".join(str(place.start + 1) for place in found[:_MOST_NAMED])
            problem = (
                "its lines stand in {number} places (lines {lines}),"
                " none of them where the diff says"
            )
            return Message(problem, number=len(found), lines=lines)
    if text.find(hunk.side("+"), 0):
        return _DONE

    for less in range(fuzz + 1, _MOST_FUZZ + 1):
        found = _places(text, hunk, reached=reached, fuzz=less)
        if len(found) == 1:
            problem = "its context differs: it is found at line {line} with --fuzz {less}"
            return Message(problem, line=found[0].start + 1, less=less)
    return _missing(text, hunk)


def _places(text: _Text, hunk: UnifiedHunk, reached: _Reached, *, fuzz: int) -> list[_Place]:
    """The places of a hunk without `fuzz` lines of its longer context.

    Nor is there what the other context then is longer by. With less context below than above it
    belongs at the end of the file, as for GNU patch, if its lines are there.
    """
    tags = [tag for tag, _ in hunk.lines]
    above, below = _unchanged(tags), _unchanged(tags[::-1])
    longer = max(above, below)
    if fuzz > longer:
        return []
    head, tail = max(0, fuzz + above - longer), max(0, fuzz + below - longer)
    old: list[bytes] = []
    for tag, line in hunk.lines[head : len(hunk.lines) - tail]:
        if tag != "+":
            old.append(line)
    if fuzz and not any(line.strip() for line in old):
        return []

    places = [_Place(at, head, tail=tail, fuzz=fuzz) for at in text.find(old, reached.low)]
    # it was cut by the end of the file
    if fuzz + below < above and places and places[-1].at + len(old) == len(text.lines):
        return places[-1:]
    for start in (hunk.start + reached.moved, hunk.start):
        for place in places:
            if place.start == start:
                return [place]
    if hunk.heading and len(places) > 1:
        headed = [place for place in places if _heading(text, place.at) == hunk.heading]
        if len(headed) == 1:
            return headed
    return places


def _unchanged(tags: Sequence[str]) -> int:
    """How many lines of context a hunk begins with."""
    return next((at for at, tag in enumerate(tags) if tag != " "), len(tags))


def _heading(text: _Text, at: int) -> bytes:
    """The heading that diff would give a hunk there.

    It is the last line above it that begins at the margin with a letter.
    """
    for line in reversed(text.lines[:at]):
        if line[:1].isalpha() or line[:1] in (b"_", b"$"):
            return line.strip()
    return b""


def _missing(text: _Text, hunk: UnifiedHunk) -> str:
    known = set(text.keys)
    for tag, line in hunk.lines:
        if tag != "+" and line.strip() and _key(line, any_end=text.any_end) not in known:
            shown = line.strip().decode("utf-8", "replace")
            return Message("the file has no line `{line}`", line=shown)
    return Message("the file has its lines, but not one below the other")
