"""Where the hooks in an environment lie, and what they are called."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, List, Sequence

from patcher.errors import SitepatchError
from patcher.system.reading import read_file

if TYPE_CHECKING:
    from patcher.installed.interpreter import Environment

HOOK, PATCHSETS = "hook.json", "patchsets"
"""What lies in the folder of a hook, as in the directory that it is made from (`patcher.hook.backend`)."""


def hook_folders(env: Environment) -> List[str]:
    """The folder of every hook in the site directories of an environment."""
    sites = [site for site in env.sites if os.path.isdir(site)]
    return [f"{site}/{name}" for site in sites for name in sorted(os.listdir(site)) if _is_hook(site, name)]


def _is_hook(site: str, name: str) -> bool:
    """Whether sitepatch made it and wrote its name into one of both files: others may have a hook.json, ours be damaged."""
    if name.startswith("_") and os.path.isfile(f"{site}/{name}/{HOOK}"):
        for path in (HOOK, "__init__.py"):
            with suppress(OSError, SitepatchError):
                if b"sitepatch" in read_file(f"{site}/{name}/{path}"):
                    return True
    return False


def hook_name(folder: str) -> str:
    """The name of the hook in a folder."""
    return os.path.basename(folder)[1:].replace("_", "-")


def hooks_for(env: Environment, names: Sequence[str]) -> List[str]:
    """The names of the hooks that keep one of these patchsets applied."""
    folders = hook_folders(env)
    return [hook_name(path) for path in folders if any(os.path.isdir(f"{path}/{PATCHSETS}/{name}") for name in names)]
