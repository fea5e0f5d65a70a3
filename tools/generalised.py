"""Hunks with placeholders, less context or flags that say the same as the whole change of a program (`tools/programs.py`).

A line is (tag, text), four blanks for each level. What is replaced by a placeholder is not changed, so that the expected result
stays what it is; a hunk that then matches elsewhere too is ambiguous.
"""

from __future__ import annotations

import ast
import re
from random import Random
from typing import Iterator, NamedTuple, Tuple

Line = Tuple[str, str]
CLAUSE = re.compile(r"(else|elif|except|finally|case)\b")
OWNER = re.compile(r"(?:async )?(if|for|while|try|with|def|class|match)\b")


class Text(NamedTuple):
    """One hunk: its scope, its flags (with a blank before them), its lines."""

    scope: str
    flags: str
    lines: list[Line]


def depth(line: Line) -> int:
    """How deep a line is indented; one inside a string or a statement is deeper than any."""
    return (
        999
        if line[1].startswith("\x01") or line[1].endswith("\x03")
        else len(line[1]) - len(line[1].lstrip(" "))
    )


def hunks(random: Random, scope: str, lines: list[Line]) -> list[Text]:
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
        one = _one(random, scope, lines, first, last, least, most)
        made += [one] if one is not None else []
    return made if made and len(made) == len(parts) else [Text(scope, "", lines)]


def forms(random: Random, scope: str, lines: list[Line], hunk: Text) -> list[Text]:
    """Forms of which one at least is a hunk for the whole change; those of another sort are for code that is not there."""
    several = [hunk]
    for _ in range(random.choice([1, 1, 2])):
        whole = hunks(random, scope, lines) if random.random() < 0.5 else []
        absent = Text(
            random.choice([hunk.scope, "f", "nowhere"]),
            random.choice(["", " count=2"]),
            [("-", "nowhere(1)"), ("+", "nowhere(2)")],
        )
        several.insert(random.choice([0, len(several)]), whole[0] if len(whole) == 1 else absent)
    word = " when-present"
    plain = [form._replace(flags=form.flags.replace(word, "")) for form in several]
    return [
        plain[0]._replace(
            flags=plain[0].flags + word * any(word in form.flags for form in several)
        ),
        *plain[1:],
    ]


def _changes(lines: list[Line]) -> Iterator[tuple[int, int]]:
    start: int | None = None
    for at, line in enumerate([*lines, (" ", "")]):
        if line[0] != " " and start is None:
            start = at
        elif line[0] == " " and start is not None:
            yield start, at
            start = None


def _one(
    random: Random, scope: str, lines: list[Line], first: int, last: int, least: int, most: int
) -> Text | None:
    """A hunk for the changes from `first` to `last`, with lines from `least` to `most`; None where no whole lines are there."""
    flags = ""
    choices = []
    for begin in range(least, first + 1):
        for end in range(last, most + 1):
            whole = lines[begin:end]
            base = depth(whole[0])
            sides = [[line for line in whole if line[0] in (" ", tag)][:1] for tag in "-+"]
            # else it is in the body of a line outside
            alone = all(depth(line) == base for side in sides for line in side)
            if (
                alone
                and min(map(depth, whole)) == base
                and (end == len(lines) or depth(lines[end]) <= base)
            ):
                choices.append((begin, end))
    if not choices:
        return None
    begin, end = random.choice(choices)
    base = depth(lines[begin])
    around = inside(lines[:begin], lines[begin])
    if scope == "<module>" and base:  # which has no bodies
        scope, around = "f", None
    if random.random() < 0.2 and around is not None and scope != "<module>":
        flags += f" inside={around or 'scope'}"
    if random.random() < 0.1:
        flags += " when-present"
    part = [
        (tag, text if text.startswith("\x01") else text[base:]) for tag, text in lines[begin:end]
    ]
    for _ in range(random.choice([0, 1, 1, 2, 3])):
        how = random.choice(
            [
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
            ]
        )
        part = how(random, part)
    return Text(scope, flags, part)


def inside(above: list[Line], first: Line) -> str | None:
    """The keywords around a line, as the flag `inside` has them; None where they cannot be read off the lines."""
    found: list[str] = []
    level, seeks = depth(first), False
    if CLAUSE.match(first[1].strip()):
        return None
    for tag, text in reversed(above):
        here = depth((tag, text))
        if tag == "+" or text.startswith("\x01") or not text.strip():
            continue
        if tag == "-" and here <= level:
            return None
        word = text.strip()
        if here < level or (seeks and here == level):
            if CLAUSE.match(word) and not word.startswith("case"):
                level, seeks = here, True
                continue
            if word.startswith("case"):
                level, seeks = here, False
                continue
            owner = OWNER.match(word)
            if owner is None:
                if here < level:
                    return None
                continue
            found.append(owner.group(1))
            level, seeks = here, False
    return None if seeks or level else "/".join(reversed(found))


