"""`update`: a patchset for further releases: its range is widened to those that it fits, or a variant is added."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import (
    TYPE_CHECKING,
    Any,
    Mapping,
    NamedTuple,
    Sequence,
)

import click

from patcher.author.copies import Copies, laid_out
from patcher.author.folder import (
    PackageRange,
    own_folder,
    variant_text,
    write_folder,
)
from patcher.author.manifest import patch_files, with_patch_files, with_variant, with_versions
from patcher.author.ranges import ended, overlapping, widened
from patcher.author.spatch_draft import Draft, FileEdit
from patcher.display.console import Console
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
from patcher.store.status import read_installed
from patcher.system.reading import read_file
from patcher.text.listed import Texts, one_or_more
from patcher.verbs.authoring import (
    edit_copies,
    hunks_json,
    left_json,
    left_rows,
    release_json,
    release_rows,
    show_hunks,
    show_unlike,
)
from patcher.verbs.options import common_options, complete_names
from patcher.verbs.releases.outcome import ALL

if TYPE_CHECKING:
    from patcher.text.listed import AnyPath
    from patcher.verbs.proving import TriedRelease


class UpdateOutcome(NamedTuple):
    """The outcome of an update.

    Attributes:
        folder: the folder of the patchset.
        patchset: the patchset as it is now.
        releases: what it did to each release before the update.
        ranges: (package, range before, range now) of each variant whose range changed.
        draft: the hunks of the variant that was added.
        added: the name of its .spatch file, "" where none was added.
        written: whether the folder was changed.
        problems: a message for each release that cannot be fetched.
        notes: remarks for the user.
        left: the next patch that does not fit.
    """

    folder: Path
    patchset: Patchset
    releases: tuple[TriedRelease, ...]
    ranges: tuple[tuple[str, str, str], ...] = ()
    draft: Draft = Draft(())
    added: str = ""
    written: bool = False
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left: str = ""

    @property
    def ok(self) -> bool:
        """Whether the patchset holds for every release that was named or is in its range, or a variant makes it hold."""
        wanted = [tried for tried in self.releases if tried.named or tried.inside]
        bad = [tried for tried in wanted if not tried.holds and tried.outcome.failed]
        return not self.left and (
            bool(self.added) or not (bad or self.problems or self.draft.files)
        )


def update(
    name: str,
    to: Texts = (),
    *,
    place: Place = HERE,
    copy: AnyPath = "",
    events: Events = SILENT,
) -> UpdateOutcome:
    """Try a patchset on releases and widen its range to those that it fits, or add a variant for one.

    Args:
        name: of a patchset.
        to: versions, ranges, `all` and `newest`; the installed release without any.
        place: the environment.
        copy: a directory with edited copies (`copy_release`) of the files of the first patch that does not fit, in the one
            release that it does not fit; "" to make no variant.
        events: takes what is done.

    Raises:
        UsageError: an unknown name or release.
        SitepatchError: the folder may not be written, or nothing was edited.
        PatchError: the patchset is invalid.
    """
    releases = one_or_more(to)
    outcome = _tried(name, releases, place, events)
    if not copy:
        return _wider(outcome, releases)
    outcome = _with_variant(outcome, os.fspath(copy), releases, place)
    if outcome.added:
        retried = _tried(name, releases, place, events).releases
        outcome = outcome._replace(
            left=next(
                filter(None, (_drifted(tried) for tried in retried if tried.outcome.failed)), ""
            )
        )
    return outcome


def copy_release(
    name: str, to: Texts = (), *, place: Place = HERE, events: Events = SILENT
) -> Copies:
    """Copy the files of the release that a patchset does not fit, with the hunks that fit, to be edited for `update`.

    They are those of the first patch that does not fit, as the patches before it make them.

    Raises:
        SitepatchError: as for `update`; or it fits every release, or several do not fit.
    """
    outcome = _tried(name, one_or_more(to), place, events)
    tried = _unfit(outcome.releases)
    return laid_out(
        tried.located, {path: begun for path, (_, begun) in _texts(outcome.patchset, tried).items()}
    )


def _tried(name: str, to: Sequence[str], place: Place, events: Events) -> UpdateOutcome:
    """The patchset and what it does to the requested releases; nothing is changed."""
    from patcher.verbs.proving import try_on_releases
    from patcher.verbs.releases.against import check_against  # with the engine

    check_against(to, "--to")
    folder, patchset = own_folder(name, place.patch_dirs)
    releases, problems = try_on_releases(place, folder, patchset, to, events)
    return UpdateOutcome(folder, patchset, tuple(releases), problems=tuple(problems))


# a wider range --------------------------------------------------------------------------------------------------------
def _wider(outcome: UpdateOutcome, to: Sequence[str]) -> UpdateOutcome:
    """Widen the ranges to what they fit, and write them."""
    variants, notes = list(outcome.patchset.variants), []
    failed = [tried.located.version for tried in outcome.releases if tried.outcome.failed]
    for number, variant in enumerate(variants):
        package = variant.package
        fitting = [
            tried.located.version
            for tried in outcome.releases
            if tried.variant == number and tried.outcome.fits
        ]
        wide = widened(variant.versions, fitting, [] if variant.versions == "" else failed)
        overlaps = overlapping(variants, number, wide) if wide != variant.versions else []
        if overlaps:
            note = "{package} {wide} fits, and is not written: it has releases of {versions}"
            notes.append(Message(note, package=package, wide=wide, versions=overlaps[0].versions))
            continue
        variants[number] = variant._replace(versions=wide)
        if not _all_tried(variant.versions, fitting, to):
            note = "{package} {wide}: of the releases that came in, only those above were tried; all of them with --to {range}"
            notes.append(Message(note, package=package, wide=wide, range=quote(wide)))
    return _written(outcome._replace(notes=tuple(notes)), variants, {})


def _all_tried(versions: str, fitting: Sequence[str], to: Sequence[str]) -> bool:
    """Whether what is asked for has every release from a range to those that it is widened to."""
    new = [version for version in fitting if not accepts(versions, version)]
    ranges = [
        "" if request == ALL else request for request in to if request == ALL or is_range(request)
    ]
    return not new or any(
        overlap(request, versions) and all(accepts(request, version) for version in new)
        for request in ranges
    )


def _written(
    outcome: UpdateOutcome, variants: Sequence[Variant], texts: Mapping[str, str], extra: str = ""
) -> UpdateOutcome:
    """Write the ranges of these variants, files (name -> text), and the manifest's text of a new variant: all or nothing."""
    old = outcome.patchset.variants
    changed = [
        number
        for number, variant in enumerate(old)
        if variants[number].versions != variant.versions
    ]
    if not (changed or extra):
        return outcome
    manifest = read_file(outcome.folder / MANIFEST).decode("utf-8")
    for number in changed:
        manifest = with_versions(manifest, number, variants[number].versions)
    manifest = with_variant(manifest, extra) if extra else manifest
    patchset = write_folder(outcome.folder, {MANIFEST: manifest, **texts}, replace=True)
    ranges = tuple(
        (old[number].package, old[number].versions, variants[number].versions) for number in changed
    )
    return outcome._replace(patchset=patchset, ranges=ranges, written=True)


