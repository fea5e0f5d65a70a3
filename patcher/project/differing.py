"""How a project and an environment differ from a lock: in patchsets, options and files."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Tuple

from patcher.message import Message
from patcher.model import LockedFile
from patcher.patchset.toml import written_toml
from patcher.project.lockfile import Distribution, Lock, Pinned, Target, build, release_of
from patcher.text.listed import release_name


def lock_differences(lock: Lock, current: Lock, *, complete: bool = True) -> List[str]:
    """How a project and its environment differ from the lock, one line each.

    Args:
        lock: the lock.
        current: what the project requests, and the files of the environment; other releases in the lock are not compared.
        complete: whether `current` has all of its files; not so where a patchset does not fit.
    """
    differences: List[str] = []
    pinned, requested = ({patchset.name: patchset for patchset in source.patchsets} for source in (lock, current))
    for name in sorted({*pinned, *requested}):
        if name not in pinned or name not in requested:
            where = Message("is asked for, and not in the lock" if name in requested else "is in the lock, and not asked for")
            differences.append(Message("{name} {where}", name=name, where=where))
        else:
            differences += changed(pinned[name], requested[name])
    same = not differences
    for name in sorted({*pinned} & {*requested}):
        optional = requested[name].optional
        if optional != pinned[name].optional:
            note = Message("is optional, and in the lock it is not" if optional else "is not optional, and in the lock it is")
            differences.append(Message("{name} {how}", name=name, how=note))
    for target in current.targets:
        release, files = release_of(target[0]), _by_path(target)
        builds = [candidate for candidate in lock.targets if release_of(candidate[0]) == release]
        if builds:
            nearest = max(builds, key=lambda candidate: len(set(build(candidate)[1]) & set(build(target)[1])))
            differences += _files(release_name(*release), _by_path(nearest), files, same=same, complete=complete)
        else:
            differences.append(not_locked(lock, release))
    return differences


def same_result(lock: Lock, current: Lock) -> List[str]:
    """What `lock` would write otherwise though `sync --locked` accepts it, one line each.

    That is a patchset with the files of the lock that another distribution has installed.
    """
    pinned = {patchset.name: patchset for patchset in lock.patchsets}
    differences: List[str] = []
    for old, new in ((pinned[new.name], new) for new in current.patchsets if new.name in pinned):
        if new.sha256 == old.sha256 and new.distribution != old.distribution:
            place, locked = _shown(new.distribution), _shown(old.distribution)
            template = "{name}: found it in {place}, the lock has {locked}"
            differences.append(Message(template, name=new.name, place=place, locked=locked))
    return differences


def _shown(distribution: Optional[Distribution]) -> str:
    if not distribution:
        return Message("no distribution")
    return f"{distribution.name} {distribution.version} (sha256 {distribution.sha256})"


def _by_path(target: Target) -> Dict[str, LockedFile]:
    return {file.path: file for file in target}


def changed(old: Pinned, new: Pinned) -> List[str]:
    """How a patchset differs from the lock, one line each."""
    differences: List[str] = []
    releases = (" ".join(pinned.distribution[:2]) if pinned.distribution else "" for pinned in (new, old))
    release_now, release_locked = (Message(" of {release}", release=release) if release else "" for release in releases)
    if new.version != old.version:
        template = "{new.name}: found version {new.version}{here}, the lock has {old.version}{there}"
        differences.append(Message(template, new=new, here=release_now, old=old, there=release_locked))
    elif new.sha256 != old.sha256:
        problem = "found other files (sha256 {sha256}){here}, the lock has {old.sha256}{there}"
        files = Message(problem, sha256=new.sha256, here=release_now, old=old, there=release_locked)
        differences.append(Message("{new.name} {new.version}: {files}", new=new, files=files))
    for key in sorted({*old.options, *new.options}):
        is_now, was_locked = (
            written_toml(side.options[key]) if key in side.options else Message("no such option") for side in (new, old)
        )
        if is_now != was_locked:
            template = "{name}: found {key} = {is_now}, the lock has {was}"
            differences.append(Message(template, name=new.name, key=key, is_now=is_now, was=was_locked))
    return differences


def _files(
    name: str, old: Mapping[str, LockedFile], new: Mapping[str, LockedFile], *, same: bool, complete: bool
) -> List[str]:
    """How the files of a release differ from the lock; `same` is whether patchsets and options do not."""
    differences: List[str] = []
    for path in sorted({*old, *new}):
        if path not in old:
            differences.append(Message("{name}: {path} is changed by a patchset, and not in the lock", name=name, path=path))
        elif path not in new:
            if complete and same:
                differences.append(Message("{name}: {path} is in the lock, and no patchset is for it", name=name, path=path))
        elif new[path].before != old[path].before:
            template = "{name}: {path}: found sha256 {new_before} before patching, the lock has {old_before}"
            befores = {"new_before": new[path].before, "old_before": old[path].before}
            differences.append(Message(template, name=name, path=path, **befores))
        elif same and new[path].after != old[path].after:
            problem = "{name}: {path} would become sha256 {new_after}, the lock has {old_after}"
            differences.append(Message(problem, name=name, path=path, new_after=new[path].after, old_after=old[path].after))
    return differences


def not_locked(lock: Lock, installed: Tuple[str, str, str]) -> str:
    """The line about an installed release that is not in the lock: it names those of its distribution that are."""
    releases = dict.fromkeys(release_of(file) for file in lock.files)
    names = ", ".join(release_name(*release) for release in releases if release[:2] == installed[:2])
    return Message(
        "{release} is installed, the lock has {names}",
        release=release_name(*installed),
        names=names or Message("no release of {installed}", installed=installed[1] or installed[0]),
    )
