"""One element of a list or chain changes, in every kind of list and every layout: the others keep their comments and lines.

A run tries a sample, always the same one; SITEPATCH_ALL_CORPUS=1 tries every case (an hour).
"""

import ast
import itertools
import os
import re
import sys
from random import Random
from typing import Callable, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import pytest

from patcher.errors import PatchError
from tests.engine.corpus import signed
from tests.engine.helpers import run

NAMES = ("aa", "bb", "cc", "dd")
CALLS = ("g(aa)", "g(bb, 1)", "h(cc)", "g(dd)")
ENTRIES = ("aa: 1", "bb: g(2)", "cc: 3", "**dd")
SAMPLE = 300


class Kind(NamedTuple):
    """A list: what stands before and after its elements, the elements, one that comes, and what separates them.

    `body` is the body of a statement that has one, `least` the fewest elements that may be left; `short` is what stands
    around the elements where a hunk writes them in one line.
    """

    head: str
    tail: str
    elements: Sequence[str] = NAMES
    new: str = "qq"
    separator: str = ","
    body: str = ""
    least: int = 1
    short: Tuple[str, str] = ("", "")


KINDS: Dict[str, Kind] = {
    "arguments": Kind("use(", ")"),
    "arguments of each sort": Kind("x.use(", ").y()", ("aa", "*bb", "cc=3", "**dd"), "qq=5"),
    "calls as arguments": Kind("v = use(", ")", CALLS, "g(qq)"),
    "arguments of a decorator": Kind("@use(", ")\ndef i():", body="pass"),
    "a list": Kind("v = [", "]", CALLS, "g(qq)"),
    "a list as an argument": Kind("use(x, [", "])"),
    "a list of strings as an argument": Kind("use(x, [", "])", ("'-a'", "'-b'", "'-c'", "'-d'"), "'-q'"),
    "a list in a list": Kind("use([[", "], 1])"),
    "a list in a tuple in a dict": Kind("v = {1: 2, 3: (x, [", "])}"),
    "a starred list": Kind("use(*[", "])"),
    "a list that is looked up": Kind("v = [", "][0]"),
    "a dict": Kind("v = {", "}", ENTRIES, "qq: 5"),
    "a dict as an argument": Kind("return use(x, y={", "})", ENTRIES, "qq: 5"),
    "a set as an argument": Kind("use({", "})"),
    "a tuple": Kind("v = (", ")", least=2),
    "a tuple as an argument": Kind("use(x, (", "), 1)", least=2),
    "a subscript": Kind("v = t[", "]", ("1:2", "bb", "::3", "dd:"), "4:5", least=2),
    "targets": Kind("for (", ") in x:", body="pass", least=2),
    "parameters": Kind("def i(", "):", ("aa", "bb: int", "cc=3", "**dd"), "qq=5", body="pass"),
    "parameters of a lambda": Kind("v = (lambda ", ": 0)"),
    "bases": Kind("class i(", "):", ("aa", "bb.b", "cc", "dd=E"), "qq.q", body="pass"),
    "imported names": Kind("from m import (", ")", ("aa", "bb as b", "cc", "dd as d"), "qq as q", short=("from m import ", "")),
    "items of with": Kind("with (", "):", ("g(aa)", "g(bb) as b", "cc as c", "dd"), "g(qq) as q", body="pass", short=("with ", ":")),
    "deleted names": Kind("del (", ")", least=2),
    "and": Kind("if (", "):", ("not aa", "g(bb)", "cc < 1", "dd"), "qq.q", " and", "pass", 2),
    "or as an argument": Kind("use(x, ", ")", separator=" or", least=2),
    "a comparison": Kind("return (", ")", separator=" <=", least=2),
    "a sum": Kind("v = (", ")", CALLS, "g(qq)", " +", least=2),
}  # fmt: skip
if sys.version_info < (3, 9):  # its parser reads no parentheses there
    del KINDS["items of with"]


def comment(element: str) -> str:
    """The comment of an element, in those layouts in which each has one."""
    return "# " + re.sub(r"\W", "", element) + "."


# layouts: the text between the brackets, given the kind, the elements and the indentation of the statement
def inline(kind: Kind, old: Sequence[str], pad: str) -> str:
    return f"{kind.separator} ".join(old)


def one_a_line(kind: Kind, old: Sequence[str], pad: str) -> str:
    return lines(kind, old, pad, last="," if kind.separator == "," else "")


def without_trailing_comma(kind: Kind, old: Sequence[str], pad: str) -> str:
    return lines(kind, old, pad)


def comments_above(kind: Kind, old: Sequence[str], pad: str) -> str:
    return lines(kind, old, pad, above=True)


def first_beside_bracket(kind: Kind, old: Sequence[str], pad: str) -> str:
    return lines(kind, old, pad).lstrip()


