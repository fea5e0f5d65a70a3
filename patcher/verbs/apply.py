"""`apply`: verify patchsets, and apply all of them or none."""

from __future__ import annotations

from typing import Sequence

import click

from patcher.display.console import Console
from patcher.display.plan import report_outcome, show_applied, show_plan
from patcher.errors import UsageError
from patcher.facts import Wanted
from patcher.hook.installed import hooks_against
from patcher.model import Requested
from patcher.outcomes import PlanOutcome, Task
from patcher.patchset.selection import choose
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.survey import make_plan
from patcher.text.listed import Texts
from patcher.verbs.change import carry_out
from patcher.verbs.options import (
    common_options,
    complete_names,
    patient,
    settings_option,
    writing_options,
)
from patcher.verbs.restore import report_restored
from patcher.verbs.verification import verify_settings
from patcher.verify import IMPORT


class ApplyOutcome(PlanOutcome):
    """The outcome of `apply`.

    Attributes:
        hooks: the hooks that will undo it.
    """

    hooks: tuple[str, ...] = ()


def apply(
    names: Texts,
    settings: Texts = (),
    *,
    place: Place = HERE,
    verify: str = IMPORT,
    dry_run: bool = False,
    force: bool = False,
    events: Events = SILENT,
) -> ApplyOutcome:
    """Verify patchsets, and apply all of them or none.

    Args:
        names: of patchsets.
        settings: values of options, as `--set` takes them.
        place: the environment.
        verify: `none`, `compile`, `import` or `probe`.
        dry_run: write nothing.
        force: also files that were edited by hand; the edited text is kept in the store.
        events: takes the plan, and what is done.

    Raises:
        SitepatchError: what keeps it from making a plan or from writing.
    """
    requested, notes = choose(names, settings, place.patch_dirs, trusted=True)
    outcome = apply_requested(
        requested, notes, place=place, verify=verify, dry_run=dry_run, force=force, events=events
    )
    if not outcome.written:
        return outcome
    hooks = hooks_against(outcome.task.env, requested)
    return outcome._replace(hooks=tuple(hooks))


def apply_requested(
    requested: Sequence[Requested],
    notes: Sequence[str] = (),
    *,
    place: Place,
    verify: str,
    dry_run: bool,
    force: bool = False,
    events: Events = SILENT,
) -> ApplyOutcome:
    """Apply patchsets that are loaded already, with these remarks; see `apply`."""
    env = place.environment()
    patchsets = [item.patchset for item in requested]
    verification = verify_settings(place, env, verify, patchsets=patchsets, events=events)
    task = Task(
        place.patch_dirs,
        env,
        names=tuple(patchset.name for patchset in patchsets),
        requested=tuple(requested),
        dry_run=dry_run,
    )
    events.started(env, requested)

    def look() -> ApplyOutcome:
        plan = make_plan(env, Wanted(task.requested, force=force))
        plan = plan._replace(notes=(*notes, *plan.notes))
        return ApplyOutcome(task, plan)

    return carry_out(look, env, verification, events=events, dry_run=dry_run)


@click.command(
    "apply", epilog="\b\nExample:\n  sitepatch apply mmengine-ddp-debug --set params=10 --dry-run"
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_names)
@settings_option
@click.option(
    "--dry-run", is_flag=True, help="Show the plan and the diff, and write nothing at all."
)
@click.option(
    "--restore", "back", is_flag=True, help="Restore the files, as the command restore does."
)
@writing_options
@common_options()
@patient
def command(
    console: Console,
    names: tuple[str, ...],
    settings: tuple[str, ...],
    dry_run: bool,
    back: bool,
    force: bool,
    verify: str,
) -> int:
    """Apply patchsets, all of them or none.

    Where one does not fit, nothing is written, and every problem is reported. What is planned is
    compiled and imported by the target interpreter first; where that fails, and does not fail
    without the patch, nothing is written either.
    """
    if back and settings:
        raise UsageError("--set and --restore: found both", "options matter for applying alone")
    if back and verify == "probe":
        raise UsageError("--verify probe and --restore: found both", "a probe is part of verifying")
    if back:
        return report_restored(console, names, force=force, dry_run=dry_run)
    return report_applied(console, names, settings, verify=verify, dry_run=dry_run, force=force)


def report_applied(
    console: Console,
    names: Texts,
    settings: Texts,
    *,
    verify: str,
    dry_run: bool = False,
    force: bool = False,
) -> int:
    """Apply, and report it."""
    console.on_plan = show_plan
    outcome = apply(
        names,
        settings,
        place=console.place,
        verify=verify,
        dry_run=dry_run,
        force=force,
        events=console,
    )
    report_outcome(console, outcome)
    if outcome.written:
        show_applied(console, outcome, hooks=outcome.hooks)
    return console.answer(outcome.ok, outcome)
