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
            template = 'found "{value}", expected {choices}{meant}'
            choices = listed(self.choices, "or")
            meant = suggest(str(value), self.choices)
            problem = Message(template, value=value, choices=choices, meant=meant)
            self.fail(problem, param, ctx)
        return super().convert(value, param, ctx)


class _Ranged:
    """Refuses what is no number of its range, in our words.

    `nan`, which is in every range for click, is none.
    """

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The number; click.BadParameter for anything else."""
        try:
            number = super().convert(value, param, ctx)  # type: ignore[misc]
        except click.BadParameter:
            number = None
        if number is None or number != number:
            low, high = self.min, self.max  # type: ignore[attr-defined]
            template = 'found "{value}", expected a number from {low}'
            if high is not None:
                template = 'found "{value}", expected a number from {low} to {high}'
            problem = Message(template, value=value, low=low, high=high)
            self.fail(problem, param, ctx)  # type: ignore[attr-defined]
        return number


class Number(_Ranged, click.FloatRange):
    """A number in a range."""


class Whole(_Ranged, click.IntRange):
    """A whole number in a range."""


def write_last_words(text: str) -> None:
    """Write why this process ends to stderr; where that fails, the exit code still tells."""
    with suppress(OSError):
        click.echo(text, err=True)


def problem(error: click.ClickException) -> str:
    """What is wrong with a command line, as a message."""
    if isinstance(error, click.NoSuchOption):
        return _unknown_option(error)
    if isinstance(error, click.MissingParameter) and error.param:
        return _missing(error)
    said = error.message
    if isinstance(error, click.BadParameter) and error.param and isinstance(said, Message):
        name = error.param.get_error_hint(error.ctx).strip("'")
        return Message("{name}: {problem}", name=name, problem=said)
    if isinstance(error, click.BadOptionUsage):
        option = error.option_name
        if any(word.startswith(f"{option}=") for word in sys.argv):
            return Message("{option} takes no value", option=option)
        if option in _OPTIONS_WITH_RANGES:
            return Message(
                "{option} needs a value; quote a range, or the shell takes `>` for a redirection: "
                "{option} '>=2.4'",
                option=option,
            )
        return Message("{option} needs a value", option=option)
    return said if isinstance(said, Message) else error.format_message()


def _unknown_option(error: click.NoSuchOption) -> str:
    """That there is no such option, and which one may be meant."""
    option = error.option_name
    context = error.ctx
    if context is not None and isinstance(context.command, click.Group):
        for word in sys.argv[1:]:
            if word in context.command.list_commands(context):
                template = "; options stand behind the command: sitepatch {command} {option}"
                meant: str = Message(template, command=word, option=option)
                return Message("there is no option {option}{meant}", option=option, meant=meant)
    # dashes alone make no two options alike
    known = [name.lstrip("-") for name in error.possibilities or ()]
    alike = nearest(option.lstrip("-"), known, 1)
    meant = suggest(option, [f"--{name}" for name in alike])
    usual = _USUAL_OPTIONS.get(option)
    if usual and context is not None and usual in _options(context):
        meant = Message('; did you mean "{name}"?', name=usual)
    return Message("there is no option {option}{meant}", option=option, meant=meant)


def _options(context: click.Context) -> list[str]:
    """The options of a command, as they are written."""
    names: list[str] = []
    for parameter in context.command.get_params(context):
        names += parameter.opts
    return names


def _missing(error: click.MissingParameter) -> str:
    """That an argument or option is missing, and what it could be."""
    assert error.param is not None
    name = error.param.get_error_hint(error.ctx).strip("'")
    known = ""
    if name == "--name":
        words = shlex.join(["sitepatch", *sys.argv[1:], name, "NAME"])
        known = Message("; write: {words}", words=words)
    elif name.startswith("NAME"):
        known = Message("; those that can be named: sitepatch list")
    return Message("{name} is missing{known}", name=name, known=known)


def text(error: click.ClickException) -> str:
    """How the command is used, and what is wrong."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return printable_lines(error.format_message())
    head = ""
    context = getattr(error, "ctx", None)
    if context:
        see = Message("Try '{command} --help' for help.", command=context.command_path)
        head = f"{context.get_usage()}\n{translated(see)}\n\n"
    return printable_lines(head) + labelled("error", problem(error), fg="red", bold=True)


def answer(error: click.ClickException) -> bool:
    """Write a JSON answer about it; returns whether stderr is to have nothing else."""
    # `--help` starts without it
    from patcher.display.console import Console

    context = getattr(error, "ctx", None)
    path = context.command_path if context else "sitepatch"
    name = "-".join(path.split()[1:]) or path
    console = Console(name, as_json=True, quiet=False, verbose=False)
    if name == "run":
        console.kept_notes = []
    hint = Message("see: {path} --help", path=path)
    fields = {"message": problem(error), "hint": hint, "exit_code": error.exit_code}
    console.answer(False, {"error": fields})
    return console.kept_notes is not None
