"""Which names code binds, and which names it reads in which scopes.

Works on the tree of the interpreter.
"""

from __future__ import annotations

import ast
from itertools import accumulate
from typing import TYPE_CHECKING, Iterable, Iterator, Sequence, Set

from patcher.engine.lex import meets
from patcher.engine.source import lines_of
from patcher.record import Record

if TYPE_CHECKING:
    from typing_extensions import TypeGuard

    LineRanges = Sequence[tuple[int, int]]
    """The first and the last of each run of lines; sorted."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PATTERNS = ("ExceptHandler", "MatchAs", "MatchStar", "MatchMapping")


class _ClassNames(Set[str]):
    """The names that the body of a class binds; code in its functions does not see them."""


class Read(Record):
    """A name that is read.

    `scopes` are the names of each scope around it, except for the module's; `function` is the
    qualified name of the innermost definition, with a dot before it.
    """

    node: ast.Name
    scopes: list[set[str]]
    function: str

    @property
    def name(self) -> str:
        """The name."""
        return self.node.id

    @property
    def is_local(self) -> bool:
        """Whether a scope around it binds it, the module's left out."""
        return any(self.node.id in scope for scope in self.scopes)

    @property
    def is_at_once(self) -> bool:
        """Whether it is read where it stands, not when a function around it is called."""
        return not self.scopes and not self.function


# statements ---------------------------------------------------------------------------------------
def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one scope: also in `if`, `try`, `with` and loops, not in definitions."""
    for node in body:
        yield node
        if not isinstance(node, _DEFINITIONS):
            for block in blocks_of(node):
                yield from statements(block)


def blocks_of(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement; some may be empty."""
    for field in ("body", "orelse", "finalbody"):
        yield getattr(node, field, [])

    for field in ("handlers", "cases"):
        for part in getattr(node, field, []):
            yield part.body


def has_star_import(body: Sequence[ast.stmt]) -> bool:
    """Whether a statement of a scope is `from x import *`."""
    for node in statements(body):
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            return True

    return False


def is_near(node: ast.stmt, lines: LineRanges) -> bool:
    """Whether a statement has one of some lines, or is next to one."""
    start, end = lines_of(node)
    return meets(lines, start - 1, end + 1)


