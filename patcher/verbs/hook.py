"""`hook`: the directory of a hook, and the hooks that are installed in an environment."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple, Sequence

import click

from patcher.display.console import Console, requirement
from patcher.display.styles import Row
from patcher.errors import StoreError, UsageError
from patcher.hook.boot import MODES, recorded_problems
from patcher.hook.installed import PATCHSETS, Hook, hook_folders, load_hook
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.patchset.selection import ProjectEntry, chosen, named_entries, with_settings
from patcher.patchset.toml import lookup, read_toml
from patcher.project.request import read_project
from patcher.text.listed import listed, suggest
from patcher.verbs.commands import Group
from patcher.verbs.keep import keep
from patcher.verbs.options import common_options, complete_names, settings_option


class HookOutcome(NamedTuple):
    """A hook's directory: the hook, the files that were written, and remarks.

    `source` is the line by which pip installs the sitepatch that runs this, "" where it comes from an index.
    """

    name: str
    version: str
    mode: str
    patchsets: tuple[str, ...]
    written: tuple[str, ...]
    source: str
    notes: tuple[str, ...]


class HookStatus(NamedTuple):
    """The status of the hook in a folder: `good` if every file is as requested, else `messages` says what is not.

    `hook` is None where it is damaged, and `hint` what to do then; `mode` is the one that is in force, with SITEPATCH_HOOK.
    """

    folder: str
    hook: Hook | None
    mode: str
    good: bool
    messages: tuple[str, ...]
    hint: str = ""


def init_hook(
    directory: str,
    names: Sequence[str] = (),
    settings: Sequence[str] = (),
    *,
    patch_dirs: Sequence[str] = (),
    mode: str | None = None,
    name: str | None = None,
) -> HookOutcome:
    """Make or update the directory of a hook; `mode` and `name` as they were where None.

    Raises:
        UsageError: no patchset is named anywhere, or a name, mode or option is none.
        SitepatchError: a patchset is broken, or others may write to it.
    """
    from patcher.hook.directory import (  # with the build backend, and that with json
        NAME_RULE,
        is_name,
        read_directory,
        write_directory,
    )

    folder = Path(directory)
    before = read_directory(folder) or {
        "name": _default_name(folder),
        "mode": "repair",
        "patchsets": {},
        "files": [],
    }
    mode, name = mode or before["mode"], name or before["name"]
    if mode not in MODES:
        problem = '--mode: found "{mode}", expected {modes}{suggestion}'
        raise UsageError(
            problem, mode=mode, modes=listed(MODES, "or"), suggestion=suggest(mode, MODES)
        )
    if not is_name(name):
        raise UsageError('--name: found "{name}", expected {rule}', name=name, rule=NAME_RULE)
    entries, folders = _entries(folder, names, settings, patch_dirs, before["patchsets"])
    requested, notes = chosen(entries, folders, trusted=True)
    copies = str((folder / PATCHSETS).resolve())
    if notes and any(
        str(Path(item.patchset.source.name).resolve()) == copies for item in requested
    ):
        words = [
            word
            for entry in entries
            for setting in entry.settings
            for word in ("--set", f"{entry.name}.{setting}")
        ]
        requests = [entry.pinned_name for entry in entries]
        again = ["sitepatch", "hook", "init", directory, *requests, *words]
        notes.append(
            Message(
                "patchsets of other places are used only where they are named: {names}",
                names=shlex.join(again),
            )
        )
    version, written = write_directory(folder, name, mode, requested, before["files"])
    kept = tuple(item.patchset.name for item in requested)
    return HookOutcome(name, version, mode, kept, tuple(written), _own_source(), tuple(notes))


def _entries(
    folder: Path,
    names: Sequence[str],
    settings: Sequence[str],
    patch_dirs: Sequence[str],
    before: dict[str, dict[str, str]],
) -> tuple[list[ProjectEntry], list[str]]:
    """What is asked for, and the directories of patchsets: of the command line, the project, or the hook as it was."""
    path = Path("pyproject.toml")
    project = read_project(path) if path.is_file() else None
    folders = [*patch_dirs, *(project.patch_dirs if project else ())]
    if names:
        entries = named_entries(names)
    elif project and project.entries:
        entries = list(project.entries)
    else:
        entries = [
            ProjectEntry(name, tuple(map("=".join, options.items())))
            for name, options in before.items()
        ]
        folders += [str(folder / PATCHSETS)] if entries else []
    if not entries:
        hint = Message("name them, or list them in [tool.sitepatch] of pyproject.toml as patchsets")
        raise UsageError("no patchset is named, and ./pyproject.toml asks for none", hint)
    return with_settings(entries, settings), folders


def _default_name(folder: Path) -> str:
    """`sitepatch-hook-PROJECT`: by the project's name, else by that of the directory above."""
    project = Path("pyproject.toml")
    name = str(lookup(read_toml(project), "project", "name") or "") if project.is_file() else ""
    name = name or Path(os.path.normpath(folder.absolute())).parent.name
    return re.sub("[^a-z0-9]+", "-", f"sitepatch-hook-{name.lower()}").strip("-")


