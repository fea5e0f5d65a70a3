"""A hunk that is wrong in itself is refused when it is loaded, with file, line and a marker under the place."""

from __future__ import annotations

import pytest

from patcher.errors import PatchError
from patcher.semantic.hunk import parse_spatch
from tests.semantic.helpers import check_refused

HUNKS = {
    # name: (lines of the hunk, words of the message, what the marker stands under; "" for no marker)
    "an unbound metavariable": ("-old($X)\n+max($Y)\n", "`$Y` is not bound by the before side; bound there: $X", "$Y"),
    "an anonymous placeholder on the after side": ("-old($_)\n+max($_)\n", "`$_` stands for anything", "$_"),
    "a side that does not parse": ("-old($X\n+max($X)\n", "the before side does not parse", "old"),
    "an after side that does not parse": ("-old($X)\n+max($X))\n", "the after side does not parse", ""),
    "a mixed-case placeholder": ("-old($Xy)\n+max(1)\n", "expected `$NAME`", "$Xy"),
    "a dollar alone": ("-old($)\n+max(1)\n", "expected `$NAME`", "$"),
    "an option that is not declared": ("-old(1)\n+max($limit)\n", "the option `$limit` is not declared; declared: none", "$limit"),
    "a placeholder inside a string": ("-old('$X')\n+max(1)\n", "inside a string a `$` is text", "$X"),
    "a run that stands for nothing": ("-old(1)\n+max(1, ...)\n", "no `...` of the before side covers", "..."),
    "a run that is doubled": ("-old(...)\n+max(..., 1, ...)\n", "no `...` of the before side covers", "..."),
    "decorators that nobody names": ("-@...\n def f(...):\n", "removing any decorators with `...` is not built", "@..."),
    "a body that nobody wrote": ("-if a:\n z = 1\n", "write `-    ...` below it if it is to go", ""),
    "a comment alone": (" x = 1\n+# why\n y = 2\n-z = 3\n+z = 4\n", "a comment alone is not inserted", "# why"),
    "a comment to remove": (" x = 1\n-# why\n-z = 3\n+z = 4\n", "a comment alone is not removed", "# why"),
    "a dict or a set": ("-old({...})\n+max(1)\n", "may be a dict or a set", "..."),
    "a change that changes nothing": ("-old( 1 )\n+old(1)  \n", "differ only in layout", ""),
    "a change of comments only": ("-x = 1  # a\n+x = 1  # b\n", "differ only in layout", ""),
    "a trivial before side: return": ("-return\n+return 1\n", "too little to name a place", ""),
    "a trivial before side: a name": ("-old\n+new\n", "too little to name a place", ""),
    "a trivial before side: any statement": ("-$S\n+pass\n", "too little to name a place", ""),
    "only dots outside of the top level": (" ...\n+x = 1\n", "only in `<module>`", ""),
    "nothing but insertions": ("+x = 1\n", "the before side is empty", ""),
    "nothing but comments before": (" # here\n+x = 1\n", "the before side has no code", ""),
    "neither minus nor plus": (" x = 1\n", "changes nothing", ""),
    "a comment in an expression hunk": ("-old(1)\n+max(1)  # why\n", "has no place to go", "# why"),
    "a clause on one side only": ("-else:\n+x = 1\n", "one side begins with a clause", ""),
    "a reserved letter": ("-old(\u01c2)\n+max(1)\n", "is reserved", "\u01c2"),
}


@pytest.mark.parametrize("name", HUNKS)
def test_hunks(name: str) -> None:
    hunk, words, marked = HUNKS[name]
    lines = check_refused(hunk, words)
    if marked:
        shown, marker = lines[-2], lines[-1]
        assert shown[marker.index("^") :].startswith(marked), lines


FORMS = {
    "no file": ("Prose only.\n", 1, "found no `--- PATH` line"),
    "a hunk before the first file": ("@@ f @@\n-a.b\n+c.d\n--- p/m.py\n", 1, "before the first `--- PATH`"),
    "a file without a hunk": ("--- p/m.py\n\n--- p/n.py\n@@ f @@\n-a.b\n+c.d\n", 1, "no hunk for this file"),
    "an absolute path": ("--- /etc/m.py\n@@ f @@\n-a.b\n+c.d\n", 1, "absolute"),
    "a path that leaves the site directory": ("--- p/../../m.py\n@@ f @@\n-a.b\n+c.d\n", 1, "must not leave the site directory"),
    "a path with a drive": ("--- C:/m.py\n@@ f @@\n-a.b\n+c.d\n", 1, "without a drive"),
    "a path with backslashes": ("--- p\\m.py\n@@ f @@\n-a.b\n+c.d\n", 1, "written with `/`"),
    "something that is not Python": ("--- p/m.c\n@@ f @@\n-a.b\n+c.d\n", 1, "only Python source"),
    "a header that is not closed": ("--- p/m.py\n@@ f\n-a.b\n+c.d\n", 2, "expected `@@ SCOPE @@ FLAGS`"),
    "a scope that is no name": ("--- p/m.py\n@@ f() @@\n-a.b\n+c.d\n", 2, "expected a qualified name"),
    "an unknown flag": ("--- p/m.py\n@@ f @@ count=some\n-a.b\n+c.d\n", 2, "an unknown flag"),
    "a flag given twice": ("--- p/m.py\n@@ f @@ when-present when-present\n-a.b\n+c.d\n", 2, "given twice"),
    "a count of none": ("--- p/m.py\n@@ f @@ count=0\n-a.b\n+c.d\n", 2, "an unknown flag"),
    "a line without its sign": ("--- p/m.py\n@@ f @@\n-a.b\nc.d\n", 4, "begins with ` `, `-` or `+`"),
    "text between hunks": ("--- p/m.py\nhello\n@@ f @@\n-a.b\n+c.d\n", 2, "expected `@@ SCOPE @@`"),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms(name: str) -> None:
    text, line, words = FORMS[name]
    with pytest.raises(PatchError) as caught:
        parse_spatch(text, "case.spatch")
    assert caught.value.message.startswith(f"case.spatch:{line}: "), caught.value.message
    assert words in caught.value.message
    assert caught.value.exit_code == 2


def test_every_wrong_hunk_of_a_file_is_told_at_once() -> None:
    lines = check_refused("-old($X)\n+max($Y)\n@@ f @@\n-return\n+return 1\n", "`$Y` is not bound")
    assert any("case.spatch:6:" in line and "too little" in line for line in lines)


def test_prose_paths_scopes_and_flags_are_read() -> None:
    text = "Why.\r\n\r\n--- p/new.py\r\n--- p/old.py\r\n@@ A.*.f @@ count=2 when-present\r\n-a.b\r\n+c.d\r\n\r\n"
    prose, (file,) = parse_spatch(text, "x")
    assert prose == "Why."
    assert file.paths == ("p/new.py", "p/old.py")
    (hunk,) = file.hunks
    assert (hunk.scope, hunk.expected, hunk.when_present, hunk.line) == ("A.*.f", 2, True, 5)
    assert hunk.lines == (("-", "a.b", 6), ("+", "c.d", 7))
