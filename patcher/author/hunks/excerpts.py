"""Code as lines of a hunk.

They are excerpts of a text, with `...` for what did not change and `$V` for what does not matter.
"""

from __future__ import annotations

import re
from itertools import groupby
from keyword import iskeyword
from typing import AbstractSet, Callable, Iterable, Iterator, Sequence, Tuple

from patcher.author.hunks.differences import Pair, scope_of
from patcher.author.hunks.names import names_in
from patcher.engine.lex import BRACKETS, LAYOUT, lines_in_strings, tokens
from patcher.engine.tree import Node, Tree, same
from patcher.message import Message
from patcher.record import Record

Line = Tuple[str, str]
"""The tag (` `, `-` or `+`) and the code behind it."""
Hole = Tuple[int, int, str]
"""The start and the end of a piece of text (offsets), and what is written in its place."""
Holes = Sequence[Tuple[Hole, Hole]]
"""Pairs of a hole before an edit and the one after it that corresponds to it."""
ANY = {"String": "$string", "Integer": "$number", "Float": "$number"}
"""Written for a literal that is replaced, by its kind: other releases may have another one."""
OPEN = "$OLD"
"""Written for the old value of an assignment where releases have several: one literal or name."""
BEHIND = ", ..."
"""Written behind the last element of a list that changed, for those that other releases have."""
LISTS = ("args", "elements", "params", "names", "items", "decorators")
"""The fields of nodes that hold a list in which `...` may stand for elements."""

_BEFORE_ELEMENTS = frozenset(["", "(", "[", "{", ",", ":", ";"])
"""The tokens behind which a `...` would be read as a run."""
_LONG_TUPLE = 8  # elements from which a tuple is no record: none of them names another
_SENTENCE = 3  # words from which a text is a message
_WORD = re.compile(r"[^\W\d_]{2,}")
_LONGEST_LINE = 110  # code that would be longer is not joined to one line
_LONGEST_CONTEXT = 12  # lines of a compound statement that is written whole as context
_NEWLINE = re.compile(r"\r\n|\r|\n")
_INDENT = re.compile(r"[ \t]*")


class Form(Record):
    """One way to write a statement as context; `words` describe it to the user."""

    lines: tuple[str, ...]
    words: str


def excerpt(text: Tree, start: int, end: int, holes: Sequence[Hole] = ()) -> list[str]:
    """The lines of `[start, end)`, dedented, with the holes filled.

    What is inside strings keeps its indentation. An Ellipsis that would be read as a run is put in
    parentheses.
    """
    inside: list[Hole] = []
    for hole in sorted(holes):
        if start <= hole[0] and hole[1] <= end:
            inside.append(hole)
    inside += _ellipses(text, start, end, holes=inside)

    lines: list[str] = []
    line, at = "", start
    base = text.lines.indent(start)
    for begin, stop, new in [*sorted(inside), (end, end, "")]:
        while True:
            newline = _NEWLINE.search(text.text, at, begin)
            if newline is None:
                break
            lines.append(line + text.text[at : newline.start()])
            line, at = "", _past_indent(text, newline.end(), base)
            if at > begin:
                at = begin
                break
        *filled, line = (line + text.text[at:begin] + new).split("\n")
        lines += filled
        at = stop
    return [*lines, line]


def _ellipses(text: Tree, start: int, end: int, holes: Sequence[Hole]) -> list[Hole]:
    """The holes that put each Ellipsis of `[start, end)` which is no run in parentheses.

    That is one which begins a statement or is an element of a list, outside of these holes.
    """
    code = text.text[start:end]
    found: list[Hole] = []
    if "..." not in code:
        return found

    subscripts: list[bool] = []  # of each bracket that is open: whether it is that of a subscript
    before = ""  # the token before, empty where a statement begins
    for token in tokens(code):
        if token.kind == "newline" and not subscripts:
            before = ""
        if token.kind in LAYOUT:
            continue
        at = start + token.start
        is_hidden = any(first <= at < last for first, last, _ in holes)
        in_subscript = bool(subscripts) and subscripts[-1]
        is_element = before in _BEFORE_ELEMENTS and not in_subscript
        if token.kind == "run" and is_element and not is_hidden:
            found.append((at, start + token.end, "(...)"))

        if token.text in BRACKETS:
            is_operand = before[-1:].isalnum() or before[-1:] in {"_", ")", "]", "}", '"', "'"}
            subscripts.append(token.text == "[" and is_operand and not iskeyword(before))
        elif token.text in BRACKETS.values() and subscripts:
            subscripts.pop()
        before = token.text
    return found


