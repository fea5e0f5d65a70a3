"""Random programs, changed at random, each change as hunks.

    python -m tools.programs [--seconds 60] [--programs N] [--seed 7] [--only N] [--refusals]
    python -m tools.programs --drift [--programs 5000] [--seed 7] [--only N]

What the engine makes of a change has to be what the plain text says. A hunk without placeholders
says the same as a diff: where every line of its before side stands in the file, the file with those
lines replaced is the expected result, and syntax trees are compared. A hunk with placeholders for
what it does not change, with less context, in parts, in several forms or with flags says the same,
too (`tools/generalised.py`). The engine may refuse a hunk, or call it a conflict; what it applies
has to be right, a second application changes nothing, comments of lines that the hunk keeps are
there once and in order, line breaks stay, and `explain` has the same states. No name is read that
nothing binds any more. Some programs are for one thing: elements that move (`moved`), `...` under
several headers (`tools/headers.py`), and what binds a name that is read (`tools/bindings.py`).
With --drift hunks are tried on other releases (`tools/drift.py`).
"""

from __future__ import annotations

import argparse
import ast
import difflib
import re
import time
import warnings
from collections import Counter
from random import Random
from textwrap import dedent
from typing import Any, Iterator, NamedTuple, Sequence

from patcher.engine.engine import rewrite
from patcher.engine.explain import explain
from patcher.engine.spatch.hunk import parse_spatch
from patcher.errors import SitepatchError
from patcher.model import HunkText, Rewrite, State, apply_splices
from tests.names import lost_names
from tools import bindings, drift, exchanged, generalised, headers
from tools.grammar import block, changed
from tools.layout import LOOSE, Layout, indented, kept_comments

FILE = "--- p/m.py\n"
UNITS = ["    ", "    ", "  ", "\t"]
ELEMENTS = ["a", "b.x", "max(c)", "'s'", "a + b", "-1", "[a, b]"]
WRONG = "WRONG"


class Program(NamedTuple):
    """A file before and after, and the .spatch that leads from the one to the other.

    `kept` are comments that stay; `runs` says that its functions can be called to see whether they
    read what is not bound.
    """

    before: str
    spatch: str
    after: str
    kept: tuple[str, ...] = ()
    runs: bool = False


# programs -------------------------------------------------------------------------------------
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
    return general(random)


class Frame:
    """What stands around the body that changes: a function, perhaps of a class."""

    def __init__(self, random: Random) -> None:
        self.above = random.choice([[], ["x = 1"]])
        self.below = random.choice([[], ["print(a, 'end')"]])
        self.name = random.choice(["f", "f", "f", "K.f", "<module>"])
        self.header = f"{random.choice(['', 'async '])}def f(a, b, c):"

    @property
    def depth(self) -> int:
        """How deep the body is; of `<module>` the function is a part of what changes."""
        return 0 if self.name == "<module>" else self.name.count(".") + 1

    def framed(self, body: list[Any]) -> list[Any]:
        """The statements that a hunk may have lines of."""
        return [[[self.header, body]]] if self.name == "<module>" else body

    def written(self, lines: Sequence[str], unit: str) -> str:
        """The text of the file with these lines in it."""
        text = ""
        if self.depth == 2:
            text += "class K:\n"
        if self.depth:
            text += f"{unit * (self.depth - 1)}{self.header}\n"
            lines = [*self.above, *lines, *self.below]
        for line in lines:
            text += f"{indented(line, unit, self.depth)}\n"
        return text


def general(random: Random) -> Program:
    """A function with any statements, changed in any way."""
    layout, body = Layout(random), block(random)
    frame = Frame(random)
    before = layout.lines(frame.framed(body))
    loose = layout.loose
    layout.flips, layout.loose = random.choice([0, 0, 0.3]), 0
    after = layout.lines(frame.framed(_other_body(random, body)))
    layout.loose = loose
    unit = random.choice(UNITS)
    newline = random.choice(["\n", "\n", "\r\n"])

    plain = [line.split(LOOSE)[0] for line in before if not line.startswith(LOOSE)]
    hunk = line_hunk(plain, after)
    kept = kept_comments(before, hunk)
    shown = _spatch(random, frame.name, hunk, unit)
    text = frame.written(before, unit)
    other = exchange(random, text) if random.random() < 0.25 else None
    if other is not None:
        return other._replace(before=other.before.replace("\n", newline))
    text = text.replace("\n", newline)
    if random.random() < 0.1:
        text = text.rstrip("\r\n")
    return Program(text, shown, frame.written(after, unit), kept)


def _other_body(random: Random, body: list[Any]) -> list[Any]:
    """A body that is changed, where a few attempts make one that is another."""
    for _ in range(9):
        other = changed(random, body)
        if other != body:
            return other
    return body


def line_hunk(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, str]]:
    """The lines of a hunk with all of a text, each with its tag."""
    hunk: list[tuple[str, str]] = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            hunk += [(" ", line) for line in old[i:j]]
        else:
            hunk += [("-", line) for line in old[i:j]]
            hunk += [("+", line) for line in new[k:m]]
    return hunk


