"""Code that nests too deeply for the parser gets a readable answer, as a hunk and as a target; code as people write it is read."""

import ast
import gc
import resource
import sys
from typing import List, Optional

import pytest

from patcher.engine.node import Node, SyntaxProblem
from patcher.engine.parsing import check_depth
from patcher.engine.source import Source, read_source, remembered
from patcher.model import State
from tests.engine.helpers import (
    check_refused,
    check_state,
    check_transformed,
    run,
    use_older_python,
)

DEEP = {
    "attributes": lambda n: "x = a" + ".b" * n,
    "calls": lambda n: "x = a" + "()" * n,
    "calls of attributes, one a line": lambda n: "x = (a" + "\n    .b()" * n + ")",
    "subscripts": lambda n: "x = a" + "[0]" * n,
    "operators": lambda n: "x = " + " + ".join("a" * n),
    "operators, one a line": lambda n: "x = (" + "\n    + ".join("a" * n) + ")",
    "powers": lambda n: "x = " + " ** ".join("a" * n),
    "and": lambda n: "x = " + " and ".join("a" * n),
    "comparisons": lambda n: "x = " + " < ".join("a" * n),
    "not": lambda n: "x = " + "not " * n + "a",
    "calls of attributes in each other": lambda n: "x = " + ("a" + ".b" * 30 + "(") * (n // 30) + ")" * (n // 30),
    "minus": lambda n: "x = " + "-" * n + "a",
    "lambda": lambda n: "x = " + "lambda: " * n + "a",
    "conditional expressions": lambda n: "x = " + "a if b else " * n + "a",
    "strings beside each other": lambda n: "x = (" + "'a'\n    " * n + ")",
    "f-strings beside each other": lambda n: "x = (" + "f'{a}'\n    " * n + ")",
    "operators in an f-string": lambda n: "x = f'{" + "+".join("a" * n) + "}'",
    "comprehensions": lambda n: "x = [a " + "for a in b " * n + "]",
    "parentheses": lambda n: "x = " + "(" * n + "a" + ")" * n,
    "lists": lambda n: "x = " + "[" * n + "a" + "]" * n,
    "f-strings in f-strings": lambda n: "x = " + "f'{" * n + "a" + "}'" * n,
    "formats in formats": lambda n: "x = f'{a:" + "{a:" * n + "}" * n + "}'",
    "blocks": lambda n: "if a:" + "".join("\n" + " " * i + "if a:" for i in range(1, min(n, 600))) + " pass",
    "elif": lambda n: "if a: b" + "\nelif a: b" * n,
    "conditional elif": lambda n: "if a: b" + "\nelif a if b else c: b" * n,
    "imports": lambda n: "import a" + ".b" * n,
    "annotations": lambda n: "x: int" + " | int" * n + " = 1",
    "cases": lambda n: "match a:\n    case " + "(" * n + "a" + ",)" * n + ": pass",
}
AS_PEOPLE_WRITE_IT = {"cases": 6, "f-strings in f-strings": 2, "formats in formats": 2}  # how deep; the others 60
WIDE = {
    "elements": "x = [" + "-a.b, " * 600 + "]",
    "entries": "x = {" + "a: 'b', " * 600 + "}",
    "arguments": "x = f(" + "a.b(c), " * 600 + ")",
    "statements": "x = a.b + c\n" * 600,
    "blocks beside each other": "if a: b\nelif c: d\n" * 300,
    "decorators": "@a.b\n" * 600 + "def g(): pass",
    "text": "x = '" + ".(-" * 600 + "'",
    "a template": "x = f'''" + "{a}.-\n" * 120 + "'''",
    "format texts": "x = (" + "'{:>3} {:d}',\n    " * 300 + ")",
    "comments": "# ((((((((((((\n" * 100 + "x = 1",
    "a variable": "case = " + "f(" * 20 + "1" + ")" * 20,
    "text of braces": "x = '" + "{" * 600 + "'",
    "a guard": "match a:\n    case 1 if " + "f(" * 20 + "1" + ")" * 20 + ": pass",
    "what a case does": "match a:\n    case 1: x = " + "f(" * 20 + "1" + ")" * 20,
    "an entry beside a case": "match a:\n    case 1: pass\nx = {a: " + "f(" * 20 + "1" + ")" * 20 + "}",
    "an attribute of it": "case.b = " + "f(" * 20 + "1" + ")" * 20,
}


def body(code: str) -> str:
    return "".join(f"    {line}\n" for line in code.split("\n"))


@pytest.fixture(autouse=True)
def no_core_file() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


@pytest.mark.parametrize(("name", "size"), [*((name, 600) for name in DEEP), ("attributes", 8_000), ("operators", 20_000)])
def test_code_that_is_too_deep_is_refused(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    code = DEEP[name](size)
    lines = "".join(f"-{line}\n" for line in code.split("\n"))
    check_refused(f"{lines}+x = 1\n", "", scope="f")
    use_older_python(monkeypatch)
    words = "too many indentation levels" if name == "blocks" else "nested too deeply"
    check_state(f"def f(a, b, c):\n{body(code)}", "-x = old(1)\n+x = 1\n", State.CONFLICT, words)


@pytest.mark.parametrize("name", [name for name in DEEP if name != "blocks"])  # libcst counts those itself
def test_it_is_refused_before_libcst_is_called(name: str) -> None:
    with pytest.raises(SyntaxProblem, match="nested too deeply"):
        check_depth(DEEP[name](12 if name == "cases" else 600))


@pytest.mark.parametrize("name", DEEP)
def test_a_target_that_is_too_deep_is_a_conflict(name: str) -> None:
    source = f"def f(a, b, c):\n{body(DEEP[name](2_000))}"
    check_state(source, "-x = old(1)\n+x = 1\n", State.CONFLICT)


@pytest.mark.parametrize("name", DEEP)
def test_code_as_people_write_it_is_read(name: str) -> None:
    code = body(DEEP[name](AS_PEOPLE_WRITE_IT.get(name, 60)))
    if name == "f-strings in f-strings":
        code = code.replace("f'{f'{", "f'{f\"{").replace("}'}'", "}\"}'")
    source = f"def f(a, b, c):\n{code}    y = a.z\n"
    check_transformed(source, "-a.z\n+b\n", source.replace("a.z", "b"))


@pytest.mark.parametrize("name", WIDE)
def test_code_that_is_only_wide_is_read(name: str) -> None:
    check_depth(WIDE[name] + "\n")


@pytest.mark.parametrize(("scope", "hunk"), [("f", "-old(1)\n+max(1)\n"), ("<module>", " import os\n+import sys\n")])
def test_one_tree_of_the_standard_parser_is_held_at_a_time(scope: str, hunk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees are counted where they are made, since the peak memory of a process differs between machines."""
    read: List[Source] = []
    parse = Source._ast  # all trees of the standard parser are made there, and nothing tells who holds one

    def counted(source: Source) -> Optional[ast.Module]:
        assert not any(other._tree or other._named for other in read if other is not source)
        read.append(source)
        return parse(source)

    monkeypatch.setattr(Source, "_ast", counted)
    (answer,) = run("import os\n\n\ndef f():\n    return old(1)\n", hunk, scope=scope).answers
    assert (answer.state, len(read)) == (State.APPLICABLE, 2)


def test_of_many_files_that_are_read_the_trees_of_the_last_ones_are_kept() -> None:
    """Nodes are counted, since nothing tells who holds one."""

    def nodes_after(first: int, last: int) -> int:
        for number in range(first, last):
            text = "".join(f"x{number} = old({'a' * 2_000!r}, {line})\n" for line in range(10))
            assert read_source(text.encode()).whole().kind == "Block"
        gc.collect()
        return sum(isinstance(each, Node) for each in gc.get_objects())

    with remembered():
        few = nodes_after(0, 40)  # of 20,000 characters each: more than are kept
        many = nodes_after(40, 80)
    assert many < few * 1.05


LONG = {
    "operators": "a" + " + a" * 280,
    "calls": "a(" * 140 + "a" + ")" * 140,
    "dictionaries": "{1: " * 110 + "a" + "}" * 110,
}


@pytest.mark.skipif(sys.version_info < (3, 9), reason="the parser of Python 3.8 overflows at 100 brackets")
@pytest.mark.parametrize("name", LONG)
def test_generated_code_is_read(name: str) -> None:
    """The recursion limit bounds it: each function more between a node and those inside it costs depth."""
    source = f"def f(a):\n    x = {LONG[name]}\n    return old(a)\n"
    check_transformed(source, "-old(a)\n+max(a)\n", source.replace("old(a)", "max(a)"))


def test_the_line_that_is_too_deep_is_named() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        check_depth("x = 1\ny = (\n" + "a +\n" * 600 + "1)\n")
    assert caught.value.line == 502


def test_hundreds_of_runs_in_one_statement_are_refused() -> None:
    check_refused("-f(" + "a, ..., " * 6_000 + ")\n+f()\n", "more than 200 `...` in one statement", scope="f")


def test_the_reason_of_the_standard_parser_is_reported() -> None:
    problem = run("  s = 'a\n", "-old(a)\n+max(a)\n").answers[0].problem
    assert problem.endswith(": unterminated string literal (line 1)")


@pytest.mark.once
def test_a_hunk_of_more_than_a_thousand_lines_has_an_answer() -> None:
    lines = "".join(f" x{number} = 1\n" for number in range(1500))
    source = "def f(a):\n" + lines.replace(" x", "    x")
    check_transformed(f"{source}    old(a)\n", f"{lines}-old(a)\n+max(a, 1)\n", f"{source}    max(a, 1)\n")


@pytest.mark.skipif(not hasattr(sys, "get_int_max_str_digits"), reason="this Python reads any number of digits")
def test_a_number_too_long_for_python_is_a_conflict() -> None:
    words = "the result does not parse: a number has more digits than Python reads; write it in hexadecimal"
    check_state("def f():\n    x = 1\n", f"-x = 1\n+x = {'9' * 5_000}\n", State.CONFLICT, words)


def test_the_code_closest_to_a_table_of_five_hundred_rows_is_shown() -> None:
    """By its first words: to compare all of it with each line of the file took minutes."""
    rows = "".join(f"    'L{number}': ('lexers.m{number}', 'Name {number}', ('a{number}',), ('*.x{number}', '*.y{number}')),\n" for number in range(500))
    table = f"LEXERS = {{\n{rows}}}\n"
    there = table.replace("Name 7'", "Seven'").replace("Name 450", "Last")
    hunk = "".join(f"-{line}\n" for line in table.splitlines()) + "".join(f"+{line}\n" for line in table.replace("Name 300", "New").splitlines())
    (answer,) = run(there, hunk, scope="<module>").answers
    assert answer.state is State.NOT_FOUND and "closest, line  9: " in answer.problem
