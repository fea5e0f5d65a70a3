"""Random expression hunks for `tools/programs.py`, and what `ast` makes of them.

It has a matcher of its own, of thirty lines.
"""

from __future__ import annotations

import ast
import copy
from random import Random
from typing import Any, NamedTuple

KINDS = (
    ast.Call,
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
    ast.Subscript,
    ast.Attribute,
    ast.IfExp,
    ast.List,
    ast.Dict,
    ast.UnaryOp,
)
FIXED = (ast.JoinedStr, ast.FormattedValue, ast.comprehension, ast.NamedExpr, ast.Lambda)
"""Nodes whose own parts are not replaced by placeholders."""
META = "META_"  # begins the name that stands for `$NAME`
RUN = "..."  # what a `...` of arguments stands for, among the names


class Exchange(NamedTuple):
    """The two sides of a hunk, and the text of the tree after it."""

    old: str
    new: str
    after: str


def exchange(random: Random, tree: ast.Module) -> Exchange | None:
    """A hunk for an expression of a tree; None where there is none.

    The tree is in the form in which expressions that are the same to the engine are the same
    (`tools.programs.normal`).
    """
    found = []
    for node in ast.walk(tree):
        is_read = not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
        if isinstance(node, KINDS) and is_read:
            found.append(node)
    if not found:
        return None
    pattern = copy.deepcopy(random.choice(found))
    names = _generalise(random, pattern)
    has_run = random.random() < 0.4 and _put_run(random, pattern)
    new = _new_side(random, pattern, names, has_run)
    if sum(map(_is_run, ast.walk(new))) > 1:  # it may move, and is never doubled
        return None
    # rule 22; then code of this form counts as changed (rule 23)
    proves = not unified(new, pattern, {})
    if proves and any(unified(new, node, {}) for node in ast.walk(tree)):
        return None
    changed = ast.fix_missing_locations(_Exchange(pattern, new).visit(copy.deepcopy(tree)))
    after = ast.unparse(changed)
    return Exchange(_written(pattern), _written(new), after) if _is(changed, after) else None


def _new_side(random: Random, pattern: ast.expr, names: list[str], has_run: bool) -> ast.expr:
    """An expression of what the pattern binds, of the pattern itself and of 1."""
    runs: list[ast.expr] = [ast.Constant(...)] if has_run else []
    kept: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
    kept += [pattern, ast.Constant(1)]
    parts = [random.choice(kept) for _ in range(2)]
    some = random.sample([*parts[:1], *runs], 1 + len(runs))
    call = ast.Call(ast.Name("max", ast.Load()), some if runs else parts, [])
    forms: list[ast.expr] = [
        call,
        ast.BinOp(parts[0], random.choice([ast.Add(), ast.Mult(), ast.Pow()]), parts[1]),
        ast.BoolOp(random.choice([ast.And(), ast.Or()]), parts),
        ast.Attribute(parts[0], "y", ast.Load()),
        ast.IfExp(parts[0], parts[1], ast.Constant(2)),
        ast.Compare(parts[0], [ast.Lt()], [parts[1]]),
        ast.Tuple(parts, ast.Load()),
        parts[0],
    ]
    if has_run:
        forms = [call] * 5 + forms
    return random.choice(forms)


def _is(tree: ast.Module, text: str) -> bool:
    """Whether a text is this tree.

    `ast.unparse` writes `with (a, b):` for a tuple, and Python reads two items.
    """
    try:
        return ast.dump(ast.parse(text)) == ast.dump(tree)
    except SyntaxError:
        return False


def _written(node: ast.expr) -> str:
    return ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).replace(META, "$")


# placeholders ---------------------------------------------------------------------------------
class _Spot(NamedTuple):
    """Where an expression stands: a field of a node, or an item of a list."""

    holder: Any
    key: Any

    def get(self) -> Any:
        if isinstance(self.holder, list):
            return self.holder[self.key]
        return getattr(self.holder, self.key)

    def put(self, node: ast.expr) -> None:
        if isinstance(self.holder, list):
            self.holder[self.key] = node
        else:
            setattr(self.holder, self.key, node)


def _generalise(random: Random, pattern: ast.expr) -> list[str]:
    """Put `$NAME` in place of some expressions inside a pattern; the names."""
    names: list[str] = []
    for _ in range(random.choice([0, 1, 1, 2])):
        spots = _spots(pattern)
        if not spots:
            continue
        old = random.choice(spots).get()
        names.append(f"{META}{'ABC'[len(names)]}")
        new = ast.Name(names[-1], ast.Load())
        for spot in spots:  # wherever it stands in this form, or in one place alone
            value = spot.get()
            if value is old or ast.dump(value) == ast.dump(old):
                spot.put(new)
    present = {node.id for node in ast.walk(pattern) if isinstance(node, ast.Name)}
    return [name for name in names if name in present]