def _spatch(random: Random, scope: str, hunk: list[tuple[str, str]], unit: str) -> str:
    """A .spatch for a hunk: the hunk itself, more general ones, or one in several forms."""
    hunks = [generalised.Text(scope, "", hunk)]
    if random.random() < 0.6:
        hunks = generalised.hunks(random, scope, hunk)
    other_unit = random.choice(["    ", "    ", unit])
    forms: list[generalised.Text] = []
    if len(hunks) == 1 and random.random() < 0.2:
        forms = generalised.forms(random, scope, hunk, hunks[0])
    text = FILE
    for each in forms or hunks:
        word = f"or {each.scope}" if each in forms[1:] else each.scope
        text += f"@@ {word} @@{each.flags}\n"
        for tag, line in each.lines:
            text += f"{tag}{indented(line, other_unit)}\n"
    return text


def moved(random: Random) -> Program:
    """A list written one element a line, of which elements change places, go or come.

    Some have comments.
    """
    elements = random.sample(ELEMENTS, random.randint(2, 6))
    behind = {}
    for number, each in enumerate(elements):
        if random.random() < 0.6:
            behind[each] = f"  # loose {number}"
    after = [each for each in elements if random.random() < 0.9] or elements[:1]
    random.shuffle(after)
    after += random.choice([[], [], ["c"]])
    opening, closing = random.choice(["[]", "()", ["max(", ")"]])
    last = random.choice([",", ""])

    def written(parts: Sequence[str]) -> str:
        return f"x = {opening}{', '.join(parts)},{closing}"

    old, new = written(elements), written(after)
    other = new
    if random.random() < 0.5:  # elements as placeholders, some of them twice afterwards
        after += random.sample(after, random.randint(0, 1))
        names = {}
        for number, each in enumerate(elements):
            names[each] = f"$E{number}" if random.random() < 0.7 else each
        old = written([names[part] for part in elements])
        new = written([names.get(part, part) for part in after])
        other = written(after)

    before = f"def f(a, b, c):\n    x = {opening}\n"
    for each in elements:
        comma = last if each is elements[-1] else ","
        before += f"        {each}{comma}{behind.get(each, '')}\n"
    before += f"    {closing}\n"
    if opening == "(" and last == "" and len(elements) == 1:
        before = before.replace(elements[0], f"{elements[0]},", 1)
    # of an element that is there twice, either may have it
    kept = [behind[each].strip() for each in after if each in behind and after.count(each) == 1]
    spatch = f"{FILE}@@ f @@\n-{old}\n+{new}\n"
    return Program(before, spatch, f"def f(a, b, c):\n    {other}\n", tuple(kept))


def below_headers(random: Random) -> Program:
    """A function whose headers change, with `...` for what is below them."""
    before, hunk, after = headers.hunk(random)
    spatch = f"{FILE}@@ f @@\n" + "".join(f"{tag}{line}\n" for tag, line in hunk)
    return Program(_function(before), spatch, _function(after))


def _function(lines: Sequence[str]) -> str:
    return "def f(a, b, c):\n" + "".join(f"    {line}\n" for line in lines)


def exchange(random: Random, text: str) -> Program | None:
    """The program with one of its expressions exchanged everywhere, None where that fails."""
    try:
        tree = normal(text)
    except SyntaxError:
        return None
    found = exchanged.exchange(random, tree)
    if found is None:
        return None
    old, new, after = found
    if "\n" in old + new:
        return None
    scope = "K.f" if text.startswith("class") else "f"
    return Program(text, f"{FILE}@@ {scope} @@ count=all\n-{old}\n+{new}\n", after)


# what a text says -----------------------------------------------------------------------------
class _Normal(ast.NodeTransformer):
    """One form for what format rule 8 does not tell apart."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        values: list[ast.expr] = []
        for value in node.values:
            if isinstance(value, ast.BoolOp) and type(value.op) is type(node.op):
                values += value.values
            else:
                values.append(value)
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


# what the engine says -------------------------------------------------------------------------
def answer(made: Program) -> tuple[str, str]:
    """What the engine says of a program's hunks, and why; WRONG where it is not right."""
    try:
        for text in (made.before, made.after):
            compile(text, "program", "exec", dont_inherit=True)
        expected = meaning(made.after)
        broken = [bindings.broken(text) for text in (made.before, made.after) if made.runs]
        if any(broken[:1]):
            return "no Python", "the program reads what is not bound"
    except SyntaxError as error:
        return "no Python", str(error)
    data = made.before.encode()
    try:
        hunks = parse_spatch(made.spatch, "p.spatch")[1][0].hunks
        result = rewrite(data, hunks, {})
    except SitepatchError as error:
        return "refused", error.message

    problem = _wrong_words(made, result) or _wrong_states(made, data, hunks, result)
    if not problem and result.splices and not _stands_there(hunks, result):
        problem = _wrong_text(made, expected, hunks, result.data)
    if problem:
        return WRONG, problem
    for each in result.answers:
        if each.state.failed:
            return each.state.value, each.problem
    return "+".join(sorted({each.state.value for each in result.answers})), ""


