"""The engine's syntax tree: it has no nodes for layout, and each node has the range of its text."""

from __future__ import annotations

from typing import Callable, Iterable, Iterator, List, Sequence, Tuple, Union

KNOWN, UNKNOWN = "known", "unknown"
"""The field `escape` of a string: whether Python knows its escapes; most have no such field."""
Span = Tuple[int, int, int, int]
Value = Union[None, str, "Node", List["Node"]]

DEFINITIONS = frozenset(["FunctionDef", "ClassDef"])
COMPOUND = DEFINITIONS | frozenset(["If", "For", "While", "Try", "With", "Match"])
_SIMPLE = (
    "Expr Assign AugAssign Return Raise Pass Break Continue Del Global Nonlocal "
    "Import ImportFrom Assert TypeAlias Opaque"
)
STATEMENTS = COMPOUND | frozenset(_SIMPLE.split())
CLAUSES = frozenset(["Elif", "Else", "Except", "ExceptStar", "Finally", "Case"])
_WITH_LINES = STATEMENTS | CLAUSES
_WITH_BODY = COMPOUND | CLAUSES
_CASE_PATTERNS = (
    "MatchValue MatchSingleton MatchList MatchTuple MatchMapping MatchClass MatchAs MatchOr"
)
CASE_PATTERNS = frozenset(_CASE_PATTERNS.split())
_PARTS = """
    Block Star DoubleStar Keyword Parameters Param Slash BareStar Alias WithItem Decorator CompFor
    CompIf FText FExpr Operator ComparisonTarget DictElement Slice TypeParameters TypeParam TypeVar
    TypeVarTuple ParamSpec From MatchStar MatchMappingElement MatchKeywordElement
"""
_NOT_EXPRESSIONS = frozenset().union(STATEMENTS, CLAUSES, CASE_PATTERNS, _PARTS.split())


class SyntaxProblem(Exception):
    """A text that is not Python, or that cannot be parsed for matching.

    `line` is 1-based (0 where there is none), `column` 0-based.
    """

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class Node:
    """One piece of syntax.

    `start` and `end` are character offsets without, `outer_start` and `outer_end` with the
    parentheses around it. `role` is "" for code, `meta` for `$NAME`, `option` for `$name`,
    `literal` for `$string` and `$number`, `run` for `...` (patterns only); `name` names those. A
    one-line suite is a `Block` named "inline".
    `absent` are the fields of a pattern in which the code must have nothing that the pattern lacks.
    """

    __slots__ = (
        "absent",
        "end",
        "fields",
        "kind",
        "name",
        "outer_end",
        "outer_start",
        "parent",
        "role",
        "start",
    )

    def __init__(self, kind: str, span: Span, **fields: Value) -> None:
        self.kind = kind
        self.outer_start, self.start, self.end, self.outer_end = span
        self.fields: dict[str, Value] = fields
        self.role = ""
        self.name = ""
        self.absent: tuple[str, ...] = ()
        self.parent: Node | None = None

    def copied(self, shift: int) -> Node:
        """A copy with all that is below it, moved by some characters; it has no parent."""
        fields: dict[str, Value] = {}
        span = (
            self.outer_start + shift,
            self.start + shift,
            self.end + shift,
            self.outer_end + shift,
        )
        copy = Node(self.kind, span)
        for key, value in self.fields.items():
            if isinstance(value, Node):
                value = value.copied(shift)
                value.parent = copy
            elif isinstance(value, list):
                value = [child.copied(shift) for child in value]
                for child in value:
                    child.parent = copy
            fields[key] = value
        copy.fields = fields
        copy.role, copy.name, copy.absent = self.role, self.name, self.absent
        return copy

    def __repr__(self) -> str:
        if self.role and self.name:
            return f"{self.role}({self.name})"
        fields = []
        for key, value in self.fields.items():
            if value not in (None, [], ""):
                fields.append(f"{key}={value!r}")
        return f"{self.role or self.kind}({', '.join(fields)})"

    @property
    def begin(self) -> int:
        """Where a statement begins, its decorators included."""
        decorators = self.items("decorators")
        return decorators[0].start if decorators else self.start

    @property
    def parenthesised(self) -> bool:
        """Whether an expression has parentheses around it."""
        return self.outer_start < self.start

    # what sort of node it is ----------------------------------------------------------------------
    @property
    def is_definition(self) -> bool:
        """Whether it is a `def` or a `class`."""
        return self.kind in DEFINITIONS

    @property
    def is_compound(self) -> bool:
        """Whether it is a statement with a body."""
        return self.kind in COMPOUND

    @property
    def is_clause(self) -> bool:
        """Whether it is an `else`, an `except` and the like."""
        return self.kind in CLAUSES

    @property
    def has_body(self) -> bool:
        """Whether it is a compound statement or a clause."""
        return self.kind in _WITH_BODY

    @property
    def has_lines(self) -> bool:
        """Whether it has lines of its own: a statement or a clause."""
        return self.kind in _WITH_LINES

    @property
    def is_expression(self) -> bool:
        """Whether it is an expression, to which a metavariable can be bound."""
        return self.kind not in _NOT_EXPRESSIONS

    @property
    def is_literal(self) -> bool:
        """Whether it is a literal that `$option` matches.

        In a pattern another `$option` counts as one.
        """
        if self.role in ("option", "literal"):
            return True
        if self.kind == "UnaryOperation":
            is_negative = self.node("operator").fields["value"] == "-"
            return is_negative and self.node("expression").is_literal
        if self.kind == "Name":
            return self.fields["value"] in ("True", "False", "None")
        return self.kind in ("Integer", "Float", "String")

    @property
    def literal_kind(self) -> str:
        """The kind of a literal, of `-1` that of `1`; "" for any other node."""
        if not self.is_literal:
            return ""
        return self.node("expression").literal_kind if self.kind == "UnaryOperation" else self.kind

    @property
    def is_identity(self) -> bool:
        """Whether an element of a list, or the value of a keyword, is a literal or a name.

        It identifies the list: in `cfg.get("debug", False)` that is "debug", and with `...` in its
        place this would be any call of `cfg.get`.
        """
        node = self.node("value") if self.kind == "Keyword" else self
        if node.is_literal or node.kind == "Name":
            return True
        return node.kind == "Attribute" and all(child.is_identity for child in node.children())

    @property
    def is_text(self) -> bool:
        """Whether this statement is a string alone: a docstring if it is the first of its block."""
        if self.name == "text":
            return True
        value = self.fields.get("value")
        return self.kind == "Expr" and isinstance(value, Node) and value.kind == "String"

    # its parts ------------------------------------------------------------------------------------
    def children(self) -> list[Node]:
        """The nodes directly below this one, in the order of the fields."""
        nodes: list[Node] = []
        for value in self.fields.values():
            if isinstance(value, Node):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += value
        return nodes

    def walk(self) -> Iterator[Node]:
        """This node and all its descendants, in the order of the fields."""
        return self.reachable(module=False)

    def reachable(self, module: bool) -> Iterator[Node]:
        """As `walk`; with `module` without the bodies of definitions (format rule 2)."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            below = node.children()
            if module and node.is_definition:
                below.remove(node.node("body"))
            waiting += reversed(below)

    def node(self, field: str) -> Node:
        """The node in a field that always holds one."""
        value = self.fields[field]
        assert isinstance(value, Node)
        return value

    def items(self, field: str) -> list[Node]:
        """The nodes of a list field; empty where the field is absent."""
        value = self.fields.get(field)
        return value if isinstance(value, list) else []

    def statements(self) -> list[Node]:
        """The statements of a block, its docstring among them."""
        doc = self.fields.get("doc")
        statements = [doc] if isinstance(doc, Node) else []
        return statements + self.items("body")

    def header(self) -> list[Node]:
        """The parts of a compound statement or clause before its `:`, without decorators."""
        parts: list[Node] = []
        for key, value in self.fields.items():
            if key in ("decorators", "body", "clauses"):
                continue
            if isinstance(value, Node):
                parts.append(value)
            elif isinstance(value, list):
                parts += value
        return parts

    # what is around it ----------------------------------------------------------------------------
    def ancestors(self) -> Iterator[Node]:
        """The parent of this node, the parent of that one, and so on."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def field(self) -> str:
        """The field of the parent that holds this node, itself or in a list; "" for none."""
        if self.parent is None:
            return ""
        for key, value in self.parent.fields.items():
            if value is self or (isinstance(value, list) and self in value):
                return key
        return ""

    def siblings(self) -> list[Node]:
        """The list of the parent that holds this node; else a list of this node alone."""
        if self.parent is not None:
            for value in self.parent.fields.values():
                if isinstance(value, list) and self in value:
                    return value
        return [self]


