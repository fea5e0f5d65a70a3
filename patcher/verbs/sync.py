"""`sync`: bring an environment in line with a project, in one commit."""

from __future__ import annotations

from collections import Counter
from typing import Iterable, Sequence

import click

from patcher.display.console import Console
from patcher.display.plan import note_running, report_outcome, show_plan
from patcher.display.styles import Row
from patcher.errors import SitepatchError
from patcher.facts import FileStatus, Wanted
from patcher.hook.installed import Hook, hook_name, loaded_hooks
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import FilePlan, Plan, Requested
from patcher.outcomes import PlanOutcome, Task
from patcher.patchset.toml import options_text
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.survey import make_plan
from patcher.project.request import PROJECT_FILES, ProjectFiles, read_request
from patcher.record import Record, reported
from patcher.store.status import applied_names, live_names, statuses
from patcher.text.listed import count
from patcher.verbs.change import carry_out
from patcher.verbs.options import common_options, patient, project_options, writing_options
from patcher.verbs.verification import verify_settings
from patcher.verify import IMPORT


class Effect(Record):
    """What `sync` does with a patchset in a site directory.

    Attributes:
        word: `applied`, `updated`, `restored` or `forgotten`.
        patchset: the name of the patchset.
        site: the site directory.
        files: the number of files.
    """

    word: str
    patchset: str
    site: str
    files: int


@reported("restored effects", beside=PlanOutcome)
class SyncOutcome(PlanOutcome):
    """The outcome of `sync`.

    Attributes:
        effects: what it does with each patchset.
        restored: the names of patchsets that the project does not ask for.
    """

    effects: tuple[Effect, ...] = ()
    restored: tuple[str, ...] = ()


def sync(
    project: ProjectFiles = PROJECT_FILES,
    *,
    place: Place = HERE,
    verify: str = IMPORT,
    dry_run: bool = False,
    force: bool = False,
    events: Events = SILENT,
) -> SyncOutcome:
    """Bring the environment in line with a project, all or nothing; see `patcher.apply`.

    Raises:
        SitepatchError: see `read_request`; what keeps it from making a plan or from writing.
    """
    request = read_request(project, place.patch_dirs)
    requested = request.patchsets
    env = place.environment()
    damaged = _refuse_what_a_hook_undoes(env, requested)
    patchsets = [item.patchset for item in requested]
    verification = verify_settings(place, env, verify, patchsets=patchsets, events=events)
    names = [patchset.name for patchset in patchsets]
    events.started(env, requested)

    def look() -> SyncOutcome:
        items = statuses(env)
        plan = make_plan(env, Wanted(requested, None, force=force), items)
        unwanted: dict[str, None] = {}
        for name in applied_names(items):
            if name not in names:
                unwanted[name] = None
        reverted = _reverted(unwanted, items)
        plan = plan._replace(notes=(*request.notes, *damaged, *reverted, *plan.notes))

        answered = {answer.patchset for answer in plan.answers}
        task = Task(
            request.patch_dirs,
            env,
            names=tuple(name for name in names if name in answered),
            requested=requested,
            dry_run=dry_run,
        )
        return SyncOutcome(task, plan, effects=_effects(items, plan), restored=tuple(unwanted))

    return carry_out(look, env, verification, events=events, dry_run=dry_run)


def _reverted(unwanted: Iterable[str], items: Sequence[FileStatus]) -> list[str]:
    """A remark on each patchset that is reverted, of those that are not asked for."""
    live = live_names(items)
    remarks: list[str] = []
    for name in unwanted:
        if name in live:
            template = "{name} is applied and is not asked for: it is reverted"
            remarks.append(Message(template, name=name))
    return remarks


# hooks that would undo it -----------------------------------------------------------------------
def _refuse_what_a_hook_undoes(env: Environment, requested: Sequence[Requested]) -> list[str]:
    """Return a remark on each damaged hook.

    Raises:
        SitepatchError: an installed hook keeps a patchset applied otherwise than as the project
            asks for it.
    """
    by_name = {item.patchset.name: item for item in requested}
    problems: list[str] = []
    hooks, damaged = loaded_hooks(env._replace(sites=env.own))
    for hook in hooks:
        for kept in hook.requested:
            asked_for = by_name.get(kept.patchset.name)
            problem = _conflict(hook, kept, asked_for=asked_for)
            if problem:
                problems.append(problem)
    if problems:
        same = Message(
            "make the hook ask for the same (sitepatch hook init DIR) and install it again"
        )
        undo = Message("nothing was changed: the next start of Python would undo it")
        hint = Message("{same}, or uninstall it", same=same)
        raise SitepatchError(joined("\n", problems), joined("\n", (undo, hint)))

    remarks: list[str] = []
    for folder, error in damaged.items():
        template = "the hook {name} is damaged and does nothing: {brief}; {hint}"
        remarks.append(
            Message(template, name=hook_name(folder), brief=error.brief, hint=error.hint)
        )
    return remarks


