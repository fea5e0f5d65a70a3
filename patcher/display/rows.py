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
        path = (
            f"{answer.path}:{','.join(map(str, answer.places))}" if answer.places else answer.path
        )
        details = (*filter(None, [answer.problem]), *hint_lines(answer.hint))
        if not details and answer.state in _PLAIN:
            details = (_PLAIN[answer.state],)
        row = (answer.state.value, answer.patchset, path, details, -1 if details else number)
        scopes.setdefault(row, []).append(answer.scope)
    return [
        Row(word, (patchset, path, ", ".join(filter(None, dict.fromkeys(names)))), details)
        for (word, patchset, path, details, _), names in scopes.items()
    ]


# JSON -----------------------------------------------------------------------------------------------------------------
def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer as JSON."""
    internal = ("gone", "written", "layer")  # `mixed` has made use of the first
    return {key: value for key, value in answer._asdict().items() if key not in internal}


def diff_json(diff: FileDiff) -> dict[str, Any]:
    """A file's difference as JSON."""
    fields = {**diff._asdict(), "diff": diff.text}
    return {
        key: value for key, value in fields.items() if key not in ("text", "old", "new", "release")
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
