"""The one way in which every verb writes: look, lock, look again, verify, commit."""

from __future__ import annotations

from typing import Callable, Iterable, Mapping, Sequence, TypeVar

from patcher.errors import OutdatedError, SitepatchError, StoreError
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import Change, FilePlan, Patchset, Plan
from patcher.outcomes import PlanOutcome
from patcher.place import Events
from patcher.store.folder import edited_copy
from patcher.store.retry import quiet, retry, settled
from patcher.store.status import describe_unfinished, has_store, recover, stores
from patcher.store.store import Store
from patcher.store.transaction import FINISHED, Transaction, transaction
from patcher.system import mounts
from patcher.system.signals import stoppable
from patcher.verbs.verification import run_verification
from patcher.verify import Verified, VerifySettings

_Outcome = TypeVar("_Outcome", bound=PlanOutcome)


def carry_out(
    look: Callable[[], _Outcome],
    env: Environment,
    settings: VerifySettings | None,
    events: Events,
    *,
    dry_run: bool = False,
) -> _Outcome:
    """Look, lock, look again, verify, commit.

    Nothing is written, and nothing locked, where the first look says that there is nothing to do
    or that a hunk fails.

    Args:
        look: makes the outcome with the plan; it reads only, and is called again where the
            environment has changed.
        env: the environment.
        settings: how to verify, None for not at all.
        events: takes the plan, and what is done.
        dry_run: look only.

    Raises:
        SitepatchError: what keeps it from verifying or from writing.
    """
    if dry_run:
        note_interrupted(env, events)
        outcome = settled(env, look)
        return _unwritten(outcome, (), events)

    recoveries = {store.site: recover(store.site) for store in stores(env)}
    recovered = _report_recovered(recoveries, events)
    first_look = quiet(env, look)
    if first_look is None:  # somebody is writing
        sites = {store.site for store in stores(env)}
    else:
        sites = _sites(first_look)
        if not sites:
            return _unwritten(first_look, recovered, events)
        _check_writable(first_look.changed)
    fresh = not any(map(has_store, sites))

    def change() -> _Outcome:
        with transaction(sites) as run:
            recovered.extend(_report_recovered(run.recovered, events))
            outcome = look()._replace(fresh=fresh, recovered=tuple(recovered))
            if run.holds(_sites(outcome)):
                return _write(run, outcome, settings, events)
        sites.update(_sites(outcome))
        raise OutdatedError(
            "other processes keep changing this environment", "run this again when they have ended"
        )

    return retry(change, events.note)


def _report_recovered(endings: Mapping[str, str], events: Events) -> list[str]:
    """Report how interrupted runs ended in each site directory, and return that."""
    lines = [f"{site}: {ending}" for site, ending in endings.items() if ending]
    for line in lines:
        events.note(line, "recovered")
    return lines


def _sites(outcome: PlanOutcome) -> set[str]:
    """The site directories that a plan changes; none where a hunk failed."""
    if outcome.plan.failed:
        return set()
    return {file.site for file in outcome.changed}


def _unwritten(outcome: _Outcome, recovered: Sequence[str], events: Events) -> _Outcome:
    """The outcome of a plan that is not carried out, once it is reported."""
    outcome = outcome._replace(plan=_with_remarks(outcome.plan), recovered=tuple(recovered))
    events.planned(outcome)
    return outcome


def _write(
    run: Transaction, outcome: _Outcome, settings: VerifySettings | None, events: Events
) -> _Outcome:
    """Verify the plan of an outcome and commit it, unless an answer or a check forbids that."""
    outcome = outcome._replace(plan=_with_remarks(outcome.plan))
    events.planned(outcome)
    changed = outcome.changed
    if outcome.plan.failed or not changed:
        return outcome
    patchsets = _patchsets(outcome)
    if settings:
        outcome = outcome._replace(verified=_verified(changed, patchsets, settings))
        if outcome.verified and outcome.verified.failed:
            return outcome

    changes: dict[str, list[Change]] = {}
    for file in changed:
        of_site = changes.setdefault(file.site, [])
        if file.to_commit:
            of_site.append(file.to_commit)
    run.commit(changes, {patchset.folder.digest: patchset.folder.files for patchset in patchsets})
    _note_kept_edits(changed, events)
    events.reached(FINISHED)
    return outcome._replace(written=True)


def _note_kept_edits(changed: Iterable[FilePlan], events: Events) -> None:
    """Say where the edited texts are that were set aside."""
    for file in changed:
        if file.to_commit and file.to_commit.aside:
            copy = f"{file.site}/{edited_copy(file.path, file.to_commit.aside)}"
            template = "the edited {path}, as {copy}"
            events.note(Message(template, path=file.path, copy=copy), "kept")


def _verified(
    changed: Sequence[FilePlan], patchsets: Sequence[Patchset], settings: VerifySettings
) -> Verified | None:
    """The result of verifying the planned texts; None where no text is new."""
    texts = []
    for file in changed:
        change = file.to_commit
        if change and not change.forget and (change.old or change.new):
            texts.append(file)
    if not texts:
        return None
    try:
        with stoppable():
            return run_verification(texts, patchsets, settings)
    except OSError as error:
        problem = Message(
            "it could not be verified ({error}), and nothing was written", error=error
        )
        raise SitepatchError(problem, "see --verify none") from error


def _with_remarks(plan: Plan) -> Plan:
    """A plan with remarks about the filesystems that it writes to (see `patcher.system.mounts`)."""
    sites = dict.fromkeys(file.site for file in plan.files if file.to_commit)
    if not sites:
        return plan
    table = mounts.read_table()
    remarks = [mounts.own_locks(site, table) for site in sites]
    return plan._replace(notes=(*plan.notes, *filter(None, remarks)))


def _patchsets(outcome: PlanOutcome) -> list[Patchset]:
    """The patchsets that are applied in what changes."""
    affected = outcome.affected
    requested = outcome.task.requested
    return [item.patchset for item in requested if item.patchset.name in affected]


def note_interrupted(env: Environment, events: Events) -> None:
    """Report the runs that have not ended, for a verb that leaves them as they are."""
    for sentence in describe_unfinished(env):
        events.note(sentence)


def _check_writable(changed: Sequence[FilePlan]) -> None:
    """Refuse what cannot be written, all of it at once.

    Raises:
        StoreError: for everything that cannot be written.
    """
    problems: list[str] = []
    for site in dict.fromkeys(file.site for file in changed):
        paths: list[str] = []
        back: set[str] = set()
        for file in changed:
            change = file.to_commit
            if file.site == site and change and not change.forget:
                paths.append(change.path)
                if change.new is None or not change.old:
                    back.add(change.path)
        problems += Store(site).check_writable(paths, back)
    if problems:
        raise StoreError(joined("\n", problems), "nothing was changed")
