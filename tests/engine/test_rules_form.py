"""Rules 1 to 5: what a `.spatch` is made of, and what makes a hunk an expression, statements or clauses."""

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import PatchError
from patcher.model import State
from tests.engine.helpers import Changed, Form, Refused, Stays, block, check_refused, inside, stays

HUNK = "@@ f @@\n-a.b\n+c.d\n"
DIFF = "found a unified diff, expected `@@ SCOPE @@`; a patchset is made of it with: sitepatch import case.spatch --name NAME"

# Which file: a relative path with `/`, several as alternatives. (That one of them counts and two are ambiguous: test_plan.py.)
RULE_1 = {
    "no file": Form("Prose only.\n", 1, "found no `--- PATH` line"),
    "a hunk before the first file": Form(f"{HUNK}--- p/m.py\n", 1, "before the first `--- PATH`"),
    "a file without a hunk": Form(f"--- p/m.py\n\n--- p/n.py\n{HUNK}", 1, "no hunk for this file"),
    "a diff": Form("diff --git a/p/m.py b/p/m.py\n--- a/p/m.py\n+++ b/p/m.py\n@@ -1 +1 @@\n-x\n+y\n", 3, DIFF),
    "a diff below its own path": Form("--- p/m.py\n@@ -1,2 +1,2 @@ def f():\n-x\n+y\n", 2, DIFF),
    "a quoted diff": Form("> --- a/p/m.py\n> +++ b/p/m.py\n> @@ -1 +1 @@\n> -x\n> +y\n", 3, DIFF),
    "a path that a mail quotes": Form("Hello,\n> --- p/m.py\n> @@ f @@\n> -x\n> +y\n", 2, "remove the `>` with which a mail quotes a line\n    > --- p/m.py\n    ^~~~~~"),
    "a path that is indented": Form(f" --- p/m.py\n{HUNK}", 1, "expected `--- PATH` at the beginning of a line\n"),
    "a path behind one long dash": Form(f"\u2014 p/m.py\n{HUNK}", 1, "it begins with U+2014 (em dash), expected `-`"),
    "a path behind a blank that is none": Form(f"---\u00a0p/m.py\n{HUNK}", 1, "it begins with U+00A0 (no-break space), expected ` `"),
    "no path": Form(f"---  \n{HUNK}", 1, "expected a path"),
    "an absolute path": Form(f"--- /etc/m.py\n{HUNK}", 1, "absolute"),
    "a path that leaves the site directory": Form(f"--- p/../../m.py\n{HUNK}", 1, "must not leave the site directory"),
    "a path with an empty part": Form(f"--- p//m.py\n{HUNK}", 1, "empty or `.` parts"),
    "a path with a drive": Form(f"--- C:/m.py\n{HUNK}", 1, "without a drive"),
    "a path with backslashes": Form(f"--- p\\m.py\n{HUNK}", 1, "written with `/`"),
    "a file of no package that is no module": Form(f"--- a.b.py\n{HUNK}", 1, "inside a package"),
    "something that is not Python": Form(f"--- p/m.c\n{HUNK}", 2, "only Python source"),
    "a file that would be created": Form(f"--- dev/null\n{HUNK}", 2, "only Python source"),
    "text between hunks": Form(f"--- p/m.py\nhello\n{HUNK}", 2, "expected `@@ SCOPE @@` or `--- PATH`\n    hello\n    ^~~~~"),
    "a path with `.`": Form(f"--- p/./m.py\n{HUNK}", 1, "empty or `.` parts"),
    "a carriage return inside a line": Refused("-def f(\r):\n+def f(a):\n", "a carriage return inside a line"),
    "strings that cannot be joined": Refused("-s = b'a' 'b'\n+s = 1\n", "does not parse: Cannot concatenate string and bytes"),
    "and such ones of the file": Stays("def f(a):\n    s = b'a' 'b'\n    old(a)\n", "-old(a)\n+max(a)\n", State.CONFLICT, "cannot be read as Python"),
    "a hunk that is too deep": Refused(f"-old({'a + ' * 1500}a)\n+max(1)\n", "nested too deeply"),
}

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
TOP = '#!/usr/bin/env python\n# Licence.\n"""Doc."""\nfrom __future__ import annotations\n\nimport os\n\n\ndef g():\n    return os\n'
HEADER = "@deco\nclass C(A):\n    def g(self):\n        if A: b = A\n        return old\n"
TWO = "def f(a):\n    x = old(a)\n    return old(1)\n"


