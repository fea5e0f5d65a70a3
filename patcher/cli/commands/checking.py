"""`check`: would it apply here, would it apply to other releases."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

import click

from patcher.cli.commands.options import complete_names
from patcher.cli.console import Console, takes
from patcher.errors import UsageError
from patcher.ops.place import Place

if TYPE_CHECKING:
    from patcher.model import Answer, Patchset, Requested


@click.command(
    epilog="\b\nExamples:\n  sitepatch check\n  sitepatch check mmengine-ddp-debug --against 0.10.7 --against '<0.3'\n"
    "  sitepatch check torch-musa-guard --against all --html releases.html"
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--against", metavar="VERSION", multiple=True, help="A release, a range as '>=2.4', or `all`; repeatable.")
@click.option("--jobs", metavar="N", type=click.IntRange(1, 64), default=4, help="Releases fetched at a time (default 4).")
@click.option("--html", metavar="FILE", help="With --against: also write a page that can be read offline.")
@takes()
def check(
    console: Console, place: Place, names: Tuple[str, ...], against: Tuple[str, ...], jobs: int, html: Optional[str]
) -> int:
    """Check whether patchsets would apply.

    In this environment; with --against to those releases, whose wheels pip fetches without installing them. All
    patchsets without a name. Nothing is written but a cache of the files that matter (SITEPATCH_CACHE).
    """
    from patcher.patchset.sources import find_every
    from patcher.project.selection import choose

    every, errors = find_every(place.patch_dirs, os.getcwd())
    known = {one.patchset.name: one.patchset for one in every}
    if html and not against:
        raise UsageError("--html: found no --against, whose releases the page shows", "sitepatch diff --html shows this one")
    if against:
        from patcher.ops.against import check_asked

        check_asked(against)
    requested, notes = choose(names or list(known), (), place.patch_dirs)
    problems = {} if names else errors
    for note in notes:
        console.note(note)
    if against:
        code, told = report_releases(console, requested, against, list(known.values()), jobs, html)
    else:
        code, told = _check_here(console, place, requested, named=bool(names))
        told["notes"] = [*notes, *told["notes"]]
    from patcher.cli.report import list_rows

    console.rows(list_rows((), problems))
    bad = [{"name": name, "problem": error.message} for name, error in problems.items()]
    code = 1 if problems else code
    console.data(not code, {**told, "broken": bad})
    return code


def _check_here(console: Console, place: Place, requested: Sequence[Requested], *, named: bool) -> Tuple[int, Dict[str, Any]]:
    """Those that are named together, as `apply` would take them; else each by itself, and absent packages are no fault."""
    from patcher.cli import report
    from patcher.planner.plan import plan_apply
    from patcher.text.table import Row

    env = place.environment()
    console.about(env)
    answers: List[Answer] = []
    notes: List[str] = []
    for group in [requested] if named else [[one] for one in requested]:
        plan = plan_apply(env, group)
        answers += plan.answers
        notes += plan.notes
    absent = [] if named else [answer for answer in answers if _absent(answer)]
    present = [answer for answer in answers if answer not in absent]
    failed = any(answer.state.failed for answer in present)
    console.rows(report.answer_rows(answer for answer in present if answer.state.failed or not console.quiet))
    console.rows([] if console.quiet else [Row("absent", (one.patchset, one.path), (one.problem,)) for one in absent])
    for note in dict.fromkeys(notes):
        console.note(note)
    told = {
        "patchsets": [one.patchset.name for one in requested],
        "answers": [report.answer_json(answer) for answer in present],
        "absent": [report.answer_json(answer) for answer in absent],
        "notes": list(dict.fromkeys(notes)),
    }
    return (1 if failed else 0), told


def _absent(answer: Answer) -> bool:
    """Whether an answer is about a whole package: it is not there, or not one that can be patched here."""
    return answer.state.failed and not answer.scope and "/" not in answer.path and not answer.path.endswith(".py")


def report_releases(
    console: Console,
    requested: Sequence[Requested],
    against: Sequence[str],
    known: Sequence[Patchset],
    jobs: int,
    html: Optional[str],
) -> Tuple[int, Dict[str, Any]]:
    """Report what becomes of patchsets on releases; returns the exit code and the JSON answer."""
    from patcher.cli.check_page import check_page, checked_json, heading, rows
    from patcher.ops.against import check_releases

    live = sys.stderr.isatty() and not console.quiet and not console.as_json

    def tell(line: str) -> None:
        if live:
            console.note(line, "release")

    results = check_releases(requested, against, known, jobs, tell)
    for number, checked in enumerate(results):
        console.out(("\n" if number else "") + heading(checked))
        console.rows(rows(checked))
    outcomes = [outcome for checked in results for outcome in checked.outcomes]
    for hint in dict.fromkeys(line for one in outcomes for line in one.hint.split("\n") if one.failed and line):
        console.note(hint, "hint")
    if html:
        with open(html, "wb") as file:
            file.write(check_page(" ".join(["sitepatch check", *(one.patchset.name for one in requested)]), results))
        console.note(f"wrote {html}")
    return (1 if any(one.failed for one in outcomes) else 0), {"patchsets": [checked_json(one) for one in results]}
