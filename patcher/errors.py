"""The exceptions of sitepatch: a base class with a hint, and the kinds that callers tell apart."""

from __future__ import annotations

from typing import Any, Sequence, TypeVar

from patcher.message import Message, joined, one_line
from patcher.record import Record

_Error = TypeVar("_Error", bound="SitepatchError")


class Location(Record):
    """A place in a file: its path, and the line and the column (from 1), 0 if there is none."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """As a message begins with it: `FILE:LINE:COLUMN`, without what is 0."""
        parts = [part for part in self if part]
        return ":".join(map(str, parts))


class SitepatchError(Exception):
    """Something that stops a command.

    Args:
        message: what was found and what was expected, in one or a few lines; a message, or the
            template of one.
        hint: what the user can do next; empty where there is nothing to do.
        location: where in a file that is, of several problems the first.
        fields: the fields of both templates.

    `problem` is the message without the location and the line that is shown; of several problems
    that of the first.
    """

    def __init__(
        self, message: str, hint: str = "", /, location: Location | None = None, **fields: Any
    ) -> None:
        self.message = self.problem = Message.of(message, fields)
        super().__init__(self.message)
        self.hint = Message.of(hint, fields)
        self.location = location

    @classmethod
    def at(
        cls: type[_Error],
        location: Location,
        problem: str,
        hint: str = "",
        shown: str = "",
        /,
        **fields: Any,
    ) -> _Error:
        """The error about a problem at a place: the message is `FILE:LINE:COLUMN: PROBLEM`.

        The line `shown` goes below it; there a marker stands for the column.
        """
        problem = Message.of(problem, fields)
        where = Location(location.file, location.line) if shown else location
        message = Message("{where}: {problem}", where=str(where), problem=problem)
        if shown:
            message = joined("\n", [message, shown])
        error = cls(message, Message.of(hint, fields), location)
        error.problem = problem
        return error

    @classmethod
    def joined(cls: type[_Error], errors: Sequence[SitepatchError], hint: str = "") -> _Error:
        """Several problems as one error, at the place of the first."""
        first = errors[0]
        message = joined("\n", [error.message for error in errors])
        joint = cls(message, hint, first.location)
        joint.problem = first.problem
        return joint

    @property
    def place(self) -> dict[str, str | int]:
        """The location as JSON: `file`, `line` and `column` as far as they are known."""
        if self.location is None:
            return {}
        return {key: value for key, value in self.location._asdict().items() if value}

    @property
    def brief(self) -> str:
        """The message in one line, beside those of others."""
        more = self.message.count("\n")
        if not more:
            return self.message
        return Message("{first} (and {more} more)", first=one_line(self.message), more=more)


class UsageError(SitepatchError):
    """The command was given something it cannot take: an unknown name, option or value."""


class PatchError(SitepatchError):
    """A `.spatch` or `patchset.toml` that is wrong in itself, whatever it would be applied to.

    For a `.spatch` the message ends with the line and a marker under the place.
    """


class AbsentError(SitepatchError):
    """A package is not installed, or in no release that a patchset is for.

    That is no fault if the package is optional.
    """


class StoreError(SitepatchError):
    """The store cannot go on: no permission, no space, a lock that is taken, a damaged receipt."""


class FormatError(StoreError):
    """A file of the store is in a format that only another release of sitepatch knows."""


class BusyError(StoreError):
    """Another process is changing the site directory, and did not end in time."""


class OutdatedError(StoreError):
    """A plan no longer fits: a file was changed since it was made. Nothing was written."""


class NotFoundCommandError(SitepatchError):
    """There is no such command to run."""


class NotExecutableError(SitepatchError):
    """There is such a file, and it cannot be run."""


def raise_all(errors: Sequence[SitepatchError]) -> None:
    """Raise several errors as one, of the kind of the first `UsageError` or `PatchError`.

    Nothing is raised if there are none.
    """
    if len(errors) == 1:
        raise errors[0]
    if errors:
        hints = dict.fromkeys(error.hint for error in errors)
        worst = [error for error in errors if isinstance(error, (UsageError, PatchError))]
        kind = type(worst[0] if worst else errors[0])
        raise kind.joined(errors, joined("\n", hints))
