"""Random changes of what binds a name (`tools/programs.py`).

The module is run before and after, and Python says what breaks. A parameter, an import, an
assignment or a definition goes, comes, or has another name. Every statement runs, in order, so that
a change breaks a name exactly where a function of the finished file raises NameError.
"""

from __future__ import annotations

import difflib
from random import Random
from typing import Any, NamedTuple, Sequence

READS = [
    "{0}",
    "str({0})",
    "[v for v in (1, 2) if {0}]",
    "(lambda: {0})()",
    "(lambda v={0}: v)()",
    "f'{{{0}}}'",
    "({0}, 1)",
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
AUGMENTED = "n += 1"
LOCAL = [
    "import os",
    "n = 5",
    "from os import path",
    "m = n = 6",
    "import re as r",
    "class E:\n    pass",
    "def g(a=1):\n    return a",
    "(m := 10)",
    AUGMENTED,
    "x, *m = (1, 2)",
    "z = [os for os in (1, 2)]",
    "with open(path.devnull) as p:\n    pass",
    "n = 7\ndel n",
]
PARAMETERS = ["a=1, b=2", "a=1, *, b=2", "a=1, b: int = 2", "a=1, *b", "a=1, **b"]


class Function(NamedTuple):
    """A function or method: its qualified name, its indentation, its header and its statements."""

    scope: str
    indent: str
    header: str
    statements: list[str]

    @property
    def lines(self) -> list[str]:
        """Its lines, without its own indentation."""
        body = "\n".join(self.statements).split("\n")
        return [self.header, *(f"    {line}" for line in body)]


# modules --------------------------------------------------------------------------------------
def module(random: Random) -> tuple[str, str, str]:
    """A module, a .spatch of one hunk, and the module afterwards."""
    top = random.sample(MODULE, len(MODULE))
    functions = [_function(random, "f", "", ""), _function(random, "K.f", "    ", "self, ")]
    before = _text(top, functions)
    chosen = random.randrange(3)
    if chosen == 2:
        scope, old, new = _change_top(random, top)
    else:
        function = functions[chosen]
        functions[chosen] = _changed(random, function)
        scope, old, new = function.scope, function.lines, functions[chosen].lines
    return before, f"--- p/m.py\n@@ {scope} @@\n{_hunk(old, new)}", _text(top, functions)


def _function(random: Random, scope: str, indent: str, first: str) -> Function:
    """A function whose statements read names, and sometimes bind them."""
    names = ["a", "b", *OUTSIDE]
    statements = []
    for _ in range(random.randrange(1, 5)):
        form = random.choice(STATEMENTS)
        reading = form.format(random.choice(READS).format(random.choice(names)))
        statements.append(random.choice(LOCAL) if random.random() < 0.25 else reading)
    name = scope.rpartition(".")[2]
    header = f"def {name}({first}{random.choice(PARAMETERS)}):"
    return Function(scope, indent, header, statements)


def _text(top: Sequence[str], functions: Sequence[Function]) -> str:
    """The text of a module."""
    lines = "\n".join(top).split("\n")
    for function in functions:
        if function.indent:
            lines.append("class K:")
        lines += [f"{function.indent}{line}" for line in function.lines]
    return "\n".join(lines) + "\n"


def _changed(random: Random, function: Function) -> Function:
    """A function with a parameter gone or renamed, or a statement gone or inserted."""
    how = random.randrange(4)
    if how == 0:
        start, _, rest = function.header.partition("(")
        return function._replace(header=f"{start}({_other_parameters(random, rest[:-2])}):")
    statements = list(function.statements)
    if how == 1 and len(statements) > 1:
        del statements[random.randrange(len(statements))]
    else:
        has_own = any(" n " in f" {line}" for line in statements)
        at = random.randrange(len(statements) + 1)
        forms = [form for form in LOCAL if form != AUGMENTED or not has_own]
        statements.insert(at, random.choice(forms))
    return function._replace(statements=statements)


def _other_parameters(random: Random, parameters: str) -> str:
    """Parameters of which one is gone, or has another name."""
    *kept, _ = parameters.split(", ")
    without_first = parameters.replace("a=1, ", "").replace("*, b", "b")
    new = random.choice([", ".join(kept), parameters.replace("b", "bb"), without_first])
    return new.rstrip(", *") if new.endswith("*") else new


def _change_top(random: Random, top: list[str]) -> tuple[str, list[str], list[str]]:
    """Change a statement of the module in place; returns its scope, and its lines then and now."""
    at = random.randrange(len(top))
    old, name = top[at], random.choice(OUTSIDE)
    new = ""
    if random.random() >= 0.6:
        if f" {name}" in old:
            new = old.replace(f" {name}", f" {name * 2}", 1)
        elif old[1] in " :":
            new = f"q{old}"
    top[at : at + 1] = [new] if new else []
    scope = {"d": "g", "c": "E"}.get(old[0], "<module>")
    return scope, old.split("\n"), new.split("\n") if new else []


def _hunk(old: Sequence[str], new: Sequence[str]) -> str:
    text = ""
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        tag = " " if kind == "equal" else "-"
        text += "".join(f"{tag}{line}\n" for line in old[i:j])
        if kind != "equal":
            text += "".join(f"+{line}\n" for line in new[k:m])
    return text


# what Python says -----------------------------------------------------------------------------
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
