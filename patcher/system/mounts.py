"""Whether the locks of a directory work between machines, by its mount (proc(5), mountinfo).

On NFS they do. Where they do not, one writer at a time cannot be promised, and `doctor` and `apply` say so.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import NamedTuple

from patcher.message import Message

ONE_WRITER = Message(
    "let one machine alone apply and restore here; on NFS, mount it so that locks reach the server"
)
_TABLE = "/proc/self/mountinfo"
_OWN_LOCKS = ("nolock", "local_lock=all", "localflock")
"""Options of nfs(5) and mount.lustre(8) with which no lock reaches the server."""
_UNTRIED = {
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse.ceph",
    "fuse.glusterfs",
    "gpfs",
    "lustre",
    "smb3",
    "virtiofs",
}


class Mount(NamedTuple):
    """A mount: its directory, its type as the kernel names it (`nfs4`, `fuse.sshfs`), its options."""

    point: str
    kind: str
    options: tuple[str, ...]


def read_table() -> str:
    """The mounts of this process; "" where the kernel does not tell."""
    with suppress(OSError), open(_TABLE, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123  (slow to import)
        return file.read()
    return ""


def mount_of(path: str, table: str) -> Mount | None:
    """The mount that a path (absolute, links resolved) is in; None where the table has none.

    Args:
        path: of a file or a directory.
        table: the text of mountinfo: `ID PARENT DEVICE ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS`, a line each.
    """
    mount: Mount | None = None
    for row in table.split("\n"):
        left, dash, right = row.partition(" - ")
        fields, kinds = left.split(" "), right.split(" ")
        if not dash or len(fields) < 6 or len(kinds) < 3:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        inside = f"{path}/".startswith(f"{point.rstrip('/')}/")
        # of two on one directory the later one is seen
        if inside and (mount is None or len(point) >= len(mount.point)):
            mount = Mount(point, kinds[0], tuple(fields[5].split(",") + kinds[2].split(",")))
    return mount


def own_locks(path: str, table: str) -> str:
    """Why a lock in a directory works on this machine alone; "" where it does not, or that is not known.

    Args:
        path: of a directory.
        table: see `mount_of`.
    """
    mount = mount_of(os.path.realpath(path), table)
    if mount is None:
        return ""
    options = [option for option in _OWN_LOCKS if option in mount.options]
    if mount.kind != "fuse.sshfs" and not options:
        return ""
    filesystem = (
        Message("{kind} mounted with {options}", kind=mount.kind, options=options[0])
        if options
        else "sshfs"
    )
    template = "{path} is on {which}: locks there hold on this machine alone: sitepatch on another machine does not wait"
    return Message(template, path=path, which=filesystem)


def untried(path: str, table: str) -> str:
    """The type of a filesystem that machines share and whose locks we have not tried; "" for any other."""
    mount = mount_of(os.path.realpath(path), table)
    return mount.kind if mount and mount.kind in _UNTRIED else ""
