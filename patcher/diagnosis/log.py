"""Logs as streams of bytes -> what is in them: reports, errors, lines that match patterns.

A log may be anything: lines of many ranks, prefixes before ours (`[rank0]:`, timestamps), colours,
CRLF, two of our lines run together, one line of gigabytes, bytes of no encoding, the JSON strings
in which docker keeps a log. It is read in pieces, and only what is looked for is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Iterator, Sequence, TypeVar

from patcher.diagnosis.failures import (
    CHAINED,
    MARKS,
    OF_LAUNCHER,
    TRACEBACK,
    FailedRank,
    FailureReader,
    Traceback,
    Tracebacks,
    places_of_chain,
    shown,
)
from patcher.diagnosis.lines import LONGEST_PARAGRAPH, Blocks, Line, begins, paragraphs
from patcher.diagnosis.rank_names import rank_of_file, rank_of_line
from patcher.diagnosis.report import OURS, REFUSAL, Report, decode_line, read_report
from patcher.diagnosis.signs import (
    EXAMPLE,
    EXCEPTION,
    KNOWN,
    LAST_WORDS,
    LOGGED,
    RETRIED,
    Sign,
    SignReader,
    devices_in,
    last_words,
    numberless,
)
from patcher.record import Record
from patcher.text.patterns import shape
from patcher.text.terminal import clip, printable_bytes, width

_TAIL = 64  # lines before a block with an error in which that may have begun
_FEW = 64  # shapes of a block that are kept: of one with more hardly any comes again
_SHAPES = 4096  # shapes that are kept in all
_LONGEST = 600  # bytes of a shape that is kept
_MARKS = (OURS, *MARKS)
_EXAMPLE_LINES = 6  # after what stands before it
_AGAIN = 3  # lines after an error in which it may be told that it was tried again
_KEPT = 1000
"""How many cut lines, refusals, errors and ranks are kept; all others are counted."""
_END = 2048  # bytes of the end of a log in which the last line is looked for
_SHOWN = 300  # columns of a line that is shown
OWN_WORDS = (
    *("applicable", "applied", "upstream", "not needed", "absent", "does not fit", "unknown"),
    *("advice", "follows", "not known", "failed", "waited", "late"),
    *("可应用", "已应用", "上游已有", "不需要", "未安装", "不适用", "未知"),
    *("建议", "连带", "失败", "等待", "未到"),
)
"""The words with which a finding begins that `diagnose` has written."""
_OWN_BEGINS = tuple(f"{word}  ".encode() for word in OWN_WORDS)


class Refusal(Record):
    """A line in which DDP refuses device_ids.

    Attributes:
        line: its number.
        rank: that which was refused, None if it is not known.
        preceding: how many reports precede it.
    """

    line: int
    rank: int | None
    preceding: int


class Sighting(Record):
    """A pattern or an error in `number` lines of a log, as `Sign` has it.

    `log`, `line` and `text` are those of the first. `ranks` are those that the lines name, each
    once; `text` may be shown on a terminal. Of an error, `at` and `raised_at` are those of its
    traceback, if there is one, and `patterns` those that the text around it has.
    """

    kind: int
    key: str
    text: str
    at: str
    log: str
    line: int
    number: int = 0
    ranks: tuple[int, ...] = ()
    patterns: tuple[str, ...] = ()
    raised_at: str = ""


class Log(Record):
    """What one log has.

    `cut` are the line numbers of reports that end too early (of the first thousand), `lines` is how
    many lines there are. `sightings` are those of patterns, `errors` those of errors, known or not.
    `mentions` are lines in which one is spoken of
    that has not happened, or was no end: a retry, a title, an explanation.
    `summaries` and `tracebacks`: see `FailureReader`. `devices` are the kinds of accelerators that
    the text around errors speaks of. `problem` says why reading ended before the end of the log,
    else it is "".
    """

    name: str
    reports: tuple[Report, ...]
    refusals: tuple[Refusal, ...]
    sightings: tuple[Sighting, ...]
    summaries: tuple[tuple[FailedRank, ...], ...]
    tracebacks: Tracebacks
    errors: tuple[Sighting, ...]
    mentions: tuple[Sighting, ...]
    devices: tuple[str, ...]
    lines: int
    cut: tuple[int, ...]
    cut_count: int
    problem: str

    @property
    def is_damaged(self) -> bool:
        """Whether the log, or a report in it, could not be read to its end."""
        return bool(self.cut_count or self.problem)


_Kept = TypeVar("_Kept")

if TYPE_CHECKING:
    _Key = tuple[int, str]
    """The kind and the key of a sign."""


class _Sightings:
    """What was seen in a log, and in how many lines of each rank; in bounded memory.

    Attributes:
        newest: the last line in which anything was seen first.
        mentions: what is merely spoken of.
    """

    def __init__(self) -> None:
        self.newest = -_AGAIN
        self.mentions: dict[_Key, Sighting] = {}
        self._seen: dict[_Key, Sighting] = {}
        self._ranks: dict[_Key, Counter[int | None]] = {}
        self._last: dict[int | None, _Key] = {}  # the error that each rank raised last
        # ranks whose next error is raised after the last one
        self._chained: set[int | None] = set()

    def __bool__(self) -> bool:
        return bool(self._seen)

    def has_all(self, keys: Sequence[_Key]) -> bool:
        """Whether all of these were seen."""
        return all(key in self._seen for key in keys)

    def chain(self, rank: int | None) -> None:
        """The next error of a rank is raised after the last one."""
        self._chained.add(rank)

    def note(self, sighting: Sighting, rank: int | None) -> None:
        """Count what is seen first, or once more."""
        key = (sighting.kind, sighting.key)
        is_known = sighting.kind == KNOWN
        if not is_known:
            first = self._last.get(rank) if rank in self._chained else None
            self._chained.discard(rank)
            if first is not None and first in self._seen:
                self._extend(first, sighting)
                return
            self._last[rank] = key

        has_room = is_known or len(self._seen) < _KEPT
        if has_room and key not in self._seen:
            self._seen[key] = sighting
            self._ranks[key] = Counter()
            self.newest = sighting.line

        if key in self._seen:
            self.count(key, rank)

    def _extend(self, first: _Key, later: Sighting) -> None:
        """A chain is about its first error; what is known of a later one explains it."""
        seen = self._seen[first]
        at, raised_at = places_of_chain(seen.at, seen.raised_at, later.at)
        patterns = (*seen.patterns, *later.patterns)
        self._seen[first] = seen._replace(at=at, raised_at=raised_at, patterns=patterns)

    def count(self, key: _Key, rank: int | None) -> None:
        """Count what was seen once more."""
        ranks = self._ranks[key]
        is_kept = rank in ranks or len(ranks) < _KEPT
        ranks[rank if is_kept else None] += 1

    def mention(self, sighting: Sighting) -> None:
        """Keep what is merely spoken of."""
        if len(self.mentions) < _KEPT:
            self.mentions.setdefault((sighting.kind, sighting.key), sighting)

    def withdraw(self, line: int) -> None:
        """What was seen from a line on is merely mentioned: it was tried again."""
        for key, sighting in list(self._seen.items()):
            if sighting.line < line:
                continue

            line_count = sum(self._ranks[key].values())
            if sighting.kind != KNOWN or line_count == 1:
                del self._seen[key]
                self.mentions.setdefault(key, sighting)

    def all(self) -> Iterator[Sighting]:
        """Everything that was seen, with the number of its lines and its ranks."""
        for key, sighting in self._seen.items():
            counts = self._ranks[key]
            ranks = tuple(rank for rank in counts if rank is not None)
            yield sighting._replace(number=sum(counts.values()), ranks=ranks)


class LogReader:
    """Reads one log that comes in pieces, in bounded memory.

    Args:
        name: what to call the log; a path may name the rank.
        patterns: what to look for.

    Attributes:
        problem: why reading ends before the end of the log, "" where it does not.
    """

    def __init__(self, name: str, patterns: Sequence[str] = ()) -> None:
        self.name = name
        self.problem = ""
        self._rank = rank_of_file(name)
        self._blocks = Blocks()
        self._signs = SignReader(patterns)
        self._failures = FailureReader(name, self._rank)
        self._sightings = _Sightings()
        self._devices: set[str] = set()

        # by their shape, what is to be counted of lines that are paragraphs, and what paragraphs
        # show
        self._settled: dict[bytes, tuple[_Key, ...]] = {}
        self._known: dict[bytes, Sequence[Sign]] = {}

        self._held: Sequence[Line] = ()  # the last paragraph, which may go on
        self._is_own = False  # whether the line is of what diagnose has written
        self._example_until = 0  # the last line of what may be an example
        self._end = b""  # of the log

        self._reports: list[Report] = []
        self._refusals: list[Refusal] = []
        self._cut: list[int] = []
        self._cut_count = 0

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        """Read a piece; with the last one a line that is not ended is read, too."""
        self._end = (self._end + piece)[-_END:]
        for number, block in self._blocks.feed(piece, last=last):
            self._read_block(number, block)

        if last:
            self._end_paragraph()
            self._note_last_words()
            if not self._sightings:
                self._note_open_tracebacks()

    def log(self) -> Log:
        """What was found, once the last piece is read."""
        self._end_paragraph()
        seen = list(self._sightings.all())
        return Log(
            name=self.name,
            reports=tuple(self._reports),
            refusals=tuple(self._refusals),
            sightings=tuple(sighting for sighting in seen if sighting.kind == KNOWN),
            summaries=tuple(map(tuple, self._failures.summaries)),
            tracebacks=dict(self._failures.tracebacks),
            errors=tuple(sighting for sighting in seen if sighting.kind != KNOWN),
            mentions=tuple(self._sightings.mentions.values()),
            devices=tuple(sorted(self._devices)),
            lines=self._blocks.total,
            cut=tuple(self._cut),
            cut_count=self._cut_count,
            problem=self.problem,
        )

    # the end --------------------------------------------------------------------------------------
    def _note_last_words(self) -> None:
        """Note what is an error only where the log ends in it."""
        lines = list(filter(None, self._end.split(b"\n")))
        line = lines[-1] if lines else b""
        pattern = last_words(line)
        if pattern:
            sighting = Sighting(
                kind=KNOWN,
                key=pattern,
                text=shown(line.strip()),
                at="",
                log=self.name,
                line=self._blocks.total,
            )

            self._sightings.note(sighting, self._rank_of(line))

    def _note_open_tracebacks(self) -> None:
        """Note tracebacks that have not ended: what is pasted may end within one."""
        for rank, at in self._failures.places.items():
            sighting = Sighting(
                kind=EXCEPTION,
                key=at,
                text=f"{shown(TRACEBACK)}:",
                at=at,
                log=self.name,
                line=self._blocks.total,
            )

            self._sightings.note(sighting, rank)

    # blocks ---------------------------------------------------------------------------------------
    def _read_block(self, number: int, block: bytes) -> None:
        """Read the lines of a block that matter, but for those of the last paragraph."""
        texts = block.split(b"\n")
        shapes = shape(block).split(b"\n")
        if not texts[-1]:
            del texts[-1], shapes[-1]
        settled = list(map(self._settled.get, shapes))
        if None not in settled:
            self._end_paragraph()
            if not self._reads_on(number):
                self._recount(texts[:-1], settled)
                last_number = number + len(texts) - 1
                self._held = [Line(last_number, texts[-1], is_written_over=False)]
                return

        unsettled = [text for text, keys in zip(texts, settled) if keys != ()]
        unknown = b"\n".join(unsettled)
        words = self._signs.words_in(_text(self._held) + b"\n" + unknown)
        reads_on = self._reads_on(number)
        if words:
            self._devices |= devices_in(unknown)
        elif not reads_on:
            self._settle(set(shapes))
            number += max(0, len(texts) - _TAIL)
            texts = texts[-_TAIL:]

        lines = [line for line in _lines(number, texts) if self._is_of_the_log(line)]
        self._read_lines([*self._held, *lines], words, is_read=bool(words) or reads_on)

    def _settle(self, shapes: set[bytes]) -> None:
        """Keep that there is nothing in lines of these shapes."""
        if len(shapes) > _FEW:
            return
        for alike in shapes:
            if begins(alike) and b"\r" not in alike:
                _keep(self._settled, alike, ())

    def _read_lines(
        self,
        lines: Sequence[Line],
        words: Sequence[bytes],
        *,
        is_read: bool,
    ) -> None:
        """Read the paragraphs of some lines, but for the last one, which may go on."""
        *ended, held = paragraphs(lines)
        if len(_text(held)) > LONGEST_PARAGRAPH:
            ended.append(held)
            held = ()

        self._held = held
        if is_read:
            for paragraph in ended:
                self._read(paragraph, words)

    def _end_paragraph(self) -> None:
        """Read the last paragraph: it does not go on."""
        if self._held:
            words = self._signs.words_in(_text(self._held))
            self._read(self._held, words)

        self._held = ()

    def _reads_on(self, number: int) -> bool:
        """Whether a line is to be read whatever is in it.

        Something has begun that has not ended, or may be withdrawn.
        """
        is_near = number <= self._sightings.newest + _AGAIN
        return self._failures.reads_on or self._is_own or is_near

    def _is_of_the_log(self, line: Line) -> bool:
        """Whether a line is none of those that diagnose has written."""
        goes_on = self._is_own and line.text.startswith(b" ")
        self._is_own = goes_on or line.text.startswith(_OWN_BEGINS)
        return not self._is_own

    def _recount(
        self,
        texts: Sequence[bytes],
        settled: Sequence[tuple[_Key, ...] | None],
    ) -> None:
        """Count once more what is in lines of which all is known."""
        for text, keys in zip(texts, settled):
            if not keys:
                continue

            rank = self._rank_of(text)
            for key in keys:
                self._sightings.count(key, rank)

    # paragraphs -----------------------------------------------------------------------------------
    def _read(self, lines: Sequence[Line], words: Sequence[bytes]) -> None:
        """Read a paragraph, in which these words can be."""
        text = _text(lines)
        alike = shape(text)
        number = lines[0].number
        if alike in self._settled and not self._reads_on(number):
            self._recount([text], [self._settled[alike]])
            return

        signs = self._known.get(alike)
        if signs is None:
            signs = self._signs.read(text, words)
            if len(alike) <= _LONGEST and not self._signs.depends_on_digits(alike):
                _keep(self._known, alike, signs)

        if EXAMPLE.search(text):
            self._example_until = lines[-1].number + _EXAMPLE_LINES
        if signs or words or self._reads_on(number):
            self._see_lines(lines, signs)

        keys = tuple((sign.kind, sign.key) for sign in signs if not sign.is_spoken)
        is_alone = alike in self._known and begins(alike)
        has_marks = any(mark in alike for mark in _MARKS)
        is_settled = is_alone and not has_marks and self._sightings.has_all(keys)
        if is_settled and not RETRIED.search(alike):
            _keep(self._settled, alike, keys)

    def _see_lines(self, lines: Sequence[Line], signs: Sequence[Sign]) -> None:
        """Note what is in the lines of a paragraph: reports, tracebacks, signs, withdrawals."""
        patterns = _patterns_of(signs)
        for row, (number, text, is_written_over) in enumerate(lines):
            if OURS in text:
                self._read_reports(number, text)
            ended = None if is_written_over else self._failures.read(number, text)
            if any(mark in text for mark in CHAINED):
                self._sightings.chain(self._rank_of(text))
            if number <= self._sightings.newest + _AGAIN and RETRIED.search(text):
                self._withdraw(number - _AGAIN)
            if ended:
                self._see_traceback(ended, number, text, patterns=patterns)
            for sign in signs:
                is_told = ended and sign.kind != KNOWN  # by the traceback
                if sign.row == row and not is_told:
                    self._see(sign, lines, patterns)

    def _see_traceback(
        self,
        ended: Traceback,
        number: int,
        text: bytes,
        *,
        patterns: tuple[str, ...],
    ) -> None:
        """Note the error in which a traceback ends."""
        if number <= self._example_until or ended.error.startswith(OF_LAUNCHER):
            return

        sighting = Sighting(
            kind=EXCEPTION,
            key=numberless(ended.error) + ended.at,
            text=ended.error,
            at=ended.at,
            log=self.name,
            line=number,
            patterns=patterns,
            raised_at=ended.raised_at,
        )

        self._sightings.note(sighting, self._rank_of(text))

    def _see(
        self,
        sign: Sign,
        lines: Sequence[Line],
        patterns: tuple[str, ...],
    ) -> None:
        """Note a pattern, or an error that no traceback ends in."""
        if sign.key in LAST_WORDS:
            return
        if sign.key == REFUSAL:
            self._see_refusal(lines)
            return

        number, line, _ = lines[sign.row]
        sighting = Sighting(
            kind=sign.kind,
            key=sign.key,
            text=shown(line[sign.begin : sign.end]),
            at="",
            log=self.name,
            line=number,
        )

        if sign.is_spoken or number <= self._example_until:
            self._sightings.mention(sighting._replace(text=shown(line.strip())))
        elif sign.kind == KNOWN:
            text = _shown_from(sign, lines)
            self._sightings.note(sighting._replace(text=text), self._rank_of(line))
        elif not self._is_of_traceback(sign) and not sign.key.startswith(OF_LAUNCHER):
            self._sightings.note(sighting._replace(patterns=patterns), self._rank_of(line))

    def _is_of_traceback(self, sign: Sign) -> bool:
        """Whether an error is but a line of a traceback or a summary that has begun."""
        return sign.kind >= LOGGED and self._failures.reads_on

    def _see_refusal(self, lines: Sequence[Line]) -> None:
        """Keep a refusal, with the first rank that its paragraph names."""
        if len(self._refusals) >= _KEPT:
            return

        rank = None
        for line in lines:
            rank = self._rank_of(line.text)
            if rank is not None:
                break

        refusal = Refusal(lines[0].number, rank, preceding=len(self._reports))
        self._refusals.append(refusal)

    def _withdraw(self, line: int) -> None:
        """What was seen from a line on is merely mentioned: it was tried again."""
        self._sightings.withdraw(line)
        self._settled.clear()
        kept = {}
        for rank, ended in self._failures.tracebacks.items():
            if ended.line < line:
                kept[rank] = ended

        self._failures.tracebacks = kept

    def _rank_of(self, line: bytes) -> int | None:
        """The rank that a line names, or that of the log."""
        rank = rank_of_line(line)
        return self._rank if rank is None else rank

    def _read_reports(self, number: int, line: bytes) -> None:
        """Read the reports in a line, of which several may run together."""
        starts = [match.start() for match in re.finditer(OURS, line)]
        ends = [*starts[1:], len(line)]
        for start, end in zip(starts, ends):
            facts = decode_line(line[start:end])
            if facts is None:
                continue

            report = read_report(number, facts, self.name)
            if report:
                self._reports.append(report)
                continue

            self._cut_count += 1
            if len(self._cut) < _KEPT:
                self._cut.append(number)


def _keep(table: dict[bytes, _Kept], alike: bytes, value: _Kept) -> None:
    """Remember what a shape is, unless it is too long; a full table is emptied first."""
    if len(table) >= _SHAPES:
        table.clear()
    if len(alike) <= _LONGEST:
        table[alike] = value


def _lines(number: int, texts: Sequence[bytes]) -> Iterator[Line]:
    """The lines of a block from a number on.

    What ends with a carriage return is a line, too, as progress bars write them.
    """
    for row, text in enumerate(texts, number):
        if b"\r" in text:
            *written_over, text = text.rstrip(b"\r").split(b"\r")
            for part in written_over:
                yield Line(row, part, is_written_over=True)

        yield Line(row, text, is_written_over=False)


def _text(lines: Sequence[Line]) -> bytes:
    """The text of some lines."""
    return b"\n".join([line.text for line in lines])


def _patterns_of(signs: Sequence[Sign]) -> tuple[str, ...]:
    """The patterns among signs."""
    patterns: list[str] = []
    for sign in signs:
        if sign.kind == KNOWN and sign.key != REFUSAL:
            patterns.append(sign.key)

    return tuple(patterns)


def _shown_from(sign: Sign, lines: Sequence[Line]) -> str:
    """The text in which a pattern is.

    What stands before it is shortened, else the pattern could be cut out.
    """
    first, *rest = [line.text for line in lines[sign.row :]]
    before = printable_bytes(first[: sign.begin]).lstrip()
    before = clip(before, _SHOWN // 3)
    after = b" ".join([first[sign.begin :], *rest])
    after_text = printable_bytes(after).rstrip()
    return before + clip(after_text, _SHOWN - width(before))
