"""`Facts` -> `Plan`: what becomes of each file.

The state of a file is always derived from its pristine bytes (`patcher.planner.resolve`), so adding, updating and removing a
patchset are the same operation, and their order does not matter.
"""

from __future__ import annotations

from typing import Iterator, List, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.facts import AppliedFile, Assignment, Condition, Facts, FileStatus, TargetFile, sha256
from patcher.model import Answer, Change, FilePlan, LockedFile, Plan, State, Step
from patcher.planner.answers import reconciled, refused_answers
from patcher.planner.resolve import Rewriter, apply_order, file_plan, resolve


def decide_apply(facts: Facts, rewriter: Rewriter, *, force: bool = False) -> Plan:
    """A plan that applies the requested patchsets, and reverts them in files that an earlier version of them changed.

    Args:
        facts: with the requested patchsets' assignments.
        rewriter: gives the results of hunks.
        force: also where a file was edited by hand after it was patched.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: the receipt of a file, or the stored copy of a patchset, is invalid.
    """
    reverted = [_left_behind(file, facts.reverted, rewriter, force=force) for file in facts.patched]
    refused = tuple(answer for plan in reverted for answer in plan.answers)
    plan, _ = decide_files(facts._replace(answers=(*facts.answers, *refused)), rewriter)
    return plan._replace(files=(*(file for one in reverted for file in one.files), *plan.files))


def decide_sync(facts: Facts, rewriter: Rewriter, *, force: bool = False) -> Tuple[Plan, Tuple[LockedFile, ...]]:
    """A plan that applies the requested patchsets and reverts all others, and each file that they are for, sorted.

    The arguments and errors are those of `decide_apply`.
    """
    others = decide_restore(facts.patched, (), rewriter, force=force)
    plan, locked = decide_files(facts, rewriter, exact=True)
    notes = tuple(dict.fromkeys((*plan.notes, *others.notes)))
    return Plan((*others.files, *plan.files), (*others.answers, *plan.answers), notes), tuple(sorted(locked))


def decide_files(facts: Facts, rewriter: Rewriter, *, exact: bool = False) -> Tuple[Plan, Tuple[LockedFile, ...]]:
    """A plan for the target files of the assignments, and the same files in the same order as a lock has them.

    Other patchsets that are applied in them stay applied, unless `exact`. The errors are those of `decide_apply`.
    """
    answers, notes = list(facts.answers), list(facts.notes)
    made = list(_derived(facts, answers, notes, rewriter, exact=exact))
    plan = Plan(tuple(file for file, _ in made), tuple(reconciled(answers)), tuple(dict.fromkeys(notes)))
    return plan, tuple(locked for _, locked in made)


def _derived(
    facts: Facts, answers: List[Answer], notes: List[str], rewriter: Rewriter, *, exact: bool
) -> Iterator[Tuple[FilePlan, LockedFile]]:
    """Plan each target file; `answers` and `notes` get what there is to say."""
    for (site, path), here in sorted(facts.assignments.items()):
        found = facts.targets[site, path]
        notes += found.notes
        if found.problem:
            answers += refused_answers(here, found.problem)
            continue
        notes += _option_changes(found, here)
        by_name = {assignment.requested.patchset.name: assignment for assignment in here}
        order = order_in(found, here, exact=exact)
        data, steps, hunk_answers = resolve(site, path, found, order, by_name, rewriter)
        answers += hunk_answers
        made = file_plan(here[0].located, path, found, data, steps)
        notes += [found.if_changed] if found.if_changed and made[0].change else []
        yield made


def order_in(found: TargetFile, assignments: Sequence[Assignment], *, exact: bool = False) -> List[str]:
    """The patchsets of a file in the order of application: those of the assignments and, unless `exact`, the applied ones."""
    steps = {step.patchset: step for step in found.steps}
    names = {assignment.requested.patchset.name: None for assignment in assignments}
    return sorted(names if exact else {**steps, **names}, key=lambda name: apply_order(name, steps, assignments))


def _option_changes(found: TargetFile, assignments: Sequence[Assignment]) -> Iterator[str]:
    """A remark on each option that is applied with another value, also in what a reinstall took away."""
    before = {step.patchset: step.options for step in found.receipt.steps} if found.receipt else {}
    for patchset, options, _ in (assignment.requested for assignment in assignments):
        was = before.get(patchset.name, {})
        for key, value in options.items():
            if was.get(key, value) != value:
                yield f"{patchset.name}: an option changes: {key} {was[key]!r} -> {value!r}"


