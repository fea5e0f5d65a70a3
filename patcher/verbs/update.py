"""`update`: a patchset for further releases.

Its range is widened to those that it fits, or a variant is added.
"""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import Mapping, Sequence, Tuple

import click

from patcher.author.copies import Copies, laid_out
from patcher.author.folder import PackageRange, own_folder, variant_text, write_folder
from patcher.author.hunks.generalise import generalise
from patcher.author.manifest import patch_files, with_patch_files, with_variant, with_versions
from patcher.author.patched_texts import check_edit, with_patches
from patcher.author.ranges import ended, overlapping, widened
from patcher.author.revise import with_marks, without_marks
from patcher.author.spatch_draft import Draft, FileEdit
from patcher.display.console import Console
from patcher.display.explained import explained_row
from patcher.display.styles import Row
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import Location, SitepatchError
from patcher.installed.environment import locate
from patcher.installed.versions import accepts, is_range, is_version, overlap
from patcher.message import Message
from patcher.model import FilePatch, HunkText, Patchset, Variant
from patcher.patchset.layers import patch_name
from patcher.patchset.places import MANIFEST
from patcher.patchset.variants import paths_of, pick_variants, resolve_options
from patcher.place import HERE, SILENT, Events, Place
from patcher.record import Record, reported
from patcher.store.status import read_installed
from patcher.system.reading import read_file
from patcher.text.listed import AnyPath, Texts, one_or_more
from patcher.verbs.authoring import (
    left_rows,
    release_rows,
    show_hunks,
    show_unlike,
)
from patcher.verbs.editor import edit_copies
from patcher.verbs.options import common_options, complete_names
from patcher.verbs.releases.choice import ALL, check_against
from patcher.verbs.releases.trials import ReleaseTrial, try_on_releases


class NewRange(Record):
    """A variant whose range changed.

    Attributes:
        package: its import package.
        before: its range before (PEP 440).
        now: its range now.
    """

    package: str
    before: str
    now: str


class PatchsetChange(Record):
    """What was changed in the folder of a patchset.

    Attributes:
        written: whether anything was.
        ranges: the variants whose range changed.
        draft: the hunks of the variant that was added.
        added: the name of its `.spatch`, "" where none was added.
    """

    written: bool = False
    ranges: tuple[NewRange, ...] = ()
    draft: Draft = Draft(())
    added: str = ""


@reported("name folder releases problems *change notes next_patch")
class UpdateOutcome(Record):
    """The outcome of an update.

    Attributes:
        folder: the folder of the patchset.
        patchset: the patchset as it is now.
        releases: what it did to each release before the update.
        problems: a message for each release that cannot be fetched.
        change: what was changed in the folder.
        notes: remarks for the user.
        next_patch: the next patch that does not fit, "" for none.
    """

    folder: Path
    patchset: Patchset
    releases: tuple[ReleaseTrial, ...]
    problems: tuple[str, ...] = ()
    change: PatchsetChange = PatchsetChange()
    notes: tuple[str, ...] = ()
    next_patch: str = ""

    @property
    def name(self) -> str:
        """The name of the patchset."""
        return self.patchset.name

    @property
    def ok(self) -> bool:
        """Whether the patchset holds for every release that was named or is in its range.

        After an edit: whether that added a variant, and no further patch has to be edited.
        """
        if self.next_patch:
            return False
        if self.change.added:  # the releases were tried before it was
            return True
        if self.problems or self.change.draft.files:
            return False
        asked_for = [trial for trial in self.releases if trial.named or trial.inside]
        return all(trial.outcome.ok for trial in asked_for)


