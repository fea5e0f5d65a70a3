"""What `diff` does."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from patcher.cli.answers.diffs import DiffLayout, show_parts
from patcher.cli.answers.outcome import ConsoleEvents
from patcher.cli.answers.plan import answer_json, answer_rows, decoded, diff_json, stat
from patcher.cli.console import Console, command
from patcher.cli.styles import style
from patcher.cli.translation import translated
from patcher.ops.diff import DiffOutcome, DiffRequest, HandEditDiff, diff
from patcher.text.diffs import FileDiff
from patcher.text.listed import count


class DiffOptions(NamedTuple):
    """How diffs are shown, as the options of `diff`; `html` is the file for a page."""

    stat: bool
    words: bool
    sides: bool
    html: Optional[str]
    exit_code: bool


def show_diff(console: Console, request: DiffRequest, options: DiffOptions) -> int:
    """Show what would change, or what is changed."""
    outcome = diff(request, ConsoleEvents(console))
    layout = DiffLayout(options.sides, options.words)
    console.notes(f"{site}: {problem}" for site, problem in outcome.waiting)
    silent = [answer for answer in outcome.answers if answer.state.value != "applicable"]
    console.rows(answer_rows(silent), err=True)
    console.suggest_explain(request.place, outcome.answers)
    console.notes(outcome.notes)
    by_hand = [edit for edit in outcome.edits if edit.diff]
    apart = console.plain and not any(layout) and not (request.edited or options.stat or options.html)
    for edit in outcome.edits if apart or options.html else [edit for edit in outcome.edits if not edit.diff]:
        console.note(_named(edit, request))
    if options.html:
        _write_page(console, request, outcome, options.html)
    elif options.stat:
        console.page(_stat(outcome))
    else:
        first = "changed by patchsets" if by_hand else ""
        parts: List[Tuple[str, Sequence[FileDiff]]] = [(first, [*outcome.applied, *outcome.planned])]
        parts += [(_heading(edit), [edit.diff]) for edit in by_hand if edit.diff and not apart]
        show_parts(console, parts, layout, pager=True)
    if not outcome.differs and not request.names:
        by_hand_too = "nothing is edited by hand here in the packages of patchsets; --all looks at every package"
        nothing = "nothing is edited by hand here" if request.everywhere else by_hand_too
        console.note(nothing if request.edited else "nothing is changed here")
    code = 1 if outcome.failed or (options.exit_code and outcome.differs) else 0
    console.data(not code, _json(outcome))
    return code


def _named(edit: HandEditDiff, request: DiffRequest) -> str:
    """A file that was edited by hand, and the command that shows the edit."""
    what = f"{edit.path}: edited by hand ({edit.release})"
    if edit.diff:
        how = command(request.place, "diff", "--edited", edit.path)
        return f"{what}, {count(edit.diff.added, 'line')} more and {edit.diff.removed} less; to see it: {how}"
    if request.fetch:
        return f"{what}, and nothing has the text of before"
    how = command(request.place, "diff", "--edited", "--fetch", edit.path)
    return f"{what}, and nothing here has the text of before; to fetch that from the index: {how}"


def _heading(edit: HandEditDiff) -> str:
    doubt = "" if edit.proven else ", which nothing proves"
    return f"edited by hand: {edit.path} ({edit.release}), against {edit.compared}{doubt}"


def _stat(outcome: DiffOutcome) -> List[str]:
    lines = stat([*outcome.applied, *outcome.planned]).split("\n")[:-1]
    by_hand = stat([edit.diff for edit in outcome.edits if edit.diff]).split("\n")[:-1]
    return [*lines, *([style(translated("edited by hand"), bold=True), *by_hand] if by_hand else [])]


def _write_page(console: Console, request: DiffRequest, outcome: DiffOutcome, path: str) -> None:
    from patcher.cli.pages.review import review_page  # with diff-match-patch
    from patcher.ops.looking.reasons import reasons

    title = " ".join(["sitepatch diff", *(["--edited"] if request.edited else []), *request.names])
    console.file(path, review_page(title, outcome, reasons(outcome, request.place.patch_dirs)))


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
