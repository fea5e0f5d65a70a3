"""`hook`: a requirements line of a project's own that keeps its patchsets applied."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, Optional, Tuple, Union

import click

from patcher.cli.answers.plan import answer_rows
from patcher.cli.commands import Group
from patcher.cli.commands.apply import report_restored
from patcher.cli.completion import complete_names, settings_option
from patcher.cli.console import Console, requirement
from patcher.cli.options import common_options, patient
from patcher.cli.styles import Row
from patcher.errors import SitepatchError
from patcher.hook.installed import HookStatus
from patcher.ops import hooks as ops
from patcher.ops.outcome import RestoreRequest
from patcher.store.retry import retry
from patcher.text.listed import count


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
@common_options()
def hook_init(
    console: Console,
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
    outcome = ops.init_hook(ops.HookRequest(console.place, directory, names, settings, mode, name), console)
    failed = [answer for answer in outcome.answers if answer.state.failed]
    console.rows(answer_rows(outcome.answers if console.verbose else failed))
    console.notes(outcome.notes)
    content = outcome.content
    if content is None:
        console.note(f"nothing was written: {count(len(failed), 'hunk')} failed", "stopped")
        return console.answer(False, {"written": []})
    hook = content.hook
    patched = len({one.file.path for one in content.precomputed if one.steps})
    without = f"{', '.join(one.name for one in hook.patchsets)}; {count(patched, 'file')} can be patched without sitepatch"
    console.info(f"{hook.name} {hook.version} in {directory}: {without}")
    console.info(f"line for requirements.txt: {requirement(directory)}")
    written = list(outcome.written)
    return console.answer(True, {"name": hook.name, "version": hook.version, "mode": hook.mode, "written": written})


@hook.command("wheel", epilog="\b\nExample:\n  sitepatch hook wheel patches --out wheels")
@click.argument("directory", metavar="DIR")
@click.option("--out", metavar="DIST", default="dist", show_default=True, help="Directory for the wheel.")
@common_options(environment=False, sources=False)
def hook_wheel(console: Console, directory: str, out: str) -> int:
    """Make the wheel of a hook, without a network: for --require-hashes, --no-build and air gaps."""
    made, digest = ops.make_wheel(Path(directory), Path(out))
    path = os.path.join(out, made.name)
    console.note(f"line for requirements.txt, with the path from where the installer is run: {path}", "wrote")
    console.out(requirement(path, digest))
    return console.answer(True, {"wheel": path, "sha256": digest})


@hook.command("status", epilog="\b\nExample:\n  sitepatch hook status --python .venv")
@common_options(sources=False)
def hook_status(console: Console) -> int:
    """Show the hooks, and what the next start of Python would do."""
    outcome = ops.installed_hooks(console.place)
    console.about(outcome.env)
    console.rows([_row(folder, found) for folder, found in outcome.hooks])
    if not outcome.hooks:
        console.out(f"there is no hook in {', '.join(outcome.env.sites)}")
    return console.answer(outcome.ok, {"hooks": [_json(folder, found) for folder, found in outcome.hooks]})


def _row(folder: str, found: Union[HookStatus, SitepatchError]) -> Row:
    if isinstance(found, SitepatchError):
        return Row("damaged", (folder, found.message))
    hook = found.installed.hook
    names = ", ".join(each.name for each in hook.patchsets)
    return Row("ok" if found.good else "not so", (hook.name, hook.version, found.mode, names), found.messages)


def _json(folder: str, found: Union[HookStatus, SitepatchError]) -> Dict[str, Any]:
    if isinstance(found, SitepatchError):
        return {"folder": folder, "ok": False, "told": [found.message]}
    hook = found.installed.hook
    about = {"folder": folder, "name": hook.name, "version": hook.version, "mode": found.mode, "ok": found.good}
    return {**about, "patchsets": [each.name for each in hook.patchsets], "told": list(found.messages)}


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
    for each in removed:
        console.info(f"removed {each.hook.name} {each.hook.version} from {each.site}")
    patchsets = tuple(dict.fromkeys(one.name for each in removed for one in each.hook.patchsets))
    if back:
        return retry(lambda: report_restored(console, RestoreRequest(console.place, patchsets)), console.note)
    console.info(f"its files stay patched; restore them with: {console.command('restore', *patchsets)}")
    return console.answer(True, {"removed": [each.hook.name for each in removed]})
