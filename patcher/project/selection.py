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
    names: Sequence[str], patch_dirs: Sequence[str], known: Optional[Folders] = None
) -> Tuple[List[Patchset], List[str]]:
    """The patchsets of these names, each once, and remarks: one that hides another of its name, code that hides something.

    `known` saves a call of `patchset_folders`.

    Raises:
        UsageError: names that no place has.
        PatchError: folders that are wrong in themselves.
    """
    found: List[Patchset] = []
    notes: List[str] = []
    errors: List[SitepatchError] = []
    if known is None:
        known = patchset_folders(patch_dirs, os.getcwd()) if names else {}
    for name in dict.fromkeys(names):
        try:
            one = find_patchset(name, patch_dirs, os.getcwd(), known)
        except SitepatchError as error:
            errors.append(error)
        else:
            found.append(one.patchset)
            notes += [*shadow_notes(one), *remarks(one.patchset)]
    raise_all(errors)
    return found, notes


def shadow_notes(found: FoundPatchset) -> List[str]:
    """The remarks about patchsets that are hidden by one of the same name."""
    text = "{found.patchset.name} ({found.patchset.source}) is used; it hides {other}"
    return [Message(text, found=found, other=other) for other in found.shadows]


def check_sources(names: Sequence[str], patch_dirs: Sequence[str]) -> None:
    """Refuse patchsets from folders that others may change (see `others_change`): what they write would run as this user.

    Raises:
        SitepatchError: naming what others may write to.
    """
    known = folders_by_name(named_places(patch_dirs, os.getcwd()))  # entry points and built-in ones come later
    first = [place for name in dict.fromkeys(names) for place in known.get(name, ())[:1]]
    problems = [problem for folder, source in first for problem in others_change(folder, source)]
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
    settings = read_settings([one.name for one in patchsets], texts)
    requested: List[Requested] = []
    errors: List[SitepatchError] = []
    for one in patchsets:
        try:
            requested.append(Requested(one, resolve_options(one, settings)))
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
    for text in texts:
        key, equals, value = text.partition("=")
        name, dot, _ = key.partition(".")
        form = Message("expected NAME.option=VALUE")
        if not equals or not key:
            errors.append(UsageError('--set {text}: found no "=", {form}', text=text, form=form))
        elif not dot and len(names) == 1:
            settings[f"{names[0]}.{key}"] = value
        elif not dot:
            errors.append(
                UsageError("--set {text}: {number} patchsets are named, {form}", text=text, number=len(names), form=form)
            )
        elif name not in names:
            known = Message("one of {names}{suggestion}", names=", ".join(names), suggestion=suggest(name, names))
            problem = '--set {text}: found "{name}", a patchset that is not named, expected {known}'
            errors.append(UsageError(problem, text=text, name=name, known=known))
        else:
            settings[key] = value
    raise_all(errors)
    return settings


def check_names(names: Iterable[str], applied: Iterable[str], patch_dirs: Sequence[str]) -> None:
    """Refuse names of patchsets that are neither applied nor found anywhere; nothing is loaded.

    Raises:
        UsageError: with the nearest name for each of them.
    """
    known = {*applied, *patchset_folders(patch_dirs, os.getcwd())}
    errors = [unknown_patchset(name, known, patch_dirs, os.getcwd()) for name in dict.fromkeys(names) if name not in known]
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
    bad = [one for one in patchsets if one.verify.probe and not probe_trusted(one, patch_dirs)]
    text = "{one.name} ({one.source}): its probe is code, and is not run from there"
    raise_all([UsageError(Message(text, one=one), hint) for one in bad])


def settings_for_completion(begun: str, names: Sequence[str], patch_dirs: Sequence[str]) -> List[str]:
    """What `--set BEGUN` can become: `NAME.option=`, and the choices after it."""
    found: List[str] = []
    known = patchset_folders(patch_dirs, os.getcwd())
    for one in find_all([name for name in names if name in known] or list(known), patch_dirs)[0]:
        for option in one.options:
            head = f"{one.name}.{option.name}="
            choices = option.choices or ((True, False) if option.type == "bool" else ())
            values = [head + option_text(value) for value in choices]
            found += values if begun.startswith(head) else [head]
    return [text for text in found if text.startswith(begun)]
