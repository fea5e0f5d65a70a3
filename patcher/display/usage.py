"""A command line that click refuses: what is wrong with it, in our words."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from typing import Any

import click

from patcher.display.styles import labelled, translated
from patcher.message import Message
from patcher.text.listed import listed, nearest, suggest
from patcher.text.terminal import printable_lines

_USUAL_OPTIONS = {"-n": "--dry-run", "-f": "--force", "-V": "--version"}
"""What other tools call an option: the one of ours, for the commands that have it."""

_OPTIONS_WITH_RANGES = ("--to", "--against")


class Choice(click.Choice):  # type: ignore[type-arg]
    """One of a few words."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The word; click.BadParameter for any other."""
        if value not in self.choices:
            problem = 'found "{value}", expected {choices}{meant}'
            meant = suggest(str(value), self.choices)
            self.fail(
                Message(problem, value=value, choices=listed(self.choices, "or"), meant=meant),
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


class _Ranged:
    """Refuses what is no number of its range, in our words; `nan`, which is in every range for click, is none."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The number; click.BadParameter for anything else."""
        try:
            number = super().convert(value, param, ctx)  # type: ignore[misc]
        except click.BadParameter:
            number = None
        if number is None or number != number:
            low, high = self.min, self.max  # type: ignore[attr-defined]
            below = 'found "{value}", expected a number from {low}'
            between = 'found "{value}", expected a number from {low} to {high}'
            problem = below if high is None else between
            self.fail(Message(problem, value=value, low=low, high=high), param, ctx)  # type: ignore[attr-defined]
        return number


class Number(_Ranged, click.FloatRange):
    """A number in a range."""


class Whole(_Ranged, click.IntRange):
    """A whole number in a range."""


def write_last_words(text: str) -> None:
    """Write why this process ends to stderr; where that cannot be written, the exit code still tells."""
    with suppress(OSError):
        click.echo(text, err=True)


def _options(ctx: click.Context) -> list[str]:
    """The options of a command, as they are written."""
    return [name for parameter in ctx.command.get_params(ctx) for name in parameter.opts]


def problem(error: click.ClickException) -> str:
    """What is wrong with a command line, as a message."""
    if isinstance(error, click.NoSuchOption):
        alike = nearest(
            error.option_name.lstrip("-"),
            [name.lstrip("-") for name in error.possibilities or ()],
            1,
        )
        # dashes alone make no two options alike
        meant = suggest(error.option_name, [f"--{name}" for name in alike])
        usual = _USUAL_OPTIONS.get(error.option_name)
        if usual and error.ctx and usual in _options(error.ctx):
            meant = Message('; did you mean "{name}"?', name=usual)
        group = error.ctx.command if error.ctx else None
        names = (
            group.list_commands(error.ctx) if error.ctx and isinstance(group, click.Group) else []
        )
        command = next((word for word in sys.argv[1:] if word in names), "")
        template = "; options stand behind the command: sitepatch {command} {option}"
        meant = Message(template, command=command, option=error.option_name) if command else meant
        return Message("there is no option {option}{meant}", option=error.option_name, meant=meant)
    if isinstance(error, click.MissingParameter) and error.param:
        name = error.param.get_error_hint(error.ctx).strip("'")
        known = (
            Message("; those that can be named: sitepatch list") if name.startswith("NAME") else ""
        )
        if name == "--name":
            known = Message(
                "; write: {words}", words=shlex.join(["sitepatch", *sys.argv[1:], name, "NAME"])
            )
        return Message("{name} is missing{known}", name=name, known=known)
    if isinstance(error, click.BadParameter) and error.param and isinstance(error.message, Message):
        name = error.param.get_error_hint(error.ctx).strip("'")
        return Message("{name}: {problem}", name=name, problem=error.message)
    if isinstance(error, click.BadOptionUsage):
        if any(word.startswith(f"{error.option_name}=") for word in sys.argv):
            return Message("{option} takes no value", option=error.option_name)
        if error.option_name in _OPTIONS_WITH_RANGES:
            return Message(
                "{option} needs a value; quote a range, or the shell takes `>` for a redirection: "
                "{option} '>=2.4'",
                option=error.option_name,
            )
        return Message("{option} needs a value", option=error.option_name)
    return error.message if isinstance(error.message, Message) else error.format_message()


def text(error: click.ClickException) -> str:
    """How the command is used, and what is wrong."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return printable_lines(error.format_message())
    see = Message(
        "Try '{command} --help' for help.", command=context.command_path if context else "sitepatch"
    )
    head = f"{context.get_usage()}\n{translated(see)}\n\n" if context else ""
    return printable_lines(head) + labelled("error", problem(error), fg="red", bold=True)


def answer(error: click.ClickException) -> bool:
    """Write a JSON answer about it; returns whether stderr is to have nothing else."""
    from patcher.display.console import Console

    context = getattr(error, "ctx", None)
    path = context.command_path if context else "sitepatch"
    console = Console("-".join(path.split()[1:]) or path, True, False, False)
    console.kept_notes = [] if console.name == "run" else None
    hint = Message("see: {path} --help", path=path)
    console.answer(
        False, {"error": {"message": problem(error), "hint": hint, "exit_code": error.exit_code}}
    )
    return console.kept_notes is not None
