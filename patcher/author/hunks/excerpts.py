"""Code as lines of a hunk: excerpts of a text, with `...` for what did not change and `$V` for what does not matter."""

from __future__ import annotations

import re
from itertools import groupby
from typing import AbstractSet, Iterable, Iterator, NamedTuple, Sequence, Tuple

from patcher.author.hunks.differences import Pair
from patcher.engine.lex import lines_in_strings, tokens
from patcher.engine.tree import Node, Tree, same
from patcher.message import Message

Line = Tuple[str, str]
"""The tag (` `, `-` or `+`) and the code behind it."""
Hole = Tuple[int, int, str]
"""The start and the end of a piece of text (offsets), and what is written in its place."""
Holes = Sequence[Tuple[Hole, Hole]]
"""Pairs of a hole before an edit and the one after it that corresponds to it."""
OPEN = "$OLD"
"""What is written for the old value of an assignment where releases have several: one literal or one name."""
BEHIND = ", ..."
"""What is written behind the last element of a list that changed, for those that another release has there."""
_LIST = 8  # elements from which a tuple is no record: none of them names another
LISTS = ("args", "elements", "params", "names", "items", "decorators")


class Form(NamedTuple):
    """One way to write a statement as context; `words` describe it to the user."""

    lines: tuple[str, ...]
    words: str


def excerpt(text: Tree, start: int, end: int, holes: Sequence[Hole] = ()) -> list[str]:
    """The lines of `[start, end)`, dedented, with the holes filled; what is inside strings keeps its indentation."""
    base = text.lines.indent(start)
    filled = [hole for hole in sorted(holes) if start <= hole[0] and hole[1] <= end]
    lines: list[str] = []
    line, at = "", start
    for begin, stop, new in [*filled, (end, end, "")]:
        while True:
            cut = re.compile(r"\r\n|\r|\n").search(text.text, at, begin)
            if cut is None:
                break
            lines.append(line + text.text[at : cut.start()])
            line, at = "", cut.end()
            if at not in text.in_strings:
                if text.text.startswith(base, at):
                    at += len(base)
                else:
                    at += len(re.match(r"[ \t]*", text.text[at:]).group())  # type: ignore[union-attr]
            if at > begin:
                at = begin
                break
        line += text.text[at:begin] + new
        at = stop
    return [*lines, line]


def tagged(tag: str, lines: Sequence[str]) -> list[Line]:
    """The lines with one tag."""
    return [(tag, line) for line in lines]


def uncommented(lines: Sequence[str]) -> list[str]:
    """Lines of code without their comments."""
    text = "\n".join(lines)
    kept = "".join(token.text for token in tokens(text) if token.kind != "comment")
    return [line.rstrip() for line in kept.split("\n")] if kept != text else list(lines)


def on_one_line(lines: Sequence[str]) -> list[str]:
    """Lines of code joined to one, unless that would be too long, or they have comments, long strings or backslashes."""
    text = "\n".join(lines)
    if len(lines) == 1 or "#" in text or '"""' in text or "'''" in text or "\\\n" in text:
        return list(lines)
    one = re.sub(r"\s*\n\s*", " ", text)
    one = re.sub(r"([(\[{]) ", r"\1", one)
    one = re.sub(r",? ([)\]}])", r"\1", one)
    return [one] if len(one) <= 110 else list(lines)


# leaving out what did not change --------------------------------------------------------------------------------------
def left_open(nodes: Sequence[Node]) -> Hole:
    """The hole by which consecutive elements of a list become `...`."""
    return nodes[0].outer_start, nodes[-1].outer_end, "..."


def untyped(node: Node) -> Hole:
    """The hole that leaves out the annotation of an assignment or a parameter: it may then be any (format rule 10)."""
    name, default = (
        node.items("targets")[0] if node.kind == "Assign" else node.node("name"),
        node.fields.get("default"),
    )
    if isinstance(default, Node):
        return name.end, default.outer_start, "="
    return name.outer_end, node.node("annotation").outer_end, ""


def elided(pairs: Sequence[Pair]) -> Holes:
    """Holes by which runs of unchanged elements in the lists of `pairs` become `...`."""
    holes: list[tuple[Hole, Hole]] = []
    for old, new in pairs:
        if old.kind == "Assign" and all(
            isinstance(node.fields.get("value"), Node) for node in (old, new)
        ):
            notes = old.fields.get("annotation"), new.fields.get("annotation")
            holes += [(untyped(old), untyped(new))] if notes[0] is not None and same(*notes) else []
        for key in LISTS if _may_elide(old) else ():
            holes += [
                (left_open(one), left_open(other))
                for one, other in _runs(old, old.items(key), new.items(key))
            ]
        holes += _not_closed(old, new)
    return holes


