"""The places that patchsets come from: directories that come with sitepatch, and installed distributions that bring some."""

from __future__ import annotations

import os
import sys
from typing import Iterator, Mapping

from patcher.errors import Location, SitepatchError
from patcher.message import Message
from patcher.model import PatchsetSource
from patcher.patchset.toml import read_text
from patcher.system.reading import TEXT, read_file

MANIFEST = "patchset.toml"
GROUP = "sitepatch.patchsets"
BUILT_IN, LOCAL = PatchsetSource(Message("built in")), PatchsetSource("./patchsets")
PATCH_DIR, PROJECT_DIR, ENTRY_POINT = "--patch-dir", "patch-dir", Message("entry point")
"""The other kinds of sources: a directory that the user names, one that a project names, an entry point."""


def builtin_dir() -> str:
    """The directory of the built-in patchsets."""
    return _shipped("patchsets")


def fixtures_dir() -> str:
    """The directory of the stand-ins, and of the patches for upstream in `upstream`."""
    return _shipped("fixtures")


def _shipped(name: str) -> str:
    """A directory that comes with sitepatch: inside the installed package, or beside it in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    installed = os.path.join(package, f"_{name}")
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(package), name)


def builtin_table(name: str) -> bytes:
    """The known results that ship with the built-in patchset of this name (`patcher.patchset.results`); b"" if it has none."""
    try:
        return read_file(os.path.join(builtin_dir(), name, "known.json"))
    except (OSError, SitepatchError):
        return b""


def has_texts(folder: str, files: Mapping[str, str]) -> bool:
    """Whether a folder holds these files (name -> text), with other line ends perhaps."""
    try:
        for name, content in files.items():
            if read_text(os.path.join(folder, name)) != content:
                return False
    except (OSError, SitepatchError):
        return False
    return True


# installed distributions that bring patchsets -------------------------------------------------------------------------
def entry_points() -> Iterator[tuple[str, str | SitepatchError]]:
    """(name, directory or what is wrong) of each entry point of our group.

    importlib.metadata would cost 2.6 bare starts.
    """
    seen = set()
    for place in filter(None, sys.path):
        real = os.path.realpath(place)
        if real in seen or not os.path.isdir(real):
            continue
        seen.add(real)
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".dist-info"))
        for name in names:
            path = os.path.join(place, name, "entry_points.txt")
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
    import configparser

    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(data.decode("utf-8"))
    except (UnicodeDecodeError, configparser.Error) as error:
        words = str(error).split("\n")[0]
        template = "found no valid entry points ({words})"
        yield (
            path,
            SitepatchError.at(
                Location(path), template, Message("reinstall that distribution"), words=words
            ),
        )
        return
    for name, value in parser[GROUP].items() if GROUP in parser else ():
        parts = value.split(":")[0].strip().split(".")
        tries = [os.path.join(place, *parts) for place in filter(None, sys.path)]
        modules = [os.path.dirname(at) for at in tries if os.path.isfile(f"{at}.py")]
        folders = [at for at in tries if os.path.isdir(at)] or modules
        problem = Message(
            "the entry point {name} = {value} leads to no directory on sys.path",
            name=name,
            value=value,
        )
        hint = Message("reinstall that distribution, or uninstall it")
        yield name, folders[0] if folders else SitepatchError.at(Location(path), problem, hint)
