"""The commands that only look: `diff`, `status`, `list` and `show`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Tuple

import click

from patcher.cli.commands.options import complete_names
from patcher.cli.console import Console, description, style, takes
from patcher.errors import SitepatchError
from patcher.ops.place import Place

if TYPE_CHECKING:
    from patcher.errors import StoreError
    from patcher.model import Answer
    from patcher.store.status import FileStatus
    from patcher.target.environment import Environment
    from patcher.text.diffs import FileDiff

_NEWS = 24 * 60 * 60  # seconds for which `status` tells of an edited text that was set aside; after that `doctor` does


@click.command(epilog="\b\nExample:\n  sitepatch diff mmengine-ddp-debug | git apply --directory=site-packages")
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--stat", "as_stat", is_flag=True, help="Only how many lines change in each file.")
@click.option("--html", metavar="FILE", help="Write a page that can be read offline.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything differs.")
@takes()
def diff(
    console: Console, place: Place, names: Tuple[str, ...], as_stat: bool, html: Optional[str], exit_code: bool
) -> int:
    """Show what would change, or what is changed.

    Of a patchset that is not applied: what apply would change. Of one that is, and without names: what is changed.
    """
    from patcher.cli import report
    from patcher.store.retry import settled
    from patcher.store.status import interrupted
    from patcher.text.diffs import plan_diffs

    env = place.environment()
    console.about(env)
    waiting, (diffs, live, notes) = settled(env, lambda: (interrupted(env), _standing_diffs(env, names)))
    for site, problem in waiting:
        console.note(f"{site}: {problem}")
    ahead = [name for name in dict.fromkeys(names) if name not in live]
    answers: Sequence[Answer] = ()
    failed = False
    if ahead:
        from patcher.planner.plan import plan_apply
        from patcher.project.selection import choose

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
    if html:
        from patcher.cli.page import page

        title = " ".join(["sitepatch diff", *names])
        with open(html, "wb") as file:
            file.write(page(title, diffs, answers))
        console.say(f"wrote {html}")
    elif as_stat:
        console.page(report.stat(diffs).split("\n")[:-1])
    else:
        console.diff(b"".join(each.text for each in diffs), pager=True)
    if not diffs and not names:
        console.note("nothing is changed here")
    code = 1 if failed or (exit_code and diffs) else 0
    told = {"answers": [report.answer_json(each) for each in answers], "notes": notes}
    console.data(not code, {"files": [report.diff_json(each) for each in diffs], **told})
    return code


def _standing_diffs(env: Environment, names: Sequence[str]) -> Tuple[List[FileDiff], List[str], List[str]]:
    """What stands changed by these patchsets (by all without names), whose names stand so, and remarks."""
    from patcher.planner.plan import before_and_after
    from patcher.store.status import Condition, statuses
    from patcher.text.confusable import diff_remarks
    from patcher.text.diffs import compare

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


@click.command(epilog="\b\nExample:\n  sitepatch status --check || sitepatch apply mmengine-ddp-debug")
@click.option("--check", is_flag=True, help="Exit with 1 if anything is not as it was applied.")
@takes()
def status(console: Console, place: Place, check: bool) -> int:
    """Show which patchsets are applied, and the state of their files."""
    from patcher.cli import report
    from patcher.project.selection import outdated
    from patcher.store.retry import settled
    from patcher.store.status import damaged, recover, statuses, stores, unclaimed
    from patcher.target.backups import proven
    from patcher.text.table import Row

    env = place.environment()
    console.about(env)
    recovered: List[str] = []

    def look() -> Tuple[List[Tuple[str, str, str]], List[FileStatus], List[Tuple[str, str]], bool]:
        said, stopped = recover(env)
        recovered.extend(said)
        bad: List[StoreError] = []
        items = statuses(env, bad)
        return stopped, items, [*damaged(items), *unclaimed(env, bad)], bool(bad)

    stopped, items, broken, unknown = settled(env, look)
    for sentence in recovered:
        console.note(sentence, "recovered")
    newer, unreadable = outdated(items, place.patch_dirs)
    for error in unreadable.values():
        console.note(error.brief, "broken")
    homes = stores(env)
    kept = [path for store in homes for path in store.kept()]
    rows = [Row(word, (site,), (problem,)) for word, site, problem in stopped]
    rows += [Row("damaged", (), (problem, f"hint: {hint}")) for problem, hint in broken]
    rows += report.status_rows(items, newer)
    console.rows([row for row in rows if not console.quiet or row.word != "applied"])
    if not rows:
        console.say(f"nothing is applied in {', '.join(env.own)}")
    backups = proven(env.own, {(item.site, item.receipt.path) for item in items})
    for one in backups:
        console.note(f"{one.told}; put it back: sitepatch restore --from-backup {one.path}")
    for path in (path for store in homes for path in store.kept(time.time() - _NEWS)):
        console.note(f"{path}, an edited text that was set aside; remove it when it is of no use any more", "kept")
    differs = any(row.word != "applied" for row in rows)
    code = 1 if unknown or (check and differs) else 0  # what a damaged receipt is about cannot be said at all
    told = [{"site": site, "problem": problem} for _, site, problem in stopped]
    files = [report.standing_json(item, newer) for item in items]
    more = {"recovered": recovered, "damaged": [{"problem": one, "hint": hint} for one, hint in broken], "kept": kept}
    more["backups"] = [{"site": one.site, "path": one.path, "backup": one.name} for one in backups]
    console.data(not code, {"files": files, "interrupted": told, **more})
    return code


@click.command("list", epilog="\b\nExample:\n  sitepatch list --patch-dir ./patchsets")
@takes(environment=False)
def list_(console: Console, place: Place) -> int:
    """List the patchsets that can be named.

    Each with its kind, the releases it is for, and where it was found.
    """
    from patcher.cli import report
    from patcher.patchset.sources import find_every
    from patcher.project.selection import shadow_notes

    every, errors = find_every(place.patch_dirs, os.getcwd())
    found = [one.patchset for one in every]
    notes = [note for one in every for note in shadow_notes(one)]
    console.rows(report.list_rows(found, errors))
    for note in notes:
        console.note(note)
    bad = [{"name": name, "problem": error.message} for name, error in errors.items()]
    console.data(not errors, {"patchsets": [report.patchset_json(one) for one in found], "broken": bad, "notes": notes})
    return 1 if errors else 0


@click.command(epilog="\b\nExample:\n  sitepatch show mmengine-ddp-debug")
@click.argument("name", shell_complete=complete_names)
@takes(environment=False)
def show(console: Console, place: Place, name: str) -> int:
    """Show why a patchset exists, and its options.

    With all of its patches.
    """
    from patcher.cli.report import patchset_json
    from patcher.project.selection import find_all

    (one,), notes = find_all([name], place.patch_dirs)
    for note in notes:
        console.note(note)
    console.page(description(one) + _checked(place, name))
    console.data(True, {"patchset": patchset_json(one, full=True), "notes": notes})
    return 0


def _checked(place: Place, name: str) -> List[str]:
    """The heading of the table of `check --against all` that lies in a patchset's folder, if there is one."""
    from patcher.patchset.sources import folders
    from patcher.system.reading import TEXT, read_file

    folder, _ = folders(place.patch_dirs, os.getcwd())[name][0]
    try:
        heading = read_file(os.path.join(folder, "compatibility.txt"), TEXT).decode("utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError, SitepatchError):
        return []
    return ["", style("checked", bold=True), f"  {heading} (compatibility.txt)"]