# a further variant ----------------------------------------------------------------------------------------------------
def _unfit(tried: Sequence[TriedRelease]) -> TriedRelease:
    """The one release that the patchset does not fit."""
    unfit = [release for release in tried if release.outcome.failed]
    names = ", ".join(
        f"{release.located.distribution} {release.located.version}" for release in unfit
    )
    if not unfit:
        raise SitepatchError(
            "nothing to update: it fits every release that is asked for",
            "name another one with --to",
        )
    if len(unfit) > 1:
        raise SitepatchError(
            "it does not fit {names}: one can be edited at a time",
            Message("name it with --to VERSION"),
            names=names,
        )
    return unfit[0]


def _texts(patchset: Patchset, tried: TriedRelease) -> dict[str, tuple[bytes, bytes]]:
    """The files of a release that the patchset is for: path -> its text, and that with each hunk that fits by itself.

    Of a file that is not there any more it is the one that has the scopes of its hunks.
    """
    from patcher.author.patched_texts import with_patches
    from patcher.author.revise import with_marks  # with the engine

    options, located = resolve_options(patchset, {}), tried.located
    before, patches = _layer(patchset.variants[tried.variant], _drifted(tried))
    hunks: dict[str, tuple[HunkText, ...]] = dict.fromkeys(
        paths_of(pick_variants(patchset)[located.package]), ()
    )
    for patch in patches:
        paths = [path for path in patch.paths if Path(located.site, path).is_file()]
        if not paths and not patch.adds:
            paths = _moved(tried, patch)
        for path in paths:
            hunks[path] = (*hunks.get(path, ()), *patch.hunks)
    data = (
        (path, read_installed(located.site, path))
        for path in hunks
        if hunks[path] or not _drifted(tried)
    )
    pristine = {path: code for path, code in data if code is not None}
    texts, _ = with_patches(pristine, before, options, patchset.variants[tried.variant].names)
    files = {path: (code, with_marks(code, hunks[path], options)) for path, code in texts.items()}
    if not files:
        problem = Message(
            "{one.located.distribution} {one.located.version} has none of the files of this patchset",
            one=tried,
        )
        raise SitepatchError(problem, "make a patchset of its own for that release: sitepatch edit")
    return files