def one_of(number: int, scope: str) -> Changed:
    return Changed(SCOPES, "-old($X)\n+max($X, 0)\n", block(SCOPES).replace(f"old({number})", f"max({number}, 0)"), {"scope": scope})


# Where: a qualified name or `<module>`, globs inside a name; how often: `count`; and whether it must be there.
RULE_2 = {
    "above the scope's own line": Refused("+x = 1\n def f(self):\n     ...\n", "beside `f` itself, outside of the scope `A.f`: write `@@ A @@`", "x = 1", {"scope": "A.f"}),
    "below a function of the module": Refused(" def f():\n     ...\n-x = 1\n+x = 2\n", "write `@@ <module> @@`", "x = 1"),
    "a method": one_of(1, "A.f"),
    "definitions of one name are searched together": one_of(2, "A.p"),
    "a nested function belongs to its function": one_of(3, "B.f"),
    "a nested function by its own name": one_of(3, "B.f.inner"),
    "a glob": one_of(2, "*.p"),
    "a glob inside a name": one_of(3, "B.f.in*r"),
    "a glob is one name, not two": Stays(SCOPES, "-old($X)\n+max($X, 0)\n", State.NOT_FOUND, "there is no `*.inner`", {"scope": "*.inner"}),
    "two places in a class": Stays(SCOPES, "-old($X)\n+max($X, 0)\n", State.AMBIGUOUS, "found 2 places", {"scope": "A"}),
    "two definitions of one name": Stays(SCOPES, "-old($X)\n+max($X, 0)\n", State.AMBIGUOUS, "found 2 places", {"scope": "g"}),
    "a glob that names two": Stays(SCOPES, "-old($X)\n+max($X, 0)\n", State.AMBIGUOUS, "found 2 places", {"scope": "*.f"}),
    "`count` decides": Changed(SCOPES, "-old($X)\n+max($X)\n", block(SCOPES).replace("old(4)", "max(4)").replace("old(5)", "max(5)"), {"scope": "g", "flags": "count=2"}),
    "a scope that is not there": Stays(SCOPES, "-old($X)\n+max($X)\n", State.NOT_FOUND, "there is no `C.f` in this file", {"scope": "C.f"}),
    "the nearest scopes are named": Stays(SCOPES, "-old($X)\n+max($X)\n", State.NOT_FOUND, "A.f, B.f", {"scope": "C.f"}),
    "a scope contains its own header": Changed("def f(a=A.b):\n    pass\n", "-A.b\n+A.c\n", "def f(a=A.c):\n    pass\n"),
    "a scope contains its own decorators": Changed("@A.b\ndef f(a):\n    pass\n", "-A.b\n+A.c\n", "@A.c\ndef f(a):\n    pass\n"),
    "the top level has headers": Changed(HEADER, "-class C(A):\n+class C(int):\n", HEADER.replace("(A)", "(int)"), {"scope": "<module>"}),
    "and so above a decorated body": Changed("class f(A):\n\n    @a\n    def g(self): pass\n", "-class f(A):\n+class f(int):\n", "class f(int):\n\n    @a\n    def g(self): pass\n", {"scope": "<module>"}),
    "the top level has decorators": Changed(HEADER, "-@deco\n class C:\n", HEADER.replace("@deco\n", ""), {"scope": "<module>"}),
    "the top level has no statements of bodies": Stays(TOP, "-return os\n+return None\n import x\n", State.NOT_FOUND, "", {"scope": "<module>"}),
    "the top level has no expressions of bodies": Stays(TOP, "-os.path\n+None\n", State.NOT_FOUND, "", {"scope": "<module>"}),
    "the top level has what stands in `if` and `try`": Changed("try:\n    import a\nexcept E:\n    a = old(1)\n", "-old($X)\n+max($X)\n", "try:\n    import a\nexcept E:\n    a = max(1)\n", {"scope": "<module>"}),
    "one place unless a flag says otherwise": Stays(TWO, "-old($X)\n+max($X)\n", State.AMBIGUOUS, "found 2 places in `f` (lines 2, 3), expected 1"),
    "count=2": Changed(TWO, "-old($X)\n+max($X)\n", TWO.replace("old", "max"), {"flags": "count=2"}),
    "count=3": Stays(TWO, "-old($X)\n+max($X)\n", State.NOT_FOUND, "found 2 places in `f` (lines 2, 3), expected 3", {"flags": "count=3"}),
    "count=all": Changed(TWO, "-old($X)\n+max($X)\n", TWO.replace("old", "max"), {"flags": "count=all"}),
    "when-present": Stays("def f(a):\n    pass\n", "-old($X)\n+max($X)\n", State.NOT_NEEDED, "", {"flags": "when-present"}),
    "both flags": Changed(TWO, "-old($X)\n+max($X)\n", TWO.replace("old", "max"), {"flags": "count=2 when-present"}),
    "a header that is not closed": Form("--- p/m.py\n@@ f\n-a.b\n+c.d\n", 2, "expected `@@ SCOPE @@ FLAGS`"),
    "a scope that is no name": Form("--- p/m.py\n@@ f() @@\n-a.b\n+c.d\n", 2, "expected a qualified name"),
    "a scope with an empty name": Form("--- p/m.py\n@@ A..f @@\n-a.b\n+c.d\n", 2, "expected a qualified name"),
    "an unknown flag": Form("--- p/m.py\n@@ f @@ count=some\n-a.b\n+c.d\n", 2, "an unknown flag"),
    "a flag given twice": Form("--- p/m.py\n@@ f @@ when-present when-present\n-a.b\n+c.d\n", 2, "given twice"),
    "two counts": Form("--- p/m.py\n@@ f @@ count=1 count=2\n-a.b\n+c.d\n", 2, "given twice"),
    "a count of none": Form("--- p/m.py\n@@ f @@ count=0\n-a.b\n+c.d\n", 2, "an unknown flag"),
}  # fmt: skip

