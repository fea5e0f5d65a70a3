"""An open directory: every write below a site directory goes through here, and none can leave it.

Names are resolved against an open directory, one component at a time and never through a link, so
nobody can swap a directory for a link between a check and a write (a checked path that is used
later loses that race).
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator

from patcher.errors import Location, SitepatchError, StoreError
from patcher.facts import sha256
from patcher.message import Message
from patcher.record import Record
from patcher.system import exchange
from patcher.system.acl import ACCESS, Access, access, access_of, is_inherited
from patcher.system.ownership import check_store
from patcher.system.reading import open_file, read_open

HOME = ".sitepatch"
"""The folder of sitepatch in a site directory."""
JOURNAL = "journal.json"
"""The journal of a commit, there."""
SPARE = "spare"
"""A file there that keeps room for a restore on a full disk."""
EDITED = "edited"
"""The folder there with copies of edited texts."""
WAITING = ".sitepatch-tmp"
"""The end of the name that a commit gives for a while to what waits to be renamed over a target."""
SECOND = ".sitepatch-old"
"""The end of the name that it gives to what stood there."""
_TEMPORARY = rf"\.[0-9a-f]{{16}}({WAITING}|{SECOND})"
_LONGEST = 255  # bytes of a file name (NAME_MAX of all common filesystems)
HOME_HINT = Message(
    "something else lies where sitepatch keeps its own files: "
    "move it away and put back what was there, from a backup; "
    "without one, install the patched packages again, the same builds, and move .sitepatch away"
)
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def is_temporary(name: str) -> bool:
    """Whether a file name is one that a commit gives for a while."""
    return bool(re.fullmatch(_TEMPORARY, name))


def edited_copy(path: str, data: bytes) -> str:
    """The path, below the site directory, of the copy of an edited text of a target file.

    Nothing takes it for a module. A long name is cut, so that the copy's own fits: with what is
    added to it here and while it is written (`.tmp`).
    """
    name = path.rpartition("/")[2]
    room = _LONGEST - len(f".{'0' * 16}.tmp")
    if len(os.fsencode(name)) > room:
        name = os.fsencode(name)[:room].decode("utf-8", "ignore")
    return f"{HOME}/{EDITED}/{name}.{sha256(data)[:16]}"


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Give an OSError the whole path: the system call knew only a name in an open directory."""
    try:
        yield
    except OSError as error:
        error.filename = path
        raise


