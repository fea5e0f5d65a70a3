"""One change of one site directory, as a transaction of its own, and what a directory holds before and after it."""

import contextlib
import hashlib
import json
import os
import stat

from patcher.model import Change
from patcher.store import lock, patience, status
from patcher.store.folder import edited_copy
from patcher.store.journal import JournalEntry
from patcher.store.transaction import transaction

__all__ = ["commit", "commit_plan", "contents", "leave_journal", "locked", "recover", "save_edited", "temporary"]


@contextlib.contextmanager
def locked(folder, seconds):
    """The lock of an open site directory, that is waited for so long; what is taken inside, too."""
    with patience(seconds), lock.locked(folder) as home:
        yield home


def commit(site, changes, texts):
    """Carry changes out; returns what had to be recovered first, "" for nothing."""
    with transaction([str(site)]) as run:
        run.commit({str(site): changes}, texts)
        return "".join(run.recovered.values())


def recover(site):
    return status.recover(str(site))


def save_edited(site, path, data):
    """Have a commit keep a copy of an edited text, and do nothing else; returns its path."""
    file = site / path
    old = hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else ""
    commit(site, [Change(path, old, None, None, forget=True, aside=data)], {})
    return f"{site}/{edited_copy(path, data)}"


def commit_plan(plan, patchsets):
    """Carry a plan out."""
    changes = {}
    for file in plan.files:
        if file.to_commit:
            changes.setdefault(file.site, []).append(file.to_commit)
    with transaction(changes) as run:
        run.commit(changes, {patchset.folder.digest: patchset.folder.files for patchset in patchsets})


def leave_journal(site, phase="preparing", **entry):
    """Leave what a run that was killed leaves, by default before its commit point."""
    entry = {"old": "0" * 64, "new": "1" * 64, "link": "", "receipt": "", "folder": "", **entry}
    (site / ".sitepatch").mkdir(exist_ok=True)
    fields = {"format": 1, "sitepatch": "0", "phase": phase, "files": [entry], "named": []}
    (site / ".sitepatch/journal.json").write_text(json.dumps(fields))


def temporary(path, old="0" * 64, new="1" * 64):
    """The two names that a commit gives for a while beside a target: to what waits, and to what stood there."""
    entry = JournalEntry(str(path), old, new)
    return entry.temporary, entry.backup


def contents(site, pristine, times=True):
    """Everything below a site directory: kind, bytes, mode, and the mtime where a file has bytes of `pristine`.

    Left out: bytecode, what the lock file tells about its last holder, and how much spare space is left, which a restore may use up.
    """
    entries = {}
    for folder, folders, names in os.walk(site):
        for name in sorted([*folders, *names]):
            path = os.path.join(folder, name)
            inside, info = os.path.relpath(path, site), os.lstat(path)
            if stat.S_ISLNK(info.st_mode):
                entries[inside] = ("link", os.readlink(path), times and info.st_mtime_ns)
            elif stat.S_ISDIR(info.st_mode):
                entries[inside] = ("folder", "", stat.S_IMODE(info.st_mode))
            elif not name.endswith(".pyc") and inside != ".sitepatch/spare":
                with open(path, "rb") as file:
                    data = b"" if inside == ".sitepatch/lock" else file.read()
                entries[inside] = ("file", data, stat.S_IMODE(info.st_mode), times and data in pristine and info.st_mtime_ns)
    return entries
