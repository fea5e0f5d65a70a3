"""Rules 11 to 16 and 20: what is kept, what may go, parentheses, several hunks, blocks and lists, and the checks at the end."""

import pytest

from patcher.engine.source import Source
from patcher.model import State
from tests.engine.helpers import (
    Changed,
    Refused,
    Stays,
    check_state,
    inside,
    run,
    stays,
    use_older_python,
)

FUTURE = "#!/usr/bin/python\n# Licence.\nfrom __future__ import annotations\nimport os\n"
CLASS = "def f(a):\n    return a\nclass B:\n    def g(self):\n        x = self\n"
TWICE = "def f(a):\n    return 1\n\n\n" + CLASS
# A node on both sides keeps its own bytes; a `def` or `class` header is one node, even with another name.
RULE_11 = {
    "what stays keeps its bytes": Changed(
        "def f(a):\n    return old( a ,  b=( 1 ), # note\n        )\n",
        "-old($A, b=1)\n+max($A, b=1)\n",
        "def f(a):\n    return max( a ,  b=( 1 ), # note\n        )\n",
    ),
    "a string keeps its quotes": inside("return A('x', \"b\")", '-A("x", $Y)\n+max("x", $Y)\n', "return max('x', \"b\")"),
    "an operator alone is replaced": inside("return a  <  b", "-a < b\n+a <= b\n", "return a  <=  b"),
    "what has nothing in common is written as in the hunk": inside("a.b  =  1", "-a.b = 1\n+c.d = 2\n", "c.d = 2"),
    "an f-string of another text has the quotes of the hunk": inside('x = f"a {b}"', "-f'a {$X}'\n+f'\"a\" {$X}'\n", "x = f'\"a\" {b}'"),
    "both arguments change places": inside("return A(a, b)", "-A($A, $B)\n+max($B, $A)\n", "return max(b, a)"),
    "a returned tuple": inside("return (a,  b)", "-return a, b\n+return a, c\n", "return (a,  c)"),
    "a statement that is a call": inside("A( a,\n       b )\n    c()", "-A(a, $B)\n+A(1, $B)\n c()\n", "A( 1,\n       b )\n    c()"),
    "code that is kept inside a new statement": inside("x = A( a )", "-x = A($X)\n+if x:\n+    x = A($X)\n", "if x:\n        x = A( a )"),
    "a name is changed": Changed("def f(a):\n    return a\n", "-def f(a):\n+def g(a):\n", "def g(a):\n    return a\n"),
    "a class's name": Changed("class f(A):  # c\n    x = 1\n", "-class f:\n+class g:\n", "class g(A):  # c\n    x = 1\n"),
    "the body below a changed name": Changed(
        "def f(a):\n    # c\n    return a\n", "-def f(a):\n+def g(a, b):\n     ...\n+    b()\n", "def g(a, b):\n    # c\n    return a\n    b()\n",
    ),
    "a statement that begins with a placeholder": inside("x = 1\n    A.b()", " x = 1\n-$X.b()\n+$X.c()\n+$X.d()\n", "x = 1\n    A.c()\n    A.d()"),
    "a docstring is changed": Changed("def f():\n    '''Doc.'''\n    x = 1\n", " def f():\n-    'Doc.'\n+    'New.'\n     ...\n", "def f():\n    'New.'\n    x = 1\n"),
    "a docstring is added, above the comments": Changed("def f():\n    # why\n    x = 1\n", " def f():\n+    'Doc.'\n     ...\n", "def f():\n    'Doc.'\n    # why\n    x = 1\n"),
    "over several lines": Changed("class f:\n    x = 1\n", " class f:\n+    '''Doc.\n+\n+    More.\n+    '''\n     ...\n", "class f:\n    '''Doc.\n\n    More.\n    '''\n    x = 1\n"),
    "with a changed header": Changed("def f():\n    x = 1\n", "-def f():\n+def f(a):\n+    'Doc.'\n     ...\n", "def f(a):\n    'Doc.'\n    x = 1\n"),
    "not beside another": Stays("def f():\n    'Old.'\n    x = 1\n", " def f():\n+    'Doc.'\n     ...\n", State.CONFLICT, "there is a docstring already, in line 2"),
    "nor on the header's line": Stays("def f(): return 1\n", " def f():\n+    'Doc.'\n     ...\n", State.CONFLICT, "shares its line"),
    "it is there already": Stays("def f():\n    'Doc.'\n    x = 1\n", " def f():\n+    'Doc.'\n     ...\n", State.UPSTREAM),
    "a module's, above the future imports": Changed(FUTURE, "+'Doc.'\n ...\n", FUTURE.replace("from", "'Doc.'\nfrom", 1), {"scope": "<module>"}),
    "not beside another of the module": Stays("'Old.'\n" + FUTURE, "+'Doc.'\n ...\n", State.CONFLICT, "there is a docstring already, in line 1", {"scope": "<module>"}),
    "a module's is changed": Changed("'Old one.'\n" + FUTURE, "-'Old one.'\n+'New one.'\n", "'New one.'\n" + FUTURE, {"scope": "<module>"}),
    "a docstring is removed": Changed("def f():\n    'Old.'\n    x = 1\n", " def f():\n-    'Old.'\n     ...\n", "def f():\n    x = 1\n"),
    "all of a body": Changed("def f():\n    'Old.'\n", " def f():\n-    'Old.'\n     ...\n", "def f():\n    pass\n"),
    "a docstring becomes code": Changed("def f():\n    'Old.'\n    x = 1\n", "-'Old.'\n+y = 0\n+z = 0\n", "def f():\n    y = 0\n    z = 0\n    x = 1\n"),
    "code goes before it": Changed("def f():\n    'Old.'\n", "+y = 0\n 'Old.'\n", "def f():\n    y = 0\n    'Old.'\n"),
    "it is context": Changed("def f():\n    'Old.'\n    # why\n    x = 1\n", " 'Old.'\n+y = 0\n x = 1\n", "def f():\n    'Old.'\n    y = 0\n    # why\n    x = 1\n"),
    "it goes alone": Changed("def f():\n    'Old.'\n", "-'Old.'\n", "def f():\n    pass\n"),
    "it comes for all of a body": Changed("def f():\n    # why\n    x = 1\n", " def f():\n-    x = 1\n+    'Doc.'\n", "def f():\n    # why\n    'Doc.'\n"),
    "all of a body comes for it": Changed("class f:\n    'Old.'  # c\n", " class f:\n-    'Old.'\n+    x = 1\n", "class f:\n    x = 1  # c\n"),
    "it comes above what stays": Changed("def f():\n    # why\n    x = 1\n", " def f():\n+    'Doc.'\n     x = 1\n", "def f():\n    'Doc.'\n    # why\n    x = 1\n"),
    "it is changed on the header's line": Changed("def f(): 'Old.'; x = 1\n", " def f():\n-    'Old.'\n+    'New.'\n     x = 1\n", "def f(): 'New.'; x = 1\n"),
    "it comes above another that is written": Changed("def f():\n    'Old.'\n    x = 1\n", " def f():\n+    'Doc.'\n     'Old.'\n     ...\n", "def f():\n    'Doc.'\n    'Old.'\n    x = 1\n"),
    "it is wrapped with the comment below it": Changed("def f():\n    'Doc.'  # b\n    # why\n    x = 1\n", " def f():\n-    'Doc.'\n-    x = 1\n+    if 1:\n+        'Doc.'\n+        x = 1\n", "def f():\n    if 1:\n        'Doc.'  # b\n        # why\n        x = 1\n"),
    "it is no more the first": Changed("def f():\n    'Doc.'\n    # why\n    x = 1\n", " def f():\n+    y = 0\n     'Doc.'\n     x = 1\n", "def f():\n    y = 0\n    'Doc.'\n    # why\n    x = 1\n"),
    "the parameters of a lambda that has none": inside("x = lambda: a", "-lambda: a\n+lambda d: a\n", "x = lambda d: a"),
    "an expression that is put into its like": inside("x = old(\n        a,  # one\n        b)", "-old($A, $B)\n+old(old($A, $B), $B)\n", "x = old(old(\n        a,  # one\n        b), b)"),
    "and taken out of it": inside("x = old(old(\n        a,  # one\n        b), b)", "-old(old($A, $B), $B)\n+old($A, $B)\n", "x = old(\n        a,  # one\n        b)"),
    "a sum that becomes the left side of a product": inside("x = (a  # one\n        + b)", "-a + b\n+(a + b) * c\n", "x = ((a  # one\n        + b) * c)"),
    "a list that is an argument": inside("b(x, [\n        a,  # one\n        b,  # two\n    ])", "-b(x, [..., b])\n+b(x, [..., b, c])\n", "b(x, [\n        a,  # one\n        b,  # two\n        c,\n    ])"),
    "the more alike of two lists": inside("b([1,  # one\n        2], [3,  # three\n        4])", "-b([1, 2], [3, 4])\n+b([3, 4, 5])\n", "b([3,  # three\n        4,\n        5])"),
    "a call of another name with other arguments": inside("x = old(\n        a,  # one\n    )", "-old($A)\n+max($A, 1)\n", "x = max(\n        a,  # one\n        1,\n    )"),
    "a definition that is put into its like": Changed("def f( a ):\n    return a\n", "-def f(a):\n-    ...\n+def g(a):\n+    def f(a):\n+        ...\n+    return f(a)\n", "def g( a ):\n    def f( a ):\n        return a\n    return f(a)\n"),
    "a name that moves is written as the hunk has it": inside("x = A((a), b)", "-x = A(a, b)\n+x = max(b, 1, a)\n", "x = max(b, 1, a)"),
    "a string that moves keeps its quotes": inside("return A('x', b)", '-A("x", $Y)\n+max($Y, 1, "x")\n', "return max(b, 1, 'x')"),
    "statements that move, and one between them goes": inside("a()\n    d()\n    b()", "-a()\n-...\n-b()\n+if c:\n+    a()\n+    b()\n", "if c:\n        a()\n        b()"),
    "statements that move, and a comment comes between them": inside("a()\n    b()", "-a()\n-b()\n+if c:\n+    a()\n+    # why\n+    b()\n", "if c:\n        a()\n        # why\n        b()"),
    "inside an f-string of three quotes": inside("x = f'''{A(a)}'''", "-A($X)\n+max($X, 'b')\n", "x = f'''{max(a, 'b')}'''"),
    "one thing twice, each as it stood": inside("x = A(a.b, a .b)", "-A(a.b, a.b)\n+max([a.b, 1, a.b])\n", "x = max([a.b, 1, a .b])"),
    "a value and its target": inside("x = old(a,  # one\n        1)", "-x = old(a, 1)\n+b = max(a, 2)\n", "b = max(a,  # one\n        2)"),
    "inside a one-line suite": inside("if a: x = A(1)", "-if a: x = A($X)\n+if a: x = max($X)\n", "if a: x = max(1)"),
}  # fmt: skip

