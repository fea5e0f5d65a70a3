"""What patchsets do to releases as one page: `sitepatch check --against ... --html FILE`. Pure.

A table of releases by hunks. What many releases have in common, a reason or the change itself, is
there once.
"""

from __future__ import annotations

from itertools import groupby
from typing import Callable, Iterable, Iterator, Sequence, Tuple

from patcher.compatibility import APPLICABLE, OUT_OF_RANGE, Checked, ReleaseOutcome
from patcher.display.code import Anchors, HunkLayout, anchors, counts, hunks, link
from patcher.display.html import Html, coded, html_document, join, lines, localized, tag
from patcher.display.releases import (
    checked_heading,
    column_name,
    patch_columns,
    patches_by_name,
    version_label,
)
from patcher.display.styles import term, translated
from patcher.display.view import View
from patcher.message import Message, joined
from patcher.model import Answer, State
from patcher.record import Record
from patcher.text.diffs import FileDiff
from patcher.text.listed import count

_MARKS = {
    State.APPLICABLE.value: ("good", "✓"),
    State.APPLIED.value: ("good", "✓"),
    State.UPSTREAM.value: ("same", "="),
    State.NOT_NEEDED.value: ("same", "–"),
    OUT_OF_RANGE: ("out", "·"),
}
"""By state: the class of its cell, and the sign in it."""
_FAILED = ("bad", "✗")
_LEGEND = (APPLICABLE, State.UPSTREAM.value, State.NOT_NEEDED.value, OUT_OF_RANGE)
_FEW = 6  # hunks that are listed above the table at once

_Hunk = Tuple[str, str, int]
"""A column: the path and the scope of a hunk, and which of those in the same scope it is."""
_Change = Tuple[str, Tuple[bytes, ...]]
"""The change of a file, wherever in it: its path, and its inserted and deleted lines."""


class _Group(Record):
    """Releases that have something in common.

    Attributes:
        number: the number of what they have, from 1.
        anchor: the name of its place in the page.
        releases: the releases.
    """

    number: int
    anchor: str
    releases: list[ReleaseOutcome]


class _Table(Record):
    """The table of a patchset: its columns, and what its cells lead to, in order."""

    checked: Checked
    names: Anchors
    columns: list[_Hunk]
    reasons: dict[str, _Group]
    changes: dict[_Change, _Group]


def releases_page(title: str, results: Sequence[Checked]) -> bytes:
    """The page in UTF-8."""
    names = Anchors()
    body = [_legend()]
    has_diffs = False
    for checked in results:
        body += _patchset(checked, names)
        has_diffs = has_diffs or any(release.changes.diffs for release in checked.releases)
    return html_document(title, body, ["releases", "code"], script=has_diffs)


def _legend() -> Html:
    """What the signs of a table mean."""
    entries: list[tuple[str, tuple[str, str]]] = [(word, _MARKS[word]) for word in _LEGEND]
    entries.append((Message("anything else: it does not fit"), _FAILED))
    signs = []
    for word, (kind, sign) in entries:
        signs.append(tag("span", join(f"{sign} ", localized(word)), class_=kind))
    return tag("p", *signs, class_="legend")


def _patchset(checked: Checked, names: Anchors) -> Iterator[Html]:
    """The part of the page that is about a patchset."""
    patchset = checked.patchset
    yield tag("h2", checked_heading(checked), id=names.name(patchset.name))
    yield tag("p", patchset.about.summary, class_="soft")
    table = _table(checked, names)
    if table.columns:
        yield _columns(table.columns)
    if patch_columns(checked):
        yield from _patches(checked)
    for name, releases in groupby(checked.releases, lambda release: release.distribution):
        yield from _matrix(name, table, list(releases))
    if table.reasons:
        yield tag("h3", "Reasons")
        yield _reasons(table)
    for change, group in table.changes.items():
        yield from _changed_file(change, group, table)


def _table(checked: Checked, names: Anchors) -> _Table:
    """The columns of a patchset's table, and each reason and each change of a file once."""
    columns: dict[_Hunk, None] = {}
    reasons: dict[str, list[ReleaseOutcome]] = {}
    changes: dict[_Change, list[ReleaseOutcome]] = {}
    for release in checked.releases:
        columns.update(dict.fromkeys(_hunks(release)))
        for reason in dict.fromkeys(map(_reason, release.answers or [release])):
            if reason:
                reasons.setdefault(reason, []).append(release)
        for diff in release.changes.diffs:
            changes.setdefault(_change(diff), []).append(release)

    # the names of anchors are given in the order of the releases
    name = checked.patchset.name
    reason_groups: dict[str, _Group] = {}
    for number, (reason, releases) in enumerate(reasons.items(), 1):
        anchor = names.name(f"{name}:reason-{number}")
        reason_groups[reason] = _Group(number, anchor, releases)
    change_groups: dict[_Change, _Group] = {}
    for number, (change, releases) in enumerate(changes.items(), 1):
        anchor = names.name(f"{name}:change-{number}")
        change_groups[change] = _Group(number, anchor, releases)
    return _Table(
        checked, names, columns=list(columns), reasons=reason_groups, changes=change_groups
    )


