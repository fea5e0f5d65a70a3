"""The redo journal of a commit: what was about to happen, and how to undo or finish it.

The journal is in `.sitepatch/journal.json` from before the first change of a commit until after the
last. While it says "preparing", nothing that anybody reads has changed and recovery removes what
was prepared. From the rename that makes it say "committing", every new file lies complete on the
disk and recovery finishes: each step is a rename or a removal that may be repeated and needs no
space. Where a file cannot be replaced all the same (it has been mounted over meanwhile, say),
recovery rolls back: until the receipts are in place, each old file is there under a second name.

People and installers take no lock. An old file that somebody wrote to after it was read, and before
it was replaced, is found under its second name: it becomes a copy in `.sitepatch/edited`. A file
that cannot be dealt with (a directory stands in its place, what leads there is a link now) is left
as it is and named; the others go on.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Iterable, Mapping, Sequence

from patcher.errors import StoreError
from patcher.facts import sha256
from patcher.message import Message, joined
from patcher.record import Record
from patcher.store import bytecode
from patcher.store.folder import EDITED, JOURNAL, SECOND, WAITING, Folder, edited_copy
from patcher.store.receipt import FOLDER, decode_fields, encode_fields, file_name, path_below
from patcher.system.decode import STRINGS, Items, Table, one_of, or_empty, sha256_hex, string

PREPARING, COMMITTING = "preparing", "committing"
_READY, _DONE, _CHANGED = "ready", "done", "changed"
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


class JournalEntry(Record):
    """What becomes of one target file.

    `old` and `new` are the sha256 of the target before and after, empty where there is no file. It
    is removed, or the temporary file is put in its place: a symbolic link to `link`, unless that is
    empty. `receipt` is the sha256 of the receipt that waits beside the old one; it is empty if the
    receipt is dropped. `folder` is the directory that the receipt of an added file names: once that
    is empty, it is removed.
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
    def temporary(self) -> str:
        """The name, beside the target, of the file that waits, and then of the one it displaced."""
        return f".{self._token}{WAITING}"

    @property
    def backup(self) -> str:
        """The second name, beside the target, of the file that stood there before."""
        return f".{self._token}{SECOND}"

    @property
    def _token(self) -> str:
        """What tells the names of this change from others; its length is always the same."""
        what = "\n".join((self.path, self.old, self.new))
        return sha256(what.encode("utf-8", "surrogateescape"))[:16]

    @property
    def stays(self) -> bool:
        """Whether the target is left alone, and its receipt alone is written or dropped."""
        return self.old == self.new

    @property
    def stale(self) -> bool:
        """Whether the bytecode of the target, if any, is of another text."""
        return not (self.stays and self.new)


class Journal(Record):
    """What a commit was about to do, and how far it had come.

    `named` are the pristine copies (sha256) that its old receipts named.
    """

    phase: str
    entries: tuple[JournalEntry, ...]
    named: tuple[str, ...] = ()


class Left(Record):
    """What a commit or a recovery had to leave, by the paths of the target files.

    `changed` are files that somebody else has changed meanwhile, `unable` says why others could not
    be dealt with, and `kept` where the copy lies of a text that somebody saved while the file was
    replaced.
    """

    changed: tuple[str, ...] = ()
    unable: Mapping[str, str] = {}
    kept: Mapping[str, str] = {}


class LostError(StoreError):
    """What an interrupted run had prepared is lost, or is not what its journal promised."""


def staged(path: str) -> str:
    """Return the name of the receipt of `path` that waits to be renamed over the old one."""
    return f"{file_name(path)}.new"


def write_journal(
    home: Folder, phase: str, entries: Sequence[JournalEntry], named: Sequence[str] = ()
) -> None:
    """Put the journal on the disk in one atomic step; with COMMITTING, that is the commit point."""
    fields = {
        "phase": phase,
        "files": [entry._asdict() for entry in entries],
        "named": list(named),
    }
    home.put(JOURNAL, encode_fields(fields, indent=None))
    home.sync()


def read_journal(home: Folder) -> Journal | None:
    """Return the journal; None if there is none.

    Raises:
        StoreError: it is damaged or forged: it names a path out of the site directory, or a field
            is not as written.
    """
    try:
        data = home.own(JOURNAL)
    except FileNotFoundError:
        return None
    where = f"{home.path}/{JOURNAL}"
    hint = Message("reinstall the packages that it names, then delete {where}", where=where)
    fields = decode_fields(data, where, hint=hint, kind=_JOURNAL)
    entries = tuple(JournalEntry(**file_fields) for file_fields in fields["files"])
    return Journal(fields["phase"], entries, named=tuple(fields["named"]))


