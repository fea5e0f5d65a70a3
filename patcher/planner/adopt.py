"""Plans to replace edits made by hand by a patchset: the pristine text, what is applied already, then the patchset."""

from __future__ import annotations

from typing import List, Mapping, NamedTuple, Tuple

from patcher.errors import SitepatchError
from patcher.model import Answer, FilePlan, Plan, Requested
from patcher.planner.assignments import Assignment, apply_order, assignments_of, reconciled, refused_answers
from patcher.planner.resolve import TargetFile, file_plan, resolve
from patcher.store.folder import sha256
from patcher.store.status import Condition, classify
from patcher.store.store import Store
from patcher.target.interpreter import Environment
from patcher.target.record import recorded_hash


class HandEdit(NamedTuple):
    """A file that was edited by hand: its pristine bytes, and its bytes now, with the edit."""

    pristine: bytes
    now: bytes


HandEdits = Mapping[Tuple[str, str], HandEdit]
"""By site directory and path."""


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
    answers: List[Answer] = []
    notes: List[str] = []
    files: List[FilePlan] = []
    for assignment in assignments_of(env, requested, answers, notes):
        edit = edits.get((assignment.located.site, assignment.path))
        try:
            if edit is None:
                raise SitepatchError("the patchset is for this file too, and it was not edited")
            files.append(_adopted(assignment, edit, answers, notes))
        except SitepatchError as error:
            answers += refused_answers([assignment], error)
    return Plan(tuple(files), tuple(reconciled(answers)), tuple(dict.fromkeys(notes)))


def _adopted(assignment: Assignment, edit: HandEdit, answers: List[Answer], notes: List[str]) -> FilePlan:
    """One file of the plan; `answers` gets those of every hunk."""
    located, path = assignment.located, assignment.path
    receipt = Store(located.site).receipts().get(path)
    if receipt and classify(located.site, receipt, edit.now).condition is Condition.EDITED:
        found = TargetFile(edit.pristine, edit.now, receipt.steps, receipt.current, receipt.origin)
    else:
        proven = recorded_hash(located, path) == sha256(edit.pristine)
        found = TargetFile(edit.pristine, edit.now, origin="recorded" if proven else "unrecorded")
        if receipt:
            lost = ", ".join(step.patchset for step in receipt.steps)
            notes.append(f"{path}: a reinstall took {lost} away; apply it again afterwards")
    name = assignment.requested.patchset.name
    steps = {step.patchset: step for step in found.steps}
    order = sorted({**steps, name: None}, key=lambda each: apply_order(each, steps, [assignment]))
    data, made, hunk_answers = resolve(located.site, path, found, order, {name: assignment})
    answers += hunk_answers
    found = found._replace(aside=edit.now if data != edit.now else b"")
    return file_plan(located, path, found, data, made, receipt)[0]
