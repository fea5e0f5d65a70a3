"""What differs, as values and as it is written on the console."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import click

from patcher.verbs.console import Console
from patcher.verbs.styles import titled

if TYPE_CHECKING:
    from patcher.facts import FileStatus
    from patcher.installed.interpreter import Environment
    from patcher.model import Answer, OptionValue, Patchset, Requested
    from patcher.text.diffs import FileDiff


class HandEditDiff(NamedTuple):
    """A file that somebody edited; `compared` is what the original text is, `diff` None where nothing here gives that.

    `release` is its distribution with the version, `proven` whether RECORD's sha256 is that of the original text.
    """

    site: str
    path: str
    release: str
    compared: str = ""
    proven: bool = True
    diff: Optional[FileDiff] = None


class DiffOutcome(NamedTuple):
    """What differs: `applied` by patchsets, `planned` by those that would be applied, `edits` by hand.

    `items` are the files that are patched by those that were meant, `requested` what would be applied, `answers` those about
    its hunks, `notes` what is to be known besides, runs that have not ended among it.
    """

    env: Environment
    applied: Tuple[FileDiff, ...] = ()
    planned: Tuple[FileDiff, ...] = ()
    edits: Tuple[HandEditDiff, ...] = ()
    items: Tuple[FileStatus, ...] = ()
    requested: Tuple[Requested, ...] = ()
    answers: Tuple[Answer, ...] = ()
    notes: Tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a patchset that was named does not fit."""
        return any(answer.state.failed for answer in self.answers)

    @property
    def differs(self) -> bool:
        """Whether anything does."""
        return bool(self.applied or self.planned or self.edits)


class Reason(NamedTuple):
    """A patchset with its options; `applied` is whether it is applied, `checked` the table of releases in its folder."""

    patchset: Patchset
    options: Mapping[str, OptionValue]
    applied: bool
    checked: str = ""


def show_diffs(console: Console, diffs: Sequence[FileDiff]) -> None:
    """Write diffs: as `git apply` takes them where stdout is piped; not with --quiet."""
    if not console.quiet:
        show_parts(console, [("", diffs)])


def show_parts(console: Console, parts: Sequence[Tuple[str, Sequence[FileDiff]]], *, pager: bool = False) -> None:
    """Write several groups of diffs, each below a heading that a reader sees, "" for none.

    As `git apply` takes them where stdout is piped.
    """
    all_diffs = [diff for _, diffs in parts for diff in diffs]
    if console.as_json or not all_diffs:
        return
    if console.plain:
        click.echo(b"".join(diff.text for diff in all_diffs), nl=False)
        return
    from patcher.verbs.highlighted import highlighted_diff  # with diff-match-patch

    lines: List[str] = []
    for heading, diffs in parts:
        lines += [titled(heading)] if heading and diffs else []
        for diff in diffs:
            lines += highlighted_diff(diff)
    console.page(lines, pager=pager)