def undo(site: Folder, entries: Sequence[JournalEntry]) -> dict[str, str]:
    """Remove the temporary files of a commit, and the second names of its targets.

    Returns:
        By path, why that could not be done: what leads there has become a link, say.
    """
    unable: dict[str, str] = {}
    for entry in entries:
        try:
            with site.holder(entry.path) as folder:
                folder.remove(entry.temporary)
                folder.remove(entry.backup)
        except FileNotFoundError:
            continue  # the package was uninstalled since
        except StoreError as error:
            unable[entry.path] = error.message
    sync_holders(site, [entry.path for entry in entries])
    return unable


def sync_holders(site: Folder, paths: Iterable[str]) -> None:
    """Wait until the names beside the targets `paths` are on the disk."""
    path_in = {path.rpartition("/")[0]: path for path in paths}
    for path in path_in.values():
        with suppress(FileNotFoundError, StoreError), site.holder(path) as folder:
            folder.sync()


def remove_folders(site: Folder, entries: Sequence[JournalEntry]) -> None:
    """Remove the directories that were made for added files, if nothing else is in them."""
    for entry in entries:
        path = entry.path
        while path.startswith(f"{entry.folder}/"):
            path = path.rpartition("/")[0]
            # what is a link now is none of ours
            with suppress(FileNotFoundError, StoreError), site.holder(path) as above:
                _remove_empty(above, path.rpartition("/")[2])


def _remove_empty(above: Folder, name: str) -> None:
    """Remove the directory `name` if nothing but a `__pycache__` is in it."""
    with above.sub(name) as folder:
        if folder.names() == ["__pycache__"]:
            folder.remove_folder("__pycache__")
    above.remove_folder(name)
    above.sync()


def finish(
    site: Folder, home: Folder, entries: Sequence[JournalEntry], *, anyway: bool = False
) -> Left:
    """Do what the entries say, from whatever point an earlier try had reached.

    Its arguments and errors are those of `put_in_place`.
    """
    left = put_in_place(site, home, entries=entries, anyway=anyway)
    return settle(site, home, entries=entries, left=left)


def put_in_place(
    site: Folder, home: Folder, entries: Sequence[JournalEntry], *, anyway: bool = False
) -> Left:
    """Put every prepared file in the place of its target; each old one keeps its second name.

    Args:
        site: the site directory, locked.
        home: its `.sitepatch`.
        entries: those of the journal.
        anyway: leave a file whose prepared one is lost as it is, and put the others in place.

    Raises:
        LostError: a prepared file is lost or is not what the journal promised; nothing was put in
            place then.
    """
    unable: dict[str, str] = {}
    verdicts: list[tuple[JournalEntry, str]] = []
    with home.make("receipts") as receipts:
        for entry in entries:
            try:
                if not entry.stays:
                    verdict = _verdict(site, entry)
                _check_receipt(receipts, entry)
            except LostError as error:
                if not anyway:
                    raise
                unable[entry.path] = error.message
            except StoreError as error:  # something else stands where the file or its directory was
                unable[entry.path] = error.message
            else:
                if not entry.stays:
                    verdicts.append((entry, verdict))

    changed: list[str] = []
    # nothing but renames, so that readers see a mixture as briefly as possible
    for entry, verdict in verdicts:
        if verdict == _CHANGED or (verdict == _READY and not _replace_target(site, entry)):
            changed.append(entry.path)
    return Left(tuple(changed), unable=unable)


def _check_receipt(receipts: Folder, entry: JournalEntry) -> None:
    """Raise LostError if the receipt that was prepared for a file is not there."""
    if not entry.receipt:
        return
    name = staged(entry.path)
    if not receipts.has(name):
        name = file_name(entry.path)
    if receipts.digest(name) != entry.receipt:
        raise _lost(receipts.path.rpartition("/")[0], f"{receipts.path}/{name}")


def _replace_target(site: Folder, entry: JournalEntry) -> bool:
    """Put a prepared file in the place of its target; False if somebody else's file stands there.

    What it displaces has the temporary name then: `settle` looks at it before it is removed.
    """
    with site.holder(entry.path) as folder:
        is_old = folder.same(entry.name, entry.backup)
        if not is_old and folder.digest(entry.name) not in (entry.old, entry.new):
            return False
        if not entry.new:
            folder.move(entry.name, entry.temporary)
            return True
        if not entry.old and not folder.has(entry.name):
            return folder.claim(entry.temporary, entry.name)
        return folder.swap(entry.temporary, entry.name)


