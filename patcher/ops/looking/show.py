"""`show`: a patchset, and the releases that it was tried on."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import List, NamedTuple, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.model import Patchset
from patcher.ops.place import Place
from patcher.patchset.places import has_texts, patchset_folders
from patcher.project.selection import find_all
from patcher.system.reading import TEXT, read_file

_TABLE_ROW = re.compile(r"(applies|upstream|not needed|[a-z ]+?)  +(\S+)  +(\S+)(?: \(yanked\))?(?:  .*)?")


class Proven(NamedTuple):
    """Releases on which a patchset was tried, with one answer: `releases` of them, from `first` to `last`."""

    distribution: str
    first: str
    last: str
    releases: int
    state: str


class ShowOutcome(NamedTuple):
    """A patchset, the releases that it was tried on, and remarks."""

    patchset: Patchset
    tried: Tuple[Proven, ...]
    notes: Tuple[str, ...]


def show(place: Place, name: str) -> ShowOutcome:
    """Find a patchset.

    Raises:
        UsageError: there is none of that name.
        PatchError: it is invalid.
    """
    (patchset,), notes = find_all([name], place.patch_dirs)
    return ShowOutcome(patchset, tuple(proven(compatibility_table(patchset, place.patch_dirs))), tuple(notes))


def compatibility_table(patchset: Patchset, patch_dirs: Sequence[str]) -> str:
    """The `compatibility.txt` beside this very patchset: what `check --against all` has found; "" where there is none."""
    with suppress(OSError, UnicodeDecodeError, SitepatchError):
        for folder, _ in patchset_folders(patch_dirs, Path.cwd()).get(patchset.name, ())[:1]:
            if has_texts(folder, patchset.files):
                return read_file(Path(folder, "compatibility.txt"), TEXT).decode("utf-8").strip()
    return ""


def proven(table: str) -> List[Proven]:
    """The rows of a `compatibility.txt`, neighbours with one answer together."""
    rows = [row.groups() for row in map(_TABLE_ROW.fullmatch, table.splitlines()[1:]) if row]
    found = []
    for (state, distribution), run in groupby(rows, key=lambda row: row[:2]):
        versions = [version for _, _, version in run]
        found.append(Proven(distribution, versions[0], versions[-1], len(versions), state))
    return found
