"""Hunks that say the same as the whole change of a program (`tools/programs.py`).

They have placeholders, less context or flags. A line is (tag, text), four blanks for each level.
What is replaced by a placeholder is not changed, so that the expected result stays what it is; a
hunk that then matches elsewhere, too, is ambiguous.
"""

from __future__ import annotations

import ast
import re
from random import Random
from typing import Callable, Iterator, List, NamedTuple, Tuple

from tools.layout import CONTINUED, IN_STRING

Line = Tuple[str, str]
Lines = List[Line]
CLAUSE = re.compile(r"(else|elif|except|finally|case)\b")
OWNER = re.compile(r"(?:async )?(if|for|while|try|with|def|class|match)\b")
DEEPEST = 999
WHEN_PRESENT = " when-present"


class Text(NamedTuple):
    """One hunk: its scope, its flags (with a blank before them), its lines."""

    scope: str
    flags: str
    lines: Lines


# lines ----------------------------------------------------------------------------------------
def depth(line: Line) -> int:
    """How deep a line is indented; one inside a string or a statement is deeper than any."""
    _, text = line
    if text.startswith(IN_STRING) or text.endswith(CONTINUED):
        return DEEPEST
    return len(text) - len(text.lstrip(" "))


def is_clause(line: Line) -> bool:
    """Whether a line begins a further clause of a statement."""
    return bool(CLAUSE.match(line[1].strip()))


def is_text(line: Line) -> bool:
    """Whether a line begins with a string.

    As a docstring a placeholder does not stand for it (rule 10).
    """
    return line[1].lstrip().startswith(("'", '"'))


def _has_code(lines: Lines) -> bool:
    """Whether the before side has code on some lines."""
    return any(tag != "+" and not text.lstrip().startswith("#") for tag, text in lines)


def _is_context(lines: Lines) -> bool:
    return {tag for tag, _ in lines} == {" "}


def _end_of_block(lines: Lines, at: int) -> int:
    """The index past the lines that are deeper than one."""
    end = at + 1
    while end < len(lines) and depth(lines[end]) > depth(lines[at]):
        end += 1
    return end


def _dedented(lines: Lines, levels: int) -> Lines:
    """Lines without so many blanks before them; those inside a string stay."""
    out = []
    for tag, text in lines:
        out.append((tag, text if text.startswith(IN_STRING) else text[levels:]))
    return out


# hunks ----------------------------------------------------------------------------------------
class Span(NamedTuple):
    """Changes of a hunk from one line to another, which may have lines from `least` to `most`."""

    first: int
    last: int
    least: int
    most: int


def hunks(random: Random, scope: str, lines: Lines) -> list[Text]:
    """The hunks for a change."""
    groups = list(_changes(lines))
    parts = [(groups[0][0], groups[-1][1])] if groups else []
    if len(groups) > 1 and random.random() < 0.5:
        cut = random.randrange(1, len(groups))
        parts = [(groups[0][0], groups[cut - 1][1]), (groups[cut][0], groups[-1][1])]
    made: list[Text] = []
    for at, (first, last) in enumerate(parts):
        least = parts[at - 1][1] if at else 0
        most = parts[at + 1][0] if at + 1 < len(parts) else len(lines)
        one = _one(random, scope, lines, Span(first, last, least, most))
        if one is not None:
            made.append(one)
    return made if made and len(made) == len(parts) else [Text(scope, "", lines)]


def _changes(lines: Lines) -> Iterator[tuple[int, int]]:
    """Where lines change: the first of each run, and the one past its last."""
    start: int | None = None
    for at, line in enumerate([*lines, (" ", "")]):
        if line[0] != " " and start is None:
            start = at
        elif line[0] == " " and start is not None:
            yield start, at
            start = None


def forms(random: Random, scope: str, lines: Lines, hunk: Text) -> list[Text]:
    """Forms of which one at least is a hunk for the whole change.

    Those of another sort are for code that is not there.
    """
    several = [hunk]
    for _ in range(random.choice([1, 1, 2])):
        whole = hunks(random, scope, lines) if random.random() < 0.5 else []
        absent = Text(
            scope=random.choice([hunk.scope, "f", "nowhere"]),
            flags=random.choice(["", " count=2"]),
            lines=[("-", "nowhere(1)"), ("+", "nowhere(2)")],
        )
        several.insert(random.choice([0, len(several)]), whole[0] if len(whole) == 1 else absent)
    # the first form has the flag for all
    plain = [form._replace(flags=form.flags.replace(WHEN_PRESENT, "")) for form in several]
    if any(WHEN_PRESENT in form.flags for form in several):
        plain[0] = plain[0]._replace(flags=plain[0].flags + WHEN_PRESENT)
    return plain


