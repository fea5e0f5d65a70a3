"""What `check` does, here and on releases."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import click

from patcher.cli.answers.annotations import of_error
from patcher.cli.answers.outcome import ConsoleEvents
from patcher.cli.answers.patchsets import broken_json, broken_rows
from patcher.cli.answers.plan import answer_json, answer_rows
from patcher.cli.answers.releases import (
    CiResult,
    checked_heading,
    checked_json,
    checked_rows,
    github,
    junit,
    of_answers,
    of_releases,
)
from patcher.cli.console import Console
from patcher.cli.styles import Row
from patcher.cli.translation import translated
from patcher.model import Answer, Patchset, Requested
from patcher.ops.place import Place
from patcher.ops.releases.against import check_asked, check_releases
from patcher.ops.releases.check import is_absent
from patcher.patchset.manifest import MANIFEST
from patcher.patchset.sources import find_patchsets, patchset_folders
from patcher.planner.plan import plan_apply
from patcher.project.selection import choose
from patcher.store.retry import settled
from patcher.target.remote import LARGE
from patcher.text.listed import count
from patcher.text.printable import printable_lines


class CheckRequest(NamedTuple):
    """Which patchsets (all without names), which releases (this environment without any), and the form of the answer.

    `html` is a file for the page, `form` is `text`, `github` or `junit`.
    """

    place: Place
    names: Sequence[str]
    against: Sequence[str]
    jobs: int = 4
    html: Optional[str] = None
    form: str = "text"


class _ConfirmFetching(ConsoleEvents):
    """Shows what would be fetched where no patchset was named, and asks for confirmation on a terminal."""

    def fetching(self, releases: Mapping[str, int]) -> bool:
        """Show an upper bound and ask; pip gives the size of no wheel, and the index would take a request for each."""
        what = ", ".join(f"{name} ({count(number, 'release')})" for name, number in sorted(releases.items()))
        most = sum(releases.values()) * LARGE >> 20
        self.note(f"{what}; up to {most} MB, or whole wheels of unknown size where the index gives no parts", "to fetch")
        return not (sys.stdin.isatty() and sys.stderr.isatty()) or click.confirm(translated("Fetch them?"), err=True)


def run_check(console: Console, request: CheckRequest) -> int:
    """Check whether patchsets would apply."""
    every, errors = find_patchsets(request.place.patch_dirs, os.getcwd())
    known = [one.patchset for one in every]
    if request.against:
        check_asked(request.against)
    requested, notes = choose(request.names or [one.name for one in known], (), request.place.patch_dirs)
    problems = {} if request.names else errors
    console.notes(notes)
    if request.against:
        code, fields = report_releases(console, requested, known, request)
    else:
        code, fields = _check_here(console, requested, request)
        fields["notes"] = [*notes, *fields["notes"]]
    console.rows(broken_rows(problems) if request.form == "text" else [])
    for name, error in problems.items() if request.form != "text" else []:
        if request.form == "github":
            console.out(of_error(f"{name} is broken", error))
        else:
            console.note(f"{name}: {error.brief}", "broken")
    code = 1 if problems else code
    console.data(not code, {**fields, "broken": broken_json(problems)})
    return code


def _check_here(console: Console, requested: Sequence[Requested], request: CheckRequest) -> Tuple[int, Dict[str, Any]]:
    """Those that are named together, as `apply` would take them; else each by itself, and absent packages are no fault."""
    env = request.place.environment()
    console.about(env)
    answers: List[Answer] = []
    notes: List[str] = []
    groups = [requested] if request.names else [[one] for one in requested]
    for number, group in enumerate(groups, 1):
        plan = settled(env, partial(plan_apply, env, group))
        answers += plan.answers
        notes += plan.notes
        console.progress(number, len(groups), "patchsets checked")
    absent = [] if request.names else [answer for answer in answers if is_absent(answer)]
    present = [answer for answer in answers if answer not in absent]
    if request.form == "text":
        console.rows(answer_rows(answer for answer in present if answer.state.failed or not console.quiet))
        console.info_rows([Row("absent", (one.patchset, one.path), (one.problem,)) for one in absent])
    else:
        _for_ci(console, of_answers(present), request)
    console.notes(dict.fromkeys(notes))
    fields = {
        "patchsets": [one.patchset.name for one in requested],
        "answers": [answer_json(answer) for answer in present],
        "absent": [answer_json(answer) for answer in absent],
        "notes": list(dict.fromkeys(notes)),
    }
    return (1 if any(answer.state.failed for answer in present) else 0), fields


def report_releases(
    console: Console, requested: Sequence[Requested], known: Sequence[Patchset], request: CheckRequest
) -> Tuple[int, Dict[str, Any]]:
    """Report what becomes of patchsets on releases; returns the exit code and the JSON answer."""
    events = ConsoleEvents(console) if request.names else _ConfirmFetching(console)
    results = check_releases(requested, request.against, known, request.jobs, events)
    if request.form == "text":
        for number, checked in enumerate(results):
            console.out(("\n" if number else "") + checked_heading(checked))
            console.rows(checked_rows(checked, each=console.verbose))
    else:
        _for_ci(console, [result for checked in results for result in of_releases(checked)], request)
    outcomes = [outcome for checked in results for outcome in checked.outcomes]
    hints = dict.fromkeys(line for one in outcomes for line in one.hint.split("\n") if one.failed and line)
    console.notes(hints, "hint")
    if request.html:
        from patcher.cli.pages.releases import releases_page  # with diff-match-patch

        title = " ".join(["sitepatch check", *(one.patchset.name for one in requested)])
        console.file(request.html, releases_page(title, results))
    return (1 if any(one.failed for one in outcomes) else 0), {"patchsets": [checked_json(one) for one in results]}


def _for_ci(console: Console, results: Sequence[CiResult], request: CheckRequest) -> None:
    if request.form == "junit":
        console.out(printable_lines(junit(results)))
        return
    where = patchset_folders(request.place.patch_dirs, os.getcwd())
    for line in github(results, {name: f"{places[0][0]}/{MANIFEST}" for name, places in where.items()}):
        console.out(line)
