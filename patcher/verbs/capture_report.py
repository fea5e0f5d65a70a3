"""What a capture has made: the record of it, and how it is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Sequence

from patcher.author.pristine import EditedFile
from patcher.author.spatch_draft import Draft
from patcher.compatibility import ReleaseOutcome
from patcher.display.console import Console
from patcher.display.differences import show_diffs
from patcher.display.rows import answer_rows
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import Plan, Requested, apply_splices
from patcher.record import Record, reported
from patcher.store.store import Store
from patcher.text.diffs import FileDiff, diff_texts
from patcher.verbs.apply import ApplyOutcome
from patcher.verbs.authoring import (
    left_rows,
    number_of_hunks,
    release_rows,
    show_how_to_apply,
    show_hunks,
    show_unlike,
    show_written,
)


class CapturedEdits(Record):
    """What was edited in an environment.

    Attributes:
        env: the environment.
        files: the edited files, with what the patchset makes of each once that is known; of a
            patchset that is revised the other files that it changes, too.
        copy: the directory of the copies that were edited, "" where the installed files were.
    """

    env: Environment
    files: tuple[EditedFile, ...]
    copy: str = ""

    @property
    def diffs(self) -> list[FileDiff]:
        """What was edited, file by file."""
        return edit_diffs(self.files)


class CapturedHunks(Record):
    """What is made of edits.

    Attributes:
        draft: the hunks; of a patchset that is revised the new ones.
        texts: the texts of its folder by file name, of a patchset that is revised those that
            change.
        releases: what the patchset does to the further releases.
        gone: of a patchset that is revised how many hunks went.
    """

    draft: Draft = Draft(())
    texts: Mapping[str, str] = {}
    releases: tuple[ReleaseOutcome, ...] = ()
    gone: int = 0


class CapturedFile(Record):
    """A file that was edited.

    Attributes:
        site: the site directory.
        path: the path below it.
        release: its distribution with the version.
        compared_with: what the original text is.
        proven: whether RECORD proves that this was installed.
        exact: whether the patchset makes the file byte for byte as it was edited.
        difference: how the layout differs, "" where it does not.
        diff: the edit.
    """

    site: str
    path: str
    release: str
    compared_with: str
    proven: bool
    exact: bool
    difference: str
    diff: bytes


@reported("name folder captured draft releases notes")
class CaptureOutcome(Record):
    """The outcome of `capture`.

    Attributes:
        name: that of the patchset.
        edits: what was edited.
        hunks: what was made of it.
        notes: remarks for the user.
        plan: applies the patchset in place of the edits, or, if copies were edited, to the
            installed files.
        folder: the folder of the patchset; null where it was not written, as `draft` or `plan`
            explains.
        requested: the patchset.
    """

    name: str
    edits: CapturedEdits
    hunks: CapturedHunks
    notes: tuple[str, ...]
    plan: Plan = Plan((), ())
    folder: Path | None = None
    requested: Requested | None = None

    @property
    def ok(self) -> bool:
        """Whether the patchset was written."""
        return self.folder is not None

    @property
    def files(self) -> tuple[EditedFile, ...]:
        """The edited files."""
        return self.edits.files

    @property
    def draft(self) -> Draft:
        """The hunks."""
        return self.hunks.draft

    @property
    def releases(self) -> tuple[ReleaseOutcome, ...]:
        """What the patchset does to the further releases."""
        return self.hunks.releases

    @property
    def captured(self) -> tuple[CapturedFile, ...]:
        """What was edited."""
        captured = []
        for edited in self.files:
            captured.append(
                CapturedFile(
                    site=edited.file.site,
                    path=edited.file.path,
                    release=edited.file.release,
                    compared_with=edited.before.where,
                    proven=edited.before.proven,
                    exact=edited.made == edited.file.data,
                    difference=self.difference(edited),
                    diff=diff_texts(edited.file.site, *edited.edit).text,
                )
            )
        return tuple(captured)

    def difference(self, edited: EditedFile) -> str:
        """How the layout of a file differs from what was edited, "" where it does not."""
        for file in self.draft.files:
            if edited.file.path in file.paths:
                return file.difference
        return ""


@reported("*outcome adopted")
class CaptureAnswer(Record):
    """What was captured, and what came of it.

    Attributes:
        outcome: what was captured.
        adopted: with --adopt what came of applying it, else null.
    """

    outcome: CaptureOutcome
    adopted: ApplyOutcome | None = None


def edit_diffs(files: Sequence[EditedFile]) -> list[FileDiff]:
    """The difference that was edited into each file."""
    return [diff_texts(edited.file.site, *edited.edit) for edited in files]


# as text ------------------------------------------------------------------------------------------
def report_copies(console: Console, outcome: CaptureOutcome) -> int:
    """Report what was captured of copies, and the command that applies it."""
    show_captured(console, outcome)
    if outcome.folder:
        show_how_to_apply(console, outcome.name, outcome.folder)
    return console.answer(outcome.ok, CaptureAnswer(outcome))


def show_captured(console: Console, outcome: CaptureOutcome) -> None:
    """Show what was edited, the hunks, what they do not give back, and where the patchset is."""
    console.notes(outcome.notes)
    show_diffs(console, outcome.edits.diffs)
    show_hunks(console, outcome.draft)
    releases = outcome.hunks.releases
    rows = left_rows(outcome.draft)
    rows += release_rows(releases, in_full=console.verbose)
    rows += answer_rows(outcome.plan.failed)
    console.rows(rows)
    show_unlike(console, releases)
    if outcome.folder is None:
        _show_refusal(console, outcome)
        return
    _show_differences(console, outcome)
    if outcome.requested:
        summary = _summary(outcome, outcome.folder)
        show_written(console, "captured", summary=summary, patchset=outcome.requested.patchset)


def _show_refusal(console: Console, outcome: CaptureOutcome) -> None:
    """Say that no patchset was written, and how to go on."""
    if outcome.plan.failed:
        for name in _writers(outcome):
            template = (
                "the edit changes a line that {name} wrote: revise that patchset, {revise}, "
                "or take it out first, {restore}"
            )
            revise = console.command("edit", name)
            restore = console.command("restore", name)
            console.note(template, name=name, revise=revise, restore=restore)
    advice = ""
    if not outcome.draft.complete and any(file.hunks for file in outcome.draft.files):
        advice = Message("; --partial makes one of the rest")
    console.note("no patchset was written{more}", "stopped", more=advice)


def _writers(outcome: CaptureOutcome) -> list[str]:
    """The applied patchsets that wrote a line which the edit takes away."""
    names: dict[str, None] = {}
    for edited in outcome.files:
        store = Store(edited.file.site)
        receipt = store.receipts().get(edited.file.path)
        if receipt is None:
            continue
        removed = set(edited.before.data.splitlines()) - set(edited.file.data.splitlines())
        before = store.pristine(receipt.pristine.sha256)
        for step in receipt.steps:
            after = apply_splices(before, step.splices)
            inserted = set(after.splitlines()) - set(before.splitlines())
            if inserted & removed and step.patchset != outcome.name:
                names[step.patchset] = None
            before = after
    return list(names)


def _show_differences(console: Console, outcome: CaptureOutcome) -> None:
    """Show which files the patchset does not make byte for byte as they were edited."""
    for edited in outcome.files:
        path = edited.file.path
        if edited.made == edited.file.data:
            continue
        template = "{path}: the patchset does not make it byte for byte as it was edited: {what}"
        what = outcome.difference(edited) or Message("see below")
        console.note(template, path=path, what=what)
        show_diffs(console, [diff_texts("", path, edited.file.data, edited.made)])


def _summary(outcome: CaptureOutcome, folder: Path) -> str:
    """How many hunks were written, and where."""
    hunks = number_of_hunks(outcome.draft)
    summary = Message("{hunks} in {folder}", hunks=hunks, folder=folder)
    if outcome.hunks.gone:
        return Message("{what}, {gone} replaced", what=summary, gone=outcome.hunks.gone)
    if not any(file.hunks for file in outcome.draft.files):
        return Message("{folder}, as it stands", folder=folder)
    return summary
