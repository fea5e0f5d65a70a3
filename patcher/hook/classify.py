"""Target files -> what a hook would do to each: a known file gets its precomputed change, for others it is said why not."""

from __future__ import annotations

import os
from collections import Counter
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from patcher.errors import SitepatchError, StoreError
from patcher.facts import Condition, FileStatus, sha256
from patcher.hook import boot
from patcher.hook.content import Hook, HookPatchset, Precomputed, find_change, load_unless_damaged
from patcher.hook.places import HOOK, folders
from patcher.model import Change, Located, OptionValue, Receipt, Step
from patcher.splice import apply_splices
from patcher.store.receipt import new_receipt
from patcher.store.status import classify, read_installed
from patcher.store.store import Store
from patcher.target.distribution import edited_message
from patcher.target.environment import blocker, locate
from patcher.target.interpreter import Environment
from patcher.target.record import recorded_hash
from patcher.text.release import release_name


class Classified(NamedTuple):
    """What was found.

    `changes` are to be made. `wrong` says why a patchset is not applied and cannot be, `unknown` which file of it is not
    known, both by the name of the patchset. `records` are the signatures of the RECORD files of the packages, and of hooks
    that are in the way. `before` is the sha256 of every watched file as found ("" for none), `expected` the one that it must
    have at the end, `sizes` are in bytes.
    """

    changes: Tuple[Change, ...]
    wrong: Dict[str, str]
    unknown: Dict[str, str]
    records: Dict[str, str]
    before: Dict[str, str]
    expected: Dict[str, str]
    sizes: Dict[str, int]

    @property
    def applied(self) -> Dict[str, int]:
        """The patchsets that the changes apply, and to how many files."""
        return Counter(step.patchset for each in self.changes if each.receipt for step in each.receipt.steps)


class _File(NamedTuple):
    """A target file that is there: its bytes, its package, its status by the receipt, the patchsets that name it."""

    path: str
    data: bytes
    located: Located
    item: Optional[FileStatus]
    patchsets: Tuple[HookPatchset, ...]


def classify_targets(site: str, hook: Hook, precomputed: Sequence[Precomputed]) -> Classified:
    """Compare every target file of a hook with what is requested; writes nothing.

    Raises:
        StoreError: a receipt or what the hook carries is invalid.
    """
    receipts = Store(site).receipts()
    texts = {path: read_installed(site, path) for path in hook.paths}
    before = {path: "" if data is None else sha256(data) for path, data in texts.items()}
    sizes = {path: len(data) for path, data in texts.items() if data is not None}
    found = Classified((), {}, {}, {}, before, dict(before), sizes)
    packages = _locate(site, hook, texts, found)
    changes: Dict[str, Change] = {}
    for path, names in hook.paths.items():
        data = texts[path]
        located = packages.get(path.split("/")[0].partition(".py")[0])
        if data is None or located is None:
            continue
        receipt = receipts.get(path)
        item = classify(site, receipt, data) if receipt else None
        file = _File(path, data, located, item, tuple(one for one in hook.patchsets if one.name in names))
        try:
            change = _classify(site, file, precomputed, _needed(hook))
        except SitepatchError as error:
            text = f"{path}: {error.message}; {error.hint}" if error.hint else f"{path}: {error.message}"
            problems = found.unknown if isinstance(error, Unknown) else found.wrong
            more = isinstance(error, UnknownRelease)
            problems.update((one.name, text + (_for_others(one, located.package) if more else "")) for one in file.patchsets)
        else:
            if change is not None:
                changes[path] = change
    _moved(hook, receipts.values(), found)
    _rivals(site, hook, found)
    return _closed(hook, changes, found)


class Unknown(SitepatchError):
    """A file is none of those that are known."""


class UnknownRelease(Unknown):
    """It is as its release has it, and that release is none that is known."""


def _locate(site: str, hook: Hook, texts: Dict[str, Optional[bytes]], found: Classified) -> Dict[str, Located]:
    """The packages that are there; why one is not found although its files are there goes into `found.wrong`."""
    env = Environment.alone(site)
    packages: Dict[str, Located] = {}
    for package in dict.fromkeys(package for one in hook.patchsets for package in one.paths):
        concerned = [one for one in hook.patchsets if package in one.paths]
        paths = [path for one in concerned for path in one.paths[package]]
        try:
            packages[package] = locate(env, package, paths)
        except SitepatchError as error:
            if any(texts[path] is not None for path in paths):
                found.wrong.update((one.name, f"{one.name}: {error.message}") for one in concerned)
        else:
            record = f"{os.path.basename(packages[package].dist_info)}/RECORD"
            if os.path.exists(f"{site}/{record}"):
                found.records[record] = boot.signature(f"{site}/{record}")
    return packages


def _needed(hook: Hook) -> str:
    version = hook.version.partition("+")[0]
    return f"to patch it sitepatch itself is needed, in this environment: pip install sitepatch=={version}"


def _for_others(one: HookPatchset, package: str) -> str:
    """What helps where the release is none that a patchset is for; "" where it is for every one."""
    versions = one.versions.get(package)
    what = f"; {one.name} is for {package} {versions}: any other release needs a hook that is made with a newer {one.name}"
    return what if versions else ""


