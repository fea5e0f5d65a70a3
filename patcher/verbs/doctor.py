"""`doctor`: known problems of an environment, and what to do."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, Optional, Tuple

import click

from patcher.message import Message
from patcher.store.retry import settled
from patcher.system import cache
from patcher.text.listed import count
from patcher.verbs.console import Console
from patcher.verbs.options import common_options
from patcher.verbs.place import HERE, SILENT, Events, Place
from patcher.verbs.styles import Row, hint_lines
from patcher.verbs.translation import term, translated_lines
from patcher.verbs.usage import Number

if TYPE_CHECKING:
    from patcher.installed.interpreter import Environment
    from patcher.verbs.checkup import Finding


class DoctorOutcome(NamedTuple):
    """What was found in an environment, in the order of the checks."""

    env: Environment
    findings: Tuple[Finding, ...]

    @property
    def problems(self) -> int:
        """How many of the findings are problems."""
        return sum(finding.severity == "problem" for finding in self.findings)


def doctor(*, place: Place = HERE, events: Events = SILENT) -> DoctorOutcome:
    """Run every check that says something of this environment.

    Raises:
        UsageError: there is no such environment, or no such directory of patchsets.
    """
    from patcher.verbs.checkup import CHECKS, Examination, examine  # with subprocess
    from patcher.verbs.troubles import OF_MACHINE, TROUBLES

    env = place.environment()
    events.started(env)
    checks = [check for check in (*CHECKS, *TROUBLES) if not (env.root and check.name in OF_MACHINE)]
    findings = settled(env, lambda: examine(Examination(env, place.patch_dirs), checks, events.progress))
    return DoctorOutcome(env, tuple(findings))


_SHOWN = 3
"""So many findings of one check, without --verbose: a directory of somebody else has one for each of its files."""


@click.command("doctor", epilog="\b\nExamples:\n  sitepatch doctor --python /opt/venv\n  sitepatch doctor --clean-cache 30")
@click.option(
    "--clean-cache", metavar="DAYS", type=Number(0), help="First remove overlays, fetched releases and results not used since."
)
@common_options()
def command(console: Console, clean_cache: Optional[float]) -> int:
    """Report known problems of this environment, and what to do.

    It checks the files that known patchsets are for and what is applied, of other files only whether a backup lies beside
    them, so that it stays fast; and looks for known problems of PyTorch, MMEngine and triton. Exit code 1 if there is a
    problem; a note is for information. Writes nothing. With -v also what is well, and all that a check found.

    --clean-cache removes from the cache (SITEPATCH_CACHE) what was not used for so many days, unless a process has it open.
    """
    removed = [] if clean_cache is None else cache.clean_cache(clean_cache)
    console.info_rows([Row("removed", (entry.kind, entry.name, cache.size([entry]))) for entry in removed])
    outcome = doctor(place=console.place, events=console)
    rows = []
    for (severity, check), group in groupby(outcome.findings, key=lambda finding: (finding.severity, finding.check)):
        findings = [] if severity == "ok" and not console.verbose else list(group)
        shown = findings if console.verbose else findings[:_SHOWN]
        for finding in shown:
            headline, *details = translated_lines(finding.what)
            rows.append(Row(severity, (term(check), headline), (*details, *hint_lines(finding.hint))))
        if findings[len(shown) :]:
            more_of_it = Message("and {number} more; -v shows all", number=len(findings) - len(shown))
            rows.append(Row(severity, (term(check), more_of_it)))
    console.rows(rows)
    sites = list(outcome.env.sites)
    console.info("{problems} in {sites}", problems=count(outcome.problems, "problem"), sites=", ".join(sites))
    return console.answer(not outcome.problems, {"sites": sites, "findings": outcome.findings, "removed": removed})
