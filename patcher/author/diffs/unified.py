"""A unified or git diff -> a section for each file, and what is wrong with it. Pure."""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from patcher.engine.spatch.hunk import MOST_LINES
from patcher.message import Message
from patcher.record import Record

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_DAY = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"
_BEHIND = re.compile(
    rf"\t.*| (?:\d{{4}}-\d\d-\d\d |(?:{_DAY}) ).*| \((?:revision|working copy|nonexistent).*"
)
_KIND = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode"
    r"|copy from|copy to|rename from|rename to) (.*)"
)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}
_NOWHERE = "/dev/null"
_PREFIXES = (
    ("a/", "b/"),
    ("b/", "a/"),
    ("i/", "w/"),
    ("c/", "w/"),
    ("c/", "i/"),
    ("o/", "w/"),
)
"""What git writes before the path of the old file, and before that of the new one."""
_NEW, _DELETED = Message("a new file"), Message("a deleted file")
_CHOPPED = 2
"""Blank lines that may be missing at the end of a diff.

What sends or shows it removes them, as GNU patch knows.
"""
_COLOUR = re.compile(rb"\x1b\[[0-9;]*[mK]")
_QUOTED = re.compile(rb"^([ \t>|]+)--- \S.*\n\1\+\+\+ \S", re.MULTILINE)
_NO_LINE = re.compile(rb"--- .|-- ?\r?$|---\r?$")  # the next file, or the end of a mail
_EPOCH = re.compile(r"\t1970-01-01 | Thu Jan 01 00:00:00 1970 ")


class UnifiedHunk(Record):
    """One hunk of a diff.

    Attributes:
        number: counts the hunks of a file from 1.
        line: its line in the diff (1-based).
        start: the index (0-based) of its first line in the old file, as the diff has it.
        new_start: the same in the new file.
        heading: the text after its ranges.
        lines: pairs of a tag (`" "`, `"-"` or `"+"`) and the bytes of a line with its end.
        recounted: whether there are more lines than its ranges say, as after an edit by hand.
    """

    number: int
    line: int
    start: int
    new_start: int
    heading: bytes
    lines: tuple[tuple[str, bytes], ...]
    recounted: bool = False

    def side(self, tag: str) -> list[bytes]:
        """The lines before (`-`) or after (`+`) the change."""
        return [text for each, text in self.lines if each in (" ", tag)]

    @property
    def reverse(self) -> UnifiedHunk:
        """The hunk that reverts this one."""
        opposite = {"+": "-", "-": "+", " ": " "}
        lines = tuple((opposite[tag], text) for tag, text in self.lines)
        return self._replace(start=self.new_start, new_start=self.start, lines=lines)


class Section(Record):
    """The part of a diff for one file.

    Attributes:
        path: as it is written there.
        line: its first line (1-based).
        hunks: its hunks.
        refused: names what is no change of a file's text (a copy, a new file), "" for nothing.
        bare: whether it changes nothing that a package has, like the mode of a file.
        new: the text of a file that is added.
        gone: whether the file is deleted; its hunks have the text, but for an empty file.
        origin: the path that a renamed file has had, "" for another one.
        other: the path on the other one of its two lines, where that names another file.
    """

    path: str
    line: int
    hunks: tuple[UnifiedHunk, ...] = ()
    refused: str = ""
    bare: bool = False
    new: bytes | None = None
    gone: bool = False
    origin: str = ""
    other: str = ""

    @property
    def may_be_new(self) -> bool:
        """Whether it is a new file or the change of an empty one, which it does not say."""
        return self.new is not None and bool(self.hunks)

    def settled(self, *, is_there: bool) -> Section:
        """The same as a new file or as a change, of a section that may be either.

        Args:
            is_there: whether the file is installed.
        """
        if not self.may_be_new:
            return self
        return self._replace(new=None) if is_there else self._replace(hunks=(), refused=_NEW)


class DiffProblem(Record):
    """What is wrong with a diff, and in which line (1-based)."""

    line: int
    text: str


