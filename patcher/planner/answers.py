"""What the answers of several hunks mean together, and how a hunk's answer is made."""

from __future__ import annotations

from typing import List, Sequence

from patcher.errors import SitepatchError
from patcher.facts import Assignment
from patcher.model import Answer, HunkAnswer, State


def answer_of(patchset: str, path: str, one: HunkAnswer) -> Answer:
    """The answer of a hunk, as a command reports it."""
    words = one.problem, one.hint, one.hunk.when_present, one.gone, (one.hunk.origin, one.hunk.line)
    return Answer(patchset, path, one.hunk.scope, one.state, one.places, *words)


def refused_answers(assignments: Sequence[Assignment], error: SitepatchError) -> List[Answer]:
    """A conflict, with the reason, for every scope of assignments that cannot be carried out."""
    return [
        Answer(assignment.requested.patchset.name, assignment.path, scope, State.CONFLICT, (), error.message, error.hint)
        for assignment in assignments
        for scope in dict.fromkeys(hunk.scope for hunk in assignment.hunks)
    ]


def reconciled(answers: Sequence[Answer]) -> List[Answer]:
    """The answers after comparing the hunks of each patchset across files (format rules 24 and 25).

    A patchset of which only a part is upstream is a conflict. A deletion of code that is gone is upstream where all other
    changes of its patchset are.
    """
    answers = _deleted(answers)
    changing = {answer.patchset for answer in answers if answer.state is State.APPLICABLE}
    problem = "this part of the patchset stands there already and other parts do not: upstream did it another way"
    hint = "compare the release with the patchset; mark hunks that may be there with `when-present`"
    return [
        answer._replace(state=State.CONFLICT, problem=problem, hint=hint)
        if answer.state is State.UPSTREAM and not answer.when_present and answer.patchset in changing
        else answer
        for answer in answers
    ]


def _deleted(answers: Sequence[Answer]) -> List[Answer]:
    """Turn deletions whose code is gone into *upstream* where every other change of their patchset is upstream."""
    there = {answer.patchset for answer in answers if answer.state is State.UPSTREAM}
    there -= {one.patchset for one in answers if one.state not in (State.UPSTREAM, State.NOT_NEEDED) and not one.gone}
    problem = "the code to delete is gone, and every other change of the patchset stands there already"
    return [
        answer._replace(state=State.UPSTREAM, problem=problem, hint="") if answer.gone and answer.patchset in there else answer
        for answer in answers
    ]
