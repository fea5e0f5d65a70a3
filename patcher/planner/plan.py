"""Environment + patchsets + receipts -> `Plan`: decides everything, writes nothing.

The state of a file is always derived from its pristine bytes (`patcher.planner.resolve`), so adding, updating and removing a
patchset are the same operation, and their order does not matter.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.model import Answer, Change, FilePlan, LockedFile, Plan, Receipt, Requested, State, Step
from patcher.planner.assignments import Assignment, apply_order, assignments_of, reconciled, refused_answers
from patcher.planner.resolve import TargetFile, edit_before_patch, file_plan, read_target, resolve
from patcher.splice import apply_splices
from patcher.store.folder import sha256
from patcher.store.status import Condition, FileStatus, recorded_now, statuses
from patcher.store.store import Store
from patcher.target.interpreter import Environment


def plan_apply(env: Environment, requested: Sequence[Requested], *, force: bool = False) -> Plan:
    """A plan that applies patchsets.

    Args:
        env: the environment.
        requested: the patchsets.
        force: also where a file was edited by hand (see `read_target`).

    Returns:
        the plan, with a failed answer for every patchset and file that does not fit.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt is invalid.
    """
    answers: List[Answer] = []
    notes: List[str] = []
    assignments = assignments_by_file(env, requested, answers, notes)
    files = _left_behind(env, requested, assignments, answers, force=force)
    files += [file for file, _ in derive_files(assignments, answers, notes, force=force)]
    return Plan(tuple(files), tuple(reconciled(answers)), tuple(dict.fromkeys(notes)))


def plan_sync(env: Environment, requested: Sequence[Requested], *, force: bool = False) -> Tuple[Plan, Tuple[LockedFile, ...]]:
    """A plan that applies the requested patchsets and reverts all others.

    Args:
        env: the environment.
        requested: the patchsets; whatever else is applied is reverted.
        force: also where a file was edited by hand (see `read_target`, `plan_restore`).

    Returns:
        the plan, and each file that the requested patchsets are for, sorted.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt or a pristine copy is invalid.
    """
    answers: List[Answer] = []
    notes: List[str] = []
    assignments = assignments_by_file(env, requested, answers, notes)
    others = plan_restore(statuses(env, but=assignments), (), force=force)
    made = list(derive_files(assignments, answers, notes, force=force, exact=True))
    files = (*others.files, *(file for file, _ in made))
    plan = Plan(files, (*others.answers, *reconciled(answers)), tuple(dict.fromkeys((*notes, *others.notes))))
    return plan, tuple(sorted(locked for _, locked in made))


def plan_pristine(env: Environment, requested: Sequence[Requested]) -> Tuple[Plan, Tuple[LockedFile, ...]]:
    """A plan that applies the requested patchsets, and nothing else, to pristine files, whatever is applied now.

    Returns:
        the plan, in which `before` of each file are its pristine bytes; and the same files in the same order.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt or a pristine copy is invalid.
    """
    answers: List[Answer] = []
    notes: List[str] = []
    made = list(derive_files(assignments_by_file(env, requested, answers, notes), answers, notes, fresh=True))
    plan = Plan(tuple(file for file, _ in made), tuple(reconciled(answers)), tuple(dict.fromkeys(notes)))
    return plan, tuple(locked for _, locked in made)


Assignments = Dict[Tuple[str, str], List[Assignment]]
"""By site directory and path."""


def assignments_by_file(
    env: Environment, requested: Sequence[Requested], answers: List[Answer], notes: List[str]
) -> Assignments:
    """The assignments of patchsets, as `assignments_of` gives those of one."""
    assignments: Assignments = {}
    for one in requested:
        for assignment in assignments_of(env, one, answers, notes):
            assignments.setdefault((assignment.located.site, assignment.path), []).append(assignment)
    return assignments


def derive_files(
    assignments: Assignments,
    answers: List[Answer],
    notes: List[str],
    *,
    force: bool = False,
    exact: bool = False,
    fresh: bool = False,
) -> Iterator[Tuple[FilePlan, LockedFile]]:
    """Plan each file of the assignments; other patchsets that are applied in it stay applied, unless `exact`.

    Args:
        assignments: what to apply.
        answers: gets the answers for every hunk.
        notes: gets remarks.
        force: also where a file was edited by hand (see `read_target`).
        exact: revert everything but the assignments.
        fresh: plan as if nothing were applied now.
    """
    receipts = {site: Store(site).receipts() for site in {site for site, _ in assignments}}
    for (site, path), here in sorted(assignments.items()):
        receipt, located = receipts[site].get(path), here[0].located
        try:
            found = read_target(located, path, receipt, notes, force=force)
        except SitepatchError as error:
            answers += refused_answers(here, error)
            continue
        if fresh:
            found = TargetFile(found.pristine, found.pristine)
        steps = {step.patchset: step for step in found.steps}
        by_name = {assignment.requested.patchset.name: assignment for assignment in here}
        names = by_name.keys() if exact else {**steps, **by_name}.keys()
        order = sorted(names, key=lambda name: apply_order(name, steps, here))
        applied = receipt.steps if receipt and not fresh else ()  # also what a reinstall took away
        before = {step.patchset: step.options for step in applied}
        for name, assignment in by_name.items():
            was = before.get(name, {})
            for key, value in assignment.requested.options.items():
                if was.get(key, value) != value:
                    notes.append(f"{name}: an option changes: {key} {was[key]!r} -> {value!r}")
        data, made, hunk_answers = resolve(site, path, found, order, by_name)
        answers += hunk_answers
        yield file_plan(located, path, found, data, made, receipt)


def plan_restore(items: Sequence[FileStatus], names: Sequence[str], *, force: bool = False) -> Plan:
    """A plan that reverts the named patchsets, all if none is named.

    Args:
        items: the files in which patchsets are applied.
        names: of patchsets; one that is applied nowhere does not occur in the plan.
        force: put the pristine file back where it was edited by hand, instead of keeping the edit in the file.

    Raises:
        StoreError: a receipt or a pristine copy is invalid.
    """
    taken = [_restored(item, names, force=force) for item in items]
    return Plan(
        tuple(file for plan in taken for file in plan.files),
        tuple(answer for plan in taken for answer in plan.answers),
        tuple(note for plan in taken for note in plan.notes),
    )


def _restored(item: FileStatus, names: Sequence[str], *, force: bool) -> Plan:
    """A plan that reverts the named patchsets (all without a name) in one file."""
    receipt, site = item.receipt, item.site
    going = [step for step in receipt.steps if not names or step.patchset in names]
    if not going:
        return Plan((), ())
    if item.deleted:
        data = Store(site).pristine(receipt.pristine)
        note = f"{receipt.path}: {item.why[0]}; it is put back as it was before it was patched"
        return Plan((FilePlan(site, receipt.path, b"", data, Change(receipt.path, "", None, None), ()),), (), (note,))
    old = sha256(item.data) if item.condition is not Condition.MISSING else ""
    shipped = item.condition is Condition.APPLIED and old in recorded_now(site, receipt.path)  # since
    if shipped or item.condition in (Condition.MISSING, Condition.OVERWRITTEN):
        change = Change(receipt.path, old, None, None, forget=True)
        file = FilePlan(site, receipt.path, item.data, item.data, change, (), edit_before_patch(site, receipt, item.data))
        why = item.why[0] if not shipped else f"{item.installed or 'what is installed'} has it as patched"
        return Plan((file,), (), (f"{receipt.path}: {why}; only the receipt is dropped",))
    if item.condition is Condition.ASTRAY:
        return _refusal(item, going, *item.why)
    pristine = Store(site).pristine(receipt.pristine)
    staying = [step.patchset for step in receipt.steps if step not in going]
    found = TargetFile(pristine, item.data, receipt.steps, receipt.current)
    data, made, hunk_answers = resolve(site, receipt.path, found, staying, {})
    failed = tuple(answer for answer in hunk_answers if answer.state.failed)
    new = receipt._replace(current=sha256(data), steps=made) if made else None
    aside = item.data if item.condition is Condition.EDITED and force else b""
    if item.condition is Condition.EDITED and not force:
        try:
            data = _edit_kept(item, pristine, made)
        except SitepatchError as error:
            return _refusal(item, going, error.message, error.hint)
    change = Change(receipt.path, old, None, None)
    if new or data != pristine:
        change = Change(receipt.path, old, data, new, merged=item.condition is Condition.EDITED and not force)
    return Plan((FilePlan(site, receipt.path, item.data, data, change, made, aside),), failed)


def _refusal(item: FileStatus, going: Sequence[Step], problem: str, hint: str) -> Plan:
    path = item.receipt.path
    return Plan((), tuple(Answer(step.patchset, path, "", State.CONFLICT, (), problem, hint) for step in going))


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


def _left_behind(
    env: Environment,
    requested: Sequence[Requested],
    assignments: Mapping[Tuple[str, str], Sequence[Assignment]],
    answers: List[Answer],
    *,
    force: bool,
) -> List[FilePlan]:
    """Plans that revert a requested patchset in files that an earlier version of it changed and this one does not."""
    names = [one.patchset.name for one in requested]
    if not names or any(answer.state.failed for answer in answers):
        return []
    plans = []
    for item in statuses(env, but=assignments):
        going = [step for step in item.receipt.steps if step.patchset in names]
        if going and item.condition is Condition.EDITED and not force:
            hint = "`sitepatch restore` takes our change out and keeps the edit"
            plans.append(_refusal(item, going, "the file was edited by hand after it was patched", hint))
        else:
            plans.append(_restored(item, names, force=force))
    answers += [answer for plan in plans for answer in plan.answers]
    return [file for plan in plans for file in plan.files]


def before_and_after(site: str, receipt: Receipt, names: Sequence[str]) -> Tuple[bytes, bytes]:
    """The bytes of a file before and after the named patchsets (all without a name).

    With another patchset between them, these are the bytes before the first and after the last named one.
    """
    data = before = after = Store(site).pristine(receipt.pristine)
    begun = False
    for step in receipt.steps:
        chosen = not names or step.patchset in names
        if chosen and not begun:
            before, begun = data, True
        data = apply_splices(data, step.splices)
        if chosen:
            after = data
    return before, after
