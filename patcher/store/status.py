"""The status of an environment: every receipt, compared with the file on disk; what is unfinished, lost or not explained."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import (
    TYPE_CHECKING,
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)

from patcher.errors import BusyError, SitepatchError, StoreError
from patcher.facts import Condition, FileStatus, sha256
from patcher.message import Message, joined
from patcher.model import Receipt, apply_splices
from patcher.store import patience
from patcher.store.folder import EDITED, HOME, JOURNAL, SPARE
from patcher.store.receipt import ADDED_FILE
from patcher.store.store import Store, claimed_names
from patcher.system.ownership import trusted_users
from patcher.system.reading import look_again, read_file
from patcher.text.lines import lacks
from patcher.text.listed import normalized

if TYPE_CHECKING:
    from patcher.installed.interpreter import Environment


def applied_names(items: Iterable[FileStatus]) -> list[str]:
    """The names of the patchsets that are recorded as applied, what a reinstall took away included."""
    return list(dict.fromkeys(step.patchset for item in items for _, step in item.patchsets))


def live_names(items: Iterable[FileStatus]) -> list[str]:
    """The names of those whose change is in a file."""
    return list(
        dict.fromkeys(step.patchset for item in items for file, step in item.patchsets if file.live)
    )


def all_applied(items: Iterable[FileStatus]) -> bool:
    """Whether each patchset is in each of its files as it was applied."""
    return all(file.condition is Condition.APPLIED for item in items for file, _ in item.patchsets)


def divide_names(applied: Sequence[str], names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Those of `names` that are not applied, and those that are: all that are applied without names."""
    asked = list(dict.fromkeys(names))
    return [name for name in asked if name not in applied], [
        name for name in asked or applied if name in applied
    ]


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
        receipts = read[store.site] if read and store.site in read else store.receipts(bad)
        wanted = {
            path: receipt
            for path, receipt in sorted(receipts.items())
            if (store.site, path) not in but
        }
        for folder in sorted({os.path.dirname(path) for path in wanted}):
            look_again(os.path.join(store.site, folder))
        names = os.listdir(store.site) if wanted else []
        items += [
            classify(store.site, receipt, _bytes(store.site, path), names)
            for path, receipt in wanted.items()
        ]
    return items


def has_store(site: str) -> bool:
    """Whether something was patched in a site directory, and not all of it restored."""
    look_again(site)
    return os.path.lexists(os.path.join(site, HOME))


def stores(env: Environment) -> list[Store]:
    """The store of each directory of the environment that has one."""
    return [Store(site) for site in env.stores if has_store(site)]


def classify(
    site: str, receipt: Receipt, data: bytes | None, names: Sequence[str] | None = None
) -> FileStatus:
    """Compare a receipt with the bytes of its file (None where there is no such file) and the release that is installed.

    `names` are those in the site directory; None to look.
    """
    installed = _installed(site, receipt, os.listdir(site) if names is None else names)
    item = FileStatus(site, receipt, Condition.MISSING, data or b"", installed)
    if data is None:
        path = os.path.join(site, receipt.path)
        is_free = os.path.isdir(os.path.dirname(path)) and not os.path.lexists(path)
        return item._replace(
            deleted=is_free and receipt.pristine.sha256 in recorded_now(site, receipt.path)
        )
    if not receipt.steps:  # all that was applied is lost
        return item._replace(condition=Condition.OVERWRITTEN)
    digest = sha256(data)
    # it belongs to no release, unless one has a file of that name now
    if receipt.pristine.origin == ADDED_FILE:
        shipped = digest != receipt.current and digest in recorded_now(site, receipt.path)
        unlike = Condition.OVERWRITTEN if shipped else Condition.EDITED
        return item._replace(condition=Condition.APPLIED if digest == receipt.current else unlike)
    if digest == receipt.pristine.sha256:
        return item._replace(condition=Condition.OVERWRITTEN)
    if digest == receipt.current and not item.replaced:
        return item._replace(condition=Condition.APPLIED)
    recorded = recorded_now(site, receipt.path)
    # What was proven by RECORD then and is not what RECORD says now is of no use any more: the file belongs to another
    # build, whatever its version. Where nothing was proven, only the version shows that.
    proven = receipt.pristine.origin == "recorded" and recorded
    stale = receipt.pristine.sha256 not in recorded and (item.replaced or proven)
    if digest in recorded or (stale and digest != receipt.current):
        return item._replace(condition=Condition.OVERWRITTEN)
    if stale:
        # `status` does without where all is in order
        from patcher.installed.distribution import (
            reinstall_command,
        )

        name = receipt.release.distribution or receipt.release.package
        return item._replace(
            condition=Condition.ASTRAY, reinstall=reinstall_command(site, name, installed)
        )
    if digest == receipt.current:
        return item._replace(condition=Condition.APPLIED)
    gone = _is_gone(site, receipt, data)
    return item._replace(condition=Condition.OVERWRITTEN if gone else Condition.EDITED)