# What goes away must be written whole.
RULE_12 = {
    "a clause": stays("if a:\n        b\n    else:\n        c", "-if a:\n-    ...\n", State.CONFLICT, "does not mention (clause)"),
    "an annotation": stays("x: int = a\n    b", "-x = a\n b\n", State.CONFLICT, "(annotation)"),
    "a decorator": stays("@c\n    def g(): a\n    b", "-def g():\n-    ...\n b\n", State.CONFLICT, "(decorator)"),
    "a return annotation": stays("def g() -> int: a\n    b", "-def g():\n-    ...\n b\n", State.CONFLICT, "(return annotation)"),
    "a base": stays("class g(A):\n        x = 1\n    b", "-class g:\n-    x = 1\n b\n", State.CONFLICT, "(base class)"),
    "a docstring": stays("def g():\n        'Doc.'\n        a()\n    b", "-def g():\n-    a()\n b\n", State.CONFLICT, "(docstring)"),
    "type parameters": stays("def g[T](): a\n    b", "-def g():\n-    ...\n b\n", State.CONFLICT, "(type parameter)"),
    "a part below a node that goes": stays("while a:\n        if b:\n            c\n        else:\n            d", "-while a:\n-    if b:\n-        c\n", State.CONFLICT, "(clause)"),
    "a docstring goes with the body": inside("def g():\n        'Doc.'\n        a()\n    b()", "-def g():\n-    ...\n b()\n", "b()"),
    "all of it is written": inside("if a:\n        b\n    else:\n        c\n    d()", "-if a:\n-    ...\n-else:\n-    ...\n", "d()"),
    "a clause that would mean something else": stays("if a:\n        b\n    else:\n        c", "-if a:\n+while a:\n", State.CONFLICT, "(clause)"),
    "a changed header leaves the rest": inside("if a:\n        b\n    else:\n        c", "-if a:\n+if c:\n", "if c:\n        b\n    else:\n        c"),
    "the body below a header that stays": Refused(" if a:\n-    b()\n return $X\n", "all of this body goes"),
    "which a `...` of one side alone is, too": Refused(" def f(a):\n     if a:\n-        ...\n     return $X\n", "all of this body goes", how={"scope": "<module>"}),
}  # fmt: skip

