"""Three ways to hold the engine against a rule: a change, a state without a change, a refusal when loaded."""

from __future__ import annotations

import textwrap
from typing import Mapping, Optional, Tuple

import pytest

from patcher.errors import PatchError
from patcher.model import OptionValue, Rewrite, State
from patcher.semantic.engine import rewrite
from patcher.semantic.hunk import parse_spatch


def run(source: str, hunk: str, scope: str = "f", flags: str = "", options: Optional[Mapping[str, OptionValue]] = None) -> Rewrite:
    """Apply one hunk (or several, parted by `@@` lines of their own) to a source text."""
    text = f"--- package/module.py\n@@ {scope} @@ {flags}\n{hunk}"
    _, files = parse_spatch(text, "case.spatch")
    return rewrite(source.encode(), files[0].hunks, options or {})


def block(text: str) -> str:
    """A case's text without the indentation of the table it stands in and its first line break."""
    return textwrap.dedent(text).lstrip("\n")


def check_transformed(source: str, hunk: str, expected: str, **how: object) -> None:
    """The hunk applies, gives exactly `expected`, and a second application finds it in place or changes nothing."""
    source, expected = block(source), block(expected)
    result = run(source, block(hunk), **how)  # type: ignore[arg-type]
    problems = [(answer.state.value, answer.problem, answer.hint) for answer in result.answers if answer.state.failed]
    assert not problems
    assert result.data.decode() == expected
    again = run(expected, block(hunk), **how)  # type: ignore[arg-type]
    assert again.data.decode() == expected


def check_state(source: str, hunk: str, state: State, words: str = "", **how: object) -> None:
    """The hunk changes nothing and its first answer has this state; `words` must be in the explanation."""
    source = block(source)
    result = run(source, block(hunk), **how)  # type: ignore[arg-type]
    assert result.data.decode() == source
    states = [(answer.state, answer.problem + answer.hint) for answer in result.answers]
    assert state in [found for found, _ in states], states
    assert any(words in text for _, text in states), states


def check_refused(hunk: str, words: str, **how: object) -> Tuple[str, ...]:
    """The hunk is refused when it is loaded, with these words; gives back the lines of the message."""
    with pytest.raises(PatchError) as caught:
        run("def f():\n    pass\n", hunk, **how)  # type: ignore[arg-type]
    assert words in caught.value.message, caught.value.message
    assert caught.value.message.startswith("case.spatch:"), caught.value.message
    return tuple(caught.value.message.split("\n"))
