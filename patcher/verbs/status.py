"""`status`: the patchsets that are applied, each with its state and what to do about it."""

from __future__ import annotations

import time
from typing import Mapping, Sequence

import click

from patcher.display.console import Console
from patcher.display.styles import Row, hint_lines, term
from patcher.display.verified import verified_rows
from patcher.errors import SitepatchError, StoreError
from patcher.facts import Damage, FileStatus
from patcher.installed.backups import Backup, proven_backups
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import FilePlan, OptionValue, Patchset, State, Step
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.layers import patch_name
from patcher.patchset.toml import options_text
from patcher.patchset.variants import matching_variants, pick_variants
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.rewriter import stored_patchset
from patcher.record import Record, reported
from patcher.store.retry import settled
from patcher.store.status import (
    LostCopies,
    applied_names,
    before_and_after,
    damaged,
    divide_names,
    lost_copies,
    recover_all,
    statuses,
    stores,
    unclaimed,
)
from patcher.system.signals import stoppable
from patcher.text.listed import Texts, count, one_or_more
from patcher.verbs.options import common_options, complete_names, verify_option
from patcher.verbs.standing import (
    APPLIED,
    AppliedPatchset,
    Standing,
    applied_patchsets,
    worst_of,
)
from patcher.verbs.verification import run_verification, verify_settings
from patcher.verify import NONE, Verified

_NEWS = 24 * 60 * 60  # seconds for which an edited text that was set aside counts as recent


class PatchsetInFile(Record):
    """A patchset in a file.

    Attributes:
        name: its name.
        version: its version.
        state: the state of the file, to this patchset.
        options: the options that it was applied with.
        places: the lines of its changes.
    """

    name: str
    version: str
    state: str
    options: Mapping[str, OptionValue]
    places: tuple[int, ...]


@reported("site path package distribution version installed origin condition patchsets")
class FileState(Record):
    """A file that is patched.

    Attributes:
        file: its receipt, and what it is to that.
        states: the states of its patchsets, in the order of `FileStatus.patchsets`.
    """

    file: FileStatus
    states: tuple[str, ...]

    @property
    def site(self) -> str:
        """The site directory."""
        return self.file.site

    @property
    def path(self) -> str:
        """The path below it."""
        return self.file.receipt.path

    @property
    def package(self) -> str:
        """The import package."""
        return self.file.receipt.release.package

    @property
    def distribution(self) -> str:
        """The distribution that it belonged to when it was patched."""
        return self.file.receipt.release.distribution

    @property
    def version(self) -> str:
        """The version of the distribution then."""
        return self.file.receipt.release.version

    @property
    def installed(self) -> str:
        """The version of the distribution now, "" where its metadata do not have one."""
        return self.file.installed

    @property
    def origin(self) -> str:
        """What proves the pristine bytes: `recorded`, `unrecorded`, `edited` or `added`."""
        return self.file.receipt.pristine.origin

    @property
    def condition(self) -> str:
        """How the file relates to its receipt."""
        return self.file.condition.value

    @property
    def patchsets(self) -> tuple[PatchsetInFile, ...]:
        """The patchsets that are recorded for the file."""
        patchsets = []
        for (_, step), state in zip(self.file.patchsets, self.states):
            patchsets.append(
                PatchsetInFile(
                    step.patchset,
                    step.version,
                    state=state,
                    options=step.options,
                    places=step.hunks.places,
                )
            )
        return tuple(patchsets)


class Interrupted(Record):
    """An interrupted run that could not be finished or undone.

    Attributes:
        state: `interrupted` or `under way`.
        site: the site directory.
        problem: why.
    """

    state: str
    site: str
    problem: str


@reported("recovered interrupted damaged kept")
class StoreStates(Record):
    """What is wrong in the stores, and what lies in them.

    Attributes:
        recovered: a sentence for each interrupted run that was finished or undone.
        interrupted: the runs that could not be.
        damaged: what is damaged or lost.
        unreadable: whether a receipt is among that, so that what it was about is unknown.
        kept: the paths of edited texts that were set aside.
        recent: those of the last day.
    """

    recovered: tuple[str, ...]
    interrupted: tuple[Interrupted, ...]
    damaged: tuple[Damage, ...]
    unreadable: bool
    kept: tuple[str, ...]
    recent: tuple[str, ...]


@reported("patchsets files *stores backups idle verified")
class StatusOutcome(Record):
    """The state of an environment.

    Attributes:
        env: the environment.
        standing: the state of each patchset that is applied.
        files: the files that are patched.
        stores: what is wrong in the stores, and what lies in them.
        backups: the files edited by hand with a backup beside them that RECORD proves.
        idle: names that were asked for and are not applied.
        verified: what came of verifying, null where nothing was verified.
    """

    env: Environment
    standing: Standing
    files: tuple[FileState, ...]
    stores: StoreStates
    backups: tuple[Backup, ...]
    idle: tuple[str, ...] = ()
    verified: Verified | None = None

    @property
    def patchsets(self) -> tuple[AppliedPatchset, ...]:
        """The patchsets that are applied."""
        return self.standing.patchsets

    @property
    def differs(self) -> bool:
        """Whether anything is not as it was applied."""
        if self.stores.interrupted or self.stores.damaged:
            return True
        return any(patchset.state != APPLIED for patchset in self.patchsets)

    @property
    def works(self) -> bool:
        """Whether all that was to be verified is applied, as it was, and works."""
        if self.verified is None:
            return True
        if self.idle or self.verified.failed:
            return False
        names = {patchset.name for patchset in self.patchsets}
        for state in self.files:
            for file, step in state.file.patchsets:
                if step.patchset in names and not file.live:
                    return False
        return True


