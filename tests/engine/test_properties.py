"""Hunks made from real functions: the promises that hold for every hunk.

A run tries a sample from the standard library, always the same one on the same interpreter, whatever else is installed.
SITEPATCH_ALL_CORPUS=1 tries every function, those of every installed package too (hours).
"""

import ast
import os
import re
import warnings
from collections import Counter
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Callable, Iterator, List, Optional, Tuple

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import PatchError
from patcher.model import Rewrite, Splice, State, apply_splices
from tests.engine import corpus
from tests.engine.corpus import STATEMENT_KINDS, Function, MadeHunk

pytestmark = pytest.mark.once

ALL = bool(os.environ.get("SITEPATCH_ALL_CORPUS"))
EXAMPLES = 60
# What a person is told when a piece cannot be a hunk, or cannot be changed at that place; everything else is a fault.
NO_HUNK = ("too little", "does not parse", "one side begins with a clause", "differ only", "`...` alone is")
REFUSED = ("shares its line", "byte for byte", "several lines", "does not mention", "nested too deeply", "does not parse")
Maker = Callable[[Function, Random], Optional[MadeHunk]]


@lru_cache(maxsize=None)
def files() -> List[Path]:
    """The files that functions are taken from."""
    return corpus.files(2_000_000) if ALL else corpus.files(installed=False)


class Outcomes(Counter):  # type: ignore[type-arg]
    """How often each outcome came up."""

    def report(self, tell: Callable[[str], None], what: str) -> None:
        counts = ", ".join(f"{count} {name}" for name, count in self.most_common())
        tell(f"{what}: {counts}; {len(files())} files to choose from")


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Iterator[Callable[[str], None]]:
    """Write a line to the terminal whatever pytest captures."""
    reporter = request.config.pluginmanager.getplugin("terminalreporter")
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def write(line: str) -> None:
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line("  " + line)

    yield write


def for_each(what: str, make: Maker, check: Callable[[Function, MadeHunk, Outcomes], None], examples: int = EXAMPLES) -> Outcomes:
    """Call `check` with hunks made of functions; `what` decides which sample it is."""
    outcomes = Outcomes()
    functions = set()

    def check_hunk_of(function: Function, random: Random) -> None:
        hunk = make(function, random)
        if hunk is None:
            return
        functions.add((function.path, function.scope))
        outcomes["hunks"] += 1
        try:
            check(function, hunk, outcomes)
        except Exception as error:
            error.args = (f"{function.path} {function.scope} line {hunk.line}, {hunk.kind}\n{hunk.body}\n{error}",)
            raise

    if ALL:
        for path in files():
            for function in corpus.functions(path):
                check_hunk_of(function, Random(f"{function.scope} {what}"))
    for number in range(0 if ALL else examples):
        random = Random(f"{what} {number}")
        candidates = corpus.functions(random.choice(files()))
        if candidates:
            check_hunk_of(random.choice(candidates), random)
    outcomes["functions"] = len(functions)
    return outcomes


def applied(data: bytes, scope: str, body: str) -> Optional[Rewrite]:
    """The result of a hunk, None where the piece cannot be one."""
    try:
        _, files = parse_spatch(f"--- a/b.py\n@@ {scope} @@\n{body}", "made.spatch")
        return rewrite(data, files[0].hunks, {})
    except PatchError as error:
        if not any(words in error.message for words in NO_HUNK):
            raise
        return None


def exchanged(body: str) -> str:
    """A hunk with its before and after side exchanged: the lines of a change in the order `-` before `+`."""
    swap = {" ": " ", "-": "+", "+": "-"}
    lines = [(swap[line[0]], line[1:]) for line in body.splitlines(True)]
    out: List[Tuple[str, str]] = []
    for line in lines:
        at = len(out)
        while line[0] == "-" and at and out[at - 1][0] == "+":
            at -= 1
        out.insert(at, line)
    return "".join(sign + text for sign, text in out)


def meaning(data: bytes) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.dump(ast.parse(data))


def check_change(function: Function, hunk: MadeHunk, outcomes: Outcomes) -> None:
    """(a) Nothing outside the changed statement changes, (b) nor a second time, (c) the hunk with its sides exchanged undoes it.

    Undone byte for byte is what a hunk can say in full: an expression put into a call, statements beside or around another,
    a parameter. What was replaced or deleted comes back as the hunk writes it, without the comments that stood there.
    """
    data = function.data
    result = applied(data, function.scope, hunk.body)
    if result is None:
        outcomes["no hunk"] += 1
        return
    (answer,) = result.answers
    if answer.state is State.AMBIGUOUS:
        assert result.data == data
        outcomes["ambiguous"] += 1
        return
    lost = re.match(r"`(\w+)` is (?:read in line|a local of) ", answer.problem)
    if lost or any(words in answer.problem for words in REFUSED):
        if lost and hunk.kind in ("deleted", "replaced"):
            assert re.search(rf"^-.*\b{lost[1]}\b", hunk.body, re.MULTILINE)
        assert result.data == data
        outcomes["refused"] += 1
        return
    assert answer.state is State.APPLICABLE, answer
    assert result.splices
    assert apply_splices(data, result.splices) == result.data
    for splice in result.splices:
        check_place(splice, data, hunk)
    again = applied(result.data, function.scope, hunk.body)
    assert again is not None
    assert again.data == result.data
    outcomes["applied"] += 1
    back = applied(result.data, function.scope, exchanged(hunk.body))
    if back is not None:
        check_undone(back, result, data, hunk, outcomes)


