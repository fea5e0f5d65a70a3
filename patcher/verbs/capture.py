"""`capture`: an edit in an environment -> a patchset; `adopt`: applies it in place of the edit."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Container, Iterator, Sequence

import click

from patcher.author.cases import run_cases
from patcher.author.changed import find_changed
from patcher.author.copies import copied
from patcher.author.folder import (
    Head,
    PackageRange,
    keep_beside,
    named_folder,
    output_folder,
    patchset_files,
    proposed_name,
    write_folder,
)
from patcher.author.hunks.generalise import generalise
from patcher.author.hunks.moves import OtherFiles
from patcher.author.patched_texts import Release, by_package
from patcher.author.pristine import EditedFile, find_originals
from patcher.author.revise import WrittenPatchset, written_patchset
from patcher.author.spatch_draft import Draft, DraftFile, LeftOut, package_of
from patcher.display.console import Console
from patcher.display.plan import report_outcome, show_applied
from patcher.errors import SitepatchError, StoreError, UsageError
from patcher.facts import HandEdit, HandEdits, Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined
from patcher.model import Located, Patchset, PatchsetSource, Plan, Requested
from patcher.outcomes import Task
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import MANIFEST
from patcher.patchset.variants import resolve_options
from patcher.place import HERE, SILENT, Events, Place
from patcher.planner.survey import make_plan
from patcher.record import Record
from patcher.store.retry import settled
from patcher.store.status import read_installed
from patcher.text.listed import AnyPath, Texts, count, listed, one_or_more, shortened
from patcher.verbs.apply import ApplyOutcome
from patcher.verbs.authoring import also_option, output_option
from patcher.verbs.capture_report import (
    CaptureAnswer,
    CapturedEdits,
    CapturedHunks,
    CaptureOutcome,
    edit_diffs,
    report_copies,
    show_captured,
)
from patcher.verbs.change import carry_out, note_interrupted
from patcher.verbs.options import common_options, patient, verify_option
from patcher.verbs.releases.attempt import try_release
from patcher.verbs.releases.comparison import compared
from patcher.verbs.releases.further import check_also, further_releases, prove
from patcher.verbs.verification import verify_settings
from patcher.verify import IMPORT


class _FoundEdits(Record):
    """The files that were edited, remarks, and the paths of files that are new."""

    files: Sequence[EditedFile]
    notes: Sequence[str] = ()
    new: Sequence[str] = ()


def capture(
    words: Texts = (),
    *,
    name: str = "",
    place: Place = HERE,
    output: AnyPath | None = None,
    pristine: AnyPath = "",
    copy: AnyPath = "",
    partial: bool = False,
    also: Texts = (),
    events: Events = SILENT,
) -> CaptureOutcome:
    """Make a patchset of what was edited, or revise the one of that name; the rest is only read.

    Args:
        words: packages, distributions or files, all that is installed without any.
        name: that of the patchset; "" for one of the package and the scope that was edited.
        place: the environment.
        output: the directory in which its folder is put, `./patchsets` without one.
        pristine: a file, a wheel or a directory that has the original text, "" to find it.
        copy: a directory of edited copies (see `edit`), "" where installed files were edited.
        partial: make it also where parts of the edit cannot be put into it.
        also: further releases (`1.2`, `NAME==1.2`) and directories that it should hold for.
        events: takes what is done.

    Raises:
        UsageError: another patchset of that name is applied; there is no such package or file.
        SitepatchError: nothing was edited, or what a file was before is not found.
    """
    folder = named_folder(name, output) if name else None
    is_there = folder is not None and (folder / MANIFEST).is_file()
    if name and not is_there:
        output_folder(name, output, events.note)

    check_also(one_or_more(also))
    env = place.environment()
    events.started(env)
    note_interrupted(env, events)

    old = written_patchset(env, name, folder if is_there else None) if name else None
    if copy:
        found = _edited_copies(env, Path(copy), old)
    else:
        found = _edited_files(env, one_or_more(words), os.fspath(pristine), old, events=events)

    edits = _edits(env, found, old, copies=os.fspath(copy))
    releases, unread = further_releases(one_or_more(also), _packages(edits.files), events)
    if old:
        edited_keys = {edited.key for edited in found.files}
        hunks = _revised(edits, old, edited_keys, releases)
    else:
        draft = _drafted(edits, releases)
        name = name or proposed_name(draft, output)
        hunks = _proven(name, named_folder(name, output), draft, edits=edits, releases=releases)

    hunks = hunks._replace(draft=_with_new(hunks.draft, found.new))
    outcome = CaptureOutcome(name, edits, hunks, notes=(*found.notes, *unread))

    is_empty = not hunks.texts and (old is None or hunks.gone > 0)
    if is_empty or not (hunks.draft.complete or partial):
        return outcome
    return _written(outcome, named_folder(name, output), old)


# what was edited ----------------------------------------------------------------------------------
def _edited_copies(env: Environment, folder: Path, old: WrittenPatchset | None) -> _FoundEdits:
    """The copies in a directory that were edited."""
    added = old.added if old else ()
    paths = old.paths if old else ()
    pairs = copied(env, folder, added, paths)
    return _FoundEdits([EditedFile(file, original) for file, original in pairs])


def _edited_files(
    env: Environment,
    words: Sequence[str],
    pristine: str,
    old: WrittenPatchset | None,
    *,
    events: Events,
) -> _FoundEdits:
    """The installed files that were edited.

    Of a patchset that is revised its own files are searched, too, where others are named; those
    that it adds are not new.
    """
    added = old.added if old else ()
    own: list[str] = []
    if old and words:
        own = [path for path in old.paths if path not in added]
    names = (*words, *own)
    unproven = bool(names and pristine)
    search = settled(env, lambda: find_changed(env, names, events.progress, unproven=unproven))
    originals = find_originals(search.files, pristine, events.note)
    files = []
    for file, original in zip(search.files, originals):
        if file.data != original.data:
            files.append(EditedFile(file, original))
    if not files:
        template = "nothing was edited: {files}, each as it was installed or as a patchset made it"
        problem = Message(template, files=count(search.looked, "Python file"))
        hint = Message("to edit a copy: sitepatch edit PACKAGE --name NAME{env}")
        raise SitepatchError(joined("\n", [problem, *search.notes]), hint)
    notes = [*_origin_notes(files), *search.notes]
    return _FoundEdits(files, notes=notes, new=[path for path in search.new if path not in added])


def _origin_notes(files: Sequence[EditedFile]) -> list[str]:
    """What each file was compared with, then what is not proven to be what was installed."""
    notes: list[str] = []
    for edited in files:
        where = edited.before.where
        notes.append(Message("{path}: compared with {where}", path=edited.file.path, where=where))
    for edited in files:
        if not edited.before.proven:
            template = (
                "nothing proves that {place} is what was installed (its sha256 is not in RECORD)"
            )
            doubt = Message(template, place=edited.before.where)
            notes.append(Message("{path}: {what}", path=edited.file.path, what=doubt))
    return notes


def _edits(
    env: Environment, found: _FoundEdits, old: WrittenPatchset | None, *, copies: str
) -> CapturedEdits:
    """The edits, and of a patchset that is revised its other files.

    Raises:
        SitepatchError: a file was edited in several site directories.
    """
    paths = [edited.file.path for edited in found.files]
    twice = sorted({path for path in paths if paths.count(path) > 1})
    if twice:
        sites = listed(list(dict.fromkeys(edited.file.site for edited in found.files)))
        problem = "{name}: edited in {sites}; Python imports the first"
        hint = Message("name one with --target")
        raise SitepatchError(problem, hint, name=", ".join(twice), sites=sites)
    files = old.with_patched(found.files, copies) if old else tuple(found.files)
    return CapturedEdits(env, files, copies)


def _packages(files: Sequence[EditedFile]) -> dict[Located, set[str]]:
    """The packages of files, and which files of each."""
    return by_package((edited.file.located, edited.file.path) for edited in files)


def _check_unchanged(edits: CapturedEdits) -> None:
    """Refuse where a file is not as it was captured any more."""
    for edited in edits.files:
        home = edits.copy or edited.file.site
        path = edited.file.path
        if read_installed(home, path) != edited.file.data:
            problem = "{where}: was edited again while it was captured"
            hint = Message("run this again when that is finished")
            raise SitepatchError(problem, hint, where=Path(home, path))


# what is made of it -------------------------------------------------------------------------------
def _drafted(edits: CapturedEdits, releases: Sequence[Release]) -> Draft:
    """The hunks of a new patchset."""
    edited_files = [edited.edit for edited in edits.files]
    sites = {package_of(edited.file.path): edited.file.site for edited in edits.files}

    def installed(path: str) -> bytes | None:
        return read_installed(sites[package_of(path)], path)

    return generalise(
        edited_files,
        [release.texts for release in releases],
        elsewhere=OtherFiles([release.rest for release in releases], installed),
    )


def _proven(
    name: str,
    folder: Path,
    draft: Draft,
    *,
    edits: CapturedEdits,
    releases: Sequence[Release],
) -> CapturedHunks:
    """The hunks of a new patchset, what they do to further releases, the texts of its folder.

    The texts are {} without a hunk.
    """
    paths_in_hunks: set[str] = set()
    for file in draft.files:
        if file.hunks:
            paths_in_hunks.update(file.paths)
    files = [edited for edited in edits.files if edited.file.path in paths_in_hunks]
    if not files:
        return CapturedHunks(draft)

    named = shortened([edited.file.path for edited in files], 2)
    origins = ", ".join(dict.fromkeys(edited.file.release for edited in files))
    head = Head(
        name=name,
        summary=Message("Edits made by hand in {named}", named=named),
        prose=Message("Captured from {releases}.", releases=origins),
    )

    def texts(targets: Sequence[PackageRange]) -> dict[str, str]:
        return patchset_files(head, draft, targets)

    proof = prove(
        folder,
        texts,
        homes=list(_packages(files)),
        home_diffs=edit_diffs(files),
        releases=[(release, {}) for release in releases],
    )
    return CapturedHunks(draft, texts=proof.texts, releases=proof.releases)


def _revised(
    edits: CapturedEdits,
    old: WrittenPatchset,
    edited_keys: Container[tuple[str, str]],
    releases: Sequence[Release],
) -> CapturedHunks:
    """The new hunks of a patchset that is there, what becomes of further releases, new texts.

    Args:
        edits: what was edited, and the other files of the patchset.
        old: the patchset.
        edited_keys: those of the files that were edited, one from which the change of the patchset
            was taken too.
        releases: the further releases.
    """
    changed = []
    for edited in edits.files:
        if edited.key in edited_keys or edited.before.data != edited.file.data:
            changed.append(edited)
    draft, gone, texts = old.revision(changed, [release.texts for release in releases])
    if not texts and edits.copy and draft.complete:
        problem = "{folder}: nothing was edited"
        raise SitepatchError(problem, "save the file in the editor", folder=edits.copy)

    source = old.requested.patchset.folder.source
    patchset = load_patchset(old.folder, source, {**old.files, **texts})
    for_all = tuple(variant._replace(versions="") for variant in patchset.variants)
    requested = Requested(patchset._replace(variants=for_all), old.requested.options)
    outcomes = []
    for release in releases:
        outcome = try_release(requested, release.located)
        outcomes.append(compared(outcome, edits.diffs))
    return CapturedHunks(draft, texts=texts, releases=tuple(outcomes), gone=gone)


def _with_new(draft: Draft, new: Sequence[str]) -> Draft:
    """The draft, and what it lacks of the files that are new: those that its hunks import."""
    hunks = draft.spatch()
    why = Message("new, and imported: `+++ PATH` in the .spatch adds a file")
    files = list(draft.files)
    for path in new:
        module = path.replace("/__init__.py", "").rpartition("/")[2].replace(".py", "")
        if re.search(rf"(?m)^\+\s*(from|import) .*\b{re.escape(module)}\b", hunks):
            left_out = LeftOut(path, 0, text="", why=why)
            files.append(DraftFile((path,), (), left_out=(left_out,)))
    return Draft(tuple(files))


# what is written ----------------------------------------------------------------------------------
def _written(outcome: CaptureOutcome, folder: Path, old: WrittenPatchset | None) -> CaptureOutcome:
    """The outcome, with the patchset written to its folder where it fits in place of the edits."""
    texts = outcome.hunks.texts
    all_texts = {**old.files, **texts} if old else texts
    patchset = load_patchset(folder, PatchsetSource(str(folder)), all_texts)
    options = old.requested.options if old else resolve_options(patchset, {})
    plan, edits = _planned(outcome.edits, Requested(patchset, options))
    if plan.failed:
        return outcome._replace(edits=edits, plan=plan)
    _check_unchanged(edits)

    notes = list(outcome.notes)
    if texts:
        if old:
            keep_beside(folder, texts)
        patchset = write_folder(folder, texts, replace=bool(old))
        if old:
            notes += _revision_notes(edits, patchset, folder)
    return CaptureOutcome(
        name=outcome.name,
        edits=edits,
        hunks=outcome.hunks,
        notes=tuple(notes),
        plan=plan,
        folder=folder,
        requested=Requested(patchset, options),
    )


def _planned(edits: CapturedEdits, requested: Requested) -> tuple[Plan, CapturedEdits]:
    """The plan that applies a patchset, and the edits with what the patchset makes of each file."""
    hand_edits = None if edits.copy else _hand_edits(edits.files)
    wanted = Wanted((requested,), force=hand_edits is not None, edits=hand_edits)
    plan = make_plan(edits.env, wanted)
    results = {(file.site, file.path): file.after for file in plan.files}
    files = []
    for edited in edits.files:
        result = results.get(edited.key, edited.before.data)
        files.append(edited._replace(made=result))
    return plan, edits._replace(files=tuple(files))


def _hand_edits(files: Sequence[EditedFile]) -> HandEdits:
    return {edited.key: HandEdit(edited.before.pristine, edited.file.data) for edited in files}


def _revision_notes(edits: CapturedEdits, patchset: Patchset, folder: Path) -> Iterator[str]:
    """What is to be known of a patchset that was revised.

    Those of its ranges that were not tried as a whole, and its cases that are not as expected any
    more.
    """
    releases = list(dict.fromkeys(edited.file.located.version for edited in edits.files))
    for variant in patchset.variants:
        if variant.versions not in [f"=={release}" for release in releases]:
            template = (
                "{package} {versions} stays its range, and only {releases} was tried; "
                "all of it with: {how}"
            )
            yield Message(
                template,
                package=variant.package,
                versions=variant.versions,
                releases=listed(releases, "or"),
                how=Message("sitepatch check {name} --against all{here}", name=patchset.name),
            )
    for result in run_cases(patchset, folder):
        if result.problem:
            template = "{file}: {problem}; mend the case"
            yield Message(template, file=result.case.origin, problem=result.problem)


def adopt(
    captured: CaptureOutcome, *, place: Place = HERE, verify: str = IMPORT, events: Events = SILENT
) -> ApplyOutcome:
    """Apply a captured patchset in place of the edits, which are tracked from then on.

    Pristine copies, receipts and files are written in one commit. Where the patchset does not make
    an edited file byte for byte, that is kept in the store.

    Args:
        captured: what `capture` has returned.
        place: the environment in which that was.
        verify: `none`, `compile`, `import` or `probe`.
        events: takes what is done.

    Raises:
        StoreError: a file was changed since it was captured, or cannot be written.
    """
    env, name = captured.edits.env, captured.name
    folder, requested = captured.folder, captured.requested
    if folder is None or requested is None:
        raise SitepatchError("{name}: was not written, so it cannot be applied", name=name)
    patch_dirs = (str(folder.parent), *place.patch_dirs)
    Catalogue(patch_dirs).check_trusted([name])
    settings = verify_settings(place, env, verify, [requested.patchset], events=events)
    events.started(env, [requested])
    wanted = Wanted((requested,), force=True, edits=_hand_edits(captured.files))

    task = Task(patch_dirs, env, names=(name,), requested=(requested,))

    def look() -> ApplyOutcome:
        try:
            _check_unchanged(captured.edits)
        except SitepatchError as error:
            template = "{folder} holds what was captured before: remove it, then run this again"
            raise StoreError(error.message, Message(template, folder=folder)) from error
        return ApplyOutcome(task, make_plan(env, wanted))

    return carry_out(look, env, settings, events)


# the command --------------------------------------------------------------------------------------
@click.command(
    "capture",
    epilog=(
        "\b\nExamples:\n"
        "  sitepatch capture mmengine --name runner-debug --adopt\n"
        "  sitepatch capture mmengine/runner/runner.py --name runner-debug "
        "--pristine mmengine-0.10.7-py3-none-any.whl"
    ),
)
@click.argument("words", metavar="[PACKAGE|FILE]...", nargs=-1)
@click.option("--name", metavar="NAME", default="", help="The name of the patchset.")
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
    help="Put the files back and apply the patchset in place of the edit.",
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

    Every installed Python file is compared with RECORD, or those of the packages and files that are
    named. What it was before comes from the store, from a backup beside it or from its release in
    the index, and RECORD's sha256 proves it. In a file that a patchset changed already, the edit is
    the difference to that.

    With --adopt, and on a terminal when asked, the patchset then takes the place of the edit: from
    then on it is tracked, and restore gives back the file as it was installed.

    Once more, after further edits, applied or not, it revises the patchset of that name: hunks that
    still hold stay as they are written, new ones are added, and its version is raised. The text
    before that is kept as FILE~ unless git has it.
    """
    if copy and (words or pristine or adopting):
        problem = Message("--from: found packages, files, --pristine or --adopt too")
        raise UsageError(problem, "it takes the copies alone")
    if not (options["name"] or copy):
        context = click.get_current_context()
        option = next(each for each in context.command.params if each.name == "name")
        raise click.MissingParameter(ctx=context, param=option)
    outcome = capture(
        words, place=console.place, pristine=pristine, copy=copy, events=console, **options
    )
    if copy:
        return report_copies(console, outcome)

    show_captured(console, outcome)
    if outcome.ok and not adopting and console.asks:
        adopting = console.confirm(Message("replace your edit with the patchset?"))
    if outcome.ok and adopting:
        applied = adopt(outcome, place=console.place, verify=verify, events=console)
        report_outcome(console, applied)
        if applied.written:
            show_applied(console, applied)
        return console.answer(applied.ok, CaptureAnswer(outcome, adopted=applied))
    if outcome.ok:
        again = ["capture", *words, "--name", outcome.name]
        if options["output"]:
            again += ["--output", options["output"]]
        if pristine:
            again += ["--pristine", pristine]
        if options["partial"]:
            again.append("--partial")
        line = console.command(*again, "--adopt")
        console.info("replace the edit with the patchset: {how}", how=line)
    return console.answer(outcome.ok, CaptureAnswer(outcome))
