"""`update`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Tuple

import click

from patcher.cli.answers.draft import hunks_json, left_json, left_rows, show_hunks
from patcher.message import Message
from patcher.verbs.console import Console
from patcher.verbs.editor import edit_copies
from patcher.verbs.explained import explanation_row, hunk_json
from patcher.verbs.options import common_options, complete_names
from patcher.verbs.styles import Row

if TYPE_CHECKING:
    from patcher.ops.authoring.fitting import TriedRelease
    from patcher.ops.authoring.updating import UpdateOutcome, UpdateRequest


@click.command(
    epilog="\b\nExamples:\n  sitepatch update runner-debug --to 0.11.0\n  sitepatch update runner-debug --to 0.11.0 --edit"
)
@click.argument("name", shell_complete=complete_names)
@click.option(
    "--to",
    metavar="RELEASE|all",
    multiple=True,
    help="A version, a range, newest or all (default: the installed one); repeatable.",
)
@click.option("--edit", is_flag=True, help="Edit the files of the one release that it does not fit, and add a variant for it.")
@click.option("--drop-upstream", is_flag=True, help="Take the patches out of a series that these releases have themselves.")
@click.option("--from", "copy", metavar="DIR", default="", help="The directory of copies that were edited with --edit before.")
@common_options()
def update(console: Console, name: str, to: Tuple[str, ...], edit: bool, drop_upstream: bool, copy: str) -> int:
    """Make a patchset hold for further releases.

    Where it fits, the range of its variant is widened to there. Where it does not, the code is shown that came in the place
    of what it looks for; with --edit the files of that release are opened in $VISUAL or $EDITOR, and what is edited becomes
    a further variant, so that one patchset holds on both sides of the change. The environment is not touched.

    With --drop-upstream the patches of a series go that all of these releases have themselves; it is then for these releases
    alone. Where one of them does not fit nothing is changed.
    """
    from patcher.ops.authoring import updating as ops  # with the engine

    request = ops.UpdateRequest(console.place, name, to, copy, drop_upstream)
    if copy or drop_upstream or not edit:
        return _report(console, request, ops.update(request, console))
    made = ops.copies(request, console)
    words = ("update", name, *(word for each in to for word in ("--to", each)), "--from", str(made.folder))
    first = made.paths[0] if len(made.paths) == 1 else ""
    edited = request._replace(edited=str(made.folder))

    def run() -> int:
        return _report(console, edited, ops.update(edited, console))

    return edit_copies(console, made.folder, first, console.command(*words), run)


def _report(console: Console, request: UpdateRequest, made: UpdateOutcome) -> int:
    console.rows([_row(one) for one in made.releases if one.outcome.failed or not console.quiet])
    for one in made.releases if not request.edited else ():
        console.rows(list(map(explanation_row, one.hunks)))
    show_hunks(console, made.draft, explain=False)
    rows = left_rows(made.draft)
    rows += [Row(Message("not fetched"), (problem,)) for problem in made.problems]
    if not console.quiet:
        word = "changed" if made.added or made.dropped else "widened"
        rows += [Row("dropped", (f"{patch}.spatch", Message("upstream has it"))) for patch in made.dropped]
        rows += [Row(word, (f"{package} {before}", Message("now {now}", now=now))) for package, before, now in made.ranges]
        added = made.patchset.variants[-1]
        rows += (
            [
                Row(
                    "added",
                    (Message("{folder}, for {added.package} {added.versions}", folder=made.folder / made.added, added=added),),
                )
            ]
            if made.added
            else []
        )
    console.rows(rows)
    console.notes(made.notes)
    if made.draft.files and not made.added:
        console.note("no variant was added", "stopped")
    elif not made.ok and any(one.hunks for one in made.releases):
        newest = [one.located.version for one in made.releases if one.hunks][-1]
        words = ["--to", newest] if request.to else []
        console.info("edit it there with: {command}", command=console.command("update", request.name, *words, "--edit"))
    return console.answer(made.ok, _json(request, made))


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
        "dropped": list(made.dropped),
        "hunks": hunks_json(made.draft),
        "left": left_json(made.draft),
        "problems": list(made.problems),
        "remarks": list(made.notes),
    }
