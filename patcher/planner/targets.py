"""Reads the files that a plan may change: the bytes, pristine and now, and what is applied."""

from __future__ import annotations

from contextlib import suppress
from typing import Sequence

from patcher.engine.text import STANDS_THERE
from patcher.errors import SitepatchError, StoreError
from patcher.facts import (
    REPLACED_SINCE,
    Condition,
    Content,
    FileStatus,
    Handling,
    Receipts,
    Remarks,
    TargetFile,
    Wanted,
    sha256,
)
from patcher.installed.distribution import edited_message
from patcher.installed.record import recorded_hash
from patcher.message import Message
from patcher.model import Located, Receipt, Step
from patcher.record import Record
from patcher.store.folder import HOME
from patcher.store.receipt import ADDED_FILE, new_receipt
from patcher.store.status import applied_names, classify, read_installed, recorded_now
from patcher.store.store import Store

LOOK = Wanted()
"""What is wanted of a file that is only looked at."""


def _edited_since(steps: Sequence[Step]) -> SitepatchError:
    """The error about a file that was edited by hand after patchsets were applied in it."""
    problem = Message("the file was edited by hand after it was patched")
    hint = Message(
        "take our change out and keep the edit, unless they overlap: "
        "sitepatch restore {names}{env}; with --force drop the edit, and keep a copy of it",
        names=" ".join(dict.fromkeys(step.patchset for step in steps)),
    )
    return SitepatchError(problem, hint)


def read_target(
    located: Located,
    path: str,
    receipt: Receipt | None,
    wanted: Wanted = LOOK,
    item: FileStatus | None = None,
) -> TargetFile:
    """A file that patchsets are for.

    Its `problem` is that it was changed by hand, or that its receipt cannot be trusted, so that its
    pristine bytes are not known.

    Args:
        located: the package.
        path: of the file, below the site directory.
        receipt: of the file, if there is one.
        wanted: with `force` a file is accepted that was edited by hand: before it was patched, with
            the edit; after that, without it.
        item: what was seen of the file a moment ago; None to look.
    """
    reader = _Reader(located, path, receipt=receipt, wanted=wanted)
    try:
        found = reader.read(item)
    except SitepatchError as error:
        return TargetFile(Content(), problem=error, remarks=Remarks(tuple(reader.notes)))
    if wanted.fresh:
        pristine = found.content.pristine
        found, receipt = _Found(Content(pristine, pristine)), None
    # A reinstall may have given the same bytes another mode, owner and mtime: those of the file are
    # the pristine ones.
    blank = new_receipt(located, path, past=receipt if found.steps else None)
    return TargetFile(
        content=found.content,
        steps=found.steps,
        origin=found.origin,
        receipts=Receipts(receipt, blank),
        remarks=Remarks(tuple(reader.notes), found.if_changed),
    )


class _Found(Record):
    """What was found of a file; the fields are those of `TargetFile` and `Remarks`."""

    content: Content
    steps: tuple[Step, ...] = ()
    origin: str = "recorded"
    if_changed: str = ""


