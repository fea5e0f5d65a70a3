"""Whether the names that the finished file reads are bound there, in inserted code and in what stayed (format rule 27)."""

from __future__ import annotations

import ast
import builtins
import re
from typing import (
    TYPE_CHECKING,
    Iterator,
    NamedTuple,
    Sequence,
    Set,
    Union,
)

from patcher.engine.lex import meets
from patcher.engine.node import Node
from patcher.engine.source import Source, lines_of

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

_ALWAYS = frozenset(
    [*dir(builtins), "__file__", "__path__", "__builtins__", "__annotations__", "__class__"]
)
_BINDING = ("targets", "target", "name", "asname")  # fields of a `Node`
_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _ClassNames(Set[str]):
    """The names that the body of a class binds: code in a function inside of it is not looked up there."""


class Unbound(NamedTuple):
    """A name that inserted code reads and nothing binds; `line` is 1-based in the finished file."""

    line: int
    name: str


class NameUse(NamedTuple):
    """The names of a file: bound by its `module`, and of some statements `lost`, which nothing binds.

    `outer` are (qualified name of a function, name) that a function reads from outside of it, `early` those of its own that it
    reads before it binds them, `deleted` those that it, or the module (""), reads below their `del`.
    """

    module: set[str]
    lost: set[str]
    outer: set[tuple[str, str]]
    early: set[tuple[str, str]]
    deleted: set[tuple[str, str]]


class Broken(NamedTuple):
    """A name that cannot be read any more: `line` of the finished file, and `function` where it is a local of that now."""

    line: int
    name: str
    function: str


def name_use(source: Source, lines: Sequence[tuple[int, int]]) -> NameUse | None:
    """How the statements at some lines (first, last; sorted) use names; None where nobody can know."""
    if source.tree is None or _is_dynamic(source):
        return None
    use = NameUse(
        bound_in(source.tree.body),
        set(),
        set(),
        set(),
        {("", name.id) for name in _deleted(source.tree.body)},
    )
    bound_names = _known(source, use.module)
    for name, scopes, _ in _near(source.tree.body, lines):
        if not (name.id in bound_names or any(name.id in scope for scope in scopes)):
            use.lost.add(name.id)
    for path, function in _functions_near(source.tree.body, lines):
        local_names = _own(function)
        use.outer.update(
            (path, name.id) for name in _own_reads(function) if name.id not in local_names
        )
        use.early.update((path, name.id) for name in _early(function))
        use.deleted.update((path, name.id) for name in _deleted(function.body))
    return use


def broken(
    before: NameUse | None,
    after: Source,
    lines: Sequence[tuple[int, int]],
    injected: Sequence[str],
) -> list[Broken]:
    """The names that are read still, and bound nowhere now, or only later in their function.

    Args:
        before: of the file before the change, at the lines that it changes.
        after: the finished file.
        lines: those of the change in it (first, last), sorted.
        injected: names that exist at run time without being bound in the file.
    """
    if before is None or after.tree is None or _is_dynamic(after):
        return []
    module = bound_in(after.tree.body)
    bound_names, gone = _known(after, module) | set(injected), before.module - module
    breaks = set()
    near = [*_near(after.tree.body, lines)]
    if any(re.search(rf"\b{name}\b", after.text) for name in gone):
        near += [
            read for node in after.tree.body for read in _reads(node, [], "") if read[0].id in gone
        ]
    for name, scopes, _ in near:
        if not (
            name.id in bound_names
            or name.id in before.lost
            or any(name.id in scope for scope in scopes)
        ):
            breaks.add(Broken(name.lineno, name.id, ""))
    functions = [*_functions_near(after.tree.body, lines)]
    for path, body in [
        ("", after.tree.body),
        *((path, function.body) for path, function in functions),
    ]:
        breaks.update(
            Broken(name.lineno, name.id, "")
            for name in _deleted(body)
            if (path, name.id) not in before.deleted
        )
    for path, function in functions:
        local_names = _own(function)
        names = {name for where, name in before.outer if where == path and name in local_names}
        reads = [
            name
            for name in _own_reads(function)
            if name.id in names and not _is_bound_above(function, name)
        ]
        reads += [name for name in _early(function) if (path, name.id) not in before.early]
        breaks.update(Broken(name.lineno, name.id, path) for name in reads)
    return sorted(breaks)


