"""The cache, for what can be made or fetched again: overlays and the files of fetched releases.

    CACHE/overlay/DIGEST/                    an overlay (patcher.overlay.make)
    CACHE/releases/DISTRIBUTION/VERSION/     a release that was fetched (patcher.installed.releases)

It stays within an age and a size by itself: whoever adds to it calls `trim` first.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import Iterator, Sequence

from patcher.errors import StoreError
from patcher.message import Message
from patcher.record import Record
from patcher.system import ownership
from patcher.system.flock import take_flock

OVERLAY, RELEASE = "overlay", "release"
HINT = Message("chmod 700 it, or set SITEPATCH_CACHE to a directory of your own")
_OVERLAYS = r"[0-9a-f]{32}|\.part-.*"  # a part is what a process that was killed has left
_RELEASES = r"[0-9a-f]{16}|yanked|\.part-.*"

_DAY = 86_400  # seconds
KEPT_DAYS = 90
"""What was not used for so many days is removed."""
KEPT_BYTES = 1_000_000_000
"""So much is kept of each kind; what was used last stays."""
_SAFE_DAYS = 1
"""What was used so recently stays: a process whose lock we do not see may be using it."""


class CacheEntry(Record):
    """An overlay, or a release that was fetched.

    Attributes:
        kind: which of these it is.
        name: its name.
        path: its path.
        size: its size in bytes.
        used: when it was made or used last, in seconds since the epoch.
    """

    kind: str
    name: str
    path: Path
    size: int
    used: float


def cache_dir(name: str = "releases") -> Path:
    """The folder `name` of the cache, which need not exist.

    It lies below SITEPATCH_CACHE, else in the user's cache directory. A user without a home
    directory, as in a container that runs under any user id, has no cache.
    """
    directory = os.environ.get("SITEPATCH_CACHE")
    if directory:
        return Path(directory).absolute() / name
    from platformdirs import user_cache_dir

    cache = Path()
    # what platformdirs makes of no home; older ones return "~/.cache"
    with suppress(RuntimeError):
        cache = Path(user_cache_dir("sitepatch"))
    if not cache.is_absolute():
        cache = Path(os.devnull)
    return cache / name


@contextmanager
def unwritable_explained() -> Iterator[None]:
    """Raise StoreError, with what to do, for an OSError of a cache that cannot be written."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            "{path}: {reason}",
            Message("set SITEPATCH_CACHE to a directory that you may write to"),
            path=error.filename or cache_dir(),
            reason=Message.whole(error.strerror or error),
        ) from error


# a folder of ours alone ------------------------------------------------------------------------
def private(folder: Path, hint: str = HINT) -> Path:
    """Make a folder that only we may read and write, or check that it is one.

    Raises:
        StoreError: others may write there (with this hint), or it cannot be made.
    """
    with unwritable_explained():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        _check_private(folder, hint)
    ownership.refuse_shared(str(folder), hint)
    return folder


def _check_private(folder: Path, hint: str) -> None:
    """Raise StoreError with this hint unless only we may read and write a folder."""
    info = folder.lstat()
    if not stat.S_ISDIR(info.st_mode):
        problem = Message("{folder}: found a link or a file, expected a directory", folder=folder)
        raise StoreError(problem, hint)
    if info.st_uid != os.geteuid():
        template = "{folder}: belongs to user {owner}, not to you"
        raise StoreError(Message(template, folder=folder, owner=info.st_uid), hint)
    if info.st_mode & 0o077:
        template = "{folder}: found mode {mode:o}, expected 700"
        mode = stat.S_IMODE(info.st_mode)
        raise StoreError(Message(template, folder=folder, mode=mode), hint)


def is_own(*folders: Path) -> bool:
    """Whether folders of the cache are this user's: none is a link, nobody else may write there.

    What lies in others is neither read nor removed: a link may lead to files that are named like
    ours.
    """
    for folder in folders:
        try:
            info = folder.lstat()
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
            return False
    return not ownership.others_may_write(*map(str, folders))