def decide_restore(files: Sequence[AppliedFile], names: Sequence[str], rewriter: Rewriter, *, force: bool = False) -> Plan:
    """A plan that reverts the named patchsets, all if none is named.

    Args:
        files: in which patchsets are applied.
        names: of patchsets; one that is applied nowhere does not occur in the plan.
        rewriter: gives the results of hunks.
        force: put the pristine file back where it was edited by hand, instead of keeping the edit in the file.

    Raises:
        StoreError: the receipt of a file, or the stored copy of a patchset, is invalid.
    """
    taken = [_restored(file, names, rewriter, force=force) for file in files]
    return Plan(
        tuple(file for plan in taken for file in plan.files),
        tuple(answer for plan in taken for answer in plan.answers),
        tuple(note for plan in taken for note in plan.notes),
    )


def _left_behind(file: AppliedFile, names: Sequence[str], rewriter: Rewriter, *, force: bool) -> Plan:
    """A plan that reverts requested patchsets in a file that their present version does not change."""
    if file.status.condition is Condition.EDITED and not force:
        hint = "`sitepatch restore` takes our change out and keeps the edit, unless they overlap"
        return _refusal(file.status, names, "the file was edited by hand after it was patched", hint)
    return _restored(file, names, rewriter, force=force)


def _restored(file: AppliedFile, names: Sequence[str], rewriter: Rewriter, *, force: bool) -> Plan:
    """A plan that reverts the named patchsets (all without a name) in one file."""
    item = file.status
    receipt, site = item.receipt, item.site
    staying = [step.patchset for step in receipt.steps if names and step.patchset not in names]
    if len(staying) == len(receipt.steps):
        return Plan((), ())
    if item.deleted:
        note = f"{receipt.path}: {item.why[0]}; it is put back as it was before it was patched"
        change = Change(receipt.path, "", None, None)
        return Plan((FilePlan(site, receipt.path, b"", file.pristine, change, ()),), (), (note,))
    old = sha256(item.data) if item.condition is not Condition.MISSING else ""
    if file.shipped or item.condition in (Condition.MISSING, Condition.OVERWRITTEN):
        change = Change(receipt.path, old, None, None, forget=True)
        why = item.why[0] if not file.shipped else f"{item.installed or 'what is installed'} has it as patched"
        note = f"{receipt.path}: {why}; only the receipt is left to drop"
        return Plan((FilePlan(site, receipt.path, item.data, item.data, change, (), file.aside),), (), (note,))
    if item.condition is Condition.ASTRAY:
        return _refusal(item, names, *item.why)
    found = TargetFile(file.pristine, item.data, receipt.steps, receipt.current)
    data, steps, hunk_answers = resolve(site, receipt.path, found, staying, {}, rewriter)
    failed = tuple(answer for answer in hunk_answers if answer.state.failed)
    new = receipt._replace(current=sha256(data), steps=steps) if steps else None
    edited = item.condition is Condition.EDITED
    if edited and not force:
        try:
            data = _edit_kept(item, file.pristine, steps)
        except SitepatchError as error:
            return _refusal(item, names, error.message, error.hint)
    change = Change(receipt.path, old, None, None)
    if new or data != file.pristine:
        change = Change(receipt.path, old, data, new, merged=edited and not force)
    aside = item.data if edited and force else b""
    return Plan((FilePlan(site, receipt.path, item.data, data, change, steps, aside),), failed)


def _refusal(item: FileStatus, names: Sequence[str], problem: str, hint: str) -> Plan:
    """A conflict for each of the named patchsets (all without a name) that is applied in a file."""
    going = [step.patchset for step in item.receipt.steps if not names or step.patchset in names]
    return Plan((), tuple(Answer(name, item.receipt.path, "", State.CONFLICT, (), problem, hint) for name in going))


def _edit_kept(item: FileStatus, pristine: bytes, made: Sequence[Step]) -> bytes:
    """The bytes of a file that was edited by hand, with the steps `made` instead of those of its receipt.

    Raises:
        SitepatchError: the edit and our change overlap.
    """
    from patcher.planner.merge import Overlap, parses, replace_steps

    hint = "undo the edit there, or use --force: it puts the pristine file back and keeps a copy of the edited one"
    try:
        data = replace_steps(pristine, item.receipt.steps, made, item.data)
    except Overlap as overlap:
        problem = f"the file was edited by hand where it was patched, at line {overlap.line}: {overlap.text}"
        raise SitepatchError(problem, hint) from None
    if parses(item.data) and not parses(data):
        problem = "the file was edited by hand after it was patched, and without our change it would be no valid Python"
        raise SitepatchError(problem, hint)
    return data
