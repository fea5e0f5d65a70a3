"""`run`: apply patchsets, or lay them over, then run a command in place of sitepatch."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Sequence

import click

from patcher.display.console import Console
from patcher.display.rows import plan_json
from patcher.display.styles import Row
from patcher.errors import UsageError
from patcher.facts import Wanted
from patcher.message import Message
from patcher.model import FilePlan
from patcher.patchset.selection import choose
from patcher.place import HERE, SILENT, Events, Outcome, Place
from patcher.planner.survey import make_plan
from patcher.store.retry import retry, settled
from patcher.text.listed import Texts, count
from patcher.verbs import launch
from patcher.verbs.apply import report_applied
from patcher.verbs.change import note_interrupted, verify_settings
from patcher.verbs.options import (
    common_options,
    complete_names,
    patient,
    project_options,
    settings_option,
    verify_option,
)
from patcher.verbs.report import show_plan, verified_json, verified_rows, what_failed
from patcher.verify import IMPORT, PROBE, Verified, VerifySettings

if TYPE_CHECKING:
    from patcher.model import Requested
    from patcher.project.request import ProjectFiles


def make_overlay(
    names: Texts = (),
    settings: Texts = (),
    *,
    project: ProjectFiles | None = None,
    place: Place = HERE,
    verify: str = IMPORT,
    events: Events = SILENT,
) -> Outcome:
    """Make an overlay of what `apply` of these names, or `sync` of a project, would write; nothing else is written.

    Raises:
        SitepatchError: what keeps it from making a plan or an overlay.
    """
    from patcher.overlay import make  # not for every `run`

    env, patch_dirs = place.environment(), place.patch_dirs
    if project:
        from patcher.project.request import read_request  # reads TOML: not where names are given

        asked_for = read_request(project, patch_dirs)
        requested, notes, patch_dirs = asked_for.patchsets, asked_for.notes, asked_for.patch_dirs
        planned = partial(make_plan, env, Wanted(requested, None))
    else:
        named, shadows = choose(names, settings, patch_dirs, trusted=True)
        requested, notes = tuple(named), tuple(shadows)
        planned = partial(make_plan, env, Wanted(requested))
    verification = verify_settings(
        place, env, verify, [item.patchset for item in requested], events
    )
    events.started(env, requested)
    note_interrupted(env, events)

    def make_one() -> Outcome:
        plan = settled(env, planned)
        plan = plan._replace(notes=(*notes, *plan.notes))
        meant = tuple(item.patchset.name for item in requested)
        outcome = Outcome(place._replace(patch_dirs=patch_dirs), env, plan, meant, requested)
        files = make.overlay_files(plan)
        return (
            outcome
            if plan.failed or not files
            else outcome._replace(overlay=make.write_overlay(files))
        )

    outcome = retry(make_one, events.note)
    events.planned(outcome)
    if not outcome.overlay or not verification:
        return outcome
    return outcome._replace(
        verified=_verified(
            make.overlay_files(outcome.plan), requested, verification, outcome.overlay
        )
    )


def _verified(
    files: Sequence[FilePlan],
    requested: Sequence[Requested],
    verification: VerifySettings,
    folder: Path,
) -> Verified | None:
    """The outcome of verifying the overlay; None where it was verified before, which is not repeated but for probes."""
    from patcher.overlay import make

    mark = folder / make.VERIFIED
    if mark.exists() and verification.how != PROBE:
        return None
    from patcher.verify.run import verify_files  # with subprocess

    verified = verify_files(
        files, [item.patchset for item in requested], verification, in_memory=True
    )
    if verification.imports and not verified.failed:
        mark.touch()
    return verified


class _Launcher(click.Command):
    """A command whose parameter `command` is what follows `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        command = tuple(args[at + 1 :])
        left: list[str] = []
        try:
            left = super().parse_args(ctx, args[:at])
        except click.NoSuchOption:
            if at < len(args):
                raise  # else it belongs to the command, as `-c` does
        if not command and not ctx.resilient_parsing:
            import shlex  # not for every `run`
            import shutil

            plain = takewhile(lambda word: not word.startswith("-"), args)
            starts = next((number for number, word in enumerate(plain) if shutil.which(word)), -1)
            words = (
                "[NAME]... [OPTIONS] -- COMMAND..."
                if starts < 0
                else shlex.join([*args[:starts], "--", *args[starts:]])
            )
            none = "there is no command behind `--`; write: sitepatch run {words}"
            template = (
                none
                if at < len(args)
                else "there is no `--` in front of the command; write: sitepatch run {words}"
            )
            raise click.UsageError(Message(template, words=words), ctx)
        ctx.params["words"] = command
        return left

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


@click.command(
    "run",
    cls=_Launcher,
    epilog="\b\nExamples:\n  sitepatch run -- python train.py\n"
    "  sitepatch run mmengine-ddp-debug --set params=10 --overlay -- torchrun --nproc_per_node=8 train.py",
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

    Without a NAME the environment is made what the project asks for, as by sync. Where something does not fit, nothing is
    run, and the exit code is 1; else it is the command's. The output of sitepatch itself goes to stderr.

    With --overlay nothing is written in the environment, which may be read-only: every Python process that the command
    starts imports the patched source, unless it is started with -I, -E or -S, or without PYTHONPATH.
    """
    if names and (requirements or project != "."):
        raise UsageError(
            "found a NAME and a project", "without a NAME it is what the project asks for"
        )
    if settings and not names:
        raise UsageError(
            "--set: found no patchset that is named",
            "name one, or write the option where the project asks",
        )
    program = launch.find_program(words[0])
    python = launch.interpreter_of(program)
    variables = dict(os.environ)
    with redirect_stdout(sys.stderr):
        env = console.place.environment()
        if python and console.place.target is None and launch.other_environment(python, env):
            console.note(
                "{command} runs {path}, and what is patched is the environment of {python}",
                command=words[0],
                path=python,
                python=env.python,
            )
        from patcher.project.request import ProjectFiles

        files = ProjectFiles(project, requirements)
        if overlay:
            from patcher.overlay import make

            overlaid = _lay_over(console, names, settings, None if names else files, verify)
            code = 0 if overlaid.ok else 1
            if overlaid.ok and overlaid.overlay:
                variables["PYTHONPATH"] = make.search_path(overlaid.overlay, variables)
        elif names:
            code = report_applied(console, names, settings, verify)
        else:
            from patcher.verbs.sync import report_synced

            code = report_synced(console, files, verify)
    if not code:
        launch.execute(program, words, variables)
    return code


def _lay_over(
    console: Console, names: Texts, settings: Texts, project: ProjectFiles | None, verify: str
) -> Outcome:
    """Make an overlay, and report it."""
    console.on_plan = show_plan
    outcome = make_overlay(
        names, settings, project=project, place=console.place, verify=verify, events=console
    )
    verified = outcome.verified
    if outcome.plan.failed:
        reason = what_failed(outcome.plan)
        console.note("nothing was run: {reason}", "stopped", reason=reason)
    elif outcome.overlay is None:
        console.info("nothing to overlay: what is asked for is applied already, or not needed")
    console.rows(verified_rows(console, verified) if verified else [])
    if verified and verified.failed:
        console.note("nothing was run: verification failed", "stopped")
    elif outcome.overlay:
        files = count(sum(file.before != file.after for file in outcome.plan.files), "file")
        console.info_rows(
            [
                Row(
                    "overlay",
                    (Message("{files} in {overlay}", files=files, overlay=outcome.overlay),),
                )
            ]
        )
    if console.as_json:
        fields = {
            "patchsets": outcome.patchsets,
            "overlay": outcome.overlay or "",
            **plan_json(outcome.plan),
        }
        console.answer(
            outcome.ok, {**fields, **({"verify": verified_json(verified)} if verified else {})}
        )
    return outcome
