"""`import`."""

from __future__ import annotations

import sys
from typing import Optional, Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options
from patcher.errors import UsageError
from patcher.ops.authoring.requests import ImportRequest
from patcher.ops.place import Place


@click.command(
    "import",
    epilog="\b\nExamples:\n  sitepatch import fix.patch --name runner-fix\n"
    "  git show 1a2b3c | sitepatch import - --name runner-fix --also 0.10.5 --partial",
)
@click.argument("patch", metavar="FILE", type=click.Path())
@click.option("--name", required=True, help="The name of the new patchset.")
@click.option("--output", metavar="DIR", type=click.Path(), help="Where its folder goes (default ./patchsets).")
@click.option(
    "--also",
    metavar="RELEASE|DIR",
    multiple=True,
    help="A release from the index, or a directory of packages, for which it should hold as well; repeatable.",
)
@click.option("--partial", is_flag=True, help="Leave out what is no code of an installed Python file.")
@click.option(
    "--fuzz",
    metavar="N",
    type=click.IntRange(0, 10),
    default=0,
    help="How many lines of context may differ at either end of a hunk (default 0).",
)
@click.option("--explain", is_flag=True, help="Show the forms of each hunk that were not chosen, and why.")
@common_options(sources=False)
def import_(
    console: Console,
    place: Place,
    patch: str,
    name: str,
    output: Optional[str],
    also: Tuple[str, ...],
    partial: bool,
    fuzz: int,
    explain: bool,
) -> int:
    """Make a patchset of a diff.

    FILE is what git diff, git format-patch or diff -u write, a quilt series or its directory, or - for standard input. Its
    subject, prose and DEP-3 header become those of the patchset, its changes hunks that are matched by syntax. They are
    proven on what is installed, and on each release of --also. The environment is not touched.
    """
    from patcher.cli.verbs.authoring.importing import run_import

    data = None
    if patch == "-":
        if sys.stdin is None:
            raise UsageError("standard input is closed", "name a file")
        data = sys.stdin.buffer.read()
    source = "standard input" if data is not None else patch
    request = ImportRequest(place, source, name, data, output, also, partial, fuzz)
    return run_import(console, request, explain=explain)
