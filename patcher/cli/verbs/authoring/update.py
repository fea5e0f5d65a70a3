"""What `update` found and wrote, as text, as JSON and as an exit code."""

from __future__ import annotations

from typing import Any, Dict

from patcher.cli.answers.explanation import explanation_row, hunk_json
from patcher.cli.answers.outcome import ConsoleEvents
from patcher.cli.console import Console, command
from patcher.cli.styles import Row
from patcher.cli.verbs.authoring.draft import hunks_json, left_json, left_rows, show_hunks
from patcher.cli.verbs.authoring.editor import edit_copies
from patcher.ops.authoring.fitting import TriedRelease
from patcher.ops.authoring.requests import UpdateRequest
from patcher.ops.authoring.updating import UpdateOutcome, copies, update


def run_update(console: Console, request: UpdateRequest) -> int:
    """Update a patchset, and report it."""
    made = update(request, ConsoleEvents(console))
    console.rows([_row(one) for one in made.releases if one.outcome.failed or not console.quiet])
    for one in made.releases if not request.edited else ():
        console.rows(list(map(explanation_row, one.hunks)))
    show_hunks(console, made.draft, explain=False)
    rows = left_rows(made.draft)
    rows += [Row("not fetched", (problem,)) for problem in made.problems]
    if not console.quiet:
        word = "changed" if made.added else "widened"
        rows += [Row(word, (f"{package} {before}", f"now {now}")) for package, before, now in made.ranges]
        added = made.patchset.variants[-1]
        rows += [Row("added", (f"{made.folder / made.added}, for {added.package} {added.versions}",))] if made.added else []
    console.rows(rows)
    console.notes(made.notes)
    if made.draft.files and not made.added:
        console.note("no variant was added", "stopped")
    elif not made.ok and any(one.hunks for one in made.releases):
        words = [word for each in request.to for word in ("--to", each)]
        console.info(f"edit it there with: {command(request.place, 'update', request.name, *words, '--edit')}")
    console.data(made.ok, _json(request, made))
    return 0 if made.ok else 1


def run_update_edited(console: Console, request: UpdateRequest) -> int:
    """Open the files of the release that a patchset does not fit in an editor, then update it with what was edited."""
    made = copies(request, ConsoleEvents(console))
    words = ("update", request.name, *(word for each in request.to for word in ("--to", each)), "--from", str(made.folder))
    go_on = command(request.place, *words)
    first = made.paths[0] if len(made.paths) == 1 else ""
    edited = request._replace(edited=str(made.folder))
    return edit_copies(console, made.folder, first, go_on, lambda: run_update(console, edited))


def _row(one: TriedRelease) -> Row:
    problem = one.outcome.problem
    return Row(
        one.outcome.word,
        (f"{one.located.distribution} {one.located.version}",),
        (problem,) if problem and not one.hunks else (),
    )


def _json(request: UpdateRequest, made: UpdateOutcome) -> Dict[str, Any]:
    releases = [
        {
            "distribution": one.located.distribution,
            "version": one.located.version,
            "state": one.outcome.word,
            "problem": one.outcome.problem,
            "in_range": one.inside,
            "hunks": [hunk_json(each) for each in one.hunks],
        }
        for one in made.releases
    ]
    return {
        "patchset": request.name,
        "folder": str(made.folder),
        "written": made.written,
        "releases": releases,
        "ranges": [{"package": package, "before": before, "now": now} for package, before, now in made.ranges],
        "added": made.added,
        "hunks": hunks_json(made.draft),
        "left": left_json(made.draft),
        "problems": list(made.problems),
        "remarks": list(made.notes),
    }
