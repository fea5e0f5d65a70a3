"""What differs as one page to review, with the reasons: `sitepatch diff --html FILE`. Pure."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Iterator, NamedTuple, Sequence

from patcher.display.code import Anchors, HunkLayout, anchors, counts, hunks, link
from patcher.display.differences import DiffOutcome, Reason
from patcher.display.html import Html, coded, html_document, join, lines, localized, tag
from patcher.display.rows import answer_rows
from patcher.display.styles import term
from patcher.display.view import View
from patcher.message import Message, joined
from patcher.patchset.toml import option_text
from patcher.text.diffs import FileDiff
from patcher.text.listed import count
from patcher.verbs.list import FIELDS, release_ranges

_UNFOLDED = 6000  # unchanged lines of all files together that can be unfolded: a page of 200 files stays quick
_MOST = 100  # of them at one place
_PROSE = 2  # paragraphs
_SWITCH = Html('<input type="checkbox" id="one">')
_LISTED = 30  # of more files, those out of sight are laid out when they are scrolled to
_CHANGED, _PLANNED = Message("Changed by patchsets"), Message("Would be changed by patchsets")
_EDITED = Message("Edited by hand")


class _File(NamedTuple):
    """A section of the page: its difference, the heading it is under, a line about it, and the names of its anchors."""

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
    given = Anchors()
    places = {name: given.name(name) for name in ("reasons", "remarks")}
    files: list[_File] = []
    for diff in outcome.applied:
        by = Message("changed by {patchsets}", patchsets=", ".join(diff.patchsets))
        files.append(_file(diff, _CHANGED, by, given))
    for diff in outcome.planned:
        by = Message("would be changed by {patchsets}", patchsets=", ".join(diff.patchsets))
        files.append(_file(diff, _PLANNED, by, given))
    files += [
        _file(edit.diff, _EDITED, edit.about, given, "edited:")
        for edit in outcome.edits
        if edit.diff
    ]
    layout = HunkLayout(
        min(_MOST, _UNFOLDED // max(1, sum(len(file.view.hunks) + 1 for file in files))), True
    )
    below = [
        (Message("reasons"), [*map(_why, reasons)]),
        (Message("remarks"), [*_remarks(outcome)]),
    ]
    below = [
        (title, parts) for title, parts in (reversed(below) if outcome.failed else below) if parts
    ]
    links = [link(places[title], localized(title)) for title, _ in below]
    body = [_summary(outcome, files), _where(outcome, files, links), *_contents(files)]
    body += [_SWITCH, tag("label", Message("one column"), for_="one")] if files else []
    body += [
        tag(
            "div",
            *_sections(files, layout),
            class_="files" if len(files) <= _LISTED else "files many",
        )
    ]
    body += [tag("div", *parts, id=places[title]) for title, parts in below]
    return html_document(title, body, ("review", "code"), script=bool(files))


def _file(diff: FileDiff, heading: str, about: str, names: Anchors, before: str = "") -> _File:
    view = View(diff)
    return _File(view, heading, about, anchors(diff, view, names, before))


# the top --------------------------------------------------------------------------------------------------------------
def _summary(outcome: DiffOutcome, files: Sequence[_File]) -> Html:
    """How much differs."""
    parts = (
        [Message("{files} changed by patchsets", files=count(len(outcome.applied), "file"))]
        if outcome.applied
        else []
    )
    parts += (
        [Message("{files} would be changed", files=count(len(outcome.planned), "file"))]
        if outcome.planned
        else []
    )
    parts += (
        [Message("{files} edited by hand", files=count(len(outcome.edits), "file"))]
        if outcome.edits
        else []
    )
    diffs = [file.view.diff for file in files]
    size = counts(sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs))
    what = localized(joined(", ", parts)) if parts else localized(Message("nothing differs"))
    return tag("p", what, *([" ", size] if diffs else []), class_="summary")


def _where(outcome: DiffOutcome, files: Sequence[_File], links: Sequence[Html]) -> Html:
    """Of which release and where it differs, and what is further below."""
    diffs = [file.view.diff for file in files]
    releases = dict.fromkeys(diff.release for diff in diffs if diff.release)
    sites = list(dict.fromkeys(diff.site for diff in diffs)) or outcome.env.own
    python = f"Python {'.'.join(map(str, outcome.env.version))}"
    return tag("p", join(*releases, *sites, python, *links, between=" · "), class_="soft")


def _list(rows: Sequence[tuple[str, str]]) -> Html:
    return tag(
        "dl", *(join(tag("dt", name), tag("dd", value)) for name, value in rows), class_="facts"
    )


def _why(reason: Reason) -> Html:
    patchset = reason.patchset
    state = "applied" if reason.applied else Message("not applied yet")
    rows: list[tuple[str, str]] = [
        (FIELDS.get(key, key), _linked(value)) for key, value in patchset.about.provenance.items()
    ]
    rows += [("for", release_ranges(patchset.variants))]
    for option in patchset.options:
        value = option_text(reason.options.get(option.name, option.default))
        about = localized(
            Message(
                "{help} (default {option_text})",
                help=option.help,
                option_text=option_text(option.default),
            )
        )
        rows.append(("option", join(tag("code", f"{option.name}={value}"), " ", about)))
    rows += [("from", str(patchset.folder.source)), ("digest", tag("code", patchset.folder.digest))]
    proof, _, table = reason.checked.partition("\n")
    checked = (
        tag(
            "details",
            tag("summary", Message("proven on {first}", first=proof)),
            tag("pre", lines(table)),
        )
        if proof
        else ""
    )
    heading = tag(
        "h2",
        f"{patchset.name} {patchset.version} ",
        tag("small", f"{patchset.about.kind}, {state}"),
    )
    prose = tag(
        "div", tag("p", patchset.about.summary, class_="summary"), *_prose(patchset.about.prose)
    )
    return tag("section", heading, prose, tag("div", _list(rows), checked), class_="why")


def _prose(prose: str) -> Iterator[Html]:
    """The paragraphs of a patchset's prose; all but the first ones can be unfolded."""
    parts = [part.strip("\n") for part in re.split(r"\n[ \t]*\n", prose) if part.strip()]
    paragraphs = [html for part in parts for html in _paragraph(part)]
    yield from paragraphs[:_PROSE]
    if paragraphs[_PROSE:]:
        yield tag("details", tag("summary", Message("more about it")), *paragraphs[_PROSE:])


