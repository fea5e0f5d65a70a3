"""From what is requested (names, options) to patchsets; whom to trust. All problems are reported at once."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from patcher.errors import Location, SitepatchError, UsageError, raise_all
from patcher.message import Message, joined
from patcher.model import Patchset, PatchsetSource, Requested
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, LOCAL, PATCH_DIR, Folders, folders_by_name, named_places, patchset_folders
from patcher.patchset.sources import FoundPatchset, find_patchset, resolve_options, unknown_patchset
from patcher.patchset.toml import option_text
from patcher.system.ownership import others_may_write
from patcher.text.confusable import remarks
from patcher.text.listed import Texts, one_or_more, suggest


class ProjectEntry(NamedTuple):
    """A patchset that is requested.

    `settings` are texts `option=VALUE`; `optional` says that its packages need not be installed. `location` is where it is
    requested, None for the command line, and `field` the path of the field there, "" for none.
    """

    name: str
    settings: Tuple[str, ...] = ()
    optional: bool = False
    location: Optional[Location] = None
    field: str = ""

    @property
    def origin(self) -> str:
        """Where it is requested, as a message begins with it; "" for the command line."""
        return ": ".join(filter(None, (str(self.location or ""), self.field)))


def find(name: str, patch_dirs: Sequence[str], folders: Optional[Folders] = None) -> Tuple[Patchset, List[str]]:
    """The patchset of this name, and remarks: it hides another one of its name, its code hides something.

    `folders` saves a call of `patchset_folders`.

    Raises:
        UsageError: no place has it.
        PatchError: its folder is wrong in itself.
    """
    source = find_patchset(name, patch_dirs, os.getcwd(), folders)
    return source.patchset, [*shadow_notes(source), *remarks(source.patchset)]


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
    problems = others_change([place for name in dict.fromkeys(names) for place in folders.get(name, ())[:1]])
    if problems:
        raise SitepatchError(joined("\n", problems), OTHERS_HINT)


OTHERS_HINT = Message(
    "what is applied is code that you run: take that right away (chmod go-w, chown), "
    "or copy the patchset, once you have read it, where only you may write"
)


def others_change(places: Iterable[Tuple[str, PatchsetSource]]) -> List[str]:
    """How other users could change patchsets, which are code; nothing for those built in or installed, beside other code."""
    named = [folder for folder, source in places if source == LOCAL or source.kind == PATCH_DIR]
    return others_may_write(*map(os.path.abspath, named), inside=True)


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
        texts: the values of `--set` (see `with_settings`).
        patch_dirs: the values of `--patch-dir`.

    Raises:
        SitepatchError: see `chosen` and `with_settings`.
    """
    return chosen(with_settings([ProjectEntry(name) for name in dict.fromkeys(names)], texts), patch_dirs)


def chosen(entries: Iterable[ProjectEntry], patch_dirs: Sequence[str]) -> Tuple[List[Requested], List[str]]:
    """The patchsets that are requested, each once, with their options, and remarks.

    One that is requested more than once is optional where each of its entries says so.

    Raises:
        SitepatchError: names that no place has, options that do not fit, an option with two values; all of that.
    """
    by_name: Dict[str, List[ProjectEntry]] = {}
    for entry in entries:
        by_name.setdefault(entry.name, []).append(entry)
    folders = patchset_folders(patch_dirs, os.getcwd()) if by_name else {}
    requested: List[Requested] = []
    notes: List[str] = []
    errors: List[SitepatchError] = []
    for name, its_entries in by_name.items():
        values, clashes = _values(its_entries)
        errors += clashes
        try:
            patchset, its_notes = find(name, patch_dirs, folders)
            options = resolve_options(patchset, {f"{name}.{option}": value for option, value in values.items()})
            requested.append(Requested(patchset, options, all(entry.optional for entry in its_entries)))
            notes += its_notes
        except SitepatchError as error:
            origins = ", ".join(filter(None, (entry.origin for entry in its_entries)))
            message = Message("{origins}: {message}", origins=origins, message=error.message)
            errors.append(type(error)(message, error.hint, its_entries[0].location) if origins else error)
    raise_all(errors)
    return requested, notes


