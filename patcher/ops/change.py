"""`apply` and `restore`, and what `sync` shares with them: recover, plan, and only then write; verify what was applied."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, List, Optional, Sequence, Tuple

from patcher.errors import FormatError, StoreError, UsageError
from patcher.hook.places import hooks_for
from patcher.model import FilePlan, Plan
from patcher.ops.events import SILENT, Events
from patcher.ops.outcome import ApplyRequest, Outcome, RestoreRequest
from patcher.ops.place import Place
from patcher.project.selection import check_names, check_probes, check_sources, choose
from patcher.store.commit import commit, lock_sites, plan_rollback
from patcher.store.health import describe_unfinished, unclaimed
from patcher.store.retry import undisturbed
from patcher.store.status import applied_names, divide_names, has_store, statuses, stores
from patcher.store.store import FINISHED, Store
from patcher.survey.plans import plan_apply, plan_restore
from patcher.target.interpreter import Environment
from patcher.text.listed import one_or_more
from patcher.verify.checks import VerifyOptions, VerifySettings, files_to_verify
from patcher.verify.rollback import verify_or_roll_back

if TYPE_CHECKING:
    from patcher.model import Patchset, Requested


def apply(request: ApplyRequest, events: Events = SILENT) -> Outcome:
    """Apply patchsets, all or none, verify them and roll back where that fails.

    Raises:
        SitepatchError: what keeps it from making a plan or from writing.
    """
    requested, notes = requested_patchsets(request)
    return apply_requested(request, requested, notes, events)


def apply_requested(
    request: ApplyRequest, requested: Sequence[Requested], notes: Sequence[str], events: Events = SILENT
) -> Outcome:
    """Apply patchsets that are loaded already: the names and settings of the request do not count; see `apply`."""
    place = request.place
    env = place.environment()
    how, recovered = begin_change(place, env, requested, request.verify, events, dry_run=request.dry_run)
    plan = undisturbed(env, lambda: plan_apply(env, requested, force=request.force), dry_run=request.dry_run)
    plan = plan._replace(notes=(*notes, *plan.notes))
    names = tuple(one.patchset.name for one in requested)
    return carry_out(Outcome(place, env, plan, names, tuple(requested), request.dry_run, recovered), how, events)


def requested_patchsets(request: ApplyRequest) -> Tuple[List[Requested], List[str]]:
    """The patchsets of a request with their options, and remarks.

    Raises:
        SitepatchError: see `check_sources` and `choose`.
    """
    names, patch_dirs = one_or_more(request.names), request.place.patch_dirs
    check_sources(names, patch_dirs)
    return choose(names, one_or_more(request.settings), patch_dirs)


def begin_change(
    place: Place, env: Environment, requested: Sequence[Requested], verify: VerifyOptions, events: Events, *, dry_run: bool
) -> Tuple[Optional[VerifySettings], Tuple[str, ...]]:
    """Recover interrupted runs; returns how to verify (None for not at all), and a sentence for each that was recovered.

    Raises:
        UsageError: a probe is requested that cannot be run there or is not trusted.
        StoreError: a journal is invalid, or the store cannot write.
    """
    how = verify_settings(place, env, verify, [one.patchset for one in requested], events)
    events.started(env, requested)
    return None if verify.no_verify else how, _recover(env, events, dry_run=dry_run)


def carry_out(outcome: Outcome, how: Optional[VerifySettings], events: Events) -> Outcome:
    """Write a plan of which no hunk failed, verify it, and roll it back where that fails.

    Args:
        outcome: with the plan.
        how: how to verify, None for not at all.
        events: takes the plan, and what is done.

    Raises:
        SitepatchError: what keeps it from writing.
    """
    plan = outcome.plan
    plan = plan._replace(notes=(*plan.notes, *_own_locks(plan)))
    outcome = outcome._replace(plan=plan)
    events.planned(outcome)
    outcome = outcome._replace(fresh=not any(map(has_store, {file.site for file in plan.files})))
    how = None if outcome.dry_run or plan.failed else how
    with lock_sites(plan if how else Plan((), ())):
        way = plan_rollback(plan) if how else None
        outcome = _write(outcome, events)
        if outcome.written:
            applied = {step.patchset for file in outcome.changed for step in file.steps}
            outcome = outcome._replace(patchsets=tuple(filter(applied.__contains__, outcome.patchsets)) or outcome.patchsets)
            texts = files_to_verify(file for file in outcome.changed if file.change and not file.change.forget)
            if how and way and texts:
                verdict = verify_or_roll_back(way, texts, _patchsets(outcome), how)
                outcome = outcome._replace(verdict=verdict, written=not verdict.rolled_back)
    if outcome.verdict and outcome.verdict.rolled_back:
        events.reached("what was written was rolled back, every file is as before")
    return outcome


def _own_locks(plan: Plan) -> List[str]:
    """What is to be known about the filesystems that a plan writes to (see `patcher.system.mounts`)."""
    sites = dict.fromkeys(file.site for file in plan.files if file.change)
    if not sites:
        return []
    from patcher.system import mounts  # not for a repeated apply

    table = mounts.read_table()
    return [what for what in (mounts.own_locks(site, table) for site in sites) if what]


def _patchsets(outcome: Outcome) -> List[Patchset]:
    return [one.patchset for one in outcome.requested if one.patchset.name in outcome.patchsets]


def verify_settings(
    place: Place, env: Environment, options: VerifyOptions, patchsets: Sequence[Patchset], events: Events
) -> VerifySettings:
    """The settings that options mean for an environment.

    A directory given as `target` is no environment of its own: without `python` nobody knows which packages its modules run
    with, so its files are compiled only.

    Raises:
        UsageError: a probe is requested that cannot be run there or is not trusted, or nothing is to be verified.
    """
    alone = place.target is not None and place.python is None
    if options.probe:
        if alone:
            raise UsageError("--verify probe and --target: found no interpreter to run a probe in", "name it with --python")
        check_probes(patchsets, place.patch_dirs)
        for one in patchsets:
            if not one.verify.probe:
                events.note(f"{one.name} has no probe")
    if alone and env.root:
        here = "{}.{}".format(*sys.version_info[:2])
        events.note(f"the Python of the image is not run: Python {here} of this machine compiles the files, and imports none")
    why = "an image is not run" if env.root else "--target names no interpreter to import them with; add --python"
    reason = why if alone and not options.compile_only else ""
    imports = not (alone or options.compile_only)
    return VerifySettings(env, options.timeout, place.target is not None, imports, options.probe, reason, events.progress)


def restore(request: RestoreRequest, events: Events = SILENT) -> Outcome:
    """Restore what patchsets changed; a file that no other patchset changes is as it was before: bytes, mode and mtime.

    Raises:
        SitepatchError: what keeps it from making a plan or from writing.
    """
    place = request.place
    env = place.environment()
    events.started(env)
    recovered = _recover(env, events, dry_run=request.dry_run)

    def planned() -> Outcome:
        bad: List[StoreError] = []
        items = statuses(env, bad)
        for error in bad:
            if isinstance(error, FormatError):  # what its release knows of the other files is not known here
                raise error
        applied = applied_names(items)
        idle, chosen = divide_names(applied, one_or_more(request.names))
        if idle:
            check_names(idle, applied, place.patch_dirs)
        plan = plan_restore(items, chosen, force=request.force) if chosen else Plan((), ())
        made = Outcome(place, env, plan, tuple(chosen), (), request.dry_run, recovered, idle=tuple(idle))
        return made._replace(damaged=tuple(unclaimed(env, items, bad)))

    outcome = undisturbed(env, planned, dry_run=request.dry_run)
    events.planned(outcome)
    outcome = _write(outcome, events)
    return outcome._replace(hooks=tuple(hooks_for(env, outcome.patchsets))) if outcome.written else outcome


def note_interrupted(env: Environment, events: Events) -> None:
    """Report the runs that have not ended, for a verb that leaves them as they are."""
    for sentence in describe_unfinished(env):
        events.note(sentence)


def _recover(env: Environment, events: Events, *, dry_run: bool) -> Tuple[str, ...]:
    if dry_run:
        note_interrupted(env, events)
        return ()
    recovered: List[str] = []
    for store in stores(env):
        sentence = store.recover()
        if sentence:
            recovered.append(f"{store.site}: {sentence}")
            events.note(recovered[-1], "recovered")
    return tuple(recovered)


def _write(outcome: Outcome, events: Events) -> Outcome:
    """Carry the plan out, unless an answer or `dry_run` forbids it."""
    changed = outcome.changed
    if outcome.plan.failed or outcome.dry_run or not changed:
        return outcome
    _check_writable(changed)
    for file in changed:
        if file.aside:
            events.note(f"the edited {file.path} is kept as {Store(file.site).save_edited(file.path, file.aside)}", "kept")
    recovered = commit(outcome.plan, _patchsets(outcome))
    for sentence in recovered:
        events.note(sentence, "recovered")
    events.reached(FINISHED)
    return outcome._replace(written=True, recovered=(*outcome.recovered, *recovered))


def _check_writable(changed: Sequence[FilePlan]) -> None:
    problems: List[str] = []
    for site in dict.fromkeys(file.site for file in changed):
        changes = [file.change for file in changed if file.site == site and file.change and not file.change.forget]
        back = {change.path for change in changes if change.data is None}
        problems += Store(site).check_writable([change.path for change in changes], back)
    if problems:
        raise StoreError("\n".join(problems), "nothing was changed")
