"""`explain`."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.answers.explanation import explanation_row, hunk_json
from patcher.cli.completion import complete_names, settings_option
from patcher.cli.console import Console
from patcher.cli.options import common_options


@click.command(epilog="\b\nExample:\n  sitepatch explain mmengine-ddp-debug --target ./site-packages")
@click.argument("name", shell_complete=complete_names)
@settings_option
@common_options()
def explain(console: Console, name: str, settings: Tuple[str, ...]) -> int:
    """Explain why each hunk of a patchset does or does not fit here.

    Of one that does not fit: the code that comes closest, the first difference, and what to write. Of one that does:
    where it matches, what each placeholder stands for, and what changes. Writes nothing.
    """
    from patcher.ops import explain as ops  # with the engine

    outcome = ops.explain(ops.ExplainRequest(console.place, name, settings), console)
    chosen = [one for one in outcome.hunks if one.answer.state.failed or not console.quiet]
    console.rows([explanation_row(one, 10_000 if console.verbose else 20) for one in chosen])
    console.notes(outcome.notes)
    hunks = [hunk_json(one) for one in outcome.hunks]
    return console.answer(outcome.ok, {"patchset": name, "hunks": hunks, "notes": list(outcome.notes)})
