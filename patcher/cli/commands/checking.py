"""`check`: would it apply here, would it apply to other releases."""

from __future__ import annotations

from typing import Optional, Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names, format_option
from patcher.errors import UsageError
from patcher.ops.place import Place


@click.command(
    epilog="\b\nExamples:\n  sitepatch check\n  sitepatch check mmengine-ddp-debug --against 0.10.7 --against '<0.3'\n"
    "  sitepatch check torch-musa-guard --against all --html releases.html\n"
    "  sitepatch check mmengine-ddp-debug --against newest --format github   # once a week, in CI"
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--against", metavar="VERSION", multiple=True, help="A release, a range as '>=2.4', all or newest; repeatable.")
@click.option("--jobs", metavar="N", type=click.IntRange(1, 64), default=4, help="Releases fetched at a time (default 4).")
@click.option("--html", metavar="FILE", help="With --against: also write a page that can be read offline.")
@common_options()
@format_option("text", "github", "junit")
def check(
    console: Console,
    place: Place,
    names: Tuple[str, ...],
    against: Tuple[str, ...],
    jobs: int,
    html: Optional[str],
    form: str,
) -> int:
    """Check whether patchsets would apply.

    In this environment; with --against to those releases, of which pip fetches what matters, without installing them. All
    patchsets without a name. Nothing is written but a cache of the files that matter (SITEPATCH_CACHE).

    Releases with one answer are one line, with -v each has its own. --against newest looks at the newest release alone, and
    one that a patchset is not for is a failure then. --format github writes annotations, junit a report of tests.
    """
    if html and not against:
        raise UsageError("--html: found no --against, whose releases the page shows", "sitepatch diff --html shows this one")
    from patcher.cli.verbs.check import run_check
    from patcher.ops.releases.check import CheckRequest

    return run_check(console, CheckRequest(place, names, against, jobs), form, html)
