"""The lines of a hunk -> its two sides as syntax trees, with every placeholder checked (format rules 3 to 7)."""

from __future__ import annotations

from functools import lru_cache
from typing import Mapping, Sequence

from patcher.engine import lex
from patcher.engine.match import METHODS, REMOVED, Matcher
from patcher.engine.node import DEFINITIONS, Node, same
from patcher.engine.spatch.hunk import reject
from patcher.engine.spatch.parse import raise_marked, read_side
from patcher.engine.spatch.runs import pair_runs
from patcher.engine.spatch.side import Hunk, Side
from patcher.errors import Location, PatchError
from patcher.message import Message
from patcher.model import HunkText, OptionValue

_SHORT = 3  # characters of a string; a shorter one is too common to be searched for


def compile_hunks(hunks: Sequence[HunkText], options: Mapping[str, OptionValue]) -> list[Hunk]:
    """Parse and check hunks, but for those that are no syntax.

    Raises:
        PatchError: with the problems of all of them, one a line.
    """
    compiled: list[Hunk] = []
    problems: list[PatchError] = []
    for hunk in (hunk for hunk in hunks if not hunk.plain):
        forms: list[Hunk] = []
        for form in hunk.forms:
            try:
                forms.append(_compiled(form, tuple(sorted(options.items()))))
            except PatchError as error:
                problems.append(error)
            except RecursionError:
                message = Message("the hunk is nested too deeply or too long to be read")
                problems.append(PatchError.at(Location(form.origin, form.line), message))
        compiled += [form._replace(text=hunk, others=tuple(forms[1:])) for form in forms[:1]]
    if problems:
        raise PatchError.joined(problems)
    pairs = (
        (hunk.text.scope, hunk.after_scope) for hunk in compiled if not hunk.text.flags.when_present
    )
    scopes = {before: after for before, after in pairs if before != after}
    return [_in_scopes(hunk, scopes) for hunk in compiled] if scopes else compiled


def _in_scopes(hunk: Hunk, scopes: Mapping[str, str]) -> Hunk:
    """A hunk with its scope after the change, which other hunks may rename: `scopes` has what they make of each."""
    names = hunk.after_scope.split(".")
    for number in range(1, len(names) + 1):
        around = ".".join(names[:number])
        names[number - 1] = scopes.get(around, around).rpartition(".")[2]
    return hunk._replace(
        after_scope=".".join(names),
        others=tuple(_in_scopes(other, scopes) for other in hunk.others),
    )


@lru_cache(maxsize=256)
def _compiled(hunk: HunkText, options: tuple[tuple[str, OptionValue], ...]) -> Hunk:
    return compile_hunk(hunk, dict(options))


def compile_hunk(hunk_text: HunkText, options: Mapping[str, OptionValue]) -> Hunk:
    """Parse both sides of a hunk and check every reference in it.

    Raises:
        PatchError: a side that does not parse, an unbound metavariable, an unknown option, a trivial before side and the
            like; the message names file and line and marks the place.
    """
    before, after = read_side(hunk_text, "-", options), read_side(hunk_text, "+", options)
    form = _form(hunk_text, before, after)
    if form == "expression":
        before, after = (
            side._replace(nodes=[side.nodes[0].node("value")]) for side in (before, after)
        )
        _no_comments(hunk_text)
    _name_unbound(before, after)
    _check_names(hunk_text, before, after)
    _check_comments(hunk_text, before, after)
    pair_runs(hunk_text, before, after)
    # any literal: a `+` line has the option's value in its place (rule 6)
    for option in before.placeholders("option"):
        option.name = option.name if before.number(option) in before.context else ""
    _check_trivial(hunk_text, form, before)
    if [repr(node) for node in before.nodes] == [repr(node) for node in after.nodes]:
        message = Message(
            "the two sides differ only in layout or comments: nothing would change (comments are not matched)"
        )
        reject(hunk_text.origin, hunk_text.line, message)
    if form == "statements":
        _require_absent(before.nodes, after.nodes)
    _mark_methods(after)
    trivial = _is_trivial(after.nodes, words=2 if form == "expression" else 1)
    # it may be gone for another reason
    if _is_simple_statement(before.nodes) and _is_trivial(before.nodes):
        trivial = trivial or not any(
            same(part, before.nodes[0]) for top in after.nodes for part in top.walk()
        )
    proves_upstream = not trivial and not _is_more_general(form, after, before)
    hunk = Hunk(
        hunk_text,
        form,
        before,
        after,
        proves_upstream,
        _renamed(hunk_text.scope, before, after),
        options,
    )
    _check_scope_line(hunk)
    return hunk


