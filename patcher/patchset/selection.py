"""From what is requested (names, options) to patchsets, and whose probes are run.

All problems are reported at once.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Iterable, Sequence

from patcher.errors import Location, SitepatchError, UsageError, raise_all
from patcher.installed.versions import accepts, is_version
from patcher.message import Message
from patcher.model import Patchset, PatchsetSource, Requested
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, PATCH_DIR
from patcher.patchset.variants import resolve_options
from patcher.record import Record
from patcher.text.listed import Texts, one_or_more, suggest


# requests -------------------------------------------------------------------------------------
class ProjectEntry(Record):
    """A patchset that is requested.

    Attributes:
        name: the patchset.
        settings: texts `option=VALUE`.
        optional: whether its packages need not be installed.
        location: where it is requested, None for the command line.
        field: the path of the field there, empty if there is none.
        version: the one version that will do, empty for any.
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
        """Where it is requested, as a message begins with it; empty for the command line."""
        place = str(self.location) if self.location else ""
        return ": ".join(filter(None, (place, self.field)))


def split_pin(word: str) -> tuple[str, str] | None:
    """The name and the version of `NAME` or `NAME==VERSION`; None for what is neither.

    The version is empty for any.
    """
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


def with_settings(entries: Sequence[ProjectEntry], texts: Sequence[str]) -> list[ProjectEntry]:
    """Entries with the values of `--set`.

    Args:
        entries: those that are requested.
        texts: `NAME.option=VALUE` each, or `option=VALUE` where one patchset is named.

    Raises:
        UsageError: texts that are of another form or name another patchset, all of them.
    """
    names = list(dict.fromkeys(entry.name for entry in entries))
    settings: dict[str, dict[str, str]] = {name: {} for name in names}
    errors: list[SitepatchError] = []
    for text in texts:
        try:
            name, option, value = _setting(text, names)
        except UsageError as error:
            errors.append(error)
        else:
            settings[name][option] = value
    raise_all(errors)

    completed = []
    for entry in entries:
        values = dict(setting.split("=", 1) for setting in entry.settings)
        values.update(settings[entry.name])
        merged = tuple(f"{option}={value}" for option, value in values.items())
        completed.append(entry._replace(settings=merged))
    return completed


def _setting(text: str, names: Sequence[str]) -> tuple[str, str, str]:
    """The name, the option and the value of one `--set`; `names` are those of the patchsets."""
    form = Message(
        "expected NAME.option=VALUE; its options: sitepatch show {name}{dirs}",
        name=names[0] if len(names) == 1 else "NAME",
    )
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError('--set {text}: found no "=", {form}', text=text, form=form)
    if "." not in key:
        if len(names) == 1:
            return names[0], key, value
        raise UsageError(
            "--set {text}: {number} patchsets are named, {form}",
            text=text,
            number=len(names),
            form=form,
        )
    name, _, option = key.partition(".")
    if name not in names:
        known = Message(
            "one of {names}{suggestion}", names=", ".join(names), suggestion=suggest(name, names)
        )
        raise UsageError(
            '--set {text}: found "{name}", a patchset that is not named, expected {known}',
            text=text,
            name=name,
            known=known,
        )
    return name, option, value


