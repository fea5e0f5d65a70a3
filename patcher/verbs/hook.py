"""`hook`: the directory of a hook, and the hooks that are installed in an environment."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Sequence

import click

from patcher.display.console import Console, requirement
from patcher.display.styles import Row
from patcher.errors import StoreError, UsageError
from patcher.hook.boot import MODES, recorded_problems
from patcher.hook.directory import NAME_RULE, is_name, read_directory, write_directory
from patcher.hook.installed import PATCHSETS, Hook, hook_folders, load_hook
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import Requested
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.selection import ProjectEntry, chosen, named_entries, with_settings
from patcher.patchset.toml import lookup, read_toml
from patcher.project.request import read_project
from patcher.record import Record, reported
from patcher.system.decode import decode_json
from patcher.text.listed import listed, suggest
from patcher.verbs.commands import Group
from patcher.verbs.hook_start import ensure_applied
from patcher.verbs.options import common_options, complete_names, settings_option


# the directory ------------------------------------------------------------------------------------
class HookOutcome(Record):
    """A hook's directory.

    Attributes:
        name: the name of the hook.
        version: its version.
        mode: what it does: `warn`, `repair` or `strict`.
        patchsets: the patchsets that it keeps applied.
        written: the files that were written.
        source: the line by which pip installs the sitepatch that runs this, "" where it comes from
            an index.
        notes: remarks.
    """

    name: str
    version: str
    mode: str
    patchsets: tuple[str, ...]
    written: tuple[str, ...]
    source: str
    notes: tuple[str, ...]


@reported("*outcome requirements")
class InitAnswer(Record):
    """A hook's directory, and how it is installed.

    Attributes:
        outcome: the directory.
        requirements: the lines for requirements.txt.
    """

    outcome: HookOutcome
    requirements: tuple[str, ...]


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
    folder = Path(directory)
    before = read_directory(folder)
    if before is None:
        before = {"name": _default_name(folder), "mode": "repair", "patchsets": {}, "files": []}
    mode = mode or str(before["mode"])
    name = name or str(before["name"])
    if mode not in MODES:
        template = '--mode: found "{mode}", expected {modes}{suggestion}'
        modes = listed(MODES, "or")
        raise UsageError(template, mode=mode, modes=modes, suggestion=suggest(mode, MODES))
    if not is_name(name):
        raise UsageError('--name: found "{name}", expected {rule}', name=name, rule=NAME_RULE)

    entries, folders = _request(folder, names, settings, patch_dirs, kept=before["patchsets"])
    requested, notes = chosen(entries, folders, trusted=True)
    if notes and _is_from(folder / PATCHSETS, requested):
        notes.append(_advice(directory, entries))
    version, written = write_directory(folder, name, mode, requested, before["files"])
    return HookOutcome(
        name=name,
        version=version,
        mode=mode,
        patchsets=tuple(item.patchset.name for item in requested),
        written=tuple(written),
        source=_own_source(),
        notes=tuple(notes),
    )


def _request(
    folder: Path,
    names: Sequence[str],
    settings: Sequence[str],
    patch_dirs: Sequence[str],
    *,
    kept: dict[str, dict[str, str]],
) -> tuple[list[ProjectEntry], list[str]]:
    """What is requested, and the directories of patchsets.

    The request is that of the command line, else of the project, else of the hook as it was:
    `kept`, by patchset its options.
    """
    path = Path("pyproject.toml")
    project = read_project(path) if path.is_file() else None
    folders = list(patch_dirs)
    if project:
        folders += project.patch_dirs

    if names:
        entries = named_entries(names)
    elif project and project.entries:
        entries = list(project.entries)
    elif kept:
        entries = []
        for name, options in kept.items():
            texts = [f"{option}={value}" for option, value in options.items()]
            entries.append(ProjectEntry(name, tuple(texts)))
        folders.append(str(folder / PATCHSETS))
    else:
        hint = Message(
            "name them behind the directory, sitepatch hook init {directory} NAME, or list them in "
            "[tool.sitepatch] of pyproject.toml as patchsets",
            directory=shlex.quote(str(folder)),
        )
        if folder.name in Catalogue(patch_dirs).folders:
            hint = Message(
                "{name} is a patchset; the directory of the hook stands before it: "
                "sitepatch hook init hook {name}{dirs}",
                name=folder.name,
            )
        raise UsageError("no patchset is named, and ./pyproject.toml asks for none", hint)
    return with_settings(entries, settings), folders


def _is_from(folder: Path, requested: Sequence[Requested]) -> bool:
    """Whether one of the patchsets was found in a directory."""
    return any(
        Path(item.patchset.folder.source.name).resolve() == folder.resolve() for item in requested
    )


def _advice(directory: str, entries: Sequence[ProjectEntry]) -> str:
    """How patchsets of other places are used where the hook has copies of the same name."""
    words = ["sitepatch", "hook", "init", directory]
    words += [entry.pinned_name for entry in entries]
    for entry in entries:
        for setting in entry.settings:
            words += ["--set", f"{entry.name}.{setting}"]
    template = "patchsets of other places are used only where they are named: {names}"
    return Message(template, names=shlex.join(words))


def _default_name(folder: Path) -> str:
    """`sitepatch-hook-PROJECT`: by the project's name, else by that of the directory above."""
    project = Path("pyproject.toml")
    name = ""
    if project.is_file():
        name = str(lookup(read_toml(project), "project", "name") or "")
    if not name:
        name = Path(os.path.normpath(folder.absolute())).parent.name
    return re.sub("[^a-z0-9]+", "-", f"sitepatch-hook-{name.lower()}").strip("-")