def _spots(pattern: ast.expr) -> list[_Spot]:
    """Where expressions stand inside a pattern that a placeholder may stand for."""
    spots: list[_Spot] = []
    for node in ast.walk(pattern):
        if isinstance(node, FIXED):
            continue
        for field, value in ast.iter_fields(node):
            if _is_replaceable(value):
                spots.append(_Spot(node, field))
            elif isinstance(value, list):
                for at, item in enumerate(value):
                    if _is_replaceable(item):
                        spots.append(_Spot(value, at))
    return spots


def _put_run(random: Random, pattern: ast.expr) -> bool:
    """Put a `...` in place of some arguments of a call, and of all of its keywords.

    Returns:
        whether there is a call.
    """
    calls = [node for node in ast.walk(pattern) if isinstance(node, ast.Call)]
    if not calls:
        return False
    call = random.choice(calls)
    first = random.randrange(len(call.args) + 1)
    last = random.randrange(first, len(call.args) + 1)
    call.args[first:last] = [ast.Constant(...)]
    call.keywords = []
    return True


def _is_run(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _is_replaceable(node: Any) -> bool:
    if isinstance(node, (ast.Starred, ast.Slice, ast.FormattedValue)):
        return False
    return isinstance(node, ast.expr)


# the matcher ----------------------------------------------------------------------------------
def unified(pattern: Any, node: Any, names: dict[str, ast.expr]) -> bool:
    """Whether a pattern matches; binds its names."""
    if isinstance(pattern, ast.Name) and pattern.id.startswith(META):
        bound = names.setdefault(pattern.id, node)
        return _is_replaceable(node) and loaded(bound) == loaded(node)
    if isinstance(pattern, ast.Call) and isinstance(node, ast.Call):
        for at, argument in enumerate(pattern.args):
            if _is_run(argument):
                return _unified_run(pattern, node, at, names)
    if isinstance(pattern, list):
        if not isinstance(node, list) or len(pattern) != len(node):
            return False
        return all(unified(a, b, names) for a, b in zip(pattern, node))
    if type(pattern) is not type(node):
        return False
    if isinstance(pattern, ast.AST):
        fields = [field for field in pattern._fields if field not in ("ctx", "kind")]
        return all(unified(getattr(pattern, f), getattr(node, f), names) for f in fields)
    return bool(pattern == node)


def _unified_run(pattern: ast.Call, node: ast.Call, at: int, names: dict[str, ast.expr]) -> bool:
    """Whether a call matches one with a `...` among its arguments; binds that, too."""
    behind = len(pattern.args) - at - 1
    past = len(node.args) - behind
    names[RUN] = ast.Call(ast.Name("max", ast.Load()), node.args[at:past], node.keywords)
    if past < at:
        return False
    parts = [pattern.func, *pattern.args[:at], *pattern.args[at + 1 :]]
    return unified(parts, [node.func, *node.args[:at], *node.args[past:]], names)


def loaded(node: ast.AST) -> str:
    """The dump of an expression, which may be one that is assigned to."""
    return ast.dump(node).replace("Store()", "Load()").replace("Del()", "Load()")


class _Exchange(ast.NodeTransformer):
    """Puts one expression in place of each match of another.

    Also inside what a placeholder stands for (rule 24). Where it holds the other one as a whole,
    the code of that is written anew and what is inside it stays.
    """

    def __init__(self, pattern: ast.expr, new: ast.expr) -> None:
        self.pattern = pattern
        self.new = new
        self.is_anew = any(ast.dump(node) == ast.dump(pattern) for node in ast.walk(new))

    def visit(self, node: ast.AST) -> Any:
        names: dict[str, ast.expr] = {}
        if not isinstance(node, ast.expr) or not unified(self.pattern, node, names):
            return self.generic_visit(node)
        if not self.is_anew:
            for name, bound in names.items():
                names[name] = self.generic_visit(bound) if name == RUN else self.visit(bound)
        return _Fill(names).visit(copy.deepcopy(self.new))


class _Fill(ast.NodeTransformer):
    """Puts what placeholders stand for in their place."""

    def __init__(self, names: dict[str, ast.expr]) -> None:
        self.names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        run = self.names.get(RUN)
        for at, argument in enumerate(node.args):
            if _is_run(argument) and isinstance(run, ast.Call):
                node.args[at : at + 1] = copy.deepcopy(run.args)
                node.keywords += copy.deepcopy(run.keywords)
                break
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.names.get(node.id, node))
