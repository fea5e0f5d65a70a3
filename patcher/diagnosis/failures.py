"""A log -> what torchrun's summaries say of failed ranks, with their tracebacks; who began.

Lines are looked at one by one from a mark on, to the end of the traceback or of the summary; the
rest is passed over. A summary of torch 1.10 and newer has the rank that failed first at its end,
one of torch 1.9 above `Other Failures:`.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Callable, Mapping, Match, Optional, Sequence

from patcher.diagnosis.rank_names import rank_of_line
from patcher.record import Record, reported
from patcher.text.terminal import clip, printable_bytes

# marks --------------------------------------------------------------------------------------------
TRACEBACK = b"Traceback (most recent call last)"  # without the colon in a notebook
CHAINED = (
    b"The above exception was the direct cause of the following",
    b"During handling of the above exception, another",
)
_WATCHDOG = b"Watchdog caught collective operation timeout: Work"
"""Of NCCL, which then ends the rank without a traceback."""
_FIRST = (b"Root Cause (first observed failure):", b"Root Cause:")
_OTHERS = b"Failures:"
_BELOW = b"Other Failures:"
_FRAME_MARK = b'", line '
MARKS = (TRACEBACK, _WATCHDOG, _OTHERS, *_FIRST, *CHAINED, _FRAME_MARK)

# tracebacks ---------------------------------------------------------------------------------------
_FRAME = re.compile(rb'File \\?"([^"]+?)\\?", line (\d+)(?:, in ([^\s\\]+))?')
_RAISED = re.compile(rb"(?:\w+\.)*(?:_*[A-Z]\w*|\w*(?:error|timeout))(?::|\s*$|\\n)")
"""How the line of an exception begins."""
_INSTALLED = re.compile(r"-packages/|/lib/python3|^<")
"""Files of packages, of Python itself, and frozen ones."""
_PACKAGE = "-packages/"
OF_LAUNCHER = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError"
_MOST = 5000  # lines of a traceback
_MOST_CUT = 50  # lines of one whose beginning is not in the log

# summaries ----------------------------------------------------------------------------------------
_FIELD = re.compile(
    rb"\b(time|host|rank|exitcode|error_file|traceback|msg) *: "
    rb"(\S+?)(?=\\n|\s|$)(?:.* \((SIG\w+)\))?"
)
_RECORDED = re.compile(rb"""msg: \\?"\{'message': \\?(["'])(.*?)\\?\1, 'extraInfo': """)
"""An entry of torch 1.9: all that the error file has."""
_LAST_FIELDS = ("traceback", "msg")
_ENTRY = 12  # lines of an entry
_NONE = "<N/A>"

_KEPT = 1000  # ranks of which the last traceback is kept, entries of a summary, and summaries
_AFTER_RAISING = (0, -6, -15)
"""How a rank may end that has raised: by itself, aborted by a library at its exit, by torchrun."""
_SHOWN = 300  # columns
_GRACE = 30  # seconds after which torchrun kills what it has told to end
_WHILE_ENDING = re.compile(r"^KeyboardInterrupt|killed by signal: Terminated")
"""What a rank raises that is being ended."""


class Traceback(Record):
    """What a traceback ends in; of several that are chained it is the first.

    The texts are "" where ranks that the log does not name have written different tracebacks.

    Attributes:
        log: the log with it, else with the summary.
        line: the line of the exception there, else of the summary.
        error: the exception in one line, "" where it is not in the logs.
        at: the last frame that is not in an installed package: "train.py:17 in forward".
        raised_at: the frame of the installed package below it that raised, "" where none did.
    """

    log: str
    line: int
    error: str = ""
    at: str = ""
    raised_at: str = ""

    @property
    def content(self) -> tuple[str, str, str]:
        """What it says, wherever it stands."""
        return self.error, self.at, self.raised_at


Tracebacks = Mapping[Optional[int], Traceback]
"""The last one of each rank; that of None was written by a rank which the log does not name."""


class RankEnd(Record):
    """How a rank ended, as torchrun says it; what it does not say is "" or None.

    Attributes:
        host: where it ran.
        time: when it ended, by the clock of that host, as torchrun writes it.
        exitcode: its exit code.
        signal: the name of the signal that ended it.
        error_file: the file that has its exception, where the program is made for that (`@record`).
    """

    host: str = ""
    time: str = ""
    exitcode: int | None = None
    signal: str = ""
    error_file: str = ""


