"""What is wrong with the stores of an environment: unfinished runs, lost copies, files that no receipt explains or needs."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Callable, Collection, Dict, Iterable, Iterator, List, Tuple

from patcher.errors import BusyError, StoreError
from patcher.facts import FileStatus, sha256
from patcher.store.folder import HOME
from patcher.store.journal import JOURNAL, SPARE
from patcher.store.lock import holders
from patcher.store.status import read_installed, stores
from patcher.store.store import Store
from patcher.store.tidy import EDITED, claimed_names
from patcher.store.transaction import recover
from patcher.system.ownership import trusted_users

if TYPE_CHECKING:
    from patcher.model import Receipt
    from patcher.target.interpreter import Environment


INTERRUPTED, UNDER_WAY = "interrupted", "under way"


def unfinished(env: Environment) -> List[Tuple[str, str, str]]:
    """(INTERRUPTED or UNDER_WAY, site directory, sentence) for each run that has not ended; changes nothing.

    Where the kernel does not tell who is at work it is an interrupted one, which waits to be undone or finished.
    """
    found: List[Tuple[str, str, str]] = []
    for store in stores(env):
        sentence = store.interrupted()
        at_work = _holders(store.site) if sentence else []
        if at_work:
            what = f"another process is in the middle of a change: {', '.join(at_work)}"
            found.append((UNDER_WAY, store.site, what))
        elif sentence and store.interrupted():  # it has not ended meanwhile
            found.append((INTERRUPTED, store.site, sentence))
    return found


def _holders(site: str) -> List[str]:
    with suppress(OSError):
        return holders(site)
    return []


def describe_unfinished(env: Environment) -> List[str]:
    """A sentence about each run that has not ended, for a command that leaves it as it is."""
    return [
        f"{site}: {sentence}" if word == UNDER_WAY else f"{site}: {sentence}, by the next command that writes"
        for word, site, sentence in unfinished(env)
    ]


def recover_all(env: Environment) -> Tuple[List[str], List[Tuple[str, str, str]]]:
    """Finish or undo interrupted runs of this user, without waiting for another process.

    Returns:
        A sentence for each that was finished or undone, and (word, site directory, why) for each that could not be, as
        `unfinished` returns them.

    Raises:
        StoreError: a journal is invalid.
    """
    recovered: List[str] = []
    left: List[Tuple[str, str, str]] = []
    mine = trusted_users() - ({0} if os.geteuid() else set())
    for word, site, sentence in unfinished(env):
        if word == UNDER_WAY:
            left.append((word, site, sentence))
            continue
        writer = _writer(site)
        if writer not in {-1, *mine}:
            how = f"it is user {writer}'s: that user's `sitepatch status` does it, or an `apply` or `restore` of yours"
            left.append((INTERRUPTED, site, f"{sentence}; {how}"))
            continue
        try:
            done = recover(site, timeout=0)
        except BusyError as error:
            left.append((UNDER_WAY, site, error.message))
        except StoreError as error:
            left.append((INTERRUPTED, site, f"{sentence}, when the store can be written: {error.message}"))
        else:
            recovered += [f"{site}: {done}"] if done else []
    return recovered, left


def _writer(site: str) -> int:
    """The id of the user whose run was interrupted, -1 if there is no journal any more."""
    try:
        return os.lstat(f"{site}/{HOME}/{JOURNAL}").st_uid
    except FileNotFoundError:
        return -1


def damaged(items: Iterable[FileStatus]) -> List[Tuple[str, str]]:
    """What restore and later changes need and is missing from the stores, or damaged: (problem, what to do) for each."""
    found: List[Tuple[str, str]] = []
    tries: Dict[Tuple[str, Callable[[Store, str], object], str], None] = {}  # files share patchsets: each is read once
    for item in items:
        if item.live:  # else there is nothing to restore
            tries[item.site, Store.pristine, item.receipt.pristine] = None
            tries.update(((item.site, Store.patchset_files, step.digest), None) for step in item.receipt.steps)
    for site, get, digest in tries:
        try:
            get(Store(site), digest)
        except StoreError as error:
            found.append((error.message, error.hint))
    return found


def unclaimed(env: Environment, items: Collection[FileStatus], bad: Iterable[StoreError]) -> List[Tuple[str, str]]:
    """Receipts that are invalid, and files that are changed without one while the store has their pristine copy.

    Args:
        env: the environment.
        items: the files that have a receipt (of `statuses`).
        bad: the errors of receipts.

    Returns:
        (problem, what to do) for each.
    """
    found = [(error.message, error.hint) for error in bad]
    for copy, site, path in orphans(env, items):
        from shlex import quote

        file = f"{site}/{path}"
        hint = f"put it back, then remove that copy: cp -p {quote(copy)} {quote(file)}"
        found.append((f"{copy}: is the pristine copy of {path}, which is changed and has no receipt", hint))
    return found


def orphans(env: Environment, items: Collection[FileStatus]) -> Iterator[Tuple[str, str, str]]:
    """(pristine copy, site directory, path in it) of each file that is changed and has no receipt; `items` are those with."""
    for store in stores(env):
        for digest in store.unclaimed({item.receipt.pristine for item in items if item.site == store.site}):
            from patcher.target.record import files_recorded

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
        here = sorted((home / name).iterdir()) if (home / name).is_dir() else []
        yield from (str(path) for path in here if path.name not in used)
