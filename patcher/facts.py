"""What is read of an environment before anything is decided: plain values, no I/O."""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import Mapping, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.message import Message, joined
from patcher.model import ADDED, DELETED, Answer, HunkText, Located, Receipt, Requested, Step
from patcher.record import Record
from patcher.text.listed import release_name


def sha256(data: bytes) -> str:
    """The sha256 of `data` in hex, by which files are compared."""
    return hashlib.sha256(data).hexdigest()


def current_digest(data: bytes, steps: Sequence[Step]) -> str:
    """The `current` of a receipt whose steps make these bytes, "" where they delete the file."""
    return "" if steps and steps[-1].gone else sha256(data)


class Condition(str, Enum):
    """How a file relates to its receipt."""

    APPLIED = "applied"
    OVERWRITTEN = "overwritten"
    EDITED = "edited by hand"
    MISSING = "missing"
    ASTRAY = "astray"  # as patched in one release, but lying in another


def is_replaced(receipt: Receipt, installed: str) -> bool:
    """Whether another version is installed than that of a receipt; not if none is known."""
    return bool(installed) and installed != receipt.release.version


REPLACED_SINCE = (
    Message("the file was deleted by a patchset, and another one has been put in its place"),
    Message("move it away, or put the deleted one back with: sitepatch restore --force"),
)
"""What is wrong with a file that somebody made in the place of a deleted one, and what to do."""


class FileStatus(Record):
    """One receipt and the status of its file.

    `data` are the bytes on disk, empty where it is missing, `installed` the version of the
    distribution that is there now, "" where its metadata do not have one. `deleted` is whether a
    missing file alone is gone: its directory is there, and RECORD lists it as it was before it was
    patched. `reinstall` says, for one that is astray, how to put back what belongs there.
    """

    site: str
    receipt: Receipt
    condition: Condition
    data: bytes
    installed: str = ""
    deleted: bool = False
    reinstall: str = ""

    @property
    def live(self) -> bool:
        """Whether our change is in the file, edited by hand or not."""
        return self.condition in (Condition.APPLIED, Condition.EDITED)

    @property
    def patchsets(self) -> tuple[tuple[FileStatus, Step], ...]:
        """Each patchset that is recorded for the file, and what the file is to it.

        A receipt belongs to a file and a patchset: what is applied is as the file is, what a
        reinstall took away stays overwritten, whatever was applied since.
        """
        condition = Condition.OVERWRITTEN
        if self.condition is Condition.MISSING:
            condition = Condition.MISSING
        patchsets = [(self, step) for step in self.receipt.steps]
        for step, version in self.receipt.lost:
            release = self.receipt.release._replace(version=version)
            receipt = self.receipt._replace(release=release, steps=(step,), lost=())
            patchsets.append((self._replace(receipt=receipt, condition=condition), step))
        return tuple(patchsets)

    @property
    def release(self) -> str:
        """The distribution of the receipt and its version."""
        package, distribution, version = self.receipt.release
        return release_name(package, distribution, version=version)

    @property
    def replaced(self) -> bool:
        """Whether another release is installed now than the one that was patched."""
        return is_replaced(self.receipt, self.installed)

    @property
    def replacement(self) -> str:
        """What put another file in the place of the patched one."""
        if not self.replaced:
            return Message("a reinstall replaced the file")
        return Message(
            "{name} {installed} was installed over {version}",
            name=self.receipt.release.name,
            installed=self.installed,
            version=self.receipt.release.version,
        )

    @property
    def meaning(self) -> str:
        """What the condition means and what to do; "" where all is in order."""
        return joined("; ", self.why)

    @property
    def why(self) -> tuple[str, str]:
        """What the condition means and, apart, what to do; both "" where all is in order."""
        if self.condition is Condition.OVERWRITTEN:
            return (
                Message("{replacement}, our change is gone", replacement=self.replacement),
                Message("apply again, or restore to forget it"),
            )
        if self.condition is Condition.EDITED and self.receipt.deletes:
            return REPLACED_SINCE
        if self.condition is Condition.EDITED:
            return (
                Message("the file was changed after it was patched"),
                Message("restore takes our change out and keeps the edit, unless they overlap"),
            )
        if self.condition is Condition.MISSING:
            return self._why_missing
        if self.condition is Condition.ASTRAY:
            return (
                Message(
                    "the file is that of {release} as we patched it, but another build of it is "
                    "installed",
                    release=self.release,
                ),
                Message("put back what belongs there: {reinstall}", reinstall=self.reinstall),
            )
        if self.receipt.pristine.origin == "edited":
            return (
                Message("the file was edited by hand before it was patched (unproven)"),
                Message("restore gives the edited file back"),
            )
        if self.receipt.pristine.origin == "unrecorded":
            return (
                Message("no RECORD proves the original file (unproven)"),
                Message("restore gives it back as it was found"),
            )
        return "", ""

    @property
    def _why_missing(self) -> tuple[str, str]:
        """`why`, for a file that is missing."""
        what = Message("the file is not there")
        if self.receipt.pristine.origin != "unrecorded" and not self.installed:
            what = Message("{name} is not installed", name=self.receipt.release.name)
        hint = Message("restore forgets it")
        if self.receipt.deletes and self.replaced:
            return Message("{what}, without the file", what=self.replacement), hint
        if self.deleted:
            hint = Message("restore puts it back as it was before it was patched")
        return Message("{what} any more", what=what), hint


