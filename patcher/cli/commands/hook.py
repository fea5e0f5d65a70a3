"""`hook`: a requirements line of a project's own that keeps its patchsets applied."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, Optional, Tuple, Union

import click

from patcher.cli.commands import Group
from patcher.cli.commands.apply import report_restored
from patcher.cli.console import Console, requirement
from patcher.cli.options import common_options, complete_names, patient, settings_option
from patcher.cli.styles import Row
from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.ops import hooks as ops
from patcher.ops.outcome import RestoreRequest


@click.group(cls=Group)
def hook() -> None:
    """Keep patchsets applied after every install, by a line in requirements.txt.

    Opt-in: sitepatch itself installs nothing that runs when Python starts.
    """


@hook.command("init", epilog="\b\nExample:\n  sitepatch hook init patches mmengine-ddp-debug\n  pip install ./patches")
@click.argument("directory", metavar="DIR")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@settings_option
@click.option("--mode", metavar="MODE", help="repair, warn or strict.  [default: as it was, else repair]")
@click.option("--name", metavar="DIST-NAME", help="What pip calls it.  [default: as it was, else sitepatch-hook-PROJECT]")
@common_options(environment=False)
def hook_init(
    console: Console,
    directory: str,
    names: Tuple[str, ...],
    settings: Tuple[str, ...],
    mode: Optional[str],
    name: Optional[str],
) -> int:
    """Make or update the directory of a hook.

    Without names the patchsets are those of [tool.sitepatch] in ./pyproject.toml, or those that DIR asks for already. The hook
    requires sitepatch, and applies them to every release that they are for.
    """
    outcome = ops.init_hook(ops.HookRequest(console.place.patch_dirs, directory, names, settings, mode, name))
    console.notes(outcome.notes)
    lines = [*filter(None, [outcome.source]), requirement(directory)]
    console.info(
        "{outcome.name} {outcome.version} in {directory}: {patchsets}",
        outcome=outcome,
        directory=directory,
        patchsets=", ".join(outcome.patchsets),
    )
    console.info("for requirements.txt:")
    for line in lines:
        console.out(line)
    about = {"name": outcome.name, "version": outcome.version, "mode": outcome.mode}
    return console.answer(True, {**about, "written": list(outcome.written), "requirements": lines})


@hook.command("wheel", epilog="\b\nExample:\n  sitepatch hook wheel patches --out wheels")
@click.argument("directory", metavar="DIR")
@click.option("--out", metavar="DIST", default="dist", show_default=True, help="Directory for the wheel.")
@common_options(environment=False, sources=False)
def hook_wheel(console: Console, directory: str, out: str) -> int:
    """Make the wheel of a hook, without a network: for --require-hashes, --no-build and air gaps."""
    wheel, digest = ops.make_wheel(Path(directory), Path(out))
    path = os.path.join(out, wheel.name)
    console.note("line for requirements.txt, with the path from where the installer is run: {path}", "wrote", path=path)
    console.out(requirement(path, digest))
    return console.answer(True, {"wheel": path, "sha256": digest})


@hook.command("status", epilog="\b\nExample:\n  sitepatch hook status --python .venv")
@common_options(sources=False)
def hook_status(console: Console) -> int:
    """Show the hooks, and what the next start of Python would do."""
    outcome = ops.installed_hooks(console.place.environment())
    console.about(outcome.env)
    console.rows([_row(folder, status) for folder, status in outcome.hooks])
    if not outcome.hooks:
        console.out(Message("there is no hook in {sites}", sites=", ".join(outcome.env.sites)))
    return console.answer(outcome.ok, {"hooks": [_json(folder, status) for folder, status in outcome.hooks]})


def _row(folder: str, status: Union[ops.HookStatus, SitepatchError]) -> Row:
    if isinstance(status, SitepatchError):
        return Row("damaged", (folder, status.message))
    hook = status.hook
    about = hook.name, hook.version, status.mode, ", ".join(hook.names)
    return Row("ok" if status.good else Message("not so"), about, status.messages)


def _json(folder: str, status: Union[ops.HookStatus, SitepatchError]) -> Dict[str, Any]:
    if isinstance(status, SitepatchError):
        return {"folder": folder, "ok": False, "told": [status.message]}
    hook = status.hook
    about = {"folder": folder, "name": hook.name, "version": hook.version, "mode": status.mode, "ok": status.good}
    return {**about, "patchsets": list(hook.names), "told": list(status.messages)}


@hook.command("remove", epilog="\b\nExample:\n  sitepatch hook remove --restore")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--restore", "back", is_flag=True, help="Then restore the files that it has patched, too.")
@common_options(sources=False)
@patient
def hook_remove(console: Console, name: Optional[str], back: bool) -> int:
    """Take a hook out of an environment, as pip uninstall does.

    What it has patched stays patched, unless --restore is given. Its line in requirements.txt is yours to remove.
    """
    removed = ops.remove_hook(console.place, name)
    for hook in removed:
        console.info("removed {hook.name} {hook.version} from {hook.site}", hook=hook)
    patchsets = tuple(dict.fromkeys(patchset for hook in removed for patchset in hook.names))
    if back:
        return report_restored(console, RestoreRequest(console.place, patchsets))
    console.info("its files stay patched; restore them with: {command}", command=console.command("restore", *patchsets))
    return console.answer(True, {"removed": [hook.name for hook in removed]})
