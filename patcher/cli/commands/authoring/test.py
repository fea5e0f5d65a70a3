"""`test`: the cases of patchsets, and the releases that they are for."""

from __future__ import annotations

from typing import Tuple

import click

from patcher.cli.answers.patchsets import broken_json, broken_rows
from patcher.cli.answers.releases import checked_json, show_releases
from patcher.cli.completion import complete_names
from patcher.cli.console import Console
from patcher.cli.options import common_options
from patcher.cli.styles import Row
from patcher.ops.releases.against import check_against
from patcher.ops.releases.check import CheckRequest, check
from patcher.ops.releases.outcome import Checked


@click.command(epilog="\b\nExamples:\n  sitepatch test my-fix\n  sitepatch test my-fix --against all")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--against", metavar="VERSION", multiple=True, help="Also as `check --against`; repeatable.")
@click.option("--jobs", metavar="N", type=click.IntRange(1, 64), default=4, help="Releases fetched at a time (default 4).")
@common_options(environment=False)
def test(console: Console, names: Tuple[str, ...], against: Tuple[str, ...], jobs: int) -> int:
    """Try the cases beside patchsets: what they are to make of small texts.

    cases/NAME.before.py becomes NAME.after.py; NAME.upstream.py, NAME.not-needed.py and NAME.refused.py get that answer.
    pytest collects them too. All patchsets without a name; no environment is looked at.
    """
    from patcher.ops.authoring import testing as ops  # with the engine

    check_against(against)
    made = ops.try_cases(ops.CasesRequest(console.place, names), console)
    rows, cases = [], []
    for name, outcomes in made.outcomes.items():
        for one in outcomes:
            diff = one.diff.decode("utf-8", "backslashreplace")
            word = "failed" if one.problem else "ok"
            details = [one.problem, *diff.split("\n")] if one.problem else []
            rows.append(Row(word, (name, one.case.name, one.path), tuple(filter(None, details))))
            tried = {"patchset": name, "case": one.case.name, "path": one.path, "ok": not one.problem}
            cases.append({**tried, "problem": one.problem, "diff": diff})
        if not outcomes and name not in made.broken:
            rows.append(Row("no cases", (name,)))
    console.rows([row for row in rows if row.word == "failed" or not console.quiet])
    console.rows(broken_rows(made.broken))
    ok = made.ok
    releases: Tuple[Checked, ...] = ()
    if against:
        checked = check(CheckRequest(console.place, list(made.outcomes), against, jobs), console)
        show_releases(console, checked.releases)
        releases, ok = checked.releases, ok and checked.ok
    return console.answer(
        ok, {"cases": cases, "broken": broken_json(made.broken), "releases": list(map(checked_json, releases))}
    )
