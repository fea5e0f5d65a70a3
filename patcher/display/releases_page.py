"""What patchsets do to releases as one page: `sitepatch check --against ... --html FILE`. Pure.

A table of releases by hunks. What many releases have in common, a reason or the change itself, is
there once.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Iterable, Iterator, Mapping, Sequence, TypeVar

from patcher.compatibility import APPLICABLE, OUT_OF_RANGE, Checked, PatchOutcome, ReleaseOutcome
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
_TITLE = 200
"""How many characters of a reason are the title of a link to it."""
_FEW = 6
"""How many hunks are listed above the table at once."""

_Key = TypeVar("_Key")

if TYPE_CHECKING:
    _Hunk = tuple[str, str, int]
    """A column: the path and the scope of a hunk, and which of those in the same scope it is."""

    _Change = tuple[str, tuple[bytes, ...]]
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
    """The table of a patchset.

    Attributes:
        checked: the patchset, and what it does to each release.
        names: the anchors of the page.
        columns: its hunks.
        reasons: the reasons that its cells lead to, in the order of the releases.
        changes: the changes of files, in that order too.
    """

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
        for release in checked.releases:
            if release.changes.diffs:
                has_diffs = True

    return html_document(title, body, styles=["releases", "code"], script=has_diffs)


def _legend() -> Html:
    """What the signs of a table mean."""
    signs: list[Html] = []
    for state in _LEGEND:
        kind, sign = _MARKS[state]
        signs.append(_legend_sign(kind, sign, word=state))

    kind, sign = _FAILED
    signs.append(_legend_sign(kind, sign, word=Message("anything else: it does not fit")))
    return tag("p", *signs, class_="legend")


def _legend_sign(kind: str, sign: str, *, word: str) -> Html:
    """A sign of the legend, and what it means."""
    text = join(f"{sign} ", localized(word))
    return tag("span", text, class_=kind)


def _patchset(checked: Checked, names: Anchors) -> Iterator[Html]:
    """The part of the page that is about a patchset."""
    patchset = checked.patchset
    anchor = names.name(patchset.name)
    yield tag("h2", checked_heading(checked), id=anchor)
    yield tag("p", patchset.about.summary, class_="soft")

    table = _table(checked, names)
    if table.columns:
        yield _columns(table.columns)
    if patch_columns(checked):
        yield from _patches(checked)
    by_distribution = groupby(checked.releases, lambda release: release.distribution)
    for name, releases in by_distribution:
        yield from _matrix(name, table, releases=list(releases))

    if table.reasons:
        yield tag("h3", "Reasons")
        yield _reasons(table)

    for change, group in table.changes.items():
        yield from _changed_file(change, group, table=table)


def _table(checked: Checked, names: Anchors) -> _Table:
    """The columns of a patchset's table, and each reason and each change of a file once."""
    columns: dict[_Hunk, None] = {}
    reasons: dict[str, list[ReleaseOutcome]] = {}
    changes: dict[_Change, list[ReleaseOutcome]] = {}
    for release in checked.releases:
        columns.update(dict.fromkeys(_hunks(release)))
        for reason in _reasons_of(release):
            releases_of_reason = reasons.setdefault(reason, [])
            releases_of_reason.append(release)

        for diff in release.changes.diffs:
            releases_of_change = changes.setdefault(_change(diff), [])
            releases_of_change.append(release)

    # the names of anchors are given in the order of the releases
    name = checked.patchset.name
    return _Table(
        checked=checked,
        names=names,
        columns=list(columns),
        reasons=_groups(reasons, names, label=f"{name}:reason"),
        changes=_groups(changes, names, label=f"{name}:change"),
    )


def _groups(
    releases_by_key: Mapping[_Key, list[ReleaseOutcome]],
    names: Anchors,
    *,
    label: str,
) -> dict[_Key, _Group]:
    """The releases that have something in common, numbered in order."""
    groups: dict[_Key, _Group] = {}
    for key, releases in releases_by_key.items():
        number = len(groups) + 1
        anchor = names.name(f"{label}-{number}")
        groups[key] = _Group(number, anchor, releases=releases)

    return groups


def _hunks(release: ReleaseOutcome) -> dict[_Hunk, Answer]:
    """The answers of a release by column."""
    answers: dict[_Hunk, Answer] = {}
    numbers: Counter[tuple[str, str]] = Counter()
    for answer in release.answers:
        place = (answer.path, answer.scope)
        column = (answer.path, answer.scope, numbers[place])
        numbers[place] += 1
        answers[column] = answer

    return answers


