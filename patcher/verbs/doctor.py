"""`doctor`: known problems of an environment, and what to do about them."""

from __future__ import annotations

from itertools import groupby
from typing import Sequence

import click

from patcher.display.console import Console
from patcher.display.styles import Row, hint_lines, term, translated_lines
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.place import HERE, SILENT, Events, Place
from patcher.record import Record, reported
from patcher.store.retry import settled
from patcher.text.listed import count
from patcher.verbs.health import applied, files, packages, training
from patcher.verbs.health.checks import OK, PROBLEM, Check, Finding, examine
from patcher.verbs.health.examination import Examination
from patcher.verbs.options import common_options

CHECKS = (
    Check("permissions", Message("everything that would be changed can be"), files.unwritable),
    Check("space", Message("there is room"), files.full_disks),
    Check("packages", Message("every package can be patched"), packages.unpatchable),
    Check("duplicates", Message("no package is recorded twice"), packages.recorded_twice),
    Check("environment", Message("every package is of this environment"), packages.outside),
    Check("loader", Message("every target file is what is imported"), packages.not_imported),
    Check(Message("shared files"), Message("no target file is shared with a cache"), files.links),
    Check(
        Message("hand edits"),
        Message("every target file is as its distribution recorded it, or patched by sitepatch"),
        files.hand_edits,
    ),
    Check("backups", Message("no backups beside target files"), files.backups),
    Check(
        "applied",
        Message("all is as it was applied, and so is what is kept"),
        applied.not_as_applied,
    ),
    Check("bytecode", Message("no bytecode of an older source would run"), applied.stale_bytecode),
    Check("leftovers", Message("none"), applied.leftover_files),
    Check(Message("kept edits"), Message("none"), applied.kept_edits),
    Check(
        "hooks",
        Message("every installed hook finds its files patched, or there is no hook"),
        applied.hooks,
    ),
    Check("locks", Message("no other process is changing this environment"), applied.lock_holders),
    Check(
        "filesystem",
        Message("locks hold for every machine that can write here"),
        files.filesystems,
    ),
    Check("cache", "empty", applied.cache_size),
    Check(
        "patchsets",
        Message("every patchset can be read, and only you can change it"),
        applied.patchset_folders,
    ),
)
TROUBLES = (
    Check(
        "code",
        Message("no installed code uses an attribute that nothing defines"),
        training.code_that_fails,
    ),
    Check("libcuda", Message("what ldconfig lists is there"), training.libcuda),
    Check(
        "accelerators",
        Message("MMEngine knows the accelerators whose packages are installed"),
        training.unknown_accelerators,
    ),
    Check("driver", Message("the build of torch fits this machine"), training.driver),
    Check("backend", Message("torch has the backend that MMEngine takes"), training.backend),
)
_SHOWN = 3
"""Findings of one check without --verbose: a directory of others has one for each file."""


@reported("sites findings")
class DoctorOutcome(Record):
    """What was found in an environment.

    Attributes:
        env: the environment.
        findings: what was found, in the order of the checks.
    """

    env: Environment
    findings: tuple[Finding, ...]

    @property
    def sites(self) -> tuple[str, ...]:
        """The site directories."""
        return tuple(self.env.sites)

    @property
    def problems(self) -> int:
        """How many of the findings are problems."""
        return sum(finding.severity == PROBLEM for finding in self.findings)


def doctor(*, place: Place = HERE, events: Events = SILENT) -> DoctorOutcome:
    """Run every check that says something of this environment.

    Raises:
        UsageError: there is no such environment, or no such directory of patchsets.
    """
    env = place.environment()
    events.started(env)
    checks = (*CHECKS, *TROUBLES)

    def look() -> list[Finding]:
        return examine(Examination(env, place.patch_dirs), checks, events.progress)

    return DoctorOutcome(env, tuple(settled(env, look)))


@click.command(
    "doctor",
    epilog="\b\nExamples:\n  sitepatch doctor --python /opt/venv",
)
@common_options()
def command(console: Console) -> int:
    """Report known problems of this environment, and what to do.

    It checks the files that known patchsets are for and what is applied, of other files only
    whether a backup lies beside them, so that it stays fast; and looks for known problems of
    PyTorch, MMEngine and triton. Exit code 1 if there is a problem; a note is for information.
    Writes nothing. With -v also what is well, and all that a check found.
    """
    outcome = doctor(place=console.place, events=console)
    console.rows(_rows(outcome.findings, in_full=console.verbose))
    problems = count(outcome.problems, "problem")
    console.info("{problems} in {sites}", problems=problems, sites=", ".join(outcome.sites))
    return console.answer(not outcome.problems, outcome)


def _rows(findings: Sequence[Finding], *, in_full: bool) -> list[Row]:
    """A row for each finding; without `in_full` not for what is well, and a few for each check."""
    rows = []
    for (severity, check), group in groupby(findings, _severity_and_check):
        if severity == OK and not in_full:
            continue
        of_check = list(group)
        shown = of_check if in_full else of_check[:_SHOWN]
        rows += [_row(finding) for finding in shown]
        hidden = len(of_check) - len(shown)
        if hidden:
            more = Message("and {number} more; -v shows all", number=hidden)
            rows.append(Row(severity, (term(check), more)))
    return rows


def _severity_and_check(finding: Finding) -> tuple[str, str]:
    return finding.severity, finding.check


def _row(finding: Finding) -> Row:
    headline, *details = translated_lines(finding.what)
    details += hint_lines(finding.hint)
    return Row(finding.severity, (term(finding.check), headline), tuple(details))
