"""One side of a hunk: its lines written as Python and parsed, with the .spatch line of everything in it."""

from __future__ import annotations

import re
from typing import FrozenSet, List, Mapping, NamedTuple, NoReturn, Optional, Set, Tuple

from patcher.model import HunkText, OptionValue
from patcher.semantic import lex, notation
from patcher.semantic.hunk import refuse
from patcher.semantic.node import Node, SyntaxProblem
from patcher.semantic.tree import parse

_CLAUSE = re.compile(r"\s*(elif|else|except|finally|case)\b")


class Side(NamedTuple):
    """One side of a hunk.

    `text` is Python of the same length as `written`; `nodes` its statements, clauses, or the one expression;
    `numbers` the .spatch line of each line of `text`; `context` the lines that both sides have; `strings` the offsets of
    line starts inside strings.
    """

    text: str
    written: str
    nodes: List[Node]
    numbers: Tuple[int, ...]
    context: FrozenSet[int]
    lines: lex.Lines
    strings: FrozenSet[int]
    indent: str

    def number(self, node: Node) -> int:
        """The .spatch line on which a node begins."""
        return self.numbers[self.lines.number(node.start) - 1]

    def kept_line(self, node: Node) -> int:
        """The .spatch line of a node that lies on context lines only, else 0."""
        first, last = self.lines.number(node.start), self.lines.number(max(node.start, node.end - 1))
        lines = self.numbers[first - 1 : last]
        return lines[0] if all(line in self.context for line in lines) else 0


def read_side(hunk: HunkText, tag: str, options: Mapping[str, OptionValue]) -> Side:
    """Read the `-` (before) or `+` (after) side of a hunk; a side without code has no nodes.

    Raises:
        PatchError: the side does not parse, or names an option that is not declared.
    """
    lines = [(text, number, kind == " ") for kind, text, number in hunk.lines if kind in (" ", tag)]
    raw = "\n".join(text for text, _, _ in lines)
    logical = lex.logical_lines(raw)
    context = frozenset(number for _, number, both in lines if both)
    numbers = tuple(number for _, number, _ in lines) or (hunk.line,)
    indent = min((line.indent for line in logical), key=len, default="")
    case = bool(logical) and logical[0].first == "case"
    text = _dedent(raw, indent, " " if case else "")
    text = _with_bodies(text)
    side = Side(text, text, [], numbers, context, lex.Lines(text), frozenset(lex.lines_in_strings(text)), " " if case else "")
    if not logical:
        return side
    try:
        python = notation.to_python(text, before=tag == "-")
        for name, start, end in notation.holes(text):
            if name == name.lower() and name != "_" and name not in options:
                known = ", ".join(f"${option}" for option in sorted(options)) or "none"
                raise notation.NotationError(f"the option `${name}` is not declared; declared: {known}", start, end)
        nodes = _parse(python, logical[0].first, {line.first for line in logical if line.indent == indent})
    except notation.NotationError as error:
        mark(hunk, side, error.message, error.start, error.end)
    except SyntaxProblem as error:
        what = "before" if tag == "-" else "after"
        number = min(max(error.line, 1), len(numbers))
        line = text.split("\n")[number - 1]
        refuse(
            hunk.origin,
            numbers[number - 1],
            f"the {what} side does not parse: {error.message}",
            line,
            min(error.column, len(line)),
            0,
        )
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


def _with_bodies(text: str) -> str:
    """A header whose body is not written has the body `...` (rule 3)."""
    logical = lex.logical_lines(text)
    for line, following in reversed(list(zip(logical, [*logical[1:], None]))):
        if line.opens and (following is None or len(following.indent) <= len(line.indent)):
            text = text[: line.end] + " ..." + text[line.end :]
    return text


def _parse(python: str, first: str, heads: Set[str]) -> List[Node]:
    """The nodes of a side; clauses are parsed below a statement they can belong to."""
    if not _CLAUSE.match(first):
        return parse(python + "\n", pattern=True).items("body")
    if first == "case":
        prefix, dummies = "match _:\n", 0
    elif heads & {"except", "finally"}:
        lone_else = first == "else"
        prefix = "try:\n pass\n" + ("except _:\n pass\n" if lone_else else "")
        dummies = int(lone_else)
    else:
        prefix, dummies = "if _:\n pass\n", 0
    return parse(prefix + python + "\n", offset=-len(prefix), pattern=True).items("body")[0].items("clauses")[dummies:]


def mark(hunk: HunkText, side: Side, message: str, start: int, end: int) -> NoReturn:
    """Raise a `PatchError` with a marker under the characters `[start, end)` of a side."""
    number = side.lines.number(start)
    begin = side.lines.start(start)
    line = side.written[begin : side.lines.end(start)].rstrip("\n")
    refuse(hunk.origin, side.numbers[min(number, len(side.numbers)) - 1], message, line, start - begin, end - begin)


def identifiers(side: Side) -> List[FrozenSet[str]]:
    """For each node of a side the identifiers that any code it matches must contain."""
    found: List[FrozenSet[str]] = []
    for node in side.nodes:
        if node.role != "run":
            names = {str(part.fields["value"]) for part in node.walk() if part.kind == "Name" and not part.role}
            found.append(frozenset(name for name in names if not name.startswith(notation.MARK)))
    return found


def writes_body(side: Side) -> bool:
    """Whether a side writes the body of a definition, so that `<module>` must show it."""
    for top in side.nodes:
        for node in top.walk():
            if node.kind in ("FunctionDef", "ClassDef"):
                block = node.node("body")
                if block.fields.get("doc") or any(item.role != "run" for item in block.items("body")):
                    return True
    return False


def blank_between(side: Side, above: Node, below: Optional[Node]) -> bool:
    """Whether a blank context line stands between two neighbouring nodes of a side."""
    first = side.lines.number(max(above.start, above.end - 1))
    last = side.lines.number(below.start) - 1 if below is not None else len(side.numbers)
    rows = side.text.split("\n")[first:last]
    return any(not row.strip() and side.numbers[first + index] in side.context for index, row in enumerate(rows))
