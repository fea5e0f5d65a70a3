"""`test`: the cases of patchsets, and the releases that they are for."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names
from patcher.ops.place import Place


@click.command(epilog="\b\nExamples:\n  sitepatch test my-fix\n  sitepatch test my-fix --against all")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--against", metavar="VERSION", multiple=True, help="Also as `check --against`; repeatable.")
@click.option("--jobs", metavar="N", type=click.IntRange(1, 64), default=4, help="Releases fetched at a time (default 4).")
@common_options(environment=False)
def test(console: Console, place: Place, names: Tuple[str, ...], against: Tuple[str, ...], jobs: int) -> int:
    """Try the cases beside patchsets: what they are to make of small texts.

    cases/NAME.before.py becomes NAME.after.py; NAME.upstream.py, NAME.not-needed.py and NAME.refused.py get that answer.
    pytest collects them too. All patchsets without a name; no environment is looked at.
    """
    from patcher.cli.verbs.authoring.test import run_test

    return run_test(console, place, names, against, jobs)
