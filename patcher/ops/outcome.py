"""What came of a verb, and what it reports while it is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, NamedTuple, Optional, Sequence, Tuple

if TYPE_CHECKING:
    from pathlib import Path

    from patcher.model import FilePlan, Plan, Requested
    from patcher.ops.place import Place
    from patcher.target.interpreter import Environment
    from patcher.verify.rollback import Verdict


class Effect(NamedTuple):
    """What `sync` does: `word` (applied, updated, restored, forgotten), the patchset, the directory, in how many files."""

    word: str
    patchset: str
    site: str
    files: int


class Outcome(NamedTuple):
    """What came of `apply`, `sync`, `restore` or an overlay.

    `plan` is what was to be done, `written` whether it was, and still is. `patchsets` are the names that were meant; once
    written, those that are applied in what changed. `requested` is what was asked for, `recovered` has a sentence for each
    interrupted run that came first, `fresh` says that nothing was patched there before, `verdict` what came of verifying
    (None where nothing was verified), `place` has every directory of patchsets.

    Of `sync` alone: `effects`, and `restored`, the names that were not asked for. Of `restore` alone: `idle` (names that are
    not applied), `damaged` (problem, what to do), `hooks` (those that will apply it again). Of an overlay alone: `overlay`,
    its folder, None where there is nothing to patch.
    """

    place: Place
    env: Environment
    plan: Plan
    patchsets: Tuple[str, ...]
    requested: Tuple[Requested, ...] = ()
    dry_run: bool = False
    recovered: Tuple[str, ...] = ()
    written: bool = False
    fresh: bool = False
    verdict: Optional[Verdict] = None
    effects: Tuple[Effect, ...] = ()
    restored: Tuple[str, ...] = ()
    idle: Tuple[str, ...] = ()
    damaged: Tuple[Tuple[str, str], ...] = ()
    hooks: Tuple[str, ...] = ()
    overlay: Optional[Path] = None

    @property
    def ok(self) -> bool:
        """Whether all is as it was asked for."""
        return not (self.plan.failed or self.damaged or (self.verdict and self.verdict.bad))

    @property
    def changed(self) -> List[FilePlan]:
        """The files of the plan of which something changes: the text, or what is recorded about it."""
        return [file for file in self.plan.files if file.change]


class Events:
    """Takes the progress of a verb. This one ignores all of it: override what is of use."""

    def started(self, env: Environment, requested: Sequence[Requested] = ()) -> None:
        """The environment is known, and the patchsets that are asked for."""

    def note(self, text: str, word: str = "note") -> None:
        """A remark; `word` is its kind: `note`, `recovered`, `kept`, `dropped`."""

    def progress(self, done: int, total: int) -> None:
        """So many of all files were looked at."""

    def planned(self, outcome: Outcome) -> None:
        """The plan is made, and nothing is written yet."""

    def reached(self, state: str) -> None:
        """What has become of the files so far, in one sentence: it holds for a run that is interrupted from now on."""


SILENT = Events()
