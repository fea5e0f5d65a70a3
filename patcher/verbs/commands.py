"""The commands as the help groups them: a table that is all that `sitepatch --help` needs."""

from __future__ import annotations

from typing import Iterable, Mapping

import click

from patcher.message import Message
from patcher.text.listed import listed, suggest

SECTIONS = {
    "Start here": {
        "demo": Message("Show the whole story on a throw-away copy."),
        "list": Message("List the patchsets that can be named, first those for what is installed."),
        "show": Message("Show why a patchset exists, what it changes and where."),
    },
    "Every day": {
        "diff": Message("Show what would change, or what is changed."),
        "apply": Message("Apply patchsets, all of them or none."),
        "status": Message(
            "Show which patchsets are applied, the state of their files, and what to do about it."
        ),
        "restore": Message("Restore the files that patchsets changed, byte for byte."),
        "run": Message("Apply patchsets, then run a command in place of sitepatch."),
    },
    "Projects": {
        "sync": Message("Bring the environment in line with the project."),
        "hook": Message(
            "Keep patchsets applied after every install, by a line in requirements.txt."
        ),
    },
    "Write a patchset": {
        "edit": Message("Edit a copy of installed files, and make a patchset of that."),
        "capture": Message("Make a patchset of what was edited in the environment."),
        "import": Message("Make a patchset of a diff, or of a series of patches."),
        "update": Message("Make a patchset hold for further releases."),
        "export": Message(
            "Export what patchsets make of the release that is installed, "
            "for those without sitepatch."
        ),
    },
    "When something is wrong": {
        "diagnose": Message("Explain an error in a log, and name the patchset that cures it."),
        "doctor": Message("Report known problems of this environment, and what to do."),
        "check": Message(
            "Check patchsets: what is wrong with them, their cases, and whether they would apply."
        ),
    },
}
"""By section: the commands, each with the first sentence of its help."""

USUAL = {
    "apply": ("install", "patch"),
    "capture": ("commit", "record"),
    "check": ("test", "validate", "verify"),
    "edit": ("add", "create", "init", "new"),
    "list": ("ls", "search"),
    "restore": ("remove", "reset", "revert", "rm", "undo", "unapply", "uninstall", "unpatch"),
    "show": ("info",),
    "update": ("upgrade",),
}
"""By command: what other tools call it."""


class Group(click.Group):
    """Commands in sections (a title and names), which are all in one where none are given."""

    sections: Mapping[str, Iterable[str]] = {}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that `args` begin with."""
        word = args[0]
        is_option = word.startswith("-")
        if not (is_option or ctx.resilient_parsing) and self.get_command(ctx, word) is None:
            template = 'there is no command "{args}"{meant}'
            meant = self._meant(ctx, word)
            if word == "help":
                words = [ctx.command_path, *args[1:2], "--help"]
                meant = Message("; write: {words}", words=" ".join(words))
            elif word == "version":
                meant = Message("; write: {words}", words=f"{ctx.command_path} --version")
            raise click.UsageError(Message(template, args=word, meant=meant), ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if command:
            command.context_class = self.context_class
            command.allow_extra_args = True  # `common_options` refuses them
        return name, command, rest

    def _meant(self, ctx: click.Context, word: str) -> str:
        """How a message about an unknown command goes on.

        With the command that is meant, or with all of a group of a few.
        """
        if ctx.parent is None:
            for name, words in USUAL.items():
                if word in words:
                    return Message("; that is `sitepatch {command}`", command=name)
        names = self.list_commands(ctx)
        suggestion = suggest(word, names)
        if suggestion or ctx.parent is None:
            return suggestion
        return Message("; expected {names}", names=listed(names, "or"))

    def summary(self, ctx: click.Context, name: str) -> str:
        """The first sentence of a command's help."""
        return self.commands[name].get_short_help_str(200)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of the help, each command with the whole first sentence of its own."""
        names = self.list_commands(ctx)
        longest = max(map(len, names))
        sections = self.sections or {"Commands": names}
        for title, section in sections.items():
            rows = [(f"{name:<{longest}}", self.summary(ctx, name)) for name in section]
            with formatter.section(title):
                formatter.write_dl(rows)
