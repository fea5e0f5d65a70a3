"""`status --verify`: what is applied is compiled, imported and probed in the target interpreter. Changes nothing."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Sequence, Tuple

from patcher.facts import FileStatus
from patcher.message import Message
from patcher.model import FilePlan, Patchset
from patcher.ops.change import verify_settings
from patcher.ops.events import SILENT, Events
from patcher.ops.outcome import VerifyRequest
from patcher.planner.survey import stored_patchset
from patcher.project.selection import check_names
from patcher.store.retry import settled
from patcher.store.status import applied_names, before_and_after, describe_unfinished, divide_names, statuses
from patcher.system.signals import stoppable
from patcher.target.interpreter import Environment
from patcher.text.listed import one_or_more
from patcher.verify import Verified
from patcher.verify.run import verify_files as run_checks


class VerifyOutcome(NamedTuple):
    """What verifying has shown: `notes` on unfinished runs, `idle` names are not applied, `gone` files are not as patched."""

    env: Environment
    patchsets: Tuple[str, ...]
    verified: Verified
    notes: Tuple[str, ...]
    idle: Tuple[str, ...]
    gone: Tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether all that was requested is applied and works."""
        return not (self.verified.failed or self.gone or self.idle)


def verify(request: VerifyRequest, events: Events = SILENT) -> VerifyOutcome:
    """Verify what is applied.

    Raises:
        UsageError: a name that nobody knows; a probe that cannot be run there or is not trusted.
        StoreError: a receipt or a stored patchset is invalid.
    """
    place, env = request.place, request.place.environment()
    events.started(env)

    def look() -> VerifyOutcome:
        waiting, items = describe_unfinished(env), statuses(env)
        applied = applied_names(items)
        idle, chosen = divide_names(applied, one_or_more(request.names))
        if idle:
            check_names(idle, applied, place.patch_dirs)
        patchsets = _stored(items, chosen)
        how = verify_settings(place, env, request.verify, patchsets, events)
        assert how is not None
        here = [item for item in items if any(step.patchset in chosen for step in item.receipt.steps)]
        files = [
            FilePlan(item.site, item.receipt.path, before_and_after(item.site, item.receipt, chosen)[0], item.data, None, ())
            for item in here
            if item.live
        ]
        gone = [
            Message("{item.receipt.path}: {item.condition.value}; see sitepatch status", item=item)
            for item in here
            if not item.live
        ]
        with stoppable():
            verified = run_checks(files, patchsets, how, written=True)
        return VerifyOutcome(env, tuple(chosen), verified, tuple(waiting), tuple(idle), tuple(gone))

    return settled(env, look)


def _stored(items: Sequence[FileStatus], names: Sequence[str]) -> List[Patchset]:
    """The patchsets as they are applied, from the copies in the stores; one of two versions counts twice."""
    found: Dict[str, Patchset] = {}
    for item in items:
        for step in item.receipt.steps:
            if step.patchset in names and step.digest not in found:
                found[step.digest] = stored_patchset(item.site, step)
    return list(found.values())
