"""The notation of a `.spatch` (`$NAME`, `...`) written as Python, and read again in its tree.

`$X` becomes a reserved identifier, a `...` whatever Python accepts in its place. No offset changes,
so that offsets in the tree of the Python text are offsets in the hunk as the user wrote it (format
rules 6 and 7).
"""

from __future__ import annotations

import re
from keyword import iskeyword
from typing import Collection, Iterator, Sequence

from patcher.engine.lex import LAYOUT, Token, depth_of, expressions, tokens
from patcher.engine.node import Node
from patcher.message import Message

# a letter that Python allows in identifiers and that source does not use: stands for `$` and runs
MARK = "\u01c2"
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


class NotationError(Exception):
    """A `$` or `...` that cannot stand where it stands.

    `start` and `end` are character offsets into the text.
    """

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end


def holes(code: str) -> Iterator[tuple[str, int, int]]:
    """Yield (name without `$`, start, end) of every `$NAME`.

    Those in strings and comments are text, but for the braces of an f-string.
    """
    for outer in tokens(code):
        for token in (outer, *expressions(outer)):
            if token.kind == "hole":
                yield token.text[1:], token.start, token.end


def to_python(code: str, *, before: bool) -> str:
    """Write the notation of one side of a hunk as Python, character for character.

    `$X` becomes an identifier; a `...` that stands for a run becomes whatever Python accepts in its
    place, with the same length, so that every offset stays what it was.

    Raises:
        NotationError: a `$` without a name or in mixed case, a string of the before side with a
            placeholder in it, `{...}`, more than `_MOST_RUNS` `...` in one statement.
    """
    out = list(code)
    names = {name for name, _, _ in holes(code)}
    for outer in tokens(code):
        _check_reserved(outer)
        for token in (outer, *expressions(outer)):
            if token.kind == "hole":
                _check_hole(token)
                out[token.start] = MARK
            elif token.kind == "string" and before:
                _check_string(token, names)

    for line in [*_logical_lines(code), *_f_string_parts(code)]:
        runs = [token for token in line if token.kind == "run"]
        if len(runs) > _MOST_RUNS:
            message = Message("more than {limit} `...` in one statement", limit=_MOST_RUNS)
            first = runs[_MOST_RUNS]
            raise NotationError(message, first.start, end=first.end)
        for index, token in enumerate(line):
            if token.kind == "run":
                out[token.start : token.end] = _run_as_python(line, index)
    return "".join(out)


def read_placeholders(nodes: Sequence[Node], source: str) -> None:
    """Give the nodes of a text of `to_python` that are placeholders their `role` and name.

    Raises:
        NotationError: a `...NAME` where no run can stand.
    """
    inside_runs: set[int] = set()
    for top in nodes:
        for node in list(top.walk()):
            if id(node) in inside_runs:
                continue
            code = source[node.start : node.end]
            run = re.fullmatch(_run_pattern(node), code)
            if run:
                node.role = "run"
                node.name = next(filter(None, run.groups()), "")
                inside_runs.update(id(part) for part in node.walk())
            elif node.kind in _NAMED and _PLACEHOLDER.fullmatch(code):
                node.name = code[1:]
                node.role = "meta" if node.name.upper() == node.name else "option"
            elif node.kind == "Name" and code.startswith(_RUN_NAME):
                message = Message(
                    "no run can stand here: a `...` is a whole element or a statement"
                )
                raise NotationError(message, node.start, end=node.end)


def _run_pattern(node: Node) -> str:
    """What the text of a node is if it is a run."""
    nothing = "(?!)"
    return _PLAIN if _is_element(node) else _RUNS.get(node.kind, nothing)


def _is_element(node: Node) -> bool:
    """Whether a `...` is an element of a list, and so a run.

    In a subscript, and in parentheses of its own, it is the literal.
    """
    if node.kind not in ("Ellipsis", "Name", "WithItem"):
        return False
    if node.kind == "Ellipsis" and node.parenthesised:
        return False
    around = node.parent
    if around is not None and around.field() == "slice" and not around.parenthesised:
        return False
    return node.field() in ("elements", "items")


# what cannot be read -----------------------------------------------------------------------------
def _check_reserved(token: Token) -> None:
    for letter in (MARK, _RUN_DOUBLE_STAR):
        if letter in token.text:
            message = Message("the letter {letter!r} is reserved", letter=letter)
            raise NotationError(message, token.start, end=token.end)


def _check_hole(token: Token) -> None:
    name = token.text[1:]
    if re.fullmatch(r"[A-Z][A-Z0-9_]*|_|[a-z][a-z0-9_]*", name) is None:
        message = Message("expected `$NAME` (a metavariable), `$name` (an option) or `$_`")
        raise NotationError(message, token.start, end=token.end)