def _conflict(hook: Hook, kept: Requested, *, asked_for: Requested | None) -> str:
    """The difference between what a hook keeps and what the project asks for, "" for none."""
    template = "{name}: {hook} keeps it applied in {site}"
    what = Message(template, name=kept.patchset.name, hook=hook.name, site=hook.site)
    if asked_for is None:
        return Message("{what}, and the project does not ask for it", what=what)
    if asked_for.patchset.folder.digest != kept.patchset.folder.digest:
        return Message("{what} in another version than the project asks for", what=what)
    if dict(asked_for.options) != dict(kept.options):
        return Message(
            "{what} with {there}, and the project asks for {here}",
            what=what,
            there=options_text(kept.options),
            here=options_text(asked_for.options),
        )
    return ""


# what it does -----------------------------------------------------------------------------------
def _effects(items: Sequence[FileStatus], plan: Plan) -> tuple[Effect, ...]:
    """What a plan does with each patchset, and in how many files of which directory."""
    items_by_key: dict[tuple[str, str], FileStatus] = {}
    for item in items:
        items_by_key[item.site, item.receipt.path] = item

    counts: Counter[tuple[str, str, str]] = Counter()
    for file in plan.files:
        if file.to_commit:
            before = items_by_key.get((file.site, file.path))
            for name, word in _effects_in(file, before).items():
                counts[word, name, file.site] += 1

    effects: list[Effect] = []
    for (word, name, site), number in sorted(counts.items()):
        effects.append(Effect(word=word, patchset=name, site=site, files=number))
    return tuple(effects)


def _effects_in(file: FilePlan, before: FileStatus | None) -> dict[str, str]:
    """What becomes of each patchset in a file that changes, by its name."""
    patchsets = before.patchsets if before else ()
    recorded = {step.patchset: (status, step) for status, step in patchsets}

    words: dict[str, str] = {}
    for step in file.steps:
        name = step.patchset
        if name not in recorded:
            words[name] = "applied"
            continue
        status, known = recorded.pop(name)
        if not status.live:
            words[name] = "applied"
        elif known.identity != step.identity:
            words[name] = "updated"
    for name, (status, _) in recorded.items():
        if status.live or status.deleted:
            words[name] = "restored"
        else:
            words[name] = "forgotten"
    return words


@click.command(
    "sync",
    epilog="\b\nExample:\n  pip install -r requirements.txt && sitepatch sync -r requirements.txt",
)
@project_options
@click.option(
    "--dry-run", is_flag=True, help="Show the plan and the diff, and write nothing at all."
)
@writing_options
@common_options()
@patient
def command(
    console: Console,
    project: str,
    requirements: tuple[str, ...],
    dry_run: bool,
    force: bool,
    verify: str,
) -> int:
    """Bring the environment in line with the project.

    What is missing is applied, what changed is updated, and what is applied but is not asked for is
    REVERTED, also what was applied by hand. All of it or nothing, and verified as by apply.

    The project asks in [tool.sitepatch] of its pyproject.toml and in comments of requirements
    files.
    """
    files = ProjectFiles(project, requirements)
    return report_synced(console, files, verify, dry_run=dry_run, force=force)


def report_synced(
    console: Console,
    project: ProjectFiles,
    verify: str,
    *,
    dry_run: bool = False,
    force: bool = False,
) -> int:
    """Bring the environment in line with the project, and report it."""
    console.on_plan = _show_sync_plan
    outcome = sync(
        project, place=console.place, verify=verify, dry_run=dry_run, force=force, events=console
    )
    report_outcome(console, outcome)
    if outcome.written:
        console.info_rows(_effect_rows(outcome))
        note_running(console, outcome)
    return console.answer(outcome.ok, outcome)


def _show_sync_plan(console: Console, outcome: PlanOutcome) -> None:
    task, plan = outcome.task, outcome.plan
    if not task.requested and not plan.files and not plan.answers:
        console.info(
            "nothing is asked for, and nothing is applied in {place}: nothing to do",
            place=", ".join(task.env.own),
        )
    show_plan(console, outcome)


def _effect_rows(outcome: SyncOutcome) -> list[Row]:
    """What was done with each patchset, and why one was restored."""
    requested = {item.patchset.name for item in outcome.task.requested}
    rows = []
    for effect in outcome.effects:
        why = ""
        if effect.patchset not in requested:
            why = Message(", not asked for")
        elif effect.word not in ("applied", "updated"):
            why = Message(", which it does not change any more")
        template = "{patchset}: {files} in {site}{why}"
        text = Message(
            template,
            patchset=effect.patchset,
            site=effect.site,
            files=count(effect.files, "file"),
            why=why,
        )
        rows.append(Row(effect.word, (text,)))
    return rows