class _Look(Record):
    """What is read of the stores at once: the files, and how interrupted runs ended."""

    items: list[FileStatus]
    interrupted: list[tuple[str, str, str]]
    lost: LostCopies
    damaged: list[Damage]
    unreadable: bool


def status(
    names: Texts = (), *, place: Place = HERE, verify: str = NONE, events: Events = SILENT
) -> StatusOutcome:
    """The state of what is applied; interrupted runs are recovered first.

    Args:
        names: of patchsets, all that are applied without any.
        place: the environment.
        verify: whether to verify what is applied, too: `none`, `compile`, `import` or `probe`.
        events: takes what is done.

    Raises:
        UsageError: a name that nobody knows; a probe that cannot be run there or is not trusted.
        SitepatchError: no such environment; a journal is invalid.
    """
    env = place.environment()
    events.started(env)
    recovered: list[str] = []

    def look() -> _Look:
        endings, interrupted = recover_all(env)
        recovered.extend(endings)
        bad: list[StoreError] = []
        items = statuses(env, bad)
        lost = lost_copies(items)
        problems = [*damaged(lost), *unclaimed(env, items, bad)]
        return _Look(items, interrupted, lost=lost, damaged=problems, unreadable=bool(bad))

    seen = settled(env, look)
    names_applied = applied_names(seen.items)
    idle, applied = divide_names(names_applied, one_or_more(names))
    if idle:
        Catalogue(place.patch_dirs).check_names(idle, names_applied)
    standing = applied_patchsets(env, seen.items, place.patch_dirs, names=applied, lost=seen.lost)
    patched = {(item.site, item.receipt.path) for item in seen.items}
    verified = None
    if verify != NONE:
        verified = _verify(names, place, env, verification=verify, events=events)
    return StatusOutcome(
        env=env,
        standing=standing,
        files=_files(seen.items, standing, applied),
        stores=_store_states(env, seen, recovered),
        backups=tuple(proven_backups(env.own, patched)),
        idle=tuple(idle),
        verified=verified,
    )


def _files(
    items: Sequence[FileStatus], standing: Standing, applied: Sequence[str]
) -> tuple[FileState, ...]:
    """The files in which one of these patchsets is applied."""
    files = []
    for item in items:
        if any(step.patchset in applied for _, step in item.patchsets):
            states = [standing.state(file, step) for file, step in item.patchsets]
            files.append(FileState(item, tuple(states)))
    return tuple(files)


def _store_states(env: Environment, seen: _Look, recovered: Sequence[str]) -> StoreStates:
    since = time.time() - _NEWS
    kept: list[str] = []
    recent: list[str] = []
    for store in stores(env):
        kept += store.edited_copies()
        recent += store.edited_copies(since)
    return StoreStates(
        recovered=tuple(recovered),
        interrupted=tuple(Interrupted(*each) for each in seen.interrupted),
        damaged=tuple(seen.damaged),
        unreadable=seen.unreadable,
        kept=tuple(kept),
        recent=tuple(recent),
    )


def _verify(
    names: Texts, place: Place, env: Environment, *, verification: str, events: Events
) -> Verified:
    """Verify what is applied, as `apply` does with `--verify`."""

    def look() -> Verified:
        items = statuses(env)
        _, applied = divide_names(applied_names(items), one_or_more(names))
        patchsets: dict[str, Patchset] = {}
        files = []
        for item in items:
            is_live = False
            for file, step in item.patchsets:
                if step.patchset in applied:
                    is_live = is_live or file.live
                    if step.digest not in patchsets:
                        patchsets[step.digest] = stored_patchset(item.site, step)
            if is_live:
                files.append(_applied_file(item, applied))
        settings = verify_settings(
            place, env, verification, patchsets=list(patchsets.values()), events=events
        )
        assert settings is not None
        with stoppable():
            return run_verification(files, list(patchsets.values()), settings, written=True)

    return settled(env, look)


def _applied_file(item: FileStatus, applied: Sequence[str]) -> FilePlan:
    """A file with what patchsets have changed in it, as if that were planned."""
    before, _ = before_and_after(item.site, item.receipt, applied)
    return FilePlan(
        item.site,
        item.receipt.path,
        before=before,
        after=item.data,
        to_commit=None,
        steps=item.receipt.steps,
    )


# the patches of a patchset ----------------------------------------------------------------------
class PatchState(Record):
    """A patch of an applied patchset.

    Attributes:
        state: its state.
        paths: the files of that state.
    """

    state: str
    paths: tuple[str, ...]


