"""`check`: would it apply here, would it apply to other releases."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Tuple

import click

from patcher.cli.answers.annotations import of_error
from patcher.cli.answers.patchsets import broken_json, broken_rows
from patcher.cli.answers.plan import answer_json, answer_rows
from patcher.cli.answers.releases import (
    checked_json,
    github,
    of_answers,
    of_releases,
    show_releases,
)
from patcher.cli.completion import complete_names
from patcher.cli.console import Console
from patcher.cli.options import common_options, format_option
from patcher.cli.styles import Row
from patcher.errors import UsageError
from patcher.patchset.places import MANIFEST, patchset_folders
from patcher.target.remote import LARGE
from patcher.text.listed import count

if TYPE_CHECKING:
    from patcher.ops.releases.check import CheckOutcome


@click.command(
    epilog="\b\nExamples:\n  sitepatch check\n  sitepatch check mmengine-ddp-debug --against 0.10.7 --against '<0.3'\n"
    "  sitepatch check torch-musa-guard --against all --html releases.html\n"
    "  sitepatch check mmengine-ddp-debug --against newest --format github   # once a week, in CI"
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--against", metavar="VERSION", multiple=True, help="A release, a range as '>=2.4', all or newest; repeatable.")
@click.option("--jobs", metavar="N", type=click.IntRange(1, 64), default=4, help="Releases fetched at a time (default 4).")
@click.option("--html", metavar="FILE", help="With --against: also write a page that can be read offline.")
@common_options()
@format_option("text", "github")
def check(
    console: Console,
    names: Tuple[str, ...],
    against: Tuple[str, ...],
    jobs: int,
    html: Optional[str],
    form: str,
) -> int:
    """Check whether patchsets would apply.

    In this environment; with --against to those releases, of which pip fetches what matters, without installing them. All
    patchsets without a name. Nothing is written but a cache of the files that matter (SITEPATCH_CACHE).

    Releases with one answer are one line, with -v each has its own. --against newest looks at the newest release alone, and
    one that a patchset is not for is a failure then. --format github writes annotations.
    """
    if html and not against:
        raise UsageError("--html: found no --against, whose releases the page shows", "sitepatch diff --html shows this one")
    from patcher.ops.releases import check as ops  # with pip

    request = ops.CheckRequest(console.place, names, against, jobs)
    if not names:
        console.on_fetching = _confirm_fetching
    outcome = ops.check(request, console)
    if form != "text":
        _show_annotations(console, outcome)
    elif against:
        show_releases(console, outcome.releases)
    else:
        answers = outcome.answers
        console.rows(answer_rows(answer for answer in answers if answer.state.failed or not console.quiet))
        console.info_rows([Row("absent", (one.patchset, one.path), (one.problem,)) for one in outcome.absent])
    if html:
        from patcher.cli.pages.releases import releases_page  # with diff-match-patch

        title = " ".join(["sitepatch check", *(one.patchset.name for one in outcome.requested)])
        console.file(html, releases_page(title, outcome.releases))
    console.notes(dict.fromkeys(outcome.notes))
    console.rows(broken_rows(outcome.broken) if form == "text" else [])
    return console.answer(outcome.ok, _json(outcome, against=bool(against)))


def _confirm_fetching(console: Console, releases: Mapping[str, int]) -> bool:
    """Show an upper bound and ask on a terminal; pip gives no sizes, and the index would take a request for each wheel."""
    what = ", ".join(f"{name} ({count(number, 'release')})" for name, number in sorted(releases.items()))
    most = sum(releases.values()) * LARGE >> 20
    console.note(f"{what}; up to {most} MB, or whole wheels of unknown size where the index gives no parts", "to fetch")
    return not (sys.stdin.isatty() and sys.stderr.isatty()) or console.confirm("Fetch them?")


def _json(outcome: CheckOutcome, *, against: bool) -> Dict[str, Any]:
    broken = broken_json(outcome.broken)
    if against:
        return {"patchsets": [checked_json(one) for one in outcome.releases], "broken": broken}
    return {
        "patchsets": [one.patchset.name for one in outcome.requested],
        "answers": [answer_json(answer) for answer in outcome.answers],
        "absent": [answer_json(answer) for answer in outcome.absent],
        "notes": list(outcome.notes),
        "broken": broken,
    }


def _show_annotations(console: Console, outcome: CheckOutcome) -> None:
    results = [*of_answers(outcome.answers), *(each for checked in outcome.releases for each in of_releases(checked))]
    where = patchset_folders(console.place.patch_dirs, os.getcwd())
    for line in github(results, {name: f"{places[0][0]}/{MANIFEST}" for name, places in where.items()}):
        console.out(line)
    for name, error in outcome.broken.items():
        console.out(of_error(f"{name} is broken", error))
    console.hints(one.hint for checked in outcome.releases for one in checked.outcomes if one.failed)
