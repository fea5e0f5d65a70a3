"""All that a commit checks and writes before its commit point: from a change to a file that has only to be renamed."""

from __future__ import annotations

from collections import Counter
from typing import AbstractSet, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from patcher.errors import OutdatedError, StoreError
from patcher.facts import sha256
from patcher.message import Message, joined
from patcher.model import Change, Receipt
from patcher.store import bytecode, permission, receipt
from patcher.store.folder import SPARE, Folder, Meta
from patcher.store.journal import FORGET, LINK, PUT, REMOVE, WRITE, JournalEntry, backup, staged, sync_holders, temporary
from patcher.system.decode import is_sha256

# xfs asks for 200 KB of room before it makes a file, even an empty one.
_SPARE_SIZE = 1 << 19  # bytes set aside on every apply, so that a restore can write its journal on a full disk ...
_SPARE_EACH = 1 << 11  # ... and so many more for each file: its two entries, in the journal and in the one that replaces it


class Work(NamedTuple):
    """A change that was checked, with what it takes to prepare it.

    `text` is the JSON of its receipt, b"" to drop the receipt; `data` the new bytes, for WRITE; `back` the receipt of a
    file that is restored, `shared` whether other files need its pristine copy; `save` whether the file as it is becomes
    the pristine copy, `given` that copy itself where it is not the file, `mtime_ns` as in `Change`.
    """

    entry: JournalEntry
    text: bytes = b""
    data: bytes = b""
    back: Optional[Receipt] = None
    shared: bool = False
    save: bool = False
    given: Optional[bytes] = None
    mtime_ns: Optional[int] = None


def plan_work(
    site: Folder,
    home: Folder,
    receipts: Mapping[str, Receipt],
    changes: Sequence[Change],
    patchsets: Mapping[str, Mapping[str, str]],
) -> List[Work]:
    """Return what to do for each change. Writes nothing.

    Args:
        site: the site directory, locked.
        home: its `.sitepatch`.
        receipts: those of now, by path.
        changes: see `Store.commit`.
        patchsets: see `Store.commit`.

    Raises:
        StoreError: a file is not as its change says (OutdatedError), or a change contradicts itself; all problems in one.
    """
    problems: List[str] = [
        Message("{digest!r}: expected the sha256 of a patchset", digest=digest)
        for digest in patchsets
        if not is_sha256(digest)
    ]
    for path, count in Counter(change.path for change in changes).items():
        if count > 1:
            problems.append(Message("{path}: {count} changes for one file", path=path, count=count))
    # A pristine copy that one file alone needs becomes that file; one that twins share has to be copied.
    needed = Counter(record.pristine for record in receipts.values())
    needed.update(change.receipt.pristine for change in changes if change.receipt)
    made = {record.folder for record in receipts.values()}
    works: List[Work] = []
    kind = StoreError
    for change in changes:
        try:
            _check_target(site, change)
            change, folder = _with_folder(site, receipts.get(change.path), made, change)
            if change.forget:
                works.append(Work(JournalEntry(change.path, FORGET, change.old, change.old, "", "")))
            elif change.data is not None:
                works.append(_writing(home, change, change.data, patchsets))
            elif change.path not in receipts:
                raise StoreError("{path}: there is no receipt to restore it by", path=change.path)
            else:
                back = receipts[change.path]
                works.append(_restoring(site, home, change, back, shared=needed[back.pristine] > 1))
            works[-1] = works[-1]._replace(entry=works[-1].entry._replace(folder=folder))
        except StoreError as error:
            problems.append(error.message)
            kind = OutdatedError if isinstance(error, OutdatedError) else kind
    if problems:
        hint = Message("nothing was changed; see what `sitepatch status` says, then run the command again")
        raise kind(Message("{path}: {problems}", path=site.path, problems=joined("\n", problems)), hint)
    return works