# Lines with ` `, `-`, `+`; the two sides; what a side may be; a header without a body; a side that begins with a clause.
RULE_3 = {
    "a line without its sign": Form("--- p/m.py\n@@ f @@\n-a.b\nc.d\n", 4, "begins with ` `, `-` or `+`"),
    "neither minus nor plus": Refused(" x = 1\n", "changes nothing"),
    "a line that a mail quotes": Form("--- p/m.py\n@@ f @@\n> -a.b\n> +c.d\n", 3, "`+`: remove the `>` with which a mail quotes a line"),
    "a minus sign": Form("--- p/m.py\n@@ f @@\n\u2212a.b\n+c.d\n", 3, "`+`: it begins with U+2212 (minus sign), expected `-`"),
    "a blank that is none": Refused(" b\n-old(\u00a0$X)\n+max($X)\n", "case.spatch:4: found U+00A0 (no-break space), expected ` `", "\u00a0"),
    "an indentation of blanks that are none": Refused(" def f():\n-\u00a0\u00a0old($X)\n+\u00a0\u00a0max($X)\n", "case.spatch:4: found U+00A0", "\u00a0"),
    "curly quotes": Refused("-old(\u201cx\u201d)\n+max(\u201cx\u201d)\n", 'found U+201C (left double quotation mark), expected `"`', "\u201c"),
    "a comma of Chinese": Refused("-old($X)\n+max($X\uff0c 0)\n", "case.spatch:4: found U+FF0C (fullwidth comma), expected `,`", "\uff0c"),
    "a blank of no width": Refused("-old\u200b($X)\n+max($X)\n", "found U+200B (zero width space), which is no code", "\u200b"),
    "all of that in a string or a comment": inside("x = a.b('\u201c\u00a0')", "-a.b('\u201c\u00a0')\n+a.c('\u2019')\n", "x = a.c('\u2019')"),
    "a side that does not parse": Refused("-old($X\n+max($X)\n", "the before side does not parse: this `(` is never closed", "($X"),
    "a clause that does not parse": Refused("-else:\n-    x = = 1\n-    y = 1\n+else:\n+    x = 1\n", "case.spatch:4: the before side does not parse", "1"),
    "an after side that does not parse": Refused("-old($X)\n+max($X))\n", "the after side does not parse: this `)` closes nothing", ")"),
    "an expression": inside("x = a.b", "-a.b\n+a.c\n", "x = a.c"),
    "statements": inside("x = a\n    a = b", "-x = a\n+x = b\n a = b\n", "x = b\n    a = b"),
    "a condition is changed": Changed(
        "def f(a):\n    while a:  # loop\n        a -= 1\n", "-while a:\n+while not a:\n", "def f(a):\n    while not a:  # loop\n        a -= 1\n",
    ),
    "a default is changed": Changed("def f(a, b=2):\n    pass\n", "-def f(a, b=$B):\n+def f(a, b=None):\n", "def f(a, b=None):\n    pass\n"),
    "a default is added beside an annotation": Changed(
        "def f(a, b: int):\n    pass\n", "-def f(a, b):\n+def f(a, b=None):\n", "def f(a, b: int = None):\n    pass\n",
    ),
    "an annotation is added beside a default": Changed("def f(a=( 1 )):\n    pass\n", "-def f(a=1):\n+def f(a: int=1):\n", "def f(a: int=( 1 )):\n    pass\n"),
    "an annotation is added to a variable": inside("x = ( 1 )", "-x = 1\n+x: int = 1\n", "x: int = ( 1 )"),
    "a base is added below a decorator": Changed("@d\nclass f: x = 1\n", "-class f:\n+class f(int):\n", "@d\nclass f(int): x = 1\n"),
    "a return annotation is added": Changed("def f(a: int):\n    pass\n", "-def f(a):\n+def f(a) -> None:\n", "def f(a: int) -> None:\n    pass\n"),
    "a decorator is added": Changed("# about f\ndef f():\n    pass\n", "+@staticmethod\n def f():\n", "# about f\n@staticmethod\ndef f():\n    pass\n"),
    "a decorator is removed": Changed("@a\n@b\ndef f():\n    pass\n", "-@a\n def f():\n", "@b\ndef f():\n    pass\n"),
    "a base is changed": Changed("class f(A, B):\n    x = 1\n", "-class f(A, ...):\n+class f(int, ...):\n", "class f(int, B):\n    x = 1\n"),
    "a header over several lines": Changed("def f(\n    a,\n):\n    pass\n", "-def f($P):\n+def f($P, b=1):\n", "def f(\n    a,\n    b=1,\n):\n    pass\n"),
    "a body on the header's line": Changed("def f(a): return a\n", "-def f(a):\n+def f(a, b=1):\n", "def f(a, b=1): return a\n"),
    "elif": inside("if a: b\n    elif c: d", "-elif c:\n+elif d:\n", "if a: b\n    elif d: d"),
    "one clause becomes another": Changed(
        "def f(a, b):\n    if a:\n        return 1\n    else:  # rest\n        return 2\n",
        "-else:\n+elif b:\n     ...\n",
        "def f(a, b):\n    if a:\n        return 1\n    elif b:  # rest\n        return 2\n",
    ),
    "a handler is changed": Changed(
        "def f():\n    try:\n        pass\n    except ValueError as e:\n        raise\n",
        "-except ValueError as $E:\n+except (ValueError, TypeError) as $E:\n",
        "def f():\n    try:\n        pass\n    except (ValueError, TypeError) as e:\n        raise\n",
    ),
    "finally": inside("try: a\n    finally:\n        b()", " finally:\n+    c()\n     ...\n", "try: a\n    finally:\n        c()\n        b()"),
    "else of a loop": inside("for a in b: c\n    else:\n        d()", "-else:\n-    d()\n+else:\n+    c()\n", "for a in b: c\n    else:\n        c()"),
    "else and finally of a try": inside("try: a\n    except A: b\n    else:\n        d()\n    finally: b", "-else:\n-    d()\n+else:\n+    c()\n finally:\n", "try: a\n    except A: b\n    else:\n        c()\n    finally: b"),
    "two bodies that are not written": inside("if a:\n        A(1)\n    else:\n        A(2)", "-if a:\n+if b:\n else:\n", "if b:\n        A(1)\n    else:\n        A(2)"),
    "else of a try": inside("try: a\n    except A: b\n    else:\n        d()", "-else:\n-    d()\n+else:\n+    c()\n", "try: a\n    except A: b\n    else:\n        c()"),
    "a case is changed": Changed(
        "def f(a):\n    match a:\n        case 1:\n            pass\n        case _:\n            a = 2\n",
        "-case 1:\n+case 3:\n",
        "def f(a):\n    match a:\n        case 3:\n            pass\n        case _:\n            a = 2\n",
    ),
    "a clause of any statement": stays("if a: b\n    else: d\n    while a: b\n    else: d", "-else: $S\n+else: c\n", State.AMBIGUOUS, "found 2 places"),
    "a clause is added": Changed(
        "def f(a):\n    if a:\n        return 1\n    # after\n    return 2\n",
        " if a:\n     ...\n+elif not a:\n+    return 3\n",
        "def f(a):\n    if a:\n        return 1\n    elif not a:\n        return 3\n    # after\n    return 2\n",
    ),
    "a match without a case": inside("if a:\n        match a:\n            case 1: b\n            case _: c", " if a:\n-    match a:\n+    match b.c:\n", "if a:\n        match b.c:\n            case 1: b\n            case _: c"),
    "a match as context": inside("match a:\n        case 1: b", "+print(a)\n match a:\n", "print(a)\n    match a:\n        case 1: b"),
    "a match's subject is changed": inside("match a:\n        case 1: b\n        case 2: c", "-match a:\n+match d:\n     case 1:\n", "match d:\n        case 1: b\n        case 2: c"),
    "a clause on one side only": Refused("-else:\n+x = 1\n", "one side begins with a clause"),
    "an insertion into a body that is not written": Refused(" if a:\n+    x = 1\n", "the body of this header is not written: write ` ...` beside"),
    "into a clause's body that is not written": Refused(" except E:\n+    x = 1\n", "the body of this header is not written: write ` ...` beside"),
    "a header that goes without its body": Refused("-if a:\n z = 1\n", "write `-    ...` below it if it is to go"),
}  # fmt: skip

