"""Parentheses stand where Python's grammar needs them, and nowhere else (rule 13): each kind of expression in each place."""

import ast

import pytest

from tests.engine.helpers import hold, inside, run

BINARY = ["or", "and", "<", "in", "not in", "is", "is not", "==", "|", "^", "&", "<<", ">>", "+", "-", "*", "@", "/", "//", "%", "**"]
INNER = [
    *(f"a {operator} b" for operator in BINARY), "not a", "-a", "+a", "~a", "a if b else c", "lambda: a", "a.b", "a(b)", "a[b]", "1",
    "(a, b)", "[a]", "(yield)", "(a := b)", "'a'",
]  # fmt: skip
PLACES = [
    *(f"{{}} {operator} z" for operator in BINARY), *(f"z {operator} {{}}" for operator in BINARY), "not {}", "-{}", "+{}", "~{}",
    "{} if z else z", "z if {} else z", "z if z else {}", "lambda: {}", "z({})", "z(z, {})", "z(k={})", "[{}, z]", "{{z: {}}}",
    "{{{}: z}}", "{{{}, z}}", "{}.z", "{}(z)", "{}[z]", "z[{}]", "z[{}:z]", "z[z:{}]", "z[::{}]", "[{} for z in z]",
    "[z for z in {}]", "[z for z in z if {}]", "(z := {})", "[*{}]",
    "{{{}: z for z in z}}", "{{z: {} for z in z}}", "{{{} for z in z}}", "({} for z in z)",
]  # fmt: skip


def expected(place: str, inner: str) -> str:
    """The expression with parentheses around what is put into it, without them where that is the same."""
    whole, bare = place.format(f"({inner})"), place.format(inner)
    try:
        return bare if ast.dump(ast.parse(bare)) == ast.dump(ast.parse(whole)) else whole
    except SyntaxError:
        return whole


@pytest.mark.parametrize("place", PLACES)
def test_a_result_has_the_parentheses_it_needs(place: str) -> None:
    inner = [each for each in INNER if not (each in ("a and b", "a or b") and each[2:-2] in place.split())]  # one of three
    inner = [each for each in inner if not (" for " in place and each in ("(yield)", "(a := b)"))]  # not allowed there
    inner = [each for each in inner if not (each == "1" and place[:3] in ("{}(", "{}["))]  # always enclosed: `1.z` would not do
    inner = [each for each in inner if not (" if {}]" in place and each == "lambda: a")]  # Python 3.8 alone needs none
    source = "def f(a, b, c, z):\n" + "".join(f"    x = A({each})\n" for each in inner)
    answer = run(source, f"-A($X)\n+{place.format('$X')}\n", flags="count=all")
    assert [each.problem for each in answer.answers] == [""]
    assert answer.data.decode().split("\n")[1:-1] == [f"    x = {expected(place, each)}" for each in inner]


SOME = ["a or b", "a and b", "not a", "a < b", "a | b", "a + b", "-a", "a ** b", "a if b else c", "lambda: a", "a.b", "1", "(a, b)", "(yield)", "(a := b)"]
STANDING = [
    "{}", "x = {}", "x += {}", "x: {} = z", "x: z = {}", "return {}", "await {}", "yield {}", "raise {}", "raise z from {}", "assert {}", "assert z, {}",
    "if {}: pass", "while {}: pass", "for x in {}: pass", "with {}: pass", "with {} as x: pass", "class C({}): pass", "class C(k={}): pass", "def g(p={}): pass",
    "def g(p: {}): pass", "def g() -> {}: pass", "@{}\ndef g(): pass", "z({})", "[*{}]", "{{**{}}}", "z[z, {}]", "z = lambda p={}: z", "f'{{{}}}'", "f'{{{}:z}}'", "z = -{} ** z", "not {}",
    "({} for x in z)", "[z for x in {}]", "[z for x in z if {}]", "{{x: {} for x in z}}", "{{{}: z for x in z}}", "z[{}:]", "z[:{}]", "z[::{}]", "(z := {})",
]  # fmt: skip
NEWER = ["try: pass\nexcept* {}: pass", "match {}:\n    case 1: pass", "match z:\n    case 1 if {}: pass", "type X = {}", "type X[T: {}] = z", "type X[T = {}] = z"]
# enclosed all the same; two items; Python 3.8 alone needs none
APART = [("await {}", "1"), ("with {}: pass", "(a, b)"), ("[z for x in z if {}]", "lambda: a")]


