"""What `apply` and `restore` did, as text, as JSON and as an exit code, and what other verbs share with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Sequence

from patcher.cli.answers import report
from patcher.cli.answers.differing import show_diffs
from patcher.cli.answers.verified import verified_json, verified_rows
from patcher.cli.console import Console, command
from patcher.errors import StoreError
from patcher.model import FilePlan, Plan, State
from patcher.ops.change import apply, restore
from patcher.ops.outcome import ApplyRequest, Events, Outcome, RestoreRequest
from patcher.patchset.toml import options_text
from patcher.text.diffs import plan_diffs
from patcher.text.table import Row, count

if TYPE_CHECKING:
    from patcher.model import Requested
    from patcher.target.environment import Environment

RUNNING = "processes that are running keep the code they have loaded until they are started again"


class Live(Events):
    """Shows what a verb reports while it is at work; `planned` shows the plan."""

    def __init__(self, console: Console, planned: Callable[[Console, Outcome], None] = lambda console, outcome: None) -> None:
        self._console = console
        self._planned = planned

    def started(self, env: Environment, requested: Sequence[Requested] = ()) -> None:
        """Say what is meant."""
        self._console.about(env)
        for one in requested if self._console.verbose else ():
            self._console.say(f"{one.patchset.name} {one.patchset.version} {options_text(one.options)}".rstrip())

    def note(self, text: str, word: str = "note") -> None:
        """Write a remark."""
        self._console.note(text, word)

    def progress(self, done: int, total: int, what: str) -> None:
        """Show how far it is."""
        self._console.progress(done, total, what)

    def planned(self, outcome: Outcome) -> None:
        """Show the plan."""
        self._planned(self._console, outcome)

    def reached(self, state: str) -> None:
        """Keep what Ctrl-C would have to say."""
        self._console.outcome = state


# one function a verb: it returns the exit code -------------------------------------------------------------------------
def run_apply(console: Console, request: ApplyRequest) -> int:
    """Apply, and report it."""
    return finish(console, apply(request, Live(console, show_plan)), lambda outcome: show_applied(console, outcome))


def run_restore(console: Console, request: RestoreRequest) -> int:
    """Restore, and report it."""

    def plan(console: Console, outcome: Outcome) -> None:
        console.rows(report.answer_rows(outcome.plan.answers))
        for name in outcome.idle:
            console.say(f"{name} is not applied here: nothing to restore")
        console.rows([Row("damaged", (), (problem, f"hint: {hint}")) for problem, hint in outcome.damaged])
        if not (outcome.patchsets or outcome.idle or outcome.damaged):
            console.say(f"nothing is applied in {', '.join(outcome.env.own)}: nothing to restore")
        note_all(console, outcome.plan)

    def show(outcome: Outcome) -> None:
        console.rows([] if console.quiet else [_put_back(file) for file in outcome.changed])
        console.note(RUNNING)
        for hook in outcome.hooks:
            console.note(f"the next start of Python applies them again, as {hook} asks for: sitepatch hook remove {hook}")

    outcome = restore(request, Live(console, plan))
    return finish(console, outcome, show, damaged=[{"problem": problem, "hint": hint} for problem, hint in outcome.damaged])


# what they share ------------------------------------------------------------------------------------------------------
def show_applied(console: Console, outcome: Outcome) -> None:
    """Say what was applied, and how it is restored."""
    names, sites = ", ".join(outcome.patchsets), [file.site for file in outcome.changed]
    rows = [Row("applied", (f"{names}: {count(sites.count(site), 'file')} in {site}",)) for site in dict.fromkeys(sites)]
    console.rows([] if console.quiet else rows)
    console.say(f"restore with: {command(outcome.place, 'restore', *outcome.patchsets)}")
    note_running(console, outcome)


def show_plan(console: Console, outcome: Outcome) -> None:
    """Show what a plan says of each hunk, and its remarks."""
    plan = outcome.plan
    console.rows(report.answer_rows(answer for answer in plan.answers if answer.state.failed or not console.quiet))
    console.see(outcome.place, plan.answers)
    note_all(console, plan)


def note_all(console: Console, plan: Plan) -> None:
    """Write the remarks of a plan."""
    for note in plan.notes:
        console.note(note)


def finish(console: Console, outcome: Outcome, show: Callable[[Outcome], None], **more: Any) -> int:
    """Report what came of a plan, with `show` what was written; `more` are further fields of the JSON answer."""
    plan, changed, verdict = outcome.plan, outcome.changed, outcome.verdict
    diffs = plan_diffs(plan) if outcome.dry_run else []
    if plan.failed:
        console.note(f"nothing was written: {len(plan.failed)} of {count(len(plan.answers), 'hunk')} failed", "stopped")
    elif not changed:
        for name in outcome.patchsets:
            console.say(f"{name}: nothing to do, {_why(plan, name)}")
    elif outcome.dry_run:
        show_diffs(console, [] if console.quiet else diffs)
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
        fields["diff"] = report.shown(b"".join(each.text for each in diffs))
    console.data(outcome.ok, fields)
    return 0 if outcome.ok else 130 if verdict and not verdict.verified else 1


def note_running(console: Console, outcome: Outcome) -> None:
    """Say that running processes keep the old code, where that is news."""
    if outcome.fresh or console.verbose:
        console.note(RUNNING)


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
