"""The cost of matching, counted in steps and in bytes parsed, not in seconds: it grows with the scope and not with the file."""

import gc
import sys
import textwrap
from types import FrameType
from typing import Iterator, List, Sequence

import pytest

from patcher.engine import match
from patcher.engine import syntax as tree
from patcher.engine.engine import rewrite
from patcher.engine.find import find_in_scope
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import parse_spatch
from patcher.engine.spatch.pattern import compile_hunk
from patcher.model import HunkText, State
from tests.engine.corpus import signed
from tests.engine.helpers import check_state, run

ANCHORS = {
    "an expression": "-old(a, $X)\n+max(a, $X)\n",
    "a statement": " $V = old(a, ...)\n+print($V)\n",
    "two statements": "-$V = old(a, ...)\n-return $V\n+return 1\n",
    "a metavariable twice": "-$V = old(a, $V)\n+$V = 1\n",
}


def hunk(text: str, scope: str = "f") -> HunkText:
    return parse_spatch(f"--- p/m.py\n@@ {scope} @@ count=all\n{text}", "case.spatch")[1][0].hunks[0]


def steps(source: str, text: str, scope: str = "f") -> int:
    """The steps of the matcher for both sides of a hunk."""
    return find_in_scope(Source(source.encode()), compile_hunk(hunk(text, scope), {}), scope).steps


def function(statements: int, name: str = "f") -> str:
    lines = [f"    x{number} = other(a.b[{number}], key=(a, 'text'))\n" for number in range(statements)]
    return f"def {name}(a):\n{''.join(lines)}    y = old(a, 1)\n    return y\n\n\n"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[List[str]]:
    """The texts that libcst is given."""
    texts: List[str] = []
    real = tree.cst.parse_module

    def noting(text: str, config: tree.cst.PartialParserConfig) -> tree.cst.Module:
        texts.append(text)
        return real(text, config)

    monkeypatch.setattr(tree.cst, "parse_module", noting)  # libcst's: nothing else tells what it is given
    yield texts
    assert texts, "this test can see what is parsed"


@pytest.mark.parametrize("name", ANCHORS)
def test_code_outside_the_scope_costs_nothing(name: str) -> None:
    scope = function(20)
    alone = steps(scope, ANCHORS[name])
    assert alone > 20
    for others in (10, 100):
        around = "".join(function(20, f"g{number}") for number in range(others))
        assert steps(around + scope + around.replace("def g", "def h"), ANCHORS[name]) == alone


@pytest.mark.parametrize("name", ANCHORS)
def test_a_scope_of_twice_the_statements_costs_at_most_twice_the_steps(name: str) -> None:
    few, more, most = (steps(function(count), ANCHORS[name]) for count in (50, 100, 200))
    assert few < more < most
    assert more <= 2 * few + 50
    assert most <= 2 * more + 50


def test_bodies_of_a_module_are_not_walked_for_a_hunk_of_its_top_level() -> None:
    source = "import old\n" + function(20) + "x = old(a, 1)\n"
    text = "-x = old(a, $X)\n+x = max(a, $X)\n"
    alone = steps(source, text, "<module>")
    assert steps(source + function(200, "g"), text, "<module>") <= alone + 20


def test_libcst_is_given_the_scope_and_nothing_else(parsed: List[str]) -> None:
    scope = function(20).rstrip("\n") + "\n"
    for others in (0, 10, 200):
        rest = "".join(function(20, f"g{number}") for number in range(others))
        parsed.clear()
        result = rewrite((rest + scope + rest.replace("def g", "def h")).encode(), [hunk("-old(a, $X)\n+max(a, $X)\n")], {})
        assert [answer.state for answer in result.answers] == [State.APPLICABLE]
        texts = [text for text in parsed if "other" in text]
        assert texts == [scope, scope.replace("old(a, 1)", "max(a, 1)")]  # once to find, once to check the result
        assert sum(map(len, parsed)) < 2 * len(scope) + 100  # and the two sides of the hunk


