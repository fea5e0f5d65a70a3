"""Random hunks with `...` under several headers, as a line diff writes them (`tools/programs.py`).

Each header keeps its body. Bodies are written once each in the file, so that code that lands below
another header is another program. New headers are read nowhere else; where runs have names, bodies
change places, too.
"""

from __future__ import annotations

import difflib
from random import Random
from typing import Any, List, NamedTuple, Sequence, Tuple

OWNERS = ["if {0}:", "while {0}:", "for v in {0}:", "with {0}:", "try:"]
TESTS = ["a.t{0}", "b(c, {0})", "not a.n{0}", "c[{0}]"]
MORE = {
    "if": [[], ["else:"], ["elif {0}:", "else:"], ["elif {0}:"], ["elif {0}:", "elif {0}:"]],
    "while": [[], ["else:"]],
    "for": [[], ["else:"]],
    "try:": [
        ["finally:"],
        ["except ValueError:"],
        ["except ValueError:", "except KeyError:", "finally:"],
        ["except ValueError:", "else:"],
    ],
}
CODES = [
    "a.m({0})",
    "c = a.m({0})\nb({0})",
    "# why {0}\na.m({0})",
    "if c:\n    a.m({0})\nb({0}, 1)",
    "a.m({0})  # loose {0}",
]
Opcode = Tuple[str, int, int, int, int]
"""As `difflib.SequenceMatcher.get_opcodes` has it."""


class Clause(NamedTuple):
    """A header and what stands below it: the number of a body, statements, or nothing."""

    header: str
    body: Any


Tree = List[List[Clause]]


class Headers:
    """Statements with clauses, whose bodies have numbers."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.bodies = 0
        self.tests = 0

    def header(self, form: str) -> str:
        """A header that stands nowhere else, but for `else:` and the like."""
        self.tests += 1
        tests = [test.format(self.tests) for test in TESTS]
        return form.format(self.random.choice(tests))

    def clause(self, form: str) -> Clause:
        """A clause with a body of its own."""
        self.bodies += 1
        return Clause(self.header(form), self.bodies)

    def statement(self) -> list[Clause]:
        """A compound statement."""
        form = self.random.choice([*OWNERS, "if {0}:", "if {0}:"])
        kinds = MORE.get(form.split()[0])
        more = self.random.choice(kinds) if kinds else []
        whole = [self.clause(each) for each in (form, *more)]
        if self.random.random() < 0.3:
            at = self.random.randrange(len(whole))
            whole[at] = whole[at]._replace(body=[self.statement()])
        return whole

    def line(self, form: str) -> list[Clause]:
        """A statement of one line, which stands nowhere else."""
        return [Clause(form.format(self.tests), None)]

    def changed(self, tree: Tree, named: bool) -> Tree:
        """The statements with headers changed, around them, inside them, or gone.

        Where the runs are `named`, bodies change places instead of statements.
        """
        random = self.random
        out = [list(statement) for statement in tree]
        for _ in range(random.choice([1, 1, 2])):
            at = random.randrange(len(out))
            how = random.randrange(8)
            row = random.randrange(len(out[at]))
            if how < 2:
                out[at] = self._wrapped(out[at])
            elif how == 5:
                new = [Clause(self.header("if {0}:"), [self.line("b({0}, 1)")])]
                out.insert(at + random.randrange(2), new)
            elif how == 2 and isinstance(out[at][row].body, list):
                out[at : at + 1] = out[at][row].body
            elif how == 6 and len(out) > 1 and not named:
                out[at - 1], out[at] = out[at], out[at - 1]
            else:
                self._change_clause(out[at], row, how, named)
        return out

    def _wrapped(self, statement: list[Clause]) -> list[Clause]:
        """A header above a statement, perhaps with others around it."""
        above = [self.line("a = b({0})")] * self.random.randrange(2)
        around = [Clause(self.header(self.random.choice(OWNERS[:4])), [*above, statement])]
        if around[0].header.startswith("if") and self.random.random() < 0.5:
            around.append(Clause("else:", [self.line("c = b({0}, 0)")]))
        return around

    def _change_clause(self, clauses: list[Clause], row: int, how: int, named: bool) -> None:
        """Another header for a clause, one around its body, or the body of its neighbour."""
        clause = clauses[row]
        plain = ("else:", "try:", "finally:")
        if how == 3 and clause.header not in plain and "except" not in clause.header:
            word = clause.header.split()[0]
            form = "for v in {0}:" if word == "for" else f"{word} {{0}}:"
            clauses[row] = clause._replace(header=self.header(form))
        elif how == 4:
            inner = [Clause(self.header("if {0}:"), clause.body)]
            clauses[row] = clause._replace(body=[inner])
        elif how == 7 and named and len(clauses) > 1:
            other = clauses[row - 1]
            clauses[row] = clause._replace(body=other.body)
            clauses[row - 1] = other._replace(body=clause.body)


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


# hunks ----------------------------------------------------------------------------------------
def hunk(random: Random) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """The lines of a body, of a hunk for it, and of the body afterwards."""
    made = Headers(random)
    named = random.random() < 0.2
    tree = [made.statement() for _ in range(random.choice([1, 1, 2]))]
    after = made.changed(tree, named)
    codes = [random.choice(CODES).format(number) for number in range(made.bodies + 1)]
    shown = _shown(random, codes, named)
    old, new = lines(tree, shown), lines(after, shown)
    opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    marked = []
    for number, text in enumerate(shown):
        marked.append("\n".join(f"{line} #{number}" for line in text.split("\n")))
    if _keeps_another_body(opcodes, lines(tree, marked), lines(after, marked)):
        return hunk(random)

    out: list[tuple[str, str]] = []
    for kind, i, j, k, m in opcodes:
        if kind == "equal":
            out += [(" ", line) for line in old[i:j]]
        else:
            out += [("-", line) for line in old[i:j]]
            out += [("+", line) for line in new[k:m]]
    return lines(tree, codes), out, lines(after, codes)


def _shown(random: Random, codes: Sequence[str], named: bool) -> list[str]:
    """What a hunk shows of each body: its code, its first line, or a run alone."""
    some = random.random()
    shown = []
    for number, code in enumerate(codes):
        run = f"...R{number}" if named else "..."
        has_comment = "#" in code
        if some < 0.3 and not has_comment and random.random() < 0.4:
            shown.append(code)
        elif some > 0.8 and not has_comment and not code.startswith("i"):
            first = code.split("\n")[0]
            shown.append(f"{first}\n{run}")
        else:
            shown.append(run)
    return shown


def _keeps_another_body(opcodes: Sequence[Opcode], old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether a line diff writes a body below a header that replaces its own.

    It counts where the change has another body there: such a hunk says another thing than the
    change. The lines have the numbers of their bodies.
    """
    for kind, i, _, k, _ in opcodes:
        if kind != "equal" or not i or not k:
            continue
        is_body = "#" in old[i] and old[i] != new[k]
        above, new_above = old[i - 1], new[k - 1]
        if is_body and "#" not in above + new_above and above != new_above:
            return True
    return False
