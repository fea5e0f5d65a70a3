"""The personal cache of results: small files named by a key, in a folder that only this user may read and write.

    CACHE/known/KEY     never changed once it is there

It may be removed at any time, and several processes may use it at once. Where it is not private, or cannot be written, it is
as if it were empty. It holds at most `_MOST` files and `_BYTES` bytes; the least recently used goes first.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import List, Tuple

from patcher.errors import SitepatchError
from patcher.system import ownership
from patcher.system.cache import HINT, KNOWN, cache_dir, check_private, private
from patcher.system.reading import TEXT, read_file

_MOST, _BYTES = 1_000, 64_000_000


def read_result(key: str) -> bytes:
    """What was written under a key (64 hexadecimal digits); b"" where there is nothing."""
    folder = cache_dir(KNOWN)
    try:
        data = read_file(folder / key, TEXT)
        check_private(folder)
        ownership.refuse_shared(str(folder / key), HINT)  # another user may have put it there before the folder was private
    except (OSError, SitepatchError):
        return b""
    with suppress(OSError):
        os.utime(folder / key)  # used now
    return data


def write_result(key: str, data: bytes) -> None:
    """Store something under a key; it appears complete or not at all, and where it cannot be stored nothing happens."""
    import tempfile  # with random; what finds its result needs neither

    if len(data) > TEXT:
        return
    with suppress(OSError, SitepatchError):
        folder = cache_dir(KNOWN)
        there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
        if not there.is_dir() or os.geteuid() == 0 != there.stat().st_uid:
            return  # /dev/null, say; or sudo with HOME unchanged: its owner could not use it any more
        private(folder)
        fd, part = tempfile.mkstemp(prefix=".part-", dir=str(folder))
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            Path(part).replace(folder / key)
        except BaseException:
            Path(part).unlink()
            raise
        _trim(folder)


def _trim(folder: Path) -> None:
    """Remove what was not used for longest until the rest is within the limits."""
    found: List[Tuple[float, int, Path]] = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # removed by another process
            info = path.lstat()
            found.append((info.st_mtime, info.st_size, path))
    size = 0
    for number, (_, own, path) in enumerate(sorted(found, reverse=True), 1):
        size += own
        if number > _MOST or size > _BYTES:
            with suppress(FileNotFoundError):
                path.unlink()
