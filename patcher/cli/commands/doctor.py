"""`doctor`."""

from __future__ import annotations

from itertools import groupby

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options
from patcher.cli.styles import Row, hint_lines
from patcher.cli.translation import term
from patcher.ops.health.doctor import OK
from patcher.text.listed import count

_SHOWN = 3
"""So many findings of one check, without --verbose: a directory of somebody else has one for each of its files."""


@click.command(epilog="\b\nExample:\n  sitepatch doctor --python /opt/venv")
@common_options()
def doctor(console: Console) -> int:
    """Report known problems of this environment, and what to do.

    It checks the files that known patchsets are for and what is applied, of other files only whether a backup lies beside
    them, so that it stays fast; and looks for known problems of PyTorch, MMEngine and triton. Exit code 1 if there is a
    problem; a note is for information. Writes nothing. With -v all that a check found, else the first of many.
    """
    from patcher.ops.health.checkup import doctor  # with subprocess

    outcome = doctor(console.place, console)
    rows = []
    for (severity, check), group in groupby(outcome.findings, key=lambda one: (one.severity, one.check)):
        found = [] if console.quiet and severity == OK else list(group)
        shown = found if console.verbose else found[:_SHOWN]
        for one in shown:
            first, *more = one.what.split("\n")
            rows.append(Row(severity, (term(check), term(first)), (*more, *hint_lines(one.hint))))
        if found[len(shown) :]:
            rows.append(Row(severity, (term(check), term(f"and {len(found) - len(shown)} more; -v shows all"))))
    console.rows(rows)
    sites = list(outcome.env.sites)
    console.info(f"{count(outcome.problems, 'problem')} in {', '.join(sites)}")
    return console.answer(not outcome.problems, {"sites": sites, "findings": [one._asdict() for one in outcome.findings]})
