"""Who may change what sitepatch runs, applies or trusts: the one rule for patchsets, caches, overlays and stores.

Root and this user may, for root also the user of sudo. Nobody else may own such a file or a directory that leads to it, nor
write to one, as a member of a group (but root's, and one in which a user is alone) or as anybody.
"""

from __future__ import annotations

import os
import stat
from typing import Iterable, Iterator

from patcher.errors import StoreError
from patcher.message import Message, joined
from patcher.system.acl import Access, access_of
from patcher.text.listed import listed


def trusted_users() -> set[int]:
    """The ids of the users who may change what this one runs."""
    users = {0, os.geteuid()}
    sudo = os.environ.get("SUDO_UID", "")
    if sudo.isascii() and sudo.isdigit() and not os.geteuid():
        users.add(int(sudo))
    return users


def others_may_write(*paths: str, inside: bool = False) -> list[str]:
    """Return why others may change what is at `paths`, each text once; [] where nobody else can.

    Every directory and every link that leads there counts. In a directory like /tmp nobody may rename what belongs to others,
    so above a path such a one does no harm.

    Args:
        paths: of files or directories; what is not there is left out.
        inside: look at everything below them too.
    """
    users = trusted_users()
    problems = [
        problem for place in _above(paths) for problem in _problem(place, users, sticky=True)
    ]
    walked = [found for path in paths if inside for found in os.walk(path)]
    below = [
        os.path.join(folder, name) for folder, *names in walked for kind in names for name in kind
    ]
    for place in (*paths, *sorted(below)):
        for spelling in (place, os.path.realpath(place)) if os.path.islink(place) else (place,):
            problems += _problem(spelling, users)
    return list(dict.fromkeys(problems))


def refuse_shared(path: str, hint: str, *, inside: bool = False) -> None:
    """Raise StoreError with this hint if `others_may_write` finds any."""
    problems = others_may_write(path, inside=inside)
    if problems:
        raise StoreError(joined("\n", problems), hint)


def _above(paths: Iterable[str]) -> list[str]:
    """Every directory and link that leads to one of the paths, as it is written and as each link leads, from the top."""
    starts = list(map(os.path.abspath, paths))
    places: set[str] = set()
    waiting = list(starts)
    while waiting:
        place = waiting.pop()
        if place not in places:
            places.add(place)
            waiting.append(os.path.dirname(place))
            # one step of it: a link in a directory of others may be in the middle
            if os.path.islink(place):
                waiting.append(
                    os.path.normpath(
                        os.path.join(os.path.realpath(os.path.dirname(place)), os.readlink(place))
                    )
                )
    return sorted(places.difference(starts))


def _problem(path: str, users: set[int], *, sticky: bool = False) -> Iterator[str]:
    """What lets others change a file, a directory or a link itself; `sticky` lets /tmp and the like pass."""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return
    if info.st_uid not in users:
        template = (
            "{path}: belongs to user {owner}, who could change what user {uid} is about to use"
        )
        yield Message(template, path=path, owner=info.st_uid, uid=os.geteuid())
    if stat.S_ISLNK(info.st_mode) or (sticky and info.st_mode & stat.S_ISVTX):
        return
    who = _other_writers(access_of(path, info), users)
    # a volume of Kubernetes is mounted read-only, whatever its mode
    if who and not os.statvfs(path).f_flag & os.ST_RDONLY:
        yield Message("{path}: others may write to it ({who})", path=path, who=listed(who))


def _other_writers(found: Access, users: set[int]) -> list[str]:
    """Who may write to a file besides its owner and these users, in words."""
    if found.everybody:
        return ["everybody"]
    groups = set(found.groups)
    if found.group:
        groups.add(found.gid)
    others: list[str] = []
    for gid in sorted(groups):
        others += [] if _harmless(gid) else [Message("group {group}", group=gid)]
    for uid in sorted(found.users - users):
        others.append(Message("user {user}", user=uid))
    return others


def _harmless(gid: int) -> bool:
    """Whether nobody but root or this user is in a group."""
    return gid == 0 or _alone_in(gid)


def _alone_in(gid: int) -> bool:
    """Whether this user is the only one of a group, the one of its name that useradd(8) makes for each; never for root."""
    if gid != os.getegid() or not os.geteuid():
        return False
    import grp
    import pwd

    try:
        group, name = grp.getgrgid(gid), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container's user without a name has no group that others are in
        return gid == os.geteuid()
    return group.gr_name == name and set(group.gr_mem) <= {name}


def check_store(found: Access, site: Access, path: str) -> None:
    """Refuse what was made in a store by a user who may not change its site directory anyway.

    Trusted is what belongs to this user, to root or to the owner of the site directory, and where that directory is shared by
    a group or by a list of users, what belongs to these too. Nobody else may be able to write there. What is in a directory
    in which everybody may write is trusted only from root and this user.

    Args:
        found: who may write to `.sitepatch`, or to something in it.
        site: who may write to the site directory.
        path: of what is classified, for messages.

    Raises:
        StoreError: it is not trusted, and what to do.
    """
    shared = site.group and not site.everybody and found.gid == site.gid
    users = {0, os.geteuid()}
    groups = {0}
    if not site.everybody:
        users |= {site.uid} | site.users
        groups |= site.groups | ({site.gid} if site.group else set())
    problem = ""
    if found.uid not in users and not shared:
        template = (
            "belongs to user {uid}, not to user {os_uid}, root or the owner of its site directory"
        )
        problem = Message(template, uid=found.uid, os_uid=os.geteuid())
    elif found.everybody or (found.group and not shared and found.gid not in groups):
        who = "everybody" if found.everybody else Message("group {group}", group=found.gid)
        problem = Message("others may write to it ({who})", who=who)
    elif found.users - users or found.groups - groups:
        problem = Message("others may write to it, by its access control list (getfacl)")
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