TRY = "try:\n        x = a\n    except A:\n        x = b\n    finally:\n        c()"
NESTED = "try:\n        try:\n            a()\n        except A:\n            b()\n    finally:\n        c()"
# An expression hunk matches anywhere in its scope, a statement hunk whole consecutive statements of one block.
RULE_4 = {
    "an expression anywhere": Changed(
        "def f(s):\n    if s.is_cuda:\n        pass\n    elif s.is_musa: g(s.is_musa2)\n",
        '-s.is_musa\n+getattr(s, "is_musa", False)\n',
        'def f(s):\n    if s.is_cuda:\n        pass\n    elif getattr(s, "is_musa", False): g(s.is_musa2)\n',
    ),
    "in nested functions too": Changed("def f():\n    def g():\n        return old(1)\n", "-old($X)\n+abs($X)\n", "def f():\n    def g():\n        return abs(1)\n"),
    "but not the names of an import": inside("import a.b\n    from a.b import c\n    return a.b", "-a.b\n+a.c\n", "import a.b\n    from a.b import c\n    return a.c"),
    "what an expression holds takes its place": inside("c = [A(a + b) * 2]", "-A($X)\n+$X\n", "c = [(a + b) * 2]"),
    "an expression on one side alone makes statements": stays("x = A(a)", "-A(a)\n+b = A(a)\n", State.NOT_FOUND),
    "consecutive statements": stays("x = 1\n    b()\n    a = 2", " x = 1\n-a = 2\n", State.NOT_FOUND),
    "of one block": stays("if a:\n        x = 1\n    a = 2", " x = 1\n-a = 2\n", State.NOT_FOUND),
    "in nested blocks": inside("if a:\n        x = 1\n        a = 2", " x = 1\n-a = 2\n", "if a:\n        x = 1"),
    "pattern if is not elif": stays("if a: b\n    elif c: b", "-if c:\n+if not c:\n", State.NOT_FOUND),
    "a body is matched completely": stays("if a:\n        b\n        c", "-if a:\n-    b\n+if a:\n+    c()\n", State.NOT_FOUND),
    "dots stand for the rest of it": inside("if a:\n        b\n        c", " if a:\n-    b\n     ...\n", "if a:\n        c"),
    "a top-level run begins anywhere": inside("a()\n    b()\n    c()", " b()\n+d()\n ...\n", "a()\n    b()\n    d()\n    c()"),
    # Every line of a hunk is in one of its two sides, in the block that its indentation names.
    "a line left of the first one": Refused("         x = 1\n+    y = 1\n", "indented less than the first one: write the header of that block above it", "    y = 1"),
    "a line that exists nowhere": Refused("-        x = 1\n-    nowhere()\n+        x = 2\n", "indented less than the first one", "    nowhere()"),
    "a clause left of the first line": Refused("         x = 1\n+    else:\n+        y = 1\n", "indented less than the first one", "    else:"),
    "a statement after a clause": Refused("-else:\n-    x = 1\n+else:\n+    x = 2\n+y = 1\n", "has clauses alone", "y = 1"),
    "a statement after a case": Refused("-case 1:\n-    x = 1\n+case 2:\n+    x = 2\n+y = 1\n", "after side does not parse"),
    "a line right of the others": Refused("-x = 1\n-    y = 1\n+x = 2\n", "indented more than the one above it, which opens no block", "    y = 1"),
    "a line between two blocks": Refused("-if a:\n-        x = 1\n-    y = 1\n+x = 2\n", "indented as no line above it is", "    y = 1"),
    "a line between two blocks of tabs": Refused("-if a:\n-\t\tx = 1\n-\ty = 1\n+x = 2\n", "indented as no line above it is", " y = 1"),
    "tabs below blanks": Refused(" if a:\n-        x = 1\n \ty = 1\n", "not indented with the same tabs and blanks", " y = 1"),
    "blanks below tabs": Refused(" \tif a:\n-        x = 1\n+\t\tx = 2\n", "not indented with the same tabs and blanks", "        x = 1"),
    "a backslash above a comment": Refused(" x = 1\n   \\\n # why\n-a.b\n+b = 1\n", "case.spatch:4: this `\\` joins no code with the line below it: leave it out", "\\"),
    "a backslash above all code": Refused(" \\\n-a.b\n+b = 1\n", "this `\\` joins no code", "\\"),
    "a backslash behind all code": Refused("-a.b\n+b = 1 \\\n # why\n", "this `\\` joins no code", "\\"),
    "a backslash between two parts": inside("b = a.b", "-b = \\\n-    a.b\n+b = 'x\\\n+y' + \\\n+    a.b\n", "b = 'x\\\ny' + \\\n        a.b"),
    "tabs alone": inside("if a:\n        x = 1", " \tif a:\n-\t\tx = 1\n+\t\tx = 2\n", "if a:\n        x = 2"),
    "tabs on one side": inside("if a:\n        x = 1", " if a:\n-    x = 1\n+\tx = 2\n", "if a:\n        x = 2"),
    "tabs in the target": Changed("def f(a):\n\tif a:\n\t\tx = 1\n", " if a:\n-    x = 1\n+    x = 2\n", "def f(a):\n\tif a:\n\t\tx = 2\n"),
    "tabs inside a string and a bracket": inside("x = 'a\\tb', 1", "-x = 'a\tb', (\n-\t\t1)\n+x = 2\n", "x = 2"),
    "a comment right of the first line": inside("x = 1\n    y = 1", "     # why\n-x = 1\n+x = 2\n y = 1\n", "x = 2\n    y = 1"),
    "a `try` without its clauses": inside(TRY, " try:\n-    x = a\n+    x = c\n", TRY.replace("= a", "= c")),
    "its header alone": inside(TRY, "+b()\n try:\n", "b()\n    " + TRY),
    "what stands below it": inside(f"{TRY}\n    y = 1", " try:\n     ...\n+    b()\n y = 1\n", TRY.replace("x = a", "x = a\n        b()") + "\n    y = 1"),
    "one in another": inside(NESTED, " try:\n     try:\n-        a()\n+        d()\n", NESTED.replace("a()", "d()")),
    "one that would go": stays(TRY, "-try:\n-    x = a\n+x = a\n", State.CONFLICT, "a part that the hunk does not mention (clause)"),
    "a variable named `case`": inside("case = a", "-case = a\n+case = b\n", "case = b"),
    "one that is inserted": Refused(" x = 1\n+try:\n+    b()\n", "after side does not parse"),
}  # fmt: skip

