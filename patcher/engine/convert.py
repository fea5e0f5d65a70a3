"""libcst's nodes -> `Node`s: layout dropped, strings by value, chains and clauses as flat lists (format rules 8 and 9).

A libcst class is looked up by its name: for most a list of the fields to keep is enough, a method `on_NAME` converts each of
the others. libcst itself is not imported here.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from textwrap import dedent
from typing import Any, Callable, List, Mapping, Tuple, cast

from patcher.engine.lex import find_outside, without_layout
from patcher.engine.node import CLAUSES, COMPOUND, Node, SyntaxProblem, Value

# the fields of each class that are not layout, as KIND(FIELD, ...), like the grammar of `ast`
_GRAMMAR = """
    Attribute(value, attr)  Ellipsis()  UnaryOperation(operator, expression)  BinaryOperation(left, operator, right)
    Comparison(left, comparisons)  ComparisonTarget(operator, comparator)  IfExp(body, test, orelse)  Lambda(params, body)
    Tuple(elements)  List(elements)  Set(elements)  Dict(elements)  Call(func, args)  DictElement(key, value)
    GeneratorExp(elt, for_in)  ListComp(elt, for_in)  SetComp(elt, for_in)  DictComp(key, value, for_in)  CompIf(test)
    CompFor(asynchronous, target, iter, ifs, inner_for_in)  Await(expression)  Yield(value)  From(item)
    NamedExpr(target, value)  Slice(lower, upper, step)  Expr(value)  Assign(targets, annotation, value)
    AugAssign(target, operator, value)  Return(value)  Raise(exc, cause)  Pass()  Break()  Continue()  Del(target)
    Global(names)  Nonlocal(names)  Import(names)  Assert(test, msg)  ImportAlias(name, asname)
    TypeAlias(name, type_parameters, value)
    TypeParameters(params)  TypeVar(name, bound)  TypeVarTuple(name)  ParamSpec(name)  TypeParam(star, param, default)
    Match(subject, cases)  MatchCase(pattern, guard, body)  WithItem(item, asname)  With(asynchronous, items, body)
    ExceptHandler(type, name, body)  Else(body)  ExceptStarHandler(type, name, body)  Finally(body)  While(test, body, orelse)
    For(asynchronous, target, iter, body, orelse)  Try(body, handlers, orelse, finalbody)
    TryStar(body, handlers, orelse, finalbody)
    FunctionDef(decorators, asynchronous, name, type_parameters, params, returns, body)
    ClassDef(decorators, name, type_parameters, bases, keywords, body)  Param(star, name, annotation, default)  ParamStar()
    ParamSlash()  Decorator(decorator)  MatchValue(value)  MatchSingleton(value)  MatchList(patterns)  MatchTuple(patterns)
    MatchStar(name)  MatchMapping(elements, rest)  MatchMappingElement(key, pattern)  MatchClass(cls, patterns, kwds)
    MatchKeywordElement(key, pattern)  MatchAs(pattern, name)  MatchOr(patterns)
    FormattedStringText(value)
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
Ranges = Mapping[int, Tuple[int, int]]
_NUMBERS = ("Integer", "Float", "Imaginary")
_TO_LAST_PART = (
    CLAUSES
    | COMPOUND
    | {"Param", "Alias", "WithItem", "DictElement", "MatchMappingElement", "Decorator"}
)


