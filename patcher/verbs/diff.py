"""What patchsets change, or would change, and what people edited by hand, file by file. Reads only."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Sequence

import click

from patcher.display.console import Console
from patcher.display.differences import DiffOutcome, HandEditDiff, Reason, show_parts
from patcher.display.rows import answer_json, answer_rows, diff_json
from patcher.display.styles import titled
from patcher.errors import SitepatchError
from patcher.facts import Condition, FileStatus, Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import Patchset
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.selection import choose
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.survey import make_plan, stored_patchset
from patcher.project.request import PROJECT, read_project
from patcher.store.receipt import ADDED_FILE
from patcher.store.retry import settled
from patcher.store.status import before_and_after, describe_unfinished, live_names, statuses
from patcher.text.diffs import FileDiff, diff_texts, plan_diffs
from patcher.text.hidden import diff_remarks
from patcher.text.listed import Texts, count, one_or_more
from patcher.text.terminal import padded, printable, width
from patcher.verbs.options import common_options, complete_names
from patcher.verbs.show import compatibility_table


def diff(
    names: Texts = (),
    *,
    place: Place = HERE,
    edited: bool = False,
    fetch: bool = False,
    events: Events = SILENT,
) -> DiffOutcome:
    """What the named patchsets change, or would change; what is changed without names, by patchsets and by hand.

    Args:
        names: of patchsets; with `edited` packages, distributions and files, without any those of patchsets.
        place: the environment.
        edited: only what was edited by hand.
        fetch: get what a file was before from the index, where nothing here has it.
        events: takes what is done.

    Raises:
        SitepatchError: a name that means nothing, a hunk that is wrong in itself, a receipt or a copy that is damaged.
    """
    env, words = place.environment(), one_or_more(names)
    events.started(env)
    meant = () if edited else words
    outcome = settled(env, lambda: _applied(env, meant))
    live = live_names(outcome.items)
    not_applied = [name for name in dict.fromkeys(meant) if name not in live]
    if not_applied:
        outcome = _planned(outcome, place, not_applied)
    if edited:
        outcome = outcome._replace(applied=(), notes=())
    if edited or not words:
        packages = words or _packages(env, outcome.items, place)
        if packages:
            outcome = _edited(outcome, packages, events, named=bool(words), fetch=fetch)
    return outcome._replace(notes=(*describe_unfinished(env), *outcome.notes))


def _applied(env: Environment, names: Sequence[str]) -> DiffOutcome:
    """What is changed by these patchsets, by all without names."""
    diffs: list[FileDiff] = []
    notes: list[str] = []
    items: list[FileStatus] = []
    for item in statuses(env):
        meant = [
            (file, step.patchset)
            for file, step in item.patchsets
            if not names or step.patchset in names
        ]
        items += [item] if meant else []
        applied = [name for file, name in meant if file.live]
        conditions = {file.condition for file, _ in meant} - {Condition.APPLIED}
        for condition in sorted(conditions):
            notes.append(
                Message(
                    "{path}: {state}; see sitepatch status",
                    path=item.receipt.path,
                    state=Message(condition.value),
                )
            )
        if applied:
            before, after = before_and_after(item.site, item.receipt, applied)
            absent = not before and item.receipt.origin == ADDED_FILE
            diff = diff_texts(
                site=item.site,
                path=item.receipt.path,
                before=None if absent else before,
                after=after,
                patchsets=applied,
                release=item.release,
            )
            diffs.append(diff)
            notes += diff_remarks(item.receipt.path, diff.text)
    return DiffOutcome(env, tuple(diffs), items=tuple(items), notes=tuple(notes))


def _planned(outcome: DiffOutcome, place: Place, names: Sequence[str]) -> DiffOutcome:
    """The outcome with what patchsets would change that are not applied; nothing where one of them does not fit."""
    requested, shadows = choose(names, (), place.patch_dirs)
    plan = settled(outcome.env, lambda: make_plan(outcome.env, Wanted(tuple(requested))))
    # a file may have others that are applied already: they are not what would change it
    diffs = [
        diff._replace(patchsets=tuple(name for name in diff.patchsets if name in names))
        for diff in (() if plan.failed else plan_diffs(plan))
    ]
    notes = (*outcome.notes, *shadows, *plan.notes)
    return outcome._replace(
        planned=tuple(diffs), requested=tuple(requested), answers=plan.answers, notes=notes
    )


# what was edited by hand ----------------------------------------------------------------------------------------------
def _edited(
    outcome: DiffOutcome, words: Sequence[str], events: Events, *, named: bool, fetch: bool
) -> DiffOutcome:
    """The outcome with the files that are not as RECORD, or a receipt, says, in these packages."""
    from patcher.author.changed import find_changed  # neither for a patchset that is named

    env = outcome.env
    try:
        search = settled(env, lambda: find_changed(env, words, events.progress))
    except SitepatchError as error:
        if named:
            raise
        return outcome._replace(notes=(*outcome.notes, error.message))
    edits: list[HandEditDiff] = []
    notes = [*outcome.notes, *search.notes]
    if search.files:
        # with the index, which few need
        from patcher.author.pristine import (
            search_pristine as search_before,
        )

        before, lost = search_before(search.files, events.note, fetch=fetch)
        notes += (
            [Message("{path}: {tried}", path=file.file.path, tried=file.tried[-1]) for file in lost]
            if fetch
            else []
        )
        for file in search.files:
            pristine = before.get((file.site, file.path))
            edit = HandEditDiff(file.site, file.path, file.release)
            if pristine:
                difference = diff_texts(
                    site=file.site,
                    path=file.path,
                    before=pristine.data,
                    after=file.data,
                    release=file.release,
                )
                edit = edit._replace(
                    compared=pristine.where, proven=pristine.proven, diff=difference
                )
                notes += diff_remarks(file.path, difference.text)
            edits.append(edit)
    return outcome._replace(edits=tuple(edits), notes=tuple(notes))


def _packages(env: Environment, items: Sequence[FileStatus], place: Place) -> list[str]:
    """The installed import packages that are looked at without being named.

    Those that something is applied in, and those of the project's patchsets: where there is neither, those of all that are
    known.
    """
    packages = {item.receipt.package for item in items}
    packages |= {
        variant.package for patchset in _of_project(place) for variant in patchset.variants
    }
    if not packages:
        loaded, _ = Catalogue(place.patch_dirs).load()
        packages = {variant.package for item in loaded for variant in item.patchset.variants}

    def is_here(package: str) -> bool:
        return any(
            Path(site, name).exists() for site in env.own for name in (package, f"{package}.py")
        )

    return list(filter(is_here, sorted(packages)))


def _of_project(place: Place) -> list[Patchset]:
    """The patchsets in `--patch-dir` and `./patchsets`, and those that the project asks for.

    What is wrong with them is reported by `list` and `sync`; here they only name packages.
    """
    project = None
    with suppress(SitepatchError):
        project = read_project(Path(PROJECT)) if Path(PROJECT).is_file() else None
    catalogue = Catalogue([*place.patch_dirs, *(project.patch_dirs if project else ())])
    names = [
        *filter(catalogue.named, catalogue.folders),
        *(entry.name for entry in (project.entries if project else ())),
    ]
    patchsets: list[Patchset] = []
    for name in dict.fromkeys(names):
        with suppress(SitepatchError):
            patchsets.append(catalogue.find(name).patchset)
    return patchsets


def reasons(outcome: DiffOutcome, patch_dirs: Sequence[str]) -> list[Reason]:
    """The patchsets that make a difference, each once: what is applied is read from the copy that the store has of it.

    Raises:
        StoreError: such a copy is missing or damaged.
    """
    shown = {name for diff in outcome.applied for name in diff.patchsets}
    reasons_by_name: dict[str, Reason] = {}
    for item in outcome.items:
        for step in item.receipt.steps:
            if step.patchset in shown and step.patchset not in reasons_by_name:
                reasons_by_name[step.patchset] = Reason(
                    stored_patchset(item.site, step), step.options, True
                )
    for item_asked in outcome.requested:
        reasons_by_name[item_asked.patchset.name] = Reason(
            item_asked.patchset, item_asked.options, False
        )
    return [
        reason._replace(checked=compatibility_table(reason.patchset, patch_dirs))
        for reason in reasons_by_name.values()
    ]


@click.command(
    "diff",
    epilog="\b\nExamples:\n  sitepatch diff mmengine-ddp-debug | git apply --directory=site-packages\n"
    "  sitepatch diff --html review.html\n  sitepatch diff --edited mmengine",
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

    Of a patchset that is not applied: what apply would change. Of one that is: what it changes. Without names: what is
    changed by patchsets and, apart from that, what somebody edited by hand. Where the output is piped it is a plain diff for
    git apply and patch -p1, without the edits by hand: those are named, and shown by --edited.
    """
    outcome = diff(names, place=console.place, edited=edited, fetch=fetch, events=console)
    silent = [answer for answer in outcome.answers if answer.state.value != "applicable"]
    console.rows(answer_rows(silent), err=True)
    console.suggest_explain(outcome.answers, console.place.patch_dirs)
    console.notes(outcome.notes)
    by_hand = [edit for edit in outcome.edits if edit.diff]
    apart = console.plain and not (edited or stat or html)
    for edit in (
        outcome.edits if apart or html else [edit for edit in outcome.edits if not edit.diff]
    ):
        console.note(_named(console, edit, fetched=fetch))
    if html:
        from patcher.verbs.pages.review import review_page  # with diff-match-patch

        title = " ".join(["sitepatch diff", *(["--edited"] if edited else []), *names])
        console.file(html, review_page(title, outcome, reasons(outcome, console.place.patch_dirs)))
    elif stat:
        heading_by_hand = [titled(Message("edited by hand"))] if by_hand else []
        edits = [edit.diff for edit in by_hand if edit.diff]
        console.page(
            [
                *stat_table([*outcome.applied, *outcome.planned]),
                *heading_by_hand,
                *stat_table(edits),
            ]
        )
    else:
        heading = Message("changed by patchsets") if by_hand else ""
        parts: list[tuple[str, Sequence[FileDiff]]] = [
            (heading, [*outcome.applied, *outcome.planned])
        ]
        for edit in by_hand if not apart else ():
            parts += (
                [(Message("{edit.path} ({edit.release}): {edit.about}", edit=edit), [edit.diff])]
                if edit.diff
                else []
            )
        show_parts(console, parts, pager=True)
    if not outcome.differs and not names:
        nothing = Message(
            "nothing is edited by hand here in the packages of patchsets; of another one: diff --edited PACKAGE"
        )
        console.note(nothing if edited else Message("nothing is changed here"))
    return console.answer(not (outcome.failed or (exit_code and outcome.differs)), _json(outcome))


