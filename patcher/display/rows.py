"""The answers and files of a plan, as rows of a table and as JSON."""

from __future__ import annotations

from typing import Iterable

from patcher.display.styles import Row, hint_lines
from patcher.message import Message
from patcher.model import Answer, State

_PLAIN = {
    State.UPSTREAM: Message("the file has the code of its `+` lines already: fixed upstream"),
    State.NOT_NEEDED: Message("the code that it changes is not there"),
}


def answer_rows(answers: Iterable[Answer]) -> list[Row]:
    """One row for each patchset, file and scope.

    What failed is explained below it, once for all scopes of a file.
    """
    scopes: dict[tuple[str, str, str, tuple[str, ...], int], list[str]] = {}
    for number, answer in enumerate(answers):
        path = answer.path
        if answer.places:
            path += f":{','.join(map(str, answer.places))}"
        details = _details(answer)
        group = -1 if details else number  # without details each answer is a row of its own
        row = (answer.state.value, answer.patchset, path, details, group)
        scopes.setdefault(row, []).append(answer.scope)

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
