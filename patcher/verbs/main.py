"""The command line: the group of all commands, and the end of the process."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword
from pathlib import Path

import click

from patcher import __version__
from patcher.display import usage
from patcher.display.language import Context, set_language
from patcher.display.styles import label, labelled, translated
from patcher.message import Message
from patcher.system.signals import drop_output, end_interrupted
from patcher.verbs.commands import SECTIONS, Group

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_COMMANDS = {name: summary for section in SECTIONS.values() for name, summary in section.items()}


class _Commands(Group):
    """Imports the module of a command when that command runs, or its own help is shown."""

    sections = SECTIONS

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module_name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = import_module(f"patcher.verbs.{module_name}").command
        return command

    def summary(self, ctx: click.Context, name: str) -> str:
        return _COMMANDS[name]


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings=_SETTINGS,
    epilog="\b\nThe whole story, on a throw-away copy:\n  sitepatch demo",
)
@click.version_option(__version__, prog_name="sitepatch")
@click.pass_context
def commands(ctx: click.Context) -> int | None:
    """Patch installed Python packages by syntax, and restore them exactly."""
    if ctx.invoked_subcommand is not None:
        return None
    from patcher.verbs.welcome import first_screen  # the help does without

    return first_screen(ctx.command.help or "")


def main() -> None:
    """Run the command line of this process, and exit.

    The exit code is 0 where all is as asked, 1 where it is not, 2 for wrong usage, 130 where it was
    interrupted; `run` exits with that of its command.
    """
    _prepare_streams()
    words = sys.argv[1:]
    if "--" in words:
        words = words[: words.index("--")]
    as_json = "--json" in words
    language = _language()
    if language and not as_json and set_language(language):  # what a program reads is English
        commands.context_class = Context

    code = _run(as_json)
    try:
        sys.stderr.flush()
    except OSError:
        drop_output(sys.stderr)
    # what is left of this process is short, and could only fail
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


def _prepare_streams() -> None:
    """Have streams that can be written to: closed ones lead nowhere, and no character fails."""
    if sys.stdout is None or sys.stderr is None:  # closed by the caller
        nowhere = Path(os.devnull).open("w")  # noqa: SIM115 - stays open as long as the process
        sys.stdout = sys.stdout or nowhere
        sys.stderr = sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # a terminal that lacks a character must not stop a command
            stream.reconfigure(errors="backslashreplace")


def _language() -> str:
    """The language of SITEPATCH_LANG, else of the locale; "" for English."""
    language = ""
    for variable in ("SITEPATCH_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        language = language or os.environ.get(variable, "")
    if language.startswith("en") or language.partition(".")[0] in ("", "C", "POSIX"):
        return ""
    return language


def _run(as_json: bool) -> int:
    """Run the command of this process; what click refuses and what stops the output becomes text.

    Returns:
        The exit code.
    """
    try:
        code: int = commands.main(prog_name="sitepatch", standalone_mode=False)
        sys.stdout.flush()
        return code
    except (
        click.Abort
    ) as end:  # what click makes of Ctrl-C; the store says what became of the files
        return end_interrupted(translated(str(end.__cause__ or "")), label("interrupted"))
    except click.ClickException as error:
        if not (as_json and usage.answer(error)):
            usage.write_last_words(usage.text(error))
        return error.exit_code
    except OSError as error:  # of stdout: a command reports itself what it could not read or write
        drop_output(sys.stdout)
        if not isinstance(error, BrokenPipeError):  # where the reader has gone nobody asks
            problem = Message("standard output: {error}", error=Message.whole(error.strerror))
            usage.write_last_words(labelled("error", problem))
        return 1
