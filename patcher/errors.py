"""The exceptions of sitepatch: one base class that carries a hint, and the few kinds that callers handle differently."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, Sequence, Union

if TYPE_CHECKING:
    from patcher.model import Answer

_FILE = r"(?P<file>(?:(?!: )[^\n])*?\.(?:spatch|toml|py|txt|in|lock|json|patch|diff))"
_PLACE = _FILE + r"(?::(?P<line>\d+)(?::(?P<column>\d+))?)?: "


class SitepatchError(Exception):
    """Something that stops a command.

    Args:
        message: what was found and what was expected, in one or a few lines.
        hint: what the user can do next; empty where there is nothing to do.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def place(self) -> Dict[str, Union[str, int]]:
        """`file`, and `line` and `column` (from 1) where they are known, of what is wrong first; {} where it is no file."""
        found = re.match(_PLACE, self.message)
        named = found.groupdict() if found else {}
        return {key: value if key == "file" else int(value) for key, value in named.items() if value}

    @property
    def brief(self) -> str:
        """The message in one line, beside those of others."""
        first, *more = self.message.split("\n")
        return first + (f" (and {len(more)} more lines)" if more else "")


class UsageError(SitepatchError):
    """The command was given something it cannot take: an unknown name, option or value."""


class PatchError(SitepatchError):
    """A `.spatch` or `patchset.toml` that is wrong in itself, whatever it would be applied to.

    The message begins with `FILE:LINE:` and, for a `.spatch`, ends with the line and a marker under the place. `line` and
    `column` are that place (from 1) where the message is about one, else 0.
    """

    def __init__(self, message: str, hint: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message, hint)
        self.line, self.column = line, column

    @property
    def place(self) -> Dict[str, Union[str, int]]:
        """That of any error, with the column."""
        return {**super().place, **({"column": self.column} if self.column else {})}


class AbsentError(SitepatchError):
    """A package is not installed, or in no release that a patchset is for: no fault where that package is optional."""


class LockError(SitepatchError):
    """Something differs from the lock of a project; `answers` are those of the hunks that do not fit."""

    def __init__(self, message: str, hint: str, answers: Sequence[Answer]) -> None:
        super().__init__(message, hint)
        self.answers = answers


class StoreError(SitepatchError):
    """The store cannot go on: no permission, no space, a lock not got in time, a damaged receipt."""


class FormatError(StoreError):
    """A file of the store is in a format that this release does not know: another release of sitepatch wrote it."""


class BusyError(StoreError):
    """Another process is changing the site directory, and did not end in time."""


class OutdatedError(StoreError):
    """A plan no longer fits: somebody changed a file since it was made. Nothing was written; plan again.

    `recovered` is a sentence about an interrupted run that was finished or undone first, "" for none.
    """

    recovered = ""


class NotFoundCommandError(SitepatchError):
    """There is no such command to run."""


class NotExecutableError(SitepatchError):
    """There is such a file, and it cannot be run."""
