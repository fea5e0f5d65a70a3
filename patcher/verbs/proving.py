"""What a patchset, written already or not yet, does to further releases, and the ranges that it fits."""

from __future__ import annotations

from pathlib import Path
from typing import (
    Callable,
    Iterable,
    Mapping,
    NamedTuple,
    Sequence,
)

from patcher.author.cases import AFTER, CaseResult, run_cases
from patcher.author.changed import python_files
from patcher.author.folder import PackageRange
from patcher.author.hunks.checker import replaces_more
from patcher.author.patched_texts import Release, with_patches
from patcher.author.ranges import fitting_range, overlapping, widened
from patcher.author.same_code import readable, same_code
from patcher.errors import SitepatchError, UsageError
from patcher.facts import Wanted
from patcher.installed.environment import locate
from patcher.installed.index import NoWheel
from patcher.installed.interpreter import Environment, discover
from patcher.installed.record import recorded_sources
from patcher.installed.versions import (
    accepts,
    is_version,
    matching_versions,
    newest,
    oldest_first,
    says_nothing,
)
from patcher.message import Message, joined, one_line
from patcher.model import Located, Patchset, PatchsetSource, Requested, State, Variant
from patcher.patchset.manifest import load_patchset
from patcher.patchset.places import MANIFEST
from patcher.patchset.variants import paths_of, pick_variants, resolve_options, targets_of
from patcher.place import Events, Place
from patcher.planner.survey import make_plan
from patcher.store.status import read_installed
from patcher.system.reading import read_file
from patcher.text.diffs import FileDiff, plan_diffs
from patcher.verbs.explanations import HunkExplanation, explanations
from patcher.verbs.releases.against import NoRelease, named_releases, taken_by, try_release
from patcher.verbs.releases.outcome import (
    APPLICABLE,
    HOLDS,
    NEWEST,
    ReleaseOutcome,
    compared,
    up_to_upstream,
)

_MOST_EXPLAINED = 3  # releases of which every hunk is explained


def check_also(also: Sequence[str]) -> None:
    """Check that each text is a release (`1.2`, `NAME==1.2`) or a directory.

    Raises:
        UsageError: for all that are neither.
    """
    wrong = [spec for spec in also if not (_version(spec) or Path(spec).is_dir())]
    if wrong:
        lines = [
            Message("--also {text}: found no such directory and no version", text=spec)
            for spec in wrong
        ]
        raise UsageError(
            joined("\n", lines), "name a release (1.2, NAME==1.2), or a directory of packages"
        )


def _version(spec: str) -> str:
    version = spec.rpartition("==")[2]
    return version if is_version(version) and not Path(spec).is_dir() else ""


def further_releases(
    also: Sequence[str], homes: Mapping[Located, set[str]], events: Events
) -> tuple[list[Release], list[str]]:
    """The named releases, and a message for each that one of several packages lacks.

    Args:
        also: releases and directories, checked by `check_also`.
        homes: the installed packages, each with the files that the patchset changes.
        events: reports the progress.

    Raises:
        NoPip: pip is missing or too old.
        SitepatchError: a release is of none of the packages, or the only package has no such release, or it cannot be fetched.
    """
    releases: list[Release] = []
    problems: list[str] = []
    for spec in (spec for spec in also if Path(spec).is_dir()):
        env = discover(None, spec)
        for home, paths in homes.items():
            try:
                releases.append(_release(locate(env, home.package, sorted(paths)), paths))
            except SitepatchError as error:
                problems.append(
                    Message("--also {text}: {message}", text=spec, message=error.message)
                )
    names = {name for home in homes for name in ("", home.distribution, home.package)}
    idle = [spec for spec in also if _version(spec) and spec.rpartition("==")[0] not in names]
    problems += [Message("--also {text}: no file of it is changed", text=spec) for spec in idle]
    for home, paths in homes.items():
        name = home.distribution or home.package
        versions = [
            _version(spec)
            for spec in also
            if _version(spec) and spec.rpartition("==")[0] in ("", name, home.package)
        ]
        if not versions:
            continue
        for version, folder in named_releases(name, paths, versions, events).items():
            if not isinstance(folder, SitepatchError) and not all(
                (folder / path).is_file() for path in paths
            ):
                folder = whole_package(
                    home._replace(site=str(folder), version=version), paths, events
                )
            if isinstance(folder, SitepatchError):
                problems.append(_not_fetched(name, version, folder))
            else:
                releases.append(_release(home._replace(site=str(folder), version=version), paths))
    if homes and (idle or (problems and len(homes) == 1)):
        raise SitepatchError(
            joined("\n", problems),
            "no patchset was written; leave it out, or name one that is there",
        )
    return releases, problems


