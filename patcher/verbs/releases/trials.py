"""A patchset tried on releases for `update`: with which variant, and how that is proven."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from patcher.author.cases import AFTER, CaseResult, run_cases
from patcher.author.hunks.checker import replaces_more
from patcher.author.ranges import overlapping, widened
from patcher.author.same_code import readable
from patcher.compatibility import APPLICABLE, HOLDS, ReleaseName, ReleaseOutcome
from patcher.errors import SitepatchError
from patcher.facts import Wanted
from patcher.installed.environment import locate
from patcher.installed.index import NoWheel
from patcher.installed.interpreter import Environment
from patcher.installed.versions import (
    accepts,
    is_version,
    matching_versions,
    newest,
    oldest_first,
    says_nothing,
)
from patcher.message import Message
from patcher.model import Answer, Located, Patchset, Requested, State, Variant
from patcher.patchset.variants import paths_of, pick_variants, resolve_options, targets_of
from patcher.place import Events, Place
from patcher.planner.survey import make_plan
from patcher.record import Record, reported
from patcher.store.status import read_installed
from patcher.text.diffs import FileDiff, plan_diffs
from patcher.verbs.explanations import explanations
from patcher.verbs.releases.attempt import try_release
from patcher.verbs.releases.choice import NEWEST, NoRelease, taken_by
from patcher.verbs.releases.comparison import compared, up_to_upstream
from patcher.verbs.releases.fetched import named_releases, whole_package
from patcher.verbs.releases.further import not_fetched

_MOST_EXPLAINED = 3  # releases of which every hunk is explained


@reported("*outcome inside answers")
class ReleaseTrial(Record):
    """A patchset tried on one release.

    Attributes:
        located: the package of that release.
        variant: the index of the variant that fits, else of the one whose range has the release,
            else of the last one.
        inside: whether the range of a variant has the release.
        named: whether it was requested by its version, or as the newest.
        outcome: what the variant does to it.
        answers: the hunks that fail, explained; only for the last few releases that it does not
            fit.
    """

    located: Located
    variant: int
    inside: bool
    named: bool
    outcome: ReleaseOutcome
    answers: tuple[Answer, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the patchset fits the release."""
        return self.outcome.state in HOLDS