def _reasons_of(release: ReleaseOutcome) -> list[str]:
    """The reasons of a release, or of its hunks where these were looked at, each once."""
    reasons: dict[str, None] = {}
    for answer in release.answers or [release]:
        reason = _reason(answer)
        if reason:
            reasons[reason] = None

    return list(reasons)


def _reason(answer: Answer | ReleaseOutcome) -> str:
    """Why a hunk, or a whole release, is in its state; "" where there is nothing to explain."""
    if not answer.hint:
        return answer.problem

    hint = Message("hint: {hint}", hint=answer.hint)
    return joined("\n", [answer.problem, hint])


def _change(diff: FileDiff) -> _Change:
    """The change of a file: two releases with the same lines have one change."""
    changed = []
    for line in diff.text.split(b"\n")[2:]:
        if line.startswith((b"+", b"-")):
            changed.append(line)

    return diff.path, tuple(changed)


def _columns(columns: Sequence[_Hunk]) -> Html:
    """The list of the hunks."""
    about = Message(
        "A row is a release, a numbered column a hunk; the last column leads to what changes. "
        "The hunks:"
    )

    names: list[Html] = []
    for column in columns:
        name = tag("code", _hunk_name(column))
        names.append(tag("li", name))

    summary = tag("summary", about)
    items = tag("ol", *names, class_="columns")
    are_few = len(columns) <= _FEW
    return tag("details", summary, items, open=are_few)


def _hunk_name(column: _Hunk) -> str:
    """How a column is called: the path and the scope of its hunk."""
    path, scope, _ = column
    return f"{path} {scope}".rstrip()


def _reasons(table: _Table) -> Html:
    """The list of the reasons, each with the releases for which it holds."""
    items = []
    for reason, group in table.reasons.items():
        title, _, body = translated(str(reason)).partition("\n")
        below = tag("pre", lines(body)) if body else ""
        releases = _versions(group, table.checked)
        item = tag("li", coded(title), below, " ", releases, id=group.anchor)

        items.append(item)

    return tag("ol", *items, class_="reasons")


def _changed_file(change: _Change, group: _Group, *, table: _Table) -> Iterator[Html]:
    """The change of a file, as in the newest release that has it."""
    newest = group.releases[-1]
    title = Message("Change {number}", number=group.number)
    yield tag("h3", title, id=group.anchor)
    yield tag(
        "p",
        Message("shown as in"),
        " ",
        version_label(newest),
        "; ",
        _versions(group, table.checked),
    )

    diff = next(diff for diff in newest.changes.diffs if _change(diff) == change)
    view = View(diff)
    anchor, *places = anchors(diff, view, names=table.names, before=f"{group.anchor}:")
    size = tag("span", counts(diff.added, diff.removed))
    head = tag("h4", link(anchor, diff.path), " ", size, class_="path")

    body = hunks(view, places, layout=HunkLayout())
    yield tag("section", head, *body, class_="file", id=anchor)


# the table of the patches -----------------------------------------------------------------------
class _Rows(Record):
    """The rows of a table.

    Attributes:
        noun: what a row is about, in the singular.
        failed: the rows in which something does not fit.
        good: the others.
    """

    noun: str
    failed: list[Html]
    good: list[Html]


def _patches(checked: Checked) -> Iterator[Html]:
    """The table of the patches of a patchset."""
    about = Message("A row is a patch, a column is a release, or several with the same answers.")
    yield tag("p", about)

    columns = patch_columns(checked)
    head = [tag("th", "patch", scope="col")]
    for column in columns:
        head.append(tag("th", column_name(column), scope="col"))

    rows = _Rows("patch", failed=[], good=[])
    for name, patches in patches_by_name(checked.patchset, columns).items():
        since = checked.upstream_since.get(name, "")
        row = _patch_row(name, patches, since=since)
        is_good = all(patch is None or patch.state in _MARKS for patch in patches)
        if is_good:
            rows.good.append(row)
        else:
            rows.failed.append(row)

    yield from _tables("", head, rows=rows)


def _patch_row(
    name: str,
    patches: Iterable[PatchOutcome | None],
    *,
    since: str,
) -> Html:
    """The row of a patch; `since` is the release since which it is upstream, "" for none."""
    title = Message("upstream since {since}", since=since) if since else ""
    cells = [tag("th", name, scope="row", title=title)]
    for patch in patches:
        if patch is None:
            cells.append(tag("td", ""))
        else:
            cells.append(_cell(patch.state, title=patch.problem))

    return tag("tr", *cells)


