"""`lint`."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.commands.options import complete_names
from patcher.cli.console import Console, takes
from patcher.ops.authoring.requests import LintRequest
from patcher.ops.place import Place


@click.command(epilog="\b\nExample:\n  sitepatch lint my-fix --strict")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--strict", is_flag=True, help="Exit with 1 on advice too.")
@takes(environment=False)
def lint(console: Console, place: Place, names: Tuple[str, ...], strict: bool) -> int:
    """Say what is wrong with patchsets, and what makes them hold for fewer releases than they could.

    No environment is looked at. Errors, as options that no hunk uses and hunks that meet, exit with 1; advice, as context
    that is written out, does with --strict. All patchsets without a name.
    """
    from patcher.cli.report import list_rows
    from patcher.ops.authoring.linting import lint_all
    from patcher.text.table import Row, count

    made = lint_all(LintRequest(place, names, strict))
    rows, told = [], []
    for name, found in made.findings.items():
        for one in found:
            where = f"{one.file}:{one.line}" if one.line else one.file
            hint = f"hint: {one.hint}" if one.hint else ""
            rows.append(Row(one.level, (name, where, one.rule), tuple(filter(None, (one.text, hint)))))
            told.append({"patchset": name, **one._asdict()})
    console.rows([row for row in rows if row.word != "note" or not console.quiet])
    console.rows(list_rows((), made.broken))
    if not rows and not made.broken:
        console.say(f"nothing to say of {count(len(made.findings), 'patchset')}")
    broken = [{"name": name, "problem": error.message} for name, error in made.broken.items()]
    console.data(made.ok, {"findings": told, "broken": broken})
    return 0 if made.ok else 1
