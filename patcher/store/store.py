"""The store of one site directory: what was changed there, and how to restore it. Reads only.

`.sitepatch/` in the site directory holds the lock, the journal of a commit under way, a receipt for each changed file,
pristine copies and the texts of the patchsets that are applied. When the last change is restored it is removed,
unless it has copies of files that somebody had edited.
Only `patcher.store.transaction` writes there, with prepare.py, journal.py and folder.py.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import Container, Iterable, Iterator, Sequence

from patcher.errors import Location, StoreError
from patcher.facts import sha256
from patcher.message import Message
from patcher.model import Receipt
from patcher.store import receipt
from patcher.store.folder import EDITED, HOME, JOURNAL, Folder
from patcher.store.receipt import file_name
from patcher.system.decode import Table, Values, is_sha256, string
from patcher.system.reading import patchset_digest

_REINSTALL = Message(
    "install the package it belongs to again, the same build from where it came, then run this again"
)
NO_BYTES = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # the sha256 of b"", without importing hashlib
_PATCHSET = Table({"files": Values(string)})


@contextmanager
def explained(site: str, after: str = "") -> Iterator[None]:
    """Turn an OSError into the StoreError that explains it; `after` says how the run ended."""
    try:
        yield
    except OSError as error:
        from patcher.store.permission import store_error

        raise store_error(site, error, after) from error


class Store:
    """What sitepatch has done to one site directory.

    Every method raises StoreError for what it cannot read.

    Args:
        site: path of the site directory; it may be reached through links, nothing below it is.
    """

    def __init__(self, site: str) -> None:
        self.site = site

    def receipts(self, bad: list[StoreError] | None = None) -> dict[str, Receipt]:
        """Return every receipt by the path of its target file; {} where sitepatch has changed nothing.

        Args:
            bad: takes an error for each receipt that is invalid, so that the others are returned all the same.

        Raises:
            StoreError: a receipt is damaged, forged or from a newer sitepatch (FormatError), and there is no `bad`.
        """
        receipts: dict[str, Receipt] = {}
        with explained(self.site), suppress(FileNotFoundError), self._home("receipts") as folder:
            for name in folder.names():
                if name.endswith(".json"):
                    try:
                        read = receipt.decode(folder.own(name), f"{folder.path}/{name}")
                        receipts[read.path] = read
                    except FileNotFoundError:
                        pass  # a commit may be dropping it right now
                    except StoreError as error:
                        if bad is None:
                            raise
                        bad.append(error)
        return receipts

    def pristine(self, digest: str) -> bytes:
        """Return the pristine copy with this sha256 (hex); StoreError if it is missing or not those bytes."""
        if digest == NO_BYTES:  # also what stood there before a file was added
            return b""
        data = self._stored("pristine", digest, "", _REINSTALL)
        if sha256(data) != digest:
            where = f"{self.site}/{HOME}/pristine/{digest}"
            raise StoreError.at(
                Location(where), "the pristine copy is damaged, its sha256 differs", _REINSTALL
            )
        return data

    def unclaimed(self, claimed: Iterable[str] = ()) -> list[str]:
        """Return the pristine copies (sha256) that no receipt names; [] while a journal or a bad receipt may explain them.

        Args:
            claimed: those of receipts that were read before; where it has them all, receipts are not read again.
        """
        bad: list[StoreError] = []
        with explained(self.site), suppress(FileNotFoundError), self._home() as home:
            with home.sub("pristine") as folder:
                names = set(filter(is_sha256, folder.names())).difference(claimed)
            if names:
                names -= claimed_names(self.receipts(bad).values())["pristine"]
            return [] if bad or home.has(JOURNAL) else sorted(names)
        return []

    def patchset_files(self, digest: str) -> dict[str, str]:
        """Return the texts, by file name, of the patchset with this digest (hex) that is applied."""
        hint = Message("restore all patchsets, which needs no copy of them, and apply them again")
        data = self._stored("patchsets", digest, ".json", hint)
        where = f"{self.site}/{HOME}/patchsets/{digest}.json"
        texts: dict[str, str] = receipt.decode_fields(data, where, hint, _PATCHSET)["files"]
        if patchset_digest(texts) != digest:
            raise StoreError.at(
                Location(where), "the stored patchset is damaged, its sha256 differs", hint
            )
        return texts

    def edited_copies(self, since: float = 0) -> list[str]:
        """Return the paths of the copies of edited texts that were made at the time `since` (Unix, seconds) or later."""
        with explained(self.site), suppress(FileNotFoundError), self._home(EDITED) as folder:
            names = [name for name in folder.names() if not name.endswith(".tmp")]
            new = [
                name
                for name in names
                if os.stat(name, dir_fd=folder.fd, follow_symlinks=False).st_ctime >= since
            ]
            return [f"{folder.path}/{name}" for name in new]
        return []

    def interrupted(self) -> str:
        """Return one sentence about the journal of an interrupted run, "" if there is none. Changes nothing.

        It is the same for a run that another process is in the middle of; `recover` waits for it and finds nothing to do.
        """
        with explained(self.site), suppress(FileNotFoundError), self._home() as home:
            if home.has(JOURNAL):
                # `status` does without where all is in order
                from patcher.store.journal import (
                    describe,
                    read_journal,
                )

                journal = read_journal(home)
                return describe(journal, recovered=False) if journal else ""
        return ""

    def in_journal(self) -> list[str]:
        """Return the paths of the files that a run is in the middle of, or was when it was interrupted."""
        with explained(self.site), suppress(FileNotFoundError), self._home() as home:
            if home.has(JOURNAL):
                from patcher.store.journal import read_journal  # as above

                journal = read_journal(home)
                return [entry.path for entry in journal.entries] if journal else []
        return []

    def tidy(self) -> bool:
        """Whether nothing is to be finished, undone or removed here; True where nothing was ever changed."""
        with explained(self.site), suppress(FileNotFoundError), self._home() as home:
            names = home.names()
            if any(name.startswith(JOURNAL) for name in names):
                return False
            if EDITED in names:
                with home.sub(EDITED) as edited:
                    if not edited.names():  # somebody has removed the last copy
                        return False
            return bool({"receipts", "pristine", EDITED} & set(names))
        return True

    def check_writable(self, paths: Sequence[str], moved: Container[str] = ()) -> list[str]:
        """Return everything that would keep these files from being changed, one text a problem. Changes nothing.

        Those in `moved` are to be replaced by their pristine copies.
        """
        with explained(self.site), Folder.open(self.site) as site:
            from patcher.store.permission import obstacles  # only where something is to be written

            return obstacles(site, paths, moved)

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
        with explained(self.site):
            try:
                with self._home(folder_name) as folder:
                    return folder.own(digest + suffix, proven=True)  # by its hash
            except FileNotFoundError as error:
                raise StoreError.at(Location(where), "is missing", hint) from error


def claimed_names(receipts: Iterable[Receipt]) -> dict[str, set[str]]:
    """The names in the folders of `.sitepatch` that these receipts claim, by folder."""
    names: dict[str, set[str]] = {"receipts": set(), "pristine": set(), "patchsets": set()}
    for claimant in receipts:
        names["receipts"].add(file_name(claimant.path))
        names["pristine"].add(claimant.pristine.sha256)
        steps = [*claimant.steps, *(lost.step for lost in claimant.lost)]
        names["patchsets"].update(f"{step.digest}.json" for step in steps)
    return names
