"""Encodings, line ends and layouts of target files: what a rewrite, an insertion and a deletion leave alone, and what they add.

The bytes that are expected are made from the bytes of the target alone, without any reading of Python.
"""

import re
import sys
from typing import Dict, NamedTuple, Tuple

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import Rewrite, State, apply_splices
from tests.engine.helpers import check_transformed

REWRITE = "-old(a)\n+abs(a)\n"
INSERTION = " x = old(a)\n+if x:\n+    print(x)\n"
DELETION = "-gone(a)\n x = old(a)\n"
BOTH = REWRITE + "@@ {} @@\n x = $V\n+if x:\n+    print(x)\n"
DEEP = 150 if sys.version_info >= (3, 9) else 60  # brackets; the parser of Python 3.8 itself reads less than a hundred
BOM = b"\xef\xbb\xbf"


class Layout(NamedTuple):
    """A target with `gone(a)` and, below it, `x = old(a)` on lines of their own in its function `f`.

    `newline` and `unit` are what inserted lines are to have; `scope` is where the two statements are.
    """

    data: bytes
    newline: bytes = b"\n"
    unit: bytes = b"    "
    scope: str = "f"


def text(lines: str, encoding: str = "utf-8", newline: str = "\n") -> bytes:
    return lines.replace("\n", newline).encode(encoding)


