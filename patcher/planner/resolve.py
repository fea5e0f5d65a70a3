"""Derives the bytes of a file: its pristine bytes, then every patchset applied to it, in a fixed order. Writes nothing."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from patcher.errors import Location, SitepatchError, StoreError
from patcher.model import (
    Answer,
    Change,
    FilePlan,
    Located,
    LockedFile,
    Patchset,
    PatchsetSource,
    Receipt,
    Requested,
    Rewrite,
    State,
    Step,
)
from patcher.patchset.manifest import load_patchset
from patcher.planner.assignments import Assignment, answer_of
from patcher.planner.carry import Carrier
from patcher.splice import apply_splices
from patcher.store.folder import HOME, sha256
from patcher.store.receipt import new_receipt
from patcher.store.status import Condition, classify, read_installed
from patcher.store.store import Store
from patcher.target.distribution import edited_message
from patcher.target.record import recorded_hash


class TargetFile(NamedTuple):
    """A target file: its pristine bytes, its bytes now, and the steps that its receipt records.

    `current` is the sha256 (hex) of the result of the steps, "" without any; `origin` that of `Receipt`; `aside` are edited
    bytes that would be lost, as in `FilePlan`.
    """

    pristine: bytes
    now: bytes
    steps: Tuple[Step, ...] = ()
    current: str = ""
    origin: str = "recorded"
    aside: bytes = b""


def read_target(located: Located, path: str, receipt: Optional[Receipt], notes: List[str], *, force: bool) -> TargetFile:
    """Read a target file, with its pristine bytes and its steps.

    Args:
        located: the package.
        path: of the file, below the site directory.
        receipt: of the file, if there is one.
        notes: gets remarks.
        force: accept a file that was edited by hand: before it was patched, with the edit; after that, without it.

    Raises:
        SitepatchError: the file was changed by hand, or its receipt cannot be trusted, so that its pristine bytes are not
            known.
    """
    site = located.site
    data = read_installed(site, path) or b""
    recorded = recorded_hash(located, path)
    if receipt is not None:
        item = classify(site, receipt, data)
        known = TargetFile(b"", data, receipt.steps, receipt.current, receipt.origin)
        if item.condition is Condition.APPLIED:
            return known._replace(pristine=Store(site).pristine(receipt.pristine))
        if item.condition is Condition.EDITED and not force:
            raise SitepatchError(
                "the file was edited by hand after it was patched",
                "`sitepatch restore` takes our change out and keeps the edit; --force drops the edit and keeps a copy of it",
            )
        if item.condition is Condition.EDITED:
            return known._replace(pristine=Store(site).pristine(receipt.pristine), aside=data)
        if item.condition is Condition.ASTRAY:
            raise SitepatchError(*item.why)
        lost = ", ".join(step.patchset for step in receipt.steps)
        what = f"{item.installed} was installed over {item.release} and" if item.replaced else "a reinstall"
        notes.append(f"{path}: {what} took {lost} away; what is named now is applied to the new file")
    found = TargetFile(data, data, aside=edit_before_patch(site, receipt, data))
    if recorded is None:
        if located.recorded:  # else a note about the whole package says so
            notes.append(f"{path}: no hash is recorded for it, so nothing proves that it is as upstream shipped it")
        return found._replace(origin="unrecorded")
    if recorded != sha256(data):
        if force:
            where = f"{site}/{HOME}/pristine/{sha256(data)}"
            notes.append(f"{path}: was edited by hand; restore gives the edited file back, the store keeps it as {where}")
            return found._replace(origin="edited")
        what, hint = edited_message(located, path)
        raise SitepatchError(what, f"{hint}; or keep it: --force")
    return found


def edit_before_patch(site: str, receipt: Optional[Receipt], now: bytes) -> bytes:
    """The bytes of a file that was edited by hand before it was patched, where only the store has them; else b""."""
    if receipt is None or receipt.origin != "edited" or receipt.pristine == sha256(now):
        return b""
    with suppress(StoreError):  # `status` reports that it is lost
        return Store(site).pristine(receipt.pristine)
    return b""


def resolve(
    site: str, path: str, found: TargetFile, order: Sequence[str], assignments: Mapping[str, Assignment]
) -> Tuple[bytes, Tuple[Step, ...], List[Answer]]:
    """Apply patchsets to the pristine bytes of a file.

    Recorded splices are used again where matching anew would give the same ones (`patcher.planner.carry`), so that what is
    applied already needs no syntax tree.

    Args:
        site: the site directory.
        path: of the file, below it.
        found: the file.
        order: the names of the patchsets, in the order of application.
        assignments: what to apply, by patchset; the others of `order` are applied as recorded.

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
    past = iter(found.steps)
    carrier: Optional[Carrier] = None  # as soon as a step is left out
    for name in order:
        assignment, known = assignments.get(name), recorded.get(name)
        for step in past if known is not None else ():
            if step is known:
                break
            if carrier is None:
                carrier = Carrier(found.pristine, steps)
                if (*steps, step) != found.steps[: len(steps) + 1]:
                    carrier.lose()
            carrier.leave_out(step, texts[step.patchset])
        if known is not None and (assignment is None or _is_current(known, assignment)):
            again: Optional[Step] = known
            if texts[name] != data:
                assignment = assignment or _stored_assignment(site, path, known)
                again = carrier.carried(known, assignment.hunks, texts[name], data) if carrier is not None else None
            if again is not None:
                data = apply_splices(data, again.splices)
                steps.append(again)
                answers += [] if name not in assignments else _applied_answers(again, assignments[name])
                if carrier is not None:
                    carrier.take(known.splices)
                continue
        assert assignment is not None, "a step without one stands, or has got that of its copy"
        result = _rewrite(data, assignment)
        if carrier is not None and known is not None and result.splices == carrier.moved(known.splices):
            carrier.take(known.splices)
        elif carrier is not None:
            carrier.lose()
        answers += [answer_of(name, path, answer) for answer in result.answers]
        if result.splices:
            patchset = assignment.requested.patchset
            places = tuple(place for answer in result.answers for place in answer.places if answer.state is State.APPLICABLE)
            states = tuple(answer.state.value for answer in result.answers)
            options = dict(assignment.requested.options)
            head = Step(name, patchset.version, patchset.digest, patchset.kind, options, result.splices)
            steps.append(head._replace(places=places, states=states))
        data = result.data
    return data, tuple(steps), answers


