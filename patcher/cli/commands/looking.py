"""The commands that only look: `diff`, `status`, `list` and `show`."""

from __future__ import annotations

from typing import Optional, Tuple

import click

from patcher.cli.commands.options import complete_names
from patcher.cli.console import Console, takes
from patcher.ops.place import Place


@click.command(epilog="\b\nExample:\n  sitepatch diff mmengine-ddp-debug | git apply --directory=site-packages")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--stat", "as_stat", is_flag=True, help="Only how many lines change in each file.")
@click.option("--html", metavar="FILE", help="Write a page that can be read offline.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything differs.")
@takes()
def diff(console: Console, place: Place, names: Tuple[str, ...], as_stat: bool, html: Optional[str], exit_code: bool) -> int:
    """Show what would change, or what is changed.

    Of a patchset that is not applied: what apply would change. Of one that is, and without names: what is changed.
    """
    from patcher.cli.verbs.diffs import DiffOptions, show_diff

    return show_diff(console, place, names, DiffOptions(as_stat, html, exit_code))


@click.command(epilog="\b\nExample:\n  sitepatch status --check || sitepatch apply mmengine-ddp-debug")
@click.option("--check", is_flag=True, help="Exit with 1 if anything is not as it was applied.")
@takes()
def status(console: Console, place: Place, check: bool) -> int:
    """Show which patchsets are applied, the state of their files, and what to do about it.

    One line for each patchset; with -v also its files and lines.
    """
    from patcher.cli.verbs.statuses import show_status

    return show_status(console, place, check)


@click.command("list", epilog="\b\nExamples:\n  sitepatch list --patch-dir ./patchsets\n  sitepatch list _cuda_setDevice")
@click.argument("text", metavar="[TEXT]...", nargs=-1)
@takes()
def list_(console: Console, place: Place, text: Tuple[str, ...]) -> int:
    """List the patchsets that can be named, first those for what is installed.

    Each with its state here (applied, available: it is for the installed release, out of range, absent: its package is not
    installed), its kind, releases, and where it was found. With TEXT, words or an error message, those that it is about,
    and what it means; exit code 1 if there is nothing.
    """
    from patcher.cli.verbs.listing import list_all

    return list_all(console, place, " ".join(text))


@click.command(epilog="\b\nExample:\n  sitepatch show mmengine-ddp-debug")
@click.argument("name", shell_complete=complete_names)
@takes(environment=False)
def show(console: Console, place: Place, name: str) -> int:
    """Show why a patchset exists, what it changes and where.

    With its options, the releases that it is proven for, those in which it changes nothing, its patches, and how to undo it.
    """
    from patcher.cli.verbs.listing import show_one

    return show_one(console, place, name)
