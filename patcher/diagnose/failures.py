"""A log -> the failure that torchrun's summary names as the first one, with what that rank's traceback ends in.

Lines are looked at one by one from a mark on, to the end of the traceback or of the summary; the rest is passed over.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, Mapping, Match, NamedTuple, Optional, Sequence, Tuple

from patcher.diagnose.origin import rank_of_line
from patcher.text.printable import printable_bytes
from patcher.text.width import clip

_TRACEBACK = b"Traceback (most recent call last):"
_CHAINED = (b"The above exception was the direct cause of the following", b"During handling of the above exception, another")
_SUMMARY = b"Root Cause (first observed failure):"
_MARKS = (_TRACEBACK, _SUMMARY, *_CHAINED)
_FRAME = re.compile(rb'File \\?"([^"]+?)\\?", line (\d+)(?:, in ([^\s\\]+))?')
_FIELD = re.compile(rb"\b(time|host|rank|exitcode|error_file) *: (\S+?)(?=\\n|\s|$)(?:.* \((SIG\w+)\))?")
_INSTALLED = re.compile(r"-packages/|/lib/python3|^<")  # files of packages, of Python itself, and frozen ones
_LAST_FIELD, _SUMMARY_LINES = b"traceback :", 12
_NONE = "<N/A>"
_OF_LAUNCHER = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError"
_BEGIN = 80  # bytes of a line in which its rank is looked for
_BEFORE = 1024  # bytes of a line before a mark that are kept
_LONGEST = 1 << 16  # bytes of a line
_MOST = 5000  # lines of a traceback
_KEPT = 1000  # ranks of which the last traceback is kept, and summaries
_SHOWN = 300  # columns


class Traceback(NamedTuple):
    """What a traceback ends in: the exception in one line, at `line` of `log`, and the place of the last frame.

    `at` is the last frame that is not in an installed package, if any: "train.py:17 in forward". Both are "" where ranks that
    the log does not name have written different tracebacks.
    """

    log: str
    line: int
    error: str
    at: str

    @property
    def said(self) -> Tuple[str, str]:
        """What several tracebacks of one trouble have in common."""
        return self.error, self.at


class Failure(NamedTuple):
    """What torchrun says of the rank that failed first; what it does not say is "" or None.

    `time` is that of its host, as torchrun writes it. `signal` is the name of that which ended the rank. `error_file` holds
    its exception where the program is made for that (`@record`). `error` and `at` are those of its traceback, and `line` that
    of the error in `log`, else that of the summary. `named` is whether the log says that this traceback is of that rank; else
    it is the only one that there is.
    """

    rank: int
    host: str
    time: str
    exitcode: Optional[int]
    signal: str
    error_file: str
    log: str
    line: int
    error: str = ""
    at: str = ""
    named: bool = True


class _Open:
    """A traceback that is being read: its best frame so far, and the column of its lines once a frame has shown it."""

    def __init__(self, *, in_summary: bool) -> None:
        self.in_summary, self.column = in_summary, -1
        self.at, self._own = "", False

    def add_frame(self, file: str, line: str, name: str) -> None:
        own = not _INSTALLED.search(file)
        if own or not self._own:
            self.at, self._own = f"{file}:{line}" + (f" in {name}" if name else ""), own


class FailureReader:
    """Reads one log that comes in pieces, without colours, in bounded memory.

    Args:
        name: what to call the log.
        rank: the rank whose log it is, if it is that of one.
    """

    def __init__(self, name: str, rank: Optional[int]) -> None:
        self._name, self._rank = name, rank
        self.failures: List[Failure] = []
        self.tracebacks: Dict[Optional[int], Traceback] = {}
        self._held, self._line = b"", 1
        self._open: Dict[Optional[int], _Open] = {}
        self._until = 0  # the line after which no open traceback is read on
        self._summary: Dict[str, str] = {}  # its fields so far; empty where none is being read

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        """Read a piece; with the last one a line that is not ended is read, too."""
        text, at = self._held + piece, 0
        marks = {mark: text.find(mark) for mark in _MARKS}
        while at < len(text):
            if not (self._open or self._summary):
                marks = {mark: text.find(mark, at) if 0 <= found < at else found for mark, found in marks.items()}
                places = [found for found in marks.values() if found >= 0]
                begin = max(at, text.rfind(b"\n", at, min(places, default=len(text))) + 1)
                self._line += text.count(b"\n", at, begin)
                at = begin if places else max(begin, len(text) - _BEFORE)  # a mark may be divided between two pieces
                if not places:
                    break
            end = text.find(b"\n", at) + 1
            if not end and not last and len(text) - at < _LONGEST:
                break
            self._read(text[at : end or len(text)])
            self._line += bool(end)
            at = end or len(text)
        self._held = text[at:]

    def _read(self, line: bytes) -> None:
        line = line.rstrip(b"\r\n").rpartition(b"\r")[2]
        named = rank_of_line(line[:_BEGIN])
        rank = self._rank if named is None else named
        in_summary = self._add_field(line) if self._summary else False
        if self._line > self._until:
            self._open.clear()
        if _SUMMARY in line:
            self._summary = {"line": str(self._line)}
        elif any(mark in line for mark in _CHAINED):
            self.tracebacks.pop(rank, None)
        elif _TRACEBACK in line:
            if rank in self._open or len(self._open) < _KEPT:
                self._open[rank], self._until = _Open(in_summary=in_summary), self._line + _MOST
        elif rank in self._open:
            self._go_on(rank, self._open[rank], line)

    def _go_on(self, rank: Optional[int], traceback: _Open, line: bytes) -> None:
        frame = _FRAME.search(line)
        if frame:
            traceback.column = max(0, frame.start() - 2)
            traceback.add_frame(*_shown_groups(frame))
        elif traceback.column >= 0 and line[traceback.column : traceback.column + 1] not in (b"", b" "):
            error = line[traceback.column :].partition(b'\\n"')[0]  # of a line that docker keeps as a JSON string
            del self._open[rank]
            self._end(rank, Traceback(self._name, self._line, _shown(error), traceback.at), in_summary=traceback.in_summary)

    def _end(self, rank: Optional[int], found: Traceback, *, in_summary: bool) -> None:
        known = self.tracebacks.get(rank)
        if in_summary:
            self.failures[-1] = self.failures[-1]._replace(named=True, **found._asdict())
        elif not found.error.startswith(_OF_LAUNCHER):
            several = rank is None and known and known.said != found.said
            if known or len(self.tracebacks) < _KEPT:
                self.tracebacks[rank] = found._replace(error="", at="") if several else found

    def _add_field(self, line: bytes) -> bool:
        """Take a line of a summary; whether it is the last one, in which the rank's traceback may begin."""
        field = _FIELD.search(line)
        if field:
            name, value, signal = _shown_groups(field)
            self._summary.update({name: value, "signal": signal} if signal else {name: value})
        if _LAST_FIELD not in line and self._line - int(self._summary["line"]) < _SUMMARY_LINES:
            return False
        summary, self._summary = self._summary, {}
        if not re.fullmatch(r"\d{1,7}", summary.get("rank", "")) or len(self.failures) >= _KEPT:
            return False
        code, error_file = summary.get("exitcode", ""), summary.get("error_file", _NONE)
        failure = Failure(
            rank=int(summary["rank"]),
            host=summary.get("host", ""),
            time=summary.get("time", ""),
            exitcode=int(code) if re.fullmatch(r"-?\d{1,9}", code) else None,
            signal=summary.get("signal", ""),
            error_file="" if error_file == _NONE else error_file,
            log=self._name,
            line=int(summary["line"]),
        )
        self.failures.append(_with_traceback(failure, [self.tracebacks]))
        self.tracebacks.pop(failure.rank, None)  # a later run in this log has its own
        self.tracebacks.pop(None, None)
        return True


