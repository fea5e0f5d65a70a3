"""Patchsets against many releases: which ones are meant, their files, fetched several at a time, and an outcome for each."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from typing import (
    Callable,
    Iterator,
    Mapping,
    NamedTuple,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from patcher.engine.tree import SyntaxProblem, Tree
from patcher.errors import SitepatchError, UsageError
from patcher.facts import Wanted
from patcher.installed.environment import locate
from patcher.installed.index import Listing, NoPip, NoWheel, Pip
from patcher.installed.interpreter import Environment, discover
from patcher.installed.releases import cached_release, fetch_release, fetching, was_yanked
from patcher.installed.versions import (
    accepts,
    is_range,
    is_version,
    matching_versions,
    newest,
    oldest_first,
)
from patcher.message import Message, joined, one_line
from patcher.model import Answer, HunkText, Located, Patchset, Plan, Requested, State
from patcher.patchset.layers import layers_of, patch_name, patch_names
from patcher.patchset.results import request_of, rewrite_cached
from patcher.patchset.variants import (
    choose_variant,
    matching_variants,
    paths_of,
    pick_variants,
    targets_of,
)
from patcher.place import SILENT, Events
from patcher.planner.assignments import update_hint
from patcher.planner.survey import make_plan
from patcher.store.status import read_installed
from patcher.system.cache import cache_dir
from patcher.system.parallel import in_parallel
from patcher.text.diffs import FileDiff, diff_texts
from patcher.text.listed import listed
from patcher.verbs.explanations import HunkExplanation, explanations
from patcher.verbs.releases.outcome import (
    ALL,
    NEWEST,
    NO_RELEASE,
    NO_WHEEL,
    NOT_FETCHED,
    OUT_OF_RANGE,
    Checked,
    PatchState,
    ReleaseOutcome,
    overall,
    state_of,
    up_to_upstream,
)

_JOBS = 4  # releases that are fetched at a time
_T = TypeVar("_T")
Key = Tuple[str, str]
"""A release: its distribution and its version."""
Listings = Mapping[str, Union[Listing, SitepatchError]]
"""By distribution: its releases, or why they cannot be had."""


class NoRelease(SitepatchError):
    """The index has no such release of a distribution."""


class _Pick(NamedTuple):
    """A release that is asked for; `inside` is whether it is in the patchset's own range."""

    package: str
    key: Key
    inside: bool


def check_against(
    against: Sequence[str], option: str = "--against", *, folders: bool = False
) -> None:
    """Refuse what `--against`, or another option of that kind, cannot take; everything wrong at once.

    With `folders` the directories of packages are taken, too.

    Raises:
        UsageError: a text that is neither `all` nor `newest` nor a version nor a specifier set.
    """
    ranges = [
        word
        for word in against
        if word in (ALL, NEWEST) or is_version(word) or (word.strip() and is_range(word))
    ]
    wrong = [word for word in against if word not in ranges and not (folders and _is_folder(word))]
    template = (
        '{option} "{text}": expected a version, a range such as ">=2.4,<3", {names} or {version}'
    )
    lines = [
        Message(template, option=option, text=word, names=ALL, version=NEWEST) for word in wrong
    ]
    if lines:
        raise UsageError(joined("\n", lines), "versions and ranges are those of PEP 440")


def _is_folder(word: str) -> bool:
    return word not in ("", ALL, NEWEST) and not is_version(word) and Path(word).is_dir()


def check_releases(
    requested: Sequence[Requested],
    against: Sequence[str],
    patchsets: Sequence[Patchset],
    events: Events = SILENT,
) -> list[Checked]:
    """Plan patchsets against releases.

    Args:
        requested: the patchsets, each by itself.
        against: the values of `--against`, as `check_against` lets them pass.
        patchsets: patchsets whose files are kept as well where a wheel is fetched, so that it is fetched once.
        events: takes the progress, and is asked before anything is fetched.

    Raises:
        SitepatchError: nothing is to be fetched, say the events.
        PatchError: a hunk is wrong in itself.
        NoPip: pip is not there or too old.
        StoreError: others may write to the cache, or it cannot be made.
        OSError: it cannot be opened.
    """
    folders_given = [word for word in against if _is_folder(word)]
    against = [word for word in against if word not in folders_given]
    if not against:
        return [
            Checked(item.patchset, tuple(_in_folders(item, folders_given))) for item in requested
        ]
    names = dict.fromkeys(name for item in requested for _, name, _ in targets_of(item.patchset))
    with fetching() as pip:
        listings = list_releases(pip, list(names), events)
        picks_of = {
            item.patchset.name: _choose(item.patchset, against, listings) for item in requested
        }
        paths: dict[str, set[str]] = {}
        for patchset in (*(item.patchset for item in requested), *patchsets):
            for _, name, variants in targets_of(patchset):
                paths.setdefault(name, set()).update(paths_of(variants))
        needed = dict.fromkeys(pick.key for picks in picks_of.values() for pick in picks)
        folders = fetch_all(pip, list(needed), listings, paths, events)
    total, tried = sum(map(len, picks_of.values())), count(1)
    checked = []
    for item in requested:
        outcomes = list(_in_folders(item, folders_given))
        for outcome in _outcomes(item, against, picks_of[item.patchset.name], listings, folders):
            outcomes.append(outcome)
            events.progress(next(tried), total, Message("releases checked"))
        ranges = [variant.versions for variant in item.patchset.variants]
        checked.append(Checked(item.patchset, tuple(up_to_upstream(outcomes, ranges))))
    return checked


