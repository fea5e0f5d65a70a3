"""Short forms of answers and of outcomes of releases, for tests."""

from patcher.compatibility import ReleaseChanges, ReleaseName, ReleaseOutcome
from patcher.installed.interpreter import Environment
from patcher.model import NO_HUNK, Answer, HunkAnswer, HunkFlags

ENV = Environment("python", ("/site",), ("/site",), (3, 11))


def answer(patchset, path, scope, state, places=(), problem="", hint="", *, when_present=False, gone=False):
    """The answer for a hunk of that scope, or, with "", for a whole file or package."""
    hunk = NO_HUNK._replace(scope=scope, flags=HunkFlags(when_present=when_present), lines=(("-", "x", 1),))
    return Answer(patchset, path, HunkAnswer(hunk, state, places, (), problem, hint, gone))


def release(distribution, version, state, *, yanked=False, diffs=(), **fields):
    """The outcome for a release."""
    return ReleaseOutcome(ReleaseName(distribution, version, yanked), state, changes=ReleaseChanges(tuple(diffs)), **fields)
