"""A log -> what torchrun's summaries say of the ranks that failed, with what the traceback of each ends in; who began.

Lines are looked at one by one from a mark on, to the end of the traceback or of the summary; the rest is passed over.
A summary of torch 1.10 and newer has the rank that failed first at its end, one of torch 1.9 above `Other Failures:`.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Callable, Mapping, Match, NamedTuple, Optional, Sequence

from patcher.diagnosis.words import rank_of_line
from patcher.text.terminal import clip, printable_bytes

TRACEBACK = b"Traceback (most recent call last)"  # without the colon in a notebook
CHAINED = (
    b"The above exception was the direct cause of the following",
    b"During handling of the above exception, another",
)
_WATCHDOG = b"Watchdog caught collective operation timeout: Work"  # of NCCL, which then ends the rank without a traceback
_FIRST, _OTHERS = (b"Root Cause (first observed failure):", b"Root Cause:"), b"Failures:"
_BELOW = b"Other Failures:"
_FRAME_MARK = b'", line '
MARKS = (TRACEBACK, _WATCHDOG, _OTHERS, *_FIRST, *CHAINED, _FRAME_MARK)
_FRAME = re.compile(rb'File \\?"([^"]+?)\\?", line (\d+)(?:, in ([^\s\\]+))?')
_FIELD = re.compile(
    rb"\b(time|host|rank|exitcode|error_file|traceback|msg) *: (\S+?)(?=\\n|\s|$)(?:.* \((SIG\w+)\))?"
)
_RECORDED = re.compile(  # torch 1.9: all that the error file has
    rb"""msg: \\?"\{'message': \\?(["'])(.*?)\\?\1, 'extraInfo': """
)
_INSTALLED = re.compile(
    r"-packages/|/lib/python3|^<"
)  # files of packages, of Python itself, and frozen ones
_PACKAGE = "-packages/"
_LAST_FIELDS, _ENTRY = ("traceback", "msg"), 12  # lines of an entry
_NONE = "<N/A>"
OF_LAUNCHER = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError"
# how the line of an exception begins
_RAISED = re.compile(rb"(?:\w+\.)*(?:_*[A-Z]\w*|\w*(?:error|timeout))(?::|\s*$|\\n)")
_MOST, _CUT = 5000, 50  # lines of a traceback, and of one whose beginning is not in the log
_KEPT = 1000  # ranks of which the last traceback is kept, entries of a summary, and summaries
# how a rank may end that has raised: by itself, aborted by a library at its exit, by torchrun
_AFTER_RAISING = (
    0,
    -6,
    -15,
)
_SHOWN = 300  # columns
_GRACE = 30  # seconds after which torchrun kills what it has told to end
# what a rank raises that is being ended
_WHILE_ENDING = re.compile(r"^KeyboardInterrupt|killed by signal: Terminated")


class Traceback(NamedTuple):
    """What a traceback ends in, of several that are chained the first: the exception in one line, at `line` of `log`.

    `at` is the last frame that is not in an installed package, if any: "train.py:17 in forward". `raised_at` is that of the
    installed package below it which raised, "" where none did. All are "" where ranks that the log does not name have written
    different tracebacks.
    """

    log: str
    line: int
    error: str
    at: str
    raised_at: str = ""


Tracebacks = Mapping[Optional[int], Traceback]
"""The last one of each rank; that of None was written by a rank which the log does not name."""


class Failure(NamedTuple):
    """What torchrun says of a rank that failed; what it does not say is "" or None.

    `time` is that of its host, as torchrun writes it. `signal` is the name of that which ended the rank. `error_file` holds
    its exception where the program is made for that (`@record`). `error`, `at` and `raised_at` are those of its traceback,
    and `line` that of the error in `log`, else that of the summary. `named` is whether the log says that this traceback is of
    that rank; else it is the only one that there is.

    The rest is known once the failures of all logs are compared (`first_failures`). `waited`: its error says that it waited
    for other ranks; `late`: for these, which stood still as far as is known. `victim`: the rank that torchrun names in its
    place, which waited for this one.
    """

    rank: int
    host: str
    time: str
    exitcode: int | None
    signal: str
    error_file: str
    log: str
    line: int
    error: str = ""
    at: str = ""
    raised_at: str = ""
    named: bool = True
    waited: bool = False
    late: tuple[int, ...] = ()
    victim: int | None = None