PLAIN = "import os\n\n\ndef f(a):\n    s = 'é'  # ü\n    gone(a)  # why\n    x = old(a)  # ö\n    return x\n\n\ny = 'ß'\n"
GBK = "# coding: gbk\ndef f(a):\n    s = '中文'  # 注释\n    gone(a)\n    x = old(a)\n    return '中' + x\n"
LATIN = "# -*- coding: {} -*-\n" + PLAIN
LAYOUTS: Dict[str, Layout] = {
    "UTF-8": Layout(text(PLAIN)),
    "UTF-8 with BOM": Layout(BOM + text(PLAIN)),
    "UTF-8 with BOM and CRLF": Layout(BOM + text(PLAIN, newline="\r\n"), b"\r\n"),
    "BOM before the function": Layout(BOM + b"def f(a):\n    gone(a)\n    x = old(a)\n"),
    "BOM and a cookie that agrees": Layout(BOM + text("# coding: utf-8\n" + PLAIN)),
    "cookie latin-1": Layout(text(LATIN.format("latin-1"), "latin-1")),
    "cookie latin-1 on the second line": Layout(text("#!/usr/bin/python\n" + LATIN.format("latin-1"), "latin-1")),
    "cookie iso-8859-15 in capitals": Layout(text(LATIN.format("ISO-8859-15"), "iso-8859-15")),
    "cookie cp1252 and CRLF": Layout(text(LATIN.format("cp1252"), "cp1252", "\r\n"), b"\r\n"),
    "cookie gbk": Layout(text(GBK, "gbk")),
    "cookie gbk and CRLF": Layout(text(GBK, "gbk", "\r\n"), b"\r\n"),
    "cookie gb18030": Layout(text(GBK.replace("gbk", "gb18030").replace("文", "文\U00020000"), "gb18030")),
    "cookie big5, with backslashes inside characters": Layout(text(GBK.replace("gbk", "big5").replace("中文", "功許").replace("注释", "註釋"), "big5")),
    "cookie shift_jis": Layout(text(GBK.replace("gbk", "shift_jis").replace("中文", "表ソ").replace("注释", "能"), "shift_jis")),
    "cookie euc-jp": Layout(text(GBK.replace("gbk", "euc-jp").replace("注释", "能"), "euc-jp")),
    "cookie utf-8-sig": Layout(BOM + text(LATIN.format("utf-8-sig"))),
    "no cookie on the third line": Layout(text("\n\n# coding: latin-1\n" + PLAIN)),
    "astral characters before the change": Layout(text(PLAIN.replace("'é'", "'\U0001f600\U0001f600'"))),
    "CRLF": Layout(text(PLAIN, newline="\r\n"), b"\r\n"),
    "CR": Layout(text(PLAIN, newline="\r"), b"\r"),
    "a lone CR before the change": Layout(text(PLAIN).replace(b"why\n", b"why\r")),
    "a lone CR at the change": Layout(text(PLAIN).replace(b"\xb6\n", b"\xb6\r")),
    "a lone CR after the function": Layout(b"def f(a):\n    gone(a)\n    x = old(a)\ry = 1\r"),
    "mixed line ends, LF first": Layout(text(PLAIN).replace(b"gone(a)  # why\n", b"gone(a)  # why\r\n").replace(b"x\n\n", b"x\r\n\r\n")),
    "mixed line ends, CRLF first": Layout(text(PLAIN).replace(b"os\n", b"os\r\n").replace(b"return x\n", b"return x\r\n"), b"\r\n"),
    "mixed line ends inside a string": Layout(text(PLAIN).replace(b"'\xc3\xa9'", b"'''a\r\nb\nc'''")),
    "form feed on a line of its own": Layout(text(PLAIN).replace(b"\n\ndef", b"\n\x0c\ndef").replace(b"\n\ny", b"\n\x0c\ny")),
    "form feed before another def": Layout(text(PLAIN).replace(b"\n\ny", b"\n\x0cdef g(): pass\n\ny")),
    "form feed before the first indentation": Layout(text(PLAIN).replace(b"import os\n", b"def g():\n\x0c    return 1\n")),
    "form feed in a string and a comment": Layout(text(PLAIN).replace(b"'\xc3\xa9'", b"'a\x0cb'").replace(b"why", b"w\x0cy")),
    "vertical tab, file and group separators in a string": Layout(text(PLAIN).replace(b"'\xc3\xa9'", b"'a\x0bb\x1cc\x1dd\x1ee'")),
    "NEL, U+2028 and U+2029 in strings": Layout(text(PLAIN.replace("'é'", "'a\x85b\u2028c\u2029d'").replace("ü", "\u2028 not a line"))),
    "U+2028 in a multi-line string": Layout(text(PLAIN.replace("'é'", "'''a\u2028b\n  c\x85\n'''"))),
    "a blank that is not ASCII in a comment": Layout(text(PLAIN.replace("# ü", "#\u3000\u00a0ü\u00a0"))),
    "tabs": Layout(text(PLAIN.replace("    ", "\t")), unit=b"\t"),
    "tabs, in a block": Layout(b"def f(a):\n\tif a:\n\t\tgone(a)\n\t\tx = old(a)\n\treturn a\n", unit=b"\t"),
    "an escape that Python warns of": Layout(text(PLAIN.replace("'é'", "'\\d'"))),
    "two blanks": Layout(text(PLAIN.replace("    ", "  ")), unit=b"  "),
    "one blank": Layout(text(PLAIN.replace("    ", " ")), unit=b" "),
    "eight blanks": Layout(text(PLAIN.replace("    ", " " * 8)), unit=b" " * 8),
    "a tab inside a block of eight blanks": Layout(b"def f(a):\n        if a:\n        \tgone(a)\n        \tx = old(a)\n", unit=b" " * 8),
    "tabs in one function, blanks in another": Layout(b"def g():\n\treturn 1\n\n\ndef f(a):\n    gone(a)\n    x = old(a)\n", unit=b"\t"),
    "more blanks than one unit": Layout(b"class A:\n    def f(self, a):\n          gone(a)\n          x = old(a)\n", scope="A.f"),
    "trailing blanks": Layout(text(PLAIN.replace("# why", "# why  ").replace("# ö", "# ö\t").replace("\n\n", "\n  \n"))),
    "no newline at the end": Layout(text(PLAIN)[:-1]),
    "no newline after the change": Layout(b"def f(a):\n    gone(a)\n    x = old(a)"),
    "no newline after the change, CRLF": Layout(b"def f(a):\r\n    gone(a)\r\n    x = old(a)", b"\r\n"),
    "no newline after the change, a comment": Layout(b"def f(a):\n    gone(a)\n    x = old(a)  # ok"),
    "blank lines at the end": Layout(b"def f(a):\n    gone(a)\n    x = old(a)\n\n\n\n"),
    "a backslash in an expression": Layout(b"def f(a):\n    y = 1 + \\\n  2\n    gone(a)\n    x = old(a)\n    return \\\n a\n"),
    "a backslash before the end of the header": Layout(b"def f(a, \\\n   b=1):\n    gone(a)\n    x = old(a)\n"),
    "a backslash and CRLF": Layout(b"def f(a):\r\n    y = 1 + \\\r\n  2\r\n    gone(a)\r\n    x = old(a)\r\n", b"\r\n"),
    "a backslash in a comment and a string": Layout(b"def f(a):\n    y = 'a\\\nb'  # c \\\n    gone(a)\n    x = old(a)\n"),
    "semicolons elsewhere": Layout(b"def f(a):\n    b = 1; c = 2;\n    gone(a)\n    x = old(a)\n    b; c\n"),
    "comments at the margin": Layout(b"def f(a):\n    b = 1\n# here\n    gone(a)\n    x = old(a)\n# there\n    return x\n"),
    "a string that looks like code": Layout(b"def f(a):\n    s = '''\n    x = old(b)\n'''\n    gone(a)\n    x = old(a)\n"),
    "decorators, async and annotations": Layout(b"@a(b)  # c\n@ d\nasync  def f ( a : int=1 , ) -> None :  # e\n    gone(a)\n    x = old(a)\n"),
    "a method after a string at the margin": Layout(b"class A:\n    def f(self, a):\n        s = '''\nb\n'''\n        gone(a)\n        x = old(a)\n", scope="A.f"),
    "one line of a megabyte before the function": Layout(b"DATA = [" + b"'abcdefgh', " * 90_000 + b"]\n" + text(PLAIN)),
    "a megabyte of lines around the function": Layout(b"x = 1  # some comment\n" * 25_000 + text(PLAIN) + b"x = 1  # some comment\n" * 25_000),
    "a chain of a thousand elif in another function": Layout(b"def g(a):\n    if a: pass\n" + b"    elif a: pass\n" * 1_200 + text(PLAIN)),
    "brackets nested deeply in another function": Layout(b"def g(a):\n    return " + b"(" * DEEP + b"a" + b")" * DEEP + b"\n\n\n" + text(PLAIN)),
    "blocks nested deeply": Layout(b"def f(a):\n" + b"".join(b" " * (n + 1) + b"if a:\n" for n in range(90)) + b" " * 91 + b"gone(a)\n" + b" " * 91 + b"x = old(a)\n", unit=b" "),
    "a wildcard's module level": Layout(b"from a import *\n\nif a:\n    gone(a)\n    x = old(a)\n", scope="<module>"),
    "module level with BOM and CRLF": Layout(BOM + b"'''Doc.'''\r\nfrom a import *\r\ngone(a)\r\nx = old(a)\r\n", b"\r\n", scope="<module>"),
}  # fmt: skip


