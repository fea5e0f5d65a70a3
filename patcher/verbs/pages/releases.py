"""What patchsets do to releases as one page: `sitepatch check --against ... --html FILE`. Pure.

A table of releases by hunks. What many releases have in common, a reason or the change itself, is there once.
"""

from __future__ import annotations

from itertools import groupby
from typing import Callable, Iterator, NamedTuple, Sequence, Tuple

from patcher.display.code import Anchors, HunkLayout, anchors, counts, hunks, link
from patcher.display.html import Html, coded, html_document, join, lines, localized, tag
from patcher.display.styles import term, translated
from patcher.display.view import View
from patcher.message import Message, joined
from patcher.model import Answer, State
from patcher.text.diffs import FileDiff
from patcher.text.listed import count
from patcher.verbs.releases.outcome import APPLICABLE, OUT_OF_RANGE, Checked, ReleaseOutcome
from patcher.verbs.releases.table import (
    checked_heading,
    column_name,
    patch_columns,
    patches_by_name,
    upstream_since,
    version,
)

_MARKS = {
    State.APPLICABLE.value: ("good", "✓"),
    State.APPLIED.value: ("good", "✓"),
    State.UPSTREAM.value: ("same", "="),
    State.NOT_NEEDED.value: ("same", "–"),
    OUT_OF_RANGE: ("out", "·"),
}
_FAILED = ("bad", "✗")
_LEGEND = (APPLICABLE, State.UPSTREAM.value, State.NOT_NEEDED.value, OUT_OF_RANGE)

_Hunk = Tuple[str, str, int]
"""A column: the path and the scope of a hunk, and which of those in the same scope it is."""
_FEW = 6  # hunks that are listed above the table at once


class _Group(NamedTuple):
    """Releases that have something in common, its number from 1, and the name of the place in the page that has it."""

    number: int
    anchor: str
    outcomes: list[ReleaseOutcome]


def releases_page(title: str, results: Sequence[Checked]) -> bytes:
    """The page in UTF-8."""
    names = Anchors()
    legend = [
        *((word, _MARKS[word]) for word in _LEGEND),
        (Message("anything else: it does not fit"), _FAILED),
    ]
    marks = (
        tag("span", join(f"{mark} ", localized(word)), class_=kind) for word, (kind, mark) in legend
    )
    body = [tag("p", *marks, class_="legend")]
    for checked in results:
        body += _patchset(checked, names)
    script = any(outcome.diffs for checked in results for outcome in checked.outcomes)
    return html_document(title, body, ["releases", "code"], script=script)


def _patchset(checked: Checked, names: Anchors) -> Iterator[Html]:
    patchset = checked.patchset
    yield tag("h2", checked_heading(checked), id=names.name(patchset.name))
    yield tag("p", patchset.about.summary, class_="soft")
    columns = list(dict.fromkeys(hunk for outcome in checked.outcomes for hunk in _hunks(outcome)))
    if columns:
        about = Message(
            "A row is a release, a numbered column a hunk; the last column leads to what changes. The hunks:"
        )
        hunks_of = (
            tag("li", tag("code", f"{path} {scope}".rstrip())) for path, scope, _ in columns
        )
        yield tag(
            "details",
            tag("summary", about),
            tag("ol", *hunks_of, class_="columns"),
            open=len(columns) <= _FEW,
        )
    named = _named(checked, names)
    if patch_columns(checked):
        yield from _patches(checked)
    for name, outcomes in groupby(checked.outcomes, lambda outcome: outcome.distribution):
        yield from _matrix(name, columns, list(outcomes), named)
    if named.reasons:
        yield tag("h3", "Reasons")
        groups = (
            (translated(str(reason)).partition("\n"), group)
            for reason, group in named.reasons.items()
        )
        rows = (
            tag(
                "li",
                coded(title),
                tag("pre", lines(body)) if body else "",
                " ",
                _versions(group, checked),
                id=group.anchor,
            )
            for (title, _, body), group in groups
        )
        yield tag("ol", *rows, class_="reasons")
    for change, group in named.changes.items():
        # of the newest release
        diff = next(diff for diff in group.outcomes[-1].diffs if _change(diff) == change)
        view = View(diff)
        anchor, *places = anchors(diff, view, names, f"{group.anchor}:")
        head = tag(
            "h4",
            link(anchor, diff.path),
            " ",
            tag("span", counts(diff.added, diff.removed)),
            class_="path",
        )
        yield tag("h3", Message("Change {number}", number=group.number), id=group.anchor)
        yield tag(
            "p",
            Message("shown as in"),
            " ",
            version(group.outcomes[-1]),
            "; ",
            _versions(group, checked),
        )
        yield tag("section", head, *hunks(view, places, HunkLayout()), class_="file", id=anchor)


