"""The notation of a `.spatch` (`$NAME`, `...`) written as Python of the same length, and read again in the tree of that text.

`$X` becomes a reserved identifier, a `...` whatever Python accepts in its place. No offset changes, so that offsets in the
tree of the Python text are offsets in the hunk as the user wrote it (format rules 6 and 7).
"""

from __future__ import annotations

import re
from typing import Collection, Iterator, Sequence

from patcher.engine.lex import LAYOUT, Token, depth_of, expressions, tokens
from patcher.engine.node import Node
from patcher.message import Message

MARK = "\u01c2"  # a letter that Python allows in identifiers and that source does not use: stands for `$` and for runs
_RUN_NAME = MARK * 3
_RUN_STAR = MARK * 2
_RUN_DOUBLE_STAR = "\u01c1"  # another letter: `**$X` is no run
_NAME = r"([A-Z][A-Z0-9_]*)"  # of a run that has one
_PLAIN = rf"\.\.\.|{_RUN_NAME}{_NAME}"
_RUNS = {  # a run as Python, by the kind of its node
    "Star": rf"\*{_RUN_STAR}{_NAME}?",
    "DoubleStar": rf"\*\*{_RUN_DOUBLE_STAR}{_NAME}?",
    "Decorator": rf"@(?:{_PLAIN})",
    "Expr": _PLAIN,
    "Param": rf"{_RUN_NAME}{_NAME}?|{_RUN_DOUBLE_STAR}{_NAME}?=0",
    "Alias": rf"{_RUN_NAME}{_NAME}?",
}
# what `$NAME` and `$name` are as Python
_NAMED = frozenset(["Name", "Param", "Alias", "Expr", "MatchAs"])
_PLACEHOLDER = re.compile(MARK + r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_RUNS = 200  # in one statement; the time grows with their number times its length
_WORDS = """
    and as assert async await del elif else except finally for from if import in is lambda not or raise return while with
    yield
"""
_KEYWORDS = frozenset(_WORDS.split())


class NotationError(Exception):
    """A `$` or `...` that cannot stand where it stands; `start` and `end` are character offsets into the text."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end


def holes(code: str) -> Iterator[tuple[str, int, int]]:
    """Yield (name without `$`, start, end) of every `$NAME` outside of strings and comments, or in an f-string's braces."""
    for outer in tokens(code):
        for token in (outer, *expressions(outer)):
            if token.kind == "hole":
                yield token.text[1:], token.start, token.end


def to_python(code: str, *, before: bool) -> str:
    """Write the notation of one side of a hunk as Python, character for character.

    `$X` becomes an identifier; a `...` that stands for a run becomes whatever Python accepts in its place, with the same
    length, so that every offset stays what it was.

    Raises:
        NotationError: a `$` without a name or in mixed case, a string of the before side with a placeholder in it, `{...}`,
            more than `_MOST_RUNS` `...` in one statement.
    """
    out = list(code)
    names = {name for name, _, _ in holes(code)}
    for outer in tokens(code):
        for letter in (MARK, _RUN_DOUBLE_STAR):
            if letter in outer.text:
                raise NotationError(
                    Message("the letter {letter!r} is reserved", letter=letter),
                    outer.start,
                    outer.end,
                )
        for token in (outer, *expressions(outer)):
            if token.kind == "hole":
                _check_hole(token)
                out[token.start] = MARK
            elif token.kind == "string" and before:
                _check_string(token, names)
    inside = [
        [part for part in expressions(token) if part.kind not in LAYOUT] for token in tokens(code)
    ]
    for line in [*_token_lines(code), *inside]:
        runs = [token for token in line if token.kind == "run"]
        if runs[_MOST_RUNS:]:
            raise NotationError(
                Message("more than {limit} `...` in one statement", limit=_MOST_RUNS),
                runs[_MOST_RUNS].start,
                runs[_MOST_RUNS].end,
            )
        for index, token in enumerate(line):
            if token.kind == "run":
                out[token.start : token.end] = _run_text(line, index)
    return "".join(out)


def read_placeholders(nodes: Sequence[Node], source: str) -> None:
    """Give the nodes of a text of `to_python` that are placeholders their `role` and name.

    Raises:
        NotationError: a `...NAME` where no run can stand.
    """
    inside: set[int] = set()  # the parts of runs
    for node in [node for top in nodes for node in top.walk()]:
        if id(node) in inside:
            continue
        code = source[node.start : node.end]
        match = re.fullmatch(_PLAIN if _is_element(node) else _RUNS.get(node.kind, "(?!)"), code)
        if match:
            node.role, node.name = "run", next(filter(None, match.groups()), "")
            inside.update(id(part) for part in node.walk())
        elif node.kind in _NAMED and _PLACEHOLDER.fullmatch(code):
            node.name = code[1:]
            node.role = "meta" if node.name.upper() == node.name else "option"
        elif node.kind == "Name" and code.startswith(_RUN_NAME):
            raise NotationError(
                Message("no run can stand here: a `...` is a whole element or a statement"),
                node.start,
                node.end,
            )


def _is_element(node: Node) -> bool:
    """Whether a `...` is an element of a list, and so a run; in a subscript it is the literal."""
    around = node.parent
    subscript = around is not None and around.field() == "slice" and not around.parenthesised
    return (
        node.kind in ("Ellipsis", "Name", "WithItem")
        and node.field() in ("elements", "items")
        and not subscript
    )


def _check_string(token: Token, names: Collection[str]) -> None:
    """Refuse what must be meant as a placeholder inside a string, where a `$` is text.

    That is a string of the before side which is nothing but `$NAME`, or which has the name of one of its metavariables.

    Raises:
        NotationError: see above.
    """
    characters = list(token.text)
    for inner in expressions(token):
        characters[inner.start - token.start : inner.end - token.start] = " " * len(inner.text)
    plain = "".join(characters)
    for match in re.finditer(r"\$([A-Z][A-Z0-9_]*)\b", plain):
        around = re.sub(r"^\w*", "", plain[: match.start()]) + plain[match.end() :]
        if match.group(1) in names or not re.search(r"[^\s{}'\"]", around):
            message = Message(
                "inside a string a `$` is text and would match nothing but itself: write a placeholder for the string"
            )
            raise NotationError(message, token.start + match.start(), token.start + match.end())


def _check_hole(token: Token) -> None:
    name = token.text[1:]
    if re.fullmatch(r"[A-Z][A-Z0-9_]*|_|[a-z][a-z0-9_]*", name) is None:
        message = Message("expected `$NAME` (a metavariable), `$name` (an option) or `$_`")
        raise NotationError(message, token.start, token.end)


def _token_lines(code: str) -> Iterator[list[Token]]:
    """The significant tokens of each logical line."""
    line: list[Token] = []
    depth = 0
    for token in tokens(code):
        if token.kind == "newline" and depth == 0:
            yield line
            line = []
        elif token.kind not in LAYOUT:
            depth += depth_of(token)
            line.append(token)
    yield line


def _run_text(line: list[Token], index: int) -> str:
    """What replaces the `...` or `...NAME` at `index` of a logical line, with the same length, so that Python accepts it."""
    name = line[index].text[3:]
    plain = _RUN_NAME + name if name else "..."
    opened = _opened(line, index)
    context = _context(line, opened)
    before = line[index - 1].text if index else ""
    after = line[index + 1].text if index + 1 < len(line) else ""
    if before not in (",", "import", "lambda") and index - 1 != opened:
        return plain
    if after not in (",", ")", "}", ":", ""):
        return plain
    earlier = _elements(line[opened + 1 : index])
    if context == "call":
        return (
            "**" + _RUN_DOUBLE_STAR + name
            if any(part[:1] == ["**"] for part in earlier)
            else "*" + _RUN_STAR + name
        )
    if context == "params":
        starred = any(part[:1] == ["*"] for part in earlier)
        return (
            f"{_RUN_DOUBLE_STAR}{name}=0"
            if any("=" in part for part in earlier) and not starred
            else _RUN_NAME + name
        )
    if context == "import":
        return _RUN_NAME + name
    if context == "brace":
        parts = _elements(line[opened + 1 : _closing(line, opened)])
        entries = [part for part in parts if part and not part[0].startswith("...")]
        if not entries:
            message = Message("`{{...}}` may be a dict or a set: write one entry of it as well")
            raise NotationError(message, line[index].start, line[index].end)
        return (
            f"**{_RUN_DOUBLE_STAR}{name}"
            if any(":" in part or part[0] == "**" for part in entries)
            else plain
        )
    return plain


def _opened(line: list[Token], index: int) -> int:
    """The index of the bracket or `lambda` whose list holds the token at `index`; -1 at the level of the statement."""
    depth = colons = 0
    for back in range(index - 1, -1, -1):
        depth -= depth_of(line[back])
        colons += depth == 0 and line[back].text == ":"
        if depth < 0 or (depth == 0 and line[back].text == "lambda" and not colons):
            return back
    return -1


def _context(line: list[Token], opened: int) -> str:
    """The kind of list in the bracket at `opened`: call, params, import, brace or plain (where `...` is valid Python)."""
    words = [token.text for token in line[:2]]
    imports = "import" in words[:1] or (
        words[:1] == ["from"] and any(token.text == "import" for token in line)
    )
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
    if "def" in words and not any(token.text == "(" for token in line[:opened]):
        return "params"
    previous = line[opened - 1] if opened else None
    named = previous is not None and previous.kind == "name" and previous.text not in _KEYWORDS
    operand = previous is not None and (
        previous.kind in ("hole", "string") or previous.text in (")", "]")
    )
    return "call" if named or operand else "plain"


def _closing(line: list[Token], opened: int) -> int:
    depth = 0
    for index in range(opened, len(line)):
        depth += depth_of(line[index])
        if depth == 0:
            return index
    return len(line)


def _elements(line: list[Token]) -> list[list[str]]:
    """The texts of the tokens of each comma-separated element, nested brackets left out."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in line:
        depth += depth_of(token)
        if depth == 0 and token.text == ",":
            parts.append([])
        elif depth == 0:
            parts[-1].append(token.text)
    return parts
