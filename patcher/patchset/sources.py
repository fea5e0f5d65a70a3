"""A patchset by its name: loaded from the first place that has it; its variant for a version, the values of its options."""

from __future__ import annotations

import glob
import re
import shlex
from pathlib import Path
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from patcher.errors import SitepatchError, UsageError
from patcher.installed.versions import accepts, says_nothing
from patcher.message import Message, joined
from patcher.model import Option, OptionValue, Patchset, PatchsetSource, Variant
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import (
    LOCAL,
    MANIFEST,
    AnyPath,
    Folders,
    folders_by_name,
    has_texts,
    patchset_folders,
    search_places,
)
from patcher.patchset.toml import option_text
from patcher.system.decode import shown_value
from patcher.text.listed import listed, normalized, suggest

_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


class FoundPatchset(NamedTuple):
    """A patchset found by name; `shadows` describe those of the same name in later places, which it hides."""

    patchset: Patchset
    shadows: Tuple[str, ...]


def find_patchset(name: str, patch_dirs: Sequence[AnyPath], cwd: AnyPath, folders: Optional[Folders] = None) -> FoundPatchset:
    """Load the patchset `name` from the first place that has it; `folders` saves a call of `patchset_folders`.

    Raises:
        UsageError: when no place has it, see `unknown_patchset`.
        PatchError: when its folder is wrong in itself.
    """
    folders = patchset_folders(patch_dirs, cwd) if folders is None else folders
    if name not in folders:
        raise unknown_patchset(name, folders, patch_dirs, cwd)
    return _load(name, folders[name])


def _load(name: str, places: Sequence[Tuple[str, PatchsetSource]]) -> FoundPatchset:
    (folder, source), *hidden_places = places
    patchset = load_patchset(folder, source)
    shadows = (
        Message("{name} ({other}) in {where}", name=name, other=hidden, where=where)
        for where, hidden in hidden_places
        if not has_texts(where, patchset.files)
    )
    return FoundPatchset(patchset, tuple(shadows))


def find_patchsets(patch_dirs: Sequence[AnyPath], cwd: AnyPath) -> Tuple[List[FoundPatchset], Dict[str, SitepatchError]]:
    """Every patchset that can be named, by name; and what is wrong with those, and the entry points, that cannot be read.

    Raises:
        UsageError: see `patchset_folders`.
    """
    patchsets: List[FoundPatchset] = []
    places, broken = search_places(patch_dirs, cwd)
    for name, folders in sorted(folders_by_name(places).items()):
        try:
            patchsets.append(_load(name, folders))
        except SitepatchError as error:
            broken[name] = error
    return patchsets, broken


def unknown_patchset(name: str, names_known: Iterable[str], patch_dirs: Sequence[AnyPath], cwd: AnyPath) -> UsageError:
    """The error for a name that no place has: what it is, or the nearest name; else all names, and where was searched."""
    names_known = sorted(names_known)
    places, broken = search_places(patch_dirs, cwd)
    words = re.split("[,;]", name)
    if len(words) > 1 and {*words} <= {*names_known}:
        return UsageError(Message("several patchsets are named with blanks between them: {words}", words=" ".join(words)))
    near = "" if "/" in name else suggest(normalized(name), names_known)
    problem, hint = _meant(name.replace("\\", "/"), patch_dirs, cwd)
    hints = [hint, *(error.message for error in broken.values())]
    if near or problem:
        hints.append(Message("all patchsets: sitepatch list"))
    else:
        looked = []
        for place, source in places:
            state = "" if Path(place).is_dir() else Message(", not there")
            template = "{source} of the current directory{state}" if source == LOCAL else "{source}"
            description = Message(template, source=source if source == LOCAL else str(source), state=state)
            looked.append(Message("{absolute} ({which})", absolute=Path(place).absolute(), which=description))
        names = ", ".join(names_known) or Message("none")
        hints = [
            Message("a patchset for a package is made with: sitepatch edit PACKAGE --name NAME"),
            Message("known patchsets: {names}; what each is for: sitepatch list", names=names),
            Message("searched: {places}", places=joined(", ", looked)),
            *hints,
        ]
    template = 'there is no patchset "{name}"{suggestion}'
    template = template if near or not problem else 'there is no patchset "{name}": {problem}'
    return UsageError(Message(template, name=name, suggestion=near, problem=problem), joined("\n", hints))