def _drifted(tried: TriedRelease) -> str:
    """The first patch that does not fit, "" for none, or where the package is refused whole."""
    return next((patch.name for patch in tried.outcome.patches if patch.problem), "")


def _layer(variant: Variant, name: str) -> tuple[list[FilePatch], list[FilePatch]]:
    """What stands before the patch of that name, and what is in it; where none has that name, all of the variant is in it."""
    names = [patch_name(patch.hunks[0].origin) for patch in variant.patches]
    if name not in names:
        return [], list(variant.patches)
    first = names.index(name)
    end = first + names.count(name)
    return list(variant.patches[:first]), list(variant.patches[first:end])


def _moved(tried: TriedRelease, patch: FilePatch) -> list[str]:
    """The file that has most of the scopes of a patch whose own file is not there."""
    hunks = (explained for explained in tried.hunks if explained.answer.path in patch.paths)
    paths = [place.path for explained in hunks for place in explained.elsewhere]
    return [max(paths, key=paths.count)] if paths else []


def _edits(outcome: UpdateOutcome, tried: TriedRelease, copy: str) -> list[FileEdit]:
    """What was edited in the copies.

    Raises:
        SitepatchError: nothing was.
    """
    from patcher.author.revise import without_marks  # with the engine

    edits: list[FileEdit] = []
    is_saved = False
    for path, (original, begun) in _texts(outcome.patchset, tried).items():
        saved = read_installed(copy, path)
        is_saved = is_saved or saved not in (begun, None)
        edits += [FileEdit(path, original, without_marks(saved))] if saved is not None else []
    if not is_saved:
        raise SitepatchError(
            "{advice}: nothing was edited", Message("save the file in the editor"), advice=copy
        )
    return [edit for edit in edits if edit.before != edit.after]


