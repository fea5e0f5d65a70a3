"""Rules 22 to 27: which answer a hunk gets, and when its after side proves that upstream made the change."""

import pytest

from patcher.model import State
from tests.engine.helpers import Changed, Refused, Stays, hold, inside, run, stays

# An after side that is no more specific than the before side never proves anything.
RULE_22 = {
    "a `return` of another value proves it": stays("return max(a, 1)", "-return min(a, 1)\n+return max(a, 1)\n", State.UPSTREAM),
    "but not in the place of a common one": stays("return max(a, 1)", "-return False\n+return max(a, 1)\n", State.NOT_FOUND),
    "a deletion": stays("x = a", "-A($X)\n x = a\n", State.NOT_FOUND),
    "`$A($X)` made of a call": stays("x = max(a)", "-A($X)\n+$X\n", State.NOT_FOUND),
    "any literal made of a literal": stays("x = b(4)", "-A(3)\n+A($limit)\n", State.NOT_FOUND, options={"limit": 4}),
    "a literal made an option": inside("x = A(3)", "-A(3)\n+A($limit)\n", "x = A(4)", options={"limit": 4}),
    "fewer statements": stays("x = a", "-A()\n x = a\n", State.NOT_FOUND),
    "a name, wherever it stands": stays("x = None", "-A($X)\n+None\n", State.NOT_FOUND),
    "a literal, wherever it stands": stays("x = 3", "-A($X)\n+3\n", State.NOT_FOUND),
    "an option with the value that stands there": stays("x = A(3)", "-x = A(3)\n+x = A($limit)\n", State.UPSTREAM, options={"limit": 3}),
    "a string of one word": stays("x = 'hello'", "-'abc def'\n+'hello'\n", State.NOT_FOUND),
    "a clause of which more fits": stays("try: a\n    except A: b", "-except ($X, B):\n+except $X:\n", State.NOT_FOUND),
    "an option, wherever it stands": inside("x = 3 + A(a)", "-A($X)\n+$limit\n", "x = 3 + 4", options={"limit": 4}),
    "a `pass` that stands somewhere": stays("if a: pass", "-x = A($X)\n+pass\n", State.NOT_FOUND),
    "a bare `return` that stands somewhere": stays("if a: return", "-return A($X)\n+return\n", State.NOT_FOUND),
    "a more specific one does": stays("x = max(a, 0)", "-A($X)\n+max($X, 0)\n", State.UPSTREAM),
}  # fmt: skip