def _wrong_words(made: Program, result: Rewrite) -> str:
    """What is wrong with what is said about names, empty for nothing."""
    for each in result.answers:
        if each.problem.endswith("nothing binds it there any more"):
            name = each.problem.split("`")[1]
            is_lost = name in lost_names(made.before, made.after)
            if not is_lost and not re.search(rf"\bdel\b.*\b{name}\b", made.after):
                return f"all names are bound: {each.problem}"
            break
    if not made.runs:
        return ""
    is_broken = bindings.broken(made.after)
    if result.splices and is_broken:
        return "a function reads what is not bound, and nothing says so"
    problem = result.answers[0].problem
    if ("binds" in problem or "is a local of" in problem) and not is_broken:
        return f"every name that is read is bound: {problem}"
    return ""


def _wrong_states(made: Program, data: bytes, hunks: tuple[HunkText, ...], result: Rewrite) -> str:
    """What the parts of an answer say otherwise than each other, empty for nothing."""
    if apply_splices(data, result.splices) != result.data:
        return "the splices do not make the result"
    if not len(made.before) % 5:
        states = [each.state for each in result.answers]
        if [each.state for each in explain(data, hunks, {})] != states:
            return "explain has another state"
    return ""


def _stands_there(hunks: tuple[HunkText, ...], result: Rewrite) -> bool:
    """Whether a part stands there already: that is the planner's conflict (rule 25)."""
    pairs = zip(result.answers, hunks)
    return any(each.state is State.UPSTREAM and not hunk.flags.when_present for each, hunk in pairs)


def _wrong_text(made: Program, expected: str, hunks: tuple[HunkText, ...], data: bytes) -> str:
    """What is wrong with the resulting text, empty for nothing."""
    text = data.decode()
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
    comments = re.findall(r"# loose \d+", text)
    if len(comments) > len(set(comments)):
        return f"a comment is there twice:\n{text}"
    if [comment for comment in comments if comment in made.kept] != [*made.kept]:
        return f"a comment is not kept:\n{text}"
    if rewrite(data, hunks, {}).data != data:
        return f"a second application changes it:\n{text}"
    return ""


# running --------------------------------------------------------------------------------------
class Reason(NamedTuple):
    """How often an answer came, and the first seed of it."""

    times: int
    first: int


def main() -> int:
    """Try programs for some time; the exit code is 1 where one is wrong."""
    options = _options()
    warnings.simplefilter("ignore")
    first = options.seed * 10_000_000
    if options.drift:
        is_one = options.only is not None
        seeds = [options.only] if is_one else range(first, first + (options.programs or 5_000))
        return 1 if drift.try_hunks(seeds, show=is_one) else 0

    counts: Counter[str] = Counter()
    reasons: dict[str, Reason] = {}
    for seed in _seeds(options, first):
        made = program(seed)
        word, why = answer(made)
        counts[word] += 1
        if word == WRONG or options.only is not None:
            text = f"{made.before}\n{made.spatch}\nexpected:\n{made.after}"
            print(f"seed {seed}: {word}: {why}\n{text}", flush=True)
        key = _key(word, why)
        known = reasons.get(key, Reason(0, seed))
        reasons[key] = known._replace(times=known.times + 1)
    if options.refusals:
        for key, reason in sorted(reasons.items(), key=lambda item: -item[1].times):
            print(f"{reason.times:6} {key}  (first: {reason.first})")
    answers = ", ".join(f"{number} {word}" for word, number in counts.most_common())
    print(f"{sum(counts.values())} programs, seed {options.seed}: {answers}")
    return 1 if counts[WRONG] else 0


def _seeds(options: argparse.Namespace, first: int) -> Iterator[int]:
    """The seeds that the options ask for, until the time is up."""
    if options.only is not None:
        yield options.only
        return
    if options.programs:
        yield from range(first, first + options.programs)
        return
    end = time.monotonic() + options.seconds
    seed = first
    while time.monotonic() < end:
        yield seed
        seed += 1


def _key(word: str, why: str) -> str:
    """An answer without what differs from program to program."""
    noise = r"p.spatch:\d+: |`[^`]*`|\d+|\n.*"
    flags = re.S if word == "refused" else 0
    return f"{word}: " + re.sub(noise, "_", why, flags=flags)[:110]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seconds", type=float, default=60)
    add("--programs", type=int, help="stop after so many, however long they take")
    add("--seed", type=int, default=7)
    add("--only", type=int, help="the number of one program")
    add("--refusals", action="store_true", help="print one program for each kind of refusal")
    add("--drift", action="store_true", help="hunks on releases that moved on")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
