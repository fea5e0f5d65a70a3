"""What becomes of patchsets on releases, and what a plan says as a whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Collection, Iterable, NamedTuple, Sequence

from patcher.installed.versions import accepts, is_version, oldest_first
from patcher.message import Message
from patcher.model import Answer, Patchset, Plan, State
from patcher.text.diffs import FileDiff

if TYPE_CHECKING:
    from patcher.verbs.explanations import HunkExplanation

ALL, NEWEST = "all", "newest"
"""What `--against` and `--to` take beside versions and ranges."""
APPLICABLE, OUT_OF_RANGE = State.APPLICABLE.value, Message("out of range")
NO_RELEASE, NO_WHEEL, NOT_FETCHED = (
    Message("no release"),
    Message("no wheel"),
    Message("not fetched"),
)
HOLDS = (APPLICABLE, State.APPLIED.value, State.UPSTREAM.value)
_GOOD = (*HOLDS, State.NOT_NEEDED.value, OUT_OF_RANGE)


class PatchState(NamedTuple):
    """What a patch of a patchset is in a release; `word` is that of a `ReleaseOutcome`.

    `problem` is why it does not fit, with `other` the patch that changes the same code; `hunks` explain those that do not fit.
    """

    name: str
    word: str
    problem: str = ""
    other: str = ""
    hunks: tuple[HunkExplanation, ...] = ()


class ReleaseOutcome(NamedTuple):
    """What a patchset would do to one release.

    `word` is `applies`, `out of range`, `no release`, `no wheel`, `not fetched` or the value of a State. `places` are
    the files that it changes (with `upstream`: that are so already) and their lines before the change. `problem` is one
    line. `answers` are those about each hunk, none where the release was not looked at; `patches` what each patch is,
    or would be in a release that the patchset is not for. `unlike` are the diffs of what reads otherwise than in the
    home release; `proven` is whether the code or a case says that the patchset is right there. `beyond` is the release
    that has the change itself, where that lies between this one and those that the patchset is for.
    """

    distribution: str
    version: str
    word: str
    places: tuple[tuple[str, tuple[int, ...]], ...] = ()
    problem: str = ""
    hint: str = ""
    yanked: bool = False
    diffs: tuple[FileDiff, ...] = ()
    answers: tuple[Answer, ...] = ()
    patches: tuple[PatchState, ...] = ()
    unlike: tuple[FileDiff, ...] = ()
    proven: bool = False
    beyond: str = ""

    @property
    def fits(self) -> bool:
        """Whether the range of the patchset may have this release."""
        return self.word in HOLDS and not self.beyond

    @property
    def failed(self) -> bool:
        """Whether this outcome makes the command end with exit code 1."""
        return self.word not in _GOOD


def compared(
    outcome: ReleaseOutcome, home: Iterable[FileDiff], sure: Collection[str] = ()
) -> ReleaseOutcome:
    """An outcome, compared with what the patchset makes of the home release.

    Args:
        outcome: that of another release.
        home: the diffs of the home release.
        sure: the files that a case has of this release, or that a diff makes the same there.
    """
    known = {diff.lines for diff in home}
    unlike = tuple(diff for diff in outcome.diffs if diff.lines not in known)
    return outcome._replace(
        unlike=unlike, proven=outcome.word in HOLDS and all(diff.path in sure for diff in unlike)
    )


def up_to_upstream(
    outcomes: Sequence[ReleaseOutcome], ranges: Iterable[str]
) -> list[ReleaseOutcome]:
    """The outcomes, of which those beyond the first release that has the change itself say so and are not proven.

    From there on upstream went its own way: that the code to change is found once more does not show that it is meant.

    Args:
        outcomes: of one patchset.
        ranges: the releases (PEP 440) that it is for: that is where to look from, upwards and downwards.
    """
    ranges = list(ranges)
    marked = list(outcomes)
    for distribution in dict.fromkeys(outcome.distribution for outcome in outcomes):
        known = {
            outcome.version: index
            for index, outcome in enumerate(outcomes)
            if outcome.distribution == distribution and is_version(outcome.version)
        }
        ordered = oldest_first(known)
        start = _first_inside([outcomes[known[version]] for version in ordered], ranges)
        for way in (ordered[start:], ordered[:start][::-1]):
            has = ""
            for version in way:
                outcome = outcomes[known[version]]
                if has and outcome.word in HOLDS:
                    marked[known[version]] = _beyond(outcome, has)
                elif outcome.word == State.UPSTREAM.value:
                    has = has or version
    return marked


def _first_inside(outcomes: Sequence[ReleaseOutcome], ranges: Sequence[str]) -> int:
    """Which of these releases, oldest first, the patchset is for; else the first after one that a range names."""
    for index, outcome in enumerate(outcomes):
        inside = any(accepts(versions, outcome.version) for versions in ranges)
        if inside and outcome.word != State.UPSTREAM.value:
            return index
    named = [
        version
        for versions in ranges
        for version in re.findall(r"(?<!!=)(?<=[<>=])\s*([^<>=!~,\s]+)", versions)
        if is_version(version)
    ]
    if not named:
        return 0
    first = oldest_first(named)[0]
    older = [each for each in outcomes if oldest_first([each.version, first])[0] != first]
    return len(older)


def _beyond(outcome: ReleaseOutcome, has: str) -> ReleaseOutcome:
    template = "{has} has the change itself: whether it is meant here is not known"
    problem = outcome.problem or Message(template, has=has)
    return outcome._replace(beyond=has, proven=False, problem=problem)


class Checked(NamedTuple):
    """A patchset and what became of it on each release, oldest first, one distribution after the other."""

    patchset: Patchset
    outcomes: tuple[ReleaseOutcome, ...]


def overall(states: Iterable[State]) -> State:
    """What hunks are as a whole: the first of these states that one of them has."""
    ranked = (
        State.CONFLICT,
        State.AMBIGUOUS,
        State.NOT_FOUND,
        State.APPLICABLE,
        State.APPLIED,
        State.UPSTREAM,
    )
    return min(states, key=(*ranked, State.NOT_NEEDED).index, default=State.NOT_NEEDED)


def state_of(plan: Plan) -> State:
    """The state of a plan as a whole."""
    return overall(answer.state for answer in plan.answers)


def is_absent(answer: Answer) -> bool:
    """Whether an answer is about a whole package: it is not there, or not one that can be patched here."""
    return (
        answer.state.failed
        and not answer.hunk.scope
        and "/" not in answer.path
        and not answer.path.endswith(".py")
    )