def _past_indent(text: Tree, start: int, base: str) -> int:
    """Where the code of a line begins, of which the indentation `base` is taken."""
    if start in text.in_strings:
        return start
    if text.text.startswith(base, start):
        return start + len(base)
    indent = _INDENT.match(text.text, start)
    assert indent is not None  # it may be empty
    return indent.end()


def tagged(tag: str, lines: Iterable[str]) -> list[Line]:
    """The lines with one tag."""
    return [(tag, line) for line in lines]


def uncommented(lines: Sequence[str]) -> list[str]:
    """Lines of code without their comments."""
    text = "\n".join(lines)
    code = ""
    for token in tokens(text):
        if token.kind != "comment":
            code += token.text
    if code == text:
        return list(lines)
    return [line.rstrip() for line in code.split("\n")]


def on_one_line(lines: Sequence[str]) -> list[str]:
    """Lines of code joined to one.

    They stay where that would be too long, or they have comments, long strings or backslashes.
    """
    text = "\n".join(lines)
    if len(lines) == 1 or "#" in text or '"""' in text or "'''" in text or "\\\n" in text:
        return list(lines)
    joined = re.sub(r"\s*\n\s*", " ", text)
    joined = re.sub(r"([(\[{]) ", r"\1", joined)
    joined = re.sub(r",? ([)\]}])", r"\1", joined)
    return [joined] if len(joined) <= _LONGEST_LINE else list(lines)


# leaving out what did not change ----------------------------------------------------------------
def left_open(nodes: Sequence[Node]) -> Hole:
    """The hole by which consecutive elements of a list become `...`."""
    return nodes[0].outer_start, nodes[-1].outer_end, "..."


def untyped(node: Node) -> Hole:
    """The hole that leaves out the annotation of an assignment or a parameter.

    It may then be any (format rule 10).
    """
    name = node.items("targets")[0] if node.kind == "Assign" else node.node("name")
    default = node.fields.get("default")
    if isinstance(default, Node):
        return name.end, default.outer_start, "="
    return name.outer_end, node.node("annotation").outer_end, ""


def elided(pairs: Sequence[Pair]) -> Holes:
    """Holes by which runs of unchanged elements in the lists of `pairs` become `...`."""
    holes: list[tuple[Hole, Hole]] = []
    for old, new in pairs:
        if old.kind == "Assign" and _has_value(old) and _has_value(new):
            annotation = old.fields.get("annotation")
            if annotation is not None and same(annotation, new.fields.get("annotation")):
                holes.append((untyped(old), untyped(new)))
        if _may_elide(old):
            for key in LISTS:
                for old_run, new_run in _runs(old, old.items(key), new=new.items(key)):
                    holes.append((left_open(old_run), left_open(new_run)))
        holes += _not_closed(old, new)
        holes += _grown(old, new)
    return holes


def open_details(deleted: Sequence[Node], inserted: Sequence[Node]) -> list[Hole]:
    """The holes by which details of statements that go are left open: other releases have others.

    A message becomes any expression, unless the new code has words of it. A list becomes its first
    element and `...`, unless there is new code.
    """
    words = _words(inserted)
    holes: list[Hole] = []
    waiting = list(deleted)
    while waiting:
        node = waiting.pop()
        elements = node.items("elements")
        if _is_message(node) and not words & _words([node]):
            holes.append((node.outer_start, node.outer_end, "$_"))
        elif not inserted and _may_be_open(node):
            holes.append((elements[0].outer_end, elements[-1].outer_end, BEHIND))
        else:
            waiting += node.children()
    return sorted(holes)


def _may_be_open(node: Node) -> bool:
    """Whether a node is a list of several elements that `...` may stand for."""
    elements = node.items("elements")
    has_brackets = node.kind in ("List", "Set", "Dict") or node.parenthesised
    return len(elements) > 1 and has_brackets and _may_elide(node)


