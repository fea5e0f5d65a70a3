"""`hook`: the directory and the wheel of a hook, and the hooks that are installed in an environment."""

from __future__ import annotations

import os
import re
import shlex
from hashlib import sha256
from pathlib import Path
from typing import List, NamedTuple, Optional, Sequence, Tuple, Union

from patcher.errors import SitepatchError, UsageError
from patcher.hook import directory
from patcher.hook.boot import MODES
from patcher.hook.content import Content, Installed, Precomputed, load_hook
from patcher.hook.installed import HookStatus, delete_hook, look_at_all
from patcher.hook.places import PATCHSETS, folders, name_of
from patcher.hook.precompute import precompute
from patcher.hook.wheel import wheel
from patcher.model import Answer
from patcher.ops.events import SILENT, Events
from patcher.ops.place import Place
from patcher.patchset.toml import lookup, read_toml
from patcher.project.pyproject import ProjectEntry, chosen, read_project
from patcher.project.selection import check_sources, read_settings
from patcher.store.retry import undisturbed
from patcher.target.interpreter import Environment
from patcher.text.listed import suggest


class HookRequest(NamedTuple):
    """Make or update a hook's directory; `names`, `settings` as for `apply`, `mode` and `name` as they were where None."""

    place: Place
    directory: str
    names: Sequence[str] = ()
    settings: Sequence[str] = ()
    mode: Optional[str] = None
    name: Optional[str] = None


class HookOutcome(NamedTuple):
    """What the hook carries, None where a hunk failed and nothing was written; an answer for each hunk, and remarks.

    `written` are the names of the files in its directory.
    """

    content: Optional[Content]
    answers: Tuple[Answer, ...]
    notes: Tuple[str, ...]
    written: Tuple[str, ...] = ()


class HooksOutcome(NamedTuple):
    """The folder of each hook of an environment, and its status, or why it cannot be read."""

    env: Environment
    hooks: Tuple[Tuple[str, Union[HookStatus, SitepatchError]], ...]

    @property
    def ok(self) -> bool:
        """Whether every file is as the hooks ask for."""
        return all(isinstance(found, HookStatus) and found.good for _, found in self.hooks)


def init_hook(request: HookRequest, events: Events = SILENT) -> HookOutcome:
    """Make or update the directory of a hook.

    Raises:
        UsageError: no patchset is named anywhere, or a name, mode or option is none.
        SitepatchError: what keeps it from making a plan.
    """
    from patcher.hook.writer import check_place, write_directory  # with the build backend, and that with json

    folder = Path(request.directory)
    check_place(folder)
    entries, patch_dirs = _entries(folder, request)
    was = directory.head(folder / "pyproject.toml") if (folder / "pyproject.toml").exists() else ("", "", "repair")
    mode, name = request.mode or was[2], request.name or was[0] or _name(folder)
    if mode not in MODES:
        raise UsageError(f'--mode: found "{mode}", expected {" or ".join(MODES)}{suggest(mode, MODES)}')
    if not directory.is_name(name):
        raise UsageError(f'--name: found "{name}", expected {directory.NAME_RULE}')
    check_sources([entry.name for entry in entries], patch_dirs)
    requested, notes = chosen(entries, patch_dirs)
    own = {str((folder / PATCHSETS).resolve())}
    if notes and own.intersection(str(Path(one.patchset.source.name).resolve()) for one in requested):
        settings = [word for one in entries for text in one.settings for word in ("--set", f"{one.name}.{text}")]
        again = ["sitepatch", "hook", "init", request.directory, *(one.name for one in entries), *settings]
        notes.append(f"those of elsewhere are taken where they are named: {shlex.join(again)}")
    env = request.place.environment()
    events.started(env)
    found = undisturbed(env, lambda: precompute(env, requested), dry_run=True)
    notes += found.notes
    if any(answer.state.failed for answer in found.answers):
        return HookOutcome(None, found.answers, tuple(notes))
    earlier = directory.earlier(folder, [*map(directory.hook_patchset, requested)])
    changes = {_release(one): one for one in (*earlier, *found.changes)}
    content = directory.make_content(name, mode, requested, [changes[key] for key in sorted(changes)])
    return HookOutcome(content, found.answers, tuple(notes), tuple(write_directory(folder, content, entries)))


