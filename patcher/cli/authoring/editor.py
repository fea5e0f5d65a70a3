"""The user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from patcher.errors import SitepatchError


def open_editor(folder: Path, file: str = "") -> None:
    """Run the editor on a file of a directory, or on the directory, and wait for it.

    Raises:
        SitepatchError: there is none, or it failed.
    """
    variable = next((each for each in ("VISUAL", "EDITOR") if os.environ.get(each, "").strip()), "")
    if not variable:
        raise SitepatchError("found no editor: neither VISUAL nor EDITOR is set", "EDITOR=vi, say")
    given = os.environ[variable]
    try:
        code = subprocess.call([*shlex.split(given), file or "."], cwd=str(folder))
    except (OSError, ValueError) as error:
        raise SitepatchError(f"{variable}={given}: it could not be run: {error}", f"set {variable} to an editor") from None
    if code:
        raise SitepatchError(f"{variable}={given}: it ended with exit code {code}, nothing was captured", "")