def _is_dynamic(source: Source) -> bool:
    """Whether names may be bound that are not written."""
    assert source.tree is not None
    return bool(re.search(r"\b(exec|globals)[ \t]*\(", source.text)) or any(
        map(is_star, statements(source.tree.body))
    )


def _known(source: Source, module: set[str]) -> set[str]:
    """The names that any function of a file can read: of its module, of builtins, and what functions make global."""
    names = {*_ALWAYS, *module}
    for line in re.findall(r"^[ \t]+global[ \t]+([\w, \t]+)", source.text, re.MULTILINE):
        names |= set(re.findall(r"\w+", line))
    return names


def _near(
    body: Sequence[ast.stmt], lines: Sequence[tuple[int, int]]
) -> Iterator[tuple[ast.Name, list[set[str]], str]]:
    """The reads in the top-level statements that have one of these lines, or are beside it.

    In a class without the bodies of its other functions: what they read depends on no line but theirs and those of the module.
    """
    for node in body:
        if _is_near(node, lines):
            yield from _reads(node, [], "", near=lines)


def _is_near(node: ast.stmt, lines: Sequence[tuple[int, int]]) -> bool:
    start, end = lines_of(node)
    return meets(lines, start - 1, end + 1)


def _functions_near(
    body: Sequence[ast.stmt], lines: Sequence[tuple[int, int]]
) -> Iterator[tuple[str, _Function]]:
    """The functions in the same statements, each with its qualified name."""
    todo = [("", node) for node in statements([node for node in body if _is_near(node, lines)])]
    while todo:
        path, node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = f"{path}.{node.name}"
            if not isinstance(node, ast.ClassDef):
                yield inner, node
            children = statements(node.body)
            todo += [
                (inner, child)
                for child in children
                if not isinstance(node, ast.ClassDef) or _is_near(child, lines)
            ]


def _own(function: _Function) -> set[str]:
    """The names that are local to a function: its parameters and what its body binds, unless it says otherwise."""
    return (_parameters(function.args) | bound_in(function.body)) - _said(function)


def _said(function: _Function) -> set[str]:
    """The names that a function says are global, or those of a function around it."""
    nodes = statements(function.body)
    return {
        name
        for node in nodes
        if isinstance(node, (ast.Global, ast.Nonlocal))
        for name in node.names
    }


def _early(function: _Function) -> list[ast.Name]:
    """The names of its own that a function reads, or changes by `+=` and the like, above every statement that binds them."""
    elsewhere = _parameters(function.args) | _said(function)
    bindings: dict[str, tuple[int, int]] = {}
    for node in function.body:
        for name in bound_in([node], (ast.AugAssign,)) - elsewhere:
            bindings.setdefault(name, (node.lineno, node.col_offset))
    targets = (node.target for node in statements(function.body) if isinstance(node, ast.AugAssign))
    early = [
        target
        for target in targets
        if isinstance(target, ast.Name) and target.id not in {*bindings, *elsewhere}
    ]
    for read, scopes, path in (read for node in function.body for read in _reads(node, [], "")):
        # what is inside of a function or a lambda is read when that is called
        at_once = not scopes and not path
        if at_once and (read.lineno, read.col_offset) < bindings.get(read.id, (0, 0)):
            early.append(read)
    return early


def _deleted(body: Sequence[ast.stmt]) -> Iterator[ast.Name]:
    """The names that a scope reads below a `del` of them in one block, where no statement between may bind them."""
    if not any(isinstance(node, ast.Delete) for node in statements(body)):
        return
    gone: set[str] = set()
    for node in body:
        bound = bound_in([node])
        simple = not hasattr(node, "body")
        for read, scopes, path in _reads(node, [], "") if gone else ():
            if read.id in gone and not scopes and not path and (simple or read.id not in bound):
                yield read
        gone -= bound
        gone |= {
            target.id
            for target in getattr(node, "targets", ())
            if isinstance(node, ast.Delete) and isinstance(target, ast.Name)
        }
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for part in [node, *getattr(node, "handlers", []), *getattr(node, "cases", [])]:
                for field in ("body", "orelse", "finalbody"):
                    yield from _deleted(getattr(part, field, []))


