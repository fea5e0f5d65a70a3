"""What is made of an edit: hunks as text, each with the reason for its form, and what could not be expressed."""

from __future__ import annotations

from typing import NamedTuple, Tuple


def package_of(path: str) -> str:
    """The import package of a file, by its path in the site directory: its first directory, or the module that it is."""
    first, *more = path.split("/")
    return first if more else first[: -len(".py")]


class FileEdit(NamedTuple):
    """One installed file before and after an edit. `path` is relative to the site directory, `/`-separated."""

    path: str
    before: bytes
    after: bytes


class Lost(NamedTuple):
    """A candidate that was not taken: the hunk's text, and why."""

    text: str
    why: str


class DraftHunk(NamedTuple):
    """One hunk of a draft: `text` from its `@@ SCOPE @@` line on, ending in a line break.

    `line` is the 1-based line of the edited file that it makes, `form` says in a few words which form it has and why.
    """

    text: str
    line: int
    form: str
    lost: Tuple[Lost, ...] = ()


class Left(NamedTuple):
    """A part of an edit that is in no hunk: its first line (1-based, in the edited file), its lines as a diff, and why."""

    line: int
    text: str
    why: str


class DraftFile(NamedTuple):
    """The hunks for one file: alternative `paths` of it as in `FilePatch`.

    `difference` is "" where the hunks make the edited file byte for byte, else what differs in words (same syntax tree).
    """

    paths: Tuple[str, ...]
    hunks: Tuple[DraftHunk, ...]
    left: Tuple[Left, ...] = ()
    difference: str = ""


class Draft(NamedTuple):
    """The hunks for all edited files of one patchset."""

    files: Tuple[DraftFile, ...]

    @property
    def complete(self) -> bool:
        """Whether every part of the edit is in a hunk."""
        return not any(file.left for file in self.files)

    def spatch(self, prose: str = "") -> str:
        """The text of the `.spatch` file."""
        parts = [prose.strip() + "\n"] if prose.strip() else []
        for file in self.files:
            if file.hunks:
                header = "".join(f"--- {path}\n" for path in file.paths)
                parts.append(header + "\n".join(hunk.text for hunk in file.hunks))
        return "\n".join(parts)