class Converter:
    """Converts the nodes of one parsed text.

    Args:
        text: the parsed text.
        shift: the offset of `text` in its file.
        outer: the range of each libcst node's text in `text`, by id, layout included.
        inner: the same without layout and parentheses, for the nodes of which libcst records it.
    """

    def __init__(self, source: str, shift: int, outer: Ranges, inner: Ranges) -> None:
        self.text, self.shift, self.outer, self.inner = source, shift, outer, inner

    def convert(self, node: Any) -> Value:
        """The value of a field: a node, a list of nodes, a string, or None."""
        if isinstance(node, (list, tuple)):
            return [self.one(item) for item in node]
        return node if node is None or isinstance(node, str) else self.one(node)

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
            piece = self.make(
                RENAMED.get(name, name),
                node,
                **{key: self.convert(getattr(node, key, None)) for key in FIELDS[name]},
            )
            if piece.kind in _TO_LAST_PART:
                piece.outer_start = piece.start
                piece.end = piece.outer_end = max(
                    (child.outer_end for child in piece.children()), default=piece.end
                )
            return self.shaped(piece)
        if hasattr(node, "_get_token") or name in ("NotIn", "IsNot", "NotEqual", "Asynchronous"):
            piece = self.make("Operator", node)
            piece.fields["value"], length = without_layout(
                self.text[piece.start - self.shift : piece.end - self.shift]
            )
            piece.end = piece.outer_end = piece.start + length
            return piece
        raise SyntaxProblem(f"a piece of syntax ({name}) that this version does not know")

    def make(self, kind: str, node: Any, **fields: Value) -> Node:
        """A node with the span of a libcst node, which may be recorded only with the white space around it."""
        outer = self.outer[id(node)]
        start, end = self.inner.get(id(node), outer)
        if id(node) not in self.inner:
            code = self.text[start:end]
            start, end = (
                start + len(code) - len(code.lstrip()),
                end - len(code) + len(code.rstrip()),
            )
        if not getattr(node, "lpar", ()):
            outer = (start, end)
        return Node(
            kind,
            (outer[0] + self.shift, start + self.shift, end + self.shift, outer[1] + self.shift),
            **fields,
        )

    def prefixed(self, kind: str, node: Any, value: Node, **fields: Value) -> Node:
        """A node that begins where the libcst node does (with its `*` or name) and ends where its value does."""
        start = self.inner.get(id(node), self.outer[id(node)])[0] + self.shift
        return Node(kind, (start, start, value.outer_end, value.outer_end), **fields, value=value)

    def shaped(self, node: Node) -> Node:
        """One shape where libcst has several: one list of clauses, one of arguments, the docstring apart from the body."""
        fields = node.fields
        if node.kind in ("For", "While", "Try", "Match"):
            keys = ("handlers", "cases", "orelse", "finalbody")
            values = [fields.pop(key, None) for key in keys]
            fields["clauses"] = [
                part
                for value in values
                for part in (value if isinstance(value, list) else [value])
                if isinstance(part, Node)
            ]
        if node.kind == "ClassDef":
            fields["args"] = [
                *cast(List[Node], fields.pop("bases")),
                *cast(List[Node], fields.pop("keywords")),
            ]
        if node.is_definition:
            block = node.node("body")
            if block.items("body") and block.items("body")[0].is_text():
                block.fields["doc"] = block.items("body").pop(0)
        return node

    def on_StarredElement(self, node: Any) -> Node:
        return self.prefixed("Star", node, self.one(node.value))

    def on_StarredDictElement(self, node: Any) -> Node:
        return self.prefixed("DoubleStar", node, self.one(node.value))

    def on_Arg(self, node: Any) -> Node:
        value = self.one(node.value)
        if getattr(node, "keyword", None) is not None:
            return self.prefixed("Keyword", node, value, arg=self.one(node.keyword))
        star = getattr(node, "star", None)
        return (
            self.prefixed("Star" if star == "*" else "DoubleStar", node, value) if star else value
        )

    on_Index = on_Arg

    def on_Subscript(self, node: Any) -> Node:
        parts = [self.one(element) for element in node.slice]
        index = parts[0]
        lone = len(parts) == 1 and type(node.slice[0].comma).__name__ == "Comma"
        # `a[1, 2]` is `a[(1, 2)]`, and `a[1,]` is `a[(1,)]`
        if len(parts) > 1 or index.kind == "Star" or lone:
            end = (
                self.shift + find_outside(self.text, index.outer_end - self.shift, ",") + 1
                if lone
                else parts[-1].outer_end
            )
            span = (index.outer_start, index.outer_start, end, end)
            index = Node("Tuple", span, elements=parts)
        return self.make("Subscript", node, value=self.one(node.value), slice=index)

    def on_Parameters(self, node: Any) -> Node:
        parts: list[Any] = [*node.params]
        if node.posonly_params:
            parts = [*node.posonly_params, node.posonly_ind, *node.params]
        if type(node.star_arg).__name__ in ("Param", "ParamStar"):
            parts.append(node.star_arg)
        parts += [*node.kwonly_params, *([node.star_kwarg] if node.star_kwarg else [])]
        return self.make("Parameters", node, params=[self.one(part) for part in parts])

    def on_ParamStar(self, node: Any) -> Node:
        """A bare `*` or `/` of a signature."""
        start = self.outer[id(node)][0] + self.shift
        return Node(RENAMED[type(node).__name__], (start, start, start + 1, start + 1))

    on_ParamSlash = on_ParamStar

    def on_BooleanOperation(self, node: Any) -> Node:
        """A chain; `groups` are the parentheses around its operands, each of which is a dot: `(..)` in `(a or b) or c`."""
        values: list[Node] = []
        groups, kind = "", type(node.operator).__name__
        for side in (self.one(node.left), self.one(node.right)):
            is_chain = side.kind == kind
            parts = side.items("values") if is_chain else [side]
            inner = str(side.fields["groups"]) if is_chain else ""
            inner += "." * (len(parts) - inner.count("."))
            groups += f"({inner})" if is_chain and side.parenthesised else inner
            values += parts
        return self.make(kind, node, values=values, groups=groups.rstrip("."))

    def on_SimpleString(self, node: Any) -> Node:
        return self.make("String", node, value=_string_value(node.value))

    def on_ConcatenatedString(self, node: Any) -> Node:
        sides = (self.one(node.left), self.one(node.right))
        parts = [
            part
            for side in sides
            for part in (side.items("parts") if side.kind == "FString" else [side])
        ]
        if all(part.kind == "String" for part in parts):
            values = [ast.literal_eval(str(part.fields["value"])) for part in parts]
            return self.make("String", node, value=repr(type(values[0])().join(values)))
        return self.make("FString", node, parts=_merge_texts(parts))

    def on_FormattedString(self, node: Any) -> Node:
        prefix = node.start.lower().rstrip("'\"").replace("f", "")
        parts = [self.one(part) for part in node.parts]
        for part in parts:
            if part.kind == "FText":
                part.fields["value"] = _f_string_text(str(part.fields["value"]), prefix)
        return self.make("FString", node, parts=_merge_texts(parts))

    def on_FormattedStringExpression(self, node: Any) -> Node:
        spec = None if node.format_spec is None else [self.one(part) for part in node.format_spec]
        field = self.make(
            "FExpr",
            node,
            expression=self.one(node.expression),
            conversion=node.conversion,
            debug="",
            spec=spec,
        )
        if node.equal:  # the text around it is part of what is shown
            inner = field.node("expression")
            before = self.text[field.start + 1 - self.shift : inner.outer_start - self.shift]
            after = self.text[inner.outer_end - self.shift : field.end - self.shift]
            field.fields["debug"] = (
                before + after[: len(after) - len(after.partition("=")[2].lstrip())]
            )
        return field

    # statements -------------------------------------------------------------------------------------------------------
    def statements(self, body: Any) -> Node:
        """A `Block` of the given libcst statements; several on one line become several."""
        statements: list[Node] = []
        for line in body:
            small = type(line).__name__ in ("SimpleStatementLine", "SimpleStatementSuite")
            statements += [self.one(part) for part in (line.body if small else [line])]
        start, end = (
            (statements[0].begin, statements[-1].outer_end)
            if statements
            else (self.shift, self.shift)
        )
        return Node("Block", (start, start, end, end), doc=None, body=statements)

    def on_IndentedBlock(self, node: Any) -> Node:
        return self.statements(node.body)

    def on_SimpleStatementSuite(self, node: Any) -> Node:
        block = self.statements([node])
        block.name = "inline"
        return block

    def on_AnnAssign(self, node: Any) -> Node:
        target, annotation, value = (
            self.one(node.target),
            self.one(node.annotation),
            self.convert(node.value),
        )
        return self.make("Assign", node, targets=[target], annotation=annotation, value=value)

    def on_ImportFrom(self, node: Any) -> Node:
        star = type(node.names).__name__ == "ImportStar"
        names: Value = (
            [self.make("Name", node.names, value="*")] if star else self.convert(node.names)
        )
        return self.make(
            "ImportFrom",
            node,
            dots="." * len(node.relative),
            module=self.convert(node.module),
            names=names,
        )

    def on_If(self, node: Any) -> Node:
        """`if`, and every `elif` and `else` below it as one flat list of clauses."""
        test, body = self.one(node.test), self.one(node.body)
        clauses: list[Node] = []
        if node.orelse is not None:
            clause = self.one(node.orelse)
            clause.kind = "Elif" if clause.kind == "If" else clause.kind
            clauses = [clause, *clause.items("clauses")]
            clause.fields.pop("clauses", None)
            clause.end = clause.outer_end = clause.node("body").end
        statement = self.make("If", node, test=test, body=body, clauses=clauses)
        statement.end = statement.outer_end = (clauses or [body])[-1].end
        return statement


