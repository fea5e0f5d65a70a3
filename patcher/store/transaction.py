"""What one run writes: it locks its site directories, recovers what was interrupted, commits.

All directories are prepared, then the files of all are renamed; what fails before the last rename
is undone in all of them. Each has a journal of its own: a process that is killed between two of
these journals leaves some directories to be finished and the others to be undone.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, contextmanager, suppress
from typing import Callable, Iterable, Iterator, Mapping, Sequence

from patcher.errors import StoreError
from patcher.facts import sha256
from patcher.message import Message, joined
from patcher.model import Change, Receipt
from patcher.store import journal, permission, prepare
from patcher.store.folder import EDITED, JOURNAL, SPARE, Folder
from patcher.store.lock import locked
from patcher.store.store import Store, claimed_names, explained
from patcher.system.signals import ignored
from patcher.text.listed import listed

UNTOUCHED = Message("nothing was changed")
FINISHED = Message("the run was finished all the same, every file is as it meant it to be")
# the names that sitepatch gives: what has another one was not written by it, and stays
_HALF = r"[0-9a-f]{64}(\.json\.new(\.tmp)?|(\.json)?\.tmp)"
_PATCHSET = r"[0-9a-f]{64}\.json(\.tmp)?"
_HALF_COPY = r"(?s).*\.[0-9a-f]{16}\.tmp"
_OPEN = Message("the next command that writes says whether the run is finished or undone")


@contextmanager
def transaction(sites: Iterable[str]) -> Iterator[Transaction]:
    """Lock site directories, ordered by their real paths; recover what was interrupted there.

    A failure inside is recovered from at once, while the locks are held.

    Raises:
        BusyError: another process that is changing one of them did not end in time (see
            `patcher.store.patience`).
        StoreError: a directory cannot be read or written; the hint says how the run ended.
        KeyboardInterrupt: Ctrl-C; its text says how the run ended.
    """
    paths = {os.path.realpath(site): site for site in sites}
    run = Transaction()
    try:
        with ExitStack() as stack:
            for real, path in sorted(paths.items()):
                with explained(path, UNTOUCHED):
                    site = stack.enter_context(Folder.open(path))
                    home = stack.enter_context(locked(site))
                    run.places[real] = _Place(path, site, home=home)
            try:
                run.recover()
                yield run
            except BaseException:
                run.rescue()
                raise
    except KeyboardInterrupt as error:
        sites = listed(list(paths.values()))
        raise KeyboardInterrupt(
            Message("{sites}: {ending}", sites=sites, ending=run.ending)
        ) from error


class Transaction:
    """The locked site directories of a run.

    `recovered` has a sentence for each in which an interrupted run was recovered.
    """

    def __init__(self) -> None:
        self.places: dict[str, _Place] = {}
        self.recovered: dict[str, str] = {}
        self._at = ""  # the directory at work on, for errors of the system

    @property
    def ending(self) -> str:
        """How the run has ended if it ends now, in one sentence."""
        places = list(self.places.values())
        endings = [place.ending for place in places] or [UNTOUCHED]
        if len(set(endings)) == 1:
            return endings[0]
        sentences: list[str] = []
        for place in places:
            sentences.append(Message("{path}: {ending}", path=place.path, ending=place.ending))
        return joined("; ", sentences)

    def holds(self, sites: Iterable[str]) -> bool:
        """Whether all of these site directories are locked."""
        return all(os.path.realpath(site) in self.places for site in sites)

    def recover(self) -> None:
        """Finish or undo what was interrupted."""
        with self._explained():
            for place in self._in_turn(self.places.values()):
                sentence = place.recover()
                if sentence:
                    self.recovered[place.path] = sentence
                    template = "{sentence}; then {ending}"
                    place.ending = Message(template, sentence=sentence, ending=UNTOUCHED)

    def rescue(self) -> None:
        """After a failure: recover at once; if even that fails, `ending` says what waits."""
        for place in self.places.values():
            place.rescue()

    def commit(
        self, changes: Mapping[str, Sequence[Change]], patchsets: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Carry out all changes or none, even if the process or the machine dies in between.

        Args:
            changes: by site directory, each of which is locked; at most one for each file. `old` is
                empty for a file that is not there, which is added, restored or forgotten. New bytes
                without a receipt (edits by hand that outlive a restore, a backup) drop the receipt.
            patchsets: digest (hex) to name and text of each file, for the patchsets the new
                receipts name; those that are stored already may be left out.

        Raises:
            OutdatedError: a file is not what `old` says; nothing was changed.
            StoreError: something failed; nothing was changed. When it failed after the last rename,
                the hint says that the run was finished, or the journal waits for `recover`.
        """
        places = [self.places[os.path.realpath(site)] for site in changes]
        with self._explained():
            for place, of_site in zip(self._in_turn(places), changes.values()):
                place.plan(of_site, patchsets)
            places = [place for place in places if place.works]
            for place in self._in_turn(places):
                place.prepare(patchsets)
            self._put_in_place(places)
            for place in self._in_turn(places):
                place.settle()
        problems: list[str] = []
        for place in places:
            problems += place.problems()
        if problems:
            hint = Message("see what `sitepatch status` says, then run the command again")
            raise StoreError(joined("\n", problems), hint)

    def _put_in_place(self, places: Sequence[_Place]) -> None:
        """Pass the commit point and rename every file; what fails before the last one is undone."""
        try:
            for place in self._in_turn(places):
                # the commit point: from now on, recovery finishes
                place.write_journal(journal.COMMITTING)
            for place in self._in_turn(places):
                place.put_in_place()
        except BaseException:
            with ignored():
                for place in places:
                    place.roll_back()
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn an error of the system into the StoreError that also says how the run ended."""
        try:
            yield
        except OSError as error:
            self.rescue()
            raise permission.store_error(self._at, error, after=self.ending) from error

    def _in_turn(self, places: Iterable[_Place]) -> Iterator[_Place]:
        """Yield places; an error of the system is one of the place that was yielded last."""
        for place in places:
            self._at = place.path
            yield place


class _Place:
    """One locked site directory: how the run has ended there, and what a commit does there."""

    def __init__(self, path: str, site: Folder, home: Folder) -> None:
        self.path = path
        self.ending: str = UNTOUCHED
        self.works: list[prepare.Work] = []
        self._site = site
        self._home = home
        self._entries: Sequence[journal.JournalEntry] = ()
        self._named: Sequence[str] = ()
        self._left = journal.Left()

    def problems(self) -> list[str]:
        """What went wrong: the files that somebody else has changed, and others that were left."""
        problems: list[str] = []
        if self._left.changed:
            template = "{names} in {path}: changed by somebody else while sitepatch was at work"
            names = ", ".join(self._left.changed)
            problems.append(Message(template, names=names, path=self.path))
        return problems + journal.explained_left(self._left)

    def recover(self) -> str:
        """Undo or finish what the journal says; returns the sentence about it, if there is one."""
        interrupted = journal.read_journal(self._home)
        if interrupted is None:
            self._home.remove(f"{JOURNAL}.tmp")
            self._home.remove_folder(EDITED)
            return ""
        self._entries = interrupted.entries
        self._named = interrupted.named
        self.ending = journal.recover_run(self._site, self._home, interrupted)
        self._clean_up()
        return self.ending

    def rescue(self) -> None:
        """Recover after a failure; if even that fails, say what waits."""
        before, self.ending = self.ending, _OPEN
        try:
            self.ending = self.recover() or before
        except OSError:  # the disk has become read-only, say
            self.ending = before
            waiting = Store(self.path).interrupted()
            if waiting:
                template = "{waiting}, by the next command that can write here"
                self.ending = Message(template, waiting=waiting)

    def plan(self, changes: Sequence[Change], patchsets: Mapping[str, Mapping[str, str]]) -> None:
        """Check the changes; nothing is written."""
        receipts = Store(self.path).receipts([])
        self.works = prepare.plan_work(
            self._site, self._home, receipts=receipts, changes=changes, patchsets=patchsets
        )
        prepare.check_possible(self._site, self.works)
        self._entries = [work.entry for work in self.works]
        named: set[str] = set()
        for work in self.works:
            if work.entry.path in receipts:
                named.add(receipts[work.entry.path].pristine.sha256)
            if work.content.copy is not None:
                named.add(sha256(work.content.copy))
        self._named = sorted(named)

    def prepare(self, patchsets: Mapping[str, Mapping[str, str]]) -> None:
        """Write all that is renamed after the commit point."""
        prepare.use_spare(self._home, self.works)
        self.write_journal(journal.PREPARING)
        prepare.prepare(self._site, self._home, works=self.works, patchsets=patchsets)

    def write_journal(self, phase: str) -> None:
        """Write the journal of the commit."""
        journal.write_journal(self._home, phase, entries=self._entries, named=self._named)

    def put_in_place(self) -> None:
        """Rename every file over its target."""
        self._left = journal.put_in_place(self._site, self._home, entries=self._entries)

    def settle(self) -> None:
        """Put the receipts in place, and end the commit."""
        self._left = journal.settle(self._site, self._home, entries=self._entries, left=self._left)
        self.ending = journal.but_for(FINISHED, self._left)
        self._clean_up()

    def roll_back(self) -> None:
        """Put the old files back; what cannot be put back, `rescue` finishes."""
        with suppress(OSError, StoreError):
            if journal.roll_back(self._site, self._home, self._entries):
                self._clean_up()

    def _clean_up(self) -> None:
        """Remove what is of no use any more, then the journal."""
        receipts = Store(self.path).receipts
        clean_up(self._home, self._entries, named=self._named, receipts=receipts)


def clean_up(
    home: Folder,
    entries: Sequence[journal.JournalEntry],
    named: Sequence[str],
    receipts: Callable[[list[StoreError]], Mapping[str, Receipt]],
) -> None:
    """Drop what the receipts named before a commit and name no more, then the journal.

    A pristine copy that nothing of this commit explains stays: somebody may have removed the
    receipt that named it.

    Args:
        home: `.sitepatch`, locked.
        entries: of the journal.
        named: the pristine copies that the receipts of these files named before.
        receipts: reads those of now (see `Store.receipts`).
    """
    bad: list[StoreError] = []
    current = receipts(bad)
    kept = claimed_names(current.values())
    unnamed = set(named)
    for entry in entries:
        unnamed |= {entry.old, entry.new}
    unnamed -= kept["pristine"]

    def is_unused_copy(name: str) -> bool:
        return bool(re.fullmatch(_HALF, name)) or (name in unnamed and not bad)

    def is_unused_text(name: str) -> bool:
        return bool(re.fullmatch(_PATCHSET, name)) and name not in kept["patchsets"] and not bad

    _remove_names(home, "receipts", re.compile(_HALF).fullmatch)
    _remove_names(home, "pristine", is_unused_copy)
    _remove_names(home, "patchsets", is_unused_text)
    _remove_names(home, EDITED, re.compile(_HALF_COPY).fullmatch)
    loose = [name for name in (f"{SPARE}.tmp", f"{JOURNAL}.tmp") if home.has(name)]
    if not current and not bad:
        loose.append(SPARE)
    for name in loose:
        home.remove(name)
    if loose:
        home.sync()
    # the journal is removed last: without it nobody would look for what a power cut brings back
    home.remove(JOURNAL)
    home.sync()


def _remove_names(home: Folder, name: str, is_unwanted: Callable[[str], object]) -> None:
    """Remove what is unwanted from the folder `name` of a store, and the folder if it is empty."""
    with suppress(FileNotFoundError), home.sub(name) as folder:
        unwanted = list(filter(is_unwanted, folder.names()))
        for file_name in unwanted:
            folder.remove(file_name)
        if unwanted:
            folder.sync()
    home.remove_folder(name)
