"""What a disk may hold after a power cut: a model of the writes that were not waited for and may be lost.

Calls are recorded as they happen (`Recorder`) and replayed into inodes and directories (`Disk`). A state is chosen from

- **entries**: each creation, removal and rename of a name is one change of one or two directories. It is safe once one of
  these directories was synced, with those before it in that directory. Until then it may be there or not. A rename is one
  change: it is never half done, and the name that it replaces is always there, old or new.
- **contents**: the bytes and the metadata of a file are safe once the file was synced. Until then the file may be as it
  was when last synced (empty, mode 0600, where it never was), as written, or with half of its bytes.

ext4 and xfs keep the order of entries, which is the case "every prefix" here; they do lose contents, so that a file that
was renamed into place without a sync is empty. POSIX promises no order, and some filesystems keep none: for them single
entries are lost, or are all that is kept. Sources: fsync(2) ("does not necessarily ensure that the entry in the directory
containing the file has also reached disk"); Linux Documentation/filesystems/ext4 (data=ordered, auto_da_alloc, delayed
allocation); Pillai et al., All File Systems Are Not Created Equal, OSDI 2014, table 1 (persistence properties).
"""

import os
import stat
import sys
from contextlib import suppress
from typing import Dict, List, NamedTuple, Optional


class Version(NamedTuple):
    """What a file, link or directory is at one moment; of a link the content is its target."""

    content: bytes
    mode: int
    mtime: Optional[int]


class Inode:
    """A file, link or directory: what it is now and what is safe on the disk; of a directory the safe entries."""

    def __init__(self, kind, content=b"", mode=0o600, mtime=None):
        self.kind = kind
        self.now = self.safe = Version(content, mode, mtime)
        self.entries: Dict[str, Inode] = {}

    def change(self, **fields):
        self.now = self.now._replace(**fields)

    @property
    def dirty(self):
        return self.kind == "file" and self.now != self.safe


class NameChange(NamedTuple):
    """One change of names in one or two directories.

    Attributes:
        entries: (directory, name, the inode that it names from then on or None) of each name that changes.
    """

    entries: tuple

    def touches(self, folder):
        return any(changed is folder for changed, _, _ in self.entries)

    def make_safe(self):
        for folder, name, inode in self.entries:
            if inode is None:
                folder.entries.pop(name, None)
            else:
                folder.entries[name] = inode


