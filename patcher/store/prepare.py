"""All that a commit checks and writes before its commit point.

From a change to a file that only has to be renamed.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, suppress
from typing import AbstractSet, Mapping, Sequence

from patcher.errors import OutdatedError, StoreError
from patcher.facts import sha256
from patcher.message import Message, joined
from patcher.model import Change, NewBytes, Receipt
from patcher.record import Record
from patcher.store import bytecode, permission, receipt
from patcher.store.folder import EDITED, SPARE, Folder, Meta, edited_copy
from patcher.store.journal import JournalEntry, staged, sync_holders
from patcher.store.store import Store
from patcher.system.decode import is_sha256

# xfs asks for 200 KB of room before it makes a file, even an empty one.
# bytes set aside on every apply, so that a restore can write its journal on a full disk ...
_SPARE_SIZE = 1 << 19
# ... and so many more for each file: its two entries, in the journal and in the one that replaces
# it
_SPARE_EACH = 1 << 11


class NewContent(Record):
    """The bytes that a change brings: `data` the new ones, `copy` the pristine ones to be stored.

    `mtime_ns` is as in `Change`. `like` is the pristine copy that has the mode and the owner of a
    file which comes back, "" for none.
    """

    data: bytes = b""
    copy: bytes | None = None
    mtime_ns: int | None = None
    like: str = ""


class Work(Record):
    """A change that was checked, with what it takes to prepare it.

    `text` is the JSON of its receipt, b"" to drop the receipt; `back` the receipt of a file that is
    restored; `is_shared` says whether other files need the same pristine copy; `aside` is as in
    `Change`.
    """

    entry: JournalEntry
    content: NewContent = NewContent()
    text: bytes = b""
    back: Receipt | None = None
    is_shared: bool = False
    aside: bytes = b""


class _Stored(Record):
    """What a store holds, with what is about to be added to it.

    `uses` counts the files that need a pristine copy, `folders` are the directories that were made
    for added files, `texts` are the names of the patchsets.
    """

    receipts: Mapping[str, Receipt]
    uses: Mapping[str, int]
    folders: AbstractSet[str]
    texts: AbstractSet[str]


class _Goal(Record):
    """What becomes of a target: see `JournalEntry` and `Work`."""

    new: str
    link: str = ""
    content: NewContent = NewContent()
    back: Receipt | None = None
    is_shared: bool = False


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
        StoreError: a file is not as its change says (OutdatedError), or a change contradicts
            itself; all problems in one.
    """
    problems = _contradictions(changes, patchsets)
    stored = _stored(home, receipts, changes=changes, patchsets=patchsets)
    works: list[Work] = []
    kind = StoreError
    for change in changes:
        try:
            works.append(_work(site, change, stored=stored))
        except StoreError as error:
            problems.append(error.message)
            if isinstance(error, OutdatedError):
                kind = OutdatedError

    if problems:
        message = Message("{path}: {problems}", path=site.path, problems=joined("\n", problems))
        hint = Message(
            "nothing was changed; see what `sitepatch status` says, then run the command again"
        )
        raise kind(message, hint)

    return works


def _contradictions(
    changes: Sequence[Change],
    patchsets: Mapping[str, Mapping[str, str]],
) -> list[str]:
    """What is wrong with changes, whatever is on the disk."""
    problems: list[str] = []
    for digest in patchsets:
        if not is_sha256(digest):
            problems.append(Message("{digest!r}: expected the sha256 of a patchset", digest=digest))

    for path, count in Counter(change.path for change in changes).items():
        if count > 1:
            problems.append(Message("{path}: {count} changes for one file", path=path, count=count))

    return problems


def _stored(
    home: Folder,
    receipts: Mapping[str, Receipt],
    changes: Sequence[Change],
    patchsets: Mapping[str, Mapping[str, str]],
) -> _Stored:
    # A pristine copy that one file alone needs becomes that file; one that twins share has to be
    # copied.
    pristine_of = {path: record.pristine.sha256 for path, record in receipts.items()}
    for change in changes:
        if change.receipt and change.receipt.steps:
            pristine_of[change.path] = change.receipt.pristine.sha256

    texts = {f"{digest}.json" for digest in patchsets}
    with suppress(FileNotFoundError), home.sub("patchsets") as folder:
        texts.update(folder.names())

    return _Stored(
        receipts=receipts,
        uses=Counter(pristine_of.values()),
        folders={record.folder for record in receipts.values()},
        texts=texts,
    )


