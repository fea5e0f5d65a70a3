"""Rule 27: the names that inserted code reads must be bound on the finished file."""

from __future__ import annotations

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import State
from tests.semantic.helpers import run

RULE_27 = {
    # name: (code with `old()`, what takes its place, whether every name of it is bound)
    "a parameter": ("def f(a): old()", "max(a)", True),
    "a keyword-only parameter": ("def f(*, a): old()", "max(a)", True),
    "a starred parameter": ("def f(*a, **b): old()", "max(a, b)", True),
    "a local": ("def f():\n    y = 1\n    old()", "max(y)", True),
    "a loop's target": ("def f():\n    for y in []: pass\n    old()", "max(y)", True),
    "a handler's name": ("def f():\n    try: pass\n    except E as y: pass\n    old()", "max(y)", True),
    "a with's name": ("def f():\n    with E as (y, z): pass\n    old()", "max(y, z)", True),
    "an assignment expression's": ("def f():\n    (y := 1)\n    old()", "max(y)", True),
    "a local import": ("def f():\n    import y.z as w, q\n    old()", "max(w, q)", True),
    "a name of an import that is renamed": ("def f():\n    import y.z as w\n    old()", "max(y)", False),
    "a local definition": ("def f():\n    def y(): pass\n    class z: pass\n    old()", "max(y, z)", True),
    "an enclosing function's": ("def g(y):\n    def f(): old()", "max(y)", True),
    "a module's import": ("import y.z\ndef f(): old()", "max(y)", True),
    "a module's name under if": ("if 1:\n    y = 1\ndef f(): old()", "max(y)", True),
    "a module's name under try": ("try:\n    import y\nexcept E:\n    y = 1\ndef f(): old()", "max(y)", True),
    "a module's name that stands below": ("def f(): old()\ny = 1", "max(y)", True),
    "a name that a function makes global": ("def g():\n    global y\n    y = 1\ndef f(): old()", "max(y)", True),
    "a builtin": ("def f(): old()", "max(1)", True),
    "a module's own names": ("def f(): old()", "max(__name__, __file__)", True),
    "a comprehension's own": ("def f(): old()", "max(y for y in [])", True),
    "a lambda's own": ("def f(): old()", "max(key=lambda y: y)", True),
    "star import: nobody can know": ("from x import *\ndef f(): old()", "max(y)", True),
    "pristine code of the scope reads it too": ("def f():\n    y.z\n    old()", "max(y)", True),
    "pristine code of another scope reads it": ("def g():\n    y.z\ndef f(): old()", "max(y)", False),
    "an attribute is not a name": ("def f(a): old()", "a.y.z", True),
    "a keyword is not a name": ("def f(a): old()", "max(y=a)", True),
    "for type checkers only": ("if TYPE_CHECKING:\n    import y\ndef f(): old()", "max(y)", False),
    "for type checkers only, in the function": ("def f():\n    if TYPE_CHECKING:\n        import y\n    old()", "max(y)", False),
    "a name that the function makes global": ("def f():\n    global y\n    old()", "max(y)", True),
    "a name of the function around it": ("def g():\n    y = 1\n    def f():\n        nonlocal y\n        old()", "max(y)", True),
    "a class's name seen from a method": ("class A:\n    y = 1\n    def f(self): old()", "max(y)", False),
    "a module's __getattr__ binds nothing": ("def __getattr__(n): pass\ndef f(): old()", "max(y)", False),
    "a comprehension's own, read outside of it": ("def f(a): old()", "max([y for y in a], y)", False),
    "another function's": ("def g():\n    y = 1\ndef f(): old()", "max(y)", False),
    "in an f-string": ("def f(): old()", "f'{y}'", False),
}


@pytest.mark.parametrize("name", RULE_27)
def test_names_of_inserted_code(name: str) -> None:
    source, code, bound = RULE_27[name]
    answer = run(source + "\n", f"-old()\n+{code}\n", scope="*.f" if "    def f" in source else "f").answers[0]
    assert answer.state is (State.APPLICABLE if bound else State.CONFLICT), answer.problem
    assert bound or answer.problem.startswith("the inserted code reads names that nothing binds there: `y` (line "), answer.problem


def test_names_that_another_hunk_binds_count() -> None:
    hunks = "-old()\n+y()\n@@ <module> @@\n+from x import y\n ...\n"
    assert [answer.state for answer in run("def f():\n    old()\n", hunks).answers] == [State.APPLICABLE] * 2


def test_names_that_the_patchset_lists_count() -> None:
    _, (file,) = parse_spatch("--- p/m.py\n@@ f @@\n-old()\n+y()\n", "case.spatch")
    data = b"def f():\n    old()\n"
    assert rewrite(data, file.hunks, {}, ["y"]).answers[0].state is State.APPLICABLE
    assert rewrite(data, file.hunks, {}, ["z"]).answers[0].state is State.CONFLICT


@pytest.mark.parametrize(("code", "bound"), [("max(a)", True), ("max(y)", True), ("max(z)", False)])
def test_without_the_standard_parser_names_that_stand_nowhere_else_are_told(code: str, bound: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "_ast", lambda self: None)
    answer = run("import y\ndef f(a):\n    old()\n    old()\n", f"-old()\n+{code}\n", flags="count=all").answers[0]
    assert answer.state is (State.APPLICABLE if bound else State.CONFLICT), answer.problem
