"""What `check --against` found, as text, as JSON and as annotations for GitHub.

The text of one patchset is a heading, then a line for each run of releases with one answer, oldest first, and one for each
that does not fit; with `--verbose` a line for each release, as in `compatibility.txt`.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Sequence, Tuple, Union

from patcher.message import Message, joined, one_line
from patcher.model import Answer, State
from patcher.patchset.removal import can_go
from patcher.text.listed import count
from patcher.text.terminal import Styled
from patcher.verbs.annotations import ERROR, NOTICE, annotation
from patcher.verbs.console import Console
from patcher.verbs.explained import explanation_row, hunk_json
from patcher.verbs.releases.outcome import HOLDS, NO_RELEASE, Checked, PatchState, ReleaseOutcome
from patcher.verbs.rows import diff_json
from patcher.verbs.styles import Row
from patcher.verbs.translation import term

_Releases = Tuple[ReleaseOutcome, ...]
_FEW_LINES = 12  # about the hunks of a patch that do not fit, without --verbose


# text -----------------------------------------------------------------------------------------------------------------
def checked_heading(checked: Checked) -> str:
    """The patchset, how many releases were looked at, and how many of them are in which state."""
    words = [outcome.word for outcome in checked.outcomes if outcome.word != NO_RELEASE]
    found = [f"{term(word)} {words.count(word)}" for word in dict.fromkeys(words)]
    releases = count(sum(one.version != "" and one.word != NO_RELEASE for one in checked.outcomes), "release")
    return Message("{checked.patchset.name} {checked.patchset.version}, {releases}", checked=checked, releases=releases) + (
        f": {', '.join(found)}" if found else ""
    )


def checked_rows(checked: Checked, *, each: bool) -> List[Row]:
    """One line for each run of releases with one answer, or for `each` release."""
    found = []
    for several in [(one,) for one in checked.outcomes] if each else folded(checked.outcomes):
        one, last = several[0], several[-1]
        if one is last:
            found.append(Row(one.word, (one.distribution, version(one), _places_and_problem(one))))
            continue
        paths = dict.fromkeys(path for outcome in several for path, _ in outcome.places)
        yanked = sum(outcome.yanked for outcome in several)
        releases = count(len(several), "release") + (Message(", {yanked} yanked", yanked=yanked) if yanked else "")
        text = joined("  ", [*paths, one.problem])
        found.append(
            Row(
                one.word,
                (
                    one.distribution,
                    Message("{version} to {last.version} ({releases})", version=one.version, last=last, releases=releases),
                    text,
                ),
            )
        )
    return found


def folded(outcomes: Iterable[ReleaseOutcome]) -> List[_Releases]:
    """Neighbours with one answer together; each that failed by itself."""
    found: List[_Releases] = []
    for one in outcomes:
        before = found[-1][-1] if found else None
        if before and not one.failed and _answer(before) == _answer(one):
            found[-1] = (*found[-1], one)
        else:
            found.append((one,))
    return found


def _answer(one: ReleaseOutcome) -> Tuple[str, str, str]:
    return one.distribution, one.word, one.problem


def version(outcome: ReleaseOutcome) -> str:
    """The version, and whether it was yanked."""
    return Message("{version} (yanked)", version=outcome.version) if outcome.yanked else outcome.version


def _places_and_problem(outcome: ReleaseOutcome) -> str:
    places = [f"{path}:{','.join(map(str, lines))}" for path, lines in outcome.places]
    return joined("  ", [*places, outcome.problem])


def show_releases(console: Console, releases: Sequence[Checked]) -> None:
    """Show what becomes of patchsets on releases."""
    for number, checked in enumerate(releases):
        console.out(("\n" if number else "") + checked_heading(checked))
        console.rows(checked_rows(checked, each=console.verbose))
        console.rows(series_rows(checked, verbose=console.verbose))
        since = upstream_since(checked).items()
        console.info_rows(
            [
                Row(State.UPSTREAM.value, (name, Message("since {release}: it can go", release=release)))
                for name, release in since
            ]
        )
    console.hints(one.hint for checked in releases for one in checked.outcomes)


# a series -------------------------------------------------------------------------------------------------------------
def series_columns(checked: Checked) -> List[_Releases]:
    """The releases of which the patches of a series are known; neighbours in which all are the same together."""
    found: List[_Releases] = []
    for one in (outcome for outcome in checked.outcomes if outcome.patches):
        last = found[-1][-1] if found else None
        if last and last.distribution == one.distribution and _words(last) == _words(one):
            found[-1] = (*found[-1], one)
        else:
            found.append((one,))
    return found


def _words(outcome: ReleaseOutcome) -> List[Tuple[str, str]]:
    return [(patch.word, patch.problem) for patch in outcome.patches]


def column_name(releases: _Releases) -> str:
    """The release of a column, or the first and the last one."""
    return (
        releases[0].version
        if len(releases) == 1
        else Message("{version} to {last}", version=releases[0].version, last=releases[-1].version)
    )


def series_rows(checked: Checked, *, verbose: bool) -> List[Row]:
    """A row for each patch of a series and a column for each release, the totals, and why a patch does not fit."""
    columns = series_columns(checked)
    if not columns:
        return []
    names = [patch.name for patch in columns[0][0].patches]
    table = list(zip(names, zip(*(column[0].patches for column in columns))))
    rows = [Row("patch", tuple(map(column_name, columns)))]
    rows += [Row(name, tuple(patch.word for patch in patches)) for name, patches in table]
    good = (*HOLDS, State.NOT_NEEDED.value)
    fits = [sum(patch.word in good for patch in column[0].patches) for column in columns]
    rows += [Row("total", tuple(Message("{number} of {patches}", number=number, patches=len(names)) for number in fits))]
    for column in columns:
        for patch in column[0].patches:
            if patch.problem:
                lines = [line for hunk in patch.hunks for line in explanation_row(hunk, 0).details[:-1]]
                details = (one_line(patch.problem), *(lines if verbose else lines[:_FEW_LINES]))
                rows.append(Row(patch.word, (patch.name, f"{column[0].distribution} {column_name(column)}"), details))
    return rows


def upstream_since(checked: Checked) -> Dict[str, str]:
    """What can go, the patchset or patches of a series, and since which of the releases that were looked at.

    The last release has it itself, or is one that the patchset's `remove_when` names.
    """
    since: Dict[str, str] = {}
    for one in (outcome for outcome in checked.outcomes if outcome.answers):
        for name, word in [(patch.name, patch.word) for patch in one.patches] or [(checked.patchset.name, one.word)]:
            if word != State.UPSTREAM.value:
                since.pop(name, None)
            else:
                since.setdefault(name, f"{one.distribution} {one.version}")
    released = (one for one in checked.outcomes if can_go(checked.patchset, one.distribution, one.version))
    first = next((one for one in released if one.word != NO_RELEASE), None)
    return {**since, checked.patchset.name: f"{first.distribution} {first.version}"} if first else since


# JSON -----------------------------------------------------------------------------------------------------------------
def checked_json(checked: Checked) -> Dict[str, Any]:
    """A patchset and its releases as JSON."""
    releases = [
        {
            "distribution": one.distribution,
            "version": one.version,
            "state": one.word,
            "ok": not one.failed,
            "yanked": one.yanked,
            "places": [{"path": path, "lines": lines} for path, lines in one.places],
            "problem": one.problem,
            "hint": one.hint,
            "files": [diff_json(each) for each in one.diffs],
            **({"patches": list(map(_patch_json, one.patches))} if one.patches else {}),
        }
        for one in checked.outcomes
    ]
    head = {"name": checked.patchset.name, "version": checked.patchset.version}
    since = upstream_since(checked)
    known = bool(since) or any(one.patches for one in checked.outcomes)
    return {**head, "releases": releases, **({"upstream_since": since} if known else {})}


def _patch_json(patch: PatchState) -> Dict[str, Any]:
    hunks = [hunk_json(hunk) for hunk in patch.hunks]
    return {"name": patch.name, "state": patch.word, "problem": patch.problem, "other": patch.other, "hunks": hunks}


# for CI ---------------------------------------------------------------------------------------------------------------
class CiResult(NamedTuple):
    """What became of a patchset: `about` a release or a place here, the state, and why it `failed` ("" if it did not).

    `written` is the file and the line of the hunk that it is about, ("", 0) for none.
    """

    patchset: str
    about: str
    state: str
    failed: str
    written: Tuple[str, int] = ("", 0)


def of_releases(checked: Checked) -> List[CiResult]:
    """The result of each release."""
    found = []
    for one in checked.outcomes:
        about, failed = f"{one.distribution} {one.version}", _why(one, one.word) if one.failed else ""
        written = next((answer.written for answer in one.answers if answer.state.value == one.word), ("", 0))
        found.append(CiResult(checked.patchset.name, about, one.word, failed, written))
    return found


def of_answers(answers: Iterable[Answer]) -> List[CiResult]:
    """The result of each place in an environment."""
    found = []
    for one in answers:
        state, about = one.state, f"{one.path} {one.scope}".rstrip()
        failed = _why(one, state.value) if state.failed else ""
        found.append(CiResult(one.patchset, about, state.value, failed, one.written))
    return found


def _why(one: Union[Answer, ReleaseOutcome], state: str) -> str:
    return joined("\n", (one.problem, one.hint)) or state


def github(results: Iterable[CiResult], manifests: Mapping[str, str]) -> List[Styled]:
    """Annotations: an error for what does not fit, a notice where upstream has the change; one for what is in order.

    Where a release is one that a patchset is not for, it is about its `patchset.toml`, of which `manifests` has the path.
    """
    found: List[Styled] = []
    good = 0
    for one in results:
        if one.failed and one.state == State.NOT_FOUND.value and not one.written[0]:
            one = one._replace(written=(manifests.get(one.patchset, ""), 0))
        if one.failed:
            title, text = (Message("{one.patchset} does not fit {one.about}", one=one), f"{one.state}: {one.failed}")
            found.append(annotation(ERROR, title, text, *one.written))
        elif one.state == "upstream":
            title, text = (
                Message("{patchset} can go", patchset=one.patchset),
                Message("{name} has its change already", name=one.about),
            )
            found.append(annotation(NOTICE, title, text, *one.written))
        else:
            good += 1
    return (
        [*found, annotation(NOTICE, "sitepatch check", Message("{answers} in order", answers=count(good, "answer")))]
        if good
        else found
    )
