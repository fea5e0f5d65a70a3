"""The store of one site directory: changes installed files, all of a commit or none, and can restore them.

`.sitepatch/` in the site directory holds the lock, the journal of a commit under way, a receipt for each changed file,
pristine copies and the texts of the patchsets that are applied. When the last change is restored it is removed,
unless it has copies of files that somebody had edited.
No other module writes into a site directory; this one does it with prepare.py, journal.py and folder.py.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from typing import Container, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from patcher.errors import Location, OutdatedError, StoreError
from patcher.facts import sha256
from patcher.model import Change, Receipt
from patcher.store import journal, permission, prepare, receipt
from patcher.store.folder import HOME, Folder
from patcher.store.lock import locked
from patcher.store.meta import Meta
from patcher.store.tidy import EDITED, claimed_names, clean_up, is_tidy, tidy_edited
from patcher.system.decode import Table, Values, is_sha256, string
from patcher.system.reading import patchset_digest

_REINSTALL = "install the package it belongs to again, the same build from where it came, then run this again"
_UNTOUCHED = "nothing was changed"
FINISHED = "the run was finished all the same, every file is as it meant it to be"
_PATCHSET = Table({"files": Values(string)})
_OPEN = "the next command that writes says whether the run is finished or undone"


class Store:
    """What sitepatch has done to one site directory, and the one way to do more.

    Every method raises StoreError for what it cannot read or write. Ctrl-C in one that writes raises KeyboardInterrupt
    with a text that says how the run ended.

    Args:
        site: path of the site directory; it may be reached through links, nothing below it is.
    """

    def __init__(self, site: str) -> None:
        self.site = site

    def receipts(self, bad: Optional[List[StoreError]] = None) -> Dict[str, Receipt]:
        """Return every receipt by the path of its target file; {} where sitepatch has changed nothing.

        Args:
            bad: takes an error for each receipt that is invalid, so that the others are returned all the same.

        Raises:
            StoreError: a receipt is damaged, forged or from a newer sitepatch (FormatError), and there is no `bad`.
        """
        found: Dict[str, Receipt] = {}
        with permission.explained(self.site), suppress(FileNotFoundError), self._home("receipts") as folder:
            for name in folder.names():
                if name.endswith(".json"):
                    try:
                        one = receipt.decode(folder.own(name), f"{folder.path}/{name}")
                        found[one.path] = one
                    except FileNotFoundError:
                        pass  # a commit may be dropping it right now
                    except StoreError as error:
                        if bad is None:
                            raise
                        bad.append(error)
        return found

    def pristine(self, digest: str) -> bytes:
        """Return the pristine copy with this sha256 (hex); StoreError if it is missing or not those bytes."""
        data = self._stored("pristine", digest, "", _REINSTALL)
        if sha256(data) != digest:
            where = f"{self.site}/{HOME}/pristine/{digest}"
            raise StoreError.at(Location(where), "the pristine copy is damaged, its sha256 differs", _REINSTALL)
        return data

    def unclaimed(self, claimed: Iterable[str] = ()) -> List[str]:
        """Return the pristine copies (sha256) that no receipt names; [] while a journal or a bad receipt may explain them.

        Args:
            claimed: those of receipts that were read before; where it has them all, receipts are not read again.
        """
        bad: List[StoreError] = []
        with permission.explained(self.site), suppress(FileNotFoundError), self._home() as home:
            with home.sub("pristine") as folder:
                names = set(filter(is_sha256, folder.names())).difference(claimed)
            if names:
                names -= claimed_names(self.receipts(bad).values())["pristine"]
            return [] if bad or home.has(journal.JOURNAL) else sorted(names)
        return []

    def patchset_files(self, digest: str) -> Dict[str, str]:
        """Return the texts, by file name, of the patchset with this digest (hex) that is applied."""
        hint = "restore all patchsets, which needs no copy of them, and apply them again"
        data = self._stored("patchsets", digest, ".json", hint)
        where = f"{self.site}/{HOME}/patchsets/{digest}.json"
        texts: Dict[str, str] = receipt.decode_fields(data, where, hint, _PATCHSET)["files"]
        if patchset_digest(texts) != digest:
            raise StoreError.at(Location(where), "the stored patchset is damaged, its sha256 differs", hint)
        return texts

    def save_edited(self, path: str, data: bytes) -> str:
        """Save a copy of an edited text of the target file `path` in `.sitepatch/edited` and return its path.

        It stays when everything else of the store is removed, until somebody removes it.
        """
        base = path.rpartition("/")[2]
        name = f"{base}.{sha256(data)[:16]}"  # with such an ending nothing takes it for a module
        with self._under_lock() as (site, home, _):
            meta = Meta(mode=0o600)
            with suppress(FileNotFoundError), site.holder(path) as folder:
                meta = folder.look(base)[1]
            with home.make(EDITED) as edited:
                if edited.digest(name) != sha256(data):
                    edited.put(name, data, meta)
                edited.sync()
        return f"{self.site}/{HOME}/{EDITED}/{name}"

    def edited_copies(self, since: float = 0) -> List[str]:
        """Return the paths of the copies of edited texts that were made at the time `since` (Unix, seconds) or later."""
        with permission.explained(self.site), suppress(FileNotFoundError), self._home(EDITED) as folder:
            names = [name for name in folder.names() if not name.endswith(".tmp")]
            new = [name for name in names if os.stat(name, dir_fd=folder.fd, follow_symlinks=False).st_ctime >= since]
            return [f"{folder.path}/{name}" for name in new]
        return []

    def interrupted(self) -> str:
        """Return one sentence about the journal of an interrupted run, "" if there is none. Changes nothing.

        It is the same for a run that another process is in the middle of; `recover` waits for it and finds nothing to do.
        """
        found: Optional[journal.Journal] = None
        with permission.explained(self.site), suppress(FileNotFoundError), self._home() as home:
            found = journal.read_journal(home)
        return journal.describe(found, done=False) if found else ""

    def recover(self, *, lock_timeout: Optional[float] = None) -> str:
        """Finish or undo an interrupted run and return a sentence that says which, "" if there was none.

        Args:
            lock_timeout: seconds to wait for another process that is changing this site directory (see `locked`).
        """
        clean = True
        with permission.explained(self.site), suppress(FileNotFoundError), self._home() as home:
            clean = is_tidy(home)
        if clean:
            return ""
        with self._under_lock(lock_timeout) as (site, home, outcome):
            return self._recover(site, home, outcome)

    def commit(
        self, changes: Sequence[Change], patchsets: Mapping[str, Mapping[str, str]], *, lock_timeout: Optional[float] = None
    ) -> str:
        """Carry out all changes or none, even if the process or the machine dies in between.

        Args:
            changes: at most one for each file. `old` is "" for a file that is not there, which is restored or forgotten.
                New bytes without a receipt (edits by hand that outlive a restore, a backup) drop the receipt.
            patchsets: digest (hex) to name and text of each file, for the patchsets the new receipts name; those that
                are stored already may be left out.
            lock_timeout: seconds to wait for another process that is changing this site directory (see `locked`).

        Returns:
            What had to be recovered from an interrupted run first, one sentence, else "".

        Raises:
            StoreError: a file is not what `old` says, or something failed; nothing was changed then. When it failed
                after the commit point, the hint says that the run was finished, or the journal waits for `recover`.
        """
        with self._under_lock(lock_timeout) as (site, home, outcome):
            recovered = self._recover(site, home, outcome)
            if recovered:
                outcome.append(f"{recovered}; then {_UNTOUCHED}")
            try:
                receipts = self.receipts([])
                works = prepare.plan_work(site, home, receipts, changes, patchsets)
            except OutdatedError as error:
                error.recovered = recovered and f"{self.site}: {recovered}"
                raise
            if not works:
                return recovered
            prepare.check_possible(site, works)
            entries = [work.entry for work in works]
            prepare.use_spare(home, works)
            copies = {receipts[entry.path].pristine for entry in entries if entry.path in receipts}
            named = sorted(copies | {sha256(work.given) for work in works if work.given is not None})
            journal.write_journal(home, journal.PREPARING, entries, named)
            prepare.prepare(site, home, works, patchsets)
            journal.write_journal(home, journal.COMMITTING, entries, named)
            left_alone = journal.finish(site, home, entries)
            outcome.append(journal.but_for(FINISHED, left_alone))
            clean_up(home, entries, named, self.receipts)
        if left_alone:
            raise StoreError(
                f"{', '.join(left_alone)} in {self.site}: changed by somebody else while sitepatch was at work",
                "see what `sitepatch status` says, then run the command again",
            )
        return recovered

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process from writing here meanwhile; this one may commit inside, several times."""
        with ExitStack() as stack:
            try:
                with permission.explained(self.site, _UNTOUCHED):
                    stack.enter_context(locked(stack.enter_context(Folder.open(self.site)), shared=True))
            except KeyboardInterrupt as error:
                raise KeyboardInterrupt(f"{self.site}: {_UNTOUCHED}") from error
            yield

    def check_writable(self, paths: Sequence[str], moved: Container[str] = ()) -> List[str]:
        """Return everything that would keep these files from being changed, one text a problem. Changes nothing.

        Those in `moved` are to be replaced by their pristine copies.
        """
        with permission.explained(self.site), Folder.open(self.site) as site:
            return permission.obstacles(site, paths, moved)

    @contextmanager
    def _under_lock(self, timeout: Optional[float] = None) -> Iterator[Tuple[Folder, Folder, List[str]]]:
        """Yield the site directory, its `.sitepatch` under the lock, and a list of how the run ended: the last text counts.

        A failure inside is recovered from at once, while the lock is held.
        """
        outcome = [_UNTOUCHED]
        try:
            with permission.explained(self.site, _UNTOUCHED), Folder.open(self.site) as site, locked(site, timeout) as home:
                try:
                    yield site, home, outcome
                except OSError as error:
                    self._rescue(site, home, outcome)
                    raise permission.store_error(self.site, error, outcome[-1]) from error
                except BaseException:
                    self._rescue(site, home, outcome)
                    raise
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt(f"{self.site}: {outcome[-1]}") from error

    def _home(self, name: str = "") -> Folder:
        """Open `.sitepatch`, or the folder `name` in it."""
        with Folder.open(self.site) as site:
            home = site.sub(HOME)
        if not name:
            return home
        with home:
            return home.sub(name)

    def _stored(self, folder_name: str, digest: str, suffix: str, hint: str) -> bytes:
        """Return the bytes of `.sitepatch/FOLDER_NAME/DIGEST+SUFFIX`."""
        where = f"{self.site}/{HOME}/{folder_name}/{digest}{suffix}"
        if not is_sha256(digest):
            raise StoreError.at(Location(where), "expected a sha256 in hex")
        with permission.explained(self.site):
            try:
                with self._home(folder_name) as folder:
                    return folder.own(digest + suffix, proven=True)  # by its hash
            except FileNotFoundError as error:
                raise StoreError.at(Location(where), "is missing", hint) from error

    def _recover(self, site: Folder, home: Folder, outcome: List[str]) -> str:
        """Under the lock: undo or finish what the journal says; return the sentence about it, also added to `outcome`."""
        found = journal.read_journal(home)
        if found is None:
            home.remove(f"{journal.JOURNAL}.tmp")
            tidy_edited(home)
            return ""
        outcome.append(journal.recover_run(site, home, found))
        clean_up(home, found.entries, found.named, self.receipts)
        return outcome[-1]

    def _rescue(self, site: Folder, home: Folder, outcome: List[str]) -> None:
        """After a failure: recover at once; where even that fails, `outcome` says what waits."""
        known = outcome[-1]
        outcome.append(_OPEN)
        try:
            outcome.append(self._recover(site, home, outcome) or known)
        except OSError:  # the disk has become read-only, say
            waiting = self.interrupted()
            outcome.append(f"{waiting}, by the next command that can write here" if waiting else known)