# In place is what covers what would be changed; absent parts must be absent.
RULE_23 = {
    "the after side stands there": stays("x = max(a, 0)", "-old($X)\n+max($X, 0)\n", State.UPSTREAM),
    "a larger range": stays("x = max(A(a), 0)", "-A(a)\n+max(A(a), 0)\n", State.UPSTREAM),
    "an after match inside a before match proves nothing": inside("x = A(a.b)", "-A(a.b)\n+a.b\n", "x = a.b"),
    "nor is it a second place": Changed("def f(a):\n    return old(max(a, 0))\n", "-old($X)\n+max($X, 0)\n", "def f(a):\n    return max(max(a, 0), 0)\n"),
    "a match inside what a placeholder stands for proves nothing": stays("return abs(A(a))", "-A($X)\n+abs($X)\n", State.AMBIGUOUS, "found 2 places"),
    "an inserted statement": stays("x = a\n    print(x)", " x = a\n+print(x)\n", State.UPSTREAM),
    "a method that stands elsewhere in its class": Stays("class f:\n    def a(s): pass\n    def b(s): pass\n", " class f:\n     ...\n+    def a(s): pass\n", State.UPSTREAM),
    "a statement that stands elsewhere in its class": Changed("class f:\n    a = 1\n    b = 2\n", " class f:\n     ...\n+    a = 1\n", "class f:\n    a = 1\n    b = 2\n    a = 1\n"),
    "an inserted statement elsewhere in the body": stays("x = a\n    x += b\n    print(x, c)", " x = b\n+print(x, c)\n", State.UPSTREAM),
    "in an inner block": stays("x = a\n    if a:\n        print(x, c)", " x = b\n+print(x, c)\n", State.UPSTREAM),
    "with other code between it and the line": stays("x = a\n    d()\n    print(x, c)", " x = a\n+print(x, c)\n", State.UPSTREAM),
    "and so in a module": Stays("import e\nfrom c import d\nimport b\n\nx = max(1, 2)\n", " from c import d\n+x = max(1, 2)\n", State.UPSTREAM, how={"scope": "<module>"}),
    "in a module, on the other side of the line": Changed("import e\nx = max(1, 2)\nfrom c import d\n", " from c import d\n+x = max(1, 2)\n", "import e\nx = max(1, 2)\nfrom c import d\nx = max(1, 2)\n", how={"scope": "<module>"}),
    "where it is on the other side of the line": inside("print(x, c)\n    x = a", " x = a\n+print(x, c)\n", "print(x, c)\n    x = a\n    print(x, c)"),
    "twice": stays("print(x, c)\n    x = a\n    print(x, c)", " x = b\n+print(x, c)\n", State.NOT_FOUND),
    "two statements, together": stays("c()\n    print(x, c)\n    print(c, d)", " x = b\n+print(x, c)\n+print(c, d)\n", State.UPSTREAM),
    "apart": stays("print(x, c)\n    c()\n    print(c, d)", " x = b\n+print(x, c)\n+print(c, d)\n", State.NOT_FOUND),
    "two that the hunk has apart": stays("print(x, c)\n    c()\n    print(c, d)", "+print(x, c)\n x = b\n+print(c, d)\n", State.UPSTREAM),
    "one of them": stays("print(x, c)\n    c()", "+print(x, c)\n x = b\n+print(c, d)\n", State.NOT_FOUND),
    "in the place of one that is gone": stays("x = a\n    print(x, c)", " x = b\n-c(x)\n+print(x, c)\n", State.UPSTREAM),
    "that is still there": stays("x = a\n    c(x)\n    print(x, c)", " x = b\n-c(x)\n+print(x, c)\n", State.NOT_FOUND),
    "one that any function may have": stays("x = a\n    x += 1", " x = b\n+x += 1\n", State.NOT_FOUND),
    "one with a placeholder": stays("x = a\n    print(x, c)", " x = b($Y)\n+print(x, $Y)\n", State.NOT_FOUND),
    "a part of a statement": stays("if c: print(a, b)", " if a:\n     x = 1\n-elif b:\n+elif c:\n     print(a, b)\n", State.NOT_FOUND),
    "of `inside` another": stays("x = a\n    print(x, c)", " x = b\n+print(x, c)\n", State.NOT_FOUND, flags="inside=if"),
    "of code that need not be there": stays("x = a\n    print(x, c)", " x = b\n+print(x, c)\n", State.NOT_NEEDED, flags="when-present"),
    "an import, anywhere in the module": Stays("x = 1\nfrom a import b\n", " import c\n+from a import b\n", State.UPSTREAM, how={"scope": "<module>"}),
    "but not where it is for types": Stays("if x:\n    from a import b\n", " import c\n+from a import b\n", State.NOT_FOUND, how={"scope": "<module>"}),
    "a method, whatever is beside it": Stays("class f:\n    def a(s, b): pass\n    c = 1\n", " class f:\n     def b(s): ...\n+    def a(s, b): pass\n", State.UPSTREAM),
    "a decorator that goes": Changed("@cached\ndef f():\n    pass\n", "-@cached\n def f(...):\n", "def f():\n    pass\n"),
    "it is gone": Stays("def f():\n    pass\n", "-@cached\n def f(...):\n", State.UPSTREAM),
    "another stands there": Stays("@other\ndef f():\n    pass\n", "-@cached\n def f(...):\n", State.NOT_FOUND),
    "decorators of which one is to stay": Stays("@a\n@b\ndef f():\n    pass\n", "-@c\n-@...\n+@a\n def f(...):\n", State.NOT_FOUND),
    "of another kind of statement nothing goes": Stays("@b\nclass f:\n    x = 1\n", "-@a\n-def f():\n-    pass\n+class f:\n+    x = 1\n", State.UPSTREAM),
    "a return annotation that goes": Changed("def f() -> int: pass\n", "-def f() -> int:\n+def f():\n", "def f(): pass\n"),
    "another return annotation stands there": Stays("def f() -> str: pass\n", "-def f() -> int: pass\n+def f(): pass\n", State.NOT_FOUND),
    "and so inside": Stays("def f():\n    def g() -> str: pass\n", " def f():\n-    def g() -> int: pass\n+    def g(): pass\n", State.NOT_FOUND),
    "a base that goes": Changed("class f(A): x = 1\n", "-class f(A):\n+class f:\n", "class f: x = 1\n"),
    "a clause that goes": inside("if a:\n        b()\n    else:\n        c()", " if a:\n     ...\n-else:\n-    c()\n", "if a:\n        b()"),
    "a deletion whose code stands above": stays("c()\n    a()\n    b()", " a()\n-c()\n b()\n", State.NOT_FOUND, "in line 2"),
    "below": stays("a()\n    b()\n    c()", " a()\n-c()\n b()\n", State.NOT_FOUND),
    "in a block": stays("if x:\n        c()\n    a()\n    b()", " a()\n-c()\n b()\n", State.NOT_FOUND),
    "a definition that stands elsewhere": stays("a()\n    b()\n    def d(): c()", " a()\n-def d():\n-    ...\n b()\n", State.NOT_FOUND),
    "whose code goes elsewhere": stays("a()\n    b()\n    c()", " a()\n-c()\n b()\n+c()\n", State.UPSTREAM),
    "a second one of what stays": stays("c()\n    a()\n    b()", " c()\n a()\n-c()\n b()\n", State.UPSTREAM),
    "beside what is inserted": stays("c()\n    d()\n    a()\n    b()", "+d()\n a()\n-c()\n b()\n", State.NOT_FOUND),
    "a form further on takes it out": inside("c()\n    a()\n    b()", " a()\n-c()\n b()\n@@ or @@\n-c()\n", "a()\n    b()"),
    "a statement that a run of the after side covers": Changed(
        "def f(k, a):\n    a = k.b(1)\n    with c():\n        a = k.b(2)\n", " def f(...):\n     ...\n-    a = $V\n+    with c():\n+        a = $V\n     ...\n",
        "def f(k, a):\n    with c():\n        a = k.b(1)\n    with c():\n        a = k.b(2)\n",
    ),
    "an element that one covers": inside("x = [a, b]", "-[..., a, ...]\n+[..., b, ...]\n", "x = [b, b]"),
    "an argument": inside("A(a, b)", "-A(..., a, ...)\n+A(..., b, ...)\n", "A(b, b)"),
    "an imported name": inside("from a import b, c", "-from a import ..., b, ...\n+from a import ..., c, ...\n", "from a import c, c"),
    "a parameter": Stays("def f(a, b): pass\n", "-def f(..., a, ...):\n+def f(..., b, ...):\n", State.CONFLICT, "duplicate argument"),
    "a decorator": Changed("@a\n@b\ndef f(): pass\n", " @...\n-@a\n+@b\n @...\n def f():\n", "@b\n@b\ndef f(): pass\n"),
    "an `elif`": inside("if x:\n        pass\n    elif a:\n        A()\n    elif b:\n        A()", " if x:\n     ...\n-elif a:\n+elif b:\n     A()\n", "if x:\n        pass\n    elif b:\n        A()\n    elif b:\n        A()"),
    "the element beside which one is inserted": stays("x = [a, b, a]", "-[..., a, ...]\n+[..., a, b, ...]\n", State.AMBIGUOUS, "2 ways"),
    "one that the after side compares": stays("x = [d, a, b, c]", "-[..., a, ...]\n+[..., a, b, ...]\n", State.UPSTREAM),
    "a clause that is not written": stays("if a and b:\n        A()\n    else:\n        if a:\n            d()", "-if a:\n+if a and b:\n     ...\n", State.AMBIGUOUS, "found 2 places"),
    "another clause stands there": stays("if a:\n        b()\n    else:\n        d()", " if a:\n     ...\n-else:\n-    c()\n", State.NOT_FOUND),
}  # fmt: skip