def _with_variant(
    outcome: UpdateOutcome, copy: str, to: Sequence[str], place: Place
) -> UpdateOutcome:
    """Add a variant made of the edited copies: with the edited patch in the place of the one that drifted."""
    from patcher.author.hunks.generalise import generalise  # with the engine
    from patcher.author.patched_texts import check_edit

    tried, patchset = _unfit(outcome.releases), outcome.patchset
    edits = _edits(outcome, tried, copy)
    outcome = outcome._replace(draft=generalise(edits))
    if not outcome.draft.complete or not any(file.hunks for file in outcome.draft.files):
        return outcome
    release = tried.located.version.split("+")[0]
    nearest, drifted = patchset.variants[tried.variant], _drifted(tried)
    spatch = f"{drifted or patchset.name}-{release}.spatch"
    written = next(
        (
            text
            for name, text in patchset.folder.files.items()
            if name.endswith(".spatch") and patch_name(name) == drifted
        ),
        "",
    )
    text = outcome.draft.spatch(parse_spatch(written, spatch)[0] if written else "")
    destination = outcome.folder / spatch
    left = (
        destination.is_file()
        and spatch not in patchset.folder.files
        and read_file(destination) == text.encode("utf-8")
    )
    # that of a run which was killed before it wrote the manifest is no obstacle
    if destination.exists() and not left:
        hint = Message("edit it, or remove it and its [[variant]] first")
        raise SitepatchError.at(Location(str(destination)), "is there already", hint)
    patches = parse_spatch(text, spatch)[1]
    for edit in edits:
        check_edit(edit, outcome.draft, patches)
    differing = "{paths}: it is not byte for byte as edited: {difference}"
    notes = [
        Message(differing, paths=file.paths[0], difference=file.difference)
        for file in outcome.draft.unlike
    ]
    notes += (
        [Message("the values of options are written out in the new hunks")]
        if patchset.options
        else []
    )
    outcome = outcome._replace(added=spatch, notes=tuple(notes))
    files = patch_files(patchset.folder.files[MANIFEST])[tried.variant]
    names = [spatch if patch_name(name) == drifted else name for name in files]
    if drifted and nearest.versions == f"=={release}":  # the variant that is being made
        manifest = with_patch_files(patchset.folder.files[MANIFEST], tried.variant, names)
        patchset = write_folder(outcome.folder, {spatch: text, MANIFEST: manifest}, replace=True)
        return outcome._replace(patchset=patchset, written=True)
    target = PackageRange(
        nearest.package, tried.located.distribution if nearest.distributions else "", f"=={release}"
    )
    entry = variant_text(target, names if drifted else [spatch], nearest.names)
    variants = list(patchset.variants)
    if tried.inside:
        variants[tried.variant] = nearest._replace(versions=_ended(outcome, tried, to, place))
    return _written(outcome, variants, {spatch: text}, entry)


def _ended(outcome: UpdateOutcome, tried: TriedRelease, to: Sequence[str], place: Place) -> str:
    """The range of the variant that does not fit, ended at that release."""
    variant, version = outcome.patchset.variants[tried.variant], tried.located.version
    versions = ended(variant.versions, version, _installed(variant, place) if to else "")
    if not overlap(versions, variant.versions):
        template = "the variant for {versions} is for {version} alone, and does not fit it"
        hint = Message("correct its hunks: {folder}", folder=outcome.folder)
        raise SitepatchError(Message(template, versions=variant.versions, version=version), hint)
    return versions


def _installed(variant: Variant, place: Place) -> str:
    """The installed version, "" where the variant is not for it."""
    try:
        version = locate(place.environment(), variant.package, paths_of([variant])).version
    except SitepatchError:
        return ""
    return version if is_version(version) and accepts(variant.versions, version) else ""


