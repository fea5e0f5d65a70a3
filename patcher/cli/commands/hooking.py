"""`hook`: a requirements line of a project's own that keeps its patchsets applied."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, List, Optional, Sequence, Tuple

import click

from patcher.cli.commands.group import Group
from patcher.cli.commands.options import complete_names, sets_options, takes_turns
from patcher.cli.console import Console, command, takes
from patcher.errors import UsageError
from patcher.ops.place import Place

if TYPE_CHECKING:
    from patcher.hook.repair import Installed
    from patcher.project.pyproject import Wish


@click.group(cls=Group)
def hook() -> None:
    """Keep patchsets applied after every install, by a line in requirements.txt.

    Opt-in: sitepatch itself installs nothing that runs when Python starts.
    """


@hook.command("init", epilog="\b\nExample:\n  sitepatch hook init patches mmengine-ddp-debug\n  pip install ./patches")
@click.argument("directory", metavar="DIR")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@sets_options
@click.option("--mode", metavar="MODE", help="repair, warn or strict.  [default: as it was, else repair]")
@click.option("--name", metavar="DIST-NAME", help="What pip calls it.  [default: as it was, else sitepatch-hook-PROJECT]")
@takes()
def hook_init(
    console: Console,
    place: Place,
    directory: str,
    names: Tuple[str, ...],
    settings: Tuple[str, ...],
    mode: Optional[str],
    name: Optional[str],
) -> int:
    """Make or update the directory of a hook.

    Without names the patchsets are those of [tool.sitepatch] in ./pyproject.toml, or those that DIR asks for already. What
    they make of the files of this environment is kept in it, so that the hook needs no sitepatch where it is installed.
    """
    from pathlib import Path

    from patcher.cli.report import answer_rows
    from patcher.hook import directory as made
    from patcher.hook.boot import MODES
    from patcher.hook.keep import keep
    from patcher.hook.writer import check_place, write
    from patcher.patchset.tables import suggest
    from patcher.project.pyproject import chosen
    from patcher.project.selection import check_sources
    from patcher.store.retry import undisturbed
    from patcher.text.table import count

    folder = Path(directory)
    check_place(folder)
    wishes, patch_dirs = _wishes(folder, names, settings, place.patch_dirs)
    was = made.head(folder / "pyproject.toml") if (folder / "pyproject.toml").exists() else ("", "", "repair")
    mode, name = mode or was[2], name or was[0] or _name(folder)
    if mode not in MODES:
        raise UsageError(f'--mode: found "{mode}", expected {" or ".join(MODES)}{suggest(mode, MODES)}')
    if not made.is_name(name):
        raise UsageError(f'--name: found "{name}", expected {made.NAME}')
    check_sources([wish.name for wish in wishes], patch_dirs)
    requested, notes = chosen(wishes, patch_dirs)
    env = place.environment()
    console.about(env)
    found = undisturbed(env, lambda: keep(env, requested), dry_run=True)
    console.rows(answer_rows(answer for answer in found.answers if answer.state.failed or console.verbose))
    for note in (*notes, *found.notes):
        console.note(note)
    failed = [answer for answer in found.answers if answer.state.failed]
    if failed:
        console.note(f"nothing was written: {count(len(failed), 'hunk')} failed", "stopped")
        console.data(False, {"written": []})
        return 1
    asked = [made.asked(one) for one in requested]
    new = {(one.path, one.before, one.version) for one in found.kept}
    more = [one for one in made.earlier(folder, asked) if (one.path, one.before, one.version) not in new]
    kept = sorted([*found.kept, *more], key=lambda one: (one.path, one.version, one.before))
    content = made.make(name, mode, requested, asked, kept)
    files = write(folder, content, wishes)
    patched = len({one.path for one in kept if one.steps})
    without = f"{', '.join(one.name for one in asked)}; {count(patched, 'file')} can be patched without sitepatch"
    console.say(f"{content.hook.name} {content.hook.version} in {directory}: {without}")
    console.say(f"line for requirements.txt: {_line(directory)}")
    console.data(True, {"name": name, "version": content.hook.version, "mode": mode, "written": files})
    return 0


def _line(path: str) -> str:
    return path if path.startswith(("/", ".")) else f"./{path}"


def _wishes(
    folder: os.PathLike[str], names: Sequence[str], settings: Sequence[str], patch_dirs: Sequence[str]
) -> Tuple[List[Wish], List[str]]:
    """What is asked for, and the directories of patchsets: of the command line, the project, or the hook as it was."""
    from pathlib import Path

    from patcher.project.pyproject import Wish, read_project
    from patcher.project.selection import read_settings

    project, before = Path("pyproject.toml"), Path(folder) / "pyproject.toml"
    asked = read_project(project) if project.is_file() else None
    folders = [*patch_dirs, *(asked.patch_dirs if asked else ())]
    wishes: List[Wish] = [Wish(name, (), False, "the command line") for name in dict.fromkeys(names)]
    if not names and asked and asked.wishes:
        wishes = list(asked.wishes)
    elif not names and before.is_file():
        was = read_project(before)
        wishes, folders = list(was.wishes) if was else [], [*folders, *(was.patch_dirs if was else ())]
    if not wishes:
        hint = "name them, or list them in [tool.sitepatch] of pyproject.toml as patchsets"
        raise UsageError("no patchset is named, and ./pyproject.toml asks for none", hint)
    for key, value in read_settings([wish.name for wish in wishes], settings).items():
        name, _, option = key.partition(".")
        wishes = [
            wish._replace(settings=(*(s for s in wish.settings if s.partition("=")[0] != option), f"{option}={value}"))
            if wish.name == name
            else wish
            for wish in wishes
        ]
    return wishes, folders


def _name(folder: os.PathLike[str]) -> str:
    """`sitepatch-hook-PROJECT`: by the project's name, else by that of the directory above."""
    import re
    from pathlib import Path

    from patcher.patchset.tables import read_toml

    project = Path("pyproject.toml")
    told = ""
    if project.is_file():
        table = read_toml(project).get("project", {})
        told = str(table.get("name", "")) if isinstance(table, dict) else ""
    told = told or Path(os.path.abspath(folder)).parent.name
    return re.sub("[^a-z0-9]+", "-", f"sitepatch-hook-{told.lower()}").strip("-")


