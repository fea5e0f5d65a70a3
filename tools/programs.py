"""Random programs, changed at random, each change as hunks: what the engine makes of it is what the plain text says.

    python -m tools.programs [--seconds 60] [--programs N] [--seed 7] [--only N] [--refusals]
    python -m tools.programs --drift [--programs 5000] [--seed 7] [--only N]    # hunks on other releases: tools/drift.py

A hunk without placeholders says the same as a diff: where every line of its before side stands in the file, the file with those
lines replaced is the expected result, and syntax trees are compared. A hunk with placeholders for what it does not change, with
less context, in parts, in several forms or with flags says the same too (`tools/generalised.py`). The engine may refuse a hunk, or call it
a conflict; what it applies has to be right, a second application changes nothing, comments of lines that the hunk keeps are
there once and in order, line breaks stay, and `explain` has the same states. No name is read that nothing binds any more. Some
programs are for one thing: elements that move (`moved`), `...` under several headers (`tools/headers.py`), and what binds a
name that is read (`tools/bindings.py`).
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import re
import sys
import time
import warnings
from collections import Counter
from random import Random
from textwrap import dedent
from typing import Any, Iterator, NamedTuple, Sequence

from patcher.engine.engine import explain, rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import SitepatchError
from patcher.model import HunkText, Rewrite, State, apply_splices
from tests.names import lost_names
from tools import bindings, drift, exchanged, generalised, headers

NAMES = ["a", "b", "c"]
NEW = sys.version_info >= (3, 12)  # type parameters
IN_STRING = "\x01"  # begins a line that is inside a string, and keeps its indentation
CONTINUED = "\x03"  # ends a line that continues the statement or header above it
LOOSE = "\x02"  # what follows is in the file and not in the hunk: a comment, a blank line
# Forms, parted by ¦ or lines; ⏎ is a line break. {0} and {2} are expressions, {1} is one or more, with commas between them.
EXPRESSIONS = r"""max({1})¦a.m({1})¦b.m.n()¦{0} + {2}¦{0} - ({2} - 1)¦{0} and {2}¦{0} or {2} or 1¦{0} in {2}¦[{1}]¦a[{0}]¦not {0}¦-{0}¦{0} ** {2}
({0}, {2})¦(lambda v: {0})¦[v for v in {0} if {2}]¦sum(v for v in {0})¦max(*{0}, **{2})¦{0} < {2} <= 3¦min({0}, key={2})¦a[{0}, 1:2]
({0} if {2} else 1)¦{{'k': {0}, **{2}}}¦{{{1}}}¦a[{0}:{2}]¦(c := {0})¦f'x {{{0}!r:>9}} y'¦'s' 't'¦b'u'¦max(⏎    {0},⏎    {2},⏎)
max(⏎    {0},  # why⏎    {2})¦(⏎    {0}⏎    + {2}⏎)¦[⏎    {0},⏎    {2}⏎]¦max({0}, key=1, default={2})¦{{v: 1 for v in {0}}}¦({0},)
({0} +⏎    {2})¦'''s⏎  t'''¦a.m(b, *{0}, x=1)¦a.x[0].y¦{0} is not {2}¦{0} @ {2} // 2¦a \⏎    + {2}"""
SIMPLE = r"""a = {0}¦b.x = {0}¦c += {0}¦return {0}¦assert {0}¦assert {0}, 'no'¦pass¦print({1})¦max({1})¦a.m({1})¦a = b = {0}¦a, *b = {1}¦n = {0}¦max(n)¦print(n, path)
a: int = {0}¦raise ValueError({0})¦raise ValueError from {0}¦del a[0], b¦import os, re as r¦from os import (path, sep as s)
'text'¦a[0], b.x = {0}, 1¦c = yield {0}¦a = await b.m({1})¦from os import path¦global g, h¦'''text⏎  more'''¦a = {0}¦a.m({1})¦return"""
HEADERS = """if {0}:¦while {0}:¦for c in {0}:¦for a, (b, *c) in {0}, 1:¦with {0}:¦with {0} as a:¦with a.m({1}) as b, {0}:
with a.m(⏎    {0}⏎) as c:¦async with a as b:¦async for c in {0}:"""
DEFINED = """def g{3}(a, b=1):¦def g{3}(a, /, *b, c: int = {0}, **d) -> int:¦async def g{3}(*, a={0}):¦@a.m({1})⏎def g{3}():
@a⏎@b.x⏎def g{3}(a, b):¦def g{3}(⏎    a,⏎    b=1,⏎):¦class C{3}:¦class C{3}(a, key={0}):¦@b⏎class C{3}(a):"""
PATTERNS = (
    """1¦[a, *_]¦{{'k': b, **c}}¦(1 | 2) as a¦a.x¦C(a, x=1)¦'s'¦(a, b) if {0}¦C()¦-1 | None"""
)
TYPED = "¦def g{3}[T](a: T):¦class C{3}[T, *S](a):"


class Program(NamedTuple):
    """A file before and after, and the .spatch that leads from the one to the other.

    `kept` are comments that stay; `runs` says that its functions can be called to see whether they read what is not bound.
    """

    before: str
    spatch: str
    after: str
    kept: tuple[str, ...] = ()
    runs: bool = False


def pick(random: Random, forms: str) -> str:
    """One of the forms."""
    return random.choice(re.split("[¦\n]", forms)).replace("⏎", "\n")


def filled(random: Random, form: str, depth: int) -> str:
    """A form with expressions in it."""
    parts = [expression(random, depth) for _ in range(random.randrange(1, 4))]
    return form.format(parts[0], ", ".join(parts), parts[-1], random.randrange(3))


def expression(random: Random, depth: int = 0) -> str:
    """An expression of names that are bound, or built in."""
    if depth == 2 or random.random() < 0.4:
        return random.choice([*NAMES, "0", "1", "2"])
    return filled(random, pick(random, EXPRESSIONS), depth + 1)


def simple(random: Random) -> str:
    """A statement without a block."""
    return filled(random, pick(random, SIMPLE), 0)


def statement(random: Random, depth: int = 0) -> Any:
    """A text, or of a compound statement its clauses: [[header, body], ...]."""

    def clause(header: str) -> list[Any]:
        return [filled(random, header, 0), block(random, depth + 1)]

    if depth > 1 or random.random() < 0.6:
        return simple(random)
    kind = random.randrange(8)
    some = random.choice([[], [], ["else:"], ["elif {0}:", "else:"], ["elif {0}:"]])
    if kind < 2:
        return [clause("if {0}:"), *map(clause, some)]
    if kind == 2:
        star = random.choice(["except", "except", "except*"])
        caught = random.choice(
            [
                [f"{star} ValueError:"],
                [f"{star} (TypeError, ValueError) as e:", f"{star} KeyError:"],
            ]
        )
        ends = random.choice([[], [], ["else:"], ["finally:"], ["else:", "finally:"]])
        return [clause("try:"), *map(clause, caught), *map(clause, ends)]
    if kind == 3:
        made = clause(pick(random, DEFINED + TYPED * NEW))
        if random.random() < 0.3:
            made[1].insert(0, random.choice(['"""Doc."""', "'''Doc\n  more\n'''", "'doc'"]))
        return [made]
    if kind == 4 and depth == 0:
        return [
            ["match a:", []],
            *(
                [f"case {filled(random, pick(random, PATTERNS), 1)}:", block(random, 2)]
                for _ in range(random.randrange(1, 4))
            ),
        ]
    header = clause(pick(random, HEADERS))
    looped = "with" not in header[0] and random.random() < 0.3
    return [header, clause("else:")] if looped else [header]


def block(random: Random, depth: int = 0) -> list[Any]:
    """The statements of a body."""
    return [statement(random, depth) for _ in range(random.choice([1, 1, 2, 3]))]


def bodies(body: list[Any]) -> Iterator[list[Any]]:
    """A body and those inside it."""
    yield body
    for clauses in body:
        for _, inner in clauses if isinstance(clauses, list) else ():
            if inner:
                yield from bodies(inner)


def inner_change(random: Random, text: str) -> str:
    """A text with one of its words or brackets exchanged."""
    words = list(re.finditer(r"\b[abc]\b(?!\w*['\"])|\b[0-3]\b", text))
    if not words:
        return simple(random)
    word = random.choice(words)
    new = expression(random, random.choice([1, 1, 2]))
    return (
        text[: word.start()]
        + random.choice([new, f"{word.group()}, {new}", f"max({word.group()})"])
        + text[word.end() :]
    )


def changed(random: Random, body: list[Any]) -> list[Any]:
    """A copy with a statement or two inserted, deleted, replaced, wrapped, unwrapped, moved, or changed in a part."""
    whole = copy.deepcopy(body)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        where = random.choice(list(bodies(whole)))
        at, to, how = (
            random.randrange(len(where)),
            random.randrange(len(where)),
            random.randrange(11),
        )
        one = where[at]
        if how == 0:
            where.insert(at, statement(random, 1))
        elif how == 1 and len(where) > 1:
            del where[at]
        elif how == 2:
            where[at] = statement(random, 1)
        elif how == 3:
            where[at] = [[filled(random, pick(random, HEADERS), 1), [one]]]
        elif how == 4 and isinstance(one, list) and one[0][1]:
            where[at : at + 1] = one[0][1]
        elif how < 8 and isinstance(one, str):
            where[at] = inner_change(random, one)
        elif how < 8 and isinstance(one, list):
            clause = random.choice(one)
            clause[0] = (
                inner_change(random, clause[0])
                if clause[0] not in ("try:", "else:", "finally:")
                else clause[0]
            )
        elif how == 8 and isinstance(one, list) and len(one) > 1:
            del one[random.randrange(1, len(one))]
        elif (
            how == 9
            and isinstance(one, list)
            and one[-1][0][:4] not in ("fina", "else", "def ", "clas")
        ):
            extra = (
                "else:"
                if one[0][0][:2] in ("if", "wh", "fo")
                else "case 3:"
                if one[0][0][:2] == "ma"
                else "finally:"
            )
            one.append([extra, block(random, 2)])
        else:
            where[at], where[to] = where[to], where[at]
    return whole


class Layout:
    """How a program is written: the same statement mostly in the same way, `flips` is how often not."""

    def __init__(self, random: Random) -> None:
        self.random, self.flips, self.loose, self.number = (
            random,
            0.0,
            random.choice([0, 0, 0.1, 0.4]),
            0,
        )
        self.shares = {
            "inline": random.choice([0, 0, 0.3, 1]),
            "semicolon": random.choice([0, 0, 0.3]),
            "comment": 0.1,
            "end": 0.05,
        }
        self.chosen: dict[tuple[str, str], bool] = {}

    def says(self, how: str, text: str) -> bool:
        """Whether this text is written in this way."""
        chosen = self.chosen.setdefault((how, text), self.random.random() < self.shares[how])
        return chosen != (self.random.random() < self.flips)

    def placed(self, text: str, indent: str) -> list[str]:
        """The lines of a statement or header, with what is in the file alone above and behind them."""
        found: list[str] = []
        inside, opened = "", 0
        for at, line in enumerate(text.split("\n")):
            found.append(IN_STRING + line if inside else indent + line + CONTINUED * (opened > 0))
            opened += sum((char in "([{") - (char in ")]}") for char in line) + line.endswith("\\")
            opened -= at > 0 and text.split("\n")[at - 1].endswith("\\")
            for quotes in re.findall(r"'''|\"\"\"", line):
                inside = "" if inside else quotes
            if not at and self.random.random() < self.loose:
                self.number += 1
                found.insert(0, LOOSE + self.random.choice(["", f"{indent}# loose {self.number}"]))
        if self.says("end", text) and "\n" not in text:
            found[-1] += f"  # at {text[:5]}"
        elif self.random.random() < self.loose and not inside and not found[-1].endswith("\\"):
            self.number += 1
            found[-1] += f"{LOOSE}  # loose {self.number}"
        return found

    def lines(self, body: list[Any], indent: str = "") -> list[str]:
        """The lines of a body."""
        out: list[str] = []
        for at, each in enumerate(body):
            if isinstance(each, str):
                joined = (
                    at > 0
                    and isinstance(body[at - 1], str)
                    and self.says("semicolon", each)
                    and "#" not in out[-1]
                )
                if joined and "\n" not in each + body[at - 1]:
                    out[-1] = f"{out[-1]}; {each}"
                else:
                    out += self.placed(each, indent)
                continue
            if self.says("comment", each[0][0]):
                out.append(f"{indent}# about {each[0][0].split()[0]}")
            deeper = indent
            for header, inner in each:
                flat = [part for part in inner if isinstance(part, str) and "\n" not in part]
                if (
                    len(flat) == len(inner) > 0
                    and "\n" not in header
                    and self.says("inline", header)
                ):
                    out.append(f"{deeper}{header} {'; '.join(flat)}")
                else:
                    out += [*self.placed(header, deeper), *self.lines(inner, deeper + "    ")]
                deeper = indent + "    " if each[0][0].startswith("match") else indent
        return out


def program(seed: int) -> Program:
    """The program of a seed."""
    random = Random(seed)
    kind = random.random()
    if kind < 0.07:
        return moved(random)
    if kind < 0.17:
        return below_headers(random)
    if kind < 0.27:
        return Program(*bindings.module(random), runs=True)
    layout, body = Layout(random), block(random)
    above, below = random.choice([[], ["x = 1"]]), random.choice([[], ["print(a, 'end')"]])
    name = random.choice(["f", "f", "f", "K.f", "<module>"])
    start = random.choice(["", "async "])

    def framed(inner: list[Any]) -> list[Any]:
        if name == "<module>":
            return [[[f"{start}def f(a, b, c):", inner]]]
        return inner

    before = layout.lines(framed(body))
    layout.flips, loose, layout.loose = random.choice([0, 0, 0.3]), layout.loose, 0
    after = layout.lines(
        framed(
            next((each for each in (changed(random, body) for _ in range(9)) if each != body), body)
        )
    )
    layout.loose = loose
    unit, newline = random.choice(["    ", "    ", "  ", "\t"]), random.choice(["\n", "\n", "\r\n"])
    depth = 0 if name == "<module>" else name.count(".") + 1

    def written(lines: Sequence[str], unit: str) -> str:
        body = [
            indented(line, unit, depth) for line in ([*above, *lines, *below] if depth else lines)
        ]
        head = [
            f"{unit * at}{each}"
            for at, each in enumerate(
                ["class K:"] * (depth - 1) + [f"{start}def f(a, b, c):"] * bool(depth)
            )
        ]
        return "".join(f"{line}\n" for line in [*head, *body])

    plain = [line.split(LOOSE)[0] for line in before if not line.startswith(LOOSE)]
    hunk: list[tuple[str, str]] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(
        None, plain, after, autojunk=False
    ).get_opcodes():
        same = tag == "equal"
        hunk += [(" " if same else "-", line) for line in plain[i:j]]
        hunk += [] if same else [("+", line) for line in after[k:m]]
    kept = kept_comments(before, hunk)
    hunks = (
        generalised.hunks(random, name, hunk)
        if random.random() < 0.6
        else [generalised.Text(name, "", hunk)]
    )
    other = random.choice(["    ", "    ", unit])
    shown = "--- p/m.py\n"
    forms = (
        generalised.forms(random, name, hunk, hunks[0])
        if len(hunks) == 1 and random.random() < 0.2
        else []
    )
    for each in forms or hunks:
        word = f"or {each.scope}" if each in forms[1:] else each.scope
        shown += f"@@ {word} @@{each.flags}\n" + "".join(
            f"{tag}{indented(line, other)}\n" for tag, line in each.lines
        )
    text = written(before, unit)
    made = exchange(random, text) if random.random() < 0.25 else None
    if made is not None:
        return made._replace(before=made.before.replace("\n", newline))
    text = text.replace("\n", newline)
    text = text.rstrip("\r\n") if random.random() < 0.1 else text
    return Program(text, shown, written(after, unit), kept)


def moved(random: Random) -> Program:
    """A list written one element a line, some with comments, of which elements change places, go or come."""
    elements = random.sample(
        ["a", "b.x", "max(c)", "'s'", "a + b", "-1", "[a, b]"], random.randint(2, 6)
    )
    behind = {
        each: f"  # loose {number}" for number, each in enumerate(elements) if random.random() < 0.6
    }
    after = [each for each in elements if random.random() < 0.9] or elements[:1]
    random.shuffle(after)
    after += random.choice([[], [], ["c"]])
    opened, closed = random.choice(["[]", "()", ["max(", ")"]])
    last = random.choice([",", ""])
    lines = [
        f"        {each}{',' if each is not elements[-1] else last}{behind.get(each, '')}\n"
        for each in elements
    ]
    one, other = (f"x = {opened}{', '.join(each)},{closed}" for each in (elements, after))
    old, new = one, other
    if random.random() < 0.5:  # elements as placeholders, some of them twice afterwards
        after += random.sample(after, random.randint(0, 1))
        names = {
            each: f"$E{number}" for number, each in enumerate(elements) if random.random() < 0.7
        }
        old, new = (
            f"x = {opened}{', '.join(names.get(part, part) for part in parts)},{closed}"
            for parts in (elements, after)
        )
        other = f"x = {opened}{', '.join(after)},{closed}"
    before = f"def f(a, b, c):\n    x = {opened}\n{''.join(lines)}    {closed}\n"
    if opened == "(" and last == "" and len(elements) == 1:
        before = before.replace(f"{elements[0]}", f"{elements[0]},", 1)
    # else either may have it
    kept = tuple(
        behind[each].strip() for each in after if each in behind and after.count(each) == 1
    )
    return Program(
        before, f"--- p/m.py\n@@ f @@\n-{old}\n+{new}\n", f"def f(a, b, c):\n    {other}\n", kept
    )


def below_headers(random: Random) -> Program:
    """A function whose headers change, with `...` for what is below them."""
    before, hunk, after = headers.hunk(random)
    texts = ["".join(f"    {line}\n" for line in lines) for lines in (before, after)]
    shown = "".join(f"{tag}{line}\n" for tag, line in hunk)
    return Program(
        f"def f(a, b, c):\n{texts[0]}",
        f"--- p/m.py\n@@ f @@\n{shown}",
        f"def f(a, b, c):\n{texts[1]}",
    )


def exchange(random: Random, text: str) -> Program | None:
    """The program with one of its expressions exchanged everywhere, None where that is not possible."""
    try:
        tree = normal(text)
    except SyntaxError:
        return None
    found = exchanged.exchange(random, tree)
    if found is None or "\n" in found[0] + found[1]:
        return None
    scope = "f" if not text.startswith("class") else "K.f"
    hunk = f"--- p/m.py\n@@ {scope} @@ count=all\n-{found[0]}\n+{found[1]}\n"
    return Program(text, hunk, found[2])


def indented(line: str, unit: str, depth: int = 0) -> str:
    """A line without its marks, at so many levels more, in another unit of indentation."""
    if line.startswith(IN_STRING):
        return line[1:]
    line = line.replace(LOOSE, "").replace(CONTINUED, "")
    level = (len(line) - len(line.lstrip(" "))) // 4
    return unit * (depth + level) + line[4 * level :] if line else ""


def kept_comments(before: Sequence[str], hunk: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The comments in the file alone that are between two kept lines of a hunk, or behind one."""
    signs = [tag for tag, _ in hunk if tag != "+"]
    found: list[str] = []
    row = 0
    for line in before:
        if line.startswith(LOOSE):
            if "#" in line and signs[max(0, row - 1) : row + 1] in ([" ", " "], [" "]):
                found.append(line[1:].strip())
        else:
            if LOOSE in line and signs[row] == " ":
                found.append(line.split(LOOSE)[1].strip())
            row += 1
    return tuple(found)


class _Normal(ast.NodeTransformer):
    """One form for what format rule 8 does not tell apart."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        values: list[ast.expr] = []
        for value in node.values:
            values += (
                value.values
                if isinstance(value, ast.BoolOp) and type(value.op) is type(node.op)
                else [value]
            )
        node.values = values
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.keywords.sort(key=lambda keyword: keyword.arg or "~")
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and node.end_lineno != node.lineno:
            first, *more = node.value.split("\n")
            node.value = "\n".join([first, dedent("\n".join(more))])
        return ast.Constant(node.value)


def normal(text: str) -> ast.Module:
    """The syntax tree of a text without what rule 8 does not look at."""
    tree: ast.Module = _Normal().visit(ast.parse(text))
    return tree


def meaning(text: str) -> str:
    """`normal` as text."""
    return ast.dump(normal(text))


def answer(made: Program) -> tuple[str, str]:
    """What the engine says of a program's hunks, and why; `WRONG` where what it does is not right."""
    data = made.before.encode()
    try:
        for text in (made.before, made.after):
            compile(text, "program", "exec", dont_inherit=True)
        expected = meaning(made.after)
        broken = [bindings.broken(text) for text in (made.before, made.after) if made.runs]
        if any(broken[:1]):
            return "no Python", "the program reads what is not bound"
    except SyntaxError as error:
        return "no Python", str(error)
    try:
        hunks = parse_spatch(made.spatch, "p.spatch")[1][0].hunks
        result = rewrite(data, hunks, {})
    except SitepatchError as error:
        return "refused", error.message
    problem = wrong(made, expected, data, hunks, result)
    if problem:
        return "WRONG", problem
    states = {each.state.value for each in result.answers}
    failed = [each for each in result.answers if each.state.failed]
    return (failed[0].state.value, failed[0].problem) if failed else ("+".join(sorted(states)), "")


def wrong(
    made: Program, expected: str, data: bytes, hunks: tuple[HunkText, ...], result: Rewrite
) -> str:
    """What is wrong with the result, "" for nothing."""
    states = [each.state for each in result.answers]
    gone = next(
        (
            each.problem
            for each in result.answers
            if each.problem.endswith("nothing binds it there any more")
        ),
        "",
    )
    name = gone.split("`")[1] if gone else ""
    if (
        gone
        and name not in lost_names(made.before, made.after)
        and not re.search(rf"\bdel\b.*\b{name}\b", made.after)
    ):
        return f"all names are bound: {gone}"
    if made.runs and result.splices and bindings.broken(made.after):
        return "a function reads what is not bound, and nothing says so"
    problem = result.answers[0].problem
    if (
        made.runs
        and ("binds" in problem or "is a local of" in problem)
        and not bindings.broken(made.after)
    ):
        return f"every name that is read is bound: {problem}"
    if apply_splices(data, result.splices) != result.data:
        return "the splices do not make the result"
    if not len(made.before) % 5 and [one.state for one in explain(data, hunks, {})] != states:
        return "explain has another state"
    there = any(
        each.state is State.UPSTREAM and not hunk.flags.when_present
        for each, hunk in zip(result.answers, hunks)
    )
    # a part that stands there already is the planner's conflict (rule 24)
    if not result.splices or there:
        return ""
    text = result.data.decode()
    try:
        if meaning(text) != expected:
            return f"another program:\n{text}"
    except SyntaxError as error:
        return f"{error}:\n{text}"
    lost = lost_names(made.before, text)
    if lost:
        return f"reads what nothing binds any more: {lost}:\n{text}"
    if "\r\n" in made.before and re.search(r"(?<!\r)\n", text):
        return f"a line break of another kind:\n{text!r}"
    loose = re.findall(r"# loose \d+", text)
    if len(loose) > len(set(loose)):
        return f"a comment is there twice:\n{text}"
    if [comment for comment in loose if comment in made.kept] != [*made.kept]:
        return f"a comment is not kept:\n{text}"
    if rewrite(result.data, hunks, {}).data != result.data:
        return f"a second application changes it:\n{text}"
    return ""


def main() -> int:
    """Try programs for some time; the exit code is 1 where one is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--programs", type=int, help="stop after so many, however long they take")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", type=int, help="the number of one program")
    parser.add_argument(
        "--refusals", action="store_true", help="print one program for each kind of refusal"
    )
    parser.add_argument("--drift", action="store_true", help="hunks on releases that moved on")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.drift:
        first = asked.seed * 10_000_000
        seeds = range(first, first + (asked.programs or 5_000))
        one = asked.only is not None
        return 1 if drift.try_hunks([asked.only] if one else seeds, show=one) else 0
    counts: Counter[str] = Counter()
    reasons: dict[str, tuple[int, int]] = {}
    begun, seed = (
        time.monotonic(),
        asked.only if asked.only is not None else asked.seed * 10_000_000,
    )
    while (
        sum(counts.values()) < asked.programs
        if asked.programs
        else time.monotonic() - begun < asked.seconds
    ):
        made = program(seed)
        said, why = answer(made)
        counts[said] += 1
        if said == "WRONG" or asked.only is not None:
            print(
                f"seed {seed}: {said}: {why}\n{made.before}\n{made.spatch}\nexpected:\n{made.after}",
                flush=True,
            )
        key = (
            f"{said}: "
            + re.sub(
                r"p.spatch:\d+: |`[^`]*`|\d+|\n.*", "_", why, flags=re.S if said == "refused" else 0
            )[:110]
        )
        reasons[key] = (reasons.get(key, (0, seed))[0] + 1, reasons.get(key, (0, seed))[1])
        seed += 1
        if asked.only is not None:
            break
    if asked.refusals:
        for key, (number, first) in sorted(reasons.items(), key=lambda item: -item[1][0]):
            print(f"{number:6} {key}  (first: {first})")
    print(
        f"{sum(counts.values())} programs, seed {asked.seed}: "
        + ", ".join(f"{number} {said}" for said, number in counts.most_common())
    )
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
