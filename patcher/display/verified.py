"""What came of verifying, as rows."""

from __future__ import annotations

from patcher.display.console import Console
from patcher.display.styles import Row, Verbatim, term
from patcher.message import Message, joined
from patcher.text.listed import count
from patcher.verify import COMPILE, IMPORT, PROBE, CheckResult, Verified


def verified_rows(console: Console, verified: Verified) -> list[Row]:
    """What is good in one line with the seconds of each step, what is not with its last lines.

    Modules that were broken before share a line where their problem is the same; the last lines
    come with -v. If quiet failures alone.
    """
    rows = _good_rows(verified)
    rows += _problem_rows(verified, verbose=console.verbose)
    why = Message("not verified before writing: nothing can be mounted here")
    for unseen in verified.unseen:
        text = Message("{text}, and so sees the file without the patch", text=unseen)
        rows.append(Row("unseen", (text, why)))

    if console.quiet:
        return [row for row in rows if row.word == "failed"]
    return rows


def _good_rows(verified: Verified) -> list[Row]:
    """A row with how many files, modules and probes are good; none where something failed."""
    parts: list[str] = []
    for kind in (COMPILE, IMPORT, PROBE):
        number = 0
        seconds = 0.0
        for check in verified.checks:
            if check.what == kind and not check.problem:
                number += 1
                seconds += check.seconds
        if number:
            parts.append(_summary(kind, number, seconds=seconds))

    if not parts or verified.failed:
        return []
    return [Row("verified", (joined(", ", parts),), details=_not_imported(verified))]


def _summary(kind: str, number: int, *, seconds: float) -> Message:
    """How many files, modules or probes are good, and how long that took."""
    if kind == COMPILE:
        template = "{what} compiled in {seconds:.2f} s"
        what = count(number, "file")
    elif kind == IMPORT:
        template = "{what} imported in {seconds:.2f} s"
        what = count(number, "module")
    else:
        template = "{what} passed in {seconds:.2f} s"
        what = count(number, "probe")
    return Message(template, what=what, seconds=seconds)


def _problem_rows(verified: Verified, *, verbose: bool) -> list[Row]:
    """A row for each problem; for several modules where it is the same and was there before."""
    alike: dict[tuple[str, ...], list[CheckResult]] = {}
    for check in verified.checks:
        if check.problem:
            name = "" if check.before else check.name
            key = (check.what, check.problem, name)
            alike.setdefault(key, []).append(check)

    rows: list[Row] = []
    for checks in alike.values():
        check = checks[0]
        template = "{state} {names}: {problem}"
        if check.before:
            template = "{state} {names}, without the patch too: {problem}"
        names = ", ".join(similar.name for similar in checks)
        text = Message(template, state=term(check.what), names=names, problem=check.problem)

        output: tuple[str, ...] = ()
        if check.output and (verbose or not check.before):
            output = tuple(map(Verbatim, check.output.split("\n")))
        rows.append(Row(check.state, (text,), details=output))
    return rows


def _not_imported(verified: Verified) -> tuple[str, ...]:
    """Sentences about the modules that were not imported, and the files that no import can name."""
    sentences: list[str] = []
    if verified.left_out and verified.reason:
        template = "not imported: {names}: {reason}"
        names = ", ".join(verified.left_out)
        sentences.append(Message(template, names=names, reason=verified.reason))
    if verified.nameless:
        template = "not imported: {names}: no import can name such a file, it was compiled only"
        sentences.append(Message(template, names=", ".join(verified.nameless)))
    return tuple(sentences)
