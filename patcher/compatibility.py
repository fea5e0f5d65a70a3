"""What patchsets do to releases: frozen data, and what follows from it."""

from __future__ import annotations

from typing import Iterable, Iterator

from patcher.message import Message
from patcher.model import Answer, Patchset, Plan, State
from patcher.record import Record, reported
from patcher.text.diffs import FileDiff

APPLICABLE, OUT_OF_RANGE = State.APPLICABLE.value, Message("out of range")
NO_RELEASE, NO_WHEEL, NOT_FETCHED = (
    Message("no release"),
    Message("no wheel"),
    Message("not fetched"),
)
HOLDS = (APPLICABLE, State.APPLIED.value, State.UPSTREAM.value)
"""The states of a release that a range may have."""
GOOD = (*HOLDS, State.NOT_NEEDED.value, OUT_OF_RANGE)
"""The states of a release that are no failure."""


class PatchOutcome(Record):
    """What a patch of a patchset is, or would be, in a release.

    Attributes:
        name: the name of its `.spatch`, without the suffix.
        state: its state.
        problem: why it does not fit, "" where it does.
        other: the patch before it that changes the same code, "" for none.
        answers: the hunks that do not fit, explained.
    """

    name: str
    state: str
    problem: str = ""
    other: str = ""
    answers: tuple[Answer, ...] = ()


class ReleaseName(Record):
    """A release.

    Attributes:
        distribution: the name of the distribution.
        version: the version; what was asked for where there is no such release.
        yanked: whether the index says that it was yanked.
    """

    distribution: str
    version: str
    yanked: bool = False


class ReleaseChanges(Record):
    """What a patchset changes in a release, compared with what it changes in the home release.

    Attributes:
        diffs: what it changes.
        unlike: those of the diffs that read otherwise than in the home release.
        proven: whether the code or a case says that the patchset is right there.
        beyond: the release that has the change itself, where that lies between this one and those
            that the patchset is for; "" for none.
    """

    diffs: tuple[FileDiff, ...] = ()
    unlike: tuple[FileDiff, ...] = ()
    proven: bool = False
    beyond: str = ""


class ChangedLines(Record):
    """The lines of a file that change.

    Attributes:
        path: the file.
        lines: the numbers of the lines before the change, from 1.
    """

    path: str
    lines: tuple[int, ...]


@reported("*release state ok problem hint places patches *changes")
class ReleaseOutcome(Record):
    """What a patchset does to one release.

    Attributes:
        release: the release.
        state: the state of a hunk, or `out of range`, `no release`, `no wheel`, `not fetched`.
        problem: why it does not fit, in one line; "" where it does.
        hint: what to do about it.
        answers: the answer for each hunk; none where the release was not looked at.
        patches: what each patch is, or would be in a release that the patchset is not for.
        changes: what changes.
    """

    release: ReleaseName
    state: str
    problem: str = ""
    hint: str = ""
    answers: tuple[Answer, ...] = ()
    patches: tuple[PatchOutcome, ...] = ()
    changes: ReleaseChanges = ReleaseChanges()

    @property
    def distribution(self) -> str:
        """The name of the distribution."""
        return self.release.distribution

    @property
    def version(self) -> str:
        """The version."""
        return self.release.version

    @property
    def ok(self) -> bool:
        """Whether the release is no failure."""
        return self.state in GOOD

    @property
    def fits(self) -> bool:
        """Whether the range of the patchset may have this release."""
        return self.state in HOLDS and not self.changes.beyond

    @property
    def places(self) -> tuple[ChangedLines, ...]:
        """The lines that it changes; with `upstream` those that are so already."""
        if not self.ok:
            return ()
        lines: dict[str, set[int]] = {}
        for answer in self.answers:
            if answer.state.value == self.state and answer.places:
                lines.setdefault(answer.path, set()).update(answer.places)
        places = []
        for path, numbers in sorted(lines.items()):
            places.append(ChangedLines(path, tuple(sorted(numbers))))
        return tuple(places)


@reported("name version releases upstream_since")
class Checked(Record):
    """A patchset on releases.

    Attributes:
        patchset: the patchset.
        releases: what it does to each, oldest first, one distribution after the other.
    """

    patchset: Patchset
    releases: tuple[ReleaseOutcome, ...]

    @property
    def name(self) -> str:
        """The name of the patchset."""
        return self.patchset.name

    @property
    def version(self) -> str:
        """The version of the patchset."""
        return self.patchset.version

    @property
    def has_several_patches(self) -> bool:
        """Whether there are several patches for one of the releases."""
        return any(len(release.patches) > 1 for release in self.releases)

    @property
    def upstream_since(self) -> dict[str, str]:
        """By name of what can go: the first release from which on all have the change.

        That is a patch of the patchset; where there is one patch, the patchset.
        """
        since: dict[str, str] = {}
        for release in self.releases:
            if not (release.answers or release.patches):
                continue
            for name, state in self._states(release):
                if state != State.UPSTREAM.value:
                    since.pop(name, None)
                else:
                    since.setdefault(name, f"{release.distribution} {release.version}")
        return since

    def _states(self, release: ReleaseOutcome) -> Iterator[tuple[str, str]]:
        """The patches with their states, else the patchset with its own."""
        if self.has_several_patches and release.patches:
            for patch in release.patches:
                yield patch.name, patch.state
        else:
            yield self.name, release.state


def overall(states: Iterable[State]) -> State:
    """What hunks are as a whole: the first of these states that one of them has."""
    order = (
        State.CONFLICT,
        State.AMBIGUOUS,
        State.NOT_FOUND,
        State.APPLICABLE,
        State.APPLIED,
        State.UPSTREAM,
        State.NOT_NEEDED,
    )
    return min(states, key=order.index, default=State.NOT_NEEDED)


def state_of(plan: Plan) -> State:
    """The state of a plan as a whole."""
    return overall(answer.state for answer in plan.answers)