class Deferred(Node):
    """A statement that is read when somebody asks what is in it.

    Args:
        kind: its kind.
        span: its range, which is known beforehand.
        begin: where it begins, its decorators included.
        read: reads it; it raises `SyntaxProblem` where that cannot be done.
    """

    __slots__ = ("_begin", "_fields", "_read")

    def __init__(self, kind: str, span: Span, begin: int, read: Callable[[], Node]) -> None:
        super().__init__(kind, span)
        self._begin = begin
        self._fields: dict[str, Value] = {}
        self._read: Callable[[], Node] | None = read

    @property
    def begin(self) -> int:
        """Where it begins, its decorators included."""
        return self._begin

    @property
    def is_read(self) -> bool:
        """Whether it was read."""
        return self._read is None

    @property
    def fields(self) -> dict[str, Value]:
        """Its fields."""
        if self._read is not None:
            self._fields = self._read().fields
            self._read = None
            for child in self.children():
                child.parent = self
        return self._fields

    @fields.setter
    def fields(self, fields: dict[str, Value]) -> None:
        self._fields = fields


def walk_each(nodes: Iterable[Node]) -> Iterator[Node]:
    """Some nodes, each with all its descendants."""
    for node in nodes:
        yield from node.walk()


def only_runs(patterns: Sequence[Node]) -> bool:
    """Whether all patterns of a list are `...`."""
    return all(pattern.role == "run" for pattern in patterns)


def keyword(node: Node) -> str:
    """The name of a keyword argument, "" for anything else."""
    if node.kind != "Keyword" or node.node("arg").role:
        return ""
    return str(node.node("arg").fields["value"])


def same(a: object, b: object) -> bool:
    """Whether two pieces of syntax are the same by format rule 8 (placeholders by their names)."""
    if isinstance(a, Node) and isinstance(b, Node):
        if a.kind != b.kind or a.role != b.role or (a.role and a.name != b.name):
            return False
        if a.kind == "Opaque":
            return a is b
        if a.fields.keys() != b.fields.keys():
            return False
        return all(same(value, b.fields[key]) for key, value in a.fields.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, _ordered(a), _ordered(b)))
    return (a or None) == (b or None)  # an empty field is as good as none


def _ordered(nodes: list[Node]) -> list[Node]:
    """Arguments with the keyword arguments sorted by name, since their order does not matter.

    Any other list is unchanged.
    """
    return sorted(nodes, key=_keyword_name)


def _keyword_name(argument: Node) -> str:
    """The name of a keyword argument, also of one that is a placeholder; "" for anything else."""
    if argument.kind != "Keyword":
        return ""
    return str(argument.node("arg").fields.get("value"))