def settle(site: Folder, home: Folder, entries: Sequence[JournalEntry], left: Left) -> Left:
    """Drop the second names and the bytecode of targets, and put the receipts in place.

    A file that could not be dealt with keeps a receipt, the new one or else the old one: no change
    is forgotten.
    """
    targets = [entry for entry in entries if not entry.stays]
    # or the removal of what was displaced could outlive its displacement
    sync_holders(site, [entry.path for entry in targets])
    kept = _keep_saved(site, home, targets)
    # removes what waits for a file that is left alone, too
    unable = undo(site, targets)
    unable.update(_purge(site, targets))
    unable.update(left.unable)
    _purge(site, [entry for entry in entries if entry.stale and entry.stays])
    with home.make("receipts") as receipts:
        for entry in entries:
            if entry.receipt:
                _put_receipt(receipts, entry)
            elif entry.path not in left.unable:
                receipts.remove(file_name(entry.path))
        receipts.sync()
    remove_folders(site, entries)  # last: a file whose directory is gone cannot be put back
    return Left(left.changed, unable=unable, kept=kept)


def _put_receipt(receipts: Folder, entry: JournalEntry) -> None:
    """Put the receipt that waits in place, if it is the one of the journal."""
    name = staged(entry.path)
    if not receipts.has(name):
        return
    with suppress(StoreError):
        if receipts.digest(name) == entry.receipt:
            receipts.move(name, file_name(entry.path))


def _keep_saved(site: Folder, home: Folder, entries: Iterable[JournalEntry]) -> dict[str, str]:
    """Keep a copy of each old file that somebody wrote to; return where each lies, by path.

    It is another name of that very file where the filesystem has such: it needs no space, and what
    an editor still writes to it arrives.
    """
    kept: dict[str, str] = {}
    for entry in entries:
        try:
            folder = site.holder(entry.path)
        except (FileNotFoundError, StoreError):
            continue
        with folder:
            copies = _keep_displaced(home, folder, entry)
        if copies:
            kept[entry.path] = ", ".join(f"{site.path}/{copy}" for copy in copies)
    return kept


def _keep_displaced(home: Folder, folder: Folder, entry: JournalEntry) -> list[str]:
    """Keep a copy of what `entry` displaced, if somebody else wrote it; return their paths."""
    names = [entry.backup]
    if not folder.same(entry.temporary, entry.backup):
        names.append(entry.temporary)
    copies: list[str] = []
    for name in names:
        # what is neither a file nor a link is left as it is
        with suppress(StoreError):
            copy = _keep_one(home, folder, entry=entry, name=name)
            if copy and copy not in copies:
                copies.append(copy)
    return copies


def _keep_one(home: Folder, folder: Folder, entry: JournalEntry, name: str) -> str:
    """Keep a copy of the file `name` in `folder` if somebody else wrote it; return its path.

    Args:
        home: `.sitepatch`, which gets the copy.
        folder: the directory of the target.
        entry: that of the journal.
        name: the second name of the file that stood there, or the temporary one that the file has
            which was displaced.
    """
    if not _is_saved(folder, entry, name):
        return ""
    data, meta = folder.look(name)
    copy = edited_copy(entry.path, data)
    copy_name = copy.rpartition("/")[2]
    with home.make(EDITED) as edited:
        is_there = edited.digest(copy_name) == sha256(data)
        if not is_there and not folder.link_to(name, edited, copy_name):
            edited.put(copy_name, data, meta)
        edited.sync()
    return copy


def _is_saved(folder: Folder, entry: JournalEntry, name: str) -> bool:
    """Whether a file that was displaced is neither the old one nor the new one."""
    if not folder.has(name) or folder.link(name):
        return False  # what a link led to stands where it stood
    if folder.same(entry.name, name) or folder.digest(name) in (entry.old, entry.new):
        return False
    return folder.digest(entry.name) != entry.old  # else nothing was displaced


def _purge(site: Folder, entries: Iterable[JournalEntry]) -> dict[str, str]:
    """Remove the bytecode of files: by path, why that could not be done."""
    unable: dict[str, str] = {}
    for entry in entries:
        try:
            bytecode.purge(site, entry.path)
        except StoreError as error:  # what leads to it has become a link, say
            unable[entry.path] = error.message
    return unable


def roll_back(site: Folder, home: Folder, entries: Sequence[JournalEntry]) -> bool:
    """Put every old file back after the commit point; may be repeated.

    Returns:
        False if that is not possible: receipts are in place already, or an old file has no second
        name. Nothing was changed then. A file that somebody else has changed since is left alone,
        and so is one that cannot be looked at.
    """
    targets = [entry for entry in entries if not entry.stays]
    replaced: list[JournalEntry] = []
    if _has_receipt(home, entries):
        return False
    for entry in targets:
        with suppress(FileNotFoundError, StoreError), site.holder(entry.path) as folder:
            if folder.digest(entry.name) != entry.new:
                continue
            if entry.old and not folder.has(entry.backup):
                return False
            replaced.append(entry)

    for entry in replaced:
        with site.holder(entry.path) as folder:
            if _is_saved(folder, entry, name=entry.temporary):
                folder.move(entry.temporary, entry.name)
            elif entry.old:
                folder.move(entry.backup, entry.name)
            else:  # it was not there before
                folder.remove(entry.name)
    undo(site, targets)
    _purge(site, targets)
    remove_folders(site, targets)
    return True


