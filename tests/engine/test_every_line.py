"""Every `-` and `+` line of a hunk that is accepted is part of its tree, however oddly it is indented."""

from random import Random
from typing import List, Optional, Set, Tuple

import pytest

from patcher.engine.spatch.hunk import parse_spatch
from patcher.engine.spatch.pattern import compile_hunk
from patcher.engine.spatch.side import Hunk, Side
from patcher.errors import PatchError

CODE = ["a.b", "x = 1", "if a:", "else:", "elif b:", "try:", "except E:", "finally:", "case 1:", "def g():", "g(", ")", "a,", "...", "$X", "x = $_",
        "@d", "'''", "class C: pass", "if a: b.c", "# note", "", "return y", "match a:", "x = (", "+ 1", "\\"]  # fmt: skip
INDENT = ["", "", "    ", "    ", "        ", " ", "  ", "\t", "\t\t", " \t", "\f", "            "]


def compiled(lines: List[Tuple[str, str, str]]) -> Optional[Hunk]:
    text = "".join(f"{tag}{indent}{code}\n" for tag, indent, code in lines)
    try:
        (file,) = parse_spatch(f"--- a/b.py\n@@ f @@\n{text}", "x.spatch")[1]
        return compile_hunk(file.hunks[0], {})
    except PatchError:
        return None


def check(lines: List[Tuple[str, str, str]]) -> bool:
    """Whether the hunk is accepted; then each line of it that has code lies in a node."""
    hunk = compiled(lines)
    if hunk is None:
        return False
    for side, tag in ((hunk.before, "-"), (hunk.after, "+")):
        in_nodes = numbers_in_nodes(side)
        for number, (sign, _, code) in enumerate(lines, 3):
            if sign in (" ", tag) and code and not code.startswith("#"):
                assert number in in_nodes, (number, lines)
    return True


def numbers_in_nodes(side: Side) -> Set[int]:
    """The lines of the `.spatch` that the nodes of one side take up."""
    numbers: Set[int] = set()
    for node in side.nodes:
        first = side.lines.number(node.begin)
        last = side.lines.number(max(node.begin, node.outer_end - 1))
        numbers.update(side.numbers[row - 1] for row in range(first, last + 1))
    return numbers


def test_every_line_of_an_accepted_hunk_is_accounted_for() -> None:
    check([(" ", "", "\\"), (" ", "", "# note"), ("-", "", "a.b"), ("+", "", "x = 1")])
    random = Random(1)
    accepted = 0
    for _ in range(1500):
        indents, codes = random.choices(INDENT, k=3), random.choices(CODE, k=4)  # few of each, so that more is accepted
        count = random.randint(1, 7)
        accepted += check([(random.choice(" -+"), random.choice(indents), random.choice(codes)) for _ in range(count)])
    assert accepted > 30


@pytest.mark.parametrize(
    "code",
    [
        [("-", "    ", "if a:"), ("-", "        ", "x = 1"), ("+", "", "x = 1")],
        [("-", "", "else:"), ("-", "    ", "x = 1"), ("+", "", "else:"), ("+", "\t", "x = 2")],
        [("-", "", "x = ("), ("-", "", "g("), ("-", "        ", "a,"), ("-", " ", ")"), ("-", "", ")"), ("+", "", "x = 2")],
        [(" ", "\t", "try:"), ("-", "\t\t", "a.b"), ("+", "\t    ", "a.c")],
    ],
)  # fmt: skip
def test_hunks_of_real_code_are_accepted(code: List[Tuple[str, str, str]]) -> None:
    assert check(code)