def _is_gone(site: str, receipt: Receipt, data: bytes) -> bool:
    """Whether an edited file has nothing of our change: a reinstall took it away, and the edit was made since.

    Where the pristine copy is lost nothing shows that.
    """
    with suppress(StoreError):
        before, after = before_and_after(site, receipt, ())
        return lacks(before, after, data)
    return False


def _installed(site: str, receipt: Receipt, names: Sequence[str]) -> str:
    """The version of the receipt's distribution by its dist-info folder; "" where there is none, or several."""
    requested, versions = normalized(receipt.release.distribution), []
    for name in names:
        if not name.endswith(".dist-info") or name[:1].lower() != requested[:1]:
            continue  # as nearly all: `status` does this for every file
        head, dash, version = name[: -len(".dist-info")].partition("-")
        if dash and normalized(head) == requested:
            versions.append(
                version
                if version == receipt.release.version
                else _version(os.path.join(site, name)) or version
            )
    return versions[0] if len(versions) == 1 else ""


def _version(dist_info: str) -> str:
    """The version in METADATA; the name of the folder may have it in another spelling."""
    # `status` does without where that name says it
    from patcher.installed.distribution import (
        read_headers,
    )

    return read_headers(os.path.join(dist_info, "METADATA"))[1]


def read_installed(site: str, path: str) -> bytes | None:
    """The bytes of a target file, None where there is no file: nothing, or a directory, a FIFO."""
    look_again(os.path.dirname(os.path.join(site, path)))
    return _bytes(site, path)


def _bytes(site: str, path: str) -> bytes | None:
    full = os.path.join(site, path)
    try:
        return read_file(full)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except SitepatchError:
        if os.path.isfile(full):
            raise
        return None


def recorded_now(site: str, path: str) -> set[str]:
    """The sha256 (hex) that the distributions of the site directory record for a file."""
    from patcher.installed.record import hashes_recorded

    return hashes_recorded(site, [path]).get(path, set())


def before_and_after(site: str, receipt: Receipt, names: Sequence[str]) -> tuple[bytes, bytes]:
    """The bytes of a file before and after the named patchsets (all without a name).

    With another patchset between them, these are the bytes before the first and after the last named one.
    """
    data = before = after = Store(site).pristine(receipt.pristine.sha256)
    begun = False
    for step in receipt.steps:
        is_meant = not names or step.patchset in names
        if is_meant and not begun:
            before, begun = data, True
        data = apply_splices(data, step.splices)
        if is_meant:
            after = data
    return before, after


# what is unfinished or wrong -------------------------------------------------------------------------------------------
INTERRUPTED: str = "interrupted"
UNDER_WAY: str = Message("under way")


def unfinished(env: Environment) -> list[tuple[str, str, str]]:
    """(INTERRUPTED or UNDER_WAY, site directory, sentence) for each run that has not ended; changes nothing.

    Where the kernel does not tell who is at work it is an interrupted one, which waits to be undone or finished.
    """
    runs: list[tuple[str, str, str]] = []
    for store in stores(env):
        sentence = store.interrupted()
        at_work = _holders(store.site) if sentence else []
        if at_work:
            problem = Message(
                "another process is in the middle of a change: {holder}",
                holder=joined(", ", at_work),
            )
            runs.append((UNDER_WAY, store.site, problem))
        elif sentence and store.interrupted():  # it has not ended meanwhile
            runs.append((INTERRUPTED, store.site, sentence))
    return runs


def unfinished_files(env: Environment) -> dict[tuple[str, str], str]:
    """The files that runs are in the middle of, by site directory and path: INTERRUPTED or UNDER_WAY."""
    words = {site: word for word, site, _ in unfinished(env)}
    return {(site, path): word for site, word in words.items() for path in Store(site).in_journal()}


def _holders(site: str) -> list[str]:
    from patcher.store.lock import holders  # only where something is unfinished

    with suppress(OSError):
        return holders(site)
    return []


def describe_unfinished(env: Environment) -> list[str]:
    """A sentence about each run that has not ended, for a command that leaves it as it is."""
    return [
        Message(
            "{site}: {sentence}"
            if word == UNDER_WAY
            else "{site}: {sentence}, by the next command that writes",
            site=site,
            sentence=sentence,
        )
        for word, site, sentence in unfinished(env)
    ]


def recover(site: str) -> str:
    """Finish or undo an interrupted run in a site directory and return a sentence that says which, "" if there was none.

    The errors are those of `patcher.store.transaction.transaction`.
    """
    if Store(site).tidy():
        return ""
    from patcher.store.transaction import transaction  # only where something is unfinished

    with transaction([site]) as run:
        return joined("", run.recovered.values())


