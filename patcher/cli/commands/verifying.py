"""`verify`."""

from __future__ import annotations

from typing import Any, Tuple

import click

from patcher.cli.commands.options import complete_names, verify_options, ways_to_verify
from patcher.cli.console import Console, takes
from patcher.ops.place import Place


@click.command(epilog="\b\nExamples:\n  sitepatch verify\n  sitepatch verify mmengine-ddp-debug --probe")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@ways_to_verify
@takes()
def verify(console: Console, place: Place, names: Tuple[str, ...], **ways: Any) -> int:
    """Compile and import what is patched.

    In the target interpreter: all that is applied without a name. A module that cannot be imported without the patch
    either is reported, and is no failure.
    """
    from patcher.cli.verbs.verifying import run_verify

    return run_verify(console, place, names, verify_options(**ways))