def _tables(caption: str, head: Sequence[Html], *, rows: _Rows) -> Iterator[Html]:
    """The rows that fail as a table; the good ones as one that can be unfolded.

    Args:
        caption: of both tables.
        head: the first row.
        rows: the others.
    """
    if rows.failed:
        yield _one_table(caption, head, rows=rows.failed)
    if rows.good:
        number = count(len(rows.good), rows.noun)
        summary = localized(Message("{rows} in which nothing fails", rows=number))
        if caption:
            summary = join(f"{caption}: ", summary)
        table = _one_table(caption, head, rows=rows.good)
        yield tag("details", tag("summary", summary), table)


def _one_table(caption: str, head: Sequence[Html], *, rows: Sequence[Html]) -> Html:
    """A table of these rows below its first one."""
    parts = [tag("thead", tag("tr", *head)), tag("tbody", *rows)]

    if caption:
        parts.insert(0, tag("caption", caption))
    return tag("table", *parts, class_="matrix")


def _cell(state: str, why: str = "", **attributes: str) -> Html:
    """The cell for a state, with a link to its reason."""
    kind, sign = _MARKS.get(state, _FAILED)
    word = tag("span", f" {term(state)}", class_="word")
    return tag("td", sign, word, why, class_=kind, **attributes)


# the table of the hunks -------------------------------------------------------------------------
def _matrix(
    name: str,
    table: _Table,
    *,
    releases: Sequence[ReleaseOutcome],
) -> Iterator[Html]:
    """The table for the releases of a distribution."""
    head = [tag("th", "release", scope="col")]
    for number, column in enumerate(table.columns, 1):
        name_of_hunk = _hunk_name(column)
        head.append(tag("th", str(number), scope="col", title=name_of_hunk))

    if table.changes:
        head.append(tag("th", "change", scope="col"))

    rows = _Rows("release", failed=[], good=[])
    for release in releases:
        row = _row(release, table)
        if _is_good(release):
            rows.good.append(row)
        else:
            rows.failed.append(row)

    yield from _tables(name, head, rows=rows)


def _is_good(release: ReleaseOutcome) -> bool:
    """Whether no cell of a release says that something does not fit."""
    if not release.answers:
        return release.state in _MARKS
    return all(answer.state.value in _MARKS for answer in release.answers)


def _row(release: ReleaseOutcome, table: _Table) -> Html:
    """The row of a release."""
    version = join(release.version)
    yanked = ""
    if release.release.yanked:
        version = tag("span", release.version, class_="yanked")
        yanked = join(" ", localized("yanked"))

    cells = [tag("th", version, yanked, scope="row"), *_cells(release, table)]

    if table.changes:
        links: list[Html] = []
        for diff in release.changes.diffs:
            group = table.changes[_change(diff)]
            links.append(link(group.anchor, str(group.number)))

        all_links = join(*links, between=" ")
        cells.append(tag("td", all_links, class_="change"))

    label = f"{table.checked.name}:{release.distribution}-{release.version}"
    anchor = table.names.name(label)
    return tag("tr", *cells, id=anchor)


def _cells(release: ReleaseOutcome, table: _Table) -> Iterator[Html]:
    """A cell for each hunk; one for all of them where none was looked at."""
    answers = _hunks(release)
    if not answers:
        count_of_columns = len(table.columns)
        span = str(count_of_columns) if count_of_columns > 1 else ""
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
    first_line, _, _ = reason.partition("\n")
    title = first_line[:_TITLE]
    return join(" ", link(group.anchor, text, title=title))


# the releases of a group ------------------------------------------------------------------------
def _versions(group: _Group, checked: Checked) -> Html:
    """The releases of a group, as ranges of those that were looked at."""
    order: dict[tuple[str, str], int] = {}
    for at, release in enumerate(checked.releases):
        order[release.distribution, release.version] = at

    parts = []
    by_distribution = groupby(group.releases, lambda release: release.distribution)
    for name, releases in by_distribution:
        ranges = ", ".join(map(_range, _neighbours(releases, order)))
        parts.append(f"{name} {ranges}")

    number = count(len(group.releases), "release")
    text = Message("{releases}: {parts}", releases=number, parts=joined("; ", parts))
    return tag("span", translated(text), class_="soft")


def _neighbours(
    releases: Iterable[ReleaseOutcome],
    order: dict[tuple[str, str], int],
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
    """The version of a release, or the first and the last of several."""
    first = version_label(run[0])
    if len(run) == 1:
        return first

    last = version_label(run[-1])
    return Message("{version} to {goal}", version=first, goal=last)
