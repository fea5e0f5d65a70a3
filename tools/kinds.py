"""The kinds of random edits of `tools.edits`: each makes the parts of an edit, or none.

They draw by chance in a fixed order, so that a seed and a number make the same edit again.
"""

from __future__ import annotations

import ast
import re
from random import Random
from typing import Callable, NamedTuple, Sequence, Tuple

from tests.engine import corpus

Part = Tuple[int, int, bytes]
"""Replace the bytes from one offset to another."""
Parts = Sequence[Part]


class Lines(NamedTuple):
    """The bytes of whole lines, and their indentation."""

    start: int
    end: int
    margin: bytes

    def indented(self, text: bytes) -> bytes:
        """Lines of code in this indentation."""
        return b"".join(self.margin + line + b"\n" for line in text.splitlines())


class Place(NamedTuple):
    """A function of a file, in which something is to be edited."""

    data: bytes
    function: corpus.Function
    node: ast.FunctionDef
    random: Random

    def span(self, node: ast.AST) -> tuple[int, int]:
        return corpus.span(self.function, node)

    def own_lines(self, node: ast.stmt) -> Lines | None:
        """The whole lines of a statement; None where it shares them with other code."""
        starts = corpus.line_starts(self.data)
        last = node.end_lineno or node.lineno
        start = starts[node.lineno - 1]
        end = starts[last] if last < len(starts) else len(self.data)
        margin = self.data[start : self.span(node)[0]]
        rest = self.data[self.span(node)[1] : end].strip()
        ends = self.data[end - 1 : end] == b"\n"
        if margin.strip() or not ends or (rest and not rest.startswith(b"#")):
            return None
        return None if getattr(node, "decorator_list", ()) else Lines(start, end, margin)

    def statement(self) -> ast.stmt | None:
        """Some statement on lines of its own; no docstring."""
        found = []
        for node in corpus.statements(self.node):
            if self.own_lines(node) and not _is_text(node):
                found.append(node)
        return self.random.choice(found) if found else None

    def statement_lines(self) -> tuple[ast.stmt, Lines] | None:
        """`statement` with its lines."""
        node = self.statement()
        lines = self.own_lines(node) if node else None
        return (node, lines) if node and lines else None

    def expression(self, *kinds: type) -> ast.AST | None:
        """Some expression of these kinds that is read, and not in a string."""
        inside = corpus.within_strings(self.node)
        found = []
        for node in ast.walk(self.node):
            if isinstance(node, kinds) and id(node) not in inside and not corpus.stored(node):
                found.append(node)
        return self.random.choice(found) if found else None


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# names ----------------------------------------------------------------------------------------
def rename(place: Place) -> Parts:
    """A local has another name."""
    nodes = [node for node in ast.walk(place.node) if isinstance(node, ast.Name)]
    names = sorted({node.id for node in nodes if corpus.stored(node)})
    if not names or corpus.within_strings(place.node):
        return ()
    name = place.random.choice(names)
    new = f"{name}_renamed".encode()
    return [(*place.span(node), new) for node in nodes if node.id == name]


def attribute(place: Place) -> Parts:
    """An attribute has another name."""
    node = place.expression(ast.Attribute)
    if not isinstance(node, ast.Attribute):
        return ()
    end = place.span(node)[1]
    return [(end - len(node.attr), end, f"{node.attr}_renamed".encode())]


# statements -----------------------------------------------------------------------------------
NEW_STATEMENTS = [
    'print("edited")',
    "made_up = None",
    "if not __debug__:\n    return",
    "# why\nprint(1)  # here",
    "assert True, 'edited'",
    "for number in range(3):\n    print(number)",
    "print(\n    1,\n    2,\n)",
]
INSTEAD = [b"print(0)", b"raise ValueError('edited')", b"made_up = [1, 2]\nprint(made_up)"]


def _wrapped(place: Place, header: str, below: str) -> Parts:
    """A statement below a header, with lines behind it."""
    found = place.statement_lines()
    if found is None:
        return ()
    node, lines = found
    text = place.data[lines.start : lines.end]
    spans_lines = b'"""' in text or b"'''" in text or b"\\\n" in text
    if spans_lines or isinstance(node, (ast.Return, ast.Global, ast.Nonlocal)):
        return ()
    new = lines.indented(header.encode())
    for line in text.splitlines(True):
        new += b"    " + line if line.strip() else line
    return [(lines.start, lines.end, new + lines.indented(below.encode()))]


def wrap_in_if(place: Place) -> Parts:
    """A statement gets an `if` around it."""
    arguments = place.node.args.args
    name = arguments[-1].arg if arguments else "__debug__"
    headers = [f"if {name} is not None:", "if __debug__:", f"if not {name}:"]
    return _wrapped(place, place.random.choice(headers), "")


