"""`diagnose`: what is wrong in logs, and what cures it; logs, or ranks that are started."""

from __future__ import annotations

import sys
from io import BufferedReader
from pathlib import Path
from typing import Any, Callable, Sequence, cast

import click

from patcher.diagnosis.conclusions import READY, sentence
from patcher.diagnosis.failures import Failure
from patcher.diagnosis.files import STDIN, log_files, read_log
from patcher.diagnosis.log import Log, Sighting
from patcher.diagnosis.runs import Wrap
from patcher.diagnosis.table import DOUBTS, WIDTH, heading, run_json, table, well
from patcher.display.console import Console
from patcher.display.styles import Row, Verbatim, hint_lines, style, term, titled, translated
from patcher.display.usage import Number, Whole
from patcher.errors import UsageError
from patcher.message import Message, joined
from patcher.patchset.symptoms import with_tools
from patcher.place import HERE, SILENT, Events, Place
from patcher.text.listed import Texts, count, one_or_more, ranks
from patcher.text.terminal import width, wrapped
from patcher.verbs.findings import DiagnoseOutcome, FoundSymptom, KnownSymptoms
from patcher.verbs.list import symptom_details
from patcher.verbs.options import common_options

_STDIN = Message("standard input")
_MB = 1_000_000
_FEW = 3  # lines that merely speak of errors


def diagnose(
    logs: Texts = STDIN, *, run: str | None = None, place: Place = HERE, events: Events = SILENT
) -> DiagnoseOutcome:
    """Read logs, and find what is wrong in them and which patchset cures it.

    Args:
        logs: files, also compressed by gzip; directories with all that is in them; `-` for standard input.
        run: which runs are shown: `all`, or a number as text, 1 being the oldest; the newest without it.
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
    total, size = sum(Path(path).stat().st_size for path in files if path != STDIN), 0

    def progress(piece_size: int) -> None:
        nonlocal size
        size += piece_size
        is_known = size <= total  # not of standard input, nor of what is packed
        events.progress(
            size // _MB, -(-total // _MB) if is_known else 0, Message("MB of logs read")
        )

    read = [_read(path, symptoms.patterns, progress) for path in files]
    events.progress(1, 1, Message("logs read"))
    return symptoms.outcome(read, run)


def _stdin() -> BufferedReader:
    if sys.stdin is None:
        raise UsageError("standard input is closed", "name a file")
    return cast(BufferedReader, sys.stdin.buffer)


def _read(path: str, patterns: Sequence[str], progress: Callable[[int], None]) -> Log:
    if path == STDIN:
        return read_log(_STDIN, _stdin(), patterns, progress)
    with Path(path).open("rb") as file:
        return read_log(path, file, patterns, progress)


@click.command(
    "diagnose",
    epilog=(
        "\b\nExamples:\n  torchrun --nproc_per_node=8 train.py 2>&1 | sitepatch diagnose\n"
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

    It reads the logs of all ranks: files (also compressed by gzip), directories with all that is in them, or standard
    input (-). For each known problem it shows what has happened, whether the patchset that
    cures it fits this environment or is applied there already, and the one command to run. What mmengine-ddp-debug printed
    becomes a table of all ranks. Exit code 1 if anything was found.

    With --ranks it reads no log: it starts ranks of this environment's Python and torch on this machine, which make an
    all-reduce and wait at a barrier, and reports which of them did not arrive, and why. Exit code 1 if they cannot
    communicate.
    """
    if size is not None:
        if logs or which:
            raise UsageError(
                "--ranks: found a log or --run, which is for logs", "leave one of both out"
            )
        return _report_trial(console, size, backend or "", timeout or 60.0)
    if backend is not None or timeout is not None:
        raise UsageError("--backend and --timeout: found no --ranks, which they are for")
    if not logs and (sys.stdin is None or sys.stdin.isatty()):
        raise UsageError(
            "no log was given", "name files or directories, or pipe a log into the command"
        )
    outcome = diagnose(logs or STDIN, run=which, place=console.place, events=console)
    console.notes((error.brief for error in outcome.broken), "broken")
    _show_runs(console, outcome)
    console.rows(list(_outcome_rows(outcome).values()))
    _show_damage(console, outcome.logs)
    _show_cure(console, outcome)
    if outcome.ok:
        mentions = outcome.mentions if console.verbose else outcome.mentions[:_FEW]
        console.rows(
            [
                Row("also in the text", (f"{place.log}:{place.line}",), (Verbatim(place.text),))
                for place in mentions
            ]
        )
    return console.answer(outcome.ok, _outcome_json(console, outcome))


