"""`check`, the one gate of a patchset: what is written, its cases, and whether it fits here or other releases. Reads only."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Sequence

import click

from patcher.display.console import Console
from patcher.display.rows import answer_json, answer_rows
from patcher.display.styles import Row, hint_lines
from patcher.errors import SitepatchError, UsageError
from patcher.facts import Wanted
from patcher.message import Message, joined
from patcher.model import Answer, Requested
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.selection import choose
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.survey import make_plan
from patcher.store.retry import settled
from patcher.text.listed import Texts, count, one_or_more
from patcher.verbs.list import broken_json, broken_rows
from patcher.verbs.options import common_options, complete_names, settings_option
from patcher.verbs.releases.outcome import is_absent

if TYPE_CHECKING:
    from patcher.author.cases import CaseResult
    from patcher.author.lint import LintFinding
    from patcher.installed.interpreter import Environment
    from patcher.verbs.explanations import HunkExplanation
    from patcher.verbs.releases.outcome import Checked


class CheckOutcome(NamedTuple):
    """What is wrong with the patchsets `requested`, and what would become of them.

    Attributes:
        requested: the patchsets.
        folders: that of each patchset, by name.
        findings: about what each patchset says, by name.
        cases: what came of the cases of each patchset, by name.
        answers: those of the environment; none where releases were asked for.
        absent: answers about packages that are not installed, which is no fault where no patchset is named.
        hunks: every hunk, explained, where that was asked for.
        releases: each patchset on each release.
        broken: patchsets, by name, that cannot be read, or whose cases cannot be.
        notes: remarks for the user.
        against: whether releases were asked for.
    """

    requested: tuple[Requested, ...]
    folders: Mapping[str, Path]
    findings: Mapping[str, tuple[LintFinding, ...]]
    cases: Mapping[str, tuple[CaseResult, ...]]
    answers: tuple[Answer, ...] = ()
    absent: tuple[Answer, ...] = ()
    hunks: tuple[HunkExplanation, ...] = ()
    releases: tuple[Checked, ...] = ()
    broken: Mapping[str, SitepatchError] = {}
    notes: tuple[str, ...] = ()
    against: bool = False

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, and every patchset would apply or is not needed."""
        fits = not any(answer.state.failed for answer in self.answers)
        fits = fits and not any(
            release.failed for checked in self.releases for release in checked.outcomes
        )
        sound = not self.broken and not any(self.findings.values())
        return fits and sound and not self.failed_cases

    @property
    def failed_cases(self) -> list[CaseResult]:
        """The cases that are not as expected."""
        return [case for cases in self.cases.values() for case in cases if case.problem]


def check(
    names: Texts = (),
    settings: Texts = (),
    *,
    place: Place = HERE,
    against: Texts = (),
    explain: bool = False,
    events: Events = SILENT,
) -> CheckOutcome:
    """Find out what is wrong with patchsets, and whether they would apply, in an environment or to releases.

    Args:
        names: of patchsets, all without any.
        settings: values of options, as `--set` takes them.
        place: the environment.
        against: versions, ranges, `all` or `newest`: releases to be looked at instead of the environment.
        explain: explain the one patchset that is named.
        events: takes what is done.

    Raises:
        UsageError: a name or a value of `against` or `settings` that is none; `explain` for another number than one.
        PatchError: a named patchset is invalid.
        SitepatchError: as `check_releases`; no such environment.
    """
    # with pip and the engine
    from patcher.verbs.releases.against import (
        check_against,
        check_releases,
    )

    named, releases = one_or_more(names), one_or_more(against)
    check_against(releases, folders=True)
    if explain and (len(named) != 1 or releases):
        words = "--against" if releases else count(len(named), "patchset")
        raise UsageError(
            "--explain: found {found}, expected one patchset, which is explained for this environment",
            found=words,
        )
    catalogue = Catalogue(place.patch_dirs)
    loaded, broken = catalogue.load()
    patchsets = [item.patchset for item in loaded]
    requested, notes = choose(
        named or [patchset.name for patchset in patchsets], settings, place.patch_dirs
    )
    outcome = _inspect(requested, catalogue, {} if named else broken)
    outcome = outcome._replace(notes=tuple(notes), against=bool(releases))
    if releases:
        return outcome._replace(
            releases=tuple(check_releases(requested, releases, patchsets, events))
        )
    env = place.environment()
    events.started(env)
    if not explain:
        return _check_here(outcome, env, events, together=bool(named))
    from patcher.verbs.explanations import explanations  # with the engine

    hunks, remarks = settled(env, lambda: explanations(env, requested[0]))
    answers = tuple(hunk.answer for hunk in hunks)
    return outcome._replace(answers=answers, hunks=tuple(hunks), notes=(*notes, *remarks))


