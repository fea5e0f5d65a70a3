"""Where the lines of a statement, the comments of its body and its header end: what stands around the nodes of a tree."""

from __future__ import annotations

from patcher.semantic.lex import Lines, find_outside
from patcher.semantic.node import CLAUSES, COMPOUND, Node


def alone_on_lines(text: str, lines: Lines, start: int, end: int) -> bool:
    """Whether nothing but blanks and a comment shares the lines of `[start, end)`."""
    before = text[lines.start(start) : start]
    after = text[end : lines.end(max(start, end - 1))].strip()
    return not before.strip() and (not after or after.startswith("#"))


def breaks_f_string(string: str, text: str) -> bool:
    """Whether code has a quote of the f-string it is put into, or what only Python 3.12 and newer reads there."""
    quotes = string.lstrip("rRfFtT")[:3]
    quote, breaks = (quotes, "\\#") if len(set(quotes)) == 1 and len(string) > 5 else (quotes[:1], "\\#\r\n")
    return quote in text or any(each in text for each in breaks)


def lines_end(text: str, lines: Lines, node: Node) -> int:
    """The offset past the lines of a statement or clause, with the comments at the end of its body."""
    end = lines.end(max(node.start, node.end - 1))
    return body_end(text, lines, end, lines.indent(node.begin)) if node.kind in COMPOUND | CLAUSES else end


def body_end(text: str, lines: Lines, end: int, indent: str) -> int:
    """`end`, or the offset past the last comment below it that is indented deeper than `indent`."""
    at = end
    while at < len(text):
        line, at = text[at : lines.end(at)], lines.end(at)
        comment = line.lstrip(" \t")
        if comment.startswith("#") and line.startswith(indent) and len(line) - len(comment) > len(indent):
            end = at
        elif comment.strip():
            break
    return end


def header_end(node: Node, text: str) -> int:
    """The offset past the `:` that ends the header of a compound statement or clause of `text`."""
    start = max((part.outer_end for part in node.header()), default=node.start)
    return find_outside(text, start, ":") + 1
