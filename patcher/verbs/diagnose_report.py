"""A diagnosis on the console: errors, findings, tables of ranks, the command to run."""

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

_FEW = 3
"""How many lines that merely speak of errors are shown."""
_PLACES = 10
"""How many reports that could not be read are named."""
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
    console.rows(_problem_rows(outcome))
    _show_damage(console, outcome.logs)
    _show_cure(console, outcome)
    if not outcome.ok:  # the problems are above: what merely speaks of errors would distract
        return

    mentions = outcome.errors.mentions
    if not console.verbose:
        mentions = mentions[:_FEW]
    console.rows(list(map(_mention_row, mentions)))


def _mention_row(mention: Sighting) -> Row:
    """A row for a line that merely speaks of an error."""
    place = f"{mention.log}:{mention.line}"
    return Row("also in the text", (place,), details=(Verbatim(mention.text),))


def show_trial(console: Console, trial: TrialOutcome) -> None:
    """Show how far each rank came, and whether they can communicate."""
    verdict = trial.verdict
    outcome = trial.found
    console.notes((error.brief for error in outcome.broken), "broken")
    remarks: dict[str, None] = {}
    for rank in trial.ranks:
        remarks.update(dict.fromkeys(rank.remarks))

    console.notes(remarks)
    console.rows(rank_rows(trial.ranks, verdict))
    console.rows(list(map(_finding_row, outcome.findings)))

    word = "ok" if verdict.ok else "failed"
    hint = tuple(hint_lines(verdict.hint))
    console.rows([Row(word, (verdict.text,), details=hint)])
    if outcome.cure:
        _show_cure(console, outcome)


def _problem_rows(outcome: DiagnoseOutcome) -> list[Row]:
    """Rows for known causes, for ranks that failed first, for unexplained errors, for consequences.

    Each once: a row replaces an earlier one about the same problem.
    """
    causes: dict[object, Row] = {}
    consequences: dict[object, Row] = {}
    for finding in outcome.findings:
        rows = consequences if finding.symptom.follows else causes
        rows[finding.symptom.name] = _finding_row(finding)

    errors: dict[object, Row] = {}
    for failure in outcome.errors.failures:
        ending = failure.ending
        place = (ending.host, ending.time, failure.rank)
        errors[place] = _failure_row(failure)

    for error in outcome.errors.unexplained:
        errors[error.text, error.at] = _unexplained_row(error)

    rows_by_key = {**causes, **errors, **consequences}
    return list(rows_by_key.values())


def _unexplained_row(error: Sighting) -> Row:
    """A row for an error that nothing here explains."""
    where = f"{error.log}:{error.line}"
    if error.ranks:
        where = joined(", ", [where, ranks(error.ranks)])

    quoted = _quoted(error.text, at=error.at, raised_at=error.raised_at)
    details = (*quoted, Message("no patchset and no advice here is about this error"))
    return Row(Message("not known"), (where,), details=details)


def _quoted(text: str, *, at: str, raised_at: str) -> Iterator[str]:
    """An error, the file of the package that raised it, and the place in the user's own code."""
    yield Verbatim(text)
    if raised_at:
        yield Message("raised in {place}", place=raised_at)
    if at:
        yield Verbatim(at)


def _failure_row(failure: FailedRank) -> Row:
    """A row for a rank that failed first, or for the ranks that it waited for in vain."""
    traceback = failure.traceback
    where = f"{traceback.log}:{traceback.line}"
    if failure.late:
        late = tuple(_late_details(failure))
        return Row("late", (ranks(failure.late), where), details=late)

    word = "waited" if failure.waited else "failed"
    rank = Message("rank {rank}", rank=failure.rank)
    details = tuple(_failure_details(failure))
    return Row(word, (rank, where), details=details)


def _late_details(failure: FailedRank) -> Iterator[str]:
    """What is known of the ranks that another one waited for in vain."""
    ending = failure.ending
    template = "torchrun saw rank {rank} fail first, on {host}, {time}: it waited in vain"
    yield Message(template, rank=failure.rank, host=ending.host, time=ending.time)
    yield from _error_of(failure)
    yield from hint_lines(_LATE)


def _failure_details(failure: FailedRank) -> Iterator[str]:
    """What is known of a rank that failed first."""
    yield from _error_of(failure)
    if not failure.named:
        yield Message(
            "the logs do not say which rank has written this traceback: it is the only one"
        )

    yield from _ending(failure)
    ending = failure.ending
    if ending.error_file:
        yield Message("its error file: {error_file}", error_file=ending.error_file)
    elif not (failure.traceback.error or ending.signal):
        yield from hint_lines(_NO_TRACEBACK)

    if failure.waited:
        yield from hint_lines(_WAITED)