class _Reader:
    """Reads a file that patchsets are for.

    The arguments are those of `read_target`; `notes` gets remarks.
    """

    def __init__(
        self, located: Located, path: str, receipt: Receipt | None, wanted: Wanted
    ) -> None:
        self.notes: list[str] = []
        self._located = located
        self._site = located.site
        self._path = path
        self._receipt = receipt
        self._wanted = wanted

    def read(self, item: FileStatus | None) -> _Found:
        """Read the file.

        Raises SitepatchError where its pristine bytes are not known, or it is not to be changed.
        """
        edit = None
        if self._wanted.edits is not None:
            edit = self._wanted.edits.get((self._site, self._path))
            if edit is None:
                raise SitepatchError("the patchset is for this file too, and it was not edited")
        if item and item.condition is Condition.MISSING:
            item = None  # the file has come back since
        there: bytes | None
        if edit:
            item, there = None, edit.now
        elif item:
            there = item.data
        else:
            there = read_installed(self._site, self._path)
        data = there or b""

        if self._receipt is not None:
            is_deleted = there is None and self._receipt.deletes
            seen = None if is_deleted else data
            item = item or classify(self._site, self._receipt, data=seen)
            found = self._applied(self._receipt, item, data=data)
            if found is not None:
                return found
            requested = [each.patchset.name for each in self._wanted.requested]
            self.notes.append(_overwritten(item, requested))
        recorded = recorded_hash(self._located, self._path)
        if edit is None:
            return self._unpatched(data, recorded)
        is_proven = recorded == sha256(edit.pristine)
        content = Content(edit.pristine, data, aside=data)
        return _Found(content, origin="recorded" if is_proven else "unrecorded")

    def _applied(self, receipt: Receipt, item: FileStatus, data: bytes) -> _Found | None:
        """A file in which patchsets are applied; None where another file has taken its place."""
        is_edited = item.condition is Condition.EDITED
        if item.condition is Condition.ASTRAY:
            raise SitepatchError(*item.why)
        if is_edited and not self._wanted.force:
            if receipt.deletes:
                raise SitepatchError(*REPLACED_SINCE)
            raise _edited_since(receipt.steps)
        if not item.live:
            return None
        pristine = Store(self._site).pristine(receipt.pristine.sha256)
        aside = data if is_edited else b""
        content = Content(pristine, data, aside=aside, missing=receipt.deletes and not is_edited)
        return _Found(content, receipt.steps, origin=receipt.pristine.origin)

    def _unpatched(self, data: bytes, recorded: str | None) -> _Found:
        """A file in which nothing is applied; `recorded` is the sha256 that RECORD has for it."""
        aside = _edit_before_patch(self._site, self._receipt, data=data)
        content = Content(data, data, aside=aside)
        if recorded is None:
            if self._located.recorded:  # else a note about the whole package says so
                note = Message(
                    "{path}: no hash is recorded for it, so nothing proves that it is as upstream "
                    "shipped it",
                    path=self._path,
                )
                self.notes.append(note)
            return _Found(content, origin="unrecorded")
        if recorded == sha256(data):
            return _Found(content)

        if self._wanted.force:
            kept = Message(
                "{path}: was edited by hand; restore gives the edited file back, the store keeps "
                "it as {place}",
                path=self._path,
                place=f"{self._site}/{HOME}/pristine/{sha256(data)}",
            )
            return _Found(content, origin="edited", if_changed=kept)
        raise self._edited()

    def _edited(self) -> SitepatchError:
        """The error about a file that was edited by hand before it was patched."""
        problem, hint = edited_message(self._located, self._path)
        names = " ".join(item.patchset.name for item in self._wanted.requested)
        if names:
            hint = Message(
                "{hint}; or keep it: sitepatch apply {names} --force{here}", hint=hint, names=names
            )
        return SitepatchError(problem, hint)


def _overwritten(item: FileStatus, requested: Sequence[str]) -> str:
    """A remark on a file that was replaced: what was applied in it, and what of that stays away."""
    names = applied_names([item])
    others = [name for name in names if name not in requested]
    if others:
        return Message(
            "{path}: {replacement}, the change of {name} is gone; still overwritten: {others}",
            path=item.receipt.path,
            replacement=item.replacement,
            name=", ".join(names),
            others=", ".join(others),
        )
    return Message(
        "{path}: {replacement}, the change of {name} is gone; what is named now is for "
        "the new file",
        path=item.receipt.path,
        replacement=item.replacement,
        name=", ".join(names),
    )