def range_ends(
    patchset: Patchset, homes: Mapping[Located, set[str]], events: Events
) -> tuple[list[Release], list[str]]:
    """The oldest and the newest release in the range of each variant for packages, and a message for each that cannot be had.

    Args:
        patchset: the patchset.
        homes: the installed packages, each with the further files that are needed; what is installed is left out.
        events: reports the progress.
    """
    releases: list[Release] = []
    problems: list[str] = []
    for home, paths in homes.items():
        for variant in pick_variants(patchset).get(home.package, ()):
            name, needed = home.distribution or home.package, {*paths, *paths_of([variant])}
            if variant.versions == fitting_range([home.version]):
                continue
            try:
                ends = named_releases(name, needed, [variant.versions], events, ends=True)
            except (
                SitepatchError,
                OSError,
            ) as error:  # no pip, no cache: nobody has asked for these releases
                problem = (
                    error.message if isinstance(error, SitepatchError) else Message.whole(error)
                )
                ends = {variant.versions: SitepatchError(problem)}
            for version, folder in ends.items():
                if isinstance(folder, SitepatchError):
                    problems.append(_not_fetched(name, version, folder))
                elif version != home.version:
                    releases.append(
                        _release(home._replace(site=str(folder), version=version), needed)
                    )
    return releases, problems


def _not_fetched(name: str, version: str, error: SitepatchError) -> str:
    return Message(
        "{name} {version}: {reason}", name=name, version=version, reason=one_line(error.message)
    )


def whole_package(release: Located, paths: set[str], events: Events) -> Path | SitepatchError:
    """The folder with all of a package of a release of the index, and these files; or why there is none."""
    recorded = {
        row.path
        for info in Path(release.site).glob("*.dist-info")
        for row in recorded_sources(info)
    }
    inside = {path for path in recorded if path.startswith(f"{release.package}/")}
    name = release.distribution or release.package
    return named_releases(name, paths | inside, [release.version], events)[release.version]


def _release(located: Located, paths: set[str]) -> Release:
    files = {path: Path(located.site) / path for path in sorted(paths)}
    if not all(file.is_file() for file in files.values()):  # one moved, and is found by its code
        files.update(
            (path, Path(located.site) / path)
            for path in python_files(located.site, located.package)
        )
    return Release(
        located, {path: read_file(file) for path, file in files.items() if file.is_file()}
    )


class Proof(NamedTuple):
    """What a patchset that is not written yet does to further releases, its texts, and its ranges."""

    releases: tuple[ReleaseOutcome, ...]
    texts: dict[str, str]
    targets: tuple[PackageRange, ...]


def prove(
    folder: Path,
    files: Callable[[Sequence[PackageRange]], dict[str, str]],
    homes: Sequence[Located],
    made: Sequence[FileDiff],
    releases: Iterable[tuple[Release, Mapping[str, bytes]]],
) -> Proof:
    """Try a patchset, whose texts `files` gives for ranges, on further releases; its ranges are those that it fits.

    `made` is what it makes of `homes`; each of `releases` comes with the files that it must make there, by path, as far as
    they are known.

    Raises:
        PatchError: it is invalid.
    """
    texts = files([PackageRange(home.package, home.distribution, "") for home in homes])
    trial = load_patchset(folder, PatchsetSource(str(folder)), {MANIFEST: "", **texts})
    packages = [home.package for home in homes]
    outcomes = [
        compared(_tried(trial, release, expected), made, expected)
        for release, expected in releases
        if release.located.package in packages
    ]
    versions = (home.version for home in homes if is_version(home.version))
    outcomes = up_to_upstream(outcomes, [f"=={version}" for version in versions])
    targets = tuple(_fitting(home, outcomes) for home in homes)
    return Proof(tuple(outcomes), files(targets), targets)


def _tried(trial: Patchset, release: Release, expected: Mapping[str, bytes]) -> ReleaseOutcome:
    """What a patchset does to another release, a conflict where it does not make the expected code."""
    outcome = try_release(Requested(trial, {}), release.located)
    patches = [patch for variant in trial.variants for patch in variant.patches]
    for path, code in expected.items() if outcome.word == APPLICABLE else ():
        results, _ = with_patches({path: release.texts[path]}, patches, resolve_options(trial, {}))
        if not same_code(results[path], code, anywhere=True):
            problem = Message("{path}: other code comes of it than of the diff", path=path)
            return outcome._replace(word=State.CONFLICT.value, places=(), diffs=(), problem=problem)
    return outcome