class _Open:
    """A traceback that is being read: its frames so far, and the column of its lines once one of them has shown it."""

    def __init__(self, entry: tuple[list[Failure], int] | None = None) -> None:
        self.entry = entry  # the summary in which it is, and the place of its rank there
        self._column = -1
        self._own, self._raised, self._last = "", "", ""

    @property
    def at(self) -> str:
        """The last frame of the user's own code, else the last one."""
        return self._own or self._last

    @property
    def raised_at(self) -> str:
        """The last frame of an installed package, if it is below the user's own and not told anyway."""
        return "" if self._raised == self.at else self._raised

    def add_frame(self, frame: Match[bytes]) -> None:
        file, line, name = _shown_groups(frame.groups())
        self._last = f"{file}:{line}" + (f" in {name}" if name else "")
        if not _INSTALLED.search(file):
            self._own, self._raised = self._last, ""
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
    """Where a chain of exceptions is: the places of the first, with the user's own frame from a later one if it had none."""
    if not at or not _INSTALLED.search(at) or _INSTALLED.search(later):
        return at, raised_at
    return later, at if _PACKAGE in at else raised_at


class FailureReader:
    """Reads one log line by line, without colours, in bounded memory.

    Args:
        name: what to call the log.
        rank: the rank whose log it is, if it is that of one.
    """

    def __init__(self, name: str, rank: int | None) -> None:
        self._name, self._rank = name, rank
        self.summaries: list[
            list[Failure]
        ] = []  # of each the last is the one that torchrun saw first
        self.tracebacks: dict[int | None, Traceback] = {}
        self._line = 1
        self._open: dict[int | None, _Open] = {}
        self._chained: set[int | None] = (
            set()
        )  # ranks whose next traceback is raised after the last
        self._until = 0  # the line after which no open traceback is read on
        self._summary: list[Failure] | None = None  # that which is being read
        self._fields: dict[str, str] = {}  # those of the entry that is being read
        self._entry_until, self._is_first = 0, False
        self._ended: list[Failure] = []  # the last summary that has its first failure

    @property
    def reads_on(self) -> bool:
        """Whether a traceback or a summary has begun that has not ended."""
        return bool(self._open) or self._summary is not None

    @property
    def places(self) -> dict[int | None, str]:
        """Where the code of each rank is whose traceback has begun and not ended."""
        return {rank: traceback.at for rank, traceback in self._open.items()}

    def read(self, number: int, line: bytes) -> Traceback | None:
        """Read the next line that may matter, the `number`th of the log: what of MARKS has begun, and what goes on.

        Returns:
            the traceback that the line ends, of whichever rank, if it does.
        """
        self._line = number
        marks = [mark for mark in MARKS if mark in line]
        return (
            self._read(line, min(marks, key=line.find, default=b""))
            if marks or self.reads_on
            else None
        )

    def _read(self, line: bytes, mark: bytes) -> Traceback | None:
        named = rank_of_line(line)
        rank = self._rank if named is None else named
        if self._line > self._until:
            self._open.clear()
        if self._line > self._entry_until:
            self._summary = None
        entry = None if self._summary is None else self._add_field(line, self._summary)
        recorded = _RECORDED.search(line) if entry else None
        if mark == _OTHERS or mark in _FIRST:
            self._begin_entries(
                is_first=mark != _OTHERS, below=_BELOW in line and self._line <= self._entry_until
            )
        elif mark in CHAINED:
            self._chained.add(rank)
        elif mark == _WATCHDOG:
            return self._end(rank, line[line.index(_WATCHDOG) :], _Open())
        elif recorded:  # the whole traceback is in the one line of an entry of torch 1.9
            traceback = _Open(entry)
            for frame in _FRAME.finditer(line, recorded.end()):
                traceback.add_frame(frame)
            return self._end(None, recorded.group(2), traceback)
        elif (mark == TRACEBACK or (mark and rank not in self._open)) and (
            rank in self._open or len(self._open) < _KEPT
        ):
            self._open[rank] = _Open(entry)
            self._until = max(
                self._until, self._line + (_MOST if TRACEBACK + b":" in line else _CUT)
            )
        if mark != TRACEBACK and rank in self._open:
            error = self._open[rank].error_in(line)
            return self._end(rank, error, self._open.pop(rank)) if error else None
        return None

    def _end(self, rank: int | None, error: bytes, traceback: _Open) -> Traceback:
        ended = Traceback(self._name, self._line, shown(error), traceback.at, traceback.raised_at)
        known = self.tracebacks.get(rank)
        is_first = rank not in self._chained or known is None
        self._chained.discard(rank)
        if traceback.entry:
            summary, at = traceback.entry
            summary[at] = summary[at]._replace(named=True, **ended._asdict())
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
        if rank is None and known and known[2:] != ended[2:]:
            ended = ended._replace(error="", at="", raised_at="")
        self.tracebacks[rank] = ended

    # summaries --------------------------------------------------------------------------------------------------------
    def _begin_entries(self, *, is_first: bool, below: bool) -> None:
        """Begin with a summary, with that part of it which has the rank that failed first, or with one `below` that."""
        begun = self._summary if is_first and self._summary is not self._ended else None
        self._summary = self._ended if below else begun or []
        self._fields, self._is_first, self._entry_until = (
            {"line": str(self._line)},
            is_first,
            self._line + _ENTRY,
        )

    def _add_field(self, line: bytes, summary: list[Failure]) -> tuple[list[Failure], int] | None:
        """Take a line of a summary; with the last one of an entry its place, as the rank's traceback may begin there."""
        field = _FIELD.search(line)
        if not field:
            return None
        name, value, signal = _shown_groups(field.groups())
        self._fields.update({name: value, "signal": signal} if signal else {name: value})
        if name not in _LAST_FIELDS:
            return None
        fields, self._fields = self._fields, {"line": str(self._line)}
        self._entry_until = self._line + (_MOST if TRACEBACK in line else _ENTRY)
        if not re.fullmatch(r"\d{1,7}", fields.get("rank", "")) or (
            len(summary) >= _KEPT and not self._is_first
        ):
            return None
        code, error_file = fields.get("exitcode", ""), fields.get("error_file", _NONE)
        failure = Failure(
            rank=int(fields["rank"]),
            host=fields.get("host", ""),
            time=fields.get("time", ""),
            exitcode=int(code) if re.fullmatch(r"-?\d{1,9}", code) else None,
            signal=fields.get("signal", ""),
            error_file="" if error_file == _NONE else error_file,
            log=self._name,
            line=int(fields["line"]),
        )
        at = len(summary) - (summary is self._ended)
        summary.insert(at, failure)
        if self._is_first:
            self._end_summary(summary)
        return summary, at

    def _end_summary(self, summary: list[Failure]) -> None:
        summary[:] = with_tracebacks(summary, [self.tracebacks])
        # a later run in this log has its own
        for rank in (
            None,
            *(failure.rank for failure in summary),
        ):
            self.tracebacks.pop(rank, None)
        if len(self.summaries) < _KEPT:
            self.summaries.append(summary)
        self._summary, self._ended = None, summary


