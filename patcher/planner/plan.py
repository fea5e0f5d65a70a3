"""`Facts` and what is wanted -> `Plan`: what becomes of each file. Pure.

The state of a file is always derived from its pristine bytes (`resolve`), so adding, updating and removing a
patchset are the same operation, and their order does not matter.
"""

from __future__ import annotations

from typing import (
    Callable,
    Iterator,
    Mapping,
    NamedTuple,
    Protocol,
    Sequence,
)

from patcher.errors import SitepatchError, StoreError
from patcher.facts import Assignment, Facts, TargetFile, Wanted, sha256
from patcher.message import Message
from patcher.model import (
    ADDED,
    KINDS,
    Answer,
    AppliedHunks,
    Change,
    FilePlan,
    FileRelease,
    HunkAnswer,
    LostStep,
    NewBytes,
    Plan,
    ReportedHunk,
    Rewrite,
    State,
    Step,
    apply_splices,
)


def plan(facts: Facts, wanted: Wanted, rewriter: Rewriter) -> Plan:
    """What is to be done, with a failed answer for every patchset and file that does not fit.

    Args:
        facts: what was read.
        wanted: what it was read for.
        rewriter: gives the results of hunks.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: the receipt of a file, or the stored copy of a patchset, is invalid.
    """
    answers, notes, files = list(facts.answers), list(facts.notes), []
    for (site, path), file in facts.files.items():
        assignments = facts.assignments.get((site, path), ())
        notes += file.notes
        lost = _lost(file)
        names = [step.patchset for step in (*file.steps, *(entry.step for entry in lost))]
        going = [name for name in names if wanted.goes(name)]
        lost = tuple(entry for entry in lost if entry.step.patchset not in going)
        if file.problem:
            answers += (
                refused_answers(assignments, file.problem)
                if assignments
                else _refused(going, path, file.problem)
            )
            continue
        notes += _option_changes(file, assignments)
        requests = {assignment.requested.patchset.name: assignment for assignment in assignments}
        staying = [step for step in file.steps if not wanted.goes(step.patchset)]
        data, steps, told = resolve(
            site, path, file, application_order(staying, assignments), requests, rewriter
        )
        answers += told if assignments else [answer for answer in told if answer.state.failed]
        try:
            after = _with_edit(file, steps) if file.edited else data
        except SitepatchError as error:
            answers += _refused(going, path, error)
            continue
        change = _change(path, file, _Becomes(steps, lost, sha256(data), after))
        notes += [file.if_changed] if file.if_changed and change else []
        if change and file.aside != after:
            change = change._replace(aside=file.aside)
        files.append(FilePlan(site, path, file.now, after, change, steps, _release(assignments)))
    return Plan(tuple(files), tuple(reconciled(answers)), tuple(dict.fromkeys(notes)))


def _lost(file: TargetFile) -> tuple[LostStep, ...]:
    """The patchsets that are recorded for a file and are not in it: a reinstall took them away."""
    if file.receipt is None:
        return ()
    lost = file.receipt.lost
    if not file.steps:
        version = file.receipt.release.version
        taken = (LostStep(step._replace(splices=()), version) for step in file.receipt.steps)
        lost = (*lost, *taken)
    return lost


class _Becomes(NamedTuple):
    """What becomes of a file: the steps in it, those that stay lost, the sha256 of what the steps make, and the bytes.

    The bytes have edits by hand, too.
    """

    steps: tuple[Step, ...]
    lost: tuple[LostStep, ...]
    current: str
    after: bytes


def _change(path: str, file: TargetFile, new: _Becomes) -> Change | None:
    """The change that makes a file what it is to become; None where it is that already."""
    same = new.after == file.now
    if same and new.steps == file.steps and new.lost == _lost(file):
        return None
    old = "" if file.missing else sha256(file.now)
    if new.steps:
        return _written(path, file, new, old)
    receipt = None
    if new.lost:
        assert file.receipt is not None  # it has them
        nothing = sha256(b"")
        pristine = file.receipt.pristine._replace(sha256=nothing)
        receipt = file.receipt._replace(pristine=pristine, current=nothing, steps=(), lost=new.lost)
    if new.after != file.pristine:
        return Change(path, old, NewBytes(new.after, merged=True), receipt)
    forget = file.forget or (same and not file.missing)
    return Change(path, old, None, receipt, forget=forget)


