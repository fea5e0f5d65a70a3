"""`status`: the patchsets that are applied in an environment, each with its state and what to do about it."""

from __future__ import annotations

import time
from typing import Any, Mapping, NamedTuple, Sequence

import click

from patcher.display.console import Console
from patcher.display.styles import Row, hint_lines, term
from patcher.errors import SitepatchError, StoreError
from patcher.facts import FileStatus
from patcher.installed.backups import Backup, proven_backups
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import FilePlan, State
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.toml import options_text
from patcher.place import HERE, SILENT, Events, Place
from patcher.store.retry import settled
from patcher.store.status import (
    applied_names,
    before_and_after,
    damaged,
    divide_names,
    recover_all,
    statuses,
    stores,
    unclaimed,
)
from patcher.system.signals import stoppable
from patcher.text.listed import Texts, count, one_or_more
from patcher.verbs.options import common_options, complete_names, verify_option
from patcher.verbs.standing import APPLIED, AppliedPatchset, applied_patchsets, worst_of
from patcher.verify import NONE, Verified

_NEWS = 24 * 60 * 60  # seconds for which an edited text that was set aside counts as recent


class FileState(NamedTuple):
    """A file that is patched; `states` are those of its patchsets, in the order of `FileStatus.patchsets`."""

    file: FileStatus
    states: tuple[str, ...]


class StatusOutcome(NamedTuple):
    """The state of an environment.

    `recovered` has a sentence for each interrupted run that was finished or undone, `interrupted` (the word, the site
    directory, why) of each that could not be. `damaged` are (problem, what to do) of the stores; with `unreadable` a receipt
    is among them, so that what it was about is unknown. `broken` are patchsets, by name, that cannot be read. `backups` are
    files edited by hand with a backup beside them. `kept` are the edited texts in the stores that were set aside, `recent`
    those of the last day. `idle` are names that were asked for and are not applied, `verified` is what verifying has shown,
    None where nothing was verified.
    """

    env: Environment
    patchsets: tuple[AppliedPatchset, ...]
    files: tuple[FileState, ...]
    recovered: tuple[str, ...]
    interrupted: tuple[tuple[str, str, str], ...]
    damaged: tuple[tuple[str, str], ...]
    unreadable: bool
    broken: Mapping[str, SitepatchError]
    backups: tuple[Backup, ...]
    kept: tuple[str, ...]
    recent: tuple[str, ...]
    idle: tuple[str, ...] = ()
    verified: Verified | None = None

    @property
    def differs(self) -> bool:
        """Whether anything is not as it was applied."""
        well = all(patchset.state == APPLIED for patchset in self.patchsets)
        return bool(self.interrupted or self.damaged or not well)

    @property
    def works(self) -> bool:
        """Whether all that was to be verified is applied, as it was, and works."""
        if self.verified is None:
            return True
        meant = {patchset.name for patchset in self.patchsets}
        there = all(
            file.live
            for state in self.files
            for file, step in state.file.patchsets
            if step.patchset in meant
        )
        return there and not self.idle and not self.verified.failed