@pytest.mark.parametrize("text", ["-y = old(a, $X)\n+y = max(a, $X)\n", " y = old(a, 1)\n ...\n+w = 1\n"])
def test_at_the_top_level_libcst_is_given_only_what_has_the_names_of_the_hunk(parsed: List[str], text: str) -> None:
    source = "a = 0\nx = other(a)\ny = old(a, 1)\nz = other(a)\n"
    result = rewrite(source.encode(), [hunk(text, "<module>")], {})
    assert [answer.state for answer in result.answers] == [State.APPLICABLE]
    assert [text for text in parsed if "other" in text] == []


def test_several_hunks_of_one_scope_parse_it_once(parsed: List[str]) -> None:
    scope = function(20).rstrip("\n") + "\n"
    hunks = [hunk(f" x{number} = other(...)\n+print({number})\n") for number in range(0, 20, 2)]
    result = rewrite((scope + function(20, "g")).encode(), hunks, {})
    assert {answer.state for answer in result.answers} == {State.APPLICABLE}
    texts = [text for text in parsed if "def f" in text]
    assert texts == [scope, next(text for text in texts if text != scope)]


def runs(count: int, last: str = "c()") -> str:
    """A hunk with `count` times `...` and a call, then something that ends it."""
    return " def f(...):\n" + "     ...\n     a()\n" * count + f"     ...\n     {last}\n+    b()\n"


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
def test_runs_that_lead_nowhere_cost_quadratic_and_not_exponential_steps(count: int) -> None:
    source = "def f(a):\n" + "    a()\n" * 60 + "    b()\n"
    few = steps(source, runs(count))
    assert few <= 2 * (count + 2) * 62**2
    of_twice_the_calls = steps(source.replace("    b()", "    a()\n" * 60 + "    b()"), runs(count))
    assert of_twice_the_calls <= 4.5 * few + 500
    check_state(source, runs(count), State.NOT_FOUND, "the code to change is not")


def test_runs_that_lead_nowhere_among_metavariables_cost_quadratic_steps() -> None:
    source = "def f(a):\n" + "".join(f"    x{number} = {number}\n" for number in range(60)) + "    b()\n"
    text = " def f(...):\n" + "".join(f"     ...\n     $A{number} = $B{number}\n" for number in range(6)) + "     c()\n+    b()\n"
    assert steps(source, text) < 62**2 * 16
    check_state(source, text, State.NOT_FOUND, "the code to change is not")


def test_decorators_that_lead_nowhere_cost_quadratic_steps() -> None:
    source = "".join(f"@d({number})\n" for number in range(60)) + "def f(a):\n    b()\n"
    text = " @d($A)\n @d($B)\n @d($C)\n @d($D)\n @d($E)\n @e\n def f(...):\n+    b()\n     ...\n"
    assert steps(source, text) < 62**2 * 20  # of 60 over 5, five million
    check_state(source, text, State.NOT_FOUND, "the code to change is not")


def test_very_many_matches_are_ambiguous_and_not_all_counted() -> None:
    source = "def f(a):\n" + "    a()\n" * 60 + "    c()\n"
    assert steps(source, runs(6)) < 62**2 * 16
    insertion = runs(6).replace("+    b()\n", "").replace("     a()\n", "     a()\n+    b()\n", 1)
    check_state(source, insertion, State.AMBIGUOUS, "in more than 50 ways")


def test_what_is_bound_and_read_again_is_bounded() -> None:
    """`$A` and `$B` are read after the runs, so each pair of their possible values is a state of its own."""
    source = "def f(a):\n" + "".join(f"    x{number} = {number}\n" for number in range(90)) + "    b()\n"
    text = " def f(...):\n     ...\n     $A = $D\n     ...\n     $B = $E\n     ...\n     $C = $F\n     ...\n     c($A, $B, $C)\n+    b()\n"
    check_state(source, text, State.CONFLICT, "too many ways")


def test_a_long_scope_is_not_mistaken_for_an_explosion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match, "MAX_STEPS", 200)  # a scope that takes more than the real limit takes a minute
    for name in ANCHORS:
        assert steps(function(400), ANCHORS[name]) > 400