def _hunks(release: ReleaseOutcome) -> dict[_Hunk, Answer]:
    """The answers of a release by column."""
    answers: dict[_Hunk, Answer] = {}
    for answer in release.answers:
        number = sum(column[:2] == (answer.path, answer.scope) for column in answers)
        answers[answer.path, answer.scope, number] = answer
    return answers


def _reason(answer: Answer | ReleaseOutcome) -> str:
    """Why a hunk, or a whole release, is in its state; "" where there is nothing to explain."""
    hint = Message("hint: {hint}", hint=answer.hint) if answer.hint else ""
    return joined("\n", [answer.problem, hint])


def _change(diff: FileDiff) -> _Change:
    """The change of a file: two releases with the same lines have one change."""
    body = diff.text.split(b"\n")[2:]
    return diff.path, tuple(line for line in body if line[:1] in (b"+", b"-"))


def _columns(columns: Sequence[_Hunk]) -> Html:
    """The list of the hunks."""
    about = Message(
        "A row is a release, a numbered column a hunk; the last column leads to what changes. "
        "The hunks:"
    )
    names = [tag("li", tag("code", f"{path} {scope}".rstrip())) for path, scope, _ in columns]
    items = tag("ol", *names, class_="columns")
    return tag("details", tag("summary", about), items, open=len(columns) <= _FEW)


def _reasons(table: _Table) -> Html:
    """The list of the reasons, each with the releases for which it holds."""
    items = []
    for reason, group in table.reasons.items():
        title, _, body = translated(str(reason)).partition("\n")
        below = tag("pre", lines(body)) if body else ""
        releases = _versions(group, table.checked)
        items.append(tag("li", coded(title), below, " ", releases, id=group.anchor))
    return tag("ol", *items, class_="reasons")


def _changed_file(change: _Change, group: _Group, table: _Table) -> Iterator[Html]:
    """The change of a file, as in the newest release that has it."""
    newest = group.releases[-1]
    diff = next(diff for diff in newest.changes.diffs if _change(diff) == change)
    view = View(diff)
    anchor, *places = anchors(diff, view, table.names, before=f"{group.anchor}:")
    size = tag("span", counts(diff.added, diff.removed))
    head = tag("h4", link(anchor, diff.path), " ", size, class_="path")
    where = (Message("shown as in"), " ", version_label(newest), "; ")
    yield tag("h3", Message("Change {number}", number=group.number), id=group.anchor)
    yield tag("p", *where, _versions(group, table.checked))
    body = hunks(view, places, HunkLayout())
    yield tag("section", head, *body, class_="file", id=anchor)


# the table of the patches -----------------------------------------------------------------------
def _patches(checked: Checked) -> Iterator[Html]:
    columns, since = patch_columns(checked), checked.upstream_since
    head = [tag("th", "patch", scope="col")]
    head += [tag("th", column_name(column), scope="col") for column in columns]
    rows = []
    for name, patches in patches_by_name(checked.patchset, columns).items():
        title = Message("upstream since {since}", since=since[name]) if name in since else ""
        cells = [tag("th", name, scope="row", title=title)]
        is_good = True
        for patch in patches:
            if patch is None:
                cells.append(tag("td", ""))
            else:
                cells.append(_cell(patch.state, title=patch.problem))
                is_good = is_good and patch.state in _MARKS
        rows.append((tag("tr", *cells), is_good))
    yield tag(
        "p",
        Message("A row is a patch, a column is a release, or several with the same answers."),
    )
    yield from _tables("", head, rows, counted=lambda number: count(number, "patch"))


def _tables(
    caption: str,
    head: Sequence[Html],
    rows: Sequence[tuple[Html, bool]],
    *,
    counted: Callable[[int], str],
) -> Iterator[Html]:
    """The rows that fail as a table; the good ones as one that can be unfolded.

    Args:
        caption: of both tables.
        head: the first row.
        rows: the others, each with whether it is good.
        counted: a number of rows in words.
    """
    failed = [row for row, is_good in rows if not is_good]
    good = [row for row, is_good in rows if is_good]
    if failed:
        yield _one_table(caption, head, failed)
    if good:
        summary = localized(Message("{rows} in which nothing fails", rows=counted(len(good))))
        if caption:
            summary = join(f"{caption}: ", summary)
        yield tag("details", tag("summary", summary), _one_table(caption, head, good))