def _has_receipt(home: Folder, entries: Iterable[JournalEntry]) -> bool:
    """Whether the receipt of any file is in place already, or dropped.

    Of a changed file that gets none, its second name tells: that is removed before any receipt is
    dropped.
    """
    with home.make("receipts") as receipts:
        for entry in entries:
            tells = bool(entry.receipt) or entry.stays
            if tells and receipts.digest(file_name(entry.path)) == entry.receipt:
                return True
    return False


def _verdict(site: Folder, entry: JournalEntry) -> str:
    """Whether a target is ready to be replaced, done already, or changed by somebody else.

    Raises:
        LostError: it is none of these.
        StoreError: something else stands where the file or its directory was.
    """
    try:
        folder = site.holder(entry.path)
    except FileNotFoundError:
        return _CHANGED if entry.new else _DONE
    with folder:
        current = folder.digest(entry.name)
        if current not in (entry.old, entry.new):
            return _CHANGED
        if not entry.new:
            return _READY if current else _DONE
        if _is_prepared(folder, entry):
            return _READY
        if current == entry.new:  # the temporary name is that of what stood there
            return _DONE
    raise _lost(site.path, f"{folder.path}/{entry.temporary}")


def _is_prepared(folder: Folder, entry: JournalEntry) -> bool:
    """Whether the file that was prepared is there, as the journal says."""
    name = entry.temporary
    if not folder.has(name) or folder.link(name) != entry.link:
        return False
    return bool(entry.link) or folder.digest(name) == entry.new


def _lost(place: str, path: str) -> LostError:
    return LostError(
        "{what}: is not the file that the interrupted run had prepared",
        "reinstall the package it belongs to, then delete .sitepatch/{journal} (see {path})",
        what=path,
        journal=JOURNAL,
        path=place,
    )


def recover_run(site: Folder, home: Folder, journal: Journal) -> str:
    """Undo or finish an interrupted run; return the sentence about it, with what had to be left.

    Raises:
        OSError: it can be neither finished nor undone.
        StoreError: the same.
    """
    sentence = describe(journal, recovered=True)
    if journal.phase == PREPARING:
        unable = undo(site, journal.entries)
        remove_folders(site, journal.entries)
        return but_for(sentence, Left(unable=unable))
    try:
        return but_for(sentence, finish(site, home, journal.entries))
    except (OSError, StoreError) as error:
        if roll_back(site, home, journal.entries):
            return Message(
                "an interrupted run could not be finished and was undone: {files} as before it",
                files=_files(journal),
            )
        if not isinstance(error, LostError):
            raise
        return but_for(sentence, finish(site, home, journal.entries, anyway=True))


def but_for(sentence: str, left: Left) -> str:
    """Add to a sentence what had to be left."""
    if left.changed:
        sentence = Message(
            "{sentence}, but for {names}, changed by somebody else since",
            sentence=sentence,
            names=", ".join(left.changed),
        )
    return joined("; ", [sentence, *explained_left(left)])


def explained_left(left: Left) -> list[str]:
    """A sentence for each file that could not be dealt with, and for each text that was kept."""
    sentences: list[str] = []
    for path, why in left.unable.items():
        sentences.append(Message("{path} is left as it is: {why}", path=path, why=why))
    for path, copy in left.kept.items():
        template = "{path} was saved by somebody while it was replaced: that text is kept as {copy}"
        sentences.append(Message(template, path=path, copy=copy))
    return sentences


def describe(journal: Journal, *, recovered: bool) -> str:
    """Return one sentence about an interrupted run: what recovery did (`recovered`) or will do."""
    if journal.phase == PREPARING:
        result = Message("an interrupted run will be undone")
        if recovered:
            result = Message("an interrupted run was undone")
        return Message("{result}: {files} as before it", result=result, files=_files(journal))
    result = Message("an interrupted run will be finished")
    if recovered:
        result = Message("an interrupted run was finished")
    template = "{result}: {files} as it meant them to be"
    return Message(template, result=result, files=_files(journal))


def _files(journal: Journal) -> str:
    count = len(journal.entries)
    return Message("{count} file" if count == 1 else "{count} files", count=count)
