"""Rules 6 and 7: what `$NAME`, `$_`, `$name` and `...` stand for."""

from __future__ import annotations

import pytest

from patcher.model import State
from tests.semantic.helpers import Case, Changed, Refused, Stays, cases, hold, inside, stays

# `$NAME` is one piece of syntax, the same one where it is written twice; `$_` is anything; `$name` is a literal.
RULE_6 = {
    "any expression": inside("return A(a.b[0])", "-A($X)\n+max($X)\n", "return max(a.b[0])"),
    "any identifier": inside("for a in b: c", "-for $X in b:\n+for $X in d:\n", "for a in d: c"),
    "any attribute": inside("return A.cuda()", "-A.$X()\n+max.$X()\n", "return max.cuda()"),
    "any keyword name": inside("return A(k=1)", "-A($K=$V)\n+max($K=$V)\n", "return max(k=1)"),
    "any parameter's name": Changed("def f(a, b=1):\n    pass\n", "-def f(a, $P=1):\n+def f(a, $P=2):\n", "def f(a, b=2):\n    pass\n"),
    "any parameter, whole": Changed("def f(a, b: int = 1):\n    pass\n", "-def f(a, $P):\n+def f(a, $P, c=2):\n", "def f(a, b: int = 1, c=2):\n    pass\n"),
    "any import name": inside("from a import b, c", "-from a import $N, c\n+from x import $N, c\n", "from x import b, c"),
    "any import name with `as`": inside("from a import b as e, c", "-from a import $N, c\n+from x import $N, c\n", "from x import b as e, c"),
    "an imported name elsewhere": inside("from a import b\n    return b(1)", " from a import $N\n-return $N(1)\n+return $N(2)\n", "from a import b\n    return b(2)"),
    "an imported module elsewhere": inside("import a.b\n    return a.b(1)", " import $N\n-return $N(1)\n+return $N(2)\n", "import a.b\n    return a.b(2)"),
    "an import name with `as` elsewhere": stays("from a import b as e\n    return e(1)", " from a import $N\n-return $N(1)\n+return $N(2)\n", State.NOT_FOUND),
    "a parameter elsewhere": Changed("def f(a, b):\n    return A(a)\n", " def f($P, b):\n-    return A($P)\n+    return max($P)\n", "def f(a, b):\n    return max(a)\n"),
    "a parameter with more than a name": Stays("def f(a: int):\n    return A(a)\n", " def f($P):\n-    return A($P)\n+    return max($P)\n", State.NOT_FOUND),
    "a name elsewhere that is imported": inside("b = A\n    import b", "-$N = A\n import $N\n+x = $N\n", "import b\n    x = b"),
    "any def name": Changed("class A:\n    def g(self): pass\n", " class A:\n-    def $G(self): pass\n+    def $G(self, a=1): pass\n", "class A:\n    def g(self, a=1): pass\n", {"scope": "A"}),
    "any handler's name": inside("try: a\n    except A as e: b", "-except A as $E:\n+except (A, c) as $E:\n", "try: a\n    except (A, c) as e: b"),
    "any statement": inside("A()\n    x = 1\n    return x", " A()\n-$S\n+pass\n", "A()\n    pass\n    return x"),
    "a docstring that is all of a body": Changed("def f(a):\n    'Doc.'\n", "-def f(a):\n+def f(a, b=1):\n     $S\n", "def f(a, b=1):\n    'Doc.'\n"),
    "a docstring before other statements": Changed("def f(a):\n    'Doc.'\n    return a\n", " def f(a):\n     $S\n+    print(a)\n     return a\n", "def f(a):\n    'Doc.'\n    print(a)\n    return a\n"),
    "any compound statement": inside("A()\n    if a:\n        b()\n    return x", " A()\n-$S\n+pass\n", "A()\n    pass\n    return x"),
    "any pattern of a case": inside("match a:\n        case [1, *_]: b", "-case $P:\n+case $P if c:\n", "match a:\n        case [1, *_] if c: b"),
    "a pattern of a case elsewhere": inside("match a:\n        case b: A(b)", "-case $P: A($P)\n+case $P: max($P)\n", "match a:\n        case b: max(b)"),
    "any piece of an f-string": inside("x = f'{a.b} {c}'", "-f'{$X} {c}'\n+f'{$X!r} {c}'\n", "x = f'{a.b!r} {c}'"),
    "from an f-string and into one": inside("x = f'{a.b} {c}'", "-f'{$X} {$Y}'\n+'%s' % $X + f'{$Y:>3}'\n", "x = '%s' % a.b + f'{c:>3}'"),
    "in the width of an f-string": inside("x = f'{a:>{b.c}}'", "-f'{a:>{$W}}'\n+f'{a:<{$W}}'\n", "x = f'{a:<{b.c}}'"),
    "an f-string in an f-string": inside("x = f'{A(f\"{a}\")}'", "-A(f'{$X}')\n+max($X)\n", "x = f'{max(a)}'"),
    "a starred expression is not one expression": stays("return A(*a)", "-A($X)\n+max($X)\n", State.NOT_FOUND),
    "an expression is not a statement's part": stays("x = 1", "-A($X)\n+max($X)\n", State.NOT_FOUND),
    "twice the same syntax": inside("return A(a.b, a . b)", "-A($X, $X)\n+max($X)\n", "return max(a.b)"),
    "twice, once in another": stays("return A((yield a), a)", "-A($X, $X)\n+max($X)\n", State.NOT_FOUND),
    "twice, but not the same": stays("return A(a, b)", "-A($X, $X)\n+max($X)\n", State.NOT_FOUND),
    "anything, not kept": inside("return A(1, 2)", "-A($_, $X)\n+max($X)\n", "return max(2)"),
    "anything twice need not be the same": inside("return A(1, 2)", "-A($_, $_)\n+max(3)\n", "return max(3)"),
    "anything on a context line stays": inside("x = A(1)\n    b()", " x = $_\n-b()\n+c()\n", "x = A(1)\n    c()"),
    "anything twice on context lines": inside("x = A(1, 2)\n    b()\n    return a", " x = A($_, $_)\n-b()\n+c()\n return $_\n", "x = A(1, 2)\n    c()\n    return a"),
    "an option is written as a literal": inside("return A()", "-A()\n+max($limit, 1)\n", "return max(-3, 1)", options={"limit": -3}),
    "a text option is quoted": inside("return A()", "-A()\n+max($text)\n", "return max(\"it's\")", options={"text": "it's"}),
    "a truth option": inside("return A()", "-A()\n+max($flag)\n", "return max(True)", options={"flag": True}),
    "an option alone": inside("return A(a)", "-A($X)\n+$limit\n", "return 7", options={"limit": 7}),
    "an option before a dot": inside("return A(a)", "-A($X)\n+$limit.bit_length()\n", "return (7).bit_length()", options={"limit": 7}),
    "an option in an f-string": inside("return A(a)", "-A($X)\n+f'{$X} of {$limit}'\n", "return f'{a} of {7}'", options={"limit": 7}),
    "in a pattern an option is any literal": inside("return A('q', 3)", "-A('q', $limit)\n+max('q', $limit)\n", "return max('q', 7)", options={"limit": 7}),
    "whatever literal is there becomes the option's value": inside("A.x = 3", "-A.x = $limit\n+A.x = $limit\n", "A.x = 7", options={"limit": 7}),
    "or that of another option": inside("A(3)", "-A($limit)\n+A($other)\n", "A(-1)", options={"limit": 7, "other": -1}),
    "a default that becomes the option's value": Changed("def f(a, n=5):\n    return a\n", "-def f(a, n=$limit):\n+def f(a, n=$limit):\n", "def f(a, n=7):\n    return a\n", {"options": {"limit": 7}}),
    "it has that value": stays("A.x = 7", "-A.x = $limit\n+A.x = $limit\n", State.UPSTREAM, options={"limit": 7}),
    "a negative number is a literal": inside("return A(-3)", "-A($limit)\n+max($limit)\n", "return max(7)", options={"limit": 7}),
    "a literal that is only context stays": inside("A(3)\n    b()", " A($limit)\n-b()\n+c()\n", "A(3)\n    c()", options={"limit": 7}),
    "a negated name is not": stays("return A(-a)", "-A($limit)\n+max(1)\n", State.NOT_FOUND, options={"limit": 1}),
    "nor the inverse of a number": stays("return A(~1)", "-A($limit)\n+max(1)\n", State.NOT_FOUND, options={"limit": 1}),
    "a name is not": stays("return A(a)", "-A($limit)\n+max(1)\n", State.NOT_FOUND, options={"limit": 1}),
    "a dollar in a string of the after side is text": inside("return A()", "-A()\n+max('$X')\n", "return max('$X')"),
    "a dollar in a string of the before side is text": inside("A('echo $HOME')", "-A(\"echo $HOME\")\n+A(1)\n", "A(1)"),
    "and matches nothing else": stays("A('echo ' + x)", "-A(\"echo $HOME\")\n+A(1)\n", State.NOT_FOUND),
    "the name of a placeholder in a longer string": Refused("-old('echo $X', $X)\n+max($X)\n", "write a placeholder for the string", "$X'"),
    "a dollar in the fill of a format is text": inside("x = f'{a:$>3}'", "-f'{$X:$>3}'\n+f'{$X:$>4}'\n", "x = f'{a:$>4}'"),
    "mixed case": Refused("-old($Xy)\n+max(1)\n", "expected `$NAME`", "$Xy"),
    "a dollar alone": Refused("-old($)\n+max(1)\n", "expected `$NAME`", "$"),
    "a digit first": Refused("-old($1)\n+max(1)\n", "expected `$NAME`", "$1"),
    "an unbound metavariable": Refused("-old($X)\n+max($Y)\n", "`$Y` is not bound by the before side; bound there: $X", "$Y"),
    "an unbound metavariable in an f-string": Refused("-old($X)\n+f'{$Y}'\n", "`$Y` is not bound by the before side; bound there: $X", "$Y"),
    "an anonymous placeholder on the after side": Refused("-old($_)\n+max($_)\n", "`$_` stands for anything", "$_"),
    "an option that is not declared": Refused("-old(1)\n+max($limit)\n", "the option `$limit` is not declared; declared: none", "$limit"),
    "a placeholder inside a string": Refused("-old('$X')\n+max(1)\n", "inside a string a `$` is text", "$X"),
    "a placeholder in the text of an f-string": Refused("-old(f'{a} $X')\n+max(1)\n", "inside a string a `$` is text", "$X"),
    "a placeholder in escaped braces": Refused("-old(f'{{$X}}')\n+max(1)\n", "inside a string a `$` is text", "$X"),
    "a placeholder in a string in an f-string": Refused("-old(f'{a[\"$X\"]}')\n+max(1)\n", "inside a string a `$` is text", "$X"),
    "a reserved letter": Refused("-old(\u01c2)\n+max(1)\n", "is reserved", "\u01c2"),
}  # fmt: skip

