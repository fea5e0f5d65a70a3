"""What `check` does, here and on releases."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from patcher.cli import report
from patcher.cli.check_page import check_page, checked_json, heading, rows
from patcher.cli.console import Console
from patcher.cli.patchsets import broken_json, broken_rows
from patcher.model import Answer, Patchset, Requested
from patcher.ops.against import check_asked, check_releases
from patcher.ops.check import absent as is_absent
from patcher.ops.place import Place
from patcher.patchset.sources import find_every
from patcher.planner.plan import plan_apply
from patcher.project.selection import choose
from patcher.text.table import Row


class CheckRequest(NamedTuple):
    """Which patchsets (all without names), which releases (this environment without any), and a file for the page."""

    place: Place
    names: Sequence[str]
    against: Sequence[str]
    jobs: int
    html: Optional[str]


def run_check(console: Console, request: CheckRequest) -> int:
    """Check whether patchsets would apply."""
    every, errors = find_every(request.place.patch_dirs, os.getcwd())
    known = {one.patchset.name: one.patchset for one in every}
    if request.against:
        check_asked(request.against)
    requested, notes = choose(request.names or list(known), (), request.place.patch_dirs)
    problems = {} if request.names else errors
    for note in notes:
        console.note(note)
    if request.against:
        code, fields = report_releases(console, requested, request.against, list(known.values()), request.jobs, request.html)
    else:
        code, fields = _check_here(console, request.place, requested, named=bool(request.names))
        fields["notes"] = [*notes, *fields["notes"]]
    console.rows(broken_rows(problems))
    code = 1 if problems else code
    console.data(not code, {**fields, "broken": broken_json(problems)})
    return code


def _check_here(console: Console, place: Place, requested: Sequence[Requested], *, named: bool) -> Tuple[int, Dict[str, Any]]:
    """Those that are named together, as `apply` would take them; else each by itself, and absent packages are no fault."""
    env = place.environment()
    console.about(env)
    answers: List[Answer] = []
    notes: List[str] = []
    for group in [requested] if named else [[one] for one in requested]:
        plan = plan_apply(env, group)
        answers += plan.answers
        notes += plan.notes
    absent = [] if named else [answer for answer in answers if is_absent(answer)]
    present = [answer for answer in answers if answer not in absent]
    failed = any(answer.state.failed for answer in present)
    console.rows(report.answer_rows(answer for answer in present if answer.state.failed or not console.quiet))
    console.rows([] if console.quiet else [Row("absent", (one.patchset, one.path), (one.problem,)) for one in absent])
    for note in dict.fromkeys(notes):
        console.note(note)
    fields = {
        "patchsets": [one.patchset.name for one in requested],
        "answers": [report.answer_json(answer) for answer in present],
        "absent": [report.answer_json(answer) for answer in absent],
        "notes": list(dict.fromkeys(notes)),
    }
    return (1 if failed else 0), fields


def report_releases(
    console: Console,
    requested: Sequence[Requested],
    against: Sequence[str],
    known: Sequence[Patchset],
    jobs: int,
    html: Optional[str],
) -> Tuple[int, Dict[str, Any]]:
    """Report what becomes of patchsets on releases; returns the exit code and the JSON answer."""
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
