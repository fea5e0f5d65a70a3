"""What one run writes: its site directories are locked together, what was interrupted there is recovered, a plan is committed.

All directories are prepared, then the files of all are renamed; what fails before the last rename is undone in all of them.
Each has a journal of its own: a process that is killed between two of these journals leaves some directories to be finished
and the others to be undone.
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
# the names that are given here: what has another one was not written by sitepatch, and stays
_HALF = re.compile(r"[0-9a-f]{64}(\.json\.new(\.tmp)?|(\.json)?\.tmp)")
_PATCHSET = re.compile(r"[0-9a-f]{64}\.json(\.tmp)?")
_HALF_COPY = re.compile(r".*\.[0-9a-f]{16}\.tmp", re.DOTALL)
_OPEN = Message("the next command that writes says whether the run is finished or undone")


@contextmanager
def transaction(sites: Iterable[str]) -> Iterator[Transaction]:
    """Lock site directories, in one order by their real paths, and recover what was interrupted there.

    A failure inside is recovered from at once, while the locks are held.

    Raises:
        BusyError: another process that is changing one of them did not end in time (see `patcher.store.patience`).
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
                    run.places[real] = _Place(path, site, stack.enter_context(locked(site)))
            try:
                run.recover()
                yield run
            except BaseException:
                run.rescue()
                raise
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(
            Message("{sites}: {ended}", sites=listed(list(paths.values())), ended=run.ended)
        ) from error