def for_type_checkers(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one scope that never run: those in `if TYPE_CHECKING`."""
    for node in statements(body):
        if _is_for_type_checkers(node):
            yield from statements(node.body)


def _is_for_type_checkers(node: ast.AST) -> TypeGuard[ast.If]:
    """Whether a statement is `if TYPE_CHECKING`, whose body never runs."""
    if not isinstance(node, ast.If):
        return False

    for part in ast.walk(node.test):
        name = getattr(part, "id", getattr(part, "attr", ""))
        if name == "TYPE_CHECKING":
            return True

    return False


# what is bound ------------------------------------------------------------------------------------
def bound_in(body: Sequence[ast.stmt], without: tuple[type[ast.stmt], ...] = ()) -> set[str]:
    """The names that the statements of one scope bind at run time, except for some kinds."""
    names: set[str] = set()
    for node in _run_statements(body):
        if isinstance(node, without):
            continue
        if isinstance(node, _DEFINITIONS):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                name, _, _ = (alias.asname or alias.name).partition(".")
                names.add(name)
        else:
            names |= _bound_by(node)

    return names


def modules_imported_in(body: Sequence[ast.stmt]) -> set[str]:
    """The modules that `import a.b` in one scope makes readable: `a` and `a.b`."""
    modules: set[str] = set()
    for node in _run_statements(body):
        if not isinstance(node, ast.Import):
            continue
        for alias in node.names:
            if not alias.asname:
                modules.update(accumulate(alias.name.split("."), "{}.{}".format))

    return modules


def _run_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of one scope without those for type checkers alone."""
    hidden = {id(node) for node in for_type_checkers(body)}
    for node in statements(body):
        if id(node) not in hidden:
            yield node


def _bound_by(tree: ast.AST) -> set[str]:
    """The names that an expression binds, or a statement without the statements inside it."""
    names: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.add(node.id)
        elif type(node).__name__ in _PATTERNS:
            bound = [getattr(node, "name", None), getattr(node, "rest", None)]
            names.update(filter(None, bound))

        # the target of a comprehension is bound inside it only
        target = node.target if isinstance(node, ast.comprehension) else None
        for child in ast.iter_child_nodes(node):
            is_apart = isinstance(child, (ast.stmt, *_FUNCTIONS))
            if child is not target and not is_apart:
                waiting.append(child)

    return names


def parameters_of(arguments: ast.arguments) -> set[str]:
    """The names of the parameters of a function."""
    parameters: list[ast.arg | None] = [
        *getattr(arguments, "posonlyargs", []),
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]
    return {parameter.arg for parameter in parameters if parameter is not None}


# what is read -------------------------------------------------------------------------------------
def reads(
    body: Iterable[ast.AST],
    lines: LineRanges | None = None,
    near: LineRanges | None = None,
) -> Iterator[Read]:
    """Every name that some code reads.

    Args:
        body: statements of a module, or any node by itself.
        lines: look only at statements that have one of these lines.
        near: of the functions of the module and of its classes, look only into the bodies of those
            that have one of these lines, or are next to one.
    """
    reader = _Reader(lines, near)
    module = _Context(scopes=[], function="")
    for node in body:
        yield from reader.reads(node, module)


class _Context(Record):
    """Where code stands: `scopes` and `function` are those of `Read`."""

    scopes: list[set[str]]
    function: str

    def in_function(self, names: set[str], name: str = "") -> _Context:
        """The context inside a function or a comprehension, which does not see names of classes."""
        scopes = [scope for scope in self.scopes if not isinstance(scope, _ClassNames)]
        function = self.function
        if name:
            function = f"{function}.{name}"
        return _Context([*scopes, names], function)

    def in_class(self, names: set[str], name: str) -> _Context:
        """The context inside a class."""
        scopes = [*self.scopes, _ClassNames(names)]
        return _Context(scopes, f"{self.function}.{name}")

    def with_type_parameters(self, node: ast.AST) -> _Context:
        """The context with the type parameters of a definition."""
        parameters = getattr(node, "type_params", None)
        if not parameters:
            return self

        names = {parameter.name for parameter in parameters}
        return _Context([*self.scopes, names], self.function)


class _Reader:
    """Walks through code and yields the names that it reads; see `reads`."""

    def __init__(self, lines: LineRanges | None, near: LineRanges | None) -> None:
        self._lines = lines
        self._near = near
        self._in_functions = self if near is None else _Reader(lines, None)

    def reads(self, node: ast.AST, context: _Context) -> Iterator[Read]:
        """The names that a node reads which stands in `context`."""
        if not self._is_looked_at(node):
            return

        context = context.with_type_parameters(node)
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                yield Read(node, context.scopes, function=context.function)
        elif isinstance(node, _FUNCTIONS):
            yield from self._of_function(node, context)
        elif isinstance(node, ast.ClassDef):
            yield from self._of_class(node, context)
        elif isinstance(node, _COMPREHENSIONS):
            yield from self._of_comprehension(node, context)
        else:  # expressions nest deep: no function of its own calls this one again
            for part in _parts(node):
                yield from self.reads(part, context)

    def _is_looked_at(self, node: ast.AST) -> bool:
        """Whether a node has one of the lines that are looked at."""
        if self._lines is None or not isinstance(node, ast.stmt):
            return True
        return meets(self._lines, *lines_of(node))

    def _of_function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        context: _Context,
    ) -> Iterator[Read]:
        """The names that a function reads; its decorators and defaults are outside of it."""
        outside: list[ast.AST] = []
        outside += getattr(node, "decorator_list", [])
        outside += node.args.defaults
        outside += [default for default in node.args.kw_defaults if default is not None]
        for child in outside:
            yield from self.reads(child, context)

        names = parameters_of(node.args)
        if isinstance(node, ast.Lambda):
            inner = context.in_function(names | _bound_by(node.body))
            yield from self.reads(node.body, inner)
            return

        if self._near is not None and not is_near(node, self._near):
            return

        names |= bound_in(node.body)
        inner = context.in_function(names, node.name)
        for child in node.body:
            yield from self._in_functions.reads(child, inner)

    def _of_class(self, node: ast.ClassDef, context: _Context) -> Iterator[Read]:
        """The names that a class reads; its decorators and bases are outside of it."""
        outside: list[ast.AST] = [*node.decorator_list, *node.bases, *node.keywords]
        for child in outside:
            yield from self.reads(child, context)

        inner = context.in_class(bound_in(node.body), node.name)
        for child in node.body:
            yield from self.reads(child, inner)

    def _of_comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp,
        context: _Context,
    ) -> Iterator[Read]:
        """The names that a comprehension reads; its first iterable is outside of it."""
        outermost = node.generators[0].iter
        yield from self.reads(outermost, context)

        names: set[str] = set()
        for generator in node.generators:
            names |= _bound_by(generator.target)

        inner = context.in_function(names)
        parts: list[ast.AST] = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.comprehension):
                parts += ast.iter_child_nodes(child)
            else:
                parts.append(child)

        for part in parts:
            if part is not outermost:
                yield from self.reads(part, inner)


def _parts(node: ast.AST) -> list[ast.AST]:
    """The parts of a node that are evaluated; an annotation may be a string, or never be."""
    if _is_for_type_checkers(node):
        return [*node.orelse]

    annotation = None
    if isinstance(node, (ast.AnnAssign, ast.arg)):
        annotation = node.annotation
    return [part for part in ast.iter_child_nodes(node) if part is not annotation]
