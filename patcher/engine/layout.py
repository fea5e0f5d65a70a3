"""The layout around the nodes of a tree: where the lines of a statement, the comments of its body and its header end."""

from __future__ import annotations

import re
from typing import Sequence

from patcher.engine.lex import Lines, find_outside, lines_in_strings, tokens
from patcher.engine.node import Node


def alone_on_lines(lines: Lines, start: int, end: int) -> bool:
    """Whether the lines of `[start, end)` have nothing else but blanks and a comment."""
    before = lines.text[lines.start(start) : start]
    after = lines.text[end : lines.end(max(start, end - 1))].strip()
    return not before.strip() and (not after or after.startswith("#"))


def is_continuation(code: str, start: int) -> bool:
    """Whether the line that begins at `start` continues the one above it, which ends with a backslash."""
    return code[max(0, start - 3) : start].rstrip("\r\n").endswith("\\")


def breaks_f_string(string: str, code: str) -> bool:
    """Whether code cannot be put into an f-string: it has its quotes, or what only Python 3.12 and newer reads there.

    Args:
        string: the text of the f-string, with its prefix and quotes.
        code: the code.
    """
    quotes = string.lstrip("rRfFtT")[:3]
    quote, breaks = (
        (quotes, "\\#") if len(set(quotes)) == 1 and len(string) > 5 else (quotes[:1], "\\#\r\n")
    )
    return quote in code or any(letter in code for letter in breaks)


def lines_end(lines: Lines, node: Node) -> int:
    """The offset past the lines of a statement or clause, with the comments at the end of its body."""
    end = lines.end(max(node.start, node.end - 1))
    return body_end(lines, end, lines.indent(node.begin)) if node.has_body else end


def body_end(lines: Lines, end: int, indent: str) -> int:
    """`end`, or the offset past the last comment below it that is indented deeper than `indent`."""
    code, at = lines.text, end
    while at < len(code):
        line, at = code[at : lines.end(at)], lines.end(at)
        comment = line.lstrip(" \t")
        if (
            comment.startswith("#")
            and line.startswith(indent)
            and len(line) - len(comment) > len(indent)
        ):
            end = at
        elif comment.strip():
            break
    return end


def header_end(node: Node, code: str) -> int:
    """The offset past the `:` that ends the header of a compound statement or clause of `code`."""
    start = max((part.outer_end for part in node.header()), default=node.start)
    return find_outside(code, start, ":") + 1


def code_end(node: Node, code: str) -> int:
    """The offset past a statement of `code`; of a compound statement or clause past its header."""
    return header_end(node, code) if node.has_body else node.end


def reindented(
    lines: Lines,
    deleted: Sequence[tuple[int, int]],
    codes: Sequence[Node],
    indent: str,
    comments: Sequence[str | None] = (),
) -> str:
    """The lines of consecutive statements at another indentation, without the last line break.

    Args:
        lines: the file.
        deleted: character ranges that are deleted; comments above and below the statements in one of them are included.
        codes: the statements.
        indent: the indentation that they get.
        comments: for each statement its new trailing comment, "" to keep the old one, None for none.
    """
    source, head = lines.text, codes[0].begin
    if not alone_on_lines(lines, head, codes[-1].end):
        joined = indent + (lines.newline + indent).join(
            source[code.start : code.end] for code in codes
        )
        return "  ".join([joined, *filter(None, comments)])
    start = lines.start(head)
    end = lines_end(lines, codes[-1])
    around = next(
        (span for span in deleted if span[0] < head and codes[-1].end <= span[1]), (start, end)
    )
    old = source[lines.start(head) : head]
    while start > around[0] and re.match(r"[ \t]*#", source[lines.start(start - 1) : start]):
        if len(lines.indent(start - 1)) > len(old):  # at the end of the block above
            break
        # the code around these statements is deleted: their comments are kept
        start = lines.start(start - 1)
    owner = codes[-1].parent.parent if codes[-1].parent is not None else None
    if owner is not None and _siblings(codes[-1])[-1] is codes[-1]:
        end = min(max(around[1], end), body_end(lines, end, lines.indent(owner.begin)))
    region = source[start:end].rstrip("\r\n")
    for code, comment in reversed(list(zip(codes, comments))):
        if comment != "":
            begin, stop = (
                code.end - start,
                len(source[start : lines.end(code.end - 1)].rstrip("\r\n")),
            )
            region = region[:begin] + (f"  {comment}" if comment else "") + region[stop:]
    inside = set(lines_in_strings(region))
    out, offset = "", 0
    for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", region):
        moves = offset not in inside and line.startswith(old) and line.strip()
        out += indent + line[len(old) :] if moves else line
        offset += len(line)
    return out


def cut_comment(code: str) -> tuple[str, str]:
    """A rendered line without its trailing comment, and that comment with two blanks before it."""
    comment = next(
        (token for token in tokens(code) if token.kind == "comment" and token.end == len(code)),
        None,
    )
    return (code[: comment.start].rstrip(), "  " + comment.text) if comment else (code, "")


def neighbours(above: Node, below: Node) -> bool:
    """Whether two statements follow each other in one block of the file."""
    siblings = _siblings(above)
    return siblings[siblings.index(above) + 1 :][:1] == [below]


def _siblings(node: Node) -> list[Node]:
    """`Node.siblings`, with the docstring of a block."""
    return (
        node.parent.statements()
        if node.parent is not None and node.parent.kind == "Block"
        else node.siblings()
    )


def stretches(rows: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the last of each run of consecutive rows."""
    runs: list[tuple[int, int]] = []
    for row in rows:
        start = runs.pop()[0] if runs and runs[-1][1] == row - 1 else row
        runs.append((start, row))
    return runs


def without_comments(code: str) -> str:
    """An expression without the comments in it, and the blanks before them."""
    parts, end = [], 0
    for token in tokens(code):
        if token.kind == "comment":
            parts.append(code[end : token.start].rstrip(" \t"))
            end = token.end
    return "".join([*parts, code[end:]])
