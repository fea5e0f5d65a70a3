"""How a project and an environment differ from a lock: in patchsets, options and files."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Tuple

from patcher.message import Message
from patcher.model import LockedFile
from patcher.patchset.toml import written_toml
from patcher.project.lockfile import Distribution, Lock, Pinned, Target, build, release_of
from patcher.text.listed import release_name


def lock_differences(lock: Lock, now: Lock, *, complete: bool = True) -> List[str]:
    """How a project and its environment differ from the lock, one line each.

    Args:
        lock: the lock.
        now: what the project requests, and the files of the environment; other releases in the lock are not compared.
        complete: whether `now` has all of its files; not so where a patchset does not fit.
    """
    found: List[str] = []
    pinned, requested = ({one.name: one for one in each.patchsets} for each in (lock, now))
    for name in sorted({*pinned, *requested}):
        if name not in pinned or name not in requested:
            where = Message("is asked for, and not in the lock" if name in requested else "is in the lock, and not asked for")
            found.append(Message("{name} {where}", name=name, where=where))
        else:
            found += changed(pinned[name], requested[name])
    same = not found
    for name in sorted({*pinned} & {*requested}):
        optional = requested[name].optional
        if optional != pinned[name].optional:
            how = Message("is optional, and in the lock it is not" if optional else "is not optional, and in the lock it is")
            found.append(Message("{name} {how}", name=name, how=how))
    for target in now.targets:
        each, files = release_of(target[0]), _by_path(target)
        builds = [other for other in lock.targets if release_of(other[0]) == each]
        if builds:
            nearest = max(builds, key=lambda other: len(set(build(other)[1]) & set(build(target)[1])))
            found += _files(release_name(*each), _by_path(nearest), files, same=same, complete=complete)
        else:
            found.append(not_locked(lock, each))
    return found


def same_result(lock: Lock, now: Lock) -> List[str]:
    """What `lock` would write otherwise though `sync --locked` accepts it, one line each.

    That is a patchset with the files of the lock that another distribution has installed.
    """
    pinned = {one.name: one for one in lock.patchsets}
    found: List[str] = []
    for old, new in ((pinned[new.name], new) for new in now.patchsets if new.name in pinned):
        if new.sha256 == old.sha256 and new.distribution != old.distribution:
            text = "{name}: found it in {place}, the lock has {locked}"
            found.append(Message(text, name=new.name, place=_shown(new.distribution), locked=_shown(old.distribution)))
    return found


def _shown(one: Optional[Distribution]) -> str:
    return f"{one.name} {one.version} (sha256 {one.sha256})" if one else Message("no distribution")


def _by_path(target: Target) -> Dict[str, LockedFile]:
    return {file.path: file for file in target}


def changed(old: Pinned, new: Pinned) -> List[str]:
    """How a patchset differs from the lock, one line each."""
    found: List[str] = []
    releases = (" ".join(pinned.distribution[:2]) if pinned.distribution else "" for pinned in (new, old))
    here, there = (Message(" of {release}", release=release) if release else "" for release in releases)
    if new.version != old.version:
        text = "{new.name}: found version {new.version}{here}, the lock has {old.version}{there}"
        found.append(Message(text, new=new, here=here, old=old, there=there))
    elif new.sha256 != old.sha256:
        problem = "found other files (sha256 {sha256}){here}, the lock has {old.sha256}{there}"
        files = Message(problem, sha256=new.sha256, here=here, old=old, there=there)
        found.append(Message("{new.name} {new.version}: {files}", new=new, files=files))
    for key in sorted({*old.options, *new.options}):
        is_now, was = (
            written_toml(one.options[key]) if key in one.options else Message("no such option") for one in (new, old)
        )
        if is_now != was:
            found.append(
                Message("{name}: found {key} = {is_now}, the lock has {was}", name=new.name, key=key, is_now=is_now, was=was)
            )
    return found


def _files(
    name: str, old: Mapping[str, LockedFile], new: Mapping[str, LockedFile], *, same: bool, complete: bool
) -> List[str]:
    """How the files of a release differ from the lock; `same` is whether patchsets and options do not."""
    found: List[str] = []
    for path in sorted({*old, *new}):
        if path not in old:
            found.append(Message("{name}: {path} is changed by a patchset, and not in the lock", name=name, path=path))
        elif path not in new:
            if complete and same:
                found.append(Message("{name}: {path} is in the lock, and no patchset is for it", name=name, path=path))
        elif new[path].before != old[path].before:
            text = "{name}: {path}: found sha256 {new_before} before patching, the lock has {old_before}"
            found.append(Message(text, name=name, path=path, new_before=new[path].before, old_before=old[path].before))
        elif same and new[path].after != old[path].after:
            problem = "{name}: {path} would become sha256 {new_after}, the lock has {old_after}"
            found.append(Message(problem, name=name, path=path, new_after=new[path].after, old_after=old[path].after))
    return found


def not_locked(lock: Lock, installed: Tuple[str, str, str]) -> str:
    """The line about an installed release that is not in the lock: it names those of its distribution that are."""
    releases = dict.fromkeys(release_of(one) for one in lock.files)
    others = ", ".join(release_name(*each) for each in releases if each[:2] == installed[:2])
    return Message(
        "{release} is installed, the lock has {names}",
        release=release_name(*installed),
        names=others or Message("no release of {installed}", installed=installed[1] or installed[0]),
    )
