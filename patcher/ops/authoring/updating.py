"""`update`: a patchset for further releases: its range is widened to those it is proven for, or a variant is added."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import Dict, Mapping, NamedTuple, Sequence, Set, Tuple

from patcher.author.copies import Copies, laid_out
from patcher.author.draft import Draft, FileEdit
from patcher.author.folder import (
    PackageRange,
    find_series,
    more_series_files,
    remove_files,
    variant_text,
    write_folder,
    written_list,
)
from patcher.author.hunks.generalise import generalise
from patcher.author.ranges import ended, proven_range, widened, with_variant, with_versions
from patcher.engine.engine import answer_alone, rewrite
from patcher.engine.source import Source
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import Location, SitepatchError
from patcher.installed.environment import locate
from patcher.installed.versions import accepts, is_range, is_version, overlap
from patcher.message import Message, joined
from patcher.model import Patchset, State, Variant
from patcher.ops.authoring.fitting import TriedRelease, overlapping, paths_of, try_on_releases
from patcher.ops.authoring.proving import made_here
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import BUILT_IN, ENTRY_POINT, MANIFEST, patchset_folders
from patcher.patchset.sources import find_patchset, pick_variants, resolve_options
from patcher.patchset.toml import written_toml
from patcher.store.status import read_installed
from patcher.system.reading import read_file
from patcher.verbs.place import SILENT, Events, Place
from patcher.verbs.releases.against import ALL, check_against
from patcher.verbs.releases.patches import patch_name


class UpdateRequest(NamedTuple):
    """Make a patchset hold for further releases.

    `to` are versions, ranges, `all` and `newest`; without any it is the release that is installed. `edited` is a directory
    with edited copies (`copies`) of the files of the one release that it does not fit, "" to make no variant. With
    `drop_upstream` the patches of a series go that all of these releases have, and it is for these releases alone.
    """

    place: Place
    name: str
    to: Tuple[str, ...] = ()
    edited: str = ""
    drop_upstream: bool = False


class UpdateOutcome(NamedTuple):
    """The outcome of an update.

    Attributes:
        folder: the folder of the patchset.
        patchset: the patchset as it is now.
        releases: what it did to each release before the update.
        ranges: (package, range before, range now) of each variant whose range changed.
        draft: the hunks of the variant that was added.
        added: the name of its .spatch file, "" where none was added.
        dropped: the patches of a series that were taken out.
        written: whether the folder was changed.
        problems: a message for each release that cannot be fetched.
        notes: remarks for the user.
    """

    folder: Path
    patchset: Patchset
    releases: Tuple[TriedRelease, ...]
    ranges: Tuple[Tuple[str, str, str], ...] = ()
    draft: Draft = Draft(())
    added: str = ""
    dropped: Tuple[str, ...] = ()
    written: bool = False
    problems: Tuple[str, ...] = ()
    notes: Tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the patchset holds for every release that was named or is in its range, or a variant makes it hold."""
        bad = [one for one in self.releases if not one.holds and (one.named or one.inside) and one.outcome.failed]
        return bool(self.added) or not (bad or self.problems or self.draft.files)


def update(request: UpdateRequest, events: Events = SILENT) -> UpdateOutcome:
    """Try a patchset on releases and widen its range to those that it is proven for, or add a variant for one.

    Raises:
        UsageError: an unknown name or release.
        SitepatchError: the folder may not be written, or nothing was edited.
        PatchError: the patchset is invalid.
    """
    outcome = _tried(request, events)
    if request.drop_upstream:
        return _without_upstream(outcome)
    return _with_variant(outcome, request) if request.edited else _wider(outcome, request.to)


def copies(request: UpdateRequest, events: Events = SILENT) -> Copies:
    """Copy the files of the release that the patchset does not fit, with the hunks that fit, to be edited.

    Raises:
        SitepatchError: as for `update`; or it fits every release, or several do not fit.
    """
    outcome = _tried(request, events)
    _check_no_series(outcome)
    one = _unfit(outcome.releases)
    return laid_out(one.located, {path: begun for path, (_, begun) in _texts(outcome.patchset, one).items()})


