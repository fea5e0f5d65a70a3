"""`check`: what is wrong with patchsets, their cases, and whether they fit here or other releases.

Reads only.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Mapping, Sequence

import click

from patcher.author.cases import CaseResult, run_cases
from patcher.author.lint import LintFinding, lint
from patcher.compatibility import Checked
from patcher.display.console import Console
from patcher.display.explained import explained_row
from patcher.display.releases import show_releases
from patcher.display.releases_page import releases_page
from patcher.display.rows import answer_rows
from patcher.display.styles import Row, hint_lines
from patcher.errors import SitepatchError, UsageError
from patcher.facts import Wanted
from patcher.installed.interpreter import Environment
from patcher.installed.remote import LARGE
from patcher.message import Message, joined
from patcher.model import Answer, Requested
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.selection import choose
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.survey import make_plan
from patcher.record import Record, reported
from patcher.store.retry import settled
from patcher.text.listed import Texts, count, one_or_more
from patcher.verbs.explanations import explanations
from patcher.verbs.list import broken_rows
from patcher.verbs.options import common_options, complete_names, settings_option
from patcher.verbs.releases.against import check_releases
from patcher.verbs.releases.choice import check_against


@reported("patchsets findings cases broken")
class Inspection(Record):
    """Patchsets in themselves, wherever they are applied.

    Attributes:
        requested: the patchsets.
        folders: the folder of each, by name.
        findings: what is wrong with what each says, by name.
        cases: the results of the cases of each, by name.
        broken: patchsets, by name, that cannot be read, or whose cases cannot be.
    """

    requested: tuple[Requested, ...]
    folders: Mapping[str, Path]
    findings: Mapping[str, tuple[LintFinding, ...]]
    cases: Mapping[str, tuple[CaseResult, ...]]
    broken: Mapping[str, SitepatchError] = {}

    @property
    def patchsets(self) -> tuple[str, ...]:
        """The names of the patchsets."""
        return tuple(item.patchset.name for item in self.requested)

    @property
    def failed_cases(self) -> int:
        """The number of cases that are not as expected."""
        return sum(not result.ok for results in self.cases.values() for result in results)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.broken or any(self.findings.values()) or self.failed_cases)


@reported("*inspection answers absent releases notes")
class CheckOutcome(Record):
    """What is wrong with patchsets, and what would become of them.

    Attributes:
        inspection: the patchsets in themselves.
        answers: those of the environment, explained where that was asked for; none where releases
            were asked for.
        absent: answers about packages that are not installed, which is no fault where no patchset
            is named.
        releases: with --against each patchset on each release.
        notes: remarks for the user.
        explained: whether the answers are explained.
        against: whether releases were asked for.
    """

    inspection: Inspection
    answers: tuple[Answer, ...] = ()
    absent: tuple[Answer, ...] = ()
    releases: tuple[Checked, ...] = ()
    notes: tuple[str, ...] = ()
    explained: bool = False
    against: bool = False

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, and every patchset would apply or is not needed."""
        if any(answer.state.failed for answer in self.answers):
            return False
        for checked in self.releases:
            if not all(release.ok for release in checked.releases):
                return False
        return self.inspection.ok


def check(
    names: Texts = (),
    settings: Texts = (),
    *,
    place: Place = HERE,
    against: Texts = (),
    explain: bool = False,
    events: Events = SILENT,
) -> CheckOutcome:
    """Find out what is wrong with patchsets, and whether they would apply.

    Args:
        names: of patchsets, all without any.
        settings: values of options, as `--set` takes them.
        place: the environment.
        against: versions, ranges, `all` or `newest`: releases to look at instead of the
            environment.
        explain: explain the one patchset that is named.
        events: takes what is done.

    Raises:
        UsageError: a name or a value of `against` or `settings` that is none; `explain` for another
            number than one.
        PatchError: a named patchset is invalid.
        SitepatchError: as `check_releases`; no such environment.
    """
    named, wanted = one_or_more(names), one_or_more(against)
    check_against(wanted, folders=True)
    if explain and (len(named) != 1 or wanted):
        raise UsageError(
            "--explain: found {found}, "
            "expected one patchset, which is explained for this environment",
            found="--against" if wanted else count(len(named), "patchset"),
        )

    catalogue = Catalogue(place.patch_dirs)
    loaded, broken = catalogue.load()
    patchsets = [item.patchset for item in loaded]
    every = [patchset.name for patchset in patchsets]

    requested, notes = choose(named or every, settings, place.patch_dirs)
    inspection = _inspect(requested, catalogue, {} if named else broken)
    if wanted:
        releases = check_releases(requested, wanted, patchsets, events=events)
        return CheckOutcome(inspection, releases=tuple(releases), notes=tuple(notes), against=True)

    env = place.environment()
    events.started(env)
    if explain:
        answers, remarks = settled(env, lambda: explanations(env, requested[0]))
        notes = [*notes, *remarks]
        return CheckOutcome(inspection, tuple(answers), notes=tuple(notes), explained=True)

    if named:  # all together, as `apply` would take them
        answers, remarks = _answers(env, [requested], events)
        return CheckOutcome(inspection, tuple(answers), notes=(*notes, *remarks))

    answers, remarks = _answers(env, [[item] for item in requested], events)
    return CheckOutcome(
        inspection,
        answers=tuple(answer for answer in answers if not answer.is_absent),
        absent=tuple(answer for answer in answers if answer.is_absent),
        notes=(*notes, *remarks),
    )