# Parentheses where precedence asks for them.
RULE_13 = {
    "around an operator that comes": inside("x = a + b - (a * b)", "-a * b\n+max(1, a * b)\n", "x = a + b - (max(1, a * b))"),
    "and goes": inside("x = a + b - (max(1, a * b))", "-max(1, a * b)\n+a * b\n", "x = a + b - (a * b)"),
    "over two lines": inside("x = (a\n         + b)", "-a + b\n+max(1, a + b)\n", "x = (max(1, (a\n         + b)))"),
    "and back": inside("x = (max(1, (a\n         + b)))", "-max(1, a + b)\n+a + b\n", "x = (a\n         + b)"),
    "out of a call": inside("x = 2 * max(a + b)", "-max($X)\n+$X\n", "x = 2 * (a + b)"),
    "out of a call in parentheses": inside("x = 2 * (max(a + b))", "-max($X)\n+$X\n", "x = 2 * (a + b)"),
    "out of a call, with a run": inside("x = max(a, 1, b)", "-max($X, ...)\n+$X\n", "x = a"),
    "for a literal": inside("x = max(a, 1, b)", "-max($X, ...)\n+$option\n", "x = 7", options={"option": 7}),
    "an ellipsis for a value": inside("x = A(a)", "-x = A(a)\n+x = ...\n", "x = ..."),
    "a value for an ellipsis": inside("x = ...", "-x = ...\n+x = 1\n", "x = 1"),
    "an ellipsis in a subscript": inside("x = a[1]", "-a[1]\n+a[...]\n", "x = a[...]"),
    "one that goes there": inside("x = a[...]", "-a[...]\n+a[1]\n", "x = a[1]"),
    "an ellipsis that is called": inside("x = A(a)", "-A($X)\n+(...)($X)\n", "x = ...(a)"),
    "a yield that is all of a value": inside("x = A(a)", "-x = A(a)\n+x = yield a\n", "x = yield a"),
    "what is put before a dot, once": inside("x = A(a + b).c", "-A($X).c\n+$X.c\n", "x = (a + b).c"),
    "a bound expression": inside("return A(a or b)", "-A($X)\n+$X.real\n", "return (a or b).real"),
    "the new expression": inside("return -A(a)", "-A($X)\n+$X + 1\n", "return -(a + 1)"),
    "where the hunk puts them around what stays": inside("return a < b", "-a < b\n+not (a < b)\n", "return not (a < b)"),
    "but not twice": inside("return (a < b)", "-a < b\n+not (a < b)\n", "return (not (a < b))"),
    "what stays under an operator that binds tighter": inside("return a + b + c", "-$A + c\n+$A * 2\n", "return (a + b) * 2"),
    "an operand of it that changes too": inside("return a + b", "-a + b\n+(a - c) * b\n", "return (a - c) * b"),
    "what gets an operator that binds looser": inside("return c - a * b", "-a * b\n+a + b\n", "return c - (a + b)"),
    "under another operator in front": inside("return not a == b", "-not $A\n+-$A\n", "return -(a == b)"),
    "where neither needs any the lines stay": inside("return (a  # why\n        + b)", "-a + b\n+a * b\n", "return (a  # why\n        * b)"),
    "nested ones that only the result shows": inside(
        "return a + c + a + c", "-$B + c\n+$B * 1\n", "return (a * 1 + a) * 1", flags="count=all"
    ),
    "not where nothing asks for them": inside("return A(a) + 1", "-A($X)\n+$X * 2\n", "return a * 2 + 1"),
    "the right side of a minus": inside("return 1 - A(a)", "-A($X)\n+$X - 2\n", "return 1 - (a - 2)"),
    "the base of a power": inside("return A(a) ** 2", "-A($X)\n+-$X\n", "return (-a) ** 2"),
    "the exponent of a power": inside("return 2 ** A(a)", "-A($X)\n+-$X\n", "return 2 ** -a"),
    "a negative option": inside("return A(a) ** 2", "-A(a)\n+$limit\n", "return (-3) ** 2", options={"limit": -3}),
    "a comparison in a comparison": inside("return a < A(b)", "-A($X)\n+$X < 2\n", "return a < (b < 2)"),
    "a condition": inside("return a if A(b) else c", "-A($X)\n+($X if x else d)\n", "return a if (b if x else d) else c"),
    "a lambda": inside("return A(b) or c", "-A($X)\n+(lambda: $X)\n", "return (lambda: b) or c"),
    "an assignment expression": inside("x = A(b)", "-A($X)\n+(x := $X)\n", "x = (x := b)"),
    "not a tuple in a subscript": inside("return a[...]", "-a[...]\n+a[..., 1]\n", "return a[..., 1]"),
    "nor a slice": inside("return a[0]", "-a[0]\n+a[:, 0]\n", "return a[:, 0]"),
    "a slice comes into a tuple in parentheses": inside("return a[(0, 1)]", "-a[0, 1]\n+a[:, 1]\n", "return a[:, 1]"),
    "a slice in place of an index in parentheses": inside("return a[(0)]", "-a[0]\n+a[1:]\n", "return a[1:]"),
    "a yield in a subscript": inside("return a[A(b)]", "-A($X)\n+(yield $X)\n", "return a[(yield b)]"),
    "a tuple": inside("for x in A, a:\n        pass", "-for x in $T:\n+for x in list($T):\n     ...\n", "for x in list((A, a)):\n        pass"),
    "a yield": inside("x = yield a", "-x = $Y\n+x = A($Y)\n", "x = A((yield a))"),
    "a generator": inside("return A(x for x in a)", "-A($X)\n+max($X, default=1)\n", "return max((x for x in a), default=1)"),
    "a generator that is no longer alone": inside("return max(x for x in a)", "-max($X)\n+max($X, default=1)\n", "return max((x for x in a), default=1)"),
    "a generator after what comes": inside("return max(x for x in a)", "-max($X)\n+max(1, $X)\n", "return max(1, (x for x in a))"),
    "a generator in a run": inside("return A(x for x in a)", "-A(...)\n+max(..., default=1)\n", "return max((x for x in a), default=1)"),
    "a multi-line expression that loses its brackets": Changed(
        "def f(a, b):\n    return old(a +\n        b)\n", "-return old($X)\n+return $X\n", "def f(a, b):\n    return (a +\n        b)\n",
    ),
    "an integer before a dot": inside("return A(1)", "-A($X)\n+$X.real\n", "return (1).real"),
    "an integer put before a dot": inside("return A(1).real", "-A($X)\n+3\n", "return (3).real"),
    "a dict in an f-string": inside("return f'{A(a)}'", "-A($X)\n+{$X: 1}\n", "return f'{({a: 1})}'"),
    "what cannot stand in an f-string": stays("return f'{A(a)}'", "-A($X)\n+A[$X, 'k']\n", State.CONFLICT, "an f-string cannot hold"),
    "what cannot be bound into an f-string": stays("return A('k')", "-A($X)\n+f'{$X}'\n", State.CONFLICT, "cannot stand in an f-string with these quotes"),
    "parentheses that hold lines together": inside("x = a.b", "-x = a.b\n+x = (\n+    a.b\n+    + 1\n+)\n", "x = (\n        a.b\n        + 1\n    )"),
    "the same around an expression": inside("x = a.b", "-a.b\n+(\n+    a.b\n+    or c\n+)\n", "x = (\n        a.b\n        or c\n    )"),
    "where parentheses are needed anyway": inside("x = a.b.c", "-a.b\n+(\n+    a.b\n+    or c\n+)\n", "x = (\n        a.b\n        or c\n    ).c"),
    "and where they stand already": inside("x = (a.b)", "-a.b\n+(\n+    a.b\n+    or c\n+)\n", "x = (a.b\n    or c)"),
    "around a condition": inside("if a.b: c", "-if a.b:\n+if (\n+    a.b\n+    or c\n+):\n", "if (\n        a.b\n        or c\n    ): c"),
    "around a string": inside("x = A(1)", "-A($X)\n+(\n+    'a'\n+    'b'\n+)\n", "x = (\n        'a'\n        'b'\n    )"),
}  # fmt: skip

