"""libcst's nodes -> `Node`s: no layout, strings by value, chains and clauses as flat lists.

See rules 8 and 9 of the format. Most libcst classes only need a list of the fields to keep; a
method `on_NAME` converts each of the others. libcst itself is not imported here.
"""

from __future__ import annotations

import ast
import re
import warnings
from contextlib import suppress
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Callable, Mapping

from patcher.engine.lex import find_outside, without_layout
from patcher.engine.node import CLAUSES, COMPOUND, UNKNOWN, Node, SyntaxProblem, Value

# the fields of each class that are not layout, as KIND(FIELD, ...), like the grammar of `ast`
_GRAMMAR = """
    Attribute(value, attr)  Ellipsis()  UnaryOperation(operator, expression)
    BinaryOperation(left, operator, right)  Comparison(left, comparisons)
    ComparisonTarget(operator, comparator)  IfExp(body, test, orelse)  Lambda(params, body)
    Tuple(elements)  List(elements)  Set(elements)  Dict(elements)  DictElement(key, value)
    Call(func, args)  GeneratorExp(elt, for_in)  ListComp(elt, for_in)  SetComp(elt, for_in)
    DictComp(key, value, for_in)  CompIf(test)
    CompFor(asynchronous, target, iter, ifs, inner_for_in)
    Await(expression)  Yield(value)  From(item)  NamedExpr(target, value)  Slice(lower, upper, step)
    FormattedStringText(value)

    Expr(value)  Assign(targets, annotation, value)  AugAssign(target, operator, value)
    Return(value)  Raise(exc, cause)  Pass()  Break()  Continue()  Del(target)
    Global(names)  Nonlocal(names)  Import(names)  ImportAlias(name, asname)  Assert(test, msg)
    TypeAlias(name, type_parameters, value)  TypeParameters(params)  TypeVar(name, bound)
    TypeVarTuple(name)  ParamSpec(name)  TypeParam(star, param, default)

    Else(body)  Finally(body)  While(test, body, orelse)
    For(asynchronous, target, iter, body, orelse)
    Try(body, handlers, orelse, finalbody)  TryStar(body, handlers, orelse, finalbody)
    ExceptHandler(type, name, body)  ExceptStarHandler(type, name, body)
    With(asynchronous, items, body)  WithItem(item, asname)
    FunctionDef(decorators, asynchronous, name, type_parameters, params, returns, body)
    Param(star, name, annotation, default)  ParamStar()  ParamSlash()
    ClassDef(decorators, name, type_parameters, bases, keywords, body)  Decorator(decorator)

    Match(subject, cases)  MatchCase(pattern, guard, body)
    MatchValue(value)  MatchSingleton(value)  MatchList(patterns)  MatchTuple(patterns)
    MatchStar(name)  MatchMapping(elements, rest)  MatchMappingElement(key, pattern)
    MatchClass(cls, patterns, kwds)  MatchKeywordElement(key, pattern)  MatchAs(pattern, name)
    MatchOr(patterns)
"""
FIELDS = {
    kind: tuple(re.findall(r"\w+", fields))
    for kind, fields in re.findall(r"(\w+)\((.*?)\)", _GRAMMAR)
}
UNWRAPPED = {  # a wrapper around one thing -> the field that holds it
    "Element": "value",
    "Annotation": "annotation",
    "SubscriptElement": "slice",
    "NameItem": "name",
    "AsName": "name",
    "MatchSequenceElement": "value",
    "MatchOrElement": "pattern",
    "AssignTarget": "target",
}
RENAMED = {
    "ExceptHandler": "Except",
    "FormattedStringText": "FText",
    "ExceptStarHandler": "ExceptStar",
    "MatchCase": "Case",
    "TryStar": "Try",
    "ImportAlias": "Alias",
    "ParamStar": "BareStar",
    "ParamSlash": "Slash",
}
_NUMBERS = ("Integer", "Float", "Imaginary")
_OPERATORS = ("NotIn", "IsNot", "NotEqual", "Asynchronous")  # without `_get_token`
_STATEMENT_LINES = ("SimpleStatementLine", "SimpleStatementSuite")
_TO_LAST_PART = frozenset().union(
    CLAUSES,
    COMPOUND,
    ["Param", "Alias", "WithItem", "DictElement", "MatchMappingElement", "Decorator"],
)

if TYPE_CHECKING:
    Ranges = Mapping[int, tuple[int, int]]

