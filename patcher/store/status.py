"""The status of an environment: every receipt, compared with the file on disk.

Also what is unfinished, lost or not explained.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import (
    TYPE_CHECKING,
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Tuple,
)

from patcher.errors import BusyError, SitepatchError, StoreError
from patcher.facts import Condition, Damage, FileStatus, is_replaced, sha256
from patcher.installed.distribution import read_headers, reinstall_command
from patcher.installed.record import files_recorded, hashes_recorded
from patcher.message import Message, joined
from patcher.model import Receipt, apply_splices
from patcher.store import lock, patience
from patcher.store.folder import EDITED, HOME, JOURNAL, SPARE
from patcher.store.receipt import ADDED_FILE
from patcher.store.store import Store, claimed_names
from patcher.store.transaction import transaction
from patcher.system.ownership import trusted_users
from patcher.system.reading import look_again, read_file
from patcher.text.lines import lacks
from patcher.text.listed import normalized

if TYPE_CHECKING:
    from patcher.installed.interpreter import Environment


def applied_names(items: Iterable[FileStatus]) -> list[str]:
    """The names of the patchsets that are recorded as applied, overwritten ones included."""
    names: dict[str, None] = {}
    for item in items:
        for _, step in item.patchsets:
            names[step.patchset] = None
    return list(names)


def live_names(items: Iterable[FileStatus]) -> list[str]:
    """The names of those whose change is in a file."""
    names: dict[str, None] = {}
    for item in items:
        for file, step in item.patchsets:
            if file.live:
                names[step.patchset] = None
    return list(names)


def all_applied(items: Iterable[FileStatus]) -> bool:
    """Whether each patchset is in each of its files as it was applied."""
    for item in items:
        for file, _ in item.patchsets:
            if file.condition is not Condition.APPLIED:
                return False
    return True


def divide_names(applied: Sequence[str], names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Those of `names` that are not applied, and those that are; all that are without names."""
    unique = list(dict.fromkeys(names))
    idle = [name for name in unique if name not in applied]
    live = [name for name in unique or applied if name in applied]
    return idle, live


def statuses(
    env: Environment,
    bad: list[StoreError] | None = None,
    *,
    but: Container[tuple[str, str]] = (),
    read: Mapping[str, Mapping[str, Receipt]] | None = None,
) -> list[FileStatus]:
    """Every file of the environment's own directories that has a receipt, in a fixed order.

    Args:
        env: the environment.
        bad: takes an error for each receipt that is invalid.
        but: (site directory, path) of files that are left out.
        read: the receipts of site directories (`Store.receipts`) that were read before.

    Raises:
        StoreError: a receipt is invalid, and there is no `bad`.
    """
    items: list[FileStatus] = []
    for store in stores(env):
        known = (read or {}).get(store.site)
        receipts = store.receipts(bad) if known is None else known
        paths = [path for path in sorted(receipts) if (store.site, path) not in but]
        for folder in sorted({path.rpartition("/")[0] for path in paths}):
            look_again(f"{store.site}/{folder}")
        names = _names(store.site) if paths else []
        for path in paths:
            data = _bytes(store.site, path)
            items.append(classify(store.site, receipts[path], data=data, names=names))
    return items


def has_store(site: str) -> bool:
    """Whether something was patched in a site directory, and not all of it restored."""
    look_again(site)
    return os.path.lexists(f"{site}/{HOME}")


def stores(env: Environment) -> list[Store]:
    """The store of each directory of the environment that has one."""
    return [Store(site) for site in env.stores if has_store(site)]


def classify(
    site: str, receipt: Receipt, data: bytes | None, names: Sequence[str] | None = None
) -> FileStatus:
    """Compare a receipt with its file and with the release that is installed.

    Args:
        site: the site directory.
        receipt: the receipt.
        data: the bytes of the file; None if there is no such file.
        names: those in the site directory; None to look.
    """
    if names is None:
        names = _names(site)
    installed = _installed(site, receipt, names=names)
    if data is None:
        is_ours = receipt.deletes and _is_still_deleted(site, receipt, installed=installed)
        return FileStatus(
            site,
            receipt,
            condition=Condition.APPLIED if is_ours else Condition.MISSING,
            data=b"",
            installed=installed,
            deleted=_is_deleted(site, receipt),
        )
    condition = _condition(site, receipt, data=data, installed=installed)
    reinstall = ""
    if condition is Condition.ASTRAY:
        name = receipt.release.distribution or receipt.release.package
        reinstall = reinstall_command(site, name, installed)
    return FileStatus(
        site,
        receipt,
        condition=condition,
        data=data,
        installed=installed,
        reinstall=reinstall,
    )


