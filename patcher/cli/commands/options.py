"""Options that several commands have, and what a tab completes: names of patchsets, and `--set`."""

from __future__ import annotations

import os
from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, List

import click

from patcher.cli.console import Console
from patcher.errors import SitepatchError, UsageError
from patcher.ops.place import Place

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from patcher.verify.checks import VerifyOptions


def complete_names(ctx: click.Context, param: click.Parameter, begun: str) -> List[CompletionItem]:
    """Names of patchsets, and those that are applied where that matters."""
    from click.shell_completion import CompletionItem

    from patcher.patchset.sources import patchset_folders

    try:
        names = set(patchset_folders(ctx.params.get("patch_dir") or (), os.getcwd()))
        if ctx.info_name in ("restore", "diff", "verify"):
            from patcher.store.status import statuses

            env = Place(ctx.params.get("python"), ctx.params.get("target"), (), bool(ctx.params.get("system"))).environment()
            names |= {step.patchset for item in statuses(env) for step in item.receipt.steps}
    except (SitepatchError, OSError):
        return []
    return [CompletionItem(name) for name in sorted(names) if name.startswith(begun)]


def complete_settings(ctx: click.Context, param: click.Parameter, begun: str) -> List[CompletionItem]:
    """`NAME.option=` of the patchsets named so far, and the choices after it."""
    from click.shell_completion import CompletionItem

    from patcher.project.selection import settings_for_completion

    dirs = ctx.params.get("patch_dir") or ()
    named = [*(ctx.params.get("names") or ()), *ctx.args]  # click leaves them in args while --set waits for its value
    try:
        return [CompletionItem(text) for text in settings_for_completion(begun, named, dirs)]
    except (SitepatchError, OSError):
        return []


sets_options = click.option(
    "--set",
    "settings",
    metavar="NAME.option=VALUE",
    multiple=True,
    shell_complete=complete_settings,
    help="Give an option a value; repeatable. NAME. may be left out where one patchset is named.",
)
"""Gives a command its `--set`."""


def ways_to_verify(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command `--compile-only`, `--probe` and `--timeout`."""
    for option in (
        click.option(
            "--timeout",
            metavar="SECONDS",
            type=click.FloatRange(0.1, 86400),
            default=120.0,
            show_default=True,
            help="How long each process that verifies may take.",
        ),
        click.option("--probe", is_flag=True, help="Also run the probes of the patchsets: their own code, if trusted."),
        click.option("--compile-only", is_flag=True, help="Verify by compiling alone; import nothing."),
    ):
        function = option(function)
    return function


def ways_to_write(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command `--force`, `--no-verify`, and the options of `ways_to_verify`."""
    for option in (
        ways_to_verify,
        click.option("--no-verify", is_flag=True, help="Do not verify what was written."),
        click.option(
            "--force", is_flag=True, help="Also where a file was edited by hand; the edited text is kept in the store."
        ),
    ):
        function = option(function)
    return function


def verify_options(timeout: float, compile_only: bool, probe: bool, no_verify: bool = False) -> VerifyOptions:
    """How to verify, from the options of `ways_to_verify` and `--no-verify`."""
    from patcher.verify.checks import VerifyOptions

    if probe and no_verify:
        raise UsageError("--probe and --no-verify: found both", "a probe is part of verifying")
    return VerifyOptions(timeout, no_verify, compile_only, probe)


def names_a_project(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command `-r`, `--project` and `--lock`."""
    for option in (
        click.option(
            "--lock",
            "lock_file",
            metavar="FILE",
            type=click.Path(),
            default="",
            help="Default: sitepatch.lock beside pyproject.toml.",
        ),
        click.option(
            "--project",
            metavar="DIR",
            type=click.Path(),
            default=".",
            show_default=True,
            help="The directory of pyproject.toml, whose [tool.sitepatch] is read.",
        ),
        click.option(
            "-r",
            "--requirement",
            "requirements",
            metavar="FILE",
            type=click.Path(),
            multiple=True,
            help='Read comments "# sitepatch: NAME option=VALUE" of a requirements file; repeatable.',
        ),
    ):
        function = option(function)
    return function


def answers_in(*forms: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command `--format`, which takes these; the first is the default, and the only one beside `--json`."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def run(console: Console, place: Place, form: str, **rest: Any) -> int:
            if console.as_json and form != forms[0]:
                raise UsageError(f"--format {form} and --json: found both, expected one")
            try:
                return function(console, place, form=form, **rest)
            except SitepatchError as error:
                if form == "github":
                    from patcher.cli.answers.annotations import of_error

                    console.out(of_error(f"sitepatch {console.command}", error))
                raise

        return click.option("--format", "form", type=click.Choice(forms), default=forms[0], help="Form of the answer.")(run)

    return decorate


def takes_turns(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command that writes `--lock-timeout`, and call it again where another process was faster."""

    @wraps(function)
    def run(console: Console, place: Place, lock_timeout: float, **rest: Any) -> int:
        from patcher.store.lock import patience
        from patcher.store.retry import again

        with patience(lock_timeout, lambda text: console.note(text, "waiting")):
            return again(lambda: function(console, place, **rest), console.note)

    wrapped: Callable[..., int] = waits(run)
    return wrapped


waits = click.option(
    "--lock-timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    default=60.0,
    show_default=True,
    envvar="SITEPATCH_LOCK_TIMEOUT",
    show_envvar=True,
    help="How long to wait for another process that changes the environment.",
)
"""Gives a command its `--lock-timeout`."""
