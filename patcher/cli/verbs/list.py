"""What `list` and `show` do."""

from __future__ import annotations

import os
from typing import List, Tuple

from patcher.cli.answers.patchsets import (
    broken_json,
    broken_rows,
    description,
    description_json,
    fit_json,
    list_rows,
    patchset_json,
    proven,
    symptom_rows,
    symptoms_json,
)
from patcher.cli.console import Console
from patcher.diagnose.search import search_patchsets
from patcher.model import Symptom
from patcher.ops.fit import fit
from patcher.ops.place import Place
from patcher.ops.reasons import checked
from patcher.patchset.sources import builtin_dir, find_patchsets
from patcher.patchset.symptoms import general_symptoms
from patcher.project.selection import find_all, shadow_notes
from patcher.store.retry import settled
from patcher.store.status import named, statuses


def list_all(console: Console, place: Place, text: str = "") -> int:
    """List the patchsets that can be named, what fits the environment first; or what a text is about, and what it means."""
    env = place.environment()
    every, errors = find_patchsets(place.patch_dirs, os.getcwd())
    found = [one.patchset for one in every]
    symptoms: List[Tuple[Symptom, str]] = []
    if text:
        found, symptoms = search_patchsets(text, found, general_symptoms(builtin_dir()))
    notes = [note for one in every if one.patchset in found for note in shadow_notes(one)]
    applied, _, _ = named(settled(env, lambda: statuses(env, [])), ())
    fits = sorted(((one, fit(env, one, applied)) for one in found), key=lambda each: each[1].rank)
    console.rows([*list_rows(fits), *broken_rows(errors), *symptom_rows(symptoms)])
    if text and not (found or symptoms):
        console.info(f"nothing that is known is about {text}")
    console.notes(notes)
    ok = not errors and bool(found or symptoms or not text)
    listed = [{**patchset_json(one), **fit_json(here)} for one, here in fits]
    about = {"patchsets": listed, "symptoms": symptoms_json(symptoms)}
    console.data(ok, {**about, "broken": broken_json(errors), "notes": notes})
    return 0 if ok else 1


def show_one(console: Console, place: Place, name: str) -> int:
    """Show why a patchset exists, what it changes, its options, where it was tried, and how to undo it."""
    (one,), notes = find_all([name], place.patch_dirs)
    console.notes(notes)
    tried = proven(checked(one, place.patch_dirs))
    console.page(description(one, tried))
    console.data(True, {"patchset": description_json(one, tried), "notes": notes})
    return 0
