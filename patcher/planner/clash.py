"""Whether a hunk fails because another patchset has changed the code that it is for: a conflict that names that one's hunk."""

from __future__ import annotations

from typing import Callable, List, NamedTuple, Optional, Sequence

from patcher.facts import Assignment
from patcher.model import HunkAnswer, HunkText, State, Step
from patcher.splice import apply_splices

_LOST = (State.NOT_FOUND, State.AMBIGUOUS)
_HINT = "choose one of the two, or make one patchset of both"
Answers = Callable[[bytes, Assignment], Sequence[HunkAnswer]]
"""What the hunks of an assignment are in a text."""


class Layer(NamedTuple):
    """A patchset that was applied to a file before the one that is looked at: its step, and the text that it found."""

    step: Step
    before: bytes


def with_conflicts(
    answers: Sequence[HunkAnswer],
    assignment: Assignment,
    layers: Sequence[Layer],
    answers_in: Answers,
    assignment_of: Callable[[Step], Assignment],
) -> List[HunkAnswer]:
    """The answers of an assignment's hunks; one that fits but for another patchset is a conflict with that patchset.

    Args:
        answers: those in the text that all layers have led to.
        assignment: whose hunks they are.
        layers: the patchsets that were applied before, in their order.
        answers_in: what hunks are in another text.
        assignment_of: the hunks of a layer.
    """
    told = list(answers)
    for layer in reversed(layers):
        lost = [index for index, answer in enumerate(told) if answer.state in _LOST]
        if not lost:
            break
        without = answers_in(layer.before, assignment)
        for index in lost:
            if not without[index].state.failed:
                hunk = _breaking(layer, assignment, index, answers_in, assignment_of)
                told[index] = _conflict(told[index], layer.step.patchset, hunk)
    return told


def _breaking(
    layer: Layer,
    assignment: Assignment,
    index: int,
    answers_in: Answers,
    assignment_of: Callable[[Step], Assignment],
) -> Optional[HunkText]:
    """The hunk of a layer that alone makes hunk `index` of an assignment fail; None where it takes several of them."""
    for answer in answers_in(layer.before, assignment_of(layer.step)):
        if answer.splices:
            text = apply_splices(layer.before, answer.splices)
            if answers_in(text, assignment)[index].state in _LOST:
                return answer.hunk
    return None


def _conflict(answer: HunkAnswer, patchset: str, hunk: Optional[HunkText]) -> HunkAnswer:
    problem = f"{patchset} changes the same code"
    if hunk is not None:
        problem = f"{patchset} changes the same code, in its hunk {hunk.origin.rpartition('/')[2]}:{hunk.line}"
    return answer._replace(state=State.CONFLICT, places=(), problem=problem, hint=_HINT)
