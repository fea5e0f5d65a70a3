"""`list` and `show`: the patchsets that can be named, what each is to an environment, and where it was tried. Reads only."""

from __future__ import annotations

import re
from contextlib import suppress
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Dict, List, Mapping, NamedTuple, Sequence, Tuple

from patcher.diagnose.patterns import matches_pattern
from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.model import HunkText, Located, Patchset, Requested, State, Symptom, Variant
from patcher.ops.place import Place
from patcher.ops.status import applied_states
from patcher.patchset.places import builtin_dir, builtin_table, has_texts, patchset_folders
from patcher.patchset.sources import find_patchsets, matching_variants, pick_variants, resolve_options
from patcher.patchset.symptoms import general_symptoms
from patcher.project.selection import find_all, shadow_notes
from patcher.store.retry import settled
from patcher.store.status import read_installed, statuses
from patcher.system.reading import TEXT, read_file
from patcher.target.environment import find_file, locate
from patcher.target.interpreter import Environment

AVAILABLE, OUT_OF_RANGE, ABSENT = "available", Message("out of range"), "absent"
UPSTREAM, NOT_NEEDED = State.UPSTREAM.value, State.NOT_NEEDED.value
_TABLE_ROW = re.compile(r"(applies|upstream|not needed|[a-z ]+?)  +(\S+)  +(\S+)(?: \(yanked\))?(?:  .*)?")


class Availability(NamedTuple):
    """What a patchset is to an environment, and its packages that are installed there, of whatever release.

    `state` is one of this module, or, `here`, that of what is applied, as `status` has it.
    """

    state: str
    installed: Tuple[Located, ...]
    here: bool = False

    @property
    def in_range(self) -> bool:
        """Whether it is applied, or is for a release that is installed."""
        return self.here or self.state not in (OUT_OF_RANGE, ABSENT)

    @property
    def rank(self) -> int:
        """The lower, the nearer to what is installed."""
        return 0 if self.here else (AVAILABLE, UPSTREAM, NOT_NEEDED, OUT_OF_RANGE, ABSENT).index(self.state) + 1


class ListRequest(NamedTuple):
    """List all patchsets, or with a text (words or an error message) those that it is about."""

    place: Place
    text: str = ""


class ListOutcome(NamedTuple):
    """The patchsets, the nearest to what is installed first, and `broken` ones by name.

    `symptoms` are those that the text is about, each with the name of the patchset that cures it, "" for none.
    """

    env: Environment
    patchsets: Tuple[Tuple[Patchset, Availability], ...]
    symptoms: Tuple[Tuple[Symptom, str], ...]
    broken: Mapping[str, SitepatchError]
    notes: Tuple[str, ...]


def list_patchsets(request: ListRequest) -> ListOutcome:
    """The patchsets that can be named, and what each is to an environment.

    Raises:
        SitepatchError: no such environment, or directory of patchsets.
    """
    place = request.place
    env = place.environment()
    every, broken = find_patchsets(place.patch_dirs, Path.cwd())
    found = [one.patchset for one in every]
    symptoms: List[Tuple[Symptom, str]] = []
    if request.text:
        found, symptoms = _about(request.text, found, general_symptoms(builtin_dir()))
    notes = [note for one in every if one.patchset in found for note in shadow_notes(one)]
    applied = applied_states(env, settled(env, lambda: statuses(env, [])), place.patch_dirs)
    listed = sorted(((one, availability(env, one, applied)) for one in found), key=lambda each: each[1].rank)
    return ListOutcome(env, tuple(listed), tuple(symptoms), broken, tuple(notes))


def _about(
    text: str, patchsets: Sequence[Patchset], general: Sequence[Symptom]
) -> Tuple[List[Patchset], List[Tuple[Symptom, str]]]:
    """What a text is about: an error message that a symptom's pattern matches, or words that are all in a description.

    Args:
        text: what was pasted or typed; upper and lower case are the same.
        patchsets: of which name, summary, prose and symptoms are looked at.
        general: symptoms that no patchset cures.

    Returns:
        the patchsets, and the symptoms that the text is about, each with the name of the patchset that cures it ("": none).
    """
    words = text.lower().split()

    def about(*texts: str) -> bool:
        whole = "\n".join(texts).lower()
        return all(word in whole for word in words)

    def shown(symptom: Symptom) -> bool:
        texts = symptom.name, *symptom.patterns, symptom.meaning, symptom.advice
        return any(matches_pattern(pattern, text) for pattern in symptom.patterns) or about(*texts)

    symptoms = [(symptom, one.name) for one in patchsets for symptom in one.symptoms if shown(symptom)]
    cured = {name for _, name in symptoms}
    found = [one for one in patchsets if one.name in cured or about(one.name, one.summary, one.prose)]
    return found, symptoms + [(symptom, "") for symptom in general if shown(symptom)]


def availability(env: Environment, patchset: Patchset, applied: Mapping[str, str]) -> Availability:
    """The state of a patchset in `applied`, by name, else whether it is for the releases that are installed.

    No code is matched: that such a release does without it (`upstream`, `not needed`) is known only where the results for its
    files ship with the patchset. Otherwise the state is `available`.
    """
    installed: List[Located] = []
    ranged: List[Tuple[Located, List[Variant]]] = []
    for package, variants in pick_variants(patchset).items():
        try:
            located = locate(env, package, [path for one in variants for patch in one.patches for path in patch.paths])
        except SitepatchError:
            continue  # not there, or not to be patched: `check` says which
        installed.append(located)
        matching = matching_variants(variants, located.version)
        ranged += [(located, matching)] if matching else []
    if patchset.name in applied:
        return Availability(applied[patchset.name], tuple(installed), here=True)
    state = OUT_OF_RANGE if installed else ABSENT
    return Availability(_shipped_state(patchset, ranged) if ranged else state, tuple(installed))


def _shipped_state(patchset: Patchset, ranged: Sequence[Tuple[Located, Sequence[Variant]]]) -> str:
    """`upstream` or `not needed` where the results that ship with a patchset say so of every file, else `available`."""
    requested = Requested(patchset, resolve_options(patchset, {}))
    table, states = builtin_table(patchset.name), {State.NOT_NEEDED}
    for located, variants in ranged:
        hunks: Dict[str, Tuple[HunkText, ...]] = {}
        for patch in variants[0].patches:
            found = find_file(located, patch.paths)
            absent = not found and not all(hunk.when_present for hunk in patch.hunks)
            if absent or len(found) > 1 or len(variants) > 1:  # which of them is meant takes the engine
                return AVAILABLE
            hunks.update({path: hunks.get(path, ()) + patch.hunks for path in found})
        for path, several in hunks.items():
            data = read_installed(located.site, path) or b""
            if sha256(data).hexdigest().encode() not in table:
                return AVAILABLE
            from patcher.patchset.results import request_of, shipped_result  # with json, for a text that is in the table

            made = shipped_result(data, request_of(requested, several, variants[0].names))
            states |= {answer.state for answer in made.answers} if made else {State.APPLICABLE}
    if not states <= {State.UPSTREAM, State.NOT_NEEDED}:
        return AVAILABLE
    return UPSTREAM if State.UPSTREAM in states else NOT_NEEDED


# show -----------------------------------------------------------------------------------------------------------------
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
