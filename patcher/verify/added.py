"""How an import finds modules whose files are not on the disk yet, and misses those that go.

Loaded by its path, by `child.py` and in every overlay (`patcher.overlay.boot`), in the user's
interpreter: standard library alone, Python 3.6 or later, nothing of ours.
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location

TYPE_CHECKING = False  # typing would cost more than all the rest
if TYPE_CHECKING:
    from typing import Any, Collection, Iterable, List, Optional, Type


def spec_of_added(
    module: str, places: "Iterable[str]", paths: "Collection[str]"
) -> "Optional[ModuleSpec]":
    """Find a module among added files.

    Args:
        module: its full name.
        places: the directories that are searched for it.
        paths: the files that are added, the links of their directories resolved.

    Returns:
        the spec of the file, or of a directory that has added files and no `__init__.py`; None for
        any other module.
    """
    name = module.rpartition(".")[2]
    for place in places:
        folder = os.path.join(place, name)
        for path in (os.path.join(folder, "__init__.py"), folder + ".py"):
            if resolved(path) in paths:
                return spec_from_file_location(module, path)
        inside = resolved(folder) + os.sep
        if not os.path.isdir(folder) and any(path.startswith(inside) for path in paths):
            spec = ModuleSpec(module, None, is_package=True)
            spec.submodule_search_locations = [folder]
            return spec
    return None


def finder_without(paths: "Collection[str]") -> "Type[PathFinder]":
    """A finder that finds what `PathFinder` finds, as if these files were not there.

    Args:
        paths: the files that are deleted, the links of their directories resolved.
    """

    class Finder(PathFinder):
        """Stands in the place of `PathFinder`, also for importlib.metadata."""

        @classmethod
        def find_spec(
            cls, fullname: str, path: "Any" = None, target: "Any" = None
        ) -> "Optional[ModuleSpec]":
            spec = super().find_spec(fullname, path, target)
            if spec is None or spec.origin is None or resolved(spec.origin) not in paths:
                return spec
            places = [os.fspath(place) for place in (sys.path if path is None else path)]
            return _spec_of_rest(fullname, places, paths)

    return Finder


def _spec_of_rest(
    module: str, places: "List[str]", paths: "Collection[str]"
) -> "Optional[ModuleSpec]":
    """The spec of a module of which a file is deleted: of another file, or of a directory."""
    name = module.rpartition(".")[2]
    portions: List[str] = []
    for place in places:
        folder = os.path.join(place or os.curdir, name)
        for path in (os.path.join(folder, "__init__.py"), folder + ".py"):
            if os.path.isfile(path) and resolved(path) not in paths:
                return spec_from_file_location(module, path)
        if os.path.isdir(folder):
            portions.append(folder)
    if not portions:
        return None
    spec = ModuleSpec(module, None, is_package=True)
    spec.submodule_search_locations = portions
    return spec


def resolved(path: str) -> str:
    """The path of a file with the links of its directory resolved; the file may be a link."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
