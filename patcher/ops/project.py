"""`sync` makes an environment what a project asks for, in one commit; `lock` writes down what that makes."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from patcher.errors import Location, LockError, SitepatchError
from patcher.facts import FileStatus, Wanted
from patcher.hook.places import hook_folders, hook_name
from patcher.message import Message, joined
from patcher.model import LockedFile, Plan, Requested, Step
from patcher.ops.change import carry_out, note_interrupted, verify_settings
from patcher.ops.events import SILENT, Events
from patcher.ops.outcome import Effect, Outcome
from patcher.ops.place import Place
from patcher.patchset.toml import options_text
from patcher.planner.survey import make_plan
from patcher.project import lockfile
from patcher.project.differing import lock_differences, same_result
from patcher.project.request import ProjectFiles, ProjectRequest, read_request
from patcher.store.retry import settled
from patcher.store.status import applied_names, statuses
from patcher.system.reading import read_file
from patcher.target.interpreter import Environment
from patcher.text.listed import release_name
from patcher.verify import IMPORT


class SyncRequest(NamedTuple):
    """Make the environment what the project asks for; the fields are those of `patcher.ops.change.ApplyRequest`."""

    place: Place
    project: ProjectFiles = ProjectFiles()
    verify: str = IMPORT
    dry_run: bool = False
    force: bool = False


class LockRequest(NamedTuple):
    """Write the lock of a project; with `check` write nothing, and see what differs."""

    place: Place
    project: ProjectFiles = ProjectFiles()
    check: bool = False


class LockOutcome(NamedTuple):
    """The outcome of `lock`.

    `locked_files` are the files of this environment, `lock` is all that the file says now or would say, `differences` has a
    sentence for each with `check`, `place` has every directory of patchsets.
    """

    place: Place
    path: Path
    plan: Plan
    patchsets: Tuple[str, ...]
    locked_files: Tuple[LockedFile, ...]
    lock: lockfile.Lock
    differences: Tuple[str, ...]
    written: bool = False

    @property
    def ok(self) -> bool:
        """Whether the lock is as it should be."""
        return not (self.plan.failed or self.differences)


def sync(request: SyncRequest, events: Events = SILENT) -> Outcome:
    """Verify what the project asks for, and make the environment that, all or nothing.

    Raises:
        LockError: something differs from the lock.
        SitepatchError: see `read_request`; what keeps it from making a plan or from writing.
    """
    asked_for = read_request(request.project, request.place.patch_dirs)
    requested = asked_for.patchsets
    env = request.place.environment()
    damaged = _refuse_what_a_hook_undoes(env, requested)
    how = verify_settings(request.place, env, request.verify, [one.patchset for one in requested], events)
    names = [one.patchset.name for one in requested]
    place = request.place._replace(patch_dirs=asked_for.patch_dirs)
    events.started(env, requested)

    def look() -> Outcome:
        items = statuses(env)
        plan = make_plan(env, Wanted(requested, None, request.force))
        refuse_other(request.project, asked_for, plan, events)
        going = dict.fromkeys(step.patchset for item in items for step in item.receipt.steps if step.patchset not in names)
        live = applied_names(item for item in items if item.live)
        reverted = [
            Message("{name} is applied and is not asked for: it is reverted", name=name) for name in going if name in live
        ]
        plan = plan._replace(notes=(*asked_for.notes, *damaged, *reverted, *plan.notes))
        answered = {answer.patchset for answer in plan.answers}
        fitting = tuple(name for name in names if name in answered)
        outcome = Outcome(place, env, plan, fitting, requested, request.dry_run)
        return outcome._replace(effects=_effects(items, plan), restored=tuple(going))

    return carry_out(look, env, how, events, dry_run=request.dry_run)


def refuse_other(project: ProjectFiles, asked_for: ProjectRequest, plan: Plan, events: Events) -> None:
    """Raise LockError where anything differs from the lock that the project asks for."""
    if asked_for.lock:
        now = lockfile.make_lock(asked_for.patchsets, plan.locked)
        problems = lock_differences(asked_for.lock, now, complete=not plan.failed)
        if problems:
            path = project.lock_path
            hint = Message("nothing was changed; if this is what is wanted, `sitepatch lock` makes {path} anew", path=path)
            events.unfit(plan.failed)
            raise LockError(
                joined("\n", (Message("{path}: {problem}", path=path, problem=problem) for problem in problems)),
                hint,
                Location(str(path)),
            )


def _refuse_what_a_hook_undoes(env: Environment, requested: Sequence[Requested]) -> List[str]:
    """Return a remark on each damaged hook.

    Raises:
        SitepatchError: an installed hook keeps a patchset applied otherwise than as the project asks for it.
    """
    by_name = {one.patchset.name: one for one in requested}
    problems: List[str] = []
    own = env._replace(sites=env.own)
    if not hook_folders(own):
        return []
    from patcher.hook.installed import loaded_hooks  # few environments have a hook

    hooks, damaged = loaded_hooks(own)
    for hook in hooks:
        for kept in hook.requested:
            name = kept.patchset.name
            mine = by_name.get(name)
            what = Message("{name}: {hook.name} keeps it applied in {hook.site}", name=name, hook=hook)
            if mine is None:
                problems.append(Message("{what}, and the project does not ask for it", what=what))
            elif mine.patchset.digest != kept.patchset.digest:
                problems.append(Message("{what} in another version than the project asks for", what=what))
            elif dict(mine.options) != dict(kept.options):
                here, there = options_text(mine.options), options_text(kept.options)
                problems.append(
                    Message("{what} with {there}, and the project asks for {here}", what=what, there=there, here=here)
                )
    if problems:
        same = Message("make the hook ask for the same (sitepatch hook init DIR) and install it again")
        hint = Message(
            "nothing was changed: the next start of Python would undo it\n{same}, or take it out: sitepatch hook remove",
            same=same,
        )
        raise SitepatchError(joined("\n", problems), hint)
    bad = [(hook_name(folder), error) for folder, error in damaged.items()]
    return [
        Message("the hook {name} is damaged and does nothing: {error.brief}; {error.hint}", name=name, error=error)
        for name, error in bad
    ]


def lock(request: LockRequest, events: Events = SILENT) -> LockOutcome:
    """Write down what `sync` would make of the environment; the environment itself stays as it is.

    Raises:
        SitepatchError: see `read_request`; what keeps it from making a plan; an old lock that cannot be read.
    """
    path = request.project.lock_path
    asked_for = read_request(request.project, request.place.patch_dirs)
    env = request.place.environment()
    events.started(env)
    note_interrupted(env, events)
    plan = settled(env, lambda: make_plan(env, Wanted(asked_for.patchsets, None)))
    plan = plan._replace(notes=(*asked_for.notes, *plan.notes))
    for note in plan.notes:
        events.note(note)
    old = lockfile.load_lock(path) if request.check or path.exists() else None
    new = lockfile.make_lock(asked_for.patchsets, plan.locked)
    problems: List[str] = []
    if request.check and old:
        problems = [*lock_differences(old, new, complete=not plan.failed), *same_result(old, new)]
    place = request.place._replace(patch_dirs=asked_for.patch_dirs)
    names = tuple(one.patchset.name for one in asked_for.patchsets)
    outcome = LockOutcome(place, path, plan, names, new.files, new, tuple(problems))
    return outcome if plan.failed or request.check else _write(outcome, old, events)


def _write(outcome: LockOutcome, old: Optional[lockfile.Lock], events: Events) -> LockOutcome:
    """Write the lock unless it is there already, and report what became of the releases in the old one."""
    path, new = outcome.path, outcome.lock
    made = lockfile.merged(old, new) if old else new
    here, before, after = ({lockfile.build(target) for target in each.targets} for each in (new, old or new, made))
    for word, builds in (("kept", after - here), ("dropped", before - after)):
        why = Message(
            "locked in another environment" if word == "kept" else "locked with other patchsets; lock again where wanted"
        )
        for release, _ in sorted(builds):
            name = release_name(*release)
            build = Message("another build of {name}", name=name) if release in {one for one, _ in here} else name
            events.note(Message("{build}, {why}", build=build, why=why), word)
    same = path.exists() and read_file(path) == lockfile.encode_lock(made).encode("utf-8")
    if not same:
        lockfile.save_lock(path, made)
    return outcome._replace(lock=made, written=not same)


def _effects(items: Sequence[FileStatus], plan: Plan) -> Tuple[Effect, ...]:
    """What a plan does with each patchset, and in how many files of which directory."""
    before = {(item.site, item.receipt.path): item for item in items}
    counts: Dict[Tuple[str, str, str], int] = {}
    for file in [file for file in plan.files if file.change]:
        item = before.get((file.site, file.path))
        was: Dict[str, Step] = {step.patchset: step for step in item.receipt.steps} if item else {}
        done: Dict[str, str] = {}
        for step in file.steps:
            old = was.get(step.patchset) if item and item.live else None
            if old is None:
                done[step.patchset] = "applied"
            elif (old.digest, dict(old.options)) != (step.digest, dict(step.options)):
                done[step.patchset] = "updated"
        gone = [name for name in was if name not in {step.patchset for step in file.steps}]
        done.update(dict.fromkeys(gone, "restored" if item and (item.live or item.deleted) else "forgotten"))
        for name, word in done.items():
            counts[word, name, file.site] = counts.get((word, name, file.site), 0) + 1
    return tuple(Effect(*key, number) for key, number in sorted(counts.items()))
