"""Hunks of a diff applied to the bytes of a file, at the lines that they name or where there is no doubt. Pure."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from patcher.author.diffs.unified import UnifiedHunk
from patcher.message import Message
from patcher.text.listed import count

FUZZ = 2
"""Lines of context at either end of a hunk that may differ unless another number is asked for; GNU patch has the same."""
_MOST_FUZZ = 10  # lines of context that are left out to find how much --fuzz would be needed


class DiffResult(NamedTuple):
    """The bytes `after` the hunks; or, with `problems`, the file as it was.

    `notes` say what is not as the diff has it, `done` whether every hunk is applied already.
    """

    after: bytes
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    done: bool = False


class _Text(NamedTuple):
    """A file: its lines, each as it is compared (`keys`), and the indices of each key."""

    lines: list[bytes]
    keys: list[bytes]
    places: dict[bytes, list[int]]
    any_end: bool

    def find(self, old: Sequence[bytes], low: int) -> list[int]:
        """The indices from `low` on at which the file has these lines."""
        keys = [_key(line, self.any_end) for line in old]
        if not keys:
            return []
        rare = min(range(len(keys)), key=lambda at: len(self.places.get(keys[at], ())))
        starts = [index - rare for index in self.places.get(keys[rare], ())]
        return [at for at in starts if at >= low and self.keys[at : at + len(keys)] == keys]


class _Place(NamedTuple):
    """Where a hunk belongs: `at` is the index in the file of its line `head`; `tail` lines at its end are not compared."""

    at: int
    head: int = 0
    tail: int = 0
    fuzz: int = 0

    @property
    def start(self) -> int:
        """The index of the hunk's first line."""
        return self.at - self.head


def apply_hunks(data: bytes, hunks: Sequence[UnifiedHunk], fuzz: int = 0) -> DiffResult:
    """Apply the hunks for one file.

    A hunk belongs at the line that the diff names, moved as the hunk before it was; else at the only other place that has its
    old lines (of several, the one below the line that its heading names). All line ends may differ from those of the diff.

    Args:
        data: the file.
        hunks: in the order of the file.
        fuzz: how many lines of context at either end of a hunk may differ.
    """
    exact = _apply(_read(data, any_end=False), hunks, fuzz)
    if not exact.problems:
        return exact
    loose = _apply(_read(data, any_end=True), hunks, fuzz)
    if not loose.problems:
        return loose._replace(
            notes=(
                *loose.notes,
                Message("the diff has other line ends than the file, which keeps its own"),
            )
        )
    back = [hunk.reverse for hunk in hunks]
    done = any(not _apply(_read(data, any_end=each), back, 0).problems for each in (False, True))
    best = min((exact, loose), key=lambda one: len(one.problems))
    return best._replace(after=data, done=done)


def _read(data: bytes, any_end: bool) -> _Text:
    lines = data.split(b"\n")
    lines = [*(line + b"\n" for line in lines[:-1]), *filter(None, lines[-1:])]
    keys = [_key(line, any_end) for line in lines]
    places: dict[bytes, list[int]] = {}
    for index, key in enumerate(keys):
        places.setdefault(key, []).append(index)
    return _Text(lines, keys, places, any_end)


def _key(line: bytes, any_end: bool) -> bytes:
    return line[:-2] + b"\n" if any_end and line.endswith(b"\r\n") else line


def _apply(text: _Text, hunks: Sequence[UnifiedHunk], fuzz: int) -> DiffResult:
    out: list[bytes] = []
    notes: list[str] = []
    problems: list[str] = []
    low = moved = 0
    for hunk in hunks:
        place, problem = _find(text, hunk, low, moved, fuzz)
        if place is None:
            where = "hunk {number} (line {line} of the diff): {problem}"
            problems.append(Message(where, number=hunk.number, line=hunk.line, problem=problem))
            continue
        away = place.start - hunk.start
        if away or place.fuzz:
            side = (
                ", {lines} below where the diff says"
                if away > 0
                else ", {lines} above where the diff says"
            )
            where = Message(side, lines=count(abs(away), "line")) if away else ""
            fuzzy = Message(", with fuzz {fuzz}", fuzz=place.fuzz) if place.fuzz else ""
            form = "hunk {number}: found at line {line}{where}{fuzzy}"
            notes.append(
                Message(form, number=hunk.number, line=place.start + 1, where=where, fuzzy=fuzzy)
            )
        moved = away
        out += text.lines[low : place.at]
        new, low = _changed(text, hunk, place)
        out += new
    return DiffResult(b"".join([*out, *text.lines[low:]]), tuple(notes), tuple(problems))


