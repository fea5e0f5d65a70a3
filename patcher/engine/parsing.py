"""Python text -> a tree of `Node`s, unless it nests so deeply that it cannot be read."""

from __future__ import annotations

import re
import sys

from patcher.engine.lex import Token, expressions
from patcher.engine.node import Node, SyntaxProblem
from patcher.message import Message

_MAX_BRACKETS = 200  # CPython reads no deeper nesting either (its tokenizer's MAXLEVEL)
_MAX_CHAIN = 500  # from about 400 on the parser runs into Python's recursion limit
# characters: before Python 3.11 `ast.parse` crashes on a chain of some hundred thousand
_DANGEROUS = 40_000
_MAX_IN_CASE = 7  # brackets in a pattern of `case`: with each level libcst takes ten times as long
_STRING = r"""[A-Za-z]{0,3}(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"
    |'(?:[^'\\\r\n]|\\.)*'|"(?:[^"\\\r\n]|\\.)*")"""
_PART = re.compile(
    rf"""{_STRING}|\#[^\r\n]*|\\\r?\n|[\r\n][ \t]*|[^\w\s]
    |\b(?:and|or|not|if|else|elif|for|lambda|await|in|is|case(?!\s*[.=,:]))\b""",
    re.VERBOSE | re.DOTALL,
)
"""What opens or closes a bracket, chains or ends code; a string or a comment is one part."""
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


def parse_source(code: str, *, offset: int = 0, newline: str = "\n", indent: str = "    ") -> Node:
    """Parse module text (or an indented part of one) into a `Block`.

    Args:
        code: source text; an indented part begins at the start of a line.
        offset: the character offset of `code` in its file, which is added to every span.
        newline: the file's line break, which libcst cannot always detect in a part of a file.
        indent: the file's indentation unit.

    Raises:
        SyntaxProblem: not valid Python, or libcst does not reproduce the text byte for byte.
    """
    # with libcst, which costs sixteen starts of Python: only where something is parsed
    from patcher.engine.syntax import parse_module

    check_depth(code)
    return parse_module(code, offset=offset, newline=newline, indent=indent)


# limits: libcst would overflow the stack on text that nests deeper, or take hours -----------------
def check_depth(code: str) -> None:
    """Refuse a text that nests too deeply, or has too long a chain.

    A chain is one of operators, attributes, calls or `elif`.

    Raises:
        SyntaxProblem: it does, with the line.
    """
    if len(code) <= _MAX_BRACKETS and "case" not in code:
        return
    nesting = _Nesting()
    for match in _PART.finditer(code):
        nesting.add(match.group())
        if nesting.is_too_deep():
            line = len(_LINE_BREAK.findall(code[: match.start()])) + 1
            raise SyntaxProblem(Message("the code is nested too deeply to be read"), line)


class _Nesting:
    """How deep the code nests, after each part of a text (a match of `_PART`).

    `base` is the depth of the innermost open bracket, `chain` the number of parts that are chained
    in it so far. `outer` has both for each bracket around it.
    """

    def __init__(self) -> None:
        self.base = 0
        self.chain = 0
        self.outer: list[tuple[int, int]] = []
        self.string_chain = 0  # the chain inside the last part, if that is an f-string
        self.elifs: dict[str, int] = {}  # their number by indentation
        self.indent = ""
        self.begins_line = True
        self.in_case = False

    def add(self, part: str) -> None:
        """Take the next part into account."""
        first = part[0]
        if first in "([{":
            self.outer.append((self.base, self.chain + 1))
            self.base += self.chain + 1
            self.chain = 0
        elif first in ")]}":
            self.base, self.chain = self.outer.pop() if self.outer else (0, 0)
        elif first in ",;":
            self.chain = 0
        elif first in "\r\n":
            self._begin_line(part)
        elif first == ":":
            self.in_case = self.in_case and bool(self.outer)
        elif part == "case":
            self.in_case = not self.outer
        elif first not in "=#\\":  # these chain nothing
            self._link(part)
        self.begins_line = first in "\r\n"
        self.string_chain = _chain_inside(part) if "{" in part[1:] else 0

    def _begin_line(self, part: str) -> None:
        """Begin a line, of which the blanks are in `part`; in brackets the statement goes on."""
        if not self.outer:
            self.indent = part[1:]
            self.chain = 0
            self.in_case = False

    def _link(self, part: str) -> None:
        """Make the chain longer by an operator, a string or a keyword."""
        self.chain += 1
        if part == "if":  # the guard of a case is no pattern
            self.in_case = False
        if self.begins_line and part == "if":
            self.elifs[self.indent] = 0
        elif self.begins_line and part == "elif":
            self.elifs[self.indent] = self.elifs.get(self.indent, 0) + 1

    def is_too_deep(self) -> bool:
        """Whether libcst could not read a text that is as deep as this."""
        most_brackets = _MAX_IN_CASE if self.in_case else _MAX_BRACKETS
        if len(self.outer) > most_brackets:
            return True
        depth = self.base + self.chain + self.string_chain
        return max(depth, self.elifs.get(self.indent, 0)) > _MAX_CHAIN


def check_for_ast(code: str) -> None:
    """Check the depth of a whole file before `ast.parse` reads it.

    Only where `ast.parse` does not check it itself.

    Raises:
        SyntaxProblem: see `check_depth`.
    """
    if sys.version_info < (3, 11) and len(code) > _DANGEROUS:
        check_depth(code)


def _chain_inside(string: str) -> int:
    """An upper bound for the longest chain in the braces of an f-string; 0 for other strings."""
    parts = expressions(Token("string", string, 0, len(string)))
    if not parts:
        return 0
    return sum(part.kind in ("op", "run", "string") for part in parts) + string.count("{")
