"""The user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from shutil import rmtree
from typing import Callable

from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.verbs.console import Console


def open_editor(folder: Path, file: str = "") -> None:
    """Run the editor on a file of a directory, or on the directory, and wait for it.

    Raises:
        SitepatchError: there is none, or it failed.
    """
    variable = next((name for name in ("VISUAL", "EDITOR") if os.environ.get(name, "").strip()), "")
    if not variable:
        raise SitepatchError("found no editor: neither VISUAL nor EDITOR is set", "EDITOR=vi, say")
    command = os.environ[variable]
    try:
        code = subprocess.call([*shlex.split(command), file or "."], cwd=str(folder))
    except (OSError, ValueError) as error:
        problem = "{variable}={given}: it could not be run: {error}"
        raise SitepatchError(problem, "set {variable} to an editor", variable=variable, given=command, error=error) from None
    if code:
        template = "{variable}={given}: it ended with exit code {code}, nothing was captured"
        raise SitepatchError(template, "", variable=variable, given=command, code=code)


def edit_copies(console: Console, folder: Path, file: str, go_on: str, run: Callable[[], int]) -> int:
    """Open copies in the editor, then do with them what `run` does; they are removed once that has worked.

    Args:
        console: takes the note that they are kept.
        folder: the directory of the copies.
        file: the one that is opened, "" for the directory.
        go_on: the command that goes on from the copies.
        run: what is done with them; returns an exit code.

    Raises:
        SitepatchError: what `open_editor` and `run` raise, with a hint that says how to go on.
    """
    kept = Message("the copies are kept; go on with: {go_on}", go_on=go_on)
    try:
        open_editor(folder, file)
        code = run()
    except SitepatchError as error:
        error.hint = Message("{hint}\n{kept}", hint=error.hint, kept=kept).lstrip()
        raise
    if code:
        console.note(kept)
    else:
        rmtree(folder)
    return code