def _classify(site: str, file: _File, precomputed: Sequence[Precomputed], needed: str) -> Optional[Change]:
    """What is to be done with one file, None for nothing; `needed` says what else would help.

    Raises:
        Unknown: only sitepatch itself can tell.
        SitepatchError: nothing can be done, and why.
    """
    path, item, located = file.path, file.item, file.located
    if item and item.condition in (Condition.EDITED, Condition.ASTRAY):
        raise SitepatchError(*item.why)
    live = item.receipt if item and item.condition is Condition.APPLIED else None
    names = [one.name for one in file.patchsets]
    mine = [step for step in live.steps if step.patchset in names] if live else []
    applied = [_key(step) for step in mine]
    entry = find_change(precomputed, path, live.pristine if live else sha256(file.data), located.version)
    if entry is None:
        if all((one.name, one.digest, dict(one.options)) in applied for one in file.patchsets):
            return None
        release = release_name(located.package, located.distribution, located.version)
        edited = "" if live else _edited(file)
        raise Unknown(edited) if edited else UnknownRelease(f"is not among the known files (here it is of {release})", needed)
    if applied == [_key(step) for step in entry.steps]:
        return None
    if live and (len(mine) < len(live.steps) or not entry.steps):
        raise Unknown("another patchset is applied in it, or another version of this one", needed)
    return _change(site, file, entry, live)


def _edited(file: _File) -> str:
    """The message for a file that is not what RECORD has; "" where it is, or nothing is recorded."""
    if recorded_hash(file.located, file.path) in (None, sha256(file.data)):
        return ""
    return "; ".join(edited_message(file.located, file.path))


def _key(step: Step) -> Tuple[str, str, Dict[str, OptionValue]]:
    return step.patchset, step.digest, dict(step.options)


def _change(site: str, file: _File, entry: Precomputed, live: Optional[Receipt]) -> Change:
    """The change of a known file, with the receipt that `apply` would write."""
    path, located = file.path, file.located
    if live:
        pristine, origin = Store(site).pristine(live.pristine), live.origin
    else:
        edited = _edited(file)
        if edited:
            raise SitepatchError(edited)
        pristine = file.data
        origin = "recorded" if recorded_hash(located, path) else "unrecorded"
    problem = blocker(located, path, Environment.alone(site))
    if problem:
        raise SitepatchError(problem)
    data = pristine
    for step in entry.steps:
        data = apply_splices(data, step.splices)
    if sha256(data) != entry.file.after:
        raise StoreError(f"{path}: the change that the hook carries is damaged", "install the hook again")
    new = new_receipt(located, path, live)._replace(pristine=entry.file.before, current=entry.file.after)
    receipt = new._replace(steps=entry.steps, origin=origin)
    return Change(path, sha256(file.data), data, receipt)


def _moved(hook: Hook, receipts: Iterable[Receipt], found: Classified) -> None:
    """Files that an earlier version of a patchset changed and this one does not: only sitepatch restores them."""
    watched, names = hook.paths, [one.name for one in hook.patchsets]
    for receipt in receipts:
        for step in receipt.steps:
            if step.patchset in names and step.patchset not in watched.get(receipt.path, ()):
                what = f"{receipt.path}: an earlier version of it is applied there; {_needed(hook)}"
                found.unknown.setdefault(step.patchset, what)


def _rivals(site: str, hook: Hook, found: Classified) -> None:
    """Patchsets that another hook keeps applied in another version or with other options: the first hook by name wins.

    Without that each would undo at every start what the other one did.
    """
    mine = {one.name: one for one in hook.patchsets}
    for folder in folders(Environment.alone(site)):
        installed = load_unless_damaged(folder)
        if isinstance(installed, StoreError):
            continue
        other, path = installed.hook, f"{folder}/{HOOK}"
        for one in other.patchsets:
            own = mine.get(one.name)
            if other.name < hook.name and own and (own.digest, dict(own.options)) != (one.digest, dict(one.options)):
                found.wrong[one.name] = (
                    f"{one.name}: {other.name} keeps it applied in another version or with other options; "
                    f"uninstall {other.name} or {hook.name}"
                )
                found.records[os.path.relpath(path, site)] = boot.signature(path)  # so that its end is seen


def _closed(hook: Hook, changes: Dict[str, Change], found: Classified) -> Classified:
    """Only the changes of patchsets that are known in every file; the others, and what shares a file, are left."""
    unknown = {name: text for name, text in found.unknown.items() if name not in found.wrong}
    while True:
        left = {*unknown, *found.wrong}
        more = [path for path in changes if left.intersection(hook.paths[path])]
        for path in more:
            del changes[path]
            names: List[str] = [name for name in hook.paths[path] if name not in left]
            what = f"{path}: shares it with a patchset that is not known there; {_needed(hook)}"
            unknown.update((name, what) for name in names)
        if not more:
            break
    expected = {**found.expected, **{path: sha256(change.data or b"") for path, change in changes.items()}}
    return found._replace(changes=tuple(changes[path] for path in sorted(changes)), unknown=unknown, expected=expected)
