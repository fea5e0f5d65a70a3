"""What `apply`, `sync`, `restore`, `lock` and an overlay did, as text, as JSON and as an exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Sequence

from patcher.cli import report
from patcher.cli.console import Console, command
from patcher.cli.verified import verified_json, verified_rows
from patcher.errors import StoreError
from patcher.model import FilePlan, Plan, State
from patcher.ops.change import ApplyRequest, RestoreRequest, apply, restore
from patcher.ops.outcome import Events, Outcome
from patcher.patchset.tables import written_options
from patcher.text.diffs import plan_diffs
from patcher.text.table import Row, count

if TYPE_CHECKING:
    from patcher.model import Requested
    from patcher.ops.backups import BackupRequest
    from patcher.ops.overlay import OverlayRequest
    from patcher.ops.project import LockRequest, SyncRequest
    from patcher.target.environment import Environment

_RUNNING = "processes that are running keep the code they have loaded until they are started again"


class Live(Events):
    """Shows what a verb reports while it is at work; `planned` shows the plan."""

    def __init__(self, console: Console, planned: Callable[[Console, Outcome], None] = lambda console, outcome: None) -> None:
        self._console = console
        self._planned = planned

    def started(self, env: Environment, requested: Sequence[Requested] = ()) -> None:
        """Say what is meant."""
        self._console.about(env)
        for one in requested if self._console.verbose else ():
            self._console.say(f"{one.patchset.name} {one.patchset.version} {written_options(one.options)}".rstrip())

    def note(self, text: str, word: str = "note") -> None:
        """Write a remark."""
        self._console.note(text, word)

    def progress(self, done: int, total: int) -> None:
        """Show how far it is, on a terminal."""
        self._console.progress("" if done == total else f"looked at {done} of {total} files")

    def planned(self, outcome: Outcome) -> None:
        """Show the plan."""
        self._planned(self._console, outcome)

    def reached(self, state: str) -> None:
        """Keep what Ctrl-C would have to say."""
        self._console.outcome = state


# one function a verb: it returns the exit code -------------------------------------------------------------------------
def run_apply(console: Console, request: ApplyRequest) -> int:
    """Apply, and report it."""
    return finish(console, apply(request, Live(console, _show_plan)), lambda outcome: show_applied(console, outcome))


def run_sync(console: Console, request: SyncRequest) -> int:
    """Make the environment what the project asks for, and report it."""
    from patcher.ops.project import sync  # `run NAME` needs no projects

    def plan(console: Console, outcome: Outcome) -> None:
        if not outcome.requested and not outcome.plan.files and not outcome.plan.answers:
            console.say(f"nothing is asked for, and nothing is applied in {', '.join(outcome.env.own)}: nothing to do")
        _show_plan(console, outcome)

    def show(outcome: Outcome) -> None:
        asked, rows = {one.patchset.name for one in outcome.requested}, []
        for one in outcome.effects:
            why = "" if one.word in ("applied", "updated") else ", which it does not change any more"
            why = why if one.patchset in asked else ", not asked for"
            rows.append(Row(one.word, (f"{one.patchset}: {count(one.files, 'file')} in {one.site}{why}",)))
        console.rows([] if console.quiet else rows)
        _note_running(console, outcome)

    outcome = sync(request, Live(console, plan))
    return finish(console, outcome, show, restored=list(outcome.restored))


def run_restore(console: Console, request: RestoreRequest) -> int:
    """Restore, and report it."""

    def plan(console: Console, outcome: Outcome) -> None:
        console.rows(report.answer_rows(outcome.plan.answers))
        for name in outcome.idle:
            console.say(f"{name} is not applied here: nothing to restore")
        console.rows([Row("damaged", (), (problem, f"hint: {hint}")) for problem, hint in outcome.damaged])
        if not (outcome.patchsets or outcome.idle or outcome.damaged):
            console.say(f"nothing is applied in {', '.join(outcome.env.own)}: nothing to restore")
        _note_all(console, outcome.plan)

    def show(outcome: Outcome) -> None:
        console.rows([] if console.quiet else [_put_back(file) for file in outcome.changed])
        console.note(_RUNNING)
        for hook in outcome.hooks:
            console.note(f"the next start of Python applies them again, as {hook} asks for: sitepatch hook remove {hook}")

    outcome = restore(request, Live(console, plan))
    return finish(console, outcome, show, damaged=[{"problem": problem, "hint": hint} for problem, hint in outcome.damaged])


def run_restore_backups(console: Console, request: BackupRequest) -> int:
    """Put files back from the backups beside them, and report it."""
    from patcher.ops.backups import restore_backups  # few restore so

    def plan(console: Console, outcome: Outcome) -> None:
        if not outcome.plan.files:
            sites = ", ".join(outcome.env.own)
            console.say(f"no edited file in {sites} has a backup beside it that RECORD proves: nothing to restore")
        _note_all(console, outcome.plan)

    def show(outcome: Outcome) -> None:
        cells = "what was installed, with the mtime of the backup"
        console.rows([] if console.quiet else [Row("restored", (file.path, cells)) for file in outcome.changed])
        console.note(_RUNNING)

    return finish(console, restore_backups(request, Live(console, plan)), show)


def run_lock(console: Console, request: LockRequest) -> int:
    """Write the lock of a project, and report it."""
    from patcher.ops.project import lock
    from patcher.project.lockfile import build

    done = lock(request, Live(console))
    path, plan, made = done.path, done.plan, done.lock
    console.rows(report.answer_rows(plan.failed))
    console.see(done.place, plan.answers)
    for problem in done.differences:
        console.out(f"{path}: {problem}")
    if plan.failed:
        console.note(f"{path} was not written: {count(len(plan.failed), 'hunk')} failed", "stopped")
    elif request.check and not done.differences:
        console.say(f"{path} holds what `sitepatch lock` would write")
    elif done.written:
        releases = {build(target)[0] for target in made.targets}
        counts = ((len(made.patchsets), "patchset"), (len(releases), "release"), (len(made.held), "file"))
        cells = (f"{', '.join(count(*each) for each in counts)} in {path}",)
        console.rows([] if console.quiet else [Row("locked", cells)])
    elif not request.check:
        console.say(f"{path}: nothing to do, it is as it would be written")
    told = {
        "written": done.written,
        "lock": str(path),
        "patchsets": list(done.patchsets),
        "differences": list(done.differences),
        "answers": [report.answer_json(each) for each in plan.answers],
        "files": [each._asdict() for each in done.held],
        "notes": list(plan.notes),
    }
    console.data(done.ok, told)
    return 0 if done.ok else 1


def lay_over(console: Console, request: OverlayRequest) -> Outcome:
    """Make an overlay, and report it."""
    from patcher.ops.overlay import lay

    outcome = lay(request, Live(console, _show_plan))
    verified = outcome.verdict.verified if outcome.verdict else None
    if outcome.plan.failed:
        hunks = count(len(outcome.plan.answers), "hunk")
        console.note(f"nothing was run: {len(outcome.plan.failed)} of {hunks} failed", "stopped")
    elif outcome.overlay is None:
        console.say("nothing to lay over: what is asked for stands there already, or is not needed")
    console.rows(verified_rows(verified, quiet=console.quiet) if verified else [])
    if verified and verified.failed:
        console.note("nothing was run: verification failed", "stopped")
    elif outcome.overlay and not console.quiet:
        files = count(sum(file.before != file.after for file in outcome.plan.files), "file")
        console.rows([Row("overlay", (f"{files} in {outcome.overlay}",))])
    fields = {"patchsets": list(outcome.patchsets), "overlay": str(outcome.overlay or ""), **report.plan_json(outcome.plan)}
    console.data(outcome.ok, {**fields, **({"verify": verified_json(verified)} if verified else {})})
    return outcome


# what they share ------------------------------------------------------------------------------------------------------
def show_applied(console: Console, outcome: Outcome) -> None:
    """Say what was applied, and how it is restored."""
    names, sites = ", ".join(outcome.patchsets), [file.site for file in outcome.changed]
    rows = [Row("applied", (f"{names}: {count(sites.count(site), 'file')} in {site}",)) for site in dict.fromkeys(sites)]
    console.rows([] if console.quiet else rows)
    console.say(f"restore with: {command(outcome.place, 'restore', *outcome.patchsets)}")
    _note_running(console, outcome)


def _show_plan(console: Console, outcome: Outcome) -> None:
    plan = outcome.plan
    console.rows(report.answer_rows(answer for answer in plan.answers if answer.state.failed or not console.quiet))
    console.see(outcome.place, plan.answers)
    _note_all(console, plan)


def _note_all(console: Console, plan: Plan) -> None:
    for note in plan.notes:
        console.note(note)


def finish(console: Console, outcome: Outcome, show: Callable[[Outcome], None], **more: Any) -> int:
    """Report what came of a plan, with `show` what was written; `more` are further fields of the JSON answer."""
    plan, changed, verdict = outcome.plan, outcome.changed, outcome.verdict
    diff = b"".join(each.text for each in plan_diffs(plan)) if outcome.dry_run else b""
    if plan.failed:
        console.note(f"nothing was written: {len(plan.failed)} of {count(len(plan.answers), 'hunk')} failed", "stopped")
    elif not changed:
        for name in outcome.patchsets:
            console.say(f"{name}: nothing to do, {_why(plan, name)}")
    elif outcome.dry_run:
        console.diff(b"" if console.quiet else diff)
        console.note(f"nothing was written; {count(len(changed), 'file')} would be changed", "dry run")
    if verdict:
        console.rows(verified_rows(verdict.verified, quiet=console.quiet) if verdict.verified else [])
        why = "verification failed" if verdict.verified else "interrupted while verifying"
        if verdict.rolled_back:
            console.note(f"{why}; {count(len(changed), 'file')} as before this run", "rolled back")
        if verdict.problem:
            hint = f"{verdict.problem.hint}\nto restore all of it: {command(outcome.place, 'restore', *outcome.patchsets)}"
            raise StoreError(f"{why}, and the change could not be undone: {verdict.problem.message}", hint)
    if outcome.written:
        show(outcome)
    fields: Dict[str, Any] = {"written": outcome.written, "patchsets": list(outcome.patchsets), **more}
    fields.update(report.plan_json(plan), recovered=list(outcome.recovered))
    if verdict and verdict.verified:
        fields["verify"] = verified_json(verdict.verified, rolled_back=verdict.rolled_back)
    if outcome.dry_run:
        fields["diff"] = report.shown(diff)
    console.data(outcome.ok, fields)
    return 0 if outcome.ok else 130 if verdict and not verdict.verified else 1


def _note_running(console: Console, outcome: Outcome) -> None:
    if outcome.fresh or console.verbose:
        console.note(_RUNNING)


def _why(plan: Plan, name: str) -> str:
    """Why there is nothing to do for a patchset."""
    states = {answer.state for answer in plan.answers if answer.patchset == name}
    if State.APPLIED in states:
        return "it is applied already"
    if State.UPSTREAM in states:
        return "the code is already as it would make it: fixed upstream"
    return "it is not needed here: the code that it changes is not there"


def _put_back(file: FilePlan) -> Row:
    stays = ", ".join(step.patchset for step in file.steps)
    if stays:
        more = ", and what was edited by hand" if file.change and file.change.merged else ""
        return Row("restored", (file.path, f"but for {stays}, which stays applied{more}"))
    if file.change and file.change.data is not None:
        return Row("restored", (file.path, "our change is out, what was edited by hand stays"))
    if file.change and file.change.forget:
        return Row("forgotten", (file.path, "our change is gone already; the file was left alone"))
    return Row("restored", (file.path, "the bytes, mode and mtime of before"))
