"""What `check --against` found, as text and as JSON.

The text of one patchset is a heading, then a line for each run of releases with one answer, oldest first, and one for each
that does not fit; with `--verbose` a line for each release, as in `compatibility.txt`.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any, Iterable, Sequence, Tuple

from patcher.display.console import Console
from patcher.display.rows import diff_json
from patcher.display.styles import Row, term
from patcher.message import Message, joined, one_line
from patcher.model import Patchset, State
from patcher.patchset.layers import patch_names
from patcher.text.listed import count
from patcher.verbs.explanations import explanation_row, hunk_json
from patcher.verbs.releases.outcome import HOLDS, NO_RELEASE, Checked, PatchState, ReleaseOutcome

_Releases = Tuple[ReleaseOutcome, ...]
_FEW_LINES = 12  # about the hunks of a patch that do not fit, without --verbose


# text -----------------------------------------------------------------------------------------------------------------
def checked_heading(checked: Checked) -> str:
    """The patchset, how many releases were looked at, and how many of them are in which state."""
    words = [outcome.word for outcome in checked.outcomes if outcome.word != NO_RELEASE]
    counts = [f"{term(word)} {words.count(word)}" for word in dict.fromkeys(words)]
    number = sum(
        outcome.version != "" and outcome.word != NO_RELEASE for outcome in checked.outcomes
    )
    heading = Message("{checked.patchset.name} {checked.patchset.version}", checked=checked)
    releases = joined(": ", (count(number, "release") if number else "", ", ".join(counts)))
    return joined(", ", (heading, releases))


def checked_rows(checked: Checked, *, in_full: bool) -> list[Row]:
    """One line for each run of releases with one answer; `in_full` one for each release."""
    rows = []
    for releases in (
        [(release,) for release in checked.outcomes] if in_full else folded(checked.outcomes)
    ):
        release, versions = releases[0], versions_of(releases)
        places = [f"{path}:{','.join(map(str, lines))}" for path, lines in release.places]
        if len(releases) > 1:
            places = list(dict.fromkeys(path for outcome in releases for path, _ in outcome.places))
        rows.append(
            Row(
                release.word,
                (release.distribution, versions, joined("  ", [*places, release.problem])),
            )
        )
    return rows


def versions_of(releases: _Releases) -> str:
    """The version of a release, or the first and the last one of several, and how many they are."""
    first = releases[0]
    if len(releases) == 1:
        return version(first)
    yanked = sum(outcome.yanked for outcome in releases)
    number: str = count(len(releases), "release")
    if yanked:
        number += Message(", {yanked} yanked", yanked=yanked)
    template = "{version} to {last.version} ({releases})"
    return Message(template, version=first.version, last=releases[-1], releases=number)


def folded(outcomes: Iterable[ReleaseOutcome]) -> list[_Releases]:
    """Neighbours with one answer together; each that failed by itself."""

    def answer(outcome: ReleaseOutcome) -> tuple[object, ...]:
        return (
            outcome.distribution,
            outcome.word,
            outcome.problem,
            outcome.proven,
            outcome.version if outcome.failed else "",
        )

    return [tuple(group) for _, group in groupby(outcomes, answer)]


def version(outcome: ReleaseOutcome) -> str:
    """The version, and whether it was yanked."""
    return (
        Message("{version} (yanked)", version=outcome.version)
        if outcome.yanked
        else outcome.version
    )


def show_releases(console: Console, releases: Sequence[Checked]) -> None:
    """Show what becomes of patchsets on releases."""
    for number, checked in enumerate(releases):
        console.out(("\n" if number else "") + checked_heading(checked))
        console.rows(checked_rows(checked, in_full=console.verbose))
        console.rows(patch_rows(checked, verbose=console.verbose))
        since = {
            name: Message("since {release}: it can go", release=first)
            for name, first in upstream_since(checked).items()
        }
        console.info_rows([Row(State.UPSTREAM.value, cells) for cells in since.items()])
    console.hints(outcome.hint for checked in releases for outcome in checked.outcomes)


# the patches of a patchset --------------------------------------------------------------------------------------------
def patch_columns(checked: Checked) -> list[_Releases]:
    """The releases of which the patches are known; neighbours in which all are the same together.

    None where each release has one patch: what that is, the line of the release says.
    """
    if not has_several(checked):
        return []

    def answers(outcome: ReleaseOutcome) -> tuple[object, ...]:
        return outcome.distribution, [
            (patch.name, patch.word, patch.problem) for patch in outcome.patches
        ]

    return [
        tuple(group)
        for _, group in groupby(
            (outcome for outcome in checked.outcomes if outcome.patches), answers
        )
    ]


def has_several(checked: Checked) -> bool:
    """Whether there are several patches for one of the releases."""
    return any(len(outcome.patches) > 1 for outcome in checked.outcomes)


def patches_by_name(
    patchset: Patchset, columns: Sequence[_Releases]
) -> dict[str, list[PatchState | None]]:
    """What each patch is in each column, by its name; None where the variant for it has no such patch."""
    states = [{patch.name: patch for patch in column[0].patches} for column in columns]
    names = [name for name in patch_names(patchset) if any(name in column for column in states)]
    return {name: [column.get(name) for column in states] for name in names}


def column_name(releases: _Releases) -> str:
    """The release of a column, or the first and the last one."""
    first, last = releases[0].version, releases[-1].version
    return first if len(releases) == 1 else Message("{version} to {last}", version=first, last=last)


def patch_rows(checked: Checked, *, verbose: bool) -> list[Row]:
    """A row for each patch and a column for each release, the totals, and why a patch does not fit."""
    columns = patch_columns(checked)
    if not columns:
        return []
    rows = [Row("patch", tuple(map(column_name, columns)))]
    states = patches_by_name(checked.patchset, columns).items()
    rows += [
        Row(name, tuple(patch.word if patch else "-" for patch in patches))
        for name, patches in states
    ]
    good = (*HOLDS, State.NOT_NEEDED.value)
    fits = [
        (sum(patch.word in good for patch in column[0].patches), len(column[0].patches))
        for column in columns
    ]
    rows += [
        Row(
            "total",
            tuple(
                Message("{number} of {patches}", number=number, patches=most)
                for number, most in fits
            ),
        )
    ]
    for column in columns:
        for patch in column[0].patches:
            if patch.problem:
                lines = [
                    line for hunk in patch.hunks for line in explanation_row(hunk, 0).details[:-1]
                ]
                details = (one_line(patch.problem), *(lines if verbose else lines[:_FEW_LINES]))
                rows.append(
                    Row(
                        patch.word,
                        (patch.name, f"{column[0].distribution} {column_name(column)}"),
                        details,
                    )
                )
    return rows


def upstream_since(checked: Checked) -> dict[str, str]:
    """What can go, the patchset or patches of it, and since which of the releases that were looked at.

    The last release has it itself. Where there is one patch, it is the patchset that can go.
    """
    since: dict[str, str] = {}
    several = has_several(checked)
    for release in (outcome for outcome in checked.outcomes if outcome.answers or outcome.patches):
        words = [(patch.name, patch.word) for patch in release.patches if several]
        for name, word in words or [(checked.patchset.name, release.word)]:
            if word != State.UPSTREAM.value:
                since.pop(name, None)
            else:
                since.setdefault(name, f"{release.distribution} {release.version}")
    return since


# JSON -----------------------------------------------------------------------------------------------------------------
def checked_json(checked: Checked) -> dict[str, Any]:
    """A patchset and its releases as JSON."""
    releases = []
    for release in checked.outcomes:
        fields = {
            "distribution": release.distribution,
            "version": release.version,
            "state": release.word,
            "ok": not release.failed,
            **release._asdict(),
            "places": [{"path": path, "lines": lines} for path, lines in release.places],
            "files": [diff_json(diff) for diff in release.diffs],
            "patches": [_patch_json(patch) for patch in release.patches],
        }
        inner = ("word", "diffs", "answers", "unlike", "proven", "beyond")
        releases.append({name: field for name, field in fields.items() if name not in inner})
    head = {"name": checked.patchset.name, "version": checked.patchset.version}
    return {**head, "releases": releases, "upstream_since": upstream_since(checked)}


def _patch_json(patch: PatchState) -> dict[str, Any]:
    hunks = [hunk_json(hunk) for hunk in patch.hunks]
    return {
        "name": patch.name,
        "state": patch.word,
        "problem": patch.problem,
        "other": patch.other,
        "hunks": hunks,
    }
