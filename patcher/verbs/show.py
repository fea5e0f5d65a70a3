"""`show`: why a patchset exists, what it changes, and where it was tried."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Sequence, Tuple

import click

from patcher.errors import SitepatchError
from patcher.message import Message, joined
from patcher.model import Patchset
from patcher.patchset.places import has_texts, patchset_folders
from patcher.patchset.toml import option_text
from patcher.project.selection import find_all
from patcher.system.reading import TEXT, read_file
from patcher.text.listed import count
from patcher.text.terminal import join_styled, printable_lines
from patcher.verbs.console import Console
from patcher.verbs.list import FIELDS, patchset_json, release_range, symptoms_json
from patcher.verbs.options import common_options, complete_names
from patcher.verbs.place import HERE, Place
from patcher.verbs.styles import color_diff, style
from patcher.verbs.translation import term

_TABLE_ROW = re.compile(r"(applicable|upstream|not needed|[a-z ]+?)  +(\S+)  +(\S+)(?: \(yanked\))?(?:  .*)?")


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


def show(name: str, *, place: Place = HERE) -> ShowOutcome:
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


@click.command("show", epilog="\b\nExample:\n  sitepatch show mmengine-ddp-debug")
@click.argument("name", shell_complete=complete_names)
@common_options(environment=False)
def command(console: Console, name: str) -> int:
    """Show why a patchset exists, what it changes and where.

    With its options, the releases that it is proven for, those in which it changes nothing, its patches, and how to undo it.
    """
    outcome = show(name, place=console.place)
    console.notes(outcome.notes)
    console.page(_description(outcome.patchset, outcome.tried))
    return console.answer(True, {"patchset": _description_json(outcome.patchset, outcome.tried), "notes": list(outcome.notes)})


def _description(one: Patchset, tried: Sequence[Proven]) -> List[str]:
    """A patchset in lines: why, what, options, for which releases, how to undo it."""

    def part(title: str, text: Iterable[str]) -> List[str]:
        lines = [joined("", ("  ", line)) for line in text]
        return ["", style(term(title), bold=True), *lines] if lines else []

    def releases(*states: str) -> List[str]:
        return [_proven_text(each) for each in tried if each.state in states]

    idle, good = ("upstream", Message("not needed"), Message("out of range")), ("applicable",)
    heading = style(f"{one.name} {one.version}", bold=True)
    found = [join_styled(heading, f"  {term(one.kind)}, {term(str(one.source))}"), one.summary]
    found += ["", printable_lines(one.prose.strip("\n"))] if one.prose else []
    found += part("provenance", (_field(FIELDS[key], value) for key, value in one.provenance.items()))
    cured = [
        [_field(symptom.name, Message.whole(symptom.meaning)), *(f"  {pattern}" for pattern in symptom.patterns)]
        for symptom in one.symptoms
    ]
    found += part("cures", chain.from_iterable(cured))
    options = []
    for option in one.options:
        choices = Message(", one of {choices}", choices=", ".join(map(option_text, option.choices))) if option.choices else ""
        options.append(
            Message(
                "{name}={value}  {help} ({type}{choices})",
                name=f"{one.name}.{option.name}",
                value=option_text(option.default),
                help=Message.whole(option.help),
                type=option.type,
                choices=choices,
            )
        )
    found += part("options", options) or ["", Message("It has no options.")]
    ranges = []
    for variant in one.variants:
        ranges.append(release_range(variant))
        ranges += [f"  {' or '.join(patch.paths)}" for patch in variant.patches]
    found += part("for", ranges)
    found += part(Message("proven for"), releases(*good))
    found += part(Message("changes nothing in"), releases(*idle))
    found += part(Message("does not fit"), releases(*({each.state for each in tried} - {*idle, *good})))
    for name, text in one.files.items():
        if name.endswith(".spatch"):
            hunks = re.search(r"^--- ", text, re.MULTILINE)
            found += ["", style(name, bold=True), *color_diff(text[hunks.start() if hunks else 0 :].rstrip("\n"))]
    return found + part(
        Message("to apply it, and to undo it"), (f"sitepatch {verb} {one.name}" for verb in ("apply", "restore"))
    )


def _proven_text(one: Proven) -> str:
    releases = f"{one.distribution} {one.first}"
    if one.releases > 1:
        many = count(one.releases, "release")
        releases = Message("{first} to {last} ({releases})", first=releases, last=one.last, releases=many)
    return _field(releases, Message.whole(one.state))


def _field(name: str, value: str) -> str:
    return Message("{name}: {value}", name=name, value=value)


def _description_json(one: Patchset, tried: Sequence[Proven]) -> Dict[str, Any]:
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
