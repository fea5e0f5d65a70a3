"""`explain`."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.commands.options import complete_names, sets_options
from patcher.cli.console import Console, paint, style, takes
from patcher.ops.place import Place


@click.command(epilog="\b\nExample:\n  sitepatch explain mmengine-ddp-debug --target ./site-packages")
@click.argument("name", shell_complete=complete_names)
@sets_options
@takes()
def explain(console: Console, place: Place, name: str, settings: Tuple[str, ...]) -> int:
    """Explain why each hunk of a patchset does or does not fit here.

    Of one that does not fit: the code that comes closest, the first difference, and what to write. Of one that does:
    where it matches, what each placeholder stands for, and what changes. Writes nothing.
    """
    from patcher.cli import explanation
    from patcher.ops.explain import explained
    from patcher.project.selection import choose

    (requested,), notes = choose([name], settings, place.patch_dirs)
    env = place.environment()
    console.about(env)
    told, more = explained(env, requested)
    notes += more
    failed = any(one.answer.state.failed for one in told)
    chosen = [one for one in told if one.answer.state.failed or not console.quiet]
    lines = 10_000 if console.verbose else 20
    console.rows(explanation.rows(chosen, explanation.Paint(paint, lambda marker: style(marker, fg="yellow"), lines)))
    for note in notes:
        console.note(note)
    console.data(not failed, {"patchset": name, "hunks": [explanation.hunk_json(one) for one in told], "notes": notes})
    return 1 if failed else 0
