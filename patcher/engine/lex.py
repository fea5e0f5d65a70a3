"""A small lexer of Python text: just enough to tell strings, comments and brackets apart.

It also reads hunks, which are not Python: libcst has no lexer for those, and the stdlib's `tokenize` stops at a `$`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from copy import copy
from functools import lru_cache
from typing import Iterator, List, Match, NamedTuple, Sequence, Tuple

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
_OPEN = {"(": ")", "[": "]", "{": "}"}
_MAX_NESTED = 150  # f-strings in f-strings; CPython reads no deeper nesting either
_F_STRING = re.compile(r"([fFtT][rR]?|[rR][fFtT])('''|\"\"\"|'|\")")


class Token(NamedTuple):
    """A token: its kind (a group name of `_TOKEN`), its text and its character offsets."""

    kind: str
    text: str
    start: int
    end: int


class LogicalLine(NamedTuple):
    """One logical line: offsets of its first and past its last significant token, and whether it opens a block."""

    start: int
    end: int
    indent: str
    first: str
    opens: bool


@lru_cache(maxsize=64)
def tokens(text: str) -> Tuple[Token, ...]:
    """Every token of `text`; the tokens cover it without gaps. Cached, since a side of a hunk is read several times."""
    return tuple(scan(text, 0))


def scan(text: str, start: int) -> Iterator[Token]:
    """The tokens from an offset on, one at a time."""
    while start < len(text):
        token = _token(text, start)
        yield token
        start = token.end


def _token(text: str, start: int) -> Token:
    opened = _F_STRING.match(text, start)
    end = _f_string(text, opened, [], 0) if opened else 0
    if end:
        return Token("string", text[start:end], start, end)
    found = _TOKEN.match(text, start)
    assert found is not None  # any character is a token
    return Token(str(found.lastgroup), found.group(), start, found.end())


def without_layout(text: str) -> Tuple[str, int]:
    """A text with one blank for what is no code between its parts, none around them, and the offset past the last part."""
    found = [*scan(f"{text}\n", 0)]
    words = "".join(" " if token.kind in LAYOUT else token.text for token in found).split()
    return " ".join(words), max(token.end for token in found if token.kind not in LAYOUT)


def expressions(token: Token) -> List[Token]:
    """The tokens of the expressions in the braces of an f-string, also of f-strings nested in them; [] for other tokens."""
    return [each for each in _inside(token) if each.kind != "field"]


def fields(token: Token) -> List[Tuple[int, int]]:
    """The character range of each outermost `{…}` of an f-string; [] for other tokens."""
    return [(each.start, each.end) for each in _inside(token) if each.kind == "field"]


def _inside(token: Token) -> List[Token]:
    found: List[Token] = []
    opened = _F_STRING.match(token.text) if token.kind == "string" else None
    if opened and _f_string(token.text, opened, found, 0):
        return [each._replace(start=each.start + token.start, end=each.end + token.start) for each in found]
    return []


def _f_string(text: str, opened: Match[str], found: List[Token], depth: int) -> int:
    """The offset past an f-string, 0 where it is not closed. The tokens of its expressions are added to `found`."""
    quote, at = opened.group(2), opened.end()
    while 0 < at < len(text) and depth < _MAX_NESTED:
        if text.startswith(quote, at):
            return at + len(quote)
        if text[at] == "\\" and text[at + 1 : at + 2] not in ("{", "}"):
            at += 2
        elif text[at] in "\r\n" and len(quote) == 1:
            return 0
        elif text[at] == "{" and text[at + 1 : at + 2] != "{":
            begin, at = at, _field(text, at + 1, found, depth)
            if not depth:
                found.append(Token("field", text[begin:at], begin, at))
        else:
            at += 2 if text[at] == "{" else 1
    return 0


def _field(text: str, at: int, found: List[Token], depth: int) -> int:
    """The offset past the `}` of a replacement field (with the fields in its format spec), 0 where it is not closed."""
    brackets = 0
    while at < len(text):
        opened = _F_STRING.match(text, at)
        if opened:
            end = _f_string(text, opened, found, depth + 1)
            if not end:
                return 0
            token = Token("string", text[at:end], at, end)
        else:
            token = _token(text, at)
        at = token.end
        if brackets == 0 and token.text == "}":
            return at
        if brackets == 0 and token.text in (":", ":=", "!") and text[token.start : at + 1] != "!=":
            while 0 < at < len(text) and text[at] != "}":
                at = _field(text, at + 1, found, depth) if text[at] == "{" else at + 1
            return at + 1 if 0 < at < len(text) else 0
        brackets += depth_of(token)
        found.append(token)
    return 0


def find_outside(text: str, start: int, operator: str) -> int:
    """The offset of an operator at or after `start`, outside of strings and comments.

    Raises:
        ValueError: there is none.
    """
    for token in scan(text, start):
        if token.kind == "op" and token.text == operator:
            return token.start
    raise ValueError(operator)


def breaks_line(text: str) -> bool:
    """Whether `text` has a line break outside of its brackets and strings."""
    depth = 0
    for token in tokens(text):
        depth += depth_of(token)
        if token.kind == "newline" and depth <= 0:
            return True
    return False


class Lines:
    """The lines of a text, by character offset. They end with LF, CRLF or a lone CR, as Python's do.

    `newline` is the line break of the first one.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        breaks = [found.span() for found in re.finditer(r"\r\n|\r|\n", text)]
        self.starts = [0, *(end for _, end in breaks)]
        self.newline = text[slice(*breaks[0])] if breaks else "\n"

    def broken_as(self, offset: int) -> Lines:
        """These lines, with the line break of the line of `offset` as `newline`, or of the first where that line has none."""
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


def meets(ranges: Sequence[Tuple[int, int]], first: int, last: int) -> bool:
    """Whether one of some ranges (of numbers, both ends included) has a number from `first` to `last`.

    The ranges have to be sorted and must not overlap: they are searched by bisection.
    """
    index = bisect_left(ranges, (last + 1, -1))
    return index > 0 and ranges[index - 1][1] >= first


def lines_in_strings(text: str) -> List[int]:
    """The offsets of line starts that lie inside a multi-line string of `text`."""
    inside: List[int] = []
    for token in tokens(text):
        if token.kind == "string":
            inside += [token.start + found.end() for found in re.finditer(r"\r\n|\r|\n", token.text)]
    return inside


def logical_lines(text: str) -> List[LogicalLine]:
    """The logical lines of `text`, without blank and comment-only ones."""
    lines: List[LogicalLine] = []
    depth, first, last, line_start = 0, None, None, 0
    for token in [*tokens(text), Token("newline", "", len(text), len(text))]:
        if token.kind == "newline" and (depth == 0 or token.start == len(text)):
            if first is not None and last is not None:
                indent = text[line_start : first.start]
                lines.append(LogicalLine(first.start, last.end, indent, first.text, last.text == ":"))
            first = last = None
            line_start = token.end
        elif token.kind not in LAYOUT:
            first = first or token
            last = token
            depth += depth_of(token)
    return lines


def depth_of(token: Token) -> int:
    """By how much a token changes the depth of brackets: 1, -1 or 0."""
    return (token.text in _OPEN) - (token.kind == "op" and token.text in _OPEN.values())
