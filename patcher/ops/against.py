"""Patchsets against many releases: which ones are meant, fetching them several at a time, an outcome for each."""

from __future__ import annotations

import threading
from collections import Counter, deque
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Callable, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Sequence, Set, Tuple, TypeVar, Union

from patcher.errors import SitepatchError, UsageError
from patcher.model import Patchset, Requested, State
from patcher.ops.check import NO_RELEASE, NO_WHEEL, NOT_FETCHED, OUT_OF_RANGE, Outcome, one_line, try_release
from patcher.ops.outcome import SILENT, Events
from patcher.patchset.sources import choose, pick_variants
from patcher.system import ownership
from patcher.system.cache import cache_dir, in_use
from patcher.target.index import PYTHONS, Listing, NoPip, NoWheel, Pip
from patcher.target.releases import fetch, kept, was_yanked
from patcher.target.versions import accepts, is_range, is_version, meant, newest, oldest_first

ALL, NEWEST = "all", "newest"
T = TypeVar("T")
_Key = Tuple[str, str]  # distribution, version
_Listings = Mapping[str, Union[Listing, SitepatchError]]


class _Pick(NamedTuple):
    """A release that is asked for; `inside` is whether it is in the patchset's own range."""

    package: str
    key: _Key
    inside: bool


class _Fetcher(NamedTuple):
    """What fetches, where it is kept, how many releases are fetched at a time, and who is told."""

    pip: Pip
    cache: Path
    jobs: int
    events: Events


class Checked(NamedTuple):
    """A patchset and what became of it on each release, oldest first, one distribution after the other."""

    patchset: Patchset
    outcomes: Tuple[Outcome, ...]


def check_asked(asked: Sequence[str], option: str = "--against") -> None:
    """Refuse what `--against`, or another option of that kind, cannot take; everything wrong at once.

    Raises:
        UsageError: a text that is neither `all` nor `newest` nor a version nor a specifier set.
    """
    words = (ALL, NEWEST)
    wrong = [text for text in asked if text not in words and not is_version(text) and not (text.strip() and is_range(text))]
    if wrong:
        lines = [f'{option} "{text}": expected a version, a range such as ">=2.4,<3", {ALL} or {NEWEST}' for text in wrong]
        raise UsageError("\n".join(lines), "versions and ranges are those of PEP 440")


def check_releases(
    requested: Sequence[Requested], asked: Sequence[str], known: Sequence[Patchset], jobs: int, events: Events = SILENT
) -> List[Checked]:
    """Plan patchsets against releases.

    Args:
        requested: the patchsets, each by itself.
        asked: the values of `--against`, as `check_asked` lets them pass.
        known: patchsets whose files are kept as well where a wheel is fetched, so that it is fetched once.
        jobs: how many releases are fetched at a time.
        events: told how far it is, and asked before anything is fetched.

    Raises:
        SitepatchError: nothing is to be fetched, say the events.
        PatchError: a hunk is wrong in itself.
        NoPip: pip is not there or too old.
        OSError: the cache cannot be written.
    """
    cache = cache_dir()
    ownership.check(str(cache), "set SITEPATCH_CACHE to a directory of your own")
    names = dict.fromkeys(
        name for one in requested for package in pick_variants(one.patchset) for name in distributions(one.patchset, package)
    )
    with Pip() as pip, in_use(cache):
        fetcher = _Fetcher(pip, cache, jobs, events)
        listings = _list(fetcher, list(names), asked)
        chosen = {one.patchset.name: _choose(one.patchset, asked, listings) for one in requested}
        paths = {name: _paths([*(one.patchset for one in requested), *known], name) for name in names}
        needed = dict.fromkeys(key for picks in chosen.values() for _, key, inside in picks if inside)
        folders = _fetch(fetcher, list(needed), listings, paths)
    total, tried = sum(map(len, chosen.values())), count(1)
    checked = []
    for one in requested:
        outcomes = []
        for outcome in _outcomes(one, asked, chosen[one.patchset.name], listings, folders, cache):
            outcomes.append(outcome)
            events.progress(next(tried), total, "releases checked")
        checked.append(Checked(one.patchset, tuple(outcomes)))
    return checked


