"""The store of one site directory: what was changed there, and how to restore it. Reads only.

`.sitepatch/` in the site directory holds the lock, the journal of a commit under way, a receipt for
each changed file, pristine copies and the texts of the patchsets that are applied. When the last
change is restored it is removed, unless it has copies of files that somebody had edited. Only
`patcher.store.transaction` writes there, with prepare.py, journal.py and folder.py.
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
from patcher.store.journal import Journal, describe, read_journal
from patcher.store.permission import obstacles, store_error
from patcher.store.receipt import file_name
from patcher.system.decode import Table, Values, is_sha256, string
from patcher.system.reading import patchset_digest

_REINSTALL = Message(
    "install the package it belongs to again, the same build from where it came, "
    "then run this again"
)
NO_BYTES = sha256(b"")
_PATCHSET = Table({"files": Values(string)})


@contextmanager
def explained(site: str, after: str = "") -> Iterator[None]:
    """Turn an OSError into the StoreError that explains it; `after` says how the run ended."""
    try:
        yield
    except OSError as error:
        raise store_error(site, error, after=after) from error


class Store:
    """What sitepatch has done to one site directory.

    Every method raises StoreError for what it cannot read.

    Args:
        site: path of the site directory; it may be reached through links, nothing below it is.
    """

    def __init__(self, site: str) -> None:
        self.site = site

    def receipts(self, bad: list[StoreError] | None = None) -> dict[str, Receipt]:
        """Return every receipt by the path of its target file; {} if sitepatch has changed nothing.

        Args:
            bad: takes an error for each receipt that is invalid, so that the others are returned
                all the same.

        Raises:
            StoreError: a receipt is damaged, forged or from a newer sitepatch (FormatError), and
                there is no `bad`.
        """
        receipts: dict[str, Receipt] = {}
        with explained(self.site), suppress(FileNotFoundError), self._home("receipts") as folder:
            for name in folder.names():
                if not name.endswith(".json"):
                    continue
                try:
                    of_file = receipt.decode(folder.own(name), f"{folder.path}/{name}")
                    receipts[of_file.path] = of_file
                except FileNotFoundError:
                    pass  # a commit may be dropping it right now
                except StoreError as error:
                    if bad is None:
                        raise
                    bad.append(error)
        return receipts

    def pristine(self, digest: str) -> bytes:
        """Return the pristine copy with this sha256 (hex); StoreError if it is lost or damaged."""
        if digest == NO_BYTES:  # also what stood there before a file was added
            return b""
        data = self._stored("pristine", digest, suffix="", hint=_REINSTALL)
        if sha256(data) != digest:
            where = Location(f"{self.site}/{HOME}/pristine/{digest}")
            problem = Message("the pristine copy is damaged, its sha256 differs")
            raise StoreError.at(where, problem, _REINSTALL)
        return data

    def unclaimed(self, claimed: Iterable[str] = ()) -> list[str]:
        """Return the pristine copies (sha256) that no receipt names.

        None while a journal or a bad receipt may explain them.

        Args:
            claimed: those of receipts that were read before; if it has them all, receipts are not
                read again.
        """
        bad: list[StoreError] = []
        with explained(self.site), suppress(FileNotFoundError), self._home() as home:
            with home.sub("pristine") as folder:
                names = set(filter(is_sha256, folder.names())).difference(claimed)
            if names:
                names -= claimed_names(self.receipts(bad).values())["pristine"]
            if not bad and not home.has(JOURNAL):
                return sorted(names)
        return []

    def patchset_files(self, digest: str) -> dict[str, str]:
        """Return the texts, by file name, of the applied patchset with this digest (hex)."""
        hint = Message("restore all patchsets, which needs no copy of them, and apply them again")
        data = self._stored("patchsets", digest, suffix=".json", hint=hint)
        where = f"{self.site}/{HOME}/patchsets/{digest}.json"
        fields = receipt.decode_fields(data, where, hint=hint, kind=_PATCHSET)
        texts: dict[str, str] = fields["files"]
        if patchset_digest(texts) != digest:
            problem = Message("the stored patchset is damaged, its sha256 differs")
            raise StoreError.at(Location(where), problem, hint)
        return texts

    def edited_copies(self, since: float = 0) -> list[str]:
        """Return the paths of the copies of edited texts made since a time (Unix, seconds)."""
        paths: list[str] = []
        with explained(self.site), suppress(FileNotFoundError), self._home(EDITED) as folder:
            for name in folder.names():
                if name.endswith(".tmp"):
                    continue
                info = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
                if info.st_ctime >= since:
                    paths.append(f"{folder.path}/{name}")
        return paths

    def _journal(self) -> Journal | None:
        with explained(self.site), suppress(FileNotFoundError), self._home() as home:
            return read_journal(home)
        return None

    def interrupted(self) -> str:
        """Return one sentence about the journal of an interrupted run, empty if there is none.

        It is the same for a run that another process is in the middle of; `recover` waits for it
        and finds nothing to do. Changes nothing.
        """
        journal = self._journal()
        return describe(journal, recovered=False) if journal else ""

    def in_journal(self) -> list[str]:
        """Return the paths of the files of a run that has not ended, or was interrupted."""
        journal = self._journal()
        return [entry.path for entry in journal.entries] if journal else []

    def tidy(self) -> bool:
        """Whether nothing is to be finished, undone or removed here."""
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
        """Return everything that would keep these files from being changed, one text a problem.

        Those in `moved` are to be replaced by their pristine copies. Changes nothing.
        """
        with explained(self.site), Folder.open(self.site) as site:
            return obstacles(site, paths, moved=moved)

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
        for step in claimant.steps:
            names["patchsets"].add(f"{step.digest}.json")
        for lost in claimant.lost:
            names["patchsets"].add(f"{lost.step.digest}.json")
    return names
