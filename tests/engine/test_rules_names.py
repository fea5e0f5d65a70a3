"""Rule 21: the names that inserted code reads must be bound on the finished file."""

import sys

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import State
from tests.engine.helpers import run, use_older_python

RULE_21 = {
    # name: (code with `old()`, what takes its place, whether every name of it is bound)
    "every name of a global statement": ("def g():\n    global one, two, three\n    one = two = three = 1\n\ndef f():\n    old()", "max(two, three)", True),
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
    "a class's name seen from a method under if": ("class A:\n    y = 1\n    if 1:\n        def f(self): old()", "max(y)", False),
    "a class's name in a method's decorator": ("class A:\n    y = 1\n    @old()\n    def f(self): pass", "y.setter", True),
    "a class's name in a method's default": ("class A:\n    y = 1\n    def f(self, a=old()): pass", "max(y)", True),
    "a class's name in a lambda of a default": ("class A:\n    y = 1\n    def f(self, a=old()): pass", "lambda: y", False),
    "a module's __getattr__ binds nothing": ("def __getattr__(n): pass\ndef f(): old()", "max(y)", False),
    "a comprehension's own, read outside of it": ("def f(a): old()", "max([y for y in a], y)", False),
    "another function's": ("def g():\n    y = 1\ndef f(): old()", "max(y)", False),
    "what inserted code binds": ("def f(a):\n    old()", "for y, [z, *w] in a: max(y, z, w)", True),
    "what inserted code loops over": ("def f():\n    old()", "for a in y: max(a)", False),
    "what inserted code imports": ("def f():\n    old()", "import y.z\n+from z import w as x\n+max(y, x)", True),
    "in an f-string": ("def f(): old()", "f'{y}'", False),
    "in a decorator": ("@old()\ndef f(): pass", "max(y)", False),
    "in a comprehension": ("def f(a): old()", "[y for z in a]", False),
    "a default": ("def f(): old()", "lambda *, k=y: k", False),
    "what a lambda binds": ("def f(): old()", "lambda: [y := 1, y]", True),
    "what a default binds": ("def f():\n    old()", "def g(a=(y := 1)): pass", True),
    "a name bound where an error is handled": ("def f():\n    try: pass\n    except E: y = 1\n    old()", "max(y)", True),
    "in the body of a class": ("def f():\n    old()", "class A:\n+    y = 1\n+    z = y", True),
    "in a method of an inserted class": ("def f():\n    old()", "class A:\n+    y = 1\n+    def g(self): return y", False),
    "a class's name in a comprehension": ("def f():\n    old()", "class A:\n+    y = 1\n+    z = [y for x in []]", False),
    "a class's name that a comprehension goes over": ("def f():\n    old()", "class A:\n+    y = []\n+    z = [x for x in y for z in x]", True),
    "a comprehension's own that it goes over": ("def f(): old()", "[y for y in y]", False),
    "read for type checkers only": ("def f():\n    old()", "if TYPE_CHECKING:\n+    max(y)", True),
    "an annotation": ("def f():\n    old()", "x: y = 1", True),
    "behind letters of several bytes": ("def f():\n    'éé'; old()", "y", False),
    **({
        "what a case binds": ("def f(a):\n    match a:\n        case [b, *y, {1: 2, **z}]: old()", "max(b, y, z)", True),
        "in the body of a case": ("def f(a):\n    match a:\n        case 1: y = 1\n    old()", "max(y)", True),
    } if sys.version_info >= (3, 10) else {}),
    **({
        "a type parameter": ("def f[y](a): old()", "max(y)", True),
        "a type parameter of the class": ("class A[*y, **z]:\n    def f(self): old()", "max(y, z)", True),
        "a type parameter of another function": ("def g[y](a): pass\ndef f(): old()", "max(y)", False),
        "what inserted code names a type": ("def f():\n    old()", "type y[z] = list[z]\n+max(y)", True),
    } if sys.version_info >= (3, 12) else {}),
}  # fmt: skip


