"""What a patchset does to releases, whether its ranges have them or not."""

from __future__ import annotations

from pathlib import Path
from typing import List, NamedTuple, Sequence, Tuple

from patcher.author.hunks.trial import readable, replaces_more
from patcher.author.ranges import overlapping, widened
from patcher.errors import SitepatchError
from patcher.installed.environment import locate
from patcher.installed.interpreter import Environment
from patcher.installed.versions import accepts, is_version, matching_versions, newest, oldest_first, says_nothing
from patcher.message import Message, one_line
from patcher.model import Located, Patchset, Requested, State, Variant
from patcher.patchset.sources import paths_of, pick_variants, resolve_options
from patcher.store.status import read_installed
from patcher.verbs.explanations import HunkExplanation, explanations
from patcher.verbs.place import Events, Place
from patcher.verbs.releases.against import NoRelease, distributions, named_releases, try_release
from patcher.verbs.releases.outcome import APPLICABLE, HOLDS, NEWEST, ReleaseOutcome

_MOST_EXPLAINED = 3  # releases of which every hunk is explained


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
    hunks: Tuple[HunkExplanation, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the patchset is proven for the release."""
        return self.outcome.word in HOLDS


def try_on_releases(
    place: Place, patchset: Patchset, to: Sequence[str], events: Events
) -> Tuple[List[TriedRelease], List[str]]:
    """What the patchset does to each requested release, and a message for each that cannot be fetched.

    Of the last few releases that it does not fit the failed hunks are explained.

    Args:
        place: the environment, if the installed release is requested.
        patchset: the patchset.
        to: versions, ranges, `all` and `newest`; the installed release without any.
        events: reports what is fetched.

    Raises:
        SitepatchError: a package is not installed, or its version is unknown.
    """
    releases, problems = _releases(place, patchset, to, events)
    newest_versions = newest(release.version for release in releases) if NEWEST in to else ()
    named = {release.version for release in releases if not to or _named(release.version, to)}.union(newest_versions)
    tried = [_try(patchset, release, release.version in named) for release in releases]
    unfit = [release for release in tried if release.outcome.failed][-_MOST_EXPLAINED:]
    explained = (release._replace(hunks=_explained(patchset, release)) if release in unfit else release for release in tried)
    return list(explained), problems


def _releases(place: Place, patchset: Patchset, to: Sequence[str], events: Events) -> Tuple[List[Located], List[str]]:
    releases: List[Located] = []
    failed: List[Tuple[str, str, SitepatchError]] = []
    if not to:
        env = place.environment()
        events.started(env)
        for package, variants in pick_variants(patchset).items():
            located = locate(env, package, paths_of(variants))
            if says_nothing(located.version):
                raise SitepatchError(
                    "nothing tells the version of {package} in {site}",
                    Message("name it with --to"),
                    package=package,
                    site=located.site,
                )
            releases.append(located)
        return releases, []
    packages = [(package, name) for package in pick_variants(patchset) for name in distributions(patchset, package)]
    for package, name in packages:
        paths = {name: set(paths_of(pick_variants(patchset)[package]))}
        for (_, version), kept in named_releases(paths, to, events).items():
            if isinstance(kept, Path):
                releases.append(Located(package, str(kept), name, version, ""))
            elif _named(version, to):
                failed.append((name, version, kept))
    versions = [release.version for release in releases]
    versions += [version for _, version, error in failed if not isinstance(error, NoRelease)]
    # where one distribution has a version, others need not, as for `check --against`
    problems: List[str] = [
        Message("{name} {version}: {reason}", name=name, version=version, reason=one_line(error.message))
        for name, version, error in failed
        if not (isinstance(error, NoRelease) and matching_versions(version, versions))
    ]
    order = oldest_first({release.version for release in releases})
    return sorted(releases, key=lambda release: order.index(release.version)), problems


def _named(version: str, to: Sequence[str]) -> bool:
    """Whether a release is requested by its version."""
    return any(is_version(word) and matching_versions(word, [version]) for word in to)


def _try(patchset: Patchset, located: Located, named: bool) -> TriedRelease:
    numbers = [number for number, variant in enumerate(patchset.variants) if variant.package == located.package]
    inside = [number for number in numbers if accepts(patchset.variants[number].versions, located.version)]
    order = [*inside, *(number for number in numbers if number not in inside and _free(patchset, number, located.version))]
    untried = ReleaseOutcome(located.distribution, located.version, "")
    best = TriedRelease(located, (inside or numbers)[-1], bool(inside), named, untried)
    for number in order or numbers:
        tried = _kept_values(patchset.variants[number], located, try_release(_requested(patchset, number), located))
        if tried.word in HOLDS or not best.outcome.word:
            best = best._replace(variant=number, outcome=tried)
        if tried.word in HOLDS or inside:
            break
    return best


def _kept_values(variant: Variant, located: Located, tried: ReleaseOutcome) -> ReleaseOutcome:
    """The outcome, a conflict where a hunk would overwrite more than the one literal or name that it leaves open."""
    for patch in variant.patches if tried.word == APPLICABLE else ():
        for path, source in ((path, readable(read_installed(located.site, path))) for path in patch.paths):
            scope = next((hunk.scope for hunk in patch.hunks if source and replaces_more(hunk, source)), "")
            if scope:
                problem = Message(
                    "{path}: {scope}: the old value is more than one literal or name there", path=path, scope=scope
                )
                return ReleaseOutcome(tried.distribution, tried.version, State.CONFLICT.value, (), problem)
    return tried


def _free(patchset: Patchset, number: int, version: str) -> bool:
    """Whether the range of a variant can be widened to a release without overlapping that of another variant."""
    wide = widened(patchset.variants[number].versions, [version])
    return not overlapping(patchset.variants, number, wide)


def _requested(patchset: Patchset, number: int) -> Requested:
    """The patchset with only one of its variants, for any release."""
    variant = patchset.variants[number]._replace(versions="")
    return Requested(patchset._replace(variants=(variant,)), resolve_options(patchset, {}))


def _explained(patchset: Patchset, release: TriedRelease) -> Tuple[HunkExplanation, ...]:
    hunks, _ = explanations(Environment.alone(release.located.site), _requested(patchset, release.variant))
    return tuple(hunk for hunk in hunks if hunk.answer.state.failed)