def _own_source() -> str:
    """The line of requirements.txt for the file or commit that this sitepatch was installed from.

    "" for none. Source: PEP 610.
    """
    from importlib import metadata  # two bare starts: only a hook that is made asks for it

    try:
        direct_url = metadata.distribution("sitepatch").read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # a checkout
        return ""
    fields = decode_json(direct_url.encode("utf-8")) if direct_url else {}
    url = fields.get("url", "")
    vcs = fields.get("vcs_info")
    if vcs:
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return f"sitepatch @ {url}" if url else ""


# installed hooks ----------------------------------------------------------------------------------
@reported("folder name version mode good patchsets messages hint")
class HookStatus(Record):
    """The status of the hook in a folder.

    Attributes:
        folder: that of the hook.
        hook: None where it is damaged.
        mode: the one that is in force, with SITEPATCH_HOOK.
        good: whether every file is as requested.
        messages: what is not as it should be.
        hint: what to do where the hook is damaged.
    """

    folder: str
    hook: Hook | None
    mode: str
    good: bool
    messages: tuple[str, ...]
    hint: str = ""

    @property
    def name(self) -> str:
        """The name of the hook, "" where it is damaged."""
        return self.hook.name if self.hook else ""

    @property
    def version(self) -> str:
        """The version of the hook, "" where it is damaged."""
        return self.hook.version if self.hook else ""

    @property
    def patchsets(self) -> tuple[str, ...]:
        """The patchsets that it keeps applied."""
        return tuple(self.hook.names) if self.hook else ()


class StatusAnswer(Record):
    """The hooks of an environment.

    Attributes:
        hooks: the hooks.
    """

    hooks: tuple[HookStatus, ...]


def installed_hooks(env: Environment) -> tuple[HookStatus, ...]:
    """The hooks of an environment, and what the next start of Python would do; writes nothing."""
    return tuple(_status(env, folder) for folder in hook_folders(env))


def _status(env: Environment, folder: str) -> HookStatus:
    try:
        hook = load_hook(folder)
    except StoreError as error:
        return HookStatus(
            folder=folder,
            hook=None,
            mode="",
            good=False,
            messages=(error.message,),
            hint=error.hint,
        )
    mode = os.environ.get("SITEPATCH_HOOK") or hook.mode
    messages: list[str] = []
    if mode == "off":
        messages.append(Message("SITEPATCH_HOOK=off: it does nothing"))
    if not Path(hook.site, f"{Path(hook.folder).name[1:]}.pth").exists():
        messages.append(Message("its .pth file is gone: it does not run; install it again"))
    reasons = _reasons(env, hook, mode)
    messages += dict.fromkeys(reasons)
    return HookStatus(folder, hook, mode=mode, good=not reasons, messages=tuple(messages))


def _reasons(env: Environment, hook: Hook, mode: str) -> list[str]:
    """Why files are not as requested: as it was recorded, else as a look finds it."""
    recorded = recorded_problems(hook.folder, hook.version, "warn")
    if recorded is not None:
        return recorded
    if _lacks_sitepatch(env):
        reason = Message(
            "it applies nothing: it needs sitepatch, which is not in this environment; "
            "install it there"
        )
        return [reason]

    reasons: list[str] = []
    for check in ensure_applied(hook, write=False):
        if check.problem:
            reasons.append(check.problem)
        elif check.files and mode == "warn":
            template = "the next start of Python warns of {name}"
            reasons.append(Message(template, name=check.name))
        elif check.files:
            template = "the next start of Python applies {name}"
            reasons.append(Message(template, name=check.name))
    return reasons


def _lacks_sitepatch(env: Environment) -> bool:
    """Whether the Python of an environment finds no sitepatch.

    Of `--target` nobody knows what else its Python finds.
    """
    if env.search == env.sites:
        return False
    # not `env.search`: PYTHONPATH is not for the hook's child
    return not any(any(Path(site).glob("sitepatch-*.dist-info")) for site in env.sites)


# the command --------------------------------------------------------------------------------------
@click.group("hook", cls=Group)
def command() -> None:
    """Keep patchsets applied after every install, by a line in requirements.txt.

    Opt-in: sitepatch itself installs nothing that runs when Python starts.
    """


@command.command(
    "init",
    epilog=(
        "\b\nExample:\n  sitepatch hook init patches mmengine-ddp-debug\n  pip install ./patches"
    ),
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

    Without names the patchsets are those of [tool.sitepatch] in ./pyproject.toml, or those that DIR
    asks for already. The hook requires sitepatch, and applies them to every release that they are
    for.
    """
    outcome = init_hook(
        directory, names, settings, patch_dirs=console.place.patch_dirs, mode=mode, name=name
    )
    lines = [outcome.source] if outcome.source else []
    lines.append(requirement(directory))

    console.notes(outcome.notes)
    template = "{name} {version} in {directory}: {patchsets}"
    patchsets = ", ".join(outcome.patchsets)
    console.info(
        template,
        name=outcome.name,
        version=outcome.version,
        directory=directory,
        patchsets=patchsets,
    )
    console.info("for requirements.txt:")
    for line in lines:
        console.out(line)
    return console.answer(True, InitAnswer(outcome, tuple(lines)))


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
    return console.answer(all(status.good for status in hooks), StatusAnswer(hooks))


def _row(status: HookStatus) -> Row:
    hook = status.hook
    if hook is None:
        return Row("damaged", (status.folder, *status.messages))
    about = hook.name, hook.version, status.mode, ", ".join(hook.names)
    return Row("ok" if status.good else Message("not so"), about, status.messages)
