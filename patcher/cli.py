"""The command line: the group of all commands, and the end of the process."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import click

from patcher import __version__
from patcher.commands.checking import check
from patcher.commands.demo import demo
from patcher.commands.doctoring import doctor
from patcher.commands.explaining import explain
from patcher.commands.hooking import hook
from patcher.commands.looking import diff, list_, show, status
from patcher.commands.patching import apply, restore
from patcher.commands.ranks import ddp_report
from patcher.commands.syncing import lock, sync
from patcher.commands.verifying import verify

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(context_settings=_SETTINGS, epilog="\b\nThe whole story, on a throw-away copy:\n  sitepatch demo")
@click.version_option(__version__, prog_name="sitepatch")
def commands() -> None:
    """Patch installed Python packages by syntax, and take every change back exactly."""


for _command in (
    apply, restore, sync, lock, verify, diff, status, list_, show, explain, check, doctor, hook, ddp_report, demo,
):  # fmt: skip
    commands.add_command(_command)


def main() -> None:
    """Run the command line of this process and exit: 0 all is as asked, 1 it is not, 2 wrong usage, 130 interrupted."""
    if sys.stdout is None or sys.stderr is None:  # closed by the caller: there is nobody to tell
        nobody = open(os.devnull, "w")  # noqa: SIM115 - stays open as long as the process
        sys.stdout, sys.stderr = sys.stdout or nobody, sys.stderr or nobody
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character must not stop a command
    try:
        code = commands.main(prog_name="sitepatch", standalone_mode=False)
        sys.stdout.flush()
    except click.Abort as end:  # what click makes of Ctrl-C; the store says what became of the files
        click.echo(f"interrupted: {end.__cause__ or 'see what `sitepatch status` says'}", err=True)
        code = 130
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except BrokenPipeError:
        code = 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone: nothing is left to say
    sys.exit(code)
