"""Hunks on a release in which code has moved since: the engine has to say what a small model says.

    python -m tools.programs --drift [--programs 5000] [--seed 7] [--only N]

The model knows statements as text and blocks as lists, and shares no code with the engine: it lays
the lines of a hunk over the lines of a block, one below the other. There are three kinds of release
and hunk: a deletion whose code stands elsewhere in the function (moved above, below, into an `if`,
or gone); code that is wrapped everywhere, with places inside places and some of them wrapped
already (calls, attributes, ternaries, `if`, `for`, `with`, `def`); and a change below or beside
`...` of a list of statements, elements, arguments, imported names, parameters, decorators or
clauses, of which the release has either side, both or none.

What is said has to be what the model says: *upstream* only where the before side stands nowhere any
more, *applicable* with the text that the model makes, and a failed state where there is neither, or
more than one way. A conflict is right where the model changes something, but for a wrap: a hunk may
be refused, never misread.
"""

from __future__ import annotations

import ast
from collections import Counter
from random import Random
from typing import Callable, List, NamedTuple, Sequence

from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.model import State

SCOPE = "def f(a, b, c, d):\n"
NAMES = "abcd"
FAILED = "failed"


class Case(NamedTuple):
    """A release, a hunk for it, and what the model says.

    That is a state (`FAILED` for any that is), and the text that comes of it.
    """

    release: str
    spatch: str
    state: str
    result: str


def spatch(lines: Sequence[str], scope: str = "f", flags: str = "") -> str:
    """A `.spatch` of one hunk."""
    return f"--- p/m.py\n@@ {scope} @@ {flags}\n" + "".join(f"{line}\n" for line in lines)


# deletions ------------------------------------------------------------------------------------
STATEMENTS = ["a.load(1)", "b.save(c)", "d = a.open(b)", "c.close()", "b.flush(a)"]
DELETED = ["c.synchronize()", "d.wait(a)", "del a.cache", "assert b.ready"]


def deletion(random: Random) -> Case:
    """A statement that is deleted between two that stay, or beside one.

    In the release it may stand elsewhere.
    """
    kept = random.sample(STATEMENTS, 4)
    gone = random.choice(DELETED)
    number_above, number_below = random.choice([(1, 1), (1, 0), (0, 1), (2, 1)])
    above, below = kept[:number_above], kept[number_above : number_above + number_below]
    hunk = [*(f" {line}" for line in above), f"-{gone}", *(f" {line}" for line in below)]
    block = [random.choice(kept[3:]), *above, gone, *below, "return b"]
    # the release: the statement moves, goes, comes a second time
    for _ in range(random.choice([0, 1, 1, 2])):
        how = random.randrange(5)
        if how < 3 and gone in block:
            block.remove(gone)
        if how > 0:
            at = random.randrange(len(block))
            forms = [gone, gone, f"if a:\n    {gone}", f"while b:\n    {gone}"]
            block.insert(at, random.choice(forms))
    before, after = [*above, gone, *below], [*above, *below]
    todo = starts(block, before)
    done = starts(block, after) if len(after) > 1 else []  # one line that stays proves nothing
    if todo:
        state = "applicable" if len(todo) + len(done) == 1 else FAILED
        block_after = block[: todo[0]] + after + block[todo[0] + len(before) :]
    else:
        stands = any(gone in statement for statement in block)
        state = "upstream" if len(done) == 1 and not stands else FAILED
        block_after = block
    return Case(function(block), spatch(hunk), state, function(block_after))


def starts(block: Sequence[str], run: Sequence[str]) -> list[int]:
    """Where a run of statements stands in a block."""
    places = range(len(block) - len(run) + 1)
    return [at for at in places if list(block[at : at + len(run)]) == list(run)]


def function(block: Sequence[str]) -> str:
    """The text of the function with these statements."""
    lines = "\n".join(block).split("\n")
    return SCOPE + "".join(f"    {line}\n" for line in lines)


# wraps ----------------------------------------------------------------------------------------
class Wrap(NamedTuple):
    """A place that may hold others: its code with `{}` for each part, and what is made of it.

    That has `{}` for the code.
    """

    code: str
    made: str
    hunk: tuple[str, ...]


EXPRESSIONS = (
    Wrap("int({})", "abs({})", ("-int($X)", "+abs(int($X))")),
    Wrap("{}.to({})", "str({})", ("-$X.to($D)", "+str($X.to($D))")),
    Wrap("({} if {} else {})", "abs({})", ("-$X if $C else $Y", "+abs($X if $C else $Y)")),
    Wrap("min({}, {})", "max({}, 0)", ("-min(...)", "+max(min(...), 0)")),
    Wrap("{}[{}]", "int({})", ("-$X[$I]", "+int($X[$I])")),
)
BLOCKS = (
    Wrap("if {}:", "with b:", ("-if $C:", "-    ...", "+with b:", "+    if $C:", "+        ...")),
    Wrap(
        "for a in {}:",
        "while b:",
        ("-for $I in $X:", "-    ...", "+while b:", "+    for $I in $X:", "+        ..."),
    ),
    Wrap("with {}:", "if b:", ("-with $C:", "-    ...", "+if b:", "+    with $C:", "+        ...")),
    Wrap(
        "def {}():", "if b:", ("-def $N():", "-    ...", "+if b:", "+    def $N():", "+        ...")
    ),
)


