"""The state of each patchset that is applied in an environment: decided here, for every command.

The state of a patchset is the worst of the files that it changes. `patcher.store.status` says what
a file is to a patchset; added here is what that does not show: the store is damaged, a run is under
way, another version of the patchset would make another file, or a release that was installed since
does without it.
"""

from __future__ import annotations

from contextlib import suppress
from shlex import join
from typing import Iterable, Mapping, Sequence, Tuple

from patcher.compatibility import overall
from patcher.errors import SitepatchError, StoreError
from patcher.facts import Condition, FileStatus, Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined, one_line
from patcher.model import OptionValue, Patchset, Requested, State, Step
from patcher.patchset.catalogue import Catalogue
from patcher.patchset.places import has_texts
from patcher.patchset.toml import option_text
from patcher.patchset.variants import resolve_options
from patcher.planner.rewriter import stored_patchset
from patcher.planner.survey import make_plan
from patcher.record import Record, reported
from patcher.store.receipt import ADDED_FILE
from patcher.store.status import INTERRUPTED, UNDER_WAY, LostCopies, unfinished_files
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


class AppliedFile(Record):
    """A file that a patchset changes.

    Attributes:
        path: the path below its site directory.
        places: the lines of its changes.
        state: its state.
    """

    path: str
    places: tuple[int, ...]
    state: str


@reported("site name version digest options state releases files problems advice")
class AppliedPatchset(Record):
    """A patchset that is applied in a site directory.

    Attributes:
        site: the site directory.
        step: what is applied.
        state: the worst state of its files, as docs/answers.md lists them.
        releases: the releases that were patched.
        files: the files that it changes.
        problems: what is wrong, one line each.
        advice: what to do, "" where `problems` say it or nothing is wrong.
    """

    site: str
    step: Step
    state: str
    releases: tuple[str, ...]
    files: tuple[AppliedFile, ...]
    problems: tuple[str, ...] = ()
    advice: str = ""

    @property
    def name(self) -> str:
        """The name of the patchset."""
        return self.step.patchset

    @property
    def version(self) -> str:
        """The version of the patchset."""
        return self.step.version

    @property
    def digest(self) -> str:
        """The sha256 (hex) over the texts of the patchset."""
        return self.step.digest

    @property
    def options(self) -> Mapping[str, OptionValue]:
        """The options that it was applied with."""
        return self.step.options


class Newer(Record):
    """Another version of a patchset that is applied, which would make other texts of files.

    Attributes:
        remark: what differs.
        files: (site directory, path) of each.
    """

    remark: str
    files: frozenset[tuple[str, str]]


class Standing(Record):
    """The patchsets that are applied in an environment.

    Attributes:
        patchsets: the patchsets.
        broken: by name, those that cannot be read.
    """

    patchsets: tuple[AppliedPatchset, ...]
    broken: Mapping[str, SitepatchError]

    def state(self, file: FileStatus, step: Step) -> str:
        """The state of a file, to a patchset."""
        for patchset in self.patchsets:
            if (patchset.site, patchset.name, patchset.digest) != (
                file.site,
                step.patchset,
                step.digest,
            ):
                continue
            for applied in patchset.files:
                if applied.path == file.receipt.path:
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


_Steps = Sequence[Tuple[FileStatus, Step]]
"""The files of a patchset, each with what is applied there."""


def applied_patchsets(
    env: Environment,
    items: Sequence[FileStatus],
    patch_dirs: Sequence[str],
    *,
    names: Sequence[str],
    lost: LostCopies,
) -> Standing:
    """The state of each of the named patchsets.

    Args:
        env: the environment.
        items: every file with a receipt (`patcher.store.status.statuses`).
        patch_dirs: where other versions of them are looked for.
        names: of patchsets that are applied.
        lost: the copies in the stores that are lost (`patcher.store.status.lost_copies`).
    """
    grouped: dict[tuple[str, str, str], list[tuple[FileStatus, Step]]] = {}
    for item in items:
        for file, step in item.patchsets:
            if step.patchset in names:
                key = item.site, step.patchset, step.digest
                grouped.setdefault(key, []).append((file, step))
    newer, broken = _newer(env, list(grouped.values()), patch_dirs)
    running = unfinished_files(env)
    patchsets = []
    for steps in grouped.values():
        states = [_state(file, step, newer, lost=lost, running=running) for file, step in steps]
        newer_one = newer.get(steps[0][1].digest)
        patchsets.append(_patchset(env, steps, states, newer=newer_one))
    return Standing(tuple(patchsets), broken)


def _state(
    file: FileStatus,
    step: Step,
    newer: Mapping[str, Newer],
    *,
    lost: LostCopies,
    running: Mapping[tuple[str, str], str],
) -> str:
    """The state of a file, to a patchset, as far as releases installed since do not matter."""
    key = (file.site, file.receipt.path)
    copies = [(file.site, file.receipt.pristine.sha256), (file.site, step.digest)]
    if file.live and any(copy in lost for copy in copies):
        return DAMAGED
    if key in running:
        return running[key]
    if file.condition is Condition.APPLIED and step.digest in newer:
        return OUTDATED if key in newer[step.digest].files else APPLIED
    return file.condition.value