@reported("rank *ending *traceback named waited late victim")
class FailedRank(Record):
    """A rank that failed.

    The last three are known once the failures of all logs are compared (`first_failures`).

    Attributes:
        rank: its number.
        ending: what torchrun says of it.
        traceback: what its traceback ends in; where there is none, the place of the summary alone.
        named: whether the log says that this traceback is of that rank; else it is the only one
            that there is.
        waited: whether its error says that it waited for other ranks.
        late: those ranks, which stood still as far as is known.
        victim: the rank that torchrun names in its place, which waited for this one.
    """

    rank: int
    ending: RankEnd
    traceback: Traceback
    named: bool = True
    waited: bool = False
    late: tuple[int, ...] = ()
    victim: int | None = None


class _Entry(Record):
    """The entry of a rank: the summary in which it is, and its place there."""

    summary: list[FailedRank]
    position: int


class _OpenTraceback:
    """A traceback that is being read: its frames so far, and the column of its lines."""

    def __init__(self, entry: _Entry | None = None) -> None:
        self.entry = entry  # that of a summary in which it is
        self._column = -1
        self._own = ""
        self._raised = ""
        self._last = ""

    @property
    def at(self) -> str:
        """The last frame of the user's own code, else the last one."""
        return self._own or self._last

    @property
    def raised_at(self) -> str:
        """The last frame of an installed package, if it is below the user's own and another one."""
        return "" if self._raised == self.at else self._raised

    def add_frame(self, frame: Match[bytes]) -> None:
        file, line, name = _shown_groups(frame.groups())
        self._last = f"{file}:{line}"
        if name:
            self._last += f" in {name}"
        if not _INSTALLED.search(file):
            self._own = self._last
            self._raised = ""
        elif _PACKAGE in file:
            self._raised = self._last

    def error_in(self, line: bytes) -> bytes:
        """The exception in its next line, b"" where it goes on."""
        frame = _FRAME.search(line)
        if frame:
            self._column = max(0, frame.start() - 2)
            self.add_frame(frame)
        elif self._column >= 0 and _RAISED.match(line, self._column):
            # of a line that docker keeps as a JSON string
            return line[self._column :].partition(b'\\n"')[0]
        return b""


def places_of_chain(at: str, raised_at: str, later: str) -> tuple[str, str]:
    """Where a chain of exceptions is: the places of the first.

    With the user's own frame from a later one if the first had none.
    """
    if not at or not _INSTALLED.search(at) or _INSTALLED.search(later):
        return at, raised_at
    return later, at if _PACKAGE in at else raised_at


