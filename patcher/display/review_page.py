"""What differs as one page to review, with the reasons: `sitepatch diff --html FILE`. Pure."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Iterable, Iterator, Sequence

from patcher.display.code import Anchors, HunkLayout, anchors, counts, hunks, link
from patcher.display.differences import DiffOutcome, Reason
from patcher.display.html import Html, coded, html_document, join, lines, localized, tag
from patcher.display.patchsets import FIELDS, release_ranges
from patcher.display.prose import translated_prose
from patcher.display.rows import answer_rows
from patcher.display.styles import term, translated
from patcher.display.view import View
from patcher.message import Message, joined
from patcher.model import Answer, State
from patcher.patchset.toml import option_text
from patcher.record import Record
from patcher.text.diffs import FileDiff
from patcher.text.listed import count
from patcher.text.terminal import padded

_UNFOLDED = 6000
"""How many unchanged lines of all files together can be unfolded: a page stays quick."""
_MOST = 100
"""How many of them at one place."""
_PROSE = 2
"""How many paragraphs are shown at once."""
_LISTED = 30
"""Of more files, those out of sight are laid out when they are scrolled to."""
_SWITCH = Html('<input type="checkbox" id="one">')

_CHANGED = Message("Changed by patchsets")
_PLANNED = Message("Would be changed by patchsets")
_EDITED = Message("Edited by hand")


class _File(Record):
    """A section of the page.

    Attributes:
        view: the difference.
        heading: the heading that it is under.
        about: a line about it.
        names: of the anchors, of the file and of each hunk.
    """

    view: View
    heading: str
    about: str
    names: list[str]

    @property
    def edited(self) -> bool:
        """Whether somebody edited it."""
        return self.heading == _EDITED


def review_page(title: str, outcome: DiffOutcome, reasons: Sequence[Reason]) -> bytes:
    r"""The page, in UTF-8; a byte of a file that is not UTF-8 is shown as `\xNN`.

    Args:
        title: the heading, for example the command that made the page.
        outcome: what differs.
        reasons: the patchsets that make the difference.
    """
    names = Anchors()
    below = _below(outcome, reasons, names=names)
    files = _files(outcome, names)

    links: list[Html] = []
    for part in below:
        links.append(link(part.anchor, localized(part.word)))

    body = [
        _summary(outcome, files),
        _where(outcome, files, links=links),
        *_contents(files),
    ]

    if files:
        body.append(_SWITCH)
        body.append(tag("label", Message("one column"), for_="one"))

    is_long = len(files) > _LISTED
    classes = ["files", "many"] if is_long else ["files"]
    body.append(tag("div", *_sections(files), class_=" ".join(classes)))
    for part in below:
        body.append(tag("div", *part.content, id=part.anchor))

    return html_document(title, body, styles=("review", "code"), script=bool(files))


class _Part(Record):
    """A part of the page below the files: the word of the link to it, its place, its content."""

    word: str
    anchor: str
    content: list[Html]


def _below(
    outcome: DiffOutcome,
    reasons: Sequence[Reason],
    *,
    names: Anchors,
) -> list[_Part]:
    """The reasons, then the remarks; the remarks first where something failed."""
    why = _Part(
        word=Message("reasons"),
        anchor=names.name("reasons"),
        content=list(map(_why, reasons)),
    )

    remarks = _Part(
        word=Message("remarks"),
        anchor=names.name("remarks"),
        content=list(_remarks(outcome)),
    )

    parts = [remarks, why] if outcome.failed else [why, remarks]
    return [part for part in parts if part.content]


def _files(outcome: DiffOutcome, names: Anchors) -> list[_File]:
    """The sections of the page."""
    files: list[_File] = []
    for diff in outcome.applied:
        patchsets = ", ".join(diff.patchsets)
        about = Message("changed by {patchsets}", patchsets=patchsets)
        files.append(_file(diff, _CHANGED, about=about, names=names))

    for diff in outcome.planned:
        patchsets = ", ".join(diff.patchsets)
        about = Message("would be changed by {patchsets}", patchsets=patchsets)
        files.append(_file(diff, _PLANNED, about=about, names=names))

    for edit in outcome.edits:
        if edit.diff:
            file = _file(
                edit.diff,
                _EDITED,
                about=edit.about,
                names=names,
                before="edited:",
            )

            files.append(file)

    return files


def _file(
    diff: FileDiff,
    heading: str,
    *,
    about: str,
    names: Anchors,
    before: str = "",
) -> _File:
    view = View(diff)
    return _File(
        view=view,
        heading=heading,
        about=about,
        names=anchors(diff, view, names=names, before=before),
    )


# the top ----------------------------------------------------------------------------------------
def _summary(outcome: DiffOutcome, files: Sequence[_File]) -> Html:
    """How much differs."""
    templates = (
        ("{files} changed by patchsets", len(outcome.applied)),
        ("{files} would be changed", len(outcome.planned)),
        ("{files} edited by hand", len(outcome.edits)),
    )

    parts = []
    for template, number in templates:
        if number:
            parts.append(Message(template, files=count(number, "file")))

    what = joined(", ", parts)
    if not parts:
        what = Message("nothing differs")
    if not files:
        return tag("p", localized(what), class_="summary")

    added = 0
    removed = 0
    for file in files:
        added += file.view.diff.added
        removed += file.view.diff.removed

    size = counts(added, removed)
    return tag("p", localized(what), " ", size, class_="summary")


def _where(
    outcome: DiffOutcome,
    files: Sequence[_File],
    *,
    links: Sequence[Html],
) -> Html:
    """Of which release and where it differs, and what is further below."""
    releases: dict[str, None] = {}
    sites: dict[str, None] = {}
    for file in files:
        diff = file.view.diff
        sites[diff.site] = None
        if diff.release:
            releases[diff.release] = None

    places = list(sites) or outcome.env.own
    version = ".".join(map(str, outcome.env.version))
    facts = [*releases, *places, f"Python {version}", *links]
    return tag("p", join(*facts, between=" · "), class_="soft")


def _contents(files: Sequence[_File]) -> Iterator[Html]:
    """The files and their scopes, and the keys that go from change to change."""
    if not files:
        return

    summary = tag("summary", count(len(files), "file"))
    rows = tag("ol", *map(_contents_row, files))
    contents = tag("details", summary, rows)

    keys = tag(
        "p",
        tag("kbd", "n"),
        " ",
        Message("next change,"),
        " ",
        tag("kbd", "p"),
        " ",
        "previous",
        class_="keys soft",
        hidden=True,
    )

    yield tag("nav", contents, keys, aria_label="Files")


def _contents_row(file: _File) -> Html:
    """A file, and below it the scopes of its hunks."""
    diff = file.view.diff
    anchor, *places = file.names
    size = counts(diff.added, diff.removed)
    mark = ""
    if file.edited:
        mark = join(" ", localized(Message("edited by hand")))

    scopes: list[Html] = []
    for place, hunk in zip(places, file.view.hunks):
        if hunk.scope:
            scopes.append(tag("li", link(place, hunk.scope)))

    below = tag("ul", *scopes) if scopes else ""
    return tag("li", link(anchor, diff.path), " ", size, mark, below)


# the reasons ------------------------------------------------------------------------------------
def _why(reason: Reason) -> Html:
    """A patchset: its prose, and what else there is to know of it."""
    patchset = reason.patchset
    about = patchset.about
    state = Message("applied") if reason.applied else Message("not applied yet")
    kind = tag("small", joined(", ", (Message(about.kind), state)))
    heading = tag("h2", f"{patchset.name} {patchset.version} ", kind)

    summary = tag("p", about.summary, class_="summary")
    prose = tag("div", summary, *_prose(translated_prose(about.prose)))
    proof = tag("div", _list(_facts(reason)), _proof(reason.checked))
    return tag("section", heading, prose, proof, class_="why")


def _facts(reason: Reason) -> Iterator[tuple[str, str]]:
    """The provenance, ranges, options and origin of a patchset."""
    patchset = reason.patchset
    for key, value in patchset.about.provenance.items():
        yield FIELDS.get(key, key), _linked(Message.whole(value))

    yield "for", release_ranges(patchset.variants)
    for option in patchset.options:
        setting = option_text(reason.options.get(option.name, option.default))
        about = Message(
            "{help} (default {option_text})",
            help=Message.whole(option.help),
            option_text=option_text(option.default),
        )

        value = tag("code", f"{option.name}={setting}")
        yield Message("option"), join(value, " ", localized(about))

    yield "from", localized(Message.whole(patchset.folder.source))
    yield "digest", tag("code", patchset.folder.digest)


def _proof(checked: str) -> Html | str:
    """The table of releases in the folder of a patchset, "" where there is none."""
    table = checked.splitlines()[1:]
    if not table:
        return ""

    rows = []
    for row in table:
        state, gap, release = row.partition("  ")
        rows.append(padded(term(state), len(state)) + gap + release)

    summary = tag("summary", Message("proven on {releases}", releases=count(len(rows), "release")))
    return tag("details", summary, tag("pre", lines("\n".join(rows))))


def _list(rows: Iterable[tuple[str, str]]) -> Html:
    items: list[Html] = []
    for name, value in rows:
        items.append(tag("dt", name))
        items.append(tag("dd", value))

    return tag("dl", *items, class_="facts")


def _prose(prose: str) -> Iterator[Html]:
    """The paragraphs of a patchset's prose; all but the first ones can be unfolded."""
    paragraphs: list[Html] = []
    for part in re.split(r"\n[ \t]*\n", prose):
        if part.strip():
            paragraphs += _paragraph(part.strip("\n"))

    yield from paragraphs[:_PROSE]
    more = paragraphs[_PROSE:]
    if more:
        summary = tag("summary", Message("more about it"))
        yield tag("details", summary, *more)


