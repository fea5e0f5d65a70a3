"""The layout around the nodes of a tree.

Where the lines of a statement, the comments of its body and its header end.
"""

from __future__ import annotations

import re
from typing import Iterator, Sequence

from patcher.engine.lex import Lines, find_outside, lines_in_strings, tokens
from patcher.engine.node import Node


def alone_on_lines(lines: Lines, start: int, end: int) -> bool:
    """Whether nothing else is on the lines of `[start, end)`: blanks, a last `;`, a comment."""
    before = lines.text[lines.start(start) : start].strip()
    line_end = lines.end(max(start, end - 1))
    after = lines.text[end:line_end].strip()
    if after.startswith(";"):
        after = after[1:].strip()
    return not before and after[:1] in ("", "#")


def is_continuation(code: str, start: int) -> bool:
    """Whether the line that begins at `start` continues a line that ends in a backslash."""
    return code.endswith(("\\\n", "\\\r\n", "\\\r"), 0, start)


def breaks_f_string(string: str, code: str) -> bool:
    """Whether code cannot be put into an f-string.

    It has its quotes, or what only Python 3.12 and newer reads there.

    Args:
        string: the text of the f-string, with its prefix and quotes.
        code: the code.
    """
    quotes = string.lstrip("rRfFtT")[:3]
    is_triple = len(set(quotes)) == 1 and len(string) > 5
    quote = quotes if is_triple else quotes[:1]
    if quote in code or "\\" in code or "#" in code:
        return True
    return not is_triple and ("\r" in code or "\n" in code)


# ends ---------------------------------------------------------------------------------------------
def lines_end(lines: Lines, node: Node) -> int:
    """The offset past the lines of a statement or clause, with the comments at its body's end."""
    end = lines.end(max(node.start, node.end - 1))
    if not node.has_body:
        return end
    return body_end(lines, end, indent=lines.indent(node.begin))


def body_end(lines: Lines, end: int, indent: str) -> int:
    """`end`, or the offset past the last comment below it that is indented deeper than `indent`."""
    code = lines.text
    at = end
    while at < len(code):
        line = code[at : lines.end(at)]
        at += len(line)
        comment = line.lstrip(" \t")
        depth = len(line) - len(comment)
        is_deeper = line.startswith(indent) and depth > len(indent)
        if comment.startswith("#") and is_deeper:
            end = at
        elif comment.strip():
            break

    return end


def header_end(node: Node, code: str) -> int:
    """The offset past the `:` that ends the header of a compound statement or clause of `code`."""
    ends = [part.outer_end for part in node.header()]
    start = max(ends, default=node.start)
    return find_outside(code, start, ":") + 1


def code_end(node: Node, code: str) -> int:
    """The offset past a statement of `code`; of a compound statement or clause past its header."""
    if node.has_body:
        return header_end(node, code)
    return node.end


# moving statements --------------------------------------------------------------------------------
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
        deleted: character ranges that are deleted; comments above and below the statements in one
            of them are included.
        codes: the statements.
        indent: the indentation that they get.
        comments: for each statement its new trailing comment, "" to keep the old one,
            None for no comment.
    """
    source = lines.text
    head = codes[0].begin
    if not alone_on_lines(lines, head, codes[-1].end):
        statements = [indent + source[code.start : code.end] for code in codes]
        joined = lines.newline.join(statements)
        return "  ".join([joined, *filter(None, comments)])

    start, end = _with_comments(lines, deleted, codes)
    region = source[start:end].rstrip("\r\n")
    for code, comment in reversed(list(zip(codes, comments))):
        if comment == "":
            continue

        line_end = lines.end(code.end - 1)
        above = source[start:line_end].rstrip("\r\n")
        below = region[len(above) :]
        trailing = f"  {comment}" if comment else ""
        region = region[: code.end - start] + trailing + below

    old_indent = source[lines.start(head) : head]
    return _shifted(region, old_indent, indent)


def _shifted(region: str, old_indent: str, indent: str) -> str:
    """Lines at another indentation, except for those that begin inside a string."""
    in_strings = set(lines_in_strings(region))
    shifted = ""
    offset = 0
    for line in _lines(region):
        is_code = offset not in in_strings and line.strip()
        if is_code and line.startswith(old_indent):
            shifted += indent + line[len(old_indent) :]
        else:
            shifted += line

        offset += len(line)

    return shifted


def _with_comments(
    lines: Lines,
    deleted: Sequence[tuple[int, int]],
    codes: Sequence[Node],
) -> tuple[int, int]:
    """The lines of some statements, with the comments around them that are to be kept."""
    head = codes[0].begin
    last = codes[-1]
    start = lines.start(head)
    end = lines_end(lines, last)
    highest, lowest = start, end
    for deleted_start, deleted_end in deleted:
        if deleted_start < head and last.end <= deleted_end:
            highest, lowest = deleted_start, deleted_end
            break

    width = head - lines.start(head)
    while start > highest and _is_comment(lines, start - 1):
        if len(lines.indent(start - 1)) > width:  # at the end of the block above
            break
        start = lines.start(start - 1)

    owner = last.parent.parent if last.parent is not None else None
    if owner is not None and _siblings(last)[-1] is last:
        end_of_body = body_end(lines, end, indent=lines.indent(owner.begin))
        end = min(max(lowest, end), end_of_body)

    return start, end


def _is_comment(lines: Lines, offset: int) -> bool:
    """Whether the line of an offset is a comment alone."""
    line = lines.text[lines.start(offset) : lines.end(offset)]
    return line.lstrip(" \t").startswith("#")


def _lines(text: str) -> Iterator[str]:
    """The lines of a text with their line breaks."""
    for match in re.finditer(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text):
        yield match.group()


def neighbours(above: Node, below: Node) -> bool:
    """Whether two statements follow each other in one block of the file."""
    siblings = _siblings(above)
    past = siblings.index(above) + 1
    return siblings[past : past + 1] == [below]


def _siblings(node: Node) -> list[Node]:
    """`Node.siblings`, with the docstring of a block."""
    if node.parent is not None and node.parent.kind == "Block":
        return node.parent.statements()
    return node.siblings()


def stretches(rows: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the last of each run of consecutive rows."""
    runs: list[tuple[int, int]] = []
    for row in rows:
        start = row
        if runs and runs[-1][1] == row - 1:
            start, _ = runs.pop()
        runs.append((start, row))

    return runs


# comments -----------------------------------------------------------------------------------------
def cut_comment(code: str) -> tuple[str, str]:
    """A rendered line without its trailing comment, and that comment with two blanks before it."""
    for token in tokens(code):
        if token.kind == "comment" and token.end == len(code):
            return code[: token.start].rstrip(), "  " + token.text

    return code, ""


def without_comments(code: str) -> str:
    """An expression without the comments in it, and the blanks before them."""
    kept = ""
    end = 0
    for token in tokens(code):
        if token.kind == "comment":
            kept += code[end : token.start].rstrip(" \t")
            end = token.end

    return kept + code[end:]
