"""All that a commit checks and writes before its commit point: from a change to a file that has only to be renamed."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, suppress
from typing import AbstractSet, Mapping, NamedTuple, Sequence

from patcher.errors import OutdatedError, StoreError
from patcher.facts import sha256
from patcher.message import Message, joined
from patcher.model import Change, NewBytes, Receipt
from patcher.store import bytecode, permission, receipt
from patcher.store.folder import EDITED, SPARE, Folder, Meta, edited_copy
from patcher.store.journal import JournalEntry, staged, sync_holders
from patcher.store.store import Store
from patcher.system.decode import is_sha256

# xfs asks for 200 KB of room before it makes a file, even an empty one.
# bytes set aside on every apply, so that a restore can write its journal on a full disk ...
_SPARE_SIZE = 1 << 19
# ... and so many more for each file: its two entries, in the journal and in the one that replaces it
_SPARE_EACH = 1 << 11


class Work(NamedTuple):
    """A change that was checked, with what it takes to prepare it.

    `text` is the JSON of its receipt, b"" to drop the receipt; `data` the new bytes; `copy` the pristine bytes to be stored;
    `back` the receipt of a file that is restored, `shared` whether other files need the same pristine copy; `aside` and
    `mtime_ns` as in `Change`.
    """

    entry: JournalEntry
    text: bytes = b""
    data: bytes = b""
    copy: bytes | None = None
    back: Receipt | None = None
    shared: bool = False
    aside: bytes = b""
    mtime_ns: int | None = None


def plan_work(
    site: Folder,
    home: Folder,
    receipts: Mapping[str, Receipt],
    changes: Sequence[Change],
    patchsets: Mapping[str, Mapping[str, str]],
) -> list[Work]:
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
    problems: list[str] = [
        Message("{digest!r}: expected the sha256 of a patchset", digest=digest)
        for digest in patchsets
        if not is_sha256(digest)
    ]
    for path, count in Counter(change.path for change in changes).items():
        if count > 1:
            problems.append(Message("{path}: {count} changes for one file", path=path, count=count))
    # A pristine copy that one file alone needs becomes that file; one that twins share has to be copied.
    pristine_of = {path: record.pristine.sha256 for path, record in receipts.items()}
    pristine_of.update(
        (change.path, change.receipt.pristine.sha256)
        for change in changes
        if change.receipt and change.receipt.steps
    )
    needed = Counter(pristine_of.values())
    made = {record.folder for record in receipts.values()}
    texts = {f"{digest}.json" for digest in patchsets}
    with suppress(FileNotFoundError), home.sub("patchsets") as stored:
        texts.update(stored.names())
    works: list[Work] = []
    kind = StoreError
    for change in changes:
        try:
            current = _target(site, change)
            back = receipts.get(change.path)
            change, folder = _with_folder(site, back, made, change)
            if change.forget:
                work = Work(JournalEntry(change.path, change.old, change.old))
            elif change.new is not None:
                work = _writing(site, change, change.new, current=current, texts=texts)
                shared = change.receipt and needed[change.receipt.pristine.sha256] > 1
                work = work._replace(shared=bool(shared))
            elif back is None:
                raise StoreError("{path}: there is no receipt to restore it by", path=change.path)
            else:
                work = _restoring(site, change, back, shared=needed[back.pristine.sha256] > 1)
            if change.receipt and not change.receipt.steps:
                work = _with_receipt(work, change.receipt)
            entry = work.entry._replace(folder=folder)
            works.append(work._replace(entry=entry, aside=change.aside))
        except StoreError as error:
            problems.append(error.message)
            kind = OutdatedError if isinstance(error, OutdatedError) else kind
    if problems:
        hint = Message(
            "nothing was changed; see what `sitepatch status` says, then run the command again"
        )
        raise kind(
            Message("{path}: {problems}", path=site.path, problems=joined("\n", problems)), hint
        )
    return works


def _target(site: Folder, change: Change) -> bytes:
    """The bytes of the target file, b"" where it is not there; StoreError unless it is the one that the change is for."""
    path, name = change.path, change.path.rpartition("/")[2]
    problem = receipt.path_problem(path)
    if problem:
        raise StoreError("{path}: {problem}", path=path, problem=problem)
    is_forgotten = change.forget and not change.old
    data, current, link = b"", "", ""
    ignored = (FileNotFoundError, StoreError) if is_forgotten else (FileNotFoundError,)
    with ExitStack() as stack:
        folder = None
        with suppress(*ignored):  # the package is not there, or something else stands in its place
            folder = stack.enter_context(site.holder(path))
        if folder and folder.mounted(name):  # what it hides is neither replaced nor forgotten
            raise StoreError("{path}: {place}", path=path, place=permission.MOUNTED)
        if folder:
            link = folder.link(name)
            with suppress(*ignored):
                data = folder.read(name)
                current = sha256(data)
    if current != change.old:
        raise OutdatedError(
            "{path}: has changed since the plan was made"
            if current
            else "{path}: is not there any more",
            path=path,
        )
    new = change.receipt
    if (
        not current
        and change.new is not None
        and not (new and new.pristine.origin == receipt.ADDED_FILE)
    ):
        raise StoreError("{path}: is not there, so it can only be restored or forgotten", path=path)
    if new and link and new.pristine.sha256 == current and new.pristine.link != link:
        raise StoreError(
            "{path}: is a link to {link}, but its receipt says {recorded}",
            path=path,
            link=link,
            recorded=new.pristine.link or Message("a regular file"),
        )
    return data


def _with_folder(
    site: Folder, old: Receipt | None, made: AbstractSet[str], change: Change
) -> tuple[Change, str]:
    """The change, and the topmost directory above its file that was made for added files or is to be made, "" for none.

    Where it writes a receipt, that names the directory: whichever file in it is removed last, it goes too. A file may also
    be all that an uninstall has left of its package: its directory, once empty, could still be imported.
    """
    new = change.receipt
    if not (new and new.steps and new.pristine.origin == receipt.ADDED_FILE):
        top, inside, _ = change.path.partition("/")
        if inside and old and old.pristine.origin == receipt.ADDED_FILE:
            with suppress(FileNotFoundError, StoreError), site.sub(top) as package:
                return change, old.folder if package.has("__init__.py") else top
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


def _writing(
    site: Folder, change: Change, written: NewBytes, current: bytes, texts: AbstractSet[str]
) -> Work:
    """Return the work for new bytes in the place of the current ones; `texts` are the names of stored patchsets."""
    new, data = change.receipt, written.data
    entry = JournalEntry(change.path, change.old, sha256(data))
    if new is None or not new.steps:
        return Work(entry, data=data, mtime_ns=written.mtime_ns)
    if new.current != entry.new and not written.merged:
        raise StoreError("{path}: its receipt is for other bytes", path=change.path)
    copy = current if new.pristine.sha256 == change.old else change.pristine
    if copy is None and new.pristine.origin != receipt.ADDED_FILE:
        Store(site.path).pristine(new.pristine.sha256)  # it is there
    elif copy is not None and sha256(copy) != new.pristine.sha256:
        raise StoreError("{path}: its receipt is for other pristine bytes", path=change.path)
    for step in new.steps:
        if f"{step.digest}.json" not in texts:
            raise StoreError(
                "{path}: the text of patchset {patchset!r} ({digest}) is missing",
                path=change.path,
                patchset=step.patchset,
                digest=step.digest,
            )
    return _with_receipt(Work(entry, data=data, copy=copy), new)


def _with_receipt(work: Work, new: Receipt) -> Work:
    """The work, with a receipt to write; StoreError where that could not be read back."""
    encoded = receipt.encode_receipt(new)
    receipt.decode(encoded, receipt.file_name(work.entry.path))
    return work._replace(entry=work.entry._replace(receipt=sha256(encoded)), text=encoded)


def _restoring(site: Folder, change: Change, back: Receipt, *, shared: bool) -> Work:
    """Return the work for the pristine file: the old link, the pristine copy itself, or a copy of it; or for none."""
    if back.pristine.origin == receipt.ADDED_FILE:
        return Work(JournalEntry(change.path, change.old, ""))
    entry = JournalEntry(change.path, change.old, back.pristine.sha256)
    with site.holder(change.path) as folder:
        if back.pristine.link and folder.digest(back.pristine.link) == back.pristine.sha256:
            return Work(entry._replace(link=back.pristine.link), back=back)
    # a link leads nowhere now: restore the file itself
    data = Store(site.path).pristine(back.pristine.sha256)
    return Work(entry, data=data, back=back, shared=shared)


def check_possible(site: Folder, works: Sequence[Work]) -> None:
    """Raise StoreError with everything that would keep `works` from being done: permissions, and the room to apply.

    For a restore the room is not checked: it has to work on a full disk.
    """
    moved = {
        work.entry.path for work in works if not work.entry.old or (work.back and not work.shared)
    }
    problems = permission.obstacles(
        site, [work.entry.path for work in works if not work.entry.stays], moved
    )
    # its name is made or removed
    for folder in sorted({work.entry.folder for work in works} - {""}):
        problems += permission.obstacles_above(site, folder)
    if any(work.text for work in works):
        sizes = [size for work in works for size in (len(work.data), len(work.text), _SPARE_EACH)]
        copies = [len(copy) for work in works for copy in (work.copy, work.aside) if copy]
        problems += permission.no_room(
            site, [_SPARE_SIZE + 2 * _SPARE_EACH * len(works), *sizes, *copies]
        )
    if problems:
        raise StoreError(joined("\n", problems), "nothing was changed")


def use_spare(home: Folder, works: Sequence[Work]) -> None:
    """Before a restore, give the space that was set aside to the journal that follows."""
    if not any(work.text for work in works):
        home.remove(SPARE)


def prepare(
    site: Folder, home: Folder, works: Sequence[Work], patchsets: Mapping[str, Mapping[str, str]]
) -> None:
    """Write pristine copies, temporary files, receipts and patchset texts, and wait until all are on the disk.

    The journal must name every file of `works` already, so that what is written here can be found and removed.
    """
    with home.make("pristine") as pristine, home.make("receipts") as receipts, home.make(
        "patchsets"
    ) as texts:
        for digest, files in patchsets.items():
            texts.put(f"{digest}.json", receipt.encode_fields({"files": dict(files)}))
        for work in works:
            if work.text:
                receipts.write(staged(work.entry.path), work.text)
            if work.aside:
                _keep_aside(site, home, work)
            if not work.entry.stays or work.copy is not None:
                with site.holder(work.entry.path, work.entry.folder) as folder:
                    _prepare_file(site, folder, pristine, work)
            if work.entry.stale and not work.entry.stays:
                # now, while it can fail without harm, and again after the rename
                bytecode.purge(site, work.entry.path)
        sync_holders(site, [work.entry.path for work in works if not work.entry.stays])
        spare = _SPARE_SIZE + _SPARE_EACH * len(receipts.names())
        if any(work.text for work in works) and (
            not home.has(SPARE) or len(home.own(SPARE)) < spare
        ):
            home.put(SPARE, bytes(spare))
        for written in (pristine, receipts, texts):
            written.sync()


def _keep_aside(site: Folder, home: Folder, work: Work) -> None:
    """Save a copy of an edited text; it outlives everything else of the store, until somebody removes it."""
    name, meta = edited_copy(work.entry.path, work.aside).rpartition("/")[2], Meta(mode=0o600)
    with suppress(FileNotFoundError), site.holder(work.entry.path) as folder:
        meta = folder.look(work.entry.name)[1]
    with home.make(EDITED) as edited:
        if edited.digest(name) != sha256(work.aside):
            edited.put(name, work.aside, meta)
        edited.sync()


def _has_copy(pristine: Folder, work: Work, meta: Meta) -> bool:
    """Whether the pristine copy of a file is stored, with its owner and attributes; that of twins has those of one."""
    digest = sha256(work.copy or b"")
    if pristine.digest(digest) != digest:
        return False
    stored = pristine.look(digest)[1]
    same = (stored.uid, stored.gid, stored.xattrs) == (meta.uid, meta.gid, meta.xattrs)
    return same or work.shared


def _prepare_file(site: Folder, folder: Folder, pristine: Folder, work: Work) -> None:
    entry, back, waiting = work.entry, work.back, work.entry.temporary
    if back and entry.link:
        folder.make_link(waiting, entry.link, back.pristine.mtime_ns)
    elif back:
        meta = pristine.look(entry.new)[1]
        # else mode and mtime are those of the link, and the copy has those of what it led to
        if not back.pristine.link:
            meta = meta._replace(mode=back.pristine.mode, mtime_ns=back.pristine.mtime_ns)
        if not work.shared and pristine.link_to(entry.new, folder, waiting):
            folder.stamp(waiting, meta)
        else:
            folder.write(waiting, work.data, meta)
    else:
        data, meta = folder.look(entry.name) if entry.old else (b"", Meta.inside(folder.fd))
        if entry.old and sha256(data) != entry.old:
            raise StoreError(
                "{path}: {file} was changed by somebody else while sitepatch was at work",
                path=folder.path,
                file=entry.path,
            )
        if work.copy is not None and not _has_copy(pristine, work, meta):
            pristine.put(sha256(work.copy), work.copy, meta)
        if entry.stays:
            return
        if entry.new:
            fresh = (
                bytecode.fresh_mtime_ns(site, entry.path, meta.mtime_ns or 0)
                if work.mtime_ns is None
                else work.mtime_ns
            )
            folder.write(waiting, work.data, meta._replace(mtime_ns=fresh))
    folder.link_to(entry.name, folder, entry.backup)