def expression(random: Random, wrap: Wrap, counts: Counter[str], depth: int = 0) -> tuple[str, str]:
    """An expression with places in it, and what all of them become."""
    kind = random.random()
    if depth == 4 or kind < 0.2:
        name = random.choice(NAMES)
        return name, name
    if kind < 0.35:
        before, after = expression(random, wrap, counts, depth + 1)
        return f"len({before})", f"len({after})"
    parts = [expression(random, wrap, counts, depth + 1) for _ in range(wrap.code.count("{}"))]
    before, after = (wrap.code.format(*side) for side in zip(*parts))
    if _is_done(random, counts):
        before = wrap.made.format(before)
    return before, wrap.made.format(after)


def _is_done(random: Random, counts: Counter[str]) -> bool:
    """Whether a place is wrapped already; it is counted."""
    done = random.random() < 0.25
    counts["done" if done else "todo"] += 1
    return done


def wrapped_expressions(random: Random) -> Case:
    """Expressions that hold each other, all of which get another one around them."""
    wrap = random.choice(EXPRESSIONS)
    counts: Counter[str] = Counter()
    before, after = [], []
    for _ in range(random.choice([1, 2])):
        one, other = expression(random, wrap, counts)
        before.append(f"d = {one}")
        after.append(f"d = {other}")
    return wraps(wrap, counts, function([*before, "return d"]), function([*after, "return d"]))


def block(
    random: Random, wrap: Wrap, counts: Counter[str], depth: int = 0
) -> tuple[list[str], list[str]]:
    """The lines of a block with places in it, and those of what all of them become."""
    before, after = ["a.b()"], ["a.b()"]
    for _ in range(random.choice([1, 1, 2]) if depth < 3 else 0):
        inner = block(random, wrap, counts, depth + 1)
        if random.random() < 0.3:
            for side, body in zip((before, after), inner):
                side += ["try:", *indented(body), "finally:", "    c()"]
            continue
        header = wrap.code.format(random.choice("gh" if "def" in wrap.code else NAMES))
        done = _is_done(random, counts)
        for side, body, is_wrapped in ((before, inner[0], done), (after, inner[1], True)):
            statement = [header, *indented(body)]
            side += [wrap.made, *indented(statement)] if is_wrapped else statement
    return before, after


def indented(lines: Sequence[str]) -> list[str]:
    """The lines one level deeper."""
    return [f"    {line}" for line in lines]


def wrapped_blocks(random: Random) -> Case:
    """Statements that hold each other, all of which get a header above them."""
    wrap = random.choice(BLOCKS)
    counts: Counter[str] = Counter()
    before, after = block(random, wrap, counts)
    return wraps(wrap, counts, function(before), function(after))


def wraps(wrap: Wrap, counts: Counter[str], before: str, after: str) -> Case:
    """The case of a wrap: what is left to do decides, then what is done."""
    state = FAILED
    if counts["todo"]:
        state = "applicable"
    elif counts["done"]:
        state = "upstream"
    return Case(before, spatch(wrap.hunk, flags="count=all"), state, after)


# runs -----------------------------------------------------------------------------------------
Written = Callable[[Sequence[str]], str]
Changed = Callable[[Sequence[str], Sequence[str]], List[str]]


class Runs(NamedTuple):
    """A list of something: the release with such a list, and a hunk for one.

    The hunk has `...` before and behind its elements. `apart` is whether others may stand between
    the elements that it writes.
    """

    elements: tuple[str, str, str]
    release: Written
    hunk: Changed
    apart: bool = False


def one_line(form: str) -> Changed:
    """A hunk of one line on each side."""

    def hunk(old: Sequence[str], new: Sequence[str]) -> list[str]:
        lines = []
        for tag, side in (("-", old), ("+", new)):
            elements = ", ".join(["...", *side, "..."])
            lines.append(f"{tag}{form.format(elements)}")
        return lines

    return hunk


def each_line(above: Sequence[str], indent: str, between: str, below: Sequence[str]) -> Changed:
    """A hunk with a line for each element."""

    def hunk(old: Sequence[str], new: Sequence[str]) -> list[str]:
        tag = " " if len(new) > len(old) else "-"
        rows = [f"{tag}{indent}{old[0]}", f"+{indent}{new[-1]}"]
        return [*above, f" {indent}{between}", *rows, f" {indent}{between}", *below]

    return hunk


