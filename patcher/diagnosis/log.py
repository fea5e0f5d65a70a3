"""Logs as streams of bytes -> what is in them: reports of mmengine-ddp-debug, errors, and lines that match patterns.

A log may be anything: lines of many ranks, prefixes before ours (`[rank0]:`, timestamps), colours, CRLF, two of our
lines run together, one line of gigabytes, bytes of no encoding, the JSON strings in which docker keeps a log. It is read in
pieces, and only what is looked for is kept.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.diagnosis.content import NOTHING, Content, ParagraphReader
from patcher.diagnosis.errors import EXCEPTION, KNOWN, LOGGED, WORDS, Seen, about, begins_own, numberless
from patcher.diagnosis.failures import OF_LAUNCHER, Failure, FailureReader, Tracebacks, shown
from patcher.diagnosis.lines import Blocks, Line, Paragraph, begins
from patcher.diagnosis.report import OURS, REFUSAL, Report, decode_line, read_report
from patcher.diagnosis.words import form, rank_of_file, rank_of_line, shape, squeezed
from patcher.text.terminal import clip, printable_bytes, width

_BEFORE = 2048  # bytes before a block with an error in which that may have begun
_FEW = 64  # shapes of the lines of a block that are kept
_AGAIN = 3  # lines after an error in which it may be told that it was tried again
_KEPT = 1000  # how many cut lines, refusals, errors and ranks of a sighting are kept; all but these are counted
_SHOWN = 300  # columns of a line that is shown


class Refusal(NamedTuple):
    """A line in which DDP refuses device_ids: its line number, its rank if known, and how many reports precede it."""

    line: int
    rank: Optional[int]
    preceding: int


class Sighting(NamedTuple):
    """A pattern or an error in `number` lines of a log, as `Seen` has it; `log`, `line` and `text` of the first.

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


