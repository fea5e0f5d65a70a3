"""Options that several commands have, and the one place where the errors of all commands end."""

from __future__ import annotations

import os
import sys
from functools import wraps
from typing import Any, Callable, Iterable

import click

from patcher.display.console import Console
from patcher.display.usage import Choice
from patcher.errors import SitepatchError, UsageError
from patcher.message import Message, set_command_options
from patcher.model import Option
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.toml import option_text
from patcher.place import Place
from patcher.store import patience
from patcher.store.status import applied_names, statuses
from patcher.system import seconds_of
from patcher.system.advice import advice

CommandFunction = Callable[..., int]
"""The function of a command: takes a Console and its options, and returns the exit code."""
Decorator = Callable[[CommandFunction], CommandFunction]
"""Gives a command options."""

_ENVIRONMENT: tuple[Decorator, ...] = (
    click.option("--python", metavar="PATH", help="Interpreter (or venv) of the environment."),
    click.option(
        "--target", metavar="DIR", help="A directory of packages, as of pip install --target."
    ),
    click.option(
        "--system",
        is_flag=True,
        help="Also what a venv shares with others (system-site-packages).",
    ),
)
_PATCH_DIR: Decorator = click.option(
    "--patch-dir",
    metavar="DIR",
    multiple=True,
    help="Directory of patchsets, looked at first; repeatable.",
)
_JSON: Decorator = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
_JSON_IN_LINE: Decorator = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Answer in JSON, as the only line on stderr before the command runs.",
)
_QUIET: Decorator = click.option(
    "-q", "--quiet", is_flag=True, help="Only errors and what was asked for."
)
_VERBOSE: Decorator = click.option("-v", "--verbose", is_flag=True, help="Show more.")


# every command ------------------------------------------------------------------------------------
def common_options(
    *, environment: bool = True, sources: bool = True, in_line: bool = False
) -> Decorator:
    """Give a command the shared options; it is called with a Console and returns the exit code.

    Every SitepatchError and OSError of the command ends here, as text and as an exit code.

    Args:
        environment: whether it has those that name an environment.
        sources: whether it has `--patch-dir`.
        in_line: whether its JSON answer is one line on stderr, since stdout is another program's.
    """
    options: list[Decorator] = []
    if environment:
        options += _ENVIRONMENT
    if sources:
        options.append(_PATCH_DIR)
    options += [_JSON_IN_LINE if in_line else _JSON, _QUIET, _VERBOSE]

    def decorate(function: CommandFunction) -> CommandFunction:
        @wraps(function)
        def run(as_json: bool, quiet: bool, verbose: bool, **parameters: Any) -> int:
            _, *names = click.get_current_context().command_path.split()
            console = Console("-".join(names), as_json, quiet=quiet, verbose=verbose)
            if as_json and in_line:
                console.kept_notes = []
            console.place = _take_place(parameters)
            return _run(function, console, parameters)

        wrapped: CommandFunction = run
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped

    return decorate


def _take_place(parameters: dict[str, Any]) -> Place:
    """Take the parameters that make the place out of those of a command."""
    return Place(
        python=parameters.pop("python", None),
        target=parameters.pop("target", None),
        patch_dirs=tuple(parameters.pop("patch_dir", ())),
        system=parameters.pop("system", False),
    )


def _run(function: CommandFunction, console: Console, parameters: dict[str, Any]) -> int:
    """Run a command; its errors become text and an exit code."""
    set_command_options(*console.place.options)
    try:
        _refuse_extra_words(console)
        return function(console, **parameters)
    except BrokenPipeError:
        raise
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error) or console.outcome) from error
    except SitepatchError as error:
        return console.fail(error)
    except OSError as error:
        sys.stdout.flush()  # raises what cannot be written there, which `main` reports
        return console.fail(_explained(error))
    finally:
        console.end_progress()
        set_command_options("", "")


def _refuse_extra_words(console: Console) -> None:
    extra = click.get_current_context().args
    if extra:
        problem = "found more than {command} takes: {words}"
        hint = "see: sitepatch {command} --help"
        raise UsageError(problem, hint, command=console.name, words=" ".join(extra))


