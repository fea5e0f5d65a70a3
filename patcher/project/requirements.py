"""What requirements files ask for: their comments `# sitepatch: NAME ...`, and those of the files that they include."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import List, NamedTuple, Optional, Sequence, Set

from patcher.errors import Location, SitepatchError, UsageError, raise_all
from patcher.message import Message
from patcher.project.pyproject import Project, ProjectEntry, parse_entry
from patcher.system.reading import TEXT, read_file

_PATCH_DIR = "--patch-dir"
_DIRECTIVE = re.compile(r"(?:^|\s)#\s*sitepatch:", re.I)
_REMARK = re.compile(r"(^|\s)#.*")
_NOT_OURS_TO_JUDGE = (Message("no such option"), "${")
"""What newer releases of pip may know, and what they fill in from the environment."""


class _Found(NamedTuple):
    """What was found so far; `seen` holds the real paths of the files that were begun, so that a circle of them ends."""

    entries: List[ProjectEntry]
    patch_dirs: List[str]
    notes: List[str]
    errors: List[SitepatchError]
    seen: Set[str]


def read_requirements(paths: Sequence[str]) -> Project:
    """Read requirements files and those that they include with `-r` and `-c`, each once.

    A comment `# sitepatch: NAME [option=VALUE]... [optional]` asks for a patchset, on a line of its own or behind a
    requirement; `# sitepatch: --patch-dir DIR` names a directory of patchsets. What follows a further ` #` is a remark.
    A relative path begins at the directory of the file that it is written in.

    Raises:
        SitepatchError: files that are missing or no text, and lines that cannot be read, all of them.
    """
    found = _Found([], [], [], [], set())
    for path in paths:
        _follow(path, None, found)
    raise_all(found.errors)
    return Project(tuple(found.entries), tuple(found.patch_dirs), tuple(found.notes))


def _follow(path: str, asked_by: Optional[Location], found: _Found) -> None:
    """Read one file that was not read yet; `asked_by` is the line that includes it, None for the command line."""
    real = str(Path(path).resolve())
    if real in found.seen:
        return
    found.seen.add(real)
    where = Location(path)
    try:
        _read(path, found)
    except OSError as error:
        problem: SitepatchError = UsageError.at(
            where, "found no readable file ({error}), expected one", error=Message.whole(error.strerror)
        )
    except UnicodeDecodeError as error:
        byte = f"0x{error.object[error.start]:02x}"
        said = "found the byte {byte}, which is not {encoding}, expected the text of a requirements file"
        text = Message(said, byte=byte, encoding=error.encoding)
        problem = UsageError.at(where, text)
    except (LookupError, ValueError) as error:
        problem = UsageError.at(where, "found {error}, expected the text of a requirements file", error=error)
    except SitepatchError as error:
        problem = error
    else:
        return
    message = Message("{asked_by}: {message}", asked_by=asked_by, message=problem.message) if asked_by else problem.message
    found.errors.append(UsageError(message, location=asked_by or where))


def _read(path: str, found: _Found) -> None:
    from pip_requirements_parser import (
        CommentRequirementLine,
        InvalidRequirementLine,
        OptionLine,
        RequirementsFile,
        auto_decode,
    )

    if "\0" in auto_decode(read_file(path, TEXT)):
        raise ValueError(Message("a NUL character"))
    for line in RequirementsFile.parse(path):
        origin = Location(path, line.line_number)
        if isinstance(line, CommentRequirementLine):
            _comment(line.line, origin, path, found)
        elif isinstance(line, InvalidRequirementLine):
            _invalid(line.line, line.error_message, origin, found)
        elif isinstance(line, OptionLine):
            for name in [*line.options.get("requirements", ()), *line.options.get("constraints", ())]:
                if re.match("[a-z]+://", name, re.IGNORECASE):
                    text = "{origin}: {name} is not looked at for what it asks for; only files are"
                    found.notes.append(Message(text, origin=origin, name=name))
                else:
                    _follow(_beside(path, name), origin, found)


def _invalid(line: str, problem: str, origin: Location, found: _Found) -> None:
    """A line that is no requirement and no option of pip."""
    why = " ".join(problem.split("\n")[0].split("error: ")[-1].rstrip(":").split())
    if any(text in f"{problem}{line}" for text in _NOT_OURS_TO_JUDGE):
        found.notes.append(
            Message("{origin}: {line} is passed over ({why}); pip may know it", origin=origin, line=line, why=why)
        )
    else:
        shown = line if len(line) <= 60 else f"{line[:57]}..."
        text = Message("found {shown} ({why}), expected a requirement or an option of pip", shown=shown, why=why)
        found.errors.append(UsageError.at(origin, text))


def _comment(text: str, origin: Location, path: str, found: _Found) -> None:
    for directive in _DIRECTIVE.split(text)[1:]:
        request = _REMARK.sub("", directive).strip()
        try:
            if request.split(" ")[0] == _PATCH_DIR:
                folders = shlex.split(request)[1:]
                if len(folders) != 1:
                    raise ValueError(Message("one directory after it"))
                found.patch_dirs.append(str(Path(_beside(path, folders[0])).absolute()))
            else:
                found.entries.append(parse_entry(request, origin))
        except UsageError as error:
            found.errors.append(error)
        except ValueError as error:
            problem = "found {request} ({error}), expected {patch_dir} DIR"
            found.errors.append(UsageError.at(origin, problem, request=request, error=error, patch_dir=_PATCH_DIR))


def _beside(path: str, name: str) -> str:
    return str(Path(path).parent / name)