def _named(console: Console, edit: HandEditDiff, *, fetched: bool) -> str:
    """A file that was edited by hand, and the command that shows the edit."""
    edited = Message("{edit.path}: edited by hand ({edit.release})", edit=edit)
    if edit.diff:
        command_line = console.command("diff", "--edited", edit.path)
        return Message(
            "{what}, {lines} more and {names} less; to see it: {how}",
            what=edited,
            lines=count(edit.diff.added, "line"),
            names=edit.diff.removed,
            how=command_line,
        )
    if fetched:
        return Message("{what}, and the original text was not found", what=edited)
    command_line = console.command("diff", "--edited", "--fetch", edit.path)
    template = (
        "{what}, and the original text is not on this machine; to fetch it from the index: {how}"
    )
    return Message(template, what=edited, how=command_line)


def stat_table(diffs: Sequence[FileDiff]) -> list[str]:
    """The lines of `git diff --stat`, none where nothing differs."""
    if not diffs:
        return []
    column, most = (
        max(width(printable(diff.path)) for diff in diffs),
        max(diff.added + diff.removed for diff in diffs),
    )
    digits, scale = len(str(most)), min(1.0, 40 / most)
    lines: list[str] = []
    for diff in diffs:
        plus, minus = (
            -(-int(count * scale * 1000) // 1000) for count in (diff.added, diff.removed)
        )
        bar = "+" * plus + "-" * minus
        lines.append(
            f" {padded(printable(diff.path), column)} | {diff.added + diff.removed:>{digits}} {bar}"
        )
    added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
    parts: list[str] = [Message("{files} changed", files=count(len(diffs), "file"))]
    parts += [Message("{insertions}(+)", insertions=count(added, "insertion"))] if added else []
    parts += [Message("{deletions}(-)", deletions=count(removed, "deletion"))] if removed else []
    return [*lines, Message(" {parts}", parts=joined(", ", parts))]


def _json(outcome: DiffOutcome) -> dict[str, Any]:
    return {
        "files": [diff_json(diff) for diff in (*outcome.applied, *outcome.planned)],
        "edited": [
            {
                **edit._asdict(),
                "added": edit.diff.added if edit.diff else 0,
                "removed": edit.diff.removed if edit.diff else 0,
                "diff": edit.diff.text if edit.diff else "",
            }
            for edit in outcome.edits
        ],
        "answers": [answer_json(answer) for answer in outcome.answers],
        "notes": outcome.notes,
    }
