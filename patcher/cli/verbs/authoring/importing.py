"""What `import` does."""

from __future__ import annotations

from typing import Any, Dict, List

from patcher.cli.answers.outcome import ConsoleEvents
from patcher.cli.answers.patchsets import release_ranges
from patcher.cli.answers.plan import decoded
from patcher.cli.console import Console, command
from patcher.cli.styles import Row
from patcher.cli.verbs.authoring.draft import hunks_json, number_of_hunks, release_rows, releases_json, show_hunks
from patcher.ops.authoring.importing import ImportOutcome, import_
from patcher.ops.authoring.requests import ImportRequest


def run_import(console: Console, request: ImportRequest, *, explain: bool) -> int:
    """Make a patchset of a diff, and report its hunks, further releases, what is left out, and what was written."""
    made = import_(request, ConsoleEvents(console))
    console.notes(made.notes)
    show_hunks(console, made.draft, explain=explain)
    console.rows(_rows(console, made))
    console.notes(dict.fromkeys(line for one in made.problems for line in one.hint.split("\n") if line), "hint")
    if made.patchset:
        what = f"{number_of_hunks(made.draft)} in {made.folder}, for {release_ranges(made.patchset.variants)}"
        console.info_rows([Row("imported", (what,))])
        more = [] if str(made.folder.parent) == "patchsets" else ["--patch-dir", str(made.folder.parent)]
        console.info(f"apply it with: {command(request.place, 'apply', made.patchset.name, *more)}")
    else:
        more_is_there = any(file.hunks for file in made.draft.files)
        console.note(f"no patchset was written{'; --partial makes one of the rest' * more_is_there}", "stopped")
    console.data(made.ok, _json(made, explain=explain))
    return 0 if made.ok else 1


def _rows(console: Console, made: ImportOutcome) -> List[Row]:
    rows = [] if console.quiet else [Row("changes", (one.path, f"+{one.added} -{one.removed}")) for one in made.files]
    rows += release_rows(made.releases)
    for left in made.left_out:
        where = f"{left.path}:{left.line}" if left.line else left.path
        rows.append(Row("left out" if made.ok else "not imported", (where, left.why)))
    for one in made.problems:
        rows.append(Row("does not fit", (one.path or one.section.path,), tuple(one.problem.split("\n"))))
    return rows


def _json(made: ImportOutcome, *, explain: bool) -> Dict[str, Any]:
    return {
        "patchset": made.folder.absolute().name,
        "folder": str(made.folder) if made.ok else "",
        "versions": {each.package: each.versions for each in made.patchset.variants} if made.patchset else {},
        "hunks": hunks_json(made.draft, explain=explain),
        "files": [
            {"path": one.path, "added": one.added, "removed": one.removed, "diff": decoded(one.text)} for one in made.files
        ],
        "releases": releases_json(made.releases),
        "left": [{"path": one.path, "line": one.line, "why": one.why} for one in made.left_out],
        "problems": [
            {"path": one.section.path, "installed": one.path, "problem": one.problem, "hint": one.hint}
            for one in made.problems
        ],
        "remarks": list(made.notes),
    }
