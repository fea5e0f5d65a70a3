"""The small changes of a source text that `tools.mutants` tries: text in, texts out."""

import ast
import re
from typing import NamedTuple

SWAPPED = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "in": "not in",
    "not in": "in",
    "is": "is not",
    "is not": "is",
    "and": "or",
    "or": "and",
    "+": "-",
    "-": "+",
    "*": "//",
    "//": "*",
    "%": "//",
    "|": "&",
    "&": "|",
    "<<": ">>",
    ">>": "<<",
    "^": "&",
    "/": "*",
    "**": "*",
}
CALLED = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "startswith": "endswith",
    "endswith": "startswith",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "find": "rfind",
    "rfind": "find",
    "partition": "rpartition",
    "rsplit": "split",
    "rpartition": "partition",
    "stat": "lstat",
    "lstat": "stat",
    "isdisjoint": "issubset",
    "issubset": "isdisjoint",
    "fullmatch": "match",
    "match": "search",
}
OPERATORS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.And: "and",
    ast.Or: "or",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitXor: "^",
    ast.Div: "/",
    ast.Pow: "**",
}
# `+` and `%` of these have no counterpart: every test would see it
TEXTS = (ast.JoinedStr, ast.List, ast.Tuple)


class Mutant(NamedTuple):
    """One change.

    `function` is qualified, empty at the top level; `old` and `new` are the lines that differ,
    stripped.
    """

    module: str
    function: str
    line: int
    old: str
    new: str
    source: bytes

    @property
    def key(self):
        """What it is known by, wherever it moves."""
        return self.module, self.function, self.old, self.new


def mutants(module, source):
    """Every change of `source` (bytes, UTF-8) that is still Python.

    Those that only change a message or a type are left out.
    """
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    seen = {source}
    for edit in sorted(finder.edits, key=lambda edit: (edit.start, edit.end)):
        new = edit.new.encode()
        changed = source[: edit.start] + new + source[edit.end :]
        if changed in seen or not _compiles(changed):
            continue
        seen.add(changed)
        first = source.rfind(b"\n", 0, edit.start) + 1
        last = source.find(b"\n", edit.end)
        yield Mutant(
            module=module,
            function=edit.function,
            line=source.count(b"\n", 0, edit.start) + 1,
            old=_stripped(source[first:last]),
            new=_stripped(source[first : edit.start] + new + source[edit.end : last]),
            source=changed,
        )


def _stripped(lines):
    return "\n".join(line.strip() for line in lines.decode().splitlines())


def _compiles(source):
    try:
        compile(source, "<mutant>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


class Edit(NamedTuple):
    """What stands in the bytes `[start, end)`, in a function, becomes `new`."""

    function: str
    start: int
    end: int
    new: str


class _Finder(ast.NodeVisitor):
    """Collects the edits of a text.

    `names` are those of the scopes around the visited node, `message` is whether it is in a
    `raise`, and `starts` are the offsets of the lines.
    """

    def __init__(self, source):
        self.source = source
        self.edits = []
        self.names = []
        self.message = False
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node):
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        return start, end

    def replace(self, node, new):
        self.put(*self.span(node), new)

    def put(self, start, end, new):
        self.edits.append(Edit(".".join(self.names), start, end, new))

    def between(self, left, right, operator):
        """Swap the operator that stands between two nodes."""
        word = OPERATORS.get(type(operator))
        if not word:
            return
        start, end = self.span(left)[1], self.span(right)[0]
        pattern = rb"\s+".join(map(re.escape, word.encode().split()))
        place = re.search(pattern, self.source[start:end])
        if place:
            self.put(start + place.start(), start + place.end(), SWAPPED[word])

    def scope(self, node):
        self.names.append(node.name)
        for name, value in ast.iter_fields(node):
            if name in ("body", "args", "decorator_list"):
                for each in value if isinstance(value, list) else [value]:
                    self.visit(each)
        self.names.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = scope

    def visit_arguments(self, node):
        for default in [*node.defaults, *filter(None, node.kw_defaults)]:
            self.visit(default)

    def visit_AnnAssign(self, node):
        if node.value:
            self.visit(node.value)

    def visit_JoinedStr(self, node):
        """The parts of an f-string have no positions before Python 3.12, and most are messages."""

    def visit_Compare(self, node):
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, node.comparators):
            self.between(left, right, operator)
            self.empty(left)
            self.empty(right)
        self.generic_visit(node)

    def empty(self, node):
        """Make a text that something is compared with an empty one."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)) and node.value:
            self.replace(node, repr(node.value[:0]))

    def visit_BoolOp(self, node):
        for left, right in zip(node.values, node.values[1:]):
            self.between(left, right, node.op)
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if not _is_text(node.left) and not _is_text(node.right):
            self.between(node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self.put(self.span(node)[0], self.span(node.operand)[0], "")
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self.replace(node, str(not node.value))
        elif isinstance(node.value, (int, float)) and not self.message:
            self.replace(node, str(node.value + 1))

    def visit_Call(self, node):
        called = node.func
        name = getattr(called, "id", getattr(called, "attr", None))
        if name in CALLED:
            end = self.span(called)[1]
            self.put(end - len(name), end, CALLED[name])
        if name == "cast":
            node.args = node.args[1:]
        self.generic_visit(node)

    def visit_Slice(self, node):
        for bound in filter(None, (node.lower, node.upper)):
            if not isinstance(bound, ast.Constant):
                self.replace(bound, "")
        self.generic_visit(node)

    def test(self, node):
        """What a condition decides: both answers are tried."""
        is_typing = getattr(node.test, "id", None) == "TYPE_CHECKING"
        if not isinstance(node.test, ast.Constant) and not is_typing:
            self.replace(node.test, "False")
            if not isinstance(node, ast.While):
                self.replace(node.test, "True")
        self.generic_visit(node)

    visit_If = visit_IfExp = visit_While = test

    def visit_comprehension(self, node):
        for each in node.ifs:
            self.replace(each, "True")
        self.generic_visit(node)

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self.gone(node)

    def gone(self, node, instead="pass"):
        self.replace(node, instead)
        self.generic_visit(node)

    visit_AugAssign = visit_Break = visit_Continue = visit_Delete = gone

    def visit_Assign(self, node):
        changes = any(isinstance(each, (ast.Subscript, ast.Attribute)) for each in node.targets)
        if changes and self.names[-1:] != ["__init__"]:
            self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Return(self, node):
        if node.value and getattr(node.value, "value", "") not in (None, True, False):
            self.replace(node, "return None")
        self.generic_visit(node)

    def visit_Raise(self, node):
        before = self.message
        self.message = True
        self.gone(node)
        self.message = before


def _is_text(node):
    return isinstance(node, TEXTS) or isinstance(getattr(node, "value", None), (str, bytes))
