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

    Looked at are the target files of the patchsets at hand and what is applied, of others only whether a backup lies beside
    them, so that it stays fast; and known troubles of PyTorch, MMEngine and triton. A problem needs a hand (exit code 1), a
    note is good to know. Writes nothing.
    """
    from patcher.cli.verbs.doctor import run_doctor

    return run_doctor(console, place)
