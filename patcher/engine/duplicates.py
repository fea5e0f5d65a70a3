"""What a change would duplicate because upstream already has it in another form."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Iterator, Sequence, cast

from patcher.engine.changes import FinishedText, MatchedHunk
from patcher.engine.lex import meets
from patcher.engine.node import Node, same, walk_each
from patcher.engine.source import Source
from patcher.engine.unreachable import LEAVES
from patcher.message import Message


def redefinitions(source: Source) -> Counter[str]:
    """How often each qualified name is redefined in the body that already defines it."""
    counts: Counter[str] = Counter()
    for name, _, _ in _redefinitions(source):
        counts[name] += 1

    return counts


def twice_defined(finished: FinishedText, before: Counter[str]) -> str:
    """The problem if a change defines a name a second time, else empty.

    One that the change itself defines twice is what its author wrote.

    Args:
        finished: the finished file.
        before: the `redefinitions` of the file before the change.
    """
    left = Counter(before)
    for name, *both in _redefinitions(finished.result):
        are_inserted = all(finished.inserts(node) for node in both)
        if are_inserted:
            continue

        left[name] -= 1
        if left[name] < 0:
            return Message(
                "`{name}` would be defined twice (line {line} of the result): "
                "upstream has one of that name",
                name=name,
                line=both[1].lineno,
            )

    return ""


def _redefinitions(source: Source) -> Iterator[tuple[str, ast.stmt, ast.stmt]]:
    """The qualified name of each `def` or `class` that replaces an earlier one, that, and it.

    Definitions with decorators do not count, nor does one whose name is read between the two, by a
    statement or as a base class: the earlier definition is still used then.
    """
    waiting: list[tuple[str, list[ast.stmt]]] = []
    if source.tree is not None:
        waiting.append(("", source.tree.body))
    while waiting:
        prefix, body = waiting.pop()
        readers: list[ast.AST] = []
        readers_above: dict[str, int] = {}  # the number of them above the last definition
        last: dict[str, ast.stmt] = {}
        for node in body:
            if isinstance(node, ast.ClassDef):
                waiting.append((f"{prefix}{node.name}.", node.body))
                readers += node.bases

            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                readers.append(node)
                continue
            if node.decorator_list:
                if not isinstance(node, ast.ClassDef):
                    readers.append(node)
                continue

            if node.name in readers_above:
                between = readers[readers_above[node.name] :]
                if not any(_reads(each, node.name) for each in between):
                    yield prefix + node.name, last[node.name], node

            readers_above[node.name] = len(readers)
            last[node.name] = node


def _reads(node: ast.AST, name: str) -> bool:
    """Whether code has a name."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def equal_branches(finished: FinishedText, matched: Sequence[MatchedHunk]) -> str:
    """The problem if all branches of an `if` become equal that the hunks write differently."""
    tree = finished.result.tree
    if tree is None or not _writes_branches(matched):
        return ""

    for node in ast.walk(tree):
        if not isinstance(node, ast.If):
            continue

        bodies = _bodies(node)
        texts = {ast.dump(ast.Module(body, [])) for body in bodies}
        if len(texts) != 1:
            continue

        start = finished.result.offset(node.lineno, node.col_offset)
        is_if = finished.result.text.startswith("if", start)
        parts = [node, *(body[0] for body in bodies)]
        is_changed = any(finished.inserts(part) for part in parts)
        if is_if and is_changed:
            return Message(
                "all branches of the `if` in line {line} of the result would be equal: "
                "upstream has one of them",
                line=node.lineno,
            )

    return ""


def repeated_key(finished: FinishedText, matched: Sequence[MatchedHunk]) -> str:
    """The problem if a change gives a dictionary a key that stands in it already, else empty."""
    tree = finished.result.tree
    if tree is None or not _writes_keys(matched):
        return ""

    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        if not meets(finished.inserted_lines, node.lineno, cast(int, node.end_lineno)):
            continue

        key = _repeated(finished, list(filter(None, node.keys)))
        if key is not None:
            return Message(
                "the key {key} would stand twice in a dictionary (line {line} of the result): "
                "upstream has it",
                key=ast.get_source_segment(finished.result.text, key),
                line=key.lineno,
            )

    return ""


