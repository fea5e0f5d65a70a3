"""The patchsets that are applied in an environment, each with its state. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

from patcher.errors import SitepatchError
from patcher.model import OptionValue, Requested, State, Step, release_name
from patcher.store.status import Condition, FileStatus

if TYPE_CHECKING:
    from patcher.target.interpreter import Environment

OUTDATED = "outdated"
_WORST_FIRST = (*(each.value for each in reversed(list(Condition)[1:])), OUTDATED, Condition.APPLIED.value)


class AppliedPatchset(NamedTuple):
    """A patchset that is applied in a site directory.

    `digest` is the patchset's. `state` is the worst of its files: the value of a Condition, `outdated` (another version of it
    is to be had), or, where another release was installed since, `upstream` or `not needed`: it can go. `files` are (path,
    lines, state), `releases` those that were patched, `problems` one line each, `advice` what to do, "" where `problems` say
    it or nothing is wrong.
    """

    site: str
    name: str
    version: str
    digest: str
    state: str
    releases: Tuple[str, ...]
    files: Tuple[Tuple[str, Tuple[int, ...], str], ...]
    options: Mapping[str, OptionValue]
    problems: Tuple[str, ...] = ()
    advice: str = ""


def applied_patchsets(env: Environment, items: Iterable[FileStatus], outdated: Mapping[str, str]) -> List[AppliedPatchset]:
    """Each patchset that is applied; `outdated` maps the digest of one to what is newer (`patcher.project.selection`)."""
    grouped: Dict[Tuple[str, str, str], List[Tuple[FileStatus, Step]]] = {}
    for item in items:
        for step in item.receipt.steps:
            grouped.setdefault((item.site, step.patchset, step.digest), []).append((item, step))
    return [_applied_patchset(env, several, outdated) for several in grouped.values()]


def step_state(item: FileStatus, step: Step, outdated: Mapping[str, str]) -> str:
    """The word for a patchset in a file: that of the file, or `outdated` where another version of it is to be had."""
    return OUTDATED if item.condition is Condition.APPLIED and step.digest in outdated else item.condition.value


def _applied_patchset(
    env: Environment, several: Sequence[Tuple[FileStatus, Step]], outdated: Mapping[str, str]
) -> AppliedPatchset:
    first, step = several[0]
    files = tuple((item.receipt.path, each.places, step_state(item, each, outdated)) for item, each in several)
    state = min((word for _, _, word in files), key=_WORST_FIRST.index)
    found: Dict[str, List[str]] = {}
    for item, _ in several:
        found.setdefault(item.meaning, []).append(item.receipt.path)
    problems = [text if len(paths) == len(files) else f"{', '.join(paths)}: {text}" for text, paths in found.items() if text]
    advice = ""
    if state == OUTDATED:
        problems, advice = [*problems, outdated[step.digest]], f"sitepatch apply {step.patchset}"
    replaced = next((item for item, _ in several if item.replaced), first)
    if state == Condition.OVERWRITTEN.value and replaced.replaced:
        state, advice = _in_release(env, replaced, step)
    releases = tuple(dict.fromkeys(item.release for item, _ in several))
    about = (first.site, step.patchset, step.version, step.digest)
    return AppliedPatchset(*about, state, releases, files, step.options, tuple(problems), advice)


def _in_release(env: Environment, item: FileStatus, step: Step) -> Tuple[str, str]:
    """The word and the advice for a patchset over which another release was installed: does that one need it?"""
    import shlex

    from patcher.ops.releases.check import one_line, state_of  # what is as it was applied needs no plan
    from patcher.patchset.toml import option_text
    from patcher.planner.plan import plan_apply
    from patcher.planner.resolve import stored_patchset

    release = release_name(item.receipt.package, item.receipt.distribution, item.installed)
    try:
        patchset = stored_patchset(item.site, step)
        plan = plan_apply(env, [Requested(patchset, step.options)])
    except SitepatchError as error:
        return item.condition.value, error.brief
    if plan.failed:
        why = one_line(plan.failed[0].problem)
        return item.condition.value, f"it does not fit {release} ({why}): sitepatch explain {step.patchset}"
    state = state_of(plan)
    drop = f"drop it: sitepatch restore {step.patchset}, and no project has to ask for it any more"
    if state is State.UPSTREAM:
        return state.value, f"{release} has the change itself; {drop}"
    if state is State.NOT_NEEDED:
        return state.value, f"{release} does not have the code that it changes; {drop}"
    default = {one.name: one.default for one in patchset.options}
    changed = [f"{name}={option_text(value)}" for name, value in step.options.items() if value != default.get(name)]
    words = ["sitepatch", "apply", step.patchset, *(word for each in changed for word in ("--set", shlex.quote(each)))]
    return item.condition.value, f"it fits {release}: {' '.join(words)}"