# Empty sides.
RULE_5 = {
    "nothing but insertions": Refused("+x = 1\n", "the before side is empty"),
    "nothing but comments before": Refused(" # here\n+x = 1\n", "the before side has no code, and comments are not matched"),
    "a comment in the place of another": Refused("-# here\n+# there\n", "the before side has no code, and comments are not matched"),
    "only dots outside of the top level": Refused(" ...\n+x = 1\n", "only in `<module>`"),
    "an expression cannot be deleted": stays("x = A(a)", "-A($X)\n", State.NOT_FOUND),
    "a statement can": inside("A(a)\n    x = 1", "-A($X)\n", "x = 1"),
    "at the top, after docstring and future imports": Changed(
        TOP, "+import sys\n ...\n", TOP.replace("annotations\n", "annotations\nimport sys\n", 1), {"scope": "<module>"},
    ),
    "at the end of the file": Changed(TOP, " ...\n+\n+\n+def h():\n+    return 1\n", TOP + "\n\ndef h():\n    return 1\n", {"scope": "<module>"}),
    "at the end of the file, below its last comments": Changed("import os\n\n# end\n\n", " ...\n+import sys\n", "import os\n\n# end\nimport sys\n\n", {"scope": "<module>"}),
    "a file without docstring keeps its first comments first": Changed(
        "# -*- coding: utf-8 -*-\n# Licence.\nimport os\n", "+import sys\n ...\n", "# -*- coding: utf-8 -*-\n# Licence.\nimport sys\nimport os\n", {"scope": "<module>"},
    ),
    "an empty file": Changed("", "+import sys\n ...\n", "import sys\n", {"scope": "<module>"}),
    "an empty file, from below": Changed("", " ...\n+import sys\n", "import sys\n", {"scope": "<module>"}),
    "a file of comments": Changed("#!/usr/bin/python\n# coding: utf-8\n", "+import sys\n ...\n", "#!/usr/bin/python\n# coding: utf-8\nimport sys\n", {"scope": "<module>"}),
    "a file of comments without a last line break": Changed("# coding: utf-8", "+import sys\n ...\n", "# coding: utf-8\nimport sys", {"scope": "<module>"}),
    "a docstring without a last line break": Changed('"""Doc."""', "+import sys\n ...\n", '"""Doc."""\nimport sys', {"scope": "<module>"}),
    "beside an import": Changed(TOP, " import os\n+import sys\n", TOP.replace("import os\n", "import os\nimport sys\n", 1), {"scope": "<module>"}),
    "a header, not its body": Changed(TOP, "-def g():\n+def g(a=1):\n", TOP.replace("g():", "g(a=1):", 1), {"scope": "<module>"}),
    "a whole definition, when the hunk writes its body": Changed(
        TOP, "-def g():\n-    return os\n+def g():\n+    return None\n", TOP.replace("return os", "return None", 1), {"scope": "<module>"},
    ),
}  # fmt: skip


