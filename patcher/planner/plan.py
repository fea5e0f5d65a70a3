"""`Facts` and what is wanted -> `Plan`: what becomes of each file. Pure."""

from __future__ import annotations

from typing import Iterable, Iterator, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.facts import (
    REPLACED_SINCE,
    Assignment,
    Facts,
    Handling,
    TargetFile,
    Wanted,
    current_digest,
    sha256,
)
from patcher.message import Message
from patcher.model import (
    Answer,
    Change,
    FilePlan,
    FileRelease,
    LostStep,
    NewBytes,
    Plan,
    Receipt,
    Step,
)
from patcher.planner.merge import Overlap, parses, replace_steps
from patcher.planner.reconcile import reconciled, refused, refused_answers
from patcher.planner.resolve import Rewriter, application_order, resolve
from patcher.record import Record

_FileKey = Tuple[str, str]
"""A site directory, and the path of a file below it."""


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
    files: list[FilePlan] = []
    answers = list(facts.answers)
    notes = list(facts.notes)
    for key, file in facts.files.items():
        assignments = facts.assignments.get(key, ())
        notes += file.remarks.notes
        if not file.problem:
            notes += _option_changes(file, assignments)

        file_plan, file_answers = _plan_file(
            key, file, assignments=assignments, wanted=wanted, rewriter=rewriter
        )
        answers += file_answers
        if file_plan is None:
            continue
        files.append(file_plan)
        if file_plan.to_commit and file.remarks.if_changed:
            notes.append(file.remarks.if_changed)
    return Plan(
        files=tuple(files),
        answers=tuple(reconciled(answers)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _plan_file(
    key: _FileKey,
    file: TargetFile,
    assignments: Sequence[Assignment],
    wanted: Wanted,
    rewriter: Rewriter,
) -> tuple[FilePlan | None, list[Answer]]:
    """The plan for one file, None where it has to stay as it is; and the answers for its hunks."""
    site, path = key
    lost = _lost(file)
    recorded = [*file.steps, *(entry.step for entry in lost)]
    reverted = [step.patchset for step in recorded if wanted.goes(step.patchset)]
    if file.problem and assignments:
        return None, refused_answers(assignments, file.problem)
    if file.problem:
        return None, refused(reverted, site, path, error=file.problem)

    requests: dict[str, Assignment] = {}
    for assignment in assignments:
        requests[assignment.requested.patchset.name] = assignment
    staying = [step for step in file.steps if not wanted.goes(step.patchset)]
    order = application_order(staying, assignments)
    data, steps, answers = resolve(
        site, path, file=file, order=order, assignments=requests, rewriter=rewriter
    )
    if not assignments:  # nobody asked about these patchsets
        answers = [answer for answer in answers if answer.state.failed]
    try:
        after = _with_edit(file, steps, reverted) if file.handling is Handling.MERGE else data
    except SitepatchError as error:
        return None, [*answers, *refused(reverted, site, path, error=error)]

    still_lost = tuple(entry for entry in lost if entry.step.patchset not in reverted)
    current = current_digest(data, steps)
    new = _NewState(steps, still_lost, current=current, after=after)
    change = _change(path, file, new=new)
    file_plan = FilePlan(
        site=site,
        path=path,
        before=file.content.now,
        after=after,
        to_commit=change,
        steps=steps,
        release=_release(assignments),
    )
    return file_plan, answers


def _lost(file: TargetFile) -> tuple[LostStep, ...]:
    """The patchsets that are recorded for a file and are not in it: a reinstall took them away."""
    receipt = file.receipts.present
    if receipt is None:
        return ()
    if file.steps:
        return receipt.lost
    version = receipt.release.version
    overwritten = (LostStep(step._replace(splices=()), version) for step in receipt.steps)
    return (*receipt.lost, *overwritten)


def _release(assignments: Sequence[Assignment]) -> FileRelease | None:
    """The release that the file of these assignments belongs to; None without any."""
    if not assignments:
        return None
    located = assignments[0].located
    return FileRelease(located.distribution, located.version)


def _option_changes(file: TargetFile, assignments: Sequence[Assignment]) -> Iterator[str]:
    """A remark on each option that was applied with another value than the one asked for."""
    recorded = [*file.steps, *(entry.step for entry in _lost(file))]
    options_before = {step.patchset: step.options for step in recorded}
    for assignment in assignments:
        name = assignment.requested.patchset.name
        before = options_before.get(name, {})
        for key, value in assignment.requested.options.items():
            if key in before and before[key] != value:
                yield Message(
                    "{name}: it was applied with {key} = {old}, and {new} is asked for now",
                    name=name,
                    key=key,
                    old=repr(before[key]),
                    new=repr(value),
                )


def _with_edit(file: TargetFile, steps: Sequence[Step], gone: Iterable[str]) -> bytes:
    """The bytes of a file that was edited by hand, with `steps` instead of those that are applied.

    `gone` are the names of the patchsets that are reverted.

    Raises:
        SitepatchError: the edit and our change overlap.
    """
    hint = Message(
        "undo the edit there, or put the pristine file back and keep a copy of the edited one: "
        "sitepatch restore {names} --force{env}",
        names=" ".join(dict.fromkeys(gone)),
    )
    content = file.content
    if file.steps and file.steps[-1].gone:
        raise SitepatchError(*REPLACED_SINCE)
    try:
        data = replace_steps(content.pristine, file.steps, new=steps, edited=content.now)
    except Overlap as overlap:
        overlapping = Message(
            "the file was edited by hand where it was patched, at line {line}: {text}",
            line=overlap.line,
            text=overlap.text,
        )
        raise SitepatchError(overlapping, hint) from None
    if parses(content.now) and not parses(data):
        problem = Message(
            "the file was edited by hand after it was patched, and without our change it would be "
            "no valid Python"
        )
        raise SitepatchError(problem, hint)
    return data


# the change of a file ----------------------------------------------------------------------------
class _NewState(Record):
    """What a file is to become.

    `steps` are the patchsets in it, and `lost` those that stay recorded without being in it.
    `current` is the sha256 (hex) of what the steps make, "" where they delete it, `after` the new
    bytes, with the edits made by hand.
    """

    steps: tuple[Step, ...]
    lost: tuple[LostStep, ...]
    current: str
    after: bytes


def _change(path: str, file: TargetFile, new: _NewState) -> Change | None:
    """The change that makes a file what it is to become; None where it is that already."""
    content = file.content
    same = new.after == content.now
    if same and new.steps == file.steps and new.lost == _lost(file):
        return None

    old = "" if content.missing else sha256(content.now)
    aside = b"" if content.aside == new.after else content.aside
    if new.steps:
        is_merged = file.handling is Handling.MERGE
        return Change(
            path=path,
            old=old,
            new=NewBytes(new.after, merged=is_merged, gone=not new.current),
            receipt=_receipt(file, new),
            pristine=None if _pristine_is_kept(file) else content.pristine,
            aside=aside,
        )
    receipt = _receipt_of_lost(file, new.lost)
    if new.after != content.pristine:
        merged = NewBytes(new.after, merged=True)
        return Change(path, old, new=merged, receipt=receipt, aside=aside)
    forget = file.handling is Handling.FORGET or (same and not content.missing)
    return Change(path, old, new=None, receipt=receipt, forget=forget, aside=aside)


def _receipt(file: TargetFile, new: _NewState) -> Receipt:
    """The receipt of a file in which patchsets are applied."""
    blank = file.receipts.blank
    assert blank is not None  # whoever reads a file for a patchset gives it one
    pristine = blank.pristine._replace(sha256=sha256(file.content.pristine), origin=file.origin)
    return blank._replace(pristine=pristine, current=new.current, steps=new.steps, lost=new.lost)


def _receipt_of_lost(file: TargetFile, lost: tuple[LostStep, ...]) -> Receipt | None:
    """The receipt of a file that has only lost patchsets; None for no such patchset."""
    if not lost:
        return None
    receipt = file.receipts.present
    assert receipt is not None  # it has what is lost
    nothing = sha256(b"")
    pristine = receipt.pristine._replace(sha256=nothing)
    return receipt._replace(pristine=pristine, current=nothing, steps=(), lost=lost)


def _pristine_is_kept(file: TargetFile) -> bool:
    """Whether the store has the pristine bytes, or the file itself."""
    content, receipt = file.content, file.receipts.present
    if content.now == content.pristine:
        return True
    if receipt is None or not file.steps:
        return False
    return receipt.pristine.sha256 == sha256(content.pristine)