def update(
    name: str,
    to: Texts = (),
    *,
    place: Place = HERE,
    copy: AnyPath = "",
    events: Events = SILENT,
) -> UpdateOutcome:
    """Try a patchset on releases and widen its range to those that it fits, or add a variant.

    Args:
        name: of a patchset.
        to: versions, ranges, `all` and `newest`; the installed release without any.
        place: the environment.
        copy: a directory with edited copies (`copy_release`) of the files of the first patch that
            does not fit, in the one release that it does not fit; "" to make no variant.
        events: takes what is done.

    Raises:
        UsageError: an unknown name or release.
        SitepatchError: the folder may not be written, or nothing was edited.
        PatchError: the patchset is invalid.
    """
    releases = one_or_more(to)
    outcome = _try(name, releases, place, events=events)
    if not copy:
        return _wider(outcome, releases)
    outcome = _with_variant(outcome, os.fspath(copy), releases, place=place)
    if not outcome.change.added:
        return outcome
    for trial in _try(name, releases, place, events=events).releases:
        drifted = "" if trial.outcome.ok else _first_unfit(trial)
        if drifted:
            return outcome._replace(next_patch=drifted)
    return outcome


def copy_release(
    name: str, to: Texts = (), *, place: Place = HERE, events: Events = SILENT
) -> Copies:
    """Copy the files of the release that a patchset does not fit, to be edited for `update`.

    They are those of the first patch that does not fit, as the patches before it make them, and
    with its hunks that fit.

    Raises:
        SitepatchError: as for `update`; or it fits every release, or several do not fit.
    """
    outcome = _try(name, one_or_more(to), place, events=events)
    trial = _unfit(outcome.releases)
    texts = {}
    for path, (_, prepared) in _texts(outcome.patchset, trial).items():
        texts[path] = prepared
    return laid_out(trial.located, texts)


def _try(name: str, to: Sequence[str], place: Place, *, events: Events) -> UpdateOutcome:
    """The patchset and what it does to the requested releases; nothing is changed."""
    check_against(to, "--to")
    folder, patchset = own_folder(name, place.patch_dirs)
    releases, problems = try_on_releases(place, folder, patchset, to=to, events=events)
    return UpdateOutcome(folder, patchset, tuple(releases), problems=tuple(problems))


# a wider range ----------------------------------------------------------------------------------
def _wider(outcome: UpdateOutcome, to: Sequence[str]) -> UpdateOutcome:
    """Widen the ranges to the releases that fit, and write them."""
    variants = list(outcome.patchset.variants)
    failed = [trial.located.version for trial in outcome.releases if not trial.outcome.ok]
    notes: list[str] = []
    for number, variant in enumerate(variants):
        fitting = _fitting(outcome, number)
        wide = widened(variant.versions, fitting, failed=failed if variant.versions else [])
        note = _overlap_note(variants, number, wide)
        if note:
            notes.append(note)
            continue
        variants[number] = variant._replace(versions=wide)
        if not _all_tried(variant.versions, fitting, to):
            template = (
                "{package} {wide}: of the releases that came in, only those above were tried; "
                "all of them with --to {range}"
            )
            note = Message(template, package=variant.package, wide=wide, range=quote(wide))
            notes.append(note)
    return _written(outcome._replace(notes=tuple(notes)), variants, {})


def _fitting(outcome: UpdateOutcome, number: int) -> list[str]:
    """The versions that variant `number` fits."""
    fitting = []
    for trial in outcome.releases:
        if trial.variant == number and trial.outcome.fits:
            fitting.append(trial.located.version)
    return fitting


def _overlap_note(variants: Sequence[Variant], number: int, wide: str) -> str:
    """Why the range of variant `number` stays: another one has some of it; "" if none has."""
    variant = variants[number]
    if wide == variant.versions:
        return ""
    overlaps = overlapping(variants, number, wide)
    if not overlaps:
        return ""
    template = "{package} {wide} fits, and is not written: it has releases of {versions}"
    versions = overlaps[0].versions
    return Message(template, package=variant.package, wide=wide, versions=versions)


