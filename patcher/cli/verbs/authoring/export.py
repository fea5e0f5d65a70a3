"""What `export` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

import click

from patcher.cli.answers.outcome import ConsoleEvents
from patcher.cli.answers.plan import answer_json, answer_rows, decoded
from patcher.cli.console import Console
from patcher.cli.styles import color_diff
from patcher.ops.authoring.exporting import export
from patcher.ops.authoring.requests import ExportRequest

if TYPE_CHECKING:
    from patcher.model import Requested
    from patcher.target.environment import Environment


class _ExportEvents(ConsoleEvents):
    """Shows no patchsets with their options: stdout is the patch."""

    def started(self, env: Environment, requested: Sequence[Requested] = ()) -> None:
        """Write nothing."""


def run_export(console: Console, request: ExportRequest) -> int:
    """Write what patchsets make of the release that is installed, in one of the forms of `export`."""
    made = export(request, _ExportEvents(console))
    console.notes(made.plan.notes)
    console.rows(answer_rows(made.plan.failed), err=True)
    console.suggest_explain(request.place, made.plan.failed)
    text = decoded(made.text)
    if request.format == "patch" and not console.plain:
        console.page(color_diff(text))
    elif not console.as_json:
        click.echo(made.text, nl=False)
    for path, digest in made.written:
        line = f"{path if path.startswith(('/', '.')) else f'./{path}'} --hash=sha256:{digest}"
        console.out(line if request.format.endswith("wheel") else f"wrote {path}")
    fields = {
        "format": request.format,
        "patchsets": list(request.names),
        "text": text,
        "written": [{"path": path, "sha256": digest} for path, digest in made.written],
        "answers": [answer_json(each) for each in made.plan.answers],
        "notes": list(made.plan.notes),
    }
    console.data(made.ok, fields)
    return 0 if made.ok else 1
