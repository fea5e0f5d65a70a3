"""What a plan would make of files, checked against what their package has (format rule 21)."""

from __future__ import annotations

import re
from typing import Iterator

from patcher.facts import Facts
from patcher.message import Message, joined
from patcher.model import SOURCE, Answer, FilePlan, HunkText, Plan, State
from patcher.planner.calls import unfit_calls
from patcher.planner.own_package import OwnPackage, missing_imports, parsed
from patcher.record import Record

_IMPORT = re.compile(r"\s*(?:from|import)\s")


class _Problem(Record):
    """Why an inserted line does not fit: a regular expression of such lines, the reason, a hint."""

    line: str
    problem: str
    hint: str


def with_package_checked(made: Plan, facts: Facts) -> Plan:
    """A plan, in which hunks that insert what does not fit their package are conflicts.

    That is an import of what the package lacks itself, and a call that passes what the called
    function does not take.
    """
    answers = made.answers
    planned: dict[str, dict[str, bytes]] = {}
    for file in made.files:
        planned.setdefault(file.site, {})[file.path] = file.after
    for file in made.files:
        assignments = facts.assignments.get((file.site, file.path), ())
        if not assignments or not file.changes or not file.path.endswith(SOURCE):
            continue
        package = OwnPackage(assignments[0].located, planned[file.site])
        pristine = facts.files[file.site, file.path].content.pristine
        for problem in _problems(file, pristine, package):
            answers = tuple(_with_conflict(answer, file, problem) for answer in answers)
    return made._replace(answers=answers)


def _problems(file: FilePlan, pristine: bytes, package: OwnPackage) -> Iterator[_Problem]:
    before, after = parsed(pristine), parsed(file.after)
    if before is None or after is None:
        return
    missing = missing_imports(file.path, before, after, package)
    if missing:
        problem = Message(
            "the inserted code imports what this release does not have: {names}",
            names=joined(", ", missing),
        )
        hint = Message(
            "import what it has, in a variant for these releases, or below an `if` or a `try`"
        )
        yield _Problem(_IMPORT.pattern, problem, hint)
    for call in unfit_calls(file.path, before, after, package):
        problem = Message(
            "the inserted code calls `{name}` with other arguments than it takes: {parameters}",
            name=call.name,
            parameters=f"({', '.join(call.parameters)})",
        )
        hint = Message("pass what it takes, in a variant for these releases")
        yield _Problem(rf"(?:.*\W)?{call.name}\(", problem, hint)


def _with_conflict(answer: Answer, file: FilePlan, problem: _Problem) -> Answer:
    """An answer about a file, a conflict where its hunk inserts a line of a problem."""
    is_of_file = (answer.site, answer.path) == (file.site, file.path)
    if not is_of_file or answer.state is not State.APPLICABLE:
        return answer
    if not _inserts(answer.hunk, problem.line):
        return answer
    return answer.with_result(
        state=State.CONFLICT, splices=(), places=(), problem=problem.problem, hint=problem.hint
    )


def _inserts(hunk: HunkText, pattern: str) -> bool:
    """Whether a form of a hunk inserts a line that begins as a regular expression says."""
    for form in hunk.forms:
        for tag, line, _ in form.lines:
            if tag == "+" and re.match(pattern, line):
                return True
    return False