# `count` counts what is still to change and what is in place.
RULE_24 = {
    "two places where one is expected": stays("x = A(a) + A(b)", "-A($X)\n+max($X)\n", State.AMBIGUOUS, "found 2 places"),
    "one place where two are expected": stays("x = A(a)", "-A($X)\n+max($X)\n", State.NOT_FOUND, "found 1 place", flags="count=2"),
    "no place where all are asked for": stays("x = a", "-A($X)\n+max($X)\n", State.NOT_FOUND, flags="count=all"),
    "one in place and one to change are two": inside("x = A(a)\n    return max(1, 0)", "-A($X)\n+max($X, 0)\n", "x = max(a, 0)\n    return max(1, 0)", flags="count=2"),
    "and not one": stays("x = A(a)\n    return max(1, 0)", "-A($X)\n+max($X, 0)\n", State.AMBIGUOUS, "found 2 places"),
    "all of them": inside("x = A(a)\n    return A(1)", "-A($X)\n+max($X, 0)\n", "x = max(a, 0)\n    return max(1, 0)", flags="count=all"),
    "all of them, some in place": inside("x = A(a)\n    return max(1, 0)", "-A($X)\n+max($X, 0)\n", "x = max(a, 0)\n    return max(1, 0)", flags="count=all"),
    "all in place": stays("x = max(a, 0)\n    return max(1, 0)", "-A($X)\n+max($X, 0)\n", State.UPSTREAM, flags="count=all"),
    "one in another": stays("x = A(A(a))", "-A($X)\n+max(0, 1)\n", State.AMBIGUOUS, "found 2 places"),
    "the outermost of all": inside("x = A(A(a))", "-A($X)\n+max(0, 1)\n", "x = max(0, 1)", flags="count=all"),
    "the outermost, one at the beginning of the other": inside("x = a.A().A()", "-$X.A()\n+b\n", "x = b", flags="count=all"),
    "the outermost, one at the end of the other": inside("x = not not a", "-not $X\n+b\n", "x = b", flags="count=all"),
    "one inside what another keeps": inside("x = A(A(a))", "-A($X)\n+max($X, 0)\n", "x = max(max(a, 0), 0)", flags="count=all"),
    "one that begins where another inserts": inside("x = A(A(a))", "-A($X)\n+A(0, $X)\n", "x = A(0, A(0, a))", flags="count=all"),
    "as many as are expected, one inside what another keeps": inside("x = A(A(a))", "-A($X)\n+max($X, 0)\n", "x = max(max(a, 0), 0)", flags="count=2"),
    "statements, one inside what another keeps": inside("if a:\n        if a:\n            b()", "-if a:\n+if d:\n     ...\n", "if d:\n        if d:\n            b()", flags="count=all"),
    "one inside what is written anew": inside("x = A(A(a))", "-A($X)\n+abs(A($X))\n", "x = abs(A(abs(A(a))))", flags="count=all"),
    "one inside what is written twice": inside("x = A(A(a))", "-A($X)\n+max($X, $X)\n", "x = max(max(a, a), max(a, a))", flags="count=all"),
    "one inside another that is in place": inside("x = abs(A(A(a)))", "-A($X)\n+abs(A($X))\n", "x = abs(A(abs(A(a))))", flags="count=all"),
    "an attribute of itself": inside("x = a.c.c", "-$X.c\n+getattr($X, 'c', None)\n", "x = getattr(getattr(a, 'c', None), 'c', None)", flags="count=all"),
    "a ternary in itself": inside("x = (a if b else c) if a else d", "-$X if $C else $Y\n+A($X if $C else $Y)\n", "x = A((A(a if b else c)) if a else d)", flags="count=all"),
    "an `if` in itself": inside("if a:\n        if b: c()", "-if $C:\n-    ...\n+with d:\n+    if $C:\n+        ...\n", "with d:\n        if a:\n            with d:\n                if b: c()", flags="count=all"),
    "a `for`": inside("for x in a:\n        for c in b:\n            d()  # why", "-for $I in $X:\n-    ...\n+with d:\n+    for $I in $X:\n+        ...\n", "with d:\n        for x in a:\n            with d:\n                for c in b:\n                    d()  # why", flags="count=all"),
    "a `with`": inside("with a:\n        with b:\n            c()", "-with $C:\n-    ...\n+if d:\n+    with $C:\n+        ...\n", "if d:\n        with a:\n            if d:\n                with b:\n                    c()", flags="count=all"),
    "a `def`": inside("def c():\n        def d(): pass\n        return d", "-def $N():\n-    ...\n+if a:\n+    def $N():\n+        ...\n", "if a:\n        def c():\n            if a:\n                def d(): pass\n            return d", flags="count=all"),
    "one on several lines": inside("x = A(\n        A(a),  # why\n        b)", "-A(...)\n+abs(A(...))\n", "x = abs(A(\n        abs(A(a)),  # why\n        b))", flags="count=all"),
    "one inside a `lambda` then": inside("x = A(A(a))", "-A($X)\n+max(lambda: $X)\n", "x = max(lambda: max(lambda: a))", flags="count=all"),
    "as many as are expected, one inside what is written anew": stays("x = A(A(a))", "-A($X)\n+max(0, 1)\n", State.CONFLICT, "meet at line 2", flags="count=2"),
    "one that begins in another and ends behind it": stays("A()\n    A()\n    A()", "-A()\n-A()\n+b()\n", State.CONFLICT, "meet at line 3", flags="count=all"),
    "one inside what another that is in place keeps": stays("x = abs(A(A(a)))", "-A($X)\n+abs(A($X))\n", State.AMBIGUOUS, "found 2 places"),
    "one in place in another": stays("x = max(max(a, 1), 1)", "-A($X)\n+max($X, 1)\n", State.UPSTREAM),
    "one in place at the beginning of another": stays("x = a.c().c()", "-$X.A()\n+$X.c()\n", State.UPSTREAM),
    "one in place at the end of another": stays("x = not not a", "-A($X)\n+not $X\n", State.UPSTREAM),
    "one inside what looks changed already": inside("x = abs(A(a))\n    return A(x)", "-A($X)\n+abs($X)\n", "x = abs(abs(a))\n    return abs(x)", flags="count=all"),
}  # fmt: skip

