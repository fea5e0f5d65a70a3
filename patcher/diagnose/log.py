"""Logs as streams of bytes -> what is in them: reports of the patchset mmengine-ddp-debug, and lines that match patterns.

A log may be anything: lines of many ranks, prefixes before ours (`[rank0]:`, timestamps), colours, CRLF, two of our
lines run together, one line of gigabytes, bytes of no encoding, the JSON strings in which docker keeps a log. It is read in
pieces, and only what is looked for is kept.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from typing import BinaryIO, Callable, Collection, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.diagnose.content import NOTHING, Content, ErrorOfLine, ParagraphReader, SeenPattern, numberless
from patcher.diagnose.errors import EXCEPTION, LOGGED, WORDS, begins_own
from patcher.diagnose.failures import MARKS, OF_LAUNCHER, Failure, FailureReader, Traceback, shown
from patcher.diagnose.lines import BEFORE, BlockUse, Line, LineStream, Paragraph, Plain, begins, squeezed
from patcher.diagnose.origin import rank_of_file, rank_of_line
from patcher.diagnose.packed import DAMAGE, packing, unpacked
from patcher.diagnose.report import OURS, REFUSAL, Raised, Report, decode_line, read_raised, read_report
from patcher.diagnose.words import Shapes, form, shape
from patcher.message import Message
from patcher.text.terminal import clip, printable, printable_bytes, width

PIECE = 1 << 20
_EVENT = re.compile(OURS + rb' \{\\?"schema\\?": \d+, \\?"event')
_BEGIN = 120  # bytes of a line in which its rank is looked for
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

    line: int
    text: str
    pattern: str = ""


class LoggedError(NamedTuple):
    """An error in a log, known or not: what it is seen by (`patcher.diagnose.errors`), in one line, and where its code is.

    `line` is that of the first one, `ranks` those that have it; `patterns` are those that the text around it has.
    """

    kind: int
    error: str
    at: str
    line: int
    ranks: Tuple[int, ...]
    patterns: Tuple[str, ...]


class Log(NamedTuple):
    """What one log has. `cut` are the line numbers of reports that end too early (of the first thousand), `lines` all lines.

    `raised` is what wrappings raised, as mmengine-ddp-debug reported it; `summaries` and `tracebacks`: see `FailureReader`.
    `devices` are the kinds of accelerators that the text around errors speaks of.

    `problem` says why reading ended before the end of the log, else it is "".
    """

    name: str
    reports: Tuple[Report, ...]
    raised: Tuple[Raised, ...]
    refusals: Tuple[Refusal, ...]
    sightings: Tuple[Sighting, ...]
    summaries: Tuple[Tuple[Failure, ...], ...]
    tracebacks: Mapping[Optional[int], Traceback]
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
        self._plain, self._rank, self._lines = Plain(), rank_of_file(name), LineStream(self._is_wanted)
        self._failures, self._paragraph = FailureReader(name, self._rank), Paragraph()
        self._taken: Set[str] = set()  # the patterns of the paragraph that were taken before it has ended
        self._taken_lines = 0
        self._is_marked = False  # whether a traceback or a summary may begin in the block
        self._is_own = False  # whether the line is of what diagnose has written
        self._reports: List[Report] = []
        self._raised: List[Raised] = []
        self._refusals: List[Refusal] = []
        self._sightings: Dict[str, Sighting] = {}
        self._errors: Dict[str, LoggedError] = {}
        self._mentions: Dict[str, Mention] = {}
        self._devices: Set[str] = set()
        self._cut: List[int] = []
        self._cut_count = 0

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        """Read a piece; with the last one a line that is not ended is read, too."""
        for number, line, stays in self._lines.feed(self._plain.feed(piece, last=last), last=last):
            ended = self._failures.read(number, line) if stays and (self._is_marked or self._failures.reads_on) else None
            self._read(Line(number, line, ended, self._failures.reads_on))

    def _is_wanted(self, block: bytes) -> BlockUse:
        """Whether the lines of a block have to be read: not where all are known, nor where there is no word of an error."""
        shapes = shape(block).split(b"\n")
        if not self._failures.reads_on:
            looks = [] if self._is_own else list(map(self._settled.get, filter(None, shapes)))
            if looks and looks.count(NOTHING) == len(looks):
                self._end_paragraph()
                return BlockUse.NOTHING
            if len(block) > BEFORE and looks and None not in looks and self._recount(block, shapes):
                return BlockUse.COUNTED
            if not self._has_words(block):
                self._end_paragraph()
                self._learn(set(shapes))
                return BlockUse.NOTHING
        self._is_marked = any(mark in block for mark in MARKS)
        return BlockUse.LINES

    def _recount(self, block: bytes, shapes: Sequence[bytes]) -> bool:
        """Count once more what the lines of a block show, all of which are like others before; whether it is still known."""
        lines = block.replace(b"\r", b"\n").split(b"\n")
        seen_lines = ((alike, line) for alike, line in zip(shapes, lines) if alike and self._settled[alike] is not NOTHING)
        counts = Counter((alike, self._rank_of(line)) for alike, line in seen_lines)
        looks = [self._settled[alike] for alike, _ in counts]
        if not all(seen.pattern in self._sightings for look in looks for seen in look.patterns):
            return False
        if not all(error.key in self._errors for look in looks for error in look.errors.values()):
            return False
        self._end_paragraph()
        for (alike, rank), number in counts.items():
            for seen in self._settled[alike].patterns:
                self._count_sighting(seen.pattern, rank, number)
            for error in self._settled[alike].errors.values():
                self._add_rank(error.key, rank)
        return True

    def _has_words(self, block: bytes) -> bool:
        formed = form(block)
        if any(map(formed.__contains__, WORDS)):
            return True
        tight = squeezed(b"".join(line.text for line in self._paragraph.lines) + block)
        return any(map(tight.__contains__, self._paragraphs.words))

    def _learn(self, shapes: Collection[bytes]) -> None:
        """Keep the shapes of lines in which nothing is, where they are few: else it is no log of lines that are alike."""
        if len(shapes) <= _FEW:
            for alike in filter(begins, shapes):
                self._settled.keep(alike, NOTHING)

    def _read(self, line: Line) -> None:
        if OURS in line.text:
            line = line._replace(text=self._read_own(line.number, line.text))
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
        rank = rank_of_line(line[:_BEGIN])
        return self._rank if rank is None else rank

    def _read_own(self, number: int, line: bytes) -> bytes:
        """Read the reports in a line; what else may be looked for in it is all but what wrappings have raised."""
        places = [found.start() for found in re.finditer(OURS, line)]
        for begin, end in zip(places, [*places[1:], len(line)]):
            self._report(number, line[begin:end])
        event = _EVENT.search(line)
        return line[: event.start()] if event else line

    def _report(self, number: int, text: bytes) -> None:
        facts = decode_line(text)
        if facts is None:
            return
        report, raised = read_report(number, facts), read_raised(number, facts)
        if report:
            self._reports.append(report)
        elif raised:
            self._raised += [raised] if len(self._raised) < _KEPT else []
        else:
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
        alike = shape(text)
        look = self._paragraphs.read(text)
        is_whole = len(lines) == 1 and self._begins.get(alike) and not (lines[0].of_traceback or OURS in text)
        if is_whole and look.lasts and look.is_settled:
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
        rank = rank_of_line(text[begin : seen.at][:_BEGIN])
        rank = self._rank_of(last) if rank is None else rank
        if seen.pattern in self._sightings:
            self._count_sighting(seen.pattern, rank, 1)
            return
        before = clip(printable_bytes(text[begin : seen.at]).lstrip(), _SHOWN // 3)  # else the error could be cut out
        after = printable_bytes(text[seen.at :].replace(b"\n", b" ")).rstrip()
        shown_text = before + clip(after, _SHOWN - width(before))
        self._sightings[seen.pattern] = Sighting(seen.pattern, 0, (), number, shown_text)
        self._count_sighting(seen.pattern, rank, 1)

    def _count_sighting(self, pattern: str, rank: Optional[int], number: int) -> None:
        known = self._sightings[pattern]
        self._sightings[pattern] = known._replace(number=known.number + number, ranks=_with_rank(known.ranks, rank))

    def _see(self, line: Line, seen: Optional[ErrorOfLine], look: Content) -> None:
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
            self._errors[key] = LoggedError(*told(), line.number, (), patterns)
        if key in self._errors:
            self._add_rank(key, self._rank_of(line.text))

    def _add_rank(self, key: str, rank: Optional[int]) -> None:
        known = self._errors[key]
        if rank is not None and rank not in known.ranks:
            self._errors[key] = known._replace(ranks=_with_rank(known.ranks, rank))

    def _mention(self, key: str, number: int, line: bytes, pattern: str = "") -> None:
        if key not in self._mentions and len(self._mentions) < _KEPT:
            self._mentions[key] = Mention(number, shown(line.strip()), pattern)

    def _withdraw(self, line: int) -> None:
        """What was seen from a line on is merely mentioned: it was tried again."""
        for key, error in [pair for pair in self._errors.items() if pair[1].line >= line]:
            del self._errors[key]
            self._mentions.setdefault(key, Mention(error.line, error.error))
        for key, each in [pair for pair in self._sightings.items() if pair[1].line >= line and pair[1].number == 1]:
            del self._sightings[key]
            self._mentions.setdefault(key, Mention(each.line, each.text, key))
        tracebacks = self._failures.tracebacks
        self._failures.tracebacks = {rank: each for rank, each in tracebacks.items() if each.line < line}

    def log(self) -> Log:
        """What was found so far."""
        self._take()
        return Log(
            name=self.name,
            reports=tuple(self._reports),
            raised=tuple(self._raised),
            refusals=tuple(self._refusals),
            sightings=tuple(self._sightings.values()),
            summaries=tuple(map(tuple, self._failures.summaries)),
            tracebacks=dict(self._failures.tracebacks),
            errors=tuple(self._errors.values()),
            mentions=tuple(self._mentions.values()),
            devices=tuple(sorted(self._devices)),
            lines=self._lines.total,
            cut=tuple(self._cut),
            cut_count=self._cut_count,
            problem=self.problem,
        )


def read_log(
    name: str, stream: BinaryIO, patterns: Sequence[str] = (), progress: Callable[[int], None] = lambda size: None
) -> Log:
    """Read a log to its end; one that is compressed by gzip is read through it.

    Args:
        name: what to call the log.
        stream: a buffered binary stream; need not be seekable.
        patterns: what to look for.
        progress: called with the size of every piece, in bytes (uncompressed).
    """
    reader = LogReader(name, patterns)
    try:
        for number, piece in enumerate(_pieces(unpacked(stream))):
            reader.problem = reader.problem if number else _not_read(piece)
            reader.feed(piece)
            progress(len(piece))
    except DAMAGE as error:  # what was read still counts
        reader.problem = ended_early(error)
    reader.feed(b"", last=True)
    return reader.log()


def ended_early(error: BaseException) -> str:
    """The problem of a log that could not be read to its end."""
    return Message("reading ended early: {error}", error=printable(str(error)))


def _not_read(first: bytes) -> str:
    """Why nothing can be found in a log that begins like this, "" where it can."""
    utf_16 = first.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) and b"\0" in first
    how = packing(first) or ("UTF-16" if utf_16 else "")
    return Message("its format is {how}, which is not read: unpack it into a pipe, as plain text", how=how) if how else ""


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    read = getattr(stream, "read1", stream.read)  # a pipe gives what it has: progress is shown as it comes
    while piece := read(PIECE):
        yield piece
