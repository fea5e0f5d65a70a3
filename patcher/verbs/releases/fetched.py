"""The files of releases that matter, listed and fetched several at a time and kept in the cache."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Callable, Mapping, Sequence, TypeVar

from patcher.errors import SitepatchError
from patcher.installed.index import NoPip, Pip
from patcher.installed.record import recorded_sources
from patcher.installed.releases import cached_release, fetch_release, fetching
from patcher.installed.versions import oldest_first
from patcher.message import Message
from patcher.model import Located
from patcher.place import Events
from patcher.system.cache import cache_dir
from patcher.system.parallel import in_parallel
from patcher.verbs.releases.choice import (
    Key,
    Listings,
    NoRelease,
    no_such_release,
    offered,
    taken_by,
)

_JOBS = 4  # releases that are fetched at a time
_T = TypeVar("_T")


def list_releases(pip: Pip, names: Sequence[str], events: Events) -> Listings:
    """The releases of every distribution, or why they cannot be had."""
    report = partial(events.progress, total=len(names), work=Message("lists of releases read"))
    tasks = [_caught(pip.listing, name) for name in names]
    return dict(zip(names, in_parallel(tasks, _JOBS, report=report, stop=pip.stop)))


def fetch_all(
    pip: Pip,
    needed: Sequence[Key],
    listings: Listings,
    paths: Mapping[str, set[str]],
    events: Events,
) -> dict[Key, Path | SitepatchError]:
    """The folder of every release, or why there is none.

    Raises:
        SitepatchError: nothing is to be fetched, say the events; the cache cannot be written.
    """
    releases: dict[Key, Path | SitepatchError] = {}
    missing: list[Key] = []
    for key in needed:
        name, version = key
        folder, listing = cached_release(name, version, paths[name]), listings[name]
        if folder:
            releases[key] = folder
        elif isinstance(listing, SitepatchError):
            releases[key] = listing
        else:
            missing.append(key)

    if missing and not events.fetching(Counter(name for name, _ in missing)):
        raise SitepatchError("nothing was fetched", "name patchsets, or fewer releases")
    report = partial(events.progress, total=len(missing), work=Message("releases fetched"))
    tasks = []
    for name, version in missing:
        tasks.append(_caught(fetch_release, pip, name, version, paths[name], listings[name]))
    try:
        fetched = in_parallel(tasks, _JOBS, report=report, stop=pip.stop)
    except OSError as error:
        hint = Message("free some space there, or set SITEPATCH_CACHE to another directory")
        path, reason = error.filename or cache_dir(), Message.whole(error.strerror or error)
        raise SitepatchError("{path}: {reason}", hint, path=path, reason=reason) from None
    releases.update(zip(missing, fetched))
    return releases


def _caught(function: Callable[..., _T], *arguments: object) -> Callable[[], _T | SitepatchError]:
    """The call, with a failure that concerns one release or distribution as its value."""

    def call() -> _T | SitepatchError:
        try:
            return function(*arguments)
        except NoPip:
            raise
        except SitepatchError as error:
            return error

    return call


def named_releases(
    distribution: str,
    paths: set[str],
    against: Sequence[str],
    events: Events,
    *,
    ends: bool = False,
) -> dict[str, Path | SitepatchError]:
    """The kept files `paths` of a distribution in each release that is asked for, by its version.

    Or why there are none.

    Args:
        distribution: its name.
        paths: the files.
        against: as `check_against` lets them pass.
        events: takes the progress.
        ends: of each of `against` only the oldest and the newest release.

    Raises:
        NoPip: pip is not there or too old.
        StoreError: others may write to the cache, or it cannot be made.
        OSError: it cannot be opened.
    """
    keys: dict[Key, None] = {}
    releases: dict[str, Path | SitepatchError] = {}
    with fetching() as pip:
        listings = list_releases(pip, [distribution], events)
        listing = listings[distribution]
        versions = offered(listing, against)
        for word in against:
            taken = oldest_first(taken_by(word, versions, inside=versions))
            if not taken:
                releases[word] = NoRelease(no_such_release(versions))
                if isinstance(listing, SitepatchError):
                    releases[word] = listing
            if ends:
                taken = [*taken[:1], *taken[-1:]]
            for version in taken:
                keys[distribution, version] = None
        wanted = {distribution: paths}
        folders = fetch_all(pip, list(keys), listings, paths=wanted, events=events)
    for (_, version), folder in folders.items():
        releases[version] = folder
    return releases


def whole_package(release: Located, paths: set[str], events: Events) -> Path | SitepatchError:
    """The folder with all of a package of a release of the index, and these files; or why not."""
    inside: set[str] = set()
    for info in Path(release.site).glob("*.dist-info"):
        for row in recorded_sources(info):
            if row.path.startswith(f"{release.package}/"):
                inside.add(row.path)
    name = release.distribution or release.package
    releases = named_releases(name, paths | inside, [release.version], events=events)
    return releases[release.version]
