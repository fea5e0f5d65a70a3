"""What a project requests: `[tool.sitepatch]` of pyproject.toml, and the notation for a patchset that is requested."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.errors import Location, SitepatchError, UsageError, raise_all
from patcher.message import Message
from patcher.model import Requested
from patcher.patchset.places import patchset_folders
from patcher.patchset.sources import resolve_options
from patcher.patchset.toml import lookup, read_toml
from patcher.project.selection import find_all
from patcher.system.decode import STRINGS, Reader, Table
from patcher.text.listed import suggest

OPTIONAL = "optional"
_FORM = Message('expected "NAME [option=VALUE]... [optional]"')


def _folders(value: object) -> str:
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return "" if isinstance(value, str) or is_list else Message("a string, or a list of strings")


_TABLE = Table({"patchsets": STRINGS, "patch-dir": _folders}, optional=("patchsets", "patch-dir"))


class ProjectEntry(NamedTuple):
    """A patchset that is requested.

    `settings` are texts `option=VALUE`; `optional` says that its packages need not be installed. `location` is where it is
    requested, and `field` the path of the field there, "" for none; None is the command line.
    """

    name: str
    settings: Tuple[str, ...]
    optional: bool
    location: Optional[Location] = None
    field: str = ""

    @property
    def origin(self) -> str:
        """Where it is requested, as a message begins with it."""
        return _origin(self.location, self.field)


def _origin(location: Optional[Location], field: str) -> str:
    place = str(location or Message("the command line"))
    return f"{place}: {field}" if field else place


class Project(NamedTuple):
    """What a project requests, its directories of patchsets (absolute), and remarks."""

    entries: Tuple[ProjectEntry, ...]
    patch_dirs: Tuple[str, ...]
    notes: Tuple[str, ...] = ()


def parse_entry(entry: str, location: Location, field: str = "") -> ProjectEntry:
    """Read `NAME [option=VALUE]... [optional]`; a value with blanks is quoted as in a shell.

    Raises:
        UsageError: what was found instead.
    """
    origin = _origin(location, field)
    try:
        words = shlex.split(entry)
    except ValueError as error:
        template = "{origin}: found {text} ({error}), {form}"
        words_of_error = str(error).lower()
        raise UsageError(template, location=location, origin=origin, text=entry, error=words_of_error, form=_FORM) from None
    if not words or "=" in words[0]:
        said = "{origin}: found {text}, {form}"
        raise UsageError(said, location=location, origin=origin, text=entry.strip() or Message("nothing"), form=_FORM)
    for word in words[1:]:
        name, equals, _ = word.partition("=")
        if word != OPTIONAL and not (name and equals):
            problem = Message(
                'found "{word}", {form}{suggestion}', word=word, form=_FORM, suggestion=suggest(word, [OPTIONAL])
            )
            raise UsageError("{origin}: {problem}", location=location, origin=origin, problem=problem)
    settings = tuple(word for word in words[1:] if word != OPTIONAL)
    return ProjectEntry(words[0], settings, OPTIONAL in words[1:], location, field)


def read_project(path: Path) -> Optional[Project]:
    """Read `[tool.sitepatch]` of a pyproject.toml; None without that table: an empty one requests that nothing is applied.

    Args:
        path: of the file; a relative `patch-dir` (a string, or a list of them) begins at its directory.

    Raises:
        SitepatchError: the file cannot be read or is no TOML, or what is wrong with the table, all of it.
    """
    table = lookup(read_toml(path), "tool", "sitepatch")
    if table is None:
        return None
    reader = Reader(path)
    fields = reader.read(table, _TABLE, "tool.sitepatch")
    entries: List[ProjectEntry] = []
    for index, words in enumerate(fields.get("patchsets", ())):
        try:
            entries.append(parse_entry(words, Location(str(path)), f"tool.sitepatch.patchsets[{index}]"))
        except UsageError as error:
            reader.problems.append(error)
    reader.stop(UsageError)
    folders = fields.get("patch-dir", [])
    folders = [folders] if isinstance(folders, str) else folders
    return Project(tuple(entries), tuple(str(path.absolute().parent / folder) for folder in folders))


def chosen(entries: Iterable[ProjectEntry], patch_dirs: Sequence[str]) -> Tuple[List[Requested], List[str]]:
    """The patchsets that are requested with their options, and remarks (see `patcher.project.selection.choose`).

    One that is requested more than once is optional where each of its entries says so.

    Raises:
        SitepatchError: names that no place has, options that do not fit, an option with two values.
    """
    settings: Dict[str, Dict[str, str]] = {}
    origins: Dict[str, str] = {}
    locations: Dict[str, Optional[Location]] = {}
    needed: Set[str] = set()
    requested: List[Requested] = []
    notes: List[str] = []
    errors: List[SitepatchError] = []
    for entry in entries:
        settings.setdefault(entry.name, {})
        needed |= set() if entry.optional else {entry.name}
        for option, _, value in (setting.partition("=") for setting in entry.settings):
            if settings[entry.name].setdefault(option, value) != value:
                old_value = settings[entry.name][option]
                problem = "{name} {option}={value}: {origins} has {option}={was}"
                words = {"name": entry.name, "option": option, "value": value, "origins": origins[entry.name]}
                clash = Message(problem, **words, was=old_value)
                errors.append(UsageError("{origin}: {both}", location=entry.location, origin=entry.origin, both=clash))
        origins[entry.name] = (
            Message("{origins}, {origin}", origins=origins[entry.name], origin=entry.origin)
            if entry.name in origins
            else entry.origin
        )
        locations.setdefault(entry.name, entry.location)
    folders = patchset_folders(patch_dirs, Path.cwd()) if settings else {}
    for name, values in settings.items():
        try:
            patchsets, shadowed = find_all([name], patch_dirs, folders)
            options = resolve_options(patchsets[0], {f"{name}.{key}": values[key] for key in values})
            requested.append(Requested(patchsets[0], options, name not in needed))
            notes += shadowed
        except SitepatchError as error:
            errors.append(
                type(error)(
                    Message("{origins}: {message}", origins=origins[name], message=error.message), error.hint, locations[name]
                )
            )
    raise_all(errors)
    return requested, notes
