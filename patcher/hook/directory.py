"""The directory of a hook, for a line in requirements.txt: what it requests, read and compared with what it carries."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import Dict, Sequence, Tuple

from patcher import __version__
from patcher.errors import Location, SitepatchError, StoreError, UsageError, raise_all
from patcher.hook.boot import MODES
from patcher.hook.content import (
    Content,
    Hook,
    HookPatchset,
    Precomputed,
    read_precomputed,
    write_hook,
    write_precomputed,
)
from patcher.hook.places import PATCHSETS, PRECOMPUTED
from patcher.model import PatchsetSource, Requested
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import MANIFEST
from patcher.patchset.sources import resolve_options
from patcher.patchset.toml import read_toml
from patcher.project.pyproject import ProjectEntry, read_project
from patcher.system.decode import Reader, Table, one_of, string

TABLE = "sitepatch-hook"


def hook_patchset(one: Requested) -> HookPatchset:
    """What a hook carries of a patchset."""
    paths: Dict[str, Dict[str, None]] = {}
    for variant in one.patchset.variants:
        named = paths.setdefault(variant.package, {})
        named.update((path, None) for patch in variant.patches for path in patch.paths)
    found = {package: tuple(sorted(named)) for package, named in paths.items()}
    patchset = one.patchset
    ranges = {package: [each.versions for each in patchset.variants if each.package == package] for package in paths}
    versions = {package: " or ".join(each) for package, each in ranges.items() if all(each)}
    files = tuple(sorted(patchset.files))
    return HookPatchset(patchset.name, patchset.version, patchset.digest, one.options, files, found, versions)


def make_content(name: str, mode: str, requested: Sequence[Requested], changes: Sequence[Precomputed]) -> Content:
    """Put a hook together; its version has a digest of all that it carries."""
    texts = {f"{one.patchset.name}/{file}": text for one in requested for file, text in one.patchset.files.items()}
    hook = Hook(name, "", mode, tuple(map(hook_patchset, requested)))
    digest = sha256(write_hook(hook) + write_precomputed(changes, {}))
    for path, text in sorted(texts.items()):
        digest.update(f"\0{path}\0{text}".encode())
    return Content(hook._replace(version=f"{__version__}+h{digest.hexdigest()[:12]}"), tuple(changes), texts)


def read_content(folder: Path) -> Content:
    """Read the directory of a hook, and check all of it.

    Raises:
        SitepatchError: what is wrong with it: a patchset that is gone or broken, an unknown mode, something that was
            changed since `hook init` ran.
    """
    path = folder / "pyproject.toml"
    name, version, mode = head(path)
    project = read_project(path)
    entries = project.entries if project else ()
    requested, errors = [], []
    for entry in entries:
        try:
            requested.append(_requested(folder, entry))
        except SitepatchError as error:
            errors.append(error)
    if not entries:
        problem = "tool.sitepatch.patchsets: found none, expected the names of patchsets"
        errors.append(UsageError.at(Location(str(path)), problem))
    raise_all(errors)
    changes, digests = _precomputed(folder)
    content = make_content(name, mode, requested, changes)
    changed = [one.patchset.name for one in requested if digests.get(one.patchset.name) != one.patchset.digest]
    again = f"run again: sitepatch hook init {folder.name}"
    if changed:
        raise SitepatchError(f"{folder / PATCHSETS}: {', '.join(changed)}: not as it was when hook init ran", again)
    if content.hook.version != version:
        raise SitepatchError(f"{folder}: was changed since hook init ran: its version would be {content.hook.version}", again)
    return content


def head(path: Path) -> Tuple[str, str, str]:
    """Name, version and mode in the pyproject.toml of a hook.

    Raises:
        SitepatchError: one of them is missing or not what it must be.
    """
    try:
        top = read_toml(path)
    except OSError as error:
        hint = "make it with: sitepatch hook init DIR"
        raise SitepatchError.at(Location(str(path)), f"cannot be read: {error}", hint) from None
    reader = Reader(path)
    found = reader.read(top, _HEAD)
    reader.stop(UsageError)
    return found["project"]["name"], found["project"]["version"], found["tool"][TABLE]["mode"]


NAME_RULE = "a name of a-z, 0-9 and single -, that begins with a letter"


def is_name(name: str) -> bool:
    """Whether a hook may have this name, of which that of a module is made."""
    return bool(re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", name))


def _name(value: object) -> str:
    return "" if isinstance(value, str) and is_name(value) else NAME_RULE


_PROJECT = Table({"name": _name, "version": string}, others=True)
_TOOL = Table({TABLE: Table({"mode": one_of(*MODES)}, others=True)}, others=True)
_HEAD = Table({"project": _PROJECT, "tool": _TOOL}, others=True)


def _requested(folder: Path, entry: ProjectEntry) -> Requested:
    place = folder / PATCHSETS / entry.name
    if not (place / MANIFEST).is_file():
        hint = f"put it back, or take it out of {folder / 'pyproject.toml'} with: sitepatch hook init {folder.name} NAME..."
        raise SitepatchError(f"{entry.origin}: {place}: found no patchset", hint, entry.location)
    patchset = load_patchset(place, PatchsetSource(str(folder)))
    settings: Dict[str, str] = {}
    for text in entry.settings:
        option, _, value = text.partition("=")
        settings[f"{entry.name}.{option}"] = value
    return Requested(patchset, resolve_options(patchset, settings))


def _precomputed(folder: Path) -> Tuple[Tuple[Precomputed, ...], Dict[str, str]]:
    path = folder / PRECOMPUTED
    try:
        return read_precomputed(path.read_bytes(), str(path))
    except FileNotFoundError:
        hint = f"run again: sitepatch hook init {folder.name}"
        raise StoreError.at(Location(str(path)), "is missing", hint) from None


def earlier(folder: Path, patchsets: Sequence[HookPatchset]) -> Tuple[Precomputed, ...]:
    """The changes of an earlier `hook init`, for other releases, that are still those of these patchsets."""
    try:
        changes, digests = _precomputed(folder)
    except SitepatchError:
        return ()
    requested = {one.name: (one.digest, dict(one.options)) for one in patchsets}

    def is_valid(change: Precomputed) -> bool:
        naming = [one for one in patchsets for paths in one.paths.values() if change.file.path in paths]
        same = all(digests.get(one.name) == one.digest for one in naming)
        steps = all(requested.get(step.patchset) == (step.digest, dict(step.options)) for step in change.steps)
        return bool(naming) and same and steps

    return tuple(filter(is_valid, changes))
