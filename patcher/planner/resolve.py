"""Derives the bytes of a file: its pristine bytes, then every patchset applied to it, in a fixed order."""

from __future__ import annotations

from typing import List, Mapping, Protocol, Sequence, Tuple

from patcher.errors import StoreError
from patcher.facts import Assignment, TargetFile, sha256
from patcher.model import KINDS, Answer, Change, FilePlan, HunkAnswer, Located, LockedFile, Rewrite, State, Step
from patcher.planner.answers import answer_of
from patcher.planner.clash import Layer, with_conflicts
from patcher.splice import apply_splices


class Rewriter(Protocol):
    """What the planner asks for while it decides."""

    def rewrite(self, data: bytes, assignment: Assignment) -> Rewrite:
        """The result of an assignment's hunks on a text, all of them or none; PatchError where one is wrong in itself."""

    def recorded(self, site: str, path: str, step: Step) -> Assignment:
        """The assignment of a step that is applied; StoreError where the stored copy of its patchset is invalid."""


def apply_order(name: str, steps: Mapping[str, Step], assignments: Sequence[Assignment]) -> Tuple[int, str]:
    """The sort key of a patchset in the fixed order of application to one file: its kind, then its name."""
    every = (assignment.requested.patchset for assignment in assignments)
    kind = next((patchset.kind for patchset in every if patchset.name == name), "")
    return KINDS.index(kind or steps[name].kind), name


def resolve(
    site: str, path: str, found: TargetFile, order: Sequence[str], assignments: Mapping[str, Assignment], rewriter: Rewriter
) -> Tuple[bytes, Tuple[Step, ...], List[Answer]]:
    """Apply patchsets to the pristine bytes of a file.

    A recorded step is used again where its text is the same as then, so that what is applied already needs no syntax tree.

    Args:
        site: the site directory.
        path: of the file, below it.
        found: the file.
        order: the names of the patchsets, in the order of application.
        assignments: what to apply, by patchset; the others of `order` are applied as recorded.
        rewriter: see there.

    Returns:
        the bytes, the steps that lead to them, and the answers for the hunks of `assignments`.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: the receipt, or the stored copy of a patchset, is invalid.
    """
    recorded = {step.patchset: step for step in found.steps}
    old_text, texts = found.pristine, {}
    for step in found.steps:
        texts[step.patchset] = old_text
        old_text = apply_splices(old_text, step.splices)
    if found.steps and sha256(old_text) != found.current:
        raise StoreError(
            f"{site}/{path}: its receipt does not lead to what was written there",
            "reinstall the package it belongs to, then run this again",
        )
    data = found.pristine
    steps: List[Step] = []
    answers: List[Answer] = []
    layers: List[Layer] = []

    def answers_in(text: bytes, asked: Assignment) -> Sequence[HunkAnswer]:
        return rewriter.rewrite(text, asked).answers

    def assignment_of(step: Step) -> Assignment:
        return assignments.get(step.patchset) or rewriter.recorded(site, path, step)

    for name in order:
        assignment, known = assignments.get(name), recorded.get(name)
        if known is not None and texts[name] == data and (assignment is None or _is_current(known, assignment)):
            layers.append(Layer(known, data))
            data = apply_splices(data, known.splices)
            steps.append(known)
            answers += [] if assignment is None else _applied_answers(known, assignment)
            continue
        if assignment is None:
            assert known is not None  # without an assignment it is applied already
            assignment = rewriter.recorded(site, path, known)
        result = rewriter.rewrite(data, assignment)
        told = with_conflicts(result.answers, assignment, layers, answers_in, assignment_of)
        answers += [answer_of(name, path, answer) for answer in told]
        if result.splices:
            patchset = assignment.requested.patchset
            places = tuple(place for answer in result.answers for place in answer.places if answer.state is State.APPLICABLE)
            states = tuple(answer.state.value for answer in result.answers)
            options = dict(assignment.requested.options)
            head = Step(name, patchset.version, patchset.digest, patchset.kind, options, result.splices)
            steps.append(head._replace(places=places, states=states))
            layers.append(Layer(steps[-1], data))
        data = result.data
    return data, tuple(steps), answers


def file_plan(
    located: Located, path: str, found: TargetFile, data: bytes, steps: Tuple[Step, ...]
) -> Tuple[FilePlan, LockedFile]:
    """The plan that makes a file of a package `data`, the result of `steps`, and what a lock has of it."""
    change = None
    pristine, current = sha256(found.pristine), sha256(data)
    applied = found.receipt.steps if found.receipt else ()
    if data != found.now or applied != steps:
        old = pristine if found.now == found.pristine else sha256(found.now)
        if steps:
            assert found.blank is not None  # whoever reads a file for a patchset gives it one
            new = found.blank._replace(pristine=pristine, current=current, steps=steps, origin=found.origin)
            stored = found.now == found.pristine or (found.receipt is not None and found.receipt.pristine == pristine)
            change = Change(path, old, data, new, pristine=None if stored else found.pristine)
        else:
            change = Change(path, old, None, None, forget=data == found.now)
    aside = found.aside if change and found.aside != data else b""
    file = FilePlan(located.site, path, found.now, data, change, steps, aside)
    return file, LockedFile(located.package, located.distribution, located.version, path, pristine, current)


def _applied_answers(step: Step, assignment: Assignment) -> List[Answer]:
    """An answer for each hunk of a patchset that is applied: `applied` for what was `applicable` then."""
    name, answers = assignment.requested.patchset.name, []
    for hunk, state in zip(assignment.hunks, step.states or [State.APPLICABLE] * len(assignment.hunks)):
        now = State.APPLIED if state == State.APPLICABLE else State(state)
        answers.append(Answer(name, assignment.path, hunk.scope, now, when_present=hunk.when_present))
    return answers


def _is_current(step: Step, assignment: Assignment) -> bool:
    return step.digest == assignment.requested.patchset.digest and dict(step.options) == dict(assignment.requested.options)
