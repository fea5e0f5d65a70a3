"""`diagnose`: what is wrong in logs, and what cures it; or in ranks that it starts."""

from __future__ import annotations

import math
import sys
from io import BufferedReader
from pathlib import Path
from typing import Callable, Sequence, cast

import click

from patcher.diagnosis.files import STDIN, log_files, read_log
from patcher.diagnosis.log import Log
from patcher.display.console import Console
from patcher.display.usage import Number, Whole
from patcher.errors import UsageError
from patcher.message import Message
from patcher.place import HERE, SILENT, Events, Place
from patcher.text.listed import Texts, one_or_more
from patcher.verbs.diagnose_answer import answer_of, trial_told
from patcher.verbs.diagnose_report import cure_command, show_diagnosis, show_trial
from patcher.verbs.log_findings import DiagnoseOutcome, KnownSymptoms
from patcher.verbs.options import common_options
from patcher.verbs.rank_trial import start_ranks

_STDIN = Message("standard input")
_MB = 1_000_000


def diagnose(
    logs: Texts = STDIN, *, run: str | None = None, place: Place = HERE, events: Events = SILENT
) -> DiagnoseOutcome:
    """Read logs, and find what is wrong in them and which patchset cures it.

    Args:
        logs: files, also compressed by gzip; directories with all that is in them; `-` for standard
            input.
        run: which runs are shown: `all`, or a number as text, 1 being the oldest; the newest
            without it.
        place: the environment that is to be cured.
        events: takes how many megabytes were read.

    Raises:
        UsageError: logs that are not there or may not be read; a run that they do not have.
        SitepatchError: no such environment, where something is to be cured in it.
    """
    symptoms = KnownSymptoms(place)
    files = log_files(one_or_more(logs))
    if not files:
        raise UsageError("{folders}: found no log in it", folders=", ".join(one_or_more(logs)))
    total = sum(Path(path).stat().st_size for path in files if path != STDIN)
    done = 0

    def progress(size: int) -> None:
        nonlocal done
        done += size
        is_known = done <= total  # not of standard input, nor of what is packed
        total_mb = math.ceil(total / _MB) if is_known else 0
        events.progress(done // _MB, total_mb, Message("MB of logs read"))

    read = [_read(path, symptoms.patterns, progress) for path in files]
    events.progress(1, 1, Message("logs read"))
    return symptoms.outcome(read, run)


def _read(path: str, patterns: Sequence[str], progress: Callable[[int], None]) -> Log:
    if path == STDIN:
        return read_log(_STDIN, _stdin(), patterns, progress)
    with Path(path).open("rb") as file:
        return read_log(path, file, patterns, progress)


def _stdin() -> BufferedReader:
    if sys.stdin is None:
        raise UsageError("standard input is closed", "name a file")
    return cast(BufferedReader, sys.stdin.buffer)


# the command --------------------------------------------------------------------------------------
@click.command(
    "diagnose",
    epilog=(
        "\b\nExamples:\n"
        "  torchrun --nproc_per_node=8 train.py 2>&1 | sitepatch diagnose\n"
        "  sitepatch diagnose work_dirs/logs\n"
        "  sitepatch diagnose --ranks 2 --timeout 30"
    ),
)
@click.argument("logs", metavar="[LOG]...", nargs=-1, type=click.Path())
@click.option(
    "--run",
    "which",
    metavar="N|all",
    help="Which run, where the logs hold several; default: the newest.",
)
@click.option(
    "--ranks",
    "size",
    metavar="N",
    type=Whole(1, 256),
    help="No log: start N ranks here, and see if they can talk.",
)
@click.option(
    "--backend",
    metavar="NAME",
    help="With --ranks: gloo, nccl, cpu:gloo,gcu:eccl, ...; default: what fits the device.",
)
@click.option(
    "--timeout",
    type=Number(1, 86400),
    metavar="SECONDS",
    help="With --ranks: how long they have; default: 60.",
)
@common_options()
def command(
    console: Console,
    logs: tuple[str, ...],
    which: str | None,
    size: int | None,
    backend: str | None,
    timeout: float | None,
) -> int:
    """Explain an error in a log, and name the patchset that cures it.

    It reads the logs of all ranks: files (also compressed by gzip), directories with all that is in
    them, or standard input (-). For each known problem it shows what has happened, whether the
    patchset that cures it fits this environment or is applied there already, and the one command to
    run. What mmengine-ddp-debug printed becomes a table of all ranks. Exit code 1 if anything was
    found.

    With --ranks it reads no log: it starts ranks of this environment's Python and torch on this
    machine, which make an all-reduce and wait at a barrier, and reports which of them did not
    arrive, and why. Exit code 1 if they cannot communicate.
    """
    if size is not None:
        if logs or which:
            problem = Message("--ranks: found a log or --run, which is for logs")
            raise UsageError(problem, "leave one of both out")
        return _report_trial(console, size, backend=backend or "", timeout=timeout or 60.0)
    if backend is not None or timeout is not None:
        raise UsageError("--backend and --timeout: found no --ranks, which they are for")
    if not logs and (sys.stdin is None or sys.stdin.isatty()):
        hint = Message("name files or directories, or pipe a log into the command")
        raise UsageError("no log was given", hint)

    outcome = diagnose(logs or STDIN, run=which, place=console.place, events=console)
    show_diagnosis(console, outcome)
    return console.answer(outcome.ok, answer_of(outcome, cure_command(console, outcome)))


def _report_trial(console: Console, size: int, *, backend: str, timeout: float) -> int:
    """Start ranks, and report whether they can communicate."""
    trial = start_ranks(size, backend=backend, timeout=timeout, place=console.place, events=console)
    show_trial(console, trial)
    told = trial_told(trial.ranks, trial.verdict, limit=timeout)
    answer = answer_of(trial.found, cure_command(console, trial.found), trial=told)
    return console.answer(trial.verdict.ok, answer)
