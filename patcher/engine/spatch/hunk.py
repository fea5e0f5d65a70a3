"""`.spatch` text -> `FilePatch`: the form of a patch (format rules 1 to 3). No syntax tree.

The code on the lines of a hunk is parsed by `patcher.engine.spatch.pattern`, which needs libcst and
is imported only when a hunk must be matched.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NoReturn

from patcher.errors import Location, PatchError
from patcher.message import Message
from patcher.model import ADDED, DELETED, SOURCE, TEXT, FilePatch, HunkFlags, HunkText
from patcher.record import Record
from patcher.text.hidden import typeset
from patcher.text.terminal import marked

MOST_LINES = 5000
"""Lines of a hunk, which is matched as a whole: that takes a millisecond and more a line."""
_HEADER = r"@@\s+(?P<scope>.*?)\s+@@(?P<flags>.*)$"
# `or` is a keyword, so no scope has this name
_OR = r"@@\s+or(?:\s+(?P<scope>.*?))?\s+@@"
_UNIFIED = r"(?:> ?)*@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|\+\+\+ "
_ALMOST = r"([>\s]*[-\u2010-\u2015\u2212]+\s+)\S+\.pyi?\s*"  # `--- PATH` as something else made it
_FILE = ("--- ", "+++ ")
_WHEN_PRESENT = "when-present"
_AROUND = frozenset(["class", "def", "for", "if", "match", "try", "while", "with"])
_NOTHING = "scope"  # after `inside=`: no statement is around the place
_SCOPE_PART = r"[^\W\d*][\w*]*|\*[\w*]*"

if TYPE_CHECKING:
    _Body = list[tuple[str, str, int]]
    """The `lines` of a `HunkText`."""


def reject(
    origin: str,
    line: int,
    message: str,
    source: str = "",
    start: int = 0,
    end: int = 0,
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
    location = Location(origin, line, column=start + 1 if source else 0)
    excerpt = marked(source, start, end=end, indent="    ") if source else ""
    raise PatchError.at(location, message, "", excerpt)


class _Lines(Record):
    """The lines of a `.spatch`, whose name in errors is `origin`."""

    origin: str
    rows: list[str]

    def refuse(
        self,
        index: int,
        message: str,
        start: int = 0,
        end: int | None = None,
    ) -> NoReturn:
        """Raise a `PatchError` about a line (0-based).

        The line is shown with the columns `[start, end)` marked (all of them).
        """
        line = self.rows[index]
        reject(
            self.origin,
            index + 1,
            message=message,
            source=line.replace("\r", " "),
            start=start,
            end=len(line) if end is None else end,
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
    _refuse_unified_diff(lines)
    first = _first_file(lines)
    for index, line in enumerate(lines.rows[:first]):
        if line.startswith("@@"):
            lines.refuse(index, Message("a hunk before the first `--- PATH` line"))

    files: list[FilePatch] = []
    number = first
    while number < len(lines.rows):
        patch, number = _file(lines, number)
        files.append(patch)

    prose = "\n".join(lines.rows[:first]).strip()
    return prose, tuple(files)


def _refuse_unified_diff(lines: _Lines) -> None:
    """Refuse a diff as `diff -u` and git write it, and say how it becomes a patchset."""
    for index, line in enumerate(lines.rows):
        if not re.match(_UNIFIED, line):
            continue

        # `+++ PATH` alone is a file that is added
        is_added_file = line[0] == "+" and not lines.rows[index - 1].startswith("--- ")
        if not is_added_file:
            command = Message(
                "a patchset is made of it with: sitepatch import {origin} --name NAME",
                origin=shlex.quote(lines.origin),
            )

            message = Message("found a unified diff, expected `@@ SCOPE @@`; {made}", made=command)
            lines.refuse(index, message)


def _first_file(lines: _Lines) -> int:
    """The index of the first `--- PATH` or `+++ PATH` line; an error where there is none."""
    for index, line in enumerate(lines.rows):
        if line.startswith(_FILE):
            return index

    for index, line in enumerate(lines.rows):
        almost = re.fullmatch(_ALMOST, line)
        if almost:
            begin = almost.group(1)
            message = Message(
                "expected `--- PATH` at the beginning of a line{advice}",
                advice=_instead(begin),
            )
            lines.refuse(index, message, start=0, end=len(begin))

    reject(
        lines.origin,
        max(1, len(lines.rows) - 1),
        message=Message("found no `--- PATH` line; expected one for each file to change"),
    )


def _instead(begin: str) -> str:
    """What a mail or a web page has put at the beginning of a line, "" for nothing."""
    if ">" in begin:
        return Message(": remove the `>` with which a mail quotes a line")

    for char in begin:
        if not char.isascii():
            return Message(": it begins with {text}", text=typeset(char))

    return ""


# files -------------------------------------------------------------------------------------------
def _file(lines: _Lines, number: int) -> tuple[FilePatch, int]:
    """The patch of the file whose first line has this index, and the index of the line after it."""
    rows = lines.rows
    if rows[number].startswith("+++ "):
        return _added_file(lines, number)

    start = number + 1
    paths: list[str] = []
    while number < len(rows) and rows[number].startswith("--- "):
        paths.append(_path(lines, number))
        number += 1

    if _next_row(rows, number).startswith("-"):
        hunk, number = _whole_file(
            lines,
            start,
            number,
            tag="-",
            scope=DELETED,
        )

        return FilePatch(tuple(paths), start, hunks=(hunk,)), number

    hunks: list[HunkText] = []
    while number < len(rows) and not rows[number].startswith(_FILE):
        line = rows[number]
        if line.startswith("@@"):
            above = hunks[-1] if hunks else None
            form, number = _hunk(lines, number, above=above)
            if above is not None and re.match(_OR, line):
                further_forms = (*above.further_forms, form)
                hunks[-1] = above._replace(further_forms=further_forms)
            else:
                hunks.append(form)
        elif line.strip():
            lines.refuse(number, Message("expected `@@ SCOPE @@` or `--- PATH`"))
        else:
            number += 1

    if not hunks:
        message = Message(
            "no hunk for this file; expected `@@ SCOPE @@` below it, or the lines of a file that "
            "is deleted"
        )
        lines.refuse(start - 1, message, start=0, end=3)

    _check_scopes(lines, paths, hunks=hunks)
    return FilePatch(tuple(paths), start, hunks=tuple(hunks)), number


def _check_scopes(lines: _Lines, paths: list[str], hunks: list[HunkText]) -> None:
    """Refuse scopes of syntax in other files than Python source, and `<text>` there."""
    is_source = all(path.endswith(SOURCE) for path in paths)
    message = Message(
        "only Python source (.py) is matched by syntax: write `@@ {scope} @@` for lines of another "
        "file",
        scope=TEXT,
    )

    if is_source:
        message = Message(
            "Python source is matched by syntax: expected a qualified name or `<module>`"
        )

    for hunk in hunks:
        for form in hunk.forms:
            if (form.scope == TEXT) is is_source:
                lines.refuse(form.line - 1, message)


def _added_file(lines: _Lines, number: int) -> tuple[FilePatch, int]:
    """A file that is added: `+++ PATH`, and its lines."""
    start = number + 1
    heading = lines.rows[number]
    flags = HunkFlags(when_present=heading.endswith(f" {_WHEN_PRESENT}"))
    if flags.when_present:
        lines.rows[number] = heading[: -len(_WHEN_PRESENT)]
    path = _path(lines, number)
    hunk, end = _whole_file(lines, start, start, tag="+", scope=ADDED)

    hunk = hunk._replace(flags=flags)
    if not hunk.lines:
        message = Message("no line for this file; expected its text below it, `+` before each line")
        lines.refuse(start - 1, message, start=0, end=3)

    return FilePatch((path,), start, hunks=(hunk,)), end


def _whole_file(
    lines: _Lines,
    line: int,
    number: int,
    tag: str,
    scope: str,
) -> tuple[HunkText, int]:
    """The text of a whole file from an index on, and the index of the line after it.

    `line` is that of its heading, `tag` what each of its lines begins with.
    """
    body: _Body = []
    while number < len(lines.rows) and not lines.rows[number].startswith(_FILE):
        row = lines.rows[number]
        if row[:1] == tag:
            body.append((tag, row[1:], number + 1))
        elif row.strip():
            message = Message("every line of a file that is added begins with `+`")
            if scope == DELETED:
                message = Message("every line of a file that is deleted begins with `-`")
            lines.refuse(number, message, start=0, end=1)

        number += 1

    return HunkText(lines.origin, line, scope=scope, lines=tuple(body)), number


def _next_row(rows: list[str], number: int) -> str:
    """The first row from an index on that is not blank, "" for none or that of another file."""
    for row in rows[number:]:
        if row.startswith(_FILE):
            return ""
        if row.strip():
            return row

    return ""


def _path(lines: _Lines, index: int) -> str:
    """The path of a `--- PATH` or `+++ PATH` line.

    It is an error where it is none below a site directory.
    """
    line = lines.rows[index]
    path = line[4:].strip()
    problem = _path_problem(path)
    if problem:
        lines.refuse(index, problem, start=4, end=max(5, len(line)))
    return path


def _path_problem(path: str) -> str:
    """What is wrong about a path, "" for nothing."""
    parts = path.split("/")
    if not path:
        return Message("expected a path after `---`")
    if "\\" in path or re.match(r"[A-Za-z]:", path):
        return Message("paths are written with `/` and without a drive")
    if not path.isprintable():
        return Message("expected a path without control characters")
    if path.startswith("/"):
        return Message("expected a path relative to the site directory, found an absolute one")
    if ".." in parts or "." in parts or "" in parts:
        return Message(
            "the path must not leave the site directory (`..`) nor have empty or `.` parts"
        )

    is_module = path.endswith(SOURCE) and "." not in path[:-3]
    if len(parts) == 1 and not is_module:
        return Message("expected a path inside a package")
    return ""


# hunks -------------------------------------------------------------------------------------------
def _hunk(lines: _Lines, number: int, above: HunkText | None) -> tuple[HunkText, int]:
    """A hunk, or a further form of the one `above`, and the index of the line after it."""
    header = re.match(_HEADER, lines.rows[number])
    if header is None:
        lines.refuse(number, Message("expected `@@ SCOPE @@ FLAGS`"))

    scope = _scope(lines, number, header=header, above=above)
    flags = _flags(header, lines, index=number)
    if re.match(_OR, lines.rows[number]):
        if flags.when_present:
            message = Message(
                "`when-present` is for all forms of a hunk: write it on the first `@@` line"
            )
            lines.refuse(number, message, start=header.start("flags"))

        when_present = above is not None and above.flags.when_present
        flags = flags._replace(when_present=when_present)

    body, end = _body(lines, number + 1)
    if len(body) > MOST_LINES:
        message = Message(
            "found a hunk of {number:,} lines, expected at most {limit:,}: write several",
            number=len(body),
            limit=MOST_LINES,
        )
        lines.refuse(number, message)

    hunk = HunkText(
        lines.origin,
        number + 1,
        scope=scope,
        lines=tuple(body),
        flags=flags,
    )

    _check_body(hunk, lines)
    if scope == TEXT:
        _check_text(hunk, lines)
    return hunk, end


def _scope(
    lines: _Lines,
    number: int,
    header: re.Match[str],
    above: HunkText | None,
) -> str:
    """The scope that a header names.

    A further form has that of the hunk above it, unless it names one.
    """
    scope = header.group("scope")
    alternative = re.match(_OR, lines.rows[number])
    if alternative:
        if above is None:
            message = Message("`@@ or @@` is another form of the hunk above it, and there is none")
            lines.refuse(number, message)

        scope = alternative.group("scope") or above.scope

    is_qualified = all(re.fullmatch(_SCOPE_PART, part) for part in scope.split("."))
    if scope not in ("<module>", TEXT) and not is_qualified:
        message = Message("expected a qualified name (`Class.method`, `*` as a glob) or `<module>`")
        lines.refuse(
            number,
            message,
            start=header.start("scope"),
            end=header.end("scope"),
        )

    return scope


def _body(lines: _Lines, number: int) -> tuple[_Body, int]:
    """The lines of a hunk from this index on, and the index of the line after them."""
    rows = lines.rows
    body: _Body = []
    while number < len(rows) and not rows[number].startswith(("@@", *_FILE)):
        line = rows[number]
        if line and line[0] not in " -+":
            message = Message(
                "a hunk's line begins with ` `, `-` or `+`{advice}",
                advice=_instead(line[0]),
            )
            lines.refuse(number, message, start=0, end=1)

        if "\r" in line:
            message = Message(
                "a carriage return inside a line; line breaks are LF or CRLF, and those of the "
                "target do not matter"
            )

            at = line.index("\r")
            lines.refuse(number, message, start=at, end=at + 1)

        tag = line[:1] or " "
        number += 1
        body.append((tag, line[1:], number))

    while body:
        tag, text, _ = body[-1]
        if tag != " " or text.strip():
            break
        body.pop()

    return body, number


def _flags(header: re.Match[str], lines: _Lines, index: int) -> HunkFlags:
    """The flags of a header."""
    count: int | None = None
    inside: tuple[str, ...] | None = None
    when_present = False
    for match in re.finditer(r"\S+", header.group("flags")):
        flag = match.group()
        number = _count(flag)
        keywords = _inside(flag)
        if number is not None and count is None:
            count = number
        elif keywords is not None and inside is None:
            inside = keywords
        elif flag == _WHEN_PRESENT and not when_present:
            when_present = True
        else:
            mistake = Message("an unknown flag")
            has_value = number is not None or keywords is not None
            if has_value or flag == _WHEN_PRESENT:
                mistake = Message("a flag given twice")
            expected = Message(
                "`count=N`, `count=all`, `when-present`, `inside=if/for` (or `inside=scope`)"
            )
            message = Message("{what}; expected {expected}", what=mistake, expected=expected)
            begin = header.start("flags")
            start = begin + match.start()
            end = begin + match.end()
            lines.refuse(index, message, start=start, end=end)

    if count is None:
        count = 1
    return HunkFlags(count, when_present, inside=inside)


def _count(flag: str) -> int | None:
    """The number of a flag `count=…`, 0 for all places; None for any other flag."""
    value = re.fullmatch(r"count=(all|[1-9][0-9]{0,5})", flag)
    if value is None:
        return None

    number = value.group(1)
    return 0 if number == "all" else int(number)


def inside_flag(inside: tuple[str, ...]) -> str:
    """The flag `inside=…` for these keywords, as it is written in a hunk."""
    return f"inside={'/'.join(inside) or _NOTHING}"


def _inside(flag: str) -> tuple[str, ...] | None:
    """The keywords of a flag `inside=…`; None for any other flag, or with an unknown keyword."""
    name, _, value = flag.partition("=")
    if name != "inside":
        return None
    if value == _NOTHING:
        return ()

    keywords = tuple(value.split("/"))
    return keywords if _AROUND.issuperset(keywords) else None


def _check_body(hunk: HunkText, lines: _Lines) -> None:
    """Refuse a hunk that changes nothing, or that has nothing to be found by."""
    tags = {tag for tag, line, _ in hunk.lines if line.strip()}
    if not tags & {"-", "+"}:
        message = Message("the hunk changes nothing: no `-` and no `+` line")
        lines.refuse(hunk.line - 1, message)

    if not tags & {"-", " "}:
        message = Message("the before side is empty: write the code beside which the `+` lines go")
        lines.refuse(hunk.line - 1, message)


def _check_text(hunk: HunkText, lines: _Lines) -> None:
    """Refuse what lines of text cannot have.

    That is flags of syntax, and a run of lines that is inserted, or has no line beside it.
    """
    if hunk.flags.expected != 1 or hunk.flags.inside is not None:
        message = Message("lines of text stand in one place, and the only flag is `when-present`")
        lines.refuse(hunk.line - 1, message)

    for tag, line, number in hunk.lines:
        if tag == "+" and line.strip() == "...":
            message = Message("`...` is a run of lines, which cannot be inserted")
            reject(hunk.origin, number, message=message)

    for side in ("-", "+"):
        rows = [line for line in hunk.lines if line[0] in (" ", side)]
        for _, line, number in rows[:1] + rows[-1:]:
            if line.strip() == "...":
                message = Message("`...` stands between two lines, of both sides")
                reject(hunk.origin, number, message=message)