def _paragraph(part: str) -> Iterator[Html]:
    """A paragraph, a list below it perhaps; what else is indented keeps its lines."""
    head, *items = re.split(r"^(?:- |[0-9]+\. )", part, flags=re.MULTILINE)
    # an item of a list goes on with fewer than four blanks
    code = r"^(?:\t| {4})" if items else r"^[ \t]"
    if re.search(code, part, re.MULTILINE):
        yield tag("pre", lines(part))
        return

    if head:
        yield tag("p", coded(re.sub(r"\s*\n\s*", " ", head.strip())))
    if items:
        is_bulleted = part[len(head)] == "-"
        points: list[Html] = []
        for item in items:
            line = re.sub(r"\s*\n\s*", " ", item.strip())
            points.append(tag("li", coded(line)))

        yield tag("ul" if is_bulleted else "ol", *points)


def _linked(value: str) -> Html:
    """A value, as a link where it is the address of a page and nothing else."""
    if re.fullmatch(r"https?://[\w.~:/?#\[\]@!$&()*+,;=%-]+", value, re.ASCII):
        return tag("a", value, href=value, rel="noreferrer noopener")
    return coded(translated(value))


# the remarks ------------------------------------------------------------------------------------
def _remarks(outcome: DiffOutcome) -> Iterator[Html]:
    """The hunks that change nothing here, and what else there is to know."""
    silent: list[Answer] = []
    for answer in outcome.answers:
        if answer.state is not State.APPLICABLE:
            silent.append(answer)

    rows: list[Html] = []
    for row in answer_rows(silent):
        cells = " ".join(row.cells)
        rows.append(tag("dt", f"{term(row.word)} {cells}".rstrip()))
        for detail in row.details:
            parts = [coded(line) for line in translated(detail).split("\n")]
            rows.append(tag("dd", join(*parts, between="\n")))

    if rows:
        title = tag("h2", Message("Hunks that change nothing here"))
        yield tag("section", title, tag("dl", *rows), class_="message")

    remarks: list[Html] = []
    for note in outcome.notes:
        remarks.append(tag("li", note))

    template = "{path}: edited by hand ({release}), and the original text is not on this machine"
    for edit in outcome.edits:
        if not edit.diff:
            remark = Message(template, path=edit.path, release=edit.release)
            remarks.append(tag("li", remark))

    if remarks:
        title = tag("h2", "Remarks")
        yield tag("section", title, tag("ul", *remarks), class_="message")