MEET = "def f(a):\n    x = old(a)\n    return x\n"
# All hunks are matched against the same text; they may not meet.
RULE_14 = {
    "overlapping changes": Stays(MEET, "-old(a)\n+max(a, 0)\n@@ f @@\n-x = old($Y)\n+x = $Y\n", State.CONFLICT, "two changes of this patchset meet at line 2: write one hunk for both"),
    "insertions at one anchor": Refused(" x = old(a)\n+print(1)\n@@ f @@\n x = old(a)\n+print(2)\n", "inserts at the same place as the hunk in line 2: write one"),
    "insertions at one anchor in a body": Refused(" def f(...):\n+    a()\n     ...\n@@ f @@\n def f(...):\n+    b()\n     ...\n", "as the hunk in line 2: write one"),
    "clauses at one anchor": Refused(" if a:\n     ...\n+elif b:\n+    a()\n@@ f @@\n if a:\n     ...\n+elif c:\n+    b()\n", "as the hunk in line 2: write one"),
    "decorators at one anchor": Refused("+@a\n def f(...):\n@@ f @@\n+@b\n def f(...):\n", "as the hunk in line 2: write one"),
    "insertions at the top of a file": Refused("+import a\n ...\n@@ <module> @@\n+import b\n ...\n", "as the hunk in line 2: write one", "", {"scope": "<module>"}),
    "insertions that meet where the patterns do not show it": Stays(MEET, " x = old(a)\n+print(1)\n@@ f @@\n x = $V\n+print(2)\n", State.CONFLICT, "meet at line 3"),
    "insertions before and after": Changed(MEET, " x = old(a)\n+print(1)\n@@ f @@\n+print(2)\n x = old(a)\n", "def f(a):\n    print(2)\n    x = old(a)\n    print(1)\n    return x\n"),
    "insertions at the beginning and the end": Changed(MEET, " def f(a):\n+    print(1)\n     ...\n@@ f @@\n def f(a):\n     ...\n+    print(2)\n", "def f(a):\n    print(1)\n    x = old(a)\n    return x\n    print(2)\n"),
    "insertions at the end of a block and of the block around it": Changed("def f(a):\n    if a:\n        old(a)\n", " def f(...):\n     ...\n+    print(2)\n@@ f @@\n old(a)\n+print(1)\n", "def f(a):\n    if a:\n        old(a)\n        print(1)\n    print(2)\n"),
    "insertions at the end of a block without a line break": Changed("def f(a):\n    if a:\n        old(a)", " def f(...):\n     ...\n+    print(2)\n@@ f @@\n old(a)\n+print(1)\n", "def f(a):\n    if a:\n        old(a)\n        print(1)\n    print(2)"),
    "an insertion at the end of a block, and a clause below it": Changed("def f(a):\n    if a:\n        old(a)\n", " if a:\n     ...\n+else:\n+    print(2)\n@@ f @@\n old(a)\n+print(1)\n", "def f(a):\n    if a:\n        old(a)\n        print(1)\n    else:\n        print(2)\n"),
    "a clause below a block, and a statement below it": Changed("def f(a):\n    try:\n        old(a)\n    except OSError:\n        pass\n", " try:\n     ...\n except OSError:\n     ...\n+else:\n+    print(1)\n@@ f @@\n def f(...):\n     ...\n+    print(2)\n", "def f(a):\n    try:\n        old(a)\n    except OSError:\n        pass\n    else:\n        print(1)\n    print(2)\n"),
    "a statement directly above an inserted decorator": Changed("class A:\n    @min\n    def f(self): old()\n", "+x = 1\n+@max\n @min\n def f(...):\n", "class A:\n    x = 1\n    @max\n    @min\n    def f(self): old()\n", {"scope": "A"}),
    "a hunk does not see what another makes": Stays(MEET, "-old(a)\n+max(a, 0)\n@@ f @@\n-max(a, 0)\n+min(a, 0)\n", State.NOT_FOUND),
    "context that another hunk changes": Stays(MEET, "-old(a)\n+max(a, 0)\n@@ f @@\n x = old(a)\n+print(1)\n", State.CONFLICT, "another hunk of this patchset changes line 2"),
    "several insertions of one hunk keep their order": inside("x = A()", "+a()\n x = A()\n+b()\n+c()\n", "a()\n    x = A()\n    b()\n    c()"),
    "deletions that share a block": Changed("def f():\n    old(1)\n    old(2)\n", "-old(1)\n@@ f @@\n-old(2)\n", "def f():\n    pass\n"),
}  # fmt: skip

METHODS = "class A:\n    @property\n    def p(self): pass\n    @p.setter\n    def p(self, v): pass\n"
# One-line suites, `;`, and what must not become empty.
RULE_15 = {
    "a one-line suite after a backslash": stays("if a: \\\n        x = A(1)", " x = A(1)\n+c()\n", State.CONFLICT, "shares its line"),
    "beside a one-line suite nothing is inserted": stays("if a: A(b)", " A(b)\n+max(b)\n", State.CONFLICT, "one-line suite"),
    "nor removed": stays("if a: A(b)", "-A(b)\n", State.CONFLICT, "one-line suite"),
    "beside a semicolon nothing is inserted": stays("a; A(b)", " A(b)\n+max(b)\n", State.CONFLICT, "`;`"),
    "nor removed from its line": stays("a; A(b)", "-A(b)\n", State.CONFLICT, "`;`"),
    "rewriting inside a suite": inside("if a: A(b)", "-A(b)\n+max(b)\n", "if a: max(b)"),
    "rewriting beside a semicolon": inside("a; A(b)", "-A(b)\n+max(b)\n", "a; max(b)"),
    "one statement in the place of another in a suite": inside("if a: return A(1)", "-return A(1)\n+b.c = 2\n", "if a: b.c = 2"),
    "in the suite of a definition": Changed("def f(a): return 1  # c\n", " def f(a):\n-    return 1\n+    return 2  # why\n", "def f(a): return 2  # why\n"),
    "after a backslash": inside("if a: \\\n        return A(1)", "-return A(1)\n+b.c = 2\n", "if a: \\\n        b.c = 2"),
    "beside a semicolon": inside("A(1); a  # c", "-A(1)\n+del b[\n+    0]\n", "del b[\n        0]; a  # c"),
    "whose comment has no place there": stays("A(1); a", "-A(1)\n+del b  # why\n", State.CONFLICT, "no place for the comment"),
    "nor one above it": stays("A(1); a", "-A(1)\n+# why\n+del b\n", State.CONFLICT, "shares its line"),
    "one that is a block": stays("A(1); a", "-A(1)\n+if b:\n+    c()\n", State.CONFLICT, "shares its line"),
    "one that moves there, and would lose its comment": stays("if a: A(1)\n    c()  # why", " if a:\n-    A(1)\n+    c()\n-c()\n", State.CONFLICT, "shares its line"),
    "a run": stays("if a: A(1)", " if a:\n-    ...\n+    c()\n", State.CONFLICT, "shares its line"),
    "two for one": stays("if a: A(1)", "-A(1)\n+b.c = 2\n+b.d = 3\n", State.CONFLICT, "shares its line"),
    "the last statement becomes pass": Changed(
        "def f(a):\n    if a:\n        # why\n        old()  # x\n    return a\n", "-old()\n", "def f(a):\n    if a:\n        # why\n        pass  # x\n    return a\n",
    ),
    "all statements of a block, at several places": Changed("def f(a):\n    if a:\n        old(1)\n        old(2)\n    return 1\n", "-old($X)\n", "def f(a):\n    if a:\n        pass\n    return 1\n", {"flags": "count=all"}),
    "a one-line suite in the hunk is the body, and not its header again": Changed("def f(a):\n    if a:\n        old(1)\n        a.b\n", "-if a:\n-    old(1)\n-    a.b\n+if a: a.c = 1; a.d = 2  # why\n", "def f(a):\n    if a:\n        a.c = 1; a.d = 2  # why\n"),
    "with code that stays": Changed("def f(a):\n    old(1)  # one\n    a.b = 2\n", "-old(1)\n+for c in a:\n+    if c: old(1)\n a.b = 2\n", "def f(a):\n    for c in a:\n        if c:\n            old(1)  # one\n    a.b = 2\n"),
    "with a run": Changed("def f(a):\n    old(1)  # one\n    a.b = 2\n", " def f(a):\n-    ...\n+    for c in a: ...\n", "def f(a):\n    for c in a:\n        old(1)  # one\n        a.b = 2\n"),
    "but not with code that stays behind other code": Stays("def f(a):\n    old(1)  # one\n    a.b = 2\n", "-$S\n+for c in a:\n+    if c: abs(c); $S\n a.b = 2\n", State.CONFLICT, "keeps code behind other code"),
    "with the comments around it once": Changed("def f(a):\n    if a:\n        old(1)\n", "-if a:\n-    old(1)\n+# above\n+if a: max(1)\n+# below\n", "def f(a):\n    # above\n    if a:\n        max(1)\n    # below\n"),
    "statements of the hunk beside a semicolon": Changed("def f(a):\n    old(1)\n    a.b = 2\n", "-old(1)\n+max(1); old(1); max(2)\n a.b = 2\n", "def f(a):\n    max(1)\n    old(1)\n    max(2)\n    a.b = 2\n"),
    "a header that goes, above a one-line suite": Changed("def f(a):\n    if a:\n        if a.b: old(1)\n        old(2)\n", "-if a:\n     if a.b: old(1)\n-    old(2)\n", "def f(a):\n    if a.b: old(1)\n"),
    "a one-line definition that leaves another one": Changed("def f(a):\n    def g(a): return a  # c\n    old(1)\n", "-def f(a):\n     def g(a): return a\n-    old(1)\n", "def g(a): return a  # c\n", {"scope": "<module>"}),
    "code that is kept behind other code": stays("A(1)\n    A(2)", "-A(1)\n-$S\n+if a: A(3); $S\n", State.CONFLICT, "keeps code behind other code"),
    "all but a comment": Changed("def f(a):\n    # why\n    old(1)\n", " # why\n-old(1)\n", "def f(a):\n    # why\n    pass\n"),
    "a body": Changed("def f(a):\n    old(1)\n    old(2)\n", "-old($X)\n", "def f(a):\n    pass\n", {"flags": "count=all"}),
    "a body of one compound statement, with the comments at its end": Changed("def f(a):\n    if a:\n        old(1)\n        # end\n", "-if a:\n-    old(1)\n", "def f(a):\n    pass\n"),
    "a docstring for which code comes": Changed("def f(a):\n    'Doc.'\n", " def f(a):\n-    'Doc.'\n+    return a\n", "def f(a):\n    return a\n"),
    "a docstring that is all of a body": Changed("def f(a):\n    'Doc.'\n", " def f(a):\n-    'Doc.'\n     ...\n", "def f(a):\n    pass\n"),
    "a body that keeps its docstring": Changed("def f(a):\n    'Doc.'\n    old(1)\n", "-old($X)\n", "def f(a):\n    'Doc.'\n"),
    "a body that would be empty": Refused(" if a:\n-    A(1)\n-    A(2)\n", "all of this body goes: write what replaces it (`+    pass`)"),
    "and is not": inside("if a:\n        A(1)\n        A(2)\n    b()", " if a:\n-    A(1)\n-    A(2)\n+    pass\n", "if a:\n        pass\n    b()"),
    "the only definition of a class, by its own name": Changed("class A:\n    def f(a):\n        return 1\n", "-def f(a):\n-    ...\n", "class A:\n    pass\n", {"scope": "A.f"}),
    "all definitions of a class": Changed(METHODS, "-@...\n-def p(...):\n-    ...\n", "class A:\n    pass\n", {"scope": "A.p", "flags": "count=all"}),
    "the only definition under an if": Changed("if 1:\n    def f(a):\n        return 1\nelse:\n    x = 1\n", "-def f(a):\n-    ...\n", "if 1:\n    pass\nelse:\n    x = 1\n"),
    "one definition of two": Changed("class A:\n    def f(a):\n        return 1\n    x = 1\n", "-def f(a):\n-    ...\n", "class A:\n    x = 1\n", {"scope": "A.f"}),
    "the top level may be empty": Changed("def f(a):\n    return 1\n", "-def f(a):\n-    ...\n", ""),
    "the last name of an import": stays("from a import b", "-from a import b, ...\n+from a import ...\n", State.CONFLICT, "the last name of an import cannot be removed"),
}  # fmt: skip

