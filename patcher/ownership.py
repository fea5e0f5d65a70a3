"""Whether somebody else may write where root is about to take patchsets from: a patch is code, and root would install it."""

from __future__ import annotations

import os
import stat
from typing import Iterator, List, Sequence, Set

from patcher.errors import SitepatchError
from patcher.patchset import LOCAL, PATCH_DIR, folders


def check_sources(names: Sequence[str], patch_dirs: Sequence[str]) -> None:
    """Refuse patchsets, for root, from folders that others may write to; for anybody else do nothing.

    What is looked at is the folder with all that is in it, and every directory and link that leads to it. A directory
    like /tmp, in which nobody may rename what belongs to others, does no harm above the folder. The built-in patchsets and
    those of installed packages lie beside code that is run anyway.

    Raises:
        SitepatchError: naming what others may write to.
    """
    if os.geteuid() != 0:
        return
    known = folders(patch_dirs, os.getcwd())
    places = [known[name][0] for name in dict.fromkeys(names) if name in known]
    found: List[str] = []
    for folder, source in places:
        if source == LOCAL or source.startswith(f"{PATCH_DIR} "):
            found += _writable_by_others(os.path.abspath(folder))
    if found:
        hint = "take that right away (chmod go-w, chown -R root), or copy the patchset where only root may write"
        raise SitepatchError("\n".join(dict.fromkeys(found)), hint)


def _writable_by_others(folder: str) -> Iterator[str]:
    trusted = {0, *(int(uid) for uid in [os.environ.get("SUDO_UID", "")] if uid.isdigit())}
    above: Set[str] = set()
    for path in (os.path.dirname(folder), os.path.dirname(os.path.realpath(folder))):
        while path not in above:
            above.add(path)
            path = os.path.dirname(path)
    for path in sorted(above):
        yield from _problem(path, trusted, sticky=True)
    for path, directories, files in os.walk(folder):
        yield from _problem(path, trusted)
        for name in sorted([*files, *(each for each in directories if os.path.islink(os.path.join(path, each)))]):
            yield from _problem(os.path.join(path, name), trusted)


def _problem(path: str, trusted: Set[int], *, sticky: bool = False) -> Iterator[str]:
    """What lets somebody else change a file, a directory or where a link leads; `sticky` lets /tmp and the like pass."""
    for info in (os.lstat(path), os.stat(path) if os.path.exists(path) else os.lstat(path)):
        if info.st_uid not in trusted:
            yield f"{path}: belongs to user {info.st_uid}, who could change what root is asked to apply"
        mode = 0 if stat.S_ISLNK(info.st_mode) or (sticky and info.st_mode & stat.S_ISVTX) else info.st_mode
        if mode & stat.S_IWOTH or (mode & stat.S_IWGRP and info.st_gid != 0):
            yield f"{path}: others may write to it, and so change what root is asked to apply"
