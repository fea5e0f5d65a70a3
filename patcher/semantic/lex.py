"""A small lexer of Python text: just enough to tell strings, comments and brackets apart.

libcst has no lexer to offer for text that is not Python yet (a hunk), and the stdlib's `tokenize` stops at a `$`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import Iterator, List, NamedTuple, Tuple

_TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\r\n]*)
  | (?P<string>[A-Za-z]{0,3}(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"
                |'(?:[^'\\\r\n]|\\\r\n|\\.)*'|"(?:[^"\\\r\n]|\\\r\n|\\.)*"))
  | (?P<newline>\r\n|\r|\n)
  | (?P<space>[ \t\f]+|\\(?:\r\n|\r|\n))
  | (?P<run>\.\.\.)
  | (?P<hole>\$\w*)
  | (?P<name>[^\W\d]\w*)
  | (?P<number>\.?\d(?:[\w.]|(?<=[eE])[+-])*)
  | (?P<op>\*\*|->|:=|[()\[\]{},:;=*@]|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    """A token's kind (a group of the lexer), text and character offsets."""

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
    """Every token of `text`; the tokens cover it without gaps. Kept, since a side of a hunk is read several times."""
    return tuple(_scan(text, 0))


def _scan(text: str, start: int) -> Iterator[Token]:
    for found in _TOKEN.finditer(text, start):
        yield Token(str(found.lastgroup), found.group(), found.start(), found.end())


def find_outside(text: str, start: int, wanted: str) -> int:
    """The offset of the operator `wanted` at or after `start`, not looking into strings and comments.

    Raises:
        ValueError: there is none.
    """
    for token in _scan(text, start):
        if token.kind == "op" and token.text == wanted:
            return token.start
    raise ValueError(wanted)


def breaks_line(text: str) -> bool:
    """Whether `text` has a line break that no bracket and no string of its own protects."""
    depth = 0
    for token in tokens(text):
        depth += depth_of(token)
        if token.kind == "newline" and depth <= 0:
            return True
    return False


class Lines:
    """Where the lines of a text start, and which of them start inside a string. Lines end as Python's own do."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0] + [found.end() for found in re.finditer(r"\r\n|\r|\n", text)]

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
        elif token.kind not in ("space", "comment", "newline"):
            first = first or token
            last = token
            depth += depth_of(token)
    return lines


def depth_of(token: Token) -> int:
    """How a token changes the depth of brackets: 1, -1 or 0."""
    return (token.text in _OPEN) - (token.kind == "op" and token.text in _OPEN.values())
