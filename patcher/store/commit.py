"""Carries a plan out in all of its site directories or in none, and rolls it back."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from typing import Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence

from patcher.errors import StoreError
from patcher.facts import Condition, sha256
from patcher.model import Change, FilePlan, Patchset, Plan
from patcher.store.status import classify, read_installed
from patcher.store.store import Store
from patcher.system.signals import ignored


class Rollback(NamedTuple):
    """What undoes a commit: the plan that leads back, and the texts of the patchsets that were applied before, by digest."""

    plan: Plan
    texts: Mapping[str, Mapping[str, str]]


@contextmanager
def lock_sites(plan: Plan) -> Iterator[None]:
    """Keep other processes from writing to the site directories that a plan changes, until it is verified or rolled back.

    Raises:
        BusyError: another process did not end in time.
    """
    with ExitStack() as stack:  # always in the same order, so that no two wait for each other
        for site in sorted(_changes(plan.files), key=os.path.realpath):
            stack.enter_context(Store(site).locked())
        yield


def commit(plan: Plan, patchsets: Sequence[Patchset]) -> List[str]:
    """Carry a plan out in all of its site directories or in none; returns what had to be recovered first.

    Each of them is a commit of its own: a process that is killed between two of them leaves the first ones done.

    Raises:
        StoreError: a file is no longer what the plan saw, or the store cannot write. Nothing was changed; where there are
            several directories, the hint says that the others were rolled back.
        KeyboardInterrupt: the same of Ctrl-C; its text says it.
    """
    sites = _changes(plan.files)
    rollback = plan_rollback(plan) if len(sites) > 1 else None
    texts = {patchset.digest: patchset.files for patchset in patchsets}
    recovered: List[str] = []
    for number, (site, changes) in enumerate(sites.items(), 1):
        try:
            recovered.append(Store(site).commit(changes, texts))
        except (StoreError, KeyboardInterrupt) as error:
            if rollback is None:
                raise
            result = _roll_back_sites(rollback, list(sites)[:number])
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(result) from error
            error.hint = f"{error.hint}\n{result}".lstrip()
            raise
    return [sentence for sentence in recovered if sentence]


def plan_rollback(plan: Plan) -> Rollback:
    """How to undo the commit of a plan; to be called before it, for a commit drops what it replaces.

    A file in which nothing was applied gets its pristine bytes, mode and mtime back; any other, and one that was edited by
    hand until a patchset or a backup took the place of the edit, its bytes and its receipt of before. The receipt of a file
    that a reinstall had replaced already is of no use and is not restored; a file that had been deleted stays where it is put.

    Raises:
        StoreError: a receipt is invalid.
    """
    texts: Dict[str, Mapping[str, str]] = {}
    files: List[FilePlan] = []
    receipts = {site: Store(site).receipts() for site in _changes(plan.files)}
    for file in plan.files:
        if file.change is None or file.change.forget or not file.change.old:
            continue
        last = receipts[file.site].get(file.path)
        found = classify(file.site, last, file.before).condition if last else Condition.MISSING
        old = last if found in (Condition.APPLIED, Condition.EDITED) else None
        edited = found is Condition.EDITED
        adopted = file.change.pristine is not None  # then the file of before is not the pristine one
        unrecorded = last is None and file.change.receipt is None  # nothing else could roll it back
        data = file.before if old or adopted or unrecorded else None
        back = Change(file.path, sha256(file.after), data, old, merged=edited)
        files.append(FilePlan(file.site, file.path, file.after, file.before, back, old.steps if old else ()))
        for step in old.steps if old else ():
            with suppress(StoreError):  # a missing copy is an error only where the rollback is carried out
                texts[step.digest] = Store(file.site).patchset_files(step.digest)
    return Rollback(Plan(tuple(files), ()), texts)


def roll_back(rollback: Rollback) -> None:
    """Undo a commit, one site directory after the other.

    Raises:
        StoreError: a file was changed since, or the store cannot write; nothing was changed in that directory.
    """
    for site, changes in _changes(rollback.plan.files).items():
        Store(site).commit(changes, rollback.texts)


def _roll_back_sites(rollback: Rollback, sites: Sequence[str]) -> str:
    """Undo a commit in these directories, of which the last one may be unchanged; returns the sentence about the result."""
    files = [file for file in rollback.plan.files if file.site in sites]
    with ignored():
        for site, changes in _changes(files).items():
            with suppress(StoreError):  # the sentence names the files
                Store(site).commit(changes, rollback.texts)
    changed = [file for file in files if file.before != file.after and read_installed(file.site, file.path) == file.before]
    if changed:
        names = ", ".join(f"{file.site}/{file.path}" for file in changed)
        return f"it could not be rolled back everywhere, these files are changed: {names}"
    return f"it was rolled back, every file is as before this run, in {' and '.join(sites)}"


def _changes(files: Iterable[FilePlan]) -> Dict[str, List[Change]]:
    """The changes by site directory."""
    sites: Dict[str, List[Change]] = {}
    for file in files:
        if file.change is not None:
            sites.setdefault(file.site, []).append(file.change)
    return sites
