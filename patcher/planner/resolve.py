"""Pristine bytes and patchsets -> the bytes of a file, its steps, an answer for each hunk. Pure.

The state of a file is always derived from its pristine bytes, so adding, updating and removing a
patchset are the same operation, and their order does not matter.
"""

from __future__ import annotations

from typing import Callable, Mapping, Protocol, Sequence

from patcher.errors import StoreError
from patcher.facts import Assignment, TargetFile, current_digest
from patcher.message import Message
from patcher.model import (
    DELETED,
    KINDS,
    Answer,
    AppliedHunks,
    HunkAnswer,
    Rewrite,
    Splice,
    State,
    Step,
    apply_splices,
)
from patcher.planner.changed_context import merge_lines
from patcher.planner.same_place import are_of_same_place
from patcher.record import Record
from patcher.text.splices import compose

_UNFOUND = (State.NOT_FOUND, State.AMBIGUOUS)


class Rewriter(Protocol):
    """What the planner asks for while it decides."""

    def rewrite(self, data: bytes, assignment: Assignment) -> Rewrite:
        """The result of an assignment's hunks on a text, all of them or none.

        Raises PatchError where a hunk is wrong in itself.
        """

    def recorded(self, site: str, path: str, step: Step) -> Assignment:
        """The assignment of an applied step.

        Raises StoreError where the stored copy of its patchset is invalid.
        """


class _Layer(Record):
    """A patchset that is applied in a file, and the text that it found.

    `was_gone` is whether another one had deleted the file.
    """

    step: Step
    before: bytes
    was_gone: bool = False


def application_order(steps: Sequence[Step], assignments: Sequence[Assignment]) -> list[str]:
    """The patchsets of a file, applied or requested, in the order of application.

    That is by kind, then by name.
    """
    kinds = {step.patchset: step.kind for step in steps}
    for assignment in assignments:
        patchset = assignment.requested.patchset
        kinds[patchset.name] = patchset.about.kind
    return sorted(kinds, key=lambda name: (KINDS.index(kinds[name]), name))


