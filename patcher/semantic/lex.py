"""A small lexer of Python text: just enough to tell strings, comments and brackets apart.

It serves two ends: writing the notation of a `.spatch` (`$NAME`, `...`) as Python of the same length, and finding the
lines that lie inside a multi-line string, which are never re-indented.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import Iterator, List, NamedTuple, Tuple

MARK = "\u01c2"  # a letter that Python allows in identifiers and that nobody uses: stands for `$` and for runs
RUN_NAME = MARK * 3
RUN_STAR = MARK * 2
RUN_DOUBLE_STAR = MARK

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
_KEYWORDS = frozenset(
    "and as assert async await del elif else except finally for from if import in is lambda not or raise return while"
    " with yield".split()
)


class Token(NamedTuple):
    """A token's kind (a group of the lexer), text and character offsets."""

    kind: str
    text: str
    start: int
    end: int


class NotationError(Exception):
    """A `$` or `...` that cannot stand where it stands; `start` and `end` are character offsets into the text."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end


class LogicalLine(NamedTuple):
    """One logical line: offsets of its first and past its last significant token, its indentation, whether it opens a block."""

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
        depth += _depth(token)
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
            depth += _depth(token)
    return lines


def holes(text: str) -> Iterator[Tuple[str, int, int]]:
    """Yield (name without `$`, start, end) of every `$NAME` outside strings and comments."""
    for token in tokens(text):
        if token.kind == "hole":
            yield token.text[1:], token.start, token.end


def to_python(text: str, *, before: bool) -> str:
    """Write the notation of one side of a hunk as Python, character for character.

    `$X` becomes an identifier; a `...` that stands for a run becomes whatever Python accepts in its place, with the same
    length, so that every offset stays what it was.

    Raises:
        NotationError: a `$` without a name or in mixed case, a `$NAME` inside a string of the before side, `{...}`.
    """
    out = list(text)
    for token in tokens(text):
        if MARK in token.text:
            raise NotationError(f"the letter {MARK!r} is reserved", token.start, token.end)
        if token.kind == "hole":
            _check_hole(token)
            out[token.start] = MARK
        elif token.kind == "string" and before:
            found = re.search(r"\$[A-Z][A-Z0-9_]*\b", token.text)
            if found:
                place = token.start + found.start()
                message = "inside a string a `$` is text and would match nothing but itself; match the whole string"
                raise NotationError(message, place, token.start + found.end())
    for line in _token_lines(text):
        for index, token in enumerate(line):
            if token.kind == "run":
                out[token.start : token.end] = _run_text(line, index)
    return "".join(out)


def _check_hole(token: Token) -> None:
    name = token.text[1:]
    if re.fullmatch(r"[A-Z][A-Z0-9_]*|_|[a-z][a-z0-9_]*", name) is None:
        message = "expected `$NAME` (a metavariable), `$name` (an option) or `$_`"
        raise NotationError(message, token.start, token.end)


def _token_lines(text: str) -> Iterator[List[Token]]:
    """The significant tokens of each logical line."""
    line: List[Token] = []
    depth = 0
    for token in tokens(text):
        if token.kind == "newline" and depth == 0:
            yield line
            line = []
        elif token.kind not in ("space", "newline", "comment"):
            depth += _depth(token)
            line.append(token)
    yield line


def _depth(token: Token) -> int:
    return (token.text in _OPEN) - (token.kind == "op" and token.text in _OPEN.values())


def _run_text(line: List[Token], index: int) -> str:
    """What the `...` at `index` of a logical line is written as: three characters that Python accepts there."""
    opened = _opened(line, index)
    context = _context(line, opened)
    before = line[index - 1].text if index else ""
    after = line[index + 1].text if index + 1 < len(line) else ""
    if before not in (",", "import", "lambda") and index - 1 != opened:
        return "..."
    if after not in (",", ")", "}", ":", ""):
        return "..."
    earlier = _elements(line[opened + 1 : index])
    if context == "call":
        return "**" + RUN_DOUBLE_STAR if any(part[:1] == ["**"] for part in earlier) else "*" + RUN_STAR
    if context == "params":
        starred = any(part[:1] == ["*"] for part in earlier)
        return RUN_DOUBLE_STAR + "=0" if any("=" in part for part in earlier) and not starred else RUN_NAME
    if context == "import":
        return RUN_NAME
    if context == "brace":
        others = [part for part in _elements(line[opened + 1 : _closing(line, opened)]) if part and part != ["..."]]
        if not others:
            message = "`{...}` may be a dict or a set: write one entry of it as well"
            raise NotationError(message, line[index].start, line[index].end)
        return "**" + RUN_DOUBLE_STAR if any(":" in part or part[0] == "**" for part in others) else "..."
    return "..."


def _opened(line: List[Token], index: int) -> int:
    """The index of the bracket or `lambda` whose list holds the token at `index`; -1 at the level of the statement."""
    depth = colons = 0
    for back in range(index - 1, -1, -1):
        depth -= _depth(line[back])
        colons += depth == 0 and line[back].text == ":"
        if depth < 0 or (depth == 0 and line[back].text == "lambda" and not colons):
            return back
    return -1


def _context(line: List[Token], opened: int) -> str:
    """What kind of list the bracket at `opened` holds: call, params, import, brace or plain (the run stays as it is)."""
    words = [token.text for token in line[:3]]
    imports = "import" in words[:1] or (words[:1] == ["from"] and any(token.text == "import" for token in line))
    if opened < 0:
        return "import" if imports else "plain"
    if line[opened].text == "lambda":
        return "params"
    if line[opened].text == "{":
        return "brace"
    if line[opened].text != "(":
        return "plain"
    if imports:
        return "import"
    if "def" in words[:2] and not any(token.text == "(" for token in line[:opened]):
        return "params"
    previous = line[opened - 1] if opened else None
    named = previous is not None and previous.kind == "name" and previous.text not in _KEYWORDS
    operand = previous is not None and (previous.kind in ("hole", "string") or previous.text in (")", "]"))
    return "call" if named or operand else "plain"


def _closing(line: List[Token], opened: int) -> int:
    depth = 0
    for index in range(opened, len(line)):
        depth += _depth(line[index])
        if depth == 0:
            return index
    return len(line)


def _elements(line: List[Token]) -> List[List[str]]:
    """The texts of the tokens of each comma-separated element, nested brackets left out."""
    parts: List[List[str]] = [[]]
    depth = 0
    for token in line:
        depth += _depth(token)
        if depth == 0 and token.text == ",":
            parts.append([])
        elif depth == 0:
            parts[-1].append(token.text)
    return parts
