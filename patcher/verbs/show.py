"""`show`: why a patchset exists, what it changes, and where it was tried."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Iterable, Iterator, Sequence

import click

from patcher.compatibility import APPLICABLE, OUT_OF_RANGE
from patcher.display.console import Console
from patcher.display.patchsets import FIELDS, release_range
from patcher.display.prose import translated_prose
from patcher.display.styles import color_diff, style, term, translated
from patcher.errors import SitepatchError
from patcher.message import Message, joined
from patcher.model import Option, Patchset, State, Symptom
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.places import has_texts
from patcher.patchset.symptoms import with_tools
from patcher.patchset.toml import option_text
from patcher.place import HERE, Place
from patcher.record import Record, reported
from patcher.system.reading import TEXT, read_file
from patcher.text.listed import count
from patcher.text.terminal import join_styled, printable_lines
from patcher.verbs.options import common_options, complete_names

_TABLE_ROW = re.compile(
    r"(applicable|upstream|not needed|[a-z ]+?)  +(\S+)  +(\S+)(?: \(yanked\))?(?:  .*)?"
)
_NOTHING_TO_DO = (State.UPSTREAM.value, State.NOT_NEEDED.value, OUT_OF_RANGE)
_PROSE_COLUMNS = 78
_FILE_HEADERS = re.compile(r"^(?=--- |\+\+\+ )", re.MULTILINE)


class Proven(Record):
    """Releases on which a patchset was tried, with one answer.

    Attributes:
        distribution: the distribution.
        first: the first of them.
        last: the last of them.
        releases: how many they are.
        state: the answer.
    """

    distribution: str
    first: str
    last: str
    releases: int
    state: str


@reported("patchset symptoms proven notes")
class ShowOutcome(Record):
    """A patchset, and what is known of it.

    Attributes:
        patchset: the patchset.
        proven: the releases that it was tried on.
        notes: remarks.
    """

    patchset: Patchset
    proven: tuple[Proven, ...]
    notes: tuple[str, ...]

    @property
    def symptoms(self) -> tuple[Symptom, ...]:
        """The errors that it cures."""
        symptoms = []
        for symptom in self.patchset.about.symptoms:
            symptoms.append(symptom._replace(advice=with_tools(symptom.advice)))
        return tuple(symptoms)


def show(name: str, *, place: Place = HERE) -> ShowOutcome:
    """Find a patchset.

    Raises:
        UsageError: there is none of that name.
        PatchError: it is invalid.
    """
    item = Catalogue(place.patch_dirs).find(name)
    table = compatibility_table(item.patchset, place.patch_dirs)
    return ShowOutcome(item.patchset, tuple(proven(table)), notes=tuple(item.notes))


def compatibility_table(patchset: Patchset, patch_dirs: Sequence[str]) -> str:
    """The `compatibility.txt` beside this very patchset, "" where there is none.

    It has what `check --against all` has found.
    """
    with suppress(OSError, UnicodeDecodeError, SitepatchError):
        for folder, _ in Catalogue(patch_dirs).folders.get(patchset.name, ()):
            if has_texts(folder, patchset.folder.files):
                return read_file(Path(folder, "compatibility.txt"), TEXT).decode("utf-8").strip()
    return ""


def proven(table: str) -> list[Proven]:
    """The rows of a `compatibility.txt`, neighbours with one answer together."""
    rows = []
    for line in table.splitlines()[1:]:
        row = _TABLE_ROW.fullmatch(line)
        if row:
            rows.append(row.groups())
    results = []
    for (state, distribution), run in groupby(rows, key=lambda row: row[:2]):
        versions = [version for _, _, version in run]
        first, last = versions[0], versions[-1]
        results.append(Proven(distribution, first, last=last, releases=len(versions), state=state))
    return results


@click.command("show", epilog="\b\nExample:\n  sitepatch show mmengine-ddp-debug")
@click.argument("name", shell_complete=complete_names)
@common_options(environment=False)
def command(console: Console, name: str) -> int:
    """Show why a patchset exists, what it changes and where.

    With its options, the releases that it is proven for, those in which it changes nothing, its
    patches, and how to undo it.
    """
    outcome = show(name, place=console.place)
    console.notes(outcome.notes)
    commands = (
        console.command("apply", name, patch_dirs=console.place.patch_dirs),
        console.command("restore", name),
    )
    console.page(_page(outcome, commands))
    return console.answer(True, outcome)


def _page(outcome: ShowOutcome, commands: Sequence[str]) -> list[str]:
    """A patchset in lines: why, what, options, for which releases, and how to apply and undo it."""
    patchset = outcome.patchset
    heading = style(f"{patchset.name} {patchset.version}", bold=True)
    words = (Message(patchset.about.kind), Message.whole(patchset.folder.source))
    where = translated(joined(", ", words))
    page = [join_styled(heading, "  ", where), patchset.about.summary]
    if patchset.about.prose:
        prose = translated_prose(patchset.about.prose.strip("\n"), columns=_PROSE_COLUMNS)
        page += ["", printable_lines(prose)]
    page += _part("provenance", _provenance(patchset))
    page += _part("cures", _cures(patchset))
    if patchset.options:
        page += _part("options", [_option(patchset, option) for option in patchset.options])
    else:
        page += ["", Message("It has no options.")]
    page += _part("for", _ranges(patchset))
    page += _releases(outcome.proven)
    for name, content in patchset.folder.files.items():
        if name.endswith(".spatch"):
            hunks = _FILE_HEADERS.split(content, maxsplit=1)[-1]
            page += ["", style(name, bold=True), *color_diff(hunks.rstrip("\n"))]
    return [*page, *_part(Message("to apply it, and to undo it"), commands)]


def _part(title: str, content: Iterable[str]) -> list[str]:
    """A heading and the lines below it; nothing where there are none."""
    lines = [joined("", ("  ", line)) for line in content]
    if not lines:
        return []
    return ["", style(term(title), bold=True), *lines]


def _provenance(patchset: Patchset) -> Iterator[str]:
    for key, value in patchset.about.provenance.items():
        yield _field(FIELDS[key], Message.whole(value))


def _cures(patchset: Patchset) -> Iterator[str]:
    for symptom in patchset.about.symptoms:
        yield _field(symptom.name, Message.whole(symptom.meaning))
        for pattern in symptom.signs.patterns:
            yield f"  {pattern}"


def _option(patchset: Patchset, option: Option) -> str:
    choices = ""
    if option.choices:
        words = ", ".join(map(option_text, option.choices))
        choices = Message(", one of {choices}", choices=words)
    return Message(
        "{name}={value}  {help} ({type}{choices})",
        name=f"{patchset.name}.{option.name}",
        value=option_text(option.default),
        help=Message.whole(option.help),
        type=option.type,
        choices=choices,
    )


def _ranges(patchset: Patchset) -> Iterator[str]:
    for variant in patchset.variants:
        yield release_range(variant)
        for patch in variant.patches:
            yield f"  {' or '.join(patch.paths)}"


def _releases(rows: Sequence[Proven]) -> list[str]:
    """The releases that the patchset was tried on, by what it does there."""
    fits, idle, misfits = [], [], []
    for row in rows:
        if row.state == APPLICABLE:
            fits.append(_proven_text(row))
        elif row.state in _NOTHING_TO_DO:
            idle.append(_proven_text(row))
        else:
            misfits.append(_proven_text(row))
    return [
        *_part(Message("proven for"), fits),
        *_part(Message("changes nothing in"), idle),
        *_part(Message("does not fit"), misfits),
    ]


def _proven_text(row: Proven) -> str:
    releases = f"{row.distribution} {row.first}"
    if row.releases > 1:
        number = count(row.releases, "release")
        template = "{first} to {last} ({releases})"
        releases = Message(template, first=releases, last=row.last, releases=number)
    return _field(releases, Message.whole(row.state))


def _field(name: str, value: str) -> str:
    return Message("{name}: {value}", name=name, value=value)
