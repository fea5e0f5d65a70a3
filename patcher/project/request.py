"""What a project requests: `[tool.sitepatch]` of its pyproject.toml, and comments of its requirements files."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Collection, NamedTuple, Sequence

from patcher.errors import Location, SitepatchError, UsageError, raise_all
from patcher.message import Message, joined
from patcher.model import Patchset, Requested
from patcher.patchset.places import PATCH_DIR, PROJECT_DIR
from patcher.patchset.selection import ProjectEntry, chosen, split_pin
from patcher.patchset.toml import lookup, read_toml
from patcher.system.decode import STRINGS, Reader, Table
from patcher.system.reading import TEXT, read_file
from patcher.text.listed import AnyPath, Texts, one_or_more, suggest

PROJECT = "pyproject.toml"


class ProjectFiles(NamedTuple):
    """The files in which a project requests patchsets: its directory, and requirements files."""

    folder: AnyPath = "."
    requirements: Texts = ()


PROJECT_FILES = ProjectFiles()
"""Those of the current directory."""


class ProjectRequest(NamedTuple):
    """What a project requests: patchsets with their options, remarks, and every directory of patchsets."""

    patchsets: tuple[Requested, ...]
    notes: tuple[str, ...]
    patch_dirs: tuple[str, ...]


def read_request(request: ProjectFiles, patch_dirs: Sequence[str]) -> ProjectRequest:
    """Read what a project requests.

    Args:
        request: which project.
        patch_dirs: the values of `--patch-dir`; they come before the directories that the project names.

    Raises:
        SitepatchError: nothing is requested; what is wrong with files, patchsets and options.
    """
    projects = _read(request)
    entries = [entry for project in projects for entry in project.entries]
    named = [folder for project in projects for folder in project.patch_dirs]
    folders = tuple(dict.fromkeys([*patch_dirs, *named]))
    asked, notes = chosen(entries, folders, trusted=True)
    only_there = set(named) - set(patch_dirs)
    requested = (item._replace(patchset=_with_source(item.patchset, only_there)) for item in asked)
    notes = [*(note for project in projects for note in project.notes), *notes]
    return ProjectRequest(tuple(requested), tuple(notes), folders)


def _with_source(patchset: Patchset, named: Collection[str]) -> Patchset:
    """A probe is run from where the user points to, and a project that has `named` a directory is not the user."""
    source = patchset.folder.source
    if source.kind != PATCH_DIR or source.name not in named:
        return patchset
    folder = patchset.folder._replace(source=source._replace(kind=PROJECT_DIR))
    return patchset._replace(folder=folder)


def _read(request: ProjectFiles) -> list[Project]:
    path = Path(request.folder) / PROJECT
    if not path.parent.is_dir():
        raise UsageError("--project {folder}: found no such directory", folder=request.folder)
    project = read_project(path) if path.is_file() else None
    projects = [project] if project else []
    requirements = one_or_more(request.requirements)
    if requirements:
        projects.append(read_requirements(requirements))
    if project is None and not any(asking.entries for asking in projects):
        missing = Message("table [tool.sitepatch]" if path.is_file() else "such file")
        table = Message("{path}: found no {what}", path=path, what=missing)
        if not requirements:
            remedy = Message(
                'write [tool.sitepatch] with patchsets = ["NAME"] there, or name a requirements file with -r'
            )
            raise UsageError(
                "{table}, expected what the project asks for",
                remedy,
                Location(str(path)),
                table=table,
            )
        names = ", ".join(requirements)
        dropped = Message(
            "pip-compile, uv pip compile and pip freeze drop comments: name the file that they are made from"
        )
        nothing = Message(
            "to request that nothing is applied, write [tool.sitepatch] with patchsets = [] in pyproject.toml"
        )
        message = Message(
            '{names}: found no comment "# sitepatch: NAME"\n{table}', names=names, table=table
        )
        raise UsageError(message, joined("\n", (dropped, nothing)), Location(requirements[0]))
    return projects


# pyproject.toml -------------------------------------------------------------------------------------------------------
_OPTIONAL = "optional"
_FORM = Message('expected "NAME[==VERSION] [option=VALUE]... [optional]"')


def _folders(value: object) -> str:
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return "" if isinstance(value, str) or is_list else Message("a string, or a list of strings")


_TABLE_FORM = Message(
    'the table is written: patchsets = ["NAME option=VALUE", "NAME==VERSION optional"], patch-dir = "DIR"'
)
_TABLE = Table({"patchsets": STRINGS, "patch-dir": _folders}, optional=("patchsets", "patch-dir"))


class Project(NamedTuple):
    """What a project requests, its directories of patchsets (absolute), and remarks."""

    entries: tuple[ProjectEntry, ...]
    patch_dirs: tuple[str, ...]
    notes: tuple[str, ...] = ()


def parse_entry(entry: str, location: Location, field: str = "") -> ProjectEntry:
    """Read `NAME[==VERSION] [option=VALUE]... [optional]`; a value with blanks is quoted as in a shell.

    Raises:
        UsageError: what was found instead.
    """
    origin = ProjectEntry("", (), False, location, field).origin
    try:
        words = shlex.split(entry)
    except ValueError as error:
        template, reason = "{origin}: found {text} ({error}), {form}", str(error).lower()
        raise UsageError(
            template, location=location, origin=origin, text=entry, error=reason, form=_FORM
        ) from None
    pin = split_pin(words[0]) if words else None
    if pin is None:
        said = "{origin}: found {text}, {form}"
        raise UsageError(
            said,
            location=location,
            origin=origin,
            text=entry.strip() or Message("nothing"),
            form=_FORM,
        )
    for word in words[1:]:
        name, equals, _ = word.partition("=")
        if word != _OPTIONAL and not (name and equals):
            near = suggest(word, [_OPTIONAL])
            problem = Message(
                'found "{word}", {form}{suggestion}', word=word, form=_FORM, suggestion=near
            )
            raise UsageError(
                "{origin}: {problem}", location=location, origin=origin, problem=problem
            )
    settings = tuple(word for word in words[1:] if word != _OPTIONAL)
    name, version = pin
    return ProjectEntry(name, settings, _OPTIONAL in words[1:], location, field, version)


def read_project(path: Path) -> Project | None:
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
    fields = reader.read(table, _TABLE, ("tool.sitepatch",))
    entries: list[ProjectEntry] = []
    for index, words in enumerate(fields.get("patchsets", ())):
        try:
            entries.append(
                parse_entry(words, Location(str(path)), f"tool.sitepatch.patchsets[{index}]")
            )
        except UsageError as error:
            reader.problems.append(error)
    named = fields.get("patch-dir", [])
    folders = [
        path.absolute().parent / folder for folder in ([named] if isinstance(named, str) else named)
    ]
    for folder in [folder for folder in folders if not folder.is_dir()]:
        missing = Message("no such directory: {folder}", folder=folder)
        reader.wrong(
            f"tool.sitepatch.{PROJECT_DIR}", missing, Message("a directory of patchset folders")
        )
    reader.stop(UsageError, _TABLE_FORM)
    return Project(tuple(entries), tuple(map(str, folders)))


# requirements files ---------------------------------------------------------------------------------------------------
_PATCH_DIR = "--patch-dir"
_DIRECTIVE = re.compile(r"(?:^|\s)#\s*sitepatch\s*:", re.I)
_REMARK = re.compile(r"(^|\s)#.*")
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")  # as pip has it
_NOT_OURS_TO_JUDGE = (Message("no such option"), "${")
"""What newer releases of pip may know, and what they fill in from the environment."""


def read_requirements(paths: Sequence[str]) -> Project:
    """Read requirements files and those that they include with `-r` and `-c`, each once.

    A comment `# sitepatch: NAME[==VERSION] [option=VALUE]... [optional]` asks for a patchset, on a line of its own or behind a
    requirement; `# sitepatch: --patch-dir DIR` names a directory of patchsets. What follows a further ` #` is a remark.
    A line that is commented out, `# torch  # sitepatch: NAME`, asks for nothing; a note says so. A relative path begins at
    the directory of the file that it is written in; `${NAME}` in it is a variable of the environment, as for pip.

    Raises:
        SitepatchError: files that are missing or no text, and lines that cannot be read, all of them.
    """
    files = _Requirements()
    for path in paths:
        files.follow(path)
    raise_all(files.errors)
    return Project(tuple(files.entries), tuple(files.patch_dirs), tuple(files.notes))


class _Requirements:
    """What requirements files request, and what is wrong with them; each file is begun once, so that a circle of them ends."""

    def __init__(self) -> None:
        self.entries: list[ProjectEntry] = []
        self.patch_dirs: list[str] = []
        self.notes: list[str] = []
        self.errors: list[SitepatchError] = []
        self._begun: set[Path] = set()

    def follow(self, path: str, asked_by: Location | None = None) -> None:
        """Read one file that was not read yet; `asked_by` is the line that includes it, None for the command line."""
        real, where = Path(path).resolve(), Location(path)
        if real in self._begun:
            return
        self._begun.add(real)
        try:
            self._read(path)
            return
        except OSError as error:
            reason = Message.whole(error.strerror)
            problem: SitepatchError = UsageError.at(
                where, "found no readable file ({error}), expected one", error=reason
            )
        except UnicodeDecodeError as error:
            said = "found the byte {byte}, which is not {encoding}, expected the text of a requirements file"
            problem = UsageError.at(
                where, said, byte=f"0x{error.object[error.start]:02x}", encoding=error.encoding
            )
        except (LookupError, ValueError) as error:
            problem = UsageError.at(
                where, "found {error}, expected the text of a requirements file", error=error
            )
        except SitepatchError as error:
            problem = error
        message = (
            Message("{asked_by}: {message}", asked_by=asked_by, message=problem.message)
            if asked_by
            else problem.message
        )
        self.errors.append(UsageError(message, location=asked_by or where))

    def _read(self, path: str) -> None:
        from pip_requirements_parser import (
            CommentRequirementLine,
            InvalidRequirementLine,
            OptionLine,
            RequirementsFile,
            auto_decode,
        )

        if "\0" in auto_decode(read_file(path, TEXT)):
            raise ValueError(Message("a NUL character"))
        before = 0  # the number of the line before
        for line in RequirementsFile.parse(path):
            origin = Location(path, line.line_number)
            if isinstance(line, CommentRequirementLine):
                head, *directives = _DIRECTIVE.split(line.line)
                if directives and head and line.line_number != before:
                    self.notes.append(
                        Message(
                            "{origin}: the line is commented out, and asks for nothing",
                            origin=origin,
                        )
                    )
                    directives = []
                for directive in directives:
                    self._request(_REMARK.sub("", directive).strip(), origin)
            elif isinstance(line, InvalidRequirementLine):
                self._invalid(line.line, line.error_message, origin)
            elif isinstance(line, OptionLine):
                for named in [
                    *line.options.get("requirements", ()),
                    *line.options.get("constraints", ()),
                ]:
                    name = _VARIABLE.sub(
                        lambda variable: os.environ.get(variable[1]) or variable[0], named
                    )
                    if re.match("[a-z]+://", name, re.IGNORECASE):
                        template = (
                            "{origin}: {name} is not looked at for what it asks for; only files are"
                        )
                        self.notes.append(Message(template, origin=origin, name=name))
                    else:
                        self.follow(str(Path(path).parent / name), origin)
            before = line.line_number

    def _invalid(self, line: str, problem: str, origin: Location) -> None:
        """A line that is no requirement and no option of pip."""
        why = " ".join(problem.split("\n")[0].split("error: ")[-1].rstrip(":").split())
        if any(phrase in f"{problem}{line}" for phrase in _NOT_OURS_TO_JUDGE):
            template = "{origin}: {line} is passed over ({why}); pip may know it"
            self.notes.append(Message(template, origin=origin, line=line, why=why))
        else:
            shown = line if len(line) <= 60 else f"{line[:57]}..."
            template = "found {shown} ({why}), expected a requirement or an option of pip"
            self.errors.append(UsageError.at(origin, template, shown=shown, why=why))

    def _request(self, request: str, origin: Location) -> None:
        """What a comment asks for."""
        try:
            named = re.fullmatch(f"{_PATCH_DIR}(?:[ =](.*))?", request)
            if named:
                folders = shlex.split(named[1] or "")
                if len(folders) != 1:
                    raise ValueError(Message("one directory after it"))
                folder = (Path(origin.file).parent / folders[0]).absolute()
                if not folder.is_dir():
                    raise UsageError.at(
                        origin, "--patch-dir {each}: found no such directory", each=folder
                    )
                self.patch_dirs.append(str(folder))
            else:
                self.entries.append(parse_entry(request, origin))
        except UsageError as error:
            self.errors.append(error)
        except ValueError as error:
            problem = "found {request} ({error}), expected {patch_dir} DIR"
            self.errors.append(
                UsageError.at(origin, problem, request=request, error=error, patch_dir=_PATCH_DIR)
            )