LIST = "def f(a, b, c, old):\n    x = old(\n        a,\n        b,\n    )\n"


def lists(code: str, hunk: str, result: str) -> Changed:
    return Changed(f"def f(a, b, c, old):\n    x = {code}\n", hunk, f"def f(a, b, c, old):\n    x = {result}\n")


PARAMETERS = {  # without and with one that comes and goes
    "on one line": ("def f(a, b): pass\n", "def f(a, b, x=None): pass\n"),
    "on one line, before keywords": ("def f(a, **b): pass\n", "def f(a, x=None, **b): pass\n"),
    "a line each": ("def f(\n    a,\n    b,\n): pass\n", "def f(\n    a,\n    b,\n    x=None,\n): pass\n"),
    "a line each, before keywords": ("def f(\n    a,\n    **b,\n): pass\n", "def f(\n    a,\n    x=None,\n    **b,\n): pass\n"),
    "aligned": ("def f(a,\n      b): pass\n", "def f(a,\n      b,\n      x=None): pass\n"),
    "several on a line": ("def f(a, b,\n      **c): pass\n", "def f(a, b, x=None,\n      **c): pass\n"),
}
# Elements follow the layout of their list; `**kw` stays last; strings keep their lines.
RULE_16 = {
    **{f"a parameter that comes, {name}": Changed(old, "-def f(...):\n+def f(..., x=None):\n", new) for name, (old, new) in PARAMETERS.items()},
    **{f"a parameter that goes, {name}": Changed(old, "-def f(..., x=None):\n+def f(...):\n", new) for name, (new, old) in PARAMETERS.items()},
    "inline": lists("old(a, b)", "-old($A, $B)\n+old($A, $B, c=1)\n", "old(a, b, c=1)"),
    "one a line": lists("old(\n        a,\n        b\n    )", "-old($A, $B)\n+old($A, $B, c=1)\n", "old(\n        a,\n        b,\n        c=1\n    )"),
    "one a line with a trailing comma": lists("old(\n        a,\n        b,\n    )", "-old($A, $B)\n+old($A, $B, c=1)\n", "old(\n        a,\n        b,\n        c=1,\n    )"),
    "one a line, below the first": lists("old(a,\n            b)", "-old($A, ...)\n+old($A, c, ...)\n", "old(a,\n            c,\n            b)"),
    "one a line, above the first": lists("old(a,\n            b)", "-old(...)\n+old(c, ...)\n", "old(c,\n            a,\n            b)"),
    "several a line": lists("old(a, 1,\n            b, 2)", "-old($A, ...)\n+old($A, c, ...)\n", "old(a, c, 1,\n            b, 2)"),
    "beside a run, above": lists("old(\n        a,\n        b,\n    )", "-old(...)\n+old(..., c)\n", "old(\n        a,\n        b,\n        c,\n    )"),
    "beside a run, below": lists("old(\n        a,\n        b,\n    )", "-old(...)\n+old(c, ...)\n", "old(\n        c,\n        a,\n        b,\n    )"),
    "between a name and a run": lists("old(\n        a,\n        b,\n    )", "-old(a, ...)\n+old(a, c, ...)\n", "old(\n        a,\n        c,\n        b,\n    )"),
    "between a run and a name": lists("old(\n        a,\n        b,\n    )", "-x = old(..., b)\n+x = old(..., c, b)\n", "old(\n        a,\n        c,\n        b,\n    )"),
    "above the comments of the first": lists("old(\n        # about a\n        a,\n    )", "-old(...)\n+old(c, ...)\n", "old(\n        c,\n        # about a\n        a,\n    )"),
    "beside another, where the hunk has the rest one a line": lists("old(\n        a,\n        b,\n    )", "-old(a, b)\n+old(\n+    a,\n+    b, c=1,\n+)\n", "old(\n        a,\n        b, c=1,\n    )"),
    "one a line, where the hunk has several": lists("old(\n        a,\n        b,\n    )", "-old(a, b)\n+old(a,\n+    b, c=1,\n+    d=2)\n", "old(\n        a,\n        b,\n        c=1,\n        d=2,\n    )"),
    "imported names": Changed("from a import (\n    b,\n    c,\n)\n", "-from a import b, ...\n+from a import b, d, ...\n", "from a import (\n    b,\n    d,\n    c,\n)\n", {"scope": "<module>"}),
    "imported names after a backslash": Changed("from a import b, \\\n    c\n", "-from a import ...\n+from a import ..., d\n", "from a import b, \\\n    c, d\n", {"scope": "<module>"}),
    "dict entries": lists("{\n        a: 1,  # one\n        b: 2,\n    }", "-{a: $V, ...}\n+{a: $V, c: 3, ...}\n", "{\n        a: 1,  # one\n        c: 3,\n        b: 2,\n    }"),
    "a comment stays with its element": lists("old(\n        a,  # one\n        b,  # two\n    )", "-old($A, $B)\n+old($A, $B, c=1)\n", "old(\n        a,  # one\n        b,  # two\n        c=1,\n    )"),
    "a comment stays with its element, without a trailing comma": lists("old(\n        a,\n        b  # two\n    )", "-old($A, $B)\n+old($A, $B, c=1)\n", "old(\n        a,\n        b,  # two\n        c=1\n    )"),
    "a run keeps what stands between its elements": lists("old(\n        a,  # one\n        # about b\n        b=1,\n    )", "-old(...)\n+max(0, ...)\n", "max(\n        0,\n        a,  # one\n        # about b\n        b=1,\n    )"),
    "into an empty list": lists("old()", "-old()\n+old(c=1)\n", "old(c=1)"),
    "at the front": lists("old(a, b)", "-old($A, $B)\n+old(0, $A, $B)\n", "old(0, a, b)"),
    "the last one goes": lists("old(a, b)", "-x = old($A, $B)\n+x = old($A)\n", "old(a)"),
    "the first one goes": lists("old(a, b)", "-x = old($A, $B)\n+x = old($B)\n", "old(b)"),
    "all go": lists("old(a,\n            b)", "-x = old(a, b)\n+x = old()\n", "old()"),
    "both sides of a run go": lists("old(a, 1, b)", "-x = old(a, ..., b)\n+x = old(...)\n", "old(1)"),
    "both sides of an empty run go": lists("old(a, b)", "-x = old(a, ..., b)\n+x = old(...)\n", "old()"),
    "one that has a line of its own goes": lists("old(\n        a,\n        b,  # b\n        c,\n    )", "-x = old($A, $B, $C)\n+x = old($A, $C)\n", "old(\n        a,\n        c,\n    )"),
    "in the first column": lists("old(\na,\nb,\nc\n)", "-x = old(a, b, c)\n+x = old(a, c)\n", "old(\na,\nc\n)"),
    "the last line goes, with its comment": lists("old(\n        a,  # a\n        b  # b\n    )", "-x = old(a, b)\n+x = old(a)\n", "old(\n        a  # a\n    )"),
    "the last line goes, with its comma and comment": lists("old(\n        a,  # a\n        b,  # b\n    )", "-x = old(a, b)\n+x = old(a)\n", "old(\n        a,  # a\n    )"),
    "the last ones go": lists("old(\n        a, # a\n        b, # b\n        c # c\n    )", "-x = old(a, b, c)\n+x = old(a)\n", "old(\n        a # a\n    )"),
    "the comment of what stays, stays": lists("old(a,  # a\n            b)  # x", "-x = old(a, b)\n+x = old(a)\n", "old(a  # a\n            )  # x"),
    "the comment over what stays, stays": lists("old(a, b,\n        # about c\n        c)", "-x = old(a, b, c)\n+x = old(a, c)\n", "old(a,\n        # about c\n        c)"),
    "after a backslash": Changed("from a import b, \\\n    c\n", "-from a import b, c\n+from a import b\n", "from a import b\n", {"scope": "<module>"}),
    "a keyword of another name is another argument": lists("old(k=( 1 ))", "-x = old(k=1)\n+x = old(j=1)\n", "old(j=1)"),
    "a run stays where it is, with its comments": lists("old(\n        1,  # one\n        b,\n    )", "-x = old(..., b)\n+x = old(b, ...)\n", "old(\n        b,\n        1,  # one\n    )"),
    "all go, with a trailing comma": lists("old(a, b,)", "-x = old(a, b)\n+x = old()\n", "old()"),
    "the blanks before one that goes, stay": lists("old(a,  b, c)", "-x = old(a, b, c)\n+x = old(a, c)\n", "old(a,  c)"),
    "into an empty display": lists("[ ]", "-x = []\n+x = [c]\n", "[c ]"),
    "into an empty tuple": lists("()", "-x = ()\n+x = (a, b)\n", "(a, b)"),
    "the only one of a tuple": lists("()", "-x = ()\n+x = (a,)\n", "(a,)"),
    "below one that goes and an empty run": lists("old(a, b)", "-x = old(a, ..., b)\n+x = old(..., c, b)\n", "old(c, b)"),
    "below one that stays, one that goes and an empty run": lists("old(0, a, b)", "-x = old(0, a, ..., b)\n+x = old(0, ..., c, b)\n", "old(0, c, b)"),
    "below one that is replaced and an empty run": lists("old(a, b)", "-x = old(a, ..., b)\n+x = old(1, ..., c, b)\n", "old(1, c, b)"),
    "below lines that go": lists("old(\n        a,\n        b,\n    )", "-x = old(a, ..., b)\n+x = old(..., c, b)\n", "old(\n        c,\n        b,\n    )"),
    "two go, the first beside its bracket": lists("old(a,\n            b,\n            c)", "-x = old(a, b, c)\n+x = old(c)\n", "old(c)"),
    "in the place of all of a tuple": lists("(\n        a,\n    )", "-x = (..., a)\n+x = (1, 2, ...)\n", "(\n        1, 2\n    )"),
    "in the place of all": lists("old(a)", "-x = old(a, ...)\n+x = old(..., c)\n", "old(c)"),
    "before keywords that stand first here": lists("old(k=1, *a)", "-old(*$A, k=$K)\n+old(b, *$A, k=$K)\n", "old(b, k=1, *a)"),
    "a parameter goes before **kw, below one that goes": Changed("def f(a, **kw): pass\n", "-def f(a, ...):\n+def f(..., b):\n", "def f(b, **kw): pass\n"),
    "a keyword goes wherever it stands": lists("old(k=1, j=2)", "-x = old(j=$J, k=$K)\n+x = old(j=$J)\n", "old(j=2)"),
    "a keyword goes from an expression": lists("old(k=1, j=2)", "-old(j=$J, k=$K)\n+old(j=$J)\n", "old(j=2)"),
    "a keyword's value changes wherever it stands": lists("old(k=1, j=2)", "-old(j=$J, k=$K)\n+old(j=None, k=$K)\n", "old(k=1, j=None)"),
    "a chain of operands, where operators lead": lists("(a  # one\n        and b  # two\n    )", "-x = a and b\n+x = a and c and b and old\n", "(a  # one\n        and c\n        and b  # two\n        and old\n    )"),
    "and where they do not": lists("(a and  # one\n        b  # two\n    )", "-x = a and b\n+x = a and c and b and old\n", "(a and  # one\n        c and\n        b and  # two\n        old\n    )"),
    "before the first operand, above its comment": lists("(\n        # one\n        a\n        or b\n    )", "-x = a or b\n+x = c or a or b\n", "(\n        c\n        # one\n        or a\n        or b\n    )"),
    "operands go": lists("(a  # one\n        + b  # two\n        + c)", "-x = a + b + c\n+x = b + c\n", "(  # one\n        b  # two\n        + c)"),
    "the last operand goes": lists("(a  # one\n        + b  # two\n        + c)", "-x = a + b + c\n+x = a + b\n", "(a  # one\n        + b  # two\n        )"),
    "operands in one line": lists("a < b < c", "-x = a < b < c\n+x = a < c\n", "a < c"),
    "an operand of a chain in parentheses": lists("(a and b) and c", "-x = a and b and c\n+x = a and c\n", "a and c"),
    "a chain of other operators": lists("a < b", "-x = a < b\n+x = a <= b <= c\n", "a <= b <= c"),
    "a power is no chain": lists("a ** b", "-x = a ** b\n+x = a ** b ** c\n", "a ** b ** c"),
    "a minus": lists("a - b", "-x = a - b\n+x = a - b - c\n", "a - b - c"),
    "not a minus on the right": lists("a - b", "-x = a - b\n+x = a - (b - c)\n", "a - (b - c)"),
    "where separators lead": lists("[\n        a  # one\n        , b  # two\n    ]", "-x = [a, b]\n+x = [a, b, c]\n", "[\n        a  # one\n        , b  # two\n        , c\n    ]"),
    "the middle one of a line goes, and the line break stays": lists("old(a, b,\n        c)", "-x = old(a, b, c)\n+x = old(a, c)\n", "old(a,\n        c)"),
    "above the comments of the first, below a blank line": lists("old(\n\n        # one\n        a,\n    )", "-old(a)\n+old(c, a)\n", "old(\n\n        c,\n        # one\n        a,\n    )"),
    "keywords that change places in the hunk": lists("old(k=1,  # k\n        j=2)", "-old(j=$J, k=$K)\n+old(k=$K, j=None)\n", "old(k=1,  # k\n        j=None)"),
    "a keyword below others that change places": lists("old(a=1, b=2)", "-old(a=1, b=2)\n+old(b=2, a=1, c=3)\n", "old(a=1, b=2, c=3)"),
    "a keyword above others that change places": lists("old(a=1, b=2)", "-old(a=1, b=2)\n+old(c=3, b=2, a=1)\n", "old(c=3, a=1, b=2)"),
    "keywords of any name that change places": lists("old(k=1, j=2)", "-old($A=1, $B=2)\n+old($B=3, $A=1)\n", "old(j=3, k=1)"),
    "the whole list": lists("[1, 2]", "-[1, 2]\n+[3, 4]\n", "[3, 4]"),
    "a starred element alone": inside("x = A[*b]", "-x = A[*$X]\n+x = A[*$X.y]\n", "x = A[*b.y]"),
    "a parameter goes before **kw": Changed("def f(a, **kw): pass\n", "-def f(a, ...):\n+def f(a, ..., b=1):\n", "def f(a, b=1, **kw): pass\n"),
    "a parameter goes before **kw that is alone": Changed("def f(**kw): pass\n", "-def f(...):\n+def f(..., b=1):\n", "def f(b=1, **kw): pass\n"),
    "a parameter on its own line": Changed("def f(\n    a,\n    b,\n):\n    pass\n", "-def f(...):\n+def f(..., c=1):\n", "def f(\n    a,\n    b,\n    c=1,\n):\n    pass\n"),
    "strings keep their lines": Changed("def f(a):\n    x = '''1\n  2'''\n    return x\n", "+if a:\n     x = $X\n", "def f(a):\n    if a:\n        x = '''1\n  2'''\n    return x\n"),
    "strings of the hunk too": inside("x = A()", " x = A()\n+if x:\n+    a = '''1\n+  2'''\n", "x = A()\n    if x:\n        a = '''1\n  2'''"),
}  # fmt: skip

