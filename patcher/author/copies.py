"""Copies of installed files, to be edited in place of those: made, and compared with these."""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Mapping, Sequence

from patcher.author.changed import InstalledFile, find_changed, home_of, named_file, python_files
from patcher.author.patchable import check_patchable, check_text
from patcher.author.pristine import Original
from patcher.errors import Location, SitepatchError, UsageError
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import Located
from patcher.record import Record, reported
from patcher.store.status import read_installed
from patcher.system.decode import Reader, Values, decode_json, sha256_hex
from patcher.system.reading import read_file
from patcher.text.listed import nearest

_PREFIX = "sitepatch-edit-"
"""How the name of a directory of copies begins; the key follows."""
_STATE = ".sitepatch-edit.json"
"""The file in a directory of copies that has the sha256 (hex) of each copy before it is edited."""
_NEAREST = 3  # files that are named where there is no such one
_LIKE = 0.9
"""How much a path that is misspelt is like the one that is meant."""


@reported("folder paths")
class Copies(Record):
    """Copies of files of a package, laid out as a site directory.

    Attributes:
        folder: a new folder, which the caller removes.
        located: the package.
        paths: the paths of the files below the folder.
    """

    folder: Path
    located: Located
    paths: tuple[str, ...]


# made -------------------------------------------------------------------------------------------
def copy_out(env: Environment, package: str, file: str = "", *, key: str = "") -> Copies:
    """Copy the Python files of an import package, or one file of any kind, to a new directory.

    Args:
        env: the environment.
        package: the import package.
        file: only this file, by its path from here, in the site directory or in the package; ""
            for all.
        key: by which `kept_copies` finds them again, "" for never.

    Raises:
        UsageError: there is no such file, or it cannot be patched.
        SitepatchError: the package is not installed, or a file was edited by hand, which has to be
            captured first.
    """
    located = locate(env, package, files=[file, f"{package}/{file}"] if file else ())
    if file:
        check_patchable(env, package, file)
    every = python_files(located.site, package)
    paths = _meant(located, every, file=file) if file else every
    if not paths:
        raise _no_such_file(located, every, file=file)
    check_clean(env, paths)
    texts = {path: read_file(Path(located.site) / path) for path in paths}
    for path, data in texts.items():
        check_text(path, data)
    return laid_out(located, texts, installed=texts, key=key)


def _meant(located: Located, every: Sequence[str], file: str) -> list[str]:
    """The files of a package that a name means.

    Args:
        located: the package.
        every: its Python files.
        file: by its path from here, in the site directory or in the package.
    """
    inside = f"{located.package}/{file}"
    paths = [path for path in every if path in (file, inside)]
    if paths:
        return paths
    if not file.endswith(".py"):  # a file of another kind is named, or not meant
        for path in (inside, file):
            if "/" in path and not path.startswith("/") and Path(located.site, path).is_file():
                return [path]
    if Path(file).is_file():
        _, named = named_file(file, {located.site: ()})
        return [path for path in named if path in every or not path.endswith(".py")]
    return []


def _no_such_file(located: Located, every: Sequence[str], file: str) -> UsageError:
    paths: dict[str, list[str]] = {}  # by name
    for path in every:
        paths.setdefault(Path(path).name, []).append(path)
    near = nearest(f"{located.package}/{file}", every, 1, _LIKE)
    for name in nearest(file.rpartition("/")[2], sorted(paths), _NEAREST):
        near += paths[name]
    package = located.package
    hint = Message("name it as `{package}/runner.py`, from the package on", package=package)
    if near:
        hint = Message(
            "expected one of {near}", near=", ".join(list(dict.fromkeys(near))[:_NEAREST])
        )
    problem = "found no such Python file in {site}"
    return UsageError.at(Location(file or package), problem, hint, site=located.site)


def laid_out(
    located: Located,
    texts: Mapping[str, bytes],
    installed: Mapping[str, bytes] = {},
    *,
    key: str = "",
) -> Copies:
    """Write files of a package to a new directory.

    Args:
        located: the package.
        texts: the files, by path.
        installed: those whose hashes are written beside them.
        key: by which `kept_copies` finds them again, "" for never.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{key}-" if key else _PREFIX))
    for path, data in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    if installed:
        hashes = {path: sha256(data).hexdigest() for path, data in installed.items()}
        (folder / _STATE).write_text(json.dumps(hashes))
    return Copies(folder, located, paths=tuple(texts))


def kept_copies(key: str) -> list[Path]:
    """The directories of copies that this user has edited and not captured, the latest first.

    Args:
        key: with which they were made.
    """
    made = re.compile(re.escape(f"{_PREFIX}{key}-") + "[a-z0-9_]{8}")  # as mkdtemp names them
    folders: list[tuple[int, Path]] = []
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}{key}-*"):
        if not made.fullmatch(folder.name) or not _is_own(folder):
            continue
        record = folder / _STATE
        since = record.lstat().st_mtime_ns if record.is_file() else 0
        saved = [path.lstat().st_mtime_ns for path in folder.rglob("*") if path.is_file()]
        if max(saved, default=0) > since:
            folders.append((max(saved), folder))
    return [folder for _, folder in sorted(folders, reverse=True)]


def copied_paths(folder: Path) -> list[str]:
    """The paths of the copies in a directory of them."""
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in paths if path != _STATE)


def _is_own(folder: Path) -> bool:
    """Whether a directory, and no link to one, is this user's."""
    state = folder.lstat()
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()


