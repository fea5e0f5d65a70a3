"""The answers and files of a plan, as rows of a table and as JSON."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Iterable

from patcher.display.styles import Row, hint_lines
from patcher.message import Message
from patcher.model import Answer, Plan, State

if TYPE_CHECKING:
    from patcher.text.diffs import FileDiff

_PLAIN = {
    State.UPSTREAM: Message("the file has the code of its `+` lines already: fixed upstream"),
    State.NOT_NEEDED: Message("the code that it changes is not there"),
}


# tables ---------------------------------------------------------------------------------------------------------------
def answer_rows(answers: Iterable[Answer]) -> list[Row]:
    """One row for each patchset, file and scope; what failed is explained below it, once for all scopes of a file."""
    scopes: dict[tuple[str, str, str, tuple[str, ...], int], list[str]] = {}
    for number, answer in enumerate(answers):
        path = answer.path
        if answer.places:
            path += f":{','.join(map(str, answer.places))}"
        details = _details(answer)
        group = -1 if details else number  # without details each answer is a row of its own
        row = (answer.state.value, answer.patchset, path, details, group)
        scopes.setdefault(row, []).append(answer.hunk.scope)

    rows = []
    for (word, patchset, path, details, _), names in scopes.items():
        named = ", ".join(name for name in dict.fromkeys(names) if name)
        rows.append(Row(word, (patchset, path, named), details))
    return rows


def _details(answer: Answer) -> tuple[str, ...]:
    details = hint_lines(answer.hint)
    if answer.problem:
        details.insert(0, answer.problem)
    if not details and answer.state in _PLAIN:
        details.append(_PLAIN[answer.state])
    return tuple(details)


# JSON -----------------------------------------------------------------------------------------------------------------
def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer as JSON."""
    return {
        "patchset": answer.patchset,
        "path": answer.path,
        "scope": answer.hunk.scope,
        "state": answer.state,
        "places": answer.places,
        "problem": answer.problem,
        "hint": answer.hint,
        "when_present": answer.hunk.when_present,
    }


def diff_json(diff: FileDiff) -> dict[str, Any]:
    """A file's difference as JSON."""
    return {
        "site": diff.site,
        "path": diff.path,
        "patchsets": diff.patchsets,
        "before": diff.before,
        "after": diff.after,
        "added": diff.added,
        "removed": diff.removed,
        "diff": diff.text,
    }


def plan_json(plan: Plan) -> dict[str, Any]:
    """`answers`, `files` (with the hash of each, before and after) and `notes` of a plan."""
    files = [
        {
            "site": file.site,
            "path": file.path,
            "changes": file.before != file.after,
            "before": sha256(file.before).hexdigest(),
            "after": sha256(file.after).hexdigest(),
            "patchsets": [step.patchset for step in file.steps],
        }
        for file in plan.files
    ]
    return {
        "answers": [answer_json(answer) for answer in plan.answers],
        "files": files,
        "notes": plan.notes,
    }
