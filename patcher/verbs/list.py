"""`list`: the patchsets that can be named, and what each is to an environment."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import Iterable, Mapping, Sequence

import click

from patcher.display.console import Console
from patcher.display.patchsets import release_range
from patcher.display.styles import Row, Verbatim, hint_lines, term, translated
from patcher.errors import SitepatchError
from patcher.installed.environment import Locator, find_file
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import (
    HunkText,
    Located,
    Patchset,
    PatchsetSource,
    Requested,
    State,
    Symptom,
    Variant,
)
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.places import BUILT_IN, builtin_dir, builtin_table
from patcher.patchset.results import request_of, shipped_result
from patcher.patchset.symptoms import general_symptoms, with_tools
from patcher.patchset.variants import matching_variants, paths_of, pick_variants, resolve_options
from patcher.place import HERE, Place
from patcher.record import Record, reported
from patcher.store.retry import settled
from patcher.store.status import applied_names, lost_copies, read_installed, statuses
from patcher.text.listed import release_name
from patcher.text.patterns import matches_pattern
from patcher.verbs.options import common_options
from patcher.verbs.standing import applied_patchsets

APPLICABLE, OUT_OF_RANGE, ABSENT = "applicable", Message("out of range"), "absent"
UPSTREAM, NOT_NEEDED = State.UPSTREAM.value, State.NOT_NEEDED.value
_NEAREST_FIRST = (APPLICABLE, UPSTREAM, NOT_NEEDED, OUT_OF_RANGE, ABSENT)


class Availability(Record):
    """What a patchset is to an environment, and its packages that are installed there.

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
        if self.here:
            return 0
        return _NEAREST_FIRST.index(self.state) + 1


class Range(Record):
    """The releases of a package that a patchset is for.

    Attributes:
        package: the import package.
        versions: its versions (PEP 440), "" for any.
    """

    package: str
    versions: str


@reported("name version kind summary source digest packages state installed")
class ListedPatchset(Record):
    """A patchset, and what it is to an environment.

    Attributes:
        patchset: the patchset.
        availability: what it is to the environment.
    """

    patchset: Patchset
    availability: Availability

    @property
    def name(self) -> str:
        """Its name."""
        return self.patchset.name

    @property
    def version(self) -> str:
        """Its version."""
        return self.patchset.version

    @property
    def kind(self) -> str:
        """`fix`, `default` or `debug`."""
        return self.patchset.about.kind

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return self.patchset.about.summary

    @property
    def source(self) -> PatchsetSource:
        """Where it was found."""
        return self.patchset.folder.source

    @property
    def digest(self) -> str:
        """The sha256 (hex) over its texts."""
        return self.patchset.folder.digest

    @property
    def packages(self) -> tuple[Range, ...]:
        """The releases that it is for."""
        return tuple(Range(one.package, one.versions) for one in self.patchset.variants)

    @property
    def state(self) -> str:
        """What it is here, as `status` has it where it is applied.

        Else `applicable`, `upstream`, `not needed`, `out of range` or `absent`.
        """
        return self.availability.state

    @property
    def installed(self) -> tuple[Located, ...]:
        """Its packages that are installed, of whatever release."""
        return self.availability.installed


@reported("name patterns meaning advice patchset")
class KnownError(Record):
    """An error that is known.

    Attributes:
        symptom: how it shows.
        patchset: the name of the patchset that cures it, "" for none.
    """

    symptom: Symptom
    patchset: str

    @property
    def name(self) -> str:
        """Its name."""
        return self.symptom.name

    @property
    def patterns(self) -> tuple[str, ...]:
        """The lines that it has in a log; `*` stands for any text."""
        return self.symptom.signs.patterns

    @property
    def meaning(self) -> str:
        """What it means."""
        return self.symptom.meaning

    @property
    def advice(self) -> str:
        """What to do about it."""
        return with_tools(self.symptom.advice)


@reported("patchsets symptoms broken notes")
class ListOutcome(Record):
    """The patchsets that can be named.

    Attributes:
        env: the environment.
        patchsets: the nearest to what is installed first.
        symptoms: the errors that the text is about.
        broken: by name, patchsets that cannot be read.
        notes: remarks.
    """

    env: Environment
    patchsets: tuple[ListedPatchset, ...]
    symptoms: tuple[KnownError, ...]
    broken: Mapping[str, SitepatchError]
    notes: tuple[str, ...]


def list_patchsets(text: str = "", *, place: Place = HERE) -> ListOutcome:
    """The patchsets that can be named, and what each is to an environment.

    With a text (words, an error message) those that it is about.

    Raises:
        SitepatchError: no such environment, or directory of patchsets.
    """
    env = place.environment()
    candidates, broken = Catalogue(place.patch_dirs).load()
    patchsets = [candidate.patchset for candidate in candidates]
    symptoms: list[KnownError] = []
    if text:
        patchsets, symptoms = _Query(text).select(patchsets, general_symptoms(builtin_dir()))
    notes: list[str] = []
    for candidate in candidates:
        if candidate.patchset in patchsets:
            notes += candidate.shadows

    items = settled(env, lambda: statuses(env, []))
    applied = applied_patchsets(
        env, items, place.patch_dirs, names=applied_names(items), lost=lost_copies(items)
    ).by_name()
    locator = Locator(env)
    entries = []
    for patchset in patchsets:
        entries.append(ListedPatchset(patchset, availability(locator, patchset, applied)))
    entries.sort(key=lambda entry: entry.availability.rank)
    return ListOutcome(
        env=env,
        patchsets=tuple(entries),
        symptoms=tuple(symptoms),
        broken=broken,
        notes=tuple(notes),
    )


