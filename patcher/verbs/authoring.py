"""What the verbs that write patchsets share: options, the editor, how drafts are shown."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from shutil import rmtree
from typing import Callable, Sequence

import click

from patcher.author.folder import PATCHSETS
from patcher.author.spatch_draft import Draft
from patcher.compatibility import APPLICABLE, ReleaseOutcome
from patcher.display.console import Console
from patcher.display.differences import show_parts
from patcher.display.patchsets import release_ranges
from patcher.display.releases import runs, versions_of
from patcher.display.styles import Row, color_diff, style
from patcher.errors import SitepatchError
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


# the editor ---------------------------------------------------------------------------------------
def open_editor(folder: Path, file: str = "") -> None:
    """Run the editor on a file of a directory, or on the directory, and wait for it.

    Raises:
        SitepatchError: there is none, or it failed.
    """
    variable = ""
    for name in ("EDITOR", "VISUAL"):
        if os.environ.get(name, "").strip():
            variable = name
    if not variable:
        raise SitepatchError("found no editor: neither VISUAL nor EDITOR is set", "EDITOR=vi, say")

    command = os.environ[variable]
    try:
        code = subprocess.call([*shlex.split(command), file or "."], cwd=str(folder))
    except (OSError, ValueError) as error:
        template = "{variable}={command}: it could not be run: {error}"
        problem = Message(template, variable=variable, command=command, error=error)
        hint = Message("set {variable} to an editor", variable=variable)
        raise SitepatchError(problem, hint) from None
    if code:
        template = "{variable}={command}: it ended with exit code {code}, nothing was captured"
        raise SitepatchError(template, variable=variable, command=command, code=code)


def edit_copies(
    console: Console, folder: Path, *, file: str, go_on: str, run: Callable[[], int]
) -> int:
    """Open copies in the editor, then do with them what `run` does.

    They are removed once that has worked.

    Args:
        console: takes the note that they are kept.
        folder: the directory of the copies.
        file: the one that is opened, "" for the directory.
        go_on: the command that goes on from the copies.
        run: what is done with them; returns an exit code.

    Raises:
        SitepatchError: what `open_editor` and `run` raise, with a hint that says how to go on.
        KeyboardInterrupt, OSError: what they raise; how to go on is noted before.
    """
    kept = Message("the copies are kept; go on with: {go_on}", go_on=go_on)
    try:
        open_editor(folder, file)
        code = run()
    except SitepatchError as error:
        error.hint = Message("{hint}\n{kept}", hint=error.hint, kept=kept).lstrip()
        raise
    except (KeyboardInterrupt, OSError):  # an hour of editing is not lost for a full disk
        console.note(kept)
        raise
    if code:
        console.note(kept)
    else:
        rmtree(folder)
    return code


# a draft ------------------------------------------------------------------------------------------
def show_hunks(console: Console, draft: Draft) -> None:
    """Write the hunks file by file, each with its form.

    With -v also the forms that were rejected, and why.
    """
    if console.quiet:
        return
    lines: list[str] = []
    for file in draft.files:
        if file.hunks:
            heading = f"{file.header[:3]} {' or '.join(file.paths)}"
            lines += ["", style(heading, bold=True)]
        for hunk in file.hunks:
            lines += color_diff(hunk.text.rstrip("\n"))
            lines.append(Message("  # line {line}: {form}", line=hunk.line, form=hunk.form))
            for rejected in hunk.rejected if console.verbose else ():
                lines.append(Message("  # not taken, as {why}:", why=rejected.why))
                lines += [join_styled("  # ", line) for line in rejected.text.splitlines()]
    console.page(lines, pager=False)


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