@pytest.mark.once
@pytest.mark.parametrize("place", STANDING)
def test_code_that_takes_the_place_of_other_code_gets_the_parentheses_it_needs(place: str) -> None:
    def lines(code: str) -> str:
        return "".join(f"    {line}\n" for line in code.split("\n"))

    allowed = []
    for inner in SOME:
        try:
            compile(f"async def f():\n{lines(place.format(f'({inner})'))}", "place", "exec")
            allowed += [inner] * ((place, inner) not in APART)
        except SyntaxError:
            pass
    if not allowed:
        pytest.skip("this Python reads names alone there")
    head = "async def f(a, b, c, z):\n"
    answer = run(head + "".join(lines(place.format(f"A({each})")) for each in allowed), "-A($X)\n+$X\n", flags="count=all")
    assert [each.problem for each in answer.answers] == [""]
    assert answer.data.decode() == head + "".join(lines(expected(place, each)) for each in allowed)


@pytest.mark.once
@pytest.mark.parametrize("place", [*STANDING, *NEWER])
def test_parentheses_that_the_hunk_writes_are_kept(place: str) -> None:
    head = "async def f(a, b, z):\n" if "await" in place else "def f(a, b, z):\n"

    def source(code: str) -> str:
        return head + "".join(f"    {line}\n" for line in place.format(code).split("\n"))

    for inner in ("(a, b)", "(yield)", "(a := b)", "(lambda: a)", "(a if b else z)"):
        try:
            compile(source(inner), "place", "exec")
            compile(source("z.y"), "place", "exec")
        except SyntaxError:
            continue
        answer = run(source("z.y"), f"-z.y\n+{inner}\n")
        two_items = place.startswith("with {}:") and inner == "(a, b)"
        assert [bool(each.problem) for each in answer.answers] == [two_items], (inner, answer.answers)
        assert two_items or ast.dump(ast.parse(answer.data)) == ast.dump(ast.parse(source(inner)))


@pytest.mark.parametrize(
    ("source", "hunk", "result"),
    [
        ("for x in A(a): pass", "-A($X)\n+(*$X, b)\n", "for x in (*a, b): pass"),
        ("for x in a: pass", "-for x in $X: pass\n+for x in *$X, b: pass\n", "for x in (*a, b): pass"),
        ("for x in a, b: pass", "-for x in a, b: pass\n+for x in a, b, *c: pass\n", "for x in (a, b, *c): pass"),
        ("for x in (*a, b): pass", "-for x in *a, b: pass\n+for x in *a, c: pass\n", "for x in (*a, c): pass"),
        ("for x in A(a): pass", "-A($X)\n+[*$X, b]\n", "for x in [*a, b]: pass"),
        ("for x in *a, b: pass", "-for x in *a, b: pass\n+for x in *a, c: pass\n", "for x in *a, c: pass"),
        ("x = *a, b", "-x = $X\n+for x in $X: pass\n", "for x in (*a, b): pass"),
        ("x += A(a)", "-A($X)\n+(*$X, b)\n", "x += (*a, b)"),
        ("x = b[A(a)]", "-A($X)\n+(*$X, b)\n", "x = b[(*a, b)]"),
        ("x = b[a, c]", "-b[a, c]\n+b[a, *c]\n", "x = b[(a, *c)]"),
        ("return A(a)", "-A($X)\n+(*$X, b)\n", "return *a, b"),
    ],
)
def test_a_tuple_with_a_star_is_written_so_that_python_3_8_reads_it(source: str, hunk: str, result: str) -> None:
    hold(inside(source, hunk, result))
