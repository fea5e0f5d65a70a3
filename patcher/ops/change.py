"""What `apply`, `sync` and `restore` do: recover, plan, tell, and only then write; what was applied is verified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from patcher.cli import report
from patcher.cli.console import Console, Place
from patcher.errors import FormatError, StoreError, UsageError
from patcher.hook.places import keeping
from patcher.model import FilePlan, Plan, State
from patcher.planner.plan import plan_apply, plan_restore
from patcher.store.commit import way_back
from patcher.store.standing import has_store, interrupted, named, standing, stores, unclaimed
from patcher.store.store import FINISHED, Store
from patcher.store.together import commit_all, held
from patcher.store.turns import undisturbed
from patcher.target.environment import Environment
from patcher.text.diffs import plan_diffs
from patcher.text.table import Row, count
from patcher.verify.checks import Asked, How, rows, texts_of, verified_json
from patcher.verify.rollback import Outcome, verify_or_roll_back

if TYPE_CHECKING:
    from patcher.model import Patchset
    from patcher.planner.plan import Wanted

_RUNNING = "processes that are running keep the code they have loaded until they are started again"


def apply(
    console: Console, place: Place, names: Sequence[str], settings: Sequence[str], asked: Asked, *, dry_run: bool,
    force: bool = False,
) -> int:  # fmt: skip
    """Apply patchsets, all or none, verify them and take them back where that fails; returns the exit code.

    Args:
        console: where to tell it.
        place: the environment and the directories of patchsets.
        names: of patchsets.
        settings: the values of `--set`.
        asked: how to verify.
        dry_run: write nothing at all, show the diff instead.
        force: also where a file was edited by hand; the edited text is kept in the store.

    Raises:
        SitepatchError: what keeps it from making a plan or from writing.
    """
    from patcher.project.selection import check_sources, choose

    check_sources(names, place.patch_dirs)
    wanted, notes = choose(names, settings, place.patch_dirs)
    env = place.environment()
    how, recovered = prepared(console, place, env, wanted, asked, dry_run=dry_run)
    plan = undisturbed(env, lambda: plan_apply(env, wanted, force=force), dry_run=dry_run)
    plan = plan._replace(notes=(*notes, *plan.notes))

    def tell(changed: Sequence[FilePlan], chosen: Sequence[str]) -> None:
        sites = {file.site: [each.path for each in changed if each.site == file.site] for file in changed}
        for site, paths in sites.items():
            cells = (f"{', '.join(chosen)}: {count(len(paths), 'file')} in {site}",)
            console.rows([] if console.quiet else [Row("applied", cells)])
        console.say(f"restore with: {place.command('restore', *chosen)}")

    return carry_out(console, place, plan, wanted, None if asked.no_verify else how, recovered, tell, dry_run=dry_run)


def prepared(
    console: Console, place: Place, env: Environment, wanted: Sequence[Wanted], asked: Asked, *, dry_run: bool
) -> Tuple[How, List[str]]:
    """Say what is meant, and recover interrupted runs; returns how to verify, and a sentence for each that was recovered.

    Raises:
        UsageError: a probe is asked for that cannot be run there or is not trusted.
        StoreError: a journal cannot be believed, or the store cannot write.
    """
    how = how_to_verify(console, place, env, asked, [one.patchset for one in wanted])
    console.about(env)
    recovered = _recover(console, env, dry_run=dry_run)
    for one in wanted if console.verbose else ():
        console.say(f"{one.patchset.name} {one.patchset.version} {report.written_options(one.options)}".rstrip())
    return how, recovered


def carry_out(
    console: Console, place: Place, plan: Plan, wanted: Sequence[Wanted], how: Optional[How], recovered: List[str],
    tell: Callable[[Sequence[FilePlan], Sequence[str]], None], *, dry_run: bool, more: Optional[Mapping[str, Any]] = None,
) -> int:  # fmt: skip
    """Tell a plan, carry it out where nothing is against it, verify it and take it back where that fails.

    Args:
        console: where to tell it.
        place: the environment and the directories of patchsets.
        plan: what to do.
        wanted: the patchsets that are applied by it, or stand already.
        how: how to verify, None for not at all.
        recovered: what `prepared` recovered.
        tell: called with the changes and the patchsets that stand in them, once they are made and verified.
        dry_run: write nothing at all, show the diff instead.
        more: further fields of the JSON answer.

    Returns:
        the exit code.

    Raises:
        SitepatchError: what keeps it from writing, or from undoing what fails.
    """
    console.rows(report.answer_rows(answer for answer in plan.answers if answer.state.failed or not console.quiet))
    console.see(place, plan.answers)
    first = not any(map(has_store, {file.site for file in plan.files}))
    chosen = [one.patchset.name for one in wanted]
    how, outcome = None if dry_run or plan.failed else how, None
    with held(plan if how else Plan((), ())):
        way = way_back(plan) if how else None
        changed, written = _write(console, plan, [one.patchset for one in wanted], recovered, dry_run=dry_run)
        if written:
            chosen = [name for name in chosen if name in {step.patchset for file in changed for step in file.steps}] or chosen
            texts = texts_of(file for file in changed if file.change and not file.change.forget)
            if how and way and texts:
                outcome = verify_or_roll_back(way, texts, [one.patchset for one in wanted if one.patchset.name in chosen], how)
    if not changed and not plan.failed:
        for name in chosen:
            console.say(f"{name}: nothing to do, {_why(plan, name)}")
    if outcome:
        written = not outcome.rolled_back
        console.fate = console.fate if written else "what was written was rolled back, every file is as before"
        _tell(console, outcome, changed, place.command("restore", *chosen))
    if written:
        tell(changed, chosen)
        if first or console.verbose:
            console.note(_RUNNING)
    return _finish(console, plan, chosen, recovered, written=written, dry_run=dry_run, outcome=outcome, more=more)


def how_to_verify(
    console: Console, place: Place, env: Environment, asked: Asked, patchsets: Sequence[Patchset]
) -> How:
    """What the options of a command mean for an environment.

    A directory given with `--target` is no environment of its own: without `--python` nobody knows which packages its
    modules run with, so its files are compiled only.

    Raises:
        UsageError: a probe is asked for that cannot be run there or is not trusted.
    """
    alone = place.target is not None and place.python is None
    if asked.probe:
        from patcher.project.selection import check_probes

        if alone:
            raise UsageError("--probe and --target: found no interpreter to run a probe in", "name it with --python")
        check_probes(patchsets, place.patch_dirs)
        for one in patchsets:
            if not one.verify.probe:
                console.note(f"{one.name} has no probe")
    reason = "--target names no interpreter to import them with; add --python" if alone and not asked.compile_only else ""
    imports = not (alone or asked.compile_only)
    return How(env, asked.timeout, place.target is not None, imports, asked.probe, reason)


def _tell(console: Console, outcome: Outcome, changed: Sequence[FilePlan], back: str) -> None:
    """Tell what came of verifying, and what was done about it."""
    if outcome.verified:
        console.rows([row for row in rows(outcome.verified) if not console.quiet or row.word == "failed"])
    why = "verification failed" if outcome.verified else "interrupted while verifying"
    if outcome.rolled_back:
        console.note(f"{why}; {count(len(changed), 'file')} as before this run", "rolled back")
    if outcome.problem:
        hint = f"{outcome.problem.hint}\nto restore all of it: {back}"
        raise StoreError(f"{why}, and the change could not be undone: {outcome.problem.message}", hint)


def restore(console: Console, place: Place, names: Sequence[str], *, force: bool, dry_run: bool) -> int:
    """Take patchsets back, all of them without names; returns the exit code.

    Args:
        console: where to tell it.
        place: the environment and the directories of patchsets.
        names: of patchsets; one that is known but not applied is no error.
        force: drop edits by hand instead of keeping them in the file; the edited text is kept in the store.
        dry_run: write nothing at all, show the diff instead.

    Raises:
        SitepatchError: what keeps it from making a plan or from writing.
    """
    env = place.environment()
    console.about(env)
    recovered = _recover(console, env, dry_run=dry_run)

    def planned() -> Tuple[List[str], List[str], List[str], Plan, List[Tuple[str, str]]]:
        bad: List[StoreError] = []
        items = standing(env, bad)
        for error in bad:
            if isinstance(error, FormatError):  # what its release knows of the other files is not known here
                raise error
        stands, idle, chosen = named(items, names)
        if idle:
            from patcher.project.selection import check_names

            check_names(idle, stands, place.patch_dirs)
        plan = plan_restore(items, chosen, force=force) if chosen else Plan((), ())
        return stands, idle, chosen, plan, unclaimed(env, bad)

    stands, idle, chosen, plan, damaged = undisturbed(env, planned, dry_run=dry_run)
    console.rows(report.answer_rows(plan.answers))
    for name in idle:
        console.say(f"{name} is not applied here: nothing to restore")
    console.rows([Row("damaged", (), (problem, f"hint: {hint}")) for problem, hint in damaged])
    if not names and not stands and not damaged:
        console.say(f"nothing is applied in {', '.join(env.own)}: nothing to restore")
    changed, written = _write(console, plan, (), recovered, dry_run=dry_run)
    if written:
        console.rows([] if console.quiet else [_put_back(file) for file in changed])
        console.note(_RUNNING)
        for hook in keeping(env, chosen):
            console.note(f"the next start of Python applies them again, as {hook} asks for: sitepatch hook remove {hook}")
    more = {"damaged": [{"problem": problem, "hint": hint} for problem, hint in damaged]}
    return _finish(console, plan, chosen, recovered, written=written, dry_run=dry_run, more=more, failed=bool(damaged))


def _recover(console: Console, env: Environment, *, dry_run: bool) -> List[str]:
    if dry_run:
        for site, sentence in interrupted(env):
            console.note(f"{site}: {sentence}, by the next command that writes")
        return []
    said = []
    for store in stores(env):
        sentence = store.recover()
        if sentence:
            said.append(f"{store.site}: {sentence}")
            console.note(said[-1], "recovered")
    return said


def _write(
    console: Console, plan: Plan, patchsets: Sequence[Patchset], recovered: List[str], *, dry_run: bool
) -> Tuple[List[FilePlan], bool]:
    """Carry the plan out, unless an answer or `dry_run` forbids it; returns its changes, and whether they were made."""
    for note in plan.notes:
        console.note(note)
    changed = [file for file in plan.files if file.change]
    if plan.failed:
        hunks = count(len(plan.answers), "hunk")
        console.note(f"nothing was written: {len(plan.failed)} of {hunks} failed", "stopped")
        return changed, False
    if dry_run and changed:
        if not console.quiet:
            console.diff(b"".join(diff.text for diff in plan_diffs(plan)))
        console.note(f"nothing was written; {count(len(changed), 'file')} would be changed", "dry run")
        return changed, False
    if changed:
        _check_writable(changed)
        for file in changed:
            if file.aside:
                console.note(f"the edited {file.path} is kept as {Store(file.site).keep(file.path, file.aside)}", "kept")
        for sentence in commit_all(plan, patchsets):
            recovered.append(sentence)
            console.note(sentence, "recovered")
        console.fate = FINISHED
    return changed, bool(changed)


def _check_writable(changed: Sequence[FilePlan]) -> None:
    problems: List[str] = []
    for site in dict.fromkeys(file.site for file in changed):
        changes = [file.change for file in changed if file.site == site and file.change and not file.change.forget]
        back = {change.path for change in changes if change.data is None}
        problems += Store(site).check_writable([change.path for change in changes], back)
    if problems:
        raise StoreError("\n".join(problems), "nothing was changed")


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


def _why(plan: Plan, name: str) -> str:
    """Why there is nothing to do for a patchset."""
    states = {answer.state for answer in plan.answers if answer.patchset == name}
    if State.APPLIED in states:
        return "it is applied already"
    if State.UPSTREAM in states:
        return "the code is already as it would make it: fixed upstream"
    return "it is not needed here: the code that it changes is not there"


def _finish(
    console: Console, plan: Plan, names: Sequence[str], recovered: Sequence[str], *, written: bool, dry_run: bool,
    outcome: Optional[Outcome] = None, more: Optional[Mapping[str, Any]] = None, failed: bool = False,
) -> int:  # fmt: skip
    fields: Dict[str, Any] = {"written": written, "patchsets": list(names), **(more or {}), **report.plan_json(plan)}
    fields["recovered"] = list(recovered)
    if outcome and outcome.verified:
        fields["verify"] = verified_json(outcome.verified, rolled_back=outcome.rolled_back)
    if dry_run:
        fields["diff"] = report.shown(b"".join(diff.text for diff in plan_diffs(plan)))
    code = 1 if plan.failed or failed else 0
    if outcome and outcome.rolled_back:
        code = 1 if outcome.verified else 130
    console.data(not code, fields)
    return code
