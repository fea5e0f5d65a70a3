"""Which files cannot be patched, and why."""

from __future__ import annotations

import shlex
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from patcher.errors import Location, UsageError
from patcher.installed.interpreter import Environment
from patcher.message import Message

_LIBRARIES = (*EXTENSION_SUFFIXES, ".so", ".pyd", ".dll", ".dylib", ".pyc", ".a", ".o")


def check_patchable(env: Environment, package: str, file: str) -> None:
    """Refuse a file that is there and cannot be edited as one of a package; say why.

    Args:
        env: the environment.
        package: the import package that is named with it, "" without one.
        file: as the user has named it.

    Raises:
        UsageError: it is in no site directory, another package's, or no text.
    """
    outside = Path(file)
    for site in map(Path, env.sites):
        for path in (site / package / file, site / file, outside.absolute()):
            if path.is_file() and site.resolve() in path.resolve().parents:
                _check_inside(path.resolve().relative_to(site.resolve()), package)
                return
    if outside.is_absolute() and not outside.exists():
        raise UsageError.at(Location(file), "found no such file", _a_file())
    if not outside.is_file():
        script = Path(env.python).parent / outside.name
        if outside.name != file or not script.is_file():
            return
        outside = script
    if outside.absolute().parent == Path(env.python).parent:
        problem = "is a program of the environment, which its installer wrote: it is not patched"
        hint = Message("edit the module that it starts")
        raise UsageError.at(Location(file), problem, hint)
    problem = "is in no site directory of this environment, so it is no installed file"
    raise UsageError.at(Location(file), problem, _a_file())


def _a_file() -> Message:
    return Message("name a file of a package, as `requests/sessions.py`")


def check_text(path: str, data: bytes) -> None:
    """Refuse the file of a package that is no text.

    Args:
        path: the path below the site directory.
        data: its bytes.

    Raises:
        UsageError: it is none.
    """
    if path.endswith(_LIBRARIES) or b"\0" in data:
        raise _binary(path)


def _binary(path: str) -> UsageError:
    problem = "is compiled, or other binary data: only source and other texts are patched"
    return UsageError.at(Location(path), problem)


def _check_inside(path: Path, package: str) -> None:
    """Refuse a file of a site directory: another package's, an installer's, no text."""
    first, *more = path.parts
    if path.name.endswith(_LIBRARIES):
        raise _binary(path.as_posix())
    if first.endswith((".dist-info", ".egg-info")):
        problem = "is what the installer has written about a distribution: it is not patched"
        raise UsageError.at(Location(path.as_posix()), problem)
    owner = first if more else path.stem
    if package and owner != package:
        problem = "is a file of {owner}, not of {package}"
        hint = "write: sitepatch edit {path}{env}"
        named = shlex.quote(path.as_posix())
        raise UsageError.at(
            Location(path.as_posix()), problem, hint, owner=owner, package=package, path=named
        )