def _form(hunk: HunkText, before: Side, after: Side) -> str:
    if not before.nodes:
        message = Message(
            "the before side has no code, and comments are not matched: write the code beside which the `+` lines go"
        )
        reject(hunk.origin, hunk.line, message)
    only = [
        len(side.nodes) == 1 and side.nodes[0].kind == "Expr" and side.nodes[0].role != "run"
        for side in (before, after)
    ]
    if all(only) and not before.nodes[0].role:
        bound = {node.name for role in ("meta", "option") for node in before.placeholders(role)}
        # `$X` is bound to an expression there
        if after.nodes[0].role in ("", "option") or after.nodes[0].name in bound:
            return "expression"
    clauses = [all(node.is_clause for node in side.nodes) for side in (before, after)]
    if clauses[0] and clauses[1]:
        return "clauses"
    if clauses[0] or (after.nodes and clauses[1]):
        reject(
            hunk.origin,
            hunk.line,
            Message("one side begins with a clause (`else`, `except`, …) and the other does not"),
        )
    return "statements"


def _no_comments(hunk: HunkText) -> None:
    for tag, line, number in hunk.lines:
        for token in lex.tokens(line):
            if token.kind == "comment" and tag == "+":
                message = Message(
                    "a comment in an expression hunk has no place to go: write the whole statement"
                )
                reject(hunk.origin, number, message, line, token.start, token.end)


def _check_comments(hunk: HunkText, before: Side, after: Side) -> None:
    """Refuse comments that are inserted without code, or deleted (rules 19 and 20)."""
    for side, tag, verb in ((before, "-", "removed"), (after, "+", "inserted")):
        rows = side.text.split("\n")
        inside = {
            row
            for node in side.nodes
            for row in range(side.lines.number(node.begin), side.lines.number(node.end) + 1)
        }
        for row, line in enumerate(rows[: len(side.numbers)], 1):
            if (
                side.numbers[row - 1] in side.context
                or not line.lstrip().startswith("#")
                or row in inside
            ):
                continue
            beside = tag == "+" and any(_joined(side, rows, row, step) for step in (-1, 1))
            if not beside:
                message = Message(
                    "a comment alone is not {what}: comments are not matched, they come along with inserted code",
                    what=verb,
                )
                reject(hunk.origin, side.numbers[row - 1], message, line, 0, len(line))


def _joined(side: Side, rows: list[str], row: int, step: int) -> bool:
    """Whether code of the same `+` lines is next to a row (1-based), with only comments and blank lines between."""
    row += step
    while 1 <= row <= len(side.numbers) and side.numbers[row - 1] not in side.context:
        if rows[row - 1].strip() and not rows[row - 1].lstrip().startswith("#"):
            return True
        row += step
    return False


def _check_names(hunk: HunkText, before: Side, after: Side) -> None:
    bound = {node.name for node in before.placeholders("meta")}
    for node in after.placeholders("meta"):
        if node.name == "_":
            raise_marked(
                hunk,
                after,
                Message("`$_` stands for anything and cannot be written"),
                node.start,
                node.end,
            )
        if node.name not in bound:
            names = ", ".join(sorted(f"${name}" for name in bound if name[0] != "_")) or Message(
                "none"
            )
            message = Message(
                "`${name}` is not bound by the before side; bound there: {known}",
                name=node.name,
                known=names,
            )
            raise_marked(hunk, after, message, node.start, node.end)


def _name_unbound(before: Side, after: Side) -> None:
    """Give a `$_` on a context line a name of its own, so that the after side keeps the code that it matches."""
    for side in (before, after):
        counted: dict[int, int] = {}
        for node in side.placeholders("meta"):
            line = side.number(node)
            if node.name == "_" and line in side.context:
                counted[line] = counted.get(line, 0) + 1
                node.name = f"_{line}.{counted[line]}"


def _check_trivial(hunk: HunkText, form: str, before: Side) -> None:
    nodes = before.nodes
    if form != "clauses" and all(node.role == "run" for node in nodes):
        if hunk.scope != "<module>":
            reject(
                hunk.origin,
                hunk.line,
                Message(
                    "`...` alone is a before side only in `<module>`: write the header above it"
                ),
            )
        return
    if _is_trivial(nodes) and not (
        hunk.scope != "<module>" and hunk.flags.expected == 1 and _is_simple_statement(nodes)
    ):
        message = Message(
            "the before side is too little to name a place (`return`, `pass`, one name): add what stands beside it"
        )
        reject(hunk.origin, before.number(nodes[0]), message)


def _is_simple_statement(nodes: list[Node]) -> bool:
    """Whether a side is one such as `return False`: it may stand once in a function, which the file decides."""
    return len(nodes) == 1 and nodes[0].kind in ("Pass", "Break", "Continue", "Return")


