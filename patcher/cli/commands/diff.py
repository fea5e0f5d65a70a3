"""`diff`."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import click

from patcher.cli.answers.diffs import show_parts
from patcher.cli.answers.plan import answer_json, answer_rows, decoded, diff_json
from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names
from patcher.cli.styles import titled
from patcher.errors import UsageError
from patcher.message import Message
from patcher.ops import diff as ops
from patcher.ops.diff import DiffOutcome, DiffRequest, HandEditDiff
from patcher.text.diffs import FileDiff
from patcher.text.listed import count
from patcher.text.terminal import padded, printable, width


@click.command(
    epilog="\b\nExamples:\n  sitepatch diff mmengine-ddp-debug | git apply --directory=site-packages\n"
    "  sitepatch diff --html review.html\n  sitepatch diff --edited mmengine"
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--stat", is_flag=True, help="Only how many lines change in each file.")
@click.option("--html", metavar="FILE", help="Write a page to review, which can be read offline.")
@click.option("--edited", is_flag=True, help="What was edited by hand, alone; NAME is then a package or file.")
@click.option("--all", "everywhere", is_flag=True, help="Look for edits in all packages, not only in those of patchsets.")
@click.option("--fetch", is_flag=True, help="Ask the index for what edited files were before, where nothing here has it.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything differs.")
@common_options()
def diff(
    console: Console,
    names: Tuple[str, ...],
    stat: bool,
    html: Optional[str],
    edited: bool,
    everywhere: bool,
    fetch: bool,
    exit_code: bool,
) -> int:
    """Show what would change, or what is changed.

    Of a patchset that is not applied: what apply would change. Of one that is: what it changes. Without names: what is
    changed by patchsets and, apart from that, what somebody edited by hand. Where the output is piped it is a plain diff for
    git apply and patch -p1, without the edits by hand: those are named, and shown by --edited.
    """
    if names and everywhere:
        raise UsageError("--all: found {names} too", Message("it is about all that is installed"), names=names[0])
    request = DiffRequest(console.place, names, edited, everywhere, fetch)
    outcome = ops.diff(request, console)
    silent = [answer for answer in outcome.answers if answer.state.value != "applicable"]
    console.rows(answer_rows(silent), err=True)
    console.suggest_explain(outcome.answers, console.place.patch_dirs)
    console.notes(outcome.notes)
    by_hand = [edit for edit in outcome.edits if edit.diff]
    apart = console.plain and not (edited or stat or html)
    for edit in outcome.edits if apart or html else [edit for edit in outcome.edits if not edit.diff]:
        console.note(_named(console, edit, fetched=fetch))
    if html:
        _write_page(console, request, outcome, html)
    elif stat:
        console.page(_stat(outcome))
    else:
        first = Message("changed by patchsets") if by_hand else ""
        parts: List[Tuple[str, Sequence[FileDiff]]] = [(first, [*outcome.applied, *outcome.planned])]
        parts += [(_heading(edit), [edit.diff]) for edit in by_hand if edit.diff and not apart]
        show_parts(console, parts, pager=True)
    if not outcome.differs and not names:
        by_hand_too = Message("nothing is edited by hand here in the packages of patchsets; --all looks at every package")
        nothing = Message("nothing is edited by hand here") if everywhere else by_hand_too
        console.note(nothing if edited else Message("nothing is changed here"))
    return console.answer(not (outcome.failed or (exit_code and outcome.differs)), _json(outcome))


def _named(console: Console, edit: HandEditDiff, *, fetched: bool) -> str:
    """A file that was edited by hand, and the command that shows the edit."""
    what = Message("{edit.path}: edited by hand ({edit.release})", edit=edit)
    if edit.diff:
        how = console.command("diff", "--edited", edit.path)
        return Message(
            "{what}, {lines} more and {names} less; to see it: {how}",
            what=what,
            lines=count(edit.diff.added, "line"),
            names=edit.diff.removed,
            how=how,
        )
    if fetched:
        return Message("{what}, and nothing has the text of before", what=what)
    how = console.command("diff", "--edited", "--fetch", edit.path)
    return Message("{what}, and nothing here has the text of before; to fetch that from the index: {how}", what=what, how=how)


def _heading(edit: HandEditDiff) -> str:
    doubt = "" if edit.proven else Message(", which nothing proves")
    return Message("edited by hand: {edit.path} ({edit.release}), against {edit.compared}{doubt}", edit=edit, doubt=doubt)


def _stat(outcome: DiffOutcome) -> List[str]:
    lines = stat_table([*outcome.applied, *outcome.planned]).split("\n")[:-1]
    by_hand = stat_table([edit.diff for edit in outcome.edits if edit.diff]).split("\n")[:-1]
    return [*lines, *([titled(Message("edited by hand")), *by_hand] if by_hand else [])]


def stat_table(diffs: Sequence[FileDiff]) -> str:
    """The table of `git diff --stat`, "" where nothing differs."""
    if not diffs:
        return ""
    column, most = max(width(printable(diff.path)) for diff in diffs), max(diff.added + diff.removed for diff in diffs)
    digits, scale = len(str(most)), min(1.0, 40 / most)
    lines = []
    for diff in diffs:
        plus, minus = (-(-int(count * scale * 1000) // 1000) for count in (diff.added, diff.removed))
        bar = "+" * plus + "-" * minus
        lines.append(f" {padded(printable(diff.path), column)} | {diff.added + diff.removed:>{digits}} {bar}")
    added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
    parts: List[str] = [Message("{files} changed", files=count(len(diffs), "file"))]
    parts += [f"{count(added, 'insertion')}(+)"] if added else []
    parts += [f"{count(removed, 'deletion')}(-)"] if removed else []
    return "\n".join([*lines, " " + ", ".join(parts)]) + "\n"


def _write_page(console: Console, request: DiffRequest, outcome: DiffOutcome, path: str) -> None:
    from patcher.cli.pages.review import review_page  # with diff-match-patch

    title = " ".join(["sitepatch diff", *(["--edited"] if request.edited else []), *request.names])
    console.file(path, review_page(title, outcome, ops.reasons(outcome, request.place.patch_dirs)))


def _json(outcome: DiffOutcome) -> Dict[str, Any]:
    return {
        "files": [diff_json(each) for each in (*outcome.applied, *outcome.planned)],
        "edited": [_edit_json(each) for each in outcome.edits],
        "answers": [answer_json(each) for each in outcome.answers],
        "notes": list(outcome.notes),
    }


def _edit_json(edit: HandEditDiff) -> Dict[str, Any]:
    lines = {"added": edit.diff.added, "removed": edit.diff.removed} if edit.diff else {"added": 0, "removed": 0}
    return {**edit._asdict(), **lines, "diff": decoded(edit.diff.text) if edit.diff else ""}
