"""Installed distributions that bring patchsets: the entry points of our group, found without running anything of them."""

from __future__ import annotations

import os
import sys
from typing import Iterator, Tuple, Union

from patcher.errors import Location, SitepatchError
from patcher.system.reading import TEXT, read_file

GROUP = "sitepatch.patchsets"


def entry_points() -> Iterator[Tuple[str, Union[str, SitepatchError], str]]:
    """(name, directory or what is wrong, metadata folder) of each entry point of our group.

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
            info = os.path.join(place, name)
            path = os.path.join(info, "entry_points.txt")
            try:
                data = read_file(path, TEXT)
            except OSError:
                continue  # most distributions have none
            except SitepatchError as error:
                yield path, error, info
                continue
            if GROUP.encode() in data:
                yield from ((*each, info) for each in _parsed(path, data))


def _parsed(path: str, data: bytes) -> Iterator[Tuple[str, Union[str, SitepatchError]]]:
    import configparser

    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(data.decode("utf-8"))
    except (UnicodeDecodeError, configparser.Error) as error:
        words = str(error).split("\n")[0]
        yield path, SitepatchError.at(Location(path), f"found no valid entry points ({words})", "reinstall that distribution")
        return
    for name, value in parser[GROUP].items() if GROUP in parser else ():
        parts = value.split(":")[0].strip().split(".")
        tries = [os.path.join(place, *parts) for place in filter(None, sys.path)]
        modules = [os.path.dirname(at) for at in tries if os.path.isfile(f"{at}.py")]
        found = [at for at in tries if os.path.isdir(at)] or modules
        problem = f"the entry point {name} = {value} leads to no directory on sys.path"
        hint = "reinstall that distribution, or uninstall it"
        yield name, found[0] if found else SitepatchError.at(Location(path), problem, hint)
