"""Where sitepatch keeps what can be made or fetched again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir(name: str = "releases") -> Path:
    """The folder `name` of the cache, which need not exist: below SITEPATCH_CACHE, else where the system keeps such things."""
    chosen = os.environ.get("SITEPATCH_CACHE")
    if chosen:
        return Path(chosen).absolute() / name
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("sitepatch"), name)
