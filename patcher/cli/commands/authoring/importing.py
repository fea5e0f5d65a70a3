"""`import`."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import click

from patcher.cli.answers.draft import hunks_json, number_of_hunks, release_rows, releases_json, show_hunks
from patcher.errors import UsageError
from patcher.message import Message
from patcher.verbs.console import Console, decoded
from patcher.verbs.list import release_ranges
from patcher.verbs.options import common_options
from patcher.verbs.styles import Row, color_diff, hint_lines
from patcher.verbs.usage import Whole

if TYPE_CHECKING:
    from patcher.ops.authoring.importing import ImportOutcome, PatchResult


@click.command(
    "import",
    epilog="\b\nExamples:\n  sitepatch import fix.patch --name runner-fix\n"
    "  git show 1a2b3c | sitepatch import - --name runner-fix --also 0.10.5\n"
    "  sitepatch import debian/patches --name vendor\n"
    "  sitepatch import https://github.com/open-mmlab/mmengine/pull/1.diff --name fix",
)
@click.argument("patches", metavar="FILE|DIR|URL...", nargs=-1, required=True, type=click.Path())
@click.option("--name", required=True, help="The name of the new patchset.")
@click.option("--output", metavar="DIR", type=click.Path(), help="Where its folder goes (default ./patchsets).")
@click.option(
    "--also",
    metavar="RELEASE|DIR",
    multiple=True,
    help="A release from the index, or a directory of packages, for which it should hold as well; repeatable.",
)
@click.option(
    "--leave-out",
    metavar="PATH:LINE",
    multiple=True,
    help="A part of the code that no hunk can have, as it is named where it stops the import; repeatable.",
)
@click.option(
    "--fuzz",
    metavar="N",
    type=Whole(0, 10),
    default=2,
    help="How many lines of context may differ at either end of a hunk (default 2).",
)
@click.option("--hash", "digest", metavar="sha256:HEX", default="", help="The hash that the file at the URL must have.")
@click.option("--explain", is_flag=True, help="Show the forms of each hunk that were not chosen, and why.")
@common_options(sources=False)
def import_(
    console: Console,
    patches: Tuple[str, ...],
    name: str,
    output: Optional[str],
    also: Tuple[str, ...],
    leave_out: Tuple[str, ...],
    fuzz: int,
    digest: str,
    explain: bool,
) -> int:
    """Make a patchset of a diff, or of a series of patches.

    FILE is what git diff, git format-patch or diff -u write, or - for standard input; DIR has patches or a quilt series; URL
    is that of a diff, over http or https (of a pull request: with .diff at its end). The subject, prose and DEP-3 header of a
    patch become those of the patchset, its changes hunks that are matched by syntax. They are proven on what is installed,
    and on each release of --also. The environment is not touched.

    Of several patches each becomes a .spatch of its own, which is read after those before it. One that cannot be imported is
    named, and the others are; the same command, once it is mended, imports what is not in the patchset yet.
    """
    from patcher.ops.authoring.importing import ImportRequest  # with the engine
    from patcher.ops.authoring.series import import_ as import_series

    data = None
    if "-" in patches:
        if len(patches) > 1:
            raise UsageError("standard input: found other files beside it, expected it alone", "name files, or - alone")
        if sys.stdin is None:
            raise UsageError("standard input is closed", "name a file")
        data, patches = sys.stdin.buffer.read(), (Message("standard input"),)
    made = import_series(ImportRequest(console.place, patches, name, data, output, also, leave_out, fuzz, digest), console)
    console.notes(made.notes)
    if not made.patches or console.verbose or explain:
        show_hunks(console, made.draft, explain=explain)
    console.rows([*_rows(console, made), *(release_rows(made.releases) if made.patches else ())])
    console.hints(one.hint for one in made.problems)
    if made.patchset:
        good = sum(result.state in ("imported", "in place") for result in made.patches)
        number = (
            Message("{good} of {number} patches", good=good, number=len(made.patches))
            if made.patches
            else number_of_hunks(made.draft)
        )
        what = Message(
            "{number} in {folder}, for {ranges}",
            number=number,
            folder=made.folder,
            ranges=release_ranges(made.patchset.variants),
        )
        console.info_rows([Row("imported", (what,))])
        more = [] if str(made.folder.parent) == "patchsets" else ["--patch-dir", str(made.folder.parent)]
        console.info("apply it with: {command}", command=console.command("apply", made.patchset.name, *more))
    if made.patches and not made.ok:
        failed = sum(result.failed for result in made.patches)
        console.note(
            "{failed} of {number} patches; once mended, the same command imports them",
            "not imported",
            failed=failed,
            number=len(made.patches),
        )
    elif not made.patchset:
        rest = made.missing and any(file.hunks for file in made.draft.files)
        words = " ".join(f"--leave-out {quote(one.name)}" for one in made.missing)
        console.note(
            "no patchset was written{rest}",
            "stopped",
            rest=Message("; one of the rest is made with {words}", words=words) if rest else "",
        )
    return console.answer(made.ok, _json(made, explain=explain))


def _rows(console: Console, made: ImportOutcome) -> List[Row]:
    if made.patches:
        return [_patch_row(result) for result in made.patches if result.failed or not console.quiet]
    rows = [] if console.quiet else [Row("changes", (one.path, f"+{one.added} -{one.removed}")) for one in made.files]
    rows += release_rows(made.releases)
    rows += [Row(Message("left out"), (left.name, left.why)) for left in made.left_out]
    rows += [
        Row(Message("not imported"), (left.name, left.why), tuple(color_diff(left.text.rstrip("\n")))) for left in made.missing
    ]
    for one in made.problems:
        rows.append(Row(Message("does not fit"), (one.path or one.section.path,), (one.problem,)))
    return rows


def _patch_row(result: PatchResult) -> Row:
    what = (number_of_hunks(result.draft),) if any(file.hunks for file in result.draft.files) else ()
    details = (result.problem, *hint_lines(result.hint)) if result.problem else ()
    return Row(result.state, (result.name, *what), details)


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
        "left": [
            {"path": one.path, "line": one.line, "why": one.why, "stops": one in made.missing}
            for one in (*made.left_out, *made.missing)
        ],
        "problems": [
            {"path": one.section.path, "installed": one.path, "problem": one.problem, "hint": one.hint}
            for one in made.problems
        ],
        "patches": [
            {
                "name": result.name,
                "subject": result.subject,
                "state": result.state,
                "problem": result.problem,
                "hint": result.hint,
            }
            for result in made.patches
        ],
        "remarks": list(made.notes),
    }
