"""What `diagnose` does: with logs that have ended, with `--follow`, and with `--ranks`."""

from __future__ import annotations

import sys
from typing import Optional, Sequence

from patcher.cli.answers.diagnosis import finding_rows, outcome_json, show_cure, show_damage, show_run
from patcher.cli.answers.outcome import ConsoleEvents
from patcher.cli.answers.trial import trial_json, trial_rows
from patcher.cli.console import Console
from patcher.cli.pages.ranks import ranks_page
from patcher.cli.styles import Row, hint_lines
from patcher.diagnose.runs import Run
from patcher.diagnose.table import classified_wraps, is_wrong
from patcher.errors import UsageError
from patcher.ops import diagnose as ops
from patcher.ops.diagnose import DiagnoseRequest
from patcher.ops.ranks import RanksRequest, diagnose_ranks


def run_diagnose(console: Console, request: DiagnoseRequest, which: Optional[str], html: Optional[str]) -> int:
    """Show what is in logs, of the newest run or of `which`; and write a page of it to the file `html`."""
    outcome = ops.diagnose(request, ConsoleEvents(console))
    shown = [(run, classified_wraps(run)) for run in _chosen(outcome.runs, which)]
    console.notes((error.brief for error in outcome.broken), "broken")
    for run, classified in shown:
        show_run(console, run, len(outcome.runs), classified)
    rows = finding_rows(outcome.findings)
    console.rows(rows)
    show_damage(console, outcome.logs)
    show_cure(console, request.place, outcome)
    if html:
        console.file(html, ranks_page(shown, len(outcome.runs), outcome.logs, rows))
    concluded = any(is_wrong(each) for _, classified in shown for each in classified)
    damaged = any(log.cut_count or log.problem for log in outcome.logs)
    ok = not (outcome.findings or concluded or damaged)
    console.data(ok, outcome_json(outcome, shown, request.place))
    return 0 if ok else 1


def run_follow(console: Console, request: DiagnoseRequest) -> int:
    """Write each finding when it is seen first, and the newest run whenever more of its ranks have reported."""
    shown, reports, concluded = {""}, 0, False
    for outcome in ops.follow(request):
        new = [each for each in outcome.findings if each.symptom.name not in shown]
        shown |= {each.symptom.name for each in new}
        console.rows(finding_rows(new))
        if new:
            show_cure(console, request.place, outcome)
        number = sum(len(log.reports) for log in outcome.logs)
        if number > reports:
            run = outcome.runs[-1]
            classified = classified_wraps(run)
            concluded = concluded or any(map(is_wrong, classified))
            show_run(console, run, len(outcome.runs), classified)
        reports = number
        sys.stdout.flush()
    return 1 if concluded or len(shown) > 1 else 0


def run_ranks(console: Console, request: RanksRequest) -> int:
    """Start ranks, and show whether they can communicate."""
    outcome = diagnose_ranks(request, ConsoleEvents(console))
    verdict, found = outcome.verdict, outcome.found
    console.notes((error.brief for error in found.broken), "broken")
    console.notes(dict.fromkeys(note for rank in outcome.ranks for note in rank.notes))
    console.rows(trial_rows(outcome))
    console.rows(finding_rows(found.findings))
    console.rows([Row("ok" if verdict.ok else "failed", (verdict.text,), tuple(hint_lines(verdict.hint)))])
    if found.cure:
        show_cure(console, request.place, found)
    answer = outcome_json(found, (), request.place)
    console.data(verdict.ok, {**answer, "trial": trial_json(outcome, request.timeout)})
    return 0 if verdict.ok else 1


def _chosen(runs: Sequence[Run], which: Optional[str]) -> Sequence[Run]:
    if which is None:
        return runs[-1:]
    if which == "all":
        return runs
    if not (which.isdigit() and 1 <= int(which) <= len(runs)):
        expected = f"all or a number from 1 to {len(runs)}" if runs else "none: no log has a report of mmengine-ddp-debug"
        raise UsageError(f"--run: found {which}, expected {expected}", "1 is the oldest run")
    return runs[int(which) - 1 : int(which)]