def _is_message(node: Node) -> bool:
    """Whether an expression is a text of several words, with values in it or without."""
    if node.kind == "BinaryOperation":
        return _is_message(node.node("left"))
    if node.kind == "Call" and node.node("func").kind == "Attribute":
        return _is_message(node.node("func").node("value"))
    return node.kind in ("String", "FString") and len(_words([node])) >= _SENTENCE


def _words(nodes: Sequence[Node]) -> set[str]:
    """The words in the strings of some code."""
    words: set[str] = set()
    for node in nodes:
        for part in node.walk():
            if part.kind in ("String", "FText"):
                words.update(_WORD.findall(str(part.fields["value"])))
    return words


def _has_value(node: Node) -> bool:
    return isinstance(node.fields.get("value"), Node)


def _not_closed(old: Node, new: Node) -> Holes:
    """The holes that leave a list open behind its last element, where that changed.

    Another release may have more of them. What is no list stays closed: a short tuple, and a call
    of one value.
    """
    key = "args" if old.kind == "Call" else "elements"
    old_elements, new_elements = old.items(key), new.items(key)
    if not old_elements or len(old_elements) != len(new_elements) or not _may_elide(old):
        return []
    is_literal = old.kind in ("List", "Set", "Dict") or len(old_elements) >= _LONG_TUPLE
    is_call = old.kind == "Call" and len(old_elements) > 1
    if not is_literal and not is_call:
        return []

    old_last, new_last = old_elements[-1], new_elements[-1]
    if same(old_last, new_last) or _differ_besides(old, new, key):
        return []
    return _open_behind(old_last, new_last)


def _grown(old: Node, new: Node) -> Holes:
    """The holes that leave a dictionary open behind the element that was its last one.

    A list is open there anyhow: this element tells that the braces are those of a dictionary.
    """
    old_elements, new_elements = old.items("elements"), new.items("elements")
    if old.kind != "Dict" or not 0 < len(old_elements) < len(new_elements):
        return []
    old_last, new_last = old_elements[-1], new_elements[len(old_elements) - 1]
    return _open_behind(old_last, new_last) if same(old_last, new_last) else []


def _open_behind(old_last: Node, new_last: Node) -> Holes:
    """The holes behind the last element of a list, unless that stands for several."""
    if "Star" in (old_last.kind, new_last.kind) or "DoubleStar" in (old_last.kind, new_last.kind):
        return []
    at, to = old_last.outer_end, new_last.outer_end
    return [((at, at, BEHIND), (to, to, BEHIND))]


def _differ_besides(old: Node, new: Node, key: str) -> bool:
    """Whether two nodes differ in another field than this one."""
    return any(not same(old.fields[name], new.fields[name]) for name in old.fields if name != key)


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
    old_calls, new_calls = _calls(old), _calls(new)
    holes: list[tuple[Hole, Hole]] = []
    for call in old_calls:
        twins = [other for other in new_calls if same(call, other)]
        alike = [other for other in old_calls if same(call, other)]
        if len(twins) != 1 or len(alike) != 1:
            continue
        if any(start <= call.start < end for (start, end, _), _ in holes):
            continue
        args = call.items("args")
        for old_run, new_run in _grouped(zip(args, twins[0].items("args")), _literals(args)):
            holes.append((left_open(old_run), left_open(new_run)))
    return holes


def _calls(node: Node) -> list[Node]:
    """The calls in a statement that pass anything."""
    return [part for part in node.walk() if part.kind == "Call" and part.items("args")]


def _may_elide(node: Node) -> bool:
    """Whether a list of this node is one in which `...` is a run (format rule 7)."""
    in_subscript = node.parent is not None and node.parent.kind == "Subscript"
    return not (node.kind == "Tuple" and in_subscript)


def _grouped(
    pairs: Iterable[Pair], stay: AbstractSet[Node]
) -> Iterator[tuple[list[Node], list[Node]]]:
    """Consecutive elements of two equal lists without those that stay, in groups."""
    for is_open, group in groupby(pairs, lambda pair: pair[0] not in stay):
        if is_open:
            old, new = zip(*group)
            yield list(old), list(new)