def _names(folder: str) -> list[str]:
    return [path.name for path in Path(folder).iterdir()]


def _is_deleted(site: str, receipt: Receipt) -> bool:
    """Whether a missing file alone is gone, and the one that is recorded is the one we patched."""
    file = Path(site, receipt.path)
    if receipt.deletes or not file.parent.is_dir() or os.path.lexists(file):
        return False
    return receipt.pristine.sha256 in recorded_now(site, receipt.path)


def is_deleted_by(site: str, receipt: Receipt) -> bool:
    """Whether a file that is not there is the one that the patchsets of its receipt deleted."""
    return receipt.deletes and classify(site, receipt, data=None).condition is Condition.APPLIED


def _is_still_deleted(site: str, receipt: Receipt, installed: str) -> bool:
    """Whether a file that is not there is the one that a patchset deleted.

    Not if its package is gone, or another release is installed, which may never have had it.
    """
    if is_replaced(receipt, installed) or (receipt.release.version and not installed):
        return False
    if not Path(site, receipt.path).parent.is_dir():
        return False
    if receipt.pristine.origin != "recorded":
        return True
    return receipt.pristine.sha256 in recorded_now(site, receipt.path)


def _condition(site: str, receipt: Receipt, data: bytes, installed: str) -> Condition:
    """How a file relates to its receipt."""
    if not receipt.steps:  # all that was applied is lost
        return Condition.OVERWRITTEN
    digest = sha256(data)
    is_ours = digest == receipt.current
    if receipt.pristine.origin == ADDED_FILE:
        return _added_condition(site, receipt, digest=digest)
    if digest == receipt.pristine.sha256:
        return Condition.OVERWRITTEN
    is_upgraded = is_replaced(receipt, installed)
    if is_ours and not is_upgraded:
        return Condition.APPLIED

    recorded = recorded_now(site, receipt.path)
    # What was proven by RECORD then and is not what RECORD says now is of no use any more: the
    # file belongs to another build, whatever its version. Where nothing was proven, only the
    # version shows that.
    is_proven = receipt.pristine.origin == "recorded" and bool(recorded)
    is_stale = receipt.pristine.sha256 not in recorded and (is_upgraded or is_proven)
    if digest in recorded:
        return Condition.OVERWRITTEN
    if is_stale:
        return Condition.ASTRAY if is_ours else Condition.OVERWRITTEN
    if is_ours:
        return Condition.APPLIED
    if _is_gone(site, receipt, data=data):
        return Condition.OVERWRITTEN
    return Condition.EDITED


def _added_condition(site: str, receipt: Receipt, digest: str) -> Condition:
    """How an added file relates to its receipt: no release had it, but one may have it now."""
    if digest == receipt.current:
        return Condition.APPLIED
    if digest in recorded_now(site, receipt.path):
        return Condition.OVERWRITTEN
    return Condition.EDITED


def _is_gone(site: str, receipt: Receipt, data: bytes) -> bool:
    """Whether an edited file has nothing of our change: it was reinstalled, then edited.

    If the pristine copy is lost nothing shows that.
    """
    with suppress(StoreError):
        before, after = before_and_after(site, receipt, ())
        return lacks(before, after, data)
    return False


def _installed(site: str, receipt: Receipt, names: Sequence[str]) -> str:
    """The version of the receipt's distribution by its dist-info folder; empty if none is known."""
    distribution = normalized(receipt.release.distribution)
    versions: list[str] = []
    for name in names:
        if not name.endswith(".dist-info") or name[:1].lower() != distribution[:1]:
            continue  # as nearly all: `status` does this for every file
        head, dash, version = name[: -len(".dist-info")].partition("-")
        if not dash or normalized(head) != distribution:
            continue
        if version != receipt.release.version:
            version = _version(site, name) or version
        versions.append(version)
    return versions[0] if len(versions) == 1 else ""