def _check_string(token: Token, names: Collection[str]) -> None:
    """Refuse what must be meant as a placeholder inside a string, where a `$` is text.

    That is a string of the before side which is nothing but `$NAME`, or which has the name of one
    of its metavariables.

    Raises:
        NotationError: see above.
    """
    characters = list(token.text)
    for inner in expressions(token):
        begin = inner.start - token.start
        characters[begin : begin + len(inner.text)] = " " * len(inner.text)
    plain = "".join(characters)
    for match in re.finditer(r"\$([A-Z][A-Z0-9_]*)\b", plain):
        around = re.sub(r"^\w*", "", plain[: match.start()]) + plain[match.end() :]
        is_alone = not re.search(r"[^\s{}'\"]", around)
        if is_alone or match.group(1) in names:
            message = Message(
                "inside a string a `$` is text and would match nothing but itself: write a "
                "placeholder for the string"
            )
            start, end = token.start + match.start(), token.start + match.end()
            raise NotationError(message, start, end=end)


# runs as Python ----------------------------------------------------------------------------------
def _logical_lines(code: str) -> Iterator[list[Token]]:
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


def _f_string_parts(code: str) -> Iterator[list[Token]]:
    """The significant tokens in the braces of each f-string."""
    for token in tokens(code):
        parts = [part for part in expressions(token) if part.kind not in LAYOUT]
        if parts:
            yield parts


def _run_as_python(line: list[Token], index: int) -> str:
    """What replaces the `...` or `...NAME` at `index` of a logical line.

    It has the same length, and Python accepts it there.
    """
    name = line[index].text[3:]
    plain = _RUN_NAME + name if name else "..."
    opened = _opening(line, index)
    if not _is_whole_element(line, index, opened=opened):
        return plain

    context = _context(line, opened)
    above = _elements(line[opened + 1 : index])
    if context == "call":
        has_double_star = any(part[:1] == ["**"] for part in above)
        return ("**" + _RUN_DOUBLE_STAR if has_double_star else "*" + _RUN_STAR) + name
    if context == "params":
        has_default = any("=" in part for part in above)
        has_star = any(part[:1] == ["*"] for part in above)
        if has_default and not has_star:
            return f"{_RUN_DOUBLE_STAR}{name}=0"
        return _RUN_NAME + name
    if context == "import":
        return _RUN_NAME + name
    if context == "brace" and _is_dict(line, index, opened=opened):
        return f"**{_RUN_DOUBLE_STAR}{name}"
    return plain


def _is_whole_element(line: list[Token], index: int, opened: int) -> bool:
    """Whether the run at `index` is an element of the list in the bracket at `opened`."""
    before = line[index - 1].text if index else ""
    after = line[index + 1].text if index + 1 < len(line) else ""
    begins = before in (",", "import", "lambda") or index - 1 == opened
    return begins and after in (",", ")", "}", ":", "")


def _is_dict(line: list[Token], index: int, opened: int) -> bool:
    """Whether the braces at `opened`, in which there is a run at `index`, are those of a dict."""
    parts = _elements(line[opened + 1 : _closing(line, opened)])
    entries = [part for part in parts if part and not part[0].startswith("...")]
    if not entries:
        message = Message("`{{...}}` may be a dict or a set: write one entry of it as well")
        raise NotationError(message, line[index].start, end=line[index].end)
    return any(":" in part or part[0] == "**" for part in entries)


def _opening(line: list[Token], index: int) -> int:
    """The index of the bracket or `lambda` whose list holds the token at `index`.

    It is -1 at the level of the statement.
    """
    depth = colons = 0
    for back in range(index - 1, -1, -1):
        depth -= depth_of(line[back])
        if depth < 0:
            return back
        if depth == 0 and line[back].text == ":":
            colons += 1
        if depth == 0 and line[back].text == "lambda" and not colons:
            return back
    return -1


def _context(line: list[Token], opened: int) -> str:
    """The kind of list in the bracket at `opened`: call, params, import, brace or plain.

    In a plain one `...` is valid Python.
    """
    words = [token.text for token in line[:2]]
    is_from = words[:1] == ["from"] and any(token.text == "import" for token in line)
    is_import = is_from or words[:1] == ["import"]
    if opened < 0:
        return "import" if is_import else "plain"

    bracket = line[opened].text
    if bracket == "lambda":
        return "params"
    if bracket == "{":
        return "brace"
    if bracket != "(":
        return "plain"
    if is_import:
        return "import"
    if "def" in words and not any(token.text == "(" for token in line[:opened]):
        return "params"
    return "call" if opened and _can_be_called(line[opened - 1]) else "plain"


def _can_be_called(token: Token) -> bool:
    """Whether a bracket behind a token is that of a call."""
    if token.kind == "name":
        return not iskeyword(token.text)
    return token.kind in ("hole", "string") or token.text in (")", "]")


def _closing(line: list[Token], opened: int) -> int:
    """The index of the bracket that closes the one at `opened`; past the line without one."""
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
