"""`hook`: a requirements line of a project's own that keeps its patchsets applied."""

from __future__ import annotations

from typing import Optional, Tuple

import click

from patcher.cli.commands import Group
from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names, retried, settings_option
from patcher.ops.place import Place


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
    from patcher.cli.verbs.hook import init_hook
    from patcher.ops.hooks import HookRequest

    return init_hook(console, HookRequest(place, directory, names, settings, mode, name))


@hook.command("wheel", epilog="\b\nExample:\n  sitepatch hook wheel patches --out wheels")
@click.argument("directory", metavar="DIR")
@click.option("--out", metavar="DIST", default="dist", show_default=True, help="Directory for the wheel.")
@common_options(environment=False, sources=False)
def hook_wheel(console: Console, place: Place, directory: str, out: str) -> int:
    """Make the wheel of a hook, without a network: for --require-hashes, --no-build and air gaps."""
    from patcher.cli.verbs.hook import make_wheel

    return make_wheel(console, directory, out)


@hook.command("status", epilog="\b\nExample:\n  sitepatch hook status --python .venv")
@common_options(sources=False)
def hook_status(console: Console, place: Place) -> int:
    """Show the hooks, and what the next start of Python would do."""
    from patcher.cli.verbs.hook import show_hooks

    return show_hooks(console, place)


@hook.command("remove", epilog="\b\nExample:\n  sitepatch hook remove --restore")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--restore", "back", is_flag=True, help="Then restore the files that it has patched, too.")
@common_options(sources=False)
@retried
def hook_remove(console: Console, place: Place, name: Optional[str], back: bool) -> int:
    """Take a hook out of an environment, as pip uninstall does.

    What it has patched stays patched, unless --restore is given. Its line in requirements.txt is yours to remove.
    """
    from patcher.cli.verbs.hook import remove_hook

    return remove_hook(console, place, name, back)