def named_releases(
    paths: Mapping[str, Set[str]], asked: Sequence[str], events: Events, jobs: int = 4
) -> Dict[_Key, Union[Path, SitepatchError]]:
    """The kept files `paths` of distributions in each release that is asked for, by (distribution, version), or why not.

    Args:
        paths: the files, by distribution.
        asked: as `check_asked` lets them pass.
        events: told how far it is.
        jobs: how many releases are fetched at a time.

    Raises:
        NoPip: pip is not there or too old.
        OSError: the cache cannot be written.
    """
    cache = cache_dir()
    ownership.check(str(cache), "set SITEPATCH_CACHE to a directory of your own")
    with Pip() as pip, in_use(cache):
        fetcher = _Fetcher(pip, cache, jobs, events)
        listings = _list(fetcher, list(paths), asked)
        keys: Dict[_Key, None] = {}
        found: Dict[_Key, Union[Path, SitepatchError]] = {}
        for name, listing in listings.items():
            versions = sorted(listing.versions) if isinstance(listing, Listing) else list(filter(is_version, asked))
            for text in asked:
                several = _taken(text, versions, versions)
                keys.update(((name, version), None) for version in several)
                if not several:
                    found[name, text] = SitepatchError("the index has no such release for macOS or Linux")
        found.update(_fetch(fetcher, list(keys), listings, paths))
        return found


def distributions(patchset: Patchset, package: str) -> List[str]:
    """The distributions that provide an import package, as the variants of a patchset list them."""
    variants = pick_variants(patchset)[package]
    return list(dict.fromkeys(name for variant in variants for name in variant.distributions or (package,)))


# which releases -------------------------------------------------------------------------------------------------------
def _list(fetcher: _Fetcher, names: Sequence[str], asked: Sequence[str]) -> _Listings:
    """The releases of every distribution, or why they cannot be had; no more than is needed where versions are named."""
    found: Dict[str, List[Union[Listing, SitepatchError]]] = {name: [] for name in names}
    first, *others = PYTHONS
    for pythons in ([first], others):
        pairs = [(name, python) for name in names if not _told(found[name], asked) for python in pythons]
        tell = partial(fetcher.events.progress, total=len(pairs), what="lists of releases read")
        answers = _parallel(fetcher, [_caught(fetcher.pip.listing, *pair) for pair in pairs], tell)
        for (name, _), answer in zip(pairs, answers):
            found[name].append(answer)
    return {name: _joined(answers) for name, answers in found.items()}


def _told(answers: Sequence[Union[Listing, SitepatchError]], asked: Sequence[str]) -> bool:
    """Whether nothing is left to be asked: it fails, or every release that is named was found."""
    versions = [version for each in answers if isinstance(each, Listing) for version in each.versions if "+" not in version]
    failed = any(isinstance(each, SitepatchError) for each in answers)
    return failed or all(is_version(text) and meant(text, versions) for text in asked)


def _joined(answers: Sequence[Union[Listing, SitepatchError]]) -> Union[Listing, SitepatchError]:
    listings = [each for each in answers if isinstance(each, Listing)]
    errors = [each for each in answers if isinstance(each, SitepatchError)]
    nothing: FrozenSet[str] = frozenset()
    versions, yanked = (nothing.union(*(each[at] for each in listings)) for at in (0, 1))
    wheels = {version: url for each in reversed(listings) for version, url in each.wheels.items()}
    return errors[0] if errors else Listing(versions, yanked, wheels)


def _choose(patchset: Patchset, asked: Sequence[str], listings: _Listings) -> List[_Pick]:
    """The releases that are asked for, distribution by distribution, oldest first."""
    picked: List[_Pick] = []
    for package, variants in pick_variants(patchset).items():
        for name in distributions(patchset, package):
            listing = listings[name]
            # Where there is no network the releases that are named may still be kept.
            versions = sorted(listing.versions) if isinstance(listing, Listing) else list(filter(is_version, asked))
            inside = [version for version in versions if choose(variants, version)]
            yanked = listing.yanked if isinstance(listing, Listing) else ()
            offered = [version for version in versions if version not in yanked]
            taken = {version for text in asked for version in _taken(text, offered if text == NEWEST else versions, inside)}
            picked += [_Pick(package, (name, version), version in inside) for version in oldest_first(taken)]
    return picked


def _taken(text: str, versions: Sequence[str], inside: Sequence[str]) -> List[str]:
    """The releases that a value of `--against` takes; only one that is named, or newest, may lie outside of the range."""
    if text == NEWEST:
        return newest(versions)
    if is_version(text):
        return meant(text, versions)
    return [version for version in inside if text == ALL or accepts(text, version)]


def _paths(patchsets: Sequence[Patchset], distribution: str) -> Set[str]:
    return {
        path
        for patchset in patchsets
        for package, variants in pick_variants(patchset).items()
        if distribution in distributions(patchset, package)
        for variant in variants
        for patch in variant.patches
        for path in patch.paths
    }


