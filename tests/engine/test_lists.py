"""One element of a list or chain changes, in every kind of list and every layout: the others keep their comments and lines.

A run tries a sample, always the same one; SITEPATCH_ALL_CORPUS=1 tries every case (an hour).
"""

import ast
import os
import re
import sys
from random import Random
from typing import Callable, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import pytest

from patcher.errors import PatchError
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


def lines(kind: Kind, old: Sequence[str], pad: str, first: str, last: str) -> str:
    """The elements one a line, a separator behind each (`last` behind the last one), after what `first` says."""
    parts = [f"{pad}    {first.format(comment(x))}{x}{kind.separator}" for x in old]
    parts[-1] = parts[-1][: len(parts[-1]) - len(kind.separator)] + last
    behind = [f"{part}  {comment(x)}" if not first else part for part, x in zip(parts, old)]
    return "\n" + "\n".join(behind) + f"\n{pad}"


LAYOUTS: Dict[str, Callable[[Kind, Sequence[str], str], str]] = {
    "inline": lambda kind, old, pad: f"{kind.separator} ".join(old),
    "one a line": lambda kind, old, pad: lines(kind, old, pad, "", kind.separator if kind.separator == "," else ""),
    "without a trailing comma": lambda kind, old, pad: lines(kind, old, pad, "", ""),
    "comments above": lambda kind, old, pad: lines(kind, old, pad, "{}\n" + pad + "    ", ""),
    "the first beside its bracket": lambda kind, old, pad: lines(kind, old, pad, "", "").lstrip(),
    "separators lead": lambda kind, old, pad: "\n" + "".join(
        f"{pad}    {kind.separator.strip() + ' ' if x != old[0] else ''}{x}  {comment(x)}\n" for x in old) + pad,
    "blank lines and other comments": lambda kind, old, pad: f"  # open{lines(kind, old, pad, '', '')}".replace(
        "\n", "\n\n") + f"    # end\n{pad}",
    "two a line": lambda kind, old, pad: "\n" + "".join(
        f"{pad}    {''.join(x + (kind.separator if x != old[-1] else '') + ' ' for x in old[at : at + 2])} # {at}\n"
        for at in range(0, len(old), 2)) + pad,
}  # fmt: skip


class Change(NamedTuple):
    old: List[str]
    new: List[str]

    def gone(self) -> List[str]:
        return [x for x in self.old if x not in self.new]


def comment(element: str) -> str:
    return "# " + re.sub(r"\W", "", element) + "."


def changes(kind: Kind) -> Iterator[Change]:
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


def whole(kind: Kind, change: Change) -> str:
    return "".join("-" + line for line in f"{written(kind, change.old)}\n".splitlines(True)) + "".join(
        "+" + line for line in f"{written(kind, change.new)}\n".splitlines(True)
    )


def by_lines(kind: Kind, change: Change) -> str:
    """Each element on a line of its own, the lines that stay as context."""
    rows = [("-" if x in change.gone() else " ", x) for x in change.old]
    if kind.new in change.new:
        rows.insert(change.new.index(kind.new), ("+", kind.new))
    body = "".join(f"{tag}    {x},\n" for tag, x in rows)
    return f" {kind.head}\n{body} " + kind.tail.replace("\n", "\n ") + "\n"


def with_runs(kind: Kind, change: Change) -> str:
    """The neighbour of the element that comes, or the one that goes, and `...` for the others."""
    at = next((at for at, x in enumerate(change.new) if x == kind.new), change.old.index((change.gone() or [change.old[0]])[0]))
    near = change.gone() or [change.old[max(at - 1, 0)]]
    left, right = (["..."] * bool(part) for part in (change.old[: change.old.index(near[0])], change.old[change.old.index(near[0]) + 1 :]))
    come = [kind.new] if kind.new in change.new else []
    kept = [] if change.gone() else near
    middle = [*come, *kept] if come and not at else [*kept, *come]
    return whole(kind, Change([*left, *near, *right], [*left, *middle, *right]))