def _work(site: Folder, change: Change, stored: _Stored) -> Work:
    """The work for one change.

    Raises:
        StoreError: the file is not as the change says (OutdatedError), or the change contradicts
            itself.
    """
    old = stored.receipts.get(change.path)
    current = _target(site, change, was_deleted=old is not None and old.deletes)
    new, folder = _with_folder(site, change, old=old, folders=stored.folders)
    if change.forget:
        goal = _Goal(change.old)
    elif change.new is not None:
        goal = _writing(
            site,
            change,
            written=change.new,
            current=current,
            stored=stored,
        )
    elif old is None:
        raise StoreError("{path}: there is no receipt to restore it by", path=change.path)
    else:
        goal = _restoring(
            site,
            change,
            back=old,
            is_shared=stored.uses[old.pristine.sha256] > 1,
        )

    text = b""
    is_written = change.new is not None and not change.forget
    if new is not None and (is_written or not new.steps):
        text = receipt.encode_receipt(new)
        receipt.decode(text, receipt.file_name(change.path))  # or it could not be read back

    entry = JournalEntry(
        path=change.path,
        old=change.old,
        new=goal.new,
        link=goal.link,
        receipt=sha256(text) if text else "",
        folder=folder,
    )

    return Work(
        entry,
        content=goal.content,
        text=text,
        back=goal.back,
        is_shared=goal.is_shared,
        aside=change.aside,
    )


def _target(site: Folder, change: Change, *, was_deleted: bool) -> bytes:
    """The bytes of the target file, b"" if it is not there: `was_deleted` if a patchset did that.

    Raises:
        StoreError: it is not the one that the change is for.
    """
    problem = receipt.path_problem(change.path)
    if problem:
        raise StoreError("{path}: {problem}", path=change.path, problem=problem)

    data, current, link = _read_target(site, change)
    if current != change.old:
        template = "{path}: is not there any more"
        if current:
            template = "{path}: has changed since the plan was made"
        raise OutdatedError(template, path=change.path)

    new = change.receipt
    is_added = new is not None and new.pristine.origin == receipt.ADDED_FILE
    is_known = is_added or was_deleted
    if not current and change.new is not None and not is_known:
        template = "{path}: is not there, so it can only be restored or forgotten"
        raise StoreError(template, path=change.path)
    if new and link and new.pristine.sha256 == current and new.pristine.link != link:
        raise StoreError(
            "{path}: is a link to {link}, but its receipt says {recorded}",
            path=change.path,
            link=link,
            recorded=new.pristine.link or Message("a regular file"),
        )

    return data


def _read_target(site: Folder, change: Change) -> tuple[bytes, str, str]:
    """The bytes of the target file, their sha256, and where it leads if it is a link."""
    name = change.path.rpartition("/")[2]
    ignored: tuple[type[Exception], ...] = (FileNotFoundError,)
    if change.forget and not change.old:
        ignored = (FileNotFoundError, StoreError)  # something else may stand in its place
    try:
        folder = site.holder(change.path)
    except ignored:
        return b"", "", ""

    with folder:
        if folder.mounted(name):  # what it hides is neither replaced nor forgotten
            raise StoreError("{path}: {problem}", path=change.path, problem=permission.MOUNTED)

        link = folder.link(name)
        try:
            data = folder.read(name)
        except ignored:
            return b"", "", link

    return data, sha256(data), link


def _with_folder(
    site: Folder,
    change: Change,
    old: Receipt | None,
    folders: AbstractSet[str],
) -> tuple[Receipt | None, str]:
    """The receipt of a change, and the directory that goes with its file.

    That is the topmost one that was made for added files, or is to be made.

    If a receipt is written, it names the directory: whichever file in it is removed last, it goes
    too. A file may also be all that an uninstall has left of its package: its directory, once
    empty, could still be imported.
    """
    new = change.receipt
    if new and new.steps and new.pristine.origin == receipt.ADDED_FILE:
        folder = _new_folder(site, change.path, folders)
        return new._replace(folder=folder), folder
    if old is None:
        return new, ""

    top, is_inside, _ = change.path.partition("/")
    if is_inside and old.pristine.origin == receipt.ADDED_FILE:
        with suppress(FileNotFoundError, StoreError), site.sub(top) as package:
            if not package.has("__init__.py"):
                return new, top

    return new, old.folder


def _new_folder(site: Folder, path: str, folders: AbstractSet[str]) -> str:
    """The topmost directory above an added file that is one of `folders`, or is to be made.

    Raises:
        OutdatedError: its package is gone.
    """
    parts = path.split("/")[:-1]
    for depth in range(1, len(parts) + 1):
        folder = "/".join(parts[:depth])
        with site.holder(folder) as above:
            if folder in folders or (depth > 1 and not above.has(parts[depth - 1])):
                return folder
            if depth == 1 and not above.has(folder):
                raise OutdatedError("{path}: is not there any more", path=folder)

    return ""