@hook.command("wheel", epilog="\b\nExample:\n  sitepatch hook wheel patches --out wheels")
@click.argument("directory", metavar="DIR")
@click.option("--out", metavar="DIST", default="dist", show_default=True, help="Directory for the wheel.")
@takes(environment=False, sources=False)
def hook_wheel(console: Console, place: Place, directory: str, out: str) -> int:
    """Make the wheel of a hook, without a network: for --require-hashes, --no-build and air gaps."""
    from hashlib import sha256
    from pathlib import Path

    from patcher.hook.backend import Wheel
    from patcher.hook.directory import read
    from patcher.hook.wheel import wheel

    made = Wheel(*wheel(read(Path(directory))))
    os.makedirs(out, exist_ok=True)
    path, data = os.path.join(out, made.name), made.pack()
    with open(path, "wb") as file:
        file.write(data)
    digest = sha256(data).hexdigest()
    console.note(f"line for requirements.txt, with the path from where the installer is run: {path}", "wrote")
    console.out(f"{_line(path)} --hash=sha256:{digest}")
    console.data(True, {"wheel": path, "sha256": digest})
    return 0


@hook.command("status", epilog="\b\nExample:\n  sitepatch hook status --python .venv")
@takes(sources=False)
def hook_status(console: Console, place: Place) -> int:
    """Show the hooks, and what the next start of Python would do."""
    from patcher.errors import SitepatchError
    from patcher.hook.installed import look
    from patcher.hook.places import folders
    from patcher.text.table import Row

    env = place.environment()
    rows, told, good = [], [], True
    for folder in folders(env):
        try:
            found = look(folder)
        except SitepatchError as error:
            rows.append(Row("damaged", (folder, error.message)))
            told.append({"folder": folder, "ok": False, "told": [error.message]})
            good = False
            continue
        one = found.installed.hook
        names = ", ".join(each.name for each in one.patchsets)
        rows.append(Row("ok" if found.good else "not so", (one.name, one.version, found.mode, names), found.told))
        good = good and found.good
        about = {"folder": folder, "name": one.name, "version": one.version, "mode": found.mode, "ok": found.good}
        told.append({**about, "patchsets": [each.name for each in one.patchsets], "told": list(found.told)})
    console.rows(rows)
    if not rows:
        console.out(f"there is no hook in {', '.join(env.sites)}")
    console.data(good, {"hooks": told})
    return 0 if good else 1


@hook.command("remove", epilog="\b\nExample:\n  sitepatch hook remove --restore")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--restore", "back", is_flag=True, help="Then restore the files that it has patched, too.")
@takes(sources=False)
@takes_turns
def hook_remove(console: Console, place: Place, name: Optional[str], back: bool) -> int:
    """Take a hook out of an environment, as pip uninstall does.

    What it has patched stays patched, unless --restore is given. Its line in requirements.txt is yours to remove.
    """
    from patcher.cli.changes import run_restore
    from patcher.hook.installed import remove
    from patcher.hook.places import folders
    from patcher.hook.repair import load
    from patcher.ops.change import RestoreRequest

    env = place.environment()
    found: List[Installed] = [load(folder) for folder in folders(env)]
    names = [each.hook.name for each in found]
    chosen = [each for each in found if name in (None, each.hook.name)]
    if not chosen or (name is None and len(chosen) > 1):
        what = f'"{name}"' if name and names else f"{len(names)} hooks" if names else "no hook"
        raise UsageError(f"found {what} in {', '.join(env.sites)}", f"there are: {', '.join(names)}" if names else "")
    for each in chosen:
        remove(each)
        patchsets = [one.name for one in each.hook.patchsets]
        console.say(f"removed {each.hook.name} {each.hook.version} from {each.site}")
        if back:
            return run_restore(console, RestoreRequest(place, tuple(patchsets)))
        console.say(f"its files stay patched; restore them with: {command(place, 'restore', *patchsets)}")
    console.data(True, {"removed": [each.hook.name for each in chosen]})
    return 0
