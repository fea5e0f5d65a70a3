"""`sync` and `lock`."""

from __future__ import annotations

from typing import Any, Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options, format_option, project_options, retried, verify_options, writing_options
from patcher.errors import UsageError
from patcher.ops.place import Place


@click.command(epilog="\b\nExample:\n  pip install -r requirements.txt && sitepatch sync -r requirements.txt --locked")
@project_options
@click.option("--locked", is_flag=True, help="Do nothing where anything differs from the lock; report all that does.")
@click.option("--dry-run", is_flag=True, help="Show the plan and the diff, and write nothing at all.")
@writing_options
@common_options()
@retried
def sync(
    console: Console,
    place: Place,
    project: str,
    requirements: Tuple[str, ...],
    lock_file: str,
    locked: bool,
    dry_run: bool,
    force: bool,
    no_verify: bool,
    **ways: Any,
) -> int:
    """Make the environment what the project asks for.

    What is missing is applied, what changed is updated, and what is applied but is not asked for is REVERTED, also
    what was applied by hand. All of it or nothing, and verified as by apply.

    The project asks in [tool.sitepatch] of its pyproject.toml and in comments of requirements files.
    """
    if lock_file and not locked:
        raise UsageError("--lock: found no --locked, without which no lock is looked at")
    from patcher.cli.verbs.sync import run_sync
    from patcher.ops.project import SyncRequest
    from patcher.project.request import ProjectFiles

    files = ProjectFiles(project, requirements, lock_file, locked)
    return run_sync(console, SyncRequest(place, files, verify_options(no_verify=no_verify, **ways), dry_run, force))


@click.command(epilog="\b\nExamples:\n  sitepatch lock\n  sitepatch lock -r requirements.txt --check")
@project_options
@click.option("--check", is_flag=True, help="Write nothing; exit code 1, and what differs, where the lock would be another.")
@common_options()
@format_option("text", "github")
def lock(console: Console, place: Place, project: str, requirements: Tuple[str, ...], **options: Any) -> int:
    """Write down what the project asks for, and what it makes.

    The version and the sha256 of each patchset, and for each release that is installed the sha256 of every file before
    and after. The environment stays as it is. Releases that were locked in other environments stay in the lock as long
    as the patchsets and their options are the same.
    """
    from patcher.cli.verbs.sync import run_lock
    from patcher.ops.project import LockRequest
    from patcher.project.request import ProjectFiles

    files = ProjectFiles(project, requirements, options["lock_file"])
    return run_lock(console, LockRequest(place, files, options["check"]), options["form"])