# what is in use --------------------------------------------------------------------------------
def open_in_use(folder: Path) -> int:
    """Open a folder; it is not removed as long as the descriptor is open in any process.

    Raises:
        FileNotFoundError: it has just been removed.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # a file system without locks, on which nothing is removed
            take_flock(fd, shared=True, wait=True)
        with suppress(PermissionError):
            os.utime(fd)
        if os.fstat(fd).st_ino != folder.stat().st_ino:
            raise FileNotFoundError(folder)
    except BaseException:
        os.close(fd)
        raise
    return fd


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Keep every release below `folder` from being removed meanwhile; it is made if it is missing.

    Raises:
        StoreError: it cannot be made.
    """
    with unwritable_explained():
        folder.mkdir(parents=True, exist_ok=True)
    fd = open_in_use(folder)
    try:
        yield
    finally:
        os.close(fd)


# what is there, and what goes ------------------------------------------------------------------
def cache_entries() -> list[CacheEntry]:
    """Everything in the cache but what does not look like ours, or is not ours (see `is_own`).

    Raises:
        PermissionError: the cache is another user's.
    """
    return [*_overlays(), *_releases()]


def _overlays() -> Iterator[CacheEntry]:
    home = cache_dir("overlay")
    for path in sorted(home.glob("*")):
        if re.fullmatch(_OVERLAYS, path.name) and is_own(home, path):
            yield from _entry(OVERLAY, path.name, path)


def _releases() -> Iterator[CacheEntry]:
    home = cache_dir()
    for path in sorted(home.glob("*/*")):
        if is_own(home, path.parent, path) and _is_release(path):
            yield from _entry(RELEASE, f"{path.parent.name} {path.name}", path)


def _is_release(folder: Path) -> bool:
    names = [path.name for path in folder.iterdir()]
    return bool(names) and all(re.fullmatch(_RELEASES, name) for name in names)


def _entry(kind: str, name: str, path: Path) -> Iterator[CacheEntry]:
    """The entry of a folder; none where another process has just removed it."""
    with suppress(FileNotFoundError):
        size = sum(file.lstat().st_size for file in path.rglob("*") if not file.is_dir())
        yield CacheEntry(kind, name, path, size=size, used=path.stat().st_mtime)


def trim(kind: str) -> None:
    """Remove what was not used for KEPT_DAYS, and the oldest above KEPT_BYTES in all, of one kind.

    What a process has open stays, and so does what cannot be removed: a cache that is too large
    does no harm.
    """
    with suppress(OSError):  # the cache is another user's
        entries = list(_overlays() if kind == OVERLAY else _releases())
        entries.sort(key=lambda entry: entry.used, reverse=True)
        now = time.time()
        kept = 0
        for entry in entries:
            days = (now - entry.used) / _DAY
            kept += entry.size
            if days > KEPT_DAYS or (days > _SAFE_DAYS and kept > KEPT_BYTES):
                with suppress(OSError):
                    if remove_entry(entry):
                        kept -= entry.size


def remove_entry(entry: CacheEntry) -> bool:
    """Remove an entry unless a process has it open; returns whether it is gone.

    Raises:
        OSError: it cannot be removed.
    """
    with suppress(FileNotFoundError), _alone(entry.kind, entry.path) as alone:
        if not alone:
            return False
        stage = Path(tempfile.mkdtemp(prefix=".part-", dir=str(entry.path.parent)))
        entry.path.rename(stage / "old")  # at once: no process finds half of it
        rmtree(stage)
        if entry.kind == RELEASE:
            with suppress(OSError):  # there are other versions
                entry.path.parent.rmdir()
    return True


@contextmanager
def _alone(kind: str, path: Path) -> Iterator[bool]:
    """Lock an entry against its use; yields False if a process has it open, or there are no locks.

    A process that uses a release has a lock on the folder of all, one that makes an overlay too.
    """
    home = path.parent if kind == OVERLAY else path.parent.parent
    with ExitStack() as stack:
        alone = True
        for folder in (home, path):
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, fd)
            try:
                alone = take_flock(fd) and alone
            except OSError:
                alone = False
        yield alone


def size_text(entries: Sequence[CacheEntry]) -> str:
    """The size of entries as a message has it: `1.5 MB`."""
    total = sum(entry.size for entry in entries)
    return f"{total / 1e6:.1f} MB" if total >= 1e5 else f"{total / 1e3:.1f} kB"