def named_releases(
    distribution: str,
    paths: set[str],
    against: Sequence[str],
    events: Events,
    *,
    ends: bool = False,
) -> dict[str, Path | SitepatchError]:
    """The kept files `paths` of a distribution in each release that is asked for, by its version, or why not.

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
    with fetching() as pip:
        listings = list_releases(pip, [distribution], events)
        listing = listings[distribution]
        versions = offered(listing, against)
        keys: dict[Key, None] = {}
        releases: dict[str, Path | SitepatchError] = {}
        for word in against:
            taken = oldest_first(taken_by(word, versions, versions))
            keys.update(
                ((distribution, version), None)
                for version in ([*taken[:1], *taken[-1:]] if ends else taken)
            )
            if not taken:
                releases[word] = (
                    NoRelease(_no_such(versions)) if isinstance(listing, Listing) else listing
                )
        folders = fetch_all(pip, list(keys), listings, {distribution: paths}, events)
        return {**releases, **{version: folder for (_, version), folder in folders.items()}}


# which releases -------------------------------------------------------------------------------------------------------
def _choose(patchset: Patchset, against: Sequence[str], listings: Listings) -> list[_Pick]:
    """The releases that are asked for, distribution by distribution, oldest first."""
    picked: list[_Pick] = []
    for package, name, variants in targets_of(patchset):
        listing = listings[name]
        versions = offered(listing, against)
        inside = [version for version in versions if choose_variant(variants, version)]
        yanked = listing.yanked if isinstance(listing, Listing) else ()
        current = [version for version in versions if version not in yanked]
        taken = {
            version
            for word in against
            for version in taken_by(word, current if word == NEWEST else versions, inside)
        }
        picked += [
            _Pick(package, (name, version), version in inside) for version in oldest_first(taken)
        ]
    return picked


def taken_by(word: str, versions: Sequence[str], inside: Sequence[str]) -> list[str]:
    """The releases that a value of `--against` takes: `all` those `inside` a range, anything else also others."""
    if word == NEWEST:
        return newest(versions)
    if is_version(word):
        return matching_versions(word, versions)
    return (
        list(inside) if word == ALL else [version for version in versions if accepts(word, version)]
    )


def _no_such(versions: Sequence[str]) -> Message:
    """That a release is not among those of the index, and which is the newest one."""
    newest_version = (
        Message("; the newest is {version}", version=oldest_first(versions)[-1]) if versions else ""
    )
    return Message(
        "the index has no such release for macOS or Linux{newest}", newest=newest_version
    )


# fetching -------------------------------------------------------------------------------------------------------------
def list_releases(pip: Pip, names: Sequence[str], events: Events) -> Listings:
    """The releases of every distribution, or why they cannot be had."""
    report = partial(events.progress, total=len(names), work=Message("lists of releases read"))
    tasks = [_caught(pip.listing, name) for name in names]
    return dict(zip(names, in_parallel(tasks, _JOBS, report, stop=pip.stop)))


def offered(listing: Listing | SitepatchError, against: Sequence[str]) -> list[str]:
    """The releases there are, sorted; where nothing can be listed those that are named, which may be kept."""
    return (
        sorted(listing.versions)
        if isinstance(listing, Listing)
        else list(filter(is_version, against))
    )


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
    tasks = [_caught(fetch_release, pip, *key, paths[key[0]], listings[key[0]]) for key in missing]
    try:
        releases.update(zip(missing, in_parallel(tasks, _JOBS, report, stop=pip.stop)))
    except OSError as error:
        hint = Message("free some space there, or set SITEPATCH_CACHE to another directory")
        path, reason = error.filename or cache_dir(), Message.whole(error.strerror or error)
        raise SitepatchError("{path}: {reason}", hint, path=path, reason=reason) from None
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


# outcomes -------------------------------------------------------------------------------------------------------------
def _outcomes(
    requested: Requested,
    against: Sequence[str],
    picks: Sequence[_Pick],
    listings: Listings,
    folders: Mapping[Key, Path | SitepatchError],
) -> Iterator[ReleaseOutcome]:
    newest_outside = {name: version for _, (name, version), inside in picks if not inside}
    for package, (name, version), inside in picks:
        listing, folder = listings[name], folders.get((name, version))
        if isinstance(folder, SitepatchError):
            word = NO_WHEEL if isinstance(folder, NoWheel) else NOT_FETCHED
            outcome = ReleaseOutcome(
                name, version, word, problem=one_line(folder.message), hint=folder.hint
            )
        else:
            outcome = try_release(requested, Located(package, str(folder), name, version, ""))
        if not inside:
            asked_early = NEWEST in against  # by CI, as `apply` would answer
            hint = update_hint(requested, version) if version == newest_outside[name] else ""
            outcome = _out_of_range(requested, package, outcome)._replace(
                word=State.NOT_FOUND.value if asked_early else OUT_OF_RANGE, hint=hint
            )
        yanked = isinstance(listing, Listing) and version in listing.yanked
        yield outcome._replace(yanked=yanked or was_yanked(name, version))
    yield from _nothing_found(requested.patchset, against, picks, listings)


def _out_of_range(requested: Requested, package: str, outcome: ReleaseOutcome) -> ReleaseOutcome:
    """The outcome for a release that no variant is for: of what it would be there, only what each patch would be is kept."""
    variants = pick_variants(requested.patchset)[package]
    ranges = listed([variant.versions for variant in variants], "or")
    problem = Message("the patchset is for {package} {ranges}", package=package, ranges=ranges)
    return ReleaseOutcome(
        outcome.distribution,
        outcome.version,
        OUT_OF_RANGE,
        problem=problem,
        patches=outcome.patches,
    )


def try_release(requested: Requested, release: Located) -> ReleaseOutcome:
    """Plan a patchset against one release, also one that it is not for: then as its last variant would be there.

    Args:
        requested: the patchset and its options.
        release: the import package, of which alone variants are looked at, with its kept files (`patcher.installed.releases`).

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    _, site, distribution, version, *_ = release
    variants = pick_variants(requested.patchset)[release.package]
    variants = matching_variants(variants, version) or [variants[-1]._replace(versions="")]
    only = requested._replace(patchset=requested.patchset._replace(variants=tuple(variants)))
    plan = make_plan(Environment.alone(site), Wanted((only,)))
    answers = tuple(
        answer._replace(problem=_of_wheel(answer.problem, site)) for answer in plan.answers
    )
    plan = plan._replace(answers=answers)
    patches = _patch_states(only, release, plan)
    outcome = ReleaseOutcome(distribution, version, "", answers=answers, patches=patches)
    if plan.failed:
        failure, *other_failures = plan.failed
        where = failure.path if failure.hunk.scope or "/" in failure.path else ""
        further = (
            Message(" (and {number} more)", number=len(other_failures)) if other_failures else ""
        )
        problem = joined(": ", [where, failure.hunk.scope, one_line(failure.problem)]) + further
        return outcome._replace(word=failure.state.value, problem=problem, hint=failure.hint)
    state, name = state_of(plan), requested.patchset.name
    diffs = tuple(
        _diff(file.path, file.before, file.after, name)
        for file in plan.files
        if file.before != file.after
    )
    return outcome._replace(word=state.value, places=_places(plan, state), diffs=diffs)


