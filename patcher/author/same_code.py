"""Whether two texts are the same code: comments, layout and the like do not count."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache
from inspect import cleandoc

from patcher.engine.tree import SyntaxProblem, Tree


def same_code(one: bytes, other: bytes, *, anywhere: bool, annotated: bool = True) -> bool:
    """Whether two texts have the same syntax tree.

    Args:
        one: a text.
        other: another one.
        anywhere: in any order of the statements of a module or a class.
        annotated: whether the annotations of functions count.
    """
    if one == other:  # also where it is no Python
        return True
    shape = _shape(one, anywhere, annotated)
    return shape is not None and shape == _shape(other, anywhere, annotated)


def readable(data: bytes | None) -> Tree | None:
    """A text read for matching; None where there is none, or it is not Python."""
    try:
        return None if data is None else Tree(data)
    except SyntaxProblem:
        return None


@lru_cache(maxsize=8)  # candidates often make the same text, and are compared with the same one
def _shape(data: bytes, anywhere: bool, annotated: bool) -> str | None:
    """A text that is the same for the same code, None for what is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        module = readable(data)
        return None if module is None else repr(module.root)

    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            # a docstring may be indented otherwise
            text = cleandoc(node.value.value)  # type: ignore[attr-defined]
            node.value = ast.Constant(text, kind=None)
        elif isinstance(node, ast.Call):
            # their order does not matter (format rule 8)
            node.keywords.sort(key=lambda keyword: keyword.arg or "")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not annotated:
            node.returns = None
        elif isinstance(node, ast.arg) and not annotated:
            node.annotation = None
    if anywhere:
        for node in reversed(list(ast.walk(tree))):
            if isinstance(node, (ast.Module, ast.ClassDef)):
                node.body.sort(key=ast.dump)
    return ast.dump(tree)
