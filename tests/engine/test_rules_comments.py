"""Rules 17 to 19: where an insertion goes, and what happens to comments and blank lines."""


from patcher.model import State
from tests.engine.helpers import Changed, Refused, Stays, inside, stays

BODY = "def f(a, b):\n    '''Doc.'''\n    # about x\n    x = a  # trailing\n\n    y = b\n    # last\n    return x\n"


def beside(hunk: str, old: str, new: str) -> Changed:
    return Changed(BODY, hunk, BODY.replace(old, new, 1))


def gone(hunk: str, old: str, new: str) -> Changed:
    """`beside` in a body that does not read the `x` which goes (rule 21)."""
    source = BODY.replace("return x", "return a")
    return Changed(source, hunk, source.replace(old, new, 1))


TAIL = "def f(a, c):\n    if a:\n        x = 1\n        # end of the body\n\n    # about y\n    y = 2\n"
# Beside the hunk line that it touches: after the one above; before the one below, over its comments and decorators.
RULE_17 = {
    "below the line that names the interpreter": Changed("#!/bin/python\nimport a\n", "+import b\n import a\n", "#!/bin/python\nimport b\nimport a\n", {"scope": "<module>"}),
    "below the one that names the encoding": Changed("# coding: utf-8\nimport a\n", "+import b\n import a\n", "# coding: utf-8\nimport b\nimport a\n", {"scope": "<module>"}),
    "below the one that names the encoding in the second line": Changed(
        "#!/bin/python\n# coding: latin-1\nimport a\n", "+import b\n import a\n", "#!/bin/python\n# coding: latin-1\nimport b\nimport a\n", {"scope": "<module>"},
    ),
    "also above a definition with a comment": Changed(
        "#!/bin/python\n# coding: utf-8\n# about f\ndef f(): pass\n", "+import b\n def f(): pass\n",
        "#!/bin/python\n# coding: utf-8\nimport b\n# about f\ndef f(): pass\n", {"scope": "<module>"},
    ),
    "below the licence of the file": Changed("# Licence.\n# All of it.\nimport a\n", "+import b\n import a\n", "# Licence.\n# All of it.\nimport b\nimport a\n", {"scope": "<module>"}),
    "below the licence where more than that changes": Changed(
        "# Licence.\nfrom a import b, c\n", "-from a import b, c\n+from d import c\n+from a import b\n", "# Licence.\nfrom d import c\nfrom a import b\n", {"scope": "<module>"},
    ),
    "a blank line in a string parts nothing": inside("x = '''q\n\nr'''\n\n    a(x)", " x = '''q\n \n r'''\n+b()\n a(x)\n", "x = '''q\n\nr'''\n    b()\n\n    a(x)"),
    "after the statement above": beside(" x = a\n+print(x)\n", "x = a  # trailing\n", "x = a  # trailing\n    print(x)\n"),
    "before the statement below, above its comments": beside("+print(a)\n x = a\n", "    # about x\n", "    print(a)\n    # about x\n"),
    "a blank line parts it from the statement above": beside(" x = a\n \n+print(x)\n y = b\n", "\n    y = b\n", "\n    print(x)\n    y = b\n"),
    "between two statements it stands beside the upper one": beside(
        " x = a\n+print(x)\n y = b\n", "x = a  # trailing\n", "x = a  # trailing\n    print(x)\n",
    ),
    "below dots it stands before the statement below": beside(" x = a\n ...\n+print(x)\n return x\n", "    # last\n", "    print(x)\n    # last\n"),
    "at the beginning, after the docstring": beside(" def f(a, b):\n+    print(a)\n     ...\n", "'''Doc.'''\n", "'''Doc.'''\n    print(a)\n"),
    "at the beginning without a docstring, above the first comments": Changed(
        "class f:\n    # about x\n    x = 1\n", " class f:\n+    y = 2\n     ...\n", "class f:\n    y = 2\n    # about x\n    x = 1\n",
    ),
    "at the beginning, directly below the docstring": Changed(
        "def f(a):\n    'Doc.'\n\n    # about x\n    x = a\n", " def f(a):\n+    print(a)\n     ...\n", "def f(a):\n    'Doc.'\n    print(a)\n\n    # about x\n    x = a\n",
    ),
    "at the end of the block": Changed(
        BODY.replace("return x", "b(x)"), " def f(a, b):\n     ...\n+    print(a)\n", BODY.replace("return x\n", "b(x)\n    print(a)\n")
    ),
    "at the end of the block, below its last comments": Changed(TAIL, " if a:\n     ...\n+    c()\n", TAIL.replace("body\n", "body\n        c()\n")),
    "after a compound statement, below the comments of its body": Changed(TAIL, " if a:\n     ...\n+c()\n", TAIL.replace("body\n", "body\n    c()\n")),
    "a statement inside one that stays is not moved": inside("if a:\n        b()  # why\n    if c:\n        d()", "-if a:\n-    b()\n+if a:\n+    b()\n if c:\n-    d()\n+    for x in a: b()\n+    d()\n", "if a:\n        b()  # why\n    if c:\n        for x in a: b()\n        d()"),
    "a new clause above those that are not written": inside("if a:\n        b()\n    # why\n    elif c:\n        d()\n    else:\n        a()", " if a:\n     ...\n+elif b:\n+    c()\n", "if a:\n        b()\n    elif b:\n        c()\n    # why\n    elif c:\n        d()\n    else:\n        a()"),
    "a new handler above those that are not written": inside("try: a()\n    except A: b()\n    finally: c()", " try:\n     ...\n+except KeyError:\n+    c()\n", "try: a()\n    except KeyError:\n        c()\n    except A: b()\n    finally: c()"),
    "a new `else` below handlers that are not written": inside("try: a()\n    except A: b()\n    finally: c()", " try:\n     ...\n except A:\n     ...\n+else:\n+    c()\n", "try: a()\n    except A: b()\n    else:\n        c()\n    finally: c()"),
    "a new `elif` and `else` around an `elif` that is not written": stays("if a: b()\n    elif c: d()", " if a:\n     ...\n+elif b:\n+    c()\n+else:\n+    a()\n", State.CONFLICT, "the result does not parse"),
    "a new `finally` is the last": inside("try: a()\n    except A: b()\n    else: c()", " try:\n     ...\n+finally:\n+    c()\n", "try: a()\n    except A: b()\n    else: c()\n    finally:\n        c()"),
    "a new clause below a body that is a docstring": Changed(
        "def f(a):\n    def g():\n        'Doc.'\n", "-def g():\n+if a:\n     'Doc.'\n+else:\n+    pass\n", "def f(a):\n    if a:\n        'Doc.'\n    else:\n        pass\n",
    ),
    "a new clause below the comments of the body": Changed(TAIL, " if a:\n     ...\n+else:\n+    c()\n", TAIL.replace("body\n", "body\n    else:\n        c()\n")),
    "after a definition, below the comments of its body": Changed(
        "def f():\n    x = 1\n\n    # end\n# next\ny = 2\n", " def f():\n     ...\n+z = 3\n", "def f():\n    x = 1\n\n    # end\nz = 3\n# next\ny = 2\n", {"scope": "<module>"},
    ),
    "above decorators": Changed("# about g\n@a\ndef g(): pass\n", "+x = 1\n def g(): pass\n", "x = 1\n# about g\n@a\ndef g(): pass\n", {"scope": "<module>"}),
    "a whole block, in the file's indentation": beside(" x = a\n+if x:\n+    print(x)\n", "# trailing\n", "# trailing\n    if x:\n        print(x)\n"),
    "in tabs": Changed("def f(a):\n\tx = a\n", " x = a\n+if x:\n+    print(x)\n", "def f(a):\n\tx = a\n\tif x:\n\t\tprint(x)\n"),
    "below a bracket that closes in the first column": Changed("x = A(\n    1,\n)\ny = 2\n", " x = A(1)\n+z = 3\n", "x = A(\n    1,\n)\nz = 3\ny = 2\n", {"scope": "<module>"}),
    "a comment between statements of which one moves": inside("a()\n    # why\n    b()", "-a()\n-b()\n+if x:\n+    b()\n", "if x:\n        b()\n    # why"),
    "a block in a block, of a hunk with another unit": inside("A(a)", " A(a)\n+if a:\n+  if b:\n+    c()\n", "A(a)\n    if a:\n        if b:\n            c()"),
    "a line that continues another one is no block": inside("A(a)", " A(a)\n+if a:\n+\tx = max(\n+      1)\n", "A(a)\n    if a:\n        x = max(\n          1)"),
    "a multi-line string does not tell the unit of indentation": beside(
        " x = a\n+if x:\n+    y = '''q\n+  z'''\n", "# trailing\n", "# trailing\n    if x:\n        y = '''q\n  z'''\n",
    ),
    "without a line break at the end": Changed("def f(a):\n    x = a", " x = a\n+print(x)\n", "def f(a):\n    x = a\n    print(x)"),
}  # fmt: skip