def parse_diff(data: bytes, first: int = 1) -> tuple[list[Section], list[DiffProblem], int]:
    """Parse a diff.

    Args:
        data: unified diffs of any number of files; other text around them is ignored.
        first: the number of its first line.

    Returns:
        the sections, the problems, and how many bytes there are before the first section.
    """
    lines = data.split(b"\n")
    lines = lines if lines[-1] else lines[:-1]
    if all(line.endswith(b"\r") for line in lines):  # from a mail or an editor, not from the file
        lines = [line[:-1] for line in lines]
    reader = _Reader(lines, first)
    reader.read()
    begins = reader.begins if reader.begins is not None else len(lines)
    return reader.sections, reader.problems, len(b"\n".join(data.split(b"\n")[:begins]))


def pasted(data: bytes) -> bytes:
    """A diff without the colours, quotes or indentation that it was pasted with.

    Each line keeps its number.
    """
    data = _COLOUR.sub(b"", data)
    quoted = _QUOTED.search(data)
    mark = quoted[1] if quoted else b""
    lines: list[bytes] = []
    for line in data.split(b"\n"):
        if line == mark.rstrip():  # a blank at the end is easily lost
            lines.append(b"")
        elif line.startswith(mark):
            lines.append(line[len(mark) :])
        else:
            lines.append(line)
    return b"\n".join(lines)


class _GitHeader(Record):
    """What stands below `diff --git`: the words by their kind, and whether the diff is binary."""

    words: Mapping[str, str]
    binary: bool = False

    @property
    def refused(self) -> str:
        """What it is that is no change of a file's text, "" for nothing."""
        if "new file mode" in self.words:
            return _NEW
        if "deleted file mode" in self.words:
            return _DELETED
        copy = self.words.get("copy to")
        if copy is not None:
            return Message("a copy of {path}", path=_named(self.words.get("copy from", copy)))
        if self.origin:
            return Message("a rename of {path}", path=self.origin)
        return Message("a binary diff") if self.binary else ""

    @property
    def origin(self) -> str:
        """The path that a renamed file has had, "" for another one."""
        if "rename to" not in self.words:
            return ""
        return _named(self.words.get("rename from", self.words["rename to"]))

    @property
    def mode(self) -> str:
        """The change of a file's mode, "" for none."""
        old, new = self.words.get("old mode", "?"), self.words.get("new mode")
        return Message("a change of mode from {old} to {new}", old=old, new=new) if new else ""


_PLAIN = _GitHeader({})
"""The header of a section that git did not write."""


class _HunkHeader(Record):
    """The ranges of a hunk: where they begin, and how many lines they have, before and after."""

    start: int
    old: int
    new_start: int
    new: int
    heading: bytes


