"""Reads files that others may have put there: only regular ones, never waiting, up to a limit."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from typing import Iterable, Mapping

from patcher.errors import Location, SitepatchError
from patcher.message import Message

TEXT = 1 << 20
"""The limit in bytes of what a user writes: a patch, a table."""
FILE = 1 << 28
"""The limit in bytes of what is installed, or written by sitepatch."""

_KINDS = {
    stat.S_IFDIR: Message("a directory"),
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: Message("a socket"),
    stat.S_IFCHR: Message("a device"),
    stat.S_IFBLK: Message("a device"),
}


def look_again(folder: str) -> None:
    """Make an NFS client ask the server for a directory again: other clients may have changed it.

    A client caches them for up to a minute (`acdirmin`, `acdirmax` of nfs(5)): a file that another
    client has replaced is read as it was, a new one is missing, also under a lock. When a directory
    is opened by its name, the client checks with the server whether it has changed. If there is no
    such directory nothing happens.
    """
    with suppress(OSError):
        os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))


def read_file(path: str | os.PathLike[str], limit: int = FILE) -> bytes:
    """Return the bytes of a regular file.

    Args:
        path: of the file; a link is followed (see `open_file`).
        limit: how many bytes it may have.

    Raises:
        OSError: as `open` raises it: there is no such file, or this user may not read it.
        SitepatchError: it is something else than a regular file, a link that must not be followed,
            or too large.
    """
    return read_open(open_file(os.fspath(path)), os.fspath(path), limit)


def open_file(name: str, dir_fd: int | None = None, path: str = "") -> int:
    """Open a regular file for reading and return its descriptor; never waits for a FIFO.

    A link that a third user made, neither this one nor root, is not followed to a file that not
    everybody may read, unless that user owns the file: they would have this process show them what
    is private.

    Args:
        name: path of the file, relative to `dir_fd` if that is given.
        dir_fd: an open directory.
        path: the whole path, for messages.

    Raises:
        OSError: as `open` raises it.
        SitepatchError: it is no regular file, or a link that must not be followed.
    """
    path = path or name
    # before it is opened: that alone makes some devices act
    _check_regular(os.stat(name, dir_fd=dir_fd), path)
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=dir_fd)
    try:
        info = os.fstat(fd)
        _check_regular(info, path)
        if not info.st_mode & stat.S_IROTH:
            _check_link(os.stat(name, dir_fd=dir_fd, follow_symlinks=False), info, path=path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _check_link(link: os.stat_result, info: os.stat_result, path: str) -> None:
    """Refuse a link of a third user to a private file."""
    if stat.S_ISLNK(link.st_mode) and link.st_uid not in (0, os.geteuid(), info.st_uid):
        raise SitepatchError.at(
            Location(path),
            "found a link, made by user {maker}, to a private file of user {owner}",
            "put the file itself there, if it is meant to be read",
            maker=link.st_uid,
            owner=info.st_uid,
        )


def read_open(fd: int, path: str, limit: int = FILE) -> bytes:
    """Return the bytes of an open file, and close it.

    Raises:
        SitepatchError: they are more than `limit`; it names `path`.
    """
    data = b""
    try:
        size = os.fstat(fd).st_size
        if size <= limit:
            data = os.read(fd, size + 1)  # no more: os.read reserves what it is asked for
            # a file may have grown; those of /proc have the size 0
            more = data
            while more and len(data) <= limit:
                more = os.read(fd, min(limit + 1 - len(data), 1 << 16))
                data += more
    finally:
        os.close(fd)
    check_size(path, max(size, len(data)), limit)
    return data


def check_size(path: str, size: int, limit: int) -> None:
    """Refuse a file of more than so many bytes.

    Raises:
        SitepatchError: it has more.
    """
    if size > limit:
        raise SitepatchError.at(
            Location(path),
            "found {size:,} bytes or more, expected at most {limit:,}",
            size=size,
            limit=limit,
        )


def _check_regular(info: os.stat_result, path: str) -> None:
    """Refuse what is not a regular file."""
    if not stat.S_ISREG(info.st_mode):
        kind = _KINDS.get(stat.S_IFMT(info.st_mode), "something else")
        raise SitepatchError.at(Location(path), "found {kind}, expected a regular file", kind=kind)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads to a regular file; False also where this user may not look.

    `Path.is_file` raises PermissionError there, up to Python 3.13; so do `is_dir` and `is_symlink`.
    """
    return stat.S_ISREG(_mode(path))


def is_directory(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads to a directory; False also where this user may not look."""
    return stat.S_ISDIR(_mode(path))


def is_link(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a symbolic link; False also where this user may not look."""
    return stat.S_ISLNK(_mode(path, follow=False))


def _mode(path: str | os.PathLike[str], *, follow: bool = True) -> int:
    """The `st_mode` of what a path leads to, 0 if that cannot be looked at."""
    try:
        # to make a `Path` takes twice as long, and a start asks for some hundreds
        return os.stat(path, follow_symlinks=follow).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return 0


def is_inside(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> bool:
    """Whether a path leads, by whatever links, to a place in a folder, or to the folder itself."""
    return f"{os.path.realpath(path)}/".startswith(f"{os.path.realpath(folder).rstrip('/')}/")


def patchset_digest(files: Mapping[str, str]) -> str:
    """The sha256 (hex) over the sorted names and texts of the files of a patchset."""
    pairs = [(name.encode("utf-8"), text.encode("utf-8")) for name, text in sorted(files.items())]
    return files_digest(pairs)


def files_digest(files: Iterable[tuple[bytes, bytes]]) -> str:
    """The sha256 (hex) over pairs of a name and a content.

    Their lengths are part of it, so that no two sets look alike.
    """
    digest = hashlib.sha256()
    for pair in files:
        for part in pair:
            digest.update(b"%d:" % len(part) + part)
    return digest.hexdigest()
