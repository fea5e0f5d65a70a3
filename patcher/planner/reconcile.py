"""Answers about files that are refused, and about the hunks of one .spatch together. Pure."""

from __future__ import annotations

from typing import Sequence

from patcher.errors import SitepatchError
from patcher.facts import Assignment
from patcher.message import Message
from patcher.model import ADDED, NO_HUNK, Answer, State, refusal


def refused_answers(assignments: Sequence[Assignment], error: SitepatchError) -> list[Answer]:
    """A conflict, with the reason, for every scope of assignments that cannot be carried out."""
    answers: list[Answer] = []
    for assignment in assignments:
        names = [assignment.requested.patchset.name]
        (answer,) = refused(names, assignment.located.site, assignment.path, error=error)
        for scope in dict.fromkeys(hunk.scope for hunk in assignment.hunks):
            answers.append(answer.with_result(hunk=NO_HUNK._replace(scope=scope)))
    return answers


def refused(names: Sequence[str], site: str, path: str, error: SitepatchError) -> list[Answer]:
    """A conflict, with the reason, for each of these patchsets, about a file as a whole."""
    problem, hint = error.message, error.hint
    answers: list[Answer] = []
    for name in names:
        answers.append(refusal(name, path, State.CONFLICT, problem=problem, hint=hint, site=site))
    return answers


def reconciled(answers: Sequence[Answer]) -> list[Answer]:
    """The answers after comparing the hunks of each .spatch across files (format rules 25 and 26).

    A .spatch of which only a part is upstream is a conflict; what is `when-present` is no such
    part. A deletion of code that is gone is upstream where all other changes of its .spatch are.
    """
    answers = _with_deletions(answers)
    changing = {_spatch(answer) for answer in answers if _counts(answer, State.APPLICABLE)}

    result: list[Answer] = []
    for answer in answers:
        if _counts(answer, State.UPSTREAM) and _spatch(answer) in changing:
            answer = _partly_upstream(answer)
        result.append(answer)
    return result


def _counts(answer: Answer, state: State) -> bool:
    """Whether a hunk is in this state, and says something about the others of its .spatch."""
    return answer.state is state and not answer.when_present


def _spatch(answer: Answer) -> tuple[str, str]:
    """The patchset, and the .spatch."""
    return answer.patchset, answer.origin


def _partly_upstream(answer: Answer) -> Answer:
    """The answer of a part that is there while others of its .spatch are not."""
    if answer.scope == ADDED:
        problem = Message(
            "the file that the patchset adds is there already, its other changes are not: it was "
            "left behind"
        )
        hint = Message("remove it if it is not of this release, then apply again")
    else:
        problem = Message(
            "this part of the patch is in the file already, other parts are not: upstream did it "
            "another way"
        )
        hint = Message(
            "compare the release with the patchset; mark hunks that may be there with "
            "`when-present`"
        )
    return answer.with_result(state=State.CONFLICT, problem=problem, hint=hint)


def _with_deletions(answers: Sequence[Answer]) -> list[Answer]:
    """The answers, with deletions of code that is gone as rule 26 has them.

    They are *upstream* where every other change of their .spatch is.
    """
    upstream: set[tuple[str, str]] = set()
    unsettled: set[tuple[str, str]] = set()
    for answer in answers:
        if answer.state is State.UPSTREAM:
            upstream.add(_spatch(answer))
        elif answer.result.presumed not in (State.NOT_NEEDED, State.UPSTREAM):
            unsettled.add(_spatch(answer))

    problem = Message(
        "the code to delete is gone, and every other change of the patch is in the file already"
    )
    result: list[Answer] = []
    for answer in answers:
        if answer.result.gone and _spatch(answer) in upstream - unsettled:
            answer = answer.with_result(state=State.UPSTREAM, problem=problem, hint="")
        result.append(answer)
    return result
