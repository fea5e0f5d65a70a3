"""What differs: as values, and on the console, where changed words are marked."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

from patcher.display.console import Console
from patcher.display.styles import style, titled
from patcher.display.view import Piece, View
from patcher.message import Message
from patcher.record import Record, reported
from patcher.text.terminal import Styled, join_styled

if TYPE_CHECKING:
    from patcher.facts import FileStatus
    from patcher.installed.interpreter import Environment
    from patcher.model import Answer, OptionValue, Patchset, Requested
    from patcher.text.diffs import FileDiff

_KINDS: dict[str, dict[str, Any]] = {
    "keyword": {"fg": "magenta"},
    "string": {"fg": "cyan"},
    "number": {"fg": "cyan"},
    "comment": {"dim": True},
    "decorator": {"fg": "yellow"},
    "defined": {"bold": True},
}
_CHANGED: dict[str, dict[str, Any]] = {
    "keyword": {"bold": True},
    "defined": {"bold": True},
    "comment": {"dim": True},
}
_TAGS = {"-": "red", "+": "green", "\\": "yellow"}


class HandEditDiff(Record):
    """A file that somebody edited.

    Attributes:
        site: the site directory.
        path: the path below it.
        release: its distribution with the version.
        compared: what the original text is.
        proven: whether RECORD's sha256 is that of the original text.
        diff: the edit, null where nothing here gives the original text.
    """

    site: str
    path: str
    release: str
    compared: str = ""
    proven: bool = True
    diff: FileDiff | None = None

    @property
    def about(self) -> str:
        """What the edited text was compared with."""
        doubt = "" if self.proven else Message(", which nothing proves to be what was installed")
        return Message(
            "edited by hand, compared with {compared}{doubt}", compared=self.compared, doubt=doubt
        )


@reported("applied planned edits answers notes")
class DiffOutcome(Record):
    """What differs.

    Attributes:
        env: the environment.
        applied: what is changed by patchsets.
        planned: what would be changed by those that are not applied.
        edits: what was edited by hand.
        items: the files that are patched by the patchsets that are meant.
        requested: what would be applied.
        answers: the answer for each of its hunks.
        notes: remarks, runs that have not ended among them.
    """

    env: Environment
    applied: tuple[FileDiff, ...] = ()
    planned: tuple[FileDiff, ...] = ()
    edits: tuple[HandEditDiff, ...] = ()
    items: tuple[FileStatus, ...] = ()
    requested: tuple[Requested, ...] = ()
    answers: tuple[Answer, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether a patchset that was named does not fit."""
        return any(answer.state.failed for answer in self.answers)

    @property
    def differs(self) -> bool:
        """Whether anything does."""
        return bool(self.applied or self.planned or self.edits)


class Reason(Record):
    """A patchset that makes a difference.

    Attributes:
        patchset: the patchset.
        options: its options.
        applied: whether it is applied.
        checked: the table of releases in its folder, "" for none.
    """

    patchset: Patchset
    options: Mapping[str, OptionValue]
    applied: bool
    checked: str = ""


def show_diffs(console: Console, diffs: Sequence[FileDiff]) -> None:
    """Write diffs: as `git apply` takes them where stdout is piped; not with --quiet."""
    if not console.quiet:
        show_parts(console, [("", diffs)])


def show_parts(
    console: Console, parts: Sequence[tuple[str, Sequence[FileDiff]]], *, pager: bool = False
) -> None:
    """Write several groups of diffs, each below a heading that a reader sees, "" for none.

    As `git apply` takes them where stdout is piped.
    """
    all_diffs = [diff for _, diffs in parts for diff in diffs]
    if console.as_json or not all_diffs:
        return
    if console.plain:
        console.raw(b"".join(diff.text for diff in all_diffs))
        return
    lines: list[str] = []
    for heading, diffs in parts:
        lines += [titled(heading)] if heading and diffs else []
        for diff in diffs:
            lines += highlighted_diff(diff)
    console.page(lines, pager=pager)


def highlighted_diff(diff: FileDiff) -> Iterator[Styled]:
    """The lines of a diff for a reader."""
    before = f"a/{diff.path}" if diff.sha256_before else "/dev/null"
    yield from (style(f"--- {before}", bold=True), style(f"+++ b/{diff.path}", bold=True))
    for hunk in View(diff).hunks:
        yield style(f"{hunk.range} {hunk.scope}".rstrip(), fg="cyan")
        for line in hunk.lines:
            color = _TAGS.get(line.tag)
            runs = groupby(line.pieces, lambda piece: _look(color, piece))  # noqa: B023 - it is used up at once
            parts = [style("".join(piece.text for piece in run), **look) for look, run in runs]
            yield join_styled(style(line.tag, fg=color), *parts)


def _look(color: str | None, piece: Piece) -> dict[str, Any]:
    """The colour of a deleted or inserted line; of an unchanged one that of each piece."""
    if color is None:
        return _KINDS.get(piece.kind, {})
    return {
        **_CHANGED.get(piece.kind, {}),
        "fg": color,
        **({"reverse": True} if piece.changed else {}),
    }
