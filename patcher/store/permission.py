"""What keeps a site directory from being changed, found before anything is, and what would help."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from typing import Container, List, Sequence, Tuple

from patcher.errors import StoreError
from patcher.message import Message, joined
from patcher.store.folder import HOME, HOME_HINT, Folder
from patcher.store.receipt import path_problem

MOUNTED = Message("another file is mounted over it; change that file where it is mounted from, or run without that mount")
_HELP = {
    errno.ENOSPC: Message("free some space on that disk, then run this again"),
    errno.EDQUOT: Message("the disk quota of this account is used up; free some space, then run this again"),
    errno.EROFS: Message("the filesystem is mounted read-only; mount it writable, or see `sitepatch run --overlay`"),
    errno.EACCES: Message("run this as the owner of the directory, or use a virtual environment of your own"),
    errno.EPERM: Message("the directory or the file may be immutable (lsattr, chattr -i), or belong to somebody else"),
    errno.EISDIR: HOME_HINT,
    errno.ENOTDIR: HOME_HINT,
    errno.ELOOP: HOME_HINT,
    errno.ESTALE: Message("another machine has replaced it meanwhile; run this again"),
    errno.ENOENT: Message("the package may have been uninstalled or reinstalled meanwhile; see `sitepatch status`"),
}


def store_error(site: str, error: OSError, after: str = "") -> StoreError:
    """Return the StoreError for a system call that failed; `after` says how the run ended."""
    help_text = _HELP.get(error.errno or 0, "")
    place = (
        Message("{filename}: {error}", filename=error.filename, error=Message.whole(error.strerror))
        if str(error.filename or "").startswith(site)
        else Message("{site}: {error}", site=site, error=error)
    )
    return StoreError(place, joined("; ", (sentence for sentence in (after, help_text) if sentence)))


def obstacles(site: Folder, paths: Sequence[str], moved: Container[str] = ()) -> List[str]:
    """Return everything that would keep `paths` below `site` from being changed, each text once.

    Those in `moved` are to be replaced by their pristine copies, which have the right owners already, or are not there.
    """
    problems: List[str] = []
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
            if not problem:
                problems += _target_problems(site, path, moved=path in moved)
        except StoreError as error:
            problems.append(error.message)
        except OSError as error:
            problem = str(error)
        if problem:
            problems.append(Message("{path}/{file}: {problem}", path=site.path, file=path, problem=problem))
    return list(dict.fromkeys(problems))


def obstacles_above(site: Folder, folder: str) -> List[str]:
    """Return why the directory `folder` below `site` could be neither made nor removed: one text, or none."""
    with suppress(FileNotFoundError), site.holder(folder) as above:
        return _unwritable(above)
    return []


def no_room(site: Folder, sizes: Sequence[int]) -> List[str]:
    """Return why files of these sizes (bytes) would not fit on the filesystem of `site`: one text, or none."""
    disk = os.fstatvfs(site.fd)
    if not disk.f_blocks:  # a filesystem that does not count them
        return []
    unit = disk.f_frsize
    needed = sum(-(-size // unit) for size in sizes) * unit
    free = (disk.f_bavail if os.geteuid() else disk.f_bfree) * unit
    if needed > free:
        return [
            Message(
                "{path}: {needed:,} bytes are needed and {free:,} are free; {help}",
                path=site.path,
                needed=needed,
                free=free,
                help=_HELP[errno.ENOSPC],
            )
        ]
    if disk.f_files and disk.f_ffree < len(sizes):
        return [
            Message(
                "{path}: inodes: {number} needed, {inodes} free; {help}",
                path=site.path,
                number=len(sizes),
                inodes=disk.f_ffree,
                help=_HELP[errno.ENOSPC],
            )
        ]
    return []


def _target_problems(site: Folder, path: str, *, moved: bool) -> List[str]:
    folder, name = _holder(site, path, nearest=moved)
    with folder:
        problems = _unwritable(folder)
        if not folder.has(name):
            missing = Message("{path}/{name}: there is no such file", path=folder.path, name=name)
            return problems if moved else [*problems, missing]
        if folder.mounted(name):
            problems.append(Message("{path}/{name}: {place}", path=folder.path, name=name, place=MOUNTED))
        elif not os.access(name, os.R_OK, dir_fd=folder.fd):
            problems.append(
                Message(
                    "{path}/{name}: user {uid} may not read it, or its link leads nowhere",
                    path=folder.path,
                    name=name,
                    uid=os.getuid(),
                )
            )
        elif not folder.link(name) and _immutable(folder, name):
            problems.append(
                Message(
                    "{path}/{name}: the file is immutable; take that away with chattr -i or chflags",
                    path=folder.path,
                    name=name,
                )
            )
        else:
            # protected_hardlinks (proc(5)): the file of another user gets a second name from those who may write to it
            may_link = os.access(name, os.R_OK | os.W_OK, dir_fd=folder.fd)
            problems += _sticky(folder, name) or ([] if moved and may_link else _not_mine(folder, name))
        with suppress(FileNotFoundError), folder.sub("__pycache__") as cache:
            problems += _unwritable(cache)
    return problems


def _holder(site: Folder, path: str, *, nearest: bool) -> Tuple[Folder, str]:
    """Open the directory of `path`, with its name there; of one that is to be made the `nearest` above it."""
    try:
        return site.holder(path), path.rpartition("/")[2]
    except FileNotFoundError:
        above = path.rpartition("/")[0]
        if not nearest or "/" not in above:
            raise
        return _holder(site, above, nearest=True)


def _not_mine(folder: Folder, name: str) -> List[str]:
    """Return why a new file could not be given the owner and group of the file `name`: one text, or none.

    A read-only file is no problem: as with every installer it is its directory that has to be writable, and the new file
    is as read-only as the old one.
    """
    info, user = os.stat(name, dir_fd=folder.fd), os.geteuid()
    if not user or folder.link(name):  # what a link leads to is left as it is
        return []
    if info.st_uid != user:
        who = Message(
            "user {owner}, and user {mine} may not give it back to them; run this as that user", owner=info.st_uid, mine=user
        )
        return [Message("{path}/{name}: belongs to {who}", path=folder.path, name=name, who=who)]
    if info.st_gid not in {os.getegid(), *os.getgroups()}:
        who = Message(
            "group {group}, of which user {mine} is no member; run this as a member of that group",
            group=info.st_gid,
            mine=user,
        )
        return [Message("{path}/{name}: belongs to {who}", path=folder.path, name=name, who=who)]
    return []


def _sticky(folder: Folder, name: str) -> List[str]:
    """Return why the name itself cannot be given to a new file, though its directory can be written: one text, or none."""
    directory, owner, user = os.fstat(folder.fd), os.stat(name, dir_fd=folder.fd, follow_symlinks=False).st_uid, os.geteuid()
    if not directory.st_mode & stat.S_ISVTX or user in (0, directory.st_uid, owner):
        return []
    who = Message(
        "user {owner}, and in a sticky directory user {mine} may not replace it; run this as that user", owner=owner, mine=user
    )
    return [Message("{path}/{name}: belongs to {who}", path=folder.path, name=name, who=who)]


def _unwritable(folder: Folder) -> List[str]:
    """Return why no name in `folder` can be changed: one text, or none."""
    if os.access(".", os.W_OK | os.X_OK, dir_fd=folder.fd):  # also false for root where it is read-only or immutable
        return []
    if os.fstatvfs(folder.fd).f_flag & os.ST_RDONLY:
        return [Message("{path}: {help}", path=folder.path, help=_HELP[errno.EROFS])]
    if _immutable(folder, "."):
        return [Message("{path}: the directory is immutable; take that away with chattr -i or chflags", path=folder.path)]
    owner = os.fstat(folder.fd).st_uid
    return [
        Message(
            "{path}: user {uid} may not write here, its owner is user {owner}; {help}",
            path=folder.path,
            uid=os.getuid(),
            owner=owner,
            help=_HELP[errno.EACCES],
        )
    ]


def _immutable(folder: Folder, name: str) -> bool:
    """Whether a file is marked immutable or append-only, which stops even root from replacing it."""
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=folder.fd)
    try:
        if sys.platform == "darwin":
            flags = os.fstat(fd).st_flags
            return bool(flags & (stat.UF_IMMUTABLE | stat.SF_IMMUTABLE | stat.UF_APPEND | stat.SF_APPEND))
        else:  # noqa: RET505  (so that mypy sees two platforms and no dead code)
            import fcntl

            get_flags, immutable, append_only = 0x80086601, 0x10, 0x20  # FS_IOC_GETFLAGS, <linux/fs.h>
            try:
                flags = int.from_bytes(fcntl.ioctl(fd, get_flags, bytes(8))[:4], sys.byteorder)
            except OSError:
                return False  # a filesystem without such flags
            return bool(flags & (immutable | append_only))
    finally:
        os.close(fd)
