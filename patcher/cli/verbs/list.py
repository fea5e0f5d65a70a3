"""What `list` and `show` do."""

from __future__ import annotations

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
from patcher.cli.console import Console
from patcher.ops.looking.listing import ListRequest, list_patchsets
from patcher.ops.looking.show import show
from patcher.ops.place import Place


def list_all(console: Console, request: ListRequest) -> int:
    """List the patchsets that can be named, what fits the environment first; or what a text is about, and what it means."""
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


def show_one(console: Console, place: Place, name: str) -> int:
    """Show why a patchset exists, what it changes, its options, where it was tried, and how to undo it."""
    outcome = show(place, name)
    console.notes(outcome.notes)
    console.page(description(outcome.patchset, outcome.tried))
    console.data(True, {"patchset": description_json(outcome.patchset, outcome.tried), "notes": list(outcome.notes)})
    return 0
