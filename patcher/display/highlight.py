"""Syntax highlighting of Python: strings, comments and so on, and the function of each line.

One regular expression reads any text, also half a function or the syntax of another Python, which
`tokenize` and `ast` refuse.
"""

from __future__ import annotations

import keyword
import re
from typing import Tuple

_TOKEN = r"""(?xsm)
    (?P<comment>\#[^\n]*)
  | (?P<string>(?<!\w)[A-Za-z]{0,2}(?:
        '''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*(?:'''|\Z)
      | \"\"\"[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:\"\"\"|\Z)
      | '[^'\\\n]*(?:\\.[^'\\\n]*)*'? | "[^"\\\n]*(?:\\.[^"\\\n]*)*"?))
  | (?P<number>(?<!\w)\.?\d(?:[\w.]|(?<=[eE])[+-])*)
  | (?P<decorator>^[ \t]*@[ \t]*[\w.]+)
  | (?P<defined>(?<!\w)(?:def|class)[ \t]+\w+)
  | (?P<name>[^\W\d]\w*)
  | (?P<open>[(\[{])
  | (?P<close>[)\]}])
"""
_KEYWORDS = frozenset(keyword.kwlist)
_KNOWN = frozenset(
    (
        "self",
        "cls",
        "print",
        "super",
        "isinstance",
        "len",
        "getattr",
        "hasattr",
        "setattr",
        "range",
        "type",
    )
)
_LINE = r"(?m)^([ \t]*)(?:(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|[^\s#])"

TokenSpan = Tuple[int, int, str]
"""Start and end (character offsets) and kind.

The kind is `comment`, `string`, `number`, `decorator`, `keyword`, `defined` or `known`.
"""


def highlight(code: str) -> tuple[list[TokenSpan], list[str]]:
    """Highlight a Python text; its lines end with LF alone, as those of a diff do.

    Returns:
        its coloured parts, in order, and for each line the qualified name of the function or class
            around it.
    """
    spans: list[TokenSpan] = []
    inner: set[int] = set()  # offsets of lines that begin inside a string or brackets
    depth = begun = 0
    for token in re.finditer(_TOKEN, code):
        kind, start, end = str(token.lastgroup), *token.span()
        if kind == "open":
            depth, begun = depth + 1, begun if depth else start
        elif kind == "close":
            depth = max(0, depth - 1)
            inner.update(_line_starts(code, begun, end) if not depth else ())
        elif kind == "name":
            word = token.group()
            if word in _KEYWORDS or word in _KNOWN:
                spans.append((start, end, "keyword" if word in _KEYWORDS else "known"))
        elif kind == "defined":
            name = end - len(token.group().split()[-1])
            spans += [(start, name, "keyword"), (name, end, "defined")]
        else:
            spans.append((start, end, kind))
            # of a string: nothing else has several lines
            inner.update(_line_starts(code, start, end))
    return spans, _scopes(code, inner)


def _line_starts(code: str, start: int, end: int) -> list[int]:
    starts = []
    at = code.find("\n", start, end)
    while at >= 0:
        starts.append(at + 1)
        at = code.find("\n", at + 1, end)
    return starts


def _scopes(code: str, inner: set[int]) -> list[str]:
    """The scope of each line.

    An empty line, a comment or a line inside brackets has that of the line above it.
    """
    begins: dict[int, tuple[int, str]] = {}
    for line in re.finditer(_LINE, code):
        if line.start() not in inner:
            begins[line.start()] = len(line.group(1).expandtabs()), line.group(2) or ""
    scopes: list[str] = []
    stack: list[tuple[int, str]] = []
    at = 0
    for line_text in code.split("\n"):
        if at in begins:
            indent, name = begins[at]
            while stack and stack[-1][0] >= indent:
                stack.pop()
            stack += [(indent, name)] if name else []
        scopes.append(".".join(name for _, name in stack))
        at += len(line_text) + 1
    return scopes
