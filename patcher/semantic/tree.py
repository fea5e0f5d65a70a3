"""Python text -> a tree of `Node`s with spans. The only module that names libcst.

libcst's tree has a node for every blank; matching wants one for every meaning. `parse` keeps what spatch rule 8 and 9 look
at (strings by value, chains and clauses as flat lists, one ordered list of parameters) and, for each node, where its text
stands, so that a rewrite can be a list of splices.
"""

from __future__ import annotations

import ast
import gc
import inspect
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

import libcst as cst
from libcst._nodes.internal import CodegenState

from patcher.semantic.lex import MARK, RUN_DOUBLE_STAR, RUN_NAME, RUN_STAR, find_outside

Value = Union[None, str, "Node", List["Node"]]

STATEMENTS = frozenset(
    "Expr Assign AugAssign Return Raise Pass Break Continue Del Global Nonlocal Import ImportFrom Assert TypeAlias"
    " FunctionDef ClassDef If For While Try With Match Opaque".split()
)
COMPOUND = frozenset("FunctionDef ClassDef If For While Try With Match".split())
CLAUSES = frozenset("Elif Else Except ExceptStar Finally Case".split())
NOT_EXPRESSIONS = STATEMENTS | CLAUSES | frozenset(
    "Block Star DoubleStar Keyword Param Slash BareStar Alias WithItem Decorator CompFor CompIf FText FExpr Operator"
    " ComparisonTarget DictElement Slice Index TypeParam Pattern From".split()
)


