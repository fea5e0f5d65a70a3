"""Logs as streams of bytes -> what is in them: reports of mmengine-ddp-debug, errors, and lines that match patterns.

A log may be anything: lines of many ranks, prefixes before ours (`[rank0]:`, timestamps), colours, CRLF, two of our
lines run together, one line of gigabytes, bytes of no encoding, the JSON strings in which docker keeps a log. It is read in
pieces, and only what is looked for is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Iterator, NamedTuple, Sequence, Tuple, TypeVar

from patcher.diagnosis.failures import (
    CHAINED,
    MARKS,
    OF_LAUNCHER,
    TRACEBACK,
    Failure,
    FailureReader,
    Tracebacks,
    places_of_chain,
    shown,
)
from patcher.diagnosis.lines import LONGEST_PARAGRAPH, Blocks, Line, begins, paragraphs
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
from patcher.diagnosis.words import rank_of_file, rank_of_line
from patcher.text.patterns import shape
from patcher.text.terminal import clip, printable_bytes, width

_TAIL = 64  # lines before a block with an error in which that may have begun
_FEW, _SHAPES, _LONGEST = 64, 4096, 600  # shapes that are kept of a block, and in all; their bytes
_MARKS = (OURS, *MARKS)
_EXAMPLE_LINES = 6  # after what stands before it
_AGAIN = 3  # lines after an error in which it may be told that it was tried again
_KEPT = 1000  # how many cut lines, refusals, errors and ranks of a sighting are kept; all but these are counted
_END = 2048  # bytes of the end of a log in which the last line is looked for
_SHOWN = 300  # columns of a line that is shown
_OWN = (  # the words with which a finding begins that `diagnose` has written
    *("applicable", "applied", "upstream", "not needed", "absent", "does not fit", "unknown"),
    *("advice", "follows", "not known", "failed", "waited", "late"),
    *(
        "可应用",
        "已应用",
        "上游已有",
        "不需要",
        "未安装",
        "不适用",
        "未知",
        "建议",
        "连带",
        "失败",
        "等待",
        "未到",
    ),
)
_OWN_BEGINS = tuple(f"{word}  ".encode() for word in _OWN)


class Refusal(NamedTuple):
    """A line in which DDP refuses device_ids: its line number, its rank if known, and how many reports precede it."""

    line: int
    rank: int | None
    preceding: int


class Sighting(NamedTuple):
    """A pattern or an error in `number` lines of a log, as `Sign` has it; `log`, `line` and `text` of the first.

    `ranks` are those that the lines name, each once; `text` may be shown on a terminal. Of an error, `at` and `raised_at` are
    those of its traceback, if there is one, and `patterns` those that the text around it has.
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


class Log(NamedTuple):
    """What one log has. `cut` are the line numbers of reports that end too early (of the first thousand), `lines` all lines.

    `sightings` are those of patterns, `errors` those of errors, known or not. `mentions` are lines in which one is spoken of
    that has not happened, or was no end: a retry, a title, an explanation.
    `summaries` and `tracebacks`: see `FailureReader`. `devices` are the kinds of accelerators that the text around errors
    speaks of. `problem` says why reading ended before the end of the log, else it is "".
    """

    name: str
    reports: tuple[Report, ...]
    refusals: tuple[Refusal, ...]
    sightings: tuple[Sighting, ...]
    summaries: tuple[tuple[Failure, ...], ...]
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
_Key = Tuple[int, str]  # the kind and the key of a sign


