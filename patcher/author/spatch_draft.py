"""The draft of a `.spatch`, which is made of an edit.

It has hunks as text, each with the reason for its form, and the parts of the edit in no hunk.
"""

from __future__ import annotations

import re
from typing import Sequence

from patcher.message import Message
from patcher.model import SOURCE
from patcher.record import Record, reported
from patcher.text.lines import line_edits

_OPEN = "-...\n"


def package_of(path: str) -> str:
    """The import package of a file, by its path in the site directory."""
    first, *more = path.split("/")
    return first if more else first[: -len(".py")]


class FileEdit(Record):
    """One installed file before and after an edit.

    `path` is relative to the site directory, `/`-separated.
    """

    path: str
    before: bytes
    after: bytes


class Rejected(Record):
    """A hunk that was tried and not taken.

    Attributes:
        text: the hunk.
        why: why it was not taken.
    """

    text: str
    why: str


_OPENING = re.compile(r"\A@@ .*")
_WHEN_PRESENT = " when-present"
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py|conftest\.py")
_TEST_FOLDERS = frozenset(["test", "tests"])


class DraftHunk(Record):
    """One hunk of a draft.

    Attributes:
        text: from its `@@ SCOPE @@` line on, ending in a line break.
        line: the line of the edited file (1-based) at which its new code begins.
        form: how it is written, in a few words for the user.
        rejected: the hunks that were tried instead.
        moved: other files in which releases have this code, but not that of all other hunks.
    """

    text: str
    line: int
    form: str
    rejected: tuple[Rejected, ...] = ()
    moved: tuple[str, ...] = ()


@reported("path line text why")
class LeftOut(Record):
    """A part of an edit that is in no hunk.

    Attributes:
        path: the file.
        line: its first line in the edited file, from 1; 0 for all of a file.
        text: its lines as a diff.
        why: why it is in no hunk.
        code: whether the rest may need it: not a comment, nor a test that no package has.
    """

    path: str
    line: int
    text: str
    why: str
    code: bool = True

    @property
    def name(self) -> str:
        """How it is named to the user: `PATH:LINE`, or the path for all of a file."""
        return f"{self.path}:{self.line}" if self.line else self.path


class DraftFile(Record):
    """The hunks for one file.

    Attributes:
        paths: alternative places of it, as in `FilePatch`.
        hunks: its hunks.
        left_out: the parts of the edit that are in no hunk.
        difference: how the layout of what the hunks make differs from the edited file, "" where it
            does not.
    """

    paths: tuple[str, ...]
    hunks: tuple[DraftHunk, ...]
    left_out: tuple[LeftOut, ...] = ()
    difference: str = ""

    @property
    def adds(self) -> bool:
        """Whether the file is added."""
        return bool(self.hunks) and self.hunks[0].text.startswith("+")

    @property
    def text(self) -> str:
        """The hunks as they are written, below the lines that name their file."""
        if self.adds:
            path = self.paths[0]
            return added_section(path, self.hunks[0].text, when_present=not path.endswith(SOURCE))
        parts: list[str] = []
        for paths, hunks in self.sections:
            header = "".join(f"--- {path}\n" for path in paths)
            parts.append(header + "\n".join(hunk.text for hunk in hunks))
        return "\n".join(parts)

    @property
    def hunks_text(self) -> str:
        """The hunks as they are written, for a section that is there: of all places alike."""
        return "\n".join(hunk.text for hunk in self.hunks)

    @property
    def has_moves(self) -> bool:
        """Whether some hunks have places of their own."""
        return any(hunk.moved for hunk in self.hunks)

    @property
    def sections(self) -> list[tuple[tuple[str, ...], list[DraftHunk]]]:
        """The hunks that follow one another and have the same places, each with these."""
        sections: list[tuple[tuple[str, ...], list[DraftHunk]]] = []
        for hunk in self.hunks:
            paths = tuple(dict.fromkeys((*self.paths, *hunk.moved)))
            if not sections or sections[-1][0] != paths:
                sections.append((paths, []))
            sections[-1][1].append(hunk)
        return sections


def added_section(path: str, lines: str, *, when_present: bool) -> str:
    """The section of a `.spatch` that adds a file, with the `+` lines of its hunk."""
    return f"+++ {path}{_WHEN_PRESENT if when_present else ''}\n{lines}"


