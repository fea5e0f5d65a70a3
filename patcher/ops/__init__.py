"""The verbs of sitepatch for Python programs: each takes a frozen request and returns a frozen outcome; nothing is printed.

What keeps a verb from doing its work is raised as `patcher.errors.SitepatchError`, with a message and a hint. Hunks that do
not fit are no exception: they are in `Outcome.plan.failed`, and nothing is written then. Progress goes to an `Events`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from patcher.ops.change import apply, restore
    from patcher.ops.events import Events
    from patcher.ops.outcome import ApplyRequest, Outcome, RestoreRequest, VerifyRequest
    from patcher.ops.place import Place
    from patcher.ops.project import LockOutcome, LockRequest, SyncRequest, lock, sync
    from patcher.ops.verifying import VerifyOutcome, verify
    from patcher.project.request import ProjectFiles

_NAMES = {
    "change": ("ApplyRequest", "RestoreRequest", "apply", "restore"),
    "outcome": ("Outcome",),
    "events": ("Events",),
    "place": ("Place",),
    "project": ("LockOutcome", "LockRequest", "ProjectFiles", "SyncRequest", "lock", "sync"),
    "verifying": ("VerifyOutcome", "VerifyRequest", "verify"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
__all__ = [
    "ApplyRequest",
    "Events",
    "LockOutcome",
    "LockRequest",
    "Outcome",
    "Place",
    "ProjectFiles",
    "RestoreRequest",
    "SyncRequest",
    "VerifyOutcome",
    "VerifyRequest",
    "apply",
    "lock",
    "restore",
    "sync",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for: the command line must not pay for all verbs when it needs one."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