def _meant(name: str, patch_dirs: Sequence[AnyPath], cwd: AnyPath) -> Tuple[str, str]:
    """What a name is that is no patchset's (a file, a directory, a package), and what to write; "" for neither."""
    path = Path(name)
    path = path.parent if path.name == MANIFEST or path.suffix == ".spatch" else path
    inside = folders_by_name([(str(Path(cwd, path)), LOCAL)])
    if inside:
        folder = path.parent if Path(cwd, path, MANIFEST).is_file() else path
        places = folders_by_name(search_places(patch_dirs, cwd)[0])
        named = all(name in places and Path(places[name][0][0]).samefile(inside[name][0][0]) for name in inside)
        words = " ".join(inside) if named else f"{' '.join(inside)} --patch-dir {shlex.quote(str(folder))}"
        single, multiple = Message("it is the folder of a patchset"), Message("it is a folder of patchsets")
        kind = Message("it is a file of a patchset") if path != Path(name) else single if len(inside) == 1 else multiple
        return kind, Message("write its name: {words}", words=words)
    if path.suffix == ".py":
        how = Message("what was edited in it by hand: sitepatch diff --edited {file}", file=shlex.quote(name))
        return Message("it is a Python file"), how
    if Path(cwd, name).is_file():
        kind = Message("it is a diff" if path.suffix in (".diff", ".patch") else "it is a file")
        return kind, Message("a diff becomes a patchset with: sitepatch import {file} --name NAME", file=shlex.quote(name))
    if Path(cwd, name).is_dir() and "/" in name:
        how = Message("a folder with one is made with: sitepatch edit PACKAGE --name NAME")
        return Message("it is a folder without {manifest}", manifest=MANIFEST), how
    if "/" in name:
        return Message("there is no such folder"), Message("name a patchset, and its directory with --patch-dir")
    elsewhere = sorted(path.parent.parent.name for path in Path(cwd).glob(f"*/{glob.escape(name)}/{MANIFEST}"))
    if elsewhere:
        how = Message("name its directory: --patch-dir {folder}", folder=shlex.quote(elsewhere[0]))
        return Message("it is in ./{folder}, which is not searched", folder=elsewhere[0]), how
    sources, _ = find_patchsets(patch_dirs, cwd)
    variants = ((source.patchset.name, variant) for source in sources for variant in source.patchset.variants)
    targets = {(patchset, target) for patchset, variant in variants for target in (variant.package, *variant.distributions)}
    names = sorted({patchset for patchset, target in targets if normalized(target) == normalized(name)})
    template = "it is patched by {names}; what is for it: sitepatch list {name}"
    return (Message("it is a package"), Message(template, names=listed(names), name=name)) if names else ("", "")


def pick_variants(patchset: Patchset) -> Dict[str, List[Variant]]:
    """The variants of each package, both in the order of `patchset.toml`."""
    picked: Dict[str, List[Variant]] = {}
    for variant in patchset.variants:
        picked.setdefault(variant.package, []).append(variant)
    return picked


def paths_of(variants: Sequence[Variant]) -> List[str]:
    """The files of variants, with their alternative places."""
    return list(dict.fromkeys(path for variant in variants for patch in variant.patches for path in patch.paths))


def matching_variants(variants: Sequence[Variant], version: str) -> List[Variant]:
    """The first variant whose range holds `version`, if there is one; all where the version is none (`says_nothing`).

    Local labels, pre-releases and vendor builds of a release in the range count (`patcher.installed.versions.accepts`).
    """
    if says_nothing(version):
        return list(variants)
    return [variant for variant in variants if accepts(variant.versions, version)][:1]


def choose_variant(variants: Sequence[Variant], version: str) -> Optional[Variant]:
    """The one variant of `matching_variants`, None where there is none, or no version to choose by."""
    matching = matching_variants(variants, version)
    return matching[0] if len(matching) == 1 else None


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
    for key, setting in settings.items():
        patchset_name, _, name = key.partition(".")
        if patchset_name != patchset.name:
            continue
        if name not in options:
            alternatives = (
                Message("one of {options}{suggestion}", options=", ".join(options), suggestion=suggest(name, options))
                if options
                else Message("none: it has no options")
            )
            problems.append(Message("--set {key}: found an unknown option, expected {known}", key=key, known=alternatives))
            continue
        value = _parse(options[name], setting)
        choices = options[name].choices
        if value is None or (choices and value not in choices):
            kind = options[name].type
            values_text = listed([*map(option_text, choices)], "or") if choices else Message("of type {kind}", kind=kind)
            near = suggest(setting, map(option_text, choices)) if choices else ""
            problem = "--set {key}: found {finding}, expected a value {values_text}{near}"
            problems.append(Message(problem, key=key, finding=shown_value(setting), values_text=values_text, near=near))
        else:
            values[name] = value
    if problems:
        raise UsageError(joined("\n", problems), Message("see: sitepatch show {name}", name=patchset.name))
    return values


def _parse(option: Option, setting: str) -> Optional[OptionValue]:
    """The value that `setting` stands for, None when it is not of the option's type."""
    if option.type == "str":
        return setting
    if option.type == "bool":
        return _TRUTH.get(setting.strip().lower())
    if option.type == "int":
        return int(setting) if re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", setting) else None
    try:
        value = float(setting)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None  # inf and nan have no Python literal
