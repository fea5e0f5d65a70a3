"""The redo journal of a commit: what was about to happen, and how to undo it or to finish it after a crash.

The journal is in `.sitepatch/journal.json` from before the first change of a commit until after the last. While it
says "preparing", nothing that anybody reads has changed and recovery removes what was prepared. From the rename that
makes it say "committing", every new file lies complete on the disk and recovery finishes: each step is a rename or a
removal that may be repeated and needs no space. Where a file cannot be replaced all the same (it has been mounted over
meanwhile, say), recovery rolls back: until the receipts are in place, each old file is there under a second name.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Iterable, NamedTuple, Sequence

from patcher.errors import StoreError
from patcher.message import Message
from patcher.store import bytecode
from patcher.store.folder import JOURNAL, Folder
from patcher.store.receipt import FOLDER, decode_fields, encode_fields, file_name, path_below
from patcher.system.decode import STRINGS, Items, Table, one_of, or_empty, sha256_hex, string

PREPARING, COMMITTING = "preparing", "committing"


_HASH = or_empty(sha256_hex)
_ENTRY = Table(
    {
        "path": path_below,
        "old": _HASH,
        "new": _HASH,
        "link": string,
        "receipt": _HASH,
        "folder": FOLDER,
    }
)
_JOURNAL = Table({"phase": one_of(PREPARING, COMMITTING), "files": Items(_ENTRY), "named": STRINGS})


class JournalEntry(NamedTuple):
    """What becomes of one target file.

    `old` and `new` are the sha256 of the target before and after, "" where it is not there. It is removed, or the temporary
    file is renamed over it: a symbolic link to `link`, unless that is "". `receipt` is the sha256 of the receipt waiting
    beside the old one, "" to drop it. `folder` is that of the receipt of an added file: where it is left empty it is removed.
    """

    path: str
    old: str
    new: str
    link: str = ""
    receipt: str = ""
    folder: str = ""

    @property
    def name(self) -> str:
        """The name of the target in its directory."""
        return self.path.rpartition("/")[2]

    @property
    def stays(self) -> bool:
        """Whether the target is left alone, and its receipt alone is written or dropped."""
        return self.old == self.new

    @property
    def stale(self) -> bool:
        """Whether what bytecode the target has is of another text."""
        return not (self.stays and self.new)


class Journal(NamedTuple):
    """What a commit was about to do, how far it had come, and the pristine copies (sha256) that its old receipts named."""

    phase: str
    entries: tuple[JournalEntry, ...]
    named: tuple[str, ...] = ()


def temporary(path: str) -> str:
    """Return the name, beside the target `path`, of the file that waits to be renamed over it."""
    return f".{path.rpartition('/')[2]}.sitepatch-tmp"


def backup(path: str) -> str:
    """Return the second name, beside the target `path`, of the file that stood there before."""
    return f".{path.rpartition('/')[2]}.sitepatch-old"


def staged(path: str) -> str:
    """Return the name of the receipt of `path` that waits to be renamed over the old one."""
    return f"{file_name(path)}.new"


def write_journal(
    home: Folder, phase: str, entries: Sequence[JournalEntry], named: Sequence[str] = ()
) -> None:
    """Put the journal on the disk in one atomic step; with phase COMMITTING this is the commit point."""
    files = [entry._asdict() for entry in entries]
    home.put(
        JOURNAL, encode_fields({"phase": phase, "files": files, "named": list(named)}, indent=None)
    )
    home.sync()


def read_journal(home: Folder) -> Journal | None:
    """Return the journal, None if there is none.

    Raises:
        StoreError: it is damaged or forged: it names a path out of the site directory, or a field is not as written.
    """
    try:
        data = home.own(JOURNAL)
    except FileNotFoundError:
        return None
    where = f"{home.path}/{JOURNAL}"
    hint = Message("reinstall the packages that it names, then delete {where}", where=where)
    fields = decode_fields(data, where, hint, _JOURNAL)
    entries = tuple(JournalEntry(**file_fields) for file_fields in fields["files"])
    return Journal(fields["phase"], entries, tuple(fields["named"]))


def undo(site: Folder, entries: Sequence[JournalEntry]) -> None:
    """Remove the temporary files of a commit, and the second names of the files that it was to replace."""
    for entry in entries:
        try:
            folder = site.holder(entry.path)
        except FileNotFoundError:
            continue  # the package was uninstalled since
        with folder:
            folder.remove(temporary(entry.path))
            folder.remove(backup(entry.path))
    sync_holders(site, [entry.path for entry in entries])


def sync_holders(site: Folder, paths: Iterable[str]) -> None:
    """Wait until the names beside the targets `paths` are on the disk: each directory once, those that are there."""
    for path in {path.rpartition("/")[0]: path for path in paths}.values():
        with suppress(FileNotFoundError), site.holder(path) as folder:
            folder.sync()


def remove_made(site: Folder, entries: Sequence[JournalEntry]) -> None:
    """Remove the directories that were made for added files, with their `__pycache__`, where nothing is left in them."""
    for entry in entries:
        path = entry.path
        while path.startswith(f"{entry.folder}/"):
            path = path.rpartition("/")[0]
            name = path.rpartition("/")[2]
            with suppress(FileNotFoundError, StoreError), site.holder(
                path
            ) as above:  # what is a link now is none of ours
                with above.sub(name) as folder:
                    if folder.names() == ["__pycache__"]:
                        folder.remove_folder("__pycache__")
                above.remove_folder(name)
                above.sync()


def finish(site: Folder, home: Folder, entries: Sequence[JournalEntry]) -> list[str]:
    """Do what the entries say, from whatever point an earlier try had reached; returns and raises what `put_in_place` does."""
    left_alone = put_in_place(site, home, entries)
    settle(site, home, entries)
    return left_alone


def put_in_place(site: Folder, home: Folder, entries: Sequence[JournalEntry]) -> list[str]:
    """Rename every prepared file over its target; each old one keeps its second name.

    Returns:
        The paths of files that were left alone because somebody else (an installer) has changed them since.

    Raises:
        StoreError: a prepared file is lost or is not what the journal promised; nothing was put in place then.
    """
    verdicts = [(entry, _verdict(site, entry)) for entry in entries if not entry.stays]
    with home.make("receipts") as receipts:
        for entry in entries:
            name = staged(entry.path) if receipts.has(staged(entry.path)) else file_name(entry.path)
            if entry.receipt and receipts.digest(name) != entry.receipt:
                raise _broken(home, f"{receipts.path}/{name}")
    for (
        entry,
        verdict,
    ) in verdicts:  # nothing but renames, so that readers see a mixture as briefly as possible
        if verdict == "ready":
            with site.holder(entry.path) as folder:
                if entry.new:
                    folder.move(temporary(entry.path), entry.name)
                else:
                    folder.remove(entry.name)
    return [entry.path for entry, verdict in verdicts if verdict == "changed"]


def settle(site: Folder, home: Folder, entries: Sequence[JournalEntry]) -> None:
    """Once every file is in place: drop the second names and the bytecode, and put the receipts in place."""
    targets = [entry for entry in entries if not entry.stays]
    # removes what waits for a file that is left alone, and syncs every directory
    undo(site, targets)
    for entry in entries:
        if entry.stale:
            bytecode.purge(site, entry.path)
    with home.make("receipts") as receipts:
        for entry in entries:
            if not entry.receipt:
                receipts.remove(file_name(entry.path))
            elif receipts.has(staged(entry.path)):
                receipts.move(staged(entry.path), file_name(entry.path))
        receipts.sync()
    remove_made(site, entries)  # last: a file whose directory is gone cannot be put back


def roll_back(site: Folder, home: Folder, entries: Sequence[JournalEntry]) -> bool:
    """Put every old file back after the commit point; may be repeated.

    Returns:
        False where that is not possible: receipts are in place already, or an old file has no second name. Nothing was
        changed then. A file that somebody else has changed since is left alone.
    """
    with home.make("receipts") as receipts:
        # Where a changed file gets none, its second name tells: that is removed before any receipt is dropped.
        telling = (entry for entry in entries if entry.receipt or entry.stays)
        if any(receipts.digest(file_name(entry.path)) == entry.receipt for entry in telling):
            return False
    targets = [entry for entry in entries if not entry.stays]
    backs: list[JournalEntry] = []
    for entry in targets:
        with suppress(FileNotFoundError), site.holder(entry.path) as folder:
            current, saved = (folder.digest(name) for name in (entry.name, backup(entry.path)))
            if current in (entry.old, entry.new) and saved == entry.old:
                backs.append(entry)
            elif current == entry.new:
                return False
    for entry in backs:
        with site.holder(entry.path) as folder:
            if entry.old:
                folder.move(backup(entry.path), entry.name)
            else:  # it was not there before
                folder.remove(entry.name)
    undo(site, targets)
    for entry in targets:
        bytecode.purge(site, entry.path)
    remove_made(site, targets)
    return True


def _verdict(site: Folder, entry: JournalEntry) -> str:
    """Return "ready" to rename, "done" already, or "changed" by somebody else; StoreError if it is none of them."""
    try:
        folder = site.holder(entry.path)
    except FileNotFoundError:
        return "changed" if entry.new else "done"
    with folder:
        current, name = folder.digest(entry.name), temporary(entry.path)
        if current not in (entry.old, entry.new):
            return "changed"
        if not entry.new:
            return "ready" if current else "done"
        if folder.has(name):
            if folder.link(name) == entry.link and (entry.link or folder.digest(name) == entry.new):
                return "ready"
        elif current == entry.new:
            return "done"
    raise _broken(site, f"{folder.path}/{name}")


def _broken(folder: Folder, path: str) -> StoreError:
    return StoreError(
        "{what}: is not the file that the interrupted run had prepared",
        "reinstall the package it belongs to, then delete .sitepatch/{journal} (see {path})",
        what=path,
        journal=JOURNAL,
        path=folder.path,
    )


def recover_run(site: Folder, home: Folder, journal: Journal) -> str:
    """Undo or finish an interrupted run; return the sentence about it.

    Raises:
        OSError: it can be neither finished nor undone.
        StoreError: the same.
    """
    sentence = describe(journal, recovered=True)
    if journal.phase == PREPARING:
        undo(site, journal.entries)
        remove_made(site, journal.entries)
        return sentence
    try:
        return but_for(sentence, finish(site, home, journal.entries))
    except (OSError, StoreError):
        if not roll_back(site, home, journal.entries):
            raise
        return Message(
            "an interrupted run could not be finished and was undone: {files} as before it",
            files=_files(journal),
        )


def but_for(sentence: str, left_alone: Sequence[str]) -> str:
    """Add to a sentence the files that were left alone."""
    return (
        Message(
            "{sentence}, but for {names}, changed by somebody else since",
            sentence=sentence,
            names=", ".join(left_alone),
        )
        if left_alone
        else sentence
    )


def describe(journal: Journal, *, recovered: bool) -> str:
    """Return one sentence about an interrupted run: what recovery did (`recovered`) or will do."""
    files = _files(journal)
    if journal.phase == PREPARING:
        result = Message(
            "an interrupted run was undone" if recovered else "an interrupted run will be undone"
        )
        return Message("{result}: {files} as before it", result=result, files=files)
    result = Message(
        "an interrupted run was finished" if recovered else "an interrupted run will be finished"
    )
    return Message("{result}: {files} as it meant them to be", result=result, files=files)


def _files(journal: Journal) -> str:
    count = len(journal.entries)
    return Message("{count} file" if count == 1 else "{count} files", count=count)