class _Query:
    """What was typed or pasted: words that a description has all of, or an error message.

    Upper and lower case are the same.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = text.lower().split()

    def select(
        self, patchsets: Sequence[Patchset], general: Sequence[Symptom]
    ) -> tuple[list[Patchset], list[KnownError]]:
        """The patchsets that the text is about, and the symptoms.

        Args:
            patchsets: of which name, packages, summary, prose and symptoms are searched.
            general: symptoms that no patchset cures.

        Returns:
            The patchsets, and the symptoms, each with the name of the patchset that cures it, ""
                for none.
        """
        selected: list[Patchset] = []
        symptoms: list[KnownError] = []
        for patchset in patchsets:
            cured = [symptom for symptom in patchset.about.symptoms if self._means(symptom)]
            symptoms += [KnownError(symptom, patchset.name) for symptom in cured]
            if cured or self._describes(patchset):
                selected.append(patchset)
        symptoms += [KnownError(symptom, "") for symptom in general if self._means(symptom)]
        return selected, symptoms

    def _means(self, symptom: Symptom) -> bool:
        for pattern in symptom.signs.patterns:
            if matches_pattern(pattern, self._text):
                return True
        return self._is_in(symptom.name, *symptom.signs.patterns, symptom.meaning, symptom.advice)

    def _describes(self, patchset: Patchset) -> bool:
        texts = [patchset.name, patchset.about.summary, patchset.about.prose]
        for variant in patchset.variants:
            texts += [variant.package, *variant.distributions]
        return self._is_in(*texts)

    def _is_in(self, *texts: str) -> bool:
        """Whether every word is in these texts."""
        content = "\n".join(texts).lower()
        return all(word in content for word in self._words)


def availability(locator: Locator, patchset: Patchset, applied: Mapping[str, str]) -> Availability:
    """The state of a patchset in `applied`, else whether it is for the installed releases.

    No code is matched: that such a release does without it (`upstream`, `not needed`) is known only
    where the results for its files ship with the patchset. Otherwise the state is `available`.
    """
    installed: list[Located] = []
    in_range: list[tuple[Located, list[Variant]]] = []
    for package, variants in pick_variants(patchset).items():
        if not locator.is_there(package):
            continue
        try:
            located = locator.locate(package, paths_of(variants))
        except SitepatchError:
            continue  # not there, or not to be patched: `check` says which
        installed.append(located)
        matching = matching_variants(variants, located.version)
        if matching:
            in_range.append((located, matching))

    homes = tuple(installed)
    if patchset.name in applied:
        return Availability(applied[patchset.name], homes, here=True)
    if in_range:
        return Availability(_state_in_range(patchset, in_range), homes)
    return Availability(OUT_OF_RANGE if homes else ABSENT, homes)


def _state_in_range(patchset: Patchset, homes: Sequence[tuple[Located, Sequence[Variant]]]) -> str:
    """`upstream` or `not needed` where the results that ship with a patchset say so of every file.

    Else `applicable`.
    """
    requested = Requested(patchset, resolve_options(patchset, {}))
    table = builtin_table(patchset.name)
    states = {State.NOT_NEEDED}
    for located, variants in homes:
        # which of several is meant takes the engine
        hunks = _hunks_by_file(located, variants[0]) if len(variants) == 1 else None
        if hunks is None:
            return APPLICABLE
        for path, file_hunks in hunks.items():
            data = read_installed(located.site, path) or b""
            if sha256(data).hexdigest().encode() not in table:
                return APPLICABLE
            result = shipped_result(data, request_of(requested, file_hunks, variants[0].names))
            if not result:
                return APPLICABLE
            states |= {answer.state for answer in result.answers}
    if not states <= {State.UPSTREAM, State.NOT_NEEDED}:
        return APPLICABLE
    return UPSTREAM if State.UPSTREAM in states else NOT_NEEDED


def _hunks_by_file(located: Located, variant: Variant) -> dict[str, tuple[HunkText, ...]] | None:
    """The hunks for each installed file; None where a file is missing or one of several."""
    hunks: dict[str, tuple[HunkText, ...]] = {}
    for patch in variant.patches:
        try:
            paths = find_file(located, patch.places)
        except SitepatchError:
            return None  # `check` says why it is not
        if len(paths) > 1:
            return None
        if not paths and not all(hunk.flags.when_present for hunk in patch.hunks):
            return None
        for path in paths:
            hunks[path] = hunks.get(path, ()) + patch.hunks
    return hunks


# the command --------------------------------------------------------------------------------------
@click.command(
    "list",
    epilog=(
        "\b\nExamples:\n  sitepatch list --patch-dir ./patchsets\n  sitepatch list _cuda_setDevice"
    ),
)
@click.argument("text", metavar="[TEXT]...", nargs=-1)
@common_options()
def command(console: Console, text: tuple[str, ...]) -> int:
    """List the patchsets that can be named, first those for what is installed.

    Each with its state here (applied, or as `sitepatch status` says; applicable: it is for the
    installed release, upstream or not needed: that release is known to do without). Of the other
    built-in ones, which are for other releases (out of range) or for packages that are not
    installed (absent), the packages alone; -v lists each, with its kind and releases. With TEXT,
    words or an error message, those that it is about, and what it means; exit code 1 if there is
    nothing.
    """
    outcome = list_patchsets(" ".join(text), place=console.place)
    console.about(outcome.env)
    others: list[Row] = []
    if text or console.verbose:
        rows = _detailed_rows(outcome.patchsets)
    else:
        rows = _short_rows(outcome.patchsets)
        others = _rows_of_others(outcome.patchsets)
    console.rows([*rows, *others, *broken_rows(outcome.broken), *_symptom_rows(outcome)])
    if others:
        console.info(
            "those of a package: {one}; each of them: {every}",
            one=console.command("list", "PACKAGE"),
            every=console.command("list", "-v"),
        )
    is_unknown = bool(text) and not (outcome.patchsets or outcome.symptoms)
    if is_unknown:
        template = (
            'no patchset and no known error is about "{text}"; all patchsets: sitepatch list; '
            "one of your own: sitepatch edit PACKAGE FILE"
        )
        console.info(template, text=" ".join(text))
    console.notes(outcome.notes)

    return console.answer(not (outcome.broken or is_unknown), outcome)


def _is_one_of_others(patchset: Patchset, standing: Availability) -> bool:
    """Whether a patchset is built in and for nothing that is installed."""
    return patchset.folder.source == BUILT_IN and not standing.in_range


def _short_rows(entries: Iterable[ListedPatchset]) -> list[Row]:
    """One line for each patchset but the others: its name, where it was found, what it does."""
    rows = []
    for patchset, standing in entries:
        if _is_one_of_others(patchset, standing):
            continue
        summary = translated(patchset.about.summary)
        if patchset.folder.source != BUILT_IN:
            summary = f"{translated(str(patchset.folder.source))}: {summary}"
        rows.append(Row(standing.state, (patchset.name, Verbatim(summary)), cut=True))
    return rows


def _rows_of_others(entries: Iterable[ListedPatchset]) -> list[Row]:
    """The packages of the others in one row for each state, with how many are for each package."""
    numbers: dict[str, Counter[str]] = {OUT_OF_RANGE: Counter(), ABSENT: Counter()}
    for patchset, standing in entries:
        if _is_one_of_others(patchset, standing):
            numbers[standing.state].update({variant.package for variant in patchset.variants})
    rows = []
    for state, counted in numbers.items():
        packages = []
        for package, number in sorted(counted.items()):
            packages.append(package if number == 1 else f"{package} ({number})")
        if packages:
            rows.append(Row(state, (", ".join(packages),)))
    return rows


def _detailed_rows(entries: Iterable[ListedPatchset]) -> list[Row]:
    """One row for each patchset: what it is here, and the installed release or its range."""
    rows = []
    for patchset, standing in entries:
        source = "" if patchset.folder.source == BUILT_IN else str(patchset.folder.source)
        cells = (
            patchset.name,
            patchset.version,
            term(patchset.about.kind),
            _releases(patchset, standing),
            source,
        )
        rows.append(Row(standing.state, cells, (patchset.about.summary,)))
    return rows


def _releases(patchset: Patchset, standing: Availability) -> str:
    """The installed releases of a patchset, or the first of its ranges."""
    if standing.in_range:
        names = [
            release_name(home.package, home.distribution, home.version)
            for home in standing.installed
        ]
        return ", ".join(names)
    first, *others = patchset.variants
    dots = Message(", …") if others else ""
    return release_range(first) + dots


def _symptom_rows(outcome: ListOutcome) -> list[Row]:
    rows = []
    for symptom, name in outcome.symptoms:
        cure = Message("cured by {name}", name=name) if name else ""
        rows.append(Row("symptom", (symptom.name,), tuple(symptom_details(symptom, cure))))
    return rows


def broken_rows(broken: Mapping[str, SitepatchError]) -> list[Row]:
    """One row for each patchset that is wrong in itself, with what is wrong."""
    return [Row("broken", (name,), (error.brief,)) for name, error in broken.items()]


def symptom_details(symptom: Symptom, cure: str = "", devices: Iterable[str] = ()) -> list[str]:
    """The lines below a symptom: what it means, what cures it, and what helps.

    The advice names the tools of these kinds of devices.
    """
    details: list[str] = [Message("it means: {meaning}", meaning=symptom.meaning)]
    if cure:
        details.append(cure)
    has_tools = "{smi}" in symptom.advice
    for line in hint_lines(symptom.advice):
        details.append(Verbatim(with_tools(translated(line), devices)) if has_tools else line)
    return details
