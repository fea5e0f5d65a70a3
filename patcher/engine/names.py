"""Whether every name that inserted code reads is bound in the finished file (format rule 27)."""

from __future__ import annotations

import ast
import builtins
import re
from typing import TYPE_CHECKING, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from patcher.engine.lex import meets
from patcher.engine.node import Node
from patcher.engine.source import Source, lines_of

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

_ALWAYS = frozenset([*dir(builtins), "__file__", "__path__", "__builtins__", "__annotations__", "__class__"])
_BINDING = ("targets", "target", "name", "asname")  # fields of a `Node`
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _ClassNames(Set[str]):
    """The names that the body of a class binds: code in a function inside of it is not looked up there."""


class Unbound(NamedTuple):
    """A name that inserted code reads and nothing binds; `line` is 1-based in the finished file."""

    line: int
    name: str


def unbound(before: Source, after: Source, inserted: Sequence[Tuple[int, int]], injected: Sequence[str]) -> List[Unbound]:
    """The names read inside `inserted` that neither their function, nor an enclosing one, the module or builtins binds.

    Args:
        before: the file before the change; a name that the same scope reads there too is not reported.
        after: the finished file.
        inserted: character ranges of inserted code in `after`, in the order of the text.
        injected: names that exist at run time without being bound in the file.
    """
    spans = [(start, end - 1) for start, end in inserted]
    if not before.has_ast or after.tree is None:  # the tree of `before` is made only where it is needed: each is large
        return _unseen(after, spans, injected)
    if any(_is_star(node) for node in _statements(after.tree.body)):
        return []
    known = _ALWAYS | set(injected) | _bound(after.tree.body)
    for line in re.findall(r"^[ \t]+global[ \t]+([\w, \t]+)", after.text, re.MULTILINE):
        known |= set(re.findall(r"\w+", line))
    lines = [(after.lines.number(start), after.lines.number(last)) for start, last in spans]
    found: List[Unbound] = []
    read_before: Dict[str, Set[str]] = {}
    for node in after.tree.body:
        for name, scopes, path in _reads(node, [], "", lines):
            offset = after._offset(name.lineno, name.col_offset)
            bound = name.id in known or any(name.id in scope for scope in scopes)
            if not bound and meets(spans, offset, offset):
                if path not in read_before:
                    read_before[path] = _read_before(before, path)
                if name.id not in read_before[path]:
                    found.append(Unbound(name.lineno, name.id))
    return sorted(set(found))


def _unseen(after: Source, spans: Sequence[Tuple[int, int]], injected: Sequence[str]) -> List[Unbound]:
    """`unbound` where the running interpreter is too old for the file's syntax: names that occur nowhere else in it."""
    known, found = {*_ALWAYS, *injected}, set()
    for node in after.whole().walk():
        if node.kind == "Name":
            name = str(node.fields["value"])
            if not meets(spans, node.start, node.start) or _binds(node):
                known.add(name)
            elif node.field() not in ("attr", "arg", "annotation"):
                found.add(Unbound(after.lines.number(node.start), name))
    return [] if "*" in known else sorted(item for item in found if item.name not in known)


def _binds(node: Node) -> bool:
    """Whether a name is bound where it is written, or is part of an import."""
    chain = [node, *node.ancestors()]
    target = next(part for part in chain if part.parent is None or part.parent.kind not in ("Tuple", "List", "Star"))
    return target.field() in _BINDING or any(part.kind in ("Import", "ImportFrom") for part in chain)