def statements(elements: Sequence[str]) -> str:
    """A function with these statements."""
    return function(["d = a", *elements, "return d"])


def decorators(elements: Sequence[str]) -> str:
    """A function with these decorators."""
    return "".join(f"{each}\n" for each in elements) + "def f(a):\n    return a\n"


def clauses(elements: Sequence[str]) -> str:
    """An `if` with these clauses."""
    return function(["if d:\n    b()", *(f"{each}\n    a()" for each in elements)])


def clause_hunk(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """A hunk for the clauses of an `if`."""
    rows = [f"-{old[0]}", f"+{new[0]}", "     a()"]
    if len(new) > len(old):
        rows = [f" {old[0]}", "     a()", f"+{new[-1]}", "+    a()"]
    return [" if d:", "     ...", *rows]


LISTS = (
    Runs(
        ("a", "b", "c"),
        lambda elements: function([f"d = [{', '.join(elements)}]"]),
        one_line("[{}]"),
    ),
    Runs(
        ("a", "b", "c"),
        lambda elements: function([f"d = len({', '.join(elements)})"]),
        one_line("len({})"),
    ),
    Runs(
        ("g", "h", "k"),
        lambda elements: function([f"from os import {', '.join(elements)}"]),
        one_line("from os import {}"),
    ),
    Runs(
        ("g", "h", "k"),
        lambda elements: f"def f({', '.join(elements)}):\n    return 1\n",
        one_line("def f({}):"),
    ),
    Runs(
        ("len(1)", "int(2)", "str(3)"),
        statements,
        each_line([" def f(...):"], "    ", "...", []),
    ),
    Runs(
        ("@int", "@str", "@len"),
        decorators,
        each_line([], "", "@...", [" def f(...):"]),
        apart=True,
    ),
    Runs(("elif a:", "elif b:", "elif c:"), clauses, clause_hunk, apart=True),
)


def runs(random: Random) -> Case:
    """An element that is replaced, or gets another one behind it, in a list with any others."""
    kind = random.choice(LISTS)
    old, new, _ = kind.elements
    inserts = random.random() < 0.5
    after = [old, new] if inserts else [new]
    elements = [random.choice(kind.elements) for _ in range(random.randrange(1, 5))]
    places = [at for at, each in enumerate(elements) if each == old]
    done = 0
    for at in places:
        behind = elements[at + 1 :] if kind.apart else elements[at + 1 : at + 2]
        done += inserts and new in behind
    result = elements
    if not places:
        state = "upstream" if new in elements and not inserts else FAILED
    elif done == len(places):
        state = "upstream"
    elif len(places) > 1:
        state = FAILED
    else:
        state = "applicable"
        result = [*elements[: places[0]], *after, *elements[places[0] + 1 :]]
    hunk = spatch(kind.hunk([old], after))
    return Case(kind.release(elements), hunk, state, kind.release(result))


KINDS: tuple[Callable[[Random], Case], ...] = (deletion, wrapped_expressions, wrapped_blocks, runs)


# the comparison -------------------------------------------------------------------------------
def case(seed: int) -> Case:
    """The case of a seed."""
    random = Random(seed)
    return random.choice(KINDS)(random)


def difference(made: Case) -> str:
    """What the engine says otherwise than the model, empty for nothing.

    A refusal of what could be changed is no difference.
    """
    (hunk,) = parse_spatch(made.spatch, "p.spatch")[1][0].hunks
    result = rewrite(made.release.encode(), [hunk], {})
    (answer,) = result.answers
    text = result.data.decode()
    may_refuse = made.state == "applicable" and "count=all" not in made.spatch
    if answer.state is State.CONFLICT and may_refuse:
        return "" if text == made.release else "a conflict that changes something"
    state = FAILED if answer.state.failed else answer.state.value
    if state != made.state:
        return f"{answer.state.value}, and not {made.state}: {answer.problem}"
    expected = made.result if state == "applicable" else made.release
    if ast.dump(ast.parse(text)) != ast.dump(ast.parse(expected)):
        return f"another text:\n{text}\nexpected:\n{expected}"
    again = rewrite(result.data, [hunk], {})
    if again.data != result.data:
        return f"a second time it is changed again:\n{again.data.decode()}"
    return ""


def try_hunks(seeds: Sequence[int], *, show: bool = False) -> int:
    """Try the hunks of some seeds, and print what is said otherwise than by the model.

    Returns:
        how many there are.
    """
    counts: Counter[str] = Counter()
    different = 0
    for seed in seeds:
        made = case(seed)
        counts[made.state] += 1
        problem = difference(made)
        different += bool(problem)
        if problem or show:
            print(f"hunk {seed}: {problem}\n{made.release}\n{made.spatch}", flush=True)
    states = ", ".join(f"{number} {state}" for state, number in counts.most_common())
    print(f"{len(seeds)} hunks from seed {seeds[0]}: {different} differences ({states})")
    return different