# compared ---------------------------------------------------------------------------------------
def copied(
    env: Environment, folder: Path, added: Sequence[str] = (), own: Sequence[str] = ()
) -> list[tuple[InstalledFile, Original]]:
    """The files in a directory of copies that were edited, each with the installed one.

    Where the copies are of a patchset's files alone, they were made with the patchset applied, so
    that one that is as it is installed was edited too.

    Args:
        env: the environment.
        folder: the directory.
        added: the files that a patchset adds.
        own: the files that it changes.

    Raises:
        UsageError: there is no such directory.
        SitepatchError: nothing in it was edited, or an installed file was changed since it was
            copied.
    """
    if not folder.is_dir():
        hint = Message("name the one that `sitepatch edit` made")
        raise UsageError("{folder}: found no such directory", hint, folder=folder)

    hashes = _hashes(folder)
    paths = {file.relative_to(folder).as_posix() for file in folder.rglob("*.py")}
    paths.update(path for path in (*hashes, *added) if (folder / path).is_file())
    are_own = paths <= {*own, *added}
    found: list[tuple[InstalledFile, Original]] = []
    problems: list[SitepatchError] = []
    for path in sorted(paths):
        data, located = read_file(folder / path), home_of(env, path)
        file = InstalledFile(located, path, data=data)
        installed = read_installed(located.site, path)
        if installed is None:
            if path in added:
                found.append((file, Original(b"", Message("a file that is added"), pristine=b"")))
            else:
                problem = Message("is not installed: `+++ PATH` in the .spatch adds a file")
                problems.append(SitepatchError.at(Location(path), problem))
        elif hashes.get(path, "") not in ("", sha256(installed).hexdigest()):
            text = "was changed in {site} since it was copied"
            problems.append(SitepatchError.at(Location(path), text, site=located.site))
        elif data != installed or (are_own and path in own):
            found.append(
                (file, Original(installed, Message("the installed file"), pristine=installed))
            )

    problems += _deleted(folder, hashes)
    if problems:
        kept = Message("what was edited is still in {folder}", folder=folder)
        raise SitepatchError.joined(problems, kept)
    if not found:
        hint = Message("save the file in the editor")
        raise SitepatchError("{folder}: nothing was edited", hint, folder=folder)
    check_clean(env, [file.path for file, before in found if before.data or file.path not in added])
    return found


def _deleted(folder: Path, hashes: Mapping[str, str]) -> list[SitepatchError]:
    """The problem of each copy that is gone."""
    what = Message("was deleted here: `--- PATH` and `-...` in the .spatch delete a file")
    problems: list[SitepatchError] = []
    for path in sorted(hashes):
        if not (folder / path).is_file():
            problems.append(SitepatchError.at(Location(path), what))
    return problems


def _hashes(folder: Path) -> dict[str, str]:
    """The sha256 (hex) of each copy before it was edited, by path.

    {} where there is no such record.
    """
    data = read_installed(str(folder), _STATE)
    if data is None:
        return {}
    where = folder / _STATE
    hint = Message(
        "remove it to go on; that an installed file was changed since is not noticed then"
    )
    reader = Reader(where)
    try:
        hashes: dict[str, str] = reader.read(decode_json(data), Values(sha256_hex))
    except ValueError as error:
        problem = "is not the JSON that sitepatch writes: {error}"
        raise SitepatchError.at(Location(str(where)), problem, hint, error=error) from None
    reader.stop(SitepatchError, hint)
    return hashes


def check_clean(env: Environment, paths: Sequence[str]) -> None:
    """Refuse files that were edited by hand where they are installed."""
    edited = find_changed(env, paths, progress=lambda done, total, what: None, unproven=True).files
    names: list[str] = []
    for file in edited:
        if file.recorded or file.status:
            names.append(file.path)
    if names:
        text = "capture that first: sitepatch capture {names} --name NAME --adopt{env}"
        hint = Message(text, names=" ".join(names))
        problem = "{names}: was edited by hand where it is installed"
        raise SitepatchError(problem, hint, names=", ".join(names))