def lines(kind: Kind, old: Sequence[str], pad: str, *, last: str = "", above: bool = False) -> str:
    """The elements one a line, a separator behind each (`last` behind the last one), with comments behind or above them."""
    rows = []
    for x in old:
        row = f"{pad}    {x}{last if x == old[-1] else kind.separator}"
        rows.append(f"{pad}    {comment(x)}\n{row}" if above else f"{row}  {comment(x)}")
    return "\n" + "\n".join(rows) + f"\n{pad}"


def separators_lead(kind: Kind, old: Sequence[str], pad: str) -> str:
    rows = []
    for x in old:
        separator = "" if x == old[0] else f"{kind.separator.strip()} "
        rows.append(f"{pad}    {separator}{x}  {comment(x)}\n")
    return "\n" + "".join(rows) + pad


def blank_lines(kind: Kind, old: Sequence[str], pad: str) -> str:
    text = f"  # open{lines(kind, old, pad)}"
    return text.replace("\n", "\n\n") + f"    # end\n{pad}"


def two_a_line(kind: Kind, old: Sequence[str], pad: str) -> str:
    rows = []
    for at in range(0, len(old), 2):
        parts = [x if x == old[-1] else f"{x}{kind.separator}" for x in old[at : at + 2]]
        rows.append(f"{pad}    {' '.join(parts)}  # {at}\n")
    return "\n" + "".join(rows) + pad


LAYOUTS: Dict[str, Callable[[Kind, Sequence[str], str], str]] = {
    "inline": inline,
    "one a line": one_a_line,
    "without a trailing comma": without_trailing_comma,
    "comments above": comments_above,
    "the first beside its bracket": first_beside_bracket,
    "separators lead": separators_lead,
    "blank lines and other comments": blank_lines,
    "two a line": two_a_line,
}


class Change(NamedTuple):
    """The elements before and after it."""

    old: List[str]
    new: List[str]

    def gone(self) -> List[str]:
        return [x for x in self.old if x not in self.new]


def changes(kind: Kind) -> Iterator[Change]:
    """One element comes, is replaced or goes, at each place of lists of each length."""
    for size in range(kind.least, len(kind.elements) + 1):
        old = list(kind.elements[:size])
        for at in range(size + 1):
            yield Change(old, [*old[:at], kind.new, *old[at:]])
        for at in range(size):
            yield Change(old, [*old[:at], kind.new, *old[at + 1 :]])
            if size > kind.least:
                yield Change(old, [*old[:at], *old[at + 1 :]])


def written(kind: Kind, elements: Sequence[str]) -> str:
    head, tail = kind.short if kind.short[0] else (kind.head, kind.tail)
    return f"{head}{(kind.separator + ' ').join(elements)}{tail}"


# ways to write a hunk
def whole(kind: Kind, change: Change) -> str:
    """The whole list, before and after."""
    return signed("-", written(kind, change.old)) + signed("+", written(kind, change.new))


def by_lines(kind: Kind, change: Change) -> str:
    """Each element on a line of its own, the lines that stay as context."""
    gone = change.gone()
    rows = [f"-    {x},\n" if x in gone else f"     {x},\n" for x in change.old]
    if kind.new in change.new:
        rows.insert(change.new.index(kind.new), f"+    {kind.new},\n")
    return f" {kind.head}\n{''.join(rows)}{signed(' ', kind.tail)}"


def with_runs(kind: Kind, change: Change) -> str:
    """The neighbour of the element that comes, or the one that goes, and `...` for the others."""
    (gone,) = change.gone() or [""]
    comes = kind.new in change.new
    near = gone or change.old[max(change.new.index(kind.new) - 1, 0)]
    place = change.old.index(near)
    left = ["..."] if place > 0 else []
    right = ["..."] if place + 1 < len(change.old) else []
    middle = [] if gone else [near]
    if comes:
        is_first = change.new[0] == kind.new
        middle.insert(0 if is_first else len(middle), kind.new)
    return whole(kind, Change([*left, near, *right], [*left, *middle, *right]))


class Case(NamedTuple):
    """A kind of list and a layout, by their names; how the hunk is written; and what it changes."""

    kind: str
    layout: str
    way: Callable[[Kind, Change], str]
    change: Change


NO_RUNS = ("a subscript", "targets", "deleted names", "a tuple", "a tuple as an argument")


def all_cases() -> List[Case]:
    cases: List[Case] = []
    for name, kind in KINDS.items():
        ways = [whole]
        if kind.separator == "," and "lambda" not in name:
            ways.append(by_lines)
        if kind.separator == "," and name not in NO_RUNS:
            ways.append(with_runs)
        for layout in LAYOUTS:
            for way in ways:
                cases += [Case(name, layout, way, change) for change in changes(kind)]
    return cases if os.environ.get("SITEPATCH_ALL_CORPUS") else Random(7).sample(cases, SAMPLE)


