"""`test`: the cases of patchsets, and the releases that they are for."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import click

from patcher.cli.commands.options import complete_names
from patcher.cli.console import Console, takes
from patcher.ops.place import Place


@click.command(epilog="\b\nExamples:\n  sitepatch test my-fix\n  sitepatch test my-fix --against all")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--against", metavar="VERSION", multiple=True, help="Also as `check --against`; repeatable.")
@click.option("--jobs", metavar="N", type=click.IntRange(1, 64), default=4, help="Releases fetched at a time (default 4).")
@takes(environment=False)
def test(console: Console, place: Place, names: Tuple[str, ...], against: Tuple[str, ...], jobs: int) -> int:
    """Try the cases beside patchsets: what they are to make of small texts.

    cases/NAME.before.py becomes NAME.after.py; NAME.upstream.py, NAME.not-needed.py and NAME.refused.py get that answer.
    pytest collects them too. All patchsets without a name; no environment is looked at.
    """
    from patcher.cli.commands.checking import report_releases
    from patcher.cli.report import list_rows
    from patcher.ops.against import check_asked
    from patcher.ops.authoring.testing import CasesRequest, try_cases
    from patcher.patchset.sources import find_every
    from patcher.project.selection import choose
    from patcher.text.table import Row

    check_asked(against)
    made = try_cases(CasesRequest(place, names))
    rows, told = [], []
    for name, outcomes in made.outcomes.items():
        for one in outcomes:
            diff = one.diff.decode("utf-8", "backslashreplace")
            word = "failed" if one.problem else "ok"
            details = [one.problem, *diff.split("\n")] if one.problem else []
            rows.append(Row(word, (name, one.case.name, one.path), tuple(filter(None, details))))
            tried = {"patchset": name, "case": one.case.name, "path": one.path, "ok": not one.problem}
            told.append({**tried, "problem": one.problem, "diff": diff})
        if not outcomes and name not in made.broken:
            rows.append(Row("no cases", (name,)))
    console.rows([row for row in rows if row.word == "failed" or not console.quiet])
    console.rows(list_rows((), made.broken))
    code = 0 if made.ok else 1
    releases: Dict[str, Any] = {"patchsets": []}
    if against:
        requested, _ = choose(list(made.outcomes), (), place.patch_dirs)
        known = [one.patchset for one in find_every(place.patch_dirs, ".")[0]]
        failed, releases = report_releases(console, requested, against, known, jobs, None)
        code = code or failed
    broken = [{"name": name, "problem": error.message} for name, error in made.broken.items()]
    console.data(not code, {"cases": told, "broken": broken, "releases": releases["patchsets"]})
    return code