_PLAIN_STRING = re.compile(r"""'[^'\\\r\n]*'|"[^"\\\r\n]*\"""")
"""A string of one line, without a prefix or a backslash."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = "\r\n\\'\"abfnrtv01234567x"
"""What may stand behind a backslash in a string; in text `N`, `u` and `U` as well."""


class Converter:
    """Converts the nodes of one parsed text.

    Few functions call each other on the way from a node to those inside it: code nests as deep as
    the recursion limit allows.

    Args:
        source: the parsed text.
        shift: the offset of `source` in its file.
        outer: the range in `source` of each libcst node, by id, layout included.
        inner: the same without layout and parentheses, for those nodes for which libcst records it.
    """

    def __init__(
        self,
        source: str,
        shift: int,
        outer: Ranges,
        inner: Ranges,
    ) -> None:
        self.text = source
        self.shift = shift
        self.outer = outer
        self.inner = inner

    def convert(self, node: Any) -> Value:
        """The value of a field: a node, a list of nodes, a string, or None."""
        if isinstance(node, (list, tuple)):
            return [self.one(item) for item in node]
        if node is None or isinstance(node, str):
            return node
        return self.one(node)

    def one(self, node: Any) -> Node:
        """The `Node` for one libcst node."""
        name = type(node).__name__
        special: Callable[[Any], Node] | None = getattr(self, f"on_{name}", None)
        if special is not None:
            return special(node)
        if name in UNWRAPPED:
            return self.one(getattr(node, UNWRAPPED[name]))
        if name in _NUMBERS or name == "Name":
            return self.make(name, node, value=node.value)
        if name in FIELDS:
            fields: dict[str, Value] = {}
            for key in FIELDS[name]:
                fields[key] = self.convert(getattr(node, key, None))

            kind = RENAMED.get(name, name)
            return self.shaped(self.make(kind, node, **fields))

        if hasattr(node, "_get_token") or name in _OPERATORS:
            return self.operator(node)
        raise SyntaxProblem(f"a piece of syntax ({name}) that this version does not know")

    def operator(self, node: Any) -> Node:
        """The `Node` for an operator or a keyword; its value is the text of it."""
        operator = self.make("Operator", node)
        code = self._text(operator.start, operator.end)
        value, length = without_layout(code)
        operator.fields["value"] = value
        operator.end = operator.outer_end = operator.start + length
        return operator

    def _text(self, start: int, end: int) -> str:
        """The text between two offsets in the file."""
        return self.text[start - self.shift : end - self.shift]

    def make(self, kind: str, node: Any, **fields: Value) -> Node:
        """A node with the span of a libcst node, without the white space around it."""
        outer = self.outer[id(node)]
        if id(node) in self.inner:
            start, end = self.inner[id(node)]
        else:
            start, end = outer
            code = self.text[start:end]
            start += len(code) - len(code.lstrip())
            end -= len(code) - len(code.rstrip())

        if not getattr(node, "lpar", ()):
            outer = (start, end)

        shift = self.shift
        outer_start, outer_end = outer
        span = (outer_start + shift, start + shift, end + shift, outer_end + shift)
        return Node(kind, span, **fields)

    def prefixed(self, kind: str, node: Any, value: Node, **fields: Value) -> Node:
        """A node from the start of the libcst node, its `*` or name, to the end of its value."""
        node_start, _ = self.inner.get(id(node), self.outer[id(node)])
        start = node_start + self.shift
        end = value.outer_end
        return Node(kind, (start, start, end, end), **fields, value=value)

    def shaped(self, node: Node) -> Node:
        """Give a node one shape where libcst has several.

        That is one list of clauses, one list of arguments, and a docstring apart from the body.
        """
        fields = node.fields
        if node.kind in _TO_LAST_PART:
            node.outer_start = node.start
            ends = [child.outer_end for child in node.children()]
            node.end = node.outer_end = max(ends, default=node.end)

        if node.kind in ("For", "While", "Try", "Match"):
            clauses: list[Node] = []
            for key in ("handlers", "cases", "orelse", "finalbody"):
                clauses += node.items(key)
                value = fields.pop(key, None)
                if isinstance(value, Node):
                    clauses.append(value)

            fields["clauses"] = clauses

        if node.kind == "ClassDef":
            fields["args"] = [*node.items("bases"), *node.items("keywords")]
            del fields["bases"], fields["keywords"]

        if node.is_definition:
            block = node.node("body")
            body = block.items("body")
            if body and body[0].is_text:
                block.fields["doc"] = body.pop(0)

        return node

    # expressions ----------------------------------------------------------------------------------
    def on_StarredElement(self, node: Any) -> Node:
        return self.prefixed("Star", node, self.one(node.value))

    def on_StarredDictElement(self, node: Any) -> Node:
        return self.prefixed("DoubleStar", node, self.one(node.value))

    def on_Arg(self, node: Any) -> Node:
        value = self.one(node.value)
        if getattr(node, "keyword", None) is not None:
            name = self.one(node.keyword)
            return self.prefixed("Keyword", node, value, arg=name)

        star = getattr(node, "star", None)
        if not star:
            return value

        kind = "Star" if star == "*" else "DoubleStar"
        return self.prefixed(kind, node, value)

    on_Index = on_Arg

    def on_Subscript(self, node: Any) -> Node:
        """`a[1, 2]` is `a[(1, 2)]`, and `a[1,]` is `a[(1,)]`."""
        parts = [self.one(part) for part in node.slice]
        index = parts[0]
        has_comma = type(node.slice[0].comma).__name__ == "Comma"
        is_lone = len(parts) == 1 and has_comma
        if len(parts) > 1 or index.kind == "Star" or is_lone:
            end = parts[-1].outer_end
            if is_lone:
                comma = find_outside(self.text, index.outer_end - self.shift, ",")
                end = self.shift + comma + 1

            start = index.outer_start
            index = Node("Tuple", (start, start, end, end), elements=parts)

        value = self.one(node.value)
        return self.make("Subscript", node, value=value, slice=index)

    def on_Parameters(self, node: Any) -> Node:
        parts: list[Any] = []
        if node.posonly_params:
            parts += [*node.posonly_params, node.posonly_ind]
        parts += node.params
        if type(node.star_arg).__name__ in ("Param", "ParamStar"):
            parts.append(node.star_arg)
        parts += node.kwonly_params
        if node.star_kwarg:
            parts.append(node.star_kwarg)
        return self.make("Parameters", node, params=[self.one(part) for part in parts])

    def on_ParamStar(self, node: Any) -> Node:
        """A bare `*` or `/` of a signature."""
        node_start, _ = self.outer[id(node)]
        start = node_start + self.shift
        end = start + 1
        kind = RENAMED[type(node).__name__]
        return Node(kind, (start, start, end, end))

    on_ParamSlash = on_ParamStar

    def on_BooleanOperation(self, node: Any) -> Node:
        """A chain; `groups` are the parentheses around its operands, each of which is a dot.

        That is `(..)` in `(a or b) or c`.
        """
        kind = type(node.operator).__name__
        values: list[Node] = []
        groups = ""
        for side in (self.one(node.left), self.one(node.right)):
            if side.kind != kind:
                values.append(side)
                groups += "."
                continue

            inner_values = side.items("values")
            values += inner_values
            group = str(side.fields["groups"])
            lacking = len(inner_values) - group.count(".")
            group += "." * lacking
            groups += f"({group})" if side.parenthesised else group

        return self.make(kind, node, values=values, groups=groups.rstrip("."))

    # strings --------------------------------------------------------------------------------------
    def on_SimpleString(self, node: Any) -> Node:
        string = self.make("String", node, value=_string_value(node.value))
        return _marked(string, is_unknown=_has_unknown_escape(node.value))

    def on_ConcatenatedString(self, node: Any) -> Node:
        parts: list[Node] = []
        for side in (self.one(node.left), self.one(node.right)):
            if side.kind == "FString":
                parts += side.items("parts")
            else:
                parts.append(side)

        has_f_string = any(part.kind != "String" for part in parts)
        if has_f_string:
            return self.make("FString", node, parts=_merge_texts(parts))

        values = [ast.literal_eval(str(part.fields["value"])) for part in parts]
        empty = type(values[0])()
        string = self.make("String", node, value=repr(empty.join(values)))
        return _marked(string, is_unknown=any("escape" in part.fields for part in parts))

    def on_FormattedString(self, node: Any) -> Node:
        prefix = node.start.lower().rstrip("'\"").replace("f", "")
        parts = [self.one(part) for part in node.parts]
        for part in parts:
            if part.kind == "FText":
                content = str(part.fields["value"])
                part.fields["value"] = _f_string_text(content, prefix)
                _marked(part, is_unknown=_has_unknown_escape(f"{prefix}'{content}'"))

        return self.make("FString", node, parts=_merge_texts(parts))

    def on_FormattedStringExpression(self, node: Any) -> Node:
        field = self.make(
            "FExpr",
            node,
            expression=self.one(node.expression),
            conversion=node.conversion,
            debug="",
            spec=self.convert(node.format_spec),
        )

        if node.equal:
            field.fields["debug"] = self._shown_text(field)
        return field

    def _shown_text(self, field: Node) -> str:
        """What `{ a = }` shows around `a`: all from the brace to the blanks behind the `=`."""
        inner = field.node("expression")
        before = self._text(field.start + 1, inner.outer_start)
        after = self._text(inner.outer_end, field.end)
        _, _, after_equal = after.partition("=")
        past_blanks = len(after) - len(after_equal.lstrip())
        return before + after[:past_blanks]

    # statements -----------------------------------------------------------------------------------
    def statements(self, body: Any) -> Node:
        """A `Block` of libcst statements; several on one line become several."""
        statements: list[Node] = []
        for line in body:
            is_line = type(line).__name__ in _STATEMENT_LINES
            parts = line.body if is_line else [line]
            statements += map(self.one, parts)

        start = end = self.shift
        if statements:
            start = statements[0].begin
            end = statements[-1].outer_end

        return Node("Block", (start, start, end, end), doc=None, body=statements)

    def on_IndentedBlock(self, node: Any) -> Node:
        return self.statements(node.body)

    def on_SimpleStatementSuite(self, node: Any) -> Node:
        block = self.statements([node])
        block.name = "inline"
        return block

    def on_AnnAssign(self, node: Any) -> Node:
        return self.make(
            "Assign",
            node,
            targets=[self.one(node.target)],
            annotation=self.one(node.annotation),
            value=self.convert(node.value),
        )

    def on_ImportFrom(self, node: Any) -> Node:
        if type(node.names).__name__ == "ImportStar":
            names: Value = [self.make("Name", node.names, value="*")]
        else:
            names = self.convert(node.names)

        return self.make(
            "ImportFrom",
            node,
            dots="." * len(node.relative),
            module=self.convert(node.module),
            names=names,
        )

    def on_If(self, node: Any) -> Node:
        """`if`, and every `elif` and `else` below it as one flat list of clauses."""
        test = self.one(node.test)
        body = self.one(node.body)
        clauses: list[Node] = []
        last_part = body
        if node.orelse is not None:
            clause = self.one(node.orelse)
            if clause.kind == "If":
                clause.kind = "Elif"
            clauses = [clause, *clause.items("clauses")]
            last_part = clauses[-1]
            clause.fields.pop("clauses", None)
            clause.end = clause.outer_end = clause.node("body").end

        statement = self.make(
            "If",
            node,
            test=test,
            body=body,
            clauses=clauses,
        )

        statement.end = statement.outer_end = last_part.end
        return statement


# the value of a string is what is compared, however it is written (format rule 8) -----------------
def _string_value(literal: str) -> str:
    """The type and value of a string literal as one text.

    The indentation of a literal that spans several lines is left out (rule 8).
    """
    if _PLAIN_STRING.fullmatch(literal):  # most are, and Python's compiler takes its time
        return repr(literal[1:-1])
    try:
        value = _evaluated(literal)
    except (ValueError, SyntaxError):
        return literal

    if isinstance(value, str) and "\n" in literal:
        head, newline, tail = value.partition("\n")
        value = head + newline + dedent(tail)

    return repr(value)


def _evaluated(literal: str) -> object:
    """The value of a literal, whatever Python warns of in it: a warning may be made an error."""
    if "\\" not in literal:
        return ast.literal_eval(literal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.literal_eval(literal)


def _marked(text: Node, *, is_unknown: bool) -> Node:
    """A text, with the field that says so where it has an escape that Python does not know."""
    if is_unknown:
        text.fields["escape"] = UNKNOWN
    return text


def _has_unknown_escape(literal: str) -> bool:
    """Whether a string literal has an escape that Python does not know, and warns of.

    See "String and Bytes literals" in the reference of the language.
    """
    if "\\" not in literal:
        return False
    prefix, _, content = literal.partition(literal[-1])
    if "r" in prefix.lower():
        return False
    known = _ESCAPES if "b" in prefix.lower() else _ESCAPES + "NuU"
    return any(escaped not in known for escaped in _ESCAPED.findall(content))


def _f_string_text(content: str, prefix: str) -> str:
    """The value of a text part of an f-string."""
    plain = content.replace("{{", "{").replace("}}", "}")
    for quotes in ('"""', "'''"):
        literal = f"{prefix}{quotes}{plain}{quotes}"
        with suppress(ValueError, SyntaxError):
            return str(_evaluated(literal))

    return plain


def _merge_texts(parts: list[Node]) -> list[Node]:
    """The parts of an f-string, with neighbouring texts merged into one."""
    merged: list[Node] = []
    for part in parts:
        if part.kind == "FExpr":
            merged.append(part)
            continue

        content = str(part.fields["value"])
        if part.kind == "String":
            content = str(ast.literal_eval(content))
        start = part.start
        is_unknown = "escape" in part.fields
        if merged and merged[-1].kind == "FText":
            previous = merged.pop()
            start = previous.start
            content = str(previous.fields["value"]) + content
            is_unknown = is_unknown or "escape" in previous.fields

        text = Node("FText", (start, start, part.end, part.end), value=content)
        merged.append(_marked(text, is_unknown=is_unknown))

    return merged
