"""What a verb takes and gives: the place where it works, events, an outcome."""

from __future__ import annotations

import os
from shlex import quote
from typing import TYPE_CHECKING, Mapping, NamedTuple, Sequence

from patcher.installed.interpreter import Environment, discover
from patcher.text.listed import AnyPath, Texts, one_or_more

if TYPE_CHECKING:
    from pathlib import Path

    from patcher.model import Answer, FilePlan, Plan, Requested
    from patcher.verify import Verified


class _Place(NamedTuple):
    python: str | None
    target: str | None
    patch_dirs: tuple[str, ...]
    system: bool


class Place(_Place):
    """Which environment is meant, and further directories of patchsets, which are searched first.

    `python` is an interpreter or a virtual environment, `target` a directory of packages (as of
    `pip install --target`); without both it is the active virtual environment, else that of the
    running interpreter. With `system` also what a virtual environment shares with others is meant.
    Paths may be texts or `Path`s.
    """

    __slots__ = ()

    def __new__(
        cls,
        python: AnyPath | None = None,
        target: AnyPath | None = None,
        patch_dirs: Texts = (),
        system: bool = False,
    ) -> Place:
        """The place, its paths as texts."""
        return super().__new__(
            cls,
            python=None if python is None else os.fspath(python),
            target=None if target is None else os.fspath(target),
            patch_dirs=one_or_more(patch_dirs),
            system=system,
        )

    @property
    def options(self) -> tuple[str, str]:
        """The options of a command line that mean this: the environment, the directories.

        Each has a blank before it.
        """
        env = dirs = ""
        if self.python:
            env += f" --python {quote(self.python)}"
        if self.target:
            env += f" --target {quote(self.target)}"
        if self.system:
            env += " --system"
        for folder in self.patch_dirs:
            dirs += f" --patch-dir {quote(folder)}"
        return env, dirs

    def environment(self) -> Environment:
        """The environment that is meant (see `patcher.installed.interpreter.discover`).

        With `system` all of it is its own.

        Raises:
            UsageError: there is no such directory, or it is no interpreter that answers.
        """
        env = discover(self.python, self.target)
        return env._replace(outer=()) if self.system else env


class Effect(NamedTuple):
    """What `sync` does with a patchset in a directory, in how many files.

    `word` is applied, updated, restored or forgotten.
    """

    word: str
    patchset: str
    site: str
    files: int


class Outcome(NamedTuple):
    """The outcome of `apply`, `sync`, `restore` or an overlay.

    `plan` is what was to be done, `written` whether it was. `patchsets` are the names that were
    meant; once written, those that are applied in what changed. `requested` are those patchsets
    with their options, `recovered` has a sentence for each interrupted run that was recovered
    first, `fresh` says that nothing was patched there before, `verified` is what came of verifying
    (None where nothing was verified), `place` has every directory of patchsets.

    Of `sync` alone: `effects`, and `restored`, the names that were not requested. Of `restore`
    alone: `idle` (names that are not applied), `damaged` (problem, what to do). Of `restore` and
    `apply`: `hooks` (those that will undo it). Of an overlay alone: `overlay`, its folder, None
    where there is nothing to patch.
    """

    place: Place
    env: Environment
    plan: Plan
    patchsets: tuple[str, ...]
    requested: tuple[Requested, ...] = ()
    dry_run: bool = False
    recovered: tuple[str, ...] = ()
    written: bool = False
    fresh: bool = False
    verified: Verified | None = None
    effects: tuple[Effect, ...] = ()
    restored: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    damaged: tuple[tuple[str, str], ...] = ()
    hooks: tuple[str, ...] = ()
    overlay: Path | None = None

    @property
    def ok(self) -> bool:
        """Whether all is as requested."""
        return not (self.plan.failed or self.damaged or (self.verified and self.verified.failed))

    @property
    def changed(self) -> list[FilePlan]:
        """The files of the plan that change: their text, or what is recorded about them."""
        return [file for file in self.plan.files if file.change]


class Events:
    """Takes the progress of a verb. This one ignores all of it: override what is of use."""

    def started(self, env: Environment, requested: Sequence[Requested] = ()) -> None:
        """The environment is known, and the patchsets that are requested."""

    def note(self, text: str, word: str = "note") -> None:
        """A remark; `word` is its kind: `note`, `recovered`, `kept`, `dropped`."""

    def progress(self, done: int, total: int, work: str) -> None:
        """So much of all (0: nobody knows) is done (see `patcher.model.Progress`)."""

    def fetching(self, releases: Mapping[str, int]) -> bool:
        """Whether releases, so many of each distribution, are to be fetched."""
        return True

    def unfit(self, answers: Sequence[Answer]) -> None:
        """Hunks that do not fit, in a plan with another problem, which is raised next."""

    def planned(self, outcome: Outcome) -> None:
        """The plan is made, and nothing is written yet."""

    def reached(self, state: str) -> None:
        """What has become of the files so far, in one sentence, should the run be interrupted."""


SILENT = Events()
HERE = Place()
"""The environment of this process."""
