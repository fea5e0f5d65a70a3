"""Every piece of Python's grammar, as pattern and as code: found, changed in one place, and nothing else touched.

Each code below holds `old.x` once. Whatever the syntax around it, the code finds itself, is found with `$X` for that piece,
and a change of that piece changes these bytes alone. A tool that runs on an older Python than the code is written for does
the same, as far as its parser knows the syntax; else it says so in clear words.
"""

import ast
import gc
from typing import Iterator, Union

import pytest

from patcher.engine.convert import Converter
from patcher.engine.lex import lines_in_strings
from patcher.engine.node import CLAUSES, SyntaxProblem
from patcher.engine.parsing import parse_source
from patcher.engine.source import Source
from patcher.model import State
from tests.engine.corpus import signed, within_strings
from tests.engine.helpers import (
    Changed,
    Refused,
    check_refused,
    check_state,
    check_transformed,
    hold,
    run,
    use_older_python,
)

CODE = {
    # definitions
    "decorator": "@old.x\ndef g(): pass",
    "decorator with arguments": "@a.b(old.x, c=1)\ndef g(): pass",
    "several decorators": "@a\n@old.x\n@b\ndef g(): pass",
    "decorator that is any expression": "@a[0](old.x).b\ndef g(): pass",
    "class decorator": "@old.x\nclass C: pass",
    "class bases": "class C(a, old.x): pass",
    "class keywords": "class C(a, metaclass=old.x, k=1): pass",
    "class with starred bases": "class C(*old.x, **b): pass",
    "positional-only parameters": "def g(a, b=old.x, /, c=1): pass",
    "keyword-only parameters": "def g(a, *, b=old.x, c): pass",
    "starred parameters": "def g(*a: int, b=old.x, **c): pass",
    "every kind of parameter": "def g(a, /, b, *c, d=old.x, **e): pass",
    "annotations": "def g(a: old.x, *b: int, **c: int) -> int: pass",
    "return annotation": "def g(a) -> old.x: pass",
    "async def": "async def g(a=old.x): pass",
    "docstring of a function": 'def g():\n    """Doc."""\n    return old.x',
    "docstring of a class": 'class C:\n    """Doc."""\n    a = old.x',
    "nested definitions": "def g():\n    def h():\n        return old.x\n    return h",
    "type parameters of a function": "def g[T: old.x, *U, **V](a: T) -> T: pass",
    "type parameters of a class": "class C[T: (int, old.x)](a): pass",
    "type statement": "type A[T] = old.x | T",
    "defaults of type parameters": "class C[T = old.x]: pass",
    # asynchronous code
    "await": "b = await old.x",
    "async for": "async for a in old.x:\n    b\nelse:\n    c",
    "async with": "async with old.x as a, b: c",
    "async comprehension": "b = [a async for a in old.x if await a]",
    "yield": "b = yield old.x",
    "yield from": "b = yield from old.x",
    "bare yield": "yield\nold.x()",
    # match
    "match subject": "match old.x:\n    case _: pass",
    "match subject that is a tuple": "match a, old.x:\n    case _: pass",
    "case value": "match a:\n    case old.x: pass",
    "case or": "match a:\n    case 1 | old.x | 'c': pass",
    "case capture": "match a:\n    case old.x as b: pass",
    "case sequence": "match a:\n    case [1, old.x, *b]: pass",
    "case tuple": "match a:\n    case (old.x, _): pass",
    "case open tuple": "match a:\n    case old.x, *_: pass",
    "case mapping": "match a:\n    case {'k': old.x, **b}: pass",
    "case mapping key": "match a:\n    case {old.x: 1}: pass",
    "case class": "match a:\n    case C(old.x, k=1): pass",
    "case class keyword": "match a:\n    case C(1, k=old.x): pass",
    "case class name": "match a:\n    case old.x(): pass",
    "case literals": "match a:\n    case -1 | 2 + 3j | None | True | 'a' 'b' | b'c' | old.x: pass",
    "case guard": "match a:\n    case b if old.x: pass\n    case _: c",
    "case nested": "match a:\n    case {'k': [C(a=(old.x | None)), *_]}: pass",
    # other compound statements
    "if elif else": "if a:\n    b\nelif old.x:\n    c\nelse:\n    d",
    "one-line if": "if a: b = old.x",
    "one-line if with several statements": "if a: b; c = old.x; d",
    "one-line if else": "if a: b\nelse: c = old.x",
    "while else": "while old.x:\n    break\nelse:\n    c",
    "for else": "for a, *b in old.x:\n    continue\nelse:\n    c",
    "for over starred": "for a in *b, old.x: c",
    "try": "try:\n    a\nexcept (A, old.x) as b:\n    c\nexcept B:\n    pass\nexcept:\n    d\nelse:\n    e\nfinally:\n    f",
    "except without parentheses": "try:\n    a\nexcept A, old.x:\n    c",
    "except star": "try:\n    a\nexcept* old.x as b:\n    c\nexcept* B:\n    pass",
    "with": "with a as b, old.x as (c, d): pass",
    "with in parentheses": "with (\n    a as b,\n    old.x as c,\n): pass",
    "with in parentheses, no names": "with (a, old.x): pass",
    # simple statements
    "several statements on a line": "a = 1; b = old.x; c = 2",
    "semicolon at the end": "a = old.x;",
    "chained assignment": "a = b = old.x",
    "unpacking": "a, *b = old.x",
    "target in brackets": "[a, (b, *c)] = old.x",
    "attribute target": "old.x = a",
    "subscript target": "a[old.x] = b",
    "annotated assignment": "a: old.x = 1",
    "annotation alone": "a: old.x",
    "annotated attribute": "a.b: int = old.x",
    "every augmented assignment": "a += 1; a -= 1; a *= 1; a /= 1; a //= 1; a %= 1; a @= 1; a &= 1; a |= 1; a ^= 1; a >>= 1; a <<= 1; a **= old.x",
    "del": "del a, b[0], old.x",
    "assert": "assert a, old.x",
    "raise from": "raise a(1) from old.x",
    "return with a star": "return *a, old.x",
    "global and nonlocal": "def g():\n    global p, q\n    nonlocal a\n    return old.x",
    "imports": "import a.b as c, d\nfrom . import e\nfrom ...f.g import (h as i, j,)\nold.x()",
    "future import": "from __future__ import annotations\nold.x()",
    "comment at every place": "# 1\nb = [  # 2\n    # 3\n    a,  # 4\n    old.x  # 5\n    # 6\n]  # 7\n# 8",
    "backslash": "b = a + \\\n    old.x",
    "pass and break": "while a:\n    pass\n    break\nold.x()",
    # expressions
    "walrus": "if (b := old.x) is None: pass",
    "walrus in a call": "g(b := old.x)",
    "walrus in a comprehension": "[c for a in b if (c := old.x)]",
    "lambda": "g(lambda: old.x)",
    "lambda with every kind of parameter": "g(lambda a, /, b=1, *c, d=old.x, **e: a)",
    "lambda with a bare star": "g(lambda *, a=old.x: a)",
    "conditional expression": "b = a if old.x else c",
    "list comprehension": "b = [old.x for a in b for c in a if a if c]",
    "set comprehension": "b = {a for a in old.x}",
    "dict comprehension": "b = {a: old.x for a, c in b}",
    "generator": "b = (a for a in old.x)",
    "generator as only argument": "b = any(old.x for a in c)",
    "chained comparison": "b = 1 < a <= old.x != c is not d not in e",
    "boolean operators": "b = not a and old.x or c",
    "every binary operator": "b = a + b - c * d / a // b % c @ d << a >> b & c ^ d | old.x ** a",
    "matrix multiplication": "b = a @ old.x",
    "unary operators": "b = -+~old.x",
    "power of a negative": "b = -a ** -old.x",
    "starred elements": "b = [*a, *old.x]",
    "starred tuple": "b = *a, *old.x",
    "dict": "b = {**a, 'k': old.x, **c}",
    "set": "b = {1, old.x, *a}",
    "empty containers": "b = [], (), {}, old.x",
    "tuple of one": "b = (old.x,)",
    "call": "g(1, *a, old.x, k=2, **c)",
    "chained calls": "g(a)(b)[c].d(old.x).e",
    "slices": "b = a[1:old.x:2], a[:], a[::], a[1:]",
    "extended slices": "b = a[1:2, ..., old.x, None]",
    "trailing comma in a subscript": "b = a[old.x,]",
    "unpacking in a subscript": "b = a[*c, old.x]",
    "unpacking alone in a subscript": "b = a[*old.x]",
    "numbers": "b = 0xFF, 0b1, 0o7, 1_000, 1e-5, 1.5E10, .5, 2., 3j, old.x",
    "ellipsis": "b = (..., old.x)",
    "strings": "b = 'a', \"b\", '''c\nd''', r'\\e', b'f', rb'\\g', u'h', Rb'i', old.x",
    "implicit concatenation": "b = 'a' \"b\" r'c' f'{old.x}' 'd'",
    "f-string": "b = f'{old.x}'",
    "f-string with everything": "b = f'{{ {old.x!r:>{a}.{c}} }} {a=} {c = !s} {d:%Y-%m}'",
    "f-string, triple quotes": "b = f'''a\n{\n    old.x\n} {c}'''",
    "raw f-string": "b = rf'\\d{old.x}\\{c}'",
    "f-string with a named character": "b = f'\\N{BULLET} {old.x}'",
    "f-string in an f-string": "b = f'{f\"{old.x}\"}'",
    "f-string with a dict": "b = f'{ {1: old.x}[1] }'",
    "f-string with a lambda": "b = f'{(lambda a: old.x)(1)}'",
    "f-string with the same quotes inside": "b = f'{a['k']} {old.x}'",
    "f-strings nested with the same quotes": "b = f'{f'{f'{old.x}'}'}'",
    "f-string with a backslash inside": "b = f'{'\\n'.join(a)} {old.x}'",
    "f-string with a comment inside": "b = f'''{\n    a  # } '\n} {old.x}'''",
    "print with a redirection": "print >> a, old.x",
    "names from every alphabet": "\u00e9t\u00e9 = \u540d + old.x",
}