def wrap_in_try(place: Place) -> Parts:
    """A statement gets a `try` around it."""
    ends = ["except ValueError:\n    pass", "finally:\n    print()"]
    return _wrapped(place, "try:", place.random.choice(ends))


def insert(place: Place) -> Parts:
    """A statement comes, before or behind another one."""
    found = place.statement_lines()
    if found is None:
        return ()
    node, lines = found
    new = place.random.choice(NEW_STATEMENTS)
    is_behind = place.random.choice([False, False, True])
    ends_block = isinstance(node, (ast.Return, ast.Raise, ast.Continue, ast.Break))
    at = lines.end if is_behind and not ends_block else lines.start
    return [(at, at, lines.indented(new.encode()))]


def delete(place: Place) -> Parts:
    """A statement goes that is not the only one of its block."""
    found = []
    for block in corpus.blocks(place.node):
        for node in block:
            if len(block) > 1 and isinstance(node, ast.stmt) and not _is_text(node):
                lines = place.own_lines(node)
                if lines:
                    found.append(lines)
    if not found:
        return ()
    lines = place.random.choice(found)
    return [(lines.start, lines.end, b"")]


def replace(place: Place) -> Parts:
    """A statement becomes another one."""
    found = place.statement_lines()
    new = place.random.choice(INSTEAD)
    if found is None:
        return ()
    _, lines = found
    return [(lines.start, lines.end, lines.indented(new))]


# texts and numbers ----------------------------------------------------------------------------
def literal(place: Place) -> Parts:
    """A literal has another value."""
    node = place.expression(ast.Constant)
    if not isinstance(node, ast.Constant):
        return ()
    start, end = place.span(node)
    text = place.data[start:end]
    if isinstance(node.value, bool) or node.value is None:
        return [(start, end, place.random.choice([b"True", b"False", b"None"]))]
    if isinstance(node.value, (int, float)):
        return [(start, end, str(abs(node.value) * 2 + 1).encode())] if text.isdigit() else ()
    if isinstance(node.value, str) and re.fullmatch(rb"(\"|')[\w ,.:%-]+\1", text):
        more = place.random.choice([b" edited", b"s", b", or not"])
        return [(start, end, text[:-1] + more + text[-1:])]
    return ()


def docstring(place: Place) -> Parts:
    """A word of the docstring is another one."""
    first = place.node.body[0]
    if not _is_text(first) or not ast.get_docstring(place.node):
        return ()
    start, end = place.span(first)
    words = list(re.finditer(rb"\b[a-z]{3,}\b", place.data[start + 3 : end - 3]))
    if not words:
        return ()
    word = place.random.choice(words)
    return [(start + 3 + word.start(), start + 3 + word.end(), b"edited")]


# headers and imports --------------------------------------------------------------------------
def signature(place: Place) -> Parts:
    """The function has another parameter at its end."""
    arguments = place.node.args
    if arguments.posonlyargs or arguments.vararg or arguments.kwonlyargs or arguments.kwarg:
        return ()
    if not arguments.args:
        at = place.data.index(b"(", place.span(place.node)[0]) + 1
        return [(at, at, b"made_up=None")] if place.data[at : at + 1] == b")" else ()

    parts: list[ast.expr | ast.arg] = [*arguments.args, *arguments.defaults]
    if arguments.args[-1].annotation:
        parts.append(arguments.args[-1].annotation)
    end = max(place.span(part)[1] for part in parts)
    if place.data[end : end + 1] not in (b")", b","):
        return ()
    start_of_line = place.data.rindex(b"\n", 0, end)
    line = place.data[start_of_line + 1 : end]
    between = b", "
    if place.data[:start_of_line].rstrip()[-1:] in (b",", b"("):  # one a line
        between = b",\n" + line[: len(line) - len(line.lstrip())]
    return [(end, end, between + b"made_up=None")]


def decorator(place: Place) -> Parts:
    """The function loses its first decorator, or gets another one."""
    starts = corpus.line_starts(place.data)
    decorators = place.node.decorator_list
    if decorators and place.random.random() < 0.3:
        node = decorators[0]
        if node.lineno == node.end_lineno:
            return [(starts[node.lineno - 1], starts[node.lineno], b"")]
    start = starts[place.node.lineno - 1]
    margin = place.data[start : place.span(place.node)[0]]
    new = place.random.choice([b"@staticmethod", b"@property"])
    return () if margin.strip() else [(start, start, margin + new + b"\n")]


IMPORTS = [b"import made_up_by_a_test\n", b"from made_up import by_a_test\n", b"import colorsys\n"]


