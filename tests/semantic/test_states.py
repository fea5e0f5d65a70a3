"""When a hunk applies, when it is in place, and when it is refused at a place: format rules 1, 2, 12, 15, 17 and 21 to 27."""

from __future__ import annotations

import pytest

from patcher.model import State
from tests.semantic.helpers import block, check_state, check_transformed, run

HEAD = "def f(a, b, c):\n    "
STATES = {
    # name: (code, hunk, flags, state, words)
    "the code is not there": ("x = a", "-old($X)\n+max($X)\n", "", State.NOT_FOUND, "`f` is there, but the code"),
    "not there, and that is fine": ("x = a", "-old($X)\n+max($X)\n", "when-present", State.NOT_NEEDED, ""),
    "fixed upstream": ("x = max(a, 0)", "-old($X)\n+max($X, 0)\n", "", State.UPSTREAM, ""),
    "fixed upstream wins over not needed": ("x = max(a, 0)", "-old($X)\n+max($X, 0)\n", "when-present", State.UPSTREAM, ""),
    "two places where one is expected": ("x = old(a) + old(b)", "-old($X)\n+max($X)\n", "", State.AMBIGUOUS, "found 2 places"),
    "one place where two are expected": ("x = old(a)", "-old($X)\n+max($X)\n", "count=2", State.NOT_FOUND, "found 1 place"),
    "no place where all are asked for": ("x = a", "-old($X)\n+max($X)\n", "count=all", State.NOT_FOUND, ""),
    "a deletion is never upstream": ("x = a", "-old($X)\n x = a\n", "", State.NOT_FOUND, ""),
    "an after match inside a before match proves nothing": ("x = old(a.b)", "-old(a.b)\n+a.b\n", "", State.APPLICABLE, ""),
    "a more general after side proves nothing": ("x = max(a)", "-old($X)\n+$X\n", "", State.NOT_FOUND, ""),
    "a part that nobody mentioned would go": (
        "if a:\n        b\n    else:\n        c", "-if a:\n-    ...\n", "", State.CONFLICT, "does not mention (clause)",
    ),
    "an annotation that nobody mentioned would go": ("x: int = a\n    b", "-x = a\n b\n", "", State.CONFLICT, "(annotation)"),
    "a decorator that nobody mentioned would go": (
        "@c\n    def g(): a\n    b", "-def g():\n-    ...\n b\n", "", State.CONFLICT, "(decorator)",
    ),
    "beside a one-line suite nothing is inserted": ("if a: old(b)", " old(b)\n+max(b)\n", "", State.CONFLICT, "one-line suite"),
    "beside a semicolon nothing is inserted": ("a; old(b)", " old(b)\n+max(b)\n", "", State.CONFLICT, "`;`"),
    "the last name of an import stays": ("from a import b", "-from a import b, ...\n+from a import ...\n", "", State.CONFLICT, ""),
    "several ways in one place": (
        "a()\n    b()\n    c()\n    b()", " def f(...):\n     ...\n     b()\n+    max()\n     ...\n", "", State.AMBIGUOUS, "2 ways",
    ),
    "the result would not parse": ("for a.old in b: c", "-a.old\n+max(a)\n", "", State.CONFLICT, "does not parse"),
    "a second application would change it again": ("x = max(a, b)", "-max($A, $B)\n+max($B, $A)\n", "", State.CONFLICT, "second"),
    "a match inside what a placeholder stands for proves nothing": (
        "return abs(old(a))", "-old($X)\n+abs($X)\n", "", State.AMBIGUOUS, "found 2 places",
    ),
    "a comment inside a changed statement has no place": (
        "x = old(\n        1,\n    )", "-x = old(1)\n+x = old(\n+    1,\n+    2,  # two\n+)\n", "", State.CONFLICT, "a comment inside",
    ),
    "a name that nothing binds": ("x = old(a)", "-old($X)\n+fresh($X)\n", "", State.CONFLICT, "`fresh`"),
    "pattern if is not elif": ("if a: b\n    elif c: b", "-if c:\n+if not c:\n", "", State.NOT_FOUND, ""),
    "async as written": ("def g(): return a", "-async def g():\n+async def g(b=1):\n", "", State.NOT_FOUND, ""),
    "a default is looked at": ("def g(a=1): return a", "-def g(a):\n+def g(b):\n", "", State.NOT_FOUND, ""),
    "a handler without a name is not one with": (
        "try: a\n    except E as e: b", "-except E:\n+except (E, b):\n", "", State.NOT_FOUND, "",
    ),
    "a star of a signature is written or lies in a run": ("def g(a, *, b): c", "-def g(a, b):\n+def g(b):\n", "", State.NOT_FOUND, ""),
    "a body is matched completely": ("if a:\n        b\n        c", "-if a:\n-    b\n+if a:\n+    c()\n", "", State.NOT_FOUND, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_states(name: str) -> None:
    code, hunk, flags, state, words = STATES[name]
    source = f"{HEAD}{code}\n"
    if state is State.APPLICABLE:
        assert [answer.state for answer in run(source, hunk, flags=flags).answers] == [state]
    else:
        check_state(source, hunk, state, words, flags=flags)


def test_count_all_takes_every_place_and_the_outermost_of_nested_ones() -> None:
    check_transformed("def f(a):\n    x = old(a)\n    return old(1)\n", "-old($X)\n+max($X, 0)\n", "def f(a):\n    x = max(a, 0)\n    return max(1, 0)\n", flags="count=all")  # fmt: skip


def test_count_all_changes_a_place_inside_what_looks_changed_already() -> None:
    source = "def f(a):\n    x = abs(old(a))\n    return old(x)\n"
    check_transformed(source, "-old($X)\n+abs($X)\n", source.replace("old(", "abs("), flags="count=all")


def test_count_counts_places_in_place_too() -> None:
    source = "def f(a):\n    x = old(a)\n    return max(1, 0)\n"
    check_transformed(source, "-old($X)\n+max($X, 0)\n", source.replace("old(a)", "max(a, 0)"), flags="count=2")
    check_state(source, "-old($X)\n+max($X, 0)\n", State.AMBIGUOUS)


def test_an_after_match_inside_a_place_to_change_is_not_a_second_place() -> None:
    check_transformed("def f(a):\n    return old(max(a, 0))\n", "-old($X)\n+max($X, 0)\n", "def f(a):\n    return max(max(a, 0), 0)\n")


def test_code_that_is_nested_too_deeply_is_refused() -> None:
    deep = "(" * 3000 + "1" + ")" * 3000
    check_state(f"def f():\n    x = {deep}\n", "-x = 1\n+x = 2\n", State.CONFLICT, "nested too deeply")


def test_a_pattern_with_many_runs_does_not_explode() -> None:
    source = "def f(a):\n" + "    a()\n" * 60 + "    b()\n"
    runs = " ...\n a()\n" * 6
    check_state(source, f" def f(...):\n{''.join('     ' + line[1:] + chr(10) for line in runs.splitlines())}     c()\n+    b()\n", State.CONFLICT, "too many ways")


SCOPES = """
class A:
    def f(self):
        return old(1)

    @property
    def p(self):
        return old(2)

    @p.setter
    def p(self, value):
        self.q = value

class B(A):
    def f(self):
        def inner():
            return old(3)
        return inner

if A:
    def g():
        return old(4)
else:
    def g():
        return old(5)
"""


@pytest.mark.parametrize(
    ("scope", "number"), [("A.f", 1), ("A.p", 2), ("B.f", 3), ("B.f.inner", 3), ("*.p", 2), ("A", 0), ("g", 0), ("*.f", 0)]
)
def test_scopes(scope: str, number: int) -> None:
    """A qualified name, globs, definitions of the same name searched together; several places are never the first by chance."""
    hunk = "-old($X)\n+max($X, 0)\n"
    if number:
        check_transformed(SCOPES, hunk, block(SCOPES).replace(f"old({number})", f"max({number}, 0)"), scope=scope)
    else:
        check_state(SCOPES, hunk, State.AMBIGUOUS, "found 2 places", scope=scope)


def test_a_scope_that_is_not_there_is_told_with_the_nearest() -> None:
    check_state(SCOPES, "-old($X)\n+max($X)\n", State.NOT_FOUND, "there is no `C.f` in this file", scope="C.f")
    check_state(SCOPES, "-old($X)\n+max($X)\n", State.NOT_FOUND, "the file has: A.f, B.f", scope="C.f")


def test_the_closest_line_is_shown() -> None:
    check_state("def f(a):\n    x = olt(a, 1)\n", "-x = old(a, 1)\n+x = 1\n", State.NOT_FOUND, "closest, line 2: x = olt(a, 1)")


def test_rule_24_variants_of_one_line() -> None:
    two = "-old($X)\n+max($X, 0)\n@@ f @@ when-present\n-older($X)\n+max($X, 0)\n"
    check_transformed("def f(a):\n    return older(a)\n", two, "def f(a):\n    return max(a, 0)\n", flags="when-present")


def test_rule_14_hunks_may_not_meet() -> None:
    source = "def f(a):\n    x = old(a)\n    return x\n"
    check_state(source, "-old(a)\n+max(a, 0)\n@@ f @@\n-x = old($Y)\n+x = $Y\n", State.CONFLICT, "meet at line 2")
    check_state(source, " x = old(a)\n+print(1)\n@@ f @@\n x = $V\n+print(2)\n", State.CONFLICT, "meet at line 3")


def test_rule_22_an_optional_part_that_goes() -> None:
    hunk = "-@cached\n def f(...):\n"
    check_transformed("@cached\ndef f():\n    pass\n", hunk, "def f():\n    pass\n")
    check_state("def f():\n    pass\n", hunk, State.UPSTREAM)
    check_state("@other\ndef f():\n    pass\n", hunk, State.NOT_FOUND)


NAMES = {
    "a parameter": ("def f(a): old()", "max(a)", True),
    "a local": ("def f():\n    y = 1\n    old()", "max(y)", True),
    "a loop's target": ("def f():\n    for y in []: pass\n    old()", "max(y)", True),
    "an enclosing function's": ("def g(y):\n    def f(): old()", "max(y)", True),
    "a module's import": ("import y.z\ndef f(): old()", "max(y)", True),
    "a module's name under if": ("if 1:\n    y = 1\ndef f(): old()", "max(y)", True),
    "a builtin": ("def f(): old()", "max(1)", True),
    "a comprehension's own": ("def f(): old()", "max(y for y in [])", True),
    "a lambda's own": ("def f(): old()", "max(key=lambda y: y)", True),
    "star import: nobody can know": ("from x import *\ndef f(): old()", "max(y)", True),
    "pristine code of the scope reads it too": ("def f():\n    y.z\n    old()", "max(y)", True),
    "for type checkers only": ("if TYPE_CHECKING:\n    import y\ndef f(): old()", "max(y)", False),
    "a class's name seen from a method": ("class A:\n    y = 1\n    def f(self): old()", "max(y)", False),
    "a module's __getattr__ binds nothing": ("def __getattr__(n): pass\ndef f(): old()", "max(y)", False),
    "a comprehension's own, read outside of it": ("def f(a): old()", "max([y for y in a], y)", False),
    "another function's": ("def g():\n    y = 1\ndef f(): old()", "max(y)", False),
}


@pytest.mark.parametrize("name", NAMES)
def test_rule_27_names_of_inserted_code(name: str) -> None:
    source, code, bound = NAMES[name]
    answers = run(source + "\n", f"-old()\n+{code}\n", scope="*.f" if "    def f" in source else "f").answers
    assert answers[0].state is (State.APPLICABLE if bound else State.CONFLICT), answers[0].problem


BYTES = {
    "CRLF": b"def f(a):\r\n    x = old(a)\r\n    return x\r\n",
    "CRLF without the last": b"def f(a):\r\n    x = old(a)",
    "UTF-8 with BOM": b"\xef\xbb\xbfdef f(a):\n    y = '\xc3\xa9'\n    x = old(a)\n",
    "latin-1 by cookie": b"# -*- coding: latin-1 -*-\ndef f(a):\n    y = '\xe9'\n    x = old(a)\n",
    "gbk by cookie": "# coding: gbk\ndef f(a):\n    y = '\u4e2d\u6587'\n    x = old(a)\n".encode("gbk"),
    "tabs": b"def f(a):\n\tif a:\n\t\tx = old(a)\n",
    "two blanks": b"def f(a):\n  if a:\n    x = old(a)\n",
    "form feed between definitions": b"import os\n\x0c\ndef f(a):\n    x = old(a)\n",
    "no newline at the end": b"def f(a):\n    x = old(a)",
    "a backslash at a line's end": b"def f(a):\n    y = 1 + \\\n  2\n    x = old(a)\n",
}


@pytest.mark.parametrize("name", BYTES)
def test_outside_the_splices_every_byte_stays(name: str) -> None:
    from patcher.semantic.engine import rewrite
    from patcher.semantic.hunk import parse_spatch

    data = BYTES[name]
    _, files = parse_spatch("--- p/m.py\n@@ f @@\n-old(a)\n+max(a, 0)\n@@ f @@\n x = $V\n+if x:\n+    print(x)\n", "case.spatch")
    result = rewrite(data, files[0].hunks, {})
    assert [answer.state for answer in result.answers] == [State.APPLICABLE] * 2, [a.problem for a in result.answers]
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    line = next(line for line in data.split(newline) if b"old(a)" in line)
    indent = line[: len(line) - len(line.lstrip())]
    unit = {"tabs": b"\t", "two blanks": b"  "}.get(name, b"    ")
    new = line.replace(b"old(a)", b"max(a, 0)") + newline + indent + b"if x:" + newline + indent + unit + b"print(x)"
    assert result.data == data.replace(line, new)
    assert rewrite(result.data, files[0].hunks, {}).data == result.data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"def f(a):\n    x = old(a)\0\n", "null byte"),
        (b"def f(a:\n", "cannot be read as Python"),
        (b"def f(a):\n    x = '\xff'; old(a)\n", "not text in its encoding"),
        (b"# coding: nonsense\ndef f(a): old(a)\n", "encoding"),
    ],
)
def test_a_target_that_is_not_python_is_refused(data: bytes, words: str) -> None:
    from patcher.semantic.engine import rewrite
    from patcher.semantic.hunk import parse_spatch

    _, files = parse_spatch("--- p/m.py\n@@ f @@\n-old(a)\n+max(a, 0)\n", "case.spatch")
    result = rewrite(data, files[0].hunks, {})
    assert result.data == data
    assert result.answers[0].state is State.CONFLICT
    assert words in result.answers[0].problem