NESTED = "class A:\n    class B:\n        def f(self):\n            a(1)\n            a(2)\n\n    def g(self):\n        pass\n"
BELOW = ":\n    # a\n    # b\n    # c\n    x = 1\n"
COMPILES = {  # what the parser takes and the compiler does not: text, hunk, scope, the reason
    "a return without its function": ("def f(a):\n    return 1\n", "-def f(a):\n+ ...\n", "<module>", "'return' outside function"),
    "a break without its loop": ("def f(a):\n    for x in a:\n        break\n", "-for x in a:\n+if a:\n     ...\n", "f", "'break' outside loop"),
    "a parameter twice": ("def f(a, b):\n    pass\n", "-def f(...):\n+def f(..., a=1):\n", "f", "duplicate argument 'a'"),
    "an await in a plain function": ("def f(a):\n    return a(1)\n", "-a($X)\n+(await a($X))\n", "f", "'await' outside async function"),
    "a nonlocal without an outer function": ("def f(a):\n    a(1)\n", "+nonlocal b\n a(1)\n", "f", "no binding for nonlocal 'b'"),
    "a yield in a class": ("class A:\n    x = 1\n\n    def f(self):\n        pass\n", "-x = 1\n+x = yield\n", "A", "'yield' outside function"),
    "a return left by a method": ("class A:\n    def f(self):\n        return 1\n", "-def f(self):\n+ ...\n", "A", "'return' outside function"),
    "in a class in a class": (NESTED, "-a(2)\n+break\n", "A.B.f", "'break' outside loop"),
    "in a function of several lines": ("def f(a):\n    a(1)\n    a(2)\n", "-a(2)\n+break\n", "f", "'break' outside loop"),
    "code before a future import some lines away": ('"""Doc."""\n# a\n# b\n# c\nfrom __future__ import annotations\n', " \"\"\"Doc.\"\"\"\n+x = 1\n", "<module>", "__future__"),
    "code before a future import": ("from __future__ import annotations\n", "+x = 1\n from __future__ import annotations\n", "<module>", "__future__"),
}  # fmt: skip
# Checked before a byte is written.
RULE_20 = {
    **{
        f"it compiles: {name}, {words}": Stays(source, hunk, State.CONFLICT, words, {"scope": scope})
        for name, (source, hunk, scope, reason) in COMPILES.items()
        for words in ("the result does not compile", reason)
    },
    "the header of a class, without the body some lines below": Changed(
        f"class A(B){BELOW}", "-class A(B):\n+class A(B, metaclass=type):\n     ...\n", f"class A(B, metaclass=type){BELOW}", {"scope": "<module>"},
    ),
    "in a file that did not compile before": Changed("return 1\ndef f(a):\n    a.b\n", "-a.b\n+a.c\n", "return 1\ndef f(a):\n    a.c\n"),
    "the result parses": stays("for a.old in b: c", "-a.old\n+max(a)\n", State.CONFLICT, "the result does not parse: cannot assign to function call"),
    "it compiles, with what stands above a definition": Stays("@A(1)\n@b\n@c\ndef f(): pass\n", "-A(1)\n+(yield)\n", State.CONFLICT, "the result does not "),
    "the after side fits in more ways": inside("x = A(k=1, j=1)", "-A($A=1, $B=1)\n+max($A=1, $B=1)\n", "x = max(k=1, j=1)"),
    "nor can it be checked where it is nested too deeply": stays(f"x = {'[' * 60}A(b){']' * 60}", f"-A(b)\n+{'[' * 150}b{']' * 150}\n", State.CONFLICT, "the result does not parse: "),
    "a warning of the compiler is no fault": inside("x = A(1)", "-A(1)\n+max(a is 1, 0)\n", "x = max(a is 1, 0)"),
    "another hunk writes the line above": stays("a()\n    A(1)", " a()\n-A(1)\n+max(1)\n@@ f @@\n-a()\n+b()\n A(1)\n", State.CONFLICT, "another hunk of this patchset changes line 2, which this one writes too: write one hunk for both"),
    "another hunk writes the line below": stays("A(1)\n    a()", "-A(1)\n+max(1)\n a()\n@@ f @@\n A(1)\n-a()\n+b()\n", State.CONFLICT, "changes line 3, which"),
    "at one of its places": stays("a()\n    A(1)\n    if b:\n        a()\n        A(1)", " a()\n-A(1)\n+max(1)\n@@ f @@\n if b:\n-    a()\n+    b()\n     ...\n", State.CONFLICT, "changes line 5, which", flags="count=2"),
    "another hunk changes what a placeholder stands for": inside("x = A(a.old)", "-A($X)\n+max($X)\n@@ f @@\n-a.old\n+a.new\n", "x = max(a.new)"),
    "and at its beginning": inside("x = A(a.old)", "-A($X)\n+max($X)\n@@ f @@\n-a.old\n+b.old\n", "x = max(b.old)"),
    "the after side stands there then": stays("with A((a, b)): pass", "-A($X)\n+$X\n", State.CONFLICT, "the after side does not match the result at line 2"),
    "whatever other hunks do elsewhere": stays("b()\n    with A((a, b)): pass\n    c()", "-A($X)\n+$X\n@@ f @@\n-b()\n+d()\n@@ f @@\n-c()\n+d()\n", State.CONFLICT, "the after side does not match the result at line 3"),
    "the after side stands where it was written": stays("x = max(a, b)", "-max($A, $B)\n+max($B, $A)\n", State.CONFLICT, "applying it a second time would change the result again"),
    "but a call around itself is known again": inside("x = A(b)", "-A($X)\n+A(A($X))\n", "x = A(A(b))"),
    "nor may another hunk change what this one made": stays("a(d)", "-a(d)\n+b(d)\n@@ f @@ when-present\n-b(d)\n+c(d)\n", State.CONFLICT, "applying it a second time would change the result again"),
    "nor a part of it": stays("a(d)", "-a(d)\n+b(d, k=1)\n@@ f @@ when-present\n-b(d, k=$K)\n+c(d, k=1)\n", State.CONFLICT, "applying it a second time would change the result again"),
    "but a hunk that writes what stands there changes nothing": inside("a(1)", "-a(1)\n+a($o)\n@@ f @@ when-present\n-a(5)\n+a($o)\n", "a(5)", options={"o": 5}),
    "a literal in the place of another is not found again, and that is no change": inside("a(1)", "-a(1)\n+a($o)\n", "a(2)", options={"o": 2}),
    "no method hides another of its name": Stays(CLASS, " class B:\n     ...\n+    def g(self):\n+        return 3\n", State.CONFLICT, "`B.g` would be defined twice (line 6 of the result)", {"scope": "B"}),
    "two that a patch adds are what its author wrote": Changed(CLASS, " class B:\n     ...\n+    def h(self):\n+        return 3\n+    def h(self):\n+        return 4\n", f"{CLASS}    def h(self):\n        return 3\n    def h(self):\n        return 4\n", {"scope": "B"}),
    "two that a patch adds beside another one are not": Stays(CLASS, " class B:\n     ...\n+    def g(self):\n+        return 3\n+    def g(self):\n+        return 4\n", State.CONFLICT, "`B.g` would be defined twice", {"scope": "B"}),
    "a decorated one may": Changed(CLASS, " class B:\n     ...\n+    @f.register\n+    def g(self):\n+        return 3\n", f"{CLASS}    @f.register\n    def g(self):\n        return 3\n", {"scope": "B"}),
    "no class hides another of its name": Stays("class A:\n    x = 1\ndef f(): return A\n", " ...\n+class A:\n+    x = 2\n", State.CONFLICT, "`A` would be defined twice", {"scope": "<module>"}),
    "a class of the name of its base": Changed("class A:\n    x = 1\n", " ...\n+class A(A):\n+    x = 2\n", "class A:\n    x = 1\nclass A(A):\n    x = 2\n", {"scope": "<module>"}),
    "a class of a name that a base class between has": Changed("class A:\n    x = 1\nclass B(A): pass\n", " ...\n+class A:\n+    x = 2\n", "class A:\n    x = 1\nclass B(A): pass\nclass A:\n    x = 2\n", {"scope": "<module>"}),
    "no function hides another of its name": Stays(CLASS, " ...\n+def f(a):\n+    return 3\n", State.CONFLICT, "`f` would be defined twice", {"scope": "<module>"}),
    "one that keeps the other under a new name may": Changed(CLASS, " ...\n+old_f = f\n+def f(a):\n+    return old_f(a)\n", f"{CLASS}old_f = f\ndef f(a):\n    return old_f(a)\n", {"scope": "<module>"}),
    "in a branch it hides none": Changed(CLASS, " ...\n+if f(1):\n+    def f(a):\n+        return 3\n", f"{CLASS}if f(1):\n    def f(a):\n        return 3\n", {"scope": "<module>"}),
    "two that were there are no fault": Changed(TWICE, "-x = self\n+y = self\n", TWICE.replace("x =", "y ="), {"scope": "B.g"}),
    "an inserted if has no equal branches": stays("x = A(1)", "-x = $V\n+if a:\n+    x = A(1)\n+else:\n+    x = $V\n", State.CONFLICT, "all branches of the `if` in line 2 of the result would be equal"),
    "nor one with an elif": stays("x = A(1)", "-x = $V\n+if a:\n+    x = A(1)\n+elif b:\n+    x = A(1)\n+else:\n+    x = $V\n", State.CONFLICT, "would be equal"),
    "an if that gets an else has no equal branches": stays("if a:\n        x = A(1)", " if a:\n     ...\n+else:\n+    x = A(1)\n", State.CONFLICT, "all branches of the `if` in line 2 of the result would be equal"),
    "two of several branches may be equal": inside("x = A(1)", "-x = $V\n+if a:\n+    x = $V\n+elif b:\n+    x = A(2)\n+else:\n+    x = A(2)\n", "if a:\n        x = A(1)\n    elif b:\n        x = A(2)\n    else:\n        x = A(2)"),
    "one that differs may": inside("x = A(2)", "-x = $V\n+if a:\n+    x = A(1)\n+else:\n+    x = $V\n", "if a:\n        x = A(1)\n    else:\n        x = A(2)"),
    "branches that are written equal may": inside("x = A(1)", "-x = $V\n+if a:\n+    x = $V\n+else:\n+    x = $V\n", "if a:\n        x = A(1)\n    else:\n        x = A(1)"),
    "equal branches of an if that was there are no fault": inside("if a:\n        x = A(1)\n    else:\n        x = A(2)", " else:\n-    x = A(2)\n+    x = A(1)\n", "if a:\n        x = A(1)\n    else:\n        x = A(1)"),
    "no inserted name is unbound": stays("x = A(a)", "-A($X)\n+fresh($X)\n", State.CONFLICT, "`fresh`"),
}  # fmt: skip


