"""Rule 28: the statements that have to enclose a place."""


from patcher.engine.explain import explain
from patcher.engine.find import surroundings
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import inside_flag, parse_spatch
from patcher.engine.spatch.pattern import compile_hunks
from patcher.model import State
from tests.engine.helpers import HEAD, Changed, Form, inside, stays

CALL = "-b(a)\n+c(a)\n"
STATEMENT = "-x = b(a)\n+x = c(a, 1)\n"
BOTH = "x = b(a)\n    for i in a:\n        if i:\n            x = b(a)\n        else:\n            d(x = b(a) if a else 1)"
MODULE = "if x:\n    y = old()\n\n\ndef f():\n    if x:\n        y = old()\n\n\nclass A:\n    def f(self):\n        y = old()\n"
EACH = {
    "class": "class B:\n        x = b(a)",
    "def": "def g():\n        x = b(a)",
    "async def": "async def g():\n        x = b(a)",
    "for": "for i in d:\n        x = b(a)",
    "for else": "for i in d:\n        pass\n    else:\n        x = b(a)",
    "if": "if d:\n        x = b(a)",
    "elif": "if d:\n        pass\n    elif c:\n        x = b(a)",
    "else": "if d:\n        pass\n    else:\n        x = b(a)",
    "try": "try:\n        x = b(a)\n    finally:\n        pass",
    "except": "try:\n        pass\n    except A:\n        x = b(a)",
    "finally": "try:\n        pass\n    finally:\n        x = b(a)",
    "while": "while d:\n        x = b(a)",
    "with": "with d:\n        x = b(a)",
    "on the line of its header": "if d: x = b(a)",
}
WORDS = {"async def": "def", "for else": "for", "elif": "if", "else": "if", "except": "try", "finally": "try", "on the line of its header": "if"}

RULE_28 = {
    **{
        f"in {name}": inside(code, STATEMENT, code.replace("x = b(a)", "x = c(a, 1)"), flags=f"inside={WORDS.get(name, name)}")
        for name, code in EACH.items()
    },
    "none around it": inside(BOTH, STATEMENT, BOTH.replace("x = b(a)\n    for", "x = c(a, 1)\n    for"), flags="inside=scope"),
    "two, the outermost first": inside(BOTH, STATEMENT, BOTH.replace("x = b(a)\n        else", "x = c(a, 1)\n        else"), flags="inside=for/if"),
    "another order": stays(BOTH, STATEMENT, State.NOT_FOUND, "with `inside=scope` and not `inside=if/for`", flags="inside=if/for"),
    "fewer": stays(BOTH, STATEMENT, State.NOT_FOUND, "and not `inside=for`", flags="inside=for"),
    "an expression": inside("b(a)\n    if d:\n        b(a)", CALL, "b(a)\n    if d:\n        c(a)", flags="inside=if"),
    "in a header it is not inside": inside("if b(a):\n        b(a)", CALL, "if c(a):\n        b(a)", flags="inside=scope"),
    "that of an elif is": inside("if b(a):\n        d\n    elif b(a):\n        d", CALL, "if b(a):\n        d\n    elif c(a):\n        d", flags="inside=if"),
    "done elsewhere is not done here": stays("x = c(a, 1)", STATEMENT, State.NOT_FOUND, flags="inside=if"),
    "done there": stays("if d:\n        x = c(a, 1)", STATEMENT, State.UPSTREAM, flags="inside=if"),
    "wrapped by the hunk": inside("x = b(a)", "-x = b(a)\n+if a:\n+    x = b(a)\n", "if a:\n        x = b(a)", flags="inside=scope"),
    "when-present": stays("x = b(a)", STATEMENT, State.NOT_NEEDED, flags="inside=if when-present"),
    "all of those": inside("b(a), b(a)\n    if d: b(a)", CALL, "c(a), c(a)\n    if d: b(a)", flags="inside=scope count=all"),
    "the top level": Changed(MODULE, "-y = old()\n+y = old(1)\n", MODULE.replace("old()", "old(1)", 1), {"scope": "<module>", "flags": "inside=if"}),
    "the scope's own are not counted": Changed(MODULE, "-y = old()\n+y = old(1)\n", MODULE[:-6] + "old(1)\n", {"scope": "A.f", "flags": "inside=scope"}),
    "of a class": Changed(MODULE, "-y = old()\n+y = old(1)\n", MODULE[:-6] + "old(1)\n", {"scope": "A", "flags": "inside=def"}),
    "the scope itself": Changed(f"{HEAD}x = a\n", "-def f(...):\n+def f(..., y=1):\n", "def f(a, b, c, d, A, x=0, y=1):\n    x = a\n", {"flags": "inside=scope"}),
    "no keyword": Form("--- p/m.py\n@@ f @@ inside=loop\n-old\n+new\n", 2, "an unknown flag"),
    "nothing": Form("--- p/m.py\n@@ f @@ inside=\n-old\n+new\n", 2, "an unknown flag"),
    "twice": Form("--- p/m.py\n@@ f @@ inside=if inside=for\n-old\n+new\n", 2, "a flag given twice"),
}  # fmt: skip




def test_rule_28_a_match_statement_is_changed_whether_or_not_this_python_knows_it() -> None:
    code = b"def f(a):\n    match a:\n        case 1:\n            x = b(a)\n"
    patch = f"--- p/m.py\n@@ f @@ inside=match\n{STATEMENT}"
    (explanation,) = explain(code, parse_spatch(patch, "p")[1][0].hunks, {}, ["b", "c"])
    assert explanation.state is State.APPLICABLE


def test_rule_28_the_flag_is_read_as_written() -> None:
    for flag in ("inside=scope", "inside=if", "inside=for/if/try"):
        hunk = parse_spatch(f"--- p/m.py\n@@ f @@ {flag}\n{STATEMENT}", "p")[1][0].hunks[0]
        assert hunk.flags.inside is not None and inside_flag(hunk.flags.inside) == flag


def test_rule_28_the_text_around_the_first_statement_of_a_file_stays() -> None:
    (hunk,) = compile_hunks(parse_spatch("--- p/m.py\n@@ <module> @@\n-y = old()\n+y = new()\n", "p")[1][0].hunks, {})
    assert [keywords for _, keywords in surroundings(Source(MODULE.encode()), hunk)] == [("if",)]
