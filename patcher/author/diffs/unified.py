"""A unified or git diff -> a section for each file, and what is wrong with it. Pure."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Sequence

from patcher.engine.spatch.hunk import MOST_LINES
from patcher.message import Message

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_DAY = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"
_BEHIND = re.compile(
    rf"\t.*| (?:\d{{4}}-\d\d-\d\d |(?:{_DAY}) ).*| \((?:revision|working copy|nonexistent).*"
)
_KIND = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to) (.*)"
)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}
_NOWHERE = "/dev/null"
_NEW, _DELETED = Message("a new file"), Message("a deleted file")
_CHOPPED = 2  # blank lines that may be missing at the end of a diff: what sends or shows it removes them, as GNU patch knows
_COLOUR = re.compile(rb"\x1b\[[0-9;]*[mK]")
_QUOTED = re.compile(rb"^([ \t>|]+)--- \S.*\n\1\+\+\+ \S", re.MULTILINE)
_EPOCH = re.compile(r"\t1970-01-01 | Thu Jan 01 00:00:00 1970 ")


class UnifiedHunk(NamedTuple):
    """One hunk of a diff.

    Attributes:
        number: counts the hunks of a file from 1.
        line: its line in the diff (1-based).
        start: the index (0-based) of its first line in the old file, as the diff has it.
        new_start: the same in the new file.
        heading: the text after its ranges.
        lines: pairs of a tag (`" "`, `"-"` or `"+"`) and the bytes of a line with its end.
    """

    number: int
    line: int
    start: int
    new_start: int
    heading: bytes
    lines: tuple[tuple[str, bytes], ...]

    def side(self, tag: str) -> list[bytes]:
        """The lines before (`-`) or after (`+`) the change."""
        return [text for each, text in self.lines if each in (" ", tag)]

    @property
    def reverse(self) -> UnifiedHunk:
        """The hunk that reverts this one."""
        lines = tuple(({"+": "-", "-": "+"}.get(tag, tag), text) for tag, text in self.lines)
        return self._replace(start=self.new_start, new_start=self.start, lines=lines)


class Section(NamedTuple):
    """The part of a diff for one file; `path` is as written there, `line` is its first line (1-based).

    `refused` names what is no change of a file's text (a rename, a new file), "" for nothing; with `bare` it changes nothing
    that a package has, like the mode of a file. `new` is the text of a file that is added.
    """

    path: str
    line: int
    hunks: tuple[UnifiedHunk, ...] = ()
    refused: str = ""
    bare: bool = False
    new: bytes | None = None


class DiffProblem(NamedTuple):
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
    """A diff without the colours, quotes or indentation that it was pasted with; each line keeps its number."""
    data = _COLOUR.sub(b"", data)
    quoted = _QUOTED.search(data)
    mark = quoted[1] if quoted else b""
    # a blank at the end is easily lost
    lines = [b"" if line == mark.rstrip() else line for line in data.split(b"\n")]
    return b"\n".join(line[len(mark) :] if line.startswith(mark) else line for line in lines)


class _Reader:
    def __init__(self, lines: Sequence[bytes], first: int) -> None:
        self.lines, self.first, self.at = lines, first, 0
        self.sections: list[Section] = []
        self.problems: list[DiffProblem] = []
        self.begins: int | None = None

    def read(self) -> None:
        while self.at < len(self.lines):
            line, here = _text(self.lines[self.at]), self.at
            follows = _text(self.lines[here + 1]) if here + 1 < len(self.lines) else ""
            self.at += 1
            if line.startswith("diff --git "):
                self._git(line)
            elif line.startswith("--- ") and follows.startswith("+++ "):
                self.at += 1
                self._plain(line, follows, self.first + here)
            elif re.match(r"(Binary f|F)iles .* differ$", line):
                self.sections.append(
                    Section(
                        _named(line.split()[-2]), self.first + here, (), Message("a binary diff")
                    )
                )
            elif re.match(r"Only in .+: .+", line):
                path = re.sub(r"^Only in (.+): (.+)$", r"\1/\2", line)
                self.sections.append(
                    Section(
                        _named(path),
                        self.first + here,
                        (),
                        Message("a file that one side alone has"),
                    )
                )
            elif line.startswith("*** ") and follows.startswith("--- "):
                self._wrong(
                    here,
                    "a context diff: make it with diff -u, or convert it with filterdiff --format=unified",
                )
                self.at = len(self.lines)
            elif line.startswith(("@@ -", "GIT binary patch")):
                self._wrong(here, "a hunk without `--- PATH` and `+++ PATH` above it")
            else:
                begins = re.match(r"Index: |diff -", line)  # the end of the prose
                self.begins = here if begins and self.begins is None else self.begins
                continue
            self.begins = here if self.begins is None else self.begins

    def _git(self, header: str) -> None:
        """Read the lines below `diff --git`, and the hunks."""
        line, said = self.first + self.at - 1, {}
        binary = False
        while self.at < len(self.lines):
            text = _text(self.lines[self.at])
            found = _KIND.match(text)
            if found:
                said[found.group(1)] = found.group(2)
            elif re.match(r"Binary files .* differ$|GIT binary patch$", text):
                binary = True
            elif not re.match(r"index |(dis)?similarity index ", text):
                break
            self.at += 1
        both = header.split(" ", 2)[2]
        middle = len(both) // 2
        names = {re.sub(r"^\w/", "", name) for name in (both[:middle], both[middle + 1 :])}
        same = len(names) == 1 and both[middle : middle + 1] == " "
        path = names.pop() if same else _named(re.findall(r'"(?:[^"\\]|\\.)*"|\S+', header)[-1])
        refused = Message("a binary diff") if binary else ""
        for kind, text in (("rename", "a rename of {path}"), ("copy", "a copy of {path}")):
            if f"{kind} to" in said:
                path, refused = (
                    _named(said[f"{kind} to"]),
                    Message(text, path=_named(said[f"{kind} from"])),
                )
        refused = (
            _NEW
            if "new file mode" in said
            else _DELETED
            if "deleted file mode" in said
            else refused
        )
        old, new = said.get("old mode", "?"), said.get("new mode")
        mode = Message("a change of mode from {old} to {new}", old=old, new=new) if new else ""
        follow = [_text(each) for each in self.lines[self.at : self.at + 2]]
        if len(follow) == 2 and follow[0].startswith("--- ") and follow[1].startswith("+++ "):
            self.at += 2
            self._plain(follow[0], follow[1], line, refused, mode)
        else:
            why = refused or mode or Message("a section without a hunk")
            # a `.spatch` has one line of it at least
            empty = b"\n" if refused == _NEW and not binary else None
            self.sections.append(Section(path, line, (), why, not refused, empty))

    def _plain(self, old: str, new: str, line: int, refused: str = "", mode: str = "") -> None:
        """Read the hunks below `--- PATH` and `+++ PATH`: of what is `refused` none, of a change of `mode` all."""
        before, after = _named(old[4:]), _named(new[4:])
        if (before[:2], after[:2]) in (
            ("a/", "b/"),
            ("b/", "a/"),
            ("i/", "w/"),
            ("c/", "w/"),
            ("c/", "i/"),
            ("o/", "w/"),
        ):
            before, after = before[2:], after[2:]
        elif _NOWHERE in (before, after):
            before, after = (
                path[2:] if path[:2] in ("a/", "b/") else path for path in (before, after)
            )
        hunks: list[UnifiedHunk] = []
        while self.at < len(self.lines) and self.lines[self.at].startswith(b"@@ -"):
            hunk = self._hunk(len(hunks) + 1)
            hunks += [hunk] if hunk else []
            if not hunk:
                return
        if not hunks:
            self._wrong(
                self.at - 1, "no hunk of {path} below it, expected `@@ -N,N +N,N @@`", path=after
            )
        if before == _NOWHERE or (_EPOCH.search(old) and not any(hunk.side("-") for hunk in hunks)):
            before, refused = after, refused or _NEW
        elif after == _NOWHERE or (
            _EPOCH.search(new) and not any(hunk.side("+") for hunk in hunks)
        ):
            after, refused = before, refused or _DELETED
        # `m.py.orig`
        path = (
            before
            if not refused and (before.endswith(".py") or not after.endswith(".py"))
            else after
        )
        text = (
            b"".join(line for hunk in hunks for line in hunk.side("+")) if refused == _NEW else None
        )
        kept = () if refused else tuple(hunks)
        self.sections.append(
            Section(path, line, kept, refused or mode, bool(mode and not refused), text)
        )

    def _hunk(self, number: int) -> UnifiedHunk | None:
        here, found = self.at, _HUNK.match(self.lines[self.at])
        if not found:
            self._wrong(here, "expected `@@ -N,N +N,N @@`")
            self.at += 1
            return None
        start, old, new_start, new = (
            1 if found.group(at) is None else int(found.group(at)) for at in (1, 2, 3, 4)
        )
        # of an empty side the line before it is named
        start, new_start = (
            start - bool(old),
            new_start - bool(new),
        )
        lines: list[tuple[str, bytes]] = []
        self.at += 1
        while self.at < len(self.lines):
            line = self.lines[self.at]
            tag = chr(line[0]) if line else " "
            if tag == "\\" and lines:
                lines[-1] = (lines[-1][0], lines[-1][1][:-1])
            elif (
                not (old or new)
                or tag not in " -+"
                or (tag != "+" and not old)
                or (tag != "-" and not new)
            ):
                break
            else:
                lines.append((tag, line[1:] + b"\n"))
                old, new = old - (tag != "+"), new - (tag != "-")
            self.at += 1
        if self.at == len(self.lines) and old == new <= _CHOPPED:
            lines += [(" ", b"\n")] * old
            old = new = 0
        while self.at < len(self.lines) and self.lines[self.at].isspace() and not (old or new):
            self.at += 1
        more = self.lines[self.at][:1] in (b" ", b"-", b"+") if self.at < len(self.lines) else False
        ends = re.match(rb"--- .|-- ?\r?$|---\r?$", self.lines[self.at]) if more else None
        if old or new or (more and not ends):
            cut, long = (
                "the hunk is cut short: {end}",
                "the hunk has more lines than its header says: {end}",
            )
            end = Message("it ends in line {line}", line=self.first + self.at - 1)
            self._wrong(here, cut if old or new else long, end=end)
            return None
        changed = sum(tag != " " for tag, _ in lines)
        if changed > MOST_LINES:
            text = "a hunk that changes {number:,} lines, expected at most {most:,}"
            self._wrong(here, text, number=changed, most=MOST_LINES)
            return None
        return UnifiedHunk(
            number, self.first + here, start, new_start, found.group(5).strip(), tuple(lines)
        )

    def _wrong(self, at: int, text: str, **fields: Any) -> None:
        self.problems.append(DiffProblem(self.first + at, Message(text, **fields)))


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