HEAD = "async def f(a, b, c, d, e, old):\n"
UNKNOWN = {  # what a parser in use does not read: refused in these words
    "defaults of type parameters": "unexpected code",
    "except without parentheses": "unexpected code",
    "case open tuple": "byte for byte",
}
NO_PLACE = ("case mapping key",)  # only a value can stand there: `$X` would be read as a name to bind


def knows(name: str) -> bool:
    """Whether the parser of this environment reads a code; what it does not read is refused, and that is checked too."""
    if name not in UNKNOWN:
        return True
    result = run(in_function(CODE[name]), "-old.x\n+old.z\n")
    assert not result.answers[0].state.failed or UNKNOWN[name] in result.answers[0].problem, result.answers[0].problem
    return not result.answers[0].state.failed


def in_function(code: str) -> str:
    """The code as the body of a function, with a statement below it; strings keep their lines."""
    inside, rows, offset = set(lines_in_strings(code)), [], 0
    for row in code.split("\n"):
        rows.append(row if offset in inside else f"    {row}")
        offset += len(row) + 1
    return HEAD + "\n".join(rows) + "\n    return a\n"


@pytest.mark.parametrize("name", CODE)
def test_code_is_found_as_itself_and_with_a_placeholder(name: str) -> None:
    code = CODE[name]
    if not knows(name) or ";" in code.split("\n")[-1] or code.endswith("# 8"):  # beside those nothing can be inserted
        return
    source = in_function(code)
    result = source.replace("    return a\n", "    print(1)\n    return a\n")
    check_transformed(source, signed(" ", code) + "+print(1)\n", result)
    if name not in NO_PLACE:
        check_transformed(source, signed(" ", code.replace("old.x", "$X")) + "+print(1)\n", result)


