"""Hunks of a diff applied to the bytes of a file. Pure.

They are applied at the lines that they name, or at another place if there is only one.
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
    """The lines of a file, and an index to find them by.

    Attributes:
        lines: its lines, with their ends.
        keys: each line as it is compared: with `any_end`, LF stands for CR LF.
        places: the indices of the lines that have a key.
        any_end: whether line ends may differ.
    """

    lines: list[bytes]
    keys: list[bytes]
    places: dict[bytes, list[int]]
    any_end: bool

    def find(self, lines: Sequence[bytes], low: int) -> list[int]:
        """The indices from `low` on at which the file has these lines."""
        keys = [_key(line, any_end=self.any_end) for line in lines]
        if not keys:
            return []
        # the line that the file has least often leads to the fewest places
        places_of_keys = [self.places.get(key, []) for key in keys]
        rarest = min(range(len(keys)), key=lambda index: len(places_of_keys[index]))
        starts: list[int] = []
        for place in places_of_keys[rarest]:
            start = place - rarest
            if start >= low and self.keys[start : start + len(keys)] == keys:
                starts.append(start)
        return starts

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
        at: the index in the file of its first line that is compared.
        head: the number of lines at its beginning that are not compared.
        tail: the number of lines at its end that are not compared.
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


class _Progress(Record):
    """How far the hunks of a file are applied.

    Attributes:
        next_line: the index of the first line that no hunk has reached.
        offset: by how many lines the last hunk was moved.
    """

    next_line: int = 0
    offset: int = 0


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
    """The lines of a file; the last one may have no end."""
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
    """A line as it is compared."""
    if any_end and line.endswith(b"\r\n"):
        return line[:-2] + b"\n"
    return line


def _apply(text: _Text, hunks: Sequence[UnifiedHunk], fuzz: int) -> DiffResult:
    """The file after each hunk for which there is a place, and a problem for each other one."""
    out: list[bytes] = []
    notes: list[str] = []
    problems: list[str] = []
    progress = _Progress()
    for hunk in hunks:
        place = _find(text, hunk, progress=progress, fuzz=fuzz)
        if isinstance(place, str):
            problem = "hunk {number} (line {line} of the diff): {problem}"
            problems.append(Message(problem, number=hunk.number, line=hunk.line, problem=place))
            continue
        offset = place.start - hunk.start
        if offset or place.fuzz:
            notes.append(_note(hunk, place))
        if hunk.recounted:
            form = "hunk {number}: it has more lines than its header says: all of them count"
            notes.append(Message(form, number=hunk.number))
        out += text.lines[progress.next_line : place.at]
        new, next_line = _changed(text, hunk, place=place)
        out += new
        progress = _Progress(next_line, offset)
    after = b"".join([*out, *text.lines[progress.next_line :]])
    return DiffResult(after, notes=tuple(notes), problems=tuple(problems))


def _note(hunk: UnifiedHunk, place: _Place) -> str:
    """Where a hunk was found."""
    where: str = ""
    offset = place.start - hunk.start
    if offset > 0:
        where = Message(", {lines} below where the diff says", lines=count(offset, "line"))
    elif offset < 0:
        where = Message(", {lines} above where the diff says", lines=count(-offset, "line"))
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


def _find(text: _Text, hunk: UnifiedHunk, progress: _Progress, *, fuzz: int) -> _Place | str:
    """Where a hunk belongs, else why nowhere."""
    if not hunk.side("-"):  # a diff without context
        return _place_by_line(text, hunk, progress=progress)

    for used_fuzz in range(fuzz + 1):
        places = _places(text, hunk, progress=progress, fuzz=used_fuzz)
        if places and _is_done_elsewhere(text, hunk, found=places[0], progress=progress):
            return _DONE
        if len(places) == 1:
            return places[0]
        if places:
            lines = ", ".join(str(place.start + 1) for place in places[:_MOST_NAMED])
            problem = (
                "its lines stand in {number} places (lines {lines}),"
                " none of them where the diff says"
            )
            return Message(problem, number=len(places), lines=lines)
    if text.find(hunk.side("+"), 0):
        return _DONE

    for more_fuzz in range(fuzz + 1, _MOST_FUZZ + 1):
        places = _places(text, hunk, progress=progress, fuzz=more_fuzz)
        if len(places) == 1:
            problem = "its context differs: it is found at line {line} with --fuzz {less}"
            return Message(problem, line=places[0].start + 1, less=more_fuzz)
    return _why_missing(text, hunk)


def _place_by_line(text: _Text, hunk: UnifiedHunk, progress: _Progress) -> _Place | str:
    """The place of a hunk that has nothing to compare: the line that the diff names."""
    at = hunk.start + progress.offset
    if progress.next_line <= at <= len(text.lines):
        return _Place(at)
    return Message("the file has no line {at}", at=at)


def _is_done_elsewhere(text: _Text, hunk: UnifiedHunk, found: _Place, progress: _Progress) -> bool:
    """Whether the new lines of a hunk stand where the diff says, and its old ones only elsewhere.

    What was found is other code then, which looks as this did before the change.
    """
    named = {hunk.start, hunk.start + progress.offset}
    if found.start in named:
        return False
    done_at = text.find(hunk.side("+"), progress.next_line)
    return not (named | {hunk.new_start}).isdisjoint(done_at)


def _places(text: _Text, hunk: UnifiedHunk, progress: _Progress, *, fuzz: int) -> list[_Place]:
    """The places of a hunk if `fuzz` lines at either end of it are not compared.

    As in GNU patch, the longer context (above or below the change) loses `fuzz` lines, and the
    other one what then is more than in the longer one. A hunk with less context below than above
    belongs at the end of the file, if its lines are there: the end cut its context off.

    Returns:
        one place if the hunk belongs there, else all that have its lines.
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

    places = [_Place(at, head, tail=tail, fuzz=fuzz) for at in text.find(old, progress.next_line)]
    is_cut = fuzz + below < above
    if is_cut and places and places[-1].at + len(old) == len(text.lines):
        return places[-1:]
    for start in (hunk.start + progress.offset, hunk.start):
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
    for number, tag in enumerate(tags):
        if tag != " ":
            return number
    return len(tags)


def _heading(text: _Text, at: int) -> bytes:
    """The heading that diff would give a hunk there.

    It is the last line above it that begins at the margin with a letter.
    """
    for line in reversed(text.lines[:at]):
        if line[:1].isalpha() or line[:1] in (b"_", b"$"):
            return line.strip()
    return b""


def _why_missing(text: _Text, hunk: UnifiedHunk) -> str:
    """Why a hunk has no place, not even with fuzz."""
    known = set(text.keys)
    for tag, line in hunk.lines:
        if tag != "+" and line.strip() and _key(line, any_end=text.any_end) not in known:
            shown = line.strip().decode("utf-8", "replace")
            return Message("the file has no line `{line}`", line=shown)
    return Message("the file has its lines, but not one below the other")
