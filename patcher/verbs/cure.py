"""Whether a patchset that cures a symptom fits an environment."""

from __future__ import annotations

from typing import Mapping, Sequence

from patcher.compatibility import state_of
from patcher.facts import FileStatus, Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message, one_line
from patcher.model import Answer, OptionValue, Patchset, Plan, Requested, State, Symptom
from patcher.patchset.toml import option_text
from patcher.patchset.variants import resolve_options
from patcher.planner.survey import make_plan
from patcher.record import Record
from patcher.store.retry import settled
from patcher.text.listed import listed, release_name

APPLICABLE, APPLIED, ABSENT, MISFIT, UNKNOWN = (
    "applicable",
    "applied",
    "absent",
    Message("does not fit"),
    "unknown",
)


class Fit(Record):
    """Whether a patchset fits the environment.

    Attributes:
        word: APPLICABLE, APPLIED, ABSENT (its package is not installed), MISFIT, UNKNOWN (nobody
            could look), or the value of a State.
        text: the same in words.
        settings: the options to set (`option=VALUE`).
    """

    word: str
    text: str
    settings: tuple[str, ...] = ()


def fit_of(
    env: Environment, items: Sequence[FileStatus], patchset: Patchset, *, symptom: Symptom
) -> Fit:
    """Whether a patchset fits an environment.

    Args:
        env: the environment.
        items: what is applied there.
        patchset: the patchset.
        symptom: what is to be cured: it may suggest options.
    """
    current = _applied_options(items, patchset)
    requested = {**resolve_options(patchset, {}), **(current or {}), **symptom.options}
    settings = []
    for name, value in symptom.options.items():
        if current is None or current.get(name) != value:
            settings.append(f"{name}={option_text(value)}")
    if current is not None and not settings:
        text = "it is applied here: if the log is of a run since then, the cause is another one"
        return Fit(APPLIED, Message(text))

    plan = settled(env, lambda: make_plan(env, Wanted((Requested(patchset, requested),))))
    if plan.failed:
        return _misfit(plan.failed[0], patchset)
    if current is not None:
        template = "it is applied here with other options than {settings}"
        text = Message(template, settings=", ".join(settings))
        return Fit(APPLICABLE, text, settings=tuple(settings))
    return _of_plan(plan, tuple(settings))


def _applied_options(
    items: Sequence[FileStatus], patchset: Patchset
) -> Mapping[str, OptionValue] | None:
    """The options that a patchset is applied with, None where it is not applied."""
    for item in items:
        for file, step in item.patchsets:
            if file.live and step.patchset == patchset.name:
                return step.options
    return None


def _misfit(failed: Answer, patchset: Patchset) -> Fit:
    """That a patchset does not fit, or its package is not there."""
    problem = one_line(failed.problem)
    if failed.is_absent:
        return Fit(ABSENT, problem)
    template = "{problem}; see sitepatch check {name} --explain{here}"
    return Fit(MISFIT, Message(template, problem=problem, name=patchset.name))


def _of_plan(plan: Plan, settings: tuple[str, ...]) -> Fit:
    """Whether there is something to apply, by a plan that fits."""
    state = state_of(plan)
    if state is State.APPLICABLE:
        releases = Message("it fits {releases} here", releases=_releases(plan))
        return Fit(APPLICABLE, releases, settings=settings)
    text = Message("the code that it changes is not in the installed release")
    if state is State.UPSTREAM:
        text = Message("what it does is in the installed release already")
    elif state is State.APPLIED:
        text = Message("it is applied here")
    return Fit(state.value, text)


def _releases(plan: Plan) -> str:
    """The releases of the files that a plan changes."""
    releases: dict[str, None] = {}
    for file in plan.files:
        receipt = file.to_commit.receipt if file.to_commit else None
        if receipt:
            patched = receipt.release
            name = release_name(patched.package, patched.distribution, patched.version)
            releases[name] = None
    return listed(list(releases))
