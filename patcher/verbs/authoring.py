"""What the verbs that write patchsets share: options, how drafts are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Sequence

import click

from patcher.author.folder import PATCHSETS
from patcher.author.spatch_draft import Draft, DraftHunk
from patcher.compatibility import APPLICABLE, ReleaseOutcome
from patcher.display.console import Console
from patcher.display.differences import show_parts
from patcher.display.patchsets import release_ranges
from patcher.display.releases import runs, versions_of
from patcher.display.styles import Row, color_diff, style
from patcher.message import Message
from patcher.model import Patchset
from patcher.text.listed import count, listed
from patcher.text.terminal import join_styled

output_option: Callable[[Callable[..., int]], Callable[..., int]] = click.option(
    "--output", metavar="DIR", help="Where the patchset's folder is put (default ./patchsets)."
)
"""Gives a command its `--output`."""
also_option: Callable[[Callable[..., int]], Callable[..., int]] = click.option(
    "--also",
    metavar="RELEASE|DIR",
    multiple=True,
    help=(
        "A release from the index, or a directory of packages, for which it should hold as well; "
        "repeatable."
    ),
)
"""Gives a command its `--also`."""


# a draft ------------------------------------------------------------------------------------------
def show_hunks(console: Console, draft: Draft) -> None:
    """Write the hunks file by file, each with its form.

    With -v also the forms that were rejected, and why.
    """
    if console.quiet:
        return
    lines: list[str] = []
    for file in draft.files:
        sign = "+++" if file.adds else "---"
        for paths, hunks in file.sections:
            lines += ["", style(f"{sign} {' or '.join(paths)}", bold=True)]
            for hunk in hunks:
                lines += _hunk_lines(hunk, verbose=console.verbose)
    console.page(lines, pager=False)


def _hunk_lines(hunk: DraftHunk, *, verbose: bool) -> list[str]:
    """The lines of a hunk with its form, and with those that were rejected."""
    lines: list[str] = []
    lines += color_diff(hunk.text.rstrip("\n"))
    lines.append(Message("  # line {line}: {form}", line=hunk.line, form=hunk.form))
    if verbose:
        for rejected in hunk.rejected:
            lines.append(Message("  # not taken, as {why}:", why=rejected.why))
            lines += [join_styled("  # ", line) for line in rejected.text.splitlines()]
    return lines


def number_of_hunks(draft: Draft) -> str:
    """How many hunks a draft has, in words."""
    return count(sum(len(file.hunks) for file in draft.files), "hunk")


def left_rows(draft: Draft) -> list[Row]:
    """A row for each part of the edit that is in no hunk."""
    rows = []
    for part in draft.left_out:
        shown = tuple(color_diff(part.text.rstrip("\n")))
        rows.append(Row(Message("not captured"), (part.name, part.why), shown))
    return rows


# further releases ---------------------------------------------------------------------------------
def release_rows(releases: Sequence[ReleaseOutcome], *, in_full: bool) -> list[Row]:
    """A row for each run of further releases with one answer; `in_full` one for each release."""
    rows = []
    for run in runs(releases, in_full=in_full):
        outcome = run[0]
        template = "{distribution} {versions}"
        versions = versions_of(run)
        name = Message(template, distribution=outcome.distribution, versions=versions)
        cells: list[str] = [name]
        if outcome.state == APPLICABLE:
            cells.append(Message("proven") if outcome.changes.proven else Message("fits"))
        details = (outcome.problem,) if outcome.problem else ()
        rows.append(Row(outcome.state, tuple(cells), details))
    return rows


def show_unlike(console: Console, releases: Sequence[ReleaseOutcome]) -> None:
    """On a terminal, show what is made of releases whose code is not that of the home release.

    Releases of which the same is made share a diff.
    """
    if console.plain or console.quiet:
        return
    groups: dict[tuple[tuple[bytes, ...], ...], list[ReleaseOutcome]] = {}
    for outcome in releases:
        unlike = outcome.changes.unlike
        if unlike:
            differing_lines = tuple(diff.lines for diff in unlike)
            groups.setdefault(differing_lines, []).append(outcome)
    for group in groups.values():
        names = listed([f"{outcome.distribution} {outcome.version}" for outcome in group])
        heading = Message("in {names}, whose code differs", names=names)
        show_parts(console, [(heading, group[0].changes.unlike)])


# what was written ---------------------------------------------------------------------------------
def show_written(console: Console, word: str, *, summary: str, patchset: Patchset) -> None:
    """Say what was written, and for which releases it is."""
    ranges = release_ranges(patchset.variants)
    written = Message("{what}, for {ranges}", what=summary, ranges=ranges)
    console.info_rows([Row(word, (written,))])


def show_how_to_apply(console: Console, name: str, folder: Path) -> None:
    """Say how a patchset that was written is applied."""
    words = ["apply", name]
    if str(folder.parent) != PATCHSETS:
        words += ["--patch-dir", str(folder.parent)]
    console.info("apply it with: {command}", command=console.command(*words))
