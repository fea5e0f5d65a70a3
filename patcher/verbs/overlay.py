"""`run --overlay`: patchsets are laid over an environment, which stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from patcher.display.console import Console
from patcher.display.rows import plan_json
from patcher.display.styles import Row
from patcher.facts import Wanted
from patcher.message import Message
from patcher.overlay.make import VERIFIED, overlay_files, write_overlay
from patcher.patchset.selection import choose
from patcher.place import HERE, SILENT, Events, Outcome, Place
from patcher.planner.survey import make_plan
from patcher.project.request import ProjectFiles, ProjectRequest, read_request
from patcher.store.retry import retry, settled
from patcher.text.listed import Texts, count
from patcher.verbs.change import note_interrupted, verify_settings
from patcher.verbs.report import show_plan, verified_json, verified_rows, what_failed
from patcher.verify import IMPORT, PROBE, Verified, VerifySettings


def make_overlay(
    names: Texts = (),
    settings: Texts = (),
    *,
    project: ProjectFiles | None = None,
    place: Place = HERE,
    verify: str = IMPORT,
    events: Events = SILENT,
) -> Outcome:
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

    # a project reverts what it does not request
    wanted = Wanted(request.patchsets, reverted=None if project else ())

    def look_and_write() -> Outcome:
        plan = settled(env, lambda: make_plan(env, wanted))
        files = overlay_files(plan)
        is_needed = bool(files) and not plan.failed
        return Outcome(
            place=place._replace(patch_dirs=request.patch_dirs),
            env=env,
            plan=plan._replace(notes=(*request.notes, *plan.notes)),
            patchsets=tuple(patchset.name for patchset in patchsets),
            requested=request.patchsets,
            overlay=write_overlay(files) if is_needed else None,
        )

    outcome = retry(look_and_write, events.note)
    events.planned(outcome)
    if outcome.overlay is None or verification is None:
        return outcome
    return outcome._replace(verified=_verified(outcome, outcome.overlay, verification))


def _request(
    names: Texts, settings: Texts, *, project: ProjectFiles | None, place: Place
) -> ProjectRequest:
    """What is requested: by name, or by a project."""
    if project:
        return read_request(project, place.patch_dirs)
    requested, notes = choose(names, settings, place.patch_dirs, trusted=True)
    return ProjectRequest(tuple(requested), notes=tuple(notes), patch_dirs=place.patch_dirs)


def _verified(outcome: Outcome, folder: Path, verification: VerifySettings) -> Verified | None:
    """What came of verifying an overlay.

    None where it was verified before, which is not repeated but for probes.
    """
    mark = folder / VERIFIED
    if mark.exists() and verification.how != PROBE:
        return None
    from patcher.verify.run import verify_files  # with subprocess: not where it was verified

    patchsets = [item.patchset for item in outcome.requested]
    files = overlay_files(outcome.plan)
    verified = verify_files(files, patchsets, verification, in_memory=True)
    if verification.imports and not verified.failed:
        mark.touch()
    return verified


def report_overlay(
    console: Console,
    names: Texts,
    settings: Texts,
    *,
    project: ProjectFiles | None,
    verify: str,
) -> Outcome:
    """Make an overlay, and report it."""
    console.on_plan = show_plan
    outcome = make_overlay(
        names, settings, project=project, place=console.place, verify=verify, events=console
    )
    verified = outcome.verified
    if outcome.plan.failed:
        reason = what_failed(outcome.plan)
        console.note("nothing was run: {reason}", "stopped", reason=reason)
    elif outcome.overlay is None:
        console.info("nothing to overlay: what is asked for is applied already, or not needed")

    if verified:
        console.rows(verified_rows(console, verified))
    if verified and verified.failed:
        console.note("nothing was run: verification failed", "stopped")
    elif outcome.overlay:
        number = sum(file.before != file.after for file in outcome.plan.files)
        template = "{files} in {overlay}"
        what = Message(template, files=count(number, "file"), overlay=outcome.overlay)
        console.info_rows([Row("overlay", (what,))])

    if console.as_json:
        fields: dict[str, Any] = {
            "patchsets": outcome.patchsets,
            "overlay": outcome.overlay or "",
            **plan_json(outcome.plan),
        }
        if verified:
            fields["verify"] = verified_json(verified)
        console.answer(outcome.ok, fields)
    return outcome