def added_file(path: str, text: bytes) -> DraftFile:
    """A file that is added; it is left out where its bytes cannot be written as lines."""
    is_open = text[-1:] not in (b"", b"\n")
    if is_open:
        text += b"\n"
    *lines, end = text.decode("utf-8", "replace").split("\n")
    if end or not lines or "\r" in text.decode("latin-1") or "\ufffd" in "".join(lines):
        why = Message("a file is added as lines of UTF-8 that end in LF, one at least")
        return DraftFile((path,), (), left_out=(LeftOut(path, 0, text="", why=why),))

    hunk_text = "".join(f"+{line}\n" for line in lines)
    hunk = DraftHunk(hunk_text, 1, form=Message("a file that is added"))
    difference = Message("its last line ends in LF") if is_open else ""
    return DraftFile((path,), (hunk,), difference=difference)


def deleted_file(path: str, text: bytes, others: Sequence[bytes] = ()) -> DraftFile:
    """A file that is deleted.

    Lines that others of its releases have otherwise, and those that cannot be written, are left
    open.
    """
    lines = text.rstrip().splitlines()
    left_open = {at for at, line in enumerate(lines) if not _is_writable(line)}
    gaps: set[int] = set()  # the lines above which another release has more
    for other in others:
        for start, end, _, _ in line_edits(lines, other.rstrip().splitlines()):
            left_open.update(range(start, end))
            gaps.add(start)

    rows: list[str] = []
    for at in range(len(lines) + 1):
        is_open = at in gaps or at in left_open
        if is_open and rows[-1:] != [_OPEN]:
            rows.append(_OPEN)
        if at < len(lines) and at not in left_open:
            rows.append(f"-{lines[at].decode('utf-8')}\n")
    hunk = DraftHunk("".join(rows) or _OPEN, 1, form=Message("a file that is deleted"))
    return DraftFile((path,), (hunk,))


def _is_writable(line: bytes) -> bool:
    """Whether a `.spatch` can have a line behind its `-`: it begins no other file there."""
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\r" not in line and not line.startswith(b"-- ")


class Draft(Record):
    """The hunks for all edited files of one patchset.

    Attributes:
        files: the files.
    """

    files: tuple[DraftFile, ...]

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The parts of the edit that are in no hunk."""
        parts: list[LeftOut] = []
        for file in self.files:
            parts += file.left_out
        return tuple(parts)

    @property
    def complete(self) -> bool:
        """Whether every part of the edit is in a hunk."""
        return not self.left_out

    @property
    def has_hunks(self) -> bool:
        """Whether it changes anything."""
        return any(file.hunks for file in self.files)

    @property
    def unlike(self) -> list[DraftFile]:
        """The files that the hunks do not make byte for byte."""
        return [file for file in self.files if file.difference]

    def spatch(self, prose: str = "") -> str:
        """The text of the `.spatch` file."""
        parts = [prose.strip() + "\n"] if prose.strip() else []
        for file in self.files:
            if file.hunks:
                parts.append(file.text)
        return "\n".join(parts)


def with_optional_tests(draft: Draft) -> Draft:
    """A draft in which the changes of tests are `when-present`: the other ones do not need them.

    A draft that changes nothing but tests stays as it is.
    """
    are_tests = [is_test(file.paths[0]) for file in draft.files if file.hunks]
    if all(are_tests):
        return draft
    files: list[DraftFile] = []
    for file in draft.files:
        if is_test(file.paths[0]):
            hunks: list[DraftHunk] = []
            for hunk in file.hunks:
                hunks.append(hunk._replace(text=_OPENING.sub(_optional, hunk.text, count=1)))
            file = file._replace(hunks=tuple(hunks))
        files.append(file)
    return Draft(tuple(files))


def is_test(path: str) -> bool:
    """Whether an installed file is a test of its package."""
    *folders, name = path.split("/")
    return bool(_TEST_FILE.fullmatch(name)) or not _TEST_FOLDERS.isdisjoint(folders)


def _optional(opening: re.Match[str]) -> str:
    """The `@@` line of a hunk with `when-present`."""
    line = opening.group()
    return line if line.endswith(_WHEN_PRESENT) else line + _WHEN_PRESENT
