"""What the commands of `hook` do."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import List, NamedTuple, Optional, Sequence, Tuple

from patcher.cli.answers.plan import answer_rows
from patcher.cli.console import Console, command
from patcher.cli.styles import Row
from patcher.cli.verbs.apply import run_restore
from patcher.errors import SitepatchError, UsageError
from patcher.hook import directory as made
from patcher.hook.backend import Wheel
from patcher.hook.boot import MODES
from patcher.hook.content import Precomputed
from patcher.hook.installed import look, remove
from patcher.hook.places import folders
from patcher.hook.precompute import precompute
from patcher.hook.repair import Installed, load
from patcher.hook.wheel import wheel
from patcher.hook.writer import check_place, write
from patcher.ops.outcome import RestoreRequest
from patcher.ops.place import Place
from patcher.patchset.toml import lookup, read_toml
from patcher.project.pyproject import Entry, chosen, read_project
from patcher.project.selection import check_sources, read_settings
from patcher.store.retry import undisturbed
from patcher.text.listed import count, suggest


class HookRequest(NamedTuple):
    """Make or update a hook's directory; `names`, `settings` as for `apply`, `mode` and `name` as they were where None."""

    directory: str
    names: Sequence[str]
    settings: Sequence[str]
    mode: Optional[str]
    name: Optional[str]


def init_hook(console: Console, place: Place, request: HookRequest) -> int:
    """Make or update the directory of a hook."""
    folder = Path(request.directory)
    check_place(folder)
    entries, patch_dirs = _entries(folder, request, place.patch_dirs)
    was = made.head(folder / "pyproject.toml") if (folder / "pyproject.toml").exists() else ("", "", "repair")
    mode, name = request.mode or was[2], request.name or was[0] or _name(folder)
    if mode not in MODES:
        raise UsageError(f'--mode: found "{mode}", expected {" or ".join(MODES)}{suggest(mode, MODES)}')
    if not made.is_name(name):
        raise UsageError(f'--name: found "{name}", expected {made.NAME}')
    check_sources([entry.name for entry in entries], patch_dirs)
    requested, notes = chosen(entries, patch_dirs)
    env = place.environment()
    console.about(env)
    found = undisturbed(env, lambda: precompute(env, requested), dry_run=True)
    console.rows(answer_rows(answer for answer in found.answers if answer.state.failed or console.verbose))
    console.notes((*notes, *found.notes))
    failed = [answer for answer in found.answers if answer.state.failed]
    if failed:
        console.note(f"nothing was written: {count(len(failed), 'hunk')} failed", "stopped")
        console.data(False, {"written": []})
        return 1
    changes = {_release(one): one for one in (*made.earlier(folder, [*map(made.hook_patchset, requested)]), *found.changes)}
    content = made.make(name, mode, requested, [changes[key] for key in sorted(changes)])
    files = write(folder, content, entries)
    patched = len({one.file.path for one in content.precomputed if one.steps})
    without = f"{', '.join(one.patchset.name for one in requested)}; {count(patched, 'file')} can be patched without sitepatch"
    console.info(f"{content.hook.name} {content.hook.version} in {request.directory}: {without}")
    console.info(f"line for requirements.txt: {_line(request.directory)}")
    console.data(True, {"name": name, "version": content.hook.version, "mode": mode, "written": files})
    return 0


def _release(change: Precomputed) -> Tuple[str, str, str]:
    return change.file.path, change.file.version, change.file.before


def _line(path: str) -> str:
    return path if path.startswith(("/", ".")) else f"./{path}"


def _entries(folder: Path, request: HookRequest, patch_dirs: Sequence[str]) -> Tuple[List[Entry], List[str]]:
    """What is asked for, and the directories of patchsets: of the command line, the project, or the hook as it was."""
    project, before, names = Path("pyproject.toml"), folder / "pyproject.toml", request.names
    settings = read_project(project) if project.is_file() else None
    folders = [*patch_dirs, *(settings.patch_dirs if settings else ())]
    entries: List[Entry] = [Entry(name, (), False, "the command line") for name in dict.fromkeys(names)]
    if not names and settings and settings.entries:
        entries = list(settings.entries)
    elif not names and before.is_file():
        was = read_project(before)
        entries, folders = list(was.entries) if was else [], [*folders, *(was.patch_dirs if was else ())]
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
    return entries, folders


def _name(folder: Path) -> str:
    """`sitepatch-hook-PROJECT`: by the project's name, else by that of the directory above."""
    project = Path("pyproject.toml")
    name = str(lookup(read_toml(project), "project", "name") or "") if project.is_file() else ""
    name = name or Path(os.path.abspath(folder)).parent.name
    return re.sub("[^a-z0-9]+", "-", f"sitepatch-hook-{name.lower()}").strip("-")


def make_wheel(console: Console, directory: str, out: str) -> int:
    """Make the wheel of a hook."""
    one = Wheel(*wheel(made.read(Path(directory))))
    os.makedirs(out, exist_ok=True)
    path, data = os.path.join(out, one.name), one.pack()
    with open(path, "wb") as file:
        file.write(data)
    digest = sha256(data).hexdigest()
    console.note(f"line for requirements.txt, with the path from where the installer is run: {path}", "wrote")
    console.out(f"{_line(path)} --hash=sha256:{digest}")
    console.data(True, {"wheel": path, "sha256": digest})
    return 0


def show_hooks(console: Console, place: Place) -> int:
    """Show the hooks, and what the next start of Python would do."""
    env = place.environment()
    rows, hooks, good = [], [], True
    for folder in folders(env):
        try:
            found = look(folder)
        except SitepatchError as error:
            rows.append(Row("damaged", (folder, error.message)))
            hooks.append({"folder": folder, "ok": False, "told": [error.message]})
            good = False
            continue
        one = found.installed.hook
        names = ", ".join(each.name for each in one.patchsets)
        rows.append(Row("ok" if found.good else "not so", (one.name, one.version, found.mode, names), found.messages))
        good = good and found.good
        about = {"folder": folder, "name": one.name, "version": one.version, "mode": found.mode, "ok": found.good}
        hooks.append({**about, "patchsets": [each.name for each in one.patchsets], "told": list(found.messages)})
    console.rows(rows)
    if not rows:
        console.out(f"there is no hook in {', '.join(env.sites)}")
    console.data(good, {"hooks": hooks})
    return 0 if good else 1


def remove_hook(console: Console, place: Place, name: Optional[str], back: bool) -> int:
    """Take a hook out of an environment."""
    env = place.environment()
    found: List[Installed] = [load(folder) for folder in folders(env)]
    names = [each.hook.name for each in found]
    picked = [each for each in found if name in (None, each.hook.name)]
    if not picked or (name is None and len(picked) > 1):
        where = ", ".join(env.sites)
        several = f"found {len(names)} hooks in {where}, expected the name of one"
        none = f'there is no hook "{name}" in {where}' if name and names else f"there is no hook in {where}"
        raise UsageError(several if picked else none, f"there are: {', '.join(names)}" if names else "")
    for each in picked:
        remove(each)
        patchsets = [one.name for one in each.hook.patchsets]
        console.info(f"removed {each.hook.name} {each.hook.version} from {each.site}")
        if back:
            return run_restore(console, RestoreRequest(place, tuple(patchsets)))
        console.info(f"its files stay patched; restore them with: {command(place, 'restore', *patchsets)}")
    console.data(True, {"removed": [each.hook.name for each in picked]})
    return 0