def file_with(kind: Kind, elements: str) -> str:
    """A function that holds the list; nothing else in it has a comment."""
    code = f"{kind.head}{elements}{kind.tail}"
    if kind.body:
        code += f"\n    {kind.body}"
    below_list = 1 + kind.head.count("\n") + elements.count("\n")
    rows = code.split("\n")
    for row in [0, *range(below_list, len(rows))]:  # the lines of the list are indented already
        rows[row] = "    " + rows[row]
    return "def f(x, aa, bb, cc, dd, qq, use, g, h, t, E):\n    w = 1\n" + "\n".join(rows) + "\n    z = 1\n"


def bare(line: str, separator: str) -> str:
    """A line without the separator at its beginning or at its end: the last element gains or loses it."""
    mark = re.escape(separator.strip())
    line = re.sub(rf"^\s*{mark} ", "", line)
    return re.sub(rf"\s*{mark}(?=\s*(#|$))", "", line).strip()


def has(element: str, code: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(element)}(?!\w)", code) is not None


def source_of(case: Case) -> str:
    kind = KINDS[case.kind]
    return file_with(kind, LAYOUTS[case.layout](kind, case.change.old, "    "))


def check(case: Case) -> None:
    kind = KINDS[case.kind]
    source = source_of(case)
    expected = file_with(kind, f"{kind.separator} ".join(case.change.new))
    hunk = case.way(kind, case.change)
    try:
        meaning = ast.dump(ast.parse(expected))
        result = run(source, hunk)
    except SyntaxError:  # a positional argument after a keyword
        return
    except PatchError as error:
        assert "`{...}` may be a dict or a set" in error.message
        return
    assert [answer.problem for answer in result.answers] == [""]
    text = result.data.decode()
    assert ast.dump(ast.parse(text)) == meaning
    check_lines(case, source, text)
    if case.layout not in ("inline", "two a line"):
        check_comments(case, text.split("\n"))
    assert not re.search(r"[ \t]$", text, re.MULTILINE) or re.search(r"[ \t]$", source, re.MULTILINE)
    assert run(text, hunk).data.decode() == text, "a second application changes nothing"


def check_lines(case: Case, source: str, text: str) -> None:
    """Each line with a comment of an element that stays is there as it was, but for a separator."""
    kind = KINDS[case.kind]
    bare_rows = [bare(row, kind.separator) for row in text.split("\n")]
    for line in source.split("\n"):
        code, sign, words = line.partition("#")
        if any(comment(x) == f"#{words}" or has(x, code) for x in case.change.gone()):
            continue  # the line of the element that goes
        if not sign:
            continue
        assert text.count("#" + words) == 1, "a comment of an element that stays is there once"
        has_brackets = kind.head.split("\n")[-1].strip() in line or kind.tail.split("\n")[0] in line
        if case.layout != "two a line" and not has_brackets:
            assert bare(line, kind.separator) in bare_rows, "its line is what it was"


def check_comments(case: Case, rows: Sequence[str]) -> None:
    """Each comment stands beside its element, and beside no other one."""
    for x in case.change.old:
        if x not in case.change.new:
            continue
        (row, *_) = [row for row, text in enumerate(rows) if comment(x) in text]
        if case.layout == "comments above":
            row += 1
        assert has(x, rows[row]), "the comment stands beside its element"
        assert case.layout == "the first beside its bracket" or KINDS[case.kind].new not in rows[row], "and beside no other"


@pytest.mark.parametrize("name", KINDS)
def test_the_other_elements_keep_their_lines_and_comments(name: str) -> None:
    """One test for each kind; a failure shows the file, the hunk and what came out."""
    for case in all_cases():
        if case.kind != name:
            continue
        try:
            check(case)
        except AssertionError as error:
            source = source_of(case)
            hunk = case.way(KINDS[name], case.change)
            pytest.fail(f"{case.layout}, {case.way.__name__}\n{source}\n{hunk}\n{run(source, hunk).data.decode()}\n{error}")


def led_by_operators() -> Iterator[Tuple[str, str, str]]:
    """Chains with each operator before its operand, in every layout, and what operands become of them."""
    for number, gap in ((3, " "), (4, " "), (4, "  # why\n    ")):
        for breaks in itertools.product([" ", "\n    ", gap], repeat=number - 1):
            written = NAMES[0] + "".join(f"{between}or {name}" for between, name in zip(breaks, NAMES[1:]))
            for end in (")", "\n)", "  # end\n)"):
                for left in itertools.chain.from_iterable(itertools.permutations(NAMES[:number], size) for size in (1, 2)):
                    yield f"v = ({written}{end}\n", " or ".join(NAMES[:number]), " or ".join([*left, "aa.qq"])


def test_several_operands_of_a_chain_go_and_one_comes():
    cases = list(led_by_operators())
    for source, old, new in cases if os.environ.get("SITEPATCH_ALL_CORPUS") else Random(7).sample(cases, SAMPLE):
        ended = run(source, f"-{old}\n+{new}\n", scope="<module>")
        assert ended.answers[0].problem == "", (source, new)
        assert ast.dump(ast.parse(ended.data)) == ast.dump(ast.parse(f"v = {new}\n")), (source, new)