# Blank lines; comments that stay; statements that are wrapped take theirs along.
RULE_18 = {
    "an element that moves takes its comment": inside("x = [\n        a,  # one\n        # about b\n        b,\n        c  # three\n    ]", "-x = [a, b, c]\n+x = [c, a, b]\n", "x = [\n        c,  # three\n        a,  # one\n        # about b\n        b\n    ]"),
    "and the comment over it": inside("x = [\n        a,  # one\n        # about b\n        b,\n        c  # three\n    ]", "-x = [a, b, ...]\n+x = [b, a, ...]\n", "x = [\n        # about b\n        b,\n        a,  # one\n        c  # three\n    ]"),
    "also where another goes and one comes": inside("x = [\n        a,  # one\n        # about b\n        b,\n        c  # three\n    ]", "-x = [a, b, c]\n+x = [c, d, a]\n", "x = [\n        c,  # three\n        d,\n        a  # one\n    ]"),
    "an argument that moves": inside("A(\n        a,  # one\n        b,\n    )", "-A(a, b)\n+A(b, a)\n", "A(\n        b,\n        a,  # one\n    )"),
    "an entry of a dict that moves": inside("x = {\n        'a': 1,  # one\n        'b': 2,\n    }", "-x = {'a': 1, 'b': 2}\n+x = {'b': 2, 'a': 1}\n", "x = {\n        'b': 2,\n        'a': 1,  # one\n    }"),
    "a parameter that moves": Changed("def f(\n    a,  # one\n    b,\n):\n    pass\n", "-def f(a, b):\n+def f(b, a):\n", "def f(\n    b,\n    a,  # one\n):\n    pass\n"),
    "a decorator that moves": Changed("@a\n@b  # why\ndef f(): pass\n", "+@b\n @a\n-@b\n def f(...):\n", "@b  # why\n@a\ndef f(): pass\n"),
    "and the comments above it, below another one": Changed("# f\n@a\n# one\n# two\n@b(1)  # why\n# end\ndef f(): pass\n", "+@b(1)\n @a\n-@b(1)\n def f(...):\n", "# f\n# one\n# two\n@b(1)  # why\n@a\n# end\ndef f(): pass\n"),
    "of a method": Changed("class f:\n    @a\n    # one\n    @b\n    def g(): pass\n", "+@b\n @a\n-@b\n def g(...):\n", "class f:\n    # one\n    @b\n    @a\n    def g(): pass\n"),
    "which is the first: those above it are those of the definition": Changed("# one\n@a  # a\n# two\n@b\n@c\ndef f(): pass\n", "-@a\n @b\n+@a\n @c\n def f(...):\n", "# one\n# two\n@b\n@a  # a\n@c\ndef f(): pass\n"),
    "where something else comes, those above stay there": Changed("@a\n# one\n@b\ndef f(): pass\n", "+@b\n @a\n-@b\n+@property\n def f(...):\n", "@b\n@a\n# one\n@property\ndef f(): pass\n"),
    "a decorator that is inserted like one that stays": Changed("@a  # why\ndef f(): pass\n", " @a\n+@a\n def f(...):\n", "@a  # why\n@a\ndef f(): pass\n"),
    "a decorator that moves, with a comment of the hunk": Changed("@a\n@b  # why\ndef f(): pass\n", "+@b  # new\n @a\n-@b\n def f(...):\n", "@b  # new\n@a\ndef f(): pass\n"),
    "a comment that cannot move along": stays("x = [a,  # one\n        b]", "-x = [a, b]\n+x = [b, a]\n", State.CONFLICT, "its comment cannot be moved along"),
    "operands that change places leave it on its line": inside("x = (\n        a  # why\n        and b\n    )", "-a and b\n+b and a\n", "x = (\n        b  # why\n        and a\n    )"),
    "where operators end the lines": inside("x = (a or  # one\n         # two\n         A(b,  # b\n           c))", "-x = a or A(...)\n+x = A(...) or a\n", "x = (A(b,  # b\n           c) or  # one\n         # two\n         a)"),
    "of more than two, of which one stays": inside("x = (\n        a  # a\n        + b( 1 )  # b\n        + c  # c\n        + d\n    )", "-a + b(1) + c + d\n+c + b(2) + a + d\n", "x = (\n        c  # a\n        + b( 2 )  # b\n        + a  # c\n        + d\n    )"),
    "of more than two, of which one goes": inside("x = (\n        a  # a\n        | b  # b\n        | c  # c\n        | d  # d\n    )", "-a | b | c | d\n+b | a | d\n", "x = (\n        b  # a\n        | a  # b\n        | d  # d\n    )"),
    "of a comparison": inside("x = (\n        a  # why\n        < b\n    )", "-a < b\n+b < a\n", "x = (\n        b  # why\n        < a\n    )"),
    "operands in parentheses that change places": inside("x = (a or b) and (  # why\n        c(1)\n    )", "-x = (a or b) and c(1)\n+x = c(1) and (a or b)\n", "x = (  # why\n        c(1)\n    ) and (a or b)"),
    "operands that change places have their own bytes": inside("x = (\n        A( a )  # why\n        and A(b)\n    )", "-A(a) and A(b)\n+A(b) and A(a)\n", "x = (\n        A(b)  # why\n        and A( a )\n    )"),
    "operands that are wrapped over lines": inside("x = (a and b and\n         c)", "-x = a and b and c\n+x = c and a and b\n", "x = (c and a and\n         b)"),
    "what stands twice has its comment once": inside("A(\n        a +  # why\n        b\n    )", "-A($X)\n+A($X, $X)\n", "A(\n        a +  # why\n        b,\n        (a +\n        b)\n    )"),
    "blank `+` lines are inserted": beside(" x = a\n+\n+print(x)\n", "# trailing\n", "# trailing\n\n    print(x)\n"),
    "also where a statement goes": Changed("def f(a):\n    x = 1\n\n    y = 2\n\n    return a\n", " x = 1\n-y = 2\n+\n return a\n", "def f(a):\n    x = 1\n\n\n    return a\n"),
    "where nothing else is named": Changed("def f(a):\n    x = 1\n\n    y = 2\n\n    return a\n", "-y = 2\n+\n", "def f(a):\n    x = 1\n\n\n    return a\n"),
    "below the first of a block": Changed("def f(a):\n    x = 1\n    y = 2\n    return a\n", "-x = 1\n+\n y = 2\n-return a\n", "def f(a):\n\n    y = 2\n"),
    "above the end of one, in CRLF": Changed("def f(a):\r\n    x = 1\r\n    y = 2\r\n\r\nb = 3\r\n", " x = 1\n-y = 2\n+\n", "def f(a):\r\n    x = 1\r\n\r\n\r\nb = 3\r\n"),
    "other blank lines are not looked at": beside(" x = a\n-\n-y = b\n", "    y = b\n", ""),
    "a statement goes with its line, neighbouring comments stay": gone("-x = a\n", "    x = a  # trailing\n", ""),
    "two statements go": gone("-x = a\n-y = b\n", "    x = a  # trailing\n\n    y = b\n", "\n"),
    "of the blank lines above and below it, one run stays": Changed("def f(a):\n    x = 1\n\n    y = 2\n\n    return a\n", "-y = 2\n", "def f(a):\n    x = 1\n\n    return a\n"),
    "the longer one, in CRLF": Changed("class f:\r\n    a = 1\r\n\r\n    b = 2\r\n\r\n\r\nc = 3\r\n", "-b = 2\n", "class f:\r\n    a = 1\r\n\r\n\r\nc = 3\r\n"),
    "and none at the end of the file": Changed("a = 1\n\n\ndef f(): pass\n", "-def f(): pass\n", "a = 1\n", {"scope": "<module>"}),
    "of those between two that go too": Changed("def f(a):\n    x = 1\n\n    y = 2\n\n    z = 3\n\n    return a\n", "-y = 2\n-z = 3\n", "def f(a):\n    x = 1\n\n    return a\n"),
    "by two hunks": Changed("def f(a):\n    x = 1\n\n\n    y = 2\n\n    z = 3\n\n\n    return a\n", "-y = 2\n@@ f @@\n-z = 3\n", "def f(a):\n    x = 1\n\n\n    return a\n"),
    "where a comment stays, those beside it do": Changed("def f(a):\n    x = 1\n\n    # y\n    y = 2\n\n    return a\n", "-y = 2\n", "def f(a):\n    x = 1\n\n    # y\n\n    return a\n"),
    "where something is inserted below, those above": Changed("def f(a):\n    x = 1\n\n    y = 2\n    z = 3\n\n    return a\n", "-y = 2\n z = 3\n+z = 4\n", "def f(a):\n    x = 1\n\n    z = 3\n    z = 4\n\n    return a\n"),
    "of a statement that moves": Changed("def f(a):\n    x = 1\n\n    y = 2\n\n    return a\n", "+y = 2\n x = 1\n-y = 2\n", "def f(a):\n    y = 2\n    x = 1\n\n    return a\n"),
    "of statements that move together": Changed("def f(a):\n    x = 1\n\n    y = 2\n    # z\n\n    z = 3\n\n    return a\n", "+y = 2\n+z = 3\n x = 1\n-y = 2\n-z = 3\n", "def f(a):\n    y = 2\n    # z\n\n    z = 3\n    x = 1\n\n    return a\n"),
    "of those that something else replaces": Changed("def f(a):\n    x = 1\n\n    y = 2\n\n    return a\n", "-x = 1\n-y = 2\n+z = 3\n", "def f(a):\n    z = 3\n\n    return a\n"),
    "a form feed is no blank line": Changed("a = 1\n\f\ndef f(): pass\n\nb = 1\n", "-def f(): pass\n", "a = 1\n\f\n\nb = 1\n", {"scope": "<module>"}),
    "where `pass` comes, they stay": Changed("class f:\n    a = 1\n\n    b = 2\n\n    c = 3\n", "-a = 1\n-b = 2\n-c = 3\n", "class f:\n\n    pass\n"),
    "the comments of a body go with it": Changed(TAIL, "-if a:\n-    x = 1\n", "def f(a, c):\n\n    # about y\n    y = 2\n"),
    "the comments of a body go with it when something else comes": Changed(TAIL, "-if a:\n-    x = 1\n+c()\n", "def f(a, c):\n    c()\n\n    # about y\n    y = 2\n"),
    "a statement is replaced in place": beside("-y = b\n+print(b)\n+print(a)\n", "    y = b\n", "    print(b)\n    print(a)\n"),
    "a simple statement by a compound one": beside("-y = b\n+for y in b:\n+    pass\n", "    y = b\n", "    for y in b:\n        pass\n"),
    "a statement is wrapped": Changed(
        "def f(a):\n    old(  a )  # why\n    return a\n", "-old($X)\n+if $X:\n+    old($X)\n", "def f(a):\n    if a:\n        old(  a )  # why\n    return a\n",
    ),
    "neighbours move together, with what stands between them": Changed(
        "def f(a):\n    x = 1\n\n    # about y\n    y = 2\n    return a\n",
        "+if a:\n     x = 1\n     y = 2\n",
        "def f(a):\n    if a:\n        x = 1\n\n        # about y\n        y = 2\n    return a\n",
    ),
    "a run, with its comments and multi-line strings as they are": Changed(
        "def f(a):\n    '''Doc.'''\n    x = '''1\n  2'''  # odd\n    # between\n    return x\n",
        " def f(a):\n-    ...\n+    try:\n+        ...\n+    finally:\n+        print(a)\n",
        "def f(a):\n    '''Doc.'''\n    try:\n        x = '''1\n  2'''  # odd\n        # between\n        return x\n"
        "    finally:\n        print(a)\n",
    ),
    "a compound statement, with the comments at the end of its body": Changed(
        TAIL, "+if c:\n     if a:\n         ...\n", TAIL.replace("    if a:\n        x = 1\n        #", "    if c:\n        if a:\n            x = 1\n            #"),
    ),
    "placeholders, with what stands between them once": Changed(
        "def f(a):\n    x = 1\n\n    # about y\n    y = 2  # two\n    return a\n",
        "-$S\n-$T\n+if a:\n+    $S\n+    $T\n return a\n",
        "def f(a):\n    if a:\n        x = 1\n\n        # about y\n        y = 2  # two\n    return a\n",
    ),
    "placeholders that change places": Changed(
        "def f(a):\n    x = 1\n    a.b = 2\n    y = 3  # three\n    a.c = 4\n    return a\n",
        "-$S\n+$T\n a.b = 2\n-$T\n+$S\n a.c = 4\n-return a\n+return a.b\n",
        "def f(a):\n    y = 3  # three\n    a.b = 2\n    x = 1\n    a.c = 4\n    return a.b\n",
    ),
    "a placeholder twice: the first has the comments": Changed(
        "def f(a):\n    if a:\n        # why\n        x = 1  # one\n",
        "-if a:\n-    $S\n+if a.b:\n+    $S\n+else:\n+    $S\n",
        "def f(a):\n    if a.b:\n        # why\n        x = 1  # one\n    else:\n        x = 1\n",
    ),
    "a block for which a placeholder stands has its own in each place": Changed(
        "def f(a):\n    if a:  # a\n        x = 1  # one\n    return a\n",
        " $S\n+if a.b:\n+    $S\n-return a\n+return a.b\n",
        "def f(a):\n    if a:  # a\n        x = 1  # one\n    if a.b:\n        if a:  # a\n            x = 1  # one\n    return a.b\n",
    ),
    "what is inserted like a placeholder that stays": Changed(
        "def f(a):\n    # why\n    x = 1  # one\n    return a\n", " $S\n+if a:\n+    $S\n-return a\n+return a.b\n",
        "def f(a):\n    # why\n    x = 1  # one\n    if a:\n        x = 1\n    return a.b\n",
    ),
    "what moves together from where another statement comes, with what is between": Changed(
        "def f(a):\n    if a:\n        while a.b:\n            old(1)\n        else:\n            old(2)\n            # three\n            old(3)\n",
        "-if a:\n-    while a.b:\n-        old(1)\n+for c in a:\n+    if a:\n+        while a.b:\n+            old(1)\n+        else:\n+            old(2)\n+            old(3)\n     else:\n-        old(2)\n-        old(3)\n+        pass\n",
        "def f(a):\n    for c in a:\n        if a:\n            while a.b:\n                old(1)\n            else:\n                old(2)\n                # three\n                old(3)\n        else:\n            pass\n",
    ),
    "a run from where another statement comes": Changed(
        "def f(a):\n    old(1)  # one\n    a.b = 2\n    del a.c\n", " def f(a):\n-    ...\n+    del a.c\n     a.b = 2\n-    del a.c\n+    ...\n", "def f(a):\n    del a.c\n    a.b = 2\n    old(1)  # one\n",
    ),
    "a context line that comes into a block like the one below": Changed(
        "def f(a):\n    for c in a:\n        pass  # why\n    if a:\n        old(1)\n        pass\n",
        "-for c in a:\n+if a:\n+    old(1)\n     pass\n-if a:\n-    old(1)\n-    pass\n",
        "def f(a):\n    if a:\n        old(1)\n        pass  # why\n",
    ),
    "a run that moves over a line that stays": Changed(
        "def f(a):\n    if a:\n        # why\n        old(1)\n    x = 1  # one\n",
        " def f(a):\n+    ...\n     if a:\n-        old(1)\n+        abs(1)\n-    ...\n",
        "def f(a):\n    x = 1  # one\n    if a:\n        # why\n        abs(1)\n",
    ),
    "a statement that moves has its own bytes, where no comment was": Changed(
        "def f(a):\n    old( 1 )\n    a.b = 1\n    del a.c\n", "-old(1)\n+del a.c\n a.b = 1\n-del a.c\n+old(1)\n", "def f(a):\n    del a.c\n    a.b = 1\n    old( 1 )\n",
    ),
    "the upper one of two equal statements is inserted": inside("old(1)  # one", "+old(1)\n old(1)\n", "old(1)\n    old(1)  # one"),
    "neighbours that move down together": Changed(
        "def f(a):\n    x = 1\n\n    # about y\n    y = 2\n    a.b = 3\n    return a\n",
        "-x = 1\n-y = 2\n a.b = 3\n+x = 1\n+y = 2\n",
        "def f(a):\n    a.b = 3\n    x = 1\n\n    # about y\n    y = 2\n    return a\n",
    ),
    "neighbours that move apart, and the comment between them does not": Changed(
        "def f(a):\n    x = 1\n    # about y\n    y = 2\n    a.b = 3\n    return a\n",
        "-x = 1\n-y = 2\n a.b = 3\n+y = 2\n+x = 1\n",
        "def f(a):\n    # about y\n    a.b = 3\n    y = 2\n    x = 1\n    return a\n",
    ),
    "a context line that only moves to the right": Changed(
        "def f(a):\n    old(a)\n    return a\n", "+if a:\n     old($X)\n", "def f(a):\n    if a:\n        old(a)\n    return a\n",
    ),
    "a definition, with its decorators once": Changed(
        "def f(a):\n    # g\n    @a\n    @a.b(1,\n         2)\n    def g(): pass\n",
        "-@a\n-@a.b(1, 2)\n-def g(): pass\n+if a:\n+    @a\n+    @a.b(1, 2)\n+    def g(): pass\n",
        "def f(a):\n    # g\n    if a:\n        @a\n        @a.b(1,\n             2)\n        def g(): pass\n",
    ),
    "what stays has its comment, and not what is inserted like it": Changed(
        "def f(a):\n    old(1)  # one\n    if a:\n        pass\n", " old(1)\n if a:\n-    pass\n+    old(1)\n", "def f(a):\n    old(1)  # one\n    if a:\n        old(1)\n",
    ),
    "nor what is inserted like a statement that is changed": Changed(
        "def f(a):\n    a.b = old(1)  # one\n", "-a.b = old(1)\n+if a:\n+    a.b = old(1)\n+a.b = old(2)\n", "def f(a):\n    if a:\n        a.b = old(1)\n    a.b = old(2)  # one\n",
    ),
    "a statement that moves up, from where another one comes": Changed(
        "def f(a):\n    old(1)\n    a.b = 1\n    del a.c  # two\n", "-old(1)\n+del a.c\n a.b = 1\n-del a.c\n+old(1)\n", "def f(a):\n    del a.c  # two\n    a.b = 1\n    old(1)\n",
    ),
    "a statement that moves down, from where another one comes": Changed(
        "def f(a):\n    old(1)  # one\n    a.b = 1\n    del a.c\n", "-old(1)\n+del a.c\n a.b = 1\n-del a.c\n+if a:\n+    old(1)\n", "def f(a):\n    del a.c  # one\n    a.b = 1\n    if a:\n        old(1)\n",
    ),
    "of a header too": Changed(
        "def f(a):\n    if a:  # one\n        old(1)\n", " if a:\n-    old(1)\n+    if a:\n+        old(1)\n", "def f(a):\n    if a:  # one\n        if a:\n            old(1)\n",
    ),
    "of a statement that one of its kind wraps": inside("if a:  # one\n        A(1)", "-if a:\n-    A(1)\n+if a:\n+    if a:\n+        A(1)\n", "if a:\n        if a:  # one\n            A(1)"),
    "and which the hunk writes there, once": inside("if a:  # one\n        A(1)", "-if a:  # one\n-    A(1)\n+if a:\n+    if a:  # one\n+        A(1)\n", "if a:\n        if a:  # one\n            A(1)"),
    "out of one of its kind": inside("if a:\n        if a:  # one\n            A(1)", "-if a:\n-    if a:\n-        A(1)\n+if a:\n+    A(1)\n", "if a:  # one\n        A(1)"),
    "of one that stays where the one around it is another one": inside("for x in a:  # one\n        if a:\n            A(1)", "-for x in a:\n-    if a:\n-        A(1)\n+for x in b:\n+    if a:\n+        A(1)\n", "for x in b:  # one\n        if a:\n            A(1)"),
    "a statement that goes over a context line, which keeps its comments": Changed(
        "def f(a):\n    old(1)\n    if a:\n        # why\n        old(2)\n",
        "-old(1)\n if a:\n     old(2)\n+    old(3)\n+old(1)\n",
        "def f(a):\n    if a:\n        # why\n        old(2)\n        old(3)\n    old(1)\n",
    ),
    "a statement of one word on a context line, whose block becomes another one": Changed(
        "def f(a):\n    if b:\n        return  # early\n    with a:\n        return  # late\n",
        "-if b:\n-    return\n-with a:\n+while a:\n+    print()\n     return\n",
        "def f(a):\n    while a:\n        print()\n        return  # late\n",
    ),
    "of a statement of several clauses that is wrapped and changed, each comment once": Changed(
        "def f(a):\n    if a:\n        old(1)\n        # two\n        old(2)\n        # end\n    # else\n    else:  # e\n        old(3)\n",
        "-if a:\n-    old(1)\n-    old(2)\n-else:\n-    old(3)\n+while a:\n+    if a:\n+        old(1)\n+        a.b()\n+        old(2)\n+    else:\n+        old(3)\n",
        "def f(a):\n    while a:\n        if a:\n            old(1)\n            a.b()\n            # two\n            old(2)\n            # end\n"
        "        # else\n        else:  # e\n            old(3)\n",
    ),
    "a clause whose body is one name": Changed(
        "def f(a):\n  if a:\n    old(1)\n  else:\n    return\n", "-if a:\n-    old(1)\n-else:\n-    return\n+with a:\n+    if a:\n+        old(2)\n+    else:\n+        return\n", "def f(a):\n  with a:\n    if a:\n      old(2)\n    else:\n      return\n",
    ),
    "a clause on a context line, whose statement becomes another one": Changed(
        "def f(a):\n    for x in a:\n        old(1)\n    else:  # why\n        old(2)\n",
        "-for x in a:\n-    old(1)\n+if a:\n+    old(3)\n+elif a.b:\n+    pass\n else:\n-    old(2)\n+    old(4)\n",
        "def f(a):\n    if a:\n        old(3)\n    elif a.b:\n        pass\n    else:  # why\n        old(4)\n",
    ),
    "a statement on a context line, around which another one comes": Changed(
        "def f(a):\n    for x in a:  # one\n        if a:  # two\n            old(1)\n",
        "-for x in a:\n+while a:\n     if a:\n-        old(1)\n+        old(2)\n",
        "def f(a):\n    while a:  # one\n        if a:  # two\n            old(2)\n",
    ),
    "and two other ones": Changed(
        "def f(a):\n    for x in a:\n        if x:\n            if a:  # why\n                old(1)\n",
        "-for x in a:\n-    if x:\n+while a:\n+    with a:\n         if a:\n-            old(1)\n+            old(2)\n",
        "def f(a):\n    while a:\n        with a:\n            if a:  # why\n                old(2)\n",
    ),
    "and a `match`, which has no body, becomes another statement": inside(
        "match (\n        a\n    ):\n        case 1:\n            b()", "-match (\n+for x in (\n     a\n ):\n-    case 1:\n-        b()\n+    c()\n", "for x in (\n        a\n    ):\n        c()",
    ),
    "a definition with a context line, over which another statement goes": Changed(
        "def f(a):\n    def g(a):\n        # why\n        return a\n    x = [\n        1]  # x\n",
        "+x = [1]\n-def g(a):\n+def g(b):\n     return a\n-x = [1]\n",
        "def f(a):\n    x = [\n        1]  # x\n    def g(b):\n        # why\n        return a\n",
    ),
    "a statement that ends on a context line, over which another one goes": Changed(
        "def f(a):\n    a.b = [\n        1,\n    ]  # why\n    old(a)\n",
        "-a.b = [\n-    1,\n+old(a)\n+a.c = [\n+    2,\n ]\n-old(a)\n",
        "def f(a):\n    old(a)\n    a.c = [\n        2,\n    ]  # why\n",
    ),
    "of a definition that stays, not of what is inserted like it": Changed(
        "def f(a):\n    def g():\n        return a  # why\n    return g\n",
        "-def g():\n-    return a\n+if a:\n+    def g():\n+        return a\n+def g():\n+    return (a)\n return g\n",
        "def f(a):\n    if a:\n        def g():\n            return a\n    def g():\n        return a  # why\n    return g\n",
    ),
    "of a context line, not of what is inserted like the statement around it": Changed(
        "def f(a):\n    with a:\n        if a:\n            old(1)  # one\n        old(2)\n",
        "-with a:\n-    if a:\n+for x in a:\n+    if a:\n+        old(1)\n+while a:\n         old(1)\n-    old(2)\n",
        "def f(a):\n    for x in a:\n        if a:\n            old(1)\n    while a:\n        old(1)  # one\n",
    ),
    "of a statement that is written twice, once": Changed(
        "def f(a):\n    old(1)  # why\n    return a\n", "-old(1)\n+if a:\n+    old(1)\n+else:\n+    old(1)\n", "def f(a):\n    if a:\n        old(1)  # why\n    else:\n        old(1)\n    return a\n",
    ),
    "of a statement inside one that moves, once": Changed(
        "def f(a):\n    if a:\n        # why\n        print(1)\n    return a\n",
        "-if a:\n-    print(1)\n+for x in a:\n+    if a:\n+        print(1)\n+print(1)\n",
        "def f(a):\n    for x in a:\n        if a:\n            # why\n            print(1)\n    print(1)\n    return a\n",
    ),
    "of a statement around which another one comes, of the kind of one inside": Changed(
        "def f(a):\n    def g(a):\n        if a:\n            # why\n            print(1)\n        print(1)  # end\n    return a\n",
        "-def g(a):\n-    if a:\n-        print(1)\n+if a:\n     print(1)\n+print(1)\n",
        "def f(a):\n    if a:\n        print(1)  # end\n    # why\n    print(1)\n    return a\n",
    ),
    "of a clause on a context line, which leaves the statement around it": Changed(
        "def f(a):\n    if a:\n        try:\n            old(1)\n        except E:\n            old(2)\n        else:\n            old(3)\n    else:  # why\n        old(4)\n",
        "-if a:\n-    try:\n-        old(1)\n-    except E:\n-        old(2)\n-    else:\n-        old(3)\n+try:\n+    old(1)\n+except E:\n+    old(2)\n else:\n-    old(4)\n+    old(3)\n",
        "def f(a):\n    try:\n        old(1)\n    except E:\n        old(2)\n    else:  # why\n        old(3)\n",
    ),
    "of the last line of a statement in one that is changed too": Changed(
        "def f(a):\n    with a:\n        return [\n            1,\n        ]  # why\n",
        "-with a:\n-    return [\n+with a.b:\n+    return [\n+        2,\n         1,\n     ]\n",
        "def f(a):\n    with a.b:\n        return [\n            2,\n            1,\n        ]  # why\n",
    ),
    "of a context line around which a statement comes, and not of one like it": Changed(
        "def f(a, b):\n    if a:\n        old(1)  # one\n    with b:\n        old(1)  # two\n        b.c()\n",
        "-if a:\n-    old(1)\n-with b:\n+for x in b:\n+    if a:\n         old(1)\n-        b.c()\n",
        "def f(a, b):\n    for x in b:\n        if a:\n            old(1)  # two\n",
    ),
    "of a definition that leaves the one around it": Changed(
        "def f(a):\n    def g():\n        def h(): return a  # why\n    return a\n", "-def g():\n-    def h(): return a\n+def h(): return a\n", "def f(a):\n    def h(): return a  # why\n    return a\n",
    ),
    "of the end of a clause that another one replaces, once": Changed(
        "def f(a):\n    if a:\n        old(1)\n        old(2)\n    else:\n        old(3)\n        old(4)  # end\n",
        " if a:\n+    old(3)\n+    old(4)\n+else:\n     old(1)\n     old(2)\n-else:\n-    old(3)\n-    old(4)\n",
        "def f(a):\n    if a:\n        old(3)\n        old(4)  # end\n    else:\n        old(1)\n        old(2)\n",
    ),
    "of a `try` on a context line, around which a statement comes and of which a clause is changed": Changed(
        "def f(a, b):\n    try:  # why\n        old(1)\n    except E:\n        old(2)\n", "+if b:\n     try:\n         old(1)\n-    except E:\n-        old(2)\n+    finally:\n+        old(3)\n",
        "def f(a, b):\n    if b:\n        try:  # why\n            old(1)\n        finally:\n            old(3)\n",
    ),
    "of an `else` on a context line, which comes to a new statement": Changed(
        "def f(a, b):\n    if a:\n        old(0)\n    elif b:\n        old(1)\n    else:  # why\n        old(2)\n", " if a:\n     old(0)\n-elif b:\n+if b:\n     old(1)\n else:\n-    old(2)\n+    old(3)\n",
        "def f(a, b):\n    if a:\n        old(0)\n    if b:\n        old(1)\n    else:  # why\n        old(3)\n",
    ),
    "and to the one above": Changed(
        "def f(a, b):\n    if a:\n        old(0)\n    if b:\n        old(1)\n    else:  # why\n        old(2)\n", " if a:\n     old(0)\n-if b:\n+elif b:\n     old(1)\n else:\n-    old(2)\n+    old(3)\n",
        "def f(a, b):\n    if a:\n        old(0)\n    elif b:\n        old(1)\n    else:  # why\n        old(3)\n",
    ),
    "of a bracket on a context line, whose statement moves and is changed": Changed(
        "def f(a):\n    a.b = [\n        1,\n    ]  # why\n    old(a)\n", "-a.b = [\n-    1,\n+if a:\n+    a.c = [\n+        2,\n+        3,\n     ]\n old(a)\n",
        "def f(a):\n    if a:\n        a.c = [\n            2,\n            3,\n        ]  # why\n    old(a)\n",
    ),
    "above a statement inside one that moves and is changed": Changed(
        "def f(a):\n    with a:\n        if a:\n            # why\n            old(1)\n        old(2)\n    for x in a:\n        old(3)\n",
        " with a:\n-    if a:\n-        old(1)\n     old(2)\n for x in a:\n     old(3)\n+    if a:\n+        old(1)\n+        old(4)\n",
        "def f(a):\n    with a:\n        old(2)\n    for x in a:\n        old(3)\n        if a:\n            # why\n            old(1)\n            old(4)\n",
    ),
    "below a docstring that moves, once": Changed(
        "def f(a):\n    if a:\n        old(1)\n    def g():\n        'Doc.'\n        # why\n        old(2)\n",
        " if a:\n-    old(1)\n-def g():\n-    'Doc.'\n     old(2)\n+    'Doc.'\n+def g():\n+    old(1)\n",
        "def f(a):\n    if a:\n        # why\n        old(2)\n        'Doc.'\n    def g():\n        old(1)\n",
    ),
    "of a header around which another one goes away": inside("for x in a:  # one\n        if a:  # two\n            A(1)", "-for x in a:\n     if a:\n-        A(1)\n+        A(2)\n", "if a:  # two\n        A(2)"),
    "of a bracket that ends no statement any more": inside("x = [\n        1,\n    ]  # why", "-x = [\n+x = A([\n     1,\n ]\n+)\n", "x = A([\n        1,\n    ]\n    )  # why"),
    "of a header whose body is not written": inside(
        "while a:  # why\n        b()\n    else:\n        A(1)", "+if b:\n     while a:\n-    else:\n-        A(1)\n+    else:\n+        A(2)\n", "if b:\n        while a:  # why\n            b()\n        else:\n            A(2)",
    ),
    "of none in a one-line suite": inside(
        "if a: b()\n    elif c: b()\n    else: A(1)  # why", " if a:\n     b()\n-elif c:\n+if c:\n     b()\n else:\n-    A(1)\n+    A(2)\n", "if a: b()\n    if c:\n        b()\n    else:\n        A(2)",
    ),
    "of a decorator": inside(
        "@a  # why\n    def f(a):\n        b()", "+if b:\n     @a\n-    def f(a):\n+    def f(b):\n         b()\n", "if b:\n        @a  # why\n        def f(b):\n            b()",
    ),
    "of a bracket that leaves the place where another statement comes": inside(
        "if a:\n        a.b = [\n            1,\n        ]  # why", " if a:\n-    a.b = [\n-        1,\n+    b()\n+while b:\n+    a.c = [\n+        2,\n     ]\n",
        "if a:\n        b()\n    while b:\n        a.c = [\n            2,\n        ]  # why",
    ),
    "of the last line of a statement that is changed in place, once": inside("assert a \\\n        + 1  # why", "-assert a \\\n+assert a, b \\\n     + 1\n", "assert a, b \\\n        + 1  # why"),
    "of a bracket of a header": Changed(
        "def f(a):\n    with a.m(\n        1\n    ) as b:  # why\n        old(1)\n", "-with a.m(\n-    1\n+if a:\n+    with a.n(\n+        2\n     ) as b:\n-    old(1)\n+        old(2)\n",
        "def f(a):\n    if a:\n        with a.n(\n            2\n        ) as b:  # why\n            old(2)\n",
    ),
    "and not the one that the hunk writes there": Changed(
        "def f(a, b):\n    try:\n        old(1)\n    except E:\n        old(2)\n", "+if b:\n     try:  # other\n         old(1)\n-    except E:\n-        old(2)\n+    finally:\n+        old(3)\n",
        "def f(a, b):\n    if b:\n        try:\n            old(1)\n        finally:\n            old(3)\n",
    ),
    "of a clause that is changed, not of what is inserted like it": Changed(
        "def f(a):\n    try:\n        old(1)\n    except E:\n        # why\n        old(2)\n",
        "+try:\n+    old(3)\n+except E:\n+    old(2)\n try:\n-    old(1)\n-except E:\n-    old(2)\n+    old(4)\n+except E:\n+    old(5)\n",
        "def f(a):\n    try:\n        old(3)\n    except E:\n        old(2)\n    try:\n        old(4)\n    except E:\n        # why\n        old(5)\n",
    ),
    "and over a statement of several lines of which one is changed": Changed(
        "def f(a):\n    old(1)\n    return [\n        1,\n        2\n    ]  # why\n",
        "-old(1)\n return [\n-    1,\n+    3,\n     2\n ]\n+old(1)\n",
        "def f(a):\n    return [\n        3,\n        2\n    ]  # why\n    old(1)\n",
    ),
    "and back, out of a statement of several clauses, with the comments": Changed(
        "def f(a):\n    try:\n        # c0\n        x = 1\n        # c\n    except E:\n        pass\n    return a\n",
        "-try:\n-    ...BODY\n-except $E:\n-    ...\n+...BODY\n",
        "def f(a):\n    # c0\n    x = 1\n    # c\n    return a\n",
    ),
    "and back, with the comment at the end": Changed(TAIL, "-if a:\n-    ...\n+...\n", "def f(a, c):\n    x = 1\n    # end of the body\n\n    # about y\n    y = 2\n"),
    "and back": Changed(
        "def f(a):\n    if a:\n        old(  a )\n        b = 1\n    return a\n", "-if a:\n-    ...\n+...\n", "def f(a):\n    old(  a )\n    b = 1\n    return a\n",
    ),
}  # fmt: skip