def patch_states(applied: AppliedPatchset, files: Sequence[FileState]) -> dict[str, PatchState]:
    """The state of each patch of an applied patchset, by its name; none where its copy is damaged.

    A patch that changed nothing when the patchset was applied is `upstream` or `not needed`, as it
    was then.
    """
    paths_of: dict[str, dict[str, list[str]]] = {}  # patch -> state -> files
    for file in files:
        for (item, step), state in zip(file.file.patchsets, file.states):
            key = item.site, step.patchset, step.digest
            if key != (applied.site, applied.name, applied.digest):
                continue
            try:
                recorded = _recorded_states(item, step)
            except SitepatchError:  # `damaged` says so
                return {}
            for name, word in recorded:
                if word == State.APPLICABLE.value:
                    word = state
                paths_of.setdefault(name, {}).setdefault(word, []).append(file.path)

    states = {}
    for name, by_state in paths_of.items():
        worst = worst_of(by_state)
        states[name] = PatchState(worst, tuple(dict.fromkeys(by_state[worst])))
    return states


def _recorded_states(item: FileStatus, step: Step) -> list[tuple[str, str]]:
    """The name of the patch and the recorded state of each hunk of a patchset in a file.

    Raises:
        SitepatchError: the copy of the patchset is damaged.
    """
    receipt = item.receipt
    variants = pick_variants(stored_patchset(item.site, step)).get(receipt.release.package, ())
    names = []
    for variant in matching_variants(variants, receipt.release.version):
        for patch in variant.patches:
            if receipt.path in patch.places:
                names += [patch_name(hunk.origin) for hunk in patch.hunks]
    return list(zip(names, step.hunks.states))


@click.command(
    "status",
    epilog="\b\nExamples:\n  sitepatch status --check || sitepatch apply mmengine-ddp-debug\n"
    "  sitepatch status mmengine-ddp-debug --verify import",
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--check", is_flag=True, help="Exit with 1 if anything is not as it was applied.")
@verify_option("none")
@common_options()
def command(
    console: Console,
    names: tuple[str, ...],
    check: bool,
    verify: str,
) -> int:
    """Show which patchsets are applied, the state of their files, and what to do about it.

    One line for each patchset, or for each NAME; with -v also its files and lines.

    --verify also compiles, or imports, what is patched in the target interpreter. A module that
    cannot be imported without the patch either is reported, and is no failure.
    """
    outcome = status(names, place=console.place, verify=verify, events=console)
    _show(console, outcome)
    ok = outcome.works and not outcome.stores.unreadable
    if check and (outcome.differs or outcome.idle):
        ok = False
    return console.answer(ok, outcome)


def _show(console: Console, outcome: StatusOutcome) -> None:
    stores = outcome.stores
    console.notes(stores.recovered, "recovered")
    console.notes([error.brief for error in outcome.standing.broken.values()], "broken")
    rows = []
    for run in stores.interrupted:
        rows.append(Row(run.state, (run.site,), details=(run.problem,)))
    for damage in stores.damaged:
        rows.append(Row("damaged", (), details=(damage.problem, *hint_lines(damage.hint))))
    for patchset in outcome.patchsets:
        details = _details(patchset, outcome.files) if console.verbose else []
        rows.append(_row(patchset, details))
    console.rows([row for row in rows if not console.quiet or row.word != APPLIED])
    if not rows and not outcome.idle:
        console.info("nothing is applied in {place}", place=", ".join(outcome.env.own))
    if outcome.verified:
        console.rows(verified_rows(console, outcome.verified))
    _show_notes(console, outcome)


def _show_notes(console: Console, outcome: StatusOutcome) -> None:
    """Say what was asked for in vain, which edit can be put back, and what was set aside."""
    for name in outcome.idle:
        console.note("{name} is not applied here", name=name)
    template = "{message}; put it back: sitepatch restore --from-backup {path}{env}"
    for backup in outcome.backups:
        console.note(Message(template, message=backup.message, path=backup.path))
    template = "{path}, an edited text that was set aside; remove it when you no longer need it"
    for path in outcome.stores.recent:
        console.note(template, "kept", path=path)


def _row(patchset: AppliedPatchset, details: Sequence[str]) -> Row:
    """A patchset in one line, with these details, its problems and the advice below it."""
    bad = sum(file.state != APPLIED for file in patchset.files)
    files: str = count(len(patchset.files), "file")
    if 0 < bad < len(patchset.files):
        files = Message("{bad} of {files}", bad=bad, files=files)
    cells = (
        f"{patchset.name} {patchset.version}",
        ", ".join(patchset.releases),
        files,
        options_text(patchset.options),
    )
    below = (*details, *patchset.problems, *hint_lines(patchset.advice))
    return Row(patchset.state, cells, details=below)


def _details(patchset: AppliedPatchset, files: Sequence[FileState]) -> list[str]:
    """The patches of a patchset, else its files and lines."""
    patches = patch_states(patchset, files)
    if len(patches) > 1:
        lines = []
        for name, patch in patches.items():
            lines.append(f"{term(patch.state)}  {name}: {', '.join(patch.paths)}")
        return lines
    return [f"{file.path}:{','.join(map(str, file.places))}" for file in patchset.files]
