"""`capture`: what was edited in an environment -> a patchset; `adopt`: applies that patchset in place of the edit."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Container,
    Iterator,
    NamedTuple,
    Sequence,
)

import click

from patcher.author.changed import find_changed
from patcher.author.copies import copied
from patcher.author.draft import Draft, DraftFile, LeftOut
from patcher.author.folder import (
    Head,
    keep_beside,
    named_folder,
    output_folder,
    patchset_files,
    write_folder,
)
from patcher.author.pristine import EditedFile, find_originals
from patcher.display.console import Console
from patcher.display.differences import show_diffs
from patcher.display.rows import answer_rows
from patcher.errors import SitepatchError, StoreError, UsageError
from patcher.facts import HandEdit, HandEdits, Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import (
    Located,
    Patchset,
    PatchsetSource,
    Plan,
    Requested,
    apply_splices,
)
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import MANIFEST
from patcher.patchset.variants import resolve_options
from patcher.place import HERE, SILENT, Events, Outcome, Place
from patcher.planner.survey import make_plan
from patcher.store.retry import settled
from patcher.store.status import read_installed
from patcher.store.store import Store
from patcher.text.diffs import FileDiff, diff_texts
from patcher.text.listed import Texts, count, listed, one_or_more, shortened
from patcher.verbs.authoring import (
    also_option,
    hunks_json,
    left_json,
    left_rows,
    number_of_hunks,
    output_option,
    release_json,
    release_rows,
    show_how_to_apply,
    show_hunks,
    show_unlike,
    show_written,
)
from patcher.verbs.change import carry_out, note_interrupted, verify_settings
from patcher.verbs.options import common_options, patient, verify_option
from patcher.verbs.report import report_outcome, show_applied
from patcher.verify import IMPORT

if TYPE_CHECKING:
    from patcher.author.proof import Release
    from patcher.author.revise import WrittenPatchset
    from patcher.text.listed import AnyPath
    from patcher.verbs.releases.outcome import ReleaseOutcome


class CaptureOutcome(NamedTuple):
    """The outcome of `capture`.

    Attributes:
        name: that of the patchset.
        env: the environment.
        files: the edited files, with what the patchset makes of each.
        notes: remarks for the user.
        copy: the directory of the copies that were edited, "" where the installed files were.
        draft: the hunks; of a patchset that is revised the new ones.
        plan: applies the patchset in place of the edits, or, if copies were edited, to the installed files.
        folder: the folder of the patchset; None where it was not written, as `draft` or `plan` explains.
        requested: the patchset.
        releases: what it does to the further releases.
        gone: of a patchset that is revised how many hunks went.
    """

    name: str
    env: Environment
    files: tuple[EditedFile, ...]
    notes: tuple[str, ...]
    copy: str = ""
    draft: Draft = Draft(())
    plan: Plan = Plan((), ())
    folder: Path | None = None
    requested: Requested | None = None
    releases: tuple[ReleaseOutcome, ...] = ()
    gone: int = 0

    @property
    def ok(self) -> bool:
        """Whether the patchset was written."""
        return self.folder is not None

    @property
    def packages(self) -> dict[Located, set[str]]:
        """The packages of the files, and which files of each."""
        from patcher.author.proof import by_package  # with the engine

        return by_package((edited.file.located, edited.file.path) for edited in self.files)

    def difference(self, edited: EditedFile) -> str:
        """How the layout of a file differs from what was edited, "" where it does not."""
        return next(
            (file.difference for file in self.draft.files if edited.file.path in file.paths), ""
        )


def capture(
    words: Texts = (),
    *,
    name: str,
    place: Place = HERE,
    output: AnyPath | None = None,
    pristine: AnyPath = "",
    copy: AnyPath = "",
    partial: bool = False,
    also: Texts = (),
    events: Events = SILENT,
) -> CaptureOutcome:
    """Make a patchset of what was edited, or revise the one of that name; the environment is only read.

    Args:
        words: packages, distributions or files, all that is installed without any.
        name: that of the patchset.
        place: the environment.
        output: the directory in which its folder is put, `./patchsets` without one.
        pristine: a file, a wheel or a directory that has the original text, "" to find it.
        copy: a directory with edited copies of installed files (`edit`), "" where the installed files were edited.
        partial: make it also where parts of the edit cannot be put into it.
        also: releases (`1.2`, `NAME==1.2`) and directories of packages that it should hold for as well.
        events: takes what is done.

    Raises:
        UsageError: a patchset of that name is applied and is not that of the folder, or there is no such package or file.
        SitepatchError: nothing was edited, or what a file was before is not found.
    """
    from patcher.author.revise import written_patchset  # with the engine
    from patcher.verbs.proving import check_also, further_releases

    folder = named_folder(name, output)
    existing = folder if (folder / MANIFEST).is_file() else None
    if existing is None:
        output_folder(name, output, events.note)
    check_also(one_or_more(also))
    env = place.environment()
    events.started(env)
    note_interrupted(env, events)
    old = written_patchset(env, name, existing)
    words = one_or_more(words)
    notes: list[str] = []
    new: Sequence[str] = ()
    if copy:
        patched = (old.added, old.paths) if old else ()
        files = [EditedFile(*pair) for pair in copied(env, Path(copy), *patched)]
    else:
        own = [path for path in old.paths if path not in old.added] if old and words else []
        files, notes, new = _edited(env, (*words, *own), os.fspath(pristine), events)
    _check_apart(files)
    every = old.with_patched(files, os.fspath(copy)) if old else tuple(files)
    outcome = CaptureOutcome(name, env, every, tuple(notes), os.fspath(copy))
    releases, unread = further_releases(one_or_more(also), outcome.packages, events)
    outcome = outcome._replace(notes=(*outcome.notes, *unread))
    edited_keys = {edited.key for edited in files}
    outcome, texts = (
        _revised(outcome, old, edited_keys, releases)
        if old
        else _drafted(outcome, folder, releases)
    )
    outcome = outcome._replace(
        draft=_with_new(outcome.draft, [path for path in new if not old or path not in old.added])
    )
    if not (texts or (old and not outcome.gone)) or not (outcome.draft.complete or partial):
        return outcome
    patchset = load_patchset(
        folder, PatchsetSource(str(folder)), {**old.files, **texts} if old else texts
    )
    options = old.requested.options if old else resolve_options(patchset, {})
    outcome = _planned(outcome, Requested(patchset, options))
    if outcome.plan.failed:
        return outcome
    _check_unchanged(outcome)
    if old and texts:
        keep_beside(folder, texts)
    patchset = write_folder(folder, texts, replace=bool(old)) if texts else patchset
    remarks = tuple(_remarks(outcome, patchset, folder)) if old and texts else ()
    return outcome._replace(
        folder=folder, requested=Requested(patchset, options), notes=(*outcome.notes, *remarks)
    )


def _drafted(
    outcome: CaptureOutcome, folder: Path, releases: Sequence[Release]
) -> tuple[CaptureOutcome, dict[str, str]]:
    """The outcome with its hunks and what they do to the further releases; and the texts of the folder, {} without a hunk."""
    from patcher.author.hunks.generalise import generalise  # with the engine
    from patcher.verbs.proving import prove

    draft = generalise(
        [edited.edit for edited in outcome.files], [release.texts for release in releases]
    )
    outcome = outcome._replace(draft=draft)
    written = {path for file in draft.files if file.hunks for path in file.paths}
    kept = outcome._replace(
        files=tuple(edited for edited in outcome.files if edited.file.path in written)
    )
    if not kept.files:
        return outcome, {}
    named = shortened([edited.file.path for edited in kept.files], 2)
    origin = Message(
        "Captured from {releases}.",
        releases=", ".join(dict.fromkeys(item.file.release for item in kept.files)),
    )
    head = Head(outcome.name, Message("Edits made by hand in {named}", named=named), origin)
    proof = prove(
        folder,
        lambda targets: patchset_files(head, draft, targets),
        list(kept.packages),
        _diffs(kept.files),
        [(release, {}) for release in releases],
    )
    return outcome._replace(releases=proof.releases), proof.texts


def _revised(
    outcome: CaptureOutcome,
    old: WrittenPatchset,
    keys: Container[tuple[str, str]],
    releases: Sequence[Release],
) -> tuple[CaptureOutcome, dict[str, str]]:
    """The outcome with the new hunks and what becomes of further releases; and the texts that change, {} for none.

    `keys` are those of the files that were edited, one from which the change of the patchset was taken too.
    """
    from patcher.verbs.releases.against import try_release  # with the engine
    from patcher.verbs.releases.outcome import compared

    edits = [
        edited
        for edited in outcome.files
        if edited.key in keys or edited.before.data != edited.file.data
    ]
    draft, gone, texts = old.revision(edits, [release.texts for release in releases])
    outcome = outcome._replace(draft=draft, gone=gone)
    if not texts and outcome.copy and draft.complete:
        raise SitepatchError(
            "{folder}: nothing was edited", "save the file in the editor", folder=outcome.copy
        )
    loose = load_patchset(old.folder, old.requested.patchset.source, {**old.files, **texts})
    loose = loose._replace(
        variants=tuple(variant._replace(versions="") for variant in loose.variants)
    )
    requested = Requested(loose, old.requested.options)
    home = _diffs(outcome.files)
    tried = tuple(compared(try_release(requested, release.located), home) for release in releases)
    return outcome._replace(releases=tried), texts


def _planned(outcome: CaptureOutcome, requested: Requested) -> CaptureOutcome:
    """The outcome with the plan, and with what the patchset makes of each file."""
    edits = None if outcome.copy else _hand_edits(outcome.files)
    plan = make_plan(outcome.env, Wanted((requested,), force=edits is not None, edits=edits))
    results = {(file.site, file.path): file.after for file in plan.files}
    files = (
        edited._replace(made=results.get(edited.key, edited.before.data))
        for edited in outcome.files
    )
    return outcome._replace(files=tuple(files), plan=plan)


def _remarks(outcome: CaptureOutcome, patchset: Patchset, folder: Path) -> Iterator[str]:
    """What is to be known of a patchset that was revised: its ranges, and its cases that are not as expected any more."""
    from patcher.author.cases import run_cases  # with the engine

    releases = dict.fromkeys(edited.file.located.version for edited in outcome.files)
    for variant in patchset.variants:
        if variant.versions not in [f"=={release}" for release in releases]:
            template = "{package} {versions} stays its range, and only {releases} was tried; all of it with: {how}"
            words = Message("sitepatch check {name} --against all{here}", name=outcome.name)
            yield Message(
                template,
                package=variant.package,
                versions=variant.versions,
                releases=listed(list(releases), "or"),
                how=words,
            )
    for result in run_cases(patchset, folder):
        if result.problem:
            yield Message(
                "{file}: {problem}; mend the case", file=result.case.origin, problem=result.problem
            )


def adopt(
    captured: CaptureOutcome, *, place: Place = HERE, verify: str = IMPORT, events: Events = SILENT
) -> Outcome:
    """Apply a captured patchset in place of the edits, which are tracked from then on.

    Pristine copies, receipts and files are written in one commit. Where the patchset does not make an edited file byte for
    byte, that is kept in the store.

    Args:
        captured: what `capture` has returned.
        place: the environment in which that was.
        verify: `none`, `compile`, `import` or `probe`.
        events: takes what is done.

    Raises:
        StoreError: a file was changed since it was captured, or cannot be written.
    """
    env, requested, name = captured.env, captured.requested, captured.name
    if captured.folder is None or requested is None:
        raise SitepatchError("{name}: was not written, so it cannot be applied", name=name)
    dirs = (str(captured.folder.parent), *place.patch_dirs)
    Catalogue(dirs).check_trusted([name])
    settings = verify_settings(place, env, verify, [requested.patchset], events)
    events.started(env, [requested])
    edits = _hand_edits(captured.files)

    def look() -> Outcome:
        try:
            _check_unchanged(captured)
        except SitepatchError as error:
            hint = Message(
                "{folder} holds what was captured before: remove it, then run this again",
                folder=captured.folder,
            )
            raise StoreError(error.message, hint) from error
        plan = make_plan(env, Wanted((requested,), force=True, edits=edits))
        return Outcome(place._replace(patch_dirs=dirs), env, plan, (name,), (requested,))

    return carry_out(look, env, settings, events)


def _diffs(files: Sequence[EditedFile]) -> list[FileDiff]:
    """What was edited."""
    return [diff_texts(edited.file.site, *edited.edit) for edited in files]


def _hand_edits(files: Sequence[EditedFile]) -> HandEdits:
    return {edited.key: HandEdit(edited.before.pristine, edited.file.data) for edited in files}


def _with_new(draft: Draft, new: Sequence[str]) -> Draft:
    """The draft, and what it lacks of the files that are new: those that its hunks import."""
    why, hunks = Message("new, and imported: `+++ PATH` in the .spatch adds a file"), draft.spatch()
    names = {
        path: path.replace("/__init__.py", "").rpartition("/")[2].replace(".py", "") for path in new
    }
    imported = [
        path
        for path, name in names.items()
        if re.search(rf"(?m)^\+\s*(from|import) .*\b{re.escape(name)}\b", hunks)
    ]
    return Draft(
        (*draft.files, *(DraftFile((path,), (), (LeftOut(path, 0, "", why),)) for path in imported))
    )


def _edited(
    env: Environment, words: Sequence[str], pristine: str, events: Events
) -> tuple[list[EditedFile], list[str], tuple[str, ...]]:
    """The installed files that were edited, remarks, and files that are new."""
    unproven = bool(words and pristine)
    search = settled(env, lambda: find_changed(env, words, events.progress, unproven=unproven))
    texts = find_originals(search.files, pristine, events.note)
    files = [
        EditedFile(file, original)
        for file, original in zip(search.files, texts)
        if file.data != original.data
    ]
    if not files:
        problem = Message(
            "nothing was edited: {files}, each as it was installed or as a patchset made it",
            files=count(search.looked, "Python file"),
        )
        hint = Message("to edit a copy: sitepatch edit PACKAGE --name NAME{env}")
        raise SitepatchError(joined("\n", [problem, *search.notes]), hint)
    notes: list[str] = [
        Message("{one.file.path}: compared with {one.before.where}", one=edited) for edited in files
    ]
    for path, before in (
        (edited.file.path, edited.before) for edited in files if not edited.before.proven
    ):
        doubt = "nothing proves that {place} is what was installed (its sha256 is not in RECORD)"
        notes.append(Message("{path}: {what}", path=path, what=Message(doubt, place=before.where)))
    return files, [*notes, *search.notes], search.new


def _check_apart(files: Sequence[EditedFile]) -> None:
    paths = [edited.file.path for edited in files]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        sites = listed(list(dict.fromkeys(edited.file.site for edited in files)))
        template, hint = (
            "{name}: edited in {sites}; Python imports the first",
            Message("name one with --target"),
        )
        raise SitepatchError(template, hint, name=", ".join(twice), sites=sites)


def _check_unchanged(outcome: CaptureOutcome) -> None:
    for file in (edited.file for edited in outcome.files):
        home = outcome.copy or file.site
        if read_installed(home, file.path) != file.data:
            hint = Message("run this again when that is finished")
            raise SitepatchError(
                "{where}: was edited again while it was captured", hint, where=Path(home, file.path)
            )


@click.command(
    "capture",
    epilog="\b\nExamples:\n  sitepatch capture mmengine --name runner-debug --adopt\n"
    "  sitepatch capture mmengine/runner/runner.py --name runner-debug --pristine mmengine-0.10.7-py3-none-any.whl",
)
@click.argument("words", metavar="[PACKAGE|FILE]...", nargs=-1)
@click.option("--name", metavar="NAME", required=True, help="The name of the patchset.")
@output_option
@also_option
@click.option(
    "--partial", is_flag=True, help="Also where a part of the edit cannot be put into a patchset."
)
@click.option(
    "--pristine",
    metavar="FILE|WHEEL|DIR",
    default="",
    help="What was installed, where nothing else gives it.",
)
@click.option(
    "--from",
    "copy",
    metavar="DIR",
    default="",
    help="The directory of copies that edit --no-editor made.",
)
@click.option(
    "--adopt",
    "adopting",
    is_flag=True,
    help="Put the files back and apply the patchset in the place of the edit.",
)
@verify_option()
@common_options()
@patient
def command(
    console: Console,
    words: tuple[str, ...],
    pristine: str,
    copy: str,
    adopting: bool,
    verify: str,
    **options: Any,
) -> int:
    """Make a patchset of what was edited in the environment.

    Every installed Python file is compared with RECORD, or those of the packages and files that are named. What it was before
    comes from the store, from a backup beside it or from its release in the index, and RECORD's sha256 proves it. In a file
    that a patchset changed already, the edit is the difference to that.

    With --adopt, and on a terminal when asked, the patchset then takes the place of the edit: from then on it is tracked, and
    restore gives back the file as it was installed.

    Once more, after further edits, applied or not, it revises the patchset of that name: hunks that still hold stay as they
    are written, new ones are added, and its version is raised. The text before that is kept as FILE~ unless git has it.
    """
    if copy and (words or pristine or adopting):
        raise UsageError(
            "--from: found packages, files, --pristine or --adopt too", "it takes the copies alone"
        )
    outcome = capture(
        words, place=console.place, pristine=pristine, copy=copy, events=console, **options
    )
    if copy:
        return report_copies(console, outcome)
    _show(console, outcome)
    question = Message("put the files back and apply the patchset in the place of the edit?")
    if outcome.ok and (adopting or (console.asks and console.confirm(question))):
        applied = adopt(outcome, place=console.place, verify=verify, events=console)
        return report_outcome(console, applied, show_applied, **_json(outcome))
    if outcome.ok:
        chosen = ["--output", options["output"]] if options["output"] else []
        chosen += ["--pristine", pristine] if pristine else []
        chosen += ["--partial"] if options["partial"] else []
        line = console.command("capture", *words, "--name", outcome.name, *chosen, "--adopt")
        console.info("put it in the place of the edit with: {how}", how=line)
    return console.answer(outcome.ok, {"written": False, **_json(outcome)})


def report_copies(console: Console, outcome: CaptureOutcome) -> int:
    """Report what was captured of copies, and the command that applies it."""
    _show(console, outcome)
    if outcome.folder:
        show_how_to_apply(console, outcome.name, outcome.folder)
    return console.answer(outcome.ok, {"written": False, **_json(outcome)})


def _writers(outcome: CaptureOutcome) -> list[str]:
    """The applied patchsets that wrote a line which the edit takes away."""
    names: dict[str, None] = {}
    for edited in outcome.files:
        store = Store(edited.file.site)
        receipt = store.receipts().get(edited.file.path)
        if receipt is None:
            continue
        gone = set(edited.before.data.splitlines()) - set(edited.file.data.splitlines())
        text = store.pristine(receipt.pristine)
        for step in receipt.steps:
            made = apply_splices(text, step.splices)
            wrote = set(made.splitlines()) - set(text.splitlines())
            if wrote & gone and step.patchset != outcome.name:
                names[step.patchset] = None
            text = made
    return list(names)


def _show(console: Console, outcome: CaptureOutcome) -> None:
    """The diff of each file, the hunks that were made of it, what they do not give back, and where the patchset is."""
    draft, folder = outcome.draft, outcome.folder
    console.notes(outcome.notes)
    show_diffs(console, _diffs(outcome.files))
    show_hunks(console, draft)
    console.rows(
        [
            *left_rows(draft),
            *release_rows(outcome.releases, in_full=console.verbose),
            *answer_rows(outcome.plan.failed),
        ]
    )
    show_unlike(console, outcome.releases)
    if folder is None:
        for name in _writers(outcome) if outcome.plan.failed else ():
            text = (
                "the edit changes a line that {name} wrote: revise that patchset, {revise}, "
                "or take it out first, {restore}"
            )
            revise, restore = console.command("edit", name), console.command("restore", name)
            console.note(text, name=name, revise=revise, restore=restore)
        is_partial = not draft.complete and any(file.hunks for file in draft.files)
        advice = Message("; --partial makes one of the rest") if is_partial else ""
        console.note("no patchset was written{more}", "stopped", more=advice)
        return
    for path, edited in (
        (edited.file.path, edited) for edited in outcome.files if edited.made != edited.file.data
    ):
        template = "{path}: the patchset does not make it byte for byte as it was edited: {what}"
        console.note(template, path=path, what=outcome.difference(edited) or Message("see below"))
        show_diffs(console, [diff_texts("", path, edited.file.data, edited.made)])
    summary = Message("{hunks} in {folder}", hunks=number_of_hunks(draft), folder=folder)
    if outcome.gone:
        summary = Message("{what} in the place of {gone}", what=summary, gone=outcome.gone)
    elif not any(file.hunks for file in draft.files):
        summary = Message("{folder}, as it stands", folder=folder)
    if outcome.requested:
        show_written(console, "captured", summary=summary, patchset=outcome.requested.patchset)


def _json(outcome: CaptureOutcome) -> dict[str, Any]:
    files = [
        {
            "site": edited.file.site,
            "path": edited.file.path,
            "release": edited.file.release,
            "compared_with": edited.before.where,
            "proven": edited.before.proven,
            "exact": edited.made == edited.file.data,
            "difference": outcome.difference(edited),
            "diff": diff_texts(edited.file.site, *edited.edit).text,
        }
        for edited in outcome.files
    ]
    return {
        "patchset": outcome.name,
        "folder": str(outcome.folder or ""),
        "captured": files,
        "left": left_json(outcome.draft),
        "hunks": hunks_json(outcome.draft),
        "releases": list(map(release_json, outcome.releases)),
        "remarks": outcome.notes,
    }
