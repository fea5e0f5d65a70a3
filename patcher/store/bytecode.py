"""Compiled twins of a source file: every `.pyc` that an interpreter might run in its place."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Iterator

from patcher.store.folder import Folder, source_date


def purge(site: Folder, path: str) -> None:
    """Remove the bytecode of the source `path` for every interpreter, level and cache prefix."""
    for folder, name in _found(site, path):
        folder.remove(name)
        folder.sync()  # or a power cut after the end of the commit could bring it back


def fresh_mtime_ns(site: Folder, path: str, old_ns: int) -> int:
    """Return an mtime for new text in `path` that no existing bytecode matches.

    It is in nanoseconds, and whole seconds. An interpreter accepts a `.pyc` whose recorded mtime
    and size fit the source, and mtimes count in whole seconds: so this is now (or
    SOURCE_DATE_EPOCH), but at least two seconds past the old mtime and past each one that is
    recorded (PEP 552: bytes 8 to 12 of the header, when bit 0 of the flags before them is clear).
    """
    latest = -(-old_ns // 10**9)
    for folder, name in _found(site, path):
        with suppress(FileNotFoundError):  # an interpreter may replace it right now
            header = folder.read(name)[:16]
            if len(header) == 16 and not header[4] & 1:
                latest = max(latest, int.from_bytes(header[8:12], "little"))
    now = source_date()
    if now is None:
        now = int(time.time())
    return max(now, latest + 2) * 10**9


def _found(site: Folder, path: str) -> Iterator[tuple[Folder, str]]:
    """Yield each bytecode file of `path`, with its folder, which is open until the next one."""
    above, _, name = path.rpartition("/")
    if not name.endswith(".py"):
        return
    stem = name[: -len(".py")]
    with suppress(FileNotFoundError), site.holder(path) as folder:
        if folder.has(f"{stem}.pyc"):
            yield folder, f"{stem}.pyc"
        with folder.sub("__pycache__") as cache:
            yield from _tagged(cache, stem)
    for prefix in _prefixes():
        for root in {_absolute(site.path), os.path.realpath(site.path)}:
            mirror = "/".join(filter(None, (root.strip("/"), above, "pyc")))
            # interpreters make no links there, and links of others are not followed
            with suppress(FileNotFoundError, NotADirectoryError), ExitStack() as stack:
                top = stack.enter_context(Folder.open(prefix))
                cache = stack.enter_context(top.holder(mirror))
                yield from _tagged(cache, stem)


def _prefixes() -> set[str]:
    """The directories in which interpreters may keep their bytecode, as mirrors of all others."""
    prefixes: set[str] = set()
    for prefix in (sys.pycache_prefix, os.environ.get("PYTHONPYCACHEPREFIX")):
        if prefix:
            prefixes.add(_absolute(prefix))
    return prefixes


def _absolute(path: str) -> str:
    """An absolute path without `..`, whose links stay."""
    return os.path.normpath(Path.cwd() / path)


def _tagged(cache: Folder, stem: str) -> Iterator[tuple[Folder, str]]:
    """Yield `STEM.TAG.pyc` and `STEM.TAG.opt-LEVEL.pyc`."""
    for name in cache.names():
        if name.startswith(f"{stem}.") and name.endswith(".pyc"):
            yield cache, name
