"""`update`."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names
from patcher.ops.authoring.requests import UpdateRequest
from patcher.ops.place import Place


@click.command(
    epilog="\b\nExamples:\n  sitepatch update runner-debug --to 0.11.0\n  sitepatch update runner-debug --to 0.11.0 --edit"
)
@click.argument("name", shell_complete=complete_names)
@click.option(
    "--to", metavar="RELEASE|all", multiple=True, help="A version, a range or all (default: what is installed); repeatable."
)
@click.option("--edit", is_flag=True, help="Edit the files of the one release that it does not fit, and add a variant for it.")
@click.option("--from", "copy", metavar="DIR", default="", help="The directory of copies that were edited with --edit before.")
@common_options()
def update(console: Console, place: Place, name: str, to: Tuple[str, ...], edit: bool, copy: str) -> int:
    """Make a patchset hold for further releases.

    Where it fits, the range of its variant is widened to there. Where it does not, the code is shown that came in the place
    of what it looks for; with --edit the files of that release are opened in $VISUAL or $EDITOR, and what is edited becomes
    a further variant, so that one patchset holds on both sides of the change. The environment is not touched.
    """
    from patcher.cli.verbs.authoring.update import run_update, run_update_edited

    request = UpdateRequest(place, name, to, copy)
    return run_update_edited(console, request) if edit and not copy else run_update(console, request)
