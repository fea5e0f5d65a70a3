"""`run`."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, List, Tuple, Union

import click

from patcher.cli.answers.outcome import show_plan, verified_json, verified_rows
from patcher.cli.answers.plan import plan_json
from patcher.cli.commands.apply import report_applied
from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names, patient, project_options, settings_option, verify_option
from patcher.cli.styles import Row
from patcher.cli.translation import translated
from patcher.errors import UsageError
from patcher.message import Message
from patcher.ops.outcome import ApplyRequest, Outcome
from patcher.target import launch
from patcher.text.listed import count

if TYPE_CHECKING:
    from patcher.ops.project import SyncRequest


class _Launcher(click.Command):
    """A command whose parameter `command` is what follows `--`."""

    def parse_args(self, ctx: click.Context, args: List[str]) -> List[str]:
        at = args.index("--") if "--" in args else len(args)
        command = tuple(args[at + 1 :])
        left: List[str] = []
        try:
            left = super().parse_args(ctx, args[:at])
        except click.NoSuchOption:
            if at < len(args):
                raise  # else it belongs to the command, as `-c` does
        if not command and not ctx.resilient_parsing:
            found = Message("nothing behind it" if at < len(args) else "no `--`")
            text = Message("Found {found}; expected: sitepatch run [NAME]... [OPTIONS] -- COMMAND...", found=found)
            raise click.UsageError(translated(text), ctx)
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
@settings_option
@project_options
@click.option("--locked", is_flag=True, help="Without a NAME: run nothing where anything differs from the lock.")
@click.option("--overlay", is_flag=True, help="Write nothing there: what is started imports patched copies from the cache.")
@verify_option()
@common_options(in_line=True)
@patient
def run(
    console: Console,
    names: Tuple[str, ...],
    settings: Tuple[str, ...],
    project: str,
    requirements: Tuple[str, ...],
    lock_file: str,
    locked: bool,
    overlay: bool,
    verify: str,
    command: Tuple[str, ...],
) -> int:
    """Apply patchsets, then run a command in place of sitepatch.

    Without a NAME the environment is made what the project asks for, as by sync. Where something does not fit, nothing is
    run, and the exit code is 1; else it is the command's. The output of sitepatch itself goes to stderr.

    With --overlay nothing is written in the environment, which may be read-only: every Python process that the command
    starts imports the patched source, unless it is started with -I, -E or -S, or without PYTHONPATH.
    """
    if lock_file and not locked:
        raise UsageError("--lock: found no --locked, without which no lock is looked at")
    if names and (requirements or locked or project != "."):
        raise UsageError("found a NAME and a project", "without a NAME it is what the project asks for")
    if settings and not names:
        raise UsageError("--set: found no patchset that is named", "name one, or write the option where the project asks")
    program = launch.find_program(command[0])
    python = launch.interpreter_of(program, command[1:])
    if overlay and python:
        refused = launch.ignoring(python)
        if refused:
            raise UsageError(
                "{command} {options}: it would run unpatched",
                Message("leave that option out"),
                command=command[0],
                options=", ".join(refused),
            )
    variables = dict(os.environ)
    with redirect_stdout(sys.stderr):
        env = console.place.environment()
        if python and console.place.target is None and launch.other_environment(python, env):
            console.note(
                "{command} runs {path}, and what is patched is the environment of {python}",
                command=command[0],
                path=python.path,
                python=env.python,
            )
        if overlay and env.root:
            raise UsageError(
                "--overlay: found an image, {root}, whose Python is not run here",
                Message("apply to it instead"),
                root=env.root,
            )
        request: Union[ApplyRequest, SyncRequest]
        if names:
            request = ApplyRequest(console.place, names, settings, verify)
        else:
            from patcher.ops.project import SyncRequest
            from patcher.project.request import ProjectFiles

            request = SyncRequest(console.place, ProjectFiles(project, requirements, lock_file, locked), verify)
        if overlay:
            from patcher.overlay.make import search_path

            made = _lay_over(console, request)
            code = 0 if made.ok else 1
            if made.ok and made.overlay:
                variables["PYTHONPATH"] = search_path(made.overlay, variables)
        elif isinstance(request, ApplyRequest):
            code = report_applied(console, request)
        else:
            from patcher.cli.commands.sync import report_synced

            code = report_synced(console, request)
    if not code:
        launch.execute(program, command, variables)
    return code


def _lay_over(console: Console, request: Union[ApplyRequest, SyncRequest]) -> Outcome:
    """Make an overlay, and report it."""
    from patcher.ops.overlay import make_overlay

    console.on_plan = show_plan
    outcome = make_overlay(request, console)
    verified = outcome.verified
    if outcome.plan.failed:
        hunks = count(len(outcome.plan.answers), "hunk")
        console.note("nothing was run: {number} of {hunks} failed", "stopped", number=len(outcome.plan.failed), hunks=hunks)
    elif outcome.overlay is None:
        console.info("nothing to lay over: what is asked for stands there already, or is not needed")
    console.rows(verified_rows(verified, quiet=console.quiet) if verified else [])
    if verified and verified.failed:
        console.note("nothing was run: verification failed", "stopped")
    elif outcome.overlay:
        files = count(sum(file.before != file.after for file in outcome.plan.files), "file")
        console.info_rows([Row("overlay", (Message("{files} in {overlay}", files=files, overlay=outcome.overlay),))])
    if console.as_json:
        fields = {"patchsets": list(outcome.patchsets), "overlay": str(outcome.overlay or ""), **plan_json(outcome.plan)}
        console.answer(outcome.ok, {**fields, **({"verify": verified_json(verified)} if verified else {})})
    return outcome
