"""The folders of the hooks in an environment, how they are called, and what is in each: hook.json, kept.json, patchsets."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, List, Sequence

from patcher.errors import SitepatchError
from patcher.system.reading import read_file

if TYPE_CHECKING:
    from patcher.target.interpreter import Environment

HOOK, PRECOMPUTED, PATCHSETS = "hook.json", "kept.json", "patchsets"


def folders(env: Environment) -> List[str]:
    """The folder of every hook in the site directories of an environment."""
    found = []
    for site in env.sites:
        if os.path.isdir(site):
            names = sorted(name for name in os.listdir(site) if name.startswith("_"))
            found += [f"{site}/{name}" for name in names if _is_hook(f"{site}/{name}")]
    return found


def _is_hook(folder: str) -> bool:
    """Whether sitepatch made it and wrote its name into both files: others may have a hook.json, and ours may be damaged."""
    if os.path.isfile(f"{folder}/{HOOK}"):
        for name in (HOOK, PRECOMPUTED):
            with suppress(OSError, SitepatchError):
                if b'"sitepatch"' in read_file(f"{folder}/{name}"):
                    return True
    return False


def stem(name: str) -> str:
    """The first part of the names of a hook's wheel, of its .pth, .start and dist-info: its name as PEP 427 escapes it."""
    return name.replace("-", "_")


def module(name: str) -> str:
    """The package that a hook installs, whose folder has that name."""
    return f"_{stem(name)}"


def name_of(folder: str) -> str:
    """The name of the hook in a folder (of `module`)."""
    return os.path.basename(folder)[1:].replace("_", "-")


def keeping(env: Environment, names: Sequence[str]) -> List[str]:
    """The names of the hooks that keep one of these patchsets applied."""
    return [name_of(each) for each in folders(env) if any(os.path.isdir(f"{each}/{PATCHSETS}/{name}") for name in names)]
