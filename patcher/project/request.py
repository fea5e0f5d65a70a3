"""What a project requests: its pyproject.toml, requirements files and lock, read."""

from __future__ import annotations

from pathlib import Path
from typing import Collection, List, NamedTuple, Optional, Sequence, Tuple

from patcher.errors import Location, UsageError
from patcher.message import Message
from patcher.model import Patchset, Requested
from patcher.patchset.places import PATCH_DIR, PROJECT_DIR, AnyPath
from patcher.project import lockfile
from patcher.project.pyproject import Project, chosen, read_project
from patcher.project.selection import check_sources
from patcher.text.listed import Texts, one_or_more

PROJECT = "pyproject.toml"


class ProjectFiles(NamedTuple):
    """The files in which a project requests patchsets: its directory, and requirements files.

    `lock` is the lock file, "" for that of the directory; with `locked` nothing is done where anything differs from it.
    """

    folder: AnyPath = "."
    requirements: Texts = ()
    lock: AnyPath = ""
    locked: bool = False

    @property
    def lock_path(self) -> Path:
        """Where the lock lies."""
        return Path(self.lock) if self.lock else Path(self.folder) / lockfile.LOCK_NAME


PROJECT_FILES = ProjectFiles()
"""Those of the current directory."""


class ProjectRequest(NamedTuple):
    """What a project requests: patchsets with their options, remarks, and every directory of patchsets.

    `lock` is what everything must agree with, None where that was not asked for.
    """

    patchsets: Tuple[Requested, ...]
    notes: Tuple[str, ...]
    patch_dirs: Tuple[str, ...]
    lock: Optional[lockfile.Lock]


def read_request(request: ProjectFiles, patch_dirs: Sequence[str]) -> ProjectRequest:
    """Read what a project requests.

    Args:
        request: which project.
        patch_dirs: the values of `--patch-dir`; they come before the directories that the project names.

    Raises:
        SitepatchError: the lock cannot be read; nothing is requested; what is wrong with files, patchsets and options.
    """
    lock = lockfile.load_lock(request.lock_path) if request.locked else None
    projects = _read(request)
    entries = [entry for project in projects for entry in project.entries]
    named = [folder for project in projects for folder in project.patch_dirs]
    folders = tuple(dict.fromkeys([*patch_dirs, *named]))
    check_sources([entry.name for entry in entries], folders)
    asked, notes = chosen(entries, folders)
    only_there = set(named) - set(patch_dirs)
    requested = (item._replace(patchset=_with_source(item.patchset, only_there)) for item in asked)
    notes = [*(note for project in projects for note in project.notes), *notes]
    return ProjectRequest(tuple(requested), tuple(notes), folders, lock)


def _with_source(patchset: Patchset, named: Collection[str]) -> Patchset:
    """A probe is run from where the user points to, and a project that has `named` a directory is not the user."""
    source = patchset.source
    if source.kind != PATCH_DIR or source.name not in named:
        return patchset
    return patchset._replace(source=source._replace(kind=PROJECT_DIR))


def _read(request: ProjectFiles) -> List[Project]:
    path = Path(request.folder) / PROJECT
    if not path.parent.is_dir():
        raise UsageError("--project {folder}: found no such directory", folder=request.folder)
    project = read_project(path) if path.is_file() else None
    projects = [project] if project else []
    requirements = one_or_more(request.requirements)
    if requirements:
        from patcher.project.requirements import read_requirements  # few projects ask there

        projects.append(read_requirements(requirements))
    if project is None and not any(asking.entries for asking in projects):
        table = Message(
            "{path}: found no {what}",
            path=path,
            what=Message("table [tool.sitepatch]" if path.is_file() else "such file"),
        )
        if not requirements:
            remedy = Message('write [tool.sitepatch] with patchsets = ["NAME"] there, or name a requirements file with -r')
            raise UsageError(Message("{table}, expected what the project asks for", table=table), remedy, Location(str(path)))
        names = ", ".join(requirements)
        dropped = Message("pip-compile, uv pip compile and pip freeze drop comments: name the file that they are made from")
        nothing = Message("to request that nothing is applied, write [tool.sitepatch] with patchsets = [] in pyproject.toml")
        message = Message('{names}: found no comment "# sitepatch: NAME"\n{table}', names=names, table=table)
        raise UsageError(message, Message("{dropped}\n{nothing}", dropped=dropped, nothing=nothing), Location(requirements[0]))
    return projects
