"""Whether the finished file binds the names that it reads (format rule 21).

Names in inserted code are `unbound` if nothing binds them; names elsewhere are `broken` if
something bound them before the change.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import TYPE_CHECKING, Iterable, Iterator, Sequence

from patcher.engine.lex import meets
from patcher.engine.node import Node
from patcher.engine.scoping import (
    Read,
    blocks_of,
    bound_in,
    has_star_import,
    is_near,
    parameters_of,
    reads,
    statements,
)
from patcher.engine.source import Source
from patcher.record import Record

if TYPE_CHECKING:
    from patcher.engine.scoping import LineRanges

    _Function = ast.FunctionDef | ast.AsyncFunctionDef

_ALWAYS = frozenset(
    [*dir(builtins), "__file__", "__path__", "__builtins__", "__annotations__", "__class__"]
)
_BINDING = ("targets", "target", "name", "asname")  # fields of a `Node`
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MAY_NOT_RUN = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Delete)


class Unbound(Record):
    """A name that inserted code reads and nothing binds; `line` is 1-based in the finished file."""

    line: int
    name: str


class NameUse(Record):
    """How a file uses names: those that its `module` binds, and what some of its statements read.

    `lost` are names that nothing binds. The others are pairs of a function's qualified name and a
    name: `outer` that the function reads from outside of itself, `early` its own that it reads
    before it binds them, `deleted` those that it, or the module (""), reads below their `del`.
    """

    module: set[str]
    lost: set[str]
    outer: set[tuple[str, str]]
    early: set[tuple[str, str]]
    deleted: set[tuple[str, str]]


class Broken(Record):
    """A name that can no longer be read, at a `line` of the finished file.

    `function` is the qualified name of the function in which it is a local now; "" if nothing binds
    it.
    """

    line: int
    name: str
    function: str


# in inserted code ---------------------------------------------------------------------------------
def unbound(
    before: Source,
    after: Source,
    inserted: Sequence[tuple[int, int]],
    injected: Sequence[str],
) -> list[Unbound]:
    """The names in inserted code that no function around it, the module or builtins binds.

    Args:
        before: the file before the change; names that the same scope already reads there are left
            out.
        after: the finished file.
        inserted: character ranges of inserted code in `after`, in order.
        injected: names that exist at run time without being bound in the file.
    """
    spans = [(start, end - 1) for start, end in inserted]
    # the tree of `before` is made only where it is needed: each is large
    if not before.has_ast or after.tree is None:
        return _unseen(after, spans, injected)

    body = after.tree.body
    if has_star_import(body):
        return []

    known = _known(after, bound_in(body)) | set(injected)
    lines = after.lines.numbers(spans)
    missing: set[Unbound] = set()
    read_before: dict[str, set[str]] = {}
    for read in reads(body, lines):
        if read.is_local or read.name in known:
            continue

        offset = after.offset(read.node.lineno, read.node.col_offset)
        if not meets(spans, offset, offset):
            continue

        if read.function not in read_before:
            read_before[read.function] = _reads_of(before, read.function)
        if read.name not in read_before[read.function]:
            missing.add(Unbound(read.node.lineno, read.name))

    return sorted(missing)


def _reads_of(source: Source, function: str) -> set[str]:
    """The names that the scope with this qualified name reads."""
    body = source.tree.body if source.tree is not None else []
    return {read.name for read in reads(body) if read.function == function}


def _unseen(
    after: Source,
    spans: Sequence[tuple[int, int]],
    injected: Sequence[str],
) -> list[Unbound]:
    """`unbound` if the running interpreter is too old for the syntax of the file.

    These are the names that occur nowhere else in it.
    """
    known = {*_ALWAYS, *injected}
    missing: set[Unbound] = set()
    for node in after.whole().walk():
        if node.kind != "Name":
            continue

        name = str(node.fields["value"])
        if not meets(spans, node.start, node.start) or _is_binding(node):
            known.add(name)
        elif node.field() not in ("attr", "arg", "annotation"):
            missing.add(Unbound(after.lines.number(node.start), name))

    if "*" in known:
        return []

    unknown = [item for item in missing if item.name not in known]
    return sorted(unknown)


def _is_binding(name: Node) -> bool:
    """Whether a name is bound where it is written, or is part of an import."""
    for part in [name, *name.ancestors()]:
        if part.kind in ("Import", "ImportFrom"):
            return True

    target = name
    while target.parent is not None and target.parent.kind in ("Tuple", "List", "Star"):
        target = target.parent

    return target.field() in _BINDING


# in what stays ------------------------------------------------------------------------------------
def name_use(source: Source, lines: LineRanges) -> NameUse | None:
    """How the statements at some lines use names; None if that cannot be known."""
    if source.tree is None or _is_dynamic(source):
        return None

    body = source.tree.body
    module = bound_in(body)
    known = _known(source, module)
    lost = set()
    for read in _reads_near(body, lines):
        if read.name not in known and not read.is_local:
            lost.add(read.name)

    outer: set[tuple[str, str]] = set()
    early: set[tuple[str, str]] = set()
    deleted = _in("", _read_below_del(body))
    for path, function in _functions_near(body, lines):
        locals_ = _locals_of(function)
        for name in _looked_up_in(function):
            if name.id not in locals_:
                outer.add((path, name.id))

        early |= _in(path, _read_early(function))
        deleted |= _in(path, _read_below_del(function.body))

    return NameUse(module, lost, outer=outer, early=early, deleted=deleted)


def _in(path: str, names: Iterable[ast.Name]) -> set[tuple[str, str]]:
    """Names with the function that they are in."""
    return {(path, name.id) for name in names}


def broken(
    before: NameUse | None,
    after: Source,
    lines: LineRanges,
    injected: Sequence[str],
) -> list[Broken]:
    """The names that are still read, and now bound nowhere, or only later in their function.

    Args:
        before: of the file before the change, at the lines that it changes.
        after: the finished file.
        lines: the changed lines in it.
        injected: names that exist at run time without being bound in the file.
    """
    if before is None or after.tree is None or _is_dynamic(after):
        return []

    body = after.tree.body
    functions = list(_functions_near(body, lines))

    breaks = set(_unbound_now(before, after, lines, injected))
    scopes = [("", body)]
    scopes += [(path, function.body) for path, function in functions]
    for path, block in scopes:
        for name in _read_below_del(block):
            if (path, name.id) not in before.deleted:
                breaks.add(Broken(name.lineno, name.id, function=""))

    for path, function in functions:
        for name in _local_now(before, path, function):
            breaks.add(Broken(name.lineno, name.id, function=path))

    return sorted(breaks)


def _unbound_now(
    before: NameUse,
    after: Source,
    lines: LineRanges,
    injected: Sequence[str],
) -> Iterator[Broken]:
    """The names that nothing binds any more."""
    body = after.tree.body if after.tree is not None else []
    module = bound_in(body)
    known = _known(after, module) | set(injected)
    candidates = list(_reads_near(body, lines))
    # what the module bound may be read anywhere
    gone = before.module - module
    if any(re.search(rf"\b{name}\b", after.text) for name in gone):
        candidates += [read for read in reads(body) if read.name in gone]
    for read in candidates:
        was_bound = read.name not in before.lost
        if was_bound and read.name not in known and not read.is_local:
            yield Broken(read.node.lineno, read.name, function="")


def _local_now(before: NameUse, path: str, function: _Function) -> Iterator[ast.Name]:
    """The names that a function now reads before it binds them, and did not before the change."""
    locals_ = _locals_of(function)
    were_outer: set[str] = set()
    for where, outer_name in before.outer:
        if where == path and outer_name in locals_:
            were_outer.add(outer_name)

    for name in _looked_up_in(function):
        if name.id in were_outer and not _is_bound_above(function, name):
            yield name

    for name in _read_early(function):
        if (path, name.id) not in before.early:
            yield name


def _is_dynamic(source: Source) -> bool:
    """Whether the file may bind names that are not written in it."""
    assert source.tree is not None
    if re.search(r"\b(exec|globals)[ \t]*\(", source.text):
        return True
    return has_star_import(source.tree.body)


def _known(source: Source, module: set[str]) -> set[str]:
    """The names that any function of a file can read.

    These are the names of its module, builtins, and what its functions make global.
    """
    names = {*_ALWAYS, *module}
    declarations = re.findall(r"^[ \t]+global[ \t]+([\w, \t]+)", source.text, re.MULTILINE)
    for declared in declarations:
        names.update(re.findall(r"\w+", declared))

    return names


def _reads_near(body: Sequence[ast.stmt], lines: LineRanges) -> Iterator[Read]:
    """The reads in the top-level statements that have one of these lines, or are next to one.

    In a class, the bodies of other functions are left out: what they read depends only on their own
    lines and those of the module.
    """
    top_level = [node for node in body if is_near(node, lines)]
    return reads(top_level, near=lines)


def _functions_near(body: Sequence[ast.stmt], lines: LineRanges) -> Iterator[tuple[str, _Function]]:
    """The functions in the same statements, each with its qualified name."""
    top_level = [node for node in body if is_near(node, lines)]
    waiting = [("", node) for node in statements(top_level)]
    while waiting:
        path, node = waiting.pop()
        if not isinstance(node, _DEFINITIONS):
            continue

        is_class = isinstance(node, ast.ClassDef)
        inner_path = f"{path}.{node.name}"
        if not isinstance(node, ast.ClassDef):
            yield inner_path, node
        for child in statements(node.body):
            if not is_class or is_near(child, lines):
                waiting.append((inner_path, child))


# in one function ----------------------------------------------------------------------------------
def _locals_of(function: _Function) -> set[str]:
    """The names that are local to a function.

    These are its parameters and what its body binds, except for what it declares global or
    nonlocal.
    """
    bound = parameters_of(function.args) | bound_in(function.body)
    return bound - _declared(function)


def _declared(function: _Function) -> set[str]:
    """The names that a function declares global or nonlocal."""
    names = set()
    for node in statements(function.body):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            names.update(node.names)

    return names


def _looked_up_in(function: _Function) -> Iterator[ast.Name]:
    """The names that the body of a function, or a function inside it, looks up in it or outside."""
    for read in reads(function.body):
        if not read.is_local:
            yield read.node


def _read_early(function: _Function) -> list[ast.Name]:
    """The locals that a function reads above every statement that binds them.

    `+=` and the like read what they change.
    """
    elsewhere = parameters_of(function.args) | _declared(function)
    bindings: dict[str, tuple[int, int]] = {}
    for node in function.body:
        for name in bound_in([node], without=(ast.AugAssign,)) - elsewhere:
            bindings.setdefault(name, (node.lineno, node.col_offset))

    early = []
    for node in statements(function.body):
        target = node.target if isinstance(node, ast.AugAssign) else None
        if not isinstance(target, ast.Name):
            continue
        if target.id not in bindings and target.id not in elsewhere:
            early.append(target)

    for read in reads(function.body):
        position = (read.node.lineno, read.node.col_offset)
        if read.is_at_once and position < bindings.get(read.name, (0, 0)):
            early.append(read.node)

    return early


def _read_below_del(body: Sequence[ast.stmt]) -> Iterator[ast.Name]:
    """The names that a scope reads below their `del` in the same block.

    Only if no statement in between may bind them.
    """
    has_del = any(isinstance(node, ast.Delete) for node in statements(body))
    if not has_del:
        return

    deleted: set[str] = set()
    for node in body:
        bound = bound_in([node])
        if deleted:
            missing = deleted - bound if hasattr(node, "body") else deleted
            for read in reads([node]):
                if read.is_at_once and read.name in missing:
                    yield read.node

        deleted -= bound
        if isinstance(node, ast.Delete):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            deleted.update(names)

        if not isinstance(node, _DEFINITIONS):
            for block in blocks_of(node):
                yield from _read_below_del(block)


def _is_bound_above(function: _Function, name: ast.Name) -> bool:
    """Whether a statement that always runs before a name is read there binds it."""
    if name.id in parameters_of(function.args):
        return True

    position = (name.lineno, name.col_offset)
    for block in _blocks_around(function.body, position):
        for node in block:
            if isinstance(node, _MAY_NOT_RUN) or name.id not in bound_in([node]):
                continue
            if _end(node) <= position:
                return True

    return False


def _blocks_around(body: list[ast.stmt], position: tuple[int, int]) -> Iterator[list[ast.stmt]]:
    """The block of a scope in which a position is, and those around it, from the outermost."""
    yield body
    for node in body:
        if isinstance(node, _DEFINITIONS):
            continue
        for block in blocks_of(node):
            if block and (block[0].lineno, block[0].col_offset) <= position < _end(block[-1]):
                yield from _blocks_around(block, position)


def _end(node: ast.stmt) -> tuple[int, int]:
    """The line (1-based) and the column past a statement."""
    return (node.end_lineno or node.lineno, node.end_col_offset or 0)
