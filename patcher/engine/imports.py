"""Hunks that only insert imports into a module (format rule 24): what they bind, and whether a file has that already."""

from __future__ import annotations

import ast
from typing import AbstractSet, Iterator, NamedTuple, Sequence

from patcher.engine.names import bound_in, is_star, statements
from patcher.engine.node import Node
from patcher.engine.source import Source
from patcher.engine.spatch.side import Hunk


class Import(NamedTuple):
    """One name that an import binds: `module` is "" for `import name`, with a dot for each level of a relative import."""

    module: str
    name: str
    bound: str


def inserted_imports(hunk: Hunk) -> frozenset[Import]:
    """What a hunk for a module imports; nothing for one that does more, or that is for another scope."""
    own = hunk.after.own_statements()
    if own is None or hunk.text.scope != "<module>" or not hunk.text.only_imports:
        return frozenset()
    nodes = [node for run in own for node in run]
    if any(part.role for node in nodes for part in node.walk()):
        return frozenset()
    code = "\n".join(hunk.after.text[node.start : node.end] for node in nodes)
    return frozenset(part for node in ast.parse(code).body for part in _imports_of(node))


def has_imports(source: Source, wanted: AbstractSet[Import]) -> int | None:
    """The offset of the first of some imports, where a module has them all, each in whatever statement; else None.

    What stands below an `if` may not run, and does not count.
    """
    lines: dict[Import, int] = {}
    for node in _always(source.tree.body if source.tree is not None else []):
        for each in _imports_of(node):
            lines.setdefault(each, node.lineno)
    if not wanted or not wanted <= set(lines):
        return None
    return source.lines.starts[min(lines[each] for each in wanted) - 1]


def binds(source: Source, names: AbstractSet[str]) -> bool:
    """Whether a module binds all of these names, by whatever statement; one with `from x import *` may do so."""
    body = source.tree.body if source.tree is not None else []
    return names <= bound_in(body) or any(map(is_star, statements(body)))


def imported(aliases: Sequence[Node]) -> set[str]:
    """The names that the items of imports (`a.b`, `c as d`) bind."""
    names: set[str] = set()
    for alias in aliases:
        name = alias.fields.get("asname") or alias.fields.get("name")
        while isinstance(name, Node) and name.kind == "Attribute":
            name = name.node("value")
        names.add(str(name.fields["value"]) if isinstance(name, Node) else "*")
    return names


def _imports_of(node: ast.stmt) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import("", alias.name, alias.asname or alias.name.partition(".")[0])
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            yield Import(module, alias.name, alias.asname or alias.name)


def _always(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module that run when it is imported: also those of a `try` or a `with`."""
    for node in body:
        yield node
        if isinstance(node, (ast.Try, ast.With)):
            yield from _always(node.body)
