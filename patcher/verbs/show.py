"""`show`: why a patchset exists, what it changes, and where it was tried."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Iterable, NamedTuple, Sequence

import click

from patcher.display.console import Console
from patcher.display.styles import color_diff, style, term
from patcher.errors import SitepatchError
from patcher.message import Message, joined
from patcher.model import Patchset
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.places import has_texts
from patcher.patchset.toml import option_text
from patcher.place import HERE, Place
from patcher.system.reading import TEXT, read_file
from patcher.text.listed import count
from patcher.text.terminal import join_styled, printable_lines
from patcher.verbs.list import FIELDS, patchset_json, release_range, symptoms_json
from patcher.verbs.options import common_options, complete_names

_TABLE_ROW = re.compile(
    r"(applicable|upstream|not needed|[a-z ]+?)  +(\S+)  +(\S+)(?: \(yanked\))?(?:  .*)?"
)


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
    tried: tuple[Proven, ...]
    notes: tuple[str, ...]


def show(name: str, *, place: Place = HERE) -> ShowOutcome:
    """Find a patchset.

    Raises:
        UsageError: there is none of that name.
        PatchError: it is invalid.
    """
    item = Catalogue(place.patch_dirs).find(name)
    table = compatibility_table(item.patchset, place.patch_dirs)
    return ShowOutcome(item.patchset, tuple(proven(table)), tuple(item.notes))


def compatibility_table(patchset: Patchset, patch_dirs: Sequence[str]) -> str:
    """The `compatibility.txt` beside this very patchset: what `check --against all` has found; "" where there is none."""
    with suppress(OSError, UnicodeDecodeError, SitepatchError):
        for folder, _ in Catalogue(patch_dirs).folders.get(patchset.name, ()):
            if has_texts(folder, patchset.folder.files):
                return read_file(Path(folder, "compatibility.txt"), TEXT).decode("utf-8").strip()
    return ""


def proven(table: str) -> list[Proven]:
    """The rows of a `compatibility.txt`, neighbours with one answer together."""
    rows = [row.groups() for row in map(_TABLE_ROW.fullmatch, table.splitlines()[1:]) if row]
    results = []
    for (state, distribution), run in groupby(rows, key=lambda row: row[:2]):
        versions = [version for _, _, version in run]
        results.append(Proven(distribution, versions[0], versions[-1], len(versions), state))
    return results


@click.command("show", epilog="\b\nExample:\n  sitepatch show mmengine-ddp-debug")
@click.argument("name", shell_complete=complete_names)
@common_options(environment=False)
def command(console: Console, name: str) -> int:
    """Show why a patchset exists, what it changes and where.

    With its options, the releases that it is proven for, those in which it changes nothing, its patches, and how to undo it.
    """
    outcome = show(name, place=console.place)
    console.notes(outcome.notes)
    commands = (
        console.command("apply", name, patch_dirs=console.place.patch_dirs),
        console.command("restore", name),
    )
    console.page(_description(outcome.patchset, outcome.tried, commands))
    return console.answer(
        True,
        {
            "patchset": _description_json(outcome.patchset, outcome.tried),
            "notes": list(outcome.notes),
        },
    )


def _description(patchset: Patchset, tried: Sequence[Proven], commands: Sequence[str]) -> list[str]:
    """A patchset in lines: why, what, options, for which releases, and the commands to apply and to undo it."""

    def part(title: str, content: Iterable[str]) -> list[str]:
        lines = [joined("", ("  ", line)) for line in content]
        return ["", style(term(title), bold=True), *lines] if lines else []

    def releases(*states: str) -> list[str]:
        return [_proven_text(row) for row in tried if row.state in states]

    idle, good = ("upstream", Message("not needed"), Message("out of range")), ("applicable",)
    heading = style(f"{patchset.name} {patchset.version}", bold=True)
    page = [
        join_styled(heading, f"  {term(patchset.about.kind)}, {term(str(patchset.folder.source))}"),
        patchset.about.summary,
    ]
    page += ["", printable_lines(patchset.about.prose.strip("\n"))] if patchset.about.prose else []
    page += part(
        "provenance",
        (_field(FIELDS[key], value) for key, value in patchset.about.provenance.items()),
    )
    cured = [
        [
            _field(symptom.name, Message.whole(symptom.meaning)),
            *(f"  {pattern}" for pattern in symptom.signs.patterns),
        ]
        for symptom in patchset.about.symptoms
    ]
    page += part("cures", chain.from_iterable(cured))
    options = []
    for option in patchset.options:
        choices = (
            Message(", one of {choices}", choices=", ".join(map(option_text, option.choices)))
            if option.choices
            else ""
        )
        options.append(
            Message(
                "{name}={value}  {help} ({type}{choices})",
                name=f"{patchset.name}.{option.name}",
                value=option_text(option.default),
                help=Message.whole(option.help),
                type=option.type,
                choices=choices,
            )
        )
    page += part("options", options) or ["", Message("It has no options.")]
    ranges = []
    for variant in patchset.variants:
        ranges.append(release_range(variant))
        ranges += [f"  {' or '.join(patch.paths)}" for patch in variant.patches]
    page += part("for", ranges)
    page += part(Message("proven for"), releases(*good))
    page += part(Message("changes nothing in"), releases(*idle))
    page += part(
        Message("does not fit"), releases(*({row.state for row in tried} - {*idle, *good}))
    )
    for name, content in patchset.folder.files.items():
        if name.endswith(".spatch"):
            hunks = re.split(r"^(?=--- |\+\+\+ )", content, maxsplit=1, flags=re.MULTILINE)[-1]
            page += ["", style(name, bold=True), *color_diff(hunks.rstrip("\n"))]
    return page + part(Message("to apply it, and to undo it"), commands)


def _proven_text(row: Proven) -> str:
    releases = f"{row.distribution} {row.first}"
    if row.releases > 1:
        many = count(row.releases, "release")
        releases = Message(
            "{first} to {last} ({releases})", first=releases, last=row.last, releases=many
        )
    return _field(releases, Message.whole(row.state))


def _field(name: str, value: str) -> str:
    return Message("{name}: {value}", name=name, value=value)


def _description_json(patchset: Patchset, tried: Sequence[Proven]) -> dict[str, Any]:
    """A patchset as `show --json` has it."""
    options = [{**option._asdict(), "choices": list(option.choices)} for option in patchset.options]
    variants = [
        {
            "package": variant.package,
            "versions": variant.versions,
            "files": [list(p.paths) for p in variant.patches],
        }
        for variant in patchset.variants
    ]
    verify = {"imports": list(patchset.verify.imports), "probe": patchset.verify.probe}
    symptoms = symptoms_json((symptom, patchset.name) for symptom in patchset.about.symptoms)
    details = {
        "prose": patchset.about.prose,
        "provenance": dict(patchset.about.provenance),
        "options": options,
        "variants": variants,
    }
    proof = {
        "verify": verify,
        "files": dict(patchset.folder.files),
        "symptoms": symptoms,
        "proven": [row._asdict() for row in tried],
    }
    return {**patchset_json(patchset), **details, **proof}