def _one_table(caption: str, head: Sequence[Html], rows: Sequence[Html]) -> Html:
    title = tag("caption", caption) if caption else ""
    top, body = tag("thead", tag("tr", *head)), tag("tbody", *rows)
    return tag("table", title, top, body, class_="matrix")


def _cell(state: str, why: str = "", **attributes: str) -> Html:
    kind, sign = _MARKS.get(state, _FAILED)
    word = tag("span", f" {term(state)}", class_="word")
    return tag("td", sign, word, why, class_=kind, **attributes)


# the table of the hunks -------------------------------------------------------------------------
def _matrix(name: str, table: _Table, releases: Sequence[ReleaseOutcome]) -> Iterator[Html]:
    """The table for the releases of a distribution."""
    head = [tag("th", "release", scope="col")]
    for number, (path, scope, _) in enumerate(table.columns, 1):
        head.append(tag("th", str(number), scope="col", title=f"{path} {scope}".rstrip()))
    if table.changes:
        head.append(tag("th", "change", scope="col"))
    rows = [(_row(release, table), _is_good(release)) for release in releases]
    yield from _tables(name, head, rows, counted=lambda number: count(number, "release"))


def _is_good(release: ReleaseOutcome) -> bool:
    """Whether no cell of a release says that something does not fit."""
    if not release.answers:
        return release.state in _MARKS
    return all(answer.state.value in _MARKS for answer in release.answers)


def _row(release: ReleaseOutcome, table: _Table) -> Html:
    """The row of a release."""
    version, yanked = join(release.version), ""
    if release.release.yanked:
        version = tag("span", release.version, class_="yanked")
        yanked = join(" ", localized("yanked"))
    cells = [tag("th", version, yanked, scope="row"), *_cells(release, table)]
    if table.changes:
        groups = [table.changes[_change(diff)] for diff in release.changes.diffs]
        links = [link(group.anchor, str(group.number)) for group in groups]
        cells.append(tag("td", join(*links, between=" "), class_="change"))
    label = f"{table.checked.name}:{release.distribution}-{release.version}"
    return tag("tr", *cells, id=table.names.name(label))


def _cells(release: ReleaseOutcome, table: _Table) -> Iterator[Html]:
    """A cell for each hunk; one for all of them where none was looked at."""
    answers = _hunks(release)
    if not answers:
        span = str(len(table.columns)) if len(table.columns) > 1 else ""
        yield _cell(release.state, _why(release, table), colspan=span)
        return
    for column in table.columns:
        answer = answers.get(column)
        if answer is None:
            yield tag("td", "")
        else:
            yield _cell(answer.state.value, _why(answer, table))


def _why(answer: Answer | ReleaseOutcome, table: _Table) -> Html:
    """A link to the reason of a state, if there is one."""
    reason = _reason(answer)
    if reason not in table.reasons:
        return join("")
    group = table.reasons[reason]
    text = translated(Message("reason {number}", number=group.number))
    return join(" ", link(group.anchor, text, title=reason.split("\n")[0][:200]))


# the releases of a group ------------------------------------------------------------------------
def _versions(group: _Group, checked: Checked) -> Html:
    """The releases of a group, as ranges of those that were looked at."""
    order: dict[tuple[str, str], int] = {}
    for at, release in enumerate(checked.releases):
        order[release.distribution, release.version] = at

    parts = []
    for name, releases in groupby(group.releases, lambda release: release.distribution):
        ranges = [_range(run) for run in _neighbours(releases, order)]
        parts.append(f"{name} {', '.join(ranges)}")
    number = count(len(group.releases), "release")
    text = Message("{releases}: {parts}", releases=number, parts=joined("; ", parts))
    return tag("span", translated(text), class_="soft")


def _neighbours(
    releases: Iterable[ReleaseOutcome], order: dict[tuple[str, str], int]
) -> Iterator[list[ReleaseOutcome]]:
    """The releases in runs without a gap."""
    run: list[ReleaseOutcome] = []
    end = -1
    for release in releases:
        at = order[release.distribution, release.version]
        if run and at != end + 1:
            yield run
            run = []
        run.append(release)
        end = at
    yield run


def _range(run: Sequence[ReleaseOutcome]) -> str:
    if len(run) == 1:
        return version_label(run[0])
    template = "{version} to {goal}"
    return Message(template, version=version_label(run[0]), goal=version_label(run[-1]))
