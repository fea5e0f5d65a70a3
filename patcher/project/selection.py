"""From the words of a command line to patchsets: names and `--set`. All problems are reported at once."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

from patcher.errors import SitepatchError, UsageError, raise_all
from patcher.message import Message, joined
from patcher.model import Patchset, PatchsetSource, Requested
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, LOCAL, PATCH_DIR, Folders, folders_by_name, named_places, patchset_folders
from patcher.patchset.sources import FoundPatchset, find_patchset, resolve_options, unknown_patchset
from patcher.patchset.toml import option_text
from patcher.system.ownership import others_may_write
from patcher.text.confusable import remarks
from patcher.text.listed import Texts, one_or_more, suggest


def find_all(
    names: Sequence[str], patch_dirs: Sequence[str], folders: Optional[Folders] = None
) -> Tuple[List[Patchset], List[str]]:
    """The patchsets of these names, each once, and remarks: one that hides another of its name, code that hides something.

    `folders` saves a call of `patchset_folders`.

    Raises:
        UsageError: names that no place has.
        PatchError: folders that are wrong in themselves.
    """
    patchsets: List[Patchset] = []
    notes: List[str] = []
    errors: List[SitepatchError] = []
    if folders is None:
        folders = patchset_folders(patch_dirs, os.getcwd()) if names else {}
    for name in dict.fromkeys(names):
        try:
            source = find_patchset(name, patch_dirs, os.getcwd(), folders)
        except SitepatchError as error:
            errors.append(error)
        else:
            patchsets.append(source.patchset)
            notes += [*shadow_notes(source), *remarks(source.patchset)]
    raise_all(errors)
    return patchsets, notes


def shadow_notes(source: FoundPatchset) -> List[str]:
    """The remarks about patchsets that are hidden by one of the same name."""
    template = "{found.patchset.name} ({found.patchset.source}) is used; it hides {other}"
    return [Message(template, found=source, other=hidden) for hidden in source.shadows]


def check_sources(names: Sequence[str], patch_dirs: Sequence[str]) -> None:
    """Refuse patchsets from folders that others may change (see `others_change`): what they write would run as this user.

    Raises:
        SitepatchError: naming what others may write to.
    """
    folders = folders_by_name(named_places(patch_dirs, os.getcwd()))  # entry points and built-in ones come later
    places = [place for name in dict.fromkeys(names) for place in folders.get(name, ())[:1]]
    problems = [problem for folder, source in places for problem in others_change(folder, source)]
    if problems:
        raise SitepatchError(joined("\n", dict.fromkeys(problems)), OTHERS_HINT)


OTHERS_HINT = Message(
    "what is applied is code that you run: take that right away (chmod go-w, chown), "
    "or copy the patchset, once you have read it, where only you may write"
)


def others_change(folder: str, source: PatchsetSource) -> List[str]:
    """How other users could change a patchset, which is code; nothing for one built in or installed, beside other code."""
    named = source == LOCAL or source.kind == PATCH_DIR
    return others_may_write(os.path.abspath(folder), inside=True) if named else []


def choose_trusted(names: Texts, texts: Texts, patch_dirs: Sequence[str]) -> Tuple[List[Requested], List[str]]:
    """What `choose` gives, of patchsets that nobody else may change.

    Raises:
        SitepatchError: see `choose` and `check_sources`.
    """
    check_sources(one_or_more(names), patch_dirs)
    return choose(one_or_more(names), one_or_more(texts), patch_dirs)


def choose(names: Sequence[str], texts: Sequence[str], patch_dirs: Sequence[str]) -> Tuple[List[Requested], List[str]]:
    """The patchsets of a command line with their options, and remarks.

    Args:
        names: of patchsets.
        texts: the values of `--set`: `NAME.option=VALUE`, or `option=VALUE` where one patchset is named.
        patch_dirs: the values of `--patch-dir`.

    Raises:
        SitepatchError: see `find_all`; UsageError for a `--set` that fits no option.
    """
    patchsets, notes = find_all(names, patch_dirs)
    settings = read_settings([patchset.name for patchset in patchsets], texts)
    requested: List[Requested] = []
    errors: List[SitepatchError] = []
    for patchset in patchsets:
        try:
            requested.append(Requested(patchset, resolve_options(patchset, settings)))
        except UsageError as error:
            errors.append(error)
    raise_all(errors)
    return requested, notes


def read_settings(names: Sequence[str], texts: Sequence[str]) -> Dict[str, str]:
    """The values of `--set` as "NAME.option" -> VALUE; see `choose`.

    Raises:
        UsageError: texts that are of another form or name another patchset.
    """
    settings: Dict[str, str] = {}
    errors: List[SitepatchError] = []
    for setting in texts:
        key, equals, value = setting.partition("=")
        name, dot, _ = key.partition(".")
        form = Message("expected NAME.option=VALUE")
        if not equals or not key:
            errors.append(UsageError('--set {text}: found no "=", {form}', text=setting, form=form))
        elif not dot and len(names) == 1:
            settings[f"{names[0]}.{key}"] = value
        elif not dot:
            errors.append(
                UsageError("--set {text}: {number} patchsets are named, {form}", text=setting, number=len(names), form=form)
            )
        elif name not in names:
            alternatives = Message("one of {names}{suggestion}", names=", ".join(names), suggestion=suggest(name, names))
            problem = '--set {text}: found "{name}", a patchset that is not named, expected {known}'
            errors.append(UsageError(problem, text=setting, name=name, known=alternatives))
        else:
            settings[key] = value
    raise_all(errors)
    return settings


def check_names(names: Iterable[str], applied: Iterable[str], patch_dirs: Sequence[str]) -> None:
    """Refuse names of patchsets that are neither applied nor found anywhere; nothing is loaded.

    Raises:
        UsageError: with the nearest name for each of them.
    """
    available = {*applied, *patchset_folders(patch_dirs, os.getcwd())}
    unknown = [name for name in dict.fromkeys(names) if name not in available]
    errors = [unknown_patchset(name, available, patch_dirs, os.getcwd()) for name in unknown]
    for error in errors:
        error.hint = joined("\n", (error.hint, Message("what is applied: sitepatch status")))
    raise_all(errors)


def probe_trusted(patchset: Patchset, patch_dirs: Sequence[str]) -> bool:
    """Whether the probe of a patchset may be run: the same patchset is built in, or in a directory that the user named."""
    if _is_trusted(patchset.source):
        return True
    for folder, source in patchset_folders(patch_dirs, os.getcwd()).get(patchset.name, ()):
        if _is_trusted(source):
            with suppress(SitepatchError):  # `list` reports what is wrong with it
                if load_patchset(folder, source).digest == patchset.digest:
                    return True
    return False


def _is_trusted(source: PatchsetSource) -> bool:
    return source == BUILT_IN or source.kind == PATCH_DIR


def check_probes(patchsets: Iterable[Patchset], patch_dirs: Sequence[str]) -> None:
    """Refuse probes from a source that is not trusted.

    Raises:
        UsageError: naming each of them.
    """
    hint = Message("read it; if you trust it, name its directory, in the same version, with --patch-dir")
    bad = [patchset for patchset in patchsets if patchset.verify.probe and not probe_trusted(patchset, patch_dirs)]
    template = "{one.name} ({one.source}): its probe is code, and is not run from there"
    raise_all([UsageError(Message(template, one=patchset), hint) for patchset in bad])


def settings_for_completion(begun: str, names: Sequence[str], patch_dirs: Sequence[str]) -> List[str]:
    """What `--set BEGUN` can become: `NAME.option=`, and the choices after it."""
    completions: List[str] = []
    folders = patchset_folders(patch_dirs, os.getcwd())
    for patchset in find_all([name for name in names if name in folders] or list(folders), patch_dirs)[0]:
        for option in patchset.options:
            head = f"{patchset.name}.{option.name}="
            choices = option.choices or ((True, False) if option.type == "bool" else ())
            values = [head + option_text(value) for value in choices]
            completions += values if begun.startswith(head) else [head]
    return [completion for completion in completions if completion.startswith(begun)]
