"""What is made of an edit: hunks as text, each with the reason for its form, and the parts that are in no hunk."""

from __future__ import annotations

from typing import NamedTuple

from patcher.message import Message


def package_of(path: str) -> str:
    """The import package of a file, by its path in the site directory."""
    first, *more = path.split("/")
    return first if more else first[: -len(".py")]


class FileEdit(NamedTuple):
    """One installed file before and after an edit. `path` is relative to the site directory, `/`-separated."""

    path: str
    before: bytes
    after: bytes


class Rejected(NamedTuple):
    """A hunk that was tried and not taken, and why."""

    text: str
    why: str


class DraftHunk(NamedTuple):
    """One hunk of a draft.

    Attributes:
        text: from its `@@ SCOPE @@` line on, ending in a line break.
        line: the line of the edited file (1-based) at which its new code begins.
        form: how it is written, in a few words for the user.
        rejected: the hunks that were tried instead.
    """

    text: str
    line: int
    form: str
    rejected: tuple[Rejected, ...] = ()


class LeftOut(NamedTuple):
    """A part of an edit that is in no hunk, and why.

    `line` is its first line in the edited file (1-based; 0 for all of a file), `text` has its lines as a diff. `code` is
    whether the rest may need it: not a comment, nor a test that no package has.
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


class DraftFile(NamedTuple):
    """The hunks for one file; `paths` are alternative places of it, as in `FilePatch`.

    `difference` is "" where the hunks make the edited file byte for byte, else it says how the layout differs.
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
    def header(self) -> str:
        """The lines above the hunks."""
        return "".join(f"{'+++' if self.adds else '---'} {path}\n" for path in self.paths)


def added_file(path: str, text: bytes) -> DraftFile:
    """A file that is added; it is left out where its bytes cannot be written as lines."""
    is_open = text[-1:] not in (b"", b"\n")
    lines = (text + b"\n" * is_open).decode("utf-8", "replace").split("\n")
    if lines[-1] or len(lines) == 1 or "\r" in text.decode("latin-1") or "\ufffd" in "".join(lines):
        why = Message("a file is added as lines of UTF-8 that end in LF, one at least")
        return DraftFile((path,), (), (LeftOut(path, 0, "", why),))
    hunk = DraftHunk(
        "".join(f"+{line}\n" for line in lines[:-1]), 1, Message("a file that is added")
    )
    return DraftFile((path,), (hunk,), (), Message("its last line ends in LF") if is_open else "")


class Draft(NamedTuple):
    """The hunks for all edited files of one patchset."""

    files: tuple[DraftFile, ...]

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The parts of the edit that are in no hunk."""
        return tuple(each for file in self.files for each in file.left_out)

    @property
    def complete(self) -> bool:
        """Whether every part of the edit is in a hunk."""
        return not self.left_out

    @property
    def unlike(self) -> list[DraftFile]:
        """The files that the hunks do not make byte for byte."""
        return [file for file in self.files if file.difference]

    def spatch(self, prose: str = "") -> str:
        """The text of the `.spatch` file."""
        parts = [prose.strip() + "\n"] if prose.strip() else []
        for file in self.files:
            if file.hunks:
                parts.append(file.header + "\n".join(hunk.text for hunk in file.hunks))
        return "\n".join(parts)