# Comments of inserted code come along, and no others are made.
RULE_19 = {
    "one between two inserted statements that is context is not inserted": inside("b(1)", "+max(1)\n # note\n+max(2)\n b(1)\n", "max(1)\n    max(2)\n    b(1)"),
    "below a bracket that is alone on its line": inside("x = A(a)\n    c()", "-x = A(a)\n+x = A(\n+    b\n+)\n+# below\n c()\n", "x = A(b)\n    # below\n    c()"),
    "comments and blank lines come along": beside(
        " x = a\n+\n+# why\n+print(x)  # how\n", "# trailing\n", "# trailing\n\n    # why\n    print(x)  # how\n",
    ),
    "a comment belongs to the code below it": beside(
        "+print(a)\n+# changed\n-x = a\n+x = b\n", "    # about x\n    x = a", "    print(a)\n    # about x\n    # changed\n    x = b",
    ),
    "a comment below a changed line": beside("-y = b\n+y = a\n+# end\n", "    y = b\n", "    y = a\n    # end\n"),
    "the comment of a changed line replaces the one that stands there": beside(
        "-x = a\n+x = b  # sitepatch: n\n", "x = a  # trailing", "x = b  # sitepatch: n",
    ),
    "a comment below a changed statement of several lines": inside("x = [\n        1,\n    ]\n    b()", "-x = [1]\n+x = [2]\n+# end\n", "x = [\n        2,\n    ]\n    # end\n    b()"),
    "a comment above and below a changed compound statement": inside("if a:\n        b()\n    c()", "+# one\n-if a:\n+if x:\n     b()\n", "# one\n    if x:\n        b()\n    c()"),
    "the comment of a statement taken out of a one-line suite": inside("if a: A(b)\n    c()", "-if a:\n-    A(b)\n+A(b)  # n\n", "A(b)  # n\n    c()"),
    "the comment of a statement below a run that is wrapped": Changed(
        "def f(a):\n    b = 1\n    c = 2  # c\n    return a  # old\n", " def f(a):\n-    ...\n-    return a\n+    if a:\n+        ...\n+        return a  # n\n",
        "def f(a):\n    if a:\n        b = 1\n        c = 2  # c\n        return a  # n\n",
    ),
    "a comment between statements that go, which the hunk writes, once": inside("a()\n    # one\n    # why\n    b()  # b\n    c()", "-a()\n-b()\n+# why\n+if x:\n+    b()\n", "# why\n    if x:\n        b()  # b\n    # one\n    c()"),
    "a changed line without one keeps what stands there": beside("-x = a\n+x = b\n", "x = a  # trailing", "x = b  # trailing"),
    "the comment of a changed header": Changed("def f(a):  # c\n    pass\n", "-def f(a):\n+def f(a, b):  # n\n", "def f(a, b):  # n\n    pass\n"),
    "a changed header without one": Changed("def f(a):  # c\n    pass\n", "-def f(a):\n+def f(a, b):\n", "def f(a, b):  # c\n    pass\n"),
    "a header of several lines, of which one is changed": Changed(
        "def f(a):\n    with a.m(\n        1\n    ) as b:  # c\n        old(1)\n", "-with a.m(\n+with a.n(\n     1\n ) as b:\n-    old(1)\n+    a.b = 1\n", "def f(a):\n    with a.n(\n        1\n    ) as b:  # c\n        a.b = 1\n",
    ),
    "the comment of a header that is written anew": Changed("def f(a):\n    if a:  # c\n        g()\n", "-if a:\n+while a:  # n\n", "def f(a):\n    while a:  # n\n        g()\n"),
    "the comment of a statement replaced by another": gone("-x = a\n+print(b)  # n\n", "x = a  # trailing", "print(b)  # n"),
    "a comment that goes with the statement that is replaced": gone("-x = a  # trailing\n+print(b)\n", "x = a  # trailing", "print(b)"),
    "and stays where it is another one": gone("-x = a  # other\n+print(b)\n", "x = a  # trailing", "print(b)  # trailing"),
    "a comment that goes from a changed line": beside("-x = a  # trailing\n+x = b\n", "x = a  # trailing", "x = b"),
    "of a header": Changed("def f(a):  # c\n    pass\n", "-def f(a):  # c\n+def f(a, b):\n", "def f(a, b):\n    pass\n"),
    "and one that comes there": beside("-x = a  # trailing\n+x = b  # new\n", "x = a  # trailing", "x = b  # new"),
    "a comment that goes from one place to another": inside("a()  # why\n    b()", "-a()  # why\n+c()\n-b()\n+b(1)  # why\n", "c()\n    b(1)  # why"),
    "a statement replaced by another keeps the comment of the line": gone("-x = a\n+print(b)\n", "x = a  # trailing", "print(b)  # trailing"),
    "the comment of a statement that is wrapped": beside("-x = a\n+if a:\n+    x = a  # n\n", "    x = a  # trailing", "    if a:\n        x = a  # n"),
    "the comment of neighbours that are wrapped": beside("-y = b\n-return x\n+if a:\n+    y = b  # n\n+    return x\n", "    y = b\n    # last\n    return x\n", "    if a:\n        y = b  # n\n        # last\n        return x\n"),
    "a comment on a context line that is wrapped is not inserted": beside("+if a:\n     x = a  # other\n", "    x = a  # trailing", "    if a:\n        x = a  # trailing"),
    "the comment of the last line of a statement": inside("x = [\n        1,  # one\n    ]  # c", "-x = [1]\n+x = [1, 2]  # n\n", "x = [\n        1,  # one\n        2,\n    ]  # n"),
    "in a one-line suite": inside("if a: x = 1  # c", "-x = 1\n+x = 2  # n\n", "if a: x = 2  # n"),
    "comments inside inserted code": inside("b()", " b()\n+x = [\n+    1,  # one\n+    # two\n+]\n", "b()\n    x = [\n        1,  # one\n        # two\n    ]"),
    "a comment inside a changed statement has no place": stays(
        "x = A(\n        1,\n    )", "-x = A(1)\n+x = A(\n+    1,\n+    2,  # two\n+)\n", State.CONFLICT, "a comment inside the new code has no place there",
    ),
    "a comment on a line of several statements has no place": stays("x = a; c()", "-x = a\n+x = b  # n\n", State.CONFLICT, "no place for the comment"),
    "an insertion below the comment of the statement below": Changed(
        "def f(a):\n    b()\n\n    # why\n    c(a)\n", " # why\n+print(a)\n c(a)\n", "def f(a):\n    b()\n\n    # why\n    print(a)\n    c(a)\n",
    ),
    "an insertion between two comments": Changed(
        "def f(a):\n    # one\n    # two\n    c(a)\n", " # one\n+print(a)\n c(a)\n", "def f(a):\n    # one\n    print(a)\n    # two\n    c(a)\n",
    ),
    "an insertion below a comment below the statement above": Changed(
        "def f(a):\n    b()\n\n    # why\n    c(a)\n", " b()\n # why\n+print(a)\n", "def f(a):\n    b()\n\n    # why\n    print(a)\n    c(a)\n",
    ),
    "an insertion below a comment that the file does not have": Changed(
        "def f(a):\n    b()\n    # so\n    c(a)\n", " # why\n+print(a)\n c(a)\n", "def f(a):\n    b()\n    print(a)\n    # so\n    c(a)\n",
    ),
    "an insertion below a statement and a comment that the file does not have": Changed(
        "def f(a):\n    b()\n    # so\n    c(a)\n", " b()\n # why\n+print(a)\n", "def f(a):\n    b()\n    print(a)\n    # so\n    c(a)\n",
    ),
    "an insertion below a comment that stands elsewhere": Changed(
        "def f(a):\n    b()\n    c(a)\n    # why\n    e()\n", " b()\n # why\n+print(a)\n", "def f(a):\n    b()\n    print(a)\n    c(a)\n    # why\n    e()\n",
    ),
    "comments on context lines are not looked at": beside(" x = a  # another\n+print(x)\n", "# trailing\n", "# trailing\n    print(x)\n"),
    "comments on removed lines are not looked at": beside("-y = b  # another\n", "    y = b\n", ""),
    "in an expression hunk": Refused("-old(1)\n+max(1)  # why\n", "a comment in an expression hunk has no place to go: write the whole statement", "# why"),
    "a comment alone": Refused(" x = 1\n+# why\n y = 2\n-z = 3\n+z = 4\n", "a comment alone is not inserted", "# why"),
    "two comments alone": Refused(" x = 1\n+# why\n+# so\n y = 2\n-z = 3\n+z = 4\n", "a comment alone is not inserted", "# why"),
    "a comment to remove": Refused(" x = 1\n-# why\n-z = 3\n+z = 4\n", "a comment alone is not removed", "# why"),
    "a change of layout": Refused("-old( 1 )\n+old(1)  \n", "the two sides differ only in layout or comments: nothing would change"),
    "a change of comments only": Refused("-x = 1  # a\n+x = 1  # b\n", "differ only in layout"),
    "a change inside a one-line suite is one": Changed("def f(a):\n    if a: x = 1\n", "-if a: x = 1\n+if a: x = 2\n", "def f(a):\n    if a: x = 2\n"),
    "a change of blank lines only": Refused(" x = 1\n+\n y = 2\n", "the hunk changes nothing"),
    "a comment is not enough to be in place": Stays("def f(a):\n    x = 1\n    # print(x)\n", " x = 1\n-print(x)\n", State.NOT_FOUND),
}  # fmt: skip