# the files --------------------------------------------------------------------------------------
def _sections(files: Sequence[_File]) -> Iterator[Html]:
    """The files below their headings, which one alone does not need."""
    gaps = 0
    headings: set[str] = set()
    for file in files:
        gaps += len(file.view.hunks) + 1
        headings.add(file.heading)

    share = _UNFOLDED // max(1, gaps)
    layout = HunkLayout(lines=min(_MOST, share), sides=True)

    for heading, group in groupby(files, lambda file: file.heading):
        if len(headings) > 1:
            yield tag("h2", heading)
        for file in group:
            yield _section(file, layout)


def _section(file: _File, layout: HunkLayout) -> Html:
    """A file: its path, where it is, and its hunks."""
    diff = file.view.diff
    anchor, *places = file.names
    size = tag("span", counts(diff.added, diff.removed))
    path = tag("h3", link(anchor, diff.path), " ", size, class_="path")

    about = file.about
    if diff.release:
        about = Message("{release}, {name}", release=diff.release, name=about)
    facts = [
        ("before", tag("code", diff.sha256_before)),
        ("after", tag("code", diff.sha256_after)),
        ("directory", diff.site),
    ]

    details = tag("details", tag("summary", about), _list(facts), class_="about")

    body = hunks(file.view, places, layout=layout)
    classes = ["file", "edited"] if file.edited else ["file"]
    return tag(
        "section",
        path,
        details,
        *body,
        class_=" ".join(classes),
        id=anchor,
    )
