"""Outside of what a hunk changes a file stays the same byte for byte, and what is not Python is refused."""

from __future__ import annotations

import pytest

from patcher.engine.engine import rewrite
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import State

BYTES = {
    "CRLF": b"def f(a):\r\n    x = old(a)\r\n    return x\r\n",
    "CRLF without the last": b"def f(a):\r\n    x = old(a)",
    "UTF-8 with BOM": b"\xef\xbb\xbfdef f(a):\n    y = '\xc3\xa9'\n    x = old(a)\n",
    "latin-1 by cookie": b"# -*- coding: latin-1 -*-\ndef f(a):\n    y = '\xe9'\n    x = old(a)\n",
    "gbk by cookie": "# coding: gbk\ndef f(a):\n    y = '\u4e2d\u6587'\n    x = old(a)\n".encode("gbk"),
    "tabs": b"def f(a):\n\tif a:\n\t\tx = old(a)\n",
    "two blanks": b"def f(a):\n  if a:\n    x = old(a)\n",
    "form feed between definitions": b"import os\n\x0c\ndef f(a):\n    x = old(a)\n",
    "form feed before the definition": b"import os\n\x0cdef f(a):\n    x = old(a)\n",
    "no newline at the end": b"def f(a):\n    x = old(a)",
    "an escape that Python warns of": b"def f(a):\n    y = '\\d'\n    x = old(a)\n",
    "BOM, ASCII alone": b"\xef\xbb\xbfdef f(a):\n    x = old(a)\n",
    "a backslash at a line's end": b"def f(a):\n    y = 1 + \\\n  2\n    x = old(a)\n",
}


@pytest.mark.parametrize("name", BYTES)
def test_outside_the_splices_every_byte_stays(name: str) -> None:
    data = BYTES[name]
    _, files = parse_spatch("--- p/m.py\n@@ f @@\n-old(a)\n+max(a, 0)\n@@ f @@\n x = $V\n+if x:\n+    print(x)\n", "case.spatch")
    result = rewrite(data, files[0].hunks, {})
    assert [answer.state for answer in result.answers] == [State.APPLICABLE] * 2, [a.problem for a in result.answers]
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    line = next(line for line in data.split(newline) if b"old(a)" in line)
    indent = line[: len(line) - len(line.lstrip())]
    unit = {"tabs": b"\t", "two blanks": b"  "}.get(name, b"    ")
    new = line.replace(b"old(a)", b"max(a, 0)") + newline + indent + b"if x:" + newline + indent + unit + b"print(x)"
    assert result.data == data.replace(line, new)
    assert rewrite(result.data, files[0].hunks, {}).data == result.data


@pytest.mark.parametrize(("first", "second"), [(b"\r\n", b"\n"), (b"\n", b"\r\n"), (b"\n", b"\r")])
def test_where_line_breaks_are_mixed_a_new_line_ends_as_the_one_beside_it(first: bytes, second: bytes) -> None:
    data = b"import os" + first + b"def f(a):" + second + b"    x = old(a)" + second
    _, files = parse_spatch("--- p/m.py\n@@ f @@\n x = old(a)\n+print(x)\n", "case.spatch")
    assert rewrite(data, files[0].hunks, {}).data == data + b"    print(x)" + second


@pytest.mark.parametrize("name", BYTES)
def test_offsets_of_characters_and_bytes(name: str) -> None:
    source = Source(BYTES[name])
    offsets = range(len(source.text) + 1)
    assert source.has_ast
    assert [source.character(source.byte(offset)) for offset in offsets] == [*offsets]
    assert [source.data[source.byte(a) : source.byte(a + 1)].decode(source.encoding) for a in offsets[:-1]] == [*source.text]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"def f(a):\n    x = old(a)\0\n", "null byte"),
        (b"def f(a:\n", "cannot be read as Python"),
        (b"def f(a):\n    x = '\xff'; old(a)\n", "not text in its encoding"),
        (b"# coding: nonsense\ndef f(a): old(a)\n", "encoding"),
    ],
)
def test_a_target_that_is_not_python_is_refused(data: bytes, words: str) -> None:
    _, files = parse_spatch("--- p/m.py\n@@ f @@\n-old(a)\n+max(a, 0)\n", "case.spatch")
    result = rewrite(data, files[0].hunks, {})
    assert result.data == data
    assert result.answers[0].state is State.CONFLICT
    assert words in result.answers[0].problem
    assert ("(line " in result.answers[0].problem) is (words == "cannot be read as Python")
