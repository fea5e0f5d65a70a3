"""Differences where they are written: the bytes of a diff for another program, something to read for a user."""

from __future__ import annotations

from typing import List, NamedTuple, Sequence, Tuple

import click

from patcher.cli.console import Console, style
from patcher.cli.told import told
from patcher.text.diffs import FileDiff
from patcher.text.width import terminal_width

_NEEDED = 100  # columns of a terminal, for two sides


class Shape(NamedTuple):
    """How differences are drawn: two sides beside each other, or the words that differ instead of lines."""

    sides: bool = False
    words: bool = False


LINES = Shape()


def show_diffs(console: Console, diffs: Sequence[FileDiff], shape: Shape = LINES, *, pager: bool = False) -> None:
    """Write differences: a diff that `git apply` takes where nobody reads it, unless a shape is asked for."""
    show_parts(console, [("", diffs)], shape, pager=pager)


def show_parts(
    console: Console, parts: Sequence[Tuple[str, Sequence[FileDiff]]], shape: Shape = LINES, *, pager: bool = False
) -> None:
    """The same of several parts, each with a heading for who reads it, "" for none."""
    several = [diff for _, diffs in parts for diff in diffs]
    if console.as_json or not several:
        return
    if console.plain and not any(shape):
        click.echo(b"".join(diff.text for diff in several), nl=False)
        return
    from patcher.cli.answers.differences import drawn_diff  # with diff-match-patch, for who reads it

    room = terminal_width()
    if shape.sides and room < _NEEDED:
        console.note(f"two sides need {_NEEDED} columns, and there are {room}: one below the other")
    side = room if shape.sides and room >= _NEEDED else 0
    lines: List[str] = []
    for heading, diffs in parts:
        lines += [style(told(heading), bold=True)] if heading and diffs else []
        for diff in diffs:
            lines += drawn_diff(diff, columns=side, words=shape.words)
    console.page(lines, pager=pager)
