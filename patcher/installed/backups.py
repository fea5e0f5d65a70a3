"""Backups beside installed files that were edited by hand, and which of them RECORD proves."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Collection, Container, Iterable

from patcher.errors import SitepatchError
from patcher.installed.record import hashes_recorded
from patcher.message import Message
from patcher.record import Record, reported
from patcher.system.reading import read_file

_REST = r"(?:[.~_-].*)?[.~_-](?:orig|bak|backup|old|save|rej|\w+_backup)\w*|~"
_SKIPPED = ("__pycache__", ".sitepatch")
_NO_BACKUPS = (".pyi", ".so", ".h")
"""Suffixes of most files that are no Python sources: they are not compared with every name."""


@reported("site path name")
class Backup(Record):
    """A Python file that differs from RECORD, and a backup beside it that does not.

    Attributes:
        site: the site directory.
        path: the path of the file below it.
        name: the name of the backup.
        edited: the bytes of the file.
        data: the bytes of the backup.
        mtime_ns: its modification time.
    """

    site: str
    path: str
    name: str
    edited: bytes
    data: bytes
    mtime_ns: int

    @property
    def message(self) -> str:
        """The edit and the backup in one sentence."""
        return Message(
            "{path} was edited by hand, and {name} beside it is what was installed",
            path=self.path,
            name=self.name,
        )


def is_backup(name: str, of: str) -> bool:
    """Whether a file has the name of a backup of `of`, a Python file of the same directory."""
    starts = (start for start in (of, of[: -len(".py")]) if name.startswith(start))
    return any(re.fullmatch(_REST, name[len(start) :]) for start in starts)


def proven_backups(sites: Iterable[str], patched: Container[tuple[str, str]]) -> list[Backup]:
    """The Python files that were edited and have a backup beside them with RECORD's sha256.

    Args:
        sites: the site directories to look into.
        patched: (site directory, path) of files that have a receipt and a pristine copy: these
            are left out.
    """
    backups = []
    for site in sites:
        for backup in _proven(site):
            if (site, backup.path) not in patched:
                backups.append(backup)
    return backups


def _proven(site: str) -> list[Backup]:
    candidates = _candidates(site)
    if not candidates:
        return []
    hashes = hashes_recorded(site, candidates)
    backups = []
    for path, names in sorted(candidates.items()):
        with suppress(OSError, SitepatchError):  # it cannot be read
            backup = _proven_backup(site, path, sorted(names), hashes.get(path, ()))
            if backup:
                backups.append(backup)
    return backups


def _proven_backup(
    site: str, path: str, names: Iterable[str], digests: Collection[str]
) -> Backup | None:
    """The first file of these names that has RECORD's sha256, if the source itself has not.

    Raises:
        OSError, SitepatchError: the source cannot be read.
    """
    file = Path(site, path)
    edited = read_file(file)
    # of two recorded hashes neither is proof
    if len(digests) != 1 or sha256(edited).hexdigest() in digests:
        return None
    for name in names:
        with suppress(OSError, SitepatchError):
            data = read_file(file.with_name(name))
            if sha256(data).hexdigest() in digests:
                return Backup(
                    site=site,
                    path=path,
                    name=name,
                    edited=edited,
                    data=data,
                    mtime_ns=file.with_name(name).stat().st_mtime_ns,
                )
    return None


def _candidates(site: str) -> dict[str, list[str]]:
    """The Python files with the names of backups beside them, by path."""
    candidates: dict[str, list[str]] = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        sources: list[str] = []
        others: list[str] = []
        with suppress(OSError), os.scandir(f"{site}/{folder}") as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED:
                        folders.append(f"{folder}{entry.name}/")
                elif entry.name.endswith(".py"):
                    sources.append(entry.name)
                elif not entry.name.endswith(_NO_BACKUPS):
                    others.append(entry.name)
        for name in others:
            for source in sources:
                if is_backup(name, source):
                    candidates.setdefault(folder + source, []).append(name)
    return candidates