def first_failures(
    failures: Iterable[Failure], tracebacks: Sequence[Mapping[Optional[int], Traceback]]
) -> Tuple[Failure, ...]:
    """The failures that the summaries in some logs name, the earliest first.

    A traceback that is not in the log of the summary is looked for in the others: torchrun keeps a log of each rank.

    Args:
        failures: those of all logs.
        tracebacks: of each log.
    """
    found = [_with_traceback(each, tracebacks) for each in failures]
    once = {each._replace(log="", line=0): each for each in reversed(found)}  # two logs may hold one summary
    return tuple(sorted(once.values(), key=lambda each: each.time))


def _with_traceback(failure: Failure, tracebacks: Sequence[Mapping[Optional[int], Traceback]]) -> Failure:
    """With the traceback of its rank, else with that of a rank that is not named; without one where there are several."""
    if failure.error or (failure.exitcode or 0) < 0:
        return failure
    for rank in (failure.rank, None):
        found = [of_ranks[rank] for of_ranks in tracebacks if rank in of_ranks]
        if found:
            one = found[0].error and len({each.said for each in found}) == 1
            return failure._replace(named=rank is not None, **found[0]._asdict()) if one else failure
    return failure


def _shown_groups(match: Match[bytes]) -> Tuple[str, ...]:
    return tuple(_shown(group or b"") for group in match.groups())


def _shown(text: bytes) -> str:
    return clip(printable_bytes(text).rstrip(), _SHOWN)