def _tried(request: UpdateRequest, events: Events) -> UpdateOutcome:
    """The patchset and what it does to the requested releases; nothing is changed."""
    folder, patchset = _owned(request)
    tried, problems = try_on_releases(request.place, patchset, request.to, events)
    return UpdateOutcome(folder, patchset, tuple(tried), problems=tuple(problems))


def _owned(request: UpdateRequest) -> Tuple[Path, Patchset]:
    """The folder of the patchset, and the patchset; refuses one that does not belong to the user."""
    check_against(request.to, "--to")
    known = patchset_folders(request.place.patch_dirs, Path.cwd())
    patchset = find_patchset(request.name, request.place.patch_dirs, Path.cwd(), known).patchset
    folder, source = known[request.name][0]
    named = source.kind not in (BUILT_IN.kind, ENTRY_POINT)
    if not named or not (os.access(folder, os.W_OK) and os.access(Path(folder).parent, os.W_OK)):
        why = Message("its folder may not be written" if named else "it belongs to what is installed, and is not changed")
        hint = Message("copy it, and update the copy: mkdir -p patchsets && cp -r {folder} patchsets/", folder=folder)
        raise SitepatchError(Message("{name} ({source}): {why}", name=request.name, source=source, why=why), hint)
    return Path(folder), patchset


# a wider range --------------------------------------------------------------------------------------------------------
def _wider(outcome: UpdateOutcome, to: Sequence[str]) -> UpdateOutcome:
    """Widen the ranges to what was proven, and write them."""
    variants, notes = list(outcome.patchset.variants), []
    failed = [one.located.version for one in outcome.releases if one.outcome.failed]
    for number, variant in enumerate(variants):
        proven = [one.located.version for one in outcome.releases if one.variant == number and one.holds]
        wide = widened(variant.versions, proven, [] if variant.versions == "" else failed)
        others = overlapping(variants, number, wide) if wide != variant.versions else []
        if others:
            notes.append(
                Message(
                    "{package} {wide} is proven, and not written: it has releases of {versions}",
                    package=variant.package,
                    wide=wide,
                    versions=others[0].versions,
                )
            )
        else:
            variants[number] = variant._replace(versions=wide)
            if not _all_tried(variant.versions, proven, to):
                notes.append(
                    Message(
                        "{package} {wide}: of the releases that came in, only those above were tried; all of them with --to "
                        "{range}",
                        package=variant.package,
                        wide=wide,
                        range=quote(wide),
                    )
                )
    return _written(outcome._replace(notes=tuple(notes)), variants, {})


def _without_upstream(outcome: UpdateOutcome) -> UpdateOutcome:
    """Take the patches out of a series that all releases have; none where one of the releases does not fit."""
    series = find_series(outcome.patchset.name, str(outcome.folder))
    if series is None:
        what = Message("--drop-upstream: {name} is no series of patches", name=outcome.patchset.name)
        raise SitepatchError(what, "a patchset that all releases have is removed whole")
    if outcome.problems or not outcome.releases or not all(one.holds for one in outcome.releases):
        return outcome
    words: Dict[str, Set[str]] = {}
    for patch in (patch for one in outcome.releases for patch in one.outcome.patches):
        words.setdefault(patch.name, set()).add(patch.word)
    there = {State.UPSTREAM.value}
    dropped = tuple(name for name, found in words.items() if there <= found <= {*there, State.NOT_NEEDED.value})
    patches = {name: text for name, text in series.patches.items() if patch_name(name) not in dropped}
    if not dropped:
        return outcome._replace(notes=(Message("these releases have no patch of it"),))
    if not patches:
        raise SitepatchError("these releases have every patch of it", "remove {folder}", folder=outcome.folder)
    targets = []
    for number, variant in enumerate(outcome.patchset.variants):
        proven = [one.located.version for one in outcome.releases if one.variant == number]
        targets += [PackageRange(variant.package, "", proven_range(proven))] if proven else []
    old = outcome.patchset.variants
    patchset = write_folder(outcome.folder, more_series_files(series, patches, (), targets), replace=True)
    remove_files(outcome.folder, set(series.patches) - set(patches))
    ranges = tuple((was.package, was.versions, now.versions) for was, now in zip(old, patchset.variants))
    return outcome._replace(patchset=patchset, ranges=ranges, dropped=dropped, written=True)


