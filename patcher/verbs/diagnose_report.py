"""How a diagnosis is shown: errors, findings, tables of ranks, the command to run."""

from __future__ import annotations

from typing import Iterator, Sequence

from patcher.diagnosis.conclusions import READY, sentence
from patcher.diagnosis.failures import FailedRank
from patcher.diagnosis.log import Log, Sighting
from patcher.diagnosis.runs import Wrap
from patcher.diagnosis.table import DOUBTS, WIDTH, heading, table, well
from patcher.display.console import Console
from patcher.display.styles import Row, Verbatim, hint_lines, style, term, titled, translated
from patcher.message import Message, joined
from patcher.text.listed import count, ranks
from patcher.text.terminal import width, wrapped
from patcher.verbs.list import symptom_details
from patcher.verbs.log_findings import DiagnoseOutcome, FoundSymptom
from patcher.verbs.rank_trial import TrialOutcome, rank_rows

_FEW = 3  # lines that merely speak of errors
_PLACES = 10  # reports that could not be read and are named
_NO_TRACEBACK = Message(
    "these logs have no traceback of it: "
    "torchrun --log-dir DIR --redirects 3 keeps a log of each rank, "
    "and @record of torch.distributed.elastic.multiprocessing.errors adds it to torchrun's summary"
)
_LATE = Message(
    "it still ran when torchrun ended it, and has written no error: "
    "it stood still or made other calls, "
    "and py-spy dump --pid PID shows where while it runs"
)
_WAITED = Message(
    "it waited for another rank, and is a victim: look for the one that ended or stood still before"
)


# as text ------------------------------------------------------------------------------------------
def show_diagnosis(console: Console, outcome: DiagnoseOutcome) -> None:
    """Show what is wrong in logs, and the command that cures it."""
    console.notes((error.brief for error in outcome.broken), "broken")
    _show_runs(console, outcome)
    console.rows(_rows(outcome))
    _show_damage(console, outcome.logs)
    _show_cure(console, outcome)
    if outcome.ok:
        mentions = outcome.errors.mentions if console.verbose else outcome.errors.mentions[:_FEW]
        rows = []
        for mention in mentions:
            place = f"{mention.log}:{mention.line}"
            rows.append(Row("also in the text", (place,), (Verbatim(mention.text),)))
        console.rows(rows)


def show_trial(console: Console, trial: TrialOutcome) -> None:
    """Show how far each rank came, and whether they can communicate."""
    verdict, outcome = trial.verdict, trial.found
    console.notes((error.brief for error in outcome.broken), "broken")
    console.notes(dict.fromkeys(remark for rank in trial.ranks for remark in rank.remarks))
    console.rows(rank_rows(trial.ranks, verdict))
    console.rows([_finding_row(finding) for finding in outcome.findings])
    word = "ok" if verdict.ok else "failed"
    console.rows([Row(word, (verdict.text,), tuple(hint_lines(verdict.hint)))])
    if outcome.cure:
        _show_cure(console, outcome)


def _rows(outcome: DiagnoseOutcome) -> list[Row]:
    """Known causes, the rank that failed first or errors that nothing explains, consequences.

    Each once: a row replaces an earlier one about the same.
    """
    rows: dict[tuple[object, ...], Row] = {}
    for finding in outcome.findings:
        if not finding.symptom.follows:
            rows[(finding.symptom.name,)] = _finding_row(finding)
    for failure in outcome.errors.failures:
        ending = failure.ending
        rows[ending.host, ending.time, failure.rank] = _failure_row(failure)
    for error in outcome.errors.unexplained:
        rows[error.text, error.at] = _unexplained_row(error)
    for finding in outcome.findings:
        rows[(finding.symptom.name,)] = _finding_row(finding)
    return list(rows.values())


def _unexplained_row(error: Sighting) -> Row:
    where = f"{error.log}:{error.line}"
    if error.ranks:
        where = joined(", ", [where, ranks(error.ranks)])
    details = list(_quoted(error.text, error.at, error.raised_at))
    details.append(Message("no patchset and no advice here is about this error"))
    return Row(Message("not known"), (where,), tuple(details))


def _quoted(error: str, at: str, raised_at: str) -> Iterator[str]:
    """An error, the file of the package that raised it, and where the user's own code is."""
    yield Verbatim(error)
    if raised_at:
        yield Message("raised in {place}", place=raised_at)
    if at:
        yield Verbatim(at)


def _failure_row(failure: FailedRank) -> Row:
    ending, traceback = failure.ending, failure.traceback
    where = f"{traceback.log}:{traceback.line}"
    details: list[str] = []
    if traceback.error:
        details += _quoted(traceback.error, traceback.at, traceback.raised_at)
    if failure.late:
        template = "torchrun saw rank {rank} fail first, on {host}, {time}: it waited in vain"
        saw = Message(template, rank=failure.rank, host=ending.host, time=ending.time)
        details = [saw, *details, *hint_lines(_LATE)]
        return Row("late", (ranks(failure.late), where), tuple(details))

    if not failure.named:
        unnamed = Message(
            "the logs do not say which rank has written this traceback: it is the only one"
        )
        details.append(unnamed)
    details += _ending(failure)
    if ending.error_file:
        details.append(Message("its error file: {error_file}", error_file=ending.error_file))
    elif not (traceback.error or ending.signal):
        details += hint_lines(_NO_TRACEBACK)
    if failure.waited:
        details += hint_lines(_WAITED)
    word = "waited" if failure.waited else "failed"
    return Row(word, (Message("rank {rank}", rank=failure.rank), where), tuple(details))


