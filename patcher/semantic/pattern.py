"""The lines of a hunk -> its two sides as trees: every placeholder checked when the hunk is loaded (format rules 3 to 7)."""

from __future__ import annotations

import re
from typing import Dict, FrozenSet, List, Mapping, NamedTuple, NoReturn, Optional, Set, Tuple

from patcher.model import HunkText, OptionValue
from patcher.semantic import lex
from patcher.semantic.hunk import refuse
from patcher.semantic.match import Matcher
from patcher.semantic.node import CLAUSES, Node, SyntaxProblem
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


class Hunk(NamedTuple):
    """A hunk ready to be matched. `form` is `expression`, `statements` or `clauses`.

    `proves` is whether a match of the after side shows that upstream made the change (rule 21); `after_scope` is where to
    look for the result when the hunk renames its own definition.
    """

    text: HunkText
    form: str
    before: Side
    after: Side
    proves: bool
    after_scope: str
    options: Mapping[str, OptionValue]


def compile_hunk(text: HunkText, options: Mapping[str, OptionValue]) -> Hunk:
    """Parse both sides of a hunk and check every reference in it.

    Raises:
        PatchError: a side that does not parse, an unbound metavariable, an unknown option, a trivial before side, a rule
            that is not built; the message names file and line and marks the place.
    """
    before, after = _side(text, "-", options), _side(text, "+", options)
    form = _form(text, before, after)
    if form == "expression":
        before, after = (side._replace(nodes=[side.nodes[0].node("value")]) for side in (before, after))
        _no_comments(text)
    _check_names(text, before, after)
    _pair_runs(text, before, after)
    _check_trivial(text, form, before)
    if [repr(node) for node in before.nodes] == [repr(node) for node in after.nodes]:
        refuse(text.origin, text.line, "the two sides differ only in layout or comments: nothing would change")
    if form == "statements":
        _want_absent(before.nodes, after.nodes)
    proves = bool(after.nodes) and not _is_more_general(form, after, before)
    return Hunk(text, form, before, after, proves, _renamed(text.scope, before, after), options)


# reading a side -------------------------------------------------------------------------------------------------------
def _side(hunk: HunkText, tag: str, options: Mapping[str, OptionValue]) -> Side:
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
        python = lex.to_python(text, before=tag == "-")
        for name, start, end in lex.holes(text):
            if name == name.lower() and name != "_" and name not in options:
                known = ", ".join(f"${option}" for option in sorted(options)) or "none"
                raise lex.NotationError(f"the option `${name}` is not declared; declared: {known}", start, end)
        nodes = _parse(python, logical[0].first, {line.first for line in logical if line.indent == indent})
    except lex.NotationError as error:
        _mark(hunk, side, error.message, error.start, error.end)
    except SyntaxProblem as error:
        what = "before" if tag == "-" else "after"
        number = min(max(error.line, 1), len(numbers))
        line = text.split("\n")[number - 1]
        refuse(hunk.origin, numbers[number - 1], f"the {what} side does not parse: {error.message}", line, min(error.column, len(line)), 0)
    return side._replace(text=python, nodes=nodes, lines=lex.Lines(python))


def _dedent(raw: str, indent: str, base: str) -> str:
    inside = set(lex.lines_in_strings(raw))
    lines, offset = [], 0
    for line in raw.split("\n"):
        kept = line if offset in inside or not line.strip() else base + (line[len(indent) :] if line.startswith(indent) else line.lstrip())
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


def _mark(hunk: HunkText, side: Side, message: str, start: int, end: int) -> NoReturn:
    number = side.lines.number(start)
    begin = side.lines.start(start)
    line = side.written[begin : side.lines.end(start)].rstrip("\n")
    refuse(hunk.origin, side.numbers[min(number, len(side.numbers)) - 1], message, line, start - begin, end - begin)


# checks ---------------------------------------------------------------------------------------------------------------
def _form(text: HunkText, before: Side, after: Side) -> str:
    if not before.nodes:
        refuse(text.origin, text.line, "the before side has no code: write the code beside which the `+` lines go")
    only = [len(side.nodes) == 1 and side.nodes[0].kind == "Expr" and side.nodes[0].role == "" for side in (before, after)]
    if all(only):
        return "expression"
    clauses = [all(node.kind in CLAUSES for node in side.nodes) for side in (before, after)]
    if clauses[0] and clauses[1]:
        return "clauses"
    if clauses[0] or (after.nodes and clauses[1]):
        refuse(text.origin, text.line, "one side begins with a clause (`else`, `except`, …) and the other does not")
    return "statements"


def _no_comments(text: HunkText) -> None:
    for tag, line, number in text.lines:
        for token in lex.tokens(line):
            if token.kind == "comment" and tag == "+":
                message = "a comment in an expression hunk has no place to go: write the whole statement"
                refuse(text.origin, number, message, line, token.start, token.end)


def _placeholders(side: Side, role: str) -> List[Node]:
    return [node for top in side.nodes for node in top.walk() if node.role == role]