def _in_folders(requested: Requested, folders: Sequence[str]) -> Iterator[ReleaseOutcome]:
    """What a patchset does to the packages in directories."""
    for folder in folders:
        env = discover(None, folder)
        for package, variants in pick_variants(requested.patchset).items():
            located = locate(env, package, paths_of(variants))
            outcome = try_release(requested, located)
            if not matching_variants(variants, located.version):  # as `apply` would answer there
                hint = update_hint(requested, located.version)
                outcome = _out_of_range(requested, package, outcome)
                outcome = outcome._replace(word=State.NOT_FOUND.value, hint=hint)
            yield outcome._replace(version=outcome.version or folder)


@lru_cache(maxsize=256)  # many releases have the same text of a file
def _diff(path: str, before: bytes, after: bytes, patchset: str) -> FileDiff:
    return diff_texts("", path, before, after, [patchset])


def _places(plan: Plan, state: State) -> tuple[tuple[str, tuple[int, ...]], ...]:
    lines: dict[str, set[int]] = {}
    for answer in plan.answers:
        if answer.state is state and answer.places:
            lines.setdefault(answer.path, set()).update(answer.places)
    return tuple((path, tuple(sorted(numbers))) for path, numbers in sorted(lines.items()))


def _nothing_found(
    patchset: Patchset, against: Sequence[str], picks: Sequence[_Pick], listings: Listings
) -> Iterator[ReleaseOutcome]:
    """An outcome for each distribution that could not be listed, and for each text that took no release at all."""
    names = list(dict.fromkeys(name for _, name, _ in targets_of(patchset)))
    chosen_names = {pick.key[0] for pick in picks}
    for name in names:
        error = listings[name]
        if isinstance(error, SitepatchError) and name not in chosen_names:
            yield ReleaseOutcome(
                name, "", NOT_FETCHED, problem=one_line(error.message), hint=error.hint
            )
    indexes = [listing for listing in map(listings.get, names) if isinstance(listing, Listing)]
    if len(indexes) < len(names):
        return
    ranges = listed(
        [variant.versions or Message("any version") for variant in patchset.variants], "or"
    )
    versions, inside = (
        [pick.key[1] for pick in picks],
        [pick.key[1] for pick in picks if pick.inside],
    )
    for word in against:
        if not taken_by(word, versions, inside):
            offers = [version for listing in indexes for version in listing.versions]
            none = Message(
                "the index has none in {ranges}", ranges=ranges if word in (ALL, NEWEST) else word
            )
            problem = _no_such(offers) if is_version(word) else none
            if not offers:
                problem = Message("pip found no release at all of that name")
            yield ReleaseOutcome(listed(list(names), "or"), word, NO_RELEASE, problem=problem)


