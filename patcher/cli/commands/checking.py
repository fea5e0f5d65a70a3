"""`check`: would it apply here, would it apply to other releases."""

from __future__ import annotations

from typing import Optional, Tuple

import click

from patcher.cli.commands.options import complete_names
from patcher.cli.console import Console, takes
from patcher.errors import UsageError
from patcher.ops.place import Place


@click.command(
    epilog="\b\nExamples:\n  sitepatch check\n  sitepatch check mmengine-ddp-debug --against 0.10.7 --against '<0.3'\n"
    "  sitepatch check torch-musa-guard --against all --html releases.html"
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--against", metavar="VERSION", multiple=True, help="A release, a range as '>=2.4', or `all`; repeatable.")
@click.option("--jobs", metavar="N", type=click.IntRange(1, 64), default=4, help="Releases fetched at a time (default 4).")
@click.option("--html", metavar="FILE", help="With --against: also write a page that can be read offline.")
@takes()
def check(
    console: Console, place: Place, names: Tuple[str, ...], against: Tuple[str, ...], jobs: int, html: Optional[str]
) -> int:
    """Check whether patchsets would apply.

    In this environment; with --against to those releases, whose wheels pip fetches without installing them. All
    patchsets without a name. Nothing is written but a cache of the files that matter (SITEPATCH_CACHE).
    """
    if html and not against:
        raise UsageError("--html: found no --against, whose releases the page shows", "sitepatch diff --html shows this one")
    from patcher.cli.verbs.checks import CheckRequest, run_check

    return run_check(console, CheckRequest(place, names, against, jobs, html))
