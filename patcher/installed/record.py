"""What the RECORD of an installed distribution says of its files: their paths, their sha256, their sizes."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Collection, Iterator, NamedTuple, Sequence

from patcher.model import Located
from patcher.system.reading import read_file


class RecordRow(NamedTuple):
    """A row of RECORD: a file, its sha256 (hex) and its size in bytes, -1 where none is given."""

    path: str
    digest: str
    size: int


def recorded_hash(located: Located, path: str) -> str | None:
    """The sha256 (hex) that RECORD has for a file; None if there is no RECORD, no row or no sha256.

    Args:
        located: the package; only a dist-info folder directly in its site directory counts.
        path: `/`-separated, relative to the site directory.
    """
    folder = Path(located.dist_info)
    if not located.dist_info.endswith(".dist-info") or folder.parent != Path(located.site):
        return None
    return recorded_in(_record(folder), path)


def recorded_in(record: bytes, path: str) -> str | None:
    """The sha256 (hex) that a RECORD has for a file; csv takes 15 ms for torch's 14,600 rows, this less than one."""
    value = _after(record, path, b",sha256=")
    return None if value is None else _sha256(record[value : value + 80])


def _sha256(encoded: bytes) -> str | None:
    """The sha256 (hex) that a text begins with, in the base64 of RECORD; None where it is none."""
    from base64 import urlsafe_b64decode

    value = re.match(rb"[A-Za-z0-9_-]*", encoded)
    try:
        digest = urlsafe_b64decode(value.group() + b"==") if value else b""
    except ValueError:
        return None
    return digest.hex() if len(digest) == 32 else None


def recorded_sources(dist_info: Path, suffixes: tuple[str, ...] = (".py",)) -> Iterator[RecordRow]:
    """The files of a RECORD with one of these suffixes that have a sha256 there."""
    for row in _rows(dist_info):
        proven = len(row) == 3 and row[0].endswith(suffixes) and row[1].startswith("sha256=")
        digest = _sha256(row[1][len("sha256=") :].encode()) if proven else None
        if digest:
            yield RecordRow(row[0], digest, int(row[2]) if row[2].isdecimal() else -1)


def files_recorded(site: str, digest: str) -> Iterator[str]:
    """The paths for which a RECORD of a site directory has this sha256 (hex)."""
    from base64 import urlsafe_b64encode

    end = b",sha256=" + urlsafe_b64encode(bytes.fromhex(digest)).rstrip(b"=") + b","
    for folder in _dist_infos(site):
        rows = (row.split(end)[0] for row in _record(folder).split(b"\n") if end in row)
        yield from (
            row.strip(b'"').replace(b'""', b'"').decode("utf-8", "surrogateescape") for row in rows
        )


def hashes_recorded(site: str, paths: Collection[str]) -> dict[str, set[str]]:
    """The sha256 (hex) that the RECORDs of a site directory give for files, by path, without files that none of them lists."""
    hashes: dict[str, set[str]] = {}
    for folder in _dist_infos(site):  # each is read once
        record = _record(folder)
        for path, digest in ((path, recorded_in(record, path)) for path in paths):
            if digest:
                hashes.setdefault(path, set()).add(digest)
    return hashes


def _dist_infos(site: str) -> list[Path]:
    return [Path(site, name) for name in sorted(os.listdir(site)) if name.endswith(".dist-info")]


def _after(record: bytes, path: str, end: bytes) -> int | None:
    """The offset past `path` + `end` at the start of a row, None for no such row; csv quotes a path with a comma or quote."""
    plain = path.encode("utf-8", "surrogateescape")
    for spelling in (plain, b'"' + plain.replace(b'"', b'""') + b'"'):
        at = record.find(spelling + end)
        while at > 0 and record[at - 1 : at] != b"\n":
            at = record.find(spelling + end, at + 1)
        if at >= 0:
            return at + len(spelling + end)
    return None


def _rows(dist_info: Path) -> Iterator[list[str]]:
    import csv  # few commands read whole rows

    yield from csv.reader(_record(dist_info).decode("utf-8", "surrogateescape").splitlines())


def _record(folder: Path) -> bytes:
    # none after an interrupted install, and in Debian
    return read_metadata(os.path.join(folder, "RECORD"))


def read_metadata(path: str) -> bytes:
    """The bytes of a file that an installer wrote, b"" where there is none; one that did not change is read once."""
    try:
        stat = os.stat(path)
        return _read(path, stat.st_mtime_ns, stat.st_size, stat.st_ino)
    except OSError:
        return b""


@lru_cache(maxsize=512)  # an environment has hundreds, of some 10 KB in the mean
def _read(path: str, *stamp: int) -> bytes:
    return read_file(path)


def lists(folder: Path, rows: Sequence[str]) -> bool:
    """Whether a RECORD has a row for one of these paths, or for a file below one that ends in `/`."""
    record = _record(folder)
    return any(_after(record, row, b"" if row.endswith("/") else b",") is not None for row in rows)


def as_recorded(folder: Path, files: Sequence[str]) -> Iterator[bool]:
    """For each of `files` that is there and has a hash in RECORD: whether it has that one."""
    record = _record(folder)
    for path in dict.fromkeys(files):
        recorded, file = recorded_in(record, path), os.path.join(folder.parent, path)
        if recorded is not None and os.path.isfile(file):
            yield sha256(read_file(file)).hexdigest() == recorded


def count_patched(folder: Path, files: Sequence[str]) -> int:
    """How many of `files` have a pristine copy in the store with the hash that RECORD has: those are patched."""
    record, store = _record(folder), folder.parent / ".sitepatch/pristine"
    return sum(
        (store / (recorded_in(record, path) or "none")).is_file() for path in dict.fromkeys(files)
    )
