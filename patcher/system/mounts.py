"""Whether the locks of a directory work between machines, by its mount (proc(5), mountinfo).

On NFS they do. Where they do not, one writer at a time cannot be promised, and `doctor` and `apply`
say so.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from patcher.message import Message
from patcher.record import Record

ONE_WRITER = Message(
    "let one machine alone apply and restore here; on NFS, mount it so that locks reach the server"
)
_TABLE = Path("/proc/self/mountinfo")
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


class Mount(Record):
    """A mount: its directory, its type as the kernel names it (`nfs4`), and its options."""

    point: str
    kind: str
    options: tuple[str, ...]


def read_table() -> str:
    """The mounts of this process; empty if the kernel does not tell."""
    with suppress(OSError):
        return _TABLE.read_text("utf-8", "surrogateescape")
    return ""


def mount_of(path: str, table: str) -> Mount | None:
    """The mount that a path is in; None if the table has none.

    Args:
        path: of a file or a directory; absolute, its links resolved.
        table: the text of mountinfo, a line for each mount:
            `ID PARENT DEVICE ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS`.
    """
    found: Mount | None = None
    for row in table.split("\n"):
        mount = _mount(row)
        if mount is None or not f"{path}/".startswith(f"{mount.point.rstrip('/')}/"):
            continue
        # of two on one directory the later one is seen
        if found is None or len(mount.point) >= len(found.point):
            found = mount
    return found


def _mount(row: str) -> Mount | None:
    """The mount in a line of the table; None if it is no such line."""
    left, dash, right = row.partition(" - ")
    fields = left.split(" ")
    source = right.split(" ")
    if not dash or len(fields) < 6 or len(source) < 3:
        return None
    point = re.sub(r"\\([0-7]{3})", _unescaped, fields[4])
    options = [*fields[5].split(","), *source[2].split(",")]
    return Mount(point, source[0], options=tuple(options))


def _unescaped(octal: re.Match[str]) -> str:
    return chr(int(octal[1], 8))


def own_locks(path: str, table: str) -> str:
    """Why a lock in a directory works on this machine alone; else, or if unknown, empty.

    Args:
        path: of a directory.
        table: see `mount_of`.
    """
    mount = mount_of(os.path.realpath(path), table)
    if mount is None:
        return ""
    options = [option for option in _OWN_LOCKS if option in mount.options]
    if options:
        template = "{kind} mounted with {options}"
        filesystem: str = Message(template, kind=mount.kind, options=options[0])
    elif mount.kind == "fuse.sshfs":
        filesystem = "sshfs"
    else:
        return ""
    return Message(
        "{path} is on {filesystem}: locks there hold on this machine alone: "
        "sitepatch on another machine does not wait",
        path=path,
        filesystem=filesystem,
    )


def untried(path: str, table: str) -> str:
    """The type of a filesystem that machines share and whose locks are untried; else empty."""
    mount = mount_of(os.path.realpath(path), table)
    if mount is None or mount.kind not in _UNTRIED:
        return ""
    return mount.kind