class _Block(Record):
    """Consecutive elements that two lists have in common: where they begin, and how many."""

    old: int
    new: int
    size: int

    @property
    def old_end(self) -> int:
        return self.old + self.size

    @property
    def new_end(self) -> int:
        return self.new + self.size


def unannotated_runs(old: Node, new: Node) -> Holes:
    """Holes by which parameters of both functions, whatever their annotations, become `...`."""
    old_params, new_params = old.node("params"), new.node("params")
    found = _runs(
        old_params,
        old_params.items("params"),
        new=new_params.items("params"),
        alike=is_same_parameter,
    )
    return [(left_open(old_run), left_open(new_run)) for old_run, new_run in found]


def is_same_parameter(one: Node, other: Node) -> bool:
    """Whether two parameters differ in their annotations alone."""
    if one.kind != other.kind:
        return False
    return all(
        same(one.fields[key], other.fields[key]) for key in one.fields if key != "annotation"
    )


def _runs(
    owner: Node,
    old: Sequence[Node],
    new: Sequence[Node],
    alike: Callable[[Node, Node], bool] = same,
) -> Iterator[tuple[list[Node], list[Node]]]:
    """Runs of elements that both lists have.

    Those beside an insertion or a deletion, which tell its place, are in none. Nor is what is the
    identity of an element that changed: the literals and names before it, of a list, a set or a
    long tuple the one directly before it.
    """
    common = _common(old, new, alike)
    for index, block in enumerate(common):
        above = common[index - 1] if index else _Block(0, 0, 0)
        below = common[index + 1] if index + 1 < len(common) else None
        inserted = below is not None and below.old == block.old_end
        removed = below is not None and below.new == block.new_end
        is_whole = block.size in (len(old), len(new))
        # `{...}` may be a set as well
        is_dict = is_whole and old[0].kind == "DictElement"
        # `(...)` is an Ellipsis
        is_tuple = is_whole and owner.kind == "Tuple" and block.size > 1
        is_at_end = block.old != block.new
        last = 1 if inserted or removed or is_dict or (is_tuple and not is_at_end) else 0

        deleted_above = block.old > above.old_end and block.new == above.new_end
        is_beside = deleted_above and old[block.old].kind != "Keyword"
        first = 1 if is_beside or (is_tuple and is_at_end) else 0

        old_run = old[block.old + first : block.old_end - last]
        new_run = new[block.new + first : block.new_end - last]
        identity = _identity(owner, old, new=new, block=block)
        yield from _grouped(zip(old_run, new_run), identity)


def _common(
    old: Sequence[Node], new: Sequence[Node], alike: Callable[[Node, Node], bool]
) -> list[_Block]:
    """What two lists have in common, in order: elements that are `alike`."""
    common: list[_Block] = []
    i = j = 0
    while i < len(old) and j < len(new):
        size = 0
        while i + size < len(old) and j + size < len(new):
            if not alike(old[i + size], new[j + size]):
                break
            size += 1
        if size:
            common.append(_Block(i, j, size))
            i, j = i + size, j + size
            continue
        ahead = next((k for k in range(j + 1, len(new)) if alike(old[i], new[k])), None)
        if ahead is not None:
            j = ahead
            continue
        if len(new) - j == len(old) - i:  # it was replaced, else deleted
            j += 1
        i += 1
    return common


def _identity(
    owner: Node, old: Sequence[Node], new: Sequence[Node], block: _Block
) -> AbstractSet[Node]:
    """The literals and names in a block that tell what changed behind it from others."""
    elements: Sequence[Node] = ()
    is_short_tuple = owner.kind == "Tuple" and len(old) == len(new) < _LONG_TUPLE
    rest = max(len(old) - block.old, len(new) - block.new)
    if (owner.kind == "Call" or is_short_tuple) and rest > block.size:
        elements = old[block.old : block.old_end]
    elif owner.kind in ("List", "Set", "Tuple") and len(old) > block.old_end:
        elements = old[block.old_end - 1 : block.old_end]
    return {node for node in elements if node.is_identity}


