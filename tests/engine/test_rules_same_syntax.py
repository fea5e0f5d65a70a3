"""Rules 8 to 10: what counts as the same syntax, and what is not looked at."""


from patcher.model import State
from tests.engine.helpers import Case, Changed, Refused, Stays, inside, stays


def same(code: str, pattern: str) -> Case:
    """The pattern finds the code."""
    rows = "".join(f"-{row}\n" for row in f"x = {pattern}".split("\n"))
    return inside(f"x = {code}", f"{rows}+x = None\n", "x = None")


def different(code: str, pattern: str) -> Case:
    """The pattern does not find the code."""
    return stays(f"x = {code}", f"-x = {pattern}\n+x = None\n", State.NOT_FOUND, options={"limit": 1})


# Layout, comments, redundant parentheses, trailing commas, quotes and prefixes, order of keywords; numbers and async as written.
RULE_8 = {
    "blanks of a string": stays("x = A(' a')", "-A('a')\n+max('a')\n", State.NOT_FOUND),
    "quotes of both kinds in an f-string": stays("x = A(f\"\"\"'''a\"{b}\"\"\")", "-A(f\"\"\"'''b\"{b}\"\"\")\n+max(b)\n", State.NOT_FOUND),
    "an escape that Python warns of, which becomes another one": inside(r"x = A('\d+ \d')", "-A('\\d+ \\d')\n+A(r'\\d+ \\d')\n", r"x = A(r'\d+ \d')"),
    "it is in place where it is raw": stays(r"x = A(r'\d+ \d')", "-A('\\d+ \\d')\n+A(r'\\d+ \\d')\n", State.UPSTREAM),
    "or doubled": stays(r"x = A('\\d+ \\d')", "-A('\\d+ \\d')\n+A(r'\\d+ \\d')\n", State.UPSTREAM),
    "of several strings": inside("x = A('\\d+' '\\\\.')", "-A('\\d+\\\\.')\n+A(r'\\d+\\.')\n", "x = A(r'\\d+\\.')"),
    "of an f-string": inside(r"x = A(f'{a}\d+ \d')", "-A(f'{a}\\d+ \\d')\n+A(rf'{a}\\d+ \\d')\n", r"x = A(rf'{a}\d+ \d')"),
    "of one that is raw already": stays(r"x = A(rf'{a}\d+ \d')", "-A(f'{a}\\d+ \\d')\n+A(rf'{a}\\d+ \\d')\n", State.UPSTREAM),
    "of one in several strings": inside("x = A('\\d+' f'{a}')", "-A('\\d+' f'{a}')\n+A(r'\\d+' f'{a}')\n", "x = A(r'\\d+' f'{a}')"),
    "of one above another string": inside("x = A(f'{a}\\d+' ' b')", "-A(f'{a}\\d+' ' b')\n+A(rf'{a}\\d+' ' b')\n", "x = A(rf'{a}\\d+' ' b')"),
    "of bytes": inside(r"x = A(b'\u+ \N')", "-A(b'\\u+ \\N')\n+A(rb'\\u+ \\N')\n", r"x = A(rb'\u+ \N')"),
    "letters of which Python knows the small ones": inside(r"x = A('\A \B')", "-A('\\A \\B')\n+A(r'\\A \\B')\n", r"x = A(r'\A \B')"),
    "one that Python knows is no other one": same(r"A('\N{DIGIT ONE}\u0041')", "A('1A')"),
    "escapes of names are known": Refused("-A('\\u0041 \\N{DIGIT ONE}', $X)\n+A('A 1', $X)\n", "nothing would change"),
    "not in bytes": inside(r"x = A(b'\U+ \u')", "-A(b'\\U+ \\u')\n+A(rb'\\U+ \\u')\n", r"x = A(rb'\U+ \u')"),
    "it may be either where it is not about that": inside(r"x = A(r'\d+', 1)", "-A('\\d+', $X)\n+max('\\d+')\n", r"x = max(r'\d+')"),
    "and the other way round": inside(r"x = A('\d+', 1)", "-A(r'\\d+', $X)\n+max($X)\n", "x = max(1)"),
    "an escape that Python warns of": inside(r"x = A('\d')", "-A($X)\n+max($X)\n", r"x = max('\d')"),
    "a subscript with a comma is another one": inside("x = b[1,]\n    c = b[1]", "-b[1]\n+b[2]\n", "x = b[1,]\n    c = b[2]"),
    "a comma that goes": inside("x = b[1,]", "-b[1,]\n+b[1]\n", "x = b[1]"),
    "a comma that comes": inside("x = b[1]", "-b[1]\n+b[1,]\n", "x = b[1,]"),
    "a second index": inside("x = b[1,]", "-b[$X,]\n+b[$X, 2]\n", "x = b[1, 2,]"),
    "blanks, line breaks and comments": same("A(1,\n        # c\n        b)", "A(1, b)"),
    "a line break and a comment behind an operator": same("A(not \\\n        a, - # c\n        b, c + # c\n        d)", "A(not a, -b, c + d)"),
    "and inside one": same("A(a is \\\n        not b, c not # c\n        in d)", "A(a is not b, c not in d)"),
    "an operator that is exchanged, with a comment behind it": inside("x = (not # why\n        b)", "-not b\n+-b\n", "x = (- # why\n        b)"),
    "blanks and line breaks of the pattern": same("A(1, b)", "A(\n    1,\n    b\n)"),
    "redundant parentheses": same("A((1), (b))", "A(1, b)"),
    "parentheses of the pattern": same("A(1, a + b)", "A((1), (a + b))"),
    "parentheses that mean something": different("(a + b) * c", "a + b * c"),
    "trailing commas": same("A(1, b,)", "A(1, b)"),
    "a comma that means something": different("A((1,))", "A((1))"),
    "quotes": same("A('it', r'x')", 'A("it", "x")'),
    "triple quotes": same('A("""it""")', "A('it')"),
    "escapes": same(r"A('\x41')", "A('A')"),
    "a raw string of another value": different(r"A(r'\x41')", "A('A')"),
    "implicitly joined strings": same("A('a' \"b\")", "A('ab')"),
    "implicitly joined bytes": same("A(b'a' b'b')", "A(b'ab')"),
    "a string that goes on below a backslash": same('A("a\\\n  b")', 'A("a  b")'),
    "and has no line break there": different('A("a\\\n  b")', 'A("a  b\\n")'),
    "the line break of a string on two lines": different('A("""a\nb""")', 'A("ab")'),
    "the indentation of multi-line strings": same('A("""a\n          b""")', 'A("""a\n    b""")'),
    "an empty first and last line of multi-line strings": different('A("""\n    a\n    """)', 'A("""a""")'),
    "a string that is a line break": different(r"A('\n')", "A('')"),
    "a line break at the end of a string": different(r"A('a\n')", "A('a')"),
    "a line break at the start of a joined string": different(r"A('\na' 'b')", "A('a' 'b')"),
    "blanks after a line break in a string of one line": different(r"A('a\n  b')", r"A('a\n b')"),
    "multi-line strings with other text": different('A("""a\n          b""")', 'A("""a\\n    c""")'),
    "f-strings part by part": same("A(f'{a}' 'x')", 'A(f"{ a }x")'),
    "an f-string's escaped braces": same("A(f'{{{a}}}')", 'A(f"{{" f"{a}}}")'),
    "a subscript with and without parentheses": same("A[(1, 2)]", "A[1, 2]"),
    "order of keyword arguments": same("A(a=1, b=2)", "A(b=2, a=1)"),
    "order of keyword arguments of a class": Changed("class f(a, k=1, j=2): x = 1\n", "-class f(a, j=2, k=1):\n+class f(a, j=2, k=3):\n", "class f(a, k=3, j=2): x = 1\n"),
    "order of positional arguments": different("A(a, b)", "A(b, a)"),
    "a keyword is not a positional argument": different("A(a=1)", "A(1)"),
    "a number written another way": different("A(0x10)", "A(16)"),
    "a number with underscores": different("A(1_000)", "A(1000)"),
    "bytes are not text": different("A(b'x')", "A('x')"),
    "one expression is not a starred one": different("A(*a)", "A($X)"),
    "another operator": different("A(a - b)", "A(a + b)"),
    "not in is not in": different("a not in b", "a in b"),
    "not in over several blanks": same("a not   in b", "a not in b"),
    "the same name twice is the same syntax": different("A(a, b)", "A($X, $X)"),
    "a subscript's dots are a literal": different("A[1]", "A[...]"),
    "a conversion in an f-string": different("A(f'{a!r}')", "A(f'{a}')"),
    "a format in an f-string": different("A(f'{a:>3}')", "A(f'{a}')"),
    "a debugging `=` in an f-string": different("A(f'{a=}')", "A(f'{a}')"),
    "blanks around a debugging `=`, which are shown": different("A(f'{a=}')", "A(f'{a =}')"),
    "blanks behind a debugging `=`": different("A(f'{a=!r:>3}')", "A(f'{a= !r:>3}')"),
    "blanks before a debugged expression": different("A(f'{a=}')", "A(f'{ a=}')"),
    "blanks in a format that debugs nothing": same("A(f'{a!r}')", "A(f'{ a !r}')"),
    "an option matches literals only": different("A(a)", "A($limit)"),
    "one-line suites and blocks": inside("if a: b()\n    c()", "-if a:\n-    b()\n", "c()"),
    "one-line suites and blocks, as one metavariable": inside("if a: b()\n    if a:\n        b()\n    c()", " $S\n-$S\n c()\n", "if a: b()\n    c()"),
    "async as written": stays("def g(): return a", "-async def g():\n+async def g(b=1):\n", State.NOT_FOUND),
    "not async as written": stays("async def g(): return a", "-def g():\n+def g(b=1):\n", State.NOT_FOUND),
}  # fmt: skip

