"""Logs as streams of bytes -> what is in them: reports of mmengine-ddp-debug, errors, and lines that match patterns.

A log may be anything: lines of many ranks, prefixes before ours (`[rank0]:`, timestamps), colours, CRLF, two of our
lines run together, one line of gigabytes, bytes of no encoding, the JSON strings in which docker keeps a log. It is read in
pieces, and only what is looked for is kept.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.diagnosis.failures import CHAINED, OF_LAUNCHER, TRACEBACK, Failure, FailureReader, Tracebacks, shown
from patcher.diagnosis.lines import Blocks, Line, Paragraph, begins
from patcher.diagnosis.report import OURS, REFUSAL, Report, decode_line, read_report
from patcher.diagnosis.signs import EXCEPTION, KNOWN, LOGGED, Sign, SignReader, about, devices_in, numberless, was_retried
from patcher.diagnosis.words import rank_of_file, rank_of_line, shape, wording
from patcher.text.terminal import clip, printable_bytes, width

_BEFORE = 2048  # bytes before a block with an error in which that may have begun
_FEW = 64  # shapes of the lines of a block that are kept
_AGAIN = 3  # lines after an error in which it may be told that it was tried again
_KEPT = 1000  # how many cut lines, refusals, errors and ranks of a sighting are kept; all but these are counted
_SHOWN = 300  # columns of a line that is shown
_OWN = (  # the words with which a finding begins that `diagnose` has written
    *("applicable", "applied", "upstream", "not needed", "absent", "does not fit", "unknown"),
    *("advice", "follows", "not known", "failed", "waited", "late"),
    *("可应用", "已应用", "上游已有", "不需要", "未安装", "不适用", "未知", "建议", "连带", "失败", "等待", "未到"),
)
_OWN_BEGINS = tuple(f"{word}  ".encode() for word in _OWN)


class Refusal(NamedTuple):
    """A line in which DDP refuses device_ids: its line number, its rank if known, and how many reports precede it."""

    line: int
    rank: Optional[int]
    preceding: int


class Sighting(NamedTuple):
    """A pattern or an error in `number` lines of a log, as `Sign` has it; `log`, `line` and `text` of the first.

    `ranks` are those that the lines name, each once; `text` may be shown on a terminal. Of an error, `at` is where its code
    is, as far as a traceback says so, and `patterns` are those that the text around it has.
    """

    kind: int
    key: str
    text: str
    at: str
    log: str
    line: int
    number: int = 0
    ranks: Tuple[int, ...] = ()
    patterns: Tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """What an error is about as far as its words say, "" where they do not."""
        return about(self.text)


class Log(NamedTuple):
    """What one log has. `cut` are the line numbers of reports that end too early (of the first thousand), `lines` all lines.

    `sightings` are those of patterns, `errors` those of errors, known or not. `mentions` are lines in which one is spoken of
    that has not happened, or was no end: a retry, a title, an explanation.
    `summaries` and `tracebacks`: see `FailureReader`. `devices` are the kinds of accelerators that the text around errors
    speaks of. `problem` says why reading ended before the end of the log, else it is "".
    """

    name: str
    reports: Tuple[Report, ...]
    refusals: Tuple[Refusal, ...]
    sightings: Tuple[Sighting, ...]
    summaries: Tuple[Tuple[Failure, ...], ...]
    tracebacks: Tracebacks
    errors: Tuple[Sighting, ...]
    mentions: Tuple[Sighting, ...]
    devices: Tuple[str, ...]
    lines: int
    cut: Tuple[int, ...]
    cut_count: int
    problem: str

    @property
    def is_damaged(self) -> bool:
        """Whether the log, or a report in it, could not be read to its end."""
        return bool(self.cut_count or self.problem)


class _Tally:
    """What was seen first, and how often and of which ranks it was seen since."""

    def __init__(self, first: Sighting) -> None:
        self.first, self.number = first, 0
        self.ranks: Dict[int, None] = {}

    def count(self, rank: Optional[int]) -> None:
        self.number += 1
        if rank is not None and len(self.ranks) < _KEPT:
            self.ranks[rank] = None

    def sighting(self) -> Sighting:
        return self.first._replace(number=self.number, ranks=tuple(self.ranks))


class LogReader:
    """Reads one log that comes in pieces, in bounded memory.

    Args:
        name: what to call the log; a path may name the rank.
        patterns: what to look for.
    """

    def __init__(self, name: str, patterns: Sequence[str] = ()) -> None:
        self.name, self.problem = name, ""
        self._signs = SignReader(patterns)
        self._rank, self._blocks = rank_of_file(name), Blocks()
        self._failures, self._paragraph = FailureReader(name, self._rank), Paragraph()
        self._taken: Set[Sign] = set()  # what of the paragraph was taken before it has ended
        self._taken_lines = 0
        self._is_own = False  # whether the line is of what diagnose has written
        self._reports: List[Report] = []
        self._refusals: List[Refusal] = []
        self._seen: Dict[Tuple[int, str], _Tally] = {}  # by kind and key
        self._newest = -_AGAIN  # the last line in which anything was seen first
        self._mentions: Dict[Tuple[int, str], Sighting] = {}
        self._devices: Set[str] = set()
        self._cut: List[int] = []
        self._cut_count = 0

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        """Read a piece; with the last one a line that is not ended is read, too."""
        for number, block in self._blocks.feed(piece, last=last):
            self._read_block(number, block)
        if last:
            self._end_paragraph()
            # what is pasted may end within a traceback
            for rank, at in self._failures.places.items() if not self._seen else ():
                line = Line(self._blocks.total, b"", None, True)
                self._count(EXCEPTION, at, line, rank, (shown(TRACEBACK), at, ()))

    def _reads_on(self, number: int) -> bool:
        """Whether a line is to be read whatever is in it: something has begun that has not ended, or may be withdrawn."""
        return self._failures.reads_on or self._is_own or number <= self._newest + _AGAIN

    def _read_block(self, number: int, block: bytes) -> None:
        """Read the lines of a block, but for those of which all is known, and those of a block without a word of a sign."""
        lines, shapes = block.split(b"\n"), shape(block).split(b"\n")
        if not lines[-1]:
            del lines[-1], shapes[-1]
        looks = list(map(self._signs.settled.get, shapes))
        self._signs.look_in(None)
        if looks.count(()) == len(looks):
            self._end_paragraph()
            if not self._reads_on(number):  # nothing is in them, and the next block may go on
                lines, looks, number = lines[-1:], [None], number + len(lines) - 1
        elif None in looks:
            unknown = [line for line, look in zip(lines, looks) if look is None]
            known = {alike for alike, look in zip(shapes, looks) if look}
            text = wording(b"".join([*(line.text for line in self._paragraph.lines), *unknown, *known]))
            has_word = self._signs.look_in(text)
            if not has_word:
                self._end_paragraph()
            if not has_word and not self._reads_on(number):
                self._settle(shapes)
                end = len(block) - _BEFORE
                skipped = block.count(b"\n", 0, end) + 1 if end > 0 else 0
                lines, looks, number = lines[skipped:], [None] * len(lines[skipped:]), number + skipped
                unknown = lines
            self._devices |= devices_in(b"\n".join({shape(line): line for line in unknown}.values()))
        reads_on = self._reads_on(number)
        for line, look, following in zip_longest(lines, looks, looks[1:]):  # what is not known may go on with what is
            if look is None or following is None or reads_on or not self._recount(line, look):
                self._read_line(number, line)
                reads_on = self._reads_on(number + 1)
            number += 1

    def _recount(self, line: bytes, look: Sequence[Sign]) -> bool:
        """Count once more what a line shows that is like others before; whether all of that is still known."""
        if self._paragraph.lines:
            self._end_paragraph()
        if look:
            tallies = [self._seen.get(sign[:2]) for sign in look]
            if None in tallies:
                return False
            rank = self._rank_of(line)
            for tally in filter(None, tallies):
                tally.count(rank)
        return True

    def _settle(self, shapes: Sequence[bytes]) -> None:
        """Keep the shapes of lines in which nothing is, where they are few: else it is no log of lines that are alike."""
        different = set(shapes)
        if len(different) <= _FEW:
            for alike in filter(begins, different):
                if b"\r" not in alike:
                    self._signs.settle(alike)

    def _read_line(self, number: int, text: bytes) -> None:
        """Read a line; what ends with a carriage return is a line, too, which is written over, as progress bars are."""
        *written_over, rest = text.rstrip(b"\r").split(b"\r")
        for part in written_over:
            self._read(Line(number, part, None, self._failures.reads_on))
        ended = self._failures.read(number, rest)
        self._read(Line(number, rest, ended, self._failures.reads_on))

    def _read(self, line: Line) -> None:
        if OURS in line.text:
            self._read_reports(line.number, line.text)
        self._is_own = line.text.startswith(_OWN_BEGINS) or (self._is_own and line.text[:1] == b" ")
        if self._is_own:
            return
        if not self._paragraph.goes_on(line):
            self._end_paragraph()
        self._paragraph.add(line)

    def _rank_of(self, line: bytes) -> Optional[int]:
        rank = rank_of_line(line)
        return self._rank if rank is None else rank

    def _read_reports(self, number: int, line: bytes) -> None:
        places = [found.start() for found in re.finditer(OURS, line)]
        for begin, end in zip(places, [*places[1:], len(line)]):
            facts = decode_line(line[begin:end])
            report = None if facts is None else read_report(number, facts, self.name)
            if report:
                self._reports.append(report)
            elif facts is not None:
                self._cut_count += 1
                self._cut += [number] if len(self._cut) < _KEPT else []

    # paragraphs -------------------------------------------------------------------------------------------------------
    def _end_paragraph(self) -> None:
        self._take()
        self._paragraph, self._taken, self._taken_lines = Paragraph(), set(), 0

    def _take(self) -> None:
        """Note what the paragraph shows, as far as that was not done before."""
        lines = self._paragraph.lines
        signs = self._signs.read(b"\n".join([line.text for line in lines])) if lines else ()
        patterns = tuple(sign.key for sign in signs if sign.kind == KNOWN and sign.key != REFUSAL)
        for row, line in enumerate(lines):
            if row >= self._taken_lines:
                if any(mark in line.text for mark in CHAINED):
                    self._forget_the_last_error()
                if line.number <= self._newest + _AGAIN and was_retried(line.text):
                    self._withdraw(line.number - _AGAIN)
                if line.ended and not line.ended.error.startswith(OF_LAUNCHER):
                    error, at = line.ended.error, line.ended.at
                    self._count(EXCEPTION, numberless(error) + at, line, self._rank_of(line.text), (error, at, patterns))
            for sign in signs:
                if sign.row == row and sign not in self._taken:
                    self._see(sign, lines, patterns)
        self._taken_lines, self._taken = len(lines), set(signs)

    def _see(self, sign: Sign, lines: Sequence[Line], patterns: Tuple[str, ...]) -> None:
        """Note a pattern, or an error that no traceback ends in."""
        line, (kind, key) = lines[sign.row], sign[:2]
        if key == REFUSAL:
            ranks = [rank for rank in (self._rank_of(line.text) for line in lines) if rank is not None]
            refusal = Refusal(lines[0].number, ranks[0] if ranks else None, len(self._reports))
            self._refusals += [refusal] if len(self._refusals) < _KEPT else []
        elif kind != KNOWN and line.ended:
            return
        elif sign.is_spoken:
            mention = Sighting(kind, key, shown(line.text.strip()), "", self.name, line.number)
            if len(self._mentions) < _KEPT:
                self._mentions.setdefault((kind, key), mention)
        elif kind == KNOWN:
            rank = rank_of_line(line.text[: sign.begin])
            text = "" if (kind, key) in self._seen else _shown_from(sign, lines)
            self._count(kind, key, line, self._rank_of(lines[-1].text) if rank is None else rank, (text, "", ()))
        elif not (kind >= LOGGED and line.in_traceback) and not key.startswith(OF_LAUNCHER):
            text = shown(line.text[sign.begin : sign.end])
            self._count(kind, key, line, self._rank_of(line.text), (text, "", patterns))

    def _count(
        self, kind: int, key: str, line: Line, rank: Optional[int], first: Tuple[str, str, Tuple[str, ...]]
    ) -> None:
        """Count what is seen once more, or first: then with its text, where its code is, and the patterns around it."""
        if (kind, key) not in self._seen and (kind == KNOWN or len(self._seen) < _KEPT):
            text, at, patterns = first
            sighting = Sighting(kind, key, text, at, self.name, line.number, patterns=patterns)
            self._seen[kind, key], self._newest = _Tally(sighting), line.number
        if (kind, key) in self._seen:
            self._seen[kind, key].count(rank)

    def _forget_the_last_error(self) -> None:
        last = next((place for place in reversed(self._seen) if place[0] != KNOWN), None)
        if last:
            del self._seen[last]

    def _withdraw(self, line: int) -> None:
        """What was seen from a line on is merely mentioned: it was tried again."""
        for place, tally in list(self._seen.items()):
            if tally.first.line >= line and (tally.first.kind != KNOWN or tally.number == 1):
                self._mentions.setdefault(place, self._seen.pop(place).first)
        tracebacks = self._failures.tracebacks
        self._failures.tracebacks = {rank: ended for rank, ended in tracebacks.items() if ended.line < line}

    def log(self) -> Log:
        """What was found so far."""
        self._take()
        seen = [tally.sighting() for tally in self._seen.values()]
        return Log(
            name=self.name,
            reports=tuple(self._reports),
            refusals=tuple(self._refusals),
            sightings=tuple(sighting for sighting in seen if sighting.kind == KNOWN),
            summaries=tuple(map(tuple, self._failures.summaries)),
            tracebacks=dict(self._failures.tracebacks),
            errors=tuple(sighting for sighting in seen if sighting.kind != KNOWN),
            mentions=tuple(self._mentions.values()),
            devices=tuple(sorted(self._devices)),
            lines=self._blocks.total,
            cut=tuple(self._cut),
            cut_count=self._cut_count,
            problem=self.problem,
        )


def _shown_from(sign: Sign, lines: Sequence[Line]) -> str:
    """The text in which a pattern is, of which what stands before it is shortened, else it could be cut out."""
    first, *rest = [line.text for line in lines[sign.row :]]
    before = clip(printable_bytes(first[: sign.begin]).lstrip(), _SHOWN // 3)
    after = printable_bytes(b" ".join([first[sign.begin :], *rest])).rstrip()
    return before + clip(after, _SHOWN - width(before))