def resolve(
    site: str,
    path: str,
    file: TargetFile,
    order: Sequence[str],
    assignments: Mapping[str, Assignment],
    rewriter: Rewriter,
) -> tuple[bytes, tuple[Step, ...], list[Answer]]:
    """Apply patchsets to the pristine bytes of a file.

    A recorded step is used again where its text is the same as then, so that what is applied
    already needs no syntax tree.

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

    def assignment_of(step: Step) -> Assignment:
        return assignments.get(step.patchset) or rewriter.recorded(site, path, step)

    recorded = _recorded_layers(site, path, file)
    data = file.content.pristine
    stack = _Stack(data, rewriter, assignment_of=assignment_of)
    answers: list[Answer] = []
    for name in order:
        request, layer = assignments.get(name), recorded.get(name)
        is_same = layer is not None and layer.before == data and layer.was_gone == stack.is_gone
        if layer is not None and is_same and _is_as_applied(layer.step, request):
            step: Step | None = layer.step
            answers += _applied_answers(layer.step, request) if request else []
        else:
            assignment = request or assignment_of(recorded[name].step)
            result = stack.result(data, assignment)
            for answer in stack.with_conflicts(result, assignment):
                answers.append(Answer(name, path, answer, site=site))
            step = _new_step(assignment, result, is_requested=request is not None)

        if step is not None:
            stack.layers.append(_Layer(step, data, was_gone=stack.is_gone))
            data = apply_splices(data, step.splices)
    return data, tuple(layer.step for layer in stack.layers), answers


def _recorded_layers(site: str, path: str, file: TargetFile) -> dict[str, _Layer]:
    """What is applied in a file, by patchset.

    Raises StoreError where its receipt does not lead to what was written.
    """
    layers: dict[str, _Layer] = {}
    data = file.content.pristine
    was_gone = False
    for step in file.steps:
        layers[step.patchset] = _Layer(step, data, was_gone=was_gone)
        data = apply_splices(data, step.splices)
        was_gone = step.gone

    receipt = file.receipts.present
    current = current_digest(data, file.steps)
    if file.steps and (receipt is None or current != receipt.current):
        problem = Message(
            "{site}/{path}: its receipt does not lead to what was written there",
            site=site,
            path=path,
        )
        raise StoreError(problem, "reinstall the package it belongs to, then run this again")
    return layers


def _is_as_applied(step: Step, request: Assignment | None) -> bool:
    """Whether a recorded step is what is asked for now."""
    return request is None or step.identity == request.requested.identity


def _new_step(assignment: Assignment, result: Rewrite, *, is_requested: bool) -> Step | None:
    """The step to record; None where a request changed nothing.

    What nobody named is kept in mind, even where it changes nothing.
    """
    is_ours = any(answer.state is State.APPLIED for answer in result.answers)
    if is_requested and not is_ours and not result.splices and not result.gone:
        return None

    places: list[int] = []
    states: list[str] = []
    for answer in result.answers:
        if answer.state is State.APPLICABLE:
            places += answer.places
        states.append(_recorded_state(answer).value)

    patchset = assignment.requested.patchset
    return Step(
        patchset=patchset.name,
        version=patchset.version,
        digest=patchset.folder.digest,
        kind=patchset.about.kind,
        options=dict(assignment.requested.options),
        splices=result.splices,
        hunks=AppliedHunks(tuple(places), tuple(states), gone=result.gone),
    )


def _recorded_state(answer: HunkAnswer) -> State:
    """The state of a hunk as a step has it.

    What another patchset made first is applied as soon as that one goes.
    """
    return State.APPLICABLE if answer.state is State.APPLIED else answer.presumed


# answers -----------------------------------------------------------------------------------------
def _applied_answers(step: Step, assignment: Assignment) -> list[Answer]:
    """The answers of an applied patchset: `applied` for what was `applicable` then."""
    name, site = assignment.requested.patchset.name, assignment.located.site
    states = step.hunks.states or [State.APPLICABLE] * len(assignment.hunks)
    answers: list[Answer] = []
    for hunk, recorded in zip(assignment.hunks, states):
        state = State.APPLIED if recorded == State.APPLICABLE else State(recorded)
        answers.append(Answer(name, assignment.path, HunkAnswer(hunk, state), site=site))
    return answers


# several patchsets of one file -------------------------------------------------------------------
class _Stack:
    """The patchsets of a file, one above the other, and what the next one makes of the text.

    Args:
        pristine: the text below all of them.
        rewriter: gives the results of hunks.
        assignment_of: the assignment of a step.
    """

    def __init__(
        self, pristine: bytes, rewriter: Rewriter, assignment_of: Callable[[Step], Assignment]
    ) -> None:
        self.layers: list[_Layer] = []
        self._pristine = pristine
        self._rewriter = rewriter
        self._assignment_of = assignment_of

    @property
    def is_gone(self) -> bool:
        """Whether the layers delete the file."""
        return bool(self.layers) and self.layers[-1].step.gone

    def result(self, data: bytes, assignment: Assignment) -> Rewrite:
        """What an assignment makes of `data`, the text above all layers."""
        if self.is_gone:
            return self._of_gone(data, assignment)
        result = self._rewriter.rewrite(data, assignment)
        if any(answer.state in _UNFOUND for answer in result.answers):
            result = self._beside_others(data, assignment) or result
        elif result.splices:
            result = self._without_code_of_others(data, result, assignment)
        return self._not_upstream(result, assignment)

    def _of_gone(self, data: bytes, assignment: Assignment) -> Rewrite:
        """What an assignment makes of a file that is deleted: nothing, unless it does the same."""
        alone = self._rewriter.rewrite(self._pristine, assignment)
        is_same = alone.gone and self.layers[0].before == self._pristine
        state = State.APPLIED if is_same else State.CONFLICT
        answers: list[HunkAnswer] = []
        for answer in alone.answers:
            if not answer.state.failed and answer.state is not State.NOT_NEEDED:
                answer = answer._replace(state=state, splices=())
            answers.append(answer)
        return Rewrite(data, (), answers=tuple(answers), gone=True)

    def _beside_others(self, data: bytes, assignment: Assignment) -> Rewrite | None:
        """The result of an assignment that fits without a layer which changed only its context."""
        for layer in reversed(self.layers):
            alone = self._rewriter.rewrite(layer.before, assignment)
            if alone.gone or any(answer.state.failed for answer in alone.answers):
                continue
            return merge_lines(
                layer.before,
                alone,
                data=data,
                path=assignment.path,
                names=assignment.names,
            )
        return None

    def _without_code_of_others(
        self, data: bytes, result: Rewrite, assignment: Assignment
    ) -> Rewrite:
        """The result; a conflict where a layer has changed the same code otherwise.

        By another form, or by what it leaves open, a hunk fits what that layer made as well. One
        that is written for it fits nothing below the layer.
        """
        layer = self._layer_of_same_place(assignment)
        if layer is None:
            return result
        answers = self._in_conflict(layer, result.answers, assignment)
        return Rewrite(data, (), tuple(answers))

    def _layer_of_same_place(self, assignment: Assignment) -> _Layer | None:
        """The layer that has changed what an assignment changes in the lowest text it fits."""
        before = b""
        alone: tuple[Splice, ...] = ()
        changes: tuple[Splice, ...] = ()
        for layer in self.layers:
            if not alone:
                before = layer.before
                alone = self._rewriter.rewrite(before, assignment).splices
            if alone:
                changes = compose(len(before), changes, layer.step.splices)
                if are_of_same_place(before, alone, changes):
                    return layer
        return None

    def _in_conflict(
        self, layer: _Layer, answers: Sequence[HunkAnswer], assignment: Assignment
    ) -> list[HunkAnswer]:
        """The answers, in which the hunks that change the same code as a layer are a conflict.

        Of several .spatch files nobody knows the splices hunk by hunk: then it is all of them.
        """
        before = layer.before
        alone = self._rewriter.rewrite(before, assignment).answers
        theirs = self._rewriter.rewrite(before, self._assignment_of(layer.step)).answers
        changing = []
        meeting = []
        for index, answer in enumerate(answers):
            if answer.state is State.APPLICABLE:
                changing.append(index)
                if are_of_same_place(before, alone[index].splices, layer.step.splices):
                    meeting.append(index)

        result = list(answers)
        for index in meeting or changing:
            in_the_way = None
            for other in theirs:
                if are_of_same_place(before, alone[index].splices, other.splices):
                    in_the_way = other
            hint = Message("apply one of them alone, or make one patchset of both")
            result[index] = _conflict(answers[index], layer, theirs=in_the_way, hint=hint)
        return result

    def _not_upstream(self, result: Rewrite, assignment: Assignment) -> Rewrite:
        """The result, in which a change that the pristine file does not have counts as applied.

        Another patchset made it.
        """
        is_upstream = [answer.state is State.UPSTREAM for answer in result.answers]
        if not any(is_upstream) or result.data == self._pristine:
            return result
        answers = list(result.answers)
        alone = self._rewriter.rewrite(self._pristine, assignment)
        for index, answer in enumerate(alone.answers):
            if is_upstream[index] and answer.state is State.APPLICABLE:
                answers[index] = answers[index]._replace(state=State.APPLIED)
        return result._replace(answers=tuple(answers))

    def with_conflicts(self, made: Rewrite, assignment: Assignment) -> list[HunkAnswer]:
        """The answers, in which a hunk that fits but for a layer conflicts with that patchset.

        One that deletes a file conflicts with each patchset that changes it.
        """
        result = list(made.answers)
        if self.is_gone or (made.gone and self.layers):
            return self._with_conflicts_of_files(result)
        for layer in reversed(self.layers):
            if not any(answer.state in _UNFOUND for answer in result):
                break
            without = self._rewriter.rewrite(layer.before, assignment).answers
            for index, answer in enumerate(result):
                if answer.state in _UNFOUND and not without[index].state.failed:
                    theirs = self._hunk_in_the_way(layer, assignment, index=index)
                    template = (
                        "write it for the code as {patchset} makes it, or make one patchset of both"
                    )
                    hint = Message(template, patchset=layer.step.patchset)
                    result[index] = _conflict(answer, layer, theirs=theirs, hint=hint)
        return result

    def _with_conflicts_of_files(self, answers: Sequence[HunkAnswer]) -> list[HunkAnswer]:
        """The answers, where the file is deleted by the uppermost layer or by these hunks."""
        patchset = self.layers[-1].step.patchset
        problem = Message("{patchset} changes the file that is deleted", patchset=patchset)
        if self.is_gone:
            problem = Message("{patchset} deletes the file", patchset=patchset)
        hint = Message(
            "apply one of them alone, or make one patchset of both, with the deletion in its last "
            ".spatch"
        )
        result: list[HunkAnswer] = []
        for answer in answers:
            is_settled = answer.state in (State.APPLIED, State.NOT_NEEDED)
            if not is_settled and (self.is_gone or answer.hunk.scope == DELETED):
                answer = answer._replace(
                    state=State.CONFLICT, places=(), problem=problem, hint=hint
                )
            result.append(answer)
        return result

    def _hunk_in_the_way(
        self, layer: _Layer, assignment: Assignment, index: int
    ) -> HunkAnswer | None:
        """The hunk of a layer that alone makes hunk `index` of an assignment fail.

        None where it takes several of them.
        """
        theirs = self._rewriter.rewrite(layer.before, self._assignment_of(layer.step))
        for answer in theirs.answers:
            if not answer.splices:
                continue
            text = apply_splices(layer.before, answer.splices)
            if self._rewriter.rewrite(text, assignment).answers[index].state in _UNFOUND:
                return answer
        return None


def _conflict(
    answer: HunkAnswer, layer: _Layer, *, theirs: HunkAnswer | None, hint: str
) -> HunkAnswer:
    """The answer of a hunk that a layer is in the way of, by its hunk `theirs` if known."""
    patchset = layer.step.patchset
    if theirs is None:
        problem = Message("{patchset} changes the same code", patchset=patchset)
    else:
        problem = Message(
            "{patchset} changes the same code, in its hunk {name}:{line}",
            patchset=patchset,
            name=theirs.hunk.origin.rpartition("/")[2],
            line=theirs.hunk.line,
        )
    return answer._replace(state=State.CONFLICT, places=(), problem=problem, hint=hint)