def _values(entries: Sequence[ProjectEntry]) -> Tuple[Dict[str, str], List[SitepatchError]]:
    """The values of the options of one patchset, and an error for each that has two."""
    values: Dict[str, str] = {}
    errors: List[SitepatchError] = []
    for number, entry in enumerate(entries):
        for option, _, value in (setting.partition("=") for setting in entry.settings):
            if values.setdefault(option, value) != value:
                origins = ", ".join(earlier.origin for earlier in entries[:number] or [entry])
                words = {"name": entry.name, "option": option, "value": value, "origins": origins, "was": values[option]}
                clash = Message("{name} {option}={value}: {origins} has {option}={was}", **words)
                errors.append(UsageError("{origin}: {both}", location=entry.location, origin=entry.origin, both=clash))
    return values, errors


def with_settings(entries: Sequence[ProjectEntry], texts: Sequence[str]) -> List[ProjectEntry]:
    """Entries with the values of `--set`: `NAME.option=VALUE`, or `option=VALUE` where one patchset is named.

    Raises:
        UsageError: texts that are of another form or name another patchset, all of them.
    """
    names = list(dict.fromkeys(entry.name for entry in entries))
    settings: Dict[str, Dict[str, str]] = {name: {} for name in names}
    errors: List[SitepatchError] = []
    named = names[0] if len(names) == 1 else "NAME"
    form = Message("expected NAME.option=VALUE; its options: sitepatch show {name}", name=named)
    for setting in texts:
        key, equals, value = setting.partition("=")
        name, dot, option = key.partition(".") if "." in key or len(names) != 1 else (names[0], ".", key)
        if not equals or not key:
            errors.append(UsageError('--set {text}: found no "=", {form}', text=setting, form=form))
        elif not dot:
            errors.append(
                UsageError("--set {text}: {number} patchsets are named, {form}", text=setting, number=len(names), form=form)
            )
        elif name not in settings:
            alternatives = Message("one of {names}{suggestion}", names=", ".join(names), suggestion=suggest(name, names))
            problem = '--set {text}: found "{name}", a patchset that is not named, expected {known}'
            errors.append(UsageError(problem, text=setting, name=name, known=alternatives))
        else:
            settings[name][option] = value
    raise_all(errors)
    return [entry._replace(settings=_replaced(entry.settings, settings[entry.name])) for entry in entries]


def _replaced(texts: Sequence[str], settings: Mapping[str, str]) -> Tuple[str, ...]:
    values = {**dict(text.split("=", 1) for text in texts), **settings}
    return tuple(map("=".join, values.items()))


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


def _probe_trusted(patchset: Patchset, patch_dirs: Sequence[str]) -> bool:
    """Whether the probe of a patchset may be run: the same patchset is built in, or in a directory that the user named."""
    folders = patchset_folders(patch_dirs, os.getcwd()).get(patchset.name, ())
    for folder, source in (("", patchset.source), *folders):
        if source == BUILT_IN or source.kind == PATCH_DIR:
            with suppress(SitepatchError):  # `list` reports what is wrong with it
                if not folder or load_patchset(folder, source).digest == patchset.digest:
                    return True
    return False


def check_probes(patchsets: Iterable[Patchset], patch_dirs: Sequence[str]) -> None:
    """Refuse probes from a source that is not trusted.

    Raises:
        UsageError: naming each of them.
    """
    hint = Message("read it; if you trust it, name its directory, in the same version, with --patch-dir")
    bad = [patchset for patchset in patchsets if patchset.verify.probe and not _probe_trusted(patchset, patch_dirs)]
    template = "{one.name} ({one.source}): its probe is code, and is not run from there"
    raise_all([UsageError(Message(template, one=patchset), hint) for patchset in bad])


def settings_for_completion(begun: str, names: Sequence[str], patch_dirs: Sequence[str]) -> List[str]:
    """What `--set BEGUN` can become: `NAME.option=`, and the choices after it."""
    completions: List[str] = []
    folders = patchset_folders(patch_dirs, os.getcwd())
    for name in [name for name in names if name in folders] or list(folders):
        for option in find(name, patch_dirs, folders)[0].options:
            head = f"{name}.{option.name}="
            choices = option.choices or ((True, False) if option.type == "bool" else ())
            values = [head + option_text(value) for value in choices]
            completions += values if begun.startswith(head) else [head]
    return [completion for completion in completions if completion.startswith(begun)]
