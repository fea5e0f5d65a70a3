"""`restore`: put files back, byte for byte."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Sequence

import click

from patcher.display.console import Console
from patcher.display.rows import answer_rows
from patcher.display.styles import Row, hint_lines
from patcher.errors import FormatError, Location, SitepatchError, StoreError, UsageError
from patcher.facts import Wanted
from patcher.installed.backups import Backup, proven_backups
from patcher.message import Message
from patcher.model import Change, FilePlan, NewBytes, Plan
from patcher.patchset.catalogue import Catalogue
from patcher.place import HERE, SILENT, Events, Outcome, Place
from patcher.planner.survey import make_plan
from patcher.store.status import applied_names, divide_names, statuses, unclaimed
from patcher.text.listed import Texts, one_or_more
from patcher.verbs.change import carry_out
from patcher.verbs.options import common_options, complete_names, patient
from patcher.verbs.report import RUNNING, report_outcome


def restore(
    names: Texts = (),
    *,
    place: Place = HERE,
    force: bool = False,
    dry_run: bool = False,
    events: Events = SILENT,
) -> Outcome:
    """Restore what patchsets changed; a file that no other patchset changes is as it was before: bytes, mode and mtime.

    Args:
        names: of patchsets, all without any.
        place: the environment.
        force: drop edits by hand instead of keeping them in the file; their text is kept in the store.
        dry_run: write nothing.
        events: takes the plan, and what is done.

    Raises:
        SitepatchError: what keeps it from making a plan or from writing.
    """
    env = place.environment()
    events.started(env)

    def look() -> Outcome:
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
        plan = make_plan(env, Wanted((), tuple(meant), force), items)
        outcome = Outcome(place, env, plan, tuple(meant), (), dry_run, idle=tuple(idle))
        return outcome._replace(damaged=tuple(unclaimed(env, items, bad)))

    outcome = carry_out(look, env, None, events, dry_run=dry_run)
    if not outcome.written:
        return outcome
    from patcher.hook.installed import hooks_for  # not for a repeated apply

    return outcome._replace(hooks=tuple(hooks_for(env, outcome.patchsets)))


def restore_backups(
    words: Texts = (), *, place: Place = HERE, dry_run: bool = False, events: Events = SILENT
) -> Outcome:
    """Put files back: bytes and mtime of the backup, mode and owner of the file. The edited texts are kept in the store.

    A word is a path in a site directory, or as the caller sees it; see `restore` for the others.

    Raises:
        SitepatchError: a word names no such file; or what keeps it from writing.
    """
    env = place.environment()
    events.started(env)

    def look() -> Outcome:
        patched = {(item.site, item.receipt.path) for item in statuses(env)}
        files = _meant(proven_backups(env.own, patched), one_or_more(words))
        plan = Plan(tuple(map(_file_plan, files)), (), tuple(backup.message for backup in files))
        return Outcome(place, env, plan, (), (), dry_run)

    return carry_out(look, env, None, events, dry_run=dry_run)


def _meant(backups: Sequence[Backup], words: Sequence[str]) -> list[Backup]:
    meant = {
        word: [backup for backup in backups if not word or _above(Path(word), backup)]
        for word in words or ("",)
    }
    problem = Message("found no backup beside an edited file of it that RECORD proves")
    problems = [SitepatchError.at(Location(word), problem) for word in words if not meant[word]]
    if problems:
        hint = Message(
            "what patchsets changed is restored without --from-backup; anything else by an install of the same release"
        )
        raise SitepatchError.joined(problems, hint)
    return [backup for backup in backups if any(backup in matches for matches in meant.values())]


def _above(word: Path, backup: Backup) -> bool:
    file = Path(backup.site, backup.path)
    return any(
        path in (meant, *meant.parents)
        for path, meant in ((word, Path(backup.path)), (Path.cwd() / word, file))
    )


def _file_plan(backup: Backup) -> FilePlan:
    old = sha256(backup.edited).hexdigest()
    new = NewBytes(backup.data, mtime_ns=backup.mtime_ns)
    change = Change(backup.path, old, new, receipt=None, aside=backup.edited)
    return FilePlan(backup.site, backup.path, backup.edited, backup.data, change, ())


@click.command(
    "restore",
    epilog="\b\nExamples:\n  sitepatch restore mmengine-ddp-debug\n  sitepatch restore --from-backup --dry-run",
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

    Those of all patchsets without a name. Mode and mtime are as before, too. In a file that was edited by hand since, the
    edit is kept and only our change is removed.

    With --from-backup files in which no patchset is applied are put back from a backup beside them (runner.py.orig) that has
    the sha256 that RECORD gives; the edited texts are kept in the store.
    """
    if from_backup:
        if force:
            raise UsageError(
                "--force and --from-backup: found both",
                "the edited text is kept in the store in any case",
            )
        console.on_plan = _show_backup_plan
        outcome = restore_backups(names, place=console.place, dry_run=dry_run, events=console)
        return report_outcome(console, outcome, _show_put_back)
    return report_restored(console, names, force=force, dry_run=dry_run)


