"""`list` and `show`."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Sequence, Tuple

import click

from patcher.cli.answers.patchsets import broken_json, broken_rows, release_range, release_ranges, symptom_details
from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names
from patcher.cli.styles import Row, color_diff, style
from patcher.cli.translation import term
from patcher.diagnose.tools import with_tools
from patcher.message import Message
from patcher.model import Patchset, Symptom
from patcher.ops import patchsets as ops
from patcher.ops.patchsets import Availability, ListRequest, Proven, list_patchsets
from patcher.patchset.toml import option_text
from patcher.text.listed import count, release_name
from patcher.text.terminal import Styled, join_styled, printable_lines


@click.command("list", epilog="\b\nExamples:\n  sitepatch list --patch-dir ./patchsets\n  sitepatch list _cuda_setDevice")
@click.argument("text", metavar="[TEXT]...", nargs=-1)
@common_options()
def list_(console: Console, text: Tuple[str, ...]) -> int:
    """List the patchsets that can be named, first those for what is installed.

    Each with its state here (applied, or as `sitepatch status` says; available: it is for the installed release, upstream or
    not needed: that release is known to do without, out of range, absent: its package is not installed), its kind, releases,
    and where it was found.
    With TEXT, words or an error message, those that it is about, and what it means; exit code 1 if there is nothing.
    """
    request = ListRequest(console.place, " ".join(text))
    outcome = list_patchsets(request)
    console.about(outcome.env)
    console.rows([*_list_rows(outcome.patchsets), *broken_rows(outcome.broken), *_symptom_rows(outcome.symptoms)])
    nothing = request.text and not (outcome.patchsets or outcome.symptoms)
    if nothing:
        console.info("nothing that is known is about {text}", text=request.text)
    console.notes(outcome.notes)
    ok = not (outcome.broken or nothing)
    listed = [{**_patchset_json(one), **_availability_json(here)} for one, here in outcome.patchsets]
    about = {"patchsets": listed, "symptoms": _symptoms_json(outcome.symptoms)}
    return console.answer(ok, {**about, "broken": broken_json(outcome.broken), "notes": list(outcome.notes)})


def _list_rows(listed: Iterable[Tuple[Patchset, Availability]]) -> List[Row]:
    """One row for each patchset: what it is here, and the release that is installed, else those that it is for."""
    rows = []
    for one, here in listed:
        installed = ", ".join(release_name(each.package, each.distribution, each.version) for each in here.installed)
        ranges = installed if here.in_range else release_ranges(one.variants)
        rows.append(Row(here.state, (one.name, one.version, one.kind, ranges, str(one.source)), (one.summary,)))
    return rows


def _symptom_rows(symptoms: Iterable[Tuple[Symptom, str]]) -> List[Row]:
    """One row for each symptom and the name of the patchset that cures it, "" for none."""
    cures = ((one, Message("cured by {name}", name=name) if name else "") for one, name in symptoms)
    return [Row("symptom", (one.name,), tuple(symptom_details(one, cure))) for one, cure in cures]


def _availability_json(here: Availability) -> Dict[str, Any]:
    """What a patchset is to an environment, as JSON."""
    installed = [{"package": one.package, "distribution": one.distribution, "version": one.version} for one in here.installed]
    return {"state": here.state, "installed": installed}


def _patchset_json(one: Patchset) -> Dict[str, Any]:
    """A patchset as `list --json` has it."""
    ranges = [{"package": variant.package, "versions": variant.versions} for variant in one.variants]
    fields = {"name": one.name, "version": one.version, "kind": one.kind, "summary": one.summary, "source": str(one.source)}
    return {**fields, "digest": one.digest, "packages": ranges}


def _symptoms_json(symptoms: Iterable[Tuple[Symptom, str]]) -> List[Dict[str, Any]]:
    """Symptoms and the names of the patchsets that cure them, as JSON."""
    return [{"symptom": one.name, "patchset": name, "patterns": list(one.patterns), **_meaning(one)} for one, name in symptoms]


def _meaning(symptom: Symptom) -> Dict[str, str]:
    return {"meaning": symptom.meaning, "advice": with_tools(symptom.advice)}


@click.command(epilog="\b\nExample:\n  sitepatch show mmengine-ddp-debug")
@click.argument("name", shell_complete=complete_names)
@common_options(environment=False)
def show(console: Console, name: str) -> int:
    """Show why a patchset exists, what it changes and where.

    With its options, the releases that it is proven for, those in which it changes nothing, its patches, and how to undo it.
    """
    outcome = ops.show(console.place, name)
    console.notes(outcome.notes)
    console.page(_description(outcome.patchset, outcome.tried))
    return console.answer(True, {"patchset": _description_json(outcome.patchset, outcome.tried), "notes": list(outcome.notes)})


def _description(one: Patchset, tried: Sequence[Proven]) -> List[str]:
    """A patchset in lines: why, what, options, for which releases, how to undo it."""

    def part(title: str, text: Iterable[str]) -> List[str]:
        lines = [join_styled("  ", line) if isinstance(line, Styled) else f"  {line}" for line in text]
        return ["", style(term(title), bold=True), *lines] if lines else []

    def releases(*states: str) -> List[str]:
        return [_proven_text(each) for each in tried if each.state in states]

    idle, good = ("upstream", Message("not needed"), Message("out of range")), ("applies",)
    found = [join_styled(style(f"{one.name} {one.version}", bold=True), f"  {one.kind}, {one.source}"), one.summary]
    found += ["", printable_lines(one.prose.strip("\n"))] if one.prose else []
    found += part("provenance", (join_styled(key, ": ", value) for key, value in one.provenance.items()))
    cured = [
        [Message("{each.name}: {each.meaning}", each=each), *(join_styled("  ", pattern) for pattern in each.patterns)]
        for each in one.symptoms
    ]
    found += part("cures", (line for lines in cured for line in lines))
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
    several = (
        Message(" to {one.last} ({releases})", one=one, releases=count(one.releases, "release")) if one.releases > 1 else ""
    )
    return f"{one.distribution} {one.first}{several}: {one.state}"


def _description_json(one: Patchset, tried: Sequence[Proven]) -> Dict[str, Any]:
    """A patchset as `show --json` has it."""
    options = [{**option._asdict(), "choices": list(option.choices)} for option in one.options]
    variants = [
        {"package": variant.package, "versions": variant.versions, "files": [list(p.paths) for p in variant.patches]}
        for variant in one.variants
    ]
    verify = {"imports": list(one.verify.imports), "probe": one.verify.probe}
    symptoms = _symptoms_json((each, one.name) for each in one.symptoms)
    more = {"prose": one.prose, "provenance": dict(one.provenance), "options": options, "variants": variants}
    last = {"verify": verify, "files": dict(one.files), "symptoms": symptoms, "proven": [each._asdict() for each in tried]}
    return {**_patchset_json(one), **more, **last}
