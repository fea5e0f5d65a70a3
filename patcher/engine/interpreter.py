"""What the running interpreter says of a text: whether it parses and compiles."""

from __future__ import annotations

import ast
import warnings
from copy import copy
from typing import Sequence

from patcher.engine.changes import FinishedText
from patcher.engine.lex import meets
from patcher.engine.node import SyntaxProblem
from patcher.engine.parsing import check_for_ast
from patcher.engine.source import lines_of
from patcher.message import Message


def syntax_error(code: str) -> str:
    """The interpreter's message on a text that does not parse.

    Empty where it does, or where it is only nested too deeply for the interpreter.
    """
    try:
        check_for_ast(code)
        ast.parse(code)
    except (SyntaxError, ValueError) as error:
        if "Exceeds the limit" in str(error):  # advises to change a setting of the interpreter
            return Message("a number has more digits than Python reads; write it in hexadecimal")
        return str(error)
    except (SyntaxProblem, RecursionError, MemoryError):
        pass
    return ""


def compile_error(body: list[ast.stmt]) -> str:
    """The compiler's message on statements, empty where it compiles them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(ast.Module(body=body, type_ignores=[]), "result", "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return str(error)
        except (RecursionError, MemoryError):
            return ""  # too deeply nested for the compiler; the parser read it
    return ""


def compile_problem(finished: FinishedText) -> str:
    """The problem where a change makes code that parses and does not compile.

    Such as a `return` outside of a function, or a parameter given twice. Empty for a text that did
    not compile before either.
    """
    if finished.result.tree is None:
        return ""
    error = compile_error(_statements_near(finished.result.tree.body, finished.inserted_lines))
    if not error:
        return ""
    before = finished.source.tree
    if before is None or compile_error(before.body):
        return ""
    return Message("the result does not compile: {error}", error=error)


def _statements_near(body: Sequence[ast.stmt], lines: Sequence[tuple[int, int]]) -> list[ast.stmt]:
    """The statements at or beside some lines, and `__future__` imports, which stand above them.

    To compile a whole file, or a whole class, costs much.
    """
    statements: list[ast.stmt] = []
    for node in body:
        start, end = lines_of(node)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not is_future and not meets(lines, start - 1, end + 1):
            continue
        if isinstance(node, ast.ClassDef):
            inside = _statements_near(node.body, lines) or node.body[:1]
            node = copy(node)
            node.body = inside
        statements.append(node)
    return statements