# `when-present`: what is absent is not needed; upstream wins; variants of one line.
MODULE = {"scope": "<module>", "flags": "when-present"}
CHECKERS = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import b\n    from a import c\n"
RULE_25 = {
    "of a name that stands for any": Changed("from a import b\n", " from a import $N\n+from x import $N\n", "from a import b\nfrom x import b\n", how=MODULE),
    "the code is not there": stays("x = a", "-A($X)\n+max($X)\n", State.NOT_NEEDED, flags="when-present"),
    "the scope is not there": Stays("x = 1\n", "-A($X)\n+max($X)\n", State.NOT_NEEDED, "", {"flags": "when-present"}),
    "upstream wins": stays("x = max(a, 0)", "-A($X)\n+max($X, 0)\n", State.UPSTREAM, flags="when-present"),
    "too many places are too many": stays("x = A(a) + A(b)", "-A($X)\n+max($X)\n", State.AMBIGUOUS, "found 2 places", flags="when-present"),
    "too few are too few": stays("x = A(a)", "-A($X)\n+max($X)\n", State.NOT_FOUND, "found 1 place", flags="when-present count=2"),
    "variants of one line": inside("return c(a)", "-A($X)\n+max($X, 0)\n@@ f @@ when-present\n-c($X)\n+max($X, 0)\n", "return max(a, 0)", flags="when-present"),
    "an import of what the module does not bind": Changed("import b\n", "+from a import c\n ...\n", "from a import c\nimport b\n", how=MODULE),
    "of what it imports among others": Stays("from a import b, c\n", "+from a import c\n ...\n", State.NOT_NEEDED, how=MODULE),
    "of what it binds otherwise": Stays("import d\nif d:\n    class c: pass\n", "+from a import c\n ...\n", State.NOT_NEEDED, how=MODULE),
    "of what it may bind": Stays("from d import *\n", "+from a import c\n ...\n", State.NOT_NEEDED, how=MODULE),
    "of two names, of which it binds one": Changed("c = 1\n", "+import c, d\n ...\n", "import c, d\nc = 1\n", how=MODULE),
    "of what only a function binds": Changed("def f():\n    c = 1\n", "+import c\n ...\n", "import c\ndef f():\n    c = 1\n", how=MODULE),
    "of a module of a package that it imports": Changed("import a.d\n", "+import a.b.c\n ...\n", "import a.b.c\nimport a.d\n", how=MODULE),
    "of a module that it imports with another one": Stays("import a.b.c.d\n", "+import a.b.c\n ...\n", State.NOT_NEEDED, how=MODULE),
    "of a module that it imports in an import of two": Stays("import d, a.b.c\n", "+import a.b.c\n ...\n", State.NOT_NEEDED, how=MODULE),
    "of a module whose package it binds otherwise": Stays("from d import a\n", "+import a.b.c\n ...\n", State.NOT_NEEDED, how=MODULE),
    "of a module that it binds by another name": Changed("import a.b.c as d\n", "+import a.b.c\n ...\n", "import a.b.c\nimport a.b.c as d\n", how=MODULE),
    "with other code": Changed("c = 1\n", "+import c\n+c.d(1)\n ...\n", "import c\nc.d(1)\nc = 1\n", how=MODULE),
    "beside a line": Stays("import b\nc = 1\n", " import b\n+import c\n", State.NOT_NEEDED, how=MODULE),
    "beside a line that is not there": Stays("c = 1\n", " import b\n+import c\n", State.NOT_NEEDED, how=MODULE),
    "that must be there": Changed("c = 1\n", "+import c\n ...\n", "import c\nc = 1\n", how={"scope": "<module>"}),
    "and is, elsewhere": Stays("import b\nimport d\nimport c\n", " import b\n+import c\n", State.UPSTREAM, how={"scope": "<module>"}),
    "above the line": Stays("import c\nimport b\n", " import b\n+import c\n", State.UPSTREAM, how={"scope": "<module>"}),
    "at the end": Stays("import b\n\nx = 1\nimport c\n", "+import c\n ...\n", State.UPSTREAM, how={"scope": "<module>"}),
    "and the line is not": Stays("import d\nimport c\n", " import b\n+import c\n", State.UPSTREAM, how={"scope": "<module>"}),
    "among others": Stays("import b\nfrom d import e as g, f\nfrom d import h\n", " import b\n+from d import (\n+    e as g,\n+    h,\n+)\n", State.UPSTREAM, how={"scope": "<module>"}),
    "one of two": Changed("import b\nimport d\nimport c\n", " import b\n+import c, e\n", "import b\nimport c, e\nimport d\nimport c\n", how={"scope": "<module>"}),
    "in a `try`": Stays("import b\ntry:\n    import c\nexcept ImportError:\n    c = None\n", " import b\n+import c\n", State.UPSTREAM, how={"scope": "<module>"}),
    "under another name": Changed("import b\nimport c as d\n", " import b\n+import c\n", "import b\nimport c\nimport c as d\n", how={"scope": "<module>"}),
    "of another module": Changed("import b\nfrom d import c\n", " import b\n+from .d import c\n", "import b\nfrom .d import c\nfrom d import c\n", how={"scope": "<module>"}),
    "where it may not run": Changed("import b\nif b:\n    import c\n", " import b\n+import c\n", "import b\nimport c\nif b:\n    import c\n", how={"scope": "<module>"}),
    "for type checkers alone": Changed(CHECKERS, "+from a import c\n ...\n", "from a import c\n" + CHECKERS, how={"scope": "<module>"}),
    "for type checkers alone, where it is not needed": Changed(CHECKERS, "+from a import c\n ...\n", "from a import c\n" + CHECKERS, how=MODULE),
    "for type checkers, as they have it": Stays(CHECKERS, " from a import b\n+from a import c\n", State.UPSTREAM, how={"scope": "<module>"}),
    "for others than type checkers": Stays(CHECKERS + "else:\n    from a import c\n", "+from a import c\n ...\n", State.UPSTREAM, how={"scope": "<module>"}),
    "none of the variants": stays("return d(a)", "-A($X)\n+max($X, 0)\n@@ f @@ when-present\n-c($X)\n+max($X, 0)\n", State.NOT_NEEDED, flags="when-present"),
}  # fmt: skip

