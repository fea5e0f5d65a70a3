"""The lines of a difference in HTML: one side below the other, or beside it. Pure."""

from __future__ import annotations

from typing import Iterable, Iterator
from urllib.parse import quote

from patcher.display.html import Html, join, tag
from patcher.display.styles import translated
from patcher.display.view import DiffHunk, DiffLine, View
from patcher.message import Message
from patcher.record import Record
from patcher.text.diffs import FileDiff
from patcher.text.listed import count, listed
from patcher.text.terminal import printable

_KINDS = {
    "comment": "c",
    "string": "s",
    "keyword": "k",
    "number": "n",
    "known": "n",
    "decorator": "d",
    "defined": "f",
}
"""By the kind of a piece of code: its class in the style sheet."""
_ELEMENTS = {" ": "div", "-": "del", "+": "ins"}
"""By the tag of a line: its element."""
_LONG = 40
"""A run of more deleted or inserted lines is folded."""
_SHOWN = 15
"""How many lines of a folded run are shown."""
_NO_NUMBER = Html("<i></i>")


class HunkLayout(Record):
    """How hunks are laid out.

    Attributes:
        lines: how many unchanged lines can be unfolded around a hunk.
        sides: whether there are two sides where the page is wide.
    """

    lines: int = 0
    sides: bool = False


class Anchors:
    """Names of places in a page that stay the same when it is made again: none is given twice."""

    def __init__(self) -> None:
        self._given: dict[str, int] = {}

    def name(self, label: str) -> str:
        """A name made of `label`; from the second one on with a number."""
        name = "".join(printable(label).split())
        number = self._given.get(name, 0) + 1
        self._given[name] = number
        if number == 1:
            return name
        return f"{name}~{number}"


def link(anchor: str, *children: str, **attributes: str) -> Html:
    """A link to a place in the page."""
    return tag("a", *children, href=f"#{quote(anchor)}", **attributes)


def counts(added: int, removed: int) -> Html:
    """How many lines are inserted and deleted."""
    plus = tag("span", f"+{added}", class_="plus")
    minus = tag("span", f"−{removed}", class_="minus")
    return join(plus, " ", minus)


def hunks(view: View, names: Iterable[str], *, layout: HunkLayout) -> Iterator[Html]:
    """The hunks of a file, each below its range and the function that it is in.

    What lies between them can be unfolded.
    """
    for number, (hunk, name) in enumerate(zip(view.hunks, names)):
        yield from _gap(view, number, layout=layout)
        where = [link(name, hunk.range)]
        if hunk.scope:
            where.append(tag("b", hunk.scope))
        head = tag("h4", *where)
        yield tag(
            "div",
            head,
            *_lines(hunk, layout),
            class_="hunk",
            id=name,
            tabindex="-1",
        )

    yield from _gap(view, len(view.hunks), layout=layout)


def anchors(
    diff: FileDiff,
    view: View,
    *,
    names: Anchors,
    before: str = "",
) -> list[str]:
    """The names of a file and of its hunks.

    By function rather than line: they are the same in the next release.
    """
    label = f"{before}{diff.path}"
    anchors_of_file = [names.name(label)]
    for hunk in view.hunks:
        anchors_of_file.append(names.name(f"{label}:{hunk.scope}"))

    return anchors_of_file


def _gap(view: View, number: int, *, layout: HunkLayout) -> Iterator[Html]:
    """The unchanged lines above a hunk that can be unfolded: near the hunks where they are many."""
    old, new, most = view.gap(number)
    below = 0  # lines that follow the hunk above
    if number > 0:
        below = min(most, layout.lines)
    above = 0  # lines that lead to the hunk below
    if number < len(view.hunks):
        above = min(most - below, layout.lines)
    parts = [(0, most)]
    if below + above < most:
        parts = [(0, below), (most - above, above)]

    for skipped, size in parts:
        if not size:
            continue

        summary = many = count(most, "unchanged line")
        if size < most:
            summary = Message("{size} of {many}", size=size, many=many)
        lines: list[Html] = []
        for line in view.context(old + skipped, new + skipped, count=size):
            lines.append(_line(line, layout))

        yield tag("details", tag("summary", summary), *lines, class_="gap")


def _lines(hunk: DiffHunk, layout: HunkLayout) -> Iterator[Html]:
    """The lines of a hunk."""
    for deleted, inserted in hunk.runs:
        if deleted is inserted:
            for line in deleted:
                yield _line(line, layout)
        else:
            left = _side(deleted, layout, kind="deleted")
            right = _side(inserted, layout, kind="inserted")
            yield tag("div", *left, *right, class_="run")

    ending = _ending(hunk)
    if ending:
        code = tag("code", ending, class_="end")
        yield tag("div", _NO_NUMBER, _NO_NUMBER, code, class_="l")


def _ending(hunk: DiffHunk) -> str:
    """Which sides have no line break at their end, "" for none."""
    sides = {
        "-": Message("before"),
        "+": Message("after"),
        " ": Message("before and after"),
    }

    ends: list[str] = []
    for line, after in zip(hunk.lines, hunk.lines[1:]):
        if after.tag == "\\":
            ends.append(sides[line.tag])

    if not ends:
        return ""
    return translated(Message("no line break at the end of the file {names}", names=listed(ends)))


def _side(lines: list[DiffLine], layout: HunkLayout, *, kind: str) -> list[Html]:
    """The deleted or the inserted lines, of which a long run is folded."""
    shown = [_line(line, layout) for line in lines]
    if len(lines) <= _LONG:
        return shown

    hidden = len(lines) - _SHOWN
    many = count(hidden, "more removed line")
    if kind == "inserted":
        many = count(hidden, "more inserted line")
    summary = tag("summary", many)
    folded = tag("details", summary, *shown[_SHOWN:], class_=f"more {kind}")
    return [*shown[:_SHOWN], folded]


def _line(line: DiffLine, layout: HunkLayout) -> Html:
    """A line: its two numbers, and its code once or on both sides."""
    code = _code(line)
    hang = _hang(line)
    parts = [
        tag("i", str(line.old or "")),
        tag("i", str(line.new or "")),
        tag("code", code, class_=hang),
    ]

    if line.tag == " " and layout.sides:  # the other side, for the eye alone
        other_side = f"r {hang}".rstrip()
        parts.append(tag("code", code, class_=other_side, aria_hidden="true"))

    return tag(_ELEMENTS[line.tag], *parts, class_="l")


def _hang(line: DiffLine) -> str:
    """The class that indents what is continued of a line that is too long for the page."""
    code = line.text.expandtabs(4)
    indent = len(code) - len(code.lstrip())
    level = min(4, indent // 4)
    return f"i{level}" if level else ""


def _code(line: DiffLine) -> Html:
    """The code of a line, coloured, with what has changed in it marked."""
    parts: list[str] = []
    for piece in line.pieces:
        kind = _KINDS.get(piece.kind, "")
        if piece.changed:
            parts.append(tag("mark", piece.text, class_=kind))
        elif kind:
            parts.append(tag("span", piece.text, class_=kind))
        else:
            parts.append(piece.text)

    return join(*parts)
