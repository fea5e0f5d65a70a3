"""Patchsets by name: the places they come from, the variant that fits a version, the options of a command line."""

from __future__ import annotations

import os
import re
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from patcher.errors import SitepatchError, UsageError
from patcher.model import Option, OptionValue, Patchset, PatchsetSource, Variant
from patcher.patchset.entry_points import entry_points
from patcher.patchset.manifest import MANIFEST, load_patchset
from patcher.patchset.toml import decode_text, option_text
from patcher.system.decode import shown_value
from patcher.system.reading import TEXT, read_file
from patcher.target.versions import accepts, says_nothing
from patcher.text.listed import suggest

BUILT_IN, LOCAL = PatchsetSource("built in"), PatchsetSource("./patchsets")
PATCH_DIR, PROJECT_DIR, ENTRY_POINT = "--patch-dir {}", "patch-dir {}", "entry point {}"
"""The other kinds of sources: a directory that the user names, one that a project names, an entry point."""
_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


AnyPath = Union[str, "os.PathLike[str]"]
Folders = Dict[str, List[Tuple[str, PatchsetSource]]]
"""The (folder, source) pairs of each name of a patchset."""


class FoundPatchset(NamedTuple):
    """A patchset found by name; `shadows` describe those of the same name in later places, which it hides."""

    patchset: Patchset
    shadows: Tuple[str, ...]


