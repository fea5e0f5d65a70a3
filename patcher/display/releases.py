"""What patchsets do to releases, on the console.

The text of one patchset is a heading, then a line for each run of releases with one answer, oldest
first, and one for each that does not fit; with `--verbose` a line for each release, as in
`compatibility.txt`.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Iterable, Iterator, Sequence

from patcher.compatibility import GOOD, NO_RELEASE, Checked, PatchOutcome, ReleaseOutcome
from patcher.display.console import Console
from patcher.display.explained import explained_row
from patcher.display.styles import Row, term, translated
from patcher.message import Message, joined, one_line
from patcher.model import Patchset, State
from patcher.patchset.layers import patch_names
from patcher.text.listed import count
from patcher.text.terminal import width

if TYPE_CHECKING:
    Releases = tuple[ReleaseOutcome, ...]
    """Releases with one answer."""

_FEW_LINES = 12
"""How many lines about the hunks of a patch that do not fit are shown without --verbose."""
_WIDE = 80
"""How many columns of text a table of patches has at most."""
_NARROWEST = 24
"""How many of them there are for the names of patches at least."""


def show_releases(console: Console, results: Sequence[Checked]) -> None:
    """Show what becomes of patchsets on releases."""
    hints: list[str] = []
    for number, checked in enumerate(results):
        if number:
            console.out("")
        console.out(checked_heading(checked))
        for table in patch_tables(checked):
            console.rows(table)

        console.rows(patch_problems(checked, verbose=console.verbose))
        console.rows(checked_rows(checked, in_full=console.verbose))
        console.info_rows(_upstream_rows(checked))
        for release in checked.releases:
            hints.append(release.hint)

    console.hints(hints)


def _upstream_rows(checked: Checked) -> list[Row]:
    """A row for each patch that is upstream, with the release since which it is."""
    rows = []
    for name, release in checked.upstream_since.items():
        since = Message("since {release}: it can go", release=release)
        rows.append(Row(State.UPSTREAM.value, (name, since)))

    return rows


def checked_heading(checked: Checked) -> str:
    """The patchset, how many releases were looked at, and how many of them are in which state."""
    states: Counter[str] = Counter()
    number = 0
    for release in checked.releases:
        if release.state == NO_RELEASE:
            continue

        states[release.state] += 1
        if release.version:
            number += 1

    parts: list[str] = []
    if number:
        parts.append(count(number, "release"))
    totals = [f"{term(state)} {times}" for state, times in states.items()]
    parts.append(", ".join(totals))
    heading = Message("{name} {version}", name=checked.name, version=checked.version)
    return joined(", ", (heading, joined(": ", parts)))


def checked_rows(checked: Checked, *, in_full: bool) -> list[Row]:
    """One line for each run of releases with one answer; `in_full` one for each release."""
    rows = []
    for run in runs(checked.releases, in_full=in_full):
        places: dict[str, None] = {}
        for release in run:
            for path, lines in release.places:
                if len(run) > 1:
                    places[path] = None
                else:
                    numbers = ",".join(map(str, lines))
                    places[f"{path}:{numbers}"] = None

        first = run[0]
        about = joined("  ", [*places, first.problem])
        cells = (first.distribution, versions_of(run), about)
        rows.append(Row(first.state, cells))

    return rows


def runs(releases: Iterable[ReleaseOutcome], *, in_full: bool = False) -> list[Releases]:
    """Neighbours with one answer together, each that failed by itself; `in_full` each by itself."""

    def answer(release: ReleaseOutcome) -> tuple[object, ...]:
        return (
            release.distribution,
            release.state,
            release.problem,
            release.changes.proven,
            "" if release.ok else release.version,
        )

    if in_full:
        return [(release,) for release in releases]

    neighbours: list[Releases] = []
    for _, run in groupby(releases, answer):
        neighbours.append(tuple(run))

    return neighbours


def versions_of(run: Releases) -> str:
    """The version of a release, or the first and the last one of several, and how many they are."""
    first = run[0]
    if len(run) == 1:
        return version_label(first)

    number: str = count(len(run), "release")
    yanked = sum(release.release.yanked for release in run)
    if yanked:
        number += Message(", {yanked} yanked", yanked=yanked)
    template = "{version} to {last_version} ({releases})"
    return Message(
        template,
        version=first.version,
        last_version=run[-1].version,
        releases=number,
    )


def version_label(release: ReleaseOutcome) -> str:
    """The version, and whether it was yanked."""
    if release.release.yanked:
        return Message("{version} (yanked)", version=release.version)
    return release.version


# the patches of a patchset ----------------------------------------------------------------------
def patch_columns(checked: Checked) -> list[Releases]:
    """The releases of which the patches are known; neighbours in which all are the same together.

    None where each release has one patch: what that is, the line of the release says.
    """
    if not checked.has_several_patches:
        return []

    def answers(release: ReleaseOutcome) -> tuple[object, ...]:
        patches = [(patch.name, patch.state, patch.problem) for patch in release.patches]
        return release.distribution, patches

    known = [release for release in checked.releases if release.patches]
    columns: list[Releases] = []
    for _, run in groupby(known, answers):
        columns.append(tuple(run))

    return columns


def patches_by_name(
    patchset: Patchset,
    columns: Sequence[Releases],
) -> dict[str, list[PatchOutcome | None]]:
    """What each patch is in each column, by its name; None where its variant has no such patch."""
    by_name: dict[str, list[PatchOutcome | None]] = {}
    for name in patch_names(patchset):
        patches = [_patch_in(column, name) for column in columns]
        if any(patches):
            by_name[name] = patches

    return by_name


def _patch_in(column: Releases, name: str) -> PatchOutcome | None:
    """What a patch is in the releases of a column; None where there is none of that name."""
    for patch in column[0].patches:
        if patch.name == name:
            return patch

    return None


def column_name(run: Releases) -> str:
    """The release of a column, or the first and the last one."""
    first, last = run[0].version, run[-1].version
    if len(run) == 1:
        return first
    return Message("{version} to {last}", version=first, last=last)


def patch_tables(checked: Checked) -> list[list[Row]]:
    """A row for each patch, a column for each release, and the totals.

    As many tables as it takes to stay within `_WIDE` columns of text; a name that is too long is
    cut in its middle.
    """
    columns = patch_columns(checked)
    if not columns:
        return []

    cells: dict[str, list[str]] = {}
    for name, patches in patches_by_name(checked.patchset, columns).items():
        cells[name] = list(map(_cell, patches))

    heads = list(map(column_name, columns))
    totals = list(map(_total, columns))
    widths: list[int] = []
    for at, head in enumerate(heads):
        texts = [translated(head), translated(totals[at])]
        for row in cells.values():
            texts += [row[at], term(row[at])]

        widths.append(max(map(width, texts)))

    tables: list[list[Row]] = []
    for start, end in _slices(widths):
        taken = sum(widths[start:end]) + 2 * (end - start)
        room = _WIDE - taken
        rows = [Row("patch", tuple(heads[start:end]))]
        for name, row in cells.items():
            rows.append(Row(_short(name, room), tuple(row[start:end])))

        rows.append(Row("total", tuple(totals[start:end])))
        tables.append(rows)

    return tables


def _cell(patch: PatchOutcome | None) -> str:
    """The state of a patch, `-` for none."""
    return patch.state if patch else "-"


def _slices(widths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The ranges of columns that stand in one table each: as many as leave room for the names."""
    start = used = 0
    for at, wide in enumerate(widths):
        if at > start and used + wide + 2 > _WIDE - _NARROWEST:
            yield start, at
            start = at
            used = 0

        used += wide + 2

    yield start, len(widths)


