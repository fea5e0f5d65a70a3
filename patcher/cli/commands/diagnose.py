"""`diagnose`: logs that have ended, logs that grow (`--follow`), ranks that are started (`--ranks`)."""

from __future__ import annotations

import sys
from typing import List, Optional, Set, Tuple

import click

from patcher.cli.answers.diagnosis import (
    finding_rows,
    mention_rows,
    outcome_json,
    outcome_rows,
    run_row,
    show_cure,
    show_damage,
    show_runs,
)
from patcher.errors import UsageError
from patcher.ops import diagnose as ops
from patcher.ops.diagnose import DiagnoseOutcome, DiagnoseRequest
from patcher.verbs.console import Console
from patcher.verbs.options import common_options
from patcher.verbs.styles import Row, hint_lines
from patcher.verbs.usage import Number, Whole


@click.command(
    epilog=(
        "\b\nExamples:\n  torchrun --nproc_per_node=8 train.py 2>&1 | sitepatch diagnose\n"
        "  sitepatch diagnose work_dirs/logs\n  sitepatch diagnose train.log --follow\n"
        "  sitepatch diagnose --ranks 2 --timeout 30"
    )
)
@click.argument("logs", metavar="[LOG]...", nargs=-1, type=click.Path())
@click.option("--follow", "grows", is_flag=True, help="Also what is written from now on, until Ctrl-C.")
@click.option("--run", "which", metavar="N|all", help="Which run, where the logs hold several; default: the newest.")
@click.option(
    "--ranks", "count", metavar="N", type=Whole(1, 256), help="No log: start N ranks here, and see if they can talk."
)
@click.option(
    "--backend", metavar="NAME", help="With --ranks: gloo, nccl, cpu:gloo,gcu:eccl, ...; default: what fits the device."
)
@click.option("--timeout", type=Number(1, 86400), metavar="SECONDS", help="With --ranks: how long they have; default: 60.")
@common_options()
def diagnose(
    console: Console,
    logs: Tuple[str, ...],
    grows: bool,
    which: Optional[str],
    count: Optional[int],
    backend: Optional[str],
    timeout: Optional[float],
) -> int:
    """Explain an error in a log, and name the patchset that cures it.

    It reads the logs of all ranks: files (also compressed by gzip), directories with all that is in them, or standard
    input (-). For each known problem it shows what has happened, whether the patchset that
    cures it fits this environment or is applied there already, and the one command to run. What mmengine-ddp-debug printed
    becomes a table of all ranks. Exit code 1 if anything was found.

    With --ranks it reads no log: it starts ranks of this environment's Python and torch on this machine, which make an
    all-reduce and wait at a barrier, and reports which of them did not arrive, and why. Exit code 1 if they cannot
    communicate.
    """
    if count is not None:
        if logs or grows or which:
            raise UsageError("--ranks: found a log, --follow or --run, which are for logs", "leave one of both out")
        return _try_ranks(console, count, backend or "", timeout or 60.0)
    if backend is not None or timeout is not None:
        raise UsageError("--backend and --timeout: found no --ranks, which they are for")
    if not logs and (sys.stdin is None or sys.stdin.isatty()):
        raise UsageError("no log was given", "name files or directories, or pipe a log into the command")
    if grows and (which or console.as_json):
        raise UsageError("--follow: found --run or --json, which are for logs that have ended")
    request = DiagnoseRequest(console.place, logs or ("-",), which)
    if grows:
        return _follow(console, request)
    outcome = ops.diagnose(request, console)
    console.notes((error.brief for error in outcome.broken), "broken")
    show_runs(console, outcome)
    console.rows(outcome_rows(outcome.failures, outcome.unexplained, outcome.findings))
    show_damage(console, outcome.logs)
    show_cure(console, outcome)
    console.rows(mention_rows(outcome, verbose=console.verbose))
    return console.answer(outcome.ok, outcome_json(console, outcome))


def _follow(console: Console, request: DiagnoseRequest) -> int:
    """Write each finding when it is seen first, the newest run whenever more of its ranks have reported, and how it ended."""
    last: List[DiagnoseOutcome] = []
    try:
        ok = _show_all(console, request, last)
    except KeyboardInterrupt:
        console.rows([run_row(each, has_ended=False) for each in last])
        raise
    console.rows([run_row(each, has_ended=True) for each in last])
    return 0 if ok else 1


def _show_all(console: Console, request: DiagnoseRequest, last: List[DiagnoseOutcome]) -> bool:
    """Write what is found until the log ends, with the newest outcome in `last`; whether nothing was."""
    seen: Set[object] = set()
    reports, ok = 0, True
    for outcome in ops.follow(request):
        last[:] = [outcome]
        failed = [each for each in outcome.failures if (each.rank, each.time) not in seen]
        unknown = [each for each in outcome.unexplained if (each.error, each.at) not in seen]
        new = [each for each in outcome.findings if each.symptom.name not in seen]
        seen |= {*((each.rank, each.time) for each in failed), *(each.symptom.name for each in new)}
        seen |= {(each.error, each.at) for each in unknown}
        console.rows(outcome_rows(failed, unknown, new))
        if new:
            show_cure(console, outcome)
        number = sum(len(log.reports) for log in outcome.logs)
        if number > reports:
            show_runs(console, outcome)
            ok = ok and not outcome.concluded
        reports = number
        sys.stdout.flush()
    return ok and not seen


def _try_ranks(console: Console, size: int, backend: str, timeout: float) -> int:
    """Start ranks, and show whether they can communicate."""
    from patcher.cli.answers.trial import rank_rows, trial_json  # with subprocess
    from patcher.ops.health.ranks import RanksRequest, diagnose_ranks

    ranks, verdict, found = diagnose_ranks(RanksRequest(console.place, size, backend, timeout), console)
    console.notes((error.brief for error in found.broken), "broken")
    console.notes(dict.fromkeys(note for rank in ranks for note in rank.notes))
    console.rows(rank_rows(ranks, verdict))
    console.rows(finding_rows(found.findings))
    console.rows([Row("ok" if verdict.ok else "failed", (verdict.text,), tuple(hint_lines(verdict.hint)))])
    if found.cure:
        show_cure(console, found)
    return console.answer(verdict.ok, {**outcome_json(console, found), "trial": trial_json(ranks, verdict, timeout)})
