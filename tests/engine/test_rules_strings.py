"""Rule 28: a part of a string literal, as plain text."""


from patcher.engine.engine import explain
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import State
from tests.engine.helpers import Changed, Form, Refused, Stays, check_state, inside, run, stays

IN = {"flags": "in-string"}
DOC = '"""Read it.\n\n    Args:\n        a: a path.\n    """\n    x = a'
MODULE = '"""Reads old files."""\nMESSAGE = "old files"\n\n\ndef f(a="old files"):\n    "Old files, old files."\n    return "old files"\n'

RULE_28 = {
    "where another hunk renames the scope": Changed("def f(A):\n    raise A('it is old')\n", "-is old\n+is new\n@@ f @@\n-def f(...):\n+def g(...):\n", "def g(A):\n    raise A('it is new')\n", IN),
    "a message": inside("raise A('cannot load it', a)", "-cannot load\n+could not read\n", "raise A('could not read it', a)", **IN),
    "one word": inside("b('nccl', a)", "-nccl\n+gloo\n", "b('gloo', a)", **IN),
    "a string with quotes and escapes as written": inside(r"b('it\'s\told')", "-\\'s\\told\n+\\'s\\tnew\n", r"b('it\'s\tnew')", **IN),
    "text of several lines": inside(DOC, "-    Args:\n-        a: a path.\n+    Args:\n+        a: a file.\n", DOC.replace("path", "file"), **IN),
    "with lines that stay": inside(DOC, "     Args:\n-        a: a path.\n+        a: a file.\n+        b: a mode.\n", DOC.replace("a path.", "a file.\n        b: a mode."), **IN),
    "a part that goes": inside("b('SELECT a FROM old WHERE a')", "- WHERE a\n", "b('SELECT a FROM old')", **IN),
    "an f-string": inside("b(f'no {a} there: {c!r:>9}')", "- there: \n+ here, \n", "b(f'no {a} here, {c!r:>9}')", **IN),
    "what is in its braces is code": stays("b(f'no {old} there')", "-old\n+new\n", State.NOT_FOUND, "no string in it has this text", **IN),
    "and so is an f-string in them": stays("b(f'no {f\"x {a}\"} there')", "-no {f\n+in {f\n", State.NOT_FOUND, **IN),
    "as is the format": stays("b(f'no {a:>99} there')", "->99\n+>98\n", State.NOT_FOUND, **IN),
    "and no text reaches over them": stays("b(f'no {a} there')", "-no {a} there\n+no {c} there\n", State.NOT_FOUND, **IN),
    "nor from a string to the next": stays("b('no file' ' there')", "-no file there\n+nothing\n", State.NOT_FOUND, "closest, line 2: no file", **IN),
    "braces that come are code": stays("b(f'no {a} there')", "-there\n+at {c}\n", State.CONFLICT, "other code in its braces", **IN),
    "a brace in a plain string is none": inside("b('no file there')", "-there\n+at {c}\n", "b('no file at {c}')", **IN),
    "a quote that would end it": stays("b('no file there')", "-no file\n+it isn't\n", State.CONFLICT, "would end elsewhere", **IN),
    "a backslash too": stays("b('no file')", "-no file\n+no file \\\n", State.CONFLICT, "would end elsewhere", **IN),
    "a line break in a string of one line": stays("b('no file there')", "-no file\n+no\n+file\n", State.CONFLICT, "would end elsewhere", **IN),
    "a comment is no string": stays("b(a)  # cannot load", "-cannot load\n+cannot read\n", State.NOT_FOUND, **IN),
    "nor is a name": stays("cannot_load(a)", "-cannot_load\n+cannot_read\n", State.NOT_FOUND, **IN),
    "two places": stays("b('old file', 'old file')", "-old file\n+new file\n", State.AMBIGUOUS, "found 2 places", **IN),
    "two in one string": stays("b('old file, old file')", "-old file\n+new file\n", State.AMBIGUOUS, "found 2 places", **IN),
    "all of them": inside("b('old file', 'an old file')", "-old file\n+new file\n", "b('new file', 'an new file')", flags="in-string count=all"),
    "when-present": stays("b(a)", "-old file\n+new file\n", State.NOT_NEEDED, flags="in-string when-present"),
    "the after text stands there": stays("b('new file')", "-old file\n+new file\n", State.UPSTREAM, **IN),
    "one word proves nothing": stays("b('gloo')", "-nccl\n+gloo\n", State.NOT_FOUND, **IN),
    "nor does a part of what was there": stays("b('no file')", "-no file at all\n+no file\n", State.NOT_FOUND, **IN),
    "text with more around it": inside("b('no file')", "-no file\n+no file there\n", "b('no file there')", **IN),
    "one word as well": inside("b('nccl')", "-nccl\n+nccl2\n", "b('nccl2')", **IN),
    "which stands there": stays("b('no file there')", "-no file\n+no file there\n", State.UPSTREAM, **IN),
    "the closest text": stays("b('cannot lode files')", "-cannot load files\n+no files\n", State.NOT_FOUND, "closest, line 2: cannot lode files", **IN),
    "the module's own": Changed(MODULE, "-Reads old files\n+Reads new files\n", MODULE.replace("Reads old", "Reads new"), {"scope": "<module>", **IN}),
    "defaults with it, and no bodies": Stays(MODULE, "-old files\n+new files\n", State.AMBIGUOUS, "(lines 1, 2, 5)", {"scope": "<module>", **IN}),
    "bytes": inside(r"b(b'\x00old')", "-\\x00old\n+\\x00new\n", r"b(b'\x00new')", **IN),
    "which cannot hold all": stays("b(b'an old one')", "-an old\n+ein gr\u00f6\u00dferer\n", State.CONFLICT, "does not parse", **IN),
    "too little": Refused("-a \n+b c\n", "too little to name a place", how=IN),
    "the same": Refused("-old file\n+old file\n", "the same text", how=IN),
    "twice": Form("--- p/m.py\n@@ f @@ in-string in-string\n-old\n+new\n", 2, "a flag given twice"),
    "no before side": Form("--- p/m.py\n@@ f @@ in-string\n+new\n", 2, "the before side is empty"),
}  # fmt: skip




