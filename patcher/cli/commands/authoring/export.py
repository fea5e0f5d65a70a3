"""`export`."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.message import Message
from patcher.verbs.console import Console, decoded, requirement
from patcher.verbs.options import common_options, complete_names, settings_option
from patcher.verbs.rows import answer_json, answer_rows
from patcher.verbs.styles import color_diff
from patcher.verbs.usage import Choice

_FORMATS = ("patch", "wheel", "patchset-wheel")


@click.command(
    epilog="\b\nExamples:\n  sitepatch export mmengine-ddp-debug > ddp.patch\n"
    "  sitepatch export mmengine-ddp-debug --format wheel --output wheels\n"
    "  sitepatch export vendor --output patches --against 0.10.0"
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_names)
@click.option(
    "--format", "form", type=Choice(_FORMATS), default=_FORMATS[0], show_default=True, help="What to export."
)
@click.option(
    "--output",
    metavar="PATH",
    default="",
    help="A file; for wheels and series a folder.  [default: standard output; dist]",
)
@click.option("--against", metavar="RELEASE", default="", help="The release of the index that a patch is for.")
@click.option("--wheel", "wheels", metavar="FILE", multiple=True, help="The wheel of the release; else pip fetches it.")
@settings_option
@common_options()
def export(
    console: Console,
    names: Tuple[str, ...],
    form: str,
    output: str,
    against: str,
    wheels: Tuple[str, ...],
    settings: Tuple[str, ...],
) -> int:
    """Export what patchsets make of the release that is installed, for those without sitepatch.

    As a patch for git apply and patch -p1, of a series a mail for each of its patches, for git am as well; or the wheel of the
    release with the files changed and a local version (+sitepatch.1).

    A patchset-wheel is for those who have sitepatch: it holds the patchset itself, for every release, and is installed beside
    sitepatch, which then lists it.
    """
    from patcher.ops.authoring import exporting as ops  # with the engine

    request = ops.ExportRequest(console.place, names, form, settings, output, wheels, against)
    made = ops.export(request, console)
    console.notes(made.plan.notes)
    console.rows(answer_rows(made.plan.failed), err=True)
    console.suggest_explain(made.plan.failed, console.place.patch_dirs)
    text = decoded(made.text)
    if form == "patch" and not console.plain:
        console.page(color_diff(text))
    elif not console.as_json:
        click.echo(made.text, nl=False)
    for path, digest in made.written:
        console.out(requirement(path, digest) if form.endswith("wheel") else Message("wrote {path}", path=path))
    fields = {
        "format": form,
        "patchsets": list(names),
        "text": text,
        "written": [{"path": path, "sha256": digest} for path, digest in made.written],
        "answers": [answer_json(each) for each in made.plan.answers],
        "notes": list(made.plan.notes),
    }
    return console.answer(made.ok, fields)