def _explained(error: OSError) -> SitepatchError:
    """A failing system call as an error that says what to do, where that is known."""
    if isinstance(error, FileNotFoundError) and error.filename is None:  # os.getcwd
        problem = Message("the working directory was deleted")
        return SitepatchError(problem, "change to one that exists: cd DIR")
    if error.filename is None or not error.strerror:
        return SitepatchError("{error}", error=error)
    return SitepatchError(
        "{path}: {reason}",
        advice(error.errno).elsewhere,
        path=os.fsdecode(error.filename),
        reason=Message.whole(error.strerror),
    )


# some commands ------------------------------------------------------------------------------------
def verify_option(default: str = "import") -> Decorator:
    """Give a command `--verify HOW`, its parameter `verify`."""
    option: Decorator = click.option(
        "--verify",
        type=Choice(("none", "compile", "import", "probe")),
        default=default,
        show_default=True,
        help=(
            "Verify what is patched: compile it, import it too, "
            "run the patchsets' own probes too, if trusted."
        ),
    )
    return option


def writing_options(function: CommandFunction) -> CommandFunction:
    """Give a command `--force` and `--verify`."""
    force: Decorator = click.option(
        "--force",
        is_flag=True,
        help="Also where a file was edited by hand; the edited text is kept in the store.",
    )
    return force(verify_option()(function))


def project_options(function: CommandFunction) -> CommandFunction:
    """Give a command `-r` and `--project`."""
    requirement: Decorator = click.option(
        "-r",
        "--requirement",
        "requirements",
        metavar="FILE",
        type=click.Path(),
        multiple=True,
        help=('Read comments "# sitepatch: NAME option=VALUE" of a requirements file; repeatable.'),
    )
    project: Decorator = click.option(
        "--project",
        metavar="DIR",
        type=click.Path(),
        default=".",
        show_default=True,
        help="The directory of pyproject.toml, whose [tool.sitepatch] is read.",
    )
    return requirement(project(function))


def patient(function: CommandFunction) -> CommandFunction:
    """Have a command wait for each lock as long as SITEPATCH_LOCK_TIMEOUT says.

    After a second it reports for whom it waits.
    """

    @wraps(function)
    def run(console: Console, **parameters: Any) -> int:
        def report(message: str) -> None:
            console.note(message, "waiting")

        with patience(seconds_of("SITEPATCH_LOCK_TIMEOUT", 60), report):
            return function(console, **parameters)

    return run


# what a shell completes ---------------------------------------------------------------------------
def complete_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names of patchsets that begin so.

    For `restore` and `status` those that are applied, for `diff` all, for other commands those that
    can be named.
    """
    names: set[str] = set()
    try:
        if ctx.info_name not in ("restore", "status"):
            names.update(Catalogue(ctx.params.get("patch_dir") or ()).folders)
        if ctx.info_name in ("restore", "diff", "status"):
            place = Place(
                python=ctx.params.get("python"),
                target=ctx.params.get("target"),
                system=bool(ctx.params.get("system")),
            )
            names.update(applied_names(statuses(place.environment())))
    except (SitepatchError, OSError):
        return []
    return sorted(name for name in names if name.startswith(incomplete))


def complete_settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """`NAME.option=` of the patchsets named so far, and the choices after it."""
    # click leaves the names in args while --set waits for its value
    words = [*(ctx.params.get("names") or ()), *ctx.args]
    completions: list[str] = []
    try:
        catalogue = Catalogue(ctx.params.get("patch_dir") or ())
        named = [name for name in words if name in catalogue.folders]
        for name in named or list(catalogue.folders):
            options = catalogue.find(name).patchset.options
            completions += _setting_completions(name, options, incomplete)
    except (SitepatchError, OSError):
        return []
    return [completion for completion in completions if completion.startswith(incomplete)]


def _setting_completions(name: str, options: Iterable[Option], incomplete: str) -> list[str]:
    completions: list[str] = []
    for option in options:
        head = f"{name}.{option.name}="
        if not incomplete.startswith(head):
            completions.append(head)
            continue
        values = option.choices
        if not values and option.type == "bool":
            values = (True, False)
        completions += [head + option_text(value) for value in values]
    return completions


settings_option = click.option(
    "--set",
    "settings",
    metavar="NAME.option=VALUE",
    multiple=True,
    shell_complete=complete_settings,
    help=("Give an option a value; repeatable. NAME. may be left out where one patchset is named."),
)
"""Gives a command its `--set`."""
