"""One run over several site directories: where one of them fails, those before it are rolled back."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from typing import Dict, Iterator, List, Sequence, Tuple

from patcher.errors import StoreError
from patcher.model import FilePlan, Patchset, Plan
from patcher.store.commit import Rollback, commit, plan_rollback, roll_back
from patcher.store.status import read
from patcher.store.store import Store
from patcher.system.signals import ignored


@contextmanager
def held(plan: Plan) -> Iterator[None]:
    """Keep other processes from writing to the site directories that a plan changes, until it is verified or rolled back.

    Raises:
        BusyError: another process did not end in time.
    """
    with ExitStack() as stack:  # always in the same order, so that no two wait for each other
        for site in sorted({file.site for file in plan.files if file.change}, key=os.path.realpath):
            stack.enter_context(Store(site).held())
        yield


def commit_all(plan: Plan, patchsets: Sequence[Patchset]) -> List[str]:
    """Carry a plan out in all of its site directories or in none; returns what had to be recovered first.

    Each of them is a commit of its own: a process that is killed between two of them leaves the first ones done.

    Raises:
        StoreError: as `commit`; where there are several directories, the hint says that the others were rolled back too.
        KeyboardInterrupt: the same of Ctrl-C; its text says it.
    """
    parts = _by_site(plan)
    if len(parts) < 2:
        return commit(plan, patchsets)
    way = plan_rollback(plan)
    said: List[str] = []
    for number, part in enumerate(parts, 1):
        try:
            said += commit(part, patchsets)
        except (StoreError, KeyboardInterrupt) as error:
            outcome = _take_back(way, [each.files[0].site for each in parts[:number]])
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(outcome) from error
            error.hint = f"{error.hint}\n{outcome}".lstrip()
            raise
    return said


def _by_site(plan: Plan) -> List[Plan]:
    sites: Dict[str, Tuple[FilePlan, ...]] = {}
    for file in plan.files:
        if file.change is not None:
            sites[file.site] = (*sites.get(file.site, ()), file)
    return [Plan(files, ()) for files in sites.values()]


def _take_back(way: Rollback, sites: Sequence[str]) -> str:
    """Undo what was done in these directories; the last of them may have been changed, or not. Returns what became of it."""
    backs = [part for part in _by_site(way.plan) if part.files[0].site in sites]
    with ignored():
        for back in backs:
            with suppress(StoreError):  # told below by what it left behind
                roll_back(Rollback(back, way.texts))
    left = [f"{file.site}/{file.path}" for back in backs for file in back.files if _stands(file)]
    if left:
        return f"it could not be rolled back everywhere, these files are changed: {', '.join(left)}"
    return f"it was rolled back, every file is as before this run, in {' and '.join(sites)}"


def _stands(back: FilePlan) -> bool:
    return back.before != back.after and read(back.site, back.path) == back.before