# Chains and clauses are flat lists.
RULE_9 = {
    "chains of and": same("A(a and (b and c))", "A(a and b and c)"),
    "chains of or": same("A((a or b) or c)", "A(a or b or c)"),
    "parentheses that the hunk writes": different("A(a or b or c)", "A((a or b) or c)"),
    "other parentheses than the hunk writes": different("A(a or (b or c))", "A((a or b) or c)"),
    "parentheses in parentheses": same("A(((a or b) or c) or d)", "A(((a or b) or c) or d)"),
    "parentheses that the change puts": inside("x = a or (b or c)", "-a or b or c\n+(a or b) or c\n", "x = (a or b) or c"),
    "parentheses that the change takes away": inside("x = (a or b) or c", "-(a or b) or c\n+a or b or c\n", "x = a or b or c"),
    "or is not and": different("A(a or b)", "A(a and b)"),
    "a chain is matched completely": different("A(a and b and c)", "A(a and b)"),
    "an elif without the if": inside("if a: b\n    elif c: d\n    else: A", "-elif c:\n+elif b:\n", "if a: b\n    elif b: d\n    else: A"),
    "an if with some of its clauses": inside("if a: b\n    elif c: d\n    elif d: b\n    else: A()", " if a:\n     ...\n-elif d:\n+elif x:\n", "if a: b\n    elif c: d\n    elif x: b\n    else: A()"),
    "handlers": inside("try: a\n    except A: b\n    except b: c\n    except c: d", " except A:\n     ...\n-except b:\n+except d:\n     ...\n", "try: a\n    except A: b\n    except d: c\n    except c: d"),
    "cases": inside("match a:\n        case 1: b\n        case 2: c\n        case 3: d", "-case 2:\n+case 4:\n", "match a:\n        case 1: b\n        case 4: c\n        case 3: d"),
}  # fmt: skip

