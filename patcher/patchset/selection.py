"""From what is requested (names, options) to patchsets, and whose probes are run. All problems are reported at once."""

from __future__ import annotations

from contextlib import suppress
from typing import Iterable, Mapping, NamedTuple, Sequence

from patcher.errors import Location, SitepatchError, UsageError, raise_all
from patcher.installed.versions import accepts, is_version
from patcher.message import Message
from patcher.model import Patchset, Requested
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, PATCH_DIR
from patcher.patchset.variants import resolve_options
from patcher.text.listed import Texts, one_or_more, suggest


class ProjectEntry(NamedTuple):
    """A patchset that is requested.

    `settings` are texts `option=VALUE`; `optional` says that its packages need not be installed. `location` is where it is
    requested, None for the command line, and `field` the path of the field there, "" for none. `version` is the one version
    that will do, "" for any.
    """

    name: str
    settings: tuple[str, ...] = ()
    optional: bool = False
    location: Location | None = None
    field: str = ""
    version: str = ""

    @property
    def pinned_name(self) -> str:
        """The name as it is requested: `NAME`, or `NAME==VERSION`."""
        return f"{self.name}=={self.version}" if self.version else self.name

    @property
    def origin(self) -> str:
        """Where it is requested, as a message begins with it; "" for the command line."""
        return ": ".join(filter(None, (str(self.location or ""), self.field)))


def split_pin(word: str) -> tuple[str, str] | None:
    """The name and the version, "" for any, of `NAME` or `NAME==VERSION`; None for what is neither."""
    name, pin, version = word.partition("==")
    if not name or "=" in name or (pin and not is_version(version)):
        return None
    return name, version


def named_entries(words: Iterable[str]) -> list[ProjectEntry]:
    """What the words of a command line request, each `NAME` or `NAME==VERSION`.

    Raises:
        UsageError: words that are neither, all of them.
    """
    entries: list[ProjectEntry] = []
    errors: list[SitepatchError] = []
    for word in dict.fromkeys(words):
        pin = split_pin(word)
        if pin is None:
            problem = "found {word}, expected NAME or NAME==VERSION"
            errors.append(UsageError(problem, word=word))
        else:
            name, version = pin
            entries.append(ProjectEntry(name, version=version))
    raise_all(errors)
    return entries


def choose(
    names: Texts, settings: Texts, patch_dirs: Sequence[str], *, trusted: bool = False
) -> tuple[list[Requested], list[str]]:
    """The patchsets of a command line with their options, and remarks.

    Args:
        names: of patchsets, each perhaps with the version that it must have (`NAME==VERSION`).
        settings: the values of `--set` (see `with_settings`).
        patch_dirs: the values of `--patch-dir`.
        trusted: see `chosen`.

    Raises:
        SitepatchError: see `named_entries`, `chosen` and `with_settings`.
    """
    entries = named_entries(one_or_more(names))
    return chosen(with_settings(entries, one_or_more(settings)), patch_dirs, trusted=trusted)


def chosen(
    entries: Iterable[ProjectEntry], patch_dirs: Sequence[str], *, trusted: bool = False
) -> tuple[list[Requested], list[str]]:
    """The patchsets that are requested, each once, with their options, and remarks.

    One that is requested more than once is optional where each of its entries says so. With `trusted` they are to be applied:
    see `Catalogue.check_trusted`.

    Raises:
        SitepatchError: names that no place has, another version than the one that is pinned, options that do not fit, an
            option with two values; all of that.
    """
    by_name: dict[str, list[ProjectEntry]] = {}
    for entry in entries:
        by_name.setdefault(entry.name, []).append(entry)
    catalogue = Catalogue(patch_dirs)
    if trusted:
        catalogue.check_trusted(by_name)
    requested: list[Requested] = []
    notes: list[str] = []
    errors: list[SitepatchError] = []
    for name, its_entries in by_name.items():
        values, clashes = _values(its_entries)
        errors += clashes
        try:
            item = catalogue.find(name)
            errors += _other_versions(item.patchset, its_entries)
            options = resolve_options(item.patchset, values)
            requested.append(
                Requested(item.patchset, options, all(entry.optional for entry in its_entries))
            )
            notes += item.notes
        except SitepatchError as error:
            origins = ", ".join(filter(None, (entry.origin for entry in its_entries)))
            message = Message("{origins}: {message}", origins=origins, message=error.message)
            errors.append(
                type(error)(message, error.hint, its_entries[0].location) if origins else error
            )
    raise_all(errors)
    return requested, notes


