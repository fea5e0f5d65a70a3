"""Random programs as trees of statements, and random changes of them (`tools/programs.py`).

A body is a list of statements: a text, or of a compound statement its clauses,
`[[header, body], ...]`. The order in which the random numbers are drawn decides the program of a
seed.
"""

from __future__ import annotations

import copy
import re
import sys
from random import Random
from typing import Any, Iterator, List

Body = List[Any]

NAMES = ["a", "b", "c"]
NEW = sys.version_info >= (3, 12)  # type parameters
# Forms, parted by ¦ or lines; ⏎ is a line break. {0} and {2} are expressions, {1} is one or more,
# with commas between them.
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


# expressions ----------------------------------------------------------------------------------
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


# statements -----------------------------------------------------------------------------------
BRANCHES = [[], [], ["else:"], ["elif {0}:", "else:"], ["elif {0}:"]]
ENDS = [[], [], ["else:"], ["finally:"], ["else:", "finally:"]]
DOCSTRINGS = ['"""Doc."""', "'''Doc\n  more\n'''", "'doc'"]


def simple(random: Random) -> str:
    """A statement without a block."""
    return filled(random, pick(random, SIMPLE), 0)


def block(random: Random, depth: int = 0) -> Body:
    """The statements of a body."""
    return [statement(random, depth) for _ in range(random.choice([1, 1, 2, 3]))]


def statement(random: Random, depth: int = 0) -> Any:
    """A statement, in a body at that depth."""
    if depth > 1 or random.random() < 0.6:
        return simple(random)
    kind = random.randrange(8)
    branches = random.choice(BRANCHES)
    if kind < 2:
        return _clauses(random, ["if {0}:", *branches], depth)
    if kind == 2:
        return _clauses(random, ["try:", *_handlers(random)], depth)
    if kind == 3:
        return [_definition(random, depth)]
    if kind == 4 and depth == 0:
        return _match(random)
    header = _clause(random, pick(random, HEADERS), depth)
    has_else = "with" not in header[0] and random.random() < 0.3
    return [header, _clause(random, "else:", depth)] if has_else else [header]


def _clause(random: Random, header: str, depth: int) -> list[Any]:
    return [filled(random, header, 0), block(random, depth + 1)]


def _clauses(random: Random, headers: list[str], depth: int) -> Body:
    return [_clause(random, header, depth) for header in headers]


def _handlers(random: Random) -> list[str]:
    """What follows a `try`."""
    star = random.choice(["except", "except", "except*"])
    one = [f"{star} ValueError:"]
    two = [f"{star} (TypeError, ValueError) as e:", f"{star} KeyError:"]
    return [*random.choice([one, two]), *random.choice(ENDS)]


def _definition(random: Random, depth: int) -> list[Any]:
    header, body = _clause(random, pick(random, DEFINED + TYPED * NEW), depth)
    if random.random() < 0.3:
        body.insert(0, random.choice(DOCSTRINGS))
    return [header, body]


def _match(random: Random) -> Body:
    cases = []
    for _ in range(random.randrange(1, 4)):
        header = f"case {filled(random, pick(random, PATTERNS), 1)}:"
        cases.append([header, block(random, 2)])
    return [["match a:", []], *cases]


# changes --------------------------------------------------------------------------------------
def changed(random: Random, body: Body) -> Body:
    """A copy with a statement or two changed.

    They are inserted, deleted, replaced, wrapped, unwrapped, moved, or changed in a part.
    """
    whole = copy.deepcopy(body)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        where = random.choice(list(_bodies(whole)))
        at, to = random.randrange(len(where)), random.randrange(len(where))
        how = random.randrange(11)
        if not _change_list(random, where, at, how) and not _change_part(random, where, at, how):
            where[at], where[to] = where[to], where[at]
    return whole


def _bodies(body: Body) -> Iterator[Body]:
    """A body and those inside it."""
    yield body
    for clauses in body:
        if isinstance(clauses, list):
            for _, inner in clauses:
                if inner:
                    yield from _bodies(inner)


def _change_list(random: Random, where: Body, at: int, how: int) -> bool:
    """Insert, delete, replace, wrap or unwrap a statement; returns whether that was done."""
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
    else:
        return False
    return True


def _change_part(random: Random, where: Body, at: int, how: int) -> bool:
    """Change a word of a statement, or one of its clauses; returns whether that was done."""
    one = where[at]
    if how < 8 and isinstance(one, str):
        where[at] = _inner_change(random, one)
    elif how < 8:
        clause = random.choice(one)
        if clause[0] not in ("try:", "else:", "finally:"):
            clause[0] = _inner_change(random, clause[0])
    elif how == 8 and isinstance(one, list) and len(one) > 1:
        del one[random.randrange(1, len(one))]
    elif how == 9 and isinstance(one, list) and _takes_clause(one):
        one.append([_further_header(one[0][0]), block(random, 2)])
    else:
        return False
    return True


def _takes_clause(clauses: Body) -> bool:
    """Whether a statement may have another clause at its end."""
    return clauses[-1][0][:4] not in ("fina", "else", "def ", "clas")


def _further_header(first: str) -> str:
    """The header of another clause of a statement."""
    if first.startswith(("if", "wh", "fo")):
        return "else:"
    return "case 3:" if first.startswith("ma") else "finally:"


def _inner_change(random: Random, text: str) -> str:
    """A text with one of its words or brackets exchanged."""
    words = list(re.finditer(r"\b[abc]\b(?!\w*['\"])|\b[0-3]\b", text))
    if not words:
        return simple(random)
    word = random.choice(words)
    new = expression(random, random.choice([1, 1, 2]))
    instead = random.choice([new, f"{word.group()}, {new}", f"max({word.group()})"])
    return text[: word.start()] + instead + text[word.end() :]