def status(
    names: Texts = (), *, place: Place = HERE, verify: str = NONE, events: Events = SILENT
) -> StatusOutcome:
    """The state of what is applied, of these patchsets alone where there are names; interrupted runs are recovered first.

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

    def look() -> tuple[list[FileStatus], list[tuple[str, str, str]], list[tuple[str, str]], bool]:
        recoveries, left = recover_all(env)
        recovered.extend(recoveries)
        bad: list[StoreError] = []
        items = statuses(env, bad)
        return items, left, [*damaged(items), *unclaimed(env, items, bad)], bool(bad)

    items, left, problems, unreadable = settled(env, look)
    names_applied = applied_names(items)
    idle, applied = divide_names(names_applied, one_or_more(names))
    if idle:
        Catalogue(place.patch_dirs).check_names(idle, names_applied)
    patched = {(item.site, item.receipt.path) for item in items}
    known = applied_patchsets(env, items, place.patch_dirs, applied)
    files = [
        FileState(item, tuple(known.state(file, step) for file, step in item.patchsets))
        for item in items
        if any(step.patchset in applied for _, step in item.patchsets)
    ]
    homes, since = stores(env), time.time() - _NEWS
    outcome = StatusOutcome(
        env=env,
        patchsets=known.patchsets,
        files=tuple(files),
        recovered=tuple(recovered),
        interrupted=tuple(left),
        damaged=tuple(problems),
        unreadable=unreadable,
        broken=known.broken,
        backups=tuple(proven_backups(env.own, patched)),
        kept=tuple(path for store in homes for path in store.edited_copies()),
        recent=tuple(path for store in homes for path in store.edited_copies(since)),
        idle=tuple(idle),
    )
    return (
        outcome
        if verify == NONE
        else outcome._replace(verified=_verify(names, place, env, verify, events))
    )


def patch_states(
    applied: AppliedPatchset, files: Sequence[FileState]
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The state of each patch of an applied patchset, and the files that it changes; nothing where its copy is damaged.

    A patch that changed nothing when the patchset was applied is `upstream` or `not needed`, as it was then.
    """
    from patcher.patchset.layers import patch_name  # these cost more than the rest of `status`
    from patcher.patchset.variants import matching_variants, pick_variants
    from patcher.planner.rewriter import stored_patchset

    paths_of: dict[str, dict[str, list[str]]] = {}  # patch -> state -> files
    steps = (
        (at, step, state)
        for file in files
        for (at, step), state in zip(file.file.patchsets, file.states)
    )
    for item, step, state in steps:
        if (item.site, step.patchset, step.digest) != (applied.site, applied.name, applied.digest):
            continue
        try:
            variants = pick_variants(stored_patchset(item.site, step)).get(
                item.receipt.release.package, ()
            )
        except SitepatchError:  # `damaged` says so
            return {}
        path, variants = (
            item.receipt.path,
            matching_variants(variants, item.receipt.release.version),
        )
        patches = (
            patch for variant in variants for patch in variant.patches if path in patch.paths
        )
        for hunk, recorded in zip(
            (hunk for patch in patches for hunk in patch.hunks), step.hunks.states
        ):
            word = state if recorded == State.APPLICABLE.value else recorded
            paths_of.setdefault(patch_name(hunk.origin), {}).setdefault(word, []).append(path)
    words = {name: worst_of(states) for name, states in paths_of.items()}
    return {
        name: (words[name], tuple(dict.fromkeys(paths_of[name][words[name]]))) for name in paths_of
    }


