"""What to do about a system call that failed, by its errno: one table for all commands."""

from __future__ import annotations

import errno
from typing import Mapping

from patcher.message import Message
from patcher.record import Record


class Advice(Record):
    """What to do: in a site directory, which stays the same, and at a place that the user named."""

    in_site: str
    elsewhere: str


_SPACE = Message("free some space there, or name another place")
_OWNER = Message("name a place where you may write, or run the command as its owner")
_ADVICE: Mapping[int, Advice] = {
    errno.ENOSPC: Advice(Message("free some space on that disk, then run this again"), _SPACE),
    errno.EDQUOT: Advice(
        Message("the disk quota of this account is used up; free some space, then run this again"),
        _SPACE,
    ),
    errno.EROFS: Advice(
        Message(
            "the filesystem is mounted read-only; mount it writable, or see "
            "`sitepatch run --overlay`"
        ),
        Message("the filesystem is read-only: name another place"),
    ),
    errno.EACCES: Advice(
        Message(
            "run this as the owner of the directory, use a virtual environment of your own, "
            "or see `sitepatch run --overlay`"
        ),
        _OWNER,
    ),
    errno.EPERM: Advice(
        Message(
            "the directory or the file may be immutable (lsattr, chattr -i), or belong to "
            "somebody else"
        ),
        _OWNER,
    ),
    errno.ESTALE: Advice(
        Message("another machine has replaced it meanwhile; run this again"),
        Message("another machine has replaced it meanwhile; run this again"),
    ),
    errno.ENOENT: Advice(
        Message(
            "the package may have been uninstalled or reinstalled meanwhile; see `sitepatch status`"
        ),
        Message("name a place that exists"),
    ),
    errno.EISDIR: Advice("", Message("name a file")),
    errno.ENOTDIR: Advice("", Message("name a place below a directory")),
}
_UNKNOWN = Advice("", "")


def advice(number: int | None) -> Advice:
    """What to do about this errno; empty texts where nobody knows."""
    return _ADVICE.get(number or 0, _UNKNOWN)
