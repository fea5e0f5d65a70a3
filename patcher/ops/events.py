"""What a verb reports while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Mapping, Sequence

if TYPE_CHECKING:
    from patcher.model import Answer, Requested
    from patcher.ops.outcome import Outcome
    from patcher.target.interpreter import Environment


class Events:
    """Takes the progress of a verb. This one ignores all of it: override what is of use."""

    def started(self, env: Environment, requested: Sequence[Requested] = ()) -> None:
        """The environment is known, and the patchsets that are requested."""

    def note(self, text: str, word: str = "note") -> None:
        """A remark; `word` is its kind: `note`, `recovered`, `kept`, `dropped`."""

    def progress(self, done: int, total: int, what: str) -> None:
        """So much of all (0: nobody knows) is done (see `patcher.model.Progress`)."""

    def fetching(self, releases: Mapping[str, int]) -> bool:
        """Releases are about to be fetched, so many of each distribution; returns whether they are to be."""
        return True

    def unfit(self, answers: Sequence[Answer]) -> None:
        """Hunks that do not fit, in a plan that something else is wrong with: that is raised next."""

    def planned(self, outcome: Outcome) -> None:
        """The plan is made, and nothing is written yet."""

    def reached(self, state: str) -> None:
        """What has become of the files so far, in one sentence: it holds for a run that is interrupted from now on."""


SILENT = Events()