def _one(random: Random, scope: str, lines: Lines, span: Span) -> Text | None:
    """A hunk for the changes of a span; None where it has no whole lines."""
    choices = []
    for begin in range(span.least, span.first + 1):
        for end in range(span.last, span.most + 1):
            if _is_whole(lines, begin, end):
                choices.append((begin, end))
    if not choices:
        return None
    begin, end = random.choice(choices)
    base = depth(lines[begin])
    around = inside(lines[:begin], lines[begin])
    if scope == "<module>" and base:  # which has no bodies
        scope, around = "f", None
    flags = ""
    if random.random() < 0.2 and around is not None and scope != "<module>":
        flags += f" inside={around or 'scope'}"
    if random.random() < 0.1:
        flags += WHEN_PRESENT
    part = _dedented(lines[begin:end], base)
    for _ in range(random.choice([0, 1, 1, 2, 3])):
        part = random.choice(WAYS)(random, part)
    return Text(scope, flags, part)


def _is_whole(lines: Lines, begin: int, end: int) -> bool:
    """Whether some lines are all of their statements, and none is in the body of one outside."""
    whole = lines[begin:end]
    base = depth(whole[0])
    for tag in "-+":
        side = [line for line in whole if line[0] in (" ", tag)]
        if side and depth(side[0]) != base:
            return False
    if min(map(depth, whole)) != base:
        return False
    return end == len(lines) or depth(lines[end]) <= base


def inside(above: Lines, first: Line) -> str | None:
    """The keywords around a line, as the flag `inside` has them.

    Returns:
        None where they cannot be read off the lines.
    """
    if is_clause(first):
        return None
    words: list[str] = []
    level, seeks = depth(first), False  # the owner of a clause that was found
    for line in reversed(above):
        tag, text = line
        here = depth(line)
        if tag == "+" or text.startswith(IN_STRING) or not text.strip():
            continue
        if tag == "-" and here <= level:
            return None
        if here >= level and not (seeks and here == level):
            continue
        word = text.strip()
        if CLAUSE.match(word):
            level, seeks = here, not word.startswith("case")
            continue
        owner = OWNER.match(word)
        if owner:
            words.append(owner.group(1))
            level, seeks = here, False
        elif here < level:
            return None
    return None if seeks or level else "/".join(reversed(words))


# statements as placeholders -------------------------------------------------------------------
def _run(random: Random, lines: Lines) -> Lines:
    """Some whole statements of the context as ` ...`."""
    spots = []
    for begin in range(len(lines)):
        spots += [(begin, end) for end in _ends_of_run(lines, begin)]
    if not spots or is_clause(lines[spots[0][0]]):
        return lines
    begin, end = random.choice(spots)
    if is_clause(lines[begin]) or depth(lines[begin]) > 99:
        return lines
    return [*lines[:begin], (" ", " " * depth(lines[begin]) + "..."), *lines[end:]]


def _ends_of_run(lines: Lines, begin: int) -> Iterator[int]:
    """Where whole statements of the context end that begin in a line."""
    base = depth(lines[begin])
    for end in range(begin + 1, len(lines) + 1):
        last = lines[end - 1]
        if last[0] != " " or depth(last) < base or is_text(last):
            return
        if not base and not (_has_code(lines[:begin]) and _has_code(lines[end:])):
            continue  # at the edge of a hunk a `...` begins or ends its block (rule 17)
        following = lines[end : end + 1]
        if not following or (depth(following[0]) <= base and not is_clause(following[0])):
            yield end


def _body(random: Random, lines: Lines) -> Lines:
    """A header on a context line without its body."""
    spots = []
    for at, line in enumerate(lines):
        end = _end_of_block(lines, at)
        is_header = line[0] == " " and line[1].rstrip().endswith(":")
        if is_header and end > at + 1 and _is_context(lines[at + 1 : end]):
            spots.append((at + 1, end))
    return _without(random, lines, spots)


def _clause(random: Random, lines: Lines) -> Lines:
    """A statement without a clause of the context."""
    spots = []
    for at, line in enumerate(lines):
        end = _end_of_block(lines, at)
        beside = [tag for tag, _ in [*lines[at - 1 : at], *lines[end : end + 1]]]
        if at and "+" not in beside and is_clause(line) and _is_context(lines[at:end]):
            spots.append((at, end))
    return _without(random, lines, spots)


