"""Options that several commands have, and where the errors of all end."""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any, Callable

import click

from patcher.display.console import Console
from patcher.display.usage import Choice
from patcher.errors import SitepatchError, UsageError
from patcher.message import Message, set_command_options
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.toml import option_text
from patcher.place import Place
from patcher.store import patience
from patcher.store.status import applied_names, statuses
from patcher.system import seconds_of

CommandFunction = Callable[..., int]
"""The function of a command: takes a Console and its options, and returns the exit code."""
_IN_LINE = ", as the only line on stderr before the command runs"


def common_options(
    *, environment: bool = True, sources: bool = True, in_line: bool = False
) -> Callable[[CommandFunction], CommandFunction]:
    """Give a command the shared options; it is called with a Console and returns the exit code.

    Every SitepatchError and OSError of the command ends here, as text and as an exit code.
    """
    options: list[Callable[[CommandFunction], CommandFunction]] = []
    if environment:
        options += [
            click.option(
                "--python", metavar="PATH", help="Interpreter (or venv) of the environment."
            ),
            click.option(
                "--target",
                metavar="DIR",
                help="A directory of packages, as of pip install --target.",
            ),
            click.option(
                "--system",
                is_flag=True,
                help="Also what a venv shares with others (system-site-packages).",
            ),
        ]
    if sources:
        help_text = Message("Directory of patchsets, looked at first; repeatable.")
        options.append(click.option("--patch-dir", metavar="DIR", multiple=True, help=help_text))
    options += [
        click.option(
            "--json", "as_json", is_flag=True, help=f"Answer in JSON{_IN_LINE if in_line else ''}."
        ),
        click.option("-q", "--quiet", is_flag=True, help="Only errors and what was asked for."),
        click.option("-v", "--verbose", is_flag=True, help="Show more."),
    ]

    def decorate(function: CommandFunction) -> CommandFunction:
        @wraps(function)
        def run(as_json: bool, quiet: bool, verbose: bool, **parameters: Any) -> int:
            name = "-".join(click.get_current_context().command_path.split()[1:])
            console = Console(name, as_json, quiet, verbose)
            console.kept_notes = [] if as_json and in_line else None
            where = {
                name: parameters.pop(name)
                for name in ("python", "target", "system")
                if name in parameters
            }
            console.place = Place(patch_dirs=tuple(parameters.pop("patch_dir", ())), **where)
            set_command_options(*console.place.options)
            try:
                if extra := click.get_current_context().args:
                    problem, hint = (
                        "found more than {command} takes: {words}",
                        "see: sitepatch {command} --help",
                    )
                    raise UsageError(problem, hint, command=console.name, words=" ".join(extra))
                return function(console, **parameters)
            except BrokenPipeError:
                raise
            except KeyboardInterrupt as error:
                raise KeyboardInterrupt(str(error) or console.outcome) from error
            except SitepatchError as error:
                return console.fail(error)
            except OSError as error:
                sys.stdout.flush()  # raises what cannot be written there, which `main` reports
                if isinstance(error, FileNotFoundError) and error.filename is None:  # os.getcwd
                    lost = SitepatchError(
                        "the working directory was deleted", "change to one that exists: cd DIR"
                    )
                    return console.fail(lost)
                return console.fail(SitepatchError("{error}", error=error))
            finally:
                console.end_progress()
                set_command_options("", "")

        wrapped: CommandFunction = run
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped

    return decorate


def verify_option(default: str = "import") -> Callable[[CommandFunction], CommandFunction]:
    """Give a command `--verify HOW`, its parameter `verify`; each process that verifies has two minutes."""

    def decorate(function: CommandFunction) -> CommandFunction:
        return click.option(
            "--verify",
            type=Choice(("none", "compile", "import", "probe")),
            default=default,
            show_default=True,
            help="Verify what is patched: compile it, import it too, run the patchsets' own probes too, if trusted.",
        )(function)

    return decorate


def writing_options(function: CommandFunction) -> CommandFunction:
    """Give a command `--force` and `--verify`."""
    help_text = Message(
        "Also where a file was edited by hand; the edited text is kept in the store."
    )
    return click.option("--force", is_flag=True, help=help_text)(verify_option()(function))


def project_options(function: CommandFunction) -> CommandFunction:
    """Give a command `-r` and `--project`."""
    for option in (
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


def patient(function: CommandFunction) -> CommandFunction:
    """Have a command wait for each lock as long as SITEPATCH_LOCK_TIMEOUT says, and report after a second for whom."""

    @wraps(function)
    def run(console: Console, **parameters: Any) -> int:
        with patience(
            seconds_of("SITEPATCH_LOCK_TIMEOUT", 60),
            lambda message: console.note(message, "waiting"),
        ):
            return function(console, **parameters)

    return run


# what a shell completes ------------------------------------------------------------------------------------------------
def complete_names(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """The names of patchsets that begin so; for `restore` and `status` of those that are applied, for `diff` of all."""
    try:
        there = (
            ()
            if ctx.info_name in ("restore", "status")
            else Catalogue(ctx.params.get("patch_dir") or ()).folders
        )
        names = set(there)
        if ctx.info_name in ("restore", "diff", "status"):
            env = Place(
                ctx.params.get("python"),
                ctx.params.get("target"),
                (),
                bool(ctx.params.get("system")),
            ).environment()
            names.update(applied_names(statuses(env)))
    except (SitepatchError, OSError):
        return []
    return sorted(name for name in names if name.startswith(begun))


def complete_settings(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """`NAME.option=` of the patchsets named so far, and the choices after it."""
    # click leaves them in args while --set waits for its value
    named = [
        *(ctx.params.get("names") or ()),
        *ctx.args,
    ]
    completions: list[str] = []
    try:
        catalogue = Catalogue(ctx.params.get("patch_dir") or ())
        for name in [name for name in named if name in catalogue.folders] or list(
            catalogue.folders
        ):
            for option in catalogue.find(name).patchset.options:
                head = f"{name}.{option.name}="
                values = option.choices or ((True, False) if option.type == "bool" else ())
                completions += (
                    [head + option_text(value) for value in values]
                    if begun.startswith(head)
                    else [head]
                )
    except (SitepatchError, OSError):
        return []
    return [completion for completion in completions if completion.startswith(begun)]


settings_option = click.option(
    "--set",
    "settings",
    metavar="NAME.option=VALUE",
    multiple=True,
    shell_complete=complete_settings,
    help="Give an option a value; repeatable. NAME. may be left out where one patchset is named.",
)
"""Gives a command its `--set`."""