def _inspect(
    requested: Sequence[Requested], catalogue: Catalogue, broken: Mapping[str, SitepatchError]
) -> CheckOutcome:
    """What is found without an environment."""
    from patcher.author.cases import run_cases  # with the engine
    from patcher.author.lint import lint

    names = [wanted.patchset.name for wanted in requested]
    folders = {name: Path(catalogue.folders[name][0][0]) for name in names}
    findings, cases, errors = {}, {}, dict(broken)
    for patchset in (wanted.patchset for wanted in requested):
        name = patchset.name
        findings[name] = tuple(lint(patchset, folders[name]))
        try:
            cases[name] = run_cases(patchset, folders[name])
        except (SitepatchError, OSError) as error:
            errors[name] = (
                error if isinstance(error, SitepatchError) else SitepatchError(str(error))
            )
    return CheckOutcome(tuple(requested), folders, findings, cases, broken=errors)


def _check_here(
    outcome: CheckOutcome, env: Environment, events: Events, *, together: bool
) -> CheckOutcome:
    """All patchsets `together`, as `apply` would take them, or each by itself."""
    answers: list[Answer] = []
    notes: dict[str, None] = {}
    groups = [outcome.requested] if together else [(wanted,) for wanted in outcome.requested]
    for number, group in enumerate(groups, 1):
        plan = settled(env, partial(make_plan, env, Wanted(tuple(group))))
        answers += plan.answers
        notes.update(dict.fromkeys(plan.notes))
        events.progress(number, len(groups), Message("patchsets checked"))
    absent = () if together else tuple(filter(is_absent, answers))
    present = tuple(answer for answer in answers if answer not in absent)
    return outcome._replace(answers=present, absent=absent, notes=(*outcome.notes, *notes))


