"""`export`."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.commands.options import complete_names, sets_options
from patcher.cli.console import Console, paint, takes
from patcher.ops.place import Place

_FORMATS = ("patch", "series", "wheel", "script", "patchset-wheel")


@click.command(
    epilog="\b\nExamples:\n  sitepatch export mmengine-ddp-debug > ddp.patch\n"
    "  sitepatch export mmengine-ddp-debug --format wheel --output wheels"
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_names)
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default=_FORMATS[0], show_default=True, help="What is made of them."
)
@click.option(
    "--output",
    metavar="PATH",
    default="",
    help="A file; for series and wheels a folder.  [default: standard output; patches; dist]",
)
@click.option("--wheel", "wheels", metavar="FILE", multiple=True, help="The wheel of the release; else pip fetches it.")
@sets_options
@takes()
def export(
    console: Console,
    place: Place,
    names: Tuple[str, ...],
    form: str,
    output: str,
    wheels: Tuple[str, ...],
    settings: Tuple[str, ...],
) -> int:
    """Export what patchsets make of the release that is installed, for those without sitepatch.

    As a patch for git apply and patch -p1; a quilt series, a patch for each; the wheel of the release with the files changed
    and a local version (+sitepatch.1); a script that patches and restores, and needs nothing but Python.

    A patchset-wheel is for those who have sitepatch: it holds the patchset itself, for every release, and is installed beside
    sitepatch, which then lists it.
    """
    from patcher.cli.answers.report import answer_json, answer_rows
    from patcher.ops.authoring.exporting import export
    from patcher.ops.authoring.requests import ExportRequest
    from patcher.ops.outcome import Events

    class Told(Events):
        def note(self, text: str, word: str = "note") -> None:
            console.note(text, word)

    made = export(ExportRequest(place, names, form, settings, output, wheels), Told())
    for note in made.plan.notes:
        console.note(note)
    console.rows(answer_rows(made.plan.failed), err=True)
    console.see(place, made.plan.failed)
    if form == "patch" and not console.plain:
        console.page(paint(made.text.decode("utf-8", "surrogateescape")))
    elif not console.as_json:
        click.echo(made.text, nl=False)
    for path, digest in made.written:
        line = f"{path if path.startswith(('/', '.')) else f'./{path}'} --hash=sha256:{digest}"
        console.out(line if form.endswith("wheel") else f"wrote {path}")
    fields = {"answers": [answer_json(each) for each in made.plan.answers], "notes": list(made.plan.notes)}
    written = [{"path": path, "sha256": digest} for path, digest in made.written]
    text = made.text.decode("utf-8", "surrogateescape")
    console.data(made.ok, {"format": form, "patchsets": list(names), "text": text, "written": written, **fields})
    return 0 if made.ok else 1