def repeated_element(finished: FinishedText, matched: Sequence[MatchedHunk]) -> str:
    """The problem if a change gives a list of texts one that stands in it already, else empty.

    Options such as `-I` may stand in a list more than once.
    """
    tree = finished.result.tree
    if tree is None or not _writes_text_elements(matched):
        return ""

    for node in ast.walk(tree):
        if not isinstance(node, (ast.List, ast.Tuple, ast.Set)) or len(node.elts) < 2:
            continue
        if not meets(finished.inserted_lines, node.lineno, cast(int, node.end_lineno)):
            continue

        there = [ast.dump(element) for element in node.elts if not finished.inserts(element)]
        if not all(map(_is_text, node.elts)) or len(set(there)) < len(there):
            continue
        element = _repeated(finished, node.elts)
        if element is not None:
            return Message(
                "{element} would stand twice in a list (line {line} of the result): "
                "upstream has it",
                element=ast.get_source_segment(finished.result.text, element),
                line=element.lineno,
            )

    return ""


def _repeated(finished: FinishedText, elements: Sequence[ast.expr]) -> ast.expr | None:
    """The first inserted one of some expressions that stands among the others, None for none."""
    inserted = [element for element in elements if finished.inserts(element)]
    there = {ast.dump(element) for element in elements if element not in inserted}
    return next((element for element in inserted if ast.dump(element) in there), None)


def repeated_guard(finished: FinishedText, matched: Sequence[MatchedHunk]) -> str:
    """The problem if an `if` comes beside one that does the same already, else empty.

    That one has its condition and leaves the block or calls the same function, or it has the same
    body with a text. One whose header is context of a hunk is known to its author.
    """
    for above, below in finished.seams():
        if not isinstance(above, ast.If) or not isinstance(below, ast.If):
            continue
        old = above if finished.inserts(below) else below
        if finished.result.lines.row(old.lineno - 1).strip() in _context(matched):
            continue
        has_condition = ast.dump(above.test) == ast.dump(below.test)
        bodies = [ast.dump(ast.Module(node.body, [])) for node in (above, below)]
        has_body = bodies[0] == bodies[1] and _has_text(old.body)
        if has_body or (has_condition and _purpose(above.body) == _purpose(below.body)):
            return Message(
                "the `if` in line {line} of the result is beside another one that does the same: "
                "upstream has it",
                line=above.lineno if old is below else below.lineno,
            )

    return ""


def _purpose(body: Sequence[ast.stmt]) -> str:
    """What code is for: that it leaves its block, else what it calls or does first."""
    first = body[0]
    if isinstance(body[-1], LEAVES):
        return "leaves"
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Call):
        return ast.dump(first.value.func)
    return ast.dump(first)


def _context(matched: Sequence[MatchedHunk]) -> set[str]:
    """The lines of context that the hunks have."""
    lines: set[str] = set()
    for each in matched:
        lines.update(line.strip() for tag, line, _ in each.form.text.lines if tag == " ")
    return lines


def _has_text(body: Sequence[ast.stmt]) -> bool:
    """Whether code has a text of several words, which few other places have."""
    for node in body:
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and " " in str(part.value).strip():
                return True

    return False


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is a text that is no option of a command."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return not node.value.startswith("-")


def _writes_text_elements(matched: Sequence[MatchedHunk]) -> bool:
    """Whether the hunks write a list of which an element is a text."""
    for node in _written(matched):
        elements = node.items("elements") if node.kind in ("List", "Tuple", "Set") else []
        if any(element.kind == "String" for element in elements):
            return True

    return False


def _writes_keys(matched: Sequence[MatchedHunk]) -> bool:
    """Whether the hunks write a part of a dictionary."""
    return any(node.kind == "DictElement" for node in _written(matched))


def _written(matched: Sequence[MatchedHunk]) -> Iterator[Node]:
    """The nodes of what the hunks write that change the text."""
    for each in matched:
        if each.changes:
            yield from walk_each(each.form.after.nodes)


def _writes_branches(matched: Sequence[MatchedHunk]) -> bool:
    """Whether the hunks write an `if` with an `else`, and none of which all branches are equal."""
    has_branches = False
    for node in _written(matched):
        branches = _branches(node)
        if not branches:
            continue

        has_branches = True
        are_equal = all(same(branches[0], branch) for branch in branches)
        if are_equal:
            return False

    return has_branches


def _branches(node: Node) -> list[Node]:
    """The bodies of an `if` that has an `else`; none for any other node."""
    clauses = node.items("clauses")
    if node.kind != "If" or not clauses or clauses[-1].kind != "Else":
        return []
    return [clause.node("body") for clause in (node, *clauses)]


def _bodies(node: ast.If) -> list[list[ast.stmt]]:
    """`_branches` for the tree of the interpreter."""
    bodies = [node.body]
    orelse = node.orelse
    while len(orelse) == 1 and isinstance(orelse[0], ast.If):
        bodies.append(orelse[0].body)
        orelse = orelse[0].orelse

    if not orelse:
        return []
    return [*bodies, orelse]