def _written(path: str, file: TargetFile, new: _Becomes, old: str) -> Change:
    """The change of a file in which patchsets are applied."""
    assert file.blank is not None  # whoever reads a file for a patchset gives it one
    pristine = sha256(file.pristine)
    receipt = file.blank._replace(
        pristine=file.blank.pristine._replace(sha256=pristine, origin=file.origin),
        current=new.current,
        steps=new.steps,
        lost=new.lost,
    )
    recorded = file.receipt is not None and file.receipt.pristine.sha256 == pristine
    stored = file.now == file.pristine or (recorded and bool(file.steps))
    return Change(
        path,
        old,
        NewBytes(new.after, merged=file.edited),
        receipt,
        pristine=None if stored else file.pristine,
    )


def _release(assignments: Sequence[Assignment]) -> FileRelease | None:
    """The release that the file of these assignments belongs to; None without any."""
    if not assignments:
        return None
    located = assignments[0].located
    return FileRelease(located.distribution, located.version)


def _option_changes(file: TargetFile, assignments: Sequence[Assignment]) -> Iterator[str]:
    """A remark on each option that is applied with another value, also in what a reinstall took away."""
    recorded = [*file.steps, *(entry.step for entry in _lost(file))]
    before = {step.patchset: step.options for step in recorded}
    for patchset, options, _ in (assignment.requested for assignment in assignments):
        old_options = before.get(patchset.name, {})
        for key, value in options.items():
            if old_options.get(key, value) != value:
                words = {
                    "name": patchset.name,
                    "key": key,
                    "old": repr(old_options[key]),
                    "new": repr(value),
                }
                yield Message(
                    "{name}: it was applied with {key} = {old}, and {new} is asked for now", **words
                )


def _with_edit(file: TargetFile, steps: Sequence[Step]) -> bytes:
    """The bytes of a file that was edited by hand, with `steps` instead of those that are applied.

    Raises:
        SitepatchError: the edit and our change overlap.
    """
    # with diff: only where a file was edited
    from patcher.planner.merge import (
        Overlap,
        parses,
        replace_steps,
    )

    hint = Message(
        "undo the edit there, or use --force: it puts the pristine file back and keeps a copy of the edited one"
    )
    try:
        data = replace_steps(file.pristine, file.steps, steps, file.now)
    except Overlap as overlap:
        words = {"line": overlap.line, "text": overlap.text}
        overlapping = Message(
            "the file was edited by hand where it was patched, at line {line}: {text}", **words
        )
        raise SitepatchError(overlapping, hint) from None
    if parses(file.now) and not parses(data):
        problem = Message(
            "the file was edited by hand after it was patched, and without our change it would be no valid Python"
        )
        raise SitepatchError(problem, hint)
    return data


# answers --------------------------------------------------------------------------------------------------------------
def refused_answers(assignments: Sequence[Assignment], error: SitepatchError) -> list[Answer]:
    """A conflict, with the reason, for every scope of assignments that cannot be carried out."""
    return [
        answer._replace(hunk=ReportedHunk(scope))
        for assignment in assignments
        for answer in _refused([assignment.requested.patchset.name], assignment.path, error)
        for scope in dict.fromkeys(hunk.scope for hunk in assignment.hunks)
    ]


def _refused(names: Sequence[str], path: str, error: SitepatchError) -> list[Answer]:
    return [
        Answer(name, path, ReportedHunk(), State.CONFLICT, (), error.message, error.hint)
        for name in names
    ]


def reconciled(answers: Sequence[Answer]) -> list[Answer]:
    """The answers after comparing the hunks of each .spatch across files (format rules 24 and 25).

    A .spatch of which only a part is upstream is a conflict; what is `when-present` is no such part. A deletion of code that
    is gone is upstream where all other changes of its .spatch are.
    """
    answers = _deleted(answers)
    changing = {
        _owner(answer)
        for answer in answers
        if answer.state is State.APPLICABLE and not answer.hunk.when_present
    }
    return [
        _halved(answer)
        if answer.state is State.UPSTREAM
        and not answer.hunk.when_present
        and _owner(answer) in changing
        else answer
        for answer in answers
    ]


def _halved(answer: Answer) -> Answer:
    """The answer of a part that is there while others of its .spatch are not."""
    if answer.hunk.scope == ADDED:
        problem = Message(
            "the file that the patchset adds is there already, its other changes are not: it was left behind"
        )
        hint = Message("remove it if it is not of this release, then apply again")
    else:
        problem = Message(
            "this part of the patch is in the file already, other parts are not: upstream did it another way"
        )
        hint = Message(
            "compare the release with the patchset; mark hunks that may be there with `when-present`"
        )
    return answer._replace(state=State.CONFLICT, problem=problem, hint=hint)


