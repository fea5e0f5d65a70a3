"""Logs as streams of bytes -> what is in them: reports of mmengine-ddp-debug, errors, and lines that match patterns.

A log may be anything: lines of many ranks, prefixes before ours (`[rank0]:`, timestamps), colours, CRLF, two of our
lines run together, one line of gigabytes, bytes of no encoding, the JSON strings in which docker keeps a log. It is read in
pieces, and only what is looked for is kept.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.diagnosis.content import NOTHING, Content, ParagraphReader, SeenPattern
from patcher.diagnosis.errors import EXCEPTION, LOGGED, WORDS, SeenError, about, begins_own, numberless
from patcher.diagnosis.failures import OF_LAUNCHER, Failure, FailureReader, Tracebacks, shown
from patcher.diagnosis.lines import Blocks, Line, Paragraph, begins
from patcher.diagnosis.report import OURS, REFUSAL, Report, decode_line, read_report
from patcher.diagnosis.words import Shapes, form, rank_of_file, rank_of_line, shape, squeezed
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
    """The `number` of lines of a log that match a pattern; line and text of the first one.

    `ranks` are those that the lines name, each once; `text` may be shown on a terminal.
    """

    pattern: str
    number: int
    ranks: Tuple[int, ...]
    line: int
    text: str


class Mention(NamedTuple):
    """A line in which an error is spoken of that has not happened, or was no end: a retry, a title, an explanation.

    `pattern` is that which it has, "" for an error that is seen by its form.
    """

    log: str
    line: int
    text: str
    pattern: str = ""


class LoggedError(NamedTuple):
    """An error in a log, known or not: what it is seen by (`patcher.diagnosis.errors`), in one line, and where its code is.

    `line` is that of the first one, `ranks` those that have it; `patterns` are those that the text around it has.
    """

    kind: int
    error: str
    at: str
    log: str
    line: int
    ranks: Tuple[int, ...]
    patterns: Tuple[str, ...]

    @property
    def about(self) -> str:
        """What it is about as far as its words say, "" where they do not."""
        return about(self.error)


class Log(NamedTuple):
    """What one log has. `cut` are the line numbers of reports that end too early (of the first thousand), `lines` all lines.

    `summaries` and `tracebacks`: see `FailureReader`. `devices` are the kinds of accelerators that the text around errors
    speaks of. `problem` says why reading ended before the end of the log, else it is "".
    """

    name: str
    reports: Tuple[Report, ...]
    refusals: Tuple[Refusal, ...]
    sightings: Tuple[Sighting, ...]
    summaries: Tuple[Tuple[Failure, ...], ...]
    tracebacks: Tracebacks
    errors: Tuple[LoggedError, ...]
    mentions: Tuple[Mention, ...]
    devices: Tuple[str, ...]
    lines: int
    cut: Tuple[int, ...]
    cut_count: int
    problem: str

    @property
    def is_damaged(self) -> bool:
        """Whether the log, or a report in it, could not be read to its end."""
        return bool(self.cut_count or self.problem)


def _with_rank(ranks: Tuple[int, ...], rank: Optional[int]) -> Tuple[int, ...]:
    return ranks if rank is None or rank in ranks or len(ranks) >= _KEPT else (*ranks, rank)


class LogReader:
    """Reads one log that comes in pieces, in bounded memory.

    Args:
        name: what to call the log; a path may name the rank.
        patterns: what to look for.
    """

    def __init__(self, name: str, patterns: Sequence[str] = ()) -> None:
        self.name, self.problem = name, ""
        self._paragraphs = ParagraphReader(patterns)
        self._begins: Shapes[bool] = Shapes()  # whether lines of a shape begin a paragraph
        self._settled: Shapes[Content] = Shapes()  # of lines that begin a paragraph and are all of it
        self._rank, self._blocks = rank_of_file(name), Blocks()
        self._failures, self._paragraph = FailureReader(name, self._rank), Paragraph()
        self._taken: Set[str] = set()  # the patterns of the paragraph that were taken before it has ended
        self._taken_lines = 0
        self._is_own = False  # whether the line is of what diagnose has written
        self._reports: List[Report] = []
        self._refusals: List[Refusal] = []
        self._sightings: Dict[str, Sighting] = {}
        self._errors: Dict[str, LoggedError] = {}
        self._mentions: Dict[str, Mention] = {}
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
        looks = list(map(self._settled.get, shapes))
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
        is_known = all(seen.pattern in self._sightings for seen in look.patterns)
        if not is_known or not all(error.key in self._errors for error in look.errors.values()):
            return False
        rank = self._rank_of(line)
        for seen in look.patterns:
            self._count_sighting(seen.pattern, rank)
        for error in look.errors.values():
            self._add_rank(error.key, rank)
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
                    self._settled.keep(alike, NOTHING)

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
        alike = shape(line.text)
        known = self._begins.get(alike)
        if known is None:
            known = self._begins.keep(alike, begins(line.text))
        if known or not self._paragraph.goes_on(line):
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
        alike, look = shape(text), self._paragraphs.read(text)
        is_whole = len(lines) == 1 and self._begins.get(alike) and not (lines[0].ended or lines[0].in_traceback)
        if is_whole and look.lasts and look.is_settled and OURS not in text:
            self._settled.keep(alike, look)
        if look.is_refused and REFUSAL not in self._taken:
            ranks = [rank for rank in (self._rank_of(line.text) for line in lines) if rank is not None]
            refusal = Refusal(lines[0].number, ranks[0] if ranks else None, len(self._reports))
            self._refusals += [refusal] if len(self._refusals) < _KEPT else []
        self._devices.update(look.devices)
        for row, line in enumerate(lines):
            is_new = row >= self._taken_lines
            if is_new and row in look.chained and self._errors:
                self._errors.popitem()
            if is_new and row in look.retried:
                self._withdraw(line.number - _AGAIN)
            for seen in look.patterns:
                if seen.row == row and seen.pattern not in self._taken:
                    self._sight(seen, line.number, text, lines[-1].text)
            if is_new and (line.ended or look.errors):
                self._see(line, look.errors.get(row), look)
        self._taken_lines = len(lines)
        self._taken = {REFUSAL, *(seen.pattern for seen in look.patterns)} if look.patterns or look.is_refused else set()

    def _sight(self, seen: SeenPattern, number: int, text: bytes, last: bytes) -> None:
        begin = text.rfind(b"\n", 0, seen.at) + 1
        if seen.is_spoken:
            self._mention(seen.pattern, number, text[begin:].partition(b"\n")[0], seen.pattern)
            return
        if seen.pattern not in self._sightings:
            before = clip(printable_bytes(text[begin : seen.at]).lstrip(), _SHOWN // 3)  # else the error could be cut out
            after = printable_bytes(text[seen.at :].replace(b"\n", b" ")).rstrip()
            shown_text = before + clip(after, _SHOWN - width(before))
            self._sightings[seen.pattern] = Sighting(seen.pattern, 0, (), number, shown_text)
        rank = rank_of_line(text[begin : seen.at])
        self._count_sighting(seen.pattern, self._rank_of(last) if rank is None else rank)

    def _count_sighting(self, pattern: str, rank: Optional[int]) -> None:
        known = self._sightings[pattern]
        self._sightings[pattern] = known._replace(number=known.number + 1, ranks=_with_rank(known.ranks, rank))

    def _see(self, line: Line, seen: Optional[SeenError], look: Content) -> None:
        """Note the error in a line, and that which a traceback ends in."""
        if line.ended:
            if not line.ended.error.startswith(OF_LAUNCHER):
                error, at = line.ended.error, line.ended.at
                self._add_error(numberless(error) + at, line, lambda: (EXCEPTION, error, at), look)
        elif seen and seen.is_spoken:
            self._mention(seen.key, line.number, line.text)
        elif seen and not (seen.kind >= LOGGED and line.in_traceback) and not seen.key.startswith(OF_LAUNCHER):
            self._add_error(seen.key, line, lambda: (seen.kind, shown(line.text[seen.begin : seen.end]), ""), look)

    def _add_error(self, key: str, line: Line, told: Callable[[], Tuple[int, str, str]], look: Content) -> None:
        """Note an error, of which the kind, the text and the place are asked for where it is new."""
        if key not in self._errors and len(self._errors) < _KEPT:
            patterns = tuple(seen.pattern for seen in look.patterns)
            self._errors[key] = LoggedError(*told(), self.name, line.number, (), patterns)
        if key in self._errors:
            self._add_rank(key, self._rank_of(line.text))

    def _add_rank(self, key: str, rank: Optional[int]) -> None:
        known = self._errors[key]
        if rank is not None and rank not in known.ranks:
            self._errors[key] = known._replace(ranks=_with_rank(known.ranks, rank))

    def _mention(self, key: str, number: int, line: bytes, pattern: str = "") -> None:
        if key not in self._mentions and len(self._mentions) < _KEPT:
            self._mentions[key] = Mention(self.name, number, shown(line.strip()), pattern)

    def _withdraw(self, line: int) -> None:
        """What was seen from a line on is merely mentioned: it was tried again."""
        for key, error in [pair for pair in self._errors.items() if pair[1].line >= line]:
            del self._errors[key]
            self._mentions.setdefault(key, Mention(self.name, error.line, error.error))
        for key, seen in [pair for pair in self._sightings.items() if pair[1].line >= line and pair[1].number == 1]:
            del self._sightings[key]
            self._mentions.setdefault(key, Mention(self.name, seen.line, seen.text, key))
        tracebacks = self._failures.tracebacks
        self._failures.tracebacks = {rank: ended for rank, ended in tracebacks.items() if ended.line < line}

    def log(self) -> Log:
        """What was found so far."""
        self._take()
        return Log(
            name=self.name,
            reports=tuple(self._reports),
            refusals=tuple(self._refusals),
            sightings=tuple(self._sightings.values()),
            summaries=tuple(map(tuple, self._failures.summaries)),
            tracebacks=dict(self._failures.tracebacks),
            errors=tuple(self._errors.values()),
            mentions=tuple(self._mentions.values()),
            devices=tuple(sorted(self._devices)),
            lines=self._blocks.total,
            cut=tuple(self._cut),
            cut_count=self._cut_count,
            problem=self.problem,
        )