def with_tracebacks(summary: Sequence[Failure], tracebacks: Sequence[Tracebacks]) -> list[Failure]:
    """The failures of a summary, each with the traceback of its rank; the first one also with that of a rank without name.

    Without one where there are several. A traceback that is not in the log of the summary is looked for in the others:
    torchrun keeps a log of each rank.

    Args:
        summary: as a `FailureReader` has it.
        tracebacks: of each log.
    """
    *others, first = summary
    unnamed = () if (first.exitcode or 0) < 0 else (None,)
    ended = [_with_traceback(failure, (failure.rank,), tracebacks) for failure in others]
    return [*ended, _with_traceback(first, (first.rank, *unnamed), tracebacks)]


def _with_traceback(
    failure: Failure, ranks: Sequence[int | None], tracebacks: Sequence[Tracebacks]
) -> Failure:
    """The failure with the traceback of the first of these ranks that has one, unless logs contradict each other about it."""
    if failure.error or min(failure.exitcode or 0, 0) not in _AFTER_RAISING:
        return failure
    rank = next((rank for rank in ranks if any(rank in of_ranks for of_ranks in tracebacks)), -1)
    of_rank = [of_ranks[rank] for of_ranks in tracebacks if rank in of_ranks]
    if not of_rank or not of_rank[0].error or len({traceback[2:] for traceback in of_rank}) > 1:
        return failure
    return failure._replace(named=rank is not None, **of_rank[0]._asdict())


