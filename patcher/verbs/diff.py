"""`diff`: what patchsets change or would change, and what people edited by hand. Reads only."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import Sequence

import click

from patcher.author.changed import InstalledFile, find_changed
from patcher.author.pristine import Original, search_pristine
from patcher.display.console import Console
from patcher.display.differences import DiffOutcome, HandEditDiff, Reason, show_parts
from patcher.display.review_page import review_page
from patcher.display.rows import answer_rows
from patcher.display.styles import titled
from patcher.errors import SitepatchError
from patcher.facts import Condition, FileStatus, Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import Answer, Patchset, Requested, State
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.selection import choose
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.rewriter import stored_patchset
from patcher.planner.survey import make_plan
from patcher.project.request import PROJECT, read_project
from patcher.record import Record
from patcher.store.receipt import ADDED_FILE
from patcher.store.retry import settled
from patcher.store.status import before_and_after, describe_unfinished, live_names, statuses
from patcher.text.diffs import FileDiff, diff_texts, plan_diffs
from patcher.text.hidden import diff_remarks
from patcher.text.listed import Texts, count, one_or_more
from patcher.text.terminal import padded, printable, width
from patcher.verbs.options import common_options, complete_names
from patcher.verbs.show import compatibility_table

_BAR = 40  # columns of the longest bar of --stat


def diff(
    names: Texts = (),
    *,
    place: Place = HERE,
    edited: bool = False,
    fetch: bool = False,
    events: Events = SILENT,
) -> DiffOutcome:
    """What the named patchsets change or would change; without names all that is changed.

    Args:
        names: of patchsets; with `edited` packages, distributions and files, without any those of
            patchsets.
        place: the environment.
        edited: only what was edited by hand.
        fetch: get what a file was before from the index, where nothing here has it.
        events: takes what is done.

    Raises:
        SitepatchError: a name that means nothing, a hunk that is wrong in itself, a receipt or a
            copy that is damaged.
    """
    env = place.environment()
    words = one_or_more(names)
    events.started(env)
    patchsets = () if edited else words
    applied = settled(env, lambda: _applied(env, patchsets))
    live = live_names(applied.items)
    not_applied = [name for name in dict.fromkeys(patchsets) if name not in live]
    planned = _PlannedDiffs()
    if not_applied:
        planned = _planned(env, place, not_applied)
    hand = _HandEdits()
    if edited or not words:
        packages = words or _packages(env, applied.items, place)
        if packages:
            hand = _edited(
                env,
                packages,
                events,
                named=bool(words),
                fetch=fetch,
            )

    notes = [] if edited else [*applied.notes, *planned.notes]
    return DiffOutcome(
        env=env,
        applied=() if edited else tuple(applied.diffs),
        planned=tuple(planned.diffs),
        edits=tuple(hand.edits),
        items=tuple(applied.items),
        requested=tuple(planned.requested),
        answers=tuple(planned.answers),
        notes=(*describe_unfinished(env), *notes, *hand.notes),
    )


# what patchsets change ----------------------------------------------------------------------------
class _AppliedDiffs(Record):
    """What applied patchsets change, the files that are patched by them, and remarks."""

    diffs: Sequence[FileDiff]
    items: Sequence[FileStatus]
    notes: Sequence[str]


class _PlannedDiffs(Record):
    """What patchsets would change, these, the answers about their hunks, and remarks."""

    diffs: Sequence[FileDiff] = ()
    requested: Sequence[Requested] = ()
    answers: Sequence[Answer] = ()
    notes: Sequence[str] = ()


def _applied(env: Environment, names: Sequence[str]) -> _AppliedDiffs:
    """What is changed by these patchsets, by all without names."""
    diffs: list[FileDiff] = []
    notes: list[str] = []
    items: list[FileStatus] = []
    for item in statuses(env):
        applied: list[str] = []
        conditions: set[Condition] = set()
        for file, step in item.patchsets:
            if names and step.patchset not in names:
                continue

            conditions.add(file.condition)
            if file.live:
                applied.append(step.patchset)

        if not conditions:
            continue

        items.append(item)
        path = item.receipt.path
        for condition in sorted(conditions - {Condition.APPLIED}):
            template = "{path}: {state}; see sitepatch status"
            notes.append(Message(template, path=path, state=Message(condition.value)))

        if applied:
            diff = _diff_of(item, applied)
            diffs.append(diff)
            notes += diff_remarks(path, diff.text)

    return _AppliedDiffs(diffs, items, notes)


def _diff_of(item: FileStatus, patchsets: Sequence[str]) -> FileDiff:
    """What patchsets change in a file."""
    before, after = before_and_after(item.site, item.receipt, patchsets)
    is_new = not before and item.receipt.pristine.origin == ADDED_FILE
    return diff_texts(
        site=item.site,
        path=item.receipt.path,
        before=None if is_new else before,
        after=None if item.receipt.deletes else after,
        patchsets=patchsets,
        release=item.release,
    )


def _planned(env: Environment, place: Place, names: Sequence[str]) -> _PlannedDiffs:
    """What patchsets would change that are not applied; nothing where one of them does not fit."""
    requested, shadows = choose(names, (), place.patch_dirs)
    wanted = Wanted(tuple(requested))
    plan = settled(env, lambda: make_plan(env, wanted))
    diffs = []
    if not plan.failed:
        for diff in plan_diffs(plan):
            # a file may have others that are applied already: they are not what would change it
            changing = tuple(name for name in diff.patchsets if name in names)
            diffs.append(diff._replace(patchsets=changing))

    return _PlannedDiffs(
        diffs,
        requested,
        answers=plan.answers,
        notes=[*shadows, *plan.notes],
    )


# what was edited by hand --------------------------------------------------------------------------
class _HandEdits(Record):
    """The files that were edited by hand, and remarks."""

    edits: Sequence[HandEditDiff] = ()
    notes: Sequence[str] = ()


def _edited(
    env: Environment,
    words: Sequence[str],
    events: Events,
    *,
    named: bool,
    fetch: bool,
) -> _HandEdits:
    """The files of these packages that are not as RECORD, or a receipt, says."""
    try:
        search = settled(env, lambda: find_changed(env, words, events.progress))
    except SitepatchError as error:
        if named:
            raise
        return _HandEdits(notes=[error.message])

    if not search.files:
        return _HandEdits(notes=search.notes)

    notes = list(search.notes)
    originals, missing = search_pristine(search.files, events.note, fetch=fetch)
    if fetch:
        for lost in missing:
            template = "{path}: {tried}"
            notes.append(Message(template, path=lost.file.path, tried=lost.places[-1]))

    edits: list[HandEditDiff] = []
    for file in search.files:
        edit = _hand_edit(file, originals.get((file.site, file.path)))
        edits.append(edit)
        if edit.diff:
            notes += diff_remarks(file.path, edit.diff.text)

    return _HandEdits(edits, notes)


def _hand_edit(file: InstalledFile, original: Original | None) -> HandEditDiff:
    """How a file that was edited differs from what it was, None where that is not known."""
    if original is None:
        return HandEditDiff(file.site, file.path, release=file.release)

    difference = diff_texts(
        site=file.site,
        path=file.path,
        before=original.data,
        after=file.data,
        release=file.release,
    )

    return HandEditDiff(
        site=file.site,
        path=file.path,
        release=file.release,
        compared=original.where,
        proven=original.proven,
        diff=difference,
    )


def _packages(env: Environment, items: Sequence[FileStatus], place: Place) -> list[str]:
    """The installed import packages that are searched without being named.

    Those that something is applied in, and those of the project's patchsets: where there is
    neither, those of all that are known.
    """
    packages = {item.receipt.release.package for item in items}
    packages |= _changed_by(_of_project(place))
    if not packages:
        loaded, _ = Catalogue(place.patch_dirs).load()
        packages = _changed_by([item.patchset for item in loaded])

    return [package for package in sorted(packages) if _is_installed(env, package)]


def _changed_by(patchsets: Sequence[Patchset]) -> set[str]:
    """The packages that patchsets are for."""
    return {variant.package for patchset in patchsets for variant in patchset.variants}


def _is_installed(env: Environment, package: str) -> bool:
    paths: list[Path] = []
    for site in env.own:
        paths += [Path(site, package), Path(site, f"{package}.py")]

    return any(path.exists() for path in paths)


def _of_project(place: Place) -> list[Patchset]:
    """The patchsets in `--patch-dir` and `./patchsets`, and those that the project asks for.

    What is wrong with them is reported by `list` and `sync`; here they only name packages.
    """
    folders = list(place.patch_dirs)
    requested: list[str] = []
    with suppress(SitepatchError):
        project = read_project(Path(PROJECT)) if Path(PROJECT).is_file() else None
        if project:
            folders += project.patch_dirs
            requested = [entry.name for entry in project.entries]

    catalogue = Catalogue(folders)
    names = [name for name in catalogue.folders if catalogue.named(name)]
    patchsets: list[Patchset] = []
    for name in dict.fromkeys([*names, *requested]):
        with suppress(SitepatchError):
            patchsets.append(catalogue.find(name).patchset)

    return patchsets


def reasons(outcome: DiffOutcome, patch_dirs: Sequence[str]) -> list[Reason]:
    """The patchsets that make a difference, each once; applied ones are read from the store.

    Raises:
        StoreError: such a copy is missing or damaged.
    """
    by_name: dict[str, Reason] = {}
    shown = {name for diff in outcome.applied for name in diff.patchsets}
    for item in outcome.items:
        for step in item.receipt.steps:
            name = step.patchset
            if name in shown and name not in by_name:
                patchset = stored_patchset(item.site, step)
                checked = compatibility_table(patchset, patch_dirs)
                by_name[name] = Reason(
                    patchset,
                    step.options,
                    applied=True,
                    checked=checked,
                )

    for request in outcome.requested:
        patchset = request.patchset
        checked = compatibility_table(patchset, patch_dirs)
        by_name[patchset.name] = Reason(
            patchset,
            request.options,
            applied=False,
            checked=checked,
        )

    return list(by_name.values())


# the command --------------------------------------------------------------------------------------
@click.command(
    "diff",
    epilog=(
        "\b\nExamples:\n"
        "  sitepatch diff mmengine-ddp-debug | git apply --directory=site-packages\n"
        "  sitepatch diff --html review.html\n"
        "  sitepatch diff --edited mmengine"
    ),
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_names)
@click.option("--stat", is_flag=True, help="Only how many lines change in each file.")
@click.option("--html", metavar="FILE", help="Write a page to review, which can be read offline.")
@click.option(
    "--edited", is_flag=True, help="What was edited by hand, alone; NAME is then a package or file."
)
@click.option(
    "--fetch",
    is_flag=True,
    help="Ask the index for what edited files were before, where nothing here has it.",
)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything differs.")
@common_options()
def command(
    console: Console,
    names: tuple[str, ...],
    stat: bool,
    html: str | None,
    edited: bool,
    fetch: bool,
    exit_code: bool,
) -> int:
    """Show what would change, or what is changed.

    Of a patchset that is not applied: what apply would change. Of one that is: what it changes.
    Without names: what is changed by patchsets and, apart from that, what somebody edited by hand.
    Where the output is piped it is a plain diff for git apply and patch -p1, without the edits by
    hand: those are named, and shown by --edited.
    """
    outcome = diff(
        names,
        place=console.place,
        edited=edited,
        fetch=fetch,
        events=console,
    )

    unfit = [answer for answer in outcome.answers if answer.state is not State.APPLICABLE]
    console.rows(answer_rows(unfit), err=True)
    console.suggest_explain(outcome.answers, console.place.patch_dirs)
    console.notes(outcome.notes)

    is_patch = console.plain and not (edited or stat or html)  # for git apply: without the edits
    for edit in outcome.edits:
        if is_patch or html or edit.diff is None:
            console.note(_named(console, edit, fetched=fetch))

    if html:
        title = " ".join(["sitepatch diff --edited" if edited else "sitepatch diff", *names])
        _write_page(console, html, title=title, outcome=outcome)
    elif stat:
        _show_stat(console, outcome)
    else:
        _show(console, outcome, with_edits=not is_patch)

    if not outcome.differs and not names:
        nothing = Message("nothing is changed here")
        if edited:
            nothing = Message(
                "nothing is edited by hand here in the packages of patchsets; "
                "of another one: diff --edited PACKAGE"
            )

        console.note(nothing)

    ok = not (outcome.failed or (exit_code and outcome.differs))
    return console.answer(ok, outcome)


def _write_page(
    console: Console,
    path: str,
    *,
    title: str,
    outcome: DiffOutcome,
) -> None:
    page = review_page(title, outcome, reasons(outcome, console.place.patch_dirs))
    console.file(path, page)


def _show_stat(console: Console, outcome: DiffOutcome) -> None:
    edits = [edit.diff for edit in outcome.edits if edit.diff]
    lines: list[str] = stat_table([*outcome.applied, *outcome.planned])
    if edits:
        lines.append(titled(Message("edited by hand")))
        lines += stat_table(edits)

    console.page(lines)


def _show(console: Console, outcome: DiffOutcome, *, with_edits: bool) -> None:
    """Show the diffs; the edits by hand below the changes by patchsets."""
    has_edits = any(edit.diff for edit in outcome.edits)
    heading = Message("changed by patchsets") if has_edits else ""
    by_patchsets = [*outcome.applied, *outcome.planned]
    parts: list[tuple[str, Sequence[FileDiff]]] = [(heading, by_patchsets)]
    if with_edits:
        for edit in outcome.edits:
            if edit.diff:
                template = "{path} ({release}): {about}"
                title = Message(
                    template,
                    path=edit.path,
                    release=edit.release,
                    about=edit.about,
                )
                parts.append((title, [edit.diff]))

    show_parts(console, parts, pager=True)


def _named(console: Console, edit: HandEditDiff, *, fetched: bool) -> str:
    """A file that was edited by hand, and the command that shows the edit."""
    edited = Message("{path}: edited by hand ({release})", path=edit.path, release=edit.release)
    if edit.diff:
        return Message(
            "{what}, {lines} more and {names} less; to see it: {how}",
            what=edited,
            lines=count(edit.diff.added, "line"),
            names=edit.diff.removed,
            how=console.command("diff", "--edited", edit.path),
        )

    if fetched:
        return Message("{what}, and the original text was not found", what=edited)

    template = (
        "{what}, and the original text is not on this machine; to fetch it from the index: {how}"
    )
    how = console.command("diff", "--edited", "--fetch", edit.path)
    return Message(template, what=edited, how=how)


def stat_table(diffs: Sequence[FileDiff]) -> list[str]:
    """The lines of `git diff --stat`, none where nothing differs."""
    if not diffs:
        return []

    paths = [printable(diff.path) for diff in diffs]
    changes = [diff.added + diff.removed for diff in diffs]
    column = max(map(width, paths))
    digits = len(str(max(changes)))
    scale = min(1.0, _BAR / max(changes))
    lines: list[str] = []
    for diff, path, number in zip(diffs, paths, changes):
        plus = "+" * _scaled(diff.added, scale)
        minus = "-" * _scaled(diff.removed, scale)
        lines.append(f" {padded(path, column)} | {number:>{digits}} {plus}{minus}")

    added = sum(diff.added for diff in diffs)
    removed = sum(diff.removed for diff in diffs)

    parts: list[str] = [Message("{files} changed", files=count(len(diffs), "file"))]
    if added:
        parts.append(Message("{insertions}(+)", insertions=count(added, "insertion")))
    if removed:
        parts.append(Message("{deletions}(-)", deletions=count(removed, "deletion")))
    lines.append(Message(" {parts}", parts=joined(", ", parts)))
    return lines


def _scaled(lines: int, scale: float) -> int:
    """The columns of a bar, rounded up; what a float has beyond a thousandth does not count."""
    thousandths = int(lines * scale * 1000)
    return math.ceil(thousandths / 1000)