# statements -------------------------------------------------------------------------------------
def header(
    text: Tree, node: Node, general: bool = True, parameters: Sequence[Node] = ()
) -> list[str]:
    """The header of a compound statement or clause.

    If `general`, only the name of a `def` or `class`, and of these parameters of a `def`.
    """
    if not general or not node.is_definition:
        return on_one_line(excerpt(text, node.start, text.header_end(node)))
    name = str(node.node("name").fields["value"])
    if node.kind == "ClassDef":
        return [f"class {name}:"]
    asynchronous = "async " if node.fields.get("asynchronous") else ""
    params = "..." if node.node("params").items("params") else ""
    for parameter in parameters:
        default = "=$_" if parameter.fields.get("default") is not None else ""
        params += f", {parameter_name(parameter)}{default}, ..."
    return [f"{asynchronous}def {name}({params}):"]


def open_definition(text: Tree, node: Node) -> list[str]:
    """A definition that goes, with `...` for its body and parameters: all of it has to go."""
    head = header(text, node)[-1].rstrip(":")
    if node.kind == "ClassDef" and node.items("args"):
        head += "(...)"
    if node.fields.get("returns") is not None:
        head += " -> $_"
    return [*decorators(text, node), f"{head}:", text.indent + "..."]


def is_one_of_several(text: Tree, node: Node) -> bool:
    """Whether a node is a definition, and the file has another one of its qualified name."""
    return node.is_definition and text.definitions[scope_of(node)] > 1


def decorators(text: Tree, node: Node) -> list[str]:
    """The decorators of a definition, each on its lines."""
    lines: list[str] = []
    for decorator in node.items("decorators"):
        lines += excerpt(text, decorator.start, decorator.end)
    return lines


def parameter_name(parameter: Node) -> str:
    """The name of a parameter."""
    return str(parameter.node("name").fields["value"])


def opened(text: Tree, node: Node) -> list[str]:
    """The header of a compound statement or clause, with `...` for its body."""
    return [*header(text, node), text.indent + "..."]


def heads(text: Tree, node: Node) -> list[list[str]]:
    """The beginnings of a compound statement.

    That is its header with `...` for its body, then with the first statement of that.
    """
    first = node.node("body").statements()[0]
    if first.is_compound:
        return [opened(text, node)]
    body = _begun_body(text, node, on_one_line(verbatim(text, first)))
    return [opened(text, node), [*header(text, node), *body]]


def open_beginning(text: Tree, node: Node) -> list[str]:
    """The body of a compound statement by its first statement, in the most general form of that.

    It is indented, below a header.
    """
    first = node.node("body").statements()[0]
    return _begun_body(text, node, forms(text, first)[0].lines)


def _begun_body(text: Tree, node: Node, first: Sequence[str]) -> list[str]:
    """The body of a compound statement by the lines of its first statement, indented."""
    more = node.node("body").statements()[1:]
    lines = [*first, "..."] if more else first
    return [text.indent + line for line in lines]


def verbatim(text: Tree, node: Node) -> list[str]:
    """All of a statement."""
    return excerpt(text, node.begin, node.outer_end)


def verbatim_all(text: Tree, nodes: Iterable[Node]) -> list[str]:
    """All of several statements."""
    lines: list[str] = []
    for node in nodes:
        lines += verbatim(text, node)
    return lines


def comment_behind(text: Tree, node: Node) -> str:
    """The comment behind a statement on its last line, "" for none."""
    return _comment_from(text, node.outer_end)


def comment_behind_header(text: Tree, node: Node) -> str:
    """The comment behind the header of a compound statement, "" for none."""
    return _comment_from(text, text.header_end(node))


def _comment_from(text: Tree, offset: int) -> str:
    """The comment from an offset on, up to the end of the line; "" where code follows."""
    tail = text.text[offset : text.lines.end(offset - 1)].strip()
    return tail if tail.startswith("#") else ""


