"""Releases compared with the home release, and with those that have the change themselves."""

from __future__ import annotations

import re
from typing import Collection, Iterable, Sequence

from patcher.compatibility import HOLDS, ReleaseOutcome
from patcher.installed.versions import accepts, is_version, oldest_first
from patcher.message import Message
from patcher.model import State
from patcher.text.diffs import FileDiff


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
    unlike = tuple(diff for diff in outcome.changes.diffs if diff.lines not in known)
    is_sure = all(diff.path in sure for diff in unlike)
    proven = outcome.state in HOLDS and is_sure
    return outcome._replace(changes=outcome.changes._replace(unlike=unlike, proven=proven))


def up_to_upstream(
    outcomes: Sequence[ReleaseOutcome], ranges: Iterable[str]
) -> list[ReleaseOutcome]:
    """The outcomes, of which those beyond the first release that is upstream say so.

    They are not proven. From there on upstream went its own way: that the code to change is found
    once more does not show that it is meant.

    Args:
        outcomes: of one patchset.
        ranges: the releases (PEP 440) that it is for: the place to look from, upwards and
            downwards.
    """
    ranges = list(ranges)
    marked = list(outcomes)
    for distribution in dict.fromkeys(outcome.distribution for outcome in outcomes):
        index_of: dict[str, int] = {}
        for index, outcome in enumerate(outcomes):
            if outcome.distribution == distribution and is_version(outcome.version):
                index_of[outcome.version] = index
        versions = oldest_first(index_of)
        in_order = [outcomes[index_of[version]] for version in versions]
        start = _first_inside(in_order, ranges)
        for way in (versions[start:], versions[:start][::-1]):
            upstream = ""
            for version in way:
                index = index_of[version]
                if upstream and outcomes[index].state in HOLDS:
                    marked[index] = _beyond(outcomes[index], upstream)
                elif outcomes[index].state == State.UPSTREAM.value:
                    upstream = upstream or version
    return marked


def _first_inside(outcomes: Sequence[ReleaseOutcome], ranges: Sequence[str]) -> int:
    """The index of the first release, oldest first, that the patchset is for.

    Where there is none, of the first one after a version that a range names.
    """
    for index, outcome in enumerate(outcomes):
        if outcome.state == State.UPSTREAM.value:
            continue
        if any(accepts(versions, outcome.version) for versions in ranges):
            return index
    named: list[str] = []
    for versions in ranges:
        words = re.findall(r"(?<!!=)(?<=[<>=])\s*([^<>=!~,\s]+)", versions)
        named += filter(is_version, words)
    if not named:
        return 0
    first = oldest_first(named)[0]
    number = 0
    for outcome in outcomes:
        if oldest_first([outcome.version, first])[0] != first:
            number += 1
    return number


def _beyond(outcome: ReleaseOutcome, upstream: str) -> ReleaseOutcome:
    template = "{has} has the change itself: whether it is meant here is not known"
    problem = outcome.problem or Message(template, has=upstream)
    changes = outcome.changes._replace(beyond=upstream, proven=False)
    return outcome._replace(changes=changes, problem=problem)