def test_the_line_that_is_indented_wrongly_is_named() -> None:
    (first_line, *_) = check_refused("         x = 1\n-        if a:\n-            b\n+    y = 1\n", "after side does not parse")
    assert first_line.startswith("case.spatch:6: ")


def test_every_wrong_hunk_of_a_file_is_reported_at_once() -> None:
    lines = check_refused("-old($X)\n+max($Y)\n@@ f @@\n-old\n+new\n", "`$Y` is not bound")
    assert any("case.spatch:6:" in line and "too little" in line for line in lines)


def test_prose_paths_scopes_and_flags_are_read() -> None:
    text = "Why.\r\n\r\n--- p/new.py\r\n--- p/old.py\r\n@@ A.*.f @@ count=2 when-present\r\n-a.b\r\n+c.d\r\n\r\n"
    prose, (file,) = parse_spatch(text, "x")
    assert prose == "Why."
    assert file.paths == ("p/new.py", "p/old.py")
    (hunk,) = file.hunks
    assert (hunk.scope, hunk.flags.expected, hunk.flags.when_present, hunk.line) == ("A.*.f", 2, True, 5)
    assert hunk.lines == (("-", "a.b", 6), ("+", "c.d", 7))
    assert parse_spatch(f"--- six.py\n{HUNK}", "x")[1][0].paths == ("six.py",)