class SyntaxProblem(Exception):
    """The text is not Python that can be read (`line` and `column`, 1-based and 0-based), or not given back as it was."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class Node:
    """One piece of syntax.

    `start` and `end` are character offsets without, `outer_start` and `outer_end` with the parentheses around it.
    `role` is "" for code, `meta` for `$NAME`, `option` for `$name`, `run` for `...` (patterns only); `name` names those.
    A one-line suite is a `Block` named "inline". `absent` are the optional fields that a pattern wants not to be there.
    """

    __slots__ = ("absent", "end", "fields", "kind", "name", "outer_end", "outer_start", "parent", "role", "start")

    def __init__(self, kind: str, span: Tuple[int, int, int, int], **fields: Value) -> None:
        self.kind = kind
        self.outer_start, self.start, self.end, self.outer_end = span
        self.fields: Dict[str, Value] = fields
        self.role = ""
        self.name = ""
        self.absent: Tuple[str, ...] = ()
        self.parent: Optional[Node] = None

    def __repr__(self) -> str:
        inner = ", ".join(f"{key}={value!r}" for key, value in self.fields.items() if value not in (None, [], ""))
        return f"{self.role or self.kind}({self.name or inner})"

    def children(self) -> Iterator["Node"]:
        """The nodes directly below this one, in the order of the fields."""
        for value in self.fields.values():
            if isinstance(value, Node):
                yield value
            elif isinstance(value, list):
                yield from value

    def walk(self) -> Iterator["Node"]:
        """This node and everything below it."""
        yield self
        for child in self.children():
            yield from child.walk()

    def node(self, field: str) -> "Node":
        """The node in a field that always holds one."""
        value = self.fields[field]
        assert isinstance(value, Node)
        return value

    def items(self, field: str) -> List["Node"]:
        """The nodes of a list field; empty where the field is absent."""
        value = self.fields.get(field)
        return value if isinstance(value, list) else []


class _Recorder(CodegenState):
    """Runs libcst's code generation and notes at which offset each node's text begins and ends."""

    def __init__(self, newline: str, indent: str) -> None:
        super().__init__(default_indent=indent, default_newline=newline)
        self.offset = 0
        self.outer: Dict[int, Tuple[int, int]] = {}
        self.inner: Dict[int, Tuple[int, int]] = {}
        self.begun: Dict[int, int] = {}

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.offset += len(value)

    def add_indent_tokens(self) -> None:
        self.tokens.extend(self.indent_tokens)
        self.offset += sum(map(len, self.indent_tokens))

    def pop_trailing_newline(self) -> None:
        if self.tokens:
            self.offset -= len(self.tokens.pop())

    def before_codegen(self, node: Any) -> None:
        self.begun[id(node)] = self.offset

    def after_codegen(self, node: Any) -> None:
        self.outer[id(node)] = (self.begun[id(node)], self.offset)

    def record_syntactic_position(self, node: Any, *, start_node: Any = None, end_node: Any = None) -> Any:
        return _Position(self, node)


class _Position:
    def __init__(self, state: _Recorder, node: Any) -> None:
        self.state, self.node, self.start = state, node, 0

    def __enter__(self) -> None:
        self.start = self.state.offset

    def __exit__(self, *_: object) -> None:
        self.state.inner[id(self.node)] = (self.start, self.state.offset)


def parse(text: str, *, offset: int = 0, newline: str = "\n", indent: str = "    ", pattern: bool = False) -> Node:
    """Parse module text (or an indented part of one) into a `Block`.

    Args:
        text: source text; an indented part begins at the start of a line.
        offset: what to add to every span, the place of `text` in its file.
        newline: the file's line break; libcst guesses wrongly on a part of a file.
        indent: the file's indentation unit.
        pattern: read the placeholders that `lex.to_python` wrote.

    Raises:
        SyntaxProblem: not valid Python, or libcst does not give the same text back.
    """
    scaffold = f"if 1:{newline}" if text[:1] in (" ", "\t") else ""
    config = cst.PartialParserConfig(default_newline=newline, default_indent=indent)
    enabled = gc.isenabled()
    gc.disable()  # a third of the time goes to collections that find nothing
    try:
        module = cst.parse_module(scaffold + text, config)
        state = _Recorder(module.default_newline, module.default_indent)
        module._codegen(state)
        given_back = "".join(state.tokens)
        if given_back != scaffold + text:
            raise SyntaxProblem("this text is not given back byte for byte by the parser (a lone CR or a form feed?)")
        shift = offset - len(scaffold)
        converter = _Converter(state, scaffold + text, shift, pattern)
        body: Any = module.body[0].body.body if scaffold else module.body  # type: ignore[union-attr]
        block = converter.block_of(body)
    except cst.ParserSyntaxError as error:
        line = error.raw_line - (1 if scaffold else 0)
        raise SyntaxProblem(error.message.split("\n")[0], line, error.raw_column) from None
    finally:
        if enabled:
            gc.enable()
    for node in block.walk():
        for child in node.children():
            child.parent = node
    return block


class _Converter:
    """libcst nodes -> `Node`s; `convert` looks a class up by name, the methods below serve those that need more."""

    # class -> the fields that mean something, in the order of the text; everything else is layout
    FIELDS: Dict[str, Tuple[str, ...]] = {
        "Attribute": ("value", "attr"), "Integer": (), "Float": (), "Imaginary": (), "Ellipsis": (),
        "UnaryOperation": ("operator", "expression"), "BinaryOperation": ("left", "operator", "right"),
        "Comparison": ("left", "comparisons"), "ComparisonTarget": ("operator", "comparator"),
        "IfExp": ("body", "test", "orelse"), "Lambda": ("params", "body"), "Tuple": ("elements",), "List": ("elements",),
        "Set": ("elements",), "Dict": ("elements",), "DictElement": ("key", "value"),
        "GeneratorExp": ("elt", "for_in"), "ListComp": ("elt", "for_in"), "SetComp": ("elt", "for_in"),
        "DictComp": ("key", "value", "for_in"), "CompIf": ("test",),
        "CompFor": ("asynchronous", "target", "iter", "ifs", "inner_for_in"),
        "Await": ("expression",), "Yield": ("value",), "From": ("item",), "NamedExpr": ("target", "value"),
        "Slice": ("lower", "upper", "step"), "Index": ("star", "value"),
        "Expr": ("value",), "AugAssign": ("target", "operator", "value"), "Return": ("value",),
        "Raise": ("exc", "cause"), "Pass": (), "Break": (), "Continue": (), "Del": ("target",), "Global": ("names",),
        "Nonlocal": ("names",), "Import": ("names",), "Assert": ("test", "msg"),
        "TypeAlias": ("name", "type_parameters", "value"), "TypeParameters": ("params",),
        "TypeVar": ("name", "bound"), "TypeVarTuple": ("name",), "ParamSpec": ("name",),
        "TypeParam": ("star", "param", "default"), "Match": ("subject", "cases"), "Case": ("pattern", "guard", "body"),
        "With": ("asynchronous", "items", "body"), "WithItem": ("item", "asname"), "AsName": ("name",),
        "Except": ("type", "name", "body"), "ExceptStar": ("type", "name", "body"),
        "Else": ("body",), "Finally": ("body",),
        "MatchValue": ("value",), "MatchSingleton": ("value",), "MatchList": ("patterns",), "MatchTuple": ("patterns",),
        "MatchStar": ("name",), "MatchMapping": ("elements", "rest"), "MatchMappingElement": ("key", "pattern"),
        "MatchClass": ("cls", "patterns", "kwds"), "MatchKeywordElement": ("key", "pattern"),
        "MatchAs": ("pattern", "name"), "MatchOr": ("patterns",), "MatchOrElement": ("pattern",),
    }  # fmt: skip
    RENAMED = {"ExceptHandler": "Except", "ExceptStarHandler": "ExceptStar", "MatchCase": "Case"}

    def __init__(self, state: _Recorder, text: str, shift: int, pattern: bool) -> None:
        self.state, self.text, self.shift, self.pattern = state, text, shift, pattern

    # spans ------------------------------------------------------------------------------------------------------------
    def span(self, node: Any) -> Tuple[int, int, int, int]:
        outer = self.state.outer[id(node)]
        start, end = self.state.inner.get(id(node), outer)
        if id(node) not in self.state.inner:  # some nodes are recorded with the blanks around them only
            text = self.text[start:end]
            start, end = start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())
        if not getattr(node, "lpar", ()):
            outer = (start, end)
        return (outer[0] + self.shift, start + self.shift, end + self.shift, outer[1] + self.shift)

    def make(self, kind: str, node: Any, **fields: Value) -> Node:
        return Node(kind, self.span(node), **fields)

    def around(self, kind: str, start: int, last: Node, **fields: Value) -> Node:
        """A node that begins at a file offset and ends where its last part ends."""
        return Node(kind, (start, start, last.outer_end, last.outer_end), **fields)

    # entry points -----------------------------------------------------------------------------------------------------
    def convert(self, node: Any) -> Value:
        if node is None or isinstance(node, (str, cst.MaybeSentinel)):
            return node if isinstance(node, str) else None
        if isinstance(node, (list, tuple)):
            return [self.one(item) for item in node]
        return self.one(node)

    def one(self, node: Any) -> Node:
        name = type(node).__name__
        special: Optional[Callable[[Any], Node]] = getattr(self, "on_" + name, None)
        if special is not None:
            return special(node)
        kind = self.RENAMED.get(name, name)
        if kind in self.FIELDS:
            converted = self.make(kind, node, **{field: self.convert(getattr(node, field, None)) for field in self.FIELDS[kind]})
            if kind in ("Integer", "Float", "Imaginary"):
                converted.fields["value"] = node.value
            return self.to_last_part(converted) if kind in CLAUSES or kind in COMPOUND else self.placeholder(converted)
        if isinstance(node, (cst.BaseUnaryOp, cst.BaseBinaryOp, cst.BaseCompOp, cst.BaseAugOp)):
            text = self.text[slice(*self.state.inner.get(id(node), self.state.outer[id(node)]))]
            return self.make("Operator", node, value=" ".join(text.split()))
        raise SyntaxProblem(f"{name} is not known to this version")

    def to_last_part(self, node: Node) -> Node:
        last = max((child.outer_end for child in node.children()), default=node.end)
        node.end = node.outer_end = last
        return node

    def placeholder(self, node: Node) -> Node:
        """Give a pattern's node its role, if it is a placeholder."""
        if not self.pattern:
            return node
        text = self.text[node.start - self.shift : node.end - self.shift]
        runs = {"Star": "*" + RUN_STAR, "DoubleStar": "**" + RUN_DOUBLE_STAR, "Decorator": "@...", "Ellipsis": "..."}
        if text == runs.get(node.kind) or (
            node.kind in ("Param", "Alias") and text in (RUN_NAME, RUN_DOUBLE_STAR + "=0")
        ):
            node.role = "ellipsis" if node.kind == "Ellipsis" else "run"
        elif text[:1] == MARK and MARK not in text[1:] and text[1:] and node.kind in ("Name", "Param", "Alias", "Expr"):
            name = text[1:]
            if name.isidentifier():
                node.role = "meta" if name.upper() == name else "option"
                node.name = name
        elif node.kind == "Expr" and text == "...":
            node.role = "run"
        return node

    def elements(self, nodes: Any) -> List[Node]:
        """Elements of a tuple, list, set or with: a bare `...` is a run."""
        found = [self.one(node) for node in nodes]
        for node in found:
            if node.role == "ellipsis":
                node.role = "run"
        return found

    # expressions ------------------------------------------------------------------------------------------------------
    def on_Name(self, node: Any) -> Node:
        return self.placeholder(self.make("Name", node, value=node.value))

    def on_Element(self, node: Any) -> Node:
        return self.one(node.value)

    def on_StarredElement(self, node: Any) -> Node:
        value = self.one(node.value)
        start = self.state.inner.get(id(node), self.state.outer[id(node)])[0] + self.shift
        return self.placeholder(self.around("Star", start, value, value=value))

    def on_StarredDictElement(self, node: Any) -> Node:
        value = self.one(node.value)
        return self.placeholder(self.around("DoubleStar", self.state.outer[id(node)][0] + self.shift, value, value=value))

    def on_DictElement(self, node: Any) -> Node:
        key, value = self.one(node.key), self.one(node.value)
        return self.around("DictElement", key.outer_start, value, key=key, value=value)

    def on_Tuple(self, node: Any) -> Node:
        return self.make("Tuple", node, elements=self.elements(node.elements))

    on_List = lambda self, node: self.make("List", node, elements=self.elements(node.elements))  # noqa: E731
    on_Set = lambda self, node: self.make("Set", node, elements=self.elements(node.elements))  # noqa: E731

    def on_Call(self, node: Any) -> Node:
        return self.make("Call", node, func=self.one(node.func), args=[self.one(arg) for arg in node.args])

    def on_Arg(self, node: Any) -> Node:
        value = self.one(node.value)
        start = self.state.outer[id(node)][0] + self.shift
        if node.keyword is not None:
            return self.around("Keyword", start, value, arg=self.one(node.keyword), value=value)
        if node.star:
            return self.placeholder(self.around("Star" if node.star == "*" else "DoubleStar", start, value, value=value))
        return value

    def on_MatchSequenceElement(self, node: Any) -> Node:
        return self.one(node.value)

    def on_Subscript(self, node: Any) -> Node:
        parts = [self.one(element) for element in node.slice]
        index = parts[0]
        if len(parts) > 1 or index.kind == "Star":  # `a[1, 2]` is `a[(1, 2)]`
            index = self.around("Tuple", index.outer_start, parts[-1], elements=parts)
        return self.make("Subscript", node, value=self.one(node.value), slice=index)

    def on_SubscriptElement(self, node: Any) -> Node:
        return self.one(node.slice)

    def on_Index(self, node: Any) -> Node:
        value = self.one(node.value)
        if getattr(node, "star", None):
            return self.around("Star", self.state.outer[id(node)][0] + self.shift, value, value=value)
        return value

    def on_BooleanOperation(self, node: Any) -> Node:
        kind = type(node.operator).__name__
        values: List[Node] = []
        for side in (node.left, node.right):
            part = self.one(side)
            values += part.items("values") if part.kind == kind else [part]
        return self.make(kind, node, values=values)

    def on_SimpleString(self, node: Any) -> Node:
        return self.make("String", node, value=_string_value(node.value))

    def on_ConcatenatedString(self, node: Any) -> Node:
        parts: List[Node] = []
        for side in (node.left, node.right):
            part = self.one(side)
            parts += part.items("parts") if part.kind == "FString" else [part]
        if all(part.kind == "String" for part in parts):
            return self.make("String", node, value=_joined([str(part.fields["value"]) for part in parts]))
        return self.make("FString", node, parts=_merge_text(parts))

    def on_FormattedString(self, node: Any) -> Node:
        prefix = node.start.lower().rstrip("'\"").replace("f", "")
        parts: List[Node] = []
        for part in node.parts:
            if isinstance(part, cst.FormattedStringText):
                parts.append(self.make("FText", part, value=_f_text(part.value, prefix)))
            else:
                parts.append(self.one(part))
        return self.make("FString", node, parts=_merge_text(parts))

    def on_FormattedStringExpression(self, node: Any) -> Node:
        spec = None if node.format_spec is None else [
            self.make("FText", part, value=part.value) if isinstance(part, cst.FormattedStringText) else self.one(part)
            for part in node.format_spec
        ]  # fmt: skip
        debug = "=" if node.equal is not None else ""
        return self.make("FExpr", node, value=self.one(node.expression), conversion=node.conversion, debug=debug, spec=spec)

    def on_Asynchronous(self, node: Any) -> Node:
        return self.make("Operator", node, value="async")

    def on_Annotation(self, node: Any) -> Node:
        return self.one(node.annotation)

    def on_Decorator(self, node: Any) -> Node:
        value = self.one(node.decorator)
        start = self.state.inner.get(id(node), (self.text.rindex("@", 0, value.outer_start - self.shift), 0))[0]
        return self.placeholder(self.around("Decorator", start + self.shift, value, value=value))

    def on_Parameters(self, node: Any) -> Node:
        parts: List[Any] = [*node.params]
        if node.posonly_params:
            parts = [*node.posonly_params, node.posonly_ind, *node.params]
        if isinstance(node.star_arg, (cst.Param, cst.ParamStar)):
            parts.append(node.star_arg)
        parts += [*node.kwonly_params, *([node.star_kwarg] if node.star_kwarg else [])]
        return self.make("Parameters", node, params=[self.one(part) for part in parts])

    def on_Param(self, node: Any) -> Node:
        name = self.one(node.name)
        annotation, default = self.convert(node.annotation), self.convert(node.default)
        last = next(part for part in (default, annotation, name) if isinstance(part, Node))
        star = node.star if isinstance(node.star, str) else ""
        start = self.state.outer[id(node)][0] + self.shift
        return self.placeholder(
            self.around("Param", start, last, star=star, name=name, annotation=annotation, default=default)
        )

    def on_ParamStar(self, node: Any) -> Node:
        start = self.state.outer[id(node)][0] + self.shift
        return Node("BareStar", (start, start, start + 1, start + 1))

    def on_ParamSlash(self, node: Any) -> Node:
        start = self.state.outer[id(node)][0] + self.shift
        return Node("Slash", (start, start, start + 1, start + 1))

    # statements -------------------------------------------------------------------------------------------------------
    def block_of(self, body: Any, *, docstring: bool = False) -> Node:
        statements: List[Node] = []
        for line in body:
            small = isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite))
            statements += [self.one(part) for part in (line.body if small else [line])]
        doc = None
        if docstring and statements and _is_text(statements[0]):
            doc = statements.pop(0)
        parts = [*([doc] if doc else []), *statements]
        start, end = (parts[0].outer_start, parts[-1].outer_end) if parts else (self.shift, self.shift)
        return Node("Block", (start, start, end, end), doc=doc, body=statements)

    def block(self, node: Any, *, docstring: bool = False) -> Node:
        inline = isinstance(node, cst.SimpleStatementSuite)
        made = self.block_of([node] if inline else node.body, docstring=docstring)
        made.name = "inline" if inline else ""
        return made

    def on_IndentedBlock(self, node: Any) -> Node:
        return self.block(node)

    on_SimpleStatementSuite = on_IndentedBlock

    def on_Expr(self, node: Any) -> Node:
        return self.placeholder(self.make("Expr", node, value=self.one(node.value)))

    def on_Assign(self, node: Any) -> Node:
        targets = [self.one(target.target) for target in node.targets]
        return self.make("Assign", node, targets=targets, annotation=None, value=self.one(node.value))

    def on_AnnAssign(self, node: Any) -> Node:
        annotation, value = self.one(node.annotation), self.convert(node.value)
        return self.make("Assign", node, targets=[self.one(node.target)], annotation=annotation, value=value)

    def on_NameItem(self, node: Any) -> Node:
        return self.one(node.name)

    def on_ImportAlias(self, node: Any) -> Node:
        name = self.one(node.name)
        alias = None if node.asname is None else self.one(node.asname.name)
        return self.placeholder(self.around("Alias", name.outer_start, alias or name, name=name, asname=alias))

    def on_ImportFrom(self, node: Any) -> Node:
        star = isinstance(node.names, cst.ImportStar)
        names: Value = [self.make("Name", node.names, value="*")] if star else self.convert(node.names)
        return self.make("ImportFrom", node, dots="." * len(node.relative), module=self.convert(node.module), names=names)

    def on_AsName(self, node: Any) -> Node:
        return self.one(node.name)

    def on_WithItem(self, node: Any) -> Node:
        item, alias = self.one(node.item), self.convert(node.asname)
        last = alias if isinstance(alias, Node) else item
        made = self.around("WithItem", item.outer_start, last, item=item, asname=alias)
        if item.role == "ellipsis" and alias is None:
            made.role = "run"
        return made

    def on_FunctionDef(self, node: Any) -> Node:
        return self.to_last_part(
            self.make(
                "FunctionDef", node, decorators=self.convert(node.decorators), asynchronous=self.convert(node.asynchronous),
                name=self.one(node.name), type_parameters=self.convert(getattr(node, "type_parameters", None)),
                params=self.one(node.params), returns=self.convert(node.returns), body=self.block(node.body, docstring=True),
            )
        )  # fmt: skip

    def on_ClassDef(self, node: Any) -> Node:
        return self.to_last_part(
            self.make(
                "ClassDef", node, decorators=self.convert(node.decorators), name=self.one(node.name),
                type_parameters=self.convert(getattr(node, "type_parameters", None)),
                args=[self.one(arg) for arg in (*node.bases, *node.keywords)], body=self.block(node.body, docstring=True),
            )
        )  # fmt: skip

    def on_If(self, node: Any) -> Node:
        clauses: List[Node] = []
        rest = node.orelse
        while rest is not None:
            if isinstance(rest, cst.Else):
                clauses.append(self.one(rest))
                break
            test, body = self.one(rest.test), self.block(rest.body)
            start = self.span(rest)[1]
            clauses.append(self.around("Elif", start, body, test=test, body=body))
            rest = rest.orelse
        made = self.make("If", node, test=self.one(node.test), body=self.block(node.body), clauses=clauses)
        return self.to_last_part(made)

    def on_For(self, node: Any) -> Node:
        return self.to_last_part(
            self.make(
                "For", node, asynchronous=self.convert(node.asynchronous), target=self.one(node.target),
                iter=self.one(node.iter), body=self.block(node.body), clauses=[self.one(node.orelse)] if node.orelse else [],
            )
        )  # fmt: skip

    def on_While(self, node: Any) -> Node:
        clauses = [self.one(node.orelse)] if node.orelse else []
        return self.to_last_part(
            self.make("While", node, test=self.one(node.test), body=self.block(node.body), clauses=clauses)
        )

    def on_Try(self, node: Any) -> Node:
        extra = [part for part in (node.orelse, node.finalbody) if part is not None]
        clauses = [self.one(part) for part in (*node.handlers, *extra)]
        return self.to_last_part(self.make("Try", node, body=self.block(node.body), clauses=clauses))

    on_TryStar = on_Try

    def on_Match(self, node: Any) -> Node:
        return self.to_last_part(
            self.make("Match", node, subject=self.one(node.subject), clauses=[self.one(case) for case in node.cases])
        )