class _Named(NamedTuple):
    """What the cells of a patchset's table lead to: reasons by their text, changes of a file by `_change`, both in order."""

    patchset: str
    given: Anchors
    reasons: dict[object, _Group]
    changes: dict[object, _Group]


def _named(checked: Checked, names: Anchors) -> _Named:
    """Each reason and each change of a file, once."""
    name = checked.patchset.name
    named = _Named(name, names, {}, {})
    for outcome in checked.outcomes:
        reasons = map(_reason, outcome.answers) if outcome.answers else [_reason(outcome)]
        for groups, kind, keys in (
            (named.reasons, "reason", [reason for reason in dict.fromkeys(reasons) if reason]),
            (named.changes, "change", list(map(_change, outcome.diffs))),
        ):
            for key in keys:
                if key not in groups:
                    number = len(groups) + 1
                    groups[key] = _Group(number, names.name(f"{name}:{kind}-{number}"), [])
                groups[key].outcomes.append(outcome)
    return named


def _hunks(outcome: ReleaseOutcome) -> dict[_Hunk, Answer]:
    """The answers of a release by column."""
    answers: dict[_Hunk, Answer] = {}
    for answer in outcome.answers:
        number = sum(column[:2] == (answer.path, answer.hunk.scope) for column in answers)
        answers[answer.path, answer.hunk.scope, number] = answer
    return answers


def _reason(answer: Answer | ReleaseOutcome) -> str:
    """Why a hunk, or a whole release, is in its state; "" where there is nothing to explain."""
    return joined(
        "\n", [answer.problem, Message("hint: {hint}", hint=answer.hint) if answer.hint else ""]
    )


def _change(diff: FileDiff) -> object:
    """The inserted and deleted lines of a file, wherever they are: two releases with the same have one change."""
    return diff.path, tuple(line for line in diff.text.split(b"\n")[2:] if line[:1] in (b"+", b"-"))


# the table of the patches ---------------------------------------------------------------------------------------------
def _patches(checked: Checked) -> Iterator[Html]:
    columns = patch_columns(checked)
    since = upstream_since(checked)
    head = [
        tag("th", "patch", scope="col"),
        *(tag("th", column_name(column), scope="col") for column in columns),
    ]
    rows = []
    for name, patches in patches_by_name(checked.patchset, columns).items():
        title = Message("upstream since {since}", since=since[name]) if name in since else ""
        cells = (
            _cell(patch.word, title=patch.problem) if patch else tag("td", "") for patch in patches
        )
        row = tag("tr", tag("th", name, scope="row", title=title), *cells)
        rows.append((row, all(patch is None or patch.word in _MARKS for patch in patches)))
    yield tag(
        "p",
        Message("A row is a patch, a column is a release, or several with the same answers."),
    )
    yield from _tables("", head, rows, lambda number: count(number, "patch"))


def _tables(
    caption: str,
    head: Sequence[Html],
    rows: Sequence[tuple[Html, bool]],
    counted: Callable[[int], str],
) -> Iterator[Html]:
    """The rows that fail as a table; those with which all is well as one that can be unfolded, with how many they are."""

    def table(part: Sequence[Html]) -> Html:
        title = tag("caption", caption) if caption else ""
        return tag(
            "table", title, tag("thead", tag("tr", *head)), tag("tbody", *part), class_="matrix"
        )

    failed, good = ([row for row, well in rows if well == wanted] for wanted in (False, True))
    if failed:
        yield table(failed)
    if good:
        summary = Message("{rows} in which nothing fails", rows=counted(len(good)))
        yield tag(
            "details",
            tag("summary", join(f"{caption}: " if caption else "", localized(summary))),
            table(good),
        )


