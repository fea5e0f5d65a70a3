"""A file's hunks of a diff applied to its bytes: exactly, at another line where that leaves no doubt, and else not. Pure."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from patcher.author.diffs.unified import UnifiedHunk
from patcher.text.listed import count

_MOST_FUZZ = 10  # lines of context left out to see what would be needed


class DiffFit(NamedTuple):
    """What came of it: the bytes `after`, or the `problems` that stand against it; `notes` say what is not as the diff says.

    `done` is whether the file is as if every hunk had been applied already.
    """

    after: bytes
    notes: Tuple[str, ...] = ()
    problems: Tuple[str, ...] = ()
    done: bool = False


class _Text(NamedTuple):
    """The lines of a file, as they are compared, and where each is found."""

    lines: List[bytes]
    keys: List[bytes]
    places: Dict[bytes, List[int]]
    any_end: bool

    def find(self, old: Sequence[bytes], low: int) -> List[int]:
        """The indices from `low` on at which these lines stand."""
        keys = [_key(line, self.any_end) for line in old]
        if not keys:
            return []
        rare = min(range(len(keys)), key=lambda at: len(self.places.get(keys[at], ())))
        starts = [index - rare for index in self.places.get(keys[rare], ())]
        return [at for at in starts if at >= low and self.keys[at : at + len(keys)] == keys]


class _Spot(NamedTuple):
    """Where a hunk goes: the index of its first line that counts, and how many lines at its ends do not."""

    at: int
    head: int = 0
    tail: int = 0
    fuzz: int = 0


def fit(data: bytes, hunks: Sequence[UnifiedHunk], fuzz: int = 0) -> DiffFit:
    """Apply the hunks of one file.

    A hunk stands where the diff says, moved as the one before it; else in the only other place that has its old lines (of
    several the one below the line that its heading names). Line ends may be others than those of the diff, throughout.

    Args:
        data: the file.
        hunks: in the order of the file.
        fuzz: how many lines of context at either end of a hunk may be left out.
    """
    exact = _fit(_read(data, any_end=False), hunks, fuzz)
    if not exact.problems:
        return exact
    loose = _fit(_read(data, any_end=True), hunks, fuzz)
    if not loose.problems:
        return loose._replace(notes=(*loose.notes, "the diff has other line ends than the file, which keeps its own"))
    back = [hunk.reverse for hunk in hunks]
    done = any(not _fit(_read(data, any_end=each), back, 0).problems for each in (False, True))
    best = min((exact, loose), key=lambda one: len(one.problems))
    return best._replace(after=data, done=done)


def _read(data: bytes, any_end: bool) -> _Text:
    lines = data.split(b"\n")
    lines = [*(line + b"\n" for line in lines[:-1]), *filter(None, lines[-1:])]
    keys = [_key(line, any_end) for line in lines]
    places: Dict[bytes, List[int]] = {}
    for index, key in enumerate(keys):
        places.setdefault(key, []).append(index)
    return _Text(lines, keys, places, any_end)


def _key(line: bytes, any_end: bool) -> bytes:
    return line[:-2] + b"\n" if any_end and line.endswith(b"\r\n") else line


def _fit(text: _Text, hunks: Sequence[UnifiedHunk], fuzz: int) -> DiffFit:
    out: List[bytes] = []
    notes: List[str] = []
    problems: List[str] = []
    low = moved = 0
    for hunk in hunks:
        spot, problem = _spot(text, hunk, low, moved, fuzz)
        if spot is None:
            problems.append(f"hunk {hunk.number} (line {hunk.line} of the diff): {problem}")
            continue
        away = spot.at - spot.head - hunk.start
        if away or spot.fuzz:
            side = "below" if away > 0 else "above"
            where = f", {count(abs(away), 'line')} {side} where the diff says" if away else ""
            fuzzy = f", with fuzz {spot.fuzz}" if spot.fuzz else ""
            notes.append(f"hunk {hunk.number}: found at line {spot.at - spot.head + 1}{where}{fuzzy}")
        moved = away
        out += text.lines[low : spot.at]
        new, low = _changed(text, hunk, spot)
        out += new
    return DiffFit(b"".join([*out, *text.lines[low:]]), tuple(notes), tuple(problems))


def _changed(text: _Text, hunk: UnifiedHunk, spot: _Spot) -> Tuple[List[bytes], int]:
    """The new lines of a hunk, and the index behind its old ones. What is kept keeps its bytes."""
    crlf = text.any_end and sum(1 if line.endswith(b"\r\n") else -line.endswith(b"\n") for line in text.lines) > 0
    out, at = [], spot.at
    for tag, line in hunk.lines[spot.head : len(hunk.lines) - spot.tail]:
        if tag == "+":
            line = _key(line, text.any_end)
            out.append(line[:-1] + b"\r\n" if crlf and line.endswith(b"\n") else line)
        else:
            out += [text.lines[at]] if tag == " " else []
            at += 1
    return out, at


def _spot(text: _Text, hunk: UnifiedHunk, low: int, moved: int, fuzz: int) -> Tuple[Optional[_Spot], str]:
    """Where the hunk goes, or why nowhere."""
    if not hunk.side("-"):  # nothing to look for: what was written without context
        at = hunk.start + moved
        empty = low <= at <= len(text.lines)
        return (_Spot(at), "") if empty else (None, f"the file has no line {at}")
    there = "the file has what it makes already: it is applied, or the diff is reversed"
    for less in range(fuzz + 1):
        found = _found(text, hunk, low, moved, less)
        said = {hunk.start, hunk.start + moved}
        away = found and found[0].at - found[0].head not in said
        if away and {*said, hunk.new_start} & {*text.find(hunk.side("+"), low)}:
            return None, there  # and other code looks as this did before
        if len(found) == 1:
            return found[0], ""
        if found:
            lines = ", ".join(str(spot.at - spot.head + 1) for spot in found[:5])
            return None, f"its lines stand in {len(found)} places (lines {lines}), none of them where the diff says"
    if text.find(hunk.side("+"), 0) and hunk.side("+"):
        return None, there
    for less in range(fuzz + 1, _MOST_FUZZ + 1):
        found = _found(text, hunk, low, moved, less)
        if len(found) == 1:
            return None, f"its context differs: it is found at line {found[0].at - found[0].head + 1} with --fuzz {less}"
    return None, _missing(text, hunk)


def _found(text: _Text, hunk: UnifiedHunk, low: int, moved: int, fuzz: int) -> List[_Spot]:
    """The places of a hunk without `fuzz` lines of its longer context, and as much of the other end as is longer then."""
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
    spots = [_Spot(at, head, tail, fuzz) for at in text.find(old, low)]
    said = [spot for spot in spots if spot.at - head in (hunk.start + moved, hunk.start)]
    below = [spot for spot in spots if hunk.heading and _heading(text, spot.at) == hunk.heading]
    return said[:1] or (below if len(spots) > 1 and len(below) == 1 else spots)


def _heading(text: _Text, at: int) -> bytes:
    """The line above that diff would put behind the ranges: the last that begins at the margin, with a letter."""
    lines = (line for line in reversed(text.lines[:at]) if line[:1].isalpha() or line[:1] in (b"_", b"$"))
    return next(lines, b"").strip()


def _missing(text: _Text, hunk: UnifiedHunk) -> str:
    known = set(text.keys)
    for tag, line in hunk.lines:
        if tag != "+" and line.strip() and _key(line, text.any_end) not in known:
            return f"the file has no line `{line.strip().decode('utf-8', 'replace')}`"
    return "the file has its lines, but not one below the other"
