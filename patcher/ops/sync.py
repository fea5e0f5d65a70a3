"""`sync` and `lock`: an environment is made what a project asks for, in one commit; what that makes is locked."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from patcher.cli import report
from patcher.cli.console import Console, Place
from patcher.errors import SitepatchError, UsageError
from patcher.hook.kept import HOOK, read_hook
from patcher.hook.places import folders
from patcher.model import FilePlan, Plan, Step
from patcher.ops.change import carry_out, prepared
from patcher.patchset.sources import PATCH_DIR
from patcher.planner.jobs import Wanted
from patcher.planner.plan import plan_sync
from patcher.project import lockfile
from patcher.project.pyproject import Project, chosen, read_project
from patcher.project.selection import check_sources
from patcher.store.standing import Standing, interrupted, standing
from patcher.store.turns import undisturbed
from patcher.system.reading import read_file
from patcher.target.interpreter import Environment
from patcher.text.table import Row, count
from patcher.verify.checks import Asked

PROJECT = "pyproject.toml"


class Request(NamedTuple):
    """What a command line says about a project: its directory, and requirements files that ask for more.

    `lock` is the lock file, "" for that of the directory; with `locked` nothing is done where anything differs from it.
    """

    folder: str = "."
    requirements: Tuple[str, ...] = ()
    lock: str = ""
    locked: bool = False

    @property
    def lock_path(self) -> Path:
        """Where the lock lies."""
        return Path(self.lock) if self.lock else Path(self.folder) / lockfile.NAME


class Wants(NamedTuple):
    """What a project asks for: patchsets with their options, remarks, and every directory of patchsets."""

    patchsets: Tuple[Wanted, ...]
    notes: Tuple[str, ...]
    patch_dirs: Tuple[str, ...]


def wants(request: Request, patch_dirs: Sequence[str]) -> Wants:
    """Read what a project asks for.

    Args:
        request: which project.
        patch_dirs: the values of `--patch-dir`; they come before the directories that the project names.

    Raises:
        SitepatchError: nothing asks for anything; or what is wrong with the files, the patchsets and their options.
    """
    projects = _read(request)
    wishes = [wish for project in projects for wish in project.wishes]
    named = [folder for project in projects for folder in project.patch_dirs]
    folders = tuple(dict.fromkeys([*patch_dirs, *named]))
    check_sources([wish.name for wish in wishes], folders)
    found, notes = chosen(wishes, folders)
    # a probe is run from where the person points to, and a file of the project is not the person
    there = {f"{PATCH_DIR} {folder}": f"patch-dir {folder}" for folder in named if folder not in patch_dirs}
    patchsets = [
        one._replace(patchset=one.patchset._replace(source=there.get(one.patchset.source, one.patchset.source)))
        for one in found
    ]
    return Wants(tuple(patchsets), (*(note for project in projects for note in project.notes), *notes), folders)


def _read(request: Request) -> List[Project]:
    path = Path(request.folder) / PROJECT
    if not path.parent.is_dir():
        raise UsageError(f"--project {request.folder}: found no such directory")
    project = read_project(path) if path.is_file() else None
    projects = [project] if project else []
    if request.requirements:
        from patcher.project.requirements import read_requirements  # imports what reads them: half as much as all the rest

        projects.append(read_requirements(request.requirements))
    if project is None and not any(one.wishes for one in projects):
        table = f"{path}: found no {'table [tool.sitepatch]' if path.is_file() else 'such file'}"
        if not request.requirements:
            how = 'write [tool.sitepatch] with patchsets = ["NAME"] there, or name a requirements file with -r'
            raise UsageError(f"{table}, expected what the project asks for", how)
        names = ", ".join(request.requirements)
        dropped = "pip-compile, uv pip compile and pip freeze drop comments: name the file that they are made from"
        wanted = "to request that nothing is applied, write [tool.sitepatch] with patchsets = [] in pyproject.toml"
        raise UsageError(f'{names}: found no comment "# sitepatch: NAME"\n{table}', f"{dropped}\n{wanted}")
    return projects


def sync(console: Console, place: Place, request: Request, asked: Asked, *, dry_run: bool = False, force: bool = False) -> int:
    """Make the environment what the project asks for, all or nothing, verify it and undo it where that fails.

    Args:
        console: where to tell it.
        place: the environment and the directories of patchsets.
        request: the project.
        asked: how to verify.
        dry_run: write nothing at all, show the diff instead.
        force: also where a file was edited by hand; the edited text is kept in the store.

    Returns:
        the exit code.

    Raises:
        SitepatchError: see `wants`; what differs from the lock; what keeps it from making a plan or from writing.
    """
    locked = lockfile.read(request.lock_path) if request.locked else None
    asked_for = wants(request, place.patch_dirs)
    wanted = asked_for.patchsets
    env = place.environment()
    _refuse_what_a_hook_undoes(env, wanted)
    how, recovered = prepared(console, place, env, wanted, asked, dry_run=dry_run)
    items, (plan, held) = undisturbed(env, lambda: (standing(env), plan_sync(env, wanted, force=force)), dry_run=dry_run)
    if locked:
        refuse_other(console, locked, lockfile.make(wanted, held), plan, request.lock_path)
    names = [one.patchset.name for one in wanted]
    going = dict.fromkeys(step.patchset for item in items for step in item.receipt.steps if step.patchset not in names)
    live = {step.patchset for item in items if item.live for step in item.receipt.steps}
    said = [f"{name} is applied and is not asked for: it is reverted" for name in going if name in live]
    plan = plan._replace(notes=(*asked_for.notes, *said, *plan.notes))
    answered = {answer.patchset for answer in plan.answers}
    fitting = [one for one in wanted if one.patchset.name in answered]
    if not wanted and not items:
        console.say(f"nothing is asked for, and nothing is applied in {', '.join(env.own)}: nothing to do")

    def tell(changed: Sequence[FilePlan], _: Sequence[str]) -> None:
        console.rows([] if console.quiet else _rows(items, changed, names))

    return carry_out(
        console, place._replace(patch_dirs=asked_for.patch_dirs), plan, fitting, None if asked.no_verify else how, recovered,
        tell, dry_run=dry_run, more={"restored": list(going)},
    )  # fmt: skip


def _refuse_what_a_hook_undoes(env: Environment, wanted: Sequence[Wanted]) -> None:
    """Raise SitepatchError where an installed hook keeps a patchset applied otherwise than as the project asks for it."""
    asked = {one.patchset.name: one for one in wanted}
    problems = []
    for folder in folders(env._replace(sites=env.own)):
        hook = read_hook(read_file(f"{folder}/{HOOK}"), f"{folder}/{HOOK}")
        for kept in hook.patchsets:
            mine = asked.get(kept.name)
            what = f"{kept.name}: {hook.name} keeps it applied in {Path(folder).parent}"
            if mine is None:
                problems.append(f"{what}, and the project does not ask for it")
            elif mine.patchset.digest != kept.digest:
                problems.append(f"{what} in another version than the project asks for")
            elif dict(mine.options) != dict(kept.options):
                here, there = report.written_options(mine.options), report.written_options(kept.options)
                problems.append(f"{what} with {there}, and the project asks for {here}")
    if problems:
        same = "make the hook ask for the same (sitepatch hook init DIR) and install it again"
        hint = f"nothing was changed: the next start of Python would undo it\n{same}, or take it out: sitepatch hook remove"
        raise SitepatchError("\n".join(problems), hint)


def refuse_other(console: Console, lock: lockfile.Lock, now: lockfile.Lock, plan: Plan, path: Path) -> None:
    """Raise SitepatchError where anything differs from the lock; what does not fit is told first."""
    problems = lockfile.differences(lock, now, complete=not plan.failed)
    if problems:
        console.rows(report.answer_rows(plan.failed))
        hint = f"nothing was changed; if this is what is wanted, `sitepatch lock` makes {path} anew"
        raise SitepatchError("\n".join(f"{path}: {problem}" for problem in problems), hint)


def lock(console: Console, place: Place, request: Request, *, check: bool) -> int:
    """Write down what `sync` would make of the environment; the environment itself stays as it is.

    Args:
        console: where to tell it.
        place: the environment and the directories of patchsets.
        request: the project.
        check: write nothing, tell what differs.

    Returns:
        the exit code.

    Raises:
        SitepatchError: see `wants`; what keeps it from making a plan; an old lock that cannot be read.
    """
    path = request.lock_path
    asked_for = wants(request, place.patch_dirs)
    env = place.environment()
    console.about(env)
    for site, sentence in interrupted(env):
        console.note(f"{site}: {sentence}, by the next command that writes")
    plan, held = undisturbed(env, lambda: plan_sync(env, asked_for.patchsets), dry_run=True)
    for note in (*asked_for.notes, *plan.notes):
        console.note(note)
    old = lockfile.read(path) if check or path.exists() else None
    new = lockfile.make(asked_for.patchsets, held)
    problems = lockfile.differences(old, new, complete=not plan.failed) if check and old else []
    console.rows(report.answer_rows(plan.failed))
    console.see(place._replace(patch_dirs=asked_for.patch_dirs), plan.answers)
    for problem in problems:
        console.out(f"{path}: {problem}")
    written = False
    if plan.failed:
        console.note(f"{path} was not written: {count(len(plan.failed), 'hunk')} failed", "stopped")
    elif check:
        if not problems:
            console.say(f"{path} holds what `sitepatch lock` would write")
    else:
        written = _write(console, path, old, new)
    good = not (plan.failed or problems)
    console.data(good, {
        "written": written, "lock": str(path), "patchsets": [one.patchset.name for one in asked_for.patchsets],
        "differences": problems, "answers": [report.answer_json(each) for each in plan.answers],
        "files": [each._asdict() for each in new.held], "notes": [*asked_for.notes, *plan.notes],
    })  # fmt: skip
    return 0 if good else 1


def _write(console: Console, path: Path, old: Optional[lockfile.Lock], new: lockfile.Lock) -> bool:
    """Write the lock unless it is there already, and tell what became of the releases in it."""
    made = lockfile.merged(old, new) if old else new
    here, before, after = ({lockfile.build(target) for target in each.targets} for each in (new, old or new, made))
    for word, builds in (("kept", after - here), ("dropped", before - after)):
        why = "locked in another environment" if word == "kept" else "locked with other patchsets; lock again where wanted"
        for release, _ in sorted(builds):
            another = "another build of " if release in {one for one, _ in here} else ""
            console.note(f"{another}{lockfile.named(release)}, {why}", word)
    if path.exists() and read_file(path) == lockfile.encode(made).encode("utf-8"):
        console.say(f"{path}: nothing to do, it is as it would be written")
        return False
    lockfile.write(path, made)
    counts = ((len(made.patchsets), "patchset"), (len({release for release, _ in after}), "release"), (len(made.held), "file"))
    cells = (f"{', '.join(count(*each) for each in counts)} in {path}",)
    console.rows([] if console.quiet else [Row("locked", cells)])
    return True


def _rows(items: Sequence[Standing], changed: Sequence[FilePlan], names: Sequence[str]) -> List[Row]:
    """What was done with each patchset, and in how many files of which directory."""
    before = {(item.site, item.receipt.path): item for item in items}
    counts: Dict[Tuple[str, str, str], int] = {}
    for file in changed:
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
        done.update(dict.fromkeys(gone, "restored" if item and item.live else "forgotten"))
        for name, word in done.items():
            counts[word, name, file.site] = counts.get((word, name, file.site), 0) + 1
    rows = []
    for (word, name, site), number in sorted(counts.items()):
        why = "" if word in ("applied", "updated") else ", which it does not change any more"
        why = why if name in names else ", not asked for"
        rows.append(Row(word, (f"{name}: {count(number, 'file')} in {site}{why}",)))
    return rows