def _short(name: str, room: int) -> str:
    """A name, without its middle where it is longer than the room."""
    if len(name) <= room:
        return name

    head = (room - 1) // 2
    tail = room - 1 - head
    return f"{name[:head]}…{name[len(name) - tail :]}"


def patch_problems(checked: Checked, *, verbose: bool) -> list[Row]:
    """Why patches do not fit releases."""
    rows: list[Row] = []
    for column in patch_columns(checked):
        for patch in column[0].patches:
            if patch.problem:
                rows.append(_problem_row(patch, column, verbose=verbose))

    return rows


def _total(column: Releases) -> str:
    """How many patches of a column are no failure."""
    patches = column[0].patches
    number = sum(patch.state in GOOD for patch in patches)
    return Message("{number} of {patches}", number=number, patches=len(patches))


def _problem_row(patch: PatchOutcome, column: Releases, *, verbose: bool) -> Row:
    """Why a patch does not fit the releases of a column."""
    lines: list[str] = []
    for answer in patch.answers:
        lines += explained_row(answer, diff_lines=0).details[:-1]

    if not verbose:
        lines = lines[:_FEW_LINES]

    where = f"{column[0].distribution} {column_name(column)}"
    details = (one_line(patch.problem), *lines)
    return Row(patch.state, (patch.name, where), details=details)
