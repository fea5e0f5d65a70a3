"""What the engine tells who writes patches: a file's tree, where its code begins and ends, what a node is."""

import pytest

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
    ("code", "is_identity"),
    [("x", True), ("a.b.c", True), ("'x'", True), ("-1", True), ("k=a.b", True), ("g()", False), ("g().b", False), ("a + b", False)],
)
def test_an_identity_is_a_literal_or_a_name(code: str, is_identity: bool) -> None:
    call = Tree(f"f({code})\n".encode()).root.items("body")[0].node("value")
    assert call.items("args")[0].is_identity is is_identity


def test_what_is_no_python_is_refused() -> None:
    with pytest.raises(SyntaxProblem):
        Tree(b"def f(:\n").whole()