def imported(place: Place) -> Parts:
    """An import comes, behind those of the module or in the function."""
    new = place.random.choice(IMPORTS)
    starts = corpus.line_starts(place.data)
    ends = []
    for node in ast.parse(place.data).body:
        is_import = isinstance(node, (ast.Import, ast.ImportFrom))
        if is_import and (node.end_lineno or 0) < len(starts):
            ends.append(starts[node.end_lineno or 0])
    if not ends or place.random.random() < 0.2:
        first = place.node.body[0]
        lines = None if _is_text(first) else place.own_lines(first)
        return [(lines.start, lines.start, lines.margin + new)] if lines else ()
    at = ends[-1]
    return [(at, at, new)] if place.data[at - 1 : at] == b"\n" else ()


# expressions ----------------------------------------------------------------------------------
def keyword(place: Place) -> Parts:
    """A keyword argument has another value, or comes."""
    node = place.expression(ast.Call)
    if not isinstance(node, ast.Call):
        return ()
    if any(isinstance(each, ast.GeneratorExp) for each in node.args):
        return ()
    named = [each for each in node.keywords if each.arg]
    if named and place.random.random() < 0.5:
        value = place.random.choice(named).value
        new = place.random.choice([b"None", b"dict(a=1)", b"[1, 2]"])
        return [(*place.span(value), new)]
    if len(named) < len(node.keywords):
        return ()
    arguments = [*node.args, *(each.value for each in node.keywords)]
    at = place.span(node)[1] - 1
    if arguments:
        at = max(place.span(each)[1] for each in arguments)
    new = b", made_up=1" if arguments else b"made_up=1"
    return [(at, at, new)] if place.data[at : at + 1] in (b")", b",") else ()


OTHER_SIGNS = {b"==": b"!=", b"<": b"<=", b">": b">=", b"in": b"not in"}


def operator(place: Place) -> Parts:
    """A comparison or a condition is another one."""
    node = place.expression(ast.Compare, ast.BoolOp)
    if node is None:
        return ()
    start, end = place.span(node)
    text = place.data[start:end]
    if b"\n" in text:
        return ()
    if isinstance(node, ast.BoolOp):
        more = b" and __debug__" if isinstance(node.op, ast.And) else b" or __debug__"
        return [(start, end, text + more)]
    assert isinstance(node, ast.Compare)
    if place.random.random() < 0.7 and isinstance(node.ops[0], (ast.Eq, ast.Lt, ast.Gt, ast.In)):
        left = place.span(node.left)[1]
        right = place.span(node.comparators[0])[0]
        sign = place.data[left:right]
        new = re.sub(rb"==|<|>|\bin\b", lambda match: OTHER_SIGNS[match[0]], sign)
        return [(left, right, new)]
    return [(start, end, b"not (" + text + b")")]


def swap(place: Place) -> Parts:
    """The first two operands of a condition change places."""
    node = place.expression(ast.BoolOp)
    if not isinstance(node, ast.BoolOp):
        return ()
    (start, end), (other_start, other_end) = (place.span(value) for value in node.values[:2])
    first, second = place.data[start:end], place.data[other_start:other_end]
    spans_lines = b"\n" in first + second
    has_parentheses = b"(" in place.data[end:other_start] or b")" in place.data[end:other_start]
    if spans_lines or has_parentheses or first == second:
        return ()
    return [(start, end, second), (other_start, other_end, first)]


def move_decorator(place: Place) -> Parts:
    """The first two decorators change places, each with its line and the comments above it."""
    if len(place.node.decorator_list) < 2:
        return ()
    starts = corpus.line_starts(place.data)
    first, second = place.node.decorator_list[:2]
    if first.lineno != first.end_lineno or second.lineno != second.end_lineno:
        return ()
    begin, between = starts[first.lineno - 1], starts[first.lineno]
    end = starts[second.lineno]
    one, other = place.data[begin:between], place.data[between:end]
    return [(begin, end, other + one)]


def several(place: Place) -> Parts:
    """Two edits of other kinds in one function."""
    parts: list[Part] = []
    for kind in place.random.sample([literal, insert, delete, keyword, attribute, wrap_in_if], 3):
        new = kind(place)
        if not any(_meet(one, other) for one in new for other in parts):
            parts += new
    return parts if len(parts) > 1 else ()


def _meet(one: Part, other: Part) -> bool:
    if one[:2] == other[:2]:
        return True
    return one[0] < other[1] and other[0] < one[1]


KINDS: dict[str, Callable[[Place], Parts]] = {
    each.__name__: each
    for each in (
        rename,
        attribute,
        wrap_in_if,
        wrap_in_try,
        insert,
        delete,
        replace,
        literal,
        docstring,
        signature,
        decorator,
        imported,
        keyword,
        operator,
        swap,
        move_decorator,
        several,
    )
}