class Folder:
    """An open directory. `path` is for messages only; a name is one component, never a path.

    Methods raise OSError as the system call does, and StoreError for something that is not what it
    must be.
    """

    def __init__(self, fd: int, path: str, site: Access | None = None) -> None:
        self.fd = fd
        self.path = path
        self._site = site  # in a store: who may write to the site directory, and is trusted here

    @classmethod
    def open(cls, path: str) -> Folder:
        """Open the directory at `path`, which may itself be reached through links."""
        return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY), path)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the directory; a second call does nothing."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def sub(self, name: str) -> Folder:
        """Open the directory `name` in this one.

        Raises:
            StoreError: it is a link, wherever that leads, or a store that is not trusted (see
                `check_store`).
        """
        path = f"{self.path}/{name}"
        try:
            fd = os.open(name, _DIRECTORY, dir_fd=self.fd)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            template = "{path}: is a link or not a directory; sitepatch does not write through it"
            hint = Message("name the directory that the link leads to, with --target")
            if HOME in path.split("/"):
                hint = HOME_HINT
            raise StoreError(Message(template, path=path), hint) from error

        site = access_of(self.fd) if name == HOME else self._site
        folder = Folder(fd, path, site)
        try:
            folder._check_trusted(access_of(fd), path)
        except StoreError:
            folder.close()
            raise
        return folder

    def _check_trusted(self, access: Access, path: str) -> None:
        """Raise StoreError in a store, unless who may write to something in it is trusted there."""
        if self._site is not None:
            check_store(access, self._site, path=path)

    def make(self, name: str) -> Folder:
        """Open the directory `name`; if there is none it is made, readable whatever the umask."""
        with suppress(FileNotFoundError):
            return self.sub(name)
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=self.fd)
            with Folder(os.open(name, _DIRECTORY, dir_fd=self.fd), name) as folder:
                set_owner(folder.fd, self.fd)
                os.fchmod(folder.fd, 0o755 | group_bits(self.fd))
            self.sync()
        return self.sub(name)

    def holder(self, path: str, new: str = "") -> Folder:
        """Open the directory that holds the `/`-separated, already checked `path` below this one.

        The directory `new` and those below it are made if they are missing.
        """
        folder = Folder(os.dup(self.fd), self.path)
        for depth, part in enumerate(path.split("/")[:-1]):
            is_new = bool(new) and depth >= new.count("/")
            with folder:
                folder = folder.make(part) if is_new else folder.sub(part)
        return folder

    def names(self) -> list[str]:
        """Return the names in this directory, sorted."""
        # btrfs shows what there was when a directory was opened or rewound last
        os.lseek(self.fd, 0, os.SEEK_SET)
        return sorted(os.listdir(self.fd))  # noqa: PTH208  (pathlib cannot list an open directory)

    def mounted(self, name: str) -> bool:
        """Whether something is mounted on the file `name`, which its device does not show."""
        if sys.platform != "linux":
            return False
        try:
            fd = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=self.fd)
        except FileNotFoundError:
            return False
        try:
            return mount(fd) != mount(self.fd)
        finally:
            os.close(fd)

    def look(self, name: str, *, hint: str = "", xattrs: bool = True) -> tuple[bytes, Meta]:
        """Return the bytes and metadata of the regular file `name`, followed if it is a link.

        Args:
            name: of the file.
            hint: what to do if it is no regular file.
            xattrs: whether its extended attributes are read, too.
        """
        path = f"{self.path}/{name}"
        try:
            with naming(path):
                fd = open_file(name, self.fd, path=path)
            meta = Meta.of(os.fstat(fd), read_xattrs(fd) if xattrs else ())
            return read_open(fd, path), meta
        except SitepatchError as error:
            hint = hint or error.hint or "sitepatch changes regular files only"
            raise StoreError(error.message, hint, error.location) from error

    def read(self, name: str) -> bytes:
        """Return the bytes of the regular file `name`, followed if it is a link."""
        return self.look(name)[0]

    def own(self, name: str, *, proven: bool = False) -> bytes:
        """Return the bytes of `name`, a file that sitepatch wrote.

        Raises:
            FileNotFoundError: there is nothing of this name.
            StoreError: it is something else, or its owner is not trusted here. Bytes that the
                caller verifies by their hash (`proven`) may have any owner: a pristine copy has the
                owner and the mode of its file.
        """
        path = f"{self.path}/{name}"
        if stat.S_ISLNK(os.stat(name, dir_fd=self.fd, follow_symlinks=False).st_mode):
            problem = Message("is a link; sitepatch writes regular files there")
            raise StoreError.at(Location(path), problem, HOME_HINT)
        try:
            data, meta = self.look(name, hint=HOME_HINT, xattrs=not proven)
        except FileNotFoundError:
            raise
        except OSError as error:
            problem = Message("cannot be read: {error}", error=Message.whole(error.strerror))
            hint = ""
            if error.errno == errno.EACCES:
                template = "make it readable for user {uid}, or run this as its owner"
                hint = Message(template, uid=os.getuid())
            raise StoreError.at(Location(path), problem, hint) from error
        if not proven:
            acl = dict(meta.xattrs).get(ACCESS, b"")
            self._check_trusted(access(meta.uid, meta.gid, mode=meta.mode, acl=acl), path)
        return data

    def digest(self, name: str) -> str:
        """Return the sha256 (hex) of the file `name`; empty if it is not there."""
        try:
            return sha256(self.read(name))
        except FileNotFoundError:
            return ""

    def link(self, name: str) -> str:
        """Return where the symbolic link `name` leads, as written; empty for no link."""
        try:
            return os.readlink(name, dir_fd=self.fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT):
                raise
            return ""

    def has(self, name: str) -> bool:
        """Whether there is anything called `name`, a dangling link included."""
        try:
            os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            return False
        return True

    def same(self, name: str, other: str) -> bool:
        """Whether two names are there and of one file; links are not followed."""
        try:
            info = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
            other_info = os.stat(other, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(info, other_info)

    def write(self, name: str, data: bytes, meta: Meta | None = None) -> None:
        """Make the file `name` anew, with its bytes on the disk.

        An old one is removed first, never written to. Not atomic: for names that nobody reads yet.
        The directory entry is safe after `sync`.

        Args:
            name: of the file.
            data: its bytes.
            meta: what it carries besides; without it, what is usual in this directory.
        """
        self.remove(name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        fd = os.open(name, flags, mode=0o600, dir_fd=self.fd)
        try:
            rest = memoryview(data)
            while rest:  # a write may take less than it was given
                rest = rest[os.write(fd, rest) :]
            if meta is not None and meta.uid >= 0:
                with suppress(PermissionError):  # only root may give a file away
                    os.fchown(fd, meta.uid, meta.gid)
            elif self._site is not None:
                set_owner(fd, self.fd)
            if meta is not None:
                set_xattrs(fd, meta.xattrs)
            stamp(fd, meta or Meta())
        finally:
            os.close(fd)

    def put(self, name: str, data: bytes, meta: Meta | None = None) -> None:
        """Replace the file `name` in one step, by way of `name.tmp`; `sync` makes it safe."""
        self.write(f"{name}.tmp", data, meta)
        self.move(f"{name}.tmp", name)

    def stamp(self, name: str, meta: Meta) -> None:
        """Set the permission bits and the mtime of the regular file `name`."""
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self.fd)
        try:
            info = os.fstat(fd)
            if (stat.S_IMODE(info.st_mode), info.st_mtime_ns) != (meta.mode, meta.mtime_ns):
                # only its owner can do that, and in a shared directory another user may restore
                stamp(fd, meta)
        finally:
            os.close(fd)

    def make_link(self, name: str, target: str, mtime_ns: int) -> None:
        """Make the symbolic link `name` anew, with its own mtime (nanoseconds)."""
        self.remove(name)
        os.symlink(target, name, dir_fd=self.fd)
        os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=self.fd, follow_symlinks=False)

    def move(self, name: str, new: str) -> None:
        """Rename `name` to `new`, over whatever file or link is there, atomically."""
        with naming(f"{self.path}/{new}"):
            os.replace(name, new, src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def swap(self, name: str, new: str) -> bool:
        """Put the file or link `name` in the place of `new`, which gets the name `name`.

        Nothing is lost, not even a file that somebody puts there at the last moment. Where the
        system or the filesystem cannot exchange names, `new` is replaced (`move`).

        Returns:
            False if `new` was gone, and is there again (see `claim`).
        """
        with naming(f"{self.path}/{new}"):
            try:
                if exchange.exchange(name, new, dir_fd=self.fd):
                    return True
            except FileNotFoundError:
                return self.claim(name, new)
        self.move(name, new)
        return True

    def claim(self, name: str, new: str) -> bool:
        """Rename `name` to `new` if nothing has that name; return whether it was free.

        Where the system or the filesystem cannot tell in one step, `new` is replaced (`move`).
        """
        with naming(f"{self.path}/{new}"):
            try:
                if exchange.rename_to_free(name, new, dir_fd=self.fd):
                    return True
            except FileExistsError:
                return False
        self.move(name, new)
        return True

    def link_to(self, name: str, to: Folder, new: str) -> bool:
        """Give the file or link `name` a second name, `new` in the folder `to`; it takes no space.

        Returns:
            False where that cannot be: in another mount, on a filesystem without hard links, on a
            file of somebody else.
        """
        to.remove(new)
        try:
            os.link(name, new, src_dir_fd=self.fd, dst_dir_fd=to.fd, follow_symlinks=False)
        except OSError:
            return False
        return True

    def remove(self, name: str) -> None:
        """Remove the file or link `name` if there is one."""
        with suppress(FileNotFoundError), naming(f"{self.path}/{name}"):
            os.unlink(name, dir_fd=self.fd)

    def remove_folder(self, name: str) -> None:
        """Remove the directory `name` if it is there and empty, and nothing is mounted on it."""
        try:
            os.rmdir(name, dir_fd=self.fd)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):
                raise

    def sync(self) -> None:
        """Wait until the names in this directory are on the disk."""
        date(self.fd)
        os.fsync(self.fd)


