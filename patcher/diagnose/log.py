"""Logs as streams of bytes -> what is in them: reports of the patchset mmengine-ddp-debug, and lines that match patterns.

A log may be anything: lines of many ranks, prefixes before ours (`[rank0]:`, timestamps), colours, CRLF, two of our
lines run together, one line of gigabytes, bytes of no encoding, the JSON strings in which docker keeps a log. It is read in
pieces, and only what is looked for is kept.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from typing import BinaryIO, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.diagnose.errors import (
    EXCEPTION,
    LOGGED,
    NEAR,
    Sign,
    begins_own,
    error_in,
    is_source,
    is_spoken,
    may_be_retried,
    may_have_own,
    signs_in,
    was_retried,
)
from patcher.diagnose.failures import CHAINED, MARKS, OF_LAUNCHER, Failure, FailureReader, Traceback, shown
from patcher.diagnose.lines import LineStream, Paragraph, Plain, squeezed
from patcher.diagnose.origin import rank_of_file, rank_of_line
from patcher.diagnose.packed import DAMAGE, packing, unpacked
from patcher.diagnose.patterns import Compiled, Patterns, shortest
from patcher.diagnose.report import OURS, REFUSAL, Raised, Report, decode_line, read_raised, read_report
from patcher.text.printable import printable, printable_bytes
from patcher.text.width import clip, width

_REFUSAL = squeezed(REFUSAL.encode())
PIECE = 1 << 20
_EVENT = re.compile(OURS + rb' \{\\?"schema\\?": \d+, \\?"event')
_WORDS = (  # of which one is in every block that an error is in, beside those of the patterns
    b"error exception traceback fatal abort coredumped segfault segmentationfault killed terminate exit".split()
)
_DEVICE = re.compile(  # what a text says of the card that it is from
    rb"torch[_-](npu|gcu|musa|mlu|xla)\b|\b(npu|gcu|musa|mlu|xpu|hpu):\d|type='(npu|gcu|musa|mlu|xpu|hpu)'|"
    rb"\b(NPU|GCU|MUSA|MLU|XPU|HPU)\b"
)
_CARDS = (
    (re.compile(rb"\b(?:Enflame|T20|S60)\b|" + "燧原".encode()), "gcu"),
    (re.compile(rb"\bAscend\b|\b910B|" + "昇腾".encode()), "npu"),
    (re.compile(rb"\bMTT S\d|" + "摩尔线程".encode()), "musa"),
    (re.compile(rb"\bGaudi"), "hpu"),
)
_DEVICE_WORDS = (  # of which one is in what either of these finds
    *(form % kind for kind in b"npu gcu musa mlu xpu hpu xla".split() for form in (b"_%s", b"-%s", b"%s:", b"'%s'")),
    *b"NPU GCU MUSA MLU XPU HPU Enflame T20 S60 Ascend 910B Gaudi".split(),
    *(b"MTT S", *map(str.encode, ("燧原", "昇腾", "摩尔线程"))),
)
_BEGIN = 120  # bytes of a line in which its rank is looked for
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
    devices: Tuple[str, ...]
    lines: int
    cut: Tuple[int, ...]
    cut_count: int
    problem: str

    @property
    def is_damaged(self) -> bool:
        """Whether the log, or a report in it, could not be read to its end."""
        return bool(self.cut_count or self.problem)


class Outlook(NamedTuple):
    """What the lines of a block may have, as far as literal text tells: what cannot be there is not looked for."""

    patterns: Sequence[Compiled]
    signs: Sequence[Sign]
    is_refused: bool
    is_marked: bool  # with the beginning of a traceback or a summary
    is_retried: bool
    device_words: Sequence[bytes]


class LogReader:
    """Reads one log that comes in pieces, in bounded memory.

    Args:
        name: what to call the log; a path may name the rank.
        patterns: what to look for.
    """

    def __init__(self, name: str, patterns: Sequence[str] = ()) -> None:
        self.name, self.problem = name, ""
        self._patterns = Patterns(patterns)
        self._words = shortest((*_WORDS, *self._patterns.words, _REFUSAL, OURS, *map(squeezed, MARKS)))
        self._plain, self._rank, self._lines = Plain(), rank_of_file(name), LineStream(self._is_wanted)
        self._failures, self._paragraph = FailureReader(name, self._rank), Paragraph()
        self._in_paragraph: Set[str] = set()  # the patterns that were found in it
        self._outlook = Outlook((), (), is_refused=False, is_marked=False, is_retried=False, device_words=())
        self._is_own = False  # whether the line is of what diagnose has written
        self._reports: List[Report] = []
        self._raised: List[Raised] = []
        self._refusals: List[Refusal] = []
        self._sightings: Dict[str, Sighting] = {}
        self._errors: Dict[str, LoggedError] = {}
        self._devices: Set[str] = set()
        self._cut: List[int] = []
        self._cut_count = 0

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        """Read a piece; with the last one a line that is not ended is read, too."""
        for number, line, stays in self._lines.feed(self._plain.feed(piece, last=last), last=last):
            if stays:
                self._failures.read(number, line, may_begin=self._outlook.is_marked)
            self._read(number, line)

    def _is_wanted(self, block: bytes) -> bool:
        tight = squeezed(block)
        if not (self._failures.reads_on or any(map(tight.__contains__, self._words))):
            return False
        # where lines are left out, what stands around them runs on
        has_gaps = self._is_own or OURS in block or may_have_own(block)
        paragraphs = self._paragraph.squeezed + tight
        self._outlook = Outlook(
            patterns=self._patterns.every if has_gaps else self._patterns.marked_in(paragraphs),
            signs=signs_in(block),
            is_refused=has_gaps or _REFUSAL in paragraphs,
            is_marked=any(mark in block for mark in MARKS),
            is_retried=may_be_retried(block),
            device_words=[word for word in _DEVICE_WORDS if word in block],
        )
        return True

    def _read(self, number: int, line: bytes) -> None:
        if OURS in line:
            line = self._read_own(number, line)
        self._is_own = begins_own(line) or (self._is_own and line[:1] == b" ")
        if self._is_own:
            return
        if self._paragraph.add(number, line):
            self._in_paragraph.clear()
        outlook = self._outlook
        if outlook.is_marked and any(mark in line for mark in CHAINED) and self._errors:
            self._errors.popitem()
        if outlook.is_retried and was_retried(line):
            self._withdraw(number - _AGAIN)
        self._match(line)
        self._see(number, line)
        if any(map(line.__contains__, outlook.device_words)):
            self._devices.update(kind.lower().decode() for found in _DEVICE.findall(line) for kind in found if kind)
            self._devices.update(kind for card, kind in _CARDS if card.search(line))

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

    def _match(self, line: bytes) -> None:
        """Note the patterns that the paragraph has with its last line, and had not before."""
        text, numbers = self._paragraph.squeezed, self._paragraph.numbers
        if self._outlook.is_refused and _REFUSAL in text and REFUSAL not in self._in_paragraph:
            self._in_paragraph.add(REFUSAL)
            refusal = Refusal(numbers[0], self._rank_of(line), len(self._reports))
            self._refusals += [refusal] if len(self._refusals) < _KEPT else []
        for pattern in self._outlook.patterns:
            if pattern.text not in self._in_paragraph and pattern.mark in text and pattern.is_in(text):
                self._sight(pattern, self._rank_of(line))

    def _sight(self, pattern: Compiled, rank: Optional[int]) -> None:
        lines = self._paragraph.lines
        joined = b"\n".join(lines)
        at = pattern.place(joined)
        if at < 0:
            return
        self._in_paragraph.add(pattern.text)
        begin = joined.rfind(b"\n", 0, at) + 1
        near = max(begin, at - NEAR)
        if is_source(joined[near:at]) or is_spoken(joined[near : at + NEAR].partition(b"\n")[0]):
            self._in_paragraph.discard(pattern.text)
            return
        known = self._sightings.get(pattern.text)
        ranks = known.ranks if known else ()
        named = rank_of_line(joined[begin:at][:_BEGIN])
        rank = rank if named is None else named
        if rank is not None and rank not in ranks and len(ranks) < _KEPT:
            ranks = (*ranks, rank)
        if known:
            self._sightings[pattern.text] = known._replace(number=known.number + 1, ranks=ranks)
            return
        before = clip(printable_bytes(joined[begin:at]).lstrip(), _SHOWN // 3)  # else the error itself could be cut out
        text = before + clip(printable_bytes(joined[at:].replace(b"\n", b" ")).rstrip(), _SHOWN - width(before))
        number = self._paragraph.numbers[joined.count(b"\n", 0, at)]
        self._sightings[pattern.text] = Sighting(pattern.text, 1, ranks, number, text)

    def _see(self, number: int, line: bytes) -> None:
        """Note the error in a line, and that which a traceback ends in."""
        ended, seen = self._failures.ended, error_in(line, self._outlook.signs)
        if ended and not ended.error.startswith(OF_LAUNCHER):
            self._add_error(EXCEPTION, ended.error, ended.at, number, self._rank_of(line))
        elif seen and not ended and not (seen.kind >= LOGGED and self._failures.reads_on):
            self._add_error(seen.kind, shown(seen.text), "", number, self._rank_of(line))

    def _add_error(self, kind: int, error: str, at: str, number: int, rank: Optional[int]) -> None:
        key = re.sub(r"\d+", "0", error) + at
        known = self._errors.get(key, LoggedError(kind, error, at, number, (), tuple(self._in_paragraph)))
        if error.startswith(OF_LAUNCHER) or (len(self._errors) >= _KEPT and key not in self._errors):
            return
        ranks = known.ranks if rank is None or rank in known.ranks or len(known.ranks) >= _KEPT else (*known.ranks, rank)
        self._errors[key] = known._replace(ranks=ranks)

    def _withdraw(self, line: int) -> None:
        """Forget what was seen from a line on: it was tried again."""
        self._errors = {key: error for key, error in self._errors.items() if error.line < line}
        self._sightings = {text: each for text, each in self._sightings.items() if each.line < line or each.number > 1}
        tracebacks = self._failures.tracebacks
        self._failures.tracebacks = {rank: each for rank, each in tracebacks.items() if each.line < line}

    def log(self) -> Log:
        """What was found so far."""
        return Log(
            name=self.name,
            reports=tuple(self._reports),
            raised=tuple(self._raised),
            refusals=tuple(self._refusals),
            sightings=tuple(self._sightings.values()),
            summaries=tuple(map(tuple, self._failures.summaries)),
            tracebacks=dict(self._failures.tracebacks),
            errors=tuple(self._errors.values()),
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
    return printable(f"reading ended early: {error}")


def _not_read(first: bytes) -> str:
    """Why nothing can be found in a log that begins like this, "" where it can."""
    utf_16 = first.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) and b"\0" in first
    how = packing(first) or ("UTF-16" if utf_16 else "")
    return f"its format is {how}, which is not read: unpack it into a pipe, as plain text" if how else ""


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    read = getattr(stream, "read1", stream.read)  # a pipe gives what it has: progress is shown as it comes
    while piece := read(PIECE):
        yield piece
