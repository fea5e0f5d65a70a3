"""`check`: the one gate: what a patchset says, its cases, would it apply here, would it apply to other releases."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple

import click

from patcher.cli.answers.annotations import ERROR, NOTICE, WARNING, annotation, of_error
from patcher.cli.answers.patchsets import broken_json, broken_rows
from patcher.cli.answers.plan import answer_json, answer_rows
from patcher.cli.answers.releases import checked_json, github, of_answers, of_releases, show_releases
from patcher.cli.console import Console
from patcher.cli.options import common_options, complete_names, format_option, settings_option
from patcher.cli.styles import Row, hint_lines
from patcher.errors import UsageError
from patcher.message import Message, joined
from patcher.patchset.places import MANIFEST
from patcher.target.remote import LARGE
from patcher.text.listed import count

if TYPE_CHECKING:
    from patcher.ops.check import CheckOutcome

_KINDS = {"error": ERROR, "advice": WARNING, "note": NOTICE}


@click.command(
    epilog="\b\nExamples:\n  sitepatch check\n  sitepatch check my-fix --strict\n"
    "  sitepatch check mmengine-ddp-debug --explain --target ./site-packages\n"
    "  sitepatch check mmengine-ddp-debug --against 0.10.7 --against '<0.3'\n"
    "  sitepatch check torch-musa-guard --against all --html releases.html\n"
    "  sitepatch check mmengine-ddp-debug --against newest --format github   # once a week, in CI"
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@settings_option
@click.option("--explain", is_flag=True, help="Explain why each hunk of the one NAME does or does not fit here.")
@click.option("--strict", is_flag=True, help="Exit with 1 on advice too.")
@click.option("--against", metavar="VERSION", multiple=True, help="A release, a range as '>=2.4', all or newest; repeatable.")
@click.option("--jobs", metavar="N", type=click.IntRange(1, 64), default=4, help="Releases fetched at a time (default 4).")
@click.option("--html", metavar="FILE", help="With --against: also write a page that can be read offline.")
@common_options()
@format_option("text", "github")
def check(
    console: Console,
    names: Tuple[str, ...],
    settings: Tuple[str, ...],
    explain: bool,
    strict: bool,
    against: Tuple[str, ...],
    jobs: int,
    html: Optional[str],
    form: str,
) -> int:
    """Check patchsets: what is wrong with them, their cases, and whether they would apply.

    In this environment; with --against to those releases, of which pip fetches what matters, without installing them. All
    patchsets without a name. Nothing is written but a cache of the files that matter (SITEPATCH_CACHE).

    Errors, as options that no hunk uses and hunks that meet, exit with 1; advice on what makes a patchset fit fewer releases
    than it could does with --strict. Cases are small texts beside a patchset: cases/NAME.before.py becomes NAME.after.py;
    NAME.upstream.py, NAME.not-needed.py and NAME.refused.py get that answer. pytest collects them too.

    --explain shows of a hunk that does not fit the code that comes closest, the first difference, and what to write; of one
    that does where it matches, what each placeholder stands for, and what changes.

    Releases with one answer are one line, with -v each has its own. --against newest looks at the newest release alone, and
    one that a patchset is not for is a failure then. --format github writes annotations.
    """
    if html and not against:
        raise UsageError("--html: found no --against, whose releases the page shows", "sitepatch diff --html shows this one")
    from patcher.ops import check as ops  # with pip and the engine

    request = ops.CheckRequest(console.place, names, against, jobs, settings, strict, explain)
    if not names:
        console.on_fetching = _confirm_fetching
    outcome = ops.check(request, console)
    if form == "text":
        _show(console, outcome)
    else:
        _show_annotations(console, outcome)
    if html:
        from patcher.cli.pages.releases import releases_page  # with diff-match-patch

        title = " ".join(["sitepatch check", *(wanted.patchset.name for wanted in outcome.requested)])
        console.file(html, releases_page(title, outcome.releases))
    console.notes(dict.fromkeys(outcome.notes))
    return console.answer(outcome.ok, _json(outcome))


def _show(console: Console, outcome: CheckOutcome) -> None:
    console.rows(_finding_rows(outcome, quiet=console.quiet))
    console.rows(_case_rows(outcome))
    number = sum(map(len, outcome.cases.values())) - len(outcome.failed_cases)
    if number:
        console.note("{cases} as expected", cases=count(number, "case"))
    if outcome.request.against:
        show_releases(console, outcome.releases)
    elif outcome.request.explain:
        from patcher.cli.answers.explanation import explanation_row

        hunks = [hunk for hunk in outcome.hunks if hunk.answer.state.failed or not console.quiet]
        console.rows([explanation_row(hunk, 10_000 if console.verbose else 20) for hunk in hunks])
    else:
        console.rows(answer_rows(answer for answer in outcome.answers if answer.state.failed or not console.quiet))
        console.info_rows([Row("absent", (answer.patchset, answer.path), (answer.problem,)) for answer in outcome.absent])
    console.rows(broken_rows(outcome.broken))


def _finding_rows(outcome: CheckOutcome, *, quiet: bool) -> List[Row]:
    rows = []
    for name, findings in outcome.findings.items():
        for finding in findings:
            where = f"{finding.file}:{finding.line}" if finding.line else finding.file
            row = Row(finding.level, (name, where, finding.rule), (finding.text, *hint_lines(finding.hint)))
            rows += [row] if finding in outcome.faults or not quiet else []
    return rows


def _case_rows(outcome: CheckOutcome) -> List[Row]:
    rows = []
    for name, cases in outcome.cases.items():
        for case in cases:
            diff = case.diff.decode("utf-8", "backslashreplace").split("\n")
            details = tuple(filter(None, (case.problem, *diff)))
            rows += [Row("failed", (name, case.case.name, case.path), details)] if case.problem else []
    return rows


def _confirm_fetching(console: Console, releases: Mapping[str, int]) -> bool:
    """Show an upper bound and ask on a terminal; pip gives no sizes, and the index would take a request for each wheel."""
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
    return not (sys.stdin.isatty() and sys.stderr.isatty()) or console.confirm(Message("Fetch them?"))


def _json(outcome: CheckOutcome) -> Dict[str, Any]:
    from patcher.cli.answers.explanation import hunk_json

    cases = [
        {
            "patchset": name,
            "case": case.case.name,
            "path": case.path,
            "ok": not case.problem,
            "problem": case.problem,
            "diff": case.diff.decode("utf-8", "backslashreplace"),
        }
        for name, cases in outcome.cases.items()
        for case in cases
    ]
    return {
        "patchsets": [wanted.patchset.name for wanted in outcome.requested],
        "findings": [
            {"patchset": name, **finding._asdict()} for name, findings in outcome.findings.items() for finding in findings
        ],
        "cases": cases,
        "answers": [answer_json(answer) for answer in outcome.answers],
        "absent": [answer_json(answer) for answer in outcome.absent],
        "hunks": [hunk_json(hunk) for hunk in outcome.hunks],
        "releases": [checked_json(checked) for checked in outcome.releases],
        "notes": list(outcome.notes),
        "broken": broken_json(outcome.broken),
    }


def _show_annotations(console: Console, outcome: CheckOutcome) -> None:
    for name, findings in outcome.findings.items():
        for finding in findings:
            text = joined("\n", (finding.text, finding.hint))
            file = outcome.folders[name] / finding.file
            console.out(annotation(_KINDS[finding.level], f"{name}: {finding.rule}", text, file, finding.line))
    for name, cases in outcome.cases.items():
        for case in cases:
            if case.problem:
                console.out(annotation(ERROR, f"{name}: {case.case.name}", case.problem, case.case.origin))
    results = [*of_answers(outcome.answers), *(result for checked in outcome.releases for result in of_releases(checked))]
    for line in github(results, {name: f"{folder}/{MANIFEST}" for name, folder in outcome.folders.items()}):
        console.out(line)
    for name, error in outcome.broken.items():
        console.out(of_error(Message("{name} is broken", name=name), error))
    console.hints(release.hint for checked in outcome.releases for release in checked.outcomes if release.failed)
