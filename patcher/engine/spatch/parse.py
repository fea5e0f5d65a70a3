"""The lines of one side of a hunk -> a tree: written as Python and parsed (format rule 3)."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Collection, Iterator, Mapping, NoReturn, Sequence

from patcher.engine import lex
from patcher.engine.match import LITERALS
from patcher.engine.node import Node, SyntaxProblem
from patcher.engine.parsing import parse_source
from patcher.engine.spatch import notation
from patcher.engine.spatch.hunk import reject
from patcher.engine.spatch.side import Side, SideLayout
from patcher.message import Message
from patcher.model import HunkText, OptionValue
from patcher.text.hidden import typeset

# `case = 1` is a statement
_CLAUSE = re.compile(r"(elif|else|except|finally)\b|case\b(?!\s*([.=,:;+/%&|^<>@)]|[-*]=|$))")
_ANY_CASE = " case _: ..."  # below a `match` that has no case, so that it parses
_BODY = " ..."  # behind a header that has no body


def read_side(hunk: HunkText, tag: str, options: Mapping[str, OptionValue]) -> Side:
    """Read the `-` (before) or `+` (after) side of a hunk; a side without code has no nodes.

    Raises:
        PatchError: the side does not parse, or names an option that is not declared.
    """
    name = "before" if tag == "-" else "after"
    written = _as_written(hunk, tag)
    logical = lex.logical_lines(written.text)
    _check_tokens(hunk, written, logical=logical)
    _check_indentation(hunk, written, side_name=name, logical=logical)

    first_clause = _first_clause(written.text, logical)
    lacking = written.context if tag == "+" else frozenset(written.numbers)
    side, added_rows = _completed(
        written,
        logical,
        first_clause=first_clause,
        lacking=lacking,
    )

    if not logical:
        return side

    logical = lex.logical_lines(side.text)
    try:
        python = notation.to_python(side.text, before=tag == "-")
        known = [*options, *LITERALS] if tag == "-" else list(options)
        _check_options(side.text, options, known)
        heads = {line.first for line in logical if line.indent == side.layout.indent}
        nodes = _parse(python, first_clause, heads=heads)
        notation.read_placeholders(nodes, python)
    except notation.NotationError as error:
        raise_marked(
            hunk,
            side,
            message=error.message,
            start=error.start,
            end=error.end,
        )
    except SyntaxProblem as error:
        _refuse_syntax(hunk, side, side_name=name, error=error)

    side = side._replace(text=python, nodes=nodes, lines=lex.Lines(python))
    _check_only_clauses(hunk, side, logical=logical)
    _drop_clauses(side, added_rows)
    return side


def _as_written(hunk: HunkText, tag: str) -> Side:
    """The lines of a side, as they stand in the hunk."""
    rows: list[str] = []
    numbers: list[int] = []
    context: set[int] = set()
    for kind, line, number in hunk.lines:
        if kind not in (" ", tag):
            continue

        rows.append(line)
        numbers.append(number)
        if kind == " ":
            context.add(number)

    text = "\n".join(rows)
    return Side(
        text=text,
        written=text,
        nodes=[],
        numbers=tuple(numbers or [hunk.line]),
        context=frozenset(context),
        lines=lex.Lines(text),
        layout=SideLayout(),
    )


def _first_clause(text: str, logical: Sequence[lex.LogicalLine]) -> str:
    """The keyword of the clause (`else`, `case`, …) that a side begins with.

    It is "" where the side begins with a statement.
    """
    match = _CLAUSE.match(text, logical[0].start) if logical else None
    return match.group() if match else ""


def _check_options(
    code: str,
    options: Mapping[str, OptionValue],
    known: Collection[str],
) -> None:
    """Raise a NotationError where the code of a side names an option that is not declared.

    Args:
        code: the code.
        options: those that are declared.
        known: the names that may stand there: these, and on a `-` line those of literals.
    """
    for name, start, end in notation.holes(code):
        is_option = name == name.lower() and name != "_"
        if is_option and name not in known:
            if name in LITERALS:
                template = "`${name}` stands on a `-` line alone: no literal is written"
                raise notation.NotationError(Message(template, name=name), start, end=end)

            declared = ", ".join(f"${option}" for option in sorted(options))
            message = Message(
                "the option `${name}` is not declared; declared: {known}",
                name=name,
                known=declared or Message("none"),
            )
            raise notation.NotationError(message, start, end=end)


def _refuse_syntax(
    hunk: HunkText,
    side: Side,
    side_name: str,
    error: SyntaxProblem,
) -> NoReturn:
    """Raise a `PatchError` about a side that does not parse.

    It names a bracket, or else says what the parser says.
    """
    _check_brackets(hunk, side, side_name=side_name)
    number = min(max(error.line, 1), len(side.numbers))
    line = side.text.split("\n")[number - 1]
    message = Message(
        "the {what} side does not parse: {message}",
        what=side_name,
        message=error.message,
    )
    reject(
        hunk.origin,
        side.numbers[number - 1],
        message=message,
        source=line,
        start=min(error.column, len(line)),
        end=0,
    )


def _check_only_clauses(
    hunk: HunkText,
    side: Side,
    logical: Sequence[lex.LogicalLine],
) -> None:
    """Refuse a statement among clauses: it is in no node of the side."""
    begins = [node.begin for node in side.nodes]
    for line in logical:
        index = bisect_right(begins, line.start) - 1
        if index < 0 or side.nodes[index].outer_end <= line.start:
            message = Message(
                "a side that begins with a clause (`else`, `except`, …) has clauses alone: write "
                "another hunk for this"
            )
            raise_marked(
                hunk,
                side,
                message=message,
                start=line.start,
                end=line.end,
            )


# what the parser would not name ------------------------------------------------------------------
def _check_tokens(
    hunk: HunkText,
    side: Side,
    logical: Sequence[lex.LogicalLine],
) -> None:
    """Refuse what the parser's error would not name.

    That is a quote, a dash or a blank of a web page outside of strings, and a backslash at the end
    of a line that joins no code to the next one.
    """
    starts = [line.start for line in logical]
    for token in lex.tokens(side.text):
        if token.kind == "op" and not token.text.isascii():
            message = Message("found {text}", text=typeset(token.text))
            raise_marked(
                hunk,
                side,
                message=message,
                start=token.start,
                end=token.end,
            )

        if token.kind == "space" and token.text[0] == "\\":
            index = bisect_right(starts, token.start) - 1
            if index < 0 or logical[index].end <= token.start:
                message = Message("this `\\` joins no code with the line below it: leave it out")
                raise_marked(
                    hunk,
                    side,
                    message=message,
                    start=token.start,
                    end=token.start + 1,
                )


def _check_brackets(hunk: HunkText, side: Side, side_name: str) -> None:
    """Name the bracket where the code of a side does not parse because of one."""
    opened: list[lex.Token] = []
    for token in lex.tokens(side.text):
        if token.kind != "op":
            continue
        if token.text in lex.BRACKETS:
            opened.append(token)
        elif opened and token.text == lex.BRACKETS[opened[-1].text]:
            opened.pop()
        elif token.text in lex.BRACKETS.values():
            problem = Message("this `{bracket}` closes nothing", bracket=token.text)
            _refuse_bracket(
                hunk,
                side,
                side_name=side_name,
                problem=problem,
                token=token,
            )

    if opened:
        problem = Message("this `{bracket}` is never closed", bracket=opened[-1].text)
        _refuse_bracket(
            hunk,
            side,
            side_name=side_name,
            problem=problem,
            token=opened[-1],
        )


def _refuse_bracket(
    hunk: HunkText,
    side: Side,
    side_name: str,
    problem: str,
    token: lex.Token,
) -> NoReturn:
    message = Message("the {what} side does not parse: {message}", what=side_name, message=problem)
    raise_marked(
        hunk,
        side,
        message=message,
        start=token.start,
        end=token.end,
    )


def _check_indentation(
    hunk: HunkText,
    side: Side,
    side_name: str,
    logical: Sequence[lex.LogicalLine],
) -> None:
    """Refuse a line whose indentation fits no block.

    The parser's error would name another line, or none.
    """
    blocks: list[str] = []
    opens_block = True
    for line in logical:
        is_deeper = not blocks or (line.indent != blocks[-1] and line.indent.startswith(blocks[-1]))
        problem = ""
        if is_deeper and not opens_block:
            problem = Message("is indented more than the one above it, which opens no block")
        elif not is_deeper and line.indent not in blocks:
            problem = _dedent_problem(line.indent, blocks)

        if problem:
            message = Message(
                "the {what} side does not parse: this line {problem}",
                what=side_name,
                problem=problem,
            )

            begin = side.lines.start(line.start)
            raise_marked(
                hunk,
                side,
                message=message,
                start=begin,
                end=begin + len(line.indent),
            )

        if is_deeper:
            blocks.append(line.indent)
        else:
            del blocks[blocks.index(line.indent) + 1 :]

        opens_block = line.opens


def _dedent_problem(indent: str, blocks: Sequence[str]) -> str:
    """What is wrong with the indentation of a line that continues none of `blocks`."""
    if "\t" in indent + blocks[-1] and not blocks[-1].startswith(indent):
        return Message("is not indented with the same tabs and blanks as the lines above it")
    if blocks[0].startswith(indent):
        return Message(
            "is indented less than the first one: write the header of that block above it"
        )

    return Message("is indented as no line above it is")


# what a side need not write ----------------------------------------------------------------------
def _completed(
    written: Side,
    logical: Sequence[lex.LogicalLine],
    first_clause: str,
    lacking: Collection[int],
) -> tuple[Side, frozenset[int]]:
    """A side with all that it needs to parse, and the rows (0-based) of added clauses.

    Args:
        written: the side as it stands in the hunk.
        logical: its logical lines.
        first_clause: the keyword of the clause that it begins with.
        lacking: the .spatch lines on which a `try` needs no clause.
    """
    base = " " if first_clause == "case" else ""
    code = _dedent(written.text, logical[0].indent if logical else "", base=base)
    numbers = list(written.numbers)
    code, added_rows = _with_clauses(code, numbers, lacking=lacking)
    code, bodies = _with_bodies(code)
    side = Side(
        text=code,
        written=code,
        nodes=[],
        numbers=tuple(numbers),
        context=written.context,
        lines=lex.Lines(code),
        layout=SideLayout(
            indent=base, strings=frozenset(lex.lines_in_strings(code)), bodies=bodies
        ),
    )

    return side, added_rows


def _dedent(raw: str, indent: str, base: str) -> str:
    """The lines of a side with `base` in the place of their common `indent`.

    Lines inside strings stay as they are.
    """
    inside_strings = set(lex.lines_in_strings(raw))
    lines: list[str] = []
    offset = 0
    for line in raw.split("\n"):
        if offset in inside_strings:
            lines.append(line)
        elif not line.strip():
            lines.append("")
        elif line.startswith(indent):
            lines.append(base + line[len(indent) :])
        else:
            lines.append(base + line.lstrip())

        offset += len(line) + 1

    return "\n".join(lines)


def _with_bodies(code: str) -> tuple[str, frozenset[int]]:
    """Add the body `...` to every header without one (rule 3).

    Returns the text, and the offset of each `...`.
    """
    added: list[int] = []
    for line in _headers_alone(lex.logical_lines(code)):
        at = line.end + len(_BODY) * len(added)
        code = code[:at] + _BODY + code[at:]
        added.append(at + 1)

    return code, frozenset(added)


def _headers_alone(logical: Sequence[lex.LogicalLine]) -> Iterator[lex.LogicalLine]:
    """The headers without a body."""
    for line, following in zip(logical, [*logical[1:], None]):
        if line.opens and (following is None or len(following.indent) <= len(line.indent)):
            yield line


def _with_clauses(
    code: str,
    numbers: list[int],
    lacking: Collection[int],
) -> tuple[str, frozenset[int]]:
    """Add a clause to every `try` and `match` without one, so that it parses.

    Args:
        code: the text of a side.
        numbers: the .spatch line of each of its lines; those of the added lines are inserted.
        lacking: the .spatch lines on which a `try` needs no clause.

    Returns:
        the text, and the row (0-based) of each added line.
    """
    logical, lines = lex.logical_lines(code), lex.Lines(code)
    additions: list[tuple[int, str]] = []  # the row of the line that is added, and the line
    for line in _headers_alone(logical):
        if line.first == "match":
            additions.append((lines.number(line.end - 1), line.indent + _ANY_CASE))

    for index, line in reversed(list(enumerate(logical))):
        if line.first != "try" or numbers[lines.number(line.start) - 1] not in lacking:
            continue

        end = index + 1
        while end < len(logical) and len(logical[end].indent) > len(line.indent):
            end += 1

        if end < len(logical) and _handles(logical[end], line):
            continue

        last = logical[end - 1].end - 1
        additions.append((lines.number(last), f"{line.indent}finally: ..."))

    rows: set[int] = set()
    written = code.split("\n")
    for count, (row, clause) in enumerate(sorted(additions, key=lambda addition: addition[0])):
        written.insert(row + count, clause)
        numbers.insert(row + count, numbers[row + count - 1])
        rows.add(row + count)

    return "\n".join(written), frozenset(rows)


def _handles(line: lex.LogicalLine, header: lex.LogicalLine) -> bool:
    """Whether a line is a clause of the `try` in `header`."""
    return line.indent == header.indent and line.first in ("except", "finally")


def _drop_clauses(side: Side, rows: Collection[int]) -> None:
    """Take the clauses of `_with_clauses` out of the tree again."""
    if not rows:
        return
    for node in side.walk():
        if node.kind in ("Try", "Match"):
            clauses: list[Node] = []
            for clause in node.items("clauses"):
                if side.lines.number(clause.start) - 1 not in rows:
                    clauses.append(clause)

            node.fields["clauses"] = clauses


def _parse(python: str, first_clause: str, heads: Collection[str]) -> list[Node]:
    """The nodes of a side.

    Args:
        python: its text.
        first_clause: the keyword of the first one of a side of clauses: they get a statement to
            parse.
        heads: the first words of its statements and clauses.

    Raises:
        SyntaxProblem: the side does not parse; its line is one of `python`.
    """
    added_clauses = 0
    if not first_clause:
        prefix = "\n"  # a comment above the first statement may be indented more
    elif first_clause == "case":
        prefix = "match _:\n"
    elif "except" in heads or "finally" in heads:
        added_clauses = int(first_clause == "else")
        prefix = "try:\n pass\n" + "except _:\n pass\n" * added_clauses
    else:
        prefix = "if _:\n pass\n"

    try:
        body = parse_source(prefix + python + "\n", offset=-len(prefix)).items("body")
    except SyntaxProblem as error:
        line = error.line - prefix.count("\n")
        raise SyntaxProblem(error.message, line, column=error.column) from None

    return body[0].items("clauses")[added_clauses:] if first_clause else body


def raise_marked(
    hunk: HunkText,
    side: Side,
    message: str,
    start: int,
    end: int,
) -> NoReturn:
    """Raise a `PatchError` with a marker under the characters `[start, end)` of a side."""
    number = side.lines.number(start)
    begin = side.lines.start(start)
    line = side.written[begin : side.lines.end(start)].rstrip("\n").replace("\t", " ")
    reject(
        hunk.origin,
        side.numbers[min(number, len(side.numbers)) - 1],
        message=message,
        source=line,
        start=start - begin,
        end=end - begin,
    )
