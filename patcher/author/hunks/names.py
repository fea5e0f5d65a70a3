"""The names in code: which it has and binds, which are distinctive, which matter to an import."""

from __future__ import annotations

import re
from itertools import filterfalse
from typing import AbstractSet, Iterable, Iterator, Mapping, Sequence

from patcher.author.hunks.differences import Difference, scope_of
from patcher.engine.tree import Node, Tree, imported
from patcher.message import fields_called

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
_WORD = re.compile(r"[^\W\d]{4}")
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
IMPORTS = frozenset(["Import", "ImportFrom"])
"""The kinds of statements that import."""


def names_in(nodes: Sequence[Node]) -> set[str]:
    """Every identifier in code."""
    names: set[str] = set()
    for node in nodes:
        names |= _identifiers(node.walk())
    return names


def _identifiers(parts: Iterable[Node]) -> set[str]:
    return {str(part.fields["value"]) for part in parts if part.kind == "Name" and not part.role}


def names_bound(nodes: Sequence[Node]) -> set[str]:
    """The names that statements bind."""
    binding: list[Node] = []
    for node in nodes:
        binding += [*node.items("targets"), *node.items("names")]
        if node.is_definition or node.kind in ("AugAssign", "For"):
            for key in ("target", "name"):
                part = node.fields.get(key)
                if isinstance(part, Node):
                    binding.append(part)
        for item in node.items("items"):
            part = item.fields.get("asname")
            if isinstance(part, Node):
                binding.append(part)
    return names_in(binding)


def distinctive_words(nodes: Sequence[Node], hidden: Sequence[tuple[int, int]] = ()) -> set[str]:
    """The identifiers and strings in code that few other places have.

    With only one of them there may be another place.

    Args:
        nodes: the code.
        hidden: the offsets of pieces that are not looked at.
    """
    words: set[str] = set()
    for node in nodes:
        for part in node.walk():
            if any(start <= part.start < end for start, end in hidden):
                continue
            value = str(part.fields.get("value") or "")
            if part.kind == "Name":
                is_distinctive = not part.role and value not in _COMMON and len(value) > 1
            else:
                is_text = part.kind in ("String", "FText")
                is_distinctive = is_text and _WORD.search(value) is not None
            if is_distinctive:
                words.add(value)
    return words


def unbound_names(problem: str) -> list[str]:
    """The names that nothing binds, of a problem that says so: its fields called `unbound`."""
    return fields_called(problem, "unbound")


def imports_of_new_code(before: Tree, after: Tree, found: Sequence[Difference]) -> dict[str, str]:
    """The imports of a module that new code needs: a line for each name, in its order.

    The name of `import a.b` is `a.b`: a module may bind `a` without it.

    Args:
        before: the text before the edit.
        after: the text after it.
        found: the differences.
    """
    lines = _lines_of_imports(before)
    dotted = _DOTTED.findall(" ".join(each.text for each in found))
    names = {_imported_name(each, lines) for each in dotted} - {""}
    if not names:  # to read a whole file takes the longest
        return {}
    ranges = [(each.start, each.start + len(each.text)) for each in found]
    unbound = Tree(after.encoded(_without_imports(after))).unbound(Tree(b""), ranges)
    first_names = {item.name for item in unbound}
    needed: dict[str, str] = {}
    for name, line in lines.items():
        if name in names and _first_name(name) in first_names:
            needed[name] = line
    return needed


def _first_name(dotted: str) -> str:
    """The name that `a.b` reads: `a`."""
    return dotted.partition(".")[0]


def _imported_name(dotted: str, lines: Mapping[str, str]) -> str:
    """The longest of the imported names that a name with attributes reads, "" for none.

    Where only other modules of its package are imported, it is the last of those.
    """
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        name = ".".join(parts[:size])
        if name in lines:
            return name
    of_package = [name for name in lines if _first_name(name) == parts[0]]
    return of_package[-1] if of_package else ""


def _lines_of_imports(module: Tree) -> dict[str, str]:
    """A line for each name that a module imports, which is `a.b` for `import a.b`."""
    lines: dict[str, str] = {}
    for node in module.root.statements():
        if node.kind not in IMPORTS:
            continue
        head = module.text[node.start : node.items("names")[0].start].rstrip("(\\\r\n\t ")
        for alias in node.items("names"):
            item = " ".join(module.text[alias.start : alias.end].split())
            (name,) = imported([alias])
            if node.kind == "Import" and _DOTTED.fullmatch(item):
                name = item
            lines[name] = f"{head} {item}"
    return lines


def read_around(before: Tree, found: Sequence[Difference]) -> set[str]:
    """The names in the functions that hold differences, `a.b` for an attribute of a name as well.

    For one that is in none, those in the class or the module, but not in the functions of that.
    """
    names: set[str] = set()
    for difference in found:
        owner = difference.before.block
        while not owner.is_definition and owner.parent is not None:
            owner = owner.parent
        if owner.kind == "FunctionDef":
            names |= _dotted_names(before, owner.walk())
            continue
        body = owner.node("body") if owner.is_definition else owner
        for statement in body.statements():
            if statement.kind not in IMPORTS:
                names |= _dotted_names(before, _during_import(statement))
    return names


def _dotted_names(source: Tree, parts: Iterable[Node]) -> set[str]:
    """The names in code, and `a.b` for an attribute of one."""
    parts = list(parts)
    names = _identifiers(parts)
    for part in parts:
        if part.kind == "Attribute":
            names.add(source.text[part.start : part.end])
    return names


def _without_imports(module: Tree) -> str:
    """The text of a module with `pass` for each import at its margin, its lines as they are."""
    text = module.text
    for node in module.root.statements():
        if node.kind in IMPORTS:
            blank = re.sub(r"[^\r\n]", " ", text[node.start : node.end])
            text = f"{text[: node.start]}pass{blank[len('pass') :]}{text[node.end :]}"
    return text


def read_during_import(module: Node, names: AbstractSet[str]) -> bool:
    """Whether code that runs while a module is imported mentions one of these names.

    It does so itself or in what it may call. A function that mentions such a name counts as one,
    by its own name and by those of its classes: which class an object is of is not known.
    """
    code = list(_during_import(module))
    functions: list[tuple[list[str], set[str]]] = []  # the names of each, and those in its body
    for node in code:
        if node.kind == "FunctionDef":
            functions.append((scope_of(node).split("."), names_in([node.node("body")])))

    reached = set(names)
    size = 0
    while len(reached) > size:
        size = len(reached)
        for own_names, mentioned in functions:
            if mentioned & reached:
                reached.update(own_names)
    used = _identifiers(filterfalse(_is_definition_name, code))
    return bool(reached & used)


def mentioned_during_import(module: Tree, names: AbstractSet[str]) -> bool:
    """Whether code that runs while a module is imported mentions one of these names.

    The names of definitions are among them; with `from x import *` any may be.
    """
    words = "|".join(map(re.escape, names))
    if not re.search(rf"\b(?:{words})\b|\bimport[\s\\]*\*", module.text):
        return False  # no need to read all definitions
    return bool((names | {"*"}) & _identifiers(_during_import(module.root)))


def _during_import(node: Node) -> Iterator[Node]:
    """The code that runs while a module is imported: all but the bodies of functions."""
    yield node
    for child in node.children():
        if not (node.kind == "FunctionDef" and child is node.fields["body"]):
            yield from _during_import(child)


def _is_definition_name(node: Node) -> bool:
    owner = node.parent
    return owner is not None and owner.is_definition and owner.fields["name"] is node