def read_added(located: Located, path: str, receipt: Receipt | None, wanted: Wanted) -> TargetFile:
    """A file that a patchset adds; the arguments are those of `read_target`.

    It has no pristine bytes, unless a file stands there.
    """
    data = read_installed(located.site, path)
    ours = receipt if receipt and receipt.pristine.origin == ADDED_FILE else None
    item = classify(located.site, ours, data=data) if ours else None
    blank = new_receipt(located, path, past=ours)
    absent = Content(missing=True)
    if wanted.fresh and (item or data is None):
        return TargetFile(absent, origin=ADDED_FILE, receipts=Receipts(blank=blank))

    receipts = Receipts(receipt, blank)
    if data is None:
        return TargetFile(absent, origin=ADDED_FILE, receipts=receipts)
    if item and item.live:
        is_edited = item.condition is Condition.EDITED
        is_refused = is_edited and not wanted.force
        return TargetFile(
            content=Content(now=data, aside=data if is_edited else b""),
            steps=item.receipt.steps,
            origin=ADDED_FILE,
            receipts=receipts,
            problem=_edited_since(item.receipt.steps) if is_refused else None,
        )
    foreign = SitepatchError(
        STANDS_THERE,
        Message("remove it if nobody needs it, or give the file of the patchset another name"),
    )
    is_known = bool(data) and (item is not None or receipt is None)
    return TargetFile(
        content=Content(data, data),
        origin="unrecorded",
        receipts=receipts,
        problem=None if is_known else foreign,
    )


def read_patched(item: FileStatus, wanted: Wanted) -> TargetFile:
    """A file in which patchsets are to be reverted.

    Raises:
        StoreError: its pristine copy is needed and missing or damaged.
    """
    receipt, origin = item.receipt, item.receipt.pristine.origin
    receipts = Receipts(receipt, blank=receipt)
    if item.condition is Condition.ASTRAY:
        problem = SitepatchError(*item.why)
        content = Content(now=item.data)
        return TargetFile(content, origin=origin, receipts=receipts, problem=problem)

    store = Store(item.site)
    missing = item.condition is Condition.MISSING
    if item.deleted:
        note = Message(
            "{path}: {reason}; it is put back as it was before it was patched",
            path=receipt.path,
            reason=item.why[0],
        )
        pristine = store.pristine(receipt.pristine.sha256)
        content = Content(pristine, item.data, missing=missing)
        return TargetFile(content, origin=origin, receipts=receipts, remarks=Remarks((note,)))

    shipped = item.condition is Condition.APPLIED and not receipt.deletes and _ships(item)
    if item.live and not shipped:
        # where nothing that is in the file goes, an edit is in nobody's way
        goes = any(wanted.goes(step.patchset) for step in receipt.steps)
        is_edited = item.condition is Condition.EDITED
        is_dropped = is_edited and wanted.force and goes
        pristine = store.pristine(receipt.pristine.sha256)
        return TargetFile(
            content=Content(
                pristine,
                item.data,
                aside=item.data if is_dropped else b"",
                missing=receipt.deletes and not is_edited,
            ),
            steps=receipt.steps,
            origin=origin,
            receipts=receipts,
            handling=Handling.MERGE if is_edited and not is_dropped else Handling.DERIVE,
        )

    reason = item.why[0]
    if shipped:
        release = item.installed or Message("what is installed")
        reason = Message("{release} has it as patched", release=release)
    note = Message(
        "{path}: {reason}; only the receipt is left to drop", path=receipt.path, reason=reason
    )
    aside = _edit_before_patch(item.site, receipt, data=item.data)
    return TargetFile(
        content=Content(item.data, item.data, aside=aside, missing=missing),
        origin=origin,
        receipts=receipts,
        remarks=Remarks((note,)),
        handling=Handling.FORGET,
    )


def _ships(item: FileStatus) -> bool:
    """Whether the installed release has the file as we patched it."""
    return sha256(item.data) in recorded_now(item.site, item.receipt.path)


def _edit_before_patch(site: str, receipt: Receipt | None, data: bytes) -> bytes:
    """The bytes of an edit by hand that was made before the file was patched.

    They are b"" unless only the store has them.
    """
    if receipt is None or receipt.pristine.origin != "edited":
        return b""
    if receipt.pristine.sha256 == sha256(data):
        return b""
    with suppress(StoreError):  # `status` reports that it is lost
        return Store(site).pristine(receipt.pristine.sha256)
    return b""
