"""`lock`: write down what `sync` makes of an environment."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click

from patcher.display.console import Console
from patcher.display.rows import answer_json, answer_rows
from patcher.display.styles import Row
from patcher.facts import Wanted
from patcher.message import Message, joined
from patcher.model import LockedFile, Plan
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.survey import make_plan
from patcher.project import lockfile
from patcher.project.request import PROJECT_FILES, ProjectFiles, read_request
from patcher.store.retry import settled
from patcher.system.output import write_output
from patcher.system.reading import read_file
from patcher.text.listed import count, release_name
from patcher.verbs.change import note_interrupted
from patcher.verbs.options import common_options, project_options


class LockOutcome(NamedTuple):
    """The outcome of `lock`.

    `locked_files` are the files of this environment, `lock` is all that the file says now or would say, `differences` has a
    sentence for each with `check`, `place` has every directory of patchsets.
    """

    place: Place
    path: Path
    plan: Plan
    patchsets: tuple[str, ...]
    locked_files: tuple[LockedFile, ...]
    lock: lockfile.Lock
    differences: tuple[str, ...]
    written: bool = False

    @property
    def ok(self) -> bool:
        """Whether the lock is as it should be."""
        return not (self.plan.failed or self.differences)


def lock(
    project: ProjectFiles = PROJECT_FILES,
    *,
    place: Place = HERE,
    check: bool = False,
    events: Events = SILENT,
) -> LockOutcome:
    """Write down what `sync` would make of the environment; the environment itself stays as it is.

    With `check` nothing is written: it is seen what differs.

    Raises:
        SitepatchError: see `read_request`; what keeps it from making a plan; an old lock that cannot be read.
    """
    path = project.lock_path
    asked_for = read_request(project, place.patch_dirs)
    env = place.environment()
    events.started(env)
    note_interrupted(env, events)
    plan = settled(env, lambda: make_plan(env, Wanted(asked_for.patchsets, None)))
    plan = plan._replace(notes=(*asked_for.notes, *plan.notes))
    for note in plan.notes:
        events.note(note)
    old = lockfile.load_lock(path) if check or path.exists() else None
    new = lockfile.make_lock(asked_for.patchsets, plan.locked)
    problems = (
        lockfile.lock_differences(old, new, complete=not plan.failed) if check and old else []
    )
    place = place._replace(patch_dirs=asked_for.patch_dirs)
    names = tuple(item.patchset.name for item in asked_for.patchsets)
    outcome = LockOutcome(place, path, plan, names, new.files, new, tuple(problems))
    return outcome if plan.failed or check else _write(outcome, old, events)


def _write(outcome: LockOutcome, old: lockfile.Lock | None, events: Events) -> LockOutcome:
    """Write the lock unless it is there already, and report what became of the releases in the old one."""
    path, new = outcome.path, outcome.lock
    merged = lockfile.merged(old, new) if old else new
    new_builds, before, after = (
        {lockfile.build(target) for target in source.targets}
        for source in (new, old or new, merged)
    )
    for word, builds in (("kept", after - new_builds), ("dropped", before - after)):
        why = Message(
            "locked in another environment"
            if word == "kept"
            else "locked with other patchsets; lock again where wanted"
        )
        for release, _ in sorted(builds):
            name = release_name(*release)
            same_release = release in {new_release for new_release, _ in new_builds}
            build = Message("another build of {name}", name=name) if same_release else name
            events.note(Message("{build}, {why}", build=build, why=why), word)
    data = lockfile.encode_lock(merged).encode("utf-8")
    written = not path.exists() or read_file(path) != data
    if written:
        write_output(path, data)
    return outcome._replace(lock=merged, written=written)


@click.command(
    "lock", epilog="\b\nExamples:\n  sitepatch lock\n  sitepatch lock -r requirements.txt --check"
)
@project_options
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit code 1, and what differs, where the lock would be another.",
)
@common_options()
def command(
    console: Console, project: str, requirements: tuple[str, ...], lock_file: str, check: bool
) -> int:
    """Write down what the project asks for, and what it makes.

    The version and the sha256 of each patchset, and for each release that is installed the sha256 of every file before
    and after. The environment stays as it is. Releases that were locked in other environments stay in the lock as long
    as the patchsets and their options are the same.
    """
    outcome = lock(
        ProjectFiles(project, requirements, lock_file),
        place=console.place,
        check=check,
        events=console,
    )
    path, plan, locked = outcome.path, outcome.plan, outcome.lock
    console.rows(answer_rows(plan.failed))
    console.suggest_explain(plan.answers, outcome.place.patch_dirs)
    for problem in outcome.differences:
        console.out(Message("{path}: {problem}", path=path, problem=problem))
    if plan.failed:
        console.note(
            "{path} was not written: {hunks} failed",
            "stopped",
            path=path,
            hunks=count(len(plan.failed), "hunk"),
        )
    elif check and not outcome.differences:
        console.info("{path} holds what `sitepatch lock` would write", path=path)
    elif outcome.written:
        releases = {lockfile.build(target)[0] for target in locked.targets}
        counts = (
            (len(locked.patchsets), "patchset"),
            (len(releases), "release"),
            (len(locked.files), "file"),
        )
        cells = (
            Message(
                "{counts} in {path}",
                counts=joined(", ", (count(*number_of) for number_of in counts)),
                path=path,
            ),
        )
        console.info_rows([Row("locked", cells)])
    elif not check:
        console.info("{path}: nothing to do, it is as it would be written", path=path)
    fields = {
        "written": outcome.written,
        "lock": str(path),
        "patchsets": list(outcome.patchsets),
        "differences": list(outcome.differences),
        "answers": [answer_json(answer) for answer in plan.answers],
        "files": outcome.locked_files,
        "notes": list(plan.notes),
    }
    return console.answer(outcome.ok, fields)
