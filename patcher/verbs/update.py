"""`update`: a patchset for further releases.

Its range is widened to those that it fits, or a variant is added.
"""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Mapping, Sequence, Tuple

import click

from patcher.author.copies import Copies, laid_out
from patcher.author.folder import PackageRange, own_folder, variant_text, write_folder
from patcher.author.manifest import patch_files, with_patch_files, with_variant, with_versions
from patcher.author.ranges import ended, overlapping, widened
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

if TYPE_CHECKING:
    from patcher.verbs.releases.trials import ReleaseTrial  # with the engine


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

        Also where a variant makes it hold.
        """
        if self.next_patch:
            return False
        if self.change.added:
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
        drifted = "" if trial.outcome.ok else _drifted(trial)
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
    from patcher.verbs.releases.trials import try_on_releases  # with the engine

    check_against(to, "--to")
    folder, patchset = own_folder(name, place.patch_dirs)
    releases, problems = try_on_releases(place, folder, patchset, to=to, events=events)
    return UpdateOutcome(folder, patchset, tuple(releases), problems=tuple(problems))


# a wider range ----------------------------------------------------------------------------------
def _wider(outcome: UpdateOutcome, to: Sequence[str]) -> UpdateOutcome:
    """Widen the ranges to what they fit, and write them."""
    variants = list(outcome.patchset.variants)
    notes: list[str] = []
    failed = [trial.located.version for trial in outcome.releases if not trial.outcome.ok]
    for number, variant in enumerate(variants):
        package = variant.package
        fitting = []
        for trial in outcome.releases:
            if trial.variant == number and trial.outcome.fits:
                fitting.append(trial.located.version)
        wide = widened(variant.versions, fitting, failed=failed if variant.versions else [])
        overlaps = overlapping(variants, number, wide) if wide != variant.versions else []
        if overlaps:
            note = "{package} {wide} fits, and is not written: it has releases of {versions}"
            versions = overlaps[0].versions
            notes.append(Message(note, package=package, wide=wide, versions=versions))
            continue
        variants[number] = variant._replace(versions=wide)
        if not _all_tried(variant.versions, fitting, to):
            note = (
                "{package} {wide}: of the releases that came in, only those above were tried; "
                "all of them with --to {range}"
            )
            notes.append(Message(note, package=package, wide=wide, range=quote(wide)))
    return _written(outcome._replace(notes=tuple(notes)), variants, {})


def _all_tried(versions: str, fitting: Sequence[str], to: Sequence[str]) -> bool:
    """Whether what is asked for has every release from a range to those that it is widened to."""
    new = [version for version in fitting if not accepts(versions, version)]
    if not new:
        return True
    for request in to:
        if request != ALL and not is_range(request):
            continue
        asked = "" if request == ALL else request
        if overlap(asked, versions) and all(accepts(asked, version) for version in new):
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
    """The files of a release that the patchset is for.

    Of a file that is not there any more it is the one that has the scopes of its hunks.

    Raises:
        SitepatchError: there is none.
    """
    from patcher.author.patched_texts import with_patches
    from patcher.author.revise import with_marks  # with the engine

    options, located = resolve_options(patchset, {}), trial.located
    variant, drifted = patchset.variants[trial.variant], _drifted(trial)
    before, patches = _layer(variant, drifted)
    hunks: dict[str, tuple[HunkText, ...]] = {}
    for path in paths_of(pick_variants(patchset)[located.package]):
        hunks[path] = ()
    for patch in patches:
        for path in _present(trial, patch) if not patch.deletes else ():
            hunks[path] = (*hunks.get(path, ()), *patch.hunks)

    pristine: dict[str, bytes] = {}
    for path in hunks:
        data = read_installed(located.site, path)
        if data is not None and (hunks[path] or not drifted):
            pristine[path] = data
    patched = with_patches(pristine, before, options, names=variant.names)
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


def _drifted(trial: ReleaseTrial) -> str:
    """The first patch that does not fit, "" for none, or where the package is refused whole."""
    for patch in trial.outcome.patches:
        if patch.problem:
            return patch.name
    return ""


def _layer(variant: Variant, name: str) -> tuple[list[FilePatch], list[FilePatch]]:
    """What stands before the patch of that name, and what is in it.

    Where none has that name, all of the variant is in it.
    """
    names = [patch_name(patch.hunks[0].origin) for patch in variant.patches]
    if name not in names:
        return [], list(variant.patches)
    first = names.index(name)
    end = first + names.count(name)
    return list(variant.patches[:first]), list(variant.patches[first:end])


def _present(trial: ReleaseTrial, patch: FilePatch) -> list[str]:
    """The files of a patch that a release has; else the one that has most of its scopes."""
    site = Path(trial.located.site)
    paths = [path for path in patch.paths if (site / path).is_file()]
    if paths or patch.adds or patch.deletes:
        return paths
    moved = []
    for answer in trial.answers:
        if answer.path in patch.paths:
            moved += [file.path for file in answer.elsewhere]
    return [max(moved, key=moved.count)] if moved else []


def _edits(outcome: UpdateOutcome, trial: ReleaseTrial, copy: str) -> list[FileEdit]:
    """What was edited in the copies.

    Raises:
        SitepatchError: nothing was.
    """
    from patcher.author.revise import without_marks  # with the engine

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
    from patcher.author.hunks.generalise import generalise  # with the engine
    from patcher.author.patched_texts import check_edit

    trial, patchset = _unfit(outcome.releases), outcome.patchset
    edits = _edits(outcome, trial, copy)
    draft = generalise(edits)
    if not draft.complete or not any(file.hunks for file in draft.files):
        return outcome._replace(change=PatchsetChange(draft=draft))

    release = trial.located.version.split("+")[0]
    nearest, drifted = patchset.variants[trial.variant], _drifted(trial)
    spatch = f"{drifted or patchset.name}-{release}.spatch"
    text = draft.spatch(_prose(patchset, drifted, spatch))
    _check_free(outcome, spatch, text)
    patches = parse_spatch(text, spatch)[1]
    for edit in edits:
        check_edit(edit, draft, patches)
    outcome = outcome._replace(
        change=PatchsetChange(draft=draft, added=spatch), notes=tuple(_remarks(draft, patchset))
    )

    names = []
    for name in patch_files(patchset.folder.files[MANIFEST])[trial.variant]:
        names.append(spatch if patch_name(name) == drifted else name)
    if drifted and nearest.versions == f"=={release}":  # the variant that is being made
        manifest = with_patch_files(patchset.folder.files[MANIFEST], trial.variant, names)
        patchset = write_folder(outcome.folder, {spatch: text, MANIFEST: manifest}, replace=True)
        change = outcome.change._replace(written=True)
        return outcome._replace(patchset=patchset, change=change)
    distribution = trial.located.distribution if nearest.distributions else ""
    target = PackageRange(nearest.package, distribution, f"=={release}")
    entry = variant_text(target, names if drifted else [spatch], nearest.names)
    variants = list(patchset.variants)
    if trial.inside:
        versions = _ended(outcome, trial, to, place=place)
        variants[trial.variant] = nearest._replace(versions=versions)
    return _written(outcome, variants, {spatch: text}, extra=entry)


def _prose(patchset: Patchset, drifted: str, spatch: str) -> str:
    """The prose of the patch that does not fit, "" where there is none."""
    for name, text in patchset.folder.files.items():
        if name.endswith(".spatch") and patch_name(name) == drifted:
            return parse_spatch(text, spatch)[0]
    return ""


def _check_free(outcome: UpdateOutcome, spatch: str, text: str) -> None:
    """Refuse to write over a file of the folder.

    What a run has left that was killed before it wrote the manifest is no obstacle.

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


def _ended(outcome: UpdateOutcome, trial: ReleaseTrial, to: Sequence[str], *, place: Place) -> str:
    """The range of the variant that does not fit, ended at that release.

    Raises:
        SitepatchError: nothing would be left of it.
    """
    variant, version = outcome.patchset.variants[trial.variant], trial.located.version
    versions = ended(variant.versions, version, _installed(variant, place) if to else "")
    if not overlap(versions, variant.versions):
        template = "the variant for {versions} is for {version} alone, and does not fit it"
        problem = Message(template, versions=variant.versions, version=version)
        hint = Message("correct its hunks: {folder}", folder=outcome.folder)
        raise SitepatchError(problem, hint)
    return versions


def _installed(variant: Variant, place: Place) -> str:
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
    draft = outcome.change.draft
    shown = []
    for trial in outcome.releases:
        # its hunks say more
        shown.append(trial.outcome._replace(problem="") if trial.answers else trial.outcome)
    reported_releases = [release for release in shown if not (release.ok and console.quiet)]
    console.rows(release_rows(reported_releases, in_full=console.verbose))
    show_unlike(console, shown)
    for trial in outcome.releases if not copy else ():
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