def _is_text(node: Node) -> bool:
    value = node.fields.get("value")
    return node.kind == "Expr" and isinstance(value, Node) and value.kind == "String"


def _string_value(text: str) -> str:
    """A string literal's type and value as one text; of a multi-line one the indentation is not looked at (rule 8)."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    if isinstance(value, str) and "\n" in value:
        value = inspect.cleandoc(value)
    return repr(value)


def _joined(literals: List[str]) -> str:
    return repr(type(ast.literal_eval(literals[0]))().join(ast.literal_eval(literal) for literal in literals))


def _f_text(text: str, prefix: str) -> str:
    plain = text.replace("{{", "{").replace("}}", "}")
    for quotes in ('"""', "'''"):
        try:
            return str(ast.literal_eval(f"{prefix}{quotes}{plain}{quotes}"))
        except (ValueError, SyntaxError):
            continue
    return plain


def _merge_text(parts: List[Node]) -> List[Node]:
    merged: List[Node] = []
    for part in parts:
        if part.kind == "String":
            span = (part.outer_start, part.start, part.end, part.outer_end)
            part = Node("FText", span, value=str(ast.literal_eval(str(part.fields["value"]))))
        if part.kind == "FText" and merged and merged[-1].kind == "FText":
            last = merged[-1]
            span = (last.outer_start, last.start, part.end, part.outer_end)
            merged[-1] = Node("FText", span, value=str(last.fields["value"]) + str(part.fields["value"]))
        else:
            merged.append(part)
    return merged


def header_end(node: Node, text: str, offset: int = 0) -> int:
    """The offset past the `:` that ends the header of a compound statement or clause; `text` begins at `offset`."""
    parts = [child for key, child in _header_parts(node)]
    start = max((part.outer_end for part in parts), default=node.start)
    return find_outside(text, start - offset, ":") + 1 + offset


def _header_parts(node: Node) -> Iterator[Tuple[str, Node]]:
    for key, value in node.fields.items():
        if key in ("decorators", "body", "clauses"):
            continue
        for child in [value] if isinstance(value, Node) else value if isinstance(value, list) else []:
            # an empty parameter list has a span of its own between the parentheses
            yield key, child