# what a file carries besides its bytes ---------------------------------------------------------
class Meta(Record):
    """What a file carries besides its bytes: permission bits, owner, mtime (ns), attributes.

    The attributes are the extended ones, an access control list among them.
    """

    mode: int = 0o644
    uid: int = -1
    gid: int = -1
    mtime_ns: int | None = None
    xattrs: tuple[tuple[str, bytes], ...] = ()

    @classmethod
    def of(cls, info: os.stat_result, xattrs: tuple[tuple[str, bytes], ...] = ()) -> Meta:
        """The metadata that stat(2) returns, and extended attributes."""
        return cls(
            mode=stat.S_IMODE(info.st_mode),
            uid=info.st_uid,
            gid=info.st_gid,
            mtime_ns=info.st_mtime_ns,
            xattrs=xattrs,
        )

    @classmethod
    def inside(cls, folder: int) -> Meta:
        """The metadata of a new file of an open directory, as if its owner had made it."""
        info = os.fstat(folder)
        mode = 0o644 | (group_bits(folder) & stat.S_IWGRP)
        return cls(mode, info.st_uid, gid=info.st_gid)


# not ours to set, or not supported: the errors that shutil.copystat passes over
_UNSETTABLE = (errno.EPERM, errno.ENOTSUP, errno.ENODATA, errno.EINVAL, errno.EACCES)


