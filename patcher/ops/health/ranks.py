"""`diagnose --ranks N`: starts ranks of the environment, and reads what they write as any log."""

from __future__ import annotations

import io
from typing import NamedTuple, Tuple

from patcher.diagnose.log import read_log
from patcher.diagnose.rank import VENDORS
from patcher.errors import SitepatchError, UsageError
from patcher.message import Message
from patcher.ops.diagnose import DiagnoseOutcome, KnownSymptoms
from patcher.ranks.start import EndedRank, TrialRequest, try_ranks
from patcher.ranks.verdict import Verdict, verdict_on
from patcher.system.signals import stoppable
from patcher.verbs.place import SILENT, Events, Place

_VENDORS = tuple(name for name in VENDORS if name != "torch_xla")  # which gives each process all devices, by its own launcher


class RanksRequest(NamedTuple):
    """Start `size` ranks, by this backend ("": the one that fits); `timeout` is in seconds, for all that they do."""

    place: Place
    size: int
    backend: str = ""
    timeout: float = 60.0


class RanksOutcome(NamedTuple):
    """How each rank ended, the verdict on all of them, and what is known of the errors that they wrote."""

    ranks: Tuple[EndedRank, ...]
    verdict: Verdict
    found: DiagnoseOutcome


def diagnose_ranks(request: RanksRequest, events: Events = SILENT) -> RanksOutcome:
    """Start ranks and find out whether they can talk to each other; `events` takes how many of them are done.

    Raises:
        UsageError: no such environment, or one that names no interpreter.
        SitepatchError: its interpreter cannot be started.
    """
    place = request.place
    if place.target is not None and place.python is None:
        raise UsageError("--ranks and --target: found no interpreter to start ranks of", "name it with --python")
    env, known = place.environment(), KnownSymptoms(place)
    ahead = place.target is not None
    trial = TrialRequest(env.python, env.search, ahead, request.size, request.backend, _VENDORS, request.timeout)
    try:
        with stoppable():
            ranks = try_ranks(trial, events.progress)
    except OSError as error:
        raise SitepatchError(
            "ranks could not be started: {error}",
            Message("fewer ranks, or see the limit of processes (ulimit -u)"),
            error=error,
        ) from error
    verdict = verdict_on(ranks, request.timeout)
    written = [] if verdict.ok else [(f"rank{one.number}", io.BytesIO(one.output)) for one in ranks]
    return RanksOutcome(ranks, verdict, known.outcome([read_log(name, text, known.patterns) for name, text in written]))
