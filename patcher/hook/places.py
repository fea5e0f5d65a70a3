"""Where the hooks of an environment lie."""

from __future__ import annotations

import os
from typing import List, Sequence

from patcher.hook.kept import HOOK
from patcher.interpreter import Environment


def folders(env: Environment) -> List[str]:
    """The folder of every hook in the site directories of an environment."""
    found = []
    for site in env.sites:
        if os.path.isdir(site):
            names = sorted(name for name in os.listdir(site) if name.startswith("_"))
            found += [f"{site}/{name}" for name in names if os.path.isfile(f"{site}/{name}/{HOOK}")]
    return found


def keeping(env: Environment, names: Sequence[str]) -> List[str]:
    """The names of the hooks that keep one of these patchsets applied."""
    found = [each for each in folders(env) if any(os.path.isdir(f"{each}/patchsets/{name}") for name in names)]
    return [os.path.basename(each)[1:].replace("_", "-") for each in found]
