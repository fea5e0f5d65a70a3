"""When an expression needs parentheses where it is inserted (format rule 13).

The numbers are those of the operator precedence table in the Python language reference, loosest
first.
"""

from __future__ import annotations

from typing import Sequence

from patcher.engine.node import Node

_ANYTHING = -1
_STARRED = 0  # a tuple with a `*`: Python 3.8 does not read it everywhere without parentheses
_NOT = 6
_SIGNED = 14
_NUMBER = 16  # `3.x` would be read as a number
TIGHTEST = 17

# of operators
_LEVELS = {8: "|", 9: "^", 10: "&", 11: "<< >>", 12: "+ -", 13: "* @ / // %", 15: "**"}
_OPERATORS = {
    operator: level for level, operators in _LEVELS.items() for operator in operators.split()
}
# of expressions, by their kind; all others are atoms
_EXPRESSIONS = {
    "GeneratorExp": -2,
    "NamedExpr": -2,
    "Yield": -1,
    "Tuple": 1,
    "Lambda": 2,
    "IfExp": 3,
    "Or": 4,
    "And": 5,
    "Comparison": 7,
    "Await": 16,
    "Integer": _NUMBER,
}
# how tightly an expression must bind -> where: KIND OF THE PARENT.FIELD; everywhere else it may be
# anything
_PLACES = {
    0: "Return.value Yield.value Match.subject",
    1: "Subscript.slice For.iter AugAssign.value",
    2: """
        IfExp.orelse Lambda.body Keyword.value Call.args ClassDef.args
        Tuple.elements List.elements Set.elements DictElement.key DictElement.value
        Slice.lower Slice.upper Slice.step NamedExpr.value If.test Elif.test While.test
        Assert.test Assert.msg Raise.exc Raise.cause From.item WithItem.item Decorator.decorator
        Param.default Param.annotation FunctionDef.returns Assign.annotation
        Except.type ExceptStar.type Case.guard
        ListComp.elt SetComp.elt GeneratorExp.elt DictComp.key DictComp.value
        TypeAlias.value TypeVar.bound TypeParam.default
        """,
    3: "FExpr.expression",
    4: "IfExp.body IfExp.test CompFor.iter CompIf.test",
    5: "Or.values",
    6: "And.values",
    8: "Comparison.left ComparisonTarget.comparator Star.value DoubleStar.value",
    17: "Attribute.value Call.func Subscript.value Await.expression",
}
_NEEDED = {place: level for level, places in _PLACES.items() for place in places.split()}


def binding(node: Node) -> int:
    """How tightly an expression binds; atoms are 17."""
    if node.kind == "BinaryOperation":
        return _OPERATORS[_operator(node)]
    if node.kind == "UnaryOperation":
        return _NOT if _operator(node) == "not" else _SIGNED
    if node.kind == "Tuple" and has_star(node.items("elements")):
        return _STARRED
    return _EXPRESSIONS.get(node.kind, TIGHTEST)


def needed(node: Node) -> int:
    """How tightly an expression in the place of `node` must bind."""
    parent = node.parent
    if parent is None:
        return _ANYTHING

    field = node.field()
    if parent.kind == "BinaryOperation" and field in ("left", "right"):
        operator = _operator(parent)
        if operator == "**":
            return 16 if field == "left" else 14
        return _OPERATORS[operator] + (1 if field == "right" else 0)

    if parent.kind == "UnaryOperation" and field == "expression":
        return _NOT if _operator(parent) == "not" else _SIGNED
    return _NEEDED.get(f"{parent.kind}.{field}", _ANYTHING)


def _operator(node: Node) -> str:
    return str(node.node("operator").fields["value"])


def literal_binding(literal: str) -> int:
    """How tightly the text of a literal binds."""
    if literal.startswith("-"):
        return _SIGNED
    return _NUMBER if literal.isdigit() else TIGHTEST


def has_star(elements: Sequence[Node]) -> bool:
    """Whether one of the elements of a tuple is unpacked into it."""
    return any(element.kind == "Star" for element in elements)


def is_bare(node: Node) -> bool:
    """Whether a node is a generator without parentheses: valid only as the one argument."""
    return node.kind == "GeneratorExp" and not node.parenthesised


def with_parentheses(code: str, tight: int, place: Node) -> str:
    """The code, in parentheses where the place of the node `place` needs them."""
    if tight < needed(place) or (code[:1] == "{" and _is_in_braces(place)):
        return f"({code})"
    return code


def _is_in_braces(node: Node) -> bool:
    """Whether a node is what stands in the braces of an f-string: `{{` would be a brace."""
    outer = node.parent
    return outer is not None and outer.kind == "FExpr" and outer.fields.get("expression") is node