def forms(
    text: Tree,
    node: Node,
    suffix: str = "",
    *,
    literals: bool = False,
    names: AbstractSet[str] = frozenset(),
) -> list[Form]:
    """The ways to write a statement, the most general first.

    Args:
        text: the text of the file.
        node: the statement.
        suffix: makes the names of placeholders unique.
        literals: whether literal arguments stay, of a statement that is more than context.
        names: those that the statement is written for: arguments that have them stay in one way.
    """
    if node.is_compound:
        return _compound_forms(text, node)

    found: list[Form] = []

    def add(holes: Sequence[Hole], words: str) -> None:
        lines = excerpt(text, node.begin, node.outer_end, holes=holes)
        found.append(Form(tuple(on_one_line(lines)), words))

    if node.kind == "ImportFrom" and _is_in_function(node):
        names_imported = node.items("names")
        if names_imported:
            add([left_open(names_imported)], Message("what it imports left open"))

    value = node.fields.get("value")
    bare: list[Hole] = []
    has_annotation = node.kind == "Assign" and node.fields.get("annotation") is not None
    if has_annotation and isinstance(value, Node) and not literals:
        bare.append(untyped(node))

    is_assignment = node.kind in ("Assign", "AugAssign")
    if is_assignment and isinstance(value, Node) and value.kind not in ("Name", "Integer"):
        hole = (value.outer_start, value.outer_end, f"$V{suffix}")
        add([*bare, hole], Message("its value left open"))

    for call in (value, node.fields.get("exc")):
        if not isinstance(call, Node) or call.kind != "Call" or not call.items("args"):
            continue
        args = call.items("args")
        stay = _literals(args) if literals else set()
        holes = [left_open(run) for run, _ in _grouped(zip(args, args), stay)]
        add(holes, Message("its arguments left open"))
        if len(args) > 1 and args[0].kind == "String" and not literals:
            add([left_open(args[1:])], Message("its first argument"))
        named = {arg for arg in args if names and names_in([arg]) & names}
        stay = named | _literals(args)
        if named and len(stay) < len(args):
            holes = [left_open(run) for run, _ in _grouped(zip(args, args), stay)]
            add(holes, Message("the arguments that share a name with the new code"))

    add(bare, Message("all of it"))
    return found


def _is_in_function(node: Node) -> bool:
    """Whether a statement is inside a function: there the module tells one import from others."""
    owner = next((each for each in node.ancestors() if each.is_definition), None)
    return owner is not None and owner.kind == "FunctionDef"


def _compound_forms(text: Tree, node: Node) -> list[Form]:
    """The ways to write a compound statement, the most general first."""
    found: list[Form] = []
    if node.header():
        found.append(Form(tuple(opened(text, node)), Message("its header alone")))
        if is_one_of_several(text, node):
            decorated = [*decorators(text, node), *opened(text, node)]
            found.append(Form(tuple(decorated), Message("its header and its decorators")))
    else:
        for lines in heads(text, node)[1:]:
            found.append(Form(tuple(lines), Message("its beginning")))
    whole = verbatim(text, node)
    if len(whole) <= _LONGEST_CONTEXT:
        found.append(Form(tuple(whole), Message("all of it")))
    return found


def enclosed(
    text: Tree,
    block: Node,
    lines: Sequence[Line],
    *,
    above: bool,
    below: bool,
    parameters: Sequence[Node] = (),
) -> list[Line] | None:
    """Lines of a hunk, indented below the header of the block that holds them.

    Args:
        text: the text of the file.
        block: the block.
        lines: the lines.
        above: whether to write `...` above them, for further statements.
        below: the same below them.
        parameters: those that the header has, of a function.

    Returns:
        the lines, None where that header cannot be written.
    """
    owner = block.parent
    if owner is None or block.name == "inline" or not block.statements():
        return None
    if owner.kind in ("Try", "Else", "Finally") and not lines:
        return None

    inner = text.lines.indent(block.statements()[0].begin)
    outer = text.lines.indent(owner.start)
    step = inner[len(outer) :] if inner.startswith(outer) else text.indent
    enclosed_lines = tagged(" ", header(text, owner, parameters=parameters))
    if above:
        enclosed_lines.append((" ", step + "..."))
    enclosed_lines += _indented(lines, step)
    if below:
        enclosed_lines.append((" ", step + "..."))
    return enclosed_lines


def _indented(lines: Sequence[Line], step: str) -> Iterator[Line]:
    """Lines of a hunk, indented; what is inside strings stays as it is, and so do blank lines."""
    text = "\n".join(line for _, line in lines)
    in_strings = set(lines_in_strings(text))
    offset = 0
    for tag, line in lines:
        stays = not line.strip() or offset in in_strings
        yield tag, line if stays else step + line
        offset += len(line) + 1
