"""Random programs, changed at random, each change as a hunk: what the engine makes of it is what the plain text says.

    python -m tests.programs [--seconds 60] [--seed 7]

A hunk without placeholders says the same as a diff: where every line of its before side stands in the file, the file with those
lines replaced is the expected result, and syntax trees are compared. The engine may refuse a hunk, or call it a conflict; what
it applies has to be right. One-line suites, statements beside a `;`, clauses, and comments are in the programs.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import time
from collections import Counter
from random import Random
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from patcher.engine.engine import rewrite
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import SitepatchError

NAMES = ["a", "b", "c"]
HEADERS = ["if {}:", "while {}:", "for c in {}:", "with {}:"]


class Program(NamedTuple):
    """A function before and after, and the .spatch that leads from the one to the other."""

    before: str
    spatch: str
    after: str


def expression(random: Random, depth: int = 0) -> str:
    """An expression of names that are bound, or built in."""
    if depth == 2 or random.random() < 0.4:
        return random.choice([*NAMES, "0", "1", "2"])
    parts = [expression(random, depth + 1) for _ in range(random.randrange(1, 4))]
    first, last, joined = parts[0], parts[-1], ", ".join(parts)
    forms = [
        "max({2})",
        "a.m({2})",
        "b.m.n()",
        "{0} + {1}",
        "{0} and {1}",
        "{0} in {1}",
        "[{2}]",
        "a[{0}]",
        "min({0}, key={1})",
        "({0}, {1})",
    ]
    return random.choice(forms).format(first, last, joined)


def simple(random: Random) -> str:
    """A statement that is one line."""
    forms = ["a = {}", "b.x = {}", "c += {}", "return {}", "assert {}", "pass", "print({})", "max({})", "a.m({})"]
    return random.choice(forms).format(expression(random))


def statement(random: Random, depth: int = 0) -> Any:
    """A text, or of a compound statement its clauses: [[header, body], ...]."""
    if depth > 1 or random.random() < 0.6:
        return simple(random)
    kind = random.randrange(6)
    if kind == 4:
        last = [["finally:", block(random, depth + 1)]] if random.random() < 0.3 else []
        return [["try:", block(random, depth + 1)], ["except ValueError:", block(random, depth + 1)], *last]
    if kind == 5:
        return [[f"def g{random.randrange(3)}(a, b=1):", block(random, depth + 1)]]
    last = [["else:", block(random, depth + 1)]] if kind == 0 and random.random() < 0.5 else []
    return [[HEADERS[kind].format(expression(random)), block(random, depth + 1)], *last]


def block(random: Random, depth: int = 0) -> List[Any]:
    """The statements of a body."""
    return [statement(random, depth) for _ in range(random.choice([1, 1, 2, 3]))]


def bodies(body: List[Any]) -> Iterator[List[Any]]:
    """A body and those inside it."""
    yield body
    for clauses in body:
        for _, inner in clauses if isinstance(clauses, list) else ():
            yield from bodies(inner)


def changed(random: Random, body: List[Any]) -> List[Any]:
    """A copy with a statement or two inserted, deleted, replaced, wrapped, unwrapped, or moved."""
    whole = copy.deepcopy(body)
    for _ in range(random.choice([1, 1, 1, 2])):
        where = random.choice(list(bodies(whole)))
        at, to, how = random.randrange(len(where)), random.randrange(len(where)), random.randrange(6)
        if how == 0:
            where.insert(at, statement(random, 1))
        elif how == 1 and len(where) > 1:
            del where[at]
        elif how == 2:
            where[at] = statement(random, 1)
        elif how == 3:
            where[at] = [[random.choice(HEADERS).format(expression(random)), [where[at]]]]
        elif how == 4 and isinstance(where[at], list):
            where[at : at + 1] = where[at][0][1]
        else:
            where[at], where[to] = where[to], where[at]
    return whole


class Layout:
    """How a program is written: the same statement mostly in the same way, `flips` is how often not."""

    def __init__(self, random: Random) -> None:
        self.random, self.flips = random, 0.0
        self.shares = {"inline": random.choice([0, 0, 0.3, 1]), "semicolon": random.choice([0, 0, 0.3]), "comment": 0.1}
        self.chosen: Dict[Tuple[str, str], bool] = {}

    def says(self, how: str, text: str) -> bool:
        """Whether this text is written in this way."""
        chosen = self.chosen.setdefault((how, text), self.random.random() < self.shares[how])
        return chosen != (self.random.random() < self.flips)

    def lines(self, body: List[Any], indent: str = "") -> List[str]:
        """The lines of a body."""
        out: List[str] = []
        for at, each in enumerate(body):
            if isinstance(each, str):
                joined = at > 0 and isinstance(body[at - 1], str) and self.says("semicolon", each)
                out[-1:] = [f"{out[-1]}; {each}"] if joined else [*out[-1:], indent + each]
                continue
            if self.says("comment", each[0][0]):
                out.append(f"{indent}# about {each[0][0].split()[0]}")
            for header, inner in each:
                if all(isinstance(part, str) for part in inner) and self.says("inline", header):
                    out.append(f"{indent}{header} {'; '.join(inner)}")
                else:
                    out += [indent + header, *self.lines(inner, indent + "    ")]
        return out


def program(seed: int) -> Program:
    """The program of a seed."""
    random = Random(seed)
    layout, body = Layout(random), block(random)
    before = layout.lines(body)
    layout.flips = random.choice([0, 0, 0.3])
    after = layout.lines(changed(random, body))
    hunk: List[str] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        kept = tag == "equal"
        hunk += [(" " if kept else "-") + line for line in before[i:j]]
        hunk += [] if kept else ["+" + line for line in after[k:m]]
    above, below = random.choice([[], ["x = 1"]]), random.choice([[], ["print(a, 'end')"]])

    def function(lines: List[str]) -> str:
        return "def f(a, b, c):\n" + "".join(f"    {line}\n" for line in [*above, *lines, *below])

    return Program(function(before), "--- p/m.py\n@@ f @@\n" + "\n".join(hunk) + "\n", function(after))


def answer(made: Program) -> str:
    """What the engine says of a program's hunk; `WRONG` where it applies it and makes something else."""
    try:
        ast.parse(made.before)
        expected = ast.dump(ast.parse(made.after))
        result = rewrite(made.before.encode(), parse_spatch(made.spatch, "p.spatch")[1][0].hunks, {})
    except SyntaxError:
        return "no Python"
    except SitepatchError:
        return "refused"
    state = result.answers[0].state.value
    return "WRONG" if state == "applicable" and ast.dump(ast.parse(result.data)) != expected else state


def main() -> int:
    """Try programs for some time; the exit code is 1 where one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    begun, seed = time.monotonic(), asked.seed * 10_000_000
    while time.monotonic() - begun < asked.seconds:
        made = program(seed)
        said = answer(made)
        counts[said] += 1
        if said == "WRONG":
            print(f"seed {seed}\n{made.before}\n{made.spatch}\nexpected:\n{made.after}")
        seed += 1
    print(f"{sum(counts.values())} programs: " + ", ".join(f"{number} {said}" for said, number in counts.most_common()))
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