def test_a_result_in_syntax_that_this_python_lacks_is_checked_by_libcst(monkeypatch: pytest.MonkeyPatch) -> None:
    use_older_python(monkeypatch)
    check_state("def f(a):\n    del a.old\n", "-a.old\n+max(a)\n", State.CONFLICT, "the result does not parse: unexpected code")


def test_a_result_that_does_not_parse_is_a_conflict_of_the_hunks_that_change_it() -> None:
    hunks = "-a.old\n+max(a)\n@@ f @@\n-A($X)\n+max($X, 0)\n"
    result = run("def f(a, b, x):\n    for a.old in b: b\n    x = max(a, 0)\n", hunks)
    assert [answer.state for answer in result.answers] == [State.CONFLICT, State.UPSTREAM]


@pytest.mark.parametrize(
    ("source", "scope", "expected"),
    [
        ("    def f(a):\n        return 1\n    x = 2\n", "f", "    x = 2\n"),
        ("    class C:\n        x = 1\n        def f(self):\n            return 1\n", "C.f", "    class C:\n        x = 1\n"),
        ("    class C:\n        def f(self):\n            return 1\n", "C.f", "    class C:\n        pass\n"),
    ],
)
def test_a_definition_is_deleted_from_a_file_that_ast_cannot_read(source: str, scope: str, expected: str) -> None:
    assert not Source(source.encode()).has_ast
    assert run(source, "-def f($A):\n-    ...\n", scope=scope).data.decode() == expected
