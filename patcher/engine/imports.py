"""Hunks that only insert imports into a module (format rule 25).

What they import, and whether the module imports it already, by whatever statement and wherever it
is.
"""

from __future__ import annotations

import ast
from typing import AbstractSet, Iterator, Sequence

from patcher.engine.node import Node
from patcher.engine.scoping import bound_in, has_star_import, modules_imported_in
from patcher.engine.source import Source
from patcher.engine.spatch.side import Hunk
from patcher.record import Record


class _Import(Record):
    """One name that an import binds.

    `module` is "" for `import name`, and has a dot for each level of a relative import. `read_as`
    is how code reads it: `a.b` after `import a.b`, which binds `a`.
    """

    module: str
    name: str
    read_as: str


def standing_imports(source: Source, hunk: Hunk) -> int | None:
    """The offset of the first import that a hunk inserts, if the module has all of them already.

    An import below an `if` may not run, and does not count. None if one is missing, or if the hunk
    does more than insert imports.
    """
    inserted = _inserted(hunk)
    if not inserted:
        return None
    lines: dict[_Import, int] = {}
    for node in _always_run(source.tree.body if source.tree is not None else []):
        for each in _imports_of(node):
            lines.setdefault(each, node.lineno)
    if not inserted <= set(lines):
        return None
    first = min(lines[each] for each in inserted)
    return source.lines.starts[first - 1]


def binds_imports(source: Source, hunk: Hunk) -> bool:
    """Whether a hunk only inserts imports, and the module binds their names in some way."""
    names = {each.read_as for each in _inserted(hunk)}
    return bool(names) and binds(source, names)


def binds(source: Source, names: AbstractSet[str]) -> bool:
    """Whether a module binds all of these names, by any statement.

    A module with `from x import *` is taken to bind them. One that only has `import a` does not
    bind `a.b`, which may be a module that nothing else imports.
    """
    body = source.tree.body if source.tree is not None else []
    if has_star_import(body):
        return True

    bound, modules = bound_in(body), modules_imported_in(body)
    for name in names:
        first, _, _ = name.partition(".")
        is_lacking = first in modules and name not in modules
        if is_lacking or first not in bound:
            return False

    return True


def imported(aliases: Sequence[Node]) -> set[str]:
    """The names that the items of imports (`a.b`, `c as d`) bind."""
    names: set[str] = set()
    for alias in aliases:
        name = alias.fields.get("asname") or alias.fields.get("name")
        while isinstance(name, Node) and name.kind == "Attribute":
            name = name.node("value")
        names.add(str(name.fields["value"]) if isinstance(name, Node) else "*")
    return names


def _inserted(hunk: Hunk) -> frozenset[_Import]:
    """What a hunk imports into a module.

    Nothing for a hunk that does more, or that is for another scope.
    """
    own_statements = hunk.after.own_statements()
    is_for_imports = hunk.text.scope == "<module>" and hunk.text.only_imports
    if own_statements is None or not is_for_imports:
        return frozenset()

    code = ""
    for node in (node for run in own_statements for node in run):
        if any(part.role for part in node.walk()):
            return frozenset()
        code += hunk.after.text[node.start : node.end] + "\n"
    imports: list[_Import] = []
    for statement in ast.parse(code).body:
        imports += _imports_of(statement)
    return frozenset(imports)


def _imports_of(node: ast.stmt) -> Iterator[_Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield _Import("", alias.name, read_as=alias.asname or alias.name)
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            yield _Import(module, alias.name, read_as=alias.asname or alias.name)


def _always_run(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module that always run on import: also those of a `try` or a `with`."""
    for node in body:
        yield node
        if isinstance(node, (ast.Try, ast.With)):
            yield from _always_run(node.body)
