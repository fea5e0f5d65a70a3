"""`.spatch` text -> `FilePatch`: the form of a patch (format rules 1 to 3), checked without a syntax tree.

The code on the lines of a hunk is parsed by `patcher.engine.spatch.pattern`, which needs libcst and is imported only when a
hunk must be matched.
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple, NoReturn

from patcher.errors import Location, PatchError
from patcher.message import Message
from patcher.model import ADDED, SOURCE, TEXT, FilePatch, HunkFlags, HunkText
from patcher.text.hidden import typeset
from patcher.text.terminal import marked

MOST_LINES = 5000
"""Lines of a hunk: it is matched and tried as a whole, which takes a millisecond and more for each of them."""
_HEADER = re.compile(r"@@\s+(?P<scope>.*?)\s+@@(?P<flags>.*)$")
# `or` is a keyword, so no scope has this name
_OR = re.compile(r"@@\s+or(?:\s+(?P<scope>.*?))?\s+@@")
_UNIFIED = re.compile(r"(?:> ?)*@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|\+\+\+ ")
_ALMOST = r"([>\s]*[-\u2010-\u2015\u2212]+\s+)\S+\.pyi?\s*"  # `--- PATH` as something else made it
_FILE = ("--- ", "+++ ")
_WORDS = frozenset(["when-present"])
_AROUND = frozenset(["class", "def", "for", "if", "match", "try", "while", "with"])
_NOTHING = "scope"  # after `inside=`: no statement is around the place
_SCOPE_PART = re.compile(r"[^\W\d*][\w*]*|\*[\w*]*")


def reject(
    origin: str, line: int, message: str, source: str = "", start: int = 0, end: int = 0
) -> NoReturn:
    """Raise a `PatchError` about a line of a `.spatch`.

    Args:
        origin: the name of the file.
        line: the 1-based line number.
        message: what is wrong.
        source: the line, to be shown; "" shows none.
        start: the first column (0-based) to mark.
        end: the column after the last one.
    """
    location = Location(origin, line, start + 1 if source else 0)
    raise PatchError.at(location, message, "", marked(source, start, end, "    ") if source else "")


class _Lines(NamedTuple):
    """The lines of a `.spatch`, whose name in errors is `origin`."""

    origin: str
    rows: list[str]

    def refuse(self, index: int, message: str, start: int = 0, end: int | None = None) -> NoReturn:
        """Raise a `PatchError` about a line (0-based), which is shown with the columns `[start, end)` marked (all of them)."""
        line = self.rows[index]
        reject(
            self.origin,
            index + 1,
            message,
            line.replace("\r", " "),
            start,
            len(line) if end is None else end,
        )


def parse_spatch(source: str, origin: str) -> tuple[str, tuple[FilePatch, ...]]:
    """Split a `.spatch` into its prose and its patches.

    Args:
        source: the whole file, newlines as they are.
        origin: how to name the file in errors.

    Returns:
        the prose above the first `---` line, and one `FilePatch` for each group of `---` lines.

    Raises:
        PatchError: the form is wrong; the message names the line and marks the place.
    """
    rows = source.replace("\r\n", "\n").split("\n")
    lines = _Lines(origin, rows)
    for index, line in enumerate(rows):
        if _UNIFIED.match(line) and (line[0] != "+" or rows[index - 1].startswith("--- ")):
            hint = Message(
                "a patchset is made of it with: sitepatch import {origin} --name NAME",
                origin=shlex.quote(origin),
            )
            lines.refuse(
                index, Message("found a unified diff, expected `@@ SCOPE @@`; {made}", made=hint)
            )
    number = next((index for index, line in enumerate(rows) if line.startswith(_FILE)), len(rows))
    prose = "\n".join(rows[:number]).strip()
    if number == len(rows):
        for index, line in enumerate(rows):
            almost = re.fullmatch(_ALMOST, line)
            if almost:
                message = Message(
                    "expected `--- PATH` at the beginning of a line{advice}",
                    advice=_instead(almost.group(1)),
                )
                lines.refuse(index, message, 0, len(almost.group(1)))
        reject(
            origin,
            max(1, len(rows) - 1),
            Message("found no `--- PATH` line; expected one for each file to change"),
        )
    for index, line in enumerate(rows[:number]):
        if line.startswith("@@"):
            lines.refuse(index, Message("a hunk before the first `--- PATH` line"))
    files: list[FilePatch] = []
    while number < len(rows):
        patch, number = _file(lines, number)
        files.append(patch)
    return prose, tuple(files)


def _added(lines: _Lines, number: int) -> tuple[FilePatch, int]:
    """A file that is added: `+++ PATH`, and its lines."""
    start, path = number + 1, _path(lines, number)
    body: list[tuple[str, str, int]] = []
    for number, line in enumerate(lines.rows[start:], start):
        if line.startswith(_FILE):
            break
        if line[:1] == "+":
            body.append(("+", line[1:], number + 1))
        elif line.strip():
            lines.refuse(
                number, Message("every line of a file that is added begins with `+`"), 0, 1
            )
    else:
        number = len(lines.rows)
    if not body:
        lines.refuse(
            start - 1,
            Message("no line for this file; expected its text below it, `+` before each line"),
            0,
            3,
        )
    hunk = HunkText(lines.origin, start, scope=ADDED, lines=tuple(body))
    return FilePatch((path,), start, (hunk,)), number


def _file(lines: _Lines, number: int) -> tuple[FilePatch, int]:
    rows = lines.rows
    if rows[number].startswith("+++ "):
        return _added(lines, number)
    start = number + 1
    paths: list[str] = []
    while number < len(rows) and rows[number].startswith("--- "):
        paths.append(_path(lines, number))
        number += 1
    hunks: list[HunkText] = []
    while number < len(rows) and not rows[number].startswith(_FILE):
        line = rows[number]
        if line.startswith("@@"):
            form, number = _hunk(lines, number, hunks[-1] if hunks else None)
            if _OR.match(line):
                hunks[-1] = hunks[-1]._replace(others=(*hunks[-1].others, form))
            else:
                hunks.append(form)
        elif line.strip():
            lines.refuse(number, Message("expected `@@ SCOPE @@` or `--- PATH`"))
        else:
            number += 1
    if not hunks:
        lines.refuse(
            start - 1, Message("no hunk for this file; expected `@@ SCOPE @@` below it"), 0, 3
        )
    syntax = all(path.endswith(SOURCE) for path in paths)
    for form in (form for hunk in hunks for form in hunk.forms if (form.scope == TEXT) is syntax):
        message = Message(
            "Python source is matched by syntax: expected a qualified name or `<module>`"
        )
        if not syntax:
            message = Message(
                "only Python source (.py) is matched by syntax: write `@@ {scope} @@` for lines of another file",
                scope=TEXT,
            )
        lines.refuse(form.line - 1, message)
    return FilePatch(tuple(paths), start, tuple(hunks)), number


def _instead(begin: str) -> str:
    """What a mail or a web page has put at the beginning of a line, "" for nothing."""
    if ">" in begin:
        return Message(": remove the `>` with which a mail quotes a line")
    char = next((char for char in begin if not char.isascii()), "")
    return Message(": it begins with {text}", text=typeset(char)) if char else ""


def _path(lines: _Lines, index: int) -> str:
    line = lines.rows[index]
    path = line[4:].strip()
    parts = path.split("/")
    problem = ""
    if not path:
        problem = Message("expected a path after `---`")
    elif "\\" in path or re.match(r"[A-Za-z]:", path):
        problem = Message("paths are written with `/` and without a drive")
    elif not path.isprintable():
        problem = Message("expected a path without control characters")
    elif path.startswith("/"):
        problem = Message("expected a path relative to the site directory, found an absolute one")
    elif ".." in parts or "." in parts or "" in parts:
        problem = Message(
            "the path must not leave the site directory (`..`) nor have empty or `.` parts"
        )
    elif len(parts) == 1 and ("." in path[:-3] or not path.endswith(SOURCE)):
        problem = Message("expected a path inside a package")
    if problem:
        lines.refuse(index, problem, 4, max(5, len(line)))
    return path


def _hunk(lines: _Lines, number: int, above: HunkText | None) -> tuple[HunkText, int]:
    """A hunk, or a further form of the one `above`, and the index of the line after it."""
    rows, at = lines.rows, number
    header = rows[at]
    match = _HEADER.match(header)
    if match is None:
        lines.refuse(at, Message("expected `@@ SCOPE @@ FLAGS`"))
    scope, alternative = match.group("scope"), _OR.match(header)
    if alternative:
        if above is None:
            lines.refuse(
                at, Message("`@@ or @@` is another form of the hunk above it, and there is none")
            )
        scope = alternative.group("scope") or above.scope
    if scope not in ("<module>", TEXT) and not all(
        _SCOPE_PART.fullmatch(part) for part in scope.split(".")
    ):
        message = Message("expected a qualified name (`Class.method`, `*` as a glob) or `<module>`")
        lines.refuse(at, message, match.start("scope"), match.end("scope"))
    count, inside, words = _flags(match, lines, at)
    if alternative and "when-present" in words:
        message = Message(
            "`when-present` is for all forms of a hunk: write it on the first `@@` line"
        )
        lines.refuse(at, message, match.start("flags"))
    when_present = "when-present" in words or bool(
        alternative and above and above.flags.when_present
    )
    body: list[tuple[str, str, int]] = []
    number += 1
    while number < len(rows) and not rows[number].startswith(("@@", *_FILE)):
        line = rows[number]
        if line and line[0] not in " -+":
            message = Message(
                "a hunk's line begins with ` `, `-` or `+`{advice}", advice=_instead(line[0])
            )
            lines.refuse(number, message, 0, 1)
        if "\r" in line:
            message = Message(
                "a carriage return inside a line; line breaks are LF or CRLF, and those of the target do not matter"
            )
            lines.refuse(number, message, line.index("\r"), line.index("\r") + 1)
        body.append((line[:1] or " ", line[1:], number + 1))
        number += 1
    while body and body[-1][0] == " " and not body[-1][1].strip():
        body.pop()
    if len(body) > MOST_LINES:
        message = Message(
            "found a hunk of {number:,} lines, expected at most {limit:,}: write several",
            number=len(body),
            limit=MOST_LINES,
        )
        lines.refuse(at, message)
    flags = HunkFlags(count, when_present, inside)
    hunk = HunkText(lines.origin, at + 1, scope=scope, lines=tuple(body), flags=flags)
    _check_body(hunk, lines)
    if scope == TEXT:
        _check_text(hunk, lines)
    return hunk, number


def _flags(
    match: re.Match[str], lines: _Lines, index: int
) -> tuple[int, tuple[str, ...] | None, set[str]]:
    count: int | None = None
    inside: tuple[str, ...] | None = None
    words: set[str] = set()
    for flag in re.finditer(r"\S+", match.group("flags")):
        start, end = match.start("flags") + flag.start(), match.start("flags") + flag.end()
        value = re.fullmatch(r"count=(all|[1-9][0-9]{0,5})", flag.group())
        around = _inside(flag.group())
        if value and count is None:
            count = 0 if value.group(1) == "all" else int(value.group(1))
        elif around is not None and inside is None:
            inside = around
        elif flag.group() in _WORDS - words:
            words.add(flag.group())
        else:
            mistake = Message(
                "a flag given twice"
                if value or around is not None or flag.group() in _WORDS
                else "an unknown flag"
            )
            expected = Message(
                "`count=N`, `count=all`, `when-present`, `inside=if/for` (or `inside=scope`)"
            )
            lines.refuse(
                index,
                Message("{what}; expected {expected}", what=mistake, expected=expected),
                start,
                end,
            )
    return (1 if count is None else count), inside, words


def inside_flag(inside: tuple[str, ...]) -> str:
    """The flag `inside=…` for these keywords, as it is written in a hunk."""
    return f"inside={'/'.join(inside) or _NOTHING}"


def _inside(flag: str) -> tuple[str, ...] | None:
    """The keywords of a flag `inside=…`; None for any other flag, or with an unknown keyword."""
    name, _, value = flag.partition("=")
    keywords = () if value == _NOTHING else tuple(value.split("/"))
    return keywords if name == "inside" and _AROUND.issuperset(keywords) else None


def _check_body(hunk: HunkText, lines: _Lines) -> None:
    tags = {tag for tag, line, _ in hunk.lines if line.strip()}
    if not tags & {"-", "+"}:
        lines.refuse(hunk.line - 1, Message("the hunk changes nothing: no `-` and no `+` line"))
    if not tags & {"-", " "}:
        lines.refuse(
            hunk.line - 1,
            Message("the before side is empty: write the code beside which the `+` lines go"),
        )


def _check_text(hunk: HunkText, lines: _Lines) -> None:
    """Refuse what lines of text cannot have: flags of syntax, and a run of lines that is inserted or has no line beside it."""
    if hunk.flags.expected != 1 or hunk.flags.inside is not None:
        lines.refuse(
            hunk.line - 1,
            Message("lines of text stand in one place, and the only flag is `when-present`"),
        )
    for tag, line, number in hunk.lines:
        if tag == "+" and line.strip() == "...":
            reject(
                hunk.origin, number, Message("`...` is a run of lines, which cannot be inserted")
            )
    for tag in "-+":
        side = [(line.strip(), number) for kind, line, number in hunk.lines if kind in (" ", tag)]
        for line, number in side[:1] + side[-1:]:
            if line == "...":
                reject(
                    hunk.origin, number, Message("`...` stands between two lines, of both sides")
                )
