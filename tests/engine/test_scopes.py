"""Several definitions of one name: told apart by what a hunk writes, or ambiguous, and never the first by chance.

A scope contains its own `def` with decorators. So a hunk that writes the decorator, the parameters or a part of the body
reaches one of several definitions: that is how a person names the setter of a property, or one overload.
"""

import pytest

from patcher.engine.source import Source
from patcher.model import State
from tests.engine.helpers import Changed, Stays, hold, use_older_python

CODE = """\
class A:
    @property
    def p(self):
        return self._p

    @p.setter
    def p(self, value):
        self._p = value

    @p.deleter
    def p(self):
        del self._p

    @overload
    def g(self, a: int) -> int: ...
    @overload
    def g(self, a: str) -> str: ...
    def g(self, a):
        return a

@singledispatch
def h(a):
    return old(1)

@h.register
def _(a: int):
    return old(2)

@h.register(str)
def _(a):
    return old(3)

try:
    import x
except ImportError:
    def k(a):
        return old(4)
else:
    def k(a, b):
        return old(5)

class B:
    class A:
        def f(self):
            return old(6)
    def f(self):
        def f():
            return old(7)
        return f

class B:
    def f(self):
        return old(8)
    async def m(self):
        return old(9)

while k:
    def n():
        return old(10)
for k in h:
    with k:
        def n():
            return old(11)
"""
OLD = "-old($X)\n+max($X)\n"
TOP = "def old(a):\n    return a\na = 1; b = old(2); c = '''\n'''\nif a:\n    b = 4\n"
ONLY = "class A:\n    # f\n    @a\n    def f(self):\n        return 1\n"


def reached(scope: str, hunk: str, old: str, new: str, code: str = CODE) -> Changed:
    """One definition is reached."""
    assert code is TOP or code.count(old) == 1
    return Changed(code, hunk, code.replace(old, new, 1), {"scope": scope})


CASES = {
    "a setter by its decorator": reached("A.p", " @p.setter\n def p(...):\n+    print(1)\n     ...\n", "value):\n", "value):\n        print(1)\n"),
    "a setter of whatever property": reached("A.p", " @$P.setter\n def p(...):\n-    self._p = $V\n+    self._p = int($V)\n", "= value", "= int(value)"),
    "a setter by its parameters": reached("A.p", " def p(self, value):\n+    print(1)\n     ...\n", "value):\n", "value):\n        print(1)\n"),
    "a setter by its body": reached("A.p", "-self._p = $V\n+self._p = int($V)\n", "= value", "= int(value)"),
    "a getter": reached("A.p", " @property\n def p(self):\n+    print(1)\n     ...\n", "        return self._p", "        print(1)\n        return self._p"),
    "a deleter's signature": reached("A.p", " @p.deleter\n-def p(self):\n+def p(self, a=1):\n", "def p(self):\n        del", "def p(self, a=1):\n        del"),
    "one overload": reached("A.g", " @overload\n-def g(self, a: str) -> str:\n+def g(self, a: bytes) -> str:\n", "a: str", "a: bytes"),
    "the function that is overloaded": reached("A.g", " def g(self, a):\n-    return a\n+    return int(a)\n", "return a\n", "return int(a)\n"),
    "a registered function": reached("_", " @h.register(str)\n def _(a):\n-    return old($X)\n+    return max($X)\n", "old(3)", "max(3)"),
    "a registered function without arguments": reached("_", " @h.register\n def _(a):\n-    return old($X)\n+    return max($X)\n", "old(2)", "max(2)"),
    "one branch": reached("k", " def k(a, b):\n-    return old($X)\n+    return max($X)\n", "old(5)", "max(5)"),
    "a class in a class": reached("B.A.f", OLD, "old(6)", "max(6)"),
    "a function in a function of its name": reached("B.f.f", OLD, "old(7)", "max(7)"),
    "one of two classes of a name": reached("B.f", " def f(self):\n-    return old($X)\n+    return max($X)\n", "old(8)", "max(8)"),
    "an async method": reached("B.m", OLD, "old(9)", "max(9)"),
    "below statements of several kinds": reached("n", "-old(11)\n+max(11, 0)\n", "old(11)", "max(11, 0)"),
    # several definitions are ambiguous
    "getter and deleter": Stays(CODE, " def p(self):\n+    print(1)\n     ...\n", State.AMBIGUOUS, "lines 2, 10", {"scope": "A.p"}),
    "every overload": Stays(CODE, "-def g(self, a):\n+def g(self, a, b):\n", State.AMBIGUOUS, "lines 14, 16, 18", {"scope": "A.g"}),
    "both registered functions": Stays(CODE, OLD, State.AMBIGUOUS, "lines 27, 31", {"scope": "_"}),
    "both branches": Stays(CODE, OLD, State.AMBIGUOUS, "lines 37, 40", {"scope": "k"}),
    "a method and what lies in its namesake": Stays(CODE, OLD, State.AMBIGUOUS, "lines 48, 53", {"scope": "B.f"}),
    "definitions in loops": Stays(CODE, OLD, State.AMBIGUOUS, "lines 59, 63", {"scope": "n"}),
    # a name is qualified in full
    **{
        f"{why}: {scope}": Stays(CODE, OLD, State.NOT_FOUND, f"there is no `{scope}` in this file", {"scope": scope})
        for scope, why in (("A.f", "a class by its inner name"), ("f", "a method without its class"), ("B.f.x", "a local that is no definition"))
    },
    "all, where the hunk says so": Changed(CODE, OLD, CODE.replace("old(4)", "max(4)").replace("old(5)", "max(5)"), {"scope": "k", "flags": "count=all"}),
    "too few of them": Stays(CODE, OLD, State.NOT_FOUND, "found 2 places in `k` (lines 37, 40), expected 3", {"scope": "k", "flags": "count=3"}),
    "at the top level an assignment that calls": reached("<module>", "-b = old(2)\n+b = old(3)\n", "old(2)", "old(3)", TOP),
    "at the top level an assignment of a line of several": reached("<module>", "-a = 1\n+a = old(1)\n", "a = 1", "a = old(1)", TOP),
    "at the top level the body of a function": reached("<module>", " def old(a):\n-    return a\n+    return 3\n", "return a", "return 3", TOP),
    "at the top level its header": reached("<module>", "-def old(a):\n+def old(a, b=1):\n", "(a)", "(a, b=1)", TOP),
    "at the top level below an if": reached("<module>", " if a:\n-    b = 4\n+    b = 5\n", "4", "5", TOP),
    **{
        f"a class that loses its only definition, from {scope}": Changed(
            ONLY, "-@a\n-def f(self):\n-    ...\n", "class A:\n    # f\n    pass\n", {"scope": scope},
        )
        for scope in ("A.f", "A")
    },
}  # fmt: skip


@pytest.fixture(params=["ast", "libcst"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Definitions are found by the standard parser, and where that does not know the syntax by libcst: alike."""
    if request.param == "libcst":
        use_older_python(monkeypatch)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("name", CASES)
def test_a_scope_means_this_definition(name: str) -> None:
    hold(CASES[name])


@pytest.mark.usefixtures("parser")
def test_both_parsers_find_the_definitions_on_the_same_lines() -> None:
    source = Source(("# ü\n" + CODE + "class C:  # ü\n    @x\n    def c(self): pass\n").encode())
    lines = [(one.name, source.lines.number(one.start)) for one in source.definitions()]
    assert lines[:3] == [("A", 2), ("A.p", 3), ("A.p", 7)] and lines[-2:] == [("C", 65), ("C.c", 66)] and len(lines) == 24