class _Reader:
    """Reads a diff line by line; `at` is the index of the next line."""

    def __init__(self, lines: Sequence[bytes], first: int) -> None:
        self.lines, self.first, self.at = lines, first, 0
        self.sections: list[Section] = []
        self.problems: list[DiffProblem] = []
        self.begins: int | None = None

    def read(self) -> None:
        while self.at < len(self.lines):
            line, here = _text(self.lines[self.at]), self.at
            follows = self._follows(1)
            self.at += 1
            if line.startswith("diff --git "):
                self._git(line)
            elif line.startswith("--- ") and follows.startswith("+++ "):
                self.at += 1
                self._plain(line, follows, line=self.first + here)
            elif re.match(r"(Binary f|F)iles .* differ$", line):
                self._refuse(_named(line.split()[-2]), here, why=Message("a binary diff"))
            elif re.match(r"Only in .+: .+", line):
                path = re.sub(r"^Only in (.+): (.+)$", r"\1/\2", line)
                self._refuse(_named(path), here, why=Message("a file that one side alone has"))
            elif line.startswith("*** ") and follows.startswith("--- "):
                self._wrong(
                    here,
                    "a context diff: make it with diff -u,"
                    " or convert it with filterdiff --format=unified",
                )
                self.at = len(self.lines)
            elif line.startswith(("@@ -", "GIT binary patch")):
                self._wrong(here, "a hunk without `--- PATH` and `+++ PATH` above it")
            elif not re.match(r"Index: |diff -", line):  # these end the prose
                continue
            if self.begins is None:
                self.begins = here

    def _follows(self, ahead: int) -> str:
        """The text of a line ahead, "" past the end."""
        at = self.at + ahead
        return _text(self.lines[at]) if at < len(self.lines) else ""

    def _refuse(self, path: str, here: int, why: str) -> None:
        self.sections.append(Section(path, self.first + here, refused=why))

    def _git(self, header: str) -> None:
        """Read the lines below `diff --git`, and the hunks."""
        line = self.first + self.at - 1
        git = self._git_header()
        old, new = self._follows(0), self._follows(1)
        if old.startswith("--- ") and new.startswith("+++ "):
            self.at += 2
            self._plain(old, new, line=line, git=git)
            return
        why = git.refused or git.mode or Message("a section without a hunk")
        # a `.spatch` has one line of it at least
        empty = b"\n" if git.refused == _NEW and not git.binary else None
        other = git.words.get("copy to", git.words.get("rename to"))
        path = _git_path(header) if other is None else _named(other)
        section = Section(path, line, refused=why, bare=not git.refused, new=empty)
        is_text = not git.binary
        section = section._replace(gone=git.refused == _DELETED and is_text)
        self.sections.append(section._replace(origin=git.origin if is_text else ""))

    def _git_header(self) -> _GitHeader:
        words: dict[str, str] = {}
        binary = False
        while self.at < len(self.lines):
            text = _text(self.lines[self.at])
            found = _KIND.match(text)
            if found:
                words[found.group(1)] = found.group(2)
            elif re.match(r"Binary files .* differ$|GIT binary patch$", text):
                binary = True
            elif not re.match(r"index |(dis)?similarity index ", text):
                break
            self.at += 1
        return _GitHeader(words, binary)

    def _plain(self, old: str, new: str, line: int, *, git: _GitHeader = _PLAIN) -> None:
        """Read the hunks below `--- PATH` and `+++ PATH`.

        Of what is refused none is kept, but for a file that is deleted or renamed.
        """
        refused = git.refused
        before, after = _unprefixed(_named(old[4:]), _named(new[4:]))
        hunks: list[UnifiedHunk] = []
        while self.at < len(self.lines) and self.lines[self.at].startswith(b"@@ -"):
            hunk = self._hunk(len(hunks) + 1)
            if hunk is None:
                return
            hunks.append(hunk)
        if not hunks:
            problem = "no hunk of {path} below it, expected `@@ -N,N +N,N @@`"
            self._wrong(self.at - 1, problem, path=after)

        has_old = any(hunk.side("-") for hunk in hunks)
        has_new = any(hunk.side("+") for hunk in hunks)
        if before == _NOWHERE or (_EPOCH.search(old) and not has_old):
            before, refused = after, refused or _NEW
        elif after == _NOWHERE or (_EPOCH.search(new) and not has_new):
            after, refused = before, refused or _DELETED

        path = after
        is_kept = not refused or refused == _DELETED or bool(git.origin)
        if not refused and (before.endswith(".py") or not after.endswith(".py")):
            path = before  # the other one may be `m.py.orig`
        text: bytes | None = None
        # without a time the file may be new, or there without a line
        is_empty = bool(hunks) and hunks[0].start == 0 and not has_old
        if refused == _NEW or (not refused and is_empty):
            text = b"".join(b"".join(hunk.side("+")) for hunk in hunks)
        self.sections.append(
            Section(
                path,
                line,
                hunks=tuple(hunks) if is_kept else (),
                refused=refused or git.mode,
                bare=bool(git.mode and not refused),
                new=text,
                gone=refused == _DELETED,
                origin=git.origin,
                other=after if path == before != after else "",
            )
        )

    def _hunk(self, number: int) -> UnifiedHunk | None:
        """Read one hunk; None, and a problem, where it is wrong."""
        here = self.at
        self.at += 1
        header = _hunk_header(self.lines[here])
        if header is None:
            self._wrong(here, "expected `@@ -N,N +N,N @@`")
            return None
        lines = self._hunk_lines(header)
        if lines is None:
            return None
        more = self._more_lines()
        lines += more
        changed = sum(tag != " " for tag, _ in lines)
        if changed > MOST_LINES:
            text = "a hunk that changes {number:,} lines, expected at most {most:,}"
            self._wrong(here, text, number=changed, most=MOST_LINES)
            return None
        return UnifiedHunk(
            number=number,
            line=self.first + here,
            start=header.start,
            new_start=header.new_start,
            heading=header.heading,
            lines=tuple(lines),
            recounted=bool(more),
        )

    def _hunk_lines(self, header: _HunkHeader) -> list[tuple[str, bytes]] | None:
        """Read as many lines below the header of a hunk as it says.

        None, and a problem, where there are fewer.
        """
        here = self.at - 1
        lines: list[tuple[str, bytes]] = []
        old, new = header.old, header.new  # how many are to come
        while self.at < len(self.lines):
            line = self.lines[self.at]
            tag = chr(line[0]) if line else " "
            if tag == "\\" and lines:  # no newline at the end of the file
                last, text = lines[-1]
                lines[-1] = (last, text[:-1])
            elif tag == " " and old and new:
                old, new = old - 1, new - 1
                lines.append((tag, line[1:] + b"\n"))
            elif tag == "-" and old:
                old -= 1
                lines.append((tag, line[1:] + b"\n"))
            elif tag == "+" and new:
                new -= 1
                lines.append((tag, line[1:] + b"\n"))
            else:
                break
            self.at += 1

        if self.at == len(self.lines) and old == new <= _CHOPPED:
            lines += [(" ", b"\n")] * old
            old = new = 0
        if old or new:
            self._wrong(here, "the hunk is cut short: {end}", end=self._end())
            return None
        return lines

    def _more_lines(self) -> list[tuple[str, bytes]]:
        """Read the lines of a hunk behind those that its header counts, and blank ones behind it.

        There are none for most hunks: whoever edits a diff by hand forgets the header.
        """
        lines: list[tuple[str, bytes]] = []
        end = self.at  # past the lines of the hunk
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line[:1] == b"\\" and lines:  # no newline at the end of the file
                tag, text = lines[-1]
                lines[-1] = (tag, text[:-1])
                end = self.at + 1
            elif line[:1] in (b" ", b"-", b"+") and line.strip() and not _NO_LINE.match(line):
                lines += [(" ", b"\n")] * (self.at - end)
                lines.append((chr(line[0]), line[1:] + b"\n"))
                end = self.at + 1
            elif line.strip():
                break
            self.at += 1
        return lines

    def _end(self) -> str:
        return Message("it ends in line {line}", line=self.first + self.at - 1)

    def _wrong(self, at: int, text: str, **fields: Any) -> None:
        self.problems.append(DiffProblem(self.first + at, Message(text, **fields)))