class LogReader:
    """Reads one log that comes in pieces, in bounded memory.

    Args:
        name: what to call the log; a path may name the rank.
        patterns: what to look for.
    """

    def __init__(self, name: str, patterns: Sequence[str] = ()) -> None:
        self.name, self.problem = name, ""
        self._signs, self._blocks = SignReader(patterns), Blocks()
        self._settled: dict[
            bytes, tuple[_Key, ...]
        ] = {}  # what is to be counted of lines that are paragraphs, by their shape
        self._known: dict[bytes, Sequence[Sign]] = {}  # what paragraphs show, by their shape
        self._held: Sequence[Line] = ()  # the last paragraph, which may go on
        self._rank = rank_of_file(name)
        self._failures = FailureReader(name, self._rank)
        self._is_own = False  # whether the line is of what diagnose has written
        self._reports: list[Report] = []
        self._refusals: list[Refusal] = []
        self._seen: dict[_Key, Sighting] = {}
        self._ranks: dict[_Key, Counter[int | None]] = {}  # in how many lines of each rank
        self._newest = -_AGAIN  # the last line in which anything was seen first
        self._told = 0  # the last line of what may be an example
        self._last: dict[int | None, _Key] = {}  # the error that each rank raised last
        self._chained: set[int | None] = (
            set()
        )  # ranks whose next error is raised after the last one
        self._end = b""  # of the log
        self._mentions: dict[_Key, Sighting] = {}
        self._devices: set[str] = set()
        self._cut: list[int] = []
        self._cut_count = 0

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        """Read a piece; with the last one a line that is not ended is read, too."""
        self._end = (self._end + piece)[-_END:]
        for number, block in self._blocks.feed(piece, last=last):
            self._read_block(number, block)
        if last:
            self._end_paragraph()
            self._note_end()
            # what is pasted may end within a traceback
            for rank, at in self._failures.places.items() if not self._seen else ():
                self._note(
                    Sighting(
                        EXCEPTION, at, f"{shown(TRACEBACK)}:", at, self.name, self._blocks.total
                    ),
                    rank,
                )

    def _note_end(self) -> None:
        """Note what is an error only where the log ends in it."""
        *_, line = [b"", *filter(None, self._end.split(b"\n"))]
        if pattern := last_words(line):
            sighting = Sighting(
                KNOWN, pattern, shown(line.strip()), "", self.name, self._blocks.total
            )
            self._note(sighting, self._rank_of(line))

    def _reads_on(self, number: int) -> bool:
        """Whether a line is to be read whatever is in it: something has begun that has not ended, or may be withdrawn."""
        return self._failures.reads_on or self._is_own or number <= self._newest + _AGAIN

    def _read_block(self, number: int, block: bytes) -> None:
        """Read the lines of a block, but for those in which nothing is, and those of the last paragraph."""
        texts, shapes = block.split(b"\n"), shape(block).split(b"\n")
        if not texts[-1]:
            del texts[-1], shapes[-1]
        settled = list(map(self._settled.get, shapes))
        if None not in settled:
            self._end_paragraph()
            if not self._reads_on(number):
                self._recount(texts[:-1], settled)
                self._held = [Line(number + len(texts) - 1, texts[-1], False)]
                return
        unknown = b"\n".join([text for text, keys in zip(texts, settled) if keys != ()])
        words, reads_on = (
            self._signs.words_in(_text(self._held) + b"\n" + unknown),
            self._reads_on(number),
        )
        if words:
            self._devices |= devices_in(unknown)
        elif not reads_on:
            # else hardly any comes again
            for alike in set(shapes) if len(set(shapes)) <= _FEW else ():
                if begins(alike) and b"\r" not in alike:
                    _keep(self._settled, alike, ())
            texts, number = texts[-_TAIL:], number + max(0, len(texts) - _TAIL)
        lines = [*self._held, *filter(self._is_of_the_log, _lines(number, texts))]
        *ended, self._held = paragraphs(lines)
        if len(_text(self._held)) > LONGEST_PARAGRAPH:
            ended, self._held = [*ended, self._held], ()
        for paragraph in ended if words or reads_on else ():
            self._read(paragraph, words)

    def _end_paragraph(self) -> None:
        if self._held:
            self._read(self._held, self._signs.words_in(_text(self._held)))
        self._held = ()

    def _is_of_the_log(self, line: Line) -> bool:
        """Whether a line is none of those that diagnose has written."""
        self._is_own = line.text.startswith(_OWN_BEGINS) or (self._is_own and line.text[:1] == b" ")
        return not self._is_own

    def _recount(self, texts: Sequence[bytes], settled: Sequence[tuple[_Key, ...] | None]) -> None:
        """Count once more what is in lines of which all is known."""
        for text, keys in zip(texts, settled):
            if keys:
                rank = self._rank_of(text)
                for key in keys:
                    self._count(key, rank)

    def _read(self, lines: Sequence[Line], words: Sequence[bytes]) -> None:
        """Read a paragraph, in which these words can be."""
        text = _text(lines)
        alike, number = shape(text), lines[0].number
        if alike in self._settled and not self._reads_on(number):
            self._recount([text], [self._settled[alike]])
            return
        signs = self._known.get(alike)
        if signs is None:
            signs = self._signs.read(text, words)
            if len(alike) <= _LONGEST and not self._signs.depends_on_digits(alike):
                _keep(self._known, alike, signs)
        if EXAMPLE.search(text):
            self._told = lines[-1].number + _EXAMPLE_LINES
        if signs or words or self._reads_on(number):
            self._read_lines(lines, signs)
        keys = tuple(sign[:2] for sign in signs if not sign.is_spoken)
        more = alike not in self._known or not begins(alike) or any(map(alike.__contains__, _MARKS))
        if not more and self._seen.keys() >= set(keys) and not RETRIED.search(alike):
            _keep(self._settled, alike, keys)

    def _read_lines(self, lines: Sequence[Line], signs: Sequence[Sign]) -> None:
        patterns = tuple(sign.key for sign in signs if sign.kind == KNOWN and sign.key != REFUSAL)
        for row, (number, text, is_written_over) in enumerate(lines):
            if OURS in text:
                self._read_reports(number, text)
            ended = None if is_written_over else self._failures.read(number, text)
            if any(mark in text for mark in CHAINED):
                self._chained.add(self._rank_of(text))
            if number <= self._newest + _AGAIN and RETRIED.search(text):
                self._withdraw(number - _AGAIN)
            if ended and number > self._told and not ended.error.startswith(OF_LAUNCHER):
                key = EXCEPTION, numberless(ended.error) + ended.at
                sighting = Sighting(*key, ended.error, ended.at, self.name, number)
                self._note(
                    sighting._replace(patterns=patterns, raised_at=ended.raised_at),
                    self._rank_of(text),
                )
            for sign in signs:
                if sign.row == row and (sign.kind == KNOWN or not ended):
                    self._see(sign, lines, patterns)

    def _see(self, sign: Sign, lines: Sequence[Line], patterns: tuple[str, ...]) -> None:
        """Note a pattern, or an error that no traceback ends in."""
        if sign.key in LAST_WORDS:
            return
        number, line, _ = lines[sign.row]
        sighting = Sighting(
            sign.kind, sign.key, shown(line[sign.begin : sign.end]), "", self.name, number
        )
        if sign.key == REFUSAL:
            ranks = [
                rank for rank in (self._rank_of(line.text) for line in lines) if rank is not None
            ]
            refusal = Refusal(lines[0].number, ranks[0] if ranks else None, len(self._reports))
            self._refusals += [refusal] if len(self._refusals) < _KEPT else []
        elif sign.is_spoken or number <= self._told:
            if len(self._mentions) < _KEPT:
                self._mentions.setdefault(sign[:2], sighting._replace(text=shown(line.strip())))
        elif sign.kind == KNOWN:
            self._note(sighting._replace(text=_shown_from(sign, lines)), self._rank_of(line))
        elif not (sign.kind >= LOGGED and self._failures.reads_on) and not sign.key.startswith(
            OF_LAUNCHER
        ):
            self._note(sighting._replace(patterns=patterns), self._rank_of(line))

    def _note(self, sighting: Sighting, rank: int | None) -> None:
        """Count what is seen first, or once more."""
        key = sighting[:2]
        if sighting.kind != KNOWN:
            first = self._last.get(rank) if rank in self._chained else None
            self._chained.discard(rank)
            if (
                first in self._seen
            ):  # a chain is about its first error; what is known of another explains it
                seen = self._seen[first]
                at, raised_at = places_of_chain(seen.at, seen.raised_at, sighting.at)
                patterns = (*seen.patterns, *sighting.patterns)
                self._seen[first] = seen._replace(at=at, raised_at=raised_at, patterns=patterns)
                return
            self._last[rank] = key
        if key not in self._seen and (sighting.kind == KNOWN or len(self._seen) < _KEPT):
            self._seen[key], self._ranks[key], self._newest = sighting, Counter(), sighting.line
        if key in self._seen:
            self._count(key, rank)

    def _count(self, key: _Key, rank: int | None) -> None:
        ranks = self._ranks[key]
        ranks[rank if rank in ranks or len(ranks) < _KEPT else None] += 1

    def _withdraw(self, line: int) -> None:
        """What was seen from a line on is merely mentioned: it was tried again."""
        for key, sighting in list(self._seen.items()):
            if sighting.line >= line and (
                sighting.kind != KNOWN or sum(self._ranks[key].values()) == 1
            ):
                self._mentions.setdefault(key, self._seen.pop(key))
        self._settled.clear()
        tracebacks = self._failures.tracebacks
        self._failures.tracebacks = {
            rank: ended for rank, ended in tracebacks.items() if ended.line < line
        }

    def _rank_of(self, line: bytes) -> int | None:
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

    def log(self) -> Log:
        """What was found, once the last piece is read."""
        self._end_paragraph()
        seen = []
        for key, sighting in self._seen.items():
            ranks = tuple(rank for rank in self._ranks[key] if rank is not None)
            seen.append(sighting._replace(number=sum(self._ranks[key].values()), ranks=ranks))
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


def _keep(table: dict[bytes, _Kept], alike: bytes, value: _Kept) -> None:
    if len(table) >= _SHAPES:
        table.clear()
    if len(alike) <= _LONGEST:
        table[alike] = value


def _lines(number: int, texts: Sequence[bytes]) -> Iterator[Line]:
    """The lines of a block from a number on; what ends with a carriage return is one, too, as progress bars write them."""
    for row, text in enumerate(texts, number):
        if b"\r" in text:
            *written_over, text = text.rstrip(b"\r").split(b"\r")
            yield from (Line(row, part, True) for part in written_over)
        yield Line(row, text, False)


def _text(lines: Sequence[Line]) -> bytes:
    return b"\n".join([line.text for line in lines])


def _shown_from(sign: Sign, lines: Sequence[Line]) -> str:
    """The text in which a pattern is, of which what stands before it is shortened, else it could be cut out."""
    first, *rest = [line.text for line in lines[sign.row :]]
    before = clip(printable_bytes(first[: sign.begin]).lstrip(), _SHOWN // 3)
    after = printable_bytes(b" ".join([first[sign.begin :], *rest])).rstrip()
    return before + clip(after, _SHOWN - width(before))
