"""Whether something sets the attributes that inserted code reads of `self` (format rule 21)."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Iterator, Sequence

from patcher.engine.changes import FinishedText
from patcher.engine.names import Unbound
from patcher.engine.scoping import bound_in, is_near, statements
from patcher.engine.source import Source

if TYPE_CHECKING:
    from patcher.engine.scoping import LineRanges

_METHODS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DYNAMIC = re.compile(
    r"\b(?:setattr|vars|locals|__getattr__|__getattribute__|__dict__|__slots__|__new__)\b"
)
"""What may set attributes that are not written in a file."""


def unset_attributes(finished: FinishedText, injected: Sequence[str]) -> list[Unbound]:
    """The attributes that inserted code reads of its own object, and nothing sets.

    Only in a class without decorators of which all bases are in the file, where no code of the file
    before the change has an attribute or a text of that name.

    Args:
        finished: the finished file.
        injected: names that are set or bound outside of the file.
    """
    before, after = finished.source, finished.result
    # the tree of `before` is not made for it: each is large
    if not before.has_ast or after.tree is None or _DYNAMIC.search(after.text):
        return []

    lines = finished.inserted_lines
    classes = {node.name: node for node in after.tree.body if isinstance(node, ast.ClassDef)}
    missing: set[Unbound] = set()
    for owner in classes.values():
        family = _family(owner, classes) if is_near(owner, lines) else []
        for read in _reads_of_self(owner, lines) if family else ():
            name = read.attr
            if not finished.inserts(read) or hasattr(object, name) or name in injected:
                continue
            is_bound = any(name in bound_in(each.body) for each in family)
            if not is_bound and not _is_set(name, before, after.tree):
                missing.add(Unbound(read.lineno, name))

    return sorted(missing)


def _family(owner: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> list[ast.ClassDef]:
    """A class and its bases; none if one is not in the file, or has a decorator or a metaclass."""
    family: list[ast.ClassDef] = []
    waiting = [owner]
    while waiting:
        node = waiting.pop()
        if node in family:
            continue
        family.append(node)
        if node.decorator_list or node.keywords:
            return []
        for base in node.bases:
            name = base.id if isinstance(base, ast.Name) else ""
            if name != "object" and name not in classes:
                return []
            if name != "object":
                waiting.append(classes[name])

    return family


def _reads_of_self(owner: ast.ClassDef, lines: LineRanges) -> Iterator[ast.Attribute]:
    """The attributes that the methods of a class at some lines read of their first parameter."""
    for method in statements(owner.body):
        if not is_near(method, lines):
            continue
        if not isinstance(method, _METHODS) or not method.args.args or method.decorator_list:
            continue
        first = method.args.args[0].arg
        for part in ast.walk(method):
            if not isinstance(part, ast.Attribute) or not isinstance(part.ctx, ast.Load):
                continue
            if isinstance(part.value, ast.Name) and part.value.id == first:
                yield part


def _is_set(name: str, before: Source, tree: ast.Module) -> bool:
    """Whether the result sets an attribute of a name, or the text before has it in any way."""
    if re.search(rf"""\.\s*{name}\b|["']{name}["']""", before.text):
        return True
    for part in ast.walk(tree):
        if not isinstance(part, ast.Attribute) or part.attr != name:
            continue
        if not isinstance(part.ctx, ast.Load):
            return True

    return False
