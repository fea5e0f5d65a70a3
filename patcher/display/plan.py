"""A plan on the console: its answers, its changes, how they were verified, what was written."""

from __future__ import annotations

from collections import Counter
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
    """Show the answers of a plan, and its notes.

    Without -v only failed answers are shown on a terminal, and where there is nothing to do for
    several patchsets; a dry run shows all.
    """
    plan = outcome.plan
    task = outcome.task
    is_news = console.plain and (bool(outcome.changed) or len(task.names) < 2)
    in_full = not console.quiet and (console.verbose or task.dry_run or is_news)
    shown = plan.answers if in_full else plan.failed
    console.rows(answer_rows(shown))
    console.suggest_explain(plan.answers, task.patch_dirs)
    console.notes(plan.notes)


def failures(plan: Plan) -> str:
    """How many hunks failed, and which packages cannot be patched, as a clause of a sentence."""
    number = 0
    absent: list[str] = []
    for answer in plan.failed:
        if answer.is_absent:
            absent.append(answer.path)
        else:
            number += 1

    parts: list[str] = []
    if number:
        hunks = count(len(plan.answers) - len(absent), "hunk")
        parts.append(Message("{number} of {hunks} failed", number=number, hunks=hunks))
    if absent:
        packages = listed(list(dict.fromkeys(absent)))
        parts.append(Message("{packages} cannot be patched here", packages=packages))
    return joined("; ", parts)


def report_outcome(console: Console, outcome: PlanOutcome) -> None:
    """Report why nothing was written, or what a dry run would write, and how it was verified."""
    plan = outcome.plan
    files = count(len(outcome.changed), "file")
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
    """Say for each patchset why there is nothing to do; one line for all that are applied."""
    applied: list[str] = []
    others: list[str] = []
    for name in outcome.patchsets:
        if _state(outcome.plan, name) is State.APPLIED:
            applied.append(name)
        else:
            others.append(name)

    if len(applied) > 1 and not console.verbose:
        template = "{patchsets}: nothing to do, they are applied already"
        console.info(template, patchsets=count(len(applied), "patchset"))
        _show_reasons(console, outcome.plan, names=others)
    else:
        _show_reasons(console, outcome.plan, names=outcome.patchsets)


def _show_reasons(console: Console, plan: Plan, *, names: Sequence[str]) -> None:
    """Say for each of some patchsets why there is nothing to do."""
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
    """The state of a patchset that changes nothing, for all of its hunks."""
    states = {answer.state for answer in plan.answers if answer.patchset == name}
    for state in (State.APPLIED, State.UPSTREAM):
        if state in states:
            return state
    return State.NOT_NEEDED


# what was written -------------------------------------------------------------------------------
def show_applied(console: Console, outcome: PlanOutcome, hooks: Sequence[str] = ()) -> None:
    """Write what was applied, and the command that restores it.

    Also why there was nothing to do for the other patchsets, and which hooks will undo this.
    """
    in_files: set[str] = set()
    for file in outcome.plan.files:
        in_files.update(step.patchset for step in file.steps)
    applied: list[str] = []
    idle: list[str] = []
    for name in outcome.patchsets:
        if name in in_files:
            applied.append(name)
        else:
            idle.append(name)

    files_of_site = Counter(file.site for file in outcome.changed if file.steps)
    for site, number in files_of_site.items():
        text = Message(
            "{names}: {files} in {site}",
            names=", ".join(applied),
            files=count(number, "file"),
            site=site,
        )
        console.info_rows([Row("applied", (text,))])
    _show_reasons(console, outcome.plan, names=idle)

    if applied:
        console.info("restore with: {command}", command=console.command("restore", *applied))
    note_running(console, outcome)
    template = (
        "the next start of Python undoes this: {hook} asks for another version or other options"
    )
    for hook in hooks:
        console.note(template, hook=hook)


def note_running(console: Console, outcome: PlanOutcome) -> None:
    """Write that running processes keep the old code; without -v only once for a directory."""
    if outcome.fresh or console.verbose:
        console.note(RUNNING)