@click.command(
    "check",
    epilog="\b\nExamples:\n  sitepatch check\n  sitepatch check my-fix\n"
    "  sitepatch check mmengine-ddp-debug --explain --target ./site-packages\n"
    "  sitepatch check mmengine-ddp-debug --against 0.10.7 --against '<0.3'\n"
    "  sitepatch check torch-musa-guard --against all --html releases.html\n"
    "  sitepatch check mmengine-ddp-debug --against newest   # once a week, in CI",
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@settings_option
@click.option(
    "--explain",
    is_flag=True,
    help="Explain why each hunk of the one NAME does or does not fit here.",
)
@click.option(
    "--against",
    metavar="VERSION",
    multiple=True,
    help="A release, a range as '>=2.4', all or newest; repeatable.",
)
@click.option(
    "--html", metavar="FILE", help="With --against: also write a page that can be read offline."
)
@common_options()
def command(
    console: Console,
    names: tuple[str, ...],
    settings: tuple[str, ...],
    explain: bool,
    against: tuple[str, ...],
    html: str | None,
) -> int:
    """Check patchsets: what is wrong with them, their cases, and whether they would apply.

    In this environment; with --against to those releases, of which pip fetches what matters, without installing them. All
    patchsets without a name. Nothing is written but a cache of the files that matter (SITEPATCH_CACHE).

    Errors, as options that no hunk uses and hunks that meet, exit with 1. Cases are small texts beside a patchset:
    cases/NAME.before.py becomes NAME.after.py; NAME.upstream.py, NAME.not-needed.py and NAME.refused.py get that
    answer.

    --explain shows of a hunk that does not fit the code that comes closest, the first difference, and what to write; of one
    that does where it matches, what each placeholder stands for, and what changes.

    Releases with one answer are one line, with -v each has its own. --against newest looks at the newest release alone, and
    one that a patchset is not for is a failure then.
    """
    if html and not against:
        raise UsageError(
            "--html: found no --against, whose releases the page shows",
            "sitepatch diff --html shows this one",
        )
    if not names:
        console.on_fetching = _confirm_fetching
    outcome = check(
        names,
        settings,
        place=console.place,
        against=against,
        explain=explain,
        events=console,
    )
    _show(console, outcome)
    if html:
        from patcher.verbs.pages.releases import releases_page  # with diff-match-patch

        title = " ".join(
            ["sitepatch check", *(wanted.patchset.name for wanted in outcome.requested)]
        )
        console.file(html, releases_page(title, outcome.releases))
    console.notes(dict.fromkeys(outcome.notes))
    return console.answer(outcome.ok, _json(outcome))


def _show(console: Console, outcome: CheckOutcome) -> None:
    console.rows(_finding_rows(outcome))
    console.rows(_case_rows(outcome))
    number = sum(map(len, outcome.cases.values())) - len(outcome.failed_cases)
    if number:
        console.note("{cases} as expected", cases=count(number, "case"))
    if outcome.against:
        from patcher.verbs.releases.table import show_releases

        show_releases(console, outcome.releases)
    elif outcome.hunks:
        from patcher.verbs.explanations import explanation_row

        hunks = [hunk for hunk in outcome.hunks if hunk.answer.state.failed or not console.quiet]
        console.rows([explanation_row(hunk, 10_000 if console.verbose else 20) for hunk in hunks])
    else:
        console.rows(
            answer_rows(
                answer for answer in outcome.answers if answer.state.failed or not console.quiet
            )
        )
        console.info_rows(
            [
                Row("absent", (answer.patchset, answer.path), (answer.problem,))
                for answer in outcome.absent
            ]
        )
    console.rows(broken_rows(outcome.broken))


def _finding_rows(outcome: CheckOutcome) -> list[Row]:
    rows = []
    for name, findings in outcome.findings.items():
        for finding in findings:
            where = f"{finding.file}:{finding.line}" if finding.line else finding.file
            details = (finding.text, *hint_lines(finding.hint))
            rows.append(Row("error", (name, where, finding.rule), details))
    return rows


def _case_rows(outcome: CheckOutcome) -> list[Row]:
    rows = []
    for name, cases in outcome.cases.items():
        for case in cases:
            diff = case.diff.decode("utf-8", "backslashreplace").split("\n")
            details = tuple(filter(None, (case.problem, *diff)))
            rows += (
                [Row("failed", (name, case.case.name, case.path), details)] if case.problem else []
            )
    return rows


def _confirm_fetching(console: Console, releases: Mapping[str, int]) -> bool:
    """Show an upper bound and ask on a terminal; pip gives no sizes, and the index would take a request for each wheel."""
    from patcher.installed.remote import LARGE

    listed = joined(
        ", ",
        (
            Message("{name} ({releases})", name=name, releases=count(number, "release"))
            for name, number in sorted(releases.items())
        ),
    )
    most = sum(releases.values()) * LARGE >> 20
    console.note(
        "{listed}; up to {most} MB, or whole wheels of unknown size where the index gives no parts",
        Message("to fetch"),
        listed=listed,
        most=most,
    )
    return not (sys.stdin.isatty() and sys.stderr.isatty()) or console.confirm(
        Message("Fetch them?")
    )


def _json(outcome: CheckOutcome) -> dict[str, Any]:
    from patcher.verbs.explanations import hunk_json
    from patcher.verbs.releases.table import checked_json

    cases: list[dict[str, Any]] = []
    for name, results in outcome.cases.items():
        for result in results:
            head = {
                "patchset": name,
                "case": result.case.name,
                "path": result.path,
                "ok": not result.problem,
            }
            cases.append({**head, "problem": result.problem, "diff": result.diff})
    return {
        "patchsets": [wanted.patchset.name for wanted in outcome.requested],
        "findings": [
            {"patchset": name, **finding._asdict()}
            for name, findings in outcome.findings.items()
            for finding in findings
        ],
        "cases": cases,
        "answers": [answer_json(answer) for answer in outcome.answers],
        "absent": [answer_json(answer) for answer in outcome.absent],
        "hunks": [hunk_json(hunk) for hunk in outcome.hunks],
        "releases": [checked_json(checked) for checked in outcome.releases],
        "notes": outcome.notes,
        "broken": broken_json(outcome.broken),
    }