def applied(data: bytes, hunk: str, scope: str = "f") -> Rewrite:
    _, files = parse_spatch(f"--- p/m.py\n@@ {scope} @@\n{hunk}", "case.spatch")
    return rewrite(data, files[0].hunks, {}, injected=["gone", "old", "a"])


def line_of(data: bytes, code: bytes) -> Tuple[int, int, bytes]:
    """The line that begins with `code`: where it starts and ends (its line break included), and its indentation."""
    at = data.index(code)
    start = max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at)) + 1
    if data.startswith(BOM) and start == 0:
        start = len(BOM)
    ended = re.compile(rb"\r\n|\r|\n").search(data, at)
    end = ended.end() if ended else len(data)
    assert not data[start:at].strip(), "the code begins its line"
    return start, end, data[start:at]


def check(layout: Layout, hunk: str, expected: bytes) -> None:
    result = applied(layout.data, hunk, layout.scope)
    assert [answer.state for answer in result.answers] == [State.APPLICABLE], result.answers[0].problem
    assert result.data == expected
    assert apply_splices(layout.data, result.splices) == expected
    assert len(result.splices) == 1
    assert applied(expected, hunk, layout.scope).data == expected, "a second application changes nothing"


EACH = [pytest.param(name, marks=[pytest.mark.once] if len(layout.data) > 100_000 else []) for name, layout in LAYOUTS.items()]


@pytest.mark.parametrize("name", EACH)
def test_a_rewrite_changes_its_expression_alone(name: str) -> None:
    layout = LAYOUTS[name]
    assert layout.data.count(b"old(a)") == 1
    check(layout, REWRITE, layout.data.replace(b"old(a)", b"abs(a)"))


@pytest.mark.parametrize("name", EACH)
def test_an_insertion_adds_whole_lines_in_the_files_own_layout(name: str) -> None:
    layout = LAYOUTS[name]
    _, end, indent = line_of(layout.data, b"x = old(a)")
    ending = re.compile(rb"[\r\n]*$").search(layout.data, 0, end)[0]  # of the line that the new ones are beside
    newline = ending or layout.newline
    new = indent + b"if x:" + newline + indent + layout.unit + b"print(x)"
    new = new + newline if ending else newline + new
    expected = layout.data[:end] + new + layout.data[end:]
    check(layout, INSERTION, expected)
    both = BOTH.format(layout.scope)  # the rewrite in the same statement as well
    result = applied(layout.data, both, layout.scope)
    assert [answer.state for answer in result.answers] == [State.APPLICABLE] * 2, result.answers
    assert result.data == expected.replace(b"old(a)", b"abs(a)") == applied(result.data, both, layout.scope).data


