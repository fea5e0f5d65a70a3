"""Random expression hunks for `tools/programs.py`, and what `ast` makes of them: a matcher of its own, of thirty lines."""

from __future__ import annotations

import ast
import copy
from random import Random
from typing import Any

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
META = "META_"  # begins the name that stands for `$NAME`
RUN = "..."  # what a `...` of arguments stands for, among the names


def exchange(random: Random, tree: ast.Module) -> tuple[str, str, str] | None:
    """The two sides of a hunk for an expression of a tree, and the text of the tree after it; None where there is none.

    The tree is in the form in which expressions that are the same to the engine are the same (`tools.programs.normal`).
    """
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, KINDS)
        and not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
    ]
    if not found:
        return None
    pattern = copy.deepcopy(random.choice(found))
    names = _generalise(random, pattern)
    runs = _with_run(random, pattern) if random.random() < 0.4 else []
    kept: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names] + [
        pattern,
        ast.Constant(1),
    ]
    parts = [random.choice(kept) for _ in range(2)]
    some = random.sample([*parts[:1], *runs], 1 + len(runs))
    forms: list[ast.expr] = [
        ast.Call(ast.Name("max", ast.Load()), some if runs else parts, []),
        ast.BinOp(parts[0], random.choice([ast.Add(), ast.Mult(), ast.Pow()]), parts[1]),
        ast.BoolOp(random.choice([ast.And(), ast.Or()]), parts),
        ast.Attribute(parts[0], "y", ast.Load()),
        ast.IfExp(parts[0], parts[1], ast.Constant(2)),
        ast.Compare(parts[0], [ast.Lt()], [parts[1]]),
        ast.Tuple(parts, ast.Load()),
        parts[0],
    ]
    new = random.choice(forms[:1] * 5 * len(runs) + forms)
    if sum(map(_is_run, ast.walk(new))) > 1:  # it may move, and is never doubled
        return None
    # rule 21; then code of this form counts as changed (rule 22)
    proves = not unified(new, pattern, {})
    if proves and any(unified(new, node, {}) for node in ast.walk(tree)):
        return None
    made = ast.fix_missing_locations(_Exchange(pattern, new).visit(copy.deepcopy(tree)))
    after = ast.unparse(made)
    return (_written(pattern), _written(new), after) if _is(made, after) else None


def _is(tree: ast.Module, text: str) -> bool:
    """Whether a text is this tree: `ast.unparse` writes `with (a, b):` for a tuple, and Python reads two items."""
    try:
        return ast.dump(ast.parse(text)) == ast.dump(tree)
    except SyntaxError:
        return False


def _written(node: ast.expr) -> str:
    return ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).replace(META, "$")


def _generalise(random: Random, pattern: ast.expr) -> list[str]:
    """Put `$NAME` in place of some expressions inside a pattern; the names."""
    names: list[str] = []
    for _ in range(random.choice([0, 1, 1, 2])):
        spots: list[tuple[Any, Any]] = []
        for node in ast.walk(pattern):
            if isinstance(
                node,
                (ast.JoinedStr, ast.FormattedValue, ast.comprehension, ast.NamedExpr, ast.Lambda),
            ):
                continue
            for field, value in ast.iter_fields(node):
                spots += [(node, field)] if _replaceable(value) else []
                spots += (
                    [(value, at) for at, one in enumerate(value) if _replaceable(one)]
                    if isinstance(value, list)
                    else []
                )
        if spots:
            holder, key = random.choice(spots)
            old = holder[key] if isinstance(holder, list) else getattr(holder, key)
            names.append(f"{META}{'ABC'[len(names)]}")
            new = ast.Name(names[-1], ast.Load())
            for holder, key in spots:  # wherever it stands in this form, or in one place alone
                value = holder[key] if isinstance(holder, list) else getattr(holder, key)
                if value is old or ast.dump(value) == ast.dump(old):
                    if isinstance(holder, list):
                        holder[key] = new
                    else:
                        setattr(holder, key, new)
    present = {node.id for node in ast.walk(pattern) if isinstance(node, ast.Name)}
    return [name for name in names if name in present]