# requests -> patchsets ------------------------------------------------------------------------
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

    One that is requested more than once is optional where each of its entries says so.

    Args:
        entries: what is requested.
        patch_dirs: directories of patchsets that come before the others.
        trusted: they are to be applied: see `Catalogue.check_trusted`.

    Raises:
        SitepatchError: names that no place has, another version than the one that is pinned,
            options that do not fit, an option with two values; all of that.
    """
    entries_of: dict[str, list[ProjectEntry]] = {}
    for entry in entries:
        entries_of.setdefault(entry.name, []).append(entry)
    catalogue = Catalogue(patch_dirs)
    if trusted:
        catalogue.check_trusted(entries_of)

    requested: list[Requested] = []
    notes: list[str] = []
    errors: list[SitepatchError] = []
    for name, same in entries_of.items():
        values, clashes = _values(same)
        errors += clashes
        try:
            item = catalogue.find(name)
            errors += _other_versions(item.patchset, same)
            options = resolve_options(item.patchset, values)
        except SitepatchError as error:
            errors.append(_at_origins(error, same))
            continue
        is_optional = all(entry.optional for entry in same)
        requested.append(Requested(item.patchset, options, optional=is_optional))
        notes += item.notes
    raise_all(errors)
    return requested, notes


def _at_origins(error: SitepatchError, entries: Sequence[ProjectEntry]) -> SitepatchError:
    """An error about a patchset, with the places that request it."""
    origins = ", ".join(filter(None, (entry.origin for entry in entries)))
    if not origins:
        return error
    message = Message("{origins}: {message}", origins=origins, message=error.message)
    return type(error)(message, error.hint, location=entries[0].location)


def _other_versions(patchset: Patchset, entries: Sequence[ProjectEntry]) -> list[SitepatchError]:
    """An error for each entry that pins another version than that of the patchset found."""
    errors: list[SitepatchError] = []
    for entry in entries:
        if not entry.version or accepts(f"=={entry.version}", patchset.version):
            continue
        problem = Message(
            "{name}: found version {version} ({source}), expected {pinned}",
            name=patchset.name,
            version=patchset.version,
            source=str(patchset.folder.source),
            pinned=entry.pinned_name,
        )
        if entry.origin:
            problem = Message("{origin}: {problem}", origin=entry.origin, problem=problem)
        hint = Message("install or name the version that is pinned, or change the pin")
        errors.append(SitepatchError(problem, hint, location=entry.location))
    return errors


def _values(entries: Sequence[ProjectEntry]) -> tuple[dict[str, str], list[SitepatchError]]:
    """The values of the options of one patchset, and an error for each that has two."""
    values: dict[str, str] = {}
    errors: list[SitepatchError] = []
    for number, entry in enumerate(entries):
        for setting in entry.settings:
            option, _, value = setting.partition("=")
            if values.setdefault(option, value) == value:
                continue
            earlier = entries[:number] or [entry]
            clash = Message(
                "{name} {option}={value}: {origins} has {option}={was}",
                name=entry.name,
                option=option,
                value=value,
                origins=", ".join(other.origin for other in earlier),
                was=values[option],
            )
            error = UsageError(
                "{origin}: {both}", location=entry.location, origin=entry.origin, both=clash
            )
            errors.append(error)
    return values, errors


# probes ---------------------------------------------------------------------------------------
def check_probes(patchsets: Iterable[Patchset], patch_dirs: Sequence[str]) -> None:
    """Refuse probes from a source that is not trusted.

    Raises:
        UsageError: naming each of them.
    """
    hint = Message(
        "read it; if you trust it, name its directory, in the same version, with --patch-dir"
    )
    errors = []
    for patchset in patchsets:
        if patchset.verify.probe and not _is_trusted(patchset, patch_dirs):
            error = UsageError(
                "{name} ({source}): its probe is code, and is not run from there",
                hint,
                name=patchset.name,
                source=str(patchset.folder.source),
            )
            errors.append(error)
    raise_all(errors)


def _is_trusted(patchset: Patchset, patch_dirs: Sequence[str]) -> bool:
    """Whether the probe of a patchset may be run.

    That is so where the same patchset is built in, or in a directory that the user named.
    """
    if _trusts(patchset.folder.source):
        return True
    for folder, source in Catalogue(patch_dirs).folders.get(patchset.name, ()):
        if _trusts(source):
            with suppress(SitepatchError):  # `list` reports what is wrong with it
                loaded = load_patchset(folder, source)
                if loaded.folder.digest == patchset.folder.digest:
                    return True
    return False


def _trusts(source: PatchsetSource) -> bool:
    return source == BUILT_IN or source.kind == PATCH_DIR
