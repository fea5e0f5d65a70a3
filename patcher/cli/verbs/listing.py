"""What `list` and `show` do."""

from __future__ import annotations

import os
from typing import List, Tuple

from patcher.cli import report
from patcher.cli.console import Console, description, style
from patcher.diagnose.search import search
from patcher.errors import SitepatchError
from patcher.model import Symptom
from patcher.ops.place import Place
from patcher.patchset.sources import builtin_dir, find_every, folders
from patcher.patchset.symptoms import general
from patcher.project.selection import find_all, shadow_notes
from patcher.system.reading import TEXT, read_file


def list_all(console: Console, place: Place, text: str = "") -> int:
    """List the patchsets that can be named, or those that a text is about and what it means."""
    every, errors = find_every(place.patch_dirs, os.getcwd())
    found = [one.patchset for one in every]
    symptoms: List[Tuple[Symptom, str]] = []
    if text:
        found, symptoms = search(text, found, general(builtin_dir()))
    notes = [note for one in every if one.patchset in found for note in shadow_notes(one)]
    console.rows([*report.list_rows(found, errors), *report.symptom_rows(symptoms)])
    if text and not (found or symptoms):
        console.say(f"nothing that is known is about {text}")
    for note in notes:
        console.note(note)
    bad = [{"name": name, "problem": error.message} for name, error in errors.items()]
    ok = not errors and bool(found or symptoms or not text)
    told = {"patchsets": [report.patchset_json(one) for one in found], "symptoms": report.symptoms_json(symptoms)}
    console.data(ok, {**told, "broken": bad, "notes": notes})
    return 0 if ok else 1


def show_one(console: Console, place: Place, name: str) -> int:
    """Show why a patchset exists, and its options."""
    (one,), notes = find_all([name], place.patch_dirs)
    for note in notes:
        console.note(note)
    console.page(description(one) + _checked(place, name))
    console.data(True, {"patchset": report.patchset_json(one, full=True), "notes": notes})
    return 0


def _checked(place: Place, name: str) -> List[str]:
    """The heading of the table of `check --against all` that lies in a patchset's folder, if there is one."""
    folder, _ = folders(place.patch_dirs, os.getcwd())[name][0]
    try:
        heading = read_file(os.path.join(folder, "compatibility.txt"), TEXT).decode("utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError, SitepatchError):
        return []
    return ["", style("checked", bold=True), f"  {heading} (compatibility.txt)"]
