"""Environment + patchsets -> `Plan`: reads the facts, and has the planner decide."""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.facts import AppliedFile, Assignment, Condition, Facts, FileStatus, TargetFile, sha256
from patcher.model import Answer, LockedFile, Plan, Receipt, Requested, Rewrite, Step
from patcher.planner.plan import decide_apply, decide_files, decide_restore, decide_sync
from patcher.store.status import classify, statuses
from patcher.store.store import Store
from patcher.survey.assignments import assignments_of
from patcher.survey.targets import read_patched, read_target, stored_assignment, with_receipt
from patcher.target.interpreter import Environment
from patcher.target.record import recorded_hash


class _Rewriter:
    """A `patcher.planner.resolve.Rewriter` of known results, the engine, and the copies in the store."""

    def rewrite(self, data: bytes, assignment: Assignment) -> Rewrite:
        """The result of an assignment's hunks on a text."""
        from patcher.patchset import results  # with json, which a `restore` of nothing need not import

        request = results.request_of(assignment.requested, assignment.hunks, assignment.names)
        return results.rewrite_cached(data, request)

    def recorded(self, site: str, path: str, step: Step) -> Assignment:
        """The assignment of an applied step."""
        return stored_assignment(site, path, step)


REWRITER = _Rewriter()


class HandEdit(NamedTuple):
    """A file that was edited by hand: its pristine bytes, and its bytes now, with the edit."""

    pristine: bytes
    now: bytes


HandEdits = Mapping[Tuple[str, str], HandEdit]
"""By site directory and path."""


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
    facts = read_facts(env, requested, force=force)
    names = tuple(one.patchset.name for one in requested)
    if names and not any(answer.state.failed for answer in facts.answers):  # else nothing is written
        facts = facts._replace(patched=_patched(statuses(env, but=facts.assignments), names), reverted=names)
    return decide_apply(facts, REWRITER, force=force)


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
    facts = read_facts(env, requested, force=force)
    facts = facts._replace(patched=_patched(statuses(env, but=facts.assignments), ()))
    return decide_sync(facts, REWRITER, force=force)


def plan_pristine(env: Environment, requested: Sequence[Requested]) -> Tuple[Plan, Tuple[LockedFile, ...]]:
    """A plan that applies the requested patchsets, and nothing else, to pristine files, whatever is applied now.

    Returns:
        the plan, in which `before` of each file are its pristine bytes; and the same files in the same order.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt or a pristine copy is invalid.
    """
    return decide_files(read_facts(env, requested, fresh=True), REWRITER)


def plan_restore(items: Sequence[FileStatus], names: Sequence[str], *, force: bool = False) -> Plan:
    """A plan that reverts the named patchsets, all if none is named.

    Args:
        items: the files in which patchsets are applied.
        names: of patchsets; one that is applied nowhere does not occur in the plan.
        force: put the pristine file back where it was edited by hand, instead of keeping the edit in the file.

    Raises:
        StoreError: a receipt or a pristine copy is invalid.
    """
    return decide_restore(_patched(items, names), names, REWRITER, force=force)


def plan_adopt(env: Environment, requested: Requested, edits: HandEdits) -> Plan:
    """A plan that replaces edits made by hand by the patchset that was made of them.

    Edited bytes that the patchset does not reproduce exactly are in `FilePlan.aside`.

    Args:
        env: the environment.
        requested: the patchset.
        edits: the edit of every file that it changes.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt or a pristine copy is invalid.
    """
    facts = read_assignments(env, [requested])
    receipts = _receipts(facts)
    targets = {key: _edited(here[0], edits.get(key), receipts[key[0]].get(key[1])) for key, here in facts.assignments.items()}
    return decide_files(facts._replace(targets=targets), REWRITER)[0]


def _edited(assignment: Assignment, edit: Optional[HandEdit], receipt: Optional[Receipt]) -> TargetFile:
    """The target file whose edit is to be replaced."""
    located, path = assignment.located, assignment.path
    if edit is None:
        problem = SitepatchError("the patchset is for this file too, and it was not edited")
        return TargetFile(b"", b"", problem=problem)
    found = TargetFile(edit.pristine, edit.now, aside=edit.now)
    if receipt and classify(located.site, receipt, edit.now).condition is Condition.EDITED:
        found = found._replace(steps=receipt.steps, current=receipt.current, origin=receipt.origin)
    else:
        proven = recorded_hash(located, path) == sha256(edit.pristine)
        lost = ", ".join(step.patchset for step in receipt.steps) if receipt else ""
        notes = (f"{path}: a reinstall took {lost} away; apply it again afterwards",) if lost else ()
        found = found._replace(origin="recorded" if proven else "unrecorded", notes=notes)
    return with_receipt(found, located, path, receipt)


def read_facts(env: Environment, requested: Sequence[Requested], *, force: bool = False, fresh: bool = False) -> Facts:
    """What the planner needs to apply patchsets; the files are read as by `read_target`.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt is invalid.
    """
    facts = read_assignments(env, requested)
    receipts = _receipts(facts)
    targets = {
        (site, path): read_target(here[0].located, path, receipts[site].get(path), force=force, fresh=fresh)
        for (site, path), here in facts.assignments.items()
    }
    return facts._replace(targets=targets)


def read_assignments(env: Environment, requested: Sequence[Requested]) -> Facts:
    """Which hunks of patchsets are for which files, with the errors of `read_facts`; no file is read yet."""
    answers: List[Answer] = []
    notes: List[str] = []
    found: Dict[Tuple[str, str], Tuple[Assignment, ...]] = {}
    for one in requested:
        for assignment in assignments_of(env, one, answers, notes):
            key = (assignment.located.site, assignment.path)
            found[key] = (*found.get(key, ()), assignment)
    return Facts(found, {}, tuple(answers), tuple(notes))


def _receipts(facts: Facts) -> Dict[str, Dict[str, Receipt]]:
    """The receipts of the assignments' files, by site directory and path."""
    return {site: Store(site).receipts() for site in {site for site, _ in facts.assignments}}


def _patched(items: Sequence[FileStatus], names: Sequence[str]) -> Tuple[AppliedFile, ...]:
    """The files in which the named patchsets (any without a name) are applied."""
    going = (item for item in items if not names or any(step.patchset in names for step in item.receipt.steps))
    return tuple(map(read_patched, going))
