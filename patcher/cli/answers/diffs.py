"""Diffs on stdout: their own bytes where they are piped, highlighted for a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Sequence, Tuple

import click

from patcher.cli.console import Console
from patcher.cli.styles import titled

if TYPE_CHECKING:
    from patcher.text.diffs import FileDiff


def show_diffs(console: Console, diffs: Sequence[FileDiff]) -> None:
    """Write diffs: as `git apply` takes them where stdout is piped; not with --quiet."""
    if not console.quiet:
        show_parts(console, [("", diffs)])


def show_parts(console: Console, parts: Sequence[Tuple[str, Sequence[FileDiff]]], *, pager: bool = False) -> None:
    """Write several groups of diffs, each below a heading that a reader sees, "" for none.

    As `git apply` takes them where stdout is piped.
    """
    several = [diff for _, diffs in parts for diff in diffs]
    if console.as_json or not several:
        return
    if console.plain:
        click.echo(b"".join(diff.text for diff in several), nl=False)
        return
    from patcher.cli.answers.highlighted import highlighted_diff  # with diff-match-patch

    lines: List[str] = []
    for heading, diffs in parts:
        lines += [titled(heading)] if heading and diffs else []
        for diff in diffs:
            lines += highlighted_diff(diff)
    console.page(lines, pager=pager)