def _fitting(home: Located, outcomes: Sequence[ReleaseOutcome]) -> PackageRange:
    """The installed package, with the range of releases that the patchset fits."""
    of_home = [outcome for outcome in outcomes if outcome.distribution == home.distribution]
    fitting = [outcome.version for outcome in of_home if outcome.fits]
    failed = [outcome.version for outcome in of_home if outcome.word not in HOLDS]
    return PackageRange(
        home.package, home.distribution, fitting_range([home.version, *fitting], failed)
    )


class TriedRelease(NamedTuple):
    """What a patchset does to one release.

    Attributes:
        located: the package of that release.
        variant: the index of the variant that fits, else of the one whose range has the release, else of the last one.
        inside: whether the range of a variant has the release.
        named: whether it was requested by its version, or as the newest.
        outcome: what the variant does to it.
        hunks: the hunks that fail, explained; only for the last few releases that it does not fit.
    """

    located: Located
    variant: int
    inside: bool
    named: bool
    outcome: ReleaseOutcome
    hunks: tuple[HunkExplanation, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the patchset fits the release."""
        return self.outcome.word in HOLDS


def try_on_releases(
    place: Place, folder: Path, patchset: Patchset, to: Sequence[str], events: Events
) -> tuple[list[TriedRelease], list[str]]:
    """What the patchset does to each requested release, and a message for each that cannot be fetched.

    Of the last few releases that it does not fit the failed hunks are explained.

    Args:
        place: the environment, whose release is the home of the patchset if that is for it.
        folder: its folder, which may have cases.
        patchset: the patchset.
        to: versions, ranges, `all` and `newest`; the installed release without any.
        events: reports what is fetched.

    Raises:
        SitepatchError: a package is not installed, or its version is unknown.
    """
    releases, problems = (
        fetched_releases(patchset, to, events) if to else (_installed(place, patchset, events), [])
    )
    newest_versions = newest(release.version for release in releases) if NEWEST in to else ()
    named = {
        release.version for release in releases if not to or _named(release.version, to)
    }.union(newest_versions)
    tried = [_try(patchset, release, release.version in named) for release in releases]
    tried = _compared_with_home(place, folder, patchset, tried)
    ranges = [variant.versions for variant in patchset.variants]
    outcomes = up_to_upstream([release.outcome for release in tried], ranges)
    tried = [release._replace(outcome=outcome) for release, outcome in zip(tried, outcomes)]
    unfit = [release for release in tried if release.outcome.failed][-_MOST_EXPLAINED:]
    return [
        _explained(patchset, release, events) if release in unfit else release for release in tried
    ], problems


def _compared_with_home(
    place: Place, folder: Path, patchset: Patchset, tried: Sequence[TriedRelease]
) -> list[TriedRelease]:
    """The releases, each compared with what the patchset makes of the installed one, and with its cases."""
    proofs: dict[int, tuple[Sequence[FileDiff], Sequence[CaseResult]]] = {}  # by variant
    releases: list[TriedRelease] = []
    for release in tried:
        if release.holds and release.variant not in proofs:
            requested = _requested(patchset, release.variant)
            home = _made_here(place, requested, patchset.variants[release.variant])
            proofs[release.variant] = home, run_cases(requested.patchset, folder)
        if release.holds:
            home, cases = proofs[release.variant]
            passed = (
                result for result in cases if result.case.expected == AFTER and not result.problem
            )
            sure = {
                result.path
                for result in passed
                if _named(release.located.version, result.case.head[1:])
            }
            release = release._replace(outcome=compared(release.outcome, home, sure))
        releases.append(release)
    return releases


def _made_here(place: Place, requested: Requested, variant: Variant) -> Sequence[FileDiff]:
    """What a variant makes of what is installed; nothing where it is not for that."""
    try:
        env = place.environment()
        version = locate(env, variant.package, paths_of([variant])).version
    except SitepatchError:
        return ()
    return (
        plan_diffs(make_plan(env, Wanted((requested,), fresh=True)))
        if accepts(variant.versions, version)
        else ()
    )


def _installed(place: Place, patchset: Patchset, events: Events) -> list[Located]:
    """The installed packages of a patchset."""
    env = place.environment()
    events.started(env)
    packages = [
        locate(env, package, paths_of(variants))
        for package, variants in pick_variants(patchset).items()
    ]
    for located in packages:
        if says_nothing(located.version):
            problem = Message(
                "nothing tells the version of {package} in {site}",
                package=located.package,
                site=located.site,
            )
            raise SitepatchError(problem, "name it with --to")
    return packages


def fetched_releases(
    patchset: Patchset, to: Sequence[str], events: Events
) -> tuple[list[Located], list[str]]:
    """The releases that are asked for of the packages of a patchset, oldest first, and a message for each that cannot be had.

    Args:
        patchset: the patchset; the files that it changes are fetched.
        to: versions, ranges, `all` and `newest`.
        events: reports what is fetched.
    """
    releases: list[Located] = []
    failed: list[tuple[str, str, SitepatchError]] = []
    for package, name, variants in targets_of(patchset):
        for version, kept in named_releases(name, set(paths_of(variants)), to, events).items():
            if isinstance(kept, Path):
                releases.append(Located(package, str(kept), name, version, ""))
            elif _named(version, to) or not isinstance(
                kept, NoWheel
            ):  # a range may have releases without one
                failed.append((name, version, kept))
    versions = [release.version for release in releases]
    versions += [
        version
        for _, version, error in failed
        if is_version(version) and not isinstance(error, NoRelease)
    ]
    # where one distribution has a version, others need not, as for `check --against`
    problems = [
        _not_fetched(name, version, error)
        for name, version, error in failed
        if not (isinstance(error, NoRelease) and taken_by(version, versions, versions))
    ]
    order = oldest_first({release.version for release in releases})
    return sorted(releases, key=lambda release: order.index(release.version)), problems


def _named(version: str, to: Sequence[str]) -> bool:
    """Whether a release is requested by its version; a range that took none is no release."""
    return is_version(version) and any(
        is_version(word) and matching_versions(word, [version]) for word in to
    )


def _try(patchset: Patchset, located: Located, named: bool) -> TriedRelease:
    numbers = [
        number
        for number, variant in enumerate(patchset.variants)
        if variant.package == located.package
    ]
    inside = [
        number for number in numbers if accepts(patchset.variants[number].versions, located.version)
    ]
    order = [
        *inside,
        *(
            number
            for number in numbers
            if number not in inside and _free(patchset, number, located.version)
        ),
    ]
    untried = ReleaseOutcome(located.distribution, located.version, "")
    best = TriedRelease(located, (inside or numbers)[-1], bool(inside), named, untried)
    for number in order or numbers:
        tried = _kept_values(
            patchset.variants[number], located, try_release(_requested(patchset, number), located)
        )
        if tried.word in HOLDS or not best.outcome.word:
            best = best._replace(variant=number, outcome=tried)
        if tried.word in HOLDS or inside:
            break
    return best


def _kept_values(variant: Variant, located: Located, tried: ReleaseOutcome) -> ReleaseOutcome:
    """The outcome, a conflict where a hunk would overwrite more than the one literal or name that it leaves open."""
    for patch in variant.patches if tried.word == APPLICABLE else ():
        for path, source in (
            (path, readable(read_installed(located.site, path))) for path in patch.paths
        ):
            scope = next(
                (hunk.scope for hunk in patch.hunks if source and replaces_more(hunk, source)), ""
            )
            if scope:
                problem = Message(
                    "{path}: {scope}: the old value is more than one literal or name there",
                    path=path,
                    scope=scope,
                )
                return ReleaseOutcome(
                    tried.distribution, tried.version, State.CONFLICT.value, (), problem
                )
    return tried


def _free(patchset: Patchset, number: int, version: str) -> bool:
    """Whether the range of a variant can be widened to a release without overlapping that of another variant."""
    wide = widened(patchset.variants[number].versions, [version])
    return not overlapping(patchset.variants, number, wide)


def _requested(patchset: Patchset, number: int) -> Requested:
    """The patchset with only one of its variants, for any release."""
    variant = patchset.variants[number]._replace(versions="")
    return Requested(patchset._replace(variants=(variant,)), resolve_options(patchset, {}))


def _explained(patchset: Patchset, release: TriedRelease, events: Events) -> TriedRelease:
    """A release with the hunks that fail explained, and with all files of the package where one of the patchset is gone."""
    variant, located = patchset.variants[release.variant], release.located
    files = [
        [Path(located.site, path).is_file() for path in patch.paths]
        for patch in variant.patches
        if not patch.adds
    ]
    if not all(map(any, files)):
        folder = (
            whole_package(located, set(paths_of([variant])), events)
            if located.dist_info == ""
            else None
        )
        located = located._replace(site=str(folder)) if isinstance(folder, Path) else located
    hunks, _ = explanations(Environment.alone(located.site), _requested(patchset, release.variant))
    return release._replace(
        located=located, hunks=tuple(hunk for hunk in hunks if hunk.answer.state.failed)
    )
