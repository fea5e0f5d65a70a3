"""Ways to hold the engine against a rule: a change, a state without a change, a refusal when loaded.

The tables of the rules (`RULE_1` to `RULE_29` in test_rules_*.py) are made of the four kinds of case below.
"""

import importlib
import textwrap
from pathlib import Path
from typing import Dict, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import pytest

from patcher.display.console import exit_code
from patcher.engine.engine import rewrite
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import PatchError
from patcher.model import OptionValue, Rewrite, State

HEAD = "def f(a, b, c, d, A, x=0):\n    "


class Changed(NamedTuple):
    """The hunk applies and gives this text, and a second application changes nothing."""

    source: str
    hunk: str
    result: str
    how: Mapping[str, object] = {}


class Stays(NamedTuple):
    """The hunk changes nothing; its answer has this state and these words."""

    source: str
    hunk: str
    state: State
    words: str = ""
    how: Mapping[str, object] = {}


class Refused(NamedTuple):
    """The hunk is refused when it is loaded, with these words and a marker under this text."""

    hunk: str
    words: str
    marked: str = ""
    how: Mapping[str, object] = {}


class Form(NamedTuple):
    """The whole `.spatch` is refused when it is read, on this line and with these words."""

    text: str
    line: int
    words: str


Case = Union[Changed, Stays, Refused, Form]


def inside(code: str, hunk: str, result: str, **how: object) -> Changed:
    """`Changed` for the body of a function; the names a, b, c, d, A and x are bound there."""
    return Changed(f"{HEAD}{code}\n", hunk, f"{HEAD}{result}\n", how)


def stays(code: str, hunk: str, state: State, words: str = "", **how: object) -> Stays:
    """`Stays` for the body of a function."""
    return Stays(f"{HEAD}{code}\n", hunk, state, words, how)


def every_case() -> Dict[str, Case]:
    """Every case of the tables of all rules, by rule and name."""
    cases: Dict[str, Case] = {}
    for path in sorted(Path(__file__).parent.glob("test_rules_*.py")):
        module = importlib.import_module(f"tests.engine.{path.stem}")
        tables = {rule: table for rule, table in vars(module).items() if rule.startswith("RULE_")}
        for rule, table in tables.items():
            for name, case in table.items():
                if not isinstance(case[-1], bool):  # rule 21 has rows of names
                    cases[f"{rule}: {name}"] = case
    return cases


def hold(case: Case) -> None:
    """Hold one case of a table against the engine."""
    if isinstance(case, Changed):
        check_transformed(case.source, case.hunk, case.result, **case.how)
    elif isinstance(case, Stays):
        check_state(case.source, case.hunk, case.state, case.words, **case.how)
    elif isinstance(case, Refused):
        lines = check_refused(case.hunk, case.words, **case.how)
        if case.marked:
            shown, marker = lines[-2], lines[-1]
            assert shown[marker.index("^") :].startswith(case.marked), lines
    else:
        with pytest.raises(PatchError) as caught:
            parse_spatch(case.text, "case.spatch")
        assert caught.value.message.startswith(f"case.spatch:{case.line}: "), caught.value.message
        assert case.words in caught.value.message
        assert exit_code(caught.value) == 2


def use_older_python(monkeypatch: pytest.MonkeyPatch, without: str = "") -> None:
    """Behave as if the running interpreter were older than the syntax of the files, or of those with this text.

    There is no other way: a test has only syntax that every Python the tests run on knows.
    """
    parse = Source._ast
    monkeypatch.setattr(Source, "_ast", lambda source: None if without in source.text else parse(source))


def run(source: str, hunk: str, scope: str = "f", flags: str = "", options: Optional[Mapping[str, OptionValue]] = None, injected: Sequence[str] = ()) -> Rewrite:
    """Apply one hunk (or several, parted by `@@` lines of their own) to a source text."""
    text = f"--- package/module.py\n@@ {scope} @@ {flags}\n{hunk}"
    _, files = parse_spatch(text, "case.spatch")
    return rewrite(source.encode(), files[0].hunks, options or {}, injected)


def block(text: str) -> str:
    """A case's text; one that begins with a line break without that and the indentation of the table it stands in."""
    return textwrap.dedent(text).lstrip("\n") if text.startswith("\n") else text


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
    assert any(answer.state is state for answer in result.answers), states
    assert any(words in text for _, text in states), states


def check_refused(hunk: str, words: str, **how: object) -> Tuple[str, ...]:
    """The hunk is refused when it is loaded, with these words; gives back the lines of the message."""
    with pytest.raises(PatchError) as caught:
        run("def f():\n    pass\n", hunk, **how)  # type: ignore[arg-type]
    assert words in caught.value.message, caught.value.message
    assert caught.value.message.startswith("case.spatch:"), caught.value.message
    return tuple(caught.value.message.split("\n"))