def _error_of(failure: FailedRank) -> Iterator[str]:
    """The error of the traceback, if the logs have it."""
    traceback = failure.traceback
    if traceback.error:
        yield from _quoted(traceback.error, at=traceback.at, raised_at=traceback.raised_at)


def _ending(failure: FailedRank) -> Iterator[str]:
    """How a rank ended, as torchrun saw it; or that torchrun named one that waited for it."""
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
    symptom = finding.symptom
    word = "follows" if symptom.follows else "advice"
    if finding.fit:
        word = finding.fit.word

    lines = finding.lines
    where = [f"{lines.log}:{lines.line}"]
    if lines.ranks:
        where.append(ranks(lines.ranks))
    if lines.number > 1:
        where.append(count(lines.number, "line"))

    about = symptom_details(symptom, _cured_by(finding), devices=finding.devices)
    details = (Verbatim(lines.text), *about)
    return Row(word, (symptom.name, joined(", ", where)), details=details)


def _cured_by(finding: FoundSymptom) -> str:
    """The patchset that cures or shows a symptom, and whether it fits; "" for none."""
    fit = finding.fit
    patchset = finding.patchset
    if not fit or not patchset:
        return ""

    shows_it = patchset.about.kind == "debug"
    template = "shown by {name}" if shows_it else "cured by {name}"
    relation = Message(template, name=patchset.name)
    return Message("{does}: {text}", does=relation, text=fit.text)


def _show_cure(console: Console, outcome: DiagnoseOutcome) -> None:
    """Write the command to run, or that no known problem was found."""
    if outcome.cure:
        word = style(term("run"), bold=True)
        console.out(word, "  ", cure_command(console, outcome))
        return
    if not outcome.ok or outcome.runs:
        return

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
    """Write for each shown run the table and the conclusions of each wrapping."""
    total = len(outcome.runs)
    for run in outcome.shown:
        if total > 1:
            number = Message("run {number} of {total}", number=run.number, total=total)
            console.info(joined(", ", [number, run.when]))

        for wrap in run.wraps:
            _show_wrap(console, wrap)


def _show_wrap(console: Console, wrap: Wrap) -> None:
    """Write the table of a wrapping, and the conclusions about it."""
    console.out(titled(heading(wrap)))
    (head, column), *lines = table(wrap)
    console.out(style(f"{head}  {column}", dim=True))
    for cells, verdict in lines:
        word = style(verdict, fg=_color(verdict))
        console.out(cells, "  ", word)

    console.out()

    for conclusion in wrap.conclusions:
        code = conclusion.code
        _show_sentence(console, code, text=sentence(conclusion), color=_color(code))
        if conclusion.hint:
            hint = Message("hint: {hint}", hint=conclusion.hint)
            console.out("  " + _indented(hint, 2))

    if not wrap.conclusions:
        word = style(READY, fg=_color(READY))
        console.out(word, "  ", well(wrap))

    console.out()


def _color(verdict: str) -> str:
    """The colour of a verdict, or of the code of a conclusion."""
    if verdict == READY:
        return "green"
    return "yellow" if verdict in DOUBTS else "red"


def _show_sentence(console: Console, word: str, *, text: str, color: str) -> None:
    """Write a word in its colour, and a sentence behind it."""
    indent = width(word) + 2
    shown_word = style(word, fg=color)
    console.out(shown_word, "  ", _indented(text, indent))


def _indented(text: str, indent: int) -> str:
    """Text in lines of up to `WIDTH` columns; the first begins at column `indent`, others at 2."""
    room_for_word = "." * indent
    lines = wrapped(room_for_word + translated(text), WIDTH - 2)
    written = "\n  ".join(lines)
    return written[indent:]


def _show_damage(console: Console, logs: Sequence[Log]) -> None:
    """Write which reports and logs could not be read to their end."""
    sentences: list[str] = []
    number = 0
    places: list[str] = []
    for log in logs:
        number += log.cut_count
        for line in log.cut:
            places.append(f"{log.name}:{line}")

    if number:
        sentences.append(_damaged_reports(number, places))
    for log in logs:
        if log.problem:
            sentences.append(Message("{name}: {problem}", name=log.name, problem=log.problem))

    for text in sentences:
        _show_sentence(console, term("unread"), text=text, color="red")


def _damaged_reports(number: int, places: Sequence[str]) -> str:
    """How many reports could not be read, and where the first `_PLACES` of them are."""
    shown = list(places[:_PLACES])
    if len(places) > _PLACES:
        shown.append("...")

    return Message(
        "{reports} could not be read, cut short or of another release of its patchset: {places}",
        reports=count(number, "report"),
        places=", ".join(shown),
    )