def _own_reads(function: _Function) -> Iterator[ast.Name]:
    """The names that the body of a function looks up in it or outside of it, also in functions inside of it."""
    reads = (read for node in function.body for read in _reads(node, [], ""))
    return (name for name, scopes, _ in reads if not any(name.id in scope for scope in scopes))


def _is_bound_above(function: _Function, name: ast.Name) -> bool:
    """Whether a statement of the function's body that always runs binds a name before it is read."""
    if name.id in _parameters(function.args):
        return True
    binding = (node for node in function.body if name.id in _bound_at_once(node))
    return any(
        (node.end_lineno or node.lineno, node.end_col_offset or 0) <= (name.lineno, name.col_offset)
        for node in binding
    )


def _bound_at_once(node: ast.stmt) -> set[str]:
    return (
        set()
        if isinstance(node, (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Delete))
        else bound_in([node])
    )


def unbound(
    before: Source, after: Source, inserted: Sequence[tuple[int, int]], injected: Sequence[str]
) -> list[Unbound]:
    """The names read inside `inserted` that neither their function, nor an enclosing one, the module or builtins binds.

    Args:
        before: the file before the change; a name that the same scope reads there too is not reported.
        after: the finished file.
        inserted: character ranges of inserted code in `after`, in the order of the text.
        injected: names that exist at run time without being bound in the file.
    """
    spans = [(start, end - 1) for start, end in inserted]
    # the tree of `before` is made only where it is needed: each is large
    if not before.has_ast or after.tree is None:
        return _unseen(after, spans, injected)
    if any(is_star(node) for node in statements(after.tree.body)):
        return []
    bound_names = _known(after, bound_in(after.tree.body)) | set(injected)
    lines = [(after.lines.number(start), after.lines.number(end)) for start, end in spans]
    missing: list[Unbound] = []
    read_before: dict[str, set[str]] = {}
    for node in after.tree.body:
        for name, scopes, path in _reads(node, [], "", lines):
            offset = after._offset(name.lineno, name.col_offset)
            bound = name.id in bound_names or any(name.id in scope for scope in scopes)
            if not bound and meets(spans, offset, offset):
                if path not in read_before:
                    read_before[path] = _read_before(before, path)
                if name.id not in read_before[path]:
                    missing.append(Unbound(name.lineno, name.id))
    return sorted(set(missing))


def _unseen(
    after: Source, spans: Sequence[tuple[int, int]], injected: Sequence[str]
) -> list[Unbound]:
    """`unbound` where the running interpreter is too old for the file's syntax: names that occur nowhere else in it."""
    bound_names, missing = {*_ALWAYS, *injected}, set()
    for node in after.whole().walk():
        if node.kind == "Name":
            name = str(node.fields["value"])
            if not meets(spans, node.start, node.start) or _binds(node):
                bound_names.add(name)
            elif node.field() not in ("attr", "arg", "annotation"):
                missing.add(Unbound(after.lines.number(node.start), name))
    return (
        []
        if "*" in bound_names
        else sorted(item for item in missing if item.name not in bound_names)
    )


def _binds(node: Node) -> bool:
    """Whether a name is bound where it is written, or is part of an import."""
    chain = [node, *node.ancestors()]
    target = next(
        part
        for part in chain
        if part.parent is None or part.parent.kind not in ("Tuple", "List", "Star")
    )
    return target.field() in _BINDING or any(
        part.kind in ("Import", "ImportFrom") for part in chain
    )