def _changed(text: _Text, hunk: UnifiedHunk, place: _Place) -> tuple[list[bytes], int]:
    """The new lines of a hunk, and the index after its old ones; context keeps the bytes of the file."""
    crlf = (
        text.any_end
        and sum(1 if line.endswith(b"\r\n") else -line.endswith(b"\n") for line in text.lines) > 0
    )
    out, at = [], place.at
    for tag, line in hunk.lines[place.head : len(hunk.lines) - place.tail]:
        if tag == "+":
            line = _key(line, text.any_end)
            out.append(line[:-1] + b"\r\n" if crlf and line.endswith(b"\n") else line)
        else:
            out += [text.lines[at]] if tag == " " else []
            at += 1
    return out, at


def _find(
    text: _Text, hunk: UnifiedHunk, low: int, moved: int, fuzz: int
) -> tuple[_Place | None, str]:
    """Where a hunk belongs, else why nowhere."""
    if not hunk.side("-"):  # a diff without context
        at = hunk.start + moved
        empty = low <= at <= len(text.lines)
        return (_Place(at), "") if empty else (None, Message("the file has no line {at}", at=at))
    there = Message("the file has this change already: the diff is applied, or reversed")
    for less in range(fuzz + 1):
        found = _places(text, hunk, low, moved, less)
        named = {hunk.start, hunk.start + moved}
        away = found and found[0].start not in named
        if away and {*named, hunk.new_start} & {*text.find(hunk.side("+"), low)}:
            return None, there  # what was found is other code that looks as this one did
        if len(found) == 1:
            return found[0], ""
        if found:
            lines = ", ".join(str(place.start + 1) for place in found[:5])
            places = "its lines stand in {number} places (lines {lines}), none of them where the diff says"
            return None, Message(places, number=len(found), lines=lines)
    if text.find(hunk.side("+"), 0) and hunk.side("+"):
        return None, there
    for less in range(fuzz + 1, _MOST_FUZZ + 1):
        found = _places(text, hunk, low, moved, less)
        if len(found) == 1:
            return None, Message(
                "its context differs: it is found at line {line} with --fuzz {less}",
                line=found[0].start + 1,
                less=less,
            )
    return None, _missing(text, hunk)


def _places(text: _Text, hunk: UnifiedHunk, low: int, moved: int, fuzz: int) -> list[_Place]:
    """The places of a hunk without `fuzz` lines of its longer context, nor what the other context then is longer by.

    With less context below than above it belongs at the end of the file, as for GNU patch, if its lines are there.
    """
    tags = [tag for tag, _ in hunk.lines]
    lead = next((at for at, tag in enumerate(tags) if tag != " "), len(tags))
    trail = next((at for at, tag in enumerate(reversed(tags)) if tag != " "), len(tags))
    head, tail = (max(0, fuzz + each - max(lead, trail)) for each in (lead, trail))
    if fuzz > max(lead, trail):
        return []
    lines = hunk.lines[head : len(hunk.lines) - tail]
    old = [line for tag, line in lines if tag != "+"]
    if fuzz and not any(line.strip() for line in old):
        return []
    places = [_Place(at, head, tail, fuzz) for at in text.find(old, low)]
    named = [
        place
        for start in (hunk.start + moved, hunk.start)
        for place in places
        if place.start == start
    ]
    below = [place for place in places if hunk.heading and _heading(text, place.at) == hunk.heading]
    # it was cut by the end of the file
    if fuzz + trail < lead and places and places[-1].at + len(old) == len(text.lines):
        return places[-1:]
    return named[:1] or (below if len(places) > 1 and len(below) == 1 else places)


def _heading(text: _Text, at: int) -> bytes:
    """The heading that diff would give a hunk there: the last line above it that begins at the margin with a letter."""
    lines = (
        line for line in reversed(text.lines[:at]) if line[:1].isalpha() or line[:1] in (b"_", b"$")
    )
    return next(lines, b"").strip()


def _missing(text: _Text, hunk: UnifiedHunk) -> str:
    known = set(text.keys)
    for tag, line in hunk.lines:
        if tag != "+" and line.strip() and _key(line, text.any_end) not in known:
            return Message(
                "the file has no line `{line}`", line=line.strip().decode("utf-8", "replace")
            )
    return Message("the file has its lines, but not one below the other")
