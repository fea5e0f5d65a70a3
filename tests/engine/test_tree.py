"""What the engine tells code that writes patches: a file's tree, where its code begins and ends, what a node is."""

import argparse
import ast
import dataclasses
from pathlib import Path

import pytest

from patcher.engine.lex import LAYOUT, tokens
from patcher.engine.node import Node
from patcher.engine.parsing import parse_source
from patcher.engine.tree import SyntaxProblem, Tree

SOURCE = "def f(a):  # one\n    # two\n    return g(a, 'x')\n\n\ny = 1\n"


@pytest.mark.parametrize("data", [SOURCE.encode(), b"\xef\xbb\xbf" + SOURCE.encode(), b"# coding: latin-1\nx = '\xe9'\n"])
def test_a_text_of_a_file_becomes_its_bytes_again(data: bytes) -> None:
    tree = Tree(data)
    assert tree.encoded(tree.text) == tree.data == data


def test_code_lies_between_layout_and_comments() -> None:
    tree = Tree(SOURCE.encode()).whole()
    colon, returned, end = SOURCE.index(":") + 1, SOURCE.index("return"), SOURCE.index("\n\n\ny")
    assert tree.header_end(tree.root.items("body")[0]) == colon
    assert [tree.code_before(offset) for offset in (0, colon, returned, end)] == [0, colon, colon, end]
    assert [tree.code_from(offset) for offset in (0, colon, end, len(SOURCE))] == [0, returned, SOURCE.index("y ="), len(SOURCE)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# one\n\n",
        SOURCE,
        "x = 1  # one\n\n@a(  # two\n    b)\nclass C:\n    # three\n    @d\n    # four\n    def f(self):\n        return \"\"\"\n# no\n\"\"\"  # five\n\n    y = 2\n# six\n",
        "if a:\n    def f(): pass  # one\nelse:  # two\n    def f(): pass; x = [\n    # three\n    ]\n",
        "x = 1; y = 2  # one\n\x0cdef f():\n    # two\n    pass\n",
    ],
)  # fmt: skip
def test_code_is_looked_for_from_the_nearest_statement_and_is_that_of_the_whole_text(text: str) -> None:
    tree = Tree(text.encode())
    code = [token for token in tokens(text) if token.kind not in LAYOUT]
    for offset in range(len(text) + 1):
        assert tree.code_before(offset) == max((token.end for token in code if token.end <= offset), default=0)
        assert tree.code_from(offset) == min((token.start for token in code if token.start >= offset), default=len(text))


@pytest.mark.parametrize(
    ("code", "is_identity"),
    [("x", True), ("a.b.c", True), ("'x'", True), ("-1", True), ("k=a.b", True), ("g()", False), ("g().b", False), ("a + b", False)],
)
def test_an_identity_is_a_literal_or_a_name(code: str, is_identity: bool) -> None:
    call = Tree(f"f({code})\n".encode()).root.items("body")[0].node("value")
    assert call.items("args")[0].is_identity is is_identity


def test_a_text_that_is_not_python_is_refused() -> None:
    with pytest.raises(SyntaxProblem):
        Tree(b"def f(:\n").whole()


NESTED = '''\
"""Doc."""
import a; import b

@decorated(
    1,
)
class A(B, metaclass=M):  # comment
    """Doc."""
    # comment

    x = 1; y = (2)

    @property
    async def f(self) -> int: return 1

    class Inner:
        pass; pass

    def g(self):
        class Local: pass
        return """
  text
"""  # comment
    # at the end

class Short: x = 1; y = 2
if a:
    def h(): ...
else:
    pass
'''


def spans(node: Node) -> list:
    """All nodes below one, each with its range and its parent's kind."""
    return [(each.kind, each.begin, each.outer_start, each.start, each.end, each.outer_end, each.name, *each.fields) for each in node.walk()]


@pytest.mark.parametrize("data", [NESTED.encode(), NESTED.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + NESTED.encode()])
def test_definitions_read_on_demand_are_those_of_the_whole_file(data: bytes) -> None:
    tree = Tree(data).whole()
    whole = parse_source(tree.text, newline=tree.lines.newline)
    assert spans(tree.root)[1:] == spans(whole)[1:]
    assert repr(tree.root) == repr(whole)
    for node in tree.root.walk():
        for child in node.children():
            assert child.parent is node


def test_a_real_file_read_in_parts_is_the_same() -> None:
    for module in (argparse, ast, dataclasses):
        tree = Tree(Path(module.__file__).read_bytes()).whole()
        assert spans(tree.root)[1:] == spans(parse_source(tree.text))[1:]
