"""`lint`."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names, format_option
from patcher.ops.authoring.requests import LintRequest
from patcher.ops.place import Place


@click.command(epilog="\b\nExample:\n  sitepatch lint my-fix --strict")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--strict", is_flag=True, help="Exit with 1 on advice too.")
@common_options(environment=False)
@format_option("text", "github")
def lint(console: Console, place: Place, names: Tuple[str, ...], strict: bool, form: str) -> int:
    """Report what is wrong with patchsets, and what makes them fit fewer releases than they could.

    No environment is looked at. Errors, as options that no hunk uses and hunks that meet, exit with 1; advice, as context
    that is written out, does with --strict. All patchsets without a name.
    """
    from patcher.cli.verbs.authoring.lint import run_lint

    return run_lint(console, LintRequest(place, names, strict), form)