def is_star(node: ast.stmt) -> bool:
    """Whether a statement is `from x import *`."""
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one scope: into `if`, `try`, `with` and loops, not into definitions."""
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for field in ("body", "orelse", "finalbody"):
                yield from statements(getattr(node, field, []))
            for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
                yield from statements(part.body)


def bound_in(body: Sequence[ast.stmt], without: tuple[type[ast.stmt], ...] = ()) -> set[str]:
    """The names that the statements of one scope bind at run time, those of some kinds left out."""
    names: set[str] = set()
    hidden: set[int] = set()
    for node in statements(body):
        if _for_type_checkers(node):
            hidden.update(id(child) for child in statements(node.body))
        if id(node) in hidden or isinstance(node, without):
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
    return isinstance(node, ast.If) and any(
        "TYPE_CHECKING" in (getattr(part, "id", ""), getattr(part, "attr", ""))
        for part in ast.walk(node.test)
    )


def _bound_by(tree: ast.AST) -> set[str]:
    """The names that a statement, without the statements inside it, or an expression binds."""
    names: set[str] = set()
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.add(node.id)
        elif type(node).__name__ in ("ExceptHandler", "MatchAs", "MatchStar", "MatchMapping"):
            names.update(filter(None, [getattr(node, "name", None), getattr(node, "rest", None)]))
        # bound inside the comprehension only
        targets = {id(node.target)} if isinstance(node, ast.comprehension) else set()
        parts = ast.iter_child_nodes(node)
        todo += [
            child
            for child in parts
            if id(child) not in targets and not isinstance(child, (ast.stmt, *_FUNCTIONS))
        ]
    return names


def _reads(
    node: ast.AST,
    scopes: list[set[str]],
    path: str,
    lines: Sequence[tuple[int, int]] | None = None,
    *,
    near: Sequence[tuple[int, int]] | None = None,
) -> Iterator[tuple[ast.Name, list[set[str]], str]]:
    """Every name that is read below `node`, with the scopes it is looked up in and the qualified name of its function.

    With `lines` (first, last; sorted), only in statements that have one of them; with `near`, only in bodies of functions of
    the module and its classes that have one of those, or are beside it.
    """
    if lines is not None and isinstance(node, ast.stmt) and not meets(lines, *lines_of(node)):
        return
    parameters = getattr(node, "type_params", None)
    scopes = [*scopes, {parameter.name for parameter in parameters}] if parameters else scopes
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            yield node, scopes, path
        return
    if isinstance(node, _FUNCTIONS):
        arguments = node.args
        outer: list[ast.AST] = [*getattr(node, "decorator_list", []), *arguments.defaults]
        outer += [default for default in arguments.kw_defaults if default is not None]
        for child in outer:
            yield from _reads(child, scopes, path, lines)
        if near is not None and isinstance(node, ast.stmt) and not _is_near(node, near):
            return
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
        scope = _parameters(arguments)
        scope |= _bound_by(node.body) if isinstance(node, ast.Lambda) else bound_in(node.body)
        name = f"{path}.{node.name}" if not isinstance(node, ast.Lambda) else path
        for child in body:
            yield from _reads(child, [*_from_functions(scopes), scope], name, lines)
    elif isinstance(node, ast.ClassDef):
        for child in [*node.decorator_list, *node.bases, *node.keywords]:
            yield from _reads(child, scopes, path, lines)
        scope = _ClassNames(bound_in(node.body))
        for child in node.body:
            yield from _reads(child, [*scopes, scope], f"{path}.{node.name}", lines, near=near)
    elif isinstance(node, _COMPREHENSIONS):
        scope = set().union(*(_bound_by(generator.target) for generator in node.generators))
        iterable = node.generators[0].iter  # evaluated outside
        yield from _reads(iterable, scopes, path, lines)
        for child in ast.iter_child_nodes(node):
            for part in (
                ast.iter_child_nodes(child) if isinstance(child, ast.comprehension) else [child]
            ):
                if part is not iterable:
                    yield from _reads(part, [*_from_functions(scopes), scope], path, lines)
    else:
        for child in node.orelse if _for_type_checkers(node) else ast.iter_child_nodes(node):
            if isinstance(node, (ast.AnnAssign, ast.arg)) and child is node.annotation:
                continue  # an annotation may be a string or never be evaluated
            yield from _reads(child, scopes, path, lines, near=near)


def _parameters(arguments: ast.arguments) -> set[str]:
    parts = [*getattr(arguments, "posonlyargs", []), *arguments.args, *arguments.kwonlyargs]
    return {part.arg for part in [*parts, arguments.vararg, arguments.kwarg] if part is not None}


def _from_functions(scopes: Sequence[set[str]]) -> list[set[str]]:
    """The scopes that code in a function sees: not those of classes."""
    return [scope for scope in scopes if not isinstance(scope, _ClassNames)]


def _read_before(source: Source, path: str) -> set[str]:
    """The names that the scope with this qualified name reads in `source`."""
    body = source.tree.body if source.tree is not None else []
    return {name.id for node in body for name, _, where in _reads(node, [], "") if where == path}
