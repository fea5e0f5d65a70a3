"""`run --overlay`: patchsets are laid over an environment, which stays as it is."""

from __future__ import annotations

from pathlib import Path

from patcher.display.console import Console
from patcher.display.plan import failures, show_plan
from patcher.display.styles import Row
from patcher.display.verified import verified_rows
from patcher.facts import Wanted
from patcher.message import Message
from patcher.outcomes import PlanOutcome, Task
from patcher.overlay.make import VERIFIED, overlay_files, search_path, write_overlay
from patcher.patchset.selection import choose
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.survey import make_plan
from patcher.project.request import ProjectFiles, ProjectRequest, read_request
from patcher.record import reported
from patcher.store.retry import retry, settled
from patcher.text.listed import Texts, count
from patcher.verbs.change import note_interrupted
from patcher.verbs.verification import run_verification, verify_settings
from patcher.verify import IMPORT, PROBE, Verified, VerifySettings


@reported("overlay", beside=PlanOutcome)
class OverlayOutcome(PlanOutcome):
    """The outcome of `run --overlay`.

    Attributes:
        overlay: the folder of the overlay, null where there is nothing to patch.
    """

    overlay: Path | None = None


def make_overlay(
    names: Texts = (),
    settings: Texts = (),
    *,
    project: ProjectFiles | None = None,
    place: Place = HERE,
    verify: str = IMPORT,
    events: Events = SILENT,
) -> OverlayOutcome:
    """Make an overlay of what `apply` of these names, or `sync` of a project, would write.

    Nothing else is written.

    Raises:
        SitepatchError: what keeps it from making a plan or an overlay.
    """
    env = place.environment()
    request = _request(names, settings, project=project, place=place)
    patchsets = [item.patchset for item in request.patchsets]
    verification = verify_settings(place, env, verify, patchsets, events=events)
    events.started(env, request.patchsets)
    note_interrupted(env, events)

    task = Task(
        request.patch_dirs,
        env,
        names=tuple(patchset.name for patchset in patchsets),
        requested=request.patchsets,
    )
    # a project reverts what it does not request
    wanted = Wanted(request.patchsets, reverted=None if project else ())

    def look_and_write() -> OverlayOutcome:
        plan = settled(env, lambda: make_plan(env, wanted))
        files = overlay_files(plan)
        is_needed = bool(files) and not plan.failed
        plan = plan._replace(notes=(*request.notes, *plan.notes))
        return OverlayOutcome(task, plan, overlay=write_overlay(files) if is_needed else None)

    outcome = retry(look_and_write, events.note)
    events.planned(outcome)
    if outcome.overlay is None or verification is None:
        return outcome
    verified = _verified(outcome, outcome.overlay, verification)
    return outcome._replace(verified=verified)


def _request(
    names: Texts, settings: Texts, *, project: ProjectFiles | None, place: Place
) -> ProjectRequest:
    """What is requested: by name, or by a project."""
    if project:
        return read_request(project, place.patch_dirs)
    requested, notes = choose(names, settings, place.patch_dirs, trusted=True)
    return ProjectRequest(tuple(requested), notes=tuple(notes), patch_dirs=place.patch_dirs)


def _verified(
    outcome: OverlayOutcome, folder: Path, verification: VerifySettings
) -> Verified | None:
    """What came of verifying an overlay.

    None where it was verified before, which is not repeated but for probes.
    """
    mark = folder / VERIFIED
    if mark.exists() and verification.how != PROBE:
        return None

    patchsets = [item.patchset for item in outcome.task.requested]
    files = overlay_files(outcome.plan)
    verified = run_verification(files, patchsets, verification, in_memory=True)
    if verification.imports and not verified.failed:
        mark.touch()
    return verified


def lay_over(
    console: Console,
    names: Texts,
    settings: Texts,
    *,
    project: ProjectFiles | None,
    verify: str,
    variables: dict[str, str],
) -> int:
    """Make an overlay, report it, and have `variables` lead to it; returns the exit code."""
    outcome = _report_overlay(console, names, settings, project=project, verify=verify)
    if not outcome.ok:
        return 1
    if outcome.overlay:
        variables["PYTHONPATH"] = search_path(outcome.overlay, variables)
    return 0


def _report_overlay(
    console: Console,
    names: Texts,
    settings: Texts,
    *,
    project: ProjectFiles | None,
    verify: str,
) -> OverlayOutcome:
    """Make an overlay, and report it."""
    console.on_plan = show_plan
    outcome = make_overlay(
        names, settings, project=project, place=console.place, verify=verify, events=console
    )
    verified = outcome.verified
    if outcome.plan.failed:
        console.note("nothing was run: {reason}", "stopped", reason=failures(outcome.plan))
    elif outcome.overlay is None:
        console.info("nothing to overlay: what is asked for is applied already, or not needed")

    if verified:
        console.rows(verified_rows(console, verified))
    if verified and verified.failed:
        console.note("nothing was run: verification failed", "stopped")
    elif outcome.overlay:
        number = sum(file.changes for file in outcome.plan.files)
        template = "{files} in {overlay}"
        what = Message(template, files=count(number, "file"), overlay=outcome.overlay)
        console.info_rows([Row("overlay", (what,))])

    console.answer(outcome.ok, outcome)
    return outcome
