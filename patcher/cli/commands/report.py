"""`report` and `schema`: what is applied, for other tools, and on many hosts; the form of the answers in JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import click

import patcher
from patcher.cli.console import Console
from patcher.cli.options import common_options
from patcher.cli.pages.fleet import fleet_page
from patcher.cli.styles import Row
from patcher.errors import UsageError
from patcher.ops.reports import fleet as hosts
from patcher.ops.reports.bill import bill, document
from patcher.ops.reports.fleet import Applied
from patcher.patchset.toml import options_text
from patcher.project.lockfile import load_lock
from patcher.text.listed import count, suggest
from patcher.text.printable import printable_lines

_REF = re.compile(r'"#/\$defs/([\w-]+)"')
_FEW = 4  # names of hosts that one line has


@click.command(
    epilog="\b\nExamples:\n  sitepatch report --cyclonedx patches.cdx.json\n"
    "  sitepatch report --fleet reports --lock sitepatch.lock --html fleet.html"
)
@click.option("--cyclonedx", "path", metavar="FILE", help="Write a CycloneDX document, in JSON; - for stdout.")
@click.option("--fleet", metavar="DIR", help="Read HOST.json of each host: what its status --json answered.")
@click.option("--lock", metavar="FILE", help="With --fleet: also what differs from this lock.")
@click.option("--html", metavar="FILE", help="With --fleet: also write a page that can be read offline.")
@common_options()
def report(console: Console, path: Optional[str], fleet: Optional[str], lock: Optional[str], html: Optional[str]) -> int:
    """Report what is applied, here or on many hosts.

    --cyclonedx lists the distributions that are patched; each has its patches as pedigree.patches: the diff, with a DEP-3
    header that says why. The same patches make the same bytes; the date is that of SOURCE_DATE_EPOCH, if it is set. It needs
    the extra of `pip install 'sitepatch[sbom]'`.

    --fleet shows the patchsets and releases of hosts, those that are alike in one line (-v: with all their names), what is
    astray, and with --lock what differs from it; exit code 1 if anything is.
    """
    if bool(path) == bool(fleet):
        found = "both" if path else "none"
        raise UsageError(f"--cyclonedx FILE or --fleet DIR: found {found}, expected one of them")
    if fleet:
        return _show_fleet(console, fleet, lock, html)
    if lock or html:
        raise UsageError(f"{'--lock' if lock else '--html'}: found no --fleet, which it belongs to")
    return _write_bill(console, path or "-")


def _write_bill(console: Console, path: str) -> int:
    """Write what is applied as a CycloneDX document."""
    made = bill(console.place)
    data = document(made)
    console.about(made.env)
    console.notes(made.notes)
    if path != "-":
        console.file(path, data)
        patchsets = count(len({each.patchset for one in made.components for each in one.patches}), "patchset")
        console.rows([Row("ok", (f"{count(len(made.components), 'distribution')}, {patchsets}",))])
    elif not console.as_json:
        click.echo(data, nl=False)
    components = [
        {
            "distribution": one.distribution,
            "version": one.version,
            "patchsets": [{"name": each.patchset, "version": each.version} for each in one.patches],
        }
        for one in made.components
    ]
    return console.answer(True, {"path": path, "components": components, "notes": list(made.notes)})


def _show_fleet(console: Console, folder: str, lock: Optional[str], html: Optional[str]) -> int:
    """Show what many hosts have; exit code 1 where something is astray or differs from the lock."""
    found = hosts.fleet(Path(folder), load_lock(Path(lock)) if lock else None)
    alike: Dict[Tuple[Any, ...], List[str]] = {}
    for one in found:
        text = tuple(map(_text, one.patchsets))
        alike.setdefault((one.state, text, one.releases, one.problems, one.differences), []).append(one.host)
    rows = []
    for (state, patchsets, releases, problems, differences), names in alike.items():
        few = names if console.verbose or len(names) <= _FEW else [*names[: _FEW - 1], f"{len(names) - _FEW + 1} more"]
        cells = (f"{count(len(names), 'host')}: {', '.join(few)}", ", ".join(patchsets), ", ".join(releases))
        rows.append(Row(state, cells, (*problems, *differences)))
    console.rows(rows)
    if html:
        console.file(html, fleet_page(found))
    good = all(one.ok for one in found)
    return console.answer(
        good, {"hosts": [{**one._asdict(), "patchsets": [_json(each) for each in one.patchsets]} for one in found]}
    )


def _text(one: Applied) -> str:
    return f"{one.name} {one.version} {options_text(one.options)}".rstrip()


def _json(one: Applied) -> Dict[str, Any]:
    return {**one._asdict(), "options": dict(one.options)}


@click.command(epilog="\b\nExamples:\n  sitepatch schema hook init\n  sitepatch schema > answers.schema.json")
@click.argument("words", metavar="[COMMAND]", nargs=-1)
@common_options(environment=False, sources=False)
def schema(console: Console, words: Tuple[str, ...]) -> int:
    """Print the JSON Schema of what a command answers with --json.

    Of all commands without a name. It is draft 2020-12, and says what each field means.
    """
    made = answer_schema("-".join(words))
    console.out(printable_lines(json.dumps(made, indent=2)))
    return console.answer(True, {"json_schema": made})


def answer_schema(command: str = "") -> Dict[str, Any]:
    """The JSON Schema of what a command answers, of all without a name.

    Raises:
        UsageError: there is no such command.
    """
    path = Path(patcher.__file__).with_name("answers.schema.json")
    every: Dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: List[str] = _REF.findall(json.dumps(every["anyOf"]))
    if not command:
        return every
    if command not in names[1:]:
        raise UsageError(f'there is no command "{command}"{suggest(command, names[1:])}', "all of them: sitepatch --help")
    needed = ["failure", command]
    for name in needed:  # grows meanwhile
        needed += [each for each in _REF.findall(json.dumps(every["$defs"][name])) if each not in needed]
    title = f"The answer of sitepatch {command} --json"
    parts = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in (command, "failure")]}
    return {**every, "title": title, **parts, "$defs": {name: every["$defs"][name] for name in sorted(set(needed))}}
