"""The names in code: which it has and binds, which of them are distinctive, and which matter while a module is imported."""

from __future__ import annotations

import re
from typing import AbstractSet, Iterable, Iterator, Sequence

from patcher.author.hunks.differences import Difference, scope_of
from patcher.engine.tree import Node, Tree, imported

_COMMON = frozenset(
    [
        "self",
        "cls",
        "None",
        "True",
        "False",
        "i",
        "x",
        "str",
        "int",
        "len",
        "list",
        "dict",
        "type",
        "isinstance",
        "super",
    ]
)


def names_in(nodes: Sequence[Node]) -> set[str]:
    """Every identifier in code."""
    return _identifiers(part for node in nodes for part in node.walk())


def _identifiers(parts: Iterable[Node]) -> set[str]:
    return {str(part.fields["value"]) for part in parts if part.kind == "Name" and not part.role}


def names_bound(nodes: Sequence[Node]) -> set[str]:
    """The names that statements bind."""
    found: list[Node] = []
    for node in nodes:
        found += [*node.items("targets"), *node.items("names")]
        for key in ("target", "name"):
            part = node.fields.get(key)
            binds = node.is_definition or node.kind in ("AugAssign", "For")
            found += [part] if isinstance(part, Node) and binds else []
        for item in node.items("items"):
            part = item.fields.get("asname")
            found += [part] if isinstance(part, Node) else []
    return names_in(found)


def distinctive_words(nodes: Sequence[Node], hidden: Sequence[tuple[int, int]] = ()) -> set[str]:
    """The identifiers and strings in code that few other places have; with only one of them there may be another place.

    What is in `hidden` (offsets) is not looked at.
    """
    found: set[str] = set()
    for part in (part for node in nodes for part in node.walk()):
        if any(start <= part.start < end for start, end in hidden):
            continue
        value = str(part.fields.get("value") or "")
        named = part.kind == "Name" and not part.role and value not in _COMMON and len(value) > 1
        if named or (part.kind in ("String", "FText") and re.search(r"[^\W\d]{4}", value)):
            found.add(value)
    return found


def carried_imports(
    before: Tree, after: Tree, found: Sequence[Difference], others: Sequence[Tree]
) -> list[str]:
    """The imports of a module, a line for each name, that new code reads and another release does not bind.

    Args:
        before: the text before the edit.
        after: the text after it.
        found: the differences.
        others: the module in other releases, of which there is one at least.
    """
    kinds, hidden = ("Import", "ImportFrom"), after.text
    for node in (node for node in after.root.statements() if node.kind in kinds):
        blank = re.sub(r"[^\r\n]", " ", hidden[node.start : node.end])
        hidden = f"{hidden[: node.start]}pass{blank[len('pass') :]}{hidden[node.end :]}"
    ranges = [(each.start, each.start + len(each.text)) for each in found]
    wanted = {item.name for item in Tree(after.encoded(hidden)).unbound(Tree(b""), ranges)}
    wanted = {name for name in wanted if not all(other.binds({name}) for other in others)}
    lines: dict[str, str] = {}
    for node in (node for node in before.root.statements() if node.kind in kinds):
        head = before.text[node.start : node.items("names")[0].start].rstrip("(\\\r\n\t ")
        for alias in node.items("names"):
            (name,) = imported([alias])
            if name in wanted:  # of `import a.b` and `import a.c` the last one counts
                lines[name] = f"{head} {' '.join(before.text[alias.start : alias.end].split())}"
    return list(lines.values())


def read_during_import(module: Node, names: AbstractSet[str]) -> bool:
    """Whether code that runs while a module is imported mentions one of these names, itself or in what it may call.

    A function that mentions such a name counts as one, by its own name and by those of its classes: which class an object is
    of is not known.
    """
    found = set(names)
    code = list(_during_import(module))
    functions = [node for node in code if node.kind == "FunctionDef"]
    inside = [(scope_of(node).split("."), names_in([node.node("body")])) for node in functions]
    size = 0
    while len(found) > size:
        size = len(found)
        found.update(*(own for own, mentioned in inside if mentioned & found))
    return bool(found & _identifiers(node for node in code if not _is_definition_name(node)))


def mentioned_during_import(module: Node) -> set[str]:
    """Every identifier in the code that runs while a module is imported, the names of definitions among them."""
    return _identifiers(_during_import(module))


def _during_import(node: Node) -> Iterator[Node]:
    """The code that runs while a module is imported: all but the bodies of functions."""
    yield node
    for child in node.children():
        if not (node.kind == "FunctionDef" and child is node.fields["body"]):
            yield from _during_import(child)


def _is_definition_name(node: Node) -> bool:
    return (
        node.parent is not None and node.parent.is_definition and node.parent.fields["name"] is node
    )
