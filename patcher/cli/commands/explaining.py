"""`explain`."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names, settings_option
from patcher.ops.place import Place


@click.command(epilog="\b\nExample:\n  sitepatch explain mmengine-ddp-debug --target ./site-packages")
@click.argument("name", shell_complete=complete_names)
@settings_option
@common_options()
def explain(console: Console, place: Place, name: str, settings: Tuple[str, ...]) -> int:
    """Explain why each hunk of a patchset does or does not fit here.

    Of one that does not fit: the code that comes closest, the first difference, and what to write. Of one that does:
    where it matches, what each placeholder stands for, and what changes. Writes nothing.
    """
    from patcher.cli.verbs.explain import run_explain
    from patcher.ops.explain import ExplainRequest

    return run_explain(console, ExplainRequest(place, name, settings))