class Disk:
    """The inodes below one directory, the changes of names that wait, and what a sync does to them."""

    def __init__(self, root):
        self.by_number: Dict[int, Inode] = {}  # a number is used again when its inode is gone
        self.inodes: List[Inode] = []
        self.pending: List[NameChange] = []
        self.root = self._read(root)

    def _read(self, path):
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            inode = Inode("link", os.readlink(path), mtime=info.st_mtime_ns)
        elif stat.S_ISDIR(info.st_mode):
            inode = Inode("folder", b"", stat.S_IMODE(info.st_mode))
            for name in os.listdir(path):
                inode.entries[name] = self._read(os.path.join(path, name))
        else:
            with open(path, "rb") as file:
                inode = Inode("file", file.read(), stat.S_IMODE(info.st_mode), info.st_mtime_ns)
        return self._known(info.st_ino, inode)

    def _known(self, number, inode):
        self.by_number[number] = inode
        self.inodes.append(inode)
        return inode

    # what was recorded, one method for each event -----------------------------------------------------------------------
    def make(self, folder, name, number, kind, content, mode):
        self._name([(folder, name, self._known(number, Inode(kind, content, mode)))])

    def append(self, number, data):
        inode = self.by_number[number]
        inode.change(content=inode.now.content + data)

    def empty(self, number):
        self.by_number[number].change(content=b"")

    def mode(self, number, mode):
        self.by_number[number].change(mode=mode)

    def mtime(self, number, mtime):
        inode = self.by_number[number]
        inode.change(mtime=mtime)
        if inode.kind == "link":
            inode.safe = inode.now  # a link cannot be synced; it is made and stamped before its name is

    def link(self, folder, name, number):
        self._name([(folder, name, self.by_number[number])])

    def remove(self, folder, name):
        self._name([(folder, name, None)])

    def rename(self, folder, name, to, new, number):
        self._name([(folder, name, None), (to, new, self.by_number[number])])

    def exchange(self, folder, name, new, displaced, number):
        """Two names of a directory change places: `displaced` is what `name` is now, `number` what `new` is."""
        self._name([(folder, name, self.by_number[displaced]), (folder, new, self.by_number[number])])

    def sync(self, number):
        inode = self.by_number[number]
        inode.safe = inode.now
        if inode.kind != "folder":
            return
        pending = []
        for change in self.pending:
            if change.touches(inode):
                change.make_safe()
            else:
                pending.append(change)
        self.pending = pending

    def _name(self, entries):
        self.pending.append(NameChange(tuple((self.by_number[folder], name, inode) for folder, name, inode in entries)))

    # what may be found --------------------------------------------------------------------------------------------------
    def states(self):
        """Yield the trees, {path: (kind, content, mode, mtime)}, that a power cut now may leave; bounded, not all subsets.

        Each choice of the changes of names that are on the disk, with each choice of the contents that are not.
        """
        losses = list(self._losses())
        for subset in sorted(self._subsets()):
            names = self._names(subset)
            for harm in losses:
                yield _tree(self.root, names, harm)

    def _subsets(self):
        """Which of the waiting changes of names are on the disk: all, none, every prefix, all but one, one alone."""
        everything = tuple(range(len(self.pending)))
        subsets = {everything}
        for at in everything:
            before, after = everything[:at], everything[at + 1 :]
            subsets |= {before, before + after, (at,)}
        return subsets

    def _losses(self):
        """Yield what happened to the files that were not synced: nothing, all lost, all torn, a single one lost."""
        dirty = [inode for inode in self.inodes if inode.dirty]
        yield {}
        if dirty:
            yield dict.fromkeys(dirty, "lost")
            yield dict.fromkeys(dirty, "torn")
        if len(dirty) > 1:
            for inode in dirty:
                yield {inode: "lost"}

    def _names(self, subset):
        """The entries of each directory, with these of the changes that wait."""
        names = {id(inode): dict(inode.entries) for inode in self.inodes}
        for at in subset:
            for folder, name, inode in self.pending[at].entries:
                names[id(folder)][name] = inode
        return names


