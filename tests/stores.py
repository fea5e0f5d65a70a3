"""One change of one site directory, as a transaction of its own."""

from patcher.store import transaction as module
from patcher.store.transaction import transaction

__all__ = ["commit", "commit_plan", "recover", "save_edited"]


def commit(site, changes, texts, timeout=None):
    """Carry changes out; returns what had to be recovered first, "" for nothing."""
    with transaction([str(site)], timeout) as run:
        run.commit({str(site): changes}, texts)
        return "".join(run.recovered.values())


def recover(site, timeout=None):
    return module.recover(str(site), timeout)


def save_edited(site, path, data):
    with transaction([str(site)]) as run:
        return run.save_edited(str(site), path, data)


def commit_plan(plan, patchsets):
    """Carry a plan out."""
    changes = {}
    for file in plan.files:
        if file.change:
            changes.setdefault(file.site, []).append(file.change)
    with transaction(changes) as run:
        run.commit(changes, {patchset.digest: patchset.files for patchset in patchsets})