# who began ------------------------------------------------------------------------------------------------------------
class Meaning(Enum):
    """What an error says of its rank: it failed by itself, waited until a time-out or for one that had ended, or neither."""

    OWN, TIMED_OUT, PEER_GONE, UNCLEAR = range(4)


def first_failures(
    summaries: Sequence[Sequence[Failure]],
    tracebacks: Sequence[Tracebacks],
    meaning: Callable[[str], Meaning],
) -> tuple[Failure, ...]:
    """The failures that began what the summaries tell: the earliest first, then ranks that waited for one that is not known.

    torchrun names the rank whose end it saw first. Of a run that hangs that is one that waited until its time-out; the one
    that it waited for stands still, or has raised and not ended yet.

    Args:
        summaries: those of all logs, as a `FailureReader` has them.
        tracebacks: of each log.
        meaning: what an error says of its rank.
    """
    told = {failure.rank for summary in summaries for failure in summary}
    silent = {rank for of_ranks in tracebacks for rank in of_ranks if rank is not None} - told
    unseen = Failure(0, host="", time="", exitcode=None, signal="", error_file="", log="", line=0)
    # ranks with a traceback of which no summary tells: those of a machine of which the launcher's log is not here
    elsewhere = [
        _with_traceback(unseen._replace(rank=rank), (rank,), tracebacks) for rank in sorted(silent)
    ]
    causes: list[Failure] = []
    for summary in summaries:
        *others, first = with_tracebacks(summary, tracebacks)
        causes += _causes(first, [*others, *elsewhere], meaning)
    # two logs may hold one summary
    once = {failure._replace(log="", line=0): failure for failure in reversed(causes)}
    return tuple(
        sorted(
            once.values(),
            key=lambda each: (each.waited and not each.late, each.time, each.log, each.line),
        )
    )


def _causes(
    first: Failure, others: Sequence[Failure], meaning: Callable[[str], Meaning]
) -> list[Failure]:
    """Those of the others for which the first one waited; else the first one itself.

    Where several have raised the same, one of them stands for all.
    """
    if not first.error or meaning(first.error) not in (Meaning.TIMED_OUT, Meaning.PEER_GONE):
        return [first]
    own = [failure for failure in others if _failed_by_itself(failure, first, meaning)]
    if own:
        causes = {
            (each.error, each.at) if each.error else (each.signal, each.exitcode): each
            for each in reversed(own)
        }
        return [failure._replace(victim=first.rank) for failure in reversed(list(causes.values()))]
    timed_out = any(meaning(failure.error) == Meaning.TIMED_OUT for failure in (first, *others))
    silent = [failure for failure in others if not failure.error]
    late = [
        failure.rank
        for failure in silent
        if failure.signal == "SIGTERM" or _was_killed_late(failure, first)
    ]
    return [first._replace(waited=True, late=tuple(sorted(late)) if timed_out else ())]


def _failed_by_itself(failure: Failure, first: Failure, meaning: Callable[[str], Meaning]) -> bool:
    if failure.error:
        return meaning(failure.error) == Meaning.OWN and not _WHILE_ENDING.search(failure.error)
    if failure.signal:
        return failure.signal not in ("SIGTERM", "SIGABRT", "SIGINT") and not _was_killed_late(
            failure, first
        )
    # Python ends with 1 after any exception, also of a rank that waited
    return failure.exitcode not in (
        None,
        0,
        1,
    )


def _was_killed_late(failure: Failure, first: Failure) -> bool:
    """Whether torchrun has killed it, half a minute after it had told it to end."""
    if failure.signal != "SIGKILL":
        return False
    try:
        ended, seen = (
            datetime.fromisoformat(each.time.replace("_", " ")) for each in (failure, first)
        )
    except ValueError:
        return False
    return (ended - seen).total_seconds() > _GRACE / 2


@lru_cache(maxsize=1024)
def _shown_groups(groups: tuple[bytes | None, ...]) -> tuple[str, ...]:
    return tuple(shown(group or b"") for group in groups)


def shown(text: bytes) -> str:
    """Text of a log as it may be shown in one line."""
    return clip(printable_bytes(text).rstrip(), _SHOWN)