def check_place(splice: Splice, data: bytes, hunk: MadeHunk) -> None:
    """A splice lies within what its hunk changes."""
    if hunk.kind in ("expression", "pattern of an expression"):
        first, last = hunk.start, hunk.end
    else:
        first, last = comments_above(data, hunk.begin), hunk.stop
    is_blank_line = hunk.kind == "deleted" and not splice.new + data[splice.start : splice.end].strip()  # beside it (rule 18)
    assert is_blank_line or first <= splice.start <= splice.end <= last, (splice, first, last)
    if hunk.kind in ("before", "after", "signature", "pattern of a statement"):
        assert splice.start == splice.end, "an insertion takes nothing away"


def check_undone(back: Rewrite, result: Rewrite, data: bytes, hunk: MadeHunk, outcomes: Outcomes) -> None:
    """The hunk with its sides exchanged has made `data` again of `result`, or says why it cannot."""
    (answer,) = back.answers
    if answer.state is not State.APPLICABLE:
        expected = (*REFUSED, "reads names that nothing binds")  # the code that went away may have read one: now it is inserted
        assert answer.state is State.AMBIGUOUS or any(words in answer.problem for words in expected), answer
        assert back.data == result.data
        outcomes["not undone"] += 1
    elif hunk.kind in ("replaced", "deleted"):  # the comments and the layout of what went away are not in the hunk
        assert meaning(back.data) == meaning(data)
        outcomes["undone in meaning"] += 1
    else:
        assert back.data == data
        outcomes["undone byte for byte"] += 1


def comments_above(data: bytes, begin: int) -> int:
    """Where the comments directly over a line begin: an insertion stands above them."""
    starts = corpus.line_starts(data)
    row = starts.index(begin)
    while row and data[starts[row - 1] : starts[row]].lstrip().startswith(b"#"):
        row -= 1
    return starts[row]


def test_an_expression_put_into_a_call_can_be_undone(tell: Callable[[str], None]) -> None:
    outcomes = for_each("expressions", corpus.expression, check_change)
    outcomes.report(tell, "expressions")
    assert outcomes["applied"] >= EXAMPLES // 3
    assert outcomes["undone byte for byte"] >= outcomes["applied"] * 0.9


@pytest.mark.parametrize("kind", STATEMENT_KINDS)
def test_a_changed_statement_can_be_undone(kind: str, tell: Callable[[str], None]) -> None:
    outcomes = for_each(
        kind, lambda function, random: corpus.statement(function, random, kind), check_change, EXAMPLES // 2
    )
    outcomes.report(tell, f"statements {kind}")
    assert outcomes["applied"] >= EXAMPLES // 10
    if kind == "deleted":  # what stood below it is often too little, or there twice, to say where it was
        assert outcomes["undone in meaning"] >= outcomes["applied"] * 0.5
    else:
        undone = outcomes["undone in meaning" if kind == "replaced" else "undone byte for byte"]
        assert undone >= outcomes["applied"] * 0.9


def test_a_parameter_can_be_added_to_a_signature(tell: Callable[[str], None]) -> None:
    outcomes = for_each("signatures", corpus.signature, check_change, EXAMPLES // 2)
    outcomes.report(tell, "signatures")
    assert outcomes["applied"] >= EXAMPLES // 3


def check_found(function: Function, hunk: MadeHunk, outcomes: Outcomes) -> None:
    """(d) The piece that a pattern was made from is among the places, or the answer is ambiguous and names it."""
    result = applied(function.data, function.scope, hunk.body)
    if result is None:
        outcomes["no hunk"] += 1
        return
    (answer,) = result.answers
    if any(words in answer.problem for words in REFUSED):
        outcomes["refused"] += 1
        return
    assert answer.state in (State.APPLICABLE, State.AMBIGUOUS), answer
    above = corpus.line_starts(function.data).index(comments_above(function.data, hunk.begin)) + 1
    assert any(above <= line <= hunk.line for line in answer.places), answer
    outcomes[answer.state.value] += 1
    if answer.state is State.APPLICABLE:
        check_change(function, hunk, outcomes)


def test_a_pattern_finds_the_code_it_was_made_from(tell: Callable[[str], None]) -> None:
    outcomes = for_each("patterns", corpus.pattern, check_found, EXAMPLES * 2)
    outcomes.report(tell, "patterns")
    assert outcomes["applicable"] >= EXAMPLES // 3
    assert outcomes["ambiguous"]
