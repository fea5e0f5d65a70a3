"""What differs as one page to review, with the reasons: `sitepatch diff --html FILE`. Pure."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Iterator, Sequence

from patcher.display.code import Anchors, HunkLayout, anchors, counts, hunks, link
from patcher.display.differences import DiffOutcome, Reason
from patcher.display.html import Html, coded, html_document, join, lines, localized, tag
from patcher.display.patchsets import FIELDS, release_ranges
from patcher.display.rows import answer_rows
from patcher.display.styles import term
from patcher.display.view import View
from patcher.message import Message, joined
from patcher.patchset.toml import option_text
from patcher.record import Record
from patcher.text.diffs import FileDiff
from patcher.text.listed import count

_UNFOLDED = 6000  # unchanged lines of all files together that can be unfolded: a page stays quick
_MOST = 100  # of them at one place
_PROSE = 2  # paragraphs
_SWITCH = Html('<input type="checkbox" id="one">')
_LISTED = 30  # of more files, those out of sight are laid out when they are scrolled to
_CHANGED, _PLANNED = Message("Changed by patchsets"), Message("Would be changed by patchsets")
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
    places = {name: names.name(name) for name in ("reasons", "remarks")}
    files = _files(outcome, names)
    below = [
        (Message("reasons"), [_why(reason) for reason in reasons]),
        (Message("remarks"), list(_remarks(outcome))),
    ]
    if outcome.failed:
        below.reverse()
    below = [(word, parts) for word, parts in below if parts]
    links = [link(places[word], localized(word)) for word, _ in below]

    body = [_summary(outcome, files), _where(outcome, files, links), *_contents(files)]
    if files:
        body += [_SWITCH, tag("label", Message("one column"), for_="one")]
    many = len(files) > _LISTED
    sections = _sections(files)
    body.append(tag("div", *sections, class_="files many" if many else "files"))
    for word, parts in below:
        body.append(tag("div", *parts, id=places[word]))
    return html_document(title, body, ("review", "code"), script=bool(files))


def _files(outcome: DiffOutcome, names: Anchors) -> list[_File]:
    """The sections of the page."""
    files: list[_File] = []
    for diff in outcome.applied:
        about = Message("changed by {patchsets}", patchsets=", ".join(diff.patchsets))
        files.append(_file(diff, _CHANGED, about, names=names))
    for diff in outcome.planned:
        about = Message("would be changed by {patchsets}", patchsets=", ".join(diff.patchsets))
        files.append(_file(diff, _PLANNED, about, names=names))
    for edit in outcome.edits:
        if edit.diff:
            files.append(_file(edit.diff, _EDITED, edit.about, names=names, before="edited:"))
    return files


def _file(diff: FileDiff, heading: str, about: str, *, names: Anchors, before: str = "") -> _File:
    view = View(diff)
    return _File(view, heading, about, names=anchors(diff, view, names, before=before))


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
    what = joined(", ", parts) if parts else Message("nothing differs")

    diffs = [file.view.diff for file in files]
    size: list[Html | str] = []
    if diffs:
        added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
        size = [" ", counts(added, removed)]
    return tag("p", localized(what), *size, class_="summary")


def _where(outcome: DiffOutcome, files: Sequence[_File], links: Sequence[Html]) -> Html:
    """Of which release and where it differs, and what is further below."""
    diffs = [file.view.diff for file in files]
    releases = dict.fromkeys(diff.release for diff in diffs if diff.release)
    sites = list(dict.fromkeys(diff.site for diff in diffs)) or outcome.env.own
    python = f"Python {'.'.join(map(str, outcome.env.version))}"
    return tag("p", join(*releases, *sites, python, *links, between=" · "), class_="soft")


def _contents(files: Sequence[_File]) -> Iterator[Html]:
    """The files and their scopes, and the keys that go from change to change."""
    if not files:
        return
    rows = []
    for file in files:
        diff, (anchor, *places) = file.view.diff, file.names
        scopes = []
        for place, hunk in zip(places, file.view.hunks):
            if hunk.scope:
                scopes.append(tag("li", link(place, hunk.scope)))
        mark = join(" ", localized(Message("edited by hand"))) if file.edited else ""
        below = tag("ul", *scopes) if scopes else ""
        size = counts(diff.added, diff.removed)
        rows.append(tag("li", link(anchor, diff.path), " ", size, mark, below))
    contents = tag("details", tag("summary", count(len(files), "file")), tag("ol", *rows))
    keys = [tag("kbd", "n"), " ", Message("next change,"), " ", tag("kbd", "p"), " ", "previous"]
    yield tag("nav", contents, tag("p", *keys, class_="keys soft", hidden=True), aria_label="Files")


# the reasons ------------------------------------------------------------------------------------
def _why(reason: Reason) -> Html:
    """A patchset: its prose, and what else there is to know of it."""
    patchset = reason.patchset
    state = "applied" if reason.applied else Message("not applied yet")
    kind = tag("small", f"{patchset.about.kind}, {state}")
    heading = tag("h2", f"{patchset.name} {patchset.version} ", kind)
    summary = tag("p", patchset.about.summary, class_="summary")
    proof = tag("div", _list(_facts(reason)), _proof(reason.checked))
    return tag(
        "section", heading, tag("div", summary, *_prose(patchset.about.prose)), proof, class_="why"
    )


def _facts(reason: Reason) -> Iterator[tuple[str, str]]:
    """The provenance, ranges, options and origin of a patchset."""
    patchset = reason.patchset
    for key, value in patchset.about.provenance.items():
        yield FIELDS.get(key, key), _linked(value)
    yield "for", release_ranges(patchset.variants)
    for option in patchset.options:
        value = option_text(reason.options.get(option.name, option.default))
        default = option_text(option.default)
        template = "{help} (default {option_text})"
        about = localized(Message(template, help=option.help, option_text=default))
        yield "option", join(tag("code", f"{option.name}={value}"), " ", about)
    yield "from", str(patchset.folder.source)
    yield "digest", tag("code", patchset.folder.digest)


def _proof(checked: str) -> Html | str:
    """The table of releases in the folder of a patchset, "" where there is none."""
    first, _, table = checked.partition("\n")
    if not first:
        return ""
    summary = tag("summary", Message("proven on {first}", first=first))
    return tag("details", summary, tag("pre", lines(table)))


def _list(rows: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> Html:
    items = [join(tag("dt", name), tag("dd", value)) for name, value in rows]
    return tag("dl", *items, class_="facts")


def _prose(prose: str) -> Iterator[Html]:
    """The paragraphs of a patchset's prose; all but the first ones can be unfolded."""
    paragraphs: list[Html] = []
    for part in re.split(r"\n[ \t]*\n", prose):
        if part.strip():
            paragraphs += _paragraph(part.strip("\n"))
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
        texts = [re.sub(r"\s*\n\s*", " ", item.strip()) for item in items]
        yield tag(kind, *(tag("li", coded(text)) for text in texts))