def _verify(
    names: Texts, place: Place, env: Environment, verification: str, events: Events
) -> Verified:
    """Verify what is applied, as `apply` does with `--verify`."""
    from patcher.planner.rewriter import stored_patchset  # what `status` alone has no use for
    from patcher.verbs.change import verify_settings
    from patcher.verify.run import verify_files as run_checks

    def look() -> Verified:
        items = statuses(env)
        _, applied = divide_names(applied_names(items), one_or_more(names))
        steps = {
            step.digest: (item.site, step)
            for item in items
            for _, step in item.patchsets
            if step.patchset in applied
        }
        patchsets = [stored_patchset(site, step) for site, step in steps.values()]
        settings = verify_settings(place, env, verification, patchsets, events)
        assert settings is not None
        files = [
            FilePlan(
                item.site,
                item.receipt.path,
                before_and_after(item.site, item.receipt, applied)[0],
                item.data,
                None,
                item.receipt.steps,
            )
            for item in items
            if any(file.live and step.patchset in applied for file, step in item.patchsets)
        ]
        with stoppable():
            return run_checks(files, patchsets, settings, written=True)

    return settled(env, look)


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

    --verify also compiles, or imports, what is patched in the target interpreter. A module that cannot be imported without
    the patch either is reported, and is no failure.
    """
    outcome = status(names, place=console.place, verify=verify, events=console)
    console.notes(outcome.recovered, "recovered")
    console.notes((error.brief for error in outcome.broken.values()), "broken")
    rows = [Row(word, (site,), (problem,)) for word, site, problem in outcome.interrupted]
    rows += [Row("damaged", (), (problem, *hint_lines(hint))) for problem, hint in outcome.damaged]
    for patchset in outcome.patchsets:
        patches = patch_states(patchset, outcome.files) if console.verbose else {}
        rows.append(_row(patchset, patches, verbose=console.verbose))
    console.rows([row for row in rows if not console.quiet or row.word != "applied"])
    if not rows and not outcome.idle:
        console.info("nothing is applied in {place}", place=", ".join(outcome.env.own))
    console.notes(Message("{name} is not applied here", name=name) for name in outcome.idle)
    for backup in outcome.backups:
        console.note(
            "{one.message}; put it back: sitepatch restore --from-backup {one.path}{env}",
            one=backup,
        )
    for path in outcome.recent:
        console.note(
            "{path}, an edited text that was set aside; remove it when you no longer need it",
            "kept",
            path=path,
        )
    ok = outcome.works and not (outcome.unreadable or (check and (outcome.differs or outcome.idle)))
    fields: dict[str, Any] = {
        "patchsets": outcome.patchsets,
        "files": [_file_json(file) for file in outcome.files],
    }
    fields["interrupted"] = [
        {"site": site, "problem": problem} for _, site, problem in outcome.interrupted
    ]
    if outcome.verified:
        # `status` alone has no use for it
        from patcher.verbs.report import (
            verified_json,
            verified_rows,
        )

        console.rows(verified_rows(console, outcome.verified))
        fields["verify"] = verified_json(outcome.verified)
    fields["damaged"] = [{"problem": problem, "hint": hint} for problem, hint in outcome.damaged]
    fields["backups"] = [
        {"site": backup.site, "path": backup.path, "backup": backup.name}
        for backup in outcome.backups
    ]
    return console.answer(ok, {**fields, "recovered": outcome.recovered, "kept": outcome.kept})


def _row(
    patchset: AppliedPatchset, patches: Mapping[str, tuple[str, tuple[str, ...]]], *, verbose: bool
) -> Row:
    bad = sum(file.state != APPLIED for file in patchset.files)
    files: str = count(len(patchset.files), "file")
    files = (
        Message("{bad} of {files}", bad=bad, files=files)
        if 0 < bad < len(patchset.files)
        else files
    )
    details = (
        [f"{file.path}:{','.join(map(str, file.places))}" for file in patchset.files]
        if verbose
        else []
    )
    if len(patches) > 1:
        details = [
            f"{term(state)}  {name}: {', '.join(paths)}" for name, (state, paths) in patches.items()
        ]
    details += [*patchset.problems, *hint_lines(patchset.advice)]
    cells = (
        f"{patchset.name} {patchset.version}",
        ", ".join(patchset.releases),
        files,
        options_text(patchset.options),
    )
    return Row(patchset.state, cells, tuple(details))


def _file_json(file_state: FileState) -> dict[str, Any]:
    item, receipt = file_state.file, file_state.file.receipt
    steps = [
        {
            "name": step.patchset,
            "version": step.version,
            "state": state,
            "options": step.options,
            "places": step.hunks.places,
        }
        for (_, step), state in zip(item.patchsets, file_state.states)
    ]
    head = {
        "site": item.site,
        "path": receipt.path,
        "package": receipt.release.package,
        "distribution": receipt.release.distribution,
    }
    head.update(installed=item.installed, origin=receipt.pristine.origin)
    return {
        **head,
        "version": receipt.release.version,
        "condition": item.condition,
        "patchsets": steps,
    }
