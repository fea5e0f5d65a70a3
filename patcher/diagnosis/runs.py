"""Which reports belong together: the runs in logs, and the wrappings in each of them. Pure.

A line names its process, so a run ends where a rank comes back as another process. Several logs may
hold the same line (one rank's own log, and that of all ranks): it counts once.
"""

from __future__ import annotations

from time import gmtime, strftime
from typing import Iterable, Sequence

from patcher.diagnosis.conclusions import Conclusion, Refused, conclude, groups_by, verdict
from patcher.diagnosis.log import Log
from patcher.diagnosis.report import Report
from patcher.record import Record


class Wrap(Record):
    """The reports that the ranks made before the same wrapping, by rank.

    Those without a rank come last. `conclusions` are what is wrong about it, `verdicts` has a word
    for each row.
    """

    number: int
    rows: tuple[Report, ...]
    conclusions: tuple[Conclusion, ...]
    verdicts: tuple[str, ...]


class Run(Record):
    """One run: its logs, and its wrappings in their order."""

    number: int
    logs: tuple[str, ...]
    time: float | None
    wraps: tuple[Wrap, ...]

    @property
    def when(self) -> str:
        """When it began, in UTC; "" where that is not known."""
        if self.time is None:
            return ""
        return strftime("%Y-%m-%d %H:%M:%S UTC", gmtime(self.time))


def find_runs(logs: Sequence[Log]) -> tuple[Run, ...]:
    """The runs of some logs, the oldest first, numbered from 1."""
    groups: list[list[Report]] = []
    for reports in groups_by(_without_short(logs), _meeting).values():
        groups += _by_process(reports)
    groups.sort(key=lambda group: min(_time(report) for report in group))

    runs = []
    refused = _refused(logs, groups)
    for number, (group, ranks) in enumerate(zip(groups, refused), 1):
        runs.append(_run(number, group, refused=ranks))
    return tuple(runs)


def _without_short(logs: Sequence[Log]) -> list[Report]:
    """The reports, without the short ones of a process that has whole ones."""
    reports: list[Report] = []
    for log in logs:
        reports += log.reports
    processes_with_whole: set[tuple[int | None, int | None]] = set()
    for report in reports:
        if not _is_short(report):
            processes_with_whole.add((report.rank, report.process.pid))

    kept: list[Report] = []
    for report in reports:
        process = (report.rank, report.process.pid)
        if not _is_short(report) or process not in processes_with_whole:
            kept.append(report)
    return kept


def _is_short(report: Report) -> bool:
    return report.place.sequence is None


def _meeting(report: Report) -> object:
    """What the ranks of a run have in common: the port where they meet.

    A process that is alone is a run of its own.
    """
    process = report.process
    is_alone = not process.run and (process.world_size or 1) < 2
    if is_alone:
        return process.host, process.pid, report.rank
    return process.run


def _time(report: Report) -> float:
    return report.place.time or 0


def _sequence(report: Report) -> int:
    return report.place.sequence or 0


def _run(number: int, group: Sequence[Report], *, refused: Refused) -> Run:
    reports_by_sequence = groups_by(group, _sequence)
    wraps: list[Wrap] = []
    for wrap_number, sequence in enumerate(sorted(reports_by_sequence), 1):
        wrap = _wrap(wrap_number, reports_by_sequence[sequence], refused=refused)
        wraps.append(wrap)

    logs: dict[str, None] = {}
    times: list[float] = []
    for report in group:
        logs[report.place.log] = None
        if report.place.time is not None:
            times.append(report.place.time)
    return Run(
        number=number,
        logs=tuple(logs),
        time=min(times, default=None),
        wraps=tuple(wraps),
    )


def _wrap(number: int, reports: Iterable[Report], *, refused: Refused) -> Wrap:
    def by_rank(report: Report) -> tuple[bool, int]:
        return report.rank is None, report.rank or 0

    rows = tuple(sorted(reports, key=by_rank))
    conclusions = conclude(rows, refused)
    return Wrap(
        number=number,
        rows=rows,
        conclusions=conclusions,
        verdicts=tuple(verdict(row, conclusions) for row in rows),
    )


def _by_process(reports: Iterable[Report]) -> list[list[Report]]:
    """The runs among reports that share a port and a run id: no rank is two processes in one run.

    Where a rank comes back as another process, the new run begins after the longest silence since
    its first one: a rank whose earlier report was lost then goes to the run that it was made in.
    """
    processes = sorted(_processes(reports), key=lambda process: _time(process[0]))
    starts = [0]
    index_of: dict[int | None, int] = {}  # of the process of each rank, in the run that begins last
    for index, process in enumerate(processes):
        rank = process[0].rank
        if rank is not None and rank in index_of:
            start = _after_silence(processes, first=index_of[rank], last=index)
            starts.append(start)
            index_of = {}
            for earlier in range(start, index):
                index_of[processes[earlier][0].rank] = earlier
        index_of[rank] = index

    runs: list[list[Report]] = []
    ends = [*starts[1:], len(processes)]
    for start, end in zip(starts, ends):
        run: list[Report] = []
        for process in processes[start:end]:
            run += process
        runs.append(run)
    return runs


def _after_silence(processes: Sequence[Sequence[Report]], *, first: int, last: int) -> int:
    """The process after `first`, up to `last`, before which the longest silence is."""

    def silence(index: int) -> float:
        before = processes[index - 1][0]
        return _time(processes[index][0]) - _time(before)

    return max(range(last, first, -1), key=silence)


def _processes(reports: Iterable[Report]) -> list[list[Report]]:
    """The reports of each process in order.

    A reused process number starts again at sequence 0.
    """

    def by_time(report: Report) -> tuple[float, int]:
        return _time(report), _sequence(report)

    processes: list[list[Report]] = []
    current: dict[object, list[Report]] = {}
    for report in sorted(reports, key=by_time):
        key = (report.rank, report.process.host, report.process.pid)
        process = current.get(key)
        if process and process[-1].facts == report.facts:
            continue
        if process is None or _sequence(report) <= _sequence(process[-1]):
            process = current[key] = []
            processes.append(process)
        process.append(report)
    return processes


def _refused(logs: Iterable[Log], groups: Sequence[Sequence[Report]]) -> list[list[int | None]]:
    """The ranks that were refused, for each run.

    The run is that of the report before the refusal in its log, else the newest.
    """
    refused: list[list[int | None]] = [[] for _ in groups]
    if not groups:
        return refused
    run_of: dict[tuple[str, int], int] = {}
    for index, group in enumerate(groups):
        for report in group:
            run_of[report.place.log, report.place.line] = index

    newest = len(groups) - 1
    for log in logs:
        for refusal in log.refusals:
            run = newest
            for report in reversed(log.reports[: refusal.preceding]):
                place = (log.name, report.place.line)
                if place in run_of:
                    run = run_of[place]
                    break
            refused[run].append(refusal.rank)
    return refused