def _release(change: Precomputed) -> Tuple[str, str, str]:
    return change.file.path, change.file.version, change.file.before


def _entries(folder: Path, request: HookRequest) -> Tuple[List[ProjectEntry], List[str]]:
    """What is asked for, and the directories of patchsets: of the command line, the project, or the hook as it was."""
    project, before, names = Path("pyproject.toml"), folder / "pyproject.toml", request.names
    settings = read_project(project) if project.is_file() else None
    patch_dirs = [*request.place.patch_dirs, *(settings.patch_dirs if settings else ())]
    entries: List[ProjectEntry] = [ProjectEntry(name, (), False) for name in dict.fromkeys(names)]
    if not names and settings and settings.entries:
        entries = list(settings.entries)
    elif not names and before.is_file():
        was = read_project(before)
        entries, patch_dirs = list(was.entries) if was else [], [*patch_dirs, *(was.patch_dirs if was else ())]
    if not entries:
        hint = "name them, or list them in [tool.sitepatch] of pyproject.toml as patchsets"
        raise UsageError("no patchset is named, and ./pyproject.toml asks for none", hint)
    for key, value in read_settings([entry.name for entry in entries], request.settings).items():
        name, _, option = key.partition(".")
        entries = [
            entry._replace(settings=(*(s for s in entry.settings if s.partition("=")[0] != option), f"{option}={value}"))
            if entry.name == name
            else entry
            for entry in entries
        ]
    return entries, patch_dirs


def _name(folder: Path) -> str:
    """`sitepatch-hook-PROJECT`: by the project's name, else by that of the directory above."""
    project = Path("pyproject.toml")
    name = str(lookup(read_toml(project), "project", "name") or "") if project.is_file() else ""
    name = name or Path(os.path.normpath(folder.absolute())).parent.name
    return re.sub("[^a-z0-9]+", "-", f"sitepatch-hook-{name.lower()}").strip("-")


def make_wheel(folder: Path, out: Path) -> Tuple[Path, str]:
    """Make the wheel of a hook's directory in the directory `out`; returns its path and its sha256 (hex).

    Raises:
        SitepatchError: what is wrong with the directory.
        OSError: the wheel cannot be written.
    """
    from patcher.hook.backend import Wheel, carried  # with json, which `hook remove` does without

    one = carried(folder)[0] or Wheel(*wheel(directory.read_content(folder)))
    out.mkdir(parents=True, exist_ok=True)
    data = one.pack()
    (out / one.name).write_bytes(data)
    return out / one.name, sha256(data).hexdigest()


def installed_hooks(place: Place) -> HooksOutcome:
    """The hooks of an environment, and what the next start of Python would do.

    Raises:
        SitepatchError: no such environment.
    """
    env = place.environment()
    return HooksOutcome(env, tuple(look_at_all(env)))


def remove_hook(place: Place, name: Optional[str]) -> Tuple[Installed, ...]:
    """Take the hook of this name out of an environment, the only one without a name; what it has patched stays patched.

    Raises:
        UsageError: there is none, or several.
        SitepatchError: no such environment; it is damaged; a file cannot be removed.
    """
    env = place.environment()
    every = folders(env)
    names = list(map(name_of, every))
    picked = [folder for folder in every if name in (None, name_of(folder))]
    if not picked or (name is None and len(picked) > 1):
        where = ", ".join(env.sites)
        several = f"found {len(names)} hooks in {where}, expected the name of one"
        none = f'there is no hook "{name}" in {where}' if name and names else f"there is no hook in {where}"
        raise UsageError(several if picked else none, f"there are: {', '.join(names)}" if names else "")
    hooks = tuple(map(load_hook, picked))
    for each in hooks:
        delete_hook(each)
    return hooks