def _all_tried(versions: str, fitting: Sequence[str], to: Sequence[str]) -> bool:
    """Whether every release was tried that comes in as a range is widened to the fitting ones.

    That is so if `to` has `all`, or a range with all of them that joins the old one.
    """
    new = [version for version in fitting if not accepts(versions, version)]
    if not new:
        return True
    for request in to:
        if request != ALL and not is_range(request):
            continue
        range_tried = "" if request == ALL else request
        if overlap(range_tried, versions) and all(accepts(range_tried, version) for version in new):
            return True
    return False


def _written(
    outcome: UpdateOutcome,
    variants: Sequence[Variant],
    texts: Mapping[str, str],
    *,
    extra: str = "",
) -> UpdateOutcome:
    """Write the ranges of variants, files, and a new variant: all or nothing.

    Args:
        outcome: the update.
        variants: those of the patchset, with their new ranges.
        texts: files by name.
        extra: the text of a new variant in the manifest, "" for none.
    """
    manifest = read_file(outcome.folder / MANIFEST).decode("utf-8")
    ranges = []
    for number, (old, new) in enumerate(zip(outcome.patchset.variants, variants)):
        if old.versions != new.versions:
            manifest = with_versions(manifest, number, new.versions)
            ranges.append(NewRange(old.package, old.versions, now=new.versions))
    if not (ranges or extra):
        return outcome
    if extra:
        manifest = with_variant(manifest, extra)
    patchset = write_folder(outcome.folder, {MANIFEST: manifest, **texts}, replace=True)
    change = outcome.change._replace(ranges=tuple(ranges), written=True)
    return outcome._replace(patchset=patchset, change=change)


# a further variant ------------------------------------------------------------------------------
def _unfit(trials: Sequence[ReleaseTrial]) -> ReleaseTrial:
    """The one release that the patchset does not fit.

    Raises:
        SitepatchError: there is none, or there are several.
    """
    unfit = [trial for trial in trials if not trial.outcome.ok]
    if not unfit:
        problem = "nothing to update: it fits every release that is asked for"
        raise SitepatchError(problem, "name another one with --to")
    if len(unfit) > 1:
        releases = [trial.outcome.release for trial in unfit]
        names = ", ".join(f"{release.distribution} {release.version}" for release in releases)
        problem = "it does not fit {names}: one can be edited at a time"
        raise SitepatchError(problem, Message("name it with --to VERSION"), names=names)
    return unfit[0]


_Files = Mapping[str, Tuple[bytes, bytes]]
"""By path: the text of a file, and that with each hunk that fits by itself."""


def _texts(patchset: Patchset, trial: ReleaseTrial) -> _Files:
    """The files of a release that are edited: those of the first patch that does not fit.

    Without such a patch they are all files that the patchset is for. A file that the release no
    longer has is replaced by the one that now has the scopes of its hunks.

    Raises:
        SitepatchError: there is none.
    """
    located = trial.located
    options = resolve_options(patchset, {})
    variant = patchset.variants[trial.variant]
    first_unfit = _first_unfit(trial)
    patches_before, patches = _split_at(variant, first_unfit)

    hunks: dict[str, tuple[HunkText, ...]] = {}
    for path in paths_of(pick_variants(patchset)[located.package]):
        hunks[path] = ()
    for patch in patches:
        if patch.deletes:
            continue
        homes = _homes(trial, patch)
        for path in _present(trial, patch):
            for hunk in patch.hunks:
                home = homes.get(hunk.line, path)
                hunks[home] = (*hunks.get(home, ()), hunk)

    pristine: dict[str, bytes] = {}
    for path in hunks:
        data = read_installed(located.site, path)
        is_edited = bool(hunks[path]) or not first_unfit
        if data is not None and is_edited:
            pristine[path] = data

    patched = with_patches(pristine, patches_before, options, names=variant.names)
    files = {}
    for path, code in patched.texts.items():
        files[path] = (code, with_marks(code, hunks[path], options))
    if not files:
        template = "{distribution} {version} has none of the files of this patchset"
        hint = "make a patchset of its own for that release: sitepatch edit"
        release = trial.outcome
        problem = Message(template, distribution=release.distribution, version=release.version)
        raise SitepatchError(problem, hint)
    return files


