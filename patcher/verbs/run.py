"""`run`: apply patchsets, or lay them over, then run a command in place of sitepatch."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from contextlib import redirect_stdout
from typing import Sequence

import click

from patcher.display.console import Console
from patcher.errors import UsageError
from patcher.message import Message
from patcher.project.request import ProjectFiles
from patcher.verbs import launch
from patcher.verbs.apply import report_applied
from patcher.verbs.options import (
    common_options,
    complete_names,
    patient,
    project_options,
    settings_option,
    verify_option,
)


class _Launcher(click.Command):
    """A command whose parameter `words` is what follows `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        has_separator = "--" in args
        at = args.index("--") if has_separator else len(args)
        command = tuple(args[at + 1 :])
        rest: list[str] = []
        try:
            rest = super().parse_args(ctx, args[:at])
        except click.NoSuchOption:
            if has_separator:
                raise  # else it belongs to the command, as `-c` does
        if not command and not ctx.resilient_parsing:
            raise click.UsageError(_no_command(args, has_separator=has_separator), ctx)
        ctx.params["words"] = command
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


def _no_command(args: Sequence[str], *, has_separator: bool) -> str:
    """What is wrong with words in which there is no command, and how they are written."""
    words = "[NAME]... [OPTIONS] -- COMMAND..."
    for number, word in enumerate(args):
        if word.startswith("-"):
            break
        if shutil.which(word):
            words = shlex.join([*args[:number], "--", *args[number:]])
            break
    if has_separator:
        template = "there is no command behind `--`; write: sitepatch run {words}"
    else:
        template = "there is no `--` in front of the command; write: sitepatch run {words}"
    return Message(template, words=words)


@click.command(
    "run",
    cls=_Launcher,
    epilog=(
        "\b\nExamples:\n"
        "  sitepatch run -- python train.py\n"
        "  sitepatch run mmengine-ddp-debug --set params=10 --overlay "
        "-- torchrun --nproc_per_node=8 train.py"
    ),
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@settings_option
@project_options
@click.option(
    "--overlay",
    is_flag=True,
    help="Write nothing there: what is started imports patched copies from the cache.",
)
@verify_option()
@common_options(in_line=True)
@patient
def command(
    console: Console,
    names: tuple[str, ...],
    settings: tuple[str, ...],
    project: str,
    requirements: tuple[str, ...],
    overlay: bool,
    verify: str,
    words: tuple[str, ...],
) -> int:
    """Apply patchsets, then run a command in place of sitepatch.

    Without a NAME the environment is brought in line with the project, as by sync. Where something
    does not fit, nothing is run, and the exit code is 1; else it is the command's. The output of
    sitepatch itself goes to stderr.

    With --overlay nothing is written in the environment, which may be read-only: every Python
    process that the command starts imports the patched source, unless it is started with -I, -E or
    -S, or without PYTHONPATH.
    """
    if names and (requirements or project != "."):
        problem = Message("found a NAME and a project")
        raise UsageError(problem, "without a NAME it is what the project asks for")
    if settings and not names:
        problem = Message("--set: found no patchset that is named")
        raise UsageError(problem, "name one, or write the option where the project asks")

    files = None if names else ProjectFiles(project, requirements)
    program = launch.find_program(words[0])
    variables = dict(os.environ)
    with redirect_stdout(sys.stderr):
        _warn_of_other_environment(console, program, words[0])
        if overlay:
            from patcher.verbs.overlay import lay_over  # not for a `run` that applies

            code = lay_over(
                console, names, settings, project=files, verify=verify, variables=variables
            )
        else:
            code = _apply(console, names, settings, files, verify=verify)
    if code == 0:
        launch.execute(program, words, variables)
    return code


def _warn_of_other_environment(console: Console, program: str, name: str) -> None:
    """Note where a program runs in another environment than the one that is patched."""
    env = console.place.environment()
    python = launch.interpreter_of(program)
    if not python or console.place.target is not None:
        return
    if launch.other_environment(python, env):
        template = "{command} runs {path}, and what is patched is the environment of {python}"
        console.note(template, command=name, path=python, python=env.python)


def _apply(
    console: Console,
    names: Sequence[str],
    settings: Sequence[str],
    files: ProjectFiles | None,
    *,
    verify: str,
) -> int:
    """Apply what is named, or what the project requests; returns the exit code."""
    if files is None:
        return report_applied(console, names, settings, verify=verify)
    from patcher.verbs.sync import report_synced  # not where patchsets are named

    return report_synced(console, files, verify)
