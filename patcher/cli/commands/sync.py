"""`sync` and `lock`."""

from __future__ import annotations

from typing import List, Tuple

import click

from patcher.cli.answers.outcome import note_running, report_outcome, show_plan
from patcher.cli.answers.plan import answer_json, answer_rows
from patcher.cli.console import Console
from patcher.cli.options import common_options, format_option, patient, project_options, writing_options
from patcher.cli.styles import Row
from patcher.errors import UsageError
from patcher.message import Message, joined
from patcher.ops import project as ops
from patcher.ops.outcome import Outcome
from patcher.ops.project import LockRequest, SyncRequest
from patcher.project.lockfile import build
from patcher.project.request import ProjectFiles
from patcher.text.listed import count


@click.command(epilog="\b\nExample:\n  pip install -r requirements.txt && sitepatch sync -r requirements.txt --locked")
@project_options
@click.option("--locked", is_flag=True, help="Do nothing where anything differs from the lock; report all that does.")
@click.option("--dry-run", is_flag=True, help="Show the plan and the diff, and write nothing at all.")
@writing_options
@common_options()
@patient
def sync(
    console: Console,
    project: str,
    requirements: Tuple[str, ...],
    lock_file: str,
    locked: bool,
    dry_run: bool,
    force: bool,
    verify: str,
) -> int:
    """Make the environment what the project asks for.

    What is missing is applied, what changed is updated, and what is applied but is not asked for is REVERTED, also
    what was applied by hand. All of it or nothing, and verified as by apply.

    The project asks in [tool.sitepatch] of its pyproject.toml and in comments of requirements files.
    """
    if lock_file and not locked:
        raise UsageError("--lock: found no --locked, without which no lock is looked at")
    files = ProjectFiles(project, requirements, lock_file, locked)
    return report_synced(console, SyncRequest(console.place, files, verify, dry_run, force))


def report_synced(console: Console, request: SyncRequest) -> int:
    """Make the environment what the project asks for, and report it."""
    console.on_plan = _show_sync_plan
    outcome = ops.sync(request, console)
    return report_outcome(console, outcome, _show_synced, restored=list(outcome.restored))


def _show_sync_plan(console: Console, outcome: Outcome) -> None:
    if not outcome.requested and not outcome.plan.files and not outcome.plan.answers:
        console.info(
            "nothing is asked for, and nothing is applied in {place}: nothing to do", place=", ".join(outcome.env.own)
        )
    show_plan(console, outcome)


def _show_synced(console: Console, outcome: Outcome) -> None:
    requested, rows = {one.patchset.name for one in outcome.requested}, []
    for one in outcome.effects:
        why = "" if one.word in ("applied", "updated") else Message(", which it does not change any more")
        why = why if one.patchset in requested else Message(", not asked for")
        rows.append(
            Row(
                one.word,
                (Message("{one.patchset}: {files} in {one.site}{why}", one=one, files=count(one.files, "file"), why=why),),
            )
        )
    console.info_rows(rows)
    note_running(console, outcome)


@click.command(epilog="\b\nExamples:\n  sitepatch lock\n  sitepatch lock -r requirements.txt --check")
@project_options
@click.option("--check", is_flag=True, help="Write nothing; exit code 1, and what differs, where the lock would be another.")
@common_options()
@format_option("text", "github")
def lock(console: Console, project: str, requirements: Tuple[str, ...], lock_file: str, check: bool, form: str) -> int:
    """Write down what the project asks for, and what it makes.

    The version and the sha256 of each patchset, and for each release that is installed the sha256 of every file before
    and after. The environment stays as it is. Releases that were locked in other environments stay in the lock as long
    as the patchsets and their options are the same.
    """
    done = ops.lock(LockRequest(console.place, ProjectFiles(project, requirements, lock_file), check), console)
    path, plan, made = done.path, done.plan, done.lock
    console.rows(answer_rows(plan.failed))
    console.suggest_explain(plan.answers, done.place.patch_dirs)
    lines: List[str] = [Message("{path}: {problem}", path=path, problem=problem) for problem in done.differences]
    if form == "github":
        from patcher.cli.answers.annotations import ERROR, annotation  # `sync` has no use for it

        lines = [annotation(ERROR, Message("{name} differs", name=path.name), problem, path) for problem in done.differences]
    for line in lines:
        console.out(line)
    if plan.failed:
        console.note("{path} was not written: {hunks} failed", "stopped", path=path, hunks=count(len(plan.failed), "hunk"))
    elif check and not done.differences:
        console.info("{path} holds what `sitepatch lock` would write", path=path)
    elif done.written:
        releases = {build(target)[0] for target in made.targets}
        counts = ((len(made.patchsets), "patchset"), (len(releases), "release"), (len(made.files), "file"))
        cells = (Message("{counts} in {path}", counts=joined(", ", (count(*each) for each in counts)), path=path),)
        console.info_rows([Row("locked", cells)])
    elif not check:
        console.info("{path}: nothing to do, it is as it would be written", path=path)
    fields = {
        "written": done.written,
        "lock": str(path),
        "patchsets": list(done.patchsets),
        "differences": list(done.differences),
        "answers": [answer_json(each) for each in plan.answers],
        "files": [each._asdict() for each in done.locked_files],
        "notes": list(plan.notes),
    }
    return console.answer(done.ok, fields)
