"""What patchsets make of a file: its pristine bytes, then each of them in a fixed order. Pure."""

from __future__ import annotations

from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple

from patcher.errors import StoreError
from patcher.facts import Assignment, TargetFile, sha256
from patcher.message import Message
from patcher.model import KINDS, Answer, HunkAnswer, Rewrite, State, Step, apply_splices

_LOST = (State.NOT_FOUND, State.AMBIGUOUS)


class Rewriter(Protocol):
    """What the planner asks for while it decides."""

    def rewrite(self, data: bytes, assignment: Assignment) -> Rewrite:
        """The result of an assignment's hunks on a text, all of them or none; PatchError where one is wrong in itself."""

    def recorded(self, site: str, path: str, step: Step) -> Assignment:
        """The assignment of a step that is applied; StoreError where the stored copy of its patchset is invalid."""


class _Layer(NamedTuple):
    """A patchset that is applied in a file, and the text that it found."""

    step: Step
    before: bytes


def application_order(steps: Sequence[Step], assignments: Sequence[Assignment]) -> List[str]:
    """The names of the patchsets of a file, applied or requested, in the order of application: by kind, then by name."""
    kinds = {step.patchset: step.kind for step in steps}
    kinds.update((patchset.name, patchset.kind) for patchset in (assignment.requested.patchset for assignment in assignments))
    return sorted(kinds, key=lambda name: (KINDS.index(kinds[name]), name))


def resolve(
    site: str, path: str, file: TargetFile, order: Sequence[str], assignments: Mapping[str, Assignment], rewriter: Rewriter
) -> Tuple[bytes, Tuple[Step, ...], List[Answer]]:
    """Apply patchsets to the pristine bytes of a file.

    A recorded step is used again where its text is the same as then, so that what is applied already needs no syntax tree.

    Args:
        site: the site directory.
        path: of the file, below it.
        file: the file.
        order: the names of the patchsets, in the order of application.
        assignments: what to apply, by patchset; the others of `order` are applied as recorded.
        rewriter: see there.

    Returns:
        the bytes, the steps that lead to them, and the answers for the hunks that were looked at.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: the receipt, or the stored copy of a patchset, is invalid.
    """
    recorded = _recorded_layers(site, path, file)
    data = file.pristine
    layers: List[_Layer] = []
    answers: List[Answer] = []

    def assignment_of(step: Step) -> Assignment:
        return assignments.get(step.patchset) or rewriter.recorded(site, path, step)

    for name in order:
        assignment, layer = assignments.get(name), recorded.get(name)
        step = layer.step if layer and layer.before == data else None
        if step and (assignment is None or step.identity == assignment.requested.identity):
            answers += [] if assignment is None else _applied_answers(step, assignment)
        else:
            assignment = assignment or assignment_of(recorded[name].step)  # without a request it is applied already
            result = rewriter.rewrite(data, assignment)
            told = _with_conflicts(result.answers, assignment, layers, rewriter, assignment_of)
            answers += [answer_of(name, path, answer) for answer in told]
            step = _step(assignment, result) if result.splices else None
        if step:
            layers.append(_Layer(step, data))
            data = apply_splices(data, step.splices)
    return data, tuple(layer.step for layer in layers), answers


def _recorded_layers(site: str, path: str, file: TargetFile) -> Dict[str, _Layer]:
    layers, data = {}, file.pristine
    for step in file.steps:
        layers[step.patchset] = _Layer(step, data)
        data = apply_splices(data, step.splices)
    if file.steps and (file.receipt is None or sha256(data) != file.receipt.current):
        problem = Message("{site}/{path}: its receipt does not lead to what was written there", site=site, path=path)
        raise StoreError(problem, "reinstall the package it belongs to, then run this again")
    return layers


def _step(assignment: Assignment, result: Rewrite) -> Step:
    patchset, options = assignment.requested.patchset, dict(assignment.requested.options)
    places = tuple(place for answer in result.answers for place in answer.places if answer.state is State.APPLICABLE)
    states = tuple(answer.state.value for answer in result.answers)
    head = Step(patchset.name, patchset.version, patchset.digest, patchset.kind, options, result.splices)
    return head._replace(places=places, states=states)


def answer_of(patchset: str, path: str, answer: HunkAnswer) -> Answer:
    """The answer of a hunk, as a command reports it."""
    hunk = answer.hunk
    words = answer.problem, answer.hint, hunk.when_present, answer.gone, (hunk.origin, hunk.line), hunk.layer
    return Answer(patchset, path, hunk.scope, answer.state, answer.places, *words)


def _applied_answers(step: Step, assignment: Assignment) -> List[Answer]:
    """An answer for each hunk of a patchset that is applied: `applied` for what was `applicable` then."""
    name, answers = assignment.requested.patchset.name, []
    for hunk, state in zip(assignment.hunks, step.states or [State.APPLICABLE] * len(assignment.hunks)):
        current = State.APPLIED if state == State.APPLICABLE else State(state)
        answers.append(Answer(name, assignment.path, hunk.scope, current, when_present=hunk.when_present))
    return answers


# conflicts of two patchsets -------------------------------------------------------------------------------------------
def _with_conflicts(
    answers: Sequence[HunkAnswer],
    assignment: Assignment,
    layers: Sequence[_Layer],
    rewriter: Rewriter,
    assignment_of: Callable[[Step], Assignment],
) -> List[HunkAnswer]:
    """The answers of an assignment's hunks; one that fits but for a patchset of `layers` is a conflict with that patchset."""
    told = list(answers)
    for layer in reversed(layers):
        lost = [index for index, answer in enumerate(told) if answer.state in _LOST]
        without = rewriter.rewrite(layer.before, assignment).answers if lost else ()
        for index in lost:
            if not without[index].state.failed:
                their_answers = rewriter.rewrite(layer.before, assignment_of(layer.step)).answers
                texts = [(answer, apply_splices(layer.before, answer.splices)) for answer in their_answers if answer.splices]
                # the one that alone makes this hunk fail; it may take several of them
                losing = (
                    their_answer
                    for their_answer, source in texts
                    if rewriter.rewrite(source, assignment).answers[index].state in _LOST
                )
                told[index] = _conflict(told[index], layer.step.patchset, next(losing, None))
    return told


def _conflict(answer: HunkAnswer, patchset: str, their_answer: Optional[HunkAnswer]) -> HunkAnswer:
    problem = Message("{patchset} changes the same code", patchset=patchset)
    if their_answer is not None:
        place = {"name": their_answer.hunk.origin.rpartition("/")[2], "line": their_answer.hunk.line}
        problem = Message("{patchset} changes the same code, in its hunk {name}:{line}", patchset=patchset, **place)
    hint = Message("choose one of the two, or make one patchset of both")
    return answer._replace(state=State.CONFLICT, places=(), problem=problem, hint=hint)
