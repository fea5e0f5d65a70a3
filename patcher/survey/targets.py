"""Files as they are read for the planner: those that patchsets are for, and those in which patchsets are to be reverted."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import List, Optional

from patcher.errors import Location, SitepatchError, StoreError
from patcher.facts import AppliedFile, Assignment, Condition, FileStatus, TargetFile, sha256
from patcher.model import Located, Patchset, PatchsetSource, Receipt, Requested, Step
from patcher.patchset.manifest import load_patchset
from patcher.store.folder import HOME
from patcher.store.receipt import new_receipt
from patcher.store.status import classify, read_installed, recorded_now
from patcher.store.store import Store
from patcher.target.distribution import edited_message
from patcher.target.record import recorded_hash


def read_target(
    located: Located, path: str, receipt: Optional[Receipt], *, force: bool = False, fresh: bool = False
) -> TargetFile:
    """A file that patchsets are for.

    Its `problem` is that it was changed by hand, or that its receipt cannot be trusted, so that its pristine bytes are not
    known.

    Args:
        located: the package.
        path: of the file, below the site directory.
        receipt: of the file, if there is one.
        force: accept a file that was edited by hand: before it was patched, with the edit; after that, without it.
        fresh: as if nothing were applied in it.
    """
    notes: List[str] = []
    try:
        found = _read(located, path, receipt, notes, force=force)
    except SitepatchError as error:
        return TargetFile(b"", b"", problem=error, notes=tuple(notes))
    if fresh:
        found, receipt = TargetFile(found.pristine, found.pristine), None
    return with_receipt(found, located, path, receipt)._replace(notes=tuple(notes))


def with_receipt(found: TargetFile, located: Located, path: str, receipt: Optional[Receipt]) -> TargetFile:
    """A target file with its present receipt, and the one that it would get."""
    same = receipt is not None and (found.steps or receipt.pristine == sha256(found.pristine))
    return found._replace(receipt=receipt, blank=new_receipt(located, path, receipt if same else None))


def _read(located: Located, path: str, receipt: Optional[Receipt], notes: List[str], *, force: bool) -> TargetFile:
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
                "`sitepatch restore` takes our change out and keeps the edit, unless they overlap; "
                "--force drops the edit and keeps a copy of it",
            )
        if item.condition is Condition.EDITED:
            return known._replace(pristine=Store(site).pristine(receipt.pristine), aside=data)
        if item.condition is Condition.ASTRAY:
            raise SitepatchError(*item.why)
        lost = ", ".join(step.patchset for step in receipt.steps)
        notes.append(f"{path}: {item.replacement} and took {lost} away; what is named now is for the new file")
    found = TargetFile(data, data, aside=_edit_before_patch(site, receipt, data))
    if recorded is None:
        if located.recorded:  # else a note about the whole package says so
            notes.append(f"{path}: no hash is recorded for it, so nothing proves that it is as upstream shipped it")
        return found._replace(origin="unrecorded")
    if recorded != sha256(data):
        if force:
            where = f"{site}/{HOME}/pristine/{sha256(data)}"
            kept = f"{path}: was edited by hand; restore gives the edited file back, the store keeps it as {where}"
            return found._replace(origin="edited", if_changed=kept)
        what, hint = edited_message(located, path)
        raise SitepatchError(what, f"{hint}; or keep it: --force")
    return found


def read_patched(item: FileStatus) -> AppliedFile:
    """A file in which patchsets are to be reverted.

    Raises:
        StoreError: its pristine copy is needed and missing or damaged.
    """
    site, receipt = item.site, item.receipt
    if item.condition is Condition.APPLIED and sha256(item.data) in recorded_now(site, receipt.path):  # shipped since
        return AppliedFile(item, aside=_edit_before_patch(site, receipt, item.data), shipped=True)
    if item.live or item.deleted:
        return AppliedFile(item, Store(site).pristine(receipt.pristine))
    return AppliedFile(item, aside=_edit_before_patch(site, receipt, item.data))


def _edit_before_patch(site: str, receipt: Optional[Receipt], now: bytes) -> bytes:
    """The bytes of a file that was edited by hand before it was patched, where only the store has them; else b""."""
    if receipt is None or receipt.origin != "edited" or receipt.pristine == sha256(now):
        return b""
    with suppress(StoreError):  # `status` reports that it is lost
        return Store(site).pristine(receipt.pristine)
    return b""


def stored_patchset(site: str, step: Step) -> Patchset:
    """The patchset of an applied step, from its copy in the store; its `source` is `the store`.

    Raises:
        StoreError: the copy is missing or damaged.
    """
    folder = Path(site) / HOME / "patchsets" / step.digest / step.patchset
    return load_patchset(folder, PatchsetSource("the store"), Store(site).patchset_files(step.digest))


def stored_assignment(site: str, path: str, step: Step) -> Assignment:
    """The assignment of an applied step, from the copy of its patchset in the store.

    Raises:
        SitepatchError: the copy does not mention the file; StoreError: it is missing or damaged.
    """
    patchset = stored_patchset(site, step)
    for variant in patchset.variants:
        hunks = tuple(hunk for patch in variant.patches if path in patch.paths for hunk in patch.hunks)
        if hunks:
            located = Located(variant.package, site, "", "", "")
            return Assignment(Requested(patchset, step.options), located, path, hunks, variant.names)
    problem = f"the stored copy of {step.patchset} does not mention this file"
    raise SitepatchError.at(Location(path), problem, "restore all patchsets")