def _linked(value: str) -> Html:
    """A value, as a link where it is the address of a page and nothing else."""
    if re.fullmatch(r"https?://[\w.~:/?#\[\]@!$&()*+,;=%-]+", value, re.ASCII):
        return tag("a", value, href=value, rel="noreferrer noopener")
    return coded(value)


# the remarks ------------------------------------------------------------------------------------
def _remarks(outcome: DiffOutcome) -> Iterator[Html]:
    """The hunks that change nothing here, and what else there is to know."""
    silent = [answer for answer in outcome.answers if answer.state.value != "applicable"]
    rows = []
    for row in answer_rows(silent):
        rows.append(tag("dt", f"{term(row.word)} {' '.join(row.cells)}".rstrip()))
        rows += [tag("dd", line) for line in row.details]
    if rows:
        title = tag("h2", Message("Hunks that change nothing here"))
        yield tag("section", title, tag("dl", *rows), class_="message")

    remarks = list(outcome.notes)
    template = "{path}: edited by hand ({release}), and the original text is not on this machine"
    for edit in outcome.edits:
        if not edit.diff:
            remarks.append(Message(template, path=edit.path, release=edit.release))
    if remarks:
        items = tag("ul", *(tag("li", remark) for remark in remarks))
        yield tag("section", tag("h2", "Remarks"), items, class_="message")


# the files --------------------------------------------------------------------------------------
def _sections(files: Sequence[_File]) -> Iterator[Html]:
    """The files below their headings, which one alone does not need."""
    gaps = sum(len(file.view.hunks) + 1 for file in files)
    layout = HunkLayout(min(_MOST, _UNFOLDED // max(1, gaps)), sides=True)
    headings = {file.heading for file in files}
    for heading, group in groupby(files, lambda file: file.heading):
        if len(headings) > 1:
            yield tag("h2", heading)
        for file in group:
            yield _section(file, layout)


def _section(file: _File, layout: HunkLayout) -> Html:
    """A file: its path, where it is, and its hunks."""
    diff, (anchor, *places) = file.view.diff, file.names
    size = tag("span", counts(diff.added, diff.removed))
    path = tag("h3", link(anchor, diff.path), " ", size, class_="path")
    about = file.about
    if diff.release:
        about = Message("{release}, {name}", release=diff.release, name=file.about)
    facts = [
        ("before", tag("code", diff.sha256_before)),
        ("after", tag("code", diff.sha256_after)),
        ("directory", diff.site),
    ]
    details = tag("details", tag("summary", about), _list(facts), class_="about")
    return tag(
        "section",
        path,
        details,
        *hunks(file.view, places, layout),
        class_="file edited" if file.edited else "file",
        id=anchor,
    )
