"""Refuses text that nests too deeply, before libcst reads it: libcst would overflow the stack, or take hours."""

from __future__ import annotations

import re
import sys
from typing import Dict, List

from patcher.engine.lex import Token, expressions
from patcher.engine.node import SyntaxProblem

_MAX_BRACKETS = 200  # CPython reads no deeper nesting either (its tokenizer's MAXLEVEL)
_MAX_CHAIN = 500  # from about 400 on the parser runs into Python's recursion limit
_DANGEROUS = 40_000  # characters: before Python 3.11 `ast.parse` crashes on a chain of some hundred thousand
_MAX_IN_CASE = 7  # brackets in a pattern of `case`: for each level libcst takes ten times as long
_STRING = r"""[A-Za-z]{0,3}(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^'\\\r\n]|\\.)*'|"(?:[^"\\\r\n]|\\.)*")"""
_PART = re.compile(
    rf"""{_STRING}|\#[^\r\n]*|\\\r?\n|[\r\n][ \t]*|[^\w\s]
    |\b(?:and|or|not|if|else|elif|for|lambda|await|in|is|case(?!\s*[.=,:]))\b""",
    re.VERBOSE | re.DOTALL,
)


def check_depth(text: str) -> None:
    """Refuse a text that is nested too deeply, or has too long a chain of operators, attributes, calls or `elif`.

    Raises:
        SyntaxProblem: it is, with its line.
    """
    if len(text) <= _MAX_BRACKETS and "case" not in text:
        return
    around: List[int] = []  # how deep the code around each open bracket is
    base = chain = 0  # how deep the innermost bracket is, and what is chained in it
    elifs: Dict[str, int] = {}
    indent, starts, in_case = "", True, False
    for found in _PART.finditer(text):
        part = found.group()
        first = part[0]
        if first in "=#\\":
            pass
        elif first in "([{":
            around.append(base)
            around.append(chain + 1)
            base, chain = base + chain + 1, 0
        elif first in ")]}":
            chain, base = (around.pop(), around.pop()) if around else (0, 0)
        elif first in ",;":
            chain = 0
        elif first in "\r\n":
            if not around:
                indent, chain, in_case = part[1:], 0, False
        elif first == ":":
            in_case = in_case and bool(around)
        elif part == "case":
            in_case = not around
        else:
            chain += 1
            in_case = in_case and part != "if"
            if starts and part in ("if", "elif"):
                elifs[indent] = elifs.get(indent, 0) + 1 if part == "elif" else 0
        starts = first in "\r\n"
        deep = max(base + chain + (_inside(part) if "{" in part[1:] else 0), elifs.get(indent, 0))
        if deep > _MAX_CHAIN or len(around) > 2 * (_MAX_IN_CASE if in_case else _MAX_BRACKETS):
            line = len(re.findall(r"\r\n|\r|\n", text[: found.start()])) + 1
            raise SyntaxProblem("the code is nested too deeply to be read", line)


def check_for_ast(text: str) -> None:
    """`check_depth` for a whole file that `ast.parse` is to read; only where that does not check the depth itself.

    Raises:
        SyntaxProblem: see `check_depth`.
    """
    if sys.version_info < (3, 11) and len(text) > _DANGEROUS:
        check_depth(text)


def _inside(string: str) -> int:
    """The length of the longest chain in the braces of an f-string, at most."""
    parts = expressions(Token("string", string, 0, len(string)))
    return sum(part.kind in ("op", "run", "string") for part in parts) + (string.count("{") if parts else 0)