def _first_unfit(trial: ReleaseTrial) -> str:
    """The first patch that does not fit; "" if all do, or the whole package is refused."""
    for patch in trial.outcome.patches:
        if patch.problem:
            return patch.name
    return ""


def _split_at(variant: Variant, name: str) -> tuple[list[FilePatch], list[FilePatch]]:
    """The file patches before the patch of that name, and those of the patch.

    If no patch has that name: none, and all of the variant.
    """
    names = [patch_name(patch.hunks[0].origin) for patch in variant.patches]
    if name not in names:
        return [], list(variant.patches)
    first = names.index(name)
    end = first + names.count(name)
    return list(variant.patches[:first]), list(variant.patches[first:end])


def _present(trial: ReleaseTrial, patch: FilePatch) -> list[str]:
    """The files of a patch that a release has; else the file that has most of its scopes now."""
    site = Path(trial.located.site)
    paths = [path for path in patch.places if (site / path).is_file()]
    if paths or patch.adds or patch.deletes:
        return paths
    moved = []
    for answer in trial.answers:
        if answer.path in patch.places:
            moved += [file.path for file in answer.elsewhere]
    return [max(moved, key=moved.count)] if moved else []


def _homes(trial: ReleaseTrial, patch: FilePatch) -> dict[int, str]:
    """The other file that has the code of a hunk now, by the line of the hunk."""
    homes: dict[int, str] = {}
    for answer in trial.answers:
        is_of_patch = answer.path in patch.places and answer.origin == patch.hunks[0].origin
        if is_of_patch and answer.explanation and answer.elsewhere:
            homes[answer.explanation.line] = answer.elsewhere[0].path
    return homes


def _edits(outcome: UpdateOutcome, trial: ReleaseTrial, copy: str) -> list[FileEdit]:
    """What was edited in the copies, compared with the release without the marks.

    Raises:
        SitepatchError: nothing was.
    """
    edits: list[FileEdit] = []
    is_saved = False
    for path, (original, prepared) in _texts(outcome.patchset, trial).items():
        saved = read_installed(copy, path)
        if saved is None:
            continue
        is_saved = is_saved or saved != prepared
        after = without_marks(saved)
        if after != original:
            edits.append(FileEdit(path, original, after=after))
    if not is_saved:
        hint = Message("save the file in the editor")
        raise SitepatchError("{advice}: nothing was edited", hint, advice=copy)
    return edits


def _with_variant(
    outcome: UpdateOutcome, copy: str, to: Sequence[str], *, place: Place
) -> UpdateOutcome:
    """Add a variant made of the edited copies: the edited patch replaces the drifted one."""
    patchset = outcome.patchset
    trial = _unfit(outcome.releases)
    edits = _edits(outcome, trial, copy)
    draft = generalise(edits)
    if not draft.complete or not any(file.hunks for file in draft.files):
        return outcome._replace(change=PatchsetChange(draft=draft))

    release = trial.located.version.split("+")[0]
    drifted = _first_unfit(trial)
    spatch = f"{drifted or patchset.name}-{release}.spatch"
    text = draft.spatch(_prose(patchset, drifted, spatch))
    _check_free(outcome, spatch, text)
    _, patches = parse_spatch(text, spatch)
    for edit in edits:
        check_edit(edit, draft, patches)

    notes = tuple(_remarks(draft, patchset))
    outcome = outcome._replace(change=PatchsetChange(draft=draft, added=spatch), notes=notes)
    names = _with_new_patch(patchset, trial, spatch)
    nearest = patchset.variants[trial.variant]
    is_begun = nearest.versions == f"=={release}"  # its first patch was edited before
    if drifted and is_begun:
        manifest = with_patch_files(patchset.folder.files[MANIFEST], trial.variant, names)
        patchset = write_folder(outcome.folder, {spatch: text, MANIFEST: manifest}, replace=True)
        change = outcome.change._replace(written=True)
        return outcome._replace(patchset=patchset, change=change)

    distribution = trial.located.distribution if nearest.distributions else ""
    target = PackageRange(nearest.package, distribution, f"=={release}")
    entry = variant_text(target, names if drifted else [spatch], nearest.names)
    variants = list(patchset.variants)
    if trial.inside:
        versions = _ended_range(outcome, trial, to, place=place)
        variants[trial.variant] = nearest._replace(versions=versions)
    return _written(outcome, variants, {spatch: text}, extra=entry)