def _cell(word: str, why: str = "", **attributes: str) -> Html:
    kind, mark = _MARKS.get(word, _FAILED)
    return tag(
        "td", mark, tag("span", f" {term(word)}", class_="word"), why, class_=kind, **attributes
    )


# the table ------------------------------------------------------------------------------------------------------------
def _matrix(
    name: str, columns: Sequence[_Hunk], outcomes: Sequence[ReleaseOutcome], named: _Named
) -> Iterator[Html]:
    head = [tag("th", "release", scope="col")]
    for number, (path, scope, _) in enumerate(columns, 1):
        head.append(tag("th", str(number), scope="col", title=f"{path} {scope}".rstrip()))
    head += [tag("th", "change", scope="col")] if named.changes else []
    rows = [(_row(outcome, columns, named), _is_well(outcome)) for outcome in outcomes]
    yield from _tables(name, head, rows, lambda number: count(number, "release"))


def _is_well(outcome: ReleaseOutcome) -> bool:
    return all(
        word in _MARKS
        for word in [answer.state.value for answer in outcome.answers] or [outcome.word]
    )


def _row(outcome: ReleaseOutcome, columns: Sequence[_Hunk], named: _Named) -> Html:
    version = (
        tag("span", outcome.version, class_="yanked") if outcome.yanked else join(outcome.version)
    )
    yanked = join(" ", localized("yanked")) if outcome.yanked else ""
    cells = [tag("th", version, yanked, scope="row")]
    answers = _hunks(outcome)
    if answers:
        row = map(answers.get, columns)
        cells += [
            _cell(answer.state.value, _why(answer, named)) if answer else tag("td", "")
            for answer in row
        ]
    else:
        cells.append(
            _cell(
                outcome.word, _why(outcome, named), colspan=str(len(columns)) if columns[1:] else ""
            )
        )
    if named.changes:
        groups = [named.changes[_change(diff)] for diff in outcome.diffs]
        links = [link(group.anchor, str(group.number)) for group in groups]
        cells.append(tag("td", join(*links, between=" "), class_="change"))
    return tag(
        "tr",
        *cells,
        id=named.given.name(f"{named.patchset}:{outcome.distribution}-{outcome.version}"),
    )


def _why(answer: Answer | ReleaseOutcome, named: _Named) -> Html:
    """A link to the reason of a state, if there is one."""
    reason = _reason(answer)
    if reason not in named.reasons:
        return join("")
    number, anchor, _ = named.reasons[reason]
    return join(
        " ",
        link(
            anchor,
            translated(Message("reason {number}", number=number)),
            title=reason.split("\n")[0][:200],
        ),
    )


# below it -------------------------------------------------------------------------------------------------------------
def _versions(group: _Group, checked: Checked) -> Html:
    """The releases of a group, as ranges of those that were looked at."""
    order = {
        (outcome.distribution, outcome.version): at for at, outcome in enumerate(checked.outcomes)
    }
    parts = []
    for name, outcomes in groupby(group.outcomes, lambda outcome: outcome.distribution):
        # in a run the distance between the two numbers of a release stays
        places = enumerate(outcomes)
        runs = groupby(
            places, lambda place: order[place[1].distribution, place[1].version] - place[0]
        )
        parts.append(
            f"{name} " + ", ".join(_range([outcome for _, outcome in run]) for _, run in runs)
        )
    number = count(len(group.outcomes), "release")
    return tag(
        "span",
        translated(Message("{releases}: {parts}", releases=number, parts=joined("; ", parts))),
        class_="soft",
    )


def _range(run: Sequence[ReleaseOutcome]) -> str:
    return (
        version(run[0])
        if len(run) == 1
        else Message("{version} to {goal}", version=version(run[0]), goal=version(run[-1]))
    )