def _not_closed(old: Node, new: Node) -> Holes:
    """The holes that leave a list open behind its last element, where that changed: another release has more of them.

    What is no list stays closed: a short tuple, and a call of one value.
    """
    key = "args" if old.kind == "Call" else "elements"
    sides = old.items(key), new.items(key)
    is_literal = old.kind in ("List", "Set", "Dict") or len(sides[0]) >= _LIST
    is_call = old.kind == "Call" and len(sides[0]) > 1
    if not (is_literal or is_call) or not _may_elide(old) or len(sides[0]) != len(sides[1]):
        return []
    last = [side[-1] for side in sides if side]
    others = (name for name in old.fields if name != key)
    if (
        not last
        or same(*last)
        or not all(same(old.fields[name], new.fields[name]) for name in others)
    ):
        return []
    if any(node.kind in ("Star", "DoubleStar") for node in last):
        return []
    one, other = (node.outer_end for node in last)
    return [((one, one, BEHIND), (other, other, BEHIND))]


def is_one(node: Node) -> bool:
    """Whether an expression is one literal or one name, without a dot."""
    return node.is_literal or node.kind == "Name"


def is_key(node: Node) -> bool:
    """Whether an element of a list is a string, perhaps a keyword's."""
    return _value(node).kind == "String"


def _literals(nodes: Sequence[Node]) -> set[Node]:
    return {node for node in nodes if _value(node).is_literal}


def _value(element: Node) -> Node:
    return element.node("value") if element.kind == "Keyword" else element


def kept_calls(old: Node, new: Node) -> Holes:
    """Holes by which the arguments of calls that both statements have become `...`."""
    calls = [
        [node for node in side.walk() if node.kind == "Call" and node.items("args")]
        for side in (old, new)
    ]
    holes: list[tuple[Hole, Hole]] = []
    for call in calls[0]:
        twins = [other for other in calls[1] if same(call, other)]
        alone = len(twins) == 1 and sum(same(call, other) for other in calls[0]) == 1
        if alone and not any(start <= call.start < end for (start, end, _), _ in holes):
            args = call.items("args")
            groups = _grouped(zip(args, twins[0].items("args")), _literals(args))
            holes += [(left_open(one), left_open(other)) for one, other in groups]
    return holes


def _may_elide(node: Node) -> bool:
    """Whether a list of this node is one in which `...` is a run (format rule 7)."""
    return not (
        node.kind == "Tuple" and node.parent is not None and node.parent.kind == "Subscript"
    )


def _grouped(
    pairs: Iterable[Pair], stay: AbstractSet[Node]
) -> Iterator[tuple[list[Node], list[Node]]]:
    """Consecutive elements of two equal lists without those that stay, in groups."""
    for is_open, group in groupby(pairs, lambda pair: pair[0] not in stay):
        if is_open:
            old, new = zip(*group)
            yield list(old), list(new)


