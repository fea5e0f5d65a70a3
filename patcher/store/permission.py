"""What keeps a site directory from being changed, found before anything is, and what would help."""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import stat
import sys
from contextlib import suppress
from typing import Container, Iterator, Sequence

from patcher.errors import StoreError
from patcher.message import Message, joined
from patcher.store.folder import HOME, HOME_HINT, Folder
from patcher.store.receipt import path_problem
from patcher.system.advice import advice

MOUNTED = Message(
    "another file is mounted over it; change that file where it is mounted from, "
    "or run without that mount"
)
_NOT_OURS = (errno.EISDIR, errno.ENOTDIR, errno.ELOOP)
"""What opening the store meets where something else has its name."""


def store_error(site: str, error: OSError, after: str = "") -> StoreError:
    """Return the StoreError for a system call that failed; `after` says how the run ended."""
    help_text = HOME_HINT if error.errno in _NOT_OURS else advice(error.errno).in_site
    problem = Message("{site}: {error}", site=site, error=error)
    if str(error.filename or "").startswith(site):
        reason = Message.whole(error.strerror)
        problem = Message("{file}: {reason}", file=error.filename, reason=reason)
    return StoreError(problem, joined("; ", (after, help_text)))


def obstacles(site: Folder, paths: Sequence[str], moved: Container[str] = ()) -> list[str]:
    """Return everything that would keep `paths` below `site` from being changed, each text once.

    Those in `moved` are to be replaced by their pristine copies, which have the right owners
    already, or are not there.
    """
    problems = _store_problems(site)
    for path in paths:
        problem = path_problem(path)
        if not problem:
            try:
                problems += _target_problems(site, path, moved=path in moved)
            except StoreError as error:
                problems.append(error.message)
            except OSError as error:
                problem = str(error)
        if problem:
            template = "{site}/{path}: {problem}"
            problems.append(Message(template, site=site.path, path=path, problem=problem))
    return list(dict.fromkeys(problems))


def _store_problems(site: Folder) -> list[str]:
    """What would keep the store from being written."""
    problems: list[str] = []
    try:
        with site.sub(HOME) as home:
            problems += _unwritable(home)
            for name in ("receipts", "pristine", "patchsets"):
                with suppress(FileNotFoundError), home.sub(name) as folder:
                    problems += _unwritable(folder)
    except FileNotFoundError:
        problems += _unwritable(site)
    except StoreError as error:
        problems.append(error.message)
    return problems


def obstacles_above(site: Folder, folder: str) -> list[str]:
    """Return why the directory `folder` could be neither made nor removed: one text, or none."""
    with suppress(FileNotFoundError, StoreError), site.holder(folder) as above:
        return list(_unwritable(above))
    return []


