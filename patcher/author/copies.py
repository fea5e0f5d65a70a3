"""Copies of installed files, to be edited in place of those: made, and compared with what is installed."""

from __future__ import annotations

import json
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence

from patcher.author.changed import InstalledFile, find_changed, home_of, named_file, python_files
from patcher.author.pristine import Original
from patcher.errors import Location, SitepatchError, UsageError
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import Located
from patcher.store.status import read_installed
from patcher.system.decode import Reader, Values, decode_json, sha256_hex
from patcher.system.reading import read_file
from patcher.text.listed import nearest

_STATE = ".sitepatch-edit.json"
"""The file in a directory of copies that has the sha256 (hex) of each copy before it is edited, by path."""


class Copies(NamedTuple):
    """A new folder, which the caller removes, with copies of files of a package, laid out as a site directory."""

    folder: Path
    located: Located
    paths: tuple[str, ...]


def copy_out(env: Environment, package: str, file: str = "") -> Copies:
    """Copy the Python files of an import package, or one file of any kind, as installed, to a new directory.

    Args:
        env: the environment.
        package: the import package.
        file: only this file, by its path from here, in the site directory or in the package; "" for all.

    Raises:
        UsageError: there is no such file.
        SitepatchError: the package is not installed, or a file was edited by hand, which has to be captured first.
    """
    located = locate(env, package, [file, f"{package}/{file}"] if file else ())
    every = python_files(located.site, package)
    paths = [path for path in every if not file or path in (file, f"{package}/{file}")]
    # a file of another kind is named, or not meant
    if not paths and file and not file.endswith(".py"):
        paths = [
            path
            for path in (f"{package}/{file}", file)
            if "/" in path and Path(located.site, path).is_file()
        ][:1]
    if not paths and Path(file).is_file():
        paths = [path for path in named_file(file, {located.site: ()})[1] if path in every]
    if not paths:
        names = [path.rpartition("/")[2] for path in every]
        alike = nearest(file.rpartition("/")[2], sorted(set(names)), 3)
        near = [path for name in alike for path, other in zip(every, names) if name == other][:3]
        text = (
            "expected one of {near}"
            if near
            else "name it as `{package}/runner.py`, from the package on"
        )
        hint = Message(text, near=", ".join(near), package=package)
        raise UsageError.at(
            Location(file or package),
            "found no such Python file in {site}",
            hint,
            site=located.site,
        )
    check_clean(env, paths)
    texts = {path: read_file(Path(located.site) / path) for path in paths}
    return laid_out(located, texts, texts)


def laid_out(
    located: Located, texts: Mapping[str, bytes], installed: Mapping[str, bytes] = {}
) -> Copies:
    """Write these files of a package, by path, to a new directory, and the hashes of what is `installed`."""
    folder = Path(tempfile.mkdtemp(prefix="sitepatch-edit-"))
    for path, data in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    if installed:
        (folder / _STATE).write_text(
            json.dumps({path: sha256(data).hexdigest() for path, data in installed.items()})
        )
    return Copies(folder, located, tuple(texts))


def copied(
    env: Environment, folder: Path, added: Sequence[str] = (), own: Sequence[str] = ()
) -> list[tuple[InstalledFile, Original]]:
    """The files in a directory of copies that were edited, each with the installed one.

    `own` are the files that a patchset changes and `added` those that it adds. Where the copies are of these alone, they were
    made with the patchset applied, so that one that is as it is installed was edited too.

    Raises:
        UsageError: there is no such directory.
        SitepatchError: nothing in it was edited, or an installed file was changed since it was copied.
    """
    if not folder.is_dir():
        raise UsageError(
            "{folder}: found no such directory",
            "name the one that `sitepatch edit` made",
            folder=folder,
        )
    hashes = _hashes(folder)
    found: list[tuple[InstalledFile, Original]] = []
    problems: list[SitepatchError] = []
    there = {file.relative_to(folder).as_posix() for file in folder.rglob("*.py")}
    there |= {path for path in (*hashes, *added) if (folder / path).is_file()}
    changed = own if there <= {*own, *added} else ()
    for path in sorted(there):
        data, here = read_file(folder / path), Location(path)
        located = home_of(env, path)
        installed = read_installed(located.site, path)
        if installed is None and path in added:
            found.append(
                (
                    InstalledFile(located, path, (), data),
                    Original(b"", Message("a file that is added"), b""),
                )
            )
        elif installed is None:
            what = Message("is not installed: `+++ PATH` in the .spatch adds a file")
            problems.append(SitepatchError.at(here, what))
        elif hashes.get(path, "") not in ("", sha256(installed).hexdigest()):
            problems.append(
                SitepatchError.at(
                    here, "was changed in {site} since it was copied", site=located.site
                )
            )
        elif data != installed or path in changed:
            found.append(
                (
                    InstalledFile(located, path, (), data),
                    Original(installed, Message("the installed file"), installed),
                )
            )
    gone = [path for path in sorted(hashes) if not (folder / path).is_file()]
    what = Message("was deleted here; that a file is deleted cannot be put into a patchset")
    problems += [SitepatchError.at(Location(path), what) for path in gone]
    if problems:
        raise SitepatchError.joined(
            problems, Message("what was edited is still in {folder}", folder=folder)
        )
    if not found:
        raise SitepatchError(
            "{folder}: nothing was edited", "save the file in the editor", folder=folder
        )
    check_clean(env, [file.path for file, before in found if before.data or file.path not in added])
    return found


def _hashes(folder: Path) -> dict[str, str]:
    """The sha256 (hex) of each copy before it was edited, by path; {} where there is no such record."""
    data = read_installed(str(folder), _STATE)
    if data is None:
        return {}
    where, hint = (
        folder / _STATE,
        Message("remove it to go on; that an installed file was changed since is not noticed then"),
    )
    reader = Reader(where)
    try:
        found: dict[str, str] = reader.read(decode_json(data), Values(sha256_hex))
    except ValueError as error:
        raise SitepatchError.at(
            Location(str(where)),
            "is not the JSON that sitepatch writes: {error}",
            hint,
            error=error,
        ) from None
    reader.stop(SitepatchError, hint)
    return found


def check_clean(env: Environment, paths: Sequence[str]) -> None:
    """Refuse files that were edited by hand where they are installed."""
    edited = find_changed(env, paths, lambda done, total, what: None, unproven=True).files
    names = [each.path for each in edited if each.recorded or each.status]
    if names:
        hint = Message(
            "capture that first: sitepatch capture {names} --name NAME --adopt{env}",
            names=" ".join(names),
        )
        raise SitepatchError(
            "{names}: was edited by hand where it is installed", hint, names=", ".join(names)
        )
