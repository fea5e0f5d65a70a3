"""Backups beside installed files that were edited by hand, and which of them RECORD proves. Reads only."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from hashlib import sha256
from typing import Container, Iterable, NamedTuple

from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.system.reading import read_file

_REST = re.compile(r"(?:[.~_-].*)?[.~_-](?:orig|bak|backup|old|save|rej|\w+_backup)\w*|~")
_PASSED = ("__pycache__", ".sitepatch")


class Backup(NamedTuple):
    """A Python file that differs from RECORD, and the file `name` beside it that does not.

    `path` is `/`-separated and relative to `site`; `edited` are its bytes, `data` and `mtime_ns` those of the backup.
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
    return any(
        name.startswith(start) and _REST.fullmatch(name[len(start) :])
        for start in (of, of[: -len(".py")])
    )


def proven_backups(sites: Iterable[str], patched: Container[tuple[str, str]]) -> list[Backup]:
    """The Python files of site directories that were edited and have a backup beside them with RECORD's sha256.

    Args:
        sites: the directories.
        patched: (site directory, path) of files that are left out, as they have a receipt and a pristine copy.
    """
    return [
        backup for site in sites for backup in _proven(site) if (site, backup.path) not in patched
    ]


def _proven(site: str) -> list[Backup]:
    named = _named(site)
    if not named:
        return []
    from pathlib import Path

    from patcher.installed.record import hashes_recorded  # not for `status` of what is in order

    recorded = hashes_recorded(site, named)
    backups: list[Backup] = []
    for path, names in sorted(named.items()):
        file, digests = Path(site, path), recorded.get(path, ())
        with suppress(OSError, SitepatchError):  # it cannot be read
            edited = read_file(file)
            # of two texts that are listed none is proven
            if len(digests) != 1 or sha256(edited).hexdigest() in digests:
                continue
            for name in sorted(names):
                with suppress(OSError, SitepatchError):
                    data = read_file(file.with_name(name))
                    if sha256(data).hexdigest() in digests:
                        backups.append(
                            Backup(
                                site,
                                path,
                                name,
                                edited,
                                data,
                                file.with_name(name).stat().st_mtime_ns,
                            )
                        )
                        break
    return backups


def _named(site: str) -> dict[str, list[str]]:
    """The Python files with the names of backups beside them, by path."""
    names_of: dict[str, list[str]] = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        sources: list[str] = []
        further: list[str] = []
        with suppress(OSError), os.scandir(os.path.join(site, folder)) as entries:  # noqa: PTH118  (pathlib is slow to import)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders += [f"{folder}{entry.name}/"] if entry.name not in _PASSED else []
                elif entry.name.endswith(".py"):
                    sources.append(entry.name)
                elif not entry.name.endswith((".pyi", ".so", ".h")):  # most of the others
                    further.append(entry.name)
        for name in further:
            for of in sources:
                if is_backup(name, of):
                    names_of.setdefault(folder + of, []).append(name)
    return names_of
