"""Long answers on a terminal go through the pager that the user has configured."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

# what a shell ends with where there is no such command, or one that cannot be run
_NOT_THERE = (
    126,
    127,
)


def pager() -> str:
    """The command line of the pager, "" for none.

    SITEPATCH_PAGER, else that of git (GIT_PAGER, core.pager, PAGER, less).
    """
    command = os.environ.get("SITEPATCH_PAGER")
    if command is None:
        with suppress(OSError, subprocess.SubprocessError):
            # what a repository sets for itself is no choice of its user
            query = ["git", "-C", "/", "var", "GIT_PAGER"]
            child = subprocess.run(
                query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=5
            )
            command = (
                child.stdout.decode("utf-8", "replace").strip() if child.returncode == 0 else None
            )
    if command is None:
        command = os.environ.get("PAGER", "less")
    return "" if command.strip() in ("", "cat") else command


def paged(page: str) -> bool:
    """Show text through the pager; that it is left early is no fault.

    Returns:
        whether the pager could be run.
    """
    command = pager()
    if not command:
        return False
    # as git does: leave at once what fits on one screen
    variables = {"LESS": "FRX", "LV": "-c", **os.environ}
    child = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=variables)
    with suppress(BrokenPipeError, KeyboardInterrupt):
        child.communicate(page.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
    while True:
        with suppress(KeyboardInterrupt):  # it is for the pager, which is what the user sees
            return child.wait() not in _NOT_THERE