def _check_target(site: Folder, change: Change) -> None:
    """Raise StoreError unless the target file is the one that the change was planned for."""
    path, name = change.path, change.path.rpartition("/")[2]
    problem = receipt.path_problem(path)
    if problem:
        raise StoreError("{path}: {problem}", path=path, problem=problem)
    current = link = ""
    try:
        with site.holder(path) as folder:
            current, link = folder.digest(name), folder.link(name)
            if folder.mounted(name):  # what it hides is neither replaced nor forgotten
                raise StoreError("{path}: {place}", path=path, place=permission.MOUNTED)
    except FileNotFoundError:
        pass  # the package is not there: no file
    if current != change.old:
        raise OutdatedError(
            "{path}: has changed since the plan was made" if current else "{path}: is not there any more", path=path
        )
    new = change.receipt
    if not current and change.data is not None and not (new and new.origin == receipt.ADDED_FILE):
        raise StoreError("{path}: is not there, so it can only be restored or forgotten", path=path)
    if new and link and new.pristine == current and new.link != link:
        raise StoreError(
            "{path}: is a link to {link}, but its receipt says {recorded}",
            path=path,
            link=link,
            recorded=new.link or Message("a regular file"),
        )


def _with_folder(site: Folder, old: Optional[Receipt], made: AbstractSet[str], change: Change) -> Tuple[Change, str]:
    """The change, and the topmost directory above its file that was made for added files or is to be made, "" for none.

    Where it writes a receipt, that names the directory: whichever file in it is removed last, it goes too.
    """
    new = change.receipt
    if not (new and new.origin == receipt.ADDED_FILE):
        return change, old.folder if old else ""
    parts = change.path.split("/")[:-1]
    for depth in range(1, len(parts) + 1):
        path = "/".join(parts[:depth])
        with site.holder(path) as above:
            if path in made or (depth > 1 and not above.has(parts[depth - 1])):
                return change._replace(receipt=new._replace(folder=path)), path
            if depth == 1 and not above.has(path):
                raise OutdatedError("{path}: is not there any more", path=path)
    return change._replace(receipt=new._replace(folder="")), ""


def _writing(home: Folder, change: Change, data: bytes, patchsets: Mapping[str, Mapping[str, str]]) -> Work:
    """Return the work for new bytes."""
    new, digest = change.receipt, sha256(data)
    if new is None:
        return Work(JournalEntry(change.path, PUT, change.old, digest, "", ""), data=data, mtime_ns=change.mtime_ns)
    encoded = receipt.encode_receipt(new)
    receipt.decode(encoded, receipt.file_name(change.path))  # what could not be read back is not written
    if new.current != digest and not change.merged:
        raise StoreError("{path}: its receipt is for other bytes", path=change.path)
    save = new.pristine == change.old
    pristine = change.pristine
    if pristine is not None and sha256(pristine) != new.pristine:
        raise StoreError("{path}: its receipt is for other pristine bytes", path=change.path)
    if pristine is None and not save and new.origin != receipt.ADDED_FILE:
        _pristine(home, new)
    for step in new.steps:
        if step.digest not in patchsets and not _has(home, "patchsets", f"{step.digest}.json"):
            raise StoreError(
                "{path}: the text of patchset {patchset!r} ({digest}) is missing",
                path=change.path,
                patchset=step.patchset,
                digest=step.digest,
            )
    entry = JournalEntry(change.path, WRITE, change.old, digest, "", sha256(encoded))
    return Work(entry, encoded, data, save=save, given=pristine)


def _restoring(site: Folder, home: Folder, change: Change, back: Receipt, *, shared: bool) -> Work:
    """Return the work for the pristine file: the old link, the pristine copy itself, or a copy of it; or for none."""
    if back.origin == receipt.ADDED_FILE:
        return Work(JournalEntry(change.path, REMOVE, change.old, "", "", ""))
    with site.holder(change.path) as folder:
        if back.link and folder.digest(back.link) == back.pristine:
            return Work(JournalEntry(change.path, LINK, change.old, back.pristine, back.link, ""), back=back)
        data = _pristine(home, back)  # the link leads nowhere now: restore the file itself
        return Work(JournalEntry(change.path, WRITE, change.old, back.pristine, "", ""), data=data, back=back, shared=shared)


def _pristine(home: Folder, of: Receipt) -> bytes:
    try:
        with home.sub("pristine") as pristine:
            data = pristine.own(of.pristine, proven=True)
    except FileNotFoundError as error:
        raise StoreError("{of.path}: its pristine copy {of.pristine} is missing; reinstall {of.package}", of=of) from error
    if sha256(data) != of.pristine:
        raise StoreError("{of.path}: its pristine copy {of.pristine} is damaged; reinstall {of.package}", of=of)
    return data


def _has(home: Folder, folder_name: str, name: str) -> bool:
    try:
        with home.sub(folder_name) as folder:
            return folder.has(name)
    except FileNotFoundError:
        return False


