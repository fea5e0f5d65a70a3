"""The further releases that a new patchset should hold for, and the proof of what it does to them and to what is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Dict, Iterable, List, Mapping, NamedTuple, Sequence, Set, Tuple, Union

from patcher.author.changed import python_files
from patcher.author.folder import PackageRange
from patcher.author.hunks.trial import same_code
from patcher.author.proof import Release, with_patches
from patcher.author.ranges import proven_range
from patcher.errors import SitepatchError, UsageError
from patcher.installed.environment import locate
from patcher.installed.interpreter import discover
from patcher.installed.record import recorded_sources
from patcher.installed.versions import is_version
from patcher.message import Message, joined, one_line
from patcher.model import Located, Patchset, PatchsetSource, Requested, State
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import MANIFEST
from patcher.system.reading import read_file
from patcher.verbs.place import Events
from patcher.verbs.releases.against import named_releases, try_release
from patcher.verbs.releases.outcome import APPLICABLE, HOLDS, ReleaseOutcome


def check_also(also: Sequence[str]) -> None:
    """Check that each text is a release (`1.2`, `NAME==1.2`) or a directory.

    Raises:
        UsageError: for all that are neither.
    """
    wrong = [spec for spec in also if not (_version(spec) or Path(spec).is_dir())]
    if wrong:
        lines = [Message("--also {text}: found no such directory and no version", text=spec) for spec in wrong]
        raise UsageError(joined("\n", lines), "name a release (1.2, NAME==1.2), or a directory of packages")


def _version(spec: str) -> str:
    version = spec.rpartition("==")[2]
    return version if is_version(version) and not Path(spec).is_dir() else ""


def further_releases(
    also: Sequence[str], homes: Mapping[Located, Set[str]], events: Events
) -> Tuple[List[Release], List[str]]:
    """The named releases, and a message for each that cannot be fetched.

    Args:
        also: releases and directories, checked by `check_also`.
        homes: the installed packages, each with the files that the patchset changes.
        events: reports the progress.

    Raises:
        NoPip: pip is missing or too old.
    """
    releases: List[Release] = []
    problems: List[str] = []
    for spec in (spec for spec in also if Path(spec).is_dir()):
        env = discover(None, spec)
        for home, paths in homes.items():
            try:
                releases.append(_release(locate(env, home.package, sorted(paths)), paths))
            except SitepatchError as error:
                problems.append(Message("--also {text}: {message}", text=spec, message=error.message))
    names = {name for home in homes for name in ("", home.distribution, home.package)}
    idle = [spec for spec in also if _version(spec) and spec.rpartition("==")[0] not in names]
    problems += [Message("--also {text}: no file of it is changed", text=spec) for spec in idle]
    for home, paths in homes.items():
        name = home.distribution or home.package
        versions = [_version(spec) for spec in also if _version(spec) and spec.rpartition("==")[0] in ("", name, home.package)]
        if not versions:
            continue
        for (_, version), folder in named_releases({name: paths}, versions, events).items():
            if not isinstance(folder, SitepatchError) and not all((folder / path).is_file() for path in paths):
                folder = whole_package(home._replace(site=str(folder), version=version), paths, events)
            if isinstance(folder, SitepatchError):
                reason = one_line(folder.message)
                problems.append(Message("{name} {version}: {reason}", name=name, version=version, reason=reason))
            else:
                releases.append(_release(home._replace(site=str(folder), version=version), paths))
    return releases, problems


def whole_package(release: Located, paths: Set[str], events: Events) -> Union[Path, SitepatchError]:
    """The folder with all of a package of a release of the index, and these files; or why there is none."""
    recorded = {row.path for info in Path(release.site).glob("*.dist-info") for row in recorded_sources(info)}
    inside = {path for path in recorded if path.startswith(f"{release.package}/")}
    name = release.distribution or release.package
    return named_releases({name: paths | inside}, [release.version], events)[name, release.version]


def _release(located: Located, paths: Set[str]) -> Release:
    files = {path: Path(located.site) / path for path in sorted(paths)}
    if not all(file.is_file() for file in files.values()):  # one moved, and is found by its code
        files.update((path, Path(located.site) / path) for path in python_files(located.site, located.package))
    return Release(located, {path: read_file(file) for path, file in files.items() if file.is_file()})


class Proof(NamedTuple):
    """What a patchset that is not written yet does to further releases, its texts, and its ranges."""

    releases: Tuple[ReleaseOutcome, ...]
    texts: Dict[str, str]
    targets: Tuple[PackageRange, ...]


def prove(
    folder: Path,
    files: Callable[[Sequence[PackageRange]], Dict[str, str]],
    homes: Sequence[Located],
    releases: Iterable[Tuple[Release, Mapping[str, bytes]]],
) -> Proof:
    """Try a patchset, whose texts `files` gives for ranges, on further releases; its ranges are those for which it is proven.

    Each of `releases` comes with the files that the patchset must make there, by path, as far as they are known.

    Raises:
        PatchError: it is invalid.
    """
    texts = files([PackageRange(home.package, home.distribution, "") for home in homes])
    trial = load_patchset(folder, PatchsetSource(str(folder)), {MANIFEST: "", **texts})
    packages = [home.package for home in homes]
    outcomes = [_tried(trial, release, expected) for release, expected in releases if release.located.package in packages]
    targets = tuple(_proven(home, outcomes) for home in homes)
    return Proof(tuple(outcomes), files(targets), targets)


def _tried(trial: Patchset, release: Release, expected: Mapping[str, bytes]) -> ReleaseOutcome:
    """What a patchset does to another release, a conflict where it does not make the expected code."""
    outcome = try_release(Requested(trial, {}), release.located)
    patches = [patch for variant in trial.variants for patch in variant.patches]
    for path, code in expected.items() if outcome.word == APPLICABLE else ():
        result, _ = with_patches(path, release.texts[path], patches)
        if not same_code(result, code, anywhere=True):
            problem = Message("{path}: other code comes of it than of the diff", path=path)
            return outcome._replace(word=State.CONFLICT.value, places=(), diffs=(), problem=problem)
    return outcome


def _proven(home: Located, outcomes: Sequence[ReleaseOutcome]) -> PackageRange:
    """The installed package, with the range of releases for which the outcomes prove the patchset."""
    of_home = [outcome for outcome in outcomes if outcome.distribution == home.distribution]
    proven = [outcome.version for outcome in of_home if outcome.word in HOLDS]
    failed = [outcome.version for outcome in of_home if outcome.word not in HOLDS]
    return PackageRange(home.package, home.distribution, proven_range([home.version, *proven], failed))