def _hunk_header(line: bytes) -> _HunkHeader | None:
    found = _HUNK.match(line)
    if not found:
        return None
    numbers = [1 if text is None else int(text) for text in found.groups()[:4]]
    start, old, new_start, new = numbers
    # of an empty side the line before it is named
    if old:
        start -= 1
    if new:
        new_start -= 1
    return _HunkHeader(
        start=start, old=old, new_start=new_start, new=new, heading=found.group(5).strip()
    )


def _git_path(header: str) -> str:
    """The path in a line `diff --git a/PATH b/PATH`."""
    both = header.split(" ", 2)[2]
    middle = len(both) // 2
    names = {re.sub(r"^\w/", "", name) for name in (both[:middle], both[middle + 1 :])}
    if len(names) == 1 and both[middle : middle + 1] == " ":
        return names.pop()
    return _named(re.findall(r'"(?:[^"\\]|\\.)*"|\S+', header)[-1])


def _unprefixed(before: str, after: str) -> tuple[str, str]:
    """Two paths without what git writes before them."""
    if (before[:2], after[:2]) in _PREFIXES:
        return before[2:], after[2:]
    if _NOWHERE in (before, after):
        if before[:2] in ("a/", "b/"):
            before = before[2:]
        if after[:2] in ("a/", "b/"):
            after = after[2:]
    return before, after


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape").rstrip("\r")


def _named(text: str) -> str:
    """The path in a header line, without the time after it; git quotes one as in C."""
    quoted = re.match(r'"((?:[^"\\]|\\.)*)"', text)
    if not quoted:
        return _BEHIND.sub("", text, count=1).strip()
    plain = quoted.group(1).encode("utf-8", "surrogateescape")
    plain = _ESCAPE.sub(lambda one: _unescaped(one.group(1)), plain)
    return plain.decode("utf-8", "surrogateescape")


def _unescaped(code: bytes) -> bytes:
    return bytes([int(code, 8) & 255]) if len(code) == 3 else _ESCAPED.get(code, code)
