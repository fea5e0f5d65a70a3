"""`check`: whether patchsets would apply, in an environment or to releases that are not installed. Reads only."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.model import Answer, Requested
from patcher.ops.events import SILENT, Events
from patcher.ops.place import Place
from patcher.ops.releases.against import check_against, check_releases
from patcher.ops.releases.outcome import Checked, is_absent
from patcher.patchset.sources import find_patchsets
from patcher.project.selection import choose
from patcher.store.retry import settled
from patcher.survey.plans import plan_apply


class CheckRequest(NamedTuple):
    """Check these patchsets, all without names: in the environment, or on the releases of `against` where there are any.

    `against` has versions, ranges, `all` or `newest`; `jobs` is how many releases are fetched at a time.
    """

    place: Place
    names: Sequence[str] = ()
    against: Sequence[str] = ()
    jobs: int = 4


class CheckOutcome(NamedTuple):
    """What would become of the patchsets `requested`.

    `answers` are those of the environment, `releases` those of each patchset on each release; one of the two is empty.
    Without names `absent` are the answers about packages that are not installed, which is no fault then, and `broken` are the
    patchsets, by name, that cannot be read.
    """

    requested: Tuple[Requested, ...]
    answers: Tuple[Answer, ...] = ()
    absent: Tuple[Answer, ...] = ()
    releases: Tuple[Checked, ...] = ()
    broken: Mapping[str, SitepatchError] = {}
    notes: Tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every patchset would apply, or is not needed."""
        failed = any(answer.state.failed for answer in self.answers)
        return not (failed or self.broken or any(one.failed for checked in self.releases for one in checked.outcomes))


def check(request: CheckRequest, events: Events = SILENT) -> CheckOutcome:
    """Find out whether patchsets would apply.

    Raises:
        UsageError: a name or a value of `against` that is none.
        SitepatchError: as `check_releases`; no such environment.
    """
    place = request.place
    every, broken = find_patchsets(place.patch_dirs, Path.cwd())
    known = [one.patchset for one in every]
    check_against(request.against)
    requested, notes = choose(request.names or [one.name for one in known], (), place.patch_dirs)
    outcome = CheckOutcome(tuple(requested), broken={} if request.names else broken, notes=tuple(notes))
    if request.against:
        return outcome._replace(releases=tuple(check_releases(requested, request.against, known, request.jobs, events)))
    return _check_here(outcome, request, events)


def _check_here(outcome: CheckOutcome, request: CheckRequest, events: Events) -> CheckOutcome:
    """Those that are named together, as `apply` would take them, else each by itself."""
    env = request.place.environment()
    events.started(env)
    answers: List[Answer] = []
    notes: Dict[str, None] = {}
    groups = [outcome.requested] if request.names else [(one,) for one in outcome.requested]
    for number, group in enumerate(groups, 1):
        plan = settled(env, partial(plan_apply, env, group))
        answers += plan.answers
        notes.update(dict.fromkeys(plan.notes))
        events.progress(number, len(groups), "patchsets checked")
    absent = tuple(filter(is_absent, answers)) if not request.names else ()
    present = tuple(answer for answer in answers if answer not in absent)
    return outcome._replace(answers=present, absent=absent, notes=(*outcome.notes, *notes))
