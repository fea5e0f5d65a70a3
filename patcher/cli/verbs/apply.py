"""What `apply` and `restore` do."""

from __future__ import annotations

from patcher.cli.answers.outcome import RUNNING, ConsoleEvents, report_outcome, show_applied, show_plan
from patcher.cli.answers.plan import answer_rows
from patcher.cli.console import Console
from patcher.cli.styles import Row, hint_lines
from patcher.model import FilePlan
from patcher.ops.change import apply, restore
from patcher.ops.outcome import ApplyRequest, BackupRequest, Outcome, RestoreRequest


def run_apply(console: Console, request: ApplyRequest) -> int:
    """Apply, and report it."""
    return report_outcome(console, apply(request, ConsoleEvents(console, show_plan)), show_applied)


def run_restore(console: Console, request: RestoreRequest) -> int:
    """Restore, and report it."""
    outcome = restore(request, ConsoleEvents(console, _show_restore_plan))
    damaged = [{"problem": problem, "hint": hint} for problem, hint in outcome.damaged]
    return report_outcome(console, outcome, _show_restored, damaged=damaged)


def _show_restore_plan(console: Console, outcome: Outcome) -> None:
    console.rows(answer_rows(outcome.plan.answers))
    for name in outcome.idle:
        console.info(f"{name} is not applied here: nothing to restore")
    console.rows([Row("damaged", (), (problem, *hint_lines(hint))) for problem, hint in outcome.damaged])
    if not (outcome.patchsets or outcome.idle or outcome.damaged):
        console.info(f"nothing is applied in {', '.join(outcome.env.own)}: nothing to restore")
    console.notes(outcome.plan.notes)


def _show_restored(console: Console, outcome: Outcome) -> None:
    console.info_rows([_restored_row(file) for file in outcome.changed])
    console.note(RUNNING)
    for hook in outcome.hooks:
        console.note(f"the next start of Python applies them again, as {hook} asks for: sitepatch hook remove {hook}")


def _restored_row(file: FilePlan) -> Row:
    stays = ", ".join(step.patchset for step in file.steps)
    if stays:
        more = ", and what was edited by hand" if file.change and file.change.merged else ""
        return Row("restored", (file.path, f"but for {stays}, still applied{more}"))
    if file.change and file.change.data is not None:
        return Row("restored", (file.path, "our change is out, what was edited by hand stays"))
    if file.change and file.change.forget:
        return Row("forgotten", (file.path, "our change is gone already; the file was left alone"))
    return Row("restored", (file.path, "the bytes, mode and mtime of before"))


def run_restore_backups(console: Console, request: BackupRequest) -> int:
    """Put files back from the backups beside them, and report it."""
    from patcher.ops.health.backups import restore_backups  # `apply` has no use for it

    outcome = restore_backups(request, ConsoleEvents(console, _show_backup_plan))
    return report_outcome(console, outcome, _show_put_back)


def _show_backup_plan(console: Console, outcome: Outcome) -> None:
    if not outcome.plan.files:
        sites = ", ".join(outcome.env.own)
        console.info(f"no edited file in {sites} has a backup beside it that RECORD proves: nothing to restore")
    console.notes(outcome.plan.notes)


def _show_put_back(console: Console, outcome: Outcome) -> None:
    text = "what was installed, with the mtime of the backup"
    console.info_rows([Row("restored", (file.path, text)) for file in outcome.changed])
    console.note(RUNNING)
