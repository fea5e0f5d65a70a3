"""`run`."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Dict, List, Sequence, Tuple

import click

from patcher.commands.completion import complete_names, complete_settings
from patcher.commands.patching import takes_turns
from patcher.commands.verifying import ways_to_verify
from patcher.console import Console, Place, takes
from patcher.errors import UsageError

if TYPE_CHECKING:
    from patcher.environment import Environment
    from patcher.verify import Asked


class _Launcher(click.Command):
    """A command that keeps what stands behind `--` as its parameter `command`."""

    def parse_args(self, ctx: click.Context, args: List[str]) -> List[str]:
        at = args.index("--") if "--" in args else len(args)
        command = tuple(args[at + 1 :])
        left = super().parse_args(ctx, args[:at])
        if not command and not ctx.resilient_parsing:
            found = "nothing behind it" if at < len(args) else "no `--`"
            raise click.UsageError(f"Found {found}; expected: sitepatch run [NAME]... [OPTIONS] -- COMMAND...", ctx)
        ctx.params["command"] = command
        return left

    def collect_usage_pieces(self, ctx: click.Context) -> List[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


@click.command(
    cls=_Launcher,
    epilog="\b\nExamples:\n  sitepatch run -- python train.py\n"
    "  sitepatch run mmengine-ddp-debug --set params=10 --overlay -- torchrun --nproc_per_node=8 train.py",
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option(
    "--set", "settings", metavar="NAME.option=VALUE", multiple=True, shell_complete=complete_settings,
    help="Give an option a value; repeatable. NAME. may be left out where one patchset is named.",
)  # fmt: skip
@click.option("--overlay", is_flag=True, help="Write nothing there: what is started imports patched copies from the cache.")
@click.option("--no-verify", is_flag=True, help="Do not verify what was patched.")
@ways_to_verify
@takes(as_json=False)
@takes_turns
def run(
    console: Console, place: Place, names: Tuple[str, ...], settings: Tuple[str, ...], overlay: bool, no_verify: bool,
    compile_only: bool, probe: bool, timeout: float, command: Tuple[str, ...],
) -> int:  # fmt: skip
    """Apply patchsets, then run a command in place of sitepatch.

    Without a NAME those that `[tool.sitepatch]` of pyproject.toml asks for. Where one does not fit, nothing is run, and the
    exit code is 1; else it is the command's. What sitepatch says goes to stderr.

    With --overlay nothing is written in the environment, which may be read-only: every Python process that the command
    starts imports the patched source, unless it is started with -I, -E or -S, or without PYTHONPATH.
    """
    from patcher import launch
    from patcher.verify import Asked

    if probe and no_verify:
        raise UsageError("--probe and --no-verify: found both", "a probe is part of verifying")
    program = launch.find(command[0])
    python = launch.interpreter(program, command[1:])
    if overlay and python:
        refused = launch.ignoring(python)
        if refused:
            raise UsageError(f"{command[0]} {', '.join(refused)}: the overlay would not be seen", "leave that option out")
    asked = Asked(timeout, no_verify, compile_only, probe)
    variables = dict(os.environ)
    with redirect_stdout(sys.stderr):
        env = place.environment()
        if python and place.target is None and launch.other_environment(python, env):
            console.note(f"{command[0]} runs {python.path}, and what is patched is the environment of {env.python}")
        code = _patch(console, env, *_asked_for(place, names, settings), asked, variables, overlay=overlay)
    if not code:
        launch.execute(program, command, variables)
    return code


def _asked_for(place: Place, names: Sequence[str], settings: Sequence[str]) -> Tuple[Place, Sequence[str], Sequence[str]]:
    """What is named, or without a name what the project in the working directory asks for."""
    if names:
        return place, names, settings
    if settings:
        hint = "write the option into [tool.sitepatch], or name a patchset"
        raise UsageError("--set: found no patchset that is named", hint)
    from pathlib import Path

    from patcher.project import read_project

    file = Path("pyproject.toml")
    project = read_project(file) if file.is_file() else None
    if not project or not project.wishes:
        raise UsageError("found no NAME, and no [tool.sitepatch] with patchsets in ./pyproject.toml", "name a patchset")
    texts = [f"{wish.name}.{text}" for wish in project.wishes for text in wish.settings]
    place = place._replace(patch_dirs=(*place.patch_dirs, *project.patch_dirs))
    return place, [wish.name for wish in project.wishes], texts


def _patch(
    console: Console, env: Environment, place: Place, names: Sequence[str], settings: Sequence[str], asked: Asked,
    variables: Dict[str, str], *, overlay: bool,
) -> int:  # fmt: skip
    """Apply, or lay an overlay and put it into `variables`; returns 0 where the command may run."""
    if not overlay:
        from patcher import change

        return change.apply(console, place, names, settings, asked, dry_run=False)
    from patcher.overlay.change import lay
    from patcher.overlay.make import search_path
    from patcher.ownership import check_sources
    from patcher.selection import choose

    check_sources(names, place.patch_dirs)
    wanted, notes = choose(names, settings, place.patch_dirs)
    laid = lay(console, place, env, wanted, notes, asked)
    if laid.folder and laid.good:
        variables["PYTHONPATH"] = search_path(laid.folder, variables)
    return 0 if laid.good else 1
