"""What the authoring verbs share: options, the editor, and hunks, what is in none, and releases as text and JSON."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from shutil import rmtree
from typing import Any, Callable, Sequence

import click

from patcher.author.draft import Draft
from patcher.author.folder import PATCHSETS
from patcher.display.console import Console
from patcher.display.differences import show_parts
from patcher.display.styles import Row, color_diff, style
from patcher.errors import SitepatchError
from patcher.message import Message
from patcher.model import Patchset
from patcher.text.listed import count, listed
from patcher.text.terminal import join_styled
from patcher.verbs.list import release_ranges
from patcher.verbs.releases.outcome import APPLICABLE, ReleaseOutcome

output_option: Callable[[Callable[..., int]], Callable[..., int]] = click.option(
    "--output", metavar="DIR", help="Where the patchset's folder is put (default ./patchsets)."
)
"""Gives a command its `--output`."""
also_option: Callable[[Callable[..., int]], Callable[..., int]] = click.option(
    "--also",
    metavar="RELEASE|DIR",
    multiple=True,
    help="A release from the index, or a directory of packages, for which it should hold as well; repeatable.",
)
"""Gives a command its `--also`."""


def open_editor(folder: Path, file: str = "") -> None:
    """Run the editor on a file of a directory, or on the directory, and wait for it.

    Raises:
        SitepatchError: there is none, or it failed.
    """
    import subprocess  # few commands open it

    variable = next((name for name in ("VISUAL", "EDITOR") if os.environ.get(name, "").strip()), "")
    if not variable:
        raise SitepatchError("found no editor: neither VISUAL nor EDITOR is set", "EDITOR=vi, say")
    command = os.environ[variable]
    try:
        code = subprocess.call([*shlex.split(command), file or "."], cwd=str(folder))
    except (OSError, ValueError) as error:
        problem = "{variable}={given}: it could not be run: {error}"
        raise SitepatchError(
            problem, "set {variable} to an editor", variable=variable, given=command, error=error
        ) from None
    if code:
        template = "{variable}={given}: it ended with exit code {code}, nothing was captured"
        raise SitepatchError(template, "", variable=variable, given=command, code=code)


def edit_copies(
    console: Console, folder: Path, file: str, go_on: str, run: Callable[[], int]
) -> int:
    """Open copies in the editor, then do with them what `run` does; they are removed once that has worked.

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


def show_hunks(console: Console, draft: Draft) -> None:
    """Write the hunks file by file, each with its form; with -v also those that were not taken, and why."""
    lines: list[str] = []
    for file in draft.files:
        lines += (
            ["", style(f"{file.header[:3]} {' or '.join(file.paths)}", bold=True)]
            if file.hunks
            else []
        )
        for hunk in file.hunks:
            lines += [
                *color_diff(hunk.text.rstrip("\n")),
                Message("  # line {hunk.line}: {hunk.form}", hunk=hunk),
            ]
            for rejected in hunk.rejected if console.verbose else ():
                lines += [
                    Message("  # not taken, as {each.why}:", each=rejected),
                    *(join_styled("  # ", line) for line in rejected.text.splitlines()),
                ]
    console.page([] if console.quiet else lines, pager=False)


def attributes(value: object, *names: str) -> dict[str, Any]:
    """These attributes of a value, by name."""
    return {name: getattr(value, name) for name in names}


def hunks_json(draft: Draft) -> list[dict[str, Any]]:
    """The hunks, each with the forms that were not taken."""
    hunks = ((file.paths, hunk) for file in draft.files for hunk in file.hunks)
    return [
        {"paths": paths, **attributes(hunk, "text", "line", "form"), "lost": hunk.rejected}
        for paths, hunk in hunks
    ]


def left_rows(draft: Draft) -> list[Row]:
    """A row for each part of the edit that is in no hunk."""
    return [
        Row(
            Message("not captured"),
            (part.name, part.why),
            tuple(color_diff(part.text.rstrip("\n"))),
        )
        for part in draft.left_out
    ]


def left_json(draft: Draft) -> list[dict[str, Any]]:
    """The parts of the edit that are in no hunk."""
    return [attributes(part, "path", "line", "text", "why") for part in draft.left_out]


def release_rows(releases: Sequence[ReleaseOutcome], *, in_full: bool) -> list[Row]:
    """A row for each run of further releases with one answer; `in_full` one for each release."""
    from patcher.verbs.releases.table import folded, versions_of  # with the engine

    rows = []
    for run in [(release,) for release in releases] if in_full else folded(releases):
        outcome = run[0]
        cells: list[str] = [
            Message(
                "{distribution} {versions}",
                distribution=outcome.distribution,
                versions=versions_of(run),
            )
        ]
        if outcome.word == APPLICABLE:
            cells.append(Message("proven") if outcome.proven else Message("fits"))
        details = (outcome.problem,) if outcome.problem else ()
        rows.append(Row(outcome.word, tuple(cells), details))
    return rows


def show_unlike(console: Console, releases: Sequence[ReleaseOutcome]) -> None:
    """On a terminal what is made of releases whose code differs from that of the home release, each such diff once."""
    groups: dict[tuple[tuple[bytes, ...], ...], list[ReleaseOutcome]] = {}
    for outcome in releases if not (console.plain or console.quiet) else ():
        groups.setdefault(tuple(diff.lines for diff in outcome.unlike), []).append(outcome)
    for group in filter(lambda group: group[0].unlike, groups.values()):
        names = listed([f"{outcome.distribution} {outcome.version}" for outcome in group])
        show_parts(
            console, [(Message("in {names}, whose code differs", names=names), group[0].unlike)]
        )


def release_json(outcome: ReleaseOutcome) -> dict[str, Any]:
    """What came of a further release; `diff` is what reads otherwise than in the home release."""
    diff = b"".join(diff.text for diff in outcome.unlike)
    result = {
        "state": outcome.word,
        "proven": outcome.proven,
        "diff": diff,
        "problem": outcome.problem,
    }
    return {**attributes(outcome, "distribution", "version"), **result}


def show_written(console: Console, word: str, summary: str, patchset: Patchset) -> None:
    """Say what was written, and for which releases it is."""
    written = Message(
        "{what}, for {ranges}", what=summary, ranges=release_ranges(patchset.variants)
    )
    console.info_rows([Row(word, (written,))])


def show_how_to_apply(console: Console, name: str, folder: Path) -> None:
    """Say with what a patchset that was written is applied."""
    options = [] if str(folder.parent) == PATCHSETS else ["--patch-dir", str(folder.parent)]
    console.info("apply it with: {command}", command=console.command("apply", name, *options))


def number_of_hunks(draft: Draft) -> str:
    """How many hunks a draft has, in words."""
    return count(sum(len(file.hunks) for file in draft.files), "hunk")
