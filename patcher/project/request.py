"""What a project requests.

That is `[tool.sitepatch]` of its pyproject.toml, and comments of its requirements files.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any, Collection, Iterator, Sequence

from patcher.errors import Location, SitepatchError, UsageError, raise_all
from patcher.message import Message, joined
from patcher.model import Patchset, Requested
from patcher.patchset.places import PATCH_DIR, PROJECT_DIR
from patcher.patchset.selection import ProjectEntry, chosen, split_pin
from patcher.patchset.toml import lookup, read_toml
from patcher.record import Record
from patcher.system.decode import STRINGS, Reader, Table
from patcher.system.reading import TEXT, read_file
from patcher.text.listed import AnyPath, Texts, one_or_more, suggest

PROJECT = "pyproject.toml"


class ProjectFiles(Record):
    """The files in which a project requests patchsets: its directory, and requirements files."""

    folder: AnyPath = "."
    requirements: Texts = ()


PROJECT_FILES = ProjectFiles()
"""Those of the current directory."""


class ProjectRequest(Record):
    """What a project requests: patchsets with options, remarks, every directory of patchsets."""

    patchsets: tuple[Requested, ...]
    notes: tuple[str, ...]
    patch_dirs: tuple[str, ...]


class Project(Record):
    """The entries of one file or several, their directories of patchsets (absolute), remarks."""

    entries: tuple[ProjectEntry, ...]
    patch_dirs: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_request(request: ProjectFiles, patch_dirs: Sequence[str]) -> ProjectRequest:
    """Read what a project requests.

    Args:
        request: which project.
        patch_dirs: the values of `--patch-dir`; they come before the directories that the
            project names.

    Raises:
        SitepatchError: nothing is requested; what is wrong with files, patchsets and options.
    """
    entries: list[ProjectEntry] = []
    project_dirs: list[str] = []
    notes: list[str] = []
    for project in _read_files(request):
        entries += project.entries
        project_dirs += project.patch_dirs
        notes += project.notes

    all_dirs = tuple(dict.fromkeys([*patch_dirs, *project_dirs]))
    requested, remarks = chosen(entries, all_dirs, trusted=True)
    not_the_users = set(project_dirs) - set(patch_dirs)
    patchsets = []
    for item in requested:
        patchset = _with_source(item.patchset, not_the_users)
        patchsets.append(item._replace(patchset=patchset))
    return ProjectRequest(tuple(patchsets), notes=(*notes, *remarks), patch_dirs=all_dirs)


def _with_source(patchset: Patchset, project_dirs: Collection[str]) -> Patchset:
    """The patchset, marked as the project's where it comes from one of its directories.

    A probe is run from where the user points to, and a project that names a directory is not the
    user.
    """
    source = patchset.folder.source
    if source.kind != PATCH_DIR or source.name not in project_dirs:
        return patchset
    folder = patchset.folder._replace(source=source._replace(kind=PROJECT_DIR))
    return patchset._replace(folder=folder)


def _read_files(request: ProjectFiles) -> list[Project]:
    """What each of the files of a project requests; an error where none of them says anything."""
    path = Path(request.folder) / PROJECT
    if not path.parent.is_dir():
        raise UsageError("--project {folder}: found no such directory", folder=request.folder)
    projects = []
    project = read_project(path) if path.is_file() else None
    if project is not None:
        projects.append(project)
    requirements = one_or_more(request.requirements)
    if requirements:
        projects.append(read_requirements(requirements))
    if project is None and not any(each.entries for each in projects):
        raise _nothing_requested(path, requirements)
    return projects


def _nothing_requested(path: Path, requirements: Sequence[str]) -> UsageError:
    missing = Message("table [tool.sitepatch]" if path.is_file() else "such file")
    table = Message("{path}: found no {what}", path=path, what=missing)
    if not requirements:
        return UsageError(
            "{table}, expected what the project asks for",
            Message(
                'write [tool.sitepatch] with patchsets = ["NAME"] there, '
                "or name a requirements file with -r"
            ),
            location=Location(str(path)),
            table=table,
        )
    dropped = Message(
        "pip-compile, uv pip compile and pip freeze drop comments: "
        "name the file that they are made from"
    )
    nothing = Message(
        "to request that nothing is applied, "
        "write [tool.sitepatch] with patchsets = [] in pyproject.toml"
    )
    message = Message(
        '{names}: found no comment "# sitepatch: NAME"\n{table}',
        names=", ".join(requirements),
        table=table,
    )
    hint = joined("\n", (dropped, nothing))
    return UsageError(message, hint, location=Location(requirements[0]))


# one entry ------------------------------------------------------------------------------------
_OPTIONAL = "optional"
_FORM = Message('expected "NAME[==VERSION] [option=VALUE]... [optional]"')


def parse_entry(text: str, location: Location, field: str = "") -> ProjectEntry:
    """Read `NAME[==VERSION] [option=VALUE]... [optional]`.

    Args:
        text: the entry; a value with blanks is quoted as in a shell.
        location: where it is written.
        field: the path of the field there, empty if there is none.

    Raises:
        UsageError: what was found instead.
    """
    origin = ProjectEntry("", location=location, field=field).origin
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(
            "{origin}: found {text} ({error}), {form}",
            location=location,
            origin=origin,
            text=text,
            error=str(error).lower(),
            form=_FORM,
        ) from None
    pin = split_pin(words[0]) if words else None
    if pin is None:
        raise UsageError(
            "{origin}: found {text}, {form}",
            location=location,
            origin=origin,
            text=text.strip() or Message("nothing"),
            form=_FORM,
        )

    settings = []
    for word in words[1:]:
        name, equals, _ = word.partition("=")
        if name and equals:
            settings.append(word)
        elif word != _OPTIONAL:
            problem = Message(
                'found "{word}", {form}{suggestion}',
                word=word,
                form=_FORM,
                suggestion=suggest(word, [_OPTIONAL]),
            )
            raise UsageError(
                "{origin}: {problem}", location=location, origin=origin, problem=problem
            )
    name, version = pin
    return ProjectEntry(
        name,
        tuple(settings),
        optional=_OPTIONAL in words[1:],
        location=location,
        field=field,
        version=version,
    )


# pyproject.toml -------------------------------------------------------------------------------
def _folders(value: object) -> str:
    """The kind of `patch-dir`: see `patcher.system.decode`."""
    if isinstance(value, str):
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ""
    return Message("a string, or a list of strings")


_TABLE_FORM = Message(
    'the table is written: patchsets = ["NAME option=VALUE", "NAME==VERSION optional"], '
    'patch-dir = "DIR"'
)
_TABLE = Table({"patchsets": STRINGS, "patch-dir": _folders}, optional=("patchsets", "patch-dir"))


def read_project(path: Path) -> Project | None:
    """Read `[tool.sitepatch]` of a pyproject.toml.

    Args:
        path: of the file; a relative `patch-dir` (a string, or a list of them) begins at its
            directory.

    Returns:
        None without that table: an empty one requests that nothing is applied.

    Raises:
        SitepatchError: the file cannot be read or is no TOML, or what is wrong with the table,
            all of it.
    """
    table = lookup(read_toml(path), "tool", "sitepatch")
    if table is None:
        return None
    reader = Reader(path)
    fields = reader.read(table, _TABLE, ("tool.sitepatch",))

    entries: list[ProjectEntry] = []
    for index, text in enumerate(fields.get("patchsets", ())):
        field = f"tool.sitepatch.patchsets[{index}]"
        try:
            entries.append(parse_entry(text, Location(str(path)), field))
        except UsageError as error:
            reader.problems.append(error)

    patch_dirs = fields.get("patch-dir", [])
    if isinstance(patch_dirs, str):
        patch_dirs = [patch_dirs]
    folders = [path.absolute().parent / folder for folder in patch_dirs]
    for folder in folders:
        if not folder.is_dir():
            reader.wrong(
                f"tool.sitepatch.{PROJECT_DIR}",
                Message("no such directory: {folder}", folder=folder),
                expected=Message("a directory of patchset folders"),
            )
    reader.stop(UsageError, _TABLE_FORM)
    return Project(tuple(entries), tuple(map(str, folders)))


# requirements files ---------------------------------------------------------------------------
_PATCH_DIR = "--patch-dir"
_DIRECTIVE = re.compile(r"(?:^|\s)#\s*sitepatch\s*:", re.I)
_REMARK = re.compile(r"(^|\s)#.*")
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")  # as pip has it
_URL = re.compile("[a-z]+://", re.IGNORECASE)
_NOT_OURS_TO_JUDGE = (Message("no such option"), "${")
"""What newer releases of pip may know, and what they fill in from the environment."""
_LONGEST = 60


def read_requirements(paths: Sequence[str]) -> Project:
    """Read requirements files and those that they include with `-r` and `-c`, each once.

    A comment `# sitepatch: NAME[==VERSION] [option=VALUE]... [optional]` asks for a patchset, on
    a line of its own or behind a requirement; `# sitepatch: --patch-dir DIR` names a directory of
    patchsets. What follows a further ` #` is a remark. A line that is commented out,
    `# torch  # sitepatch: NAME`, asks for nothing; a note says so. A relative path begins at the
    directory of the file that it is written in; `${NAME}` in it is a variable of the environment,
    as for pip.

    Raises:
        SitepatchError: files that are missing or no text, and lines that cannot be read, all of
            them.
    """
    files = _Requirements()
    for path in paths:
        files.follow(path)
    raise_all(files.errors)
    return Project(tuple(files.entries), tuple(files.patch_dirs), tuple(files.notes))


class _Requirements:
    """What requirements files request, and what is wrong with them.

    Each file is read once, so that a circle of them ends.
    """

    def __init__(self) -> None:
        self.entries: list[ProjectEntry] = []
        self.patch_dirs: list[str] = []
        self.notes: list[str] = []
        self.errors: list[SitepatchError] = []
        self._followed: set[Path] = set()

    def follow(self, path: str, included_at: Location | None = None) -> None:
        """Read one file that was not read yet.

        Args:
            path: of the file.
            included_at: the line that includes it, None for the command line.
        """
        real = Path(path).resolve()
        if real in self._followed:
            return
        self._followed.add(real)
        try:
            self._read(path)
        except (OSError, LookupError, ValueError, SitepatchError) as error:
            problem = _unreadable(error, path)
            message = problem.message
            if included_at:
                message = Message("{asked_by}: {message}", asked_by=included_at, message=message)
            self.errors.append(UsageError(message, location=included_at or Location(path)))

    def _read(self, path: str) -> None:
        import pip_requirements_parser as parser

        if "\0" in parser.auto_decode(read_file(path, TEXT)):
            raise ValueError(Message("a NUL character"))
        previous = 0
        for line in parser.RequirementsFile.parse(path):
            origin = Location(path, line.line_number)
            if isinstance(line, parser.CommentRequirementLine):
                is_alone = line.line_number != previous
                self._comment(line.line, origin, is_alone=is_alone)
            elif isinstance(line, parser.InvalidRequirementLine):
                self._invalid(line.line, line.error_message, origin)
            elif isinstance(line, parser.OptionLine):
                for included in _included(line.options):
                    self._include(included, origin)
            previous = line.line_number

    def _comment(self, comment: str, origin: Location, *, is_alone: bool) -> None:
        """A comment; where it stands alone, text before a directive is a line commented out."""
        head, *directives = _DIRECTIVE.split(comment)
        if directives and head and is_alone:
            note = "{origin}: the line is commented out, and asks for nothing"
            self.notes.append(Message(note, origin=origin))
            return
        for directive in directives:
            try:
                self._request(_REMARK.sub("", directive).strip(), origin)
            except UsageError as error:
                self.errors.append(error)

    def _include(self, path: str, origin: Location) -> None:
        """The file of an option `-r` or `-c`."""
        name = _VARIABLE.sub(lambda match: os.environ.get(match[1]) or match[0], path)
        if _URL.match(name):
            note = "{origin}: {name} is not looked at for what it asks for; only files are"
            self.notes.append(Message(note, origin=origin, name=name))
        else:
            self.follow(str(Path(origin.file).parent / name), origin)

    def _invalid(self, line: str, problem: str, origin: Location) -> None:
        """A line that is no requirement and no option of pip."""
        reason = problem.split("\n")[0].split("error: ")[-1].rstrip(":")
        why = " ".join(reason.split())
        if any(phrase in f"{problem}{line}" for phrase in _NOT_OURS_TO_JUDGE):
            note = "{origin}: {line} is passed over ({why}); pip may know it"
            self.notes.append(Message(note, origin=origin, line=line, why=why))
            return
        shown = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
        template = "found {shown} ({why}), expected a requirement or an option of pip"
        self.errors.append(UsageError.at(origin, template, shown=shown, why=why))

    def _request(self, text: str, origin: Location) -> None:
        """What a directive asks for. Raises UsageError."""
        option = re.fullmatch(f"{_PATCH_DIR}(?:[ =](.*))?", text)
        if not option:
            self.entries.append(parse_entry(text, origin))
            return
        problem = Message("one directory after it")
        try:
            folders = shlex.split(option[1] or "")
        except ValueError as error:
            folders, problem = [], Message.whole(error)
        if len(folders) != 1:
            raise UsageError.at(
                origin,
                "found {request} ({error}), expected {patch_dir} DIR",
                request=text,
                error=problem,
                patch_dir=_PATCH_DIR,
            )
        folder = (Path(origin.file).parent / folders[0]).absolute()
        if not folder.is_dir():
            raise UsageError.at(origin, "--patch-dir {each}: found no such directory", each=folder)
        self.patch_dirs.append(str(folder))


def _included(options: dict[str, Any]) -> Iterator[str]:
    yield from options.get("requirements", ())
    yield from options.get("constraints", ())


def _unreadable(error: Exception, path: str) -> SitepatchError:
    """What keeps a requirements file from being read, as an error that names it."""
    where = Location(path)
    if isinstance(error, SitepatchError):
        return error
    if isinstance(error, OSError):
        reason = Message.whole(error.strerror)
        return UsageError.at(where, "found no readable file ({error}), expected one", error=reason)
    if isinstance(error, UnicodeDecodeError):
        return UsageError.at(
            where,
            "found the byte {byte}, which is not {encoding}, "
            "expected the text of a requirements file",
            byte=f"0x{error.object[error.start]:02x}",
            encoding=error.encoding,
        )
    return UsageError.at(
        where, "found {error}, expected the text of a requirements file", error=error
    )