def test_rule_28_line_breaks_are_those_of_the_file() -> None:
    result = run('def f():\r\n    """One\r\n    two."""\r\n', "-One\n-    two.\n+One,\n+    and two.\n", **IN)  # type: ignore[arg-type]
    assert result.data == b'def f():\r\n    """One,\r\n    and two."""\r\n'


def test_rule_28_explain_shows_the_closest_text() -> None:
    hunks = parse_spatch("--- p/m.py\n@@ f @@ in-string\n-cannot load files\n+no files\n", "case.spatch")[1][0].hunks
    for source, words in (("'cannot lode files'", "closest, line 2: cannot lode files"), ("'else'", "looked for: cannot load files")):
        (one,) = explain(f"def f():\n    return {source}\n".encode(), hunks, {})
        assert (one.state, one.problem.split("\n")[1]) == (State.NOT_FOUND, words)
    (one,) = explain(b"def f():\n    return 'cannot load files'\n", hunks, {})
    assert ([spot.line for spot in one.matches], len(one.splices)) == ([2], 1)


def test_rule_28_two_hunks_in_one_string() -> None:
    source = "def f():\n    return 'one and two and three'\n"
    result = run(source, "-one\n+first\n@@ f @@ in-string\n-three\n+third\n", **IN)  # type: ignore[arg-type]
    assert result.data.decode() == source.replace("one", "first").replace("three", "third")
    both = "-one and two\n+one and second\n@@ f @@ in-string\n-one\n+first\n"
    check_state(source, both, State.CONFLICT, "two changes of this patchset meet at line 2", **IN)