def _shown_from(seen: Seen, lines: Sequence[Line]) -> str:
    """The text in which a pattern is, of which what stands before it is shortened, else it could be cut out."""
    first, *rest = [line.text for line in lines[seen.row :]]
    before = clip(printable_bytes(first[: seen.begin]).lstrip(), _SHOWN // 3)
    after = printable_bytes(b" ".join([first[seen.begin :], *rest])).rstrip()
    return before + clip(after, _SHOWN - width(before))


class LogReader:
    """Reads one log that comes in pieces, in bounded memory.

    Args:
        name: what to call the log; a path may name the rank.
        patterns: what to look for.
    """

    def __init__(self, name: str, patterns: Sequence[str] = ()) -> None:
        self.name, self.problem = name, ""
        self._paragraphs = ParagraphReader(patterns)
        self._rank, self._blocks = rank_of_file(name), Blocks()
        self._failures, self._paragraph = FailureReader(name, self._rank), Paragraph()
        self._taken: Set[object] = set()  # what of the paragraph was taken before it has ended
        self._taken_lines = 0
        self._is_own = False  # whether the line is of what diagnose has written
        self._reports: List[Report] = []
        self._refusals: List[Refusal] = []
        self._seen: Dict[Tuple[int, str], Sighting] = {}  # by kind and key
        self._mentions: Dict[Tuple[int, str], Sighting] = {}
        self._devices: Set[str] = set()
        self._cut: List[int] = []
        self._cut_count = 0

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        """Read a piece; with the last one a line that is not ended is read, too."""
        for number, block in self._blocks.feed(piece, last=last):
            self._read_block(number, block)

    def _read_block(self, number: int, block: bytes) -> None:
        """Read the lines of a block, but for those of which all is known, and those of a block without a word of an error."""
        lines, shapes = block.split(b"\n"), shape(block).split(b"\n")
        if not lines[-1]:
            del lines[-1], shapes[-1]
        looks = list(map(self._paragraphs.settled.get, shapes))
        reads_all = self._failures.reads_on or self._is_own
        if None in looks and not reads_all and not self._has_words(block):
            self._end_paragraph()
            self._learn(shapes)
            end = len(block) - _BEFORE
            skipped = block.count(b"\n", 0, end) + 1 if end > 0 else 0
            lines, looks, number = lines[skipped:], [None] * len(lines[skipped:]), number + skipped
        for line, look, following in zip_longest(lines, looks, looks[1:]):  # what is not known may go on with what is
            reads_all = following is None or self._failures.reads_on or self._is_own
            if reads_all or look is None or not self._recount(line, look):
                self._read_line(number, line)
            number += 1

    def _recount(self, line: bytes, look: Content) -> bool:
        """Count once more what a line shows that is like others before; whether all of that is still known."""
        if self._paragraph.lines:
            self._end_paragraph()
        if look is NOTHING:
            return True
        if not all((seen.kind, seen.key) in self._seen for seen in look.seen):
            return False
        rank = self._rank_of(line)
        for seen in look.seen:
            self._count(self._seen[seen.kind, seen.key], rank)
        return True

    def _has_words(self, block: bytes) -> bool:
        formed = form(block)
        if any(map(formed.__contains__, WORDS)):
            return True
        tight = squeezed(b"".join(line.text for line in self._paragraph.lines) + block)
        return any(map(tight.__contains__, self._paragraphs.words))

    def _learn(self, shapes: Sequence[bytes]) -> None:
        """Keep the shapes of lines in which nothing is, where they are few: else it is no log of lines that are alike."""
        different = set(shapes)
        if len(different) <= _FEW:
            for alike in filter(begins, different):
                if b"\r" not in alike:
                    self._paragraphs.settled.keep(alike, NOTHING)

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
        self._is_own = begins_own(line.text) or (self._is_own and line.text[:1] == b" ")
        if self._is_own:
            return
        if begins(line.text) or not self._paragraph.goes_on(line):
            self._end_paragraph()
        self._paragraph.add(line)

    def _rank_of(self, line: bytes) -> Optional[int]:
        rank = rank_of_line(line)
        return self._rank if rank is None else rank

    def _read_reports(self, number: int, line: bytes) -> None:
        places = [found.start() for found in re.finditer(OURS, line)]
        for begin, end in zip(places, [*places[1:], len(line)]):
            facts = decode_line(line[begin:end])
            report = None if facts is None else read_report(number, facts)
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
        if not lines:
            return
        text = b"\n".join([line.text for line in lines]) if len(lines) > 1 else lines[0].text
        look = self._paragraphs.read(text)
        if look.is_refused and REFUSAL not in self._taken:
            ranks = [rank for rank in (self._rank_of(line.text) for line in lines) if rank is not None]
            refusal = Refusal(lines[0].number, ranks[0] if ranks else None, len(self._reports))
            self._refusals += [refusal] if len(self._refusals) < _KEPT else []
        self._devices.update(look.devices)
        for row, line in enumerate(lines):
            if row >= self._taken_lines:
                if row in look.chained:
                    self._forget_the_last_error()
                if row in look.retried:
                    self._withdraw(line.number - _AGAIN)
                if line.ended and not line.ended.error.startswith(OF_LAUNCHER):
                    error, at = line.ended.error, line.ended.at
                    key = numberless(error) + at
                    new = Sighting(EXCEPTION, key, error, at, self.name, line.number, patterns=look.patterns)
                    self._count(self._seen.get((EXCEPTION, key), new), self._rank_of(line.text))
            for seen in look.seen:
                if seen.row == row and seen not in self._taken:
                    self._see(seen, lines, look)
        self._taken_lines, self._taken = len(lines), {*look.seen, *([REFUSAL] if look.is_refused else [])}

    def _see(self, seen: Seen, lines: Sequence[Line], look: Content) -> None:
        """Note a pattern, or an error that no traceback ends in."""
        line, (kind, key) = lines[seen.row], seen[:2]
        if kind != KNOWN and line.ended:
            return
        if seen.is_spoken:
            mention = Sighting(kind, key, shown(line.text.strip()), "", self.name, line.number)
            if len(self._mentions) < _KEPT:
                self._mentions.setdefault((kind, key), mention)
        elif kind == KNOWN:
            rank = rank_of_line(line.text[: seen.begin])
            sighting = self._seen.get((kind, key)) or Sighting(kind, key, _shown_from(seen, lines), "", self.name, line.number)
            self._count(sighting, self._rank_of(lines[-1].text) if rank is None else rank)
        elif not (kind >= LOGGED and line.in_traceback) and not key.startswith(OF_LAUNCHER):
            text = shown(line.text[seen.begin : seen.end])
            new = Sighting(kind, key, text, "", self.name, line.number, patterns=look.patterns)
            self._count(self._seen.get((kind, key), new), self._rank_of(line.text))

    def _count(self, first: Sighting, rank: Optional[int]) -> None:
        """Count once more what was seen first like this."""
        if first.number or first.kind == KNOWN or len(self._seen) < _KEPT:
            ranks = first.ranks if rank is None or rank in first.ranks or len(first.ranks) >= _KEPT else (*first.ranks, rank)
            self._seen[first.kind, first.key] = first._replace(number=first.number + 1, ranks=ranks)

    def _forget_the_last_error(self) -> None:
        last = next((place for place in reversed(self._seen) if place[0] != KNOWN), None)
        if last:
            del self._seen[last]

    def _withdraw(self, line: int) -> None:
        """What was seen from a line on is merely mentioned: it was tried again."""
        for place, seen in list(self._seen.items()):
            if seen.line >= line and (seen.kind != KNOWN or seen.number == 1):
                self._mentions.setdefault(place, self._seen.pop(place))
        tracebacks = self._failures.tracebacks
        self._failures.tracebacks = {rank: ended for rank, ended in tracebacks.items() if ended.line < line}

    def log(self) -> Log:
        """What was found so far."""
        self._take()
        return Log(
            name=self.name,
            reports=tuple(self._reports),
            refusals=tuple(self._refusals),
            sightings=tuple(seen for seen in self._seen.values() if seen.kind == KNOWN),
            summaries=tuple(map(tuple, self._failures.summaries)),
            tracebacks=dict(self._failures.tracebacks),
            errors=tuple(seen for seen in self._seen.values() if seen.kind != KNOWN),
            mentions=tuple(self._mentions.values()),
            devices=tuple(sorted(self._devices)),
            lines=self._blocks.total,
            cut=tuple(self._cut),
            cut_count=self._cut_count,
            problem=self.problem,
        )
