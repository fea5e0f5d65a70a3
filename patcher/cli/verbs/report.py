"""What `report` does: a CycloneDX document; a table, JSON and a page of many hosts; and `schema`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import click

import patcher
from patcher.cli.console import Console
from patcher.cli.pages.fleet import fleet_page
from patcher.cli.styles import Row
from patcher.errors import UsageError
from patcher.ops.place import Place
from patcher.ops.reports.bill import bill, document
from patcher.ops.reports.fleet import Applied, fleet
from patcher.patchset.toml import options_text
from patcher.project.lockfile import read
from patcher.text.listed import count, suggest
from patcher.text.printable import printable_lines

_REF = re.compile(r'"#/\$defs/([\w-]+)"')
_FEW = 4  # names of hosts that one line has


def write_bill(console: Console, place: Place, path: str) -> int:
    """Write what is applied as a CycloneDX document."""
    made = bill(place)
    data = document(made)
    console.notes(made.notes)
    if path != "-":
        console.file(path, data)
        patchsets = count(sum(len(one.patches) for one in made.components), "patchset")
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
    console.data(True, {"path": path, "components": components, "notes": list(made.notes)})
    return 0


def show_fleet(console: Console, folder: str, lock: Optional[str], html: Optional[str]) -> int:
    """Show what many hosts have; exit code 1 where something is astray or differs from the lock."""
    hosts = fleet(Path(folder), read(Path(lock)) if lock else None)
    alike: Dict[Tuple[Any, ...], List[str]] = {}
    for one in hosts:
        text = tuple(map(_text, one.patchsets))
        alike.setdefault((one.state, text, one.releases, one.problems, one.differences), []).append(one.host)
    rows = []
    for (state, patchsets, releases, problems, differences), names in alike.items():
        few = names if console.verbose or len(names) <= _FEW else [*names[: _FEW - 1], f"{len(names) - _FEW + 1} more"]
        cells = (f"{count(len(names), 'host')}: {', '.join(few)}", ", ".join(patchsets), ", ".join(releases))
        rows.append(Row(state, cells, (*problems, *differences)))
    console.rows(rows)
    if html:
        console.file(html, fleet_page(hosts))
    good = all(one.ok for one in hosts)
    console.data(good, {"hosts": [{**one._asdict(), "patchsets": [_json(each) for each in one.patchsets]} for one in hosts]})
    return 0 if good else 1


def _text(one: Applied) -> str:
    return f"{one.name} {one.version} {options_text(one.options)}".rstrip()


def _json(one: Applied) -> Dict[str, Any]:
    return {**one._asdict(), "options": dict(one.options)}


def show_schema(console: Console, command: str) -> int:
    """Print it."""
    made = answer_schema(command)
    console.out(printable_lines(json.dumps(made, indent=2)))
    console.data(True, {"json_schema": made})
    return 0


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