def try_on_releases(
    place: Place,
    folder: Path,
    patchset: Patchset,
    to: Sequence[str],
    events: Events,
) -> tuple[list[ReleaseTrial], list[str]]:
    """What the patchset does to each requested release, and a message for each not fetched.

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
    problems: list[str] = []
    if to:
        releases, problems = fetched_releases(patchset, to, events)
    else:
        releases = _installed(place, patchset, events)

    named: set[str] = set()
    for release in releases:
        if not to or _is_named(release.version, to):
            named.add(release.version)

    if NEWEST in to:
        named.update(newest(release.version for release in releases))

    trials = [_try(patchset, release, release.version in named) for release in releases]
    trials = _compared_with_home(place, folder, patchset, trials=trials)
    ranges = [variant.versions for variant in patchset.variants]
    outcomes = up_to_upstream([trial.outcome for trial in trials], ranges)
    trials = [trial._replace(outcome=outcome) for trial, outcome in zip(trials, outcomes)]

    unfit = [index for index, trial in enumerate(trials) if not trial.outcome.ok]
    for index in unfit[-_MOST_EXPLAINED:]:
        trials[index] = _explained(patchset, trials[index], events)

    return trials, problems


# compared with the home release -----------------------------------------------------------------
class _Evidence(Record):
    """What shows that a variant is right: what it makes of the installed release, and its cases."""

    home: Sequence[FileDiff]
    cases: Sequence[CaseResult]


def _compared_with_home(
    place: Place,
    folder: Path,
    patchset: Patchset,
    *,
    trials: Sequence[ReleaseTrial],
) -> list[ReleaseTrial]:
    """The trials, each compared with what becomes of the installed release, and with cases."""
    evidence: dict[int, _Evidence] = {}  # by variant
    compared_trials: list[ReleaseTrial] = []
    for trial in trials:
        if trial.holds:
            number = trial.variant
            if number not in evidence:
                requested = _requested(patchset, number)
                home = _home_diffs(place, requested, patchset.variants[number])
                evidence[number] = _Evidence(home, cases=run_cases(requested.patchset, folder))

            home_diffs, cases = evidence[number]
            sure = _sure(cases, trial.located.version)
            outcome = compared(trial.outcome, home_diffs, sure=sure)
            trial = trial._replace(outcome=outcome)

        compared_trials.append(trial)

    return compared_trials


def _sure(cases: Sequence[CaseResult], version: str) -> set[str]:
    """The files of a release that a case has, and that become what it says."""
    sure = set()
    for result in cases:
        passed = result.case.expected == AFTER and not result.problem
        if passed and _is_named(version, result.case.head[1:]):
            sure.add(result.path)

    return sure


def _home_diffs(
    place: Place,
    requested: Requested,
    variant: Variant,
) -> Sequence[FileDiff]:
    """What a variant makes of the installed release; nothing where it is not for that."""
    try:
        env = place.environment()
        version = locate(env, variant.package, paths_of([variant])).version
    except SitepatchError:
        return ()

    if not accepts(variant.versions, version):
        return ()
    return plan_diffs(make_plan(env, Wanted((requested,), fresh=True)))


# the releases -----------------------------------------------------------------------------------
def _installed(place: Place, patchset: Patchset, events: Events) -> list[Located]:
    """The installed packages of a patchset.

    Raises:
        SitepatchError: one is not installed, or its version is unknown.
    """
    env = place.environment()
    events.started(env)
    packages = []
    for package, variants in pick_variants(patchset).items():
        packages.append(locate(env, package, paths_of(variants)))

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
    patchset: Patchset,
    to: Sequence[str],
    events: Events,
) -> tuple[list[Located], list[str]]:
    """The releases that are asked for of the packages of a patchset, oldest first.

    And a message for each that cannot be had.

    Args:
        patchset: the patchset; the files that it changes are fetched.
        to: versions, ranges, `all` and `newest`.
        events: reports what is fetched.
    """
    releases: list[Located] = []
    failed: list[tuple[str, str, SitepatchError]] = []
    for package, name, variants in targets_of(patchset):
        paths = set(paths_of(variants))
        for version, kept in named_releases(name, paths, to, events=events).items():
            if isinstance(kept, Path):
                site = str(kept)
                releases.append(Located(package, site, name, version=version, dist_info=""))
            # a range may have releases without a wheel
            elif _is_named(version, to) or not isinstance(kept, NoWheel):
                failed.append((name, version, kept))

    versions = [release.version for release in releases]
    for _, version, error in failed:
        if is_version(version) and not isinstance(error, NoRelease):
            versions.append(version)

    problems = []
    for name, version, error in failed:
        # where one distribution has a version, others need not, as for `check --against`
        is_elsewhere = taken_by(version, versions, inside=versions)
        if not (isinstance(error, NoRelease) and is_elsewhere):
            problems.append(not_fetched(name, version, error))

    order = oldest_first({release.version for release in releases})
    releases.sort(key=lambda release: order.index(release.version))
    return releases, problems


def _is_named(version: str, to: Sequence[str]) -> bool:
    """Whether a release is requested by its version; a range that took none is no release."""
    if not is_version(version):
        return False
    return any(is_version(word) and matching_versions(word, [version]) for word in to)


# the variants -----------------------------------------------------------------------------------
def _try(patchset: Patchset, located: Located, named: bool) -> ReleaseTrial:
    """Try the variants for a package.

    Those whose range has the release, else those that could be widened to it.
    """
    numbers: list[int] = []
    inside: list[int] = []
    free: list[int] = []
    for number, variant in enumerate(patchset.variants):
        if variant.package != located.package:
            continue

        numbers.append(number)
        if accepts(variant.versions, located.version):
            inside.append(number)
        elif _is_free(patchset, number, located.version):
            free.append(number)

    candidates = [*inside, *free] or numbers
    chosen = (inside or numbers)[-1]
    outcome: ReleaseOutcome | None = None
    for number in candidates:
        attempt = _attempt(patchset, number, located)
        fits = attempt.state in HOLDS
        if fits or outcome is None:
            chosen = number
            outcome = attempt

        if fits or inside:
            break

    assert outcome is not None  # a located package has a variant
    return ReleaseTrial(
        located,
        chosen,
        inside=bool(inside),
        named=named,
        outcome=outcome,
    )


def _attempt(patchset: Patchset, number: int, located: Located) -> ReleaseOutcome:
    """What a variant does to a release.

    A conflict where a hunk would overwrite more than the one literal or name that it leaves open.
    """
    outcome = try_release(_requested(patchset, number), located)
    if outcome.state != APPLICABLE:
        return outcome

    for patch in patchset.variants[number].patches:
        for path in patch.places:
            source = readable(read_installed(located.site, path))
            for hunk in patch.hunks if source else ():
                if source and replaces_more(hunk, source):
                    template = (
                        "{path}: {scope}: the old value is more than one literal or name there"
                    )
                    return ReleaseOutcome(
                        ReleaseName(outcome.distribution, outcome.version),
                        State.CONFLICT.value,
                        problem=Message(template, path=path, scope=hunk.scope),
                    )

    return outcome


def _is_free(patchset: Patchset, number: int, version: str) -> bool:
    """Whether the range of a variant can be widened to a release without overlapping another's."""
    wide = widened(patchset.variants[number].versions, [version])
    return not overlapping(patchset.variants, number, wide)


def _requested(patchset: Patchset, number: int) -> Requested:
    """The patchset with only one of its variants, for any release."""
    variant = patchset.variants[number]._replace(versions="")
    with_one_variant = patchset._replace(variants=(variant,))
    return Requested(with_one_variant, resolve_options(patchset, {}))


def _explained(patchset: Patchset, trial: ReleaseTrial, events: Events) -> ReleaseTrial:
    """A trial with the hunks that fail explained.

    And with all files of the package where one of the patchset is gone, or the scope of a hunk is.
    """
    variant = patchset.variants[trial.variant]
    located = trial.located
    is_missing = False
    for patch in variant.patches:
        there = any(Path(located.site, path).is_file() for path in patch.places)
        is_missing = is_missing or not (there or patch.adds or patch.deletes)

    requested = _requested(patchset, trial.variant)
    answers, _ = explanations(Environment.alone(located.site), requested)
    is_missing = is_missing or any(map(_lost_scope, answers))
    if is_missing and located.dist_info == "":
        folder = whole_package(located, set(paths_of([variant])), events)
        if isinstance(folder, Path):
            located = located._replace(site=str(folder))
            answers, _ = explanations(Environment.alone(located.site), requested)

    failed = tuple(answer for answer in answers if answer.state.failed)
    return trial._replace(located=located, answers=failed)


def _lost_scope(answer: Answer) -> bool:
    """Whether a file has neither the scope of a hunk nor its code elsewhere."""
    explanation = answer.explanation
    if answer.state is not State.NOT_FOUND or explanation is None:
        return False
    return not explanation.scopes and not explanation.elsewhere