def test_a_long_hunk_is_matched() -> None:
    lines = "".join(f" x{number} = other(a.b[{number}], key=(a, 'text'))\n" for number in range(80))
    result = run(function(80), lines + "+print(1)\n y = old(a, 1)\n")
    assert [answer.state for answer in result.answers] == [State.APPLICABLE]


LONG = {
    "a list": lambda numbers: "x = [\n" + "".join(f"    {number},\n" for number in numbers) + "]\n",
    "keywords": lambda numbers: "g(\n" + "".join(f"    k{number}={number},\n" for number in numbers) + ")\n",
    "statements": lambda numbers: "".join(f"g({number})\n" for number in numbers),
}


@pytest.mark.parametrize("name", LONG)
def test_a_literal_or_block_of_500_parts_is_matched_and_keeps_those_that_stay(name: str) -> None:
    """Python's own stack ends before that, and a table of all pairs would have 250,000 cells."""
    old = LONG[name](range(500))
    new = LONG[name]([0, 1, 900, *range(2, 496), 901, 497, 498, 499])
    source = f"def f(g):\n{textwrap.indent(old, '    ')}    return 1\n"
    expected = f"def f(g):\n{textwrap.indent(new, '    ')}    return 1\n"
    text = whole_hunk(old, new)
    assert steps(source, text) < 20_000
    changed = run(source, text)
    assert (changed.data.decode(), [answer.problem for answer in changed.answers]) == (expected, [""])
    assert sum(len(splice.new) for splice in changed.splices) < 50


def whole_hunk(old: str, new: str) -> str:
    """A hunk that writes every line of both texts."""
    return signed("-", old.rstrip("\n")) + signed("+", new.rstrip("\n"))


def each(numbers: Sequence[int]) -> List[int]:
    return [number + 1000 for number in numbers]


def every_second_goes(numbers: Sequence[int]) -> List[int]:
    return [number for number in numbers if number % 2]


def more_before_every_third(numbers: Sequence[int]) -> List[int]:
    changed = []
    for number in numbers:
        if number % 3 == 0:
            changed.append(number + 1000)
        changed.append(number)
    return changed


CHANGES = {"each": each, "every second goes": every_second_goes, "more comes before every third": more_before_every_third}


def calls(parts: str, change: str, count: int) -> int:
    """The calls of Python functions while a literal or block of so many parts is changed by one hunk that writes all of it."""
    old = LONG[parts](range(count))
    new = LONG[parts](CHANGES[change](range(count)))
    text = whole_hunk(old, new)
    number_of_calls = 0

    def note(frame: FrameType, event: str, arg: object) -> None:
        nonlocal number_of_calls
        number_of_calls += event == "call"

    sys.setprofile(note)
    try:
        result = run("def f(g):\n" + textwrap.indent(old, "    "), text)
    finally:
        sys.setprofile(None)
    assert [answer.state for answer in result.answers] == [State.APPLICABLE]
    return number_of_calls


@pytest.mark.once
@pytest.mark.parametrize(
    ("parts", "change"),
    [("a list", "every second goes"), ("keywords", "each"), ("statements", "more comes before every third")],
)
def test_a_literal_or_block_of_twice_the_parts_costs_twice_the_calls(parts: str, change: str) -> None:
    calls(parts, change, 5)  # what is imported or read once
    few, more = calls(parts, change, 60), calls(parts, change, 120)
    assert 60 * 60 < few < more < 2.2 * few


def test_no_garbage_is_collected_while_a_file_is_read() -> None:
    """Its trees are large and have none; looking for it costs more than reading them."""
    collected: List[str] = []

    def note(phase: str, _: object) -> None:
        collected.append(phase)

    data = (function(20) + "".join(function(20, f"g{number}") for number in range(100))).encode()
    hunks = [hunk(ANCHORS["an expression"])]
    gc.callbacks.append(note)
    try:
        assert rewrite(data, hunks, {}).splices
        assert collected == []
        gc.collect(0)
        assert collected, "this test can see collections"
    finally:
        gc.callbacks.remove(note)
    assert gc.isenabled()
    assert rewrite(b"def f(:", hunks, {}).answers[0].state is State.CONFLICT
    assert gc.isenabled()
