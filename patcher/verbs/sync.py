"""`sync`: make an environment what a project asks for, in one commit."""

from __future__ import annotations

from typing import Sequence

import click

from patcher.display.console import Console
from patcher.display.styles import Row
from patcher.errors import SitepatchError
from patcher.facts import FileStatus, Wanted
from patcher.hook.installed import hook_name, loaded_hooks
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import Plan, Requested
from patcher.patchset.toml import options_text
from patcher.place import HERE, SILENT, Effect, Events, Outcome, Place
from patcher.planner.survey import make_plan
from patcher.project.request import PROJECT_FILES, ProjectFiles, read_request
from patcher.store.status import applied_names, live_names, statuses
from patcher.text.listed import count
from patcher.verbs.change import carry_out, verify_settings
from patcher.verbs.options import common_options, patient, project_options, writing_options
from patcher.verbs.report import note_running, report_outcome, show_plan
from patcher.verify import IMPORT


def sync(
    project: ProjectFiles = PROJECT_FILES,
    *,
    place: Place = HERE,
    verify: str = IMPORT,
    dry_run: bool = False,
    force: bool = False,
    events: Events = SILENT,
) -> Outcome:
    """Verify what the project asks for, and make the environment that, all or nothing; see `patcher.apply` for the arguments.

    Raises:
        SitepatchError: see `read_request`; what keeps it from making a plan or from writing.
    """
    asked_for = read_request(project, place.patch_dirs)
    requested = asked_for.patchsets
    env = place.environment()
    damaged = _refuse_what_a_hook_undoes(env, requested)
    verification = verify_settings(
        place, env, verify, [asked.patchset for asked in requested], events
    )
    names = [asked.patchset.name for asked in requested]
    place = place._replace(patch_dirs=asked_for.patch_dirs)
    events.started(env, requested)

    def look() -> Outcome:
        items = statuses(env)
        plan = make_plan(env, Wanted(requested, None, force), items)
        going = dict.fromkeys(name for name in applied_names(items) if name not in names)
        live = live_names(items)
        reverted = [
            Message("{name} is applied and is not asked for: it is reverted", name=name)
            for name in going
            if name in live
        ]
        plan = plan._replace(notes=(*asked_for.notes, *damaged, *reverted, *plan.notes))
        answered = {answer.patchset for answer in plan.answers}
        fitting = tuple(name for name in names if name in answered)
        outcome = Outcome(place, env, plan, fitting, requested, dry_run)
        return outcome._replace(effects=_effects(items, plan), restored=tuple(going))

    return carry_out(look, env, verification, events, dry_run=dry_run)


def _refuse_what_a_hook_undoes(env: Environment, requested: Sequence[Requested]) -> list[str]:
    """Return a remark on each damaged hook.

    Raises:
        SitepatchError: an installed hook keeps a patchset applied otherwise than as the project asks for it.
    """
    by_name = {item.patchset.name: item for item in requested}
    problems: list[str] = []
    own_env = env._replace(sites=env.own)
    hooks, damaged = loaded_hooks(own_env)
    for hook in hooks:
        for kept in hook.requested:
            name = kept.patchset.name
            asked = by_name.get(name)
            conflict = Message(
                "{name}: {hook.name} keeps it applied in {hook.site}", name=name, hook=hook
            )
            if asked is None:
                problems.append(
                    Message("{what}, and the project does not ask for it", what=conflict)
                )
            elif asked.patchset.folder.digest != kept.patchset.folder.digest:
                problems.append(
                    Message("{what} in another version than the project asks for", what=conflict)
                )
            elif dict(asked.options) != dict(kept.options):
                asked_options, kept_options = (
                    options_text(asked.options),
                    options_text(kept.options),
                )
                problems.append(
                    Message(
                        "{what} with {there}, and the project asks for {here}",
                        what=conflict,
                        there=kept_options,
                        here=asked_options,
                    )
                )
    if problems:
        same = Message(
            "make the hook ask for the same (sitepatch hook init DIR) and install it again"
        )
        undo = Message("nothing was changed: the next start of Python would undo it")
        hint = Message("{same}, or uninstall it", same=same)
        raise SitepatchError(joined("\n", problems), joined("\n", (undo, hint)))
    bad = [(hook_name(folder), error) for folder, error in damaged.items()]
    template = "the hook {name} is damaged and does nothing: {error.brief}; {error.hint}"
    return [Message(template, name=name, error=error) for name, error in bad]


def _effects(items: Sequence[FileStatus], plan: Plan) -> tuple[Effect, ...]:
    """What a plan does with each patchset, and in how many files of which directory."""
    before = {(item.site, item.receipt.path): item for item in items}
    counts: dict[tuple[str, str, str], int] = {}
    for file in [file for file in plan.files if file.change]:
        item = before.get((file.site, file.path))
        recorded = {step.patchset: (at, step) for at, step in item.patchsets} if item else {}
        words: dict[str, str] = {}
        for step in file.steps:
            at, old = recorded.pop(step.patchset, (None, step))
            if at is None or not at.live:
                words[step.patchset] = "applied"
            elif old.identity != step.identity:
                words[step.patchset] = "updated"
        for name, (at, _) in recorded.items():
            words[name] = "restored" if at.live or at.deleted else "forgotten"
        for name, word in words.items():
            counts[word, name, file.site] = counts.get((word, name, file.site), 0) + 1
    return tuple(Effect(*key, number) for key, number in sorted(counts.items()))


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
    """Make the environment what the project asks for.

    What is missing is applied, what changed is updated, and what is applied but is not asked for is REVERTED, also
    what was applied by hand. All of it or nothing, and verified as by apply.

    The project asks in [tool.sitepatch] of its pyproject.toml and in comments of requirements files.
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
    """Make the environment what the project asks for, and report it."""
    console.on_plan = _show_sync_plan
    outcome = sync(
        project, place=console.place, verify=verify, dry_run=dry_run, force=force, events=console
    )
    return report_outcome(console, outcome, _show_synced, restored=list(outcome.restored))


def _show_sync_plan(console: Console, outcome: Outcome) -> None:
    if not outcome.requested and not outcome.plan.files and not outcome.plan.answers:
        console.info(
            "nothing is asked for, and nothing is applied in {place}: nothing to do",
            place=", ".join(outcome.env.own),
        )
    show_plan(console, outcome)


def _show_synced(console: Console, outcome: Outcome) -> None:
    requested, rows = {item.patchset.name for item in outcome.requested}, []
    for effect in outcome.effects:
        why = (
            ""
            if effect.word in ("applied", "updated")
            else Message(", which it does not change any more")
        )
        why = why if effect.patchset in requested else Message(", not asked for")
        template = "{one.patchset}: {files} in {one.site}{why}"
        rows.append(
            Row(
                effect.word,
                (Message(template, one=effect, files=count(effect.files, "file"), why=why),),
            )
        )
    console.info_rows(rows)
    note_running(console, outcome)
