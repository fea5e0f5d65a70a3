"""What `diagnose` has found, as text and as JSON."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Sequence, Tuple

from patcher.diagnose.causes import UnexplainedError
from patcher.diagnose.conclusions import sentence
from patcher.diagnose.failures import Failure
from patcher.diagnose.log import Log
from patcher.diagnose.patterns import with_tools
from patcher.diagnose.rank import accelerators, device_names, on_cpu
from patcher.diagnose.runs import Run
from patcher.diagnose.table import DOUBTS, READY, WIDTH, ClassifiedWrap, heading, run_json, table, well
from patcher.message import Message, joined
from patcher.ops.diagnose import DiagnoseOutcome, FoundSymptom
from patcher.text.listed import count, ranks
from patcher.text.terminal import Styled, width, wrapped
from patcher.verbs.console import Console
from patcher.verbs.list import symptom_details
from patcher.verbs.styles import Row, hint_lines, style, titled
from patcher.verbs.translation import Verbatim, term, translated

_FEW = 3  # lines that merely speak of errors
_NO_TRACEBACK = Message(
    "these logs have no traceback of it: torchrun --log-dir DIR --redirects 3 keeps a log of each rank, "
    "and @record of torch.distributed.elastic.multiprocessing.errors adds it to torchrun's summary"
)
_LATE = Message(
    "it still ran when torchrun ended it, and has written no error: it stood still or made other calls, "
    "and py-spy dump --pid PID shows where while it runs"
)
_WAITED = Message("it waited for another rank, and is a victim: look for the one that ended or stood still before")


def outcome_rows(
    failures: Iterable[Failure], unexplained: Iterable[UnexplainedError], findings: Sequence[FoundSymptom]
) -> List[Row]:
    """A row for each rank that failed first, or each error that nothing explains, between known causes and consequences."""
    causes, consequences = ([each for each in findings if each.symptom.follows == follows] for follows in (False, True))
    errors = [*map(_failure_row, failures), *map(_unexplained_row, unexplained)]
    return [*finding_rows(causes), *errors, *finding_rows(consequences)]


def _unexplained_row(error: UnexplainedError) -> Row:
    where = joined(", ", [f"{error.log}:{error.line}", *([ranks(error.ranks)] if error.ranks else [])])
    text = [Verbatim(line) for line in (error.error, error.at) if line]
    about = [Message("by its words it is about {name}", name=error.about)] if error.about else []
    return Row(Message("not known"), (where,), (*text, *about, Message("no patchset and no advice here is about this error")))


def _failure_row(failure: Failure) -> Row:
    where = f"{failure.log}:{failure.line}"
    error: List[str] = [Verbatim(failure.error), Verbatim(failure.at)] if failure.error else []
    if failure.late:
        saw = Message(
            "torchrun saw rank {failure.rank} fail first, on {failure.host}, {failure.time}: it waited in vain",
            failure=failure,
        )
        return Row("late", (ranks(failure.late), where), (saw, *error, *hint_lines(_LATE)))
    details = list(error)
    if not failure.named:
        details.append(Message("the logs do not say which rank has written this traceback: it is the only one"))
    if failure.victim is not None:
        details += [Message("it was ended by {signal}", signal=failure.signal)] if failure.signal and not failure.error else []
        details.append(Message("torchrun saw rank {rank} fail first, which waited for this one", rank=failure.victim))
    elif failure.signal:
        details.append(
            Message(
                "torchrun saw it fail first: ended by {failure.signal}, on {failure.host}, {failure.time}", failure=failure
            )
        )
    else:
        details.append(
            Message(
                "torchrun saw it fail first: exit code {failure.exitcode}, on {failure.host}, {failure.time}", failure=failure
            )
        )
    if failure.error_file:
        details.append(Message("its error file: {error_file}", error_file=failure.error_file))
    elif not (failure.error or failure.signal):
        details += hint_lines(_NO_TRACEBACK)
    details += hint_lines(_WAITED) if failure.waited else []
    return Row("waited" if failure.waited else "failed", (Message("rank {rank}", rank=failure.rank), where), tuple(details))


def finding_rows(findings: Iterable[FoundSymptom]) -> List[Row]:
    """A row for each finding; its word is the state of the patchset that cures it, `advice` where none does."""
    return [_row(each) for each in findings]


def _row(finding: FoundSymptom) -> Row:
    symptom, fit = finding.symptom, finding.fit
    known = [ranks(finding.ranks)] if finding.ranks else []
    more = [count(finding.number, "line")] if finding.number > 1 else []
    where = joined(", ", [f"{finding.log}:{finding.line}", *known, *more])
    cure = ""
    if fit and finding.patchset:
        name = finding.patchset.name
        does = Message("shown by {name}" if finding.patchset.kind == "debug" else "cured by {name}", name=name)
        cure = Message("{does}: {text}", does=does, text=fit.text)
    word = fit.word if fit else "follows" if symptom.follows else "advice"
    return Row(word, (symptom.name, where), (Verbatim(finding.text), *symptom_details(symptom, cure, finding.devices)))


def mention_rows(outcome: DiagnoseOutcome, *, verbose: bool) -> List[Row]:
    """A row for each of the first lines that merely speak of errors, where nothing is wrong at all."""
    shown = (outcome.mentions if verbose else outcome.mentions[:_FEW]) if outcome.ok else ()
    return [Row("also in the text", (f"{each.log}:{each.line}",), (Verbatim(each.text),)) for each in shown]


def show_cure(console: Console, outcome: DiagnoseOutcome) -> None:
    """Write the one command to run, or that there is nothing to be done."""
    if outcome.cure:
        console.out(style("run", bold=True), "  ", _cure(console, outcome))
    elif outcome.ok and not outcome.runs:
        lines = sum(log.lines for log in outcome.logs)
        console.info(
            "no known problem in {lines} of {logs}",
            lines=count(lines, "line"),
            logs=count(len(outcome.logs), "log"),
        )


def _cure(console: Console, outcome: DiagnoseOutcome) -> str:
    return console.command(*outcome.cure, patch_dirs=console.place.patch_dirs) if outcome.cure else ""


def show_runs(console: Console, outcome: DiagnoseOutcome) -> None:
    """Write the table of each run that is shown, for each wrapping, and the conclusions."""
    for run, wraps in outcome.shown:
        _show_run(console, run, len(outcome.runs), wraps)


def _show_run(console: Console, run: Run, total: int, classified: Sequence[ClassifiedWrap]) -> None:
    if total > 1:
        console.info(joined(", ", [Message("run {number} of {total}", number=run.number, total=total), run.when]))
    for each in classified:
        console.out(titled(heading(each)))
        head, *lines = table(each)
        console.out(style(f"{head.text}  {head.verdict}", dim=True))
        for line in lines:
            console.out(line.text, "  ", _styled(line.verdict))
        console.out()
        for conclusion in each.conclusions:
            console.out(_styled(conclusion.code), "  ", _indented(translated(sentence(conclusion)), len(conclusion.code) + 2))
            if conclusion.hint:
                console.out("  " + _indented(translated(Message("hint: {hint}", hint=conclusion.hint)), 2))
        if not each.conclusions:
            console.out(_styled("ready"), "  ", well(each))
        console.out()


def _styled(verdict: str) -> Styled:
    return style(verdict, fg="green" if verdict == READY else "yellow" if verdict in DOUBTS else "red")


def _indented(text: str, indent: int) -> str:
    """Text in lines of at most 100 columns, all but the first two columns in; the first begins at column `indent`."""
    return "\n  ".join(wrapped("." * indent + text, WIDTH - 2))[indent:]


def show_damage(console: Console, logs: Sequence[Log]) -> None:
    """Write which reports and logs could not be read to their end."""
    number = sum(log.cut_count for log in logs)
    were = Message("reports end too early and were" if number > 1 else "report ends too early and was")
    damage: List[Tuple[str, str]] = (
        [("cut-short", Message("{number} {were} not read: {places}", number=number, were=were, places=_places(logs)))]
        if number
        else []
    )
    damage += [("unread", Message("{log.name}: {log.problem}", log=log)) for log in logs if log.problem]
    for word, text in damage:
        console.out(style(term(word), fg="red"), "  ", _indented(translated(text), width(term(word)) + 2))


def _places(logs: Sequence[Log]) -> str:
    places = [f"{log.name}:{line}" for log in logs for line in log.cut]
    return ", ".join(places[:10]) + (", ..." if places[10:] else "")


def run_row(outcome: DiagnoseOutcome, *, has_ended: bool) -> Row:
    """The verdict of the newest run: how many ranks, on which devices, and whether it came to its end."""
    reports = [row for _, wraps in outcome.shown[-1:] for each in wraps for row in each.wrap.rows]
    size = max([len({row.rank for row in reports}), *(row.world_size or 0 for row in reports)], default=0)
    devices = ", ".join(sorted({name for row in reports for name in device_names(row.parameters)}))
    idle = sorted({name for row in reports if on_cpu(row) for name in accelerators(row)})
    if reports:
        who = Message("{ranks} on {devices}", ranks=count(size, "rank"), devices=devices or Message("no device"))
        who = Message("{who}, while {idle} stands idle", who=who, idle=", ".join(idle)) if idle else who
    else:
        who = Message("these logs do not say how many ranks there were and on which devices: mmengine-ddp-debug reports it")
    if outcome.erred:
        return Row("failed", (who,), (Message("it did not come to its end without an error"),))
    end = Message("it came to its end without an error" if has_ended else "no error so far")
    return Row("ok" if outcome.ok else "failed", (who,), (end,))


# JSON -----------------------------------------------------------------------------------------------------------------
def outcome_json(console: Console, outcome: DiagnoseOutcome) -> Dict[str, Any]:
    """The whole answer."""
    return {
        "failures": [each._asdict() for each in outcome.failures],
        "unexplained": [each._asdict() for each in outcome.unexplained],
        "mentions": [each._asdict() for each in outcome.mentions],
        "findings": [_finding_json(each) for each in outcome.findings],
        "cure": _cure(console, outcome),
        "runs": len(outcome.runs),
        "shown": [run_json(run, classified) for run, classified in outcome.shown],
        "logs": [_log_json(log) for log in outcome.logs],
        "trial": None,
        "broken": [{"problem": error.message, **error.place} for error in outcome.broken],
    }


def _finding_json(one: FoundSymptom) -> Dict[str, Any]:
    symptom, fit = one.symptom, one.fit
    advice = with_tools(symptom.advice, one.devices)
    head = {"symptom": symptom.name, "meaning": symptom.meaning, "advice": advice, "follows": symptom.follows}
    seen = {"lines": one.number, "ranks": list(one.ranks), "log": one.log, "line": one.line, "text": one.text}
    cure = {"fit": fit.word if fit else "", "fit_text": fit.text if fit else "", "settings": list(fit.settings if fit else ())}
    return {**head, **seen, "patchset": one.patchset.name if one.patchset else "", **cure}


def _log_json(log: Log) -> Dict[str, Any]:
    head = {"log": log.name, "lines": log.lines, "reports": len(log.reports), "cut": log.cut_count}
    return {**head, "cut_lines": list(log.cut), "problem": log.problem}
