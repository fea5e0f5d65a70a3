"""The command line: the group of all commands, and the end of the process."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from io import TextIOWrapper
from keyword import iskeyword

import click

from patcher import __version__
from patcher.display import usage
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
        command: click.Command = import_module(
            f"patcher.verbs.{cmd_name}{'_' * iskeyword(cmd_name)}"
        ).command
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
    from patcher.display.console import Console
    from patcher.verbs.welcome import welcome

    return welcome(Console("sitepatch", False, False, False), ctx.command.help or "")


def _language() -> str:
    """The language of SITEPATCH_LANG, else of the locale; "" for English."""
    variables = ("SITEPATCH_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
    language = next(filter(None, map(os.environ.get, variables)), "")
    return (
        ""
        if language.partition(".")[0] in ("", "C", "POSIX") or language.startswith("en")
        else language
    )


def main() -> None:
    """Run the command line of this process and exit: 0 all is as asked, 1 it is not, 2 wrong usage, 130 interrupted."""
    if sys.stdout is None or sys.stderr is None:  # closed by the caller
        nobody = open(os.devnull, "w")  # noqa: SIM115 - stays open as long as the process
        sys.stdout, sys.stderr = sys.stdout or nobody, sys.stderr or nobody
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # a terminal that lacks a character must not stop a command
            stream.reconfigure(errors="backslashreplace")
    as_json = "--json" in sys.argv[1 : sys.argv.index("--") if "--" in sys.argv else None]
    if language := "" if as_json else _language():  # what a program reads is English
        from patcher.display.language import Context, set_language

        if set_language(language):
            commands.context_class = Context
    try:
        code = commands.main(prog_name="sitepatch", standalone_mode=False)
        sys.stdout.flush()
    except (
        click.Abort
    ) as end:  # what click makes of Ctrl-C; the store says what became of the files
        code = end_interrupted(translated(str(end.__cause__ or "")), label("interrupted"))
    except click.ClickException as error:
        code = error.exit_code
        if not (as_json and usage.answer(error)):
            usage.write_last_words(usage.text(error))
    except OSError as error:  # of the standard output: what a command itself could not read or write has been told
        code = 1
        drop_output(sys.stdout)
        if not isinstance(error, BrokenPipeError):  # where the reader has gone nobody asks
            problem = Message("standard output: {error}", error=Message.whole(error.strerror))
            usage.write_last_words(labelled("error", problem))
    try:
        sys.stderr.flush()
    except OSError:
        drop_output(sys.stderr)
    # what is left of this process is short, and could only fail
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)
