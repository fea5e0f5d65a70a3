"""`run --overlay`: plan as `apply` or `sync` does, write into the cache alone, verify what was written there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Optional, Sequence, Union

from patcher.facts import Wanted
from patcher.model import FilePlan, Plan
from patcher.ops.change import note_interrupted, requested_patchsets, verify_settings
from patcher.ops.events import SILENT, Events
from patcher.ops.outcome import ApplyRequest, Outcome
from patcher.overlay import make
from patcher.planner.survey import make_plan
from patcher.store.retry import retry, settled
from patcher.verify import PROBE, Verified, VerifySettings

if TYPE_CHECKING:
    from patcher.model import Requested
    from patcher.ops.project import SyncRequest


def make_overlay(request: Union[ApplyRequest, SyncRequest], events: Events = SILENT) -> Outcome:
    """Make an overlay of what `apply` or `sync` would write; nothing else is written.

    Args:
        request: what to apply; its `dry_run` and `force` are not looked at.
        events: takes the plan, and what is done.

    Raises:
        LockError: something differs from the lock.
        SitepatchError: what keeps it from making a plan or an overlay.
    """
    place, env = request.place, request.place.environment()
    if isinstance(request, ApplyRequest):
        chosen, shadows = requested_patchsets(request)
        requested, notes = tuple(chosen), tuple(shadows)
    else:
        from patcher.ops.project import refuse_other
        from patcher.project.request import read_request  # reads TOML: not where names are given

        asked_for = read_request(request.project, place.patch_dirs)
        requested, notes = asked_for.patchsets, asked_for.notes
        place = place._replace(patch_dirs=asked_for.patch_dirs)

    def planned() -> Plan:
        if isinstance(request, ApplyRequest):
            return make_plan(env, Wanted(requested))
        plan = make_plan(env, Wanted(requested, None))
        refuse_other(request.project, asked_for, plan, events)
        return plan

    how = verify_settings(request.place, env, request.verify, [one.patchset for one in requested], events)
    events.started(env, requested)
    note_interrupted(env, events)

    def make_one() -> Outcome:
        plan = settled(env, planned)
        plan = plan._replace(notes=(*notes, *plan.notes))
        outcome = Outcome(place, env, plan, tuple(one.patchset.name for one in requested), requested)
        files = make.overlay_files(plan)
        return outcome if plan.failed or not files else outcome._replace(overlay=make.write_overlay(files))

    outcome = retry(make_one, events.note)
    events.planned(outcome)
    if not outcome.overlay or not how:
        return outcome
    return outcome._replace(verified=_verified(make.overlay_files(outcome.plan), requested, how, outcome.overlay))


def _verified(
    files: Sequence[FilePlan], requested: Sequence[Requested], how: VerifySettings, folder: Path
) -> Optional[Verified]:
    """The outcome of verifying the overlay; None where it was verified before, which is not repeated but for probes."""
    mark = folder / make.VERIFIED
    if mark.exists() and how.how != PROBE:
        return None
    from patcher.verify.run import verify_files  # with subprocess

    verified = verify_files(files, [one.patchset for one in requested], how, in_memory=True)
    if how.imports and not verified.failed:
        mark.touch()
    return verified
