"""`list` and `show`."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.answers.patchsets import (
    availability_json,
    broken_json,
    broken_rows,
    description,
    description_json,
    list_rows,
    patchset_json,
    symptom_rows,
    symptoms_json,
)
from patcher.cli.completion import complete_names
from patcher.cli.console import Console
from patcher.cli.options import common_options
from patcher.ops.looking import show as ops
from patcher.ops.looking.listing import ListRequest, list_patchsets
from patcher.ops.place import Place


@click.command("list", epilog="\b\nExamples:\n  sitepatch list --patch-dir ./patchsets\n  sitepatch list _cuda_setDevice")
@click.argument("text", metavar="[TEXT]...", nargs=-1)
@common_options()
def list_(console: Console, place: Place, text: Tuple[str, ...]) -> int:
    """List the patchsets that can be named, first those for what is installed.

    Each with its state here (applied, available: it is for the installed release, upstream or not needed: that release is
    known to do without, out of range, absent: its package is not installed), its kind, releases, and where it was found.
    With TEXT, words or an error message, those that it is about, and what it means; exit code 1 if there is nothing.
    """
    request = ListRequest(place, " ".join(text))
    outcome = list_patchsets(request)
    console.rows([*list_rows(outcome.patchsets), *broken_rows(outcome.broken), *symptom_rows(outcome.symptoms)])
    nothing = request.text and not (outcome.patchsets or outcome.symptoms)
    if nothing:
        console.info(f"nothing that is known is about {request.text}")
    console.notes(outcome.notes)
    ok = not (outcome.broken or nothing)
    listed = [{**patchset_json(one), **availability_json(here)} for one, here in outcome.patchsets]
    about = {"patchsets": listed, "symptoms": symptoms_json(outcome.symptoms)}
    console.data(ok, {**about, "broken": broken_json(outcome.broken), "notes": list(outcome.notes)})
    return 0 if ok else 1


@click.command(epilog="\b\nExample:\n  sitepatch show mmengine-ddp-debug")
@click.argument("name", shell_complete=complete_names)
@common_options(environment=False)
def show(console: Console, place: Place, name: str) -> int:
    """Show why a patchset exists, what it changes and where.

    With its options, the releases that it is proven for, those in which it changes nothing, its patches, and how to undo it.
    """
    outcome = ops.show(place, name)
    console.notes(outcome.notes)
    console.page(description(outcome.patchset, outcome.tried))
    console.data(True, {"patchset": description_json(outcome.patchset, outcome.tried), "notes": list(outcome.notes)})
    return 0
