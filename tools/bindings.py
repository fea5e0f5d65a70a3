"""Random changes of what binds a name (`tools/programs.py`): the module is run before and after, and Python says what breaks.

A parameter, an import, an assignment or a definition goes, comes, or has another name. Every statement runs, in order, so that
a change breaks a name exactly where a function of the finished file raises NameError.
"""

from __future__ import annotations

import difflib
from random import Random
from typing import Any, List, Tuple

READS = [
    "{0}",
    "str({0})",
    "[v for v in (1, 2) if {0}]",
    "(lambda: {0})()",
    "(lambda v={0}: v)()",
    "f'{{{0}}}'",
    "({0}, 1)",
]
READS += [
    "{{v: {0} for v in (1, 2)}}",
    "max([1], key=lambda v: len(str({0})))",
    "sum(1 for v in (1, 2) for w in str({0}))",
]
STATEMENTS = [
    "print({0})",
    "x = {0}",
    "def h():\n    return {0}\nh()",
    "if {0}:\n    pass",
    "for v in str({0}):\n    pass",
]
MODULE = [
    "import os",
    "import re as r",
    "from os import path",
    "n = 1",
    "m = 2",
    "p: int = 3",
    "def g(a=0):\n    return a",
    "class E:\n    n = 4",
]
OUTSIDE = ["os", "r", "path", "n", "m", "p", "g", "E"]
LOCAL = [
    "import os",
    "n = 5",
    "from os import path",
    "m = n = 6",
    "import re as r",
    "class E:\n    pass",
]
LOCAL += [
    "def g(a=1):\n    return a",
    "(m := 10)",
    "n += 1",
    "x, *m = (1, 2)",
    "z = [os for os in (1, 2)]",
    "with open(path.devnull) as p:\n    pass",
    "n = 7\ndel n",
]
PARAMETERS = ["a=1, b=2", "a=1, *, b=2", "a=1, b: int = 2", "a=1, *b", "a=1, **b"]
# the qualified name, the indentation, the header and the statements
Function = Tuple[str, str, List[str]]


def function(random: Random, name: str, first: str) -> list[str]:
    """The header of a function and its statements."""
    names = ["a", "b", *OUTSIDE]
    statements = []
    for _ in range(random.randrange(1, 5)):
        reading = random.choice(STATEMENTS).format(
            random.choice(READS).format(random.choice(names))
        )
        statements.append(random.choice(LOCAL) if random.random() < 0.25 else reading)
    return [f"def {name}({first}{random.choice(PARAMETERS)}):", *statements]


def lines(function: list[str], indent: str = "") -> list[str]:
    """The lines of a function."""
    body = "\n".join(function[1:]).split("\n")
    return [f"{indent}{function[0]}", *(f"{indent}    {line}" for line in body)]


def whole(top: list[str], functions: list[Function]) -> str:
    """The text of a module."""
    rows = "\n".join(top).split("\n")
    for _, indent, parts in functions:
        rows += ["class K:"] * bool(indent) + lines(parts, indent)
    return "\n".join(rows) + "\n"


def change(random: Random, statements: list[str], others: int) -> list[str]:
    """A function with a parameter gone or renamed, or a statement gone or inserted."""
    how, out = random.randrange(4), [*statements]
    if how == 0:
        parameters = out[0].partition("(")[2][:-2]
        *kept, _ = parameters.split(", ")
        new = random.choice(
            [
                ", ".join(kept),
                parameters.replace("b", "bb"),
                parameters.replace("a=1, ", "").replace("*, b", "b"),
            ]
        )
        out[0] = f"{out[0].partition('(')[0]}({new.rstrip(', *') if new.endswith('*') else new}):"
    elif how == 1 and len(out) > 2:
        del out[random.randrange(1, len(out))]
    else:
        own = any(" n " in f" {line}" for line in out[1:])
        out.insert(
            random.randrange(1, len(out) + 1),
            random.choice([form for form in LOCAL if form != "n += 1" or not own]),
        )
    return out


def module(random: Random) -> tuple[str, str, str]:
    """A module, a .spatch of one hunk, and the module afterwards."""
    top = random.sample(MODULE, len(MODULE))
    functions: list[Function] = [
        ("f", "", function(random, "f", "")),
        ("K.f", "    ", function(random, "f", "self, ")),
    ]
    before, chosen = whole(top, functions), random.randrange(3)
    if chosen == 2:
        at = random.randrange(len(top))
        old, name = top[at], random.choice(OUTSIDE)
        new = (
            ""
            if random.random() < 0.6
            else old.replace(f" {name}", f" {name * 2}", 1)
            if f" {name}" in old
            else f"q{old}" * (old[1] in " :")
        )
        scope = {"d": "g", "c": "E"}.get(old[0], "<module>")
        top[at : at + 1] = [new] if new else []
        rows, after = (old.split("\n"), new.split("\n") if new else []), whole(top, functions)
    else:
        scope, indent, statements = functions[chosen]
        new_statements = change(random, statements, chosen)
        functions[chosen] = (scope, indent, new_statements)
        rows, after = (lines(statements), lines(new_statements)), whole(top, functions)
    hunk = ""
    for tag, i, j, k, m in difflib.SequenceMatcher(None, *rows, autojunk=False).get_opcodes():
        hunk += "".join(f"{' ' if tag == 'equal' else '-'}{line}\n" for line in rows[0][i:j])
        hunk += "".join(f"+{line}\n" for line in rows[1][k:m]) if tag != "equal" else ""
    return before, f"--- p/m.py\n@@ {scope} @@\n{hunk}", after


def broken(text: str) -> bool:
    """Whether a function of a module reads a name that is not bound.

    Raises:
        SyntaxError: the module cannot be run at all.
    """
    names: dict[str, Any] = {"print": str, "__name__": "m"}
    try:
        exec(compile(text, "program", "exec", dont_inherit=True), names)  # our own text
    except (ImportError, NameError) as error:
        raise SyntaxError(str(error)) from error
    for call in (names["f"], names["K"]().f):
        try:
            call()
        except NameError:
            return True
        except (ImportError, TypeError) as error:
            raise SyntaxError(str(error)) from error
    return False
