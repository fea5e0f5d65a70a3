"""`Facts` and what is wanted -> `Plan`: what becomes of each file. Pure.

The state of a file is always derived from its pristine bytes (`patcher.planner.resolve`), so adding, updating and removing a
patchset are the same operation, and their order does not matter.
"""

from __future__ import annotations

from typing import Iterator, List, Optional, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.facts import Assignment, Facts, TargetFile, Wanted, sha256
from patcher.message import Message
from patcher.model import Answer, Change, FilePlan, LockedFile, Plan, State, Step
from patcher.planner.resolve import Rewriter, application_order, resolve


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
        going = [step.patchset for step in file.receipt.steps if wanted.goes(step.patchset)] if file.receipt else []
        if file.problem:
            answers += refused_answers(assignments, file.problem) if assignments else _refused(going, path, file.problem)
            continue
        notes += _option_changes(file, assignments)
        requests = {assignment.requested.patchset.name: assignment for assignment in assignments}
        staying = [step for step in file.steps if not wanted.goes(step.patchset)]
        data, steps, told = resolve(site, path, file, application_order(staying, assignments), requests, rewriter)
        answers += told if assignments else [answer for answer in told if answer.state.failed]
        try:
            after = _with_edit(file, steps) if file.edited else data
        except SitepatchError as error:
            answers += _refused(going, path, error)
            continue
        change = _change(path, file, steps, sha256(data), after)
        notes += [file.if_changed] if file.if_changed and change else []
        aside = file.aside if change and file.aside != after else b""
        files.append(FilePlan(site, path, file.now, after, change, steps, aside, _locked(file, assignments, sha256(data))))
    return Plan(tuple(files), tuple(reconciled(answers)), tuple(dict.fromkeys(notes)))


def _change(path: str, file: TargetFile, steps: Tuple[Step, ...], current: str, after: bytes) -> Optional[Change]:
    """The change that makes a file `after`, which `steps` and edits by hand lead to; `current` is its sha256 without these."""
    if after == file.now and steps == (file.receipt.steps if file.receipt else ()):
        return None
    old, pristine = "" if file.missing else sha256(file.now), sha256(file.pristine)
    if steps:
        assert file.blank is not None  # whoever reads a file for a patchset gives it one
        receipt = file.blank._replace(pristine=pristine, current=current, steps=steps, origin=file.origin)
        stored = file.now == file.pristine or (file.receipt is not None and file.receipt.pristine == pristine)
        pristine_copy = None if stored else file.pristine
        return Change(path, old, after, receipt, merged=file.edited, pristine=pristine_copy)
    if after != file.pristine:
        return Change(path, old, after, None, merged=True)
    return Change(path, old, None, None, forget=file.forget or (after == file.now and not file.missing))


def _locked(file: TargetFile, assignments: Sequence[Assignment], after: str) -> Optional[LockedFile]:
    for located, path in ((assignment.located, assignment.path) for assignment in assignments):
        return LockedFile(located.package, located.distribution, located.version, path, sha256(file.pristine), after)
    return None


def _option_changes(file: TargetFile, assignments: Sequence[Assignment]) -> Iterator[str]:
    """A remark on each option that is applied with another value, also in what a reinstall took away."""
    before = {step.patchset: step.options for step in file.receipt.steps} if file.receipt else {}
    for patchset, options, _ in (assignment.requested for assignment in assignments):
        old_options = before.get(patchset.name, {})
        for key, value in options.items():
            if old_options.get(key, value) != value:
                words = {"name": patchset.name, "key": key, "old": repr(old_options[key]), "new": repr(value)}
                yield Message("{name}: an option changes: {key} {old} -> {new}", **words)


def _with_edit(file: TargetFile, steps: Sequence[Step]) -> bytes:
    """The bytes of a file that was edited by hand, with `steps` instead of those that are applied.

    Raises:
        SitepatchError: the edit and our change overlap.
    """
    from patcher.planner.merge import Overlap, parses, replace_steps  # with diff: only where a file was edited

    hint = Message("undo the edit there, or use --force: it puts the pristine file back and keeps a copy of the edited one")
    try:
        data = replace_steps(file.pristine, file.steps, steps, file.now)
    except Overlap as overlap:
        words = {"line": overlap.line, "text": overlap.text}
        overlapping = Message("the file was edited by hand where it was patched, at line {line}: {text}", **words)
        raise SitepatchError(overlapping, hint) from None
    if parses(file.now) and not parses(data):
        problem = Message(
            "the file was edited by hand after it was patched, and without our change it would be no valid Python"
        )
        raise SitepatchError(problem, hint)
    return data


# answers --------------------------------------------------------------------------------------------------------------
def refused_answers(assignments: Sequence[Assignment], error: SitepatchError) -> List[Answer]:
    """A conflict, with the reason, for every scope of assignments that cannot be carried out."""
    return [
        answer._replace(scope=scope)
        for assignment in assignments
        for answer in _refused([assignment.requested.patchset.name], assignment.path, error)
        for scope in dict.fromkeys(hunk.scope for hunk in assignment.hunks)
    ]


def _refused(names: Sequence[str], path: str, error: SitepatchError) -> List[Answer]:
    return [Answer(name, path, "", State.CONFLICT, (), error.message, error.hint) for name in names]


def reconciled(answers: Sequence[Answer]) -> List[Answer]:
    """The answers after comparing the hunks of each patchset, or patch of a series, across files (format rules 24 and 25).

    A patchset of which only a part is upstream is a conflict; what is `when-present` is no such part. A deletion of code that
    is gone is upstream where all other changes of its patchset are.
    """
    answers = _deleted(answers)
    changing = {_owner(answer) for answer in answers if answer.state is State.APPLICABLE and not answer.when_present}
    problem = Message("this part of the patchset is in the file already, other parts are not: upstream did it another way")
    hint = Message("compare the release with the patchset; mark hunks that may be there with `when-present`")
    return [
        answer._replace(state=State.CONFLICT, problem=problem, hint=hint)
        if answer.state is State.UPSTREAM and not answer.when_present and _owner(answer) in changing
        else answer
        for answer in answers
    ]


def _owner(answer: Answer) -> Tuple[str, int]:
    """The patchset, and the patch of a series."""
    return answer.patchset, answer.layer


def _deleted(answers: Sequence[Answer]) -> List[Answer]:
    """Turn deletions whose code is gone into *upstream* where every other change of their patchset is upstream."""
    owners = {_owner(answer) for answer in answers if answer.state is State.UPSTREAM}
    settled = (State.UPSTREAM, State.NOT_NEEDED)
    owners -= {_owner(answer) for answer in answers if answer.state not in settled and not answer.gone}
    problem = Message("the code to delete is gone, and every other change of the patchset is in the file already")
    return [
        answer._replace(state=State.UPSTREAM, problem=problem, hint="") if answer.gone and _owner(answer) in owners else answer
        for answer in answers
    ]
