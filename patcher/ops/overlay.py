"""What `run --overlay` does before the command: plan as `apply` or `sync` does, write into the cache alone, verify that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Optional, Sequence, Tuple

from patcher.model import FilePlan, Plan
from patcher.ops.change import how_to_verify, note_interrupted
from patcher.ops.outcome import SILENT, Events, Outcome
from patcher.ops.place import Place
from patcher.overlay import make
from patcher.planner.plan import plan_apply, plan_sync
from patcher.project.selection import check_sources, choose
from patcher.store.retry import undisturbed
from patcher.verify.checks import VerifyOptions, VerifySettings, files_to_verify
from patcher.verify.rollback import VerifyOutcome

if TYPE_CHECKING:
    from patcher.model import Requested
    from patcher.project.request import ProjectFiles


class OverlayRequest(NamedTuple):
    """Make an overlay of these patchsets, or of those that a project asks for; see `patcher.ops.change.ApplyRequest`."""

    place: Place
    names: Tuple[str, ...] = ()
    settings: Tuple[str, ...] = ()
    project: Optional[ProjectFiles] = None
    verify: VerifyOptions = VerifyOptions()


def lay(request: OverlayRequest, events: Events = SILENT) -> Outcome:
    """Make an overlay of what a plan would write; nothing else is written.

    Raises:
        LockError: something differs from the lock.
        SitepatchError: what keeps it from making a plan or an overlay.
    """
    place, env = request.place, request.place.environment()
    if request.project is None:
        check_sources(request.names, place.patch_dirs)
        chosen, notes = choose(request.names, request.settings, place.patch_dirs)
        requested, remarks = tuple(chosen), tuple(notes)
    else:
        from patcher.project import lockfile
        from patcher.project.request import read_lock, read_request, refuse_other  # reads TOML: not where names are given

        lock = read_lock(request.project)
        requested, remarks, dirs = read_request(request.project, place.patch_dirs)
        place = place._replace(patch_dirs=dirs)

    def planned() -> Plan:
        if request.project is None:
            return plan_apply(env, requested)
        plan, held = plan_sync(env, requested)
        refuse_other(lock, lockfile.make(requested, held), plan, request.project.lock_path)
        return plan

    how = how_to_verify(place, env, request.verify, [one.patchset for one in requested], events)
    events.started(env)
    note_interrupted(env, events)
    plan = undisturbed(env, planned, dry_run=True)
    outcome = Outcome(place, env, plan, tuple(one.patchset.name for one in requested), requested)
    events.planned(outcome._replace(plan=plan._replace(notes=(*remarks, *plan.notes))))
    files = make.patched(plan)
    if plan.failed or not files:
        return outcome
    folder = make.make(files)
    verified = None if request.verify.no_verify else _verified(files, requested, how, folder)
    return outcome._replace(overlay=folder, verdict=verified)


def _verified(
    files: Sequence[FilePlan], requested: Sequence[Requested], how: VerifySettings, folder: Path
) -> Optional[VerifyOutcome]:
    """How good the overlay is; None where it was verified before, which is not done again but for probes."""
    mark = folder / make.VERIFIED
    if mark.exists() and not how.probes:
        return None
    from patcher.verify.run import verify_files  # with subprocess

    verified = verify_files(files_to_verify(files), [one.patchset for one in requested], how, served=True)
    if how.imports and not verified.failed:
        mark.touch()
    return VerifyOutcome(verified)
