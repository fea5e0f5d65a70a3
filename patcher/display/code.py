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
_LONG, _SHOWN = 40, 15  # lines of a run that is folded, and how many of them are shown
_NUMBERS = Html("<i></i>")


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
        return name if number == 1 else f"{name}~{number}"


def link(anchor: str, *children: str, **attributes: str) -> Html:
    """A link to a place in the page."""
    return tag("a", *children, href=f"#{quote(anchor)}", **attributes)


def counts(added: int, removed: int) -> Html:
    """How many lines are inserted and deleted."""
    return join(
        tag("span", f"+{added}", class_="plus"), " ", tag("span", f"−{removed}", class_="minus")
    )


def hunks(view: View, names: Iterable[str], layout: HunkLayout) -> Iterator[Html]:
    """The hunks of a file, each below its range and the function that it is in.

    What lies between them can be unfolded.
    """
    for number, (hunk, name) in enumerate(zip(view.hunks, names)):
        yield from _gap(view, number, layout)
        head = tag("h4", link(name, hunk.range), tag("b", hunk.scope) if hunk.scope else "")
        yield tag("div", head, *_lines(hunk, layout), class_="hunk", id=name, tabindex="-1")
    yield from _gap(view, len(view.hunks), layout)


def anchors(diff: FileDiff, view: View, names: Anchors, before: str = "") -> list[str]:
    """The names of a file and of its hunks.

    By function rather than line: they are the same in the next release.
    """
    return [
        names.name(f"{before}{diff.path}"),
        *(names.name(f"{before}{diff.path}:{hunk.scope}") for hunk in view.hunks),
    ]


def _gap(view: View, number: int, layout: HunkLayout) -> Iterator[Html]:
    """The unchanged lines above a hunk that can be unfolded: near the hunks where they are many."""
    old, new, most = view.gap(number)
    below = min(most, layout.lines) if number else 0  # after the hunk above it
    above = min(most - below, layout.lines) if number < len(view.hunks) else 0
    parts = [(0, most)]
    if below + above < most:
        parts = [(0, below), (most - above, above)]

    for skipped, size in parts:
        if not size:
            continue
        summary = many = count(most, "unchanged line")
        if size < most:
            summary = Message("{size} of {many}", size=size, many=many)
        lines = [_line(line, layout) for line in view.context(old + skipped, new + skipped, size)]
        yield tag("details", tag("summary", summary), *lines, class_="gap")


def _lines(hunk: DiffHunk, layout: HunkLayout) -> Iterator[Html]:
    for deleted, inserted in hunk.runs:
        if deleted is inserted:
            yield from (_line(line, layout) for line in deleted)
        else:
            yield tag(
                "div",
                *_side(deleted, "deleted", layout),
                *_side(inserted, "inserted", layout),
                class_="run",
            )
    if any(line.tag == "\\" for line in hunk.lines):
        yield tag("div", _NUMBERS, _NUMBERS, tag("code", _ending(hunk), class_="end"), class_="l")


def _ending(hunk: DiffHunk) -> str:
    sides = {"-": Message("before"), "+": Message("after"), " ": Message("before and after")}
    ends = [sides[line.tag] for line, after in zip(hunk.lines, hunk.lines[1:]) if after.tag == "\\"]
    return translated(Message("no line break at the end of the file {names}", names=listed(ends)))


def _side(lines: list[DiffLine], kind: str, layout: HunkLayout) -> list[Html]:
    """The deleted or the inserted lines, of which a long run is folded."""
    shown = [_line(line, layout) for line in lines]
    if len(lines) <= _LONG:
        return shown
    what = "inserted" if kind == "inserted" else "removed"
    summary = tag("summary", count(len(lines) - _SHOWN, f"more {what} line"))
    return [*shown[:_SHOWN], tag("details", summary, *shown[_SHOWN:], class_=f"more {kind}")]


def _line(line: DiffLine, layout: HunkLayout) -> Html:
    code = _code(line)
    hang = _hang(line)
    parts = [
        tag("i", str(line.old or "")),
        tag("i", str(line.new or "")),
        tag("code", code, class_=hang),
    ]
    if line.tag == " " and layout.sides:  # the other side, for the eye alone
        parts.append(tag("code", code, class_=f"r {hang}".rstrip(), aria_hidden="true"))
    element = {" ": "div", "-": "del", "+": "ins"}[line.tag]
    return tag(element, *parts, class_="l")


def _hang(line: DiffLine) -> str:
    """The class that indents what is continued of a line that is too long for the page."""
    code = line.text.expandtabs(4)
    level = min(4, (len(code) - len(code.lstrip())) // 4)
    return f"i{level}" if level else ""


def _code(line: DiffLine) -> Html:
    parts = []
    for piece in line.pieces:
        kind = _KINDS.get(piece.kind, "")
        if piece.changed:
            parts.append(tag("mark", piece.text, class_=kind))
        else:
            parts.append(tag("span", piece.text, class_=kind) if kind else join(piece.text))
    return join(*parts)
