"""The editor that a verb opens on copies of files, and what becomes of those copies."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Callable

from patcher.author.copies import kept_copies
from patcher.display.console import Console
from patcher.errors import SitepatchError
from patcher.message import Message

_VARIABLES = ("VISUAL", "EDITOR")
_EDITORS = ("editor", "vi", "nano", "vim", "emacs")
"""What is opened on a terminal where no variable names an editor; Debian links the first one."""
_AT_ONCE = 2.0
"""Seconds; an editor that ends sooner, with nothing saved, has opened a window and lives on."""


# which one, and opening it ------------------------------------------------------------------------
def open_editor(console: Console, folder: Path, file: str = "") -> None:
    """Run the editor on a file of a directory, or on the directory, and wait until it is saved.

    Raises:
        SitepatchError: there is none, or it failed.
    """
    given, command = _editor(console)
    before = _saved(folder)
    start = time.monotonic()
    try:
        code = subprocess.call([*shlex.split(command), file or "."], cwd=str(folder))
    except FileNotFoundError:
        problem = "{given}: there is no such program"
        raise SitepatchError(problem, _next_step(), given=given) from None
    except (OSError, ValueError) as error:
        problem = "{given}: it could not be run: {error}"
        raise SitepatchError(problem, _next_step(), given=given, error=error) from None
    if code:
        template = "{given}: it ended with exit code {code}, nothing was captured"
        raise SitepatchError(template, given=given, code=code)

    at_once = time.monotonic() - start < _AT_ONCE
    if at_once and console.asks and _saved(folder) == before:
        console.pause(Message("press Enter once the file is saved and closed"))


def _editor(console: Console) -> tuple[str, str]:
    """How the editor is named to the user, and the command that runs it.

    Raises:
        SitepatchError: none is named, and nobody could use one that is installed.
    """
    for variable in _VARIABLES:
        command = os.environ.get(variable, "")
        if command.strip():
            return f"{variable}={command}", command
    for command in _EDITORS if console.asks else ():
        if shutil.which(command):
            text = "neither VISUAL nor EDITOR is set: opening {command}"
            console.note(Message(text, command=command))
            return command, command
    raise SitepatchError("found no editor: neither VISUAL nor EDITOR is set", _next_step())


def _next_step() -> str:
    """A line that sets an editor which is there."""
    there = [command for command in ("nano", "vi", "vim", "emacs") if shutil.which(command)]
    editor = there[0] if there else "vi"
    return Message(
        "name an editor that waits until the file is closed: export EDITOR={editor}", editor=editor
    )


def _saved(folder: Path) -> dict[str, tuple[int, int, int]]:
    """What tells, for each file of a directory, whether it was saved."""
    states = {}
    for path in folder.rglob("*"):
        state = path.lstat()  # an editor's lock may be a link to nowhere
        states[str(path)] = (state.st_mtime_ns, state.st_size, state.st_ino)
    return states


# the copies ---------------------------------------------------------------------------------------
def earlier_copies(console: Console, key: str, go_on: Callable[[Path], str]) -> Path | None:
    """The copies of an earlier edit with which to go on, where somebody is there who wants that.

    Args:
        console: asks, or takes a note of them.
        key: what was edited (see `kept_copies`).
        go_on: the command that captures a directory of copies.
    """
    for folder in kept_copies(key):
        if not console.asks:
            text = "copies of an earlier edit are kept; to capture them: {command}"
            console.note(Message(text, command=go_on(folder)))
            continue
        question = Message("go on with the copies of an earlier edit, in {folder}?", folder=folder)
        if console.confirm(question, default=True):
            return folder
    return None


def edit_copies(
    console: Console, folder: Path, *, file: str, go_on: str, run: Callable[[], int]
) -> int:
    """Open copies in the editor, then do with them what `run` does.

    They are removed once that has worked.

    Args:
        console: takes the note that they are kept.
        folder: the directory of the copies.
        file: the one that is opened, "" for the directory.
        go_on: the command that goes on from the copies.
        run: what is done with them; returns an exit code.

    Raises:
        SitepatchError: what `open_editor` and `run` raise, with a hint that says how to go on.
        KeyboardInterrupt, OSError: what they raise; how to go on is noted before.
    """
    kept = Message("the copies are kept; go on with: {go_on}", go_on=go_on)
    try:
        open_editor(console, folder, file)
        code = run()
    except SitepatchError as error:
        error.hint = Message("{hint}\n{kept}", hint=error.hint, kept=kept).lstrip()
        raise
    except (KeyboardInterrupt, OSError):  # an hour of editing is not lost for a full disk
        console.note(kept)
        raise
    if code:
        console.note(kept)
    else:
        shutil.rmtree(folder)
    return code
