"""Environment + what is wanted -> a plan: reads the facts, `patcher.planner.plan` decides."""

from __future__ import annotations

from functools import lru_cache
from typing import Mapping, Sequence, Tuple

from patcher.facts import Assignment, Facts, FileStatus, TargetFile, Wanted
from patcher.installed.interpreter import Environment
from patcher.model import Plan, Receipt
from patcher.planner.assignments import Assigner, ReceiptsIn
from patcher.planner.plan import plan
from patcher.planner.rewriter import REWRITER
from patcher.planner.targets import read_added, read_patched, read_target
from patcher.store.status import statuses
from patcher.store.store import Store

_FileKey = Tuple[str, str]
"""A site directory, and the path of a file below it."""
_Receipts = Mapping[str, Mapping[str, Receipt]]
"""By site directory and path."""


def make_plan(env: Environment, wanted: Wanted, items: Sequence[FileStatus] | None = None) -> Plan:
    """Read an environment, and plan what is wanted of it.

    The arguments and errors are those of `read_facts` and `plan`.
    """
    facts = read_facts(env, wanted, items=items)
    made = plan(facts, wanted, rewriter=REWRITER)
    if not any(file.changes for file in made.files):
        return made
    # syntax trees are read only where something changes
    from patcher.planner.finished import with_package_checked

    return with_package_checked(made, facts)


def read_facts(
    env: Environment, wanted: Wanted, items: Sequence[FileStatus] | None = None
) -> Facts:
    """What the planner needs.

    Args:
        env: the environment.
        wanted: what is to become of it.
        items: the files in which patchsets are applied (`statuses`); None to look.

    Raises:
        PatchError: a hunk is wrong in itself.
        StoreError: a receipt or a pristine copy is invalid.
    """
    receipts_in = _receipts_reader(items)
    assigner = Assigner(env, receipts_in, of_project=wanted.reverted is None)
    assignments: dict[_FileKey, tuple[Assignment, ...]] = {}
    for requested in wanted.requested:
        for assignment in assigner.assignments(requested):
            key = (assignment.located.site, assignment.path)
            assignments[key] = (*assignments.get(key, ()), assignment)
    receipts = {site: receipts_in(site) for site, _ in assignments}
    files = _requested_files(assignments, receipts, wanted=wanted, items=items)

    patched: dict[_FileKey, TargetFile] = {}
    has_failed = any(answer.state.failed for answer in assigner.answers)
    if _reverts(wanted, has_failed=has_failed):
        others = items
        if others is None:
            others = statuses(env, but=assignments, read=receipts)
        for item in others:
            key = (item.site, item.receipt.path)
            if key not in files and _loses_a_patchset(item, wanted):
                patched[key] = read_patched(item, wanted)
    return Facts(
        assignments=assignments,
        files={**patched, **files},
        answers=tuple(assigner.answers),
        notes=tuple(assigner.notes),
    )


def _reverts(wanted: Wanted, *, has_failed: bool) -> bool:
    """Whether patchsets may go from files that the requested ones are not for."""
    if wanted.fresh or wanted.edits is not None:
        return False
    writes_nothing = wanted.reverted == () and has_failed
    return not writes_nothing


def _loses_a_patchset(item: FileStatus, wanted: Wanted) -> bool:
    """Whether a patchset goes from a file."""
    return any(wanted.goes(step.patchset) for _, step in item.patchsets)


def _requested_files(
    assignments: Mapping[_FileKey, Sequence[Assignment]],
    receipts: _Receipts,
    wanted: Wanted,
    items: Sequence[FileStatus] | None,
) -> dict[_FileKey, TargetFile]:
    """The files that the requested patchsets are for, in a fixed order."""
    items_by_key: dict[_FileKey, FileStatus] = {}
    for item in items or ():
        items_by_key[item.site, item.receipt.path] = item

    files: dict[_FileKey, TargetFile] = {}
    for key in sorted(assignments):
        site, path = key
        assignment = assignments[key][0]
        located = assignment.located
        receipt = receipts[site].get(path)
        if assignment.adds:
            files[key] = read_added(located, path, receipt=receipt, wanted=wanted)
        else:
            files[key] = read_target(
                located,
                path,
                receipt=receipt,
                wanted=wanted,
                item=items_by_key.get(key),
            )
    return files


def _receipts_reader(items: Sequence[FileStatus] | None) -> ReceiptsIn:
    """What returns the receipts of a site directory: those of `items`, or (None) of its store.

    A store is read once.
    """
    if items is None:
        return lru_cache(maxsize=None)(lambda site: Store(site).receipts())

    receipts: dict[str, dict[str, Receipt]] = {}
    for item in items:
        receipts.setdefault(item.site, {})[item.receipt.path] = item.receipt
    return lambda site: receipts.get(site, {})
