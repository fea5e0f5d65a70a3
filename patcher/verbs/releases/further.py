"""A patchset that is not written yet on further releases, and the ranges that it fits."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Callable, Iterable, Mapping, Sequence

from patcher.author.changed import python_files
from patcher.author.folder import PackageRange
from patcher.author.patched_texts import Release, with_patches
from patcher.author.ranges import fitting_range
from patcher.author.same_code import same_code
from patcher.compatibility import APPLICABLE, HOLDS, ReleaseChanges, ReleaseOutcome
from patcher.errors import SitepatchError, UsageError
from patcher.installed.environment import locate
from patcher.installed.interpreter import discover
from patcher.installed.versions import is_version
from patcher.message import Message, joined, one_line
from patcher.model import FilePatch, HunkText, Located, Patchset, PatchsetSource, Requested, State
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import MANIFEST
from patcher.patchset.variants import paths_of, pick_variants, resolve_options
from patcher.place import Events
from patcher.record import Record
from patcher.system.reading import read_file
from patcher.text.diffs import FileDiff
from patcher.verbs.releases.attempt import try_release
from patcher.verbs.releases.comparison import compared, up_to_upstream
from patcher.verbs.releases.fetched import named_releases, whole_package

if TYPE_CHECKING:
    Homes = Mapping[Located, set[str]]
    """The installed packages, each with the files that a patchset changes."""


def check_also(also: Sequence[str]) -> None:
    """Check that each text is a release (`1.2`, `NAME==1.2`) or a directory.

    Raises:
        UsageError: for all that are neither.
    """
    template = "--also {text}: found no such directory and no version"
    problems = []
    for spec in also:
        is_known = _version(spec) or Path(spec).is_dir()
        if not is_known:
            problems.append(Message(template, text=spec))

    if problems:
        hint = "name a release (1.2, NAME==1.2), or a directory of packages"
        raise UsageError(joined("\n", problems), hint)


def _version(spec: str) -> str:
    """The version that a value of `--also` names, "" for a directory."""
    _, _, version = spec.rpartition("==")
    if not is_version(version) or Path(spec).is_dir():
        return ""
    return version


def _name(spec: str) -> str:
    """The package that a value of `--also` names, "" for a version alone."""
    name, _, _ = spec.rpartition("==")
    return name


def further_releases(
    also: Sequence[str],
    homes: Homes,
    events: Events,
) -> tuple[list[Release], list[str]]:
    """The named releases, and a message for each that one of several packages lacks.

    Args:
        also: releases and directories, checked by `check_also`.
        homes: the installed packages, each with the files that the patchset changes.
        events: reports the progress.

    Raises:
        NoPip: pip is missing or too old.
        SitepatchError: a release is of none of the packages, or the only package has no such
            release, or it cannot be fetched.
    """
    releases, problems = _in_folders(also, homes)
    names: set[str] = set()
    for home in homes:
        names.update(("", home.distribution, home.package))

    is_idle = False
    for spec in also:
        if _version(spec) and _name(spec) not in names:
            is_idle = True
            problems.append(Message("--also {text}: no file of it is changed", text=spec))

    for home, paths in homes.items():
        of_package, missing = _of_package(also, home, paths=paths, events=events)
        releases += of_package
        problems += missing

    lacks_all = bool(problems) and len(homes) == 1
    if homes and (is_idle or lacks_all):
        hint = "no patchset was written; leave it out, or name one that is there"
        raise SitepatchError(joined("\n", problems), hint)
    return releases, problems


def _in_folders(also: Sequence[str], homes: Homes) -> tuple[list[Release], list[str]]:
    """The packages in the directories that are named, and a message for each that is missing."""
    releases: list[Release] = []
    problems: list[str] = []
    for spec in also:
        if not Path(spec).is_dir():
            continue

        env = discover(None, spec)
        for home, paths in homes.items():
            try:
                located = locate(env, home.package, sorted(paths))
                releases.append(_release(located, paths))
            except SitepatchError as error:
                template = "--also {text}: {message}"
                problems.append(Message(template, text=spec, message=error.message))

    return releases, problems


def _of_package(
    also: Sequence[str],
    home: Located,
    *,
    paths: set[str],
    events: Events,
) -> tuple[list[Release], list[str]]:
    """The named releases of a package, and a message for each that is missing."""
    name = home.distribution or home.package
    versions: list[str] = []
    for spec in also:
        version = _version(spec)
        if version and _name(spec) in ("", name, home.package):
            versions.append(version)

    if not versions:
        return [], []

    releases: list[Release] = []
    problems: list[str] = []
    kept_releases = named_releases(name, paths, against=versions, events=events)
    for version, kept in kept_releases.items():
        folder = kept
        if isinstance(kept, Path) and not _has_files(kept, paths):
            located = home._replace(site=str(kept), version=version)
            folder = whole_package(located, paths, events=events)

        if isinstance(folder, SitepatchError):
            problems.append(not_fetched(name, version, error=folder))
        else:
            located = home._replace(site=str(folder), version=version)
            releases.append(_release(located, paths, events))

    return releases, problems


def range_ends(
    patchset: Patchset,
    homes: Homes,
    events: Events,
) -> tuple[list[Release], list[str]]:
    """The oldest and the newest release in the range of each variant for packages.

    And a message for each that cannot be had.

    Args:
        patchset: the patchset.
        homes: the installed packages, each with the further files that are needed; the installed
            release is left out.
        events: reports the progress.
    """
    releases: list[Release] = []
    problems: list[str] = []
    for home, paths in homes.items():
        for variant in pick_variants(patchset).get(home.package, ()):
            if variant.versions == fitting_range([home.version]):
                continue

            name = home.distribution or home.package
            needed = {*paths, *paths_of([variant])}
            ends = _ends(name, needed, versions=variant.versions, events=events)
            for version, folder in ends.items():
                if isinstance(folder, SitepatchError):
                    problems.append(not_fetched(name, version, error=folder))
                elif version != home.version:
                    located = home._replace(site=str(folder), version=version)
                    releases.append(_release(located, needed, events))

    return releases, problems


def _ends(
    name: str,
    paths: set[str],
    *,
    versions: str,
    events: Events,
) -> dict[str, Path | SitepatchError]:
    """The oldest and the newest release of a range, whatever keeps them from being fetched."""
    try:
        return named_releases(
            name,
            paths,
            against=[versions],
            events=events,
            ends=True,
        )
    except SitepatchError as error:  # no pip: nobody has asked for these releases
        return {versions: SitepatchError(error.message)}
    except OSError as error:  # no cache
        return {versions: SitepatchError(Message.whole(error))}


def not_fetched(name: str, version: str, error: SitepatchError) -> str:
    """A message about a release that cannot be had."""
    reason = one_line(error.message)
    if error.hint:
        reason = Message("{problem}; {hint}", problem=reason, hint=one_line(error.hint))
    return Message(
        "{name} {version}: {reason}",
        name=name,
        version=version,
        reason=reason,
    )


def _release(located: Located, paths: set[str], events: Events | None = None) -> Release:
    """A release with the texts of files.

    `events` is there for one of the index: the other files of its package are fetched when they
    are looked at.
    """

    @lru_cache(maxsize=1)
    def rest() -> dict[str, bytes]:
        folder: Path | SitepatchError = Path(located.site)
        if events:
            folder = whole_package(located, paths, events)
        if isinstance(folder, SitepatchError):  # what does not fit is said of the release then
            return {}
        others = set(python_files(str(folder), located.package)) - paths
        return _texts(folder, sorted(others))

    return Release(located, _texts(Path(located.site), sorted(paths)), rest)


def _texts(folder: Path, paths: Iterable[str]) -> dict[str, bytes]:
    """The texts of the files that are there."""
    texts: dict[str, bytes] = {}
    for path in paths:
        file = folder / path
        if file.is_file():
            texts[path] = read_file(file)
    return texts


def _has_files(folder: Path, paths: Iterable[str]) -> bool:
    """Whether all these files are below a directory."""
    return all((folder / path).is_file() for path in paths)


# the proof --------------------------------------------------------------------------------------
class ReleaseProof(Record):
    """What a patchset that is not written yet does to further releases.

    Attributes:
        releases: what it does to each.
        texts: its files, by name.
        targets: the installed packages with the ranges that it fits.
    """

    releases: tuple[ReleaseOutcome, ...]
    texts: dict[str, str]
    targets: tuple[PackageRange, ...]


def prove(
    folder: Path,
    files: Callable[[Sequence[PackageRange]], dict[str, str]],
    homes: Sequence[Located],
    *,
    home_diffs: Sequence[FileDiff],
    releases: Iterable[tuple[Release, Mapping[str, bytes]]],
) -> ReleaseProof:
    """Try a patchset that is not written yet on further releases.

    Its ranges are those that it fits.

    Args:
        folder: where it will be.
        files: gives its texts for ranges.
        homes: the installed packages.
        home_diffs: what it changes in `homes`.
        releases: each with the files that the patchset must make there, by path, as far as they
            are known.

    Raises:
        PatchError: it is invalid.
    """
    packages: list[str] = []
    without_range: list[PackageRange] = []
    ranges: list[str] = []
    for home in homes:
        packages.append(home.package)
        without_range.append(PackageRange(home.package, home.distribution, ""))
        if is_version(home.version):
            ranges.append(f"=={home.version}")

    texts = {MANIFEST: "", **files(without_range)}
    patchset = load_patchset(folder, PatchsetSource(str(folder)), texts=texts)
    outcomes: list[ReleaseOutcome] = []
    for release, expected in releases:
        if release.located.package in packages:
            outcome = _attempt(patchset, release, expected=expected)
            outcomes.append(compared(outcome, home_diffs, sure=expected))

    outcomes = up_to_upstream(outcomes, ranges)

    targets = tuple(_fitting(home, outcomes) for home in homes)
    return ReleaseProof(tuple(outcomes), texts=files(targets), targets=targets)


def _attempt(
    patchset: Patchset,
    release: Release,
    *,
    expected: Mapping[str, bytes],
) -> ReleaseOutcome:
    """What a patchset does to a release, a conflict where it does not make the expected code."""
    outcome = try_release(Requested(patchset, {}), release.located)
    if outcome.state != APPLICABLE:
        return outcome

    patches: list[FilePatch] = []
    names: list[str] = []
    for variant in patchset.variants:
        patches += variant.patches
        names += variant.names

    options = resolve_options(patchset, {})
    texts = dict(release.texts)
    for patch in patches:
        for path in patch.places[1:]:
            if path not in texts and path in release.rest():
                texts[path] = release.rest()[path]

    bare, carried = _without_carried(patches)
    ways = ((patches, names), (bare, [*names, *carried]))
    made = []
    for kept, names_of_kept in ways:
        made.append(with_patches(texts, kept, options=options, names=names_of_kept).texts)

    for path, code in expected.items():
        if not any(same_code(text[path], code, anywhere=True) for text in made):
            return outcome._replace(
                state=State.CONFLICT.value,
                problem=Message("{path}: other code comes of it than of the diff", path=path),
                changes=ReleaseChanges(),
            )

    return outcome


def _without_carried(patches: Sequence[FilePatch]) -> tuple[list[FilePatch], list[str]]:
    """Patches without the imports that they carry along, which no diff has, and their names."""
    kept: list[FilePatch] = []
    names: list[str] = []
    for patch in patches:
        hunks: list[HunkText] = []
        for hunk in patch.hunks:
            is_carried = hunk.flags.when_present and hunk.only_imports
            if is_carried:
                names += _imported_names(hunk)
            else:
                hunks.append(hunk)

        kept.append(patch._replace(hunks=tuple(hunks)))

    return kept, names


def _imported_names(hunk: HunkText) -> list[str]:
    """The names that the imports of a hunk bind."""
    inserted = [text for tag, text, _ in hunk.lines if tag == "+"]
    tree = ast.parse("\n".join(inserted))
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            package, _, _ = node.name.partition(".")
            names.append(node.asname or package)

    return names


def _fitting(home: Located, outcomes: Sequence[ReleaseOutcome]) -> PackageRange:
    """The installed package, with the range of releases that the patchset fits."""
    fitting = [home.version]
    failed = []
    for outcome in outcomes:
        if outcome.distribution != home.distribution:
            continue
        if outcome.fits:
            fitting.append(outcome.version)
        elif outcome.state not in HOLDS:
            failed.append(outcome.version)

    return PackageRange(home.package, home.distribution, fitting_range(fitting, failed))