def _check_no_series(outcome: UpdateOutcome) -> None:
    """Refuse to edit a series: a variant would be one patch of all."""
    failed = next((patch.name for one in outcome.releases for patch in one.outcome.patches if patch.problem), "")
    if failed:
        what = Message("{name} is a series: its patches are not edited together", name=outcome.patchset.name)
        raise SitepatchError(
            what, Message("correct the first one that does not fit: {folder}.spatch", folder=outcome.folder / failed)
        )


def _all_tried(versions: str, proven: Sequence[str], to: Sequence[str]) -> bool:
    """Whether what is asked for has every release from a range to those that it is widened to."""
    new = [version for version in proven if not accepts(versions, version)]
    ranges = ["" if text == ALL else text for text in to if text == ALL or is_range(text)]
    whole = any(overlap(text, versions) and all(accepts(text, version) for version in new) for text in ranges)
    return whole or not new


def _written(outcome: UpdateOutcome, variants: Sequence[Variant], texts: Mapping[str, str], more: str = "") -> UpdateOutcome:
    """Write the ranges of these variants, files (name -> text), and the manifest's text of a new variant: all or nothing."""
    old = outcome.patchset.variants
    changed = [number for number, one in enumerate(old) if variants[number].versions != one.versions]
    if not (changed or more):
        return outcome
    manifest = read_file(outcome.folder / MANIFEST).decode("utf-8")
    for number in changed:
        manifest = with_versions(manifest, number, variants[number].versions)
    manifest = with_variant(manifest, more) if more else manifest
    made = load_patchset(outcome.folder, outcome.patchset.source, {MANIFEST: manifest.replace("\r\n", "\n"), **texts})
    rest, was = (one._replace(variants=(), digest="", files={}, prose="") for one in (made, outcome.patchset))
    if rest != was or made.variants[: len(old)] != tuple(variants):
        raise SitepatchError.at(
            Location(str(outcome.folder / MANIFEST)),
            "is not written in the usual form, so it cannot be changed without harm",
            joined(
                "\n",
                (
                    Message("write by hand: versions = {versions}", versions=written_toml(variants[number].versions))
                    for number in changed
                ),
            ),
        )
    patchset = write_folder(outcome.folder, {MANIFEST: manifest, **texts}, replace=True)
    ranges = tuple((old[number].package, old[number].versions, variants[number].versions) for number in changed)
    return outcome._replace(patchset=patchset, ranges=ranges, written=True)


# a further variant ----------------------------------------------------------------------------------------------------
def _unfit(tried: Sequence[TriedRelease]) -> TriedRelease:
    """The one release that the patchset does not fit."""
    unfit = [one for one in tried if one.outcome.failed]
    names = ", ".join(f"{one.located.distribution} {one.located.version}" for one in unfit)
    if not unfit:
        raise SitepatchError("nothing to update: it fits every release that is asked for", "name another one with --to")
    if len(unfit) > 1:
        raise SitepatchError(
            "it does not fit {names}: one can be edited at a time", Message("name it with --to VERSION"), names=names
        )
    return unfit[0]