def _inspect(
    requested: Sequence[Requested], catalogue: Catalogue, broken: Mapping[str, SitepatchError]
) -> Inspection:
    """What is found without an environment."""
    folders, findings, cases, errors = {}, {}, {}, dict(broken)
    for item in requested:
        patchset, name = item.patchset, item.patchset.name
        folders[name] = Path(catalogue.folders[name][0][0])
        findings[name] = tuple(lint(patchset, folders[name]))
        try:
            cases[name] = run_cases(patchset, folders[name])
        except SitepatchError as error:
            errors[name] = error
        except OSError as error:
            errors[name] = SitepatchError(str(error))
    return Inspection(tuple(requested), folders, findings, cases=cases, broken=errors)


def _answers(
    env: Environment, groups: Sequence[Sequence[Requested]], events: Events
) -> tuple[list[Answer], list[str]]:
    """The answers for patchsets, each group of them planned together, and remarks."""
    answers: list[Answer] = []
    notes: dict[str, None] = {}
    for number, group in enumerate(groups, 1):
        plan = settled(env, partial(make_plan, env, Wanted(tuple(group))))
        answers += plan.answers
        notes.update(dict.fromkeys(plan.notes))
        events.progress(number, len(groups), work=Message("patchsets checked"))
    return answers, list(notes)


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

    In this environment; with --against to those releases, of which pip fetches what matters,
    without installing them. All patchsets without a name. Nothing is written but a cache of the
    files that matter (SITEPATCH_CACHE).

    Errors, as options that no hunk uses and hunks that meet, exit with 1. Cases are small texts
    beside a patchset: cases/NAME.before.py becomes NAME.after.py; NAME.upstream.py,
    NAME.not-needed.py and NAME.refused.py get that answer.

    --explain shows of a hunk that does not fit the code that comes closest, the first difference,
    and what to write; of one that does where it matches, what each placeholder stands for, and what
    changes.

    Releases with one answer are one line, with -v each has its own. --against newest looks at the
    newest release alone, and one that a patchset is not for is a failure then.
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
        title = " ".join(["sitepatch check", *outcome.inspection.patchsets])
        console.file(html, releases_page(title, outcome.releases))
    console.notes(dict.fromkeys(outcome.notes))
    return console.answer(outcome.ok, outcome)


def _show(console: Console, outcome: CheckOutcome) -> None:
    inspection = outcome.inspection
    console.rows(_finding_rows(inspection))
    console.rows(_case_rows(inspection))
    if outcome.against:
        show_releases(console, outcome.releases)
    else:
        _show_answers(console, outcome)
    console.rows(broken_rows(inspection.broken))
    number = sum(map(len, inspection.cases.values())) - inspection.failed_cases
    if number:
        console.note("{cases} as expected", cases=count(number, "case"))


def _show_answers(console: Console, outcome: CheckOutcome) -> None:
    """Show the answers of the environment; with --quiet those that fail alone."""
    shown = [answer for answer in outcome.answers if answer.state.failed or not console.quiet]
    if outcome.explained:
        most = 10_000 if console.verbose else 20
        console.rows([explained_row(answer, diff_lines=most) for answer in shown])
        return
    console.rows(answer_rows(shown))
    rows = []
    for answer in outcome.absent:
        rows.append(Row("absent", (answer.patchset, answer.path), details=(answer.problem,)))
    console.info_rows(rows)


def _finding_rows(inspection: Inspection) -> list[Row]:
    rows = []
    for name, findings in inspection.findings.items():
        for finding in findings:
            where = f"{finding.file}:{finding.line}" if finding.line else finding.file
            details = (finding.text, *hint_lines(finding.hint))
            rows.append(Row("error", (name, where, finding.rule), details=details))
    return rows


def _case_rows(inspection: Inspection) -> list[Row]:
    rows = []
    for name, results in inspection.cases.items():
        for result in results:
            if result.ok:
                continue
            diff = result.diff.decode("utf-8", "backslashreplace").split("\n")
            details = tuple(line for line in (result.problem, *diff) if line)
            rows.append(Row("failed", (name, result.name, result.path), details=details))
    return rows


def _confirm_fetching(console: Console, releases: Mapping[str, int]) -> bool:
    """Show an upper bound and ask on a terminal.

    pip gives no sizes, and the index would take a request for each wheel.
    """
    names = []
    for name, number in sorted(releases.items()):
        template = "{name} ({releases})"
        names.append(Message(template, name=name, releases=count(number, "release")))
    most = sum(releases.values()) * LARGE >> 20
    template = (
        "{listed}; up to {most} MB, or whole wheels of unknown size where the index gives no parts"
    )
    console.note(template, Message("to fetch"), listed=joined(", ", names), most=most)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    return console.confirm(Message("Fetch them?"))