class Damage(Record):
    """Something that is wrong in a store.

    Attributes:
        problem: what is wrong.
        hint: what to do about it.
    """

    problem: str
    hint: str


class Assignment(Record):
    """One patchset's hunks for one file."""

    requested: Requested
    located: Located
    path: str
    hunks: tuple[HunkText, ...]
    names: tuple[str, ...]

    @property
    def adds(self) -> bool:
        """Whether it adds the file."""
        return self.hunks[0].scope == ADDED

    @property
    def deletes(self) -> bool:
        """Whether it deletes the file."""
        return self.hunks[-1].scope == DELETED


class Content(Record):
    """The bytes of a file that a plan may change: the pristine ones, and those of now.

    `aside` are edited bytes that would be lost, as in `Change`; `missing` is whether the file is
    not there.
    """

    pristine: bytes = b""
    now: bytes = b""
    aside: bytes = b""
    missing: bool = False


class Receipts(Record):
    """The receipts of a file that a plan may change.

    `present` may be of what a reinstall took away, so that it has steps that the file has not.
    `blank` is the one that the file would get, without hashes and steps.
    """

    present: Receipt | None = None
    blank: Receipt | None = None


class Remarks(Record):
    """Remarks on a file that a plan may change; `if_changed` holds where it changes."""

    notes: tuple[str, ...] = ()
    if_changed: str = ""


class Handling(Enum):
    """What becomes of the bytes of a file.

    DERIVE: what its patchsets make of the pristine bytes. MERGE: the same, with the edit by hand
    that was made after it was patched. FORGET: they stay, and the receipt is dropped.
    """

    DERIVE = "derive"
    MERGE = "merge"
    FORGET = "forget"


class TargetFile(Record):
    """A file that a plan may change, with the steps that are applied in it.

    `origin` is that of `PristineFile`. `problem` is why the file cannot be changed.
    """

    content: Content
    steps: tuple[Step, ...] = ()
    origin: str = "recorded"
    receipts: Receipts = Receipts()
    problem: SitepatchError | None = None
    remarks: Remarks = Remarks()
    handling: Handling = Handling.DERIVE


class HandEdit(Record):
    """A file that was edited by hand: its pristine bytes, and its bytes now, with the edit."""

    pristine: bytes
    now: bytes


HandEdits = Mapping[Tuple[str, str], HandEdit]
"""By site directory and path."""


class Wanted(Record):
    """What is to become of an environment: all that the verbs, overlays and hooks differ in.

    `requested` are to be applied; `reverted` are the names of patchsets to be reverted, None for
    all that are not requested. With `force` files are changed that were edited by hand, and the
    edit is set aside; with `fresh` it is as if nothing were applied yet. `edits` has the edit of
    every file that the requested patchset was made of, and is to replace; None for none.
    """

    requested: tuple[Requested, ...] = ()
    reverted: tuple[str, ...] | None = ()
    force: bool = False
    fresh: bool = False
    edits: HandEdits | None = None

    def goes(self, name: str) -> bool:
        """Whether a patchset is reverted in a file that no request for it names."""
        return (
            self.reverted is None
            or name in self.reverted
            or any(name == item.patchset.name for item in self.requested)
        )


class Facts(Record):
    """What a plan is made from, by (site directory, path).

    `assignments` are the requested patchsets' hunks; `files` are those that they are for, and
    before them the others in which patchsets are to be reverted. `answers` are about packages and
    files that are not there, `notes` remarks.
    """

    assignments: Mapping[tuple[str, str], tuple[Assignment, ...]]
    files: Mapping[tuple[str, str], TargetFile]
    answers: tuple[Answer, ...] = ()
    notes: tuple[str, ...] = ()
