"""Whatever a hunk and a target are, there is an answer: what the fuzzer found once (`python -m tools.fuzz`)."""

from __future__ import annotations

import pytest

from patcher.engine.engine import fit_score
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import State
from tests.engine.helpers import check_refused, check_state, check_transformed, run

WRAPPED = {
    # name: (source, hunk, result): an expression that moves into or out of what replaces it
    "parentheses are not doubled": ("x = l + s - (l * s)", "-l * s\n+max(1, l * s)\n", "x = l + s - (max(1, l * s))"),
    "and taken back": ("x = l + s - (max(1, l * s))", "-max(1, l * s)\n+l * s\n", "x = l + s - (l * s)"),
    "over two lines": ("x = (l\n         + s)", "-l + s\n+max(1, l + s)\n", "x = (max(1, (l\n         + s)))"),
    "and taken back over two lines": ("x = (max(1, (l\n         + s)))", "-max(1, l + s)\n+l + s\n", "x = (l\n         + s)"),
    "out of a call": ("x = 2 * max(l + s)", "-max($X)\n+$X\n", "x = 2 * (l + s)"),
    "out of a call in parentheses": ("x = 2 * (max(l + s))", "-max($X)\n+$X\n", "x = 2 * (l + s)"),
    "out of a call, with a run": ("x = max(l, 1, s)", "-max($X, ...)\n+$X\n", "x = l"),
    "for a literal": ("x = max(l, 1, s)", "-max($X, ...)\n+$option\n", "x = 7"),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_expressions_that_move(name: str) -> None:
    source, hunk, result = WRAPPED[name]
    check_transformed(f"def f(l, s):\n    {source}\n", hunk, f"def f(l, s):\n    {result}\n", options={"option": 7})


ELLIPSES = {
    "a value becomes it": ("x = old(a)", "-x = old(a)\n+x = ...\n", "x = ..."),
    "it becomes a value": ("x = ...", "-x = ...\n+x = 1\n", "x = 1"),
    "in a subscript": ("x = a[1]", "-a[1]\n+a[...]\n", "x = a[...]"),
    "out of a subscript": ("x = a[...]", "-a[...]\n+a[1]\n", "x = a[1]"),
    "called": ("x = old(a)", "-old($X)\n+(...)($X)\n", "x = ...(a)"),
}


@pytest.mark.parametrize("name", ELLIPSES)
@pytest.mark.filterwarnings("ignore:'ellipsis' object is not callable:SyntaxWarning")
def test_the_literal_ellipsis(name: str) -> None:
    source, hunk, result = ELLIPSES[name]
    check_transformed(f"def f(a):\n    {source}\n", hunk, f"def f(a):\n    {result}\n")


LISTS = {
    "on one line": ("def f(a, b): pass", "def f(a, b, x=None): pass"),
    "on one line, before keywords": ("def f(a, **b): pass", "def f(a, x=None, **b): pass"),
    "a line each": ("def f(\n    a,\n    b,\n): pass", "def f(\n    a,\n    b,\n    x=None,\n): pass"),
    "a line each, before keywords": ("def f(\n    a,\n    **b,\n): pass", "def f(\n    a,\n    x=None,\n    **b,\n): pass"),
    "aligned": ("def f(a,\n      b): pass", "def f(a,\n      b,\n      x=None): pass"),
    "several on a line": ("def f(a, b,\n      **c): pass", "def f(a, b, x=None,\n      **c): pass"),
}


@pytest.mark.parametrize("name", LISTS)
def test_an_element_that_comes_and_goes_leaves_the_lines_of_its_list(name: str) -> None:
    without, with_it = LISTS[name]
    check_transformed(without + "\n", "-def f(...):\n+def f(..., x=None):\n", with_it + "\n")
    check_transformed(with_it + "\n", "-def f(..., x=None):\n+def f(...):\n", without + "\n")


COMPILES = {
    "a return without its function": ("def f(a):\n    return 1\n", "-def f(a):\n+ ...\n", "<module>", "'return' outside function"),
    "a break without its loop": ("def f(a):\n    for x in a:\n        break\n", "-for x in a:\n+if a:\n     ...\n", "f", "'break' outside loop"),
    "a parameter twice": ("def f(a, b):\n    pass\n", "-def f(...):\n+def f(..., a=1):\n", "f", "duplicate argument 'a'"),
    "an await in a plain function": ("def f(a):\n    return a(1)\n", "-a($X)\n+(await a($X))\n", "f", "'await' outside async function"),
    "a nonlocal without an outer function": ("def f(a):\n    a(1)\n", "+nonlocal b\n a(1)\n", "f", "no binding for nonlocal 'b'"),
    "a yield in a class": ("class A:\n    x = 1\n\n    def f(self):\n        pass\n", "-x = 1\n+x = yield\n", "A", "'yield' outside function"),
    "a return left by a method": ("class A:\n    def f(self):\n        return 1\n", "-def f(self):\n+ ...\n", "A", "'return' outside function"),
    "in a class in a class": ("class A:\n    class B:\n        def f(self):\n            a(1)\n            a(2)\n\n    def g(self):\n        pass\n", "-a(2)\n+break\n", "A.B.f", "'break' outside loop"),
    "in a function of several lines": ("def f(a):\n    a(1)\n    a(2)\n", "-a(2)\n+break\n", "f", "'break' outside loop"),
    "code before a future import some lines away": ('"""Doc."""\n# a\n# b\n# c\nfrom __future__ import annotations\n', " \"\"\"Doc.\"\"\"\n+x = 1\n", "<module>", "__future__"),
    "code before a future import": ("from __future__ import annotations\n", "+x = 1\n from __future__ import annotations\n", "<module>", "__future__"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPILES)
def test_what_the_parser_takes_and_the_compiler_does_not_is_a_conflict(name: str) -> None:
    source, hunk, scope, words = COMPILES[name]
    check_state(source, hunk, State.CONFLICT, "the result does not compile", scope=scope)
    check_state(source, hunk, State.CONFLICT, words, scope=scope)


def test_the_header_of_a_class_is_compiled_without_the_body_that_lies_some_lines_below() -> None:
    body = ":\n    # a\n    # b\n    # c\n    x = 1\n"
    check_transformed(f"class A(B){body}", "-class A(B):\n+class A(B, metaclass=type):\n     ...\n", f"class A(B, metaclass=type){body}", scope="<module>")


def test_a_file_that_did_not_compile_before_can_be_patched() -> None:
    check_transformed("return 1\ndef f(a):\n    a.b\n", "-a.b\n+a.c\n", "return 1\ndef f(a):\n    a.c\n")


def test_every_name_of_a_global_statement_is_bound() -> None:
    check_transformed(
        "def g():\n    global one, two, three\n    one = two = three = 1\n\ndef f():\n    old()\n",
        "-old()\n+max(two, three)\n",
        "def g():\n    global one, two, three\n    one = two = three = 1\n\ndef f():\n    max(two, three)\n",
    )


def test_a_run_that_only_the_after_side_has_is_refused() -> None:
    check_refused(" if a:\n-    b()\n return $X\n", "all of this body goes")


def test_a_body_that_goes_where_its_header_stays() -> None:
    """The header's line is on both sides; that it has no body on the after side makes a `...` of that side alone."""
    check_refused(" def f(a):\n     if a:\n-        ...\n     return $X\n", "all of this body goes", scope="<module>")


def test_a_carriage_return_inside_a_hunk_is_refused() -> None:
    check_refused("-def f(\r):\n+def f(a):\n", "a carriage return inside a line")


def test_strings_that_cannot_be_joined_are_refused() -> None:
    check_refused("-s = b'a' 'b'\n+s = 1\n", "does not parse: Cannot concatenate string and bytes")
    check_state("def f(a):\n    s = b'a' 'b'\n    old(a)\n", "-old(a)\n+max(a)\n", State.CONFLICT, "cannot be read as Python")
    assert run("  s = 'a\n", "-old(a)\n+max(a)\n").answers[0].problem.endswith(": unterminated string literal")


def test_a_hunk_that_is_too_deep_is_refused() -> None:
    check_refused(f"-old({'a + ' * 1500}a)\n+max(1)\n", "nested too deeply")


@pytest.mark.once
def test_a_hunk_of_more_than_a_thousand_lines_has_an_answer() -> None:
    lines = "".join(f" x{number} = 1\n" for number in range(1500))
    source = "def f(a):\n" + lines.replace(" x", "    x")
    check_transformed(f"{source}    old(a)\n", f"{lines}-old(a)\n+max(a, 1)\n", f"{source}    max(a, 1)\n")


def test_hunks_fit_a_file_that_cannot_be_read_no_more_than_any_other() -> None:
    hunks = parse_spatch("--- p/m.py\n@@ f @@\n-old(1)\n+max(1)\n", "p")[1][0].hunks
    texts = [b"def f(:\n", b"def g(): pass\n", b"def f(): pass\n", b"def f(): old(1)\n"]
    assert [fit_score(text, hunks, {}) for text in texts] == [(-1, 0, 0), (-1, 0, 0), (-1, 0, 1), (0, 1, 1)]
