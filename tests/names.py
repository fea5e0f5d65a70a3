"""Whether an edit leaves code that reads what nothing binds any more: asked of Python's own symbol tables, not of the engine."""

import ast
import builtins
import symtable
import warnings
from typing import Iterator, Set, Tuple


def lost_names(before: str, after: str) -> Set[str]:
    """The names that are read and bound nowhere only afterwards."""
    return _unbound(after) - _unbound(before)


def breaks_names(before: str, after: str) -> bool:
    """Whether a name is bound nowhere only afterwards, or is a local of a function that read it from outside before."""
    read_from_outside = set()
    for path, table in _tables(before):
        read_from_outside.update((path, symbol.get_name()) for symbol in table.get_symbols() if symbol.is_global())
    own = set()
    for path, table in _tables(after):
        if table.get_type() == "function":
            own.update((path, symbol.get_name()) for symbol in table.get_symbols() if symbol.is_local())
    return bool(lost_names(before, after) or read_from_outside & own)


def reads_early(before: str, after: str) -> bool:
    """Whether a function reads a local on a line above all that bind it, or `+=` alone binds it, only afterwards."""
    return bool(_early(after) - _early(before))


def _early(text: str) -> Set[Tuple[str, str]]:
    """(function, name) of each local that a function reads early."""
    early = set()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            early.update((function.name, name) for name in _read_early(function))
    return early


def _read_early(function: ast.AST) -> Iterator[str]:
    parts = list(ast.walk(function))
    added = {id(part.target) for part in parts if isinstance(part, ast.AugAssign)}
    not_local = {part.arg for part in parts if isinstance(part, ast.arg)}
    for part in parts:
        if isinstance(part, (ast.Global, ast.Nonlocal)):
            not_local.update(part.names)
    names = [part for part in parts if isinstance(part, ast.Name) and part.id not in not_local]
    bound = {part.id: 0 for part in names if id(part) in added}  # the first line that binds it, 0 for none
    for part in names:
        if isinstance(part.ctx, ast.Store) and id(part) not in added:
            bound[part.id] = min(part.lineno, bound.get(part.id) or part.lineno)
    for part in names:
        if part.id in bound and (not bound[part.id] or part.lineno < bound[part.id]):
            yield part.id


def _unbound(text: str) -> Set[str]:
    bound, read = set(dir(builtins)), set()
    for path, table in _tables(text):
        for each in table.get_symbols():
            if (each.is_assigned() or each.is_imported() or each.is_namespace()) and (not path or each.is_global()):
                bound.add(each.get_name())
            if each.is_referenced() and (not path or each.is_global()):
                read.add(each.get_name())
    return read - bound


def _tables(text: str) -> Iterator[Tuple[str, symtable.SymbolTable]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        waiting = [("", symtable.symtable(text, "module", "exec"))]
    while waiting:
        path, table = waiting.pop()
        yield path, table
        waiting += [(f"{path}.{each.get_name()}", each) for each in table.get_children()]