def file_plan(
    located: Located, path: str, found: TargetFile, data: bytes, steps: Tuple[Step, ...], receipt: Optional[Receipt]
) -> Tuple[FilePlan, LockedFile]:
    """The plan that makes a file of a package `data`, the result of `steps`, and what a lock has of it.

    `receipt` is the present one, if any.
    """
    change = None
    pristine, current = sha256(found.pristine), sha256(data)
    if data != found.now or (receipt.steps if receipt else ()) != steps:
        old = pristine if found.now == found.pristine else sha256(found.now)
        if steps:
            past = receipt if receipt is not None and receipt.pristine == pristine else None
            new = new_receipt(located, path, past)
            new = new._replace(pristine=pristine, current=current, steps=steps, origin=found.origin)
            keep = found.pristine if past is None and found.pristine != found.now else None
            change = Change(path, old, data, new, pristine=keep)
        else:
            change = Change(path, old, None, None, forget=data == found.now)
    file = FilePlan(located.site, path, found.now, data, change, steps, found.aside if change else b"")
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


def _rewrite(data: bytes, assignment: Assignment) -> Rewrite:
    from patcher.planner import rewriter  # with json, which a `restore` of nothing need not import

    request = rewriter.request_of(assignment.requested, assignment.hunks, assignment.names)
    return rewriter.rewrite_cached(data, request)


def stored_patchset(site: str, step: Step) -> Patchset:
    """The patchset of an applied step, from its copy in the store; its `source` is `the store`.

    Raises:
        StoreError: the copy is missing or damaged.
    """
    folder = Path(site) / HOME / "patchsets" / step.digest / step.patchset
    return load_patchset(folder, PatchsetSource("the store"), Store(site).patchset_files(step.digest))


def _stored_assignment(site: str, path: str, step: Step) -> Assignment:
    """The assignment of an applied step, from the copy of its patchset in the store."""
    patchset = stored_patchset(site, step)
    for variant in patchset.variants:
        hunks = tuple(hunk for patch in variant.patches if path in patch.paths for hunk in patch.hunks)
        if hunks:
            located = Located(variant.package, site, "", "", "")
            return Assignment(Requested(patchset, step.options), located, path, hunks, variant.names)
    problem = f"the stored copy of {step.patchset} does not mention this file"
    raise SitepatchError.at(Location(path), problem, "restore all patchsets")
