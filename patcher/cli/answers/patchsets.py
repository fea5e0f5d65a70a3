"""Patchsets as text and as JSON: what `list` and `show` answer. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Sequence, Tuple

from patcher.cli.styles import Row, color_diff, hint_lines, style
from patcher.cli.translation import term
from patcher.errors import SitepatchError
from patcher.model import Patchset, Symptom, Variant
from patcher.patchset.toml import option_text
from patcher.text.listed import count
from patcher.text.printable import Styled, join_styled, printable_lines
from patcher.text.release import release_name

if TYPE_CHECKING:
    from patcher.ops.looking.listing import Availability  # not for the commands that look at no environment
    from patcher.ops.looking.show import Proven


# list -----------------------------------------------------------------------------------------------------------------
def release_range(variant: Variant) -> str:
    """The package of a variant and the releases that it is for: `mmengine >=0.1,<1`."""
    return f"{variant.package} {variant.versions or '(any version)'}"


def release_ranges(variants: Iterable[Variant]) -> str:
    """Those of several variants."""
    return ", ".join(map(release_range, variants))


def list_rows(listed: Iterable[Tuple[Patchset, Availability]]) -> List[Row]:
    """One row for each patchset: what it is here, and the release that is installed, else those that it is for."""
    rows = []
    for one, here in listed:
        installed = ", ".join(release_name(each.package, each.distribution, each.version) for each in here.installed)
        ranges = installed if here.in_range else release_ranges(one.variants)
        rows.append(Row(here.state, (one.name, one.version, one.kind, ranges, str(one.source)), (one.summary,)))
    return rows


def broken_rows(broken: Mapping[str, SitepatchError]) -> List[Row]:
    """One row for each patchset that is wrong in itself, with what is wrong."""
    return [Row("broken", (name,), (error.brief,)) for name, error in broken.items()]


def broken_json(broken: Mapping[str, SitepatchError]) -> List[Dict[str, Any]]:
    """The patchsets that are wrong in themselves, as JSON."""
    return [{"name": name, "problem": error.message, **error.place} for name, error in broken.items()]


def symptom_rows(symptoms: Iterable[Tuple[Symptom, str]]) -> List[Row]:
    """One row for each symptom and the name of the patchset that cures it, "" for none."""
    cures = ((one, f"cured by {name}" if name else "") for one, name in symptoms)
    return [Row("symptom", (one.name,), tuple(symptom_details(one, cure))) for one, cure in cures]


def symptom_details(symptom: Symptom, cure: str = "") -> List[str]:
    """The lines below a symptom: what it means, what cures it, and what helps."""
    return [f"it means: {symptom.meaning}", *([cure] if cure else []), *hint_lines(symptom.advice)]


# show -----------------------------------------------------------------------------------------------------------------
def description(one: Patchset, tried: Sequence[Proven]) -> List[str]:
    """A patchset in lines: why, what, options, for which releases, how to undo it."""

    def part(title: str, text: Iterable[str]) -> List[str]:
        lines = [join_styled("  ", line) if isinstance(line, Styled) else f"  {line}" for line in text]
        return ["", style(term(title), bold=True), *lines] if lines else []

    def releases(*states: str) -> List[str]:
        return [_proven_text(each) for each in tried if each.state in states]

    idle, good = ("upstream", "not needed", "out of range"), ("applies",)
    found = [join_styled(style(f"{one.name} {one.version}", bold=True), f"  {one.kind}, {one.source}"), one.summary]
    found += ["", printable_lines(one.prose.strip("\n"))] if one.prose else []
    found += part("provenance", (join_styled(key, ": ", value) for key, value in one.provenance.items()))
    cured = [
        [f"{each.name}: {each.meaning}", *(join_styled("  ", pattern) for pattern in each.patterns)] for each in one.symptoms
    ]
    found += part("cures", (line for lines in cured for line in lines))
    options = []
    for option in one.options:
        choices = ", one of " + ", ".join(map(option_text, option.choices)) if option.choices else ""
        options.append(f"{one.name}.{option.name}={option_text(option.default)}  {option.help} ({option.type}{choices})")
    found += part("options", options) or ["", "It has no options."]
    ranges = []
    for variant in one.variants:
        ranges.append(release_range(variant))
        ranges += [f"  {' or '.join(patch.paths)}" for patch in variant.patches]
    found += part("for", ranges)
    found += part("proven for", releases(*good))
    found += part("changes nothing in", releases(*idle))
    found += part("does not fit", releases(*({each.state for each in tried} - {*idle, *good})))
    for name, text in one.files.items():
        if name.endswith(".spatch"):
            hunks = re.search(r"^--- ", text, re.MULTILINE)
            found += ["", style(name, bold=True), *color_diff(text[hunks.start() if hunks else 0 :].rstrip("\n"))]
    return found + part("to apply it, and to undo it", (f"sitepatch {verb} {one.name}" for verb in ("apply", "restore")))


def _proven_text(one: Proven) -> str:
    several = f" to {one.last} ({count(one.releases, 'release')})" if one.releases > 1 else ""
    return f"{one.distribution} {one.first}{several}: {one.state}"


# JSON -----------------------------------------------------------------------------------------------------------------
def availability_json(here: Availability) -> Dict[str, Any]:
    """What a patchset is to an environment, as JSON."""
    installed = [{"package": one.package, "distribution": one.distribution, "version": one.version} for one in here.installed]
    return {"state": here.state, "installed": installed}


def symptoms_json(symptoms: Iterable[Tuple[Symptom, str]]) -> List[Dict[str, Any]]:
    """Symptoms and the names of the patchsets that cure them, as JSON."""
    return [
        {"symptom": one.name, "patchset": name, "patterns": list(one.patterns), "meaning": one.meaning, "advice": one.advice}
        for one, name in symptoms
    ]


def patchset_json(one: Patchset) -> Dict[str, Any]:
    """A patchset as `list --json` has it."""
    ranges = [{"package": variant.package, "versions": variant.versions} for variant in one.variants]
    fields = {"name": one.name, "version": one.version, "kind": one.kind, "summary": one.summary, "source": str(one.source)}
    return {**fields, "digest": one.digest, "packages": ranges}


def description_json(one: Patchset, tried: Sequence[Proven]) -> Dict[str, Any]:
    """A patchset as `show --json` has it."""
    options = [{**option._asdict(), "choices": list(option.choices)} for option in one.options]
    variants = [
        {"package": variant.package, "versions": variant.versions, "files": [list(p.paths) for p in variant.patches]}
        for variant in one.variants
    ]
    verify = {"imports": list(one.verify.imports), "probe": one.verify.probe}
    symptoms = symptoms_json((each, one.name) for each in one.symptoms)
    more = {"prose": one.prose, "provenance": dict(one.provenance), "options": options, "variants": variants}
    last = {"verify": verify, "files": dict(one.files), "symptoms": symptoms, "proven": [each._asdict() for each in tried]}
    return {**patchset_json(one), **more, **last}
