"""What each patchset that is applied is in an environment: the one place that decides it, for every command.

The state of a patchset is the worst of the files that it changes. `patcher.store.status` says what a file is to a patchset;
here is added what that does not show: the store is damaged, a run is under way, another version of the patchset would make
another file, or a release that was installed since does without it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Iterable, Mapping, NamedTuple, Sequence

from patcher.errors import SitepatchError, StoreError
from patcher.facts import Condition, FileStatus, Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined, one_line
from patcher.model import OptionValue, Patchset, Requested, State, Step
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.places import has_texts
from patcher.patchset.toml import option_text
from patcher.store.receipt import ADDED_FILE
from patcher.store.status import (
    INTERRUPTED,
    UNDER_WAY,
    lost_copies,
    unfinished_files,
)
from patcher.store.store import Store
from patcher.text.listed import listed, release_name

APPLIED, OVERWRITTEN = Condition.APPLIED.value, Condition.OVERWRITTEN.value
DAMAGED, OUTDATED = "damaged", "outdated"
NEEDLESS = (State.UPSTREAM.value, State.NOT_NEEDED.value)
"""The release that was installed since does without the patchset, or a file of it: it can go."""
_WORST_FIRST: tuple[str, ...] = (
    DAMAGED,
    INTERRUPTED,
    UNDER_WAY,
    Condition.ASTRAY.value,
    Condition.EDITED.value,
    Condition.MISSING.value,
    OVERWRITTEN,
    OUTDATED,
    APPLIED,
    *NEEDLESS,
)
_LEFT_BEHIND = Message("the patchset added it, and the install left it behind")


class AppliedFile(NamedTuple):
    """A file that a patchset changes: the lines of its changes, and its state."""

    path: str
    places: tuple[int, ...]
    state: str


class AppliedPatchset(NamedTuple):
    """A patchset that is applied in a site directory.

    `digest` is the patchset's. `state` is the worst of its files: the value of a Condition, `damaged`, `interrupted`, `under
    way`, `outdated` (another version of it would make other files), or, where another release was installed since, `upstream`
    or `not needed`: it can go. `files` are those that it changes, `releases` those that were patched, `problems` one line
    each, `advice` what to do, "" where `problems` say it or nothing is wrong.
    """

    site: str
    name: str
    version: str
    digest: str
    state: str
    releases: tuple[str, ...]
    files: tuple[AppliedFile, ...]
    options: Mapping[str, OptionValue]
    problems: tuple[str, ...] = ()
    advice: str = ""


class Newer(NamedTuple):
    """Another version of a patchset that is applied, which would make other texts of these files.

    A file is (site directory, path).
    """

    remark: str
    files: frozenset[tuple[str, str]]


class Standing(NamedTuple):
    """The patchsets that are applied in an environment, and those, by name, that cannot be read."""

    patchsets: tuple[AppliedPatchset, ...]
    broken: Mapping[str, SitepatchError]

    def state(self, file: FileStatus, step: Step) -> str:
        """The state of a file, to a patchset."""
        for patchset in self.patchsets:
            if (patchset.site, patchset.name) != (file.site, step.patchset):
                continue
            for applied in patchset.files:
                if applied.path == file.receipt.path and patchset.digest == step.digest:
                    return applied.state
        return file.condition.value

    def by_name(self) -> dict[str, str]:
        """The state of each patchset, the worst of all site directories."""
        worst: dict[str, str] = {}
        for patchset in self.patchsets:
            states = worst.get(patchset.name, patchset.state), patchset.state
            worst[patchset.name] = worst_of(states)
        return worst


def worst_of(states: Iterable[str]) -> str:
    """The worst of some states."""
    return min(states, key=_WORST_FIRST.index)


def applied_patchsets(
    env: Environment, items: Sequence[FileStatus], patch_dirs: Sequence[str], names: Sequence[str]
) -> Standing:
    """What the named patchsets are.

    Args:
        env: the environment.
        items: every file with a receipt (`patcher.store.status.statuses`).
        patch_dirs: where other versions of them are looked for.
        names: of patchsets that are applied.
    """
    grouped: dict[tuple[str, str, str], list[tuple[FileStatus, Step]]] = {}
    for item in items:
        for file, step in item.patchsets:
            if step.patchset in names:
                key = (item.site, step.patchset, step.digest)
                grouped.setdefault(key, []).append((file, step))
    newer, broken = _newer(env, list(grouped.values()), patch_dirs)
    damaged, running = lost_copies(items), unfinished_files(env)
    patchsets = []
    for steps in grouped.values():
        states = [_state(file, step, newer, damaged, running) for file, step in steps]
        patchsets.append(_patchset(env, steps, states, newer.get(steps[0][1].digest)))
    return Standing(tuple(patchsets), broken)


def _state(
    file: FileStatus,
    step: Step,
    newer: Mapping[str, Newer],
    damaged: Mapping[tuple[str, str], StoreError],
    running: Mapping[tuple[str, str], str],
) -> str:
    """The state of a file, to a patchset, as far as the releases that were installed since do not matter."""
    key = (file.site, file.receipt.path)
    needed = [(file.site, file.receipt.pristine.sha256), (file.site, step.digest)]
    if file.live and any(copy in damaged for copy in needed):
        return DAMAGED
    if key in running:
        return running[key]
    if file.condition is Condition.APPLIED and step.digest in newer:
        return OUTDATED if key in newer[step.digest].files else APPLIED
    return file.condition.value


def _patchset(
    env: Environment,
    steps: Sequence[tuple[FileStatus, Step]],
    states: list[str],
    newer: Newer | None,
) -> AppliedPatchset:
    """A patchset, from its files and their states."""
    first, step = steps[0]
    advice = ""
    if worst_of(states) == OVERWRITTEN:
        states, advice = _in_releases(env, steps, states)
    state = worst_of(states)
    problems = _problems(steps, states)
    if state == OUTDATED and newer:
        problems.append(newer.remark)
        advice = _apply_command(step, _stored(first.site, step))
    files = [
        AppliedFile(file.receipt.path, applied.hunks.places, word)
        for (file, applied), word in zip(steps, states)
    ]
    releases = dict.fromkeys(file.release for file, _ in steps)
    return AppliedPatchset(
        site=first.site,
        name=step.patchset,
        version=step.version,
        digest=step.digest,
        state=state,
        releases=tuple(releases),
        files=tuple(files),
        options=step.options,
        problems=tuple(problems),
        advice=advice,
    )


def _problems(steps: Sequence[tuple[FileStatus, Step]], states: Sequence[str]) -> list[str]:
    """What is wrong with the files of a patchset, each problem once."""
    gone = OVERWRITTEN in states or Condition.MISSING.value in states
    paths_of: dict[str, list[str]] = {}
    for (file, _), state in zip(steps, states):
        meaning = "" if state in NEEDLESS else file.meaning
        if gone and state == APPLIED and file.receipt.pristine.origin == ADDED_FILE:
            meaning = _LEFT_BEHIND
        if meaning:
            paths_of.setdefault(meaning, []).append(file.receipt.path)
    problems: list[str] = []
    for meaning, paths in paths_of.items():
        everywhere = len(paths) == len(steps)
        where = Message("{paths}: {text}", paths=joined(", ", paths), text=meaning)
        problems.append(meaning if everywhere else where)
    return problems


# another version ------------------------------------------------------------------------------------------------------
def _newer(
    env: Environment,
    groups: Iterable[Sequence[tuple[FileStatus, Step]]],
    patch_dirs: Sequence[str],
) -> tuple[dict[str, Newer], dict[str, SitepatchError]]:
    """Other versions of patchsets that are applied, by the digest of what is applied; and broken folders by name.

    Texts are compared with the copies in the stores; a manifest is decoded only where they differ, and then what the files
    would become decides. A name that is not found, or whose folder is broken, is not outdated.
    """
    catalogue = Catalogue(patch_dirs)
    broken = dict(catalogue.broken)
    newer: dict[str, Newer] = {}
    for steps in groups:
        site, step = steps[0][0].site, steps[0][1]
        if step.patchset not in catalogue.folders:
            continue
        folder, _ = catalogue.folders[step.patchset][0]
        with suppress(StoreError):  # its copy is lost: the digests are compared
            if has_texts(folder, Store(site).patchset_files(step.digest)):
                continue
        try:
            patchset = catalogue.find(step.patchset).patchset
        except SitepatchError as error:
            broken[step.patchset] = error
            continue
        files = (
            _made_otherwise(env, patchset, steps) if patchset.folder.digest != step.digest else None
        )
        if files:
            template = "{one.name} {one.version} ({one.folder.source}) differs from the one that is applied"
            known = newer[step.digest].files if step.digest in newer else frozenset()
            newer[step.digest] = Newer(Message(template, one=patchset), known | files)
    return newer, broken


def _made_otherwise(
    env: Environment, patchset: Patchset, steps: Sequence[tuple[FileStatus, Step]]
) -> frozenset[tuple[str, str]]:
    """The files of a patchset that another version would make others: all where it does not fit, or is for more files."""
    from patcher.patchset.variants import resolve_options  # what is as it was applied needs no plan
    from patcher.planner.survey import make_plan

    applied = {
        (file.site, file.receipt.path) for file, _ in steps if file.condition is Condition.APPLIED
    }
    site, step = steps[0][0].site, steps[0][1]
    stored = _stored(site, step)
    try:
        options = resolve_options(patchset, _settings(step, stored))
        plan = make_plan(env, Wanted((Requested(patchset, options),)))
    except SitepatchError:
        return frozenset(applied)
    others = {(file.site, file.path) for file in plan.files if file.before != file.after}
    paths = {path for _, path in applied}
    misfit = any(answer.path in paths or not answer.hunk.scope for answer in plan.failed)
    more = others - {(file.site, file.receipt.path) for file, _ in steps}
    return frozenset(applied if misfit or more else applied & others)


# another release ------------------------------------------------------------------------------------------------------
def _in_releases(
    env: Environment, steps: Sequence[tuple[FileStatus, Step]], states: list[str]
) -> tuple[list[str], str]:
    """The states of files over which other releases were installed, if these do without the patchset; and the advice."""
    replaced = [
        (file, step)
        for (file, step), state in zip(steps, states)
        if file.replaced and state == OVERWRITTEN
    ]
    if not replaced:
        return states, ""
    from patcher.planner.rewriter import stored_patchset  # as above
    from patcher.planner.survey import make_plan
    from patcher.verbs.releases.outcome import overall

    site, step = replaced[0][0].site, replaced[0][1]
    names = (
        release_name(
            file.receipt.release.package, file.receipt.release.distribution, file.installed
        )
        for file, _ in replaced
    )
    release = listed(list(dict.fromkeys(names)))
    try:
        patchset = stored_patchset(site, step)
        plan = make_plan(env, Wanted((Requested(patchset, step.options),)))
    except SitepatchError as error:
        return states, error.brief
    if plan.failed:
        why = one_line(plan.failed[0].problem)
        template = "it does not fit {release} ({why}): sitepatch check {patchset} --explain{here}"
        advice = Message(template, release=release, why=why, patchset=step.patchset)
        return states, advice

    told = list(states)
    for index, (file, _) in enumerate(steps):
        if states[index] == OVERWRITTEN and file.replaced:
            answers = [answer for answer in plan.answers if answer.path == file.receipt.path]
            state = overall(answer.state for answer in answers).value
            told[index] = state if state in NEEDLESS else OVERWRITTEN
    state = worst_of(told)
    if state == OVERWRITTEN:
        words = _apply_command(step, patchset)
        return told, Message("it fits {release}: {words}", release=release, words=words)
    return told, _drop(step, release, state)


def _drop(step: Step, release: str, state: str) -> str:
    """The advice on a patchset that can go, "" for another state."""
    template = (
        "drop it: sitepatch restore {patchset}{env}, and no project has to ask for it any more"
    )
    drop = Message(template, patchset=step.patchset)
    if state == State.UPSTREAM.value:
        return Message("{release} has the change itself; {drop}", release=release, drop=drop)
    if state == State.NOT_NEEDED.value:
        template = "{release} does not have the code that it changes; {drop}"
        return Message(template, release=release, drop=drop)
    return ""


# the command that applies again ---------------------------------------------------------------------------------------
def _stored(site: str, step: Step) -> Patchset | None:
    from patcher.planner.rewriter import stored_patchset  # as above

    with suppress(SitepatchError):  # `damaged` says so
        return stored_patchset(site, step)
    return None


def _settings(step: Step, stored: Patchset | None) -> dict[str, str]:
    """The options with which a patchset is applied that are not its defaults, as `--set` takes them."""
    options = stored.options if stored else ()
    default = {option.name: option.default for option in options}
    return {
        name: option_text(value)
        for name, value in step.options.items()
        if value != default.get(name)
    }


def _apply_command(step: Step, stored: Patchset | None) -> str:
    """The command that applies a patchset again, with the options that it is applied with."""
    import shlex

    words = [step.patchset]
    for name, text in _settings(step, stored).items():
        words += ["--set", f"{name}={text}"]
    return Message("sitepatch apply {words}{here}", words=shlex.join(words))