def _with_run(random: Random, pattern: ast.expr) -> list[ast.expr]:
    """Put a `...` in place of some arguments of a call, of all of its keywords too; it, where it is there."""
    calls = [node for node in ast.walk(pattern) if isinstance(node, ast.Call)]
    if not calls:
        return []
    call = random.choice(calls)
    first = random.randrange(len(call.args) + 1)
    last = random.randrange(first, len(call.args) + 1)
    call.args[first:last], call.keywords = [ast.Constant(...)], []
    return [ast.Constant(...)]


def _is_run(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _replaceable(node: Any) -> bool:
    return isinstance(node, ast.expr) and not isinstance(
        node, (ast.Starred, ast.Slice, ast.FormattedValue)
    )


def unified(pattern: Any, node: Any, names: dict[str, ast.expr]) -> bool:
    """Whether a pattern matches; binds its names."""
    if isinstance(pattern, ast.Name) and pattern.id.startswith(META):
        bound = names.setdefault(pattern.id, node)
        return _replaceable(node) and loaded(bound) == loaded(node)
    if (
        isinstance(pattern, ast.Call)
        and any(map(_is_run, pattern.args))
        and isinstance(node, ast.Call)
    ):
        at = next(at for at, one in enumerate(pattern.args) if _is_run(one))
        past = len(node.args) - (len(pattern.args) - at - 1)
        names[RUN] = ast.Call(ast.Name("max", ast.Load()), node.args[at:past], node.keywords)
        parts = [pattern.func, *pattern.args[:at], *pattern.args[at + 1 :]]
        return past >= at and unified(parts, [node.func, *node.args[:at], *node.args[past:]], names)
    if isinstance(pattern, list):
        return (
            isinstance(node, list)
            and len(pattern) == len(node)
            and all(unified(a, b, names) for a, b in zip(pattern, node))
        )
    if isinstance(pattern, ast.AST):
        fields = [field for field in pattern._fields if field not in ("ctx", "kind")]
        return type(pattern) is type(node) and all(
            unified(getattr(pattern, f), getattr(node, f), names) for f in fields
        )
    return type(pattern) is type(node) and bool(pattern == node)


def loaded(node: ast.AST) -> str:
    """The dump of an expression, which may be one that is assigned to."""
    return ast.dump(node).replace("Store()", "Load()").replace("Del()", "Load()")


class _Exchange(ast.NodeTransformer):
    """Puts one expression in place of each match of another, also inside what a placeholder stands for (rule 23).

    Where it holds the other one as a whole, the code of that is written anew and what is inside it stays.
    """

    def __init__(self, pattern: ast.expr, new: ast.expr) -> None:
        self.pattern, self.new = pattern, new
        self.anew = any(ast.dump(node) == ast.dump(pattern) for node in ast.walk(new))

    def visit(self, node: ast.AST) -> Any:
        names: dict[str, ast.expr] = {}
        if isinstance(node, ast.expr) and unified(self.pattern, node, names):
            kept = (
                names
                if self.anew
                else {
                    name: self.generic_visit(bound) if name == RUN else self.visit(bound)
                    for name, bound in names.items()
                }
            )
            return _Fill(kept).visit(copy.deepcopy(self.new))
        return self.generic_visit(node)


class _Fill(ast.NodeTransformer):
    def __init__(self, names: dict[str, ast.expr]) -> None:
        self.names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        run = self.names.get(RUN)
        for at, one in enumerate(node.args):
            if _is_run(one) and isinstance(run, ast.Call):
                node.args[at : at + 1] = copy.deepcopy(run.args)
                node.keywords += copy.deepcopy(run.keywords)
                break
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.names.get(node.id, node))
