"""How an import finds modules whose files are not on the disk yet.

Loaded by its path, by `child.py` and in every overlay (`patcher.overlay.boot`), in the user's
interpreter: standard library alone, Python 3.6 or later, nothing of ours.
"""

import os
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location

TYPE_CHECKING = False  # typing would cost more than all the rest
if TYPE_CHECKING:
    from typing import Collection, Iterable, Optional


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


def resolved(path: str) -> str:
    """The path of a file with the links of its directory resolved; the file may be a link."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