def no_room(site: Folder, sizes: Sequence[int]) -> list[str]:
    """Return why files of these sizes (bytes) would not fit on the disk: one text, or none."""
    disk = os.fstatvfs(site.fd)
    if not disk.f_blocks:  # a filesystem that does not count them
        return []
    blocks = sum(-(-size // disk.f_frsize) for size in sizes)
    free_blocks = disk.f_bavail if os.geteuid() else disk.f_bfree
    if blocks > free_blocks:
        template = "{path}: {needed:,} bytes are needed and {free:,} are free; {help}"
        needed, free = blocks * disk.f_frsize, free_blocks * disk.f_frsize
    elif disk.f_files and disk.f_ffree < len(sizes):
        template = "{path}: inodes: {needed} needed, {free} free; {help}"
        needed, free = len(sizes), disk.f_ffree
    else:
        return []
    help_text = advice(errno.ENOSPC).in_site
    return [Message(template, path=site.path, needed=needed, free=free, help=help_text)]


def _target_problems(site: Folder, path: str, *, moved: bool) -> Iterator[str]:
    """What would keep one file from being changed."""
    folder, name = _holder(site, path, nearest=moved)
    with folder:
        yield from _unwritable(folder)
        is_there = folder.has(name)
        problem = ""
        if is_there:
            problem = _file_problem(folder, name, moved=moved)
        elif not moved:
            problem = Message("there is no such file")
        if problem:
            yield Message("{path}/{name}: {problem}", path=folder.path, name=name, problem=problem)
        if is_there:
            with suppress(FileNotFoundError), folder.sub("__pycache__") as cache:
                yield from _unwritable(cache)


def _holder(site: Folder, path: str, *, nearest: bool) -> tuple[Folder, str]:
    """Open the directory of `path`, or the `nearest` above it, with its name there."""
    try:
        return site.holder(path), path.rpartition("/")[2]
    except FileNotFoundError:
        above = path.rpartition("/")[0]
        if not nearest or "/" not in above:
            raise
        return _holder(site, above, nearest=True)


def _file_problem(folder: Folder, name: str, *, moved: bool) -> str:
    """What keeps a file from being replaced; empty if nothing does.

    A read-only file is no problem: as with every installer it is its directory that has to be
    writable, and the new file is as read-only as the old one. It has to have the owner and the
    group of the old one.
    """
    if folder.mounted(name):
        return MOUNTED
    if not os.access(name, os.R_OK, dir_fd=folder.fd):
        return Message("user {uid} may not read it, or its link leads nowhere", uid=os.getuid())
    link = folder.link(name)
    if not link and _immutable(folder, name):
        return Message("the file is immutable; take that away with chattr -i or chflags")

    user = os.geteuid()
    directory = os.fstat(folder.fd)
    owner = os.stat(name, dir_fd=folder.fd, follow_symlinks=False).st_uid
    if directory.st_mode & stat.S_ISVTX and user not in (0, directory.st_uid, owner):
        return Message(
            "belongs to user {owner}, and in a sticky directory user {mine} may not replace it; "
            "run this as that user",
            owner=owner,
            mine=user,
        )
    if not user or link:
        return ""  # what a link leads to is left as it is
    # protected_hardlinks (proc(5)): who may write to the file of another user may give it a second
    # name
    if moved and os.access(name, os.R_OK | os.W_OK, dir_fd=folder.fd):
        return ""
    return _owner_problem(folder, os.stat(name, dir_fd=folder.fd))


def _owner_problem(folder: Folder, info: os.stat_result) -> str:
    """Why a new file could not get the owner and the group of the old one; empty if it can."""
    user = os.geteuid()
    if info.st_uid != user:
        if info.st_uid == os.fstat(folder.fd).st_uid and not _writable(folder):
            return ""  # `_unwritable` names that user
        return Message(
            "belongs to user {owner}, and user {mine} may not give it back to them; "
            "run this as that user",
            owner=info.st_uid,
            mine=user,
        )
    if info.st_gid not in {os.getegid(), *os.getgroups()}:
        return Message(
            "belongs to group {group}, of which user {mine} is no member; "
            "run this as a member of that group",
            group=info.st_gid,
            mine=user,
        )
    return ""


def _writable(folder: Folder) -> bool:
    """Whether names in a folder can be changed; not by root, either, if it is immutable."""
    return os.access(".", os.W_OK | os.X_OK, dir_fd=folder.fd)


def _unwritable(folder: Folder) -> Iterator[str]:
    """Yield why no name in `folder` can be changed, if none can."""
    if _writable(folder):
        return
    if os.fstatvfs(folder.fd).f_flag & os.ST_RDONLY:
        problem = advice(errno.EROFS).in_site
    elif _immutable(folder, "."):
        problem = Message("the directory is immutable; take that away with chattr -i or chflags")
    elif os.fstat(folder.fd).st_uid == os.getuid():
        problem = Message(
            "it is yours, and its mode does not let you write: chmod u+rwx {folder}",
            folder=shlex.quote(str(folder.path)),
        )
    else:
        problem = Message(
            "user {uid} may not write here, its owner is user {owner}; {help}",
            uid=os.getuid(),
            owner=os.fstat(folder.fd).st_uid,
            help=advice(errno.EACCES).in_site,
        )
    yield Message("{path}: {problem}", path=folder.path, problem=problem)


def _immutable(folder: Folder, name: str) -> bool:
    """Whether a file is immutable or append-only, which stops even root from replacing it."""
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=folder.fd)
    try:
        return bool(_flags(fd) & _IMMUTABLE)
    finally:
        os.close(fd)


if sys.platform == "darwin":
    _IMMUTABLE = stat.UF_IMMUTABLE | stat.SF_IMMUTABLE | stat.UF_APPEND | stat.SF_APPEND

    def _flags(fd: int) -> int:
        """The flags of an open file, of chflags(2)."""
        return os.fstat(fd).st_flags

else:
    # <linux/fs.h>
    _FS_IOC_GETFLAGS = 0x80086601
    _FS_IMMUTABLE_FL = 0x10
    _FS_APPEND_FL = 0x20
    _IMMUTABLE = _FS_IMMUTABLE_FL | _FS_APPEND_FL

    def _flags(fd: int) -> int:
        """The flags of an open file, of chattr(1); 0 on a filesystem without."""
        try:
            flags = fcntl.ioctl(fd, _FS_IOC_GETFLAGS, bytes(8))
        except OSError:
            return 0
        return int.from_bytes(flags[:4], sys.byteorder)
