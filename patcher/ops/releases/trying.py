"""A patchset against one release that is not installed: planned by the code that `apply` uses, on the files that are kept."""

from __future__ import annotations

from functools import lru_cache
from typing import Dict, NamedTuple, Set, Tuple

from patcher.model import Answer, Located, Plan, Requested, State
from patcher.patchset.sources import pick_variants
from patcher.planner.plan import plan_apply
from patcher.target.interpreter import Environment
from patcher.text.diffs import FileDiff, diff_texts

APPLIES, OUT_OF_RANGE, NO_RELEASE, NO_WHEEL, NOT_FETCHED = "applies", "out of range", "no release", "no wheel", "not fetched"
HOLDS = (APPLIES, State.APPLIED.value, State.UPSTREAM.value)
_GOOD = (*HOLDS, State.NOT_NEEDED.value, OUT_OF_RANGE)


class ReleaseOutcome(NamedTuple):
    """What a patchset would do to one release.

    `word` is `applies`, `out of range`, `no release`, `no wheel`, `not fetched` or the value of a State. `places` are the
    files that it changes (with `upstream`: that are so already) and their lines before the change. `problem` is one line.
    `answers` are those about each hunk, none where the release was not looked at.
    """

    distribution: str
    version: str
    word: str
    places: Tuple[Tuple[str, Tuple[int, ...]], ...] = ()
    problem: str = ""
    hint: str = ""
    yanked: bool = False
    diffs: Tuple[FileDiff, ...] = ()
    answers: Tuple[Answer, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether this outcome makes the command end with exit code 1."""
        return self.word not in _GOOD


def try_release(requested: Requested, release: Located) -> ReleaseOutcome:
    """Plan a patchset against one release.

    Args:
        requested: the patchset and its options.
        release: the import package, of which alone variants are looked at, with its kept files (`patcher.target.releases`).

    Raises:
        PatchError: a hunk is wrong in itself.
    """
    _, site, distribution, version, *_ = release
    variants = tuple(pick_variants(requested.patchset)[release.package])
    only = requested._replace(patchset=requested.patchset._replace(variants=variants))
    plan = plan_apply(Environment.alone(site), [only])
    answers = tuple(one._replace(problem=one.problem.replace(site, "the wheel")) for one in plan.answers)
    if plan.failed:
        first, *others = plan.failed
        where = f"{first.path}: {first.scope}: " if first.scope else f"{first.path}: " if "/" in first.path else ""
        more = f" (and {len(others)} more)" if others else ""
        problem = where + one_line(first.problem).replace(site, "the wheel") + more
        return ReleaseOutcome(distribution, version, first.state.value, (), problem, first.hint, answers=answers)
    state = state_of(plan)
    diffs = [
        _diff(file.path, file.before, file.after, requested.patchset.name) for file in plan.files if file.before != file.after
    ]
    word = APPLIES if state is State.APPLICABLE else state.value
    return ReleaseOutcome(distribution, version, word, _places(plan, state), diffs=tuple(diffs), answers=answers)


@lru_cache(maxsize=256)  # many releases have the same text of a file
def _diff(path: str, before: bytes, after: bytes, patchset: str) -> FileDiff:
    return diff_texts("", path, before, after, [patchset])


def state_of(plan: Plan) -> State:
    """The state of a plan that has no failed answer, as a whole."""
    states = [answer.state for answer in plan.answers]
    known = (State.APPLICABLE, State.APPLIED, State.UPSTREAM)
    return next((each for each in known if each in states), State.NOT_NEEDED)


def is_absent(answer: Answer) -> bool:
    """Whether an answer is about a whole package: it is not there, or not one that can be patched here."""
    return answer.state.failed and not answer.scope and "/" not in answer.path and not answer.path.endswith(".py")


def _places(plan: Plan, state: State) -> Tuple[Tuple[str, Tuple[int, ...]], ...]:
    lines: Dict[str, Set[int]] = {}
    for answer in plan.answers:
        if answer.state is state and answer.places:
            lines.setdefault(answer.path, set()).update(answer.places)
    return tuple((path, tuple(sorted(found))) for path, found in sorted(lines.items()))


def one_line(text: str) -> str:
    """The first line of a message."""
    return text.split("\n")[0]
