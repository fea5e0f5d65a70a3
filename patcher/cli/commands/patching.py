"""`apply`, `restore` and `verify`."""

from __future__ import annotations

from typing import Any, Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import (
    common_options,
    complete_names,
    retried,
    settings_option,
    verify_options,
    verifying_options,
    writing_options,
)
from patcher.errors import UsageError
from patcher.ops.outcome import ApplyRequest, BackupRequest, RestoreRequest
from patcher.ops.place import Place


@click.command(epilog="\b\nExample:\n  sitepatch apply mmengine-ddp-debug --set params=10 --dry-run")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_names)
@settings_option
@click.option("--dry-run", is_flag=True, help="Show the plan and the diff, and write nothing at all.")
@click.option("--restore", "back", is_flag=True, help="Restore the files, as the command restore does.")
@writing_options
@common_options()
@retried
def apply(
    console: Console,
    place: Place,
    names: Tuple[str, ...],
    settings: Tuple[str, ...],
    dry_run: bool,
    back: bool,
    force: bool,
    no_verify: bool,
    **ways: Any,
) -> int:
    """Apply patchsets, all of them or none.

    Where one does not fit, nothing is written, and every problem is reported. What was written is compiled and imported by
    the target interpreter; where that fails and did not fail before, all of it is rolled back.
    """
    from patcher.cli.verbs.apply import run_apply, run_restore

    if back and settings:
        raise UsageError("--set and --restore: found both", "options matter for applying alone")
    if back and ways["probe"]:
        raise UsageError("--probe and --restore: found both", "a probe is part of verifying")
    if back:
        return run_restore(console, RestoreRequest(place, names, force, dry_run))
    return run_apply(
        console, ApplyRequest(place, names, settings, verify_options(no_verify=no_verify, **ways), dry_run, force)
    )


@click.command(epilog="\b\nExamples:\n  sitepatch restore mmengine-ddp-debug\n  sitepatch restore --from-backup --dry-run")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--force", is_flag=True, help="Drop edits made by hand; a copy is kept in the store.")
@click.option("--from-backup", is_flag=True, help="Put back what was edited by hand (NAME: a file or package).")
@click.option("--dry-run", is_flag=True, help="Show what would be restored, and write nothing at all.")
@common_options()
@retried
def restore(console: Console, place: Place, names: Tuple[str, ...], force: bool, from_backup: bool, dry_run: bool) -> int:
    """Restore the files that patchsets changed, byte for byte.

    Those of all patchsets without a name. Mode and mtime are as before, too. In a file that was edited by hand since, the
    edit is kept and only our change is removed.

    With --from-backup files in which no patchset is applied are put back from a backup beside them (runner.py.orig) that has
    the sha256 that RECORD gives; the edited texts are kept in the store.
    """
    from patcher.cli.verbs.apply import run_restore, run_restore_backups

    if from_backup:
        if force:
            raise UsageError("--force and --from-backup: found both", "what was edited is kept in the store in any case")
        return run_restore_backups(console, BackupRequest(place, names, dry_run))
    return run_restore(console, RestoreRequest(place, names, force, dry_run))


@click.command(epilog="\b\nExamples:\n  sitepatch verify\n  sitepatch verify mmengine-ddp-debug --probe")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@verifying_options
@common_options()
def verify(console: Console, place: Place, names: Tuple[str, ...], **ways: Any) -> int:
    """Compile and import what is patched.

    In the target interpreter: all that is applied without a name. A module that cannot be imported without the patch
    either is reported, and is no failure.
    """
    from patcher.cli.verbs.verify import run_verify

    return run_verify(console, place, names, verify_options(**ways))