def _check_names(text: HunkText, before: Side, after: Side) -> None:
    bound = {node.name for node in _placeholders(before, "meta")}
    for node in _placeholders(after, "meta"):
        if node.name == "_":
            _mark(text, after, "`$_` stands for anything and cannot be written", node.start, node.end)
        if node.name not in bound:
            known = ", ".join(sorted(f"${name}" for name in bound - {"_"})) or "none"
            message = f"`${node.name}` is not bound by the before side; bound there: {known}"
            _mark(text, after, message, node.start, node.end)


def _pair_runs(text: HunkText, before: Side, after: Side) -> None:
    """Give each `...` of the after side the name of the one it stands for on the before side (rule 7)."""
    counted: Dict[Tuple[int, int], int] = {}
    left: List[Node] = []
    for side in (before, after):
        for node in _placeholders(side, "run"):
            line = side.number(node)
            if line in side.context:
                key = (id(side), line)
                counted[key] = counted.get(key, 0) + 1
                node.name = f"{line}.{counted[key]}"
            elif side is before:
                node.name = f"-{line}.{len(left)}"
                left.append(node)
            else:
                partner = next((run for run in left if _container(run) == _container(node)), None)
                if partner is None:
                    message = "this `...` stands for code that no `...` of the before side covers"
                    _mark(text, after, message, node.start, node.end)
                left.remove(partner)
                node.name = partner.name


def _container(run: Node) -> str:
    return {"Star": "arguments", "DoubleStar": "arguments", "Expr": "statements"}.get(run.kind, run.kind)


def _check_trivial(text: HunkText, form: str, before: Side) -> None:
    nodes = before.nodes
    if form != "clauses" and all(node.role == "run" for node in nodes):
        if text.scope != "<module>":
            refuse(text.origin, text.line, "`...` alone is a before side only in `<module>`: write the header above it")
        return
    small = [node.node("value") if node.kind == "Expr" and not node.role else node for node in nodes if node.role != "run"]
    trivial = all(
        node.role in ("meta", "option")
        or node.kind in ("Pass", "Break", "Continue", "Name", "Integer", "Float", "String", "Ellipsis")
        or (node.kind == "Return" and (node.fields["value"] is None or node.node("value").kind in ("Name", "Integer")))
        for node in small
    )
    if trivial and len(small) <= 1:
        message = "the before side is too little to name a place (`return`, `pass`, one name): add what stands beside it"
        refuse(text.origin, before.number(nodes[0]), message)


def _is_more_general(form: str, after: Side, before: Side) -> bool:
    """Whether the after side matches its own before side, and so proves nothing about upstream (rule 21)."""
    for pattern in before.nodes:
        for node in pattern.walk():
            if form == "expression" and node.kind == after.nodes[0].kind or after.nodes[0].role:
                if any(True for _ in Matcher().node(after.nodes[0], node)):
                    return True
    if form == "expression":
        return False
    span = (0, 0, 0, 0)
    block = Node("Block", span, doc=None, body=before.nodes, clauses=before.nodes if form == "clauses" else [])
    if form == "clauses":
        block = Node("If", span, clauses=before.nodes)
    return bool(Matcher().runs(after.nodes, block, module=False, clauses=form == "clauses"))


def _want_absent(before: List[Node], after: List[Node]) -> None:
    """Where only the before side writes an optional part, the after side is in place only without it (rule 22)."""
    for old, new in zip(before, after):
        if old.kind != new.kind or old.role or new.role:
            continue
        for key, value in old.fields.items():
            other = new.fields.get(key)
            if key in ("decorators", "returns", "annotation", "clauses") and value and not other:
                new.absent = (*new.absent, key)
            elif key == "args" and old.kind == "ClassDef" and value and not other:
                new.absent = (*new.absent, key)
        bodies = [node.fields.get("body") for node in (old, new)]
        if all(isinstance(body, Node) and body.kind == "Block" for body in bodies):
            _want_absent(old.node("body").items("body"), new.node("body").items("body"))


def _renamed(scope: str, before: Side, after: Side) -> str:
    if len(before.nodes) == len(after.nodes) == 1 and before.nodes[0].kind in ("FunctionDef", "ClassDef"):
        old, new = before.nodes[0], after.nodes[0]
        if new.kind == old.kind and not new.node("name").role and not old.node("name").role:
            names = old.node("name").fields["value"], str(new.node("name").fields["value"])
            if names[0] != names[1] and scope.split(".")[-1] == names[0]:
                return ".".join([*scope.split(".")[:-1], names[1]])
    return scope


def identifiers(side: Side) -> List[FrozenSet[str]]:
    """For each node of a side the identifiers that any code it matches must contain."""
    found: List[FrozenSet[str]] = []
    for node in side.nodes:
        if node.role != "run":
            names = {str(part.fields["value"]) for part in node.walk() if part.kind == "Name" and not part.role}
            found.append(frozenset(name for name in names if not name.startswith(lex.MARK)))
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
