"""What is removed from `.sitepatch` after a commit, and whether anything there is still to be finished, undone or removed."""

from __future__ import annotations

from contextlib import suppress
from typing import Callable, Dict, Iterable, List, Mapping, Sequence, Set

from patcher.errors import StoreError
from patcher.model import Receipt
from patcher.store import journal
from patcher.store.folder import Folder
from patcher.store.receipt import file_name
from patcher.system.decode import is_sha256

EDITED = "edited"


def claimed_names(receipts: Iterable[Receipt]) -> Dict[str, Set[str]]:
    """The names in the folders of `.sitepatch` that these receipts claim, by folder."""
    found: Dict[str, Set[str]] = {"receipts": set(), "pristine": set(), "patchsets": set()}
    for one in receipts:
        found["receipts"].add(file_name(one.path))
        found["pristine"].add(one.pristine)
        found["patchsets"].update(f"{step.digest}.json" for step in one.steps)
    return found


def clean_up(
    home: Folder,
    entries: Sequence[journal.JournalEntry],
    named: Sequence[str],
    receipts: Callable[[List[StoreError]], Mapping[str, Receipt]],
) -> None:
    """Drop what the receipts named before a commit and name no more, then the journal.

    A pristine copy that nothing of this commit explains stays: somebody may have removed the receipt that named it.

    Args:
        home: `.sitepatch`, locked.
        entries: of the journal.
        named: the pristine copies that the receipts of these files named before.
        receipts: reads those of now (see `Store.receipts`).
    """
    bad: List[StoreError] = []
    now = receipts(bad)
    kept = claimed_names(now.values())
    gone = {digest for entry in entries for digest in (entry.old, entry.new)}.union(named) - kept["pristine"]
    rules: Dict[str, Callable[[str], bool]] = {
        "receipts": lambda name: not name.endswith(".json"),
        "pristine": lambda name: not is_sha256(name) or (name in gone and not bad),
        "patchsets": lambda name: name not in kept["patchsets"] and not bad,
    }
    for folder_name, is_unwanted in rules.items():
        with suppress(FileNotFoundError), home.sub(folder_name) as folder:
            unwanted = [name for name in folder.names() if is_unwanted(name)]
            for name in unwanted:
                folder.remove(name)
            if unwanted:
                folder.sync()
        home.remove_folder(folder_name)
    loose = [name for name in (f"{journal.SPARE}.tmp", f"{journal.JOURNAL}.tmp") if home.has(name)]
    if not now and not bad:
        loose.append(journal.SPARE)
    for name in loose:
        home.remove(name)
    if loose:
        home.sync()  # the journal is removed last: without it nobody would look for what a power cut brings back
    home.remove(journal.JOURNAL)
    home.sync()


def is_tidy(home: Folder) -> bool:
    """Whether nothing in `.sitepatch` is still to be finished, undone or removed."""
    names = home.names()
    if any(name.startswith(journal.JOURNAL) for name in names):
        return False
    if EDITED in names:
        with home.sub(EDITED) as edited:
            copies = edited.names()
        if not copies or any(name.endswith(".tmp") for name in copies):
            return False
    return bool({"receipts", "pristine", EDITED} & set(names))


def tidy_edited(home: Folder) -> None:
    """Remove what `Store.save_edited` leaves where it is killed: half of a copy, or an empty folder."""
    with suppress(FileNotFoundError), home.sub(EDITED) as edited:
        for name in edited.names():
            if name.endswith(".tmp"):
                edited.remove(name)
        home.remove_folder(EDITED)