def _without(random: Random, lines: Lines, spots: list[tuple[int, int]]) -> Lines:
    """Lines without one of some ranges."""
    if not spots:
        return lines
    begin, end = random.choice(spots)
    return [*lines[:begin], *lines[end:]]


class Whole(NamedTuple):
    """Whole statements of one tag: from a line to one past the last, and how many there are."""

    begin: int
    end: int
    number: int


def _statement(random: Random, lines: Lines) -> Lines:
    """Whole statements of the context as `$NAME` or `$_`, or some that move as `$NAME` or `...`."""
    kept, old, new = (_all_wholes(lines, tag) for tag in " -+")
    name = f"$S{sum(text.count('$') for _, text in lines)}"
    moves = []
    for one in old:
        for two in new:
            if _content(lines, one) == _content(lines, two):
                moves.append((one, two))
    chosen: tuple[Whole, ...] = ()
    if moves and random.random() < 0.8:
        chosen = random.choice(moves)
        name = random.choice([name, name, "..."]) if chosen[0].number == 1 else "..."
    else:
        single = [whole for whole in kept if whole.number == 1]
        if single:
            chosen = (random.choice(single),)
        name = random.choice(["$_", name])
    if name == "...":
        if any(tag != " " and text.strip() == "..." for tag, text in lines):
            return lines  # two that move could be exchanged
        if any(_is_at_edge(lines, whole) for whole in chosen):
            return lines
    for begin, end, _ in sorted(chosen, reverse=True):
        placeholder = (lines[begin][0], " " * depth(lines[begin]) + name)
        lines = [*lines[:begin], placeholder, *lines[end:]]
    return lines


def _is_at_edge(lines: Lines, whole: Whole) -> bool:
    """Whether statements begin or end the outermost block of a hunk."""
    if depth(lines[whole.begin]):
        return False
    return not _has_code(lines[: whole.begin]) or not _has_code(lines[whole.end :])


def _content(lines: Lines, whole: Whole) -> list[str]:
    """The code of statements without their indentation."""
    part = _dedented(lines[whole.begin : whole.end], depth(lines[whole.begin]))
    return [text for _, text in part]


def _all_wholes(lines: Lines, tag: str) -> list[Whole]:
    found = []
    for at in range(len(lines)):
        found += _wholes(lines, at, tag)
    return found


def _wholes(lines: Lines, begin: int, tag: str) -> list[Whole]:
    """The runs of whole statements of one tag that begin in a line."""
    found: list[Whole] = []
    end, base = begin, depth(lines[begin])
    while end < len(lines) and lines[end][0] == tag and depth(lines[end]) == base < 99:
        if not _is_simple(lines[end]):
            break
        end += 1
        while end < len(lines) and _belongs_above(lines[end], base):
            end += 1
        if {each for each, _ in lines[begin:end]} != {tag}:
            break
        found.append(Whole(begin, end, len(found) + 1))
    return found if _has_code(lines[:begin] + lines[end:]) else []


def _is_simple(line: Line) -> bool:
    """Whether a placeholder may stand for the statement that a line begins."""
    code = line[1].strip()
    if ";" in code or "..." in code or code.startswith(("#", "@", "$")):
        return False
    return not is_text(line) and not is_clause(line)


def _belongs_above(line: Line, base: int) -> bool:
    """Whether a line is a part of a statement above it that is as deep as `base`."""
    return depth(line) > base or (depth(line) == base and is_clause(line))


# expressions as placeholders ------------------------------------------------------------------
class Spot(NamedTuple):
    """An expression of a line, with its columns."""

    begin: int
    end: int
    node: ast.AST


def nodes(line: Line, kinds: tuple[type, ...] = (ast.expr,)) -> list[Spot]:
    """The expressions of a line that is a statement or a header alone."""
    text = line[1]
    shift = len(text) - len(text.lstrip(" "))
    code = text.strip()
    if is_text(line) or code.startswith((IN_STRING, "#", "@")):
        return []
    if any(part in code for part in ("...", "$", "f'", CONTINUED)):
        return []
    parsed = _parsed(code)
    if parsed is None:
        return []
    tree, row = parsed
    spots = []
    for node in ast.walk(tree):
        if not isinstance(node, kinds) or isinstance(node, (ast.Starred, ast.Slice)):
            continue
        if node.lineno == row == node.end_lineno:  # type: ignore[attr-defined]
            begin, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
            if shift + end <= len(text):
                spots.append(Spot(shift + begin, shift + end, node))
    return spots


OWNERS_ABOVE = {"elif": "if 1: pass\n", "else": "if 1: pass\n", "exce": "try: pass\n", "case": ""}


