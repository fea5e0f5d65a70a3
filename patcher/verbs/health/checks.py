"""What a check of `doctor` is, what it finds, and how all of them are run."""

from __future__ import annotations

from typing import Callable, Iterable, Iterator, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.model import Progress
from patcher.record import Record
from patcher.verbs.health.examination import Examination

OK, NOTE, PROBLEM = "ok", "note", "problem"
Observations = Iterator[Tuple[str, str, str]]
"""What a check finds: (severity, what, hint) for each thing."""


class Finding(Record):
    """One thing that was found.

    Attributes:
        severity: how bad it is: OK, NOTE or PROBLEM.
        check: the name of the check.
        what: what was found.
        hint: what to do, "" for nothing.
    """

    severity: str
    check: str
    what: str
    hint: str = ""


class Check(Record):
    """A check of an environment.

    Attributes:
        name: in one or two words.
        fine: the text where nothing is found.
        look: finds: (severity, what, hint) for each thing.
    """

    name: str
    fine: str
    look: Callable[[Examination], Iterable[tuple[str, str, str]]]


def _no_progress(done: int, total: int, work: str) -> None:
    """Ignore it."""


def examine(
    case: Examination, checks: Sequence[Check], progress: Progress = _no_progress
) -> list[Finding]:
    """Run every check; one that cannot run is a finding itself."""
    findings: list[Finding] = []
    for number, check in enumerate(checks, 1):
        findings += _run(check, case)
        progress(number, len(checks), Message("checks done"))
    return findings


def _run(check: Check, case: Examination) -> list[Finding]:
    """What a check finds, each thing once."""
    found: dict[Finding, None] = {}
    try:
        # one by one: what was found before it failed is kept
        for severity, what, hint in check.look(case):
            found[Finding(severity, check.name, what=what, hint=hint)] = None
    except SitepatchError as error:
        what = Message("this check failed: {message}", message=error.message)
        found[Finding(PROBLEM, check.name, what=what, hint=error.hint)] = None
    except Exception as error:  # whatever it is, it is reported, and the other checks are run
        what = Message("this check failed: {name}: {error}", name=type(error).__name__, error=error)
        found[Finding(PROBLEM, check.name, what=what)] = None
    if not found:
        return [Finding(OK, check.name, what=check.fine)]
    return list(found)