class Transaction:
    """The locked site directories of a run. `recovered` has a sentence for each in which an interrupted run was recovered."""

    def __init__(self) -> None:
        self.places: dict[str, _Place] = {}
        self.recovered: dict[str, str] = {}
        self._at = ""  # the directory at work on, for errors of the system

    @property
    def ended(self) -> str:
        """How the run has ended if it ends now, in one sentence."""
        places = list(self.places.values())
        if len({place.ended for place in places}) < 2:
            return places[0].ended if places else UNTOUCHED
        return joined(
            "; ", (Message("{place.path}: {place.ended}", place=place) for place in places)
        )

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
                    place.ended = Message(
                        "{sentence}; then {ended}", sentence=sentence, ended=UNTOUCHED
                    )

    def rescue(self) -> None:
        """After a failure: recover at once; where even that fails, `ended` says what waits."""
        for place in self.places.values():
            place.rescue()

    def commit(
        self, changes: Mapping[str, Sequence[Change]], patchsets: Mapping[str, Mapping[str, str]]
    ) -> None:
        """Carry out all changes or none, even if the process or the machine dies in between.

        Args:
            changes: by site directory, each of which is locked; at most one for each file. `old` is "" for a file that is not
                there, which is added, restored or forgotten. New bytes without a receipt (edits by hand that outlive a
                restore, a backup) drop the receipt.
            patchsets: digest (hex) to name and text of each file, for the patchsets the new receipts name; those that are
                stored already may be left out.

        Raises:
            OutdatedError: a file is not what `old` says; nothing was changed.
            StoreError: something failed; nothing was changed. When it failed after the last rename, the hint says that the
                run was finished, or the journal waits for `recover`.
        """
        places = [self.places[os.path.realpath(site)] for site in changes]
        with self._explained():
            for place, of_site in zip(self._in_turn(places), changes.values()):
                place.plan(of_site, patchsets)
            places = [place for place in places if place.works]
            for place in self._in_turn(places):
                prepare.use_spare(place.home, place.works)
                place.write_journal(journal.PREPARING)
                prepare.prepare(place.site, place.home, place.works, patchsets)
            try:
                for place in self._in_turn(places):
                    # the commit point: from now on, recovery finishes
                    place.write_journal(journal.COMMITTING)
                for place in self._in_turn(places):
                    place.left = journal.put_in_place(place.site, place.home, place.entries)
            except BaseException:
                with ignored():
                    for place in places:
                        place.roll_back()
                raise
            for place in self._in_turn(places):
                place.left = journal.settle(place.site, place.home, place.entries, place.left)
                place.ended = journal.but_for(FINISHED, place.left)
                place.clean_up()
        problems = [problem for place in places for problem in place.problems()]
        if problems:
            hint = Message("see what `sitepatch status` says, then run the command again")
            raise StoreError(joined("\n", problems), hint)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn an error of the system into the StoreError that also says how the run ended."""
        try:
            yield
        except OSError as error:
            self.rescue()
            raise permission.store_error(self._at, error, self.ended) from error

    def _in_turn(self, places: Iterable[_Place]) -> Iterator[_Place]:
        for place in places:
            self._at = place.path
            yield place


class _Place:
    """One locked site directory: `ended` is how the run has ended there, `works` is what a commit is to do.

    `left` is what it had to leave.
    """

    def __init__(self, path: str, site: Folder, home: Folder) -> None:
        self.path, self.site, self.home = path, site, home
        self.ended: str = UNTOUCHED
        self.works: list[prepare.Work] = []
        self.entries: Sequence[journal.JournalEntry] = ()
        self._named: Sequence[str] = ()
        self.left = journal.Left()

    def problems(self) -> list[str]:
        """A sentence about all files that somebody else has changed meanwhile, and about each other one that was left."""
        problems: list[str] = []
        if self.left.changed:
            template = "{names} in {path}: changed by somebody else while sitepatch was at work"
            names = ", ".join(self.left.changed)
            problems.append(Message(template, names=names, path=self.path))
        return problems + journal.explained_left(self.left)

    def recover(self) -> str:
        """Undo or finish what the journal says; returns the sentence about it, "" without a journal."""
        interrupted = journal.read_journal(self.home)
        if interrupted is None:
            self.home.remove(f"{JOURNAL}.tmp")
            self.home.remove_folder(EDITED)
            return ""
        _, self.entries, self._named = interrupted
        self.ended = journal.recover_run(self.site, self.home, interrupted)
        self.clean_up()
        return self.ended

    def rescue(self) -> None:
        """Recover after a failure; where even that fails, say what waits."""
        ending, self.ended = self.ended, _OPEN
        try:
            self.ended = self.recover() or ending
        except OSError:  # the disk has become read-only, say
            waiting = Store(self.path).interrupted()
            self.ended = (
                Message("{waiting}, by the next command that can write here", waiting=waiting)
                if waiting
                else ending
            )

    def plan(self, changes: Sequence[Change], patchsets: Mapping[str, Mapping[str, str]]) -> None:
        """Check the changes; nothing is written."""
        receipts = Store(self.path).receipts([])
        self.works = prepare.plan_work(self.site, self.home, receipts, changes, patchsets)
        prepare.check_possible(self.site, self.works)
        self.entries = [work.entry for work in self.works]
        copies = {
            receipts[entry.path].pristine.sha256 for entry in self.entries if entry.path in receipts
        }
        self._named = sorted(
            copies | {sha256(work.copy) for work in self.works if work.copy is not None}
        )

    def write_journal(self, phase: str) -> None:
        """Write the journal of the commit."""
        journal.write_journal(self.home, phase, self.entries, self._named)

    def roll_back(self) -> None:
        """Put the old files back; what cannot be put back is left to `rescue`, which finishes it where that can be done."""
        with suppress(OSError, StoreError):
            if journal.roll_back(self.site, self.home, self.entries):
                self.clean_up()

    def clean_up(self) -> None:
        """Remove what is of no use any more, then the journal."""
        clean_up(self.home, self.entries, self._named, Store(self.path).receipts)


def clean_up(
    home: Folder,
    entries: Sequence[journal.JournalEntry],
    named: Sequence[str],
    receipts: Callable[[list[StoreError]], Mapping[str, Receipt]],
) -> None:
    """Drop what the receipts named before a commit and name no more, then the journal.

    A pristine copy that nothing of this commit explains stays: somebody may have removed the receipt that named it.

    Args:
        home: `.sitepatch`, locked.
        entries: of the journal.
        named: the pristine copies that the receipts of these files named before.
        receipts: reads those of now (see `Store.receipts`).
    """
    bad: list[StoreError] = []
    current = receipts(bad)
    kept = claimed_names(current.values())
    gone = {digest for entry in entries for digest in (entry.old, entry.new)}.union(named) - kept[
        "pristine"
    ]
    rules: dict[str, Callable[[str], bool]] = {
        "receipts": lambda name: bool(_HALF.fullmatch(name)),
        "pristine": lambda name: bool(_HALF.fullmatch(name)) or (name in gone and not bad),
        "patchsets": lambda name: (
            bool(_PATCHSET.fullmatch(name)) and name not in kept["patchsets"] and not bad
        ),
        EDITED: lambda name: bool(_HALF_COPY.fullmatch(name)),
    }
    for folder_name, is_unwanted in rules.items():
        with suppress(FileNotFoundError), home.sub(folder_name) as folder:
            unwanted = [name for name in folder.names() if is_unwanted(name)]
            for name in unwanted:
                folder.remove(name)
            if unwanted:
                folder.sync()
        home.remove_folder(folder_name)
    loose = [name for name in (f"{SPARE}.tmp", f"{JOURNAL}.tmp") if home.has(name)]
    if not current and not bad:
        loose.append(SPARE)
    for name in loose:
        home.remove(name)
    if loose:
        home.sync()  # the journal is removed last: without it nobody would look for what a power cut brings back
    home.remove(JOURNAL)
    home.sync()
