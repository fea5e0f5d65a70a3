"""A view of the disk in which files have other bytes, for one process and all that it starts.

Each file is hidden by a bind mount of a copy, and each `__pycache__` beside one by an empty
directory in memory, in a mount namespace of the process's own: mount_namespaces(7),
user_namespaces(7), mount(2). Linux alone; a container may forbid it.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any, Mapping

# <sched.h>
_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
# <sys/mount.h>
_MS_BIND = 0x1000
_MS_REC = 0x4000
_MS_SLAVE = 0x80000


class Namespace:
    """A view of the disk; `enter` makes it that of the calling process.

    Args:
        texts: the bytes of files by path.
        folder: an empty directory that takes the copies.
    """

    def __init__(self, texts: Mapping[str, bytes], folder: Path) -> None:
        self._binds: list[tuple[bytes, bytes]] = []
        for number, (path, data) in enumerate(texts.items()):
            copy = folder / str(number)
            copy.write_bytes(data)
            info = Path(path).stat()
            copy.chmod(info.st_mode & 0o777)
            # bytecode that a child writes of it is none of the file's
            os.utime(copy, (info.st_atime, info.st_mtime + 1))
            self._binds.append((os.fsencode(copy), os.fsencode(path)))
        caches = {Path(path).parent / "__pycache__" for path in texts}
        self._hidden = [os.fsencode(cache) for cache in caches if cache.is_dir()]
        self._user = f"{os.geteuid()} {os.geteuid()} 1"
        self._group = f"{os.getegid()} {os.getegid()} 1"

    def works(self) -> bool:
        """Whether a process may have this view here; tried by one that ends at once."""
        pid = os.fork()
        if not pid:
            try:
                self.enter()
            except BaseException:
                os._exit(1)
            os._exit(0)
        return os.waitpid(pid, 0)[1] == 0

    def enter(self) -> None:
        """Give the calling process this view. It must have one thread.

        Raises:
            OSError: the system forbids it.
            AttributeError: it knows nothing of the kind.
        """
        libc: Any = ctypes.CDLL(None, use_errno=True)
        try:
            _call(libc.unshare, _CLONE_NEWNS)
        except PermissionError:  # no right to mount: in a namespace of its own a user has it
            _call(libc.unshare, _CLONE_NEWUSER | _CLONE_NEWNS)
            own = Path("/proc/self")
            (own / "setgroups").write_text("deny", encoding="ascii")
            (own / "uid_map").write_text(self._user, encoding="ascii")
            (own / "gid_map").write_text(self._group, encoding="ascii")
        # what is unmounted outside goes here, too, and is kept by nobody
        _call(libc.mount, b"none", b"/", None, _MS_REC | _MS_SLAVE, None)
        for copy, path in self._binds:
            _call(libc.mount, copy, path, None, _MS_BIND, None)
        for cache in self._hidden:
            _call(libc.mount, b"none", cache, b"tmpfs", 0, None)


def _call(function: Any, *arguments: Any) -> None:
    """Call a function of the C library, and raise OSError if it fails."""
    if function(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
