"""Who may change what sitepatch runs, applies or trusts.

The one rule for patchsets, caches, overlays and stores: root and this user may, for root also the
user of sudo. Nobody else may own such a file or a directory that leads to it, nor write to one, as
a member of a group (but root's, and one in which a user is alone) or as anybody.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path
from typing import Iterable, Iterator

from patcher.errors import StoreError
from patcher.message import Message, joined
from patcher.system.acl import Access, access_of
from patcher.system.reading import is_link
from patcher.text.listed import listed


def trusted_users() -> set[int]:
    """The ids of the users who may change what this one runs."""
    users = {0, os.geteuid()}
    sudo = os.environ.get("SUDO_UID", "")
    if sudo.isascii() and sudo.isdigit() and not os.geteuid():
        users.add(int(sudo))
    return users


def others_may_write(*paths: str, inside: bool = False) -> list[str]:
    """Return why others may change what is at `paths`, each text once; [] if nobody else can.

    Every directory and every link that leads there counts. In a directory like /tmp nobody may
    rename what belongs to others, so such a one does no harm above a path.

    Args:
        paths: of files or directories; what is not there is left out.
        inside: look at everything below them too.
    """
    users = trusted_users()
    problems: list[str] = []
    for place in _above(paths):
        problems += _problem(place, users, sticky=True)
    places = list(paths)
    if inside:
        places += _below(paths)
    for place in places:
        problems += _problem(place, users)
        if is_link(place):
            problems += _problem(os.path.realpath(place), users)
    return list(dict.fromkeys(problems))


def refuse_shared(path: str, hint: str, *, inside: bool = False) -> None:
    """Raise StoreError with this hint if `others_may_write` finds any."""
    problems = others_may_write(path, inside=inside)
    if problems:
        raise StoreError(joined("\n", problems), hint)


def _below(paths: Iterable[str]) -> list[str]:
    """Everything in these directories and in those below them."""
    below: list[str] = []
    for path in paths:
        for folder, folders, files in os.walk(path):
            for name in (*folders, *files):
                below.append(f"{folder}/{name}")
    return sorted(below)


def _above(paths: Iterable[str]) -> list[str]:
    """Every directory and link that leads to one of the paths, from the top.

    As it is written, and as each link leads.
    """
    here = Path.cwd()
    starts = [Path(os.path.normpath(here / path)) for path in paths]
    places: set[Path] = set()
    waiting = list(starts)
    while waiting:
        place = waiting.pop()
        if place in places:
            continue
        places.add(place)
        waiting.append(place.parent)
        if is_link(place):
            # one step of it: a link in a directory of others may be in the middle
            target = place.parent.resolve() / os.readlink(place)
            waiting.append(Path(os.path.normpath(target)))
    return sorted(map(str, places.difference(starts)))


def _problem(path: str, users: set[int], *, sticky: bool = False) -> Iterator[str]:
    """What lets others change a file, a directory or a link; with `sticky`, /tmp passes."""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return
    if info.st_uid not in users:
        yield Message(
            "{path}: belongs to user {owner}, who could change what user {uid} is about to use",
            path=path,
            owner=info.st_uid,
            uid=os.geteuid(),
        )
    if stat.S_ISLNK(info.st_mode) or (sticky and info.st_mode & stat.S_ISVTX):
        return
    writers = _other_writers(access_of(path, info), users)
    # a volume of Kubernetes is mounted read-only, whatever its mode
    if writers and not os.statvfs(path).f_flag & os.ST_RDONLY:
        who = listed(writers)
        yield Message("{path}: others may write to it ({who})", path=path, who=who)


def _other_writers(access: Access, users: set[int]) -> list[str]:
    """Who may write to a file besides its owner and these users, in words."""
    if access.everybody:
        return ["everybody"]
    groups = set(access.groups)
    if access.group:
        groups.add(access.gid)
    others: list[str] = []
    for gid in sorted(groups):
        if not _harmless(gid):
            others.append(Message("group {group}", group=gid))
    for uid in sorted(access.users - users):
        others.append(Message("user {user}", user=uid))
    return others


def _harmless(gid: int) -> bool:
    """Whether nobody but root or this user is in a group."""
    return gid == 0 or _alone_in(gid)


def _alone_in(gid: int) -> bool:
    """Whether this user is alone in a group of the same name, as useradd(8) makes; never root."""
    if gid != os.getegid() or not os.geteuid():
        return False
    try:
        group = grp.getgrgid(gid)
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container's user without a name has no group that others are in
        return gid == os.geteuid()
    return group.gr_name == name and set(group.gr_mem) <= {name}


def check_store(access: Access, site: Access, path: str) -> None:
    """Refuse what was made in a store by a user who may not change its site directory anyway.

    Trusted is what belongs to this user, to root or to the owner of the site directory, and where
    that directory is shared by a group or by a list of users, what belongs to these too. Nobody
    else may be able to write there. What is in a directory in which everybody may write is trusted
    only from root and this user.

    Args:
        access: who may write to `.sitepatch`, or to something in it.
        site: who may write to the site directory.
        path: of what is checked, for messages.

    Raises:
        StoreError: it is not trusted, and what to do.
    """
    problem = _distrust(access, site)
    if problem:
        hint = Message(
            "if its receipts are yours, make it so: chown -R, chmod -R go-w, setfacl -R -b; "
            "else remove it and reinstall what was patched"
        )
        raise StoreError(
            "{path}: {what}; nothing in it is trusted",
            "see who made it; {hint}",
            path=path,
            what=problem,
            hint=hint,
        )


def _distrust(access: Access, site: Access) -> str:
    """Why something in a store is not trusted; empty if it is."""
    users = {0, os.geteuid()}
    groups = {0}
    is_shared = False
    if not site.everybody:
        users |= {site.uid, *site.users}
        groups |= site.groups
        if site.group:
            groups.add(site.gid)
            is_shared = access.gid == site.gid

    if access.uid not in users and not is_shared:
        return Message(
            "belongs to user {owner}, not to user {uid}, root or the owner of its site directory",
            owner=access.uid,
            uid=os.geteuid(),
        )
    if access.everybody:
        return Message("others may write to it ({who})", who="everybody")
    if access.group and access.gid not in groups:
        group = Message("group {group}", group=access.gid)
        return Message("others may write to it ({who})", who=group)
    if access.users - users or access.groups - groups:
        return Message("others may write to it, by its access control list (getfacl)")
    return ""
