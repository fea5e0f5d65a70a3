"""What comes out: format rules 6 to 16 and 18 to 20, one table each. Read a case as: source, hunk, result."""

from __future__ import annotations

import pytest

from patcher.model import State
from tests.semantic.helpers import check_state, check_transformed

EXPRESSIONS = {
    "an expression is replaced wherever it stands": (
        "def f(s):\n    if s.is_cuda:\n        pass\n    elif s.is_musa: g(s.is_musa2)\n",
        '-s.is_musa\n+getattr(s, "is_musa", False)\n',
        'def f(s):\n    if s.is_cuda:\n        pass\n    elif getattr(s, "is_musa", False): g(s.is_musa2)\n',
    ),
    "nested functions belong to the scope": (
        "def f():\n    def g():\n        return old(1)\n",
        "-old($X)\n+abs($X)\n",
        "def f():\n    def g():\n        return abs(1)\n",
    ),
    "what stays keeps its bytes": (
        "def f(a):\n    return old( a ,  b=( 1 ), # note\n        )\n",
        "-old($A, b=1)\n+max($A, b=1)\n",
        "def f(a):\n    return max( a ,  b=( 1 ), # note\n        )\n",
    ),
    "a bound expression is put in parentheses where precedence needs it": (
        "def f(a, b):\n    return old(a or b)\n",
        "-old($X)\n+$X.real\n",
        "def f(a, b):\n    return (a or b).real\n",
    ),
    "the new expression is put in parentheses where its place needs it": (
        "def f(a, b):\n    return -old(a)\n",
        "-old($X)\n+$X + 1\n",
        "def f(a, b):\n    return -(a + 1)\n",
    ),
    "a tuple is put in parentheses": (
        "def f(a):\n    for x in old, a:\n        pass\n",
        "-for x in $T:\n+for x in list($T):\n     ...\n",
        "def f(a):\n    for x in list((old, a)):\n        pass\n",
    ),
    "a generator is put in parentheses": (
        "def f(a):\n    return old(x for x in a)\n",
        "-old($X)\n+max($X, default=1)\n",
        "def f(a):\n    return max((x for x in a), default=1)\n",
    ),
    "a multi-line expression that loses its brackets gets parentheses": (
        "def f(a, b):\n    return old(a +\n        b)\n",
        "-return old($X)\n+return $X\n",
        "def f(a, b):\n    return (a +\n        b)\n",
    ),
    "an integer gets parentheses before a dot": (
        "def f():\n    return old(1)\n",
        "-old($X)\n+$X.real\n",
        "def f():\n    return (1).real\n",
    ),
    "an operator alone is replaced": (
        "def f(a, b):\n    return a  <  b\n",
        "-a < b\n+a <= b\n",
        "def f(a, b):\n    return a  <=  b\n",
    ),
    "both arguments change places": (
        "def f(a, b):\n    return old(a, b)\n",
        "-old($A, $B)\n+max($B, $A)\n",
        "def f(a, b):\n    return max(b, a)\n",
    ),
    "an option is written as a literal": (
        "def f():\n    return old()\n",
        "-old()\n+max($limit, 1)\n",
        "def f():\n    return max(-3, 1)\n",
    ),
    "a string keeps its quotes": (
        "def f():\n    return old('x', \"y\")\n",
        '-old("x", $Y)\n+max("x", $Y)\n',
        "def f():\n    return max('x', \"y\")\n",
    ),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(name: str) -> None:
    check_transformed(*EXPRESSIONS[name], options={"limit": -3})


SAME_SYNTAX = {
    "blanks, line breaks and comments": ("old(1,\n        # c\n        b)", "old(1, b)"),
    "redundant parentheses": ("old((1), (b))", "old(1, b)"),
    "trailing commas": ("old(1, b,)", "old(1, b)"),
    "quotes": ("old('it', r'x')", 'old("it", "x")'),
    "implicitly joined strings": ("old('a' \"b\")", "old('ab')"),
    "multi-line strings after cleandoc": ('old("""a\n          b""")', 'old("""a\n    b""")'),
    "f-strings part by part": ("old(f'{a}' 'x')", 'old(f"{ a }x")'),
    "order of keyword arguments": ("old(a=1, b=2)", "old(b=2, a=1)"),
    "chains of and as flat lists": ("old(a and (b and c))", "old(a and b and c)"),
    "a subscript with and without parentheses": ("old[(1, 2)]", "old[1, 2]"),
}
DIFFERENT = {
    "a number written another way": ("old(0x10)", "old(16)"),
    "bytes are not text": ("old(b'x')", "old('x')"),
    "order of positional arguments": ("old(a, b)", "old(b, a)"),
    "a keyword is not a positional argument": ("old(a=1)", "old(1)"),
    "one expression is not a starred one": ("old(*a)", "old($X)"),
    "another operator": ("old(a - b)", "old(a + b)"),
    "the same name twice is the same syntax": ("old(a, b)", "old($X, $X)"),
    "or is not and": ("old(a or b)", "old(a and b)"),
    "a subscript's dots are a literal": ("old[1]", "old[...]"),
    "a conversion in an f-string": ("old(f'{a!r}')", "old(f'{a}')"),
    "an option matches literals only": ("old(a)", "old($limit)"),
}


@pytest.mark.parametrize("name", SAME_SYNTAX)
def test_rule_8_same_syntax(name: str) -> None:
    code, pattern = SAME_SYNTAX[name]
    lines = [f"-{line}\n" for line in f"x = {pattern}".split("\n")]
    result = "def f(a, b, c):\n    x = None\n"
    check_transformed(f"def f(a, b, c):\n    x = {code}\n", "".join(lines) + "+x = None\n", result)


@pytest.mark.parametrize("name", DIFFERENT)
def test_rule_8_different_syntax(name: str) -> None:
    code, pattern = DIFFERENT[name]
    source = f"def f(a, b, c):\n    x = {code}\n"
    check_state(source, f"-x = {pattern}\n+x = None\n", State.NOT_FOUND, options={"limit": 1})


PLACEHOLDERS = {
    "any attribute": ("return old.cuda()", "-old.$X()\n+max.$X()\n", "return max.cuda()"),
    "any keyword name": ("return old(k=1)", "-old($K=$V)\n+max($K=$V)\n", "return max(k=1)"),
    "any statement": ("old()\n    x = 1\n    return x", " old()\n-$S\n+pass\n", "old()\n    pass\n    return x"),
    "an anonymous placeholder": ("return old(1, 2)", "-old($_, $X)\n+max($X)\n", "return max(2)"),
    "any import name": ("from a import b, c", "-from a import $N, c\n+from x import $N, c\n", "from x import b, c"),
    "arguments": ("return old(1, *b, k=2)", "-old(1, ...)\n+max(1, ...)\n", "return max(1, *b, k=2)"),
    "arguments before the last": ("return old(1, 2, 3)", "-old(..., $X)\n+max(..., $X)\n", "return max(1, 2, 3)"),
    "keywords that nobody named": ("return old(a=1, b=2)", "-old(..., b=$B)\n+max(..., b=$B)\n", "return max(a=1, b=2)"),
    "no argument at all": ("return old()", "-old(...)\n+max(...)\n", "return max()"),
    "elements": ("return [1, 2, 3]", "-[1, ..., 3]\n+[0, 1, ..., 3]\n", "return [0, 1, 2, 3]"),
    "dict entries": ("return {1: 2, **b}", "-{1: 2, ...}\n+{1: 3, ...}\n", "return {1: 3, **b}"),
    "imported names": ("from a import b, c", "-from a import ..., c\n+from a import ..., d\n", "from a import b, d"),
    "with-items": ("with a, b: old()", "-with ..., b:\n+with ..., c:\n     ...\n", "with a, c: old()"),
    "a run that moves": ("return old(1, 2)", "-old(...)\n+max(0, ...)\n", "return max(0, 1, 2)"),
    "a run that is removed": ("return old(1, 2)", "-old(1, ...)\n+max(1)\n", "return max(1)"),
    "the literal Ellipsis as a value": ("x = ...", "-x = ...\n+x = None\n", "x = None"),
}


@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_rules_6_and_7_placeholders(name: str) -> None:
    code, hunk, result = PLACEHOLDERS[name]
    head = "def f(a, b, c, x, d):\n    "
    check_transformed(f"{head}{code}\n", hunk, f"{head}{result}\n")


UNWRITTEN = {
    "an annotation": ("x: int = old()", "-x = old()\n+x = max()\n", "x: int = max()"),
    "an else": ("if a:\n        b\n    else:\n        c", "-if a:\n+if b:\n     ...\n", "if b:\n        b\n    else:\n        c"),
    "a handler": (
        "try:\n        old()\n    except A:\n        pass\n    finally:\n        b",
        " try:\n-    old()\n+    max()\n except A:\n     ...\n",
        "try:\n        max()\n    except A:\n        pass\n    finally:\n        b",
    ),
}


@pytest.mark.parametrize("name", UNWRITTEN)
def test_rule_10_what_is_not_written_keeps_its_bytes(name: str) -> None:
    code, hunk, result = UNWRITTEN[name]
    head = "def f(a, b, c, A, x=0):\n    "
    check_transformed(f"{head}{code}\n", hunk, f"{head}{result}\n")


HEADERS = {
    "a parameter is added, decorators, annotations and docstring stay": (
        '@staticmethod\ndef f(a: int,  b=2, **kw) -> int:\n    """Doc."""\n    return a\n',
        "-def f(a, ...):\n+def f(a, ..., c=3):\n",
        '@staticmethod\ndef f(a: int,  b=2, c=3, **kw) -> int:\n    """Doc."""\n    return a\n',
    ),
    "a default is changed": ("def f(a, b=2):\n    pass\n", "-def f(a, b=$B):\n+def f(a, b=None):\n", "def f(a, b=None):\n    pass\n"),
    "a default is added beside an annotation": (
        "def f(a, b: int):\n    pass\n", "-def f(a, b):\n+def f(a, b=None):\n", "def f(a, b: int = None):\n    pass\n",
    ),
    "a decorator is added": (
        "# about f\ndef f():\n    pass\n", "+@staticmethod\n def f():\n", "# about f\n@staticmethod\ndef f():\n    pass\n",
    ),
    "a decorator is removed": ("@a\n@b\ndef f():\n    pass\n", "-@a\n def f():\n", "@b\ndef f():\n    pass\n"),
    "a base is changed": ("class f(A, B):\n    x = 1\n", "-class f(A, ...):\n+class f(int, ...):\n", "class f(int, B):\n    x = 1\n"),
    "a name is changed": ("def f(a):\n    return a\n", "-def f(a):\n+def g(a):\n", "def g(a):\n    return a\n"),
    "a condition is changed": (
        "def f(a):\n    while a:  # loop\n        a -= 1\n", "-while a:\n+while not a:\n", "def f(a):\n    while not a:  # loop\n        a -= 1\n",
    ),
    "a return annotation is added": ("def f(a: int):\n    pass\n", "-def f(a):\n+def f(a) -> None:\n", "def f(a: int) -> None:\n    pass\n"),
    "one clause becomes another": (
        "def f(a, b):\n    if a:\n        return 1\n    else:  # rest\n        return 2\n",
        "-else:\n+elif b:\n     ...\n",
        "def f(a, b):\n    if a:\n        return 1\n    elif b:  # rest\n        return 2\n",
    ),
    "a handler is changed": (
        "def f():\n    try:\n        pass\n    except ValueError as e:\n        raise\n",
        "-except ValueError as $E:\n+except (ValueError, TypeError) as $E:\n",
        "def f():\n    try:\n        pass\n    except (ValueError, TypeError) as e:\n        raise\n",
    ),
    "a clause is added": (
        "def f(a):\n    if a:\n        return 1\n    # after\n    return 2\n",
        " if a:\n     ...\n+elif not a:\n+    return 3\n",
        "def f(a):\n    if a:\n        return 1\n    elif not a:\n        return 3\n    # after\n    return 2\n",
    ),
    "a case is changed": (
        "def f(a):\n    match a:\n        case 1:\n            pass\n        case _:\n            a = 2\n",
        "-case 1:\n+case 3:\n",
        "def f(a):\n    match a:\n        case 3:\n            pass\n        case _:\n            a = 2\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_rules_3_and_11_headers(name: str) -> None:
    check_transformed(*HEADERS[name])


BODY = "def f(a, b):\n    '''Doc.'''\n    # about x\n    x = a  # trailing\n\n    y = b\n    # last\n    return x\n"
INSERTIONS = {
    "after the statement above": (" x = a\n+print(x)\n", ("x = a  # trailing\n", "x = a  # trailing\n    print(x)\n")),
    "before the statement below, above its comments": ("+print(a)\n x = a\n", ("    # about x\n", "    print(a)\n    # about x\n")),
    "a blank line parts it from the statement above": (
        " x = a\n \n+print(x)\n y = b\n", ("\n    y = b\n", "\n    print(x)\n    y = b\n"),
    ),
    "between two statements it stands beside the upper one": (
        " x = a\n+print(x)\n y = b\n", ("x = a  # trailing\n", "x = a  # trailing\n    print(x)\n"),
    ),
    "at the beginning, after the docstring": (
        " def f(a, b):\n+    print(a)\n     ...\n", ("'''Doc.'''\n", "'''Doc.'''\n    print(a)\n"),
    ),
    "at the end of the block": (" def f(a, b):\n     ...\n+    print(a)\n", ("return x\n", "return x\n    print(a)\n")),
    "comments and blank lines come along": (
        " x = a\n+\n+# why\n+print(x)  # how\n", ("# trailing\n", "# trailing\n\n    # why\n    print(x)  # how\n"),
    ),
    "a comment belongs to the code below it": (
        "+print(a)\n+# changed\n-x = a\n+x = b\n",
        ("    # about x\n    x = a", "    print(a)\n    # about x\n    # changed\n    x = b"),
    ),
    "before the first statement of a body without docstring, above its comments": (
        "-y = b\n+for y in b:\n+    pass\n", ("    y = b\n", "    for y in b:\n        pass\n"),
    ),
    "a multi-line string does not tell the unit of indentation": (
        " x = a\n+if x:\n+    y = '''q\n+  z'''\n", ("# trailing\n", "# trailing\n    if x:\n        y = '''q\n  z'''\n"),
    ),
    "a comment below a changed line": ("-y = b\n+y = a\n+# end\n", ("    y = b\n", "    y = a\n    # end\n")),
    "a whole block, in the file's indentation": (
        " x = a\n+if x:\n+    print(x)\n", ("# trailing\n", "# trailing\n    if x:\n        print(x)\n"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INSERTIONS)
def test_rules_18_to_20_insertions(name: str) -> None:
    hunk, (old, new) = INSERTIONS[name]
    check_transformed(BODY, hunk, BODY.replace(old, new, 1))


TOP = '#!/usr/bin/env python\n# Licence.\n"""Doc."""\nfrom __future__ import annotations\n\nimport os\n\n\ndef g():\n    return os\n'
TOP_LEVEL = {
    "at the top, after docstring and future imports": (
        "+import sys\n ...\n", TOP.replace("annotations\n", "annotations\nimport sys\n", 1),
    ),
    "at the end of the file": (" ...\n+\n+\n+def h():\n+    return 1\n", TOP + "\n\ndef h():\n    return 1\n"),
    "beside an import": (" import os\n+import sys\n", TOP.replace("import os\n", "import os\nimport sys\n", 1)),
    "a header, not its body": ("-def g():\n+def g(a=1):\n", TOP.replace("g():", "g(a=1):", 1)),
    "a whole definition, when the hunk writes its body": (
        "-def g():\n-    return os\n+def g():\n+    return None\n", TOP.replace("return os", "return None", 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOP_LEVEL)
def test_rule_5_top_level(name: str) -> None:
    hunk, result = TOP_LEVEL[name]
    check_transformed(TOP, hunk, result, scope="<module>")


def test_top_level_of_a_file_without_docstring_keeps_its_first_comments_first() -> None:
    source = "# -*- coding: utf-8 -*-\n# Licence.\nimport os\n"
    check_transformed(source, "+import sys\n ...\n", source.replace("import os", "import sys\nimport os"), scope="<module>")


def test_the_body_of_a_definition_is_not_the_top_level() -> None:
    check_state(TOP, "-return os\n+return None\n import x\n", State.NOT_FOUND, scope="<module>")
    check_state(TOP, "-os.path\n+None\n", State.NOT_FOUND, scope="<module>")


REMOVALS = {
    "a statement goes with its line, neighbouring comments stay": ("-x = a\n", ("    x = a  # trailing\n", "")),
    "two statements go": ("-x = a\n-y = b\n", ("    x = a  # trailing\n\n    y = b\n", "\n")),
    "a statement is replaced in place": ("-y = b\n+print(b)\n+print(a)\n", ("    y = b\n", "    print(b)\n    print(a)\n")),
    "a changed line takes its new comment to the end of the line": (
        "-x = a\n+x = b  # sitepatch: n\n", ("x = a  # trailing", "x = b  # trailing  # sitepatch: n"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REMOVALS)
def test_removals(name: str) -> None:
    hunk, (old, new) = REMOVALS[name]
    check_transformed(BODY, hunk, BODY.replace(old, new, 1))


def test_rule_15_the_last_statement_of_a_block_becomes_pass() -> None:
    source = "def f(a):\n    if a:\n        # why\n        old()  # x\n    return a\n"
    check_transformed(source, "-old()\n", source.replace("old()", "pass"))


WRAPS = {
    "neighbours move together, with what stands between them": (
        "def f(a):\n    x = 1\n\n    # about y\n    y = 2\n    return a\n",
        "+if a:\n     x = 1\n     y = 2\n",
        "def f(a):\n    if a:\n        x = 1\n\n        # about y\n        y = 2\n    return a\n",
    ),
    "a statement": (
        "def f(a):\n    old(  a )  # why\n    return a\n",
        "-old($X)\n+if $X:\n+    old($X)\n",
        "def f(a):\n    if a:\n        old(  a )  # why\n    return a\n",
    ),
    "a run, with its comments and multi-line strings as they are": (
        "def f(a):\n    '''Doc.'''\n    x = '''1\n  2'''  # odd\n    # between\n    return x\n",
        " def f(a):\n-    ...\n+    try:\n+        ...\n+    finally:\n+        print(a)\n",
        "def f(a):\n    '''Doc.'''\n    try:\n        x = '''1\n  2'''  # odd\n        # between\n        return x\n"
        "    finally:\n        print(a)\n",
    ),
    "a context line that only moves to the right": (
        "def f(a):\n    old(a)\n    return a\n", "+if a:\n     old($X)\n", "def f(a):\n    if a:\n        old(a)\n    return a\n",
    ),
    "and back, out of a statement of several clauses, with the comments": (
        "def f(a):\n    try:\n        # c0\n        x = 1\n        # c\n    except E:\n        pass\n    return a\n",
        "-try:\n-    ...\n-except $E:\n-    ...\n+...\n",
        "def f(a):\n    # c0\n    x = 1\n    # c\n    return a\n",
    ),
    "and back": (
        "def f(a):\n    if a:\n        old(  a )\n        b = 1\n    return a\n",
        "-if a:\n-    ...\n+...\n",
        "def f(a):\n    old(  a )\n    b = 1\n    return a\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRAPS)
def test_rule_19_wrapping(name: str) -> None:
    check_transformed(*WRAPS[name])


ELEMENTS = {
    "inline": ("old(a, b)", "-old($A, $B)\n+old($A, $B, c=1)\n", "old(a, b, c=1)"),
    "one a line": ("old(\n        a,\n        b\n    )", "-old($A, $B)\n+old($A, $B, c=1)\n", "old(\n        a,\n        b,\n        c=1\n    )"),
    "one a line with a trailing comma": (
        "old(\n        a,\n        b,\n    )", "-old($A, $B)\n+old($A, $B, c=1)\n", "old(\n        a,\n        b,\n        c=1,\n    )",
    ),
    "a comment stays with its element": (
        "old(\n        a,  # one\n        b,  # two\n    )", "-old($A, $B)\n+old($A, $B, c=1)\n",
        "old(\n        a,  # one\n        b,  # two\n        c=1,\n    )",
    ),
    "a comment stays with its element, without a trailing comma": (
        "old(\n        a,\n        b  # two\n    )", "-old($A, $B)\n+old($A, $B, c=1)\n",
        "old(\n        a,\n        b,  # two\n        c=1\n    )",
    ),
    "a run keeps what stands between its elements": (
        "old(\n        a,  # one\n        # about b\n        b=1,\n    )", "-old(...)\n+max(0, ...)\n",
        "max(0, a,  # one\n        # about b\n        b=1)",
    ),
    "into an empty list": ("old()", "-old()\n+old(c=1)\n", "old(c=1)"),
    "at the front": ("old(a, b)", "-old($A, $B)\n+old(0, $A, $B)\n", "old(0, a, b)"),
    "the last one goes": ("old(a, b)", "-old($A, $B)\n+old($A)\n", "old(a)"),
    "the first one goes": ("old(a, b)", "-old($A, $B)\n+old($B)\n", "old(b)"),
    "one that has a line of its own goes": (
        "old(\n        a,\n        b,  # b\n        c,\n    )", "-old($A, $B, $C)\n+old($A, $C)\n", "old(\n        a,\n        c,\n    )",
    ),
    "a keyword goes wherever it stands": ("old(k=1, j=2)", "-old(j=$J, k=$K)\n+old(j=$J)\n", "old(j=2)"),
    "a keyword's value changes wherever it stands": ("old(k=1, j=2)", "-old(j=$J, k=$K)\n+old(j=None, k=$K)\n", "old(k=1, j=None)"),
    "the whole list": ("[1, 2]", "-[1, 2]\n+[3, 4]\n", "[3, 4]"),
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTS)
def test_rule_16_elements(name: str) -> None:
    code, hunk, result = ELEMENTS[name]
    head = "def f(a, b, c, old):\n    x = "
    if "$B)\n+old($B)" in hunk or "+old($A)\n" in hunk or "+old($A, $C)" in hunk:
        hunk = hunk.replace("-old", "-x = old").replace("+old", "+x = old")
    check_transformed(f"{head}{code}\n", hunk, f"{head}{result}\n")


def test_rule_18_the_beginning_of_a_body_is_above_the_comments_of_its_first_statement() -> None:
    source = "class f:\n    # about x\n    x = 1\n"
    check_transformed(source, " class f:\n+    y = 2\n     ...\n", source.replace("    # about", "    y = 2\n    # about"))