def _parsed(code: str) -> tuple[ast.Module, int] | None:
    """The tree of a line, and the row in which it stands there; None where it cannot be parsed."""
    above = OWNERS_ABOVE.get(code[:4], "")
    for body in ("", " pass"):
        try:
            return ast.parse(above + code + body), 2 if above else 1
        except SyntaxError:
            continue
    return None


def _spots(lines: Lines, tag: str, kinds: tuple[type, ...] = (ast.expr,)) -> list[tuple[int, Spot]]:
    """The expressions of the lines with a tag, each with the number of its line."""
    found = []
    for at, line in enumerate(lines):
        if line[0] == tag:
            found += [(at, spot) for spot in nodes(line, kinds)]
    return found


def _put(lines: Lines, at: int, text: str) -> Lines:
    """Lines of which one has another text."""
    return [*lines[:at], (lines[at][0], text), *lines[at + 1 :]]


def _metavariable(random: Random, lines: Lines) -> Lines:
    """An expression of a context line as `$NAME` or `$_`."""
    spots = _spots(lines, " ")
    if not spots:
        return lines
    at, spot = random.choice(spots)
    used = sum(text.count("$") for _, text in lines)
    name = random.choice(["$_", f"$X{used}"])
    text = lines[at][1]
    return _put(lines, at, text[: spot.begin] + name + text[spot.end :])


def _bound(random: Random, lines: Lines) -> Lines:
    """An expression of a `-` line as `$NAME`, there and on the `+` lines."""
    spots = _spots(lines, "-")
    if not spots:
        return lines
    row, chosen = random.choice(spots)
    name, same = f"$Y{chr(65 + len(lines) % 26)}", _loaded(chosen.node)
    out = list(lines)
    for at, (tag, text) in enumerate(lines):
        if at != row and tag != "+":
            continue
        last = len(text) + 1
        for spot in sorted(nodes((tag, text)), key=lambda spot: spot[:2], reverse=True):
            if _loaded(spot.node) != same or spot.end > last:
                continue
            if tag == "-" or random.random() < 0.8:
                text = text[: spot.begin] + name + text[spot.end :]
                last = spot.begin
        out[at] = (tag, text)
    return out


def _loaded(node: ast.AST) -> str:
    return ast.dump(node).replace("Store()", "Load()").replace("Del()", "Load()")


def _arguments(random: Random, lines: Lines) -> Lines:
    """The arguments of a call of a context line as `...`."""
    spots = _spots(lines, " ", (ast.Call,))
    if not spots:
        return lines
    at, chosen = random.choice(spots)
    text = lines[at][1]
    for spot in nodes(lines[at], (ast.Call,)):
        if ast.dump(spot.node) != ast.dump(chosen.node):
            continue
        assert isinstance(spot.node, ast.Call)
        opening = spot.begin + len(ast.unparse(spot.node.func))
        if text[opening : opening + 1] == "(" and text[spot.end - 1] == ")":
            return _put(lines, at, f"{text[: opening + 1]}...{text[spot.end - 1 :]}")
    return lines


def _shared_arguments(random: Random, lines: Lines) -> Lines:
    """The first arguments that a call has on a `-` and on a `+` line, as `...` on both."""
    del random
    for at, old in _spots(lines, "-", (ast.Call,)):
        for to, new in _spots(lines, "+", (ast.Call,)):
            assert isinstance(old.node, ast.Call) and isinstance(new.node, ast.Call)
            number = _common(old.node, new.node)
            if number:
                out = _put(lines, at, _with_run(lines[at][1], old, number))
                return _put(out, to, _with_run(lines[to][1], new, number))
    return lines


def _common(one: ast.Call, other: ast.Call) -> int:
    """How many arguments two calls of one function have in common at their beginning."""
    if ast.dump(one.func) != ast.dump(other.func):
        return 0
    number = 0
    for argument, other_argument in zip(one.args, other.args):
        if ast.dump(argument) != ast.dump(other_argument):
            break
        number += 1
    return number


def _with_run(text: str, spot: Spot, number: int) -> str:
    """A text with `...` for the first arguments of a call."""
    assert isinstance(spot.node, ast.Call)
    shift = spot.begin - spot.node.col_offset
    first, last = spot.node.args[0], spot.node.args[number - 1]
    start, end = first.col_offset + shift, (last.end_col_offset or 0) + shift
    return text[:start] + "..." + text[end:]


WAYS: tuple[Callable[[Random, Lines], Lines], ...] = (
    _run,
    _run,
    _body,
    _clause,
    _metavariable,
    _metavariable,
    _bound,
    _arguments,
    _shared_arguments,
    _statement,
    _statement,
)