def _spare_size(count: int) -> int:
    """Return how many bytes to set aside where `count` files are changed."""
    return _SPARE_SIZE + _SPARE_EACH * count


def check_possible(site: Folder, works: Sequence[Work]) -> None:
    """Raise StoreError with everything that would keep `works` from being done: permissions, and the room to apply.

    For a restore the room is not checked: it has to work on a full disk.
    """
    moved = {work.entry.path for work in works if not work.entry.old or (work.back and not work.shared)}
    problems = permission.obstacles(site, [work.entry.path for work in works if work.entry.action != FORGET], moved)
    for folder in sorted({work.entry.folder for work in works} - {""}):  # its name is made or removed
        problems += permission.obstacles_above(site, folder)
    if any(work.text for work in works):
        sizes = [size for work in works for size in (len(work.data), len(work.text), _SPARE_EACH)]
        copies = [len(work.data) for work in works if work.save or work.given is not None]
        problems += permission.no_room(site, [_spare_size(2 * len(works)), *sizes, *copies])
    if problems:
        raise StoreError(joined("\n", problems), "nothing was changed")


def use_spare(home: Folder, works: Sequence[Work]) -> None:
    """Before a restore, give the space that was set aside to the journal that follows."""
    if not any(work.text for work in works):
        home.remove(SPARE)


def prepare(site: Folder, home: Folder, works: Sequence[Work], patchsets: Mapping[str, Mapping[str, str]]) -> None:
    """Write pristine copies, temporary files, receipts and patchset texts, and wait until all are on the disk.

    The journal must name every file of `works` already, so that what is written here can be found and removed.
    """
    with home.make("pristine") as pristine, home.make("receipts") as receipts, home.make("patchsets") as texts:
        for digest, files in patchsets.items():
            texts.put(f"{digest}.json", receipt.encode_fields({"files": dict(files)}))
        for work in works:
            if work.text:
                receipts.write(staged(work.entry.path), work.text)
            if work.entry.action != FORGET:
                with site.holder(work.entry.path, work.entry.folder) as folder:
                    _prepare_file(site, folder, pristine, work)
                bytecode.purge(site, work.entry.path)  # now, while it can fail without harm, and again after the rename
        sync_holders(site, [work.entry.path for work in works if work.entry.action != FORGET])
        spare = _spare_size(len(receipts.names()))
        if any(work.text for work in works) and (not home.has(SPARE) or len(home.own(SPARE)) < spare):
            home.put(SPARE, bytes(spare))
        for written in (pristine, receipts, texts):
            written.sync()


def _prepare_file(site: Folder, folder: Folder, pristine: Folder, work: Work) -> None:
    path, action, old, new, link, *_ = work.entry
    name = path.rpartition("/")[2]
    if work.back and action == LINK:
        folder.make_link(temporary(path), link, work.back.mtime_ns)
    elif work.back:
        meta = pristine.look(new)[1]
        if not work.back.link:  # else mode and mtime are those of the link, and the copy has those of what it led to
            meta = meta._replace(mode=work.back.mode, mtime_ns=work.back.mtime_ns)
        if not work.shared and pristine.link_to(new, folder, temporary(path)):
            folder.stamp(temporary(path), meta)
        else:
            folder.write(temporary(path), work.data, meta)
    elif old or action == REMOVE:
        data, meta = folder.look(name)
        if sha256(data) != old:
            raise StoreError(
                "{path}: {file} was changed by somebody else while sitepatch was at work", path=folder.path, file=path
            )
        if work.save and pristine.digest(old) != old:
            pristine.put(old, data, meta)
        if work.given is not None and pristine.digest(sha256(work.given)) != sha256(work.given):
            pristine.put(sha256(work.given), work.given, meta)
        fresh = bytecode.fresh_mtime_ns(site, path, meta.mtime_ns or 0) if work.mtime_ns is None else work.mtime_ns
        meta = meta._replace(mtime_ns=fresh)
        if action != REMOVE:
            folder.write(temporary(path), work.data, meta)
    else:  # a file that is added
        fresh = bytecode.fresh_mtime_ns(site, path, 0)
        folder.write(temporary(path), work.data, Meta.inside(folder.fd)._replace(mtime_ns=fresh))
    folder.link_to(name, folder, backup(path))
