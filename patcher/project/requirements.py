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
    collected = _Found([], [], [], [], set())
    for path in paths:
        _follow(path, None, collected)
    raise_all(collected.errors)
    return Project(tuple(collected.entries), tuple(collected.patch_dirs), tuple(collected.notes))


def _follow(path: str, asked_by: Optional[Location], collected: _Found) -> None:
    """Read one file that was not read yet; `asked_by` is the line that includes it, None for the command line."""
    real = str(Path(path).resolve())
    if real in collected.seen:
        return
    collected.seen.add(real)
    where = Location(path)
    try:
        _read(path, collected)
    except OSError as error:
        problem: SitepatchError = UsageError.at(
            where, "found no readable file ({error}), expected one", error=Message.whole(error.strerror)
        )
    except UnicodeDecodeError as error:
        byte = f"0x{error.object[error.start]:02x}"
        said = "found the byte {byte}, which is not {encoding}, expected the text of a requirements file"
        template = Message(said, byte=byte, encoding=error.encoding)
        problem = UsageError.at(where, template)
    except (LookupError, ValueError) as error:
        problem = UsageError.at(where, "found {error}, expected the text of a requirements file", error=error)
    except SitepatchError as error:
        problem = error
    else:
        return
    message = Message("{asked_by}: {message}", asked_by=asked_by, message=problem.message) if asked_by else problem.message
    collected.errors.append(UsageError(message, location=asked_by or where))


def _read(path: str, collected: _Found) -> None:
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
            _comment(line.line, origin, path, collected)
        elif isinstance(line, InvalidRequirementLine):
            _invalid(line.line, line.error_message, origin, collected)
        elif isinstance(line, OptionLine):
            for name in [*line.options.get("requirements", ()), *line.options.get("constraints", ())]:
                if re.match("[a-z]+://", name, re.IGNORECASE):
                    template = "{origin}: {name} is not looked at for what it asks for; only files are"
                    collected.notes.append(Message(template, origin=origin, name=name))
                else:
                    _follow(_beside(path, name), origin, collected)


def _invalid(line: str, problem: str, origin: Location, collected: _Found) -> None:
    """A line that is no requirement and no option of pip."""
    why = " ".join(problem.split("\n")[0].split("error: ")[-1].rstrip(":").split())
    if any(phrase in f"{problem}{line}" for phrase in _NOT_OURS_TO_JUDGE):
        collected.notes.append(
            Message("{origin}: {line} is passed over ({why}); pip may know it", origin=origin, line=line, why=why)
        )
    else:
        shown = line if len(line) <= 60 else f"{line[:57]}..."
        sentence = Message("found {shown} ({why}), expected a requirement or an option of pip", shown=shown, why=why)
        collected.errors.append(UsageError.at(origin, sentence))


def _comment(comment: str, origin: Location, path: str, collected: _Found) -> None:
    for directive in _DIRECTIVE.split(comment)[1:]:
        request = _REMARK.sub("", directive).strip()
        try:
            if request.split(" ")[0] == _PATCH_DIR:
                folders = shlex.split(request)[1:]
                if len(folders) != 1:
                    raise ValueError(Message("one directory after it"))
                collected.patch_dirs.append(str(Path(_beside(path, folders[0])).absolute()))
            else:
                collected.entries.append(parse_entry(request, origin))
        except UsageError as error:
            collected.errors.append(error)
        except ValueError as error:
            problem = "found {request} ({error}), expected {patch_dir} DIR"
            collected.errors.append(UsageError.at(origin, problem, request=request, error=error, patch_dir=_PATCH_DIR))


def _beside(path: str, name: str) -> str:
    return str(Path(path).parent / name)
