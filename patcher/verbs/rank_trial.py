"""`diagnose --ranks N`: starts ranks of the environment, and says whether they can talk.

What they write is read as any log.
"""

from __future__ import annotations

import io
from typing import Sequence

from patcher.diagnosis.files import read_log
from patcher.diagnosis.ranks import FAILED, LATE, EndedRank, Verdict, try_ranks, verdict_on
from patcher.display.styles import Row
from patcher.errors import SitepatchError, UsageError
from patcher.installed.accelerators import installed_accelerators
from patcher.message import Message, joined
from patcher.place import HERE, SILENT, Events, Place
from patcher.record import Record
from patcher.system.signals import stoppable
from patcher.verbs.log_findings import DiagnoseOutcome, KnownSymptoms

_OWN_LAUNCHER = "torch_xla"  # it gives each process all devices


class TrialOutcome(Record):
    """What ranks that were started came to.

    Attributes:
        ranks: how each ended.
        verdict: the verdict on all of them.
        found: what is known of the errors that they wrote.
    """

    ranks: tuple[EndedRank, ...]
    verdict: Verdict
    found: DiagnoseOutcome


def start_ranks(
    size: int,
    *,
    backend: str = "",
    timeout: float = 60.0,
    place: Place = HERE,
    events: Events = SILENT,
) -> TrialOutcome:
    """Start ranks and find out whether they can talk to each other.

    Args:
        size: how many.
        backend: as torch calls it, "" for the one that fits.
        timeout: seconds for all that they do.
        place: the environment.
        events: takes how many of them are done.

    Raises:
        UsageError: no such environment, or one that names no interpreter.
        SitepatchError: its interpreter cannot be started.
    """
    if place.target is not None and place.python is None:
        raise UsageError(
            "--ranks and --target: found no interpreter to start ranks of", "name it with --python"
        )
    env, symptoms = place.environment(), KnownSymptoms(place)
    packages = [accelerator.package for accelerator in installed_accelerators(env)]
    request = {
        "search": env.search,
        "ahead": place.target is not None,
        "backend": backend,
        "vendors": [package for package in packages if package != _OWN_LAUNCHER],
    }
    try:
        with stoppable():
            ranks = try_ranks(env.python, size, request, timeout, events.progress)
    except OSError as error:
        hint = Message("fewer ranks, or see the limit of processes (ulimit -u)")
        raise SitepatchError("ranks could not be started: {error}", hint, error=error) from error

    verdict = verdict_on(ranks, timeout)
    logs = []
    if not verdict.ok:
        for rank in ranks:
            name = f"rank{rank.number}"
            logs.append(read_log(name, io.BytesIO(rank.output), symptoms.patterns))
    return TrialOutcome(ranks, verdict, found=symptoms.outcome(logs))


def rank_rows(ranks: Sequence[EndedRank], verdict: Verdict) -> list[Row]:
    """A row for each rank.

    With its last lines where it failed first, or is late in a place where no other one stands.
    """
    shown: set[str] = set()
    rows = []
    for rank, state in zip(ranks, verdict.states):
        details: list[str] = []
        key = rank.last_calls if state == LATE else state
        if state in (FAILED, LATE) and key not in shown:
            shown.add(key)
            details = [line for line in rank.last_calls.split("\n") if line]
        where = Message("no device yet")
        if rank.device:
            where = Message("{device} by {backend}", device=rank.device, backend=rank.backend)
        cells = (Message("rank {number}", number=rank.number), where, _reached(rank))
        rows.append(Row(state, cells, details=tuple(details)))
    return rows


def _reached(rank: EndedRank) -> str:
    """The steps of a rank, and where it failed or still is."""
    steps = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in rank.steps)
    problem = ""
    if rank.failure:
        problem = Message("failed in {place}: {why}", place=rank.place, why=rank.failure)
    elif not rank.done:
        problem = Message("still in {place}", place=rank.place)
    return joined("; ", [steps, problem])