DECORATED = "@a\n@b\n# why\n@c\ndef f():\n    pass\n"
WRAPPED = "if a:\n        A()\n    else:\n        for b in a:\n            c()"
WRAP = """-if a:
-    ...
-else:
-    for b in a:
+if x:
+    a = d
+    if a:
         ...
+    else:
+        for b in a:
+            ...
"""  # as a line diff writes it

# `...` is a run, possibly empty and as short as fits, wherever it is a whole element; elsewhere it is the literal.
RULE_7 = {
    "of the block with the same header, not of the first": inside(
        "if a:\n        # why\n        try:\n            b()\n        except A:\n            c()\n            d()",
        "-if a:\n-    ...\n-    try:\n-        b()\n-    except A:\n-        ...\n+if c:\n+    try:\n+        b()\n+    except A:\n+        ...\n",
        "if c:\n        # why\n        try:\n            b()\n        except A:\n            c()\n            d()",
    ),
    "also where one above it has another header": inside(
        "if a:\n        b()\n    else:\n        c()", "-if a:\n-    ...\n-else:\n-    ...\n+while d:\n+    ...\n+if a:\n+    ...\n", "while d:\n        c()\n    if a:\n        b()",
    ),
    "at the top level": Changed("x = A(1, b=2)\n", "-x = A(1, ...)\n+x = max(1, ...)\n", "x = max(1, b=2)\n", {"scope": "<module>"}),
    "in a subscript of several it is code": inside("x = b[1, 0], b[..., 0]", "-b[..., 0]\n+b[0]\n", "x = b[1, 0], b[0]"),
    "in a tuple that is a subscript it is a run": inside("x = b[1, 2, 0]", "-b[(..., 0)]\n+b[0]\n", "x = b[0]"),
    "twice, with keywords in another order": inside("x = A(max(k=1, j=2), max(j=2, k=1))", "-A($X, $X)\n+A($X)\n", "x = A(max(k=1, j=2))"),
    "of arguments in a default": Changed("def f(a=A(1, k=2)): pass\n", "-def f(a=A(...)):\n+def f(a=max(...)):\n", "def f(a=max(1, k=2)): pass\n"),
    "of a set, below a slice": inside("x = {a[1:2], b}", "-x = {a[1:2], ...}\n+x = {a[1:2], 0, ...}\n", "x = {a[1:2], 0, b}"),
    "of arguments, below a lambda": inside("x = A(lambda: a, k=1)", "-A(lambda: a, ...)\n+max(lambda: a, ...)\n", "x = max(lambda: a, k=1)"),
    "of arguments, below a sign": inside("x = A(-a, k=1)", "-A(-a, ...)\n+max(-a, ...)\n", "x = max(-a, k=1)"),
    "of arguments, below a dict": inside("x = A(**a, b=1)", "-A(**a, ...)\n+max(**a, ...)\n", "x = max(**a, b=1)"),
    "statements": inside("A()\n    a()\n    b()\n    x = 1", " A()\n ...\n-x = 1\n+x = 2\n", "A()\n    a()\n    b()\n    x = 2"),
    "no statement at all": inside("A()\n    x = 1", " A()\n ...\n-x = 1\n+x = 2\n", "A()\n    x = 2"),
    "arguments": inside("return A(1, *b, k=2)", "-A(1, ...)\n+max(1, ...)\n", "return max(1, *b, k=2)"),
    "arguments before the last": inside("return A(1, 2, 3)", "-A(..., $X)\n+max(..., $X)\n", "return max(1, 2, 3)"),
    "arguments after keywords": inside("return A(k=1, j=2)", "-A(k=1, ...)\n+max(k=1, ...)\n", "return max(k=1, j=2)"),
    "keywords that nobody named": inside("return A(a=1, b=2)", "-A(..., b=$B)\n+max(..., b=$B)\n", "return max(a=1, b=2)"),
    "no argument at all": inside("return A()", "-A(...)\n+max(...)\n", "return max()"),
    "arguments in an f-string": inside("x = f'{A(a, b)}'", "-f'{A(...)}'\n+max(...)\n", "x = max(a, b)"),
    "bases": Changed("class f(a, b, k=1): x = 1\n", "-class f(..., b, ...):\n+class f(..., int, ...):\n", "class f(a, int, k=1): x = 1\n"),
    "parameters": Changed("def f(a, *b, c=1, **d): pass\n", "-def f(a, ...):\n+def f(a, ..., e=2):\n", "def f(a, *b, c=1, e=2, **d): pass\n"),
    "parameters of a lambda": inside("x = lambda a, b: A(1)", "-lambda ...: A(1)\n+lambda ...: A(2)\n", "x = lambda a, b: A(2)"),
    "elements of a list": inside("return [1, 2, 3]", "-[1, ..., 3]\n+[0, 1, ..., 3]\n", "return [0, 1, 2, 3]"),
    "elements of a tuple": inside("return (1, 2, 3)", "-return 1, ..., 3\n+return 1, ..., 4\n", "return (1, 2, 4)"),
    "elements of a set": inside("return {1, 2, 3}", "-{1, ...}\n+{0, ...}\n", "return {0, 2, 3}"),
    "dict entries": inside("return {1: 2, **b}", "-{1: 2, ...}\n+{1: 3, ...}\n", "return {1: 3, **b}"),
    "imported names": inside("from a import b, c", "-from a import ..., c\n+from a import ..., d\n", "from a import b, d"),
    "with-items": inside("with a, b: A()", "-with ..., b:\n+with ..., c:\n     ...\n", "with a, c: A()"),
    "decorators": Changed(DECORATED, " @...\n-@c\n def f():\n", DECORATED.replace("@c\n", "")),
    "an inserted decorator beside a run": Changed("def f():\n    pass\n", "+@staticmethod\n @...\n def f():\n", "@staticmethod\ndef f():\n    pass\n"),
    "two runs that change places, each in a call of its function": inside("x = A(1); y = max(2)", "-x = A(...)\n-y = max(...)\n+x = max(...)\n+y = A(...)\n", "x = max(2); y = A(1)"),
    "a run that moves": inside("return A(1, 2)", "-A(...)\n+max(0, ...)\n", "return max(0, 1, 2)"),
    "a run that is removed": inside("return A(1, 2)", "-A(1, ...)\n+max(1)\n", "return max(1)"),
    "a run of statements that is removed": inside("if a:\n        b()\n        c()\n    x = 1", " if a:\n-    ...\n+    d()\n", "if a:\n        d()\n    x = 1"),
    "all decorators are removed": Changed(DECORATED, "-@...\n def f():\n", "# why\ndef f():\n    pass\n"),
    "decorators before another are removed": Changed(DECORATED, "-@...\n @c\n def f():\n", "# why\n@c\ndef f():\n    pass\n"),
    "decorators after another are removed": Changed(DECORATED, " @a\n-@...\n def f():\n", "@a\n# why\ndef f():\n    pass\n"),
    "decorators are replaced": Changed("@a\n@b\ndef f():\n    pass\n", "-@...\n+@staticmethod\n def f():\n", "@staticmethod\ndef f():\n    pass\n"),
    "no decorator to remove is upstream": Stays("def f():\n    pass\n", "-@...\n def f():\n", State.UPSTREAM),
    "decorators go with their definition": Changed(DECORATED + "x = 1\n", "-@...\n-def f():\n-    ...\n", "x = 1\n"),
    "the literal as a value": inside("x = ...", "-x = ...\n+x = None\n", "x = None"),
    "the body of an inserted function is code": inside("x = 1", " x = 1\n+def h(p): ...\n", "x = 1\n    def h(p): ..."),
    "on a line of its own": inside("x = 1", " x = 1\n+class E(Exception):\n+    ...\n", "x = 1\n    class E(Exception):\n        ..."),
    "below a docstring": inside("x = 1", " x = 1\n+def h(p):\n+    'Doc.'\n+    ...\n", "x = 1\n    def h(p):\n        'Doc.'\n        ..."),
    "in a class": Changed("class f:\n    x = 1\n", " class f:\n+    def h(self): ...\n     ...\n", "class f:\n    def h(self): ...\n    x = 1\n"),
    "but no body at all is none": Refused(" x = 1\n+def h(p):\n", "no `...` of the before side covers", "..."),
    "nor is it the body of another statement": Refused(" x = 1\n+with a:\n+    ...\n", "no `...` of the before side covers", "..."),
    "nor a part of a body": Refused(" x = 1\n+def h(p):\n+    ...\n+    x = 2\n", "no `...` of the before side covers", "..."),
    "the literal in a subscript": stays("return A[1]", "-A[...]\n+A[2]\n", State.NOT_FOUND),
    "the literal in a longer subscript": inside("return A[..., 1]", "-A[..., 1]\n+A[..., 2]\n", "return A[..., 2]"),
    "the literal in brackets": inside("x = (...)", "-x = (...)\n+x = None\n", "x = (None)"),
    "the shortest that fits": stays("a()\n    b()\n    c()\n    b()", " def f(...):\n     ...\n     b()\n+    max()\n     ...\n", State.AMBIGUOUS, "2 ways"),
    "several ways for decorators": Stays("@a\n@a\n@a\ndef f():\n    pass\n", "-@...\n @a\n def f():\n", State.AMBIGUOUS, "2 ways"),
    "several ways behind the first one": stays("A(a, b, c)", "-A(..., $X, ..., $Y)\n+max($X, $Y)\n", State.AMBIGUOUS, "2 ways"),
    "a way on for another metavariable only": inside("return A(a, b, c, b)", "-A(..., $X, ..., $X)\n+max($X)\n", "return max(b)"),
    "several ways that change the same": inside("a()\n    a()\n    b()", " def f(...):\n     ...\n     a()\n     ...\n-    b()\n+    c()\n", "a()\n    a()\n    c()"),
    "each run keeps what it stands for": inside("A(1, b, 2)", "-A(..., b, ...)\n+A(..., ...)\n", "A(1, 2)"),
    "one run fewer among arguments": Refused("-A(..., b, ...)\n+A(...)\n", "what this `...` stands for would go", "..."),
    "one run fewer in another call": Refused("-A(..., b, ...)\n+max(...)\n", "what this `...` stands for would go", "..."),
    "no run any more in the same call": Refused("-A(b, ...)\n+A(b)\n", "what this `...` stands for would go", "..."),
    "one run fewer among parameters": Refused("-def f(..., b, ...):\n+def f(...):\n", "what this `...` stands for would go", "..."),
    "one run fewer in a list": Refused("-x = [..., b, ...]\n+x = [...]\n", "what this `...` stands for would go", "..."),
    "one run fewer in a dict": Refused("-x = {..., 'b': 1, ...}\n+x = {'c': 1, ...}\n", "what this `...` stands for would go", "..."),
    "one run fewer in an import": Refused("-from a import ..., b, ...\n+from a import ...\n", "what this `...` stands for would go", "..."),
    "one run fewer among bases": Refused("-class f(..., b, ...):\n+class f(...):\n", "what this `...` stands for would go", "..."),
    "one run fewer in a with": Refused("-with ..., b, ...:\n+with ...:\n     ...\n", "what this `...` stands for would go", "..."),
    "one run fewer further in": Refused(" if a:\n-    x = c(A(..., b, ...))\n+    x = c(A(...))\n", "what this `...` stands for would go", "..."),
    "a run on a line of its own may go": inside("A(\n        1,\n        b,\n        2,\n    )", " A(\n-    ...,\n     b,\n     ...\n )\n", "A(\n        b,\n        2,\n    )"),
    "a body goes with its header": inside(WRAPPED, WRAP, "if x:\n        a = d\n        if a:\n            A()\n        else:\n            for b in a:\n                c()"),
    "a body whose header goes": Refused(WRAP.replace("+        for b in a:\n+            ...\n", "+        pass\n"), "below one header before and below another one after"),
    "bodies that change places without a word": Refused("-if a:\n-    ...\n-else:\n+if not a:\n     ...\n+else:\n+    ...\n", "below one header before and below another one after"),
    "a body of a statement for one of a clause": Refused("-if a:\n-    ...\n-else:\n-    ...\n+while b:\n+    ...\n+for x in c:\n+    ...\n", "no `...` of the before side covers", "..."),
    "a run that stands for nothing": Refused("-old(1)\n+max(1, ...)\n", "no `...` of the before side covers", "..."),
    "a run that is doubled": Refused("-old(...)\n+max(..., 1, ...)\n", "no `...` of the before side covers", "..."),
    "a run of another kind": Refused("-old(...)\n+[...]\n", "no `...` of the before side covers", "..."),
    "two runs in a row": Refused(" def f(...):\n     ...\n+    x = 1\n     ...\n", "two `...` in a row: nothing tells where one ends", "..."),
    "two runs of arguments in a row": Refused("-old(..., ...)\n+max(...)\n", "two `...` in a row", "..."),
    "a dict or a set": Refused("-old({...})\n+max(1)\n", "may be a dict or a set", "..."),
}  # fmt: skip


@pytest.mark.parametrize("case", cases(globals()))
def test_rules(case: Case) -> None:
    hold(case)