def report_restored(
    console: Console, names: Texts, *, force: bool = False, dry_run: bool = False
) -> int:
    """Restore, and report it."""
    console.on_plan = _show_restore_plan
    outcome = restore(names, place=console.place, force=force, dry_run=dry_run, events=console)
    damaged = [{"problem": problem, "hint": hint} for problem, hint in outcome.damaged]
    return report_outcome(console, outcome, _show_restored, damaged=damaged)


def _show_restore_plan(console: Console, outcome: Outcome) -> None:
    console.rows(answer_rows(outcome.plan.answers))
    for name in outcome.idle:
        console.info("{name} is not applied here: nothing to restore", name=name)
    console.rows(
        [Row("damaged", (), (problem, *hint_lines(hint))) for problem, hint in outcome.damaged]
    )
    if not (outcome.patchsets or outcome.idle or outcome.damaged):
        console.info(
            "nothing is applied in {place}: nothing to restore", place=", ".join(outcome.env.own)
        )
    console.notes(outcome.plan.notes)


def _show_restored(console: Console, outcome: Outcome) -> None:
    console.info_rows([_restored_row(file) for file in outcome.changed])
    if console.verbose and not all(file.change and file.change.forget for file in outcome.changed):
        console.note(RUNNING)
    for hook in outcome.hooks:
        console.note(
            "the next start of Python applies them again, as {hook} asks for: uninstall {hook} first",
            hook=hook,
        )


def _restored_row(file: FilePlan) -> Row:
    change = file.change
    untouched = change and (change.forget or (change.old and file.before == file.after))
    if untouched:
        meaning = Message("our change is gone already; the file was left alone")
        return Row("forgotten", (file.path, meaning))
    stays = ", ".join(step.patchset for step in file.steps)
    if stays:
        edits = (
            Message(", and what was edited by hand")
            if file.change and file.change.new and file.change.new.merged
            else ""
        )
        return Row(
            "restored",
            (file.path, Message("but for {stays}, still applied{more}", stays=stays, more=edits)),
        )
    if file.change and file.change.new:
        return Row(
            "restored", (file.path, Message("our change is out, what was edited by hand stays"))
        )
    if not Path(file.site, file.path).exists():
        return Row("restored", (file.path, Message("removed: a patchset had added it")))
    return Row("restored", (file.path, Message("bytes, mode and mtime as before")))


def _show_backup_plan(console: Console, outcome: Outcome) -> None:
    if not outcome.plan.files:
        sites = ", ".join(outcome.env.own)
        console.info(
            "no file in {sites} has a backup (FILE.orig, FILE.bak) with the sha256 that RECORD gives: nothing to restore",
            sites=sites,
        )
        console.hints(
            [
                Message(
                    "to get a release anew: pip install --force-reinstall --no-deps NAME==VERSION"
                )
            ]
        )
    console.notes(outcome.plan.notes)


def _show_put_back(console: Console, outcome: Outcome) -> None:
    meaning = Message("what was installed, with the mtime of the backup")
    console.info_rows([Row("restored", (file.path, meaning)) for file in outcome.changed])
    if console.verbose:
        console.note(RUNNING)
