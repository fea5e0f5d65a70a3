"""A patchset and one release: what it would do there, and what each of its patches is."""

from __future__ import annotations

from functools import lru_cache
from typing import Mapping, Sequence

from patcher.compatibility import (
    PatchOutcome,
    ReleaseChanges,
    ReleaseName,
    ReleaseOutcome,
    overall,
    state_of,
)
from patcher.engine.tree import SyntaxProblem, Tree
from patcher.facts import Wanted
from patcher.installed.interpreter import Environment
from patcher.message import Message, joined, one_line
from patcher.model import (
    Answer,
    FilePatch,
    HunkText,
    Located,
    OptionValue,
    Patchset,
    Plan,
    Requested,
    State,
    Variant,
)
from patcher.patchset.layers import layers_of, patch_name, patch_names
from patcher.patchset.results import request_of, rewrite_with_known
from patcher.patchset.variants import matching_variants, pick_variants
from patcher.planner.survey import make_plan
from patcher.store.status import read_installed
from patcher.text.diffs import FileDiff, diff_texts
from patcher.verbs.explanations import explanations


def try_release(requested: Requested, located: Located) -> ReleaseOutcome:
    """Plan a patchset against one release, also one that it is not for: then with its last variant.

    Args:
        requested: the patchset and its options.
        located: the import package, of which alone variants are looked at, with its kept files
            (`patcher.installed.releases`).

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    variants = pick_variants(requested.patchset)[located.package]
    matching = matching_variants(variants, located.version)
    variants = matching or [variants[-1]._replace(versions="")]
    patchset = requested.patchset._replace(variants=tuple(variants))
    requested = requested._replace(patchset=patchset)

    plan = make_plan(Environment.alone(located.site), Wanted((requested,)))
    answers: list[Answer] = []
    for answer in plan.answers:
        problem = _of_wheel(answer.problem, located.site)
        answers.append(answer.with_result(problem=problem))
    plan = plan._replace(answers=tuple(answers))

    release = ReleaseName(located.distribution, located.version)
    patches = tuple(_patch_outcomes(requested, located, plan=plan))
    if plan.failed:
        failure = plan.failed[0]
        return ReleaseOutcome(
            release,
            failure.state.value,
            problem=_problem(plan.failed),
            hint=failure.hint,
            answers=plan.answers,
            patches=patches,
        )
    return ReleaseOutcome(
        release,
        state_of(plan).value,
        answers=plan.answers,
        patches=patches,
        changes=_changes(plan, patchset.name),
    )


def _changes(plan: Plan, name: str) -> ReleaseChanges:
    """What a plan changes."""
    diffs: list[FileDiff] = []
    for file in plan.files:
        if file.changes:
            after = None if file.gone else file.after
            diff = _diff(file.path, before=file.before, after=after, patchset=name)
            diffs.append(diff)
    return ReleaseChanges(tuple(diffs))


@lru_cache(maxsize=256)  # many releases have the same text of a file
def _diff(path: str, *, before: bytes, after: bytes | None, patchset: str) -> FileDiff:
    return diff_texts("", path, before=before, after=after, patchsets=[patchset])


def _problem(failed: Sequence[Answer]) -> str:
    """The first problem in one line, and how many more there are."""
    failure = failed[0]
    where = failure.path if failure.scope or "/" in failure.path else ""
    problem = joined(": ", [where, failure.scope, one_line(failure.problem)])
    if len(failed) > 1:
        problem += Message(" (and {number} more)", number=len(failed) - 1)
    return problem


def _of_wheel(message: str, site: str) -> str:
    """A message about a file of a fetched release, without the directory where that lies."""
    if not isinstance(message, Message):
        return message.replace(site, "the wheel")
    fields = {}
    for name, field in message.fields.items():
        fields[name] = _of_wheel(field, site) if isinstance(field, str) else field
    return Message(message.template, **fields)


# the patches of a patchset ----------------------------------------------------------------------
def _patch_outcomes(requested: Requested, located: Located, *, plan: Plan) -> list[PatchOutcome]:
    """What each patch is, by the plan for a release; the hunks that fail are explained.

    None where the package is refused whole.
    """
    failing: dict[str, list[Answer]] = {}
    for answer in _explained(requested, located, plan=plan):
        failing.setdefault(patch_name(answer.origin), []).append(answer)

    outcomes: list[PatchOutcome] = []
    for name, answers in _answers_by_patch(requested, plan).items():
        if not answers:  # it is in a variant that was not taken
            continue
        outcome = _patch_outcome(
            name,
            requested,
            located=located,
            answers=answers,
            failing=failing.get(name, ()),
        )
        outcomes.append(outcome)
    return outcomes


def _answers_by_patch(requested: Requested, plan: Plan) -> dict[str, list[Answer]]:
    """The answers of a plan by patch; one about a whole file is there for all its patches."""
    answers_of: dict[str, list[Answer]] = {}
    for name in patch_names(requested.patchset):
        answers_of[name] = []
    for answer in plan.answers:
        origins = {answer.origin}
        if not answer.origin:
            origins = _origins(requested.patchset, answer.path)
        for origin in origins:
            answers_of[patch_name(origin)].append(answer)
    return answers_of


def _origins(patchset: Patchset, path: str) -> set[str]:
    """The `.spatch` files of the patches for a file."""
    origins: set[str] = set()
    for variant in patchset.variants:
        for patch in variant.patches:
            if path in patch.places:
                origins.add(patch.hunks[0].origin)
    return origins


def _patch_outcome(
    name: str,
    requested: Requested,
    *,
    located: Located,
    answers: Sequence[Answer],
    failing: Sequence[Answer],
) -> PatchOutcome:
    """What a patch is, by the answers for its hunks, of which those that fail are explained."""
    state = overall(answer.state for answer in answers)
    problem = ""
    failed = next((answer for answer in answers if answer.state.failed), None)
    if failed is not None:
        problem = f"{failed.path}: {failed.scope}: {failed.problem}"

    other = ""
    for answer in failing:
        other = _breaking(requested, located, failed=answer)
        if other:
            state = State.CONFLICT
            problem = Message("{other} changes the same code", other=other)
            break
    return PatchOutcome(
        name,
        state.value,
        problem=problem,
        other=other,
        answers=tuple(failing),
    )


def _explained(requested: Requested, located: Located, *, plan: Plan) -> list[Answer]:
    """The failed hunks, explained; only the files that have one are looked at."""
    failed = {answer.path for answer in plan.failed}
    if not failed:
        return []

    variants: list[Variant] = []
    for variant in requested.patchset.variants:
        patches: list[FilePatch] = []
        for patch in variant.patches:
            if not failed.isdisjoint(patch.places):
                patches.append(patch)
        variants.append(variant._replace(patches=tuple(patches)))
    patchset = requested.patchset._replace(variants=tuple(variants))
    env = Environment.alone(located.site)
    answers, _ = explanations(env, requested._replace(patchset=patchset))
    return [answer for answer in answers if answer.state.failed and answer.origin]


def _breaking(requested: Requested, located: Located, *, failed: Answer) -> str:
    """The patch before a failed hunk without whose change it would fit, "" for none."""
    source = read_installed(located.site, failed.path)
    if failed.explanation is None or source is None:
        return ""
    hunk = failed.explanation.hunk
    options = requested.options
    for variant in requested.patchset.variants:
        hunks: list[HunkText] = []
        for patch in variant.patches:
            if failed.path in patch.places:
                hunks += patch.hunks

        fitted = _fits(source, hunk, options=options)
        for layer in layers_of(hunks):
            if layer[0].origin == hunk.origin:
                break
            request = request_of(requested, layer, variant.names)
            source = rewrite_with_known(source, request).data
            fits = _fits(source, hunk, options=options)
            if fitted and not fits:
                return patch_name(layer[0].origin)
            fitted = fits
    return ""


def _fits(source: bytes, hunk: HunkText, *, options: Mapping[str, OptionValue]) -> bool:
    try:
        answer = Tree(source).answer(hunk, options)
    except SyntaxProblem:
        return False
    return not answer.state.failed
