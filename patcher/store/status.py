"""The status of an environment: every receipt, compared with the file on disk. Reads only, and needs no syntax tree."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Container, Iterable, List, Optional, Sequence, Set, Tuple

from patcher.errors import StoreError
from patcher.facts import Condition, FileStatus, sha256
from patcher.model import Receipt
from patcher.splice import apply_splices
from patcher.store.folder import HOME
from patcher.store.store import Store
from patcher.system.reading import look_again, read_file
from patcher.text.release import normalized

if TYPE_CHECKING:
    from patcher.target.interpreter import Environment


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
        there = os.path.isdir(os.path.dirname(os.path.join(site, receipt.path)))
        return item._replace(deleted=there and receipt.pristine in recorded_now(site, receipt.path))
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
        from patcher.target.distribution import reinstall_command  # `status` does without where all is in order

        name = receipt.distribution or receipt.package
        return item._replace(condition=Condition.ASTRAY, reinstall=reinstall_command(site, name, installed))
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
