"""`new`: a first patchset, to be edited."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import NamedTuple, Optional, Tuple

from patcher.author.changed import named_file, python_files
from patcher.author.draft import package_of
from patcher.author.folder import PackageRange, output_folder, write_folder
from patcher.author.ranges import proven_range
from patcher.author.skeleton import functions, skeleton
from patcher.errors import SitepatchError
from patcher.ops.events import SILENT, Events
from patcher.ops.place import Place
from patcher.system.reading import read_file
from patcher.target.environment import locate

_MOST_FILES, _MOST_TRIES = 200, 20


class NewRequest(NamedTuple):
    """Make a patchset `name` for a package, or for a file of one; `output` is as `output_folder` takes it."""

    place: Place
    name: str
    package: str
    output: Optional[str] = None


class NewOutcome(NamedTuple):
    """The folder that was written, the file and the function that its hunk is for, and remarks."""

    folder: Path
    path: str
    scope: str
    notes: Tuple[str, ...]


def new(request: NewRequest, events: Events = SILENT) -> NewOutcome:
    """Make a patchset whose hunk is for a real function of a package, and which explains itself.

    Raises:
        UsageError: the name is none of a patchset, its folder is there already, or there is no such file.
        SitepatchError: the package is not there, or has no function that can be patched.
        OSError: the folder cannot be written.
    """
    folder = output_folder(request.name, request.output)
    env = request.place.environment()
    events.started(env)
    if request.package.endswith(".py"):
        _, paths = named_file(request.package, dict.fromkeys(env.own, ()))
        located = locate(env, package_of(paths[0]), paths)
    else:
        located = locate(env, request.package)
        paths = python_files(located.site, located.package)
    target = PackageRange(located.package, located.distribution, proven_range([located.version]))
    public_first = sorted(paths, key=lambda path: any(part.startswith("_") for part in path.split("/")))[:_MOST_FILES]
    texts = [(path, read_file(Path(located.site) / path)) for path in public_first]
    places = (place for public in (True, False) for path, text in texts for place in functions(path, text, public=public))
    for place in islice(places, _MOST_TRIES):
        files = skeleton(request.name, target, place)
        if files:
            write_folder(folder, files)
            return NewOutcome(folder, place.path, place.scope, located.notes)
    raise SitepatchError(
        f"{request.package}: found no function to begin with in {located.site}",
        "name another file of the package, as PACKAGE/MODULE.py; or write the patchset by hand: see docs/howto/change.md",
    )
