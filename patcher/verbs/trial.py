"""`diagnose --ranks N`: starts ranks of the environment, says whether they can talk, and reads what they write as any log."""

from __future__ import annotations

import io
from typing import NamedTuple, Sequence

from patcher.diagnosis.files import read_log
from patcher.diagnosis.ranks import FAILED, LATE, EndedRank, Verdict, try_ranks, verdict_on
from patcher.display.styles import Row
from patcher.errors import SitepatchError, UsageError
from patcher.installed.accelerators import installed_accelerators
from patcher.message import Message, joined
from patcher.place import HERE, SILENT, Events, Place
from patcher.system.signals import stoppable
from patcher.verbs.findings import DiagnoseOutcome, KnownSymptoms

_OWN_LAUNCHER = "torch_xla"  # it gives each process all devices


class TrialOutcome(NamedTuple):
    """How each rank ended, the verdict on all of them, and what is known of the errors that they wrote."""

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
    written = (
        [] if verdict.ok else [(f"rank{rank.number}", io.BytesIO(rank.output)) for rank in ranks]
    )
    return TrialOutcome(
        ranks,
        verdict,
        symptoms.outcome([read_log(name, log, symptoms.patterns) for name, log in written]),
    )


def rank_rows(ranks: Sequence[EndedRank], verdict: Verdict) -> list[Row]:
    """A row for each rank, with its last lines where it failed first, or is late in a place where no other one stands."""
    shown, rows = set(), []
    for rank, state in zip(ranks, verdict.states):
        details: tuple[str, ...] = ()
        key = rank.last_calls if state == LATE else state
        if state in (FAILED, LATE) and key not in shown:
            shown.add(key)
            details = tuple(filter(None, rank.last_calls.split("\n")))
        where = Message(
            "{rank.device} by {rank.backend}" if rank.device else "no device yet", rank=rank
        )
        rows.append(
            Row(
                state,
                (Message("rank {number}", number=rank.number), where, _reached(rank)),
                details,
            )
        )
    return rows


def _reached(rank: EndedRank) -> str:
    problem = "" if rank.done else Message("still in {place}", place=rank.place)
    if rank.failure:
        problem = Message("failed in {place}: {why}", place=rank.place, why=rank.failure)
    return joined(
        "; ", [", ".join(f"{name} {seconds:.2f} s" for name, seconds in rank.steps), problem]
    )