def _tree(root, names, harm, path="", tree=None):
    tree = {} if tree is None else tree
    for name, inode in sorted(names.get(id(root), {}).items()):
        if inode is None:
            continue
        inside = f"{path}/{name}" if path else name
        version = inode.now
        if harm.get(inode) == "lost":
            version = inode.safe
        elif harm.get(inode) == "torn" and version.content != inode.safe.content:
            version = version._replace(content=version.content[: len(version.content) // 2])
        tree[inside] = (inode.kind, *version)
        if inode.kind == "folder":
            _tree(inode, names, harm, inside, tree)
    return tree


def write_out(state, to):
    """Put a state on the real disk, below the empty directory `to`."""
    for path, (kind, content, mode, mtime) in sorted(state.items()):
        full = os.path.join(to, path)
        if kind == "folder":
            os.mkdir(full)
            os.chmod(full, mode)
        elif kind == "link":
            os.symlink(content, full)
            if mtime:
                os.utime(full, ns=(mtime, mtime), follow_symlinks=False)
        else:
            with open(full, "wb") as file:
                file.write(content)
            os.chmod(full, mode)
            if mtime:
                os.utime(full, ns=(mtime, mtime))


class Recorder:
    """A hook for `calls.watch` that carries every call out, except those syncs, and keeps what is needed to replay it.

    Args:
        without: the call site of fsync, as `site_of_sync` names it, that is left out; "" for none.
    """

    def __init__(self, without=""):
        self.events = []
        self.syncs: Dict[str, int] = {}
        self.without = without

    def __call__(self, name, real, args, kwargs):
        before = self._before(name, args, kwargs)
        result = real(*args, **kwargs)
        event = getattr(self, f"_{name}", None)
        assert event, f"the model does not know os.{name}"
        event(before, result, *args, **kwargs)
        return result

    def _before(self, name, args, kwargs) -> Optional[int]:
        """The number of the inode that a rename moves, or that an open finds."""
        if name not in ("replace", "open"):
            return None
        folder = kwargs["src_dir_fd"] if name == "replace" else kwargs["dir_fd"]
        with suppress(FileNotFoundError):
            return os.stat(args[0], dir_fd=folder, follow_symlinks=False).st_ino
        return None

    def _add(self, event, *args):
        self.events.append((event, *args))

    def _open(self, before, fd, name, flags, mode=0o777, dir_fd=None):
        if before is None:
            info = os.fstat(fd)
            self._add("make", _number(dir_fd), name, info.st_ino, "file", b"", stat.S_IMODE(info.st_mode))

    def _write(self, before, size, fd, data):
        self._add("append", _number(fd), bytes(data)[:size])

    def _ftruncate(self, before, _, fd, size):
        self._add("empty", _number(fd))

    def _fsync(self, before, _, fd):
        where = site_of_sync()
        self.syncs[where] = self.syncs.get(where, 0) + 1
        if where != self.without:
            self._add("sync", _number(fd))

    def _replace(self, number, _, name, new, src_dir_fd, dst_dir_fd):
        self._add("rename", _number(src_dir_fd), name, _number(dst_dir_fd), new, number)

    def _exchange(self, before, done, name, new, dir_fd):
        if done:
            displaced = os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_ino
            number = os.stat(new, dir_fd=dir_fd, follow_symlinks=False).st_ino
            self._add("exchange", _number(dir_fd), name, new, displaced, number)

    def _rename_to_free(self, before, done, name, new, dir_fd):
        if done:
            number = os.stat(new, dir_fd=dir_fd, follow_symlinks=False).st_ino
            self._add("rename", _number(dir_fd), name, _number(dir_fd), new, number)

    def _link(self, before, _, name, new, src_dir_fd, dst_dir_fd, follow_symlinks):
        number = os.stat(new, dir_fd=dst_dir_fd, follow_symlinks=False).st_ino
        self._add("link", _number(dst_dir_fd), new, number)

    def _unlink(self, before, _, name, dir_fd):
        self._add("remove", _number(dir_fd), name)

    _rmdir = _unlink

    def _mkdir(self, before, _, name, mode, dir_fd):
        info = os.stat(name, dir_fd=dir_fd)
        self._add("make", _number(dir_fd), name, info.st_ino, "folder", b"", stat.S_IMODE(info.st_mode))

    def _symlink(self, before, _, target, name, dir_fd):
        number = os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_ino
        self._add("make", _number(dir_fd), name, number, "link", target, 0o777)

    def _utime(self, before, _, what, ns, dir_fd=None, follow_symlinks=True):
        number = _number(what) if dir_fd is None else os.stat(what, dir_fd=dir_fd, follow_symlinks=False).st_ino
        self._add("mtime", number, ns[1])

    def _chmod(self, before, _, name, mode, dir_fd):
        self._add("mode", os.stat(name, dir_fd=dir_fd).st_ino, mode)

    def _fchmod(self, before, _, fd, mode):
        self._add("mode", _number(fd), mode)

    def _fchown(self, before, _, fd, uid, gid):
        pass  # nothing here has another owner

    def _setxattr(self, before, _, fd, name, value):
        pass


def _number(fd):
    return os.fstat(fd).st_ino


def site_of_sync():
    """Where in patcher/store/ a sync is asked for: the lines of code from the first one outside of folder.py to os.fsync."""
    frame = sys._getframe(1)
    chain = []
    while frame:
        folder, name = os.path.split(frame.f_code.co_filename)
        if folder.endswith("/patcher/store"):
            chain.append(f"{name}:{frame.f_lineno} {frame.f_code.co_name}")
            if name != "folder.py":
                break
        frame = frame.f_back
    return " < ".join(chain)