# Old code that is gone proves nothing; what is too little to name a place; what is renamed or moved is never guessed.
RULE_26 = {
    "a string of three characters names a place": inside("x = 'abc'", "-'abc'\n+'d'\n", "x = 'd'"),
    "one of two does not": Refused("-'ab'\n+'d'\n", "too little to name a place"),
    "the code is not there": stays("x = a", "-A($X)\n+max($X)\n", State.NOT_FOUND, "`f` is there, but the code"),
    "a deletion whose code is not there": stays("x = a\n    b()", "-A($X)\n b()\n", State.NOT_FOUND),
    "a renamed scope": Stays("def g(a):\n    return old(a)\n", "-old($X)\n+max($X)\n", State.NOT_FOUND, "there is no `f` in this file"),
    "a scope that moved into a class": Stays("class A:\n    def f(a):\n        return old(a)\n", "-old($X)\n+max($X)\n", State.NOT_FOUND, "A.f"),
    "one that the hunk itself renames": Changed("def f(a):\n    return a\n", "-def f(a):\n+def g(a):\n", "def g(a):\n    return a\n"),
    "and has renamed": Stays("def g(a):\n    return a\n", "-def f(a):\n+def g(a):\n", State.UPSTREAM),
    "return, where it stands once": inside("if a: b()\n    return", "-return\n+return 1\n", "if a: b()\n    return 1"),
    "return of a name": inside("if a: return c\n    return b", "-return b\n+return d\n", "if a: return c\n    return d"),
    "a truth value": inside("if a: return True\n    return False", "-return False\n+return True\n", "if a: return True\n    return True"),
    "return, twice": stays("if a: return False\n    return False", "-return False\n+return True\n", State.AMBIGUOUS, "found 2 places"),
    "it never proves upstream": stays("return A(1)", "-return False\n+return A(1)\n", State.NOT_FOUND),
    "pass": inside("if a: pass", "-pass\n+A(b)\n", "if a: A(b)"),
    "break": inside("for x in a: break", "-break\n+continue\n", "for x in a: continue"),
    "return, anywhere": Refused("-return\n+return 1\n", "the before side is too little to name a place (`return`, `pass`, one name)", how={"flags": "count=all"}),
    "pass in a module": Refused("-pass\n+old()\n", "too little to name a place", how={"scope": "<module>"}),
    "a name": Refused("-old\n+new\n", "too little to name a place"),
    "a number": Refused("-1\n+2\n", "too little to name a place"),
    "a string": Refused("-'a'\n+'b'\n", "too little to name a place"),
    "a string of its own is not": inside("raise A('cannot load', a)", "-'cannot load'\n+'cannot read'\n", "raise A('cannot read', a)"),
    "nor one word": inside("raise A('nccl', a)", "-'nccl'\n+'gloo'\n", "raise A('gloo', a)"),
    "nor a docstring": Changed("def f():\n    'Old.'\n    x = 1\n", "-'Old.'\n+'New.'\n", "def f():\n    'New.'\n    x = 1\n"),
    "which is there twice": stays("raise A('nccl', 'nccl')", "-'nccl'\n+'gloo'\n", State.AMBIGUOUS),
    "or changed already": stays("raise A('cannot read', a)", "-'cannot load'\n+'cannot read'\n", State.UPSTREAM),
    "but one word elsewhere proves nothing": stays("raise A('gloo', a)", "-'nccl'\n+'gloo'\n", State.NOT_FOUND),
    "any statement": Refused("-$S\n+pass\n", "too little to name a place"),
    "any statement among any": Refused(" ...\n-$S\n ...\n", "too little to name a place"),
}  # fmt: skip