@click.command(
    "update",
    epilog="\b\nExamples:\n  sitepatch update runner-debug --to 0.11.0\n  sitepatch update runner-debug --to 0.11.0 --edit",
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

    Where it fits, the range of its variant is widened to there. Where it does not, the code is shown that came in the place
    of what it looks for; with --edit the files of that release are opened in $VISUAL or $EDITOR, and what is edited becomes
    a further variant, so that one patchset holds on both sides of the change. The environment is not touched.

    The patches that do not fit are opened one by one, each as those before it make its files. What was edited is
    in the patchset: a run that was interrupted goes on with the next one.
    """
    if copy or not edit:
        outcome = update(name, to, place=console.place, copy=copy, events=console)
        return _report(console, to, copy, outcome)
    code, left = 0, name
    while left and not code:
        copies = copy_release(name, to, place=console.place, events=console)
        folder, path = str(copies.folder), copies.paths[0] if len(copies.paths) == 1 else ""
        words = (
            "update",
            name,
            *(word for release in to for word in ("--to", release)),
            "--from",
            folder,
        )
        outcomes: list[UpdateOutcome] = []

        def run(folder: str = folder, outcomes: list[UpdateOutcome] = outcomes) -> int:
            outcomes.append(update(name, to, place=console.place, copy=folder, events=console))
            if not outcomes[0].left:
                return _report(console, to, folder, outcomes[0])
            console.info_rows(
                [
                    Row(
                        "added",
                        (outcomes[0].added, Message("next: {patch}", patch=outcomes[0].left)),
                    )
                ]
            )
            return 0

        go_on = console.command(*words)
        code = edit_copies(console, copies.folder, file=path, go_on=go_on, run=run)
        left = outcomes[0].left
    return code


def _report(console: Console, to: Sequence[str], copy: str, outcome: UpdateOutcome) -> int:
    from patcher.verbs.explanations import explanation_row  # with the engine

    draft, name = outcome.draft, outcome.patchset.name
    shown = [
        tried.outcome._replace(problem="") if tried.hunks else tried.outcome
        for tried in outcome.releases
    ]
    console.rows(
        release_rows(
            [release for release in shown if release.failed or not console.quiet],
            in_full=console.verbose,
        )
    )
    show_unlike(console, shown)
    for tried in outcome.releases if not copy else ():
        console.rows(list(map(explanation_row, tried.hunks)))
    show_hunks(console, draft)
    rows = [
        *left_rows(draft),
        *(Row(Message("not fetched"), (problem,)) for problem in outcome.problems),
    ]
    console.rows([*rows, *([] if console.quiet else _changes(outcome))])
    console.notes(outcome.notes)
    unfit = [tried.located.version for tried in outcome.releases if tried.hunks]
    if draft.files and not outcome.added:
        console.note("no variant was added", "stopped")
    elif not outcome.ok and unfit:
        words = ["--to", unfit[-1]] if to else []
        console.info(
            "edit it there with: {command}",
            command=console.command("update", name, *words, "--edit"),
        )
    return console.answer(outcome.ok, _json(outcome))


def _changes(outcome: UpdateOutcome) -> list[Row]:
    word = "changed" if outcome.added else "widened"
    rows = [
        Row(word, (f"{package} {before}", Message("now {now}", now=after)))
        for package, before, after in outcome.ranges
    ]
    if outcome.added:
        variant, file = outcome.patchset.variants[-1], outcome.folder / outcome.added
        rows.append(
            Row(
                "added",
                (
                    Message(
                        "{folder}, for {added.package} {added.versions}", folder=file, added=variant
                    ),
                ),
            )
        )
    return rows


def _json(outcome: UpdateOutcome) -> dict[str, Any]:
    from patcher.verbs.explanations import hunk_json  # with the engine

    releases = [
        {
            **release_json(tried.outcome),
            "in_range": tried.inside,
            "hunks": list(map(hunk_json, tried.hunks)),
        }
        for tried in outcome.releases
    ]
    return {
        "patchset": outcome.patchset.name,
        "folder": str(outcome.folder),
        "written": outcome.written,
        "releases": releases,
        "ranges": [
            {"package": package, "before": before, "now": after}
            for package, before, after in outcome.ranges
        ],
        "added": outcome.added,
        "hunks": hunks_json(outcome.draft),
        "left": left_json(outcome.draft),
        "problems": outcome.problems,
        "remarks": outcome.notes,
    }
