"""The status of an environment: every receipt, compared with the file on disk. Reads only, and needs no syntax tree."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Container, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.errors import StoreError
from patcher.model import Receipt
from patcher.store.folder import HOME, sha256
from patcher.store.store import Store
from patcher.system.reading import look_again, read_file
from patcher.text.release import normalized, release_name

if TYPE_CHECKING:
    from patcher.target.interpreter import Environment


class Condition(str, Enum):
    """How a file relates to its receipt."""

    APPLIED = "applied"
    OVERWRITTEN = "overwritten"
    EDITED = "edited by hand"
    MISSING = "missing"
    ASTRAY = "astray"  # as patched in one release, but lying in another


class FileStatus(NamedTuple):
    """One receipt and the status of its file.

    `data` are the bytes on disk, empty where it is missing, `installed` the version of the distribution that is there
    now, "" where its metadata do not have one.
    """

    site: str
    receipt: Receipt
    condition: Condition
    data: bytes
    installed: str = ""

    @property
    def live(self) -> bool:
        """Whether our change is in the file, edited by hand or not."""
        return self.condition in (Condition.APPLIED, Condition.EDITED)

    @property
    def release(self) -> str:
        """The distribution of the receipt and its version."""
        return release_name(self.receipt.package, self.receipt.distribution, self.receipt.version)

    @property
    def replaced(self) -> bool:
        """Whether another release is installed now than the one that was patched."""
        return bool(self.installed) and self.installed != self.receipt.version

    @property
    def deleted(self) -> bool:
        """Whether the file alone is gone: its directory is there, and RECORD lists it as it was before it was patched."""
        path = self.receipt.path
        there = self.condition is Condition.MISSING and os.path.isdir(os.path.dirname(os.path.join(self.site, path)))
        return there and self.receipt.pristine in recorded_now(self.site, path)

    @property
    def meaning(self) -> str:
        """What the condition means and what to do; "" where all is in order."""
        return "; ".join(filter(None, self.why))

    @property
    def why(self) -> Tuple[str, str]:
        """What the condition means and, apart, what to do; both "" where all is in order."""
        name = self.receipt.distribution or self.receipt.package
        if self.condition is Condition.OVERWRITTEN:
            newer = f"{name} {self.installed} was installed over {self.receipt.version}"
            how = newer if self.replaced else "a reinstall replaced the file"
            return f"{how}, our change is gone", "apply again, or restore to forget it"
        if self.condition is Condition.EDITED:
            return "the file was changed after it was patched", "restore takes our change out and keeps the edit"
        if self.condition is Condition.MISSING:
            gone = self.receipt.origin != "unrecorded" and not self.installed
            then = "restore puts it back as it was before it was patched" if self.deleted else "restore forgets it"
            return f"{f'{name} is not installed' if gone else 'the file is not there'} any more", then
        if self.condition is Condition.ASTRAY:
            from patcher.target.distribution import reinstall_command  # `status` does without where all is in order

            back = f"put back what belongs there: {reinstall_command(self.site, name, self.installed)}"
            return f"the file is that of {self.release} as we patched it, but another build of it is installed", back
        if self.receipt.origin == "edited":
            return "the file was edited by hand before it was patched (unproven)", "restore gives the edited file back"
        if self.receipt.origin == "unrecorded":
            return "no RECORD proves the file of before (unproven)", "restore gives it back as it was found"
        return "", ""


def applied_names(items: Iterable[FileStatus]) -> List[str]:
    """The names of the patchsets that are applied."""
    return list(dict.fromkeys(step.patchset for item in items for step in item.receipt.steps))


def divide_names(applied: Sequence[str], names: Iterable[str]) -> Tuple[List[str], List[str]]:
    """Those of `names` that are not applied, and those that are: all that are applied without names."""
    given = list(dict.fromkeys(names))
    return [name for name in given if name not in applied], [name for name in given or applied if name in applied]


def statuses(
    env: Environment, bad: Optional[List[StoreError]] = None, *, but: Container[Tuple[str, str]] = ()
) -> List[FileStatus]:
    """Every file of the environment's own directories that has a receipt, in a fixed order.

    Args:
        env: the environment.
        bad: takes an error for each receipt that is invalid.
        but: (site directory, path) of files that are left out.

    Raises:
        StoreError: a receipt is invalid, and there is no `bad`.
    """
    found: List[FileStatus] = []
    for store in stores(env):
        for path, receipt in sorted(store.receipts(bad).items()):
            if (store.site, path) not in but:
                found.append(classify(store.site, receipt, read_installed(store.site, path)))
    return found


def has_store(site: str) -> bool:
    """Whether something was patched in a site directory, and not all of it restored."""
    look_again(site)
    return os.path.lexists(os.path.join(site, HOME))


def stores(env: Environment) -> List[Store]:
    """The store of each directory of the environment that has one."""
    return [Store(site) for site in env.stores if has_store(site)]


def classify(site: str, receipt: Receipt, data: Optional[bytes]) -> FileStatus:
    """Compare a receipt with the bytes of its file (None where there is no such file) and the release that is installed."""
    installed = _installed(site, receipt)
    item = FileStatus(site, receipt, Condition.MISSING, data or b"", installed)
    if data is None:
        return item
    digest = sha256(data)
    if digest == receipt.pristine:
        return item._replace(condition=Condition.OVERWRITTEN)
    if digest == receipt.current and not item.replaced:
        return item._replace(condition=Condition.APPLIED)
    recorded = recorded_now(site, receipt.path)
    # What was proven by RECORD then and is not what RECORD says now is of no use any more: the file belongs to another
    # build, whatever its version. Where nothing was proven, only the version shows that.
    proven = receipt.origin == "recorded" and recorded
    stale = receipt.pristine not in recorded and (item.replaced or proven)
    if digest in recorded or (stale and digest != receipt.current):
        return item._replace(condition=Condition.OVERWRITTEN)
    if stale:
        return item._replace(condition=Condition.ASTRAY)
    return item._replace(condition=Condition.APPLIED if digest == receipt.current else Condition.EDITED)


def _installed(site: str, receipt: Receipt) -> str:
    """The version of the receipt's distribution by its dist-info folder; "" where there is none, or several."""
    requested, versions = normalized(receipt.distribution), []
    for name in os.listdir(site):
        if not name.endswith(".dist-info") or name[:1].lower() != requested[:1]:
            continue  # as nearly all: `status` does this for every file
        head, dash, version = name[: -len(".dist-info")].partition("-")
        if dash and normalized(head) == requested:
            versions.append(version if version == receipt.version else _version(os.path.join(site, name)) or version)
    return versions[0] if len(versions) == 1 else ""


def _version(dist_info: str) -> str:
    """The version in METADATA; the name of the folder may have it in another spelling."""
    from patcher.target.distribution import read_headers  # `status` does without where that name says it

    return read_headers(os.path.join(dist_info, "METADATA"))[1]


def read_installed(site: str, path: str) -> Optional[bytes]:
    """The bytes of a target file, None where there is no file."""
    look_again(os.path.dirname(os.path.join(site, path)))
    try:
        return read_file(os.path.join(site, path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def recorded_now(site: str, path: str) -> Set[str]:
    """The sha256 (hex) that the distributions of the site directory record for a file."""
    from patcher.target.record import hashes_recorded

    return hashes_recorded(site, [path]).get(path, set())
