"""Hunks made from real functions of the standard library: what is promised for every hunk holds for them."""

from __future__ import annotations

import ast
import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import List, Tuple

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from patcher.errors import PatchError
from patcher.model import State
from patcher.semantic.engine import rewrite
from patcher.semantic.hunk import parse_spatch
from patcher.semantic.splice import apply_splices

FILES = sorted(path for path in Path(sysconfig.get_path("stdlib")).glob("*.py") if 1_000 < path.stat().st_size < 60_000)
EXPRESSIONS = (ast.Call, ast.BinOp, ast.Compare, ast.BoolOp, ast.Subscript, ast.Dict, ast.List, ast.Lambda, ast.IfExp)


@lru_cache(maxsize=8)
def functions(number: int) -> Tuple[bytes, List[Tuple[str, ast.AST]]]:
    """A file's bytes and its functions whose qualified name occurs once."""
    data = FILES[number].read_bytes()
    found: List[Tuple[str, ast.AST]] = []

    def collect(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            name = f"{prefix}{child.name}." if named else prefix  # type: ignore[attr-defined]
            if named:
                found.append((name[:-1], child))
            collect(child, name)

    try:
        collect(ast.parse(data), "")
    except (SyntaxError, ValueError):
        return data, []
    names = [name for name, _ in found]
    return data, [(name, node) for name, node in found if names.count(name) == 1 and not isinstance(node, ast.ClassDef)]


def piece(data: bytes, node: ast.AST) -> str:
    """The source of a node, moved to the left margin as a person would write it into a hunk."""
    text = ast.get_source_segment(data.decode(), node) or ""
    return text.replace("\n" + " " * node.col_offset, "\n")  # type: ignore[attr-defined]


def lines(sign: str, text: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.split("\n"))


def check(data: bytes, scope: str, body: str) -> None:
    """Applicable; outside the splices the same bytes; the result parses; a second application changes nothing."""
    try:
        _, files = parse_spatch(f"--- a/b.py\n@@ {scope} @@ count=all\n{body}", "made.spatch")
        result = rewrite(data, files[0].hunks, {})
    except PatchError as error:
        assume("too little" not in error.message and "does not parse" not in error.message)
        assume("one side begins with a clause" not in error.message and "differ only" not in error.message)
        raise
    answer = result.answers[0]
    refused = ("shares its line", "byte for byte", "does not parse", "several lines", "does not mention")
    assume(not any(words in answer.problem for words in refused))
    assert answer.state is State.APPLICABLE, answer
    assert result.splices
    assert apply_splices(data, result.splices) == result.data
    kept = [data[a.end : b.start] for a, b in zip(result.splices, result.splices[1:])]
    assert all(part in result.data for part in kept)
    ast.parse(result.data)
    assert rewrite(result.data, files[0].hunks, {}).data == result.data


SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(st.data())
def test_an_expression_wrapped_in_a_call(draw: st.DataObject) -> None:
    data, found = functions(draw.draw(st.integers(0, len(FILES) - 1)))
    assume(found)
    scope, function = draw.draw(st.sampled_from(found))
    nodes = [node for node in ast.walk(function) if isinstance(node, EXPRESSIONS) and not hasattr(node, "ctx")]
    assume(nodes)
    text = piece(data, draw.draw(st.sampled_from(nodes)))
    assume(text and "$" not in text and "\n" not in text)
    check(data, scope, lines("-", text) + lines("+", f"print(1, {text})"))


@SETTINGS
@given(st.data(), st.sampled_from(["before", "after", "wrapped", "replaced"]))
def test_a_statement(draw: st.DataObject, how: str) -> None:
    data, found = functions(draw.draw(st.integers(0, len(FILES) - 1)))
    assume(found)
    scope, function = draw.draw(st.sampled_from(found))
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    node = draw.draw(st.sampled_from(nodes))
    assume(not isinstance(node, (ast.Global, ast.Nonlocal)) and not getattr(node, "decorator_list", []))
    text = piece(data, node)
    assume(text and "$" not in text and '"""' not in text and "'''" not in text)
    body = {
        "before": "+print(1)\n" + lines(" ", text),
        "after": lines(" ", text) + "+print(1)\n",
        "wrapped": lines("-", text) + "+if 1:\n" + lines("+    ", text),
        "replaced": lines("-", text) + "+print(0)\n+print(1)\n",
    }[how]
    check(data, scope, body)
