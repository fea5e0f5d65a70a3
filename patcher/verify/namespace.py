"""A view of the disk in which files have other bytes, for one process and all that it starts; nothing is written.

Each file is hidden by a bind mount of a copy, and each `__pycache__` beside one by an empty directory in memory, in a mount
namespace of the process's own: mount_namespaces(7), user_namespaces(7), mount(2). Linux alone; a container may forbid it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Mapping

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000  # CLONE_NEWNS and CLONE_NEWUSER of sched.h
_BIND, _SLAVE = 0x1000, 0x4000 | 0x80000  # MS_BIND; MS_REC | MS_SLAVE: of sys/mount.h


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
            ImportError, AttributeError: it knows nothing of the kind.
        """
        import ctypes

        libc: Any = ctypes.CDLL(None, use_errno=True)

        def call(function: Any, *arguments: Any) -> None:
            if function(*arguments):
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))

        try:
            call(libc.unshare, _NEW_MOUNTS)
        except PermissionError:  # no right to mount: in a namespace of its own a user has it
            call(libc.unshare, _NEW_USER | _NEW_MOUNTS)
            for name, content in (
                ("setgroups", "deny"),
                ("uid_map", self._user),
                ("gid_map", self._group),
            ):
                Path("/proc/self", name).write_text(content, encoding="ascii")
        # what is unmounted outside goes here, too, and is kept by nobody
        call(libc.mount, b"none", b"/", None, _SLAVE, None)
        for copy, path in self._binds:
            call(libc.mount, copy, path, None, _BIND, None)
        for cache in self._hidden:
            call(libc.mount, b"none", cache, b"tmpfs", 0, None)