def _owner(answer: Answer) -> tuple[str, str]:
    """The patchset, and the .spatch."""
    return answer.patchset, answer.hunk.origin


def _deleted(answers: Sequence[Answer]) -> list[Answer]:
    """Turn deletions whose code is gone into *upstream* where every other change of their .spatch is upstream."""
    owners = {_owner(answer) for answer in answers if answer.state is State.UPSTREAM}
    settled = (State.UPSTREAM, State.NOT_NEEDED)
    owners -= {
        _owner(answer) for answer in answers if answer.state not in settled and not answer.hunk.gone
    }
    problem = Message(
        "the code to delete is gone, and every other change of the patch is in the file already"
    )
    return [
        answer._replace(state=State.UPSTREAM, problem=problem, hint="")
        if answer.hunk.gone and _owner(answer) in owners
        else answer
        for answer in answers
    ]


# the bytes of a file --------------------------------------------------------------------------------------------------
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


def application_order(steps: Sequence[Step], assignments: Sequence[Assignment]) -> list[str]:
    """The names of the patchsets of a file, applied or requested, in the order of application: by kind, then by name."""
    kinds = {step.patchset: step.kind for step in steps}
    kinds.update(
        (patchset.name, patchset.about.kind)
        for patchset in (assignment.requested.patchset for assignment in assignments)
    )
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
    layers: list[_Layer] = []
    answers: list[Answer] = []

    def assignment_of(step: Step) -> Assignment:
        return assignments.get(step.patchset) or rewriter.recorded(site, path, step)

    for name in order:
        assignment, layer = assignments.get(name), recorded.get(name)
        step = layer.step if layer and layer.before == data else None
        if step and (assignment is None or step.identity == assignment.requested.identity):
            answers += [] if assignment is None else _applied_answers(step, assignment)
        else:
            # without a request it is applied already
            assignment = assignment or assignment_of(recorded[name].step)
            result = rewriter.rewrite(data, assignment)
            if any(answer.state in _LOST for answer in result.answers):
                result = _without_others(data, assignment, layers, rewriter) or result
            result = _not_upstream(result, file, assignment, rewriter)
            told = _with_conflicts(result.answers, assignment, layers, rewriter, assignment_of)
            answers += [answer_of(name, path, answer) for answer in told]
            stays = name not in assignments  # nobody named it, so that it is kept in mind
            ours = any(answer.state is State.APPLIED for answer in result.answers)
            step = _step(assignment, result) if result.splices or stays or ours else None
        if step:
            layers.append(_Layer(step, data))
            data = apply_splices(data, step.splices)
    return data, tuple(layer.step for layer in layers), answers


def _not_upstream(
    result: Rewrite, file: TargetFile, assignment: Assignment, rewriter: Rewriter
) -> Rewrite:
    """The result, in which a change that the pristine file does not have is applied: another patchset made it."""
    suspects = [answer.state is State.UPSTREAM for answer in result.answers]
    if not any(suspects) or result.data == file.pristine:
        return result
    answers = list(result.answers)
    for index, alone in enumerate(rewriter.rewrite(file.pristine, assignment).answers):
        if suspects[index] and alone.state is State.APPLICABLE:
            answers[index] = answers[index]._replace(state=State.APPLIED)
    return result._replace(answers=tuple(answers))


def _recorded_layers(site: str, path: str, file: TargetFile) -> dict[str, _Layer]:
    layers, data = {}, file.pristine
    for step in file.steps:
        layers[step.patchset] = _Layer(step, data)
        data = apply_splices(data, step.splices)
    if file.steps and (file.receipt is None or sha256(data) != file.receipt.current):
        problem = Message(
            "{site}/{path}: its receipt does not lead to what was written there",
            site=site,
            path=path,
        )
        raise StoreError(problem, "reinstall the package it belongs to, then run this again")
    return layers