def _own_source() -> str:
    """The line of requirements.txt for the file or commit that this sitepatch was installed from (PEP 610); "" for none."""
    from importlib.metadata import PackageNotFoundError, distribution

    from patcher.system.decode import decode_json

    try:
        direct_url = distribution("sitepatch").read_text("direct_url.json")
    except PackageNotFoundError:  # a checkout
        return ""
    fields = decode_json(direct_url.encode("utf-8")) if direct_url else {}
    vcs = fields.get("vcs_info")
    url = f"{vcs['vcs']}+{fields['url']}@{vcs['commit_id']}" if vcs else fields.get("url", "")
    return f"sitepatch @ {url}" if url else ""


def installed_hooks(env: Environment) -> tuple[HookStatus, ...]:
    """The hooks of an environment, and what the next start of Python would do; writes nothing."""
    return tuple(_status(env, folder) for folder in hook_folders(env))


def _status(env: Environment, folder: str) -> HookStatus:
    try:
        hook = load_hook(folder)
    except StoreError as error:
        return HookStatus(folder, None, "", False, (error.message,), error.hint)
    mode = os.environ.get("SITEPATCH_HOOK") or hook.mode
    messages: list[str] = []
    if mode == "off":
        messages.append(Message("SITEPATCH_HOOK=off: it does nothing"))
    if not Path(hook.site, f"{Path(hook.folder).name[1:]}.pth").exists():
        messages.append(Message("its .pth file is gone: it does not run; install it again"))
    reasons = recorded_problems(hook.folder, hook.version, "warn")
    if reasons is None and _lacks_sitepatch(env):
        reasons = [
            Message(
                "it applies nothing: it needs sitepatch, which is not in this environment; install it there"
            )
        ]
    elif reasons is None:
        reasons = []
        for look in keep(hook, write=False):
            would = Message("the next start of Python applies {name}", name=look.name)
            would = (
                Message("the next start of Python warns of {name}", name=look.name)
                if mode == "warn"
                else would
            )
            reasons += [look.problem or would] if look.problem or look.files else []
    return HookStatus(folder, hook, mode, not reasons, (*messages, *dict.fromkeys(reasons)))


def _lacks_sitepatch(env: Environment) -> bool:
    """Whether the Python of an environment finds no sitepatch; of `--target` nobody knows where else its Python looks."""
    # PYTHONPATH is not for the hook's child
    there = any(any(Path(site).glob("sitepatch-*.dist-info")) for site in env.sites)
    return not there and env.search != env.sites


@click.group("hook", cls=Group)
def command() -> None:
    """Keep patchsets applied after every install, by a line in requirements.txt.

    Opt-in: sitepatch itself installs nothing that runs when Python starts.
    """


@command.command(
    "init",
    epilog="\b\nExample:\n  sitepatch hook init patches mmengine-ddp-debug\n  pip install ./patches",
)
@click.argument("directory", metavar="DIR")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@settings_option
@click.option(
    "--mode", metavar="MODE", help="repair, warn or strict.  [default: as it was, else repair]"
)
@click.option(
    "--name",
    metavar="DIST-NAME",
    help="What pip calls it.  [default: as it was, else sitepatch-hook-PROJECT]",
)
@common_options(environment=False)
def init_command(
    console: Console,
    directory: str,
    names: tuple[str, ...],
    settings: tuple[str, ...],
    mode: str | None,
    name: str | None,
) -> int:
    """Make or update the directory of a hook.

    Without names the patchsets are those of [tool.sitepatch] in ./pyproject.toml, or those that DIR asks for already. The hook
    requires sitepatch, and applies them to every release that they are for.
    """
    outcome = init_hook(
        directory, names, settings, patch_dirs=console.place.patch_dirs, mode=mode, name=name
    )
    console.notes(outcome.notes)
    lines = [*filter(None, [outcome.source]), requirement(directory)]
    template = "{outcome.name} {outcome.version} in {directory}: {patchsets}"
    console.info(
        template, outcome=outcome, directory=directory, patchsets=", ".join(outcome.patchsets)
    )
    console.info("for requirements.txt:")
    for line in lines:
        console.out(line)
    about = {"name": outcome.name, "version": outcome.version, "mode": outcome.mode}
    return console.answer(True, {**about, "written": outcome.written, "requirements": lines})


@command.command("status", epilog="\b\nExample:\n  sitepatch hook status --python .venv")
@common_options(sources=False)
def status_command(console: Console) -> int:
    """Show the hooks, and what the next start of Python would do."""
    env = console.place.environment()
    hooks = installed_hooks(env)
    console.about(env)
    console.rows([_row(status) for status in hooks])
    if not hooks:
        console.out(Message("there is no hook in {sites}", sites=", ".join(env.sites)))
    return console.answer(all(status.good for status in hooks), {"hooks": list(map(_json, hooks))})


def _row(status: HookStatus) -> Row:
    hook = status.hook
    if hook is None:
        return Row("damaged", (status.folder, *status.messages))
    about = hook.name, hook.version, status.mode, ", ".join(hook.names)
    return Row("ok" if status.good else Message("not so"), about, status.messages)


def _json(status: HookStatus) -> dict[str, Any]:
    hook, about = status.hook, {"folder": status.folder, "ok": status.good, "told": status.messages}
    if hook is None:
        return about
    return {
        **about,
        "name": hook.name,
        "version": hook.version,
        "mode": status.mode,
        "patchsets": hook.names,
    }