def test_what_is_wrong_is_marked_under_its_line_and_in_its_line() -> None:
    with pytest.raises(PatchError) as caught:
        parse_spatch("--- p/m.py\n@@ f\n-a.b\n", "x")
    assert caught.value.message.split("\n") == ["x:2: expected `@@ SCOPE @@ FLAGS`", "    @@ f", "    ^~~~"]
    assert (caught.value.problem, caught.value.place) == ("expected `@@ SCOPE @@ FLAGS`", {"file": "x", "line": 2, "column": 1})
    assert len(check_refused("-a(1)\n+a( 1)\n", "differ only in layout")) == 1
    for hunk, line, text in (("-x = )\n-y = 2\n+x\n", 3, "x = )"), ("-x = 1\n-y = = 2\n+x\n", 4, "y = = 2")):
        lines = check_refused(hunk, "does not parse")
        assert lines[0].startswith(f"case.spatch:{line}: the before side does not parse: ") and lines[1] == f"    {text}"


@pytest.mark.parametrize(
    ("hunk", "marked"),
    [
        ("@@ f @@ cont=2\n-old(1)\n+max(1)\n", "cont=2"),
        ("@@ f @@ count=2 in-string\n-old(1)\n+new\n", "in-string"),
        ("@@ f @@\n*old(1)\n", "*"),
        ("@@ f @@\n old(1)\n+    max(1)\n", "    "),
        ("@@ f @@\n-old(1)\\\n\n+max(1)\n", "\\"),
        ("@@ f @@\n-old(“a”)\n+max(1)\n", "“"),
    ],
)
def test_what_is_wrong_is_marked_from_its_first_to_its_last_column(hunk: str, marked: str) -> None:
    with pytest.raises(PatchError) as caught:
        _, files = parse_spatch(f"--- package/module.py\n{hunk}", "case.spatch")
        rewrite(b"def f():\n    old(1)\n", files[0].hunks, {})
    line, marker = caught.value.message.split("\n")[-2:]
    start = marker.index("^")
    assert line[start : start + len(marker.strip())] == marked
