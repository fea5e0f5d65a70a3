"""`doctor`."""

from __future__ import annotations

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options
from patcher.ops.place import Place


@click.command(epilog="\b\nExample:\n  sitepatch doctor --python /opt/venv")
@common_options()
def doctor(console: Console, place: Place) -> int:
    """Report known problems of this environment, and what to do.

    It checks the files that known patchsets are for and what is applied, of other files only whether a backup lies beside
    them, so that it stays fast; and looks for known problems of PyTorch, MMEngine and triton. Exit code 1 if there is a
    problem; a note is for information. Writes nothing.
    """
    from patcher.cli.verbs.doctor import run_doctor

    return run_doctor(console, place)
