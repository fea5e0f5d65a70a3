"""`restore`: put files back, byte for byte."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Sequence

import click

from patcher.display.console import Console
from patcher.display.plan import RUNNING, report_outcome
from patcher.display.rows import answer_rows
from patcher.display.styles import Row, hint_lines
from patcher.errors import FormatError, Location, SitepatchError, StoreError, UsageError
from patcher.facts import Damage, Wanted
from patcher.hook.installed import hooks_for
from patcher.installed.backups import Backup, proven_backups
from patcher.message import Message
from patcher.model import Change, FilePlan, NewBytes, Plan
from patcher.outcomes import PlanOutcome, Task
from patcher.patchset.catalogue import Catalogue
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.survey import make_plan
from patcher.record import reported
from patcher.store.status import applied_names, divide_names, statuses, unclaimed
from patcher.text.listed import Texts, count, one_or_more
from patcher.verbs.change import carry_out
from patcher.verbs.options import common_options, complete_names, patient

_AS_BEFORE = Message("bytes, mode and mtime as before")
_MOST_NAMED = 5  # restored files that are named one by one


@reported("damaged", beside=PlanOutcome)
class RestoreOutcome(PlanOutcome):
    """The outcome of `restore`.

    Attributes:
        idle: the names of patchsets that are not applied.
        damaged: what is wrong in the stores.
        hooks: the hooks that will apply the patchsets again.
    """

    idle: tuple[str, ...] = ()
    damaged: tuple[Damage, ...] = ()
    hooks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all is as requested."""
        return super().ok and not self.damaged


def restore(
    names: Texts = (),
    *,
    place: Place = HERE,
    force: bool = False,
    dry_run: bool = False,
    events: Events = SILENT,
) -> RestoreOutcome:
    """Restore what patchsets changed.

    A file that no other patchset changes is as it was before: bytes, mode and mtime.

    Args:
        names: of patchsets, all without any.
        place: the environment.
        force: drop edits by hand instead of keeping them in the file; their text is kept in the
            store.
        dry_run: write nothing.
        events: takes the plan, and what is done.

    Raises:
        SitepatchError: what keeps it from making a plan or from writing.
    """
    env = place.environment()
    events.started(env)

    def look() -> RestoreOutcome:
        bad: list[StoreError] = []
        items = statuses(env, bad)
        for error in bad:
            # what its release knows of the other files is not known here
            if isinstance(error, FormatError):
                raise error
        applied = applied_names(items)
        idle, meant = divide_names(applied, one_or_more(names))
        if idle:
            Catalogue(place.patch_dirs).check_names(idle, applied)
        plan = make_plan(env, Wanted((), tuple(meant), force=force), items)
        return RestoreOutcome(
            Task(place.patch_dirs, env, names=tuple(meant), dry_run=dry_run),
            plan,
            idle=tuple(idle),
            damaged=tuple(unclaimed(env, items, bad)),
        )

    outcome = carry_out(look, env, None, events=events, dry_run=dry_run)
    if not outcome.written:
        return outcome
    return outcome._replace(hooks=tuple(hooks_for(env, outcome.patchsets)))


def restore_backups(
    words: Texts = (), *, place: Place = HERE, dry_run: bool = False, events: Events = SILENT
) -> RestoreOutcome:
    """Put files back from backups beside them; see `restore` for the other arguments.

    Bytes and mtime are those of the backup, mode and owner those of the file. The edited texts are
    kept in the store.

    Args:
        words: paths in a site directory, or as the caller sees them.
        place: the environment.
        dry_run: write nothing.
        events: takes the plan, and what is done.

    Raises:
        SitepatchError: a word names no such file; or what keeps it from writing.
    """
    env = place.environment()
    events.started(env)

    def look() -> RestoreOutcome:
        patched = {(item.site, item.receipt.path) for item in statuses(env)}
        backups = _named(proven_backups(env.own, patched), one_or_more(words))
        files = tuple(map(_file_plan, backups))
        plan = Plan(files, (), notes=tuple(backup.message for backup in backups))
        return RestoreOutcome(Task(place.patch_dirs, env, names=(), dry_run=dry_run), plan)

    return carry_out(look, env, None, events=events, dry_run=dry_run)


def _named(backups: Sequence[Backup], words: Sequence[str]) -> list[Backup]:
    """The backups of the files that words name, all without any.

    Raises:
        SitepatchError: for every word that names none.
    """
    named: set[Backup] = set()
    problems: list[SitepatchError] = []
    for word in words or ("",):
        matches = [backup for backup in backups if not word or _is_within(backup, Path(word))]
        named.update(matches)
        if word and not matches:
            problem = Message("found no backup beside an edited file of it that RECORD proves")
            problems.append(SitepatchError.at(Location(word), problem))
    if problems:
        hint = Message(
            "what patchsets changed is restored without --from-backup; "
            "anything else by an install of the same release"
        )
        raise SitepatchError.joined(problems, hint)
    return [backup for backup in backups if backup in named]


def _is_within(backup: Backup, word: Path) -> bool:
    """Whether a backup's file is that path or below it: in its site directory, or from here."""
    in_site = Path(backup.path)
    on_disk = Path(backup.site, backup.path)
    return word in (in_site, *in_site.parents) or Path.cwd() / word in (on_disk, *on_disk.parents)


