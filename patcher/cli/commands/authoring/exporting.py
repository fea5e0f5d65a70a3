"""`export`."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names, settings_option
from patcher.ops.authoring.requests import ExportRequest
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
@settings_option
@common_options()
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
    from patcher.cli.verbs.authoring.export import run_export

    return run_export(console, ExportRequest(place, names, form, settings, output, wheels))