def _writing(
    site: Folder,
    change: Change,
    written: NewBytes,
    current: bytes,
    stored: _Stored,
) -> _Goal:
    """New bytes in the place of the `current` ones.

    Raises:
        StoreError: the receipt is for other bytes, or names a patchset that is not stored.
    """
    new = change.receipt
    digest = "" if written.gone else sha256(written.data)
    if new is None:
        return _Goal(digest, content=NewContent(written.data, mtime_ns=written.mtime_ns))

    is_shared = stored.uses[new.pristine.sha256] > 1
    if not new.steps:
        content = NewContent(written.data, mtime_ns=written.mtime_ns)
        return _Goal(digest, content=content, is_shared=is_shared)
    if new.current != digest and not written.merged:
        raise StoreError("{path}: its receipt is for other bytes", path=change.path)

    copy = change.pristine
    if change.old and new.pristine.sha256 == change.old:
        copy = current
    if copy is not None and sha256(copy) != new.pristine.sha256:
        raise StoreError("{path}: its receipt is for other pristine bytes", path=change.path)

    if copy is None and new.pristine.origin != receipt.ADDED_FILE:
        Store(site.path).pristine(new.pristine.sha256)  # raises StoreError if it is not there
    for step in new.steps:
        if f"{step.digest}.json" not in stored.texts:
            raise StoreError(
                "{path}: the text of patchset {patchset!r} ({digest}) is missing",
                path=change.path,
                patchset=step.patchset,
                digest=step.digest,
            )

    content = NewContent(written.data, copy=copy)
    if not change.old and new.pristine.origin != receipt.ADDED_FILE:
        content = content._replace(like=new.pristine.sha256)
    return _Goal(digest, content=content, is_shared=is_shared)


def _restoring(
    site: Folder,
    change: Change,
    back: Receipt,
    *,
    is_shared: bool,
) -> _Goal:
    """The pristine file: the old link, the pristine copy itself, or a copy of it; or none."""
    if back.pristine.origin == receipt.ADDED_FILE:
        return _Goal("")

    pristine = back.pristine
    with site.holder(change.path) as folder:
        if pristine.link and folder.digest(pristine.link) == pristine.sha256:
            return _Goal(pristine.sha256, link=pristine.link, back=back)

    # a link leads nowhere now: restore the file itself
    content = NewContent(Store(site.path).pristine(pristine.sha256))
    return _Goal(pristine.sha256, content=content, back=back, is_shared=is_shared)


def check_possible(site: Folder, works: Sequence[Work]) -> None:
    """Raise StoreError with everything that keeps `works` from being done: permissions, room.

    For a restore the room is not checked: it has to work on a full disk.
    """
    paths: list[str] = []
    moved: set[str] = set()
    for work in works:
        if not work.entry.stays:
            paths.append(work.entry.path)
        if not work.entry.old or (work.back and not work.is_shared):
            moved.add(work.entry.path)

    problems = permission.obstacles(site, paths, moved=moved)
    # its name is made or removed
    for folder in sorted({work.entry.folder for work in works} - {""}):
        problems += permission.obstacles_above(site, folder)

    if any(work.text for work in works):
        problems += permission.no_room(site, _sizes(works))
    if problems:
        raise StoreError(joined("\n", problems), "nothing was changed")


def _sizes(works: Sequence[Work]) -> list[int]:
    """The sizes in bytes of all files that are written before the commit point."""
    sizes = [_SPARE_SIZE + 2 * _SPARE_EACH * len(works)]
    for work in works:
        sizes += [len(work.content.data), len(work.text), _SPARE_EACH]
        if work.content.copy:
            sizes.append(len(work.content.copy))
        if work.aside:
            sizes.append(len(work.aside))

    return sizes


def use_spare(home: Folder, works: Sequence[Work]) -> None:
    """Before a restore, give the space that was set aside to the journal that follows."""
    if not any(work.text for work in works):
        home.remove(SPARE)


