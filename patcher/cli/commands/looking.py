"""The commands that only look: `diff`, `status`, `list` and `show`."""

from __future__ import annotations

from typing import Any, Tuple

import click

from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names
from patcher.errors import UsageError
from patcher.ops.place import Place


@click.command(
    epilog="\b\nExamples:\n  sitepatch diff mmengine-ddp-debug | git apply --directory=site-packages\n"
    "  sitepatch diff --html review.html\n  sitepatch diff --edited mmengine"
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--stat", is_flag=True, help="Only how many lines change in each file.")
@click.option("--word-diff", "words", is_flag=True, help="Show the words that differ: [-what goes-]{+what comes+}.")
@click.option("-y", "--side-by-side", "sides", is_flag=True, help="Two columns, where the terminal is wide enough.")
@click.option("--html", metavar="FILE", help="Write a page to review, which can be read offline.")
@click.option("--edited", is_flag=True, help="What was edited by hand, alone; NAME is then a package or file.")
@click.option("--all", "everywhere", is_flag=True, help="Look for edits in all packages, not only in those of patchsets.")
@click.option("--fetch", is_flag=True, help="Ask the index for what edited files were before, where nothing here has it.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything differs.")
@common_options()
def diff(
    console: Console, place: Place, names: Tuple[str, ...], edited: bool, everywhere: bool, fetch: bool, **options: Any
) -> int:
    """Show what would change, or what is changed.

    Of a patchset that is not applied: what apply would change. Of one that is: what it changes. Without names: what is
    changed by patchsets and, apart from that, what somebody edited by hand. Where the output is piped it is a plain diff for
    git apply and patch -p1, without the edits by hand: those are named, and shown by --edited.
    """
    from patcher.cli.verbs.diff import DiffOptions, show_diff
    from patcher.ops.diff import DiffRequest

    if names and everywhere:
        raise UsageError(f"--all: found {names[0]} too", "it is about all that is installed")
    return show_diff(console, DiffRequest(place, names, edited, everywhere, fetch), DiffOptions(**options))


@click.command(epilog="\b\nExample:\n  sitepatch status --check || sitepatch apply mmengine-ddp-debug")
@click.option("--check", is_flag=True, help="Exit with 1 if anything is not as it was applied.")
@common_options()
def status(console: Console, place: Place, check: bool) -> int:
    """Show which patchsets are applied, the state of their files, and what to do about it.

    One line for each patchset; with -v also its files and lines.
    """
    from patcher.cli.verbs.status import show_status

    return show_status(console, place, check)


@click.command("list", epilog="\b\nExamples:\n  sitepatch list --patch-dir ./patchsets\n  sitepatch list _cuda_setDevice")
@click.argument("text", metavar="[TEXT]...", nargs=-1)
@common_options()
def list_(console: Console, place: Place, text: Tuple[str, ...]) -> int:
    """List the patchsets that can be named, first those for what is installed.

    Each with its state here (applied, available: it is for the installed release, upstream or not needed: that release is
    known to do without, out of range, absent: its package is not installed), its kind, releases, and where it was found.
    With TEXT, words or an error message, those that it is about, and what it means; exit code 1 if there is nothing.
    """
    from patcher.cli.verbs.list import list_all
    from patcher.ops.looking.listing import ListRequest

    return list_all(console, ListRequest(place, " ".join(text)))


@click.command(epilog="\b\nExample:\n  sitepatch show mmengine-ddp-debug")
@click.argument("name", shell_complete=complete_names)
@common_options(environment=False)
def show(console: Console, place: Place, name: str) -> int:
    """Show why a patchset exists, what it changes and where.

    With its options, the releases that it is proven for, those in which it changes nothing, its patches, and how to undo it.
    """
    from patcher.cli.verbs.list import show_one

    return show_one(console, place, name)
