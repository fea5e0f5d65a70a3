"""What becomes of each patch of a series in one release, and why."""

from __future__ import annotations

from typing import Dict, List, Tuple

from patcher.engine.tree import SyntaxProblem, Tree
from patcher.installed.interpreter import Environment
from patcher.message import Message
from patcher.model import Answer, HunkText, Located, Plan, Requested, State
from patcher.patchset.layers import layers_of, patch_name, patch_names
from patcher.patchset.results import request_of, rewrite_cached
from patcher.store.status import read_installed
from patcher.verbs.explanations import HunkExplanation, explanations
from patcher.verbs.releases.outcome import PatchState

_ORDER = (State.CONFLICT, State.AMBIGUOUS, State.NOT_FOUND, State.APPLICABLE, State.APPLIED, State.UPSTREAM)


def patch_states(requested: Requested, release: Located, plan: Plan) -> Tuple[PatchState, ...]:
    """What each patch is, by the plan of the series for a release; those that fail are explained."""
    answers: Dict[str, List[Answer]] = {}
    for answer in plan.answers:
        if answer.written[0]:
            answers.setdefault(patch_name(answer.written[0]), []).append(answer)
    explained = _explained(requested, release, plan)
    states = []
    for name in patch_names(requested.patchset):
        states_found = {answer.state for answer in answers.get(name, ())}
        state = next((state for state in _ORDER if state in states_found), State.NOT_NEEDED)
        word = state.value
        hunks = tuple(hunk for hunk in explained if patch_name(hunk.answer.written[0]) == name)
        failed = [answer for answer in answers.get(name, ()) if answer.state.failed]
        problem = f"{failed[0].path}: {failed[0].scope}: {failed[0].problem}" if failed else ""
        breaking = next(filter(None, (_breaking(requested, release, hunk) for hunk in hunks)), "")
        if breaking:
            word, problem = State.CONFLICT.value, Message("{other} changes the same code", other=breaking)
        states.append(PatchState(name, word, problem, breaking, hunks))
    return tuple(states)


def _explained(requested: Requested, release: Located, plan: Plan) -> List[HunkExplanation]:
    """The failed hunks, explained; only the files that have one are looked at."""
    failed = {answer.path for answer in plan.failed}
    variants = [
        variant._replace(patches=tuple(patch for patch in variant.patches if failed & set(patch.paths)))
        for variant in requested.patchset.variants
    ]
    if not failed:
        return []
    failing = requested._replace(patchset=requested.patchset._replace(variants=tuple(variants)))
    hunks, _ = explanations(Environment.alone(release.site), failing)
    return [hunk for hunk in hunks if hunk.answer.state.failed and hunk.answer.written[0]]


def _breaking(requested: Requested, release: Located, failed: HunkExplanation) -> str:
    """The patch before a failed hunk without whose change it would fit, "" for none."""
    explanation, path = failed.explanation, failed.answer.path
    source = read_installed(release.site, path)
    if explanation is None or source is None:
        return ""
    for variant in requested.patchset.variants:
        hunks = [hunk for patch in variant.patches if path in patch.paths for hunk in patch.hunks]
        fitted = _fits(source, explanation.hunk, requested)
        for layer in layers_of([hunk for hunk in hunks if hunk.layer < explanation.hunk.layer]):
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