def _report_trial(console: Console, size: int, backend: str, timeout: float) -> int:
    """Start ranks, and show whether they can communicate."""
    from patcher.diagnosis.ranks import trial_json  # with subprocess
    from patcher.verbs.trial import rank_rows, start_ranks

    ranks, verdict, outcome = start_ranks(
        size, backend=backend, timeout=timeout, place=console.place, events=console
    )
    console.notes((error.brief for error in outcome.broken), "broken")
    console.notes(dict.fromkeys(remark for rank in ranks for remark in rank.remarks))
    console.rows(rank_rows(ranks, verdict))
    console.rows(list(map(_finding_row, outcome.findings)))
    console.rows(
        [Row("ok" if verdict.ok else "failed", (verdict.text,), tuple(hint_lines(verdict.hint)))]
    )
    if outcome.cure:
        _show_cure(console, outcome)
    return console.answer(
        verdict.ok,
        {**_outcome_json(console, outcome), "trial": trial_json(ranks, verdict, timeout)},
    )


# as text --------------------------------------------------------------------------------------------------------------
_NO_TRACEBACK = Message(
    "these logs have no traceback of it: torchrun --log-dir DIR --redirects 3 keeps a log of each rank, "
    "and @record of torch.distributed.elastic.multiprocessing.errors adds it to torchrun's summary"
)
_LATE = Message(
    "it still ran when torchrun ended it, and has written no error: it stood still or made other calls, "
    "and py-spy dump --pid PID shows where while it runs"
)
_WAITED = Message(
    "it waited for another rank, and is a victim: look for the one that ended or stood still before"
)


def _outcome_rows(outcome: DiagnoseOutcome) -> dict[tuple[object, ...], Row]:
    """A row for each rank that failed first, or each error that nothing explains, between known causes and consequences."""
    rows: dict[tuple[object, ...], Row] = {}
    causes = (finding for finding in outcome.findings if not finding.symptom.follows)
    rows.update(((finding.symptom.name,), _finding_row(finding)) for finding in causes)
    rows.update(
        ((failure.host, failure.time, failure.rank), _failure_row(failure))
        for failure in outcome.failures
    )
    rows.update(((error.text, error.at), _unexplained_row(error)) for error in outcome.unexplained)
    rows.update(((finding.symptom.name,), _finding_row(finding)) for finding in outcome.findings)
    return rows


def _unexplained_row(error: Sighting) -> Row:
    where = joined(
        ", ", [f"{error.log}:{error.line}", *([ranks(error.ranks)] if error.ranks else [])]
    )
    details: list[str] = [*_quoted(error.text, error.at, error.raised_at)]
    details.append(Message("no patchset and no advice here is about this error"))
    return Row(Message("not known"), (where,), tuple(details))


def _quoted(error: str, at: str, raised_at: str) -> list[str]:
    """An error, the file of the installed package that raised it, and where the user's own code is."""
    lines: list[str] = [Verbatim(error)]
    if raised_at:
        lines.append(Message("raised in {place}", place=raised_at))
    if at:
        lines.append(Verbatim(at))
    return lines


def _failure_row(failure: Failure) -> Row:
    where = f"{failure.log}:{failure.line}"
    details = _quoted(failure.error, failure.at, failure.raised_at) if failure.error else []
    if failure.late:
        template = "torchrun saw rank {failure.rank} fail first, on {failure.host}, {failure.time}: it waited in vain"
        saw = Message(template, failure=failure)
        return Row("late", (ranks(failure.late), where), (saw, *details, *hint_lines(_LATE)))
    if not failure.named:
        details.append(
            Message("the logs do not say which rank has written this traceback: it is the only one")
        )
    if failure.victim is not None:
        details += (
            [Message("it was ended by {signal}", signal=failure.signal)]
            if failure.signal and not failure.error
            else []
        )
        details.append(
            Message(
                "torchrun saw rank {rank} fail first, which waited for this one",
                rank=failure.victim,
            )
        )
    else:
        code = "torchrun saw it fail first: exit code {failure.exitcode}, on {failure.host}, {failure.time}"
        signal = "torchrun saw it fail first: ended by {failure.signal}, on {failure.host}, {failure.time}"
        details.append(Message(signal if failure.signal else code, failure=failure))
    if failure.error_file:
        details.append(Message("its error file: {error_file}", error_file=failure.error_file))
    elif not (failure.error or failure.signal):
        details += hint_lines(_NO_TRACEBACK)
    details += hint_lines(_WAITED) if failure.waited else []
    return Row(
        "waited" if failure.waited else "failed",
        (Message("rank {rank}", rank=failure.rank), where),
        tuple(details),
    )


def _finding_row(finding: FoundSymptom) -> Row:
    """A row for a finding; its word is the state of the patchset that cures it, `advice` where none does."""
    symptom, fit, patchset = finding.symptom, finding.fit, finding.patchset
    rank_words = [ranks(finding.ranks)] if finding.ranks else []
    lines = [count(finding.number, "line")] if finding.number > 1 else []
    where = joined(", ", [f"{finding.log}:{finding.line}", *rank_words, *lines])
    cure = ""
    if fit and patchset:
        does = Message(
            "shown by {name}" if patchset.kind == "debug" else "cured by {name}", name=patchset.name
        )
        cure = Message("{does}: {text}", does=does, text=fit.text)
    word = fit.word if fit else "follows" if symptom.follows else "advice"
    return Row(
        word,
        (symptom.name, where),
        (Verbatim(finding.text), *symptom_details(symptom, cure, finding.devices)),
    )


