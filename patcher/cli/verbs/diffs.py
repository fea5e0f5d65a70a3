"""What `diff` does."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from patcher.cli import report
from patcher.cli.console import Console
from patcher.cli.page import page
from patcher.model import Answer
from patcher.ops.place import Place
from patcher.planner.plan import before_and_after, plan_apply
from patcher.project.selection import choose
from patcher.store.retry import settled
from patcher.store.status import Condition, interrupted, statuses
from patcher.target.environment import Environment
from patcher.text.confusable import diff_remarks
from patcher.text.diffs import FileDiff, compare, plan_diffs


class DiffOptions(NamedTuple):
    """Only how many lines change; a page for this file; exit code 1 where anything differs."""

    stat: bool
    html: Optional[str]
    exit_code: bool


def show_diff(console: Console, place: Place, names: Sequence[str], options: DiffOptions) -> int:
    """Show what would change, or what is changed."""
    env = place.environment()
    console.about(env)
    waiting, (diffs, live, notes) = settled(env, lambda: (interrupted(env), _standing_diffs(env, names)))
    for site, problem in waiting:
        console.note(f"{site}: {problem}")
    ahead = [name for name in dict.fromkeys(names) if name not in live]
    answers: Sequence[Answer] = ()
    failed = False
    if ahead:
        requested, shadows = choose(ahead, (), place.patch_dirs)
        plan = settled(env, lambda: plan_apply(env, requested))
        answers, failed = plan.answers, bool(plan.failed)
        notes += [*shadows, *plan.notes]
        diffs += [] if failed else plan_diffs(plan)
        silent = [answer for answer in answers if answer.state.value != "applicable"]
        console.rows(report.answer_rows(silent), err=True)
        console.see(place, answers)
    for note in notes:
        console.note(note)
    if options.html:
        title = " ".join(["sitepatch diff", *names])
        with open(options.html, "wb") as file:
            file.write(page(title, diffs, answers))
        console.say(f"wrote {options.html}")
    elif options.stat:
        console.page(report.stat(diffs).split("\n")[:-1])
    else:
        console.diff(b"".join(each.text for each in diffs), pager=True)
    if not diffs and not names:
        console.note("nothing is changed here")
    code = 1 if failed or (options.exit_code and diffs) else 0
    fields = {"answers": [report.answer_json(each) for each in answers], "notes": notes}
    console.data(not code, {"files": [report.diff_json(each) for each in diffs], **fields})
    return code


def _standing_diffs(env: Environment, names: Sequence[str]) -> Tuple[List[FileDiff], List[str], List[str]]:
    """What stands changed by these patchsets (by all without names), whose names stand so, and remarks."""
    diffs: List[FileDiff] = []
    live: Dict[str, None] = {}
    notes: List[str] = []
    for item in statuses(env):
        here = [step.patchset for step in item.receipt.steps if not names or step.patchset in names]
        if here and item.condition is not Condition.APPLIED:
            notes.append(f"{item.receipt.path}: {item.condition.value}; see sitepatch status")
        if here and item.live:
            live.update(dict.fromkeys(here))
            diffs.append(compare(item.site, item.receipt.path, *before_and_after(item.site, item.receipt, here), here))
            notes += diff_remarks(item.receipt.path, diffs[-1].text)
    return diffs, list(live), notes
