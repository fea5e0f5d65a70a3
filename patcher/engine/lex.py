"""A small lexer of Python text: just enough to tell strings, comments and brackets apart.

It also reads hunks, which are not Python: libcst has no lexer for those, and the stdlib's
`tokenize` stops at a `$`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from copy import copy
from functools import lru_cache
from typing import Iterable, Iterator, Match, Sequence

from patcher.record import Record

_TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\r\n]*)
  | (?P<string>[A-Za-z]{0,3}(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"
                |'(?:[^'\\\r\n]|\\\r\n|\\.)*'|"(?:[^"\\\r\n]|\\\r\n|\\.)*"))
  | (?P<newline>\r\n|\r|\n)
  | (?P<space>[ \t\f]+|\\(?:\r\n|\r|\n))
  | (?P<run>\.\.\.(?:[A-Z][A-Z0-9_]*\b)?)
  | (?P<hole>\$\w*)
  | (?P<name>[^\W\d]\w*)
  | (?P<number>\.?\d(?:[\w.]|(?<=[eE])[+-])*)
  | (?P<op>\*\*|->|:=|[()\[\]{},:;=*@]|.)
    """,
    re.VERBOSE | re.DOTALL,
)
LAYOUT = ("space", "newline", "comment")
"""The kinds of tokens that are no code."""
BRACKETS = {"(": ")", "[": "]", "{": "}"}
_MAX_NESTED = 150  # f-strings in f-strings; CPython reads no deeper nesting either
_F_STRING = re.compile(r"([fFtT][rR]?|[rR][fFtT])('''|\"\"\"|'|\")")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_STRING_OR_COMMENT = re.compile(r"""#[^\r\n]*|(?<![\w$.])[A-Za-z]{0,3}(?=['"])|(?=['"])""")
"""A comment, or the prefix of a string."""


# tokens -------------------------------------------------------------------------------------------
class Token(Record):
    """A token: its kind (a group name of `_TOKEN`), its text and its character offsets."""

    kind: str
    text: str
    start: int
    end: int


@lru_cache(maxsize=64)
def tokens(code: str) -> tuple[Token, ...]:
    """Every token of `code`; the tokens cover it without gaps.

    Cached, since a side of a hunk is read several times.
    """
    return tuple(scan(code, 0))


def scan(code: str, start: int) -> Iterator[Token]:
    """The tokens from an offset on, one at a time."""
    while start < len(code):
        token = _token(code, start)
        yield token
        start = token.end


def _token(code: str, start: int) -> Token:
    opened = _F_STRING.match(code, start)
    end = _f_string(code, opened, [], 0) if opened else 0
    if end:
        return Token("string", code[start:end], start, end)
    match = _TOKEN.match(code, start)
    assert match is not None  # any character is a token
    return Token(str(match.lastgroup), match.group(), start, match.end())


def depth_of(token: Token) -> int:
    """By how much a token changes the depth of brackets: 1, -1 or 0."""
    if token.text in BRACKETS:
        return 1
    return -1 if token.kind == "op" and token.text in BRACKETS.values() else 0


def without_layout(code: str) -> tuple[str, int]:
    """A text with one blank wherever there is layout between its parts.

    Returns:
        that text, and the offset past the last part.
    """
    written = ""
    end = 0
    for token in scan(f"{code}\n", 0):
        if token.kind in LAYOUT:
            written += " "
        else:
            written += token.text
            end = token.end
    return " ".join(written.split()), end


def find_outside(code: str, start: int, operator: str) -> int:
    """The offset of an operator at or after `start`, outside of strings and comments.

    Raises:
        ValueError: there is none.
    """
    for token in scan(code, start):
        if token.kind == "op" and token.text == operator:
            return token.start
    raise ValueError(operator)


def breaks_line(code: str) -> bool:
    """Whether `code` has a line break outside of its brackets and strings."""
    depth = 0
    for token in tokens(code):
        depth += depth_of(token)
        if token.kind == "newline" and depth <= 0:
            return True
    return False


# f-strings ----------------------------------------------------------------------------------------
def expressions(token: Token) -> list[Token]:
    """The tokens of the expressions in the braces of an f-string, and of f-strings nested in them.

    Other tokens have none.
    """
    return [part for part in _inside(token) if part.kind != "field"]


def fields(token: Token) -> list[tuple[int, int]]:
    """The character range of each outermost `{…}` of an f-string; other tokens have none."""
    return [(part.start, part.end) for part in _inside(token) if part.kind == "field"]


def _inside(token: Token) -> list[Token]:
    """The tokens of the expressions of an f-string, and its outermost fields as tokens."""
    opened = _F_STRING.match(token.text) if token.kind == "string" else None
    parts: list[Token] = []
    if not opened or not _f_string(token.text, opened, parts, 0):
        return []
    shift = token.start
    return [Token(kind, text, start + shift, end + shift) for kind, text, start, end in parts]


def _f_string(code: str, opened: Match[str], parts: list[Token], depth: int) -> int:
    """The offset past an f-string, 0 where it is not closed.

    The tokens of its expressions are added to `parts`.
    """
    quote, at = opened.group(2), opened.end()
    while 0 < at < len(code) and depth < _MAX_NESTED:
        if code.startswith(quote, at):
            return at + len(quote)
        following = code[at + 1 : at + 2]
        if code[at] == "\\" and following not in ("{", "}"):
            at += 2
        elif code[at] in "\r\n" and len(quote) == 1:
            return 0
        elif code[at] != "{":
            at += 1
        elif following == "{":
            at += 2
        else:
            begin = at
            at = _field(code, begin + 1, parts, depth)
            if not depth:
                parts.append(Token("field", code[begin:at], begin, at))
    return 0