def _step(assignment: Assignment, result: Rewrite) -> Step:
    patchset, options = assignment.requested.patchset, dict(assignment.requested.options)
    places = tuple(
        place
        for answer in result.answers
        for place in answer.places
        if answer.state is State.APPLICABLE
    )
    # what is gone counts as upstream (rule 25), or its .spatch fails, and then nothing is written
    states = tuple(_recorded_state(answer).value for answer in result.answers)
    return Step(
        patchset=patchset.name,
        version=patchset.version,
        digest=patchset.folder.digest,
        kind=patchset.about.kind,
        options=options,
        splices=result.splices,
        hunks=AppliedHunks(places, states),
    )


def _recorded_state(answer: HunkAnswer) -> State:
    """The state of a hunk as a step has it: what another patchset made first is applied as soon as that one goes."""
    if answer.gone:
        return State.UPSTREAM
    return State.APPLICABLE if answer.state is State.APPLIED else answer.state


def answer_of(patchset: str, path: str, answer: HunkAnswer) -> Answer:
    """The answer of a hunk, as a command reports it."""
    hunk = answer.hunk
    optional = hunk.flags.when_present or (answer.state is State.UPSTREAM and hunk.only_imports)
    reported = ReportedHunk(
        scope=hunk.scope,
        origin=hunk.origin,
        line=hunk.line,
        when_present=optional,
        gone=answer.gone,
    )
    return Answer(
        patchset=patchset,
        path=path,
        hunk=reported,
        state=answer.state,
        places=answer.places,
        problem=answer.problem,
        hint=answer.hint,
    )


def _applied_answers(step: Step, assignment: Assignment) -> list[Answer]:
    """An answer for each hunk of a patchset that is applied: `applied` for what was `applicable` then."""
    name, answers = assignment.requested.patchset.name, []
    for hunk, state in zip(
        assignment.hunks, step.hunks.states or [State.APPLICABLE] * len(assignment.hunks)
    ):
        current = State.APPLIED if state == State.APPLICABLE else State(state)
        reported = ReportedHunk(
            scope=hunk.scope,
            origin=hunk.origin,
            line=hunk.line,
            when_present=hunk.flags.when_present,
        )
        answers.append(Answer(name, assignment.path, reported, current))
    return answers


# several patchsets of one file -------------------------------------------------------------------------------------------
def _without_others(
    data: bytes, assignment: Assignment, layers: Sequence[_Layer], rewriter: Rewriter
) -> Rewrite | None:
    """The result of an assignment that fits without a patchset of `layers`, where that changed nothing but its context."""
    from patcher.planner.beside import merged  # with diff: only where something does not fit

    for layer in reversed(layers):
        alone = rewriter.rewrite(layer.before, assignment)
        if not any(answer.state.failed for answer in alone.answers):
            result = merged(layer.before, alone, data, assignment.path, assignment.names)
            if result is not None:
                return result
    return None


def _with_conflicts(
    answers: Sequence[HunkAnswer],
    assignment: Assignment,
    layers: Sequence[_Layer],
    rewriter: Rewriter,
    assignment_of: Callable[[Step], Assignment],
) -> list[HunkAnswer]:
    """The answers of an assignment's hunks; one that fits but for a patchset of `layers` is a conflict with that patchset."""
    told = list(answers)
    for layer in reversed(layers):
        lost = [index for index, answer in enumerate(told) if answer.state in _LOST]
        without = rewriter.rewrite(layer.before, assignment).answers if lost else ()
        for index in lost:
            if not without[index].state.failed:
                their_answers = rewriter.rewrite(layer.before, assignment_of(layer.step)).answers
                texts = [
                    (answer, apply_splices(layer.before, answer.splices))
                    for answer in their_answers
                    if answer.splices
                ]
                # the one that alone makes this hunk fail; it may take several of them
                losing = (
                    their_answer
                    for their_answer, source in texts
                    if rewriter.rewrite(source, assignment).answers[index].state in _LOST
                )
                told[index] = _conflict(told[index], layer.step.patchset, next(losing, None))
    return told


def _conflict(answer: HunkAnswer, patchset: str, their_answer: HunkAnswer | None) -> HunkAnswer:
    problem = Message("{patchset} changes the same code", patchset=patchset)
    if their_answer is not None:
        place = {
            "name": their_answer.hunk.origin.rpartition("/")[2],
            "line": their_answer.hunk.line,
        }
        problem = Message(
            "{patchset} changes the same code, in its hunk {name}:{line}",
            patchset=patchset,
            **place,
        )
    hint = Message(
        "write it for the code as {patchset} makes it, or make one patchset of both",
        patchset=patchset,
    )
    return answer._replace(state=State.CONFLICT, places=(), problem=problem, hint=hint)
