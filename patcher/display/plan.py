"""A plan on the console: its answers, its changes, how they were verified, what was written."""

from __future__ import annotations

from typing import Sequence

from patcher.display.console import Console
from patcher.display.differences import show_diffs
from patcher.display.rows import answer_rows
from patcher.display.styles import Row
from patcher.display.verified import verified_rows
from patcher.message import Message, joined
from patcher.model import Plan, State
from patcher.outcomes import PlanOutcome
from patcher.text.listed import count, listed

RUNNING = Message("running processes keep the old code until they are restarted")


# the plan ---------------------------------------------------------------------------------------
def show_plan(console: Console, outcome: PlanOutcome) -> None:
    """Show the answer of a plan for each hunk, and its notes.

    Those that fail alone without -v, on a terminal and where there is nothing to do for several
    patchsets.
    """
    plan, task = outcome.plan, outcome.task
    is_news = console.plain and (bool(outcome.changed) or len(task.names) < 2)
    in_full = not console.quiet and (console.verbose or task.dry_run or is_news)
    shown = [answer for answer in plan.answers if answer.state.failed or in_full]
    console.rows(answer_rows(shown))
    console.suggest_explain(plan.answers, task.patch_dirs)
    console.notes(plan.notes)


def failures(plan: Plan) -> str:
    """How many hunks failed, and which packages are missing or cannot be patched."""
    absent = [answer for answer in plan.failed if answer.is_absent]
    number = len(plan.failed) - len(absent)
    parts: list[str] = []
    if number:
        hunks = count(len(plan.answers) - len(absent), "hunk")
        parts.append(Message("{number} of {hunks} failed", number=number, hunks=hunks))
    if absent:
        packages = listed(list(dict.fromkeys(answer.path for answer in absent)))
        parts.append(Message("{packages} cannot be patched here", packages=packages))
    return joined("; ", parts)


def report_outcome(console: Console, outcome: PlanOutcome) -> None:
    """Report why nothing was written, or what a dry run would write, and how it was verified."""
    plan, files = outcome.plan, count(len(outcome.changed), "file")
    if plan.failed:
        console.note("nothing was written: {reason}", "stopped", reason=failures(plan))
    elif not outcome.changed:
        _show_idle(console, outcome)
    elif outcome.task.dry_run:
        show_diffs(console, outcome.diffs)
        template = "nothing was written; {files} would be changed"
        console.note(template, Message("dry run"), files=files)

    verified = outcome.verified
    if verified:
        console.rows(verified_rows(console, verified))
        if verified.failed:
            template = "verification failed: nothing was written, {files} as before"
            console.note(template, "stopped", files=files)


def _show_idle(console: Console, outcome: PlanOutcome) -> None:
    """Say for each patchset why there is nothing to do; in one line for those that are applied."""
    names = outcome.patchsets
    applied = [name for name in names if _state(outcome.plan, name) is State.APPLIED]
    if len(applied) > 1 and not console.verbose:
        template = "{patchsets}: nothing to do, they are applied already"
        console.info(template, patchsets=count(len(applied), "patchset"))
        names = tuple(name for name in names if name not in applied)
    _show_reasons(console, outcome.plan, names)


def _show_reasons(console: Console, plan: Plan, names: Sequence[str]) -> None:
    """Say for each patchset why there is nothing to do."""
    reasons = {
        State.APPLIED: Message("it is applied already"),
        State.UPSTREAM: Message(
            "the file has the code of its `+` lines already: fixed upstream, "
            "or `-` and `+` are swapped"
        ),
        State.NOT_NEEDED: Message("it is not needed here: the code that it changes is not there"),
    }
    for name in names:
        reason = reasons[_state(plan, name)]
        console.info("{name}: nothing to do, {reason}", name=name, reason=reason)


def _state(plan: Plan, name: str) -> State:
    """What a patchset is that changes nothing."""
    states = {answer.state for answer in plan.answers if answer.patchset == name}
    if State.APPLIED in states:
        return State.APPLIED
    return State.UPSTREAM if State.UPSTREAM in states else State.NOT_NEEDED


# what was written -------------------------------------------------------------------------------
def show_applied(console: Console, outcome: PlanOutcome, hooks: Sequence[str] = ()) -> None:
    """Write what was applied, and the command that restores it.

    Also why a patchset that stands in no file needs nothing, and which hooks will undo this.
    """
    in_files = {step.patchset for file in outcome.plan.files for step in file.steps}
    names = [name for name in outcome.patchsets if name in in_files]
    sites = [file.site for file in outcome.changed if file.steps]
    for site in dict.fromkeys(sites):
        files = count(sites.count(site), "file")
        template = "{names}: {files} in {site}"
        text = Message(template, names=", ".join(names), files=files, site=site)
        console.info_rows([Row("applied", (text,))])
    idle = [name for name in outcome.patchsets if name not in in_files]
    _show_reasons(console, outcome.plan, idle)
    if names:
        console.info("restore with: {command}", command=console.command("restore", *names))
    note_running(console, outcome)
    template = (
        "the next start of Python undoes this: {hook} asks for another version or other options"
    )
    for hook in hooks:
        console.note(template, hook=hook)


def note_running(console: Console, outcome: PlanOutcome) -> None:
    """Write that running processes keep the old code, once a directory is patched first."""
    if outcome.fresh or console.verbose:
        console.note(RUNNING)