def _paragraph(part: str) -> Iterator[Html]:
    """A paragraph, a list below it perhaps; what else is indented keeps its lines."""
    head, *items = re.split(r"^(?:- |[0-9]+\. )", part, flags=re.MULTILINE)
    if re.search(r"^(?:\t| {4})" if items else r"^[ \t]", part, re.MULTILINE):
        yield tag("pre", lines(part))
        return
    if head:
        yield tag("p", coded(head.rstrip("\n")))
    if items:
        kind = "ul" if part[len(head)] == "-" else "ol"
        yield tag(
            kind, *(tag("li", coded(re.sub(r"\s*\n\s*", " ", item.strip()))) for item in items)
        )


def _linked(value: str) -> Html:
    """A value, as a link where it is the address of a page and nothing else."""
    plain = re.fullmatch(r"https?://[\w.~:/?#\[\]@!$&()*+,;=%-]+", value, re.ASCII)
    return tag("a", value, href=value, rel="noreferrer noopener") if plain else coded(value)


def _remarks(outcome: DiffOutcome) -> Iterator[Html]:
    silent = answer_rows(answer for answer in outcome.answers if answer.state.value != "applicable")
    if silent:
        rows = []
        for row in silent:
            rows.append(tag("dt", f"{term(row.word)} {' '.join(row.cells)}".rstrip()))
            rows += [tag("dd", line) for line in row.details]
        yield tag(
            "section",
            tag("h2", Message("Hunks that change nothing here")),
            tag("dl", *rows),
            class_="message",
        )
    remarks = list(outcome.notes)
    lost = [edit for edit in outcome.edits if not edit.diff]
    remarks += [
        Message(
            "{edit.path}: edited by hand ({edit.release}), and the original text is not on this machine",
            edit=edit,
        )
        for edit in lost
    ]
    if remarks:
        yield tag(
            "section",
            tag("h2", "Remarks"),
            tag("ul", *(tag("li", remark) for remark in remarks)),
            class_="message",
        )


def _contents(files: Sequence[_File]) -> Iterator[Html]:
    if not files:
        return
    rows = []
    for file in files:
        diff, (anchor, *places) = file.view.diff, file.names
        scopes = [
            tag("li", link(place, hunk.scope))
            for place, hunk in zip(places, file.view.hunks)
            if hunk.scope
        ]
        mark = join(" ", localized(Message("edited by hand"))) if file.edited else ""
        size = counts(diff.added, diff.removed)
        rows.append(
            tag(
                "li", link(anchor, diff.path), " ", size, mark, tag("ul", *scopes) if scopes else ""
            )
        )
    contents = tag("details", tag("summary", count(len(files), "file")), tag("ol", *rows))
    keys = [tag("kbd", "n"), " ", Message("next change,"), " ", tag("kbd", "p"), " ", "previous"]
    yield tag("nav", contents, tag("p", *keys, class_="keys soft", hidden=True), aria_label="Files")


# the files ------------------------------------------------------------------------------------------------------------
def _sections(files: Sequence[_File], layout: HunkLayout) -> Iterator[Html]:
    headings = {file.heading for file in files}
    for heading, group in groupby(files, lambda file: file.heading):
        if len(headings) > 1:
            yield tag("h2", heading)
        for file in group:
            yield _section(file, layout)


def _section(file: _File, layout: HunkLayout) -> Html:
    diff, (anchor, *places) = file.view.diff, file.names
    hashes = [
        ("before", tag("code", diff.before)),
        ("after", tag("code", diff.after)),
        ("directory", diff.site),
    ]
    about = (
        Message("{release}, {name}", release=diff.release, name=file.about)
        if diff.release
        else file.about
    )
    return tag(
        "section",
        tag(
            "h3",
            link(anchor, diff.path),
            " ",
            tag("span", counts(diff.added, diff.removed)),
            class_="path",
        ),
        tag("details", tag("summary", about), _list(hashes), class_="about"),
        *hunks(file.view, places, layout),
        class_="file edited" if file.edited else "file",
        id=anchor,
    )
