"""What `report` does."""

from __future__ import annotations

import click

from patcher.cli.console import Console
from patcher.ops.bill import bill, document
from patcher.ops.place import Place
from patcher.text.table import Row, count


def write_bill(console: Console, place: Place, path: str) -> int:
    """Write what is applied as a CycloneDX document."""
    made = bill(place)
    data = document(made)
    for note in made.notes:
        console.note(note)
    if path != "-":
        with open(path, "wb") as file:
            file.write(data)
        patchsets = count(sum(len(one.patches) for one in made.components), "patchset")
        console.rows([Row("ok", (f"wrote {path}: {count(len(made.components), 'distribution')}, {patchsets}",))])
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
