"""Which reports belong together: the runs in a set of logs, and the wrappings in each of them. Pure.

A line names its process, so a run ends where a rank comes back as another process. Several logs may hold the same line (one
rank's own log, and that of all ranks): it counts once.
"""

from __future__ import annotations

from time import gmtime, strftime
from typing import Iterable, NamedTuple, Sequence

from patcher.diagnosis.conclusions import Conclusion, Refused, conclude, groups_by, verdict
from patcher.diagnosis.log import Log
from patcher.diagnosis.report import Report


class Wrap(NamedTuple):
    """The reports that the ranks made before the same wrapping, by rank; those without a rank come last.

    `conclusions` are what is wrong about it, `verdicts` has a word for each row.
    """

    number: int
    rows: tuple[Report, ...]
    conclusions: tuple[Conclusion, ...]
    verdicts: tuple[str, ...]


class Run(NamedTuple):
    """One run: its logs, and its wrappings in their order."""

    number: int
    logs: tuple[str, ...]
    time: float | None
    wraps: tuple[Wrap, ...]

    @property
    def when(self) -> str:
        """When it began, in UTC; "" where that is not known."""
        return "" if self.time is None else strftime("%Y-%m-%d %H:%M:%S UTC", gmtime(self.time))


def find_runs(logs: Sequence[Log]) -> tuple[Run, ...]:
    """The runs of some logs, the oldest first, numbered from 1."""
    reports = [report for log in logs for report in log.reports]
    whole = {(report.rank, report.pid) for report in reports if report.sequence is not None}
    once = [
        report
        for report in reports
        if report.sequence is not None or (report.rank, report.pid) not in whole
    ]
    groups = [group for some in groups_by(once, _meeting).values() for group in _by_process(some)]
    groups.sort(key=lambda group: min(report.time or 0 for report in group))
    return tuple(
        _run(number, *pair) for number, pair in enumerate(zip(groups, _refused(logs, groups)), 1)
    )


def _meeting(report: Report) -> object:
    """What the ranks of a run have in common: the port where they meet. A process that is alone is a run of its own."""
    is_alone = not report.run and (report.world_size or 1) < 2
    return (report.host, report.pid, report.rank) if is_alone else report.run


def _run(number: int, group: Sequence[Report], refused: Refused) -> Run:
    rows = groups_by(group, lambda report: report.sequence or 0)
    wraps = tuple(
        _wrap(count, rows[sequence], refused) for count, sequence in enumerate(sorted(rows), 1)
    )
    times = [report.time for report in group if report.time is not None]
    return Run(
        number,
        tuple(dict.fromkeys(report.log for report in group)),
        min(times, default=None),
        wraps,
    )


def _wrap(number: int, reports: Iterable[Report], refused: Refused) -> Wrap:
    rows = tuple(sorted(reports, key=lambda row: (row.rank is None, row.rank or 0)))
    conclusions = conclude(rows, refused)
    return Wrap(number, rows, conclusions, tuple(verdict(row, conclusions) for row in rows))


def _by_process(reports: Iterable[Report]) -> list[list[Report]]:
    """The runs among reports that share a port and a run id: no rank is two processes in one run.

    Where a rank comes back as another process, the new run begins after the longest silence since its first one: a rank
    whose earlier report was lost then goes to the run that it was made in.
    """
    ready = sorted(_processes(reports), key=lambda process: process[0].time or 0)
    times = [process[0].time or 0 for process in ready]
    begins = [0]
    seen: dict[
        int | None, int
    ] = {}  # where in `ready` the process of a rank is, in the run that begins last
    for at, process in enumerate(ready):
        rank = process[0].rank
        if rank is not None and rank in seen:
            begin = max(
                range(at, seen[rank], -1), key=lambda index: times[index] - times[index - 1]
            )
            begins.append(begin)
            seen = {
                process[0].rank: index for index, process in enumerate(ready) if begin <= index < at
            }
        seen[rank] = at
    ends = [*begins[1:], len(ready)]
    return [
        [report for process in ready[begin:end] for report in process]
        for begin, end in zip(begins, ends)
    ]


def _processes(reports: Iterable[Report]) -> list[list[Report]]:
    """The reports of each process in order; a process number that was given anew begins again with sequence 0."""
    processes: list[list[Report]] = []
    current: dict[object, list[Report]] = {}
    for report in sorted(reports, key=lambda report: (report.time or 0, report.sequence or 0)):
        key = (report.rank, report.host, report.pid)
        process = current.get(key)
        if process and process[-1]._replace(log="", line=0) == report._replace(log="", line=0):
            continue
        if process is None or (report.sequence or 0) <= (process[-1].sequence or 0):
            process = current[key] = []
            processes.append(process)
        process.append(report)
    return processes


def _refused(logs: Iterable[Log], groups: Sequence[Sequence[Report]]) -> list[list[int | None]]:
    """The ranks that were refused, for each run: that of the report before the refusal in its log, else the newest."""
    run_of = {(report.log, report.line): at for at, group in enumerate(groups) for report in group}
    refused: list[list[int | None]] = [[] for _ in groups]
    for log in logs:
        for refusal in log.refusals if groups else ():
            before = (
                (log.name, report.line) for report in reversed(log.reports[: refusal.preceding])
            )
            run = next((run_of[place] for place in before if place in run_of), len(groups) - 1)
            refused[run].append(refusal.rank)
    return refused
