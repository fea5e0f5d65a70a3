"""The names in code: what it reads and binds, which of them say where it stands, and which are read during an import."""

from __future__ import annotations

import re
from typing import AbstractSet, Iterable, Iterator, List, Sequence, Set

from patcher.author.hunks.leaves import scope_of
from patcher.engine.node import Node

_COMMON = frozenset(
    ["self", "cls", "None", "True", "False", "i", "x", "str", "int", "len", "list", "dict", "type", "isinstance", "super"]
)


def reads(nodes: Sequence[Node]) -> Set[str]:
    """Every identifier in code."""
    return _identifiers(part for node in nodes for part in node.walk())


def _identifiers(parts: Iterable[Node]) -> Set[str]:
    return {str(part.fields["value"]) for part in parts if part.kind == "Name" and not part.role}


def binds(nodes: Sequence[Node]) -> Set[str]:
    """The names that statements bind."""
    found: List[Node] = []
    for node in nodes:
        found += [*node.items("targets"), *node.items("names")]
        for key in ("target", "name"):
            part = node.fields.get(key)
            found += [part] if isinstance(part, Node) and node.kind in ("AugAssign", "For", "FunctionDef", "ClassDef") else []
        for item in node.items("items"):
            part = item.fields.get("asname")
            found += [part] if isinstance(part, Node) else []
    return reads(found)


def telling_words(nodes: Sequence[Node]) -> Set[str]:
    """The identifiers and texts in code that few other places have; one alone may well be elsewhere too."""
    found: Set[str] = set()
    for part in (part for node in nodes for part in node.walk()):
        value = str(part.fields.get("value") or "")
        named = part.kind == "Name" and not part.role and value not in _COMMON and len(value) > 1
        if named or (part.kind in ("String", "FText") and re.search(r"[^\W\d]{4}", value)):
            found.add(value)
    return found


def read_during_import(module: Node, names: AbstractSet[str]) -> bool:
    """Whether code that runs while a module is imported mentions one of these names, itself or in what it may call.

    A function that mentions such a name counts as one, by its own name and by those of its classes: what is called through an
    object is not known.
    """
    found = set(names)
    code = list(_during_import(module))
    functions = [(set(scope_of(node).split(".")), reads([node.node("body")])) for node in code if node.kind == "FunctionDef"]
    size = 0
    while len(found) > size:
        size = len(found)
        found.update(*(own for own, mentioned in functions if mentioned & found))
    return bool(found & _identifiers(node for node in code if not _is_definition_name(node)))


def mentioned_during_import(module: Node) -> Set[str]:
    """Every identifier in the code that runs while a module is imported, the names of definitions among them."""
    return _identifiers(_during_import(module))


def _during_import(node: Node) -> Iterator[Node]:
    """The code that runs while a module is imported: all but the bodies of functions."""
    yield node
    for child in node.children():
        if not (node.kind == "FunctionDef" and child is node.fields["body"]):
            yield from _during_import(child)


def _is_definition_name(node: Node) -> bool:
    return node.parent is not None and node.parent.kind in ("FunctionDef", "ClassDef") and node.parent.fields["name"] is node
