"""What `report` does: a CycloneDX document; a table, JSON and a page of many hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import click

from patcher.cli.console import Console
from patcher.cli.pages.fleet import page
from patcher.ops.place import Place
from patcher.ops.reports.bill import bill, document
from patcher.ops.reports.fleet import Applied, fleet
from patcher.patchset.toml import options_text
from patcher.project.lockfile import read
from patcher.text.table import Row, count

_FEW = 4  # names of hosts that one line has


def write_bill(console: Console, place: Place, path: str) -> int:
    """Write what is applied as a CycloneDX document."""
    made = bill(place)
    data = document(made)
    for note in made.notes:
        console.note(note)
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
        console.file(html, page(hosts))
    good = all(one.ok for one in hosts)
    console.data(good, {"hosts": [{**one._asdict(), "patchsets": [_json(each) for each in one.patchsets]} for one in hosts]})
    return 0 if good else 1


def _text(one: Applied) -> str:
    return f"{one.name} {one.version} {options_text(one.options)}".rstrip()


def _json(one: Applied) -> Dict[str, Any]:
    return {**one._asdict(), "options": dict(one.options)}