# What is ours is known from receipts (test_plan.py), never guessed; a changed option goes through the pristine copy.
RULE_27 = {
    "code that looks like ours is upstream's": stays("x = max(a, 0)  # sitepatch: n", "-A($X)\n+max($X, 0)\n", State.UPSTREAM),
    "with the value of an option": stays("x = max(a, 4)", "-A($X)\n+max($X, $limit)\n", State.UPSTREAM, options={"limit": 4}),
    "with another value too: the pristine copy is what is matched": stays("x = max(a, 3)", "-A($X)\n+max($X, $limit)\n", State.UPSTREAM, options={"limit": 4}),
    "an option with upstream's own value changes nothing": stays("x = A(4)", "-A($_)\n+A($limit)\n", State.UPSTREAM, options={"limit": 4}),
}  # fmt: skip




@pytest.mark.parametrize(
    ("source", "hunk", "gone"),
    [
        ("def f(a):\n    x = 1\n", "-old(a)\n", True),
        ("def f(a):\n    x = 1\n", " x = 1\n-old(a)\n", True),
        ("def f(a):\n    x = 2\n", " x = 1\n-old(a)\n", False),  # what it keeps has changed too
        ("def f(a):\n    x = 1\n    y = 2\n", " x = 1\n-old(a)\n y = 2\n", False),  # upstream by rule 23
        ("def f(a):\n    x = 1\n", "-old(a)\n+\n", True),
        ("def f(a):\n    x = 1\n", "-old(a)\n+new(a)\n", False),
        ("def g(a):\n    x = 1\n", "-old(a)\n", False),  # a renamed scope is never guessed
        ("def g(a):\n    x = 1\n", "-def f(...):\n-    ...\n", True),
        ("def f(a):\n    old(a)\n    old(a)\n", "-old(a)\n", False),
        ("def f(a):\n    old(a)\n", "-old(a)\n@@ f @@ count=2\n-old(a)\n", False),
        ("def f(a):\n    old(a)\n    y()\n    x = 1\n", " x = 1\n-old(a)\n", False),  # it is somewhere else
        ("def f(a):\n    old(a)\n    x = 1\n    y = 2\n", " x = 1\n-old(a)\n y = 2\n", False),
    ],
)
def test_rule_26_deleted_code_is_gone(source: str, hunk: str, gone: bool) -> None:
    assert run(source, hunk).answers[-1].gone is gone