@pytest.mark.parametrize("name", RULE_21)
def test_inserted_code_reads_only_names_that_are_bound(name: str) -> None:
    source, code, bound = RULE_21[name]
    answer = run(source + "\n", f"-old()\n+{code}\n", scope="*.f" if "    def f" in source else "f").answers[0]
    assert answer.state is (State.APPLICABLE if bound else State.CONFLICT), answer.problem
    assert bound or answer.problem.startswith("the inserted code reads names that nothing binds there: `y` (line "), answer.problem


ATTRIBUTES = {
    # name: (code with `old()`, what takes its place, whether every attribute of it is set)
    "an attribute that nothing sets": ("class A:\n    def f(self): old()", "self.y()", False),
    "a method": ("class A:\n    def y(self): pass\n    def f(self): old()", "self.y()", True),
    "what the class assigns": ("class A:\n    y = 1\n    def f(self): old()", "max(self.y)", True),
    "what a method sets": ("class A:\n    def g(self):\n        self.y = 1\n    def f(self): old()", "max(self.y)", True),
    "what other code sets": ("class A:\n    def f(self): old()\ndef g(a):\n    a.y = 1", "max(self.y)", True),
    "what the inserted code sets": ("class A:\n    def f(self):\n        old()", "self.y = 1\n+max(self.y)", True),
    "what a base class has": ("class B:\n    y = 1\nclass A(B):\n    def f(self): old()", "max(self.y)", True),
    "what no base class has": ("class B:\n    z = 1\nclass A(B):\n    def f(self): old()", "max(self.y)", False),
    "what `object` lacks": ("class A(object):\n    def f(self): old()", "max(self.y)", False),
    "a base class of another file: nobody can know": ("class A(B):\n    def f(self): old()", "max(self.y)", True),
    "nor of the base of a base": ("class B(C):\n    z = 1\nclass A(B):\n    def f(self): old()", "max(self.y)", True),
    "nor of a base that another module has": ("class A(b.B):\n    def f(self): old()", "max(self.y)", True),
    "a class that is its own base": ("class A(A):\n    def f(self): old()", "max(self.y)", False),
    "nor below a decorator": ("@b\nclass A:\n    def f(self): old()", "max(self.y)", True),
    "nor with a metaclass": ("class A(metaclass=B):\n    def f(self): old()", "max(self.y)", True),
    "pristine code reads it": ("class A:\n    def g(self): self.y()\n    def f(self): old()", "self.y()", True),
    "pristine code has it as a text": ("class A:\n    def f(self): old()\nz = 'y'", "self.y()", True),
    "its name is a local": ("class A:\n    def f(self):\n        y = 1\n        old()", "max(self.y, y)", False),
    "`setattr` may set it": ("class A:\n    def f(self):\n        setattr(self, 'a' + 'b', 1)\n        old()", "self.y()", True),
    "a class that finds its attributes": ("class A:\n    def __getattr__(self, n): return n\n    def f(self): old()", "self.y()", True),
    "what every object has": ("class A:\n    def f(self): old()", "max(self.__class__)", True),
    "of another object": ("class A:\n    def f(self, a): old()", "a.y()", True),
    "under another name than `self`": ("class A:\n    def f(me): old()", "me.y()", False),
    "in a method under `if`": ("class A:\n    if 1:\n        def f(self): old()", "self.y()", False),
    "in an inserted function inside": ("class A:\n    def f(self):\n        old()", "def g(): self.y()", False),
    "not of a method that is decorated": ("class A:\n    @staticmethod\n    def f(self): old()", "self.y()", True),
    "nor of a function": ("def f(self): old()", "self.y()", True),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_inserted_code_reads_only_attributes_that_are_set(name: str) -> None:
    source, code, is_set = ATTRIBUTES[name]
    hunk = f"-old()\n+{code}\n"
    scope = "*.f" if "class A" in source else "f"
    (answer,) = run(source + "\n", hunk, scope=scope).answers
    assert answer.state is (State.APPLICABLE if is_set else State.CONFLICT), answer.problem
    assert is_set or answer.problem.startswith("the inserted code reads attributes that nothing sets: `y` (line "), answer.problem
    (answer,) = run(source + "\n", hunk, scope=scope, injected=["y"]).answers
    assert answer.state is State.APPLICABLE


BROKEN = {  # name: (code, scope, hunk, the problem, "" where every name that stays is bound)
    "a removed parameter": ("def f(a, b):\n    return a + b\n", "f", "-def f(a, b):\n+def f(a):\n", "nothing binds it there any more"),
    "a removed import": ("import os\ndef g():\n    return os.sep\n", "<module>", "-import os\n", "nothing binds it there any more"),
    "a removed import that nothing reads": ("import os\ndef g():\n    return 1\n", "<module>", "-import os\n", ""),
    "a removed assignment": ("def f():\n    n = 1\n    print(1)\n    return n\n", "f", "-n = 1\n print(1)\n", "nothing binds it there any more"),
    "a renamed definition": ("def h():\n    pass\ndef g():\n    return h()\n", "h", "-def h():\n+def k():\n", "nothing binds it there any more"),
    "an inserted import of what is read above": ("import os\ndef f():\n    print(os.sep)\n    x = 1\n    return x\n", "f", " x = 1\n+import os\n", "is a local of `f` now"),
    "an inserted import of what is read below": ("import os\ndef f():\n    x = 1\n    return x, os.sep\n", "f", "+import os\n x = 1\n", ""),
    "an inserted import of what its own block reads below": ("import os\ndef f(a):\n    if a:\n        x = 1\n        return x, os.sep\n", "f", "+import os\n x = 1\n", ""),
    "of what a block inside that one reads": ("import os\ndef f(a):\n    for b in a:\n        x = 1\n        if x:\n            print(os.sep)\n", "f", "+import os\n x = 1\n", ""),
    "of what a function in its block reads": ("import os\ndef f(a):\n    if a:\n        x = 1\n        def h():\n            return os.sep\n        return h\n", "f", "+import os\n x = 1\n", ""),
    "of what its own block reads above": ("import os\ndef f(a):\n    if a:\n        print(os.sep)\n        x = 1\n", "f", " x = 1\n+import os\n", "is a local of `f` now"),
    "of what another branch reads": ("import os\ndef f(a):\n    if a:\n        x = 1\n    else:\n        print(os.sep)\n", "f", "+import os\n x = 1\n", "is a local of `f` now"),
    "of what the block around reads below": ("import os\ndef f(a):\n    if a:\n        x = 1\n    return os.sep\n", "f", "+import os\n x = 1\n", "is a local of `f` now"),
    "of what a handler reads": ("import os\ndef f(a):\n    try:\n        x = 1\n    except a:\n        print(os.sep)\n", "f", "+import os\n x = 1\n", "is a local of `f` now"),
    "an assignment that may not run": ("n = 0\ndef f(a):\n    x = 1\n    return x, n\n", "f", " x = 1\n+if a:\n+    n = 1\n", "is a local of `f` now"),
    "an assignment to what the function makes global": ("n = 0\ndef f(a):\n    global n\n    x = n\n    return x, n\n", "f", " x = n\n+n = 1\n", ""),
    "a name that was bound nowhere before": ("def f(a):\n    x = zz\n    return x, zz\n", "f", "-x = zz\n+x = zz + 1\n", ""),
    "star import: nobody can know, also of what goes": ("from m import *\nimport os\ndef g():\n    return os.sep\n", "<module>", "-import os\n", ""),
    "a class's name in an inserted comprehension": ("class A:\n    n = 1\n    x = old()\n", "A", "-old()\n+[n for _ in [1]]\n", "reads names that nothing binds"),
    "a removed parameter of a method": ("class A:\n    def f(self, k):\n        return k\n    def g(self):\n        return 1\n", "A.f", "-def f(self, k):\n+def f(self):\n", "nothing binds it there any more"),
    "a renamed function keeps its names": ("def f(a):\n    return a, zz\n", "f", "-def f(a):\n+def ff(a):\n", ""),
    "a removed name of a handler": ("def f():\n    try:\n        x = 1\n    except E as e:\n        raise X(e)\n", "f", "-except E as e:\n+except E:\n", "nothing binds it there any more"),
    "a removed name of the function around": ("def f():\n    k = 1\n    def g():\n        return k\n    return g\n", "f", "-k = 1\n def g():\n     ...\n", "nothing binds it there any more"),
    "what `exec` may bind": ("import os\nexec(a)\ndef g():\n    return os.sep\n", "<module>", "-import os\n", ""),
    "a parameter that a lambda reads": ("def f(a):\n    return lambda: a\n", "f", "-def f(a):\n+def f():\n", "nothing binds it there any more"),
    "a builtin that becomes a local": ("def f(a):\n    print(max(a))\n    return a\n", "f", " print(max(a))\n+max = a\n", "is a local of `f` now"),
    "an assignment in a loop": ("n = 0\ndef f(a):\n    for x in a:\n        print(n)\n        print(x)\n", "f", "-print(x)\n+n = x\n", "is a local of `f` now"),
    "an inserted import of what a function inside reads": ("import os\ndef f():\n    def h():\n        return os.sep\n    x = h()\n    return x\n", "f", " x = h()\n+import os\n", "is a local of `f` now"),
    "an inserted import of what a function below reads": ("import os\ndef f():\n    x = 1\n    def h():\n        return os.sep\n    return h\n", "f", " x = 1\n+import os\n", ""),
    "an inserted import of what a function inside binds": ("import os\ndef f():\n    def h(os):\n        return os.sep\n    x = h(1)\n    return x\n", "f", " x = h(1)\n+import os\n", ""),
    "an inserted `+=` of what the module binds": ("n = 0\ndef f(a):\n    print(a)\n    return a\n", "f", " print(a)\n+n += 1\n", "is a local of `f` now"),
    "an inserted `+=` of what the function binds": ("n = 0\ndef f(a):\n    n = 1\n    return n\n", "f", " n = 1\n+n += 1\n", ""),
    "an inserted `+=` of what the function makes global": ("n = 0\ndef f(a):\n    global n\n    return a\n", "f", " global n\n+n += 1\n", ""),
    "a removed assignment above a `+=`": ("def f(a):\n    n = 1\n    print(a)\n    n += 1\n", "f", "-n = 1\n print(a)\n", "is a local of `f` now"),
    "an inserted read above a local import": ("def f(a):\n    print(a)\n    from os import path\n    return path\n", "f", " print(a)\n+print(path)\n", "is a local of `f` now"),
    "an inserted read in a loop that binds it below": ("def f(a):\n    for x in a:\n        print(x)\n        y = x\n    return y\n", "f", " print(x)\n+print(y)\n", ""),
    "what an inserted function reads, bound below": ("def f(a):\n    print(a)\n    n = 1\n    return n\n", "f", " print(a)\n+def g():\n+    return n\n", ""),
    "what an inserted lambda reads, bound below": ("def f(a):\n    print(a)\n    n = 1\n    return n\n", "f", " print(a)\n+g = lambda: n\n", ""),
    "a read above its binding that was there before": ("def f(a):\n    print(n)\n    x = 1\n    n = 1\n", "f", "-x = 1\n+x = 2\n", ""),
    "an inserted `del` of what is read below": ("def f(a):\n    y = 1\n    print(a)\n    return y\n", "f", " print(a)\n+del y\n", "nothing binds it there any more"),
    "an inserted `del` of what is bound again below": ("def f(a):\n    y = 1\n    print(a)\n    y = 2\n    return y\n", "f", " print(a)\n+del y\n", ""),
    "an inserted `del` of what the next statement changes": ("def f(a):\n    y = 1\n    print(a)\n    y = y + 1\n", "f", " print(a)\n+del y\n", "nothing binds it there any more"),
    "an inserted `del` of what an `if` binds below": ("def f(a):\n    y = 1\n    print(a)\n    if a:\n        y = 2\n        print(y)\n", "f", " print(a)\n+del y\n", ""),
    "an inserted `del` in another branch": ("def f(a):\n    y = 1\n    if a:\n        print(a)\n    else:\n        print(y)\n", "f", " print(a)\n+del y\n", ""),
    "an inserted `del` in the same branch": ("def f(a):\n    y = 1\n    try:\n        pass\n    except E:\n        print(a)\n        print(y)\n", "f", " print(a)\n+del y\n", "nothing binds it there any more"),
    "an inserted `del` of what the module reads below": ("y = 1\nx = 2\nprint(y)\n", "<module>", " x = 2\n+del y\n", "nothing binds it there any more"),
    "a read below a `del` that was there before": ("def f(a):\n    y = 1\n    del y\n    x = 1\n    return y\n", "f", "-x = 1\n+x = 2\n", ""),
    "an inserted `del` of an element": ("def f(a):\n    y = [1]\n    print(a)\n    return y\n", "f", " print(a)\n+del y[0]\n", ""),
    "a removed name of a class, read by a default far below": ("class A:\n    n = 1\n    x = 2\n    def f(self):\n        pass\n\n    def g(self, a=n):\n        return a\n", "A", "-n = 1\n x = 2\n", "nothing binds it there any more"),
    "what another method read before": ("class A:\n    def f(self):\n        x = 1\n    def g(self):\n        return zz\n", "A.f", " x = 1\n+y = x\n", ""),
    "a `+=` that was wrong before": ("def f(a):\n    print(a)\n    n += 1\n", "f", "-print(a)\n+print(a, 1)\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_code_that_stays_keeps_the_names_it_reads(name: str) -> None:
    source, scope, hunk, problem = BROKEN[name]
    (answer,) = run(source, hunk, scope=scope).answers
    assert answer.state is (State.CONFLICT if problem else State.APPLICABLE), answer.problem
    assert problem in answer.problem


def test_another_hunk_may_change_what_reads_a_name() -> None:
    hunks = "-def f(a, b):\n+def f(a):\n@@ f @@\n-return max(b)\n+return max(a)\n"
    assert [answer.state for answer in run("def f(a, b):\n    return max(b)\n", hunks).answers] == [State.APPLICABLE] * 2


def test_names_that_another_hunk_binds_count() -> None:
    hunks = "-old()\n+y()\n@@ <module> @@\n+from x import y\n ...\n"
    assert [answer.state for answer in run("def f():\n    old()\n", hunks).answers] == [State.APPLICABLE] * 2


def test_names_that_the_patchset_lists_count() -> None:
    _, (file,) = parse_spatch("--- p/m.py\n@@ f @@\n-old()\n+y()\n", "case.spatch")
    data = b"def f():\n    old()\n"
    assert rewrite(data, file.hunks, {}, ["y"]).answers[0].state is State.APPLICABLE
    assert rewrite(data, file.hunks, {}, ["z"]).answers[0].state is State.CONFLICT


def test_the_hunks_that_insert_nothing_have_no_conflict() -> None:
    hunks = "-old()\n+y()\n@@ f @@\n-older()\n+max(1)\n"
    assert [answer.state for answer in run("def f():\n    old()\n    max(1)\n", hunks).answers] == [State.CONFLICT, State.UPSTREAM]
    hunks = " old()\n+y(z)\n+y(x)\n"
    (answer,) = run("def f():\n    old()\n", hunks).answers
    assert answer.problem.endswith(": `y` (line 3 of the result), `z` (line 3 of the result), `x` (line 4 of the result), `y` (line 4 of the result)")


ELSEWHERE = {  # names that stand elsewhere in the file count as bound where the running Python does not know its syntax
    "a name of an import that is renamed", "pristine code of another scope reads it", "for type checkers only",
    "for type checkers only, in the function", "a comprehension's own, read outside of it", "a class's name seen from a method", "a class's name seen from a method under if",
    "a class's name in a lambda of a default", "a type parameter of another function", "another function's", "in a method of an inserted class",
    "a class's name in a comprehension", "a comprehension's own that it goes over",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted({*RULE_21} - {"read for type checkers only"}))
def test_without_the_standard_parser_names_found_nowhere_else_are_reported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, code, bound = RULE_21[name]
    use_older_python(monkeypatch)
    answer = run(source + "\n", f"-old()\n+{code}\n", scope="*.f" if "    def f" in source else "f").answers[0]
    expected = bound or name in ELSEWHERE
    assert answer.state is (State.APPLICABLE if expected else State.CONFLICT), answer.problem


def test_names_are_checked_where_a_hunk_removes_syntax_that_this_python_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    use_older_python(monkeypatch, without="strange")
    for code, state in (("max(a)", State.APPLICABLE), ("max(y)", State.CONFLICT)):
        assert run("def f(a):\n    strange()\n", f"-strange()\n+{code}\n").answers[0].state is state
