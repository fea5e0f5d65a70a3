"""`apply` and `restore`."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, Tuple

import click

from patcher.cli.commands.completion import complete_names, sets_options
from patcher.cli.commands.verifying import ways_to_verify
from patcher.cli.console import Console, takes
from patcher.errors import UsageError
from patcher.ops.place import Place


def takes_turns(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command that writes `--lock-timeout`, and call it again where another process was faster."""

    @wraps(function)
    def run(console: Console, place: Place, lock_timeout: float, **rest: Any) -> int:
        from patcher.store.lock import patience
        from patcher.store.turns import again

        with patience(lock_timeout, lambda text: console.note(text, "waiting")):
            return again(lambda: function(console, place, **rest), console.note)

    wrapped: Callable[..., int] = click.option(
        "--lock-timeout", type=click.FloatRange(min=0), metavar="SECONDS", default=60.0, show_default=True,
        envvar="SITEPATCH_LOCK_TIMEOUT", show_envvar=True,
        help="How long to wait for another process that changes the environment.",
    )(run)  # fmt: skip
    return wrapped


@click.command(epilog="\b\nExample:\n  sitepatch apply mmengine-ddp-debug --set params=10 --dry-run")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_names)
@sets_options
@click.option("--dry-run", is_flag=True, help="Show the plan and the diff, and write nothing at all.")
@click.option("--restore", "back", is_flag=True, help="Restore the files, as the command restore does.")
@click.option("--force", is_flag=True, help="Also where a file was edited by hand; the edited text is kept in the store.")
@click.option("--no-verify", is_flag=True, help="Do not verify what was written.")
@ways_to_verify
@takes()
@takes_turns
def apply(
    console: Console, place: Place, names: Tuple[str, ...], settings: Tuple[str, ...], dry_run: bool, back: bool,
    force: bool, no_verify: bool, compile_only: bool, probe: bool, timeout: float,
) -> int:  # fmt: skip
    """Apply patchsets, all of them or none.

    Where one does not fit, nothing is written, and every problem is reported. What was written is compiled and imported by
    the target interpreter; where that fails and did not fail before, all of it is rolled back.
    """
    from patcher.cli.changes import run_apply, run_restore
    from patcher.ops.change import ApplyRequest, RestoreRequest
    from patcher.verify.checks import Asked

    if back and settings:
        raise UsageError("--set and --restore: found both", "options matter for applying alone")
    if probe and (back or no_verify):
        raise UsageError(f"--probe and {'--restore' if back else '--no-verify'}: found both", "a probe is part of verifying")
    if back:
        return run_restore(console, RestoreRequest(place, names, force, dry_run))
    asked = Asked(timeout, no_verify, compile_only, probe)
    return run_apply(console, ApplyRequest(place, names, settings, asked, dry_run, force))


@click.command(epilog="\b\nExamples:\n  sitepatch restore\n  sitepatch restore mmengine-ddp-debug")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--force", is_flag=True, help="Drop edits made by hand; a copy is kept in the store.")
@click.option("--dry-run", is_flag=True, help="Show what would be restored, and write nothing at all.")
@takes()
@takes_turns
def restore(console: Console, place: Place, names: Tuple[str, ...], force: bool, dry_run: bool) -> int:
    """Restore the files that patchsets changed, byte for byte.

    Those of all patchsets without a name. Mode and mtime are as before, too. In a file that was edited by hand since, the
    edit is kept and only our change is removed.
    """
    from patcher.cli.changes import run_restore
    from patcher.ops.change import RestoreRequest

    return run_restore(console, RestoreRequest(place, names, force, dry_run))
