"""The one way in which every verb writes: look, lock, look again, verify, commit; and what comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Mapping, Sequence

from patcher.errors import OutdatedError, SitepatchError, StoreError, UsageError
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import Change, FilePlan, Plan
from patcher.patchset.selection import check_probes
from patcher.place import Events, Outcome, Place
from patcher.store.folder import edited_copy
from patcher.store.retry import quiet, retry, settled
from patcher.store.status import describe_unfinished, has_store, recover, stores
from patcher.store.store import Store
from patcher.system import seconds_of
from patcher.system.signals import stoppable
from patcher.verify import COMPILE, NONE, PROBE, Verified, VerifySettings

if TYPE_CHECKING:
    from patcher.model import Patchset
    from patcher.store.transaction import Transaction


def carry_out(
    look: Callable[[], Outcome],
    env: Environment,
    settings: VerifySettings | None,
    events: Events,
    *,
    dry_run: bool = False,
) -> Outcome:
    """Look, lock, look again, verify, commit.

    Nothing is written, and nothing locked, where the first look says that there is nothing to do or that a hunk fails.

    Args:
        look: makes the outcome with the plan; it reads only, and is called again where the environment has changed.
        env: the environment.
        settings: how to verify, None for not at all.
        events: takes the plan, and what is done.
        dry_run: look only.

    Raises:
        SitepatchError: what keeps it from verifying or from writing.
    """
    if dry_run:
        note_interrupted(env, events)
    recovered = (
        []
        if dry_run
        else _told_recovered({store.site: recover(store.site) for store in stores(env)}, events)
    )
    first_look = settled(env, look) if dry_run else quiet(env, look)
    sites = _sites(first_look) if first_look else {store.site for store in stores(env)}
    if first_look and (dry_run or not sites):
        first_look = first_look._replace(plan=_noted(first_look.plan), recovered=tuple(recovered))
        events.planned(first_look)
        return first_look
    _check_writable(first_look.changed if first_look else ())
    fresh = not any(map(has_store, sites))
    from patcher.store.transaction import transaction  # only where something is to be written

    def change() -> Outcome:
        with transaction(sites) as run:
            recovered.extend(_told_recovered(run.recovered, events))
            outcome = look()._replace(fresh=fresh, recovered=tuple(recovered))
            if run.holds(_sites(outcome)):
                return _write(run, outcome, settings, events)
        sites.update(_sites(outcome))
        raise OutdatedError(
            "other processes keep changing this environment", "run this again when they have ended"
        )

    return retry(change, events.note)


def _told_recovered(sentences: Mapping[str, str], events: Events) -> list[str]:
    """Report what was recovered in each site directory, and return that."""
    lines = [f"{site}: {sentence}" for site, sentence in sentences.items() if sentence]
    for line in lines:
        events.note(line, "recovered")
    return lines


def _sites(outcome: Outcome) -> set[str]:
    """The site directories that a plan is to change; none where a hunk failed."""
    return set() if outcome.plan.failed else {file.site for file in outcome.changed}


def _write(
    run: Transaction, outcome: Outcome, settings: VerifySettings | None, events: Events
) -> Outcome:
    """Verify the plan of an outcome and commit it, unless an answer or a check forbids that."""
    outcome = outcome._replace(plan=_noted(outcome.plan))
    events.planned(outcome)
    changed = outcome.changed
    if outcome.plan.failed or not changed:
        return outcome
    applied = {step.patchset for file in changed for step in file.steps}
    outcome = outcome._replace(
        patchsets=tuple(filter(applied.__contains__, outcome.patchsets)) or outcome.patchsets
    )
    outcome = outcome._replace(verified=_verified(outcome, settings) if settings else None)
    if outcome.verified and outcome.verified.failed:
        return outcome
    from patcher.store.transaction import FINISHED  # as above

    changes: dict[str, list[Change]] = {}
    for file in changed:
        changes.setdefault(file.site, []).extend([file.change] if file.change else [])
    run.commit(
        changes, {patchset.folder.digest: patchset.folder.files for patchset in _patchsets(outcome)}
    )
    for site, path, data in (
        (file.site, file.path, file.change.aside) for file in changed if file.change
    ):
        if data:
            copy = f"{site}/{edited_copy(path, data)}"
            events.note(
                Message("the edited {path} is kept as {copy}", path=path, copy=copy), "kept"
            )
    events.reached(FINISHED)
    return outcome._replace(written=True)


def _verified(outcome: Outcome, settings: VerifySettings) -> Verified | None:
    """What came of verifying the planned texts; None where no text is new."""
    texts = [
        file
        for file in outcome.changed
        if file.change and not file.change.forget and (file.change.old or file.change.new)
    ]
    if not texts:
        return None
    # with subprocess: only where something is to be written
    from patcher.verify.run import (
        verify_files,
    )

    try:
        with stoppable():
            return verify_files(texts, _patchsets(outcome), settings)
    except OSError as error:
        problem = Message(
            "it could not be verified ({error}), and nothing was written", error=error
        )
        raise SitepatchError(problem, "see --verify none") from error


def _noted(plan: Plan) -> Plan:
    """A plan with what is to be known about the filesystems that it writes to (see `patcher.system.mounts`)."""
    sites = dict.fromkeys(file.site for file in plan.files if file.change)
    if not sites:
        return plan
    from patcher.system import mounts  # not for a repeated apply

    table = mounts.read_table()
    return plan._replace(
        notes=(*plan.notes, *filter(None, (mounts.own_locks(site, table) for site in sites)))
    )


def _patchsets(outcome: Outcome) -> list[Patchset]:
    return [item.patchset for item in outcome.requested if item.patchset.name in outcome.patchsets]


def verify_settings(
    place: Place, env: Environment, verification: str, patchsets: Sequence[Patchset], events: Events
) -> VerifySettings | None:
    """The settings that `--verify` means for an environment, None for not to verify.

    A directory given as `target` is no environment of its own: without `python` nobody knows which packages its modules run
    with, so its files are compiled only.

    Raises:
        UsageError: a probe is requested that cannot be run there or is not trusted; see `seconds_of`.
    """
    if verification == NONE:
        return None
    alone = place.target is not None and place.python is None
    if verification == PROBE:
        if alone:
            raise UsageError(
                "--verify probe and --target: found no interpreter to run a probe in",
                "name it with --python",
            )
        check_probes(patchsets, place.patch_dirs)
        for patchset in patchsets:
            if not patchset.verify.probe:
                events.note(Message("{name} has no probe", name=patchset.name))
    no_python = Message("--target names no interpreter to import them with; add --python")
    reason = no_python if alone and verification != COMPILE else ""
    limit = seconds_of("SITEPATCH_VERIFY_TIMEOUT", 120)
    return VerifySettings(
        env, limit, verification, place.target is not None, reason, events.progress
    )


def note_interrupted(env: Environment, events: Events) -> None:
    """Report the runs that have not ended, for a verb that leaves them as they are."""
    for sentence in describe_unfinished(env):
        events.note(sentence)


def _check_writable(changed: Sequence[FilePlan]) -> None:
    problems: list[str] = []
    for site in dict.fromkeys(file.site for file in changed):
        changes = [
            file.change
            for file in changed
            if file.site == site and file.change and not file.change.forget
        ]
        back = {change.path for change in changes if change.new is None or not change.old}
        problems += Store(site).check_writable([change.path for change in changes], back)
    if problems:
        raise StoreError(joined("\n", problems), "nothing was changed")
