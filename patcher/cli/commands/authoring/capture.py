"""`capture` and `edit`: what they made of an edit, as text, as JSON and as an exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple

import click

from patcher.author.folder import output_folder
from patcher.cli.answers.draft import (
    hunks_json,
    left_json,
    left_rows,
    number_of_hunks,
    release_rows,
    releases_json,
    show_hunks,
)
from patcher.errors import UsageError
from patcher.message import Message
from patcher.text.diffs import FileDiff, diff_texts
from patcher.verbs.console import Console, decoded
from patcher.verbs.differences import show_diffs
from patcher.verbs.editor import edit_copies
from patcher.verbs.list import release_ranges
from patcher.verbs.options import common_options, patient, verify_option
from patcher.verbs.report import report_outcome, show_applied
from patcher.verbs.rows import answer_rows
from patcher.verbs.styles import Row

if TYPE_CHECKING:
    from patcher.ops.authoring.capturing import Captured, CaptureOutcome


def _makes_a_patchset(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command `--name`, `--output`, `--summary`, `--also`, `--partial` and `--explain`."""
    for option in (
        click.option("--explain", is_flag=True, help="Also show the forms of each hunk that were not taken, and why."),
        click.option("--partial", is_flag=True, help="Also where a part of the edit cannot be put into a patchset."),
        click.option(
            "--also",
            metavar="RELEASE|DIR",
            multiple=True,
            help="A release from the index, or a directory of packages, for which it should hold as well; repeatable.",
        ),
        click.option("--summary", metavar="TEXT", default="", help="The summary of the patchset, in a line."),
        click.option("--output", metavar="DIR", help="Where the patchset's folder is put (default ./patchsets)."),
        click.option("--name", metavar="NAME", required=True, help="The name of the patchset."),
    ):
        function = option(function)
    return function


@click.command(
    epilog="\b\nExamples:\n  sitepatch capture mmengine --name runner-debug --adopt\n"
    "  sitepatch capture mmengine/runner/runner.py --name runner-debug --pristine mmengine-0.10.7-py3-none-any.whl"
)
@click.argument("words", metavar="[PACKAGE|FILE]...", nargs=-1)
@_makes_a_patchset
@click.option("--pristine", metavar="FILE|WHEEL|DIR", default="", help="What was installed, where nothing else gives it.")
@click.option("--from", "copy", metavar="DIR", default="", help="The directory of copies that edit --no-editor made.")
@click.option("--adopt", is_flag=True, help="Put the files back and apply the patchset in the place of the edit.")
@verify_option()
@common_options()
@patient
def capture(
    console: Console,
    words: Tuple[str, ...],
    name: str,
    output: Optional[str],
    summary: str,
    partial: bool,
    explain: bool,
    also: Tuple[str, ...],
    pristine: str,
    copy: str,
    adopt: bool,
    verify: str,
) -> int:
    """Make a patchset of what was edited in the environment.

    Every installed Python file is compared with RECORD, or those of the packages and files that are named. What it was before
    comes from the store, from a backup beside it or from its release in the index, and RECORD's sha256 proves it. In a file
    that a patchset changed already, the edit is the difference to that.

    With --adopt, and on a terminal when asked, the patchset then takes the place of the edit: from then on it is tracked, and
    restore gives back the file as it was installed. One of that name that was captured before is taken as it is.
    """
    if copy and (words or pristine or adopt):
        raise UsageError("--from: found packages, files, --pristine or --adopt too", "it takes the copies alone")
    from patcher.ops.authoring import capturing as ops  # with the engine

    request = ops.CaptureRequest(console.place, name, words, output, pristine, copy, partial, summary, also, adopt)
    made = ops.capture(request, console)
    _show(console, made, explain=explain)
    if made.folder is None or copy or not (adopt or _agreed(console)):
        return _report(console, made, explain=explain)
    outcome = ops.adopt(made, verify, console)
    return report_outcome(console, outcome, show_applied, **_json(made, explain=explain))


def _agreed(console: Console) -> bool:
    """Ask on a terminal whether the patchset is to take the place of the edit."""
    if console.as_json or console.quiet or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return console.confirm(Message("put the files back and apply the patchset in the place of the edit?"))