def _check_scope_line(hunk: Hunk) -> None:
    """Refuse what stands beside the `def` or `class` line of the hunk's own scope: it belongs to the scope around (rule 2)."""
    around, _, name = hunk.text.scope.rpartition(".")
    heads = [
        node
        for node in hunk.before.nodes
        if node.is_definition and node.node("name").fields.get("value") == name
    ]
    for side in (hunk.before, hunk.after) if heads else ():
        neighbour = next((node for node in side.nodes if not node.is_definition), None)
        if len(side.nodes) > 1 and neighbour is not None:
            problem = Message(
                "this stands beside `{name}` itself, outside of the scope `{scope}`",
                name=name,
                scope=hunk.text.scope,
            )
            message = Message(
                "{what}: write `@@ {scope} @@`", what=problem, scope=around or "<module>"
            )
            raise_marked(
                hunk.text,
                side,
                message,
                neighbour.start,
                min(neighbour.end, side.lines.end(neighbour.start)),
            )


def _is_trivial(nodes: list[Node], words: int = 1) -> bool:
    """Whether code is so common that a match proves nothing (rule 25); so is a string alone of fewer than `words` words."""
    small = [
        node.node("value") if node.kind == "Expr" and not node.role else node
        for node in nodes
        if node.role != "run"
    ]
    return len(small) <= 1 and all(
        node.role in ("meta", "option")
        or node.kind in ("Pass", "Break", "Continue", "Name", "Integer", "Float", "Ellipsis")
        or (node.kind == "String" and _is_short(str(node.fields["value"]).lstrip("b")[1:-1], words))
        or (
            node.kind == "Return"
            and (node.fields["value"] is None or node.node("value").kind in ("Name", "Integer"))
        )
        for node in small
    )


def _is_short(code: str, words: int) -> bool:
    return len(code) < _SHORT or len(code.split()) < words


def _is_more_general(form: str, after: Side, before: Side) -> bool:
    """Whether the after side matches its own before side, and so proves nothing about upstream (rule 21)."""
    for pattern in before.nodes:
        for node in pattern.walk():
            comparable = (form == "expression" and node.kind == after.nodes[0].kind) or after.nodes[
                0
            ].role
            if comparable and any(True for _ in Matcher().node(after.nodes[0], node)):
                return True
    if form == "expression":
        return False
    clauses = form == "clauses"
    span = (0, 0, 0, 0)
    block = (
        Node("If", span, clauses=before.nodes)
        if clauses
        else Node("Block", span, doc=None, body=before.nodes)
    )
    return bool(Matcher().runs(after.nodes, block, module=False, clauses=clauses))


def _require_absent(before: list[Node], after: list[Node]) -> None:
    """Mark the optional parts that only the before side writes: the after side is in place only without them (rule 22).

    Where the hunk removes a run of decorators, only those of the after side may be there.
    """
    for old, new in zip(before, after):
        if old.kind != new.kind or old.role or new.role:
            continue
        for key, value in old.fields.items():
            new_value = new.fields.get(key)
            removes = key == "decorators" and any(part.name == REMOVED for part in old.items(key))
            if (
                removes
                or (
                    key in ("decorators", "returns", "annotation", "clauses")
                    and value
                    and not new_value
                )
                or (key == "args" and old.kind == "ClassDef" and value and not new_value)
            ):
                new.absent = (*new.absent, key)
        bodies = [node.fields.get("body") for node in (old, new)]
        if all(isinstance(body, Node) and body.kind == "Block" for body in bodies):
            _require_absent(old.node("body").items("body"), new.node("body").items("body"))


def _mark_methods(after: Side) -> None:
    """Mark the class bodies that definitions are added to below a `...`: they are upstream wherever they are in the body."""
    for node in (
        node
        for top in after.nodes
        for node in top.walk()
        if node.kind == "ClassDef" and not node.role
    ):
        body = node.node("body").items("body")
        new = [statement for statement in body if after.number(statement) not in after.context]
        kinds = {statement.kind for statement in new}
        below = (
            len(body) > len(new) and body[-len(new) :] == new and body[-len(new) - 1].role == "run"
        )
        if below and kinds and kinds <= DEFINITIONS:
            node.node("body").name = METHODS


def _renamed(scope: str, before: Side, after: Side) -> str:
    if len(before.nodes) == len(after.nodes) == 1 and before.nodes[0].is_definition:
        old, new = before.nodes[0], after.nodes[0]
        if new.kind == old.kind and not new.node("name").role and not old.node("name").role:
            names = old.node("name").fields["value"], str(new.node("name").fields["value"])
            if names[0] != names[1] and scope.split(".")[-1] == names[0]:
                return ".".join([*scope.split(".")[:-1], names[1]])
    return scope