def all_cases() -> List[Tuple[str, str, Callable[[Kind, Change], str], Change]]:
    found: List[Tuple[str, str, Callable[[Kind, Change], str], Change]] = []
    for name, kind in KINDS.items():
        runs = kind.separator == "," and name not in ("a subscript", "targets", "deleted names", "a tuple", "a tuple as an argument")
        ways = [whole, *([by_lines] if kind.separator == "," and "lambda" not in name else []), *([with_runs] if runs else [])]
        found += [(name, layout, way, change) for layout in LAYOUTS for way in ways for change in changes(kind)]
    return found if os.environ.get("SITEPATCH_ALL_CORPUS") else Random(7).sample(found, SAMPLE)


def file_with(kind: Kind, elements: str) -> str:
    """A function that holds the list; nothing else in it has a comment."""
    code = (f"{kind.head}{elements}{kind.tail}" + ("\n    " + kind.body if kind.body else "")).split("\n")
    first = 1 + kind.head.count("\n") + elements.count("\n")  # the lines of the list are indented already
    code = [line if 0 < row < first else "    " + line for row, line in enumerate(code)]
    return "def f(x, aa, bb, cc, dd, qq, use, g, h, t, E):\n    w = 1\n" + "\n".join(code) + "\n    z = 1\n"


def bare(line: str, separator: str) -> str:
    """A line without the separator at its beginning or at its end: the last element gains or loses it."""
    mark = re.escape(separator.strip())
    return re.sub(rf"\s*{mark}(?=\s*(#|$))", "", re.sub(rf"^\s*{mark} ", "", line)).strip()


def check(name: str, layout: str, way: Callable[[Kind, Change], str], change: Change) -> None:
    kind = KINDS[name]
    source = file_with(kind, LAYOUTS[layout](kind, change.old, "    "))
    expected = file_with(kind, f"{kind.separator} ".join(change.new))
    hunk = way(kind, change)
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
    rows = text.split("\n")
    for line in source.split("\n"):
        code, sign, words = line.partition("#")
        if any(comment(x)[1:] == words or re.search(rf"(?<!\w){re.escape(x)}(?!\w)", code) for x in change.gone()):
            continue  # the line of the element that goes
        if sign:
            assert text.count("#" + words) == 1, "a comment of an element that stays is there once"
        brackets = kind.head.split("\n")[-1].strip() in line or kind.tail.split("\n")[0] in line
        if sign and layout != "two a line" and not brackets:
            assert bare(line, kind.separator) in [bare(row, kind.separator) for row in rows], "its line is what it was"
    for x in change.old if layout not in ("inline", "two a line") else []:
        if x in change.new:
            row = next(at for at, row in enumerate(rows) if comment(x) in row) + (layout == "comments above")
            assert re.search(rf"(?<!\w){re.escape(x)}(?!\w)", rows[row]), "the comment stands beside its element"
            assert layout == "the first beside its bracket" or kind.new not in rows[row], "and beside no other"
    assert not re.search(r"[ \t]$", text, re.MULTILINE) or re.search(r"[ \t]$", source, re.MULTILINE)
    assert run(text, hunk).data.decode() == text, "a second application changes nothing"


@pytest.mark.parametrize("name", KINDS)
def test_the_other_elements_keep_their_lines_and_comments(name: str) -> None:
    """One test for each kind; a failure shows the file, the hunk and what came out."""
    for kind, layout, way, change in all_cases():
        if kind == name:
            try:
                check(kind, layout, way, change)
            except AssertionError as error:
                source = file_with(KINDS[kind], LAYOUTS[layout](KINDS[kind], change.old, "    "))
                hunk = way(KINDS[kind], change)
                pytest.fail(f"{layout}, {way.__name__}\n{source}\n{hunk}\n{run(source, hunk).data.decode()}\n{error}")
