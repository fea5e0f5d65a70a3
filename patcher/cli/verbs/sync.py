"""What `sync` and `lock` did, as text, as JSON and as an exit code."""

from __future__ import annotations

from patcher.cli.answers.outcome import ConsoleEvents, note_running, report_outcome, show_plan
from patcher.cli.answers.plan import answer_json, answer_rows
from patcher.cli.console import Console
from patcher.cli.styles import Row
from patcher.ops.outcome import Outcome
from patcher.ops.project import LockRequest, SyncRequest, lock, sync
from patcher.project.lockfile import build
from patcher.text.listed import count


def run_sync(console: Console, request: SyncRequest) -> int:
    """Make the environment what the project asks for, and report it."""
    outcome = sync(request, ConsoleEvents(console, _show_sync_plan))
    return report_outcome(console, outcome, _show_synced, restored=list(outcome.restored))


def _show_sync_plan(console: Console, outcome: Outcome) -> None:
    if not outcome.requested and not outcome.plan.files and not outcome.plan.answers:
        console.info(f"nothing is asked for, and nothing is applied in {', '.join(outcome.env.own)}: nothing to do")
    show_plan(console, outcome)


def _show_synced(console: Console, outcome: Outcome) -> None:
    requested, rows = {one.patchset.name for one in outcome.requested}, []
    for one in outcome.effects:
        why = "" if one.word in ("applied", "updated") else ", which it does not change any more"
        why = why if one.patchset in requested else ", not asked for"
        rows.append(Row(one.word, (f"{one.patchset}: {count(one.files, 'file')} in {one.site}{why}",)))
    console.info_rows(rows)
    note_running(console, outcome)


def run_lock(console: Console, request: LockRequest, form: str) -> int:
    """Write the lock of a project, and report it; where `form` is `github`, what differs is annotated."""
    done = lock(request, ConsoleEvents(console))
    path, plan, made = done.path, done.plan, done.lock
    console.rows(answer_rows(plan.failed))
    console.suggest_explain(done.place, plan.answers)
    lines = [f"{path}: {problem}" for problem in done.differences]
    if form == "github":
        from patcher.cli.answers.annotations import ERROR, annotation  # `sync` has no use for it

        lines = [annotation(ERROR, f"{path.name} differs", problem, path) for problem in done.differences]
    for line in lines:
        console.out(line)
    if plan.failed:
        console.note(f"{path} was not written: {count(len(plan.failed), 'hunk')} failed", "stopped")
    elif request.check and not done.differences:
        console.info(f"{path} holds what `sitepatch lock` would write")
    elif done.written:
        releases = {build(target)[0] for target in made.targets}
        counts = ((len(made.patchsets), "patchset"), (len(releases), "release"), (len(made.files), "file"))
        cells = (f"{', '.join(count(*each) for each in counts)} in {path}",)
        console.info_rows([Row("locked", cells)])
    elif not request.check:
        console.info(f"{path}: nothing to do, it is as it would be written")
    fields = {
        "written": done.written,
        "lock": str(path),
        "patchsets": list(done.patchsets),
        "differences": list(done.differences),
        "answers": [answer_json(each) for each in plan.answers],
        "files": [each._asdict() for each in done.held],
        "notes": list(plan.notes),
    }
    console.data(done.ok, fields)
    return 0 if done.ok else 1