def _runs(
    owner: Node, old: Sequence[Node], new: Sequence[Node]
) -> Iterator[tuple[list[Node], list[Node]]]:
    """Runs of elements that both lists have, without those beside an insertion or a deletion, which tell its place.

    Nor do they have what is the identity of an element that changed: the literals and names before it, of a list, a set or a
    long tuple the one directly before it.
    """
    matches: list[tuple[int, int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if same(old[i], new[j]):
            size = 1
            while (
                i + size < len(old) and j + size < len(new) and same(old[i + size], new[j + size])
            ):
                size += 1
            matches.append((i, j, size))
            i, j = i + size, j + size
        else:
            ahead = next((k for k in range(j + 1, len(new)) if same(old[i], new[k])), None)
            i, j = (i, ahead) if ahead is not None else (i + 1, j + (len(new) - j == len(old) - i))
    for index, (i, j, size) in enumerate(matches):
        following = matches[index + 1] if index + 1 < len(matches) else None
        inserted = following is not None and following[0] == i + size
        removed = following is not None and following[1] == j + size
        # `{...}` may be a set as well
        whole = old[0].kind == "DictElement" and size in (
            len(old),
            len(new),
        )
        kept = 1 if inserted or removed or whole else 0
        before: Sequence[Node] = ()  # what stands before something that changed
        is_record = owner.kind == "Call" or (owner.kind == "Tuple" and len(old) == len(new) < _LIST)
        if is_record and max(len(old) - i, len(new) - j) > size:
            before = old[i : i + size]
        elif owner.kind in ("List", "Set", "Tuple") and len(old) - i > size:
            before = old[i + size - 1 : i + size]
        above = matches[index - 1] if index else (0, 0, 0)
        gone = i > above[0] + above[2] and j == above[1] + above[2] and old[i].kind != "Keyword"
        pairs = zip(old[i + gone : i + size - kept], new[j + gone : j + size - kept])
        yield from _grouped(pairs, {node for node in before if node.is_identity})


# statements -----------------------------------------------------------------------------------------------------------
def header(text: Tree, node: Node, general: bool = True) -> list[str]:
    """The header of a compound statement or clause; if `general`, only the name of a `def` or `class`."""
    if general and node.is_definition:
        name = str(node.node("name").fields["value"])
        if node.kind == "ClassDef":
            return [f"class {name}:"]
        asynchronous = "async " if node.fields.get("asynchronous") else ""
        return [
            f"{asynchronous}def {name}({'...' if node.node('params').items('params') else ''}):"
        ]
    return on_one_line(excerpt(text, node.start, text.header_end(node)))


def opened(text: Tree, node: Node) -> list[str]:
    """The header of a compound statement or clause, with `...` for its body."""
    return [*header(text, node), text.indent + "..."]


def heads(text: Tree, node: Node) -> list[list[str]]:
    """The beginnings of a compound statement: its header with `...` for its body, then with the first statement of that."""
    first, *more = node.node("body").statements()
    begin = [
        text.indent + line
        for line in [*on_one_line(verbatim(text, first)), *(["..."] if more else [])]
    ]
    return [opened(text, node), *([[*header(text, node), *begin]] if not first.is_compound else [])]


def verbatim(text: Tree, node: Node) -> list[str]:
    """All of a statement."""
    return excerpt(text, node.begin, node.outer_end)


def forms(text: Tree, node: Node, suffix: str = "", *, literals: bool = False) -> list[Form]:
    """The ways to write a statement, the most general first.

    Args:
        text: the text of the file.
        node: the statement.
        suffix: makes the names of placeholders unique.
        literals: whether literal arguments stay, of a statement that is more than context.
    """
    found: list[Form] = []
    if node.is_compound:
        if node.header():
            found.append(Form(tuple(opened(text, node)), Message("its header alone")))
        else:
            found += [
                Form(tuple(lines), Message("its beginning")) for lines in heads(text, node)[1:]
            ]
        if len(verbatim(text, node)) <= 12:
            found.append(Form(tuple(verbatim(text, node)), Message("all of it")))
        return found
    value = node.fields.get("value")
    typed = (
        node.kind == "Assign"
        and isinstance(value, Node)
        and node.fields.get("annotation") is not None
    )
    bare = [untyped(node)] if typed and not literals else []
    if (
        isinstance(value, Node)
        and node.kind in ("Assign", "AugAssign")
        and value.kind not in ("Name", "Integer")
    ):
        lines = excerpt(
            text,
            node.begin,
            node.outer_end,
            [*bare, (value.outer_start, value.outer_end, f"$V{suffix}")],
        )
        found.append(Form(tuple(on_one_line(lines)), Message("its value left open")))
    calls = [
        part
        for part in (value, node.fields.get("exc"))
        if isinstance(part, Node) and part.kind == "Call" and part.items("args")
    ]
    for call in calls:
        args = call.items("args")
        groups = _grouped(zip(args, args), _literals(args) if literals else set())
        lines = excerpt(text, node.begin, node.outer_end, [left_open(group) for group, _ in groups])
        found.append(Form(tuple(on_one_line(lines)), Message("its arguments left open")))
        if len(args) > 1 and args[0].kind == "String" and not literals:
            lines = excerpt(text, node.begin, node.outer_end, [left_open(args[1:])])
            found.append(Form(tuple(on_one_line(lines)), Message("its first argument")))
    found.append(
        Form(
            tuple(on_one_line(excerpt(text, node.begin, node.outer_end, bare))),
            Message("all of it"),
        )
    )
    return found


def enclosed(
    text: Tree, block: Node, lines: Sequence[Line], above: bool, below: bool
) -> list[Line] | None:
    """Lines of a hunk, indented below the header of the block that holds them; None where that header cannot be written.

    Args:
        text: the text of the file.
        block: the block.
        lines: the lines.
        above: whether to write `...` above them, for further statements.
        below: the same below them.
    """
    owner = block.parent
    if owner is None or block.name == "inline" or not block.statements():
        return None
    if owner.kind in ("Try", "Else", "Finally") and not lines:
        return None
    inner = text.lines.indent(block.statements()[0].begin)
    outer = text.lines.indent(owner.start)
    step = inner[len(outer) :] if inner.startswith(outer) else text.indent
    run: list[Line] = [(" ", step + "...")]
    body: list[Line] = []
    offset, whole = 0, "\n".join(line for _, line in lines)
    inside = set(lines_in_strings(whole))
    for tag, line in lines:
        body.append((tag, step + line if line.strip() and offset not in inside else line))
        offset += len(line) + 1
    return [
        *tagged(" ", header(text, owner)),
        *(run if above else []),
        *body,
        *(run if below else []),
    ]