# strings: their value is what is compared, however they are written (format rule 8) -----------------------------------
def _string_value(literal: str) -> str:
    """A string literal's type and value as one text; the indentation of one written on several lines is left out (rule 8)."""
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        return literal
    if isinstance(value, str) and "\n" in literal:
        head, newline, tail = value.partition("\n")
        value = head + newline + dedent(tail)
    return repr(value)


def _f_string_text(content: str, prefix: str) -> str:
    """The value of the text part of an f-string."""
    plain = content.replace("{{", "{").replace("}}", "}")
    for quotes in ('"""', "'''"):
        with suppress(ValueError, SyntaxError):
            return str(ast.literal_eval(f"{prefix}{quotes}{plain}{quotes}"))
    return plain


def _merge_texts(parts: list[Node]) -> list[Node]:
    """The parts of an f-string, with neighbouring texts merged into one."""
    merged: list[Node] = []
    for part in parts:
        if part.kind == "FExpr":
            merged.append(part)
            continue
        content = str(part.fields["value"])
        content = str(ast.literal_eval(content)) if part.kind == "String" else content
        start = part.start
        if merged and merged[-1].kind == "FText":
            previous = merged.pop()
            start, content = previous.start, f"{previous.fields['value']}{content}"
        merged.append(Node("FText", (start, start, part.end, part.end), value=content))
    return merged