def prepare(
    site: Folder,
    home: Folder,
    works: Sequence[Work],
    patchsets: Mapping[str, Mapping[str, str]],
) -> None:
    """Write pristine copies, temporary files, receipts and patchset texts to the disk.

    The journal must name every file of `works` already, so that what is written here can be found
    and removed.
    """
    with ExitStack() as stack:
        names = ("pristine", "receipts", "patchsets")
        pristine, receipts, texts = [stack.enter_context(home.make(name)) for name in names]
        for digest, files in patchsets.items():
            texts.put(f"{digest}.json", receipt.encode_fields({"files": dict(files)}))

        for work in works:
            if work.text:
                receipts.write(staged(work.entry.path), work.text)
            if work.aside:
                _keep_aside(site, home, work)
            _prepare_target(site, pristine, work)

        sync_holders(site, [work.entry.path for work in works if not work.entry.stays])
        if any(work.text for work in works):
            _set_aside(home, _SPARE_SIZE + _SPARE_EACH * len(receipts.names()))
        for folder in (pristine, receipts, texts):
            folder.sync()


def _set_aside(home: Folder, size: int) -> None:
    """Keep so many bytes of room for a restore."""
    if not home.has(SPARE) or len(home.own(SPARE)) < size:
        home.put(SPARE, bytes(size))


def _keep_aside(site: Folder, home: Folder, work: Work) -> None:
    """Save a copy of an edited text; it stays until somebody removes it."""
    name = edited_copy(work.entry.path, work.aside).rpartition("/")[2]
    meta = Meta(mode=0o600)
    with suppress(FileNotFoundError), site.holder(work.entry.path) as folder:
        meta = folder.look(work.entry.name)[1]

    with home.make(EDITED) as edited:
        if edited.digest(name) != sha256(work.aside):
            edited.put(name, work.aside, meta=meta)
        edited.sync()


def _prepare_target(site: Folder, pristine: Folder, work: Work) -> None:
    """Write what waits beside a target, and the pristine copy; remove stale bytecode."""
    entry = work.entry
    if entry.stays and work.content.copy is None:
        return

    with site.holder(entry.path, entry.folder) as folder:
        if work.back:
            _prepare_pristine(folder, pristine, work=work, back=work.back)
        else:
            _prepare_new(site, folder, pristine=pristine, work=work)

        if not entry.stays:
            folder.link_to(entry.name, folder, new=entry.backup)

    if not entry.stays:
        # now, while it can fail without harm, and again after the rename
        bytecode.purge(site, entry.path)


def _prepare_pristine(
    folder: Folder,
    pristine: Folder,
    work: Work,
    back: Receipt,
) -> None:
    """Have the pristine file wait beside its target: the link it was, the copy, or a copy of it."""
    entry = work.entry
    if entry.link:
        folder.make_link(entry.temporary, entry.link, mtime_ns=back.pristine.mtime_ns)
        return

    meta = pristine.look(entry.new)[1]
    # else mode and mtime are those of the link, and the copy has those of what it led to
    if not back.pristine.link:
        meta = meta._replace(mode=back.pristine.mode, mtime_ns=back.pristine.mtime_ns)
    if not work.is_shared and pristine.link_to(entry.new, folder, new=entry.temporary):
        folder.stamp(entry.temporary, meta)
    else:
        folder.write(entry.temporary, work.content.data, meta=meta)


def _prepare_new(
    site: Folder,
    folder: Folder,
    pristine: Folder,
    work: Work,
) -> None:
    """Have new bytes wait beside their target, and keep the pristine copy of what is there.

    Raises:
        StoreError: the target was changed by somebody else.
    """
    entry, content = work.entry, work.content
    if not entry.old and content.like:
        meta = pristine.look(content.like)[1]
    elif not entry.old:
        meta = Meta.inside(folder.fd)
    else:
        data, meta = folder.look(entry.name)
        if sha256(data) != entry.old:
            raise StoreError(
                "{path}: {file} was changed by somebody else while sitepatch was at work",
                path=folder.path,
                file=entry.path,
            )

    if content.copy is not None and not _has_copy(pristine, work, meta=meta):
        pristine.put(sha256(content.copy), content.copy, meta=meta)
    if entry.stays or not entry.new:
        return

    mtime_ns = content.mtime_ns
    if mtime_ns is None:
        mtime_ns = bytecode.fresh_mtime_ns(site, entry.path, old_ns=meta.mtime_ns or 0)
    folder.write(entry.temporary, content.data, meta=meta._replace(mtime_ns=mtime_ns))


def _has_copy(pristine: Folder, work: Work, meta: Meta) -> bool:
    """Whether the pristine copy of a file is stored; that of twins has the metadata of one."""
    digest = sha256(work.content.copy or b"")
    if pristine.digest(digest) != digest:
        return False

    stored = pristine.look(digest)[1]
    same = (stored.uid, stored.gid, stored.xattrs) == (meta.uid, meta.gid, meta.xattrs)
    return same or work.is_shared