class FailureReader:
    """Reads one log line by line, without colours, in bounded memory.

    Args:
        name: what to call the log.
        rank: the rank whose log it is, if it is that of one.

    Attributes:
        summaries: of each the last failure is the one that torchrun saw first.
        tracebacks: the last one of each rank.
    """

    def __init__(self, name: str, rank: int | None) -> None:
        self.summaries: list[list[FailedRank]] = []
        self.tracebacks: dict[int | None, Traceback] = {}
        self._name = name
        self._rank = rank
        self._line = 1
        self._open: dict[int | None, _OpenTraceback] = {}
        # ranks whose next traceback is raised after the last
        self._chained: set[int | None] = set()
        self._until = 0  # the line after which no open traceback is read on
        self._summary: list[FailedRank] | None = None  # that which is being read
        self._fields: dict[str, str] = {}  # those of the entry that is being read
        self._entry_until = 0
        self._is_first = False  # whether the entry is that of the rank that failed first
        self._ended: list[FailedRank] = []  # the last summary that has its first failure

    @property
    def reads_on(self) -> bool:
        """Whether a traceback or a summary has begun that has not ended."""
        return bool(self._open) or self._summary is not None

    @property
    def places(self) -> dict[int | None, str]:
        """Where the code of each rank is whose traceback has begun and not ended."""
        return {rank: traceback.at for rank, traceback in self._open.items()}

    def read(self, number: int, line: bytes) -> Traceback | None:
        """Read the next line that may matter, the `number`th of the log.

        One of MARKS may begin something there; what has begun may go on.

        Returns:
            The traceback that the line ends, of whichever rank, if it does.
        """
        self._line = number
        marks = [mark for mark in MARKS if mark in line]
        if not marks and not self.reads_on:
            return None
        return self._read(line, min(marks, key=line.find, default=b""))

    def _read(self, line: bytes, mark: bytes) -> Traceback | None:
        """Read a line with the first of its marks, b"" for none."""
        named = rank_of_line(line)
        rank = self._rank if named is None else named
        if self._line > self._until:
            self._open.clear()
        if self._line > self._entry_until:
            self._summary = None
        entry = None if self._summary is None else self._add_field(line, self._summary)
        recorded = _RECORDED.search(line) if entry else None

        if mark == _OTHERS or mark in _FIRST:
            below = _BELOW in line and self._line <= self._entry_until
            self._begin_entries(is_first=mark != _OTHERS, below=below)
        elif mark in CHAINED:
            self._chained.add(rank)
        elif mark == _WATCHDOG:
            return self._end(rank, line[line.index(_WATCHDOG) :], _OpenTraceback())
        elif recorded:  # the whole traceback is in the one line of an entry of torch 1.9
            traceback = _OpenTraceback(entry)
            for frame in _FRAME.finditer(line, recorded.end()):
                traceback.add_frame(frame)
            return self._end(None, recorded.group(2), traceback)
        elif mark == TRACEBACK or (mark and rank not in self._open):
            self._begin_traceback(rank, entry, is_whole=TRACEBACK + b":" in line)
        if mark != TRACEBACK and rank in self._open:
            error = self._open[rank].error_in(line)
            if error:
                return self._end(rank, error, self._open.pop(rank))
        return None

    def _begin_traceback(self, rank: int | None, entry: _Entry | None, *, is_whole: bool) -> None:
        """Begin with the traceback of a rank, of which the beginning may not be in the log."""
        if rank in self._open or len(self._open) < _KEPT:
            self._open[rank] = _OpenTraceback(entry)
            most = _MOST if is_whole else _MOST_CUT
            self._until = max(self._until, self._line + most)

    def _end(self, rank: int | None, error: bytes, traceback: _OpenTraceback) -> Traceback:
        """Keep what a traceback ends in; of several that are chained the first."""
        ended = Traceback(
            log=self._name,
            line=self._line,
            error=shown(error),
            at=traceback.at,
            raised_at=traceback.raised_at,
        )
        known = self.tracebacks.get(rank)
        is_first = known is None or rank not in self._chained
        self._chained.discard(rank)
        if traceback.entry:
            summary, index = traceback.entry
            summary[index] = summary[index]._replace(named=True, traceback=ended)
        elif is_first:
            self._keep(rank, ended)
        elif known:
            own, raised_at = places_of_chain(known.at, known.raised_at, ended.at)
            self.tracebacks[rank] = known._replace(at=own, raised_at=raised_at)
        return ended

    def _keep(self, rank: int | None, ended: Traceback) -> None:
        """Keep the last traceback of a rank; nothing of several that no rank is named for."""
        known = self.tracebacks.get(rank)
        is_full = known is None and len(self.tracebacks) >= _KEPT
        if is_full or ended.error.startswith(OF_LAUNCHER):
            return
        if rank is None and known and known.content != ended.content:
            ended = ended._replace(error="", at="", raised_at="")
        self.tracebacks[rank] = ended

    # summaries ------------------------------------------------------------------------------------
    def _begin_entries(self, *, is_first: bool, below: bool) -> None:
        """Begin with the entries of a summary.

        With those of the rank that failed first (`is_first`), or with others, which may stand
        `below` that one.
        """
        if below:
            self._summary = self._ended
        elif not is_first or self._summary is None or self._summary is self._ended:
            self._summary = []
        self._is_first = is_first
        self._fields = {"line": str(self._line)}
        self._entry_until = self._line + _ENTRY

    def _add_field(self, line: bytes, summary: list[FailedRank]) -> _Entry | None:
        """Take a line of a summary; returns the entry that it ends.

        The rank's traceback may begin in that line.
        """
        field = _FIELD.search(line)
        if not field:
            return None
        name, value, signal = _shown_groups(field.groups())
        self._fields[name] = value
        if signal:
            self._fields["signal"] = signal
        if name not in _LAST_FIELDS:
            return None

        fields = self._fields
        self._fields = {"line": str(self._line)}
        self._entry_until = self._line + (_MOST if TRACEBACK in line else _ENTRY)
        is_full = len(summary) >= _KEPT and not self._is_first
        if is_full or not re.fullmatch(r"\d{1,7}", fields.get("rank", "")):
            return None
        index = len(summary)
        if summary is self._ended:  # which has its first failure at its end
            index -= 1
        summary.insert(index, self._failure(fields))
        if self._is_first:
            self._end_summary(summary)
        return _Entry(summary, index)

    def _failure(self, fields: Mapping[str, str]) -> FailedRank:
        """What the fields of an entry say."""
        code = fields.get("exitcode", "")
        error_file = fields.get("error_file", _NONE)
        ending = RankEnd(
            host=fields.get("host", ""),
            time=fields.get("time", ""),
            exitcode=int(code) if re.fullmatch(r"-?\d{1,9}", code) else None,
            signal=fields.get("signal", ""),
            error_file="" if error_file == _NONE else error_file,
        )
        place = Traceback(self._name, int(fields["line"]))
        return FailedRank(int(fields["rank"]), ending, traceback=place)

    def _end_summary(self, summary: list[FailedRank]) -> None:
        """End a summary that has its first failure: a later run has its own tracebacks."""
        summary[:] = with_tracebacks(summary, [self.tracebacks])
        self.tracebacks.pop(None, None)
        for failure in summary:
            self.tracebacks.pop(failure.rank, None)
        if len(self.summaries) < _KEPT:
            self.summaries.append(summary)
        self._summary = None
        self._ended = summary


