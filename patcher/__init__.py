"""sitepatch: patch installed Python packages by syntax, and restore every change exactly.

The verbs for Python programs: each takes names and keyword arguments, and returns a frozen outcome;
nothing is printed. What keeps a verb from doing its work is raised as
`patcher.errors.SitepatchError`, with a message and a hint. Hunks that do not fit are no exception:
they are in `PlanOutcome.plan.failed`, and nothing is written then. Progress goes to an `Events`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = [
    "Events",
    "Place",
    "ProjectFiles",
    "adopt",
    "apply",
    "capture",
    "check",
    "copy_release",
    "diagnose",
    "diff",
    "doctor",
    "edit",
    "export",
    "import_",
    "list_patchsets",
    "restore",
    "show",
    "status",
    "sync",
    "update",
]
_HOMES = {
    "Events": "place",
    "Place": "place",
    "ProjectFiles": "project.request",
    "adopt": "verbs.capture",
    "copy_release": "verbs.update",
    "list_patchsets": "verbs.list",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for: the command line must not pay for all verbs when it needs one."""
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    home = _HOMES.get(name, f"verbs.{name}")
    return getattr(import_module(f"{__name__}.{home}"), name)
