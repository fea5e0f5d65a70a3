"""A group of commands: its help is grouped and not cut, and a name that it does not have is answered with the nearest."""

from __future__ import annotations

from gettext import gettext as _
from typing import Iterable, List, Mapping, Optional, Tuple

import click

from patcher.cli.told import told
from patcher.text.listed import suggest


class Group(click.Group):
    """Commands in sections (a title and names), which are all in one where none are given."""

    sections: Mapping[str, Iterable[str]] = {}

    def resolve_command(self, ctx: click.Context, args: List[str]) -> Tuple[Optional[str], Optional[click.Command], List[str]]:
        """Find the command that `args` begin with."""
        if args[0][:1] != "-" and not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            text = f'there is no command "{args[0]}"{suggest(args[0], self.list_commands(ctx))}'
            raise click.UsageError(told(text), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections of the help, each command with the first sentence of its own, whole."""
        longest = max(map(len, self.list_commands(ctx)))
        for title, names in (self.sections or {"Commands": self.list_commands(ctx)}).items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(_(title)):
                formatter.write_dl([(f"{name:<{longest}}", one.get_short_help_str(200)) for name, one in commands if one])