def with_tracebacks(
    summary: Sequence[FailedRank], tracebacks: Sequence[Tracebacks]
) -> list[FailedRank]:
    """The failures of a summary, each with the traceback of its rank.

    The first one also with that of a rank without name; without one where there are several. A
    traceback that is not in the log of the summary is looked
    for in the others: torchrun keeps a log of each rank.

    Args:
        summary: as a `FailureReader` has it.
        tracebacks: of each log.
    """
    *others, first = summary
    ended = [_with_traceback(failure, [failure.rank], tracebacks) for failure in others]
    ranks: list[int | None] = [first.rank]
    if (first.ending.exitcode or 0) >= 0:
        ranks.append(None)
    return [*ended, _with_traceback(first, ranks, tracebacks)]


def _with_traceback(
    failure: FailedRank, ranks: Sequence[int | None], tracebacks: Sequence[Tracebacks]
) -> FailedRank:
    """The failure with the traceback of the first of these ranks that has one.

    Without it where logs contradict each other about it.
    """
    if failure.traceback.error or min(failure.ending.exitcode or 0, 0) not in _AFTER_RAISING:
        return failure
    for rank in ranks:
        of_rank = [of_ranks[rank] for of_ranks in tracebacks if rank in of_ranks]
        if of_rank:
            is_one = len({traceback.content for traceback in of_rank}) == 1
            if not is_one or not of_rank[0].error:
                return failure
            return failure._replace(named=rank is not None, traceback=of_rank[0])
    return failure


# who began ----------------------------------------------------------------------------------------
class Meaning(Enum):
    """What an error says of its rank.

    It failed by itself, waited until a time-out or for one that had ended, or neither.
    """

    OWN, TIMED_OUT, PEER_GONE, UNCLEAR = range(4)


def first_failures(
    summaries: Sequence[Sequence[FailedRank]],
    tracebacks: Sequence[Tracebacks],
    meaning: Callable[[str], Meaning],
) -> tuple[FailedRank, ...]:
    """The failures that began what the summaries tell.

    The earliest first, then ranks that waited for one that is not known.

    torchrun names the rank whose end it saw first. Of a run that hangs that is one that waited
    until its time-out; the one that it waited for stands still, or has raised and not ended yet.

    Args:
        summaries: those of all logs, as a `FailureReader` has them.
        tracebacks: of each log.
        meaning: what an error says of its rank.
    """
    elsewhere = _without_summary(summaries, tracebacks)
    causes: list[FailedRank] = []
    for summary in summaries:
        *others, first = with_tracebacks(summary, tracebacks)
        causes += _causes(first, [*others, *elsewhere], meaning)
    # two logs may hold one summary
    once: dict[FailedRank, FailedRank] = {}
    for failure in reversed(causes):
        anywhere = failure.traceback._replace(log="", line=0)
        once[failure._replace(traceback=anywhere)] = failure
    return tuple(sorted(once.values(), key=_order))


