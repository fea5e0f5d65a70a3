"""The lines of one side of a hunk -> a tree: written as Python and parsed (format rule 3)."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Iterator, Mapping, NoReturn, Sequence

from patcher.engine import lex
from patcher.engine.node import Node, SyntaxProblem
from patcher.engine.spatch import notation
from patcher.engine.spatch.hunk import reject
from patcher.engine.spatch.side import Side
from patcher.engine.syntax import parse_source
from patcher.message import Message
from patcher.model import HunkText, OptionValue
from patcher.text.hidden import typeset

# `case = 1` is a statement
_CLAUSE = re.compile(r"(elif|else|except|finally)\b|case\b(?!\s*([.=,:;+/%&|^<>@)]|[-*]=|$))")
_ANY_CASE = " case _: ..."  # below a `match` that has no case, so that it parses


def read_side(hunk: HunkText, tag: str, options: Mapping[str, OptionValue]) -> Side:
    """Read the `-` (before) or `+` (after) side of a hunk; a side without code has no nodes.

    Raises:
        PatchError: the side does not parse, or names an option that is not declared.
    """
    lines = [(line, number, kind == " ") for kind, line, number in hunk.lines if kind in (" ", tag)]
    raw = "\n".join(line for line, _, _ in lines)
    logical = lex.logical_lines(raw)
    context = frozenset(number for _, number, is_context in lines if is_context)
    numbers = [number for _, number, _ in lines] or [hunk.line]
    side_name = "before" if tag == "-" else "after"
    whole = Side(
        raw, raw, [], tuple(numbers), context, lex.Lines(raw), frozenset(), "", frozenset()
    )
    _check_tokens(hunk, whole, logical)
    _check_indentation(hunk, whole, side_name, logical)
    clause = _CLAUSE.match(raw, logical[0].start) if logical else None
    case = " " if clause and clause.group() == "case" else ""
    code = _dedent(raw, logical[0].indent if logical else "", case)
    code, lone = _with_clauses(code, numbers, context if tag == "+" else frozenset(numbers))
    code, bodies = _with_bodies(code)
    side = Side(
        code,
        code,
        [],
        tuple(numbers),
        context,
        lex.Lines(code),
        frozenset(lex.lines_in_strings(code)),
        case,
        bodies,
    )
    if not logical:
        return side
    try:
        python = notation.to_python(code, before=tag == "-")
        for name, start, end in notation.holes(code):
            if name == name.lower() and name != "_" and name not in options:
                declared = ", ".join(f"${option}" for option in sorted(options)) or Message("none")
                raise notation.NotationError(
                    Message(
                        "the option `${name}` is not declared; declared: {known}",
                        name=name,
                        known=declared,
                    ),
                    start,
                    end,
                )
        logical = lex.logical_lines(code)
        nodes = _parse(
            python,
            clause.group() if clause else "",
            {line.first for line in logical if line.indent == case},
        )
        notation.read_placeholders(nodes, python)
    except notation.NotationError as error:
        raise_marked(hunk, side, error.message, error.start, error.end)
    except SyntaxProblem as error:
        _check_brackets(hunk, side, side_name)
        number = min(max(error.line, 1), len(numbers))
        line = code.split("\n")[number - 1]
        reject(
            hunk.origin,
            numbers[number - 1],
            Message(
                "the {what} side does not parse: {message}", what=side_name, message=error.message
            ),
            line,
            min(error.column, len(line)),
            0,
        )
    begins = [node.begin for node in nodes]
    for statement in logical:
        index = bisect_right(begins, statement.start) - 1
        if index < 0 or nodes[index].outer_end <= statement.start:
            message = Message(
                "a side that begins with a clause (`else`, `except`, …) has clauses alone: write another hunk for this"
            )
            raise_marked(hunk, side, message, statement.start, statement.end)
    for node in (
        [node for top in nodes for node in top.walk() if node.kind in ("Try", "Match")]
        if lone
        else ()
    ):
        node.fields["clauses"] = [
            clause
            for clause in node.items("clauses")
            if side.lines.number(clause.start) - 1 not in lone
        ]
    return side._replace(text=python, nodes=nodes, lines=lex.Lines(python))


def _dedent(raw: str, indent: str, base: str) -> str:
    inside = set(lex.lines_in_strings(raw))
    lines, offset = [], 0
    for line in raw.split("\n"):
        kept = (
            line
            if offset in inside or not line.strip()
            else base + (line[len(indent) :] if line.startswith(indent) else line.lstrip())
        )
        lines.append(kept if offset in inside or line.strip() else "")
        offset += len(line) + 1
    return "\n".join(lines)


def _check_tokens(hunk: HunkText, side: Side, logical: Sequence[lex.LogicalLine]) -> None:
    """Refuse what the parser's error would not name.

    That is a quote, a dash or a blank of a web page outside of strings, and a backslash at the end of a line that joins no
    code to the next one.
    """
    starts = [line.start for line in logical]
    for token in lex.tokens(side.text):
        index = bisect_right(starts, token.start) - 1
        if token.kind == "op" and not token.text.isascii():
            raise_marked(
                hunk,
                side,
                Message("found {text}", text=typeset(token.text)),
                token.start,
                token.end,
            )
        if (
            token.kind == "space"
            and token.text[0] == "\\"
            and (index < 0 or logical[index].end <= token.start)
        ):
            message = Message("this `\\` joins no code with the line below it: leave it out")
            raise_marked(hunk, side, message, token.start, token.start + 1)


def _check_brackets(hunk: HunkText, side: Side, side_name: str) -> None:
    """Name the bracket where the code of a side does not parse because of one."""
    opened: list[lex.Token] = []
    template = "the {what} side does not parse: {message}"
    for token in (token for token in lex.tokens(side.text) if token.kind == "op"):
        if token.text in lex.BRACKETS:
            opened.append(token)
        elif opened and token.text == lex.BRACKETS[opened[-1].text]:
            opened.pop()
        elif token.text in lex.BRACKETS.values():
            message = Message("this `{bracket}` closes nothing", bracket=token.text)
            raise_marked(
                hunk,
                side,
                Message(template, what=side_name, message=message),
                token.start,
                token.end,
            )
    if opened:
        message = Message("this `{bracket}` is never closed", bracket=opened[-1].text)
        raise_marked(
            hunk,
            side,
            Message(template, what=side_name, message=message),
            opened[-1].start,
            opened[-1].end,
        )


def _check_indentation(
    hunk: HunkText, side: Side, side_name: str, logical: Sequence[lex.LogicalLine]
) -> None:
    """Refuse a line whose indentation fits no block: the parser's error would name another line, or none."""
    blocks: list[str] = []
    opens = True
    for line in logical:
        deeper = not blocks or (line.indent != blocks[-1] and line.indent.startswith(blocks[-1]))
        problem = ""
        if deeper and not opens:
            problem = Message("is indented more than the one above it, which opens no block")
        elif not deeper and line.indent not in blocks:
            problem = Message("is indented as no line above it is")
            if "\t" in line.indent + blocks[-1] and not blocks[-1].startswith(line.indent):
                problem = Message(
                    "is not indented with the same tabs and blanks as the lines above it"
                )
            elif blocks[0].startswith(line.indent):
                problem = Message(
                    "is indented less than the first one: write the header of that block above it"
                )
        if problem:
            message = Message(
                "the {what} side does not parse: this line {problem}",
                what=side_name,
                problem=problem,
            )
            begin = side.lines.start(line.start)
            raise_marked(hunk, side, message, begin, begin + len(line.indent))
        blocks = [*blocks, line.indent] if deeper else blocks[: blocks.index(line.indent) + 1]
        opens = line.opens