def _show_cure(console: Console, outcome: DiagnoseOutcome) -> None:
    """Write the one command to run, or that there is nothing to be done."""
    if outcome.cure:
        console.out(style(term("run"), bold=True), "  ", _cure(console, outcome))
    elif outcome.ok and not outcome.runs:
        number = sum(log.lines for log in outcome.logs)
        lines, logs = count(number, "line"), count(len(outcome.logs), "log")
        console.info("no known problem in {lines} of {logs}", lines=lines, logs=logs)
        if not number:
            console.note("nothing was read: a command's errors come through a pipe with 2>&1")


def _cure(console: Console, outcome: DiagnoseOutcome) -> str:
    return (
        console.command(*outcome.cure, patch_dirs=console.place.patch_dirs) if outcome.cure else ""
    )


def _show_runs(console: Console, outcome: DiagnoseOutcome) -> None:
    """Write the table of each run that is shown, for each wrapping, and the conclusions."""
    for run in outcome.shown:
        if len(outcome.runs) > 1:
            number = Message("run {number} of {total}", number=run.number, total=len(outcome.runs))
            console.info(joined(", ", [number, run.when]))
        for wrap in run.wraps:
            _show_wrap(console, wrap)


def _show_wrap(console: Console, wrap: Wrap) -> None:
    console.out(titled(heading(wrap)))
    (head, column), *lines = table(wrap)
    console.out(style(f"{head}  {column}", dim=True))
    for cells, verdict in lines:
        console.out(cells, "  ", style(verdict, fg=_color(verdict)))
    console.out()
    for conclusion in wrap.conclusions:
        _tell(console, conclusion.code, sentence(conclusion), _color(conclusion.code))
        if conclusion.hint:
            console.out("  " + _indented(Message("hint: {hint}", hint=conclusion.hint), 2))
    if not wrap.conclusions:
        console.out(style(READY, fg=_color(READY)), "  ", well(wrap))
    console.out()


def _color(verdict: str) -> str:
    return "green" if verdict == READY else "yellow" if verdict in DOUBTS else "red"


def _tell(console: Console, word: str, text: str, color: str) -> None:
    console.out(style(word, fg=color), "  ", _indented(text, width(word) + 2))


def _indented(text: str, indent: int) -> str:
    """Text in lines of at most 100 columns, all but the first two columns in; the first begins at column `indent`."""
    return "\n  ".join(wrapped("." * indent + translated(text), WIDTH - 2))[indent:]


def _show_damage(console: Console, logs: Sequence[Log]) -> None:
    """Write which reports and logs could not be read to their end."""
    number = sum(log.cut_count for log in logs)
    if number:
        places = [f"{log.name}:{line}" for log in logs for line in log.cut]
        template = (
            "{reports} could not be read, cut short or of another release of its patchset: {places}"
        )
        where = ", ".join(places[:10]) + (", ..." if places[10:] else "")
        text = Message(template, reports=count(number, "report"), places=where)
        _tell(console, term("unread"), text, "red")
    for log in logs:
        if log.problem:
            _tell(console, term("unread"), Message("{log.name}: {log.problem}", log=log), "red")


# as JSON --------------------------------------------------------------------------------------------------------------
def _outcome_json(console: Console, outcome: DiagnoseOutcome) -> dict[str, Any]:
    """The whole answer."""
    return {
        "failures": outcome.failures,
        "unexplained": [
            {"error": error.text, **_fields(error, "at", "raised_at", "ranks", "log", "line")}
            for error in outcome.unexplained
        ],
        "mentions": [_fields(mention, "log", "line", "text") for mention in outcome.mentions],
        "findings": list(map(_finding_json, outcome.findings)),
        "cure": _cure(console, outcome),
        "runs": len(outcome.runs),
        "shown": list(map(run_json, outcome.shown)),
        "logs": list(map(_log_json, outcome.logs)),
        "trial": None,
        "broken": [{"problem": error.message, **error.place} for error in outcome.broken],
    }


def _finding_json(finding: FoundSymptom) -> dict[str, Any]:
    symptom, fit, patchset = finding.symptom, finding.fit, finding.patchset
    told = {
        "symptom": symptom.name,
        "meaning": symptom.meaning,
        "advice": with_tools(symptom.advice, finding.devices),
    }
    seen = {
        "follows": symptom.follows,
        "lines": finding.number,
        **_fields(finding, "ranks", "log", "line", "text"),
    }
    cure = {
        "fit": fit.word if fit else "",
        "fit_text": fit.text if fit else "",
        "settings": fit.settings if fit else (),
    }
    return {**told, **seen, "patchset": patchset.name if patchset else "", **cure}


def _log_json(log: Log) -> dict[str, Any]:
    head = {"log": log.name, "lines": log.lines, "reports": len(log.reports), "cut": log.cut_count}
    return {**head, "cut_lines": log.cut, "problem": log.problem}


def _fields(item: object, *names: str) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names}
