"""Which releases an index has, and the files of some of them, fetched several at a time and kept."""

from __future__ import annotations

import threading
from collections import Counter, deque
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Mapping, NamedTuple, Sequence, Set, Tuple, TypeVar, Union

from patcher.errors import SitepatchError
from patcher.installed.index import Listing, NoPip, Pip
from patcher.installed.releases import cached_release, fetch_release
from patcher.installed.versions import is_version
from patcher.message import Message
from patcher.system import ownership
from patcher.system.cache import cache_dir, in_use
from patcher.verbs.place import Events

_JOBS = 4  # releases that are fetched at a time
_T = TypeVar("_T")
Key = Tuple[str, str]
"""A release: its distribution and its version."""
Listings = Mapping[str, Union[Listing, SitepatchError]]
"""By distribution: its releases, or why they cannot be had."""


class Fetcher(NamedTuple):
    """What fetches, where it is kept, and what reports progress."""

    pip: Pip
    cache: Path
    events: Events


@contextmanager
def fetching(events: Events) -> Iterator[Fetcher]:
    """A fetcher that keeps what it fetches in the cache, for as long as it is used.

    Raises:
        NoPip: pip is not there or too old.
        OSError: the cache cannot be written.
    """
    cache = cache_dir()
    ownership.refuse_shared(str(cache), Message("set SITEPATCH_CACHE to a directory of your own"))
    with Pip() as pip, in_use(cache):
        yield Fetcher(pip, cache, events)


def list_releases(fetcher: Fetcher, names: Sequence[str]) -> Listings:
    """The releases of every distribution, or why they cannot be had."""
    report = partial(fetcher.events.progress, total=len(names), work=Message("lists of releases read"))
    return dict(zip(names, _parallel(fetcher, [_caught(fetcher.pip.listing, name) for name in names], report)))


def offered(listing: Union[Listing, SitepatchError], against: Sequence[str]) -> List[str]:
    """The releases there are, sorted; where nothing can be listed those that are named, which may be kept."""
    return sorted(listing.versions) if isinstance(listing, Listing) else list(filter(is_version, against))


def fetch_all(
    fetcher: Fetcher, needed: Sequence[Key], listings: Listings, paths: Mapping[str, Set[str]]
) -> Dict[Key, Union[Path, SitepatchError]]:
    """The folder of every release, or why there is none.

    Raises:
        SitepatchError: nothing is to be fetched, say the events; the cache cannot be written.
    """
    releases: Dict[Key, Union[Path, SitepatchError]] = {}
    missing: List[Key] = []
    for key in needed:
        name, version = key
        folder, listing = cached_release(fetcher.cache, name, version, paths[name]), listings[name]
        if folder:
            releases[key] = folder
        elif isinstance(listing, SitepatchError):
            releases[key] = listing
        else:
            missing.append(key)

    if missing and not fetcher.events.fetching(Counter(name for name, _ in missing)):
        raise SitepatchError("nothing was fetched", "name patchsets, or fewer releases")
    report = partial(fetcher.events.progress, total=len(missing), work=Message("releases fetched"))
    tasks = [_caught(fetch_release, fetcher.pip, fetcher.cache, *key, paths[key[0]], listings[key[0]]) for key in missing]
    try:
        releases.update(zip(missing, _parallel(fetcher, tasks, report)))
    except OSError as error:
        hint = Message("free some space there, or set SITEPATCH_CACHE to another directory")
        path, reason = error.filename or fetcher.cache, Message.whole(error.strerror or error)
        raise SitepatchError("{path}: {reason}", hint, path=path, reason=reason) from None
    return releases


def _caught(function: Callable[..., _T], *arguments: object) -> Callable[[], Union[_T, SitepatchError]]:
    """The call, with a failure that concerns one release or distribution as its value."""

    def call() -> Union[_T, SitepatchError]:
        try:
            return function(*arguments)
        except NoPip:
            raise
        except SitepatchError as error:
            return error

    return call


def _parallel(fetcher: Fetcher, tasks: Sequence[Callable[[], _T]], report: Callable[[int], None]) -> List[_T]:
    """The results in the order of the tasks; what ends this early (Ctrl-C) ends the tasks that run, and starts no other.

    `report` takes how many of them are done.
    """
    waiting = deque(enumerate(tasks))
    futures: List[Future[_T]] = [Future() for _ in tasks]

    def work() -> None:
        while waiting:
            with suppress(IndexError):  # another thread was faster
                number, task = waiting.popleft()
                try:
                    futures[number].set_result(task())
                except BaseException as error:
                    futures[number].set_exception(error)

    results: List[_T] = []
    try:
        for _ in range(min(_JOBS, len(tasks))):  # daemons, since nothing ends one that waits for an index
            threading.Thread(target=work, daemon=True).start()
        for future in futures:
            report(len(results))
            results.append(future.result())
        if tasks:
            report(len(tasks))
    except BaseException:
        waiting.clear()
        fetcher.pip.stop()
        raise
    return results
