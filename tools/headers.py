"""Random hunks with `...` under several headers, as a line diff writes them (`tools/programs.py`): each header keeps its body.

Bodies are written once each in the file, so that code that lands below another header is another program. New headers are
read nowhere else; where runs have names, bodies change places too.
"""

from __future__ import annotations

import difflib
from random import Random
from typing import List, NamedTuple, Sequence

OWNERS = ["if {0}:", "while {0}:", "for v in {0}:", "with {0}:", "try:"]
MORE = {
    "i": [[], ["else:"], ["elif {0}:", "else:"], ["elif {0}:"], ["elif {0}:", "elif {0}:"]],
    "w": [[], ["else:"]],
    "f": [[], ["else:"]],
    "t": [
        ["finally:"],
        ["except ValueError:"],
        ["except ValueError:", "except KeyError:", "finally:"],
        ["except ValueError:", "else:"],
    ],
}


class Clause(NamedTuple):
    """A header and what stands below it: the number of a body, or statements."""

    header: str
    body: object


Tree = List[List[Clause]]


class Headers:
    """Statements with clauses, whose bodies have numbers."""

    def __init__(self, random: Random) -> None:
        self.random, self.bodies, self.tests = random, 0, 0

    def header(self, form: str) -> str:
        """A header that stands nowhere else, but for `else:` and the like."""
        self.tests += 1
        return form.format(
            self.random.choice(
                [
                    f"a.t{self.tests}",
                    f"b(c, {self.tests})",
                    f"not a.n{self.tests}",
                    f"c[{self.tests}]",
                ]
            )
        )

    def clause(self, form: str) -> Clause:
        """A clause with a body of its own."""
        self.bodies += 1
        return Clause(self.header(form), self.bodies)

    def statement(self) -> list[Clause]:
        """A compound statement."""
        form = self.random.choice([*OWNERS, "if {0}:", "if {0}:"])
        more = (
            self.random.choice(MORE["i" if form[0] == "i" else "f" if form[0] == "f" else form[0]])
            if form[0] != "w" or form[1] == "h"
            else []
        )
        whole = [self.clause(form), *map(self.clause, more)]
        if self.random.random() < 0.3:
            at = self.random.randrange(len(whole))
            whole[at] = whole[at]._replace(body=[self.statement()])
        return whole

    def changed(self, tree: Tree, named: bool) -> Tree:
        """The statements with headers changed, around them, inside them, or gone."""
        random, out = self.random, [list(statement) for statement in tree]
        for _ in range(random.choice([1, 1, 2])):
            at = random.randrange(len(out))
            chosen, how = out[at], random.randrange(8)
            row = random.randrange(len(chosen))
            clause = chosen[row]
            if how < 2:
                wrapped: Tree = [chosen]
                above = [[Clause(f"a = b({self.tests})", None)]] * random.randrange(2)
                out[at] = [Clause(self.header(random.choice(OWNERS[:4])), [*above, *wrapped])]
                if out[at][0].header[:2] == "if" and random.random() < 0.5:
                    out[at].append(Clause("else:", [[Clause(f"c = b({self.tests}, 0)", None)]]))
            elif how == 2 and isinstance(clause.body, list):
                out[at : at + 1] = clause.body
            elif (
                how == 3
                and clause.header not in ("else:", "try:", "finally:")
                and "except" not in clause.header
            ):
                chosen[row] = clause._replace(
                    header=self.header(
                        f"{clause.header.split()[0]} {{0}}:".replace("for {0}", "for v in {0}")
                    )
                )
            elif how == 4:
                chosen[row] = clause._replace(body=[[Clause(self.header("if {0}:"), clause.body)]])
            elif how == 5:
                new = [Clause(self.header("if {0}:"), [[Clause(f"b({self.tests}, 1)", None)]])]
                out.insert(at + random.randrange(2), new)
            elif how == 6 and len(out) > 1 and not named:
                out[at - 1], out[at] = out[at], out[at - 1]
            elif how == 7 and named and len(chosen) > 1:
                chosen[row], chosen[row - 1] = (
                    clause._replace(body=chosen[row - 1].body),
                    chosen[row - 1]._replace(body=clause.body),
                )
        return out


def lines(tree: Tree, shown: Sequence[str], indent: str = "") -> list[str]:
    """The lines of statements, with what is shown of each body."""
    out: list[str] = []
    for statement in tree:
        for clause in statement:
            out.append(indent + clause.header)
            if isinstance(clause.body, int):
                out += [f"{indent}    {line}" for line in shown[clause.body].split("\n")]
            elif isinstance(clause.body, list):
                out += lines(clause.body, shown, indent + "    ")
    return out


def hunk(random: Random) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """The lines of a body, of a hunk for it, and of the body afterwards."""
    made, named = Headers(random), random.random() < 0.2
    tree = [made.statement() for _ in range(random.choice([1, 1, 2]))]
    after = made.changed(tree, named)
    codes = [
        random.choice(
            [
                "a.m({0})",
                "c = a.m({0})\nb({0})",
                "# why {0}\na.m({0})",
                "if c:\n    a.m({0})\nb({0}, 1)",
                "a.m({0})  # loose {0}",
            ]
        ).format(number)
        for number in range(made.bodies + 1)
    ]
    runs = [f"...R{number}" if named else "..." for number in range(made.bodies + 1)]
    some = random.random()
    shown = [
        code
        if some < 0.3 and "#" not in code and random.random() < 0.4
        else f"{code.split(chr(10))[0]}\n{run}"
        if some > 0.8 and code[0] not in "#i" and "#" not in code
        else run
        for code, run in zip(codes, runs)
    ]
    old, new = lines(tree, shown), lines(after, shown)
    opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    marked = [
        "\n".join(f"{line} #{number}" for line in text.split("\n"))
        for number, text in enumerate(shown)
    ]
    if _keeps_another_body(opcodes, lines(tree, marked), lines(after, marked)):
        return hunk(random)
    out: list[tuple[str, str]] = []
    for tag, i, j, k, m in opcodes:
        out += [(" " if tag == "equal" else "-", line) for line in old[i:j]]
        out += [] if tag == "equal" else [("+", line) for line in new[k:m]]
    return lines(tree, codes), out, lines(after, codes)


def _keeps_another_body(
    opcodes: Sequence[tuple[str, int, int, int, int]], old: Sequence[str], new: Sequence[str]
) -> bool:
    """Whether a line diff writes a body below the header that replaces its own, where the change has another body there.

    The lines have the numbers of their bodies. Such a hunk says another thing than the change.
    """
    starts = [(i, k) for tag, i, _, k, _ in opcodes if tag == "equal" and i and k]
    return any(
        "#" in old[i]
        and old[i] != new[k]
        and "#" not in old[i - 1] + new[k - 1]
        and old[i - 1] != new[k - 1]
        for i, k in starts
    )