def _version(site: str, dist_info: str) -> str:
    """The version in METADATA; the name of the folder may have it in another spelling."""
    return read_headers(f"{site}/{dist_info}/METADATA")[1]


def read_installed(site: str, path: str) -> bytes | None:
    """The bytes of a target file; None if there is no file: nothing, or a directory, a FIFO."""
    look_again(f"{site}/{path}".rpartition("/")[0])
    return _bytes(site, path)


def _bytes(site: str, path: str) -> bytes | None:
    file = Path(site, path)
    try:
        return read_file(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except SitepatchError:
        if file.is_file():
            raise
        return None


def recorded_now(site: str, path: str) -> set[str]:
    """The sha256 (hex) that the distributions of the site directory record for a file."""
    return hashes_recorded(site, [path]).get(path, set())


def before_and_after(site: str, receipt: Receipt, names: Sequence[str]) -> tuple[bytes, bytes]:
    """The bytes of a file before and after the named patchsets; without names, of all.

    With another patchset between them, these are the bytes before the first and after the last
    named one.
    """
    data = before = after = Store(site).pristine(receipt.pristine.sha256)
    is_first = True
    for step in receipt.steps:
        is_named = not names or step.patchset in names
        if is_named and is_first:
            before = data
            is_first = False
        data = apply_splices(data, step.splices)
        if is_named:
            after = data
    return before, after


# what is unfinished or wrong -------------------------------------------------------------------
INTERRUPTED: str = "interrupted"
UNDER_WAY: str = Message("under way")


def unfinished(env: Environment) -> list[tuple[str, str, str]]:
    """(INTERRUPTED or UNDER_WAY, site directory, sentence) for each run that has not ended.

    If the kernel does not tell who is at work it is an interrupted one, which waits to be undone or
    finished. Changes nothing.
    """
    runs: list[tuple[str, str, str]] = []
    for store in stores(env):
        sentence = store.interrupted()
        if not sentence:
            continue
        at_work = joined(", ", _holders(store.site))
        if at_work:
            template = "another process is in the middle of a change: {holder}"
            runs.append((UNDER_WAY, store.site, Message(template, holder=at_work)))
        elif store.interrupted():  # it has not ended meanwhile
            runs.append((INTERRUPTED, store.site, sentence))
    return runs


def unfinished_files(env: Environment) -> dict[tuple[str, str], str]:
    """The files of runs that have not ended, by site directory and path: INTERRUPTED, UNDER_WAY."""
    words: dict[tuple[str, str], str] = {}
    for word, site, _ in unfinished(env):
        for path in Store(site).in_journal():
            words[site, path] = word
    return words


def _holders(site: str) -> list[str]:
    with suppress(OSError):
        return lock.holders(site)
    return []


def describe_unfinished(env: Environment) -> list[str]:
    """A sentence about each run that has not ended, for a command that leaves it as it is."""
    sentences: list[str] = []
    for word, site, sentence in unfinished(env):
        template = "{site}: {sentence}"
        if word != UNDER_WAY:
            template = "{site}: {sentence}, by the next command that writes"
        sentences.append(Message(template, site=site, sentence=sentence))
    return sentences


def recover(site: str) -> str:
    """Finish or undo an interrupted run in a site directory.

    Its errors are those of `patcher.store.transaction.transaction`.

    Returns:
        a sentence that says which; empty if there was none.
    """
    if Store(site).tidy():
        return ""
    with transaction([site]) as run:
        return joined("", run.recovered.values())


def recover_all(env: Environment) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Finish or undo interrupted runs of this user, without waiting for another process.

    Returns:
        a sentence for each that was finished or undone, and (word, site directory, why) for each
        that could not be, as `unfinished` returns them.

    Raises:
        StoreError: a journal is invalid.
    """
    recovered: list[str] = []
    left: list[tuple[str, str, str]] = []
    own_users = {-1, *trusted_users()}
    if os.geteuid():
        own_users.discard(0)
    for word, site, sentence in unfinished(env):
        if word != INTERRUPTED:
            left.append((word, site, sentence))
            continue
        writer = _writer(site)
        if writer not in own_users:
            template = (
                "it is user {writer}'s: that user's `sitepatch status` does it, "
                "or an `apply` or `restore` of yours"
            )
            how = Message(template, writer=writer)
            left.append((word, site, Message("{sentence}; {how}", sentence=sentence, how=how)))
            continue
        try:
            with patience(0):
                ending = recover(site)
        except BusyError as error:
            left.append((UNDER_WAY, site, error.message))
        except StoreError as error:
            template = "{sentence}, when the store can be written: {message}"
            problem = Message(template, sentence=sentence, message=error.message)
            left.append((word, site, problem))
        else:
            if ending:
                recovered.append(Message("{site}: {ending}", site=site, ending=ending))
    return recovered, left


def _writer(site: str) -> int:
    """The id of the user whose run was interrupted, -1 if there is no journal any more."""
    try:
        return Path(site, HOME, JOURNAL).lstat().st_uid
    except FileNotFoundError:
        return -1


LostCopies = Mapping[Tuple[str, str], StoreError]
"""By site directory and sha256: what is wrong with the copy of a file or of a patchset."""


def damaged(lost: LostCopies) -> list[Damage]:
    """What restores and changes need and is missing or damaged."""
    return [Damage(error.message, error.hint) for error in lost.values()]


def lost_copies(items: Iterable[FileStatus]) -> LostCopies:
    """The copies of files and patchsets that are lost or damaged."""
    # files share patchsets: each is read once
    reads: dict[tuple[str, str], Callable[[str], object]] = {}
    for item in items:
        store = Store(item.site)
        if item.live:  # else there is nothing to restore
            reads[item.site, item.receipt.pristine.sha256] = store.pristine
        for file, step in item.patchsets:
            if file.live:
                reads[item.site, step.digest] = store.patchset_files
    problems: dict[tuple[str, str], StoreError] = {}
    for (site, digest), read in reads.items():
        try:
            read(digest)
        except StoreError as error:
            problems[site, digest] = error
    return problems


def unclaimed(
    env: Environment, items: Collection[FileStatus], bad: Iterable[StoreError]
) -> list[Damage]:
    """Receipts that are invalid, and files that are changed without one but have a pristine copy.

    Args:
        env: the environment.
        items: the files that have a receipt (of `statuses`).
        bad: the errors of receipts.
    """
    problems = [Damage(error.message, error.hint) for error in bad]
    for copy, site, path in orphans(env, items):
        template = "{copy}: is the pristine copy of {path}, which is changed and has no receipt"
        problem = Message(template, copy=copy, path=path)
        hint = Message(
            "put it back, then remove that copy: cp -p {copy} {file}",
            copy=quote(copy),
            file=quote(f"{site}/{path}"),
        )
        problems.append(Damage(problem, hint))
    return problems


def orphans(env: Environment, items: Collection[FileStatus]) -> Iterator[tuple[str, str, str]]:
    """(pristine copy, site directory, path in it) of each file that is changed and has no receipt.

    `items` are the files that have one.
    """
    for store in stores(env):
        claimed = {item.receipt.pristine.sha256 for item in items if item.site == store.site}
        for digest in store.unclaimed(claimed):
            for path in files_recorded(store.site, digest):
                data = read_installed(store.site, path)
                if data is None or sha256(data) != digest:
                    yield f"{store.site}/{HOME}/pristine/{digest}", store.site, path


def leftovers(site: str, receipts: Collection[Receipt]) -> Iterator[str]:
    """The paths in a store that belong to no receipt; none while a journal may need them."""
    home = Path(site, HOME)
    if (home / JOURNAL).exists():
        return
    claimed = claimed_names(receipts)
    used_in = {".": {"lock", SPARE, EDITED, *claimed}, **claimed}
    for name, used in used_in.items():
        folder = home / name
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.name not in used:
                yield str(path)
