"""`list`: the patchsets that can be named, and what each is to an environment."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

import click

from patcher.display.console import Console
from patcher.display.styles import Row, Verbatim, hint_lines, term, translated
from patcher.errors import SitepatchError
from patcher.installed.environment import find_file, locate
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import HunkText, Located, Patchset, Requested, State, Symptom, Variant
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.places import BUILT_IN, builtin_dir, builtin_table
from patcher.patchset.symptoms import general_symptoms, with_tools
from patcher.patchset.variants import matching_variants, paths_of, pick_variants, resolve_options
from patcher.place import HERE, Place
from patcher.store.retry import settled
from patcher.store.status import applied_names, read_installed, statuses
from patcher.text.listed import release_name
from patcher.text.patterns import matches_pattern
from patcher.verbs.options import common_options
from patcher.verbs.standing import applied_patchsets

APPLICABLE, OUT_OF_RANGE, ABSENT = "applicable", Message("out of range"), "absent"
UPSTREAM, NOT_NEEDED = State.UPSTREAM.value, State.NOT_NEEDED.value
FIELDS = {
    "origin": Message("origin"),
    "bug": Message("bug"),
    "forwarded": Message("forwarded"),
    "author": Message("author"),
    "last_update": Message("last update"),
    "remove_when": Message("can go when"),
}
"""The keys of `[provenance]` as people read them."""


class Availability(NamedTuple):
    """What a patchset is to an environment, and its packages that are installed there, of whatever release.

    `state` is one of this module, or, `here`, that of what is applied, as `status` has it.
    """

    state: str
    installed: tuple[Located, ...]
    here: bool = False

    @property
    def in_range(self) -> bool:
        """Whether it is applied, or is for a release that is installed."""
        return self.here or self.state not in (OUT_OF_RANGE, ABSENT)

    @property
    def rank(self) -> int:
        """The lower, the nearer to what is installed."""
        return (
            0
            if self.here
            else (APPLICABLE, UPSTREAM, NOT_NEEDED, OUT_OF_RANGE, ABSENT).index(self.state) + 1
        )


class ListOutcome(NamedTuple):
    """The patchsets, the nearest to what is installed first, and `broken` ones by name.

    `symptoms` are those that the text is about, each with the name of the patchset that cures it, "" for none.
    """

    env: Environment
    patchsets: tuple[tuple[Patchset, Availability], ...]
    symptoms: tuple[tuple[Symptom, str], ...]
    broken: Mapping[str, SitepatchError]
    notes: tuple[str, ...]


def list_patchsets(text: str = "", *, place: Place = HERE) -> ListOutcome:
    """The patchsets that can be named, or that a text (words, an error message) is about, and what each is to an environment.

    Raises:
        SitepatchError: no such environment, or directory of patchsets.
    """
    env = place.environment()
    candidates, broken = Catalogue(place.patch_dirs).load()
    patchsets = [candidate.patchset for candidate in candidates]
    symptoms: list[tuple[Symptom, str]] = []
    if text:
        patchsets, symptoms = _about(text, patchsets, general_symptoms(builtin_dir()))
    notes = [note for item in candidates if item.patchset in patchsets for note in item.shadows]
    items = settled(env, lambda: statuses(env, []))
    known = applied_patchsets(env, items, place.patch_dirs, applied_names(items))
    applied = known.by_name()
    standings = ((patchset, availability(env, patchset, applied)) for patchset in patchsets)
    listed = sorted(standings, key=lambda entry: entry[1].rank)
    return ListOutcome(env, tuple(listed), tuple(symptoms), broken, tuple(notes))


def _about(
    query: str, patchsets: Sequence[Patchset], general: Sequence[Symptom]
) -> tuple[list[Patchset], list[tuple[Symptom, str]]]:
    """What a text is about: an error message that a symptom's pattern matches, or words that are all in a description.

    Args:
        query: what was pasted or typed; upper and lower case are the same.
        patchsets: of which name, packages, summary, prose and symptoms are looked at.
        general: symptoms that no patchset cures.

    Returns:
        the patchsets, and the symptoms that the text is about, each with the name of the patchset that cures it ("": none).
    """
    words = query.lower().split()

    def about(*texts: str) -> bool:
        content = "\n".join(texts).lower()
        return all(word in content for word in words)

    def shown(symptom: Symptom) -> bool:
        texts = symptom.name, *symptom.patterns, symptom.meaning, symptom.advice
        return any(matches_pattern(pattern, query) for pattern in symptom.patterns) or about(*texts)

    symptoms = [
        (symptom, patchset.name)
        for patchset in patchsets
        for symptom in patchset.symptoms
        if shown(symptom)
    ]
    cured = {name for _, name in symptoms}

    def described(patchset: Patchset) -> bool:
        targets = (
            name
            for variant in patchset.variants
            for name in (variant.package, *variant.distributions)
        )
        return about(patchset.name, *targets, patchset.summary, patchset.prose)

    hits = [patchset for patchset in patchsets if patchset.name in cured or described(patchset)]
    return hits, symptoms + [(symptom, "") for symptom in general if shown(symptom)]


def availability(env: Environment, patchset: Patchset, applied: Mapping[str, str]) -> Availability:
    """The state of a patchset in `applied`, by name, else whether it is for the releases that are installed.

    No code is matched: that such a release does without it (`upstream`, `not needed`) is known only where the results for its
    files ship with the patchset. Otherwise the state is `available`.
    """
    installed: list[Located] = []
    ranged: list[tuple[Located, list[Variant]]] = []
    for package, variants in pick_variants(patchset).items():
        try:
            located = locate(env, package, paths_of(variants))
        except SitepatchError:
            continue  # not there, or not to be patched: `check` says which
        installed.append(located)
        matching = matching_variants(variants, located.version)
        ranged += [(located, matching)] if matching else []
    if patchset.name in applied:
        return Availability(applied[patchset.name], tuple(installed), here=True)
    state = OUT_OF_RANGE if installed else ABSENT
    return Availability(_shipped_state(patchset, ranged) if ranged else state, tuple(installed))


def _shipped_state(patchset: Patchset, ranged: Sequence[tuple[Located, Sequence[Variant]]]) -> str:
    """`upstream` or `not needed` where the results that ship with a patchset say so of every file, else `available`."""
    requested = Requested(patchset, resolve_options(patchset, {}))
    table, states = builtin_table(patchset.name), {State.NOT_NEEDED}
    for located, variants in ranged:
        hunks: dict[str, tuple[HunkText, ...]] = {}
        for patch in variants[0].patches:
            try:
                paths = find_file(located, patch.paths)
            except SitepatchError:
                return APPLICABLE  # `check` says why it is not
            absent = not paths and not all(hunk.when_present for hunk in patch.hunks)
            # which of them is meant takes the engine
            if absent or len(paths) > 1 or len(variants) > 1:
                return APPLICABLE
            hunks.update({path: hunks.get(path, ()) + patch.hunks for path in paths})
        for path, file_hunks in hunks.items():
            data = read_installed(located.site, path) or b""
            if sha256(data).hexdigest().encode() not in table:
                return APPLICABLE
            # with json, for a text that is in the table
            from patcher.patchset.results import (
                request_of,
                shipped_result,
            )

            result = shipped_result(data, request_of(requested, file_hunks, variants[0].names))
            states |= {answer.state for answer in result.answers} if result else {State.APPLICABLE}
    if not states <= {State.UPSTREAM, State.NOT_NEEDED}:
        return APPLICABLE
    return UPSTREAM if State.UPSTREAM in states else NOT_NEEDED


@click.command(
    "list",
    epilog="\b\nExamples:\n  sitepatch list --patch-dir ./patchsets\n  sitepatch list _cuda_setDevice",
)
@click.argument("text", metavar="[TEXT]...", nargs=-1)
@common_options()
def command(console: Console, text: tuple[str, ...]) -> int:
    """List the patchsets that can be named, first those for what is installed.

    Each with its state here (applied, or as `sitepatch status` says; applicable: it is for the installed release, upstream or
    not needed: that release is known to do without, out of range, absent: its package is not installed), its kind, releases,
    and where it was found.
    With TEXT, words or an error message, those that it is about, and what it means; exit code 1 if there is nothing.
    """
    outcome = list_patchsets(" ".join(text), place=console.place)
    console.about(outcome.env)
    cures = (
        (symptom, Message("cured by {name}", name=name) if name else "")
        for symptom, name in outcome.symptoms
    )
    symptoms = [
        Row("symptom", (symptom.name,), tuple(symptom_details(symptom, cure)))
        for symptom, cure in cures
    ]
    console.rows([*_list_rows(outcome.patchsets), *broken_rows(outcome.broken), *symptoms])
    nothing = text and not (outcome.patchsets or outcome.symptoms)
    if nothing:
        template = 'no patchset and no known error is about "{text}"; all patchsets: sitepatch list'
        console.info(template, text=" ".join(text))
    console.notes(outcome.notes)
    ok = not (outcome.broken or nothing)
    listed = []
    for patchset, standing in outcome.patchsets:
        homes = [
            {name: getattr(home, name) for name in ("package", "distribution", "version")}
            for home in standing.installed
        ]
        listed.append({**patchset_json(patchset), "state": standing.state, "installed": homes})
    about = {"patchsets": listed, "symptoms": symptoms_json(outcome.symptoms)}
    return console.answer(
        ok, {**about, "broken": broken_json(outcome.broken), "notes": outcome.notes}
    )


def _list_rows(listed: Iterable[tuple[Patchset, Availability]]) -> list[Row]:
    """One row for each patchset: what it is here, and the release that is installed, else those that it is for."""
    rows = []
    for patchset, standing in listed:
        installed = ", ".join(
            release_name(home.package, home.distribution, home.version)
            for home in standing.installed
        )
        ranges = installed if standing.in_range else release_range(patchset.variants[0])
        dots = Message(", …") if patchset.variants[1:] and not standing.in_range else ""
        source = "" if patchset.source == BUILT_IN else str(patchset.source)
        words = (patchset.name, patchset.version, term(patchset.kind), ranges + dots, source)
        rows.append(Row(standing.state, words, (patchset.summary,)))
    return rows


def patchset_json(patchset: Patchset) -> dict[str, Any]:
    """A patchset as `list --json` has it."""
    ranges = [
        {"package": variant.package, "versions": variant.versions} for variant in patchset.variants
    ]
    head = {
        "name": patchset.name,
        "version": patchset.version,
        "kind": patchset.kind,
        "summary": patchset.summary,
    }
    return {**head, "source": str(patchset.source), "digest": patchset.digest, "packages": ranges}


def symptoms_json(symptoms: Iterable[tuple[Symptom, str]]) -> list[dict[str, Any]]:
    """Symptoms and the names of the patchsets that cure them, as JSON."""
    answers = []
    for symptom, name in symptoms:
        head = {"symptom": symptom.name, "patchset": name, "patterns": symptom.patterns}
        answers.append({**head, "meaning": symptom.meaning, "advice": with_tools(symptom.advice)})
    return answers


def release_range(variant: Variant) -> str:
    """The package of a variant and the releases that it is for: `mmengine >=0.1,<1`."""
    return Message(
        "{package} {versions}",
        package=variant.package,
        versions=variant.versions or Message("(any version)"),
    )


def release_ranges(variants: Iterable[Variant]) -> str:
    """Those of several variants."""
    return joined(", ", map(release_range, variants))


def broken_rows(broken: Mapping[str, SitepatchError]) -> list[Row]:
    """One row for each patchset that is wrong in itself, with what is wrong."""
    return [Row("broken", (name,), (error.brief,)) for name, error in broken.items()]


def broken_json(broken: Mapping[str, SitepatchError]) -> list[dict[str, Any]]:
    """The patchsets that are wrong in themselves, as JSON."""
    return [
        {"name": name, "problem": error.message, **error.place} for name, error in broken.items()
    ]


def symptom_details(symptom: Symptom, cure: str = "", devices: Iterable[str] = ()) -> list[str]:
    """The lines below a symptom: what it means, what cures it, and what helps; with the tools of these kinds of devices."""
    hints = hint_lines(symptom.advice)
    if "{smi}" in symptom.advice:
        hints = [Verbatim(with_tools(translated(line), devices)) for line in hints]
    return [
        Message("it means: {meaning}", meaning=symptom.meaning),
        *([cure] if cure else []),
        *hints,
    ]