def _with_bodies(code: str) -> tuple[str, frozenset[int]]:
    """Add the body `...` to every header without one (rule 3); returns the text and the offset of each `...`."""
    logical = lex.logical_lines(code)
    added: list[int] = []
    for line in _headers_alone(logical):
        at = line.end + 4 * len(added)
        code = code[:at] + " ..." + code[at:]
        added.append(at + 1)
    return code, frozenset(added)


def _headers_alone(logical: Sequence[lex.LogicalLine]) -> Iterator[lex.LogicalLine]:
    """The headers without a body."""
    for line, following in zip(logical, [*logical[1:], None]):
        if line.opens and (following is None or len(following.indent) <= len(line.indent)):
            yield line


def _with_clauses(code: str, numbers: list[int], may: frozenset[int]) -> tuple[str, frozenset[int]]:
    """Add a clause to every `try` and `match` without one, so that it parses; returns the text and the row of each (0-based).

    `numbers` gets the numbers of the added lines; `may` are the .spatch lines on which a `try` needs no clause.
    """
    logical, lines = lex.logical_lines(code), lex.Lines(code)
    added: list[tuple[int, str]] = []
    for line in _headers_alone(logical):
        if line.first == "match":
            added.append((lines.number(line.end - 1), line.indent + _ANY_CASE))
    for index, line in reversed(list(enumerate(logical))):
        if line.first != "try":
            continue
        end = index + 1
        while end < len(logical) and len(logical[end].indent) > len(line.indent):
            end += 1
        alone = not any(
            peer.first in ("except", "finally")
            for peer in logical[end : end + 1]
            if peer.indent == line.indent
        )
        if alone and numbers[lines.number(line.start) - 1] in may:
            added.append((lines.number(logical[end - 1].end - 1), f"{line.indent}finally: ..."))
    rows: set[int] = set()
    written = code.split("\n")
    for count, (row, clause) in enumerate(sorted(added, key=lambda addition: addition[0])):
        written.insert(row + count, clause)
        numbers.insert(row + count, numbers[row + count - 1])
        rows.add(row + count)
    return "\n".join(written), frozenset(rows)


def _parse(python: str, keyword: str, heads: set[str]) -> list[Node]:
    """The nodes of a side. `keyword` is the keyword of the first clause of a side of clauses: they get a statement to parse.

    Raises:
        SyntaxProblem: the side does not parse; its line is one of `python`.
    """
    dummies = 0
    if not keyword:
        prefix = "\n"  # a comment above the first statement may be indented more
    elif keyword == "case":
        prefix = "match _:\n"
    elif heads & {"except", "finally"}:
        dummies = int(keyword == "else")
        prefix = "try:\n pass\n" + "except _:\n pass\n" * dummies
    else:
        prefix = "if _:\n pass\n"
    try:
        body = parse_source(prefix + python + "\n", offset=-len(prefix)).items("body")
    except SyntaxProblem as error:
        raise SyntaxProblem(error.message, error.line - prefix.count("\n"), error.column) from None
    return body[0].items("clauses")[dummies:] if keyword else body


def raise_marked(hunk: HunkText, side: Side, message: str, start: int, end: int) -> NoReturn:
    """Raise a `PatchError` with a marker under the characters `[start, end)` of a side."""
    number = side.lines.number(start)
    begin = side.lines.start(start)
    line = side.written[begin : side.lines.end(start)].rstrip("\n").replace("\t", " ")
    reject(
        hunk.origin,
        side.numbers[min(number, len(side.numbers)) - 1],
        message,
        line,
        start - begin,
        end - begin,
    )