# fetching -------------------------------------------------------------------------------------------------------------
def _fetch(
    fetcher: _Fetcher, needed: Sequence[_Key], listings: _Listings, paths: Mapping[str, Set[str]]
) -> Dict[_Key, Union[Path, SitepatchError]]:
    """The folder of every release, or why there is none."""
    found: Dict[_Key, Union[Path, SitepatchError]] = {}
    missing: List[_Key] = []
    for key in needed:
        name, version = key
        folder, listing = kept(fetcher.cache, name, version, paths[name]), listings[name]
        if folder:
            found[key] = folder
        elif isinstance(listing, SitepatchError):
            found[key] = listing
        else:
            missing.append(key)

    if missing and not fetcher.events.fetching(Counter(name for name, _ in missing)):
        raise SitepatchError("nothing was fetched", "name patchsets, or fewer releases")
    tell = partial(fetcher.events.progress, total=len(missing), what="releases fetched")
    tasks = [_caught(fetch, fetcher.pip, fetcher.cache, *key, paths[key[0]], listings[key[0]]) for key in missing]
    found.update(zip(missing, _parallel(fetcher, tasks, tell)))
    return found


def _caught(function: Callable[..., T], *arguments: object) -> Callable[[], Union[T, SitepatchError]]:
    """The call, with a failure that concerns one release or distribution as its value."""

    def call() -> Union[T, SitepatchError]:
        try:
            return function(*arguments)
        except NoPip:
            raise
        except SitepatchError as error:
            return error

    return call


def _parallel(fetcher: _Fetcher, tasks: Sequence[Callable[[], T]], tell: Callable[[int], None]) -> List[T]:
    """The results in the order of the tasks; what ends this early (Ctrl-C) ends the tasks that run, and starts no other.

    `tell` takes how many of them are done.
    """
    waiting = deque(enumerate(tasks))
    futures: List[Future[T]] = [Future() for _ in tasks]

    def work() -> None:
        while waiting:
            with suppress(IndexError):  # another thread was faster
                number, task = waiting.popleft()
                try:
                    futures[number].set_result(task())
                except BaseException as error:
                    futures[number].set_exception(error)

    results: List[T] = []
    try:
        for _ in range(min(fetcher.jobs, len(tasks))):  # daemons, since nothing ends one that waits for an index
            threading.Thread(target=work, daemon=True).start()
        for future in futures:
            tell(len(results))
            results.append(future.result())
        if tasks:
            tell(len(tasks))
    except BaseException:
        waiting.clear()
        fetcher.pip.stop()
        raise
    return results


# outcomes -------------------------------------------------------------------------------------------------------------
def _outcomes(
    requested: Requested,
    asked: Sequence[str],
    chosen: Sequence[_Pick],
    listings: _Listings,
    folders: Mapping[_Key, Union[Path, SitepatchError]],
    cache: Path,
) -> Iterator[Outcome]:
    for package, (name, version), inside in chosen:
        listing, folder = listings[name], folders.get((name, version), cache)
        if not inside:
            ranges = " or ".join(variant.versions for variant in pick_variants(requested.patchset)[package])
            outcome = Outcome(name, version, OUT_OF_RANGE, problem=f"the patchset is for {package} {ranges}")
            if NEWEST in asked:  # who asks for it wants to know before people upgrade: `apply` would answer so
                hint = f"does it hold for it? sitepatch update {requested.patchset.name} --to {version}"
                outcome = outcome._replace(word=State.NOT_FOUND.value, hint=hint)
        elif isinstance(folder, SitepatchError):
            word = NO_WHEEL if isinstance(folder, NoWheel) else NOT_FETCHED
            outcome = Outcome(name, version, word, problem=one_line(folder.message), hint=folder.hint)
        else:
            outcome = try_release(requested, package, name, version, folder)
        listed = isinstance(listing, Listing) and version in listing.yanked
        yield outcome._replace(yanked=listed or was_yanked(cache, name, version))
    yield from _nothing_found(requested.patchset, asked, chosen, listings)


def _nothing_found(
    patchset: Patchset, asked: Sequence[str], chosen: Sequence[_Pick], listings: _Listings
) -> Iterator[Outcome]:
    """An outcome for each distribution that could not be listed, and for each text that took no release at all."""
    names = list(dict.fromkeys(name for package in pick_variants(patchset) for name in distributions(patchset, package)))
    told = {pick.key[0] for pick in chosen}
    for name in names:
        error = listings[name]
        if isinstance(error, SitepatchError) and name not in told:
            yield Outcome(name, "", NOT_FETCHED, problem=one_line(error.message), hint=error.hint)
    listed = [each for each in map(listings.get, names) if isinstance(each, Listing)]
    if len(listed) < len(names):
        return
    ranges = " or ".join(variant.versions or "any version" for variant in patchset.variants)
    versions, inside = [pick.key[1] for pick in chosen], [pick.key[1] for pick in chosen if pick.inside]
    for text in asked:
        if not _taken(text, versions, inside):
            problem = f"the index has none in {ranges}"
            if is_version(text):
                problem = "the index has no such release for macOS or Linux"
            if not any(each.versions for each in listed):
                problem = "pip found no release at all of that name"
            yield Outcome(" or ".join(names), text, NO_RELEASE, problem=problem)