def _of_wheel(message: str, site: str) -> str:
    """A message about a file of a release that was fetched, without the directory where that lies."""
    if not isinstance(message, Message):
        return message.replace(site, "the wheel")
    fields = {
        name: _of_wheel(field, site) if isinstance(field, str) else field
        for name, field in message.fields.items()
    }
    return Message(message.template, **fields)


# the patches of a patchset --------------------------------------------------------------------------------------------
def _patch_states(requested: Requested, release: Located, plan: Plan) -> tuple[PatchState, ...]:
    """What each patch is, by the plan for a release; those that fail are explained. None if the package is refused whole."""
    answers: dict[str, list[Answer]] = {name: [] for name in patch_names(requested.patchset)}
    patches = [patch for variant in requested.patchset.variants for patch in variant.patches]
    for answer in plan.answers:
        # of a whole file that is refused
        origins = {patch.hunks[0].origin for patch in patches if answer.path in patch.paths}
        for origin in {answer.hunk.origin} if answer.hunk.origin else origins:
            answers[patch_name(origin)].append(answer)
    explained = _explained(requested, release, plan)
    states = []
    for name, its_answers in answers.items():
        if not its_answers:  # it is in a variant that was not taken
            continue
        word = overall(answer.state for answer in its_answers).value
        hunks = tuple(hunk for hunk in explained if patch_name(hunk.answer.hunk.origin) == name)
        failed = [answer for answer in its_answers if answer.state.failed]
        problem = f"{failed[0].path}: {failed[0].hunk.scope}: {failed[0].problem}" if failed else ""
        breaking = next(filter(None, (_breaking(requested, release, hunk) for hunk in hunks)), "")
        if breaking:
            word, problem = (
                State.CONFLICT.value,
                Message("{other} changes the same code", other=breaking),
            )
        states.append(PatchState(name, word, problem, breaking, hunks))
    return tuple(states)


def _explained(requested: Requested, release: Located, plan: Plan) -> list[HunkExplanation]:
    """The failed hunks, explained; only the files that have one are looked at."""
    failed = {answer.path for answer in plan.failed}
    variants = [
        variant._replace(
            patches=tuple(patch for patch in variant.patches if failed & set(patch.paths))
        )
        for variant in requested.patchset.variants
    ]
    if not failed:
        return []
    failing = requested._replace(patchset=requested.patchset._replace(variants=tuple(variants)))
    hunks, _ = explanations(Environment.alone(release.site), failing)
    return [hunk for hunk in hunks if hunk.answer.state.failed and hunk.answer.hunk.origin]


def _breaking(requested: Requested, release: Located, failed: HunkExplanation) -> str:
    """The patch before a failed hunk without whose change it would fit, "" for none."""
    explanation, path = failed.explanation, failed.answer.path
    source = read_installed(release.site, path)
    if explanation is None or source is None:
        return ""
    for variant in requested.patchset.variants:
        hunks = [hunk for patch in variant.patches if path in patch.paths for hunk in patch.hunks]
        fitted = _fits(source, explanation.hunk, requested)
        for layer in layers_of(hunks):
            if layer[0].origin == explanation.hunk.origin:
                break
            source = rewrite_cached(source, request_of(requested, layer, variant.names)).data
            fits = _fits(source, explanation.hunk, requested)
            if fitted and not fits:
                return patch_name(layer[0].origin)
            fitted = fits
    return ""


def _fits(source: bytes, hunk: HunkText, requested: Requested) -> bool:
    try:
        return not Tree(source).answer(hunk, requested.options).state.failed
    except SyntaxProblem:
        return False
