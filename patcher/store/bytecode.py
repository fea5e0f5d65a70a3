"""Compiled twins of a source file: every `.pyc` that an interpreter might run in its place."""
# pathlib cannot make a path absolute without either resolving its links or keeping its `..`:
# ruff: noqa: PTH100, PTH118

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import Iterator

from patcher.store.folder import Folder, source_date


def purge(site: Folder, path: str) -> None:
    """Remove the bytecode of the source `path` for every interpreter, optimization level and cache prefix."""
    for folder, name in _found(site, path):
        folder.remove(name)
        folder.sync()  # or a power cut after the end of the commit could bring it back


def fresh_mtime_ns(site: Folder, path: str, old_ns: int) -> int:
    """Return an mtime (nanoseconds, whole seconds) for new text in `path` that no existing bytecode matches.

    An interpreter accepts a `.pyc` whose recorded mtime and size fit the source, and mtimes count in whole seconds: so
    this is now (or SOURCE_DATE_EPOCH), but at least two seconds past the old mtime and past each one that is recorded
    (PEP 552: bytes 8 to 12 of the header, when bit 0 of the flags before them is clear).
    """
    latest = -(-old_ns // 10**9)
    for folder, name in _found(site, path):
        with suppress(FileNotFoundError):  # an interpreter may replace it right now
            header = folder.read(name)[:16]
            if len(header) == 16 and not header[4] & 1:
                latest = max(latest, int.from_bytes(header[8:12], "little"))
    when = source_date()
    return max(int(time.time()) if when is None else when, latest + 2) * 10**9


def _found(site: Folder, path: str) -> Iterator[tuple[Folder, str]]:
    """Yield each bytecode file of `path` with its folder, which stays open until the next one is yielded."""
    above, _, name = path.rpartition("/")
    if not name.endswith(".py"):
        return
    stem = name[: -len(".py")]
    with suppress(FileNotFoundError), site.holder(path) as folder:
        if folder.has(f"{stem}.pyc"):
            yield folder, f"{stem}.pyc"
        with folder.sub("__pycache__") as cache:
            yield from _tagged(cache, stem)
    roots = {os.path.abspath(site.path), os.path.realpath(site.path)}
    for prefix in {sys.pycache_prefix, os.environ.get("PYTHONPYCACHEPREFIX")} - {None, ""}:
        for root in roots:
            mirror = os.path.join(root.lstrip("/"), above, "pyc")
            missing = suppress(FileNotFoundError, NotADirectoryError)
            with missing, Folder.open(os.path.abspath(str(prefix))) as top, top.holder(
                mirror
            ) as cache:
                # interpreters make no links there, and links of others are not followed
                yield from _tagged(cache, stem)


def _tagged(cache: Folder, stem: str) -> Iterator[tuple[Folder, str]]:
    """Yield `STEM.TAG.pyc` and `STEM.TAG.opt-LEVEL.pyc`."""
    for name in cache.names():
        if name.startswith(f"{stem}.") and name.endswith(".pyc"):
            yield cache, name