def builtin_dir() -> str:
    """The directory of the built-in patchsets: inside the installed package, or beside it in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    installed = os.path.join(package, "_patchsets")
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(package), "patchsets")


def builtin_table(name: str) -> bytes:
    """The known results that ship with the built-in patchset of this name (`patcher.planner.known`); b"" if it has none."""
    try:
        return read_file(os.path.join(builtin_dir(), name, "known.json"))
    except (OSError, SitepatchError):
        return b""


def search_places(
    patch_dirs: Sequence[AnyPath], cwd: AnyPath
) -> Tuple[List[Tuple[str, PatchsetSource]], Dict[str, SitepatchError]]:
    """Every (directory, source) of patchsets, the first first, and what is wrong with entry points, by their sources.

    The order is: `patch_dirs` (each a directory of patchset folders, or one such folder), `./patchsets` of `cwd`, the
    entry points of group `sitepatch.patchsets`, the built-in ones. The built-in directory always counts as built in unless
    it is named in `patch_dirs`.

    Raises:
        UsageError: when one of `patch_dirs` is not a directory.
    """
    places = named_places(patch_dirs, cwd)
    broken: Dict[str, SitepatchError] = {}
    for name, path, _ in entry_points():
        source = PatchsetSource(ENTRY_POINT, name)
        if isinstance(path, SitepatchError):
            broken[str(source)] = path
        else:
            places.append((path, source))
    return [*places, (builtin_dir(), BUILT_IN)], broken


def named_places(patch_dirs: Sequence[AnyPath], cwd: AnyPath) -> List[Tuple[str, PatchsetSource]]:
    """The first of those places: `patch_dirs` and `./patchsets` of `cwd`.

    Raises:
        UsageError: when one of `patch_dirs` is not a directory.
    """
    places: List[Tuple[str, PatchsetSource]] = []
    for each in patch_dirs:
        if not os.path.isdir(os.path.join(cwd, each)):
            raise UsageError(f"--patch-dir {each}: found no such directory", "name a directory of patchset folders")
        places.append((os.path.join(cwd, each), PatchsetSource(PATCH_DIR, str(each))))
    local = os.path.join(cwd, "patchsets")
    if os.path.realpath(local) != os.path.realpath(builtin_dir()):
        places.append((local, LOCAL))
    return places


def patchset_folders(patch_dirs: Sequence[AnyPath], cwd: AnyPath) -> Folders:
    """Every patchset name with all the (folder, source) that have it, in the order of `search_places`; the first wins.

    A folder that is reached twice counts once. Entry points that lead nowhere are passed over.

    Raises:
        UsageError: when one of `patch_dirs` is not a directory.
    """
    return folders_by_name(search_places(patch_dirs, cwd)[0])


def folders_by_name(places: Sequence[Tuple[str, PatchsetSource]]) -> Folders:
    """`patchset_folders` of the places that `search_places` gave."""
    found: Folders = {}
    seen = set()
    for place, source in places:
        names = sorted(os.listdir(place)) if os.path.isdir(place) else []
        inside = [os.path.normpath(place)] if MANIFEST in names else [os.path.join(place, name) for name in names]
        for folder in inside:
            real = os.path.realpath(folder)
            if real not in seen and os.path.isfile(os.path.join(folder, MANIFEST)):
                seen.add(real)
                found.setdefault(os.path.basename(folder), []).append((folder, source))
    return found


def find_patchset(name: str, patch_dirs: Sequence[AnyPath], cwd: AnyPath, known: Optional[Folders] = None) -> FoundPatchset:
    """Load the patchset `name` from the first place that has it; `known` saves a call of `patchset_folders`.

    Raises:
        UsageError: when no place has it, see `unknown_patchset`.
        PatchError: when its folder is wrong in itself.
    """
    known = patchset_folders(patch_dirs, cwd) if known is None else known
    if name not in known:
        raise unknown_patchset(name, known, patch_dirs, cwd)
    return _load(name, known[name])


def _load(name: str, places: Sequence[Tuple[str, PatchsetSource]]) -> FoundPatchset:
    from pathlib import Path

    (folder, source), *others = places
    one = load_patchset(Path(folder), source)
    shadows = (f"{name} of {other} ({where})" for where, other in others if not has_texts(where, one.files))
    return FoundPatchset(one, tuple(shadows))


def unknown_patchset(name: str, known: Iterable[str], patch_dirs: Sequence[AnyPath], cwd: AnyPath) -> UsageError:
    """The error for a name that no place has: the nearest name, all names, and the places that were searched."""
    known = sorted(known)
    places, broken = search_places(patch_dirs, cwd)
    looked = []
    for place, source in places:
        state = "" if os.path.isdir(place) else ", not there"
        which = f"{source} of the current directory{state}" if source == LOCAL else str(source)
        looked.append(f"{os.path.abspath(place)} ({which})")
    hints = [f"known patchsets: {', '.join(known) or 'none'}", f"searched: {', '.join(looked)}"]
    hints += [error.message for error in broken.values()]
    return UsageError(f'there is no patchset "{name}"{suggest(name, known)}', "\n".join(hints))


def has_texts(folder: str, files: Mapping[str, str]) -> bool:
    """Whether a folder holds these files (name -> text), with other line ends perhaps."""
    try:
        for name, text in files.items():
            path = os.path.join(folder, name)
            if decode_text(read_file(path, TEXT), path).replace("\r\n", "\n") != text:
                return False
    except (OSError, SitepatchError):
        return False
    return True


def find_patchsets(patch_dirs: Sequence[AnyPath], cwd: AnyPath) -> Tuple[List[FoundPatchset], Dict[str, SitepatchError]]:
    """Every patchset that can be named, by name; and what is wrong with those, and the entry points, that cannot be read.

    Raises:
        UsageError: see `patchset_folders`.
    """
    found: List[FoundPatchset] = []
    places, broken = search_places(patch_dirs, cwd)
    for name, known in sorted(folders_by_name(places).items()):
        try:
            found.append(_load(name, known))
        except SitepatchError as error:
            broken[name] = error
    return found, broken


def providing_distribution(patchset: Patchset) -> Tuple[str, str]:
    """The metadata folder of the distribution whose entry point led to a patchset, and its own folder; "" both for none."""
    if patchset.source.kind == ENTRY_POINT:
        for name, path, info in entry_points():
            here = [(path, patchset.source)] if isinstance(path, str) and name == patchset.source.name else []
            known = folders_by_name(here)
            if patchset.name in known:
                return info, known[patchset.name][0][0]
    return "", ""


def pick_variants(patchset: Patchset) -> Dict[str, List[Variant]]:
    """The variants of each package, both in the order of `patchset.toml`."""
    picked: Dict[str, List[Variant]] = {}
    for variant in patchset.variants:
        picked.setdefault(variant.package, []).append(variant)
    return picked


def matching_variants(variants: Sequence[Variant], version: str) -> List[Variant]:
    """The variant whose range holds `version`, if there is one; all where the version is none (`says_nothing`).

    Local labels, pre-releases and vendor builds of a release in the range count (`patcher.target.versions.accepts`).
    """
    if says_nothing(version):
        return list(variants)
    return [variant for variant in variants if accepts(variant.versions, version)]


def choose_variant(variants: Sequence[Variant], version: str) -> Optional[Variant]:
    """The one variant of `matching_variants`, None where there is none or several match."""
    found = matching_variants(variants, version)
    return found[0] if len(found) == 1 else None


def resolve_options(patchset: Patchset, settings: Mapping[str, str]) -> Dict[str, OptionValue]:
    """The value of every option: the text of `--set NAME.option=VALUE` read by the option's type, else the default.

    Args:
        patchset: the patchset whose options are asked for.
        settings: "NAME.option" -> VALUE; those of other patchsets (another NAME) are not looked at.

    Raises:
        UsageError: with all problems, one line each: an option that does not exist, a value that is not of its type
            or not one of its choices.
    """
    values: Dict[str, OptionValue] = {option.name: option.default for option in patchset.options}
    options = {option.name: option for option in patchset.options}
    problems: List[str] = []
    for key, text in settings.items():
        patchset_name, _, name = key.partition(".")
        if patchset_name != patchset.name:
            continue
        if name not in options:
            known = f"one of {', '.join(options)}{suggest(name, options)}" if options else "none: it has no options"
            problems.append(f"--set {key}: found an unknown option, expected {known}")
            continue
        value = _parse(options[name], text)
        choices = options[name].choices
        if value is None or (choices and value not in choices):
            kind = options[name].type
            known = " or ".join(map(option_text, choices)) if choices else f"of type {kind}"
            near = suggest(text, map(option_text, choices)) if choices else ""
            problems.append(f"--set {key}: found {shown_value(text)}, expected a value {known}{near}")
        else:
            values[name] = value
    if problems:
        raise UsageError("\n".join(problems), f"see: sitepatch show {patchset.name}")
    return values


def _parse(option: Option, text: str) -> Optional[OptionValue]:
    """The value that `text` stands for, None when it is not of the option's type."""
    if option.type == "str":
        return text
    if option.type == "bool":
        return _TRUTH.get(text.strip().lower())
    if option.type == "int":
        return int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", text) else None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None  # inf and nan have no Python literal
