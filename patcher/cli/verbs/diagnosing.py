"""What `diagnose` does: with logs that have ended, with `--follow`, and with `--ranks`."""

from __future__ import annotations

import sys
from typing import Optional, Sequence

from patcher.cli.answers import diagnosis
from patcher.cli.answers.trial import trial_json, trial_rows
from patcher.cli.console import Console
from patcher.cli.pages.ranks import page
from patcher.diagnose.runs import Run
from patcher.diagnose.table import classify, is_wrong
from patcher.errors import UsageError
from patcher.ops import diagnose as ops
from patcher.ops.diagnose import DiagnoseRequest
from patcher.ops.ranks import RanksRequest, diagnose_ranks
from patcher.text.table import Row


def run_diagnose(console: Console, request: DiagnoseRequest, which: Optional[str], html: Optional[str]) -> int:
    """Say what is in logs, of the newest run or of that which is asked for; and write a page of it where that is named."""
    outcome = ops.diagnose(request, console.progress)
    shown = [(run, classify(run)) for run in _chosen(outcome.runs, which)]
    for error in outcome.broken:
        console.note(error.brief, "broken")
    for run, classified in shown:
        diagnosis.tell_run(console, run, len(outcome.runs), classified)
    rows = diagnosis.finding_rows(outcome.findings)
    console.rows(rows)
    diagnosis.tell_damage(console, outcome.logs)
    diagnosis.tell_cure(console, request.place, outcome)
    if html:
        console.file(html, page(shown, len(outcome.runs), outcome.logs, rows))
    concluded = any(is_wrong(each) for _, classified in shown for each in classified)
    damaged = any(log.cut_count or log.problem for log in outcome.logs)
    ok = not (outcome.findings or concluded or damaged)
    console.data(ok, diagnosis.outcome_json(outcome, shown, request.place))
    return 0 if ok else 1


def run_follow(console: Console, request: DiagnoseRequest) -> int:
    """Write each finding when it is seen first, and the newest run whenever more of its ranks have reported."""
    told, reports, concluded = {""}, 0, False
    for outcome in ops.follow(request):
        new = [each for each in outcome.findings if each.symptom.name not in told]
        told |= {each.symptom.name for each in new}
        console.rows(diagnosis.finding_rows(new))
        if new:
            diagnosis.tell_cure(console, request.place, outcome)
        number = sum(len(log.reports) for log in outcome.logs)
        if number > reports:
            run = outcome.runs[-1]
            classified = classify(run)
            concluded = concluded or any(map(is_wrong, classified))
            diagnosis.tell_run(console, run, len(outcome.runs), classified)
        reports = number
        sys.stdout.flush()
    return 1 if concluded or len(told) > 1 else 0


def run_ranks(console: Console, request: RanksRequest) -> int:
    """Start ranks, and say whether they can talk to each other."""
    outcome = diagnose_ranks(request, console.progress)
    verdict, found = outcome.verdict, outcome.found
    for error in found.broken:
        console.note(error.brief, "broken")
    for note in dict.fromkeys(note for rank in outcome.ranks for note in rank.notes):
        console.note(note)
    console.rows(trial_rows(outcome))
    console.rows(diagnosis.finding_rows(found.findings))
    console.rows([Row("ok" if verdict.ok else "failed", (verdict.text,), (f"hint: {verdict.hint}",) if verdict.hint else ())])
    if found.cure:
        diagnosis.tell_cure(console, request.place, found)
    answer = diagnosis.outcome_json(found, (), request.place)
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