def _texts(patchset: Patchset, one: TriedRelease) -> Dict[str, Tuple[bytes, bytes]]:
    """The files of a release that the patchset is for: path -> its text, and that with each hunk that fits by itself."""
    options = resolve_options(patchset, {})
    found: Dict[str, Tuple[bytes, bytes]] = {}
    for path in paths_of(pick_variants(patchset)[one.located.package]):
        text = read_installed(one.located.site, path)
        if text is None:
            continue
        patches = [patch for patch in patchset.variants[one.variant].patches if path in patch.paths]
        source = Source(text)
        hunks = [hunk for patch in patches for hunk in patch.hunks]
        fitting = [hunk for hunk in hunks if answer_alone(source, hunk, options).state is State.APPLICABLE]
        found[path] = text, rewrite(text, fitting, options).data if fitting else text
    if not found:
        what = Message("{one.located.distribution} {one.located.version} has none of the files of this patchset", one=one)
        raise SitepatchError(what, "make a patchset of its own for that release: sitepatch edit")
    return found


def _with_variant(outcome: UpdateOutcome, request: UpdateRequest) -> UpdateOutcome:
    """Add a variant made of the edited copies."""
    one, patchset = _unfit(outcome.releases), outcome.patchset
    begun_texts = _texts(patchset, one).items()
    texts = {path: (text, begun, read_installed(request.edited, path)) for path, (text, begun) in begun_texts}
    if all(now in (begun, None) for _, begun, now in texts.values()):
        raise SitepatchError("{advice}: nothing was edited", Message("save the file in the editor"), advice=request.edited)
    edits = [FileEdit(path, text, now) for path, (text, _, now) in texts.items() if now not in (text, None)]
    outcome = outcome._replace(draft=generalise(edits))
    if not outcome.draft.complete or not any(file.hunks for file in outcome.draft.files):
        return outcome
    release = one.located.version.split("+")[0]
    spatch = f"{patchset.name}-{release}.spatch"
    there = outcome.folder / spatch
    left = there.is_file() and spatch not in patchset.files and read_file(there) == outcome.draft.spatch().encode("utf-8")
    if there.exists() and not left:  # that of a run which was killed before it wrote the manifest is no obstacle
        hint = Message("edit it, or remove it and its [[variant]] first")
        raise SitepatchError.at(Location(str(there)), "is there already", hint)
    nearest = patchset.variants[one.variant]
    owner = one.located.distribution if nearest.distributions else ""
    text = variant_text(PackageRange(nearest.package, owner, f"=={release}"), [spatch])
    if nearest.names:
        text += f"names = {written_list(nearest.names)}\n"
    variants = list(patchset.variants)
    if one.inside:
        variants[one.variant] = nearest._replace(versions=_ended(outcome, one, request))
    files = {spatch: outcome.draft.spatch()}
    trial = patchset._replace(variants=(nearest._replace(patches=parse_spatch(files[spatch], spatch)[1]),))
    for edit in edits:
        made_here(edit, outcome.draft, trial)
    fixed = [Message("the values of options are written out in the new hunks")] if patchset.options else []
    unlike = outcome.draft.unlike
    differs = [
        Message("{paths}: it is not byte for byte as edited: {difference}", paths=file.paths[0], difference=file.difference)
        for file in unlike
    ]
    return _written(outcome, variants, files, text)._replace(added=spatch, notes=(*differs, *fixed))


def _ended(outcome: UpdateOutcome, one: TriedRelease, request: UpdateRequest) -> str:
    """The range of the variant that does not fit, ended at that release."""
    variant = outcome.patchset.variants[one.variant]
    made = ended(variant.versions, one.located.version, _installed(outcome.patchset, variant, request))
    if not overlap(made, variant.versions):
        what = Message(
            "the variant for {versions} is for {version} alone, and does not fit it",
            versions=variant.versions,
            version=one.located.version,
        )
        raise SitepatchError(what, Message("correct its hunks: {folder}", folder=outcome.folder))
    return made


def _installed(patchset: Patchset, variant: Variant, request: UpdateRequest) -> str:
    """The installed version, "" where the variant is not for it."""
    try:
        paths = [path for patch in variant.patches for path in patch.paths]
        version = locate(request.place.environment(), variant.package, paths).version if request.to else ""
    except SitepatchError:
        return ""
    return version if is_version(version) and accepts(variant.versions, version) else ""