@pytest.mark.parametrize("name", [name for name, layout in LAYOUTS.items() if len(layout.data) < 1000])
def test_offsets_count_characters_and_bytes(name: str) -> None:
    source = Source(LAYOUTS[name].data)
    offsets = range(len(source.text) + 1)
    assert source.has_ast
    assert [source.character(source.byte(offset)) for offset in offsets] == [*offsets]
    assert [source.data[source.byte(a) : source.byte(a + 1)].decode(source.encoding) for a in offsets[:-1]] == [*source.text]


@pytest.mark.parametrize("name", EACH)
def test_a_deletion_takes_whole_lines(name: str) -> None:
    layout = LAYOUTS[name]
    start, end, _ = line_of(layout.data, b"gone(a)")
    check(layout, DELETION, layout.data[:start] + layout.data[end:])


REFUSED = {
    "a null byte": (b"def f(a):\n    x = old(a)\0\n", "null byte"),
    "a null byte in a string": (b"def f(a):\n    s = '\0'\n    x = old(a)\n", "null byte"),
    "UTF-16": ("def f(a):\n    x = old(a)\n".encode("utf-16"), "null byte"),
    "an unknown cookie": (b"# coding: klingon\ndef f(a):\n    x = old(a)\n", "unknown encoding: klingon"),
    "a codec that gives no text": (b"# coding: rot13\ndef f(a):\n    x = old(a)\n", "encoding"),
    "a codec that takes nothing": (b"# coding: undefined\ndef f(a):\n    x = old(a)\n", "undefined encoding"),
    "a codec of domain names": (b"# coding: idna\ndef f(a):\n    x = old(a)\n# a.xn--9.b\n", "idna"),
    "a cookie that contradicts the BOM": (BOM + b"# coding: latin-1\ndef f(a):\n    x = old(a)\n", "encoding problem"),
    "bytes that are not UTF-8": (b"def f(a):\n    s = '\xff'\n    x = old(a)\n", "invalid start byte"),
    "bytes that are not UTF-8 far below": (b"def f(a):\n    x = old(a)\n" + b"#\n" * 9 + b"# \xff\n", "invalid start byte"),
    "bytes that are not the cookie's": (b"# coding: ascii\ndef f(a):\n    s = '\xe9'\n    x = old(a)\n", "ordinal not in range"),
    "half a character at the end": (b"# coding: gbk\ndef f(a):\n    x = old(a)\n# \xd6", "incomplete multibyte sequence"),
    "brackets nested too deeply": (b"def f(a):\n    y = " + b"(" * 250 + b"a" + b")" * 250 + b"\n    x = old(a)\n", "nested too deeply"),
    "operators nested too deeply": (b"def f(a):\n    y = " + b"a + " * 1000 + b"a\n    x = old(a)\n", "nested too deeply"),
    "a chain of elif nested too deeply": (b"def f(a):\n    if a: pass\n" + b"    elif a: pass\n" * 1000 + b"    x = old(a)\n", "nested too deeply"),
    "attributes nested too deeply": (b"def f(a):\n    y = a" + b".b()" * 500 + b"\n    x = old(a)\n", "nested too deeply"),
    "tabs and blanks that Python refuses": (b"def f(a):\n\tif a:\n        \tx = old(a)\n    y = 1\n", "cannot be read as Python"),
    "a megabyte of operators": (b"def g(a):\n    return " + b"not " * 250_000 + b"a\n\n\ndef f(a):\n    x = old(a)\n", "nested too deeply"),
    "not Python": (b"def f(a:\n    x = old(a)\n", "cannot be read as Python"),
    "Python 2": (b"def f(a):\n    print 'a'\n    x = old(a)\n", "cannot be read as Python"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(name: str) -> None:
    data, words = REFUSED[name]
    for hunk in (REWRITE, INSERTION):
        result = applied(data, hunk)
        assert result.data == data
        assert result.splices == ()
        assert [answer.state for answer in result.answers] == [State.CONFLICT]
        assert words in result.answers[0].problem
        assert "\n" not in result.answers[0].problem
        if "nested" not in words and "tabs" not in name:
            assert ("(line " in result.answers[0].problem) is (words == "cannot be read as Python")


def test_a_lone_cr_outside_the_scope_stays() -> None:
    data = b"s = 1\rt = '''a\rb'''\n" + text(PLAIN) + b"u = 1\rv = 2\n"
    for hunk in (REWRITE, DELETION):
        result = applied(data, hunk)
        assert [answer.state for answer in result.answers] == [State.APPLICABLE], result.answers[0].problem
        assert result.data.startswith(b"s = 1\rt = '''a\rb'''\n")
        assert result.data.endswith(b"u = 1\rv = 2\n")


def test_a_form_feed_before_a_function_stays() -> None:
    data = text(PLAIN).replace(b"\n\ndef", b"\n\x0cdef")
    for hunk, new in ((REWRITE, data.replace(b"old(a)", b"abs(a)")), (DELETION, data.replace(b"    gone(a)  # why\n", b""))):
        result = applied(data, hunk)
        assert [answer.state for answer in result.answers] == [State.APPLICABLE], result.answers[0].problem
        assert result.data == new


@pytest.mark.parametrize("data", [b"", b"\n", b"# nothing\n", b"# nothing", BOM, b"\x0c", b"   ", b"\r\n"])
def test_a_file_without_code_has_no_scope_but_takes_insertions_at_its_top_level(data: bytes) -> None:
    result = applied(data, REWRITE)
    assert (result.data, [answer.state for answer in result.answers]) == (data, [State.NOT_FOUND])
    newline = b"\r\n" if data == b"\r\n" else b"\n"
    is_at_line_start = data in (b"", BOM) or data.endswith(b"\n")
    line = b"x = 1" + newline if is_at_line_start else newline + b"x = 1"
    for hunk in (" ...\n+x = 1\n", "+x = 1\n ...\n"):
        result = applied(data, hunk, "<module>")
        assert [answer.state for answer in result.answers] == [State.APPLICABLE], result.answers[0].problem
        assert result.data == data + line
        assert applied(result.data, hunk, "<module>").data == result.data


def test_code_that_the_files_encoding_cannot_hold_is_refused() -> None:
    for encoding, hunk in (
        ("latin-1", "-old(a)\n+max(a, '中')\n"),
        ("gbk", " x = old(a)\n+print('\U0001f600')\n"),
        ("ascii", " x = old(a)\n+print(a)  # é\n"),
    ):
        data = f"# coding: {encoding}\ndef f(a):\n    gone(a)\n    x = old(a)\n".encode()
        result = applied(data, hunk)
        assert result.data == data
        assert [answer.state for answer in result.answers] == [State.CONFLICT]
        assert f"cannot be written in the file's encoding: '{encoding}" in result.answers[0].problem.replace("iso-8859-1", "latin-1")
        good = applied(data, hunk.replace("中", "b").replace("\U0001f600", "b").replace("é", "e"))
        assert [answer.state for answer in good.answers] == [State.APPLICABLE]


def test_code_that_the_files_encoding_can_hold_is_written_in_it() -> None:
    data = text(GBK, "gbk")
    result = applied(data, "-old(a)\n+max(a, '汉字')\n")
    assert result.data == data.replace(b"old(a)", "max(a, '汉字')".encode("gbk"))


def test_a_spatch_with_other_line_ends_inserts_those_of_the_file() -> None:
    data = text(PLAIN, newline="\r\n")
    lf = applied(data, INSERTION).data
    assert applied(data, INSERTION.replace("\n", "\r\n")).data == lf
    assert b"\n" not in lf.replace(b"\r\n", b"")


def test_one_line_of_a_megabyte_is_changed_in_place() -> None:
    data = b"def f(a): return [" + b"'abcdefgh', " * 9_000 + b"old(a)]\n"
    result = applied(data, REWRITE)
    assert [answer.state for answer in result.answers] == [State.APPLICABLE], result.answers[0].problem
    assert result.data == data.replace(b"old(a)", b"abs(a)")
    assert sum(len(splice.new) for splice in result.splices) < 20


DECORATED = "class A:\n    @p\n    def f(self):\n        return 1\n\n    x = max(1)"


@pytest.mark.parametrize(("hunk", "expected"), [("-class A:\n+class A(dict):\n     ...\n", DECORATED.replace("class A", "class A(dict)")), ("-class A:\n-    ...\n", "")])
def test_the_header_of_a_class_ends_before_the_decorator_of_its_first_method(hunk, expected):
    check_transformed(DECORATED, hunk, expected, scope="<module>")


@pytest.mark.parametrize("comment", ["# don't", "# ''' a"])
def test_a_quote_in_a_comment_begins_no_string(comment):
    body = f"{comment}\nold(a)\ns = '''one\n  two'''\n"
    inside = body.replace("\n", "\n        ", 2)
    deeper = body.replace("\n", "\n            ", 2)
    check_transformed(
        f"def f(a):\n    if a:\n        {inside}",
        "-if a:\n-    ...\n+while a:\n+    if a:\n+        ...\n",
        f"def f(a):\n    while a:\n        if a:\n            {deeper}",
    )
