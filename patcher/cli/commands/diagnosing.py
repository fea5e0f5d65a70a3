"""`diagnose`."""

from __future__ import annotations

import sys
from typing import Optional, Tuple

import click

from patcher.cli.console import Console, takes
from patcher.errors import UsageError
from patcher.ops.place import Place


@click.command(
    epilog=(
        "\b\nExamples:\n  torchrun --nproc_per_node=8 train.py 2>&1 | sitepatch diagnose\n"
        "  sitepatch diagnose work_dirs/logs --html ranks.html\n  sitepatch diagnose train.log --follow"
    )
)
@click.argument("logs", metavar="[LOG]...", nargs=-1, type=click.Path())
@click.option("--follow", "grows", is_flag=True, help="Also what is written from now on, until Ctrl-C.")
@click.option("--run", "which", metavar="N|all", help="Which run, where the logs hold several; default: the newest.")
@click.option("--html", metavar="FILE", help="Write a page with a picture of ranks by devices, that can be read offline.")
@takes()
def diagnose(
    console: Console, place: Place, logs: Tuple[str, ...], grows: bool, which: Optional[str], html: Optional[str]
) -> int:
    """Say what an error in a log means, and which patchset cures it.

    It reads the logs of all ranks: files (compressed by gzip, too), directories with all that is below them, or standard
    input (-). Of each known trouble it says what has happened, whether the patchset that cures it fits this environment or
    is applied there already, and the one command to run. What mmengine-ddp-debug printed becomes a table of all ranks.
    Exit code 1 if anything was found.
    """
    if not logs and (sys.stdin is None or sys.stdin.isatty()):
        raise UsageError("no log was given", "name files or directories, or pipe a log into the command")
    if grows and (html or which or console.as_json):
        raise UsageError("--follow: found --html, --run or --json, which are for logs that have ended")
    from patcher.cli.verbs.diagnosing import run_diagnose, run_follow
    from patcher.ops.diagnose import DiagnoseRequest

    request = DiagnoseRequest(place, logs or ("-",))
    return run_follow(console, request) if grows else run_diagnose(console, request, which, html)
