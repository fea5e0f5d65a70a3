"""What `list` and `show` do."""

from __future__ import annotations

import os
from typing import List

from patcher.cli import report
from patcher.cli.console import Console, description, style
from patcher.errors import SitepatchError
from patcher.ops.place import Place
from patcher.patchset.sources import find_every, folders
from patcher.project.selection import find_all, shadow_notes
from patcher.system.reading import TEXT, read_file


def list_all(console: Console, place: Place) -> int:
    """List the patchsets that can be named."""
    every, errors = find_every(place.patch_dirs, os.getcwd())
    found = [one.patchset for one in every]
    notes = [note for one in every for note in shadow_notes(one)]
    console.rows(report.list_rows(found, errors))
    for note in notes:
        console.note(note)
    bad = [{"name": name, "problem": error.message} for name, error in errors.items()]
    console.data(not errors, {"patchsets": [report.patchset_json(one) for one in found], "broken": bad, "notes": notes})
    return 1 if errors else 0


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
