"""The places that patchsets come from.

They are directories that come with sitepatch, and installed distributions that bring some.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Iterator, Mapping

from patcher.errors import Location, SitepatchError
from patcher.installed.record import entries_of
from patcher.message import Message
from patcher.model import PatchsetSource
from patcher.patchset.toml import read_text
from patcher.system.reading import TEXT, is_directory, is_file, read_file

MANIFEST = "patchset.toml"
GROUP = "sitepatch.patchsets"
BUILT_IN, LOCAL = PatchsetSource(Message("built in")), PatchsetSource("./patchsets")
PATCH_DIR, PROJECT_DIR, ENTRY_POINT = "--patch-dir", "patch-dir", Message("entry point")
"""The other kinds of sources: a directory that the user or a project names, an entry point."""


# what comes with sitepatch --------------------------------------------------------------------
def builtin_dir() -> str:
    """The directory of the built-in patchsets."""
    return _shipped("patchsets")


def fixtures_dir() -> str:
    """The directory of the stand-ins, and of the patches for upstream in `upstream`."""
    return _shipped("fixtures")


def _shipped(name: str) -> str:
    """A directory that comes with sitepatch: in the installed package, or beside a checkout's."""
    package = Path(os.path.normpath(Path(__file__).absolute())).parent.parent
    installed = package / f"_{name}"
    return str(installed if installed.is_dir() else package.parent / name)


def builtin_table(name: str) -> bytes:
    """The known results of a built-in patchset (`patcher.patchset.results`), empty if it has none.

    They ship beside its manifest.
    """
    try:
        return read_file(Path(builtin_dir(), name, "known.json"))
    except (OSError, SitepatchError):
        return b""


def has_texts(folder: str, files: Mapping[str, str]) -> bool:
    """Whether a folder holds these files (name -> text), with other line ends perhaps."""
    try:
        for name, content in files.items():
            if read_text(Path(folder, name)) != content:
                return False
    except (OSError, SitepatchError):
        return False
    return True


# installed distributions that bring patchsets -------------------------------------------------
def entry_points() -> Iterator[tuple[str, str | SitepatchError]]:
    """(name, directory or what is wrong) of each entry point of our group.

    importlib.metadata would cost 2.6 bare starts.
    """
    seen = set()
    for place in filter(None, sys.path):
        real = os.path.realpath(place)
        if real in seen or not is_directory(real):
            continue
        seen.add(real)
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".dist-info"))
        for name in names:
            path = f"{place}/{name}/entry_points.txt"
            try:
                data = read_file(path, TEXT)
            except OSError:
                continue  # most distributions have none
            except SitepatchError as error:
                yield path, error
                continue
            if GROUP.encode() in data:
                yield from _parsed(path, data)


def _parsed(path: str, data: bytes) -> Iterator[tuple[str, str | SitepatchError]]:
    try:
        entries = entries_of(data, GROUP)
    except ValueError as error:
        problem = SitepatchError.at(
            Location(path),
            "found no valid entry points ({words})",
            Message("reinstall that distribution"),
            words=str(error).split("\n")[0],
        )
        yield path, problem
        return
    for name, value in entries:
        folder = _folder_of(value)
        if folder:
            yield name, folder
            continue
        problem = SitepatchError.at(
            Location(path),
            "the entry point {name} = {value} leads to no directory on sys.path",
            Message("reinstall that distribution, or uninstall it"),
            name=name,
            value=value,
        )
        yield name, problem


def _folder_of(module: str) -> str:
    """The directory of a package on sys.path, else of a module; empty if there is neither."""
    parts = module.split(":")[0].strip().split(".")
    paths = [Path(place, *parts) for place in filter(None, sys.path)]
    for path in paths:
        if is_directory(path):
            return str(path)
    for path in paths:
        if is_file(f"{path}.py"):
            return str(path.parent)
    return ""
