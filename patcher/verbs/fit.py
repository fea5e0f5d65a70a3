"""Whether a patchset that cures a symptom fits an environment."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from patcher.facts import FileStatus, Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message, one_line
from patcher.model import OptionValue, Patchset, Plan, Requested, State, Symptom
from patcher.patchset.toml import option_text
from patcher.patchset.variants import resolve_options
from patcher.planner.survey import make_plan
from patcher.store.retry import settled
from patcher.text.listed import listed, release_name
from patcher.verbs.releases.outcome import is_absent, state_of

APPLICABLE, APPLIED, ABSENT, MISFIT, UNKNOWN = (
    "applicable",
    "applied",
    "absent",
    Message("does not fit"),
    "unknown",
)


class Fit(NamedTuple):
    """Whether a patchset fits the environment.

    `word` is APPLICABLE, APPLIED, ABSENT (its package is not installed), MISFIT, UNKNOWN (it could not be looked at), or the
    value of a State. `text` says it in words, `settings` are the options to be set (`option=VALUE`).
    """

    word: str
    text: str
    settings: tuple[str, ...] = ()


def fit_of(
    env: Environment, items: Sequence[FileStatus], patchset: Patchset, symptom: Symptom
) -> Fit:
    """Whether a patchset fits an environment.

    Args:
        env: the environment.
        items: what is applied there.
        patchset: the patchset.
        symptom: what is to be cured: it may suggest options.
    """
    steps = [
        step
        for item in items
        for file, step in item.patchsets
        if file.live and step.patchset == patchset.name
    ]
    current = steps[0].options if steps else {}
    requested: dict[str, OptionValue] = {
        **resolve_options(patchset, {}),
        **current,
        **symptom.options,
    }
    settings = tuple(
        f"{name}={option_text(value)}"
        for name, value in symptom.options.items()
        if current.get(name) != value
    )
    if steps and not settings:
        return Fit(
            APPLIED,
            Message(
                "it is applied here: if the log is of a run since then, the cause is another one"
            ),
        )
    plan = settled(env, lambda: make_plan(env, Wanted((Requested(patchset, requested),))))
    if plan.failed:
        failed = plan.failed[0]
        missing = is_absent(failed)
        problem = one_line(failed.problem)
        template = "{problem}; see sitepatch check {name} --explain{here}"
        return (
            Fit(ABSENT, problem)
            if missing
            else Fit(MISFIT, Message(template, problem=problem, name=patchset.name))
        )
    state = state_of(plan)
    if state is State.APPLICABLE or steps:
        other_options = Message(
            "it is applied here with other options than {settings}", settings=", ".join(settings)
        )
        return Fit(APPLICABLE, other_options if steps else _fits(plan), settings)
    words = {
        State.UPSTREAM: Message("what it does is in the installed release already"),
        State.APPLIED: Message("it is applied here"),
    }
    return Fit(
        state.value,
        words.get(state, Message("the code that it changes is not in the installed release")),
    )


def _fits(plan: Plan) -> str:
    receipts = [file.change.receipt for file in plan.files if file.change and file.change.receipt]
    releases = dict.fromkeys(
        release_name(receipt.release.package, receipt.release.distribution, receipt.release.version)
        for receipt in receipts
    )
    return Message("it fits {releases} here", releases=listed(list(releases)))
