"""Carries a plan out, one store after the other, and undoes it."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from typing import Dict, List, Mapping, NamedTuple, Sequence

from patcher.errors import StoreError
from patcher.model import Change, FilePlan, Patchset, Plan
from patcher.store.status import Condition, classify
from patcher.store.store import Store


class Rollback(NamedTuple):
    """What undoes a commit: the plan that leads to what stood before, and the texts of the patchsets that stood then."""

    plan: Plan
    texts: Mapping[str, Mapping[str, str]]


def plan_rollback(plan: Plan) -> Rollback:
    """How to undo the commit of a plan; to be asked before it, for it drops what it replaces.

    A file that nothing stood in gets its pristine bytes, mode and mtime back; any other, and one that was edited by hand
    until a patchset or a backup took the place of the edit, the bytes and the receipt of before. The receipt
    of a file that a reinstall had replaced already is of no use and does not come back.

    Raises:
        StoreError: a receipt is invalid.
    """
    texts: Dict[str, Mapping[str, str]] = {}
    files: List[FilePlan] = []
    receipts = {site: Store(site).receipts() for site in {file.site for file in plan.files if file.change}}
    for file in plan.files:
        if file.change is None or file.change.forget:
            continue
        was = receipts[file.site].get(file.path)
        found = classify(file.site, was, file.before).condition if was else Condition.MISSING
        stood = was if found in (Condition.APPLIED, Condition.EDITED) else None
        edited = found is Condition.EDITED
        adopted = file.change.pristine is not None  # then the file of before is not the pristine one
        unrecorded = was is None and file.change.receipt is None  # nothing else could roll it back
        data = file.before if stood or adopted or unrecorded else None
        back = Change(file.path, sha256(file.after).hexdigest(), data, stood, merged=edited)
        files.append(FilePlan(file.site, file.path, file.after, file.before, back, stood.steps if stood else ()))
        for step in stood.steps if stood else ():
            with suppress(StoreError):  # a copy that is missing stands in the way only where the way back is taken
                texts[step.digest] = Store(file.site).patchset_files(step.digest)
    return Rollback(Plan(tuple(files), ()), texts)


def roll_back(way: Rollback) -> None:
    """Undo a commit, one store after the other.

    Raises:
        StoreError: a file was changed since, or the store cannot write; nothing was changed in that store.
    """
    _commit(way.plan, way.texts)


def commit(plan: Plan, patchsets: Sequence[Patchset]) -> List[str]:
    """Carry a plan out, one store after the other; returns what had to be recovered first.

    Raises:
        StoreError: a file is no longer what the plan saw, or the store cannot write; nothing was changed in that store.
    """
    return _commit(plan, {patchset.digest: patchset.files for patchset in patchsets})


def _commit(plan: Plan, texts: Mapping[str, Mapping[str, str]]) -> List[str]:
    said: List[str] = []
    sites: Dict[str, List[Change]] = {}
    for file in plan.files:
        if file.change is not None:
            sites.setdefault(file.site, []).append(file.change)
    for site, changes in sites.items():
        said.append(Store(site).commit(changes, texts))
    return [sentence for sentence in said if sentence]