@pytest.mark.parametrize(
    ("source", "expected", "hunk"),
    [
        ("def f(a):\n    return old(a)\n", "def g(a):\n    return max(a)\n", "-old(a)\n+max(a)\n@@ f @@\n-def f(...):\n+def g(...):\n"),
        ("def f(a):\n    return old(a)\n", "def g(a):\n    return max(a)\n", "-old(a)\n+max(a)\n@@ f @@ when-present\n-def f(...):\n+def g(...):\n"),
        (
            "class C:\n    def f(self, a):\n        return old(a)\n",
            "class D:\n    def f(self, a):\n        return max(a)\n",
            "-old(a)\n+max(a)\n@@ or C.g @@\n-old(a)\n+max(a)\n@@ C @@\n-class C:\n+class D:\n",
        ),
        (  # with what is inserted above it
            "def f(a):\n    return old(a)\n",
            "n = 1\ndef g(a):\n    return max(a)\n",
            "-old(a)\n+max(a)\n@@ <module> @@\n+n = 1\n-def f(...):\n+def g(...):\n",
        ),
        (  # a method among others
            "class C:\n    def h(self):\n        pass\n    def f(self, a):\n        return old(a)\n",
            "class C:\n    def h(self):\n        pass\n    n = 1\n    def g(self, a):\n        return max(a)\n",
            "-old(a)\n+max(a)\n@@ C @@\n def h(...):\n     ...\n+n = 1\n-def f(...):\n+def g(...):\n",
        ),
    ],
)
def test_code_in_a_definition_that_another_hunk_renames_is_changed_and_then_in_place(source: str, expected: str, hunk: str) -> None:
    scope = "C.f" if "class" in source else "f"
    result = run(source, hunk, scope=scope)
    assert (result.data.decode(), {answer.state for answer in result.answers}) == (expected, {State.APPLICABLE})
    assert {answer.state for answer in run(expected, hunk, scope=scope).answers} == {State.UPSTREAM}


