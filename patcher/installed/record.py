"""What the RECORD of an installed distribution says of its files: paths, sha256 and sizes."""

from __future__ import annotations

import csv
import os
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Collection, Iterator, Sequence

from patcher.model import Located
from patcher.record import Record
from patcher.system.reading import read_file

_SHA256 = "sha256="


class RecordRow(Record):
    """A row of RECORD: a file, its sha256 (hex) and its size in bytes, -1 where none is given."""

    path: str
    digest: str
    size: int


# one file -------------------------------------------------------------------------------------
def recorded_hash(located: Located, path: str) -> str | None:
    """The sha256 (hex) that RECORD has for a file; None if there is no RECORD, row or sha256.

    Args:
        located: the package; only a dist-info folder directly in its site directory counts.
        path: `/`-separated, relative to the site directory.
    """
    folder = Path(located.dist_info)
    if folder.suffix != ".dist-info" or folder.parent != Path(located.site):
        return None
    return recorded_in(_record(folder), path)


def recorded_in(record: bytes, path: str) -> str | None:
    """The sha256 (hex) that the bytes of a RECORD have for a file; None where they have none.

    csv takes 15 ms for torch's 14,600 rows, this less than one.
    """
    value = _end_of(record, path, b"," + _SHA256.encode())
    return None if value is None else _decoded(record[value : value + 80])


def _end_of(record: bytes, path: str, end: bytes) -> int | None:
    """The offset past `path` + `end` at the start of a row, None if there is no such row.

    csv quotes a path that has a comma or a quote.
    """
    plain = path.encode("utf-8", "surrogateescape")
    quoted = b'"' + plain.replace(b'"', b'""') + b'"'
    for spelling in (plain, quoted):
        start = spelling + end
        at = record.find(start)
        while at > 0 and record[at - 1 : at] != b"\n":
            at = record.find(start, at + 1)
        if at >= 0:
            return at + len(start)
    return None


def _decoded(encoded: bytes) -> str | None:
    """The sha256 (hex) that a text begins with, in RECORD's base64; None if it begins with none."""
    value = re.match(rb"[A-Za-z0-9_-]*", encoded)
    try:
        digest = urlsafe_b64decode(value.group() + b"==") if value else b""
    except ValueError:
        return None
    return digest.hex() if len(digest) == 32 else None


# many files -----------------------------------------------------------------------------------
def recorded_sources(dist_info: Path, suffixes: tuple[str, ...] = (".py",)) -> Iterator[RecordRow]:
    """The files of a RECORD with one of these suffixes that have a sha256 there."""
    for row in _rows(dist_info):
        if len(row) != 3:
            continue
        path, value, size = row
        if not path.endswith(suffixes) or not value.startswith(_SHA256):
            continue
        digest = _decoded(value[len(_SHA256) :].encode())
        if digest:
            yield RecordRow(path, digest, int(size) if size.isdecimal() else -1)


def files_recorded(site: str, digest: str) -> Iterator[str]:
    """The paths for which a RECORD of a site directory has this sha256 (hex)."""
    encoded = urlsafe_b64encode(bytes.fromhex(digest)).rstrip(b"=")
    end = b"," + _SHA256.encode() + encoded + b","
    for folder in _dist_infos(site):
        for row in _record(folder).split(b"\n"):
            if end in row:
                path = row.split(end)[0].strip(b'"').replace(b'""', b'"')
                yield path.decode("utf-8", "surrogateescape")


def hashes_recorded(site: str, paths: Collection[str]) -> dict[str, set[str]]:
    """The sha256 (hex) that the RECORDs of a site directory give for files, by path.

    Files that no RECORD lists are left out.
    """
    hashes: dict[str, set[str]] = {}
    for folder in _dist_infos(site):
        record = _record(folder)
        for path in paths:
            digest = recorded_in(record, path)
            if digest:
                hashes.setdefault(path, set()).add(digest)
    return hashes


def _dist_infos(site: str) -> list[Path]:
    return sorted(path for path in Path(site).iterdir() if path.suffix == ".dist-info")


def _rows(dist_info: Path) -> Iterator[list[str]]:
    text = _record(dist_info).decode("utf-8", "surrogateescape")
    yield from csv.reader(text.splitlines())


def _record(folder: Path) -> bytes:
    # empty after an interrupted install, and in Debian
    return read_metadata(folder / "RECORD")


def read_metadata(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file that an installer wrote, empty if it is missing.

    A file that did not change is read once.
    """
    try:
        stat = Path(path).stat()
        return _read(os.fspath(path), stat.st_mtime_ns, stat.st_size, stat.st_ino)
    except OSError:
        return b""


@lru_cache(maxsize=512)  # an environment has hundreds, of some 10 KB in the mean
def _read(path: str, *stamp: int) -> bytes:
    return read_file(path)


# one distribution among several ---------------------------------------------------------------
def lists(folder: Path, rows: Sequence[str]) -> bool:
    """Whether a RECORD has a row for one of these paths, or that begins with one of them.

    Args:
        folder: the metadata folder of the distribution.
        rows: paths, relative to the site directory; rows begin with one that ends in `/` or `.`.
    """
    record = _record(folder)
    for row in rows:
        end = b"" if row.endswith(("/", ".")) else b","
        if _end_of(record, row, end) is not None:
            return True
    return False


def as_recorded(folder: Path, files: Sequence[str]) -> Iterator[bool]:
    """For each of `files` that exists and has a hash in RECORD: whether it has that hash."""
    record = _record(folder)
    for path in dict.fromkeys(files):
        digest = recorded_in(record, path)
        file = folder.parent / path
        if digest is not None and file.is_file():
            yield sha256(read_file(file)).hexdigest() == digest


def count_patched(folder: Path, files: Sequence[str]) -> int:
    """How many of `files` are patched: the store has a pristine copy with the hash in RECORD."""
    record = _record(folder)
    copies = folder.parent / ".sitepatch/pristine"
    patched = 0
    for path in dict.fromkeys(files):
        digest = recorded_in(record, path)
        if digest and (copies / digest).is_file():
            patched += 1
    return patched


def entries_of(data: bytes, group: str) -> list[tuple[str, str]]:
    """The entry points of a group in `entry_points.txt`: each name and what it leads to.

    Raises:
        ValueError: there are none that can be read.
    """
    from configparser import ConfigParser, Error  # few environments have what it is for

    parser = ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(data.decode("utf-8"))
    except Error as error:
        raise ValueError(str(error)) from None
    return list(parser[group].items()) if group in parser else []
