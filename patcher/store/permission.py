"""What keeps a site directory from being changed, found before anything is, and what would help."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from typing import Container, Iterator, Sequence

from patcher.errors import StoreError
from patcher.message import Message, joined
from patcher.store.folder import HOME, HOME_HINT, Folder
from patcher.store.receipt import path_problem

MOUNTED = Message(
    "another file is mounted over it; change that file where it is mounted from, or run without that mount"
)
_HELP = {
    errno.ENOSPC: Message("free some space on that disk, then run this again"),
    errno.EDQUOT: Message(
        "the disk quota of this account is used up; free some space, then run this again"
    ),
    errno.EROFS: Message(
        "the filesystem is mounted read-only; mount it writable, or see `sitepatch run --overlay`"
    ),
    errno.EACCES: Message(
        "run this as the owner of the directory, use a virtual environment of your own, or see `sitepatch run --overlay`"
    ),
    errno.EPERM: Message(
        "the directory or the file may be immutable (lsattr, chattr -i), or belong to somebody else"
    ),
    errno.EISDIR: HOME_HINT,
    errno.ENOTDIR: HOME_HINT,
    errno.ELOOP: HOME_HINT,
    errno.ESTALE: Message("another machine has replaced it meanwhile; run this again"),
    errno.ENOENT: Message(
        "the package may have been uninstalled or reinstalled meanwhile; see `sitepatch status`"
    ),
}


def store_error(site: str, error: OSError, after: str = "") -> StoreError:
    """Return the StoreError for a system call that failed; `after` says how the run ended."""
    help_text = _HELP.get(error.errno or 0, "")
    place = (
        Message("{filename}: {error}", filename=error.filename, error=Message.whole(error.strerror))
        if str(error.filename or "").startswith(site)
        else Message("{site}: {error}", site=site, error=error)
    )
    return StoreError(place, joined("; ", (after, help_text)))


def obstacles(site: Folder, paths: Sequence[str], moved: Container[str] = ()) -> list[str]:
    """Return everything that would keep `paths` below `site` from being changed, each text once.

    Those in `moved` are to be replaced by their pristine copies, which have the right owners already, or are not there.
    """
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
    for path in paths:
        problem = path_problem(path)
        try:
            problems += () if problem else _target_problems(site, path, moved=path in moved)
        except StoreError as error:
            problems.append(error.message)
        except OSError as error:
            problem = str(error)
        if problem:
            problems.append(
                Message("{path}/{name}: {problem}", path=site.path, name=path, problem=problem)
            )
    return list(dict.fromkeys(problems))


def obstacles_above(site: Folder, folder: str) -> list[str]:
    """Return why the directory `folder` below `site` could be neither made nor removed: one text, or none."""
    with suppress(FileNotFoundError, StoreError), site.holder(folder) as above:
        return list(_unwritable(above))
    return []


def no_room(site: Folder, sizes: Sequence[int]) -> list[str]:
    """Return why files of these sizes (bytes) would not fit on the filesystem of `site`: one text, or none."""
    disk = os.fstatvfs(site.fd)
    if not disk.f_blocks:  # a filesystem that does not count them
        return []
    needed = sum(-(-size // disk.f_frsize) for size in sizes) * disk.f_frsize
    free = (disk.f_bavail if os.geteuid() else disk.f_bfree) * disk.f_frsize
    template = "{path}: {needed:,} bytes are needed and {free:,} are free; {help}"
    if needed <= free:
        if not disk.f_files or disk.f_ffree >= len(sizes):
            return []
        needed, free, template = (
            len(sizes),
            disk.f_ffree,
            "{path}: inodes: {needed} needed, {free} free; {help}",
        )
    return [Message(template, path=site.path, needed=needed, free=free, help=_HELP[errno.ENOSPC])]


def _target_problems(site: Folder, path: str, *, moved: bool) -> Iterator[str]:
    folder, name = _holder(site, path, nearest=moved)
    with folder:
        yield from _unwritable(folder)
        is_there = folder.has(name)
        problem = (
            _file_problem(folder, name, moved=moved)
            if is_there
            else ""
            if moved
            else Message("there is no such file")
        )
        if problem:
            yield Message("{path}/{name}: {problem}", path=folder.path, name=name, problem=problem)
        if is_there:
            with suppress(FileNotFoundError), folder.sub("__pycache__") as cache:
                yield from _unwritable(cache)


def _holder(site: Folder, path: str, *, nearest: bool) -> tuple[Folder, str]:
    """Open the directory of `path`, with its name there; of one that is to be made the `nearest` above it."""
    try:
        return site.holder(path), path.rpartition("/")[2]
    except FileNotFoundError:
        above = path.rpartition("/")[0]
        if not nearest or "/" not in above:
            raise
        return _holder(site, above, nearest=True)


def _file_problem(folder: Folder, name: str, *, moved: bool) -> str:
    """What keeps a file from being replaced, "" if nothing does.

    A read-only file is no problem: as with every installer it is its directory that has to be writable, and the new file
    is as read-only as the old one. It has to have the owner and the group of the old one.
    """
    if folder.mounted(name):
        return MOUNTED
    if not os.access(name, os.R_OK, dir_fd=folder.fd):
        return Message("user {uid} may not read it, or its link leads nowhere", uid=os.getuid())
    link = folder.link(name)
    if not link and _immutable(folder, name):
        return Message("the file is immutable; take that away with chattr -i or chflags")
    directory, owner = (
        os.fstat(folder.fd),
        os.stat(name, dir_fd=folder.fd, follow_symlinks=False).st_uid,
    )
    info, user = os.stat(name, dir_fd=folder.fd), os.geteuid()
    if directory.st_mode & stat.S_ISVTX and user not in (0, directory.st_uid, owner):
        template = "belongs to user {owner}, and in a sticky directory user {mine} may not replace it; run this as that user"
        return Message(template, owner=owner, mine=user)
    # protected_hardlinks (proc(5)): the file of another user gets a second name from those who may write to it
    if not user or link or (moved and os.access(name, os.R_OK | os.W_OK, dir_fd=folder.fd)):
        return ""  # what a link leads to is left as it is
    if info.st_uid != user:
        if info.st_uid == directory.st_uid and not _writable(folder):
            return ""  # `_unwritable` names that user
        template = "belongs to user {owner}, and user {mine} may not give it back to them; run this as that user"
        return Message(template, owner=info.st_uid, mine=user)
    if info.st_gid not in {os.getegid(), *os.getgroups()}:
        template = "belongs to group {group}, of which user {mine} is no member; run this as a member of that group"
        return Message(template, group=info.st_gid, mine=user)
    return ""


def _writable(folder: Folder) -> bool:
    """Whether names in a folder can be changed: not by root either where it is read-only or immutable."""
    return os.access(".", os.W_OK | os.X_OK, dir_fd=folder.fd)


def _unwritable(folder: Folder) -> Iterator[str]:
    """Yield why no name in `folder` can be changed, if none can."""
    if _writable(folder):
        return
    if os.fstatvfs(folder.fd).f_flag & os.ST_RDONLY:
        problem = _HELP[errno.EROFS]
    elif _immutable(folder, "."):
        problem = Message("the directory is immutable; take that away with chattr -i or chflags")
    else:
        template = "user {uid} may not write here, its owner is user {owner}; {help}"
        problem = Message(
            template, uid=os.getuid(), owner=os.fstat(folder.fd).st_uid, help=_HELP[errno.EACCES]
        )
    yield Message("{path}: {problem}", path=folder.path, problem=problem)


def _immutable(folder: Folder, name: str) -> bool:
    """Whether a file is marked immutable or append-only, which stops even root from replacing it."""
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=folder.fd)
    try:
        if sys.platform == "darwin":
            flags = os.fstat(fd).st_flags
            return bool(
                flags & (stat.UF_IMMUTABLE | stat.SF_IMMUTABLE | stat.UF_APPEND | stat.SF_APPEND)
            )
        else:  # noqa: RET505  (so that mypy sees two platforms and no dead code)
            import fcntl

            # FS_IOC_GETFLAGS, <linux/fs.h>
            get_flags, immutable, append_only = (
                0x80086601,
                0x10,
                0x20,
            )
            try:
                flags = int.from_bytes(fcntl.ioctl(fd, get_flags, bytes(8))[:4], sys.byteorder)
            except OSError:
                return False  # a filesystem without such flags
            return bool(flags & (immutable | append_only))
    finally:
        os.close(fd)