def _order(failure: FailedRank) -> tuple[bool, str, str, int]:
    """The earliest first, then those that waited for one that is not known."""
    is_victim = failure.waited and not failure.late
    traceback = failure.traceback
    return is_victim, failure.ending.time, traceback.log, traceback.line


def _without_summary(
    summaries: Sequence[Sequence[FailedRank]], tracebacks: Sequence[Tracebacks]
) -> list[FailedRank]:
    """Ranks with a traceback of which no summary tells: the log of their launcher is not here."""
    told = {failure.rank for summary in summaries for failure in summary}
    silent: set[int] = set()
    for of_ranks in tracebacks:
        silent.update(rank for rank in of_ranks if rank is not None and rank not in told)
    failures = []
    for rank in sorted(silent):
        unseen = FailedRank(rank, RankEnd(), traceback=Traceback("", 0))
        failures.append(_with_traceback(unseen, [rank], tracebacks))
    return failures


def _causes(
    first: FailedRank, others: Sequence[FailedRank], meaning: Callable[[str], Meaning]
) -> list[FailedRank]:
    """Those of the others for which the first one waited; else the first one itself.

    Where several have raised the same, one of them stands for all.
    """
    error = first.traceback.error
    if not error or meaning(error) not in (Meaning.TIMED_OUT, Meaning.PEER_GONE):
        return [first]
    causes: dict[tuple[object, object], FailedRank] = {}
    # backwards: of those that stand for the same the first is kept, where the last is
    for failure in reversed(others):
        if _failed_by_itself(failure, first, meaning):
            key: tuple[object, object] = (failure.ending.signal, failure.ending.exitcode)
            if failure.traceback.error:
                key = (failure.traceback.error, failure.traceback.at)
            causes[key] = failure._replace(victim=first.rank)
    if causes:
        return list(reversed(causes.values()))

    late: list[int] = []
    meanings = [meaning(failure.traceback.error) for failure in (first, *others)]
    if Meaning.TIMED_OUT in meanings:
        for failure in others:
            was_ended = failure.ending.signal == "SIGTERM" or _was_killed_late(failure, first)
            if was_ended and not failure.traceback.error:
                late.append(failure.rank)
    return [first._replace(waited=True, late=tuple(sorted(late)))]


def _failed_by_itself(
    failure: FailedRank, first: FailedRank, meaning: Callable[[str], Meaning]
) -> bool:
    error = failure.traceback.error
    if error:
        return meaning(error) == Meaning.OWN and not _WHILE_ENDING.search(error)
    signal = failure.ending.signal
    if signal:
        is_ended = signal in ("SIGTERM", "SIGABRT", "SIGINT")
        return not is_ended and not _was_killed_late(failure, first)
    # Python ends with 1 after any exception, also of a rank that waited
    return failure.ending.exitcode not in (None, 0, 1)


def _was_killed_late(failure: FailedRank, first: FailedRank) -> bool:
    """Whether torchrun has killed it, half a minute after it had told it to end."""
    if failure.ending.signal != "SIGKILL":
        return False
    try:
        ended = datetime.fromisoformat(failure.ending.time.replace("_", " "))
        seen = datetime.fromisoformat(first.ending.time.replace("_", " "))
    except ValueError:
        return False
    return (ended - seen).total_seconds() > _GRACE / 2


# text ---------------------------------------------------------------------------------------------
@lru_cache(maxsize=1024)
def _shown_groups(groups: tuple[bytes | None, ...]) -> tuple[str, ...]:
    return tuple(shown(group or b"") for group in groups)


def shown(text: bytes) -> str:
    """Text of a log as it may be shown in one line."""
    return clip(printable_bytes(text).rstrip(), _SHOWN)