def _ending(failure: FailedRank) -> Iterator[str]:
    """How a rank ended, as torchrun saw it, or was named in place of one that waited for it."""
    ending = failure.ending
    if failure.victim is not None:
        if ending.signal and not failure.traceback.error:
            yield Message("it was ended by {signal}", signal=ending.signal)
        template = "torchrun saw rank {rank} fail first, which waited for this one"
        yield Message(template, rank=failure.victim)
    elif ending.signal:
        template = "torchrun saw it fail first: ended by {signal}, on {host}, {time}"
        yield Message(template, signal=ending.signal, host=ending.host, time=ending.time)
    else:
        template = "torchrun saw it fail first: exit code {exitcode}, on {host}, {time}"
        yield Message(template, exitcode=ending.exitcode, host=ending.host, time=ending.time)


def _finding_row(finding: FoundSymptom) -> Row:
    """A row for a finding; its word is the state of the patchset that cures it, else `advice`."""
    symptom, fit, patchset = finding.symptom, finding.fit, finding.patchset
    lines = finding.lines
    where = [f"{lines.log}:{lines.line}"]
    if lines.ranks:
        where.append(ranks(lines.ranks))
    if lines.number > 1:
        where.append(count(lines.number, "line"))
    cure = ""
    word = "follows" if symptom.follows else "advice"
    if fit:
        word = fit.word
    if fit and patchset:
        template = "shown by {name}" if patchset.about.kind == "debug" else "cured by {name}"
        does = Message(template, name=patchset.name)
        cure = Message("{does}: {text}", does=does, text=fit.text)
    details = (Verbatim(lines.text), *symptom_details(symptom, cure, finding.devices))
    return Row(word, (symptom.name, joined(", ", where)), details)


def _show_cure(console: Console, outcome: DiagnoseOutcome) -> None:
    """Write the one command to run, or that there is nothing to be done."""
    if outcome.cure:
        console.out(style(term("run"), bold=True), "  ", cure_command(console, outcome))
    elif outcome.ok and not outcome.runs:
        number = sum(log.lines for log in outcome.logs)
        lines = count(number, "line")
        logs = count(len(outcome.logs), "log")
        console.info("no known problem in {lines} of {logs}", lines=lines, logs=logs)
        if not number:
            console.note("nothing was read: a command's errors come through a pipe with 2>&1")


def cure_command(console: Console, outcome: DiagnoseOutcome) -> str:
    """The command that cures what can be cured, "" for none."""
    if not outcome.cure:
        return ""
    return console.command(*outcome.cure, patch_dirs=console.place.patch_dirs)


# tables of ranks ----------------------------------------------------------------------------------
def _show_runs(console: Console, outcome: DiagnoseOutcome) -> None:
    """Write the table of each run that is shown, for each wrapping, and the conclusions."""
    total = len(outcome.runs)
    for run in outcome.shown:
        if total > 1:
            number = Message("run {number} of {total}", number=run.number, total=total)
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
        code = conclusion.code
        _show_sentence(console, code, text=sentence(conclusion), color=_color(code))
        if conclusion.hint:
            hint = Message("hint: {hint}", hint=conclusion.hint)
            console.out("  " + _indented(hint, 2))
    if not wrap.conclusions:
        console.out(style(READY, fg=_color(READY)), "  ", well(wrap))
    console.out()


def _color(verdict: str) -> str:
    if verdict == READY:
        return "green"
    return "yellow" if verdict in DOUBTS else "red"


def _show_sentence(console: Console, word: str, *, text: str, color: str) -> None:
    console.out(style(word, fg=color), "  ", _indented(text, width(word) + 2))


def _indented(text: str, indent: int) -> str:
    """Text in lines of at most 100 columns; the first begins at column `indent`, others at 2."""
    lines = wrapped("." * indent + translated(text), WIDTH - 2)
    return "\n  ".join(lines)[indent:]


def _show_damage(console: Console, logs: Sequence[Log]) -> None:
    """Write which reports and logs could not be read to their end."""
    number = sum(log.cut_count for log in logs)
    if number:
        places = [f"{log.name}:{line}" for log in logs for line in log.cut]
        shown = places[:_PLACES]
        if len(places) > _PLACES:
            shown.append("...")
        template = (
            "{reports} could not be read, cut short or of another release of its patchset: {places}"
        )
        reports = count(number, "report")
        text = Message(template, reports=reports, places=", ".join(shown))
        _show_sentence(console, term("unread"), text=text, color="red")
    for log in logs:
        if log.problem:
            text = Message("{name}: {problem}", name=log.name, problem=log.problem)
            _show_sentence(console, term("unread"), text=text, color="red")