def _file_plan(backup: Backup) -> FilePlan:
    change = Change(
        backup.path,
        old=sha256(backup.edited).hexdigest(),
        new=NewBytes(backup.data, mtime_ns=backup.mtime_ns),
        receipt=None,
        aside=backup.edited,
    )
    return FilePlan(
        backup.site,
        backup.path,
        before=backup.edited,
        after=backup.data,
        to_commit=change,
        steps=(),
    )


@click.command(
    "restore",
    epilog="\b\nExamples:\n  sitepatch restore mmengine-ddp-debug\n"
    "  sitepatch restore --from-backup --dry-run",
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--force", is_flag=True, help="Drop edits made by hand; a copy is kept in the store.")
@click.option(
    "--from-backup",
    is_flag=True,
    help="Put back what was edited by hand (NAME: a file or package).",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be restored, and write nothing at all."
)
@common_options()
@patient
def command(
    console: Console, names: tuple[str, ...], force: bool, from_backup: bool, dry_run: bool
) -> int:
    """Restore the files that patchsets changed, byte for byte.

    Those of all patchsets without a name. Mode and mtime are as before, too. In a file that was
    edited by hand since, the edit is kept and only our change is removed.

    With --from-backup files in which no patchset is applied are put back from a backup beside them
    (runner.py.orig) that has the sha256 that RECORD gives; the edited texts are kept in the store.
    """
    if not from_backup:
        return report_restored(console, names, force=force, dry_run=dry_run)
    if force:
        problem = "--force and --from-backup: found both"
        raise UsageError(problem, "the edited text is kept in the store in any case")
    console.on_plan = _show_backup_plan
    outcome = restore_backups(names, place=console.place, dry_run=dry_run, events=console)
    report_outcome(console, outcome)
    if outcome.written:
        _show_put_back(console, outcome)
    return console.answer(outcome.ok, outcome)


def report_restored(
    console: Console, names: Texts, *, force: bool = False, dry_run: bool = False
) -> int:
    """Restore, and report it."""
    console.on_plan = _show_restore_plan
    outcome = restore(names, place=console.place, force=force, dry_run=dry_run, events=console)
    report_outcome(console, outcome)
    if outcome.written:
        _show_restored(console, outcome)
    return console.answer(outcome.ok, outcome)


def _show_restore_plan(console: Console, outcome: PlanOutcome) -> None:
    assert isinstance(outcome, RestoreOutcome)
    console.rows(answer_rows(outcome.plan.answers))
    for name in outcome.idle:
        console.info("{name} is not applied here: nothing to restore", name=name)
    rows = []
    for damage in outcome.damaged:
        rows.append(Row("damaged", (), details=(damage.problem, *hint_lines(damage.hint))))
    console.rows(rows)
    if not (outcome.task.names or outcome.idle or outcome.damaged):
        sites = ", ".join(outcome.task.env.own)
        console.info("nothing is applied in {place}: nothing to restore", place=sites)
    console.notes(outcome.plan.notes)


def _show_restored(console: Console, outcome: RestoreOutcome) -> None:
    changed = outcome.changed
    rows = [Row(*_restored(file)) for file in changed]
    console.info_rows(rows if console.verbose else _together(rows))
    forgotten = all(file.to_commit and file.to_commit.forget for file in changed)
    if console.verbose and not forgotten:
        console.note(RUNNING)
    template = (
        "the next start of Python applies them again, as {hook} asks for: uninstall {hook} first"
    )
    for hook in outcome.hooks:
        console.note(template, hook=hook)


def _together(rows: Sequence[Row]) -> list[Row]:
    """The rows, those of many files that are as before as one, above the exceptions."""
    as_before = [row for row in rows if row.cells[1] == _AS_BEFORE]
    if len(as_before) <= _MOST_NAMED:
        return list(rows)
    exceptions = [row for row in rows if row.cells[1] != _AS_BEFORE]
    return [Row("restored", (count(len(as_before), "file"), _AS_BEFORE)), *exceptions]


def _restored(file: FilePlan) -> tuple[str, tuple[str, str]]:
    """What became of a file: a word, and below which path what it means."""
    change = file.to_commit
    is_same = change is not None and bool(change.old) and not file.changes
    if change and (change.forget or is_same):
        return "forgotten", (
            file.path,
            Message("our change is gone already; the file was left alone"),
        )
    meaning: str = _AS_BEFORE
    if file.steps:
        stays = ", ".join(step.patchset for step in file.steps)
        edits = ""
        if change and change.new and change.new.merged:
            edits = Message(", and what was edited by hand")
        meaning = Message("but for {stays}, still applied{more}", stays=stays, more=edits)
    elif change and change.new:
        meaning = Message("our change is out, what was edited by hand stays")
    elif not Path(file.site, file.path).exists():
        meaning = Message("removed: a patchset had added it")
    return "restored", (file.path, meaning)


def _show_backup_plan(console: Console, outcome: PlanOutcome) -> None:
    if not outcome.plan.files:
        console.info(
            "no file in {sites} has a backup (FILE.orig, FILE.bak) with the sha256 that RECORD "
            "gives: nothing to restore",
            sites=", ".join(outcome.task.env.own),
        )
        hint = Message(
            "to get a release anew: pip install --force-reinstall --no-deps NAME==VERSION"
        )
        console.hints([hint])
    console.notes(outcome.plan.notes)


def _show_put_back(console: Console, outcome: RestoreOutcome) -> None:
    meaning = Message("what was installed, with the mtime of the backup")
    console.info_rows([Row("restored", (file.path, meaning)) for file in outcome.changed])
    if console.verbose:
        console.note(RUNNING)