# What is not written is not looked at, and keeps its bytes.
RULE_10 = {
    "an annotation": inside("x: int = A()", "-x = A()\n+x = max()\n", "x: int = max()"),
    "an else": inside("if a:\n        b\n    else:\n        c", "-if a:\n+if b:\n     ...\n", "if b:\n        b\n    else:\n        c"),
    "a handler": inside(
        "try:\n        A()\n    except A:\n        pass\n    finally:\n        b",
        " try:\n-    A()\n+    max()\n except A:\n     ...\n",
        "try:\n        max()\n    except A:\n        pass\n    finally:\n        b",
    ),
    "decorators, annotations, docstring": Changed(
        '@staticmethod\ndef f(a: int,  b=2, **kw) -> int:\n    """Doc."""\n    return a\n',
        "-def f(a, ...):\n+def f(a, ..., c=3):\n",
        '@staticmethod\ndef f(a: int,  b=2, c=3, **kw) -> int:\n    """Doc."""\n    return a\n',
    ),
    "bases": Changed("class f(A, k=1):\n    x = 1\n", " class f:\n-    x = 1\n+    x = 2\n", "class f(A, k=1):\n    x = 2\n"),
    "type parameters": Changed("def f[T](a: T):\n    pass\n", "-def f(a):\n+def f(a, b=1):\n", "def f[T](a: T, b=1):\n    pass\n"),
    "a written annotation is looked at": stays("x: int = A()", "-x: str = A()\n+x = max()\n", State.NOT_FOUND),
    "a written base is looked at": Stays("class f(A): x = 1\n", "-class f(B):\n+class f(C):\n", State.NOT_FOUND),
    "written decorators are a subsequence": Changed("@a\n@b\n@c\ndef f(): pass\n", " @a\n-@c\n+@a\n def f():\n", "@a\n@b\n@a\ndef f(): pass\n"),
    "in their order": Stays("@a\n@b\ndef f(): pass\n", " @b\n-@a\n def f():\n", State.NOT_FOUND),
    "a default is looked at": stays("def g(a=1): return a", "-def g(a):\n+def g(b):\n", State.NOT_FOUND),
    "a handler without a name is not one with": stays("try: a\n    except A as e: b", "-except A:\n+except (A, b):\n", State.NOT_FOUND),
    "a handler with a name is not one without": stays("try: a\n    except A: b", "-except A as $E:\n+except b as $E:\n", State.NOT_FOUND),
    "a star of a signature is written or lies in a run": stays("def g(a, *, b): c", "-def g(a, b):\n+def g(b):\n", State.NOT_FOUND),
    "a slash too": stays("def g(a, /, b): c", "-def g(a, b):\n+def g(b):\n", State.NOT_FOUND),
    "a star that is written": inside("def g(a, *, b): c", "-def g(a, *, b):\n+def g(a, *, b=1):\n", "def g(a, *, b=1): c"),
    "a star and a slash in a run": inside("def g(a, /, *, b): c", "-def g(..., b):\n+def g(..., b=1):\n", "def g(a, /, *, b=1): c"),
}  # fmt: skip
