"""What `capture` and `edit` made of an edit, as text, as JSON and as an exit code."""

from __future__ import annotations

import sys
from typing import Any, Dict

import click

from patcher.author.folder import output_folder
from patcher.cli.answers.diffs import show_diffs
from patcher.cli.answers.outcome import ConsoleEvents, report_outcome, show_applied
from patcher.cli.answers.patchsets import release_ranges
from patcher.cli.answers.plan import answer_rows, decoded
from patcher.cli.console import Console, command
from patcher.cli.styles import Row
from patcher.cli.translation import translated
from patcher.cli.verbs.authoring.draft import (
    hunks_json,
    left_json,
    left_rows,
    number_of_hunks,
    release_rows,
    releases_json,
    show_hunks,
)
from patcher.cli.verbs.authoring.editor import edit_copies
from patcher.ops.authoring.capturing import Captured, CaptureOutcome, adopt, capture, edit
from patcher.ops.authoring.requests import CaptureRequest, EditRequest
from patcher.text.diffs import FileDiff, diff_texts
from patcher.verify.checks import VerifyOptions


def run_capture(console: Console, request: CaptureRequest, verify: VerifyOptions, *, take: bool, explain: bool = False) -> int:
    """Make a patchset of edits, report it, and put it in their place where that is asked for (`take`) or agreed to."""
    events = ConsoleEvents(console)
    made = capture(request, events)
    _show(console, made, explain=explain)
    fields = _json(made, explain=explain)
    if made.folder is None:
        console.data(False, {"written": False, **fields})
        return 1
    variants = made.requested.patchset.variants if made.requested else ()
    what = f"{number_of_hunks(made.draft)} in {made.folder}" if made.draft.files else f"{made.folder}, as it stands"
    cells = (f"{what}, for {release_ranges(variants)}",)
    console.info_rows([Row("captured", cells)])
    if not request.copy and (take or _agreed(console)):
        outcome = adopt(made, verify, events)
        return report_outcome(console, outcome, show_applied, **fields)
    if request.copy:
        more = [] if request.output is None else ["--patch-dir", str(made.folder.parent)]
        how = command(request.place, "apply", request.name, *more)
        console.info(f"apply it with: {how}")
    else:
        more = [] if request.output is None else ["--output", request.output]
        how = command(request.place, "capture", *request.words, "--name", request.name, *more, "--adopt")
        console.info(f"put it in the place of the edit with: {how}")
    console.data(True, {"written": False, **fields})
    return 0


def run_edit(console: Console, what: EditRequest, request: CaptureRequest, *, no_editor: bool, explain: bool) -> int:
    """Edit copies, and capture them with `request`."""
    output_folder(request.name, request.output)  # fails before an hour of editing
    copies = edit(what, ConsoleEvents(console))
    more = ["--output", request.output] if request.output else []
    more += [word for each in request.also for word in ("--also", each)]
    go_on = command(what.place, "capture", "--from", str(copies.folder), "--name", request.name, *more)
    if no_editor:
        console.out(f"edit what is in {copies.folder}, then: {go_on}")
        console.data(True, {"folder": str(copies.folder), "paths": list(copies.paths)})
        return 0
    request = request._replace(copy=str(copies.folder))
    first = copies.paths[0] if what.file else ""

    def run() -> int:
        return run_capture(console, request, VerifyOptions(), take=False, explain=explain)

    return edit_copies(console, copies.folder, first, go_on, run)


def _agreed(console: Console) -> bool:
    """Ask on a terminal whether the patchset is to take the place of the edit."""
    if console.as_json or console.quiet or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return click.confirm(translated("put the files back and apply the patchset in the place of the edit?"), err=True)


def _show(console: Console, made: CaptureOutcome, *, explain: bool) -> None:
    """The diff of each file, the hunks that were made of it, and what they do not give back."""
    console.notes(made.notes)
    show_diffs(console, [] if console.quiet else [_diff(one) for one in made.files])
    show_hunks(console, made.draft, explain=explain)
    rows = [*left_rows(made.draft), *release_rows(made.releases)]
    rows += answer_rows(made.plan.failed)
    console.rows(rows)
    if made.folder is None:
        rest = not made.draft.complete and any(file.hunks for file in made.draft.files)
        more = "; --partial makes one of the rest" if rest else ""
        console.note(f"no patchset was written{more}", "stopped")
    else:
        _show_differences(console, made)


def _show_differences(console: Console, made: CaptureOutcome) -> None:
    """Where the patchset makes another text than the edit did."""
    for one in made.files:
        if one.made != one.file.data:
            what = _difference(made, one) or "see below"
            console.note(f"{one.file.path}: the patchset does not make it byte for byte as it was edited: {what}")
            show_diffs(console, [] if console.quiet else [diff_texts("", one.file.path, one.file.data, one.made)])


def _difference(made: CaptureOutcome, one: Captured) -> str:
    return next((file.difference for file in made.draft.files if one.file.path in file.paths), "")


def _diff(one: Captured) -> FileDiff:
    return diff_texts(one.file.site, one.file.path, one.before.data, one.file.data)


def _json(made: CaptureOutcome, *, explain: bool) -> Dict[str, Any]:
    files = [
        {
            "site": one.file.site,
            "path": one.file.path,
            "release": one.file.release,
            "compared_with": one.before.where,
            "proven": one.before.proven,
            "exact": one.made == one.file.data,
            "difference": _difference(made, one),
            "diff": decoded(_diff(one).text),
        }
        for one in made.files
    ]
    fields = {"patchset": made.request.name, "folder": str(made.folder or ""), "captured": files}
    fields["left"] = left_json(made.draft)
    return {
        **fields,
        "hunks": hunks_json(made.draft, explain=explain),
        "releases": releases_json(made.releases),
        "remarks": list(made.notes),
    }
