"""What `restore --from-backup` did, as text, as JSON and as an exit code."""

from __future__ import annotations

from patcher.cli.answers.changes import RUNNING, Live, finish, note_all
from patcher.cli.console import Console
from patcher.ops.health.backups import restore_backups
from patcher.ops.outcome import BackupRequest, Outcome
from patcher.text.table import Row


def run_restore_backups(console: Console, request: BackupRequest) -> int:
    """Put files back from the backups beside them, and report it."""

    def plan(console: Console, outcome: Outcome) -> None:
        if not outcome.plan.files:
            sites = ", ".join(outcome.env.own)
            console.say(f"no edited file in {sites} has a backup beside it that RECORD proves: nothing to restore")
        note_all(console, outcome.plan)

    def show(outcome: Outcome) -> None:
        cells = "what was installed, with the mtime of the backup"
        console.rows([] if console.quiet else [Row("restored", (file.path, cells)) for file in outcome.changed])
        console.note(RUNNING)

    return finish(console, restore_backups(request, Live(console, plan)), show)