def _other_versions(patchset: Patchset, entries: Sequence[ProjectEntry]) -> list[SitepatchError]:
    """An error for each entry that pins another version than that of the patchset which was found."""
    errors: list[SitepatchError] = []
    for entry in entries:
        if not entry.version or accepts(f"=={entry.version}", patchset.version):
            continue
        problem = Message(
            "{one.name}: found version {one.version} ({one.source}), expected {pinned}",
            one=patchset,
            pinned=entry.pinned_name,
        )
        hint = Message("install or name the version that is pinned, or change the pin")
        if entry.origin:
            problem = Message("{origin}: {problem}", origin=entry.origin, problem=problem)
        errors.append(SitepatchError(problem, hint, entry.location))
    return errors


def _values(entries: Sequence[ProjectEntry]) -> tuple[dict[str, str], list[SitepatchError]]:
    """The values of the options of one patchset, and an error for each that has two."""
    values: dict[str, str] = {}
    errors: list[SitepatchError] = []
    for number, entry in enumerate(entries):
        for option, _, value in (setting.partition("=") for setting in entry.settings):
            if values.setdefault(option, value) != value:
                origins = ", ".join(earlier.origin for earlier in entries[:number] or [entry])
                words = {
                    "name": entry.name,
                    "option": option,
                    "value": value,
                    "origins": origins,
                    "was": values[option],
                }
                clash = Message("{name} {option}={value}: {origins} has {option}={was}", **words)
                errors.append(
                    UsageError(
                        "{origin}: {both}", location=entry.location, origin=entry.origin, both=clash
                    )
                )
    return values, errors


def with_settings(entries: Sequence[ProjectEntry], texts: Sequence[str]) -> list[ProjectEntry]:
    """Entries with the values of `--set`: `NAME.option=VALUE`, or `option=VALUE` where one patchset is named.

    Raises:
        UsageError: texts that are of another form or name another patchset, all of them.
    """
    names = list(dict.fromkeys(entry.name for entry in entries))
    settings: dict[str, dict[str, str]] = {name: {} for name in names}
    errors: list[SitepatchError] = []
    named = names[0] if len(names) == 1 else "NAME"
    form = Message(
        "expected NAME.option=VALUE; its options: sitepatch show {name}{dirs}", name=named
    )
    for setting in texts:
        key, equals, value = setting.partition("=")
        name, dot, option = (
            key.partition(".") if "." in key or len(names) != 1 else (names[0], ".", key)
        )
        if not equals or not key:
            errors.append(UsageError('--set {text}: found no "=", {form}', text=setting, form=form))
        elif not dot:
            problem = "--set {text}: {number} patchsets are named, {form}"
            errors.append(UsageError(problem, text=setting, number=len(names), form=form))
        elif name not in settings:
            alternatives = Message(
                "one of {names}{suggestion}",
                names=", ".join(names),
                suggestion=suggest(name, names),
            )
            problem = '--set {text}: found "{name}", a patchset that is not named, expected {known}'
            errors.append(UsageError(problem, text=setting, name=name, known=alternatives))
        else:
            settings[name][option] = value
    raise_all(errors)
    return [
        entry._replace(settings=_replaced(entry.settings, settings[entry.name]))
        for entry in entries
    ]


def _replaced(texts: Sequence[str], settings: Mapping[str, str]) -> tuple[str, ...]:
    values = {**dict(text.split("=", 1) for text in texts), **settings}
    return tuple(map("=".join, values.items()))


def _probe_trusted(patchset: Patchset, patch_dirs: Sequence[str]) -> bool:
    """Whether the probe of a patchset may be run: the same patchset is built in, or in a directory that the user named."""
    folders = Catalogue(patch_dirs).folders.get(patchset.name, ())
    for folder, source in (("", patchset.folder.source), *folders):
        if source == BUILT_IN or source.kind == PATCH_DIR:
            with suppress(SitepatchError):  # `list` reports what is wrong with it
                if (
                    not folder
                    or load_patchset(folder, source).folder.digest == patchset.folder.digest
                ):
                    return True
    return False


def check_probes(patchsets: Iterable[Patchset], patch_dirs: Sequence[str]) -> None:
    """Refuse probes from a source that is not trusted.

    Raises:
        UsageError: naming each of them.
    """
    hint = Message(
        "read it; if you trust it, name its directory, in the same version, with --patch-dir"
    )
    bad = [
        patchset
        for patchset in patchsets
        if patchset.verify.probe and not _probe_trusted(patchset, patch_dirs)
    ]
    template = "{one.name} ({one.source}): its probe is code, and is not run from there"
    raise_all([UsageError(template, hint, one=patchset) for patchset in bad])
