"""`apply` and `restore`."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.answers.outcome import RUNNING, report_outcome, show_applied, show_plan
from patcher.cli.answers.plan import answer_rows
from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names, patient, settings_option, writing_options
from patcher.cli.styles import Row, hint_lines
from patcher.errors import UsageError
from patcher.message import Message
from patcher.model import FilePlan
from patcher.ops import change as ops
from patcher.ops.outcome import ApplyRequest, BackupRequest, Outcome, RestoreRequest


@click.command(epilog="\b\nExample:\n  sitepatch apply mmengine-ddp-debug --set params=10 --dry-run")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_names)
@settings_option
@click.option("--dry-run", is_flag=True, help="Show the plan and the diff, and write nothing at all.")
@click.option("--restore", "back", is_flag=True, help="Restore the files, as the command restore does.")
@writing_options
@common_options()
@patient
def apply(
    console: Console, names: Tuple[str, ...], settings: Tuple[str, ...], dry_run: bool, back: bool, force: bool, verify: str
) -> int:
    """Apply patchsets, all of them or none.

    Where one does not fit, nothing is written, and every problem is reported. What is planned is compiled and imported by
    the target interpreter first; where that fails, and does not fail without the patch, nothing is written either.
    """
    if back and settings:
        raise UsageError("--set and --restore: found both", "options matter for applying alone")
    if back and verify == "probe":
        raise UsageError("--verify probe and --restore: found both", "a probe is part of verifying")
    if back:
        return report_restored(console, RestoreRequest(console.place, names, force, dry_run))
    return report_applied(console, ApplyRequest(console.place, names, settings, verify, dry_run, force))


def report_applied(console: Console, request: ApplyRequest) -> int:
    """Apply, and report it."""
    console.on_plan = show_plan
    return report_outcome(console, ops.apply(request, console), show_applied)


@click.command(epilog="\b\nExamples:\n  sitepatch restore mmengine-ddp-debug\n  sitepatch restore --from-backup --dry-run")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--force", is_flag=True, help="Drop edits made by hand; a copy is kept in the store.")
@click.option("--from-backup", is_flag=True, help="Put back what was edited by hand (NAME: a file or package).")
@click.option("--dry-run", is_flag=True, help="Show what would be restored, and write nothing at all.")
@common_options()
@patient
def restore(console: Console, names: Tuple[str, ...], force: bool, from_backup: bool, dry_run: bool) -> int:
    """Restore the files that patchsets changed, byte for byte.

    Those of all patchsets without a name. Mode and mtime are as before, too. In a file that was edited by hand since, the
    edit is kept and only our change is removed.

    With --from-backup files in which no patchset is applied are put back from a backup beside them (runner.py.orig) that has
    the sha256 that RECORD gives; the edited texts are kept in the store.
    """
    if from_backup:
        if force:
            raise UsageError("--force and --from-backup: found both", "what was edited is kept in the store in any case")
        from patcher.ops.health.backups import restore_backups  # `apply` has no use for it

        console.on_plan = _show_backup_plan
        return report_outcome(console, restore_backups(BackupRequest(console.place, names, dry_run), console), _show_put_back)
    return report_restored(console, RestoreRequest(console.place, names, force, dry_run))


def report_restored(console: Console, request: RestoreRequest) -> int:
    """Restore, and report it."""
    console.on_plan = _show_restore_plan
    outcome = ops.restore(request, console)
    damaged = [{"problem": problem, "hint": hint} for problem, hint in outcome.damaged]
    return report_outcome(console, outcome, _show_restored, damaged=damaged)


def _show_restore_plan(console: Console, outcome: Outcome) -> None:
    console.rows(answer_rows(outcome.plan.answers))
    for name in outcome.idle:
        console.info("{name} is not applied here: nothing to restore", name=name)
    console.rows([Row("damaged", (), (problem, *hint_lines(hint))) for problem, hint in outcome.damaged])
    if not (outcome.patchsets or outcome.idle or outcome.damaged):
        console.info("nothing is applied in {place}: nothing to restore", place=", ".join(outcome.env.own))
    console.notes(outcome.plan.notes)


def _show_restored(console: Console, outcome: Outcome) -> None:
    console.info_rows([_restored_row(file) for file in outcome.changed])
    if not all(file.change and file.change.forget for file in outcome.changed):
        console.note(RUNNING)
    for hook in outcome.hooks:
        console.note(
            "the next start of Python applies them again, as {hook} asks for: sitepatch hook remove {hook}", hook=hook
        )


def _restored_row(file: FilePlan) -> Row:
    stays = ", ".join(step.patchset for step in file.steps)
    if stays:
        more = Message(", and what was edited by hand") if file.change and file.change.merged else ""
        return Row("restored", (file.path, Message("but for {stays}, still applied{more}", stays=stays, more=more)))
    if file.change and file.change.data is not None:
        return Row("restored", (file.path, Message("our change is out, what was edited by hand stays")))
    if file.change and file.change.forget:
        return Row("forgotten", (file.path, Message("our change is gone already; the file was left alone")))
    return Row("restored", (file.path, Message("the bytes, mode and mtime of before")))


def _show_backup_plan(console: Console, outcome: Outcome) -> None:
    if not outcome.plan.files:
        sites = ", ".join(outcome.env.own)
        console.info("no edited file in {sites} has a backup beside it that RECORD proves: nothing to restore", sites=sites)
    console.notes(outcome.plan.notes)


def _show_put_back(console: Console, outcome: Outcome) -> None:
    text = Message("what was installed, with the mtime of the backup")
    console.info_rows([Row("restored", (file.path, text)) for file in outcome.changed])
    console.note(RUNNING)