def recover_all(env: Environment) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Finish or undo interrupted runs of this user, without waiting for another process.

    Returns:
        A sentence for each that was finished or undone, and (word, site directory, why) for each that could not be, as
        `unfinished` returns them.

    Raises:
        StoreError: a journal is invalid.
    """
    recovered: list[str] = []
    left: list[tuple[str, str, str]] = []
    own_users = trusted_users() - ({0} if os.geteuid() else set())
    for word, site, sentence in unfinished(env):
        problem = sentence
        if word == INTERRUPTED and _writer(site) in {-1, *own_users}:
            try:
                with patience(0):
                    ending = recover(site)
                recovered += [Message("{site}: {done}", site=site, done=ending)] if ending else []
                continue
            except BusyError as error:
                word, problem = UNDER_WAY, error.message
            except StoreError as error:
                template = "{sentence}, when the store can be written: {message}"
                problem = Message(template, sentence=sentence, message=error.message)
        elif word == INTERRUPTED:
            template = "it is user {writer}'s: that user's `sitepatch status` does it, or an `apply` or `restore` of yours"
            problem = Message(
                "{sentence}; {how}", sentence=sentence, how=Message(template, writer=_writer(site))
            )
        left.append((word, site, problem))
    return recovered, left


def _writer(site: str) -> int:
    """The id of the user whose run was interrupted, -1 if there is no journal any more."""
    try:
        return os.lstat(f"{site}/{HOME}/{JOURNAL}").st_uid
    except FileNotFoundError:
        return -1


def damaged(items: Iterable[FileStatus]) -> list[tuple[str, str]]:
    """What restore and later changes need and is missing from the stores, or damaged: (problem, what to do) for each."""
    return [(error.message, error.hint) for error in lost_copies(items).values()]


def lost_copies(items: Iterable[FileStatus]) -> dict[tuple[str, str], StoreError]:
    """The copies that are missing or damaged, by site directory and sha256: of pristine files, and of patchsets."""
    problems: dict[tuple[str, str], StoreError] = {}
    tries: dict[
        tuple[str, Callable[[Store, str], object], str], None
    ] = {}  # files share patchsets: each is read once
    for item in items:
        if item.live:  # else there is nothing to restore
            tries[item.site, Store.pristine, item.receipt.pristine.sha256] = None
        for file, step in item.patchsets:
            if file.live:
                tries[item.site, Store.patchset_files, step.digest] = None
    for site, get, digest in tries:
        try:
            get(Store(site), digest)
        except StoreError as error:
            problems[site, digest] = error
    return problems


def unclaimed(
    env: Environment, items: Collection[FileStatus], bad: Iterable[StoreError]
) -> list[tuple[str, str]]:
    """Receipts that are invalid, and files that are changed without one while the store has their pristine copy.

    Args:
        env: the environment.
        items: the files that have a receipt (of `statuses`).
        bad: the errors of receipts.

    Returns:
        (problem, what to do) for each.
    """
    problems = [(error.message, error.hint) for error in bad]
    for copy, site, path in orphans(env, items):
        from shlex import quote

        file = f"{site}/{path}"
        hint = Message(
            "put it back, then remove that copy: cp -p {copy} {file}",
            copy=quote(copy),
            file=quote(file),
        )
        problems.append(
            (
                Message(
                    "{copy}: is the pristine copy of {path}, which is changed and has no receipt",
                    copy=copy,
                    path=path,
                ),
                hint,
            )
        )
    return problems


def orphans(env: Environment, items: Collection[FileStatus]) -> Iterator[tuple[str, str, str]]:
    """(pristine copy, site directory, path in it) of each file that is changed and has no receipt; `items` are those with."""
    for store in stores(env):
        for digest in store.unclaimed(
            {item.receipt.pristine.sha256 for item in items if item.site == store.site}
        ):
            from patcher.installed.record import files_recorded

            for path in files_recorded(store.site, digest):
                data = read_installed(store.site, path)
                if data is not None and sha256(data) != digest:
                    yield f"{store.site}/{HOME}/pristine/{digest}", store.site, path


def leftovers(site: str, receipts: Collection[Receipt]) -> Iterator[str]:
    """The paths in the store of a site directory that belong to none of its receipts; none where the next run needs them."""
    from pathlib import Path  # `status` does without

    home = Path(site, HOME)
    if (home / JOURNAL).exists():
        return
    kept = claimed_names(receipts)
    for name, used in {".": {"lock", SPARE, EDITED, *kept}, **kept}.items():
        paths = sorted((home / name).iterdir()) if (home / name).is_dir() else []
        yield from (str(path) for path in paths if path.name not in used)