def _with_new_patch(patchset: Patchset, trial: ReleaseTrial, spatch: str) -> list[str]:
    """The `.spatch` files of the tried variant, `spatch` in the place of the one that drifted."""
    drifted = _first_unfit(trial)
    names = []
    for name in patch_files(patchset.folder.files[MANIFEST])[trial.variant]:
        names.append(spatch if patch_name(name) == drifted else name)
    return names


def _prose(patchset: Patchset, drifted: str, spatch: str) -> str:
    """The prose of the patch that drifted, "" if it has none.

    `spatch` names the new file in messages.
    """
    for name, text in patchset.folder.files.items():
        if name.endswith(".spatch") and patch_name(name) == drifted:
            return parse_spatch(text, spatch)[0]
    return ""


def _check_free(outcome: UpdateOutcome, spatch: str, text: str) -> None:
    """Refuse to write over a file of the folder.

    A file that a killed run left behind, before it wrote the manifest, may be overwritten.

    Raises:
        SitepatchError: there is such a file.
    """
    destination = outcome.folder / spatch
    is_left = (
        destination.is_file()
        and spatch not in outcome.patchset.folder.files
        and read_file(destination) == text.encode("utf-8")
    )
    if destination.exists() and not is_left:
        hint = Message("edit it, or remove it and its [[variant]] first")
        raise SitepatchError.at(Location(str(destination)), "is there already", hint)


def _remarks(draft: Draft, patchset: Patchset) -> list[str]:
    """How the new hunks differ from what was edited."""
    template = "{paths}: it is not byte for byte as edited: {difference}"
    remarks: list[str] = []
    for file in draft.unlike:
        remarks.append(Message(template, paths=file.paths[0], difference=file.difference))
    if patchset.options:
        remarks.append(Message("the values of options are written out in the new hunks"))
    return remarks


def _ended_range(
    outcome: UpdateOutcome, trial: ReleaseTrial, to: Sequence[str], *, place: Place
) -> str:
    """The range of the variant that does not fit, ended at that release.

    Raises:
        SitepatchError: nothing would be left of it.
    """
    variant, version = outcome.patchset.variants[trial.variant], trial.located.version
    installed = _installed_version(variant, place) if to else ""
    versions = ended(variant.versions, version, installed)
    if not overlap(versions, variant.versions):
        template = "the variant for {versions} is for {version} alone, and does not fit it"
        problem = Message(template, versions=variant.versions, version=version)
        hint = Message("correct its hunks: {folder}", folder=outcome.folder)
        raise SitepatchError(problem, hint)
    return versions


def _installed_version(variant: Variant, place: Place) -> str:
    """The installed version, "" where the variant is not for it."""
    try:
        version = locate(place.environment(), variant.package, paths_of([variant])).version
    except SitepatchError:
        return ""
    return version if is_version(version) and accepts(variant.versions, version) else ""


