"""What a user reads about a hunk and a text, word for word: the cases and the answers are in `explained.txt`.

A case has a name, a scope with flags, a text, a hunk and the answers: that of `apply`, then that of `explain`.
SITEPATCH_WRITE_GOLDEN=1 writes the answers anew.
"""

import os
from pathlib import Path
from typing import Iterator

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.explain import explain
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import Explanation, Mark, apply_splices

pytestmark = pytest.mark.once
FILE = Path(__file__).with_name("explained.txt")
CASES = {case.split("\n")[0]: case for case in FILE.read_text(encoding="utf-8").split("\n=== ")[1:]}
OPTIONS = {"number": 5}


def marked(mark: Mark) -> str:
    return f"`{mark.text[mark.start : mark.end]}` in line {mark.line}"


def answers_in_words(source: str, hunk: str, header: str) -> str:
    """What `apply` and `explain` say about the first hunk."""
    _, files = parse_spatch(f"--- package/module.py\n{header}\n{hunk}", "case.spatch")
    data = source.encode()
    answer = rewrite(data, files[0].hunks, OPTIONS).answers[0]
    one = explain(data, files[0].hunks, OPTIONS)[0]
    assert one.state is answer.state
    applied = f"{answer.state.value}: {answer.problem}\nhint: {answer.hint}"
    explained = [f"{one.state.value}: {one.problem}", f"hint: {one.hint}", *parts(one)]
    lines = [*applied.split("\n"), "--- explain", *(line for line in explained if line not in applied)]
    if one.answer.splices:
        lines += ["result:", *apply_splices(data, one.answer.splices).decode().split("\n")]
    return "\n".join(line for line in lines if line not in ("", "hint: ")) + "\n"


def parts(one: Explanation) -> Iterator[str]:
    yield from (f"scope {scope.name}: lines {scope.first} to {scope.last}" for scope in one.scopes)
    assert isinstance(one.near, tuple) and isinstance(one.answer.splices, tuple)
    if one.near:
        yield f"near: {', '.join(one.near)}"
    for what, spots in (("place", one.matches), ("elsewhere", one.elsewhere)):
        for spot in spots:
            names = "".join(f", {name} is {code}" for name, code in spot.names.items())
            yield f"{what}, line {spot.line}, in {spot.scope or 'the module'}: {spot.text}{names}"
    if one.closest is not None:
        best = one.closest
        yield f"closest, line {best.line}: {best.text} ({best.likeness:.2f} alike)"
        yield f"marked: {marked(best.code)}, {marked(best.pattern)} of the hunk"
        yield from (best.words, f"hint: {best.hint}")


@pytest.mark.parametrize("name", CASES)
def test_each_case_is_explained_word_for_word(name: str) -> None:
    head, source, hunk, expected = CASES[name].split("\n---\n", 3)
    header = head.split("\n")[1]
    words = answers_in_words(f"{source}\n", f"{hunk}\n", header)
    if os.environ.get("SITEPATCH_WRITE_GOLDEN"):
        case = "\n---\n".join([head, source, hunk, words])
        cases = FILE.read_text(encoding="utf-8").replace(f"=== {CASES[name]}", f"=== {case}")
        FILE.write_text(cases, encoding="utf-8")
    else:
        assert words == expected