def _field(code: str, at: int, parts: list[Token], depth: int) -> int:
    """The offset past the `}` of a replacement field, 0 where it is not closed."""
    brackets = 0
    while at < len(code):
        token = _token_of_field(code, at, parts, depth)
        if token is None:
            return 0
        at = token.end
        if brackets == 0 and token.text == "}":
            return at
        is_not_equal = code[token.start : at + 1] == "!="
        if brackets == 0 and token.text in (":", ":=", "!") and not is_not_equal:
            # a conversion, and a format spec with its fields: no function of its own, since specs
            # nest as deep as the recursion limit allows
            while 0 < at < len(code) and code[at] != "}":
                at = _field(code, at + 1, parts, depth) if code[at] == "{" else at + 1
            return at + 1 if 0 < at < len(code) else 0
        brackets += depth_of(token)
        parts.append(token)
    return 0


def _token_of_field(code: str, at: int, parts: list[Token], depth: int) -> Token | None:
    """The token of an expression at an offset; None if it is an f-string that is not closed."""
    opened = _F_STRING.match(code, at)
    if not opened:
        return _token(code, at)
    end = _f_string(code, opened, parts, depth + 1)
    return Token("string", code[at:end], at, end) if end else None


# lines --------------------------------------------------------------------------------------------
class Lines:
    """The lines of a text, by character offset. They end with LF, CRLF or a lone CR, as in Python.

    `newline` is the line break of the first one.
    """

    def __init__(self, code: str) -> None:
        self.text = code
        breaks = list(_LINE_BREAK.finditer(code))
        self.starts = [0, *(line_break.end() for line_break in breaks)]
        self.newline = breaks[0].group() if breaks else "\n"

    def broken_as(self, offset: int) -> Lines:
        """These lines, with the line break of the line at `offset` as `newline`.

        If that line has none, the line break of the first line stays.
        """
        line = self.text[self.start(offset) : self.end(offset)]
        newline = line[len(line.rstrip("\r\n")) :] or self.newline
        if newline == self.newline:
            return self
        lines = copy(self)
        lines.newline = newline
        return lines

    def row(self, index: int) -> str:
        """The text of a line (0-based), without its line break."""
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[index] : end].rstrip("\r\n")

    def number(self, offset: int) -> int:
        """The 1-based line number of a character offset."""
        return bisect_right(self.starts, offset)

    def numbers(self, ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """The 1-based numbers of the lines at the start and at the end of character ranges."""
        return [(self.number(start), self.number(end)) for start, end in ranges]

    def start(self, offset: int) -> int:
        """The offset at which the line of `offset` begins."""
        return self.starts[self.number(offset) - 1]

    def indent(self, offset: int) -> str:
        """The indentation of the line of `offset`."""
        line = self.text[self.start(offset) : self.end(offset)]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def end(self, offset: int) -> int:
        """The offset past the line break of the line of `offset` (or the end of the text)."""
        number = self.number(offset)
        return self.starts[number] if number < len(self.starts) else len(self.text)


def meets(ranges: Sequence[tuple[int, int]], low: int, high: int) -> bool:
    """Whether some range of numbers (both ends included) has one from `low` to `high`.

    The ranges have to be sorted and must not overlap: they are searched by bisection.
    """
    index = bisect_left(ranges, (high + 1, -1))
    return index > 0 and ranges[index - 1][1] >= low


def lines_in_strings(code: str) -> list[int]:
    """The offsets of line starts that lie inside a multi-line string of `code`."""
    offsets: list[int] = []
    at = 0
    while True:
        found = _STRING_OR_COMMENT.search(code, at)
        if found is None:
            return offsets
        token = _token(code, found.start())
        at = token.end
        if token.kind == "string":
            for line_break in _LINE_BREAK.finditer(token.text):
                offsets.append(token.start + line_break.end())


class LogicalLine(Record):
    """One logical line: the offsets of its first and past its last significant token.

    `first` is the text of its first token, `opens` whether it opens a block.
    """

    start: int
    end: int
    indent: str
    first: str
    opens: bool


def logical_lines(code: str) -> list[LogicalLine]:
    """The logical lines of `code`, without blank and comment-only ones."""
    lines: list[LogicalLine] = []
    line: list[Token] = []  # the tokens of code in the line
    depth = line_start = 0
    end_of_text = Token("newline", "", len(code), len(code))
    for token in [*tokens(code), end_of_text]:
        if token.kind == "newline" and (depth == 0 or token.start == len(code)):
            if line:
                lines.append(_logical_line(code, line_start, line))
            line = []
            line_start = token.end
        elif token.kind not in LAYOUT:
            line.append(token)
            depth += depth_of(token)
    return lines


def _logical_line(code: str, start: int, line: Sequence[Token]) -> LogicalLine:
    first, last = line[0], line[-1]
    return LogicalLine(
        start=first.start,
        end=last.end,
        indent=code[start : first.start],
        first=first.text,
        opens=last.text == ":",
    )
