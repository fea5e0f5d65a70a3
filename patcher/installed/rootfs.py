"""The Python of an unpacked image: its site directories, found without running anything of it. Reads only.

A link in an image means a place in that image (`/opt` is ROOTFS/opt), whatever lies there on this machine. So directories are
resolved here as chroot(2) would, and a site directory with a link that leads out of the image on this machine is refused:
nothing that follows it can then read or write outside.
"""

from __future__ import annotations

import os
import re
from typing import Iterator, NamedTuple

from patcher.errors import UsageError
from patcher.installed.interpreter import image_root
from patcher.message import Message
from patcher.system.reading import is_inside
from patcher.text.listed import normalized, shortened

_DEPTH = 8  # ROOTFS/home/me/.local/share/uv/python/cpython-3.13/lib
_LIBRARY = re.compile(r"(?:python|pypy)3(?:\.(\d+)t?)?")
_SITES = ("site-packages", "dist-packages")
_PASSED = {"dev", "proc", "sys", "usr/share", "usr/src", "usr/include"}
# names of directories that hold no Python, or conda's copies of packages
_HOLDING = {
    "pkgs",
    "node_modules",
    ".git",
}
_TOOLS = {"pip", "setuptools", "wheel"}  # every environment has them
_LINKS = 40  # as many as Linux follows
_SHOWN = 5  # names in a message


class Image(NamedTuple):
    """The root of an image, the site directories of one Python in import order, its version (None where it is unknown).

    All paths are absolute, and those below `root` have no links in them.
    """

    root: str
    sites: tuple[str, ...]
    version: tuple[int, int] | None


def image(target: str) -> Image | None:
    """The image that `--target` names, or lies in; None where it is another directory.

    The root of an image is a directory that has `usr` and `etc`. Below that, a directory of packages stands for itself.

    Raises:
        UsageError: there is no Python there or more than one; a link leads out of the image.
    """
    directory = os.path.abspath(target)
    root = image_root(directory)
    if not root or not os.path.isdir(directory):
        return None
    if not is_inside(directory, root):
        template = "--target {target}: found a link out of the image {root}, to {directory}"
        raise UsageError(template, target=target, root=root, directory=os.path.realpath(directory))
    pythons = [] if _has_packages(directory) else list(_pythons(root, directory))
    if not pythons and directory == root:
        where = Message(
            "usr/lib/python3/dist-packages, opt/conda/lib/python3.12/site-packages, a virtual environment"
        )
        problem = "looked for as lib/python3*/site-packages or dist-packages: {where}; or name a directory of packages"
        raise UsageError(
            "--target {target}: found an image without a Python in it",
            problem,
            target=target,
            where=where,
        )
    candidates = [python for python in pythons if any(map(_has_packages, python.sites))] or pythons
    if len(candidates) > 1:
        places = [site for python in candidates for site in python.sites if _has_packages(site)]
        places = places or [python.sites[0] for python in candidates]
        names = shortened([os.path.relpath(place, root) for place in places], _SHOWN)
        deeper = os.path.join(target, os.path.relpath(places[0], directory))
        hint = Message("name one of these directories, as in: --target {target}", target=deeper)
        template = "--target {target}: found {number} Pythons in an image, with packages in {names}"
        raise UsageError(template, hint, target=target, number=len(candidates), names=names)
    picked = candidates[0] if candidates else Image(root, (directory,), _version(root, directory))
    for site in picked.sites:
        links = [
            f"{os.path.relpath(link, root)} -> {os.readlink(link)}" for link in _leaving(root, site)
        ]
        out = shortened(links, _SHOWN)
        if out:
            raise UsageError(
                "--target {target}: found links out of the image {root}: {out}",
                "seen from this machine they lead elsewhere: run sitepatch in the image, or replace them by what they mean",
                target=target,
                root=root,
                out=out,
            )
    return picked


def _resolved(root: str, path: str) -> str:
    """Where a path of the image leads in it; "" where its links go round in a circle.

    Args:
        root: of the image.
        path: `/`-separated, relative to the root, which is its own parent.
    """
    left, resolved, links = path.split("/")[::-1], root, 0
    while left:
        part = left.pop()
        step = os.path.join(resolved, part)
        if part in ("", "."):
            continue
        if part == "..":
            resolved = resolved if resolved == root else os.path.dirname(resolved)
        elif os.path.islink(step):
            links += 1
            if links > _LINKS:
                return ""
            to = os.readlink(step)
            resolved = root if to.startswith("/") else resolved
            left += to.split("/")[::-1]
        else:
            resolved = step
    return resolved


def _pythons(root: str, directory: str) -> Iterator[Image]:
    """Every Python below a directory of an image, with the site directories that are there."""
    sites_of: dict[tuple[str, tuple[int, int] | None], list[str]] = {}
    for library in _libraries(root, directory):
        prefix, version = os.path.dirname(os.path.dirname(library)), _version(root, library)
        if prefix == os.path.join(root, "usr/local") and not os.path.exists(f"{library}/os.py"):
            # what pip installs for the Python of the distribution
            prefix = os.path.join(root, "usr")
        for name in _SITES:
            site = _resolved(root, os.path.relpath(f"{library}/{name}", root))
            if site and os.path.isdir(site):
                sites = sites_of.setdefault((prefix, version or _default(root, prefix)), [])
                sites += [site] if site not in sites else []
    for (_, version), sites in sorted(sites_of.items(), key=str):
        sites.sort(key=lambda site: f"{root}/usr/local/" not in site)
        yield Image(root, tuple(sites), version)


def _libraries(root: str, directory: str) -> Iterator[str]:
    """Every `lib/python3*` below a directory of an image, where its links lead."""
    level = [directory]
    for _ in range(_DEPTH):
        entries = [entry for folder in level for entry in _listed(folder)]
        for entry in entries:
            if os.path.basename(os.path.dirname(entry.path)) in (
                "lib",
                "lib64",
            ) and _LIBRARY.fullmatch(entry.name):
                library = _resolved(root, os.path.relpath(entry.path, root))
                if library and os.path.isdir(library):
                    yield library
        level = [
            entry.path
            for entry in entries
            if entry.is_dir(follow_symlinks=False) and _may_hold(root, entry)
        ]


def _may_hold(root: str, entry: os.DirEntry[str]) -> bool:
    return not (
        entry.name in _HOLDING
        or _LIBRARY.fullmatch(entry.name)
        or os.path.relpath(entry.path, root) in _PASSED
    )


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except PermissionError:
        return []  # another user's home


def _version(root: str, path: str) -> tuple[int, int] | None:
    """The version that an interpreter of the image or its library is named after, the nearest to the end of a path."""
    names = list(filter(None, map(_LIBRARY.fullmatch, os.path.relpath(path, root).split("/"))))
    return (3, int(names[-1].group(1))) if names and names[-1].group(1) else None


def _default(root: str, prefix: str) -> tuple[int, int] | None:
    """The version of `bin/python3`, by the name of the file that it leads to."""
    return _version(root, _resolved(root, os.path.relpath(f"{prefix}/bin/python3", root)))


def _has_packages(site: str) -> bool:
    names = [
        entry.name
        for entry in _listed(site)
        if entry.name.endswith((".dist-info", ".egg-info", ".egg-link"))
    ]
    return any(normalized(name.split("-")[0].split(".")[0]) not in _TOOLS for name in names)


def _leaving(root: str, site: str) -> Iterator[str]:
    """The links in a site directory that lead out of the image."""
    folders = [site]
    while folders:
        for entry in _listed(folders.pop()):
            if entry.is_symlink() and not is_inside(entry.path, root):
                yield entry.path
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