def _patchset(
    env: Environment, steps: _Steps, states: list[str], *, newer: Newer | None
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
    files = []
    for (file, applied), word in zip(steps, states):
        files.append(AppliedFile(file.receipt.path, applied.hunks.places, state=word))
    return AppliedPatchset(
        site=first.site,
        step=step,
        state=state,
        releases=tuple(dict.fromkeys(file.release for file, _ in steps)),
        files=tuple(files),
        problems=tuple(problems),
        advice=advice,
    )


def _problems(steps: _Steps, states: Sequence[str]) -> list[str]:
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
        if len(paths) == len(steps):
            problems.append(meaning)
        else:
            template = "{paths}: {text}"
            problems.append(Message(template, paths=joined(", ", paths), text=meaning))
    return problems


# another version --------------------------------------------------------------------------------
def _newer(
    env: Environment, groups: Iterable[_Steps], patch_dirs: Sequence[str]
) -> tuple[dict[str, Newer], dict[str, SitepatchError]]:
    """Other versions of patchsets that are applied, by the applied digest; and broken folders.

    Texts are compared with the copies in the stores; a manifest is decoded only where they differ,
    and then what the files would become decides. A name that is not found, or whose folder is
    broken, is not outdated.
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
        if patchset.folder.digest == step.digest:
            continue
        files = _made_otherwise(env, patchset, steps)
        if files:
            known = newer[step.digest].files if step.digest in newer else frozenset()
            template = "{name} {version} ({source}) differs from the applied one"
            source = patchset.folder.source
            remark = Message(template, name=patchset.name, version=patchset.version, source=source)
            newer[step.digest] = Newer(remark, files=known | files)
    return newer, broken


def _made_otherwise(
    env: Environment, patchset: Patchset, steps: _Steps
) -> frozenset[tuple[str, str]]:
    """The files of a patchset that another version would make others.

    All where it does not fit, or is for more files.
    """
    applied = set()
    for file, _ in steps:
        if file.condition is Condition.APPLIED:
            applied.add((file.site, file.receipt.path))
    site, step = steps[0][0].site, steps[0][1]
    try:
        options = resolve_options(patchset, _settings(step, _stored(site, step)))
        plan = make_plan(env, Wanted((Requested(patchset, options),)))
    except SitepatchError:
        return frozenset(applied)

    changed = {(file.site, file.path) for file in plan.files if file.changes}
    more = changed - {(file.site, file.receipt.path) for file, _ in steps}
    paths = {path for _, path in applied}
    misfit = any(answer.path in paths or not answer.scope for answer in plan.failed)
    if misfit or more:
        return frozenset(applied)
    return frozenset(applied & changed)


# another release --------------------------------------------------------------------------------
def _in_releases(env: Environment, steps: _Steps, states: list[str]) -> tuple[list[str], str]:
    """The states of files over which other releases were installed, and the advice.

    They differ where these releases do without the patchset.
    """
    replaced = []
    for (file, step), state in zip(steps, states):
        if file.replaced and state == OVERWRITTEN:
            replaced.append((file, step))
    if not replaced:
        return states, ""

    site, step = replaced[0][0].site, replaced[0][1]
    release = _installed_releases([file for file, _ in replaced])
    try:
        patchset = stored_patchset(site, step)
        plan = make_plan(env, Wanted((Requested(patchset, step.options),)))
    except SitepatchError as error:
        return states, error.brief
    if plan.failed:
        why = one_line(plan.failed[0].problem)
        template = "it does not fit {release} ({why}): sitepatch check {patchset} --explain{here}"
        return states, Message(template, release=release, why=why, patchset=step.patchset)

    now = list(states)
    for index, (file, _) in enumerate(steps):
        if states[index] == OVERWRITTEN and file.replaced:
            path = file.receipt.path
            state = overall(answer.state for answer in plan.answers if answer.path == path).value
            now[index] = state if state in NEEDLESS else OVERWRITTEN
    state = worst_of(now)
    if state == OVERWRITTEN:
        words = _apply_command(step, patchset)
        return now, Message("it fits {release}: {words}", release=release, words=words)
    return now, _drop(step, release, state)


def _installed_releases(files: Iterable[FileStatus]) -> str:
    """The releases that are installed now, in words."""
    names = []
    for file in files:
        patched = file.receipt.release
        names.append(release_name(patched.package, patched.distribution, file.installed))
    return listed(list(dict.fromkeys(names)))


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


# the command that applies again -----------------------------------------------------------------
def _stored(site: str, step: Step) -> Patchset | None:
    """The copy of a patchset in the store, None where it is lost."""
    with suppress(SitepatchError):  # `damaged` says so
        return stored_patchset(site, step)
    return None


def _settings(step: Step, stored: Patchset | None) -> dict[str, str]:
    """The options of an applied patchset that are not its defaults, as `--set` takes them."""
    options = stored.options if stored else ()
    default = {option.name: option.default for option in options}
    settings = {}
    for name, value in step.options.items():
        if value != default.get(name):
            settings[name] = option_text(value)
    return settings


def _apply_command(step: Step, stored: Patchset | None) -> str:
    """The command that applies a patchset again, with the options that it is applied with."""
    words = [step.patchset]
    for name, text in _settings(step, stored).items():
        words += ["--set", f"{name}={text}"]
    return Message("sitepatch apply {words}{here}", words=join(words))