@pytest.mark.parametrize(
    "hunk",
    [
        "-def f(...):\n-    ...\n-def h(...):\n+def g(...):\n+    ...\n+def k(...):\n",  # which is which?
        "-def f(...):\n+class g:\n",
    ],
)
def test_what_takes_the_place_of_a_definition_is_not_taken_for_it(hunk: str) -> None:
    text = "def g(a):\n    return old(a)\ndef k(a):\n    return old(a)\n"
    answer = run(text, f"-old(a)\n+max(a)\n@@ <module> @@ when-present\n{hunk}").answers[0]
    assert answer.state is State.NOT_FOUND and "there is no `f` in this file" in answer.problem


def test_code_in_a_definition_that_another_hunk_would_rename_is_changed_where_that_hunk_is_not_needed() -> None:
    hunk = "-old(a)\n+max(a)\n@@ f @@ when-present\n-def f(b):\n+def g(b):\n"
    assert run("def f(a):\n    return old(a)\n", hunk).data == b"def f(a):\n    return max(a)\n"


def test_rule_26_the_closest_line_is_shown() -> None:
    hold(Stays("def f(a):\n    x = olt(a, 1)\n", "-x = old(a, 1)\n+x = 1\n", State.NOT_FOUND, "closest, line 2: x = olt(a, 1)"))