def _show(console: Console, made: CaptureOutcome, *, explain: bool) -> None:
    """The diff of each file, the hunks that were made of it, what they do not give back, and where the patchset is."""
    console.notes(made.notes)
    show_diffs(console, [_diff(one) for one in made.files])
    show_hunks(console, made.draft, explain=explain)
    rows = [*left_rows(made.draft), *release_rows(made.releases)]
    rows += answer_rows(made.plan.failed)
    console.rows(rows)
    if made.folder is None:
        rest = not made.draft.complete and any(file.hunks for file in made.draft.files)
        more = Message("; --partial makes one of the rest") if rest else ""
        console.note("no patchset was written{more}", "stopped", more=more)
    else:
        _show_differences(console, made)
        variants = made.requested.patchset.variants if made.requested else ()
        what = (
            Message("{hunks} in {folder}", hunks=number_of_hunks(made.draft), folder=made.folder)
            if made.draft.files
            else Message("{folder}, as it stands", folder=made.folder)
        )
        console.info_rows([Row("captured", (Message("{what}, for {ranges}", what=what, ranges=release_ranges(variants)),))])


def _report(console: Console, made: CaptureOutcome, *, explain: bool) -> int:
    """How to go on, the JSON answer and the exit code, where the patchset does not take the place of the edit."""
    request = made.request
    if made.folder and request.copy:
        more = [] if request.output is None else ["--patch-dir", str(made.folder.parent)]
        how = console.command("apply", request.name, *more)
        console.info("apply it with: {how}", how=how)
    elif made.folder:
        more = [] if request.output is None else ["--output", request.output]
        more += [*(["--pristine", request.pristine] if request.pristine else []), *(["--partial"] if request.partial else [])]
        how = console.command("capture", *request.words, "--name", request.name, *more, "--adopt")
        console.info("put it in the place of the edit with: {how}", how=how)
    return console.answer(made.folder is not None, {"written": False, **_json(made, explain=explain)})


def _show_differences(console: Console, made: CaptureOutcome) -> None:
    """Where the patchset makes another text than the edit did."""
    for one in made.files:
        if one.made != one.file.data:
            what = _difference(made, one) or Message("see below")
            console.note(
                "{path}: the patchset does not make it byte for byte as it was edited: {what}", path=one.file.path, what=what
            )
            show_diffs(console, [diff_texts("", one.file.path, one.file.data, one.made)])


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


@click.command(
    epilog="\b\nExamples:\n  sitepatch edit mmengine runner/runner.py --name runner-debug\n"
    "  sitepatch edit mmengine --name runner-debug --no-editor"
)
@click.argument("package")
@click.argument("file", required=False, default="")
@_makes_a_patchset
@click.option("--no-editor", is_flag=True, help="Make the copies and print where they are; capture --from goes on from there.")
@common_options()
def edit(
    console: Console,
    package: str,
    file: str,
    name: str,
    output: Optional[str],
    summary: str,
    partial: bool,
    explain: bool,
    also: Tuple[str, ...],
    no_editor: bool,
) -> int:
    """Edit a copy of installed files, and make a patchset of that.

    Copies the Python files of an import package, or one of them, to a temporary directory and opens them in $VISUAL or
    $EDITOR. The environment is not touched.
    """
    from patcher.ops.authoring import capturing as ops  # with the engine

    output_folder(name, output)  # fails before an hour of editing
    copies = ops.edit(ops.EditRequest(console.place, package, file), console)
    more = ["--output", output] if output else []
    more += [word for each in also for word in ("--also", each)]
    go_on = console.command("capture", "--from", str(copies.folder), "--name", name, *more)
    if no_editor:
        console.out(Message("edit what is in {folder}, then: {go_on}", folder=copies.folder, go_on=go_on))
        return console.answer(True, {"folder": str(copies.folder), "paths": list(copies.paths)})
    request = ops.CaptureRequest(console.place, name, (), output, "", str(copies.folder), partial, summary, also)
    first = copies.paths[0] if file else ""

    def run() -> int:
        made = ops.capture(request, console)
        _show(console, made, explain=explain)
        return _report(console, made, explain=explain)

    return edit_copies(console, copies.folder, first, go_on, run)