@pytest.mark.parametrize("name", CODE)
def test_one_piece_is_changed_and_every_other_byte_stays(name: str) -> None:
    if not knows(name):
        return
    code = CODE[name]
    source = in_function(code)
    check_transformed(source, "-old.x\n+old.z.x\n", source.replace("old.x", "old.z.x"))
    pattern = name.startswith("case ") and "guard" not in name and "class name" not in name
    piece, new = ("$X", "$X | 9") if pattern else ("$X", "$X.z")
    hunk = ""
    for row in code.split("\n"):
        if "old.x" in row:
            hunk += signed("-", row.replace("old.x", piece)) + signed("+", row.replace("old.x", new))
        else:
            hunk += signed(" ", row)
    if name not in NO_PLACE:
        check_transformed(source, hunk, source.replace("old.x", new.replace("$X", "old.x")))


@pytest.mark.parametrize("name", CODE)
def test_one_piece_is_changed_without_the_standard_parser_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that runs on an older Python than the code is written for has only libcst."""
    use_older_python(monkeypatch)
    test_one_piece_is_changed_and_every_other_byte_stays(name)


MODULE = {"scope": "<module>"}
TOP_LEVEL = {
    "star import": Changed("from a.b import *\n", "-from a.b import *\n+from a.c import *\n", "from a.c import *\n", MODULE),
    "relative import": Changed("from .. import a\n", "-from .. import a\n+from ... import a\n", "from ... import a\n", MODULE),
    "import in parentheses": Changed("from a import (b as c,)\n", "-from a import b as $N\n+from d import b as $N\n", "from d import (b as c,)\n", MODULE),
    "module docstring": Changed('"""Doc."""\na = old(1)\n', "-old($X)\n+max($X, 2)\n", '"""Doc."""\na = max(1, 2)\n', MODULE),
    "type statement": Refused("-type A[...] = old[T]\n+type A = int\n", "does not parse", how=MODULE),
    "one-line class": Changed("class A: a = old(1)\n", "-class A:\n+class A(int):\n", "class A(int): a = old(1)\n", MODULE),
    "await at the top level": Changed("await old(1)\n", "-old($X)\n+max($X, 2)\n", "await max(1, 2)\n", MODULE),
}  # fmt: skip


@pytest.mark.parametrize("name", TOP_LEVEL)
def test_code_at_the_top_level_is_changed(name: str) -> None:
    hold(TOP_LEVEL[name])


NOT_PYTHON = {
    "a print statement": "print 'x'",
    "an exec statement": "exec 'x' in a",
    "an old raise": "raise A, 'b'",
    "old inequality": "a = b <> c",
    "backticks": "a = `b`",
    "an old octal number": "a = 0777",
    "an old unicode string": "a = ur'b'",
    "a tuple parameter": "def g((a, b)): pass",
    "an f-string that is not closed": "a = f'{b'",
    "a bracket that is not closed": "a = (b",
    "syntax that nobody knows yet": "unless a: b",
    "a line that is indented too far": "a = 1\n        b = 2",
}


@pytest.mark.parametrize("name", NOT_PYTHON)
@pytest.mark.parametrize("standard", [True, False])
def test_a_text_that_is_not_python_is_refused_in_clear_words(name: str, standard: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not standard:
        use_older_python(monkeypatch)
    source = in_function(NOT_PYTHON[name] + "\nc = old.x")
    check_state(source, "-old.x\n+old.z\n", State.CONFLICT, "the file cannot be read as Python: ")
    check_refused(signed("-", NOT_PYTHON[name]) + "+pass\n", "the before side does not parse: ")


def test_syntax_that_only_a_newer_python_reads_is_not_made_by_placing_code_in_an_f_string() -> None:
    source = "def f(a):\n    return f'{a.b}'\n"
    check_state(source, "-a.b\n+a['b']\n", State.CONFLICT, "an f-string cannot hold")
    check_transformed(source, '-a.b\n+a["b"]\n', source.replace("a.b", 'a["b"]'))


def offset(source: Source, line: int, column: int) -> int:
    """The character offset of a line and a column in bytes."""
    start = source.lines.starts[line - 1]
    return start + len(source.text[start:].encode()[:column].decode())


def outside_strings(tree: ast.AST) -> Iterator[Union[ast.stmt, ast.expr]]:
    """The statements and expressions that are no f-string and in none: before Python 3.12 their positions differ."""
    inside = within_strings(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.expr)) and not isinstance(node, ast.JoinedStr) and id(node) not in inside:
            yield node


@pytest.mark.once  # the standard parser of Python 3.8 takes `with (a, b)` for a tuple
@pytest.mark.parametrize("name", CODE)
def test_a_node_has_the_place_that_the_standard_parser_gives_it(name: str) -> None:
    text = in_function(CODE[name])
    try:
        tree, block, moved = ast.parse(text), parse_source(text), parse_source(text, offset=1000)
    except (SyntaxError, SyntaxProblem):
        return  # of a newer Python, or of one that libcst does not know
    nodes = list(block.walk())
    assert repr(moved) == repr(block)
    for node, other in zip(nodes, moved.walk()):
        assert (other.start, other.end) == (node.start + 1000, node.end + 1000)
        assert (other.outer_start, other.outer_end) == (node.outer_start + 1000, node.outer_end + 1000)
    places = {(node.start, node.end) for node in nodes} | {(node.outer_start, node.outer_end) for node in nodes}
    source = Source(text.encode())
    for node in outside_strings(tree):
        begin = offset(source, node.lineno, node.col_offset)
        end = offset(source, node.end_lineno or 0, node.end_col_offset or 0)
        is_elif_or_only_argument = text.startswith("elif", begin) or isinstance(node, ast.GeneratorExp)
        assert (begin, end) in places or is_elif_or_only_argument, (type(node), text[begin:end])
    for node in nodes:
        pieces = text[node.start : node.end], text[node.outer_start : node.outer_end]
        assert pieces == tuple(map(str.strip, pieces))
        if node.kind in CLAUSES:
            assert node.end == node.outer_end == node.node("body").end
        if node.kind in ("BareStar", "Slash"):
            assert pieces in (("*", "*"), ("/", "/"))


SHAPES = {
    "a if b else c": "Expr(value=IfExp(body=Name(value='a'), test=Name(value='b'), orelse=Name(value='c')))",
    "...": "Expr(value=Ellipsis())",
    "a[*b]": "Expr(value=Subscript(value=Name(value='a'), slice=Tuple(elements=[Star(value=Name(value='b'))])))",
    "a[*b, 1]": "Expr(value=Subscript(value=Name(value='a'), slice=Tuple(elements=[Star(value=Name(value='b')), Integer(value='1')])))",
    "a  not   in b": "Expr(value=Comparison(left=Name(value='a'), comparisons=[ComparisonTarget(operator=Operator(value='not in'), comparator=Name(value='b'))]))",
    "f'{{\\x41{b}'": "Expr(value=FString(parts=[FText(value='{A'), FExpr(expression=Name(value='b'))]))",
    "class A(b, *c, d=1): pass": "ClassDef(name=Name(value='A'), body=Block(body=[Pass()]), args=[Name(value='b'), Star(value=Name(value='c')), "
    "Keyword(arg=Name(value='d'), value=Integer(value='1'))])",
}  # fmt: skip


@pytest.mark.parametrize("code", SHAPES)
def test_code_has_this_tree(code: str) -> None:
    (node,) = parse_source(f"{code}\n").items("body")
    assert repr(node) == SHAPES[code]


def test_a_part_of_a_file_that_cannot_be_read_is_refused_with_its_line() -> None:
    for text, words, line in (
        ("    a\nb\n", "indented less", 0), ("    a\nelse:\n    b\n", "indented less", 0), ("    a\n    b = = 2\n", "unexpected code", 2),
        ("a\nb = = 2\n", "unexpected code", 2), ("\x0cdef f(): pass\n", "byte for byte", 0),
    ):  # fmt: skip
        with pytest.raises(SyntaxProblem, match=words) as caught:
            parse_source(text)
        assert (str(caught.value), caught.value.line) == (caught.value.message, line)
        assert line or not caught.value.column
    with pytest.raises(SyntaxProblem, match="a piece of syntax \\(object\\) that this version does not know"):
        Converter("", 0, {}, {}).one(object())


def test_a_node_knows_its_place() -> None:
    block = parse_source("class A(b, c=1): pass\n")
    (node,) = block.items("body")
    assert (block.field(), node.field(), block.siblings(), node.siblings()) == ("", "body", [block], [node])
    assert repr(node.header()) == "[Name(value='A'), Name(value='b'), Keyword(arg=Name(value='c'), value=Integer(value='1'))]"


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        parse_source("a = 1\n")
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
