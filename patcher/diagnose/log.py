"""Logs as streams of bytes -> what is in them: reports of the patchset mmengine-ddp-debug, and lines that match patterns.

A log may be anything: lines of many ranks, prefixes before ours (`[rank0]:`, timestamps), colours, CRLF, two of our
lines run together, one line of gigabytes, bytes of no encoding, the JSON strings in which docker keeps a log. It is read in
pieces, and only what is looked for is kept.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from typing import BinaryIO, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from patcher.diagnose.failures import Failure, FailureReader, Traceback
from patcher.diagnose.origin import rank_of_file, rank_of_line
from patcher.diagnose.packed import DAMAGE, packing, unpacked
from patcher.diagnose.patterns import LIMIT, MarkedLine, Marks, Patterns, Plain
from patcher.diagnose.report import OURS, REFUSAL, Raised, Report, decode_line, read_raised, read_report
from patcher.text.printable import printable, printable_bytes
from patcher.text.width import clip, width

_REFUSAL = REFUSAL.encode()
PIECE = 1 << 20
_LONGEST = 1 << 18  # bytes of one of our lines; the helper keeps it below 4096, its first version did not
_EVENT = re.compile(OURS + rb' \{\\?"schema\\?": \d+, \\?"event')
_KEPT = 1000  # how many cut lines, refusals and ranks of a sighting are kept; all but these are counted
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


class Log(NamedTuple):
    """What one log has. `cut` are the line numbers of reports that end too early (of the first thousand), `lines` all lines.

    `raised` is what wrappings raised, as mmengine-ddp-debug reported it; `summaries` and `tracebacks`: see `FailureReader`.

    `problem` says why reading ended before the end of the log, else it is "".
    """

    name: str
    reports: Tuple[Report, ...]
    raised: Tuple[Raised, ...]
    refusals: Tuple[Refusal, ...]
    sightings: Tuple[Sighting, ...]
    summaries: Tuple[Tuple[Failure, ...], ...]
    tracebacks: Mapping[Optional[int], Traceback]
    lines: int
    cut: Tuple[int, ...]
    cut_count: int
    problem: str

    @property
    def is_damaged(self) -> bool:
        """Whether the log, or a report in it, could not be read to its end."""
        return bool(self.cut_count or self.problem)


class LogReader:
    """Reads one log that comes in pieces, in bounded memory.

    Args:
        name: what to call the log; a path may name the rank.
        patterns: what to look for.
    """

    def __init__(self, name: str, patterns: Sequence[str] = ()) -> None:
        self.name, self.problem = name, ""
        self._patterns = Patterns(patterns)
        limits = {OURS: _LONGEST, _REFUSAL: LIMIT, **self._patterns.marks}
        self._marks = Marks(limits, (OURS,))
        self._plain, self._rank = Plain(), rank_of_file(name)
        self._failures = FailureReader(name, self._rank)
        self._reports: List[Report] = []
        self._raised: List[Raised] = []
        self._refusals: List[Refusal] = []
        self._sightings: Dict[str, Sighting] = {}
        self._cut: List[int] = []
        self._cut_count = 0

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        """Read a piece; with the last one a line that is not ended is read, too."""
        text = self._plain.feed(piece, last=last)
        self._failures.feed(text, last=last)
        for place in self._marks.feed(text, last=last):
            if place.mark == OURS:
                self._report(place)
                continue
            if _EVENT.search(place.before):  # what was raised: the line before it, for people, has it too
                continue
            rank = rank_of_line(place.before)
            rank = self._rank if rank is None else rank
            if place.mark == _REFUSAL and len(self._refusals) < _KEPT:
                self._refusals.append(Refusal(place.line, rank, len(self._reports)))
            for pattern in self._patterns.matching(place):
                self._sighted(pattern, rank, place)

    def _report(self, place: MarkedLine) -> None:
        facts = decode_line(place.text)
        if facts is None:
            return
        report, raised = read_report(place.line, facts), read_raised(place.line, facts)
        if report:
            self._reports.append(report)
        elif raised:
            self._raised += [raised] if len(self._raised) < _KEPT else []
        else:
            self._cut_count += 1
            self._cut += [place.line] if len(self._cut) < _KEPT else []

    def _sighted(self, pattern: str, rank: Optional[int], place: MarkedLine) -> None:
        known = self._sightings.get(pattern)
        ranks = known.ranks if known else ()
        if rank is not None and rank not in ranks and len(ranks) < _KEPT:
            ranks = (*ranks, rank)
        if known:
            self._sightings[pattern] = known._replace(number=known.number + 1, ranks=ranks)
            return
        before = clip(printable_bytes(place.before).lstrip(), _SHOWN // 3)  # else the mark could be cut out
        shown = before + clip(printable_bytes(place.text).rstrip(), _SHOWN - width(before))
        self._sightings[pattern] = Sighting(pattern, 1, ranks, place.line, shown)

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
            lines=self._marks.lines,
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
