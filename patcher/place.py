"""What a verb takes: the place where it works, and events that report its progress."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Mapping, Sequence

from patcher.installed.interpreter import Environment, active, discover
from patcher.record import Record
from patcher.text.listed import AnyPath, Texts, one_or_more

if TYPE_CHECKING:
    from patcher.model import Answer, Requested
    from patcher.outcomes import PlanOutcome


class _Place(Record):
    python: str | None
    target: str | None
    patch_dirs: tuple[str, ...]
    system: bool


class Place(_Place):
    """Which environment is meant, and more directories of patchsets, which are searched first.

    `python` is an interpreter or a virtual environment, `target` a directory of packages (as of
    `pip install --target`); without both it is the active virtual environment, else that of the
    running interpreter. With `system` the packages that a virtual environment shares with others
    are meant, too. Paths may be texts or `Path`s.
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
        python_text = None if python is None else os.fspath(python)
        target_text = None if target is None else os.fspath(target)
        folders = one_or_more(patch_dirs)
        return super().__new__(cls, python_text, target_text, patch_dirs=folders, system=system)

    @property
    def options(self) -> tuple[str, str]:
        """The options of a command line: those for the environment, and those for the directories.

        There is a blank before each option.
        """
        env = ""
        for option, path in (("--python", self.python), ("--target", self.target)):
            if path:
                env += f" {option} {quote(path)}"
        if self.system:
            env += " --system"
        folders = ""
        for folder in self.patch_dirs:
            folders += f" --patch-dir {quote(folder)}"
        return env, folders

    def environment(self) -> Environment:
        """The environment (see `patcher.installed.interpreter.discover`).

        With `system` it has no shared directories: all of them are its own.

        Raises:
            UsageError: there is no such directory, or `python` does not run as an interpreter.
        """
        env = discover(self.python, self.target)
        return env._replace(outer=()) if self.system else env

    def overlooked_venv(self) -> str:
        """The virtual environment of the current directory, if sitepatch works in its own instead.

        "" where there is none, or the environment was chosen.
        """
        chosen = self.python or self.target or active()
        for name in () if chosen else (".venv", "venv"):
            if Path(name, "pyvenv.cfg").is_file() and not Path(name).samefile(sys.prefix):
                return name
        return ""


class Events:
    """Takes the progress of a verb. This one ignores all of it: override what is of use."""

    def started(self, env: Environment, requested: Sequence[Requested] = ()) -> None:
        """The environment and the requested patchsets are known."""

    def note(self, text: str, word: str = "note") -> None:
        """A remark; `word` is its kind: `note`, `recovered`, `kept`, `dropped`."""

    def progress(self, done: int, total: int, work: str) -> None:
        """`done` of `total` (0 if unknown) is done of `work` (see `patcher.model.Progress`)."""

    def fetching(self, releases: Mapping[str, int]) -> bool:
        """Releases are about to be fetched; `releases` is their number by distribution.

        Returns:
            whether to fetch them.
        """
        return True

    def unfit(self, answers: Sequence[Answer]) -> None:
        """Hunks that do not fit, in a plan with another fault, which is raised next."""

    def planned(self, outcome: PlanOutcome) -> None:
        """The plan is made, and nothing is written yet."""

    def reached(self, state: str) -> None:
        """What has become of the files so far, in one sentence.

        It still holds if the run is interrupted before the next call.
        """


SILENT = Events()
HERE = Place()
"""The environment of this process."""