def read_xattrs(fd: int) -> tuple[tuple[str, bytes], ...]:
    """Return the extended attributes of an open file that this user may read, its ACL included."""
    attributes: list[tuple[str, bytes]] = []
    if sys.platform == "linux":
        names: list[str] = []
        with suppress(OSError):  # a filesystem without them
            names = os.listxattr(fd)
        for name in names:
            with suppress(OSError):
                attributes.append((name, os.getxattr(fd, name)))
    return tuple(attributes)


def set_xattrs(fd: int, xattrs: tuple[tuple[str, bytes], ...]) -> None:
    """Give a new file exactly these attributes; those of its directory's default ACL go."""
    if sys.platform == "linux":
        values: dict[str, bytes | None] = {name: None for name, _ in read_xattrs(fd)}
        values.update(xattrs)
        for name, value in values.items():
            try:
                if value is None:
                    os.removexattr(fd, name)
                else:
                    os.setxattr(fd, name, value)
            except OSError as error:
                if error.errno not in _UNSETTABLE:
                    raise


def group_bits(folder: int) -> int:
    """The mode bits of a directory that let a group write there; 0 if nobody or everybody may."""
    mode = os.fstat(folder).st_mode
    if mode & 0o022 != stat.S_IWGRP:
        return 0
    if not access_of(folder).group and not is_inherited(folder):
        return 0  # the bit is the mask of its list, which what is made there does not get
    return mode & (stat.S_IWGRP | stat.S_ISGID)


def set_owner(fd: int, folder: int) -> None:
    """Give what was made in a store to the owner of its folder, or to the group that shares it."""
    folder_info, info = os.fstat(folder), os.fstat(fd)
    if folder_info.st_mode & stat.S_IWOTH:
        return
    uid, gid = info.st_uid, info.st_gid
    if os.geteuid() == 0:
        uid = folder_info.st_uid
    if group_bits(folder) or uid != info.st_uid:
        gid = folder_info.st_gid
    with suppress(PermissionError):  # who is no member of that group works alone
        if (uid, gid) != (info.st_uid, info.st_gid):
            os.fchown(fd, uid, gid)


def source_date() -> int | None:
    """SOURCE_DATE_EPOCH (Unix, seconds), the mtime of what is written; None if there is none.

    See https://reproducible-builds.org/specs/source-date-epoch/.
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    if seconds.isascii() and seconds.isdigit() and len(seconds) < 11:
        return int(seconds)
    return None


def date(fd: int) -> None:
    """Give an open file or directory the mtime of SOURCE_DATE_EPOCH, if that is set."""
    when = source_date()
    if when is not None:
        with suppress(PermissionError):  # a directory of somebody else
            os.utime(fd, (when, when))


def stamp(fd: int, meta: Meta) -> None:
    """Set the permission bits and the mtime of an open file, and wait until it is on the disk."""
    os.fchmod(fd, meta.mode)
    if meta.mtime_ns is not None:
        os.utime(fd, ns=(meta.mtime_ns, meta.mtime_ns))
    else:
        date(fd)
    os.fsync(fd)


def mount(fd: int) -> bytes:
    """The mount of an open file (proc(5), `mnt_id`); b"" if the kernel does not tell."""
    with suppress(OSError):
        for line in Path(f"/proc/self/fdinfo/{fd}").read_bytes().splitlines():
            if line.startswith(b"mnt_id:"):
                return line
    return b""