def _run(random: Random, lines: list[Line]) -> list[Line]:
    """Some whole statements of the context as ` ...`."""
    spots = []
    for begin, line in enumerate(lines):
        for end in range(begin + 1, len(lines) + 1):
            if (
                lines[end - 1][0] != " "
                or depth(lines[end - 1]) < depth(line)
                or is_text(lines[end - 1])
            ):
                break
            if not depth(line) and not all(map(_has_code, (lines[:begin], lines[end:]))):
                continue  # at the edge of a hunk a `...` begins or ends its block (rule 18)
            following = lines[end : end + 1]
            if not following or (
                depth(following[0]) <= depth(line) and not CLAUSE.match(following[0][1].strip())
            ):
                spots.append((begin, end))
    if not spots or CLAUSE.match(lines[spots[0][0]][1].strip()):
        return lines
    begin, end = random.choice(spots)
    if CLAUSE.match(lines[begin][1].strip()) or depth(lines[begin]) > 99:
        return lines
    return [*lines[:begin], (" ", " " * depth(lines[begin]) + "..."), *lines[end:]]


def _has_code(lines: list[Line]) -> bool:
    """Whether the before side has code on some lines."""
    return any(tag != "+" and not text.lstrip().startswith("#") for tag, text in lines)


def _body(random: Random, lines: list[Line]) -> list[Line]:
    """A header on a context line without its body."""
    spots = []
    for at, line in enumerate(lines):
        end = at + 1
        while end < len(lines) and depth(lines[end]) > depth(line):
            end += 1
        if (
            line[0] == " "
            and line[1].rstrip().endswith(":")
            and end > at + 1
            and {tag for tag, _ in lines[at + 1 : end]} == {" "}
        ):
            spots.append((at + 1, end))
    if not spots:
        return lines
    begin, end = random.choice(spots)
    return [*lines[:begin], *lines[end:]]


def _clause(random: Random, lines: list[Line]) -> list[Line]:
    """A statement without a clause of the context."""
    spots = []
    for at, line in enumerate(lines):
        end = at + 1
        while end < len(lines) and depth(lines[end]) > depth(line):
            end += 1
        beside = [tag for tag, _ in [*lines[at - 1 : at], *lines[end : end + 1]]]
        if (
            at
            and "+" not in beside
            and CLAUSE.match(line[1].strip())
            and {tag for tag, _ in lines[at:end]} == {" "}
        ):
            spots.append((at, end))
    if not spots:
        return lines
    begin, end = random.choice(spots)
    return [*lines[:begin], *lines[end:]]


def _statement(random: Random, lines: list[Line]) -> list[Line]:
    """Whole statements of the context as `$NAME` or `$_`, or some that move as `$NAME` or `...`."""
    wholes = [(tag, [_wholes(lines, at, tag) for at in range(len(lines))]) for tag in " -+"]
    kept, old, new = ([part for parts in found for part in parts] for _, found in wholes)
    name = f"$S{sum(text.count('$') for _, text in lines)}"
    moves = [(one, two) for one in old for two in new if _moved(lines, one) == _moved(lines, two)]
    if moves and random.random() < 0.8:
        chosen = random.choice(moves)
        name = random.choice([name, name, "..."]) if chosen[0][2] == 1 else "..."
    else:
        single = [part for part in kept if part[2] == 1]
        chosen = (random.choice(single),) if single else ()
        name = random.choice(["$_", name])
    if name == "..." and any(tag != " " and text.strip() == "..." for tag, text in lines):
        return lines  # two that move could be exchanged
    edge = any(
        not depth(lines[begin]) and not (_has_code(lines[:begin]) and _has_code(lines[end:]))
        for begin, end, _ in chosen
    )
    for begin, end, _ in sorted(chosen if name != "..." or not edge else (), reverse=True):
        lines = [*lines[:begin], (lines[begin][0], " " * depth(lines[begin]) + name), *lines[end:]]
    return lines


def _moved(lines: list[Line], part: tuple[int, int, int]) -> list[str]:
    begin, end, _ = part
    return [
        text if text.startswith("\x01") else text[depth(lines[begin]) :]
        for _, text in lines[begin:end]
    ]


def _wholes(lines: list[Line], begin: int, tag: str) -> list[tuple[int, int, int]]:
    """The runs of whole statements of one tag that begin in a line: (first, past the last, how many)."""
    found: list[tuple[int, int, int]] = []
    end, base = begin, depth(lines[begin])
    while end < len(lines) and lines[end][0] == tag and depth(lines[end]) == base < 99:
        code = lines[end][1].strip()
        if (
            ";" in code
            or "..." in code
            or code.startswith(("#", "@", "$"))
            or is_text(lines[end])
            or CLAUSE.match(code)
        ):
            break
        end += 1
        while end < len(lines) and (
            depth(lines[end]) > base
            or (depth(lines[end]) == base and CLAUSE.match(lines[end][1].strip()))
        ):
            end += 1
        if {each for each, _ in lines[begin:end]} != {tag}:
            break
        found.append((begin, end, len(found) + 1))
    return found if _has_code(lines[:begin] + lines[end:]) else []


def is_text(line: Line) -> bool:
    """Whether a line begins with a string: as a docstring a placeholder does not stand for it (rule 10)."""
    return line[1].lstrip().startswith(("'", '"'))


