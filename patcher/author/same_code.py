"""Whether two texts are the same code: comments, layout and the like do not count."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache
from inspect import cleandoc

from patcher.engine.tree import SyntaxProblem, Tree


def same_code(
    one: bytes, other: bytes, *, anywhere: bool, annotated: bool = True, base: Tree | None = None
) -> bool:
    """Whether two texts have the same syntax tree.

    Args:
        one: a text.
        other: another one.
        anywhere: in any order of the statements of a module or a class.
        annotated: whether the annotations of functions count.
        base: a text that both were made of, if it is read already: what they share with it needs
            no comparison.
    """
    if one == other:  # also where it is no Python
        return True
    base = base or readable(one)
    middles = _between_shared(one, other, base) if base else None
    if middles:
        try:
            shapes = [_shapes(middle, anywhere, annotated) for middle in middles]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # a statement goes on below what is shared
        else:
            return shapes[0] == shapes[1]
    shape = _shape(one, anywhere, annotated)
    return shape is not None and shape == _shape(other, anywhere, annotated)


def _between_shared(one: bytes, other: bytes, base: Tree) -> tuple[str, str] | None:
    """What two texts have between the statements of the module that they share with a third one.

    None where that cannot be said.
    """
    try:
        texts = base.decoded(one), base.decoded(other)
    except UnicodeError:
        return None
    head = min(_common_head(base.text, text) for text in texts)
    tail = min(_common_tail(base.text, text) for text in texts)
    start, end = 0, len(base.text)
    for first, last in base.statement_ranges:
        if last <= head and base.text[last - 1] in "\r\n":
            start = last
        if first >= start and first >= len(base.text) - tail:
            end = first
            break

    middles: list[str] = []
    for text in texts:
        middle = text[start : len(text) - (len(base.text) - end)]
        if middle and middle[-1] not in "\r\n" and end < len(base.text):
            return None
        middles.append(middle)
    return middles[0], middles[1]


def _common_head(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(one: str, other: str) -> int:
    """How many characters two texts have in common at their end."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[-middle : len(one) - low] == other[-middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def readable(data: bytes | None) -> Tree | None:
    """A text read for matching; None where there is none, or it is not Python."""
    try:
        return None if data is None else Tree(data)
    except SyntaxProblem:
        return None


@lru_cache(maxsize=8)  # candidates often make the same text, and are compared with the same one
def _shape(data: bytes, anywhere: bool, annotated: bool) -> list[str] | str | None:
    """What is the same for the same code, None for what is no Python."""
    module = readable(data)
    if module is None:
        return None
    if not module.is_python:
        return repr(module.root)
    shapes: list[str] = []
    for start, end in module.statement_ranges:
        shapes += _statement_shapes(module.text[start:end], anywhere, annotated)
    return sorted(shapes) if anywhere else shapes


def _shapes(code: str, anywhere: bool, annotated: bool) -> list[str]:
    """The same for a part of a module.

    Raises:
        SyntaxError: it is none.
    """
    shapes = list(_statement_shapes(code, anywhere, annotated))
    return sorted(shapes) if anywhere else shapes


@lru_cache(maxsize=2000)  # most statements of a file stay as they are
def _statement_shapes(code: str, anywhere: bool, annotated: bool) -> tuple[str, ...]:
    """The shape of each statement of a part of a module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            # a docstring may be indented otherwise
            text = cleandoc(node.value.value)  # type: ignore[attr-defined]
            node.value = ast.Constant(text, kind=None)
        elif isinstance(node, ast.Constant):
            node.kind = None  # the prefix `u`
        elif isinstance(node, ast.Call):
            # their order does not matter (format rule 8)
            node.keywords.sort(key=lambda keyword: keyword.arg or "")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not annotated:
            node.returns = None
        elif isinstance(node, ast.arg) and not annotated:
            node.annotation = None
    if anywhere:
        for node in reversed(list(ast.walk(tree))):
            if isinstance(node, ast.ClassDef):
                node.body.sort(key=ast.dump)
    return tuple(map(ast.dump, tree.body))