def _is_star(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one scope: into `if`, `try`, `with` and loops, not into definitions."""
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for field in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, field, []))
            for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
                yield from _statements(part.body)


def _bound(body: Sequence[ast.stmt]) -> Set[str]:
    """The names that the statements of one scope bind at run time."""
    names: Set[str] = set()
    hidden: Set[int] = set()
    for node in _statements(body):
        if _for_type_checkers(node):
            hidden.update(id(child) for child in _statements(node.body))
        if id(node) in hidden:
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        else:
            names |= _bound_by(node)
    return names


def _for_type_checkers(node: ast.AST) -> TypeGuard[ast.If]:
    """Whether a statement is an `if TYPE_CHECKING`, whose body never runs."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _bound_by(whole: ast.AST) -> Set[str]:
    """The names that a statement, without the statements inside it, or an expression binds."""
    names: Set[str] = set()
    todo: List[ast.AST] = [whole]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.add(node.id)
        elif type(node).__name__ in ("ExceptHandler", "MatchAs", "MatchStar", "MatchMapping"):
            names.update(filter(None, [getattr(node, "name", None), getattr(node, "rest", None)]))
        own = {id(node.target)} if isinstance(node, ast.comprehension) else set()  # bound inside the comprehension only
        parts = ast.iter_child_nodes(node)
        todo += [child for child in parts if id(child) not in own and not isinstance(child, (ast.stmt, *_FUNCTIONS))]
    return names


def _reads(
    node: ast.AST, scopes: List[Set[str]], path: str, lines: Optional[Sequence[Tuple[int, int]]] = None
) -> Iterator[Tuple[ast.Name, List[Set[str]], str]]:
    """Every name that is read below `node`, with the scopes it is looked up in and the qualified name of its function.

    With `lines` (first, last; sorted), only in statements that have one of them.
    """
    if lines is not None and isinstance(node, ast.stmt) and not meets(lines, *lines_of(node)):
        return
    parameters = getattr(node, "type_params", None)
    scopes = [*scopes, {each.name for each in parameters}] if parameters else scopes
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            yield node, scopes, path
        return
    if isinstance(node, _FUNCTIONS):
        arguments = node.args
        parts = [*getattr(arguments, "posonlyargs", []), *arguments.args, *arguments.kwonlyargs]
        parts += [part for part in (arguments.vararg, arguments.kwarg) if part is not None]
        outer: List[ast.AST] = [*getattr(node, "decorator_list", []), *arguments.defaults]
        outer += [default for default in arguments.kw_defaults if default is not None]
        for child in outer:
            yield from _reads(child, scopes, path, lines)
        body: List[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
        own = {part.arg for part in parts}
        own |= _bound_by(node.body) if isinstance(node, ast.Lambda) else _bound(node.body)
        name = f"{path}.{node.name}" if not isinstance(node, ast.Lambda) else path
        for child in body:
            yield from _reads(child, [*_from_functions(scopes), own], name, lines)
    elif isinstance(node, ast.ClassDef):
        for child in [*node.decorator_list, *node.bases, *node.keywords]:
            yield from _reads(child, scopes, path, lines)
        own = _ClassNames(_bound(node.body))
        for child in node.body:
            yield from _reads(child, [*scopes, own], f"{path}.{node.name}", lines)
    elif isinstance(node, _COMPREHENSIONS):
        own = set().union(*(_bound_by(generator.target) for generator in node.generators))
        first = node.generators[0].iter  # evaluated outside
        yield from _reads(first, scopes, path, lines)
        for child in ast.iter_child_nodes(node):
            for part in ast.iter_child_nodes(child) if isinstance(child, ast.comprehension) else [child]:
                if part is not first:
                    yield from _reads(part, [*_from_functions(scopes), own], path, lines)
    else:
        for child in node.orelse if _for_type_checkers(node) else ast.iter_child_nodes(node):
            if isinstance(node, (ast.AnnAssign, ast.arg)) and child is node.annotation:
                continue  # an annotation may be a string or never be evaluated
            yield from _reads(child, scopes, path, lines)


def _from_functions(scopes: Sequence[Set[str]]) -> List[Set[str]]:
    """The scopes that code in a function sees: not those of classes."""
    return [scope for scope in scopes if not isinstance(scope, _ClassNames)]


def _read_before(source: Source, path: str) -> Set[str]:
    """The names that the scope with this qualified name reads in `source`."""
    body = source.tree.body if source.tree is not None else []
    return {name.id for node in body for name, _, where in _reads(node, [], "") if where == path}
