"""The cache, for what can be made or fetched again: what is in it, and how what is old is removed."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

from patcher.errors import StoreError
from patcher.message import Message
from patcher.system import ownership
from patcher.system.flock import take_flock
from patcher.text.listed import count

OVERLAY, RELEASE, KNOWN = "overlay", "release", "known"
HINT = Message("chmod 700 it, or set SITEPATCH_CACHE to a directory of your own")
_OVERLAYS = r"[0-9a-f]{32}|\.part-.*"  # a part is what a process that was killed has left
_RELEASES = r"[0-9a-f]{16}|yanked|\.part-.*"
_RESULTS = r"[0-9a-f]{64}|\.part-.*"


class CacheEntry(NamedTuple):
    """An overlay, a release that was fetched, or all known results (`patcher.patchset.results`).

    `size` is in bytes, `used` when it was made or used last (seconds since the epoch).
    """

    kind: str
    name: str
    path: Path
    size: int
    used: float


def cache_dir(name: str = "releases") -> Path:
    """The folder `name` of the cache, which need not exist: below SITEPATCH_CACHE, else in the cache directory of the user.

    A user who has no home directory, as in a container that is run with any user id, has no cache.
    """
    directory = os.environ.get("SITEPATCH_CACHE")
    if directory:
        return Path(directory).absolute() / name
    from platformdirs import user_cache_dir

    cache = Path()
    with suppress(RuntimeError):  # what platformdirs makes of no home; older ones return "~/.cache"
        cache = Path(user_cache_dir("sitepatch"))
    return (cache if cache.is_absolute() else Path(os.devnull)) / name


@contextmanager
def unwritable_explained() -> Iterator[None]:
    """Raise StoreError, with what to do, for an OSError of a cache that cannot be written."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            str(error), "set SITEPATCH_CACHE to a directory that you may write to"
        ) from error


def private(folder: Path, hint: str = HINT) -> Path:
    """Make a folder that only we may read and write, or see that it is one.

    Raises:
        StoreError: other users may write there (with this hint), or it cannot be made.
    """
    with unwritable_explained():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        check_private(folder, hint)
    ownership.refuse_shared(str(folder), hint)
    return folder


def check_private(folder: Path, hint: str = HINT) -> None:
    """Raise StoreError with this hint unless a folder is one that only we may read and write, OSError where there is none."""
    info = folder.lstat()
    if not stat.S_ISDIR(info.st_mode):
        raise StoreError(
            Message("{folder}: found a link or a file, expected a directory", folder=folder), hint
        )
    if info.st_uid != os.geteuid():
        raise StoreError(
            Message(
                "{folder}: belongs to user {owner}, not to you", folder=folder, owner=info.st_uid
            ),
            hint,
        )
    if info.st_mode & 0o077:
        raise StoreError(
            Message(
                "{folder}: found mode {mode:o}, expected 700",
                folder=folder,
                mode=stat.S_IMODE(info.st_mode),
            ),
            hint,
        )


def open_in_use(folder: Path) -> int:
    """Open a folder, which is not removed as long as the descriptor is open in any process.

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
    """Keep all releases, which are in this folder, from being removed meanwhile; it is made where there is none.

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


def is_own(*folders: Path) -> bool:
    """Whether folders of the cache are this user's: none is a link, and nobody else may write to one.

    What lies in others is neither read nor removed: a link may lead to files that are named like ours.
    """
    for folder in folders:
        try:
            info = folder.lstat()
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
            return False
    return not ownership.others_may_write(*map(str, folders))


def cache_entries() -> list[CacheEntry]:
    """Everything in the cache; what does not look like ours, or is not (see `is_own`), is left out."""
    overlays, releases, results = cache_dir("overlay"), cache_dir(), cache_dir(KNOWN)
    folders = [
        (OVERLAY, path.name, path)
        for path in sorted(overlays.glob("*"))
        if re.fullmatch(_OVERLAYS, path.name) and is_own(overlays, path)
    ]
    for path in sorted(releases.glob("*/*")):
        if not is_own(releases, path.parent, path):
            continue
        names = [file.name for file in path.iterdir()]
        if names and all(re.fullmatch(_RELEASES, name) for name in names):
            folders.append((RELEASE, f"{path.parent.name} {path.name}", path))
    entries = []
    for kind, name, path in folders:
        with suppress(FileNotFoundError):
            entries.append(CacheEntry(kind, name, path, _size(path), path.stat().st_mtime))
    with suppress(OSError):  # there are none, or they belong to another user
        files = list(results.iterdir()) if is_own(results) else []
        if files and all(re.fullmatch(_RESULTS, path.name) for path in files):
            used = max(path.lstat().st_mtime for path in files)
            entries.append(
                CacheEntry(KNOWN, count(len(files), "result"), results, _size(results), used)
            )
    return entries


def clean_cache(days: float) -> list[CacheEntry]:
    """Remove what was not used for so many days, and no process has open; returns that."""
    latest = time.time() - days * 86400
    return [entry for entry in cache_entries() if entry.used <= latest and remove_entry(entry)]


def remove_entry(entry: CacheEntry) -> bool:
    """Remove an entry unless a process has it open; returns whether it is gone.

    Raises:
        OSError: it cannot be removed.
    """
    if entry.kind == KNOWN:
        _remove_results(entry.path)
        return True
    import tempfile  # with random; what reads the cache needs neither

    with suppress(FileNotFoundError), _alone(entry.kind, entry.path) as alone:
        if not alone:
            return False
        stage = Path(tempfile.mkdtemp(prefix=".part-", dir=str(entry.path.parent)))
        entry.path.rename(stage / "old")  # at once: no process finds half of it
        from shutil import rmtree  # few commands remove anything here

        rmtree(stage)
        if entry.kind == RELEASE:
            with suppress(OSError):  # there are other versions
                entry.path.parent.rmdir()
    return True


def _remove_results(folder: Path) -> None:
    """Remove results one by one; the folder stays where another process writes one meanwhile."""
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            if re.fullmatch(_RESULTS, path.name):
                with suppress(FileNotFoundError):
                    path.unlink()
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def _alone(kind: str, path: Path) -> Iterator[bool]:
    """Lock an entry against its use; yields False where a process has it open, or the filesystem has no locks.

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


def size(entries: Sequence[CacheEntry]) -> str:
    """The size of entries as a message has it: `1.5 MB`."""
    count = sum(entry.size for entry in entries)
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