# the command ------------------------------------------------------------------------------------
@click.command(
    "update",
    epilog="\b\nExamples:\n  sitepatch update runner-debug --to 0.11.0\n"
    "  sitepatch update runner-debug --to 0.11.0 --edit",
)
@click.argument("name", shell_complete=complete_names)
@click.option(
    "--to",
    metavar="RELEASE|all",
    multiple=True,
    help="A version, a range, newest or all (default: the installed one); repeatable.",
)
@click.option(
    "--edit",
    is_flag=True,
    help="Edit the files of the one release that it does not fit, and add a variant for it.",
)
@click.option(
    "--from",
    "copy",
    metavar="DIR",
    default="",
    help="The directory of copies that were edited with --edit before.",
)
@common_options()
def command(console: Console, name: str, to: tuple[str, ...], edit: bool, copy: str) -> int:
    """Make a patchset hold for further releases.

    Where it fits, the range of its variant is widened to there. Where it does not, the code is
    shown that came in the place of what it looks for; with --edit the files of that release are
    opened in $VISUAL or $EDITOR, and what is edited becomes a further variant, so that one patchset
    holds on both sides of the change. The environment is not touched.

    The patches that do not fit are opened one by one, each as those before it make its files. What
    was edited is in the patchset: a run that was interrupted goes on with the next one.
    """
    if copy or not edit:
        outcome = update(name, to, place=console.place, copy=copy, events=console)
        return _report(console, to, copy, outcome=outcome)
    code, next_patch = 0, name
    while next_patch and not code:
        code, next_patch = _edit_next(console, name, to)
    return code


def _edit_next(console: Console, name: str, to: tuple[str, ...]) -> tuple[int, str]:
    """Edit the first patch that does not fit, and report it.

    Returns:
        the exit code, and the next patch that does not fit, "" for none.
    """
    copies = copy_release(name, to, place=console.place, events=console)
    folder, path = str(copies.folder), copies.paths[0] if len(copies.paths) == 1 else ""
    words = ["update", name]
    for release in to:
        words += ["--to", release]
    words += ["--from", folder]
    next_patch = ""

    def run() -> int:
        nonlocal next_patch
        outcome = update(name, to, place=console.place, copy=folder, events=console)
        next_patch = outcome.next_patch
        if not next_patch:
            return _report(console, to, folder, outcome=outcome)
        next_one = Message("next: {patch}", patch=next_patch)
        console.info_rows([Row("added", (outcome.change.added, next_one))])
        return 0

    go_on = console.command(*words)
    code = edit_copies(console, copies.folder, file=path, go_on=go_on, run=run)
    return code, next_patch


def _report(console: Console, to: Sequence[str], copy: str, *, outcome: UpdateOutcome) -> int:
    """Print the outcome of an update and return the exit code."""
    draft = outcome.change.draft
    releases = []
    for trial in outcome.releases:
        release = trial.outcome
        if trial.answers:
            release = release._replace(problem="")  # its hunks say more
        releases.append(release)
    shown = [release for release in releases if not (release.ok and console.quiet)]
    console.rows(release_rows(shown, in_full=console.verbose))
    show_unlike(console, releases)
    if not copy:
        for trial in outcome.releases:
            console.rows([explained_row(answer) for answer in trial.answers])

    show_hunks(console, draft)
    rows = left_rows(draft)
    rows += [Row(Message("not fetched"), (problem,)) for problem in outcome.problems]
    if not console.quiet:
        rows += _change_rows(outcome)
    console.rows(rows)
    console.notes(outcome.notes)

    unfit = [trial.located.version for trial in outcome.releases if trial.answers]
    if draft.files and not outcome.change.added:
        console.note("no variant was added", "stopped")
    elif not outcome.ok and unfit:
        words = ["--to", unfit[-1]] if to else []
        edit = console.command("update", outcome.name, *words, "--edit")
        console.info("edit it there with: {command}", command=edit)
    return console.answer(outcome.ok, outcome)


def _change_rows(outcome: UpdateOutcome) -> list[Row]:
    """A row for each range that changed, and one for the variant that was added."""
    change = outcome.change
    word = "changed" if change.added else "widened"
    rows = []
    for package, before, now in change.ranges:
        rows.append(Row(word, (f"{package} {before}", Message("now {now}", now=now))))
    if change.added:
        variant, file = outcome.patchset.variants[-1], outcome.folder / change.added
        template = "{folder}, for {package} {versions}"
        what = Message(template, folder=file, package=variant.package, versions=variant.versions)
        rows.append(Row("added", (what,)))
    return rows
