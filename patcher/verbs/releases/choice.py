"""Which releases are asked for: the values of `--against` and `--to`, and what the index offers."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Sequence, Tuple, Union

from patcher.errors import SitepatchError, UsageError
from patcher.installed.index import Listing
from patcher.installed.versions import (
    accepts,
    is_range,
    is_version,
    matching_versions,
    newest,
    oldest_first,
    released,
)
from patcher.message import Message, joined
from patcher.model import Patchset
from patcher.patchset.variants import choose_variant, targets_of
from patcher.record import Record

ALL, NEWEST = "all", "newest"
"""What `--against` and `--to` take beside versions and ranges."""
Key = Tuple[str, str]
"""A release: its distribution and its version."""
Listings = Mapping[str, Union[Listing, SitepatchError]]
"""By distribution: its releases, or why they cannot be had."""


class NoRelease(SitepatchError):
    """The index has no such release of a distribution."""


class Pick(Record):
    """A release that is asked for.

    Attributes:
        package: its import package.
        key: the release.
        inside: whether it is in a range of the patchset.
    """

    package: str
    key: Key
    inside: bool


def check_against(
    against: Sequence[str], option: str = "--against", *, folders: bool = False
) -> None:
    """Refuse what `--against`, or another option of that kind, cannot take.

    With `folders` the directories of packages are taken, too.

    Raises:
        UsageError: a text that is neither `all` nor `newest` nor a version nor a specifier set.
    """
    template = (
        '{option} "{text}": expected a version, a range such as ">=2.4,<3", {names} or {version}'
    )
    problems = []
    for word in against:
        is_good = word in (ALL, NEWEST) or is_version(word) or (word.strip() and is_range(word))
        if not is_good and not (folders and is_folder(word)):
            words = {"names": ALL, "version": NEWEST}
            problems.append(Message(template, option=option, text=word, **words))
    if problems:
        raise UsageError(joined("\n", problems), "versions and ranges are those of PEP 440")


def is_folder(word: str) -> bool:
    """Whether a value of `--against` is a directory of packages."""
    return word not in ("", ALL, NEWEST) and not is_version(word) and Path(word).is_dir()


def picks(patchset: Patchset, against: Sequence[str], listings: Listings) -> list[Pick]:
    """The releases that are asked for, distribution by distribution, oldest first."""
    picked: list[Pick] = []
    for package, name, variants in targets_of(patchset):
        listing = listings[name]
        versions = offered(listing, against)
        inside = [version for version in versions if choose_variant(variants, version)]
        yanked = listing.yanked if isinstance(listing, Listing) else ()
        current = [version for version in versions if version not in yanked]
        taken: set[str] = set()
        for word in against:
            taken.update(taken_by(word, current if word == NEWEST else versions, inside))
        for version in oldest_first(taken):
            picked.append(Pick(package, (name, version), inside=version in inside))
    return picked


def offered(listing: Listing | SitepatchError, against: Sequence[str]) -> list[str]:
    """The releases that there are, sorted; where nothing can be listed those that are named."""
    if isinstance(listing, Listing):
        return sorted(listing.versions)
    return [word for word in against if is_version(word)]


def taken_by(word: str, versions: Sequence[str], inside: Sequence[str]) -> list[str]:
    """The releases that a value of `--against` takes.

    `all` takes those `inside` a range, anything else also others. A range takes pre-releases where
    it names one, or where it has nothing else, as pip does.
    """
    if word == NEWEST:
        return newest(versions)
    if word == ALL:
        return list(inside)
    if is_version(word):
        return matching_versions(word, versions)
    return released(word, [version for version in versions if accepts(word, version)])


def no_such_release(versions: Sequence[str]) -> Message:
    """That a release is not among those of the index, and which is the newest one."""
    newest_one = ""
    if versions:
        newest_one = Message("; the newest is {version}", version=oldest_first(versions)[-1])
    template = "the index has no such release for macOS or Linux{newest}"
    return Message(template, newest=newest_one)