def nodes(line: Line, kinds: tuple[type, ...] = (ast.expr,)) -> list[tuple[int, int, ast.AST]]:
    """The expressions of a line that is a statement or a header alone, with their columns."""
    text = line[1]
    shift = len(text) - len(text.lstrip(" "))
    code = text.strip()
    if (
        "..." in code
        or "$" in code
        or "f'" in code
        or is_text(line)
        or code.startswith(("\x01", "#", "@"))
        or "\x03" in code
    ):
        return []
    head = {"elif": "if 1: pass\n", "else": "if 1: pass\n", "exce": "try: pass\n", "case": ""}.get(
        code[:4], ""
    )
    for tail in ("", " pass"):
        try:
            tree = ast.parse(head + code + tail)
        except SyntaxError:
            continue
        row = 2 if head else 1
        found = [
            node
            for node in ast.walk(tree)
            if isinstance(node, kinds) and not isinstance(node, (ast.Starred, ast.Slice))
        ]
        found = [node for node in found if node.lineno == row == node.end_lineno]  # type: ignore[attr-defined]
        inner = [(shift + node.col_offset, shift + node.end_col_offset, node) for node in found]  # type: ignore[attr-defined]
        return [each for each in inner if each[1] <= len(text)]
    return []


def _metavariable(random: Random, lines: list[Line]) -> list[Line]:
    """An expression of a context line as `$NAME` or `$_`."""
    spots = [
        (at, begin, end)
        for at, line in enumerate(lines)
        if line[0] == " "
        for begin, end, _ in nodes(line)
    ]
    if not spots:
        return lines
    at, begin, end = random.choice(spots)
    used = "\n".join(text for _, text in lines)
    name = random.choice(["$_", f"$X{used.count('$')}"])
    text = lines[at][1]
    return [*lines[:at], (" ", text[:begin] + name + text[end:]), *lines[at + 1 :]]


def _bound(random: Random, lines: list[Line]) -> list[Line]:
    """An expression of a `-` line as `$NAME`, there and on the `+` lines."""
    spots = [
        (at, node) for at, line in enumerate(lines) if line[0] == "-" for _, _, node in nodes(line)
    ]
    if not spots:
        return lines
    row, chosen = random.choice(spots)
    name, same = f"$Y{chr(65 + len(lines) % 26)}", _loaded(chosen)
    out = list(lines)
    for at, (tag, text) in enumerate(lines):
        if at != row and tag != "+":
            continue
        there = [
            (begin, end)
            for begin, end, node in nodes((tag, text))
            if (node is chosen or _loaded(node) == same)
        ]
        last = len(text) + 1
        for begin, end in sorted(there, reverse=True):
            if end <= last and (tag == "-" or random.random() < 0.8):
                text, last = text[:begin] + name + text[end:], begin
        out[at] = (tag, text)
    return out


def _loaded(node: ast.AST) -> str:
    return ast.dump(node).replace("Store()", "Load()").replace("Del()", "Load()")


def _arguments(random: Random, lines: list[Line]) -> list[Line]:
    """The arguments of a call of a context line as `...`."""
    spots = [
        (at, node)
        for at, line in enumerate(lines)
        if line[0] == " "
        for _, _, node in nodes(line, (ast.Call,))
    ]
    if not spots:
        return lines
    at, call = random.choice(spots)
    text = lines[at][1]
    for begin, end, node in nodes(lines[at], (ast.Call,)):
        if ast.dump(node) == ast.dump(call):
            func = begin + len(ast.unparse(call.func))  # type: ignore[attr-defined]
            if text[func : func + 1] == "(" and text[end - 1] == ")":
                text = f"{text[: func + 1]}...{text[end - 1 :]}"
                break
    return [*lines[:at], (" ", text), *lines[at + 1 :]]


def _shared_arguments(random: Random, lines: list[Line]) -> list[Line]:
    """The first arguments that a call has on a `-` and on a `+` line, as `...` on both."""
    del random
    for at, line in enumerate(lines):
        for to, other in enumerate(lines):
            if line[0] == "-" and other[0] == "+":
                for one in nodes(line, (ast.Call,)):
                    for two in nodes(other, (ast.Call,)):
                        ours, theirs = one[2].args, two[2].args  # type: ignore[attr-defined]
                        count = 0
                        while count < min(len(ours), len(theirs)) and ast.dump(
                            ours[count]
                        ) == ast.dump(theirs[count]):
                            count += 1
                        if count and ast.dump(one[2].func) == ast.dump(two[2].func):  # type: ignore[attr-defined]
                            out = list(lines)
                            for row, (start, _, call) in ((at, one), (to, two)):
                                text = lines[row][1]
                                shift = start - call.col_offset  # type: ignore[attr-defined]
                                first, last = (
                                    call.args[0].col_offset + shift,
                                    call.args[count - 1].end_col_offset + shift,
                                )  # type: ignore[attr-defined]
                                out[row] = (lines[row][0], text[:first] + "..." + text[last:])
                            return out
    return lines
