"""Patchsets tried on many releases: an outcome for each release that is asked for."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Iterator, Mapping, Sequence

from patcher.compatibility import (
    NO_RELEASE,
    NO_WHEEL,
    NOT_FETCHED,
    OUT_OF_RANGE,
    Checked,
    ReleaseName,
    ReleaseOutcome,
)
from patcher.errors import SitepatchError
from patcher.installed.environment import locate
from patcher.installed.index import Listing, NoWheel
from patcher.installed.interpreter import discover
from patcher.installed.releases import fetching, was_yanked
from patcher.installed.versions import is_version
from patcher.message import Message, one_line
from patcher.model import Located, Patchset, Requested, State
from patcher.patchset.variants import matching_variants, paths_of, pick_variants, targets_of
from patcher.place import SILENT, Events
from patcher.planner.assignments import update_hint
from patcher.record import Record
from patcher.text.listed import listed
from patcher.verbs.releases.attempt import try_release
from patcher.verbs.releases.choice import (
    ALL,
    NEWEST,
    Key,
    Listings,
    Pick,
    is_folder,
    no_such_release,
    picks,
    taken_by,
)
from patcher.verbs.releases.comparison import up_to_upstream
from patcher.verbs.releases.fetched import fetch_all, list_releases


def check_releases(
    requested: Sequence[Requested],
    against: Sequence[str],
    patchsets: Sequence[Patchset],
    events: Events = SILENT,
) -> list[Checked]:
    """Try patchsets on releases of their packages, and on packages in directories.

    Args:
        requested: the patchsets; each is tried by itself.
        against: the values of `--against`, as `check_against` lets them pass.
        patchsets: further patchsets whose files are kept where a wheel is fetched, so that it is
            fetched once for all of them.
        events: takes the progress, and is asked before anything is fetched.

    Raises:
        SitepatchError: `events` refuses the fetch.
        PatchError: a hunk is wrong in itself.
        NoPip: pip is not there or too old.
        StoreError: others may write to the cache, or it cannot be made.
        OSError: the cache cannot be opened.
    """
    folders = [word for word in against if is_folder(word)]
    against = [word for word in against if word not in folders]
    checked: list[Checked] = []
    if not against:
        for item in requested:
            outcomes = list(_in_folders(item, folders))
            checked.append(Checked(item.patchset, tuple(outcomes)))
        return checked

    of_requested = [item.patchset for item in requested]
    releases_of = _fetch(of_requested, against, patchsets=patchsets, events=events)
    total = sum(len(releases.picked) for releases in releases_of.values())
    done = count(1)
    for item in requested:
        releases = releases_of[item.patchset.name]
        outcomes = list(_in_folders(item, folders))
        for outcome in _outcomes(item, against, releases=releases):
            outcomes.append(outcome)
            events.progress(next(done), total, work=Message("releases checked"))
        ranges = [variant.versions for variant in item.patchset.variants]
        outcomes = up_to_upstream(outcomes, ranges)
        checked.append(Checked(item.patchset, tuple(outcomes)))
    return checked


def _paths(patchsets: Sequence[Patchset]) -> dict[str, set[str]]:
    """The files that patchsets change, by distribution."""
    paths: dict[str, set[str]] = {}
    for patchset in patchsets:
        for _, name, variants in targets_of(patchset):
            paths.setdefault(name, set()).update(paths_of(variants))
    return paths


class _Releases(Record):
    """The releases that are asked for of the packages of a patchset.

    Attributes:
        picked: the releases.
        listings: what the index has of each distribution.
        kept: by release the folder of its files, or why there is none.
    """

    picked: Sequence[Pick]
    listings: Listings
    kept: Mapping[Key, Path | SitepatchError]

    def is_yanked(self, key: Key) -> bool:
        """Whether the index says, or said when it was fetched, that a release was yanked."""
        name, version = key
        listing = self.listings[name]
        if isinstance(listing, Listing) and version in listing.yanked:
            return True
        return was_yanked(name, version)


def _fetch(
    requested: Sequence[Patchset],
    against: Sequence[str],
    *,
    patchsets: Sequence[Patchset],
    events: Events,
) -> dict[str, _Releases]:
    """Pick the releases to try each requested patchset on, and fetch their files.

    Returns:
        the releases by the name of the patchset.
    """
    with fetching() as pip:
        listings = list_releases(pip, list(_paths(requested)), events=events)
        picked: dict[str, list[Pick]] = {}
        needed: dict[Key, None] = {}
        for patchset in requested:
            picked[patchset.name] = picks(patchset, against, listings=listings)
            for pick in picked[patchset.name]:
                needed[pick.key] = None
        paths = _paths([*requested, *patchsets])
        kept = fetch_all(pip, list(needed), listings=listings, paths=paths, events=events)

    releases_of: dict[str, _Releases] = {}
    for name, picks_of_patchset in picked.items():
        releases_of[name] = _Releases(picks_of_patchset, listings, kept=kept)
    return releases_of


def _outcomes(
    requested: Requested, against: Sequence[str], *, releases: _Releases
) -> Iterator[ReleaseOutcome]:
    """The outcome for each release that was picked, and for each value that picked none."""
    newest_outside: dict[str, str] = {}
    for pick in releases.picked:
        if not pick.inside:
            name, version = pick.key
            newest_outside[name] = version

    for package, key, inside in releases.picked:
        name, version = key
        outcome = _of_release(requested, package, key=key, kept=releases.kept.get(key))
        if not inside:
            outcome = _out_of_range(requested, package, outcome=outcome)
            if NEWEST in against:  # as `apply` answers once it is installed: CI asks early
                outcome = outcome._replace(state=State.NOT_FOUND.value)
            if version == newest_outside[name]:
                outcome = outcome._replace(hint=update_hint(requested.patchset.name, version))
        release = ReleaseName(name, version, yanked=releases.is_yanked(key))
        yield outcome._replace(release=release)
    yield from _nothing_found(requested.patchset, against, releases=releases)


def _of_release(
    requested: Requested, package: str, *, key: Key, kept: Path | SitepatchError | None
) -> ReleaseOutcome:
    """The outcome for a release; `kept` is the folder of its files, or why there is none."""
    name, version = key
    if isinstance(kept, SitepatchError):
        state = NO_WHEEL if isinstance(kept, NoWheel) else NOT_FETCHED
        release = ReleaseName(name, version)
        return ReleaseOutcome(release, state, problem=one_line(kept.message), hint=kept.hint)
    located = Located(package, str(kept), distribution=name, version=version, dist_info="")
    return try_release(requested, located)


def _out_of_range(requested: Requested, package: str, *, outcome: ReleaseOutcome) -> ReleaseOutcome:
    """An outcome of a release that no variant is for, with the state that each patch has there."""
    variants = pick_variants(requested.patchset)[package]
    ranges = listed([variant.versions for variant in variants], "or")
    problem = Message("the patchset is for {package} {ranges}", package=package, ranges=ranges)
    return ReleaseOutcome(outcome.release, OUT_OF_RANGE, problem=problem, patches=outcome.patches)


def _in_folders(requested: Requested, folders: Sequence[str]) -> Iterator[ReleaseOutcome]:
    """What a patchset does to the packages in directories."""
    for folder in folders:
        env = discover(None, folder)
        for package, variants in pick_variants(requested.patchset).items():
            located = locate(env, package, paths_of(variants))
            outcome = try_release(requested, located)
            if not matching_variants(variants, located.version):  # as `apply` answers there
                hint = update_hint(requested.patchset.name, located.version)
                outcome = _out_of_range(requested, package, outcome=outcome)
                outcome = outcome._replace(state=State.NOT_FOUND.value, hint=hint)
            release = outcome.release._replace(version=outcome.version or folder)
            yield outcome._replace(release=release)


def _nothing_found(
    patchset: Patchset, against: Sequence[str], *, releases: _Releases
) -> Iterator[ReleaseOutcome]:
    """An outcome for each distribution that was not listed, and each value that picked none."""
    picked_names: set[str] = set()
    versions: list[str] = []
    inside: list[str] = []
    for pick in releases.picked:
        name, version = pick.key
        picked_names.add(name)
        versions.append(version)
        if pick.inside:
            inside.append(version)

    names = list(dict.fromkeys(name for _, name, _ in targets_of(patchset)))
    listings: list[Listing] = []
    for name in names:
        listing = releases.listings[name]
        if isinstance(listing, Listing):
            listings.append(listing)
        elif name not in picked_names:
            problem = one_line(listing.message)
            release = ReleaseName(name, "")
            yield ReleaseOutcome(release, NOT_FETCHED, problem=problem, hint=listing.hint)
    if len(listings) < len(names):
        return

    for word in against:
        if not taken_by(word, versions, inside=inside):
            release = ReleaseName(listed(names, "or"), word)
            problem = _why_none(patchset, word, listings=listings)
            yield ReleaseOutcome(release, NO_RELEASE, problem=problem)


def _why_none(patchset: Patchset, word: str, *, listings: Sequence[Listing]) -> Message:
    """Why a value of `--against` picked no release."""
    offers: list[str] = []
    for listing in listings:
        offers += listing.versions
    if not offers:
        return Message("pip found no release at all of that name")
    if is_version(word):
        return no_such_release(offers)
    if word not in (ALL, NEWEST):
        return Message("the index has none in {ranges}", ranges=word)
    ranges: list[str] = []
    for variant in patchset.variants:
        ranges.append(variant.versions or Message("any version"))
    return Message("the index has none in {ranges}", ranges=listed(ranges, "or"))
