"""Inserted calls of functions that do not take what is passed (format rule 21)."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, AbstractSet, Iterator, Sequence

from patcher.engine.scoping import statements
from patcher.planner.own_package import OwnPackage, absolute
from patcher.record import Record

if TYPE_CHECKING:
    _Function = ast.FunctionDef | ast.AsyncFunctionDef

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST_IMPORTS = 4  # from one module to the next one, up to the definition
_DECORATORS = frozenset(["classmethod", "staticmethod"])
"""The decorators of methods that leave what they take as it is."""


class _Call(Record):
    """A call.

    Attributes:
        owner: the class of which a method is called by `self` or `cls`, "" for a function.
        name: the name of what is called.
        number: how many values are passed by position.
        keywords: those that are passed by name.
    """

    owner: str
    name: str
    number: int
    keywords: frozenset[str]


class UnfitCall(Record):
    """A call that does not fit: the name of what is called, and the parameters that it has."""

    name: str
    parameters: tuple[str, ...]


def unfit_calls(
    path: str, before: ast.Module, after: ast.Module, package: OwnPackage
) -> list[UnfitCall]:
    """The new calls of a changed file that what they call does not take.

    Only where the one definition is known: in the file, in the class, or in another module of the
    package. A call in a `try`, and one beside another new call of the same function that fits, may
    be for other releases.
    """
    known = set(_calls(before))
    misfits: dict[_Call, _Function] = {}
    fitting: set[tuple[str, str]] = set()
    for call in dict.fromkeys(_calls(after)):
        function = None if call in known else _definition(path, after, call, package)
        if function is None:
            continue
        if _takes(function, call):
            fitting.add((call.owner, call.name))
        else:
            misfits[call] = function

    unfit: list[UnfitCall] = []
    for call, function in misfits.items():
        if (call.owner, call.name) not in fitting:
            names = tuple(each.arg for each in _by_position(function, call))
            unfit.append(UnfitCall(call.name, names))
    return unfit


# the calls ----------------------------------------------------------------------------------------
def _calls(tree: ast.Module) -> Iterator[_Call]:
    """The calls of functions by their names, and of methods by `self` and `cls`."""
    for node in tree.body:
        yield from _calls_in(node, owner="", hidden=frozenset())


def _calls_in(node: ast.AST, owner: str, hidden: AbstractSet[str]) -> Iterator[_Call]:
    """The calls in a node.

    Args:
        node: the node.
        owner: the class at the margin that it is in, "" for none.
        hidden: the names that the functions around it bind.
    """
    if isinstance(node, (*_FUNCTIONS, ast.Lambda)):
        hidden = hidden | _locals(node)
    if isinstance(node, ast.ClassDef):
        owner = node.name if not owner and not hidden else ""
    if isinstance(node, ast.Call):
        call = _call(node, owner)
        if call is not None and (call.owner or call.name not in hidden):
            yield call
    tried = node.body if isinstance(node, ast.Try) and node.handlers else []
    for child in ast.iter_child_nodes(node):
        if child not in tried:
            yield from _calls_in(child, owner, hidden)


def _locals(function: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and node is not function:
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= _imported_names(node)
    return names


def _call(node: ast.Call, owner: str) -> _Call | None:
    """A call, None for one of which it is not known what is called, or what is passed."""
    if any(isinstance(value, ast.Starred) for value in node.args):
        return None
    keywords = [keyword.arg for keyword in node.keywords]
    names = frozenset(name for name in keywords if name is not None)
    if len(names) < len(keywords):
        return None
    if isinstance(node.func, ast.Name):
        return _Call("", node.func.id, len(node.args), names)
    if not owner or not isinstance(node.func, ast.Attribute):
        return None
    value = node.func.value
    if not isinstance(value, ast.Name) or value.id not in ("self", "cls"):
        return None
    return _Call(owner, node.func.attr, len(node.args), names)


# what is called -----------------------------------------------------------------------------------
def _definition(path: str, tree: ast.Module, call: _Call, package: OwnPackage) -> _Function | None:
    """The one function that is called, None where that is not known."""
    body: Sequence[ast.stmt] = tree.body
    if call.owner:
        owner = _only(body, call.owner)
        if not isinstance(owner, ast.ClassDef) or owner.decorator_list:
            return None
        body = owner.body
    found = _only(body, call.name)
    if isinstance(found, ast.ImportFrom):
        found = _imported(path, found, call.name, package)
    if not isinstance(found, _FUNCTIONS):
        return None
    known = _DECORATORS if call.owner else frozenset()
    return found if _decorators(found) <= known else None


def _imported(
    path: str, statement: ast.ImportFrom, name: str, package: OwnPackage
) -> ast.stmt | None:
    """What binds a name where a file imports it from, also by way of other modules."""
    found: ast.stmt | None = statement
    for _ in range(_MOST_IMPORTS):
        if not isinstance(found, ast.ImportFrom):
            return found
        origin = [each.name for each in found.names if name == (each.asname or each.name)]
        if not origin:  # by way of a `*`
            return None
        name = origin[-1]
        module = package.module(absolute(path, found))
        if module is None:
            return None
        path, tree = module
        found = _only(tree.body, name)
    return None


def _only(body: Sequence[ast.stmt], name: str) -> ast.stmt | None:
    """The only statement of a scope that may bind a name, None where there are others."""
    found = [node for node in statements(body) if _bound_by(node) & {name, "*"}]
    return found[0] if len(found) == 1 else None


def _bound_by(node: ast.stmt) -> set[str]:
    """The names that a statement binds, also those assigned in its blocks; "*" may be any."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return _imported_names(node)
    names: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, (ast.Store, ast.Del)):
            names.add(part.id)
    return names


def _imported_names(node: ast.Import | ast.ImportFrom) -> set[str]:
    return {alias.asname or alias.name.partition(".")[0] for alias in node.names}


# what it takes ------------------------------------------------------------------------------------
def _by_position(function: _Function, call: _Call) -> list[ast.arg]:
    """The parameters that a call can pass by position."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    if call.owner:
        is_static = "staticmethod" in _decorators(function)
        return parameters if is_static else parameters[1:]
    return parameters


def _decorators(function: _Function) -> set[str]:
    """The names of its decorators, "" for what is more than a name."""
    return {getattr(decorator, "id", "") for decorator in function.decorator_list}


def _takes(function: _Function, call: _Call) -> bool:
    """Whether a function takes what a call passes."""
    arguments = function.args
    parameters = [each.arg for each in _by_position(function, call)]
    by_keyword = {each.arg for each in arguments.kwonlyargs}
    required = parameters[: len(parameters) - len(arguments.defaults)]
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        if default is None:
            required.append(parameter.arg)

    if call.number > len(parameters) and arguments.vararg is None:
        return False
    passed = {*parameters[: call.number], *call.keywords}
    named = {*parameters[call.number :], *by_keyword}
    is_known = call.keywords <= named or arguments.kwarg is not None
    return is_known and passed >= set(required)
